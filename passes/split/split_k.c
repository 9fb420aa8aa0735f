/* split-k: distributes the iterations of a long sum over several blocks.
 *
 * A matrix product with few output tiles and a long k leaves most multiprocessors idle: 64 x 64 x
 * 65536 is one tile. `for .. split(factor, strategy)` distributes the iterations over `factor`
 * blocks and adds the carried values. If the pass has options, it first writes the clause to the
 * loop of each kernel that carries sums, including kernels that a plan launches. It then lowers the
 * clause.
 *
 * level: 0 and 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: split-k
 * before:
 *   kernel @sums(%m: i32, %x: view<f32[%m, 64]>, %y: view<f32[1, 64]>)
 *       grid [1]  warps 4
 *   {
 *     %zero = splat 0.0 : tile<f32[1, 64]>
 *     %all = for %i = 0 to %m step 1 iter (%sum = %zero) split (4, serial) {
 *       %row = load %x[%i, 0] : tile<f32[1, 64]>
 *       %next = add %sum, %row : tile<f32[1, 64]>
 *       yield %next
 *     }
 *     store %all, %y[0, 0]
 *   }
 *
 * after:
 *   kernel @sums(%m: i32, %x: view<f32[%m, 64]>, %y: view<f32[1, 64]>)
 *       grid [1, 1, 4]  warps 4
 *   {
 *     %0, %1, %2 = block_id : i32
 *     %tickets = scratch [1] {clean} : view<i32[1]>
 *     %3 = atomic 1, %tickets[0] {kind = add} : i32
 *     %4 = eq %3, 3 : i1
 *     if %4 {
 *       atomic 0, %tickets[0] {kind = exch}
 *     }
 *     %5 = min %3, 3 : i32
 *     %part = max %5, 0 : i32
 *     %zero = splat 0.0 : tile<f32[1, 64]>
 *     %all = for %i = %part to %m step 4 iter (%sum = %zero) {
 *       %row = load %x[%i, 0] : tile<f32[1, 64]>
 *       %next = add %sum, %row : tile<f32[1, 64]>
 *       yield %next
 *     }
 *     %turns = scratch [1] {clean} : view<i32[1]>
 *     %all_1 = scratch [1, 1, 64] : view<f32[1, 1, 64]>
 *     %6 = gt %part, 0 : i1
 *     %7 = if %6 {
 *       lock_semaphore %turns[0], %part
 *       %8 = load %all_1[0, 0, 0] : tile<f32[1, 64]>
 *       %9 = add %8, %all : tile<f32[1, 64]>
 *       yield %9
 *     } else {
 *       yield %all
 *     }
 *     %10 = eq %part, 3 : i1
 *     if %10 {
 *       atomic 0, %turns[0] {kind = exch}
 *       store %7, %y[0, 0]
 *     } else {
 *       store %7, %all_1[0, 0, 0]
 *       %11 = add %part, 1 : i32
 *       release_semaphore %turns[0], %11
 *     }
 *   }
 *
 * Iterations. Part p of f runs the iterations p, p + f, p + 2 f, ... (loop_parts.h; two consecutive
 * ones if f steps exceed an i32). Blocks that run at once read neighboring memory, and no division
 * is needed before the first load. If each iteration reads short pieces of rows along the loop, a
 * part is a contiguous range instead (ranges.c). If the factor does not divide the number of
 * iterations, or exceeds it, some parts are shorter or empty. The part is the slowest dim of the
 * grid: blocks that run at once have the same part of many tiles, and parts that others wait for
 * start first.
 *
 * Legality (check.c). Each carried value is a tile and one of the following: a sum that starts at
 * 0, a product that starts at 1, an exclusive or that starts at 0, or another bitwise operation,
 * maximum or minimum with any start. The body has no other effect that is visible outside, and
 * every iteration writes shared memory before it reads it. All code after the loop runs once, with
 * the complete sums: bias, activation, conversion, stores.
 *
 * Partial sums are passed between blocks in the type of the accumulator, at least f32. */
#include "passes/split/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/regions.h"
#include "passes/split/steps.h"

static const split_strategy strategies[TILE_STRATEGY_COUNT] = {
    [TILE_STRATEGY_serial] = {.is = TILE_STRATEGY_serial,
                              .lower = split_serial,
                              .takes_ticket = true,
                              .last_block_runs_epilogue = true},
    [TILE_STRATEGY_workspace] = {.is = TILE_STRATEGY_workspace,
                                 .lower = split_workspace,
                                 .becomes_plan = true,
                                 .needs_static_grid = true},
    [TILE_STRATEGY_atomic] = {.is = TILE_STRATEGY_atomic,
                              .lower = split_atomic,
                              .last_block_runs_epilogue = true},
    [TILE_STRATEGY_exchange] = {.is = TILE_STRATEGY_exchange,
                                .lower = split_exchange,
                                .becomes_plan = true,
                                .needs_static_grid = true,
                                .last_block_runs_epilogue = true}, /* if it falls back to serial */
    [TILE_STRATEGY_cluster] = {.is = TILE_STRATEGY_cluster,
                               .lower = split_cluster,
                               .parts_are_adjacent = true,
                               .needs = TILE_FEATURE_cluster,
                               .rejects = split_cluster_rejects},
    [TILE_STRATEGY_stream_k] = {.is = TILE_STRATEGY_stream_k,
                                .lower = split_stream_k,
                                .needs_static_grid = true,
                                .last_block_runs_epilogue = true,
                                .rejects = split_stream_k_rejects},
};

const split_strategy *split_strategy_at(unsigned index) {
    return index + 1 < TILE_STRATEGY_COUNT ? &strategies[index + 1] : NULL;
}

const split_strategy *split_find_strategy(const char *word) {
    tile_strategy is = tile_strategy_from_word(word);
    return is ? &strategies[is] : NULL;
}

/* The clause from the options ------------------------------------------------------------------ */

typedef struct choice {
    const char *factor, *strategy, *loop;
    long parts; /* the factor */
} choice;

/* The kernels at level 2 among the roots, and those launched by plans among the roots. */
typedef struct targets {
    tile_function **kernels;
    size_t count, capacity;
    tile_arena *arena;
} targets;

static void add_target(targets *t, tile_function *kernel) {
    for (size_t i = 0; i < t->count; i++)
        if (t->kernels[i] == kernel) return;
    t->kernels = tile_arena_grow(t->arena, t->kernels, t->count, &t->capacity, sizeof *t->kernels);
    t->kernels[t->count++] = kernel;
}

static void find_targets(const tile_roots *roots, targets *t) {
    for (size_t i = 0; i < roots->count; i++) {
        tile_function *f = roots->functions[i];
        if (f->kind == TILE_KERNEL && f->level == 2) add_target(t, f);
        for (uint32_t id = 1; id < f->op_count && f->kind == TILE_PLAN; id++) {
            tile_function *kernel = tile_launched_kernel(f, (tile_op){id});
            if (kernel && kernel->level == 2 && !kernel->param_count) add_target(t, kernel);
        }
    }
}

static choice read_options(const tile_pass *pass) {
    choice c = {.factor = NULL};
    for (unsigned i = 0; i < pass->option_count; i++) {
        const tile_pass_option *option = &pass->options[i];
        if (strcmp(option->key, "factor") == 0) c.factor = option->value;
        if (strcmp(option->key, "strategy") == 0) c.strategy = option->value;
        if (strcmp(option->key, "loop") == 0) c.loop = option->value;
    }
    return c;
}

/* Whether the options form a valid clause; f: for the diagnostic. */
static bool check_options(const tile_pass *pass, const tile_function *f, choice *c) {
    char *end;
    errno = 0;
    long factor = c->factor ? strtol(c->factor, &end, 10) : 0;
    if (!c->factor || !c->strategy)
        return tile_error_at(f, TILE_NO_OP,
                             "split-k: @%s: the options factor and strategy must be given together",
                             f->name);
    if (end == c->factor || *end || errno || factor < 1 || factor > TILE_MAX_SPLIT)
        return tile_error_at(f, TILE_NO_OP,
                             "split-k: @%s: the factor must be a number from 1 to 65535, not %s",
                             f->name, c->factor);
    if (!split_find_strategy(c->strategy))
        return tile_error_at(f, TILE_NO_OP, "split-k: @%s: there is no strategy %s", f->name,
                             tile_arena_format(pass->scratch, "%s%s", c->strategy,
                                               split_suggest_strategy(c->strategy, pass->scratch)));
    c->parts = factor;
    if (c->loop && *c->loop == '%') c->loop++;
    return true;
}

/* Replaces the clause of a loop that has one. */
static bool write_clause(tile_function *f, const choice *c) {
    unsigned count;
    tile_op loop = c->loop ? TILE_NO_OP : split_find_clause(f, &count);
    if (!loop.id) loop = split_find_loop(f, c->loop);
    if (!loop.id) return false;
    tile_op_set_int(f, loop, TILE_ATTR_split, c->parts);
    tile_op_set_text(f, loop, TILE_ATTR_strategy, c->strategy);
    return true;
}

/* Writes the clause to all kernels with such a loop; there must be at least one. */
static bool write_clauses(const tile_pass *pass, const targets *t, choice *c) {
    unsigned written = 0;
    if (!t->count) return true;
    tile_function *first = t->kernels[0];
    if (!check_options(pass, first, c)) return false;
    for (size_t i = 0; i < t->count; i++) {
        if (!split_has_loop(t->kernels[i], c->loop)) continue;
        if (!write_clause(t->kernels[i], c)) return false;
        written++;
    }
    if (written) return true;
    if (t->count == 1) return split_find_loop(first, c->loop).id; /* reports the reason */
    return tile_error_at(first, TILE_NO_OP,
                         "split-k: none of the %zu kernels has a loop%s%s that carries a sum",
                         t->count, c->loop ? " over %" : "", c->loop ? c->loop : "");
}

/* Lowering ------------------------------------------------------------------------------------- */

/* Returns the first loop with the clause; *count: the number of such loops. */
tile_op split_find_clause(const tile_function *f, unsigned *count) {
    tile_op found = TILE_NO_OP;
    *count = 0;
    for (uint32_t id = 1; id < f->op_count; id++) {
        if (f->ops[id].opcode != TILE_OP_for) continue;
        if (!tile_op_has_attr(f, (tile_op){id}, TILE_ATTR_split)) continue;
        if (!(*count)++) found = (tile_op){id};
    }
    return found;
}

/* Scratch must not be accessed before the pdl_wait for the previous launch. If the kernel only
 * waits after the loop, a wait is inserted earlier. */
static void wait_in_time(split *s) {
    tile_function *f = s->f;
    if (!tile_function_waits(f) || split_find_pdl_wait(f, s->loop).id) return;
    tile_builder b = split_builder_after_loop(s);
    if (s->strategy->takes_ticket || s->strategy->becomes_plan)
        b = tile_builder_before(f, tile_region_first(f, f->body));
    b.loc = tile_op_loc(f, s->loop);
    tile_build_pdl_wait(&b);
}

static tile_status lower(tile_pass *pass, tile_function *f, tile_op loop,
                         const split_strategy *strategy) {
    split s = {.pass = pass,
               .context = pass->context,
               .f = f,
               .loop = loop,
               .factor = tile_op_attr_int(f, loop, TILE_ATTR_split, 1),
               .strategy = strategy,
               .count = tile_carried_count(f, loop)};
    if (!split_is_legal(&s)) return TILE_INVALID;
    wait_in_time(&s);
    tile_status status = s.strategy->lower(&s);
    if (status == TILE_OK && f->kind == TILE_PLAN) status = tile_inline_steps(f, pass->scratch);
    return status;
}

static tile_status split_kernel(tile_pass *pass, tile_function *f) {
    unsigned count;
    tile_op loop = split_find_clause(f, &count);
    if (count > 1) {
        tile_error_at(f, TILE_NO_OP,
                      "split-k: @%s: two loops are split; a kernel has one such loop", f->name);
        return TILE_INVALID;
    }
    if (!loop.id) return TILE_OK;
    tile_pass_count(pass, "split", 1);
    const split_strategy *strategy =
        split_find_strategy(tile_op_attr_text(f, loop, TILE_ATTR_strategy));
    if (!strategy) return TILE_INVALID;
    if (split_info(strategy)->splits_one || tile_op_attr_int(f, loop, TILE_ATTR_split, 1) > 1)
        return lower(pass, f, loop, strategy);
    tile_op_remove_attr(f, loop, TILE_ATTR_split);
    tile_op_remove_attr(f, loop, TILE_ATTR_strategy);
    return TILE_OK;
}

static bool is_root(const tile_roots *roots, const tile_function *f) {
    for (size_t i = 0; i < roots->count; i++)
        if (roots->functions[i] == f) return true;
    return false;
}

tile_status tile_pass_split_k(tile_pass *pass, tile_module *module, const tile_roots *roots) {
    tile_arena arena = {0}; /* the pass's arena is reset for each kernel */
    targets t = {.arena = &arena};
    choice c = read_options(pass);
    tile_status status = TILE_OK;
    (void)module;
    find_targets(roots, &t);
    if ((c.factor || c.strategy || c.loop) && !write_clauses(pass, &t, &c)) status = TILE_INVALID;
    for (size_t i = 0; i < t.count && status == TILE_OK; i++) {
        unsigned count;
        if (!split_find_clause(t.kernels[i], &count).id) continue;
        if (!is_root(roots, t.kernels[i])) t.kernels[i]->seen = 0; /* the manager visits it now */
        status = split_kernel(pass, t.kernels[i]);
    }
    tile_arena_reset(&arena);
    return status;
}
