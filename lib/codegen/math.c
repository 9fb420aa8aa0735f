/* exp, log and similar functions as LLVM instructions. math_bodies.h defines how they are computed;
 * this file defines its primitives. {fast} uses the machine's approximation unchanged. */
#include <assert.h>

#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"

typedef struct math {
    tile_emitter *e;
    bool wide; /* f64, else f32 */
} math;

typedef LLVMValueRef num;
typedef LLVMValueRef truth;

static LLVMTypeRef float_type(const math *m) {
    return m->wide ? LLVMDoubleTypeInContext(m->e->llvm) : LLVMFloatTypeInContext(m->e->llvm);
}

static LLVMTypeRef word_type(const math *m) {
    return m->wide ? LLVMInt64TypeInContext(m->e->llvm) : LLVMInt32TypeInContext(m->e->llvm);
}

static num num_number(math *m, double value) {
    return LLVMConstReal(float_type(m), value);
}

static num num_add(math *m, num a, num b) {
    return LLVMBuildFAdd(m->e->builder, a, b, "");
}

static num num_sub(math *m, num a, num b) {
    return LLVMBuildFSub(m->e->builder, a, b, "");
}

static num num_mul(math *m, num a, num b) {
    return LLVMBuildFMul(m->e->builder, a, b, "");
}

static num num_divide(math *m, num a, num b) {
    return LLVMBuildFDiv(m->e->builder, a, b, "");
}

static num call(math *m, tile_machine machine, num a, num b, num c) {
    LLVMValueRef args[] = {a, b, c};
    return tile_machine_call(m->e, machine, args, 1 + (b != NULL) + (c != NULL));
}

static num num_fma(math *m, num a, num b, num c) {
    return call(m, TILE_MACHINE_fma, a, b, c);
}

static num num_absolute(math *m, num a) {
    return call(m, TILE_MACHINE_float_abs, a, NULL, NULL);
}

static num num_copy_sign(math *m, num size, num sign) {
    return call(m, TILE_MACHINE_copy_sign, size, sign, NULL);
}

/* LLVM looks for the sign of a float that was cast from f16 in the f16: five instructions. */
static num num_give_sign(math *m, num size, num sign) {
    LLVMBuilderRef b = m->e->builder;
    if (m->wide) return num_copy_sign(m, size, sign);
    const LLVMTypeRef word = word_type(m);
    size = LLVMBuildBitCast(b, size, word, "");
    sign = LLVMBuildAnd(b, LLVMBuildBitCast(b, sign, word, ""), tile_llvm_int(word, INT32_MIN), "");
    return LLVMBuildBitCast(b, LLVMBuildOr(b, size, sign, ""), float_type(m), "");
}

static num num_clamp(math *m, num a, double low, double high) {
    a = call(m, TILE_MACHINE_float_max, a, num_number(m, low), NULL);
    return call(m, TILE_MACHINE_float_min, a, num_number(m, high), NULL);
}

static num num_nearest(math *m, num a) {
    return call(m, TILE_MACHINE_round_even, a, NULL, NULL);
}

static num num_exp2_approx(math *m, num a) {
    assert(!m->wide);
    return call(m, TILE_MACHINE_exp2, a, NULL, NULL);
}

static num num_reciprocal_approx(math *m, num a) {
    assert(!m->wide);
    return call(m, TILE_MACHINE_reciprocal, a, NULL, NULL);
}

static truth num_less(math *m, num a, num b) {
    return LLVMBuildFCmp(m->e->builder, LLVMRealOLT, a, b, "");
}

static truth num_equal(math *m, num a, num b) {
    return LLVMBuildFCmp(m->e->builder, LLVMRealOEQ, a, b, "");
}

static truth num_both(math *m, truth a, truth b) {
    return LLVMBuildAnd(m->e->builder, a, b, "");
}

static num num_pick(math *m, truth which, num yes, num no) {
    return LLVMBuildSelect(m->e->builder, which, yes, no, "");
}

/* 2^n for an integer n in the range of the type's exponents. */
static num power_of_two(math *m, LLVMValueRef n) {
    LLVMBuilderRef b = m->e->builder;
    LLVMTypeRef word = word_type(m);
    LLVMValueRef biased = LLVMBuildAdd(b, n, tile_llvm_int(word, m->wide ? 1023 : 127), "");
    LLVMValueRef bits = LLVMBuildShl(b, biased, tile_llvm_int(word, m->wide ? 52 : 23), "");
    return LLVMBuildBitCast(b, bits, float_type(m), "");
}

/* Multiplies by two powers: a single one may be out of range. */
static num num_scale(math *m, num x, num n) {
    LLVMBuilderRef b = m->e->builder;
    LLVMTypeRef word = word_type(m);
    LLVMValueRef whole = LLVMBuildFPToSI(b, n, word, "");
    LLVMValueRef half = LLVMBuildAShr(b, whole, tile_llvm_int(word, 1), "");
    x = num_mul(m, x, power_of_two(m, half));
    return num_mul(m, x, power_of_two(m, LLVMBuildSub(b, whole, half, "")));
}

/* The sum with 2^23 + 2^22 + 1 rounds down to an integer. Its low bits are n + 127. */
static num num_exponent(math *m, num t, num *minus) {
    LLVMBuilderRef b = m->e->builder;
    assert(!m->wide);
    t = call(m, TILE_MACHINE_saturate, t, NULL, NULL);
    num sum = call(m, TILE_MACHINE_fma_down, t, num_number(m, 252), num_number(m, 12582913));
    *minus = num_sub(m, num_number(m, 12582913 + 126), sum);
    LLVMValueRef bits = LLVMBuildBitCast(b, sum, m->e->i32, "");
    bits = LLVMBuildShl(b, bits, tile_llvm_int(m->e->i32, 23), "");
    return LLVMBuildBitCast(b, bits, float_type(m), "");
}

/* The bits of infinity and the bits of numbers with a sign are larger. */
static truth num_ordinary(math *m, num x) {
    LLVMTypeRef word = word_type(m);
    LLVMValueRef bits = LLVMBuildBitCast(m->e->builder, x, word, "");
    LLVMValueRef infinity = tile_llvm_int(word, m->wide ? 0x7ff0000000000000 : 0x7f800000);
    return LLVMBuildICmp(m->e->builder, LLVMIntULT, bits, infinity, "");
}

/* The exponent is the difference between the bits of x and the bits of 2/3. In place of a shift,
 * the fma that adds `start` multiplies. */
static num num_split(math *m, num x, num start, num *fraction) {
    LLVMBuilderRef b = m->e->builder;
    LLVMTypeRef word = word_type(m);
    LLVMValueRef low = tile_llvm_int(word, m->wide ? 0x3fe5555555555555 : 0x3f2aaaab);
    LLVMValueRef bits = LLVMBuildBitCast(b, x, word, ""), whole = LLVMBuildSub(b, bits, low, "");
    LLVMValueRef shift = tile_llvm_int(word, 52);
    num n;
    if (m->wide) {
        n = LLVMBuildAShr(b, whole, shift, "");
        whole = LLVMBuildShl(b, n, shift, "");
        n = num_add(m, LLVMBuildSIToFP(b, n, float_type(m), ""), start);
    } else {
        whole = LLVMBuildAnd(b, whole, tile_llvm_int(word, -0x800000), "");
        n = LLVMBuildSIToFP(b, whole, float_type(m), "");
        n = num_fma(m, n, num_number(m, 0x1p-23), start);
    }
    *fraction = LLVMBuildBitCast(b, LLVMBuildSub(b, bits, whole, ""), float_type(m), "");
    return n;
}

static num num_widen(math *m, num x) {
    return LLVMBuildFPExt(m->e->builder, x, LLVMDoubleTypeInContext(m->e->llvm), "");
}

static num num_narrow(math *m, num x) {
    return LLVMBuildFPTrunc(m->e->builder, x, LLVMFloatTypeInContext(m->e->llvm), "");
}

static truth bit_of(math *m, LLVMValueRef bits, int64_t bit) {
    LLVMBuilderRef b = m->e->builder;
    LLVMTypeRef word = word_type(m);
    LLVMValueRef one = LLVMBuildAnd(b, bits, tile_llvm_int(word, bit), "");
    return LLVMBuildICmp(b, LLVMIntNE, one, tile_llvm_int(word, 0), "");
}

/* Adds a number so large that the last bit of the sum is worth 1: its low bits are an integer. */
static void num_turn(math *m, num x, num *quarters, truth *odd, truth *upper) {
    assert(m->wide);
    num magic = num_number(m, 0x1.8p52), sum = num_add(m, x, magic);
    LLVMValueRef bits = LLVMBuildBitCast(m->e->builder, sum, word_type(m), "");
    *quarters = num_sub(m, sum, magic);
    *odd = bit_of(m, bits, 1);
    *upper = bit_of(m, bits, 2);
}

/* Omits the two products and the comparison that results below 2^-126 would need. */
static num num_exp2_flushed(math *m, num x) {
    return call(m, TILE_MACHINE_exp2_flushed, x, NULL, NULL);
}

static num num_log2_approx(math *m, num x) {
    return call(m, TILE_MACHINE_log2, x, NULL, NULL);
}

static num num_tanh_approx(math *m, num x) {
    LLVMTypeRef type = float_type(m);
    num result;
    tile_ptx ptx = tile_ptx_begin(m->e, TILE_MACHINE_tanh);
    tile_ptx_add_results(&ptx, &type, 1);
    tile_ptx_add_inputs(&ptx, &x, 1);
    tile_ptx_call(&ptx, &result);
    return result;
}

static num num_sin_approx(math *m, num x) {
    return call(m, TILE_MACHINE_sin, x, NULL, NULL);
}

static num num_cos_approx(math *m, num x) {
    return call(m, TILE_MACHINE_cos, x, NULL, NULL);
}

/* Emits a loop. */
static num num_repeat(math *m, num a, num b, num (*step)(math *m, num a, num b)) {
    LLVMBuilderRef builder = m->e->builder;
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(m->e->llvm, m->e->function, "repeat");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(m->e->llvm, m->e->function, "step");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(m->e->llvm, m->e->function, "repeated");
    LLVMBasicBlockRef from[] = {LLVMGetInsertBlock(builder), body};
    LLVMBuildBr(builder, head);
    LLVMPositionBuilderAtEnd(builder, head);
    LLVMValueRef current = LLVMBuildPhi(builder, float_type(m), "");
    truth more = LLVMBuildFCmp(builder, LLVMRealOLE, b, num_absolute(m, current), "");
    LLVMBuildCondBr(builder, more, body, done);
    LLVMPositionBuilderAtEnd(builder, body);
    num values[] = {a, step(m, current, b)};
    LLVMBuildBr(builder, head);
    LLVMAddIncoming(current, values, from, 2);
    LLVMPositionBuilderAtEnd(builder, done);
    return current;
}

#include "lib/codegen/math_bodies.h"

#define FUNCTION(name, fast_body) \
    LLVMValueRef tile_math_##name(tile_emitter *e, const LLVMValueRef *args, bool fast) { \
        math m = {e, LLVMGetTypeKind(LLVMTypeOf(args[0])) == LLVMDoubleTypeKind}; \
        return fast && !m.wide ? fast_body(&m, args[0]) : body_##name(&m, args[0]); \
    }
#define FUNCTION_OF_TWO(name) \
    LLVMValueRef tile_math_##name(tile_emitter *e, const LLVMValueRef *args, bool fast) { \
        math m = {e, LLVMGetTypeKind(LLVMTypeOf(args[0])) == LLVMDoubleTypeKind}; \
        (void)fast; \
        return body_##name(&m, args[0], args[1]); \
    }
#include "lib/codegen/math.def"

/* 16-bit floats are computed in f32. */
static LLVMValueRef by_math(tile_emitter *e, tile_math_function *function, unsigned arity,
                            bool fast, const LLVMValueRef *args) {
    LLVMTypeRef type = LLVMTypeOf(args[0]), f32 = LLVMFloatTypeInContext(e->llvm);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    LLVMValueRef wide[2];
    if (kind != LLVMHalfTypeKind && kind != LLVMBFloatTypeKind) return function(e, args, fast);
    for (unsigned i = 0; i < arity; i++) wide[i] = LLVMBuildFPExt(e->builder, args[i], f32, "");
    return LLVMBuildFPTrunc(e->builder, function(e, wide, fast), type, "");
}

LLVMValueRef tile_emit_math(tile_emitter *e, tile_math_function *function, unsigned arity,
                            bool fast, const LLVMValueRef *args) {
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return by_math(e, function, arity, fast, args);
    LLVMValueRef result = LLVMGetPoison(type), elements[2];
    for (unsigned half = 0; half < 2; half++) {
        LLVMValueRef at = tile_llvm_int(e->i32, half);
        for (unsigned i = 0; i < arity; i++)
            elements[i] = LLVMBuildExtractElement(e->builder, args[i], at, "");
        LLVMValueRef element = by_math(e, function, arity, fast, elements);
        result = LLVMBuildInsertElement(e->builder, result, element, at, "");
    }
    return result;
}
