/* Products whose right operand is unpacked from words of eight numbers (kernel/packed.h).
 *
 * The kernel multiplies the transposed operands, so that its tiles may have 8 rows.
 *
 * The order of the terms of a sum is free. So a thread reads whole words from shared memory, its
 * part of a matrix instruction's operand, and the left operand is read in the order in which the
 * bits of a word become elements. With mma.sync each warp reads it so. wgmma, for more than 16
 * rows, reads shared memory itself, so that the threads first store each group's left operand there
 * once more, in this order. Two numbers, 16 bits apart, become a pair of 16-bit floats by one
 * `lop3`: ORed into the mantissa of a power of two whose lowest bit counts 1. A subtraction removes
 * this power. In f16, numbers 4 bits higher fit into the mantissa, too, and `fma` scales them:
 *
 *     word            7 6 5 4 3 2 1 0    numbers along k, the first one in the lowest bits
 *     & 0x000f000f          4       0    0x6400 | x is 1024 + x
 *     & 0x00f000f0        5       1      0x6400 | 16 x is 1024 + 16 x
 *     >> 8                               the same for 6 and 2, 7 and 3 */
#include "passes/schedule/kernel/packed.h"

#include "lib/ir/named.h"
#include "tile/target.h"
#include "passes/schedule/products/product.h"

/* One lop3 of words: its text, and what it computes. */
typedef struct unpacking {
    const char *name, *text;
    int64_t mask, bits;
} unpacking;

enum { LOW_F16, HIGH_F16, LOW_BF16, UNPACKINGS };

static const unpacking unpackings[UNPACKINGS] = {
    [LOW_F16] = {"low_f16", "lop3.b32 $0, $1, 0x000f000f, 0x64006400, 0xea;", 0x000f000f,
                 0x64006400},
    [HIGH_F16] = {"high_f16", "lop3.b32 $0, $1, 0x00f000f0, 0x64006400, 0xea;", 0x00f000f0,
                  0x64006400},
    [LOW_BF16] = {"low_bf16", "lop3.b32 $0, $1, 0x000f000f, 0x43004300, 0xea;", 0x000f000f,
                  0x43004300},
};

/* Expressions and types ------------------------------------------------------------------------ */

static const tile_expr *integer(const product *p, int64_t value) {
    return tile_expr_int(p->k.s->context, value);
}

static const tile_expr *divided(const product *p, const tile_expr *a, int64_t by) {
    return tile_expr_op(p->k.s->context, TILE_OP_div, a, integer(p, by), NULL);
}

static const tile_type *type_of(const product *p, tile_type_kind kind, tile_scalar scalar,
                                unsigned rank, const tile_expr *const *dims) {
    tile_type draft = {.kind = kind, .scalar = scalar, .rank = (uint8_t)rank};
    for (unsigned d = 0; d < rank; d++) draft.dims[d] = dims[d];
    return tile_type_get(p->k.s->context, &draft);
}

static const tile_type *tile_of(const product *p, tile_scalar scalar, const tile_expr *rows,
                                const tile_expr *columns) {
    const tile_expr *dims[] = {rows, columns};
    return type_of(p, TILE_TYPE_TILE, scalar, 2, dims);
}

/* The transposed sums. */
static const tile_type *sums_of(const product *p) {
    return tile_of(p, p->sum->scalar, product_param(p, "block_n"), product_param(p, "block_m"));
}

static const tile_type *with_name(const product *p, const tile_type *type, tile_layout_name name) {
    const tile_layout layout = tile_layout_of_name(name);
    return tile_type_with_layout(p->k.s->context, type, &layout);
}

/* Whether wgmma multiplies where a tile has enough rows. Without a target the kernel is for all of
 * them. */
static bool may_use_wgmma(const product *p) {
    const tile_pass *pass = p->k.s->pass;
    return pass->has_target && tile_target_has(pass->target, TILE_FEATURE_wgmma);
}

/* A tile of the weights, or of their words, as matrix instructions take it: as the first operand of
 * wgmma, or, transposed, as the second one of mma. */
static const tile_type *fragment_of(const product *p, bool wgmma, tile_scalar scalar,
                                    unsigned depth) {
    const tile_expr *columns = product_param(p, "block_n"), *along_k = integer(p, depth);
    return wgmma ? with_name(p, tile_of(p, scalar, columns, along_k), TILE_LAYOUT_NAME_wgmma_lhs)
                 : with_name(p, tile_of(p, scalar, along_k, columns), TILE_LAYOUT_NAME_mma_rhs);
}

/* The part that a thread has of a tile [depth, block_n]. */
static const tile_type *vector_of(const product *p, tile_scalar scalar, unsigned depth) {
    tile_context *context = p->k.s->context;
    const tile_expr *all =
        tile_expr_multiply(context, integer(p, depth), product_param(p, "block_n"));
    const tile_expr *own = tile_expr_op(context, TILE_OP_div, divided(p, all, 32),
                                        product_param(p, "num_warps"), NULL);
    return type_of(p, TILE_TYPE_VECTOR, scalar, 1, &own);
}

/* order NULL: of two dims. */
static tile_value transposed(product *p, tile_value tile, const int64_t *order, unsigned rank) {
    const tile_attr attr = {.id = TILE_ATTR_order, .list = order, .count = rank};
    const tile_segment segments[] = {{tile, NULL, 0}};
    tile_op op =
        tile_build_op_of(&p->k.b, TILE_OP_transpose, segments, 1, NULL, &attr, order != NULL);
    if (order) tile_op_set_list(p->k.f, op, TILE_ATTR_order, order, rank);
    return tile_op_result(p->k.f, op, 0);
}

/* Numbers -------------------------------------------------------------------------------------- */

/* The compute that says what an unpacking does, on any device. */
static const char *define(const product *p, const unpacking *u) {
    schedule *s = p->k.s;
    const char *name =
        sched_unique_name(s, tile_arena_format(s->arena, "%s_%s", p->k.f->name, u->name));
    tile_function *f = tile_function_create(p->k.f->module, TILE_COMPUTE, name, s->compute->loc);
    tile_function_add_param(f, "n", TILE_PARAM_dim, NULL, NULL);
    const tile_expr *dim = tile_expr_param(s->context, "n");
    const tile_type *type = type_of(p, TILE_TYPE_TENSOR, TILE_i32, 1, &dim);
    tile_value words = tile_function_add_arg(f, "x", type);
    tile_function_add_result(f, "y", type);
    tile_builder b = tile_builder_at_end(f, f->body);
    tile_value masked =
        tile_build_and(&b, words, tile_build_splat(&b, tile_build_int(&b, u->mask), type));
    tile_function_set_result(
        f, 0, tile_build_or(&b, masked, tile_build_splat(&b, tile_build_int(&b, u->bits), type)));
    return f->name;
}

/* The numbers that lop3 takes from each word, as floats with its power of two. */
static tile_value unpack(product *p, const char *const *names, unsigned kind, tile_value words) {
    const tile_segment segments[] = {{TILE_NO_VALUE, &words, 1}};
    const tile_type *type = vector_of(p, p->sides[0].element->scalar, p->packed->group / 4);
    tile_op op = tile_build_op_of(&p->k.b, TILE_OP_asm, segments, 1, type, NULL, 0);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_set_text(p->k.f, op, TILE_ATTR_text, unpackings[kind].text);
    tile_op_set_text(p->k.f, op, TILE_ATTR_effect, tile_attr_word_text(TILE_WORD_effect_pure));
    tile_op_set_text(p->k.f, op, TILE_ATTR_reference, names[kind]);
    return tile_op_result(p->k.f, op, 0);
}

static tile_value splat_like(product *p, tile_value like, double number) {
    const tile_type *type = tile_value_type(p->k.f, like);
    const tile_type *element = tile_type_scalar(p->k.s->context, type->scalar);
    tile_value one =
        tile_build_constant(&p->k.b, element, tile_expr_float(p->k.s->context, number));
    return tile_build_splat(&p->k.b, one, type);
}

/* Numbers `first` and first + 4 of each word, without the offset. */
static tile_value take_numbers(product *p, const char *const *names, tile_value words,
                               unsigned first) {
    tile_builder *b = &p->k.b;
    bool is_f16 = p->sides[0].element->scalar == TILE_f16, high = is_f16 && first % 2;
    unsigned shift = SCHED_PACKED_BITS * (first - high);
    double offset = (double)p->packed->offset;
    if (shift)
        words = tile_build_ushr(
            b, words,
            tile_build_splat(b, tile_build_int(b, shift), tile_value_type(p->k.f, words)));
    tile_value value = unpack(p, names, high ? HIGH_F16 : is_f16 ? LOW_F16 : LOW_BF16, words);
    if (!value.id) return value;
    if (high)
        return tile_build_fma(b, value, splat_like(p, value, 0x1p-4),
                              splat_like(p, value, -64 - offset));
    return tile_build_sub(b, value, splat_like(p, value, (is_f16 ? 1024 : 128) + offset));
}

/* Four bytes along k form a word, the first one in its lowest bits. */
static tile_value join_bytes(product *p, tile_value bytes) {
    const tile_expr *words = integer(p, p->packed->group / SCHED_PACKED_NUMBERS);
    return tile_build_bitcast(&p->k.b, bytes,
                              tile_of(p, TILE_i32, product_param(p, "block_n"), words));
}

/* The words of a group in the order of the fragment: a thread of a quad has words that follow each
 * other. */
static tile_value order_words(product *p, bool wgmma, tile_value part) {
    static const int64_t orders[2][2][3] = {{{1, 0, 2}, {2, 1, 0}}, {{2, 1, 0}, {0, 2, 1}}};
    tile_builder *b = &p->k.b;
    const sched_packed *packed = p->packed;
    const tile_expr *columns = product_param(p, "block_n"), *lanes = integer(p, 4);
    const tile_expr *each = integer(p, packed->group / 32);
    const tile_expr *split[] = {packed->transposed ? columns : lanes,
                                packed->transposed ? lanes : each,
                                packed->transposed ? each : columns};
    tile_value words = packed->bytes ? join_bytes(p, part) : part;
    words =
        tile_build_reshape(b, words, TILE_NO_VALUE, type_of(p, TILE_TYPE_TILE, TILE_i32, 3, split));
    words = transposed(p, words, orders[packed->transposed][wgmma], 3);
    return tile_build_reshape(
        b, words, TILE_NO_VALUE,
        fragment_of(p, wgmma, TILE_i32, packed->group / SCHED_PACKED_NUMBERS));
}

/* The weights of a group. */
static tile_value unpack_group(product *p, bool wgmma, const char *const *names, tile_value part) {
    tile_builder *b = &p->k.b;
    const unsigned group = p->packed->group;
    const tile_segment segments[] = {{order_words(p, wgmma, part), NULL, 0}};
    tile_value words = tile_build_op_value(b, TILE_OP_to_fragment, segments, 1,
                                           vector_of(p, TILE_i32, group / SCHED_PACKED_NUMBERS));
    tile_value numbers[4];
    for (unsigned i = 0; i < 4; i++) {
        numbers[i] = take_numbers(p, names, words, i);
        if (!numbers[i].id) return TILE_NO_VALUE;
    }
    const tile_segment all[] = {{tile_build_concat(b, numbers, 4), NULL, 0}};
    tile_value weights =
        tile_build_op_value(b, TILE_OP_from_fragment, all, 1,
                            fragment_of(p, wgmma, p->sides[0].element->scalar, group));
    return wgmma ? weights : transposed(p, weights, NULL, 2);
}

/* The left operand of a group, transposed: bits 4 i and 4 i + 16 of a word become neighbors along
 * k. */
static tile_value reorder(product *p, tile_value plain) {
    static const int64_t order[] = {0, 4, 2, 1, 3};
    const tile_type *type = tile_value_type(p->k.f, plain);
    const tile_expr *split[] = {type->dims[0], integer(p, 4), integer(p, p->packed->group / 32),
                                integer(p, 2), integer(p, 4)};
    tile_value parts = tile_build_reshape(&p->k.b, plain, TILE_NO_VALUE,
                                          type_of(p, TILE_TYPE_TILE, type->scalar, 5, split));
    parts = tile_build_reshape(&p->k.b, transposed(p, parts, order, 5), TILE_NO_VALUE, type);
    return transposed(p, parts, NULL, 2);
}

/* Stores the left operand of a group to the buffer in this order. A thread has 32 elements of a row
 * that it loads 16 bytes at a time, and stores so. */
static void store_reordered(product *p, tile_value plain, tile_value buffer) {
    static const int64_t together[] = {2, 0, 1, 3}, order[] = {1, 4, 0, 2, 3};
    tile_builder *b = &p->k.b;
    tile_context *context = p->k.s->context;
    const tile_type *type = tile_value_type(p->k.f, plain);
    const tile_expr *each = integer(p, p->packed->group / 32), *rows = type->dims[0],
                    *four = integer(p, 4);
    const tile_expr *chunks[] = {rows, four, each, integer(p, 8)},
                    *parts[] = {each, rows, four, integer(p, 2), four};
    const tile_type *held =
        tile_of(p, type->scalar, tile_expr_multiply(context, rows, each), integer(p, 32));
    tile_value value = tile_build_reshape(b, plain, TILE_NO_VALUE,
                                          type_of(p, TILE_TYPE_TILE, type->scalar, 4, chunks));
    value = tile_build_reshape(b, transposed(p, value, together, 4), TILE_NO_VALUE, held);
    value = tile_build_convert_layout(b, value, TILE_NO_VALUE,
                                      with_name(p, held, TILE_LAYOUT_NAME_thread_rows));
    value = tile_build_reshape(b, value, TILE_NO_VALUE,
                               type_of(p, TILE_TYPE_TILE, type->scalar, 5, parts));
    value = tile_build_reshape(b, transposed(p, value, order, 5), TILE_NO_VALUE, type);
    tile_build_store_shared(b, value, buffer, NULL, 0);
}

/* Buffers -------------------------------------------------------------------------------------- */

/* An array that is copied for each step: its buffer, and the dims that count columns, and words or
 * groups. */
typedef struct staged {
    tile_value value, shared;
    int array, column_dim;
    unsigned per_group; /* elements of a group along the other dim */
} staged;

static staged stage(product *p, tile_value value, int column_dim, unsigned per_group) {
    staged out = {.value = value, .column_dim = column_dim, .per_group = per_group};
    const tile_expr *groups = divided(p, product_param(p, "block_k"), p->packed->group);
    const tile_expr *dims[2];
    out.array = sched_find_input(p->k.s, p->k.g, value);
    dims[column_dim] = product_param(p, "block_n");
    dims[!column_dim] = tile_expr_multiply(p->k.s->context, groups, integer(p, per_group));
    out.shared = tile_build_alloc_shared(
        &p->k.b, type_of(p, TILE_TYPE_SHARED, sched_element(p->k.s, value)->scalar, 2, dims));
    return out;
}

static void copy_staged(product *p, const staged *from, tile_value group) {
    tile_builder *b = &p->k.b;
    tile_value index[2];
    index[from->column_dim] = p->k.start[p->n];
    index[!from->column_dim] = tile_build_mul(b, group, tile_build_int(b, from->per_group));
    tile_build_copy(b, sched_array_view(&p->k, (unsigned)from->array, from->value), index, 2,
                    from->shared, NULL, 0, TILE_NO_VALUE);
}

/* The elements of one group, of a step's. */
static tile_value load_group(product *p, const staged *from, tile_value group) {
    tile_builder *b = &p->k.b;
    tile_value index[2];
    const tile_expr *dims[2];
    index[from->column_dim] = tile_build_int(b, 0);
    index[!from->column_dim] = tile_build_mul(b, group, tile_build_int(b, from->per_group));
    dims[from->column_dim] = product_param(p, "block_n");
    dims[!from->column_dim] = integer(p, from->per_group);
    tile_scalar scalar = sched_element(p->k.s, from->value)->scalar;
    return tile_build_load_shared(b, from->shared, index, 2,
                                  type_of(p, TILE_TYPE_TILE, scalar, 2, dims));
}

/* Scales of columns as a tile with the extents of the transposed sums. */
static tile_value spread(product *p, tile_value scales) {
    const tile_type *column = tile_of(p, tile_value_type(p->k.f, scales)->scalar,
                                      product_param(p, "block_n"), integer(p, 1));
    scales = tile_build_reshape(&p->k.b, scales, TILE_NO_VALUE, column);
    return sched_broadcast_to(&p->k, sched_convert(&p->k, scales, p->sum), sums_of(p));
}

/* The loop ------------------------------------------------------------------------------------- */

/* What a step needs: the buffers, and the names of what unpacks. */
typedef struct packed_step {
    staged words, scales; /* scales.value 0: no group has its own */
    tile_value reordered; /* the buffer of a group's left operand; 0: not for wgmma */
    const char *names[UNPACKINGS];
} packed_step;

/* Adds the scaled products of one group of the step. */
static tile_value multiply_group(product *p, const packed_step *step, bool wgmma, tile_value group,
                                 tile_value sum) {
    tile_builder *b = &p->k.b;
    const sched_packed *packed = p->packed;
    const bool scaled = step->scales.value.id != 0;
    tile_value at[] = {tile_build_int(b, 0),
                       tile_build_mul(b, group, tile_build_int(b, packed->group))};
    tile_value lhs =
        tile_build_load_shared(b, p->sides[0].shared, at, 2,
                               tile_of(p, p->sides[0].element->scalar, product_param(p, "block_m"),
                                       integer(p, packed->group)));
    if (wgmma) store_reordered(p, lhs, step->reordered);
    tile_value weights = unpack_group(p, wgmma, step->names, load_group(p, &step->words, group));
    tile_value before = scaled ? tile_build_zero(b, sums_of(p)) : sum;
    const tile_segment segments[] = {{weights, NULL, 0},
                                     {wgmma ? step->reordered : reorder(p, lhs), NULL, 0},
                                     {before, NULL, 0}};
    const tile_attr trans = {.id = TILE_ATTR_trans_rhs};
    tile_op dot = tile_build_op_of(b, TILE_OP_dot, segments, 3, NULL, &trans, wgmma);
    if (!dot.id) return TILE_NO_VALUE;
    if (wgmma)
        tile_op_set_flag(p->k.f, dot, TILE_ATTR_trans_rhs);
    else
        tile_op_set_text(p->k.f, dot, TILE_ATTR_policy, tile_attr_word_text(TILE_WORD_policy_rows));
    tile_value part = tile_op_result(p->k.f, dot, 0);
    if (!scaled) return part;
    return tile_build_fma(b, part, spread(p, load_group(p, &step->scales, group)), sum);
}

/* With few rows mma.sync is faster: wgmma takes as long for 8 columns as for 32, and waits for the
 * second store of the left operand. 117 MB of weights take (H200):
 *
 *     rows   mma.sync   wgmma
 *        1      39 us   45 us
 *       16      47      48
 *       64     136      80 */
static tile_value add_group(product *p, const packed_step *step, tile_value group, tile_value sum) {
    enum { MOST_ROWS_OF_MMA = 16 };
    if (!step->reordered.id) return multiply_group(p, step, false, group, sum);
    const tile_type *type = sums_of(p);
    tile_builder *b = &p->k.b, outside = *b;
    tile_value rows = sched_number(&p->k, product_param(p, "block_m"));
    tile_value many = tile_build_gt(b, rows, tile_build_int(b, MOST_ROWS_OF_MMA));
    tile_op branch = tile_build_if_else(b, many, &type, 1);
    outside = *b;
    for (unsigned region = 0; region < 2; region++) {
        *b = tile_builder_in(&outside, branch, region);
        tile_value next = multiply_group(p, step, region == 0, group, sum);
        if (!next.id) return TILE_NO_VALUE;
        tile_build_yield(b, &next, 1);
    }
    *b = outside;
    return tile_op_result(p->k.f, branch, 0);
}

static tile_builder enter(product *p, tile_op loop) {
    tile_builder outside = p->k.b;
    p->k.b = tile_builder_in(&outside, loop, 0);
    return outside;
}

static void fill_step(product *p, const packed_step *step, tile_op loop) {
    sched_kernel *k = &p->k;
    tile_builder outside = enter(p, loop);
    tile_value first = tile_region_arg(k->f, tile_op_region(k->f, loop, 0), 0);
    tile_value sum = tile_region_arg(k->f, tile_op_region(k->f, loop, 0), 1);
    k->start[p->depth] = tile_build_mul(&k->b, first, tile_build_int(&k->b, p->packed->group));
    product_copy_side(p, 0);
    copy_staged(p, &step->words, first);
    if (step->scales.value.id) copy_staged(p, &step->scales, first);
    tile_value zero = tile_build_int(&k->b, 0), one = tile_build_int(&k->b, 1);
    tile_value groups = sched_number(k, divided(p, product_param(p, "block_k"), p->packed->group));
    tile_op inner = tile_build_for_loop(&k->b, zero, groups, one, &sum, 1);
    tile_op_set_expr(k->f, inner, TILE_ATTR_unroll,
                     divided(p, product_param(p, "block_k"), p->packed->group));
    tile_builder within = enter(p, inner);
    tile_region body = tile_op_region(k->f, inner, 0);
    tile_value next =
        add_group(p, step, tile_region_arg(k->f, body, 0), tile_region_arg(k->f, body, 1));
    tile_build_yield(&k->b, &next, 1);
    k->b = within;
    next = tile_op_result(k->f, inner, 0);
    tile_build_yield(&k->b, &next, 1);
    k->b = outside;
}

/* Loads the scales of the tile's columns. */
static tile_value load_column_scales(product *p) {
    const sched_packed *packed = p->packed;
    sched_kernel *k = &p->k;
    int array = sched_find_input(k->s, k->g, packed->scale);
    const tile_expr *columns = product_param(p, "block_n");
    tile_value view = sched_array_view(k, (unsigned)array, packed->scale);
    const tile_type *type =
        type_of(p, TILE_TYPE_TILE, sched_element(k->s, packed->scale)->scalar, 1, &columns);
    return spread(p, tile_build_load(&k->b, view, &k->start[p->n], 1, TILE_NO_VALUE, type));
}

tile_value product_build_packed(product *p) {
    sched_kernel *k = &p->k;
    const sched_packed *packed = p->packed;
    bool of_columns = packed->scale.id && packed->group_dim < 0;
    packed_step step = {.words = stage(p, packed->words, packed->transposed ? 0 : 1,
                                       packed->group / (packed->bytes ? 2 : SCHED_PACKED_NUMBERS))};
    if (packed->scale.id && !of_columns)
        step.scales = stage(p, packed->scale, packed->column_dim, 1);
    for (unsigned i = 0; i < UNPACKINGS; i++)
        if ((i == LOW_BF16) == (p->sides[0].element->scalar == TILE_bf16))
            step.names[i] = define(p, &unpackings[i]);
    product_alloc_side(p, 0);
    if (may_use_wgmma(p)) {
        const tile_expr *dims[] = {product_param(p, "block_m"), integer(p, packed->group)};
        step.reordered = tile_build_alloc_shared(
            &k->b, type_of(p, TILE_TYPE_SHARED, p->sides[0].element->scalar, 2, dims));
    }
    product_set_sums(p);
    tile_value sum = tile_build_zero(&k->b, sums_of(p));
    const tile_expr *groups =
        tile_expr_op(k->s->context, TILE_OP_ceildiv, sched_expr(k->s, p->extent_k),
                     integer(p, packed->group), NULL);
    tile_op loop = tile_build_for_loop(
        &k->b, tile_build_int(&k->b, 0), sched_number(k, groups),
        sched_number(k, divided(p, product_param(p, "block_k"), packed->group)), &sum, 1);
    product_set_loop(p, loop);
    fill_step(p, &step, loop);
    sum = tile_op_result(k->f, loop, 0);
    if (of_columns) sum = tile_build_mul(&k->b, sum, load_column_scales(p));
    return transposed(p, sum, NULL, 2);
}
