/* Rearranged layouts: see the header. */
#include "lib/layout/rearrange.h"

#include <string.h>

#include "lib/support/integer.h"

/* Dims ---------------------------------------------------------------------------------------- */

bool tile_layout_is_part(uint32_t part, uint32_t whole) {
    uint32_t own = tile_layout_part_extent(part), all = tile_layout_part_extent(whole);
    return part == whole || (part < whole && (own == all || (own == part && own < all)));
}

typedef struct rearrangement {
    const tile_layout *from;
    tile_layout *to;
    const unsigned *source;
} rearrangement;

/* The number of bits that both tiles have along dim d of `to`. */
static unsigned common_bits(const rearrangement *r, unsigned d) {
    unsigned s = r->source[d];
    if (s == TILE_MAX_RANK) return 0;
    unsigned had = r->from->dim_bits[s], has = r->to->dim_bits[d];
    return had < has ? had : has;
}

/* The index of an element in `to`; *rest: the bits of its index in `from` that `to` lacks. */
static uint32_t project(const rearrangement *r, uint32_t index, uint32_t *rest) {
    uint32_t to = 0;
    *rest = index;
    for (unsigned d = 0; d < r->to->rank; d++) {
        if (r->source[d] == TILE_MAX_RANK) continue;
        uint32_t mask = (UINT32_C(1) << common_bits(r, d)) - 1;
        unsigned shift = tile_layout_dim_shift(r->from, r->source[d]);
        to |= (index >> shift & mask) << tile_layout_dim_shift(r->to, d);
        *rest &= ~(mask << shift);
    }
    return to;
}

static bool project_all(const rearrangement *r, const uint32_t *from, unsigned count,
                        uint32_t *to) {
    uint32_t rest, left = 0;
    for (unsigned i = 0; i < count; i++) {
        to[i] = project(r, from[i], &rest);
        left |= rest;
    }
    return !left;
}

/* Drops registers along dims that `to` lacks. */
static bool project_registers(const rearrangement *r) {
    bool alone = true;
    for (unsigned i = 0; i < r->from->reg_bits; i++) {
        uint32_t rest, index = project(r, r->from->reg[i], &rest);
        alone &= !rest || (!index && !(rest & (rest - 1)));
        if (!rest) r->to->reg[r->to->reg_bits++] = index;
    }
    return alone;
}

static void add_registers(const rearrangement *r) {
    for (unsigned d = r->to->rank; d-- > 0;)
        for (unsigned bit = common_bits(r, d); bit < r->to->dim_bits[d]; bit++)
            r->to->reg[r->to->reg_bits++] = UINT32_C(1) << (tile_layout_dim_shift(r->to, d) + bit);
}

static bool dims_fit(const rearrangement *r) {
    bool fit = true;
    for (unsigned d = 0; d < r->to->rank; d++) {
        unsigned s = r->source[d];
        uint32_t has = tile_layout_extent(r->to, d);
        uint32_t had = s == TILE_MAX_RANK ? 1 : tile_layout_extent(r->from, s);
        fit &= tile_layout_is_part(has, had) || tile_layout_is_part(had, has);
    }
    return fit;
}

bool tile_layout_rearrange(const tile_layout *from, const uint32_t *dims, unsigned rank,
                           const unsigned *source, tile_layout *to) {
    *to = tile_layout_blank((tile_layout_kind)from->kind, dims, rank);
    rearrangement r = {from, to, source};
    if (!dims_fit(&r)) return false;
    to->warp_bits = from->warp_bits;
    to->block_bits = from->block_bits;
    if (!project_registers(&r) || !project_all(&r, from->lane, TILE_LANE_BITS, to->lane) ||
        !project_all(&r, from->warp, from->warp_bits, to->warp) ||
        !project_all(&r, from->block, from->block_bits, to->block))
        return false;
    add_registers(&r);
    return true;
}

/* Shapes -------------------------------------------------------------------------------------- */

/* Returns whether the parts of a tile with these extents follow each other in row-major order: all
 * extents before the last one that is no power of two are odd. */
static bool parts_follow(const uint32_t *dims, unsigned count) {
    bool odd = true, follow = true;
    for (unsigned d = 0; d < count; d++) {
        uint32_t part = tile_layout_part_extent(dims[d]);
        if (part != dims[d]) follow &= odd;
        odd &= part == 1;
    }
    return follow;
}

/* Takes the shortest group of leading dims of both shapes with equal products; all remaining dims
 * if there is none. */
static void take_dim_group(const uint32_t *a, unsigned a_count, const uint32_t *b, unsigned b_count,
                           unsigned *a_taken, unsigned *b_taken) {
    uint64_t of_a = 1, of_b = 1;
    *a_taken = *b_taken = 0;
    do {
        if (*a_taken < a_count && (of_a <= of_b || *b_taken == b_count))
            of_a *= a[(*a_taken)++];
        else
            of_b *= b[(*b_taken)++];
    } while ((of_a != of_b || !*a_taken || !*b_taken) &&
             (*a_taken < a_count || *b_taken < b_count));
}

/* Elements keep their index if every group of matching extents is either identical or has parts
 * that follow each other in order. */
static bool keeps_parts(const uint32_t *a, unsigned a_count, const uint32_t *b, unsigned b_count) {
    bool keeps = true;
    while (a_count || b_count) {
        unsigned a_taken, b_taken;
        take_dim_group(a, a_count, b, b_count, &a_taken, &b_taken);
        bool same = a_taken == b_taken && memcmp(a, b, sizeof *a * a_taken) == 0;
        keeps &= same || (parts_follow(a, a_taken) && parts_follow(b, b_taken));
        a += a_taken, a_count -= a_taken;
        b += b_taken, b_count -= b_taken;
    }
    return keeps;
}

bool tile_layout_reshape(const tile_layout *from, const uint32_t *dims, unsigned rank,
                         tile_layout *to) {
    uint32_t had[TILE_MAX_RANK];
    for (unsigned d = 0; d < from->rank; d++) had[d] = tile_layout_extent(from, d);
    tile_layout_copy(to, from);
    tile_layout shape = tile_layout_blank((tile_layout_kind)from->kind, dims, rank);
    to->rank = shape.rank;
    memcpy(to->dim_bits, shape.dim_bits, sizeof shape.dim_bits);
    memcpy(to->count, shape.count, sizeof shape.count);
    return keeps_parts(had, from->rank, dims, rank);
}

/* Threads ------------------------------------------------------------------------------------- */

static bool has_basis(const tile_layout *layout, uint32_t basis) {
    bool has = false;
    for (unsigned i = 0; i < layout->reg_bits; i++) has |= layout->reg[i] == basis;
    return has;
}

bool tile_layout_same_threads(const tile_layout *a, const tile_layout *b) {
    tile_layout ordered;
    bool same = a->reg_bits == b->reg_bits;
    for (unsigned i = 0; i < a->reg_bits && same; i++) same = has_basis(b, a->reg[i]);
    tile_layout_copy(&ordered, a);
    memcpy(ordered.reg, b->reg, sizeof b->reg);
    return same && tile_layout_equal(&ordered, b);
}

/* Bits [from, to) of a dim become the next ones in order. */
static void take_bits(const tile_layout *layout, unsigned d, unsigned from, unsigned to,
                      uint32_t *bits, unsigned *count) {
    for (unsigned i = from; i < to && i < layout->dim_bits[d]; i++)
        bits[(*count)++] = UINT32_C(1) << (tile_layout_dim_shift(layout, d) + i);
}

tile_layout tile_layout_blocked_two_dims(const uint32_t *dims, unsigned rank, unsigned d1,
                                         unsigned w1, unsigned d2, unsigned w2,
                                         unsigned num_warps) {
    enum { FIRST_LANES = 2, SECOND_LANES = 3 };
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, rank);
    uint32_t bits[TILE_LAYOUT_MAX_BITS];
    unsigned count = 0, at = 0, b1 = tile_log2(w1), b2 = tile_log2(w2);
    take_bits(&layout, d1, 0, b1, bits, &count);
    take_bits(&layout, d2, 0, b2, bits, &count);
    unsigned vec_bits = count;
    take_bits(&layout, d1, b1, b1 + FIRST_LANES, bits, &count);
    take_bits(&layout, d2, b2, b2 + SECOND_LANES, bits, &count);
    take_bits(&layout, d2, b2 + SECOND_LANES, TILE_LAYOUT_MAX_BITS, bits, &count);
    take_bits(&layout, d1, b1 + FIRST_LANES, TILE_LAYOUT_MAX_BITS, bits, &count);
    for (unsigned d = rank; d-- > 0;)
        if (d != d1 && d != d2) take_bits(&layout, d, 0, TILE_LAYOUT_MAX_BITS, bits, &count);
    layout.warp_bits = (uint8_t)tile_log2(num_warps);
    for (; at < vec_bits; at++) layout.reg[layout.reg_bits++] = bits[at];
    for (unsigned i = 0; i < TILE_LANE_BITS && at < count; i++) layout.lane[i] = bits[at++];
    for (unsigned i = 0; i < layout.warp_bits && at < count; i++) layout.warp[i] = bits[at++];
    while (at < count) layout.reg[layout.reg_bits++] = bits[at++];
    return layout;
}

/* Memory between layouts ------------------------------------------------------------------------
 *
 * Threads store a tile in one layout and load it in another. Both use accesses of elements that are
 * adjacent registers in both layouts, V. An access is fast if the lanes that are served together, A
 * of the stores and B of the loads, are in different banks: if no difference of two of them is a
 * multiple of the banks' 128 bytes. So the upper bits of the offset, S, above the banks' bits, must
 * span a space that is disjoint from V + A and from V + B:
 *
 *     A = {a1, a2, c}   B = {b1, b2, c}   offset bits   V | c a1 a2 | a1^b1 a2^b2 all others
 *
 * Then the offset of b1 is the sum of those of a1 and a1^b1: the bank of a1, some bank rows
 * further. */

typedef struct bit_set {
    uint32_t bits;
    bool single; /* contains only bits that are single coordinate bits in both layouts */
} bit_set;

static void collect_bits(bit_set *all, const uint32_t *bases, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        all->single &= !(bases[i] & (bases[i] - 1)) && !(all->bits & bases[i]);
        all->bits |= bases[i];
    }
}

static bool is_of_single_bits(const tile_layout *layout) {
    bit_set all = {0, true};
    collect_bits(&all, layout->reg, layout->reg_bits);
    collect_bits(&all, layout->lane, TILE_LANE_BITS);
    collect_bits(&all, layout->warp, layout->warp_bits);
    return all.single;
}

/* Registers that both layouts have, 16 bytes of them at most. */
static uint32_t common_registers(const tile_layout *from, const tile_layout *to,
                                 unsigned element_bytes, unsigned *count) {
    uint32_t common = 0;
    *count = 0;
    for (unsigned i = 0; i < from->reg_bits && element_bytes << *count < 16; i++) {
        if (!has_basis(to, from->reg[i])) continue;
        common |= from->reg[i];
        ++*count;
    }
    return common;
}

/* The lane bits that are served together in accesses of this many bytes. */
static uint32_t lanes_together(const tile_layout *layout, unsigned bytes) {
    unsigned count = bytes >= 16 ? 3 : bytes == 8 ? 4 : TILE_LANE_BITS;
    uint32_t lanes = 0;
    for (unsigned i = 0; i < count; i++) lanes |= layout->lane[i];
    return lanes;
}

static void append_bits(tile_layout *layout, uint32_t bits) {
    for (; bits; bits &= bits - 1) layout->reg[layout->reg_bits++] = bits & (~bits + 1);
}

static tile_layout spread_lanes(const tile_layout *from, const tile_layout *to,
                                unsigned element_bytes, const uint32_t *dims) {
    unsigned count;
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_SHARED, dims, from->rank);
    uint32_t all = (UINT32_C(1) << tile_layout_part_bits(from)) - 1;
    uint32_t vec = common_registers(from, to, element_bytes, &count);
    uint32_t a = lanes_together(from, element_bytes << count),
             b = lanes_together(to, element_bytes << count);
    uint32_t both = a & b, own_a = a & ~both, own_b = b & ~both;
    append_bits(&layout, vec);
    append_bits(&layout, both);
    append_bits(&layout, own_a);
    all &= ~(vec | a | b);
    for (; own_b && own_a; own_a &= own_a - 1, own_b &= own_b - 1)
        layout.reg[layout.reg_bits++] = (own_a & (~own_a + 1)) | (own_b & (~own_b + 1));
    append_bits(&layout, own_b);
    append_bits(&layout, all);
    return layout;
}

/* The cost of storing or loading the tile once, for a warp: wavefronts, then the number of
 * accesses. */
static uint64_t cost_of(const tile_layout *tile, const tile_layout *memory,
                        unsigned element_bytes) {
    uint32_t reg[TILE_LAYOUT_MAX_BITS], lane[TILE_LANE_BITS], warp[TILE_LAYOUT_MAX_WARP_BITS];
    uint32_t addresses[32];
    unsigned bits = 0, used = 0;
    tile_layout_to_offsets(tile, memory, reg, lane, warp);
    for (unsigned i = 0; i < tile->reg_bits; i++) /* in any order */
        for (unsigned k = 0; k < tile->reg_bits; k++)
            if (element_bytes << bits < 16 && reg[k] == UINT32_C(1) << bits) bits++;
    unsigned bytes = element_bytes << bits;
    for (unsigned l = 0; l < 32; l++) {
        uint32_t offset = 0;
        bool first = true;
        for (unsigned i = 0; i < TILE_LANE_BITS; i++) {
            if (l >> i & 1) offset ^= lane[i];
            first &= !(l >> i & 1) || lane[i];
        }
        if (first) addresses[used++] = offset * element_bytes;
    }
    unsigned least = bytes >= 16 ? 4 : bytes == 8 ? 2 : 1;
    uint64_t accesses = tile_layout_registers(tile) >> bits;
    return accesses * (1000u * (least + tile_bank_conflicts(addresses, used, bytes)) + 1);
}

tile_layout tile_layout_exchange(const tile_layout *from, const tile_layout *to,
                                 unsigned element_bytes) {
    uint32_t dims[TILE_MAX_RANK];
    for (unsigned d = 0; d < from->rank; d++) dims[d] = tile_layout_extent(from, d);
    tile_layout swizzled =
        tile_layout_shared_swizzled(dims, from->rank, from->rank - 1, element_bytes);
    if (!is_of_single_bits(from) || !is_of_single_bits(to)) return swizzled;
    tile_layout spread = spread_lanes(from, to, element_bytes, dims);
    uint64_t cost = cost_of(from, &spread, element_bytes) + cost_of(to, &spread, element_bytes);
    uint64_t known =
        cost_of(from, &swizzled, element_bytes) + cost_of(to, &swizzled, element_bytes);
    return cost < known ? spread : swizzled;
}
