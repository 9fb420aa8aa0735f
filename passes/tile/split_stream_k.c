/* stream_k: the iterations of all tiles, one tile after the other, are one long row, of which each
 * block takes an equal share: factor x num_sms blocks end at the same time, whatever the number of
 * tiles is.
 *
 *     tiles         0         1         2         3         4
 *     iterations    |---------|---------|---------|---------|---------|
 *     blocks        |-- 0 --------|-- 1 --------|-- 2 --------|-- 3 --|
 *
 * Tiles that fill all blocks are not shared: of 1000 tiles on 132 blocks each block first does 6 by
 * itself, tile by tile beside its neighbours, as a persistent kernel does, and 208 tiles are left
 * to be shared, more than one for each block.
 *
 * A block that has all iterations of a tile goes on with what stood behind the loop. Else it stores
 * its part, and whoever comes last of a tile's blocks adds the parts, by their blocks' numbers, and
 * goes on: nobody waits, and the order of additions does not depend on who that is. A block has
 * parts of two tiles at most, its first and its last one, so there are two places for each block.
 *
 * Where each block has more than a tile to do, a tile has two blocks. The second one begins with
 * its part, and the first one ends with its own, later by as much as each has more than a tile:
 *
 *     block 0   [== tile 0 ==][= 1 =]          asks whether block 1 has stored its part: adds it
 *     block 1   [ 1 ][== tile 2 ==]            to what it has in registers
 *               ^ stored
 *
 * So the first block of a tile asks before it stores: its own part mostly goes nowhere. If it is
 * added later, by who comes last, its bits are the same.
 *
 * Source: Osama et al., Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
 * Multiplication on the GPU, PPoPP 2023. */
#include "lib/analysis/executors.h"
#include "passes/tile/host_value.h"
#include "passes/tile/raster.h"
#include "passes/tile/replace_results.h"
#include "passes/tile/split.h"

/* Iterations are counted in i32. */
enum { MAX_ITERATIONS = 1 << 30 };

typedef struct stream {
    split *s;
    tile_function *f;
    split_grid grid;
    tile_value begin, end, step; /* of the loop, for every tile */
    tile_value block, blocks;    /* this one's number, and how many there are */
    tile_value share, larger;    /* iterations of a block; so many of them have one more */
    tile_value turns;            /* tiles that each block does alone, before it shares */
    tile_value from, to;         /* this block's share */
    tile_value length;           /* iterations of a tile, at least 1 */
    tile_value shared;           /* the tile's number among those that are shared */
    tile_value first, tile,
        base;               /* the first one of the block; the tile; where its iterations begin */
    tile_value low, high;   /* those of this block, counted from there */
    tile_value owner, last; /* the first and the last block that have some of them */
    tile_value is_first;    /* i1: this block has the first one */
    tile_value slice;       /* tiles of each coordinate z; none where there is only one */
    tile_value counts;
    tile_value *parts; /* scratch, by carried value */
} stream;

const char *split_stream_k_refuses(const split *s) {
    if (s->f->cluster_rank)
        return "the kernel has clusters, whose blocks would work on tiles of any place";
    for (unsigned i = 0; i < 3; i++)
        if (!tile_value_as_expr(s->f, tile_op_operand(s->f, s->loop, i)))
            return "its bounds are not the same for all tiles, over the kernel's arguments";
    return NULL;
}

static tile_value bound(stream *t, tile_builder *b, unsigned i) {
    tile_value value = tile_op_operand(t->f, t->s->loop, i);
    return host_value_as(b, host_value(b, tile_value_as_expr(t->f, value), NULL), TILE_i32);
}

static tile_value number(tile_builder *b, int64_t value) {
    return tile_build_int(b, value);
}

/* The grid that is launched; no number where there is too much to count. */
static void set_grid(stream *t) {
    tile_context *context = t->s->context;
    const tile_expr *bounds[3], *total, *one = tile_expr_int(context, 1);
    for (unsigned i = 0; i < 3; i++)
        bounds[i] = tile_value_as_expr(t->f, tile_op_operand(t->f, t->s->loop, i));
    total = tile_expr_op(context, TILE_OP_sub, bounds[1], bounds[0], NULL);
    total = tile_expr_op(context, TILE_OP_ceildiv, total, bounds[2], NULL);
    total = tile_expr_op(context, TILE_OP_max, total, one, NULL);
    for (unsigned d = 0; d < t->f->grid_rank; d++)
        total = tile_expr_op(context, TILE_OP_mul, total, t->f->grid[d], NULL);
    const tile_expr *blocks = tile_expr_op(context, TILE_OP_mul, tile_expr_num_sms(context),
                                           tile_expr_int(context, t->s->factor), NULL);
    blocks = tile_expr_op(context, TILE_OP_min, total, blocks, NULL);
    const tile_expr *many =
        tile_expr_op(context, TILE_OP_gt, total, tile_expr_int(context, MAX_ITERATIONS), NULL);
    t->f->grid[0] = tile_expr_op(context, TILE_OP_select, many, tile_expr_int(context, -1), blocks);
    t->f->grid_rank = 1;
}

/* At least 1: otherwise there is no block that could ask. */
static tile_value declared_extent(stream *t, tile_builder *b, unsigned d) {
    int64_t known;
    if (d >= t->f->grid_rank) return number(b, 1);
    if (tile_expr_is_int(t->f->grid[d], &known)) return number(b, known < 1 ? 1 : known);
    tile_value extent = host_value_as(b, host_value(b, t->f->grid[d], NULL), TILE_i32);
    return tile_build_max(b, extent, number(b, 1));
}

/* Shares -------------------------------------------------------------------------------------- */

/* Where the share of a block begins. */
static tile_value share_of(stream *t, tile_builder *b, tile_value block) {
    tile_value more = tile_build_min(b, block, t->larger);
    return tile_build_add(b, tile_build_mul(b, block, t->share), more);
}

/* The block in whose share an iteration lies. */
static tile_value owner_of(stream *t, tile_builder *b, tile_value iteration) {
    tile_value more = tile_build_add(b, t->share, number(b, 1));
    tile_value border = tile_build_mul(b, t->larger, more);
    tile_value before = tile_build_div(b, iteration, more);
    tile_value rest = tile_build_max(b, tile_build_sub(b, iteration, border), number(b, 0));
    rest = tile_build_div(b, rest, tile_build_max(b, t->share, number(b, 1)));
    tile_value behind = tile_build_add(b, t->larger, rest);
    return tile_build_select(b, tile_build_lt(b, iteration, border), before, behind);
}

static void find_share(stream *t, tile_builder *b) {
    tile_value ids = tile_build_block_id(b), dims = tile_build_grid_dim(b), one = number(b, 1);
    t->block = split_result(b, ids, 0);
    t->blocks = split_result(b, dims, 0);
    tile_value span = tile_build_sub(b, t->end, t->begin);
    t->length = tile_build_max(b, tile_build_ceildiv(b, span, t->step), one);
    tile_value tiles = split_tile_count(b, &t->grid), rounds = tile_build_div(b, tiles, t->blocks);
    tile_value even = tile_build_eq(b, tile_build_mul(b, rounds, t->blocks), tiles);
    tile_value less = tile_build_max(b, tile_build_sub(b, rounds, one), number(b, 0));
    t->turns = tile_build_select(b, even, rounds, less);
    tile_value left = tile_build_sub(b, tiles, tile_build_mul(b, t->turns, t->blocks));
    tile_value total = tile_build_mul(b, left, t->length);
    t->share = tile_build_div(b, total, t->blocks);
    t->larger = tile_build_sub(b, total, tile_build_mul(b, t->share, t->blocks));
    t->from = share_of(t, b, t->block);
    t->to = share_of(t, b, tile_build_add(b, t->block, one));
    t->first = tile_build_div(b, t->from, t->length);
}

/* The tiles ------------------------------------------------------------------------------------ */

static tile_value inside(tile_builder *b, tile_value coordinate, tile_value extent) {
    tile_value last = tile_build_sub(b, extent, number(b, 1));
    return tile_build_min(b, tile_build_max(b, coordinate, number(b, 0)), last);
}

/* Before the loop over tiles: what does not depend on them. */
static raster_order plan_order(stream *t, tile_builder *b) {
    int64_t group = 1, depth;
    bool flat = tile_value_is_int(t->f, t->grid.extent[2], &depth) && depth == 1;
    if (t->f->raster_group) tile_expr_is_int(t->f->raster_group, &group);
    if (!flat) t->slice = tile_build_mul(b, t->grid.extent[0], t->grid.extent[1]);
    return raster_plan(b, t->f->raster, group, t->grid.extent, true);
}

/* The tile of a turn, and which of its iterations are this block's. */
static void find_tile(stream *t, tile_builder *b, const raster_order *order, tile_value turn) {
    tile_value alone = tile_build_lt(b, turn, t->turns), zero = number(b, 0);
    tile_value before = tile_build_mul(b, tile_build_min(b, turn, t->turns), t->blocks);
    t->shared = tile_build_add(b, t->first, tile_build_sub(b, turn, t->turns));
    t->tile = tile_build_add(b, before, tile_build_select(b, alone, t->block, t->shared));
    tile_value_set_name(t->f, t->tile, "tile");
    t->base = tile_build_mul(b, t->shared, t->length);
    t->low = tile_build_max(b, tile_build_sub(b, t->from, t->base), zero);
    t->high = tile_build_min(b, tile_build_sub(b, t->to, t->base), t->length);
    t->low = tile_build_select(b, alone, zero, t->low);
    t->high = tile_build_select(b, alone, t->length, t->high);
    tile_value rest = t->tile;
    t->grid.id[2] = zero;
    if (t->slice.id) {
        rest = tile_build_rem(b, t->tile, t->slice);
        t->grid.id[2] = inside(b, tile_build_div(b, t->tile, t->slice), t->grid.extent[2]);
    }
    raster_tile(b, order, rest, t->grid.id);
    for (unsigned d = 0; d < 2; d++) t->grid.id[d] = inside(b, t->grid.id[d], t->grid.extent[d]);
}

/* for %turn = 0 to the tiles of the block {}, with all that stood in the kernel */
static tile_builder loop_over_tiles(stream *t, tile_builder *b, size_t old_ops) {
    tile_function *f = t->f;
    tile_value some = tile_build_gt(b, t->to, t->from);
    raster_order order = plan_order(t, b);
    tile_value end = tile_build_sub(b, tile_build_ceildiv(b, t->to, t->length), t->first);
    end = tile_build_add(b, t->turns, tile_build_select(b, some, end, number(b, 0)));
    tile_op tiles = tile_build_for_loop(b, number(b, 0), end, number(b, 1), NULL, 0);
    tile_op_set_flag(t->f, tiles, TILE_ATTR_independent);
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, tiles, 0));
    body.loc = b->loc;
    tile_value turn = tile_region_arg(f, body.region, 0);
    tile_value_set_name(f, turn, "turn");
    find_tile(t, &body, &order, turn);
    for (tile_op op = tile_op_next(f, tiles), next; op.id; op = next) {
        next = tile_op_next(f, op);
        tile_move_op(f, op, body.region, TILE_NO_OP);
    }
    replace_results(t->s->pass, t->f, t->f->body, old_ops, TILE_OP_block_id, t->grid.id);
    replace_results(t->s->pass, t->f, t->f->body, old_ops, TILE_OP_grid_dim, t->grid.extent);
    return body;
}

static void shorten_loop(stream *t) {
    tile_function *f = t->f;
    tile_builder b = tile_builder_before(f, t->s->loop);
    tile_value begin = tile_build_add(&b, t->begin, tile_build_mul(&b, t->low, t->step));
    tile_value end = tile_build_add(&b, t->begin, tile_build_mul(&b, t->high, t->step));
    /* Not the smaller of the two: behind the last iteration there may be no i32. */
    end = tile_build_select(&b, tile_build_lt(&b, t->high, t->length), end, t->end);
    tile_value *bounds = tile_op_at(f, t->s->loop)->operands;
    bounds[0] = begin;
    bounds[1] = end;
    tile_op_remove_attr(f, t->s->loop, TILE_ATTR_split);
    tile_op_remove_attr(f, t->s->loop, TILE_ATTR_strategy);
}

/* Sums ----------------------------------------------------------------------------------------- */

static void store_parts(stream *t, tile_builder *b, const tile_value *sums) {
    split *s = t->s;
    tile_value second = tile_build_ne(b, t->shared, t->first);
    second = tile_build_select(b, second, number(b, 1), number(b, 0));
    tile_value at = tile_build_add(b, tile_build_mul(b, t->block, number(b, 2)), second);
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_place(b, split_part_type(s, i), at, place);
        tile_build_store(b, sums[i], t->parts[i], place, rank);
    }
}

/* The parts of a tile's blocks. */
typedef struct part_adder {
    split_adder base; /* first */
    stream *t;
    tile_value to;     /* the last block */
    tile_value places; /* beyond all of them: a load from there gives zeros */
} part_adder;

static void load_at(stream *t, tile_builder *b, tile_value at, tile_value *parts) {
    for (unsigned i = 0; i < t->s->count; i++) {
        const tile_type *type = split_part_type(t->s, i);
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_place(b, type, at, place);
        parts[i] = tile_build_load(b, t->parts[i], place, rank, type);
    }
}

/* Of a block behind the first, which began with this tile. */
static void load_part(const split_adder *adder, tile_builder *b, tile_value block,
                      tile_value *loaded) {
    const part_adder *a = (const part_adder *)(const void *)adder;
    tile_value is_one = tile_build_le(b, block, a->to);
    tile_value at = tile_build_mul(b, block, number(b, 2));
    load_at(a->t, b, tile_build_select(b, is_one, at, a->places), loaded);
}

/* The first block's part: it may have begun with another tile. */
static void load_first(stream *t, tile_builder *b, tile_value *parts) {
    tile_value own = tile_build_eq(b, share_of(t, b, t->owner), t->base);
    tile_value second = tile_build_select(b, own, number(b, 0), number(b, 1));
    tile_value at = tile_build_mul(b, t->owner, number(b, 2));
    load_at(t, b, tile_build_add(b, at, second), parts);
}

/* if this block is the first one { its sums } else { those that the first one has stored } */
static void begin_with_first(stream *t, tile_builder *b, const tile_type *const *types,
                             tile_value *sums) {
    split *s = t->s;
    split_fork fork = split_begin_fork(b, t->is_first, types, s->count);
    tile_build_yield(&fork.yes, sums, s->count);
    load_first(t, &fork.no, sums);
    tile_build_yield(&fork.no, sums, s->count);
    for (unsigned i = 0; i < s->count; i++) sums[i] = tile_op_result(t->f, fork.op, i);
}

/* The part of the first block, then those of the others. */
static void add_parts(stream *t, tile_builder *b, const tile_type *const *types, tile_value *sums) {
    tile_value one = number(b, 1);
    begin_with_first(t, b, types, sums);
    const part_adder a = {
        {t->s, load_part}, t, t->last, tile_build_mul(b, t->blocks, number(b, 2))};
    tile_value end = tile_build_add(b, t->last, one), begin = tile_build_add(b, t->owner, one);
    split_add_loop(&a.base, b, begin, end, split_count_at_once(t->s, types), sums);
}

/* i1: all others have stored their parts. Only the first block asks, which comes to the tile last
 * as a rule: then its own part need not be stored. */
static tile_value find_ready(stream *t, tile_builder *b, tile_value others) {
    const tile_type *i1 = tile_type_scalar(t->s->context, TILE_i1);
    split_fork fork = split_begin_fork(b, t->is_first, &i1, 1);
    tile_value arrived = split_build_atomic(&fork.yes, "add", "acquire", number(&fork.yes, 0),
                                            t->counts, &t->tile, 1);
    tile_value ready = tile_build_eq(&fork.yes, arrived, others);
    tile_build_yield(&fork.yes, &ready, 1);
    ready = tile_build_constant(&fork.no, i1, tile_expr_int(t->s->context, 0));
    tile_build_yield(&fork.no, &ready, 1);
    return tile_op_result(t->f, fork.op, 0);
}

/* i1: this block goes on with the tile; else it has stored its part. */
static tile_value hand_over(stream *t, tile_builder *b, const tile_value *sums) {
    const tile_type *i1 = tile_type_scalar(t->s->context, TILE_i1);
    tile_value others = tile_build_sub(b, t->last, t->owner);
    split_fork fork = split_begin_fork(b, find_ready(t, b, others), &i1, 1);
    tile_value goes_on = tile_build_constant(&fork.yes, i1, tile_expr_int(t->s->context, 1));
    tile_build_yield(&fork.yes, &goes_on, 1);
    store_parts(t, &fork.no, sums);
    tile_value count = tile_build_add(&fork.no, others, number(&fork.no, 1));
    goes_on = split_arrive(&fork.no, t->counts, t->tile, count);
    tile_build_yield(&fork.no, &goes_on, 1);
    return tile_op_result(t->f, fork.op, 0);
}

/* The sums of all, and true, if this block goes on with the tile; else anything. values: its own
 * sums at first. */
static void meet(stream *t, tile_builder *b, const tile_type **types, tile_value *values) {
    split *s = t->s;
    tile_value last = tile_build_add(b, t->base, tile_build_sub(b, t->length, number(b, 1)));
    t->owner = owner_of(t, b, t->base);
    t->last = owner_of(t, b, last);
    t->is_first = tile_build_eq(b, t->low, number(b, 0));
    tile_value goes_on = hand_over(t, b, values);
    split_fork fork = split_begin_fork(b, goes_on, types, s->count);
    tile_build_yield(&fork.no, values, s->count);
    split_build_atomic(&fork.yes, "exch", NULL, number(b, 0), t->counts, &t->tile, 1);
    add_parts(t, &fork.yes, types, values);
    tile_build_yield(&fork.yes, values, s->count);
    for (unsigned i = 0; i < s->count; i++) values[i] = tile_op_result(t->f, fork.op, i);
    values[s->count] = goes_on;
}

/* if the block has the whole tile { its sums, true } else { meet } */
static tile_op combine(stream *t, tile_builder *b) {
    split *s = t->s;
    tile_arena *arena = s->pass->scratch;
    const tile_type *i1 = tile_type_scalar(s->context, TILE_i1);
    const tile_type **types = TILE_NEW_ARRAY(arena, const tile_type *, s->count + 2);
    tile_value *values = TILE_NEW_ARRAY(arena, tile_value, s->count + 2);
    for (unsigned i = 0; i < s->count; i++) types[i] = split_part_type(s, i);
    types[s->count] = i1;
    tile_value to_end = tile_build_eq(b, t->high, t->length);
    tile_value whole = tile_build_and(b, tile_build_eq(b, t->low, number(b, 0)), to_end);
    for (unsigned i = 0; i < s->count; i++)
        values[i] = split_to_part(s, b, i, tile_op_result(t->f, s->loop, i));
    split_fork fork = split_begin_fork(b, whole, types, s->count + 1);
    values[s->count] = tile_build_constant(&fork.yes, i1, tile_expr_int(s->context, 1));
    tile_build_yield(&fork.yes, values, s->count + 1);
    /* What the tile before has left pending is met here, and not where a block has all of one. */
    tile_build_sync_for(&fork.no, tile_executors_of_block(t->f));
    meet(t, &fork.no, types, values);
    tile_build_yield(&fork.no, values, s->count + 1);
    return fork.op;
}

tile_status split_stream_k(split *s) {
    tile_function *f = s->f;
    stream t = {.s = s, .f = f};
    size_t old_ops = f->op_count;
    unsigned count;
    t.parts = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_value *totals = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_builder b = tile_builder_before(f, tile_region_first(f, f->body));
    b.loc = tile_op_loc(f, s->loop);
    /* 1. Shares of all iterations. */
    for (unsigned d = 0; d < 3; d++) t.grid.extent[d] = declared_extent(&t, &b, d);
    t.begin = bound(&t, &b, 0);
    t.end = bound(&t, &b, 1);
    t.step = bound(&t, &b, 2);
    set_grid(&t);
    find_share(&t, &b);
    t.counts = split_clean_words(s, &b, split_tile_count(&b, &t.grid), "arrived");
    tile_value places = tile_build_mul(&b, t.blocks, number(&b, 2));
    for (unsigned i = 0; i < s->count; i++) {
        t.parts[i] = split_scratch(s, &b, i, places);
        tile_op_set_flag(f, tile_value_def(f, t.parts[i]), TILE_ATTR_opaque);
    }
    /* 2. The kernel for each tile of the share. */
    tile_builder body = loop_over_tiles(&t, &b, old_ops);
    shorten_loop(&t);
    /* 3. What follows the loop, where the sums are whole. */
    tile_op *epilogue = split_take_epilogue(s, &count);
    b = split_before_epilogue(s, epilogue, count);
    tile_op sums = combine(&t, &b);
    for (unsigned i = 0; i < s->count; i++) totals[i] = tile_op_result(f, sums, i);
    split_fork fork = split_begin_fork(&b, tile_op_result(f, sums, s->count), NULL, 0);
    split_finish(s, &fork.yes, epilogue, count, totals);
    tile_build_yield(&fork.yes, NULL, 0);
    tile_build_yield(&fork.no, NULL, 0);
    body = tile_builder_at_end(f, body.region);
    body.loc = b.loc;
    tile_build_yield(&body, NULL, 0);
    tile_function_set_raster(f, TILE_RASTER_NONE, NULL);
    tile_function_set_persistent(f, false, NULL);
    return TILE_OK;
}
