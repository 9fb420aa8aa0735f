/* The steps of a plan whose compute has loops: each loop of the compute becomes a loop of the plan
 * around the launches of its sections. */
#include "passes/schedule/plan.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "passes/schedule/cut/cut.h"

typedef struct emitter {
    schedule *s; /* of the whole compute */
    tile_builder b;
    const sched_sections *sections;
} emitter;

/* Host expressions ----------------------------------------------------------------------------- */

static const tile_expr *number(const emitter *e, int64_t value) {
    return tile_expr_int(e->s->context, value);
}

static const tile_expr *combine(const emitter *e, tile_opcode opcode, const tile_expr *a,
                                const tile_expr *b) {
    return tile_expr_op(e->s->context, opcode, a, b, NULL);
}

static const sched_variable *find_variable(const emitter *e, const char *name) {
    for (size_t i = 0; i < e->sections->variable_count; i++)
        if (strcmp(e->sections->variables[i].name, name) == 0) return &e->sections->variables[i];
    return NULL;
}

static bool has_variable(const emitter *e, const tile_expr *expr) {
    bool found = expr->kind == TILE_EXPR_PARAM && find_variable(e, expr->name);
    for (unsigned i = 0; i < 3 && expr->kind == TILE_EXPR_OP && expr->args[i]; i++)
        found |= has_variable(e, expr->args[i]);
    return found;
}

/* A host expression of the sections as a value of the plan. */
static tile_value host_value_of(emitter *e, const tile_expr *expr) {
    if (!has_variable(e, expr)) return sched_plan_number(&e->b, sched_expr(e->s, expr));
    if (expr->kind == TILE_EXPR_PARAM) return find_variable(e, expr->name)->number;
    tile_segment segments[3] = {{{0}, NULL, 0}};
    unsigned count = 0;
    for (; count < 3 && expr->args[count]; count++)
        segments[count].head = host_value_of(e, expr->args[count]);
    return tile_build_op_value(&e->b, expr->opcode, segments, count, NULL);
}

/* Memory --------------------------------------------------------------------------------------- */

/* Scratch that sections share. If copies alternate, the second one follows the first. */
static void make_buffers(emitter *e, const tile_value *arrays) {
    schedule *s = e->s;
    for (sched_buffer *buffer = e->sections->buffers; buffer; buffer = buffer->next) {
        const tile_type *type = sched_type(s, buffer->value);
        tile_value extents[TILE_MAX_RANK];
        unsigned results = 0;
        for (size_t a = 0; a < s->array_count; a++) {
            bool result = s->arrays[a].place == SCHED_RESULT;
            if (result ? (int)results == buffer->result
                       : buffer->is_argument && s->arrays[a].value.id == buffer->value.id)
                buffer->view = arrays[a];
            results += result;
        }
        if (buffer->view.id) continue;
        for (unsigned d = 0; d < type->rank; d++) {
            const tile_expr *extent = sched_expr(s, type->dims[d]);
            if (!d && buffer->alternates) extent = combine(e, TILE_OP_mul, extent, number(e, 2));
            extents[d] = sched_plan_number(&e->b, extent);
        }
        buffer->view =
            tile_build_scratch(&e->b, extents, type->rank, sched_element(s, buffer->value));
        tile_value_set_name(e->b.function, buffer->view, buffer->name);
    }
}

/* The number of iterations before the current one, or of all. */
static const tile_expr *count_iterations(const emitter *e, const sched_loop *loop, bool all) {
    const tile_expr *count = all ? loop->end : loop->variable;
    if (!tile_expr_is(loop->begin, 0)) count = combine(e, TILE_OP_sub, count, loop->begin);
    if (all) count = combine(e, TILE_OP_max, count, number(e, 0));
    if (tile_expr_is(loop->step, 1)) return count;
    return combine(e, all ? TILE_OP_ceildiv : TILE_OP_div, count, loop->step);
}

/* The coordinate of the copy along the first dim, whose extent is that of one copy. */
static const tile_expr *place_of_copy(const emitter *e, const sched_location *at,
                                      const tile_expr *extent) {
    const tile_expr *count = NULL;
    switch (at->copy) {
    case SCHED_COPY_ONLY:
    case SCHED_COPY_INITIAL: return number(e, 0);
    case SCHED_COPY_CURRENT: count = count_iterations(e, at->loop, false); break;
    case SCHED_COPY_NEXT:
        count = combine(e, TILE_OP_add, count_iterations(e, at->loop, false), number(e, 1));
        break;
    case SCHED_COPY_FINAL: count = count_iterations(e, at->loop, true); break;
    }
    return tile_expr_multiply(e->s->context, combine(e, TILE_OP_rem, count, number(e, 2)), extent);
}

/* The view of a tensor's memory where the builder is. */
static tile_value view_of(emitter *e, const sched_location *at) {
    schedule *s = e->s;
    const tile_type *whole = sched_type(s, at->buffer->value), *type = at->part ? at->part : whole;
    tile_value first[TILE_MAX_RANK], extents[TILE_MAX_RANK];
    if (!at->part && !at->buffer->alternates) return at->buffer->view;
    for (unsigned d = 0; d < whole->rank; d++) {
        const tile_expr *place = at->part ? at->first[d] : number(e, 0);
        if (!d && !at->part) place = place_of_copy(e, at, sched_dim(s, whole, 0));
        first[d] = host_value_of(e, place);
    }
    for (unsigned d = 0; d < type->rank; d++) extents[d] = host_value_of(e, sched_dim(s, type, d));
    return tile_build_subview(&e->b, at->buffer->view, first, whole->rank, extents, type->rank,
                              NULL);
}

/* Launches ------------------------------------------------------------------------------------- */

static const sched_location *find_location(const sched_section *section, const char *name) {
    for (size_t i = 0; i < section->array_count; i++)
        if (strcmp(section->arrays[i].name, name) == 0) return &section->arrays[i].at;
    return NULL;
}

/* The views of a section's arrays. Its own scratch exists. */
static void find_views(emitter *e, const sched_section *section, tile_value *arrays) {
    const schedule *own = section->scheduled;
    for (size_t a = 0; a < own->array_count; a++) {
        const sched_location *at = find_location(section, own->arrays[a].name);
        if (own->arrays[a].place != SCHED_SCRATCH && at) arrays[a] = view_of(e, at);
    }
}

/* The plan's value for the argument of a kernel: a dim or variable, a scalar, or an array. */
static tile_value argument_of(emitter *e, const sched_section *section, const tile_value *arrays,
                              const tile_function *kernel, size_t i) {
    const schedule *own = section->scheduled;
    const char *name = kernel->args[i].name;
    if (i < own->dim_count - own->has_variable)
        return host_value_of(e, tile_expr_param(e->s->context, own->dims[i]->name));
    for (size_t a = 0; a < own->array_count; a++)
        if (strcmp(own->arrays[a].name, name) == 0) return arrays[a];
    const tile_arg_decl *arg = tile_function_find_arg(e->b.function, name);
    return arg ? arg->value : TILE_NO_VALUE;
}

/* Where the compute has what the section writes. */
static tile_loc loc_of(const emitter *e, const sched_section *section) {
    const tile_function *f = e->s->compute;
    if (section->resident) return section->resident->loop->loc;
    tile_op op = tile_value_def(f, section->stores[0].value);
    return op.id ? tile_op_loc(f, op) : f->loc;
}

static void launch_section(emitter *e, const sched_section *section, tile_value *arrays) {
    const schedule *own = section->scheduled;
    e->b.loc = loc_of(e, section);
    find_views(e, section, arrays);
    for (size_t g = 0; g < own->group_count; g++) {
        const tile_function *kernel = own->groups[g]->kernel;
        tile_value *arguments = TILE_NEW_ARRAY(e->s->arena, tile_value, kernel->arg_count + 1);
        for (size_t i = 0; i < kernel->arg_count; i++)
            arguments[i] = argument_of(e, section, arrays, kernel, i);
        sched_launch(e->s, &e->b, section->first_group + g, arguments);
    }
}

static void launch_steps(emitter *e, const sched_step *step);

static void launch_loop(emitter *e, const sched_loop *loop) {
    tile_builder outer = e->b;
    tile_function *plan = outer.function;
    e->b.loc = loop->loc;
    tile_op op =
        tile_build_for_loop(&e->b, host_value_of(e, loop->begin), host_value_of(e, loop->end),
                            host_value_of(e, loop->step), NULL, 0);
    if (!op.id) return;
    tile_region body = tile_op_region(plan, op, 0);
    sched_variable *variable = (sched_variable *)find_variable(e, loop->variable->name);
    variable->number = tile_region_arg(plan, body, 0);
    tile_value_set_name(plan, variable->number, variable->name);
    e->b = tile_builder_at_end(plan, body);
    launch_steps(e, loop->steps);
    tile_build_yield(&e->b, NULL, 0);
    e->b = outer;
}

static void launch_steps(emitter *e, const sched_step *step) {
    for (; step; step = step->next) {
        if (step->loop)
            launch_loop(e, step->loop);
        else if (step->section->scheduled)
            launch_section(e, step->section, step->section->views);
    }
}

/* Scratch exists until the plan ends, so that it is created outside of loops. */
static void make_own_scratch(emitter *e, const sched_step *step) {
    for (; step; step = step->next) {
        if (step->loop) make_own_scratch(e, step->loop->steps);
        if (!step->section || !step->section->scheduled) continue;
        schedule *own = step->section->scheduled;
        step->section->views = TILE_NEW_ARRAY(e->s->arena, tile_value, own->array_count + 1);
        sched_make_scratch(own, &e->b, step->section->views);
    }
}

void sched_launch_sections(schedule *s, tile_builder *b, const tile_value *arrays,
                           const sched_sections *sections) {
    emitter e = {.s = s, .b = *b, .sections = sections};
    for (size_t i = 0; i < sections->variable_count; i++)
        for (size_t a = 0; a < s->compute->arg_count; a++)
            if (s->compute->args[a].value.id == sections->variables[i].value.id)
                sections->variables[i].number =
                    tile_function_find_arg(b->function, s->compute->args[a].name)->value;
    make_buffers(&e, arrays);
    make_own_scratch(&e, sections->steps);
    launch_steps(&e, sections->steps);
}
