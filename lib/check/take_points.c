/* Takes up the tuning points of the kernels that a plan launches.
 *
 * A clause `tune` of a kernel is taken up by each launch that gives a value to none of its
 * parameters, unless one is the type of an argument or two clauses name one: the plan gets
 * parameters, with the clause's points as its own `tune`, and the launch passes them. A launch
 * takes up all such clauses or none. Launches of a kernel share parameters if the points are the
 * same for both; sizes in the points are those that a launch passes. The conditions of all kernels
 * then become conditions of the plan, because they decide which of its points a launch can use:
 *
 *     kernel @k<b: int>(%n: i32, ..) tune b in [64, 128] where b <= %n ..
 *     plan @p(%m: i32, ..) { if %m > 9 { launch @k(%m * 2, ..) } }
 *
 *     plan @p<b: int>(%m: i32, ..) tune b in [64, 128] where (%m > 9) == 0 | b <= %m * 2
 *     { if %m > 9 { launch @k<b = b>(%m * 2, ..) } }
 *
 * What depends on a variable of a loop is left to the kernel: who chooses a point for the sizes of
 * a launch evaluates these conditions for each iteration (runtime/model/plan_launch.c). */
#include "lib/check/take_points.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/tuning/space.h"
#include "tile/build.h"

enum { MAX_NODES = 200 }; /* of an expression */

/* A clause of a kernel, with its points in terms of the plan. */
typedef struct taken {
    const tile_function *kernel;
    const tile_tune_clause *clause;
    const tile_expr **points, **defaults; /* defaults: NULL elements where there are none */
    const char **names;                   /* of the plan's parameters; NULL: not declared yet */
    struct taken *next;
} taken;

typedef struct taker {
    tile_function *plan;
    tile_context *context;
    tile_arena arena;
    taken *first, *last;
} taker;

/* One launch and the clauses that it takes up. */
typedef struct launched {
    taker *t;
    const tile_function *kernel;
    tile_op op;
    taken **clauses; /* by clause of the kernel; NULL elements: not taken up */
    unsigned nodes;  /* of an expression that is mapped */
} launched;

/* Expressions of the kernel in terms of the plan ---------------------------------------------- */

static const tile_param_value *find_value(const launched *l, const char *name) {
    const tile_attr *values = tile_op_attr(l->t->plan, l->op, TILE_ATTR_values);
    for (unsigned i = 0; values && i < values->count; i++)
        if (strcmp(values->values[i].name, name) == 0) return &values->values[i];
    return NULL;
}

static bool names_param(const tile_tune_clause *clause, const char *name) {
    for (unsigned n = 0; n < clause->name_count; n++)
        if (strcmp(clause->names[n], name) == 0) return true;
    return false;
}

/* The plan's parameter that the launch passes for this one; NULL if there is none. *tuned: whether
 * a clause of the kernel names it. */
static const tile_expr *taken_param(const launched *l, const char *name, bool *tuned) {
    *tuned = false;
    for (size_t c = 0; c < l->kernel->tune_count; c++)
        for (unsigned n = 0; n < l->kernel->tunes[c].name_count; n++) {
            if (strcmp(l->kernel->tunes[c].names[n], name) != 0) continue;
            *tuned = true;
            if (l->clauses[c] && l->clauses[c]->names)
                return tile_expr_param(l->t->context, l->clauses[c]->names[n]);
        }
    return NULL;
}

static const tile_expr *map(launched *l, const tile_expr *expr);

static const tile_expr *map_type(const launched *l, const tile_type *type) {
    return type->param ? tile_expr_param(l->t->context, type->param)
                       : tile_expr_word(l->t->context, tile_scalar_name(type->scalar));
}

/* A default may name other parameters of the kernel, but not types. */
static const tile_expr *map_default(launched *l, const tile_param_decl *param) {
    if (param->default_expr) return map(l, param->default_expr);
    return param->default_type && !param->default_type->param ? map_type(l, param->default_type)
                                                              : NULL;
}

static const tile_expr *map_param(launched *l, const char *name) {
    bool tuned;
    const tile_param_value *given = find_value(l, name);
    if (given) return given->type ? map_type(l, given->type) : given->expr;
    const tile_expr *param = taken_param(l, name, &tuned);
    const tile_param_decl *decl = tile_function_find_param(l->kernel, name, strlen(name));
    return tuned || !decl ? param : map_default(l, decl);
}

/* What a launch passes, unless it changes in a loop. */
static const tile_expr *map_argument(const launched *l, unsigned index) {
    const tile_function *plan = l->t->plan;
    const tile_expr *expr = tile_value_as_expr(plan, tile_op_operand(plan, l->op, index));
    bool known =
        expr && !tile_expr_holds(expr, TILE_EXPR_LOOP) && !tile_expr_holds(expr, TILE_EXPR_NUM_SMS);
    return known ? expr : NULL;
}

/* NULL if the plan cannot express it. */
static const tile_expr *map(launched *l, const tile_expr *expr) {
    const tile_expr *args[3] = {NULL, NULL, NULL};
    if (++l->nodes > MAX_NODES) return NULL;
    switch (expr->kind) {
    case TILE_EXPR_INT:
    case TILE_EXPR_WORD: return expr;
    case TILE_EXPR_PARAM: return map_param(l, expr->name);
    case TILE_EXPR_ARG: return map_argument(l, (unsigned)expr->integer);
    case TILE_EXPR_FLOAT:
    case TILE_EXPR_NUM_SMS:
    case TILE_EXPR_BLOCK_ID:
    case TILE_EXPR_LOOP: return NULL;
    case TILE_EXPR_OP: break;
    }
    for (unsigned i = 0; i < 3 && expr->args[i]; i++)
        if (!(args[i] = map(l, expr->args[i]))) return NULL;
    return tile_expr_op(l->t->context, expr->opcode, args[0], args[1], args[2]);
}

static const tile_expr *map_whole(launched *l, const tile_expr *expr) {
    l->nodes = 0;
    return map(l, expr);
}

/* Clauses ------------------------------------------------------------------------------------- */

/* What the launch passes determines the types of arguments. */
static bool types_argument(const tile_function *kernel, const char *name) {
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const char *param = kernel->args[i].type->param;
        if (param && strcmp(param, name) == 0) return true;
    }
    return false;
}

static bool is_open(const launched *l, const tile_tune_clause *clause) {
    for (unsigned n = 0; n < clause->name_count; n++)
        if (find_value(l, clause->names[n]) || types_argument(l->kernel, clause->names[n]))
            return false;
    return true;
}

/* NULL also for a number that divides by zero. */
static const tile_expr *map_value(launched *l, const tile_expr *value) {
    const tile_expr *to = map_whole(l, value);
    int64_t number;
    if (to && to->kind == TILE_EXPR_OP && tile_expr_eval(to, NULL, &number))
        return tile_expr_int(l->t->context, number);
    bool depends =
        to && (tile_expr_holds(to, TILE_EXPR_PARAM) || tile_expr_holds(to, TILE_EXPR_ARG));
    return to && (to->kind != TILE_EXPR_OP || depends) ? to : NULL;
}

/* Returns false if the plan cannot express the points or a default. */
static bool map_clause(launched *l, taken *to) {
    const tile_tune_clause *clause = to->clause;
    unsigned count = clause->name_count * clause->point_count;
    to->points = TILE_NEW_ARRAY(&l->t->arena, const tile_expr *, count + 1);
    to->defaults = TILE_NEW_ARRAY(&l->t->arena, const tile_expr *, clause->name_count + 1);
    for (unsigned i = 0; i < count; i++)
        if (!(to->points[i] = map_value(l, clause->values[i]))) return false;
    for (unsigned n = 0; n < clause->name_count; n++) {
        const tile_param_decl *param =
            tile_function_find_param(l->kernel, clause->names[n], strlen(clause->names[n]));
        bool has_default = param->default_expr || param->default_type;
        l->nodes = 0;
        if (has_default && !(to->defaults[n] = map_default(l, param))) return false;
    }
    return true;
}

static bool are_same(const taken *a, const taken *b) {
    size_t names = a->clause->name_count, count = names * a->clause->point_count;
    return a->kernel == b->kernel && a->clause == b->clause &&
           memcmp(a->points, b->points, sizeof *a->points * count) == 0 &&
           memcmp(a->defaults, b->defaults, sizeof *a->defaults * names) == 0;
}

/* The clause in terms of the plan, one for all launches for which it is the same. */
static taken *find_or_add(taker *t, const taken *clause) {
    for (taken *known = t->first; known; known = known->next)
        if (are_same(known, clause)) return known;
    taken *added = TILE_NEW(&t->arena, taken);
    *added = *clause;
    if (t->last)
        t->last->next = added;
    else
        t->first = added;
    return t->last = added;
}

/* Whether two clauses of the kernel name one parameter. */
static bool are_linked(const tile_function *kernel) {
    for (size_t a = 0; a < kernel->tune_count; a++)
        for (size_t b = 0; b < a; b++)
            for (unsigned n = 0; n < kernel->tunes[b].name_count; n++)
                if (names_param(&kernel->tunes[a], kernel->tunes[b].names[n])) return true;
    return false;
}

static void take_clauses(launched *l) {
    size_t count = are_linked(l->kernel) ? 0 : l->kernel->tune_count;
    taken *made = TILE_NEW_ARRAY(&l->t->arena, taken, count + 1);
    for (size_t c = 0; c < count; c++) {
        made[c] = (taken){.kernel = l->kernel, .clause = &l->kernel->tunes[c]};
        if (is_open(l, made[c].clause) && !map_clause(l, &made[c])) return;
    }
    for (size_t c = 0; c < count; c++)
        if (made[c].points) l->clauses[c] = find_or_add(l->t, &made[c]);
}

/* Names --------------------------------------------------------------------------------------- */

static bool is_free(const taker *t, const char *name) {
    return !tile_function_find_param(t->plan, name, strlen(name)) &&
           !tile_function_find_arg(t->plan, name);
}

/* A name that several clauses have gets the kernel's name, too. */
static const char *name_param(taker *t, const taken *of, const char *name) {
    unsigned users = 0;
    for (const taken *other = t->first; other; other = other->next)
        users += names_param(other->clause, name);
    if (users == 1 && is_free(t, name)) return name;
    const char *stem = tile_arena_format(&t->arena, "%s_%s", of->kernel->name, name);
    const char *free = stem;
    for (unsigned i = 2; !is_free(t, free); i++)
        free = tile_arena_format(&t->arena, "%s_%u", stem, i);
    return free;
}

static void declare(taker *t, taken *c) {
    const tile_tune_clause *clause = c->clause;
    const char **names = TILE_NEW_ARRAY(&t->arena, const char *, clause->name_count + 1);
    for (unsigned n = 0; n < clause->name_count; n++) {
        const tile_param_decl *param =
            tile_function_find_param(c->kernel, clause->names[n], strlen(clause->names[n]));
        bool is_type = param->kind == TILE_PARAM_type;
        names[n] = name_param(t, c, clause->names[n]);
        tile_function_add_param(t->plan, names[n], param->kind, is_type ? NULL : c->defaults[n],
                                is_type ? param->default_type : NULL);
    }
    tile_function_add_tune(t->plan, clause->name_count, names, clause->point_count, c->points);
    c->names = names;
}

/* Launches ------------------------------------------------------------------------------------ */

static tile_param_value value_of(const taker *t, const taken *c, unsigned n) {
    const char *name = c->clause->names[n];
    const tile_param_decl *param = tile_function_find_param(c->kernel, name, strlen(name));
    tile_type type = {.kind = TILE_TYPE_SCALAR, .param = c->names[n]};
    if (param->kind == TILE_PARAM_type)
        return (tile_param_value){name, NULL, tile_type_get(t->context, &type)};
    return (tile_param_value){name, tile_expr_param(t->context, c->names[n]), NULL};
}

/* Passes the plan's new parameters. */
static void pass_values(const launched *l) {
    const tile_attr *given = tile_op_attr(l->t->plan, l->op, TILE_ATTR_values);
    unsigned count = given ? given->count : 0;
    size_t most = count + l->kernel->param_count;
    tile_param_value *values = TILE_NEW_ARRAY(&l->t->arena, tile_param_value, most + 1);
    for (unsigned i = 0; i < count; i++) values[i] = given->values[i];
    for (size_t c = 0; c < l->kernel->tune_count; c++)
        for (unsigned n = 0;
             l->clauses[c] && l->clauses[c]->names && n < l->clauses[c]->clause->name_count; n++)
            values[count++] = value_of(l->t, l->clauses[c], n);
    if (count > (given ? given->count : 0))
        tile_op_set_values(l->t->plan, l->op, TILE_ATTR_values, values, count);
}

/* Conditions ---------------------------------------------------------------------------------- */

/* Whether `op` skips its region in which `inside` is; NULL if the plan cannot say it. */
static const tile_expr *skips(const taker *t, tile_op op, tile_op inside) {
    const tile_function *f = t->plan;
    const tile_expr *zero = tile_expr_int(t->context, 0), *a, *b;
    if (tile_op_opcode(f, op) == TILE_OP_for) {
        a = tile_value_as_expr(f, tile_operand_begin(f, op));
        b = tile_value_as_expr(f, tile_operand_end(f, op));
        return a && b ? tile_expr_op(t->context, TILE_OP_ge, a, b, NULL) : NULL;
    }
    bool first = tile_op_at(f, inside)->parent.id == tile_op_region(f, op, 0).id;
    a = tile_value_as_expr(f, tile_operand_condition(f, op));
    return a ? tile_expr_op(t->context, first ? TILE_OP_eq : TILE_OP_ne, a, zero, NULL) : NULL;
}

/* The condition of a launch that is executed only if steps around it are. */
static const tile_expr *guarded(const launched *l, const tile_expr *where) {
    const taker *t = l->t;
    tile_op inside = l->op, op;
    for (; where && (op = tile_op_parent(t->plan, inside)).id; inside = op) {
        const tile_expr *skipped = skips(t, op, inside);
        bool known = skipped && !tile_expr_holds(skipped, TILE_EXPR_LOOP) &&
                     !tile_expr_holds(skipped, TILE_EXPR_NUM_SMS);
        where = known ? tile_simplify_where(
                            t->plan, tile_expr_op(t->context, TILE_OP_or, skipped, where, NULL))
                      : NULL;
    }
    return where;
}

static bool has_where(const tile_function *f, const tile_expr *where) {
    for (size_t i = 0; i < f->where_count; i++)
        if (f->wheres[i] == where) return true;
    return false;
}

static void take_wheres(launched *l) {
    tile_function *plan = l->t->plan;
    for (size_t i = 0; i < l->kernel->where_count; i++) {
        const tile_expr *where = map_whole(l, l->kernel->wheres[i]);
        if (where) where = guarded(l, tile_simplify_where(plan, where));
        bool depends = where && (tile_expr_holds(where, TILE_EXPR_PARAM) ||
                                 tile_expr_holds(where, TILE_EXPR_ARG));
        if (depends && !has_where(plan, where)) tile_function_add_where(plan, where);
    }
}

/* Plans --------------------------------------------------------------------------------------- */

/* kernels: NULL for all. */
static launched *list_launches(taker *t, const tile_function *const *kernels, unsigned kernel_count,
                               unsigned *count) {
    size_t capacity = 0;
    launched *list = NULL;
    *count = 0;
    TILE_FOR_EACH_OP_INSIDE (t->plan, op, t->plan->body) {
        const char *callee = tile_op_attr_text(t->plan, op, TILE_ATTR_callee);
        bool launches = tile_op_opcode(t->plan, op) == TILE_OP_launch && callee;
        const tile_function *kernel = launches ? tile_module_find(t->plan->module, callee) : NULL;
        bool wanted = !kernels;
        for (unsigned i = 0; i < kernel_count; i++) wanted |= kernels[i] == kernel;
        if (!kernel || !kernel->param_count || !wanted) continue;
        list = tile_arena_grow(&t->arena, list, *count, &capacity, sizeof *list);
        launched *l = &list[(*count)++];
        *l = (launched){.t = t, .kernel = kernel, .op = op};
        l->clauses = TILE_NEW_ARRAY(&t->arena, taken *, kernel->tune_count + 1);
    }
    return list;
}

void tile_plan_take_points_of(tile_function *plan, const tile_function *const *kernels,
                              unsigned kernel_count) {
    unsigned count;
    taker t = {.plan = plan, .context = tile_function_context(plan)};
    launched *list = list_launches(&t, kernels, kernel_count, &count);
    for (unsigned i = 0; i < count; i++) take_clauses(&list[i]);
    for (taken *c = t.first; c; c = c->next) declare(&t, c);
    for (unsigned i = 0; i < count; i++) pass_values(&list[i]);
    for (unsigned i = 0; i < count && plan->tune_count; i++) take_wheres(&list[i]);
    tile_arena_reset(&t.arena);
    plan->has_points = true;
}

tile_status tile_plan_take_points(tile_function *plan) {
    TILE_GUARD(plan ? tile_function_context(plan) : NULL, TILE_OUT_OF_MEMORY)
    if (!plan) return TILE_INVALID;
    if (plan->kind != TILE_PLAN || plan->has_points) return TILE_OK;
    tile_status status = tile_function_verify(plan);
    if (status == TILE_OK) status = tile_resolve_tuning(plan, NULL, NULL, 0);
    if (status != TILE_OK) return status;
    tile_plan_take_points_of(plan, NULL, 0);
    return tile_function_verify(plan);
}
