/* The GPUs that code is made for. */
#ifndef TILE_TARGET_H
#define TILE_TARGET_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_target {
    const char *name;            /* "sm_90a" */
    unsigned compute_capability; /* 90 */
    bool arch_specific;          /* the `a` forms: wgmma, setmaxnreg */
    unsigned ptx_version;        /* the lowest that the compiler's output needs: 80 is PTX 8.0 */
    unsigned max_shared_bytes;   /* per block, with opt-in (CUDA C++ Programming Guide, table of
                                    technical specifications) */
    /* What a multiprocessor holds at once (the same table); each block takes 1 KB of its shared
     * memory more than it asks for. */
    unsigned sm_warps, sm_blocks, sm_shared_bytes;
} tile_target;

/* NULL (without a report) if there is no such target. Targets live as long as the program; calls
 * that take one refuse a struct that is no copy of a row. */
TILE_API const tile_target *tile_target_find(const char *name);
/* The targets in order; NULL past the end. */
TILE_API const tile_target *tile_target_at(unsigned index);

#ifdef __cplusplus
}
#endif

#endif
