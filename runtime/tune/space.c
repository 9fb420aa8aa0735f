#include "runtime/tune/space.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "passes/common/bind_params.h"

/* Points --------------------------------------------------------------------------------------- */

typedef struct list {
    tile_arena *arena;
    const tile_binding *given;
    unsigned given_count;
    tune_point *points;
    size_t count, capacity;
} list;

static bool is_given(const list *l, const char *name) {
    for (unsigned i = 0; i < l->given_count; i++)
        if (strcmp(l->given[i].name, name) == 0) return true;
    return false;
}

static bool add_point(const tile_bound_params *point, void *user) {
    list *l = user;
    const tile_function *f = point->f;
    tile_binding *bindings = TILE_NEW_ARRAY(l->arena, tile_binding, f->param_count + 1);
    unsigned count = 0;
    const char *text = "";
    for (size_t i = 0; i < f->param_count; i++) {
        const char *name = f->params[i].name;
        if (!tile_is_tuned(f, name) && !is_given(l, name)) continue;
        bindings[count] = (tile_binding){tile_arena_string(l->arena, name, strlen(name)),
                                         tile_bound_value(point, i, l->arena)};
        text = tile_arena_format(l->arena, "%s%s%s=%s", text, count ? " " : "", name,
                                 bindings[count].value);
        count++;
    }
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->points[i].c.text, text) == 0) return true; /* the space names it twice */
    l->points = tile_arena_grow(l->arena, l->points, l->count, &l->capacity, sizeof *l->points);
    l->points[l->count] =
        (tune_point){.c = {.bindings = bindings, .binding_count = count, .text = text, .why = ""},
                     .order = l->count};
    return ++l->count <= TUNE_MOST_POINTS;
}

static bool fail(const tile_function *f, const char *why) {
    tile_report(tile_function_context(f), TILE_ERROR, f->loc, "@%s %s", f->name, why);
    return false;
}

bool tune_list_points(const tile_function *f, const tile_binding *bindings, unsigned count,
                      tile_arena *arena, tune_point **points, size_t *point_count) {
    list l = {.arena = arena, .given = bindings, .given_count = count};
    tile_pass_option *options = TILE_NEW_ARRAY(arena, tile_pass_option, count + 1u);
    for (unsigned i = 0; i < count; i++)
        options[i] = (tile_pass_option){bindings[i].name, bindings[i].value};
    for (unsigned i = 0; i < count; i++)
        if (!tile_function_find_param(f, bindings[i].name, strlen(bindings[i].name)))
            return fail(f, tile_arena_format(arena, "has no parameter '%s'", bindings[i].name));
    if (!f->tune_count) return fail(f, "has no 'tune': there is nothing to choose");
    if (!tile_visit_points(f, options, count, arena, add_point, &l)) return false;
    if (!l.count)
        return fail(f, "has no point: none of 'tune' agrees with 'where' and what is given");
    if (l.count > TUNE_MOST_POINTS) return fail(f, "has more than 65536 points");
    *points = l.points;
    *point_count = l.count;
    return true;
}

/* Shapes --------------------------------------------------------------------------------------- */

static bool mentions(const tile_expr *expr, unsigned arg) {
    if (!expr) return false;
    if (expr->kind == TILE_EXPR_ARG && expr->integer == (int64_t)arg) return true;
    for (unsigned i = 0; i < 3; i++)
        if (mentions(expr->args[i], arg)) return true;
    return false;
}

/* Whether the argument is a size: something has as many elements, or blocks, as it says. */
static bool is_size(const tile_function *f, unsigned arg) {
    const tile_arg_decl *a = &f->args[arg];
    if (a->type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(a->type->scalar)) return false;
    for (unsigned i = 0; i < f->grid_rank; i++)
        if (mentions(f->grid[i], arg)) return true;
    for (size_t v = 0; v < f->arg_count; v++)
        for (unsigned d = 0; d < TILE_MAX_RANK && f->args[v].type->kind == TILE_TYPE_VIEW; d++)
            if (mentions(f->args[v].extents[d], arg)) return true;
    for (size_t i = 0; i < f->reference_count; i++)
        if (mentions(f->reference_values[i].expr, arg)) return true;
    const tile_function *compute = f->reference ? tile_module_find(f->module, f->reference) : NULL;
    return compute && tile_function_find_param(compute, a->name, strlen(a->name));
}

enum { VARIANT_DIVISOR = 16 /* no condition of a variant asks an integer for more */ };

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* An odd multiple of what the variants see of it, so that tiles are cut off at the edges. */
static int64_t shrink(int64_t value, int64_t limit, unsigned declared) {
    int64_t most = declared > VARIANT_DIVISOR ? declared : VARIANT_DIVISOR;
    int64_t step = gcd(value, most);
    int64_t times = limit / step;
    if (value <= limit) return value;
    if (times % 2 == 0) times--;
    return times > 0 ? times * step : step;
}

/* What the check may cost: the product of all sizes stands for the work of a computation. */
static const double most_work = 3e7;

void tune_choose_small(const tile_function *f, const tile_tune_argument *arguments, int64_t limit,
                       int64_t *small) {
    enum { LEAST = 16 };
    for (double work = 2 * most_work; work > most_work && limit >= LEAST; limit /= 2) {
        work = 1;
        for (unsigned i = 0; i < f->arg_count; i++) {
            small[i] = arguments[i].integer;
            if (f->args[i].is_const || !is_size(f, i)) continue;
            small[i] = shrink(arguments[i].integer, limit, f->args[i].divisible);
            if (small[i] > 1) work *= (double)small[i];
        }
    }
}

const char *tune_shape_name(const tile_function *f, const tile_tune_argument *arguments,
                            tile_arena *arena) {
    const char *text = "";
    int64_t divisor = VARIANT_DIVISOR;
    for (unsigned i = 0; i < f->arg_count; i++) {
        const tile_type *type = f->args[i].type;
        if (type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(type->scalar)) continue;
        int64_t value = arguments[i].integer;
        text = tile_arena_format(arena, "%s%s%" PRId64, text, *text ? "-" : "", value);
        divisor = gcd(divisor, value < 0 ? -value : value);
    }
    return *text ? tile_arena_format(arena, "%s-d%" PRId64, text, divisor) : text;
}
