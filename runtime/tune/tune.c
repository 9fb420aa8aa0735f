/* The stages of a tuning (see tile/tune.h for their order). */
#include "tile/tune.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/ir/function.h"
#include "passes/passes.h"
#include "lib/support/clock.h"
#include "lib/support/options.h"
#include "lib/tuning/space.h"
#include "runtime/cuda/driver/driver.h"
#include "runtime/device/measure.h"
#include "runtime/launch/tuned.h"
#include "runtime/model/model.h"
#include "runtime/model/packed.h"
#include "runtime/tune/build.h"
#include "runtime/tune/phases.h"
#include "runtime/tune/tuning.h"
#include "runtime/tune/worker.h"
#include "tile/split.h"

static const tile_loc no_location = {0, 0, 0};

static const double default_timeout = 20, progress_interval = 0.1;
static const double abandon_factor = 1.1; /* slower than the best by this: abandoned */
static const double final_factor = 1.05;  /* within this of the best: measured again */

enum { FINALISTS = 8, ROUNDS = 5, SMALL_LIMIT_CUDA = 256, SMALL_LIMIT_CPU = 64 };

typedef struct tuner {
    tile_device *device;
    tile_module *module; /* a copy */
    const tile_function *f;
    const tile_tune_argument *arguments;
    tile_tune_options options;
    tile_tuning *t;
    tile_arena arena;
    tune_task task;
    tile_text task_text;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    tune_phases phases;
    size_t first;    /* of the current phase's points */
    size_t runnable; /* of these: points that were not dropped; they come first */
    size_t before;   /* such points of earlier phases */
    tile_store *store;
    tune_builder *builder;
    tune_runner runner;
    size_t tried;
    double start, last_progress, tuning_start, phase_end;
    const tile_candidate *best; /* so far */
} tuner;

static tile_status fail(const tuner *u, tile_status status, const char *format, const char *a) {
    tile_arena arena = {0};
    tile_report(u->device->context, TILE_ERROR, u->f ? u->f->loc : no_location, "%s",
                tile_arena_format(&arena, format, a));
    tile_arena_reset(&arena);
    return status;
}

/* Progress ------------------------------------------------------------------------------------- */

static void report_problem(tuner *u, const char *stage, size_t done, size_t total, double since) {
    const tile_tune_progress progress = {.stage = stage,
                                         .name = u->t->facts.name,
                                         .done = (unsigned)done,
                                         .total = (unsigned)total,
                                         .seconds = tile_seconds_now() - since,
                                         .best = u->best};
    if (u->options.progress) u->options.progress(&progress, u->options.user);
}

static bool is_progress_due(tuner *u) {
    double time = tile_seconds_now();
    if (time - u->last_progress < progress_interval) return false;
    u->last_progress = time;
    return true;
}

static void show_progress(tuner *u, bool now) {
    double time = tile_seconds_now();
    if (!now && !is_progress_due(u)) return;
    size_t built = u->builder ? tune_builder_count(u->builder) : u->runnable;
    size_t total = u->before + u->runnable;
    bool builds = u->device->ops->wants && u->builder;
    if (builds && !u->tuning_start)
        report_problem(u, "Building", u->before + built, total, u->start);
    if (builds && !u->tuning_start && built == u->runnable) {
        u->t->facts.build_seconds = time - u->start;
        u->tuning_start = u->start;
    }
    if (!builds || u->tuning_start)
        report_problem(u, "Tuning", u->tried, total, u->tuning_start ? u->tuning_start : u->start);
}

/* The work before the first candidate may use half of the budget, so that at least one candidate is
 * tried within it. */
static bool prepare_on(const char *stage, size_t done, size_t total, void *user) {
    tuner *u = user;
    if (is_progress_due(u)) report_problem(u, stage, done, total, u->start);
    return !(u->options.budget > 0) || tile_seconds_now() - u->start < u->options.budget / 2;
}

static void report_idle(void *user) {
    show_progress(user, false);
}

/* The request ---------------------------------------------------------------------------------- */

static tile_status check_request(tuner *u, const char *name, unsigned argument_count) {
    tile_function *f = tile_module_find(u->module, name);
    u->f = f;
    if (!f || !tile_function_is_launched(f))
        return fail(u, TILE_INVALID, "there is no kernel @%s, nor such a plan", name ? name : "");
    if (!tile_bindings_are_complete(u->device->context, u->options.bindings,
                                    u->options.binding_count) ||
        tile_resolve_tuning(f, u->device->target, u->options.bindings, u->options.binding_count) !=
            TILE_OK ||
        tile_plan_take_points(f) != TILE_OK)
        return TILE_INVALID;
    if (tile_module_context(u->module) != u->device->context)
        return fail(u, TILE_INVALID, "@%s belongs to a module of another context than the device",
                    u->f->name);
    if (argument_count != u->f->arg_count || argument_count > TILE_MAX_ARGUMENTS ||
        (argument_count && !u->arguments))
        return fail(u, TILE_INVALID, "@%s: a tuning takes a value for each argument", u->f->name);
    if (!u->device->ops->describe || !u->device->ops->fill)
        return fail(u, TILE_UNSUPPORTED, "there is no tuning on device %s", u->device->name);
    if (!u->f->reference && !u->options.unchecked)
        return fail(u, TILE_INVALID,
                    "@%s names no reference, so results cannot be checked: write `of @compute` "
                    "after its arguments, or allow unchecked results (tile-run --unchecked)",
                    u->f->name);
    if (!tile_bindings_are_complete(u->device->context, u->options.bindings,
                                    u->options.binding_count))
        return TILE_INVALID;
    return TILE_OK;
}

static bool choose_defaults(tuner *u) {
    bool cuda = tile_device_is_cuda(u->device);
    tile_measure_options *m = &u->task.measure;
    if (!(u->options.timeout > 0)) u->options.timeout = default_timeout;
    if (!u->options.seed) u->options.seed = 1;
    *m = (tile_measure_options){.size = sizeof *m, .repeats = 1};
    if (cuda) m->warmup = 5, m->repeats = 20, m->flush = TILE_FLUSH_DIRTY;
    bool taken = !u->options.measure ||
                 TILE_TAKE_OPTIONS(u->device->context, tile_measure_options, m, u->options.measure);
    m->samples = NULL;
    m->abandon_above = 0;
    return taken;
}

static tile_status make_task(tuner *u, unsigned count) {
    tune_task *task = &u->task;
    tile_text text = {.arena = &u->arena};
    tile_measure_options checked;
    if (!choose_defaults(u) ||
        tile_take_measure_options(u->device->context, &task->measure, &checked) != TILE_OK)
        return TILE_INVALID;
    task->cuda = tile_device_is_cuda(u->device);
    u->device->ops->describe(u->device, &task->device);
    tile_module_print(u->module, tile_text_append, &text);
    task->text = tile_arena_string(&u->arena, text.data, text.length);
    task->kernel = u->f->name;
    task->argument_count = task->small_count = count;
    task->arguments =
        tile_arena_copy(&u->arena, u->arguments, sizeof *u->arguments * (count + !count));
    task->small = TILE_NEW_ARRAY(&u->arena, int64_t, count + 1);
    task->unchecked = !u->f->reference;
    task->seed = u->options.seed;
    tune_choose_small(u->f, u->arguments, task->cuda ? SMALL_LIMIT_CUDA : SMALL_LIMIT_CPU,
                      task->small);
    u->task_text.arena = &u->arena;
    tune_task_write(&u->task_text, task);
    return TILE_OK;
}

/* A point in the cache ------------------------------------------------------------------------- */

/* A point without bindings of a kernel without `tune` answers only requests without splits. */
static bool was_asked(const tuner *u, const tile_tuned_point *found) {
    return !u->options.split || u->f->tune_count || *found->bindings || !tune_may_split(u->f);
}

static bool find_point(tuner *u) {
    tile_tuning *t = u->t;
    tile_tuned_point found;
    tile_retune retune = u->options.retune;
    if (!u->device->cache || u->options.binding_count || retune == TILE_RETUNE_ALWAYS) return false;
    tile_point_key key = tile_tuned_key(u->device, u->f, u->sizes, &u->arena);
    if (!tile_cache_find_point(u->device->cache, &key, &found)) return false;
    if (found.stale && retune == TILE_RETUNE_STALE) return false;
    if (!was_asked(u, &found)) return false;
    tune_point *p = t->points = TILE_NEW(&t->arena, tune_point);
    p->c = (tile_candidate){
        .text = tile_arena_string(&t->arena, found.bindings, strlen(found.bindings)),
        .state = TILE_CANDIDATE_measured,
        .why = "",
        .time = {.median = found.seconds},
        .rate = found.seconds};
    p->c.bindings = tile_read_bindings(p->c.text, &t->arena, &p->c.binding_count);
    if (!p->c.bindings) return false;
    t->count = 1;
    t->facts.found = t->facts.kept = true;
    t->facts.stale = found.stale;
    t->facts.unchecked = found.unchecked;
    return true;
}

/* The driver version of the measurements. */
static const char *driver_text(const tuner *u) {
    int version = 0;
    const tile_driver *driver = u->task.cuda ? tile_driver_open(u->device->context) : NULL;
    if (!driver || driver->cuDriverGetVersion(&version) != 0) return "";
    return tile_arena_format((tile_arena *)&u->arena, "%d.%d", version / 1000, version % 1000 / 10);
}

static const char *find_reason_not_to_keep(const tuner *u) {
    if (!u->device->cache) return "the device has no cache";
    if (u->options.binding_count) return "only points with the given parameters were measured";
    return NULL;
}

static const char in_one_part[] = TILE_SPLIT_FACTOR "=1 " TILE_SPLIT_STRATEGY "=serial";

static void keep_best(tuner *u) {
    tile_tuning *t = u->t;
    const tile_tuned_point whole = {.bindings = ""};
    if (t->best) t->facts.unkept = find_reason_not_to_keep(u);
    if (!t->best || t->facts.unkept) return;
    const tile_tuned_point point = {
        .kernel_name = t->kernel,
        .bindings = *t->best->text || was_asked(u, &whole) ? t->best->text : in_one_part,
        .seconds = t->best->time.median,
        .driver = driver_text(u),
        .unchecked = t->facts.unchecked};
    tile_point_key key = tile_tuned_key(u->device, u->f, u->sizes, &u->arena);
    t->facts.kept = tile_cache_keep_point(u->device->cache, &key, &point);
    if (!t->facts.kept) t->facts.unkept = "the cache cannot be written";
}

/* Adds the best point's code to the cache under the key of later launches: with line info. */
static void keep_code(tuner *u) {
    tile_kernel *kernel;
    tile_argument arguments[TILE_MAX_ARGUMENTS];
    bool is_point = u->f->tune_count || (u->t->best && u->t->best->binding_count);
    if (!u->t->facts.kept || !u->device->ops->wants || !is_point) return;
    for (unsigned i = 0; i < u->f->arg_count; i++)
        arguments[i] = (tile_argument){.integer = u->sizes[i]};
    if (tile_kernel_create(u->device, u->module, u->f->name, NULL, 0, &kernel) != TILE_OK) return;
    tile_kernel_set_point(kernel, arguments, (unsigned)u->f->arg_count, u->t->best->bindings,
                          u->t->best->binding_count);
    tile_kernel_destroy(kernel);
}

/* Candidates ----------------------------------------------------------------------------------- */

/* Orders points: dropped ones last, the others by estimated time if known, then by their order in
 * the space. */
static int by_estimate(const void *a, const void *b) {
    const tune_point *x = a, *y = b;
    bool dropped = x->c.state == TILE_CANDIDATE_dropped;
    if (dropped != (y->c.state == TILE_CANDIDATE_dropped)) return dropped ? 1 : -1;
    if (!(x->c.estimate > 0) != !(y->c.estimate > 0)) return x->c.estimate > 0 ? -1 : 1;
    if (x->c.estimate != y->c.estimate) return x->c.estimate < y->c.estimate ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Removes points that an earlier phase has listed. */
static size_t drop_listed(const tuner *u, tune_point *points, size_t count) {
    const tile_tuning *t = u->t;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool listed = false;
        for (size_t k = 0; k < t->count && !listed; k++)
            listed = strcmp(t->points[k].c.text, points[i].c.text) == 0;
        if (!listed) points[kept++] = points[i];
    }
    return kept;
}

/* Makes these the points of the current phase, the best estimates first. */
static void add_points(tuner *u, tune_point *points, size_t count) {
    tile_tuning *t = u->t;
    size_t best = u->best ? (size_t)((const tune_point *)(const void *)u->best - t->points) : 0;
    tune_point *all = TILE_NEW_ARRAY(&t->arena, tune_point, t->count + count + 1);
    for (size_t i = 0; i < t->count; i++) all[i] = t->points[i];
    for (size_t i = 0; i < count; i++) all[t->count + i] = points[i];
    qsort(all + t->count, count, sizeof *all, by_estimate);
    if (u->best) u->best = &all[best].c;
    u->before += u->runnable;
    u->first = t->count;
    u->runnable = 0;
    t->points = all;
    t->count += count;
    while (u->runnable < count && all[u->first + u->runnable].c.state != TILE_CANDIDATE_dropped)
        u->runnable++;
}

static tile_status list_points(tuner *u, const tile_binding *bindings, unsigned binding_count) {
    tile_arena *arena = &u->t->arena;
    const tune_watch watch = {prepare_on, u};
    tune_point *points;
    size_t count;
    if (!tune_list_points(u->f, bindings, binding_count, u->sizes, arena, &points, &count))
        return TILE_INVALID;
    tune_join_packing(u->device, u->f, u->sizes, arena, &points, &count);
    if (u->options.split)
        tune_join_splits(u->device, u->module, u->f, u->sizes, &watch, arena, &points, &count);
    count = drop_listed(u, points, count);
    tune_estimate_points(u->device, u->module, u->f->name, u->sizes, &watch, points, count);
    add_points(u, points, count);
    return TILE_OK;
}

/* Lists the points of the next phase, if there is one. Splits belong to the whole plan. */
static tile_status list_next(tuner *u, bool *over) {
    unsigned count;
    const tile_binding *bindings = tune_phases_next(&u->phases, u->best, &u->t->arena, &count);
    *over = !bindings;
    return bindings ? list_points(u, bindings, count) : TILE_OK;
}

static tile_status list_first(tuner *u) {
    bool over = true;
    const tile_tune_options *o = &u->options;
    if (!o->split)
        tune_phases_open(&u->phases, u->device, u->module, u->f, o->bindings, o->binding_count,
                         u->sizes, &u->t->arena);
    tile_status status = list_next(u, &over);
    return over ? list_points(u, o->bindings, o->binding_count) : status;
}

static void fill_trial(tuner *u, tune_point *p, bool again, tile_arena *arena, tune_trial *trial) {
    size_t count = p->log.count;
    *trial = (tune_trial){.bindings = p->c.text, .again = again};
    if (u->best && !u->options.rate) trial->abandon_above = u->best->time.median * abandon_factor;
    trial->artifacts = TILE_NEW_ARRAY(arena, tune_artifact, count + 1);
    for (size_t i = 0; i < count; i++) {
        tune_artifact *a = &trial->artifacts[trial->artifact_count];
        a->key = p->log.keys[i];
        if (tile_store_find(u->store, a->key, &a->data, &a->size)) trial->artifact_count++;
    }
}

static void rate(tuner *u, tile_candidate *c) {
    c->rate = c->time.median;
    if (u->options.rate) c->rate = u->options.rate(c, u->options.user);
    if (!(c->rate >= 0)) c->rate = INFINITY;
    if (!u->best || c->rate < u->best->rate) u->best = c;
}

static void take_outcome(tuner *u, tune_point *p, const tune_outcome *o) {
    tile_candidate *c = &p->c;
    tile_tuning_facts *facts = &u->t->facts;
    c->state = o->state;
    c->why = o->why ? tile_arena_string(&p->arena, o->why, strlen(o->why)) : "";
    c->time = o->time;
    c->registers = o->registers;
    c->local_bytes = o->local_bytes;
    c->shared_bytes = o->shared_bytes;
    c->blocks_per_sm = o->blocks_per_sm;
    if (o->check && !*facts->check)
        facts->check = tile_arena_string(&u->t->arena, o->check, strlen(o->check));
    if (c->state == TILE_CANDIDATE_measured) rate(u, c);
}

static tile_status try_point(tuner *u, tune_point *p) {
    tile_arena arena = {0};
    tune_trial trial;
    tune_outcome outcome;
    if (p->build == TUNE_BUILD_FAILED) {
        p->c.state = TILE_CANDIDATE_refused;
        return TILE_OK;
    }
    fill_trial(u, p, false, &arena, &trial);
    tile_status status = tune_runner_try(&u->runner, &trial, &arena, &outcome);
    take_outcome(u, p, &outcome);
    tile_arena_reset(&arena);
    return status;
}

/* At least one candidate is always tried. */
static bool is_spent(const tuner *u) {
    return u->options.budget > 0 && u->tried && tile_seconds_now() - u->start > u->options.budget;
}

/* The remaining phases share what is left of the budget. */
static void begin_phase(tuner *u) {
    double now = tile_seconds_now(), left = u->start + u->options.budget - now;
    u->phase_end = u->options.budget > 0 ? now + left / (u->phases.left + 1) : INFINITY;
}

static bool is_over(const tuner *u) {
    return is_spent(u) || (u->tried && tile_seconds_now() > u->phase_end);
}

static tile_status try_all(tuner *u) {
    bool over = false;
    tile_status status = TILE_OK;
    begin_phase(u);
    while (status == TILE_OK && !over && !is_over(u)) {
        tune_point *p = tune_builder_next(u->builder, &over);
        if (p) {
            status = try_point(u, p);
            u->tried++;
        }
        show_progress(u, false);
    }
    show_progress(u, true);
    return status;
}

/* Measures the best candidates again, alternating in several rounds. The differences between them
 * are as small as those between two measurements of one candidate. A temporary slowdown of the
 * device (clocks, other users of the host) affects all candidates of a round. */
static tile_status measure_again(tuner *u, tune_point *p, tile_measurement *time) {
    tile_arena arena = {0};
    tune_trial trial;
    tune_outcome outcome;
    fill_trial(u, p, true, &arena, &trial);
    tile_status status = tune_runner_try(&u->runner, &trial, &arena, &outcome);
    if (outcome.state != TILE_CANDIDATE_measured) take_outcome(u, p, &outcome);
    *time = outcome.time;
    tile_arena_reset(&arena);
    return status;
}

/* The median round represents all rounds. */
static const tile_measurement *find_middle(const tile_measurement *rounds) {
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned faster = 0, before = 0;
        for (unsigned k = 0; k < ROUNDS; k++) {
            faster += rounds[k].median < rounds[i].median;
            before += k < i && rounds[k].median == rounds[i].median;
        }
        if (faster + before == ROUNDS / 2) return &rounds[i];
    }
    return rounds;
}

/* Selects the candidates that may turn out to be the best, by their median and by their fastest
 * launch: other work may have disturbed most launches of a measurement. Returns their number. */
static unsigned choose_finalists(const tuner *u, tune_point **finalists) {
    const tile_tuning *t = u->t;
    unsigned count = 0;
    double fastest = INFINITY;
    for (size_t i = 0; i < t->count; i++)
        if (t->ranked[i]->state == TILE_CANDIDATE_measured)
            fastest = fmin(fastest, t->ranked[i]->time.fastest);
    for (size_t i = 0; i < t->count && count < FINALISTS; i++) {
        const tile_candidate *c = t->ranked[i];
        if (c->state != TILE_CANDIDATE_measured) break;
        bool may_win = c->rate <= t->best->rate * final_factor ||
                       (!u->options.rate && c->time.fastest <= fastest * final_factor);
        if (may_win) finalists[count++] = (tune_point *)(void *)c;
    }
    return count;
}

static tile_status try_again(tuner *u) {
    tune_point *finalists[FINALISTS];
    tile_measurement times[FINALISTS][ROUNDS];
    tile_status status = TILE_OK;
    if (u->task.measure.repeats < 2 || u->t->count < 2 || !u->t->best) return TILE_OK;
    unsigned count = choose_finalists(u, finalists);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < count && status == TILE_OK; i++)
            if (finalists[i]->c.state == TILE_CANDIDATE_measured)
                status = measure_again(u, finalists[i], &times[i][round]);
    if (status != TILE_OK) return status;
    u->best = NULL;
    for (unsigned i = 0; i < count; i++) {
        if (finalists[i]->c.state != TILE_CANDIDATE_measured) continue;
        finalists[i]->c.time = *find_middle(times[i]);
        rate(u, &finalists[i]->c);
    }
    return TILE_OK;
}

/* Running -------------------------------------------------------------------------------------- */

static uint64_t half_of_memory(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size / 2 : 0;
}

static tile_status run_phase(tuner *u) {
    u->builder = tune_builder_start(u->device, &u->task, u->store, u->t->points + u->first,
                                    u->runnable, u->options.jobs);
    tile_status status = try_all(u);
    double stop = tile_seconds_now();
    tune_builder_stop(u->builder);
    u->builder = NULL;
    if (!(u->t->facts.build_seconds > 0) && u->device->ops->wants)
        u->t->facts.build_seconds = stop - u->start;
    return status;
}

static tile_status run(tuner *u) {
    u->store = tile_store_create();
    u->runner = (tune_runner){.context = u->device->context,
                              .path = u->options.worker,
                              .task = u->task_text.data,
                              .task_size = u->task_text.length,
                              .timeout = u->options.timeout,
                              .most_bytes = u->options.worker_bytes ? u->options.worker_bytes
                                                                    : half_of_memory(),
                              .idle = report_idle,
                              .user = u};
    tile_status status = tune_runner_start(&u->runner);
    for (bool over = false; status == TILE_OK && !over;) {
        status = run_phase(u);
        if (status == TILE_OK && !is_spent(u)) status = list_next(u, &over);
        over |= is_spent(u);
    }
    tune_rank(u->t);
    if (status == TILE_OK) status = try_again(u);
    tune_rank(u->t);
    tune_runner_stop(&u->runner);
    u->t->facts.restarts = u->runner.restarts;
    return status;
}

static tile_status fail_without_best(tuner *u) {
    const char *text =
        "no candidate of @%s is usable; the report (--report=FILE) lists the reason for each";
    if (u->options.budget > 0 && u->tried < u->before + u->runnable)
        text = tile_arena_format(&u->arena,
                                 "no candidate of @%%s won within the budget of %g s: %zu of %zu "
                                 "were tried; the report lists the reason for each",
                                 u->options.budget, u->tried, u->before + u->runnable);
    return fail(u, TILE_FAILED, text, u->f->name);
}

static tile_status tune(tuner *u, const char *name, unsigned count) {
    tile_tuning *t = u->t;
    tile_status status = check_request(u, name, count);
    if (status != TILE_OK) return status;
    for (unsigned i = 0; i < count; i++) u->sizes[i] = u->arguments[i].integer;
    t->kernel = tile_arena_string(&t->arena, u->f->name, strlen(u->f->name));
    const char *shape = tune_shape_name(u->f, u->arguments, &u->arena);
    t->facts.name = tile_arena_format(&t->arena, "%s %s", u->f->name, shape);
    tile_point_key key = tile_tuned_key(u->device, u->f, u->sizes, &t->arena);
    t->facts.bucket = key.bucket;
    t->facts.sizes = key.sizes;
    t->facts.in_process = !u->options.worker;
    t->facts.unchecked = !u->f->reference;
    if (find_point(u)) {
        tune_rank(t);
        return TILE_OK;
    }
    status = list_first(u);
    if (status == TILE_OK) status = make_task(u, count);
    if (status == TILE_OK) status = run(u);
    if (status != TILE_OK) return status;
    keep_best(u);
    keep_code(u);
    if (t->best) return TILE_OK;
    return fail_without_best(u);
}

tile_status tile_tune(tile_device *device, const tile_module *module, const char *kernel,
                      const tile_tune_argument *arguments, unsigned count,
                      const tile_tune_options *options, tile_tuning **out) {
    TILE_GUARD(device ? device->context : NULL, TILE_OUT_OF_MEMORY)
    if (out) *out = NULL;
    if (!device || !module || !out) return TILE_INVALID;
    tuner *u = tile_malloc(sizeof *u);
    *u = (tuner){.device = device, .module = tile_module_clone(module), .arguments = arguments};
    u->t = tile_malloc(sizeof *u->t);
    *u->t =
        (tile_tuning){.kernel = "", .facts = {.name = "", .sizes = "", .bucket = "", .check = ""}};
    u->start = u->last_progress = tile_seconds_now();
    bool taken = TILE_TAKE_OPTIONS(device->context, tile_tune_options, &u->options, options);
    tile_status status = taken ? tune(u, kernel, count) : TILE_INVALID;
    u->t->facts.seconds = tile_seconds_now() - u->start;
    if (!u->t->ranked) tune_rank(u->t);
    *out = u->t;
    tile_store_destroy(u->store);
    tile_module_destroy(u->module);
    tile_arena_reset(&u->arena);
    free(u);
    return status;
}
