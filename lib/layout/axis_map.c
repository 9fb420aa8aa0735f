/* Which holder has the bits of a coordinate: see the header. */
#include "lib/layout/axis_map.h"

#include "lib/layout/layout.h"

/* Returns the coordinate bit that a basis sets, -1 if it moves along the axis in another way, -2 if
 * it does not move along the axis. */
static int bit_of(const tile_layout *layout, unsigned axis, uint32_t basis) {
    uint32_t along = tile_layout_coordinate(layout, basis, axis);
    if (!along) return -2;
    bool alone = basis == along << tile_layout_dim_shift(layout, axis) && !(along & (along - 1));
    for (int bit = 0; alone && bit < layout->dim_bits[axis]; bit++)
        if (along == UINT32_C(1) << bit) return bit;
    return -1;
}

static bool place(const tile_layout *layout, const uint32_t *bases, unsigned count,
                  tile_holder holder, tile_axis_map *along, bool *taken) {
    for (unsigned i = 0; i < count; i++) {
        int bit = bit_of(layout, along->axis, bases[i]);
        if (bit == -1 || (bit >= 0 && taken[bit])) return false;
        if (bit == -2 && holder == TILE_HELD_BY_REGISTER) along->other[along->others++] = i;
        if (bit < 0) continue;
        taken[bit] = true;
        along->bits[bit].holder = holder;
        along->bits[bit].bit = i;
    }
    return true;
}

bool tile_axis_map_find(const tile_layout *layout, unsigned axis, tile_axis_map *along) {
    bool taken[TILE_LAYOUT_MAX_BITS] = {false};
    *along = (tile_axis_map){.axis = axis, .count = layout->dim_bits[axis]};
    bool fits = place(layout, layout->reg, layout->reg_bits, TILE_HELD_BY_REGISTER, along, taken) &&
                place(layout, layout->lane, TILE_LANE_BITS, TILE_HELD_BY_LANE, along, taken) &&
                place(layout, layout->warp, layout->warp_bits, TILE_HELD_BY_WARP, along, taken);
    for (unsigned bit = 0; bit < along->count; bit++) fits &= taken[bit];
    return fits;
}

bool tile_axis_map_is_in_order(const tile_layout *layout, unsigned axis, tile_axis_map *along) {
    enum { FIRST, LANES, WARPS, LAST };
    unsigned phase = FIRST;
    if (!tile_axis_map_find(layout, axis, along)) return false;
    for (unsigned bit = 0; bit < along->count; bit++) {
        unsigned next = along->bits[bit].holder == TILE_HELD_BY_LANE   ? LANES
                        : along->bits[bit].holder == TILE_HELD_BY_WARP ? WARPS
                        : phase == FIRST                               ? FIRST
                                                                       : LAST;
        bool neighbour =
            phase != LANES || next != LANES || along->bits[bit].bit == along->bits[bit - 1].bit + 1;
        if (next < phase || !neighbour) return false;
        phase = next;
    }
    return true;
}

bool tile_axis_map_registers_first(const tile_layout *layout, unsigned axis, tile_layout *ordered) {
    tile_axis_map along;
    unsigned next = 0;
    bool changed = false;
    if (!tile_axis_map_find(layout, axis, &along)) return false;
    tile_layout_copy(ordered, layout);
    const tile_holder holders[] = {TILE_HELD_BY_REGISTER, TILE_HELD_BY_LANE, TILE_HELD_BY_WARP};
    uint32_t *const bases[] = {ordered->reg, ordered->lane, ordered->warp};
    for (unsigned h = 0; h < sizeof holders / sizeof *holders; h++)
        for (unsigned bit = 0; bit < along.count; bit++) {
            if (along.bits[bit].holder != holders[h]) continue;
            bases[h][along.bits[bit].bit] = UINT32_C(1)
                                            << (tile_layout_dim_shift(layout, axis) + next);
            changed |= bit != next++;
        }
    return changed;
}

tile_layout tile_axis_map_cells(const tile_layout *layout, const tile_axis_map *along,
                                unsigned near_bits) {
    uint32_t dims[TILE_MAX_RANK];
    unsigned bits = 0;
    for (unsigned i = near_bits; i < along->count; i++)
        bits += along->bits[i].holder != TILE_HELD_BY_LANE;
    for (unsigned d = 0; d < layout->rank; d++) dims[d] = tile_layout_extent(layout, d);
    dims[along->axis] = (uint32_t)layout->count[along->axis] << bits;
    return tile_layout_blank(TILE_LAYOUT_REGISTER, dims, layout->rank);
}

tile_layout tile_axis_map_shared_cells(const tile_layout *layout, const tile_axis_map *along,
                                       unsigned element_bytes) {
    unsigned near = 0;
    uint32_t dims[TILE_MAX_RANK];
    while (near < along->count && along->bits[near].holder == TILE_HELD_BY_REGISTER) near++;
    tile_layout cells = tile_axis_map_cells(layout, along, near);
    for (unsigned d = 0; d < layout->rank; d++) dims[d] = tile_layout_extent(&cells, d);
    return tile_layout_shared_swizzled(dims, layout->rank, along->axis, element_bytes);
}

uint32_t tile_axis_map_cell(const tile_layout *layout, const tile_layout *cells, unsigned axis,
                            uint32_t index) {
    uint32_t coordinates[TILE_MAX_RANK];
    for (unsigned d = 0; d < layout->rank; d++)
        coordinates[d] = d == axis ? 0 : tile_layout_coordinate(layout, index, d);
    return tile_layout_index(cells, coordinates);
}

static unsigned register_bits(const tile_axis_map *along) {
    unsigned bits = 0;
    for (unsigned i = 0; i < along->count; i++)
        bits += along->bits[i].holder == TILE_HELD_BY_REGISTER;
    return bits;
}

uint32_t tile_axis_map_steps(const tile_layout *layout, const tile_axis_map *along) {
    return (uint32_t)layout->count[along->axis] << register_bits(along);
}

uint32_t tile_axis_map_rows(const tile_layout *layout, const tile_axis_map *along) {
    return tile_layout_registers(layout) / tile_axis_map_steps(layout, along);
}

uint32_t tile_axis_map_register(const tile_layout *layout, const tile_axis_map *along, uint32_t row,
                                uint32_t step) {
    unsigned own = 0, bits = register_bits(along);
    uint32_t register_ = 0, rest = row >> along->others, part = step >> bits, whole = 0, scale = 1;
    for (unsigned i = 0; i < along->others; i++)
        if (row >> i & 1) register_ |= UINT32_C(1) << along->other[i];
    for (unsigned i = 0; i < along->count; i++) {
        if (along->bits[i].holder != TILE_HELD_BY_REGISTER) continue;
        if (step >> own++ & 1) register_ |= UINT32_C(1) << along->bits[i].bit;
    }
    for (unsigned d = layout->rank; d-- > 0;) {
        uint32_t count = layout->count[d];
        whole += (d == along->axis ? part : rest % count) * scale;
        if (d != along->axis) rest /= count;
        scale *= count;
    }
    return whole << layout->reg_bits | register_;
}
