/* Converts the stamps of a launch to events, without a GPU: the fake driver returns an array that
 * the test fills as the generated code would. */
#include <stdlib.h>

#include "lib/codegen/stamps.h"
#include "runtime/cuda/device.h"
#include "runtime/launch/kernel.h"
#include "test/unit/codegen_fixture.h"

static tile_stamp *array; /* the module's */
static size_t array_bytes;

static CUresult synchronize(void) {
    return 0;
}

static CUresult get_global(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
    (void)module;
    cr_expect_str_eq(name, "tile_stamps");
    *address = (CUdeviceptr)(uintptr_t)array;
    *bytes = array_bytes;
    return 0;
}

static CUresult copy(void *to, CUdeviceptr from, size_t bytes) {
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return 0;
}

static CUresult clear(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
    (void)stream;
    memset((void *)(uintptr_t)address, value, bytes);
    return 0;
}

static char told[2048];

static void keep(const tile_trace_event *e, void *user) {
    size_t length = strlen(told);
    (void)user;
    snprintf(told + length, sizeof told - length,
             "%d %s %u: %llu to %llu, block %lld %lld, warp %u\n", (int)e->kind, e->operation,
             e->line, (unsigned long long)e->begin, (unsigned long long)e->end,
             (long long)e->block[0], (long long)e->block[1], e->warp);
}

static tile_op find(const tile_function *f, tile_opcode opcode) {
    tile_op op = tile_region_first(f, tile_function_body(f));
    while (op.id && tile_op_opcode(f, op) != opcode) op = tile_op_next(f, op);
    return op;
}

static void stamp(unsigned row, unsigned i, uint64_t time, uint32_t clock, uint32_t what) {
    array[row * TILE_STAMPS_OF_WARP + i] = (tile_stamp){time, clock, what};
}

static const char text[] = "kernel @k() grid [2, 2] warps 2 {\n"
                           "  commit_group\n"
                           "  sync\n"
                           "}\n";

typedef struct stamped {
    codegen_fixture x;
    tile_driver driver;
    cuda_device d;
    tile_variant variant;
    tile_launch launch;
    tile_abi *abi;
} stamped;

static void open(stamped *s) {
    codegen_open(&s->x, text);
    s->driver = (tile_driver){.cuCtxSynchronize = synchronize,
                              .cuModuleGetGlobal = get_global,
                              .cuMemcpyDtoH = copy,
                              .cuMemsetD8Async = clear};
    s->abi = tile_abi_create(s->x.kernel);
    s->variant = (tile_variant){.function = s->x.kernel, .abi = s->abi};
    s->d =
        (cuda_device){.base = {.context = s->x.context, .clock = 500000}, /* kHz: a tick is 2 ns */
                      .driver = &s->driver,
                      .trace = keep};
    s->launch = (tile_launch){.variant = &s->variant, .grid = {2, 2, 1}};
    array_bytes = sizeof *array * TILE_STAMPED_WARPS * TILE_STAMPS_OF_WARP;
    array = calloc(1, array_bytes);
    *told = 0;
}

static void close(stamped *s) {
    tile_abi_destroy(s->abi);
    codegen_close(&s->x);
    free(array);
}

/* Events within a block are ordered by the clock, whatever the coarse timer says; blocks are
 * ordered by the timer. Pairs of stamps are operations; the time between them is reported as
 * well. */
Test(stamps, become_events) {
    stamped s;
    open(&s);
    uint32_t commit = 2 * find(s.x.kernel, TILE_OP_commit_group).id;
    uint32_t sync = 2 * find(s.x.kernel, TILE_OP_sync).id;
    stamp(0, 0, 7000, 100, 0); /* block 0, warp 0 */
    stamp(0, 1, 7000, 110, commit);
    stamp(0, 2, 7000, 115, commit + 1);
    stamp(0, 3, 8000, 200, sync);
    stamp(0, 4, 8000, 300, sync + 1);
    stamp(0, 5, 8000, 310, 1);
    stamp(1, 0, 7000, 120, 0); /* its warp 1 */
    stamp(1, 1, 8000, 290, sync);
    stamp(1, 2, 8000, 300, sync + 1);
    stamp(5, 0, 9000, 4000, 0); /* block 2, x 0 and y 1, warp 1; warp 0 wrote nothing */
    stamp(5, 1, 9000, 4010, 1);
    cr_assert_eq(tile_cuda_report_stamps(&s.d, &s.launch, NULL), TILE_OK, "%s", s.x.messages);
    cr_expect_str_eq(told, "1 between 2: 0 to 20, block 0 0, warp 0\n"
                           "0 commit_group 2: 20 to 30, block 0 0, warp 0\n"
                           "1 between 3: 30 to 200, block 0 0, warp 0\n"
                           "2 sync 3: 200 to 400, block 0 0, warp 0\n"
                           "1 between 3: 400 to 420, block 0 0, warp 0\n"
                           "1 between 3: 40 to 380, block 0 0, warp 1\n"
                           "2 sync 3: 380 to 400, block 0 0, warp 1\n"
                           "1 between 1: 2000 to 2020, block 0 1, warp 1\n");
    *told = 0; /* the array is empty again */
    cr_assert_eq(tile_cuda_report_stamps(&s.d, &s.launch, NULL), TILE_OK);
    cr_expect_str_eq(told, "");
    close(&s);
}

Test(stamps, a_full_array_ends) {
    stamped s;
    open(&s);
    for (unsigned i = 0; i < TILE_STAMPS_OF_WARP; i++) stamp(0, i, 1000 + i, i, 2 * 999999);
    cr_assert_eq(tile_cuda_report_stamps(&s.d, &s.launch, NULL), TILE_OK);
    cr_expect(strstr(told, "1 between 1: 0 to 2, block 0 0, warp 0\n"), "%.200s", told);
    close(&s);
}
