/* Checks everything that emission assumes: level, types, target. An instruction that LLVM cannot
 * select would end in its fatal error handler; here it is a diagnostic at the operation. */
#include "lib/analysis/executors.h"
#include "lib/codegen/emitter.h"
#include "lib/ir/cost.h"
#include "lib/launch/abi.h"
#include "lib/ops/error.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"
#include "lib/support/target.h"

enum { MAX_COPIES = 256 };

typedef struct checker {
    const tile_function *f;
    tile_context *context;
    const tile_target *target;
    unsigned asked;       /* requested PTX version, 0: any */
    unsigned ptx_version; /* the lowest version needed so far */
    tile_loc remarked;    /* where the last remark was: all accesses of a copy have its location */
    int64_t instructions; /* estimated count up to here */
    const uint32_t *uses; /* of each value */
    bool lacks_clusters;  /* reported already */
    unsigned errors;
} checker;

#define FAIL(c, loc, ...) ((c)->errors++, tile_report((c)->context, TILE_ERROR, (loc), __VA_ARGS__))

static const char *op_name(const checker *c, tile_op op) {
    return tile_op_name(c->f, op);
}

/* Element types that are only copied. */
static bool is_opaque(tile_scalar scalar) {
    return !tile_scalar_has_arithmetic(scalar);
}

static void check_value(checker *c, tile_op op, tile_value value) {
    const tile_value_data *data = tile_value_at(c->f, value);
    const tile_type *type = data->type;
    bool view_arg = type->kind == TILE_TYPE_VIEW && data->kind == TILE_VALUE_ARG;
    bool thread_level = type->kind == TILE_TYPE_SCALAR || type->kind == TILE_TYPE_PTR || view_arg ||
                        type->kind == TILE_TYPE_SHARED || type->kind == TILE_TYPE_VECTOR ||
                        type->kind == TILE_TYPE_MAP || type->kind == TILE_TYPE_DESCRIPTOR;
    if (!thread_level)
        FAIL(c, tile_op_loc(c->f, op),
             "%s: %s is not a type of level 3, and PTX is generated from level 3 only; run "
             "lower-tiles",
             op_name(c, op), type->kind == TILE_TYPE_VIEW ? "a view" : "a tile");
    else if (type->param || (type->kind == TILE_TYPE_VECTOR && tile_type_elements(type) < 1) ||
             (data->kind == TILE_VALUE_CONSTANT && data->expr->kind != TILE_EXPR_INT &&
              data->expr->kind != TILE_EXPR_FLOAT))
        FAIL(c, tile_op_loc(c->f, op),
             "%s: a compile-time parameter has no value yet; run instantiate", op_name(c, op));
}

/* Rejects arithmetic that has neither an instruction nor an exact replacement. */
static void check_arithmetic(checker *c, tile_op op) {
    tile_opcode opcode = tile_op_opcode(c->f, op);
    bool moves = opcode == TILE_OP_select || opcode == TILE_OP_splat || opcode == TILE_OP_bitcast;
    if (!tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) || moves) return;
    const tile_type *src = tile_value_type(c->f, tile_first_operand(c->f, op));
    const tile_type *result = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    tile_scalar opaque = is_opaque(src->scalar) ? src->scalar : result->scalar;
    if (is_opaque(opaque) && opcode != TILE_OP_cast)
        FAIL(c, tile_op_loc(c->f, op), "%s: %s has no arithmetic; cast to f32 first",
             op_name(c, op), tile_scalar_name(opaque));
    else if (tile_emit_is_missing(opcode, src->scalar))
        FAIL(c, tile_op_loc(c->f, op), "%s: there is no instruction for %s; cast to %s first",
             op_name(c, op), tile_scalar_name(src->scalar),
             tile_scalar_is_floating(src->scalar) ? "f32" : "i32");
}

static void refuse_feature(checker *c, tile_loc loc, const char *operation, tile_feature feature) {
    char targets[TILE_TARGETS_TEXT];
    FAIL(c, loc, "%s needs %s, which %s lacks; compile for %s", operation,
         tile_feature_text(feature), c->target->name,
         tile_feature_targets(feature, targets, sizeof targets));
}

/* The row of machine.def as which an operation is emitted for this target. */
static tile_machine machine_of(const checker *c, tile_op op) {
    if (tile_op_get_info(tile_op_opcode(c->f, op))->effects & TILE_EFFECT_ATOMIC)
        return tile_atomic_machine(c->f, op, c->target, c->uses);
    if (tile_op_opcode(c->f, op) != TILE_OP_cast) return tile_machine_of_op(c->f, op);
    return tile_cast_machine(tile_value_type(c->f, tile_operand_src(c->f, op))->scalar,
                             tile_value_type(c->f, tile_op_result(c->f, op, 0))->scalar, c->target);
}

static void check_machine(checker *c, tile_op op) {
    tile_machine machine = machine_of(c, op);
    if (machine == TILE_MACHINE_COUNT) return;
    bool said = c->lacks_clusters && (tile_op_needs_cluster(tile_op_opcode(c->f, op)) ||
                                      machine == TILE_MACHINE_st_cluster_if);
    if (!tile_target_has(c->target, tile_machine_feature(machine)) && !said)
        refuse_feature(c, tile_op_loc(c->f, op), op_name(c, op), tile_machine_feature(machine));
    if (c->ptx_version < tile_machine_ptx(machine)) c->ptx_version = tile_machine_ptx(machine);
}

static void check_cache(checker *c, tile_op op) {
    tile_loc loc = tile_op_loc(c->f, op);
    unsigned needed = tile_machine_ptx(TILE_MACHINE_cache_policy);
    if (!tile_op_has_attr(c->f, op, TILE_ATTR_cache)) return;
    tile_machine machine = tile_find_cache_hint(c->f, op, false).machine;
    if (machine != TILE_MACHINE_COUNT && tile_machine_ptx(machine) > needed)
        needed = tile_machine_ptx(machine);
    bool again = loc.file == c->remarked.file && loc.line == c->remarked.line &&
                 loc.column == c->remarked.column;
    bool said = tile_check_cache_hint(c->f, op, c->target, c->asked ? c->asked : needed, !again);
    c->remarked = loc;
    if (said && c->ptx_version < needed) c->ptx_version = needed;
}

static void check_alloc(checker *c, tile_op op) {
    const tile_type *type = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    int64_t offset = tile_op_attr_int(c->f, op, TILE_ATTR_offset, -1);
    if (offset < 0)
        FAIL(c, tile_op_loc(c->f, op),
             "alloc_shared: the buffer has no offset; run allocate-shared");
    else if (offset % 16)
        FAIL(c, tile_op_loc(c->f, op), "alloc_shared: offset %lld is not a multiple of 16",
             (long long)offset);
    if (tile_type_elements(type) < 1 || tile_type_stage_count(type) < 1)
        FAIL(c, tile_op_loc(c->f, op),
             "alloc_shared: the buffer's extents must be positive constants; run instantiate");
}

/* The number of pending groups is an immediate of the instruction. */
static void check_wait(checker *c, tile_op op) {
    int64_t pending;
    if (!tile_value_is_int(c->f, tile_operand_pending(c->f, op), &pending))
        FAIL(c, tile_op_loc(c->f, op), "%s: the number of pending groups must be a constant",
             op_name(c, op));
}

static void check_roles(checker *c, tile_op op) {
    for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++)
        if (!tile_executors_of_role(c->f, op, r).warps)
            FAIL(c, tile_op_loc(c->f, op),
                 "roles: the warps of region %u are not known yet; run instantiate", r + 1);
}

static void check_op(checker *c, tile_op op) {
    tile_opcode opcode = tile_op_opcode(c->f, op);
    const tile_op_data *data = tile_op_at(c->f, op);
    if (!(tile_op_get_info(opcode)->levels & TILE_LEVEL_3)) {
        FAIL(c, data->loc, "%s is not an operation of level 3; run lower-tiles", op_name(c, op));
        return;
    }
    if (!tile_emit_can(opcode)) {
        FAIL(c, data->loc, "code generation does not implement %s", op_name(c, op));
        return;
    }
    for (uint32_t i = 0; i < data->operand_count; i++) check_value(c, op, data->operands[i]);
    for (uint32_t i = 0; i < data->result_count; i++)
        check_value(c, op, tile_op_result(c->f, op, i));
    check_arithmetic(c, op);
    check_machine(c, op);
    check_cache(c, op);
    if (opcode == TILE_OP_alloc_shared) check_alloc(c, op);
    if (opcode == TILE_OP_wait_group || opcode == TILE_OP_wgmma_wait || opcode == TILE_OP_bulk_wait)
        check_wait(c, op);
    if (opcode == TILE_OP_roles) check_roles(c, op);
}

/* LLVM folds these itself. */
static bool is_constant(const checker *c, tile_value value) {
    tile_op def = tile_value_def(c->f, value);
    if (!def.id) return tile_value_at(c->f, value)->kind == TILE_VALUE_CONSTANT;
    if (tile_op_opcode(c->f, def) != TILE_OP_splat && tile_op_opcode(c->f, def) != TILE_OP_concat)
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(c->f, def); i++)
        if (tile_value_at(c->f, tile_op_operand(c->f, def, i))->kind != TILE_VALUE_CONSTANT)
            return false;
    return true;
}

/* Integer division: without a constant divisor, ptxas makes about fifty instructions of it. */
static int64_t weight_of_division(const checker *c, tile_op op, bool is_float) {
    enum { BY_CONSTANT = 4 };
    if (is_float) return tile_op_cost(tile_op_opcode(c->f, op)).code;
    if (is_constant(c, tile_operand_rhs(c->f, op))) return BY_CONSTANT;
    return tile_op_cost(TILE_OP_rem).code; /* integers: the same as a quotient */
}

static bool is_float8(tile_scalar scalar) {
    return tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) == 8;
}

/* Approximations of floats: f64 has longer ones, narrow floats are cast to f32 and back. */
static int64_t weight_of_function(const checker *c, tile_op op, tile_scalar from) {
    enum { CASTS = 4 };
    bool fast = tile_op_has_attr(c->f, op, TILE_ATTR_fast);
    int64_t code = fast ? 1 : tile_op_cost(tile_op_opcode(c->f, op)).code;
    if (from == TILE_f64) return 2 * code;
    return code + (tile_scalar_bits(from) < 32 ? CASTS : 0);
}

/* The number of additions that take LLVM and ptxas as much time as one element of this operation.
 * Measured: the longest code of each kind takes ptxas 10 to 20 seconds. */
static int64_t weight_of(const checker *c, tile_op op) {
    enum { LONG_MUL = 5, NARROW_MUL = 4, FLOAT8_CAST = 12 };
    tile_opcode opcode = tile_op_opcode(c->f, op);
    tile_scalar from = tile_value_type(c->f, tile_first_operand(c->f, op))->scalar;
    tile_scalar to = tile_value_type(c->f, tile_op_result(c->f, op, 0))->scalar;
    bool is_float = tile_scalar_is_floating(from), narrow = tile_scalar_bits(from) < 32;
    if (is_constant(c, tile_first_operand(c->f, op)) && tile_op_operand_count(c->f, op) == 1)
        return 1;
    if (tile_opcode_divides(opcode)) return weight_of_division(c, op, is_float);
    if (opcode == TILE_OP_mul && tile_scalar_as_signed(from) == TILE_i64) return LONG_MUL;
    if (opcode == TILE_OP_mul && narrow && !is_float) return NARROW_MUL;
    bool rounds = tile_op_has_trait(opcode, TILE_TRAIT_ROUNDS);
    if (rounds && !tile_op_is_approximate(opcode)) return tile_op_cost(opcode).code;
    if (rounds || tile_op_has_attr(c->f, op, TILE_ATTR_fast))
        return weight_of_function(c, op, from);
    if (opcode == TILE_OP_cast && (is_float8(from) || is_float8(to)) &&
        !tile_target_has(c->target, TILE_FEATURE_cvt_float8))
        return FLOAT8_CAST;
    return tile_op_cost(opcode).code;
}

/* An element-wise operation costs its weight for each element. Other operations cost one, or
 * nothing if they only rearrange elements. */
static int64_t instructions_of(const checker *c, tile_op op) {
    enum { SWAP_LOOP = 16 };
    tile_opcode opcode = tile_op_opcode(c->f, op);
    if (tile_emit_can(opcode) && tile_op_get_info(opcode)->effects & TILE_EFFECT_ATOMIC) {
        int64_t each = machine_of(c, op) == TILE_MACHINE_atom_cas ? SWAP_LOOP : 1;
        return each * tile_type_elements(tile_value_type(c->f, tile_moved_operand(c->f, op)));
    }
    bool exchanges = opcode == TILE_OP_shfl || opcode == TILE_OP_redux;
    if (exchanges) return tile_type_elements(tile_value_type(c->f, tile_op_result(c->f, op, 0)));
    if (!tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE)) return 1;
    const tile_type *type = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    int64_t elements = type->kind == TILE_TYPE_VECTOR ? tile_type_elements(type) : 1;
    return elements * weight_of(c, op);
}

/* LLVM and ptxas take more than twice the time for twice the code: this length takes seconds. */
static void check_length(checker *c, tile_op op, int64_t copies) {
    int64_t before = c->instructions;
    c->instructions += copies * instructions_of(c, op);
    if (before <= TILE_MAX_INSTRUCTIONS && c->instructions > TILE_MAX_INSTRUCTIONS)
        FAIL(c, tile_op_loc(c->f, op),
             "%s: here one thread's code exceeds %d instructions, each copy of an unrolled body "
             "counted; use smaller tiles or vectors, more warps, or unroll less",
             op_name(c, op), TILE_MAX_INSTRUCTIONS);
}

/* copies: how often the enclosing unrolled loops copy this region. */
static void check_region(checker *c, tile_region region, int64_t copies) {
    TILE_FOR_EACH_OP (c->f, op, region) {
        check_op(c, op);
        check_length(c, op, copies);
        int64_t unroll = tile_op_attr_int(c->f, op, TILE_ATTR_unroll, 1);
        if (unroll < 1 || unroll > MAX_COPIES / copies) {
            FAIL(
                c, tile_op_loc(c->f, op),
                "the product of the unroll factors of nested loops must be at most %d; unroll less",
                MAX_COPIES);
            continue;
        }
        for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++)
            check_region(c, tile_op_region(c->f, op, r), copies * unroll);
    }
}

static void check_frame(checker *c) {
    const tile_function *f = c->f;
    char targets[TILE_TARGETS_TEXT];
    int64_t cluster[3];
    if (!tile_executors_of_block(f).warps)
        FAIL(c, f->loc, "@%s: the number of warps must be a constant from 1 to 32", f->name);
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].type->param ||
            (f->args[i].type->kind != TILE_TYPE_SCALAR && !tile_type_is_address(f->args[i].type)))
            FAIL(c, f->loc, "@%s: argument %%%s must be a view, a pointer or a scalar", f->name,
                 f->args[i].name ? f->args[i].name : "");
    if (!tile_check_barriers(f)) c->errors++;
    c->lacks_clusters = f->cluster_rank && !tile_target_has(c->target, TILE_FEATURE_cluster);
    if (c->lacks_clusters)
        FAIL(c, f->loc,
             "@%s needs %s, which %s lacks; compile for %s, or write the kernel without `cluster` "
             "and without the strategy `cluster` of `split`",
             f->name, tile_feature_text(TILE_FEATURE_cluster), c->target->name,
             tile_feature_targets(TILE_FEATURE_cluster, targets, sizeof targets));
    if (!tile_cluster_extents(f, cluster))
        FAIL(c, f->loc, "@%s: a cluster's extents must be constants and their product at most %d",
             f->name, TILE_MAX_CLUSTER);
}

/* Limits: PTX ISA, "Kernel Function Parameters". */
static void check_parameters(checker *c, const tile_abi_parameter *parameters, unsigned count) {
    enum { MAX_BYTES_BEFORE_81 = 4352, MAX_BYTES = 32764 };
    int64_t bytes = 0;
    for (unsigned i = 0; i < count; i++) {
        int64_t size = 8; /* an address */
        if (parameters[i].kind == TILE_PARAMETER_tensor_map) {
            bytes = tile_round_up(bytes, TILE_TENSOR_MAP_ALIGNMENT) + TILE_TENSOR_MAP_BYTES;
            continue;
        }
        if (parameters[i].kind == TILE_PARAMETER_argument) {
            const tile_type *type = c->f->args[parameters[i].index].type;
            if (!tile_type_is_address(type)) size = tile_scalar_bytes(type->scalar);
        }
        bytes = tile_round_up(bytes, size) + size;
    }
    if (bytes > MAX_BYTES)
        FAIL(c, c->f->loc, "@%s: the arguments take %lld bytes, and those of a kernel at most %d",
             c->f->name, (long long)bytes, MAX_BYTES);
    else if (bytes > MAX_BYTES_BEFORE_81 && c->ptx_version < 81)
        c->ptx_version = 81;
}

static void check_maps(checker *c, tile_loc loc) {
    enum { PTX_WITH_MAPS = 80 };
    if (!tile_target_has(c->target, TILE_FEATURE_tma))
        refuse_feature(c, loc, "tensor_map", TILE_FEATURE_tma);
    if (c->ptx_version < PTX_WITH_MAPS) c->ptx_version = PTX_WITH_MAPS;
}

static void check_memory(checker *c) {
    tile_arena list = {0};
    unsigned count, table_count, map_count, parameter_count;
    tile_scratch *buffers = tile_scratch_list(c->f, &list, &count);
    for (unsigned i = 0; i < count; i++)
        if (!buffers[i].bytes)
            FAIL(c, tile_op_loc(c->f, buffers[i].op),
                 "scratch: the extents must be computable from the kernel's arguments alone");
    tile_table *tables = tile_table_list(c->f, &list, &table_count);
    if (!tile_table_check(c->f, tables, table_count)) c->errors++;
    tile_map *maps = tile_map_list(c->f, &list, &map_count);
    if (!tile_map_check(c->f, maps, map_count)) c->errors++;
    if (map_count) check_maps(c, tile_op_loc(c->f, maps[0].op));
    tile_abi_parameter *parameters = tile_parameter_list(
        c->f->arg_count, buffers, count, table_count, map_count, &list, &parameter_count);
    check_parameters(c, parameters, parameter_count);
    tile_arena_reset(&list);
    int64_t shared = tile_shared_bytes(c->f);
    if (shared > c->target->max_shared_bytes)
        FAIL(c, c->f->loc, "@%s needs %lld bytes of shared memory, %s has %u per block", c->f->name,
             (long long)shared, c->target->name, c->target->max_shared_bytes);
}

tile_status tile_emit_check(const tile_function *kernel, const tile_target *target, unsigned asked,
                            unsigned *ptx_version) {
    checker c = {.f = kernel,
                 .context = tile_function_context(kernel),
                 .target = target,
                 .asked = asked,
                 .ptx_version = target->ptx_version};
    tile_arena arena = {0};
    c.uses = tile_count_uses(kernel, &arena);
    if (kernel->kind != TILE_KERNEL)
        FAIL(&c, kernel->loc, "@%s is a compute, and PTX is generated from kernels only",
             kernel->name);
    else
        check_frame(&c);
    check_region(&c, kernel->body, 1);
    tile_arena_reset(&arena);
    if (!c.errors) check_memory(&c);
    if (kernel->cluster_rank && c.ptx_version < 78) c.ptx_version = 78;
    *ptx_version = c.ptx_version;
    return c.errors ? TILE_INVALID : TILE_OK;
}

static void remark_roles(const tile_function *f, tile_op op, const tile_target *target) {
    char targets[TILE_TARGETS_TEXT];
    bool said = false;
    if (tile_op_opcode(f, op) != TILE_OP_roles) return;
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
        said |= tile_role_registers(f, op, r) > 0;
    if (said)
        tile_remark_at(
            f, op,
            "@%s: `registers` of roles has no effect on %s, which has no setmaxnreg: all "
            "threads have as many as ptxas gives the kernel; compile for %s",
            f->name, target->name,
            tile_feature_targets(TILE_FEATURE_setmaxnreg, targets, sizeof targets));
}

void tile_remark_registers(tile_function *kernel, const tile_target *target) {
    if (!tile_target_has(target, TILE_FEATURE_setmaxnreg))
        TILE_FOR_EACH_OP_INSIDE (kernel, op, kernel->body) remark_roles(kernel, op, target);
}
