/* Measures the launches of a plan one by one. A watch of the device executes only the first ones.
 * The time of launch i is the time of the first i launches less that of the first i - 1: so each
 * launch finds the caches as in the plan, may overlap its predecessor as there, and no event stands
 * between two launches. */
#include "tile/measure.h"

#include <stdlib.h>
#include <string.h>

#include "lib/analysis/memory.h"
#include "lib/launch/abi.h"
#include "lib/support/context.h"
#include "runtime/device/measure.h"
#include "runtime/launch/kernel.h"
#include "runtime/model/work.h"

enum { MOST_LAUNCHES = 256 /* the measurement makes half the square of launches in each round */ };

typedef struct prefix_watch {
    tile_launch_watch base; /* first, so that `launch` finds the rest */
    unsigned limit;         /* launches to execute */
    unsigned seen;
    void (*found)(const tile_launch *launch, void *user); /* NULL: not asked for */
    void *user;
} prefix_watch;

static tile_status launch_prefix(tile_launch_watch *base, tile_device *device,
                                 const tile_launch *launch) {
    prefix_watch *watch = (prefix_watch *)base;
    if (watch->seen++ >= watch->limit) return TILE_OK;
    if (watch->found) watch->found(launch, watch->user);
    return device->ops->launch(device, launch);
}

static tile_status run_watched(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                               void *stream, prefix_watch *watch) {
    watch->seen = 0;
    kernel->device->watch = &watch->base;
    tile_status status = tile_kernel_launch(kernel, arguments, count, stream);
    kernel->device->watch = NULL;
    return status;
}

/* Bytes ---------------------------------------------------------------------------------------- */

/* An array of a launch: its place in memory, and the bytes of its elements, which may be fewer. */
typedef struct range {
    uint64_t begin, end;
    double bytes;
} range;

static int by_begin(const void *a, const void *b) {
    const range *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Arrays that overlap count once: together they have at most the bytes between their ends. */
static double count_bytes(range *ranges, unsigned count) {
    double total = 0;
    qsort(ranges, count, sizeof *ranges, by_begin);
    for (unsigned i = 0; i < count;) {
        uint64_t begin = ranges[i].begin, end = ranges[i].end;
        double sum = ranges[i++].bytes;
        for (; i < count && ranges[i].begin < end; i++) {
            sum += ranges[i].bytes;
            end = ranges[i].end > end ? ranges[i].end : end;
        }
        total += sum < (double)(end - begin) ? sum : (double)(end - begin);
    }
    return total;
}

/* The array of argument `index`; false if it has none, or no bytes. */
static bool find_range(const tile_launch *launch, unsigned index, const int64_t *numbers,
                       range *out) {
    const tile_abi *abi = launch->variant->abi;
    const tile_abi_arg *arg = tile_abi_arg_at(abi, index);
    const tile_argument *given = &launch->arguments[index];
    int64_t extents[TILE_MAX_RANK], strides[TILE_MAX_RANK], before, behind;
    if (!given->buffer) return false;
    const uint64_t at = given->buffer->address + given->offset;
    *out = (range){at, given->buffer->address + given->buffer->bytes, 0};
    out->bytes = (double)(out->end - at);
    if (arg->type->kind != TILE_TYPE_VIEW) return out->bytes > 0;
    if (tile_abi_view_shape(abi, index, numbers, extents, strides) != TILE_OK ||
        tile_abi_view_bytes(abi, index, numbers, &before, &behind) != TILE_OK)
        return false;
    *out = (range){at - (uint64_t)before, at + (uint64_t)behind, 0};
    out->bytes = tile_scalar_bytes(arg->type->scalar);
    for (unsigned d = 0; d < arg->type->rank; d++)
        if (strides[d]) out->bytes *= (double)extents[d]; /* a broadcast array counts once */
    return out->bytes > 0;
}

/* What a kernel does with each argument, from its text; everything if the text is not known. */
static void find_accesses(const tile_function *f, unsigned count, bool *read, bool *written) {
    tile_access accesses[TILE_MAX_ACCESSES];
    memset(read, f ? 0 : 1, count);
    memset(written, f ? 0 : 1, count);
    if (!f) return;
    TILE_FOR_EACH_OP_INSIDE (f, op, tile_function_body(f)) {
        unsigned found = tile_op_accesses(f, op, accesses);
        for (unsigned i = 0; i < found; i++) {
            if (accesses[i].shared) continue;
            tile_value root = tile_memory_root(f, accesses[i].memory);
            if (!root.id || tile_value_at(f, root)->kind != TILE_VALUE_ARG) continue;
            unsigned arg = tile_value_at(f, root)->index;
            if (arg < count) (accesses[i].write ? written : read)[arg] = true;
        }
    }
}

/* Steps ---------------------------------------------------------------------------------------- */

typedef struct step {
    const char *name; /* in the arena */
    int64_t grid[3];
    double read_bytes, written_bytes, operations;
} step;

typedef struct steps {
    tile_kernel *kernel;
    const tile_module *texts; /* of the launched kernels, at level 2 */
    tile_arena arena;
    step list[MOST_LAUNCHES];
    unsigned count;
} steps;

/* A kernel that launches instantiate; NULL if its text is not here, as that of a fill. */
static const tile_function *find_text(const steps *s, const char *name) {
    tile_function *f = s->texts ? tile_module_find(s->texts, name) : NULL;
    bool usable = f && tile_function_get_kind(f) == TILE_KERNEL && !f->param_count;
    return usable ? f : NULL;
}

/* The operations of the products in the text, also those in the padding of tiles. */
static double count_operations(const steps *s, const tile_function *f, const tile_launch *launch) {
    int64_t sizes[TILE_MAX_ARGUMENTS] = {0};
    const tile_device *device = s->kernel->device;
    tile_arena arena = {0};
    tune_work work;
    for (unsigned i = 0; i < launch->argument_count; i++) sizes[i] = launch->arguments[i].integer;
    tune_read_work(f, NULL, sizes, device->target, device->num_sms, &arena, &work);
    double tiles = (double)work.grid[0] * (double)work.grid[1] * (double)work.grid[2];
    tile_arena_reset(&arena);
    return tiles * (work.once.ideal + work.loop.ideal);
}

static void add_step(const tile_launch *launch, void *user) {
    steps *s = user;
    const tile_abi *abi = launch->variant->abi;
    const char *name = tile_abi_entry(abi);
    const tile_function *f = find_text(s, name);
    const unsigned count = launch->argument_count;
    range reads[TILE_MAX_ARGUMENTS], writes[TILE_MAX_ARGUMENTS], found;
    bool read[TILE_MAX_ARGUMENTS], written[TILE_MAX_ARGUMENTS];
    int64_t numbers[TILE_MAX_ARGUMENTS];
    unsigned read_count = 0, write_count = 0;
    if (s->count == MOST_LAUNCHES) return;
    for (unsigned i = 0; i < count; i++)
        numbers[i] = launch->arguments[i].buffer ? (int64_t)launch->arguments[i].buffer->address
                                                 : launch->arguments[i].integer;
    find_accesses(f, count, read, written);
    for (unsigned i = 0; i < count; i++) {
        if (!find_range(launch, i, numbers, &found)) continue;
        if (f && read[i]) reads[read_count++] = found;
        if (written[i]) writes[write_count++] = found;
    }
    s->list[s->count++] = (step){.name = tile_arena_string(&s->arena, name, strlen(name)),
                                 .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                                 .read_bytes = count_bytes(reads, read_count),
                                 .written_bytes = count_bytes(writes, write_count),
                                 .operations = f ? count_operations(s, f, launch) : 0};
}

/* Finds the launches by making them once. */
static tile_status find_steps(steps *s, const tile_argument *arguments, unsigned count,
                              void *stream) {
    kernel_point *point = tile_find_point(s->kernel, arguments, count);
    tile_module *own = NULL;
    if (point && point->plan) {
        s->texts = tile_plan_function(point->plan)->module;
    } else if (point) {
        own = tile_module_clone(s->kernel->module);
        if (tile_instantiate(own, s->kernel->name, point->bindings, point->binding_count) ==
            TILE_OK)
            s->texts = own;
    }
    prefix_watch watch = {
        {launch_prefix}, .limit = MOST_LAUNCHES + 1, .found = add_step, .user = s};
    tile_status status = run_watched(s->kernel, arguments, count, stream, &watch);
    tile_module_destroy(own);
    s->texts = NULL;
    if (status == TILE_OK && watch.seen > MOST_LAUNCHES) {
        tile_report(s->kernel->device->context, TILE_ERROR, (tile_loc){0, 0, 0},
                    "@%s makes %u launches, of which at most %d can be measured one by one: use "
                    "tile_measure for all of them together",
                    s->kernel->name, watch.seen, MOST_LAUNCHES);
        return TILE_UNSUPPORTED;
    }
    return status == TILE_OK ? tile_device_synchronize(s->kernel->device) : status;
}

/* Times ---------------------------------------------------------------------------------------- */

/* The first launches. */
typedef struct prefix {
    tile_kernel *kernel;
    const tile_argument *arguments;
    unsigned count;
    void *stream;
    prefix_watch watch;
} prefix;

static tile_status run_prefix(void *user) {
    prefix *p = user;
    return run_watched(p->kernel, p->arguments, p->count, p->stream, &p->watch);
}

static tile_status time_prefixes(const steps *s, const tile_argument *arguments, unsigned count,
                                 void *stream, const tile_measure_options *options,
                                 tile_measurement *times) {
    prefix *prefixes = tile_malloc(sizeof *prefixes * (s->count + 1u));
    tile_timed *timed = tile_malloc(sizeof *timed * (s->count + 1u));
    for (unsigned i = 0; i < s->count; i++) {
        prefixes[i] = (prefix){
            s->kernel, arguments, count, stream, {.base = {launch_prefix}, .limit = i + 1}};
        timed[i] = (tile_timed){.launch = run_prefix, .user = &prefixes[i], .stream = stream};
    }
    tile_status status = tile_measure_timed(s->kernel->device, timed, s->count, options, times);
    free(timed);
    free(prefixes);
    return status;
}

static void visit_steps(const steps *s, const tile_measurement *times, tile_step_visit visit,
                        void *user) {
    double before = 0;
    for (unsigned i = 0; i < s->count; i++) {
        const step *at = &s->list[i];
        double until = times[i].median;
        const tile_step_measurement measured = {.kernel = at->name,
                                                .grid = {at->grid[0], at->grid[1], at->grid[2]},
                                                .seconds = until > before ? until - before : 0,
                                                .read_bytes = at->read_bytes,
                                                .written_bytes = at->written_bytes,
                                                .operations = at->operations};
        visit(&measured, user);
        before = until > before ? until : before;
    }
}

tile_status tile_measure_steps(tile_kernel *kernel, const tile_argument *arguments,
                               unsigned argument_count, void *stream,
                               const tile_measure_options *options, tile_step_visit visit,
                               void *user) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_measure_options taken;
    if (!kernel || !visit) return TILE_INVALID;
    tile_status status = tile_take_measure_options(kernel->device->context, options, &taken);
    if (status == TILE_OK) status = tile_kernel_prepare(kernel, arguments, argument_count, stream);
    if (status != TILE_OK) return status;
    steps *s = tile_malloc(sizeof *s);
    *s = (steps){.kernel = kernel};
    tile_measurement *times = tile_malloc(sizeof *times * MOST_LAUNCHES);
    taken.samples = NULL;
    taken.abandon_above = 0;
    status = find_steps(s, arguments, argument_count, stream);
    if (status == TILE_OK)
        status = time_prefixes(s, arguments, argument_count, stream, &taken, times);
    if (status == TILE_OK) visit_steps(s, times, visit, user);
    tile_arena_reset(&s->arena);
    free(times);
    free(s);
    return status;
}
