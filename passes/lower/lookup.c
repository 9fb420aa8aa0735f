/* A gather by shuffles. The index of an element determines the lane that holds it and the register
 * within that lane. Each candidate register is shuffled, and one result is selected. */
#include "lib/analysis/conversion.h"
#include "lib/layout/layout.h"
#include "passes/lower/lower.h"

typedef struct lookup {
    lowering *l;
    const tile_type *from, *to, *index;
    unsigned axis;
    tile_lookup_plan plan;
    tile_value src, at, own; /* own: the bits of the lane number that do not change */
    uint32_t *sources;
} lookup;

/* Assumed to be in bounds of the source; the CPU device checks it. */
static tile_value index_of(const lookup *k, unsigned register_) {
    lowering *l = k->l;
    tile_value index = tile_build_extract(&l->builder, k->at, lower_int(l, register_),
                                          lower_part_type(l, k->index->scalar, 1));
    if (k->index->scalar == TILE_i64)
        index = tile_build_cast(&l->builder, index,
                                tile_type_scalar(tile_function_context(l->f), TILE_i32));
    tile_value extent = lower_int(l, tile_layout_extent(k->from->layout, k->axis));
    tile_build_assume(&l->builder, tile_build_ult(&l->builder, index, extent));
    return index;
}

static tile_value lane_of(const lookup *k, tile_value index) {
    enum { INDEX_BITS = 32 };
    tile_value told = lower_bit_map(k->l, index, INDEX_BITS, k->plan.lane, INDEX_BITS);
    return lower_add(k->l, told, k->own);
}

/* Reads register `source` of the lane that the index selects. */
static tile_value shuffle_from(const lookup *k, tile_value lane, uint32_t source) {
    lowering *l = k->l;
    tile_value held = tile_build_extract(&l->builder, k->src, lower_int(l, source),
                                         lower_part_type(l, k->from->scalar, 1));
    return k->plan.lanes ? lower_shfl(l, held, lane, "idx") : held;
}

static tile_value build_lookup(const lookup *k, unsigned register_) {
    lowering *l = k->l;
    tile_value index = index_of(k, register_), lane = lane_of(k, index);
    tile_value rest = tile_build_and(&l->builder, index, lower_int(l, ~(int64_t)k->plan.bits));
    tile_lookup_sources(k->from->layout, k->to->layout, k->axis, register_, k->sources);
    tile_value taken = shuffle_from(k, lane, k->sources[0]);
    for (unsigned i = 1; i < k->plan.sources; i++) {
        int64_t there = lower_register_coordinate(k->from->layout, k->sources[i], k->axis);
        tile_value here = tile_build_eq(&l->builder, rest, lower_int(l, there));
        taken = tile_build_select(&l->builder, here, shuffle_from(k, lane, k->sources[i]), taken);
    }
    return taken;
}

tile_value lower_lookup(lowering *l, tile_op op, unsigned axis) {
    tile_value src = tile_operand_src(&l->old, op), at = tile_operand_at(&l->old, op);
    lookup k = {.l = l,
                .from = tile_value_type(&l->old, src),
                .to = tile_value_type(&l->old, tile_op_result(&l->old, op, 0)),
                .index = tile_value_type(&l->old, at),
                .axis = axis,
                .src = lower_mapped(l, src),
                .at = lower_mapped(l, at)};
    /* lower_check has checked this */
    tile_gather_shuffles(k.from, k.to->layout, axis, &k.plan);
    uint32_t kept = ((UINT32_C(1) << TILE_LANE_BITS) - 1) & ~k.plan.lanes;
    k.own = tile_build_and(&l->builder, l->thread, lower_int(l, kept));
    k.sources = TILE_NEW_ARRAY(l->pass->scratch, uint32_t, k.plan.sources);
    tile_access_split cut = tile_split_accesses_along(k.to->layout, 0, 1);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, cut.count);
    for (unsigned i = 0; i < cut.count; i++)
        parts[i] = build_lookup(&k, tile_access_split_register(&cut, i, 0));
    return lower_combine_accesses(l, parts, &cut);
}
