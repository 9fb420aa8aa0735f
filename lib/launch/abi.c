/* A kernel from its launcher's point of view. */
#include "lib/launch/abi.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/range.h"
#include "lib/ir/describe.h"
#include "lib/launch/data.h"
#include "lib/support/integer.h"
#include "lib/support/options.h"

static const tile_expr *scratch_bytes(const tile_function *f, tile_op op) {
    tile_context *context = tile_function_context(f);
    const tile_values extents = tile_operands_extents(f, op);
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    const tile_expr *bytes = tile_expr_int(context, tile_scalar_bytes(type->scalar));
    for (unsigned i = 0; i < extents.count; i++) {
        const tile_expr *extent = tile_value_as_expr(f, extents.at[i]);
        if (!tile_abi_is_launch_expr(extent)) return NULL;
        bytes = tile_expr_op(context, TILE_OP_mul, extent, bytes, NULL);
    }
    return bytes;
}

tile_scratch *tile_scratch_list(const tile_function *kernel, tile_arena *arena, unsigned *count) {
    unsigned allocations;
    const tile_op *ops = tile_find_ops(kernel, TILE_OP_scratch, arena, &allocations);
    tile_scratch *list = TILE_NEW_ARRAY(arena, tile_scratch, allocations + 1u);
    for (unsigned i = 0; i < allocations; i++)
        list[i] = (tile_scratch){ops[i], tile_op_has_attr(kernel, ops[i], TILE_ATTR_clean),
                                 scratch_bytes(kernel, ops[i])};
    *count = allocations;
    return list;
}

int64_t tile_shared_bytes(const tile_function *kernel) {
    int64_t total = 0;
    for (uint32_t i = 1; i < kernel->op_count; i++) {
        tile_op op = {i};
        if (tile_op_at(kernel, op)->opcode != TILE_OP_alloc_shared) continue;
        int64_t stride, bytes = tile_alloc_bytes(kernel, op, &stride);
        int64_t end = tile_op_attr_int(kernel, op, TILE_ATTR_offset, 0) + bytes;
        total = end > total ? end : total;
    }
    return total;
}

/* Creation ------------------------------------------------------------------------------------- */

static bool check_kernel(const tile_function *f) {
    if (f->kind != TILE_KERNEL)
        tile_error_at(f, TILE_NO_OP, "@%s is a compute, and only kernels are launched", f->name);
    else if (f->raster || f->is_persistent)
        tile_error_at(f, TILE_NO_OP,
                      "@%s: `%s` has not been applied yet; run the pass tile-scheduler first",
                      f->name, f->raster ? "raster" : "persistent");
    else if (!tile_executors_of_block(f).warps)
        tile_error_at(f, TILE_NO_OP, "@%s: the number of warps is not known yet; run instantiate",
                      f->name);
    else
        return true;
    return false;
}

/* The size in bytes, or a negative number if an extent does not fit an i32, the kernel's index
 * type. */
static const tile_expr *checked_bytes(const tile_function *f, const tile_scratch *scratch) {
    tile_context *context = tile_function_context(f);
    const tile_expr *most = tile_expr_int(context, INT32_MAX), *bytes = scratch->bytes;
    const tile_values extents = tile_operands_extents(f, scratch->op);
    for (unsigned i = 0; i < extents.count; i++) {
        const tile_expr *extent = tile_value_as_expr(f, extents.at[i]);
        if (tile_range_of_expr(f, NULL, extent).max <= INT32_MAX) continue;
        const tile_expr *fits = tile_expr_op(context, TILE_OP_le, extent, most, NULL);
        bytes = tile_expr_op(context, TILE_OP_select, fits, bytes, tile_expr_int(context, -1));
    }
    return bytes;
}

void tile_abi_set_scratch_text(tile_abi *abi, unsigned index, const tile_function *f) {
    const tile_scratch *scratch = &abi->scratch[index];
    abi->scratch_texts[index] =
        (abi_json_scratch){scratch->clean, tile_expr_text(f, scratch->bytes, &abi->arena)};
}

static bool fill_scratch(tile_abi *abi, const tile_function *f) {
    abi->scratch = tile_scratch_list(f, &abi->arena, &abi->scratch_count);
    abi->scratch_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_scratch, abi->scratch_count + 1u);
    for (unsigned i = 0; i < abi->scratch_count; i++) {
        if (!abi->scratch[i].bytes) {
            return tile_error_at(
                f, abi->scratch[i].op,
                "scratch: the extents must be computable from the kernel's arguments alone");
        }
        abi->scratch[i].bytes = checked_bytes(f, &abi->scratch[i]);
        tile_abi_set_scratch_text(abi, i, f);
    }
    return true;
}

static bool fail_arg(const tile_function *f, const char *name) {
    return tile_error_at(
        f, TILE_NO_OP,
        "@%s: the extents and strides of %%%s must be computable from the arguments alone; "
        "run instantiate",
        f->name, name);
}

static bool fill_view(tile_abi *abi, const tile_function *f, unsigned index) {
    tile_abi_arg *arg = &abi->args[index];
    abi_json_parameter *text = &abi->parameter_texts[index];
    tile_type shown = *arg->type;
    text->extents = TILE_NEW_ARRAY(&abi->arena, const char *, shown.rank);
    text->strides = TILE_NEW_ARRAY(&abi->arena, const char *, shown.rank);
    text->extents_count = text->strides_count = shown.rank;
    for (unsigned d = 0; d < shown.rank; d++) {
        arg->extents[d] = tile_function_arg_extent(f, index, d);
        arg->strides[d] = tile_function_arg_stride(f, index, d);
        if (!tile_abi_is_launch_expr(arg->extents[d]) || !tile_abi_is_launch_expr(arg->strides[d]))
            return fail_arg(f, arg->name);
        shown.dims[d] = arg->extents[d];
        shown.strides[d] = arg->strides[d];
        text->extents[d] = tile_expr_text(f, arg->extents[d], &abi->arena);
        text->strides[d] = tile_expr_text(f, arg->strides[d], &abi->arena);
    }
    text->type = tile_type_text(f, &shown, NULL, &abi->arena);
    return true;
}

static bool fill_args(tile_abi *abi, const tile_function *f) {
    abi->arg_count = (unsigned)f->arg_count;
    abi->args = TILE_NEW_ARRAY(&abi->arena, tile_abi_arg, f->arg_count + 1);
    abi->parameter_texts = TILE_NEW_ARRAY(&abi->arena, abi_json_parameter,
                                          f->arg_count + TILE_MAX_PARAMETERS - TILE_MAX_ARGUMENTS);
    for (unsigned i = 0; i < abi->arg_count; i++) {
        const tile_arg_decl *arg = &f->args[i];
        abi->args[i].name = arg->name ? arg->name : "";
        abi->args[i].type = arg->type;
        abi->args[i].divisible = arg->divisible ? arg->divisible : 1;
        abi->parameter_texts[i].type = tile_type_text(NULL, arg->type, NULL, &abi->arena);
        if (arg->type->kind == TILE_TYPE_VIEW && !fill_view(abi, f, i)) return false;
    }
    return true;
}

tile_abi *tile_abi_create(const tile_function *f) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, NULL)
    if (!f || !check_kernel(f)) return NULL;
    tile_abi *abi = tile_malloc(sizeof *abi);
    *abi = (tile_abi){.context = tile_function_context(f), .entry = f->name, .loc = f->loc};
    abi->warps = tile_executors_of_block(f).warps;
    abi->shared_bytes = (unsigned)tile_shared_bytes(f);
    tile_abi_set_variants(abi, f, NULL, 0);
    if (fill_args(abi, f) && tile_abi_fill_grid(abi, f) && fill_scratch(abi, f) &&
        tile_abi_fill_tables(abi, f) && tile_abi_fill_maps(abi, f)) {
        tile_abi_list_parameters(abi);
        return abi;
    }
    tile_abi_destroy(abi);
    return NULL;
}

void tile_abi_destroy(tile_abi *abi) {
    if (!abi) return;
    tile_arena_reset(&abi->arena);
    free(abi);
}

/* Reading -------------------------------------------------------------------------------------- */

const char *tile_abi_entry(const tile_abi *abi) {
    return abi ? abi->entry : NULL;
}

unsigned tile_abi_arg_count(const tile_abi *abi) {
    return abi ? abi->arg_count : 0;
}

const tile_abi_arg *tile_abi_arg_at(const tile_abi *abi, unsigned index) {
    return abi && index < abi->arg_count ? &abi->args[index] : NULL;
}

unsigned tile_abi_warps(const tile_abi *abi) {
    return abi ? abi->warps : 0;
}

unsigned tile_abi_shared_bytes(const tile_abi *abi) {
    return abi ? abi->shared_bytes : 0;
}

typedef struct arg_values {
    const tile_abi *abi;
    const int64_t *args;
} arg_values;

static bool arg_value(unsigned index, int64_t *value, void *user) {
    const arg_values *values = user;
    if (index >= values->abi->arg_count) return false;
    const tile_type *type = values->abi->args[index].type;
    *value = values->args[index];
    return type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(type->scalar);
}

bool tile_abi_evaluate(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                       const tile_launch_facts *facts, int64_t *value) {
    arg_values values = {abi, args};
    tile_launch_facts known;
    if (!TILE_TAKE_OPTIONS(abi->context, tile_launch_facts, &known, facts)) return false;
    tile_bindings bindings = {.arg = arg_value, .user = &values, .num_sms = known.num_sms};
    return tile_expr_eval(expr, &bindings, value);
}

bool tile_abi_evaluate_cost(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                            const int64_t block_id[3], int64_t *value) {
    arg_values values = {abi, args};
    tile_bindings bindings = {.arg = arg_value, .user = &values, .block_id = block_id};
    return tile_expr_eval(expr, &bindings, value);
}

tile_status tile_abi_scratch(const tile_abi *abi, const int64_t *args,
                             const tile_launch_facts *facts, int64_t *clean_bytes,
                             int64_t *plain_bytes) {
    TILE_GUARD(abi ? abi->context : NULL, TILE_OUT_OF_MEMORY)
    int64_t sums[2] = {0, 0};
    tile_launch_facts known;
    if (!abi || !TILE_TAKE_OPTIONS(abi->context, tile_launch_facts, &known, facts))
        return TILE_INVALID;
    for (unsigned i = 0; i < abi->scratch_count; i++) {
        int64_t bytes, *sum = &sums[abi->scratch[i].clean];
        if (!tile_abi_evaluate(abi, abi->scratch[i].bytes, args, &known, &bytes) || bytes < 0 ||
            bytes > (INT64_MAX >> 2) - *sum) {
            tile_report(abi->context, TILE_ERROR, abi->loc,
                        "@%s: the size of scratch memory is invalid for these arguments: %s bytes",
                        abi->entry, abi->scratch_texts[i].bytes);
            return TILE_INVALID;
        }
        *sum += tile_round_up(bytes, TILE_SCRATCH_ALIGNMENT);
    }
    *clean_bytes = sums[true];
    *plain_bytes = sums[false];
    return TILE_OK;
}
