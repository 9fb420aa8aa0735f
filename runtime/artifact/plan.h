/* What tile_artifact_build and the like do with a plan. */
#ifndef TILE_RUNTIME_ARTIFACT_PLAN_H
#define TILE_RUNTIME_ARTIFACT_PLAN_H

#include "tile/artifact.h"

/* *out is the caller's; the kernels are lowered in place. */
tile_status tile_artifact_build_plan(const tile_function *plan, const tile_build_options *options,
                                     tile_artifact **out);
tile_status tile_artifact_make_plan_key(const tile_function *plan,
                                        const tile_build_options *options, tile_artifact_key *key);
/* The plan back from the text that was written. False if it is none, perhaps after a diagnostic. */
bool tile_artifact_read_plan(tile_artifact *artifact, const char *text, size_t length);
/* Whether the kernels are those that the plan launches, with or without those that take the place
 * of others only; without a plan, any are. */
bool tile_artifact_has_kernels(const tile_artifact *artifact);

#endif
