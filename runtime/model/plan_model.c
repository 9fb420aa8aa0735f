#include "runtime/model/plan_model.h"

#include <string.h>

#include "lib/launch/steps.h"
#include "lib/support/scalar.h"
#include "runtime/model/packed.h"
#include "runtime/model/plan_launch.h"

/* The model of a kernel for the sizes with which it was launched last. */
typedef struct launched {
    const int64_t *sizes;
    tune_model *model;
    tune_packed packed; /* no module: nothing is packed */
} launched;

struct tune_plan_model {
    const tile_device *device;
    tune_plan_values values; /* of loops: at their middle iteration */
    launched *launches;      /* by operation */
    const char *packing;     /* NULL: none */
    const char *why;
};

tune_plan_model *tune_plan_model_create(const tile_device *device, const tile_function *plan,
                                        const int64_t *sizes, const char *packing,
                                        tile_arena *arena) {
    tune_plan_model *model = TILE_NEW(arena, tune_plan_model);
    model->device = device;
    model->packing = packing;
    tune_plan_values_open(&model->values, plan, sizes, device->num_sms, arena);
    model->launches = TILE_NEW_ARRAY(arena, launched, plan->op_count);
    return model;
}

void tune_plan_model_close(tune_plan_model *m) {
    for (size_t i = 0; i < m->values.f->op_count; i++)
        tile_module_destroy(m->launches[i].packed.module);
}

/* Launches ------------------------------------------------------------------------------------ */

/* The point's parameters as options. */
static const tile_pass_option *options_of(const tile_bound_params *bound, tile_arena *arena,
                                          unsigned *count) {
    const tile_function *f = bound->f;
    const tile_binding *bindings = tune_name_point(bound, NULL, 0, arena, count);
    tile_pass_option *options =
        TILE_NEW_ARRAY(arena, tile_pass_option, *count + f->param_count + 1u);
    for (unsigned i = 0; i < *count; i++)
        options[i] = (tile_pass_option){bindings[i].name, bindings[i].value};
    for (size_t i = 0; i < f->param_count; i++) {
        const char *name = f->params[i].name;
        if (f->params[i].kind == TILE_PARAM_type && !tile_is_tuned(f, name))
            options[(*count)++] =
                (tile_pass_option){name, tile_scalar_name(tile_find_bound_scalar(bound, name))};
    }
    return options;
}

/* The model of the launched kernel, or of the one that reads packed copies. */
static void open_launch(tune_plan_model *m, launched *l, const tile_bound_params *bound) {
    tile_arena *arena = m->values.arena;
    const char *arguments =
        m->packing ? tile_packing_of_kernel(m->packing, bound->f->name, arena) : NULL;
    unsigned count = 0;
    tile_module_destroy(l->packed.module);
    l->packed = (tune_packed){.module = NULL};
    if (arguments) {
        const tile_pass_option *options = options_of(bound, arena, &count);
        if (!tune_pack(m->device, bound->f->module, bound->f->name, arguments, l->sizes, options,
                       count, arena, &l->packed)) {
            tile_module_destroy(l->packed.module);
            l->packed = (tune_packed){.module = NULL};
        }
    }
    l->model = l->packed.module
                   ? tune_model_create(m->device, l->packed.reader, l->packed.sizes, arena)
                   : tune_model_create(m->device, bound->f, l->sizes, arena);
}

static double estimate_launch(tune_plan_model *m, tile_op op) {
    const tune_plan_values *v = &m->values;
    launched *l = &m->launches[op.id];
    unsigned count = tile_op_operand_count(v->f, op);
    int64_t *sizes = TILE_NEW_ARRAY(v->arena, int64_t, count + 1);
    tile_bound_params bound;
    tune_plan_read_sizes(v, op, sizes);
    if (!tune_plan_bind_kernel(v, op, &bound)) return 0;
    if (!l->sizes || memcmp(l->sizes, sizes, sizeof *sizes * count) != 0) {
        l->sizes = sizes;
        open_launch(m, l, &bound);
    }
    if (l->packed.module) bound.f = l->packed.reader; /* which has the same parameters */
    return l->packed.copies + tune_model_estimate(l->model, &bound, NULL, &m->why);
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

/* Packing ------------------------------------------------------------------------------------- */

/* "KERNEL.a+KERNEL.b" of "a+b" */
static const char *with_kernel(const char *arguments, const char *kernel, tile_arena *arena) {
    const char *text = "";
    while (*arguments) {
        size_t length = strcspn(arguments, "+");
        text = tile_arena_format(arena, "%s%s%s.%.*s", text, *text ? "+" : "", kernel, (int)length,
                                 arguments);
        arguments += length + (arguments[length] == '+');
    }
    return text;
}

unsigned tune_find_plan_packings(const tile_device *device, const tile_bound_params *point,
                                 const int64_t *sizes, tile_arena *arena,
                                 const char *packings[TUNE_MAX_PLAN_PACKINGS]) {
    tune_plan_values v;
    unsigned found = 0;
    tune_plan_values_open(&v, point->f, sizes, device->num_sms, arena);
    v.point = point;
    TILE_FOR_EACH_OP_INSIDE (v.f, op, v.f->body) {
        tile_bound_params bound;
        const char *own[TUNE_MAX_PACKINGS];
        unsigned bound_count = 0;
        if (tile_op_opcode(v.f, op) != TILE_OP_launch || !tune_plan_bind_kernel(&v, op, &bound))
            continue;
        int64_t *inner = TILE_NEW_ARRAY(arena, int64_t, tile_op_operand_count(v.f, op) + 1u);
        if (!tune_plan_read_sizes(&v, op, inner)) continue;
        const tile_pass_option *options = options_of(&bound, arena, &bound_count);
        tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, bound_count + 1u);
        for (unsigned i = 0; i < bound_count; i++)
            bindings[i] = (tile_binding){options[i].key, options[i].value};
        unsigned count =
            tune_find_packings(device, bound.f, bindings, bound_count, inner, arena, own);
        for (unsigned i = 0; i < count && found < TUNE_MAX_PLAN_PACKINGS; i++)
            packings[found++] = with_kernel(own[i], bound.f->name, arena);
    }
    return found;
}

/* Parameters ---------------------------------------------------------------------------------- */

bool tune_plan_joins(const tile_function *plan, const char *a, const char *b) {
    TILE_FOR_EACH_OP_INSIDE (plan, op, plan->body)
        if (tile_op_opcode(plan, op) == TILE_OP_launch && tile_launch_passes(plan, op, a) &&
            tile_launch_passes(plan, op, b))
            return true;
    return false;
}
