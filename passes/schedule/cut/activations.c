/* Activations that a compute writes with other functions.
 *
 * The hyperbolic tangent of a softplus, as in mish:
 *
 *     %y = %x * tanh(log(1.0 + exp(%x)))
 *
 * It is rational in e^x: with s = sigmoid(x), 1 + e^x = 1 / (1 - s), and
 *
 *     tanh(log(1 + e^x))  =  s (2 - s) / (1 + (1 - s)^2)
 *
 * Nothing cancels where the result is small, since s is as small. One exponential and two
 * quotients, 30 instructions for each element, take the place of an exponential, a logarithm and a
 * hyperbolic tangent, 70 instructions. A multiprocessor of an H200 computes 57 of them while its
 * memory moves an element of two f32 arrays.
 *
 * The sigmoid, as in swish, of 16-bit floats:
 *
 *     %y = 1.0 / (1.0 + exp(-%x))
 *
 * A kernel computes it in f32 and rounds the result to 16 bits. A correctly rounded f32 quotient,
 * which branches, would not change that result by more than the rounding of f32 does. So an
 * approximation takes the place of 22 instructions and two branches. Of f16, results that f32 has
 * no normal number for are zero, and the special function unit computes it in four instructions. */
#include "passes/schedule/cut/cut.h"
#include "passes/schedule/cut/online.h"

static bool is_number_of(schedule *s, tile_value value, double wanted) {
    double number;
    return sched_is_number(s, value, &number) && number == wanted;
}

/* The operand of an operation of this kind without attributes; none if the value is another. */
static tile_value operand_of(const schedule *s, tile_value value, tile_opcode opcode) {
    tile_op op = tile_value_def(s->compute, value);
    bool fits = op.id && tile_op_opcode(s->compute, op) == opcode &&
                !tile_op_at(s->compute, op)->attr_count;
    return fits ? tile_first_operand(s->compute, op) : TILE_NO_VALUE;
}

/* x if the value is exp(x) + 1. */
static tile_value exponent_of_sum(schedule *s, tile_value value) {
    tile_op op = tile_value_def(s->compute, value);
    if (!operand_of(s, value, TILE_OP_add).id) return TILE_NO_VALUE;
    tile_value a = tile_operand_lhs(s->compute, op), b = tile_operand_rhs(s->compute, op);
    if (is_number_of(s, b, 1)) return operand_of(s, a, TILE_OP_exp);
    return is_number_of(s, a, 1) ? operand_of(s, b, TILE_OP_exp) : TILE_NO_VALUE;
}

/* x if the value is softplus(x) without a threshold. */
static tile_value source_of_sum(schedule *s, tile_value value) {
    tile_value of = operand_of(s, value, TILE_OP_softplus);
    if (of.id) return of;
    of = operand_of(s, value, TILE_OP_log1p);
    if (of.id) return operand_of(s, of, TILE_OP_exp);
    of = operand_of(s, value, TILE_OP_log);
    return of.id ? exponent_of_sum(s, of) : TILE_NO_VALUE;
}

/* x if the value is softplus(x), or select(x > c, x, softplus(x)) for a c beyond which the
 * hyperbolic tangent of both is 1. */
static tile_value source_of_softplus(schedule *s, tile_value value) {
    enum { FAR = 10 };
    const tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    double threshold;
    if (!operand_of(s, value, TILE_OP_select).id) return source_of_sum(s, value);
    tile_op above = tile_value_def(f, tile_operand_condition(f, op));
    tile_value x = tile_operand_yes(f, op), of = source_of_sum(s, tile_operand_no(f, op));
    bool fits = above.id && of.id == x.id && tile_op_opcode(f, above) == TILE_OP_gt &&
                tile_operand_lhs(f, above).id == x.id &&
                sched_is_number(s, tile_operand_rhs(f, above), &threshold) && threshold >= FAR;
    return fits ? of : TILE_NO_VALUE;
}

/* x of tanh(softplus(x)) for tensors of f32; else none. */
static tile_value find_source(schedule *s, tile_op op) {
    const tile_value result = tile_op_result(s->compute, op, 0);
    if (tile_op_opcode(s->compute, op) != TILE_OP_tanh || tile_op_at(s->compute, op)->attr_count ||
        !sched_is_tensor(s, result) || sched_element(s, result)->scalar != TILE_f32)
        return TILE_NO_VALUE;
    tile_value x = source_of_softplus(s, tile_operand_src(s->compute, op));
    return x.id && sched_type(s, x) == sched_type(s, result) ? x : TILE_NO_VALUE;
}

static tile_value number(schedule *s, tile_builder *b, double value, tile_value like) {
    tile_value one =
        tile_build_constant(b, sched_element(s, like), tile_expr_float(s->context, value));
    return tile_build_splat(b, one, sched_type(s, like));
}

static void expand(schedule *s, tile_op op, tile_value x) {
    tile_builder b = tile_builder_before(s->compute, op);
    b.loc = tile_op_loc(s->compute, op);
    tile_value one = number(s, &b, 1, x), two = number(s, &b, 2, x);
    tile_value part = tile_build_sigmoid(&b, x), rest = tile_build_sub(&b, one, part);
    tile_value high = tile_build_mul(&b, part, tile_build_sub(&b, two, part));
    tile_value low = tile_build_fma(&b, rest, rest, one);
    tile_value quotient = tile_build_div(&b, high, low); /* low: from 1 to 2 */
    tile_op_set_flag(s->compute, tile_value_def(s->compute, quotient), TILE_ATTR_fast);
    sched_replace(s, op, quotient);
}

/* x of 1 / (1 + exp(-x)) for tensors of 16-bit floats, of which nothing else uses the sum; else
 * none. */
static tile_value find_source_of_sigmoid(schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    const tile_value result = tile_op_result(f, op, 0);
    if (tile_op_opcode(f, op) != TILE_OP_div || tile_op_at(f, op)->attr_count ||
        !sched_is_tensor(s, result) || !sched_is_half(sched_element(s, result)) ||
        !is_number_of(s, tile_operand_lhs(f, op), 1))
        return TILE_NO_VALUE;
    const tile_value sum = tile_operand_rhs(f, op), power = exponent_of_sum(s, sum);
    const tile_value x = power.id ? operand_of(s, power, TILE_OP_neg) : TILE_NO_VALUE;
    bool alone = sched_only_user(s, sum).id == op.id;
    return x.id && alone && sched_type(s, x) == sched_type(s, result) ? x : TILE_NO_VALUE;
}

static void expand_sigmoid(schedule *s, tile_op op, tile_value x) {
    tile_builder b = tile_builder_before(s->compute, op);
    b.loc = tile_op_loc(s->compute, op);
    tile_value sigmoid = tile_build_sigmoid(&b, x);
    if (sched_element(s, x)->scalar == TILE_f16)
        tile_op_set_flag(s->compute, tile_value_def(s->compute, sigmoid), TILE_ATTR_fast);
    sched_replace(s, op, sigmoid);
}

void sched_simplify_activations(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        found |= find_source(s, op).id != 0 || find_source_of_sigmoid(s, op).id != 0;
    if (!found) return;
    sched_clone_compute(s);
    const uint32_t count = (uint32_t)s->compute->op_count;
    for (uint32_t id = 1; id < count; id++) {
        tile_op op = {id};
        if (!s->compute->ops[id].opcode) continue;
        tile_value x = find_source(s, op);
        if (x.id) expand(s, op, x);
        x = x.id ? TILE_NO_VALUE : find_source_of_sigmoid(s, op);
        if (x.id) expand_sigmoid(s, op, x);
    }
}
