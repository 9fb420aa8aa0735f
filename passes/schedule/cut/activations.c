/* Activations that a compute writes with other functions.
 *
 * The hyperbolic tangent of a softplus, as in mish:
 *
 *     %y = %x * tanh(log(1.0 + exp(%x)))
 *
 * It is rational in w = e^x:
 *
 *     tanh(log(1 + w))  =  t / (t + 2),  t = w (w + 2)
 *
 * Nothing cancels where the result is small, since t is as small. Above 20 the result is 1, so x is
 * limited there, where w^2 is finite. One exponential and one quotient, 8 instructions for each
 * element, take the place of an exponential, a logarithm and a hyperbolic tangent, 70 instructions.
 * A multiprocessor of an H200 computes 57 of them while its memory moves an element of two f32
 * arrays.
 *
 * The relative error of a fast exponential grows with |x|, by |x| 2^-23. The rounding of 1 + w is
 * larger than that below 0: 2^-24 / w. So the exponential is fast if the softplus is written as
 * log(1 + e^x), which is not accurate far below 0 either.
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

/* x if the value is softplus(x) without a threshold. *rounds: the sum of 1 and e^x is rounded. */
static tile_value source_of_sum(schedule *s, tile_value value, bool *rounds) {
    tile_value of = operand_of(s, value, TILE_OP_softplus);
    if (of.id) return of;
    of = operand_of(s, value, TILE_OP_log1p);
    if (of.id) return operand_of(s, of, TILE_OP_exp);
    of = operand_of(s, value, TILE_OP_log);
    *rounds = of.id != 0;
    return of.id ? exponent_of_sum(s, of) : TILE_NO_VALUE;
}

/* x if the value is softplus(x), or select(x > c, x, softplus(x)) for a c beyond which the
 * hyperbolic tangent of both is 1. */
static tile_value source_of_softplus(schedule *s, tile_value value, bool *rounds) {
    enum { FAR = 10 };
    const tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    double threshold;
    if (!operand_of(s, value, TILE_OP_select).id) return source_of_sum(s, value, rounds);
    tile_op above = tile_value_def(f, tile_operand_condition(f, op));
    tile_value x = tile_operand_yes(f, op), of = source_of_sum(s, tile_operand_no(f, op), rounds);
    bool fits = above.id && of.id == x.id && tile_op_opcode(f, above) == TILE_OP_gt &&
                tile_operand_lhs(f, above).id == x.id &&
                sched_is_number(s, tile_operand_rhs(f, above), &threshold) && threshold >= FAR;
    return fits ? of : TILE_NO_VALUE;
}

/* x of tanh(softplus(x)) for tensors of f32; else none. */
static tile_value find_source(schedule *s, tile_op op, bool *rounds) {
    const tile_value result = tile_op_result(s->compute, op, 0);
    if (tile_op_opcode(s->compute, op) != TILE_OP_tanh || tile_op_at(s->compute, op)->attr_count ||
        !sched_is_tensor(s, result) || sched_element(s, result)->scalar != TILE_f32)
        return TILE_NO_VALUE;
    tile_value x = source_of_softplus(s, tile_operand_src(s->compute, op), rounds);
    return x.id && sched_type(s, x) == sched_type(s, result) ? x : TILE_NO_VALUE;
}

static tile_value number(schedule *s, tile_builder *b, double value, tile_value like) {
    tile_value one =
        tile_build_constant(b, sched_element(s, like), tile_expr_float(s->context, value));
    return tile_build_splat(b, one, sched_type(s, like));
}

static void expand(schedule *s, tile_op op, tile_value x, bool rounds) {
    enum { MOST = 20 /* of the exponent: the result is 1 from here on */ };
    tile_builder b = tile_builder_before(s->compute, op);
    b.loc = tile_op_loc(s->compute, op);
    tile_value two = number(s, &b, 2, x), limited = tile_build_min(&b, x, number(s, &b, MOST, x));
    tile_op_set_flag(s->compute, tile_value_def(s->compute, limited), TILE_ATTR_nan);
    tile_value w = tile_build_exp(&b, limited);
    if (rounds) tile_op_set_flag(s->compute, tile_value_def(s->compute, w), TILE_ATTR_fast);
    tile_value t = tile_build_fma(&b, w, w, tile_build_add(&b, w, w));
    tile_value quotient = tile_build_div(&b, t, tile_build_add(&b, t, two)); /* by 2 to 2^58 */
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
    bool found = false, rounds = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        found |= find_source(s, op, &rounds).id != 0 || find_source_of_sigmoid(s, op).id != 0;
    if (!found) return;
    sched_clone_compute(s);
    const uint32_t count = (uint32_t)s->compute->op_count;
    for (uint32_t id = 1; id < count; id++) {
        tile_op op = {id};
        if (!s->compute->ops[id].opcode) continue;
        rounds = false;
        tile_value x = find_source(s, op, &rounds);
        if (x.id) expand(s, op, x, rounds);
        x = x.id ? TILE_NO_VALUE : find_source_of_sigmoid(s, op);
        if (x.id) expand_sigmoid(s, op, x);
    }
}
