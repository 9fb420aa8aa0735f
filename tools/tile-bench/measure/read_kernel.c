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
    tile_device *device;
    tile_module *module;
    tile_kernel *kernel; /* for the chosen point */
    tile_buffer *from, *to;
    int64_t count;
};

const char *bench_reader_point(unsigned point) {
    return points[point].name;
}

/* Memory must be written before it is read. */
static bool write_zeros(tile_buffer *buffer, size_t bytes) {
    const size_t most = 64 << 20, piece = bytes < most ? bytes : most;
    char *zeros = calloc(piece, 1);
    bool ok = zeros != NULL;
    for (size_t at = 0; ok && at < bytes; at += piece)
        ok = tile_buffer_write(buffer, at, zeros, bytes - at < piece ? bytes - at : piece) ==
             TILE_OK;
    free(zeros);
    return ok;
}

static size_t most_out_bytes(void) {
    size_t most = 0;
    for (unsigned i = 0; i < BENCH_READER_POINTS; i++)
        most = points[i].out_bytes > most ? points[i].out_bytes : most;
    return most;
}

bench_reader *bench_reader_create(tile_context *context, tile_device *device, size_t bytes) {
    size_t rounded = (bytes + 15) / 16 * 16;
    bench_reader *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    *r = (bench_reader){.device = device, .count = (int64_t)(rounded / 4)};
    r->module = tile_module_parse(context, "the reading kernel", text, sizeof text - 1);
    if (r->module && tile_buffer_create(device, rounded, &r->from) == TILE_OK &&
        write_zeros(r->from, rounded) &&
        tile_buffer_create(device, most_out_bytes(), &r->to) == TILE_OK)
        return r;
    bench_reader_destroy(r);
    return NULL;
}

tile_status bench_reader_choose(bench_reader *r, unsigned point) {
    const tile_binding bindings[] = {{"block", points[point].block},
                                     {"blocks", points[point].blocks},
                                     {"policy", points[point].policy}};
    tile_kernel_destroy(r->kernel);
    r->kernel = NULL;
    return tile_kernel_create(r->device, r->module, "read", bindings, 3, &r->kernel);
}

void bench_reader_destroy(bench_reader *reader) {
    if (!reader) return;
    tile_kernel_destroy(reader->kernel);
    tile_module_destroy(reader->module);
    tile_buffer_destroy(reader->from);
    tile_buffer_destroy(reader->to);
    free(reader);
}

tile_status bench_reader_launch(void *stream, void *reader) {
    const bench_reader *r = reader;
    const tile_argument arguments[] = {
        {.integer = r->count}, {.integer = 0}, {.buffer = r->from}, {.buffer = r->to}};
    return tile_kernel_launch(r->kernel, arguments, 4, stream);
}
