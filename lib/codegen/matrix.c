/* Tensor cores: loads of matrices from shared memory to fragments, and products of fragments. */
#include "lib/analysis/product.h"
#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"

void tile_emit_ldmatrix(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_src);
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
    tile_value value = tile_operand_src(e->f, op);
    unsigned count = tile_part_count(tile_value_type(e->f, value));
    LLVMValueRef args[5] = {tile_emit_address(e, op, TILE_OPERAND_dst)};
    for (unsigned i = 0; i < count; i++)
        args[1 + i] = LLVMBuildBitCast(e->builder, tile_get_parts(e, value)[i], e->i32, "");
    tile_machine_call(e, tile_machine_of_op(e->f, op), args, 1 + count);
}

/* LLVM's intrinsics take packs of f16, f32 and f64 unchanged, all other types as 32-bit words. */
static LLVMValueRef mma_argument(tile_emitter *e, tile_scalar scalar, LLVMValueRef part) {
    bool as_is = scalar == TILE_f16 || scalar == TILE_f32 || scalar == TILE_f64;
    return as_is ? part : LLVMBuildBitCast(e->builder, part, e->i32, "");
}

/* Emits the product as LLVM's own intrinsic. */
static void emit_seen(tile_emitter *e, tile_op op) {
    tile_value result = tile_op_result(e->f, op, 0);
    const tile_type *type = tile_value_type(e->f, result);
    unsigned count = 0, at = 0;
    for (unsigned operand = 0; operand < 3; operand++)
        count += tile_part_count(tile_value_type(e->f, tile_op_operand(e->f, op, operand)));
    LLVMValueRef *args = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, count);
    tile_mma_query query = tile_product_query(e->f, op);
    const tile_scalar scalars[] = {query.lhs, query.rhs, query.acc};
    for (unsigned operand = 0; operand < 3; operand++) {
        tile_value value = tile_op_operand(e->f, op, operand);
        const tile_type *from = tile_value_type(e->f, value);
        for (unsigned i = 0; i < tile_part_count(from); i++)
            args[at++] = mma_argument(e, scalars[operand], tile_get_parts(e, value)[i]);
    }
    LLVMValueRef sum = tile_machine_call(e, tile_machine_of_op(e->f, op), args, count);
    LLVMValueRef *parts = tile_new_parts(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++)
        parts[i] = LLVMBuildExtractValue(e->builder, sum, i, "");
    tile_set_parts(e, result, parts);
}

/* Sums in hidden registers --------------------------------------------------------------------- */

enum { MMAS_AT_ONCE = 32 }; /* a fragment is passed once to all products that read it */

static bool is_mma(const tile_emitter *e, tile_op op) {
    return op.id && tile_op_opcode(e->f, op) == TILE_OP_mma;
}

/* Returns whether another product follows with only arithmetic in between. */
static bool has_next_mma(const tile_emitter *e, tile_op op) {
    tile_op next = tile_op_next(e->f, op);
    while (next.id && !is_mma(e, next) && !tile_op_effects(e->f, next) &&
           !tile_op_at(e->f, next)->region_count)
        next = tile_op_next(e->f, next);
    return is_mma(e, next);
}

static const char *element_name(tile_scalar scalar, bool is_unsigned) {
    if (scalar == TILE_i32) return "s32";
    if (scalar == TILE_i8) return is_unsigned ? "u8" : "s8";
    return tile_scalar_name(scalar);
}

/* "m16n8k16.row.col.f32.f16.f16.f32" */
static void put_types(tile_ptx *ptx, const tile_mma *row) {
    const char *acc = element_name(row->acc, false);
    tile_ptx_modify(ptx, "m%un%uk%u.row.col.%s.%s.%s.%s", row->m, row->n, row->k, acc,
                    element_name(row->lhs, row->unsigned_lhs),
                    element_name(row->rhs, row->unsigned_rhs), acc);
}

static void add_fragment(tile_emitter *e, tile_ptx *ptx, tile_value value, tile_scalar scalar) {
    const tile_type *type = tile_value_type(e->f, value);
    unsigned count = tile_part_count(type);
    LLVMValueRef *words = tile_new_parts(e, type);
    for (unsigned i = 0; i < count; i++)
        words[i] = mma_argument(e, scalar, tile_get_parts(e, value)[i]);
    tile_ptx_add_inputs(ptx, words, count);
}

void tile_flush_mmas(tile_emitter *e) {
    size_t count = e->mma_count;
    if (!count) return;
    e->mma_count = 0;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_mma_sum);
    put_types(&ptx, tile_product_instruction(e->f, e->mmas[0]));
    for (size_t i = 0; i < count; i++) {
        tile_value sum = tile_op_result(e->f, e->mmas[i], 0);
        tile_ptx_add_sums(&ptx, tile_sum_registers(e, sum),
                          tile_part_count(tile_value_type(e->f, sum)));
    }
    for (size_t i = 0; i < count; i++) {
        tile_ptx_next(&ptx, (unsigned)i);
        tile_mma_query query = tile_product_query(e->f, e->mmas[i]);
        add_fragment(e, &ptx, tile_operand_lhs(e->f, e->mmas[i]), query.lhs);
        add_fragment(e, &ptx, tile_operand_rhs(e->f, e->mmas[i]), query.rhs);
    }
    tile_ptx_call(&ptx, NULL);
}

/* A run of products is one call. It is emitted at the last product of the run, or before an
 * operation reads a sum. */
static bool queue_held(tile_emitter *e, tile_op op) {
    bool copied;
    const uint32_t *sum = tile_sum_acquire(e, op, tile_operand_acc(e->f, op), &copied);
    if (!sum) return false;
    if (tile_sum_registers(e, tile_operand_lhs(e->f, op)) ||
        tile_sum_registers(e, tile_operand_rhs(e->f, op)))
        tile_flush_mmas(e); /* it may multiply their result */
    if (e->mma_count == MMAS_AT_ONCE ||
        (e->mma_count &&
         tile_product_instruction(e->f, op) != tile_product_instruction(e->f, e->mmas[0])))
        tile_flush_mmas(e);
    e->mmas = tile_arena_grow(&e->arena, e->mmas, e->mma_count, &e->mma_capacity, sizeof *e->mmas);
    e->mmas[e->mma_count++] = op;
    tile_sum_keep_in_registers(e, tile_op_result(e->f, op, 0), sum);
    return true;
}

void tile_emit_mma(tile_emitter *e, tile_op op) {
    if (!queue_held(e, op)) emit_seen(e, op);
    if (!has_next_mma(e, op)) tile_flush_mmas(e);
}
