/* Tuning points of online loops, and the attributes that fix them. */
#include <string.h>

#include "passes/schedule/online/online_kernel.h"
#include "passes/schedule/kernel/given.h"

#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"

/* Points --------------------------------------------------------------------------------------- */

static int power_above(int64_t extent, int least) {
    int block = least;
    while (block < extent) block *= 2;
    return block;
}

typedef struct point {
    int rows, columns, stages, warps;
} point;

/* Bytes per element of other inputs with as many elements, which also go through shared memory. */
static int64_t bytes_of_elements(const online_kernel *w) {
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

static int64_t shared_bytes(const online_kernel *w, const point *p, int bytes) {
    int64_t inner = w->o->inner_count, deep = w->deep->integer;
    int64_t stage = p->columns * (inner * deep + w->wide->integer);
    int64_t most = deep > w->wide->integer ? deep : w->wide->integer;
    /* Without tensor cores, long heads are copied once more, from registers. */
    int64_t copied = bytes == 4 && online_is_deep(w) ? p->columns * most : 0;
    return (p->rows * inner * deep + p->stages * stage + copied) * bytes;
}

/* Returns whether the point fits shared memory, and the accumulators fit the registers. */
static bool fits(const online_kernel *w, const point *p, int bytes) {
    int64_t deep = w->deep->integer, wide = w->wide->integer;
    int64_t most = deep > wide ? deep : wide;
    if (bytes == 2 && p->columns * most > 16384) return false;
    bool large = bytes == 2 || online_is_deep(w);
    return shared_bytes(w, p, bytes) <= (large ? 166000 : 90000);
}

/* Returns whether it fits all targets: without tuning, the first point is used. */
static bool fits_all(const online_kernel *w, const point *p, int bytes) {
    enum { SMALLEST = 100000 };
    int64_t more = p->stages * p->rows * p->columns * bytes_of_elements(w);
    return fits(w, p, bytes) && shared_bytes(w, p, bytes) + more <= SMALLEST;
}

bool online_uses_tensor_cores(const online_kernel *w) {
    bool half = true;
    for (unsigned i = 0; i < w->o->inner_count; i++)
        half &= sched_is_half(online_inner_type(w, &w->o->inner[i]));
    for (unsigned i = 0; i < w->o->fold_count; i++) {
        const sched_carried_reduction *fold = &w->o->folds[i];
        const tile_type *own = sched_element(w->k.s, sched_narrow(w->k.s, fold->source.value));
        if (fold->product) half &= sched_is_half(online_multiplied(w, own, fold->rhs.element));
    }
    return half;
}

static void set_extents(online_kernel *w) {
    enum { MIN_EXTENT = 16 }; /* the minimum extent for mma */
    tile_context *context = w->k.s->context;
    bool product = tile_op_opcode(w->k.s->compute, w->k.g->root) == TILE_OP_matmul;
    w->deep = tile_expr_int(context, power_above(w->o->deep, MIN_EXTENT));
    w->wide = tile_expr_int(context, product ? power_above(w->o->wide, MIN_EXTENT) : 1);
}

enum { MOST = 5, MOST_HALVES = 6, DEEP = 256 };

/* Chooses up to `most` points of the list that fit, the first one at or after `likely`; returns
 * their number. */
static unsigned choose_points(const online_kernel *w, const point *list, unsigned length,
                              unsigned likely, int bytes, unsigned most, int *points) {
    unsigned count = 0;
    for (unsigned i = likely; i < length && !count; i++)
        if (fits_all(w, &list[i], bytes)) memcpy(points + 4 * count++, &list[i], sizeof *list);
    for (unsigned i = 0; i < length && count < most; i++) {
        bool there = !fits(w, &list[i], bytes);
        for (unsigned b = 0; b < count; b++)
            there |= memcmp(points + 4 * b, &list[i], sizeof *list) == 0;
        if (!there) memcpy(points + 4 * count++, &list[i], sizeof *list);
    }
    return count;
}

/* Few rows ------------------------------------------------------------------------------------- */

enum { MANY_BLOCKS = 128, MAX_PARTS = 32 };

/* Returns whether one or two tiles contain all rows, so that the columns are read for these
 * alone. */
static bool is_few(const online_kernel *w) {
    int64_t rows = sched_constant(w->k.g->domain.extents[w->o->m]);
    return w->packed || (rows >= 0 && rows <= SCHED_FEW_ROWS);
}

/* The rows of a tile: all of them, if they are known to be this few. */
static int rows_of_few(const online_kernel *w) {
    enum { MIN_EXTENT = 16 }; /* the minimum extent for mma */
    int64_t rows = sched_constant(w->k.g->domain.extents[w->o->m]);
    return rows < 0 ? MIN_EXTENT
                    : power_above(rows > SCHED_FEW_ROWS ? SCHED_FEW_ROWS : rows, MIN_EXTENT);
}

/* The number of blocks without parts; -1: not known. */
static int64_t count_blocks(const online_kernel *w) {
    int64_t blocks = 1;
    for (unsigned d = 0; d < w->o->m; d++) {
        int64_t extent = sched_constant(w->k.g->domain.extents[d]);
        if (extent < 0) return -1;
        blocks = extent > INT32_MAX / (blocks ? blocks : 1) ? INT32_MAX : blocks * extent;
    }
    return blocks;
}

/* Returns whether there are enough columns for this many parts. */
static bool has_columns(const online_kernel *w, int parts) {
    enum { MIN_EXTENT = 128 };
    int64_t columns = sched_constant(w->o->extent);
    return columns < 0 || columns >= (int64_t)parts * MIN_EXTENT;
}

/* Splits into about one block per SM of the largest targets; otherwise the tuner chooses. */
static void add_split(online_kernel *w) {
    int64_t blocks = count_blocks(w);
    int first = blocks < 0 ? 4 : 1, splits[8];
    if (blocks >= 2 * MANY_BLOCKS || !blocks || !has_columns(w, 2)) return;
    while (blocks >= 0 && blocks * first < MANY_BLOCKS && first < MAX_PARTS) first *= 2;
    while (first > 1 && !has_columns(w, first)) first /= 2;
    unsigned count = 0;
    splits[count++] = first;
    for (int split = 1; split <= MAX_PARTS; split *= 2)
        if (split != first && has_columns(w, split)) splits[count++] = split;
    w->split = sched_add_param(&w->k, SCHED_SPLIT);
    sched_add_tune(&w->k, &w->split, 1, splits, count);
}

static void add_few(online_kernel *w, bool half) {
    enum { POINTS = 6 };
    int rows = rows_of_few(w);
    const point halves[POINTS] = {{rows, 64, 4, 4},  {rows, 64, 2, 4}, {rows, 32, 4, 4},
                                  {rows, 128, 3, 4}, {rows, 64, 3, 4}, {rows, 32, 4, 2}};
    const point wholes[POINTS] = {{rows, 32, 2, 4}, {rows, 16, 2, 4}, {rows, 16, 4, 4},
                                  {rows, 16, 1, 4}, {16, 16, 2, 4},   {16, 16, 1, 4}};
    const tile_expr *params[] = {
        sched_add_param(&w->k, "block_m"), sched_add_param(&w->k, "block_n"),
        sched_add_param(&w->k, "stages"), sched_add_param(&w->k, "num_warps")};
    static const point least = {16, 16, 1, 2};
    int points[POINTS * 4];
    unsigned count =
        choose_points(w, half ? halves : wholes, POINTS, 0, half ? 2 : 4, MOST, points);
    if (!count) memcpy(points, &least, sizeof least);
    w->few_rows = true;
    sched_add_tune(&w->k, params, 4, points, count ? count : 1);
    sched_set_warps(&w->k, params[3]);
    w->rows = params[0];
    w->columns = params[1];
    add_split(w);
}

bool online_is_deep(const online_kernel *w) {
    return w->deep->integer > DEEP || w->wide->integer > DEEP;
}

/* Tiles of few rows, whose columns the warps share. One stage of two blocks of long heads fills the
 * shared memory of small targets. */
static void add_deep(online_kernel *w, bool half) {
    const point halves[] = {
        {32, 16, 2, 8}, {32, 32, 2, 8}, {16, 16, 2, 8}, {32, 32, 1, 8}, {16, 16, 1, 8}};
    const point wholes[] = {{16, 8, 1, 8}, {16, 16, 1, 8}, {16, 8, 2, 8},
                            {8, 8, 2, 8},  {8, 8, 1, 8},   {8, 4, 1, 8}};
    enum { HALVES = sizeof halves / sizeof *halves, WHOLES = sizeof wholes / sizeof *wholes };
    const tile_expr *params[] = {
        sched_add_param(&w->k, "block_m"), sched_add_param(&w->k, "block_n"),
        sched_add_param(&w->k, "stages"), sched_add_param(&w->k, "num_warps")};
    int points[MOST * 4];
    unsigned count = choose_points(w, half ? halves : wholes, half ? HALVES : WHOLES, 0,
                                   half ? 2 : 4, MOST, points);
    sched_add_tune(&w->k, params, 4, points, count);
    sched_set_warps(&w->k, params[3]);
    w->rows = params[0];
    w->columns = params[1];
}

void online_add_points(online_kernel *w) {
    set_extents(w);
    if (online_is_deep(w)) {
        add_deep(w, online_uses_tensor_cores(w));
        return;
    }
    bool half = online_uses_tensor_cores(w);
    int most = w->deep->integer > w->wide->integer ? (int)w->deep->integer : (int)w->wide->integer;
    const point first = {most <= 128 ? 128 : 16384 / most,
                         most <= 64    ? 128
                         : most <= 128 ? 64
                                       : 8192 / most,
                         2, 8};
    if (is_few(w)) {
        add_few(w, half);
        return;
    }
    /* One warpgroup goes through the keys faster than two, if the device has room for all tiles. */
    const point narrow = most <= 64 ? first : (point){128, 64, 3, 8};
    /* Three warpgroups share the keys that they read. */
    const point tall = most <= 64 ? (point){192, 128, 2, 8} : first;
    const point halves[] = {first,          {128, 128, 2, 8}, tall,           narrow,
                            {64, 64, 2, 4}, {64, 64, 3, 4},   {64, 64, 4, 4}, {128, 32, 2, 8},
                            {64, 32, 2, 4}, {16, 32, 1, 4}};
    /* The accumulators of several products leave few registers of mma to large tiles. */
    const point several[] = {first,          {128, 128, 2, 8}, {128, 64, 2, 8}, {128, 64, 3, 8},
                             {64, 64, 2, 4}, {128, 32, 2, 8},  {64, 32, 2, 4},  {16, 32, 1, 4}};
    const point wholes[] = {{32, 32, 2, 4}, {64, 32, 2, 8}, {16, 32, 2, 4}, {32, 16, 1, 4},
                            {16, 16, 2, 4}, {16, 16, 1, 4}, {16, 16, 1, 2}};
    enum {
        HALVES = sizeof halves / sizeof *halves,
        WHOLES = sizeof wholes / sizeof *wholes,
        SEVERAL = sizeof several / sizeof *several,
        SMALL = 2, /* first index of the small tiles */
        SMALL_HALVES = 3
    };
    const tile_expr *params[] = {
        sched_add_param(&w->k, "block_m"), sched_add_param(&w->k, "block_n"),
        sched_add_param(&w->k, "stages"), sched_add_param(&w->k, "num_warps")};
    int points[(MOST_HALVES + 1) * 4];
    bool limited = half && most <= 64 && w->o->inner_count == 1 && !bytes_of_elements(w);
    unsigned count;
    if (!half)
        count = choose_points(w, wholes, WHOLES, 0, 4, MOST, points);
    else if (bytes_of_elements(w))
        count = choose_points(w, halves + SMALL_HALVES, HALVES - SMALL_HALVES, 0, 2, MOST_HALVES,
                              points);
    else if (w->o->inner_count > 1)
        count = choose_points(w, several, SEVERAL, SMALL, 2, MOST, points);
    else
        count = choose_points(w, halves, HALVES, 0, 2, MOST_HALVES + limited, points);
    if (!count) memcpy(points, &wholes[WHOLES - 1], sizeof *wholes);
    sched_add_tune(&w->k, params, 4, points, count ? count : 1);
    w->limited = limited;
    sched_set_warps(&w->k, params[3]);
    w->rows = params[0];
    w->columns = params[1];
}

/* Limits --------------------------------------------------------------------------------------- */

/* Returns whether some points have at most this value of the parameter, and others more. */
static bool has_both(const online_kernel *w, const char *param, int most) {
    bool low = false, high = false;
    for (size_t t = 0; t < w->k.f->tune_count; t++) {
        const tile_tune_clause *clause = &w->k.f->tunes[t];
        for (unsigned i = 0; i < clause->point_count * clause->name_count; i++) {
            if (strcmp(clause->names[i % clause->name_count], param) != 0) continue;
            low |= clause->values[i]->integer <= most;
            high |= clause->values[i]->integer > most;
        }
    }
    return low && high;
}

/* Limits tiles of three warpgroups to long sequences: of short ones they would be empty or masked
 * in large part (H200, depth 64, causal: 256 heads of 512 take 46.2 us, 42.2 us with two). */
static void limit_tall(online_kernel *w) {
    enum { LONG = 1024, TWO_WARPGROUPS = 128 };
    if (!has_both(w, "block_m", TWO_WARPGROUPS)) return;
    tile_context *context = w->k.s->context;
    const tile_expr *rows = sched_expr(w->k.s, w->k.g->domain.extents[w->o->m]);
    const tile_expr *is_long =
        tile_expr_op(context, TILE_OP_gt, rows, tile_expr_int(context, LONG), NULL);
    const tile_expr *low =
        tile_expr_op(context, TILE_OP_le, w->rows, tile_expr_int(context, TWO_WARPGROUPS), NULL);
    tile_function_add_where(w->k.f, tile_expr_op(context, TILE_OP_or, low, is_long, NULL));
}

/* Limits tiles of one warpgroup to launches whose tiles all fit the device at once. Where they do
 * not, two warpgroups share the keys that they read (H200, depth 64, causal: 33 heads of 12375 take
 * 1486 us with one and 1231 with three; 11 heads of 2384 take 28.8 and 33.1 with two). */
static void limit_narrow(online_kernel *w) {
    enum { FEW_ROWS = 100000, ONE_WARPGROUP = 4, TWO_WARPGROUPS = 8 };
    if (!has_both(w, "num_warps", ONE_WARPGROUP)) return;
    tile_context *context = w->k.s->context;
    const tile_expr *const *extents = w->k.g->domain.extents;
    const tile_expr *rows = sched_expr(w->k.s, extents[0]);
    for (unsigned d = 1; d <= w->o->m; d++)
        rows = tile_expr_op(context, TILE_OP_mul, rows, sched_expr(w->k.s, extents[d]), NULL);
    const tile_expr *few =
        tile_expr_op(context, TILE_OP_le, rows, tile_expr_int(context, FEW_ROWS), NULL);
    const tile_expr *wide = tile_expr_op(context, TILE_OP_eq, tile_expr_param(context, "num_warps"),
                                         tile_expr_int(context, TWO_WARPGROUPS), NULL);
    tile_function_add_where(w->k.f, tile_expr_op(context, TILE_OP_or, wide, few, NULL));
}

/* Where attributes leave only points of one kind, a limit would exclude what the user wrote. */
static void add_limits(online_kernel *w) {
    limit_narrow(w);
    limit_tall(w);
}

/* Attributes ----------------------------------------------------------------------------------- */

/* The first product's tile is [m, n]; the last product's is [m, its columns, n]. */
static void fix_tile(online_kernel *w, tile_op op, bool last, sched_fixed *fixed) {
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

void online_fix_points(online_kernel *w) {
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
    if (s->failed) return;
    sched_fix_points(s, w->k.f, &fixed);
    if (w->limited) add_limits(w);
}
