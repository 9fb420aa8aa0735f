/* The kernel that packs an array: each block copies a tile, for a plain copy of 16 rows by 128
 * columns.
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
 * The kernel of a transposed copy is the same, except that `store` finds other strides in %copy:
 * elements are adjacent along the other dim. assign-layouts then converts the tile through shared
 * memory, so that threads load and store 16 bytes each.
 *
 * The grid's first dim counts the tiles of all dims except the one of the rows. So blocks with
 * consecutive numbers write adjacent parts of a transposed copy. */
#include "passes/pack/rows.h"

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/common/f32_parts.h"
#include "passes/common/host_value.h"
#include "passes/common/kernel_steps.h"

enum { ROW_UNIT = 128 /* bytes, a line of the L2 cache and the span of a swizzle */ };
enum { ACCESS = 16 /* bytes */, EVEN = 2 };

/* The tile of a block. */
typedef struct copy_shape {
    int64_t rows, columns; /* columns: along the rows of the array */
    int64_t warps;
} copy_shape;

/* A transposed tile goes through shared memory. With 128 elements of 1 byte in each direction, both
 * arrays are accessed by whole L2 lines. */
static const copy_shape plain = {16, 128, 4}, transposed = {128, 128, 8},
                        transposed_wide = {64, 64, 8};

const pack_how_info *pack_how_of(pack_how how) {
    static const pack_how_info infos[PACK_HOWS] = {
        [PACK_PLAIN] = {"", "pack", "packed", TILE_WORD_NONE},
        [PACK_TRANSPOSED] = {":transposed", "transpose", "transposed", TILE_WORD_NONE},
        [PACK_BF16X3] = {":bf16x3", "split", "split", TILE_WORD_precision_bf16x3},
        [PACK_BF16X6] = {":bf16x6", "split", "split", TILE_WORD_precision_bf16x6}};
    return &infos[how];
}

unsigned pack_count_parts(const pack_rows *rows) {
    return tile_precision_of(pack_how_of(rows->how)->precision)->part_count;
}

/* The element type of the copy, which may be a parameter. */
static const tile_type *copied_element(const tile_function *f, const pack_rows *rows) {
    return pack_count_parts(rows) > 1 ? tile_type_scalar(tile_function_context(f), TILE_bf16)
                                      : pack_element(f, rows->arg);
}

/* The elements of ROW_UNIT bytes. An unknown type may have one byte. */
static int64_t unit_of(const pack_rows *rows) {
    unsigned bytes = pack_count_parts(rows) > 1 ? tile_scalar_bytes(TILE_bf16) : rows->bytes;
    return bytes < 2 ? ROW_UNIT : bytes < ROW_UNIT ? ROW_UNIT / (int64_t)bytes : 1;
}

void pack_set_strides(const tile_function *f, pack_rows *rows) {
    tile_context *context = tile_function_context(f);
    const tile_arg_decl *arg = &f->args[rows->arg];
    const tile_expr *unit = tile_expr_int(context, unit_of(rows));
    const tile_expr *units =
        tile_expr_op(context, TILE_OP_ceildiv, arg->extents[rows->inner], unit, NULL);
    const tile_expr *stride = rows->pitch = tile_expr_op(context, TILE_OP_mul, units, unit, NULL);
    rows->strides[rows->inner] = tile_expr_int(context, 1);
    for (unsigned d = arg->type->rank; d-- > 0;) {
        if (d == rows->inner) continue;
        rows->strides[d] = stride;
        stride = tile_expr_multiply(context, stride, arg->extents[d]);
    }
    rows->part_stride = stride;
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

const char *pack_free_argument(const tile_function *f, const pack_rows *rows) {
    tile_arena *arena = &f->module->arena;
    const char *stem = tile_arena_format(arena, "%s_%s", f->args[rows->arg].name,
                                         pack_how_of(rows->how)->adjective),
               *name = stem;
    for (unsigned n = 2; tile_function_find_arg(f, name); n++)
        name = tile_arena_format(arena, "%s_%u", stem, n);
    return name;
}

tile_value pack_add_argument(tile_function *f, const pack_rows *rows, unsigned rank,
                             const tile_expr *const *extents, const unsigned *dims) {
    tile_context *context = tile_function_context(f);
    const tile_expr *all[TILE_MAX_RANK], *strides[TILE_MAX_RANK];
    const unsigned parts = pack_count_parts(rows), before = parts > 1;
    if (before) all[0] = tile_expr_int(context, parts);
    if (before) strides[0] = rows->part_stride;
    for (unsigned d = 0; d < rank; d++) {
        all[before + d] = extents[d];
        strides[before + d] = rows->strides[dims[d]];
    }
    tile_value copy = tile_function_add_view_arg(
        f, pack_free_argument(f, rows), copied_element(f, rows), before + rank, all, strides);
    tile_function_set_arg_noalias(f, (unsigned)f->arg_count - 1, true);
    return copy;
}

/* The kernel --------------------------------------------------------------------------------------
 */

static const tile_expr *count_tiles(tile_context *context, const tile_expr *extent, int64_t tile) {
    return tile_expr_op(context, TILE_OP_ceildiv, extent, tile_expr_int(context, tile), NULL);
}

static bool is_integer(const tile_type *type) {
    return type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(type->scalar);
}

/* The other dim along which the tile has several coordinates: in a plain copy, the last dim except
 * that of the rows. */
static unsigned find_rows_dim(const tile_type *type, const pack_rows *rows) {
    if (rows->how == PACK_TRANSPOSED) return rows->across;
    return rows->row == type->rank - 1 ? type->rank - 2 : type->rank - 1;
}

static const copy_shape *shape_of(const pack_rows *rows) {
    if (rows->how != PACK_TRANSPOSED) return &plain;
    return rows->bytes > 2 ? &transposed_wide : &transposed;
}

/* Whether the distances between rows of the array are multiples of the integer argument. */
static bool divides_rows(const tile_function *f, const pack_rows *rows, unsigned arg) {
    for (unsigned d = 0; d < f->args[rows->arg].type->rank; d++)
        if (d != rows->row && !tile_expr_names_arg(tile_function_arg_stride(f, rows->arg, d), arg))
            return false;
    return true;
}

/* The rows of a plain copy begin at no multiples of 16 bytes. Elements of 1 byte are then copied by
 * 8 bytes if possible. Other copies read 16 bytes where rows are aligned. */
static unsigned divisor_of(const tile_function *f, const pack_rows *rows, unsigned arg) {
    unsigned bytes = rows->bytes ? rows->bytes : 1;
    if (!is_integer(f->args[arg].type)) return 0;
    if (rows->how == PACK_PLAIN) return bytes == 1 ? ACCESS / 2 : EVEN;
    if (!divides_rows(f, rows, arg)) return 0;
    return bytes < ACCESS ? ACCESS / bytes : 1;
}

static void set_head(tile_function *f, const pack_rows *rows) {
    tile_context *context = tile_function_context(f);
    const tile_arg_decl *arg = &f->args[rows->arg];
    unsigned among = find_rows_dim(arg->type, rows);
    const copy_shape *shape = shape_of(rows);
    const tile_expr *grid[2] = {count_tiles(context, arg->extents[among], shape->rows),
                                count_tiles(context, arg->extents[rows->row], shape->columns)};
    for (unsigned d = 0; d < arg->type->rank; d++)
        if (d != among && d != rows->row)
            grid[0] = tile_expr_multiply(context, grid[0], arg->extents[d]);
    steps_forget_grid(f);
    tile_function_set_grid(f, 2, grid);
    tile_function_set_warps(f, tile_expr_int(context, shape->warps));
    for (unsigned i = 0; i < f->arg_count; i++) f->args[i].divisible = divisor_of(f, rows, i);
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
    const copy_shape *shape = shape_of(rows);
    tile_context *context = tile_function_context(f);
    tile_value x = tile_build_block_id(b), y = {x.id + 1};
    for (unsigned d = arg->type->rank; d-- > 0;) {
        if (d == rows->row) {
            at[d] = tile_build_mul(b, y, tile_build_int(b, shape->columns));
            continue;
        }
        const tile_expr *count =
            d == among ? count_tiles(context, arg->extents[d], shape->rows) : arg->extents[d];
        tile_value extent = host_value_cast(b, host_value(b, count), TILE_i32);
        at[d] = tile_build_rem(b, x, extent);
        x = tile_build_div(b, x, extent);
        if (d == among) at[d] = tile_build_mul(b, at[d], tile_build_int(b, shape->rows));
    }
}

static void store_copy(tile_builder *b, const pack_rows *rows, tile_value moved, tile_value copy,
                       const tile_value *at, unsigned rank) {
    const unsigned count = pack_count_parts(rows);
    tile_value parts[TILE_MAX_PARTS], place[TILE_MAX_RANK];
    if (count == 1) {
        tile_build_store(b, moved, copy, at, rank, TILE_NO_VALUE);
        return;
    }
    f32_parts_split(b, moved, count, parts);
    for (unsigned d = 0; d < rank; d++) place[d + 1] = at[d];
    for (unsigned p = 0; p < count; p++) {
        place[0] = tile_build_int(b, p);
        tile_build_store(b, parts[p], copy, place, rank + 1, TILE_NO_VALUE);
    }
}

tile_function *pack_make_kernel(tile_function *from, const pack_rows *rows, bool waits,
                                bool follows) {
    tile_function old, *f = steps_copy_kernel(from, tile_arena_format(&from->module->arena, "%s_%s",
                                                                      pack_how_of(rows->how)->verb,
                                                                      from->args[rows->arg].name));
    tile_context *context = tile_function_context(f);
    tile_function_restart(f, &old);
    keep_types(f);
    set_head(f, rows);
    const tile_arg_decl *arg = &f->args[rows->arg];
    const unsigned rank = arg->type->rank, among = find_rows_dim(arg->type, rows);
    const copy_shape *shape = shape_of(rows);
    const tile_expr *extents[TILE_MAX_RANK];
    unsigned own[TILE_MAX_RANK];
    tile_type tile = {.kind = TILE_TYPE_TILE, .rank = rank};
    for (unsigned d = 0; d < rank; d++) {
        own[d] = d;
        int64_t count = d == rows->row ? shape->columns : d == among ? shape->rows : 1;
        tile.dims[d] = tile_expr_int(context, count);
        extents[d] = d == rows->inner ? rows->pitch : arg->extents[d];
    }
    tile_value array = arg->value;
    tile_value copy = pack_add_argument(f, rows, rank, extents, own);
    tile_builder b = tile_builder_at_end(f, f->body);
    tile_value at[TILE_MAX_RANK];
    b.loc = from->loc;
    place_tile(&b, rows, at);
    if (waits) tile_build_pdl_wait(&b);
    tile_value moved =
        tile_build_load(&b, array, at, rank, TILE_NO_VALUE, tile_type_get(context, &tile));
    if (follows && !waits) tile_build_pdl_wait(&b);
    store_copy(&b, rows, moved, copy, at, rank);
    tile_build_pdl_trigger(&b);
    return f;
}

tile_value pack_build_scratch(tile_builder *b, const pack_rows *rows) {
    const tile_function *plan = b->function;
    const tile_arg_decl *arg = &plan->args[rows->arg];
    tile_value extents[TILE_MAX_RANK];
    unsigned rank = 0, parts = pack_count_parts(rows);
    if (parts > 1) extents[rank++] = tile_build_int(b, parts);
    for (unsigned d = 0; d < arg->type->rank; d++)
        if (d != rows->inner)
            extents[rank++] = host_value_cast(b, host_value(b, arg->extents[d]), TILE_i32);
    extents[rank++] = host_value_cast(b, host_value(b, rows->pitch), TILE_i32);
    tile_value copy = tile_build_scratch(b, extents, rank, copied_element(plan, rows));
    tile_value_set_name(b->function, copy, pack_free_argument(plan, rows));
    return copy;
}
