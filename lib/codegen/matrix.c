/* Tensor cores: matrices from shared memory to fragments, and products of fragments. */
#include "lib/codegen/emitter.h"

void tile_emit_ldmatrix(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef address = tile_emit_address(e, op, 0);
    LLVMValueRef loaded = tile_machine_call(e, tile_machine_of_op(e->f, op), &address, 1);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++) {
        LLVMValueRef word =
            tile_part_count(type) > 1 ? LLVMBuildExtractValue(e->builder, loaded, i, "") : loaded;
        parts[i] = LLVMBuildBitCast(e->builder, word, tile_part_type(e, type), "");
    }
    tile_set_parts(e, result, parts);
}

void tile_emit_stmatrix(tile_emitter *e, tile_op op) {
    tile_value value = tile_op_operand(e->f, op, 0);
    unsigned count = tile_part_count(tile_value_type(e->f, value));
    LLVMValueRef args[5] = {tile_emit_address(e, op, 1)};
    for (unsigned i = 0; i < count; i++)
        args[1 + i] = LLVMBuildBitCast(e->builder, tile_get_parts(e, value)[i], e->i32, "");
    tile_machine_call(e, tile_machine_of_op(e->f, op), args, 1 + count);
}

/* LLVM takes packs of f16, f32 and f64 as they are, everything else as words. */
static LLVMValueRef mma_argument(tile_emitter *e, tile_scalar scalar, LLVMValueRef part) {
    bool as_is = scalar == TILE_f16 || scalar == TILE_f32 || scalar == TILE_f64;
    return as_is ? part : LLVMBuildBitCast(e->builder, part, e->i32, "");
}

void tile_emit_mma(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    unsigned count = 0, at = 0;
    for (unsigned operand = 0; operand < 3; operand++)
        count += tile_part_count(tile_value_type(e->f, tile_op_operand(e->f, op, operand)));
    LLVMValueRef *args = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    for (unsigned operand = 0; operand < 3; operand++) {
        tile_value value = tile_op_operand(e->f, op, operand);
        const tile_type *from = tile_value_type(e->f, value);
        for (unsigned i = 0; i < tile_part_count(from); i++)
            args[at++] = mma_argument(e, from->scalar, tile_get_parts(e, value)[i]);
    }
    LLVMValueRef sum = tile_machine_call(e, tile_machine_of_op(e->f, op), args, count);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = LLVMBuildExtractValue(e->builder, sum, i, "");
    tile_set_parts(e, result, parts);
}
