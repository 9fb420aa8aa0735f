#include "lib/layout/pieces.h"

#include <string.h>

#include "lib/support/integer.h"

static bool is_power_of_two(uint32_t n) {
    return n && (n & (n - 1)) == 0;
}

/* Returns whether an index is in the first piece. */
static bool is_inside(const tile_layout *tile, const uint32_t *extents, uint32_t index) {
    bool inside = true;
    for (unsigned d = 0; d < tile->rank; d++)
        inside &= tile_layout_coordinate(tile, index, d) < extents[d];
    return inside;
}

/* Returns whether a basis steps from one piece to another. */
static bool is_step(const tile_layout *tile, const uint32_t *extents, uint32_t index) {
    bool step = index != 0;
    for (unsigned d = 0; d < tile->rank; d++)
        step &= tile_layout_coordinate(tile, index, d) % extents[d] == 0;
    return step;
}

static uint32_t index_in(const tile_layout *piece, const tile_layout *tile, uint32_t index) {
    uint32_t at[TILE_MAX_RANK];
    for (unsigned d = 0; d < tile->rank; d++) at[d] = tile_layout_coordinate(tile, index, d);
    return tile_layout_index(piece, at);
}

static bool fits(const tile_layout *tile, const uint32_t *extents) {
    bool fit = tile->kind == TILE_LAYOUT_REGISTER && !tile->block_bits;
    for (unsigned d = 0; d < tile->rank; d++)
        fit &= is_power_of_two(extents[d]) && extents[d] <= UINT32_C(1) << tile->dim_bits[d];
    return fit;
}

/* Separates registers inside a piece from those that select a piece. Fails if one does both. */
static bool sort_registers(const tile_layout *tile, const uint32_t *extents, tile_pieces *p) {
    unsigned others = 0;
    uint8_t outside[TILE_LAYOUT_MAX_BITS];
    for (unsigned i = 0; i < tile->reg_bits; i++) {
        if (is_inside(tile, extents, tile->reg[i])) {
            p->piece.reg[p->piece.reg_bits++] = index_in(&p->piece, tile, tile->reg[i]);
            p->bits[p->inside++] = (uint8_t)i;
        } else if (is_step(tile, extents, tile->reg[i])) {
            outside[others++] = (uint8_t)i;
        } else {
            return false;
        }
    }
    memcpy(p->bits + p->inside, outside, others);
    p->count = tile_layout_parts(tile) << others;
    return true;
}

/* Checks that the threads of a group hold one piece and that groups hold different ones. Groups
 * have coordinate bits of their own, so that their contributions to coordinates are added. */
static bool sort_threads(const tile_layout *tile, const uint32_t *extents, tile_pieces *p) {
    uint32_t steps = 0;
    for (unsigned i = p->inside; i < tile->reg_bits; i++) steps |= tile->reg[p->bits[i]];
    bool sorted = true;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) {
        sorted &= is_inside(tile, extents, tile->lane[i]);
        p->piece.lane[i] = sorted ? index_in(&p->piece, tile, tile->lane[i]) : 0;
    }
    for (unsigned i = 0; i < tile->warp_bits && sorted; i++) {
        bool own = i < p->group_bits;
        sorted &= own ? is_inside(tile, extents, tile->warp[i])
                      : is_step(tile, extents, tile->warp[i]) && !(tile->warp[i] & steps);
        if (own && sorted) p->piece.warp[i] = index_in(&p->piece, tile, tile->warp[i]);
        if (!own) steps |= tile->warp[i];
    }
    return sorted;
}

bool tile_pieces_cut(const tile_layout *tile, const uint32_t *extents, tile_pieces *pieces) {
    tile_pieces *p = pieces;
    memset(p, 0, sizeof *p);
    if (!fits(tile, extents)) return false;
    p->piece = tile_layout_blank(TILE_LAYOUT_REGISTER, extents, tile->rank);
    unsigned most = tile_log2(TILE_PIECE_WARPS);
    p->group_bits = tile->warp_bits < most ? tile->warp_bits : most;
    p->groups = UINT32_C(1) << (tile->warp_bits - p->group_bits);
    p->piece.warp_bits = (uint8_t)p->group_bits;
    if (!sort_registers(tile, extents, p) || !sort_threads(tile, extents, p)) return false;
    unsigned held = p->inside + TILE_LANE_BITS + p->group_bits;
    return held == tile_layout_part_bits(&p->piece) && tile_layout_is_surjective(&p->piece) &&
           tile_layout_is_surjective(tile);
}

uint32_t tile_pieces_register(const tile_pieces *pieces, const tile_layout *tile, uint32_t piece,
                              uint32_t register_) {
    unsigned outside = tile->reg_bits - pieces->inside;
    uint32_t at = piece >> outside << tile->reg_bits;
    for (unsigned i = 0; i < pieces->inside; i++) at |= (register_ >> i & 1) << pieces->bits[i];
    for (unsigned i = 0; i < outside; i++)
        at |= (piece >> i & 1) << pieces->bits[pieces->inside + i];
    return at;
}

tile_layout tile_pieces_layout(const uint32_t *dims, const uint32_t *extents, unsigned rank,
                               unsigned num_warps) {
    enum { SIDE_BY_SIDE = 8 };
    unsigned group = num_warps < TILE_PIECE_WARPS ? num_warps : TILE_PIECE_WARPS;
    tile_layout tile = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, rank);
    tile_layout piece = tile_layout_blocked(extents, rank, SIDE_BY_SIDE, rank - 1, group);
    tile.warp_bits = (uint8_t)tile_log2(num_warps);
    tile.reg_bits = piece.reg_bits;
    for (unsigned i = 0; i < piece.reg_bits; i++)
        tile.reg[i] = index_in(&tile, &piece, piece.reg[i]);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        tile.lane[i] = index_in(&tile, &piece, piece.lane[i]);
    for (unsigned i = 0; i < piece.warp_bits; i++)
        tile.warp[i] = index_in(&tile, &piece, piece.warp[i]);
    unsigned warp = tile.warp_bits;
    for (unsigned d = 0; d < rank; d++) {
        unsigned shift = tile_layout_dim_shift(&tile, d);
        for (unsigned bit = tile.dim_bits[d]; bit-- > tile_log2(extents[d]);) {
            uint32_t index = UINT32_C(1) << (shift + bit);
            if (warp > piece.warp_bits)
                tile.warp[--warp] = index;
            else
                tile.reg[tile.reg_bits++] = index;
        }
    }
    return tile;
}
