/* Emits the body: one function for each operation. */
#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"

/* Limits of a grid: CUDA C++ Programming Guide, table of technical specifications. */
enum { MAX_GRID_X = 0x7fffffff, MAX_GRID_YZ = 0xffff };

static void emit_three(tile_emitter *e, tile_op op, tile_machine first, uint32_t low) {
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef value = tile_machine_call(e, (tile_machine)(first + d), NULL, 0);
        tile_machine_set_range(e, value, low, (d ? MAX_GRID_YZ : MAX_GRID_X) + low);
        tile_set_scalar(e, tile_op_result(e->f, op, d), value);
    }
}

void tile_emit_block_id(tile_emitter *e, tile_op op) {
    emit_three(e, op, TILE_MACHINE_block_id_x, 0);
}

void tile_emit_grid_dim(tile_emitter *e, tile_op op) {
    emit_three(e, op, TILE_MACHINE_grid_dim_x, 1);
}

void tile_emit_commit_group(tile_emitter *e, tile_op op) {
    tile_machine_call(e, tile_machine_of_op(e->f, op), NULL, 0);
}

void tile_emit_wait_group(tile_emitter *e, tile_op op) {
    LLVMValueRef pending = tile_get_scalar(e, tile_operand_pending(e->f, op));
    tile_machine_call(e, tile_machine_of_op(e->f, op), &pending, 1);
}

void tile_emit_fence_async(tile_emitter *e, tile_op op) {
    tile_machine_call(e, tile_machine_of_op(e->f, op), NULL, 0);
}

/* On targets without programmatic dependent launch, launches do not overlap. */
static void emit_pdl(tile_emitter *e, tile_machine machine) {
    if (!tile_target_has(e->options->target, tile_machine_feature(machine))) return;
    tile_ptx ptx = tile_ptx_begin(e, machine);
    tile_ptx_call(&ptx, NULL);
}

void tile_emit_pdl_wait(tile_emitter *e, tile_op op) {
    (void)op;
    emit_pdl(e, TILE_MACHINE_pdl_wait);
}

void tile_emit_pdl_trigger(tile_emitter *e, tile_op op) {
    (void)op;
    emit_pdl(e, TILE_MACHINE_pdl_trigger);
}

/* Shared memory has been laid out already: no code is needed. */
void tile_emit_free_shared(tile_emitter *e, tile_op op) {
    (void)e;
    (void)op;
}

void tile_emit_yield(tile_emitter *e, tile_op op) {
    (void)e; /* the enclosing operation reads its operands */
    (void)op;
}

void tile_emit_uniform(tile_emitter *e, tile_op op) {
    tile_set_parts(e, tile_op_result(e->f, op, 0), tile_get_parts(e, tile_operand_src(e->f, op)));
}

void tile_emit_base(tile_emitter *e, tile_op op) {
    tile_emit_uniform(e, op);
}

void tile_emit_misalignment(tile_emitter *e, tile_op op) {
    LLVMValueRef address = tile_get_scalar(e, tile_operand_src(e->f, op));
    address = LLVMBuildPtrToInt(e->builder, address, e->i64, "");
    LLVMValueRef low = LLVMBuildTrunc(e->builder, address, e->i32, "");
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    LLVMBuildAnd(e->builder, low, tile_llvm_int(e->i32, 127), ""));
}

/* Dispatch ------------------------------------------------------------------------------------- */

typedef void (*emit_function)(tile_emitter *e, tile_op op);

/* All operations of level 3; rows of the lower levels are NULL. */
static const emit_function functions[TILE_OPCODE_LIMIT] = {
#define FUNCTION_L0(name) NULL
#define FUNCTION_L1(name) NULL
#define FUNCTION_L2(name) NULL
#define FUNCTION_L12(name) NULL
#define FUNCTION_L123(name) tile_emit_##name
#define FUNCTION_INLINED(name) NULL
#define FUNCTION_EXPANDED(name) NULL
#define FUNCTION_L3(name) tile_emit_##name
#define FUNCTION_L23(name) tile_emit_##name
#define FUNCTION_L023(name) tile_emit_##name
#define FUNCTION_LX(name) tile_emit_##name
#define OP(number, name, levels, ...) [number] = FUNCTION_##levels(name),
#define ELEMENTWISE_OP(number, name, ...) [number] = tile_emit_elementwise,
#include "tile/ops.def"
};

bool tile_emit_can(tile_opcode opcode) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && functions[opcode];
}

void tile_emit_op(tile_emitter *e, tile_op op) {
    tile_lines_set(e, op);
    tile_stamps_put(e, op, false);
    functions[tile_op_opcode(e->f, op)](e, op);
    tile_stamps_put(e, op, true);
}

void tile_emit_region(tile_emitter *e, tile_region region) {
    tile_op next = tile_region_first(e->f, region);
    for (tile_op op = next; op.id; op = next) {
        next = tile_op_next(e->f, op);
        tile_sums_drop_copies(e);
        if (!tile_emit_run(e, op, &next)) tile_emit_op(e, op);
    }
}
