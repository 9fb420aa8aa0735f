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

enum {
    ALONG = 10,
    FEW_ROWS = 128, /* blocks: about one for each multiprocessor */
};
/* For elements of up to 32 bits, and for wider ones. */
static const int along[2][2 * ALONG] = {
    {4096, 8, 8192, 8, 6144, 8, 4096, 4, 2048, 4, 1024, 4, 10240, 8, 12288, 8, 14336, 8, 16384, 8},
    {2048, 8, 4096, 8, 3072, 8, 2048, 4, 1024, 4, 512, 4, 5120, 8, 6144, 8, 7168, 8, 8192, 8}};

static const int *along_of(const rows *r) {
    return along[bits_of_element(r) > 32];
}

/* Columns -------------------------------------------------------------------------------------- */

enum {
    MAX_SHAPES = 3, /* of one list */
    WIDE = 32,      /* columns of a tile, on which the number of blocks is based */
    MANY = 384,     /* blocks: about three for each multiprocessor */
    FEW = 192,      /* with fewer, loops leave the memory idle even with their loads ahead */
};

/* rows, columns, num_warps. A thread of a loop has 16 elements of 32 bits and the same of the next
 * step. With few blocks, tiles are larger, so that as many bytes are on their way. With a block for
 * each chunk, threads have 32 elements: waiting for the chunks before takes as long for fewer.
 * Tiles are high, so that a block reads few totals for its own elements. The elements of 16 bits in
 * 16 bytes are of 8 columns, and more rows share the exchange of their sums. */
typedef struct shapes {
    unsigned count;
    int points[MAX_SHAPES][3];
} shapes;
static const shapes many[2] = {{2, {{64, 32, 4}, {64, 64, 8}}}, {1, {{128, 32, 4}}}};
static const shapes some[2] = {{2, {{128, 32, 8}, {64, 32, 4}}}, {1, {{128, 32, 4}}}};
static const shapes far_down[2] = {{1, {{256, 16, 4}}}, {1, {{128, 32, 4}}}};

static int power_above(int64_t extent, int most) {
    int block = 1;
    while (block < most && block < extent) block *= 2;
    return block;
}

/* A tile with as many elements as this one, neither wider nor higher than the array. */
static void fit_columns(const rows *r, int64_t width, const int shape[3], int point[3]) {
    int elements = shape[0] * shape[1];
    point[1] = shape[1];
    if (width >= 0) point[1] = power_above(width, point[1]);
    point[0] = elements / point[1];
    if (r->known >= 0) point[0] = power_above(r->known, point[0]);
    while (point[0] * point[1] < elements && (width < 0 || point[1] < width)) point[1] *= 2;
    point[2] = shape[2];
}

/* Adds points that are not in the list; returns their number. */
static unsigned list_columns(const rows *r, int64_t width, const shapes *of, int (*points)[3],
                             unsigned before) {
    unsigned found = before;
    for (unsigned i = 0; i < of->count; i++) {
        bool there = false;
        fit_columns(r, width, of->points[i], points[found]);
        for (unsigned p = 0; p < found; p++)
            there |= points[p][0] == points[found][0] && points[p][1] == points[found][1];
        found += !there;
    }
    return found;
}

/* Tiles that hold the axis all have the same height, a number. */
static void add_columns(rows *r, int beside, int (*points)[3], unsigned count) {
    int narrow[3 * MAX_SHAPES][2];
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

/* Returns whether an array that the scan reads has elements of 16 bits. */
static bool reads_halves(const rows *r) {
    bool halves = false;
    for (size_t i = 0; i < r->k.g->input_count; i++) {
        tile_value value = r->k.s->arrays[r->k.g->inputs[i].array].value;
        halves |= tile_scalar_bits(sched_element(r->k.s, value)->scalar) == 16;
    }
    return halves;
}

static void choose_columns(rows *r, int beside) {
    int points[3 * MAX_SHAPES][3];
    unsigned count = 0;
    const bool half = reads_halves(r);
    int64_t width = sched_constant(r->k.g->domain.extents[beside]);
    int64_t blocks = rows_count_others(r, beside, WIDE);
    r->look_back = rows_choose_look_back(r, far_down[half].points[0][0], blocks, FEW);
    if (r->look_back != ROWS_LOOK_BACK_ALWAYS && (blocks < 0 || blocks >= MANY))
        count = list_columns(r, width, &many[half], points, count);
    if (r->look_back != ROWS_LOOK_BACK_ALWAYS && blocks < MANY)
        count = list_columns(r, width, &some[half], points, count);
    if (r->look_back != ROWS_LOOK_BACK_NEVER)
        count = list_columns(r, width, &far_down[half], points, count);
    r->loads_ahead = true;
    r->whole_axis = r->known >= 0;
    for (unsigned p = 0; p < count; p++) r->whole_axis &= r->known <= points[p][0];
    add_columns(r, beside, points, count);
}

/* Rows ----------------------------------------------------------------------------------------- */

static void choose_rows(rows *r, int beside) {
    const tile_expr *params[] = {sched_add_param(&r->k, "block"),
                                 sched_add_param(&r->k, "num_warps")};
    r->look_back =
        rows_choose_look_back(r, along_of(r)[0], rows_count_others(r, beside, 1), FEW_ROWS);
    rows_set_tiles(r, beside, tile_expr_int(r->k.s->context, 1), params[0]);
    sched_add_tune(&r->k, params, 2, along_of(r), ALONG);
    sched_set_warps(&r->k, params[1]);
}

static void use_given(rows *r, int beside) {
    int64_t others = beside < 0 ? 1 : r->tile[beside], length = r->tile[r->axis];
    r->look_back = rows_choose_look_back(r, length, rows_count_others(r, beside, others), FEW_ROWS);
}

/* Scans of one tile need no carried sums. */
static void build_any_length(rows *r, int beside) {
    r->look_back =
        rows_choose_look_back(r, along_of(r)[0], rows_count_others(r, beside, 1), FEW_ROWS);
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
