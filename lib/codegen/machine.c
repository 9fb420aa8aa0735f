/* The rows of machine.def: their columns, calls of the intrinsics, and the row of an operation. */
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/product.h"
#include "lib/analysis/uniform.h"
#include "lib/codegen/emitter.h"
#include "lib/ops/atomic.h"

enum overload { OVERLOAD_none, OVERLOAD_operand, OVERLOAD_result };

static const struct {
    const char *text;
    bool is_ptx;
    enum overload overload;
    unsigned marks;
    tile_feature feature;
    unsigned ptx;
} machines[] = {
#define INTRINSIC false
#define PTX true
#define NONE TILE_MACHINE_NONE
#define CONVERGENT TILE_MACHINE_CONVERGENT
#define MEMORY TILE_MACHINE_MEMORY
#define PURE TILE_MACHINE_PURE
#define MACHINE(name, form, text, overload, marks, feature, ptx) \
    {text, form, OVERLOAD_##overload, marks, TILE_FEATURE_##feature, ptx},
#include "lib/codegen/machine.def"
#undef MACHINE
#define MMA(name, m, n, k, lhs, rhs, acc, signs, lhs_place, rhs_place, feature, ptx, intrinsic) \
    {intrinsic, false, OVERLOAD_none, CONVERGENT, TILE_FEATURE_##feature, ptx},
#include "lib/layout/mma.def"
};

_Static_assert(sizeof machines / sizeof *machines == TILE_MACHINE_COUNT, "one row each");

const char *tile_machine_text(tile_machine machine) {
    return machines[machine].text;
}

unsigned tile_machine_marks(tile_machine machine) {
    return machines[machine].marks;
}

tile_feature tile_machine_feature(tile_machine machine) {
    return machines[machine].feature;
}

unsigned tile_machine_ptx(tile_machine machine) {
    return machines[machine].ptx;
}

bool tile_machine_is_ptx(tile_machine machine) {
    return machines[machine].is_ptx;
}

bool tile_machine_is_overloaded(tile_machine machine) {
    return machines[machine].overload != OVERLOAD_none;
}

static unsigned intrinsic_id(tile_machine machine) {
    const char *name = machines[machine].text;
    return LLVMLookupIntrinsicID(name, strlen(name));
}

/* LLVM matches overloaded names by prefix, so that a wrong name could be found. */
bool tile_machine_exists(tile_machine machine) {
    const char *name = machines[machine].text;
    if (machines[machine].is_ptx) return true;
    unsigned id = intrinsic_id(machine);
    if (!id || LLVMIntrinsicIsOverloaded(id) != (machines[machine].overload != OVERLOAD_none))
        return false;
    size_t length;
    const char *found = LLVMIntrinsicGetName(id, &length);
    return length == strlen(name) && memcmp(found, name, length) == 0;
}

static LLVMAttributeRef flag_attribute(const tile_emitter *e, const char *name) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    return LLVMCreateEnumAttribute(e->llvm, kind, 0);
}

static void mark_call(const tile_emitter *e, LLVMValueRef call, const char *name) {
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             flag_attribute(e, name));
}

void tile_machine_mark(tile_emitter *e, tile_machine machine, LLVMValueRef call) {
    if (machines[machine].marks & TILE_MACHINE_CONVERGENT) mark_call(e, call, "convergent");
    if (machines[machine].marks & TILE_MACHINE_PURE) {
        mark_call(e, call, "memory"); /* value 0: accesses no memory */
        mark_call(e, call, "nounwind");
    }
}

/* LLVM looks intrinsics up by name; those that are not overloaded are looked up once. */
static LLVMValueRef declare(tile_emitter *e, tile_machine machine, LLVMTypeRef *types,
                            unsigned count) {
    if (!count && e->callees[machine]) return e->callees[machine];
    LLVMValueRef callee =
        LLVMGetIntrinsicDeclaration(e->module, intrinsic_id(machine), types, count);
    if (!count) e->callees[machine] = callee;
    return callee;
}

LLVMValueRef tile_machine_call_typed(tile_emitter *e, tile_machine machine, LLVMTypeRef result,
                                     LLVMValueRef *args, unsigned count) {
    LLVMTypeRef types[2];
    unsigned type_count = 0;
    if (machines[machine].overload == OVERLOAD_result) types[type_count++] = result;
    if (machines[machine].overload != OVERLOAD_none) types[type_count++] = LLVMTypeOf(args[0]);
    LLVMValueRef callee = declare(e, machine, types, type_count);
    LLVMTypeRef type = LLVMGlobalGetValueType(callee);
    LLVMValueRef call = LLVMBuildCall2(e->builder, type, callee, args, count, "");
    tile_machine_mark(e, machine, call);
    return call;
}

LLVMValueRef tile_machine_call(tile_emitter *e, tile_machine machine, LLVMValueRef *args,
                               unsigned count) {
    return tile_machine_call_typed(e, machine, NULL, args, count);
}

void tile_machine_set_range(tile_emitter *e, LLVMValueRef call, uint32_t low, uint32_t high) {
    uint64_t lower = low, upper = high;
    unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
    LLVMAddCallSiteAttribute(call, LLVMAttributeReturnIndex,
                             LLVMCreateConstantRangeAttribute(e->llvm, kind, 32, &lower, &upper));
}

/* The row for a fragment of 1, 2 or 4 matrices. */
static tile_machine matrix_machine(const tile_function *f, tile_op op, tile_value fragment,
                                   const tile_machine rows[3][2]) {
    bool trans = tile_op_has_attr(f, op, TILE_ATTR_trans);
    const tile_type *type = tile_value_type(f, fragment);
    switch (tile_type_elements(type) * tile_scalar_bits(type->scalar) / 32) {
    case 1: return rows[0][trans];
    case 2: return rows[1][trans];
    case 4: return rows[2][trans];
    default: return TILE_MACHINE_COUNT; /* rejected by the verifier */
    }
}

static tile_machine ldmatrix_machine(const tile_function *f, tile_op op) {
    static const tile_machine rows[3][2] = {{TILE_MACHINE_ldmatrix_1, TILE_MACHINE_ldmatrix_1t},
                                            {TILE_MACHINE_ldmatrix_2, TILE_MACHINE_ldmatrix_2t},
                                            {TILE_MACHINE_ldmatrix_4, TILE_MACHINE_ldmatrix_4t}};
    return matrix_machine(f, op, tile_op_result(f, op, 0), rows);
}

static tile_machine stmatrix_machine(const tile_function *f, tile_op op) {
    static const tile_machine rows[3][2] = {{TILE_MACHINE_stmatrix_1, TILE_MACHINE_stmatrix_1t},
                                            {TILE_MACHINE_stmatrix_2, TILE_MACHINE_stmatrix_2t},
                                            {TILE_MACHINE_stmatrix_4, TILE_MACHINE_stmatrix_4t}};
    return matrix_machine(f, op, tile_operand_src(f, op), rows);
}

#define COUNTED(bytes) \
    (TILE_MACHINE_cp_async_##bytes##if == TILE_MACHINE_cp_async_##bytes + 2 && \
     TILE_MACHINE_cp_async_##bytes##z == TILE_MACHINE_cp_async_##bytes + 4 && \
     TILE_MACHINE_cp_async_##bytes##ihif == TILE_MACHINE_cp_async_##bytes + 8 + 2 + 1)
_Static_assert(COUNTED(4) && COUNTED(8) && COUNTED(16), "h counts 1, if 2, z 4, i 8");

tile_machine tile_cp_async_machine(const tile_function *f, tile_op op, bool hinted,
                                   bool conditional, unsigned ptx_version) {
    unsigned row = 1u * hinted + 2u * conditional;
    if (tile_op_opcode(f, op) == TILE_OP_cp_async_part)
        return (tile_machine)(TILE_MACHINE_cp_async_16 + row + 4);
    if (tile_operands_predicate(f, op).count)
        row += ptx_version < tile_machine_ptx(TILE_MACHINE_cp_async_4i) ? 4 : 8;
    switch (tile_op_attr_int(f, op, TILE_ATTR_bytes, 0)) {
    case 4: return (tile_machine)(TILE_MACHINE_cp_async_4 + row);
    case 8: return (tile_machine)(TILE_MACHINE_cp_async_8 + row);
    case 16: return (tile_machine)(TILE_MACHINE_cp_async_16 + row);
    default: return TILE_MACHINE_COUNT; /* rejected by the verifier */
    }
}

/* The verifier has checked that the row exists. */
static tile_machine mma_machine(const tile_function *f, tile_op op) {
    const tile_mma *row = tile_product_instruction(f, op);
    return row ? (tile_machine)(TILE_MACHINE_FIRST_MMA + tile_mma_index(row)) : TILE_MACHINE_COUNT;
}

/* An access without a predicate is an LLVM load or store. */
static tile_machine predicated_machine(const tile_function *f, tile_op op, tile_machine machine) {
    return tile_operand_predicate(f, op).id ? machine : TILE_MACHINE_COUNT;
}

/* The block's own barrier counts all threads implicitly; a warp's barrier has no number. */
static tile_machine sync_machine(const tile_function *f, tile_op op) {
    tile_barrier barrier = tile_barrier_of(f, op, 0);
    if (barrier.number == TILE_WARP_BARRIER) return TILE_MACHINE_sync_warp;
    return barrier.number ? TILE_MACHINE_sync_count : TILE_MACHINE_sync;
}

/* Products of signed with unsigned integers need a later PTX version. */
static tile_machine wgmma_machine(const tile_function *f, tile_op op) {
    tile_mma_query query = tile_product_query(f, op);
    bool mixed = query.unsigned_lhs != query.unsigned_rhs;
    if (tile_product_forms_of(f, op).sparse)
        return mixed                                            ? TILE_MACHINE_wgmma_sparse_mixed
               : tile_op_attr_int(f, op, TILE_ATTR_selector, 0) ? TILE_MACHINE_wgmma_sparse_1
                                                                : TILE_MACHINE_wgmma_sparse_0;
    return mixed ? TILE_MACHINE_wgmma_mixed : TILE_MACHINE_wgmma;
}

static bool reaches_cluster(const tile_function *f, tile_op op, unsigned memory) {
    return tile_value_type(f, tile_op_segment(f, op, memory).at[0])->cluster;
}

/* Returns whether all lanes of a warp provably execute the operation together. Roles are branches
 * of whole warps, which LLVM and ptxas cannot always see. */
static bool all_lanes_come(const tile_function *f, tile_op op) {
    tile_arena scratch = {0};
    const bool *divergent = tile_divergent_values((tile_function *)f, &scratch); /* only reads it */
    bool together =
        !tile_executors_of(f, op).role.id && !tile_divergent_control(f, divergent, op).id;
    tile_arena_reset(&scratch);
    return together;
}

static tile_machine arrive_machine(const tile_function *f, tile_op op) {
    bool aligned = all_lanes_come(f, op);
    if (tile_op_has_attr(f, op, TILE_ATTR_relaxed))
        return aligned ? TILE_MACHINE_cluster_relaxed_aligned : TILE_MACHINE_cluster_relaxed;
    return aligned ? TILE_MACHINE_cluster_arrive_aligned : TILE_MACHINE_cluster_arrive;
}

/* Chooses the row with or without a predicate. */
static tile_machine either_machine(const tile_function *f, tile_op op, tile_machine plain,
                                   tile_machine predicated) {
    return tile_operand_predicate(f, op).id ? predicated : plain;
}

static tile_machine expect_machine(const tile_function *f, tile_op op) {
    return tile_op_has_attr(f, op, TILE_ATTR_noarrive)
               ? either_machine(f, op, TILE_MACHINE_mbarrier_more, TILE_MACHINE_mbarrier_more_if)
               : either_machine(f, op, TILE_MACHINE_mbarrier_expect,
                                TILE_MACHINE_mbarrier_expect_if);
}

static tile_machine tma_machine(const tile_function *f, tile_op op) {
    bool loads = tile_op_opcode(f, op) == TILE_OP_tma_load;
    tile_machine first = loads ? TILE_MACHINE_tma_load_1 : TILE_MACHINE_tma_store_1;
    unsigned last = tile_operands_at(f, op).count - 1;
    unsigned spatial = loads ? tile_operands_offsets(f, op).count : 0;
    if (spatial) return (tile_machine)(TILE_MACHINE_tma_load_im2col_3 + spatial - 1);
    _Static_assert(TILE_WORDS_kind == 17, "each operation by which a copy combines has a case");
    switch (tile_op_word(f, op, TILE_ATTR_kind)) {
    case TILE_WORD_kind_add: first = TILE_MACHINE_tma_add_1; break;
    case TILE_WORD_kind_min: first = TILE_MACHINE_tma_min_1; break;
    case TILE_WORD_kind_max: first = TILE_MACHINE_tma_max_1; break;
    case TILE_WORD_kind_and: first = TILE_MACHINE_tma_and_1; break;
    case TILE_WORD_kind_or: first = TILE_MACHINE_tma_or_1; break;
    case TILE_WORD_kind_xor: first = TILE_MACHINE_tma_xor_1; break;
    default: break;
    }
    return (tile_machine)(first + last);
}

static tile_machine shfl_machine(tile_word kind) {
    _Static_assert(TILE_WORDS_kind == 17, "idx is the default, and the other lanes have a case");
    switch (kind) {
    case TILE_WORD_kind_up: return TILE_MACHINE_shuffle_up;
    case TILE_WORD_kind_down: return TILE_MACHINE_shuffle_down;
    case TILE_WORD_kind_xor: return TILE_MACHINE_shuffle_xor;
    default: return TILE_MACHINE_shuffle;
    }
}

static tile_machine redux_machine(tile_word kind, bool is_unsigned) {
    _Static_assert(TILE_WORDS_kind == 17, "each kind by which a warp combines has a case");
    switch (kind) {
    case TILE_WORD_kind_add: return TILE_MACHINE_redux_add;
    case TILE_WORD_kind_min:
        return is_unsigned ? TILE_MACHINE_redux_min_unsigned : TILE_MACHINE_redux_min;
    case TILE_WORD_kind_max:
        return is_unsigned ? TILE_MACHINE_redux_max_unsigned : TILE_MACHINE_redux_max;
    case TILE_WORD_kind_and: return TILE_MACHINE_redux_and;
    case TILE_WORD_kind_or: return TILE_MACHINE_redux_or;
    case TILE_WORD_kind_xor: return TILE_MACHINE_redux_xor;
    default: return TILE_MACHINE_COUNT; /* rejected by the verifier */
    }
}

static tile_machine vote_machine(tile_word kind) {
    _Static_assert(TILE_WORDS_kind == 17, "ballot is the default, and the others have a case");
    switch (kind) {
    case TILE_WORD_kind_any: return TILE_MACHINE_vote_any;
    case TILE_WORD_kind_all: return TILE_MACHINE_vote_all;
    default: return TILE_MACHINE_vote_ballot;
    }
}

static tile_machine match_machine(const tile_function *f, tile_op op) {
    bool wide = tile_scalar_bits(tile_value_type(f, tile_operand_src(f, op))->scalar) == 64;
    return wide ? TILE_MACHINE_match_long : TILE_MACHINE_match_word;
}

tile_machine tile_machine_of_op(const tile_function *f, tile_op op) {
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_mma: return mma_machine(f, op);
    case TILE_OP_ldmatrix: return ldmatrix_machine(f, op);
    case TILE_OP_stmatrix: return stmatrix_machine(f, op);
    case TILE_OP_wgmma: return wgmma_machine(f, op);
    case TILE_OP_wgmma_fence: return TILE_MACHINE_wgmma_fence;
    case TILE_OP_wgmma_commit: return TILE_MACHINE_wgmma_commit;
    case TILE_OP_wgmma_wait: return TILE_MACHINE_wgmma_wait;
    case TILE_OP_cp_async:
    case TILE_OP_cp_async_part: return tile_cp_async_machine(f, op, false, false, 0);
    case TILE_OP_ld_global: return predicated_machine(f, op, TILE_MACHINE_ld_global_if);
    case TILE_OP_ld_global_unaligned: return TILE_MACHINE_ld_global_if;
    case TILE_OP_st_global: return predicated_machine(f, op, TILE_MACHINE_st_global_if);
    case TILE_OP_ld_shared:
        return predicated_machine(f, op,
                                  reaches_cluster(f, op, 0) ? TILE_MACHINE_ld_cluster_if
                                                            : TILE_MACHINE_ld_shared_if);
    case TILE_OP_st_shared:
        return predicated_machine(f, op,
                                  reaches_cluster(f, op, 1) ? TILE_MACHINE_st_cluster_if
                                                            : TILE_MACHINE_st_shared_if);
    case TILE_OP_cluster_rank: return TILE_MACHINE_cluster_rank;
    case TILE_OP_cluster_id: return TILE_MACHINE_cluster_id_x;
    case TILE_OP_cluster_arrive: return arrive_machine(f, op);
    case TILE_OP_cluster_wait:
        return all_lanes_come(f, op) ? TILE_MACHINE_cluster_wait_aligned
                                     : TILE_MACHINE_cluster_wait;
    case TILE_OP_mbarrier_init: return TILE_MACHINE_mbarrier_init;
    case TILE_OP_mbarrier_fence: return TILE_MACHINE_mbarrier_fence;
    case TILE_OP_mbarrier_arrive:
        return either_machine(f, op, TILE_MACHINE_mbarrier_arrive, TILE_MACHINE_mbarrier_arrive_if);
    case TILE_OP_mbarrier_expect: return expect_machine(f, op);
    case TILE_OP_mbarrier_wait:
    case TILE_OP_mbarrier_test:
        return tile_op_word(f, op, TILE_ATTR_scope) == TILE_WORD_scope_cluster
                   ? TILE_MACHINE_mbarrier_wait_far
                   : TILE_MACHINE_mbarrier_wait;
    case TILE_OP_mbarrier_cp_async:
        return tile_op_has_attr(f, op, TILE_ATTR_noinc) ? TILE_MACHINE_mbarrier_cp_async_counted
                                                        : TILE_MACHINE_mbarrier_cp_async;
    case TILE_OP_st_async: return TILE_MACHINE_st_async;
    case TILE_OP_elect: return TILE_MACHINE_elect;
    case TILE_OP_shfl: return shfl_machine(tile_op_word(f, op, TILE_ATTR_kind));
    case TILE_OP_redux:
        return redux_machine(
            tile_op_word(f, op, TILE_ATTR_kind),
            tile_scalar_is_unsigned(tile_value_type(f, tile_operand_src(f, op))->scalar));
    case TILE_OP_vote: return vote_machine(tile_op_word(f, op, TILE_ATTR_kind));
    case TILE_OP_match: return match_machine(f, op);
    case TILE_OP_sync_warp: return TILE_MACHINE_sync_warp;
    case TILE_OP_map_shared: return TILE_MACHINE_map_shared;
    case TILE_OP_tma_load:
    case TILE_OP_tma_store: return tma_machine(f, op);
    case TILE_OP_bulk_load: return TILE_MACHINE_bulk_load;
    case TILE_OP_bulk_store:
        return tile_op_has_attr(f, op, TILE_ATTR_kind) ? TILE_MACHINE_bulk_reduce
                                                       : TILE_MACHINE_bulk_store;
    case TILE_OP_bulk_commit: return TILE_MACHINE_bulk_commit;
    case TILE_OP_bulk_wait:
        return tile_op_has_attr(f, op, TILE_ATTR_read) ? TILE_MACHINE_bulk_wait_read
                                                       : TILE_MACHINE_bulk_wait;
    case TILE_OP_commit_group: return TILE_MACHINE_commit_group;
    case TILE_OP_wait_group: return TILE_MACHINE_wait_group;
    case TILE_OP_sync: return sync_machine(f, op);
    case TILE_OP_sync_arrive: return TILE_MACHINE_sync_arrive;
    case TILE_OP_fence: return TILE_MACHINE_fence;
    case TILE_OP_fence_async: return TILE_MACHINE_fence_async;
    default: return TILE_MACHINE_COUNT;
    }
}
