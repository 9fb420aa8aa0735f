/* The table of targets. */
#include "lib/support/target.h"

#include <limits.h>
#include <string.h>

static const tile_target targets[] = {
#define TARGET(name, capability, specific, ptx, shared, warps, blocks, sm_shared, mma, wgmma) \
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

unsigned tile_target_residency(const tile_target *target, unsigned warps, unsigned registers,
                               unsigned shared_bytes, const char **limit) {
    enum { FILES = 4, FILE_SIZE = 16384, REGISTERS_AT_ONCE = 256, SHARED_AT_ONCE = 128 };
    warps = warps ? warps : 1;
    unsigned shared = (shared_bytes + SHARED_AT_ONCE - 1) / SHARED_AT_ONCE * SHARED_AT_ONCE;
    unsigned of_warp =
        (32 * registers + REGISTERS_AT_ONCE - 1) / REGISTERS_AT_ONCE * REGISTERS_AT_ONCE;
    const struct {
        unsigned blocks;
        const char *what;
    } limits[] = {
        {target->sm_warps / warps, "warps"},
        {target->sm_shared_bytes / (shared + TILE_SHARED_RESERVED), "shared memory"},
        {of_warp ? FILE_SIZE / of_warp * FILES / warps : UINT_MAX, "registers"},
        {target->sm_blocks, "blocks"},
    };
    unsigned least = 0;
    for (unsigned i = 1; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].blocks < limits[least].blocks) least = i;
    if (limit) *limit = limits[least].what;
    return limits[least].blocks;
}
