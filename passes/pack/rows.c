/* The kernel that packs an array: each block copies a tile of 16 rows by 128 columns.
 *
 *     kernel @k_pack_a(%m: i32, %k: i32, %a: view<f16[%m, %k]>, ..,
 *                      %copy: view<f16[%m, ceildiv(%k, 64) * 64]>)
 *         grid [ceildiv(%m, 16), ceildiv(%k, 128)] warps 4
 *     {
 *       %x, %y = block_id
 *       %t = load %a[%x * 16, %y * 128] : [16, 128]
 *       store %t, %copy[%x * 16, %y * 128]
 *       pdl_trigger
 *     }
 *
 * The grid's first dim counts the tiles of all dims except the one of the rows. */
#include "passes/pack/rows.h"

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/common/host_value.h"
#include "passes/common/kernel_steps.h"

enum { ROW_UNIT = 128 /* bytes, a line of the L2 cache and the span of a swizzle */ };
enum { ROWS = 16, COLUMNS = 128, WARPS = 4, EVEN = 2 };

/* A parameter may be any type of at least one byte. */
static int64_t unit_of(const tile_type *type) {
    unsigned bytes = type->scalar ? tile_scalar_bytes(type->scalar) : 1;
    return bytes && bytes < ROW_UNIT ? ROW_UNIT / (int64_t)bytes : 1;
}

void pack_set_strides(const tile_function *f, pack_rows *rows) {
    tile_context *context = tile_function_context(f);
    const tile_arg_decl *arg = &f->args[rows->arg];
    const tile_expr *unit = tile_expr_int(context, unit_of(arg->type));
    const tile_expr *units =
        tile_expr_op(context, TILE_OP_ceildiv, arg->extents[rows->row], unit, NULL);
    const tile_expr *stride = rows->pitch = tile_expr_op(context, TILE_OP_mul, units, unit, NULL);
    rows->strides[rows->row] = tile_expr_int(context, 1);
    for (unsigned d = arg->type->rank; d-- > 0;) {
        if (d == rows->row) continue;
        rows->strides[d] = stride;
        stride = tile_expr_multiply(context, stride, arg->extents[d]);
    }
}

const tile_type *pack_type_param(tile_context *context, const char *name) {
    const tile_type draft = {.kind = TILE_TYPE_SCALAR, .param = name};
    return tile_type_get(context, &draft);
}

const tile_type *pack_element(const tile_function *f, unsigned arg) {
    const tile_type *type = f->args[arg].type;
    tile_context *context = tile_function_context(f);
    return type->param ? pack_type_param(context, type->param)
                       : tile_type_scalar(context, type->scalar);
}

const char *pack_free_argument(const tile_function *f, const char *of) {
    tile_arena *arena = &f->module->arena;
    const char *stem = tile_arena_format(arena, "%s_packed", of), *name = stem;
    for (unsigned n = 2; tile_function_find_arg(f, name); n++)
        name = tile_arena_format(arena, "%s_%u", stem, n);
    return name;
}

/* The kernel --------------------------------------------------------------------------------------
 */

static const tile_expr *count_tiles(tile_context *context, const tile_expr *extent, int64_t tile) {
    return tile_expr_op(context, TILE_OP_ceildiv, extent, tile_expr_int(context, tile), NULL);
}

/* The last dim except that of the rows: the tile has several coordinates along it. */
static unsigned find_rows_dim(const tile_type *type, const pack_rows *rows) {
    return rows->row == type->rank - 1 ? type->rank - 2 : type->rank - 1;
}

static bool is_integer(const tile_type *type) {
    return type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(type->scalar);
}

static void set_head(tile_function *f, const pack_rows *rows) {
    tile_context *context = tile_function_context(f);
    const tile_arg_decl *arg = &f->args[rows->arg];
    unsigned among = find_rows_dim(arg->type, rows);
    const tile_expr *grid[2] = {count_tiles(context, arg->extents[among], ROWS),
                                count_tiles(context, arg->extents[rows->row], COLUMNS)};
    for (unsigned d = 0; d < arg->type->rank; d++)
        if (d != among && d != rows->row)
            grid[0] = tile_expr_multiply(context, grid[0], arg->extents[d]);
    steps_forget_grid(f);
    tile_function_set_grid(f, 2, grid);
    tile_function_set_warps(f, tile_expr_int(context, WARPS));
    for (unsigned i = 0; i < f->arg_count; i++)
        f->args[i].divisible = is_integer(f->args[i].type) ? EVEN : 0;
}

/* The copy depends on no other parameters. */
static void keep_types(tile_function *f) {
    size_t kept = 0;
    for (size_t i = 0; i < f->param_count; i++)
        if (f->params[i].kind == TILE_PARAM_type) f->params[kept++] = f->params[i];
    f->param_count = kept;
}

/* Coordinates of the block's tile: its first row along `among`, and 0 elements of other dims. */
static void place_tile(tile_builder *b, const pack_rows *rows, tile_value *at) {
    const tile_function *f = b->function;
    const tile_arg_decl *arg = &f->args[rows->arg];
    unsigned among = find_rows_dim(arg->type, rows);
    tile_context *context = tile_function_context(f);
    tile_value x = tile_build_block_id(b), y = {x.id + 1};
    for (unsigned d = arg->type->rank; d-- > 0;) {
        if (d == rows->row) {
            at[d] = tile_build_mul(b, y, tile_build_int(b, COLUMNS));
            continue;
        }
        const tile_expr *count =
            d == among ? count_tiles(context, arg->extents[d], ROWS) : arg->extents[d];
        tile_value extent = host_value_cast(b, host_value(b, count), TILE_i32);
        at[d] = tile_build_rem(b, x, extent);
        x = tile_build_div(b, x, extent);
        if (d == among) at[d] = tile_build_mul(b, at[d], tile_build_int(b, ROWS));
    }
}

tile_function *pack_make_kernel(tile_function *from, const pack_rows *rows, bool waits) {
    tile_function old,
        *f = steps_copy_kernel(
            from, tile_arena_format(&from->module->arena, "pack_%s", from->args[rows->arg].name));
    tile_context *context = tile_function_context(f);
    tile_function_restart(f, &old);
    keep_types(f);
    set_head(f, rows);
    const tile_arg_decl *arg = &f->args[rows->arg];
    const unsigned rank = arg->type->rank;
    const tile_expr *extents[TILE_MAX_RANK];
    tile_type tile = {.kind = TILE_TYPE_TILE, .rank = rank};
    for (unsigned d = 0; d < rank; d++) {
        int64_t count = d == rows->row ? COLUMNS : d == find_rows_dim(arg->type, rows) ? ROWS : 1;
        tile.dims[d] = tile_expr_int(context, count);
        extents[d] = d == rows->row ? rows->pitch : arg->extents[d];
    }
    tile_value array = arg->value;
    tile_value copy =
        tile_function_add_view_arg(f, pack_free_argument(f, arg->name), pack_element(f, rows->arg),
                                   rank, extents, rows->strides);
    tile_function_set_arg_noalias(f, (unsigned)f->arg_count - 1, true);
    tile_builder b = tile_builder_at_end(f, f->body);
    tile_value at[TILE_MAX_RANK];
    b.loc = from->loc;
    place_tile(&b, rows, at);
    if (waits) tile_build_pdl_wait(&b);
    tile_value moved =
        tile_build_load(&b, array, at, rank, TILE_NO_VALUE, tile_type_get(context, &tile));
    tile_build_store(&b, moved, copy, at, rank, TILE_NO_VALUE);
    tile_build_pdl_trigger(&b);
    return f;
}

tile_value pack_build_scratch(tile_builder *b, const pack_rows *rows) {
    const tile_function *plan = b->function;
    const tile_arg_decl *arg = &plan->args[rows->arg];
    tile_value extents[TILE_MAX_RANK];
    unsigned rank = 0;
    for (unsigned d = 0; d < arg->type->rank; d++)
        if (d != rows->row)
            extents[rank++] = host_value_cast(b, host_value(b, arg->extents[d]), TILE_i32);
    extents[rank++] = host_value_cast(b, host_value(b, rows->pitch), TILE_i32);
    tile_value copy = tile_build_scratch(b, extents, rank, pack_element(plan, rows->arg));
    tile_value_set_name(b->function, copy, pack_free_argument(plan, arg->name));
    return copy;
}
