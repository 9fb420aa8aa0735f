/* Simulates gathers by shuffles for every thread, register and index. */
#include "lib/layout/lookup.h"

#include <criterion/criterion.h>

#include "lib/layout/layout.h"

enum { LANES = 32, MOST = 1024 };

/* The plan must locate the element at index k along the axis, for a register of a thread. */
static void expect_element(const tile_layout *from, const tile_layout *to, unsigned axis,
                           const tile_lookup_plan *p, uint32_t register_, uint32_t lane,
                           uint32_t warp, uint32_t k) {
    uint32_t sources[MOST], other = lane & ~p->lanes, found = 0;
    uint32_t own = tile_layout_apply(to, register_, lane, warp);
    unsigned count = tile_lookup_sources(from, to, axis, register_, sources);
    cr_assert_eq(count, p->sources);
    for (unsigned i = 0; i < 32; i++)
        if (k >> i & 1) other ^= p->lane[i];
    for (unsigned i = 0; i < count; i++) {
        uint32_t first = tile_layout_apply(from, sources[i], 0, 0);
        if (tile_layout_coordinate(from, first, axis) != (k & ~p->bits)) continue;
        uint32_t element = tile_layout_apply(from, sources[i], other, warp);
        found++;
        for (unsigned d = 0; d < from->rank; d++)
            cr_assert_eq(tile_layout_coordinate(from, element, d),
                         d == axis ? k : tile_layout_coordinate(to, own, d));
    }
    cr_assert_eq(found, 1);
}

static void expect_lookup(const tile_layout *from, const tile_layout *to, unsigned axis) {
    tile_lookup_plan plan;
    cr_assert(tile_lookup_find(from, to, axis, &plan));
    for (uint32_t warp = 0; warp < 1u << to->warp_bits; warp++)
        for (uint32_t lane = 0; lane < LANES; lane++)
            for (uint32_t r = 0; r < tile_layout_registers(to); r++)
                for (uint32_t k = 0; k < tile_layout_extent(from, axis); k++)
                    expect_element(from, to, axis, &plan, r, lane, warp, k);
}

static tile_layout rows(uint32_t m, uint32_t n, unsigned vec, unsigned warps) {
    const uint32_t dims[] = {m, n};
    return tile_layout_blocked(dims, 2, vec, 1, warps);
}

Test(lookup, axis_in_lanes_and_registers) {
    const uint32_t extents[] = {8, 16, 32, 64, 128, 48};
    for (unsigned i = 0; i < sizeof extents / sizeof *extents; i++)
        for (unsigned vec = 1; vec <= 4; vec *= 2) {
            tile_layout layout = rows(32, extents[i], vec, 4);
            tile_lookup_plan plan;
            if (tile_lookup_find(&layout, &layout, 1, &plan)) expect_lookup(&layout, &layout, 1);
        }
    tile_layout whole = rows(32, 128, 4, 4);
    expect_lookup(&whole, &whole, 1);
}

Test(lookup, axis_in_registers_alone) {
    const uint32_t dims[] = {4, 32};
    tile_layout layout = tile_layout_blocked(dims, 2, 1, 1, 1);
    tile_lookup_plan plan;
    expect_lookup(&layout, &layout, 0);
    cr_assert(tile_lookup_find(&layout, &layout, 0, &plan));
    cr_assert_eq(plan.lanes, 0);
    cr_assert_eq(plan.sources, 4);
}

Test(lookup, other_extent_along_the_axis) {
    tile_layout from = rows(1, 32, 1, 4), to = rows(1, 512, 1, 4);
    expect_lookup(&from, &to, 1);
}

Test(lookup, refuses_what_crosses_warps_or_threads) {
    tile_layout wide = rows(1, 256, 1, 4), narrow = rows(32, 32, 1, 4), other = rows(32, 32, 4, 4);
    tile_layout fewer = rows(32, 32, 1, 2);
    tile_lookup_plan plan;
    cr_assert_not(tile_lookup_find(&wide, &wide, 1, &plan));
    cr_assert_not(tile_lookup_find(&narrow, &narrow, 0, &plan));
    cr_assert_not(tile_lookup_find(&narrow, &other, 1, &plan));
    cr_assert_not(tile_lookup_find(&narrow, &fewer, 1, &plan));
}

Test(lookup, costs) {
    tile_layout layout = rows(32, 128, 4, 4);
    tile_lookup_plan plan;
    cr_assert(tile_lookup_find(&layout, &layout, 1, &plan));
    cr_assert_eq(plan.sources, 4);
    cr_assert_eq(tile_lookup_cost(&plan, &layout, 4), 32 * 4 * 3);
    cr_assert_eq(tile_lookup_cost(&plan, &layout, 8), 32 * 4 * 5);
}
