#include "lib/layout/cut.h"

#include "lib/layout/layout.h"

/* Returns the register bit whose offset is exactly `offset`, -1 if there is none. */
static int find_bit(const uint32_t *offsets, unsigned reg_bits, uint32_t offset) {
    for (unsigned bit = 0; bit < reg_bits; bit++)
        if (offsets[bit] == offset) return (int)bit;
    return -1;
}

static bool low_bits_free(const uint32_t *offsets, unsigned reg_bits, uint32_t fixed,
                          unsigned width_bits) {
    uint32_t low = (1u << width_bits) - 1, others = fixed;
    for (unsigned bit = 0; bit < reg_bits; bit++)
        if ((offsets[bit] & (offsets[bit] - 1)) || offsets[bit] > low) others |= offsets[bit];
    return (others & low) == 0;
}

tile_access_split tile_split_fragment_accesses(const tile_layout *layout, const uint32_t *offsets,
                                               uint32_t fixed, unsigned widest) {
    tile_access_split cut = {0};
    unsigned reg_bits = layout->reg_bits;
    bool taken[TILE_LAYOUT_MAX_BITS] = {false};
    for (unsigned bits = 1; 1u << bits <= widest && bits <= 4; bits++) {
        int bit = find_bit(offsets, reg_bits, 1u << (bits - 1));
        if (bit < 0 || !low_bits_free(offsets, reg_bits, fixed, bits)) break;
        cut.bits[cut.width_bits++] = (unsigned)bit;
        taken[bit] = true;
    }
    for (unsigned bit = 0; bit < reg_bits; bit++)
        if (!taken[bit]) cut.rest[cut.rest_bits++] = bit;
    cut.count = tile_layout_parts(layout) << cut.rest_bits;
    return cut;
}

tile_access_split tile_split_accesses_along(const tile_layout *layout, unsigned d,
                                            unsigned widest) {
    const uint32_t elsewhere = UINT32_C(1) << 31; /* marks registers that move along another dim */
    uint32_t offsets[TILE_LAYOUT_MAX_BITS], fixed = 0;
    for (unsigned bit = 0; bit < layout->reg_bits; bit++) {
        uint32_t along = tile_layout_coordinate(layout, layout->reg[bit], d);
        bool other = layout->reg[bit] != along << tile_layout_dim_shift(layout, d);
        offsets[bit] = along | (other ? elsewhere : 0);
    }
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        fixed |= tile_layout_coordinate(layout, layout->lane[i], d);
    for (unsigned i = 0; i < layout->warp_bits; i++)
        fixed |= tile_layout_coordinate(layout, layout->warp[i], d);
    return tile_split_fragment_accesses(layout, offsets, fixed, widest);
}

unsigned tile_layout_run_lanes(const tile_layout *layout, unsigned d, unsigned vec) {
    unsigned lanes = 1, shift = tile_layout_dim_shift(layout, d), bit = 0;
    if (1u << tile_split_accesses_along(layout, d, vec).width_bits != vec) return 0;
    while (bit < TILE_LANE_BITS && vec * lanes < 1u << layout->dim_bits[d] &&
           layout->lane[bit] == vec * lanes << shift) {
        lanes *= 2;
        bit++;
    }
    return lanes;
}

unsigned tile_access_split_register(const tile_access_split *cut, unsigned index,
                                    unsigned element) {
    unsigned part = index >> cut->rest_bits;
    unsigned register_ = part << (cut->rest_bits + cut->width_bits);
    for (unsigned i = 0; i < cut->rest_bits; i++) register_ |= (index >> i & 1) << cut->rest[i];
    for (unsigned i = 0; i < cut->width_bits; i++) register_ |= (element >> i & 1) << cut->bits[i];
    return register_;
}
