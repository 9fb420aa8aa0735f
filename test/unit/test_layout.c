/* Compares layouts with the tables of the PTX ISA and with enumeration. */
#include "test/unit/layout_fixture.h"

#include <stddef.h>
#include <string.h>

#include "lib/layout/wgmma.h"

static uint32_t flat(uint32_t row, uint32_t column, uint32_t columns) {
    return row * columns + column;
}

/* PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type". */
Test(layout, fragments_are_those_of_the_ptx_isa) {
    tile_layout sum = tile_mma_accumulator(layout_half_row(), 16, 8, 1, 1);
    tile_layout a = tile_mma_operand(layout_half_row(), &sum, 0, 16, 16),
                b = tile_mma_operand(layout_half_row(), &sum, 1, 16, 8);
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t group = lane / 4, in_group = lane % 4;
        for (uint32_t i = 0; i < 4; i++)
            cr_assert_eq(tile_layout_apply(&sum, i, lane, 0),
                         flat(group + (i >= 2 ? 8 : 0), in_group * 2 + (i & 1), 8));
        for (uint32_t i = 0; i < 8; i++)
            cr_assert_eq(
                tile_layout_apply(&a, i, lane, 0),
                flat(group + (i & 2 ? 8 : 0), in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0), 16));
        for (uint32_t i = 0; i < 4; i++)
            cr_assert_eq(tile_layout_apply(&b, i, lane, 0),
                         flat(in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0), group, 8));
    }
}

Test(layout, every_sum_and_its_operands_hold_all_elements) {
    for (uint32_t m = 16; m <= 256; m *= 2)
        for (uint32_t n = 8; n <= 256; n *= 2)
            for (unsigned warps = 1; warps <= 32; warps *= 2) {
                uint32_t warps_m, warps_n;
                tile_mma_choose_warps(layout_half_row(), m, n, warps, &warps_m, &warps_n);
                cr_assert_eq(warps_m * warps_n, warps);
                tile_layout sum = tile_mma_accumulator(layout_half_row(), m, n, warps_m, warps_n);
                cr_assert(tile_layout_is_surjective(&sum), "%u x %u by %u", m, n, warps);
                for (uint32_t k = 16; k <= 64; k *= 2) {
                    tile_layout a = tile_mma_operand(layout_half_row(), &sum, 0, m, k);
                    tile_layout b = tile_mma_operand(layout_half_row(), &sum, 1, k, n);
                    cr_assert(tile_layout_is_surjective(&a), "%u x %u by %u, k %u", m, n, warps, k);
                    cr_assert(tile_layout_is_surjective(&b), "%u x %u by %u, k %u", m, n, warps, k);
                }
            }
}

/* A warp's rows of operand 0 and columns of operand 1 match its part of the accumulator. */
Test(layout, operands_belong_to_the_warp_s_part) {
    tile_layout sum = tile_mma_accumulator(layout_half_row(), 64, 64, 2, 2);
    tile_layout a = tile_mma_operand(layout_half_row(), &sum, 0, 64, 32),
                b = tile_mma_operand(layout_half_row(), &sum, 1, 32, 64);
    for (uint32_t warp = 0; warp < 4; warp++) {
        uint32_t corner = tile_layout_apply(&sum, 0, 0, warp);
        cr_assert_eq(tile_layout_apply(&a, 0, 0, warp) / 32, corner / 64);
        cr_assert_eq(tile_layout_apply(&b, 0, 0, warp) % 64, corner % 64);
    }
}

Test(layout, blocked_tiles_hold_each_element_once_or_replicate) {
    for (uint32_t rows = 1; rows <= 128; rows *= 2)
        for (uint32_t columns = 1; columns <= 128; columns *= 2)
            for (unsigned vec = 1; vec <= 8; vec *= 2)
                for (unsigned fastest = 0; fastest < 2; fastest++) {
                    const uint32_t dims[2] = {rows, columns};
                    tile_layout layout = tile_layout_blocked(dims, 2, vec, fastest, 4);
                    cr_assert(tile_layout_is_surjective(&layout));
                    cr_assert((1u << layout.reg_bits) <= (rows * columns + 127) / 128);
                    layout = tile_layout_chunked(dims, 2, vec, fastest, 4);
                    cr_assert(tile_layout_is_surjective(&layout));
                    unsigned run = vec < dims[fastest] ? vec : dims[fastest];
                    uint32_t others = rows * columns / run;
                    cr_assert_eq(tile_layout_registers(&layout),
                                 run * (others > 128 ? others / 128 : 1));
                }
}

Test(layout, shared_layouts_invert_and_have_no_conflicts) {
    for (uint32_t rows = 8; rows <= 256; rows *= 2)
        for (uint32_t columns = 8; columns <= 256; columns *= 2)
            for (unsigned fastest = 0; fastest < 2; fastest++) {
                const uint32_t dims[2] = {rows, columns};
                tile_layout shared = tile_layout_shared_swizzled(dims, 2, fastest, 2);
                for (uint32_t offset = 0; offset < rows * columns; offset++)
                    cr_assert_eq(
                        tile_layout_offset_of(&shared, tile_layout_apply(&shared, offset, 0, 0)),
                        offset);
                uint32_t fast = dims[fastest], slow = dims[1 - fastest], addresses[8];
                for (uint32_t row = 0; row + 8 <= slow; row += 8)
                    for (uint32_t chunk = 0; chunk + 8 <= fast; chunk += 8) {
                        for (uint32_t i = 0; i < 8; i++) {
                            uint32_t at = fastest ? flat(row + i, chunk, columns)
                                                  : flat(chunk, row + i, columns);
                            addresses[i] = 2 * tile_layout_offset_of(&shared, at);
                            cr_assert_eq(addresses[i] % 16, 0, "a chunk stays in one piece");
                        }
                        cr_assert_eq(tile_bank_conflicts(addresses, 8, 16), 0);
                    }
            }
}

/* The count must detect an actual conflict: rows of 64 bytes without a swizzle. */
Test(layout, planted_conflicts_are_counted) {
    uint32_t addresses[32];
    for (uint32_t i = 0; i < 8; i++) addresses[i] = i * 64;
    cr_assert_eq(tile_bank_conflicts(addresses, 8, 16), 3);
    for (uint32_t i = 0; i < 32; i++) addresses[i] = i * 128;
    cr_assert_eq(tile_bank_conflicts(addresses, 32, 4), 31);
    for (uint32_t i = 0; i < 32; i++) addresses[i] = 4;
    cr_assert_eq(tile_bank_conflicts(addresses, 32, 4), 0, "a broadcast is one wavefront");
}

Test(layout, offsets_compose_the_maps) {
    const uint32_t dims[2] = {64, 32};
    tile_layout sum = tile_mma_accumulator(layout_half_row(), 64, 64, 2, 2);
    tile_layout a = tile_mma_operand(layout_half_row(), &sum, 0, 64, 32);
    tile_layout shared = tile_layout_shared_swizzled(dims, 2, 1, 2);
    uint32_t reg[TILE_LAYOUT_MAX_BITS], lane[TILE_LANE_BITS], warp[TILE_LAYOUT_MAX_WARP_BITS];
    tile_layout_to_offsets(&a, &shared, reg, lane, warp);
    for (uint32_t r = 0; r < 1u << a.reg_bits; r++)
        for (uint32_t l = 0; l < 32; l++) {
            uint32_t offset = 0;
            for (unsigned i = 0; i < a.reg_bits; i++) offset ^= r >> i & 1 ? reg[i] : 0;
            for (unsigned i = 0; i < TILE_LANE_BITS; i++) offset ^= l >> i & 1 ? lane[i] : 0;
            cr_assert_eq(tile_layout_apply(&shared, offset, 0, 0), tile_layout_apply(&a, r, l, 0));
        }
}

/* Returns the offset in `order` of the element that a register and lane hold of a piece at the
 * origin. */
static uint32_t offset_in(const tile_layout *order, const tile_layout *piece, uint32_t reg,
                          uint32_t lane, uint32_t warp) {
    uint32_t index = tile_layout_apply(piece, reg, lane, warp), coordinates[TILE_MAX_RANK];
    for (unsigned d = 0; d < order->rank; d++)
        coordinates[d] = tile_layout_coordinate(piece, index, d);
    return tile_layout_offset_of(order, tile_layout_index(order, coordinates));
}

/* Checks that each piece is contiguous in the order. */
static void check_pieces(const tile_layout *order, const uint32_t *dims, const uint32_t *piece) {
    uint32_t all = piece[0] * piece[1];
    for (uint32_t x = 0; x < dims[0]; x++)
        for (uint32_t y = 0; y < dims[1]; y++) {
            const uint32_t begin[2] = {x / piece[0] * piece[0], y / piece[1] * piece[1]},
                           at[2] = {x, y};
            uint32_t from = tile_layout_offset_of(order, tile_layout_index(order, begin));
            uint32_t offset = tile_layout_offset_of(order, tile_layout_index(order, at));
            cr_assert(offset >= from && offset - from < all, "a piece is one stretch");
        }
}

/* Checks stores of the whole tile: four adjacent elements per lane, contiguous lanes, whole
 * sectors. */
static void check_stores(const tile_layout *order, const tile_layout *held) {
    uint32_t reg[TILE_LAYOUT_MAX_BITS], lane[TILE_LANE_BITS], warp[TILE_LAYOUT_MAX_WARP_BITS];
    tile_layout_to_offsets(held, order, reg, lane, warp);
    unsigned sides = 0, quad = 0;
    for (unsigned i = 0; i < held->reg_bits; i++) sides += reg[i] == 1 || reg[i] == 2;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++) quad += lane[i] == 4 || lane[i] == 8;
    cr_assert(sides == 2 && quad == 2, "64 bytes of four lanes are contiguous");
}

static void check_loads(const tile_layout *order, const uint32_t *piece, unsigned warps) {
    tile_layout loaded = tile_layout_ordered(order, piece, 4, warps);
    cr_assert_null(tile_layout_find_fault(&loaded));
    uint32_t all = piece[0] * piece[1], registers = tile_layout_registers(&loaded);
    uint32_t vec = all / (32 * warps) >= 4 ? 4 : all / (32 * warps) ? all / (32 * warps) : 1;
    for (uint32_t r = 0; r < registers; r++)
        for (uint32_t lane = 0; lane < 32; lane++)
            cr_assert_eq(offset_in(order, &loaded, r, lane, 0),
                         (r / vec * 32 * warps * vec + lane * vec + r % vec) % all,
                         "a warp loads one stretch at a time");
}

Test(layout, tiles_lie_in_memory_as_they_are_held) {
    static const uint32_t shapes[][2] = {{128, 128}, {64, 128}, {128, 64}, {64, 64}, {64, 192}};
    for (unsigned s = 0; s < 5; s++)
        for (unsigned warps = 4; warps <= 8; warps += 4)
            for (uint32_t pieces = 1; pieces <= 16; pieces *= 2) {
                const uint32_t *dims = shapes[s], piece[2] = {dims[0] / pieces, dims[1]};
                if (!tile_wgmma_admits(dims, TILE_WGMMA_PLAIN, warps)) continue;
                tile_layout held = tile_wgmma_accumulator(dims, TILE_WGMMA_PLAIN, warps), order;
                cr_assert(tile_layout_order(&held, piece, 4, &order));
                cr_assert_null(tile_layout_find_fault(&order));
                check_stores(&order, &held);
                if (dims[1] == 192) continue; /* three parts, each with separate pieces */
                check_pieces(&order, dims, piece);
                check_loads(&order, piece, warps);
            }
}

Test(layout, some_tiles_have_no_order_of_their_own) {
    const uint32_t dims[2] = {64, 192}, half[2] = {64, 96}, odd[2] = {64, 64};
    tile_layout held = tile_layout_blocked(dims, 2, 4, 1, 4), order;
    cr_assert_not(tile_layout_order(&held, half, 4, &order), "a piece of one and a half parts");
    cr_assert_not(tile_layout_order(&held, odd, 4, &order), "a dim with parts is not cut");
    held.lane[0] ^= held.lane[4];
    cr_assert_not(tile_layout_order(&held, dims, 4, &order), "a lane adds to two bits");
}

/* Padding bytes between the members of a layout may have any value. */
Test(layout, what_lies_between_members_says_nothing) {
    const tile_layout zeros = {.kind = TILE_LAYOUT_REGISTER,
                               .rank = 1,
                               .dim_bits = {7},
                               .count = {1},
                               .reg_bits = 2,
                               .reg = {1, 2},
                               .lane = {4, 8, 16, 32, 64}};
    const size_t head = offsetof(tile_layout, block_bits) + 1, rest = offsetof(tile_layout, reg);
    tile_layout other;
    memset(&other, 0xa5, sizeof other);
    memcpy(&other, &zeros, head);
    memcpy((char *)&other + rest, (const char *)&zeros + rest, sizeof other - rest);
    cr_assert(tile_layout_equal(&zeros, &other));
    tile_context *context = tile_context_create();
    const int64_t dims[] = {128};
    const tile_type *tile = tile_type_tile(context, TILE_f32, 1, dims);
    cr_assert_eq(tile_type_with_layout(context, tile, &zeros),
                 tile_type_with_layout(context, tile, &other));
    tile_context_destroy(context);
}
