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

/* How a kernel's arguments may be packed at these sizes, as TILE_PACK_ARGUMENTS takes it: the ones
 * whose rows are not aligned, and these together with operands that wgmma reads only if they are
 * transposed or split into parts (tile_find_packed_operands). The texts are in the arena. Returns
 * their number. bindings: of a point. */
enum { TUNE_MAX_PACKINGS = 1 + TILE_MAX_OPERAND_PACKINGS };
unsigned tune_find_packings(const tile_device *device, const tile_function *f,
                            const tile_binding *bindings, unsigned count, const int64_t *sizes,
                            tile_arena *arena, const char *packings[TUNE_MAX_PACKINGS]);

/* Adds the points with packed arguments for each packing, if there are several points. */
void tune_join_packing(const tile_device *device, const tile_function *f, const int64_t *sizes,
                       tile_arena *arena, tune_point **points, size_t *count);

/* The value of TILE_PACK_ARGUMENTS among the bindings, or NULL. */
const char *tune_packing_of(const tile_binding *bindings, unsigned count);

#endif
