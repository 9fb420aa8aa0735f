/* Selects the first point of a tuning space that the target can run.
 *
 * Layouts, rings and live ranges determine the shared memory of a kernel, so only the passes can
 * tell whether it fits. They run on a copy of the kernel, which doubles compile time. An estimate
 * from the kernel's text avoids this for most kernels: no trial is needed if there is clearly
 * enough room. Points that need far too much by the estimate are tried last. */
#include "passes/instantiate/fit_point.h"

#include <string.h>

#include "lib/analysis/product.h"
#include "lib/analysis/variants.h"
#include "lib/codegen/legal.h"
#include "lib/ir/syntax.h"
#include "lib/launch/steps.h"
#include "lib/ops/strategy.h"
#include "lib/tuning/space.h"
#include "lib/support/context.h"
#include "passes/pass.h"
#include "passes/passes.h"

/* Limits compile time for any space. */
enum { MAX_TRIALS = 1024 };

typedef struct search {
    const tile_function *f;
    const tile_target *target;
    const tile_pass_option *given;
    unsigned given_count;
    tile_arena *arena;
    bool far; /* visiting the points that need far too much, or the others */
    unsigned trials;
    tile_bound_param *found;
    const tile_bound_params *point; /* that is tried; NULL: given options */
    struct tried *tried;
    struct failure *failures;
} search;

/* A launch of the plan whose kernel did not fit, and what it passed then. */
typedef struct failure {
    tile_op launch;
    const tile_bound_param *params;
    struct failure *next;
} failure;

/* A kernel of a plan at a point, which other points of the plan may have, too. */
typedef struct tried {
    const char *kernel, *point;
    bool fits;
    struct tried *next;
} tried;

/* The first error among the messages of the trial. */
typedef struct cause {
    tile_arena *arena;
    const char *text;
} cause;

static void record_cause(const tile_diagnostic *d, void *user) {
    cause *c = user;
    if (d->severity == TILE_ERROR && !c->text)
        c->text = tile_arena_string(c->arena, d->message, strlen(d->message));
}

/* Estimates ------------------------------------------------------------------------------------ */

/* Returns whether a loop may be split across a cluster. bound: NULL for an instantiated kernel. */
static bool splits_cluster(const tile_function *f, const tile_bound_params *bound) {
    for (uint32_t id = 1; id < f->op_count; id++) {
        const tile_op op = {id};
        if (f->ops[id].opcode != TILE_OP_for || !tile_op_has_attr(f, op, TILE_ATTR_split)) continue;
        const tile_attr *strategy = tile_op_attr(f, op, TILE_ATTR_strategy);
        const char *word = strategy ? strategy->text : NULL;
        if (strategy && bound && strategy->expr && strategy->expr->kind == TILE_EXPR_PARAM)
            word = tile_find_bound(bound, strategy->expr->name)->word;
        if (tile_strategy_from_word(word) == TILE_STRATEGY_cluster) return true;
    }
    return false;
}

/* instantiate drops a cluster of one block. */
static bool has_clusters(const tile_function *f, const tile_bound_params *bound) {
    tile_bound_params copy = {0};
    tile_bindings bindings = {0};
    if (bound) {
        copy = *bound;
        bindings = tile_param_bindings(&copy);
    }
    for (unsigned d = 0; d < f->cluster_rank; d++) {
        int64_t extent;
        if (!tile_expr_eval(f->cluster[d], &bindings, &extent) || extent != 1) return true;
    }
    return splits_cluster(f, bound);
}

/* What must be checked by running passes. */
typedef enum check_needed {
    NO_CHECK,
    OF_SHARED_MEMORY, /* known once buffers have offsets */
    OF_CODE,          /* also checked by emission */
} check_needed;

/* Requires that half of the shared memory remains for buffers that passes add: layout conversions,
 * stores, sums across warps. */
static check_needed estimate(const tile_function *f, const tile_bound_params *bound,
                             const tile_target *target) {
    enum { ADDED_BYTES = 16384 };
    if (f->level == 3) return NO_CHECK; /* its author decides */
    tile_fit_estimate e = tile_estimate_fit(f, bound);
    bool clusters = !tile_target_has(target, TILE_FEATURE_cluster) && has_clusters(f, bound);
    bool wgmma = !tile_target_has(target, TILE_FEATURE_wgmma) && tile_requests_wgmma(f);
    if (3 * e.instructions > TILE_MAX_INSTRUCTIONS || clusters || wgmma) return OF_CODE;
    return 2 * (e.shared_bytes + ADDED_BYTES) > target->max_shared_bytes ? OF_SHARED_MEMORY
                                                                         : NO_CHECK;
}

static bool is_far_over_limit(const search *s, const tile_bound_params *point) {
    if (s->f->kind != TILE_KERNEL) return false;
    return tile_estimate_fit(s->f, point).shared_bytes > 1.5 * s->target->max_shared_bytes;
}

/* Trials --------------------------------------------------------------------------------------- */

/* Out of memory says nothing about the point. */
static bool pass(tile_module *module, const char *kernel, const tile_target *target,
                 const char *pipeline) {
    const tile_pass_options options = {
        .size = sizeof options, .target = target, .kernel = kernel, .skip_verify = true};
    tile_status status = tile_run_passes(module, pipeline, &options);
    if (status == TILE_OUT_OF_MEMORY) tile_out_of_memory();
    return status == TILE_OK;
}

static bool run_passes(tile_module *module, const char *kernel, const tile_target *target,
                       check_needed left) {
    unsigned ptx_version;
    if (left == OF_SHARED_MEMORY) return pass(module, kernel, target, tile_shared_memory_passes());
    return pass(module, kernel, target, tile_default_pipeline(3)) &&
           tile_emit_check(tile_module_find(module, kernel), target, 0, &ptx_version) == TILE_OK;
}

static bool try_variant(const tile_function *kernel, const tile_target *target,
                        const tile_variants *variants, unsigned index, check_needed left) {
    tile_module *copy = tile_module_clone(kernel->module);
    tile_function *f = tile_module_find(copy, kernel->name);
    tile_assume_variant(f, variants, index);
    bool fits = run_passes(copy, kernel->name, target, left);
    tile_module_destroy(copy);
    return fits;
}

/* Tries the variant that assumes most and the one that assumes nothing. */
static bool try_kernel(const tile_function *kernel, const tile_target *target) {
    tile_arena arena = {0};
    tile_variants variants;
    check_needed left = estimate(kernel, NULL, target);
    if (left == NO_CHECK) return true;
    tile_derive_variants(kernel, target, &arena, &variants);
    bool fits =
        try_variant(kernel, target, &variants, 0, left) &&
        (variants.count == 1 || try_variant(kernel, target, &variants, variants.count - 1, left));
    tile_arena_reset(&arena);
    return fits;
}

/* Tries a kernel of a plan once for each of its own points. */
static bool try_once(search *s, const tile_function *kernel) {
    const char *point = kernel->point ? kernel->point : "";
    for (const tried *known = s->tried; known; known = known->next)
        if (strcmp(known->kernel, kernel->name) == 0 && strcmp(known->point, point) == 0)
            return known->fits;
    tried *added = TILE_NEW(s->arena, tried);
    *added = (tried){kernel->name, point, try_kernel(kernel, s->target), s->tried};
    s->tried = added;
    return added->fits;
}

/* The launches of this kernel are at fault. plan: instantiated, from s->f. */
static void note_failure(search *s, const tile_function *plan, const tile_function *kernel) {
    const tile_function *f = s->f;
    for (uint32_t id = 1; id < f->op_count && s->point && kernel->instance_of; id++) {
        const tile_op op = {id};
        const char *callee = tile_op_attr_text(f, op, TILE_ATTR_callee);
        const char *made = tile_op_attr_text(plan, op, TILE_ATTR_callee);
        bool launches = callee && strcmp(callee, kernel->instance_of) == 0 && made &&
                        strcmp(made, kernel->name) == 0;
        if (!launches) continue;
        size_t size = sizeof *s->point->params * f->param_count;
        failure *added = TILE_NEW(s->arena, failure);
        *added = (failure){op, tile_arena_copy(s->arena, s->point->params, size), s->failures};
        s->failures = added;
    }
}

/* Returns whether an `if` around the launch names the parameter. */
static bool decides(const tile_function *f, tile_op launch, const char *name) {
    for (tile_op op = tile_op_parent(f, launch); op.id; op = tile_op_parent(f, op))
        if (tile_op_opcode(f, op) == TILE_OP_if &&
            tile_expr_names_param(tile_value_as_expr(f, tile_operand_condition(f, op)), name))
            return true;
    return false;
}

/* Whether a launch runs and passes what it passed at a point that did not fit. */
static bool is_known_failure(const search *s, const tile_bound_params *point) {
    for (const failure *known = s->failures; known; known = known->next) {
        bool same = true;
        for (size_t i = 0; i < s->f->param_count && same; i++)
            same = known->params[i].value == point->params[i].value ||
                   !(tile_launch_passes(s->f, known->launch, s->f->params[i].name) ||
                     decides(s->f, known->launch, s->f->params[i].name));
        if (same) return true;
    }
    return false;
}

static bool try_plan(search *s, const tile_function *plan) {
    tile_steps *steps = tile_steps_create(plan);
    bool fits = steps != NULL;
    for (size_t i = 0; fits && i < steps->kernel_count; i++) {
        const tile_function *kernel = tile_module_find(plan->module, steps->kernels[i]);
        fits = kernel && try_once(s, kernel);
        if (kernel && !fits) note_failure(s, plan, kernel);
    }
    tile_steps_destroy(steps);
    return fits;
}

/* Whether the target can run the function with these options. The first error is stored in *why. */
static bool try_options(search *s, const tile_pass_option *options, unsigned count, cause *why) {
    tile_arena arena = {0};
    const tile_diversion diversion =
        tile_context_divert(tile_function_context(s->f), record_cause, why);
    tile_module *copy = tile_module_clone(s->f->module);
    tile_function *f = tile_module_find(copy, s->f->name);
    bool fits = tile_instantiate_function(f, options, count, s->target, &arena) == TILE_OK;
    if (fits && tile_becomes_plan(f))
        fits = tile_make_steps(copy, s->f->name, s->target) == TILE_OK;
    f = fits ? tile_module_find(copy, s->f->name) : NULL;
    if (f) fits = f->kind == TILE_PLAN ? try_plan(s, f) : try_kernel(f, s->target);
    tile_module_destroy(copy);
    tile_context_restore(&diversion);
    tile_arena_reset(&arena);
    return fits;
}

/* Points --------------------------------------------------------------------------------------- */

static bool is_given(const search *s, const char *name) {
    for (unsigned i = 0; i < s->given_count; i++)
        if (strcmp(s->given[i].key, name) == 0) return true;
    return false;
}

static bool has_choice(const search *s) {
    for (size_t i = 0; i < s->f->param_count; i++) {
        const char *name = s->f->params[i].name;
        if (tile_is_tuned(s->f, name) && !is_given(s, name)) return true;
    }
    return false;
}

/* The given options, plus the point's values for the other parameters of `tune`. */
static tile_pass_option *name_point(const search *s, const tile_bound_params *point,
                                    unsigned *count) {
    size_t most = s->given_count + s->f->param_count + 1;
    tile_pass_option *options = TILE_NEW_ARRAY(s->arena, tile_pass_option, most);
    *count = 0;
    for (unsigned i = 0; i < s->given_count; i++) options[(*count)++] = s->given[i];
    for (size_t i = 0; i < s->f->param_count; i++) {
        const char *name = s->f->params[i].name;
        if (tile_is_tuned(s->f, name) && !is_given(s, name))
            options[(*count)++] = (tile_pass_option){name, tile_bound_value(point, i, s->arena)};
    }
    return options;
}

static bool try_point(const tile_bound_params *point, void *user) {
    search *s = user;
    unsigned count;
    cause none = {.arena = s->arena, .text = ""};
    if (is_far_over_limit(s, point) != s->far || is_known_failure(s, point)) return true;
    s->point = point;
    tile_pass_option *options = name_point(s, point, &count);
    if (try_options(s, options, count, &none)) s->found = point->params;
    return !s->found && ++s->trials < MAX_TRIALS;
}

/* In the order of the space; points that need far too much by the estimate come last. */
static bool find_point(search *s) {
    for (unsigned round = 0; round < 2 && !s->found; round++) {
        s->far = round;
        if (!tile_visit_points(s->f, s->given, s->given_count, NULL, s->arena, try_point, s)) break;
    }
    return s->found != NULL;
}

/* "block_m = 64, stages = 3": the values that `tune` selects. */
static const char *point_text(const search *s, const tile_bound_params *point) {
    const char *text = "";
    for (size_t i = 0; i < s->f->param_count; i++) {
        const char *name = s->f->params[i].name;
        if (tile_is_tuned(s->f, name) && !is_given(s, name))
            text = tile_arena_format(s->arena, "%s%s%s = %s", text, *text ? ", " : "", name,
                                     tile_bound_value(point, i, s->arena));
    }
    return text;
}

static void report_choice(const search *s, const tile_bound_params *first, const char *error) {
    const tile_bound_params found = {s->f, s->found, NULL};
    tile_remark_at(
        s->f, TILE_NO_OP,
        "@%s: the first point of 'tune' (%s) does not fit %s: %s; taking the next one that "
        "fits: %s; --tune finds the fastest, --param NAME=VALUE takes another one",
        s->f->name, point_text(s, first), s->target->name, error, point_text(s, &found));
}

void tile_choose_fitting_point(const tile_function *f, const tile_pass_option *options,
                               unsigned count, const tile_target *target, tile_arena *arena,
                               tile_bound_params *bound) {
    search s = {.f = f, .target = target, .given = options, .given_count = count, .arena = arena};
    cause why = {.arena = arena};
    unsigned named;
    if (!target || !f->tune_count || !has_choice(&s)) return;
    if (f->kind == TILE_KERNEL && estimate(f, bound, target) == NO_CHECK) return;
    tile_pass_option *first = name_point(&s, bound, &named);
    s.point = bound;
    if (try_options(&s, first, named, &why) || !find_point(&s)) return;
    report_choice(&s, bound, why.text ? why.text : "it does not compile");
    memcpy(bound->params, s.found, sizeof *bound->params * f->param_count);
}

const char *tile_point_fault(const tile_function *f, const tile_pass_option *options,
                             unsigned count, const tile_target *target, tile_arena *arena) {
    search s = {.f = f, .target = target, .arena = arena};
    cause why = {.arena = arena};
    if (try_options(&s, options, count, &why)) return NULL;
    return why.text ? why.text : "it does not compile";
}

/* Ignores the given values of `tune` parameters. */
void tile_note_fitting_point(const tile_module *module, const char *kernel,
                             const tile_binding *bindings, unsigned count,
                             const tile_target *target) {
    TILE_GUARD(tile_module_context(module), )
    tile_arena arena = {0};
    const tile_function *f = tile_module_find(module, kernel);
    if (!f || !target || !tile_bindings_are_complete(module->context, bindings, count)) return;
    tile_module *copy = tile_module_clone(module);
    f = tile_module_find(copy, kernel);
    tile_pass_option *left = TILE_NEW_ARRAY(&arena, tile_pass_option, count + 1u);
    search s = {.f = f, .target = target, .given = left, .arena = &arena};
    for (unsigned i = 0; i < count; i++)
        if (tile_function_find_param(f, bindings[i].name, strlen(bindings[i].name)) &&
            !tile_is_tuned(f, bindings[i].name))
            left[s.given_count++] = (tile_pass_option){bindings[i].name, bindings[i].value};
    const tile_diversion diversion = tile_context_divert(tile_function_context(f), NULL, NULL);
    bool found =
        tile_resolve_tuning((tile_function *)(uintptr_t)f, target, bindings, count) == TILE_OK &&
        f->tune_count && find_point(&s);
    tile_context_restore(&diversion);
    if (found) {
        const tile_bound_params point = {f, s.found, NULL};
        tile_note_at(f, TILE_NO_OP,
                     "other points of 'tune' fit %s: %s; bind none of its parameters to take that "
                     "one, or let --tune find the fastest",
                     target->name, point_text(&s, &point));
    }
    tile_module_destroy(copy);
    tile_arena_reset(&arena);
}
