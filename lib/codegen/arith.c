/* Arithmetic on parts: what ops.def promises, made from LLVM instructions whose undefined cases
 * (division by zero, the smallest integer by -1, too long shifts) are kept away. */
#include "lib/codegen/emitter.h"

static bool is_float(LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) != LLVMIntegerTypeKind;
}

static bool is_truth(LLVMValueRef value) {
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 1;
}

static LLVMValueRef splat_int(LLVMTypeRef type, int64_t value) {
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return tile_llvm_int(type, value);
    LLVMValueRef one = tile_llvm_int(LLVMGetElementType(type), value), pair[2] = {one, one};
    return LLVMConstVector(pair, 2);
}

/* {fast} lets LLVM contract and approximate; it does not let it forget about NaN or infinity. */
static LLVMValueRef mark_fast(const tile_emitter *e, tile_op op, LLVMValueRef value) {
    if (tile_op_has_attr(e->f, op, TILE_ATTR_fast) && LLVMIsAInstruction(value) &&
        LLVMCanValueUseFastMathFlags(value))
        LLVMSetFastMathFlags(value, LLVMFastMathAllowContract | LLVMFastMathAllowReciprocal |
                                        LLVMFastMathApproxFunc);
    return value;
}

/* Integers ------------------------------------------------------------------------------------- */

/* 0: not a constant power of two that is at least 1. */
static uint64_t power_of_two(LLVMValueRef value) {
    if (!LLVMIsAConstantInt(value)) return 0;
    int64_t n = LLVMConstIntGetSExtValue(value);
    return n > 0 && (n & (n - 1)) == 0 ? (uint64_t)n : 0;
}

/* A divisor without 0 and -1, for which LLVM's division is undefined. */
static LLVMValueRef safe_divisor(tile_emitter *e, LLVMValueRef divisor) {
    LLVMTypeRef type = LLVMTypeOf(divisor);
    LLVMValueRef one = splat_int(type, 1);
    LLVMValueRef above = LLVMBuildAdd(e->builder, divisor, one, "");
    LLVMValueRef bad = LLVMBuildICmp(e->builder, LLVMIntULT, above, splat_int(type, 2), "");
    return LLVMBuildSelect(e->builder, bad, one, divisor, "");
}

static LLVMValueRef divide(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef quotient = LLVMBuildSDiv(e->builder, a, safe_divisor(e, b), "");
    LLVMValueRef minus = LLVMBuildICmp(e->builder, LLVMIntEQ, b, splat_int(LLVMTypeOf(b), -1), "");
    return LLVMBuildSelect(e->builder, minus, LLVMBuildNeg(e->builder, a, ""), quotient, "");
}

static LLVMValueRef remainder_of(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildSRem(e->builder, a, safe_divisor(e, b), "");
}

static LLVMValueRef floor_modulo(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef type = LLVMTypeOf(a);
    uint64_t power = power_of_two(b);
    if (power) return LLVMBuildAnd(e->builder, a, splat_int(type, (int64_t)(power - 1)), "");
    LLVMValueRef zero = splat_int(type, 0);
    LLVMValueRef left = remainder_of(e, a, b);
    LLVMValueRef some = LLVMBuildICmp(e->builder, LLVMIntNE, left, zero, "");
    LLVMValueRef mixed = LLVMBuildXor(e->builder, left, b, "");
    LLVMValueRef differ = LLVMBuildICmp(e->builder, LLVMIntSLT, mixed, zero, "");
    LLVMValueRef wrong = LLVMBuildAnd(e->builder, some, differ, "");
    return LLVMBuildAdd(e->builder, left, LLVMBuildSelect(e->builder, wrong, b, zero, ""), "");
}

static LLVMValueRef ceil_divide(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef zero = splat_int(type, 0), floor, left;
    uint64_t power = power_of_two(b);
    if (power) {
        unsigned shift = 0;
        while (power >> shift > 1) shift++;
        floor = LLVMBuildAShr(e->builder, a, splat_int(type, shift), "");
        left = LLVMBuildAnd(e->builder, a, splat_int(type, (int64_t)(power - 1)), "");
    } else {
        floor = divide(e, a, b);
        left = LLVMBuildSub(e->builder, a, LLVMBuildMul(e->builder, floor, b, ""), "");
    }
    /* what is left over has the sign of a: a quotient below zero was rounded up already */
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSGT, left, zero, "");
    return LLVMBuildAdd(e->builder, floor, LLVMBuildZExt(e->builder, more, type, ""), "");
}

static LLVMValueRef shift_amount(tile_emitter *e, LLVMValueRef amount) {
    LLVMTypeRef type = LLVMTypeOf(amount);
    LLVMTypeRef scalar =
        LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    return LLVMBuildAnd(e->builder, amount, splat_int(type, LLVMGetIntTypeWidth(scalar) - 1), "");
}

/* Truth values are 0 and 1, where LLVM's signed operations see 0 and -1. */
static LLVMValueRef truth_op(tile_emitter *e, tile_opcode opcode, LLVMValueRef a, LLVMValueRef b) {
    switch (opcode) {
    case TILE_OP_add:
    case TILE_OP_sub:
    case TILE_OP_xor: return LLVMBuildXor(e->builder, a, b, "");
    case TILE_OP_mul:
    case TILE_OP_min:
    case TILE_OP_and: return LLVMBuildAnd(e->builder, a, b, "");
    case TILE_OP_max:
    case TILE_OP_or: return LLVMBuildOr(e->builder, a, b, "");
    case TILE_OP_rem:
    case TILE_OP_mod: return tile_llvm_int(e->i1, 0);
    default: return a; /* divided by 1, shifted by 0 */
    }
}

LLVMValueRef tile_emit_int_op(tile_emitter *e, tile_opcode opcode, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef both[] = {a, b};
    if (is_truth(a)) return truth_op(e, opcode, a, b);
    switch (opcode) {
    case TILE_OP_add: return LLVMBuildAdd(e->builder, a, b, "");
    case TILE_OP_sub: return LLVMBuildSub(e->builder, a, b, "");
    case TILE_OP_mul: return LLVMBuildMul(e->builder, a, b, "");
    case TILE_OP_div: return divide(e, a, b);
    case TILE_OP_rem: return remainder_of(e, a, b);
    case TILE_OP_mod: return floor_modulo(e, a, b);
    case TILE_OP_ceildiv: return ceil_divide(e, a, b);
    case TILE_OP_min: return tile_machine_call(e, TILE_MACHINE_int_min, both, 2);
    case TILE_OP_max: return tile_machine_call(e, TILE_MACHINE_int_max, both, 2);
    case TILE_OP_and: return LLVMBuildAnd(e->builder, a, b, "");
    case TILE_OP_or: return LLVMBuildOr(e->builder, a, b, "");
    case TILE_OP_xor: return LLVMBuildXor(e->builder, a, b, "");
    case TILE_OP_shl: return LLVMBuildShl(e->builder, a, shift_amount(e, b), "");
    default: return LLVMBuildAShr(e->builder, a, shift_amount(e, b), "");
    }
}

/* Floats --------------------------------------------------------------------------------------- */

static LLVMValueRef float_op(tile_emitter *e, tile_opcode opcode, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef both[] = {a, b};
    switch (opcode) {
    case TILE_OP_add: return LLVMBuildFAdd(e->builder, a, b, "");
    case TILE_OP_sub: return LLVMBuildFSub(e->builder, a, b, "");
    case TILE_OP_mul: return LLVMBuildFMul(e->builder, a, b, "");
    case TILE_OP_div: return LLVMBuildFDiv(e->builder, a, b, "");
    case TILE_OP_min: return tile_machine_call(e, TILE_MACHINE_float_min, both, 2);
    default: return tile_machine_call(e, TILE_MACHINE_float_max, both, 2);
    }
}

void tile_emit_arith(tile_emitter *e, tile_op op) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *a = tile_get_parts(e, tile_op_operand(e->f, op, 0));
    LLVMValueRef *b = tile_get_parts(e, tile_op_operand(e->f, op, 1));
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = is_float(a[i]) ? mark_fast(e, op, float_op(e, opcode, a[i], b[i]))
                                  : tile_emit_int_op(e, opcode, a[i], b[i]);
    tile_set_parts(e, result, parts);
}

static LLVMValueRef compare(tile_emitter *e, tile_opcode opcode, LLVMValueRef a, LLVMValueRef b) {
    static const struct {
        LLVMIntPredicate integer, truth;
        LLVMRealPredicate real;
    } predicates[] = {
        {LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},   {LLVMIntNE, LLVMIntNE, LLVMRealUNE},
        {LLVMIntSLT, LLVMIntULT, LLVMRealOLT}, {LLVMIntSLE, LLVMIntULE, LLVMRealOLE},
        {LLVMIntSGT, LLVMIntUGT, LLVMRealOGT}, {LLVMIntSGE, LLVMIntUGE, LLVMRealOGE},
    };
    _Static_assert(TILE_OP_ge - TILE_OP_eq == 5, "eq ne lt le gt ge stand in a row");
    unsigned row = (unsigned)(opcode - TILE_OP_eq);
    if (is_float(a)) return LLVMBuildFCmp(e->builder, predicates[row].real, a, b, "");
    LLVMIntPredicate predicate = is_truth(a) ? predicates[row].truth : predicates[row].integer;
    return LLVMBuildICmp(e->builder, predicate, a, b, "");
}

/* i1 is never paired, so the operands are taken element by element. */
void tile_emit_compare(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    tile_value a = tile_op_operand(e->f, op, 0), b = tile_op_operand(e->f, op, 1);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = compare(e, tile_op_opcode(e->f, op), tile_get_element(e, a, i),
                           tile_get_element(e, b, i));
    tile_set_parts(e, result, parts);
}

/* 16-bit floats take the way through f32: their own instructions are missing or less exact. */
static LLVMValueRef through_f32(tile_emitter *e, tile_op op, tile_machine machine,
                                LLVMValueRef src) {
    LLVMTypeRef type = LLVMTypeOf(src);
    bool pair = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeKind kind = LLVMGetTypeKind(pair ? LLVMGetElementType(type) : type);
    bool narrow = kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->llvm);
    if (narrow) src = LLVMBuildFPExt(e->builder, src, pair ? LLVMVectorType(f32, 2) : f32, "");
    LLVMValueRef value = mark_fast(e, op, tile_machine_call(e, machine, &src, 1));
    return narrow ? LLVMBuildFPTrunc(e->builder, value, type, "") : value;
}

static LLVMValueRef unary(tile_emitter *e, tile_op op, LLVMValueRef src) {
    LLVMValueRef with_flag[] = {src, tile_llvm_int(e->i1, 0)};
    switch (tile_op_opcode(e->f, op)) {
    case TILE_OP_neg:
        if (is_float(src)) return LLVMBuildFNeg(e->builder, src, "");
        return is_truth(src) ? src : LLVMBuildNeg(e->builder, src, "");
    case TILE_OP_not: return LLVMBuildNot(e->builder, src, "");
    case TILE_OP_abs:
        if (is_float(src)) return tile_machine_call(e, TILE_MACHINE_float_abs, with_flag, 1);
        return is_truth(src) ? src : tile_machine_call(e, TILE_MACHINE_int_abs, with_flag, 2);
    case TILE_OP_sqrt: return through_f32(e, op, TILE_MACHINE_sqrt, src);
    default: return through_f32(e, op, TILE_MACHINE_exp2, src);
    }
}

void tile_emit_unary(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *src = tile_get_parts(e, tile_op_operand(e->f, op, 0));
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++) parts[i] = unary(e, op, src[i]);
    tile_set_parts(e, result, parts);
}

void tile_emit_fma(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++) {
        LLVMValueRef args[3];
        for (unsigned k = 0; k < 3; k++)
            args[k] = tile_get_parts(e, tile_op_operand(e->f, op, k))[i];
        parts[i] = tile_machine_call(e, TILE_MACHINE_fma, args, 3);
    }
    tile_set_parts(e, result, parts);
}

void tile_emit_select(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0), condition = tile_op_operand(e->f, op, 0);
    tile_value yes = tile_op_operand(e->f, op, 1), no = tile_op_operand(e->f, op, 2);
    const tile_type *type = tile_value_type(e->f, result);
    bool whole = tile_value_type(e->f, condition)->kind == TILE_TYPE_SCALAR;
    if (whole) {
        LLVMValueRef *parts = tile_new_parts(e, type), test = tile_get_scalar(e, condition);
        for (unsigned i = 0; i < tile_part_count(type); i++)
            parts[i] = LLVMBuildSelect(e->builder, test, tile_get_parts(e, yes)[i],
                                       tile_get_parts(e, no)[i], "");
        tile_set_parts(e, result, parts);
        return;
    }
    unsigned count = (unsigned)tile_type_elements(type);
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    for (unsigned i = 0; i < count; i++)
        elements[i] = LLVMBuildSelect(e->builder, tile_get_element(e, condition, i),
                                      tile_get_element(e, yes, i), tile_get_element(e, no, i), "");
    tile_set_elements(e, result, elements);
}

/* Casts ---------------------------------------------------------------------------------------- */

static LLVMValueRef cast_from_int(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                                  tile_scalar from, tile_scalar scalar) {
    if (tile_scalar_is_floating(scalar)) {
        /* before sm_90 LLVM goes through f32 and rounds twice; f64 holds every i32 */
        if (scalar == TILE_bf16 && tile_scalar_bits(from) >= 32) {
            src = LLVMBuildSIToFP(e->builder, src, LLVMDoubleTypeInContext(e->llvm), "");
            return LLVMBuildFPTrunc(e->builder, src, to, "");
        }
        return from == TILE_i1 ? LLVMBuildUIToFP(e->builder, src, to, "")
                               : LLVMBuildSIToFP(e->builder, src, to, "");
    }
    if (scalar == TILE_i1)
        return LLVMBuildICmp(e->builder, LLVMIntNE, src, tile_llvm_int(LLVMTypeOf(src), 0), "");
    return LLVMBuildIntCast2(e->builder, src, to, from != TILE_i1, "");
}

static LLVMValueRef cast_from_float(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                                    tile_scalar from, tile_scalar scalar) {
    if (scalar == TILE_i1)
        return LLVMBuildFCmp(e->builder, LLVMRealUNE, src, LLVMConstNull(LLVMTypeOf(src)), "");
    if (!tile_scalar_is_floating(scalar))
        return tile_machine_call_typed(e, TILE_MACHINE_float_to_int, to, &src, 1);
    if (tile_scalar_bits(from) == 16 && tile_scalar_bits(scalar) == 16)
        src = LLVMBuildFPExt(e->builder, src, LLVMFloatTypeInContext(e->llvm), "");
    return LLVMBuildFPCast(e->builder, src, to, "");
}

/* Two f32 become one pair in one instruction, if LLVM sees them as a vector. */
static void cast_pairs(tile_emitter *e, tile_value src, tile_value result) {
    const tile_type *type = tile_value_type(e->f, result);
    LLVMTypeRef wide = LLVMVectorType(LLVMFloatTypeInContext(e->llvm), 2);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++) {
        LLVMValueRef pair = LLVMGetPoison(wide);
        for (unsigned half = 0; half < 2; half++)
            pair = LLVMBuildInsertElement(e->builder, pair, tile_get_element(e, src, 2 * i + half),
                                          tile_llvm_int(e->i32, half), "");
        parts[i] = LLVMBuildFPTrunc(e->builder, pair, tile_part_type(e, type), "");
    }
    tile_set_parts(e, result, parts);
}

void tile_emit_cast(tile_emitter *e, tile_op op) {
    tile_value src = tile_op_operand(e->f, op, 0), result = tile_op_result(e->f, op, 0);
    const tile_type *from = tile_value_type(e->f, src), *type = tile_value_type(e->f, result);
    if (from->scalar == type->scalar) {
        tile_set_parts(e, result, tile_get_parts(e, src));
        return;
    }
    if (from->scalar == TILE_f32 && tile_is_paired(type) && tile_scalar_is_floating(type->scalar)) {
        cast_pairs(e, src, result);
        return;
    }
    unsigned count = (unsigned)tile_type_elements(type);
    LLVMTypeRef to = tile_llvm_scalar(e, type->scalar);
    LLVMValueRef *elements = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef element = tile_get_element(e, src, i);
        elements[i] = tile_scalar_is_floating(from->scalar)
                          ? cast_from_float(e, element, to, from->scalar, type->scalar)
                          : cast_from_int(e, element, to, from->scalar, type->scalar);
    }
    tile_set_elements(e, result, elements);
}
