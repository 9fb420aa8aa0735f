/* For tests of layouts: the query for an instruction, and the holders of elements by
 * enumeration. */
#ifndef TILE_TEST_UNIT_LAYOUT_FIXTURE_H
#define TILE_TEST_UNIT_LAYOUT_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "lib/layout/mma.h"

/* m16n8k16 of f16 with sums in f32. */
static inline tile_mma_query layout_half_query(void) {
    return (tile_mma_query){.lhs = TILE_f16,
                            .rhs = TILE_f16,
                            .acc = TILE_f32,
                            .m = 16,
                            .n = 8,
                            .k = 16,
                            .features = tile_target_find("sm_80")->features};
}

static inline const tile_mma *layout_half_row(void) {
    const tile_mma_query query = layout_half_query();
    return tile_mma_find(&query);
}

/* Counts how often each element is held; no thread may hold it twice. The caller frees the
 * result. */
static inline unsigned *layout_count_holders(const tile_layout *layout) {
    uint32_t elements = tile_layout_parts(layout) << tile_layout_part_bits(layout);
    uint32_t registers = tile_layout_registers(layout);
    unsigned *holders = calloc(elements, sizeof *holders);
    uint32_t *last = calloc(elements, sizeof *last);
    bool twice = false;
    for (uint32_t thread = 0; thread < 32u << layout->warp_bits; thread++)
        for (uint32_t reg = 0; reg < registers; reg++) {
            uint32_t index = tile_layout_apply(layout, reg, thread % 32, thread / 32);
            cr_assert_lt(index, elements);
            twice |= last[index] == thread + 1;
            last[index] = thread + 1;
            holders[index]++;
        }
    free(last);
    cr_assert(!twice);
    return holders;
}

/* Checks that all elements are held equally often. */
static inline void layout_expect_all_held(const tile_layout *layout) {
    cr_assert_null(tile_layout_find_fault(layout));
    uint32_t elements = tile_layout_parts(layout) << tile_layout_part_bits(layout);
    unsigned *holders = layout_count_holders(layout);
    for (uint32_t i = 0; i < elements; i++)
        cr_assert(holders[i] && holders[i] == holders[0], "element %u of %u", i, elements);
    free(holders);
}

/* Collects the set of coordinates along a dim that a warp holds. */
static inline void layout_collect_coordinates(const tile_layout *layout, uint32_t warp,
                                              unsigned dim, bool *held) {
    for (uint32_t reg = 0; reg < tile_layout_registers(layout); reg++)
        for (uint32_t lane = 0; lane < 32; lane++)
            held[tile_layout_coordinate(layout, tile_layout_apply(layout, reg, lane, warp), dim)] =
                true;
}

#endif
