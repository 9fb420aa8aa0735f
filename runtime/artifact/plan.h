/* Artifacts of plans. */
#ifndef TILE_RUNTIME_ARTIFACT_PLAN_H
#define TILE_RUNTIME_ARTIFACT_PLAN_H

#include "tile/artifact.h"

/* Restores the plan from its serialized text. Returns false if the text is not a plan; there may be
 * a diagnostic. */
bool tile_artifact_read_plan(tile_artifact *artifact, const char *text, size_t length);
/* Returns whether the kernels are those that the plan launches, with or without the kernels that
 * are only fallbacks of others. True without a plan. */
bool tile_artifact_has_kernels(const tile_artifact *artifact);

#endif
