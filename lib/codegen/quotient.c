/* Quotients of f32 that need no code for subnormal numbers.
 *
 * div.rn.f32 tests each pair of operands and branches to a function for those of which a quotient
 * or remainder may be subnormal. Of a tile's 192 elements in a thread these are 192 branches, and
 * seconds of ptxas. div.approx.f32 scales both operands where the divisor is subnormal: as many
 * instructions as the quotient itself. Three kinds of quotients need neither.
 *
 *   fast        by a sum of a constant and of something that is not negative, as in 1 + e^x
 *   reciprocal  of such a sum, rounded once, if it is then rounded to f16: its subnormals are 0
 * there constant    by a constant, rounded once, if the dividend is a multiple of a number that is
 * not too small: a cast from f16 is a multiple of 2^-24
 *
 * A quotient by a constant c, with y = RN(1 / c), is correctly rounded after one correction:
 *
 *     q = RN(x y)   s = RN(c q - x)   RN(q - s y)
 *
 * A reciprocal is corrected in the same way. s is exact if nothing underflows. It is NaN if x or q
 * is infinite: the smaller of it and the largest number leaves q as it is then. With s instead of
 * -s the sign of a 0 remains.
 *
 * Source: Brisebarre, Muller and Raina, Accelerating correctly rounded floating-point division when
 * the divisor is known in advance, IEEE Transactions on Computers, 2004. */
#include <float.h>
#include <limits.h>
#include <math.h>

#include "lib/codegen/emitter.h"
#include "lib/ir/syntax.h"

/* The number that all elements are; false if it is unknown. */
static bool is_number(const tile_function *f, tile_value value, double *number) {
    int64_t whole;
    tile_op def = tile_value_def(f, value);
    if (def.id && tile_op_opcode(f, def) == TILE_OP_extract)
        def = tile_value_def(f, value = tile_operand_src(f, def));
    if (def.id && tile_op_opcode(f, def) == TILE_OP_splat) value = tile_operand_src(f, def);
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind != TILE_VALUE_CONSTANT) return false;
    if (data->expr->kind == TILE_EXPR_FLOAT) {
        *number = data->expr->number;
        return true;
    }
    if (!tile_expr_is_int(data->expr, &whole)) return false;
    *number = (double)whole;
    return true;
}

/* Returns whether no element is below 0. Elements may be NaN. */
static bool is_not_negative(const tile_function *f, tile_value value, unsigned depth) {
    enum { DEEP = 4 };
    double number;
    if (is_number(f, value, &number)) return number >= 0;
    const tile_op op = tile_value_def(f, value);
    if (!op.id || depth == DEEP) return false;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_abs:
    case TILE_OP_exp:
    case TILE_OP_exp2:
    case TILE_OP_sigmoid: return true;
    case TILE_OP_mul:
        if (tile_operand_lhs(f, op).id == tile_operand_rhs(f, op).id) return true;
        break;
    case TILE_OP_fma:
        if (tile_operand_lhs(f, op).id == tile_operand_rhs(f, op).id)
            return is_not_negative(f, tile_operand_addend(f, op), depth + 1);
        break;
    case TILE_OP_add: break;
    default: return false;
    }
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (!is_not_negative(f, tile_op_operand(f, op, i), depth + 1)) return false;
    return true;
}

/* Returns whether each element is 0x1p-126 or above, or NaN. */
static bool is_normal(const tile_function *f, tile_value value) {
    double number;
    const tile_op op = tile_value_def(f, value);
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_add) return false;
    const tile_value a = tile_operand_lhs(f, op), b = tile_operand_rhs(f, op);
    return (is_number(f, b, &number) && number >= 0x1p-126 && is_not_negative(f, a, 0)) ||
           (is_number(f, a, &number) && number >= 0x1p-126 && is_not_negative(f, b, 0));
}

/* Multiples of 2^n -------------------------------------------------------------------------------
 */

enum { ANY = INT_MIN /* no such n is known */, ZERO = INT_MAX };

/* The largest n such that the number is a multiple of 2^n. */
static int unit_of_number(double number) {
    int exponent;
    if (number == 0) return ZERO;
    if (!isfinite(number)) return ANY;
    double fraction = frexp(number, &exponent);
    while (fraction != floor(fraction)) fraction *= 2, exponent--;
    return exponent;
}

/* Exact multiples of 2^unit that are rounded are multiples of 2^unit, unless they are subnormal. */
static int unit_of(const tile_function *f, tile_value value, unsigned depth) {
    enum { DEEP = 8, LEAST = -100, UNIT_OF_f16 = -24 };
    double number;
    if (is_number(f, value, &number)) return unit_of_number(number);
    const tile_op op = tile_value_def(f, value);
    if (!op.id || depth == DEEP) return ANY;
    int units[2] = {ZERO, ZERO};
    const unsigned count = tile_op_operand_count(f, op);
    const tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_cast) {
        const tile_type *from = tile_value_type(f, tile_operand_src(f, op));
        return from->scalar == TILE_f16 ? UNIT_OF_f16 : ANY;
    }
    const bool is_known = opcode == TILE_OP_add || opcode == TILE_OP_sub || opcode == TILE_OP_mul ||
                          opcode == TILE_OP_min || opcode == TILE_OP_max || opcode == TILE_OP_abs ||
                          opcode == TILE_OP_neg;
    if (!is_known) return ANY;
    for (unsigned i = 0; i < count; i++)
        if ((units[i] = unit_of(f, tile_op_operand(f, op, i), depth + 1)) == ANY) return ANY;
    if (opcode != TILE_OP_mul) return units[0] < units[1] ? units[0] : units[1];
    if (units[0] == ZERO || units[1] == ZERO) return ZERO;
    const int unit = units[0] + units[1];
    return unit < LEAST ? ANY : unit;
}

/* Quotients -------------------------------------------------------------------------------------
 */

static LLVMValueRef call_of(tile_emitter *e, tile_machine machine, LLVMValueRef a, LLVMValueRef b,
                            LLVMValueRef c) {
    LLVMValueRef args[] = {a, b, c};
    return tile_machine_call(e, machine, args, 1 + (b != NULL) + (c != NULL));
}

/* q - (c q - x) y */
static LLVMValueRef correct(tile_emitter *e, LLVMValueRef q, LLVMValueRef c, LLVMValueRef x,
                            LLVMValueRef y) {
    LLVMBuilderRef b = e->builder;
    const LLVMValueRef most = LLVMConstReal(LLVMTypeOf(q), (double)FLT_MAX);
    LLVMValueRef s = call_of(e, TILE_MACHINE_fma, c, q, LLVMBuildFNeg(b, x, ""));
    s = call_of(e, TILE_MACHINE_float_min, s, most, NULL);
    return call_of(e, TILE_MACHINE_fma, s, LLVMBuildFNeg(b, y, ""), q);
}

static LLVMValueRef divide_by_constant(tile_emitter *e, double number, const LLVMValueRef *args) {
    const LLVMValueRef y = LLVMConstReal(LLVMTypeOf(args[0]), (double)(1 / (float)number));
    return correct(e, LLVMBuildFMul(e->builder, args[0], y, ""), args[1], args[0], y);
}

/* Returns whether all operations that use the value cast it to f16. */
static bool becomes_f16(const tile_function *f, tile_value value) {
    bool any = false;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (!tile_op_uses(f, op, value)) continue;
        const bool casts = tile_op_opcode(f, op) == TILE_OP_cast;
        if (!casts || tile_value_type(f, tile_op_result(f, op, 0))->scalar != TILE_f16)
            return false;
        any = true;
    }
    return any;
}

LLVMValueRef tile_emit_quotient(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    static const double most_divisor = 0x1p20;
    const tile_function *f = e->f;
    double number;
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_div ||
        LLVMGetTypeKind(LLVMTypeOf(args[0])) != LLVMFloatTypeKind)
        return NULL;
    const tile_value dividend = tile_operand_lhs(f, op), divisor = tile_operand_rhs(f, op);
    const bool is_fast = tile_op_has_attr(f, op, TILE_ATTR_fast);
    if (!is_fast && is_number(f, divisor, &number) && number >= 1 && number <= most_divisor &&
        unit_of(f, dividend, 0) != ANY)
        return divide_by_constant(e, number, args);
    if (!is_normal(f, divisor)) return NULL;
    if (!is_fast && (!is_number(f, dividend, &number) || number != 1 ||
                     !becomes_f16(f, tile_op_result(f, op, 0))))
        return NULL;
    const LLVMValueRef y = call_of(e, TILE_MACHINE_reciprocal, args[1], NULL, NULL);
    return is_fast ? LLVMBuildFMul(e->builder, args[0], y, "") : correct(e, y, args[1], args[0], y);
}
