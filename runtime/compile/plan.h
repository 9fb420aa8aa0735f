/* Building artifacts of plans. */
#ifndef TILE_RUNTIME_COMPILE_PLAN_H
#define TILE_RUNTIME_COMPILE_PLAN_H

#include "tile/artifact.h"

/* The caller owns *out. The kernels are lowered in place. */
tile_status tile_artifact_build_plan(const tile_function *plan, const tile_build_options *options,
                                     tile_artifact **out);
tile_status tile_artifact_make_plan_key(const tile_function *plan,
                                        const tile_build_options *options, tile_artifact_key *key);

#endif
