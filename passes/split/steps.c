/* Replaces launches of a kernel by the steps of its plan: see the header. */
#include "passes/split/steps.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "passes/common/host_value.h"
#include "passes/split/split.h"

bool tile_becomes_plan(const tile_function *f) {
    unsigned count;
    if (f->kind != TILE_KERNEL) return f->kind == TILE_PLAN;
    tile_op loop = split_find_clause(f, &count);
    const split_strategy *strategy =
        loop.id ? split_find_strategy(tile_op_attr_text(f, loop, TILE_ATTR_strategy)) : NULL;
    if (!strategy || !strategy->becomes_plan) return false;
    if (strategy->is == TILE_STRATEGY_workspace && split_last_block_adds(f, loop)) return false;
    return tile_op_attr_int(f, loop, TILE_ATTR_split, 1) > 1;
}

tile_function *tile_launched_kernel(const tile_function *plan, tile_op op) {
    bool launches = plan->ops[op.id].opcode == TILE_OP_launch;
    const char *callee = launches ? tile_op_attr_text(plan, op, TILE_ATTR_callee) : NULL;
    tile_function *kernel = callee ? tile_module_find(plan->module, callee) : NULL;
    return kernel && kernel->kind == TILE_KERNEL ? kernel : NULL;
}

/* Running the pass ----------------------------------------------------------------------------- */

static tile_status split_kernel(tile_function *f, const tile_target *target) {
    const tile_pass_options options = {.size = sizeof options, .target = target, .kernel = f->name};
    return tile_becomes_plan(f) ? tile_run_passes(f->module, "split-k", &options) : TILE_OK;
}

tile_status tile_make_steps(tile_module *module, const char *name, const tile_target *target) {
    tile_function *f = tile_module_find(module, name);
    tile_status status = TILE_OK;
    if (f->kind != TILE_PLAN) return split_kernel(f, target);
    for (uint32_t id = 1; id < f->op_count && status == TILE_OK; id++) {
        tile_function *kernel = tile_launched_kernel(f, (tile_op){id});
        if (kernel) status = split_kernel(kernel, target);
    }
    return status;
}

/* Steps in place ------------------------------------------------------------------------------- */

typedef struct place {
    tile_function *to;
    const tile_function *plan;
    tile_op launch;
    tile_arena *arena;
    tile_value *scratch; /* by the plan's value */
    bool failed;
} place;

/* Converts an expression over the plan's arguments to one over those of the launching function. */
static const tile_expr *outer_expr(const place *p, const tile_expr *expr) {
    tile_context *context = tile_function_context(p->to);
    if (expr->kind == TILE_EXPR_ARG)
        return tile_value_as_expr(p->to,
                                  tile_op_operand(p->to, p->launch, (unsigned)expr->integer));
    const tile_expr *args[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < 3 && expr->args[i]; i++)
        if (!(args[i] = outer_expr(p, expr->args[i]))) return NULL;
    return expr->kind == TILE_EXPR_OP
               ? tile_expr_op(context, expr->opcode, args[0], args[1], args[2])
               : expr;
}

/* Scratch is live to the end of the function, so it is allocated at the start, even if it is used
 * in an `if` or a loop. */
static void place_scratch(place *p, tile_op op) {
    tile_value extents[TILE_MAX_RANK], from = tile_op_result(p->plan, op, 0);
    const tile_values given = tile_operands_extents(p->plan, op);
    tile_builder b = tile_builder_before(p->to, tile_region_first(p->to, p->to->body));
    b.loc = tile_op_loc(p->to, p->launch);
    for (unsigned d = 0; d < given.count; d++) {
        const tile_expr *extent = outer_expr(p, tile_value_as_expr(p->plan, given.at[d]));
        if (tile_expr_holds(extent, TILE_EXPR_LOOP)) {
            p->failed = !tile_error_at(
                p->to, p->launch,
                "@%s is split into several kernels, whose scratch depends on an argument that "
                "changes in the loop: pass sizes that do not, or remove its `split`",
                p->plan->name);
            return;
        }
        extents[d] = host_value_cast(&b, host_value(&b, extent), TILE_i32);
    }
    tile_scalar scalar = tile_value_type(p->plan, from)->scalar;
    tile_value to = tile_build_scratch(&b, extents, given.count,
                                       tile_type_scalar(tile_function_context(p->to), scalar));
    const char *name = tile_value_at(p->plan, from)->name;
    if (name) tile_value_set_name(p->to, to, name);
    p->scratch[from.id] = to;
}

static tile_value outer_value(const place *p, tile_builder *b, tile_value value) {
    const tile_value_data *data = tile_value_at(p->plan, value);
    if (p->scratch[value.id].id) return p->scratch[value.id];
    if (data->kind == TILE_VALUE_ARG) return tile_op_operand(p->to, p->launch, data->index);
    if (data->kind == TILE_VALUE_CONSTANT)
        return tile_function_constant(p->to, data->type, data->expr);
    const tile_expr *expr = outer_expr(p, tile_value_as_expr(p->plan, value));
    return host_value_cast(b, host_value(b, expr), data->type->scalar);
}

static void place_launch(place *p, tile_op op, bool first) {
    unsigned count = tile_op_operand_count(p->plan, op);
    tile_value *values = TILE_NEW_ARRAY(p->arena, tile_value, count + 1);
    tile_builder b = tile_builder_before(p->to, p->launch);
    b.loc = tile_op_loc(p->to, p->launch);
    for (unsigned i = 0; i < count; i++)
        values[i] = outer_value(p, &b, tile_op_operand(p->plan, op, i));
    tile_op copy = tile_build_launch(&b, tile_op_attr_text(p->plan, op, TILE_ATTR_callee), NULL, 0,
                                     values, count);
    bool overlaps = first ? tile_op_has_attr(p->to, p->launch, TILE_ATTR_pdl)
                          : tile_op_has_attr(p->plan, op, TILE_ATTR_pdl);
    bool resident = tile_op_has_attr(p->plan, op, TILE_ATTR_resident);
    const char *other = tile_op_attr_text(p->plan, op, TILE_ATTR_otherwise);
    if (resident) tile_op_set_flag(p->to, copy, TILE_ATTR_resident);
    if (other) tile_op_set_text(p->to, copy, TILE_ATTR_otherwise, other);
    if (overlaps && !resident) tile_op_set_flag(p->to, copy, TILE_ATTR_pdl);
}

static bool inline_at(tile_function *to, tile_op launch, const tile_function *plan,
                      tile_arena *arena) {
    place p = {.to = to, .plan = plan, .launch = launch, .arena = arena};
    p.scratch = TILE_NEW_ARRAY(arena, tile_value, plan->value_count);
    bool first = true;
    TILE_FOR_EACH_OP (plan, op, plan->body) {
        if (tile_op_opcode(plan, op) == TILE_OP_scratch) place_scratch(&p, op);
        if (tile_op_opcode(plan, op) != TILE_OP_launch || p.failed) continue;
        place_launch(&p, op, first);
        first = false;
    }
    tile_erase_op(to, launch);
    return !p.failed;
}

tile_status tile_inline_steps(tile_function *plan, tile_arena *scratch) {
    bool placed = true;
    for (tile_function *f = plan->module->first; f; f = f->next) {
        size_t count = f->op_count;
        bool bound = f->kind == TILE_PLAN && f != plan && !f->param_count;
        for (uint32_t id = 1; id < count && bound; id++) {
            const char *callee = tile_op_attr_text(f, (tile_op){id}, TILE_ATTR_callee);
            if (f->ops[id].opcode == TILE_OP_launch && callee && strcmp(callee, plan->name) == 0)
                placed &= inline_at(f, (tile_op){id}, plan, scratch);
        }
    }
    return placed ? TILE_OK : TILE_INVALID;
}

/* Kernels of a plan ---------------------------------------------------------------------------- */

tile_op split_launch(tile_builder *b, const tile_function *kernel, const tile_value *more,
                     tile_arena *arena) {
    const tile_function *plan = b->function;
    tile_value *values = TILE_NEW_ARRAY(arena, tile_value, kernel->arg_count + 1);
    for (size_t i = 0; i < plan->arg_count; i++) values[i] = plan->args[i].value;
    for (size_t i = plan->arg_count; i < kernel->arg_count; i++)
        values[i] = more[i - plan->arg_count];
    return tile_build_launch(b, kernel->name, NULL, 0, values, (unsigned)kernel->arg_count);
}
