/* serial: the blocks of one tile add their parts one after another.
 *
 *     part 0   ---loop---> store  release 1
 *     part 1   ---loop--->        lock 1  load + add  store  release 2
 *     part 2   ---loop--->                              lock 2  load + add  release 0  epilogue
 *
 * The partial sum is in scratch, in the type of the accumulator, with one tile for each tile of the
 * grid. The semaphore counts the parts that have been added. The block with the last part has the
 * whole sum in registers and runs the code after the loop. Parts are added in order. */
#include "lib/analysis/executors.h"
#include "passes/split/split.h"

typedef struct chain {
    split *s;
    split_tiles t; /* t.words: the part whose turn it is */
    tile_value *totals;
} chain;

/* if part > 0 { lock; partial sum + this part } else { this part } */
static void add_to_sums(chain *c, tile_builder *b) {
    split *s = c->s;
    tile_arena *arena = s->pass->scratch;
    const tile_type **types = TILE_NEW_ARRAY(arena, const tile_type *, s->count + 1);
    tile_value *parts = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    for (unsigned i = 0; i < s->count; i++) {
        types[i] = split_part_type(s, i);
        parts[i] = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
    }
    tile_value later = tile_build_gt(b, c->t.g.part, tile_build_int(b, 0));
    split_branch branch = split_begin_branch(b, later, types, s->count);
    tile_build_yield(&branch.no, parts, s->count);
    tile_build_lock_semaphore(&branch.yes, c->t.words, &c->t.tile, 1, c->t.g.part);
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(&branch.yes, types[i], c->t.tile, place);
        tile_value before =
            tile_build_load(&branch.yes, c->t.sums[i], place, rank, TILE_NO_VALUE, types[i]);
        parts[i] = split_combine(s, &branch.yes, i, before, parts[i]);
    }
    tile_build_yield(&branch.yes, parts, s->count);
    for (unsigned i = 0; i < s->count; i++) c->totals[i] = tile_op_result(s->f, branch.op, i);
}

static void signal_next(chain *c, tile_builder *b) {
    split *s = c->s;
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(b, split_part_type(s, i), c->t.tile, place);
        tile_build_store(b, c->totals[i], c->t.sums[i], place, rank, TILE_NO_VALUE);
    }
    tile_value next = tile_build_add(b, c->t.g.part, tile_build_int(b, 1));
    tile_build_release_semaphore(b, c->t.words, &c->t.tile, 1, next);
    tile_build_yield(b, NULL, 0);
}

/* Blocks that take their parts by ticket share no copies, so a cluster is useless unless an
 * operation uses it. Copies that run ahead for the next tile would have to wait for the next
 * ticket. */
static void drop_useless_clauses(split *s) {
    if (!tile_uses_cluster(s->f)) tile_function_set_cluster(s->f, 0, NULL);
    tile_function_set_persistent(s->f, false, NULL);
}

tile_status split_serial(split *s) {
    chain c = {.s = s};
    drop_useless_clauses(s);
    c.totals = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_builder b = split_begin_tiles(s, "turns", &c.t);
    add_to_sums(&c, &b);
    tile_value last = tile_build_eq(&b, c.t.g.part, tile_build_int(&b, s->factor - 1));
    split_branch branch = split_begin_branch(&b, last, NULL, 0);
    /* No block waits any more, so the reset needs no ordering. */
    split_build_atomic(&branch.yes, "exch", NULL, tile_build_int(&b, 0), c.t.words, &c.t.tile, 1);
    split_finish(s, &branch.yes, c.t.epilogue, c.t.count, c.totals);
    tile_build_yield(&branch.yes, NULL, 0);
    signal_next(&c, &branch.no);
    return TILE_OK;
}
