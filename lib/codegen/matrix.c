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

void tile_emit_mma(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef args[4 + 2 + 4];
    unsigned at = 0;
    for (unsigned operand = 0; operand < 3; operand++) {
        tile_value value = tile_op_operand(e->f, op, operand);
        const tile_type *from = tile_value_type(e->f, value);
        for (unsigned i = 0; i < tile_part_count(from); i++) {
            LLVMValueRef part = tile_get_parts(e, value)[i];
            /* LLVM takes a pair of bfloat as an i32 */
            args[at++] =
                from->scalar == TILE_bf16 ? LLVMBuildBitCast(e->builder, part, e->i32, "") : part;
        }
    }
    LLVMValueRef sum = tile_machine_call(e, tile_machine_of_op(e->f, op), args, at);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = LLVMBuildExtractValue(e->builder, sum, i, "");
    tile_set_parts(e, result, parts);
}
