#include "passes/instantiate/bind_steps.h"

#include <stdlib.h>
#include <string.h>

#include "passes/split/steps.h"
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
    for (unsigned i = 0; i < count && f->kind != TILE_PLAN; i++)
        if (is_packing(&bindings[i]) &&
            tile_pack_arguments_for(f, bindings[i].value, bindings, count) != TILE_OK)
            return false;
    return true;
}

/* Kernels of plans ----------------------------------------------------------------------------- */

/* The name in the text of the kernel that the operation launches; NULL: it launches none. */
static const char *launched_name(const tile_function *plan, tile_op op) {
    const tile_function *kernel = tile_launched_kernel(plan, op);
    if (!kernel) return NULL;
    return kernel->instance_of ? kernel->instance_of : kernel->name;
}

const char *tile_packing_of_kernel(const char *text, const char *kernel, tile_arena *arena) {
    const char *own = NULL;
    size_t name = strlen(kernel);
    while (*text) {
        size_t length = strcspn(text, "+");
        if (length > name && strncmp(text, kernel, name) == 0 && text[name] == '.')
            own = tile_arena_format(arena, "%s%s%.*s", own ? own : "", own ? "+" : "",
                                    (int)(length - name - 1), text + name + 1);
        text += length + (text[length] == '+');
    }
    return own;
}

/* False after a diagnostic if the plan does not launch a kernel that the text names. */
static bool check_names(const tile_function *plan, const char *text, tile_arena *arena) {
    while (*text) {
        size_t length = strcspn(text, "+");
        const char *item = tile_arena_format(arena, "%.*s", (int)length, text);
        bool found = false;
        for (uint32_t id = 1; id < plan->op_count && !found; id++) {
            const char *kernel = launched_name(plan, (tile_op){id});
            found = kernel && tile_packing_of_kernel(item, kernel, arena);
        }
        if (!found)
            return tile_error_at(plan, TILE_NO_OP,
                                 "@%s: '%s' names no argument of a kernel that the plan launches; "
                                 "write KERNEL.ARGUMENT",
                                 plan->name, item);
        text += length + (text[length] == '+');
    }
    return true;
}

/* Instances have no parameters, so that the copies' element types are known. */
static bool pack_launched(tile_function *plan, const char *text, tile_arena *arena) {
    if (!check_names(plan, text, arena)) return false;
    const uint32_t count = (uint32_t)plan->op_count;
    for (uint32_t id = 1; id < count; id++) {
        const char *name = launched_name(plan, (tile_op){id});
        const char *own = name ? tile_packing_of_kernel(text, name, arena) : NULL;
        if (!own) continue;
        tile_function *kernel = tile_launched_kernel(plan, (tile_op){id});
        if (tile_pack_arguments(kernel, own) != TILE_OK ||
            tile_inline_steps(kernel, arena) != TILE_OK)
            return false;
    }
    return true;
}

bool tile_bind_plan_packing(tile_function *plan, const tile_binding *bindings, unsigned count,
                            tile_arena *arena) {
    for (unsigned i = 0; i < count; i++)
        if (is_packing(&bindings[i]) && !pack_launched(plan, bindings[i].value, arena))
            return false;
    return true;
}

bool tile_binds_no_parameter(const tile_binding *binding) {
    return is_split(binding) || is_packing(binding);
}
