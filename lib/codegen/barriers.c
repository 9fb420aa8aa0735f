/* Barriers in shared memory (mbarriers).
 *
 * A wait is a loop of try_wait in LLVM basic blocks: labels in inline PTX would be duplicated with
 * it. Arrivals have the scope of the block: `release.cluster` costs a GPU-wide fence per arrival.
 */
#include "lib/codegen/ptx.h"
#include "lib/ops/atomic.h"

static LLVMBasicBlockRef new_block(const tile_emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

void tile_emit_mbarrier_init(tile_emitter *e, tile_op op) {
    LLVMValueRef args[] = {tile_emit_address(e, op, TILE_OPERAND_bar),
                           tile_get_operand(e, op, TILE_OPERAND_count)};
    tile_machine_call(e, TILE_MACHINE_mbarrier_init, args, 2);
}

void tile_emit_mbarrier_fence(tile_emitter *e, tile_op op) {
    (void)op;
    tile_machine_call(e, TILE_MACHINE_mbarrier_fence, NULL, 0);
}

static bool is_far(const tile_emitter *e, tile_op op) {
    return tile_op_word(e->f, op, TILE_ATTR_scope) == TILE_WORD_scope_cluster;
}

/* The state space of the barrier, which may belong to another block of the cluster. */
static const char *space_of(const tile_emitter *e, tile_op op) {
    const tile_values values = tile_operands_bar(e->f, op);
    return tile_value_type(e->f, values.at[0])->cluster ? "shared::cluster" : "shared::cta";
}

void tile_emit_mbarrier_arrive(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_bar),
                 predicate = tile_get_operand(e, op, TILE_OPERAND_predicate);
    tile_ptx ptx = tile_ptx_begin(e, tile_machine_of_op(e->f, op));
    tile_ptx_modify(&ptx, "%s.%s.b64", is_far(e, op) ? ".release.cluster" : "", space_of(e, op));
    tile_ptx_add_inputs(&ptx, &address, 1);
    if (predicate) tile_ptx_add_inputs(&ptx, &predicate, 1);
    tile_ptx_call(&ptx, NULL);
}

void tile_emit_mbarrier_expect(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_bar),
                 bytes = tile_get_operand(e, op, TILE_OPERAND_bytes);
    LLVMValueRef predicate = tile_get_operand(e, op, TILE_OPERAND_predicate);
    bool arrives = !tile_op_has_attr(e->f, op, TILE_ATTR_noarrive);
    tile_ptx ptx = tile_ptx_begin(e, tile_machine_of_op(e->f, op));
    tile_ptx_modify(&ptx, "%s.%s.b64", arrives ? "" : ".cta", space_of(e, op));
    tile_ptx_add_inputs(&ptx, &address, 1);
    tile_ptx_add_inputs(&ptx, &bytes, 1);
    if (predicate) tile_ptx_add_inputs(&ptx, &predicate, 1);
    tile_ptx_call(&ptx, NULL);
}

static LLVMValueRef emit_try(tile_emitter *e, tile_op op, LLVMValueRef address,
                             LLVMValueRef parity) {
    LLVMValueRef args[] = {address, parity};
    return tile_machine_call(e, tile_machine_of_op(e->f, op), args, 2);
}

void tile_emit_mbarrier_wait(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_bar),
                 parity = tile_get_operand(e, op, TILE_OPERAND_parity);
    LLVMBasicBlockRef again = new_block(e, "wait"), done = new_block(e, "complete");
    LLVMBuildBr(e->builder, again);
    LLVMPositionBuilderAtEnd(e->builder, again);
    LLVMBuildCondBr(e->builder, emit_try(e, op, address, parity), done, again);
    LLVMPositionBuilderAtEnd(e->builder, done);
}

void tile_emit_mbarrier_test(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_bar),
                 parity = tile_get_operand(e, op, TILE_OPERAND_parity);
    tile_set_scalar(e, tile_op_result(e->f, op, 0), emit_try(e, op, address, parity));
}

void tile_emit_mbarrier_cp_async(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_emit_address(e, op, TILE_OPERAND_bar);
    tile_machine_call(e, tile_machine_of_op(e->f, op), &address, 1);
}

/* Warps ---------------------------------------------------------------------------------------- */

static LLVMValueRef all_lanes(const tile_emitter *e) {
    return tile_llvm_int(e->i32, -1);
}

void tile_emit_elect(tile_emitter *e, tile_op op) {
    LLVMValueRef lanes = all_lanes(e);
    LLVMValueRef chosen = tile_machine_call(e, TILE_MACHINE_elect, &lanes, 1);
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    LLVMBuildExtractValue(e->builder, chosen, 1, ""));
}

void tile_emit_sync_warp(tile_emitter *e, tile_op op) {
    LLVMValueRef lanes = all_lanes(e);
    (void)op;
    tile_machine_call(e, TILE_MACHINE_sync_warp, &lanes, 1);
}
