#include "lib/codegen/stamps.h"

#include "lib/analysis/executors.h"
#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"

/* Pieces of a copy get no stamps, nor the middle of a group of products: ptxas splits the group at
 * any instruction in between. */
static bool is_stamped(const tile_function *f, tile_op op) {
    enum {
        MEETINGS = TILE_EFFECT_WAIT | TILE_EFFECT_BARRIER | TILE_EFFECT_ACQUIRE |
                   TILE_EFFECT_RELEASE | TILE_EFFECT_CLUSTER
    };
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    unsigned effects = tile_op_effects(f, op);
    if (effects & (TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR)) return false;
    switch (info->completion) {
    case TILE_COMPLETION_NOW: return effects & MEETINGS;
    case TILE_COMPLETION_STARTS:
        return info->mechanism == TILE_MECHANISM_BARRIER ||
               info->mechanism == TILE_MECHANISM_BULK_GROUP;
    case TILE_COMPLETION_COMMITS:
    case TILE_COMPLETION_WAITS: return true;
    }
    return false;
}

static LLVMValueRef block_number(tile_emitter *e) {
    LLVMBuilderRef b = e->builder;
    LLVMValueRef number = tile_machine_call(e, TILE_MACHINE_block_id_z, NULL, 0);
    number = LLVMBuildMul(b, number, tile_machine_call(e, TILE_MACHINE_grid_dim_y, NULL, 0), "");
    number = LLVMBuildAdd(b, number, tile_machine_call(e, TILE_MACHINE_block_id_y, NULL, 0), "");
    number = LLVMBuildMul(b, number, tile_machine_call(e, TILE_MACHINE_grid_dim_x, NULL, 0), "");
    return LLVMBuildAdd(b, number, tile_machine_call(e, TILE_MACHINE_block_id_x, NULL, 0), "");
}

static void put(tile_emitter *e, uint32_t what) {
    LLVMValueRef count = LLVMBuildLoad2(e->builder, e->i32, e->stamp_count, "");
    LLVMValueRef id = tile_llvm_int(e->i32, what);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_stamp);
    tile_ptx_add_inputs(&ptx, &e->stamp_base, 1);
    tile_ptx_add_inputs(&ptx, &count, 1);
    tile_ptx_add_inputs(&ptx, &e->stamp_limit, 1);
    tile_ptx_add_inputs(&ptx, &id, 1);
    tile_ptx_call(&ptx, NULL);
    LLVMBuildStore(e->builder, LLVMBuildAdd(e->builder, count, tile_llvm_int(e->i32, 1), ""),
                   e->stamp_count);
}

void tile_stamps_begin(tile_emitter *e) {
    if (!e->options->stamps) return;
    LLVMBuilderRef b = e->builder;
    unsigned warps = tile_executors_of_block(e->f).warps;
    uint64_t bytes = (uint64_t)TILE_STAMPED_WARPS * TILE_STAMPS_OF_WARP * sizeof(tile_stamp);
    LLVMTypeRef type = LLVMArrayType2(e->i8, bytes);
    LLVMValueRef all = LLVMAddGlobalInAddressSpace(e->module, type, TILE_STAMPS_NAME, SPACE_GLOBAL);
    LLVMSetInitializer(all, LLVMConstNull(type));
    LLVMSetAlignment(all, sizeof(tile_stamp));
    LLVMValueRef thread = tile_machine_call(e, TILE_MACHINE_thread_id, NULL, 0);
    LLVMValueRef lane = LLVMBuildAnd(b, thread, tile_llvm_int(e->i32, 31), "");
    LLVMValueRef warp = LLVMBuildLShr(b, thread, tile_llvm_int(e->i32, 5), "");
    LLVMValueRef block = block_number(e);
    LLVMValueRef room = tile_llvm_int(e->i32, TILE_STAMPED_WARPS / warps);
    LLVMValueRef first = LLVMBuildICmp(b, LLVMIntEQ, lane, tile_llvm_int(e->i32, 0), "");
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULT, block, room, "");
    e->stamp_limit =
        LLVMBuildSelect(b, LLVMBuildAnd(b, first, inside, ""),
                        tile_llvm_int(e->i32, TILE_STAMPS_OF_WARP), tile_llvm_int(e->i32, 0), "");
    LLVMValueRef row = LLVMBuildMul(b, block, tile_llvm_int(e->i32, warps), "");
    row = LLVMBuildZExt(b, LLVMBuildAdd(b, row, warp, ""), e->i64, "");
    LLVMValueRef offset =
        LLVMBuildMul(b, row, tile_llvm_int(e->i64, TILE_STAMPS_OF_WARP * sizeof(tile_stamp)), "");
    e->stamp_base = LLVMBuildAdd(b, LLVMBuildPtrToInt(b, all, e->i64, ""), offset, "");
    e->stamp_count = LLVMBuildAlloca(b, e->i32, "");
    LLVMBuildStore(b, tile_llvm_int(e->i32, 0), e->stamp_count);
    put(e, 0);
}

void tile_stamps_put(tile_emitter *e, tile_op op, bool behind) {
    if (e->stamp_count && is_stamped(e->f, op)) put(e, 2 * op.id + behind);
}

/* Promotes the counter to a register: later passes do not promote memory. */
void tile_stamps_end(tile_emitter *e) {
    if (e->stamp_count) put(e, 1);
}
