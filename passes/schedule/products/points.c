/* The points of a product: its tuning space, the values that attributes fix, and the points that it
 * cannot use. */
#include "lib/ir/cost.h"
#include "lib/support/scalar.h"
#include "passes/schedule/kernel/long.h"
#include "passes/schedule/products/product.h"
#include "passes/schedule/products/space.h"
#include "tile/split.h"

static bool is_operand(const product *p, unsigned array) {
    for (unsigned i = 0; i < p->side_count; i++)
        if (p->sides[i].array == (int)array) return true;
    return false;
}

/* Whether the input has the result's extents, as a residual does, and not those of a row or column.
 */
static bool is_tile(const product *p, const sched_input *input) {
    const unsigned rank = sched_type(p->k.s, p->k.s->arrays[input->array].value)->rank;
    bool rows = false, columns = false;
    for (unsigned d = 0; d < rank; d++) {
        const sched_coordinate *at = &input->map.at[d];
        rows |= sched_depends(at, p->m);
        columns |= sched_depends(at, p->n);
        columns |= p->k.g->width && sched_depends(at, p->n + 1);
    }
    return rows && columns;
}

bool product_reads_tile(const product *p) {
    const sched_group *g = p->k.g;
    for (size_t i = 0; i < g->input_count; i++)
        if (!is_operand(p, g->inputs[i].array) && is_tile(p, &g->inputs[i])) return true;
    return false;
}

/* Rows and columns that the epilogue reads, such as biases, are read by several blocks, in no
 * order. So no block writes them, and they can be loaded when a piece of the tile needs them. */
static void mark_constant(const product *p) {
    const sched_group *g = p->k.g;
    for (size_t i = 0; i < g->input_count; i++) {
        const unsigned array = g->inputs[i].array;
        if (is_operand(p, array) || is_tile(p, &g->inputs[i])) continue;
        const tile_value view = p->k.arrays[array];
        tile_function_set_arg_noalias(p->k.f, tile_value_at(p->k.f, view)->index, true);
    }
}

/* Products of a plan share their points. Ranking all points takes as long as there are kernels. */
static bool is_in_large_plan(const product *p) {
    enum { MOST = 4 };
    const schedule *s = p->k.s;
    unsigned count = 0;
    for (size_t i = 0; i < s->group_count; i++)
        count += s->groups[i]->kind == SCHED_MATMUL || s->groups[i]->kind == SCHED_ONLINE;
    return count > MOST;
}

/* Returns whether the operand is rounded in registers and wgmma takes it from these: an operand
 * that is moved after it was rounded, only if it can read the other one. */
static bool is_register_operand(const product *p, unsigned index) {
    const product_operand *side = &p->sides[index];
    const tile_op op = tile_value_def(p->k.s->compute, side->value);
    if (!side->rounded || (op.id && tile_op_opcode(p->k.s->compute, op) == TILE_OP_cast))
        return side->rounded;
    bool reads = true;
    for (unsigned i = 0; i < p->side_count; i++)
        reads &= i == index || product_reads_along_k(p, &p->sides[i]);
    return reads;
}

static sched_space choose_space(const product *p) {
    tile_scalar type = p->sides[0].element->scalar, sum = p->sum->scalar;
    bool part = is_in_large_plan(p), gathered = false, rows = true;
    unsigned computed = 0, rounded = 0;
    for (unsigned i = 0; i < p->side_count; i++) {
        computed += !p->sides[i].plain;
        rounded += is_register_operand(p, i);
        gathered |= p->sides[i].gathered;
        rows &= product_gathers_rows(p, &p->sides[i]);
    }
    if (p->scaled) return SCHED_SPACE_SCALED;
    if (p->packed) return SCHED_SPACE_PACKED;
    bool half = (type == TILE_f16 || type == TILE_bf16) && sum == TILE_f32;
    bool bytes = ((type == TILE_e4m3 || type == TILE_e5m2) && sum == TILE_f32) ||
                 (tile_scalar_as_signed(type) == TILE_i8 && sum == TILE_i32);
    if (p->groups.count) return SCHED_SPACE_GATHERED;
    if (half && gathered) return rows ? SCHED_SPACE_GATHERED : SCHED_SPACE_SCATTERED;
    bool tf32 = p->precision == TILE_WORD_precision_tf32 || (type == TILE_tf32 && sum == TILE_f32);
    if (tf32 && gathered && rows) return SCHED_SPACE_GATHERED;
    if (half && computed) return SCHED_SPACE_REGISTER_OPERAND;
    if (half) return part ? SCHED_SPACE_HALF_PART : SCHED_SPACE_HALF;
    /* wgmma takes one operand from registers. */
    if (tf32)
        return computed && (computed > 1 || !rounded) ? SCHED_SPACE_TF32_COMPUTED
               : part                                 ? SCHED_SPACE_TF32_PART
               : p->taps >= 0                         ? SCHED_SPACE_TF32_WINDOWS
                                                      : SCHED_SPACE_TF32;
    if (p->precision) return SCHED_SPACE_PARTS;
    if (bytes)
        return computed ? SCHED_SPACE_BYTES_COMPUTED
               : part   ? SCHED_SPACE_BYTES_PART
                        : SCHED_SPACE_BYTES;
    if (part) return SCHED_SPACE_FMA_PART;
    return gathered ? SCHED_SPACE_FMA_WINDOWS : SCHED_SPACE_FMA;
}

/* The values that its attributes fix. */
static sched_fixed fix_product(const product *p) {
    static const char *const blocks[] = {"block_m", "block_n", "block_k"};
    schedule *s = p->k.s;
    const tile_attr *tile = tile_op_attr(s->compute, p->op, TILE_ATTR_tile);
    sched_fixed fixed = {.count = 0};
    for (unsigned i = 0; tile && i < tile->count; i++)
        sched_fix(&fixed, TILE_ATTR_tile, blocks[i], tile_expr_int(s->context, tile->list[i]));
    sched_fix_attrs(s, p->op, &fixed);
    product_fix_groups(p, &fixed);
    return fixed;
}

int64_t product_count_terms(const product *p) {
    int64_t taps = p->taps < 0 ? 1 : sched_constant(p->k.g->domain.extents[p->taps]);
    int64_t depth = sched_constant(p->extent_k);
    bool known = taps >= 0 && depth >= 0 && depth <= INT32_MAX / (taps + 1);
    return known ? taps * depth : -1;
}

const tile_expr *product_express_terms(const product *p) {
    schedule *s = p->k.s;
    const tile_expr *depth = sched_expr(s, p->extent_k);
    if (p->taps < 0) return depth;
    return tile_expr_multiply(s->context, sched_expr(s, p->k.g->domain.extents[p->taps]), depth);
}

/* f32 products are summed sequentially by fma, and in chunks if the sums are long. Other products
 * use tensor cores, which have no registers for a second accumulator, so long sums are split into
 * parts. */
static sched_space_needs find_needs(const product *p, const sched_fixed *fixed) {
    int64_t terms = product_count_terms(p);
    int64_t parts = (terms + SCHED_MAX_IN_PART - 1) / SCHED_MAX_IN_PART;
    bool in_chain = p->sum->scalar == TILE_f32 && product_uses_tensor_cores(p);
    bool cuts = in_chain && terms > SCHED_LONG_SUM;
    bool is_fixed_by_user =
        sched_find_fixed(fixed, SCHED_SPLIT) || sched_find_fixed(fixed, SCHED_STRATEGY);
    unsigned sources = 0;
    for (unsigned i = 0; i < p->side_count; i++) sources += p->sides[i].sources;
    return (sched_space_needs){.lean = sources > p->side_count,
                               .parts = !cuts                    ? 1
                                        : parts < TILE_MAX_SPLIT ? parts
                                                                 : TILE_MAX_SPLIT,
                               .sized = in_chain && terms < 0 && !is_fixed_by_user
                                            ? sched_count_parts(p->k.s, product_express_terms(p))
                                            : NULL};
}

/* The index of the clause's parameter; its number of parameters if it has no such one. */
static unsigned find_name(const tile_tune_clause *clause, const char *name) {
    unsigned i = 0;
    while (i < clause->name_count && strcmp(clause->names[i], name) != 0) i++;
    return i;
}

/* Removes points of larger tiles, unless all are larger: the first point that is left is the one
 * without a model. */
static void drop_large(tile_tune_clause *clause, int64_t most) {
    const unsigned count = clause->name_count, m = find_name(clause, "block_m"),
                   n = find_name(clause, "block_n");
    unsigned kept = 0;
    if (m == count || n == count) return;
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass && !kept) return;
        kept = 0;
        for (unsigned i = 0; i < clause->point_count; i++) {
            const tile_expr **point = clause->values + (size_t)i * count;
            if (sched_constant(point[m]) * sched_constant(point[n]) > most) continue;
            if (pass) memmove(clause->values + (size_t)kept * count, point, count * sizeof *point);
            kept++;
        }
    }
    clause->point_count = kept;
}

/* Each block computes one tile, and all warps compute it together. */
static void drop_persistent(product *p) {
    static const struct {
        const char *param, *word;
    } kept_out[] = {{"consumers", "ping_pong"}, {"strategy", "stream_k"}};
    tile_context *context = p->k.s->context;
    tile_function_set_persistent(p->k.f, false, NULL);
    tile_function_set_persistent_if(p->k.f, NULL);
    for (unsigned i = 0; i < sizeof kept_out / sizeof *kept_out; i++)
        tile_function_add_where(
            p->k.f, tile_expr_op(context, TILE_OP_ne, product_param(p, kept_out[i].param),
                                 tile_expr_word(context, kept_out[i].word), NULL));
}

/* Blocks of interleaved rows that multiply little wait for the tile that their epilogue reads.
 * Small ones have few registers, so that others compute meanwhile. 16 images of 16 x 16 x 16
 * places, 32 channels, 64 filters of 3 x 3 x 3 with stride 2 and a residual take 135 us in tiles of
 * 32 x 64, 157 of 64 x 64, 233 of 64 x 128 (H200). */
static void keep_blocks_small(product *p) {
    enum { FEW = 1024 /* terms */, MOST = 4096 /* elements of a tile */ };
    const sched_group *g = p->k.g;
    const int64_t terms = product_count_terms(p);
    product_interleaved rows;
    if (g->output_count != 1 || terms < 0 || terms > FEW || sched_is_given(p->k.s, "block_m") ||
        sched_is_given(p->k.s, "block_n") || !product_find_interleaved(p, &g->outputs[0], &rows))
        return;
    for (size_t i = 0; i < p->k.f->tune_count; i++) drop_large(&p->k.f->tunes[i], MOST);
}

/* A tile that the epilogue reads is loaded to registers beside the sums. Two groups of warps that
 * alternate between tiles spill it, and a persistent kernel has fewer registers: with a residual,
 * 8192 x 8192 x 1024 of f16 takes 855 us with ping_pong, 371 with a tile for each block (H200). */
static void keep_room_for_tile(product *p) {
    tile_context *context = p->k.s->context;
    enum { MOST = 24576 }; /* elements of a tile, of which nothing is spilled */
    if (!product_has_param(p, "consumers") || !product_reads_tile(p)) return;
    drop_persistent(p);
    keep_blocks_small(p);
    const tile_expr *tile =
        tile_expr_multiply(context, product_param(p, "block_m"), product_param(p, "block_n"));
    tile_function_add_where(
        p->k.f, tile_expr_op(context, TILE_OP_le, tile, tile_expr_int(context, MOST), NULL));
}

/* Adds the code for an element of the value, of operations between the product and the results that
 * take several instructions. */
static void add_costly(const product *p, tile_value value, bool *seen, unsigned *code) {
    enum { FAST = 4 };
    const tile_function *f = p->k.s->compute;
    const tile_op op = tile_value_def(f, value);
    if (seen[value.id] || !op.id || op.id == p->op.id || op.id == p->dual.id ||
        sched_find_input(p->k.s, p->k.g, value) >= 0)
        return;
    seen[value.id] = true;
    const tile_opcode opcode = tile_op_opcode(f, op);
    const unsigned own = tile_op_cost(opcode).code;
    if (tile_op_is_costly(opcode))
        *code += tile_op_has_attr(f, op, TILE_ATTR_fast) && own > FAST ? FAST : own;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        add_costly(p, tile_op_operand(f, op, i), seen, code);
}

/* Of two groups of warps that alternate between tiles, one computes the epilogue while the other
 * one multiplies. Where sums are short and the epilogue is long, that is all the time. A thread
 * that has 192 sums then has no registers left to overlap elements: 64 to 128 channels of 3 x 3
 * with a hyperbolic tangent take 252 us in tiles of 128 x 192 and 186 in tiles of 128 x 128, with
 * mish and a hyperbolic tangent 279 and 206, with a bias 133 and 139 (H200). */
static void keep_room_for_functions(product *p) {
    enum { SHORT = 1024 /* terms */, LONG = 22 /* code of an element */, MOST = 16384 };
    const sched_group *g = p->k.g;
    tile_context *context = p->k.s->context;
    const int64_t terms = product_count_terms(p);
    bool *seen = TILE_NEW_ARRAY(p->k.s->arena, bool, p->k.s->compute->value_count);
    unsigned code = 0;
    if (p->taps < 0 || terms < 0 || terms > SHORT || !product_has_param(p, "consumers") ||
        sched_is_given(p->k.s, "consumers"))
        return;
    for (size_t i = 0; i < g->output_count; i++)
        add_costly(p, sched_output_value(p->k.s, &g->outputs[i]), seen, &code);
    if (code < LONG) return;
    const tile_expr *tile =
        tile_expr_multiply(context, product_param(p, "block_m"), product_param(p, "block_n"));
    tile_function_add_where(
        p->k.f,
        tile_expr_op(context, TILE_OP_or,
                     tile_expr_op(context, TILE_OP_ne, product_param(p, "consumers"),
                                  tile_expr_word(context, "ping_pong"), NULL),
                     tile_expr_op(context, TILE_OP_le, tile, tile_expr_int(context, MOST), NULL),
                     NULL));
}

/* Hidden tiles take no time. Blocks even that out, but not iterations of persistent ones. Parts of
 * hidden tiles would be exchanged, too. */
static void spread_tiles(product *p, const sched_fixed *fixed) {
    enum { MANY = 1 << 20 }; /* elements of a result whose tiles occupy all multiprocessors */
    const sched_domain *domain = &p->k.g->domain;
    const int64_t rows = sched_constant(domain->extents[p->m]),
                  columns = sched_constant(domain->extents[p->n]), terms = product_count_terms(p);
    if (product_has_param(p, "consumers")) drop_persistent(p);
    if (terms < 0 || terms > SCHED_LONG_SUM) return;
    if (!product_has_param(p, SCHED_SPLIT) || sched_find_fixed(fixed, SCHED_SPLIT) || rows < 1 ||
        columns < MANY / rows)
        return;
    tile_context *context = p->k.s->context;
    tile_function_add_where(p->k.f, tile_expr_op(context, TILE_OP_eq, product_param(p, SCHED_SPLIT),
                                                 tile_expr_int(context, 1), NULL));
}

/* Returns whether threads store less than 8 contiguous elements of 2 bytes: those of phases in rows
 * that begin at any multiple of an element. */
static bool stores_elements(const product *p) {
    enum { RUN = 16 /* bytes */ };
    const sched_group *g = p->k.g;
    for (size_t i = 0; g->moves && i < g->output_count; i++) {
        const sched_output *output = &g->outputs[i];
        const tile_value value = p->k.s->arrays[output->array].value;
        const tile_type *type = sched_type(p->k.s, value);
        const int64_t row = sched_constant(sched_dim(p->k.s, type, type->rank - 1u));
        const sched_coordinate *last = &output->map.at[type->rank - 1u];
        if (last->index &&
            (last->offset || row < 0 || row * (int64_t)tile_scalar_bytes(type->scalar) % RUN != 0))
            return true;
    }
    return false;
}

/* Each element has an address of its own: 128 x 192 elements spill 1.6 to 3.9 KB a thread, and
 * blocks that store them one after the other wait for each. 128 filters of 4 x 4 with stride 2 take
 * 209 us in tiles of 64 x 128, 230 of 128 x 128 and 409 as a persistent kernel of 128 x 192 (H200).
 */
static void keep_room_for_addresses(product *p) {
    enum { MOST = 8192 /* elements of a tile */ };
    if (!product_has_param(p, "consumers") || !stores_elements(p) ||
        sched_is_given(p->k.s, "block_m") || sched_is_given(p->k.s, "block_n"))
        return;
    drop_persistent(p);
    for (size_t i = 0; i < p->k.f->tune_count; i++) drop_large(&p->k.f->tunes[i], MOST);
}

enum { FEW_ROWS = 64, WIDE = 256 /* columns */ };

/* Which points a product of windows has beside those of all products of tf32. */
typedef struct window_points {
    bool shallow;    /* steps along k have 16 elements, not 32 */
    int64_t filters; /* rows of the product, for which 256 columns are worth it: they are places,
                        which wgmma reads from shared memory; -1: not known; 0: they are not */
} window_points;

/* Of the tiles of few rows and 256 columns, those with the fewest rows for the filters are left. */
static bool is_wanted(const window_points *w, int64_t k, int64_t m, int64_t n) {
    enum { SHALLOW = 16, LEAST = 32, STEP = 16 };
    if (k && (k <= SHALLOW) != w->shallow) return false;
    if (m < 1 || m > FEW_ROWS || n < WIDE) return true;
    return w->filters && (m <= LEAST || w->filters < 0 || w->filters > m - STEP);
}

static void drop_unwanted(tile_tune_clause *clause, const window_points *wanted) {
    const unsigned count = clause->name_count, k = find_name(clause, "block_k"),
                   m = find_name(clause, "block_m"), n = find_name(clause, "block_n");
    unsigned kept = 0;
    for (unsigned i = 0; i < clause->point_count; i++) {
        const tile_expr **point = clause->values + (size_t)i * count;
        if (is_wanted(wanted, k < count ? sched_constant(point[k]) : 0,
                      m < count ? sched_constant(point[m]) : 0,
                      n < count ? sched_constant(point[n]) : 0))
            memmove(clause->values + (size_t)kept++ * count, point, count * sizeof *point);
    }
    clause->point_count = kept;
}

/* A step along k multiplies 32 channels of tf32, or 16 if an odd multiple of 16 holds those of a
 * position of the filter: reading rows from the L2 takes longest, and also rows of zeros. */
static void choose_window_points(const product *p) {
    enum { STEP = 32 };
    tile_context *context = p->k.s->context;
    if (choose_space(p) != SCHED_SPACE_TF32_WINDOWS) return;
    const int64_t channels = sched_constant(p->extent_k);
    const window_points wanted = {
        .shallow = channels > 0 && channels % STEP != 0 && channels % STEP <= STEP / 2,
        .filters = p->sides[1].windowed && p->sides[1].plain
                       ? sched_constant(p->k.g->domain.extents[p->m])
                       : 0,
    };
    if (sched_is_given(p->k.s, "block_k")) return;
    for (size_t i = 0; i < p->k.f->tune_count; i++) drop_unwanted(&p->k.f->tunes[i], &wanted);
    if (!wanted.filters || !product_has_param(p, SCHED_STRATEGY)) return;
    /* Not measured: the cost model estimates them low. */
    const tile_expr *any = tile_expr_op(context, TILE_OP_ne, product_param(p, SCHED_STRATEGY),
                                        tile_expr_word(context, "stream_k"), NULL);
    any = tile_expr_op(context, TILE_OP_or, any,
                       tile_expr_op(context, TILE_OP_gt, product_param(p, "block_m"),
                                    tile_expr_int(context, FEW_ROWS), NULL),
                       NULL);
    any = tile_expr_op(context, TILE_OP_or, any,
                       tile_expr_op(context, TILE_OP_lt, product_param(p, "block_n"),
                                    tile_expr_int(context, WIDE), NULL),
                       NULL);
    tile_function_add_where(p->k.f, any);
}

/* Returns whether the result is moved with index tiles, and is the product but for casts. */
static bool moves_sums(const product *p) {
    const sched_group *g = p->k.g;
    const tile_function *f = p->k.s->compute;
    bool moves = false;
    if (g->output_count != 1) return false;
    const tile_value value = sched_output_value(p->k.s, &g->outputs[0]);
    for (unsigned d = 0; d < sched_type(p->k.s, value)->rank; d++)
        moves |= g->outputs[0].map.at[d].index && sched_depends(&g->outputs[0].map.at[d], p->n);
    if (!moves) return false;
    tile_op op = tile_value_def(f, value);
    while (op.id && op.id != p->op.id &&
           (tile_op_opcode(f, op) == TILE_OP_cast || sched_only_moves(p->k.s, op)))
        op = tile_value_def(f, tile_operand_src(f, op));
    return op.id == p->op.id;
}

/* Such a tile is exchanged as a whole, so that threads store 16 bytes. Two groups of warps that
 * alternate have a buffer each, beside the stages. Without room for these, threads store 4 bytes of
 * a sector: 32768 x 512 x 256 of bf16 take 46 us in tiles of 128 x 192, and 24 in tiles of 128 x
 * 128 (H200). */
static void keep_room_for_exchange(product *p) {
    enum { GROUPS = 2, BARRIERS = 256, SECTORS = 4 /* bytes of an element; lanes fill sectors */ };
    tile_context *context = p->k.s->context;
    const tile_pass *pass = p->k.s->pass;
    if (!product_has_param(p, "consumers") || !pass->has_target || !moves_sums(p)) return;
    const sched_output *output = &p->k.g->outputs[0];
    const int64_t result = tile_scalar_bytes(
                      sched_type(p->k.s, sched_output_value(p->k.s, output))->scalar),
                  operand = tile_scalar_bytes(p->sides[0].element->scalar);
    if (result >= SECTORS) return;
    const tile_expr *m = product_param(p, "block_m"), *n = product_param(p, "block_n");
    const tile_expr *stages = tile_expr_multiply(
        context,
        tile_expr_multiply(context, product_param(p, "stages"), product_param(p, "block_k")),
        tile_expr_multiply(context, tile_expr_op(context, TILE_OP_add, m, n, NULL),
                           tile_expr_int(context, operand)));
    const tile_expr *buffers = tile_expr_multiply(context, tile_expr_multiply(context, m, n),
                                                  tile_expr_int(context, GROUPS * result));
    const tile_expr *fits = tile_expr_op(
        context, TILE_OP_le, tile_expr_op(context, TILE_OP_add, stages, buffers, NULL),
        tile_expr_int(context, (int64_t)pass->target->max_shared_bytes - BARRIERS), NULL);
    const tile_expr *other = tile_expr_op(context, TILE_OP_ne, product_param(p, "consumers"),
                                          tile_expr_word(context, "ping_pong"), NULL);
    tile_function_add_where(p->k.f, tile_expr_op(context, TILE_OP_or, other, fits, NULL));
}

/* Windows whose taps are along k keep the splits that were measured for them: few or many parts.
 * The others are for sums over the positions of images, of which there are few tiles. */
static void restrict_splits(const product *p, const sched_fixed *fixed) {
    static const int kept[] = {4, 16};
    tile_context *context = p->k.s->context;
    if (p->taps < 0 || p->groups.count || choose_space(p) != SCHED_SPACE_GATHERED ||
        sched_find_fixed(fixed, SCHED_SPLIT))
        return;
    const tile_expr *any = tile_expr_op(context, TILE_OP_ne, product_param(p, SCHED_STRATEGY),
                                        tile_expr_word(context, "exchange"), NULL);
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        any = tile_expr_op(context, TILE_OP_or, any,
                           tile_expr_op(context, TILE_OP_eq, product_param(p, SCHED_SPLIT),
                                        tile_expr_int(context, kept[i]), NULL),
                           NULL);
    tile_function_add_where(p->k.f, any);
}

/* Windows of 16 channels are copied in rows of 32 bytes, which a step of 32 elements would fill up
 * with zeros. */
static void fit_depth(product *p) {
    enum { DEPTH = 16, FILLED = 32 /* elements of a step */, HALF = 2 /* bytes */ };
    const tile_function *f = p->k.f;
    tile_context *context = p->k.s->context;
    if (p->taps < 0 || sched_constant(p->extent_k) != DEPTH || sched_is_given(p->k.s, "block_k") ||
        tile_scalar_bytes(p->sides[0].element->scalar) != HALF)
        return;
    for (size_t i = 0; i < f->tune_count; i++) {
        const tile_tune_clause *clause = &f->tunes[i];
        const unsigned k = find_name(clause, "block_k"), stages = find_name(clause, "stages");
        for (unsigned j = 0; k < clause->name_count && j < clause->point_count; j++) {
            const tile_expr **point = clause->values + (size_t)j * clause->name_count;
            if (sched_constant(point[k]) != FILLED) continue;
            point[k] = tile_expr_int(context, DEPTH);
            if (stages < clause->name_count)
                point[stages] = tile_expr_int(context, 2 * sched_constant(point[stages]));
        }
    }
}

/* Wide tiles are for few filters. With more rows the model estimates their time too low. */
static void restrict_wide_tiles(const product *p) {
    enum { FEW = 96 /* rows */ };
    const int64_t rows = sched_constant(p->k.g->domain.extents[p->m]);
    if (choose_space(p) != SCHED_SPACE_FMA_WINDOWS || (rows >= 0 && rows <= FEW)) return;
    tile_function_add_where(p->k.f,
                            tile_expr_op(p->k.s->context, TILE_OP_lt, product_param(p, "block_n"),
                                         tile_expr_int(p->k.s->context, WIDE), NULL));
}

bool product_set_points(product *p) {
    schedule *s = p->k.s;
    sched_group *g = p->k.g;
    sched_fixed fixed = fix_product(p);
    const sched_space_needs needs = find_needs(p, &fixed);
    g->parts = needs.sized;
    if (s->failed ||
        !sched_set_space(s, p->k.f, choose_space(p), p->sides[0].element, p->sum, &needs, &fixed)) {
        s->failed = true;
        return false;
    }
    choose_window_points(p);
    keep_room_for_tile(p);
    keep_room_for_functions(p);
    if (p->seen.found) spread_tiles(p, &fixed);
    keep_room_for_addresses(p);
    keep_room_for_exchange(p);
    fit_depth(p);
    restrict_splits(p, &fixed);
    if (!sched_is_given(s, "block_n")) restrict_wide_tiles(p);
    if (g->has_rows) {
        mark_constant(p);
        product_restrict_tiles(p, product_has_param(p, "consumers") && product_reads_tile(p));
    }
    return true;
}
