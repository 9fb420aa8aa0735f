#include "runtime/model/groups.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/launch/steps.h"
#include "runtime/model/plan_model.h"

static bool in_clause(const tile_tune_clause *clause, const char *name) {
    for (unsigned n = 0; n < clause->name_count; n++)
        if (strcmp(clause->names[n], name) == 0) return true;
    return false;
}

static bool same_clause(const tile_function *f, const char *a, const char *b) {
    for (size_t t = 0; t < f->tune_count; t++)
        if (in_clause(&f->tunes[t], a) && in_clause(&f->tunes[t], b)) return true;
    return false;
}

/* Points ----------------------------------------------------------------------------------------
 */

/* Returns whether the points of parameter a depend on parameter b. */
static bool points_depend(const tile_function *f, const char *a, const char *b) {
    const tile_param_decl *param = tile_function_find_param(f, a, strlen(a));
    bool found = tile_expr_names_param(param->default_expr, b);
    for (size_t t = 0; t < f->tune_count; t++) {
        const tile_tune_clause *clause = &f->tunes[t];
        unsigned values = clause->name_count * clause->point_count;
        for (unsigned v = 0; v < values && in_clause(clause, a); v++)
            found |= tile_expr_names_param(clause->values[v], b);
    }
    return found;
}

static bool same_where(const tile_function *f, const char *a, const char *b) {
    for (size_t i = 0; i < f->where_count; i++)
        if (tile_expr_names_param(f->wheres[i], a) && tile_expr_names_param(f->wheres[i], b))
            return true;
    return false;
}

/* Launches --------------------------------------------------------------------------------------
 */

/* Returns whether the value of the plan, or the layout of this memory, depends on the parameter. */
static bool depends(const tile_function *f, tile_value value, const char *name) {
    const tile_type *type = tile_value_type(f, value);
    tile_op op = tile_value_def(f, value);
    if (tile_expr_names_param(tile_value_as_expr(f, value), name)) return true;
    if (type->param && strcmp(type->param, name) == 0) return true;
    for (unsigned i = 0; op.id && i < tile_op_operand_count(f, op); i++)
        if (depends(f, tile_op_operand(f, op, i), name)) return true;
    return false;
}

/* Returns whether what the launch does depends on the parameter: its kernel, its arguments, or the
 * steps around it. */
static bool launch_depends(const tile_function *f, tile_op launch, const char *name) {
    if (tile_launch_passes(f, launch, name)) return true;
    for (tile_op op = launch; op.id; op = tile_op_parent(f, op))
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            if (depends(f, tile_op_operand(f, op, i), name)) return true;
    return false;
}

static bool same_launch(const tile_function *f, const char *a, const char *b) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_launch && launch_depends(f, op, a) &&
            launch_depends(f, op, b))
            return true;
    return false;
}

static bool are_joined(const tile_function *f, const char *a, const char *b, bool independent) {
    if (same_clause(f, a, b) || tune_plan_joins(f, a, b)) return true;
    return independent && (same_where(f, a, b) || points_depend(f, a, b) ||
                           points_depend(f, b, a) || same_launch(f, a, b));
}

size_t *tune_group_params(const tile_function *plan, bool independent, tile_arena *arena) {
    size_t *of = TILE_NEW_ARRAY(arena, size_t, plan->param_count + 1);
    for (size_t i = 0; i < plan->param_count; i++) {
        of[i] = i;
        for (size_t k = 0; k < i; k++) {
            size_t from = of[i], to = of[k];
            if (from == to ||
                !are_joined(plan, plan->params[k].name, plan->params[i].name, independent))
                continue;
            for (size_t p = 0; p <= i; p++)
                if (of[p] == from) of[p] = to;
        }
    }
    return of;
}
