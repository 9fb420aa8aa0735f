/* Arithmetic on parts: emits the semantics of ops.def as LLVM instructions and avoids their
 * undefined cases (division by zero, the smallest integer divided by -1, shifts by too many bits).
 */
#include <assert.h>

#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"
#include "lib/ir/arith.h"

/* The element type of the operands. */
static tile_scalar operand_scalar(const tile_emitter *e, tile_op op) {
    return tile_value_type(e->f, tile_first_operand(e->f, op))->scalar;
}

static LLVMValueRef splat_int(LLVMTypeRef type, int64_t value) {
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return tile_llvm_int(type, value);
    LLVMValueRef one = tile_llvm_int(LLVMGetElementType(type), value), pair[2] = {one, one};
    return LLVMConstVector(pair, 2);
}

/* {fast} lets LLVM contract and approximate; NaN and infinity must still be handled. */
static LLVMValueRef mark_fast(const tile_emitter *e, tile_op op, LLVMValueRef value) {
    if (tile_op_has_attr(e->f, op, TILE_ATTR_fast) && LLVMIsAInstruction(value) &&
        LLVMCanValueUseFastMathFlags(value))
        LLVMSetFastMathFlags(value, LLVMFastMathAllowContract | LLVMFastMathAllowReciprocal |
                                        LLVMFastMathApproxFunc);
    return value;
}

/* Integers ------------------------------------------------------------------------------------- */

/* Returns 0 if the value is not a constant power of two that is at least 1. */
static uint64_t power_of_two(LLVMValueRef value) {
    if (!LLVMIsAConstantInt(value)) return 0;
    int64_t n = LLVMConstIntGetSExtValue(value);
    return n > 0 && (n & (n - 1)) == 0 ? (uint64_t)n : 0;
}

/* The divisor, with 0 and -1 replaced: LLVM's division is undefined for them. */
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
    /* the remainder has the sign of a: a negative quotient was rounded up already */
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSGT, left, zero, "");
    return LLVMBuildAdd(e->builder, floor, LLVMBuildZExt(e->builder, more, type, ""), "");
}

static LLVMValueRef shift_amount(tile_emitter *e, LLVMValueRef amount) {
    LLVMTypeRef type = LLVMTypeOf(amount);
    LLVMTypeRef scalar =
        LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
    return LLVMBuildAnd(e->builder, amount, splat_int(type, LLVMGetIntTypeWidth(scalar) - 1), "");
}

static LLVMValueRef shift_left(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildShl(e->builder, a, shift_amount(e, b), "");
}

static LLVMValueRef shift_right(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildAShr(e->builder, a, shift_amount(e, b), "");
}

static LLVMValueRef shift_right_unsigned(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildLShr(e->builder, a, shift_amount(e, b), "");
}

/* Unsigned integers: LLVM's division is undefined for a divisor of 0. */
static LLVMValueRef whole_divisor(tile_emitter *e, LLVMValueRef divisor) {
    LLVMTypeRef type = LLVMTypeOf(divisor);
    LLVMValueRef bad = LLVMBuildICmp(e->builder, LLVMIntEQ, divisor, splat_int(type, 0), "");
    return LLVMBuildSelect(e->builder, bad, splat_int(type, 1), divisor, "");
}

static LLVMValueRef divide_whole(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildUDiv(e->builder, a, whole_divisor(e, b), "");
}

static LLVMValueRef remainder_whole(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return LLVMBuildURem(e->builder, a, whole_divisor(e, b), "");
}

static LLVMValueRef ceil_divide_whole(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    LLVMValueRef floor = divide_whole(e, a, b);
    LLVMValueRef exact = LLVMBuildMul(e->builder, floor, b, "");
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntNE, exact, a, "");
    return LLVMBuildAdd(e->builder, floor, LLVMBuildZExt(e->builder, more, LLVMTypeOf(a), ""), "");
}

/* Computes in at least 32 bits. If the minimum of two 16-bit numbers is compared with one of them,
 * ptxas (13.0, sm_90) takes the comparison from VIMNMX.S16x2's predicate, but reads the predicate
 * of the upper half, which holds nothing. */
static LLVMValueRef int_extreme(tile_emitter *e, tile_machine machine, bool is_signed,
                                LLVMValueRef a, LLVMValueRef b) {
    LLVMTypeRef type = LLVMTypeOf(a);
    bool narrow = LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 32;
    LLVMValueRef both[] = {narrow ? LLVMBuildIntCast2(e->builder, a, e->i32, is_signed, "") : a,
                           narrow ? LLVMBuildIntCast2(e->builder, b, e->i32, is_signed, "") : b};
    LLVMValueRef one = tile_machine_call(e, machine, both, 2);
    return narrow ? LLVMBuildTrunc(e->builder, one, type, "") : one;
}

static LLVMValueRef int_least(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return int_extreme(e, TILE_MACHINE_int_min, true, a, b);
}

static LLVMValueRef int_largest(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return int_extreme(e, TILE_MACHINE_int_max, true, a, b);
}

static LLVMValueRef whole_least(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return int_extreme(e, TILE_MACHINE_unsigned_min, false, a, b);
}

static LLVMValueRef whole_largest(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    return int_extreme(e, TILE_MACHINE_unsigned_max, false, a, b);
}

static LLVMValueRef clamp_int(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    if (tile_scalar_is_unsigned(operand_scalar(e, op)))
        return whole_least(e, whole_largest(e, args[0], args[1]), args[2]);
    return int_least(e, int_largest(e, args[0], args[1]), args[2]);
}

static LLVMValueRef clamp_truth(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    (void)op;
    return LLVMBuildAnd(e->builder, LLVMBuildOr(e->builder, args[0], args[1], ""), args[2], "");
}

static LLVMValueRef sign_int(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    LLVMValueRef one = splat_int(type, 1), minus = splat_int(type, -1);
    if (tile_scalar_is_unsigned(operand_scalar(e, op))) return whole_least(e, args[0], one);
    return int_least(e, int_largest(e, args[0], minus), one);
}

/* The integer type with twice the bits. */
static LLVMTypeRef twice_as_wide(LLVMTypeRef type) {
    bool pair = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeRef scalar = pair ? LLVMGetElementType(type) : type;
    scalar = LLVMIntTypeInContext(LLVMGetTypeContext(type), 2 * LLVMGetIntTypeWidth(scalar));
    return pair ? LLVMVectorType(scalar, 2) : scalar;
}

/* LLVM turns this into one mul.hi. */
static LLVMValueRef multiply_upper(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    LLVMTypeRef type = LLVMTypeOf(args[0]), wide = twice_as_wide(type);
    bool is_signed = !tile_op_arith_flags(e->f, op).is_unsigned &&
                     !tile_scalar_is_unsigned(operand_scalar(e, op));
    bool pair = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    unsigned width = LLVMGetIntTypeWidth(pair ? LLVMGetElementType(type) : type);
    LLVMValueRef a = LLVMBuildIntCast2(e->builder, args[0], wide, is_signed, "");
    LLVMValueRef b = LLVMBuildIntCast2(e->builder, args[1], wide, is_signed, "");
    LLVMValueRef product = LLVMBuildMul(e->builder, a, b, "");
    product = LLVMBuildLShr(e->builder, product, splat_int(wide, width), "");
    return LLVMBuildTrunc(e->builder, product, type, "");
}

static LLVMValueRef negate(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    (void)b;
    return LLVMBuildNeg(e->builder, a, "");
}

static LLVMValueRef negate_float(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    (void)b;
    return LLVMBuildFNeg(e->builder, a, "");
}

static LLVMValueRef complement(tile_emitter *e, LLVMValueRef a, LLVMValueRef b) {
    (void)b;
    return LLVMBuildNot(e->builder, a, "");
}

/* Floats --------------------------------------------------------------------------------------- */

/* Calls intrinsics that are not overloaded on each element: they take no pairs. */
static LLVMValueRef call_each(tile_emitter *e, tile_machine machine, LLVMValueRef src) {
    if (LLVMGetTypeKind(LLVMTypeOf(src)) != LLVMVectorTypeKind ||
        tile_machine_is_overloaded(machine))
        return tile_machine_call(e, machine, &src, 1);
    LLVMValueRef result = LLVMGetPoison(LLVMTypeOf(src));
    for (unsigned half = 0; half < 2; half++) {
        LLVMValueRef at = tile_llvm_int(e->i32, half);
        LLVMValueRef element = LLVMBuildExtractElement(e->builder, src, at, "");
        element = tile_machine_call(e, machine, &element, 1);
        result = LLVMBuildInsertElement(e->builder, result, element, at, "");
    }
    return result;
}

/* Computes 16-bit floats in f32. */
static LLVMValueRef through_f32(tile_emitter *e, tile_op op, tile_machine machine,
                                LLVMValueRef src) {
    LLVMTypeRef type = LLVMTypeOf(src);
    bool pair = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
    LLVMTypeKind kind = LLVMGetTypeKind(pair ? LLVMGetElementType(type) : type);
    bool narrow = kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind;
    LLVMTypeRef f32 = LLVMFloatTypeInContext(e->llvm);
    if (narrow) src = LLVMBuildFPExt(e->builder, src, pair ? LLVMVectorType(f32, 2) : f32, "");
    LLVMValueRef value = mark_fast(e, op, call_each(e, machine, src));
    return narrow ? LLVMBuildFPTrunc(e->builder, value, type, "") : value;
}

static LLVMValueRef extreme(tile_emitter *e, tile_op op, tile_machine number, tile_machine nan,
                            const LLVMValueRef *args) {
    LLVMValueRef both[] = {args[0], args[1]};
    return tile_machine_call(e, tile_op_arith_flags(e->f, op).nan ? nan : number, both, 2);
}

static LLVMValueRef least(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    return extreme(e, op, TILE_MACHINE_float_min, TILE_MACHINE_float_min_nan, args);
}

static LLVMValueRef largest(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    return extreme(e, op, TILE_MACHINE_float_max, TILE_MACHINE_float_max_nan, args);
}

/* NaN wins over a number. */
static LLVMValueRef clamp_float(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    LLVMValueRef at_least[] = {args[0], args[1]}, both[] = {NULL, args[2]};
    (void)op;
    both[0] = tile_machine_call(e, TILE_MACHINE_float_max_nan, at_least, 2);
    return tile_machine_call(e, TILE_MACHINE_float_min_nan, both, 2);
}

static LLVMValueRef whole(tile_emitter *e, tile_op op, const LLVMValueRef *args) {
    tile_machine machine = tile_machine_of_rounding(tile_op_arith_flags(e->f, op).rounding);
    return through_f32(e, op, machine, args[0]);
}

/* The rows of arith.def ------------------------------------------------------------------------ */

typedef enum how {
    HOW_NONE,
    HOW_BUILD,
    HOW_CALL,
    HOW_CALL_FLAG,
    HOW_NARROW,
    HOW_NARROW_NO_F64,
    HOW_MATH,
    HOW_COMPARE,
    HOW_MADE,
    HOW_OWN,
    HOW_FIRST,
    HOW_FALSE,
    HOW_SAME,
} how;

typedef struct emission {
    how how;
    LLVMValueRef (*build)(LLVMBuilderRef, LLVMValueRef, LLVMValueRef, const char *);
    LLVMValueRef (*made)(tile_emitter *e, LLVMValueRef a, LLVMValueRef b);
    LLVMValueRef (*own)(tile_emitter *e, tile_op op, const LLVMValueRef *args);
    tile_math_function *math;
    int row; /* a tile_machine, or an LLVM predicate */
} emission;

static const struct {
    unsigned arity; /* 0: EMIT_WHOLE */
    emission integer, natural, truth, real;
    void (*whole)(tile_emitter *e, tile_op op);
} emissions[TILE_OPCODE_LIMIT] = {
#define BUILD(instruction) \
    { .how = HOW_BUILD, .build = LLVMBuild##instruction }
#define CALL(name) \
    { .how = HOW_CALL, .row = TILE_MACHINE_##name }
#define CALL_FLAG(name) \
    { .how = HOW_CALL_FLAG, .row = TILE_MACHINE_##name }
#define NARROW(name) \
    { .how = HOW_NARROW, .row = TILE_MACHINE_##name }
#define NARROW_NO_F64(name) \
    { .how = HOW_NARROW_NO_F64, .row = TILE_MACHINE_##name }
#define MATH(name) \
    { .how = HOW_MATH, .math = tile_math_##name }
#define COMPARE(predicate) \
    { .how = HOW_COMPARE, .row = LLVM##predicate }
#define MADE(function) \
    { .how = HOW_MADE, .made = function }
#define OWN(function) \
    { .how = HOW_OWN, .own = function }
#define FIRST \
    { .how = HOW_FIRST }
#define FALSE \
    { .how = HOW_FALSE }
#define SAME \
    { .how = HOW_SAME }
#define NONE \
    { .how = HOW_NONE }
#define EMIT(name, arity, integers, naturals, truths, floats) \
    [TILE_OP_##name] = {arity, integers, naturals, truths, floats, NULL},
#define EMIT_WHOLE(name) [TILE_OP_##name] = {0, NONE, NONE, NONE, NONE, tile_emit_##name},
#include "lib/codegen/arith.def"
};

/* Every element-wise row of ops.def needs a row in arith.def: a missing one is an undeclared name
 * here. */
enum {
#define EMIT(name, arity, integers, naturals, truths, floats) CODE_OF_##name = 1,
#define EMIT_WHOLE(name) CODE_OF_##name = 1,
#include "lib/codegen/arith.def"
};
#define OP(...)
#define ELEMENTWISE_OP(number, name, ...) _Static_assert(CODE_OF_##name, #name);
#include "tile/ops.def"

static LLVMValueRef call(tile_emitter *e, const emission *row, unsigned arity, bool flag,
                         const LLVMValueRef *args) {
    LLVMValueRef all[4];
    for (unsigned i = 0; i < arity; i++) all[i] = args[i];
    if (flag) all[arity] = tile_llvm_int(e->i1, 0);
    return tile_machine_call(e, (tile_machine)row->row, all, arity + flag);
}

/* Returns whether the dividend cannot be negative and the divisor is at least 1: then the division
 * is shorter and needs no special case for 0 and -1. */
static bool divides_unsigned(tile_emitter *e, tile_op op, tile_opcode opcode) {
    if (!tile_opcode_divides(opcode) || !op.id) return false;
    if (tile_scalar_is_unsigned(operand_scalar(e, op))) return false; /* has code of its own */
    if (!e->ranges) e->ranges = tile_range_analyse(e->f, &e->arena);
    return e->ranges[tile_operand_lhs(e->f, op).id].min >= 0 &&
           e->ranges[tile_operand_rhs(e->f, op).id].min >= 1;
}

/* If the dividend is below twice the divisor, as the stages of a ring buffer are, one subtraction
 * is enough. It is a select, not min(a, a - b), because ptxas then computes a counter once per
 * warp. */
static bool wraps_once(const tile_emitter *e, tile_op op) {
    const tile_range *a = &e->ranges[tile_operand_lhs(e->f, op).id];
    const tile_range *b = &e->ranges[tile_operand_rhs(e->f, op).id];
    return a->max - b->min < b->min;
}

static LLVMValueRef divide_unsigned(tile_emitter *e, tile_op op, tile_opcode opcode, LLVMValueRef a,
                                    LLVMValueRef b) {
    LLVMValueRef less = splat_int(LLVMTypeOf(b), -1);
    bool remains = opcode == TILE_OP_rem || opcode == TILE_OP_mod;
    if (remains && !power_of_two(b) && wraps_once(e, op)) {
        LLVMValueRef below = LLVMBuildICmp(e->builder, LLVMIntULT, a, b, "");
        return LLVMBuildSelect(e->builder, below, a, LLVMBuildSub(e->builder, a, b, ""), "");
    }
    if (remains) return LLVMBuildURem(e->builder, a, b, "");
    if (opcode == TILE_OP_ceildiv) /* both are below half of the unsigned range */
        a = LLVMBuildAdd(e->builder, a, LLVMBuildAdd(e->builder, b, less, ""), "");
    return LLVMBuildUDiv(e->builder, a, b, "");
}

/* Casts again the i32 from which this i64 was cast; NULL if the value is no such cast. */
static LLVMValueRef cast_here(tile_emitter *e, tile_value value) {
    tile_op def = tile_value_def(e->f, value);
    if (!def.id || tile_op_opcode(e->f, def) != TILE_OP_cast ||
        tile_op_has_attr(e->f, def, TILE_ATTR_unsigned))
        return NULL;
    tile_value from = tile_operand_src(e->f, def);
    const tile_type *type = tile_value_type(e->f, from);
    if (type->kind != TILE_TYPE_SCALAR || type->scalar != TILE_i32) return NULL;
    return LLVMBuildSExt(e->builder, tile_get_scalar(e, from), e->i64, "");
}

/* Finds the factors of a product of two such casts, times a constant (1 if there is none). */
static bool find_casts(tile_emitter *e, tile_op op, LLVMValueRef factors[2], int64_t *times) {
    tile_value second = tile_operand_rhs(e->f, op);
    tile_op def = tile_value_def(e->f, second);
    *times = 1;
    if (def.id && tile_op_opcode(e->f, def) == TILE_OP_mul &&
        tile_value_is_int(e->f, tile_operand_rhs(e->f, def), times))
        second = tile_operand_lhs(e->f, def);
    factors[0] = cast_here(e, tile_operand_lhs(e->f, op));
    factors[1] = factors[0] ? cast_here(e, second) : NULL;
    return factors[1] != NULL;
}

/* A coordinate times a stride, in i64. This is one instruction (mul.wide) if both casts are in the
 * same block, since LLVM selects one block at a time. Otherwise, as for a stride that has been cast
 * before the loop, it takes five. */
static LLVMValueRef multiply_wide(tile_emitter *e, tile_op op, tile_opcode opcode) {
    LLVMValueRef factors[2];
    int64_t times;
    if (opcode != TILE_OP_mul || !op.id) return NULL;
    const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, 0));
    if (type->kind != TILE_TYPE_SCALAR || type->scalar != TILE_i64 ||
        !find_casts(e, op, factors, &times))
        return NULL;
    LLVMValueRef product = LLVMBuildMul(e->builder, factors[0], factors[1], "");
    return times == 1 ? product
                      : LLVMBuildMul(e->builder, product, tile_llvm_int(e->i64, times), "");
}

static const emission *row_of(tile_opcode opcode, tile_scalar scalar) {
    const emission *natural = &emissions[opcode].natural;
    if (tile_scalar_is_floating(scalar)) return &emissions[opcode].real;
    if (scalar == TILE_i1) return &emissions[opcode].truth;
    return tile_scalar_is_unsigned(scalar) && natural->how != HOW_SAME ? natural
                                                                       : &emissions[opcode].integer;
}

/* op: 0 in a host expression; scalar: the element type of the operands. */
static LLVMValueRef emit_part(tile_emitter *e, tile_op op, tile_opcode opcode, tile_scalar scalar,
                              const LLVMValueRef *args) {
    bool real = tile_scalar_is_floating(scalar);
    LLVMValueRef own = multiply_wide(e, op, opcode);
    if (own || (own = tile_emit_quotient(e, op, args))) return own;
    const emission *row = row_of(opcode, scalar);
    unsigned arity = emissions[opcode].arity;
    switch (row->how) {
    case HOW_BUILD: return row->build(e->builder, args[0], args[1], "");
    case HOW_CALL: return call(e, row, arity, false, args);
    case HOW_CALL_FLAG: return call(e, row, arity, true, args);
    case HOW_NARROW:
    case HOW_NARROW_NO_F64: return through_f32(e, op, (tile_machine)row->row, args[0]);
    case HOW_MATH:
        return tile_emit_math(e, row->math, arity,
                              op.id && tile_op_has_attr(e->f, op, TILE_ATTR_fast), args);
    case HOW_COMPARE:
        if (real)
            return LLVMBuildFCmp(e->builder, (LLVMRealPredicate)row->row, args[0], args[1], "");
        return LLVMBuildICmp(e->builder, (LLVMIntPredicate)row->row, args[0], args[1], "");
    case HOW_MADE:
        return divides_unsigned(e, op, opcode) ? divide_unsigned(e, op, opcode, args[0], args[1])
                                               : row->made(e, args[0], args[1]);
    case HOW_OWN: return row->own(e, op, args);
    case HOW_FIRST: return args[0];
    case HOW_FALSE: return tile_llvm_int(e->i1, 0);
    case HOW_SAME:        /* row_of has chosen another row */
    case HOW_NONE: break; /* tile_emit_is_missing has rejected it */
    }
    assert(!"no code for these elements");
    return NULL;
}

LLVMValueRef tile_emit_int_op(tile_emitter *e, tile_opcode opcode, tile_scalar scalar,
                              LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
    const LLVMValueRef args[3] = {a, b, c};
    return emit_part(e, TILE_NO_OP, opcode, scalar, args);
}

bool tile_emit_is_missing(tile_opcode opcode, tile_scalar scalar) {
    if (!emissions[opcode].arity) return false;
    how emitted = row_of(opcode, scalar)->how;
    return emitted == HOW_NONE || (emitted == HOW_NARROW_NO_F64 && scalar == TILE_f64);
}

/* Returns whether an operation on packs of the type can be one packed instruction. sm_90's packed
 * integer instructions cannot be used: if one half of an add.s16x2 is used separately, ptxas (13.0)
 * adds 0 to it instead of a constant (VIADD.16x2 R, R, 0x0). For min and max see int_extreme. */
static bool takes_packs(tile_opcode opcode, const tile_type *type) {
    bool bits = opcode == TILE_OP_and || opcode == TILE_OP_or || opcode == TILE_OP_xor ||
                opcode == TILE_OP_not;
    return tile_pack(type) == 1 || bits || tile_scalar_is_floating(type->scalar);
}

/* Returns whether operands and result have the same representation: then the operation is emitted
 * for each part. i1 is never packed, and the machine has no arithmetic on packs of four. */
static bool goes_by_parts(const tile_emitter *e, tile_op op) {
    const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, 0));
    unsigned pack = tile_pack(type);
    return pack <= 2 && pack == tile_pack(tile_value_type(e->f, tile_first_operand(e->f, op))) &&
           takes_packs(tile_op_opcode(e->f, op), type);
}

/* Emits the parts, or elements, in [from, to). */
static void emit_values(tile_emitter *e, tile_op op, LLVMValueRef *values, unsigned from,
                        unsigned to) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    tile_scalar scalar = operand_scalar(e, op);
    bool by_parts = goes_by_parts(e, op);
    for (unsigned i = from; i < to; i++) {
        LLVMValueRef args[3] = {NULL, NULL, NULL};
        for (unsigned k = 0; k < emissions[opcode].arity; k++) {
            tile_value operand = tile_op_operand(e->f, op, k);
            args[k] = by_parts ? tile_get_parts(e, operand)[i] : tile_get_element(e, operand, i);
        }
        if (opcode == TILE_OP_and) args[0] = tile_emit_masked(e, op, args[0]);
        LLVMValueRef value = emit_part(e, op, opcode, scalar, args);
        values[i] = tile_scalar_is_floating(scalar) ? mark_fast(e, op, value) : value;
    }
}

void tile_emit_elementwise(tile_emitter *e, tile_op op) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    if (emissions[opcode].whole) {
        emissions[opcode].whole(e, op);
        return;
    }
    if (tile_sum_add(e, op)) return;
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    bool by_parts = goes_by_parts(e, op);
    unsigned count = by_parts ? tile_part_count(type) : (unsigned)tile_type_elements(type);
    LLVMValueRef *values = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    emit_values(e, op, values, 0, count);
    if (by_parts)
        tile_set_parts(e, result, values);
    else
        tile_set_elements(e, result, values);
}

/* Runs ----------------------------------------------------------------------------------------- */

/* A value of this many parts does not fit twice in a thread's registers. */
enum { MANY_PARTS = 64, PARTS_AT_ONCE = 2 };

/* Returns the number of parts of the result if the operation can be emitted a few parts at a time;
 * else 0. */
static unsigned parts_of_run(const tile_emitter *e, tile_op op) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    bool one = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) && emissions[opcode].arity &&
               !emissions[opcode].whole && tile_op_at(e->f, op)->result_count == 1;
    if (!one || !goes_by_parts(e, op)) return 0;
    unsigned count = tile_part_count(tile_value_type(e->f, tile_op_result(e->f, op, 0)));
    return count >= MANY_PARTS ? count : 0;
}

/* Returns whether LLVM keeps the operation in its place, as a call. */
static bool is_function(const tile_emitter *e, tile_op op) {
    const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, 0));
    return tile_scalar_is_floating(type->scalar) &&
           emissions[tile_op_opcode(e->f, op)].real.how == HOW_MATH;
}

/* Keeps the values in this block: LLVM sinks arithmetic into the later block that uses it. It does
 * not sink a function call before that arithmetic, so both the call's result and its argument would
 * be live until there, in twice the registers. */
static void pin(tile_emitter *e, LLVMValueRef *values, unsigned count) {
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_pin);
    tile_ptx_add_tied(&ptx, values, count);
    tile_ptx_call(&ptx, values);
}

bool tile_emit_run(tile_emitter *e, tile_op first, tile_op *next) {
    unsigned count = parts_of_run(e, first), length = 0;
    tile_op end = first, last = first;
    bool functions = false;
    if (!count) return false;
    for (; end.id; end = tile_op_next(e->f, end)) {
        bool splat = tile_op_opcode(e->f, end) == TILE_OP_splat;
        if (!splat && parts_of_run(e, end) != count) break;
        length += !splat;
        functions |= !splat && is_function(e, end);
        if (!splat) last = end;
    }
    if (length < 2) return false;
    for (tile_op op = first; op.id != end.id; op = tile_op_next(e->f, op)) {
        const tile_type *type = tile_value_type(e->f, tile_op_result(e->f, op, 0));
        if (tile_op_opcode(e->f, op) == TILE_OP_splat)
            tile_emit_splat(e, op);
        else
            tile_set_parts(e, tile_op_result(e->f, op, 0), tile_new_parts(e, type));
    }
    for (unsigned from = 0; from < count; from += PARTS_AT_ONCE)
        for (tile_op op = first; op.id != end.id; op = tile_op_next(e->f, op)) {
            if (tile_op_opcode(e->f, op) == TILE_OP_splat) continue;
            unsigned to = from + PARTS_AT_ONCE < count ? from + PARTS_AT_ONCE : count;
            tile_lines_set(e, op);
            emit_values(e, op, e->parts[tile_op_result(e->f, op, 0).id], from, to);
        }
    if (functions) pin(e, e->parts[tile_op_result(e->f, last, 0).id], count);
    *next = end;
    return true;
}
