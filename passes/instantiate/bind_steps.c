#include "passes/instantiate/bind_steps.h"

#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "tile/pack.h"
#include "tile/split.h"

static bool is_split(const tile_binding *binding) {
    return strcmp(binding->name, TILE_SPLIT_FACTOR) == 0 ||
           strcmp(binding->name, TILE_SPLIT_STRATEGY) == 0;
}

bool tile_bind_split(tile_function *f, const tile_binding *bindings, unsigned count) {
    tile_split_point point = {0, NULL};
    const char *bad_factor = NULL;
    bool given = false;
    for (unsigned i = 0; i < count; i++) {
        bool is_factor = strcmp(bindings[i].name, TILE_SPLIT_FACTOR) == 0;
        char *end;
        unsigned long factor = is_factor ? strtoul(bindings[i].value, &end, 10) : 0;
        given |= is_split(&bindings[i]);
        if (is_factor && *bindings[i].value && !*end && factor <= UINT32_MAX)
            point.factor = (unsigned)factor;
        else if (!is_factor && is_split(&bindings[i]))
            point.strategy = bindings[i].value;
        if (is_factor && !point.factor) bad_factor = bindings[i].value;
    }
    if (!given) return true;
    if (point.factor && point.strategy) return tile_split_write(f, &point) == TILE_OK;
    if (bad_factor)
        return tile_error_at(f, TILE_NO_OP,
                             "@%s: " TILE_SPLIT_FACTOR " takes a number from 1 to %d, not '%s'",
                             f->name, TILE_MAX_SPLIT, bad_factor);
    return tile_error_at(f, TILE_NO_OP,
                         "@%s: " TILE_SPLIT_FACTOR " and " TILE_SPLIT_STRATEGY
                         " go together, and there is no %s",
                         f->name, point.factor ? TILE_SPLIT_STRATEGY : TILE_SPLIT_FACTOR);
}

static bool is_packing(const tile_binding *binding) {
    return strcmp(binding->name, TILE_PACK_ARGUMENTS) == 0;
}

bool tile_bind_packing(tile_function *f, const tile_binding *bindings, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (is_packing(&bindings[i]) &&
            tile_pack_arguments_for(f, bindings[i].value, bindings, count) != TILE_OK)
            return false;
    return true;
}

bool tile_binds_no_parameter(const tile_binding *binding) {
    return is_split(binding) || is_packing(binding);
}
