/* Trace events of a launch whose code writes stamps (lib/codegen/stamps.h).
 *
 * %clock counts in one multiprocessor, so it is exact within a block. %globaltimer is global, but
 * advances in steps of up to a microsecond. So each block starts at the first stamp of its first
 * warp that has one, and later times are counted in clocks. The length of a clock follows from the
 * block's first and last stamp. */
#include <stdlib.h>

#include "lib/codegen/stamps.h"
#include "lib/launch/abi.h"
#include "runtime/cuda/device.h"

typedef struct reading {
    cuda_device *d;
    const tile_launch *launch;
    const tile_function *f;
    tile_stamp *stamps;
    unsigned warps;
    uint64_t blocks; /* number of blocks with stamps */
    uint64_t start;  /* time of the first stamp, nanoseconds */
} reading;

/* The clock of one block. */
typedef struct block_clock {
    uint64_t time;
    uint32_t clock;
    double nanoseconds; /* of a clock */
} block_clock;

static const tile_stamp *stamps_of(const reading *r, uint64_t block, unsigned warp,
                                   unsigned *count) {
    const tile_stamp *own = r->stamps + (block * r->warps + warp) * TILE_STAMPS_OF_WARP;
    *count = 0;
    while (*count < TILE_STAMPS_OF_WARP && own[*count].time) ++*count;
    return own;
}

static block_clock clock_of(const reading *r, uint64_t block) {
    enum { LONG_ENOUGH = 20000 /* ns: the timer's steps are then a few percent */ };
    const double usual = 1e6 / (r->d->base.clock ? r->d->base.clock : 1500000);
    unsigned count = 0;
    const tile_stamp *first = r->stamps;
    for (unsigned warp = 0; warp < r->warps && !count; warp++)
        first = stamps_of(r, block, warp, &count);
    if (!count) return (block_clock){r->start, 0, usual};
    const tile_stamp *last = &first[count - 1];
    uint32_t ticks = last->clock - first->clock;
    double passed = (double)(last->time - first->time);
    return (block_clock){first->time, first->clock,
                         passed > LONG_ENOUGH && ticks ? passed / ticks : usual};
}

static uint64_t time_of(const reading *r, const block_clock *clock, const tile_stamp *stamp) {
    double ticks = (double)(int32_t)(stamp->clock - clock->clock);
    double time = (double)(clock->time - r->start) + ticks * clock->nanoseconds;
    return time > 0 ? (uint64_t)time : 0;
}

/* The event between two stamps of the warp. */
static void emit_event(const reading *r, const block_clock *clock, uint64_t block, unsigned warp,
                       const tile_stamp *from, const tile_stamp *to) {
    bool is_one = from->what > 1 && !(from->what & 1) && to->what == from->what + 1;
    uint32_t id = (is_one || to->what < 2 ? from->what : to->what) / 2;
    tile_op op = {id && id < r->f->op_count ? id : 0};
    bool waits = op.id && tile_op_effects(r->f, op) &
                              (TILE_EFFECT_WAIT | TILE_EFFECT_BARRIER | TILE_EFFECT_ACQUIRE);
    tile_loc loc = op.id ? tile_op_loc(r->f, op) : r->f->loc;
    const int64_t *grid = r->launch->grid;
    tile_trace_event event = {.kind = !is_one ? TILE_TRACE_ARITHMETIC
                                      : waits ? TILE_TRACE_WAIT
                                              : TILE_TRACE_OPERATION,
                              .operation = is_one && op.id ? tile_op_name(r->f, op) : "between",
                              .file = tile_context_source_name(r->d->base.context, loc.file),
                              .line = loc.line,
                              .column = loc.column,
                              .begin = time_of(r, clock, from),
                              .end = time_of(r, clock, to),
                              .block = {(int64_t)block % grid[0],
                                        (int64_t)block / grid[0] % grid[1],
                                        (int64_t)block / grid[0] / grid[1]},
                              .warp = warp,
                              .warps = 1};
    if (event.end > event.begin) r->d->trace(&event, r->d->trace_user);
}

static void emit_events(reading *r) {
    unsigned count;
    for (uint64_t block = 0; block < r->blocks; block++)
        for (unsigned warp = 0; warp < r->warps; warp++) {
            const tile_stamp *own = stamps_of(r, block, warp, &count);
            if (count && (!r->start || own->time < r->start)) r->start = own->time;
        }
    for (uint64_t block = 0; block < r->blocks; block++) {
        block_clock clock = clock_of(r, block);
        for (unsigned warp = 0; warp < r->warps; warp++) {
            const tile_stamp *own = stamps_of(r, block, warp, &count);
            for (unsigned i = 1; i < count; i++)
                emit_event(r, &clock, block, warp, &own[i - 1], &own[i]);
        }
    }
}

/* Reads the array and clears it. */
static tile_status read_array(const reading *r, CUmodule module) {
    const tile_driver *driver = r->d->driver;
    CUdeviceptr address;
    size_t size, wanted = (size_t)TILE_STAMPED_WARPS * TILE_STAMPS_OF_WARP * sizeof(tile_stamp);
    CUresult result = driver->cuCtxSynchronize();
    if (!result) result = driver->cuModuleGetGlobal(&address, &size, module, TILE_STAMPS_NAME);
    if (!result) result = driver->cuMemcpyDtoH(r->stamps, address, size < wanted ? size : wanted);
    if (!result) result = driver->cuMemsetD8Async(address, 0, size, NULL);
    return tile_cuda_check(r->d, result, "reading the stamps of a launch");
}

tile_status tile_cuda_report_stamps(cuda_device *d, const tile_launch *launch, CUmodule module) {
    reading r = {.d = d, .launch = launch, .f = launch->variant->function};
    r.warps = tile_abi_warps(launch->variant->abi);
    uint64_t blocks = (uint64_t)(launch->grid[0] * launch->grid[1] * launch->grid[2]);
    r.blocks = TILE_STAMPED_WARPS / r.warps;
    if (blocks < r.blocks) r.blocks = blocks;
    r.stamps = calloc((size_t)TILE_STAMPED_WARPS * TILE_STAMPS_OF_WARP, sizeof *r.stamps);
    if (!r.stamps) return tile_cuda_check(d, 2, "memory for stamps"); /* out of memory */
    tile_status status = read_array(&r, module);
    if (status == TILE_OK) emit_events(&r);
    free(r.stamps);
    return status;
}
