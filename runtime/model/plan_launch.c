#include "runtime/model/plan_launch.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/function.h"
#include "lib/support/context.h"

static bool param_of(const char *name, int64_t *value, void *user) {
    const tune_plan_values *v = user;
    const tile_bound_param *param = v->point ? tile_find_bound(v->point, name) : NULL;
    if (param) *value = param->value;
    return param && param->bound;
}

static bool size_of(unsigned index, int64_t *value, void *user) {
    *value = ((const tune_plan_values *)user)->sizes[index];
    return true;
}

void tune_plan_values_open(tune_plan_values *values, const tile_function *plan,
                           const int64_t *sizes, unsigned num_sms, tile_arena *arena) {
    *values = (tune_plan_values){.f = plan, .sizes = sizes, .arena = arena};
    values->bindings = (tile_bindings){.param = param_of,
                                       .arg = size_of,
                                       .user = values,
                                       .num_sms = num_sms,
                                       .loops = values->loops,
                                       .loop_count = TILE_MAX_PLAN_LOOPS};
}

static const char *value_text(const tune_plan_values *v, const tile_param_value *value) {
    const tile_bound_param *param = NULL;
    int64_t number = 0;
    if (value->type)
        return tile_scalar_name(value->type->param
                                    ? tile_find_bound_scalar(v->point, value->type->param)
                                    : value->type->scalar);
    if (value->expr->kind == TILE_EXPR_WORD) return value->expr->name;
    if (value->expr->kind == TILE_EXPR_PARAM) param = tile_find_bound(v->point, value->expr->name);
    if (param && param->word) return param->word;
    tile_expr_eval(value->expr, &v->bindings, &number);
    return tile_arena_format(v->arena, "%" PRId64, number);
}

bool tune_plan_bind_kernel(const tune_plan_values *v, tile_op launch, tile_bound_params *bound) {
    const char *callee = tile_op_attr_text(v->f, launch, TILE_ATTR_callee);
    const tile_function *kernel = tile_module_find(v->f->module, callee);
    const tile_attr *values = tile_op_attr(v->f, launch, TILE_ATTR_values);
    unsigned count = values ? values->count : 0;
    tile_pass_option *options = TILE_NEW_ARRAY(v->arena, tile_pass_option, count + 1);
    for (unsigned i = 0; i < count; i++)
        options[i] = (tile_pass_option){values->values[i].name, value_text(v, &values->values[i])};
    return kernel && tile_bind_params(kernel, options, count, v->arena, bound);
}

bool tune_plan_read_sizes(const tune_plan_values *v, tile_op launch, int64_t *sizes) {
    unsigned count = tile_op_operand_count(v->f, launch);
    bool known = true;
    for (unsigned i = 0; i < count; i++) {
        const tile_expr *expr = tile_value_as_expr(v->f, tile_op_operand(v->f, launch, i));
        sizes[i] = 0;
        if (expr) known &= tile_expr_eval(expr, &v->bindings, &sizes[i]);
    }
    return known;
}

bool tune_plan_read_condition(const tune_plan_values *v, tile_op branch, bool *holds) {
    int64_t value;
    const tile_expr *expr = tile_value_as_expr(v->f, tile_operand_condition(v->f, branch));
    if (!expr || !tile_expr_eval(expr, &v->bindings, &value)) return false;
    *holds = value != 0;
    return true;
}

bool tune_plan_read_bounds(const tune_plan_values *v, tile_op loop, int64_t bounds[3]) {
    const tile_value operands[] = {tile_operand_begin(v->f, loop), tile_operand_end(v->f, loop),
                                   tile_operand_step(v->f, loop)};
    bool known = true;
    for (unsigned i = 0; i < 3; i++)
        known &= tile_expr_eval(tile_value_as_expr(v->f, operands[i]), &v->bindings, &bounds[i]);
    return known;
}

/* Conditions in loops -------------------------------------------------------------------------- */

/* The kernel of a launch, its arguments in the current iteration. */
typedef struct launched {
    tile_bound_params bound;
    int64_t *sizes;
} launched;

typedef struct checker {
    tune_plan_values v;
    launched *launches; /* by operation */
    unsigned left;      /* launches to check */
    const char *why;
} checker;

static const tile_function *kernel_of(const tile_function *plan, tile_op op) {
    const char *callee = tile_op_attr_text(plan, op, TILE_ATTR_callee);
    bool launches = tile_op_opcode(plan, op) == TILE_OP_launch && callee;
    return launches ? tile_module_find(plan->module, callee) : NULL;
}

static bool is_in_loop(const tile_function *plan, tile_op op) {
    while ((op = tile_op_parent(plan, op)).id)
        if (tile_op_opcode(plan, op) == TILE_OP_for) return true;
    return false;
}

bool tune_plan_has_loop_wheres(const tile_function *plan) {
    if (plan->kind != TILE_PLAN) return false;
    TILE_FOR_EACH_OP_INSIDE (plan, op, plan->body) {
        const tile_function *kernel = kernel_of(plan, op);
        if (kernel && kernel->where_count && is_in_loop(plan, op)) return true;
    }
    return false;
}

/* "%i = 2, %j = 0" */
static const char *iteration_text(const checker *c, tile_op op) {
    const char *text = "";
    for (; op.id; op = tile_op_parent(c->v.f, op)) {
        if (tile_op_opcode(c->v.f, op) != TILE_OP_for) continue;
        tile_value variable = tile_region_arg(c->v.f, tile_op_region(c->v.f, op, 0), 0);
        const char *name = tile_value_at(c->v.f, variable)->name;
        text = tile_arena_format(c->v.arena, "%%%s = %" PRId64 "%s%s", name ? name : "",
                                 c->v.loops[tile_loop_depth(c->v.f, op)], *text ? ", " : "", text);
    }
    return text;
}

static void check_launch(checker *c, tile_op op, const tile_function *kernel) {
    launched *l = &c->launches[op.id];
    if (!l->sizes) {
        l->sizes = TILE_NEW_ARRAY(c->v.arena, int64_t, tile_op_operand_count(c->v.f, op) + 1);
        if (!tune_plan_bind_kernel(&c->v, op, &l->bound)) l->bound.f = NULL;
    }
    if (!l->bound.f || !tune_plan_read_sizes(&c->v, op, l->sizes)) return;
    l->bound.sizes = l->sizes;
    for (size_t i = 0; i < kernel->where_count && !c->why; i++)
        if (!tile_where_holds(&l->bound, i))
            c->why = tile_arena_format(c->v.arena, "`where %s` of @%s is false with %s",
                                       tile_expr_text(kernel, kernel->wheres[i], c->v.arena),
                                       kernel->name, iteration_text(c, op));
}

static void check_region(checker *c, tile_region region);

static void check_loop(checker *c, tile_op op) {
    int64_t bounds[3], *variable = &c->v.loops[tile_loop_depth(c->v.f, op)];
    if (!tune_plan_read_bounds(&c->v, op, bounds) || bounds[2] < 1) return; /* the launch fails */
    for (int64_t i = bounds[0]; i < bounds[1] && c->left && !c->why; i += bounds[2]) {
        *variable = i;
        check_region(c, tile_op_region(c->v.f, op, 0));
        if (bounds[1] - i <= bounds[2]) break;
    }
}

static void check_branch(checker *c, tile_op op) {
    int64_t condition;
    const tile_expr *expr = tile_value_as_expr(c->v.f, tile_operand_condition(c->v.f, op));
    if (!expr || !tile_expr_eval(expr, &c->v.bindings, &condition)) return;
    if (condition || tile_op_at(c->v.f, op)->region_count > 1)
        check_region(c, tile_op_region(c->v.f, op, condition ? 0 : 1));
}

static void check_region(checker *c, tile_region region) {
    TILE_FOR_EACH_OP (c->v.f, op, region) {
        const tile_function *kernel = kernel_of(c->v.f, op);
        if (!c->left || c->why) return;
        if (tile_op_opcode(c->v.f, op) == TILE_OP_for)
            check_loop(c, op);
        else if (tile_op_at(c->v.f, op)->region_count)
            check_branch(c, op);
        else if (kernel)
            c->left--;
        if (kernel && kernel->where_count && is_in_loop(c->v.f, op)) check_launch(c, op, kernel);
    }
}

bool tune_plan_allows(const tile_bound_params *point, unsigned num_sms, tile_arena *arena,
                      const char **why) {
    enum { MOST_LAUNCHES = 1 << 16 };
    const tile_function *plan = point->f;
    checker c = {.left = MOST_LAUNCHES};
    if (!tune_plan_has_loop_wheres(plan)) return true;
    tune_plan_values_open(&c.v, plan, point->sizes, num_sms, arena);
    c.v.point = point;
    c.launches = TILE_NEW_ARRAY(arena, launched, plan->op_count);
    const tile_diversion to = tile_context_divert(tile_function_context(plan), NULL, NULL);
    check_region(&c, plan->body);
    tile_context_restore(&to);
    *why = c.why;
    return !c.why;
}
