/* exchange: all blocks of a tile add, each a share of it. A block stores its part, says so, waits
 * until all others have, and goes on with what stood behind the loop for its pieces of the tile
 * (piece p is part p mod factor's). It is the shortest way from the last product to the store, and
 * needs all blocks of a tile to run at once: the launch is cooperative. Where it cannot be, because
 * the grid is larger than what the device holds, the strategy serial takes its place:
 *
 *     plan @k(...)
 *     {
 *       launch @k_exchange(...) {resident, otherwise = @k_serial}
 *     }
 *
 * One counter for each tile counts those that have stored, then those that have read; the last of
 * these sets it back. */
#include "passes/tile/split.h"

typedef struct exchange {
    split *s;
    split_grid grid;
    split_pieces cut;
    tile_value tile, tiles;
    tile_value counts;
    tile_value *parts; /* scratch, by carried value */
} exchange;

static void store_parts(exchange *e, tile_builder *b) {
    split *s = e->s;
    tile_value at = tile_build_add(b, tile_build_mul(b, e->grid.part, e->tiles), e->tile);
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_place(b, split_part_type(s, i), at, place);
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        tile_build_store(b, part, e->parts[i], place, rank);
    }
}

/* Until all blocks of the tile have stored theirs. */
static void meet(exchange *e, tile_builder *b) {
    const tile_segment segments[] = {{e->counts, &e->tile, 1},
                                     {tile_build_int(b, e->s->factor), NULL, 0}};
    split_build_atomic(b, "add", "acq_rel", tile_build_int(b, 1), e->counts, &e->tile, 1);
    tile_op wait = tile_build_op(b, TILE_OP_wait_value, segments, 2, NULL);
    tile_op_set_text(e->s->f, wait, TILE_ATTR_compare, "ge");
}

/* for %piece = part to the number of pieces step factor {} */
static void finish_pieces(exchange *e, tile_builder *b, const tile_op *epilogue, unsigned count) {
    split *s = e->s;
    tile_function *f = s->f;
    tile_value *sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_op loop = tile_build_for_loop(b, e->grid.part, tile_build_int(b, e->cut.count),
                                       tile_build_int(b, s->factor), NULL, 0);
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    body.loc = b->loc;
    tile_value piece = tile_region_arg(f, body.region, 0);
    tile_value_set_name(f, piece, "piece");
    tile_value first = split_piece_begin(s, &e->cut, &body, piece);
    split_sum_pieces(s, &body, &e->cut, first, e->tile, e->tiles, e->parts, sums);
    split_copy_pieces(s, &e->cut, &body, epilogue, count, first, sums);
    tile_build_yield(&body, NULL, 0);
}

/* The last one to read sets the counter back. */
static void leave(exchange *e, tile_builder *b) {
    tile_value before =
        split_build_atomic(b, "add", NULL, tile_build_int(b, 1), e->counts, &e->tile, 1);
    tile_value last = tile_build_eq(b, before, tile_build_int(b, 2 * e->s->factor - 1));
    split_fork fork = split_begin_fork(b, last, NULL, 0);
    split_build_atomic(&fork.yes, "exch", NULL, tile_build_int(b, 0), e->counts, &e->tile, 1);
    tile_build_yield(&fork.yes, NULL, 0);
    tile_build_yield(&fork.no, NULL, 0);
}

static void make_exchange(split *s) {
    exchange e = {.s = s};
    unsigned count;
    e.parts = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    split_deal_out(s, &e.grid);
    tile_op *epilogue = split_take_epilogue(s, &count);
    e.cut = split_choose_pieces(s, epilogue, count, s->factor);
    tile_builder b = split_before_epilogue(s, epilogue, count);
    e.tiles = split_tile_count(&b, &e.grid);
    e.tile = split_tile_number(&b, &e.grid);
    e.counts = split_clean_words(s, &b, e.tiles, "arrived");
    tile_value all = tile_build_mul(&b, e.tiles, tile_build_int(&b, s->factor));
    for (unsigned i = 0; i < s->count; i++) e.parts[i] = split_scratch(s, &b, i, all);
    store_parts(&e, &b);
    meet(&e, &b);
    finish_pieces(&e, &b, epilogue, count);
    leave(&e, &b);
    while (count-- > 0) tile_erase_op(s->f, epilogue[count]);
}

tile_status split_exchange(split *s) {
    split together = *s, chain = *s;
    tile_loc loc = tile_op_loc(s->f, s->loop);
    together.f = split_copy_kernel(s, "exchange");
    make_exchange(&together);
    chain.f = split_copy_kernel(s, "serial");
    chain.strategy = split_find_strategy("serial");
    tile_status status = split_serial(&chain);
    split_become_plan(s->f);
    tile_builder b = tile_builder_at_end(s->f, s->f->body);
    b.loc = loc;
    tile_op launch = split_launch(&b, together.f, NULL, s->pass->scratch);
    tile_op_set_flag(s->f, launch, TILE_ATTR_resident);
    tile_op_set_text(s->f, launch, TILE_ATTR_otherwise, chain.f->name);
    return status;
}
