/* Runs pipelines: applies each pass to each function of its level, and verifies, times and prints
 * the result.
 *
 * A pass may add functions to the module during iteration. A step processes the roots that exist
 * when it begins; functions that it adds become roots for the next step. */
#include <string.h>

#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"
#include "lib/support/clock.h"
#include "lib/support/guess.h"
#include "lib/support/options.h"
#include "lib/support/text.h"
#include "passes/attribute_contract.h"

typedef struct manager {
    tile_module *module;
    tile_context *context;
    tile_pass_options options;
    tile_pipeline pipeline;
    tile_function **roots;
    size_t root_count, root_capacity;
    bool has_target;    /* the options name one */
    bool skipped;       /* the remark about a function above the level of its passes was issued */
    uint32_t seen;      /* the current value of tile_function.seen for functions of the module */
    tile_arena arena;   /* lifetime: the pipeline and its roots */
    tile_arena scratch; /* lifetime: one run of a pass */
} manager;

void tile_pass_count(const tile_pass *pass, const char *what, long value) {
    if (pass->statistic) pass->statistic(pass->name, what, value, pass->report_user);
}

/* CSE runs after LICM: equal addresses in different loops become mergeable once hoisted out of the
 * loops. It also runs before separate-offsets, which compares the terms of addresses by value. */
#define LAST_PASSES \
    "canonicalize,shift-comparisons,cse,separate-offsets,licm,cse,roll-elementwise,dce"

const char *tile_last_passes(void) {
    return "flatten-grid," LAST_PASSES;
}

const char *tile_default_pipeline(unsigned level) {
#define TO_LEVEL_2 \
    "expand-dots,interleave-rows,split-k,group-warps,choose-cache,round-grid,tile-scheduler," \
    "flatten-grid," \
    "canonicalize,cse,licm,dce,choose-" \
    "instructions," \
    "specialize-warps,pipeline,skip-masked,pipeline-dots,split-loops,canonicalize,dce,assign-" \
    "layouts," \
    "reduce-late,prefetch," \
    "canonicalize,cse,licm,dce," \
    "allocate-shared"
#define BARRIERS ",insert-barriers"
    return level < 3 ? TO_LEVEL_2 BARRIERS
                     : "expand-parallel," TO_LEVEL_2 BARRIERS ",lower-tiles," LAST_PASSES;
}

const char *tile_shared_memory_passes(void) {
    return "expand-parallel," TO_LEVEL_2;
}

/* Text of functions, to detect whether a pass changed them ------------------------------------ */

static tile_text print_function(const tile_function *f, tile_arena *arena) {
    tile_text t = {.arena = arena};
    tile_function_print(f, tile_text_append, &t);
    return t;
}

static bool is_same_text(const tile_text *a, const tile_text *b) {
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* Roots -------------------------------------------------------------------------------------- */

static void add_root(manager *m, tile_function *f) {
    m->roots =
        tile_arena_grow(&m->arena, m->roots, m->root_count, &m->root_capacity, sizeof *m->roots);
    m->roots[m->root_count++] = f;
}

/* Makes roots of the functions added to the module since the last call. */
static void find_new_roots(manager *m) {
    for (tile_function *f = m->module->first; f; f = f->next) {
        bool is_new = f->seen != m->seen;
        f->seen = m->seen + 1;
        if (is_new && f->kind != TILE_FUNC) add_root(m, f);
    }
    m->seen++;
}

static bool is_in_module(const manager *m, const tile_function *f) {
    return f->seen == m->seen;
}

static void drop_removed_roots(manager *m) {
    size_t kept = 0;
    for (size_t i = 0; i < m->root_count; i++)
        if (is_in_module(m, m->roots[i])) m->roots[kept++] = m->roots[i];
    m->root_count = kept;
}

static void start_roots(manager *m, tile_function *only) {
    m->seen = 1;
    for (tile_function *f = m->module->first; f; f = f->next) {
        f->seen = m->seen;
        if (only ? f == only : f->kind != TILE_FUNC) add_root(m, f);
    }
}

/* One step ----------------------------------------------------------------------------------- */

/* Returns whether the function has the form expected after all steps before `next`. */
static bool is_valid(const manager *m, const tile_pipeline_step *next, const tile_function *f) {
    size_t done = next ? (size_t)(next - m->pipeline.steps) : m->pipeline.count;
    return tile_function_verify(f) == TILE_OK && tile_contract_check_left(&m->pipeline, done, f);
}

/* A failure here is a bug in a pass, so the diagnostic names the pass for the bug report. */
static tile_status verify(manager *m, const tile_pipeline_step *step, const tile_function *f) {
    if (m->options.skip_verify || m->options.verify_less || is_valid(m, step + 1, f))
        return TILE_OK;
    tile_error_at(f, TILE_NO_OP, "pass '%s' has made @%s invalid: see the errors above",
                  step->row->info.name, f->name);
    return TILE_FAILED;
}

/* Without verification after each pass, verifies at the end and before a pass that changes the
 * level. */
static tile_status verify_before(manager *m, const tile_pipeline_step *step) {
    if (m->options.skip_verify || !m->options.verify_less) return TILE_OK;
    if (step && step->row->info.level_in == step->row->info.level_out) return TILE_OK;
    for (size_t i = 0; i < m->root_count; i++) {
        const tile_function *f = m->roots[i];
        if (is_valid(m, step, f)) continue;
        tile_error_at(
            f, TILE_NO_OP, "the passes before %s%s%s have left @%s invalid: see the errors above",
            step ? "'" : "", step ? step->row->info.name : "the end", step ? "'" : "", f->name);
        return TILE_FAILED;
    }
    return TILE_OK;
}

static tile_pass pass_of(manager *m, const tile_pipeline_step *step) {
    return (tile_pass){.context = m->context,
                       .target = m->options.target,
                       .has_target = m->has_target,
                       .scratch = &m->scratch,
                       .options = step->options,
                       .option_count = step->option_count,
                       .statistic = m->options.statistic,
                       .report_user = m->options.report_user,
                       .name = step->row->info.name};
}
/* Calls the `before` hook. Returns the function's text if changes are to be reported, else an empty
 * text. */
static tile_text begin_pass(manager *m, const tile_pipeline_step *step, const tile_function *f,
                            tile_arena *texts) {
    const tile_pass_options *o = &m->options;
    if (o->before) o->before(step->row->info.name, f, false, o->hook_user);
    return o->after && o->report_changes ? print_function(f, texts) : (tile_text){0};
}

/* Verifies the result and calls the `after` hook. before is NULL for a function that the pass has
 * added. */
static tile_status end_pass(manager *m, const tile_pipeline_step *step, const tile_function *f,
                            const tile_text *before, tile_arena *texts) {
    const tile_pass_options *o = &m->options;
    if (verify(m, step, f) != TILE_OK) return TILE_FAILED;
    if (!o->after) return TILE_OK;
    bool changed = false;
    if (o->report_changes) {
        tile_text after = print_function(f, texts);
        changed = !before || !is_same_text(before, &after);
    }
    o->after(step->row->info.name, f, changed, o->hook_user);
    return TILE_OK;
}

static tile_status run_on_function(manager *m, const tile_pipeline_step *step, tile_function *f) {
    tile_pass pass = pass_of(m, step);
    tile_arena texts = {0};
    tile_text before = begin_pass(m, step, f, &texts);
    tile_status status = step->row->run(&pass, f);
    tile_arena_reset(&m->scratch);
    if (status == TILE_OK) status = end_pass(m, step, f, &before, &texts);
    tile_arena_reset(&texts);
    return status;
}

static tile_status run_on_module(manager *m, const tile_pipeline_step *step) {
    tile_pass pass = pass_of(m, step);
    tile_arena texts = {0};
    size_t count = m->root_count;
    tile_text *before = TILE_NEW_ARRAY(&texts, tile_text, count + 1);
    for (size_t i = 0; i < count; i++) before[i] = begin_pass(m, step, m->roots[i], &texts);
    tile_roots roots = {m->roots, count};
    tile_status status = step->row->run_module(&pass, m->module, &roots);
    tile_arena_reset(&m->scratch);
    find_new_roots(m);
    for (size_t i = 0; i < count && status == TILE_OK; i++)
        if (is_in_module(m, m->roots[i]))
            status = end_pass(m, step, m->roots[i], &before[i], &texts);
    tile_arena_reset(&texts);
    return status;
}

/* Levels and pipelines ----------------------------------------------------------------------- */

/* How a pass relates to a function, by their levels. */
typedef enum relation {
    FITS,
    OTHER, /* wrong kind: a pass for computes and a kernel, the reverse, a plan or a func */
    EARLY, /* the function has not reached the level of the pass */
    LATE,  /* the function is past the level of the pass, which leaves it unchanged */
} relation;

static relation relation_to(const tile_pipeline_step *step, const tile_function *f) {
    unsigned levels = step->row->info.level_in, level = f->level <= 3 ? 1u << f->level : 0;
    if (f->kind == TILE_FUNC) return OTHER;
    if (levels & level) return FITS;
    if (f->kind != TILE_KERNEL || levels == TILE_LEVEL_1) return OTHER;
    return levels < level ? LATE : EARLY;
}

static bool refuse(manager *m, const tile_pipeline_step *step, const tile_function *f) {
    const char *name = step->row->info.name;
    bool of_computes = step->row->info.level_in == TILE_LEVEL_1;
    if (relation_to(step, f) == EARLY)
        return tile_pipeline_error(&m->pipeline, step->loc,
                                   "pass '%s' requires level 3, and @%s is at level %u", name,
                                   f->name, f->level);
    return tile_pipeline_error(&m->pipeline, step->loc, "pass '%s' runs on %s, and @%s is a %s",
                               name, of_computes ? "computes" : "kernels", f->name,
                               tile_function_kind_name(f->kind));
}

/* Issues one remark per run if a kernel is left unchanged, not one for each pass. */
static void skip_function(manager *m, const tile_pipeline_step *step, const tile_function *f) {
    if (!m->skipped)
        tile_remark_at(
            f, TILE_NO_OP,
            "@%s is at level %u, which '%s' does not accept; run only passes of that level",
            f->name, f->level, step->row->info.name);
    m->skipped = true;
}

/* A module may mix computes and kernels, so a function of the wrong kind is an error only if the
 * user requested it by name. */
static bool check_levels(manager *m, const tile_pipeline_step *step) {
    bool others = m->root_count > 0;
    for (size_t i = 0; i < m->root_count; i++) {
        relation here = relation_to(step, m->roots[i]);
        if (here == EARLY) return refuse(m, step, m->roots[i]);
        if (here == LATE) skip_function(m, step, m->roots[i]);
        others &= here == OTHER;
    }
    return !others || !m->options.kernel || refuse(m, step, m->roots[0]);
}

static bool is_instantiated(manager *m, const tile_pipeline_step *step, const tile_function *f) {
    if (!f->param_count || !(step->row->needs & TILE_PROPERTY_instantiated)) return true;
    return tile_pipeline_error(
        &m->pipeline, step->loc,
        "pass '%s' needs 'instantiate' before it: @%s has the parameter '%s'", step->row->info.name,
        f->name, f->params[0].name);
}

static tile_status run_on_roots(manager *m, const tile_pipeline_step *step) {
    tile_status status = TILE_OK;
    size_t count = m->root_count;
    unsigned fitting = 0;
    if (!check_levels(m, step)) return TILE_INVALID;
    for (size_t i = 0; i < count; i++) {
        if (relation_to(step, m->roots[i]) != FITS) continue;
        if (!is_instantiated(m, step, m->roots[i])) return TILE_INVALID;
        fitting++;
    }
    if (!fitting) return TILE_OK;
    if (step->row->run_module) {
        status = run_on_module(m, step);
    } else {
        for (size_t i = 0; i < count && status == TILE_OK; i++)
            if (relation_to(step, m->roots[i]) == FITS)
                status = run_on_function(m, step, m->roots[i]);
        find_new_roots(m);
    }
    tile_arena texts = {0};
    for (size_t i = count; i < m->root_count && status == TILE_OK; i++)
        status = end_pass(m, step, m->roots[i], NULL, &texts);
    tile_arena_reset(&texts);
    drop_removed_roots(m);
    return status;
}

/* step: NULL at the end of the pipeline. */
static tile_status run_step(manager *m, const tile_pipeline_step *step) {
    double start = tile_seconds_now();
    tile_status status = verify_before(m, step);
    if (status == TILE_OK && step) status = run_on_roots(m, step);
    if (m->options.timing && (step || m->options.verify_less))
        m->options.timing(step ? step->row->info.name : "verify", tile_seconds_now() - start,
                          m->options.report_user);
    return status;
}

static tile_function *find_kernel(manager *m) {
    tile_function *f = tile_module_find(m->module, m->options.kernel);
    if (f) return f;
    tile_guess guess = tile_guess_start(m->options.kernel, strlen(m->options.kernel));
    for (const tile_function *other = m->module->first; other; other = other->next)
        tile_guess_try(&guess, other->name);
    tile_report(m->context, TILE_ERROR, (tile_loc){0}, "there is no function @%s%s%s%s",
                m->options.kernel, guess.best ? "; did you mean @" : "",
                guess.best ? guess.best : "", guess.best ? "?" : "");
    return NULL;
}

/* Unverified input, for example from the builder API, could crash the passes. */
static tile_status verify_roots(manager *m) {
    tile_status status = TILE_OK;
    for (size_t i = 0; i < m->root_count && !m->options.skip_verify; i++)
        if (tile_function_verify(m->roots[i]) != TILE_OK ||
            !tile_contract_check_input(&m->pipeline, m->roots[i]))
            status = TILE_INVALID;
    return status;
}

static tile_status run_pipeline(manager *m, const tile_pass_table *passes, const char *pipeline) {
    tile_function *only = NULL;
    if (m->options.kernel && !(only = find_kernel(m))) return TILE_INVALID;
    if (!tile_pipeline_parse(m->context, passes, pipeline, &m->arena, &m->pipeline))
        return TILE_INVALID;
    start_roots(m, only);
    tile_status status = verify_roots(m);
    for (size_t i = 0; i < m->pipeline.count && status == TILE_OK; i++)
        status = run_step(m, &m->pipeline.steps[i]);
    return status == TILE_OK ? run_step(m, NULL) : status;
}

tile_status tile_run_passes_of(const tile_pass_table *passes, tile_module *module,
                               const char *pipeline, const tile_pass_options *options) {
    manager m = {.module = module, .context = module->context};
    if (!TILE_TAKE_OPTIONS(m.context, tile_pass_options, &m.options, options)) return TILE_INVALID;
    m.has_target = m.options.target != NULL;
    if (!m.has_target) m.options.target = tile_target_find("sm_80");
    tile_remarks_begin(m.context);
    tile_status status = run_pipeline(&m, passes, pipeline ? pipeline : "");
    tile_arena_reset(&m.arena);
    tile_arena_reset(&m.scratch);
    return status;
}

tile_status tile_run_passes(tile_module *module, const char *pipeline,
                            const tile_pass_options *options) {
    TILE_GUARD(tile_module_context(module), TILE_OUT_OF_MEMORY)
    if (!module) return TILE_INVALID;
    return tile_run_passes_of(&tile_all_passes, module, pipeline, options);
}
