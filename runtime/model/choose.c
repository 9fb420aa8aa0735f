#include "runtime/model/choose.h"

#include <math.h>

#include "lib/support/context.h"
#include "runtime/model/model.h"
#include "runtime/model/space.h"

typedef struct choice {
    double estimate; /* INFINITY: excluded */
    tile_bound_param *params;
} choice;

typedef struct choices {
    const tile_function *f;
    const tile_binding *given;
    unsigned given_count;
    tune_model *model;
    tile_arena *arena;
    choice *list;
    size_t count, capacity;
} choices;

static bool add_choice(const tile_bound_params *point, void *user) {
    choices *c = user;
    const char *why;
    double estimate = tune_model_estimate(c->model, point, NULL, &why);
    if (why) return true;
    c->list = tile_arena_grow(c->arena, c->list, c->count, &c->capacity, sizeof *c->list);
    c->list[c->count++] = (choice){estimate, point->params}; /* params live in the visit's arena */
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

static const tile_binding *choose_kernel(choices *c, const tile_device *device,
                                         const tile_module *module, const int64_t *sizes,
                                         tile_arena *arena, unsigned *count) {
    tile_arena scratch = {0};
    const tile_binding *found = NULL;
    const tile_pass_option *given = tune_make_options(c->given, c->given_count, &scratch);
    c->arena = &scratch;
    c->model = tune_model_create(device, c->f, sizes, &scratch);
    if (tile_visit_points(c->f, given, c->given_count, sizes, &scratch, add_choice, c) &&
        c->count <= TUNE_MAX_POINTS)
        found = take_fastest(c, device, module, arena, count);
    tile_arena_reset(&scratch);
    return found;
}

/* The work of a plan is only known after its instantiation. */
static const tile_binding *choose_plan(const choices *c, const tile_device *device,
                                       const tile_module *module, const int64_t *sizes,
                                       tile_arena *arena, unsigned *count) {
    tune_point *points;
    size_t point_count;
    const tune_point *best = NULL;
    if (!tune_list_points(c->f, c->given, c->given_count, sizes, arena, &points, &point_count))
        return NULL;
    tune_estimate_points(device, module, c->f->name, sizes, NULL, points, point_count);
    for (size_t i = 0; i < point_count; i++) {
        if (points[i].c.state != TILE_CANDIDATE_dropped &&
            (!best || points[i].c.estimate < best->c.estimate))
            best = &points[i];
        tile_arena_reset(&points[i].arena);
    }
    if (!best) return NULL;
    *count = best->c.binding_count;
    return best->c.bindings;
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
                                    : choose_kernel(&c, device, module, sizes, arena, count);
    tile_context_restore(&diversion);
    return found;
}
