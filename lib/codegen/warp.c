/* Exchanges between the threads of a warp, in 32-bit registers. Wider elements are two registers;
 * narrow ones are exchanged as packed registers, or one by one. */
#include "lib/codegen/emitter.h"
#include "lib/ops/atomic.h"

static LLVMValueRef all_lanes(const tile_emitter *e) {
    return tile_llvm_int(e->i32, -1);
}

typedef struct exchange {
    tile_emitter *e;
    tile_machine machine;
    LLVMValueRef lane, clamp;
} exchange;

static LLVMValueRef exchange_word(const exchange *x, LLVMValueRef word) {
    LLVMValueRef args[] = {all_lanes(x->e), word, x->lane, x->clamp};
    return tile_machine_call(x->e, x->machine, args, 4);
}

static LLVMValueRef exchange_long(const exchange *x, LLVMValueRef part) {
    tile_emitter *e = x->e;
    LLVMTypeRef pair = LLVMVectorType(e->i32, 2);
    LLVMValueRef words = LLVMBuildBitCast(e->builder, part, pair, "");
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef at = tile_llvm_int(e->i32, i);
        LLVMValueRef word = LLVMBuildExtractElement(e->builder, words, at, "");
        words = LLVMBuildInsertElement(e->builder, words, exchange_word(x, word), at, "");
    }
    return LLVMBuildBitCast(e->builder, words, LLVMTypeOf(part), "");
}

/* bits: size of the part. */
static LLVMValueRef exchange_part(const exchange *x, LLVMValueRef part, unsigned bits) {
    tile_emitter *e = x->e;
    LLVMTypeRef type = LLVMTypeOf(part), own = LLVMIntTypeInContext(e->llvm, bits);
    if (bits == 64) return exchange_long(x, part);
    LLVMValueRef word = LLVMBuildBitCast(e->builder, part, own, "");
    if (bits < 32) word = LLVMBuildZExt(e->builder, word, e->i32, "");
    word = exchange_word(x, word);
    if (bits < 32) word = LLVMBuildTrunc(e->builder, word, own, "");
    return LLVMBuildBitCast(e->builder, word, type, "");
}

void tile_emit_shfl(tile_emitter *e, tile_op op) {
    enum { LAST_LANE = 31 };
    tile_value src = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, src);
    bool up = tile_op_word(e->f, op, TILE_ATTR_kind) == TILE_WORD_kind_up;
    exchange x = {e, tile_machine_of_op(e->f, op), tile_get_scalar(e, tile_operand_lane(e->f, op)),
                  tile_llvm_int(e->i32, up ? 0 : LAST_LANE)};
    unsigned bits = tile_scalar_bits(type->scalar) * tile_pack(type);
    LLVMValueRef *parts = tile_new_parts(e, type), *from = tile_get_parts(e, src);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = exchange_part(&x, from[i], bits);
    tile_set_parts(e, result, parts);
}

void tile_emit_redux(tile_emitter *e, tile_op op) {
    tile_value src = tile_operand_src(e->f, op);
    const tile_type *type = tile_value_type(e->f, src);
    LLVMValueRef *parts = tile_new_parts(e, type), *from = tile_get_parts(e, src);
    for (unsigned i = 0; i < tile_part_count(type); i++) {
        LLVMValueRef args[] = {from[i], all_lanes(e)};
        parts[i] = tile_machine_call(e, tile_machine_of_op(e->f, op), args, 2);
    }
    tile_set_parts(e, tile_op_result(e->f, op, 0), parts);
}

static void emit_of_warp(tile_emitter *e, tile_op op) {
    LLVMValueRef args[] = {all_lanes(e), tile_get_scalar(e, tile_operand_src(e->f, op))};
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    tile_machine_call(e, tile_machine_of_op(e->f, op), args, 2));
}

void tile_emit_vote(tile_emitter *e, tile_op op) {
    emit_of_warp(e, op);
}

void tile_emit_match(tile_emitter *e, tile_op op) {
    emit_of_warp(e, op);
}
