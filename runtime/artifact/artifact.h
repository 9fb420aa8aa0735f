/* The inside of artifacts. */
#ifndef TILE_RUNTIME_ARTIFACT_ARTIFACT_H
#define TILE_RUNTIME_ARTIFACT_ARTIFACT_H

#include "lib/support/arena.h"
#include "tile/artifact.h"

typedef struct artifact_kernel {
    tile_artifact_kernel parts; /* what the caller sees */
    tile_abi *abi;
} artifact_kernel;

struct tile_artifact {
    tile_context *context;
    artifact_kernel *kernels;
    unsigned count;
    tile_module *module; /* of the plan and its kernels' heads; NULL: it is of one kernel */
    tile_function *plan;
};

/* An artifact without kernels; an artifact_kernel that is all zero is added by each call. */
tile_artifact *tile_artifact_create(tile_context *context);
artifact_kernel *tile_artifact_add(tile_artifact *artifact);

#endif
