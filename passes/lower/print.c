/* print: one thread of the set prints scalars. The elements of a tile are distributed over threads,
 * so all threads iterate over the tile in row-major order, and the first holder of each element
 * prints it:
 *
 *     for %e = 0 to elements {
 *       %mine = registers whose element is %e, in the first of the threads that hold it
 *       if any of %mine { print [coordinates of %e], the register }
 *       sync
 *     }
 *
 * The code is short but slow: it is meant for debugging. */
#include "lib/layout/layout.h"
#include "passes/lower/lower.h"

static void copy_text(lowering *l, tile_op from, tile_op to) {
    const char *text = tile_op_attr_text(&l->old, from, TILE_ATTR_text);
    if (text) tile_op_set_text(l->f, to, TILE_ATTR_text, text);
}

/* Opens a branch for threads that satisfy the condition; the builder inserts into it until
 * end_branch. */
static tile_op begin_branch(lowering *l, tile_builder *inner, tile_value condition) {
    tile_op branch = tile_build_if_else(&l->builder, condition, NULL, 0);
    *inner = tile_builder_in(&l->builder, branch, 0);
    return branch;
}

static void end_branch(lowering *l, tile_builder *inner, tile_op branch) {
    tile_build_yield(inner, NULL, 0);
    inner->region = tile_op_region(l->f, branch, 1);
    tile_build_yield(inner, NULL, 0);
}

static void print_scalars(lowering *l, tile_op op) {
    const tile_values at = tile_operands_at(&l->old, op);
    const tile_values src = tile_operands_src(&l->old, op);
    tile_value *places = TILE_NEW_ARRAY(l->pass->scratch, tile_value, at.count + 1u);
    tile_value *values = TILE_NEW_ARRAY(l->pass->scratch, tile_value, src.count + 1u);
    for (unsigned i = 0; i < at.count; i++) places[i] = lower_mapped(l, at.at[i]);
    for (unsigned i = 0; i < src.count; i++) values[i] = lower_mapped(l, src.at[i]);
    tile_builder inner;
    tile_value first = tile_build_eq(&l->builder, l->thread, lower_int(l, 0));
    tile_op branch = begin_branch(l, &inner, first);
    tile_build_print(&inner, places, at.count, values, src.count);
    copy_text(l, op, tile_region_at(l->f, inner.region)->last);
    end_branch(l, &inner, branch);
}

/* The row-major index of the thread's element in register i. */
static tile_value number_of(lowering *l, const tile_layout *layout, const tile_value *thread,
                            unsigned i) {
    tile_value number = lower_int(l, 0);
    for (unsigned d = 0; d < layout->rank; d++) {
        tile_value own = lower_int(l, lower_register_coordinate(layout, i, d));
        tile_value at = lower_bits_overlap(layout, d) ? tile_build_xor(&l->builder, thread[d], own)
                                                      : lower_add(l, thread[d], own);
        number = lower_mul(l, number, lower_int(l, tile_layout_extent(layout, d)));
        number = lower_add(l, number, at);
    }
    return number;
}

/* Returns i1: the thread prints its element; *value: the element. */
static tile_value find_element(lowering *l, tile_value fragment, const tile_value *numbers,
                               unsigned count, tile_value element, tile_value *value) {
    const tile_type *type = tile_value_type(l->f, fragment);
    tile_value any = TILE_NO_VALUE;
    for (unsigned i = 0; i < count; i++) {
        tile_value own = tile_build_extract(&l->builder, fragment, lower_int(l, i),
                                            lower_part_type(l, type->scalar, 1));
        tile_value hit = tile_build_eq(&l->builder, numbers[i], element);
        *value = i ? tile_build_select(&l->builder, hit, own, *value) : own;
        any = i ? tile_build_or(&l->builder, any, hit) : hit;
    }
    return any;
}

static void print_tile(lowering *l, tile_op op, tile_value src) {
    const tile_type *type = tile_value_type(&l->old, src);
    unsigned registers = tile_type_registers(type), rank = type->rank;
    tile_value thread[TILE_MAX_RANK], at[TILE_MAX_RANK], value;
    tile_value *numbers = TILE_NEW_ARRAY(l->pass->scratch, tile_value, registers);
    tile_value holder = lower_is_first_holder(l, type->layout), fragment = lower_mapped(l, src);
    for (unsigned d = 0; d < rank; d++) thread[d] = lower_thread_coordinate(l, type->layout, d);
    for (unsigned i = 0; i < registers; i++) numbers[i] = number_of(l, type->layout, thread, i);
    tile_op loop =
        tile_build_for_loop(&l->builder, lower_int(l, 0), lower_int(l, tile_type_elements(type)),
                            lower_int(l, 1), NULL, 0);
    tile_builder outer = l->builder, inner;
    l->builder = tile_builder_in(&outer, loop, 0);
    tile_value element = tile_region_arg(l->f, tile_op_region(l->f, loop, 0), 0), rest = element;
    tile_value mine = find_element(l, fragment, numbers, registers, element, &value);
    tile_op branch = begin_branch(l, &inner, lower_and(l, mine, holder));
    for (unsigned d = rank; d-- > 0;) {
        tile_value extent = tile_build_int(&inner, tile_type_dim(type, d));
        at[d] = d ? tile_build_rem(&inner, rest, extent) : rest;
        rest = tile_build_div(&inner, rest, extent);
    }
    tile_build_print(&inner, at, rank, &value, 1);
    copy_text(l, op, tile_region_at(l->f, inner.region)->last);
    end_branch(l, &inner, branch);
    tile_build_sync_for(&l->builder, l->executors);
    tile_build_yield(&l->builder, NULL, 0);
    l->builder = outer;
}

void lower_print(lowering *l, tile_op op) {
    const tile_values src = tile_operands_src(&l->old, op);
    if (src.count == 1 && tile_value_type(&l->old, src.at[0])->kind == TILE_TYPE_TILE)
        print_tile(l, op, src.at[0]);
    else
        print_scalars(l, op);
}
