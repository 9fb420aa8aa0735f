/* Plans that launch the kernels of a compute: their interface, their tuning points, and their
 * steps. */
#include "passes/schedule/plan.h"

#include <stdlib.h>
#include <string.h>

#include "lib/check/take_points.h"
#include "lib/ir/syntax.h"
#include "passes/schedule/products/space.h"
#include "passes/schedule/rows/rows.h"

/* Plans ---------------------------------------------------------------------------------------- */

static const tile_type *int_type(const schedule *s) {
    return tile_type_scalar(s->context, TILE_i32);
}

/* Declares the interface of a created function: dims, then the compute's arguments and results. */
static void declare_interface(schedule *s, tile_function *f, tile_value *arrays,
                              tile_value *scalars) {
    for (unsigned i = 0; i < s->dim_count; i++)
        tile_function_add_arg(f, s->dim_names[i], int_type(s));
    for (size_t i = 0; i < s->compute->arg_count; i++) {
        const tile_arg_decl *arg = &s->compute->args[i];
        if (arg->type->kind != TILE_TYPE_TENSOR)
            scalars[i] = tile_function_add_arg(f, arg->name, sched_element(s, arg->value));
        for (size_t a = 0; a < s->array_count; a++) {
            if (s->arrays[a].place != SCHED_ARGUMENT || s->arrays[a].value.id != arg->value.id)
                continue;
            arrays[a] = sched_add_view(s, f, (unsigned)a);
        }
    }
    for (size_t a = 0; a < s->array_count; a++)
        if (s->arrays[a].place == SCHED_RESULT) arrays[a] = sched_add_view(s, f, (unsigned)a);
}

/* References the compute with the given values of its dims, and with dims whose arguments have
 * other names. */
void sched_set_reference(schedule *s, tile_function *f) {
    tile_param_value *values =
        TILE_NEW_ARRAY(s->arena, tile_param_value, s->compute->param_count + 1);
    unsigned count = 0;
    for (unsigned i = 0; i < s->dim_count; i++)
        if (s->dim_names[i] != s->dims[i]->name)
            values[count++] =
                (tile_param_value){s->dims[i]->name, tile_expr_arg(s->context, i), NULL};
    for (size_t i = 0; i < s->compute->param_count; i++) {
        const tile_param_decl *param = &s->compute->params[i];
        const char *given = sched_given(s, param->name);
        if (given && param->kind != TILE_PARAM_type)
            values[count++] = (tile_param_value){
                param->name, tile_expr_int(s->context, strtoll(given, NULL, 10)), NULL};
    }
    tile_function_set_reference(f, s->compute->name, values, count);
    f->reference_loc = s->compute->loc;
}

/* Returns the plan's value for an argument of a kernel, which has the same name. */
static tile_value plan_value_of(schedule *s, const tile_function *plan, const tile_value *arrays,
                                const char *name) {
    const tile_arg_decl *arg = tile_function_find_arg(plan, name);
    if (arg) return arg->value;
    for (size_t a = 0; a < s->array_count; a++)
        if (strcmp(s->arrays[a].name, name) == 0) return arrays[a];
    return TILE_NO_VALUE;
}

static const tile_function *find_product(const schedule *s, bool repeated) {
    for (size_t i = 0; i < s->group_count; i++)
        if ((s->groups[i]->kind == SCHED_MATMUL || s->groups[i]->kind == SCHED_ONLINE) &&
            s->groups[i]->repeated == repeated)
            return s->groups[i]->kernel;
    return NULL;
}

/* Returns the kernel of the first product, in a loop if possible, whose tuning points the plan
 * adopts, because most of the time is spent there. NULL if there is none. */
static const tile_function *find_leader(const schedule *s) {
    const tile_function *repeated = find_product(s, true);
    return repeated ? repeated : find_product(s, false);
}

/* Compares clauses without the points that exist only at some launch sizes. */
static bool same_clause(const tile_tune_clause *a, const tile_tune_clause *b) {
    unsigned from = sched_count_sized(a), other = sched_count_sized(b);
    unsigned points = a->point_count - from, width = a->name_count;
    bool same = width == b->name_count && points == b->point_count - other;
    for (unsigned i = 0; same && i < width; i++) same = strcmp(a->names[i], b->names[i]) == 0;
    for (unsigned i = 0; same && i < width * points; i++)
        same = a->values[from * width + i] == b->values[other * width + i];
    return same;
}

/* Returns whether the kernel has the same tuning points as the leader. */
static bool follows(const tile_function *kernel, const tile_function *leader) {
    bool same = leader && kernel->param_count == leader->param_count &&
                kernel->tune_count == leader->tune_count;
    for (size_t i = 0; same && i < kernel->param_count; i++)
        same = strcmp(kernel->params[i].name, leader->params[i].name) == 0;
    for (size_t i = 0; same && i < kernel->tune_count; i++)
        same = same_clause(&kernel->tunes[i], &leader->tunes[i]);
    return same;
}

/* Returns the tune clause for the parts of a reduction; NULL if there is none. */
static const tile_tune_clause *find_parts(const sched_group *g) {
    for (size_t i = 0; i < g->kernel->tune_count && g->kind == SCHED_ROWS; i++)
        if (strcmp(g->kernel->tunes[i].names[0], SCHED_SPLIT) == 0) return &g->kernel->tunes[i];
    return NULL;
}

static const char *numbered(schedule *s, const char *name, size_t group) {
    return tile_arena_format(s->arena, "%s_%zu", name, group + 1);
}

/* Each kernel's reductions have their own number of parts. The plan gets parameters for each of
 * these kernels, such as `split_2` for the second kernel, as long as a launch can search all
 * points. */
static void take_parts(schedule *s, tile_function *plan) {
    enum { MAX_POINTS = 512 };
    size_t points = 1;
    for (size_t i = 0; i < plan->tune_count; i++) points *= plan->tunes[i].point_count;
    for (size_t g = 0; g < s->group_count; g++) {
        const tile_tune_clause *clause = find_parts(s->groups[g]);
        if (!clause || points * clause->point_count > MAX_POINTS) continue;
        const char *names[] = {numbered(s, SCHED_SPLIT, g), numbered(s, SCHED_STRATEGY, g)};
        tile_function_add_param(plan, names[0], TILE_PARAM_int, NULL, NULL);
        tile_function_add_param(plan, names[1], TILE_PARAM_word, NULL, NULL);
        tile_function_add_tune(plan, 2, names, clause->point_count, clause->values);
        points *= clause->point_count;
    }
}

/* Returns whether this is a product that needs parts at some sizes and does not have the leader's
 * points. */
static bool needs_own_parts(const schedule *s, size_t group) {
    const sched_group *g = s->groups[group];
    return g->parts && !follows(g->kernel, find_leader(s));
}

/* Returns the first product with the same number of parts at all sizes: they share their
 * parameters. */
static size_t find_sharing(const schedule *s, size_t group) {
    size_t first = 0;
    while (!needs_own_parts(s, first) || s->groups[first]->parts != s->groups[group]->parts)
        first++;
    return first;
}

/* A product that does not follow the leader has separate parameters for its parts, such as
 * `split_2` for the second kernel. Sizes that need no parts have only one choice. */
static void take_own_parts(schedule *s, tile_function *plan, size_t group, const tile_expr *parts) {
    const char *names[] = {numbered(s, SCHED_SPLIT, group), numbered(s, SCHED_STRATEGY, group)};
    const tile_expr *one = tile_expr_int(s->context, 1);
    const tile_expr *values[] = {parts, tile_expr_word(s->context, "workspace"), one,
                                 tile_expr_word(s->context, "serial")};
    tile_function_add_param(plan, names[0], TILE_PARAM_int, NULL, NULL);
    tile_function_add_param(plan, names[1], TILE_PARAM_word, NULL, NULL);
    tile_function_add_tune(plan, 2, names, 2, values);
    const tile_expr *split = tile_expr_param(s->context, names[0]);
    const tile_expr *least = tile_expr_op(s->context, TILE_OP_max, parts, one, NULL);
    tile_function_add_where(plan, tile_expr_op(s->context, TILE_OP_ge, split, least, NULL));
}

/* Determines the number of parts of products at a launch's sizes. Products that share points use
 * the maximum over all of them. */
static void take_sized_parts(schedule *s, tile_function *plan) {
    const tile_function *leader = find_leader(s);
    const tile_expr *most = NULL;
    for (size_t i = 0; i < s->group_count; i++) {
        const tile_expr *parts = s->groups[i]->parts;
        if (parts && follows(s->groups[i]->kernel, leader))
            most = most ? tile_expr_op(s->context, TILE_OP_max, most, parts, NULL) : parts;
    }
    if (most) sched_size_points(s, plan, most);
    for (size_t i = 0; i < s->group_count; i++)
        if (needs_own_parts(s, i) && find_sharing(s, i) == i)
            take_own_parts(s, plan, i, s->groups[i]->parts);
}

/* Lists values for the plan's parameters that the kernel has. */
static unsigned list_values(schedule *s, const tile_function *plan, size_t group,
                            tile_param_value *values) {
    const tile_function *kernel = s->groups[group]->kernel;
    bool same = follows(kernel, find_leader(s));
    size_t named = needs_own_parts(s, group) ? find_sharing(s, group) : group;
    unsigned count = 0;
    for (size_t i = 0; i < kernel->param_count; i++) {
        const char *name = kernel->params[i].name, *own = same ? name : numbered(s, name, named);
        if (same || tile_function_find_param(plan, own, strlen(own)))
            values[count++] = (tile_param_value){name, tile_expr_param(s->context, own), NULL};
    }
    return count;
}

void sched_launch(schedule *s, tile_builder *b, size_t group, const tile_value *arguments) {
    const tile_function *kernel = s->groups[group]->kernel;
    tile_param_value *values = TILE_NEW_ARRAY(s->arena, tile_param_value, kernel->param_count + 1);
    unsigned value_count = list_values(s, b->function, group, values);
    tile_build_launch(b, kernel->name, values, value_count, arguments, (unsigned)kernel->arg_count);
}

/* The launch starts while the last blocks of the one before it run, and its blocks wait for these
 * before they do anything. Without a pdl_trigger this begins when blocks end: earlier ones would
 * take the place of blocks of the first kernel. */
static void overlap_launches(const schedule *s, const tile_builder *b, size_t group) {
    tile_function *kernel = s->groups[group]->kernel;
    tile_op first = tile_region_first(kernel, kernel->body);
    tile_builder before = tile_builder_before(kernel, first);
    before.loc = kernel->loc;
    tile_build_pdl_wait(&before);
    tile_op_set_flag(b->function, tile_region_at(b->function, b->function->body)->last,
                     TILE_ATTR_pdl);
}

static void launch(schedule *s, tile_builder *b, const tile_value *arrays, size_t group) {
    const tile_function *kernel = s->groups[group]->kernel;
    tile_value *arguments = TILE_NEW_ARRAY(s->arena, tile_value, kernel->arg_count + 1);
    for (size_t i = 0; i < kernel->arg_count; i++)
        arguments[i] = plan_value_of(s, b->function, arrays, kernel->args[i].name);
    sched_launch(s, b, group, arguments);
}

tile_value sched_plan_number(tile_builder *b, const tile_expr *expr) {
    int64_t value;
    if (tile_expr_is_int(expr, &value)) return tile_build_int(b, value);
    if (expr->kind == TILE_EXPR_ARG) return b->function->args[expr->integer].value;
    tile_segment segments[3] = {{{0}, NULL, 0}};
    unsigned count = 0;
    for (; count < 3 && expr->args[count]; count++)
        segments[count].head = sched_plan_number(b, expr->args[count]);
    return tile_build_op_value(b, expr->opcode, segments, count, NULL);
}

void sched_make_scratch(schedule *s, tile_builder *b, tile_value *arrays) {
    for (size_t a = 0; a < s->array_count; a++) {
        if (s->arrays[a].place != SCHED_SCRATCH || sched_writer_of(s, (unsigned)a) < 0) continue;
        const tile_type *type = sched_type(s, s->arrays[a].value);
        tile_value extents[TILE_MAX_RANK];
        for (unsigned d = 0; d < type->rank; d++)
            extents[d] = sched_plan_number(b, sched_expr(s, type->dims[d]));
        arrays[a] =
            tile_build_scratch(b, extents, type->rank, sched_element(s, s->arrays[a].value));
        tile_value_set_name(b->function, arrays[a], s->arrays[a].name);
    }
}

/* Products that do not have the leader's points, such as one whose rows are reduced, get parameters
 * of their own: their first point may take twice as long as the best one. A launch chooses the
 * points of each kernel by itself, so that a few of them are searched as fast as they are listed.
 * Without a launch the first point that fits is taken, and a search for it would try all pairs of
 * points: so only targets whose shared memory holds the first points, those with wgmma. */
static void take_own_points(const schedule *s, tile_function *plan) {
    enum { MOST = 4 };
    const tile_function *leader = find_leader(s), *own[MOST];
    unsigned count = 0, products = 0;
    if (!s->pass->has_target || !tile_target_has(s->pass->target, TILE_FEATURE_wgmma)) return;
    for (size_t i = 0; i < s->group_count; i++) {
        const sched_group *g = s->groups[i];
        products += g->kind == SCHED_MATMUL || g->kind == SCHED_ONLINE;
        if (g->kind == SCHED_MATMUL && !g->parts && count < MOST && !follows(g->kernel, leader))
            own[count++] = g->kernel;
    }
    tile_plan_take_points_of(plan, own, products <= MOST ? count : 0);
}

const tile_function *sched_make_plan(schedule *s, const sched_sections *sections) {
    const char *name = tile_arena_format(s->arena, "%s_plan", s->compute->name);
    tile_function *plan = tile_function_create(s->compute->module, TILE_PLAN,
                                               sched_unique_name(s, name), s->compute->loc);
    tile_value *arrays = TILE_NEW_ARRAY(s->arena, tile_value, s->array_count + 1);
    tile_value *scalars = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->arg_count + 1);
    if (find_leader(s)) sched_copy_points(plan, find_leader(s));
    take_parts(s, plan);
    take_sized_parts(s, plan);
    declare_interface(s, plan, arrays, scalars);
    sched_set_reference(s, plan);
    tile_builder b = tile_builder_at_end(plan, plan->body);
    plan->has_points = true; /* those of its leader, and of products with others */
    if (sections) {
        sched_launch_sections(s, &b, arrays, sections);
        return plan;
    }
    sched_make_scratch(s, &b, arrays);
    for (size_t i = 0; i < s->group_count; i++) {
        launch(s, &b, arrays, i);
        if (i) overlap_launches(s, &b, i);
    }
    take_own_points(s, plan);
    return plan;
}
