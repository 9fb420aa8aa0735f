/* schedule: turns computes into kernels, and into plans that launch the kernels.
 *
 * A compute describes operations on whole tensors. One kernel per operation would spend its time on
 * reading and writing every intermediate array. The pass therefore cuts the compute into groups of
 * operations, each of which becomes one kernel (cut/cut.c):
 *
 *   - Results, and values that cannot be computed where they are used, are arrays in memory: the
 *     results' arrays, or scratch of the plan. Element-wise operations (arithmetic, casts, select,
 *     iota) and operations that only move elements (broadcast, transpose, slice, concat, join,
 *     unjoin, window, gather, and reshapes that are views of arrays: kernel/view.c) are recomputed
 *     in each group that uses them.
 *   - For a value that must be in memory, the pass follows its definitions backwards to the first
 *     operation that is not element-wise. If that is a product (matmul) whose elements correspond
 *     to those of the value, the group is a product with an epilogue (bias, activation, scale,
 *     residual, cast), and with a prologue if an operand is a cheap function of one array
 *     (products/matmul.c). If it is a reduction, the group is rows: all reductions along that axis
 *     of arrays with the same extents, and all values computed from them (softmax, norms;
 *     rows/rows.c). Otherwise it is element-wise (elementwise.c).
 *   - Two products of the same left operand, of which a value needs the same elements, are one
 * group (cut/dual.c).
 *   - Reductions of a product's rows, and what is computed of them, join the product's group if a
 *     tile has whole rows or whole groups of columns (cut/absorb.c). Of longer rows of which only
 *     reductions are needed, each tile reduces groups of 64 columns, and a second kernel combines
 *     them (cut/partial.c). A product that other kernels read is stored in the narrowest type from
 *     which they are computed.
 *   - Reductions over the positions of windows (pooling, depthwise convolutions) are computed where
 *     they are used, for known positions. The group's domain is that of the result, and overlapping
 *     windows share what they read (cut/windowed.c, windows/windows.c).
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
 *   - A loop becomes a loop of the plan around the kernels of its body (sections/split.c), or one
 *     kernel if each block can keep its part of the carried tensors (sections/resident.c).
 *
 * 16-bit floats are computed in f32 and rounded when they are cast or stored, as level 1 specifies.
 * One group becomes a kernel, `@NAME_kernel`. Several become kernels `@NAME_1`, .. and the plan
 * `@NAME_plan`. Both are `of` the compute, so they are checked against it. The compute's dims are
 * integer arguments and come first, unless the pass options give their values. The results are the
 * last arguments.
 *
 * Options: a parameter's name and value, `m=128`, `T=f16`. `given.block_m` says that a user gives a
 * value to the kernel's parameter block_m; conditions that only remove slow points from a tuning
 * space do not apply to such values (lib/tuning/space.def).
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

#include "lib/builder/expand_convolve.h"
#include "lib/builder/inline.h"
#include "lib/ir/syntax.h"
#include "lib/support/guess.h"
#include "lib/support/intern.h"
#include "lib/support/scalar.h"
#include "passes/schedule/online/online_kernel.h"
#include "passes/schedule/plan.h"
#include "passes/schedule/products/order.h"
#include "passes/schedule/products/raise_windows.h"
#include "passes/schedule/products/sink_reshapes.h"
#include "passes/schedule/products/space.h"
#include "passes/schedule/products/slices.h"
#include "passes/schedule/kernel/packed.h"
#include "passes/schedule/kernel/scaled.h"
#include "passes/schedule/products/vector.h"
#include "passes/schedule/rows/rows.h"
#include "passes/schedule/unify_extents.h"
#include "passes/schedule/windows/windows.h"

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

/* The pass ------------------------------------------------------------------------------------- */

/* before: the number of kernels of earlier sections. */
static void make_kernel(schedule *s, size_t index, size_t before) {
    sched_group *g = s->groups[index];
    bool only = s->group_count == 1 && !s->is_section;
    const char *stem =
        only ? tile_arena_format(s->arena, "%s_kernel", s->compute->name)
             : tile_arena_format(s->arena, "%s_%zu", s->compute->name, before + index + 1);
    const char *name = sched_unique_name(s, stem);
    switch (g->kind) {
    case SCHED_ELEMENTWISE: sched_make_elementwise(s, g, name); break;
    case SCHED_ROWS: sched_make_rows(s, g, name); break;
    case SCHED_WINDOWED: sched_make_windowed(s, g, name); break;
    case SCHED_MATMUL: sched_make_matmul(s, g, name); break;
    case SCHED_ONLINE: sched_make_online(s, g, name); break;
    }
    if (only && g->kernel) sched_set_reference(s, g->kernel);
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
    if (made->arg_count > TILE_MAX_ARGUMENTS)
        SCHED_FAIL(s, TILE_NO_OP,
                   "@%s: its %s takes %zu arguments (dims, arrays and results), and the limit is "
                   "%d; cut the compute in two, or combine several arrays into one",
                   s->compute->name, tile_function_kind_name(made->kind), made->arg_count,
                   TILE_MAX_ARGUMENTS);
}

/* Makes the kernels of a compute without loops. Returns false after a diagnostic. */
static bool make_kernels(schedule *s, size_t before) {
    if (!check_length(s) || !sched_raise_windows(s)) return false;
    sched_sink_reshapes(s);
    sched_find_scans(s);
    sched_expand_log_sums(s);
    if (s->failed) return false;
    sched_simplify_activations(s);
    sched_move_slices(s);
    sched_order_sums(s);
    sched_find_scaled(s);
    sched_find_packed(s);
    sched_move_casts(s);
    sched_mask_operands(s);
    sched_reduce_vectors(s);
    sched_merge_same(s);
    sched_turn_rounded(s);
    sched_reduce_in_parts(s);
    sched_split_deviations(s);
    if (!sched_cut(s)) return false;
    for (size_t i = 0; i < s->group_count && !s->failed; i++) make_kernel(s, i, before);
    for (size_t i = 0; i < s->group_count && !s->failed; i++) check_room(s, s->groups[i]->kernel);
    return !s->failed;
}

/* Sections ---------------------------------------------------------------------------------------
 */

static void make_resident_kernel(schedule *s, const sched_section *section, size_t number) {
    const char *stem = tile_arena_format(s->arena, "%s_%zu", s->compute->name, number);
    if (!check_length(s)) return;
    sched_make_resident(s, section, sched_unique_name(s, stem));
    if (!s->failed) check_room(s, s->groups[0]->kernel);
}

/* Makes the kernels of a section, which become the next groups of the whole compute. */
static void make_section_kernels(schedule *s, sched_section *section) {
    schedule *own = TILE_NEW(s->arena, schedule);
    *own = (schedule){.pass = s->pass,
                      .arena = s->arena,
                      .context = s->context,
                      .compute = section->compute,
                      .is_section = true,
                      .parts = section->parts,
                      .part_count = section->part_count,
                      .has_variable = section->resident != NULL};
    section->scheduled = own;
    section->first_group = s->group_count;
    s->failed |= !take_params(own);
    if (section->resident && !s->failed)
        make_resident_kernel(own, section, s->group_count + 1);
    else if (!s->failed)
        make_kernels(own, s->group_count);
    s->failed |= own->failed;
    for (size_t i = 0; i < own->group_count && !s->failed; i++) {
        s->groups = tile_arena_grow(s->arena, s->groups, s->group_count, &s->group_capacity,
                                    sizeof(sched_group *));
        own->groups[i]->repeated = section->loop != NULL;
        s->groups[s->group_count++] = own->groups[i];
    }
    if (!s->failed) sched_remark_cuts(own);
}

static void make_step_kernels(schedule *s, const sched_step *step) {
    for (; step && !s->failed; step = step->next) {
        if (step->loop)
            make_step_kernels(s, step->loop->steps);
        else if (step->section->compute)
            make_section_kernels(s, step->section);
    }
}

/* A compute with loops becomes a plan with loops around the launches of its sections. */
static bool make_sections(schedule *s) {
    sched_sections sections;
    sched_reduce_vectors(s);
    if (!sched_split(s, &sections)) return false;
    make_step_kernels(s, sections.steps);
    if (!s->failed) sched_list_interface(s);
    if (!s->failed) check_room(s, sched_make_plan(s, &sections));
    return !s->failed;
}

static bool make_whole(schedule *s) {
    if (!make_kernels(s, 0)) return false;
    if (s->group_count > 1) check_room(s, sched_make_plan(s, NULL));
    if (!s->failed) sched_remark_cuts(s);
    return !s->failed;
}

static tile_status schedule_compute(tile_pass *pass, tile_function *compute) {
    schedule s = {
        .pass = pass, .arena = pass->scratch, .context = pass->context, .compute = compute};
    unsigned errors = tile_context_error_count(pass->context);
    if (!tile_inline_calls(compute) || !take_params(&s)) return TILE_INVALID;
    if (!sched_has_sections(compute)) sched_order_results(&s);
    if (s.failed) return TILE_INVALID;
    /* A convolution takes the form that is best for its extents. */
    unsigned convolutions;
    tile_find_ops(compute, TILE_OP_convolve, pass->scratch, &convolutions);
    if (convolutions) sched_resolve_extents(&s);
    if (!tile_expand_convolutions(s.compute, true)) return TILE_INVALID;
    sched_unify_extents(pass->scratch, s.compute);
    sched_copy_reshaped(&s);
    if (!compute->result_count)
        SCHED_FAIL(&s, TILE_NO_OP, "@%s has no result, so that there is nothing to compute",
                   compute->name);
    if (s.failed) return TILE_INVALID;
    bool made = sched_has_sections(compute) ? make_sections(&s) : make_whole(&s);
    tile_pass_count(pass, "kernels", (long)s.group_count);
    return !made || tile_context_error_count(pass->context) != errors ? TILE_INVALID : TILE_OK;
}

/* Checks that a compute of the module has a parameter with that name. */
static bool check_option(const tile_pass *pass, const tile_pass_option *option,
                         const tile_roots *roots) {
    tile_guess guess = tile_guess_start(option->key, strlen(option->key));
    if (strncmp(option->key, SCHED_GIVEN, strlen(SCHED_GIVEN)) == 0) return true;
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
