/* Reductions: what a thread holds of a row is combined by halves, lanes exchange registers, and
 * warps write what they have to shared memory, where everybody reads it (lib/layout/reduce.h). */
#include "lib/ir/reduce.h"

#include "lib/layout/layout.h"
#include "passes/tile/lower.h"

typedef struct combining {
    lowering *l;
    tile_opcode opcode;
    tile_word kind;
    tile_scalar scalar; /* that is computed in */
} combining;

static const tile_type *vector_of(const combining *c, unsigned count) {
    return tile_type_vector(tile_function_context(c->l->f), c->scalar, count);
}

static tile_value combine(const combining *c, tile_value a, tile_value b) {
    const tile_segment operands[] = {{a, NULL, 0}, {b, NULL, 0}};
    return tile_build_op_value(&c->l->builder, c->opcode, operands, 2, NULL);
}

/* Registers [first, first + count). */
static tile_value take(const combining *c, tile_value vector, unsigned first, unsigned count) {
    if (count == tile_type_elements(tile_value_type(c->l->f, vector))) return vector;
    return tile_build_extract(&c->l->builder, vector, lower_int(c->l, first), vector_of(c, count));
}

/* Register i of the result is register order[i]. */
static tile_value reorder(const combining *c, tile_value vector, const int64_t *order,
                          unsigned count) {
    bool same = count == tile_type_elements(tile_value_type(c->l->f, vector));
    for (unsigned i = 0; i < count; i++) same &= order[i] == i;
    if (same) return vector;
    tile_value ordered = tile_build_permute(&c->l->builder, vector, vector_of(c, count));
    tile_op_set_list(c->l->f, tile_value_def(c->l->f, ordered), TILE_ATTR_order, order, count);
    return ordered;
}

/* `chunks` chunks of `width` registers become one: the first half with the second one, and an odd
 * one at the end. */
static tile_value fold(const combining *c, tile_value vector, unsigned chunks, unsigned width) {
    while (chunks > 1) {
        unsigned half = chunks / 2;
        tile_value sum = combine(c, take(c, vector, 0, half * width),
                                 take(c, vector, half * width, half * width));
        if (chunks % 2) {
            tile_value last = take(c, vector, 2 * half * width, width);
            tile_value both[] = {sum, last};
            sum = tile_build_concat(&c->l->builder, both, 2);
        }
        vector = sum;
        chunks = half + chunks % 2;
    }
    return vector;
}

/* Steps first, whose pairs are the same for all holders of a result; then the parts. */
static tile_value combine_own(const combining *c, const tile_reduce_plan *plan,
                              tile_value fragment) {
    unsigned width = tile_layout_registers(&plan->narrow), steps = 1u << plan->own_steps;
    unsigned parts = plan->source.count[plan->axis], count = width * steps * parts;
    int64_t *order = TILE_NEW_ARRAY(c->l->pass->scratch, int64_t, count);
    for (unsigned step = 0, at = 0; step < steps; step++)
        for (unsigned part = 0; part < parts; part++)
            for (unsigned n = 0; n < width; n++)
                order[at++] = tile_reduce_register(plan, n, step, part);
    tile_value sum = reorder(c, fragment, order, count);
    return fold(c, fold(c, sum, steps, parts * width), parts, width);
}

/* One instruction combines all lanes. */
static bool has_redux(const combining *c, const tile_reduce_plan *plan) {
    bool plain = plan->lane_steps == TILE_LANE_BITS;
    for (unsigned i = 0; i < plan->lane_steps; i++) plain &= !plan->lanes[i].reg;
    return plain && c->scalar == TILE_i32 && c->kind != TILE_WORD_kind_mul;
}

static tile_value combine_lanes(const combining *c, const tile_reduce_plan *plan, tile_value sum) {
    lowering *l = c->l;
    unsigned width = tile_layout_registers(&plan->narrow);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, width);
    if (has_redux(c, plan)) {
        sum = tile_build_redux(&l->builder, sum);
        tile_op_set_text(l->f, tile_value_def(l->f, sum), TILE_ATTR_kind,
                         tile_attr_word_text(c->kind));
        return sum;
    }
    for (unsigned i = 0; i < plan->lane_steps; i++) {
        tile_value other = tile_build_shfl(&l->builder, sum, lower_int(l, plan->lanes[i].lane));
        tile_op_set_text(l->f, tile_value_def(l->f, other), TILE_ATTR_kind, "xor");
        for (unsigned n = 0; n < width; n++) order[n] = n ^ plan->lanes[i].reg;
        sum = combine(c, sum, reorder(c, other, order, width));
    }
    return sum;
}

static const tile_type *laid_out(const combining *c, const tile_type *like,
                                 const tile_layout *layout) {
    tile_context *context = tile_function_context(c->l->f);
    tile_type draft = *like;
    draft.scalar = c->scalar;
    for (unsigned d = 0; d < draft.rank; d++)
        draft.dims[d] = tile_expr_int(context, tile_layout_extent(layout, d));
    draft.layout = layout;
    return tile_type_get(context, &draft);
}

static tile_value combine_warps(const combining *c, const tile_reduce_plan *plan, tile_op op,
                                const tile_type *to, tile_value sum) {
    unsigned count;
    lowering *l = c->l;
    const tile_value *buffer = tile_op_segment(&l->old, op, 1, &count);
    tile_layout gathered = tile_reduce_gathered(plan, to->layout);
    if (tile_sync_is_explicit(&l->old, op)) lower_end_in_sync(l);
    lower_store_shared(l, sum, laid_out(c, to, &plan->partial), buffer, 1);
    tile_build_sync_for(&l->builder, l->who);
    sum = lower_load_shared(l, buffer, 1, laid_out(c, to, &gathered), true);
    tile_reduce_plan rest = tile_reduce_make_plan(&gathered, plan->axis);
    return combine_own(c, &rest, sum);
}

tile_value lower_reduce(lowering *l, tile_op op) {
    tile_reduction reduction;
    tile_value src = tile_op_operand(&l->old, op, 0), sum = lower_mapped(l, src);
    const tile_type *from = tile_value_type(&l->old, src),
                    *to = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    tile_reduction_of(&l->old, op, &reduction);
    combining c = {l, tile_kind_opcode(reduction.kind), reduction.kind,
                   tile_reduction_scalar(reduction.kind, from->scalar)};
    tile_reduce_plan plan = tile_reduce_make_plan(from->layout, reduction.axis);
    if (c.scalar != from->scalar)
        sum = tile_build_cast(&l->builder, sum, vector_of(&c, tile_type_registers(from)));
    sum = combine_lanes(&c, &plan, combine_own(&c, &plan, sum));
    if (tile_reduce_exchanges(&plan, to->layout)) sum = combine_warps(&c, &plan, op, to, sum);
    if (c.scalar == from->scalar) return sum;
    return tile_build_cast(
        &l->builder, sum,
        tile_type_vector(tile_function_context(l->f), from->scalar, tile_type_registers(to)));
}
