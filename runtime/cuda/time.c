/* Timing with events, and the state of the L2 before each launch.
 *
 * A flush fills the L2 with lines of a buffer several times its size. After writing them (a memset)
 * they are dirty, and the timed launch pays for writing them back, as it does after a kernel that
 * wrote much. After reading them (with a kernel of our own) they are clean and are evicted at no
 * cost. */
#include "runtime/cuda/device.h"

#include <stddef.h>

enum { FLUSH_FACTOR = 4, READER_THREADS = 256, READER_BLOCKS_PER_SM = 8 };

/* The loads feed acc, so the assembler keeps them. The buffer is zero, so acc is never -1 and
 * nothing is stored. */
const char tile_cuda_read_ptx[] =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry tile_read(.param .u64 data, .param .u64 count, .param .u64 sink)\n"
    "{\n"
    "  .reg .pred %p;\n"
    "  .reg .b32 %r<12>;\n"
    "  .reg .b64 %d<8>;\n"
    "  ld.param.u64 %d0, [data];\n"
    "  ld.param.u64 %d1, [count];\n"
    "  mov.u32 %r0, %ctaid.x;\n"
    "  mov.u32 %r1, %ntid.x;\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  mov.u32 %r3, %nctaid.x;\n"
    "  mad.lo.u32 %r4, %r0, %r1, %r2;\n"
    "  mul.lo.u32 %r5, %r1, %r3;\n"
    "  cvt.u64.u32 %d2, %r4;\n"
    "  cvt.u64.u32 %d3, %r5;\n"
    "  mov.u32 %r6, 0;\n"
    "loop:\n"
    "  setp.ge.u64 %p, %d2, %d1;\n"
    "  @%p bra done;\n"
    "  shl.b64 %d4, %d2, 4;\n"
    "  add.u64 %d4, %d4, %d0;\n"
    "  ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d4];\n"
    "  or.b32 %r7, %r7, %r8;\n"
    "  or.b32 %r9, %r9, %r10;\n"
    "  or.b32 %r7, %r7, %r9;\n"
    "  or.b32 %r6, %r6, %r7;\n"
    "  add.u64 %d2, %d2, %d3;\n"
    "  bra loop;\n"
    "done:\n"
    "  setp.ne.u32 %p, %r6, -1;\n"
    "  @%p bra end;\n"
    "  ld.param.u64 %d5, [sink];\n"
    "  st.global.u32 [%d5], %r6;\n"
    "end:\n"
    "  ret;\n"
    "}\n";

static size_t flush_bytes(const cuda_device *d) {
    return (size_t)d->l2_bytes * FLUSH_FACTOR;
}

static tile_status write_l2(cuda_device *d, CUstream stream) {
    return tile_cuda_check(d, d->driver->cuMemsetD8Async(d->flush, 0, flush_bytes(d), stream),
                           "cuMemsetD8Async");
}

static tile_status load_reader(cuda_device *d) {
    tile_status status = tile_cuda_check(
        d, d->driver->cuModuleLoadDataEx(&d->flush_module, tile_cuda_read_ptx, 0, NULL, NULL),
        "cuModuleLoadDataEx");
    if (status == TILE_OK)
        status = tile_cuda_check(
            d, d->driver->cuModuleGetFunction(&d->flush_reader, d->flush_module, "tile_read"),
            "cuModuleGetFunction");
    return status == TILE_OK ? write_l2(d, NULL) : status; /* zeros for the reads */
}

static tile_status read_l2(cuda_device *d, CUstream stream) {
    tile_status status = d->flush_reader ? TILE_OK : load_reader(d);
    if (status != TILE_OK) return status;
    CUdeviceptr data = d->flush;
    uint64_t count = flush_bytes(d) / 16;
    void *parameters[] = {&data, &count, &data};
    const CUlaunchConfig config = {.gridDimX = READER_BLOCKS_PER_SM * d->base.num_sms,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = READER_THREADS,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream};
    return tile_cuda_check(d,
                           d->driver->cuLaunchKernelEx(&config, d->flush_reader, parameters, NULL),
                           "cuLaunchKernelEx");
}

static tile_status flush(cuda_device *d, tile_flush how, CUstream stream) {
    tile_status status = TILE_OK;
    if (how == TILE_FLUSH_NONE) return status;
    if (!d->flush)
        status = tile_cuda_check(d, d->driver->cuMemAlloc(&d->flush, flush_bytes(d)), "cuMemAlloc");
    if (status != TILE_OK) return status;
    return how == TILE_FLUSH_CLEAN ? read_l2(d, stream) : write_l2(d, stream);
}

static tile_status make_events(cuda_device *d) {
    tile_status status = TILE_OK;
    if (!d->start)
        status = tile_cuda_check(d, d->driver->cuEventCreate(&d->start, 0), "cuEventCreate");
    if (status == TILE_OK && !d->end)
        status = tile_cuda_check(d, d->driver->cuEventCreate(&d->end, 0), "cuEventCreate");
    return status;
}

static tile_status wait_for_end(cuda_device *d, double *seconds) {
    float milliseconds = 0;
    tile_status status =
        tile_cuda_check(d, d->driver->cuEventSynchronize(d->end), "cuEventSynchronize");
    if (status != TILE_OK) {
        tile_cuda_mark_scratch_dirty(d);
        return status;
    }
    status = tile_cuda_check(d, d->driver->cuEventElapsedTime(&milliseconds, d->start, d->end),
                             "cuEventElapsedTime");
    *seconds = 1e-3 * (double)milliseconds;
    return status;
}

tile_status tile_cuda_time(cuda_device *d, const tile_timed *timed, double *seconds) {
    CUstream stream = timed->stream;
    tile_status status = make_events(d);
    if (status == TILE_OK) status = flush(d, timed->flush, stream);
    if (status == TILE_OK)
        status = tile_cuda_check(d, d->driver->cuEventRecord(d->start, stream), "cuEventRecord");
    for (unsigned i = 0; i < timed->batch && status == TILE_OK; i++)
        status = timed->launch(timed->user);
    if (status == TILE_OK)
        status = tile_cuda_check(d, d->driver->cuEventRecord(d->end, stream), "cuEventRecord");
    return status == TILE_OK ? wait_for_end(d, seconds) : status;
}

void tile_cuda_free_timing(cuda_device *d) {
    if (d->flush_module) d->driver->cuModuleUnload(d->flush_module);
    if (d->flush) d->driver->cuMemFree(d->flush);
    if (d->start) d->driver->cuEventDestroy(d->start);
    if (d->end) d->driver->cuEventDestroy(d->end);
}
