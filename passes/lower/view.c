/* Loads from views and stores to them: assigns elements to threads, and chooses access widths and
 * predicates. */
#include "lib/analysis/access.h"
#include "lib/layout/layout.h"
#include "lib/layout/wgmma.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/lower/lower.h"

tile_value lower_view_offset(lowering *l, const tile_value *element, unsigned count) {
    const lower_view *view = l->views[element[0].id];
    tile_value sum = lower_long(l, 0);
    for (unsigned d = 0; d + 1 < count; d++) {
        tile_value index = lower_to_long(l, lower_mapped(l, element[1 + d]));
        sum = lower_add(l, sum, lower_mul(l, index, view->strides[d]));
    }
    return sum;
}

/* i1: 0 <= start + added < extent. One unsigned comparison also rejects a sum that has overflowed
 * i32: it is less than 2^31 too large, and so negative as an i32. */
static tile_value inside(lowering *l, tile_value start, int64_t added, tile_value extent) {
    tile_value coordinate = lower_add(l, start, lower_int(l, added));
    return tile_build_ult(&l->builder, coordinate, extent);
}

static void start_points(lowering *l, lower_view_access *a, const tile_value *index) {
    a->index = index;
    for (unsigned d = 0; d < a->view_rank && !a->point; d++) {
        const tile_type *type = tile_value_type(&l->old, index[d]);
        if (type->kind != TILE_TYPE_TILE) continue;
        a->point_layout = tile_points_layout(type, a->layout, true);
        a->point = TILE_NEW_ARRAY(l->pass->scratch, lower_point, tile_type_registers(type));
    }
}

static lower_view_access start_view(lowering *l, const tile_value *element, const tile_value *ahead,
                                    const tile_layout *layout, unsigned rank, unsigned widest) {
    lower_view_access a = {.view = l->views[element[0].id], .layout = layout};
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, element);
    if (a.view->windows) lower_start_windows(l, &a, element);
    a.view_rank = tile_value_type(&l->old, element[0])->rank;
    a.points = facts.points;
    a.first_dim = a.view_rank + a.points - rank;
    start_points(l, &a, element + 1);
    unsigned unit = tile_unit_dim(&facts, a.view_rank, rank);
    a.cut = unit == rank ? tile_split_accesses_along(layout, 0, 1)
                         : tile_split_accesses_along(layout, unit,
                                                     facts.width < widest ? facts.width : widest);
    a.base = lower_long(l, 0);
    for (unsigned d = 0; d < a.view_rank; d++) {
        if (tile_value_type(&l->old, element[1 + d])->kind == TILE_TYPE_TILE) continue;
        bool in_window = a.view->windows && d != TILE_IM2COL_CHANNEL;
        tile_value index = lower_mapped(l, element[1 + d]);
        tile_value start = index;
        if (d >= a.first_dim) {
            unsigned t = d - a.first_dim + a.points;
            if (ahead) index = start = lower_add(l, index, ahead[t]);
            tile_value thread = lower_thread_coordinate(l, layout, t);
            if (lower_bits_overlap(layout, t))
                a.overlapping[t] = thread;
            else
                start = lower_add(l, index, thread);
            a.start[t] = start;
            a.row_step[t] = a.view->strides[d];
        } else if (!in_window) {
            a.predicate = lower_and(l, a.predicate, inside(l, start, 0, a.view->limits[d]));
        }
        if (in_window) continue;
        a.base = lower_add(l, a.base, lower_mul(l, lower_to_long(l, start), a.view->strides[d]));
    }
    return a;
}

lower_view_access lower_start_view(lowering *l, const tile_value *element,
                                   const tile_layout *layout, unsigned rank, unsigned widest) {
    return start_view(l, element, NULL, layout, rank, widest);
}

/* coordinate: the register's contribution. overlapping: the exclusive-or with the thread's
 * contribution, or no value. */
static tile_value dim_predicate(lowering *l, lower_view_access *a, unsigned t, int64_t coordinate,
                                tile_value overlapping) {
    if (a->unchecked[t]) return TILE_NO_VALUE;
    for (unsigned i = 0; i < a->known_count[t]; i++)
        if (a->known[t][i].coordinate == coordinate) return a->known[t][i].predicate;
    tile_value start = overlapping.id ? lower_add(l, a->start[t], overlapping) : a->start[t];
    tile_value predicate = inside(l, start, overlapping.id ? 0 : coordinate,
                                  a->view->limits[a->first_dim + t - a->points]);
    if (a->known_count[t] < sizeof a->known[t] / sizeof *a->known[t]) {
        a->known[t][a->known_count[t]].coordinate = coordinate;
        a->known[t][a->known_count[t]++].predicate = predicate;
    }
    return predicate;
}

/* The only dim along which the access differs from the anchor, if its step is not a constant number
 * of elements; the layout's rank if there is none. */
static unsigned traversed_dim(const lowering *l, const lower_view_access *a, unsigned register_) {
    unsigned traversed = a->layout->rank;
    for (unsigned t = 0; t < a->layout->rank && a->anchor_offset.id && !a->places; t++) {
        int64_t step, more = lower_register_coordinate(a->layout, register_, t) -
                             lower_register_coordinate(a->layout, a->anchor_register, t);
        if (!more) continue;
        if (t < a->points || more < 0 || traversed < a->layout->rank || a->overlapping[t].id ||
            tile_value_is_int(l->f, a->row_step[t], &step))
            return a->layout->rank;
        traversed = t;
    }
    return traversed;
}

/* Returns the offset of access `index` of the cut; *predicate: its predicate. */
tile_value lower_view_access_offset(lowering *l, lower_view_access *a, unsigned index,
                                    tile_value *predicate) {
    enum { ROWS = 8 }; /* accesses per anchor, because each distance takes registers */
    unsigned register_ = tile_access_split_register(&a->cut, index, 0);
    unsigned traversed = traversed_dim(l, a, register_);
    tile_value offset = a->base;
    *predicate = a->predicate;
    if (a->places) {
        tile_value within;
        offset = lower_add(l, offset, lower_window_offset(l, a, register_, &within));
        *predicate = lower_and(l, *predicate, within);
    }
    if (a->points) {
        lower_point point = lower_point_of_register(l, a, register_);
        offset = traversed == a->layout->rank ? lower_add(l, offset, point.offset) : offset;
        *predicate = lower_and(l, *predicate, point.predicate);
    }
    for (unsigned t = a->points; t < a->layout->rank; t++) {
        int64_t coordinate = lower_register_coordinate(a->layout, register_, t);
        if (a->places && a->first_dim + t != TILE_IM2COL_CHANNEL) continue;
        tile_value overlapping = a->overlapping[t], added = lower_long(l, coordinate);
        if (overlapping.id) {
            if (coordinate)
                overlapping = tile_build_xor(&l->builder, overlapping, lower_int(l, coordinate));
            added = lower_to_long(l, overlapping);
        }
        if (traversed == a->layout->rank)
            offset = lower_add(l, offset, lower_mul(l, added, a->row_step[t]));
        *predicate = lower_and(l, *predicate, dim_predicate(l, a, t, coordinate, overlapping));
    }
    if (traversed < a->layout->rank) {
        int64_t rows = lower_register_coordinate(a->layout, register_, traversed) -
                       lower_register_coordinate(a->layout, a->anchor_register, traversed);
        tile_value distance = lower_mul(l, lower_long(l, rows), a->row_step[traversed]);
        offset = lower_add(l, a->anchor_offset, distance);
    }
    if (a->mask.id)
        *predicate = lower_and(l, *predicate,
                               tile_build_extract(&l->builder, a->mask, lower_int(l, register_),
                                                  lower_part_type(l, TILE_i1, 1)));
    if (index % ROWS == 0) {
        a->anchor_offset = offset;
        a->anchor_register = register_;
    }
    return offset;
}

tile_value lower_view_access_count(lowering *l, const lower_view_access *a, unsigned index) {
    unsigned t = 0, bit = a->cut.bits[0];
    while (!tile_layout_coordinate(a->layout, a->layout->reg[bit], t)) t++;
    unsigned register_ = tile_access_split_register(&a->cut, index, 0);
    int64_t coordinate = lower_register_coordinate(a->layout, register_, t);
    tile_value at = lower_add(l, a->start[t], lower_int(l, coordinate));
    return tile_build_sub(&l->builder, a->view->limits[a->first_dim + t - a->points], at);
}

/* Products with few rows, or few columns if they are computed as their transposes, are limited by
 * memory bandwidth alone. For them a cache policy chosen at launch also pays off when threads issue
 * the copies. */
static bool are_flat(const lowering *l) {
    unsigned dots = 0;
    for (uint32_t id = 1; id < l->old.op_count; id++) {
        if (l->old.ops[id].opcode != TILE_OP_dot) continue;
        const tile_type *acc = tile_value_type(&l->old, l->old.ops[id].first_result);
        if (acc->rank != 2 || (tile_type_dim(acc, 0) > TILE_WGMMA_FEW_ROWS &&
                               tile_type_dim(acc, 1) > TILE_WGMMA_FEW_ROWS))
            return false;
        dots++;
    }
    return dots > 0;
}

void lower_copy_cache_hints(lowering *l, tile_op op) {
    tile_op access = tile_region_at(l->f, l->builder.region)->last;
    tile_opcode opcode = tile_op_opcode(l->f, access);
    bool conditional = tile_op_has_attr(&l->old, op, TILE_ATTR_cache_if);
    bool copies = opcode == TILE_OP_cp_async || opcode == TILE_OP_cp_async_part;
    bool streams = opcode == TILE_OP_tma_load || (copies && are_flat(l));
    if (conditional && !streams) return;
    tile_op_take_attr(l->f, access, &l->old, op, TILE_ATTR_cache);
    tile_op_take_attr(l->f, access, &l->old, op, TILE_ATTR_cache_if);
}

void lower_copy_conflict_attrs(lowering *l, tile_op op) {
    tile_gather gather;
    if (tile_op_opcode(&l->old, op) != TILE_OP_store ||
        tile_op_has_attr(&l->old, op, TILE_ATTR_unique_indices))
        return;
    if (tile_gather_of(&l->old, op, &gather) && gather.tiles)
        tile_op_set_flag(l->f, tile_region_at(l->f, l->builder.region)->last, TILE_ATTR_any_stays);
}

/* Opaque scratch ------------------------------------------------------------------------------ */

/* A tile of scratch in memory order, addressed like a shared buffer after an offset for the leading
 * indices. */
typedef struct ordered_access {
    lower_shared_access shared;
    const lower_view *view;
    tile_value base; /* i64: the thread's contribution */
    int64_t ahead;   /* the contribution of constant indices */
    tile_value predicate;
} ordered_access;

/* Matches value = a * factor + c. False if it is no such sum. */
static bool take_sum(const tile_function *f, tile_value value, tile_value factor, tile_value *a,
                     tile_value *c) {
    tile_op sum = tile_value_def(f, value);
    for (unsigned i = 0; sum.id && tile_op_opcode(f, sum) == TILE_OP_add && i < 2; i++) {
        tile_op product = tile_value_def(f, tile_op_operand(f, sum, i));
        *c = tile_op_operand(f, sum, 1 - i);
        for (unsigned k = 0; product.id && tile_op_opcode(f, product) == TILE_OP_mul && k < 2; k++)
            if (tile_op_operand(f, product, k).id == factor.id) {
                *a = tile_op_operand(f, product, 1 - k);
                return true;
            }
    }
    return false;
}

/* Returns whether the index enumerates the grid's tiles and the extent is their number, so that the
 * index is in bounds. */
static bool numbers_tiles(const tile_function *f, tile_value index, tile_value extent) {
    tile_value outer, inner;
    tile_op id = tile_value_def(f, index), count = tile_value_def(f, extent);
    if (!id.id || !count.id) return false;
    if (tile_op_opcode(f, id) == TILE_OP_block_id && tile_op_opcode(f, count) == TILE_OP_grid_dim)
        return tile_value_at(f, index)->index == tile_value_at(f, extent)->index;
    for (unsigned i = 0; tile_op_opcode(f, count) == TILE_OP_mul && i < 2; i++) {
        tile_value factor = tile_op_operand(f, count, i);
        if (take_sum(f, index, factor, &outer, &inner) && numbers_tiles(f, inner, factor) &&
            numbers_tiles(f, outer, tile_op_operand(f, count, 1 - i)))
            return true;
    }
    return false;
}

static ordered_access start_ordered(lowering *l, const tile_value *element, const tile_type *tile) {
    ordered_access a = {.view = l->views[element[0].id]};
    lower_shared_map map = {.stage = lower_int(l, 0)};
    unsigned rank = tile_value_type(&l->old, element[0])->rank, first = rank - tile->rank;
    tile_value coordinates[TILE_MAX_RANK], base = lower_long(l, 0);
    const tile_value *extents = tile_op_at(&l->old, tile_value_def(&l->old, element[0]))->operands;
    for (unsigned d = 0; d < rank; d++) {
        tile_value index = lower_mapped(l, element[1 + d]);
        int64_t known, stride;
        bool constant = tile_value_is_int(l->f, index, &known),
             sure = d < first ? numbers_tiles(&l->old, element[1 + d], extents[d])
                              : constant && !known;
        if (!sure) /* pieces are in bounds or out of bounds as a whole */
            a.predicate = lower_and(l, a.predicate, inside(l, index, 0, a.view->limits[d]));
        if (d >= first)
            coordinates[d - first] = index;
        else if (constant && tile_value_is_int(l->f, a.view->strides[d], &stride))
            a.ahead += known * stride;
        else
            base = lower_add(l, base, lower_mul(l, lower_to_long(l, index), a.view->strides[d]));
    }
    lower_map_part(l, a.view->layout, coordinates, tile->layout, &map);
    a.shared = lower_start_shared(l, &map, tile->layout, lower_widest(tile->scalar));
    a.base = lower_add(l, base, lower_to_long(l, a.shared.thread_part));
    return a;
}

/* Combines bits that registers share with threads by exclusive-or, and adds the others. */
static tile_value ordered_offset(lowering *l, const ordered_access *a, unsigned index) {
    unsigned register_ = tile_access_split_register(&a->shared.cut, index, 0);
    uint32_t added = lower_register_offset(&a->shared.map, a->shared.layout, register_);
    uint32_t overlapping = added & a->shared.thread_bits;
    tile_value offset = lower_add(l, a->base, lower_long(l, a->ahead + (added & ~overlapping)));
    if (!overlapping) return offset;
    tile_value part = a->shared.thread_part,
               other = tile_build_xor(&l->builder, part, lower_int(l, overlapping));
    return lower_add(l, offset, lower_to_long(l, tile_build_sub(&l->builder, other, part)));
}

static tile_value load_ordered(lowering *l, tile_op op, const tile_value *element,
                               const tile_type *tile) {
    ordered_access a = start_ordered(l, element, tile);
    const tile_access_split *cut = &a.shared.cut;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, cut->count);
    for (unsigned i = 0; i < cut->count; i++) {
        tile_value offset = ordered_offset(l, &a, i);
        parts[i] = tile_build_ld_global(&l->builder, a.view->base, &offset, 1, a.predicate,
                                        lower_part_type(l, tile->scalar, 1u << cut->width_bits));
        lower_copy_cache_hints(l, op);
    }
    return lower_combine_accesses(l, parts, cut);
}

static void store_ordered(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                          const tile_value *element) {
    ordered_access a = start_ordered(l, element, tile);
    a.predicate = lower_and(l, a.predicate, lower_is_first_holder(l, tile->layout));
    for (unsigned i = 0; i < a.shared.cut.count; i++) {
        tile_value offset = ordered_offset(l, &a, i);
        tile_value part = lower_extract_access(l, fragment, &a.shared.cut, i);
        tile_build_st_global(&l->builder, part, a.view->base, &offset, 1, a.predicate);
        lower_copy_cache_hints(l, op);
    }
}

/* Loads and stores ---------------------------------------------------------------------------- */

tile_value lower_load_piece(lowering *l, tile_op op, const tile_value *element,
                            const tile_type *tile, const tile_value *ahead) {
    lower_view_access a =
        start_view(l, element, ahead, tile->layout, tile->rank, lower_widest(tile->scalar));
    lower_mask_view(l, op, &a);
    unsigned accesses = a.cut.count;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, accesses);
    for (unsigned i = 0; i < accesses; i++) {
        tile_value predicate, offset = lower_view_access_offset(l, &a, i, &predicate);
        parts[i] = tile_build_ld_global(&l->builder, a.view->base, &offset, 1, predicate,
                                        lower_part_type(l, tile->scalar, 1u << a.cut.width_bits));
        lower_copy_cache_hints(l, op);
        if (ahead) tile_op_set_flag(l->f, tile_value_def(l->f, parts[i]), TILE_ATTR_ordered);
        parts[i] = lower_pad(l, op, parts[i], predicate);
    }
    return lower_combine_accesses(l, parts, &a.cut);
}

tile_value lower_load_view(lowering *l, tile_op op, const tile_value *element,
                           const tile_type *tile) {
    if (l->views[element[0].id]->layout) return load_ordered(l, op, element, tile);
    tile_value loaded = lower_load_unaligned(l, op, element, tile);
    return loaded.id ? loaded : lower_load_piece(l, op, element, tile, NULL);
}

void lower_store_view(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                      const tile_value *element) {
    if (l->views[element[0].id]->layout) {
        store_ordered(l, op, fragment, tile, element);
        return;
    }
    if (!lower_store_shifted(l, op, fragment, tile, element))
        lower_store_piece(l, op, fragment, tile, element, NULL);
}

void lower_store_piece(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                       const tile_value *element, const tile_value *ahead) {
    lower_view_access a =
        start_view(l, element, ahead, tile->layout, tile->rank, lower_widest(tile->scalar));
    a.predicate = lower_and(l, a.predicate, lower_is_first_holder(l, tile->layout));
    lower_mask_view(l, op, &a);
    for (unsigned i = 0; i < a.cut.count; i++) {
        tile_value predicate, offset = lower_view_access_offset(l, &a, i, &predicate);
        tile_value part = lower_extract_access(l, fragment, &a.cut, i);
        tile_build_st_global(&l->builder, part, a.view->base, &offset, 1, predicate);
        lower_copy_cache_hints(l, op);
        lower_copy_conflict_attrs(l, op);
    }
}
