/* The reading kernel, written in Tile IR. */
#include "tools/tile-bench/measure/read_kernel.h"

#include <stdlib.h>

/* The resident blocks stride over the array together. The compiler cannot know that %flag is 0, so
 * it must keep every load. */
static const char text[] =
    "kernel @read<block: int, blocks: int, policy: word>\n"
    "    (%n: i32 {divisible = 4}, %flag: i32, %x: view<i32[%n]>, %out: view<i32[block]>)\n"
    "    grid [num_sms * blocks]  warps 8\n"
    "{\n"
    "  %b = block_id\n"
    "  %g = grid_dim\n"
    "  %all = for %i = %b to ceildiv(%n, block) step %g iter (%some = 0 : tile<i32[block]>) {\n"
    "    %more = load %x[%i * block] {cache = policy} : [block]\n"
    "    yield xor(%some, %more)\n"
    "  }\n"
    "  if %flag > 0 {\n"
    "    store %all, %out[0]\n"
    "  }\n"
    "}\n";

/* The fastest point depends on the number of bytes and on the state of the L2: if its lines are
 * dirty, evict_first leaves most of them there. */
static const struct {
    const char *block, *blocks, *policy, *name;
    size_t out_bytes;
} points[BENCH_READER_POINTS] = {
#define POINT(block, blocks, policy) \
    { #block, #blocks, #policy, "block=" #block " blocks=" #blocks " policy=" #policy, 4 * (block) }
    POINT(2048, 8, evict_normal), POINT(2048, 8, evict_first),  POINT(4096, 8, evict_normal),
    POINT(4096, 8, evict_first),  POINT(8192, 4, evict_normal), POINT(8192, 4, evict_first),
    POINT(2048, 4, evict_normal), POINT(2048, 8, no_allocate),
#undef POINT
};

struct bench_reader {
    bench_lab *lab;
    tile_module *module;
    tile_kernel *kernels[BENCH_READER_POINTS]; /* NULL: not chosen so far */
    unsigned chosen;
    bench_memory from, to; /* from: of the largest size so far */
    int64_t count;
};

const char *bench_reader_point(unsigned point) {
    return points[point].name;
}

static size_t most_out_bytes(void) {
    size_t most = 0;
    for (unsigned i = 0; i < BENCH_READER_POINTS; i++)
        most = points[i].out_bytes > most ? points[i].out_bytes : most;
    return most;
}

bench_reader *bench_reader_create(tile_context *context, bench_lab *lab) {
    bench_reader *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->lab = lab;
    r->module = tile_module_parse(context, "the reading kernel", text, sizeof text - 1);
    if (r->module && bench_memory_create(lab, most_out_bytes(), &r->to) == TILE_OK) return r;
    bench_reader_destroy(r);
    return NULL;
}

/* Memory must be written before it is read. */
tile_status bench_reader_set(bench_reader *r, size_t bytes) {
    size_t rounded = (bytes + 15) / 16 * 16;
    r->count = (int64_t)(rounded / 4);
    if (r->from.buffer && tile_buffer_size(r->from.buffer) >= rounded) return TILE_OK;
    bench_memory_destroy(r->lab, &r->from);
    tile_status status = bench_memory_create(r->lab, rounded, &r->from);
    return status == TILE_OK ? bench_memory_fill(r->lab, &r->from, 0) : status;
}

tile_status bench_reader_choose(bench_reader *r, unsigned point) {
    const tile_binding bindings[] = {{"block", points[point].block},
                                     {"blocks", points[point].blocks},
                                     {"policy", points[point].policy}};
    r->chosen = point;
    if (r->kernels[point]) return TILE_OK;
    return tile_kernel_create(bench_lab_device(r->lab), r->module, "read", bindings, 3,
                              &r->kernels[point]);
}

void bench_reader_destroy(bench_reader *r) {
    if (!r) return;
    for (unsigned i = 0; i < BENCH_READER_POINTS; i++) tile_kernel_destroy(r->kernels[i]);
    tile_module_destroy(r->module);
    bench_memory_destroy(r->lab, &r->from);
    bench_memory_destroy(r->lab, &r->to);
    free(r);
}

tile_status bench_reader_launch(void *stream, void *reader) {
    const bench_reader *r = reader;
    const tile_argument arguments[] = {{.integer = r->count},
                                       {.integer = 0},
                                       {.buffer = r->from.buffer},
                                       {.buffer = r->to.buffer}};
    return tile_kernel_launch(r->kernels[r->chosen], arguments, 4, stream);
}
