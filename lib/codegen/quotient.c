/* Fast quotients by numbers that are not subnormal.
 *
 * div.approx.f32 scales both operands where the divisor is subnormal: a comparison and two products
 * for each element, as many instructions as the quotient itself. The divisors of activations are
 * sums of a constant and of something that is not negative, as in 1 + e^x. */
#include "lib/codegen/emitter.h"
#include "lib/ir/syntax.h"

/* The number that all elements are; false if it is unknown. */
static bool is_number(const tile_function *f, tile_value value, double *number) {
    int64_t whole;
    tile_op def = tile_value_def(f, value);
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

LLVMValueRef tile_emit_quotient(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    if (!op.id || tile_op_opcode(e->f, op) != TILE_OP_div ||
        !tile_op_has_attr(e->f, op, TILE_ATTR_fast) ||
        LLVMGetTypeKind(LLVMTypeOf(args[0])) != LLVMFloatTypeKind ||
        !is_normal(e->f, tile_operand_rhs(e->f, op)))
        return NULL;
    LLVMValueRef divisor[] = {args[1]};
    return LLVMBuildFMul(e->builder, args[0],
                         tile_machine_call(e, TILE_MACHINE_reciprocal, divisor, 1), "");
}
