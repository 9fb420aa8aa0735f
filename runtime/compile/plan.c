/* Building the artifact of a plan: each kernel that it launches is built as a single kernel would
 * be. */
#include "runtime/compile/plan.h"

#include <string.h>

#include "lib/launch/steps.h"
#include "lib/support/identity.h"
#include "lib/support/options.h"
#include "lib/support/text.h"
#include "runtime/artifact/artifact.h"

static tile_status check(const tile_function *plan) {
    if (plan->param_count) {
        tile_report(tile_function_context(plan), TILE_ERROR, plan->loc,
                    "@%s has the parameter '%s': instantiate it first", plan->name,
                    plan->params[0].name);
        return TILE_INVALID;
    }
    return tile_function_verify(plan);
}

static bool is_launched(const tile_steps *steps, const char *name) {
    for (size_t i = 0; i < steps->kernel_count; i++)
        if (strcmp(steps->kernels[i], name) == 0) return true;
    return false;
}

static void make_head(tile_function *kernel) {
    tile_function old;
    bool waits = tile_function_waits(kernel);
    tile_function_restart(kernel, &old);
    kernel->level = 2;
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    if (waits) tile_build_pdl_wait(&b);
}

/* Stores the plan's text with the heads of its kernels, against which its launches are checked. */
static void keep_plan(tile_artifact *artifact, const tile_function *plan, const tile_steps *steps) {
    artifact->module = tile_module_clone(plan->module);
    for (tile_function *f = artifact->module->first, *next; f; f = next) {
        next = f->next;
        bool is_plan = strcmp(f->name, plan->name) == 0;
        f->reference = NULL; /* a launch does not need the reference */
        f->reference_count = 0;
        if (is_plan)
            artifact->plan = f;
        else if (is_launched(steps, f->name))
            make_head(f);
        else
            tile_module_remove(artifact->module, f);
    }
}

tile_status tile_artifact_build_plan(const tile_function *plan, const tile_build_options *options,
                                     tile_artifact **out) {
    tile_status status = check(plan);
    *out = NULL;
    if (status != TILE_OK) return status;
    tile_steps *steps = tile_steps_create(plan);
    tile_artifact *artifact = tile_artifact_create(tile_function_context(plan));
    bool all = !options->no_otherwise;
    keep_plan(artifact, plan, steps);
    for (unsigned i = 0; i < steps->kernel_count && status == TILE_OK; i++) {
        tile_artifact *one;
        if (!all && !tile_steps_launch(steps, i)) continue;
        status = tile_artifact_build(plan->module, steps->kernels[i], options, &one);
        if (status != TILE_OK) break;
        *tile_artifact_add(artifact) = one->kernels[0];
        one->count = 0; /* `artifact` has taken over its kernel */
        tile_artifact_destroy(one);
    }
    tile_steps_destroy(steps);
    if (status == TILE_OK)
        *out = artifact;
    else
        tile_artifact_destroy(artifact);
    return status;
}

tile_status tile_artifact_make_plan_key(const tile_function *plan, const tile_build_options *given,
                                        tile_artifact_key *key) {
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    tile_build_options options;
    tile_status status = check(plan);
    if (status != TILE_OK) return status;
    if (!TILE_TAKE_OPTIONS(plan->module->context, tile_build_options, &options, given))
        return TILE_INVALID;
    tile_steps *steps = tile_steps_create(plan);
    tile_function_print(plan, tile_text_append, &text);
    if (options.no_otherwise) tile_text_append("no otherwise\n", 13, &text);
    for (size_t i = 0; i < steps->kernel_count && status == TILE_OK; i++) {
        status = tile_artifact_make_key(plan->module, steps->kernels[i], given, key);
        tile_text_format(&text, "%s\n", key->text);
    }
    *key = (tile_artifact_key){{0}};
    if (status == TILE_OK) tile_digest(text.data, text.length, key->text);
    tile_steps_destroy(steps);
    tile_arena_reset(&arena);
    return status;
}
