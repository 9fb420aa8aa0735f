#include "runtime/tune/phases.h"

#include <string.h>

#include "lib/support/context.h"
#include "runtime/model/choose.h"
#include "runtime/model/groups.h"

static bool is_given(const tune_phases *p, const char *name) {
    for (unsigned i = 0; i < p->given_count; i++)
        if (strcmp(p->given[i].name, name) == 0) return true;
    return false;
}

/* Returns whether the parameter has points of its own to choose from. */
static bool is_open(const tune_phases *p, size_t param) {
    const char *name = p->plan->params[param].name;
    return tile_is_tuned(p->plan, name) && !is_given(p, name);
}

/* Returns whether it is the first such parameter of its group. */
static bool begins_phase(const tune_phases *p, size_t param) {
    bool first = is_open(p, param);
    for (size_t i = 0; i < param; i++) first &= !is_open(p, i) || p->groups[i] != p->groups[param];
    return first;
}

static unsigned count_phases(const tune_phases *p) {
    unsigned count = 0;
    for (size_t i = 0; i < p->plan->param_count; i++) count += begins_phase(p, i);
    return count;
}

/* A point ------------------------------------------------------------------------------------- */

typedef struct search {
    const int64_t *sizes;
    const tile_bound_param *found;
} search;

/* Each `where` must be true for the bucket's sizes and for the exact ones. */
static bool find_allowed(const tile_bound_params *point, void *user) {
    search *s = user;
    const tile_bound_params exact = {point->f, point->params, s->sizes};
    bool allowed = true;
    for (size_t i = 0; i < point->f->where_count && allowed; i++)
        allowed = tile_where_holds(point, i) && tile_where_holds(&exact, i);
    if (allowed) s->found = point->params;
    return !allowed;
}

/* The first point that agrees with the bindings; NULL if there is none. */
static const tile_candidate *find_point(const tune_phases *p, const tile_binding *bindings,
                                        unsigned count, const int64_t *sizes, tile_arena *arena) {
    search s = {.sizes = sizes};
    const tile_pass_option *options = tune_make_options(bindings, count, arena);
    tile_visit_points(p->plan, options, count, sizes, arena, find_allowed, &s);
    if (!s.found) return NULL;
    tile_candidate *c = TILE_NEW(arena, tile_candidate);
    const tile_bound_params point = {p->plan, (tile_bound_param *)(uintptr_t)s.found, sizes};
    c->bindings = tune_name_point(&point, p->given, p->given_count, arena, &c->binding_count);
    return c;
}

/* The point that the cost model chooses, or else the first one. */
static const tile_candidate *choose_start(const tune_phases *p, const tile_device *device,
                                          const tile_module *module, const int64_t *sizes,
                                          tile_arena *arena) {
    unsigned count = 0;
    const tile_binding *chosen = tune_choose_point(device, module, p->plan->name, p->given,
                                                   p->given_count, sizes, arena, &count);
    const tile_candidate *start = chosen ? find_point(p, chosen, count, sizes, arena) : NULL;
    return start ? start : find_point(p, p->given, p->given_count, sizes, arena);
}

/* Phases -------------------------------------------------------------------------------------- */

void tune_phases_open(tune_phases *phases, const tile_device *device, const tile_module *module,
                      const tile_function *f, const tile_binding *given, unsigned given_count,
                      const int64_t *sizes, tile_arena *arena) {
    tune_phases p = {.plan = f, .given = given, .given_count = given_count};
    *phases = (tune_phases){.plan = NULL};
    if (f->kind != TILE_PLAN) return;
    p.groups = tune_group_params(f, true, arena);
    p.left = count_phases(&p);
    if (p.left < 2) return;
    const tile_diversion diversion = tile_context_divert(tile_module_context(module), NULL, NULL);
    p.start = choose_start(&p, device, module, sizes, arena);
    tile_context_restore(&diversion);
    if (p.start) *phases = p;
}

static size_t index_of(const tile_function *f, const char *name) {
    size_t i = 0;
    while (i < f->param_count && strcmp(f->params[i].name, name) != 0) i++;
    return i;
}

const tile_binding *tune_phases_next(tune_phases *phases, const tile_candidate *best,
                                     tile_arena *arena, unsigned *count) {
    const tile_function *f = phases->plan;
    const tile_candidate *at = best ? best : phases->start;
    size_t i = phases->next;
    while (f && i < f->param_count && !begins_phase(phases, i)) i++;
    if (!f || i == f->param_count) return NULL;
    phases->next = i + 1;
    phases->left--;
    tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, at->binding_count + 1u);
    *count = 0;
    for (unsigned b = 0; b < at->binding_count; b++) {
        size_t param = index_of(f, at->bindings[b].name);
        if (!is_open(phases, param) || phases->groups[param] != phases->groups[i])
            bindings[(*count)++] = at->bindings[b];
    }
    return bindings;
}
