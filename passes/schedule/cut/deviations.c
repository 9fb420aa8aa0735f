/* Sums of squared deviations from a value that depends on other rows, as in a batch norm:
 *
 *     %t = reduce_add(reduce_add(%x, axis = a), axis = b) / count
 *     %v = reduce_add(reduce_add((%x - %t)^2, axis = a), axis = b) / count
 *
 * The kernel of the inner sum of %v would read %x again after that of %t. With the mean p of the
 * row of L elements along a, whatever %t is,
 *
 *     reduce_add((%x - %t)^2, axis = a)  =  reduce_add((%x - p)^2, axis = a) + L * (p - %t)^2
 *
 * so that one kernel computes both inner sums from the elements that it holds, and what depends on
 * %t has one element per row. The terms are not negative, so that nothing cancels (partial.c). */
#include "lib/builder/builder.h"
#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "passes/schedule/cut/cut.h"

/* An inner sum of %v. */
typedef struct deviation {
    tile_value x, from; /* from: %t, before it is broadcast */
    tile_op sum;        /* the inner sum of %t */
    unsigned axis;
    int64_t length; /* L */
} deviation;

static bool is_sum(const schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op) == TILE_OP_reduce && !sched_has_user_tile(s, op) &&
           tile_op_word(s->compute, op, TILE_ATTR_kind) == TILE_WORD_kind_add;
}

/* The operands of an operation without attributes; none of others. */
static bool is_plain(const schedule *s, tile_op op, tile_opcode opcode) {
    return op.id && tile_op_opcode(s->compute, op) == opcode &&
           !tile_op_at(s->compute, op)->attr_count;
}

/* The sum of x along the axis that is not of one row only: another reduction, of which `from`
 * depends, adds up its results. */
static tile_op find_sum(schedule *s, tile_value x, unsigned axis, tile_value from) {
    const tile_function *f = s->compute;
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (!is_sum(s, op) || tile_operand_src(f, op).id != x.id || sched_axis(s, op) != axis)
            continue;
        const tile_value rows = tile_op_result(f, op, 0);
        TILE_FOR_EACH_OP (f, outer, f->body)
            if (sched_is_reduction(s, outer) && outer.id != op.id && sched_axis(s, outer) != axis &&
                sched_is_computed_from(s, tile_operand_src(f, outer), rows) &&
                sched_is_computed_from(s, from, tile_op_result(f, outer, 0)))
                return op;
    }
    return TILE_NO_OP;
}

static bool find_deviation(schedule *s, tile_op op, deviation *d) {
    const tile_function *f = s->compute;
    if (!is_sum(s, op)) return false;
    tile_op def = tile_value_def(f, tile_operand_src(f, op));
    if (!is_plain(s, def, TILE_OP_mul) ||
        tile_operand_lhs(f, def).id != tile_operand_rhs(f, def).id)
        return false;
    def = tile_value_def(f, tile_operand_lhs(f, def));
    if (!is_plain(s, def, TILE_OP_sub)) return false;
    d->x = tile_operand_lhs(f, def);
    d->from = sched_strip_broadcasts(s, tile_operand_rhs(f, def));
    d->axis = (unsigned)sched_axis(s, op);
    const tile_type *type = sched_type(s, d->x), *from = sched_type(s, d->from);
    if (type->kind != TILE_TYPE_TENSOR || type->scalar != TILE_f32 || type->param ||
        from->kind != TILE_TYPE_TENSOR || from->rank != type->rank ||
        !tile_expr_is(sched_dim(s, from, d->axis), 1))
        return false;
    d->length = sched_constant(sched_dim(s, type, d->axis));
    d->sum = d->length > 1 ? find_sum(s, d->x, d->axis, d->from) : TILE_NO_OP;
    return d->sum.id;
}

/* A constant with the dims of `like`. */
static tile_value number(schedule *s, tile_builder *b, double value, tile_value like) {
    tile_value one =
        tile_build_constant(b, sched_element(s, like), tile_expr_float(s->context, value));
    return tile_build_splat(b, one, sched_type(s, like));
}

static void split(schedule *s, tile_op op, const deviation *d) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    const tile_value sum = tile_op_result(f, d->sum, 0);
    tile_value mean = tile_build_mul(&b, sum, number(s, &b, 1.0 / (double)d->length, sum));
    tile_value near = tile_build_sub(&b, d->x, tile_build_broadcast(&b, mean, sched_type(s, d->x)));
    tile_value own = sched_reduce(s, &b, tile_build_mul(&b, near, near), d->axis, "add");
    tile_value far =
        tile_build_sub(&b, mean, tile_build_broadcast(&b, d->from, sched_type(s, mean)));
    far = tile_build_mul(&b, tile_build_mul(&b, far, far), number(s, &b, (double)d->length, far));
    sched_replace(s, op, tile_build_add(&b, own, far));
}

void sched_split_deviations(schedule *s) {
    deviation d;
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= find_deviation(s, op, &d);
    if (!found) return;
    sched_clone_compute(s);
    const uint32_t count = (uint32_t)s->compute->op_count;
    for (uint32_t id = 1; id < count; id++)
        if (s->compute->ops[id].opcode && find_deviation(s, (tile_op){id}, &d))
            split(s, (tile_op){id}, &d);
}
