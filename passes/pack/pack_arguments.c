/* pack-arguments: a kernel reads copies of arrays, whose rows begin at multiples of 128 bytes.
 *
 * TMA and 16-byte copies need rows that begin at multiples of 16 bytes. The option names the
 * arguments, separated by `+`. The kernel becomes a plan with the same name, parameters and points:
 * first a kernel copies each array, then the kernel reads the copies.
 *
 * A row of the copy is as long as the pitch, and ends with zeros, which is what the kernel reads
 * after the end of a row. The kernel that reads the copies takes each of them as one more argument,
 * in the shape in which it reads the array: the argument's own, or that of the only view that it
 * makes of it. *
 * level: 0 and 2
 * requires: nothing
 * keeps: nothing
 * breaks: nothing
 *
 * pipeline: pack-arguments{arguments=a}
 * before:
 *   kernel @k(%n: i32, %m: i32, %a: view<f16[%n, %m]>, %b: view<f16[%n, %m]>)
 *       grid [%n]  warps 1
 *   {
 *     %i, %j, %h = block_id : i32
 *     %t = load %a[%i, 0] : tile<f16[1, 32]>
 *     store %t, %b[%i, 0]
 *   }
 *
 * after:
 *   plan @k(%n: i32, %m: i32, %a: view<f16[%n, %m]>, %b: view<f16[%n, %m]>)
 *   {
 *     %0 = ceildiv %m, 64 : i32
 *     %1 = cast %0 : i64
 *     %2 = cast 64 : i64
 *     %3 = mul %1, %2 : i64
 *     %4 = cast %3 : i32
 *     %a_packed = scratch [%n, %4] : view<f16[?, ?]>
 *     launch @k_pack_a(%n, %m, %a, %b, %a_packed)
 *     launch @k_packed(%n, %m, %a, %b, %a_packed) {pdl}
 *   }
 *
 *   kernel @k_packed(
 *       %n: i32, %m: i32, %a: view<f16[%n, %m]>, %b: view<f16[%n, %m]>,
 *     %a_packed: view<f16[%n, ceildiv(%m, 64) * 64], strides [ceildiv(%m, 64) * 64, 1]> {noalias})
 *       grid [%n]  warps 1
 *   {
 *     pdl_wait
 *     %i, %j, %h = block_id : i32
 *     %t = load %a_packed[%i, 0] : tile<f16[1, 32]>
 *     store %t, %b[%i, 0]
 *   }
 *
 *   kernel @k_pack_a(
 *       %n: i32 {divisible = 2}, %m: i32 {divisible = 2},
 *       %a: view<f16[%n, %m]>, %b: view<f16[%n, %m]>,
 *     %a_packed: view<f16[%n, ceildiv(%m, 64) * 64], strides [ceildiv(%m, 64) * 64, 1]> {noalias})
 *       grid [ceildiv(%n, 16), ceildiv(%m, 128)]  warps 4
 *   {
 *     %0, %1, %2 = block_id : i32
 *     %3 = mul %1, 128 : i32
 *     %4 = ceildiv %n, 16 : i32
 *     %5 = rem %0, %4 : i32
 *     %6 = div %0, %4 : i32
 *     %7 = mul %5, 16 : i32
 *     %8 = load %a[%7, %3] : tile<f16[16, 128]>
 *     store %8, %a_packed[%7, %3]
 *     pdl_trigger
 *   }
 */
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/tuning/space.h"
#include "passes/common/host_value.h"
#include "passes/common/kernel_steps.h"
#include "passes/pack/rows.h"
#include "passes/passes.h"
#include "tile/pack.h"

/* Shapes --------------------------------------------------------------------------------------- */

/* An extent or a stride as an expression of the launch; NULL: it is none. */
static const tile_expr *as_expr(const tile_function *f, tile_value value) {
    tile_op op = tile_value_def(f, value);
    tile_opcode opcode = op.id ? tile_op_opcode(f, op) : TILE_OP_NONE;
    if (opcode == TILE_OP_cast) return as_expr(f, tile_operand_src(f, op));
    if (opcode != TILE_OP_mul) return tile_value_as_expr(f, value);
    const tile_expr *lhs = as_expr(f, tile_operand_lhs(f, op)),
                    *rhs = as_expr(f, tile_operand_rhs(f, op));
    return lhs && rhs ? tile_expr_multiply(tile_function_context(f), lhs, rhs) : NULL;
}

static bool same_value(tile_context *context, const tile_expr *a, const tile_expr *b) {
    return tile_extent_canonical(context, a) == tile_extent_canonical(context, b);
}

/* The dim of the argument with this stride; its rank if there is none. */
static unsigned find_stride(const tile_function *f, const pack_rows *rows,
                            const tile_expr *stride) {
    unsigned rank = f->args[rows->arg].type->rank, d = 0;
    while (d < rank &&
           !same_value(tile_function_context(f), tile_function_arg_stride(f, rows->arg, d), stride))
        d++;
    return d;
}

/* Reads the view's shape; false unless its strides are those of dims of the argument, and its rows
 * the argument's. */
static bool read_view(const tile_function *f, tile_op view, pack_rows *rows) {
    tile_context *context = tile_function_context(f);
    const tile_values extents = tile_operands_extents(f, view),
                      strides = tile_operands_strides(f, view);
    const tile_arg_decl *arg = &f->args[rows->arg];
    const tile_expr *stride = tile_expr_int(context, 1);
    bool whole = false;
    rows->rank = extents.count;
    for (unsigned d = extents.count; d-- > 0;) {
        const tile_expr *extent = as_expr(f, extents.at[d]);
        if (strides.count) stride = as_expr(f, strides.at[d]);
        if (!extent || !stride) return false;
        unsigned dim = find_stride(f, rows, stride);
        if (dim == arg->type->rank) return false;
        if (dim == rows->row) whole = same_value(context, extent, arg->extents[dim]);
        rows->extents[d] = extent;
        rows->dims[d] = dim;
        stride = tile_expr_multiply(context, stride, extent);
    }
    return whole;
}

static void read_argument(const tile_function *f, pack_rows *rows) {
    const tile_arg_decl *arg = &f->args[rows->arg];
    rows->rank = arg->type->rank;
    for (unsigned d = 0; d < rows->rank; d++) {
        rows->extents[d] = arg->extents[d];
        rows->dims[d] = d;
    }
}

/* The dim along which elements are adjacent; the rank if there is none. */
static unsigned find_row(const tile_function *f, unsigned arg) {
    const unsigned rank = f->args[arg].type->rank;
    unsigned row = rank;
    for (unsigned d = 0; d < rank; d++) {
        int64_t stride;
        if (!tile_expr_is_int(tile_function_arg_stride(f, arg, d), &stride)) continue;
        if (stride == 0 || (stride == 1 && row < rank)) return rank; /* elements repeat */
        if (stride == 1) row = d;
    }
    return row;
}

/* Uses ----------------------------------------------------------------------------------------- */

/* Elements after the end of a row must read as 0, as those of the copy do. */
static bool reads(const tile_function *f, tile_op op, tile_value view) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (tile_op_has_attr(f, op, TILE_ATTR_pad)) return false;
    return opcode == TILE_OP_load ||
           (opcode == TILE_OP_copy && tile_operand_src(f, op).id == view.id &&
            tile_operand_dst(f, op).id != view.id);
}

/* Whether the view is only read. */
static bool is_read(const tile_function *f, tile_value view) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_uses(f, op, view) && !reads(f, op, view)) return false;
    return true;
}

/* The only user of a value; no operation if it has none, or several. */
static tile_op only_user(const tile_function *f, tile_value value) {
    tile_op found = TILE_NO_OP;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        if (!tile_op_uses(f, op, value)) continue;
        if (found.id) return TILE_NO_OP;
        found = op;
    }
    return found;
}

/* Finds how the kernel reads the array; false if it does more with it. */
static bool find_use(const tile_function *f, pack_rows *rows) {
    tile_value array = f->args[rows->arg].value;
    tile_op base = only_user(f, array);
    rows->view = TILE_NO_OP;
    if (base.id && tile_op_opcode(f, base) == TILE_OP_base) {
        tile_op view = only_user(f, tile_op_result(f, base, 0));
        if (!view.id || tile_op_opcode(f, view) != TILE_OP_view) return false;
        rows->view = view;
        return is_read(f, tile_op_result(f, view, 0)) && read_view(f, view, rows);
    }
    read_argument(f, rows);
    return is_read(f, array);
}

static bool has_fixed_arguments(const tile_function *f) {
    for (size_t i = 0; i < f->arg_count; i++)
        if (f->args[i].is_const) return true;
    return false;
}

static bool needs_parameters(const tile_arg_decl *arg) {
    for (unsigned d = 0; d < arg->type->rank; d++)
        if (tile_expr_holds(arg->extents[d], TILE_EXPR_PARAM)) return true;
    return false;
}

const char *pack_find_rows(const tile_function *f, unsigned arg, pack_rows *rows) {
    const tile_arg_decl *decl = &f->args[arg];
    *rows = (pack_rows){.arg = arg};
    if (f->kind != TILE_KERNEL || f->level != 2) return "belongs to no kernel of level 2";
    if (has_fixed_arguments(f)) return "belongs to a kernel with {const} arguments";
    if (decl->type->kind != TILE_TYPE_VIEW) return "is no view";
    if (decl->type->rank < 2) return "has no rows: it has one dim";
    if (needs_parameters(decl)) return "has extents that depend on parameters";
    rows->row = find_row(f, arg);
    if (rows->row == decl->type->rank) return "has no rows: its strides are not 1 along one dim";
    if (!find_use(f, rows)) return "is not only read, by `load` and `copy`, in one shape";
    pack_set_strides(f, rows);
    return NULL;
}

/* The kernel that reads the copies ------------------------------------------------------------- */

static void read_copy(tile_function *f, const pack_rows *rows) {
    const tile_expr *extents[TILE_MAX_RANK], *strides[TILE_MAX_RANK];
    const tile_arg_decl *arg = &f->args[rows->arg];
    tile_value old = rows->view.id ? tile_op_result(f, rows->view, 0) : arg->value;
    for (unsigned d = 0; d < rows->rank; d++) {
        extents[d] = rows->dims[d] == rows->row ? rows->pitch : rows->extents[d];
        strides[d] = rows->strides[rows->dims[d]];
    }
    tile_value copy =
        tile_function_add_view_arg(f, pack_free_argument(f, arg->name), pack_element(f, rows->arg),
                                   rows->rank, extents, strides);
    tile_function_set_arg_noalias(f, (unsigned)f->arg_count - 1, true);
    tile_value *map = TILE_NEW_ARRAY(&f->module->arena, tile_value, f->value_count);
    map[old.id] = copy;
    tile_replace_values(f, f->body, map);
    if (!rows->view.id) return;
    tile_op base = tile_value_def(f, tile_operand_base(f, rows->view));
    tile_erase_op(f, rows->view);
    tile_erase_op(f, base);
}

/* Whether a row of an array that is not packed begins at a multiple of the integer argument. */
static bool places_rows(const tile_function *f, unsigned arg, const tile_arg_set *packed) {
    for (unsigned a = 0; a < f->arg_count; a++) {
        const tile_type *type = f->args[a].type;
        if (type->kind != TILE_TYPE_VIEW || tile_arg_set_has(packed, a)) continue;
        for (unsigned d = 0; d < type->rank; d++)
            if (tile_expr_names_arg(tile_function_arg_stride(f, a, d), arg)) return true;
    }
    return false;
}

/* A divisor that only packed arrays needed would make a variant of its own. */
static void forget_divisors(tile_function *reader, const tile_function *f,
                            const tile_arg_set *packed) {
    for (unsigned i = 0; i < f->arg_count; i++)
        if (f->args[i].type->kind == TILE_TYPE_SCALAR && !places_rows(f, i, packed))
            reader->args[i].divisible = 0;
}

static tile_function *make_reader(tile_function *f, const pack_rows *rows, unsigned count,
                                  const tile_arg_set *packed) {
    tile_function *reader = steps_copy_kernel(f, "packed");
    for (unsigned i = 0; i < count; i++) read_copy(reader, &rows[i]);
    forget_divisors(reader, f, packed);
    tile_op first = tile_region_first(reader, reader->body);
    tile_builder b = tile_builder_before(reader, first);
    b.loc = f->loc;
    if (tile_op_opcode(reader, first) != TILE_OP_pdl_wait) tile_build_pdl_wait(&b);
    return reader;
}

/* The plan ------------------------------------------------------------------------------------- */

static tile_op launch(tile_builder *b, const tile_function *kernel, const tile_value *copies,
                      unsigned count) {
    const tile_function *plan = b->function;
    tile_context *context = tile_function_context(plan);
    tile_value values[TILE_MAX_ARGUMENTS];
    tile_param_value *params =
        TILE_NEW_ARRAY(&plan->module->arena, tile_param_value, kernel->param_count + 1);
    for (size_t i = 0; i < kernel->param_count; i++) {
        const tile_param_decl *param = &kernel->params[i];
        params[i] = (tile_param_value){.name = param->name};
        if (param->kind == TILE_PARAM_type)
            params[i].type = pack_type_param(context, param->name);
        else
            params[i].expr = tile_expr_param(context, param->name);
    }
    for (size_t i = 0; i < plan->arg_count; i++) values[i] = plan->args[i].value;
    for (unsigned i = 0; i < count; i++) values[plan->arg_count + i] = copies[i];
    return tile_build_launch(b, kernel->name, params, (unsigned)kernel->param_count, values,
                             (unsigned)plan->arg_count + count);
}

/* rows: of all arguments that are packed, in order. */
static void make_plan(tile_function *f, const pack_rows *rows, unsigned count,
                      const tile_arg_set *packed) {
    tile_settle_tuning(f); /* the plan has no product from which `auto` could be computed */
    tile_function *reader = make_reader(f, rows, count, packed);
    tile_function *packers[TILE_MAX_ARGUMENTS];
    tile_value copies[TILE_MAX_ARGUMENTS];
    const bool waits = tile_function_waits(f);
    for (unsigned i = 0; i < count; i++) packers[i] = pack_make_kernel(f, &rows[i], waits || i);
    steps_become_plan(f);
    f->has_points = true;
    tile_builder b = tile_builder_at_end(f, f->body);
    b.loc = f->loc;
    for (unsigned i = 0; i < count; i++) copies[i] = pack_build_scratch(&b, &rows[i]);
    for (unsigned i = 0; i < count; i++) {
        tile_op op = launch(&b, packers[i], &copies[i], 1);
        if (i) tile_op_set_flag(f, op, TILE_ATTR_pdl);
        packers[i]->tune_count = packers[i]->where_count = 0;
        packers[i]->only_copies = true;
    }
    tile_op_set_flag(f, launch(&b, reader, copies, count), TILE_ATTR_pdl);
}

/* The arguments that the text names; false after a diagnostic. */
static bool read_names(const tile_function *f, const char *text, tile_arg_set *args) {
    while (*text) {
        size_t length = strcspn(text, "+");
        const tile_arg_decl *arg = NULL;
        for (size_t i = 0; i < f->arg_count; i++) {
            const char *name = f->args[i].name;
            if (strlen(name) != length || memcmp(name, text, length) != 0) continue;
            arg = &f->args[i];
            tile_arg_set_add(args, (unsigned)i);
        }
        if (!arg)
            return tile_error_at(f, TILE_NO_OP, "@%s has no argument %%%.*s to pack", f->name,
                                 (int)length, text);
        text += length + (text[length] == '+');
    }
    return !tile_arg_set_is_empty(args) ||
           tile_error_at(f, TILE_NO_OP, "@%s: no argument to pack is named", f->name);
}

/* Describes the arguments in order; their number, or -1 after a diagnostic. */
static int find_all_rows(const tile_function *f, const tile_arg_set *args, pack_rows *rows) {
    int count = 0;
    for (unsigned i = 0; i < f->arg_count; i++) {
        if (!tile_arg_set_has(args, i)) continue;
        const char *why = pack_find_rows(f, i, &rows[count++]);
        if (!why) continue;
        tile_error_at(f, TILE_NO_OP, "@%s: the argument %%%s cannot be packed: it %s", f->name,
                      f->args[i].name, why);
        return -1;
    }
    if (f->arg_count + (size_t)count <= TILE_MAX_ARGUMENTS) return count;
    tile_error_at(f, TILE_NO_OP, "@%s: its arguments and their copies are more than %d", f->name,
                  TILE_MAX_ARGUMENTS);
    return -1;
}

/* Whether all rows of the array begin at multiples of 16 bytes. */
static bool is_aligned(const tile_function *f, const pack_rows *rows, unsigned bytes,
                       const tile_bindings *bindings) {
    enum { UNIT = 16 };
    for (unsigned d = 0; d < f->args[rows->arg].type->rank; d++) {
        int64_t stride;
        bool known = tile_expr_eval(tile_function_arg_stride(f, rows->arg, d), bindings, &stride);
        if (d != rows->row && known && stride % UNIT * bytes % UNIT != 0) return false;
    }
    return true;
}

static bool size_of(unsigned index, int64_t *value, void *user) {
    *value = ((const int64_t *)user)[index];
    return true;
}

const char *tile_find_unaligned(const tile_bound_params *point, tile_arena *arena) {
    const tile_function *f = point->f;
    const tile_bindings bindings = {.arg = size_of, .user = (void *)(uintptr_t)point->sizes};
    const char *names = NULL;
    for (unsigned i = 0; i < f->arg_count; i++) {
        pack_rows rows;
        const tile_type *type = f->args[i].type;
        if (pack_find_rows(f, i, &rows)) continue;
        tile_scalar scalar =
            type->param ? tile_find_bound_scalar(point, type->param) : type->scalar;
        if (is_aligned(f, &rows, tile_scalar_bytes(scalar), &bindings)) continue;
        names = names ? tile_arena_format(arena, "%s+%s", names, f->args[i].name) : f->args[i].name;
    }
    return names;
}

tile_status tile_pack_arguments(tile_function *f, const char *arguments) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, TILE_OUT_OF_MEMORY)
    tile_arg_set args = {{0}};
    pack_rows rows[TILE_MAX_ARGUMENTS];
    if (!f || !arguments || !read_names(f, arguments, &args)) return TILE_INVALID;
    int count = find_all_rows(f, &args, rows);
    if (count < 0 || tile_resolve_tuning(f, NULL, NULL, 0) != TILE_OK) return TILE_INVALID;
    make_plan(f, rows, (unsigned)count, &args);
    return TILE_OK;
}

tile_status tile_pass_pack_arguments(tile_pass *pass, tile_module *module,
                                     const tile_roots *roots) {
    tile_status status = TILE_OK;
    (void)module;
    for (size_t i = 0; i < roots->count && status == TILE_OK; i++) {
        tile_function *f = roots->functions[i];
        if (f->kind != TILE_KERNEL || f->level != 2 || !pass->option_count) continue;
        status = tile_pack_arguments(f, pass->options[0].value);
        tile_pass_count(pass, "packed", 1);
    }
    return status;
}
