/* Instantiates the kernels that a plan launches. */
#include "passes/instantiate/plan.h"

#include <inttypes.h>
#include <string.h>

#include "passes/instantiate/fit_point.h"

typedef struct instance {
    const tile_function *kernel;
    const tile_attr *values; /* NULL: none were given */
    const char *name;
} instance;

typedef struct instances {
    tile_function *plan;
    const tile_target *target;
    tile_arena *arena;
    instance *made;
    size_t count, capacity;
    tile_status status;
} instances;

static const tile_param_value *find_value(const tile_attr *values, const char *name) {
    for (unsigned i = 0; values && i < values->count; i++)
        if (strcmp(values->values[i].name, name) == 0) return &values->values[i];
    return NULL;
}

/* Compares sets; expressions and types are interned, so pointers are compared. */
static bool same_values(const tile_attr *a, const tile_attr *b) {
    if ((a ? a->count : 0) != (b ? b->count : 0)) return false;
    for (unsigned i = 0; a && i < a->count; i++) {
        const tile_param_value *value = &a->values[i], *other = find_value(b, value->name);
        if (!other || other->expr != value->expr || other->type != value->type) return false;
    }
    return true;
}

static const char *free_name(instances *all, const tile_function *kernel) {
    const char *stem = tile_arena_format(all->arena, "%s_%s", all->plan->name, kernel->name);
    const char *name = stem;
    for (unsigned i = 2; tile_module_find(all->plan->module, name); i++)
        name = tile_arena_format(all->arena, "%s_%u", stem, i);
    return name;
}

static const char *value_text(instances *all, const tile_param_value *value) {
    int64_t integer = 0;
    if (value->type) return tile_scalar_name(value->type->scalar);
    if (value->expr->kind == TILE_EXPR_WORD) return value->expr->name;
    tile_expr_is_int(value->expr, &integer); /* bound with the plan's parameters */
    return tile_arena_format(all->arena, "%" PRId64, integer);
}

static const char *make(instances *all, tile_op op, tile_function *kernel,
                        const tile_attr *values) {
    unsigned count = values ? values->count : 0;
    tile_binding *bindings = TILE_NEW_ARRAY(all->arena, tile_binding, count + 1u);
    for (unsigned i = 0; i < count; i++)
        bindings[i] = (tile_binding){values->values[i].name, value_text(all, &values->values[i])};
    tile_function *copy = tile_function_clone(kernel, free_name(all, kernel));
    copy->instance_of = kernel->name;
    if (tile_instantiate_for(copy->module, copy->name, bindings, count, all->target) != TILE_OK) {
        tile_note_at(all->plan, op, "it is launched here");
        all->status = TILE_INVALID;
    }
    all->made =
        tile_arena_grow(all->arena, all->made, all->count, &all->capacity, sizeof *all->made);
    all->made[all->count++] = (instance){kernel, values, copy->name};
    return copy->name;
}

static const char *find_or_make(instances *all, tile_op op, tile_function *kernel) {
    const tile_attr *found = tile_op_attr(all->plan, op, TILE_ATTR_values), *values = NULL;
    if (found) { /* copied: the attribute moves when the launch loses it */
        tile_attr *kept = tile_arena_copy(all->arena, found, sizeof *found);
        values = kept;
    }
    for (size_t i = 0; i < all->count; i++)
        if (all->made[i].kernel == kernel && same_values(all->made[i].values, values))
            return all->made[i].name;
    return make(all, op, kernel, values);
}

static void instantiate_launch(instances *all, tile_op op) {
    tile_function *plan = all->plan;
    if (tile_op_opcode(plan, op) != TILE_OP_launch || all->status != TILE_OK) return;
    const char *callee = tile_op_attr_text(plan, op, TILE_ATTR_callee);
    tile_function *kernel = tile_module_find(plan->module, callee);
    if (!kernel || !kernel->param_count) return;
    const char *name = find_or_make(all, op, kernel);
    tile_op_remove_attr(plan, op, TILE_ATTR_values);
    tile_op_set_text(plan, op, TILE_ATTR_callee, name);
}

/* Replaces each `if` whose condition the point decides by the region that runs: the kernels of the
 * other one are not compiled, and need not fit. */
static void take_known_branches(tile_function *plan) {
    for (uint32_t id = 1; id < plan->op_count; id++) {
        const tile_op op = {id};
        int64_t holds;
        if (plan->ops[id].opcode != TILE_OP_if) continue;
        const tile_expr *condition = tile_value_as_expr(plan, tile_operand_condition(plan, op));
        if (!condition || !tile_expr_is_int(condition, &holds)) continue;
        tile_region taken = tile_op_region(plan, op, holds ? 0 : 1);
        tile_op step = tile_region_at(plan, taken)->first, next;
        for (; step.id && tile_op_opcode(plan, step) != TILE_OP_yield; step = next) {
            next = tile_op_next(plan, step);
            tile_move_op(plan, step, tile_op_at(plan, op)->parent, op);
        }
        tile_erase_op(plan, op);
    }
}

tile_status tile_instantiate_launches(tile_function *plan, const tile_target *target,
                                      tile_arena *arena) {
    instances all = {.plan = plan, .target = target, .arena = arena, .status = TILE_OK};
    if (plan->kind != TILE_PLAN) return TILE_OK;
    take_known_branches(plan);
    TILE_FOR_EACH_OP_INSIDE (plan, op, plan->body) instantiate_launch(&all, op);
    return all.status == TILE_OK ? tile_function_verify(plan) : all.status;
}

static bool launches(const tile_function *plan, const char *kernel) {
    for (uint32_t id = 1; id < plan->op_count; id++) {
        const char *callee = tile_op_attr_text(plan, (tile_op){id}, TILE_ATTR_callee);
        if (plan->ops[id].opcode == TILE_OP_launch && callee && strcmp(callee, kernel) == 0)
            return true;
    }
    return false;
}

tile_function *tile_find_launching_plan(const tile_function *kernel) {
    if (!kernel->param_count) return NULL; /* a kernel without parameters is launched directly */
    for (tile_function *f = kernel->module->first; f; f = f->next)
        if (f->kind == TILE_PLAN && launches(f, kernel->name)) return f;
    return NULL;
}

bool tile_has_instances(const tile_function *kernel) {
    for (const tile_function *f = kernel->module->first; f; f = f->next)
        if (f->instance_of && strcmp(f->instance_of, kernel->name) == 0) return true;
    return false;
}
