/* Artifacts of plans. */
#ifndef TILE_RUNTIME_ARTIFACT_PLAN_H
#define TILE_RUNTIME_ARTIFACT_PLAN_H

#include "tile/artifact.h"

/* The plan back from the text that was written. False if it is none, perhaps after a diagnostic. */
bool tile_artifact_read_plan(tile_artifact *artifact, const char *text, size_t length);
/* Whether the kernels are those that the plan launches, with or without those that take the place
 * of others only; without a plan, any are. */
bool tile_artifact_has_kernels(const tile_artifact *artifact);

#endif
