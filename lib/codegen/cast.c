/* Casts: tile_scalar_read and tile_scalar_write in the target's instructions.
 *
 * A type without arithmetic is read through a type that holds all its values: 8-bit floats through
 * f16, tf32 through f32. Conversions to these types go through f32 (or f16). If that loses bits,
 * the intermediate value is rounded to odd, so that the second rounding sees what the first one cut
 * off. Targets before sm_89 have no instruction for 8-bit floats: integer operations produce the
 * same codes. */
#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"
#include "lib/ops/cast.h"
#include "lib/support/scalar.h"

/* The elements of a value, one scalar each. */
typedef struct elements {
    tile_scalar scalar;
    unsigned count;
    LLVMValueRef *values;
} elements;

static bool is_byte_float(tile_scalar scalar) {
    return tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) == 8;
}

static LLVMTypeRef f32_of(const tile_emitter *e) {
    return LLVMFloatTypeInContext(e->llvm);
}

static LLVMTypeRef half_pair(const tile_emitter *e) {
    return LLVMVectorType(LLVMHalfTypeInContext(e->llvm), 2);
}

static LLVMValueRef shift_left(tile_emitter *e, LLVMValueRef word, int64_t bits) {
    return LLVMBuildShl(e->builder, word, tile_llvm_int(LLVMTypeOf(word), bits), "");
}

static LLVMValueRef shift_right(tile_emitter *e, LLVMValueRef word, int64_t bits) {
    return LLVMBuildLShr(e->builder, word, tile_llvm_int(LLVMTypeOf(word), bits), "");
}

static LLVMValueRef mask(tile_emitter *e, LLVMValueRef word, int64_t bits) {
    return LLVMBuildAnd(e->builder, word, tile_llvm_int(LLVMTypeOf(word), bits), "");
}

static LLVMValueRef make_pair(tile_emitter *e, LLVMTypeRef type, LLVMValueRef low,
                              LLVMValueRef high) {
    LLVMValueRef pair = LLVMGetPoison(type);
    pair = LLVMBuildInsertElement(e->builder, pair, low, tile_llvm_int(e->i32, 0), "");
    return LLVMBuildInsertElement(e->builder, pair, high, tile_llvm_int(e->i32, 1), "");
}

static LLVMValueRef half_of(tile_emitter *e, LLVMValueRef pair, unsigned index) {
    return LLVMBuildExtractElement(e->builder, pair, tile_llvm_int(e->i32, index), "");
}

/* Between types with arithmetic ---------------------------------------------------------------- */

static LLVMValueRef choose(tile_emitter *e, LLVMIntPredicate predicate, LLVMValueRef a, int64_t b) {
    LLVMValueRef limit = tile_llvm_int(LLVMTypeOf(a), b);
    LLVMValueRef stays = LLVMBuildICmp(e->builder, predicate, a, limit, "");
    return LLVMBuildSelect(e->builder, stays, a, limit, "");
}

/* Clamps an integer of type `from`. */
static LLVMValueRef clamp_int(tile_emitter *e, LLVMValueRef src, tile_scalar from, int64_t least,
                              int64_t most) {
    if (tile_scalar_is_unsigned(from)) return choose(e, LLVMIntULT, src, most);
    return choose(e, LLVMIntSGT, choose(e, LLVMIntSLT, src, most), least);
}

/* Clamps to the range of an integer type that does not hold all values of `from`. */
static LLVMValueRef saturate_int(tile_emitter *e, LLVMValueRef src, tile_scalar from,
                                 tile_scalar to) {
    int64_t high = (int64_t)(UINT64_MAX >> (65 - tile_scalar_bits(to)));
    bool to_unsigned = tile_scalar_is_unsigned(to);
    if (!tile_scalar_is_unsigned(from) && tile_scalar_bits(to) >= tile_scalar_bits(from))
        return choose(e, LLVMIntSGT, src, 0);
    return clamp_int(e, src, from, to_unsigned ? 0 : -high - 1,
                     to_unsigned ? (int64_t)(2 * (uint64_t)high + 1) : high);
}

static LLVMValueRef cast_int_to_float(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                                      tile_scalar from, tile_scalar scalar, bool saturates) {
    enum { LARGEST_HALF = 65504 };
    bool is_unsigned = tile_scalar_is_unsigned(from) || from == TILE_i1;
    bool beyond = tile_scalar_bits(from) > 16 || (is_unsigned && tile_scalar_bits(from) == 16);
    if (saturates && scalar == TILE_f16 && beyond)
        src = clamp_int(e, src, from, -LARGEST_HALF, LARGEST_HALF);
    /* before sm_90 LLVM goes through f32 and rounds twice; f64 is exact for every i32 */
    LLVMTypeRef f64 = LLVMDoubleTypeInContext(e->llvm);
    bool twice = scalar == TILE_bf16 && tile_scalar_bits(from) >= 32;
    LLVMValueRef value = is_unsigned ? LLVMBuildUIToFP(e->builder, src, twice ? f64 : to, "")
                                     : LLVMBuildSIToFP(e->builder, src, twice ? f64 : to, "");
    return twice ? LLVMBuildFPTrunc(e->builder, value, to, "") : value;
}

static LLVMValueRef cast_from_int(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                                  tile_scalar from, tile_scalar scalar,
                                  tile_arith_flags arith_flags) {
    if (tile_scalar_is_floating(scalar))
        return cast_int_to_float(e, src, to, from, scalar, arith_flags.saturates);
    if (scalar == TILE_i1)
        return LLVMBuildICmp(e->builder, LLVMIntNE, src, tile_llvm_int(LLVMTypeOf(src), 0), "");
    bool holds = from == scalar || from == TILE_i1 || tile_scalar_contains(scalar, from);
    if (arith_flags.saturates && !holds) src = saturate_int(e, src, from, scalar);
    bool is_signed = from != TILE_i1 && !tile_scalar_is_unsigned(from);
    return LLVMBuildIntCast2(e->builder, src, to, is_signed, "");
}

tile_machine tile_machine_of_rounding(tile_rounding rounding) {
    switch (rounding) {
    case TILE_ROUNDING_NONE:
    case TILE_ROUNDING_EVEN: return TILE_MACHINE_round_even;
    case TILE_ROUNDING_ZERO: return TILE_MACHINE_round_zero;
    case TILE_ROUNDING_UP: return TILE_MACHINE_round_up;
    case TILE_ROUNDING_DOWN: return TILE_MACHINE_round_down;
    }
    return TILE_MACHINE_round_even;
}

static LLVMValueRef cast_to_int(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                                tile_scalar scalar, tile_arith_flags arith_flags) {
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(src));
    if (arith_flags.rounding && (kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind))
        src = LLVMBuildFPExt(e->builder, src, f32_of(e), "");
    if (arith_flags.rounding)
        src = tile_machine_call(e, tile_machine_of_rounding(arith_flags.rounding), &src, 1);
    return tile_machine_call_typed(e,
                                   tile_scalar_is_unsigned(scalar) ? TILE_MACHINE_float_to_unsigned
                                                                   : TILE_MACHINE_float_to_int,
                                   to, &src, 1);
}

/* Clamps to the finite range of the type; NaN stays. */
static LLVMValueRef clamp_float(tile_emitter *e, LLVMValueRef value, tile_scalar scalar) {
    double largest = tile_scalar_largest(scalar);
    LLVMValueRef low[] = {value, LLVMConstReal(LLVMTypeOf(value), largest)};
    value = tile_machine_call(e, TILE_MACHINE_float_min_nan, low, 2);
    LLVMValueRef high[] = {value, LLVMConstReal(LLVMTypeOf(value), -largest)};
    return tile_machine_call(e, TILE_MACHINE_float_max_nan, high, 2);
}

/* Rounds to nearest, then goes one step back if the result exceeds the value: the bit patterns of
 * floats are ordered by magnitude. */
static LLVMValueRef cut_float(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                              tile_scalar scalar) {
    LLVMTypeRef word = LLVMIntTypeInContext(e->llvm, tile_scalar_bits(scalar));
    LLVMValueRef near = LLVMBuildFPTrunc(e->builder, src, to, "");
    LLVMValueRef back = LLVMBuildFPExt(e->builder, near, LLVMTypeOf(src), "");
    back = tile_machine_call(e, TILE_MACHINE_float_abs, &back, 1);
    LLVMValueRef size = tile_machine_call(e, TILE_MACHINE_float_abs, &src, 1);
    LLVMValueRef beyond = LLVMBuildFCmp(e->builder, LLVMRealOGT, back, size, "");
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, near, word, "");
    bits = LLVMBuildSub(e->builder, bits, LLVMBuildZExt(e->builder, beyond, word, ""), "");
    return LLVMBuildBitCast(e->builder, bits, to, "");
}

static LLVMValueRef cast_from_float(tile_emitter *e, LLVMValueRef src, LLVMTypeRef to,
                                    tile_scalar from, tile_scalar scalar,
                                    tile_arith_flags arith_flags) {
    if (scalar == TILE_i1)
        return LLVMBuildFCmp(e->builder, LLVMRealUNE, src, LLVMConstNull(LLVMTypeOf(src)), "");
    if (!tile_scalar_is_floating(scalar)) return cast_to_int(e, src, to, scalar, arith_flags);
    if (tile_scalar_bits(from) == 16 && tile_scalar_bits(scalar) == 16 && from != scalar)
        src = LLVMBuildFPExt(e->builder, src, f32_of(e), "");
    bool wider = tile_scalar_contains(scalar, from);
    if (wider) src = LLVMBuildFPExt(e->builder, src, to, "");
    if (arith_flags.saturates) src = clamp_float(e, src, scalar);
    if (LLVMTypeOf(src) == to) return src;
    return arith_flags.rounding == TILE_ROUNDING_ZERO ? cut_float(e, src, to, scalar)
                                                      : LLVMBuildFPTrunc(e->builder, src, to, "");
}

static void cast_plain(tile_emitter *e, elements *x, tile_scalar scalar,
                       tile_arith_flags arith_flags) {
    LLVMTypeRef to = tile_llvm_scalar(e, scalar);
    bool same = x->scalar == scalar && !arith_flags.saturates;
    for (unsigned i = 0; i < x->count && !same; i++)
        x->values[i] = tile_scalar_is_floating(x->scalar)
                           ? cast_from_float(e, x->values[i], to, x->scalar, scalar, arith_flags)
                           : cast_from_int(e, x->values[i], to, x->scalar, scalar, arith_flags);
    x->scalar = scalar;
}

/* Converts two f32 to one pair in one instruction, also if the halves are used separately. If a sum
 * of wgmma is rounded alone, ptxas 13.0 reads it before the wait (C7514, C7517). */
static LLVMValueRef cast_pair(tile_emitter *e, LLVMValueRef low, LLVMValueRef high,
                              const tile_type *type) {
    LLVMValueRef both[] = {high, low};
    return tile_machine_call(
        e, type->scalar == TILE_f16 ? TILE_MACHINE_f32_to_f16_pair : TILE_MACHINE_f32_to_bf16_pair,
        both, 2);
}

static void cast_pairs(tile_emitter *e, tile_value src, tile_value result) {
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = cast_pair(e, tile_get_element(e, src, 2 * i),
                             tile_get_element(e, src, 2 * i + 1), type);
    tile_set_parts(e, result, parts);
}

/* To f32 --------------------------------------------------------------------------------------- */

/* Truncates towards zero and sets the last bit if that was inexact (round to odd). */
static LLVMValueRef to_f32_odd(tile_emitter *e, LLVMValueRef src, tile_scalar from) {
    LLVMValueRef cut, back, lost;
    if (from == TILE_f64) {
        cut = tile_machine_call(e, TILE_MACHINE_f64_to_f32_cut, &src, 1);
        back = LLVMBuildFPExt(e->builder, cut, LLVMTypeOf(src), "");
        lost = LLVMBuildFCmp(e->builder, LLVMRealUNE, back, src, "");
    } else {
        cut = tile_machine_call(
            e, from == TILE_i64 ? TILE_MACHINE_i64_to_f32_cut : TILE_MACHINE_i32_to_f32_cut, &src,
            1);
        back = tile_machine_call_typed(e, TILE_MACHINE_float_to_int, LLVMTypeOf(src), &cut, 1);
        lost = LLVMBuildICmp(e->builder, LLVMIntNE, back, src, "");
    }
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, cut, e->i32, "");
    bits = LLVMBuildOr(e->builder, bits, LLVMBuildZExt(e->builder, lost, e->i32, ""), "");
    return LLVMBuildBitCast(e->builder, bits, f32_of(e), "");
}

static void to_f32(tile_emitter *e, elements *x) {
    if (tile_scalar_bits(x->scalar) < 32 || x->scalar == TILE_f32) {
        cast_plain(e, x, TILE_f32, (tile_arith_flags){.nan = false});
        return;
    }
    for (unsigned i = 0; i < x->count; i++) x->values[i] = to_f32_odd(e, x->values[i], x->scalar);
    x->scalar = TILE_f32;
}

/* tf32 ----------------------------------------------------------------------------------------- */

/* Reading a tf32 ignores the low bits. */
static void from_tf32(tile_emitter *e, elements *x) {
    for (unsigned i = 0; i < x->count; i++) {
        LLVMValueRef bits = LLVMBuildBitCast(e->builder, x->values[i], e->i32, "");
        x->values[i] = LLVMBuildBitCast(e->builder, mask(e, bits, ~INT64_C(0x1fff)), f32_of(e), "");
    }
    x->scalar = TILE_f32;
}

/* A NaN whose payload is in the low bits only would read as infinity: it becomes the canonical NaN.
 */
static LLVMValueRef keep_nan(tile_emitter *e, LLVMValueRef source, LLVMValueRef bits) {
    LLVMValueRef nan = LLVMBuildFCmp(e->builder, LLVMRealUNO, source, source, "");
    return LLVMBuildSelect(e->builder, nan, tile_llvm_int(e->i32, 0x7fffffff), bits, "");
}

/* Returns whether all uses of the value are products, or parts of it that only products use: these
 * ignore the low bits. */
static bool is_only_multiplied(const tile_emitter *e, tile_value value) {
    unsigned found = 0;
    TILE_FOR_EACH_OP_INSIDE (e->f, op, e->f->body) {
        const tile_opcode opcode = tile_op_opcode(e->f, op);
        for (unsigned i = 0; i < tile_op_operand_count(e->f, op); i++) {
            if (tile_op_operand(e->f, op, i).id != value.id) continue;
            const bool part =
                opcode == TILE_OP_extract && is_only_multiplied(e, tile_op_result(e->f, op, 0));
            found += part || opcode == TILE_OP_wgmma || opcode == TILE_OP_mma;
        }
    }
    return found == e->uses[value.id];
}

/* ptxas makes six instructions of cvt.rna.tf32, with tests for infinity and NaN. Adding half of the
 * last place rounds an infinity to itself. */
static LLVMValueRef round_to_tf32(tile_emitter *e, LLVMValueRef bits, bool keeps_low_bits) {
    LLVMValueRef sum = LLVMBuildAdd(e->builder, bits, tile_llvm_int(e->i32, 0x1000), "");
    return keeps_low_bits ? sum : mask(e, sum, ~INT64_C(0x1fff));
}

static void to_tf32(tile_emitter *e, elements *x, tile_arith_flags arith_flags,
                    bool keeps_low_bits) {
    bool exact = tile_scalar_contains(TILE_tf32, x->scalar);
    bool cuts = arith_flags.rounding == TILE_ROUNDING_ZERO;
    bool floats = tile_scalar_is_floating(x->scalar);
    LLVMValueRef *sources = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, x->count + 1u);
    for (unsigned i = 0; i < x->count; i++) sources[i] = x->values[i];
    to_f32(e, x);
    for (unsigned i = 0; i < x->count && !exact; i++) {
        LLVMValueRef bits = LLVMBuildBitCast(e->builder, x->values[i], e->i32, "");
        bits = cuts ? mask(e, bits, ~INT64_C(0x1fff)) : round_to_tf32(e, bits, keeps_low_bits);
        if (floats) bits = keep_nan(e, sources[i], bits);
        x->values[i] = LLVMBuildBitCast(e->builder, bits, f32_of(e), "");
    }
    x->scalar = TILE_tf32;
}

/* From 8-bit floats ---------------------------------------------------------------------------- */

static bool has_byte_floats(const tile_target *target) {
    return tile_target_has(target, TILE_FEATURE_cvt_float8);
}

static LLVMValueRef upper_half(tile_emitter *e, LLVMValueRef word) {
    if (!has_byte_floats(e->options->target)) return shift_right(e, word, 16);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_upper_half);
    LLVMValueRef half;
    tile_ptx_add_results(&ptx, &e->i32, 1);
    tile_ptx_add_inputs(&ptx, &word, 1);
    tile_ptx_call(&ptx, &half);
    return half;
}

/* Elements 2i and 2i + 1 as one i16; the last one of an odd number is paired with a zero. */
static LLVMValueRef byte_pair(tile_emitter *e, tile_value src, unsigned i) {
    const tile_type *type = tile_value_type(e->f, src);
    if (tile_pack(type) == 4) {
        LLVMValueRef word = LLVMBuildBitCast(e->builder, tile_get_parts(e, src)[i / 2], e->i32, "");
        return LLVMBuildTrunc(e->builder, i % 2 ? upper_half(e, word) : word, e->i16, "");
    }
    LLVMValueRef low = LLVMBuildZExt(e->builder, tile_get_element(e, src, 2 * i), e->i16, "");
    if (2 * i + 1 == tile_type_elements(type)) return low;
    LLVMValueRef high = LLVMBuildZExt(e->builder, tile_get_element(e, src, 2 * i + 1), e->i16, "");
    return LLVMBuildOr(e->builder, low, shift_left(e, high, 8), "");
}

/* A byte in the upper half of 16 bits is an e5m2's f16 already. The fields of an e4m3 are one bit
 * lower there, with an exponent that is 2^8 too small. This holds for subnormals as well, since f16
 * has them. */
static LLVMValueRef widen_by_hand(tile_emitter *e, LLVMValueRef pair, tile_scalar from) {
    LLVMValueRef word = LLVMBuildZExt(e->builder, pair, e->i32, "");
    LLVMValueRef high = shift_left(e, mask(e, word, 0xff00), 16);
    word = LLVMBuildOr(e->builder, shift_left(e, mask(e, word, 0xff), 8), high, "");
    if (from == TILE_e5m2) return LLVMBuildBitCast(e->builder, word, half_pair(e), "");
    LLVMValueRef sign = mask(e, word, INT64_C(0x80008000));
    LLVMValueRef magnitude = mask(e, word, 0x7f007f00);
    LLVMValueRef bits = LLVMBuildOr(e->builder, sign, shift_right(e, magnitude, 1), "");
    LLVMValueRef scale = LLVMConstReal(LLVMHalfTypeInContext(e->llvm), 256);
    LLVMValueRef scales[] = {scale, scale};
    LLVMValueRef wide =
        LLVMBuildFMul(e->builder, LLVMBuildBitCast(e->builder, bits, half_pair(e), ""),
                      LLVMConstVector(scales, 2), "");
    LLVMTypeRef shorts = LLVMVectorType(e->i16, 2);
    LLVMValueRef nan = tile_llvm_int(e->i16, 0x7f00), nans[] = {nan, nan};
    LLVMValueRef other = tile_llvm_int(e->i16, 0x7fff), others[] = {other, other};
    LLVMValueRef is_nan =
        LLVMBuildICmp(e->builder, LLVMIntEQ, LLVMBuildBitCast(e->builder, magnitude, shorts, ""),
                      LLVMConstVector(nans, 2), "");
    wide = LLVMBuildSelect(e->builder, is_nan, LLVMConstVector(others, 2),
                           LLVMBuildBitCast(e->builder, wide, shorts, ""), "");
    return LLVMBuildBitCast(e->builder, wide, half_pair(e), "");
}

static LLVMValueRef widen_pair(tile_emitter *e, LLVMValueRef pair, tile_scalar from) {
    if (!has_byte_floats(e->options->target)) return widen_by_hand(e, pair, from);
    tile_machine machine = from == TILE_e4m3 ? TILE_MACHINE_e4m3_to_f16 : TILE_MACHINE_e5m2_to_f16;
    return tile_machine_call(e, machine, &pair, 1);
}

static void from_byte_floats(tile_emitter *e, tile_value src, elements *x) {
    for (unsigned i = 0; 2 * i < x->count; i++) {
        LLVMValueRef pair = widen_pair(e, byte_pair(e, src, i), x->scalar);
        for (unsigned k = 2 * i; k < 2 * i + 2 && k < x->count; k++)
            x->values[k] = half_of(e, pair, k % 2);
    }
    x->scalar = TILE_f16;
}

/* To 8-bit floats ------------------------------------------------------------------------------ */

/* Constants for rounding the bits of an f32 to an 8-bit float type. */
typedef struct byte_format {
    int64_t shift;    /* mantissa bits that are dropped */
    int64_t rebias;   /* difference of the exponent biases, in units of the code */
    int64_t smallest; /* bits of the smallest normal number */
    int64_t magic;    /* bits of the power of two whose last place is the subnormals' last place */
    int64_t largest;  /* code of the largest finite number */
} byte_format;

static const byte_format e4m3_format = {20, (127 - 7) << 3, (127 - 6) << 23, (127 + 14) << 23,
                                        0x7e};
static const byte_format e5m2_format = {21, (127 - 15) << 2, (127 - 14) << 23, (127 + 7) << 23,
                                        0x7b};

/* Normal numbers: adds half of the last place that stays, less one if that place is even; the carry
 * goes into the exponent. Subnormals: adding the magic number rounds to their last place. The
 * result is the code in an i32. */
static LLVMValueRef narrow_by_hand(tile_emitter *e, LLVMValueRef value, tile_scalar to) {
    const byte_format *format = to == TILE_e4m3 ? &e4m3_format : &e5m2_format;
    LLVMValueRef bits = LLVMBuildBitCast(e->builder, value, e->i32, "");
    LLVMValueRef magnitude = mask(e, bits, 0x7fffffff);
    LLVMValueRef odd = mask(e, shift_right(e, magnitude, format->shift), 1);
    LLVMValueRef half = tile_llvm_int(e->i32, (INT64_C(1) << (format->shift - 1)) - 1);
    LLVMValueRef normal =
        LLVMBuildAdd(e->builder, LLVMBuildAdd(e->builder, magnitude, half, ""), odd, "");
    normal = LLVMBuildSub(e->builder, shift_right(e, normal, format->shift),
                          tile_llvm_int(e->i32, format->rebias), "");
    LLVMValueRef magic = tile_llvm_int(e->i32, format->magic);
    LLVMValueRef sum =
        LLVMBuildFAdd(e->builder, LLVMBuildBitCast(e->builder, magnitude, f32_of(e), ""),
                      LLVMBuildBitCast(e->builder, magic, f32_of(e), ""), "");
    LLVMValueRef tiny =
        LLVMBuildSub(e->builder, LLVMBuildBitCast(e->builder, sum, e->i32, ""), magic, "");
    LLVMValueRef largest = tile_llvm_int(e->i32, format->largest);
    LLVMValueRef over = LLVMBuildICmp(e->builder, LLVMIntSGT, normal, largest, "");
    LLVMValueRef code = LLVMBuildSelect(e->builder, over, largest, normal, "");
    LLVMValueRef below = LLVMBuildICmp(e->builder, LLVMIntULT, magnitude,
                                       tile_llvm_int(e->i32, format->smallest), "");
    code = LLVMBuildSelect(e->builder, below, tiny, code, "");
    code = LLVMBuildOr(e->builder, code, mask(e, shift_right(e, bits, 24), 0x80), "");
    LLVMValueRef is_nan =
        LLVMBuildICmp(e->builder, LLVMIntUGT, magnitude, tile_llvm_int(e->i32, 0x7f800000), "");
    return LLVMBuildSelect(e->builder, is_nan, tile_llvm_int(e->i32, 0x7f), code, "");
}

/* Converts to two codes in an i16. */
static LLVMValueRef narrow_pair(tile_emitter *e, LLVMValueRef low, LLVMValueRef high,
                                tile_scalar from, tile_scalar to) {
    bool e4m3 = to == TILE_e4m3;
    if (!has_byte_floats(e->options->target)) {
        LLVMValueRef code = shift_left(e, narrow_by_hand(e, high, to), 8);
        code = LLVMBuildOr(e->builder, code, narrow_by_hand(e, low, to), "");
        return LLVMBuildTrunc(e->builder, code, e->i16, "");
    }
    if (from == TILE_f16) {
        LLVMValueRef pair = make_pair(e, half_pair(e), low, high);
        return tile_machine_call(e, e4m3 ? TILE_MACHINE_f16_to_e4m3 : TILE_MACHINE_f16_to_e5m2,
                                 &pair, 1);
    }
    LLVMValueRef both[] = {high, low};
    return tile_machine_call(e, e4m3 ? TILE_MACHINE_f32_to_e4m3 : TILE_MACHINE_f32_to_e5m2, both,
                             2);
}

static void to_byte_floats(tile_emitter *e, elements *x, tile_value result) {
    const tile_type *type = tile_value_type(e->f, result);
    unsigned pack = tile_pack(type);
    LLVMValueRef *parts = tile_new_parts(e, type);
    LLVMTypeRef shorts = LLVMVectorType(e->i16, 2);
    bool halves = x->scalar == TILE_f16 && has_byte_floats(e->options->target);
    if (!halves) to_f32(e, x);
    for (unsigned i = 0; i < x->count; i += 2) {
        LLVMValueRef high = i + 1 < x->count ? x->values[i + 1] : x->values[i];
        LLVMValueRef pair = narrow_pair(e, x->values[i], high, x->scalar, type->scalar);
        if (pack == 4) {
            LLVMValueRef *word = &parts[i / 4];
            if (i % 4 == 0) *word = LLVMGetPoison(shorts);
            *word = LLVMBuildInsertElement(e->builder, *word, pair,
                                           tile_llvm_int(e->i32, i % 4 / 2), "");
            if (i % 4) *word = LLVMBuildBitCast(e->builder, *word, tile_part_type(e, type), "");
            continue;
        }
        parts[i] = LLVMBuildTrunc(e->builder, pair, e->i8, "");
        if (i + 1 < x->count)
            parts[i + 1] = LLVMBuildTrunc(e->builder, shift_right(e, pair, 8), e->i8, "");
    }
    tile_set_parts(e, result, parts);
}

/* -----------------------------------------------------------------------------------------------
 */

tile_machine tile_cast_machine(tile_scalar from, tile_scalar to, const tile_target *target) {
    if (from == to) return TILE_MACHINE_COUNT;
    if (!has_byte_floats(target)) return TILE_MACHINE_COUNT;
    if (is_byte_float(to)) return TILE_MACHINE_f32_to_e4m3; /* same target for all 8-bit floats */
    return is_byte_float(from) ? TILE_MACHINE_e4m3_to_f16 : TILE_MACHINE_COUNT;
}

/* Corrects what a conversion through f32 would lose: unsigned numbers become wider signed ones
 * (beyond those all small floats saturate), and tf32's limits are applied first. */
static void prepare_detour(tile_emitter *e, elements *x, tile_scalar to,
                           tile_arith_flags arith_flags) {
    bool is_unsigned = tile_scalar_is_unsigned(x->scalar);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(e->llvm);
    bool clamps = tile_scalar_is_floating(x->scalar) && arith_flags.saturates && to == TILE_tf32;
    bool narrow = tile_scalar_bits(x->scalar) == 16;
    for (unsigned i = 0; i < x->count; i++) {
        LLVMValueRef *value = &x->values[i];
        if (x->scalar == TILE_u64)
            *value = choose(e, LLVMIntULT, *value, INT64_MAX);
        else if (is_unsigned)
            *value = LLVMBuildZExt(e->builder, *value, i64, "");
        if (!clamps) continue;
        if (narrow) *value = LLVMBuildFPExt(e->builder, *value, f32_of(e), "");
        *value = clamp_float(e, *value, TILE_tf32);
    }
    if (clamps && narrow) x->scalar = TILE_f32;
    if (is_unsigned) x->scalar = TILE_i64;
}

void tile_emit_cast(tile_emitter *e, tile_op op) {
    tile_value src = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const tile_type *from = tile_value_type(e->f, src), *type = tile_value_type(e->f, result);
    tile_arith_flags arith_flags = tile_op_arith_flags(e->f, op);
    bool plain = !arith_flags.saturates && arith_flags.rounding != TILE_ROUNDING_ZERO;
    bool moves = tile_scalar_as_signed(from->scalar) == tile_scalar_as_signed(type->scalar);
    if (moves && !arith_flags.saturates) {
        tile_set_parts(e, result, tile_get_parts(e, src));
        return;
    }
    if (from->scalar == TILE_f32 && tile_pack(type) == 2 && tile_scalar_is_floating(type->scalar) &&
        plain) {
        if (tile_sum_narrow(e, src, result)) return;
        cast_pairs(e, src, result);
        return;
    }
    elements x = {tile_cast_scalar(from->scalar, arith_flags), (unsigned)tile_type_elements(type),
                  NULL};
    x.values = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, x.count);
    if (is_byte_float(from->scalar))
        from_byte_floats(e, src, &x);
    else
        for (unsigned i = 0; i < x.count; i++) x.values[i] = tile_get_element(e, src, i);
    if (x.scalar == TILE_tf32) from_tf32(e, &x);
    if (is_byte_float(type->scalar) || type->scalar == TILE_tf32)
        prepare_detour(e, &x, type->scalar, arith_flags);
    if (is_byte_float(type->scalar)) {
        to_byte_floats(e, &x, result);
        return;
    }
    if (type->scalar == TILE_tf32)
        to_tf32(e, &x, arith_flags, is_only_multiplied(e, result));
    else
        cast_plain(e, &x, tile_cast_scalar(type->scalar, arith_flags), arith_flags);
    tile_set_elements(e, result, x.values);
}

/* Types of equal width have the same representation. */
void tile_emit_bitcast(tile_emitter *e, tile_op op) {
    tile_value src = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef *parts = tile_new_parts(e, type), *from = tile_get_parts(e, src);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = LLVMBuildBitCast(e->builder, from[i], tile_part_type(e, type), "");
    tile_set_parts(e, result, parts);
}
