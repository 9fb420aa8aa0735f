/* Partial sums of stream_k: how blocks publish and add them. */
#include "lib/analysis/executors.h"
#include "passes/split/stream.h"

static tile_value number(tile_builder *b, int64_t value) {
    return tile_build_int(b, value);
}

/* The number of the block with this block's rank in a cluster, among all blocks. */
static tile_value number_of(const stream *t, tile_builder *b, tile_value cluster) {
    if (t->g.width == 1) return cluster;
    return tile_build_add(b, tile_build_mul(b, cluster, number(b, t->g.width)), t->rank);
}

static tile_value times_width(const stream *t, tile_builder *b, tile_value count) {
    return t->g.width == 1 ? count : tile_build_mul(b, count, number(b, t->g.width));
}

/* Index of the first of two parts in scratch per block: for the first tile of its share, and for
 * the next one. */
static tile_value place_of(const stream *t, tile_builder *b, tile_value unit) {
    return tile_build_mul(b, number_of(t, b, unit), number(b, 2));
}

static tile_value unit_of(const stream *t, tile_builder *b, tile_value member) {
    return tile_build_add(b, tile_build_mul(b, member, t->groups), t->group);
}

void split_stream_scratch(stream *t, tile_builder *b) {
    split *s = t->s;
    t->parts = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    t->counts = split_zeroed_words(s, b, times_width(t, b, t->tiles), "arrived");
    tile_value places = tile_build_mul(b, times_width(t, b, t->units), number(b, 2));
    for (unsigned i = 0; i < s->count; i++) {
        t->parts[i] = split_scratch(s, b, i, places);
        tile_op_set_flag(t->f, tile_value_def(t->f, t->parts[i]), TILE_ATTR_opaque);
    }
}

static void store_parts(stream *t, tile_builder *b, const tile_value *sums) {
    split *s = t->s;
    tile_value second = tile_build_ne(b, t->shared, t->first);
    second = tile_build_select(b, second, number(b, 1), number(b, 0));
    tile_value at = tile_build_add(b, place_of(t, b, t->unit), second);
    for (unsigned i = 0; i < s->count; i++) {
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(b, split_part_type(s, i), at, place);
        tile_build_store(b, sums[i], t->parts[i], place, rank, TILE_NO_VALUE);
    }
}

static void load_at(stream *t, tile_builder *b, tile_value at, tile_value *parts) {
    for (unsigned i = 0; i < t->s->count; i++) {
        const tile_type *type = split_part_type(t->s, i);
        tile_value place[TILE_MAX_RANK];
        unsigned rank = split_part_index(b, type, at, place);
        parts[i] = tile_build_load(b, t->parts[i], place, rank, TILE_NO_VALUE, type);
    }
}

/* Loads the parts of a tile's blocks after the first one. */
typedef struct part_adder {
    split_part_loader base; /* must be the first member */
    stream *t;
    tile_value places; /* an index past the end: loads from there return zeros */
} part_adder;

static void load_part(const split_part_loader *adder, tile_builder *b, tile_value member,
                      tile_value *loaded) {
    const part_adder *a = (const part_adder *)(const void *)adder;
    tile_value is_one = tile_build_le(b, member, a->t->last);
    tile_value at = place_of(a->t, b, unit_of(a->t, b, member));
    load_at(a->t, b, tile_build_select(b, is_one, at, a->places), loaded);
}

/* if this block is the first one { its sums } else { the sums that the first one has stored: with
 * the second tile of its share if the tile is the group's second } */
static void begin_with_first(stream *t, tile_builder *b, const tile_type *const *types,
                             tile_value *sums) {
    split *s = t->s;
    split_branch branch = split_begin_branch(b, t->is_first, types, s->count);
    tile_build_yield(&branch.yes, sums, s->count);
    tile_value at = place_of(t, &branch.no, unit_of(t, &branch.no, t->owner));
    load_at(t, &branch.no, tile_build_add(&branch.no, at, t->shared), sums);
    tile_build_yield(&branch.no, sums, s->count);
    for (unsigned i = 0; i < s->count; i++) sums[i] = tile_op_result(t->f, branch.op, i);
}

/* Adds the part of the first block, then those of the others. */
static void add_parts(stream *t, tile_builder *b, const tile_type *const *types, tile_value *sums) {
    tile_value one = number(b, 1);
    begin_with_first(t, b, types, sums);
    tile_value places = tile_build_mul(b, times_width(t, b, t->units), number(b, 2));
    const part_adder a = {{t->s, load_part}, t, places};
    tile_value end = tile_build_add(b, t->last, one), begin = tile_build_add(b, t->owner, one);
    split_add_loop(&a.base, b, begin, end, split_count_at_once(t->s, types), sums);
}

/* Builds an i1: all others have stored their parts. Tests several times: storing a part is not
 * worthwhile if the others are about to finish. */
static tile_value load_arrival_count(stream *t, tile_builder *b, tile_value others) {
    enum { TIMES = 8 };
    const tile_type *i1 = tile_type_scalar(t->s->context, TILE_i1);
    tile_value ready = tile_build_constant(b, i1, tile_expr_int(t->s->context, 0));
    tile_op times = tile_build_for_loop(b, number(b, 0), number(b, TIMES), number(b, 1), &ready, 1);
    tile_builder body = tile_builder_in(b, times, 0);
    split_branch branch = split_begin_branch(&body, tile_region_arg(t->f, body.region, 1), &i1, 1);
    ready = tile_build_constant(&branch.yes, i1, tile_expr_int(t->s->context, 1));
    tile_build_yield(&branch.yes, &ready, 1);
    tile_value arrived = split_build_atomic(&branch.no, "add", "acquire", number(&branch.no, 0),
                                            t->counts, &t->word, 1);
    ready = tile_build_eq(&branch.no, arrived, others);
    tile_build_yield(&branch.no, &ready, 1);
    ready = tile_op_result(t->f, branch.op, 0);
    tile_build_yield(&body, &ready, 1);
    return tile_op_result(t->f, times, 0);
}

/* Builds the same i1; only the first block tests it. */
static tile_value is_ready(stream *t, tile_builder *b, tile_value others) {
    const tile_type *i1 = tile_type_scalar(t->s->context, TILE_i1);
    split_branch branch = split_begin_branch(b, t->is_first, &i1, 1);
    tile_value ready = load_arrival_count(t, &branch.yes, others);
    tile_build_yield(&branch.yes, &ready, 1);
    ready = tile_build_constant(&branch.no, i1, tile_expr_int(t->s->context, 0));
    tile_build_yield(&branch.no, &ready, 1);
    return tile_op_result(t->f, branch.op, 0);
}

/* Builds an i1: this block continues with the tile; otherwise it has stored its part. */
static tile_value publish_parts(stream *t, tile_builder *b, const tile_value *sums) {
    const tile_type *i1 = tile_type_scalar(t->s->context, TILE_i1);
    tile_value others = tile_build_sub(b, t->last, t->owner);
    split_branch branch = split_begin_branch(b, is_ready(t, b, others), &i1, 1);
    tile_value keep_going = tile_build_constant(&branch.yes, i1, tile_expr_int(t->s->context, 1));
    tile_build_yield(&branch.yes, &keep_going, 1);
    store_parts(t, &branch.no, sums);
    tile_value count = tile_build_add(&branch.no, others, number(&branch.no, 1));
    keep_going = split_arrive(&branch.no, t->counts, t->word, count);
    tile_build_yield(&branch.no, &keep_going, 1);
    return tile_op_result(t->f, branch.op, 0);
}

/* Sets values to the complete sums and true if this block continues with the tile, else to
 * anything. values: its own sums on entry. */
static void combine_or_publish(stream *t, tile_builder *b, const tile_type **types,
                               tile_value *values) {
    split *s = t->s;
    tile_value one = number(b, 1), zero = number(b, 0);
    t->owner = tile_build_select(b, t->has_two, t->shared, zero);
    t->last = tile_build_select(b, t->has_two, tile_build_add(b, t->shared, one),
                                tile_build_sub(b, t->members, one));
    t->is_first = tile_build_eq(b, t->low, zero);
    t->word = number_of(t, b, t->tile);
    tile_value keep_going = publish_parts(t, b, values);
    split_branch branch = split_begin_branch(b, keep_going, types, s->count);
    tile_build_yield(&branch.no, values, s->count);
    split_build_atomic(&branch.yes, "exch", NULL, zero, t->counts, &t->word, 1);
    add_parts(t, &branch.yes, types, values);
    tile_build_yield(&branch.yes, values, s->count);
    for (unsigned i = 0; i < s->count; i++) values[i] = tile_op_result(t->f, branch.op, i);
    values[s->count] = keep_going;
}

/* if the block has the whole tile { its sums, true } else { combine_or_publish } */
tile_value split_stream_sum(stream *t, tile_builder *b, tile_value *totals) {
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
    split_branch branch = split_begin_branch(b, whole, types, s->count + 1);
    values[s->count] = tile_build_constant(&branch.yes, i1, tile_expr_int(s->context, 1));
    tile_build_yield(&branch.yes, values, s->count + 1);
    /* This barrier orders accesses that the previous tile left pending, so that a block with a
     * whole tile needs none. */
    tile_build_sync_for(&branch.no, tile_executors_of_block(t->f));
    combine_or_publish(t, &branch.no, types, values);
    tile_build_yield(&branch.no, values, s->count + 1);
    for (unsigned i = 0; i < s->count; i++) totals[i] = tile_op_result(t->f, branch.op, i);
    return tile_op_result(t->f, branch.op, s->count);
}
