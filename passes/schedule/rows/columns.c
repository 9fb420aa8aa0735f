/* Norms over a dim that is not contiguous, such as the channels of [n, c, h, w]: a tile has the
 * whole axis and as many elements along the contiguous dim as fit the registers.
 *
 * A loop along the axis would read the elements once for the statistics and again for the results.
 * In a tile with the whole axis they are read once, and lanes have adjacent elements: rows of whole
 * sectors, with 16 bytes per thread. The reduction adds the elements of a thread, then those of the
 * warps through shared memory. */
#include "passes/schedule/rows/rows.h"

enum {
    LONGEST = 1024,  /* along the axis */
    NARROWEST = 16,  /* along the contiguous dim: 2 sectors of f32 */
    WIDEST = 1024,   /* likewise */
    PER_THREAD = 32, /* registers of f32 for the elements of a tile */
    BUSY = 264,      /* blocks that give two to each multiprocessor */
    COLUMN_POINTS = 5,
};

static int64_t power_above(int64_t extent) {
    int64_t block = 1;
    while (block < extent) block *= 2;
    return block;
}

/* Returns whether the elements are read more than once by loops along the axis. */
static bool reads_again(const rows *r) {
    return r->last_loop > 1 || rows_has_long_output(r);
}

bool rows_has_whole_columns(const rows *r, int beside) {
    bool fits = beside > (int)r->axis && r->known > 1 && r->known <= LONGEST && reads_again(r) &&
                !rows_must_split(r);
    for (size_t i = 0; i < r->k.g->reduction_count && fits; i++)
        fits = !sched_is_along(r->k.s, rows_op(r, i)) && !r->k.s->expands[rows_source(r, i).id] &&
               rows_type(r, i)->scalar != TILE_f64;
    return fits;
}

/* Adds a tile of so many elements with the number of warps, unless it is one of the others or as
 * wide as none should be. */
static unsigned add_point(int *points, unsigned count, int64_t columns, int64_t least, int64_t most,
                          int warps) {
    columns = columns < least ? least : columns > most ? most : columns;
    for (unsigned p = 0; p < count; p++)
        if (points[2 * p] == columns && points[2 * p + 1] == warps) return count;
    points[2 * count] = (int)columns;
    points[2 * count + 1] = warps;
    return count + 1;
}

void rows_build_whole_columns(rows *r, int beside) {
    enum { HIGH = 512 };
    static const int all[][3] = {{8, 4, 16}, {16, 8, 4}};
    int64_t height = power_above(r->known);
    const int *warps = all[height >= HIGH];
    int64_t extent = sched_constant(r->k.g->domain.extents[beside]);
    int64_t most = extent < 0 || extent > WIDEST ? WIDEST : power_above(extent);
    int64_t least = most < NARROWEST ? most : NARROWEST;
    int points[COLUMN_POINTS * 2];
    unsigned count = 0;
    /* Few tiles: narrower ones for more blocks. */
    int64_t columns = PER_THREAD * 32 * warps[0] / height;
    int64_t blocks = rows_count_others(r, beside, columns < least ? least : columns);
    bool few = blocks >= 0 && blocks < BUSY;
    if (few) count = add_point(points, count, columns / 4, least, most, warps[1]);
    for (unsigned i = 0; i < sizeof *all / sizeof **all; i++)
        count =
            add_point(points, count, PER_THREAD * 32 * warps[i] / height, least, most, warps[i]);
    if (!few) count = add_point(points, count, columns / 2, least, most, warps[0]);
    const tile_expr *params[] = {sched_add_param(&r->k, "columns"),
                                 sched_add_param(&r->k, "num_warps")};
    rows_set_tiles(r, beside, params[0], tile_expr_int(r->k.s->context, height));
    sched_add_tune(&r->k, params, 2, points, count);
    sched_set_warps(&r->k, params[1]);
    sched_set_grid(&r->k, (int)r->axis);
    rows_choose_pad(r);
    rows_build_at_once(r);
}
