/* The tiles of scans, and the number of blocks of a row.
 *
 * Along contiguous rows, a tile has one row, or several short ones. Down columns, a tile has whole
 * sectors of rows and is as high as the axis, if that is short. */
#include "passes/schedule/rows/look_back.h"

/* The bits of an element of each operand. */
static unsigned bits_of_element(const rows *r) {
    unsigned bits = 0;
    const tile_values src = tile_operands_src(r->k.s->compute, rows_op(r, 0));
    if (!rows_combines(r)) return tile_scalar_bits(rows_type(r, 0)->scalar);
    for (unsigned i = 0; i < src.count; i++)
        bits += tile_scalar_bits(sched_element(r->k.s, src.at[i])->scalar);
    return bits;
}

enum { ALONG = 10 };
/* For elements of up to 32 bits, and for wider ones. */
static const int along[2][2 * ALONG] = {
    {4096, 8, 8192, 8, 6144, 8, 4096, 4, 2048, 4, 1024, 4, 10240, 8, 12288, 8, 14336, 8, 16384, 8},
    {2048, 8, 4096, 8, 3072, 8, 2048, 4, 1024, 4, 512, 4, 5120, 8, 6144, 8, 7168, 8, 8192, 8}};

static const int *along_of(const rows *r) {
    return along[bits_of_element(r) > 32];
}

/* Columns -------------------------------------------------------------------------------------- */

enum { DOWN = 5, FAR = 4 };
/* rows, columns, num_warps. With a block for each chunk, tiles are higher, so that a block reads
 * few totals for its own elements. */
static const int down[DOWN][3] = {
    {64, 32, 8}, {128, 32, 8}, {32, 64, 8}, {32, 32, 4}, {16, 128, 8}};
static const int far_down[FAR][3] = {{128, 32, 8}, {64, 64, 8}, {128, 64, 16}, {64, 32, 8}};

static int power_above(int64_t extent, int most) {
    int block = 1;
    while (block < most && block < extent) block *= 2;
    return block;
}

/* A tile with as many elements as this one, neither wider nor higher than the array. */
static void fit_columns(const rows *r, int64_t width, const int shape[3], int point[3]) {
    int elements = shape[0] * shape[1];
    bool half = sched_is_half(sched_element(r->k.s, rows_source(r, 0)));
    point[1] = half ? 2 * shape[1] : shape[1];
    if (width >= 0) point[1] = power_above(width, point[1]);
    point[0] = elements / point[1];
    if (r->known >= 0) point[0] = power_above(r->known, point[0]);
    while (point[0] * point[1] < elements && (width < 0 || point[1] < width)) point[1] *= 2;
    point[2] = shape[2];
}

/* Adds points that are not in the list; returns their number. */
static unsigned list_columns(const rows *r, int64_t width, const int (*shapes)[3], unsigned count,
                             int (*points)[3], unsigned before) {
    unsigned found = before;
    for (unsigned i = 0; i < count; i++) {
        bool there = false;
        fit_columns(r, width, shapes[i], points[found]);
        for (unsigned p = 0; p < found; p++)
            there |= points[p][0] == points[found][0] && points[p][1] == points[found][1];
        found += !there;
    }
    return found;
}

/* Tiles that hold the axis all have the same height, a number. */
static void add_columns(rows *r, int beside, int (*points)[3], unsigned count) {
    int narrow[DOWN + FAR][2];
    const tile_expr *params[3], *height = tile_expr_int(r->k.s->context, points[0][0]);
    unsigned first = r->whole_axis ? 1 : 0;
    if (!r->whole_axis) params[0] = height = sched_add_param(&r->k, "rows");
    params[1] = sched_add_param(&r->k, "columns");
    params[2] = sched_add_param(&r->k, "num_warps");
    for (unsigned p = 0; p < count; p++) {
        narrow[p][0] = points[p][1];
        narrow[p][1] = points[p][2];
    }
    rows_set_tiles(r, beside, params[1], height);
    sched_add_tune(&r->k, params + first, 3 - first, first ? *narrow : *points, count);
    sched_set_warps(&r->k, params[2]);
}

static void choose_columns(rows *r, int beside) {
    int points[DOWN + FAR][3];
    int64_t width = sched_constant(r->k.g->domain.extents[beside]);
    unsigned count = list_columns(r, width, down, DOWN, points, 0);
    int64_t columns = rows_count_others(r, beside, points[0][1]);
    r->look_back = rows_choose_look_back(r, far_down[0][0], columns);
    if (r->look_back == ROWS_LOOK_BACK_ALWAYS)
        count = list_columns(r, width, far_down, FAR, points, 0);
    else if (r->look_back == ROWS_LOOK_BACK_IF)
        count = list_columns(r, width, far_down, FAR, points, count);
    r->loads_ahead = true;
    r->whole_axis = r->known >= 0;
    for (unsigned p = 0; p < count; p++) r->whole_axis &= r->known <= points[p][0];
    add_columns(r, beside, points, count);
}

/* Rows ----------------------------------------------------------------------------------------- */

static void choose_rows(rows *r, int beside) {
    const tile_expr *params[] = {sched_add_param(&r->k, "block"),
                                 sched_add_param(&r->k, "num_warps")};
    r->look_back = rows_choose_look_back(r, along_of(r)[0], rows_count_others(r, beside, 1));
    rows_set_tiles(r, beside, tile_expr_int(r->k.s->context, 1), params[0]);
    sched_add_tune(&r->k, params, 2, along_of(r), ALONG);
    sched_set_warps(&r->k, params[1]);
}

static void use_given(rows *r, int beside) {
    int64_t others = beside < 0 ? 1 : r->tile[beside], length = r->tile[r->axis];
    r->look_back = rows_choose_look_back(r, length, rows_count_others(r, beside, others));
}

/* Scans of one tile need no carried sums. */
static void build_any_length(rows *r, int beside) {
    r->look_back = rows_choose_look_back(r, along_of(r)[0], rows_count_others(r, beside, 1));
    rows_tile_params p = rows_add_lengths(r, beside, along_of(r), ALONG, false);
    rows_set_scan_grid(r);
    rows_choose_pad(r);
    rows_build_either(r, beside, p.rows, p.block, p.block, rows_build_scan);
}

void rows_build_chunks(rows *r, int beside) {
    enum { SHORT = 2048 };
    const bool columns = beside > (int)r->axis;
    if (!r->tile && !rows_combines(r) && r->known < 0 && !columns) {
        build_any_length(r, beside);
        return;
    }
    if (r->tile)
        use_given(r, beside);
    else if (columns)
        choose_columns(r, beside);
    else if (rows_combines(r) && r->known >= 0 && r->known <= SHORT)
        rows_set_known_tiles(r, beside);
    else
        choose_rows(r, beside);
    rows_set_scan_grid(r);
    if (!rows_combines(r)) rows_choose_pad(r);
    if (r->whole_axis && !rows_combines(r))
        rows_build_at_once(r);
    else
        rows_build_scan(r);
}
