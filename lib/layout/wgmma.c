/* Matrix instructions of a warpgroup: accumulators, operands in shared memory, boxes. */
#include "lib/layout/wgmma.h"

#include <string.h>

#include "lib/support/integer.h"
#include "lib/support/scalar.h"

enum { CHUNK = 16, ATOM_ROWS = 8 };

/* Instructions -------------------------------------------------------------------------------- */

typedef struct wgmma_row {
    tile_scalar lhs, rhs, acc;
    uint32_t k;
    tile_wgmma_elements elements;
} wgmma_row;

static const wgmma_row rows[] = {
#define WGMMA(lhs, rhs, acc, k, elements) \
    {TILE_##lhs, TILE_##rhs, TILE_##acc, k, TILE_WGMMA_##elements},
#include "lib/layout/wgmma.def"
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

tile_wgmma_elements tile_wgmma_find(const tile_mma_query *types) {
    for (unsigned i = 0; i < ROW_COUNT; i++)
        if (rows[i].lhs == types->lhs && rows[i].rhs == types->rhs && rows[i].acc == types->acc)
            return rows[i].elements;
    return TILE_WGMMA_none;
}

bool tile_wgmma_multiplies(const tile_mma_query *types) {
    tile_wgmma_elements elements = tile_wgmma_find(types);
    return elements == TILE_WGMMA_floats || elements == TILE_WGMMA_integers;
}

uint32_t tile_wgmma_depth(tile_scalar lhs) {
    lhs = tile_scalar_as_signed(lhs);
    for (unsigned i = 0; i < ROW_COUNT; i++)
        if (rows[i].lhs == lhs) return rows[i].k;
    return 0;
}

bool tile_wgmma_admits_columns(uint32_t columns, tile_scalar acc) {
    unsigned step = tile_scalar_as_signed(acc) == TILE_i32 && columns > 32 ? 16 : 8;
    return columns && columns % step == 0 && columns != 0 && columns <= TILE_WGMMA_MAX_COLUMNS;
}

/* Accumulators -------------------------------------------------------------------------------- */

static void add_warps(tile_layout *layout, unsigned d, uint32_t from, uint32_t to) {
    for (uint32_t c = from; c < to; c *= 2)
        layout->warp[layout->warp_bits++] = c << tile_layout_dim_shift(layout, d);
}

/* The number of warpgroups along rows; the others are along columns. */
static uint32_t groups_along_rows(uint32_t part_rows, uint32_t groups) {
    uint32_t most = part_rows / TILE_WGMMA_ROWS;
    return groups < most ? groups : most;
}

bool tile_wgmma_admits(const uint32_t dims[2], unsigned row_dim, unsigned num_warps) {
    if (num_warps % TILE_WARPGROUP || num_warps & (num_warps - 1) || !num_warps) return false;
    uint32_t part_rows = tile_layout_part_extent(dims[row_dim]);
    uint32_t part_columns = tile_layout_part_extent(dims[1 - row_dim]);
    uint32_t groups = num_warps / TILE_WARPGROUP;
    if (part_rows < TILE_WGMMA_ROWS) return false;
    return part_columns / (groups / groups_along_rows(part_rows, groups)) >= 8;
}

/* A fragment of 16 rows and `pack` x 4 columns, and warps 0 to 3. far: the row that a lane has
 * beside its first one, 8, or 1 if rows are paired. */
static tile_layout start_fragment(const uint32_t dims[2], unsigned row_dim, uint32_t pack,
                                  uint32_t far) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    unsigned row = tile_layout_dim_shift(&layout, row_dim),
             column = tile_layout_dim_shift(&layout, 1 - row_dim);
    for (unsigned i = 0; i < 2; i++) layout.lane[i] = pack << i << column;
    for (unsigned i = 0; i < 3; i++) layout.lane[2 + i] = (far == 1 ? 2u : 1u) << i << row;
    add_warps(&layout, row_dim, 16, TILE_WGMMA_ROWS);
    tile_layout_add_registers(&layout, 1 - row_dim, 1, pack);
    tile_layout_add_registers(&layout, row_dim, far, 2 * far);
    return layout;
}

uint32_t tile_wgmma_far_row(const tile_layout *acc, unsigned row_dim) {
    return tile_layout_coordinate(acc, acc->reg[1], row_dim);
}

static tile_layout lay_out_accumulator(const uint32_t dims[2], unsigned row_dim, unsigned num_warps,
                                       uint32_t far) {
    tile_layout layout = start_fragment(dims, row_dim, 2, far);
    uint32_t part_rows = tile_layout_part_extent(dims[row_dim]);
    uint32_t part_columns = tile_layout_part_extent(dims[1 - row_dim]);
    uint32_t groups = num_warps / TILE_WARPGROUP;
    uint32_t along_rows = groups_along_rows(part_rows, groups);
    uint32_t share = part_columns / (groups / along_rows);
    tile_layout_add_registers(&layout, 1 - row_dim, 8, share);
    tile_layout_add_registers(&layout, row_dim, TILE_WGMMA_ROWS, part_rows / along_rows);
    add_warps(&layout, row_dim, part_rows / along_rows, part_rows);
    add_warps(&layout, 1 - row_dim, share, part_columns);
    return layout;
}

tile_layout tile_wgmma_accumulator(const uint32_t dims[2], unsigned row_dim, unsigned num_warps) {
    return lay_out_accumulator(dims, row_dim, num_warps, 8);
}

tile_layout tile_wgmma_paired_accumulator(const uint32_t dims[2], unsigned row_dim,
                                          unsigned num_warps) {
    return lay_out_accumulator(dims, row_dim, num_warps, 1);
}

/* Returns whether a basis steps from one fragment to another: along one dim, by whole fragments. */
static bool is_step(const tile_layout *acc, uint32_t basis, unsigned row_dim) {
    uint32_t row = tile_layout_coordinate(acc, basis, row_dim),
             column = tile_layout_coordinate(acc, basis, 1 - row_dim);
    return row % TILE_WGMMA_ROWS == 0 && column % 8 == 0 && !(row && column) && (row || column);
}

/* Consecutive columns that a warpgroup holds, in one part or in all. */
static uint32_t find_columns(const tile_layout *acc, unsigned row_dim, tile_scalar scalar) {
    unsigned d = 1 - row_dim, shift = tile_layout_dim_shift(acc, d);
    uint32_t run = 8;
    for (bool longer = true; longer && run < TILE_WGMMA_MAX_COLUMNS;) {
        longer = false;
        for (unsigned i = 2; i < acc->reg_bits; i++) longer |= acc->reg[i] == run << shift;
        if (longer) run *= 2;
    }
    uint32_t all = tile_layout_extent(acc, d);
    bool whole = run == UINT32_C(1) << acc->dim_bits[d];
    return whole && tile_wgmma_admits_columns(all, scalar) ? all : run;
}

bool tile_wgmma_holds(const tile_layout *acc, unsigned row_dim, tile_scalar scalar,
                      uint32_t *columns) {
    if (acc->kind != TILE_LAYOUT_REGISTER || acc->rank != 2) return false;
    const uint32_t dims[2] = {tile_layout_extent(acc, 0), tile_layout_extent(acc, 1)};
    if (acc->dim_bits[row_dim] < 6 || acc->dim_bits[1 - row_dim] < 3) return false;
    if (acc->warp_bits < 2 || acc->reg_bits < 2) return false;
    uint32_t far = tile_wgmma_far_row(acc, row_dim) == 1 ? 1 : 8;
    tile_layout fragment = start_fragment(dims, row_dim, 2, far);
    if (memcmp(acc->reg, fragment.reg, 2 * sizeof *acc->reg) != 0 ||
        memcmp(acc->lane, fragment.lane, sizeof acc->lane) != 0 ||
        memcmp(acc->warp, fragment.warp, 2 * sizeof *acc->warp) != 0)
        return false;
    bool steps = true;
    for (unsigned i = 2; i < acc->reg_bits; i++) steps &= is_step(acc, acc->reg[i], row_dim);
    for (unsigned i = 2; i < acc->warp_bits; i++) steps &= is_step(acc, acc->warp[i], row_dim);
    if (steps) *columns = find_columns(acc, row_dim, scalar);
    return steps;
}

uint32_t tile_wgmma_columns(const uint32_t dims[2], unsigned row_dim, unsigned num_warps,
                            tile_scalar acc, uint32_t most_columns) {
    tile_layout layout = tile_wgmma_accumulator(dims, row_dim, num_warps);
    uint32_t columns = ATOM_ROWS;
    tile_wgmma_holds(&layout, row_dim, acc, &columns);
    return tile_wgmma_cut_columns(columns, most_columns);
}

uint64_t tile_wgmma_reads(const uint32_t dims[2], unsigned row_dim, unsigned num_warps,
                          tile_scalar acc, uint32_t most_columns) {
    uint32_t columns = tile_wgmma_columns(dims, row_dim, num_warps, acc, most_columns);
    uint64_t elements = (uint64_t)dims[0] * dims[1];
    return elements / columns + elements / TILE_WGMMA_ROWS;
}

uint32_t tile_wgmma_cut_columns(uint32_t columns, uint32_t most) {
    while (columns > most && columns % 16 == 0) columns /= 2;
    return columns;
}

tile_layout tile_wgmma_first_operand(const tile_layout *acc, unsigned row_dim, tile_scalar scalar,
                                     const uint32_t dims[2]) {
    uint32_t pack = 4 / tile_scalar_bytes(scalar);
    tile_layout layout = start_fragment(dims, row_dim, pack, tile_wgmma_far_row(acc, row_dim));
    tile_layout_add_registers(&layout, 1 - row_dim, 4 * pack,
                              tile_layout_part_extent(dims[1 - row_dim]));
    for (unsigned i = 2; i < acc->reg_bits; i++) {
        uint32_t row = tile_layout_coordinate(acc, acc->reg[i], row_dim);
        if (row) tile_layout_add_registers(&layout, row_dim, row, row + 1);
    }
    for (unsigned i = 2; i < acc->warp_bits; i++)
        layout.warp[layout.warp_bits++] = tile_layout_coordinate(acc, acc->warp[i], row_dim)
                                          << tile_layout_dim_shift(&layout, row_dim);
    layout.block_bits = acc->block_bits;
    return layout;
}

/* Operands in shared memory ------------------------------------------------------------------- */

uint32_t tile_wgmma_cross(unsigned swizzle, uint32_t address) {
    return address >> 3 & (swizzle - CHUNK);
}

tile_layout tile_wgmma_shared(const uint32_t dims[2], unsigned fastest, unsigned element_bytes) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_SHARED, dims, 2);
    unsigned inner = tile_layout_dim_shift(&layout, fastest);
    uint32_t extent = tile_layout_part_extent(dims[fastest]);
    uint32_t width = extent < 128 / element_bytes ? extent : 128 / element_bytes;
    uint32_t plain[TILE_LAYOUT_MAX_BITS];
    tile_layout_add_registers(&layout, fastest, 1, width);
    tile_layout_add_registers(&layout, 1 - fastest, 1, tile_layout_part_extent(dims[1 - fastest]));
    tile_layout_add_registers(&layout, fastest, width, extent);
    memcpy(plain, layout.reg, sizeof plain);
    if (width * element_bytes <= CHUNK) return layout;
    for (unsigned i = 0; i < layout.reg_bits; i++) {
        uint32_t crossed = tile_wgmma_cross(width * element_bytes, element_bytes << i);
        if (crossed) layout.reg[i] = plain[i] ^ (crossed / element_bytes) << inner;
    }
    return layout;
}

/* The offset in a stage, in bytes, before the swizzle. */
static uint32_t sum_of(const tile_layout *shared, unsigned swizzle, unsigned element_bytes,
                       uint32_t index) {
    uint32_t offset = tile_layout_offset_of(shared, index) * element_bytes;
    return offset ^ tile_wgmma_cross(swizzle, offset);
}

uint32_t tile_wgmma_start(const tile_layout *shared, const tile_wgmma_matrix *matrix,
                          unsigned element_bytes, const uint32_t coordinates[2]) {
    return sum_of(shared, matrix->swizzle, element_bytes, tile_layout_index(shared, coordinates));
}

/* A shared layout under one swizzle: what coordinate bit i of a dim adds to the offset. */
typedef struct offsets {
    uint32_t of[2][TILE_LAYOUT_MAX_BITS];
    uint32_t part_step[2]; /* from a part to the next one along a dim, in bytes */
} offsets;

/* Returns false if the layout is not linear in its bits under this swizzle. plain: of each bit, in
 * elements. */
static bool find_offsets(const tile_layout *shared, const uint32_t *plain, unsigned swizzle,
                         unsigned element_bytes, offsets *o) {
    uint32_t part = element_bytes << tile_layout_part_bits(shared), all = 0;
    if (part % (ATOM_ROWS * swizzle)) return false;
    o->part_step[1] = part;
    o->part_step[0] = part * shared->count[1];
    for (unsigned d = 0; d < 2; d++)
        for (unsigned i = 0; i < shared->dim_bits[d]; i++) {
            uint32_t offset = plain[tile_layout_dim_shift(shared, d) + i] * element_bytes;
            o->of[d][i] = offset ^ tile_wgmma_cross(swizzle, offset);
            if (o->of[d][i] & (o->of[d][i] - 1) || all & o->of[d][i]) return false;
            all |= o->of[d][i];
        }
    return true;
}

/* Returns whether bits [from, to) of dim d add first, 2 first, 4 first and so on. */
static bool is_run(const offsets *o, unsigned d, unsigned from, unsigned to, uint32_t first) {
    bool run = true;
    for (unsigned i = from; i < to; i++) run &= o->of[d][i] == first << (i - from);
    return run;
}

/* Finds the step from one `unit` of bits of dim d to the next. It must be constant over `extent`
 * coordinates: a block inside of a part or all parts. Returns false if it is not; the step is 16 if
 * there is one unit only. */
static bool find_step(const tile_layout *shared, const offsets *o, unsigned d, unsigned unit,
                      uint32_t extent, uint32_t *step) {
    unsigned bits = shared->dim_bits[d];
    bool parts = extent >> bits > 1;
    unsigned to = parts ? bits : tile_log2(extent);
    *step = CHUNK;
    if (extent <= UINT32_C(1) << unit) return true;
    if (to < unit) return false; /* an atom that spans several parts */
    *step = to > unit ? o->of[d][unit] : o->part_step[d];
    return is_run(o, d, unit, to, *step) && (!parts || o->part_step[d] == *step << (to - unit));
}

static bool match_swizzle(const tile_layout *shared, const uint32_t *plain, unsigned k_dim,
                          unsigned element_bytes, uint32_t extent, unsigned swizzle,
                          tile_wgmma_matrix *matrix) {
    offsets o;
    uint32_t depth = 32 / element_bytes, fast_step, slow_step;
    unsigned fast = matrix->mn_major ? 1 - k_dim : k_dim, slow = 1 - fast;
    unsigned width = tile_log2(swizzle / element_bytes);
    if (!find_offsets(shared, plain, swizzle, element_bytes, &o)) return false;
    uint32_t slow_extent = matrix->mn_major ? depth : extent;
    uint32_t fast_extent = matrix->mn_major ? extent : depth;
    unsigned inside = tile_log2(fast_extent) < width ? tile_log2(fast_extent) : width;
    if (shared->dim_bits[fast] < inside || shared->dim_bits[slow] < 3) return false;
    if (!is_run(&o, fast, 0, inside, element_bytes) || !is_run(&o, slow, 0, 3, swizzle))
        return false;
    if (!find_step(shared, &o, fast, width, fast_extent, &fast_step) ||
        !find_step(shared, &o, slow, 3, slow_extent, &slow_step))
        return false;
    bool turned = matrix->mn_major && swizzle == CHUNK;
    matrix->swizzle = swizzle;
    matrix->leading = turned ? slow_step : fast_step;
    matrix->stride = turned ? fast_step : slow_step;
    return true;
}

bool tile_wgmma_match(const tile_layout *shared, unsigned k_dim, unsigned element_bytes,
                      uint32_t extent, tile_wgmma_matrix *matrix) {
    uint32_t depth = 32 / element_bytes, plain[TILE_LAYOUT_MAX_BITS];
    if (shared->kind != TILE_LAYOUT_SHARED || shared->rank != 2) return false;
    if (shared->dim_bits[k_dim] < tile_log2(depth)) return false;
    tile_layout_offsets_of_bits(shared, plain);
    for (unsigned major = 0; major < (element_bytes == 2 ? 2u : 1u); major++)
        for (unsigned swizzle = 128; swizzle >= CHUNK; swizzle /= 2) {
            matrix->mn_major = major;
            if (match_swizzle(shared, plain, k_dim, element_bytes, extent, swizzle, matrix))
                return true;
        }
    return false;
}

/* Boxes of tensor maps ------------------------------------------------------------------------ */

/* The number of bits of dim d, from the lowest on, that add first, 2 first, and so on; 256 elements
 * at most. */
static unsigned count_run(const tile_layout *shared, unsigned swizzle, unsigned element_bytes,
                          unsigned d, uint32_t first) {
    unsigned bits = 0;
    for (; bits < shared->dim_bits[d] && bits < 8; bits++) {
        uint32_t index = UINT32_C(1) << bits << tile_layout_dim_shift(shared, d);
        if (sum_of(shared, swizzle, element_bytes, index) != first << bits) break;
    }
    return bits;
}

/* Adds the dim with the longest run at `next`; returns false if there is none. */
static bool extend_box(const tile_layout *shared, unsigned element_bytes, uint32_t next,
                       tile_tma_box *box) {
    unsigned best = 0, bits = 0;
    for (unsigned d = 0; d < shared->rank; d++) {
        bool taken = false;
        for (unsigned i = 0; i < box->rank; i++) taken |= box->order[i] == d;
        unsigned run = taken ? 0 : count_run(shared, box->swizzle, element_bytes, d, next);
        if (run > bits) bits = run, best = d;
    }
    if (!bits) return false;
    box->order[box->rank++] = best;
    box->extent[best] = UINT32_C(1) << bits;
    return true;
}

/* Under a swizzle a row is as long as the swizzle, and eight rows are an atom. */
static bool is_atom(const tile_tma_box *box, unsigned element_bytes) {
    if (box->swizzle == CHUNK) return box->extent[box->order[0]] * element_bytes >= CHUNK;
    return box->extent[box->order[0]] * element_bytes == box->swizzle && box->rank > 1 &&
           box->extent[box->order[1]] >= ATOM_ROWS;
}

/* If the box holds all of a part along its outermost dim, extends it over consecutive parts: the
 * largest number that divides the tile's parts. */
static void take_parts(const tile_layout *shared, tile_tma_box *box) {
    enum { MOST = 256 };
    unsigned outer = box->order[box->rank - 1];
    uint32_t elements = 1, parts = shared->count[outer];
    for (unsigned d = 0; d < shared->rank; d++) elements *= box->extent[d];
    bool next = elements == UINT32_C(1) << tile_layout_part_bits(shared);
    for (unsigned d = outer + 1; d < shared->rank; d++) next &= shared->count[d] == 1;
    while (parts > 1 && (shared->count[outer] % parts || box->extent[outer] * parts > MOST))
        parts -= 2;
    if (next) box->extent[outer] *= parts;
}

/* Whether every box begins at a multiple of its size, so that its elements follow each other there
 * as they do in the first one. */
static bool begins_whole(const tile_layout *shared, unsigned element_bytes,
                         const tile_tma_box *box) {
    uint32_t bytes = element_bytes;
    for (unsigned i = 0; i < box->rank; i++) bytes *= box->extent[box->order[i]];
    for (unsigned d = 0; d < shared->rank; d++)
        for (unsigned i = tile_log2(box->extent[d]); i < shared->dim_bits[d]; i++) {
            uint32_t index = UINT32_C(1) << i << tile_layout_dim_shift(shared, d);
            if (sum_of(shared, box->swizzle, element_bytes, index) % bytes) return false;
        }
    return true;
}

bool tile_tma_find_box(const tile_layout *shared, unsigned element_bytes, tile_tma_box *box) {
    if (shared->kind != TILE_LAYOUT_SHARED) return false;
    for (unsigned swizzle = 128; swizzle >= CHUNK; swizzle /= 2) {
        memset(box, 0, sizeof *box);
        box->swizzle = swizzle;
        for (unsigned d = 0; d < shared->rank; d++) box->extent[d] = 1;
        uint32_t next = element_bytes;
        while (extend_box(shared, element_bytes, next, box))
            next *= box->extent[box->order[box->rank - 1]];
        if (!box->rank || !is_atom(box, element_bytes)) continue;
        if (!begins_whole(shared, element_bytes, box)) continue;
        take_parts(shared, box);
        for (unsigned d = 0; d < shared->rank; d++) /* dims of one element come last */
            if (box->extent[d] == 1) box->order[box->rank++] = d;
        return true;
    }
    return false;
}
