/* Decides whether reductions are split into parts, and into how many.
 *
 * A block has some columns, or a row. If there are few of them, most SMs idle while the others wait
 * for memory. The tiles along the axis are therefore distributed over `split` blocks, and a second
 * kernel combines the parts in their order (passes/split/workspace.c). Its time does not grow with
 * the number of parts as a chain of blocks would, and results are bitwise reproducible. The best
 * number of parts depends on extents and device. Both `split` and `strategy` are therefore
 * parameters, which the cost model or the tuner chooses for a launch. */
#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"
#include "passes/schedule/rows/rows.h"

/* Is a split worthwhile? ----------------------------------------------------------------------- */

enum {
    MAX_PARTS = 1024,
    MANY_BLOCKS = 256,   /* about two per SM of the largest targets */
    TILES_OF_FEW = 4,    /* along the axis: one block processes these fast enough */
    MAX_REDUCTIONS = 64, /* loop-carried */
};

int64_t rows_count_others(const rows *r, int beside, int64_t columns) {
    int64_t count = 1;
    for (unsigned d = 0; d < r->k.g->domain.rank; d++) {
        int64_t extent = sched_constant(r->k.g->domain.extents[d]);
        if (d == r->axis) continue;
        if (extent < 0 || (extent && count > INT32_MAX / extent)) return -1;
        count *= (int)d == beside ? (extent + columns - 1) / columns : extent;
    }
    return count;
}

bool rows_must_split(const rows *r) {
    const tile_expr *split = sched_find_fixed(&r->fixed, SCHED_SPLIT);
    return split && !tile_expr_is(split, 1);
}

static bool miss(rows *r, tile_op op, const char *why, const char *remedy) {
    if (rows_must_split(r))
        SCHED_FAIL(r->k.s, op, "%s: it cannot be split: %s; %s", tile_op_name(r->k.s->compute, op),
                   why, remedy);
    else
        tile_missed_at(r->k.s->compute, op, "not split", remedy, "%s", why);
    return false;
}

static const char *name_of(const rows *r, tile_value value) {
    const char *name = tile_value_at(r->k.s->compute, value)->name;
    return name ? tile_arena_format(r->k.s->arena, "%%%s", name) : "a result";
}

/* Checks that the parts of this reduction can be combined. */
static bool may_be_parts(rows *r, size_t index) {
    tile_op op = rows_op(r, index);
    if (sched_is_along(r->k.s, op)) /* it has a whole row in one tile, and a diagnostic has said
                                       so */
        return rows_must_split(r) && miss(r, op, "a block has a whole row of it",
                                          "compute the sums in a separate compute");
    if (rows_returns_index(r, index) && !rows_has_key(r, index))
        return miss(r, op,
                    "blocks cannot exchange a value of 64 bits and its coordinate as one number",
                    "reduce values of 32 bits, or take reduce_max or reduce_min");
    if (r->levels[index] > 1)
        return miss(r, op, "it needs the result of another reduction of the same rows",
                    "put the other reduction into a separate compute");
    return true;
}

static bool is_alone(rows *r) {
    const schedule *s = r->k.s;
    for (size_t i = 0; i < r->k.g->output_count; i++) {
        tile_value value = s->arrays[r->k.g->outputs[i].array].value;
        if (!rows_is_long(r, &r->k.g->outputs[i])) continue;
        const char *why = tile_arena_format(
            s->arena, "the same kernel reads the axis again, for %s", name_of(r, value));
        return miss(r, rows_op(r, 0), why, "put the reduction into a separate compute");
    }
    return true;
}

/* Returns whether no split is requested and it would not pay off. */
static bool needs_no_parts(const rows *r, int64_t along, int64_t blocks) {
    if (rows_must_split(r)) return false;
    if (sched_find_fixed(&r->fixed, SCHED_SPLIT)) return true;
    if (r->known >= 0 && r->known <= TILES_OF_FEW * along) return true;
    return !blocks || blocks >= MANY_BLOCKS;
}

bool rows_may_split(rows *r, int64_t along, int64_t blocks) {
    if (needs_no_parts(r, along, blocks) || r->k.g->reduction_count > MAX_REDUCTIONS) return false;
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        if (!may_be_parts(r, i)) return false;
    return is_alone(r);
}

/* Tuning points -------------------------------------------------------------------------------- */

/* Returns whether there are more tiles along the axis than parts. */
static bool has_tiles(const rows *r, int64_t along, int parts) {
    return r->known < 0 || r->known > parts * along;
}

/* The split that is used if extents or the device are not known. */
static int first_split(const rows *r, int64_t along, int64_t blocks, int likely) {
    int split = 1;
    while (split < MAX_PARTS && has_tiles(r, along, split) &&
           (blocks < 0 ? split < likely : blocks * split < MANY_BLOCKS))
        split *= 4;
    return split;
}

static void add_tune(rows *r, const tile_expr *const *params, const int *splits, unsigned count) {
    tile_context *context = r->k.s->context;
    const char *names[] = {params[0]->name, params[1]->name};
    const tile_expr **values = TILE_NEW_ARRAY(r->k.s->arena, const tile_expr *, 2 * (size_t)count);
    for (unsigned i = 0; i < count; i++) {
        values[2 * i] = tile_expr_int(context, splits[i]);
        values[2 * i + 1] = tile_expr_word(context, splits[i] > 1 ? "workspace" : "serial");
    }
    tile_function_add_tune(r->k.f, 2, names, count, values);
}

void rows_add_splits(rows *r, int64_t along, int64_t blocks, int likely,
                     const tile_expr *params[2]) {
    int first = first_split(r, along, blocks, likely), splits[8] = {first};
    unsigned count = 1;
    for (int split = 1; split <= MAX_PARTS; split *= 4)
        if (split != first && has_tiles(r, along, split / 4)) splits[count++] = split;
    params[0] = sched_add_param(&r->k, SCHED_SPLIT);
    tile_function_add_param(r->k.f, SCHED_STRATEGY, TILE_PARAM_word, NULL, NULL);
    params[1] = tile_expr_param(r->k.s->context, SCHED_STRATEGY);
    if (rows_must_split(r)) {
        splits[0] = (int)sched_constant(sched_find_fixed(&r->fixed, SCHED_SPLIT));
        count = 1;
    }
    add_tune(r, params, splits, count);
}
