/* lower-tiles: turns tiles into per-thread fragments, and tile operations into per-thread code.
 *
 * A tile with a layout becomes one vector per thread, which holds the thread's elements in register
 * order. Loads, stores and copies become accesses as wide as the proven alignment, with predicates
 * where they may be out of bounds of a view. `dot` becomes ldmatrix and mma.sync.
 *
 * level: 2 to 3
 * requires: instantiated, laid_out, allocated, synchronised
 * keeps: instantiated, allocated, synchronised
 * breaks: nothing
 *
 * pipeline: lower-tiles,canonicalize,cse,dce
 * before:
 *   #blocked = layout {reg = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = []}
 *   kernel @fill(%c: ptr<f32> {divisible = 16}) grid [1] warps 1 {
 *     %gc = view %c, [128] : view<f32[128]>
 *     %t = splat 1.0 : tile<f32[128], #blocked>
 *     store %t, %gc[0]
 *   }
 * after:
 *   kernel @fill(%c: ptr<f32> {divisible = 16}) grid [1] warps 1 level 3 {
 *     %thread = thread_id : i32
 *     %t = splat 1.0 : vector<f32[4]>
 *     %0 = shl %thread, 2 : i32
 *     %1 = cast %0 : i64
 *     st_global %t, %c[%1]
 *   }
 *
 * source: PTX ISA, "Matrix Fragments", "ldmatrix", "cp.async". */
#include <string.h>

#include "lib/ir/level.h"
#include "lib/ops/atomic.h"
#include "lib/ops/combine.h"
#include "lib/ops/gather.h"
#include "lib/ops/rearrange.h"
#include "passes/lower/lower.h"

static void lower_region(lowering *l, tile_region from);

static const tile_type *lowered_type(const lowering *l, const tile_type *type) {
    if (type->kind != TILE_TYPE_TILE) return type;
    return tile_type_vector(tile_function_context(l->f), type->scalar, tile_type_registers(type));
}

static void set_result_of(lowering *l, tile_op op, unsigned i, tile_value value) {
    tile_value old = tile_op_result(&l->old, op, i);
    l->map[old.id] = value;
    if (value.id && !tile_value_at(l->f, value)->name)
        tile_value_at(l->f, value)->name = tile_value_at(&l->old, old)->name;
}

static void set_result(lowering *l, tile_op op, tile_value value) {
    set_result_of(l, op, 0, value);
}

/* 1. Views are split into their components. --------------------------------------------------- */

static void contiguous_strides(lowering *l, lower_view *view, unsigned rank) {
    tile_value stride = lower_long(l, 1);
    for (unsigned d = rank; d-- > 0;) {
        view->strides[d] = stride;
        if (d) stride = lower_mul(l, stride, lower_to_long(l, view->extents[d]));
    }
}

static tile_value limit_of(lowering *l, tile_value extent) {
    int64_t known;
    if (tile_value_is_int(l->f, extent, &known) && known >= 0) return extent;
    return tile_build_max(&l->builder, extent, lower_int(l, 0));
}

static void lower_view_op(lowering *l, tile_op op) {
    bool is_scratch = tile_op_opcode(&l->old, op) == TILE_OP_scratch;
    const tile_values extent = tile_operands_extents(&l->old, op);
    const tile_values stride =
        is_scratch ? (tile_values){NULL, 0} : tile_operands_strides(&l->old, op);
    lower_view *view = TILE_NEW(l->pass->scratch, lower_view);
    view->layout = tile_value_type(&l->old, tile_op_result(&l->old, op, 0))->layout;
    tile_value *mapped_extents = TILE_NEW_ARRAY(l->pass->scratch, tile_value, extent.count + 1u);
    for (unsigned d = 0; d < extent.count; d++)
        mapped_extents[d] = view->extents[d] = lower_mapped(l, extent.at[d]);
    for (unsigned d = 0; d < extent.count; d++) view->limits[d] = limit_of(l, view->extents[d]);
    contiguous_strides(l, view, extent.count);
    for (unsigned d = 0; d < stride.count; d++)
        view->strides[d] = lower_to_long(l, lower_mapped(l, stride.at[d]));
    tile_value result = tile_op_result(&l->old, op, 0);
    if (is_scratch) {
        const tile_type *type =
            tile_type_ptr(tile_function_context(l->f), tile_value_type(&l->old, result)->scalar);
        view->base = tile_build_scratch(&l->builder, mapped_extents, extent.count, type);
        l->map[result.id] = view->base; /* the representation of scratch at level 3 */
        if (tile_op_has_attr(&l->old, op, TILE_ATTR_clean))
            tile_op_set_flag(l->f, tile_value_def(l->f, view->base), TILE_ATTR_clean);
    } else {
        view->base = lower_mapped(l, tile_operand_base(&l->old, op));
    }
    l->views[result.id] = view;
}

/* Builds a host expression as i64 values. */
static tile_value lower_expr(lowering *l, const tile_expr *expr) {
    const tile_type *i64 = tile_type_scalar(tile_function_context(l->f), TILE_i64);
    int64_t known;
    if (tile_expr_is_int(expr, &known)) return lower_long(l, known);
    if (expr->kind == TILE_EXPR_ARG)
        return lower_to_long(l, tile_function_arg(l->f, (unsigned)expr->integer));
    tile_segment operands[3];
    unsigned count = 0;
    for (; count < 3 && expr->args[count]; count++)
        operands[count] = (tile_segment){.head = lower_expr(l, expr->args[count])};
    if (expr->opcode == TILE_OP_select)
        operands[0].head = tile_build_ne(&l->builder, operands[0].head, lower_long(l, 0));
    tile_value value = tile_build_op_value(&l->builder, expr->opcode, operands, count, NULL);
    bool truth = tile_op_has_trait(expr->opcode, TILE_TRAIT_COMPARE);
    return truth ? tile_build_cast(&l->builder, value, i64) : value;
}

/* The launch has checked that the extent fits an i32. */
static tile_value lower_extent(lowering *l, const tile_expr *expr) {
    tile_context *context = tile_function_context(l->f);
    const tile_type *i32 = tile_type_scalar(context, TILE_i32);
    int64_t known;
    if (tile_expr_is_int(expr, &known)) return lower_int(l, known);
    if (expr->kind == TILE_EXPR_ARG) {
        tile_value arg = tile_function_arg(l->f, (unsigned)expr->integer);
        if (tile_value_type(l->f, arg) == i32) return arg;
    }
    return tile_build_cast(&l->builder, lower_expr(l, expr), i32);
}

static void lower_view_arg(lowering *l, unsigned index) {
    const tile_arg_decl *arg = &l->f->args[index];
    lower_view *view = TILE_NEW(l->pass->scratch, lower_view);
    view->base = tile_build_base(&l->builder, arg->value);
    tile_value_set_name(l->f, view->base,
                        tile_arena_format(l->pass->scratch, "%s_base", arg->name));
    for (unsigned d = 0; d < arg->type->rank; d++)
        view->limits[d] = view->extents[d] = lower_extent(l, arg->extents[d]);
    contiguous_strides(l, view, arg->type->rank);
    for (unsigned d = 0; d < arg->type->rank && arg->type->has_strides; d++)
        view->strides[d] = lower_expr(l, arg->strides[d]);
    l->views[tile_function_arg(&l->old, index).id] = view;
}

/* 2. Regions keep their structure. ------------------------------------------------------------- */

void lower_copy_attrs(lowering *l, tile_op from, tile_op to) {
    const tile_op_data *data = tile_op_at(&l->old, from);
    tile_op_at(l->f, to)->attrs = data->attrs;
    tile_op_at(l->f, to)->attr_count = data->attr_count;
}

/* Sets the executors to the warps that execute the insertion point. */
static void enter_set(lowering *l) {
    l->executors = tile_executors_in(l->f, l->builder.region);
    l->warp_bits = tile_warp_bits(l->executors);
    l->thread = tile_build_thread_id(&l->builder);
    tile_value_set_name(l->f, l->thread, "thread");
}

static void enter_region(lowering *l, tile_region from, tile_region to) {
    lowering around = *l;
    tile_builder outer = l->builder;
    l->builder.region = to;
    if (tile_executors_in(l->f, to).role.id != l->executors.role.id) enter_set(l);
    for (unsigned i = 0; i < tile_region_at(&l->old, from)->arg_count; i++) {
        tile_value old = tile_region_arg(&l->old, from, i), new = tile_region_arg(l->f, to, i);
        l->map[old.id] = new;
        tile_value_at(l->f, new)->name = tile_value_at(&l->old, old)->name;
    }
    lower_region(l, from);
    outer.loc = l->builder.loc;
    l->builder = outer;
    l->executors = around.executors;
    l->warp_bits = around.warp_bits;
    l->thread = around.thread;
}

static void map_results(lowering *l, tile_op from, tile_op to) {
    for (unsigned i = 0; i < tile_op_result_count(&l->old, from); i++) {
        tile_value old = tile_op_result(&l->old, from, i), new = tile_op_result(l->f, to, i);
        l->map[old.id] = new;
        tile_value_at(l->f, new)->name = tile_value_at(&l->old, old)->name;
    }
}

/* 3. One thread accesses a semaphore for its set. --------------------------------------------- */

/* Returns the last non-arithmetic operation before the insertion point. All threads that enter a
 * branch have executed the code before the `if`. */
static tile_op find_last_effect(const lowering *l) {
    tile_region region = l->builder.region;
    tile_op last = tile_region_at(l->f, region)->last;
    for (;;) {
        while (last.id && !tile_op_effects(l->f, last)) last = tile_op_at(l->f, last)->prev;
        tile_op parent = tile_region_at(l->f, region)->parent;
        if (last.id || !parent.id || tile_op_opcode(l->f, parent) != TILE_OP_if) return last;
        region = tile_op_at(l->f, parent)->parent;
        last = tile_op_at(l->f, parent)->prev;
    }
}

/* Appends a barrier, unless the code built so far ends with one, followed only by arithmetic. */
void lower_end_with_sync(lowering *l) {
    tile_op last = find_last_effect(l);
    if (!last.id || tile_op_opcode(l->f, last) != TILE_OP_sync)
        tile_build_sync_for(&l->builder, l->executors);
}

/* The barrier after the wait makes the released data visible to all threads; the barrier before the
 * release completes all threads' stores. bar.sync orders them, and the fence of the release is
 * cumulative (PTX ISA, "Memory Consistency Model", causality order). */
static void lower_semaphore(lowering *l, tile_op op) {
    bool waits = tile_op_opcode(&l->old, op) == TILE_OP_wait_value;
    const tile_values element =
        waits ? tile_operands_src(&l->old, op) : tile_operands_semaphore(&l->old, op);
    tile_value value = lower_mapped(l, tile_operand_value(&l->old, op));
    tile_value base = l->views[element.at[0].id]->base;
    tile_value offset = lower_view_offset(l, element.at, element.count);
    bool lock = tile_op_acquires(&l->old, op);
    if (!lock) lower_end_with_sync(l);
    tile_value first = tile_build_eq(&l->builder, l->thread, lower_int(l, 0));
    tile_op branch = tile_build_if_else(&l->builder, first, NULL, 0);
    tile_builder inner = tile_builder_in(&l->builder, branch, 0);
    if (lock) {
        tile_build_wait_acquire(&inner, base, &offset, 1, value);
        lower_copy_attrs(l, op, tile_region_at(l->f, inner.region)->last);
    } else
        tile_build_st_release(&inner, base, &offset, 1, value);
    tile_build_yield(&inner, NULL, 0);
    inner.region = tile_op_region(l->f, branch, 1);
    tile_build_yield(&inner, NULL, 0);
    if (lock) tile_build_sync_for(&l->builder, l->executors);
}

/* 4. All other operations. -------------------------------------------------------------------- */

static const tile_type **lowered_types(const lowering *l, tile_value first, unsigned count) {
    const tile_type **types = TILE_NEW_ARRAY(l->pass->scratch, const tile_type *, count + 1u);
    for (unsigned i = 0; i < count; i++)
        types[i] = lowered_type(l, tile_value_type(&l->old, (tile_value){first.id + i}));
    return types;
}

enum { FIRST_INIT = 3 }; /* index of a loop's first initial value, after its bounds */

/* An operation with the same meaning on fragments: same operands and regions, lowered types. */
static void lower_plain(lowering *l, tile_op op) {
    const tile_op_data *data = tile_op_at(&l->old, op);
    tile_value *operands = TILE_NEW_ARRAY(l->pass->scratch, tile_value, data->operand_count + 1u);
    uint16_t segments[TILE_MAX_OPERANDS] = {0};
    unsigned count;
    if (!lower_thread_operands(l, op, operands, &count, segments)) return;
    for (unsigned i = 0; data->opcode == TILE_OP_for && i < data->result_count; i++)
        if (lower_starts_sums(l, op, i))
            operands[FIRST_INIT + i] =
                tile_build_undefined(&l->builder, tile_value_type(l->f, operands[FIRST_INIT + i]));
    tile_op copy =
        tile_add_op(&l->builder, (tile_opcode)data->opcode, operands, count, segments,
                    lowered_types(l, data->first_result, data->result_count), data->result_count);
    lower_copy_attrs(l, op, copy);
    for (unsigned r = 0; r < data->region_count; r++) {
        tile_region_data from = *tile_region_at(&l->old, data->regions[r]);
        tile_region to = tile_add_region(
            l->f, copy, lowered_types(l, from.first_arg, from.arg_count), from.arg_count);
        enter_region(l, data->regions[r], to);
    }
    map_results(l, op, copy);
}

/* An operation that also exists at level 3 is copied with lowered values. */
static void lower_other(lowering *l, tile_op op, tile_opcode opcode) {
    tile_value result;
    if (lower_thread_view(l, op, &result)) {
        if (result.id) set_result(l, op, result);
        return;
    }
    if (tile_op_is_allowed(tile_op_get_info(opcode), 3)) {
        lower_plain(l, op);
        return;
    }
    l->failed = true;
    tile_error_of(&l->old, op, "lower-tiles cannot bring this operation to level 3");
}

/* Copies the `speculative` mark of the old load to the loads after `before`, or to all loads of the
 * region. */
static void mark_speculative(lowering *l, tile_op before) {
    tile_op op =
        before.id ? tile_op_next(l->f, before) : tile_region_first(l->f, l->builder.region);
    for (; op.id; op = tile_op_next(l->f, op)) {
        tile_opcode opcode = tile_op_opcode(l->f, op);
        if (opcode == TILE_OP_ld_shared || opcode == TILE_OP_ldmatrix)
            tile_op_set_flag(l->f, op, TILE_ATTR_speculative);
    }
}

/* A transfer of one element of a view. */
static bool lower_scalar_transfer(lowering *l, tile_op op, tile_opcode opcode) {
    tile_gather gather;
    if (!tile_gather_of(&l->old, op, &gather) || gather.type->kind != TILE_TYPE_SCALAR)
        return false;
    if (opcode == TILE_OP_load)
        set_result(l, op, lower_load_scalar(l, op));
    else
        lower_store_scalar(l, op);
    return true;
}

static void lower_transfer(lowering *l, tile_op op, tile_opcode opcode) {
    tile_value picked;
    if (opcode == TILE_OP_store && lower_scattered_store(l, op)) return;
    if (opcode == TILE_OP_store_shared && lower_shared_sum(l, op)) return;
    if (opcode == TILE_OP_load && lower_gathered_load(l, op, &picked)) {
        set_result(l, op, picked);
        return;
    }
    if (lower_scalar_transfer(l, op, opcode)) return;
    bool is_load = opcode == TILE_OP_load || opcode == TILE_OP_load_shared;
    const tile_values element =
        is_load ? tile_operands_src(&l->old, op) : tile_operands_dst(&l->old, op);
    if (is_load) {
        const tile_type *tile = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
        tile_op before = tile_region_at(l->f, l->builder.region)->last;
        set_result(l, op,
                   opcode == TILE_OP_load
                       ? lower_load_view(l, op, element.at, tile)
                       : lower_load_shared(l, element.at, element.count, tile, true));
        if (tile_op_has_attr(&l->old, op, TILE_ATTR_speculative)) mark_speculative(l, before);
        return;
    }
    tile_value source = tile_operand_src(&l->old, op);
    const tile_type *tile = tile_value_type(&l->old, source);
    if (opcode == TILE_OP_store)
        lower_store_view(l, op, lower_mapped(l, source), tile, element.at);
    else
        lower_store_shared(l, lower_mapped(l, source), tile, element.at, element.count);
}

static void lower_find(lowering *l, tile_op op) {
    tile_value second = tile_op_result(&l->old, op, 1), places = TILE_NO_VALUE;
    set_result(l, op, lower_reduce(l, op, &places));
    l->map[second.id] = places;
    tile_value_at(l->f, places)->name = tile_value_at(&l->old, second)->name;
}

static void lower_combined(lowering *l, tile_op op) {
    tile_value results[TILE_MAX_COMBINED];
    lower_combine(l, op, results);
    for (unsigned i = 0; i < tile_op_result_count(&l->old, op); i++)
        set_result_of(l, op, i, results[i]);
}

static void lower_places(lowering *l, tile_op op) {
    tile_value places[TILE_MAX_RANK];
    lower_coordinates(l, op, places);
    for (unsigned d = 0; d < tile_op_result_count(&l->old, op); d++)
        l->map[tile_op_result(&l->old, op, d).id] = places[d];
}

void lower_operation(lowering *l, tile_op op) {
    tile_opcode opcode = tile_op_opcode(&l->old, op);
    if (l->fused[op.id]) return;
    bool ends = (tile_op_effects(&l->old, op) & TILE_EFFECT_TERMINATOR) && l->uninitialized_count;
    if (ends || !lower_is_arithmetic(&l->old, op)) {
        bool met = (l->uninitialized_count || l->init_needs_sync) && !l->f->cluster_rank;
        lower_sync_after_barrier_init(l);
        if (met && opcode == TILE_OP_sync && !tile_op_operand_count(&l->old, op)) return;
    }
    l->builder.loc = tile_op_loc(&l->old, op);
    if (tile_is_rearrangement(&l->old, op)) {
        lower_rearrange(l, op);
        return;
    }
    switch (opcode) {
    case TILE_OP_view:
    case TILE_OP_scratch: lower_view_op(l, op); break;
    case TILE_OP_im2col: lower_im2col(l, op); break;
    case TILE_OP_base: set_result(l, op, l->views[tile_operand_src(&l->old, op).id]->base); break;
    case TILE_OP_lock_semaphore:
    case TILE_OP_wait_value:
    case TILE_OP_release_semaphore: lower_semaphore(l, op); break;
    case TILE_OP_atomic:
    case TILE_OP_atomic_cas: set_result(l, op, lower_atomic(l, op)); break;
    case TILE_OP_convert_layout: set_result(l, op, lower_convert(l, op)); break;
    case TILE_OP_load:
    case TILE_OP_store:
    case TILE_OP_load_shared:
    case TILE_OP_store_shared: lower_transfer(l, op, opcode); break;
    case TILE_OP_copy:
    case TILE_OP_copy_async: lower_copy(l, op); break;
    case TILE_OP_store_async: lower_store_async(l, op); break;
    case TILE_OP_gather: set_result(l, op, lower_gather(l, op)); break;
    case TILE_OP_inside: set_result(l, op, lower_inside(l, op)); break;
    case TILE_OP_dot: set_result(l, op, lower_dot(l, op)); break;
    case TILE_OP_dot_wait: set_result(l, op, lower_dot_wait(l, op)); break;
    case TILE_OP_reduce: set_result(l, op, lower_reduce(l, op, NULL)); break;
    case TILE_OP_reduce_arg: lower_find(l, op); break;
    case TILE_OP_scan: set_result(l, op, lower_scan(l, op)); break;
    case TILE_OP_reduce_with:
    case TILE_OP_scan_with: lower_combined(l, op); break;
    case TILE_OP_sort: set_result(l, op, lower_sort(l, op)); break;
    case TILE_OP_to_fragment:
    case TILE_OP_from_fragment:
        set_result(l, op, lower_mapped(l, tile_operand_src(&l->old, op)));
        break;
    case TILE_OP_coordinates: lower_places(l, op); break;
    case TILE_OP_scalar: set_result(l, op, lower_scalar(l, op)); break;
    case TILE_OP_iota: set_result(l, op, lower_iota(l, op)); break;
    case TILE_OP_broadcast: set_result(l, op, lower_broadcast(l, op)); break;
    case TILE_OP_print: lower_print(l, op); break;
    case TILE_OP_prefetch_l2: lower_prefetch(l, op); break;
    case TILE_OP_alloc_barrier: lower_alloc_barrier(l, op); break;
    case TILE_OP_barrier_arrive: lower_barrier_arrive(l, op); break;
    case TILE_OP_barrier_wait: lower_barrier_wait(l, op); break;
    case TILE_OP_ordered_wait:
    case TILE_OP_ordered_arrive: lower_ordered_issue(l, op); break;
    case TILE_OP_free_shared: break; /* memory is already allocated, so nothing remains to do */
    default:
        if (opcode == TILE_OP_alloc_shared && lower_alloc_misaligned(l, op)) break;
        if (!lower_compare(l, op) && !lower_shifted_iota(l, op)) lower_other(l, op, opcode);
        break;
    }
}

static void lower_region(lowering *l, tile_region from) {
    TILE_FOR_EACH_OP (&l->old, op, from) lower_operation(l, op);
    if (l->uninitialized_count || from.id == l->old.body.id) lower_sync_after_barrier_init(l);
}

/* Copies constants to new ids. */
static void map_constants(lowering *l) {
    for (uint32_t id = 1; id < l->old.value_count; id++) {
        const tile_value_data *value = &l->old.values[id];
        if (value->kind == TILE_VALUE_CONSTANT)
            l->map[id] = tile_function_constant(l->f, value->type, value->expr);
        else if (value->kind == TILE_VALUE_ARG)
            l->map[id] = tile_function_arg(l->f, value->index);
    }
}

tile_status tile_pass_lower_tiles(tile_pass *pass, tile_function *f) {
    lowering l = {.pass = pass, .f = f};
    l.ranges = tile_range_analyse(f, pass->scratch);
    if (!lower_can(pass, f, l.ranges)) return TILE_INVALID;
    tile_function_restart(f, &l.old);
    l.builder = tile_builder_at_end(f, f->body);
    l.map = TILE_NEW_ARRAY(pass->scratch, tile_value, l.old.value_count);
    l.views = TILE_NEW_ARRAY(pass->scratch, lower_view *, l.old.value_count);
    lower_find_store_fused(&l);
    lower_find_shared_sums(&l);
    lower_find_deferred(&l);
    map_constants(&l);
    for (unsigned i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_VIEW) lower_view_arg(&l, i);
    enter_set(&l);
    lower_begin_barriers(&l);
    lower_region(&l, l.old.body);
    f->level = 3;
    return l.failed || !tile_check_barriers(f) ? TILE_INVALID : TILE_OK;
}
