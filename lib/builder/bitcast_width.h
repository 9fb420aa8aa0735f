/* `bitcast` between element types of different widths, of which one element of the wide type is 2,
 * 4 or 8 neighbours along the last dim, the lowest bits first. It is made of operations that there
 * are: parts of the bits, joined, or what is taken apart and put together by `or`. */
#ifndef TILE_LIB_BUILDER_BITCAST_WIDTH_H
#define TILE_LIB_BUILDER_BITCAST_WIDTH_H

#include "lib/ir/function.h"

/* Whether the bitcast is one of these, as far as types are known. */
bool tile_changes_width(const tile_builder *builder, tile_value src, const tile_type *type);
/* type: the result's, or its element type. No value after a diagnostic. */
tile_value tile_build_bitcast_width(tile_builder *builder, tile_value src, const tile_type *type);

#endif
