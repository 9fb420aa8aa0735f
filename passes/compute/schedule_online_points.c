/* Points and grids of walks, and what attributes say of them. */
#include <string.h>

#include "passes/compute/schedule_given.h"
#include "passes/compute/schedule_online.h"

#include "lib/ir/kinds.h"
#include "lib/ir/syntax.h"

/* Points ----------------------------------------------------------------------------------------
 */

static int power_above(int64_t extent, int least) {
    int block = least;
    while (block < extent) block *= 2;
    return block;
}

typedef struct point {
    int rows, columns, stages, warps;
} point;

/* Bytes of each element that other arrays have of as many: these come to shared memory, too. */
static int64_t bytes_of_elements(const walked *w) {
    int64_t bytes = 0;
    for (size_t i = 0; i < w->k.g->input_count; i++) {
        const sched_input *input = &w->k.g->inputs[i];
        tile_value value = w->k.s->arrays[input->array].value;
        unsigned rank = sched_type(w->k.s, value)->rank;
        bool rows = false, columns = false;
        for (unsigned d = 0; d < rank && input->same; d++) {
            rows |= sched_depends(&input->map.at[d], w->o->m);
            columns |= sched_depends(&input->map.at[d], w->o->n);
        }
        if (rows && columns) bytes += tile_scalar_bytes(sched_element(w->k.s, value)->scalar);
    }
    return bytes;
}

static int64_t shared_bytes(const walked *w, const point *p, int bytes) {
    int64_t inner = w->o->inner_count, deep = w->deep->integer;
    int64_t stage = p->columns * (inner * deep + w->wide->integer);
    return (p->rows * inner * deep + p->stages * stage) * bytes;
}

/* Whether it fits shared memory, and the registers that the sums take. */
static bool fits(const walked *w, const point *p, int bytes) {
    int64_t deep = w->deep->integer, wide = w->wide->integer;
    int64_t most = deep > wide ? deep : wide;
    if (bytes == 2 && p->columns * most > 16384) return false;
    return shared_bytes(w, p, bytes) <= (bytes == 2 ? 166000 : 90000);
}

/* Whether it fits each target's: without tuning there is the first point. */
static bool fits_all(const walked *w, const point *p, int bytes) {
    enum { SMALLEST = 100000 };
    int64_t more = p->stages * p->rows * p->columns * bytes_of_elements(w);
    return fits(w, p, bytes) && shared_bytes(w, p, bytes) + more <= SMALLEST;
}

/* Whether tensor cores multiply all of it. */
static bool is_all_half(const walked *w) {
    bool half = true;
    for (unsigned i = 0; i < w->o->inner_count; i++)
        half &= online_is_half(online_inner_type(w, &w->o->inner[i]));
    for (unsigned i = 0; i < w->o->fold_count; i++) {
        const sched_fold *fold = &w->o->folds[i];
        const tile_type *own = sched_element(w->k.s, sched_narrow(w->k.s, fold->source.value));
        if (fold->product) half &= online_is_half(online_multiplied(w, own, fold->rhs.element));
    }
    return half;
}

static void set_extents(walked *w) {
    enum { LEAST = 16 }; /* of what mma multiplies */
    tile_context *context = w->k.s->context;
    bool product = tile_op_opcode(w->k.s->compute, w->k.g->root) == TILE_OP_matmul;
    w->deep = tile_expr_int(context, power_above(w->o->deep, LEAST));
    w->wide = tile_expr_int(context, product ? power_above(w->o->wide, LEAST) : 1);
}

/* Of the list those that fit, up to 5; returns how many. */
static unsigned choose_points(const walked *w, const point *list, unsigned length, int bytes,
                              int *points) {
    unsigned count = 0;
    for (unsigned i = 0; i < length && !count; i++)
        if (fits_all(w, &list[i], bytes)) memcpy(points + 4 * count++, &list[i], sizeof *list);
    for (unsigned i = 0; i < length && count < 5; i++) {
        bool there = !fits(w, &list[i], bytes);
        for (unsigned b = 0; b < count; b++)
            there |= memcmp(points + 4 * b, &list[i], sizeof *list) == 0;
        if (!there) memcpy(points + 4 * count++, &list[i], sizeof *list);
    }
    return count;
}

void online_add_points(walked *w) {
    set_extents(w);
    bool half = is_all_half(w);
    int most = w->deep->integer > w->wide->integer ? (int)w->deep->integer : (int)w->wide->integer;
    const point first = {most <= 128 ? 128 : 16384 / most,
                         most <= 64    ? 128
                         : most <= 128 ? 64
                                       : 8192 / most,
                         2, 8};
    const point halves[] = {first,           {128, 128, 2, 8}, {128, 64, 3, 8}, {64, 64, 2, 4},
                            {128, 32, 2, 8}, {64, 32, 2, 4},   {16, 32, 1, 4}};
    const point wholes[] = {{32, 32, 2, 4}, {64, 32, 2, 8}, {16, 32, 2, 4}, {32, 16, 1, 4},
                            {16, 16, 2, 4}, {16, 16, 1, 4}, {16, 16, 1, 2}};
    enum { POINTS = sizeof halves / sizeof *halves };
    const tile_expr *params[] = {
        sched_add_param(&w->k, "block_m"), sched_add_param(&w->k, "block_n"),
        sched_add_param(&w->k, "stages"), sched_add_param(&w->k, "num_warps")};
    int points[POINTS * 4];
    bool small = w->o->inner_count > 1 || bytes_of_elements(w);
    unsigned least = half && small ? 2 : 0;
    unsigned count =
        choose_points(w, (half ? halves : wholes) + least, POINTS - least, half ? 2 : 4, points);
    if (!count) memcpy(points, &wholes[POINTS - 1], sizeof *wholes);
    sched_add_tune(&w->k, params, 4, points, count ? count : 1);
    sched_set_warps(&w->k, params[3]);
    w->rows = params[0];
    w->columns = params[1];
}

/* Of the first product [m, n], of the last one [m, its columns, n]. */
static void fix_tile(walked *w, tile_op op, bool last, sched_fixed *fixed) {
    schedule *s = w->k.s;
    const tile_attr *tile = tile_op_attr(s->compute, op, TILE_ATTR_tile);
    const char *const names[] = {"block_m", "block_n"};
    for (unsigned i = 0; tile && i < 2; i++) {
        unsigned at = last ? 2 * i : i;
        if (at >= tile->count) continue;
        const tile_expr *value = tile_expr_int(s->context, tile->list[at]);
        const tile_expr *other = sched_find_fixed(fixed, names[i]);
        if (other && other != value)
            SCHED_FAIL(s, op, "%s: another operation of the same kernel has another `tile`",
                       tile_op_name(s->compute, op));
        if (!other) sched_fix(fixed, TILE_ATTR_tile, names[i], value);
    }
}

void online_fix_points(walked *w) {
    schedule *s = w->k.s;
    sched_fixed fixed = {.count = 0};
    for (unsigned i = 0; i <= w->o->inner_count; i++) {
        bool last = i == w->o->inner_count;
        tile_op op = last ? w->k.g->root : w->o->inner[i].op;
        if (tile_op_opcode(s->compute, op) != TILE_OP_matmul) continue;
        sched_fixed own = {.count = 0};
        fix_tile(w, op, last, &fixed);
        sched_fix_attrs(s, op, &own);
        sched_merge_fixed(s, op, "operation", &own, &fixed);
    }
    if (!s->failed) sched_fix_points(s, w->k.f, &fixed);
}

/* The grid --------------------------------------------------------------------------------------
 */

/* x: the rows' tile, the longest ones first where later rows see more; y: the last batch dim; z:
 * the others. */
void online_set_grid(walked *w) {
    sched_kernel *k = &w->k;
    tile_context *context = k->s->context;
    const tile_expr *rest = tile_expr_int(context, 1);
    const tile_expr *rows = sched_expr(k->s, k->g->domain.extents[w->o->m]);
    unsigned dims[TILE_MAX_RANK], count = 0;
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) k->start[d] = tile_build_int(&k->b, 0);
    for (unsigned d = w->o->m; d-- > 0;)
        if (!sched_is_one(k->g->domain.extents[d])) dims[count++] = d;
    for (unsigned i = 1; i < count; i++)
        rest = tile_expr_multiply(context, sched_expr(k->s, k->g->domain.extents[dims[i]]), rest);
    const tile_expr *grid[] = {
        tile_expr_op(context, TILE_OP_ceildiv, rows, w->rows, NULL),
        count ? sched_expr(k->s, k->g->domain.extents[dims[0]]) : tile_expr_int(context, 1), rest};
    tile_function_set_grid(k->f, count > 1 ? 3 : count ? 2 : 1, grid);
    tile_value x = tile_build_block_id(&k->b), left = {x.id + 2};
    if (sched_ends_early(k->s, w->o)) {
        tile_value last = tile_build_sub(&k->b, sched_number(k, grid[0]), tile_build_int(&k->b, 1));
        x = tile_build_max(&k->b, tile_build_sub(&k->b, last, x), tile_build_int(&k->b, 0));
    }
    if (count) k->start[dims[0]] = (tile_value){left.id - 1};
    for (unsigned i = 1; i < count; i++) {
        k->start[dims[i]] = left;
        if (i + 1 == count) break;
        tile_value extent = sched_number(k, sched_expr(k->s, k->g->domain.extents[dims[i]]));
        extent = tile_build_max(&k->b, extent, tile_build_int(&k->b, 1));
        k->start[dims[i]] = tile_build_rem(&k->b, left, extent);
        left = tile_build_div(&k->b, left, extent);
    }
    k->start[w->o->m] = tile_build_mul(&k->b, x, sched_number(k, w->rows));
}
