/* The inside of tile_abi. All memory is the abi's own or the context's: the kernel may be gone. */
#ifndef TILE_LIB_CODEGEN_ABI_DATA_H
#define TILE_LIB_CODEGEN_ABI_DATA_H

#include "lib/codegen/abi.h"
#include "tile/compile.h"

struct tile_abi {
    tile_context *context;
    tile_arena arena;
    const char *entry;
    tile_loc loc;
    tile_abi_arg *args;
    unsigned arg_count;
    unsigned warps;
    unsigned shared_bytes;
    const tile_expr *grid[3];
    const char *grid_text[3];
    unsigned grid_rank;
    tile_scratch *scratch; /* op is of a kernel that may be gone: do not use it */
    const char **scratch_text;
    unsigned scratch_count;
    bool has_scratch[2]; /* by `clean` */
};

#endif
