#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/compile/run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/common/include.h"

enum { MAX_BINDINGS = 32 };

const char *bench_stage_meaning(bench_stage stage) {
    static const char *const meanings[] = {
#define STAGE(name, meaning, steps) meaning,
        BENCH_COMPILE_STAGES
#undef STAGE
    };
    return meanings[stage];
}

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One thread ----------------------------------------------------------------------------------- */

typedef struct shared_work {
    const bench_compile_job *job;
    bench_compile_result *result;
    atomic_uint next;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned warm; /* threads that have warmed up */
    bool begun;    /* the measurement has started */
} shared_work;

typedef struct worker {
    shared_work *work;
    pthread_t thread;
    bench_compile_point *point; /* being compiled */
    unsigned failed;
} worker;

static void add_time(const char *step, double seconds, void *user) {
    static const char *const steps[] = {
#define STAGE(name, meaning, steps) steps,
        BENCH_COMPILE_STAGES
#undef STAGE
    };
    worker *w = user;
    unsigned stage = 0;
    while (strncmp(step, steps[stage], strlen(steps[stage])) != 0)
        stage++; /* the last takes the rest */
    w->point->stages[stage] += seconds;
}

/* Splits "A=1 B=2" in place. */
static unsigned split(char *point, tile_binding *bindings) {
    unsigned count = 0;
    for (char *word = strtok_r(point, " ", &point); word && count < MAX_BINDINGS;
         word = strtok_r(NULL, " ", &point)) {
        char *equal = strchr(word, '=');
        if (!equal) continue;
        *equal = 0;
        bindings[count++] = (tile_binding){word, equal + 1};
    }
    return count;
}

static bool compile(worker *w, const tile_module *module, unsigned index) {
    const bench_compile_job *job = w->work->job;
    const tile_build_options build = {.size = sizeof build,
                                      .target = job->target,
                                      .wants = job->ptxas ? TILE_WANT_CUBIN : TILE_WANT_PTX,
                                      .no_line_info = job->no_line_info,
                                      .no_otherwise = !job->all_kernels,
                                      .no_remarks = true,
                                      .ptxas = job->ptxas,
                                      .timing = add_time,
                                      .report_user = w};
    const tile_pass_options none = {
        .size = sizeof none, .target = job->target, .timing = add_time, .report_user = w};
    tile_binding bindings[MAX_BINDINGS];
    char *point = tool_copy(job->points[index], strlen(job->points[index]));
    tile_module *copy = tile_module_clone(module);
    tile_artifact *artifact = NULL;
    tile_function *kernel = NULL;
    bool ok = tile_lower(copy, job->kernel, bindings, split(point, bindings), "", &none, &kernel) ==
                  TILE_OK &&
              tile_artifact_build(copy, tile_function_name(kernel), &build, &artifact) == TILE_OK;
    tile_artifact_destroy(artifact);
    tile_module_destroy(copy);
    free(point);
    return ok;
}

/* Compiles points until none is left. Points that do not compile, e.g. because they exceed the
 * target's shared memory, are counted. */
static void compile_all(worker *w, const tile_module *module) {
    shared_work *work = w->work;
    unsigned index;
    while ((index = atomic_fetch_add(&work->next, 1)) < work->job->point_count) {
        double before = now(CLOCK_THREAD_CPUTIME_ID);
        w->point = &work->result->points[index];
        if (!module || !compile(w, module, index)) {
            w->failed++; /* only the first error is printed; the others are usually alike */
            if (module) tile_context_set_sink(tile_module_context(module), NULL, NULL);
        }
        w->point->cpu = now(CLOCK_THREAD_CPUTIME_ID) - before;
    }
}

/* Waits until all threads have warmed up. */
static void wait_for_others(shared_work *shared) {
    pthread_mutex_lock(&shared->lock);
    shared->warm++;
    pthread_cond_broadcast(&shared->changed);
    while (!shared->begun) pthread_cond_wait(&shared->changed, &shared->lock);
    pthread_mutex_unlock(&shared->lock);
}

static void begin(shared_work *shared, unsigned threads) {
    pthread_mutex_lock(&shared->lock);
    while (shared->warm < threads) pthread_cond_wait(&shared->changed, &shared->lock);
    shared->begun = true;
    pthread_cond_broadcast(&shared->changed);
    pthread_mutex_unlock(&shared->lock);
}

static void *work(void *user) {
    worker *w = user;
    bench_compile_point first = {.cpu = 0};
    const bench_compile_job *job = w->work->job;
    tile_context *context = tile_context_create();
    tile_module *module = tool_parse(context, job->path, job->text, job->length);
    w->point = &first;
    if (module) compile(w, module, 0);
    if (!job->is_quiet) tool_print_diagnostics(context);
    wait_for_others(w->work);
    compile_all(w, module);
    tile_module_destroy(module);
    tile_context_destroy(context);
    return NULL;
}

/* All threads ---------------------------------------------------------------------------------- */

bool bench_compile(const bench_compile_job *job, unsigned count, bench_compile_result *result) {
    shared_work shared = {.job = job,
                          .result = result,
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
    worker *workers = calloc(count, sizeof *workers);
    *result = (bench_compile_result){.points = calloc(job->point_count, sizeof *result->points)};
    unsigned started = 0;
    for (; workers && result->points && started < count; started++) {
        workers[started].work = &shared;
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0) break;
    }
    begin(&shared, started);
    double since = now(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
        result->failed += workers[i].failed;
    }
    result->seconds = now(CLOCK_MONOTONIC) - since;
    free(workers);
    if (started < count) fprintf(stderr, "error: %u threads cannot be started\n", count);
    return started == count;
}
