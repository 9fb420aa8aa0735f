/* serial: the blocks of one tile add one after the other.
 *
 *     part 0   ---loop---> store  release 1
 *     part 1   ---loop--->        lock 1  load + add  store  release 2
 *     part 2   ---loop--->                                   lock 2  load + add  epilogue  release
 * 0
 *
 * The sum so far lies in scratch in the type of the accumulator, one tile of it for each tile of
 * the grid; the semaphore counts the parts that are in it. The last part has the whole sum in
 * registers and goes on with what stood behind the loop. The order of additions is that of the
 * parts. */
#include "passes/tile/split.h"

typedef struct chain {
    split *s;
    split_grid grid;
    tile_value tile;       /* its number */
    tile_value semaphores; /* one for each tile */
    tile_value *sums;      /* scratch, by carried value */
    tile_value *totals;
} chain;

static tile_value scratch_of(chain *c, tile_builder *b, const tile_type *part) {
    tile_value extents[TILE_MAX_RANK + 1];
    extents[0] = split_tile_count(b, &c->grid);
    for (unsigned d = 0; d < part->rank; d++)
        extents[d + 1] = tile_build_int(b, tile_type_dim(part, d));
    return tile_build_scratch(b, extents, part->rank + 1,
                              tile_type_scalar(c->s->context, part->scalar));
}

static unsigned place_of(chain *c, tile_builder *b, const tile_type *part,
                         tile_value place[TILE_MAX_RANK + 1]) {
    place[0] = c->tile;
    for (unsigned d = 0; d < part->rank; d++) place[d + 1] = tile_build_int(b, 0);
    return part->rank + 1;
}

static void ask_for_scratch(chain *c, tile_builder *b) {
    split *s = c->s;
    tile_value count = split_tile_count(b, &c->grid);
    c->tile = split_tile_number(b, &c->grid);
    c->semaphores = tile_build_scratch(b, &count, 1, tile_type_scalar(s->context, TILE_i32));
    tile_op_set_flag(s->f, tile_value_def(s->f, c->semaphores), TILE_ATTR_clean);
    tile_value_set_name(s->f, c->semaphores, "turns");
    for (unsigned i = 0; i < s->count; i++) {
        const char *name = tile_value_at(s->f, tile_op_result(s->f, s->loop, i))->name;
        c->sums[i] = scratch_of(c, b, split_part_type(s, i));
        if (name) tile_value_set_name(s->f, c->sums[i], name);
    }
}

/* if part > 0 { lock; the sum so far + this part } else { this part } */
static void add_to_sums(chain *c, tile_builder *b) {
    split *s = c->s;
    tile_arena *arena = s->pass->scratch;
    const tile_type **types = TILE_NEW_ARRAY(arena, const tile_type *, s->count + 1);
    tile_value *parts = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    for (unsigned i = 0; i < s->count; i++) {
        types[i] = split_part_type(s, i);
        parts[i] = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
    }
    tile_value later = tile_build_gt(b, c->grid.part, tile_build_int(b, 0));
    tile_op fork = tile_build_if_else(b, later, types, s->count);
    tile_builder yes = tile_builder_at_end(s->f, tile_op_region(s->f, fork, 0));
    tile_builder no = tile_builder_at_end(s->f, tile_op_region(s->f, fork, 1));
    yes.loc = no.loc = b->loc;
    tile_build_yield(&no, parts, s->count);
    tile_build_lock_semaphore(&yes, c->semaphores, &c->tile, 1, c->grid.part);
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK + 1];
        unsigned rank = place_of(c, &yes, types[i], place);
        tile_value before = tile_build_load(&yes, c->sums[i], place, rank, types[i]);
        parts[i] = tile_build_add(&yes, before, parts[i]);
    }
    tile_build_yield(&yes, parts, s->count);
    for (unsigned i = 0; i < s->count; i++) c->totals[i] = tile_op_result(s->f, fork, i);
}

/* What stood behind the loop, with the sum of all parts. */
static void finish(chain *c, tile_builder b, const tile_op *epilogue, unsigned count) {
    split *s = c->s;
    tile_function *f = s->f;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, f->value_count + s->count);
    for (unsigned i = 0; i < s->count; i++)
        map[tile_op_result(f, s->loop, i).id] = split_from_part(s, &b, i, c->totals[i]);
    for (unsigned i = 0; i < count; i++) tile_move_op(f, epilogue[i], b.region, TILE_NO_OP);
    tile_replace_values(f, b.region, map);
    b.before = TILE_NO_OP;
    tile_build_release_semaphore(&b, c->semaphores, &c->tile, 1, tile_build_int(&b, 0));
    tile_build_yield(&b, NULL, 0);
}

static void hand_on(chain *c, tile_builder b) {
    split *s = c->s;
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK + 1];
        unsigned rank = place_of(c, &b, split_part_type(s, i), place);
        tile_build_store(&b, c->totals[i], c->sums[i], place, rank);
    }
    tile_value next = tile_build_add(&b, c->grid.part, tile_build_int(&b, 1));
    tile_build_release_semaphore(&b, c->semaphores, &c->tile, 1, next);
    tile_build_yield(&b, NULL, 0);
}

tile_status split_serial(split *s) {
    tile_function *f = s->f;
    chain c = {.s = s};
    unsigned count;
    c.sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    c.totals = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    split_deal_out(s, &c.grid);
    tile_op *epilogue = split_take_epilogue(s, &count);
    tile_builder b = count ? tile_builder_before(f, epilogue[0]) : split_behind(s);
    b.loc = tile_op_loc(f, s->loop);
    ask_for_scratch(&c, &b);
    add_to_sums(&c, &b);
    tile_value last = tile_build_eq(&b, c.grid.part, tile_build_int(&b, s->factor - 1));
    tile_op fork = tile_build_if_else(&b, last, NULL, 0);
    tile_builder yes = tile_builder_at_end(f, tile_op_region(f, fork, 0));
    tile_builder no = tile_builder_at_end(f, tile_op_region(f, fork, 1));
    yes.loc = no.loc = b.loc;
    finish(&c, yes, epilogue, count);
    hand_on(&c, no);
    return TILE_OK;
}
