/* Each thread has its own context, a module parsed from the task's text, and a device that runs
 * nothing (dry.c). It stores the artifacts for a kernel and these arguments under the keys that the
 * running device will look up. LLVM runs in the thread; ptxas is a process for which the thread
 * waits. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/tune/build.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/ir/function.h"
#include "lib/support/clock.h"
#include "runtime/tune/dry.h"

enum { MAX_JOBS = 256, WAIT_NANOSECONDS = 100000000 };

struct tune_builder {
    const tile_device *device;
    const tune_task *task;
    tile_store *store;
    tune_point *points;
    size_t count;
    pthread_mutex_t lock; /* protects the following members and `build` of the points */
    pthread_cond_t changed;
    size_t next; /* index of the next point to build */
    size_t built, taken;
    bool *given; /* points that tune_builder_next has returned */
    bool stop;
    unsigned thread_count;
    pthread_t threads[MAX_JOBS];
};

/* The data of one thread. */
typedef struct build_thread {
    tune_builder *b;
    tile_context *context;
    tile_module *module;
    tile_dry_device device;
    tile_arena *arena; /* of the point that is being built */
    const char *message;
} build_thread;

static void take_message(const tile_diagnostic *d, void *user) {
    build_thread *w = user;
    if (d->severity == TILE_ERROR && !w->message)
        w->message = tile_arena_string(w->arena, d->message, strlen(d->message));
}

/* The point's bindings, and the values of {const} arguments. */
static unsigned make_bindings(const build_thread *w, const tune_point *point, tile_binding *to,
                              tile_arena *arena) {
    const tune_task *task = w->b->task;
    const tile_function *f = tile_module_find(w->module, task->kernel);
    unsigned count = point->c.binding_count;
    for (unsigned i = 0; i < count; i++) to[i] = point->c.bindings[i];
    for (unsigned i = 0; i < task->argument_count; i++) {
        if (!f->args[i].is_const || f->args[i].known) continue;
        to[count].name = tile_arena_format(arena, "%%%s", f->args[i].name);
        to[count++].value = tile_arena_format(arena, "%" PRId64, task->arguments[i].integer);
    }
    return count;
}

/* Prepares launches with memory that is never accessed, so its extents do not matter. */
static tile_status prepare(build_thread *w, tile_kernel *kernel, const int64_t *sizes) {
    const tune_task *task = w->b->task;
    const tile_function *f = tile_module_find(w->module, task->kernel);
    tile_argument arguments[TILE_MAX_ARGUMENTS];
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < task->argument_count; i++) {
        arguments[i] = (tile_argument){.integer = sizes[i], .number = task->arguments[i].number};
        if (status == TILE_OK && tile_type_is_address(f->args[i].type))
            status = tile_buffer_create(&w->device.base, (size_t)1 << 50, &arguments[i].buffer);
        arguments[i].offset = arguments[i].buffer ? (size_t)1 << 49 : 0;
    }
    if (status == TILE_OK)
        status = tile_kernel_prepare(kernel, arguments, task->argument_count, NULL);
    for (unsigned i = 0; i < task->argument_count; i++) tile_buffer_destroy(arguments[i].buffer);
    return status;
}

static tile_status build(build_thread *w, tune_point *point) {
    const tune_task *task = w->b->task;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    tile_kernel *kernel = NULL;
    if (!w->module) return TILE_FAILED; /* the printed module does not parse: a bug in Tile */
    tile_binding *bindings = TILE_NEW_ARRAY(&point->arena, tile_binding,
                                            point->c.binding_count + task->argument_count + 1u);
    unsigned count = make_bindings(w, point, bindings, &point->arena);
    for (unsigned i = 0; i < task->argument_count; i++) sizes[i] = task->arguments[i].integer;
    tile_status status =
        tile_kernel_create(&w->device.base, w->module, task->kernel, bindings, count, &kernel);
    if (status == TILE_OK) status = prepare(w, kernel, sizes);
    if (status == TILE_OK && tune_task_has_small_shape(task))
        status = prepare(w, kernel, task->small);
    tile_kernel_destroy(kernel);
    return status;
}

static void build_point(build_thread *w, tune_point *point) {
    double start = tile_seconds_now();
    w->arena = point->log.arena = &point->arena;
    w->message = NULL;
    w->device.base.store_log = &point->log;
    tile_status status = build(w, point);
    point->c.build_seconds = tile_seconds_now() - start;
    if (status != TILE_OK) point->c.why = w->message ? w->message : tile_status_name(status);
    pthread_mutex_lock(&w->b->lock);
    point->build = status == TILE_OK ? TUNE_BUILT : TUNE_BUILD_FAILED;
    w->b->built++;
    pthread_cond_broadcast(&w->b->changed);
    pthread_mutex_unlock(&w->b->lock);
}

static tune_point *take_work(tune_builder *b) {
    pthread_mutex_lock(&b->lock);
    tune_point *point = !b->stop && b->next < b->count ? &b->points[b->next++] : NULL;
    if (point) point->build = TUNE_BUILDING;
    pthread_mutex_unlock(&b->lock);
    return point;
}

static void *work(void *user) {
    tune_builder *b = user;
    build_thread w = {.b = b, .context = tile_context_create()};
    tune_point *point;
    w.module = tile_module_parse(w.context, "tune", b->task->text, strlen(b->task->text));
    tile_context_set_sink(w.context, take_message, &w);
    tile_dry_device_open(&w.device, w.context, b->device, b->store, NULL);
    while ((point = take_work(b))) build_point(&w, point);
    tile_device_destroy(&w.device.base);
    tile_module_destroy(w.module);
    tile_context_destroy(w.context);
    return NULL;
}

static unsigned choose_jobs(const tune_builder *b, unsigned jobs) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!jobs) jobs = cores > 0 ? (unsigned)cores : 1;
    if (jobs > b->count) jobs = (unsigned)b->count;
    return jobs < MAX_JOBS ? jobs : MAX_JOBS;
}

tune_builder *tune_builder_start(const tile_device *device, const tune_task *task,
                                 tile_store *store, tune_point *points, size_t count,
                                 unsigned jobs) {
    tune_builder *b = tile_malloc(sizeof *b);
    *b = (tune_builder){
        .device = device, .task = task, .store = store, .points = points, .count = count};
    b->given = tile_malloc(sizeof *b->given * (count + 1));
    memset(b->given, 0, sizeof *b->given * (count + 1));
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->changed, NULL);
    if (!device->ops->wants) {
        for (size_t i = 0; i < count; i++) points[i].build = TUNE_BUILT;
        b->next = b->built = count;
        return b;
    }
    jobs = choose_jobs(b, jobs);
    while (b->thread_count < jobs &&
           pthread_create(&b->threads[b->thread_count], NULL, work, b) == 0)
        b->thread_count++;
    return b;
}

static tune_point *find_ready(tune_builder *b) {
    for (size_t i = 0; i < b->next; i++)
        if (!b->given[i] && b->points[i].build >= TUNE_BUILT) {
            b->given[i] = true;
            b->taken++;
            return &b->points[i];
        }
    return NULL;
}

tune_point *tune_builder_next(tune_builder *b, bool *over) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&b->lock);
    tune_point *point = find_ready(b);
    if (!point && b->taken < b->count && b->thread_count) {
        pthread_cond_timedwait(&b->changed, &b->lock, &until);
        point = find_ready(b);
    }
    *over = !point && (b->taken == b->count || !b->thread_count);
    pthread_mutex_unlock(&b->lock);
    return point;
}

size_t tune_builder_count(tune_builder *b) {
    pthread_mutex_lock(&b->lock);
    size_t built = b->built;
    pthread_mutex_unlock(&b->lock);
    return built;
}

void tune_builder_stop(tune_builder *b) {
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_mutex_unlock(&b->lock);
    for (unsigned i = 0; i < b->thread_count; i++) pthread_join(b->threads[i], NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->lock);
    free(b->given);
    free(b);
}
