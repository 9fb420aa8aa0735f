/* From a parsed module to code: instantiation, passes, launch interface, PTX, cubin. Devices and
 * tools all use it. */
#include <string.h>

#include "lib/analysis/narrow.h"
#include "lib/analysis/variants.h"
#include "lib/builder/inline.h"
#include "lib/codegen/legal.h"
#include "lib/ir/function.h"
#include "lib/launch/data.h"
#include "lib/launch/steps.h"
#include "lib/support/clock.h"
#include "lib/support/identity.h"
#include "lib/support/options.h"
#include "lib/support/target.h"
#include "lib/support/text.h"
#include "runtime/artifact/artifact.h"
#include "runtime/cache/cache.h"
#include "runtime/cache/messages.h"
#include "runtime/compile/assemble.h"
#include "runtime/compile/plan.h"
#include "runtime/compile/store.h"
#include "passes/passes.h"

/* The kernel of that name; without a name, the only kernel of the module. NULL after a
 * diagnostic. */
static tile_function *choose_kernel(const tile_module *module, const char *name) {
    tile_function *only = NULL;
    unsigned kernels = 0;
    for (tile_function *f = module->first; f; f = f->next) {
        if (f->kind != TILE_KERNEL || (name && strcmp(f->name, name) != 0)) continue;
        only = f;
        kernels++;
    }
    if (kernels == 1) return only;
    if (name)
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no kernel @%s", name);
    else if (kernels)
        tile_report(module->context, TILE_ERROR, (tile_loc){0},
                    "there are %u kernels; name one of them", kernels);
    else
        tile_report(module->context, TILE_ERROR, (tile_loc){0}, "there is no kernel");
    return NULL;
}

/* A kernel written at level 3 is compiled as written, except that repeated and loop-invariant
 * computations are removed. */
static const char *choose_pipeline(const tile_function *f, const char *given, unsigned level) {
    if (given) return given;
    return tile_function_level(f) == 3 ? tile_last_passes() : tile_default_pipeline(level);
}

/* Building ------------------------------------------------------------------------------------- */

/* A kernel and the parts to make of it. */
typedef struct job {
    tile_function *f;
    tile_build_options options; /* with the defaults filled in */
    tile_variants variants;
    tile_arena arena;
} job;

static bool check_variant(job *j) {
    tile_derive_variants(j->f, j->options.target, &j->arena, &j->variants);
    if (j->options.variant < j->variants.count) return true;
    tile_report(j->f->module->context, TILE_ERROR, j->f->loc,
                "@%s has %u variants, 0 to %u: there is no variant %u", j->f->name,
                j->variants.count, j->variants.count - 1, j->options.variant);
    return false;
}

/* Returns false after a diagnostic. The caller resets the arena. */
static bool use_kernel(const tile_module *module, const char *kernel,
                       const tile_build_options *given, job *j) {
    *j = (job){.f = module ? choose_kernel(module, kernel) : NULL};
    if (!j->f || !tile_inline_calls(j->f)) return false;
    const tile_function *f = j->f;
    tile_build_options *options = &j->options;
    if (!TILE_TAKE_OPTIONS(module->context, tile_build_options, options, given)) return false;
    if (!options->level) options->level = 3;
    options->pipeline = choose_pipeline(f, options->pipeline, options->level);
    if (options->wants & TILE_WANT_CUBIN) options->wants |= TILE_WANT_PTX;
    tile_context *context = module->context;
    if (!tile_target_check(context, f->loc, options->target)) return false;
    if (f->param_count)
        tile_report(context, TILE_ERROR, f->loc, "@%s has the parameter '%s': instantiate it first",
                    f->name, f->params[0].name);
    else if (options->level != 2 && options->level != 3)
        tile_report(context, TILE_ERROR, f->loc, "kernels are lowered to level 2 or 3, not %u",
                    options->level);
    else
        return check_variant(j);
    return false;
}

static void report_time(const tile_build_options *options, const char *step, double since) {
    if (options->timing) options->timing(step, tile_seconds_now() - since, options->report_user);
}

static tile_status lower(tile_function *f, const tile_build_options *options) {
    const tile_pass_options passes = {.size = sizeof passes,
                                      .target = options->target,
                                      .kernel = f->name,
                                      .timing = options->timing,
                                      .report_user = options->report_user,
                                      .verify_less = true};
    return tile_run_passes(f->module, options->pipeline, &passes);
}

static tile_status make_code(const tile_function *f, const tile_build_options *options,
                             tile_artifact_kernel *parts) {
    const tile_emit_options emit = {.size = sizeof emit,
                                    .target = options->target,
                                    .ptx_version = options->ptx_version,
                                    .no_line_info = options->no_line_info,
                                    .stamps = options->stamps,
                                    .timing = options->timing,
                                    .report_user = options->report_user};
    if (!(options->wants & TILE_WANT_PTX)) return TILE_OK;
    tile_status status = tile_emit(f, TILE_EMIT_PTX, &emit, &parts->ptx);
    if (status != TILE_OK || !(options->wants & TILE_WANT_CUBIN)) return status;
    double since = tile_seconds_now();
    status = tile_assemble(f->module->context, &parts->ptx, options->target, options->ptxas,
                           &parts->cubin);
    report_time(options, "assemble", since);
    return status;
}

static tile_status build(const job *j, tile_artifact **out) {
    tile_function *f = j->f;
    const tile_build_options *options = &j->options;
    tile_assume_variant(f, &j->variants, options->variant);
    tile_status status = lower(f, options);
    if (status == TILE_OK && f->kind != TILE_KERNEL) {
        tile_report(f->module->context, TILE_ERROR, f->loc,
                    "@%s takes several launches after these passes; choose the split by the clause "
                    "`split` instead",
                    f->name);
        status = TILE_INVALID;
    }
    if (status != TILE_OK) return status;
    tile_artifact *artifact = tile_artifact_create(f->module->context);
    artifact_kernel *added = tile_artifact_add(artifact);
    added->parts.abi = added->abi = tile_abi_create(f);
    status = added->abi ? make_code(f, options, &added->parts) : TILE_INVALID;
    if (added->abi) tile_abi_set_variants(added->abi, f, &j->variants, options->variant);
    if (status == TILE_OK)
        *out = artifact;
    else
        tile_artifact_destroy(artifact);
    return status;
}

/* Keys ----------------------------------------------------------------------------------------- */

/* Adds the source lines of the kernel and its operations, because the PTX names them. */
static void add_lines(tile_text *text, const tile_function *f) {
    const tile_context *context = f->module->context;
    uint32_t file = f->loc.file;
    tile_text_format(text, "file %s\n%u:%u ", tile_context_source_name(context, file),
                     (unsigned)f->loc.line, (unsigned)f->loc.column);
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_loc loc = f->ops[id].loc;
        if (!f->ops[id].opcode) continue;
        if (loc.file != file)
            tile_text_format(text, "file %s\n", tile_context_source_name(context, loc.file));
        file = loc.file;
        tile_text_format(text, "%u:%u ", (unsigned)loc.line, (unsigned)loc.column);
        while (tile_context_find_call(context, loc, &loc)) /* messages show where it was called */
            tile_text_format(text, "in %u:%u ", (unsigned)loc.line, (unsigned)loc.column);
    }
}

/* Adds the functions by which the kernel combines elements. */
static void add_functions(tile_text *text, const tile_function *f, bool lines) {
    for (uint32_t id = 1; id < f->op_count; id++) {
        const char *name = tile_op_attr_text(f, (tile_op){id}, TILE_ATTR_combine);
        const tile_function *used = name ? tile_module_find(f->module, name) : NULL;
        if (!used) continue;
        tile_function_print(used, tile_text_append, text);
        if (lines) add_lines(text, used);
    }
}

/* The key is a digest of a text that contains everything that decides the result. What the code may
 * assume about its arguments follows from the kernel's text, such as `divisible`, and the
 * variant. */
static tile_status make_key(const job *j, bool with_compiler, tile_artifact_key *key) {
    const tile_function *f = j->f;
    const tile_build_options *options = &j->options;
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    const char *assembler = "";
    if (options->wants & TILE_WANT_CUBIN)
        assembler = tile_assembler_identity(f->module->context, options->ptxas, &arena);
    tile_text_format(&text, "%s\n%s %u %u %u %u %d\n%s\n%s\n",
                     with_compiler ? tile_compiler_identity(&arena) : "", options->target->name,
                     options->wants, options->level, options->variant, options->ptx_version,
                     options->no_line_info, options->pipeline, assembler ? assembler : "");
    if (options->stamps) tile_text_append("stamps\n", 7, &text);
    if (options->no_otherwise && tile_becomes_plan(f))
        tile_text_append("no otherwise\n", 13, &text);
    if (f->module->context->remarks) tile_text_append("remarks\n", 8, &text); /* kept with code */
    tile_function_print(f, tile_text_append, &text);
    bool lines = options->wants & TILE_WANT_PTX && !options->no_line_info;
    if (lines) add_lines(&text, f);
    add_functions(&text, f, lines);
    tile_digest(text.data, text.length, key->text);
    tile_arena_reset(&arena);
    if (assembler) return TILE_OK;
    *key = (tile_artifact_key){{0}};
    return TILE_UNAVAILABLE;
}

tile_status tile_artifact_make_key(const tile_module *module, const char *kernel,
                                   const tile_build_options *given, tile_artifact_key *key) {
    TILE_GUARD(tile_module_context(module), TILE_OUT_OF_MEMORY)
    job j;
    const tile_function *f = tile_module_find(module, kernel);
    *key = (tile_artifact_key){{0}};
    if (f && f->kind == TILE_PLAN) return tile_artifact_make_plan_key(f, given, key);
    tile_status status =
        use_kernel(module, kernel, given, &j) ? make_key(&j, true, key) : TILE_INVALID;
    tile_arena_reset(&j.arena);
    return status;
}

tile_status tile_artifact_make_local_key(const tile_module *module, const char *kernel,
                                         const tile_build_options *given, tile_artifact_key *key) {
    job j;
    tile_status status =
        use_kernel(module, kernel, given, &j) ? make_key(&j, false, key) : TILE_INVALID;
    tile_arena_reset(&j.arena);
    return status;
}

/* Through the cache ---------------------------------------------------------------------------- */

/* Messages have locations, but the key of code without line info has none. So for such code neither
 * messages nor artifacts with messages are kept. */
static void keep(const tile_build_options *options, const tile_artifact_key *key,
                 const tile_artifact *artifact, const tile_text *messages) {
    double since = tile_seconds_now();
    if (options->no_line_info && messages->length) return;
    tile_cache_keep(options->cache, key, artifact, messages->data, messages->length);
    report_time(options, "cache-keep", since);
}

/* No lock is held during the build. */
static tile_status build_or_find(const job *j, tile_artifact **out) {
    const tile_build_options *options = &j->options;
    double since = tile_seconds_now();
    tile_artifact_key key;
    tile_status status = make_key(j, true, &key);
    if (status != TILE_OK) return status;
    *out = tile_cache_find_artifact(options->cache, &key);
    report_time(options, "cache-find", since);
    if (*out) return TILE_OK;
    tile_arena arena = {0};
    tile_messages messages;
    tile_messages_begin(&messages, j->f->module->context, &arena);
    status = build(j, out);
    tile_messages_end(&messages);
    if (status == TILE_OK) keep(options, &key, *out, &messages.text);
    tile_arena_reset(&arena);
    return status;
}

/* Assumes the tensor maps of variant 0: accesses through them are not narrow, and they tell more
 * about strides. */
static void report_narrow(const job *j) {
    tile_function *f = j->f;
    tile_arena arena = {0};
    bool *declared = TILE_NEW_ARRAY(&arena, bool, f->arg_count + 1);
    for (unsigned i = 0; i < f->arg_count; i++) {
        declared[i] = f->args[i].tensor_map;
        f->args[i].tensor_map = j->variants.maps[0][i];
    }
    tile_remark_narrow(f);
    for (unsigned i = 0; i < f->arg_count; i++) f->args[i].tensor_map = declared[i];
    tile_arena_reset(&arena);
}

static tile_status build_as_asked(const job *j, tile_artifact **out) {
    const tile_build_options *options = &j->options;
    tile_context *context = j->f->module->context;
    bool remarks = !options->variant && !options->no_remarks;
    if (remarks) report_narrow(j);
    if (remarks) tile_remark_stored_elements(j->f);
    if (remarks && options->wants) tile_remark_registers(j->f, options->target);
    if (!options->cache || !options->wants) return build(j, out);
    if (options->cache->context == context) return build_or_find(j, out);
    tile_report(context, TILE_ERROR, j->f->loc, "@%s: the cache is of another context", j->f->name);
    return TILE_INVALID;
}

/* build_as_asked, where no_remarks also disables the passes' remarks. */
static tile_status build_quietly(const job *j, tile_artifact **out) {
    tile_context *context = j->f->module->context;
    bool remarks = context->remarks;
    context->remarks = remarks && !j->options.no_remarks;
    tile_status status = build_as_asked(j, out);
    context->remarks = remarks;
    return status;
}

/* Makes a plan of a kernel that takes several launches, and builds it. */
static tile_status build_steps(tile_function *f, const tile_build_options *given,
                               tile_artifact **out) {
    tile_build_options options;
    if (!TILE_TAKE_OPTIONS(f->module->context, tile_build_options, &options, given))
        return TILE_INVALID;
    tile_status status = TILE_OK;
    if (!f->param_count) { /* other reasons to refuse it come first */
        if (!tile_target_check(f->module->context, f->loc, options.target)) return TILE_INVALID;
        status = tile_make_steps(f->module, f->name, options.target);
    }
    return status == TILE_OK ? tile_artifact_build_plan(f, &options, out) : status;
}

tile_status tile_artifact_build(tile_module *module, const char *kernel,
                                const tile_build_options *given, tile_artifact **out) {
    TILE_GUARD(tile_module_context(module), (*out = NULL, TILE_OUT_OF_MEMORY))
    job j;
    tile_function *f =
        module && !kernel ? choose_kernel(module, NULL) : tile_module_find(module, kernel);
    tile_status status = TILE_INVALID;
    *out = NULL;
    if (module && !kernel && !f) return TILE_INVALID;
    if (f && tile_becomes_plan(f)) return build_steps(f, given, out);
    if (use_kernel(module, kernel, given, &j)) status = build_quietly(&j, out);
    tile_arena_reset(&j.arena);
    return status;
}

/* In one call ---------------------------------------------------------------------------------- */

/* Schedules the compute and binds the result to the bindings that are not the compute's own; NULL
 * after a diagnostic. */
static tile_function *bind_compute(tile_module *module, const char *compute,
                                   const tile_binding *bindings, unsigned count,
                                   const tile_target *target) {
    tile_arena arena = {0};
    tile_function *f = NULL;
    const char *name;
    if (!tile_bindings_are_complete(module->context, bindings, count)) return NULL;
    tile_binding *left = TILE_NEW_ARRAY(&arena, tile_binding, count + 1u);
    for (unsigned i = 0; i < count; i++) left[i] = bindings[i];
    if (tile_schedule(module, compute, target, left, &count, &name) == TILE_OK &&
        tile_instantiate_for(module, name, left, count, target) == TILE_OK)
        f = tile_module_find(module, name);
    tile_arena_reset(&arena);
    return f;
}

/* The kernel or plan with its parameters bound; NULL after a diagnostic. */
static tile_function *bind(tile_module *module, const char *kernel, const tile_binding *bindings,
                           unsigned count, const tile_build_options *options) {
    double since = tile_seconds_now();
    tile_function *f = module && kernel ? tile_module_find(module, kernel) : NULL;
    if (f && f->kind == TILE_COMPUTE) {
        f = bind_compute(module, kernel, bindings, count, options->target);
    } else {
        if (module && (!f || f->kind != TILE_PLAN)) f = choose_kernel(module, kernel);
        if (f && tile_instantiate_for(module, f->name, bindings, count, options->target) != TILE_OK)
            f = NULL;
    }
    if (f) report_time(options, "instantiate", since);
    return f;
}

/* Assumes what the first variant does, as tile_compile does. */
static void assume_first_variant(tile_function *f, const tile_target *target) {
    tile_arena arena = {0};
    tile_variants variants;
    tile_derive_variants(f, target, &arena, &variants);
    tile_assume_variant(f, &variants, 0);
    tile_arena_reset(&arena);
}

static tile_status lower_kernel(tile_function *f, const char *pipeline,
                                const tile_pass_options *options) {
    tile_pass_options passes = *options;
    passes.kernel = f->name;
    if (!pipeline && f->kind == TILE_KERNEL) assume_first_variant(f, passes.target);
    return tile_run_passes(f->module, choose_pipeline(f, pipeline, 3), &passes);
}

/* Lowers each kernel that the plan launches, once. */
static tile_status lower_plan(tile_function *plan, const char *pipeline,
                              const tile_pass_options *options) {
    tile_steps *steps = tile_steps_create(plan);
    tile_status status = TILE_OK;
    for (size_t i = 0; i < steps->kernel_count && status == TILE_OK; i++)
        status = lower_kernel(tile_module_find(plan->module, steps->kernels[i]), pipeline, options);
    tile_steps_destroy(steps);
    return status;
}

tile_status tile_lower(tile_module *module, const char *kernel, const tile_binding *bindings,
                       unsigned binding_count, const char *pipeline,
                       const tile_pass_options *options, tile_function **out) {
    TILE_GUARD(tile_module_context(module), TILE_OUT_OF_MEMORY)
    tile_pass_options passes;
    if (out) *out = NULL;
    if (!TILE_TAKE_OPTIONS(tile_module_context(module), tile_pass_options, &passes, options))
        return TILE_INVALID;
    if (!passes.target) passes.target = tile_target_find("sm_80");
    const tile_build_options build = {
        .target = passes.target, .timing = passes.timing, .report_user = passes.report_user};
    tile_function *f = bind(module, kernel, bindings, binding_count, &build);
    if (!f) return TILE_INVALID;
    const char *name = f->name;
    tile_status status = f->kind == TILE_PLAN ? lower_plan(f, pipeline, &passes)
                                              : lower_kernel(f, pipeline, &passes);
    if (out) *out = status == TILE_OK ? tile_module_find(module, name) : NULL;
    return status;
}

tile_status tile_compile(tile_module *module, const char *kernel, const tile_binding *bindings,
                         unsigned binding_count, const tile_emit_options *options, tile_blob *ptx,
                         tile_abi **abi) {
    TILE_GUARD(tile_module_context(module), TILE_OUT_OF_MEMORY)
    tile_emit_options emit;
    *ptx = (tile_blob){0};
    if (abi) *abi = NULL;
    if (!TILE_TAKE_OPTIONS(tile_module_context(module), tile_emit_options, &emit, options))
        return TILE_INVALID;
    const tile_build_options build = {.size = sizeof build,
                                      .target = emit.target,
                                      .wants = TILE_WANT_PTX,
                                      .ptx_version = emit.ptx_version,
                                      .no_line_info = emit.no_line_info,
                                      .timing = emit.timing,
                                      .report_user = emit.report_user};
    tile_function *f = bind(module, kernel, bindings, binding_count, &build);
    if (!f) return TILE_INVALID;
    tile_artifact *artifact;
    tile_status status = tile_artifact_build(module, f->name, &build, &artifact);
    if (status != TILE_OK) return status;
    if (artifact->plan) {
        tile_report(
            module->context, TILE_ERROR, f->loc,
            "@%s takes several launches at this point; tile_artifact_build gives all of them",
            f->name);
        tile_artifact_destroy(artifact);
        return TILE_UNSUPPORTED;
    }
    artifact_kernel *made = &artifact->kernels[0]; /* the caller owns what is moved out of it */
    *ptx = made->parts.ptx;
    made->parts.ptx = (tile_blob){0};
    if (abi) {
        *abi = made->abi;
        made->abi = NULL;
    }
    tile_artifact_destroy(artifact);
    return TILE_OK;
}
