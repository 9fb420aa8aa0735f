/* Sorting by a bitonic network. Step (k, b) compares elements whose coordinates differ in bit b.
 * The smaller one comes first if bit k of the coordinate is 0, else last. The holder of bit b
 * (register, lane or warp) determines whether the two elements are in one thread, two lanes or two
 * warps.
 *
 * Rows are padded to a power of two with registers that sort after all elements. */
#include "lib/ops/reduce.h"

#include <math.h>

#include "lib/layout/axis_map.h"
#include "lib/layout/layout.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

typedef struct sorting {
    lowering *l;
    tile_op op;
    tile_scalar scalar;
    const tile_layout *layout;
    tile_axis_map along;
    bool descending;
    unsigned bits;        /* of the padded coordinate */
    unsigned own;         /* of these, those held by registers */
    unsigned rows, steps; /* of a thread: register = step * rows + row */
} sorting;

/* The index of bit k among the register bits along the axis; padding bits are last. */
static unsigned own_bit(const sorting *s, unsigned k) {
    unsigned bit = 0;
    for (unsigned i = 0; i < k; i++)
        bit += i >= s->along.count || s->along.bits[i].holder == TILE_HELD_BY_REGISTER;
    return bit;
}

static bool is_own(const sorting *s, unsigned k) {
    return k >= s->along.count || s->along.bits[k].holder == TILE_HELD_BY_REGISTER;
}

/* i1: bit k of the coordinates of this thread's elements is set. */
static tile_value has_bit(const sorting *s, unsigned k) {
    unsigned shift = s->along.bits[k].holder == TILE_HELD_BY_WARP ? TILE_LANE_BITS : 0;
    tile_value bit = tile_build_and(&s->l->builder, s->l->thread,
                                    lower_int(s->l, 1 << (shift + s->along.bits[k].bit)));
    return tile_build_ne(&s->l->builder, bit, lower_int(s->l, 0));
}

/* Orders NaN after all numbers. */
static tile_value greater(const sorting *s, tile_value a, tile_value b) {
    tile_builder *t = &s->l->builder;
    if (!tile_scalar_is_floating(s->scalar)) return tile_build_gt(t, a, b);
    tile_value not_below = tile_build_not(t, tile_build_le(t, a, b));
    return tile_build_and(t, not_below, tile_build_eq(t, b, b));
}

static const tile_type *vector_of(const sorting *s, tile_scalar scalar, unsigned count) {
    return tile_type_vector(tile_function_context(s->l->f), scalar, count);
}

/* Returns whether the elements of a register step are sorted in descending order in stage k, as far
 * as the register bits determine it. */
static bool is_descending(const sorting *s, unsigned k, unsigned step) {
    bool turned = k < s->bits && is_own(s, k) && step >> own_bit(s, k) & 1;
    return turned != s->descending;
}

/* The contribution of the thread index to the direction; no value if there is none. */
static tile_value thread_falls(const sorting *s, unsigned k) {
    return k < s->bits && !is_own(s, k) ? has_bit(s, k) : TILE_NO_VALUE;
}

static tile_value spread(const sorting *s, tile_value truth, unsigned count) {
    return tile_build_splat(&s->l->builder, truth, vector_of(s, TILE_i1, count));
}

/* Compares pairs of registers and swaps them if out of order. */
static tile_value sort_own(const sorting *s, tile_value all, unsigned k, unsigned b) {
    lowering *l = s->l;
    unsigned total = s->rows * s->steps, half = total / 2, at = 0, mask = 1u << own_bit(s, b);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, total);
    int64_t *back = TILE_NEW_ARRAY(l->pass->scratch, int64_t, total);
    for (unsigned step = 0; step < s->steps; step++)
        for (unsigned row = 0; row < s->rows && !(step & mask); row++, at++) {
            bool turned = is_descending(s, k, step);
            order[at] = (step | (turned ? mask : 0)) * s->rows + row;
            order[half + at] = (step | (turned ? 0 : mask)) * s->rows + row;
        }
    for (unsigned i = 0; i < total; i++) back[order[i]] = i;
    tile_value first = lower_permute(l, all, order, half),
               second = lower_permute(l, all, order + half, half), turned = thread_falls(s, k);
    tile_value swap = greater(s, first, second);
    if (turned.id) swap = tile_build_xor(&l->builder, swap, spread(s, turned, half));
    tile_value both[] = {tile_build_select(&l->builder, swap, second, first),
                         tile_build_select(&l->builder, swap, first, second)};
    return lower_permute(l, tile_build_concat(&l->builder, both, 2), back, total);
}

/* Merges with another thread's registers: keeps the larger or the smaller element of each pair. */
static tile_value sort_with(const sorting *s, tile_value all, tile_value other, unsigned k,
                            unsigned b) {
    lowering *l = s->l;
    tile_builder *t = &l->builder;
    unsigned total = s->rows * s->steps;
    tile_value upper = has_bit(s, b), turned = thread_falls(s, k);
    if (turned.id) upper = tile_build_xor(t, upper, turned);
    tile_value lower = tile_build_not(t, upper);
    tile_value *larger = TILE_NEW_ARRAY(l->pass->scratch, tile_value, total);
    for (unsigned step = 0; step < s->steps; step++)
        for (unsigned row = 0; row < s->rows; row++)
            larger[step * s->rows + row] = is_descending(s, k, step) ? lower : upper;
    tile_value keeps = tile_build_concat(t, larger, total);
    tile_value takes = tile_build_select(t, keeps, greater(s, other, all), greater(s, all, other));
    return tile_build_select(t, takes, other, all);
}

/* Exchanges with another warp through shared memory, register by register; adjacent threads access
 * adjacent elements. */
static tile_value from_other_warp(const sorting *s, tile_value all, unsigned b) {
    lowering *l = s->l;
    unsigned total = s->rows * s->steps, threads = 32u << s->layout->warp_bits;
    const tile_values buffer = tile_operands_buffer(&l->old, s->op);
    tile_value shared = lower_mapped(l, buffer.at[0]);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, total);
    const tile_type *one = lower_part_type(l, s->scalar, 1);
    tile_value partner = tile_build_xor(&l->builder, l->thread,
                                        lower_int(l, 1 << (TILE_LANE_BITS + s->along.bits[b].bit)));
    for (unsigned i = 0; i < total; i++) {
        tile_value offset = lower_add(l, l->thread, lower_int(l, i * threads));
        tile_value part = tile_build_extract(&l->builder, all, lower_int(l, i), one);
        tile_build_st_shared(&l->builder, part, shared, &offset, 1, TILE_NO_VALUE);
    }
    tile_build_sync_for(&l->builder, l->executors);
    for (unsigned i = 0; i < total; i++) {
        tile_value offset = lower_add(l, partner, lower_int(l, i * threads));
        parts[i] = tile_build_ld_shared(&l->builder, shared, &offset, 1, TILE_NO_VALUE, one);
    }
    tile_build_sync_for(&l->builder, l->executors);
    return tile_build_concat(&l->builder, parts, total);
}

static tile_value sort_step(const sorting *s, tile_value all, unsigned k, unsigned b) {
    if (is_own(s, b)) return sort_own(s, all, k, b);
    bool lanes = s->along.bits[b].holder == TILE_HELD_BY_LANE;
    tile_value other =
        lanes ? lower_shfl(s->l, all, lower_int(s->l, 1 << s->along.bits[b].bit), "xor")
              : from_other_warp(s, all, b);
    return sort_with(s, all, other, k, b);
}

/* The value that sorts after all elements. */
static tile_value last_of_all(const sorting *s) {
    tile_context *context = tile_function_context(s->l->f);
    const tile_type *type = tile_type_scalar(context, s->scalar);
    tile_word kind = s->descending ? TILE_WORD_kind_max : TILE_WORD_kind_min;
    if (!tile_scalar_is_floating(s->scalar))
        return tile_function_constant(
            s->l->f, type, tile_expr_int(context, tile_kind_integer_identity(kind, s->scalar)));
    return tile_function_constant(s->l->f, type,
                                  tile_expr_float(context, s->descending ? -INFINITY : NAN));
}

/* *order maps register step * rows + row of the sorted vector to the tile's register; *back is the
 * inverse. Padding steps follow the tile's registers. */
static void find_orders(const sorting *s, int64_t *order, int64_t *back) {
    unsigned steps = tile_axis_map_steps(s->layout, &s->along);
    for (unsigned step = 0; step < s->steps; step++)
        for (unsigned row = 0; row < s->rows; row++) {
            unsigned at = step * s->rows + row;
            order[at] = step < steps ? tile_axis_map_register(s->layout, &s->along, row, step) : at;
            if (step < steps) back[order[at]] = at;
        }
}

tile_value lower_sort(lowering *l, tile_op op) {
    tile_value src = tile_operand_src(&l->old, op), all = lower_mapped(l, src);
    const tile_type *type = tile_value_type(&l->old, src);
    sorting s = {.l = l, .op = op, .scalar = type->scalar, .layout = type->layout};
    unsigned axis = (unsigned)tile_op_attr_int(&l->old, op, TILE_ATTR_axis, 0);
    unsigned registers = tile_type_registers(type), parts = type->layout->count[axis], filled = 1;
    s.descending = tile_op_has_attr(&l->old, op, TILE_ATTR_descending);
    tile_axis_map_find(type->layout, axis, &s.along);
    while (filled < parts) filled *= 2;
    s.bits = s.along.count + tile_log2(filled);
    s.rows = tile_axis_map_rows(type->layout, &s.along);
    s.steps = tile_axis_map_steps(type->layout, &s.along) / parts * filled;
    unsigned total = s.rows * s.steps;
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, total);
    int64_t *back = TILE_NEW_ARRAY(l->pass->scratch, int64_t, total);
    find_orders(&s, order, back);
    if (total > registers) {
        tile_value both[] = {all, tile_build_splat(&l->builder, last_of_all(&s),
                                                   vector_of(&s, s.scalar, total - registers))};
        all = tile_build_concat(&l->builder, both, 2);
    }
    all = lower_permute(l, all, order, total);
    for (unsigned k = 1; k <= s.bits; k++)
        for (unsigned b = k; b-- > 0;) all = sort_step(&s, all, k, b);
    return lower_permute(l, all, back, registers);
}
