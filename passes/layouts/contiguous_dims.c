/* A tile may be loaded along one dim and stored along another, because of a transpose or of its
 * view's strides. It can be held in blocks that are wide along both dims. Then all accesses are
 * wide, nothing goes through shared memory, and a warp's accesses cover whole sectors:
 *
 *     f16, w1 = w2 = 8     lanes 0 1 2 3 load 64 bytes of each of 8 rows, lanes 0 4 8 .. 28 store
 *                          128 bytes of each of 8 columns
 *
 * This layout is used if it costs less than whole lines on both sides plus a conversion, or if
 * shared memory is too small for a conversion. */
#include "lib/analysis/access.h"
#include "lib/analysis/conversion.h"
#include "lib/analysis/rearranged.h"
#include "lib/layout/layout.h"
#include "lib/layout/traffic.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "lib/support/integer.h"
#include "passes/layouts/requests.h"

static void note_contiguous(assignment *a, const tile_value *element, tile_value tile) {
    unsigned rank = tile_value_type(a->f, tile)->rank;
    if (tile_value_type(a->f, element[0])->layout) return;
    tile_access_facts facts = tile_view_access(a->f, a->ranges, element);
    unsigned d = tile_unit_dim(&facts, tile_value_type(a->f, element[0])->rank, rank);
    if (d < rank) a->contiguous_dims[layouts_class_of(a, tile)].width[d] = facts.width;
}

static void note_contiguous_of(assignment *a, tile_op op) {
    tile_function *f = a->f;
    tile_value tile;
    tile_gather g;
    const tile_value *element = find_transfer(f, op, &tile);
    if (element && !(tile_gather_of(f, op, &g) && g.tiles)) note_contiguous(a, element, tile);
}

/* Copies the contiguous dim of one side of a transpose to the other. True if it is new. */
static bool propagate_contiguous(contiguous_dims *to, unsigned d, const contiguous_dims *from,
                                 unsigned s) {
    if (to->width[d] || !from->width[s]) return false;
    to->width[d] = from->width[s];
    return true;
}

static bool propagate_contiguous_of(assignment *a, tile_op op) {
    bool changed = false;
    if (tile_op_opcode(a->f, op) != TILE_OP_transpose) return false;
    tile_placement p = tile_placement_of(a->f, op, 0, 0);
    contiguous_dims *from = &a->contiguous_dims[layouts_class_of(a, tile_operand_src(a->f, op))],
                    *to = &a->contiguous_dims[layouts_class_of(a, tile_op_result(a->f, op, 0))];
    for (unsigned d = 0; d < p.rank; d++)
        if (propagate_contiguous(to, d, from, p.source[d]) ||
            propagate_contiguous(from, p.source[d], to, d))
            changed = true;
    return changed;
}

/* Whether the lanes that hold such blocks access whole sectors along both dims. */
static bool fills_sectors(const tile_type *type, const uint32_t size[2]) {
    enum { SECTOR = 32, FIRST_LANES = 4, SECOND_LANES = 8 };
    unsigned bytes = tile_scalar_bytes(type->scalar);
    return size[0] * bytes * FIRST_LANES >= SECTOR && size[1] * bytes * SECOND_LANES >= SECTOR;
}

/* Cost of the loads along one dim and the stores along the other with these layouts. */
static unsigned cost_of(const tile_layout *loads, const tile_layout *stores, const unsigned dims[2],
                        const uint32_t size[2], unsigned bytes) {
    tile_traffic in = tile_traffic_global(loads, dims[0], size[0], bytes),
                 out = tile_traffic_global(stores, dims[1], size[1], bytes);
    return tile_traffic_cost_global(&in) + tile_traffic_cost_global(&out);
}

/* Whether blocks cost less than a layout for each side and a conversion between them. */
static bool pays(assignment *a, tile_value value, const tile_layout *both, const unsigned dims[2],
                 const uint32_t size[2]) {
    uint32_t extents[TILE_MAX_RANK];
    unsigned conversion, warps = layouts_warps_of(a, value);
    tile_type draft = *tile_value_type(a->f, value);
    unsigned bytes = tile_scalar_bytes(draft.scalar);
    tile_type_dims(&draft, extents);
    tile_layout in = tile_layout_blocked(extents, draft.rank, size[0], dims[0], warps),
                out = tile_layout_blocked(extents, draft.rank, size[1], dims[1], warps);
    draft.layout = &in;
    if (tile_conversion_of(&draft, &out, &conversion) == TILE_CONVERTS_BY_MEMORY &&
        tile_type_elements(&draft) * bytes > (int64_t)a->pass->target->max_shared_bytes)
        return true;
    return cost_of(both, both, dims, size, bytes) <
           cost_of(&in, &out, dims, size, bytes) + conversion;
}

/* Requests a layout that is wide along both dims, if there are two and every thread can hold a
 * block. Returns whether it did. */
static bool request_wide_along_both(assignment *a, tile_value value) {
    const tile_type *type = tile_value_type(a->f, value);
    const contiguous_dims *l = &a->contiguous_dims[layouts_class_of(a, value)];
    unsigned found = 0, dims[2] = {0}, warps = layouts_warps_of(a, value);
    uint32_t extents[TILE_MAX_RANK], size[2];
    for (unsigned d = type->rank; d-- > 0;)
        if (l->width[d] && found++ < 2) dims[found - 1] = d;
    if (found != 2 || a->class_priority[layouts_class_of(a, value)] >= PRIORITY_TWO_WAY)
        return false;
    tile_type_dims(type, extents);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t part = tile_layout_part_extent(extents[dims[i]]);
        size[i] = l->width[dims[i]] < part ? l->width[dims[i]] : part;
    }
    if (!fills_sectors(type, size)) return false;
    tile_layout layout = tile_layout_blocked_two_dims(extents, type->rank, dims[0], size[0],
                                                      dims[1], size[1], warps);
    if (tile_layout_part_bits(&layout) < TILE_LANE_BITS + tile_log2(size[0] * size[1] * warps))
        return false;
    if (!pays(a, value, &layout, dims, size)) return false;
    request_layout(a, value, PRIORITY_TWO_WAY, &layout);
    resolve_requests(a, NULL, NULL);
    return true;
}

static void propagate_transposes(assignment *a, const propagating_ops *list) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < list->count; i++)
            if (tile_op_opcode(a->f, list->ops[i]) == TILE_OP_transpose)
                changed |= propagate_rearrangement(a, list->ops[i]);
        resolve_requests(a, NULL, NULL);
    }
}

void request_two_way_layouts(assignment *a, const propagating_ops *list) {
    bool changed = true;
    TILE_FOR_EACH_OP_INSIDE (a->f, op, a->f->body) note_contiguous_of(a, op);
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < list->count; i++)
            changed |= propagate_contiguous_of(a, list->ops[i]);
    }
    for (uint32_t id = 1; id < a->value_count; id++) {
        tile_value value = {id};
        if (layouts_is_tile(a, value) && layouts_class_of(a, value) == id &&
            request_wide_along_both(a, value))
            propagate_transposes(a, list); /* before the other classes select their layouts */
    }
}
