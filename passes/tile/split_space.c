/* Which points a kernel can be split at, and writing one into it. */
#include "tile/split.h"

#include <string.h>

#include "lib/ir/regions.h"
#include "passes/tile/split.h"

enum { MOST_PARTS = 192 };

/* The only loop of the body that carries values; 0 if there is none, or *several. */
static tile_op only_loop(const tile_function *f, const char *name, bool *several) {
    tile_op found = TILE_NO_OP;
    *several = false;
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_for || !tile_carried_count(f, op)) continue;
        tile_value iv = tile_region_arg(f, tile_op_region(f, op, 0), 0);
        const char *own = tile_value_at(f, iv)->name;
        if (name && (!own || strcmp(own, name) != 0)) continue;
        *several |= found.id != 0;
        found = op;
    }
    return *several ? TILE_NO_OP : found;
}

tile_op split_find_loop(const tile_function *f, const char *name) {
    bool several;
    tile_op found = only_loop(f, name, &several);
    if (!found.id)
        tile_report(tile_function_context(f), TILE_ERROR, f->loc, "split-k: @%s: %s%s", f->name,
                    several ? "several loops carry values; say which with loop=VARIABLE"
                            : "no loop of its body carries a sum",
                    !several && name ? " with this variable" : "");
    return found;
}

static tile_op loop_of(const tile_function *f) {
    unsigned count;
    bool several;
    tile_op loop = split_find_clause(f, &count);
    return count ? loop : only_loop(f, NULL, &several);
}

static bool is_possible(const tile_function *f, const tile_target *target, tile_op loop,
                        const split_strategy *strategy, int64_t factor, tile_arena *arena) {
    tile_pass pass = {.context = tile_function_context(f), .target = target, .scratch = arena};
    split s = {.pass = &pass,
               .context = pass.context,
               .f = (tile_function *)f, /* only looked at */
               .loop = loop,
               .factor = factor,
               .strategy = strategy,
               .count = tile_carried_count(f, loop),
               .quiet = true};
    return split_is_legal(&s);
}

static unsigned add_points(const tile_function *f, const tile_target *target, tile_op loop,
                           const split_strategy *strategy, tile_split_point *points) {
    tile_arena arena = {0};
    unsigned count = 0;
    if (strategy->splits_one && is_possible(f, target, loop, strategy, 1, &arena))
        points[count++] = (tile_split_point){1, strategy->word};
    for (unsigned power = 2; power <= MOST_PARTS; power *= 2)
        for (unsigned half = 0; half < 2; half++) {
            unsigned factor = power + half * power / 2;
            bool fits =
                factor <= MOST_PARTS && is_possible(f, target, loop, strategy, factor, &arena);
            if (fits) points[count++] = (tile_split_point){factor, strategy->word};
        }
    tile_arena_reset(&arena);
    return count;
}

unsigned tile_split_space(const tile_function *f, const tile_target *target,
                          tile_split_point points[TILE_MAX_SPLIT_POINTS]) {
    if (!f || !target || f->kind != TILE_KERNEL || f->level != 2 || f->param_count) return 0;
    const split_strategy *strategy;
    tile_op loop = loop_of(f);
    unsigned count = 1;
    points[0] = (tile_split_point){1, split_strategy_at(0)->word};
    for (unsigned i = 0; loop.id && (strategy = split_strategy_at(i)); i++)
        if (target->compute_capability >= strategy->capability)
            count += add_points(f, target, loop, strategy, points + count);
    return count;
}

tile_status tile_split_write(tile_function *f, const tile_split_point *point) {
    unsigned count;
    if (!f || !point) return TILE_INVALID;
    bool fits = f->kind == TILE_KERNEL && point->factor >= 1 && point->factor <= TILE_MAX_SPLIT &&
                split_find_strategy(point->strategy);
    if (!fits)
        tile_report(tile_function_context(f), TILE_ERROR, f->loc,
                    "@%s cannot be split into %u parts by the strategy '%s'", f->name,
                    point->factor, point->strategy ? point->strategy : "");
    tile_op loop = fits ? split_find_clause(f, &count) : TILE_NO_OP;
    if (fits && !loop.id) loop = split_find_loop(f, NULL);
    if (!loop.id) return TILE_INVALID;
    tile_op_set_int(f, loop, TILE_ATTR_split, point->factor);
    tile_op_set_text(f, loop, TILE_ATTR_strategy, point->strategy);
    return TILE_OK;
}
