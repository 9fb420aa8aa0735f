#include "runtime/model/plan_model.h"

#include <string.h>

#include "lib/launch/steps.h"
#include "runtime/model/plan_launch.h"

/* The model of a kernel for the sizes with which it was launched last. */
typedef struct launched {
    const tile_function *kernel;
    const int64_t *sizes;
    tune_model *model;
} launched;

struct tune_plan_model {
    const tile_device *device;
    tune_plan_values values; /* of loops: at their middle iteration */
    launched *launches;      /* by operation */
    const char *why;
};

tune_plan_model *tune_plan_model_create(const tile_device *device, const tile_function *plan,
                                        const int64_t *sizes, tile_arena *arena) {
    tune_plan_model *model = TILE_NEW(arena, tune_plan_model);
    model->device = device;
    tune_plan_values_open(&model->values, plan, sizes, device->num_sms, arena);
    model->launches = TILE_NEW_ARRAY(arena, launched, plan->op_count);
    return model;
}

/* Launches ------------------------------------------------------------------------------------ */

static double estimate_launch(tune_plan_model *m, tile_op op) {
    const tune_plan_values *v = &m->values;
    launched *l = &m->launches[op.id];
    unsigned count = tile_op_operand_count(v->f, op);
    int64_t *sizes = TILE_NEW_ARRAY(v->arena, int64_t, count + 1);
    tile_bound_params bound;
    tune_plan_read_sizes(v, op, sizes);
    if (!tune_plan_bind_kernel(v, op, &bound)) return 0;
    l->kernel = bound.f;
    if (!l->sizes || memcmp(l->sizes, sizes, sizeof *sizes * count) != 0) {
        l->model = tune_model_create(m->device, l->kernel, sizes, v->arena);
        l->sizes = sizes;
    }
    return tune_model_estimate(l->model, &bound, NULL, &m->why);
}

/* Steps --------------------------------------------------------------------------------------- */

static double count_iterations(tune_plan_model *m, tile_op loop) {
    int64_t bounds[3] = {0, 0, 1}, count = 1;
    bool known = tune_plan_read_bounds(&m->values, loop, bounds);
    if (known && bounds[2] > 0)
        count = bounds[0] < bounds[1] ? (bounds[1] - bounds[0] - 1) / bounds[2] + 1 : 0;
    m->values.loops[tile_loop_depth(m->values.f, loop)] = bounds[0] + count / 2 * bounds[2];
    return (double)count;
}

/* Returns whether the region of op does not run at this point and for these sizes. */
static bool is_skipped(const tune_plan_model *m, tile_op op, unsigned region) {
    bool holds;
    return tile_op_opcode(m->values.f, op) == TILE_OP_if &&
           tune_plan_read_condition(&m->values, op, &holds) && holds == (region == 1);
}

static double estimate_region(tune_plan_model *m, tile_region region) {
    double seconds = 0;
    TILE_FOR_EACH_OP (m->values.f, op, region) {
        tile_opcode opcode = tile_op_opcode(m->values.f, op);
        double times = opcode == TILE_OP_for ? count_iterations(m, op) : 1;
        if (opcode == TILE_OP_launch && !m->why) seconds += estimate_launch(m, op);
        for (unsigned r = 0; r < tile_op_at(m->values.f, op)->region_count; r++)
            if (!is_skipped(m, op, r))
                seconds += times * estimate_region(m, tile_op_region(m->values.f, op, r));
    }
    return seconds;
}

double tune_plan_estimate(tune_plan_model *m, const tile_bound_params *point, const char **why) {
    m->values.point = point;
    m->why = NULL;
    double seconds = estimate_region(m, m->values.f->body);
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
