/* Computes given where kernels are expected: the pass `schedule` makes kernels of them. */
#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "lib/support/text.h"
#include "tile/compile.h"

/* Among the functions added after `last`: the one whose arguments are the compute's. */
static const tile_function *find_made(const tile_function *last, const char *compute) {
    for (const tile_function *f = last->next; f; f = f->next)
        if (f->reference && strcmp(f->reference, compute) == 0) return f;
    return NULL;
}

/* Whether the pass can be told that the kernel's parameter of this name is given. */
static bool is_name(const char *key) {
    static const char *const characters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return *key && !key[strspn(key, characters)];
}

tile_status tile_schedule(tile_module *module, const char *compute, const tile_target *target,
                          tile_binding *bindings, unsigned *binding_count, const char **name) {
    TILE_GUARD_OUTSIDE(tile_module_context(module), TILE_OUT_OF_MEMORY)
    if (name) *name = NULL;
    if (!module || !name || !binding_count) return TILE_INVALID;
    tile_function *f = compute ? tile_module_find(module, compute) : NULL;
    if (!f || f->kind != TILE_COMPUTE) {
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no compute @%s",
                    compute ? compute : "");
        return TILE_INVALID;
    }
    tile_arena arena = {0};
    tile_text pipeline = {.arena = &arena};
    const tile_function *last = module->last, *made;
    unsigned left = 0;
    tile_text_format(&pipeline, "schedule{");
    for (unsigned i = 0; i < *binding_count; i++) {
        const char *key = bindings[i].name;
        if (key && bindings[i].value && tile_function_find_param(f, key, strlen(key)))
            tile_text_format(&pipeline, "%s=%s ", key, bindings[i].value);
        else
            bindings[left++] = bindings[i];
    }
    for (unsigned i = 0; i < left; i++) {
        const char *key = bindings[i].name, *value = bindings[i].value;
        if (!key || !is_name(key)) continue;
        if (value && *value && is_name(value))
            tile_text_format(&pipeline, "given.%s=%s ", key, value);
        else
            tile_text_format(&pipeline, "given.%s ", key);
    }
    tile_text_format(&pipeline, "}");
    const tile_pass_options options = {.size = sizeof options, .target = target, .kernel = f->name};
    tile_status status = tile_run_passes(module, pipeline.data, &options);
    made = status == TILE_OK ? find_made(last, f->name) : NULL;
    tile_arena_reset(&arena);
    *binding_count = left;
    if (made) *name = made->name;
    return status;
}
