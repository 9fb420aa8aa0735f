/* What compiling gives, in one piece: for each kernel how it is launched, its PTX and its cubin.
 *
 * An artifact can be written and read back, and has a name that is known before the work is done,
 * so that a cache fits between the steps: the one of tile/cache.h, or one of your own:
 *
 *   tile_instantiate(module, kernel, ...);                   the parameters' values are part of it
 *   tile_artifact_make_key(module, kernel, &options, &key);  look for key.text in the cache
 *   tile_artifact_build(module, kernel, &options, &artifact);
 *   tile_artifact_write(artifact, writer, user);             or tile_artifact_read, if it was there
 */
#ifndef TILE_ARTIFACT_H
#define TILE_ARTIFACT_H

#include "tile/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_artifact tile_artifact;
typedef struct tile_cache tile_cache; /* tile/cache.h */

/* A kernel of an artifact. All of it is the artifact's. */
typedef struct tile_artifact_kernel {
    const tile_abi *abi;
    tile_blob ptx; /* empty where it was not wanted */
    tile_blob cubin;
} tile_artifact_kernel;

/* What to make beside the launch interface. */
typedef enum tile_want {
    TILE_WANT_PTX = 1 << 0,
    TILE_WANT_CUBIN = 1 << 1, /* and the PTX it is made of */
} tile_want;

typedef struct tile_build_options {
    size_t size;               /* sizeof(tile_build_options) */
    const tile_target *target; /* needed */
    unsigned wants;            /* a set of tile_want */
    unsigned level;            /* to which the kernel is lowered; 0: 3. Code needs 3 */
    unsigned variant;          /* of the kernel's list (compile.h); 0 relies on all it declares. Of
                                  a plan: of each of its kernels, so 0 */
    const char *pipeline;      /* the passes; NULL: tile_default_pipeline(level) */
    unsigned ptx_version;      /* as in tile_emit_options */
    bool no_line_info;
    bool no_remarks;   /* on accesses that could be wider (variant 0 has them), nor those that
                          tile_context_set_remarks asks for */
    const char *ptxas; /* as for tile_assemble */
    /* Where PTX and cubins are looked for before they are made, and kept; NULL: nowhere. Of the
     * module's context. */
    tile_cache *cache;
    /* Seconds that each step of the compilation took. */
    void (*timing)(const char *step, double seconds, void *user);
    void *report_user;
    bool stamps; /* as in tile_emit_options */
    /* Without the kernels that a plan launches only where another one cannot be (`otherwise`): who
     * needs one builds it by its name, from the same module. */
    bool no_otherwise;
} tile_build_options;

/* 128 bits in hexadecimal. */
typedef struct tile_artifact_key {
    char text[33];
} tile_artifact_key;

/* Names what tile_artifact_build would give for the same arguments. Equal keys mean equal
 * artifacts: a key is made of all that decides the result, which is the instantiated kernel's text
 * (with its lines in the source, if they are to be in the PTX), the variant's conditions, the
 * target, the options, the versions of Tile and LLVM, this build of the library, and the assembler
 * if a cubin is wanted. kernel may be NULL if the module has only one. TILE_INVALID after a
 * diagnostic as from the build; TILE_UNAVAILABLE if there is no such assembler. */
TILE_API tile_status tile_artifact_make_key(const tile_module *module, const char *kernel,
                                            const tile_build_options *options,
                                            tile_artifact_key *key);

/* Lowers an instantiated kernel, in place, and makes what is wanted. A kernel that is at level 3
 * already is taken as it is written; one that the cache has stays as it is. *out is the caller's,
 * NULL after a failure; fails as its parts do: tile_run_passes, tile_abi_create, tile_emit,
 * tile_assemble. The name may be a plan's: then all kernels that it launches are built. A kernel
 * that takes several launches (its `split` clause says so) becomes a plan of its name first. */
TILE_API tile_status tile_artifact_build(tile_module *module, const char *kernel,
                                         const tile_build_options *options, tile_artifact **out);
TILE_API void tile_artifact_destroy(tile_artifact *artifact);

TILE_API unsigned tile_artifact_kernel_count(const tile_artifact *artifact);
/* Of a plan: the plan, instantiated, whose launch goes through these kernels; its module has their
 * heads, and tile_plan_print says the steps. NULL: one kernel is launched, with the arguments of
 * its abi. The artifact's. */
TILE_API const tile_function *tile_artifact_plan(const tile_artifact *artifact);
/* NULL past the end. A plan's kernels are in the order in which it launches them first, but for
 * those that no_otherwise leaves out. */
TILE_API const tile_artifact_kernel *tile_artifact_kernel_at(const tile_artifact *artifact,
                                                             unsigned index);

/* Writes all of it, bytes that are no text among them. */
TILE_API void tile_artifact_write(const tile_artifact *artifact, tile_writer writer, void *user);
/* The artifact that tile_artifact_write wrote; *out is the caller's. TILE_INVALID after a
 * diagnostic, and NULL, if the bytes are none, or not whole. */
TILE_API tile_status tile_artifact_read(tile_context *context, const void *data, size_t size,
                                        tile_artifact **out);

#ifdef __cplusplus
}
#endif

#endif
