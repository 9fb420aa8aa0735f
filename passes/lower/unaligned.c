/* Tiles of rows that begin anywhere: unaligned loads.
 *
 * The rows of an f16 array with 1001 columns begin at multiples of 2 bytes. A load of each element
 * would take eight loads for 16 bytes. ld_global_unaligned takes two loads and about 20 shifts and
 * selects. cp.async moves at least 4 aligned bytes, so a copy to a shared buffer goes through
 * registers. Up to 16 loads of a thread are in flight together, also those of several copies that
 * follow each other, before the first one is stored.
 *
 * The loads read the aligned 16 bytes around what they need. After the end of the array these may
 * belong to another array, or to no array. They are on the same page, but a memory checker would
 * report them. So a tile that contains the array's last 16 bytes is copied element by element:
 *
 *     if the last element of the tile is at least 16 bytes before the end of the array {
 *       unaligned loads
 *     } else {
 *       loads of single elements
 *     }
 *
 * Nothing of the kind is needed before the array: a whole allocation begins at a multiple of 16
 * bytes. */
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "passes/lower/lower.h"

enum { MAX_COPIES = 4, LEAST_BYTES = 8 /* of an access; elements are as fast for less */ };

/* The accesses of a tile. */
typedef struct row_tile {
    tile_op op;
    const tile_value *element; /* in the old body: the view and its coordinates */
    const tile_type *type;     /* the tile or buffer: its extents */
    tile_scalar scalar;
    tile_access_split cut;
    lower_view_access from;   /* with this cut */
    lower_view_access single; /* with a cut into single elements */
    lower_shared_access to;   /* of a copy */
    tile_value first;         /* i1: the thread takes part in a copy; or no value */
} row_tile;

static tile_value load_element(lowering *l, row_tile *t, unsigned register_) {
    unsigned index = 0;
    while (tile_access_split_register(&t->single.cut, index, 0) != register_) index++;
    tile_value predicate, source = lower_view_access_offset(l, &t->single, index, &predicate);
    predicate = lower_and(l, predicate, t->first);
    tile_value loaded = tile_build_ld_global(&l->builder, t->from.view->base, &source, 1, predicate,
                                             lower_part_type(l, t->scalar, 1));
    lower_copy_cache_hints(l, t->op);
    return lower_pad(l, t->op, loaded, predicate);
}

static tile_value load_elements(lowering *l, row_tile *t, unsigned index) {
    tile_value parts[16];
    unsigned width = 1u << t->cut.width_bits;
    for (unsigned i = 0; i < width; i++)
        parts[i] = load_element(l, t, tile_access_split_register(&t->cut, index, i));
    return tile_build_concat(&l->builder, parts, width);
}

/* Operands of an unaligned load. */
typedef struct row_access {
    const row_tile *tile;
    unsigned index;
    tile_value source, count, predicate, loaded;
} row_access;

static void prepare(lowering *l, row_tile *t, unsigned index, row_access *a) {
    l->builder.loc = tile_op_loc(&l->old, t->op);
    *a = (row_access){.tile = t, .index = index};
    a->source = lower_view_access_offset(l, &t->from, index, &a->predicate);
    a->count = lower_view_access_count(l, &t->from, index);
    a->predicate = lower_and(l, a->predicate, t->first);
}

/* The loads follow each other: the code then has all of them in flight. elements: to be read of
 * each access; or no value, for those before the end of the row. */
static void load_unaligned(lowering *l, row_access *accesses, unsigned count, tile_value elements) {
    for (unsigned i = 0; i < count; i++) {
        row_access *a = &accesses[i];
        const row_tile *t = a->tile;
        const tile_type *part = lower_part_type(l, t->scalar, 1u << t->cut.width_bits);
        l->builder.loc = tile_op_loc(&l->old, t->op);
        a->loaded =
            tile_build_ld_global_unaligned(&l->builder, t->from.view->base, &a->source, 1,
                                           elements.id ? elements : a->count, a->predicate, part);
        lower_copy_cache_hints(l, t->op);
    }
}

/* The elements before the end of the row, and the load's pad after it. */
static tile_value pad_rest(lowering *l, const row_access *a) {
    const row_tile *t = a->tile;
    unsigned width = 1u << t->cut.width_bits;
    const tile_type *scalar = lower_part_type(l, t->scalar, 1);
    tile_value parts[16], zero = lower_int(l, 0), count = a->count;
    tile_value pad = lower_pad_of(l, t->op, scalar);
    if (a->predicate.id) count = tile_build_select(&l->builder, a->predicate, count, zero);
    for (unsigned i = 0; i < width; i++) {
        tile_value element = tile_build_extract(&l->builder, a->loaded, lower_int(l, i), scalar);
        tile_value valid = tile_build_lt(&l->builder, lower_int(l, i), count);
        parts[i] = tile_build_select(&l->builder, valid, element, pad);
    }
    return tile_build_concat(&l->builder, parts, width);
}

/* i1: elements of an access are after the end of a row, or its row is not in the view. */
static tile_value is_any_cut(lowering *l, const row_access *accesses, unsigned count) {
    tile_builder *b = &l->builder;
    tile_value all = TILE_NO_VALUE;
    for (unsigned i = 0; i < count; i++) {
        tile_value width = lower_int(l, 1 << accesses[i].tile->cut.width_bits);
        all = lower_and(l, all, accesses[i].predicate);
        all = lower_and(l, all, tile_build_ge(b, accesses[i].count, width));
    }
    return tile_build_not(b, all);
}

/* Most threads have no element after the end of a row, so the others choose the pad in a branch.
 */
static void pad_cut(lowering *l, const row_access *accesses, unsigned count, tile_value *parts) {
    const tile_type **types = TILE_NEW_ARRAY(l->pass->scratch, const tile_type *, count);
    tile_value *padded = TILE_NEW_ARRAY(l->pass->scratch, tile_value, count);
    for (unsigned i = 0; i < count; i++) {
        parts[i] = accesses[i].loaded;
        types[i] = tile_value_type(l->f, parts[i]);
    }
    tile_op branch = tile_build_if_else(&l->builder, is_any_cut(l, accesses, count), types, count);
    tile_builder outer = l->builder;
    l->builder.region = tile_op_region(l->f, branch, 0);
    for (unsigned i = 0; i < count; i++) padded[i] = pad_rest(l, &accesses[i]);
    tile_build_yield(&l->builder, padded, count);
    l->builder.region = tile_op_region(l->f, branch, 1);
    tile_build_yield(&l->builder, parts, count);
    l->builder = outer;
    for (unsigned i = 0; i < count; i++) parts[i] = tile_op_result(l->f, branch, i);
}

/* i1: no chunk that holds an element of the tile ends after the array. Elements of a tile that is
 * cut off do not count. `last` is the largest offset if no stride is negative. */
static tile_value is_before_end(lowering *l, const row_tile *t) {
    tile_builder *b = &l->builder;
    const lower_view *view = t->from.view;
    bool has_strides = tile_value_type(&l->old, t->element[0])->has_strides;
    tile_value last = lower_long(l, 0), size = lower_long(l, 1), all = TILE_NO_VALUE;
    tile_value less = lower_long(l, -1), chunk = lower_long(l, (int64_t)1 << t->cut.width_bits);
    for (unsigned d = 0; d < t->from.view_rank; d++) {
        int64_t known;
        tile_value stride = view->strides[d], limit = lower_to_long(l, view->limits[d]);
        tile_value at = lower_to_long(l, lower_mapped(l, t->element[1 + d]));
        if (d >= t->from.first_dim) {
            int64_t extent = tile_type_dim(t->type, d - t->from.first_dim);
            at = tile_build_min(b, lower_add(l, at, lower_long(l, extent)), limit);
            at = lower_add(l, at, less);
        }
        last = lower_add(l, last, lower_mul(l, at, stride));
        size = lower_add(l, size, lower_mul(l, lower_add(l, limit, less), stride));
        if (has_strides && !tile_value_is_int(l->f, stride, &known))
            all = lower_and(l, all, tile_build_ge(b, stride, lower_long(l, 0)));
    }
    return lower_and(l, all, tile_build_le(b, lower_add(l, last, chunk), size));
}

/* Whether unaligned loads of the tile may suit. *cut: its accesses. */
static bool begins_anywhere(lowering *l, row_tile *t, const tile_layout *layout) {
    const tile_type *memory = tile_value_type(&l->old, t->element[0]);
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, t->element);
    unsigned unit = tile_unit_dim(&facts, memory->rank, t->type->rank);
    if (facts.unaligned == facts.width || unit == t->type->rank || memory->layout ||
        memory->scalar != t->type->scalar || !tile_is_whole_access(&l->old, t->op) ||
        lower_bits_overlap(layout, unit))
        return false;
    t->scalar = memory->scalar;
    t->cut = tile_split_accesses_along(layout, unit, facts.unaligned);
    return true;
}

static bool start_accesses(lowering *l, row_tile *t, const tile_layout *layout) {
    if (tile_scalar_bytes(t->scalar) << t->cut.width_bits < LEAST_BYTES) return false;
    t->from = lower_start_view(l, t->element, layout, t->type->rank, lower_widest(t->scalar));
    t->single = t->from;
    t->from.cut = t->cut;
    t->single.cut = tile_split_accesses_along(layout, 0, 1);
    return true;
}

/* Copies --------------------------------------------------------------------------------------- */

static bool start_copy(lowering *l, tile_op op, row_tile *t) {
    const tile_values from = tile_operands_src(&l->old, op), to = tile_operands_dst(&l->old, op);
    if (tile_value_type(&l->old, from.at[0])->kind != TILE_TYPE_VIEW ||
        !tile_is_plain_access(&l->old, op) || lower_is_misaligned(l, to.at[0]))
        return false;
    *t = (row_tile){.op = op, .element = from.at, .type = tile_value_type(&l->old, to.at[0])};
    tile_layout *layout = TILE_NEW(l->pass->scratch, tile_layout);
    *layout = tile_copy_layout(&l->old, l->ranges, from.at, t->type, 1u << l->warp_bits);
    if (!begins_anywhere(l, t, layout)) return false;
    lower_shared_map map = lower_map_shared(l, to.at, to.count, layout);
    t->to = lower_start_shared(l, &map, layout, 1u << t->cut.width_bits);
    t->cut = t->to.cut = tile_split_fragment_accesses(layout, map.reg, t->to.thread_bits,
                                                      lower_common_width(&t->cut, &t->to.cut));
    if (!start_accesses(l, t, layout)) return false;
    t->first = lower_is_first_holder(l, layout);
    return true;
}

/* A copy that no barrier counts and no hardware executes. */
static bool is_copy_by_threads(const lowering *l, tile_op op) {
    tile_opcode opcode = op.id ? tile_op_opcode(&l->old, op) : TILE_OP_NONE;
    if (opcode == TILE_OP_copy) return true;
    return opcode == TILE_OP_copy_async && tile_op_mechanism(&l->old, op) == TILE_MECHANISM_GROUP;
}

static void store_access(lowering *l, const row_tile *t, unsigned index, tile_value loaded) {
    const lower_shared_access *to = &t->to;
    tile_value target =
        lower_shared_access_offset(l, to, tile_access_split_register(&to->cut, index, 0));
    tile_build_st_shared(&l->builder, loaded, to->map.buffer, &target, 1, t->first);
}

static void move_elements(lowering *l, row_tile *t) {
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, t->cut.count);
    for (unsigned i = 0; i < t->cut.count; i++) parts[i] = load_elements(l, t, i);
    for (unsigned i = 0; i < t->cut.count; i++) store_access(l, t, i, parts[i]);
}

/* Loads that are in flight together: each takes nine registers, beside the sums of products. */
static unsigned count_in_flight(unsigned count) {
    enum { MOST = 16 };
    unsigned groups = (count + MOST - 1) / MOST;
    return (count + groups - 1) / groups;
}

/* The loads of several tiles may be in flight together. */
static void move_unaligned(lowering *l, row_tile *tiles, unsigned count) {
    unsigned total = 0, first = 0, filled = 0;
    for (unsigned i = 0; i < count; i++) total += tiles[i].cut.count;
    unsigned group = count_in_flight(total);
    row_access *accesses = TILE_NEW_ARRAY(l->pass->scratch, row_access, total);
    for (unsigned i = 0; i < count; i++)
        for (unsigned k = 0; k < tiles[i].cut.count; k++) {
            prepare(l, &tiles[i], k, &accesses[filled++]);
            if (filled - first < group && filled < total) continue;
            load_unaligned(l, accesses + first, filled - first, TILE_NO_VALUE);
            for (; first < filled; first++)
                store_access(l, accesses[first].tile, accesses[first].index,
                             accesses[first].loaded);
        }
}

bool lower_copies_unaligned(lowering *l, tile_op op, bool alone) {
    row_tile tiles[MAX_COPIES], others[MAX_COPIES];
    tile_value before = TILE_NO_VALUE;
    unsigned count = 0;
    for (tile_op next = op; count < MAX_COPIES; next = tile_op_next(&l->old, next)) {
        bool follows = next.id != op.id;
        if (follows && (alone || !is_copy_by_threads(l, next))) break;
        if (!start_copy(l, next, &tiles[count])) break;
        if (follows) l->fused[next.id] = true; /* is lowered here */
        before = lower_and(l, before, is_before_end(l, &tiles[count]));
        lower_explain_threads(l, next, tiles[count].element, tiles[count].type);
        count++;
    }
    if (!count) return false;
    tile_op branch = tile_build_if_else(&l->builder, before, NULL, 0);
    tile_builder outer = l->builder;
    memcpy(others, tiles, sizeof *tiles * count); /* a branch lacks what the other one computes */
    l->builder.region = tile_op_region(l->f, branch, 0);
    move_unaligned(l, tiles, count);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 1);
    for (unsigned i = 0; i < count; i++) move_elements(l, &others[i]);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
    return true;
}

/* Loads ---------------------------------------------------------------------------------------- */

/* i1: neither chunk of any access that the thread makes ends after the array, so that the accesses
 * are read as a whole. */
static tile_value can_read_whole(lowering *l, const row_tile *t, const row_access *accesses) {
    tile_builder *b = &l->builder;
    const lower_view *view = t->from.view;
    bool has_strides = tile_value_type(&l->old, t->element[0])->has_strides;
    tile_value size = lower_long(l, 1), all = TILE_NO_VALUE;
    tile_value chunks = lower_long(l, (int64_t)2 << t->cut.width_bits);
    for (unsigned d = 0; d < t->from.view_rank; d++) {
        int64_t known;
        tile_value limit = lower_add(l, lower_to_long(l, view->limits[d]), lower_long(l, -1));
        size = lower_add(l, size, lower_mul(l, limit, view->strides[d]));
        if (has_strides && !tile_value_is_int(l->f, view->strides[d], &known))
            all = lower_and(l, all, tile_build_ge(b, view->strides[d], lower_long(l, 0)));
    }
    for (unsigned i = 0; i < t->cut.count; i++) {
        tile_value ends = tile_build_le(b, lower_add(l, accesses[i].source, chunks), size);
        if (accesses[i].predicate.id)
            ends = tile_build_or(b, ends, tile_build_not(b, accesses[i].predicate));
        all = lower_and(l, all, ends);
    }
    return all;
}

/* Only the threads that read the array's end load single elements. */
tile_value lower_load_unaligned(lowering *l, tile_op op, const tile_value *element,
                                const tile_type *tile) {
    row_tile t = {.op = op, .element = element, .type = tile};
    if (!begins_anywhere(l, &t, tile->layout) || !start_accesses(l, &t, tile->layout))
        return TILE_NO_VALUE;
    unsigned count = t.cut.count, width = 1u << t.cut.width_bits;
    row_access *accesses = TILE_NEW_ARRAY(l->pass->scratch, row_access, count);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, count), fragment;
    for (unsigned i = 0; i < count; i++) prepare(l, &t, i, &accesses[i]);
    const tile_type *type = tile_type_vector(tile_function_context(l->f), t.scalar, count * width);
    tile_op branch = tile_build_if_else(&l->builder, can_read_whole(l, &t, accesses), &type, 1);
    tile_builder outer = l->builder;
    l->builder.region = tile_op_region(l->f, branch, 0);
    load_unaligned(l, accesses, count, lower_int(l, width));
    pad_cut(l, accesses, count, parts);
    fragment = lower_combine_accesses(l, parts, &t.cut);
    tile_build_yield(&l->builder, &fragment, 1);
    l->builder.region = tile_op_region(l->f, branch, 1);
    for (unsigned i = 0; i < count; i++) parts[i] = load_elements(l, &t, i);
    fragment = lower_combine_accesses(l, parts, &t.cut);
    tile_build_yield(&l->builder, &fragment, 1);
    l->builder = outer;
    return tile_op_result(l->f, branch, 0);
}
