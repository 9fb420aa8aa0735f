/* Compiles a plan to the list of the steps of its launch. */
#include "lib/launch/steps.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/integer.h"

/* Values -------------------------------------------------------------------------------------- */

typedef struct maker {
    tile_steps *to;
    const tile_function *f;
    unsigned *scratch_of; /* by value id: index + 1; 0: no scratch */
    unsigned *view_of;    /* the same for subviews */
    unsigned loops;       /* around the current step */
} maker;

#define PUSH(to, list, count, capacity) \
    ((to)->list = tile_arena_grow(&(to)->arena, (to)->list, (to)->count, &(to)->capacity, \
                                  sizeof *(to)->list), \
     &(to)->list[(to)->count++])

static tile_given value_of(maker *m, tile_value value) {
    const tile_value_data *data = tile_value_at(m->f, value);
    if (m->scratch_of[value.id])
        return (tile_given){.kind = TILE_GIVEN_SCRATCH, .index = m->scratch_of[value.id] - 1};
    if (m->view_of[value.id])
        return (tile_given){.kind = TILE_GIVEN_VIEW, .index = m->view_of[value.id] - 1};
    if (data->kind == TILE_VALUE_ARG)
        return (tile_given){.kind = TILE_GIVEN_ARGUMENT, .index = data->index};
    if (data->kind == TILE_VALUE_CONSTANT && data->expr->kind == TILE_EXPR_FLOAT)
        return (tile_given){.kind = TILE_GIVEN_NUMBER, .number = data->expr->number};
    return (tile_given){.kind = TILE_GIVEN_INTEGER, .expr = tile_value_as_expr(m->f, value)};
}

/* Records that the next step uses the scratch. */
static void note_use(maker *m, const tile_given *given) {
    unsigned step = (unsigned)m->to->step_count;
    while (given->kind == TILE_GIVEN_VIEW) given = &m->to->views[given->index].of;
    if (given->kind != TILE_GIVEN_SCRATCH) return;
    tile_step_scratch *scratch = &m->to->scratch[given->index];
    if (scratch->first > scratch->last) scratch->first = step;
    scratch->last = step;
}

static tile_given *values_of(maker *m, tile_op op, unsigned *count) {
    *count = tile_op_operand_count(m->f, op);
    tile_given *given = TILE_NEW_ARRAY(&m->to->arena, tile_given, *count + 1u);
    for (unsigned i = 0; i < *count; i++) {
        given[i] = value_of(m, tile_op_operand(m->f, op, i));
        note_use(m, &given[i]);
    }
    return given;
}

/* Steps --------------------------------------------------------------------------------------- */

static void add_scratch(maker *m, tile_op op) {
    tile_value value = tile_op_result(m->f, op, 0);
    const tile_values extents = tile_operands_extents(m->f, op);
    tile_step_scratch *scratch = PUSH(m->to, scratch, scratch_count, scratch_capacity);
    const char *name = tile_value_at(m->f, value)->name;
    *scratch = (tile_step_scratch){.name = name ? name : "",
                                   .loc = tile_op_loc(m->f, op),
                                   .scalar = tile_value_type(m->f, value)->scalar,
                                   .rank = extents.count,
                                   .first = 1};
    for (unsigned d = 0; d < extents.count; d++)
        scratch->extents[d] = tile_value_as_expr(m->f, extents.at[d]);
    m->scratch_of[value.id] = (unsigned)m->to->scratch_count;
}

/* The extents of a view: an argument, a scratch or a subview. */
static void copy_extents(const maker *m, const tile_given *of, unsigned rank,
                         const tile_expr **extents) {
    for (unsigned d = 0; d < rank; d++)
        extents[d] = of->kind == TILE_GIVEN_SCRATCH ? m->to->scratch[of->index].extents[d]
                     : of->kind == TILE_GIVEN_VIEW  ? m->to->views[of->index].extents[d]
                                                    : tile_function_arg_extent(m->f, of->index, d);
}

static void add_view(maker *m, tile_op op) {
    tile_value value = tile_op_result(m->f, op, 0);
    const tile_values extents = tile_operands_extents(m->f, op), src = tile_operands_src(m->f, op);
    tile_step_view view = {.loc = tile_op_loc(m->f, op),
                           .of = value_of(m, src.at[0]),
                           .scalar = tile_value_type(m->f, value)->scalar,
                           .of_rank = src.count - 1,
                           .rank = extents.count};
    copy_extents(m, &view.of, view.of_rank, view.of_extents);
    for (unsigned d = 0; d < view.of_rank; d++)
        view.at[d] = tile_value_as_expr(m->f, src.at[d + 1]);
    for (unsigned d = 0; d < view.rank; d++)
        view.extents[d] = tile_value_as_expr(m->f, extents.at[d]);
    *PUSH(m->to, views, view_count, view_capacity) = view;
    m->view_of[value.id] = (unsigned)m->to->view_count;
}

static unsigned kernel_index(maker *m, const char *name) {
    tile_steps *to = m->to;
    for (size_t i = 0; i < to->kernel_count; i++)
        if (strcmp(to->kernels[i], name) == 0) return (unsigned)i;
    *PUSH(to, kernels, kernel_count, kernel_capacity) = name;
    return (unsigned)to->kernel_count - 1;
}

/* The next step may overlap the step before it, or before the loops that start with it. */
static void note_overlap(maker *m) {
    for (size_t i = m->to->step_count; i-- > 0;) {
        tile_step *before = &m->to->steps[i];
        before->overlapped = true;
        if (before->kind != TILE_STEP_FOR) return;
    }
}

static void add_launch(maker *m, tile_op op) {
    tile_step step = {.kind = TILE_STEP_LAUNCH,
                      .loc = tile_op_loc(m->f, op),
                      .overlaps = tile_op_has_attr(m->f, op, TILE_ATTR_pdl),
                      .resident = tile_op_has_attr(m->f, op, TILE_ATTR_resident),
                      .otherwise = -1};
    const char *other = tile_op_attr_text(m->f, op, TILE_ATTR_otherwise);
    step.kernel = kernel_index(m, tile_op_attr_text(m->f, op, TILE_ATTR_callee));
    if (other) step.otherwise = (int)kernel_index(m, other);
    step.given = values_of(m, op, &step.given_count);
    if (step.overlaps) note_overlap(m);
    *PUSH(m->to, steps, step_count, step_capacity) = step;
}

static void add_fill(maker *m, tile_op op) {
    const tile_type *type = tile_value_type(m->f, tile_operand_dst(m->f, op));
    tile_step step = {.kind = TILE_STEP_FILL,
                      .loc = tile_op_loc(m->f, op),
                      .scalar = type->scalar,
                      .rank = type->rank};
    step.given = values_of(m, op, &step.given_count);
    copy_extents(m, step.given, type->rank, step.extents);
    *PUSH(m->to, steps, step_count, step_capacity) = step;
}

static void add_region(maker *m, tile_region region);

static void add_if(maker *m, tile_op op) {
    tile_steps *to = m->to;
    tile_step branch = {.kind = TILE_STEP_BRANCH, .loc = tile_op_loc(m->f, op)};
    branch.condition = tile_value_as_expr(m->f, tile_operand_condition(m->f, op));
    size_t at = to->step_count;
    *PUSH(to, steps, step_count, step_capacity) = branch;
    add_region(m, tile_op_region(m->f, op, 0));
    size_t jump = to->step_count;
    *PUSH(to, steps, step_count, step_capacity) = (tile_step){.kind = TILE_STEP_JUMP};
    to->steps[at].target = (unsigned)to->step_count;
    add_region(m, tile_op_region(m->f, op, 1));
    to->steps[jump].target = (unsigned)to->step_count;
}

/* An iteration may use what an earlier one wrote, so scratch is in use throughout the loop. */
static void extend_uses(maker *m, unsigned first) {
    unsigned last = (unsigned)m->to->step_count - 1;
    for (size_t i = 0; i < m->to->scratch_count; i++) {
        tile_step_scratch *scratch = &m->to->scratch[i];
        if (scratch->first > scratch->last || scratch->last < first) continue;
        if (scratch->first > first) scratch->first = first;
        scratch->last = last;
    }
}

static void add_for(maker *m, tile_op op) {
    tile_steps *to = m->to;
    tile_step loop = {.kind = TILE_STEP_FOR, .loc = tile_op_loc(m->f, op), .loop = m->loops};
    unsigned at = (unsigned)to->step_count;
    const char *name =
        tile_value_at(m->f, tile_region_arg(m->f, tile_op_region(m->f, op, 0), 0))->name;
    loop.variable = name ? name : "";
    loop.begin = tile_value_as_expr(m->f, tile_operand_begin(m->f, op));
    loop.end = tile_value_as_expr(m->f, tile_operand_end(m->f, op));
    loop.by = tile_value_as_expr(m->f, tile_operand_step(m->f, op));
    *PUSH(to, steps, step_count, step_capacity) = loop;
    m->loops++;
    add_region(m, tile_op_region(m->f, op, 0));
    m->loops--;
    if (to->steps[at].overlapped) note_overlap(m); /* by the first step of the next iteration */
    loop.kind = TILE_STEP_NEXT;
    loop.target = at;
    *PUSH(to, steps, step_count, step_capacity) = loop;
    to->steps[at].target = (unsigned)to->step_count;
    extend_uses(m, at);
}

/* An operation that is no step is part of expressions of other steps; otherwise the plan has not
 * been verified. */
static void check_expression(const maker *m, tile_op op) {
    unsigned count = tile_op_result_count(m->f, op);
    assert(count && "an operation without results is a step");
    for (unsigned i = 0; i < count; i++)
        assert(tile_value_as_expr(m->f, tile_op_result(m->f, op, i)));
}

static void add_region(maker *m, tile_region region) {
    TILE_FOR_EACH_OP (m->f, op, region) switch (tile_op_opcode(m->f, op)) {
        case TILE_OP_scratch: add_scratch(m, op); break;
        case TILE_OP_launch: add_launch(m, op); break;
        case TILE_OP_fill: add_fill(m, op); break;
        case TILE_OP_if: add_if(m, op); break;
        case TILE_OP_for: add_for(m, op); break;
        case TILE_OP_subview: add_view(m, op); break;
        case TILE_OP_yield: break;
        default: check_expression(m, op); break;
        }
}

tile_steps *tile_steps_create(const tile_function *plan) {
    tile_steps *steps = tile_malloc(sizeof *steps);
    *steps = (tile_steps){.context = tile_function_context(plan), .plan = plan};
    maker m = {.to = steps, .f = plan};
    m.scratch_of = TILE_NEW_ARRAY(&steps->arena, unsigned, plan->value_count);
    m.view_of = TILE_NEW_ARRAY(&steps->arena, unsigned, plan->value_count);
    add_region(&m, plan->body);
    return steps;
}

void tile_steps_destroy(tile_steps *steps) {
    if (!steps) return;
    tile_arena_reset(&steps->arena);
    free(steps);
}

bool tile_steps_launch(const tile_steps *steps, unsigned kernel) {
    for (size_t i = 0; i < steps->step_count; i++)
        if (steps->steps[i].kind == TILE_STEP_LAUNCH && steps->steps[i].kernel == kernel)
            return true;
    return false;
}

/* Scratch ------------------------------------------------------------------------------------- */

static bool at_once(const tile_step_scratch *a, const tile_step_scratch *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The first offset at which it overlaps none of the placed ones: 0, or the end of one of them. */
static int64_t find_place(const tile_steps *steps, const int64_t *bytes, int64_t alignment,
                          const int64_t *offsets, size_t index) {
    int64_t place = 0;
    for (size_t i = 0; i < index; i++) {
        bool meets = at_once(&steps->scratch[i], &steps->scratch[index]) &&
                     place < offsets[i] + bytes[i] && offsets[i] < place + bytes[index];
        if (!meets) continue;
        place = tile_round_up(offsets[i] + bytes[i], alignment);
        i = (size_t)-1; /* start again with the first one */
    }
    return place;
}

int64_t tile_steps_place(const tile_steps *steps, const int64_t *bytes, int64_t alignment,
                         int64_t *offsets) {
    int64_t total = 0;
    for (size_t i = 0; i < steps->scratch_count; i++) {
        offsets[i] = find_place(steps, bytes, alignment, offsets, i);
        if (offsets[i] + bytes[i] > total) total = offsets[i] + bytes[i];
    }
    return total;
}

/* Parameters ---------------------------------------------------------------------------------- */

bool tile_launch_passes(const tile_function *plan, tile_op launch, const char *param) {
    const tile_attr *values = tile_op_attr(plan, launch, TILE_ATTR_values);
    for (unsigned i = 0; values && i < values->count; i++) {
        const tile_type *type = values->values[i].type;
        if (tile_expr_names_param(values->values[i].expr, param)) return true;
        if (type && type->param && strcmp(type->param, param) == 0) return true;
    }
    for (unsigned i = 0; i < tile_op_operand_count(plan, launch); i++)
        if (tile_expr_names_param(tile_value_as_expr(plan, tile_op_operand(plan, launch, i)),
                                  param))
            return true;
    return false;
}
