/* Walks the body: one function for each operation, blocks and phis for its control flow. */
#include "lib/codegen/emitter.h"

static void emit_thread_id(tile_emitter *e, tile_op op) {
    int64_t warps = 1;
    tile_expr_is_int(e->f->warps, &warps);
    LLVMValueRef id = tile_machine_call(e, TILE_MACHINE_thread_id, NULL, 0);
    tile_machine_set_range(e, id, 0, (uint32_t)(32 * warps));
    tile_set_scalar(e, tile_op_result(e->f, op, 0), id);
}

/* Limits of a grid: CUDA C++ Programming Guide, table of technical specifications. */
enum { MAX_GRID_X = 0x7fffffff, MAX_GRID_YZ = 0xffff };

static void emit_three(tile_emitter *e, tile_op op, tile_machine first, uint32_t low) {
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef value = tile_machine_call(e, (tile_machine)(first + d), NULL, 0);
        tile_machine_set_range(e, value, low, (d ? MAX_GRID_YZ : MAX_GRID_X) + low);
        tile_set_scalar(e, tile_op_result(e->f, op, d), value);
    }
}

static void emit_block_id(tile_emitter *e, tile_op op) {
    emit_three(e, op, TILE_MACHINE_block_id_x, 0);
}

static void emit_grid_dim(tile_emitter *e, tile_op op) {
    emit_three(e, op, TILE_MACHINE_grid_dim_x, 1);
}

static void emit_sync(tile_emitter *e, tile_op op) {
    LLVMValueRef barrier = tile_llvm_int(e->i32, 0);
    tile_machine_call(e, tile_machine_of_op(e->f, op), &barrier, 1);
}

static void emit_commit_group(tile_emitter *e, tile_op op) {
    tile_machine_call(e, tile_machine_of_op(e->f, op), NULL, 0);
}

static void emit_wait_group(tile_emitter *e, tile_op op) {
    LLVMValueRef pending = tile_get_scalar(e, tile_op_operand(e->f, op, 0));
    tile_machine_call(e, tile_machine_of_op(e->f, op), &pending, 1);
}

/* Shared memory is laid out before: nothing is left to do. */
static void emit_free_shared(tile_emitter *e, tile_op op) {
    (void)e;
    (void)op;
}

/* Control flow --------------------------------------------------------------------------------- */

static LLVMBasicBlockRef new_block(const tile_emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

/* One phi for each part of a value, with its first way in. */
static LLVMValueRef *begin_phis(tile_emitter *e, const tile_type *type, LLVMValueRef *parts,
                                LLVMBasicBlockRef from) {
    LLVMValueRef *phis = tile_new_parts(e, type);
    LLVMTypeRef part = tile_part_type(e, type);
    for (unsigned i = 0; i < tile_part_count(type); i++) {
        phis[i] = LLVMBuildPhi(e->builder, part, "");
        LLVMAddIncoming(phis[i], &parts[i], &from, 1);
    }
    return phis;
}

static void end_phis(const tile_type *type, LLVMValueRef *phis, LLVMValueRef *parts,
                     LLVMBasicBlockRef from) {
    for (unsigned i = 0; i < tile_part_count(type); i++)
        LLVMAddIncoming(phis[i], &parts[i], &from, 1);
}

static tile_op yield_of(const tile_emitter *e, tile_region region) {
    return tile_region_at(e->f, region)->last;
}

static void emit_if(tile_emitter *e, tile_op op) {
    LLVMBasicBlockRef ends[2], sides[2] = {new_block(e, "then"), new_block(e, "else")};
    LLVMBasicBlockRef join = new_block(e, "join");
    unsigned results = tile_op_result_count(e->f, op);
    LLVMBuildCondBr(e->builder, tile_get_scalar(e, tile_op_operand(e->f, op, 0)), sides[0],
                    sides[1]);
    for (unsigned r = 0; r < 2; r++) {
        tile_region region = tile_op_region(e->f, op, r);
        LLVMPositionBuilderAtEnd(e->builder, sides[r]);
        tile_emit_region(e, region);
        for (unsigned i = 0; i < results; i++)
            tile_get_parts(e, tile_op_operand(e->f, yield_of(e, region), i));
        ends[r] = LLVMGetInsertBlock(e->builder);
        LLVMBuildBr(e->builder, join);
    }
    LLVMPositionBuilderAtEnd(e->builder, join);
    for (unsigned i = 0; i < results; i++) {
        tile_value result = tile_op_result(e->f, op, i);
        const tile_type *type = tile_value_type(e->f, result);
        LLVMValueRef *parts[2];
        for (unsigned r = 0; r < 2; r++)
            parts[r] = tile_get_parts(
                e, tile_op_operand(e->f, yield_of(e, tile_op_region(e->f, op, r)), i));
        LLVMValueRef *phis = begin_phis(e, type, parts[0], ends[0]);
        end_phis(type, phis, parts[1], ends[1]);
        tile_set_parts(e, result, phis);
    }
}

/* Tells LLVM's unroller, and ptxas through .pragma, how many copies of the body are wanted. */
static void set_unroll(tile_emitter *e, LLVMValueRef branch, int64_t copies) {
    const char *name = copies > 1 ? "llvm.loop.unroll.count" : "llvm.loop.unroll.disable";
    size_t length =
        copies > 1 ? sizeof "llvm.loop.unroll.count" - 1 : sizeof "llvm.loop.unroll.disable" - 1;
    LLVMMetadataRef words[2] = {LLVMMDStringInContext2(e->llvm, name, length)};
    if (copies > 1) words[1] = LLVMValueAsMetadata(tile_llvm_int(e->i32, copies));
    LLVMMetadataRef hint = LLVMMDNodeInContext2(e->llvm, words, copies > 1 ? 2 : 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(e->llvm, NULL, 0);
    LLVMMetadataRef loop[2] = {self, hint};
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->llvm, loop, 2);
    LLVMMetadataReplaceAllUsesWith(self, node); /* a loop's id names itself first */
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "llvm.loop", 9),
                    LLVMMetadataAsValue(e->llvm, node));
}

typedef struct loop {
    tile_op op;
    tile_region region;
    LLVMValueRef begin, end, step, last;
    LLVMBasicBlockRef before, enter, body, exit;
    LLVMValueRef index;
    LLVMValueRef **phis; /* by carried value */
} loop;

static loop begin_loop(tile_emitter *e, tile_op op) {
    loop l = {.op = op,
              .region = tile_op_region(e->f, op, 0),
              .begin = tile_get_scalar(e, tile_op_operand(e->f, op, 0)),
              .end = tile_get_scalar(e, tile_op_operand(e->f, op, 1)),
              .step = tile_get_scalar(e, tile_op_operand(e->f, op, 2)),
              .enter = new_block(e, "enter"),
              .body = new_block(e, "loop"),
              .exit = new_block(e, "exit")};
    unsigned carried = tile_op_result_count(e->f, op);
    l.phis = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, carried + 1);
    LLVMValueRef both[] = {l.end, l.step};
    l.last = tile_machine_call(e, TILE_MACHINE_subtract_clamp, both, 2);
    LLVMValueRef runs = LLVMBuildICmp(e->builder, LLVMIntSLT, l.begin, l.end, "");
    l.before = LLVMGetInsertBlock(e->builder);
    LLVMBuildCondBr(e->builder, runs, l.enter, l.exit);
    LLVMPositionBuilderAtEnd(e->builder, l.enter);
    LLVMBuildBr(e->builder, l.body);
    LLVMPositionBuilderAtEnd(e->builder, l.body);
    l.index = LLVMBuildPhi(e->builder, e->i32, "");
    LLVMAddIncoming(l.index, &l.begin, &l.enter, 1);
    tile_set_scalar(e, tile_region_arg(e->f, l.region, 0), l.index);
    for (unsigned i = 0; i < carried; i++) {
        tile_value arg = tile_region_arg(e->f, l.region, i + 1);
        LLVMValueRef *init = tile_get_parts(e, tile_op_operand(e->f, op, 3 + i));
        l.phis[i] = begin_phis(e, tile_value_type(e->f, arg), init, l.enter);
        tile_set_parts(e, arg, l.phis[i]);
    }
    return l;
}

/* The loop goes on while index < end - step (clamped), which unlike index + step < end cannot
 * overflow. So the addition is only used where it does not overflow either. */
static LLVMBasicBlockRef close_loop(tile_emitter *e, loop *l) {
    LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->builder);
    tile_op yield = yield_of(e, l->region);
    for (unsigned i = 0; i < tile_op_result_count(e->f, l->op); i++) {
        tile_value next = tile_op_operand(e->f, yield, i);
        end_phis(tile_value_type(e->f, next), l->phis[i], tile_get_parts(e, next), latch);
    }
    LLVMValueRef more = LLVMBuildICmp(e->builder, LLVMIntSLT, l->index, l->last, "");
    LLVMValueRef next = LLVMBuildNSWAdd(e->builder, l->index, l->step, "");
    LLVMAddIncoming(l->index, &next, &latch, 1);
    LLVMValueRef branch = LLVMBuildCondBr(e->builder, more, l->body, l->exit);
    if (tile_op_has_attr(e->f, l->op, TILE_ATTR_unroll))
        set_unroll(e, branch, tile_op_attr_int(e->f, l->op, TILE_ATTR_unroll, 1));
    return latch;
}

static void emit_for(tile_emitter *e, tile_op op) {
    loop l = begin_loop(e, op);
    tile_emit_region(e, l.region);
    tile_lines_set(e, tile_op_loc(e->f, op));
    LLVMBasicBlockRef latch = close_loop(e, &l);
    LLVMPositionBuilderAtEnd(e->builder, l.exit);
    tile_op yield = yield_of(e, l.region);
    for (unsigned i = 0; i < tile_op_result_count(e->f, op); i++) {
        tile_value result = tile_op_result(e->f, op, i);
        const tile_type *type = tile_value_type(e->f, result);
        LLVMValueRef *init = tile_get_parts(e, tile_op_operand(e->f, op, 3 + i));
        LLVMValueRef *phis = begin_phis(e, type, init, l.before);
        end_phis(type, phis, tile_get_parts(e, tile_op_operand(e->f, yield, i)), latch);
        tile_set_parts(e, result, phis);
    }
}

static void emit_yield(tile_emitter *e, tile_op op) {
    (void)e; /* the enclosing operation reads its operands */
    (void)op;
}

/* Dispatch ------------------------------------------------------------------------------------- */

typedef void (*emit_function)(tile_emitter *e, tile_op op);

/* Everything that level 3 has; rows of the lower levels stay NULL. */
static const emit_function functions[TILE_OPCODE_LIMIT] = {
    [TILE_OP_add] = tile_emit_arith,
    [TILE_OP_sub] = tile_emit_arith,
    [TILE_OP_mul] = tile_emit_arith,
    [TILE_OP_div] = tile_emit_arith,
    [TILE_OP_rem] = tile_emit_arith,
    [TILE_OP_mod] = tile_emit_arith,
    [TILE_OP_ceildiv] = tile_emit_arith,
    [TILE_OP_min] = tile_emit_arith,
    [TILE_OP_max] = tile_emit_arith,
    [TILE_OP_and] = tile_emit_arith,
    [TILE_OP_or] = tile_emit_arith,
    [TILE_OP_xor] = tile_emit_arith,
    [TILE_OP_shl] = tile_emit_arith,
    [TILE_OP_shr] = tile_emit_arith,
    [TILE_OP_eq] = tile_emit_compare,
    [TILE_OP_ne] = tile_emit_compare,
    [TILE_OP_lt] = tile_emit_compare,
    [TILE_OP_le] = tile_emit_compare,
    [TILE_OP_gt] = tile_emit_compare,
    [TILE_OP_ge] = tile_emit_compare,
    [TILE_OP_neg] = tile_emit_unary,
    [TILE_OP_not] = tile_emit_unary,
    [TILE_OP_abs] = tile_emit_unary,
    [TILE_OP_sqrt] = tile_emit_unary,
    [TILE_OP_exp2] = tile_emit_unary,
    [TILE_OP_fma] = tile_emit_fma,
    [TILE_OP_select] = tile_emit_select,
    [TILE_OP_cast] = tile_emit_cast,
    [TILE_OP_splat] = tile_emit_splat,
    [TILE_OP_for] = emit_for,
    [TILE_OP_if] = emit_if,
    [TILE_OP_yield] = emit_yield,
    [TILE_OP_block_id] = emit_block_id,
    [TILE_OP_grid_dim] = emit_grid_dim,
    [TILE_OP_scratch] = tile_emit_scratch,
    [TILE_OP_alloc_shared] = tile_emit_alloc_shared,
    [TILE_OP_free_shared] = emit_free_shared,
    [TILE_OP_commit_group] = emit_commit_group,
    [TILE_OP_wait_group] = emit_wait_group,
    [TILE_OP_sync] = emit_sync,
    [TILE_OP_thread_id] = emit_thread_id,
    [TILE_OP_extract] = tile_emit_extract,
    [TILE_OP_concat] = tile_emit_concat,
    [TILE_OP_shuffle] = tile_emit_shuffle,
    [TILE_OP_ld_global] = tile_emit_load,
    [TILE_OP_st_global] = tile_emit_store,
    [TILE_OP_ld_shared] = tile_emit_load,
    [TILE_OP_st_shared] = tile_emit_store,
    [TILE_OP_ldmatrix] = tile_emit_ldmatrix,
    [TILE_OP_mma] = tile_emit_mma,
    [TILE_OP_cp_async] = tile_emit_cp_async,
    [TILE_OP_wait_acquire] = tile_emit_wait_acquire,
    [TILE_OP_st_release] = tile_emit_st_release,
};

bool tile_emit_can(tile_opcode opcode) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && functions[opcode];
}

void tile_emit_region(tile_emitter *e, tile_region region) {
    TILE_FOR_EACH_OP(e->f, op, region) {
        tile_lines_set(e, tile_op_loc(e->f, op));
        functions[tile_op_opcode(e->f, op)](e, op);
    }
}
