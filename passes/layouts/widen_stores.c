/* Finds layouts for stores that would be narrow because dots or loads determined the layout of the
 * tile. */
#include "lib/analysis/access.h"
#include "lib/analysis/conversion.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/liveness.h"
#include "lib/ir/remark.h"
#include "lib/layout/layout.h"
#include "lib/ops/gather.h"
#include "passes/layouts/assign_layouts.h"

/* The number of consecutive elements that one thread holds along dim d. */
static unsigned run_along(const tile_layout *layout, unsigned d) {
    unsigned shift = tile_layout_dim_shift(layout, d), bits = 0, before;
    do {
        before = bits;
        for (unsigned i = 0; i < layout->reg_bits; i++)
            bits += layout->reg[i] == 1u << (shift + bits);
    } while (bits > before && bits < layout->dim_bits[d]);
    return 1u << bits;
}

/* The same for a warp: includes the neighboring elements of other lanes. */
static unsigned reach_along(const tile_layout *layout, unsigned d) {
    unsigned reach = run_along(layout, d), shift = tile_layout_dim_shift(layout, d), before;
    do {
        before = reach;
        for (unsigned i = 0; i < TILE_LANE_BITS; i++)
            if (layout->lane[i] == reach << shift) reach *= 2;
    } while (reach > before && reach >> layout->dim_bits[d] == 0);
    return reach;
}

/* How often a warp writes each sector, where each lane stores `width` of its elements at once. */
static unsigned writes_of_sector(const tile_layout *layout, unsigned d, unsigned width,
                                 unsigned sector) {
    const unsigned run = run_along(layout, d);
    return (run < sector ? run : sector) / width;
}

/* Whether shared memory has room for a buffer through which threads exchange the tile before op. */
static bool has_room(const store_widening *w, tile_op op, const tile_type *tile) {
    int64_t taken = w->exchanged + (op.id < w->op_count ? w->shared_bytes[op.id] : 0);
    int64_t bytes = tile_type_elements(tile) * tile_scalar_bytes(tile->scalar) *
                    tile_executors_of(w->f, op).groups;
    if (taken + bytes <= (int64_t)w->pass->target->max_shared_bytes) return true;
    tile_missed_at(w->f, op, "narrow accesses", "use smaller buffers or fewer stages",
                   "shared memory is too small for its threads to exchange elements");
    return false;
}

/* Whether the index tile grows by 1 along its dim d almost everywhere: it is the sum, or the
 * remainder, of an iota and of what is the same along d. */
static bool steps_along(const tile_function *f, tile_value tile, unsigned d, unsigned depth) {
    const tile_op op = tile_value_def(f, tile);
    const tile_type *type = tile_value_type(f, tile);
    if (!op.id || !depth-- || type->kind != TILE_TYPE_TILE || d >= type->rank) return false;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_iota: return tile_op_attr_int(f, op, TILE_ATTR_axis, 0) == d;
    case TILE_OP_add:
        if (tile_is_repeated(f, tile_operand_lhs(f, op), d))
            return steps_along(f, tile_operand_rhs(f, op), d, depth);
        return tile_is_repeated(f, tile_operand_rhs(f, op), d) &&
               steps_along(f, tile_operand_lhs(f, op), d, depth);
    case TILE_OP_sub:
    case TILE_OP_rem:
        return tile_is_repeated(f, tile_operand_rhs(f, op), d) &&
               steps_along(f, tile_operand_lhs(f, op), d, depth);
    case TILE_OP_broadcast: {
        const tile_value src = tile_operand_src(f, op);
        return tile_value_type(f, src)->rank == type->rank && steps_along(f, src, d, depth);
    }
    default: return false;
    }
}

/* The dim of the tile along which elements follow each other in memory; the rank if it is not
 * known. */
static unsigned find_adjacent(const tile_function *f, const tile_gather *g,
                              const tile_access_facts *facts, const tile_type *type) {
    enum { DEPTH = 16 };
    const tile_type *view = tile_value_type(f, g->memory);
    unsigned d = tile_unit_dim(facts, view->rank, type->rank), last = type->rank - 1u;
    bool by_index = d == type->rank && g->tiles && !g->covered && !view->has_strides;
    if (by_index && steps_along(f, g->index[view->rank - 1], last, DEPTH)) return last;
    return d;
}

/* A conversion pays off if the lanes do not fill sectors, or if accesses are narrower than they
 * could be. Lanes that have more than a vector, and store few elements at once, write each sector
 * again and again. (Lanes that have a vector each can shift it: passes/lower/store_shifted.c.) */
bool widen_store(const store_widening *w, tile_op op, tile_layout *wide) {
    enum { SECTOR = 32, VECTOR = 16, OFTEN = 4 };
    tile_gather g;
    tile_value tile = tile_operand_src(w->f, op);
    const tile_type *type = tile_value_type(w->f, tile);
    if (type->kind != TILE_TYPE_TILE || !tile_gather_of(w->f, op, &g)) return false;
    const tile_values element = tile_operands_dst(w->f, op);
    const tile_type *view = tile_value_type(w->f, element.at[0]);
    if (view->kind != TILE_TYPE_VIEW || view->layout) return false;
    tile_access_facts facts = tile_view_access(w->f, w->ranges, element.at);
    unsigned d = find_adjacent(w->f, &g, &facts, type);
    if (d == type->rank) return false;
    if (g.predicate.id && !tile_is_repeated(w->f, g.predicate, d))
        return false; /* it is accessed element by element anyway */
    unsigned now = run_along(type->layout, d), bytes = tile_scalar_bytes(type->scalar);
    *wide =
        tile_access_layout(w->f, w->ranges, element.at, type, tile_executors_of(w->f, op).warps);
    unsigned then = run_along(wide, d);
    bool narrow = now < facts.width && now < then;
    bool scattered = reach_along(type->layout, d) * bytes < SECTOR &&
                     reach_along(wide, d) > reach_along(type->layout, d);
    const unsigned writes = writes_of_sector(type->layout, d, facts.width, SECTOR / bytes);
    bool repeated = now * bytes > VECTOR && writes >= OFTEN &&
                    writes > writes_of_sector(wide, d, facts.width, SECTOR / bytes);
    if (!narrow && !scattered && !repeated) return false;
    return tile_conversion_of(type, wide, NULL) != TILE_CONVERTS_BY_MEMORY || has_room(w, op, type);
}
