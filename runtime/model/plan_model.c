#include "runtime/model/plan_model.h"

#include <inttypes.h>
#include <string.h>

#include "lib/launch/steps.h"

/* The model of a kernel for the sizes with which it was launched last. */
typedef struct launched {
    const tile_function *kernel;
    const int64_t *sizes;
    tune_model *model;
} launched;

struct tune_plan_model {
    const tile_device *device;
    const tile_function *f;
    const int64_t *sizes;
    tile_arena *arena;
    launched *launches; /* by operation */
    const tile_bound_params *point;
    tile_bindings bindings;
    int64_t loops[TILE_MAX_PLAN_LOOPS]; /* at their middle iteration */
    const char *why;
};

static bool param_of(const char *name, int64_t *value, void *user) {
    const tune_plan_model *model = user;
    const tile_bound_param *param = model->point ? tile_find_bound(model->point, name) : NULL;
    if (param) *value = param->value;
    return param && param->bound;
}

static bool size_of(unsigned index, int64_t *value, void *user) {
    *value = ((const tune_plan_model *)user)->sizes[index];
    return true;
}

tune_plan_model *tune_plan_model_create(const tile_device *device, const tile_function *plan,
                                        const int64_t *sizes, tile_arena *arena) {
    tune_plan_model *model = TILE_NEW(arena, tune_plan_model);
    *model = (tune_plan_model){.device = device, .f = plan, .sizes = sizes, .arena = arena};
    model->launches = TILE_NEW_ARRAY(arena, launched, plan->op_count);
    model->bindings = (tile_bindings){.param = param_of,
                                      .arg = size_of,
                                      .user = model,
                                      .num_sms = device->num_sms,
                                      .loops = model->loops,
                                      .loop_count = TILE_MAX_PLAN_LOOPS};
    return model;
}

/* Launches ------------------------------------------------------------------------------------ */

static const char *value_text(const tune_plan_model *m, const tile_param_value *value) {
    const tile_bound_param *param = NULL;
    int64_t number = 0;
    if (value->type)
        return tile_scalar_name(value->type->param
                                    ? tile_find_bound_scalar(m->point, value->type->param)
                                    : value->type->scalar);
    if (value->expr->kind == TILE_EXPR_WORD) return value->expr->name;
    if (value->expr->kind == TILE_EXPR_PARAM) param = tile_find_bound(m->point, value->expr->name);
    if (param && param->word) return param->word;
    tile_expr_eval(value->expr, &m->bindings, &number);
    return tile_arena_format(m->arena, "%" PRId64, number);
}

static bool bind_kernel(const tune_plan_model *m, tile_op op, const tile_function *kernel,
                        tile_bound_params *bound) {
    const tile_attr *values = tile_op_attr(m->f, op, TILE_ATTR_values);
    unsigned count = values ? values->count : 0;
    tile_pass_option *options = TILE_NEW_ARRAY(m->arena, tile_pass_option, count + 1);
    for (unsigned i = 0; i < count; i++)
        options[i] = (tile_pass_option){values->values[i].name, value_text(m, &values->values[i])};
    return tile_bind_params(kernel, options, count, m->arena, bound);
}

/* The integers with which the kernel is launched. */
static const int64_t *read_sizes(const tune_plan_model *m, tile_op op) {
    unsigned count = tile_op_operand_count(m->f, op);
    int64_t *sizes = TILE_NEW_ARRAY(m->arena, int64_t, count + 1);
    for (unsigned i = 0; i < count; i++) {
        const tile_expr *expr = tile_value_as_expr(m->f, tile_op_operand(m->f, op, i));
        if (expr) tile_expr_eval(expr, &m->bindings, &sizes[i]);
    }
    return sizes;
}

static double estimate_launch(tune_plan_model *m, tile_op op) {
    launched *l = &m->launches[op.id];
    const int64_t *sizes = read_sizes(m, op);
    size_t bytes = sizeof *sizes * tile_op_operand_count(m->f, op);
    tile_bound_params bound;
    l->kernel = tile_module_find(m->f->module, tile_op_attr_text(m->f, op, TILE_ATTR_callee));
    if (!l->kernel || !bind_kernel(m, op, l->kernel, &bound)) return 0;
    if (!l->sizes || memcmp(l->sizes, sizes, bytes) != 0) {
        l->model = tune_model_create(m->device, l->kernel, sizes, m->arena);
        l->sizes = sizes;
    }
    return tune_model_estimate(l->model, &bound, NULL, &m->why);
}

/* Steps --------------------------------------------------------------------------------------- */

static double count_iterations(tune_plan_model *m, tile_op loop) {
    const tile_value operands[] = {tile_operand_begin(m->f, loop), tile_operand_end(m->f, loop),
                                   tile_operand_step(m->f, loop)};
    int64_t bounds[3] = {0, 0, 1}, count = 1;
    bool known = true;
    for (unsigned i = 0; i < 3; i++)
        known &= tile_expr_eval(tile_value_as_expr(m->f, operands[i]), &m->bindings, &bounds[i]);
    if (known && bounds[2] > 0)
        count = bounds[0] < bounds[1] ? (bounds[1] - bounds[0] - 1) / bounds[2] + 1 : 0;
    m->loops[tile_loop_depth(m->f, loop)] = bounds[0] + count / 2 * bounds[2];
    return (double)count;
}

static double estimate_region(tune_plan_model *m, tile_region region) {
    double seconds = 0;
    TILE_FOR_EACH_OP (m->f, op, region) {
        tile_opcode opcode = tile_op_opcode(m->f, op);
        double times = opcode == TILE_OP_for ? count_iterations(m, op) : 1;
        if (opcode == TILE_OP_launch && !m->why) seconds += estimate_launch(m, op);
        for (unsigned r = 0; r < tile_op_at(m->f, op)->region_count; r++)
            seconds += times * estimate_region(m, tile_op_region(m->f, op, r));
    }
    return seconds;
}

double tune_plan_estimate(tune_plan_model *m, const tile_bound_params *point, const char **why) {
    m->point = point;
    m->why = NULL;
    double seconds = estimate_region(m, m->f->body);
    *why = m->why;
    return seconds;
}

/* Parameters ---------------------------------------------------------------------------------- */

bool tune_plan_joins(const tile_function *plan, const char *a, const char *b) {
    TILE_FOR_EACH_OP_INSIDE (plan, op, plan->body)
        if (tile_op_opcode(plan, op) == TILE_OP_launch && tile_launch_passes(plan, op, a) &&
            tile_launch_passes(plan, op, b))
            return true;
    return false;
}
