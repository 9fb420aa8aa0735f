/* Linear layouts: using and making them. */
#include "lib/layout/layout.h"

#include <string.h>

static unsigned log2_of(uint32_t power) {
    unsigned bits = 0;
    while (power >> (bits + 1)) bits++;
    return bits;
}

/* Using --------------------------------------------------------------------------------------- */

static uint32_t combine(const uint32_t *bases, unsigned count, uint32_t bits) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        if (bits >> i & 1) sum ^= bases[i];
    return sum;
}

uint32_t tile_layout_apply(const tile_layout *layout, uint32_t reg, uint32_t lane, uint32_t warp) {
    return combine(layout->reg, layout->reg_bits, reg) ^
           combine(layout->lane, TILE_LANE_BITS, lane) ^
           combine(layout->warp, layout->warp_bits, warp);
}

uint32_t tile_layout_at_offset(const tile_layout *layout, uint32_t offset) {
    return combine(layout->reg, layout->reg_bits, offset);
}

/* A basis of a space over GF(2): at most one vector for each leading bit. source says which inputs
 * sum up to it. */
typedef struct vector_space {
    uint32_t vector[32];
    uint32_t source[32];
    unsigned count;
} vector_space;

/* What is left of *value after taking out what the span has; *source collects how. */
static uint32_t reduce(const vector_space *span, uint32_t value, uint32_t *source) {
    for (unsigned bit = 32; bit-- > 0;)
        if ((value >> bit & 1) && span->vector[bit]) {
            value ^= span->vector[bit];
            *source ^= span->source[bit];
        }
    return value;
}

static void add_to_span(vector_space *span, uint32_t value, uint32_t source) {
    value = reduce(span, value, &source);
    if (!value) return;
    span->vector[log2_of(value)] = value;
    span->source[log2_of(value)] = source;
    span->count++;
}

uint32_t tile_layout_offset_of(const tile_layout *layout, uint32_t flat) {
    vector_space image = {.count = 0};
    uint32_t offset = 0;
    for (unsigned i = 0; i < layout->reg_bits; i++)
        add_to_span(&image, layout->reg[i], UINT32_C(1) << i);
    reduce(&image, flat, &offset);
    return offset;
}

void tile_layout_to_offsets(const tile_layout *layout, const tile_layout *shared, uint32_t *reg,
                            uint32_t *lane, uint32_t *warp) {
    for (unsigned i = 0; i < layout->reg_bits; i++)
        reg[i] = tile_layout_offset_of(shared, layout->reg[i]);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        lane[i] = tile_layout_offset_of(shared, layout->lane[i]);
    for (unsigned i = 0; i < layout->warp_bits; i++)
        warp[i] = tile_layout_offset_of(shared, layout->warp[i]);
}

bool tile_layout_equal(const tile_layout *a, const tile_layout *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

static void add_all(vector_space *span, const uint32_t *bases, unsigned count) {
    for (unsigned i = 0; i < count; i++) add_to_span(span, bases[i], 0);
}

static unsigned flat_bits(const tile_layout *layout) {
    unsigned bits = 0;
    for (unsigned d = 0; d < layout->rank; d++) bits += layout->dim_bits[d];
    return bits;
}

bool tile_layout_is_surjective(const tile_layout *layout) {
    vector_space image = {.count = 0};
    add_all(&image, layout->reg, layout->reg_bits);
    add_all(&image, layout->lane, TILE_LANE_BITS);
    add_all(&image, layout->warp, layout->warp_bits);
    return image.count == flat_bits(layout);
}

/* Counts fit their arrays and every basis is a flat index. */
static bool is_in_range(const tile_layout *layout) {
    unsigned bits = flat_bits(layout);
    if (layout->reg_bits > TILE_LAYOUT_MAX_BITS || layout->warp_bits > TILE_LAYOUT_MAX_WARP_BITS ||
        bits > TILE_LAYOUT_MAX_BITS)
        return false;
    uint32_t all = 0;
    for (unsigned i = 0; i < layout->reg_bits; i++) all |= layout->reg[i];
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) all |= layout->lane[i];
    for (unsigned i = 0; i < layout->warp_bits; i++) all |= layout->warp[i];
    return all >> bits == 0;
}

const char *tile_layout_find_fault(const tile_layout *layout) {
    bool shared = layout->kind == TILE_LAYOUT_SHARED;
    vector_space image = {.count = 0};
    if (!is_in_range(layout)) return "it has entries outside the tile";
    add_all(&image, layout->reg, layout->reg_bits);
    if (image.count < layout->reg_bits)
        return shared ? "two offsets keep the same element" : "a thread holds an element twice";
    if (shared) return image.count == flat_bits(layout) ? NULL : "some elements have no offset";
    return tile_layout_is_surjective(layout) ? NULL : "some elements are held by no thread";
}

/* Making -------------------------------------------------------------------------------------- */

static tile_layout blank(tile_layout_kind kind, const uint32_t *dims, unsigned rank) {
    tile_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.kind = (uint8_t)kind;
    layout.rank = (uint8_t)rank;
    for (unsigned d = 0; d < rank; d++) layout.dim_bits[d] = (uint8_t)log2_of(dims[d]);
    return layout;
}

static unsigned dim_shift(const tile_layout *layout, unsigned d) {
    unsigned shift = 0;
    for (unsigned later = d + 1; later < layout->rank; later++) shift += layout->dim_bits[later];
    return shift;
}

/* The tile's coordinate bits in the order fastest dim first, then from the last dim to the first.
 */
static unsigned bits_in_order(const tile_layout *layout, unsigned fastest, uint32_t *bits) {
    unsigned count = 0;
    for (unsigned i = 0; i < layout->dim_bits[fastest]; i++)
        bits[count++] = UINT32_C(1) << (dim_shift(layout, fastest) + i);
    for (unsigned d = layout->rank; d-- > 0;)
        for (unsigned i = 0; d != fastest && i < layout->dim_bits[d]; i++)
            bits[count++] = UINT32_C(1) << (dim_shift(layout, d) + i);
    return count;
}

tile_layout tile_layout_blocked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps) {
    tile_layout layout = blank(TILE_LAYOUT_REGISTER, dims, rank);
    uint32_t bits[TILE_LAYOUT_MAX_BITS + 12];
    unsigned count = bits_in_order(&layout, fastest, bits), at = 0;
    unsigned vec_bits = log2_of(vec);
    layout.warp_bits = (uint8_t)log2_of(num_warps);
    /* Rather one narrower access by every thread than a wide one by a few. */
    unsigned thread_bits = TILE_LANE_BITS + layout.warp_bits;
    if (vec_bits > layout.dim_bits[fastest]) vec_bits = layout.dim_bits[fastest];
    if (count < thread_bits + vec_bits) vec_bits = count > thread_bits ? count - thread_bits : 0;
    for (; at < vec_bits; at++) layout.reg[layout.reg_bits++] = bits[at];
    for (unsigned i = 0; i < TILE_LANE_BITS && at < count; i++) layout.lane[i] = bits[at++];
    for (unsigned i = 0; i < layout.warp_bits && at < count; i++) layout.warp[i] = bits[at++];
    while (at < count) layout.reg[layout.reg_bits++] = bits[at++];
    return layout;
}

tile_layout tile_layout_shared_swizzled(const uint32_t *dims, unsigned rank, unsigned fastest,
                                        unsigned element_bytes) {
    tile_layout layout = blank(TILE_LAYOUT_SHARED, dims, rank);
    uint32_t bits[TILE_LAYOUT_MAX_BITS + 12];
    unsigned count = bits_in_order(&layout, fastest, bits);
    unsigned row_bits = layout.dim_bits[fastest], chunk = log2_of(16 / element_bytes);
    memcpy(layout.reg, bits, sizeof *bits * count);
    layout.reg_bits = (uint8_t)count;
    if (row_bits <= chunk) return layout;
    /* A line of banks is 128 bytes, 8 chunks: so many chunk bits lie in one row, the others in
     * rows. */
    unsigned crossed = row_bits - chunk < 3 ? row_bits - chunk : 3;
    unsigned first_row = row_bits + 3 - crossed;
    for (unsigned i = 0; i < crossed && first_row + i < count; i++)
        layout.reg[first_row + i] ^= bits[chunk + i];
    return layout;
}

void tile_layout_choose_warps(uint32_t m, uint32_t n, unsigned num_warps, uint32_t *warps_m,
                              uint32_t *warps_n) {
    *warps_m = *warps_n = 1;
    while (*warps_m * *warps_n < num_warps) {
        uint32_t part_m = m / *warps_m, part_n = n / *warps_n;
        bool can_m = part_m > 16, can_n = part_n > 8;
        /* On a tie rows are cut: the operand that lies along k in shared memory is read less often.
         */
        if (can_m && (part_m >= part_n || !can_n))
            *warps_m *= 2;
        else
            *warps_n *= 2;
    }
}

/* Appends bits of dim d to the registers: coordinate `from` up to below `to`. */
static void add_registers(tile_layout *layout, unsigned d, uint32_t from, uint32_t to) {
    for (uint32_t c = from; c < to; c *= 2)
        layout->reg[layout->reg_bits++] = c << dim_shift(layout, d);
}

static void set_lanes(tile_layout *layout, unsigned pair_dim, unsigned group_dim) {
    for (unsigned i = 0; i < 2; i++)
        layout->lane[i] = UINT32_C(2) << i << dim_shift(layout, pair_dim);
    for (unsigned i = 0; i < 3; i++)
        layout->lane[2 + i] = UINT32_C(1) << i << dim_shift(layout, group_dim);
}

tile_layout tile_layout_accumulator(uint32_t m, uint32_t n, uint32_t warps_m, uint32_t warps_n) {
    const uint32_t dims[2] = {m, n};
    tile_layout layout = blank(TILE_LAYOUT_REGISTER, dims, 2);
    uint32_t part_m = m / warps_m < 16 ? 16 : m / warps_m,
             part_n = n / warps_n < 8 ? 8 : n / warps_n;
    add_registers(&layout, 1, 1, 2);
    add_registers(&layout, 0, 8, 16);
    add_registers(&layout, 1, 8, part_n);
    add_registers(&layout, 0, 16, part_m);
    set_lanes(&layout, 1, 0);
    layout.warp_bits = (uint8_t)(log2_of(warps_m) + log2_of(warps_n));
    unsigned bit = 0;
    for (uint32_t w = 1; w < warps_m; w *= 2, bit++)
        layout.warp[bit] = part_m * w < m ? part_m * w << dim_shift(&layout, 0) : 0;
    for (uint32_t w = 1; w < warps_n; w *= 2, bit++)
        layout.warp[bit] = part_n * w < n ? part_n * w : 0;
    return layout;
}

bool tile_layout_is_accumulator(const tile_layout *layout) {
    if (layout->kind != TILE_LAYOUT_REGISTER || layout->rank != 2 || layout->dim_bits[0] < 4 ||
        layout->dim_bits[1] < 3)
        return false;
    for (unsigned m_bits = 0; m_bits <= layout->warp_bits; m_bits++) {
        tile_layout sum =
            tile_layout_accumulator(1u << layout->dim_bits[0], 1u << layout->dim_bits[1],
                                    1u << m_bits, 1u << (layout->warp_bits - m_bits));
        if (tile_layout_equal(&sum, layout)) return true;
    }
    return false;
}

tile_layout tile_layout_dot_operand(const tile_layout *sum, unsigned operand, uint32_t rows,
                                    uint32_t columns) {
    const uint32_t dims[2] = {rows, columns};
    tile_layout layout = blank(TILE_LAYOUT_REGISTER, dims, 2);
    unsigned k = operand == 0 ? 1 : 0, other = 1 - k;
    uint32_t depth = dims[k], part = UINT32_C(1) << sum->dim_bits[other];
    unsigned sum_shift = dim_shift(sum, other);
    layout.warp_bits = sum->warp_bits;
    for (unsigned i = 0; i < sum->warp_bits; i++) {
        uint32_t along = sum->warp[i] >> sum_shift & ((UINT32_C(1) << sum->dim_bits[other]) - 1);
        layout.warp[i] = along << dim_shift(&layout, other);
        if (along) part /= 2;
    }
    add_registers(&layout, k, 1, 2);
    if (operand == 0) add_registers(&layout, other, 8, 16);
    add_registers(&layout, k, 8, 16);
    if (operand == 0) add_registers(&layout, k, 16, depth);
    add_registers(&layout, other, operand == 0 ? 16 : 8, part);
    if (operand == 1) add_registers(&layout, k, 16, depth);
    set_lanes(&layout, k, other);
    return layout;
}

/* Counting ------------------------------------------------------------------------------------ */

/* Wavefronts of one group of lanes that are served together: the most different words of one bank.
 */
static unsigned group_wavefronts(const uint32_t *addresses, unsigned count, unsigned bytes) {
    uint32_t words[32][32];
    unsigned used[32] = {0}, most = 0;
    for (unsigned i = 0; i < count; i++)
        for (uint32_t word = addresses[i] / 4; word < (addresses[i] + bytes + 3) / 4; word++) {
            unsigned bank = word % 32, seen = 0;
            while (seen < used[bank] && words[bank][seen] != word) seen++;
            if (seen == used[bank] && seen < 32) words[bank][used[bank]++] = word;
            if (used[bank] > most) most = used[bank];
        }
    return most;
}

unsigned tile_bank_conflicts(const uint32_t *addresses, unsigned count, unsigned bytes) {
    unsigned together = bytes == 16 ? 8 : bytes == 8 ? 16 : 32, extra = 0;
    for (unsigned first = 0; first < count; first += together) {
        unsigned size = count - first < together ? count - first : together;
        unsigned wavefronts = group_wavefronts(addresses + first, size, bytes);
        extra += wavefronts ? wavefronts - 1 : 0;
    }
    return extra;
}
