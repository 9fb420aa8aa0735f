#include "lib/layout/lookup.h"

#include "lib/layout/layout.h"

/* The limit on source registers: beyond it, one shuffle and select each are too costly. */
enum { MAX_ASKED = 2048 };

/* Returns whether two bases have the same coordinates except along the axis, where extents may
 * differ. */
static bool same_others(const tile_layout *from, uint32_t a, const tile_layout *to, uint32_t b,
                        unsigned axis) {
    for (unsigned d = 0; d < from->rank; d++)
        if (d != axis && tile_layout_coordinate(from, a, d) != tile_layout_coordinate(to, b, d))
            return false;
    return true;
}

static bool is_power_of_two(uint32_t value) {
    return value && !(value & (value - 1));
}

static bool add_lane(const tile_layout *from, unsigned lane, unsigned axis,
                     tile_lookup_plan *plan) {
    unsigned bit = 0;
    uint32_t along = tile_layout_coordinate(from, from->lane[lane], axis);
    if (!along) return true;
    if (!is_power_of_two(along) || plan->bits & along ||
        !same_others(from, from->lane[lane], from, 0, axis))
        return false;
    while (along >> bit != 1) bit++;
    plan->lanes |= UINT32_C(1) << lane;
    plan->bits |= along;
    plan->lane[bit] = UINT32_C(1) << lane;
    return true;
}

/* The coordinate along the axis of the element that lane 0 holds in a register. */
static uint32_t along(const tile_layout *layout, unsigned axis, uint32_t register_) {
    return tile_layout_coordinate(layout, tile_layout_apply(layout, register_, 0, 0), axis);
}

unsigned tile_lookup_sources(const tile_layout *from, const tile_layout *to, unsigned axis,
                             uint32_t register_, uint32_t *sources) {
    uint32_t wanted = tile_layout_apply(to, register_, 0, 0), all = tile_layout_registers(from);
    unsigned count = 0;
    for (uint32_t s = 0; s < all; s++)
        if (same_others(from, tile_layout_apply(from, s, 0, 0), to, wanted, axis))
            sources[count++] = s;
    return count;
}

static unsigned count_sources(const tile_layout *from, const tile_layout *to, unsigned axis,
                              uint32_t register_, uint32_t lane_bits) {
    uint32_t wanted = tile_layout_apply(to, register_, 0, 0), all = tile_layout_registers(from);
    unsigned count = 0;
    for (uint32_t s = 0; s < all; s++) {
        if (!same_others(from, tile_layout_apply(from, s, 0, 0), to, wanted, axis)) continue;
        if (along(from, axis, s) & lane_bits) return 0; /* another lane holds it as well */
        count++;
    }
    return count;
}

bool tile_lookup_find(const tile_layout *from, const tile_layout *to, unsigned axis,
                      tile_lookup_plan *plan) {
    *plan = (tile_lookup_plan){.sources = 0};
    if (from->rank != to->rank || from->warp_bits != to->warp_bits) return false;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        if (!same_others(from, from->lane[i], to, to->lane[i], axis) ||
            !add_lane(from, i, axis, plan))
            return false;
    for (unsigned i = 0; i < from->warp_bits; i++)
        if (!same_others(from, from->warp[i], to, to->warp[i], axis) ||
            tile_layout_coordinate(from, from->warp[i], axis))
            return false;
    unsigned lanes = 0;
    for (uint32_t left = plan->lanes; left; left &= left - 1) lanes++;
    plan->sources = tile_layout_extent(from, axis) >> lanes;
    uint64_t asked = (uint64_t)plan->sources * tile_layout_registers(to);
    if (asked > MAX_ASKED || tile_layout_registers(from) > asked) return false;
    for (uint32_t r = 0; r < tile_layout_registers(to); r++)
        if (count_sources(from, to, axis, r, plan->bits) != plan->sources) return false;
    return true;
}

unsigned tile_lookup_cost(const tile_lookup_plan *plan, const tile_layout *to,
                          unsigned element_bytes) {
    enum { WORD = 4, SHUFFLE = 2, SELECT = 1 };
    unsigned words = (element_bytes + WORD - 1) / WORD;
    unsigned each = plan->lanes ? SHUFFLE * words + SELECT : SELECT;
    return tile_layout_registers(to) * plan->sources * each;
}
