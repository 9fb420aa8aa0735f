/* `where` clauses that name arguments: each launch checks those of its point. */
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/support/context.h"
#include "passes/passes.h"
#include "runtime/launch/kernel.h"
#include "runtime/model/plan_launch.h"
#include "runtime/model/space.h"

static bool argument_value(unsigned index, int64_t *value, void *user) {
    *value = ((const tile_argument *)user)[index].integer;
    return true;
}

bool tile_own_wheres_hold(const kernel_point *point, const tile_argument *arguments) {
    const tile_bindings bindings = {.arg = argument_value, .user = (void *)(uintptr_t)arguments};
    for (size_t i = 0; i < point->where_count; i++) {
        int64_t value;
        if (!tile_expr_eval(point->wheres[i], &bindings, &value) || !value) return false;
    }
    return true;
}

static bool loop_wheres_hold(const kernel_point *point, const tile_argument *arguments) {
    tile_arena arena = {0};
    const char *why;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    tile_bound_params bound = {.f = tile_plan_function(point->plan), .sizes = sizes};
    for (size_t i = 0; i < bound.f->arg_count; i++) sizes[i] = arguments[i].integer;
    bool hold = tune_plan_allows(&bound, tile_plan_device(point->plan)->num_sms, &arena, &why);
    tile_arena_reset(&arena);
    return hold;
}

bool tile_wheres_hold(const kernel_point *point, const tile_argument *arguments) {
    return tile_own_wheres_hold(point, arguments) &&
           (!point->has_loop_wheres || loop_wheres_hold(point, arguments));
}

/* "block = 64, walk = once" as bindings, in the kernel's arena. `more`: bindings of something else
 * than parameters, which follow. */
void tile_describe_point(tile_kernel *kernel, kernel_point *point, const tile_function *f) {
    tile_arena *arena = &kernel->arena;
    const tile_function *written = tile_module_find(kernel->module, kernel->name);
    size_t most = written->param_count + point->binding_count + 1;
    tile_binding *params = TILE_NEW_ARRAY(arena, tile_binding, most);
    point->wheres = tile_arena_copy(arena, f->wheres, sizeof *f->wheres * f->where_count);
    point->where_count = f->where_count;
    point->has_loop_wheres = tile_becomes_plan(f) && tune_plan_has_loop_wheres(f);
    point->params = params;
    point->param_count = 0;
    for (const char *at = written->param_count && f->point ? f->point : ""; *at;) {
        const char *equals = strstr(at, " = "), *end = strstr(equals, ", ");
        if (!end) end = equals + strlen(equals);
        params[point->param_count++] =
            (tile_binding){tile_arena_string(arena, at, (size_t)(equals - at)),
                           tile_arena_string(arena, equals + 3, (size_t)(end - equals - 3))};
        at = *end ? end + 2 : end;
    }
    for (unsigned i = 0; i < point->binding_count; i++) {
        const tile_binding *b = &point->bindings[i];
        if (tile_function_find_param(written, b->name, strlen(b->name))) continue;
        params[point->param_count++] =
            (tile_binding){tile_arena_string(arena, b->name, strlen(b->name)),
                           tile_arena_string(arena, b->value, strlen(b->value))};
    }
}

/* Errors --------------------------------------------------------------------------------------- */

enum { MAX_COUNTED = 1 << 16 };

/* The points that agree with given parameters, and at how many of them each `where` is false. */
typedef struct census {
    const tile_function *f;
    const int64_t *sizes;
    size_t points;
    size_t *false_at; /* by `where` */
} census;

static bool count_point(const tile_bound_params *point, void *user) {
    census *c = user;
    for (size_t i = 0; i < c->f->where_count; i++) c->false_at[i] += !tile_where_holds(point, i);
    return ++c->points < MAX_COUNTED;
}

static census take_census(const tile_function *f, const tile_binding *bindings, unsigned count,
                          const tile_argument *arguments, tile_arena *arena) {
    int64_t *sizes = TILE_NEW_ARRAY(arena, int64_t, f->arg_count + 1);
    census c = {f, sizes, 0, TILE_NEW_ARRAY(arena, size_t, f->where_count + 1)};
    for (size_t i = 0; i < f->arg_count; i++) sizes[i] = arguments[i].integer;
    tile_visit_all_points(f, tune_make_options(bindings, count, arena), count, sizes, arena,
                          count_point, &c);
    return c;
}

static const char *bindings_text(const tile_binding *bindings, unsigned count, tile_arena *arena) {
    const char *text = "";
    for (unsigned i = 0; i < count; i++)
        text = tile_arena_format(arena, "%s%s%s = %s", text, i ? ", " : "", bindings[i].name,
                                 bindings[i].value);
    return text;
}

/* "`where %n <= block` is false at all 2 points": a clause that is never true, if there is one,
 * else where each one is false. */
static const char *clauses_text(const census *c, tile_arena *arena) {
    const tile_function *f = c->f;
    const char *text = "", *all = c->points == 1 ? "" : " at all points";
    for (size_t i = 0; i < f->where_count; i++)
        if (c->points && c->false_at[i] == c->points)
            return tile_arena_format(arena, "`where %s` is false%s",
                                     tile_expr_text(f, f->wheres[i], arena), all);
    for (size_t i = 0; i < f->where_count; i++)
        if (c->false_at[i])
            text = tile_arena_format(arena, "%s%s`where %s` is false at %zu of %zu points", text,
                                     *text ? ", " : "", tile_expr_text(f, f->wheres[i], arena),
                                     c->false_at[i], c->points);
    return text;
}

tile_status tile_refuse_sizes(const tile_kernel *kernel, const tile_argument *arguments) {
    tile_arena arena = {0};
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    const tile_binding *given = kernel->bindings;
    unsigned count = 0;
    tile_binding *params = TILE_NEW_ARRAY(&arena, tile_binding, kernel->binding_count + 1u);
    for (unsigned i = 0; i < kernel->binding_count; i++)
        if (tile_function_find_param(f, given[i].name, strlen(given[i].name)))
            params[count++] = given[i];
    const census c = take_census(f, params, count, arguments, &arena);
    tile_report(tile_function_context(f), TILE_ERROR, f->loc,
                "@%s has no point for %s: %s%s%s; add a point to 'tune' at which it is true%s",
                f->name, tile_sizes_text(f, NULL, c.sizes, &arena), clauses_text(&c, &arena),
                count ? " with " : "", bindings_text(params, count, &arena),
                count ? ", or give other parameters" : "");
    tile_arena_reset(&arena);
    return TILE_INVALID;
}

tile_status tile_refuse_point(const tile_kernel *kernel, const kernel_point *point,
                              const tile_argument *arguments) {
    tile_arena arena = {0};
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    unsigned count = (unsigned)f->param_count;
    const census c = take_census(f, point->params, count, arguments, &arena);
    const char *params = count ? bindings_text(point->params, count, &arena) : f->point;
    const char *fix = kernel->has_open_tune ? "set another point for these sizes"
                      : count               ? "give other parameters"
                      : f->point
                          ? "give other parameters, or add the condition as a `where` to the plan"
                          : "launch it with other sizes";
    tile_report(tile_function_context(f), TILE_ERROR, f->loc, "@%s: %s for %s%s%s; %s", f->name,
                clauses_text(&c, &arena), tile_sizes_text(f, NULL, c.sizes, &arena),
                params ? " with " : "", params ? params : "", fix);
    tile_arena_reset(&arena);
    return TILE_INVALID;
}
