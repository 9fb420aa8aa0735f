/* The tensor memory accelerator (TMA): tensor maps, and the copies that use them. */
#include "lib/codegen/ptx.h"
#include "lib/ops/atomic.h"
#include "lib/ops/im2col.h"

void tile_emit_tensor_map(tile_emitter *e, tile_op op) {
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    e->map_bases[tile_map_index(e->f, op, e->maps, e->map_count)]);
}

/* Operands ------------------------------------------------------------------------------------- */

/* The same address in the cluster's shared address space. An LLVM cast would go through a generic
 * address. */
static LLVMValueRef in_cluster(tile_emitter *e, LLVMValueRef address) {
    LLVMTypeRef type = LLVMPointerTypeInContext(e->llvm, SPACE_CLUSTER);
    return LLVMBuildIntToPtr(e->builder, LLVMBuildPtrToInt(e->builder, address, e->i32, ""), type,
                             "");
}

/* The machine counts dims from the innermost one. */
static unsigned add_coordinates(tile_emitter *e, tile_op op, LLVMValueRef *args) {
    const tile_values values = tile_operands_at(e->f, op);
    for (unsigned d = 0; d < values.count; d++)
        args[d] = tile_get_scalar(e, values.at[values.count - 1 - d]);
    return values.count;
}

/* Those of a map in im2col mode, from the innermost spatial dim on. */
static unsigned add_offsets(tile_emitter *e, tile_op op, LLVMValueRef *args) {
    const tile_values values = tile_operands_offsets(e->f, op);
    for (unsigned i = 0; i < values.count; i++)
        args[i] = LLVMBuildTrunc(e->builder, tile_get_scalar(e, values.at[values.count - 1 - i]),
                                 e->i16, "");
    return values.count;
}

/* The L2 policy, and a flag: whether there is one. */
static LLVMValueRef policy_of(tile_emitter *e, tile_op op, LLVMValueRef *flag) {
    tile_cache_hint hint = tile_find_cache_hint(e->f, op, false);
    bool has = hint.machine != TILE_MACHINE_COUNT;
    *flag = tile_llvm_int(e->i1, has);
    return has ? tile_emit_cache_policy(e, hint) : tile_llvm_int(e->i64, 0);
}

static LLVMValueRef blocks_of(tile_emitter *e, tile_op op, LLVMValueRef *flag) {
    LLVMValueRef blocks = tile_get_operand(e, op, TILE_OPERAND_blocks);
    *flag = tile_llvm_int(e->i1, blocks != NULL);
    return blocks ? LLVMBuildTrunc(e->builder, blocks, e->i16, "") : tile_llvm_int(e->i16, 0);
}

/* Copies --------------------------------------------------------------------------------------- */

enum { MAX_ARGS = TILE_MAX_MAP_RANK + TILE_MAX_SPATIAL + 8 };

void tile_emit_tma_load(tile_emitter *e, tile_op op) {
    LLVMValueRef args[MAX_ARGS], has_blocks, has_policy;
    unsigned count = 0;
    args[count++] = in_cluster(e, tile_emit_address(e, op, TILE_OPERAND_dst));
    args[count++] = tile_emit_address(e, op, TILE_OPERAND_bar);
    args[count++] = tile_get_scalar(e, tile_operand_map(e->f, op));
    count += add_coordinates(e, op, &args[count]);
    count += add_offsets(e, op, &args[count]);
    args[count++] = blocks_of(e, op, &has_blocks);
    args[count++] = policy_of(e, op, &has_policy);
    args[count++] = has_blocks;
    args[count++] = has_policy;
    args[count++] = tile_llvm_int(e->i32, 0); /* not for a pair of blocks */
    tile_machine_call(e, tile_machine_of_op(e->f, op), args, count);
}

void tile_emit_tma_store(tile_emitter *e, tile_op op) {
    LLVMValueRef args[MAX_ARGS], has_policy;
    unsigned count = 0;
    args[count++] = tile_emit_address(e, op, TILE_OPERAND_src);
    args[count++] = tile_get_operand(e, op, TILE_OPERAND_map);
    count += add_coordinates(e, op, &args[count]);
    args[count++] = policy_of(e, op, &has_policy);
    args[count++] = has_policy;
    tile_machine_call(e, tile_machine_of_op(e->f, op), args, count);
}

void tile_emit_bulk_load(tile_emitter *e, tile_op op) {
    LLVMValueRef has_blocks, has_policy;
    LLVMValueRef blocks = blocks_of(e, op, &has_blocks), policy = policy_of(e, op, &has_policy);
    LLVMValueRef args[] = {in_cluster(e, tile_emit_address(e, op, TILE_OPERAND_dst)),
                           tile_emit_address(e, op, TILE_OPERAND_bar),
                           tile_emit_address(e, op, TILE_OPERAND_src),
                           tile_get_operand(e, op, TILE_OPERAND_bytes),
                           blocks,
                           policy,
                           has_blocks,
                           has_policy};
    tile_machine_call(e, TILE_MACHINE_bulk_load, args, sizeof args / sizeof *args);
}

/* ".add.noftz.f16" */
static const char *reduction(tile_emitter *e, tile_scalar scalar, tile_word kind) {
    static const char *const names[] = {
        [TILE_WORD_kind_add] = "add", [TILE_WORD_kind_min] = "min", [TILE_WORD_kind_max] = "max",
        [TILE_WORD_kind_and] = "and", [TILE_WORD_kind_or] = "or",   [TILE_WORD_kind_xor] = "xor"};
    unsigned bits = tile_scalar_bits(scalar);
    bool sums = kind == TILE_WORD_kind_add;
    bool compares = kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max;
    const char *letter = compares && tile_scalar_is_unsigned(scalar) ? "u"
                         : compares                                  ? "s"
                         : sums                                      ? "u"
                                                                     : "b",
               *name = names[kind];
    if (tile_scalar_is_floating(scalar))
        return tile_arena_format(&e->arena, ".%s%s.%s", name, sums && bits == 16 ? ".noftz" : "",
                                 tile_scalar_name(scalar));
    return tile_arena_format(&e->arena, ".%s.%s%u", name, letter, bits);
}

static void emit_reduction(tile_emitter *e, tile_op op) {
    LLVMValueRef has_policy, policy = policy_of(e, op, &has_policy);
    bool hinted = LLVMConstIntGetZExtValue(has_policy);
    LLVMValueRef args[] = {tile_emit_address(e, op, TILE_OPERAND_dst),
                           tile_emit_address(e, op, TILE_OPERAND_src),
                           tile_get_operand(e, op, TILE_OPERAND_bytes), policy};
    const tile_values source = tile_operands_src(e->f, op);
    tile_ptx ptx =
        tile_ptx_begin(e, hinted ? TILE_MACHINE_bulk_reduce_policy : TILE_MACHINE_bulk_reduce);
    tile_ptx_modify(&ptx, "%s",
                    reduction(e, tile_value_type(e->f, source.at[0])->scalar,
                              tile_op_word(e->f, op, TILE_ATTR_kind)));
    for (unsigned i = 0; i < (hinted ? 4u : 3u); i++) tile_ptx_add_inputs(&ptx, &args[i], 1);
    tile_ptx_call(&ptx, NULL);
}

void tile_emit_bulk_store(tile_emitter *e, tile_op op) {
    LLVMValueRef has_policy;
    if (tile_op_has_attr(e->f, op, TILE_ATTR_kind)) {
        emit_reduction(e, op);
        return;
    }
    LLVMValueRef policy = policy_of(e, op, &has_policy);
    LLVMValueRef args[] = {tile_emit_address(e, op, TILE_OPERAND_dst),
                           tile_emit_address(e, op, TILE_OPERAND_src),
                           tile_get_operand(e, op, TILE_OPERAND_bytes), policy, has_policy};
    tile_machine_call(e, TILE_MACHINE_bulk_store, args, sizeof args / sizeof *args);
}

/* Groups --------------------------------------------------------------------------------------- */

void tile_emit_bulk_commit(tile_emitter *e, tile_op op) {
    tile_machine_call(e, tile_machine_of_op(e->f, op), NULL, 0);
}

void tile_emit_bulk_wait(tile_emitter *e, tile_op op) {
    LLVMValueRef pending = tile_get_scalar(e, tile_operand_pending(e->f, op));
    tile_machine_call(e, tile_machine_of_op(e->f, op), &pending, 1);
}
