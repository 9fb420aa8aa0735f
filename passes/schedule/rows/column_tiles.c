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

/* Returns whether short columns of elements of 2 bytes are read in words, by threads that each have
 * elements of several whole columns, and there is a block of such threads for each place. The
 * elements of a thread are then combined without those of others. */
static bool has_wide_columns(const rows *r, int beside) {
    enum { LONGEST = 1024, WIDTH = 1024, BUSY = 264, WORD = 4 };
    const int64_t extent = sched_constant(r->k.g->domain.extents[beside]);
    return widest_element(r) == 2 && r->known > 0 && r->known <= LONGEST && extent > 0 &&
           extent * 2 % WORD
    == 0 && rows_count_others(r, beside, WIDTH) >= BUSY;
}

unsigned rows_list_columns(const rows *r, int beside, bool in_parts,
                           int points[ROWS_COLUMN_POINTS * 3]) {
    /* A few wide loads per thread. With parts there are enough blocks, and these need few registers
     * if the tiles of few warps are combined. */
    static const int shapes[][ROWS_COLUMN_POINTS][3] = {
        {{64, 32, 8}, {128, 32, 8}, {32, 64, 8}, {32, 128, 8}, {16, 256, 8}},
        {{16, 128, 4}, {32, 64, 4}, {64, 32, 4}, {8, 256, 4}, {32, 128, 4}},
        /* H200, maxima of 32 x 4096 x 4095 f32: 508 us, 576 with {128, 32, 8} */
        {{32, 64, 16}},
        /* H200, minima of 32 x 64 x 64516 f16: 81 us, 175 with {64, 32, 8} */
        {{4, 1024, 8}, {16, 256, 8}, {4, 512, 4}, {4, 256, 2}, {64, 32, 8}}};
    int64_t extent = sched_constant(r->k.g->domain.extents[beside]);
    const bool large = !in_parts && reads_much(r);
    const bool wide = !in_parts && has_wide_columns(r, beside);
    unsigned count = 0;
    for (unsigned i = 0; i < (large ? 1 : ROWS_COLUMN_POINTS); i++) {
        const int *shape = shapes[wide ? 3 : large ? 2 : in_parts][i];
        int width = extent < 0 ? shape[1] : power_above(extent, shape[1]);
        int height = shape[0] * (shape[1] / width);
        if (r->known >= 0) height = power_above(r->known, height);
        count += rows_add_point(points, count, height, width, shape[2]);
    }
    return count;
}
