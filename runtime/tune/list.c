/* Lists the points of a space without tuning. */
#include "runtime/model/space.h"

#include <string.h>

#include "passes/passes.h"

/* Reports which names there are: without a name, exactly one kernel or plan must have `tune`. */
static void report_choice(const tile_module *module, unsigned count) {
    tile_arena arena = {0};
    const char *names = "";
    for (const tile_function *f = module->first; f; f = f->next)
        if (f->kind != TILE_COMPUTE && (f->tune_count || !count))
            names = tile_arena_format(&arena, "%s%s@%s", names, *names ? ", " : "", f->name);
    const char *what = count ? tile_arena_format(&arena, "%u kernels have a 'tune'", count)
                             : "no kernel has a 'tune'";
    tile_report(module->context, TILE_ERROR, (tile_loc){0}, "%s%s%s", what,
                *names ? ": name one of " : "", names);
    tile_arena_reset(&arena);
}

/* NULL after a diagnostic. */
static const tile_function *find(const tile_module *module, const char *name) {
    const tile_function *found = NULL;
    unsigned count = 0;
    for (const tile_function *f = module->first; f; f = f->next) {
        if (name ? strcmp(f->name, name) != 0 : !f->tune_count) continue;
        found = f;
        count++;
    }
    if (count == 1) return found;
    if (name)
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no kernel @%s", name);
    else
        report_choice(module, count);
    return NULL;
}

tile_status tile_list_points(const tile_module *module, const char *kernel,
                             const tile_binding *bindings, unsigned binding_count,
                             bool (*visit)(const char *point, void *user), void *user) {
    TILE_GUARD(tile_module_context(module), TILE_OUT_OF_MEMORY)
    tile_arena arena = {0};
    tune_point *points;
    size_t count;
    if (!module || !visit || !tile_bindings_are_complete(module->context, bindings, binding_count))
        return TILE_INVALID;
    const tile_function *f = find(module, kernel);
    bool ok = f && tune_list_points(f, bindings, binding_count, NULL, &arena, &points, &count);
    for (size_t i = 0; ok && i < count && visit(points[i].c.text, user); i++) continue;
    tile_arena_reset(&arena);
    return ok ? TILE_OK : TILE_INVALID;
}
