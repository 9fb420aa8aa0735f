/* Code that says which operation each instruction comes from. */
#ifndef TILE_LIB_CODEGEN_MARKED_H
#define TILE_LIB_CODEGEN_MARKED_H

#include "tile/compile.h"

/* The same instructions in the same order as tile_emit gives, but the line table leads to
 * operations: line n stands for operation n - 1, line 1 for what the kernel does before its body.
 * options: all fields are read. Reports nothing: tile_emit has done so. */
tile_status tile_emit_marked(const tile_function *kernel, tile_emit_kind kind,
                             const tile_emit_options *options, tile_blob *out);

#endif
