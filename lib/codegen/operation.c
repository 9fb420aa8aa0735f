/* Walks the body: one function for each operation. */
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
    [TILE_OP_for] = tile_emit_for,
    [TILE_OP_if] = tile_emit_if,
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
    TILE_FOR_EACH_OP (e->f, op, region) {
        tile_lines_set(e, tile_op_loc(e->f, op));
        functions[tile_op_opcode(e->f, op)](e, op);
    }
}
