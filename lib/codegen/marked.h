/* Code that records which operation each instruction comes from. */
#ifndef TILE_LIB_CODEGEN_MARKED_H
#define TILE_LIB_CODEGEN_MARKED_H

#include "tile/compile.h"

/* Emits the same instructions in the same order as tile_emit, but the line table maps to
 * operations: line n is operation n - 1, line 1 is the kernel's code before its body. options: all
 * fields are read. Reports no diagnostics: tile_emit has reported them. */
tile_status tile_emit_marked(const tile_function *kernel, tile_emit_kind kind,
                             const tile_emit_options *options, tile_blob *out);

#endif
