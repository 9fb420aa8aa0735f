/* Loads and stores of a kernel's tiles: chooses the view of an array, the indices and the dim
 * order. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/ir/syntax.h"

/* The array's dims in the order of the access: first those with a single coordinate, then the
 * tile's. -1: a dim of extent 1 that the array does not have. */
typedef struct listing {
    int dims[2 * TILE_MAX_RANK];
    unsigned rank;
} listing;

/* The tile's dims are in the array's order in memory, so that contiguous elements are loaded
 * together. Dims that the array lacks keep their position. */
static listing list_dims(const sched_kernel *k, const sched_shape *shape, const sched_map *map,
                         sched_access *out) {
    listing l = {.rank = 0};
    int of_tile[SCHED_MAX_TILE], next[SCHED_MAX_TILE], count = 0;
    unsigned in_memory[TILE_MAX_RANK];
    sched_memory_order(k->s, shape, in_memory);
    for (unsigned t = 0; t < k->tile_rank; t++) of_tile[t] = -1;
    for (unsigned i = 0; i < shape->type->rank; i++) {
        const unsigned d = in_memory[i];
        int t = sched_along(k, &map->at[d]);
        if (t < 0) l.dims[l.rank++] = (int)d;
        if (t >= 0) {
            of_tile[t] = (int)d;
            next[count++] = (int)d;
        }
    }
    count = 0;
    out->permuted = false;
    for (unsigned t = 0; t < k->tile_rank; t++) {
        int d = of_tile[t] < 0 || k->straight ? of_tile[t] : next[count++];
        int from = d < 0 ? (int)t : sched_along(k, &map->at[d]);
        l.dims[l.rank++] = d;
        out->order[t] = from;
        out->permuted |= from != (int)t;
    }
    return l;
}

/* Removes dims of extent 1, whose coordinate is 0, until the view's rank suffices. False if it does
 * not. */
static bool fit_view(const sched_kernel *k, const tile_type *type, listing *l) {
    for (unsigned i = l->rank - k->tile_rank; i-- > 0 && l->rank > TILE_MAX_RANK;) {
        if (!tile_expr_is(sched_expr(k->s, type->dims[l->dims[i]]), 1)) continue;
        l->rank--;
        memmove(l->dims + i, l->dims + i + 1, sizeof *l->dims * (l->rank - i));
    }
    return l->rank <= TILE_MAX_RANK;
}

/* Returns whether these are the array's dims in order, possibly without some of extent 1. */
static bool is_in_order(const sched_kernel *k, const tile_type *type, const listing *l) {
    int next = 0;
    for (unsigned i = 0; i <= l->rank; i++) {
        int d = i < l->rank ? l->dims[i] : (int)type->rank;
        if (d < 0) continue;
        while (next < d && tile_expr_is(sched_expr(k->s, type->dims[next]), 1)) next++;
        if (d != next++) return false;
    }
    return true;
}

/* Returns whether each dim of the array is the same dim of the view. */
static bool is_whole(const tile_type *type, const listing *l) {
    bool whole = l->rank == type->rank;
    for (unsigned i = 0; i < l->rank && whole; i++) whole = l->dims[i] == (int)i;
    return whole;
}

static const tile_expr *extent_of(sched_kernel *k, const tile_type *type, int d) {
    return d < 0 ? tile_expr_int(k->s->context, 1) : sched_expr(k->s, type->dims[d]);
}

/* An expression over arguments as an i64, computed without overflow. */
static tile_value wide_number(sched_kernel *k, const tile_expr *expr) {
    const tile_type *wide = tile_type_scalar(k->s->context, TILE_i64);
    tile_segment segments[3] = {{{0}, NULL, 0}};
    unsigned count = 0;
    if (!tile_expr_has_arg(expr)) return tile_build_constant(&k->b, wide, expr);
    if (expr->kind == TILE_EXPR_ARG) return tile_build_cast(&k->b, sched_number(k, expr), wide);
    for (; count < 3 && expr->args[count]; count++)
        segments[count].head = wide_number(k, expr->args[count]);
    return tile_build_op_value(&k->b, expr->opcode, segments, count, NULL);
}

/* The stride of dim d in elements, as an i64. */
static tile_value stride_of(sched_kernel *k, const sched_shape *shape, int d) {
    const tile_type *wide = tile_type_scalar(k->s->context, TILE_i64), *type = shape->type;
    const tile_expr *known = tile_expr_int(k->s->context, 1);
    tile_value stride = TILE_NO_VALUE;
    if (d >= 0 && shape->strides[0]) return wide_number(k, sched_expr(k->s, shape->strides[d]));
    if (shape->strides[0]) return tile_build_constant(&k->b, wide, tile_expr_int(k->s->context, 1));
    for (unsigned i = d < 0 ? type->rank : (unsigned)d + 1; i < type->rank; i++) {
        const tile_expr *extent = sched_expr(k->s, type->dims[i]);
        if (!tile_expr_has_arg(extent)) {
            known = tile_expr_multiply(k->s->context, known, extent);
            continue;
        }
        tile_value factor = tile_build_cast(&k->b, sched_number(k, extent), wide);
        stride = stride.id ? tile_build_mul(&k->b, stride, factor) : factor;
    }
    tile_value constant = tile_build_constant(&k->b, wide, known);
    if (!stride.id || tile_expr_is(known, 1)) return stride.id ? stride : constant;
    return tile_build_mul(&k->b, stride, constant);
}

/* Returns the view argument itself if it has these dims. */
static tile_value find_view(sched_kernel *k, unsigned array, const sched_shape *shape,
                            const listing *l) {
    tile_value extents[TILE_MAX_RANK], strides[TILE_MAX_RANK];
    const tile_type *type = shape->type;
    bool in_order = !shape->strides[0] && is_in_order(k, type, l);
    const sched_array *own = &k->s->arrays[array];
    bool strided = shape->strides[0] &&
                   memcmp(shape->strides, own->strides, type->rank * sizeof *own->strides) != 0;
    bool alias = sched_type(k->s, own->value) != type || own->declared || strided;
    if (is_whole(type, l) && !alias) return k->arrays[array];
    for (unsigned i = 0; i < l->rank; i++) {
        extents[i] = sched_number(k, extent_of(k, type, l->dims[i]));
        if (!in_order) strides[i] = stride_of(k, shape, l->dims[i]);
    }
    tile_value base = tile_build_base(&k->b, k->arrays[array]);
    return tile_build_view(&k->b, base, extents, l->rank, strides, in_order ? 0 : l->rank, NULL);
}

/* The view of a flat array up to k->end, of one dim; or no value. */
static tile_value end_view(sched_kernel *k, unsigned array, const sched_map *map, listing *l) {
    int last = l->dims[l->rank - 1];
    if (!k->end || last < 0 || map->at[last].dim < 0) return TILE_NO_VALUE;
    tile_value extent = sched_number(k, k->end), base = tile_build_base(&k->b, k->arrays[array]);
    *l = (listing){.dims = {last}, .rank = 1};
    return tile_build_view(&k->b, base, &extent, 1, NULL, 0, NULL);
}

tile_value sched_shaped_view(sched_kernel *k, unsigned array, const sched_shape *shape) {
    listing l = {.rank = shape->type->rank};
    for (unsigned d = 0; d < l.rank; d++) l.dims[d] = (int)d;
    return find_view(k, array, shape, &l);
}

tile_value sched_array_view(sched_kernel *k, unsigned array, tile_value value) {
    const sched_shape shape = sched_shape_of(k->s, array, value);
    return sched_shaped_view(k, array, &shape);
}

/* The dims of the domain along which the tile advances and on which computed coordinates depend. */
static unsigned computed_dims(const sched_kernel *k, unsigned rank, const sched_map *map) {
    unsigned dims = 0;
    for (unsigned d = 0; d < rank; d++)
        for (unsigned i = 0; map->at[d].index && i < k->g->domain.rank; i++)
            if (k->tile_of[i] >= 0 && sched_depends(&map->at[d], i)) dims |= 1u << i;
    return dims;
}

/* exact: an access of a store or load of a tile, which may have runs, and does not touch elements
 * after the end of a computed coordinate. ended: dims of the domain, after whose ends it does not
 * touch elements. */
static bool find_access(sched_kernel *k, unsigned array, tile_value value, const sched_map *wanted,
                        bool stores, bool exact, unsigned ended, sched_access *out) {
    const tile_expr *dims[SCHED_MAX_TILE];
    sched_map map = *wanted;
    const sched_shape shape = sched_split_shape(k, array, value, &map);
    const tile_type *type = shape.type;
    const tile_type *element = sched_element(k->s, value);
    listing l = {.rank = 0};
    unsigned computed = ended | (stores ? computed_dims(k, type->rank, &map) : 0);
    bool scattered = sched_is_scattered(k, type->rank, &map) || computed;
    out->flat = NULL;
    if (!scattered) l = list_dims(k, &shape, &map, out);
    if (scattered || !fit_view(k, type, &l)) {
        sched_find_points(k, array, &shape, &map, element, computed, exact, out);
        return true;
    }
    out->view = end_view(k, array, &map, &l);
    if (!out->view.id) out->view = find_view(k, array, &shape, &l);
    out->rank = l.rank;
    for (unsigned i = 0; i < l.rank; i++)
        out->index[i] =
            l.dims[i] < 0 ? tile_build_int(&k->b, 0) : sched_begin(k, &map.at[l.dims[i]]);
    for (unsigned t = 0; t < k->tile_rank; t++)
        dims[t] = l.dims[l.rank - k->tile_rank + t] < 0 ? tile_expr_int(k->s->context, 1)
                                                        : k->block[out->order[t]];
    out->tile = sched_tile_type(k, element, dims);
    return true;
}

bool sched_find_access(sched_kernel *k, unsigned array, tile_value value, const sched_map *wanted,
                       sched_access *out) {
    return find_access(k, array, value, wanted, false, false, 0, out);
}

bool sched_find_ended_access(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *wanted, unsigned dim, sched_access *out) {
    return find_access(k, array, value, wanted, false, false, 1u << dim, out);
}

/* A row-major stride, for a view that is not the argument itself and has no strides. */
static tile_value row_major_stride(sched_kernel *k, const tile_value *extents, unsigned rank,
                                   unsigned d) {
    const tile_type *wide = tile_type_scalar(k->s->context, TILE_i64);
    tile_value stride = tile_build_constant(&k->b, wide, tile_expr_int(k->s->context, 1));
    for (unsigned i = d + 1; i < rank; i++) {
        tile_value factor = tile_build_cast(&k->b, extents[i], wide);
        stride = i == d + 1 ? factor : tile_build_mul(&k->b, stride, factor);
    }
    return stride;
}

tile_value sched_part_view(sched_kernel *k, unsigned array, tile_value view, unsigned d,
                           tile_value end) {
    tile_value extents[TILE_MAX_RANK], strides[TILE_MAX_RANK];
    const sched_shape shape = sched_shape_of(k->s, array, k->s->arrays[array].value);
    unsigned rank = tile_value_type(k->f, view)->rank;
    tile_op made = tile_value_def(k->f, view);
    for (unsigned i = 0; i < rank; i++)
        extents[i] = made.id ? tile_operands_extents(k->f, made).at[i]
                             : sched_number(k, extent_of(k, shape.type, (int)i));
    unsigned given = made.id ? tile_operands_strides(k->f, made).count : 0;
    /* Row-major strides do not depend on the first extent. */
    bool strided = given || d || (!made.id && shape.strides[0]);
    for (unsigned i = 0; i < rank && strided; i++)
        strides[i] = given     ? tile_operands_strides(k->f, made).at[i]
                     : made.id ? row_major_stride(k, extents, rank, i)
                               : stride_of(k, &shape, (int)i);
    extents[d] = end;
    return tile_build_view(&k->b, tile_build_base(&k->b, k->arrays[array]), extents, rank, strides,
                           strided ? rank : 0, NULL);
}

/* The dim of the access's view along which the tile's elements of this dim of the domain are; -1 if
 * the access has one coordinate along it. */
static int dim_of_view(const sched_kernel *k, const sched_access *access, unsigned dim) {
    for (unsigned t = 0; t < k->tile_rank; t++)
        if (access->order[t] == k->tile_of[dim]) return (int)(access->rank - k->tile_rank + t);
    return -1;
}

void sched_end_access(sched_kernel *k, unsigned array, tile_value value, const sched_map *map,
                      unsigned dim, sched_access *access) {
    schedule *s = k->s;
    const tile_type *type = sched_type(s, value);
    const tile_expr *extent = k->g->domain.extents[dim], *end = NULL;
    int own = dim_of_view(k, access, dim);
    for (unsigned d = 0; d < type->rank; d++) {
        const sched_coordinate *at = &map->at[d];
        if (at->index || at->dim != (int)dim) continue;
        end = at->offset ? tile_expr_op(s->context, TILE_OP_add, at->offset, extent, NULL) : extent;
        if (end == sched_dim(s, type, d)) return;
    }
    if (end && own >= 0)
        access->view = sched_part_view(k, array, access->view, (unsigned)own,
                                       sched_number(k, sched_expr(s, end)));
}

/* Dim d of the result is dim order[d] of the tile. */
static tile_value permute(sched_kernel *k, tile_value tile, const int64_t *order) {
    const tile_attr attr = {.id = TILE_ATTR_order, .list = order, .count = k->tile_rank};
    const tile_segment segments[] = {{tile, NULL, 0}};
    bool swaps = k->tile_rank == 2;
    tile_op op = tile_build_op_of(&k->b, TILE_OP_transpose, segments, 1, NULL, &attr, !swaps);
    if (!swaps) tile_op_set_list(k->f, op, TILE_ATTR_order, order, k->tile_rank);
    return tile_op_result(k->f, op, 0);
}

static void set_pad(sched_kernel *k, tile_value tile, const tile_type *element) {
    bool floating = tile_scalar_is_floating(element->scalar);
    if (k->pad == 0 || !floating || !tile_scalar_has_arithmetic(element->scalar)) return;
    tile_op_set_constant(k->f, tile_value_def(k->f, tile), TILE_ATTR_pad, element,
                         tile_expr_float(k->s->context, k->pad));
}

static bool is_read_by_others(const sched_kernel *k, unsigned array) {
    for (size_t g = 0; g < k->s->group_count; g++)
        for (size_t i = 0; k->s->groups[g] != k->g && i < k->s->groups[g]->input_count; i++)
            if (k->s->groups[g]->inputs[i].array == array) return true;
    return false;
}

/* Returns whether each element is read only once, at one position of the domain, and the dirty
 * lines in the L2 are a part of the traffic. (Sums of arrays of 1 to 2 GB are 4 to 14 % slower with
 * the hint, H200.) */
static bool is_streamed(const sched_kernel *k, unsigned array, unsigned rank,
                        const sched_map *map) {
    enum { MOST = 256 << 20 /* bytes */ };
    unsigned dims = 0;
    if (!k->streams || sched_count_bytes(k->s, array) > MOST) return false;
    for (unsigned d = 0; d < rank; d++)
        if (map->at[d].dim >= 0 && !map->at[d].index) dims |= 1u << map->at[d].dim;
    for (unsigned d = 0; d < k->g->domain.rank; d++)
        if (!(dims >> d & 1) && !tile_expr_is(k->g->domain.extents[d], 1)) return false;
    return !is_read_by_others(k, array);
}

static bool is_one_element(const sched_kernel *k, unsigned rank, const sched_map *map) {
    for (unsigned d = 0; d < rank; d++)
        if (sched_along(k, &map->at[d]) != -1) return false;
    return true;
}

/* The coordinates that an access computes. */
static sched_map simplify(const sched_kernel *k, unsigned rank, const sched_map *map) {
    sched_map out = *map;
    for (unsigned d = 0; d < rank && k->reduce; d++)
        out.at[d] = sched_simplified(k->s, &map->at[d]);
    return out;
}

tile_value sched_load_padded(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *map, const tile_expr *pad) {
    const tile_type *element = sched_element(k->s, value);
    tile_value lane = k->load_lane ? k->load_lane(k, array, value, map, pad) : TILE_NO_VALUE;
    if (lane.id) return lane;
    tile_value tile = sched_load(k, array, value, map);
    tile_op op = tile.id ? tile_value_def(k->f, tile) : TILE_NO_OP;
    while (op.id && tile_op_opcode(k->f, op) != TILE_OP_load)
        op = tile_value_def(k->f, tile_operand_src(k->f, op));
    if (op.id && !tile_expr_is(pad, 0)) tile_op_set_constant(k->f, op, TILE_ATTR_pad, element, pad);
    return tile;
}

tile_value sched_load(sched_kernel *k, unsigned array, tile_value value, const sched_map *wanted) {
    unsigned rank = sched_type(k->s, value)->rank;
    sched_access access;
    int64_t back[SCHED_MAX_TILE];
    const sched_map simple = simplify(k, rank, wanted), *map = &simple;
    bool single = k->single && is_one_element(k, rank, map);
    tile_value lane = k->load_lane ? k->load_lane(k, array, value, map, NULL) : TILE_NO_VALUE;
    if (lane.id) return lane;
    if (!find_access(k, array, value, map, false, !single, 0, &access)) return TILE_NO_VALUE;
    if (single)
        return tile_build_load(&k->b, access.view, access.index, access.rank, TILE_NO_VALUE, NULL);
    tile_value tile =
        tile_build_load(&k->b, access.view, access.index, access.rank, TILE_NO_VALUE, access.tile);
    /* With computed coordinates, a window may read outside of the array, where it must be 0. */
    sched_map merged = *map;
    sched_shape shape = sched_shape_of(k->s, array, value);
    sched_merge_shape(k->s, &shape, &merged);
    if (!sched_is_computed(shape.type->rank, &merged)) set_pad(k, tile, sched_element(k->s, value));
    /* Streaming hint: avoids evicting dirty lines of the previous kernel from L2 to memory. */
    if (is_streamed(k, array, rank, map))
        tile_op_set_text(k->f, tile_value_def(k->f, tile), TILE_ATTR_cache, "evict_first");
    if (access.flat) tile = tile_build_reshape(&k->b, tile, TILE_NO_VALUE, access.flat);
    if (!access.permuted) return tile;
    for (unsigned t = 0; t < k->tile_rank; t++) back[access.order[t]] = t;
    return permute(k, tile, back);
}

static void store_at(sched_kernel *k, const sched_access *access, tile_value tile) {
    if (access->permuted) tile = permute(k, tile, access->order);
    tile = sched_broadcast_to(k, tile, access->flat ? access->flat : access->tile);
    if (access->flat) tile = tile_build_reshape(&k->b, tile, TILE_NO_VALUE, access->tile);
    tile_build_store(&k->b, tile, access->view, access->index, access->rank, TILE_NO_VALUE);
}

void sched_store(sched_kernel *k, unsigned array, const sched_map *map, tile_value tile) {
    sched_access access;
    if (find_access(k, array, k->s->arrays[array].value, map, true, true, 0, &access))
        store_at(k, &access, tile);
}

void sched_store_output(sched_kernel *k, const sched_output *output, const sched_map *map,
                        tile_value tile) {
    const tile_value whole = k->s->arrays[output->array].value;
    sched_map at = *map;
    sched_access access;
    if (!output->part.id) {
        sched_store(k, output->array, map, tile);
        return;
    }
    sched_coordinate *own = &at.at[output->axis];
    if (!tile_expr_is(output->first, 0))
        *own = sched_shifted(k->s, own, TILE_OP_add, output->first);
    if (!find_access(k, output->array, whole, &at, true, true, 0, &access)) return;
    if (own->dim >= 0) {
        int d = dim_of_view(k, &access, (unsigned)own->dim);
        sched_end_access(k, output->array, whole, &at, (unsigned)own->dim, &access);
        /* Stores of boxes require a proof that no coordinate is negative. */
        if (d >= 0 && own->offset)
            access.index[d] = tile_build_max(&k->b, access.index[d], tile_build_int(&k->b, 0));
    }
    store_at(k, &access, tile);
}
