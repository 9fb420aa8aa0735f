/* Accesses of views with index tiles, a predicate or a pad, and accesses of single elements, which
 * all threads load and one thread stores. */
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

/* Points -------------------------------------------------------------------------------------- */

static tile_value inside(lowering *l, tile_value index, tile_value limit) {
    bool is_long = tile_value_type(l->f, index)->scalar == TILE_i64;
    return tile_build_ult(&l->builder, index, is_long ? lower_to_long(l, limit) : limit);
}

tile_value lower_in_bounds(lowering *l, tile_value old, tile_value index, tile_value limit) {
    const tile_range at = l->ranges[old.id];
    int64_t known;
    bool provably = tile_value_is_int(l->f, limit, &known) && at.min >= 0 && at.max < known;
    return provably ? TILE_NO_VALUE : inside(l, index, limit);
}

lower_point lower_point_of_register(lowering *l, lower_view_access *a, unsigned register_) {
    unsigned own = tile_layout_narrow_register(a->layout, &a->point_layout, register_);
    lower_point *point = &a->point[own];
    if (point->known) return *point;
    *point = (lower_point){.known = true, .offset = lower_long(l, 0)};
    for (unsigned d = 0; d < a->view_rank; d++) {
        const tile_type *type = tile_value_type(&l->old, a->index[d]);
        if (type->kind != TILE_TYPE_TILE) continue;
        tile_value index =
            tile_build_extract(&l->builder, lower_mapped(l, a->index[d]), lower_int(l, own),
                               lower_part_type(l, type->scalar, 1));
        tile_value step = lower_mul(l, lower_to_long(l, index), a->view->strides[d]);
        point->offset = lower_add(l, point->offset, step);
        point->predicate = lower_and(l, point->predicate,
                                     lower_in_bounds(l, a->index[d], index, a->view->limits[d]));
    }
    return *point;
}

lower_buffer_points lower_start_points(lowering *l, tile_op op, const tile_layout *layout) {
    tile_gather gather;
    tile_gather_of(&l->old, op, &gather);
    lower_buffer_points p = {.type = tile_value_type(&l->old, gather.memory),
                             .layout = layout,
                             .points = gather.shape_rank,
                             .covered = gather.covered,
                             .index = gather.index};
    p.buffer = lower_mapped(l, gather.memory);
    p.point_layout = tile_points_layout(gather.shape, layout, true);
    p.stage = lower_int(l, 0);
    if (p.type->stages)
        p.stage = lower_mul(l, lower_mapped(l, gather.index[-1]),
                            lower_int(l, tile_type_elements(p.type)));
    for (unsigned t = p.points; t < layout->rank; t++)
        p.thread[t] = lower_thread_coordinate(l, layout, t);
    return p;
}

/* Coordinate t of a register's element. */
static tile_value lower_own_coordinate(lowering *l, const lower_buffer_points *p, unsigned t,
                                       unsigned register_) {
    int64_t added = lower_register_coordinate(p->layout, register_, t);
    if (lower_bits_overlap(p->layout, t) && added)
        return tile_build_xor(&l->builder, p->thread[t], lower_int(l, added));
    return lower_add(l, p->thread[t], lower_int(l, added));
}

/* The coordinate along dim d of the buffer. */
static tile_value coordinate_of(lowering *l, const lower_buffer_points *p, unsigned d,
                                unsigned register_) {
    const tile_type *type = tile_value_type(&l->old, p->index[d]);
    tile_value index = lower_mapped(l, p->index[d]);
    unsigned first = p->type->rank - p->covered;
    if (type->kind == TILE_TYPE_TILE) {
        unsigned own = tile_layout_narrow_register(p->layout, &p->point_layout, register_);
        return tile_build_extract(&l->builder, index, lower_int(l, own),
                                  lower_part_type(l, type->scalar, 1));
    }
    if (d < first) return index;
    return lower_add(l, index, lower_own_coordinate(l, p, d - first + p->points, register_));
}

/* Returns whether all of the tile's coordinates along dim d are provably in bounds of the
 * buffer. */
static bool is_surely_inside(const lowering *l, const lower_buffer_points *p, unsigned d) {
    tile_range at = l->ranges[p->index[d].id];
    unsigned first = p->type->rank - p->covered;
    int64_t more = d < first ? 0 : tile_layout_extent(p->layout, d - first + p->points) - 1;
    return at.min >= 0 && at.max < tile_type_dim(p->type, d) - more;
}

tile_value lower_point_offset(lowering *l, const lower_buffer_points *p, unsigned register_,
                              tile_value *predicate) {
    tile_value at[TILE_MAX_RANK];
    const tile_type *i32 = tile_type_scalar(tile_function_context(l->f), TILE_i32);
    *predicate = TILE_NO_VALUE;
    for (unsigned d = 0; d < p->type->rank; d++) {
        at[d] = coordinate_of(l, p, d, register_);
        if (!is_surely_inside(l, p, d))
            *predicate =
                lower_and(l, *predicate, inside(l, at[d], lower_int(l, tile_type_dim(p->type, d))));
        if (tile_value_type(l->f, at[d])->scalar == TILE_i64)
            at[d] = tile_build_cast(&l->builder, at[d], i32);
    }
    return lower_add(l, p->stage, lower_laid_out_offset(l, p->type->layout, at, NULL, NULL));
}

/* Predicates ---------------------------------------------------------------------------------- */

/* An access of several elements has one predicate, so the predicate must be constant along the dim
 * in which they are contiguous. */
static bool keeps_width(const lowering *l, const lower_view_access *a, tile_value predicate) {
    bool kept = true;
    for (unsigned d = 0; d < a->layout->rank; d++)
        for (unsigned i = 0; i < a->cut.width_bits; i++)
            if (tile_layout_coordinate(a->layout, a->layout->reg[a->cut.bits[i]], d))
                kept = kept && tile_is_repeated(&l->old, predicate, d);
    return kept;
}

void lower_mask_view(lowering *l, tile_op op, lower_view_access *a) {
    tile_gather gather;
    if (!tile_gather_of(&l->old, op, &gather) || !gather.predicate.id) return;
    tile_value predicate = lower_mapped(l, gather.predicate);
    if (tile_value_type(&l->old, gather.predicate)->kind != TILE_TYPE_TILE) {
        a->predicate = lower_and(l, a->predicate, predicate);
        return;
    }
    a->mask = predicate;
    if (!keeps_width(l, a, gather.predicate)) a->cut = tile_split_accesses_along(a->layout, 0, 1);
}

/* Pads ---------------------------------------------------------------------------------------- */

tile_value lower_pad_of(lowering *l, tile_op op, const tile_type *type) {
    char bytes[8];
    tile_context *context = tile_function_context(l->f);
    tile_pad_write(&l->old, op, type->scalar, bytes);
    double number = tile_scalar_read(type->scalar, bytes);
    const tile_expr *expr = tile_scalar_is_floating(type->scalar)
                                ? tile_expr_float(context, number)
                                : tile_expr_int(context, tile_integer_read(type->scalar, bytes));
    tile_value pad = tile_function_constant(l->f, lower_part_type(l, type->scalar, 1), expr);
    return type->kind == TILE_TYPE_SCALAR ? pad : tile_build_splat(&l->builder, pad, type);
}

tile_value lower_pad(lowering *l, tile_op op, tile_value loaded, tile_value predicate) {
    if (!predicate.id || !tile_op_pads(&l->old, op)) return loaded;
    tile_value pad = lower_pad_of(l, op, tile_value_type(l->f, loaded));
    return tile_build_select(&l->builder, predicate, loaded, pad);
}

/* Scalars ------------------------------------------------------------------------------------- */

/* i1: the element is in bounds of the view and the predicate holds; no value if both are
 * provable. */
static tile_value scalar_predicate(lowering *l, const tile_gather *gather) {
    const lower_view *view = l->views[gather->memory.id];
    tile_value predicate = TILE_NO_VALUE;
    for (unsigned d = 0; d < gather->rank; d++)
        predicate =
            lower_and(l, predicate, inside(l, lower_mapped(l, gather->index[d]), view->limits[d]));
    if (!gather->predicate.id) return predicate;
    return lower_and(l, predicate, lower_mapped(l, gather->predicate));
}

tile_value lower_load_scalar(lowering *l, tile_op op) {
    tile_gather gather;
    tile_gather_of(&l->old, op, &gather);
    tile_value predicate = scalar_predicate(l, &gather);
    tile_value offset = lower_view_offset(l, gather.index - 1, gather.rank + 1);
    tile_value loaded = tile_build_ld_global(&l->builder, l->views[gather.memory.id]->base, &offset,
                                             1, predicate, gather.type);
    lower_copy_cache_hints(l, op);
    return tile_build_uniform(&l->builder, lower_pad(l, op, loaded, predicate));
}

void lower_store_scalar(lowering *l, tile_op op) {
    tile_gather gather;
    tile_gather_of(&l->old, op, &gather);
    tile_value predicate = scalar_predicate(l, &gather);
    tile_value offset = lower_view_offset(l, gather.index - 1, gather.rank + 1);
    tile_value first = tile_build_eq(&l->builder, l->thread, lower_int(l, 0));
    tile_value value = lower_mapped(l, tile_operand_src(&l->old, op));
    tile_build_st_global(&l->builder, value, l->views[gather.memory.id]->base, &offset, 1,
                         lower_and(l, predicate, first));
    lower_copy_cache_hints(l, op);
}

/* Elements of shared buffers ------------------------------------------------------------------ */

static bool is_in_buffer(const lowering *l, tile_op op, tile_gather *gather) {
    return tile_gather_of(&l->old, op, gather) &&
           tile_value_type(&l->old, gather->memory)->kind == TILE_TYPE_SHARED;
}

/* The predicate of a register's access: that of its element, or the scalar one. */
static tile_value mask_at(lowering *l, const tile_gather *gather, unsigned register_) {
    if (!gather->predicate.id) return TILE_NO_VALUE;
    tile_value mask = lower_mapped(l, gather->predicate);
    if (tile_value_type(l->f, mask)->kind == TILE_TYPE_SCALAR) return mask;
    return tile_build_extract(&l->builder, mask, lower_int(l, register_),
                              lower_part_type(l, TILE_i1, 1));
}

/* The coordinates of one element are in bounds and the predicate holds. */
static tile_value one_predicate(lowering *l, const tile_gather *gather) {
    tile_value mask = mask_at(l, gather, 0);
    const tile_type *buffer = tile_value_type(&l->old, gather->memory);
    tile_value in = lower_in_bounds_of_buffer(l, buffer, gather->index, 1);
    lower_assume_in_bounds(l, gather->memory, in, mask);
    return lower_and(l, mask, in);
}

/* The guard of a register's access: in bounds, and the predicate holds. */
static tile_value point_predicate(lowering *l, tile_op op, const tile_gather *gather,
                                  tile_value inside, tile_value mask) {
    if (tile_op_has_attr(&l->old, op, TILE_ATTR_in_bounds))
        lower_assume_in_bounds(l, gather->memory, inside, mask);
    return lower_and(l, inside, mask);
}

bool lower_gathered_load(lowering *l, tile_op op, tile_value *result) {
    tile_gather gather;
    if (!is_in_buffer(l, op, &gather)) return false;
    if (gather.type->kind == TILE_TYPE_SCALAR) {
        tile_value predicate = one_predicate(l, &gather);
        tile_value offset = lower_buffer_offset(l, tile_operands_src(&l->old, op).at);
        tile_value loaded = tile_build_ld_shared(&l->builder, lower_mapped(l, gather.memory),
                                                 &offset, 1, predicate, gather.type);
        *result = tile_build_uniform(&l->builder, loaded);
        return true;
    }
    lower_buffer_points p = lower_start_points(l, op, gather.type->layout);
    tile_access_split cut = tile_split_accesses_along(gather.type->layout, 0, 1);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, cut.count);
    for (unsigned i = 0; i < cut.count; i++) {
        tile_value predicate;
        unsigned register_ = tile_access_split_register(&cut, i, 0);
        tile_value offset = lower_point_offset(l, &p, register_, &predicate);
        predicate = point_predicate(l, op, &gather, predicate, mask_at(l, &gather, register_));
        parts[i] = tile_build_ld_shared(&l->builder, p.buffer, &offset, 1, predicate,
                                        lower_part_type(l, gather.type->scalar, 1));
    }
    *result = lower_combine_accesses(l, parts, &cut);
    return true;
}

static void scatter_tile(lowering *l, tile_op op, const tile_gather *gather) {
    const tile_layout *layout = gather->type->layout;
    lower_buffer_points p = lower_start_points(l, op, layout);
    tile_access_split cut = tile_split_accesses_along(layout, 0, 1);
    tile_value src = lower_mapped(l, tile_operand_src(&l->old, op));
    tile_value holder = lower_is_first_holder(l, layout);
    for (unsigned i = 0; i < cut.count; i++) {
        tile_value predicate;
        unsigned register_ = tile_access_split_register(&cut, i, 0);
        tile_value offset = lower_point_offset(l, &p, register_, &predicate);
        predicate = point_predicate(l, op, gather, predicate, mask_at(l, gather, register_));
        predicate = lower_and(l, predicate, holder);
        tile_build_st_shared(&l->builder, lower_extract_access(l, src, &cut, i), p.buffer, &offset,
                             1, predicate);
        lower_copy_conflict_attrs(l, op);
    }
}

/* Stored by the first thread. */
static void scatter_scalar(lowering *l, tile_op op, const tile_gather *gather) {
    tile_value predicate = tile_build_eq(&l->builder, l->thread, lower_int(l, 0));
    predicate = lower_and(l, predicate, one_predicate(l, gather));
    tile_value offset = lower_buffer_offset(l, tile_operands_dst(&l->old, op).at);
    tile_build_st_shared(&l->builder, lower_mapped(l, tile_operand_src(&l->old, op)),
                         lower_mapped(l, gather->memory), &offset, 1, predicate);
}

bool lower_scattered_store(lowering *l, tile_op op) {
    tile_gather gather;
    if (!is_in_buffer(l, op, &gather)) return false;
    if (gather.type->kind == TILE_TYPE_SCALAR)
        scatter_scalar(l, op, &gather);
    else
        scatter_tile(l, op, &gather);
    return true;
}

/* Inside -------------------------------------------------------------------------------------- */

static tile_value truth(lowering *l, tile_value predicate) {
    tile_context *context = tile_function_context(l->f);
    return predicate.id ? predicate
                        : tile_function_constant(l->f, tile_type_scalar(context, TILE_i1),
                                                 tile_expr_int(context, 1));
}

tile_value lower_inside(lowering *l, tile_op op) {
    tile_gather gather;
    const tile_type *type = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    tile_gather_of(&l->old, op, &gather);
    if (type->kind == TILE_TYPE_SCALAR) return truth(l, scalar_predicate(l, &gather));
    lower_view_access a = lower_start_view(l, gather.index - 1, type->layout, type->rank, 1);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, a.cut.count);
    for (unsigned i = 0; i < a.cut.count; i++) {
        tile_value predicate;
        lower_view_access_offset(l, &a, i, &predicate);
        parts[i] = truth(l, predicate);
    }
    return lower_combine_accesses(l, parts, &a.cut);
}

/* Along an axis of a tile --------------------------------------------------------------------- */

/* Uses shuffles if there is no buffer. Otherwise all threads write their elements to the buffer,
 * and each reads the elements at its own coordinates, except along the axis, where the index
 * replaces them. */
tile_value lower_gather(lowering *l, tile_op op) {
    const tile_values src = tile_operands_src(&l->old, op), at = tile_operands_at(&l->old, op),
                      buffer = tile_operands_buffer(&l->old, op);
    unsigned axis = (unsigned)tile_op_attr_int(&l->old, op, TILE_ATTR_axis, 0);
    if (!buffer.count) return lower_lookup(l, op, axis);
    const tile_type *from = tile_value_type(&l->old, src.at[0]);
    const tile_type *to = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    const tile_type *place = tile_value_type(&l->old, buffer.at[0]);
    const tile_type *index = tile_value_type(&l->old, at.at[0]);
    const tile_type *i32 = tile_type_scalar(tile_function_context(l->f), TILE_i32);
    if (tile_sync_is_explicit(&l->old, op)) lower_end_with_sync(l);
    lower_store_shared(l, lower_mapped(l, src.at[0]), from, buffer.at, 1);
    tile_build_sync_for(&l->builder, l->executors);
    lower_buffer_points p = {.type = place, .layout = to->layout, .covered = to->rank};
    tile_access_split cut = tile_split_accesses_along(to->layout, 0, 1);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, cut.count);
    tile_value zero = lower_int(l, 0), coordinates[TILE_MAX_RANK];
    for (unsigned t = 0; t < to->rank; t++) p.thread[t] = lower_thread_coordinate(l, to->layout, t);
    for (unsigned i = 0; i < cut.count; i++) {
        unsigned register_ = tile_access_split_register(&cut, i, 0);
        for (unsigned t = 0; t < to->rank; t++)
            coordinates[t] = t == axis ? zero : lower_own_coordinate(l, &p, t, register_);
        coordinates[axis] =
            tile_build_extract(&l->builder, lower_mapped(l, at.at[0]), lower_int(l, register_),
                               lower_part_type(l, index->scalar, 1));
        if (index->scalar == TILE_i64)
            coordinates[axis] = tile_build_cast(&l->builder, coordinates[axis], i32);
        tile_value offset = lower_laid_out_offset(l, place->layout, coordinates, NULL, NULL);
        parts[i] = tile_build_ld_shared(&l->builder, lower_mapped(l, buffer.at[0]), &offset, 1,
                                        TILE_NO_VALUE, lower_part_type(l, to->scalar, 1));
    }
    return lower_combine_accesses(l, parts, &cut);
}
