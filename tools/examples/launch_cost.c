/* Measures what a launch costs on the host compared with a bare cuLaunchKernel, from one thread and
 * from eight threads with two streams each. Also checks that a captured launch replays. Every
 * result is checked.
 *
 *     launch_cost [ROUNDS]
 *
 * A round is BATCH launches of a kernel that does almost nothing, few enough not to fill the GPU's
 * queue. The rounds of the measured variants alternate; medians over the rounds are printed. */
#define _XOPEN_SOURCE 700
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tile/device.h"

enum { BATCH = 200, THREADS = 8, STREAMS = 2, N = 256, REPLAYS = 3 };

/* @count adds to %c at each launch, under a semaphore in clean scratch memory, as split-K does.
 * @twice does the same in two kernels with scratch memory between them; the second one starts
 * early. */
static const char text[] =
    "kernel @count<block: int>(%n: i32 {divisible = 4}, %step: f32, %x: view<f32[%n]>,\n"
    "    %c: view<f32[%n]>)\n"
    "    tune block in [256, 512] grid [ceildiv(%n, block)] warps 4\n"
    "{\n"
    "  %b = block_id\n"
    "  %sem = scratch [ceildiv(%n, block)] {clean} : view<i32[?]>\n"
    "  lock_semaphore %sem[%b], 0\n"
    "  store fma(load %x[%b * block] : [block], %step, load %c[%b * block] : [block]),\n"
    "      %c[%b * block]\n"
    "  release_semaphore %sem[%b], 0\n"
    "}\n"
    "kernel @scale(%n: i32, %step: f32, %x: view<f32[%n]>, %w: view<f32[%n]>)\n"
    "    grid [ceildiv(%n, 256)] warps 4\n"
    "{\n"
    "  %b = block_id\n"
    "  pdl_trigger\n"
    "  pdl_wait\n"
    "  store (load %x[%b * 256] : [256]) * %step, %w[%b * 256]\n"
    "}\n"
    "kernel @add(%n: i32, %w: view<f32[%n]>, %c: view<f32[%n]>) grid [ceildiv(%n, 256)] warps 4\n"
    "{\n"
    "  %b = block_id\n"
    "  pdl_wait\n"
    "  store (load %w[%b * 256] : [256]) + (load %c[%b * 256] : [256]), %c[%b * 256]\n"
    "}\n"
    "plan @twice(%n: i32, %step: f32, %x: view<f32[%n]>, %c: view<f32[%n]>) {\n"
    "  %w = scratch [%n] : view<f32[?]>\n"
    "  launch @scale(%n, %step, %x, %w)\n"
    "  launch @add(%n, %w, %c) {pdl}\n"
    "}\n";

/* The subset of the driver API that is used here. */
typedef struct CUstream_st *CUstream;
typedef struct CUfunc_st *CUfunction;
typedef void *handle;
static struct {
    int (*module_load)(handle *module, const void *image);
    int (*get_function)(CUfunction *function, handle module, const char *name);
    int (*launch)(CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                  unsigned shared, CUstream stream, void **parameters, void **extra);
    int (*allocate)(unsigned long long *address, size_t bytes);
    int (*clear)(unsigned long long address, unsigned char value, size_t bytes);
    int (*context_of)(handle *context, int device);
    int (*set_context)(handle context);
    int (*synchronize)(void);
    int (*stream_create)(CUstream *stream, unsigned flags);
    int (*stream_synchronize)(CUstream stream);
    int (*begin_capture)(CUstream stream, int mode);
    int (*end_capture)(CUstream stream, handle *graph);
    int (*instantiate)(handle *executable, handle graph, unsigned long long flags);
    int (*graph_launch)(handle executable, CUstream stream);
} cu;

static void stop(const char *what) {
    fprintf(stderr, "launch_cost: %s\n", what);
    exit(1);
}

static void must(int result, const char *what) {
    if (result) stop(what);
}

static void resolve(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    if (!address) stop(symbol);
    memcpy(function, &address, sizeof address);
}

static void open_driver(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) stop("there is no libcuda.so.1");
    resolve(library, "cuModuleLoadData", &cu.module_load);
    resolve(library, "cuModuleGetFunction", &cu.get_function);
    resolve(library, "cuLaunchKernel", &cu.launch);
    resolve(library, "cuMemAlloc_v2", &cu.allocate);
    resolve(library, "cuMemsetD8_v2", &cu.clear);
    resolve(library, "cuDevicePrimaryCtxRetain", &cu.context_of);
    resolve(library, "cuCtxSetCurrent", &cu.set_context);
    resolve(library, "cuCtxSynchronize", &cu.synchronize);
    resolve(library, "cuStreamCreate", &cu.stream_create);
    resolve(library, "cuStreamSynchronize", &cu.stream_synchronize);
    resolve(library, "cuStreamBeginCapture_v2", &cu.begin_capture);
    resolve(library, "cuStreamEndCapture", &cu.end_capture);
    resolve(library, "cuGraphInstantiateWithFlags", &cu.instantiate);
    resolve(library, "cuGraphLaunch", &cu.graph_launch);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void show(const tile_diagnostic *diagnostic, void *user) {
    (void)user;
    fprintf(stderr, "%s\n", diagnostic->message);
}

/* Launching ----------------------------------------------------------------------------------- */

static tile_device *device;
static tile_kernel *bound, *picking, *plan;
static CUfunction bare;

/* A stream and the vectors that its launches count in. */
typedef struct lane {
    CUstream stream;
    tile_buffer *x, *c;
    unsigned long long x_address, c_address, clean;
    long launches;
} lane;

static void open_lane(lane *l, bool has_stream) {
    float ones[N];
    for (int i = 0; i < N; i++) ones[i] = 1;
    *l = (lane){0};
    if (has_stream) must(cu.stream_create(&l->stream, 1 /* non-blocking */), "stream");
    must(cu.allocate(&l->x_address, sizeof ones) || cu.allocate(&l->c_address, sizeof ones) ||
             cu.allocate(&l->clean, 256) || cu.clear(l->clean, 0, 256) ||
             cu.clear(l->c_address, 0, sizeof ones),
         "memory");
    must(tile_buffer_wrap(device, l->x_address, sizeof ones, &l->x) ||
             tile_buffer_wrap(device, l->c_address, sizeof ones, &l->c) ||
             tile_buffer_write(l->x, 0, ones, sizeof ones),
         "buffers");
}

static void launch_tile(lane *l, tile_kernel *kernel) {
    const tile_argument arguments[] = {
        {.integer = N}, {.number = 1}, {.buffer = l->x}, {.buffer = l->c}};
    must(tile_kernel_launch(kernel, arguments, 4, l->stream), "tile_kernel_launch");
    l->launches++;
}

static void launch_bare(lane *l) {
    int n = N;
    float step = 1;
    void *parameters[] = {&n, &step, &l->x_address, &l->c_address, &l->clean};
    must(cu.launch(bare, 1, 1, 1, 128, 1, 1, 0, l->stream, parameters, NULL), "cuLaunchKernel");
    l->launches++;
}

static void check(lane *l) {
    float sums[N];
    must(cu.stream_synchronize(l->stream), "cuStreamSynchronize");
    must(tile_buffer_read(l->c, 0, sums, sizeof sums), "tile_buffer_read");
    for (int i = 0; i < N; i++)
        if (sums[i] != (float)l->launches) {
            fprintf(stderr, "launch_cost: element %d is %g after %ld launches\n", i, sums[i],
                    l->launches);
            exit(1);
        }
}

/* Returns nanoseconds per launch in a batch; kernel NULL: bare cuLaunchKernel. */
static double time_batch(lane *l, tile_kernel *kernel) {
    double start = now();
    for (int i = 0; i < BATCH; i++)
        if (kernel)
            launch_tile(l, kernel);
        else
            launch_bare(l);
    double end = now();
    must(cu.stream_synchronize(l->stream), "cuStreamSynchronize");
    return (end - start) / BATCH;
}

/* What is measured ---------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times, int count) {
    qsort(times, (size_t)count, sizeof *times, by_size);
    return times[count / 2];
}

static void one_thread(int rounds) {
    enum { KINDS = 4 };
    tile_kernel *kernels[KINDS] = {NULL, bound, picking, plan};
    double *times[KINDS];
    lane l;
    open_lane(&l, true);
    for (int k = 0; k < KINDS; k++) times[k] = malloc(sizeof **times * (size_t)rounds);
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < KINDS; k++) times[k][r] = time_batch(&l, kernels[k]);
    check(&l);
    double least = median(times[0], rounds), ours = median(times[1], rounds),
           picked = median(times[2], rounds), planned = median(times[3], rounds);
    printf("one thread: cuLaunchKernel %.0f ns, tile_kernel_launch %.0f ns (%+.0f), a kernel that "
           "picks its point %.0f ns (%+.0f), a plan of two kernels %.0f ns (%+.0f)\n",
           least, ours, ours - least, picked, picked - least, planned, planned - 2 * least);
    for (int k = 0; k < KINDS; k++) free(times[k]);
}

typedef struct worker {
    pthread_t thread;
    tile_kernel *kernel;
    lane lanes[STREAMS];
    int rounds;
    double spent;
} worker;

static void *work(void *user) {
    worker *w = user;
    handle context;
    must(cu.context_of(&context, 0) || cu.set_context(context), "context");
    for (int r = 0; r < w->rounds; r++)
        for (int s = 0; s < STREAMS; s++) w->spent += time_batch(&w->lanes[s], w->kernel);
    return NULL;
}

/* Returns mean nanoseconds per launch while all threads launch. */
static double all_threads(worker *workers, tile_kernel *kernel, int rounds) {
    double spent = 0;
    for (int t = 0; t < THREADS; t++) {
        workers[t].kernel = kernel;
        workers[t].rounds = rounds;
        workers[t].spent = 0;
        must(pthread_create(&workers[t].thread, NULL, work, &workers[t]), "pthread_create");
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(workers[t].thread, NULL);
        spent += workers[t].spent / (rounds * STREAMS * THREADS);
    }
    return spent;
}

static void eight_threads(int rounds) {
    static worker workers[THREADS];
    for (int t = 0; t < THREADS; t++)
        for (int s = 0; s < STREAMS; s++) open_lane(&workers[t].lanes[s], true);
    double least = all_threads(workers, NULL, rounds), ours = all_threads(workers, bound, rounds);
    least = (least + all_threads(workers, NULL, rounds)) / 2;
    for (int t = 0; t < THREADS; t++)
        for (int s = 0; s < STREAMS; s++) check(&workers[t].lanes[s]);
    printf("%d threads, %d streams each: cuLaunchKernel %.0f ns, tile_kernel_launch %.0f ns "
           "(%+.0f)\n",
           THREADS, STREAMS, least, ours, ours - least);
}

static void captured(void) {
    const int launches = 5;
    handle graph, executable;
    lane l;
    open_lane(&l, true);
    const tile_argument arguments[] = {
        {.integer = N}, {.number = 1}, {.buffer = l.x}, {.buffer = l.c}};
    must(tile_kernel_prepare(bound, arguments, 4, l.stream) ||
             tile_kernel_prepare(plan, arguments, 4, l.stream),
         "tile_kernel_prepare");
    must(cu.begin_capture(l.stream, 0), "cuStreamBeginCapture");
    for (int i = 0; i < launches; i++) launch_tile(&l, i % 2 ? plan : bound);
    must(cu.end_capture(l.stream, &graph), "cuStreamEndCapture");
    must(cu.instantiate(&executable, graph, 0), "cuGraphInstantiate");
    for (int i = 0; i < REPLAYS; i++) must(cu.graph_launch(executable, l.stream), "cuGraphLaunch");
    l.launches = launches * REPLAYS;
    check(&l);
    printf("a graph of %d launches, of a kernel and of a plan of two, replayed %d times: right\n",
           launches, REPLAYS);
}

int main(int argc, char **argv) {
    const tile_binding binding = {"block", "256"};
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    tile_context *context = tile_context_create();
    handle driver_context, module;
    tile_context_set_sink(context, show, NULL);
    tile_status status = tile_device_create_cuda(context, NULL, &device);
    if (status != TILE_OK) return 77;
    open_driver();
    must(cu.context_of(&driver_context, 0) || cu.set_context(driver_context), "context");
    tile_module *parsed = tile_module_parse(context, "count", text, sizeof text - 1);
    must(!parsed || tile_kernel_create(device, parsed, "count", &binding, 1, &bound) ||
             tile_kernel_create(device, parsed, "count", NULL, 0, &picking) ||
             tile_kernel_create(device, parsed, "twice", NULL, 0, &plan),
         "tile_kernel_create");
    must(cu.module_load(&module, tile_kernel_ptx(bound)->data) ||
             cu.get_function(&bare, module, "count"),
         "cuModuleLoadData");
    printf("%s\n", tile_device_name(device));
    one_thread(rounds > 0 ? rounds : 1);
    eight_threads(rounds > 0 ? rounds : 1);
    captured();
    return 0;
}
