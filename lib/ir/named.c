#include "lib/ir/named.h"

#include <string.h>

#include "lib/layout/layout.h"
#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "lib/support/integer.h"
#include "lib/support/text.h"

static const char *const names[TILE_LAYOUT_NAMES] = {
    [TILE_LAYOUT_NAME_mma_acc] = "mma_acc",         [TILE_LAYOUT_NAME_wgmma_acc] = "wgmma_acc",
    [TILE_LAYOUT_NAME_mma_lhs] = "mma_lhs",         [TILE_LAYOUT_NAME_mma_rhs] = "mma_rhs",
    [TILE_LAYOUT_NAME_wgmma_lhs] = "wgmma_lhs",     [TILE_LAYOUT_NAME_plain] = "plain",
    [TILE_LAYOUT_NAME_thread_rows] = "thread_rows", [TILE_LAYOUT_NAME_swizzle128] = "swizzle128",
};

const char *tile_layout_name_text(tile_layout_name name) {
    return names[name];
}

tile_layout_name tile_layout_find_name(const char *text, size_t length) {
    unsigned i = 0;
    while (i < TILE_LAYOUT_NAMES && !tile_text_is(names[i], text, length)) i++;
    return (tile_layout_name)i;
}

bool tile_layout_is_named(const tile_layout *layout) {
    return layout && layout->kind == TILE_LAYOUT_NAMED;
}

tile_layout tile_layout_of_name(tile_layout_name name) {
    tile_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.kind = TILE_LAYOUT_NAMED;
    layout.reg_bits = (uint8_t)name;
    return layout;
}

tile_layout_name tile_layout_name_of(const tile_layout *named) {
    return (tile_layout_name)named->reg_bits;
}

/* Fragments ----------------------------------------------------------------------------------- */

/* The instruction whose fragments an operand with such elements has. Among the rows that all
 * targets with mma support and that have elements of this size, it is the first one whose extents
 * divide the tile's. */
static const tile_mma *find_row(const tile_type *type, unsigned operand) {
    unsigned bits = tile_scalar_bits(type->scalar);
    uint32_t rows = (uint32_t)tile_type_dim(type, 0), columns = (uint32_t)tile_type_dim(type, 1);
    const tile_mma *row;
    for (unsigned i = 0; (row = tile_mma_at(i)); i++) {
        const tile_scalar scalars[] = {row->lhs, row->rhs, row->acc};
        uint32_t high = operand == TILE_MMA_RHS ? row->k : row->m;
        uint32_t wide = operand == TILE_MMA_LHS ? row->k : row->n;
        bool like = operand == TILE_MMA_ACC ? (bits == 64) == (row->acc == TILE_f64)
                                            : tile_scalar_bits(scalars[operand]) == bits;
        if (like && row->feature == TILE_FEATURE_mma && rows % high == 0 && columns % wide == 0)
            return row;
    }
    return NULL;
}

/* At most as many warps as there are fragments along this extent. */
static uint32_t distribute_warps(uint32_t extent, uint32_t fragment, unsigned warps) {
    uint32_t most = tile_layout_part_extent(extent) / fragment;
    return most < 1 ? 1 : most < warps ? most : warps;
}

static const char *resolve_fragment(const tile_type *type, unsigned operand, unsigned warps,
                                    tile_layout *layout) {
    if (type->rank != 2) return "a fragment of mma has two dims";
    const tile_mma *row = find_row(type, operand);
    if (!row) return "no mma instruction's fragments divide its extents";
    uint32_t rows = (uint32_t)tile_type_dim(type, 0), columns = (uint32_t)tile_type_dim(type, 1);
    uint32_t along_m = warps, along_n = 1;
    if (operand == TILE_MMA_ACC) {
        tile_mma_choose_warps(row, rows, columns, warps, &along_m, &along_n);
        *layout = tile_mma_accumulator(row, rows, columns, along_m, along_n);
        return NULL;
    }
    if (operand == TILE_MMA_LHS) {
        along_m = distribute_warps(rows, row->m, warps);
        along_n = warps / along_m;
        columns = row->n;
    } else {
        along_n = distribute_warps(columns, row->n, warps);
        along_m = warps / along_n;
        rows = row->m;
    }
    tile_layout acc = tile_mma_accumulator(row, rows, columns, along_m, along_n);
    *layout = tile_mma_operand(row, &acc, operand, (uint32_t)tile_type_dim(type, 0),
                               (uint32_t)tile_type_dim(type, 1));
    return NULL;
}

static const char *resolve_warpgroups(const tile_type *type, const uint32_t *dims, unsigned warps,
                                      tile_layout *layout) {
    if (type->rank != 2) return "an accumulator of wgmma has two dims";
    if (tile_scalar_bits(type->scalar) != 32) return "an accumulator of wgmma has 32-bit elements";
    if (!tile_wgmma_admits(dims, TILE_WGMMA_PLAIN, warps))
        return "it takes a multiple of 4 warps, at least 64 rows, and 8 columns for each warpgroup "
               "that has no rows of its own";
    *layout = tile_wgmma_accumulator(dims, TILE_WGMMA_PLAIN, warps);
    return NULL;
}

/* Moves the registers that step over whole fragments along k after those that step over rows. */
static void put_rows_first(tile_layout *layout, uint32_t depth) {
    uint32_t moved[TILE_LAYOUT_MAX_BITS];
    unsigned kept = 0, count = 0;
    for (unsigned i = 0; i < layout->reg_bits; i++)
        if (tile_layout_coordinate(layout, layout->reg[i], 1) >= depth)
            moved[count++] = layout->reg[i];
        else
            layout->reg[kept++] = layout->reg[i];
    memcpy(&layout->reg[kept], moved, count * sizeof *moved);
}

static const char *resolve_first_operand(const tile_type *type, const uint32_t *dims,
                                         unsigned warps, tile_layout *layout) {
    if (type->rank != 2) return "an operand of wgmma has two dims";
    unsigned bytes = tile_scalar_bytes(type->scalar);
    const uint32_t sums[] = {dims[0], 8}, depth = 32 / bytes;
    if (tile_scalar_bits(type->scalar) < 8 || bytes > 4)
        return "an operand of wgmma has elements of 1, 2 or 4 bytes";
    if (!tile_wgmma_admits(sums, TILE_WGMMA_PLAIN, warps) ||
        tile_layout_part_extent(dims[0]) < TILE_WGMMA_ROWS * (warps / TILE_WARPGROUP))
        return "it takes a multiple of 4 warps, and 64 rows for each 4 of them";
    if (dims[1] % depth) return "its rows must be multiples of 32 bytes";
    const tile_layout acc = tile_wgmma_accumulator(sums, TILE_WGMMA_PLAIN, warps);
    *layout = tile_wgmma_first_operand(&acc, TILE_WGMMA_PLAIN, type->scalar, dims);
    put_rows_first(layout, depth);
    return NULL;
}

/* Memory and plain tiles ---------------------------------------------------------------------- */

static tile_layout row_major(const uint32_t *dims, unsigned rank) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_SHARED, dims, rank);
    layout.reg_bits = (uint8_t)tile_layout_part_bits(&layout);
    for (unsigned i = 0; i < layout.reg_bits; i++) layout.reg[i] = UINT32_C(1) << i;
    return layout;
}

static const char *resolve_swizzle(const tile_type *type, const uint32_t *dims,
                                   tile_layout *layout) {
    enum { ROW = 128, ROWS = 8 };
    unsigned bytes = tile_scalar_bytes(type->scalar);
    if (type->rank != 2) return "it is for two dims";
    if (dims[1] * bytes % ROW || dims[0] % ROWS)
        return "its rows must be multiples of 128 bytes, and their number a multiple of 8";
    *layout = tile_wgmma_shared(dims, 1, bytes);
    return NULL;
}

const char *tile_layout_resolve(const tile_type *type, unsigned warps, tile_layout *layout) {
    tile_layout_name name = tile_layout_name_of(type->layout);
    bool shared = type->kind == TILE_TYPE_SHARED;
    uint32_t dims[TILE_MAX_RANK] = {0};
    for (unsigned d = 0; d < type->rank; d++) {
        int64_t extent = tile_type_dim(type, d);
        if (!tile_layout_admits_extent(extent)) return "a layout cannot have its extents";
        dims[d] = (uint32_t)extent;
    }
    if (!shared && (!warps || (warps & (warps - 1))))
        return "the number of warps that share it must be a power of two";
    switch (name) {
    case TILE_LAYOUT_NAME_mma_acc:
    case TILE_LAYOUT_NAME_mma_lhs:
    case TILE_LAYOUT_NAME_mma_rhs:
        if (shared) return "it is for tiles, which are held in registers";
        return resolve_fragment(type,
                                name == TILE_LAYOUT_NAME_mma_acc   ? TILE_MMA_ACC
                                : name == TILE_LAYOUT_NAME_mma_lhs ? TILE_MMA_LHS
                                                                   : TILE_MMA_RHS,
                                warps, layout);
    case TILE_LAYOUT_NAME_wgmma_acc:
        if (shared) return "it is for tiles, which are held in registers";
        return resolve_warpgroups(type, dims, warps, layout);
    case TILE_LAYOUT_NAME_wgmma_lhs:
        if (shared) return "it is for tiles, which are held in registers";
        return resolve_first_operand(type, dims, warps, layout);
    case TILE_LAYOUT_NAME_thread_rows:
        if (shared) return "it is for tiles, which are held in registers";
        *layout =
            tile_layout_chunked(dims, type->rank, dims[type->rank - 1], type->rank - 1, warps);
        return NULL;
    case TILE_LAYOUT_NAME_plain:
        *layout = shared
                      ? row_major(dims, type->rank)
                      : tile_layout_blocked(dims, type->rank, 16 / tile_scalar_bytes(type->scalar),
                                            type->rank - 1, warps);
        return NULL;
    case TILE_LAYOUT_NAME_swizzle128:
        return shared ? resolve_swizzle(type, dims, layout) : "it is for shared buffers";
    case TILE_LAYOUT_NAMES: break;
    }
    return "there is no such layout";
}
