/* Plans of reductions: see the header.
 *
 * Everything is linear. `row` is what an input (register, lane or warp bit) adds to the coordinates
 * outside the axis, `along` what it adds along the axis. Inputs whose `row`s sum up to zero select
 * elements of the same row. They are found by Gaussian elimination, registers first, then lanes,
 * then warps, so that each uses as few later inputs as possible. Inputs that add nothing new along
 * the axis select elements that have been counted already. */
#include "lib/layout/reduce.h"

#include "lib/layout/layout.h"
#include "lib/layout/space.h"

enum { LANES_AT = TILE_LAYOUT_MAX_BITS, WARPS_AT = LANES_AT + TILE_LANE_BITS };
_Static_assert(WARPS_AT + TILE_LAYOUT_MAX_WARP_BITS <= 32, "an input's bits fit a number");

/* The coordinates of an index in a part, without the axis. */
static uint32_t row_of(const tile_reduce_plan *p, uint32_t index) {
    uint32_t bits = (UINT32_C(1) << p->source.dim_bits[p->axis]) - 1;
    return index & ~(bits << tile_layout_dim_shift(&p->source, p->axis));
}

static uint32_t along_of(const tile_reduce_plan *p, uint32_t index) {
    return tile_layout_coordinate(&p->source, index, p->axis);
}

/* What an input adds to the index; register inputs are those of the narrow layout. */
static uint32_t index_of(const tile_reduce_plan *p, uint32_t input) {
    uint32_t index = 0;
    for (unsigned i = 0; i < p->narrow.reg_bits; i++)
        if (input >> i & 1) index ^= tile_layout_apply(&p->source, p->first[i], 0, 0);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        if (input >> (LANES_AT + i) & 1) index ^= p->source.lane[i];
    for (unsigned i = 0; i < p->source.warp_bits; i++)
        if (input >> (WARPS_AT + i) & 1) index ^= p->source.warp[i];
    return index;
}

typedef struct elimination {
    vector_space rows;    /* by input */
    vector_space counted; /* along the axis */
} elimination;

static void find_own(tile_reduce_plan *p, elimination *e) {
    vector_space rows = {.count = 0};
    unsigned kept = 0;
    for (unsigned i = 0; i < p->source.reg_bits; i++) {
        uint32_t bits = UINT32_C(1) << i;
        uint32_t row = space_reduce(&rows, row_of(p, p->source.reg[i]), &bits);
        if (row) {
            space_add(&rows, row_of(p, p->source.reg[i]), UINT32_C(1) << i);
            space_add(&e->rows, row_of(p, p->source.reg[i]), UINT32_C(1) << kept);
            p->first[kept++] = UINT32_C(1) << i;
        } else {
            space_add(&e->counted, along_of(p, tile_layout_apply(&p->source, bits, 0, 0)), 0);
            p->own[p->own_steps++] = bits;
        }
    }
}

/* Returns the input with this bit, combined with inputs that lead back to the same row; 0 if there
 * is none. *is_new: it reaches elements that have not been counted. */
static uint32_t find_step(const tile_reduce_plan *p, elimination *e, unsigned bit, bool *is_new) {
    uint32_t input = UINT32_C(1) << bit, row = row_of(p, index_of(p, input));
    if (space_reduce(&e->rows, row, &input)) {
        space_add(&e->rows, row, UINT32_C(1) << bit);
        return 0;
    }
    unsigned before = e->counted.count;
    space_add(&e->counted, along_of(p, index_of(p, input)), 0);
    *is_new = e->counted.count > before;
    return input;
}

static void find_lanes(tile_reduce_plan *p, elimination *e) {
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) {
        bool is_new = false;
        uint32_t input = find_step(p, e, LANES_AT + i, &is_new);
        if (!is_new) continue;
        p->lanes[p->lane_steps].lane = input >> LANES_AT & ((1u << TILE_LANE_BITS) - 1);
        p->lanes[p->lane_steps++].reg = input & ((1u << LANES_AT) - 1);
    }
}

/* Finds the cells of each warp, as a linear map: zero for warps without new elements. */
static void find_warps(tile_reduce_plan *p, elimination *e,
                       uint32_t cells[TILE_LAYOUT_MAX_WARP_BITS]) {
    vector_space numbers = {.count = 0};
    for (unsigned i = 0; i < p->source.warp_bits; i++) {
        bool is_new = false;
        uint32_t input = find_step(p, e, WARPS_AT + i, &is_new);
        uint32_t cell = is_new ? UINT32_C(1) << p->cell_bits : 0;
        p->cell_bits += is_new;
        space_add(&numbers, input >> WARPS_AT, cell);
    }
    for (unsigned i = 0; i < p->source.warp_bits; i++) {
        cells[i] = 0;
        space_reduce(&numbers, UINT32_C(1) << i, &cells[i]);
    }
}

/* The index of a cell in the row of a result element. */
static uint32_t cell_index(const tile_layout *result, const tile_layout *cells, unsigned axis,
                           uint32_t index, uint32_t cell) {
    uint32_t coordinates[TILE_MAX_RANK];
    for (unsigned d = 0; d < result->rank; d++)
        coordinates[d] = tile_layout_coordinate(result, index, d);
    coordinates[axis] = cell;
    return tile_layout_index(cells, coordinates);
}

static tile_layout blank_cells(const tile_reduce_plan *p, tile_layout_kind kind) {
    uint32_t dims[TILE_MAX_RANK];
    for (unsigned d = 0; d < p->narrow.rank; d++) dims[d] = tile_layout_extent(&p->narrow, d);
    dims[p->axis] = UINT32_C(1) << p->cell_bits;
    tile_layout layout = tile_layout_blank(kind, dims, p->narrow.rank);
    return layout;
}

/* All threads that hold a result hold it in one cell. */
static tile_layout place_cells(const tile_reduce_plan *p, const tile_layout *result,
                               const uint32_t cells[TILE_LAYOUT_MAX_WARP_BITS]) {
    tile_layout layout = blank_cells(p, TILE_LAYOUT_REGISTER);
    layout.reg_bits = result->reg_bits;
    layout.warp_bits = result->warp_bits;
    for (unsigned i = 0; i < result->reg_bits; i++)
        layout.reg[i] = cell_index(result, &layout, p->axis, result->reg[i], 0);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        layout.lane[i] = cell_index(result, &layout, p->axis, result->lane[i], 0);
    for (unsigned i = 0; i < result->warp_bits; i++)
        layout.warp[i] = cell_index(result, &layout, p->axis, result->warp[i], cells[i]);
    return layout;
}

tile_reduce_plan tile_reduce_make_plan(const tile_layout *source, unsigned axis) {
    tile_reduce_plan p = {.source = *source, .axis = axis};
    elimination e = {.rows = {.count = 0}};
    uint32_t dims[TILE_MAX_RANK], cells[TILE_LAYOUT_MAX_WARP_BITS];
    for (unsigned d = 0; d < source->rank; d++)
        dims[d] = d == axis ? 1 : tile_layout_extent(source, d);
    p.narrow = tile_layout_narrow(source, dims, source->rank);
    find_own(&p, &e);
    find_lanes(&p, &e);
    find_warps(&p, &e, cells);
    p.partial = place_cells(&p, &p.narrow, cells);
    return p;
}

uint32_t tile_reduce_register(const tile_reduce_plan *p, uint32_t narrow, uint32_t step,
                              uint32_t part) {
    uint32_t of_row = narrow >> p->narrow.reg_bits, whole = 0, scale = 1, register_ = 0;
    for (unsigned d = p->source.rank; d-- > 0;) {
        uint32_t count = p->source.count[d], own = d == p->axis ? part : of_row % count;
        if (d != p->axis) of_row /= count;
        whole += own * scale;
        scale *= count;
    }
    for (unsigned i = 0; i < p->narrow.reg_bits; i++)
        if (narrow >> i & 1) register_ ^= p->first[i];
    for (unsigned i = 0; i < p->own_steps; i++)
        if (step >> i & 1) register_ ^= p->own[i];
    return whole << p->source.reg_bits | register_;
}

/* In order if only the steps move along the bits of the axis in which the steps differ. */
bool tile_reduce_in_order(const tile_reduce_plan *p) {
    uint32_t steps = 0, others = 0;
    for (unsigned i = 0; i < p->own_steps; i++) {
        uint32_t along = along_of(p, tile_layout_apply(&p->source, p->own[i], 0, 0));
        if (!along || along & (along - 1) || along & steps) return false;
        steps |= along;
    }
    for (unsigned i = 0; i < p->narrow.reg_bits; i++)
        others |= along_of(p, tile_layout_apply(&p->source, p->first[i], 0, 0));
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) others |= along_of(p, p->source.lane[i]);
    for (unsigned i = 0; i < p->source.warp_bits; i++) others |= along_of(p, p->source.warp[i]);
    return !(steps & others);
}

tile_layout tile_reduce_gathered(const tile_reduce_plan *p, const tile_layout *result) {
    static const uint32_t nowhere[TILE_LAYOUT_MAX_WARP_BITS];
    tile_layout layout = place_cells(p, result, nowhere);
    for (unsigned i = 0; i < p->cell_bits; i++)
        layout.reg[layout.reg_bits++] = cell_index(result, &layout, p->axis, 0, UINT32_C(1) << i);
    return layout;
}

/* Adjacent elements of a thread's result are contiguous, so that it writes and reads them together;
 * otherwise the cells of a row are contiguous, which it reads together. */
tile_layout tile_reduce_shared(const tile_reduce_plan *p, const tile_layout *result,
                               unsigned element_bytes) {
    uint32_t dims[TILE_MAX_RANK];
    unsigned fastest = p->axis;
    tile_layout blank = blank_cells(p, TILE_LAYOUT_SHARED);
    for (unsigned d = 0; d < blank.rank; d++) {
        dims[d] = tile_layout_extent(&blank, d);
        if (d != p->axis && result->reg_bits &&
            result->reg[0] == UINT32_C(1) << tile_layout_dim_shift(result, d))
            fastest = d;
    }
    return tile_layout_shared_swizzled(dims, blank.rank, fastest, element_bytes);
}

bool tile_reduce_in_turn(const tile_reduce_plan *p, const tile_layout *result) {
    return tile_layout_equal(&p->narrow, result);
}

bool tile_reduce_exchanges(const tile_reduce_plan *p, const tile_layout *result) {
    return p->cell_bits || !tile_layout_equal(&p->narrow, result);
}
