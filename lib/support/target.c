/* The table of targets. */
#include "lib/support/target.h"

#include <string.h>

static const tile_target targets[] = {
#define TARGET(name, capability, specific, ptx, shared, warps, blocks, sm_shared, mma) \
    {#name, capability, specific, ptx, shared, warps, blocks, sm_shared},
#include "tile/targets.def"
#undef TARGET
};

const tile_target *tile_target_at(unsigned index) {
    return index < sizeof targets / sizeof *targets ? &targets[index] : NULL;
}

const tile_target *tile_target_find(const char *name) {
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++)
        if (name && strcmp(targets[i].name, name) == 0) return &targets[i];
    return NULL;
}

bool tile_target_check(tile_context *context, tile_loc loc, const tile_target *target) {
    if (!target) {
        tile_report(context, TILE_ERROR, loc, "no target is given");
        return false;
    }
    const tile_target *row = tile_target_find(target->name);
    if (row && row->compute_capability == target->compute_capability &&
        row->arch_specific == target->arch_specific && row->ptx_version == target->ptx_version &&
        row->max_shared_bytes == target->max_shared_bytes)
        return true;
    tile_report(context, TILE_ERROR, loc,
                "'%s' is not one of the targets; take one from tile_target_find",
                target->name ? target->name : "");
    return false;
}
