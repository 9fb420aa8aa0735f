/* Pieces of a store_async whose rows begin anywhere in memory, such as those of an f16 array with
 * 4095 columns.
 *
 * The L2 takes several times longer for a sector (32 bytes) that a request writes in part. So rows
 * are stored across the boundaries of pieces, in windows of whole sectors:
 *
 *     sectors     |...rrrrr|rrrrrrrr|rrrrrrrr|rrrrrrrr|rrrrr...|    r: a row of the group's tile
 *     pieces          [ piece 0         ][ piece 1         ]
 *     windows     [ window 0        ][ window 1        ][ rest ]
 *
 * Window j begins as many elements before piece j as the row exceeds a sector there. Pieces have
 * whole sectors, so that this number is the same for all pieces of a row. Elements of the previous
 * piece are read from its stage. A lane stores 16 bytes. They begin anywhere in shared memory, so
 * it reads words of 4 bytes, and shifts them if elements are smaller. The elements before the first
 * and after the last whole vector of a row are stored one by one.
 *
 *     lanes       vectors of a row, then rows     passes of a group over the rows of a piece
 *     rows        those of one request begin at different words of 16 bytes if the pitch is odd,
 *                 so that the words that they read are in different banks
 *
 * H200, 7088 x 13087 halves from shared memory: 145 us by elements, 109 us with windows of 128
 * elements, 81 us with windows of 256; 56 us with an aligned pitch. */
#include "lib/analysis/access.h"
#include "lib/layout/layout.h"
#include "lib/support/integer.h"
#include "passes/lower/lower.h"

enum { LANES = 1 << TILE_LANE_BITS, VECTOR = 16, SECTOR = 32, WORD = 4, MAX_PASSES = 64 };

/* What the passes over rows that begin at the same place of a sector have in common. */
typedef struct phase {
    tile_value begin;   /* i32: element of the row at which the lane's vector of window 0 begins */
    tile_value odd[2];  /* i1: the vector begins at an odd element of a word, or 2 elements later */
    tile_value base;    /* i64: offset in the view of that element, without the pass's rows */
    tile_value word[5]; /* element offset of each word in a stage */
    tile_value own[5];  /* i1: the word is in the window's piece, not in the previous one */
    tile_value room;    /* i32: the vector is whole in window j if j * width <= room */
    tile_value head;    /* i32: elements of the row before its first vector */
    tile_value tail;    /* i32: element at which those after its last vector begin */
    bool known;
} phase;

struct lower_rows {
    tile_op op;
    const tile_value *element;
    const tile_type *ring;
    const lower_view *view;
    tile_value buffer;
    unsigned first_dim; /* the view's dim of the rows */
    unsigned bytes;     /* of an element */
    unsigned width;     /* elements of a piece's row */
    unsigned vector;    /* elements of a vector */
    unsigned lanes;     /* of a row */
    bool shifts;        /* vectors may begin inside of a word */
    unsigned row_bits;  /* log2 of the rows of a pass */
    unsigned passes;
    uint32_t row_bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS]; /* by bit of the thread */
    unsigned thread_bits;
    /* of a run of pieces along the rows: */
    unsigned count;        /* pieces */
    tile_value lane;       /* i32: the lane's vector */
    tile_value row;        /* i32: the thread's row in a piece */
    tile_value row_offset; /* i32: what it adds to the offset in a stage */
    uint32_t row_offset_bits;
    tile_value start; /* i64: offset in the view of the first element of the thread's row */
    tile_value limit; /* i32: elements of the run inside of the view */
    tile_value inside[MAX_PASSES]; /* i1: the row of the pass is inside of the view */
    phase phases[SECTOR];
};

/* Whether it applies --------------------------------------------------------------------------- */

static unsigned elements_of(const lower_rows *r, unsigned bytes) {
    return bytes > r->bytes ? bytes / r->bytes : 1;
}

/* What a coordinate bit of the stage adds to the offset. */
static uint32_t offset_of_bit(const lower_rows *r, unsigned d, unsigned bit) {
    const tile_layout *memory = r->ring->layout;
    return tile_layout_offset_of(memory, UINT32_C(1) << (tile_layout_dim_shift(memory, d) + bit));
}

static bool has_contiguous_vectors(const lower_rows *r) {
    bool contiguous = true;
    for (unsigned bit = 0; 1u << bit < r->vector; bit++)
        contiguous &= offset_of_bit(r, 1, bit) == 1u << bit;
    return contiguous;
}

static bool is_power_of_two(int64_t number) {
    return number > 0 && (number & (number - 1)) == 0;
}

/* Distributes the rows of a pass. The low row bits are those of warps, so that the rows of a
 * request are as far apart as words are wide. */
static void assign_rows(lower_rows *r, unsigned warp_bits) {
    unsigned lane_bits = tile_log2(r->lanes), low = tile_log2(elements_of(r, WORD));
    if (low > warp_bits) low = warp_bits;
    unsigned in_warp = TILE_LANE_BITS - lane_bits;
    r->thread_bits = TILE_LANE_BITS + warp_bits;
    r->row_bits = in_warp + warp_bits;
    for (unsigned i = 0; i < in_warp; i++) r->row_bases[lane_bits + i] = 1u << (low + i);
    for (unsigned i = 0; i < warp_bits; i++)
        r->row_bases[TILE_LANE_BITS + i] = 1u << (i < low ? i : in_warp + i);
}

lower_rows *lower_find_rows(lowering *l, tile_op op, unsigned warp_bits) {
    lower_rows *r = TILE_NEW(l->pass->scratch, lower_rows);
    *r = (lower_rows){.op = op, .element = tile_operands_dst(&l->old, op).at};
    tile_value ring = tile_operand_ring(&l->old, op);
    const tile_type *view = tile_value_type(&l->old, r->element[0]);
    r->ring = tile_value_type(&l->old, ring);
    if (r->ring->rank != 2 || view->rank < 2 || view->layout) return NULL;
    r->view = l->views[r->element[0].id];
    r->first_dim = view->rank - 2u;
    r->bytes = tile_scalar_bytes(r->ring->scalar);
    r->vector = VECTOR / r->bytes;
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, r->element);
    int64_t rows = tile_type_dim(r->ring, 0), width = tile_type_dim(r->ring, 1);
    if (facts.points || facts.unit_dim != view->rank - 1u || facts.width >= r->vector ||
        !is_power_of_two(rows) || !is_power_of_two(width) || width * r->bytes < SECTOR ||
        width > (int64_t)LANES * r->vector || !has_contiguous_vectors(r) ||
        !lower_is_natural(l, r->element[view->rank]))
        return NULL;
    r->shifts = facts.width < elements_of(r, WORD);
    r->buffer = lower_mapped(l, ring);
    r->width = (unsigned)width;
    r->lanes = r->width / r->vector;
    assign_rows(r, warp_bits);
    r->passes = rows >> r->row_bits ? (unsigned)(rows >> r->row_bits) : 1;
    return r->passes <= MAX_PASSES ? r : NULL;
}

/* Runs ----------------------------------------------------------------------------------------- */

static tile_value number(lowering *l, int64_t value) {
    return lower_int(l, value);
}

static tile_value below(lowering *l, tile_value a, tile_value b) {
    return tile_build_lt(&l->builder, a, b);
}

static tile_value low_bits(lowering *l, tile_value value, unsigned modulus) {
    return tile_build_and(&l->builder, value, number(l, modulus - 1));
}

static tile_value offset_of_row(lowering *l, lower_rows *r, tile_value row) {
    uint32_t bases[32];
    unsigned count = tile_log2((uint64_t)tile_type_dim(r->ring, 0));
    r->row_offset_bits = 0;
    for (unsigned bit = 0; bit < count; bit++)
        r->row_offset_bits |= bases[bit] = offset_of_bit(r, 0, bit);
    return lower_bit_map(l, row, count, bases, count);
}

static uint32_t offset_of_pass(const lower_rows *r, unsigned pass) {
    const tile_layout *memory = r->ring->layout;
    return tile_layout_offset_of(memory, pass << r->row_bits << tile_layout_dim_shift(memory, 0));
}

/* The offset in a stage of an element of the thread's row, in a pass. */
static tile_value offset_of_element(lowering *l, const lower_rows *r, tile_value column) {
    uint32_t bases[32];
    unsigned count = tile_log2(r->width);
    for (unsigned bit = 0; bit < count; bit++) bases[bit] = offset_of_bit(r, 1, bit);
    column = lower_bit_map(l, low_bits(l, column, r->width), count, bases, count);
    return tile_build_xor(&l->builder, r->row_offset, column);
}

static tile_value add_pass(lowering *l, const lower_rows *r, tile_value offset, unsigned pass) {
    uint32_t added = offset_of_pass(r, pass);
    unsigned shift = tile_log2(r->width);
    if (added & ((UINT32_C(1) << shift) - 1)) /* swizzled by a row bit of the pass */
        return tile_build_xor(&l->builder, offset, number(l, added));
    return lower_add(l, offset, number(l, added));
}

/* i1: the rows of a pass are inside of the view, as are the leading dims. */
static void check_rows(lowering *l, lower_rows *r, tile_value first_row, tile_value column) {
    tile_value predicate = tile_build_ult(&l->builder, column, r->view->limits[r->first_dim + 1]);
    for (unsigned d = 0; d < r->first_dim; d++)
        predicate = lower_and(
            l, predicate,
            tile_build_ult(&l->builder, lower_mapped(l, r->element[1 + d]), r->view->limits[d]));
    int64_t rows = tile_type_dim(r->ring, 0);
    if (rows >> r->row_bits == 0)
        predicate = lower_and(l, predicate, below(l, r->row, number(l, rows)));
    for (unsigned pass = 0; pass < r->passes; pass++) {
        tile_value row = lower_add(l, first_row, number(l, (int64_t)pass << r->row_bits));
        r->inside[pass] = lower_and(
            l, predicate, tile_build_ult(&l->builder, row, r->view->limits[r->first_dim]));
    }
}

void lower_begin_rows(lowering *l, lower_rows *r, const tile_value *begin, unsigned count) {
    tile_builder *b = &l->builder;
    uint32_t lanes[TILE_LANE_BITS] = {0};
    for (unsigned i = 0; 1u << i < r->lanes; i++) lanes[i] = 1u << i;
    tile_value thread = low_bits(l, l->thread, 1u << r->thread_bits);
    r->count = count;
    r->lane = lower_bit_map(l, thread, r->thread_bits, lanes, TILE_LANE_BITS);
    r->row = lower_bit_map(l, thread, r->thread_bits, r->row_bases, r->thread_bits);
    r->row_offset = offset_of_row(l, r, r->row);
    tile_value row = lower_add(l, lower_mapped(l, r->element[1 + r->first_dim]), begin[0]);
    tile_value column = lower_add(l, lower_mapped(l, r->element[2 + r->first_dim]), begin[1]);
    row = lower_add(l, row, r->row);
    check_rows(l, r, row, column);
    r->start = lower_add(l, lower_to_long(l, column),
                         lower_mul(l, lower_to_long(l, row), r->view->strides[r->first_dim]));
    for (unsigned d = 0; d < r->first_dim; d++)
        r->start = lower_add(l, r->start,
                             lower_mul(l, lower_to_long(l, lower_mapped(l, r->element[1 + d])),
                                       r->view->strides[d]));
    r->limit = tile_build_sub(b, r->view->limits[r->first_dim + 1], column);
    r->limit = tile_build_min(b, r->limit, number(l, (int64_t)count * r->width));
    for (unsigned i = 0; i < SECTOR; i++) r->phases[i].known = false;
}

/* Rows that are a multiple of a sector's elements apart begin at the same place of a sector. */
static tile_value distance_of_pass(lowering *l, const lower_rows *r, unsigned pass) {
    tile_value rows = lower_long(l, (int64_t)pass << r->row_bits);
    return lower_mul(l, rows, r->view->strides[r->first_dim]);
}

/* A vector that begins inside of a word needs one more. */
static unsigned words_of(const lower_rows *r) {
    return r->vector / elements_of(r, WORD) + r->shifts;
}

static void find_words(lowering *l, lower_rows *r, phase *p) {
    unsigned part = elements_of(r, WORD), words = words_of(r);
    tile_value first = p->begin;
    if (r->shifts) first = tile_build_and(&l->builder, first, number(l, -(int64_t)part));
    for (unsigned i = 0; i < words; i++) {
        tile_value at = lower_add(l, first, number(l, (int64_t)i * part));
        p->word[i] = offset_of_element(l, r, at);
        p->own[i] = tile_build_ge(&l->builder, at, number(l, 0));
    }
    for (unsigned i = 0; r->shifts && 1u << i < part; i++)
        p->odd[i] = tile_build_ne(&l->builder,
                                  tile_build_and(&l->builder, p->begin, number(l, INT64_C(1) << i)),
                                  number(l, 0));
}

static phase *find_phase(lowering *l, lower_rows *r, unsigned pass) {
    tile_builder *b = &l->builder;
    unsigned sector = elements_of(r, SECTOR);
    phase *p = &r->phases[(pass << r->row_bits) % sector];
    if (p->known) return p;
    p->known = true;
    tile_value start = lower_add(l, r->start, distance_of_pass(l, r, pass));
    tile_value address = tile_build_misalignment(b, r->view->base);
    address = tile_build_shr(b, address, number(l, tile_log2(r->bytes)));
    tile_value low = tile_build_cast(b, start, tile_value_type(l->f, r->lane));
    tile_value past = low_bits(l, lower_add(l, address, low), sector);
    tile_value vector = lower_mul(l, r->lane, number(l, r->vector));
    p->begin = tile_build_sub(b, vector, past);
    p->base = lower_add(l, r->start, lower_to_long(l, p->begin));
    p->room = tile_build_sub(b, tile_build_sub(b, r->limit, p->begin), number(l, r->vector));
    p->head = low_bits(l, tile_build_sub(b, number(l, sector), past), r->vector);
    p->tail = tile_build_sub(b, r->limit, low_bits(l, lower_add(l, r->limit, past), r->vector));
    find_words(l, r, p);
    return p;
}

/* Elements ------------------------------------------------------------------------------------- */

static tile_value load(lowering *l, const lower_rows *r, tile_value offset, tile_value predicate,
                       unsigned count) {
    return tile_build_ld_shared(&l->builder, r->buffer, &offset, 1, predicate,
                                lower_part_type(l, r->ring->scalar, count));
}

static void store(lowering *l, const lower_rows *r, tile_value value, tile_value offset,
                  tile_value predicate) {
    tile_build_st_global(&l->builder, value, r->view->base, &offset, 1, predicate);
    lower_copy_cache_hints(l, r->op);
}

/* The elements of a vector from `by` on if the condition holds, else from the first one on. */
static tile_value shift_if(lowering *l, tile_value vector, tile_value condition, unsigned by,
                           unsigned count) {
    const tile_type *type = tile_value_type(l->f, vector);
    const tile_type *part = lower_part_type(l, type->scalar, count);
    int64_t order[2 * VECTOR];
    for (unsigned i = 0; i < count; i++) order[i] = by + i;
    tile_value later = tile_build_permute(&l->builder, vector, part);
    tile_op_set_list(l->f, tile_value_def(l->f, later), TILE_ATTR_order, order, count);
    tile_value first = tile_build_extract(&l->builder, vector, number(l, 0), part);
    return tile_build_select(&l->builder, condition, later, first);
}

/* stage, previous: element offsets of the stages. previous: no value in the first window. */
static tile_value read_vector(lowering *l, const lower_rows *r, const phase *p, unsigned pass,
                              tile_value stage, tile_value previous) {
    unsigned part = elements_of(r, WORD), words = words_of(r);
    tile_value parts[5];
    int64_t rows = tile_type_dim(r->ring, 0);
    for (unsigned i = 0; i < words; i++) {
        tile_value at = stage, predicate = TILE_NO_VALUE;
        if (previous.id)
            at = tile_build_select(&l->builder, p->own[i], stage, previous);
        else
            predicate = p->own[i];
        if (rows >> r->row_bits == 0)
            predicate = lower_and(l, predicate, below(l, r->row, number(l, rows)));
        at = lower_add(l, add_pass(l, r, p->word[i], pass), at);
        parts[i] = load(l, r, at, predicate, part);
    }
    tile_value all = tile_build_concat(&l->builder, parts, words);
    if (!r->shifts) return all;
    if (part > 2) all = shift_if(l, all, p->odd[1], 2, r->vector + 1);
    return shift_if(l, all, p->odd[0], 1, r->vector);
}

/* Window j of the rows of a pass. The window after the last piece has the elements that the others
 * left to it; its lanes are the first ones of a row. */
static void store_window(lowering *l, lower_rows *r, unsigned pass, unsigned j, tile_value stage,
                         tile_value previous) {
    phase *p = find_phase(l, r, pass);
    tile_value start = number(l, (int64_t)j * r->width);
    tile_value whole = lower_and(l, r->inside[pass], tile_build_ge(&l->builder, p->room, start));
    if (!j) whole = lower_and(l, whole, tile_build_ge(&l->builder, p->begin, number(l, 0)));
    if (j == r->count) whole = lower_and(l, whole, below(l, p->begin, number(l, 0)));
    tile_value vector = read_vector(l, r, p, pass, stage, previous);
    tile_value offset = lower_add(l, p->base, distance_of_pass(l, r, pass));
    store(l, r, vector, lower_add(l, offset, lower_long(l, (int64_t)j * r->width)), whole);
}

/* Elements of piece j or the previous one, one by one: from `begin` up to `end`. */
static void store_elements(lowering *l, lower_rows *r, unsigned pass, unsigned j, tile_value begin,
                           tile_value end, tile_value stage, tile_value previous) {
    tile_value piece = number(l, (int64_t)j * r->width);
    for (unsigned i = 0; i < r->vector; i += r->lanes) {
        tile_value at = lower_add(l, lower_add(l, begin, r->lane), number(l, i));
        tile_value valid = lower_and(l, r->inside[pass], below(l, at, end));
        if (r->vector < r->lanes) /* fewer elements than lanes */
            valid = lower_and(l, valid, below(l, r->lane, number(l, r->vector)));
        tile_value from = stage;
        if (previous.id)
            from = tile_build_select(&l->builder, below(l, at, piece), previous, stage);
        tile_value offset = add_pass(l, r, offset_of_element(l, r, at), pass);
        tile_value element = load(l, r, lower_add(l, offset, from), valid, 1);
        tile_value to = lower_add(l, r->start, distance_of_pass(l, r, pass));
        store(l, r, element, lower_add(l, to, lower_to_long(l, at)), valid);
    }
}

/* The end of the rows is in piece j. */
static void store_ends(lowering *l, lower_rows *r, unsigned j, tile_value stage,
                       tile_value previous) {
    tile_builder *b = &l->builder, outer = l->builder;
    tile_value here = tile_build_gt(b, r->limit, number(l, (int64_t)j * r->width));
    here = lower_and(l, here, tile_build_le(b, r->limit, number(l, (int64_t)(j + 1) * r->width)));
    tile_op branch = tile_build_if_else(b, here, NULL, 0);
    tile_builder other = tile_builder_in(b, branch, 1);
    tile_build_yield(&other, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 0);
    for (unsigned pass = 0; pass < r->passes; pass++) {
        phase *p = find_phase(l, r, pass);
        tile_value begin = tile_build_max(b, p->tail, p->head);
        store_elements(l, r, pass, j, begin, r->limit, stage, previous);
    }
    tile_build_yield(b, NULL, 0);
    l->builder = outer;
}

void lower_store_rows(lowering *l, lower_rows *r, unsigned j, tile_value stage,
                      tile_value previous) {
    for (unsigned pass = 0; pass < r->passes; pass++) find_phase(l, r, pass);
    for (unsigned pass = 0; pass < r->passes; pass++) store_window(l, r, pass, j, stage, previous);
    for (unsigned pass = 0; pass < r->passes && !j; pass++) {
        phase *p = find_phase(l, r, pass);
        tile_value end = tile_build_min(&l->builder, p->head, r->limit);
        store_elements(l, r, pass, 0, number(l, 0), end, stage, TILE_NO_VALUE);
    }
    for (unsigned pass = 0; pass < r->passes && j + 1 == r->count; pass++)
        store_window(l, r, pass, r->count, stage, stage);
    store_ends(l, r, j, stage, previous);
}
