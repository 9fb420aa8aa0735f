/* Visiting all points of a tuning space.
 *
 * The clauses are nested loops, of which the last one is the innermost. A space has about ten times
 * as many combinations as points, so the conditions between them take the time. They are formulas
 * (lib/ops/formula.h), and so is each part of them: a part is evaluated in the outermost loop in
 * which its parameters have values. What depends on one clause only is evaluated once for each of
 * its points. A `where` is checked as soon as it can be. */
#include <string.h>

#include "lib/ops/formula.h"
#include "lib/ir/syntax.h"
#include "lib/support/integer.h"
#include "passes/instantiate/bind_params.h"

/* A `tune` clause. Earlier ones may have bound some of its names, with which it must agree. */
typedef struct clause {
    const tile_tune_clause *text;
    size_t *params;           /* by name: the parameter */
    bool *binds;              /* by name: no earlier clause or name does, and no option */
    tile_bound_param *values; /* by point and name, if they do not depend on parameters; sizes are
                               * known, or have no values */
    bool *is_valid;           /* by point: its values exist and have the right kind */
    bool depends;             /* some value depends on parameters */
} clause;

typedef struct walk {
    tile_bound_params bound;
    tile_arena *arena;
    clause *clauses;
    tile_formulas wheres; /* a level is a number of clauses that are bound */
    bool all;             /* also visits points at which a `where` is false */
    bool has_defaults;    /* some parameters have values only after all clauses */
    tile_point_visit visit;
    void *user;
    bool ended;
} walk;

/* Preparation ---------------------------------------------------------------------------------- */

static size_t find_param(const tile_function *f, const char *name) {
    const tile_param_decl *param = tile_function_find_param(f, name, strlen(name));
    return param ? (size_t)(param - f->params) : f->param_count;
}

/* Returns whether the value is the same in the whole walk. */
static bool is_constant(const tile_expr *expr) {
    return !expr || !tile_expr_holds(expr, TILE_EXPR_PARAM);
}

/* Reads the values of a clause's points, as far as they are constants. */
static void read_values(walk *w, clause *c) {
    const tile_function *f = w->bound.f;
    const unsigned names = c->text->name_count;
    for (unsigned p = 0; p < c->text->point_count; p++) {
        bool valid = names <= 32;
        for (unsigned n = 0; n < names && valid; n++) {
            const tile_expr *value = c->text->values[p * names + n];
            if (c->params[n] == f->param_count)
                valid = false;
            else if (is_constant(value))
                valid = tile_evaluate_param(&w->bound, f->params[c->params[n]].kind, value,
                                            &c->values[p * names + n]);
            else
                c->depends = true;
        }
        c->is_valid[p] = valid;
    }
}

/* levels: by parameter: the number of clauses to bind before it has a value. */
static void read_clauses(walk *w, size_t *levels, bool *bound) {
    const tile_function *f = w->bound.f;
    w->clauses = TILE_NEW_ARRAY(w->arena, clause, f->tune_count + 1);
    for (size_t t = 0; t < f->tune_count; t++) {
        const tile_tune_clause *text = &f->tunes[t];
        const size_t names = text->name_count, points = text->point_count;
        clause *c = &w->clauses[t];
        *c = (clause){.text = text,
                      .params = TILE_NEW_ARRAY(w->arena, size_t, names + 1),
                      .binds = TILE_NEW_ARRAY(w->arena, bool, names + 1),
                      .values = TILE_NEW_ARRAY(w->arena, tile_bound_param, points * names + 1),
                      .is_valid = TILE_NEW_ARRAY(w->arena, bool, points + 1)};
        for (size_t n = 0; n < names; n++) {
            size_t param = c->params[n] = find_param(f, text->names[n]);
            if (param == f->param_count) continue;
            c->binds[n] = !bound[param];
            if (c->binds[n]) levels[param] = t + 1;
            bound[param] = true;
        }
        read_values(w, c);
    }
    for (size_t i = 0; i < f->param_count; i++)
        if (!bound[i]) levels[i] = f->tune_count + 1, w->has_defaults = true;
}

static void read_wheres(walk *w, const size_t *levels) {
    const tile_function *f = w->bound.f;
    tile_formulas_open(&w->wheres, f, levels, w->arena);
    for (size_t i = 0; i < f->where_count; i++)
        if (!tile_is_open_where(&w->bound, f->wheres[i]))
            tile_formulas_require(&w->wheres, f->wheres[i]);
    tile_formulas_sort(&w->wheres, f->tune_count + 2);
}

/* The walk ------------------------------------------------------------------------------------- */

/* Evaluates what this level adds. Returns whether its conditions hold. */
static bool wheres_hold(walk *w, const tile_bound_params *bound, size_t level) {
    const tile_formula_inputs inputs = {.params = bound->params, .sizes = bound->sizes};
    return w->all || tile_formulas_evaluate(&w->wheres, level, &inputs);
}

/* The same after the clause of the level has been bound to its point p. */
static bool wheres_hold_at(walk *w, const clause *c, unsigned p, size_t level) {
    if (c->depends) return wheres_hold(w, &w->bound, level);
    return w->all || tile_formulas_repeat(&w->wheres, level, p);
}

/* Defaults may depend on the point, so each point gets a copy of the bound values. */
static void visit_point(walk *w) {
    const tile_function *f = w->bound.f;
    const size_t count = f->param_count, size = sizeof *w->bound.params * count;
    if (!w->has_defaults && !wheres_hold(w, &w->bound, f->tune_count + 1)) return;
    const tile_bound_params point = {f, tile_arena_copy(w->arena, w->bound.params, size),
                                     w->bound.sizes};
    if (w->has_defaults) {
        tile_bound_params own = point;
        tile_bind_defaults(&own);
        for (size_t i = 0; i < count; i++)
            if (!point.params[i].bound) return;
        if (!wheres_hold(w, &point, f->tune_count + 1)) return;
    }
    w->ended = !w->visit(&point, w->user);
}

static void unbind(walk *w, const clause *c) {
    for (unsigned n = 0; n < c->text->name_count; n++)
        if (c->binds[n]) w->bound.params[c->params[n]].bound = false;
}

/* Binds the values of the point. Returns false if they contradict bound ones. */
static bool bind_point(walk *w, const clause *c, unsigned p) {
    const unsigned names = c->text->name_count;
    if (!c->is_valid[p]) return false;
    if (c->depends) unbind(w, c); /* a value may name a parameter that gets its value later */
    for (unsigned n = 0; n < names; n++) {
        tile_bound_param *param = &w->bound.params[c->params[n]], own;
        const tile_bound_param *value = &c->values[p * names + n];
        if (c->depends && !is_constant(c->text->values[p * names + n])) {
            if (!tile_evaluate_param(&w->bound, w->bound.f->params[c->params[n]].kind,
                                     c->text->values[p * names + n], &own))
                return false;
            value = &own;
        }
        if (c->binds[n])
            *param = *value;
        else if (param->value != value->value)
            return false;
    }
    return true;
}

/* Evaluates what depends on one clause only. */
static void save_clauses(walk *w) {
    const tile_formula_inputs inputs = {.params = w->bound.params, .sizes = w->bound.sizes};
    for (size_t t = 0; t < w->bound.f->tune_count; t++) {
        const clause *c = &w->clauses[t];
        const unsigned names = c->text->name_count;
        for (unsigned p = 0; p < c->text->point_count && !c->depends; p++) {
            for (unsigned n = 0; n < names && c->is_valid[p]; n++)
                if (c->binds[n]) w->bound.params[c->params[n]] = c->values[p * names + n];
            tile_formulas_save(&w->wheres, t + 1, p, c->text->point_count, &inputs);
            unbind(w, c);
        }
    }
}

/* level: the number of clauses that are bound. */
static void walk_clauses(walk *w, size_t level) {
    if (level == w->bound.f->tune_count) {
        visit_point(w);
        return;
    }
    const clause *c = &w->clauses[level];
    for (unsigned p = 0; p < c->text->point_count && !w->ended; p++)
        if (bind_point(w, c, p) && wheres_hold_at(w, c, p, level + 1)) walk_clauses(w, level + 1);
    unbind(w, c);
}

static bool visit_points(const tile_function *f, const tile_pass_option *options,
                         unsigned option_count, const int64_t *sizes, tile_arena *arena,
                         tile_point_visit visit, void *user, bool all) {
    const size_t count = f->param_count;
    walk w = {.bound = {f, TILE_NEW_ARRAY(arena, tile_bound_param, count + 1), sizes},
              .arena = arena,
              .visit = visit,
              .user = user,
              .all = all};
    for (unsigned i = 0; i < option_count; i++)
        if (!tile_bind_given(&w.bound, &options[i])) return false;
    bool *bound = TILE_NEW_ARRAY(arena, bool, count + 1);
    for (size_t i = 0; i < count; i++) bound[i] = w.bound.params[i].bound;
    tile_bind_defaults(&w.bound);
    for (size_t i = 0; i < count; i++) {
        w.bound.params[i].bound &= bound[i] || !tile_is_tuned(f, f->params[i].name);
        bound[i] = w.bound.params[i].bound;
    }
    size_t *levels = TILE_NEW_ARRAY(arena, size_t, count + 1);
    read_clauses(&w, levels, bound);
    if (!all) read_wheres(&w, levels);
    if (!wheres_hold(&w, &w.bound, 0)) return true;
    if (!all) save_clauses(&w);
    walk_clauses(&w, 0);
    return true;
}

/* Entry points --------------------------------------------------------------------------------- */

const int64_t *tile_bucket_sizes(const tile_function *f, const int64_t *sizes, tile_arena *arena) {
    int64_t *rounded = TILE_NEW_ARRAY(arena, int64_t, f->arg_count + 1);
    for (size_t i = 0; i < f->arg_count; i++) rounded[i] = tile_bucket(sizes[i]);
    return rounded;
}

bool tile_visit_points(const tile_function *f, const tile_pass_option *options,
                       unsigned option_count, const int64_t *sizes, tile_arena *arena,
                       tile_point_visit visit, void *user) {
    const int64_t *rounded = sizes ? tile_bucket_sizes(f, sizes, arena) : NULL;
    return visit_points(f, options, option_count, rounded, arena, visit, user, false);
}

bool tile_visit_all_points(const tile_function *f, const tile_pass_option *options,
                           unsigned option_count, const int64_t *sizes, tile_arena *arena,
                           tile_point_visit visit, void *user) {
    return visit_points(f, options, option_count, sizes, arena, visit, user, true);
}
