/* Layouts of tiles with several parts, whose extents are odd counts times powers of two, compared
 * with enumeration of all elements. */
#include "test/unit/layout_fixture.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE_COUNT = 11 };

/* Counts in no dim, in one, and in both; parts of one element, and parts smaller than a warp. */
static const uint32_t shapes[SHAPE_COUNT][2] = {{128, 192}, {192, 96}, {64, 80},  {64, 64},
                                                {80, 16},   {48, 248}, {16, 24},  {31, 1},
                                                {12, 20},   {100, 3},  {224, 112}};

/* Returns the position of an element by definition: parts are row-major in the tile, elements are
 * row-major in a part. */
static uint32_t place_by_definition(const uint32_t *dims, uint32_t row, uint32_t column) {
    uint32_t part[2];
    for (unsigned d = 0; d < 2; d++)
        for (part[d] = 1; dims[d] % (2 * part[d]) == 0;) part[d] *= 2;
    uint32_t number = row / part[0] * (dims[1] / part[1]) + column / part[1];
    return number * part[0] * part[1] + row % part[0] * part[1] + column % part[1];
}

Test(layout_parts, an_index_counts_the_elements_of_one_part_after_the_other) {
    for (unsigned s = 0; s < SHAPE_COUNT; s++) {
        const uint32_t *dims = shapes[s];
        tile_layout layout = tile_layout_blocked(dims, 2, 4, 1, 4);
        cr_assert_null(tile_layout_find_fault(&layout));
        cr_assert_eq(tile_layout_parts(&layout) << tile_layout_part_bits(&layout),
                     dims[0] * dims[1]);
        for (unsigned d = 0; d < 2; d++) cr_assert_eq(tile_layout_extent(&layout, d), dims[d]);
        for (uint32_t row = 0; row < dims[0]; row++)
            for (uint32_t column = 0; column < dims[1]; column++) {
                uint32_t index = place_by_definition(dims, row, column);
                cr_assert_eq(tile_layout_coordinate(&layout, index, 0), row);
                cr_assert_eq(tile_layout_coordinate(&layout, index, 1), column);
            }
    }
}

/* All dims, three of them with counts: all indices are different, all coordinates are in bounds. */
Test(layout_parts, as_many_dims_as_there_may_be) {
    const uint32_t dims[TILE_MAX_RANK] = {3, 2, 6, 4, 1, 5, 1, 2};
    tile_layout layout = tile_layout_blocked(dims, TILE_MAX_RANK, 2, 5, 1);
    cr_assert_null(tile_layout_find_fault(&layout));
    bool seen[3 * 2 * 6 * 4 * 10] = {false};
    for (uint32_t index = 0; index < 3 * 2 * 6 * 4 * 10; index++) {
        uint32_t position = 0;
        for (unsigned d = 0; d < TILE_MAX_RANK; d++) {
            uint32_t coordinate = tile_layout_coordinate(&layout, index, d);
            cr_assert_lt(coordinate, dims[d]);
            position = position * dims[d] + coordinate;
        }
        cr_assert(!seen[position]);
        seen[position] = true;
    }
}

Test(layout_parts, blocked_tiles_hold_every_element) {
    for (unsigned s = 0; s < SHAPE_COUNT; s++)
        for (unsigned vec = 1; vec <= 8; vec *= 2)
            for (unsigned fastest = 0; fastest < 2; fastest++)
                for (unsigned warps = 1; warps <= 8; warps *= 2) {
                    tile_layout layout = tile_layout_blocked(shapes[s], 2, vec, fastest, warps);
                    layout_expect_all_held(&layout);
                    layout = tile_layout_chunked(shapes[s], 2, vec, fastest, warps);
                    layout_expect_all_held(&layout);
                }
}

static bool suits_mma(const uint32_t *dims) {
    return dims[0] % 16 == 0 && dims[1] % 8 == 0;
}

Test(layout_parts, sums_and_their_operands_hold_every_element) {
    const uint32_t depths[] = {16, 48, 80, 96, 64};
    for (unsigned s = 0; s < SHAPE_COUNT; s++)
        for (unsigned warps = 1; suits_mma(shapes[s]) && warps <= 16; warps *= 4) {
            uint32_t m = shapes[s][0], n = shapes[s][1], warps_m, warps_n;
            tile_mma_choose_warps(layout_half_row(), m, n, warps, &warps_m, &warps_n);
            cr_assert_eq(warps_m * warps_n, warps);
            tile_layout sum = tile_mma_accumulator(layout_half_row(), m, n, warps_m, warps_n);
            cr_assert(tile_mma_holds(layout_half_row(), &sum));
            layout_expect_all_held(&sum);
            for (unsigned k = 0; k < sizeof depths / sizeof *depths; k++) {
                tile_layout a = tile_mma_operand(layout_half_row(), &sum, 0, m, depths[k]);
                tile_layout b = tile_mma_operand(layout_half_row(), &sum, 1, depths[k], n);
                layout_expect_all_held(&a);
                layout_expect_all_held(&b);
            }
        }
}

Test(layout_parts, each_warp_has_just_the_operands_of_its_share) {
    for (unsigned s = 0; s < SHAPE_COUNT; s++)
        for (unsigned warps = 1; suits_mma(shapes[s]) && warps <= 8; warps *= 2) {
            uint32_t m = shapes[s][0], n = shapes[s][1], warps_m, warps_n;
            tile_mma_choose_warps(layout_half_row(), m, n, warps, &warps_m, &warps_n);
            tile_layout sum = tile_mma_accumulator(layout_half_row(), m, n, warps_m, warps_n);
            tile_layout operands[2] = {tile_mma_operand(layout_half_row(), &sum, 0, m, 48),
                                       tile_mma_operand(layout_half_row(), &sum, 1, 48, n)};
            for (uint32_t warp = 0; warp < warps; warp++)
                for (unsigned o = 0; o < 2; o++) {
                    bool wanted[256] = {false}, held[256] = {false};
                    layout_collect_coordinates(&sum, warp, o, wanted);
                    layout_collect_coordinates(&operands[o], warp, o, held);
                    cr_assert_arr_eq(wanted, held, sizeof held);
                }
        }
}

/* Every 8 x 8 matrix of 16-bit elements consists of 8 chunks of 16 bytes in different banks. */
Test(layout_parts, shared_buffers_keep_every_element_once_and_without_conflicts) {
    for (unsigned s = 0; s < SHAPE_COUNT; s++)
        for (unsigned fastest = 0; fastest < 2; fastest++) {
            const uint32_t *dims = shapes[s];
            uint32_t elements = dims[0] * dims[1], addresses[8];
            tile_layout shared = tile_layout_shared_swizzled(dims, 2, fastest, 2);
            cr_assert_null(tile_layout_find_fault(&shared));
            cr_assert_eq(tile_layout_registers(&shared), elements);
            bool *kept = calloc(elements, sizeof *kept);
            for (uint32_t offset = 0; offset < elements; offset++) {
                uint32_t index = tile_layout_apply(&shared, offset, 0, 0);
                cr_assert(index < elements && !kept[index]);
                kept[index] = true;
                cr_assert_eq(tile_layout_offset_of(&shared, index), offset);
            }
            free(kept);
            if (dims[0] % 8 || dims[1] % 8) continue;
            for (uint32_t row = 0; row < dims[0]; row += 8)
                for (uint32_t column = 0; column < dims[1]; column += 8) {
                    for (uint32_t i = 0; i < 8; i++) {
                        uint32_t index = place_by_definition(dims, fastest ? row + i : row,
                                                             fastest ? column : column + i);
                        addresses[i] = 2 * tile_layout_offset_of(&shared, index);
                        cr_assert_eq(addresses[i] % 16, 0);
                    }
                    cr_assert_eq(tile_bank_conflicts(addresses, 8, 16), 0);
                }
        }
}

/* Writes a tile's indices to the positions in a buffer that lower-tiles uses, or compares them:
 * part and register bits, lane and warp bits, all mapped by the buffer's layout. */
static void pass_through(const tile_layout *tile, const tile_layout *shared, uint32_t *memory,
                         bool write) {
    uint32_t reg[TILE_LAYOUT_MAX_BITS], lane[TILE_LANE_BITS], warp[TILE_LAYOUT_MAX_WARP_BITS];
    tile_layout_to_offsets(tile, shared, reg, lane, warp);
    for (uint32_t r = 0; r < tile_layout_registers(tile); r++)
        for (uint32_t t = 0; t < 32u << tile->warp_bits; t++) {
            uint32_t offset = r >> tile->reg_bits << tile_layout_part_bits(shared);
            for (unsigned i = 0; i < tile->reg_bits; i++) offset ^= r >> i & 1 ? reg[i] : 0;
            for (unsigned i = 0; i < TILE_LANE_BITS; i++) offset ^= t >> i & 1 ? lane[i] : 0;
            for (unsigned i = 0; i < tile->warp_bits; i++) offset ^= t >> (5 + i) & 1 ? warp[i] : 0;
            uint32_t index = tile_layout_apply(tile, r, t % 32, t / 32);
            cr_assert_eq(tile_layout_apply(shared, offset, 0, 0), index);
            if (write) memory[offset] = index;
            cr_assert_eq(memory[offset], index);
        }
}

Test(layout_parts, conversions_bring_every_element_to_its_holders) {
    for (unsigned s = 0; s < SHAPE_COUNT; s++)
        for (unsigned warps = 1; suits_mma(shapes[s]) && warps <= 8; warps *= 2) {
            uint32_t m = shapes[s][0], n = shapes[s][1], warps_m, warps_n;
            tile_mma_choose_warps(layout_half_row(), m, n, warps, &warps_m, &warps_n);
            tile_layout sum = tile_mma_accumulator(layout_half_row(), m, n, warps_m, warps_n);
            tile_layout tiles[] = {sum, tile_layout_blocked(shapes[s], 2, 8, 1, warps),
                                   tile_layout_blocked(shapes[s], 2, 4, 0, warps),
                                   tile_mma_operand(layout_half_row(), &sum, 0, m, n)};
            unsigned count = n % 16 ? 3 : 4; /* n is the operand's depth */
            for (unsigned from = 0; from < count; from++)
                for (unsigned to = 0; to < count; to++) {
                    tile_layout shared = tile_layout_shared_swizzled(shapes[s], 2, to % 2, 4);
                    uint32_t *memory = malloc(sizeof *memory * m * n);
                    memset(memory, 255, sizeof *memory * m * n);
                    pass_through(&tiles[from], &shared, memory, true);
                    pass_through(&tiles[to], &shared, memory, false);
                    free(memory);
                }
        }
}

Test(layout_parts, extents_are_those_of_the_definition) {
    for (int64_t extent = -3; extent <= 5000; extent++) {
        bool admitted = false;
        for (int64_t count = 1; count <= TILE_LAYOUT_MAX_COUNT; count += 2)
            for (unsigned bits = 0; bits <= TILE_LAYOUT_MAX_BITS; bits++)
                admitted |= extent == count << bits;
        cr_assert_eq(tile_layout_admits_extent(extent), admitted);
    }
    cr_assert(tile_layout_admits_extent(1 << TILE_LAYOUT_MAX_BITS));
    cr_assert(!tile_layout_admits_extent(2 << TILE_LAYOUT_MAX_BITS));
    cr_assert(!tile_layout_admits_extent(INT64_MIN));
    cr_assert(!tile_layout_admits_extent(INT64_MAX));
}

/* Checks that each thread holds the elements that it repeats, in the named register, and none
 * twice. */
static void check_narrow(const tile_layout *wide, const uint32_t *dims, unsigned rank) {
    tile_layout narrow = tile_layout_narrow(wide, dims, rank);
    cr_assert_null(tile_layout_find_fault(&narrow), "%s", tile_layout_find_fault(&narrow));
    for (uint32_t thread = 0; thread < 32u << wide->warp_bits; thread++)
        for (uint32_t r = 0; r < tile_layout_registers(wide); r++) {
            uint32_t from = tile_layout_narrow_register(wide, &narrow, r);
            cr_assert_lt(from, tile_layout_registers(&narrow));
            uint32_t index = tile_layout_apply(wide, r, thread & 31, thread >> 5);
            uint32_t element = tile_layout_apply(&narrow, from, thread & 31, thread >> 5);
            for (unsigned d = 0; d < rank; d++) {
                uint32_t along = tile_layout_coordinate(wide, index, wide->rank - rank + d);
                cr_assert_eq(tile_layout_coordinate(&narrow, element, d), dims[d] == 1 ? 0 : along);
            }
        }
}

Test(layout_parts, of_tiles_that_are_repeated) {
    for (unsigned s = 0; s < SHAPE_COUNT; s++) {
        const uint32_t *dims = shapes[s], column[2] = {dims[0], 1}, row[2] = {1, dims[1]}, one = 1;
        for (unsigned warps = 1; warps <= 8; warps *= 2)
            for (unsigned fastest = 0; fastest < 2; fastest++) {
                tile_layout wide = tile_layout_blocked(dims, 2, 4, fastest, warps);
                check_narrow(&wide, column, 2);
                check_narrow(&wide, row, 2);
                check_narrow(&wide, dims, 2);
                check_narrow(&wide, dims + 1, 1);
                check_narrow(&wide, &one, 1);
            }
    }
}

/* An accumulator, and a layout whose registers become linearly dependent when a dim is dropped. */
Test(layout_parts, of_tiles_that_are_repeated_in_fragments) {
    const uint32_t column[2] = {48, 1}, row[2] = {1, 80}, small[2] = {2, 8}, half[2] = {1, 8};
    tile_layout wide = tile_mma_accumulator(layout_half_row(), 48, 80, 1, 2);
    check_narrow(&wide, column, 2);
    check_narrow(&wide, row, 2);
    check_narrow(&wide, row + 1, 1);
    wide = tile_layout_blank(TILE_LAYOUT_REGISTER, small, 2);
    wide.reg_bits = 2;
    wide.reg[0] = 1;
    wide.reg[1] = 9;
    wide.lane[0] = 2;
    wide.lane[1] = 5;
    check_narrow(&wide, half, 2);
    cr_assert_eq(tile_layout_narrow(&wide, half, 2).reg_bits, 1);
}

/* Of the threads that the predicate selects, exactly one holds each element. */
Test(layout_parts, redundant_threads_hold_nothing_of_their_own) {
    const uint32_t dims[2] = {8, 96};
    tile_layout layout = tile_layout_blank(TILE_LAYOUT_REGISTER, dims, 2);
    const uint32_t reg[3] = {1, 3 << 5, 17}, lane[TILE_LANE_BITS] = {32, 64, 2, 4, 8};
    memcpy(layout.reg, reg, sizeof reg);
    memcpy(layout.lane, lane, sizeof lane);
    layout.warp[0] = 4 << 5 | 3;
    layout.reg_bits = 3;
    layout.warp_bits = 2;
    cr_assert_null(tile_layout_find_fault(&layout));
    uint32_t mask = tile_layout_redundant_threads(&layout);
    unsigned holders[8 * 96] = {0};
    for (uint32_t thread = 0; thread < 128; thread++)
        for (uint32_t r = 0; r < tile_layout_registers(&layout) && !(thread & mask); r++)
            holders[tile_layout_apply(&layout, r, thread & 31, thread >> 5)]++;
    for (unsigned i = 0; i < 8 * 96; i++) cr_assert_eq(holders[i], 1, "element %u", i);
}
