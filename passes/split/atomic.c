/* atomic: every block adds its part to the sums in memory when it is ready (red). The last block to
 * finish a tile reads the sums, resets them to zero for the next launch, and runs the code after
 * the loop. No block waits for another one. Parts are added in the order of arrival, so the last
 * bits of floats differ between launches. */
#include "passes/split/split.h"

typedef struct atomic_accumulation {
    split *s;
    split_tiles t; /* t.words: number of parts that have been added */
} atomic_accumulation;

static void add_part(atomic_accumulation *h, tile_builder *b) {
    split *s = h->s;
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(b, split_part_type(s, i), h->t.tile, place);
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        split_build_atomic(b, "add", NULL, part, h->t.sums[i], place, rank);
    }
}

/* Loads the sums and replaces them by zeros. */
static void read_and_clear_sums(atomic_accumulation *h, tile_builder *b, tile_value *totals) {
    split *s = h->s;
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *type = split_part_type(s, i);
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(b, type, h->t.tile, place);
        totals[i] = tile_build_load(b, h->t.sums[i], place, rank, TILE_NO_VALUE, type);
        tile_build_store(b, tile_build_zero(b, type), h->t.sums[i], place, rank, TILE_NO_VALUE);
    }
    split_build_atomic(b, "exch", NULL, tile_build_int(b, 0), h->t.words, &h->t.tile, 1);
}

tile_status split_atomic(split *s) {
    atomic_accumulation h = {.s = s};
    tile_value *totals = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_builder b = split_begin_tiles(s, "arrived", &h.t);
    for (unsigned i = 0; i < s->count; i++)
        tile_op_set_flag(s->f, tile_value_def(s->f, h.t.sums[i]), TILE_ATTR_clean);
    add_part(&h, &b);
    tile_value last = split_arrive(&b, h.t.words, h.t.tile, tile_build_int(&b, s->factor));
    split_branch branch = split_begin_branch(&b, last, NULL, 0);
    read_and_clear_sums(&h, &branch.yes, totals);
    split_finish(s, &branch.yes, h.t.epilogue, h.t.count, totals);
    tile_build_yield(&branch.yes, NULL, 0);
    tile_build_yield(&branch.no, NULL, 0);
    return TILE_OK;
}
