#include "lib/analysis/conversion.h"

#include "lib/layout/layout.h"
#include "lib/layout/rearrange.h"
#include "lib/layout/traffic.h"
#include "lib/support/scalar.h"

bool tile_conversion_shuffles(const tile_type *tile, const tile_layout *to,
                              tile_shuffle_plan *plan) {
    return tile_shuffle_find(tile->layout, to, tile_scalar_bytes(tile->scalar), plan);
}

/* Costs of shared memory: a wavefront, an access, and the stalls at the barriers before the stores
 * and between stores and loads. */
enum { LINE = 2, ACCESS = 1, BARRIERS = 32 };

static unsigned memory_cost(const tile_type *tile, const tile_layout *to) {
    unsigned bytes = tile_scalar_bytes(tile->scalar);
    tile_layout between = tile_layout_exchange(tile->layout, to, bytes);
    tile_traffic stores = tile_traffic_shared(tile->layout, &between, bytes, false),
                 loads = tile_traffic_shared(to, &between, bytes, true);
    return BARRIERS + LINE * (stores.wavefronts + loads.wavefronts) +
           ACCESS * (stores.accesses + loads.accesses);
}

tile_conversion tile_conversion_of(const tile_type *tile, const tile_layout *to, unsigned *cost) {
    tile_shuffle_plan plan;
    unsigned ignored, *pays = cost ? cost : &ignored;
    *pays = 0;
    if (tile_layout_equal(tile->layout, to)) return TILE_CONVERTS_NOT;
    if (tile_layout_same_threads(tile->layout, to)) return TILE_CONVERTS_BY_REGISTERS;
    *pays = memory_cost(tile, to);
    if (!tile_conversion_shuffles(tile, to, &plan)) return TILE_CONVERTS_BY_MEMORY;
    unsigned shuffles = tile_shuffle_cost(&plan, tile->layout, to, tile_scalar_bytes(tile->scalar));
    if (shuffles > *pays) return TILE_CONVERTS_BY_MEMORY;
    *pays = shuffles;
    return TILE_CONVERTS_BY_SHUFFLES;
}

/* The indices are not known: assumes that loads have no bank conflicts. */
static unsigned gather_cost(const tile_type *tile, const tile_layout *to) {
    enum { WORD = 4 };
    unsigned words = (tile_scalar_bytes(tile->scalar) + WORD - 1) / WORD;
    unsigned accesses = tile_layout_registers(tile->layout) + tile_layout_registers(to);
    return BARRIERS + accesses * (LINE * words + ACCESS);
}

static bool find_lookup(const tile_type *tile, const tile_layout *to, unsigned axis,
                        tile_lookup_plan *plan, unsigned *cost) {
    if (tile->scalar == TILE_i1 || !tile_lookup_find(tile->layout, to, axis, plan)) return false;
    *cost = tile_lookup_cost(plan, to, tile_scalar_bytes(tile->scalar));
    return true;
}

bool tile_gather_shuffles(const tile_type *tile, const tile_layout *to, unsigned axis,
                          tile_lookup_plan *plan) {
    unsigned cost;
    return find_lookup(tile, to, axis, plan, &cost) && cost <= gather_cost(tile, to);
}

unsigned tile_gather_cost(const tile_type *tile, const tile_layout *to, unsigned axis) {
    tile_lookup_plan plan;
    unsigned memory = gather_cost(tile, to), shuffles;
    return find_lookup(tile, to, axis, &plan, &shuffles) && shuffles <= memory ? shuffles : memory;
}
