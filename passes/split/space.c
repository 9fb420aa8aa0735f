/* The split points of a kernel, and writing one of them into it. */
#include "tile/split.h"

#include <string.h>

#include "lib/ir/regions.h"
#include "lib/support/guess.h"
#include "passes/split/split.h"
#include "passes/split/steps.h"

enum { MAX_PARTS = 192 };

/* Words ---------------------------------------------------------------------------------------- */

const char *split_suggest_strategy(const char *word, tile_arena *arena) {
    tile_guess guess = tile_guess_start(word, strlen(word));
    const split_strategy *strategy;
    for (unsigned i = 0; (strategy = split_strategy_at(i)); i++)
        tile_guess_try(&guess, split_info(strategy)->word);
    if (guess.best) return tile_guess_phrase(&guess, "", arena);
    const char *words = "; there are";
    for (unsigned i = 0; (strategy = split_strategy_at(i)); i++)
        words =
            tile_arena_format(arena, "%s%s %s", words, i ? "," : "", split_info(strategy)->word);
    return words;
}

/* Loops ---------------------------------------------------------------------------------------- */

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

/* "%i, %j": the variables of the loops that carry values. */
static const char *name_loops(const tile_function *f, tile_arena *arena) {
    const char *names = "";
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_for || !tile_carried_count(f, op)) continue;
        const char *own = tile_value_at(f, tile_region_arg(f, tile_op_region(f, op, 0), 0))->name;
        if (own) names = tile_arena_format(arena, "%s%s%%%s", names, *names ? ", " : "", own);
    }
    return names;
}

bool split_has_loop(const tile_function *f, const char *name) {
    bool several;
    return only_loop(f, name, &several).id || several;
}

tile_op split_find_loop(const tile_function *f, const char *name) {
    bool several;
    tile_arena arena = {0};
    tile_op found = only_loop(f, name, &several);
    const char *names = found.id ? "" : name_loops(f, &arena), *what;
    if (several)
        what = tile_arena_format(&arena,
                                 "several loops carry values (%s); choose one with loop=VARIABLE, "
                                 "or write `split` in its header",
                                 names);
    else if (name && *names)
        what = tile_arena_format(&arena, "no loop over %%%s carries a sum, only those over %s",
                                 name, names);
    else
        what = "no loop of its body carries a sum";
    if (!found.id) tile_error_at(f, TILE_NO_OP, "split-k: @%s: %s", f->name, what);
    tile_arena_reset(&arena);
    return found;
}

static tile_op loop_of(const tile_function *f) {
    unsigned count;
    bool several;
    tile_op loop = split_find_clause(f, &count);
    return count ? loop : only_loop(f, NULL, &several);
}

tile_function *tile_split_owner(const tile_function *f, tile_op *launch, unsigned *count) {
    tile_function *found = NULL;
    *count = 0;
    if (f->kind != TILE_PLAN) return *count = 1, (tile_function *)f;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_function *kernel = tile_launched_kernel(f, (tile_op){id});
        if (!kernel || kernel == found || !loop_of(kernel).id) continue;
        *launch = (tile_op){id};
        found = kernel;
        ++*count;
    }
    return *count == 1 ? found : NULL;
}

/* The space ------------------------------------------------------------------------------------ */

static bool is_possible(const tile_function *f, const tile_target *target, tile_op loop,
                        const split_strategy *strategy, int64_t factor, tile_arena *arena) {
    tile_pass pass = {.context = tile_function_context(f), .target = target, .scratch = arena};
    split s = {.pass = &pass,
               .context = pass.context,
               .f = (tile_function *)f, /* only read */
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
    if (split_info(strategy)->splits_one && is_possible(f, target, loop, strategy, 1, &arena))
        points[count++] = (tile_split_point){1, split_info(strategy)->word};
    for (unsigned power = 2; power <= MAX_PARTS; power *= 2)
        for (unsigned half = 0; half < 2; half++) {
            unsigned factor = power + half * power / 2;
            bool fits =
                factor <= MAX_PARTS && is_possible(f, target, loop, strategy, factor, &arena);
            if (fits) points[count++] = (tile_split_point){factor, split_info(strategy)->word};
        }
    tile_arena_reset(&arena);
    return count;
}

unsigned tile_split_space(const tile_function *f, const tile_target *target,
                          tile_split_point points[TILE_MAX_SPLIT_POINTS]) {
    unsigned kernels, count = 1;
    tile_op launch;
    bool plan = f && f->kind == TILE_PLAN;
    if (!f || !target || !tile_function_is_launched(f) || f->param_count) return 0;
    points[0] = (tile_split_point){1, split_info(split_strategy_at(0))->word};
    f = tile_split_owner(f, &launch, &kernels);
    if (!f || f->level != 2 || f->param_count) return plan;
    const split_strategy *strategy;
    tile_op loop = loop_of(f);
    for (unsigned i = 0; loop.id && (strategy = split_strategy_at(i)); i++)
        if (tile_target_has(target, strategy->needs))
            count += add_points(f, target, loop, strategy, points + count);
    return count;
}

static void refuse(const tile_function *f, const tile_split_point *point, const char *why,
                   const char *more) {
    tile_error_at(f, TILE_NO_OP, "@%s cannot be split into %u parts by the strategy '%s': %s%s",
                  f->name, point->factor, point->strategy ? point->strategy : "", why, more);
}

/* Whether the point is valid; false after a diagnostic. */
static bool is_point(const tile_function *f, const tile_split_point *point) {
    const char *word = point->strategy ? point->strategy : "";
    bool known = split_find_strategy(word);
    tile_arena arena = {0};
    if (!tile_function_is_launched(f))
        refuse(f, point, "it is not a kernel", "");
    else if (!known)
        refuse(f, point, "there is no such strategy", split_suggest_strategy(word, &arena));
    else if (point->factor < 1 || point->factor > TILE_MAX_SPLIT)
        refuse(f, point, "the factor must be a number from 1 to 65535", "");
    tile_arena_reset(&arena);
    return tile_function_is_launched(f) && known && point->factor >= 1 &&
           point->factor <= TILE_MAX_SPLIT;
}

tile_status tile_split_write(tile_function *f, const tile_split_point *point) {
    TILE_GUARD(f ? tile_function_context(f) : NULL, TILE_OUT_OF_MEMORY)
    unsigned kernels, count;
    tile_op launch;
    if (!f || !point || !is_point(f, point)) return TILE_INVALID;
    tile_function *kernel = tile_split_owner(f, &launch, &kernels);
    if (!kernel) {
        refuse(f, point,
               kernels
                   ? "several of its kernels have a loop that carries sums; write `split` in the "
                     "header of the loop"
                   : "none of its kernels has a loop that carries a sum, or one that has several",
               "");
        return TILE_INVALID;
    }
    tile_op loop = split_find_clause(kernel, &count);
    if (!loop.id) loop = split_find_loop(kernel, NULL);
    if (!loop.id) return TILE_INVALID;
    tile_op_set_int(kernel, loop, TILE_ATTR_split, point->factor);
    tile_op_set_text(kernel, loop, TILE_ATTR_strategy, point->strategy);
    return TILE_OK;
}
