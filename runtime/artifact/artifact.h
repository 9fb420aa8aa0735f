/* The private definition of artifacts. */
#ifndef TILE_RUNTIME_ARTIFACT_ARTIFACT_H
#define TILE_RUNTIME_ARTIFACT_ARTIFACT_H

#include "lib/support/arena.h"
#include "tile/artifact.h"

typedef struct artifact_kernel {
    tile_artifact_kernel parts; /* the public part */
    tile_abi *abi;
} artifact_kernel;

struct tile_artifact {
    tile_context *context;
    artifact_kernel *kernels;
    unsigned count;
    tile_module *module; /* the plan and its kernels' heads; NULL: an artifact of one kernel */
    tile_function *plan;
};

/* Creates an artifact without kernels. Each call of artifact_kernel adds one that is all zero. */
tile_artifact *tile_artifact_create(tile_context *context);
artifact_kernel *tile_artifact_add(tile_artifact *artifact);

#endif
