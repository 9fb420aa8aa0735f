/* exchange: all blocks of a tile add a share of it each. A block stores its part, signals this,
 * waits for all others, and runs the epilogue for its pieces of the tile (part p mod factor
 * computes piece p). This has the lowest latency from the last dot to the store. All blocks of a
 * tile must run at once, so the launch is cooperative. If the grid is larger than the device can
 * hold, the strategy serial is used instead:
 *
 *     plan @k(...)
 *     {
 *       launch @k_exchange(...) {resident, otherwise = @k_serial}
 *     }
 *
 * Measured on an H200: 64 x 64 x 65536 in 128 parts takes 12.2 us (`atomic` 13.6 us, `workspace`
 * 13.7 us); 128 x 1024 x 16384 in 8 parts takes 21.5 us (`workspace` 22.5 us).
 *
 * No block needs the old value of a counter, which would cost another round trip to memory. A
 * tile's word is counted in shares of 2^31, so it is negative when all blocks have stored, and 0
 * again when all have continued.
 *
 *     word    0 ----- + factor shares ----> -2^31 ----- + factor shares ----> 2^32 = 0
 *                     each has stored               each has seen that
 *
 * If the factor is not a power of two, the first block's share is the remainder. */
#include "passes/common/kernel_steps.h"
#include "passes/split/split.h"

typedef struct exchange {
    split *s;
    grid g;
    split_pieces cut;
    tile_value tile, tiles;
    tile_value stride; /* of parts, in tiles; none if a tile's parts are contiguous */
    tile_value words;  /* one for each tile */
    tile_value share;  /* this block's share of 2^31 */
    tile_value *parts; /* scratch, by carried value */
} exchange;

/* Allocates scratch for the parts, in the layout of the sums, unless parts are added as rows of a
 * matrix. */
static void make_parts(exchange *e, tile_builder *b) {
    split *s = e->s;
    bool by_tile = !split_adds_rows(s, &e->cut);
    for (unsigned i = 0; i < s->count; i++)
        by_tile &= split_part_type(s, i)->rank + 2 <= TILE_MAX_RANK;
    if (!by_tile) e->stride = e->tiles;
    tile_value all =
        by_tile ? TILE_NO_VALUE : tile_build_mul(b, e->tiles, tile_build_int(b, s->factor));
    for (unsigned i = 0; i < s->count; i++)
        e->parts[i] =
            by_tile ? split_opaque_scratch(s, b, i, e->tiles) : split_scratch(s, b, i, all);
}

static void store_parts(exchange *e, tile_builder *b) {
    split *s = e->s;
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        const tile_type *type = split_part_type(s, i);
        unsigned rank = split_indices_of_part(b, type, e->g.part, e->tile, e->stride, place);
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        tile_build_store(b, part, e->parts[i], place, rank, TILE_NO_VALUE);
    }
}

static tile_value share_of_block(exchange *e, tile_builder *b) {
    int64_t all = INT64_C(1) << 31, parts = 1, factor = e->s->factor;
    while (parts < factor) parts *= 2;
    int64_t share = all / parts, first = share * (parts - factor + 1);
    if (share == first) return tile_build_int(b, share);
    tile_value is_first = tile_build_eq(b, e->g.part, tile_build_int(b, 0));
    return tile_build_select(b, is_first, tile_build_int(b, first), tile_build_int(b, share));
}

/* Waits until all blocks of the tile have stored their parts. */
static void wait_for_parts(exchange *e, tile_builder *b) {
    const tile_segment segments[] = {{e->words, &e->tile, 1}, {tile_build_int(b, 0), NULL, 0}};
    split_build_atomic(b, "add", "release", e->share, e->words, &e->tile, 1);
    tile_op wait = tile_build_op(b, TILE_OP_wait_value, segments, 2, NULL);
    tile_op_set_text(e->s->f, wait, TILE_ATTR_compare, "lt");
    split_build_atomic(b, "add", NULL, e->share, e->words, &e->tile, 1);
}

static void finish_pieces(exchange *e, tile_builder *b, const tile_op *epilogue, unsigned count) {
    split *s = e->s;
    tile_value first, *sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_builder body = split_open_pieces(s, &e->cut, b, e->g.part, &first);
    split_sum_pieces(s, &body, &e->cut, first, e->tile, e->stride, e->parts, sums);
    split_copy_pieces(s, &e->cut, &body, epilogue, count, first, sums);
    tile_build_yield(&body, NULL, 0);
}

static void make_exchange(split *s) {
    exchange e = {.s = s, .stride = TILE_NO_VALUE};
    unsigned count;
    /* A block that waits for other parts of its tile cannot visit several tiles. */
    tile_function_set_persistent(s->f, false, NULL);
    /* All blocks run at once, so their order does not matter, and computing it would take time. */
    tile_function_set_raster(s->f, TILE_RASTER_NONE, NULL);
    e.parts = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    split_distribute_parts(s, &e.g);
    tile_op *epilogue = split_take_epilogue(s, &count);
    e.cut = split_choose_pieces(s, epilogue, count, s->factor);
    tile_builder b = split_before_epilogue(s, epilogue, count);
    e.tiles = grid_count_tiles(&b, e.g.extent, 3);
    e.tile = grid_number_tile(&e.g, &b);
    e.words = split_zeroed_words(s, &b, e.tiles, "stored");
    e.share = share_of_block(&e, &b);
    make_parts(&e, &b);
    store_parts(&e, &b);
    wait_for_parts(&e, &b);
    finish_pieces(&e, &b, epilogue, count);
    while (count-- > 0) tile_erase_op(s->f, epilogue[count]);
}

tile_status split_exchange(split *s) {
    split together = *s, chain = *s;
    tile_loc loc = tile_op_loc(s->f, s->loop);
    together.f = steps_copy_kernel(s->f, "exchange");
    make_exchange(&together);
    chain.f = steps_copy_kernel(s->f, "serial");
    chain.strategy = split_find_strategy("serial");
    tile_status status = split_serial(&chain);
    steps_become_plan(s->f);
    tile_builder b = tile_builder_at_end(s->f, s->f->body);
    b.loc = loc;
    tile_op launch = split_launch(&b, together.f, NULL, s->pass->scratch);
    tile_op_set_flag(s->f, launch, TILE_ATTR_resident);
    tile_op_set_text(s->f, launch, TILE_ATTR_otherwise, chain.f->name);
    return status;
}
