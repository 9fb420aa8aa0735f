/* Artifacts of plans: the plan and the kernels that it launches. */
#include "runtime/artifact/plan.h"

#include <string.h>

#include "lib/launch/steps.h"
#include "runtime/artifact/artifact.h"

bool tile_artifact_read_plan(tile_artifact *artifact, const char *text, size_t length) {
    artifact->module = tile_module_parse(artifact->context, "artifact", text, length);
    for (tile_function *f = artifact->module ? artifact->module->first : NULL; f; f = f->next)
        if (f->kind == TILE_PLAN && !f->param_count) artifact->plan = f;
    return artifact->plan != NULL;
}

bool tile_artifact_has_kernels(const tile_artifact *artifact) {
    if (!artifact->plan) return true;
    tile_steps *steps = tile_steps_create(artifact->plan);
    bool same = true;
    unsigned next = 0;
    for (unsigned i = 0; same && i < steps->kernel_count; i++) {
        bool here = next < artifact->count &&
                    strcmp(steps->kernels[i], tile_abi_entry(artifact->kernels[next].abi)) == 0;
        next += here;
        same = here || !tile_steps_launch(steps, i);
    }
    same &= next == artifact->count;
    tile_steps_destroy(steps);
    return same;
}
