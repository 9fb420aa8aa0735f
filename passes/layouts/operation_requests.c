/* Requests of operations for their tiles: fragments for dots, wide accesses for loads and stores,
 * pieces for stores through a ring. */
#include "lib/analysis/access.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/rearranged.h"
#include "lib/layout/axis_map.h"
#include "lib/layout/layout.h"
#include "lib/layout/traffic.h"
#include "lib/ops/atomic.h"
#include "lib/ops/gather.h"
#include "lib/ops/shape.h"
#include "passes/common/warpgroup.h"
#include "passes/expand/prepare.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/requests.h"

enum { MAX_SOURCES = 64 };

/* Whether a tile can be computed in any layout because its sources can: reads from shared memory
 * (sets *shared), loads, and constants. *budget: number of values that may still be visited,
 * including repeated visits. */
static bool accepts_any_layout(const assignment *a, tile_value tile, unsigned *budget,
                               bool *shared) {
    tile_op def = tile_value_def(a->f, tile);
    tile_opcode opcode = tile_op_opcode(a->f, def);
    if (!layouts_is_tile(a, tile)) return true;
    if (!def.id || !*budget) return false;
    --*budget;
    *shared |= opcode == TILE_OP_load_shared;
    if (opcode == TILE_OP_load_shared || opcode == TILE_OP_load || opcode == TILE_OP_iota)
        return true;
    bool passes = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) ||
                  opcode == TILE_OP_broadcast || tile_is_rearrangement(a->f, def);
    for (unsigned i = 0; i < tile_op_operand_count(a->f, def) && passes; i++)
        passes = accepts_any_layout(a, tile_op_operand(a->f, def, i), budget, shared);
    return passes;
}

/* Whether a tile comes from shared memory, possibly computed or rearranged, so that it can be read
 * in any layout. */
static bool is_read_from_shared(const assignment *a, tile_value tile) {
    unsigned budget = MAX_SOURCES;
    bool shared = false;
    return accepts_any_layout(a, tile, &budget, &shared) && shared;
}

/* Puts as many warps along one dim as have their own fragment there, the others along the other
 * dim. */
static void choose_warps(const assignment *a, tile_op op, const tile_mma *row, uint32_t *along_m,
                         uint32_t *along_n) {
    const tile_type *acc = tile_value_type(a->f, tile_op_result(a->f, op, 0));
    uint32_t m = (uint32_t)tile_type_dim(acc, 0), n = (uint32_t)tile_type_dim(acc, 1);
    unsigned warps = layouts_warps_at(a, op);
    tile_word policy = tile_op_word(a->f, op, TILE_ATTR_policy);
    bool rows = policy == TILE_WORD_policy_rows;
    tile_mma_choose_warps(row, m, n, warps, along_m, along_n);
    if (!rows && policy != TILE_WORD_policy_columns) return;
    uint32_t fragments =
        rows ? tile_layout_part_extent(m) / row->m : tile_layout_part_extent(n) / row->n;
    uint32_t most = fragments < 1 ? 1 : fragments < warps ? fragments : warps;
    *along_m = rows ? most : warps / most;
    *along_n = rows ? warps / most : most;
}

/* Whether the bytes of an operand in shared memory are contiguous along its other dim than k. */
static bool has_pairs(const assignment *a, tile_op op, unsigned operand) {
    tile_value value = tile_op_segment(a->f, op, operand).at[0];
    tile_op def = tile_value_def(a->f, value);
    if (tile_op_opcode(a->f, def) == TILE_OP_load_shared)
        value = tile_operands_src(a->f, def).at[0];
    const tile_type *type = tile_value_type(a->f, value);
    if (type->kind != TILE_TYPE_SHARED || type->rank != 2) return false;
    const tile_layout *layout =
        type->layout ? type->layout : &a->shared[tile_shared_source(a->f, value).id];
    unsigned k = operand == TILE_MMA_LHS;
    return layout->rank == 2 && layout->reg_bits &&
           tile_layout_coordinate(layout, layout->reg[0], 1 - k) == 1;
}

/* The form of the row that reads bytes in pairs, if an operand has these; else the row. */
static const tile_mma *prefer_pairs(const assignment *a, tile_op op, const tile_mma *row) {
    const tile_type *acc = tile_value_type(a->f, tile_op_result(a->f, op, 0));
    for (unsigned operand = 0; operand < 2; operand++) {
        const tile_mma *paired = tile_mma_pair(row, operand);
        if (paired && has_pairs(a, op, operand) && tile_type_dim(acc, 0) % paired->m == 0 &&
            tile_type_dim(acc, 1) % paired->n == 0)
            return paired;
    }
    return row;
}

/* Without an instruction. If threads outnumber the sums, each one holds neighbors along n. */
static tile_layout lay_out_fma(const assignment *a, tile_op op, const tile_type *acc) {
    uint32_t dims[TILE_MAX_RANK];
    tile_layout layout;
    if (layouts_of_fma(a, op, &layout)) return layout;
    tile_type_dims(acc, dims);
    return tile_layout_blocked(dims, 2, 16 / tile_scalar_bytes(acc->scalar), 1,
                               layouts_warps_at(a, op));
}

/* The accumulator of a dot by wgmma. If its first operand is loaded to registers because its bytes
 * are not contiguous along k, rows are paired. */
static bool lay_out_warpgroup(const assignment *a, tile_op op, tile_layout *layout) {
    unsigned row_dim;
    uint32_t dims[TILE_MAX_RANK];
    if (!warpgroup_accumulator(a->f, op, &row_dim, layout)) return false;
    unsigned first = warpgroup_first(row_dim);
    const tile_type *type = warpgroup_operand(a->f, op, first);
    if (type->kind != TILE_TYPE_TILE || tile_scalar_bits(type->scalar) != 8 ||
        !has_pairs(a, op, first))
        return true;
    tile_type_dims(tile_value_type(a->f, tile_op_result(a->f, op, 0)), dims);
    *layout = tile_wgmma_paired_accumulator(dims, row_dim, layouts_warps_at(a, op));
    return true;
}

request_priority dot_sum_request(const assignment *a, tile_op op, tile_layout *layout) {
    uint32_t warps_m, warps_n;
    if (warpgroup_uses_wgmma(a->f, op))
        return lay_out_warpgroup(a, op, layout) ? PRIORITY_WARPGROUP : PRIORITY_NONE;
    const tile_mma *row = layouts_choose_mma(a->pass, a->f, op, false);
    const tile_type *acc = tile_value_type(a->f, tile_op_result(a->f, op, 0));
    if (!row) {
        *layout = lay_out_fma(a, op, acc);
        return PRIORITY_FMA;
    }
    row = prefer_pairs(a, op, row);
    choose_warps(a, op, row, &warps_m, &warps_n);
    *layout = tile_mma_accumulator(row, (uint32_t)tile_type_dim(acc, 0),
                                   (uint32_t)tile_type_dim(acc, 1), warps_m, warps_n);
    return PRIORITY_ACCUMULATOR;
}

void request_sums(assignment *a, tile_op op) {
    tile_layout layout;
    if (tile_op_opcode(a->f, op) != TILE_OP_dot) return;
    request_priority priority = dot_sum_request(a, op, &layout);
    if (priority) request_layout(a, tile_op_result(a->f, op, 0), priority, &layout);
}

/* The fragment layout of the operand that wgmma takes from registers. */
static bool takes_fragment(const assignment *a, tile_op op, unsigned operand,
                           const tile_layout *sum, tile_layout *fragment) {
    tile_scalar scalar = warpgroup_operand(a->f, op, TILE_MMA_ACC)->scalar;
    uint32_t columns;
    unsigned row_dim = TILE_WGMMA_PLAIN;
    if (!tile_wgmma_holds(sum, row_dim, scalar, &columns)) row_dim = TILE_WGMMA_SWAPPED;
    return operand == warpgroup_first(row_dim) &&
           tile_wgmma_holds(sum, row_dim, scalar, &columns) &&
           warpgroup_fragment(a->f, op, sum, row_dim, fragment);
}

bool dot_fragment_layout(const assignment *a, tile_op op, unsigned operand, const tile_layout *sum,
                         tile_layout *fragment) {
    tile_value value = tile_op_segment(a->f, op, operand).at[0];
    if (!layouts_is_tile(a, value)) return false;
    if (warpgroup_uses_wgmma(a->f, op)) return takes_fragment(a, op, operand, sum, fragment);
    tile_mma_query query = tile_product_query(a->f, op);
    query.features = a->pass->target->features;
    query.acc_layout = sum;
    const tile_mma *row = tile_mma_find(&query);
    if (row) *fragment = tile_product_fragment(row, sum, operand, tile_value_type(a->f, value));
    return row != NULL;
}

/* Whether the operand can be produced as fragments without a conversion. */
static bool comes_in_fragments(const assignment *a, tile_op op, unsigned operand) {
    unsigned row_dim;
    tile_value value = tile_op_segment(a->f, op, operand).at[0];
    if (!layouts_is_tile(a, value)) return false;
    if (!warpgroup_uses_wgmma(a->f, op)) return is_read_from_shared(a, value);
    return warpgroup_row_dim(a->f, op, &row_dim) && operand == warpgroup_first(row_dim) &&
           warpgroup_register_operand(a->f, op, row_dim).id;
}

static void request_dot_operands(assignment *a, tile_op op) {
    tile_layout fragment;
    const tile_layout *sum = requested_layout(a, tile_op_result(a->f, op, 0));
    for (unsigned operand = 0; operand < 2 && sum; operand++)
        if (comes_in_fragments(a, op, operand) &&
            dot_fragment_layout(a, op, operand, sum, &fragment))
            request_layout(a, tile_op_segment(a->f, op, operand).at[0], PRIORITY_DOT_OPERAND,
                           &fragment);
}

/* Treated like a store of the tile. */
static void request_atomic(assignment *a, tile_op op) {
    tile_value tile = tile_moved_operand(a->f, op);
    const tile_values memory = tile_operands_dst(a->f, op);
    if (!layouts_is_tile(a, tile) || tile_value_type(a->f, memory.at[0])->kind != TILE_TYPE_VIEW)
        return;
    tile_layout layout = tile_access_layout(a->f, a->ranges, memory.at, tile_value_type(a->f, tile),
                                            layouts_warps_at(a, op));
    request_layout(a, tile, PRIORITY_STORE, &layout);
}

const tile_value *find_transfer(const tile_function *f, tile_op op, tile_value *tile) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_load && opcode != TILE_OP_store) return NULL;
    bool loads = opcode == TILE_OP_load;
    const tile_values element = loads ? tile_operands_src(f, op) : tile_operands_dst(f, op);
    *tile = layouts_moved_tile(f, op);
    return tile->id && tile_value_type(f, element.at[0])->kind == TILE_TYPE_VIEW ? element.at
                                                                                 : NULL;
}

static bool is_opaque(const tile_function *f, tile_value memory) {
    tile_op def = tile_value_def(f, memory);
    return tile_op_opcode(f, def) == TILE_OP_scratch && tile_op_has_attr(f, def, TILE_ATTR_opaque);
}

/* The bytes of a tile's elements that have the same coordinates up to this dim. */
static uint64_t bytes_after(const tile_type *type, unsigned dim) {
    uint64_t bytes = tile_scalar_bytes(type->scalar);
    for (unsigned d = dim + 1; d < type->rank; d++) bytes *= (uint64_t)tile_type_dim(type, d);
    return bytes;
}

/* Scans of the tile, or into it, along an axis whose neighbors are in different sectors: each
 * thread holds consecutive elements, so that fewer sums are exchanged, and accesses are as wide. */
static void request_for_scans(assignment *a, tile_value tile, request_priority priority,
                              const tile_layout *layout) {
    const tile_type *type = tile_value_type(a->f, tile);
    tile_layout ordered;
    for (const layout_use *use = a->uses[layouts_class_of(a, tile)]; use; use = use->next) {
        tile_opcode opcode = tile_op_opcode(a->f, use->op);
        unsigned axis = (unsigned)tile_op_attr_int(a->f, use->op, TILE_ATTR_axis, 0);
        if ((opcode == TILE_OP_scan || opcode == TILE_OP_scan_with) && axis < type->rank &&
            bytes_after(type, axis) >= TILE_SECTOR &&
            tile_axis_map_registers_first(layout, axis, &ordered))
            request_layout(a, tile, priority, &ordered);
    }
}

void request_operation(assignment *a, tile_op op) {
    tile_function *f = a->f;
    tile_value tile;
    if (tile_op_opcode(f, op) == TILE_OP_dot) request_dot_operands(a, op);
    const tile_value *element = find_transfer(f, op, &tile);
    if (element && (a->ordered || !is_opaque(f, element[0]))) {
        bool loads = tile_op_opcode(f, op) == TILE_OP_load;
        tile_layout layout =
            (tile_is_whole_access(f, op) ? tile_transfer_layout : tile_access_layout)(
                f, a->ranges, element, tile_value_type(f, tile), layouts_warps_at(a, op));
        request_priority priority = loads ? PRIORITY_LOAD : PRIORITY_STORE;
        request_layout(a, tile, priority, &layout);
        request_for_scans(a, tile, priority, &layout);
    }
    if (tile_op_opcode(f, op) == TILE_OP_store_async) {
        uint32_t extents[TILE_MAX_RANK];
        tile_layout layout = layouts_of_pieces(f, op, extents);
        request_layout(a, tile_operand_src(f, op), PRIORITY_STORE_RING, &layout);
    }
    if (layouts_is_atomic_tile(f, op)) request_atomic(a, op);
}

void request_order(assignment *a, tile_op op) {
    tile_function *f = a->f;
    tile_value tile;
    tile_layout order;
    const tile_value *element = find_transfer(f, op, &tile);
    if (!element || tile_op_opcode(f, op) != TILE_OP_store || !is_opaque(f, element[0])) return;
    const tile_type *view = tile_value_type(f, element[0]);
    uint32_t class = layouts_class_of(a, tile);
    if (!view->layout && a->class_priority[class] &&
        order_scratch(f, a->ranges, element[0], &a->class_layout[class], &order)) {
        tile_value_at(f, element[0])->type = tile_type_with_layout(a->pass->context, view, &order);
        a->is_fixed[class] = true;
    }
}
