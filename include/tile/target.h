/* The GPUs that code can be compiled for. */
#ifndef TILE_TARGET_H
#define TILE_TARGET_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Features of targets: the rows of features.def. */
typedef enum tile_feature {
#define FEATURE(name, text, needs) TILE_FEATURE_##name,
#include "tile/features.def"
#undef FEATURE
    TILE_FEATURE_COUNT
} tile_feature;

/* Which GPUs run a target's cubins (targets.def). */
typedef enum tile_target_form {
    TILE_TARGET_portable, /* "sm_90" */
    TILE_TARGET_family,   /* "sm_100f" */
    TILE_TARGET_specific, /* "sm_90a" */
} tile_target_form;

typedef struct tile_target {
    const char *name;            /* "sm_90a" */
    const char *architecture;    /* name in PTX, LLVM and ptxas: "sm_90a" */
    unsigned compute_capability; /* 90; use tile_target_has to query features */
    tile_target_form form;
    uint32_t features;         /* bit TILE_FEATURE_x; see tile_target_has */
    unsigned ptx_version;      /* the lowest that the generated code needs: 80 is PTX 8.0 */
    unsigned max_shared_bytes; /* per block, with opt-in (CUDA C++ Programming Guide, table of
                                  technical specifications) */
    /* Resources of a multiprocessor (from the same table). Each block takes 1 KB more shared memory
     * than it requests. */
    unsigned sm_warps, sm_blocks, sm_shared_bytes;
    /* Floating-point operations per clock and multiprocessor in dense f16 products with f32 sums (a
     * multiply-add is two): with mma.sync, and with wgmma, 0 if there is none. */
    unsigned mma_rate, wgmma_rate;
} tile_target;

static inline bool tile_target_has(const tile_target *target, tile_feature feature) {
    return target && target->features >> feature & 1;
}

/* Returns NULL (without a report) if there is no such target. Targets live as long as the program.
 * Functions that take a target reject structs that are not copies of a row. */
TILE_API const tile_target *tile_target_find(const char *name);
/* The targets, in order; NULL past the end. */
TILE_API const tile_target *tile_target_at(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
