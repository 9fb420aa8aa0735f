/* Thread numbers, barriers and roles.
 *
 * Roles are branches on the warp's number. ptxas treats the code in them, such as barriers and mma,
 * as uniform only if it can prove that all lanes of a warp take the same path. So the number comes
 * from lane 0 by a shuffle.
 *
 * Register counts of roles: all warps of a warpgroup must execute the same setmaxnreg. Adjacent
 * regions with the same count therefore share one branch around them. If code follows the roles,
 * all threads return to their initial count.
 *
 * A barrier's number is always a constant: if it is in a register, ptxas reserves all 16 barriers.
 */
#include "lib/analysis/executors.h"
#include "lib/codegen/ptx.h"
#include "lib/ir/regions.h"

enum { LANES = 1 << TILE_LANE_BITS };

static LLVMValueRef emit_block_thread(tile_emitter *e) {
    LLVMValueRef id = tile_machine_call(e, TILE_MACHINE_thread_id, NULL, 0);
    tile_machine_set_range(e, id, 0, LANES * tile_executors_of_block(e->f).warps);
    return id;
}

static bool needs_warp(const tile_function *f) {
    for (uint32_t id = 1; id < f->op_count; id++)
        if (f->ops[id].opcode == TILE_OP_roles || f->ops[id].opcode == TILE_OP_warp_id) return true;
    return false;
}

void tile_prepare_roles(tile_emitter *e) {
    if (!needs_warp(e->f)) return;
    LLVMValueRef warp =
        LLVMBuildLShr(e->builder, emit_block_thread(e), tile_llvm_int(e->i32, TILE_LANE_BITS), "");
    LLVMValueRef args[] = {tile_llvm_int(e->i32, -1), warp, tile_llvm_int(e->i32, 0),
                           tile_llvm_int(e->i32, LANES - 1)};
    e->warp = tile_machine_call(e, TILE_MACHINE_shuffle, args, 4);
}

LLVMValueRef tile_emit_group(tile_emitter *e, tile_op op) {
    tile_region role = tile_executors_of(e->f, op).role;
    return tile_get_scalar(e, tile_region_arg(e->f, role, 0));
}

/* Threads -------------------------------------------------------------------------------------- */

static bool is_power_of_two(unsigned n) {
    return (n & (n - 1)) == 0;
}

/* The number, in the executing set, of the first thread of this warp. If sets begin at multiples of
 * their size, these are the low bits of the warp's number in the block. */
static LLVMValueRef emit_first_of_warp(tile_emitter *e, tile_op op) {
    tile_executors executors = tile_executors_of(e->f, op);
    LLVMValueRef warp = e->warp;
    bool cuts = is_power_of_two(executors.warps);
    if (executors.role.id && !(cuts && executors.first % executors.warps == 0))
        warp = LLVMBuildSub(e->builder, warp, tile_llvm_int(e->i32, executors.first), "");
    if (executors.role.id && cuts)
        warp = LLVMBuildAnd(e->builder, warp, tile_llvm_int(e->i32, executors.warps - 1), "");
    else if (executors.role.id && executors.groups > 1)
        warp = LLVMBuildURem(e->builder, warp, tile_llvm_int(e->i32, executors.warps), "");
    return LLVMBuildShl(e->builder, warp, tile_llvm_int(e->i32, TILE_LANE_BITS), "");
}

void tile_emit_thread_id(tile_emitter *e, tile_op op) {
    LLVMValueRef id = emit_block_thread(e);
    if (e->warp) {
        LLVMValueRef lane = LLVMBuildAnd(e->builder, id, tile_llvm_int(e->i32, LANES - 1), "");
        id = LLVMBuildOr(e->builder, emit_first_of_warp(e, op), lane, "");
    }
    tile_set_scalar(e, tile_op_result(e->f, op, 0), id);
}

void tile_emit_lane_id(tile_emitter *e, tile_op op) {
    LLVMValueRef last = tile_llvm_int(e->i32, LANES - 1);
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    LLVMBuildAnd(e->builder, emit_block_thread(e), last, ""));
}

void tile_emit_warp_id(tile_emitter *e, tile_op op) {
    LLVMValueRef first = emit_first_of_warp(e, op), bits = tile_llvm_int(e->i32, TILE_LANE_BITS);
    tile_set_scalar(e, tile_op_result(e->f, op, 0), LLVMBuildLShr(e->builder, first, bits, ""));
}

LLVMValueRef tile_emit_masked(tile_emitter *e, tile_op op, LLVMValueRef number) {
    int64_t mask;
    tile_op thread = tile_value_def(e->f, tile_operand_lhs(e->f, op));
    if (!e->warp || !thread.id || tile_op_opcode(e->f, thread) != TILE_OP_thread_id ||
        !tile_value_is_int(e->f, tile_operand_rhs(e->f, op), &mask) || mask % LANES)
        return number;
    return emit_first_of_warp(e, thread);
}

/* Barriers ------------------------------------------------------------------------------------- */

/* Numbers are constants even if they differ between groups: otherwise ptxas reserves all barriers.
 */
static void emit_sync_if(tile_emitter *e, tile_barrier barrier, LLVMValueRef predicate) {
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_sync_count_if);
    tile_ptx_modify(&ptx, "%u, %u", barrier.number, LANES * barrier.warps);
    tile_ptx_add_inputs(&ptx, &predicate, 1);
    tile_ptx_call(&ptx, NULL);
}

/* The block's own barrier counts all threads implicitly; a warp's barrier has no number. */
void tile_emit_barrier(tile_emitter *e, tile_op op, LLVMValueRef number) {
    tile_barrier barrier = tile_barrier_of(e->f, op, 0);
    LLVMValueRef args[] = {number ? number : tile_llvm_int(e->i32, barrier.number),
                           tile_llvm_int(e->i32, LANES * barrier.warps)};
    tile_machine machine = tile_machine_of_op(e->f, op);
    if (machine == TILE_MACHINE_sync_warp) args[0] = tile_llvm_int(e->i32, -1);
    bool counts = machine == TILE_MACHINE_sync_count || machine == TILE_MACHINE_sync_arrive;
    tile_machine_call(e, machine, args, counts ? 2 : 1);
}

static LLVMBasicBlockRef new_block(const tile_emitter *e, const char *name) {
    return LLVMAppendBasicBlockInContext(e->llvm, e->function, name);
}

/* Each group has its own barrier, under a predicate. */
void tile_emit_sync(tile_emitter *e, tile_op op) {
    tile_executors executors = tile_executors_of(e->f, op);
    bool same = executors.groups == 1 || tile_op_operand_count(e->f, op) ||
                tile_op_has_attr(e->f, op, TILE_ATTR_all) ||
                tile_barrier_of(e->f, op, 0).number == TILE_WARP_BARRIER;
    if (same) {
        tile_emit_barrier(e, op, NULL);
        return;
    }
    LLVMValueRef group = tile_emit_group(e, op);
    for (unsigned g = 0; g < executors.groups; g++) {
        LLVMValueRef number = tile_llvm_int(e->i32, g);
        LLVMValueRef is_here = LLVMBuildICmp(e->builder, LLVMIntEQ, group, number, "");
        emit_sync_if(e, tile_barrier_of(e->f, op, g), is_here);
    }
}

void tile_emit_sync_arrive(tile_emitter *e, tile_op op) {
    tile_emit_barrier(e, op, NULL);
}

/* Roles ---------------------------------------------------------------------------------------- */

static LLVMValueRef group_number(tile_emitter *e, tile_executors executors) {
    if (executors.groups == 1) return tile_llvm_int(e->i32, 0);
    LLVMValueRef warp =
        LLVMBuildSub(e->builder, e->warp, tile_llvm_int(e->i32, executors.first), "");
    return LLVMBuildUDiv(e->builder, warp, tile_llvm_int(e->i32, executors.warps), "");
}

/* Returns whether code may follow the roles of all warps. */
static bool is_followed(const tile_emitter *e, tile_op op) {
    for (; op.id; op = tile_op_parent(e->f, op)) {
        tile_op after = tile_op_next(e->f, op), parent = tile_op_parent(e->f, op);
        for (; after.id; after = tile_op_next(e->f, after))
            if (tile_op_effects(e->f, after) & ~(unsigned)TILE_EFFECT_TERMINATOR) return true;
        if (parent.id && tile_repeats(e->f, parent)) return true;
    }
    return false;
}

/* Changes the number of registers per thread; 0 stands for the count at kernel entry. */
static void emit_registers(tile_emitter *e, unsigned before, unsigned after) {
    unsigned entry = tile_entry_registers(tile_executors_of_block(e->f).warps);
    before = before ? before : entry;
    after = after ? after : entry;
    LLVMValueRef number = tile_llvm_int(e->i32, after);
    if (before == after || !tile_target_has(e->options->target, TILE_FEATURE_setmaxnreg)) return;
    tile_machine_call(
        e, after > before ? TILE_MACHINE_more_registers : TILE_MACHINE_fewer_registers, &number, 1);
}

/* Branches for the warps of region r, or of all regions from r to before `end`, to a new block. The
 * builder continues with the other warps, or at `join` if there are none. */
static LLVMBasicBlockRef branch_to(tile_emitter *e, tile_op op, unsigned end, const char *name,
                                   LLVMBasicBlockRef join) {
    LLVMBasicBlockRef here = new_block(e, name), next = join;
    if (end < tile_op_at(e->f, op)->region_count) {
        tile_executors executors = tile_executors_of_role(e->f, op, end);
        next = new_block(e, "others");
        LLVMValueRef is_here = LLVMBuildICmp(e->builder, LLVMIntULT, e->warp,
                                             tile_llvm_int(e->i32, executors.first), "");
        LLVMBuildCondBr(e->builder, is_here, here, next);
    } else {
        LLVMBuildBr(e->builder, here);
    }
    LLVMPositionBuilderAtEnd(e->builder, here);
    return next;
}

static void emit_role(tile_emitter *e, tile_op op, unsigned r) {
    tile_region region = tile_op_region(e->f, op, r);
    tile_executors executors = tile_executors_of_role(e->f, op, r);
    tile_set_scalar(e, tile_region_arg(e->f, region, 0), group_number(e, executors));
    tile_emit_region(e, region);
    tile_lines_set(e, op);
}

/* Emits regions [first, end), which have the same number of registers. */
static void emit_same(tile_emitter *e, tile_op op, unsigned first, unsigned end, bool followed) {
    unsigned registers = tile_role_registers(e->f, op, first);
    LLVMBasicBlockRef met = end - first > 1 ? new_block(e, "met") : NULL;
    if (registers) emit_registers(e, 0, registers);
    for (unsigned r = first; r < end; r++) {
        bool last = r + 1 == end;
        LLVMBasicBlockRef next = last ? NULL : branch_to(e, op, r + 1, "role", met);
        emit_role(e, op, r);
        if (met) LLVMBuildBr(e->builder, met);
        if (next) LLVMPositionBuilderAtEnd(e->builder, next);
    }
    if (met) LLVMPositionBuilderAtEnd(e->builder, met);
    if (registers && followed) emit_registers(e, registers, 0);
}

void tile_emit_roles(tile_emitter *e, tile_op op) {
    unsigned count = tile_op_at(e->f, op)->region_count;
    bool followed = is_followed(e, op);
    LLVMBasicBlockRef join = new_block(e, "join");
    for (unsigned r = 0, end; r < count; r = end) {
        unsigned registers = tile_role_registers(e->f, op, r);
        for (end = r + 1;
             end < count && registers && tile_role_registers(e->f, op, end) == registers;)
            end++;
        LLVMBasicBlockRef next = branch_to(e, op, end, "role", join);
        emit_same(e, op, r, end, followed);
        LLVMBuildBr(e->builder, join);
        LLVMPositionBuilderAtEnd(e->builder, next);
    }
}
