/* Kernels whose arguments are packed (tile/pack.h): what that would take, and the points with it.
 */
#ifndef TILE_RUNTIME_MODEL_PACKED_H
#define TILE_RUNTIME_MODEL_PACKED_H

#include "passes/passes.h"
#include "runtime/model/space.h"

/* A kernel as the plan that packs some of its arguments. */
typedef struct tune_packed {
    tile_module *module;         /* the caller destroys it */
    const tile_function *reader; /* the kernel that reads the copies; it has the points */
    const int64_t *sizes;        /* of its launch */
    double copies;               /* estimated seconds of the kernels that write the copies */
} tune_packed;

/* Packs these arguments in a copy of the module. given: values of parameters. False if they cannot
 * be packed; the module is destroyed even then. Everything else lives in the arena. */
bool tune_pack(const tile_device *device, const tile_module *module, const char *name,
               const char *arguments, const int64_t *sizes, const tile_pass_option *given,
               unsigned given_count, tile_arena *arena, tune_packed *out);

/* The arguments of a kernel that packing would align at these sizes, as TILE_PACK_ARGUMENTS takes
 * them, in the arena; NULL if there are none. bindings: of a point. */
const char *tune_find_unaligned(const tile_function *f, const tile_binding *bindings,
                                unsigned count, const int64_t *sizes, tile_arena *arena);

/* Adds a point with packed arguments for each point, if there are several and the sizes leave rows
 * unaligned. */
void tune_join_packing(const tile_function *f, const int64_t *sizes, tile_arena *arena,
                       tune_point **points, size_t *count);

/* The value of TILE_PACK_ARGUMENTS among the bindings, or NULL. */
const char *tune_packing_of(const tile_binding *bindings, unsigned count);

#endif
