/* Stores of tiles from registers to rows that begin anywhere in memory, such as those of an f16
 * array with 4095 columns.
 *
 * A store of single elements writes sectors (32 bytes) in parts, for which the L2 takes several
 * times longer, and takes eight instructions for 16 bytes. Here each lane stores an aligned vector.
 * A row that exceeds a multiple of 16 bytes by `past` elements is shifted by so many elements: a
 * lane takes the last ones of the lane before it.
 *
 *     lane        0        1        2        3          adjacent lanes of a run hold
 *     held        abcdefgh ijklmnop qrstuvwx yz......   adjacent elements of a row
 *     stored   ...abcde|fghijklm|nopqrstu|vwxyz...      past = 3; | multiples of 16 bytes
 *     window     lane 0   lane 1   lane 2   lane 3
 *
 * The first lane takes the last elements of the run's last lane. Its window then holds both ends of
 * the run, in this example `yz. abcde`: as many lanes as a window has elements store one of them
 * each, in one request. Elements of a window in which the row ends are stored one by one. */
#include "lib/analysis/access.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "lib/support/integer.h"
#include "passes/lower/lower.h"

enum { VECTOR = 16 /* elements at most */, LANES = 1 << TILE_LANE_BITS };

typedef struct shifted_store {
    tile_op op;
    const tile_type *tile;
    lower_view_access a;
    unsigned unit;      /* the tile's dim along a row */
    unsigned width;     /* elements of a vector */
    unsigned lanes;     /* of a run */
    tile_value base;    /* i32: elements by which the view exceeds a multiple of 16 bytes */
    tile_value place;   /* i32: of the lane in its run */
    tile_value leading; /* i32: the run's first lane */
    tile_value before;  /* i32: the lane before this one; for the first lane, the last one */
    tile_value limit;   /* i32: elements of a row */
    tile_value room;    /* i32: a window that begins before it is whole */
} shifted_store;

/* What a lane stores of an access. */
typedef struct window {
    tile_value inside;   /* i1: the row is inside of the view; or no value */
    tile_value past;     /* i32 */
    tile_value begin;    /* i32: the window's first element in the row; negative before it */
    tile_value offset;   /* i64: of this element in the view */
    tile_value shares;   /* i1: the run begins inside of a window, which lanes store together */
    tile_value whole;    /* i1: the row does not end in the window; */
    tile_value own;      /* i1: this lane stores the window, if it is the first one */
    tile_value elements; /* a vector */
} window;

static tile_value low_bits(lowering *l, tile_value value, unsigned modulus) {
    return tile_build_and(&l->builder, value, lower_int(l, modulus - 1));
}

static bool start(lowering *l, shifted_store *s, const tile_value *element) {
    const tile_layout *layout = s->tile->layout;
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, element);
    s->unit = tile_unit_dim(&facts, tile_value_type(&l->old, element[0])->rank, s->tile->rank);
    s->width = facts.unaligned;
    if (facts.points || !tile_is_whole_access(&l->old, s->op) ||
        tile_store_width(&facts, layout, s->unit) == facts.width ||
        lower_bits_overlap(layout, s->unit))
        return false;
    unsigned bytes = tile_scalar_bytes(s->tile->scalar);
    s->lanes = tile_layout_run_lanes(layout, s->unit, s->width);
    s->a = lower_start_view(l, element, layout, s->tile->rank, lower_widest(s->tile->scalar));
    s->a.cut = tile_split_accesses_along(layout, s->unit, s->width);
    s->a.unchecked[s->unit] = true;
    s->a.predicate = lower_and(l, s->a.predicate, lower_is_first_holder(l, layout));
    s->base = tile_build_misalignment(&l->builder, s->a.view->base);
    if (bytes > 1) s->base = tile_build_shr(&l->builder, s->base, lower_int(l, tile_log2(bytes)));
    s->place = low_bits(l, l->thread, s->lanes);
    s->leading = tile_build_sub(&l->builder, l->thread, s->place);
    s->before = low_bits(l, lower_add(l, s->place, lower_int(l, -1)), s->lanes);
    s->before = lower_add(l, s->leading, s->before);
    s->limit = s->a.view->limits[s->a.first_dim + s->unit];
    s->room = tile_build_sub(&l->builder, s->limit, lower_int(l, s->width - 1));
    s->room = tile_build_max(&l->builder, s->room, lower_int(l, 0));
    return true;
}

/* Exchanges elements ----------------------------------------------------------------------------
 */

/* `count` elements of the vector: from element `one` on if the condition holds, else from `other`
 * on. */
static tile_value select_run(lowering *l, tile_value vector, tile_value condition, unsigned one,
                             unsigned other, unsigned count) {
    int64_t order[2][2 * VECTOR];
    for (unsigned i = 0; i < count; i++) {
        order[0][i] = one + i;
        order[1][i] = other + i;
    }
    return tile_build_select(&l->builder, condition, lower_permute(l, vector, order[0], count),
                             lower_permute(l, vector, order[1], count));
}

static tile_value has_bit(lowering *l, tile_value value, unsigned bit) {
    tile_value masked = tile_build_and(&l->builder, value, lower_int(l, bit));
    return tile_build_ne(&l->builder, masked, lower_int(l, 0));
}

/* The last `past` elements of the vector of the lane before, and the first ones of the own vector:
 * of both vectors, those from element `width` - `past` on. Each step halves what follows. */
static tile_value shift(lowering *l, const shifted_store *s, tile_value own, tile_value past) {
    tile_value parts[] = {lower_shfl(l, own, s->before, "idx"), own};
    tile_value both = tile_build_concat(&l->builder, parts, 2);
    for (unsigned step = s->width / 2; step > 1; step /= 2)
        both = select_run(l, both, has_bit(l, past, step), 0, step, s->width + step);
    return select_run(l, both, has_bit(l, past, 1), 1, 2, s->width);
}

/* Windows ---------------------------------------------------------------------------------------
 */

/* Whether both accesses are in the same row, so that their starts differ by whole vectors. */
static bool is_same_row(const shifted_store *s, unsigned one, unsigned other) {
    unsigned a = tile_access_split_register(&s->a.cut, one, 0),
             b = tile_access_split_register(&s->a.cut, other, 0);
    bool same = true;
    for (unsigned d = 0; d < s->tile->rank; d++)
        same &= d == s->unit || lower_register_coordinate(s->tile->layout, a, d) ==
                                    lower_register_coordinate(s->tile->layout, b, d);
    return same;
}

/* windows: also those of earlier accesses. */
static void find_window(lowering *l, shifted_store *s, tile_value fragment, unsigned index,
                        window *windows) {
    tile_builder *b = &l->builder;
    window *r = &windows[index];
    unsigned register_ = tile_access_split_register(&s->a.cut, index, 0), other = 0;
    int64_t ahead = lower_register_coordinate(s->tile->layout, register_, s->unit);
    r->offset = lower_view_access_offset(l, &s->a, index, &r->inside);
    while (other < index && !is_same_row(s, index, other)) other++;
    if (other < index) {
        r->past = windows[other].past;
    } else {
        tile_value low = tile_build_cast(b, r->offset, tile_value_type(l->f, s->place));
        r->past = low_bits(l, lower_add(l, s->base, low), s->width);
    }
    tile_value column = lower_add(l, s->a.start[s->unit], lower_int(l, ahead));
    r->begin = tile_build_sub(b, column, r->past);
    r->offset = tile_build_sub(b, r->offset, lower_to_long(l, r->past));
    r->shares = tile_build_ne(b, r->past, lower_int(l, 0));
    tile_value later = tile_build_ne(b, s->place, lower_int(l, 0));
    r->own = tile_build_or(b, later, tile_build_eq(b, r->past, lower_int(l, 0)));
    r->whole = tile_build_ult(b, r->begin, s->room);
    r->elements = shift(l, s, lower_extract_access(l, fragment, &s->a.cut, index), r->past);
}

static void store(lowering *l, const shifted_store *s, tile_value value, tile_value offset,
                  tile_value predicate) {
    tile_build_st_global(&l->builder, value, s->a.view->base, &offset, 1, predicate);
    lower_copy_cache_hints(l, s->op);
}

static void store_window(lowering *l, const shifted_store *s, const window *r) {
    tile_value predicate = lower_and(l, r->inside, lower_and(l, r->own, r->whole));
    store(l, s, r->elements, r->offset, predicate);
}

/* The elements of the window of the run's first lane: lane i of the run stores element i. Those
 * before `past` follow the run, the others begin it. */
static void store_ends_of_run(lowering *l, const shifted_store *s, const window *r) {
    tile_builder *b = &l->builder;
    tile_value value = lower_shfl(l, r->elements, s->leading, "idx");
    for (unsigned step = s->width / 2; step; step /= 2)
        value = select_run(l, value, has_bit(l, s->place, step), step, 0, step);
    value = tile_build_extract(b, value, lower_int(l, 0), lower_part_type(l, s->tile->scalar, 1));
    tile_value follows = tile_build_lt(b, s->place, r->past);
    tile_value back = lower_mul(l, s->place, lower_int(l, s->width - 1));
    tile_value run = lower_int(l, (int64_t)s->lanes * s->width);
    tile_value ahead = tile_build_select(b, follows, run, lower_int(l, 0));
    ahead = tile_build_sub(b, ahead, back);
    tile_value valid = tile_build_ult(b, lower_add(l, r->begin, ahead), s->limit);
    valid = lower_and(l, r->inside, lower_and(l, r->shares, valid));
    if (s->lanes > s->width)
        valid = lower_and(l, valid, tile_build_lt(b, s->place, lower_int(l, s->width)));
    store(l, s, value, lower_add(l, r->offset, lower_to_long(l, ahead)), valid);
}

static tile_value is_cut(lowering *l, const shifted_store *s, const window *r) {
    tile_builder *b = &l->builder;
    tile_value begins = tile_build_ult(b, r->begin, s->limit);
    tile_value cut = lower_and(l, begins, tile_build_not(b, r->whole));
    return lower_and(l, r->inside, lower_and(l, r->own, cut));
}

/* One by one, the elements of a window in which the row ends. */
static void store_end_of_row(lowering *l, const shifted_store *s, const window *r,
                             tile_value predicate) {
    for (unsigned i = 0; i + 1 < s->width; i++) {
        tile_value at = lower_add(l, r->begin, lower_int(l, i));
        tile_value valid = lower_and(l, predicate, tile_build_lt(&l->builder, at, s->limit));
        tile_value element = tile_build_extract(&l->builder, r->elements, lower_int(l, i),
                                                lower_part_type(l, s->tile->scalar, 1));
        store(l, s, element, lower_add(l, r->offset, lower_long(l, i)), valid);
    }
}

static void store_ends_of_rows(lowering *l, const shifted_store *s, const window *windows) {
    tile_builder *b = &l->builder, outer = l->builder;
    tile_value *cut = TILE_NEW_ARRAY(l->pass->scratch, tile_value, s->a.cut.count), any;
    for (unsigned i = 0; i < s->a.cut.count; i++) {
        cut[i] = is_cut(l, s, &windows[i]);
        any = i ? tile_build_or(b, any, cut[i]) : cut[i];
    }
    tile_op branch = tile_build_if_else(b, any, NULL, 0);
    tile_builder other = tile_builder_in(b, branch, 1);
    tile_build_yield(&other, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 0);
    for (unsigned i = 0; i < s->a.cut.count; i++) store_end_of_row(l, s, &windows[i], cut[i]);
    tile_build_yield(b, NULL, 0);
    l->builder = outer;
}

bool lower_store_shifted(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                         const tile_value *element) {
    shifted_store s = {.op = op, .tile = tile};
    if (!start(l, &s, element)) return false;
    window *windows = TILE_NEW_ARRAY(l->pass->scratch, window, s.a.cut.count);
    for (unsigned i = 0; i < s.a.cut.count; i++) find_window(l, &s, fragment, i, windows);
    for (unsigned i = 0; i < s.a.cut.count; i++) store_window(l, &s, &windows[i]);
    for (unsigned i = 0; i < s.a.cut.count; i++) store_ends_of_run(l, &s, &windows[i]);
    store_ends_of_rows(l, &s, windows);
    return true;
}
