#include "runtime/model/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/context.h"
#include "passes/passes.h"
#include "runtime/model/groups.h"
#include "runtime/model/plan_launch.h"
#include "runtime/model/plan_model.h"
#include "runtime/model/packed.h"
#include "runtime/model/space.h"
#include "tile/pack.h"

/* Which function the points are of. */
typedef struct source {
    const tile_function *f;
    const char *packing; /* of its arguments, which takes `copies` seconds; NULL: none */
    double copies;
} source;

typedef struct choice {
    double estimate; /* INFINITY: excluded */
    size_t order;
    tile_bound_param *params;
    const source *from;
} choice;

typedef struct choices {
    const tile_function *f;
    const tile_binding *given;
    unsigned given_count;
    tune_model *model;     /* of a kernel */
    tune_plan_model *plan; /* of a plan */
    const char *packing;   /* of a plan's kernels; NULL: none */
    const int64_t *sizes;  /* exact */
    unsigned num_sms;
    tile_arena *arena;
    source from;
    bool fits; /* passes check that the target can run the chosen point */
    choice *list;
    size_t count, capacity;
} choices;

static bool add_choice(const tile_bound_params *point, void *user) {
    choices *c = user;
    const char *why;
    const tile_bound_params exact = {point->f, point->params, c->sizes};
    if (c->plan && !tune_plan_allows(&exact, c->num_sms, c->arena, &why)) return true;
    double estimate = c->plan ? tune_plan_estimate(c->plan, point, &why)
                              : tune_model_estimate(c->model, point, NULL, &why);
    if (why) return true;
    c->list = tile_arena_grow(c->arena, c->list, c->count, &c->capacity, sizeof *c->list);
    c->list[c->count] = (choice){c->from.copies + estimate, c->count,
                                 point->params /* of the visit's arena */, &c->from};
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

/* Returns whether the target can run the kernel there: runs passes, as far as they show that it
 * cannot. */
static bool fits_target(const tile_device *device, const tile_function *f,
                        const tile_binding *bindings, unsigned count) {
    tile_arena arena = {0};
    const tile_pass_option *options = tune_make_options(bindings, count, &arena);
    const bool fits = !tile_point_fault(f, options, count, device->target, &arena);
    tile_arena_reset(&arena);
    return fits;
}

/* The fastest point that can be instantiated, which the model does not check. *seconds: its
 * estimate. */
static const tile_binding *take_fastest(const choices *c, const tile_device *device,
                                        const tile_module *module, tile_arena *arena,
                                        unsigned *count, double *seconds) {
    choice *best;
    while ((best = find_fastest(c))) {
        const tile_bound_params point = {c->f, best->params, NULL};
        const tile_binding *bindings =
            tune_name_point(&point, c->given, c->given_count, arena, count);
        *seconds = best->estimate;
        if (tune_is_legal(device, module, c->f->name, bindings, *count) &&
            (!c->fits ||
             fits_target(device, tile_module_find(module, c->f->name), bindings, *count)))
            return bindings;
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

/* Lists the points of c->f that agree with the given bindings. False if there are too many. */
static bool list_choices(choices *c, const tile_device *device, const int64_t *sizes,
                         tile_arena *scratch) {
    const tile_pass_option *given = tune_make_options(c->given, c->given_count, scratch);
    c->arena = scratch;
    c->sizes = sizes;
    c->num_sms = device->num_sms;
    if (!c->from.f) c->from.f = c->f;
    if (c->f->kind == TILE_PLAN)
        c->plan = tune_plan_model_create(device, c->f, sizes, c->packing, scratch);
    else
        c->model = tune_model_create(device, c->f, sizes, scratch);
    if (c->model) tune_model_omit_reasons(c->model);
    return tile_visit_points(c->f, given, c->given_count, sizes, scratch, add_choice, c) &&
           c->count <= TUNE_MAX_POINTS;
}

/* The fastest of the points that agree with the given bindings. */
static const tile_binding *choose(choices *c, const tile_device *device, const tile_module *module,
                                  const int64_t *sizes, tile_arena *arena, unsigned *count,
                                  double *seconds) {
    tile_arena scratch = {0};
    const tile_binding *found = NULL;
    if (list_choices(c, device, sizes, &scratch))
        found = take_fastest(c, device, module, arena, count, seconds);
    if (c->plan) tune_plan_model_close(c->plan);
    tile_arena_reset(&scratch);
    return found;
}

/* Plans --------------------------------------------------------------------------------------- */

/* Parameters for different kernels do not change each other's time: each such group is chosen by
 * itself, with the others at a point that agrees with all conditions. */
typedef struct groups {
    const tile_function *f;
    const size_t *of; /* by parameter: the first one of its group */
} groups;

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
    *c = (choices){.f = all->f, .given = given, .fits = all->fits};
    for (unsigned i = 0; i < count; i++) {
        bool own =
            tile_is_tuned(all->f, point[i].name) && g->of[index_of(all->f, point[i].name)] == group;
        for (unsigned k = 0; k < all->given_count && own; k++)
            own = strcmp(all->given[k].name, point[i].name) != 0;
        if (!own) given[c->given_count++] = point[i];
    }
}

static const tile_binding *choose_groups(const choices *all, const tile_device *device,
                                         const tile_module *module, const int64_t *sizes,
                                         tile_arena *arena, unsigned *count, double *seconds) {
    const tile_function *f = all->f;
    const groups g = {.f = f, .of = tune_group_params(f, false, arena)};
    tile_bound_param *first = NULL;
    const tile_pass_option *given = tune_make_options(all->given, all->given_count, arena);
    tile_visit_points(f, given, all->given_count, sizes, arena, keep_first, &first);
    if (!first) return NULL;
    const tile_bound_params point = {f, first, NULL};
    const tile_binding *found = tune_name_point(&point, all->given, all->given_count, arena, count);
    for (size_t i = 0; i < f->param_count && found; i++) {
        choices c;
        if (g.of[i] != i) continue;
        pin_others(&c, all, &g, i, found, *count, arena);
        c.packing = all->packing;
        if (c.given_count < *count)
            found = choose(&c, device, module, sizes, arena, count, seconds);
    }
    return found;
}

/* Packed arguments ---------------------------------------------------------------------------- */

static const tile_binding *add_packing(const tile_binding *bindings, const char *arguments,
                                       tile_arena *arena, unsigned *count) {
    tile_binding *all = TILE_NEW_ARRAY(arena, tile_binding, *count + 1u);
    for (unsigned i = 0; i < *count; i++) all[i] = bindings[i];
    all[(*count)++] =
        (tile_binding){TILE_PACK_ARGUMENTS, tile_arena_string(arena, arguments, strlen(arguments))};
    return all;
}

/* The fastest point of the kernel with these arguments packed, if it takes less than *seconds,
 * which it then replaces; else NULL. */
static const tile_binding *choose_packed(const choices *whole, const tile_device *device,
                                         const tile_module *module, const int64_t *sizes,
                                         const char *arguments, tile_arena *arena, unsigned *count,
                                         double *seconds) {
    tile_arena scratch = {0};
    const tile_binding *found = NULL;
    const tile_pass_option *given = tune_make_options(whole->given, whole->given_count, &scratch);
    unsigned own_count;
    tune_packed packed;
    if (tune_pack(device, module, whole->f->name, arguments, sizes, given, whole->given_count,
                  &scratch, &packed) &&
        packed.copies < *seconds) {
        choices c = {.f = packed.reader,
                     .given = whole->given,
                     .given_count = whole->given_count,
                     .fits = whole->fits};
        double least = INFINITY;
        found = choose(&c, device, packed.module, packed.sizes, arena, &own_count, &least);
        if (packed.copies + least >= *seconds) found = NULL;
        if (found) *seconds = packed.copies + least;
    }
    tile_module_destroy(packed.module);
    tile_arena_reset(&scratch);
    if (!found) return NULL;
    *count = own_count;
    return add_packing(found, arguments, arena, count);
}

/* The given bindings without the packing. */
static choices without_packing(const choices *c, tile_arena *arena) {
    tile_binding *given = TILE_NEW_ARRAY(arena, tile_binding, c->given_count + 1u);
    choices own = {.f = c->f, .given = given, .fits = c->fits};
    for (unsigned i = 0; i < c->given_count; i++)
        if (strcmp(c->given[i].name, TILE_PACK_ARGUMENTS) != 0)
            given[own.given_count++] = c->given[i];
    return own;
}

/* The point of a kernel whose packed arguments are given. The kernel that reads the copies has it.
 */
static const tile_binding *choose_as_packed(const choices *c, const tile_device *device,
                                            const tile_module *module, const int64_t *sizes,
                                            const char *arguments, tile_arena *arena,
                                            unsigned *count) {
    tile_arena scratch = {0};
    double seconds = INFINITY;
    const choices own = without_packing(c, &scratch);
    const tile_binding *found =
        choose_packed(&own, device, module, sizes, arguments, arena, count, &seconds);
    tile_arena_reset(&scratch);
    return found;
}

/* The packings of a plan's kernels that the sizes suggest at a point of it. */
static unsigned list_packings(const choices *c, const tile_device *device,
                              const tile_binding *point, unsigned count, const int64_t *sizes,
                              tile_arena *arena, const char *packings[TUNE_MAX_PLAN_PACKINGS]) {
    tile_bound_params bound;
    const tile_pass_option *options = tune_make_options(point, count, arena);
    if (!tile_bind_params(c->f, options, count, arena, &bound)) return 0;
    bound.sizes = sizes;
    return tune_find_plan_packings(device, &bound, sizes, arena, packings);
}

/* The point of a plan, with arguments of its kernels packed if that pays. Packings of a kernel that
 * are found to pay stay while those of the next one are tried. */
static const tile_binding *choose_plan(const choices *all, const tile_device *device,
                                       const tile_module *module, const int64_t *sizes,
                                       tile_arena *arena, unsigned *count) {
    tile_arena scratch = {0};
    double seconds = INFINITY;
    const char *asked = tune_packing_of(all->given, all->given_count),
               *packings[TUNE_MAX_PLAN_PACKINGS], *packing = asked;
    choices c = without_packing(all, &scratch);
    c.packing = asked;
    const tile_binding *best = choose_groups(&c, device, module, sizes, arena, count, &seconds);
    unsigned found = best && !asked && seconds < INFINITY
                         ? list_packings(&c, device, best, *count, sizes, &scratch, packings)
                         : 0;
    for (unsigned i = 0; i < found; i++) {
        double least = INFINITY;
        unsigned own_count;
        c.packing =
            packing ? tile_arena_format(&scratch, "%s+%s", packing, packings[i]) : packings[i];
        const tile_binding *own =
            choose_groups(&c, device, module, sizes, arena, &own_count, &least);
        if (!own || least >= seconds) continue;
        best = own;
        *count = own_count;
        seconds = least;
        packing = c.packing;
    }
    if (best && packing) best = add_packing(best, packing, arena, count);
    tile_arena_reset(&scratch);
    return best;
}

/* The point of a kernel, with arguments packed if that pays. */
static const tile_binding *choose_kernel(choices *c, const tile_device *device,
                                         const tile_module *module, const int64_t *sizes,
                                         tile_arena *arena, unsigned *count) {
    const char *asked = tune_packing_of(c->given, c->given_count);
    if (asked) return choose_as_packed(c, device, module, sizes, asked, arena, count);
    tile_arena scratch = {0};
    double seconds = INFINITY;
    const char *packings[TUNE_MAX_PACKINGS];
    const tile_binding *best = choose(c, device, module, sizes, arena, count, &seconds);
    if (!best) return NULL;
    unsigned packing_count =
        tune_find_packings(device, c->f, best, *count, sizes, &scratch, packings);
    for (unsigned i = 0; i < packing_count; i++) {
        const tile_binding *found =
            choose_packed(c, device, module, sizes, packings[i], arena, count, &seconds);
        if (found) best = found;
    }
    tile_arena_reset(&scratch);
    return best;
}

static const tile_binding *choose_point(choices *c, const tile_device *device,
                                        const tile_module *module, const int64_t *sizes,
                                        tile_arena *arena, unsigned *count) {
    tile_context *context = tile_module_context(module);
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    const tile_binding *found = c->f->kind == TILE_PLAN
                                    ? choose_plan(c, device, module, sizes, arena, count)
                                    : choose_kernel(c, device, module, sizes, arena, count);
    tile_context_restore(&diversion);
    return found;
}

const tile_binding *tune_choose_point(const tile_device *device, const tile_module *module,
                                      const char *name, const tile_binding *given,
                                      unsigned given_count, const int64_t *sizes, tile_arena *arena,
                                      unsigned *count) {
    choices c = {.f = tile_module_find(module, name), .given = given, .given_count = given_count};
    return choose_point(&c, device, module, sizes, arena, count);
}

const tile_binding *tune_choose_fitting_point(const tile_device *device, const tile_module *module,
                                              const char *name, const tile_binding *given,
                                              unsigned given_count, const int64_t *sizes,
                                              tile_arena *arena, unsigned *count) {
    choices c = {.f = tile_module_find(module, name),
                 .given = given,
                 .given_count = given_count,
                 .fits = true};
    return choose_point(&c, device, module, sizes, arena, count);
}

/* Ranking -------------------------------------------------------------------------------------- */

/* All points of a kernel or plan: without packing, and with each one that the sizes suggest. */
typedef struct ranking {
    choices of[1 + TUNE_MAX_PACKINGS];
    tune_packed packed[1 + TUNE_MAX_PACKINGS];
    unsigned count;
} ranking;

/* Adds the points with these arguments packed, if the given parameters allow it. */
static void list_packed(ranking *r, const choices *whole, const tile_device *device,
                        const tile_module *module, const int64_t *sizes, const char *arguments,
                        tile_arena *arena) {
    tune_packed *packed = &r->packed[r->count];
    choices *c = &r->of[r->count];
    const tile_pass_option *given = tune_make_options(whole->given, whole->given_count, arena);
    bool ok = tune_pack(device, module, whole->f->name, arguments, sizes, given, whole->given_count,
                        arena, packed);
    *c = (choices){.f = packed->reader,
                   .given = whole->given,
                   .given_count = whole->given_count,
                   .from = {packed->reader, arguments, packed->copies}};
    if (ok && packed->copies < INFINITY && list_choices(c, device, packed->sizes, arena))
        r->count++;
    else
        tile_module_destroy(packed->module);
}

static void list_all(ranking *r, const choices *whole, const tile_device *device,
                     const tile_module *module, const int64_t *sizes, tile_arena *arena) {
    const char *asked = tune_packing_of(whole->given, whole->given_count);
    const choices own = without_packing(whole, arena);
    const char *packings[TUNE_MAX_PACKINGS] = {asked};
    unsigned found = asked != NULL;
    if (!asked) {
        choices *c = &r->of[r->count++];
        *c = own;
        if (!list_choices(c, device, sizes, arena) || !c->count) return;
        const tile_bound_params first = {c->f, c->list[0].params, NULL};
        unsigned count;
        const tile_binding *point =
            tune_name_point(&first, own.given, own.given_count, arena, &count);
        found = tune_find_packings(device, c->f, point, count, sizes, arena, packings);
    }
    for (unsigned i = 0; i < found; i++)
        list_packed(r, &own, device, module, sizes, packings[i], arena);
}

/* Calls visit for each point, the fastest first. */
static void visit_ranked(const ranking *r, tile_rank_visit visit, void *user, tile_arena *arena) {
    size_t total = 0;
    for (unsigned i = 0; i < r->count; i++) total += r->of[i].count;
    choice *all = TILE_NEW_ARRAY(arena, choice, total + 1);
    total = 0;
    for (unsigned i = 0; i < r->count; i++)
        for (size_t k = 0; k < r->of[i].count; k++, total++) {
            all[total] = r->of[i].list[k];
            all[total].order = total;
        }
    qsort(all, total, sizeof *all, by_estimate);
    tune_namer *namers[1 + TUNE_MAX_PACKINGS];
    for (unsigned i = 0; i < r->count; i++)
        namers[i] = tune_namer_create(r->of[i].from.f, r->of[0].given, r->of[0].given_count, arena);
    for (size_t i = 0; i < total; i++) {
        const source *from = all[i].from;
        const tile_bound_params point = {from->f, all[i].params, NULL};
        unsigned of = 0;
        while (from != &r->of[of].from) of++;
        tile_binding *named =
            TILE_NEW_ARRAY(arena, tile_binding, tune_namer_count(namers[of]) + 1u);
        unsigned count = tune_namer_name(namers[of], &point, named);
        const tile_binding *bindings = named;
        if (from->packing) bindings = add_packing(bindings, from->packing, arena, &count);
        if (!visit(bindings, count, all[i].estimate, user)) return;
    }
}

void tune_rank_points(const tile_device *device, const tile_module *module, const char *name,
                      const tile_binding *given, unsigned given_count, const int64_t *sizes,
                      tile_rank_visit visit, void *user) {
    tile_arena arena = {0};
    const choices whole = {
        .f = tile_module_find(module, name), .given = given, .given_count = given_count};
    ranking r = {.count = 0};
    const tile_diversion diversion = tile_context_divert(tile_module_context(module), NULL, NULL);
    list_all(&r, &whole, device, module, sizes, &arena);
    if (r.count) visit_ranked(&r, visit, user, &arena);
    for (unsigned i = 0; i < r.count; i++) tile_module_destroy(r.packed[i].module);
    tile_context_restore(&diversion);
    tile_arena_reset(&arena);
}
