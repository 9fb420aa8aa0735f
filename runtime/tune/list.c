/* Lists the points of a space without tuning. */
#include "runtime/model/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/options.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "tile/build.h"

/* Reports which names there are: without a name, exactly one kernel or plan must have `tune`. */
static void report_choice(const tile_module *module, unsigned count) {
    tile_arena arena = {0};
    const char *names = "";
    for (const tile_function *f = module->first; f; f = f->next)
        if (tile_function_is_launched(f) && (tile_function_has_tune(f) || !count))
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
        if (name ? strcmp(f->name, name) != 0 : !tile_function_has_tune(f)) continue;
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

/* The function in a copy of the module, which the caller destroys, with the points that a plan
 * takes up. NULL after a diagnostic. */
static const tile_function *find_in_copy(const tile_module *module, const char *name,
                                         const tile_target *target, const tile_binding *given,
                                         unsigned count, tile_module **copy) {
    const tile_function *found = find(module, name);
    *copy = found ? tile_module_clone(module) : NULL;
    tile_function *f = found ? tile_module_find(*copy, found->name) : NULL;
    bool ok = f && tile_resolve_tuning(f, target, given, count) == TILE_OK &&
              tile_plan_take_points(f) == TILE_OK;
    return ok ? f : NULL;
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
    tile_module *copy;
    const tile_function *f = find_in_copy(module, kernel, NULL, bindings, binding_count, &copy);
    bool ok = f && tune_list_points(f, bindings, binding_count, NULL, &arena, &points, &count);
    for (size_t i = 0; ok && i < count && visit(points[i].c.text, user); i++) continue;
    tile_module_destroy(copy);
    tile_arena_reset(&arena);
    return ok ? TILE_OK : TILE_INVALID;
}

/* Returns whether some `where` or number of `tune` names the argument. */
static bool is_needed(const tile_function *f, size_t arg) {
    bool found = false;
    for (size_t i = 0; i < f->where_count && !found; i++)
        found = tile_expr_names_arg(f->wheres[i], arg);
    for (size_t t = 0; t < f->tune_count; t++)
        for (unsigned v = 0; v < f->tunes[t].point_count * f->tunes[t].name_count && !found; v++)
            found = tile_expr_names_arg(f->tunes[t].values[v], arg);
    return found;
}

static bool fail_size(const tile_function *f, const char *why, const char *name) {
    tile_report(f->module->context, TILE_ERROR, f->loc, "@%s: %s '%s'", f->name, why, name);
    return false;
}

static bool read_size(const tile_function *f, const tile_binding *size, int64_t *sizes,
                      bool *given) {
    const char *name = size->name + (*size->name == '%');
    char *end;
    for (size_t i = 0; i < f->arg_count; i++) {
        if (strcmp(f->args[i].name, name) != 0) continue;
        errno = 0;
        sizes[i] = strtoll(size->value, &end, 0);
        given[i] = true;
        return (end != size->value && !*end && !errno) ||
               fail_size(f, "a size is an integer, not", size->value);
    }
    return fail_size(f, "there is no argument", name);
}

/* Sets *sizes to an integer for each argument, or NULL if none are given. False after a
 * diagnostic. */
static bool read_sizes(const tile_function *f, const tile_space_query *query, tile_arena *arena,
                       const int64_t **sizes) {
    int64_t *all = TILE_NEW_ARRAY(arena, int64_t, f->arg_count + 1);
    bool *given = TILE_NEW_ARRAY(arena, bool, f->arg_count + 1);
    *sizes = query->size_count ? all : NULL;
    for (unsigned i = 0; i < query->size_count; i++)
        if (!read_size(f, &query->sizes[i], all, given)) return false;
    for (size_t i = 0; i < f->arg_count && *sizes; i++)
        if (!given[i] && is_needed(f, i))
            return fail_size(f, "points depend on another argument; give a size for",
                             f->args[i].name);
    return true;
}

static bool explain(const tile_function *f, const tile_space_query *query, tile_arena *arena,
                    bool (*visit)(const char *point, const char *dropped, void *user), void *user) {
    const int64_t *sizes;
    tune_point *points;
    size_t count;
    if (!read_sizes(f, query, arena, &sizes) ||
        !tune_list_all_points(f, query->bindings, query->binding_count, sizes, arena, &points,
                              &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const tile_candidate *c = &points[i].c;
        const char *why = *c->why ? c->why : NULL;
        if (!why && query->target)
            why = tile_point_fault(f, tune_make_options(c->bindings, c->binding_count, arena),
                                   c->binding_count, query->target, arena);
        if (!visit(c->text, why, user)) break;
    }
    return true;
}

tile_status tile_explain_points(const tile_module *module, const tile_space_query *query,
                                bool (*visit)(const char *point, const char *dropped, void *user),
                                void *user) {
    TILE_GUARD(tile_module_context(module), TILE_OUT_OF_MEMORY)
    tile_arena arena = {0};
    tile_space_query q;
    if (!module || !visit || !TILE_TAKE_OPTIONS(module->context, tile_space_query, &q, query) ||
        !tile_bindings_are_complete(module->context, q.bindings, q.binding_count) ||
        !tile_bindings_are_complete(module->context, q.sizes, q.size_count))
        return TILE_INVALID;
    tile_module *copy;
    const tile_function *f =
        find_in_copy(module, q.kernel, q.target, q.bindings, q.binding_count, &copy);
    bool ok = f && explain(f, &q, &arena, visit, user);
    tile_module_destroy(copy);
    tile_arena_reset(&arena);
    return ok ? TILE_OK : TILE_INVALID;
}
