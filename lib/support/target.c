/* The table of targets. */
#include "tile/target.h"

#include <string.h>

static const tile_target targets[] = {
#define TARGET(name, capability, specific, ptx, shared) {#name, capability, specific, ptx, shared},
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
