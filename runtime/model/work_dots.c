/* Products at a point: which of them use wgmma, and how much shared memory they read. */
#include <math.h>
#include <string.h>

#include "lib/analysis/pipeline_plan.h"
#include "lib/analysis/product.h"
#include "lib/ops/gather.h"
#include "lib/ops/precision.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"
#include "runtime/model/work_scan.h"

/* Facts --------------------------------------------------------------------------------------- */

static const tile_op_data *def_of(const scan *s, tile_value value) {
    tile_op def = tile_value_def(s->f, value);
    return def.id ? tile_op_at(s->f, def) : NULL;
}

/* The shared buffer of the operand, or that the operand is loaded from only for this product; 0:
 * none. */
static tile_value buffer_of(const scan *s, tile_value value) {
    const tile_op_data *def = def_of(s, value);
    if (tile_value_type(s->f, value)->kind == TILE_TYPE_SHARED) return value;
    if (!def || def->opcode != TILE_OP_load_shared) return TILE_NO_VALUE;
    const tile_type *type = tile_value_type(s->f, def->operands[0]);
    return def->segment[0] == 1u + (type->stages != NULL) ? def->operands[0] : TILE_NO_VALUE;
}

/* Whether the operand is in shared memory or in registers, as choose-instructions decides. Shared
 * operands may be transposed if that is free. */
static void read_operand(const scan *s, tile_op dot, unsigned operand, tile_dot_operand *o) {
    const tile_attr_id trans = operand == TILE_MMA_LHS ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs;
    tile_value value = tile_op_segment(s->f, dot, operand).at[0];
    const tile_op_data *def = def_of(s, value);
    bool turned = def && def->opcode == TILE_OP_transpose;
    if (turned) value = def->operands[0];
    const tile_type *type = tile_value_type(s->f, value);
    tile_op load = tile_value_def(s->f, value);
    tile_value buffer = buffer_of(s, value);
    unsigned known = s->along[buffer.id];
    for (unsigned d = 0; d < 2; d++) o->dims[d] = (uint32_t)scan_dim_of(s, type, d);
    o->k_dim = (operand == TILE_MMA_LHS) != (turned || tile_op_has_attr(s->f, dot, trans));
    if (load.id && tile_op_opcode(s->f, load) == TILE_OP_load &&
        tile_pipelined_around(s->f, load).id)
        known = scan_along(s, tile_operand_src(s->f, load), 2), o->shared = true;
    if (buffer.id) o->shared = !s->rounded[buffer.id] && !tile_value_type(s->f, buffer)->cluster;
    o->along = known ? known - 1 : scan_width_of(s, type) == 2 ? 1 : o->k_dim;
}

static tile_word precision_of(const scan *s, tile_op dot) {
    return tile_attr_find_word(TILE_ATTR_precision,
                               scan_attr_word(s->f, s->point, dot, TILE_ATTR_precision));
}

/* Parts of f32 are computed in registers. */
static void apply_precision(tile_word precision, tile_dot_facts *dot) {
    if (precision == TILE_WORD_precision_tf32) dot->query = tile_mma_query_as_tf32(dot->query);
    if (tile_precision_of(precision)->part_count == 1) return;
    dot->query.lhs = dot->query.rhs = TILE_bf16;
    dot->operand[TILE_MMA_LHS].shared = dot->operand[TILE_MMA_RHS].shared = false;
}

static tile_dot_facts facts_of(const scan *s, tile_op id, const tile_op_data *op) {
    const tile_type *lhs = tile_value_type(s->f, op->operands[0]);
    const tile_type *rhs = tile_value_type(s->f, op->operands[op->segment[0]]);
    const tile_type *acc = tile_value_type(s->f, op->first_result);
    tile_dot_facts dot = {.query = {.lhs = scan_scalar_of(s, lhs),
                                    .rhs = scan_scalar_of(s, rhs),
                                    .acc = scan_scalar_of(s, acc),
                                    .m = (uint32_t)scan_dim_of(s, acc, 0),
                                    .n = (uint32_t)scan_dim_of(s, acc, 1),
                                    .features = s->target->features},
                          .fast = tile_op_has_attr(s->f, id, TILE_ATTR_fast),
                          .alone = tile_dot_is_alone(s->f, id),
                          .warps = s->warps};
    for (unsigned operand = 0; operand < 2; operand++)
        read_operand(s, id, operand, &dot.operand[operand]);
    apply_precision(precision_of(s, id), &dot);
    tile_dot_choose_registers(&dot);
    dot.query.k = dot.operand[TILE_MMA_LHS].dims[dot.operand[TILE_MMA_LHS].k_dim];
    return dot;
}

/* Instructions -------------------------------------------------------------------------------- */

/* Returns whether the extents are valid: they have not been verified at this point. */
static bool is_sound(const tile_dot_facts *dot) {
    bool sound = scan_is_tile(dot->query.m, dot->query.n);
    for (unsigned operand = 0; operand < 2; operand++)
        sound &= scan_is_tile(dot->operand[operand].dims[0], dot->operand[operand].dims[1]);
    return sound;
}

static unsigned warps_of_sums(const scan *s, const tile_dot_facts *dot) {
    return tile_dot_sum_warps(dot, s->loop.facts.target && s->w->ping_pong);
}

static unsigned row_dim_of_cooperative_3(const scan *s, const tile_dot_facts *dot) {
    unsigned row_dim = s->w->cooperative_3 ? 0 : 2;
    while (row_dim < 2 && !tile_dot_admits_cooperative_3(dot, row_dim)) row_dim++;
    return row_dim;
}

/* Products that do not differ in these are computed alike. */
enum { DOT_KEYS = 20 };

/* A product, and whether wgmma computes it. */
typedef struct known_dot {
    struct known_dot *next;
    uint32_t keys[DOT_KEYS];
    bool wgmma;
    unsigned row_dim;
} known_dot;

static int64_t extent_of(const void *user, const tile_type *type, unsigned d) {
    return scan_dim_of(user, type, d);
}

static bool decide_wgmma(const scan *s, tile_op id, const tile_dot_facts *dot, bool asked,
                         unsigned sum_warps, unsigned shared_by_3, unsigned *row_dim) {
    unsigned operand;
    if (tile_find_wgmma_obstacle(dot) != TILE_WGMMA_NO_OBSTACLE) return false;
    const tile_type *sums = tile_value_type(s->f, tile_op_result(s->f, id, 0));
    const unsigned reduced = tile_row_dim_of_reductions(s->f, id, sums, extent_of, s);
    *row_dim = tile_dot_prefer_row_dim(dot, sum_warps, shared_by_3, reduced);
    if (tile_choose_row_dim(dot, false, row_dim, &operand) != TILE_WGMMA_NO_OBSTACLE) return false;
    return asked ||
           (!tile_dot_is_flat(dot) && !tile_dot_excess_registers(dot, *row_dim, sum_warps, 0));
}

static bool takes_wgmma(const scan *s, tile_op id, const tile_dot_facts *dot, unsigned *row_dim) {
    const char *via = scan_attr_word(s->f, s->point, id, TILE_ATTR_via);
    const bool asked = via && strcmp(via, "wgmma") == 0;
    if (!tile_target_has(s->target, TILE_FEATURE_wgmma) || (via && !asked)) return false;
    if (s->loop.facts.target && s->loop.chunked) return false;
    const tile_dot_operand *l = &dot->operand[TILE_MMA_LHS], *r = &dot->operand[TILE_MMA_RHS];
    const unsigned sum_warps = warps_of_sums(s, dot), by_3 = row_dim_of_cooperative_3(s, dot);
    /* Other facts of the product do not depend on the point. */
    const uint32_t keys[DOT_KEYS] = {id.id,          dot->query.m,   dot->query.n,   dot->query.k,
                                     dot->query.lhs, dot->query.rhs, dot->query.acc, dot->warps,
                                     sum_warps,      by_3,           asked,          *row_dim,
                                     l->dims[0],     l->dims[1],     l->along,       l->shared,
                                     r->dims[0],     r->dims[1],     r->along,       r->shared};
    for (const known_dot *known = *s->dots; known; known = known->next)
        if (memcmp(known->keys, keys, sizeof keys) == 0) {
            *row_dim = known->row_dim;
            return known->wgmma;
        }
    known_dot *added = TILE_NEW(s->arena, known_dot);
    memcpy(added->keys, keys, sizeof keys);
    added->wgmma = decide_wgmma(s, id, dot, asked, sum_warps, by_3, row_dim);
    added->row_dim = *row_dim;
    added->next = *s->dots;
    *s->dots = added;
    return added->wgmma;
}

/* Notes how the product restricts the loop that contains it. loads: three groups cannot share rows
 * that they load from the ring. */
static void note_in_loop(scan *s, const tile_dot_facts *dot, bool wgmma, bool loads,
                         unsigned row_dim) {
    pipelined_scan *loop = &s->loop;
    if (!loop->facts.target) return;
    loop->roles &= !tile_loop_rejects_dot(&loop->facts, wgmma, tile_mma_find(&dot->query)).why;
    s->w->ping_pong_fits &= !tile_dot_rejects_ping_pong(dot).why;
    s->w->cooperative_3 &= wgmma && !loads && tile_dot_admits_cooperative_3(dot, row_dim) &&
                           (!loop->dots || loop->row_dim == row_dim);
    loop->dots++;
    loop->row_dim = row_dim;
    loop->sums[0] = dot->query.m;
    loop->sums[1] = dot->query.n;
}

/* Reads --------------------------------------------------------------------------------------- */

/* The operands that warps read from shared memory. The others are in registers. */
typedef struct operands_read {
    double lhs, rhs; /* 1, or 0; more if elements are read one by one */
} operands_read;

/* Returns whether threads add the products by fma. */
static bool is_by_fma(const tile_dot_facts *dot) {
    return !tile_mma_find(&dot->query) && !tile_mma_find_wider(&dot->query);
}

/* mma.sync takes fragments of 4 bytes along k. ldmatrix reads four of them at once if elements are
 * adjacent along k, or have 16 bits. Others are read one by one (H200, 4096^3: i8 368 us with one
 * such operand and 623 with two, tf32 630 with two). */
static double cost_across(const tile_dot_facts *dot, unsigned operand) {
    enum { BYTES_ONE_BY_ONE = 6 };
    const double words_one_by_one = 1.5;
    const tile_dot_operand *o = &dot->operand[operand];
    unsigned bytes = tile_scalar_bytes(operand == TILE_MMA_LHS ? dot->query.lhs : dot->query.rhs);
    if (o->along == o->k_dim || is_by_fma(dot)) return 1;
    return bytes == 1 ? BYTES_ONE_BY_ONE : bytes == 4 ? words_one_by_one : 1;
}

/* Elements that the warps read. They split rows and columns as the policy says, or so that they
 * read least; each warp reads its own rows and columns. policy: NULL if the product has none. */
static double reads_of_warps(operands_read of, double m, double n, double k, unsigned warps,
                             const char *policy) {
    bool free = !policy || strcmp(policy, "square") == 0;
    unsigned first = !free && strcmp(policy, "rows") == 0 ? warps : 1;
    double reads = INFINITY;
    for (unsigned rows = first; rows <= (free ? warps : first); rows *= 2)
        reads = least(reads, k * (of.lhs * m * ((double)warps / rows) + of.rhs * n * rows));
    return reads;
}

/* The time of reading an operand of wgmma in place, relative to rows of 128 bytes along its
 * contiguous dim. Rows along m or n are swizzled by 64 or 32 bytes if they do not consist of 128.
 * The k elements of an instruction are then in as many of the same banks (H200, f16 TT with
 * 112 x 192: 1635 cycles for 64 of k, 720 if a's rows are along k). */
static double cost_of_swizzle(const tile_dot_facts *dot, unsigned operand) {
    enum { WIDEST = 128 };
    const tile_dot_operand *o = &dot->operand[operand];
    const uint32_t row =
        o->dims[1 - o->k_dim] *
        tile_scalar_bytes(operand == TILE_MMA_LHS ? dot->query.lhs : dot->query.rhs);
    return o->along == o->k_dim || !row ? 1 : WIDEST / (double)tile_gcd(row, WIDEST);
}

/* Elements that wgmma reads: each instruction reads its 64 rows of one operand and its columns of
 * the other one. Groups that share rows or alternate between tiles are one warpgroup each. */
static double reads_of_warpgroups(const scan *s, const tile_dot_facts *dot, operands_read of,
                                  unsigned row_dim) {
    uint32_t dims[2] = {dot->query.m, dot->query.n};
    bool apart = s->loop.facts.target && (s->w->ping_pong_fits || s->w->cooperative_3);
    unsigned warps = apart ? TILE_WARPGROUP : dot->warps;
    double elements = (double)dims[0] * dims[1];
    if (apart && s->w->cooperative_3) dims[row_dim] /= TILE_COOPERATIVE_3;
    if (!tile_wgmma_admits(dims, row_dim, warps)) return elements;
    double columns =
        tile_wgmma_columns(dims, row_dim, warps, dot->query.acc, tile_dot_most_columns(dot, warps));
    double lhs = row_dim == TILE_WGMMA_PLAIN ? columns : TILE_WGMMA_ROWS,
           rhs = row_dim == TILE_WGMMA_PLAIN ? TILE_WGMMA_ROWS : columns;
    return elements * dot->query.k *
           (of.lhs / lhs * cost_of_swizzle(dot, TILE_MMA_LHS) +
            of.rhs / rhs * cost_of_swizzle(dot, TILE_MMA_RHS));
}

/* The operations of tensor cores that take as long as wgmma waits for its first operand, which
 * warps load from shared memory to registers. Warpgroups that share rows load them each. Loads that
 * take up to a fifth of the time of the products are hidden (H200, tf32, 4096^3: 326 us with 128
 * such rows in a tile, 368 with 256, 323 without). Bytes are loaded in pairs and then put in order
 * (e4m3, 4096^3: 122 us, 99 without). */
static double operations_of_loads(const scan *s, const tile_dot_facts *dot, unsigned row_dim,
                                  double operations) {
    enum { LOADED_PER_CYCLE = 77, LOADED_IN_PAIRS = 60 /* bytes */ };
    const double hidden = 0.2, exposed = 0.8;
    const uint32_t dims[2] = {dot->query.m, dot->query.n};
    uint32_t groups = dot->warps / TILE_WARPGROUP,
             blocks = (dims[row_dim] + TILE_WGMMA_ROWS - 1) / TILE_WGMMA_ROWS;
    double sharing = groups / (double)tile_gcd(groups, blocks);
    unsigned width =
        tile_scalar_bytes(row_dim == TILE_WGMMA_PLAIN ? dot->query.lhs : dot->query.rhs);
    /* Of groups that alternate, one loads at a time. */
    if (s->w->ping_pong_fits) sharing = TILE_PING_PONG;
    double bytes = sharing * dims[row_dim] * dot->query.k * width;
    double loads =
        bytes / (width == 1 ? LOADED_IN_PAIRS : LOADED_PER_CYCLE) * s->target->wgmma_rate;
    return exposed * most(loads - hidden * operations, 0);
}

/* Returns whether warps read the operand from shared memory: it is there, or is computed from
 * values that are. */
static bool is_read(const scan *s, tile_value operand) {
    const tile_value_data *data = tile_value_at(s->f, operand);
    while (data->kind == TILE_VALUE_RESULT && data->type->kind == TILE_TYPE_TILE) {
        const tile_op_data *op = &s->f->ops[data->owner];
        if (!tile_op_has_trait((tile_opcode)op->opcode, TILE_TRAIT_ELEMENTWISE))
            return op->opcode == TILE_OP_load || op->opcode == TILE_OP_load_shared;
        data = tile_value_at(s->f, op->operands[0]);
    }
    return data->type->kind == TILE_TYPE_SHARED;
}

enum { FMA_RATE = 256 /* operations per cycle and multiprocessor */ };

/* The operations of tensor cores that take as long as the product by fma. For each k, a thread also
 * reads its rows and columns, and each 4 bytes take as long as one fma. */
static double operations_of_fma(const scan *s, const tile_dot_facts *dot) {
    double products = (double)dot->query.m * dot->query.n, sums = products / (32.0 * dot->warps);
    double side = sqrt(most(sums, 1));
    return 2 * products * dot->query.k * (1 + 2 / side) * s->target->mma_rate / FMA_RATE;
}

/* The slowdown of products whose operands are split into parts in registers (H200, 4096^3: bf16x3
 * 1717 us, bf16x6 2890). */
static const double split_in_registers = 2.5;

/* The operations of 16-bit floats that the fastest tensor cores of the target do in the least time
 * that the product can take. */
static double ideal_operations(const scan *s, const tile_dot_facts *dot, bool by_fma,
                               unsigned product_count) {
    const double rate = s->target->wgmma_rate ? s->target->wgmma_rate : s->target->mma_rate;
    double operations = 2.0 * dot->query.m * dot->query.n * dot->query.k;
    if (by_fma) return operations * rate / FMA_RATE;
    return operations * tile_scalar_bytes(dot->query.lhs) / 2 * product_count;
}

void scan_add_dot(scan *s, tile_op id, const tile_op_data *op, double times) {
    const tile_type *lhs = tile_value_type(s->f, op->operands[0]);
    const tile_type *acc = tile_value_type(s->f, op->first_result);
    if (acc->rank != 2 || !lhs->rank) return;
    const tile_dot_facts dot = facts_of(s, id, op);
    double m = dot.query.m, n = dot.query.n, k = dot.query.k, width = scan_width_of(s, lhs);
    /* mma.sync has at least 16 rows and 8 columns. */
    double rows = ceil(m / 16) * 16, columns = ceil(n / 8) * 8;
    const tile_precision *precision = tile_precision_of(precision_of(s, id));
    double each =
        2 * rows * columns * k * tile_scalar_bytes(dot.query.lhs) / 2 * precision->product_count;
    const operands_read of = {.lhs = is_read(s, op->operands[0]),
                              .rhs = is_read(s, op->operands[op->segment[0]])};
    unsigned row_dim =
        tile_dot_admits(&dot, TILE_WGMMA_PLAIN) ? TILE_WGMMA_PLAIN : TILE_WGMMA_SWAPPED;
    bool sound = is_sound(&dot), wgmma = sound && takes_wgmma(s, id, &dot, &row_dim);
    bool loads = wgmma && tile_dot_row_dim_of_registers(&dot) < 2 && of.lhs > 0 && of.rhs > 0;
    if (sound) note_in_loop(s, &dot, wgmma, loads, row_dim);
    const bool by_fma = sound && !wgmma && is_by_fma(&dot);
    if (by_fma) each = operations_of_fma(s, &dot);
    s->cost->ideal += times * ideal_operations(s, &dot, by_fma, precision->product_count);
    if (precision->part_count > 1) each *= split_in_registers;
    s->w->loads_rows |= loads;
    if (loads) each += operations_of_loads(s, &dot, row_dim, each);
    const double operations = times * each;
    s->cost->operations += operations;
    s->w->dots++;
    if (wgmma) {
        s->cost->wgmma += operations;
        s->w->wgmma_dots++;
        s->cost->reads += times * width * reads_of_warpgroups(s, &dot, of, row_dim);
        s->w->promotes |= tile_dot_promotes(&dot);
    } else {
        operands_read one = {of.lhs * cost_across(&dot, TILE_MMA_LHS),
                             of.rhs * cost_across(&dot, TILE_MMA_RHS)};
        /* Elements of the large operand are loaded one by one, to registers of 4 bytes. */
        if (s->loop.facts.target && s->loop.chunked)
            *(m > n ? &one.lhs : &one.rhs) = s->loop.interleaved ? 1 : 4 / width;
        s->cost->reads += times * width *
                          reads_of_warps(one, rows, columns, k, dot.warps,
                                         scan_attr_word(s->f, s->point, id, TILE_ATTR_policy));
    }
    s->w->accumulator = most(s->w->accumulator, scan_bytes_of(s, acc) * s->groups);
}
