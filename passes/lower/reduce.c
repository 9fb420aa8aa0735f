/* Reductions. Each thread combines its registers of a row, lanes exchange partial results by
 * shuffles, and warps write theirs to shared memory, from where all threads read them
 * (lib/layout/reduce.h).
 *
 * A thread adds a row's elements to a few sums in turn. A binary tree would need half as many
 * intermediate registers as there are elements, and could not begin before all elements are
 * available. */
#include "lib/ops/reduce.h"

#include "lib/layout/layout.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

typedef struct combining {
    lowering *l;
    tile_opcode opcode;
    tile_word kind;
    tile_scalar scalar; /* of the computation */
    bool nan;           /* NaN takes precedence */
} combining;

/* The operands of a reduction: values, and for reduce_arg their coordinates. */
typedef struct bundle {
    tile_value value, place;
} bundle;

static const tile_type *vector_like(const combining *c, tile_value vector, unsigned count) {
    return tile_type_vector(tile_function_context(c->l->f),
                            tile_value_type(c->l->f, vector)->scalar, count);
}

static unsigned length_of(const combining *c, tile_value vector) {
    return (unsigned)tile_type_elements(tile_value_type(c->l->f, vector));
}

/* i1: b replaces a. */
static tile_value replaces(const combining *c, bundle a, bundle b) {
    tile_builder *t = &c->l->builder;
    bool most = c->kind == TILE_WORD_kind_max;
    tile_value better =
        most ? tile_build_gt(t, b.value, a.value) : tile_build_lt(t, b.value, a.value);
    tile_value tie = tile_build_eq(t, a.value, b.value);
    if (tile_scalar_is_floating(c->scalar)) {
        tile_value no_a = tile_build_ne(t, a.value, a.value);
        tile_value no_b = tile_build_ne(t, b.value, b.value);
        better = tile_build_or(t, better, tile_build_and(t, no_a, tile_build_not(t, no_b)));
        tie = tile_build_or(t, tie, tile_build_and(t, no_a, no_b));
    }
    tile_value first = tile_build_lt(t, b.place, a.place);
    return tile_build_or(t, better, tile_build_and(t, tie, first));
}

static bundle combine(const combining *c, bundle a, bundle b) {
    const tile_segment operands[] = {{a.value, NULL, 0}, {b.value, NULL, 0}};
    tile_builder *t = &c->l->builder;
    if (!a.place.id) {
        tile_value both = tile_build_op_value(t, c->opcode, operands, 2, NULL);
        if (c->nan) tile_op_set_flag(c->l->f, tile_value_def(c->l->f, both), TILE_ATTR_nan);
        return (bundle){.value = both};
    }
    tile_value other = replaces(c, a, b);
    return (bundle){tile_build_select(t, other, b.value, a.value),
                    tile_build_select(t, other, b.place, a.place)};
}

/* Registers [first, first + count). */
static tile_value extract_vector(const combining *c, tile_value vector, unsigned first,
                                 unsigned count) {
    if (!vector.id || count == length_of(c, vector)) return vector;
    return tile_build_extract(&c->l->builder, vector, lower_int(c->l, first),
                              vector_like(c, vector, count));
}

static bundle extract(const combining *c, bundle from, unsigned first, unsigned count) {
    return (bundle){extract_vector(c, from.value, first, count),
                    extract_vector(c, from.place, first, count)};
}

static tile_value join_vectors(const combining *c, tile_value a, tile_value b) {
    const tile_value both[] = {a, b};
    return a.id ? tile_build_concat(&c->l->builder, both, 2) : a;
}

static bundle reorder(const combining *c, bundle from, const int64_t *order, unsigned count) {
    return (bundle){lower_permute(c->l, from.value, order, count),
                    from.place.id ? lower_permute(c->l, from.place, order, count) : from.place};
}

tile_value lower_permute(lowering *l, tile_value vector, const int64_t *order, unsigned count) {
    const tile_type *type = tile_value_type(l->f, vector);
    bool same = count == tile_type_elements(type);
    for (unsigned i = 0; i < count; i++) same &= order[i] == i;
    if (same) return vector;
    tile_value ordered = tile_build_permute(
        &l->builder, vector, tile_type_vector(tile_function_context(l->f), type->scalar, count));
    tile_op_set_list(l->f, tile_value_def(l->f, ordered), TILE_ATTR_order, order, count);
    return ordered;
}

/* Combines `chunks` chunks of `width` registers into one: the first half with the second half, and
 * an odd chunk at the end. */
static bundle fold(const combining *c, bundle all, unsigned chunks, unsigned width) {
    while (chunks > 1) {
        unsigned half = chunks / 2;
        bundle sum = combine(c, extract(c, all, 0, half * width),
                             extract(c, all, half * width, half * width));
        if (chunks % 2) {
            bundle last = extract(c, all, 2 * half * width, width);
            sum.value = join_vectors(c, sum.value, last.value);
            sum.place = join_vectors(c, sum.place, last.place);
        }
        all = sum;
        chunks = half + chunks % 2;
    }
    return all;
}

/* Independent sums, to hide the latency of an addition. */
enum { SUMS_IN_FLIGHT = 4 };

/* Like fold, for a power of two of chunks: adds the chunks to enough parallel sums to fill
 * SUMS_IN_FLIGHT, then folds these. */
static bundle accumulate(const combining *c, bundle all, unsigned chunks, unsigned width) {
    unsigned sums = 1;
    while (sums < chunks && sums * width < SUMS_IN_FLIGHT) sums *= 2;
    bundle sum = extract(c, all, 0, sums * width);
    for (unsigned i = sums; i < chunks; i += sums)
        sum = combine(c, sum, extract(c, all, i * width, sums * width));
    return fold(c, sum, sums, width);
}

/* Combines first the steps, in an order or by pairs that are the same for all holders of a result,
 * and then the parts. */
static bundle combine_own(const combining *c, const tile_reduce_plan *plan, bundle fragment) {
    unsigned width = tile_layout_registers(&plan->narrow), steps = 1u << plan->own_steps;
    unsigned parts = plan->source.count[plan->axis], count = width * steps * parts;
    int64_t *order = TILE_NEW_ARRAY(c->l->pass->scratch, int64_t, count);
    for (unsigned step = 0, at = 0; step < steps; step++)
        for (unsigned part = 0; part < parts; part++)
            for (unsigned n = 0; n < width; n++)
                order[at++] = tile_reduce_register(plan, n, step, part);
    bundle sum = reorder(c, fragment, order, count);
    sum = tile_reduce_in_order(plan) ? accumulate(c, sum, steps, parts * width)
                                     : fold(c, sum, steps, parts * width);
    return fold(c, sum, parts, width);
}

/* Returns whether one redux instruction can combine all lanes. */
static bool has_redux(const combining *c, const tile_reduce_plan *plan, bundle sum) {
    bool plain = plan->lane_steps == TILE_LANE_BITS && !sum.place.id;
    for (unsigned i = 0; i < plan->lane_steps; i++) plain &= !plan->lanes[i].reg;
    return plain && tile_scalar_as_signed(c->scalar) == TILE_i32 && c->kind != TILE_WORD_kind_mul;
}

tile_value lower_shfl(lowering *l, tile_value value, tile_value lane, const char *kind) {
    tile_value other = tile_build_shfl(&l->builder, value, lane);
    tile_op_set_text(l->f, tile_value_def(l->f, other), TILE_ATTR_kind, kind);
    return other;
}

static bundle combine_lanes(const combining *c, const tile_reduce_plan *plan, bundle sum) {
    lowering *l = c->l;
    unsigned width = tile_layout_registers(&plan->narrow);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, width);
    if (has_redux(c, plan, sum)) {
        sum.value = tile_build_redux(&l->builder, sum.value);
        tile_op_set_text(l->f, tile_value_def(l->f, sum.value), TILE_ATTR_kind,
                         tile_attr_word_text(c->kind));
        return sum;
    }
    for (unsigned i = 0; i < plan->lane_steps; i++) {
        tile_value lane = lower_int(l, plan->lanes[i].lane);
        bundle other = {.value = lower_shfl(l, sum.value, lane, "xor")};
        if (sum.place.id) other.place = lower_shfl(l, sum.place, lane, "xor");
        for (unsigned n = 0; n < width; n++) order[n] = n ^ plan->lanes[i].reg;
        sum = combine(c, sum, reorder(c, other, order, width));
    }
    return sum;
}

static const tile_type *laid_out(const combining *c, tile_scalar scalar,
                                 const tile_layout *layout) {
    tile_context *context = tile_function_context(c->l->f);
    tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = scalar, .rank = layout->rank};
    for (unsigned d = 0; d < draft.rank; d++)
        draft.dims[d] = tile_expr_int(context, tile_layout_extent(layout, d));
    draft.layout = layout;
    return tile_type_get(context, &draft);
}

const tile_type *lower_laid_out(lowering *l, tile_scalar scalar, const tile_layout *layout) {
    const combining c = {.l = l};
    return laid_out(&c, scalar, layout);
}

enum { VALUES = 1, PLACES = 2 }; /* operands of the operation: the buffers */

/* operand: the buffer for the values. */
static bundle combine_warps(const combining *c, const tile_reduce_plan *plan, tile_op op,
                            unsigned operand, const tile_layout *to, bundle sum) {
    lowering *l = c->l;
    const tile_value *buffer = tile_op_segment(&l->old, op, operand).at, *places = NULL;
    tile_layout gathered = tile_reduce_gathered(plan, to);
    if (sum.place.id) places = tile_op_segment(&l->old, op, PLACES).at;
    if (tile_sync_is_explicit(&l->old, op)) lower_end_with_sync(l);
    lower_store_shared(l, sum.value, laid_out(c, c->scalar, &plan->partial), buffer, 1);
    if (places) lower_store_shared(l, sum.place, laid_out(c, TILE_i32, &plan->partial), places, 1);
    tile_build_sync_for(&l->builder, l->executors);
    sum.value = lower_load_shared(l, buffer, 1, laid_out(c, c->scalar, &gathered), true);
    if (places) sum.place = lower_load_shared(l, places, 1, laid_out(c, TILE_i32, &gathered), true);
    tile_reduce_plan rest = tile_reduce_make_plan(&gathered, plan->axis);
    return combine_own(c, &rest, sum);
}

/* The coordinates along the axis, by register. */
static tile_value count_along(lowering *l, const tile_layout *layout, unsigned axis) {
    unsigned registers = tile_layout_registers(layout);
    bool overlapping = lower_bits_overlap(layout, axis);
    tile_value thread = lower_thread_coordinate(l, layout, axis);
    tile_value *values = TILE_NEW_ARRAY(l->pass->scratch, tile_value, registers);
    for (unsigned i = 0; i < registers; i++) {
        tile_value own = lower_int(l, lower_register_coordinate(layout, i, axis));
        values[i] =
            overlapping ? tile_build_xor(&l->builder, thread, own) : lower_add(l, thread, own);
    }
    return tile_build_concat(&l->builder, values, registers);
}

/* Combines the elements of all threads, in the layout of the result. operand: the buffer. */
static bundle combine_all(const combining *c, const tile_reduce_plan *plan, tile_op op,
                          unsigned operand, const tile_layout *to, bundle all) {
    bundle sum = combine_lanes(c, plan, combine_own(c, plan, all));
    return tile_reduce_exchanges(plan, to) ? combine_warps(c, plan, op, operand, to, sum) : sum;
}

/* Finds the largest (smallest) element of each row, then the lowest coordinate among the elements
 * equal to it, or among all if it is NaN. That takes two reductions of one or two instructions per
 * pair; a combined reduction of elements and coordinates takes ten. */
static bundle find_sequential(const combining *c, const tile_reduce_plan *plan, tile_op op,
                              const tile_layout *to, bundle all) {
    lowering *l = c->l;
    tile_builder *t = &l->builder;
    unsigned registers = length_of(c, all.value), steps = 1u << plan->own_steps;
    int64_t *row = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    for (unsigned n = 0; n < tile_layout_registers(&plan->narrow); n++)
        for (unsigned step = 0; step < steps; step++)
            for (unsigned part = 0; part < plan->source.count[plan->axis]; part++)
                row[tile_reduce_register(plan, n, step, part)] = n;
    bundle best = combine_all(c, plan, op, VALUES, to, (bundle){.value = all.value});
    tile_value wanted = lower_permute(l, best.value, row, registers);
    tile_value found = tile_build_eq(t, all.value, wanted);
    const combining least = {l, TILE_OP_min, TILE_WORD_kind_min, TILE_i32, false};
    tile_value beyond =
        tile_build_splat(t, lower_int(l, INT32_MAX), tile_value_type(l->f, all.place));
    bundle places = {.value = tile_build_select(t, found, all.place, beyond)};
    best.place = combine_all(&least, plan, op, PLACES, to, places).value;
    if (tile_scalar_is_floating(c->scalar)) { /* equal to no element, and the lowest place is 0 */
        tile_value zero = tile_build_splat(t, lower_int(l, 0), tile_value_type(l->f, best.place));
        tile_value is_nan = tile_build_ne(t, best.value, best.value);
        best.place = tile_build_select(t, is_nan, zero, best.place);
    }
    return best;
}

/* Combines all elements of the operand, or of a piece of it. *places: the coordinates of a
 * reduce_arg. */
static tile_value combine_rows(lowering *l, tile_op op, tile_value all, const tile_type *from,
                               const tile_type *to, tile_value *places) {
    tile_reduction reduction;
    tile_context *context = tile_function_context(l->f);
    tile_reduction_of(&l->old, op, &reduction);
    combining c = {l, tile_kind_opcode(reduction.kind), reduction.kind,
                   tile_reduction_scalar(reduction.kind, from->scalar),
                   tile_op_has_attr(&l->old, op, TILE_ATTR_nan)};
    tile_reduce_plan plan = tile_reduce_make_plan(from->layout, reduction.axis);
    bundle sum = {.value = all};
    if (c.scalar != from->scalar)
        sum.value = tile_build_cast(&l->builder, sum.value,
                                    tile_type_vector(context, c.scalar, tile_type_registers(from)));
    if (places) sum.place = count_along(l, from->layout, reduction.axis);
    if (places && tile_reduce_in_turn(&plan, to->layout))
        sum = find_sequential(&c, &plan, op, to->layout, sum);
    else
        sum = combine_all(&c, &plan, op, VALUES, to->layout, sum);
    if (places) *places = sum.place;
    if (c.scalar == from->scalar) return sum.value;
    return tile_build_cast(&l->builder, sum.value,
                           tile_type_vector(context, from->scalar, tile_type_registers(to)));
}

tile_value lower_reduce_piece(lowering *l, tile_op op, tile_value piece, const tile_type *from,
                              const tile_type *to) {
    return combine_rows(l, op, piece, from, to, NULL);
}

/* op: a reduce or reduce_arg */
tile_value lower_reduce(lowering *l, tile_op op, tile_value *places) {
    const tile_value src = tile_operand_src(&l->old, op), result = tile_op_result(&l->old, op, 0);
    return combine_rows(l, op, lower_mapped(l, src), tile_value_type(&l->old, src),
                        tile_value_type(&l->old, result), places);
}
