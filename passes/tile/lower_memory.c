/* Loads, stores and copies: which thread moves which elements, how wide, under which predicate. */
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/layout/layout.h"
#include "passes/tile/lower.h"

/* Views --------------------------------------------------------------------------------------- */

/* One access pattern: a tile's elements, spread over threads by a layout, in a view. */
typedef struct view_access {
    const lower_view *view;
    const tile_layout *layout;
    unsigned view_rank;
    unsigned first_dim; /* the view's dim that is the tile's dim 0 */
    lower_cut cut;
    tile_value start[TILE_MAX_RANK]; /* i32, by tile dim: index + what the thread adds */
    bool start_non_negative[TILE_MAX_RANK];
    tile_value base;      /* i64 offset of the thread's first element */
    tile_value predicate; /* leading dims; none if nothing is to be checked */
    tile_value row_step[TILE_MAX_RANK];
    /* Predicates by dim and coordinate that registers add, so that equal ones are built once. */
    struct {
        int64_t coordinate;
        tile_value predicate;
    } known[TILE_MAX_RANK][64];
    unsigned known_count[TILE_MAX_RANK];
} view_access;

static tile_value old_to_new(const lowering *l, tile_value value) {
    return l->map[value.id];
}

tile_value lower_view_offset(lowering *l, const tile_value *element, unsigned count) {
    const lower_view *view = l->views[element[0].id];
    tile_value sum = lower_long(l, 0);
    for (unsigned d = 0; d + 1 < count; d++) {
        tile_value index = lower_to_long(l, old_to_new(l, element[1 + d]));
        sum = lower_add(l, sum, lower_mul(l, index, view->strides[d]));
    }
    return sum;
}

/* i1: 0 <= start + added < extent; no value where it is proven. */
static tile_value inside(lowering *l, tile_value start, int64_t added, bool non_negative,
                         tile_value extent) {
    tile_value coordinate = lower_add(l, start, lower_int(l, added));
    tile_value below = tile_build_lt(&l->builder, coordinate, extent);
    if (non_negative) return below;
    return lower_and(l, tile_build_ge(&l->builder, coordinate, lower_int(l, 0)), below);
}

static view_access start_access(lowering *l, const tile_value *element, const tile_layout *layout,
                                unsigned rank, unsigned widest) {
    view_access a = {.view = l->views[element[0].id], .layout = layout};
    a.view_rank = tile_value_type(&l->old, element[0])->rank;
    a.first_dim = a.view_rank - rank;
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, element);
    unsigned unit = tile_unit_dim(&facts, a.view_rank, rank);
    a.cut = unit == rank
                ? lower_cut_along(layout, 0, 1)
                : lower_cut_along(layout, unit, facts.width < widest ? facts.width : widest);
    a.base = lower_long(l, 0);
    for (unsigned d = 0; d < a.view_rank; d++) {
        tile_value index = old_to_new(l, element[1 + d]);
        bool non_negative = l->ranges[element[1 + d].id].min >= 0;
        tile_value start = index;
        if (d >= a.first_dim) {
            unsigned t = d - a.first_dim;
            start = lower_add(l, index, lower_thread_coordinate(l, layout, t));
            a.start[t] = start;
            a.start_non_negative[t] = non_negative;
            a.row_step[t] = a.view->strides[d];
        } else {
            a.predicate =
                lower_and(l, a.predicate, inside(l, start, 0, non_negative, a.view->extents[d]));
        }
        a.base = lower_add(l, a.base, lower_mul(l, lower_to_long(l, start), a.view->strides[d]));
    }
    return a;
}

static tile_value dim_predicate(lowering *l, view_access *a, unsigned t, int64_t coordinate) {
    for (unsigned i = 0; i < a->known_count[t]; i++)
        if (a->known[t][i].coordinate == coordinate) return a->known[t][i].predicate;
    tile_value predicate = inside(l, a->start[t], coordinate, a->start_non_negative[t],
                                  a->view->extents[a->first_dim + t]);
    if (a->known_count[t] < sizeof a->known[t] / sizeof *a->known[t]) {
        a->known[t][a->known_count[t]].coordinate = coordinate;
        a->known[t][a->known_count[t]++].predicate = predicate;
    }
    return predicate;
}

/* Offset and predicate of access `index` of the cut. */
static tile_value access_offset(lowering *l, view_access *a, unsigned index,
                                tile_value *predicate) {
    unsigned register_ = lower_cut_register(&a->cut, index, 0);
    tile_value offset = a->base;
    *predicate = a->predicate;
    for (unsigned t = 0; t < a->layout->rank; t++) {
        int64_t coordinate = lower_register_coordinate(a->layout, register_, t);
        offset = lower_add(l, offset, lower_mul(l, lower_long(l, coordinate), a->row_step[t]));
        *predicate = lower_and(l, *predicate, dim_predicate(l, a, t, coordinate));
    }
    return offset;
}

static const tile_type *access_type(lowering *l, tile_scalar scalar, const lower_cut *cut) {
    tile_context *context = tile_function_context(l->f);
    return cut->width_bits ? tile_type_vector(context, scalar, 1u << cut->width_bits)
                           : tile_type_scalar(context, scalar);
}

static unsigned widest_access(tile_scalar scalar) {
    return 16 / tile_scalar_bytes(scalar);
}

tile_value lower_load_view(lowering *l, const tile_value *element, const tile_type *tile) {
    view_access a = start_access(l, element, tile->layout, tile->rank, widest_access(tile->scalar));
    unsigned accesses = 1u << a.cut.rest_bits;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, accesses);
    for (unsigned i = 0; i < accesses; i++) {
        tile_value predicate, offset = access_offset(l, &a, i, &predicate);
        parts[i] = tile_build_ld_global(&l->builder, a.view->base, &offset, 1, predicate,
                                        access_type(l, tile->scalar, &a.cut));
    }
    return lower_assemble(l, parts, &a.cut);
}

void lower_store_view(lowering *l, tile_value fragment, const tile_type *tile,
                      const tile_value *element) {
    view_access a = start_access(l, element, tile->layout, tile->rank, widest_access(tile->scalar));
    a.predicate = lower_and(l, a.predicate, lower_first_holder(l, tile->layout));
    for (unsigned i = 0; i < 1u << a.cut.rest_bits; i++) {
        tile_value predicate, offset = access_offset(l, &a, i, &predicate);
        tile_value part = lower_take(l, fragment, &a.cut, i);
        tile_build_st_global(&l->builder, part, a.view->base, &offset, 1, predicate);
    }
}

/* Shared buffers ------------------------------------------------------------------------------ */

static lower_shared_map map_shared(lowering *l, const tile_value *element, unsigned count,
                                   const tile_layout *layout) {
    const tile_type *type = tile_value_type(&l->old, element[0]);
    lower_shared_map map = {.buffer = old_to_new(l, element[0])};
    tile_value slot = count > 1 ? old_to_new(l, element[1]) : lower_int(l, 0);
    map.slot = lower_mul(l, slot, lower_int(l, tile_type_elements(type)));
    tile_layout_to_offsets(layout, type->layout, map.reg, map.lane, map.warp);
    return map;
}

tile_value lower_shared_offset(lowering *l, const lower_shared_map *map, tile_value thread_part,
                               uint32_t thread_bits, uint32_t register_part) {
    uint32_t crossed = register_part & thread_bits;
    tile_value offset = thread_part;
    if (crossed) offset = tile_build_xor(&l->builder, offset, lower_int(l, crossed));
    offset = lower_add(l, offset, map->slot);
    return lower_add(l, offset, lower_int(l, register_part & ~thread_bits));
}

/* The accesses of a fragment in a shared buffer. */
typedef struct shared_access {
    lower_shared_map map;
    lower_cut cut;
    uint32_t thread_bits;
    tile_value thread_part;
} shared_access;

static shared_access start_shared(lowering *l, const lower_shared_map *map,
                                  const tile_layout *layout, unsigned widest) {
    shared_access a = {.map = *map};
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS];
    unsigned inputs = TILE_LANE_BITS + (unsigned)layout->warp_bits;
    memcpy(bases, a.map.lane, sizeof a.map.lane);
    memcpy(bases + TILE_LANE_BITS, a.map.warp, sizeof(uint32_t) * layout->warp_bits);
    for (unsigned i = 0; i < inputs; i++) a.thread_bits |= bases[i];
    a.thread_part = lower_thread_map(l, bases, inputs);
    a.cut = lower_cut_fragment(a.map.reg, layout->reg_bits, a.thread_bits, widest);
    return a;
}

static tile_value shared_offset(lowering *l, const shared_access *a, unsigned register_) {
    uint32_t added = 0;
    for (unsigned bit = 0; register_ >> bit; bit++)
        if (register_ >> bit & 1) added ^= a->map.reg[bit];
    return lower_shared_offset(l, &a->map, a->thread_part, a->thread_bits, added);
}

tile_value lower_load_shared(lowering *l, const tile_value *element, unsigned count,
                             const tile_type *tile) {
    lower_shared_map map = map_shared(l, element, count, tile->layout);
    tile_value matrices = lower_ldmatrix(l, &map, tile);
    if (matrices.id) return matrices;
    shared_access a = start_shared(l, &map, tile->layout, widest_access(tile->scalar));
    unsigned accesses = 1u << a.cut.rest_bits;
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, accesses);
    for (unsigned i = 0; i < accesses; i++) {
        tile_value offset = shared_offset(l, &a, lower_cut_register(&a.cut, i, 0));
        parts[i] = tile_build_ld_shared(&l->builder, a.map.buffer, &offset, 1,
                                        access_type(l, tile->scalar, &a.cut));
    }
    return lower_assemble(l, parts, &a.cut);
}

void lower_store_shared(lowering *l, tile_value fragment, const tile_type *tile,
                        const tile_value *element, unsigned count) {
    lower_shared_map map = map_shared(l, element, count, tile->layout);
    shared_access a = start_shared(l, &map, tile->layout, widest_access(tile->scalar));
    tile_value predicate = lower_first_holder(l, tile->layout);
    for (unsigned i = 0; i < 1u << a.cut.rest_bits; i++) {
        tile_value offset = shared_offset(l, &a, lower_cut_register(&a.cut, i, 0));
        tile_value part = lower_take(l, fragment, &a.cut, i);
        tile_build_st_shared(&l->builder, part, a.map.buffer, &offset, 1, predicate);
    }
}

/* Copies -------------------------------------------------------------------------------------- */

/* How many elements both cuts move at once: as long as they take the same register bits. */
static unsigned common_width(const lower_cut *a, const lower_cut *b) {
    unsigned bits = 0;
    while (bits < a->width_bits && bits < b->width_bits && a->bits[bits] == b->bits[bits]) bits++;
    return 1u << bits;
}

/* One thread's part of a copy from a view to a buffer: in the background where the hardware can. */
static void copy_in(lowering *l, const tile_value *view, const tile_value *buffer,
                    unsigned buffer_count, const tile_layout *layout, const tile_type *tile,
                    bool async) {
    view_access from = start_access(l, view, layout, tile->rank, widest_access(tile->scalar));
    lower_shared_map map = map_shared(l, buffer, buffer_count, layout);
    shared_access to = start_shared(l, &map, layout, 1u << from.cut.width_bits);
    to.cut = lower_cut_fragment(to.map.reg, layout->reg_bits, to.thread_bits,
                                common_width(&from.cut, &to.cut));
    from.cut = to.cut;
    unsigned bytes = tile_scalar_bytes(tile->scalar) << to.cut.width_bits;
    for (unsigned i = 0; i < 1u << to.cut.rest_bits; i++) {
        tile_value predicate, source = access_offset(l, &from, i, &predicate);
        tile_value target = shared_offset(l, &to, lower_cut_register(&to.cut, i, 0));
        if (async && bytes >= 4) {
            tile_build_cp_async(&l->builder, from.view->base, &source, 1, to.map.buffer, &target, 1,
                                predicate);
            tile_op last = tile_region_at(l->f, l->builder.region)->last;
            tile_op_set_int(l->f, last, TILE_ATTR_bytes, bytes);
        } else {
            tile_value part =
                tile_build_ld_global(&l->builder, from.view->base, &source, 1, predicate,
                                     access_type(l, tile->scalar, &to.cut));
            tile_build_st_shared(&l->builder, part, to.map.buffer, &target, 1, TILE_NO_VALUE);
        }
    }
}

/* Threads that hold nothing of their own stay out of the copy. */
static tile_op open_guard(lowering *l, const tile_layout *layout, tile_builder *outer) {
    tile_value first = lower_first_holder(l, layout);
    *outer = l->builder;
    if (!first.id) return TILE_NO_OP;
    tile_op guard = tile_build_if_else(&l->builder, first, NULL, 0);
    l->builder.region = tile_op_region(l->f, guard, 0);
    return guard;
}

static void close_guard(lowering *l, tile_op guard, tile_builder outer) {
    if (guard.id) {
        tile_build_yield(&l->builder, NULL, 0);
        l->builder.region = tile_op_region(l->f, guard, 1);
        tile_build_yield(&l->builder, NULL, 0);
    }
    l->builder = outer;
}

void lower_copy(lowering *l, tile_op op) {
    const tile_op_data *data = tile_op_at(&l->old, op);
    unsigned from_count, to_count;
    const tile_value *from = tile_op_segment(&l->old, op, 0, &from_count);
    const tile_value *to = tile_op_segment(&l->old, op, 1, &to_count);
    bool in = tile_value_type(&l->old, from[0])->kind == TILE_TYPE_VIEW;
    const tile_type *buffer = tile_value_type(&l->old, in ? to[0] : from[0]);
    tile_layout layout =
        tile_access_layout(&l->old, l->ranges, in ? from : to, buffer, 1u << l->warp_bits);
    tile_builder outer;
    tile_op guard = open_guard(l, &layout, &outer);
    if (in) {
        copy_in(l, from, to, to_count, &layout, buffer, data->opcode == TILE_OP_copy_async);
    } else {
        tile_type draft = {.kind = TILE_TYPE_TILE,
                           .scalar = buffer->scalar,
                           .rank = buffer->rank,
                           .layout = &layout};
        memcpy(draft.dims, buffer->dims, sizeof draft.dims);
        const tile_type *tile = tile_type_get(tile_function_context(l->f), &draft);
        lower_store_view(l, lower_load_shared(l, from, from_count, tile), tile, to);
    }
    close_guard(l, guard, outer);
}
