/* `fill` in a kernel: stores of one tile to all stages of a shared buffer. */
#ifndef TILE_LIB_BUILDER_FILL_H
#define TILE_LIB_BUILDER_FILL_H

#include "lib/ir/function.h"

/* Returns the last of the stores; op 0 after a diagnostic. */
tile_op tile_build_fill_stores(tile_builder *builder, tile_value dst, tile_value src);

#endif
