/* Cache hints of accesses: the attribute `cache`. Its words are PTX's, so that they become part of
 * the instruction.
 *
 * An L2 policy is a 64-bit value made by createpolicy. One per word is made at the kernel's entry;
 * ptxas treats it as a constant.
 *
 * cp.async with a policy: if its shared address is the sum of a register and a uniform one, as
 * with the offset of a stage, ptxas 13.0 emits [R+UR0], desc[UR1] with unallocated registers,
 * which is an illegal instruction at run time. It never uses this form without a policy. So the
 * whole address except for a constant is xor-ed, which is not a sum, with a zero that ptxas
 * cannot fold: lanemask_lt & lanemask_eq, since no lane precedes itself. (lane / 32 does not
 * work: ptxas knows the range of lanes.) This costs one instruction for each buffer of a stage. */
#include <string.h>

#include "lib/codegen/ptx.h"
#include "lib/ops/atomic.h"

/* The L2 policies; evict_normal is the default. */
static const char *const policies[TILE_CACHE_POLICIES] = {"evict_first", "evict_last"};

/* The policy of accesses without one. createpolicy cannot make it: its evict_normal makes
 * 0x16f0000000000000, with which loads of data that many blocks read took up to 1.4 times as long
 * on an H200. */
static const int64_t no_policy = INT64_C(0x1000000000000000);

static unsigned policy_of(const char *word) {
    unsigned i = 0;
    while (i < TILE_CACHE_POLICIES && strcmp(policies[i], word) != 0) i++;
    return i;
}

tile_cache_hint tile_find_cache_hint(const tile_function *f, tile_op op, bool read_only) {
    const char *word = tile_op_attr_text(f, op, TILE_ATTR_cache);
    tile_cache_hint hint = {.machine = TILE_MACHINE_COUNT};
    const tile_attr *condition = tile_op_attr(f, op, TILE_ATTR_cache_if);
    if (!word) return hint;
    hint.policy = policy_of(word);
    hint.condition = condition ? condition->expr : NULL;
    bool policy = hint.policy < TILE_CACHE_POLICIES,
         no_line = tile_op_word(f, op, TILE_ATTR_cache) == TILE_WORD_cache_no_allocate;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_ld_global:
    case TILE_OP_ld_global_unaligned:
        if (policy)
            hint.machine =
                read_only ? TILE_MACHINE_ld_constant_policy : TILE_MACHINE_ld_global_policy;
        if (no_line)
            hint.machine =
                read_only ? TILE_MACHINE_ld_constant_no_line : TILE_MACHINE_ld_global_no_line;
        break;
    case TILE_OP_st_global:
        if (policy) hint.machine = TILE_MACHINE_st_global_policy;
        if (no_line) hint.machine = TILE_MACHINE_st_global_no_line;
        break;
    case TILE_OP_cp_async:
    case TILE_OP_cp_async_part:
        if (policy) hint.machine = tile_cp_async_machine(f, op, true, false, 0);
        break;
    case TILE_OP_tma_load:
    case TILE_OP_tma_store:
    case TILE_OP_bulk_load:
    case TILE_OP_bulk_store: /* bypasses L1 */
        if (policy) hint.machine = tile_machine_of_op(f, op);
        break;
    default: break; /* no other operation has the attribute at level 3 */
    }
    return hint;
}

/* Returns why the access cannot have its hint; NULL if it can, or has none. */
static const char *explain(const tile_function *f, tile_op op, const tile_target *target,
                           unsigned ptx_version, tile_machine machine) {
    if (machine != TILE_MACHINE_COUNT) {
        if (!tile_target_has(target, tile_machine_feature(machine)))
            return "the target has no instruction for this cache hint";
        return ptx_version < tile_machine_ptx(machine) ? "PTX has it from 7.4 on" : NULL;
    }
    bool small = tile_op_opcode(f, op) == TILE_OP_cp_async &&
                 tile_op_attr_int(f, op, TILE_ATTR_bytes, 0) < 16;
    return small && tile_op_word(f, op, TILE_ATTR_cache) == TILE_WORD_cache_no_allocate
               ? "an asynchronous copy of less than 16 bytes goes through the L1"
               : NULL;
}

bool tile_check_cache_hint(const tile_function *f, tile_op op, const tile_target *target,
                           unsigned ptx_version, bool remark) {
    tile_cache_hint hint = tile_find_cache_hint(f, op, false);
    const char *why = explain(f, op, target, ptx_version, hint.machine);
    if (why && remark)
        tile_remark_at(f, op, "%s: cache = %s is ignored: %s", tile_op_name(f, op),
                       tile_op_attr_text(f, op, TILE_ATTR_cache), why);
    return hint.machine != TILE_MACHINE_COUNT && !why;
}

/* Emits the call in the entry block, which dominates all uses. */
static LLVMValueRef emit_first(tile_emitter *e, tile_machine machine, const char *modifiers,
                               LLVMTypeRef type) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
    LLVMValueRef value;
    LLVMPositionBuilder(e->builder, entry, LLVMGetFirstInstruction(entry));
    tile_ptx ptx = tile_ptx_begin(e, machine);
    tile_ptx_modify(&ptx, "%s", modifiers);
    tile_ptx_add_results(&ptx, &type, 1);
    tile_ptx_call(&ptx, &value);
    tile_return_to(e, here);
    return value;
}

static LLVMValueRef policy_value(tile_emitter *e, unsigned policy) {
    if (!e->policies[policy]) {
        const char *word = tile_arena_format(&e->arena, "%s.b64", policies[policy]);
        e->policies[policy] = emit_first(e, TILE_MACHINE_cache_policy, word, e->i64);
    }
    return e->policies[policy];
}

/* Emits the choice after all arguments have their values. */
static LLVMValueRef emit_choice(tile_emitter *e, tile_cache_hint hint) {
    LLVMValueRef policy = policy_value(e, hint.policy), none = tile_llvm_int(e->i64, no_policy);
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(e->function);
    LLVMValueRef after = e->last_bound ? e->last_bound : policy;
    LLVMPositionBuilder(e->builder, entry, LLVMGetNextInstruction(after));
    LLVMValueRef zero = tile_llvm_int(e->i64, 0);
    LLVMValueRef holds =
        LLVMBuildICmp(e->builder, LLVMIntNE, tile_emit_expr(e, hint.condition), zero, "");
    policy = LLVMBuildSelect(e->builder, holds, policy, none, "");
    tile_return_to(e, here);
    return policy;
}

LLVMValueRef tile_emit_cache_policy(tile_emitter *e, tile_cache_hint hint) {
    enum { KEPT = sizeof e->conditional / sizeof *e->conditional };
    if (!hint.condition) return policy_value(e, hint.policy);
    for (unsigned i = 0; i < e->conditional_count && i < KEPT; i++)
        if (e->conditional[i].condition == hint.condition &&
            e->conditional[i].policy == hint.policy)
            return e->conditional[i].value;
    LLVMValueRef value = emit_choice(e, hint);
    unsigned at = e->conditional_count++ % KEPT;
    e->conditional[at].condition = hint.condition;
    e->conditional[at].policy = hint.policy;
    return e->conditional[at].value = value;
}

LLVMValueRef tile_emit_hidden(tile_emitter *e, LLVMValueRef address) {
    LLVMTypeRef type = LLVMTypeOf(address);
    LLVMValueRef hidden;
    LLVMBasicBlockRef block = LLVMGetInsertBlock(e->builder);
    if (e->last_hide.block == block && e->last_hide.address == address) return e->last_hide.hidden;
    if (!e->hidden_zero) e->hidden_zero = emit_first(e, TILE_MACHINE_hidden_zero, "", e->i32);
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_hide);
    tile_ptx_add_results(&ptx, &type, 1);
    tile_ptx_add_inputs(&ptx, &address, 1);
    tile_ptx_add_inputs(&ptx, &e->hidden_zero, 1);
    tile_ptx_call(&ptx, &hidden);
    e->last_hide.block = block;
    e->last_hide.address = address;
    return e->last_hide.hidden = hidden;
}
