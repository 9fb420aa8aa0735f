/* The output of a compilation in one object: the launch interface, PTX and cubin of each kernel.
 *
 * An artifact can be written and read back. Its key can be computed before the kernel is compiled,
 * so that a cache can be placed between the steps: the one of tile/cache.h, or your own:
 *
 *   tile_instantiate(module, kernel, ...);                   parameter values are part of the key
 *   tile_artifact_make_key(module, kernel, &options, &key);  look up key.text in the cache
 *   tile_artifact_build(module, kernel, &options, &artifact);
 *   tile_artifact_write(artifact, writer, user);             or tile_artifact_read on a cache hit
 */
#ifndef TILE_ARTIFACT_H
#define TILE_ARTIFACT_H

#include "tile/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_artifact tile_artifact;
typedef struct tile_cache tile_cache; /* tile/cache.h */

/* A kernel of an artifact. The artifact owns everything it points to. */
typedef struct tile_artifact_kernel {
    const tile_abi *abi;
    tile_blob ptx; /* empty if it was not requested */
    tile_blob cubin;
} tile_artifact_kernel;

/* What to produce in addition to the launch interface. */
typedef enum tile_want {
    TILE_WANT_PTX = 1 << 0,
    TILE_WANT_CUBIN = 1 << 1, /* and the PTX that it is assembled from */
} tile_want;

typedef struct tile_build_options {
    size_t size;               /* sizeof(tile_build_options) */
    const tile_target *target; /* required */
    unsigned wants;            /* a set of tile_want */
    unsigned level;            /* the level to lower the kernel to; 0: 3. Code needs 3 */
    unsigned variant; /* index in the list of variants (compile.h), for a plan in the list of each
                         of its kernels; 0 relies on all declared conditions */
    const char *pipeline; /* the passes; NULL: tile_default_pipeline(level) */
    unsigned ptx_version; /* as in tile_emit_options */
    bool no_line_info;
    bool no_remarks;   /* no remarks on accesses that could be wider (reported for variant 0 only),
                          and none of those that tile_context_set_remarks enables */
    const char *ptxas; /* as for tile_assemble */
    /* Cache that is searched for PTX and cubins before they are compiled, and that keeps them
     * afterwards; NULL: none. It must belong to the module's context. */
    tile_cache *cache;
    /* Seconds that each step of the compilation took. */
    void (*timing)(const char *step, double seconds, void *user);
    void *report_user;
    bool stamps; /* as in tile_emit_options */
    /* Omit the fallback kernels that a plan launches only where another kernel cannot run
     * (`otherwise`). To get one, build it by its name from the same module. */
    bool no_otherwise;
} tile_build_options;

/* 128 bits in hexadecimal. */
typedef struct tile_artifact_key {
    char text[33];
} tile_artifact_key;

/* Computes the key of the artifact that tile_artifact_build would return for the same arguments.
 * Equal keys mean equal artifacts: the key covers everything that affects the result. That is the
 * text of the instantiated kernel (with its source lines, if the PTX gets them), the variant's
 * conditions, the target, the options, the versions of Tile and LLVM, this build of the library,
 * and the assembler if a cubin is requested. kernel may be NULL if the module has only one. Returns
 * TILE_INVALID after a diagnostic, as the build does, and TILE_UNAVAILABLE if the assembler does
 * not exist. */
TILE_API tile_status tile_artifact_make_key(const tile_module *module, const char *kernel,
                                            const tile_build_options *options,
                                            tile_artifact_key *key);

/* Lowers an instantiated kernel, in place, and produces what options->wants requests. A kernel that
 * is already at level 3 is compiled as it is written; if the cache has the artifact, the kernel is
 * not changed. The caller owns *out, which is NULL after a failure. Fails as its parts do:
 * tile_run_passes, tile_abi_create, tile_emit, tile_assemble. The name may be that of a plan: then
 * all kernels that the plan launches are built. A kernel that takes several launches (because of
 * its `split` clause) is first replaced by a plan of the same name. */
TILE_API tile_status tile_artifact_build(tile_module *module, const char *kernel,
                                         const tile_build_options *options, tile_artifact **out);
TILE_API void tile_artifact_destroy(tile_artifact *artifact);

TILE_API unsigned tile_artifact_kernel_count(const tile_artifact *artifact);
/* The instantiated plan that launches these kernels. Its module contains their declarations, and
 * tile_plan_print prints its steps. NULL if the artifact is a single kernel, launched with the
 * arguments of its abi. Owned by the artifact. */
TILE_API const tile_function *tile_artifact_plan(const tile_artifact *artifact);
/* NULL past the end. A plan's kernels are in the order of their first launch, without those that
 * no_otherwise omits. */
TILE_API const tile_artifact_kernel *tile_artifact_kernel_at(const tile_artifact *artifact,
                                                             unsigned index);

/* Writes the whole artifact. The output contains binary data. */
TILE_API void tile_artifact_write(const tile_artifact *artifact, tile_writer writer, void *user);
/* Reads an artifact that tile_artifact_write wrote. The caller owns *out. Returns TILE_INVALID
 * after a diagnostic, with *out NULL, if the data is not an artifact or is truncated. */
TILE_API tile_status tile_artifact_read(tile_context *context, const void *data, size_t size,
                                        tile_artifact **out);

#ifdef __cplusplus
}
#endif

#endif
