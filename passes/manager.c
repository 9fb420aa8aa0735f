/* Runs pipelines: every pass on every function it is made for, verified, timed and shown. */
#include <string.h>

#include "lib/support/clock.h"
#include "lib/support/guess.h"
#include "lib/support/options.h"
#include "passes/pipeline_text.h"

typedef struct manager {
    tile_module *module;
    tile_context *context;
    tile_pass_options options;
    tile_pipeline pipeline;
    tile_arena arena;   /* of the pipeline */
    tile_arena scratch; /* of one pass on one function */
} manager;

void tile_pass_count(const tile_pass *pass, const char *what, long value) {
    if (pass->statistic) pass->statistic(pass->name, what, value, pass->report_user);
}

const char *tile_default_pipeline(unsigned level) {
#define TO_LEVEL_2 \
    "canonicalize,cse,licm,dce,pipeline,assign-layouts,canonicalize,cse,licm,dce," \
    "allocate-shared,insert-barriers"
    return level < 3 ? TO_LEVEL_2 : TO_LEVEL_2 ",lower-tiles,canonicalize,cse,licm,dce";
#undef TO_LEVEL_2
}

/* One pass on one function ------------------------------------------------------------------- */

typedef struct text {
    tile_arena *arena;
    char *data;
    size_t length, capacity;
} text;

static void append(const char *piece, size_t length, void *user) {
    text *t = user;
    if (!length) return;
    if (t->length + length > t->capacity) {
        size_t capacity = 2 * (t->length + length) + 1024;
        char *data = tile_arena_alloc(t->arena, capacity);
        if (t->length) memcpy(data, t->data, t->length);
        t->data = data;
        t->capacity = capacity;
    }
    memcpy(t->data + t->length, piece, length);
    t->length += length;
}

static text print_function(const tile_function *f, tile_arena *arena) {
    text t = {.arena = arena};
    tile_function_print(f, append, &t);
    return t;
}

static bool is_same_text(const text *a, const text *b) {
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

/* A bug in the pass, which the user must be able to report: say which pass it was. */
static tile_status verify(manager *m, const tile_pipeline_step *step, const tile_function *f) {
    if (m->options.skip_verify || tile_function_verify(f) == TILE_OK) return TILE_OK;
    tile_report(m->context, TILE_ERROR, f->loc,
                "pass '%s' has left @%s in a state that breaks the rules above",
                step->row->info.name, f->name);
    return TILE_FAILED;
}

static bool is_instantiated(manager *m, const tile_pipeline_step *step, const tile_function *f) {
    if (!f->param_count || !tile_pass_row_builds_on(step->row, "instantiate")) return true;
    return tile_pipeline_error(
        &m->pipeline, step->loc,
        "pass '%s' needs 'instantiate' before it: @%s has the parameter '%s'", step->row->info.name,
        f->name, f->params[0].name);
}

static tile_status run_on_function(manager *m, const tile_pipeline_step *step, tile_function *f) {
    const char *name = step->row->info.name;
    const tile_pass_options *o = &m->options;
    if (!is_instantiated(m, step, f)) return TILE_INVALID;
    tile_pass pass = {.context = m->context,
                      .target = o->target,
                      .scratch = &m->scratch,
                      .options = step->options,
                      .option_count = step->option_count,
                      .statistic = o->statistic,
                      .report_user = o->report_user,
                      .name = name};
    tile_arena texts = {0};
    bool compare = o->report_changes && o->after;
    text before = {0};
    if (o->before) o->before(name, f, false, o->hook_user);
    if (compare) before = print_function(f, &texts);
    tile_status status = step->row->run(&pass, f);
    tile_arena_reset(&m->scratch);
    if (status == TILE_OK) status = verify(m, step, f);
    if (o->after && status == TILE_OK) {
        text after = {0};
        if (compare) after = print_function(f, &texts);
        o->after(name, f, compare && !is_same_text(&before, &after), o->hook_user);
    }
    tile_arena_reset(&texts);
    return status;
}

/* Functions and pipelines -------------------------------------------------------------------- */

static unsigned levels_of(const tile_function *f) {
    return f->kind == TILE_COMPUTE ? TILE_LEVEL_1 : TILE_LEVEL_2 | TILE_LEVEL_3;
}

static tile_status run_step(manager *m, const tile_pipeline_step *step, const tile_function *only) {
    double start = tile_seconds_now();
    tile_status status = TILE_OK;
    if (only && !(levels_of(only) & step->row->info.level_in)) {
        tile_pipeline_error(&m->pipeline, step->loc, "pass '%s' works on %s, @%s is a %s",
                            step->row->info.name,
                            only->kind == TILE_COMPUTE ? "kernels" : "computes", only->name,
                            only->kind == TILE_COMPUTE ? "compute" : "kernel");
        return TILE_INVALID;
    }
    for (tile_function *f = m->module->first; f && status == TILE_OK; f = f->next)
        if ((!only || f == only) && (levels_of(f) & step->row->info.level_in))
            status = run_on_function(m, step, f);
    if (m->options.timing)
        m->options.timing(step->row->info.name, tile_seconds_now() - start, m->options.report_user);
    return status;
}

static const tile_function *find_kernel(manager *m) {
    const tile_function *f = tile_module_find(m->module, m->options.kernel);
    if (f) return f;
    tile_guess guess = tile_guess_start(m->options.kernel, strlen(m->options.kernel));
    for (const tile_function *other = m->module->first; other; other = other->next)
        tile_guess_try(&guess, other->name);
    tile_report(m->context, TILE_ERROR, (tile_loc){0}, "there is no function @%s%s%s%s",
                m->options.kernel, guess.best ? "; did you mean @" : "",
                guess.best ? guess.best : "", guess.best ? "?" : "");
    return NULL;
}

static tile_status run_pipeline(manager *m, const char *pipeline) {
    const tile_function *only = NULL;
    if (m->options.kernel && !(only = find_kernel(m))) return TILE_INVALID;
    if (!tile_pipeline_parse(m->context, pipeline, &m->arena, &m->pipeline)) return TILE_INVALID;
    for (size_t i = 0; i < m->pipeline.count; i++) {
        tile_status status = run_step(m, &m->pipeline.steps[i], only);
        if (status != TILE_OK) return status;
    }
    return TILE_OK;
}

tile_status tile_run_passes(tile_module *module, const char *pipeline,
                            const tile_pass_options *options) {
    manager m = {.module = module, .context = module->context};
    tile_take_options(&m.options, sizeof m.options, options);
    if (!m.options.target) m.options.target = tile_target_find("sm_80");
    tile_status status = run_pipeline(&m, pipeline ? pipeline : "");
    tile_arena_reset(&m.arena);
    tile_arena_reset(&m.scratch);
    return status;
}
