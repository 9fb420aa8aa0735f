/* `bitcast` between element types of different widths: one element of the wide type is 2, 4 or 8
 * consecutive elements along the last dim, lowest bits first. It is expanded into other operations.
 * A wide element is split by shifts and the parts are joined; narrow elements are separated and
 * combined by `or`. */
#ifndef TILE_LIB_BUILDER_BITCAST_WIDTH_H
#define TILE_LIB_BUILDER_BITCAST_WIDTH_H

#include "lib/ir/function.h"

/* Returns whether the bitcast changes the width, as far as types are known. */
bool tile_changes_width(const tile_builder *builder, tile_value src, const tile_type *type);
/* type: the type of the result, or its element type. Returns no value after a diagnostic. */
tile_value tile_build_bitcast_width(tile_builder *builder, tile_value src, const tile_type *type);

#endif
