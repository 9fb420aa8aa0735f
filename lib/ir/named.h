/* Named layouts, which have a name instead of bases. Their bases depend on the tile's extents and
 * elements and on the warps that share it. Until these are known, a type has a layout of kind
 * NAMED, which holds only the name. The pass instantiate replaces it by the bases. */
#ifndef TILE_LIB_IR_NAMED_H
#define TILE_LIB_IR_NAMED_H

#include "tile/ir.h"

typedef enum tile_layout_name {
    TILE_LAYOUT_NAME_mma_acc,   /* of tiles: the accumulator of a product, by the policy `square` */
    TILE_LAYOUT_NAME_wgmma_acc, /* of tiles: the accumulator of a product by warpgroups */
    TILE_LAYOUT_NAME_mma_lhs,   /* operands: lhs has its rows distributed over warps (`rows`) .. */
    TILE_LAYOUT_NAME_mma_rhs,   /* .. and rhs its columns (`columns`) */
    TILE_LAYOUT_NAME_wgmma_lhs, /* lhs in registers of a product by warpgroups */
    TILE_LAYOUT_NAME_plain,     /* 16 bytes along the last dim for each thread, then lanes, then
                                   warps; in shared memory: row-major */
    TILE_LAYOUT_NAME_thread_rows, /* of tiles: each thread holds whole rows */
    TILE_LAYOUT_NAME_swizzle128,  /* shared memory: columns of 128 bytes, whose 16-byte chunks are
                                     xor-ed with the row number modulo 8 */
    TILE_LAYOUT_NAMES
} tile_layout_name;

/* The name without '#'. */
const char *tile_layout_name_text(tile_layout_name name);
/* Returns TILE_LAYOUT_NAMES if there is none. */
tile_layout_name tile_layout_find_name(const char *text, size_t length);
/* True if a layout is only a name; false for NULL. */
bool tile_layout_is_named(const tile_layout *layout);
tile_layout tile_layout_of_name(tile_layout_name name);
tile_layout_name tile_layout_name_of(const tile_layout *named);

/* Computes the bases of a type's named layout for `warps` warps. Returns NULL, or the reason why
 * there are none, in the user's words. The type has no parameters. */
const char *tile_layout_resolve(const tile_type *type, unsigned warps, tile_layout *layout);

#endif
