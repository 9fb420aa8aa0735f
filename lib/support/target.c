/* The table of targets. */
#include "lib/support/target.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "lib/support/arena.h"

/* Sets of features as bits, for the columns of the tables. */
enum {
#define FEATURE(name, text, needs) name = 1 << TILE_FEATURE_##name,
#include "tile/features.def"
#undef FEATURE
};

_Static_assert(TILE_FEATURE_COUNT < 31, "a set of features is a mask of 32 bits");

static const struct {
    const char *name, *text;
    uint32_t needs;
} features[] = {
#define FEATURE(name, text, needs) {#name, text, needs},
#include "tile/features.def"
#undef FEATURE
};

/* TILE_EXTRA_TARGETS: a file with additional rows, for tests. */
static const tile_target targets[] = {
#define TARGET(name, architecture, capability, form, ptx, set, shared, warps, blocks, sm_shared, \
               mma_rate, wgmma_rate) \
    {#name,  #architecture, capability, TILE_TARGET_##form, set,      ptx, \
     shared, warps,         blocks,     sm_shared,          mma_rate, wgmma_rate},
#include "tile/targets.def"
#ifdef TILE_EXTRA_TARGETS
#include TILE_EXTRA_TARGETS
#endif
#undef TARGET
};

/* Features ------------------------------------------------------------------------------------- */

const char *tile_feature_name(tile_feature feature) {
    return features[feature].name;
}

const char *tile_feature_text(tile_feature feature) {
    return features[feature].text;
}

uint32_t tile_feature_needs(tile_feature feature) {
    return features[feature].needs;
}

const char *tile_feature_targets(tile_feature feature, char *text, size_t size) {
    const tile_target *target;
    unsigned first = 0, after = 0;
    size_t used = 0;
    *text = 0;
    for (unsigned i = 0; (target = tile_target_at(i)); i++) {
        if (!tile_target_has(target, feature)) {
            after = i + 1;
            first = used ? first : i + 1;
            continue;
        }
        int length = snprintf(text + used, size - used, "%s%s", used ? ", " : "", target->name);
        used = (size_t)length < size - used ? used + (size_t)length : size - 1;
    }
    bool until_end =
        first == after && tile_target_at(first + 1); /* `first` and all later ones have it */
    if (!first && !after)
        snprintf(text, size, "any target");
    else if (until_end)
        snprintf(text, size, "%s or later", tile_target_at(first)->name);
    return text;
}

/* Targets -------------------------------------------------------------------------------------- */

const tile_target *tile_target_at(unsigned index) {
    return index < sizeof targets / sizeof *targets ? &targets[index] : NULL;
}

const tile_target *tile_target_find(const char *name) {
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++)
        if (name && strcmp(targets[i].name, name) == 0) return &targets[i];
    return NULL;
}

static void refuse_missing(tile_context *context, tile_loc loc) {
    tile_arena scratch = {0};
    const char *known = "";
    for (unsigned i = 0; i < sizeof targets / sizeof *targets; i++)
        known = tile_arena_format(&scratch, "%s%s%s", known, i ? ", " : "", targets[i].name);
    tile_report(context, TILE_ERROR, loc,
                "no target is given: it is NULL, which tile_target_find returns for an unknown "
                "name; the known targets are %s",
                known);
    tile_arena_reset(&scratch);
}

bool tile_target_check(tile_context *context, tile_loc loc, const tile_target *target) {
    if (!target) {
        refuse_missing(context, loc);
        return false;
    }
    const tile_target *row = tile_target_find(target->name);
    if (row && row->features == target->features && row->ptx_version == target->ptx_version &&
        row->compute_capability == target->compute_capability && row->form == target->form &&
        row->max_shared_bytes == target->max_shared_bytes)
        return true;
    tile_report(context, TILE_ERROR, loc,
                "'%s' is not one of the targets; take one from tile_target_find",
                target->name ? target->name : "");
    return false;
}

bool tile_target_runs_on(const tile_target *target, unsigned capability) {
    unsigned least = target->compute_capability;
    if (target->form == TILE_TARGET_specific) return capability == least;
    return capability / 10 == least / 10 && capability >= least;
}

/* A later generation can assemble the PTX of a portable target. */
static bool can_assemble(const tile_target *target, unsigned capability) {
    bool later = target->form == TILE_TARGET_portable && capability >= target->compute_capability;
    return later || tile_target_runs_on(target, capability);
}

static bool is_nearer(const tile_target *target, const tile_target *best) {
    if (!best || target->compute_capability != best->compute_capability)
        return !best || target->compute_capability > best->compute_capability;
    return target->form > best->form;
}

const tile_target *tile_target_for(unsigned capability) {
    const tile_target *target, *best = NULL;
    for (unsigned i = 0; (target = tile_target_at(i)); i++)
        if (can_assemble(target, capability) && is_nearer(target, best)) best = target;
    return best;
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
