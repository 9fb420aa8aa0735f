/* pack-arguments: a kernel reads copies of arrays, whose rows begin at multiples of 128 bytes.
 *
 * TMA and 16-byte copies need rows that begin at multiples of 16 bytes. wgmma reads elements of 8
 * and 32 bits only K-major. The option names the arguments, separated by `+`. The kernel becomes a
 * plan with the same name, parameters and points: first a kernel copies each array, then the kernel
 * reads the copies.
 *
 * A name with `:transposed` gives a transposed copy. The kernel reads such an array in tiles of two
 * dims. Its elements are adjacent along one of them, and those of the copy along the other one.
 *
 * A name with `:bf16x3` or `:bf16x6` gives a copy of the parts of an f32 array, 2 or 3 arrays of
 * bf16, for products of this `precision`: wgmma multiplies them from shared memory. Otherwise each
 * warp splits its fragments in registers, for mma.sync.
 *
 * A row of the copy is as long as the pitch, and ends with zeros, which is what the kernel reads
 * after the end of a row. The kernel that reads the copies takes each of them as one more argument,
 * in the shape in which it reads the array: the argument's own, or that of the only view that it
 * makes of it. Only the strides of a transposed copy differ.
 *
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
 *
 * pipeline: pack-arguments{arguments=b:transposed}
 * before:
 *   kernel @k(%n: i32, %m: i32, %b: view<i8[%n, %m]>, %c: view<i8[%n, %m]>)
 *       grid [%n]  warps 1
 *   {
 *     %i, %j, %h = block_id : i32
 *     %t = load %b[%i, 0] : tile<i8[32, 32]>
 *     store %t, %c[%i, 0]
 *   }
 *
 * after:
 *   plan @k(%n: i32, %m: i32, %b: view<i8[%n, %m]>, %c: view<i8[%n, %m]>)
 *   {
 *     %0 = ceildiv %n, 128 : i32
 *     %1 = cast %0 : i64
 *     %2 = cast 128 : i64
 *     %3 = mul %1, %2 : i64
 *     %4 = cast %3 : i32
 *     %b_transposed = scratch [%m, %4] : view<i8[?, ?]>
 *     launch @k_transpose_b(%n, %m, %b, %c, %b_transposed)
 *     launch @k_packed(%n, %m, %b, %c, %b_transposed) {pdl}
 *   }
 *
 *   kernel @k_packed(%n: i32, %m: i32, %b: view<i8[%n, %m]>, %c: view<i8[%n, %m]>,
 *     %b_transposed: view<i8[ceildiv(%n, 128) * 128, %m],
 *                         strides [1, ceildiv(%n, 128) * 128]> {noalias})
 *       grid [%n]  warps 1
 *   {
 *     pdl_wait
 *     %i, %j, %h = block_id : i32
 *     %t = load %b_transposed[%i, 0] : tile<i8[32, 32]>
 *     store %t, %c[%i, 0]
 *   }
 *
 *   kernel @k_transpose_b(
 *       %n: i32, %m: i32 {divisible = 16}, %b: view<i8[%n, %m]>, %c: view<i8[%n, %m]>,
 *     %b_transposed: view<i8[ceildiv(%n, 128) * 128, %m],
 *                         strides [1, ceildiv(%n, 128) * 128]> {noalias})
 *       grid [ceildiv(%n, 128), ceildiv(%m, 128)]  warps 8
 *   {
 *     %0, %1, %2 = block_id : i32
 *     %3 = mul %1, 128 : i32
 *     %4 = ceildiv %n, 128 : i32
 *     %5 = rem %0, %4 : i32
 *     %6 = div %0, %4 : i32
 *     %7 = mul %5, 128 : i32
 *     %8 = load %b[%7, %3] : tile<i8[128, 128]>
 *     store %8, %b_transposed[%7, %3]
 *     pdl_trigger
 *   }
 */
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "lib/tuning/space.h"
#include "passes/common/host_value.h"
#include "passes/common/kernel_steps.h"
#include "passes/pack/parts.h"
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

/* Reads the view's shape; false unless its strides are those of dims of the argument. */
static bool read_view(const tile_function *f, tile_op view, pack_rows *rows) {
    tile_context *context = tile_function_context(f);
    const tile_values extents = tile_operands_extents(f, view),
                      strides = tile_operands_strides(f, view);
    const tile_expr *stride = tile_expr_int(context, 1);
    rows->rank = extents.count;
    for (unsigned d = extents.count; d-- > 0;) {
        const tile_expr *extent = as_expr(f, extents.at[d]);
        if (strides.count) stride = as_expr(f, strides.at[d]);
        if (!extent || !stride) return false;
        unsigned dim = find_stride(f, rows, stride);
        if (dim == f->args[rows->arg].type->rank) return false;
        rows->extents[d] = extent;
        rows->dims[d] = dim;
        stride = tile_expr_multiply(context, stride, extent);
    }
    return true;
}

/* Returns whether the view has the rows of the copy, from their first element to the last. */
static bool has_whole_rows(const tile_function *f, const pack_rows *rows) {
    const tile_expr *whole = f->args[rows->arg].extents[rows->inner];
    bool found = false;
    for (unsigned d = 0; d < rows->rank; d++) {
        if (rows->dims[d] != rows->inner) continue;
        if (!same_value(tile_function_context(f), rows->extents[d], whole)) return false;
        found = true;
    }
    return found;
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

/* Adds the dims along which the tile extends that the operation reads from the view. */
static void add_tile_dims(const tile_function *f, tile_op op, const pack_rows *rows, bool *along) {
    tile_value tile =
        tile_op_opcode(f, op) == TILE_OP_copy ? tile_operand_dst(f, op) : tile_op_result(f, op, 0);
    const tile_type *type = tile_value_type(f, tile);
    for (unsigned d = 0; d < type->rank && type->rank <= rows->rank; d++)
        if (!tile_expr_is(type->dims[d], 1)) along[rows->dims[rows->rank - type->rank + d]] = true;
}

/* Finds the other dim of the tiles; false if they do not all extend along the rows and that one. */
static bool find_across(const tile_function *f, pack_rows *rows) {
    tile_value view = rows->view.id ? tile_op_result(f, rows->view, 0) : f->args[rows->arg].value;
    bool along[TILE_MAX_RANK] = {false};
    unsigned count = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_uses(f, op, view)) add_tile_dims(f, op, rows, along);
    for (unsigned d = 0; d < f->args[rows->arg].type->rank; d++) {
        if (!along[d]) continue;
        count++;
        if (d != rows->row) rows->across = d;
    }
    return count == 2 && along[rows->row];
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

const char *pack_find_rows(const tile_function *f, unsigned arg, pack_how how, pack_rows *rows) {
    const bool transposed = how == PACK_TRANSPOSED;
    const tile_arg_decl *decl = &f->args[arg];
    *rows = (pack_rows){.arg = arg, .how = how};
    rows->bytes = decl->type->scalar ? tile_scalar_bytes(decl->type->scalar) : 0;
    if (f->kind != TILE_KERNEL || f->level != 2) return "belongs to no kernel of level 2";
    if (has_fixed_arguments(f)) return "belongs to a kernel with {const} arguments";
    if (decl->type->kind != TILE_TYPE_VIEW) return "is no view";
    if (decl->type->rank < 2) return "has no rows: it has one dim";
    if (needs_parameters(decl)) return "has extents that depend on parameters";
    rows->row = find_row(f, arg);
    if (rows->row == decl->type->rank) return "has no rows: its strides are not 1 along one dim";
    if (!find_use(f, rows)) return "is not only read, by `load` and `copy`, in one shape";
    if (transposed && !find_across(f, rows))
        return "is not read in tiles of its rows and one other dim";
    rows->inner = transposed ? rows->across : rows->row;
    if (!has_whole_rows(f, rows)) return "is not only read, by `load` and `copy`, in one shape";
    pack_set_strides(f, rows);
    return NULL;
}

/* The kernel that reads the copies ------------------------------------------------------------- */

/* Adds the copy as an argument. */
static tile_value add_copy(tile_function *f, const pack_rows *rows) {
    const tile_expr *extents[TILE_MAX_RANK];
    for (unsigned d = 0; d < rows->rank; d++)
        extents[d] = rows->dims[d] == rows->inner ? rows->pitch : rows->extents[d];
    return pack_add_argument(f, rows, rows->rank, extents, rows->dims);
}

/* Replaces the array by a copy of its elements. */
static void read_copy(tile_function *f, const pack_rows *rows, tile_value copy) {
    tile_value old = rows->view.id ? tile_op_result(f, rows->view, 0) : f->args[rows->arg].value;
    tile_value *map = TILE_NEW_ARRAY(&f->module->arena, tile_value, f->value_count);
    map[old.id] = copy;
    tile_replace_values(f, f->body, map);
}

/* The array is read no more. */
static void erase_view(tile_function *f, const pack_rows *rows) {
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
    tile_value copies[TILE_MAX_ARGUMENTS];
    for (unsigned i = 0; i < count; i++) copies[i] = add_copy(reader, &rows[i]);
    for (unsigned i = 0; i < count; i++)
        if (pack_count_parts(&rows[i]) == 1) read_copy(reader, &rows[i], copies[i]);
    pack_read_parts(reader, rows, copies, count);
    for (unsigned i = 0; i < count; i++) erase_view(reader, &rows[i]);
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
    for (unsigned i = 0; i < count; i++) packers[i] = pack_make_kernel(f, &rows[i], waits, i > 0);
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

/* A caller that stores the array in the other order saves the copy. */
static void report_transposed(const tile_function *f, const pack_rows *rows) {
    const tile_arg_decl *arg = &f->args[rows->arg];
    tile_arena *arena = &f->module->arena;
    if (rows->how != PACK_TRANSPOSED || !tile_remarks_wanted(f)) return;
    tile_missed_at(
        f, TILE_NO_OP, "transposed first",
        tile_arena_format(arena, "store %%%s so that these are adjacent in memory", arg->name),
        "each launch first copies %%%s to a scratch array in which the %s elements of "
        "dim %u are adjacent, because wgmma reads elements of 8 and 32 bits only k-major",
        arg->name, tile_expr_text(f, arg->extents[rows->inner], arena), rows->inner);
}

/* What the text names. */
typedef struct packing {
    tile_arg_set args;
    pack_how how[TILE_MAX_ARGUMENTS];
} packing;

/* Adds "NAME" or "NAME:transposed"; false after a diagnostic. */
static bool add_name(const tile_function *f, const char *text, size_t length, packing *p) {
    size_t name = strcspn(text, ":+"), left = length - name;
    unsigned arg = 0, how = 0;
    while (arg < f->arg_count &&
           (strlen(f->args[arg].name) != name || memcmp(f->args[arg].name, text, name) != 0))
        arg++;
    if (arg == f->arg_count)
        return tile_error_at(f, TILE_NO_OP, "@%s has no argument %%%.*s to pack", f->name,
                             (int)name, text);
    while (how < PACK_HOWS && (strlen(pack_how_of((pack_how)how)->suffix) != left ||
                               memcmp(pack_how_of((pack_how)how)->suffix, text + name, left) != 0))
        how++;
    if (how == PACK_HOWS)
        return tile_error_at(f, TILE_NO_OP,
                             "@%s: '%.*s' does not say how %%%s is packed; write '%s', "
                             "'%s:transposed', '%s:bf16x3' or '%s:bf16x6'",
                             f->name, (int)length, text, f->args[arg].name, f->args[arg].name,
                             f->args[arg].name, f->args[arg].name, f->args[arg].name);
    tile_arg_set_add(&p->args, arg);
    p->how[arg] = (pack_how)how;
    return true;
}

static bool read_names(const tile_function *f, const char *text, packing *p) {
    while (*text) {
        size_t length = strcspn(text, "+");
        if (!add_name(f, text, length, p)) return false;
        text += length + (text[length] == '+');
    }
    return !tile_arg_set_is_empty(&p->args) ||
           tile_error_at(f, TILE_NO_OP, "@%s: no argument to pack is named", f->name);
}

static bool report_fault(const tile_function *f, unsigned arg, pack_how how, const char *why) {
    return tile_error_at(f, TILE_NO_OP, "@%s: the argument %%%s cannot be %s: it %s", f->name,
                         f->args[arg].name, pack_how_of(how)->adjective, why);
}

/* With the value of a parameter, the pitch is that of a kernel whose type has no parameter. */
static void take_type(const tile_function *f, const tile_binding *given, unsigned count,
                      pack_rows *rows) {
    const char *param = f->args[rows->arg].type->param;
    for (unsigned i = 0; param && i < count; i++)
        if (strcmp(given[i].name, param) == 0)
            rows->bytes = tile_scalar_bytes(tile_scalar_of_data(given[i].value));
    pack_set_strides(f, rows);
}

/* Describes the arguments in order; their number, or -1 after a diagnostic. */
static int find_all_rows(const tile_function *f, const packing *p, const tile_binding *given,
                         unsigned given_count, pack_rows *rows) {
    unsigned count = 0, which;
    for (unsigned i = 0; i < f->arg_count; i++) {
        if (!tile_arg_set_has(&p->args, i)) continue;
        const char *why = pack_find_rows(f, i, p->how[i], &rows[count]);
        if (why) return report_fault(f, i, p->how[i], why), -1;
        take_type(f, given, given_count, &rows[count++]);
    }
    const char *fault = pack_find_parts_fault(f, rows, count, &which);
    if (fault) return report_fault(f, rows[which].arg, rows[which].how, fault), -1;
    if (f->arg_count + count <= TILE_MAX_ARGUMENTS) return (int)count;
    tile_error_at(f, TILE_NO_OP, "@%s: its arguments and their copies are more than %d", f->name,
                  TILE_MAX_ARGUMENTS);
    return -1;
}

tile_status tile_pack_arguments_for(tile_function *f, const char *arguments,
                                    const tile_binding *given, unsigned given_count) {
    packing p = {.args = {{0}}};
    pack_rows rows[TILE_MAX_ARGUMENTS];
    if (!f || !arguments || !read_names(f, arguments, &p)) return TILE_INVALID;
    int count = find_all_rows(f, &p, given, given_count, rows);
    if (count < 0 || tile_resolve_tuning(f, NULL, NULL, 0) != TILE_OK) return TILE_INVALID;
    for (int i = 0; i < count; i++) report_transposed(f, &rows[i]);
    make_plan(f, rows, (unsigned)count, &p.args);
    return TILE_OK;
}

tile_status tile_pack_arguments(tile_function *f, const char *arguments) {
    TILE_GUARD_OUTSIDE(f ? tile_function_context(f) : NULL, TILE_OUT_OF_MEMORY)
    return tile_pack_arguments_for(f, arguments, NULL, 0);
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
