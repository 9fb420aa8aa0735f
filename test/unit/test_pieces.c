/* Tiles in pieces, and the ring buffers through which they are stored. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/analysis/store_ring.h"
#include "lib/layout/pieces.h"
#include "lib/layout/wgmma.h"

/* Each element of the tile must be in the piece that the cut says, held by the same thread. */
static void check_cut(const tile_layout *tile, const uint32_t *extents) {
    tile_pieces p;
    cr_assert(tile_pieces_cut(tile, extents, &p));
    uint32_t group_warps = UINT32_C(1) << p.group_bits, registers = 0;
    for (uint32_t piece = 0; piece < p.count; piece++) {
        uint32_t first = tile_pieces_register(&p, tile, piece, 0);
        for (uint32_t r = 0; r < tile_layout_registers(&p.piece); r++, registers++)
            for (uint32_t warp = 0; warp < UINT32_C(1) << tile->warp_bits; warp++)
                for (uint32_t lane = 0; lane < 32; lane++) {
                    uint32_t whole = tile_layout_apply(
                        tile, tile_pieces_register(&p, tile, piece, r), lane, warp);
                    uint32_t group = warp / group_warps * group_warps;
                    uint32_t begin = tile_layout_apply(tile, 0, 0, group);
                    uint32_t steps = tile_layout_apply(tile, first, 0, 0);
                    uint32_t own = tile_layout_apply(&p.piece, r, lane, warp % group_warps);
                    for (unsigned d = 0; d < tile->rank; d++)
                        cr_assert_eq(tile_layout_coordinate(tile, whole, d),
                                     tile_layout_coordinate(tile, begin, d) +
                                         tile_layout_coordinate(tile, steps, d) +
                                         tile_layout_coordinate(&p.piece, own, d));
                }
    }
    cr_assert_eq(registers, tile_layout_registers(tile));
}

Test(pieces, of_accumulators) {
    static const uint32_t dims[][2] = {{64, 64},   {128, 256}, {128, 192}, {256, 128},
                                       {128, 128}, {64, 256},  {192, 128}, {64, 24}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (unsigned warps = 4; warps <= 8; warps *= 2)
            for (unsigned row_dim = 0; row_dim < 2; row_dim++)
                for (uint32_t across = 8; across <= 64; across *= 2) {
                    uint32_t extents[2];
                    tile_pieces p;
                    if (!tile_wgmma_admits(dims[i], row_dim, warps)) continue;
                    tile_layout acc = tile_wgmma_accumulator(dims[i], row_dim, warps);
                    extents[row_dim] = 64;
                    extents[1 - row_dim] = across;
                    if (tile_pieces_cut(&acc, extents, &p)) check_cut(&acc, extents);
                }
    const uint32_t usual[2] = {64, 64};
    tile_layout acc = tile_wgmma_accumulator(dims[1], TILE_WGMMA_PLAIN, 8);
    check_cut(&acc, usual);
    acc = tile_wgmma_accumulator(dims[2], TILE_WGMMA_PLAIN, 4);
    check_cut(&acc, usual);
}

Test(pieces, layouts_that_can_be_cut) {
    static const uint32_t dims[][2] = {{64, 64}, {96, 128}, {64, 192}, {16, 1024}};
    static const uint32_t extents[][2] = {{16, 32}, {32, 64}, {8, 64}, {16, 128}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (unsigned warps = 1; warps <= 16; warps *= 2) {
            tile_pieces p;
            tile_layout layout = tile_pieces_layout(dims[i], extents[i], 2, warps);
            uint32_t groups = warps > 4 ? warps / 4 : 1, part = tile_layout_parts(&layout);
            bool enough = dims[i][0] * dims[i][1] / part >= groups * extents[i][0] * extents[i][1];
            cr_expect_eq(tile_pieces_cut(&layout, extents[i], &p), enough, "%zu, %u warps", i,
                         warps);
            if (enough) check_cut(&layout, extents[i]);
        }
}

Test(pieces, refused) {
    const uint32_t dims[2] = {128, 128}, rows[2] = {32, 64}, odd[2] = {64, 48},
                   large[2] = {256, 64};
    tile_pieces p;
    tile_layout acc = tile_wgmma_accumulator(dims, TILE_WGMMA_PLAIN, 8);
    cr_expect_not(tile_pieces_cut(&acc, rows, &p));
    cr_expect_not(tile_pieces_cut(&acc, odd, &p));
    cr_expect_not(tile_pieces_cut(&acc, large, &p));
    const uint32_t small[2] = {8, 8}, usual[2] = {64, 64};
    tile_layout repeated = tile_layout_blocked(small, 2, 1, 1, 4);
    cr_expect_not(tile_pieces_cut(&repeated, small, &p));
    tile_layout shared = tile_wgmma_shared(dims, 1, 2);
    cr_expect_not(tile_pieces_cut(&shared, usual, &p));
}

/* others: bytes of the loop's stages. */
static const char *choose(uint32_t m, uint32_t n, unsigned bytes, unsigned sets, int64_t others,
                          int64_t released) {
    static char text[64];
    tile_store_ring ring;
    tile_store_query q = {.dims = {m, n},
                          .element_bytes = bytes,
                          .warps = 8 / sets,
                          .sets = sets,
                          .block_warps = 12,
                          .registers = 168,
                          .others = others,
                          .released = released,
                          .alone = true};
    text[0] = '\0';
    if (tile_choose_store_ring(tile_target_find("sm_90a"), &q, &ring))
        snprintf(text, sizeof text, "%u x %u, %u, %lld", ring.extents[0], ring.extents[1],
                 ring.stages, (long long)ring.bytes);
    return text;
}

Test(store_ring, takes_what_is_left) {
    enum { BARRIERS = 256, K64 = 128 /* bytes of f16 along k */ };
    const int64_t wide = 384 * K64, square = 256 * K64;
    cr_expect_str_eq(choose(128, 256, 2, 1, 3 * wide + BARRIERS, 0), "64 x 64, 8, 65536");
    cr_expect_str_eq(choose(128, 256, 2, 1, 4 * wide + BARRIERS, 0), "64 x 64, 4, 32768");
    cr_expect_str_eq(choose(128, 128, 2, 2, 5 * square + BARRIERS, 0), "64 x 64, 4, 65536");
    cr_expect_str_eq(choose(128, 128, 2, 2, 6 * square + BARRIERS, 0), "64 x 64, 2, 32768");
    cr_expect_str_eq(choose(128, 192, 2, 2, 4 * 320 * K64 + BARRIERS, 0), "64 x 64, 4, 65536");
    cr_expect_str_eq(choose(128, 256, 4, 1, 4 * wide + BARRIERS, 0), "64 x 32, 4, 32768");
    cr_expect_str_eq(choose(128, 128, 2, 1, 220000, 0), "64 x 16, 6, 12288");
    cr_expect_str_eq(choose(128, 128, 2, 1, 228000, 0), "64 x 16, 2, 4096");
    cr_expect_str_eq(choose(128, 128, 2, 1, 230000, 0), "");
    cr_expect_str_eq(choose(128, 256, 2, 1, BARRIERS, 4 * wide), "64 x 64, 8, 65536");
    cr_expect_str_eq(choose(48, 48, 2, 1, 0, 0), "");
}
