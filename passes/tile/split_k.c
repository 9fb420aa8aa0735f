/* split-k: gives the parts of a long sum blocks of their own.
 *
 * A product with few tiles of c and a long k leaves most multiprocessors idle: 64 x 64 x 65536 is
 * one tile. `for .. split(factor, strategy)` deals the iterations out to `factor` blocks and adds
 * up what they carry. This pass writes the clause that it is given onto the loop, and lowers it.
 *
 * level: 2 to 2
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
 *     %part = atomic 1, %tickets[0] {kind = add} : i32
 *     %3 = eq %part, 3 : i1
 *     if %3 {
 *       atomic 0, %tickets[0] {kind = exch}
 *     }
 *     %zero = splat 0.0 : tile<f32[1, 64]>
 *     %all = for %i = %part to %m step 4 iter (%sum = %zero) {
 *       %row = load %x[%i, 0] : tile<f32[1, 64]>
 *       %next = add %sum, %row : tile<f32[1, 64]>
 *       yield %next
 *     }
 *     %turns = scratch [1] {clean} : view<i32[1]>
 *     %all_1 = scratch [1, 1, 64] : view<f32[1, 1, 64]>
 *     %4 = gt %part, 0 : i1
 *     %5 = if %4 {
 *       lock_semaphore %turns[0], %part
 *       %6 = load %all_1[0, 0, 0] : tile<f32[1, 64]>
 *       %7 = add %6, %all : tile<f32[1, 64]>
 *       yield %7
 *     } else {
 *       yield %all
 *     }
 *     %8 = eq %part, 3 : i1
 *     if %8 {
 *       release_semaphore %turns[0], 0
 *       store %5, %y[0, 0]
 *     } else {
 *       store %5, %all_1[0, 0, 0]
 *       %9 = add %part, 1 : i32
 *       release_semaphore %turns[0], %9
 *     }
 *   }
 *
 * Which iterations. Part p of f runs the iterations p, p + f, p + 2 f, ...: blocks that run at once
 * read neighbouring memory, there is nothing to divide before the first load, and a factor that
 * does not divide the count, or exceeds it, leaves shorter parts, or empty ones. The part is the
 * slowest dim of the grid: blocks that run at once have the same part of many tiles, and parts that
 * others wait for start first.
 *
 * What may be split (split_check.c). Each carried value is a tile that is only added to and starts
 * at 0, or only made larger, or smaller (max, min), wherever it starts; the body does nothing else
 * that is seen outside, and every iteration writes what it reads of shared memory. All that stands
 * behind the loop is done once, with the whole sums: bias, activation, conversion, stores.
 *
 * Sums are handed from block to block in the type of the accumulator, at least f32. */
#include "passes/tile/split.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/regions.h"
#include "passes/tile/split_steps.h"

static const split_strategy strategies[] = {
    {.word = "serial", .lower = split_serial, .draws = true, .last_goes_on = true},
    {.word = "workspace", .lower = split_workspace, .takes_steps = true, .knows_grid = true},
    {.word = "atomic", .lower = split_atomic, .only_adds = true, .last_goes_on = true},
    {.word = "exchange",
     .lower = split_exchange,
     .takes_steps = true,
     .knows_grid = true,
     .last_goes_on = true}, /* where it is serial */
    {.word = "cluster",
     .lower = split_cluster,
     .max_factor = 8,
     .neighbours = true,
     .capability = 90,
     .refuses = split_cluster_refuses},
    {.word = "stream_k",
     .lower = split_stream_k,
     .knows_grid = true,
     .max_factor = 8,
     .splits_one = true,
     .only_adds = true,
     .last_goes_on = true,
     .refuses = split_stream_k_refuses},
};

enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

_Static_assert(0
#define ATTR(number, name, kind, meaning)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_strategy)
#include "tile/attrs.def"
                   == STRATEGY_COUNT,
               "each word of the attribute has a row");

const split_strategy *split_strategy_at(unsigned index) {
    return index < STRATEGY_COUNT ? &strategies[index] : NULL;
}

const split_strategy *split_find_strategy(const char *word) {
    for (unsigned i = 0; word && i < STRATEGY_COUNT; i++)
        if (strcmp(strategies[i].word, word) == 0) return &strategies[i];
    return NULL;
}

/* The clause from the options ------------------------------------------------------------------ */

typedef struct choice {
    const char *factor, *strategy, *loop;
} choice;

static bool fail(const tile_pass *pass, const tile_function *f, const char *what,
                 const char *word) {
    tile_report(pass->context, TILE_ERROR, f->loc, "split-k: @%s: %s%s", f->name, what, word);
    return false;
}

static choice read_options(const tile_pass *pass) {
    choice c = {NULL, NULL, NULL};
    for (unsigned i = 0; i < pass->option_count; i++) {
        const tile_pass_option *option = &pass->options[i];
        if (strcmp(option->key, "factor") == 0) c.factor = option->value;
        if (strcmp(option->key, "strategy") == 0) c.strategy = option->value;
        if (strcmp(option->key, "loop") == 0) c.loop = option->value;
    }
    return c;
}

static bool write_clause(const tile_pass *pass, tile_function *f, const choice *c) {
    char *end;
    errno = 0;
    long factor = c->factor ? strtol(c->factor, &end, 10) : 0;
    if (!c->factor || !c->strategy)
        return fail(pass, f, "the options factor and strategy go together", "");
    if (end == c->factor || *end || errno || factor < 1 || factor > TILE_MAX_SPLIT)
        return fail(pass, f, "a factor is a number from 1 to 65535, not ", c->factor);
    if (!split_find_strategy(c->strategy))
        return fail(pass, f, "there is no strategy ",
                    tile_arena_format(pass->scratch, "%s%s", c->strategy,
                                      split_guess_strategy(c->strategy, pass->scratch)));
    tile_op loop = split_find_loop(f, c->loop && *c->loop == '%' ? c->loop + 1 : c->loop);
    if (!loop.id) return false;
    tile_op_set_int(f, loop, TILE_ATTR_split, factor);
    tile_op_set_text(f, loop, TILE_ATTR_strategy, c->strategy);
    return true;
}

/* Lowering ------------------------------------------------------------------------------------- */

/* The loops with the clause: *count of them, the first one is returned. */
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

/* What comes between the parts is scratch, which nobody touches before he has waited for the launch
 * before: where the author does that behind the loop only, it is done earlier. */
static void wait_in_time(split *s) {
    tile_function *f = s->f;
    if (!tile_function_waits(f) || split_find_wait(f, s->loop).id) return;
    tile_builder b = split_behind(s);
    if (s->strategy->draws || s->strategy->takes_steps)
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
    if (status == TILE_OK && f->kind == TILE_PLAN) tile_inline_steps(f, pass->scratch);
    return status;
}

tile_status tile_pass_split_k(tile_pass *pass, tile_function *f) {
    choice c = read_options(pass);
    unsigned count;
    if ((c.factor || c.strategy || c.loop) && !write_clause(pass, f, &c)) return TILE_INVALID;
    tile_op loop = split_find_clause(f, &count);
    if (count > 1) {
        fail(pass, f, "two loops are split; a kernel has one such loop", "");
        return TILE_INVALID;
    }
    if (!loop.id) return TILE_OK;
    tile_pass_count(pass, "split", 1);
    const split_strategy *strategy =
        split_find_strategy(tile_op_attr_text(f, loop, TILE_ATTR_strategy));
    if (!strategy) return TILE_INVALID;
    if (strategy->splits_one || tile_op_attr_int(f, loop, TILE_ATTR_split, 1) > 1)
        return lower(pass, f, loop, strategy);
    tile_op_remove_attr(f, loop, TILE_ATTR_split);
    tile_op_remove_attr(f, loop, TILE_ATTR_strategy);
    return TILE_OK;
}
