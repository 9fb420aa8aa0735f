/* The kernel's frame: its PTX interface, shared memory and scratch buffers. */
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"
#include "lib/codegen/sums.h"
#include "lib/launch/abi.h"
#include "lib/ops/atomic.h"
#include "lib/support/target.h"

enum { KERNEL_CONVENTION = 71 /* LLVM's CallingConv::PTX_Kernel */ };

/* What arguments point to ---------------------------------------------------------------------- */

/* A write through anything but a plain argument may be a write through any argument. */
static void note_write(tile_emitter *e, tile_value base) {
    const tile_value_data *data = tile_value_at(e->f, tile_pointer_source(e->f, base));
    if (data->kind == TILE_VALUE_ARG)
        e->args[data->index].is_read_only = false;
    else if (tile_op_opcode(e->f, tile_value_def(e->f, base)) != TILE_OP_scratch)
        for (size_t i = 0; i < e->f->arg_count; i++) e->args[i].is_read_only = false;
}

/* A kernel that waits for the preceding launch may have started while that launch was still
 * writing. LLVM assumes that memory of a `noalias` argument which it only sees read is constant
 * from the kernel's first instruction on. */
static bool is_alone(const tile_emitter *e, const tile_arg_decl *arg) {
    return arg->noalias && tile_type_is_address(arg->type) && !tile_function_waits(e->f);
}

/* Returns whether inline PTX orders the accesses of other blocks. LLVM assumes that inline PTX does
 * not access the memory of a `noalias` argument that is not its operand, and could move accesses to
 * that memory across it. */
static bool orders_by_ptx(const tile_function *f) {
    bool found = false;
    for (uint32_t i = 1; i < f->op_count && !found; i++)
        found = f->ops[i].opcode == TILE_OP_fence ||
                tile_op_get_info((tile_opcode)f->ops[i].opcode)->effects & TILE_EFFECT_ATOMIC;
    return found;
}

/* Memory is constant while the kernel runs only if its argument is `noalias` and the kernel never
 * writes it: then loads may use the non-coherent cache. */
static void find_read_only(tile_emitter *e) {
    e->args = TILE_NEW_ARRAY(&e->arena, tile_arg_facts, e->f->arg_count + 1);
    for (size_t i = 0; i < e->f->arg_count; i++)
        e->args[i].is_read_only = is_alone(e, &e->f->args[i]);
    for (uint32_t i = 1; i < e->f->op_count; i++) {
        tile_op op = {i};
        tile_access accesses[TILE_MAX_ACCESSES];
        if (!e->f->ops[i].opcode) continue;
        bool waits = tile_op_acquires(e->f, op); /* for writes of others */
        unsigned count = tile_op_accesses(e->f, op, accesses);
        for (unsigned a = 0; a < count; a++)
            if (!accesses[a].shared && (accesses[a].write || waits))
                note_write(e, accesses[a].memory);
    }
}

/* Scratch -------------------------------------------------------------------------------------- */

/* Reads an expression that is an extent of the grid from its special register. For expressions of
 * num_sms the kernel has no other source. */
static LLVMValueRef emit_extent(tile_emitter *e, const tile_expr *expr) {
    unsigned d = 0;
    if (expr->kind != TILE_EXPR_OP && expr->kind != TILE_EXPR_NUM_SMS) return NULL;
    while (d < e->f->grid_rank && e->f->grid[d] != expr) d++;
    if (d == e->f->grid_rank) return NULL;
    LLVMValueRef value = tile_machine_call(e, (tile_machine)(TILE_MACHINE_grid_dim_x + d), NULL, 0);
    return LLVMBuildZExt(e->builder, value, e->i64, "");
}

/* x % 2^n == 0: tests the low bits, whatever the sign of x. Returns NULL for any other expression.
 */
static LLVMValueRef emit_divides(tile_emitter *e, const tile_expr *expr) {
    int64_t zero, divisor;
    bool compares = expr->kind == TILE_EXPR_OP && expr->opcode == TILE_OP_eq &&
                    tile_expr_is_int(expr->args[1], &zero) && !zero;
    const tile_expr *rem = compares ? expr->args[0] : NULL;
    if (!rem || rem->kind != TILE_EXPR_OP || rem->opcode != TILE_OP_rem ||
        !tile_expr_is_int(rem->args[1], &divisor) || divisor <= 0 || divisor & (divisor - 1))
        return NULL;
    LLVMValueRef bits = LLVMBuildAnd(e->builder, tile_emit_expr(e, rem->args[0]),
                                     tile_llvm_int(e->i64, divisor - 1), "");
    bits = LLVMBuildICmp(e->builder, LLVMIntEQ, bits, tile_llvm_int(e->i64, 0), "");
    return LLVMBuildZExt(e->builder, bits, e->i64, "");
}

LLVMValueRef tile_emit_expr(tile_emitter *e, const tile_expr *expr) {
    LLVMValueRef args[3] = {NULL, NULL, NULL}, zero = tile_llvm_int(e->i64, 0);
    LLVMValueRef known = emit_extent(e, expr);
    if (!known) known = emit_divides(e, expr);
    if (known) return known;
    if (expr->kind == TILE_EXPR_INT) return tile_llvm_int(e->i64, expr->integer);
    if (expr->kind == TILE_EXPR_ARG) {
        const tile_arg_decl *arg = &e->f->args[expr->integer];
        return LLVMBuildIntCast2(
            e->builder, tile_get_scalar(e, arg->value), e->i64,
            arg->type->scalar != TILE_i1 && !tile_scalar_is_unsigned(arg->type->scalar), "");
    }
    for (unsigned i = 0; i < 3 && expr->args[i]; i++) args[i] = tile_emit_expr(e, expr->args[i]);
    LLVMValueRef value;
    if (expr->opcode == TILE_OP_select) {
        value = LLVMBuildICmp(e->builder, LLVMIntNE, args[0], zero, "");
        return LLVMBuildSelect(e->builder, value, args[1], args[2], "");
    }
    value = tile_emit_int_op(e, expr->opcode, TILE_i64, args[0], args[1], args[2]);
    bool compares = tile_op_has_trait(expr->opcode, TILE_TRAIT_COMPARE);
    return compares ? LLVMBuildZExt(e->builder, value, e->i64, "") : value;
}

/* Buffers of one kind are placed in op order, each size rounded up, exactly as the launch does it.
 */
void tile_emit_scratch(tile_emitter *e, tile_op op) {
    bool clean = tile_op_has_attr(e->f, op, TILE_ATTR_clean);
    tile_value result = tile_op_result(e->f, op, 0);
    tile_arena list = {0};
    unsigned count;
    tile_scratch *buffers = tile_scratch_list(e->f, &list, &count);
    LLVMValueRef offset = NULL;
    LLVMValueRef unit = tile_llvm_int(e->i64, TILE_SCRATCH_ALIGNMENT - 1);
    for (unsigned i = 0; i < count && buffers[i].op.id != op.id; i++) {
        if (buffers[i].clean != clean) continue;
        LLVMValueRef bytes = tile_emit_expr(e, buffers[i].bytes);
        bytes = LLVMBuildAdd(e->builder, bytes, unit, "");
        bytes = LLVMBuildAnd(e->builder, bytes, LLVMConstNot(unit), "");
        offset = offset ? LLVMBuildAdd(e->builder, offset, bytes, "") : bytes;
    }
    LLVMValueRef base = clean ? e->clean_base : e->plain_base;
    tile_set_scalar(e, result,
                    offset ? LLVMBuildGEP2(e->builder, e->i8, base, &offset, 1, "") : base);
    tile_arena_reset(&list);
}

/* Host tables ---------------------------------------------------------------------------------- */

/* The launch has checked that the extents are positive and that their product fits an i32. */
void tile_emit_tile_schedule(tile_emitter *e, tile_op op) {
    const tile_table *table = &e->tables[tile_table_index(e->f, op, e->tables, e->table_count)];
    LLVMValueRef at = tile_get_scalar(e, tile_operand_index(e->f, op)), last = NULL;
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef extent = tile_emit_expr(e, table->extents[d]);
        last = last ? LLVMBuildMul(e->builder, last, extent, "") : extent;
    }
    last = LLVMBuildTrunc(e->builder, last, e->i32, "");
    last = LLVMBuildShl(e->builder, last, tile_llvm_int(e->i32, 1), "");
    at = tile_emit_int_op(e, TILE_OP_max, TILE_i32, at, tile_llvm_int(e->i32, 0), NULL);
    at = tile_emit_int_op(e, TILE_OP_min, TILE_i32, at, last, NULL);
    at = LLVMBuildZExt(e->builder, at, e->i64, "");
    LLVMValueRef base = e->table_bases[table - e->tables];
    LLVMValueRef address = LLVMBuildGEP2(e->builder, e->i32, base, &at, 1, "");
    LLVMValueRef tile = LLVMBuildLoad2(e->builder, e->i32, address, "");
    tile_mark_read_only(e, tile);
    tile_set_scalar(e, tile_op_result(e->f, op, 0), tile);
}

/* Shared memory -------------------------------------------------------------------------------- */

/* In a role a buffer's address is put in a register where the buffer is created. ptxas would
 * compute an address that is written out in the branch of a single thread there, and would then
 * treat the start of shared memory, which wgmma's descriptors share with it, as different between
 * threads. */
static LLVMValueRef emit_in_register(tile_emitter *e, LLVMValueRef address) {
    LLVMTypeRef type = LLVMTypeOf(address);
    LLVMValueRef result;
    tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_buffer_address);
    tile_ptx_add_results(&ptx, &type, 1);
    tile_ptx_add_inputs(&ptx, &address, 1);
    tile_ptx_call(&ptx, &result);
    return result;
}

void tile_emit_alloc_shared(tile_emitter *e, tile_op op) {
    LLVMValueRef offset = tile_llvm_int(e->i32, tile_op_attr_int(e->f, op, TILE_ATTR_offset, 0));
    LLVMValueRef buffer = LLVMConstGEP2(e->i8, e->shared, &offset, 1);
    int64_t stride;
    tile_alloc_bytes(e->f, op, &stride);
    if (stride) {
        offset =
            LLVMBuildMul(e->builder, tile_emit_group(e, op), tile_llvm_int(e->i32, stride), "");
        buffer = LLVMBuildGEP2(e->builder, e->i8, buffer, &offset, 1, "");
    } else if (tile_executors_of(e->f, op).role.id) {
        buffer = emit_in_register(e, buffer);
    }
    tile_set_scalar(e, tile_op_result(e->f, op, 0), buffer);
}

static void declare_shared(tile_emitter *e) {
    if (!tile_shared_bytes(e->f)) return;
    e->shared = LLVMAddGlobalInAddressSpace(e->module, LLVMArrayType2(e->i8, 0), "shared_memory",
                                            SPACE_SHARED);
    LLVMSetAlignment(e->shared, TILE_SHARED_ALIGNMENT);
    LLVMSetLinkage(e->shared, LLVMExternalLinkage);
}

/* Frame ---------------------------------------------------------------------------------------- */

/* A truth value is passed as a byte. */
static LLVMTypeRef arg_type(const tile_emitter *e, const tile_type *type) {
    bool truth = type->kind == TILE_TYPE_SCALAR && type->scalar == TILE_i1;
    return truth ? e->i8 : tile_part_type(e, type);
}

static void add_arg_number(tile_emitter *e, unsigned index, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(e->function, index + 1, LLVMCreateEnumAttribute(e->llvm, kind, value));
}

static void add_arg_flag(tile_emitter *e, unsigned index, const char *name) {
    add_arg_number(e, index, name, 0);
}

/* As the driver expects a CUtensorMap: 128 bytes by value. */
static void pass_map_by_value(tile_emitter *e, unsigned index) {
    static const char by_value[] = "byval", constant[] = "nvvm.grid_constant";
    const LLVMAttributeRef attributes[] = {
        LLVMCreateTypeAttribute(e->llvm,
                                LLVMGetEnumAttributeKindForName(by_value, sizeof by_value - 1),
                                LLVMArrayType2(e->i8, TILE_TENSOR_MAP_BYTES)),
        LLVMCreateStringAttribute(e->llvm, constant, sizeof constant - 1, "", 0)};
    for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++)
        LLVMAddAttributeAtIndex(e->function, index + 1, attributes[i]);
}

static void set_attribute(tile_emitter *e, const char *name, const char *value) {
    LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateStringAttribute(e->llvm, name, (unsigned)strlen(name), value,
                                                      (unsigned)strlen(value)));
}

/* ptxas does not know how much shared memory a launch allocates per block, and may save registers,
 * even by spilling, for more blocks per SM than fit. If registers do not limit the number of blocks
 * that fit, it is told that number. Returns 0 if registers may limit it. */
static unsigned blocks_with_all_registers(const tile_emitter *e, unsigned warps) {
    enum { ALL = 255 };
    const tile_target *target = e->options->target;
    unsigned shared = (unsigned)tile_shared_bytes(e->f);
    unsigned most = tile_target_residency(target, warps, 0, shared, NULL);
    return tile_target_residency(target, warps, ALL, shared, NULL) == most ? most : 0;
}

/* The factor of num_sms in the most blocks of a grid, such as 2 in min(n, num_sms * 2); 0: none. */
static int64_t factor_of_sms(const tile_expr *expr) {
    int64_t factor;
    if (expr->kind == TILE_EXPR_NUM_SMS) return 1;
    if (expr->kind != TILE_EXPR_OP) return 0;
    if (expr->opcode == TILE_OP_mul && expr->args[0]->kind == TILE_EXPR_NUM_SMS &&
        tile_expr_is_int(expr->args[1], &factor))
        return factor;
    for (unsigned i = expr->opcode == TILE_OP_min ? 0 : 2; i < 2; i++)
        if ((factor = factor_of_sms(expr->args[i]))) return factor;
    return expr->opcode == TILE_OP_select ? factor_of_sms(expr->args[2]) : 0;
}

/* A grid of num_sms * 2 blocks shares its work between blocks that run at once. With too many
 * registers for that, the second half of them would begin when the first half has ended, and no
 * block would compute while another one stores. Returns 0 if nothing limits the registers. */
static unsigned blocks_of_grid(const tile_emitter *e, unsigned warps) {
    enum { REGISTERS = 1 << 16, LEAST = 96 /* of a thread */ };
    const int64_t factor = e->f->grid_rank ? factor_of_sms(e->f->grid[0]) : 0;
    const unsigned threads = warps << TILE_LANE_BITS;
    if (factor < 2 || factor * threads * LEAST > REGISTERS) return 0;
    const unsigned shared = (unsigned)tile_shared_bytes(e->f);
    const unsigned most = tile_target_residency(e->options->target, warps, 0, shared, NULL);
    return factor <= most ? (unsigned)factor : 0;
}

static void set_launch_attributes(tile_emitter *e) {
    int64_t extent[3];
    unsigned warps = tile_executors_of_block(e->f).warps;
    unsigned blocks = blocks_with_all_registers(e, warps);
    if (!blocks) blocks = blocks_of_grid(e, warps);
    set_attribute(e, "nvvm.reqntid", tile_arena_format(&e->arena, "%u", 32 * warps));
    if (tile_target_has(e->options->target, TILE_FEATURE_setmaxnreg) && tile_sets_registers(e->f))
        set_attribute(e, "nvvm.maxnreg",
                      tile_arena_format(&e->arena, "%u", tile_entry_registers(warps)));
    else if (blocks)
        set_attribute(e, "nvvm.minctasm", tile_arena_format(&e->arena, "%u", blocks));
    if (!e->f->cluster_rank) return;
    tile_cluster_extents(e->f, extent); /* checked by the verifier */
    set_attribute(
        e, "nvvm.cluster_dim",
        tile_arena_format(&e->arena, "%d,%d,%d", (int)extent[0], (int)extent[1], (int)extent[2]));
}

/* Returns 1 if the parameter is no address. */
static uint64_t alignment_of(const tile_emitter *e, tile_abi_parameter parameter) {
    const tile_arg_decl *arg = &e->f->args[parameter.index];
    switch (parameter.kind) {
    case TILE_PARAMETER_argument:
        return tile_type_is_address(arg->type) ? tile_address_alignment(arg->type, arg->divisible)
                                               : 1;
    case TILE_PARAMETER_clean_scratch:
    case TILE_PARAMETER_scratch: return TILE_SCRATCH_ALIGNMENT;
    case TILE_PARAMETER_table: return TILE_TABLE_ALIGNMENT;
    case TILE_PARAMETER_tensor_map: return TILE_TENSOR_MAP_ALIGNMENT;
    }
    return 1;
}

static void declare_function(tile_emitter *e, const tile_abi_parameter *parameters,
                             unsigned count) {
    const tile_function *f = e->f;
    bool together = orders_by_ptx(f);
    LLVMTypeRef *types = TILE_NEW_ARRAY(&e->arena, LLVMTypeRef, count + 1u);
    for (unsigned i = 0; i < count; i++)
        types[i] =
            parameters[i].kind == TILE_PARAMETER_argument
                ? arg_type(e, f->args[parameters[i].index].type)
                : LLVMPointerTypeInContext(e->llvm, parameters[i].kind == TILE_PARAMETER_tensor_map
                                                        ? SPACE_GENERIC
                                                        : SPACE_GLOBAL);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), types, count, false);
    e->function = LLVMAddFunction(e->module, f->name, type);
    LLVMSetFunctionCallConv(e->function, KERNEL_CONVENTION);
    set_launch_attributes(e);
    for (unsigned i = 0; i < count; i++)
        if (parameters[i].kind == TILE_PARAMETER_tensor_map) pass_map_by_value(e, i);
    for (unsigned i = 0; i < count; i++) {
        uint64_t alignment = alignment_of(e, parameters[i]);
        if (alignment > 1) add_arg_number(e, i, "align", alignment);
    }
    for (unsigned i = 0; i < count; i++)
        if (parameters[i].kind == TILE_PARAMETER_table) {
            add_arg_flag(e, i, "noalias");
            add_arg_flag(e, i, "readonly");
        }
    for (unsigned i = 0; i < f->arg_count; i++) {
        if (!is_alone(e, &f->args[i]) || (together && !e->args[i].is_read_only)) continue;
        add_arg_flag(e, i, "noalias");
        if (e->args[i].is_read_only) add_arg_flag(e, i, "readonly");
    }
}

static void bind_arg(tile_emitter *e, unsigned index, LLVMValueRef value) {
    const tile_arg_decl *arg = &e->f->args[index];
    LLVMSetValueName2(value, arg->name, arg->name ? strlen(arg->name) : 0);
    if (arg->type->kind == TILE_TYPE_SCALAR && arg->type->scalar == TILE_i1)
        value = LLVMBuildICmp(e->builder, LLVMIntNE, value, tile_llvm_int(e->i8, 0), "");
    tile_set_scalar(e, arg->value, value);
}

static void bind_parameters(tile_emitter *e, const tile_abi_parameter *parameters, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef value = LLVMGetParam(e->function, i);
        switch (parameters[i].kind) {
        case TILE_PARAMETER_argument: bind_arg(e, parameters[i].index, value); break;
        case TILE_PARAMETER_clean_scratch: e->clean_base = value; break;
        case TILE_PARAMETER_scratch: e->plain_base = value; break;
        case TILE_PARAMETER_table: e->table_bases[parameters[i].index] = value; break;
        case TILE_PARAMETER_tensor_map: e->map_bases[parameters[i].index] = value; break;
        }
    }
}

/* Each map is prefetched by another warp, and none by the first one, whose copies wait for them. */
static void prefetch_maps(tile_emitter *e) {
    unsigned warps = tile_executors_of_block(e->f).warps;
    if (!e->map_count) return;
    LLVMValueRef thread = tile_machine_call(e, TILE_MACHINE_thread_id, NULL, 0);
    for (unsigned i = 0; i < e->map_count; i++) {
        unsigned warp = warps > 1 ? 1 + i % (warps - 1) : 0;
        LLVMValueRef number = tile_llvm_int(e->i32, INT64_C(32) * warp);
        LLVMValueRef one = LLVMBuildICmp(e->builder, LLVMIntEQ, thread, number, "");
        tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_prefetch_map);
        tile_ptx_add_inputs(&ptx, &e->map_bases[i], 1);
        tile_ptx_add_inputs(&ptx, &one, 1);
        tile_ptx_call(&ptx, NULL);
    }
}

void tile_emit_kernel(tile_emitter *e) {
    unsigned scratch_count, count;
    tile_scratch *scratch = tile_scratch_list(e->f, &e->arena, &scratch_count);
    e->tables = tile_table_list(e->f, &e->arena, &e->table_count);
    e->table_bases = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, e->table_count + 1u);
    e->maps = tile_map_list(e->f, &e->arena, &e->map_count);
    e->map_bases = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, e->map_count + 1u);
    tile_abi_parameter *parameters = tile_parameter_list(
        e->f->arg_count, scratch, scratch_count, e->table_count, e->map_count, &e->arena, &count);
    e->parts = TILE_NEW_ARRAY(&e->arena, LLVMValueRef *, e->f->value_count);
    e->depths = TILE_NEW_ARRAY(&e->arena, uint16_t, e->f->value_count);
    e->uses = tile_count_uses(e->f, &e->arena);
    find_read_only(e);
    declare_shared(e);
    declare_function(e, parameters, count);
    tile_lines_begin(e);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->llvm, e->function, "entry");
    LLVMPositionBuilderAtEnd(e->builder, entry);
    tile_lines_set(e, TILE_NO_OP);
    bind_parameters(e, parameters, count);
    prefetch_maps(e);
    e->last_bound = LLVMGetLastInstruction(entry);
    tile_prepare_roles(e);
    tile_stamps_begin(e);
    tile_sums_begin(e);
    tile_emit_region(e, e->f->body);
    tile_sums_end(e);
    tile_stamps_end(e);
    LLVMBuildRetVoid(e->builder);
    tile_lines_end(e);
}
