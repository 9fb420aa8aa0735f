/* Linear layouts: queries and construction. */
#include "lib/layout/layout.h"

#include <stddef.h>
#include <string.h>

#include "lib/layout/space.h"
#include "lib/support/integer.h"

/* Queries -------------------------------------------------------------------------------------- */

bool tile_layout_admits_extent(int64_t extent) {
    int64_t count = extent;
    if (extent < 1 || extent > INT64_C(1) << TILE_LAYOUT_MAX_BITS) return false;
    while (count % 2 == 0) count /= 2;
    return count <= TILE_LAYOUT_MAX_COUNT;
}

uint32_t tile_layout_parts(const tile_layout *layout) {
    uint32_t parts = 1;
    for (unsigned d = 0; d < layout->rank; d++) parts *= layout->count[d];
    return parts;
}

unsigned tile_layout_part_bits(const tile_layout *layout) {
    return layout->rank ? tile_layout_dim_shift(layout, 0) + layout->dim_bits[0] : 0;
}

uint32_t tile_layout_registers(const tile_layout *layout) {
    if (!layout) return 0;
    return tile_layout_parts(layout) << layout->reg_bits;
}

uint32_t tile_layout_extent(const tile_layout *layout, unsigned d) {
    if (!layout || d >= layout->rank) return 0;
    return (uint32_t)layout->count[d] << layout->dim_bits[d];
}

unsigned tile_layout_dim_shift(const tile_layout *layout, unsigned d) {
    unsigned shift = 0;
    for (unsigned later = d + 1; later < layout->rank; later++) shift += layout->dim_bits[later];
    return shift;
}

uint32_t tile_layout_coordinate(const tile_layout *layout, uint32_t index, unsigned d) {
    uint32_t part = index >> tile_layout_part_bits(layout);
    for (unsigned later = layout->rank; --later > d;) part /= layout->count[later];
    uint32_t bits = index >> tile_layout_dim_shift(layout, d);
    return part % layout->count[d] << layout->dim_bits[d] |
           (bits & ((UINT32_C(1) << layout->dim_bits[d]) - 1));
}

uint32_t tile_layout_index(const tile_layout *layout, const uint32_t *coordinates) {
    uint32_t part = 0, index = 0;
    if (!layout || !coordinates) return 0;
    for (unsigned d = 0; d < layout->rank; d++) {
        part = part * layout->count[d] + (coordinates[d] >> layout->dim_bits[d]);
        index |= (coordinates[d] & ((UINT32_C(1) << layout->dim_bits[d]) - 1))
                 << tile_layout_dim_shift(layout, d);
    }
    return part << tile_layout_part_bits(layout) | index;
}

uint32_t tile_layout_apply(const tile_layout *layout, uint32_t reg, uint32_t lane, uint32_t warp) {
    if (!layout) return 0;
    uint32_t part = reg >> layout->reg_bits;
    return part << tile_layout_part_bits(layout) |
           (tile_layout_combine(layout->reg, layout->reg_bits, reg) ^
            tile_layout_combine(layout->lane, TILE_LANE_BITS, lane) ^
            tile_layout_combine(layout->warp, layout->warp_bits, warp));
}

/* The shared layout's inverse: each vector's tag is its offset. */
static vector_space invert(const tile_layout *layout) {
    vector_space image = {.count = 0};
    for (unsigned i = 0; i < layout->reg_bits; i++)
        space_add(&image, layout->reg[i], UINT32_C(1) << i);
    return image;
}

uint32_t tile_layout_offset_of(const tile_layout *layout, uint32_t index) {
    vector_space image = invert(layout);
    unsigned bits = tile_layout_part_bits(layout);
    uint32_t offset = 0;
    space_reduce(&image, index & ((UINT32_C(1) << bits) - 1), &offset);
    return index >> bits << layout->reg_bits | offset;
}

void tile_layout_offsets_of_bits(const tile_layout *layout, uint32_t *offsets) {
    const vector_space image = invert(layout);
    for (unsigned i = 0; i < tile_layout_part_bits(layout); i++) {
        offsets[i] = 0;
        space_reduce(&image, UINT32_C(1) << i, &offsets[i]);
    }
}

/* The offset of the element with the coordinates that `index` has in the tile. */
static uint32_t offset_at(const tile_layout *layout, const tile_layout *shared, uint32_t index) {
    uint32_t at = 0;
    for (unsigned d = 0; d < layout->rank; d++)
        at |= tile_layout_coordinate(layout, index, d) << tile_layout_dim_shift(shared, d);
    return tile_layout_offset_of(shared, at);
}

void tile_layout_to_offsets(const tile_layout *layout, const tile_layout *shared, uint32_t *reg,
                            uint32_t *lane, uint32_t *warp) {
    for (unsigned i = 0; i < layout->reg_bits; i++)
        reg[i] = offset_at(layout, shared, layout->reg[i]);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        lane[i] = offset_at(layout, shared, layout->lane[i]);
    for (unsigned i = 0; i < layout->warp_bits; i++)
        warp[i] = offset_at(layout, shared, layout->warp[i]);
}

/* The struct has padding between its byte and word members. */
enum {
    BYTES = offsetof(tile_layout, block_bits) + 1,
    FIRST_WORD = offsetof(tile_layout, reg),
    WORDS = sizeof(tile_layout) - FIRST_WORD,
};
_Static_assert(offsetof(tile_layout, block_bits) == 4 + 2 * TILE_MAX_RANK &&
                   WORDS == 4 * (TILE_LAYOUT_MAX_BITS + TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS +
                                 TILE_LAYOUT_MAX_BLOCK_BITS),
               "and nowhere else");

bool tile_layout_equal(const tile_layout *a, const tile_layout *b) {
    return memcmp(a, b, BYTES) == 0 &&
           memcmp((const char *)a + FIRST_WORD, (const char *)b + FIRST_WORD, WORDS) == 0;
}

void tile_layout_copy(tile_layout *to, const tile_layout *from) {
    memset(to, 0, sizeof *to);
    memcpy(to, from, BYTES);
    memcpy((char *)to + FIRST_WORD, (const char *)from + FIRST_WORD, WORDS);
}

static void add_all(vector_space *span, const uint32_t *bases, unsigned count) {
    for (unsigned i = 0; i < count; i++) space_add(span, bases[i], 0);
}

uint32_t tile_layout_redundant_threads(const tile_layout *layout) {
    vector_space image = {.count = 0};
    uint32_t mask = 0;
    add_all(&image, layout->reg, layout->reg_bits);
    for (unsigned i = 0; i < TILE_LANE_BITS + (unsigned)layout->warp_bits; i++) {
        unsigned before = image.count;
        space_add(&image, i < TILE_LANE_BITS ? layout->lane[i] : layout->warp[i - TILE_LANE_BITS],
                  0);
        if (image.count == before) mask |= UINT32_C(1) << i;
    }
    return mask;
}

bool tile_layout_is_surjective(const tile_layout *layout) {
    vector_space image = {.count = 0};
    add_all(&image, layout->reg, layout->reg_bits);
    add_all(&image, layout->lane, TILE_LANE_BITS);
    add_all(&image, layout->warp, layout->warp_bits);
    add_all(&image, layout->block, layout->block_bits);
    return image.count == tile_layout_part_bits(layout);
}

static bool counts_are_odd(const tile_layout *layout) {
    bool odd = true;
    for (unsigned d = 0; d < layout->rank; d++)
        odd &= layout->count[d] % 2 == 1 && layout->count[d] <= TILE_LAYOUT_MAX_COUNT;
    return odd;
}

static uint32_t union_of(const uint32_t *bases, unsigned count) {
    uint32_t all = 0;
    for (unsigned i = 0; i < count; i++) all |= bases[i];
    return all;
}

static bool bits_fit(const tile_layout *layout) {
    return layout->rank <= TILE_MAX_RANK && layout->reg_bits <= TILE_LAYOUT_MAX_BITS &&
           layout->warp_bits <= TILE_LAYOUT_MAX_WARP_BITS &&
           layout->block_bits <= TILE_LAYOUT_MAX_BLOCK_BITS &&
           tile_layout_part_bits(layout) <= TILE_LAYOUT_MAX_BITS;
}

bool tile_layout_fits_limits(const tile_layout *layout) {
    uint32_t most = UINT32_C(1) << TILE_LAYOUT_MAX_BITS;
    return bits_fit(layout) && counts_are_odd(layout) &&
           tile_layout_parts(layout) <= most >> tile_layout_part_bits(layout);
}

/* Returns whether every basis is an index in a part. */
static bool is_in_range(const tile_layout *layout) {
    uint32_t all =
        union_of(layout->reg, layout->reg_bits) | union_of(layout->lane, TILE_LANE_BITS) |
        union_of(layout->warp, layout->warp_bits) | union_of(layout->block, layout->block_bits);
    return all >> tile_layout_part_bits(layout) == 0;
}

const char *tile_layout_find_fault(const tile_layout *layout) {
    bool shared = layout->kind == TILE_LAYOUT_SHARED;
    vector_space image = {.count = 0};
    if (!bits_fit(layout)) return "it has coordinates outside the tile";
    if (!counts_are_odd(layout)) return "its counts must be odd, from 1 to 31";
    if (!tile_layout_fits_limits(layout)) return "it has more than 2^20 elements";
    if (!is_in_range(layout)) return "it has coordinates outside the tile";
    if (union_of(layout->block, layout->block_bits))
        return "the blocks of a cluster hold different elements, which no operation can use yet";
    add_all(&image, layout->reg, layout->reg_bits);
    if (image.count < layout->reg_bits)
        return shared ? "two offsets hold the same element" : "a thread holds an element twice";
    if (shared)
        return image.count == tile_layout_part_bits(layout) ? NULL : "some elements have no offset";
    return tile_layout_is_surjective(layout) ? NULL : "some elements are held by no thread";
}

/* Construction --------------------------------------------------------------------------------- */

uint32_t tile_layout_part_extent(uint32_t extent) {
    return extent & (~extent + 1);
}

tile_layout tile_layout_blank(tile_layout_kind kind, const uint32_t *dims, unsigned rank) {
    tile_layout layout;
    memset(&layout, 0, sizeof layout);
    layout.kind = (uint8_t)kind;
    layout.rank = (uint8_t)rank;
    for (unsigned d = 0; d < rank; d++) {
        uint32_t part = tile_layout_part_extent(dims[d]);
        layout.dim_bits[d] = (uint8_t)tile_log2(part);
        layout.count[d] = (uint8_t)(dims[d] / part);
    }
    return layout;
}

/* Lists a part's coordinate bits: dim `fastest` first, then from the last dim to the first. */
static unsigned bits_in_order(const tile_layout *layout, unsigned fastest, uint32_t *bits) {
    unsigned count = 0;
    for (unsigned i = 0; i < layout->dim_bits[fastest]; i++)
        bits[count++] = UINT32_C(1) << (tile_layout_dim_shift(layout, fastest) + i);
    for (unsigned d = layout->rank; d-- > 0;)
        for (unsigned i = 0; d != fastest && i < layout->dim_bits[d]; i++)
            bits[count++] = UINT32_C(1) << (tile_layout_dim_shift(layout, d) + i);
    return count;
}

/* Assigns the first vec_bits of the coordinate bits to registers, then lanes and warps, and the
 * rest to registers. */
static void distribute_bits(tile_layout *layout, const uint32_t *bits, unsigned count,
                            unsigned vec_bits, unsigned num_warps, bool shrinks) {
    unsigned at = 0;
    layout->warp_bits = (uint8_t)tile_log2(num_warps);
    unsigned thread_bits = TILE_LANE_BITS + layout->warp_bits;
    if (vec_bits > count) vec_bits = count;
    if (shrinks && count < thread_bits + vec_bits)
        vec_bits = count > thread_bits ? count - thread_bits : 0;
    for (; at < vec_bits; at++) layout->reg[layout->reg_bits++] = bits[at];
    for (unsigned i = 0; i < TILE_LANE_BITS && at < count; i++) layout->lane[i] = bits[at++];
    for (unsigned i = 0; i < layout->warp_bits && at < count; i++) layout->warp[i] = bits[at++];
    while (at < count) layout->reg[layout->reg_bits++] = bits[at++];
}

static tile_layout spread(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                          unsigned num_warps, bool shrinks) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, rank);
    uint32_t bits[TILE_LAYOUT_MAX_BITS + 12];
    unsigned count = bits_in_order(&layout, fastest, bits), vec_bits = tile_log2(vec);
    if (vec_bits > layout.dim_bits[fastest]) vec_bits = layout.dim_bits[fastest];
    distribute_bits(&layout, bits, count, vec_bits, num_warps, shrinks);
    return layout;
}

/* One narrower access by every thread is better than a wide one by a few threads. */
tile_layout tile_layout_blocked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps) {
    return spread(dims, rank, vec, fastest, num_warps, true);
}

tile_layout tile_layout_chunked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps) {
    return spread(dims, rank, vec, fastest, num_warps, false);
}

tile_layout tile_layout_shared_swizzled(const uint32_t *dims, unsigned rank, unsigned fastest,
                                        unsigned element_bytes) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_SHARED, dims, rank);
    uint32_t bits[TILE_LAYOUT_MAX_BITS + 12];
    unsigned count = bits_in_order(&layout, fastest, bits);
    unsigned row_bits = layout.dim_bits[fastest], chunk = tile_log2(16 / element_bytes);
    memcpy(layout.reg, bits, sizeof *bits * count);
    layout.reg_bits = (uint8_t)count;
    if (row_bits <= chunk) return layout;
    /* The banks hold 128 bytes, 8 chunks: some of the three chunk bits are in one row, the others
     * are row bits. */
    unsigned crossed = row_bits - chunk < 3 ? row_bits - chunk : 3;
    unsigned first_row = row_bits + 3 - crossed, turn = element_bytes < 4 ? 0 : 1;
    for (unsigned i = 0; i < crossed && first_row + i < count; i++)
        layout.reg[first_row + i] ^= bits[chunk + (i + turn) % crossed];
    return layout;
}

/* Returns whether a coordinate bit of the layout is also one of a tile of these extents. */
static bool is_inside(const tile_layout *layout, uint32_t bit, const uint32_t *dims) {
    for (unsigned d = 0; d < layout->rank; d++) {
        uint32_t along = tile_layout_coordinate(layout, bit, d);
        if (along) return along < tile_layout_part_extent(dims[d]);
    }
    return false;
}

/* Appends the bits of a list that are inside the piece, or outside of it, to the order. Fails if
 * one of them combines several coordinate bits. */
static bool append(const tile_layout *held, const uint32_t *list, unsigned count,
                   const uint32_t *piece, bool inside, unsigned most, tile_layout *order) {
    for (unsigned i = 0; i < count; i++) {
        if (list[i] & (list[i] - 1)) return false;
        bool taken = !list[i] || is_inside(held, list[i], piece) != inside;
        for (unsigned bit = 0; bit < order->reg_bits; bit++) taken |= order->reg[bit] == list[i];
        if (!taken && order->reg_bits < most) order->reg[order->reg_bits++] = list[i];
    }
    return true;
}

bool tile_layout_order(const tile_layout *held, const uint32_t *piece, unsigned vec,
                       tile_layout *order) {
    uint32_t dims[TILE_MAX_RANK];
    unsigned all = tile_layout_part_bits(held);
    for (unsigned d = 0; d < held->rank; d++) {
        dims[d] = tile_layout_extent(held, d);
        if (piece[d] != dims[d] && (held->count[d] > 1 || (piece[d] & (piece[d] - 1))))
            return false;
    }
    *order = tile_layout_blank(TILE_LAYOUT_SHARED, dims, held->rank);
    return append(held, held->reg, held->reg_bits, piece, true, tile_log2(vec), order) &&
           append(held, held->lane, TILE_LANE_BITS, piece, true, all, order) &&
           append(held, held->reg, held->reg_bits, piece, true, all, order) &&
           append(held, held->warp, held->warp_bits, piece, true, all, order) &&
           append(held, held->lane, TILE_LANE_BITS, piece, false, all, order) &&
           append(held, held->reg, held->reg_bits, piece, false, all, order) &&
           append(held, held->warp, held->warp_bits, piece, false, all, order) &&
           order->reg_bits == all;
}

tile_layout tile_layout_ordered(const tile_layout *order, const uint32_t *dims, unsigned vec,
                                unsigned num_warps) {
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, order->rank);
    uint32_t bits[TILE_LAYOUT_MAX_BITS];
    unsigned count = 0, vec_bits = 0;
    for (unsigned i = 0; i < order->reg_bits; i++) {
        if (!is_inside(order, order->reg[i], dims)) continue;
        uint32_t coordinates[TILE_MAX_RANK];
        for (unsigned d = 0; d < order->rank; d++)
            coordinates[d] = tile_layout_coordinate(order, order->reg[i], d);
        if (i == vec_bits && 1u << i < vec) vec_bits++;
        bits[count++] = tile_layout_index(&layout, coordinates);
    }
    distribute_bits(&layout, bits, count, vec_bits, num_warps, true);
    return layout;
}

/* The narrow tile's element that is broadcast to this element of the wide tile. */
static uint32_t narrow_index(const tile_layout *wide, const tile_layout *narrow, uint32_t index) {
    uint32_t coordinates[TILE_MAX_RANK];
    for (unsigned d = 0; d < narrow->rank; d++) {
        unsigned from = wide->rank - narrow->rank + d;
        bool repeated = tile_layout_extent(narrow, d) == 1;
        coordinates[d] = repeated ? 0 : tile_layout_coordinate(wide, index, from);
    }
    return tile_layout_index(narrow, coordinates);
}

tile_layout tile_layout_narrow(const tile_layout *wide, const uint32_t *dims, unsigned rank) {
    tile_layout narrow = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, rank);
    vector_space image = {.count = 0};
    narrow.warp_bits = wide->warp_bits;
    narrow.block_bits = wide->block_bits;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        narrow.lane[i] = narrow_index(wide, &narrow, wide->lane[i]);
    for (unsigned i = 0; i < wide->warp_bits; i++)
        narrow.warp[i] = narrow_index(wide, &narrow, wide->warp[i]);
    for (unsigned i = 0; i < wide->block_bits; i++)
        narrow.block[i] = narrow_index(wide, &narrow, wide->block[i]);
    for (unsigned i = 0; i < wide->reg_bits; i++) {
        uint32_t index = narrow_index(wide, &narrow, wide->reg[i]);
        unsigned before = image.count;
        space_add(&image, index, 0);
        if (image.count > before) narrow.reg[narrow.reg_bits++] = index;
    }
    return narrow;
}

uint32_t tile_layout_narrow_register(const tile_layout *wide, const tile_layout *narrow,
                                     uint32_t register_) {
    uint32_t index = tile_layout_apply(wide, register_, 0, 0);
    return tile_layout_offset_of(narrow, narrow_index(wide, narrow, index));
}

/* Bank conflicts ------------------------------------------------------------------------------- */

/* Wavefronts of a group of lanes that one request serves: the largest number of different words in
 * one bank. */
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
