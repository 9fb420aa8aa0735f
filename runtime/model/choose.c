#include "runtime/model/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/context.h"
#include "runtime/model/plan_model.h"
#include "runtime/model/space.h"

typedef struct choice {
    double estimate; /* INFINITY: excluded */
    size_t order;
    tile_bound_param *params;
} choice;

typedef struct choices {
    const tile_function *f;
    const tile_binding *given;
    unsigned given_count;
    tune_model *model;     /* of a kernel */
    tune_plan_model *plan; /* of a plan */
    tile_arena *arena;
    choice *list;
    size_t count, capacity;
    tile_rank_visit visit; /* NULL: one point is chosen */
    void *user;
} choices;

static bool add_choice(const tile_bound_params *point, void *user) {
    choices *c = user;
    const char *why;
    double estimate = c->plan ? tune_plan_estimate(c->plan, point, &why)
                              : tune_model_estimate(c->model, point, NULL, &why);
    if (why) return true;
    c->list = tile_arena_grow(c->arena, c->list, c->count, &c->capacity, sizeof *c->list);
    c->list[c->count] =
        (choice){estimate, c->count, point->params}; /* params: of the visit's arena */
    c->count++;
    return c->count <= TUNE_MAX_POINTS;
}

/* Among equal estimates, the first in the order of the space. */
static choice *find_fastest(const choices *c) {
    choice *best = NULL;
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].estimate < (best ? best->estimate : INFINITY)) best = &c->list[i];
    return best;
}

/* The fastest point that can be instantiated, which the model does not check. */
static const tile_binding *take_fastest(const choices *c, const tile_device *device,
                                        const tile_module *module, tile_arena *arena,
                                        unsigned *count) {
    choice *best;
    while ((best = find_fastest(c))) {
        const tile_bound_params point = {c->f, best->params, NULL};
        const tile_binding *bindings =
            tune_name_point(&point, c->given, c->given_count, arena, count);
        if (tune_is_legal(device, module, c->f->name, bindings, *count)) return bindings;
        best->estimate = INFINITY;
    }
    return NULL;
}

/* By estimate, then in the order of the space. */
static int by_estimate(const void *a, const void *b) {
    const choice *x = a, *y = b;
    if (x->estimate != y->estimate) return x->estimate < y->estimate ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Calls visit for each point, the fastest first. */
static void visit_ranked(choices *c) {
    qsort(c->list, c->count, sizeof *c->list, by_estimate);
    for (size_t i = 0; i < c->count; i++) {
        const tile_bound_params point = {c->f, c->list[i].params, NULL};
        unsigned count;
        const tile_binding *bindings =
            tune_name_point(&point, c->given, c->given_count, c->arena, &count);
        if (!c->visit(bindings, count, c->list[i].estimate, c->user)) return;
    }
}

/* The fastest of the points that agree with the given bindings; NULL if they are only ranked. */
static const tile_binding *choose(choices *c, const tile_device *device, const tile_module *module,
                                  const int64_t *sizes, tile_arena *arena, unsigned *count) {
    tile_arena scratch = {0};
    const tile_binding *found = NULL;
    const tile_pass_option *given = tune_make_options(c->given, c->given_count, &scratch);
    c->arena = &scratch;
    if (c->f->kind == TILE_PLAN)
        c->plan = tune_plan_model_create(device, c->f, sizes, &scratch);
    else
        c->model = tune_model_create(device, c->f, sizes, &scratch);
    if (tile_visit_points(c->f, given, c->given_count, sizes, &scratch, add_choice, c) &&
        c->count <= TUNE_MAX_POINTS) {
        if (c->visit)
            visit_ranked(c);
        else
            found = take_fastest(c, device, module, arena, count);
    }
    tile_arena_reset(&scratch);
    return found;
}

/* Plans --------------------------------------------------------------------------------------- */

/* Parameters for different kernels do not change each other's time: each such group is chosen by
 * itself, with the others at a point that agrees with all conditions. */
typedef struct groups {
    const tile_function *f;
    size_t *of; /* by parameter: the first one of its group */
} groups;

static bool same_clause(const tile_function *f, const char *a, const char *b) {
    for (size_t t = 0; t < f->tune_count; t++) {
        bool has_a = false, has_b = false;
        for (unsigned n = 0; n < f->tunes[t].name_count; n++) {
            has_a |= strcmp(f->tunes[t].names[n], a) == 0;
            has_b |= strcmp(f->tunes[t].names[n], b) == 0;
        }
        if (has_a && has_b) return true;
    }
    return false;
}

static void find_groups(groups *g, tile_arena *arena) {
    const tile_function *f = g->f;
    g->of = TILE_NEW_ARRAY(arena, size_t, f->param_count + 1);
    for (size_t i = 0; i < f->param_count; i++) {
        g->of[i] = i;
        for (size_t k = 0; k < i; k++) {
            const char *a = f->params[k].name, *b = f->params[i].name;
            size_t from = g->of[i], to = g->of[k];
            if (from == to || !(same_clause(f, a, b) || tune_plan_joins(f, a, b))) continue;
            for (size_t p = 0; p <= i; p++)
                if (g->of[p] == from) g->of[p] = to;
        }
    }
}

static bool keep_first(const tile_bound_params *point, void *user) {
    *(tile_bound_param **)user = point->params;
    return false;
}

static size_t index_of(const tile_function *f, const char *name) {
    size_t i = 0;
    while (i < f->param_count && strcmp(f->params[i].name, name) != 0) i++;
    return i;
}

/* The given bindings, and those of the point for the tuned parameters of other groups. */
static void pin_others(choices *c, const choices *all, const groups *g, size_t group,
                       const tile_binding *point, unsigned count, tile_arena *arena) {
    tile_binding *given = TILE_NEW_ARRAY(arena, tile_binding, all->given_count + count + 1u);
    *c = (choices){.f = all->f, .given = given};
    for (unsigned i = 0; i < count; i++) {
        bool own =
            tile_is_tuned(all->f, point[i].name) && g->of[index_of(all->f, point[i].name)] == group;
        for (unsigned k = 0; k < all->given_count && own; k++)
            own = strcmp(all->given[k].name, point[i].name) != 0;
        if (!own) given[c->given_count++] = point[i];
    }
}

static const tile_binding *choose_plan(const choices *all, const tile_device *device,
                                       const tile_module *module, const int64_t *sizes,
                                       tile_arena *arena, unsigned *count) {
    const tile_function *f = all->f;
    groups g = {.f = f};
    tile_bound_param *first = NULL;
    const tile_pass_option *given = tune_make_options(all->given, all->given_count, arena);
    tile_visit_points(f, given, all->given_count, sizes, arena, keep_first, &first);
    if (!first) return NULL;
    const tile_bound_params point = {f, first, NULL};
    const tile_binding *found = tune_name_point(&point, all->given, all->given_count, arena, count);
    find_groups(&g, arena);
    for (size_t i = 0; i < f->param_count && found; i++) {
        choices c;
        if (g.of[i] != i) continue;
        pin_others(&c, all, &g, i, found, *count, arena);
        if (c.given_count < *count) found = choose(&c, device, module, sizes, arena, count);
    }
    return found;
}

const tile_binding *tune_choose_point(const tile_device *device, const tile_module *module,
                                      const char *name, const tile_binding *given,
                                      unsigned given_count, const int64_t *sizes, tile_arena *arena,
                                      unsigned *count) {
    choices c = {.f = tile_module_find(module, name), .given = given, .given_count = given_count};
    tile_context *context = tile_module_context(module);
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    const tile_binding *found = c.f->kind == TILE_PLAN
                                    ? choose_plan(&c, device, module, sizes, arena, count)
                                    : choose(&c, device, module, sizes, arena, count);
    tile_context_restore(&diversion);
    return found;
}

void tune_rank_points(const tile_device *device, const tile_module *module, const char *name,
                      const tile_binding *given, unsigned given_count, const int64_t *sizes,
                      tile_rank_visit visit, void *user) {
    choices c = {.f = tile_module_find(module, name),
                 .given = given,
                 .given_count = given_count,
                 .visit = visit,
                 .user = user};
    unsigned count;
    const tile_diversion diversion = tile_context_divert(tile_module_context(module), NULL, NULL);
    choose(&c, device, module, sizes, NULL, &count);
    tile_context_restore(&diversion);
}
