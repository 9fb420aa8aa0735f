/* Tiles of columns: reductions along a dim that is not contiguous. */
#include "passes/schedule/rows/rows.h"

#include <string.h>

static int power_above(int64_t extent, int most) {
    int block = 1;
    while (block < most && block < extent) block *= 2;
    return block;
}

bool rows_add_point(int *points, unsigned count, int height, int width, int warps) {
    const int point[] = {height, width, warps};
    for (unsigned p = 0; p < count; p++)
        if (points[3 * p] == height && points[3 * p + 1] == width) return false;
    memcpy(points + 3 * count, point, sizeof point);
    return true;
}

/* Returns whether the rows are of large arrays of 4 bytes. */
static bool reads_much(const rows *r) {
    enum { LARGE = 128 << 20 /* bytes */, WIDTH = 4 };
    bool much = false;
    for (size_t i = 0; i < r->k.g->input_count; i++) {
        const unsigned array = r->k.g->inputs[i].array;
        tile_value value = r->k.s->arrays[array].value;
        if (tile_scalar_bytes(sched_element(r->k.s, value)->scalar) != WIDTH) return false;
        much |= sched_count_bytes(r->k.s, array) >= LARGE;
    }
    return much;
}

/* The bytes of the widest element that the rows are read from; 0: there is none. */
static unsigned widest_element(const rows *r) {
    unsigned widest = 0;
    for (size_t i = 0; i < r->k.g->input_count; i++) {
        tile_value value = r->k.s->arrays[r->k.g->inputs[i].array].value;
        const unsigned own = tile_scalar_bytes(sched_element(r->k.s, value)->scalar);
        widest = own > widest ? own : widest;
    }
    return widest;
}

/* Returns whether columns are short, vectors of them have two elements or more, and there are
 * blocks of wide tiles for all multiprocessors. Then a thread has elements of whole columns, or of
 * large parts of them, and combines most without other threads. */
static bool has_wide_tiles(const rows *r, int beside, unsigned bytes) {
    enum { LONGEST = 1024, WIDTH = 2048 /* bytes */, BUSY = 264 };
    const int64_t extent = sched_constant(r->k.g->domain.extents[beside]);
    return r->known > 0 && r->known <= LONGEST && extent > 0 && extent % 2 == 0 &&
           rows_count_others(r, beside, WIDTH / bytes) >= BUSY;
}

typedef enum column_tiles {
    FEW_COLUMNS,
    PARTS,
    LONG_COLUMNS,
    WIDE_HALVES,
    WIDE_WORDS
} column_tiles;

static column_tiles choose_tiles(const rows *r, int beside, bool in_parts) {
    enum { HALF = 2, WORD = 4 };
    const unsigned bytes = widest_element(r);
    if (in_parts) return PARTS;
    if ((bytes == HALF || bytes == WORD) && has_wide_tiles(r, beside, bytes))
        return bytes == HALF ? WIDE_HALVES : WIDE_WORDS;
    return reads_much(r) ? LONG_COLUMNS : FEW_COLUMNS;
}

unsigned rows_list_columns(const rows *r, int beside, bool in_parts,
                           int points[ROWS_COLUMN_POINTS * 3]) {
    /* A few wide loads per thread. With parts there are enough blocks, and these need few registers
     * if the tiles of few warps are combined. */
    static const int shapes[][ROWS_COLUMN_POINTS][3] = {
        [FEW_COLUMNS] = {{64, 32, 8}, {128, 32, 8}, {32, 64, 8}, {32, 128, 8}, {16, 256, 8}},
        [PARTS] = {{16, 128, 4}, {32, 64, 4}, {64, 32, 4}, {8, 256, 4}, {32, 128, 4}},
        /* H200, maxima of 32 x 4096 x 4095 f32: 508 us, 576 with {128, 32, 8} */
        [LONG_COLUMNS] = {{32, 64, 16}},
        /* H200, minima of 16 x 128 x 65536 f16: 67 us, 121 with {64, 32, 8} */
        [WIDE_HALVES] = {{4, 1024, 8}, {16, 256, 8}, {4, 512, 4}, {4, 256, 2}, {64, 32, 8}},
        /* H200, sums of 16 x 64 x 64516 f32: 73 us, 123 with {32, 64, 16} */
        [WIDE_WORDS] = {{8, 512, 8}, {16, 128, 8}, {8, 256, 4}, {4, 512, 8}, {32, 64, 16}}};
    const int64_t extent = sched_constant(r->k.g->domain.extents[beside]);
    const column_tiles tiles = choose_tiles(r, beside, in_parts);
    unsigned count = 0;
    for (unsigned i = 0; i < (tiles == LONG_COLUMNS ? 1 : ROWS_COLUMN_POINTS); i++) {
        const int *shape = shapes[tiles][i];
        int width = extent < 0 ? shape[1] : power_above(extent, shape[1]);
        int height = shape[0] * (shape[1] / width);
        if (r->known >= 0) height = power_above(r->known, height);
        count += rows_add_point(points, count, height, width, shape[2]);
    }
    return count;
}
