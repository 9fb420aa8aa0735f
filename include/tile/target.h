/* The GPUs that code is made for. */
#ifndef TILE_TARGET_H
#define TILE_TARGET_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What targets may have: the rows of features.def. */
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
    const char *architecture;    /* what PTX, LLVM and ptxas call it: "sm_90a" */
    unsigned compute_capability; /* 90; ask tile_target_has for what the target has */
    tile_target_form form;
    uint32_t features;         /* bit TILE_FEATURE_x: tile_target_has */
    unsigned ptx_version;      /* the lowest that the compiler's output needs: 80 is PTX 8.0 */
    unsigned max_shared_bytes; /* per block, with opt-in (CUDA C++ Programming Guide, table of
                                  technical specifications) */
    /* What a multiprocessor holds at once (the same table); each block takes 1 KB of its shared
     * memory more than it asks for. */
    unsigned sm_warps, sm_blocks, sm_shared_bytes;
    /* Floating-point operations of dense f16 products with f32 sums that a multiprocessor does in
     * one clock (a multiply-add is two): by mma.sync, and by wgmma, 0 where there is none. */
    unsigned mma_rate, wgmma_rate;
} tile_target;

static inline bool tile_target_has(const tile_target *target, tile_feature feature) {
    return target && target->features >> feature & 1;
}

/* NULL (without a report) if there is no such target. Targets live as long as the program; calls
 * that take one refuse a struct that is no copy of a row. */
TILE_API const tile_target *tile_target_find(const char *name);
/* The targets in order; NULL past the end. */
TILE_API const tile_target *tile_target_at(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
