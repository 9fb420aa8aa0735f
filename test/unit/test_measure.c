#include "tile/measure.h"

#include "runtime/cuda/device.h"
#include "test/unit/device_fixture.h"
#include "tools/common/assembler.h"

typedef struct measure_fixture {
    fake_device *device;
    tile_kernel *kernel;
    tile_buffer *buffer;
    tile_argument arguments[COUNT];
    tile_measure_options options;
    tile_measurement m;
} measure_fixture;

static void open_measure(measure_fixture *x, const double *seconds) {
    *x = (measure_fixture){.device = open_device(), .options = {.size = sizeof x->options}};
    memcpy(x->device->seconds, seconds, sizeof x->device->seconds);
    x->kernel = create_kernel(x->device, "64");
    x->buffer = create_buffer(x->device, 1024);
    fill(x->arguments, x->buffer);
}

static tile_status measure(measure_fixture *x) {
    return tile_measure(x->kernel, x->arguments, COUNT, NULL, &x->options, &x->m);
}

static void close_measure(measure_fixture *x) {
    tile_kernel_destroy(x->kernel);
    tile_buffer_destroy(x->buffer);
    tile_device_destroy(&x->device->base);
}

Test(measure, the_median_and_the_spread_are_of_the_timed_launches) {
    measure_fixture x;
    double samples[5];
    open_measure(&x, (double[8]){99, 98, 5, 1, 4, 2, 3});
    x.options.warmup = 2;
    x.options.repeats = 5;
    x.options.samples = samples;
    cr_assert_eq(measure(&x), TILE_OK);
    cr_expect_eq(x.m.median, 3);
    cr_expect_eq(x.m.fastest, 1);
    cr_expect_eq(x.m.slowest, 5);
    cr_expect_eq(x.m.lower, 2);
    cr_expect_eq(x.m.upper, 4);
    cr_expect_eq(x.m.repeats, 5);
    cr_expect(!x.m.abandoned);
    cr_expect(samples[0] == 5 && samples[1] == 1 && samples[4] == 3, "in the order of the runs");
    cr_expect_eq(x.device->launched, 7);
    cr_expect_eq(x.device->flushed, TILE_FLUSH_NONE);
    close_measure(&x);
}

Test(measure, a_batch_counts_as_one_launch) {
    measure_fixture x;
    open_measure(&x, (double[8]){8, 8, 8, 8, 8, 8, 8, 8});
    x.options.repeats = 3;
    x.options.batch = 4;
    x.options.flush = TILE_FLUSH_CLEAN;
    cr_assert_eq(measure(&x), TILE_OK);
    cr_expect_eq(x.m.median, 2);
    cr_expect_eq(x.device->launched, 12);
    cr_expect_eq(x.device->flushed, TILE_FLUSH_CLEAN);
    close_measure(&x);
}

Test(measure, slow_candidates_are_abandoned) {
    static const struct {
        double seconds[8];
        unsigned timed;
        bool abandoned;
    } cases[] = {
        {{9, 9, 9, 9, 9, 9, 9, 9}, 5, true},   /* two to warm up, three to decide */
        {{9, 9, 9, 1, 9, 9, 9, 9}, 8, false},  /* one was fast: the median decides */
        {{99, 1, 1, 1, 1, 1, 1, 1}, 8, false}, /* the very first launch loads code */
        {{99, 11, 1, 1, 1, 1, 1, 1}, 2, true}, {{5, 5, 5, 5, 5, 5, 5, 5}, 8, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        measure_fixture x;
        open_measure(&x, cases[i].seconds);
        x.options.warmup = 2;
        x.options.repeats = 6;
        x.options.abandon_above = 5;
        cr_assert_eq(measure(&x), TILE_OK);
        cr_expect_eq(x.device->timed, cases[i].timed, "case %zu: %u", i, x.device->timed);
        cr_expect_eq(x.m.abandoned, cases[i].abandoned, "case %zu", i);
        close_measure(&x);
    }
}

typedef struct recorded {
    char order[16];
    unsigned count;
} recorded;

static tile_status launch_a(void *stream, void *user) {
    recorded *r = user;
    cr_assert_eq(stream, r);
    r->order[r->count++] = 'a';
    return TILE_OK;
}

static tile_status launch_b(void *stream, void *user) {
    recorded *r = user;
    (void)stream;
    r->order[r->count++] = 'b';
    return r->count < 6 ? TILE_OK : TILE_FAULT;
}

Test(measure, works_take_turns) {
    measure_fixture x;
    recorded r = {.count = 0};
    const tile_work works[] = {{launch_a, &r}, {launch_b, &r}};
    tile_measurement m[2];
    open_measure(&x, (double[8]){1, 10, 2, 20, 3, 30});
    x.options.repeats = 2;
    cr_assert_eq(tile_measure_works(&x.device->base, works, 2, &r, &x.options, m), TILE_OK);
    cr_expect_str_eq(r.order, "abab");
    cr_expect_eq(m[0].median, 2);
    cr_expect_eq(m[1].median, 20);
    cr_expect_eq(tile_measure_works(&x.device->base, works, 2, &r, NULL, m), TILE_FAULT);
    close_measure(&x);
}

Test(measure, too_many_launches_are_refused) {
    measure_fixture x;
    open_measure(&x, (double[8]){1});
    x.options.repeats = TILE_MAX_REPEATS + 1;
    cr_expect_eq(measure(&x), TILE_INVALID);
    expect(x.device, "0 launches to warm up and 1000001 timed ones, in batches of 1: at most "
                     "1000000 each, and batches of at most 1048576");
    close_measure(&x);
}

/* A kernel that cannot run here must at least compile to PTX. */
Test(measure, the_kernel_that_reads_the_l2_assembles) {
    char *ptxas = tool_find_ptxas();
    if (!ptxas) cr_skip_test("no ptxas");
    tile_context *context = tile_context_create();
    const tile_blob ptx = {(char *)tile_cuda_read_ptx, strlen(tile_cuda_read_ptx)};
    tile_blob cubin = {NULL, 0};
    tile_status status = tile_assemble(context, &ptx, tile_target_find("sm_90a"), ptxas, &cubin);
    cr_expect_eq(status, TILE_OK);
    tile_blob_destroy(&cubin);
    tile_context_destroy(context);
    free(ptxas);
}
