/* atomic: every block adds its part to the sums in memory as it comes (red); the block that comes
 * last reads them, leaves zeros for the next launch, and goes on with what stood behind the loop.
 * No block waits for another one. The order of additions is that of arrival: of floats the last
 * bits differ from launch to launch. */
#include "passes/tile/split.h"

typedef struct heap {
    split *s;
    split_grid grid;
    tile_value tile;
    tile_value counts; /* parts that have been added, by tile */
    tile_value *sums;  /* scratch, by carried value */
} heap;

static void add_part(heap *h, tile_builder *b) {
    split *s = h->s;
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_place(b, split_part_type(s, i), h->tile, place);
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        split_build_atomic(b, "add", NULL, part, h->sums[i], place, rank);
    }
}

/* The sums, and zeros in their place. */
static void take_sums(heap *h, tile_builder *b, tile_value *totals) {
    split *s = h->s;
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *type = split_part_type(s, i);
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_place(b, type, h->tile, place);
        totals[i] = tile_build_load(b, h->sums[i], place, rank, type);
        tile_build_store(b, split_zero(s, b, type), h->sums[i], place, rank);
    }
    split_build_atomic(b, "exch", NULL, tile_build_int(b, 0), h->counts, &h->tile, 1);
}

tile_status split_atomic(split *s) {
    heap h = {.s = s};
    unsigned count;
    tile_value *totals = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    h.sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    split_deal_out(s, &h.grid);
    tile_op *epilogue = split_take_epilogue(s, &count);
    tile_builder b = split_before_epilogue(s, epilogue, count);
    tile_value tiles = split_tile_count(&b, &h.grid);
    h.tile = split_tile_number(&b, &h.grid);
    h.counts = split_clean_words(s, &b, tiles, "arrived");
    for (unsigned i = 0; i < s->count; i++) {
        h.sums[i] = split_scratch(s, &b, i, tiles);
        tile_op_set_flag(s->f, tile_value_def(s->f, h.sums[i]), TILE_ATTR_clean);
    }
    add_part(&h, &b);
    tile_value last = split_arrive(&b, h.counts, h.tile, tile_build_int(&b, s->factor));
    split_fork fork = split_begin_fork(&b, last, NULL, 0);
    take_sums(&h, &fork.yes, totals);
    split_finish(s, &fork.yes, epilogue, count, totals);
    tile_build_yield(&fork.yes, NULL, 0);
    tile_build_yield(&fork.no, NULL, 0);
    return TILE_OK;
}
