/* The inside of tile_abi. All memory is the abi's own or the context's: the kernel may be gone. */
#ifndef TILE_LIB_CODEGEN_ABI_DATA_H
#define TILE_LIB_CODEGEN_ABI_DATA_H

#include "lib/codegen/abi.h"
#include "tile/compile.h"

/* A view argument's expressions, with the arguments' names in them. */
typedef struct tile_abi_shape_text {
    const char *type;
    const char *extents[TILE_MAX_RANK];
    const char *strides[TILE_MAX_RANK];
} tile_abi_shape_text;

struct tile_abi {
    tile_context *context;
    tile_arena arena;
    const char *entry;
    tile_loc loc;
    tile_abi_arg *args;
    tile_abi_shape_text *shapes; /* one for each argument; of other types `type` alone */
    unsigned arg_count;
    unsigned warps;
    unsigned shared_bytes;
    const tile_expr *grid[3];
    const char *grid_text[3];
    unsigned grid_rank;
    tile_scratch *scratch; /* op is of a kernel that may be gone: do not use it */
    const char **scratch_text;
    unsigned scratch_count;
    tile_abi_parameter *parameters;
    unsigned parameter_count;
};

/* A host expression, for integers at the places of the arguments. False on division by zero, or if
 * facts (may be NULL) lack something. */
bool tile_abi_evaluate(const tile_abi *abi, const tile_expr *expr, const int64_t *args,
                       const tile_launch_facts *facts, int64_t *value);

/* abi->parameters from its arguments and scratch buffers. */
void tile_abi_list_parameters(tile_abi *abi);

#endif
