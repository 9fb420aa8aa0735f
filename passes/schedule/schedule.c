/* schedule: turns computes into kernels, and into plans that launch the kernels.
 *
 * A compute describes operations on whole tensors. One kernel per operation would spend its time on
 * reading and writing every intermediate array. The pass therefore cuts the compute into groups of
 * operations, each of which becomes one kernel (cut/cut.c):
 *
 *   - Results, and values that cannot be computed where they are used, are arrays in memory: the
 *     results' arrays, or scratch of the plan. Element-wise operations (arithmetic, casts, select,
 *     iota) and operations that only move elements (broadcast, transpose, slice, concat, join,
 *     unjoin, window, reshape of an array or of windows) are recomputed in each group that uses
 *     them.
 *   - For a value that must be in memory, the pass follows its definitions backwards to the first
 *     operation that is not element-wise. If that is a product (matmul) whose elements correspond
 *     to those of the value, the group is a product with an epilogue (bias, activation, scale,
 *     residual, cast), and with a prologue if an operand is a cheap function of one array
 *     (products/matmul.c). If it is a reduction, the group is rows: all reductions along that axis
 *     of arrays with the same extents, and all values computed from them (softmax, norms;
 *     rows/rows.c). Otherwise it is element-wise (elementwise.c).
 *   - A product or reduction along the same axis of values computed from another product, as in
 *     attention, becomes an online loop along that axis. The loop contains all reductions in
 *     between and rescales its sums when a maximum grows (cut/classify.c, online/mask.c,
 *     online/online.c). If there are few rows, several blocks process a part of the axis each
 *     (online/split.c).
 *   - Keys that a mask hides from all rows must not affect results: a product whose weights can
 *     contain hidden elements gets zeros at such keys (cut/masked_operand.c), unless an online loop
 *     masks them.
 *   - If few blocks would reduce long rows, the rows are split into parts (rows/parts.c). If the
 *     rows are known to be few and long, each reduction is split separately.
 *   - Values with the same domain, root or rows are computed by the same kernel.
 *
 * 16-bit floats are computed in f32 and rounded when they are cast or stored, as level 1 specifies.
 * One group becomes a kernel, `@NAME_kernel`. Several become kernels `@NAME_1`, .. and the plan
 * `@NAME_plan`. Both are `of` the compute, so they are checked against it. The compute's dims are
 * integer arguments and come first, unless the pass options give their values. The results are the
 * last arguments.
 *
 * Options: a parameter's name and value, `m=128`, `T=f16`.
 *
 * level: 1 to 2
 * requires: nothing
 * keeps: nothing
 * breaks: nothing
 *
 * before:
 *   compute @scaled<n: dim>(%x: tensor<f32[n]>, %s: f32) -> (%y: tensor<f32[n]>)
 *   {
 *     %y = mul %x, %s : tensor<f32[n]>
 *   }
 *
 * after:
 *   compute @scaled<n: dim>(%x: tensor<f32[n]>, %s: f32) -> (%y: tensor<f32[n]>)
 *   {
 *     %y = mul %x, %s : tensor<f32[n]>
 *   }
 *
 *   kernel @scaled_kernel<block: int, num_warps: int>(%n: i32 {divisible = 4}, %x: view<f32[%n]>,
 *                                                     %s: f32, %y: view<f32[%n]>)
 *       of @scaled
 *       tune (block, num_warps) in [(1024, 4), (2048, 4), (4096, 8), (512, 4)]
 *       grid [ceildiv(%n, block)]  warps num_warps
 *   {
 *     %0 = block_id
 *     %1 = mul %0, block : i32
 *     %2 = load %x[%1] : tile<f32[block]>
 *     %3 = splat %s : tile<f32[block]>
 *     %4 = mul %2, %3 : tile<f32[block]>
 *     store %4, %y[%1]
 *   }
 */
#include "passes/schedule/kernel/schedule.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/builder/inline.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"
#include "lib/support/intern.h"
#include "lib/support/scalar.h"
#include "passes/schedule/online/online_kernel.h"
#include "passes/schedule/products/space.h"
#include "passes/schedule/products/vector.h"
#include "passes/schedule/rows/rows.h"

/* Parameters ----------------------------------------------------------------------------------- */

static bool check_type(schedule *s, const char *name, const char *given) {
    if (tile_scalar_of_data(given) != TILE_SCALAR_NONE) return true;
    SCHED_FAIL(s, TILE_NO_OP, "@%s: '%s' is an element type, such as f16, not '%s'",
               s->compute->name, name, given);
    return false;
}

static bool check_number(schedule *s, const char *name, const char *given) {
    char *end;
    long long value = strtoll(given, &end, 10);
    if (*given && !*end && value >= 0 && value <= INT32_MAX) return true;
    SCHED_FAIL(s, TILE_NO_OP, "@%s: '%s' is a number from 0 to 2^31 - 1, not '%s'",
               s->compute->name, name, given);
    return false;
}

static void check_once(schedule *s, const char *param) {
    unsigned count = 0;
    for (unsigned i = 0; i < s->pass->option_count; i++)
        count += strcmp(s->pass->options[i].key, param) == 0;
    if (count > 1)
        SCHED_FAIL(s, TILE_NO_OP, "'%s' of @%s is given twice; keep one value", param,
                   s->compute->name);
}

/* Arguments of kernels are numbers; all other parameters must have a given value. */
static void take_param(schedule *s, const tile_param_decl *param) {
    const char *given = sched_given(s, param->name);
    check_once(s, param->name);
    switch (param->kind) {
    case TILE_PARAM_type:
        if (given)
            check_type(s, param->name, given);
        else
            SCHED_FAIL(s, TILE_NO_OP,
                       "@%s: the element type '%s' has no value: write schedule{%s=f16}, or "
                       "--param %s=f16",
                       s->compute->name, param->name, param->name, param->name);
        return;
    case TILE_PARAM_int:
    case TILE_PARAM_dim:
        if (given)
            check_number(s, param->name, given);
        else
            s->dims[s->dim_count++] = param;
        return;
    case TILE_PARAM_bool:
    case TILE_PARAM_word:
        SCHED_FAIL(s, TILE_NO_OP,
                   "@%s: '%s' is neither a number nor an element type, and cannot be an argument "
                   "of a kernel: write its value into the compute",
                   s->compute->name, param->name);
        return;
    }
}

static bool is_taken(const tile_function *f, const char *name) {
    bool taken = tile_function_find_arg(f, name) != NULL;
    for (size_t i = 0; i < f->result_count; i++) taken |= strcmp(f->results[i].name, name) == 0;
    return taken;
}

/* A dim becomes an argument with its name, or with the suffix `_dim` if that name is taken. */
static void name_dims(schedule *s) {
    s->dim_names = TILE_NEW_ARRAY(s->arena, const char *, s->dim_count + 1);
    for (unsigned i = 0; i < s->dim_count; i++) {
        const char *name = s->dims[i]->name;
        s->dim_names[i] =
            is_taken(s->compute, name) ? tile_arena_format(s->arena, "%s_dim", name) : name;
        if (is_taken(s->compute, s->dim_names[i]))
            SCHED_FAIL(
                s, TILE_NO_OP,
                "@%s: the dim '%s' and %%%s become arguments of one kernel: give one of them "
                "another name",
                s->compute->name, name, name);
    }
}

static bool take_params(schedule *s) {
    const tile_function *f = s->compute;
    s->dims = TILE_NEW_ARRAY(s->arena, const tile_param_decl *, f->param_count + 1);
    for (size_t i = 0; i < f->param_count; i++) take_param(s, &f->params[i]);
    name_dims(s);
    return !s->failed;
}

/* Plans ---------------------------------------------------------------------------------------- */

/* The tensor's extents as expressions of the created function's arguments. */
static void extents_of(schedule *s, tile_value value, const tile_expr **extents) {
    const tile_type *type = sched_type(s, value);
    for (unsigned d = 0; d < type->rank; d++) extents[d] = sched_expr(s, type->dims[d]);
}

static const tile_type *int_type(const schedule *s) {
    return tile_type_scalar(s->context, TILE_i32);
}

/* Declares the interface of a created function: dims, then the compute's arguments and results. */
static void declare_interface(schedule *s, tile_function *f, tile_value *arrays,
                              tile_value *scalars) {
    const tile_expr *extents[TILE_MAX_RANK];
    for (unsigned i = 0; i < s->dim_count; i++)
        tile_function_add_arg(f, s->dim_names[i], int_type(s));
    for (size_t i = 0; i < s->compute->arg_count; i++) {
        const tile_arg_decl *arg = &s->compute->args[i];
        if (arg->type->kind != TILE_TYPE_TENSOR)
            scalars[i] = tile_function_add_arg(f, arg->name, sched_element(s, arg->value));
        for (size_t a = 0; a < s->array_count; a++) {
            if (s->arrays[a].place != SCHED_ARGUMENT || s->arrays[a].value.id != arg->value.id)
                continue;
            extents_of(s, arg->value, extents);
            arrays[a] = tile_function_add_view_arg(f, arg->name, sched_element(s, arg->value),
                                                   arg->type->rank, extents, NULL);
        }
    }
    for (size_t a = 0; a < s->array_count; a++) {
        if (s->arrays[a].place != SCHED_RESULT) continue;
        extents_of(s, s->arrays[a].value, extents);
        arrays[a] =
            tile_function_add_view_arg(f, s->arrays[a].name, sched_element(s, s->arrays[a].value),
                                       sched_type(s, s->arrays[a].value)->rank, extents, NULL);
    }
}

/* References the compute with the given values of its dims, and with dims whose arguments have
 * other names. */
static void set_reference(schedule *s, tile_function *f) {
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

/* Returns the kernel of the first product, whose tuning points the plan adopts, because most of the
 * time is spent there. NULL if there is none. */
static const tile_function *find_leader(const schedule *s) {
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i]->kind == SCHED_MATMUL || s->groups[i]->kind == SCHED_ONLINE)
            return s->groups[i]->kernel;
    return NULL;
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

static void launch(schedule *s, tile_builder *b, const tile_value *arrays, size_t group) {
    const tile_function *kernel = s->groups[group]->kernel;
    tile_param_value *values = TILE_NEW_ARRAY(s->arena, tile_param_value, kernel->param_count + 1);
    unsigned value_count = list_values(s, b->function, group, values);
    tile_value *arguments = TILE_NEW_ARRAY(s->arena, tile_value, kernel->arg_count + 1);
    for (size_t i = 0; i < kernel->arg_count; i++)
        arguments[i] = plan_value_of(s, b->function, arrays, kernel->args[i].name);
    tile_build_launch(b, kernel->name, values, value_count, arguments, (unsigned)kernel->arg_count);
}

static tile_value plan_number(tile_builder *b, const tile_expr *expr) {
    int64_t value;
    if (tile_expr_is_int(expr, &value)) return tile_build_int(b, value);
    if (expr->kind == TILE_EXPR_ARG) return b->function->args[expr->integer].value;
    tile_segment segments[3] = {{{0}, NULL, 0}};
    unsigned count = 0;
    for (; count < 3 && expr->args[count]; count++)
        segments[count].head = plan_number(b, expr->args[count]);
    return tile_build_op_value(b, expr->opcode, segments, count, NULL);
}

static void make_scratch(schedule *s, tile_builder *b, tile_value *arrays) {
    for (size_t a = 0; a < s->array_count; a++) {
        if (s->arrays[a].place != SCHED_SCRATCH || sched_writer_of(s, (unsigned)a) < 0) continue;
        const tile_type *type = sched_type(s, s->arrays[a].value);
        tile_value extents[TILE_MAX_RANK];
        for (unsigned d = 0; d < type->rank; d++)
            extents[d] = plan_number(b, sched_expr(s, type->dims[d]));
        arrays[a] =
            tile_build_scratch(b, extents, type->rank, sched_element(s, s->arrays[a].value));
        tile_value_set_name(b->function, arrays[a], s->arrays[a].name);
    }
}

static const tile_function *make_plan(schedule *s) {
    const char *name = tile_arena_format(s->arena, "%s_plan", s->compute->name);
    tile_function *plan = tile_function_create(s->compute->module, TILE_PLAN,
                                               sched_unique_name(s, name), s->compute->loc);
    tile_value *arrays = TILE_NEW_ARRAY(s->arena, tile_value, s->array_count + 1);
    tile_value *scalars = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->arg_count + 1);
    if (find_leader(s)) sched_copy_points(plan, find_leader(s));
    take_parts(s, plan);
    take_sized_parts(s, plan);
    declare_interface(s, plan, arrays, scalars);
    set_reference(s, plan);
    tile_builder b = tile_builder_at_end(plan, plan->body);
    plan->has_points = true; /* those of its leader */
    make_scratch(s, &b, arrays);
    for (size_t i = 0; i < s->group_count; i++) launch(s, &b, arrays, i);
    return plan;
}

/* The pass ------------------------------------------------------------------------------------- */

static void make_kernel(schedule *s, size_t index) {
    sched_group *g = s->groups[index];
    const char *stem = s->group_count == 1
                           ? tile_arena_format(s->arena, "%s_kernel", s->compute->name)
                           : tile_arena_format(s->arena, "%s_%zu", s->compute->name, index + 1);
    const char *name = sched_unique_name(s, stem);
    switch (g->kind) {
    case SCHED_ELEMENTWISE: sched_make_elementwise(s, g, name); break;
    case SCHED_ROWS: sched_make_rows(s, g, name); break;
    case SCHED_MATMUL: sched_make_matmul(s, g, name); break;
    case SCHED_ONLINE: sched_make_online(s, g, name); break;
    }
    if (s->group_count == 1 && g->kernel) set_reference(s, g->kernel);
}

/* Maximum length of a dependency chain: recursive traversals use a stack frame per operation. */
enum { MAX_IN_A_ROW = 2500 };

static bool check_length(schedule *s) {
    tile_function *f = s->compute;
    unsigned *length = TILE_NEW_ARRAY(s->arena, unsigned, f->value_count);
    TILE_FOR_EACH_OP (f, op, f->body) {
        unsigned most = 0;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            unsigned behind = length[tile_op_operand(f, op, i).id];
            if (behind > most) most = behind;
        }
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            length[tile_op_result(f, op, i).id] = most + 1;
        if (most + 1 <= MAX_IN_A_ROW) continue;
        SCHED_FAIL(
            s, op,
            "this is a chain of more than %d operations, each of which depends on the one before; "
            "start a separate compute with this one, and pass its operands as arguments",
            MAX_IN_A_ROW);
        return false;
    }
    return true;
}

/* Reports launch limits at the compute, because its author can change it. */
static void check_room(schedule *s, const tile_function *made) {
    unsigned scratch = 0;
    for (size_t a = 0; made->kind == TILE_PLAN && a < s->array_count; a++)
        scratch += s->arrays[a].place == SCHED_SCRATCH && sched_writer_of(s, (unsigned)a) >= 0;
    if (made->arg_count > TILE_MAX_ARGUMENTS)
        SCHED_FAIL(s, TILE_NO_OP,
                   "@%s: its %s takes %zu arguments (dims, arrays and results), and the limit is "
                   "%d; cut the compute in two, or combine several arrays into one",
                   s->compute->name, tile_function_kind_name(made->kind), made->arg_count,
                   TILE_MAX_ARGUMENTS);
    if (scratch > TILE_MAX_SCRATCH_VIEWS)
        SCHED_FAIL(s, TILE_NO_OP,
                   "@%s: its kernels pass %u arrays to each other, and the limit is %d; cut the "
                   "compute in two",
                   s->compute->name, scratch, TILE_MAX_SCRATCH_VIEWS);
}

static tile_status schedule_compute(tile_pass *pass, tile_function *compute) {
    schedule s = {
        .pass = pass, .arena = pass->scratch, .context = pass->context, .compute = compute};
    unsigned errors = tile_context_error_count(pass->context);
    if (!tile_inline_calls(compute) || !take_params(&s)) return TILE_INVALID;
    if (!compute->result_count)
        SCHED_FAIL(&s, TILE_NO_OP, "@%s has no result, so that there is nothing to compute",
                   compute->name);
    if (s.failed || !check_length(&s)) return TILE_INVALID;
    sched_move_casts(&s);
    sched_mask_operands(&s);
    sched_reduce_vectors(&s);
    if (!sched_cut(&s)) return TILE_INVALID;
    for (size_t i = 0; i < s.group_count && !s.failed; i++) make_kernel(&s, i);
    for (size_t i = 0; i < s.group_count && !s.failed; i++) check_room(&s, s.groups[i]->kernel);
    if (!s.failed && s.group_count > 1) check_room(&s, make_plan(&s));
    if (!s.failed) sched_remark_cuts(&s);
    tile_pass_count(pass, "kernels", (long)s.group_count);
    return s.failed || tile_context_error_count(pass->context) != errors ? TILE_INVALID : TILE_OK;
}

/* Checks that a compute of the module has a parameter with that name. */
static bool check_option(const tile_pass *pass, const tile_pass_option *option,
                         const tile_roots *roots) {
    tile_guess guess = tile_guess_start(option->key, strlen(option->key));
    for (size_t i = 0; i < roots->count; i++) {
        const tile_function *f = roots->functions[i];
        if (f->kind != TILE_COMPUTE) continue;
        if (tile_function_find_param(f, option->key, strlen(option->key))) return true;
        for (size_t p = 0; p < f->param_count; p++) tile_guess_try(&guess, f->params[p].name);
    }
    tile_report(pass->context, TILE_ERROR, (tile_loc){0},
                "schedule: no compute has a parameter '%s'%s", option->key,
                tile_guess_phrase(&guess, "", pass->scratch));
    return false;
}

tile_status tile_pass_schedule(tile_pass *pass, tile_module *module, const tile_roots *roots) {
    tile_status status = TILE_OK;
    (void)module;
    for (unsigned i = 0; i < pass->option_count; i++)
        if (!check_option(pass, &pass->options[i], roots)) return TILE_INVALID;
    for (size_t i = 0; i < roots->count && status == TILE_OK; i++)
        if (roots->functions[i]->kind == TILE_COMPUTE)
            status = schedule_compute(pass, roots->functions[i]);
    return status;
}
