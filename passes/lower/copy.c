/* Copies between views and shared buffers. */
#include <stdio.h>
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/memory.h"
#include "lib/ir/remark.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/common/warpgroup.h"
#include "passes/lower/lower.h"

unsigned lower_common_width(const tile_access_split *a, const tile_access_split *b) {
    unsigned bits = 0;
    while (bits < a->width_bits && bits < b->width_bits && a->bits[bits] == b->bits[bits]) bits++;
    return 1u << bits;
}

/* Remarks why threads execute an asynchronous copy instead of the hardware. */
void lower_explain_threads(lowering *l, tile_op op, const tile_value *view, const tile_type *tile) {
    char why[160];
    tile_scalar scalar = tile_value_type(&l->old, view[0])->scalar;
    if (!tile_remarks_wanted(&l->old) || tile_op_opcode(&l->old, op) != TILE_OP_copy_async) return;
    if (scalar == tile->scalar) {
        unsigned bytes =
            tile_scalar_bytes(scalar) * tile_view_access(&l->old, l->ranges, view).width;
        snprintf(why, sizeof why,
                 "only %u contiguous bytes can be proven, and cp.async moves at least 4", bytes);
        tile_missed_at(&l->old, op, "not asynchronous",
                       "declare the pointer, extents and strides of the view {divisible = N}, "
                       "or copy along the dim of stride 1",
                       "%s", why);
    } else {
        snprintf(why, sizeof why, "cp.async cannot convert %s", tile_scalar_name(scalar));
        tile_missed_at(&l->old, op, "not asynchronous",
                       "make the buffer's element type that of the view", "%s", why);
    }
}

/* cp.async fills elements that it does not read with zeros. Another pad is stored by the thread;
 * like the copy, it is complete before the barrier after the wait. */
static void copy_or_pad(lowering *l, tile_op op, tile_value base, tile_value source,
                        const lower_shared_access *to, tile_value target, tile_value predicate,
                        unsigned bytes, const tile_type *part) {
    tile_builder outer = l->builder;
    bool pads = predicate.id && tile_op_pads(&l->old, op);
    tile_op branch = {0};
    if (pads) {
        branch = tile_build_if_else(&outer, predicate, NULL, 0);
        l->builder.region = tile_op_region(l->f, branch, 0);
    }
    tile_build_cp_async(&l->builder, base, &source, 1, to->map.buffer, &target, 1,
                        pads ? TILE_NO_VALUE : predicate);
    tile_op_set_int(l->f, tile_region_at(l->f, l->builder.region)->last, TILE_ATTR_bytes, bytes);
    lower_copy_cache_hints(l, op);
    if (!pads) return;
    tile_build_yield(&l->builder, NULL, 0);
    l->builder.region = tile_op_region(l->f, branch, 1);
    tile_build_st_shared(&l->builder, lower_pad_of(l, op, part), to->map.buffer, &target, 1,
                         TILE_NO_VALUE);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
}

/* One thread's part of a copy from a view to a buffer. It is asynchronous if the hardware supports
 * it and no conversion is needed. */
static void copy_in(lowering *l, tile_op op, const tile_value *view, const tile_value *buffer,
                    unsigned buffer_count, const tile_layout *layout, const tile_type *tile) {
    bool async = tile_op_opcode(&l->old, op) == TILE_OP_copy_async;
    lower_view_access from =
        lower_start_view(l, view, layout, tile->rank, lower_widest(tile->scalar));
    lower_mask_view(l, op, &from);
    lower_shared_map map = lower_map_shared(l, buffer, buffer_count, layout);
    lower_shared_access to = lower_start_shared(l, &map, layout, 1u << from.cut.width_bits);
    to.cut = tile_split_fragment_accesses(layout, to.map.reg, to.thread_bits,
                                          lower_common_width(&from.cut, &to.cut));
    from.cut = to.cut;
    tile_scalar scalar = tile_value_type(&l->old, view[0])->scalar;
    unsigned width = 1u << to.cut.width_bits, bytes = tile_scalar_bytes(scalar) * width;
    bool suits = bytes >= 4 && scalar == tile->scalar;
    if (!suits) lower_explain_threads(l, op, view, tile);
    for (unsigned i = 0; i < to.cut.count; i++) {
        tile_value predicate, source = lower_view_access_offset(l, &from, i, &predicate);
        tile_value target =
            lower_shared_access_offset(l, &to, tile_access_split_register(&to.cut, i, 0));
        const tile_type *type = lower_part_type(l, scalar, width);
        if (async && suits) {
            copy_or_pad(l, op, from.view->base, source, &to, target, predicate, bytes, type);
        } else {
            tile_value part =
                tile_build_ld_global(&l->builder, from.view->base, &source, 1, predicate, type);
            lower_copy_cache_hints(l, op);
            part = lower_pad(l, op, part, predicate);
            if (scalar != tile->scalar)
                part = tile_build_cast(&l->builder, part, lower_part_type(l, tile->scalar, width));
            tile_build_st_shared(&l->builder, part, to.map.buffer, &target, 1, TILE_NO_VALUE);
        }
    }
}

/* Returns whether the index tiles and the predicate have the layout of the copying threads. */
static bool holds_points(const tile_function *f, const tile_gather *g, const tile_layout *layout) {
    bool held = true;
    tile_layout points;
    if (g->tiles) points = tile_points_layout(g->shape, layout, false);
    for (unsigned d = 0; g->tiles && d < g->rank; d++) {
        const tile_type *type = tile_value_type(f, g->index[d]);
        held &= type->kind != TILE_TYPE_TILE || tile_layout_equal(&points, type->layout);
    }
    const tile_type *predicate = g->predicate.id ? tile_value_type(f, g->predicate) : NULL;
    if (predicate && predicate->kind == TILE_TYPE_TILE)
        held &= tile_layout_equal(predicate->layout, layout);
    return held;
}

/* Tries all widths, because range analysis may have improved since the index tiles got their
 * layouts. */
bool lower_gathered_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                         tile_layout *layout) {
    enum { WIDEST = 16 };
    unsigned warps = tile_executors_of(f, op).warps;
    tile_gather g;
    if (!tile_gather_of(f, op, &g)) return false;
    const tile_values view = tile_op_segment(f, op, g.operand);
    for (unsigned most = WIDEST; most; most /= 2) {
        *layout = tile_narrow_copy_layout(f, ranges, view.at, g.type, warps, most);
        if (holds_points(f, &g, layout)) return true;
    }
    return false;
}

/* Threads that only hold duplicates skip the copy. */
static tile_op open_guard(lowering *l, const tile_layout *layout, tile_builder *outer) {
    tile_value first = lower_is_first_holder(l, layout);
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

static void complete_copies(lowering *l) {
    tile_build_commit_group(&l->builder);
    tile_build_wait_group(&l->builder, lower_int(l, 0));
}

/* The barrier waits for the asynchronous copies of each thread; ordinary stores precede the
 * arrival. Operands of wgmma are completed and fenced before the arrival, because no thread could
 * do that later. */
static void arrive_on_completion(lowering *l, tile_op op) {
    tile_value buffer = tile_operand_dst(&l->old, op);
    if (warpgroup_buffers(&l->old, l->pass->scratch)[tile_shared_source(&l->old, buffer).id]) {
        tile_build_commit_group(&l->builder);
        tile_build_wait_group(&l->builder, lower_int(l, 0));
        tile_build_fence_async(&l->builder);
        return;
    }
    const tile_values bar = tile_operands_bar(&l->old, op);
    tile_value index = lower_mapped(l, bar.at[1]);
    tile_build_mbarrier_cp_async(&l->builder, lower_mapped(l, bar.at[0]), &index, 1);
}

void lower_copy(lowering *l, tile_op op) {
    tile_mechanism mechanism = tile_op_mechanism(&l->old, op);
    bool counted = mechanism == TILE_MECHANISM_BARRIER;
    if (lower_copy_misaligned(l, op)) {
        if (counted) arrive_on_completion(l, op);
        if (tile_op_opcode(&l->old, op) == TILE_OP_copy) complete_copies(l);
        return;
    }
    if ((counted || mechanism == TILE_MECHANISM_BULK_GROUP) && lower_tma(l, op)) return;
    if (lower_copies_unaligned(l, op, counted)) {
        if (counted) arrive_on_completion(l, op);
        return;
    }
    const tile_values from = tile_operands_src(&l->old, op);
    const tile_values to = tile_operands_dst(&l->old, op);
    bool in = tile_value_type(&l->old, from.at[0])->kind == TILE_TYPE_VIEW;
    const tile_type *buffer = tile_value_type(&l->old, in ? to.at[0] : from.at[0]);
    unsigned warps = 1u << l->warp_bits;
    tile_layout layout = in ? tile_copy_layout(&l->old, l->ranges, from.at, buffer, warps)
                            : tile_access_layout(&l->old, l->ranges, to.at, buffer, warps);
    if (!tile_is_plain_access(&l->old, op)) lower_gathered_copy(&l->old, l->ranges, op, &layout);
    tile_builder outer;
    tile_op guard = open_guard(l, &layout, &outer);
    if (in) {
        copy_in(l, op, from.at, to.at, to.count, &layout, buffer);
    } else {
        tile_type draft = {.kind = TILE_TYPE_TILE,
                           .scalar = buffer->scalar,
                           .rank = buffer->rank,
                           .layout = &layout};
        memcpy(draft.dims, buffer->dims, sizeof draft.dims);
        const tile_type *tile = tile_type_get(tile_function_context(l->f), &draft);
        lower_store_view(l, op, lower_load_shared(l, from.at, from.count, tile, !guard.id), tile,
                         to.at);
    }
    close_guard(l, guard, outer);
    if (counted) arrive_on_completion(l, op);
}
