/* Refused layouts, with injected faults; and the counts that the constructors promise, compared
 * with enumeration. */
#include "test/unit/layout_fixture.h"

#include <string.h>

/* 8 x 16 in one warp: each thread has 2 x 2 elements. */
static tile_layout small_tile(void) {
    return (tile_layout){.kind = TILE_LAYOUT_REGISTER,
                         .rank = 2,
                         .dim_bits = {3, 4},
                         .count = {1, 1},
                         .reg_bits = 2,
                         .reg = {1, 16},
                         .lane = {2, 4, 8, 32, 64}};
}

static tile_layout small_buffer(void) {
    return (tile_layout){.kind = TILE_LAYOUT_SHARED,
                         .rank = 1,
                         .dim_bits = {4},
                         .count = {1},
                         .reg_bits = 4,
                         .reg = {1, 2, 4, 8 | 2}};
}

static void expect_fault(const tile_layout *layout, const char *fault) {
    const char *found = tile_layout_find_fault(layout);
    cr_assert(found && !strcmp(found, fault), "expected '%s', got '%s'", fault, found ? found : "");
}

Test(layout_check, a_sound_layout_has_no_fault) {
    tile_layout tile = small_tile(), buffer = small_buffer();
    cr_assert_null(tile_layout_find_fault(&tile));
    cr_assert_null(tile_layout_find_fault(&buffer));
    tile.warp_bits = tile.block_bits = 2; /* replication is allowed */
    cr_assert_null(tile_layout_find_fault(&tile));
    tile.count[0] = 3;
    cr_assert_null(tile_layout_find_fault(&tile));
}

Test(layout_check, planted_faults_are_found) {
    tile_layout tile = small_tile();
    tile.lane[4] = 32;
    expect_fault(&tile, "some elements are held by no thread");
    tile = small_tile();
    tile.reg[1] = tile.reg[0];
    expect_fault(&tile, "a thread holds an element twice");
    tile = small_tile();
    tile.reg[tile.reg_bits++] = 1 | 16;
    expect_fault(&tile, "a thread holds an element twice");
    tile = small_tile();
    tile.lane[0] = 128;
    expect_fault(&tile, "it has coordinates outside the tile");
    tile = small_tile();
    tile.reg_bits = TILE_LAYOUT_MAX_BITS + 1;
    expect_fault(&tile, "it has coordinates outside the tile");
    tile = small_tile();
    tile.warp_bits = TILE_LAYOUT_MAX_WARP_BITS + 1;
    expect_fault(&tile, "it has coordinates outside the tile");
    tile = small_tile();
    tile.block_bits = TILE_LAYOUT_MAX_BLOCK_BITS + 1;
    expect_fault(&tile, "it has coordinates outside the tile");
    for (unsigned count = 0; count <= 33; count += count < 32 ? 2 : 1) {
        tile = small_tile();
        tile.count[1] = (uint8_t)count;
        expect_fault(&tile, "its counts must be odd, from 1 to 31");
    }
    tile = small_tile();
    tile.lane[4] = 32;
    tile.block[tile.block_bits++] = 64; /* all elements are held, but not in each block */
    expect_fault(&tile,
                 "the blocks of a cluster hold different elements, which no operation can use yet");
}

Test(layout_check, planted_faults_of_buffers_are_found) {
    tile_layout buffer = small_buffer();
    buffer.reg[3] = 2 | 4;
    expect_fault(&buffer, "two offsets hold the same element");
    buffer = small_buffer();
    buffer.reg[--buffer.reg_bits] = 0;
    expect_fault(&buffer, "some elements have no offset");
    buffer.lane[0] = 8; /* lanes of a buffer hold nothing */
    expect_fault(&buffer, "some elements have no offset");
}

Test(layout_check, only_sums_of_mma_are_accumulators) {
    for (uint32_t m = 16; m <= 128; m *= 2)
        for (uint32_t n = 8; n <= 128; n *= 2)
            for (uint32_t warps_m = 1; warps_m <= 4; warps_m *= 2)
                for (uint32_t warps_n = 1; warps_n <= 4; warps_n *= 2) {
                    tile_layout sum =
                        tile_mma_accumulator(layout_half_row(), m, n, warps_m, warps_n);
                    cr_assert(tile_mma_holds(layout_half_row(), &sum));
                    cr_assert_null(tile_layout_find_fault(&sum));
                    uint32_t lane = sum.lane[0];
                    sum.lane[0] = sum.lane[1];
                    sum.lane[1] = lane;
                    cr_assert(!tile_mma_holds(layout_half_row(), &sum));
                }
    const uint32_t dims[2] = {16, 8}, one[1] = {128};
    tile_layout blocked = tile_layout_blocked(dims, 2, 4, 1, 1);
    tile_layout flat = tile_layout_blocked(one, 1, 4, 0, 1);
    cr_assert(!tile_mma_holds(layout_half_row(), &blocked));
    cr_assert(!tile_mma_holds(layout_half_row(), &flat));
}

/* The grid of warps is optimal: no other one causes less redundant work, or reads fewer operand
 * rows and columns with the same work. */
Test(layout_check, the_grid_of_warps_is_the_best_one) {
    for (uint32_t m = 16; m <= 1024; m *= 2)
        for (uint32_t n = 8; n <= 1024; n *= 2)
            for (unsigned warps = 1; warps <= 32; warps *= 2) {
                uint32_t warps_m, warps_n;
                tile_mma_choose_warps(layout_half_row(), m, n, warps, &warps_m, &warps_n);
                uint32_t rows = m / warps_m < 16 ? 16 : m / warps_m;
                uint32_t columns = n / warps_n < 8 ? 8 : n / warps_n;
                for (unsigned other = 1; other <= warps; other *= 2) {
                    uint32_t r = m / other < 16 ? 16 : m / other;
                    uint32_t c = n / (warps / other) < 8 ? 8 : n / (warps / other);
                    cr_assert(rows * columns < r * c ||
                                  (rows * columns == r * c && rows + columns <= r + c),
                              "%u x %u, %u warps: %u x %u", m, n, warps, warps_m, warps_n);
                }
            }
}

/* Collects the rows of operand 0 (columns of operand 1) that a warp holds. Extents are powers of
 * two, so an index is a row-major position. */
static void collect(const tile_layout *layout, uint32_t warp, unsigned dim, bool *held) {
    uint32_t columns = 1u << layout->dim_bits[1];
    for (uint32_t reg = 0; reg < 1u << layout->reg_bits; reg++)
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t flat = tile_layout_apply(layout, reg, lane, warp);
            held[dim == 0 ? flat / columns : flat % columns] = true;
        }
}

Test(layout_check, each_warp_has_just_the_operands_of_its_part) {
    for (uint32_t m = 16; m <= 64; m *= 2)
        for (uint32_t n = 8; n <= 64; n *= 2)
            for (uint32_t warps_m = 1; warps_m <= 8; warps_m *= 2)
                for (uint32_t warps_n = 1; warps_n * warps_m <= 8; warps_n *= 2) {
                    tile_layout sum =
                        tile_mma_accumulator(layout_half_row(), m, n, warps_m, warps_n);
                    tile_layout operands[2] = {tile_mma_operand(layout_half_row(), &sum, 0, m, 32),
                                               tile_mma_operand(layout_half_row(), &sum, 1, 32, n)};
                    for (uint32_t warp = 0; warp < warps_m * warps_n; warp++)
                        for (unsigned o = 0; o < 2; o++) {
                            bool wanted[64] = {false}, held[64] = {false};
                            collect(&sum, warp, o, wanted);
                            collect(&operands[o], warp, o, held);
                            cr_assert_arr_eq(wanted, held, sizeof held);
                        }
                }
}

/* Counts by the definition: for each group of lanes, the bank with the most different words. */
static unsigned count_by_definition(const uint32_t *addresses, unsigned bytes) {
    unsigned group = bytes == 16 ? 8 : bytes == 8 ? 16 : 32, extra = 0;
    for (unsigned first = 0; first < 32; first += group) {
        unsigned most = 0;
        for (unsigned bank = 0; bank < 32; bank++) {
            unsigned words = 0;
            for (uint32_t word = bank; word < 1024; word += 32) {
                bool wanted = false;
                for (unsigned i = first; i < first + group; i++)
                    wanted =
                        wanted || (word >= addresses[i] / 4 && word < (addresses[i] + bytes) / 4);
                words += wanted;
            }
            most = words > most ? words : most;
        }
        extra += most - 1;
    }
    return extra;
}

Test(layout_check, conflicts_are_those_of_the_definition) {
    uint32_t state = 1, addresses[32];
    for (unsigned round = 0; round < 600; round++) {
        unsigned bytes = 4u << round % 3, span = 128u << round % 6;
        for (unsigned i = 0; i < 32; i++) {
            state = state * 1664525 + 1013904223;
            addresses[i] = (state >> 8) % span / bytes * bytes;
        }
        cr_assert_eq(tile_bank_conflicts(addresses, 32, bytes),
                     count_by_definition(addresses, bytes));
    }
}

/* Elements of every size, rows of 16 bytes and more, both storage orders: 8 rows of one chunk
 * column use every bank once, and chunks are not split. */
Test(layout_check, swizzled_buffers_serve_eight_rows_at_once) {
    for (unsigned bytes = 1; bytes <= 8; bytes *= 2)
        for (uint32_t fast = 16 / bytes; fast <= 256; fast *= 2)
            for (uint32_t slow = 8; slow <= 64; slow *= 2)
                for (unsigned fastest = 0; fastest < 2; fastest++) {
                    uint32_t dims[2], chunk = 16 / bytes, addresses[8];
                    dims[fastest] = fast;
                    dims[1 - fastest] = slow;
                    tile_layout shared = tile_layout_shared_swizzled(dims, 2, fastest, bytes);
                    cr_assert_null(tile_layout_find_fault(&shared));
                    for (uint32_t row = 0; row < slow; row++)
                        for (uint32_t at = 0; at < fast; at += chunk) {
                            uint32_t step = fastest ? 1 : slow;
                            uint32_t flat = fastest ? row * fast + at : at * slow + row;
                            uint32_t offset = tile_layout_offset_of(&shared, flat);
                            cr_assert_eq(offset % chunk, 0);
                            cr_assert_eq(offset / fast, row);
                            for (uint32_t i = 1; i < chunk; i++)
                                cr_assert_eq(tile_layout_offset_of(&shared, flat + i * step),
                                             offset + i);
                        }
                    for (uint32_t first = 0; first < slow; first += 8)
                        for (uint32_t at = 0; at < fast; at += chunk) {
                            for (uint32_t i = 0; i < 8; i++)
                                addresses[i] =
                                    bytes *
                                    tile_layout_offset_of(&shared, fastest ? (first + i) * fast + at
                                                                           : at * slow + first + i);
                            cr_assert_eq(tile_bank_conflicts(addresses, 8, 16), 0);
                        }
                }
}
