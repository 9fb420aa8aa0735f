/* Conversions, the last part of assign-layouts. They are inserted:
 *
 * - before a `dot` whose operand is not held as a fragment
 * - before a store that would be narrow
 * - before a `broadcast` whose operand has a layout that others requested
 * - at a rearrangement whose result has another layout than its users need
 *
 * The result of an atomic operation that only one thread receives also goes through a buffer. */
#include <string.h>

#include "lib/analysis/conversion.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/liveness.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/rearranged.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "lib/layout/reduce.h"
#include "lib/ops/atomic.h"
#include "lib/ops/combine.h"
#include "lib/ops/gather.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "passes/common/slice.h"
#include "passes/common/warpgroup.h"
#include "passes/expand/prepare.h"
#include "passes/layouts/assign_layouts.h"

/* An existing conversion. Later operations in its region, or in nested ones, share it. */
typedef struct made_conversion {
    tile_value result;
    tile_region region;
    struct made_conversion *next;
} made_conversion;

typedef struct conversions {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    store_widening widening;
    tile_value *instead;               /* by value: replacement in later operations; 0: none */
    made_conversion **made_conversion; /* by value: its conversions */
    size_t room;                       /* size of these two arrays */
} conversions;

static void make_room(conversions *c, tile_value value) {
    if (value.id < c->room) return;
    size_t room = c->f->value_count * (size_t)2;
    tile_value *instead = TILE_NEW_ARRAY(c->pass->scratch, tile_value, room);
    made_conversion **list = TILE_NEW_ARRAY(c->pass->scratch, made_conversion *, room);
    if (c->room) memcpy(instead, c->instead, sizeof *instead * c->room);
    if (c->room) memcpy(list, c->made_conversion, sizeof *list * c->room);
    c->instead = instead;
    c->made_conversion = list;
    c->room = room;
}

/* Called before later operations are visited, because they use the value. */
static void use_instead(conversions *c, tile_value value, tile_value other) {
    make_room(c, value);
    c->instead[value.id] = other;
}

static void take_instead(conversions *c, tile_op op) {
    tile_op_data *data = tile_op_at(c->f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) {
        uint32_t id = data->operands[i].id;
        if (id >= c->room || !c->instead[id].id) continue;
        /* its own definition keeps using the original */
        if (tile_value_def(c->f, c->instead[id]).id != op.id) data->operands[i] = c->instead[id];
    }
}

/* The type of a shared buffer for a tile. */
static const tile_type *buffer_type(const conversions *c, const tile_type *tile) {
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(tile, dims);
    tile_layout spread = tile_layout_shared_swizzled(dims, tile->rank, tile->rank - 1,
                                                     tile_scalar_bytes(tile->scalar));
    tile_type draft = *tile;
    draft.kind = TILE_TYPE_SHARED;
    draft.layout = &spread;
    return tile_type_get(c->pass->context, &draft);
}

/* The type of a shared buffer for converting a tile from one layout to another. */
static const tile_type *exchange_type(const conversions *c, const tile_type *from,
                                      const tile_layout *to) {
    tile_type draft = *buffer_type(c, from);
    tile_layout between = tile_layout_exchange(from->layout, to, tile_scalar_bytes(from->scalar));
    draft.layout = &between;
    return tile_type_get(c->pass->context, &draft);
}

static tile_value repeatable(conversions *c, tile_op op, tile_value tile,
                             const tile_layout *result);

/* Converts within each thread's registers if threads hold the same elements in another order, by
 * shuffles if warps do and that is cheaper, else through a buffer. */
static tile_value exchange(conversions *c, tile_builder *b, tile_value tile, const tile_type *to) {
    const tile_type *from = tile_value_type(c->f, tile);
    if (tile_conversion_of(from, to->layout, NULL) != TILE_CONVERTS_BY_MEMORY)
        return tile_build_convert_layout(b, tile, TILE_NO_VALUE, to);
    tile_value buffer = tile_build_alloc_shared(b, exchange_type(c, from, to->layout));
    if (c->f->sync_explicit) /* the end of its live range is unknown */
        c->widening.exchanged += tile_type_elements(from) * tile_scalar_bytes(from->scalar);
    tile_value converted = tile_build_convert_layout(b, tile, buffer, to);
    tile_build_free_shared(b, buffer);
    tile_pass_count(c->pass, "conversions", 1);
    return converted;
}

static tile_region definition_region(const tile_function *f, tile_value value) {
    const tile_value_data *data = tile_value_at(f, value);
    if (data->kind == TILE_VALUE_RESULT) return tile_op_at(f, (tile_op){data->owner})->parent;
    return data->kind == TILE_VALUE_REGION ? (tile_region){data->owner} : f->body;
}

tile_op layouts_place_of(const tile_function *f, tile_op op, tile_value tile) {
    tile_region home = definition_region(f, tile);
    for (tile_op parent; tile_op_at(f, op)->parent.id != home.id; op = parent) {
        parent = tile_op_parent(f, op);
        if (!parent.id || !tile_repeats(f, parent)) break;
    }
    return op;
}

static bool encloses(const conversions *c, tile_region region, tile_op op) {
    for (; op.id; op = tile_op_parent(c->f, op))
        if (tile_op_at(c->f, op)->parent.id == region.id) return true;
    return false;
}

/* A conversion that dominates op, or 0. */
static tile_value find_made(const conversions *c, tile_op op, tile_value tile,
                            const tile_type *to) {
    made_conversion *m = tile.id < c->room ? c->made_conversion[tile.id] : NULL;
    while (m && (tile_value_type(c->f, m->result) != to || !encloses(c, m->region, op)))
        m = m->next;
    return m ? m->result : TILE_NO_VALUE;
}

/* Converts by a hoisted exchange that all users share. */
static tile_value share_exchange(conversions *c, tile_op op, tile_value tile, const tile_type *to) {
    tile_value known = find_made(c, op, tile, to);
    if (known.id) return known;
    tile_builder b = tile_builder_before(c->f, layouts_place_of(c->f, op, tile));
    b.loc = tile_op_loc(c->f, op);
    made_conversion *m = TILE_NEW(c->pass->scratch, made_conversion);
    *m = (made_conversion){.result = exchange(c, &b, tile, to), .region = b.region};
    make_room(c, tile);
    m->next = c->made_conversion[tile.id];
    c->made_conversion[tile.id] = m;
    return m->result;
}

/* The source of a chain of conversions, so that no element is moved twice. */
static tile_value find_source(const conversions *c, tile_value tile) {
    for (tile_op def; def = tile_value_def(c->f, tile), def.id;) {
        if (tile_op_opcode(c->f, def) != TILE_OP_convert_layout) break;
        tile = tile_operand_src(c->f, def);
    }
    return tile;
}

/* Converts a tile before op. Tiles without inputs are recomputed. For a broadcast, the operand,
 * which has fewer elements, is converted. Others go through a buffer. */
static tile_value convert(conversions *c, tile_op op, tile_value tile, const tile_layout *layout) {
    tile_builder b = tile_builder_before(c->f, op);
    tile = find_source(c, tile);
    const tile_type *from = tile_value_type(c->f, tile);
    const tile_type *to = tile_type_with_layout(c->pass->context, from, layout);
    tile_op def = tile_value_def(c->f, tile);
    if (from == to) return tile;
    if (tile_op_opcode(c->f, def) == TILE_OP_splat)
        return tile_build_splat(&b, tile_operand_src(c->f, def), to);
    if (tile_op_opcode(c->f, def) == TILE_OP_iota) return slice_iota(&b, def, to);
    if (tile_op_opcode(c->f, def) == TILE_OP_broadcast)
        return tile_build_broadcast(&b, repeatable(c, op, tile_operand_src(c->f, def), layout), to);
    if (tile_op_opcode(c->f, def) == TILE_OP_inside && tile_is_plain_access(c->f, def)) {
        const tile_values src = tile_operands_src(c->f, def);
        return tile_build_inside(&b, src.at[0], src.at + 1, src.count - 1, to);
    }
    return share_exchange(c, op, tile, to);
}

/* The operand of a broadcast before op, in the layout that a result with this layout needs. */
static tile_value repeatable(conversions *c, tile_op op, tile_value tile,
                             const tile_layout *result) {
    const tile_type *type = tile_value_type(c->f, tile);
    tile_layout narrow = tile_broadcast_layout(type, result);
    return tile_layout_equal(&narrow, type->layout) ? tile : convert(c, op, tile, &narrow);
}

/* Stores a tile to shared memory first: without an instruction, both operands are read from there,
 * and wgmma reads one there. */
static void stage_operand_in_shared(conversions *c, tile_op op, unsigned operand, tile_value tile) {
    tile_builder b = tile_builder_before(c->f, op);
    const tile_type *type = buffer_type(c, tile_value_type(c->f, tile));
    if (warpgroup_uses_wgmma(c->f, op)) {
        tile_layout layout =
            warpgroup_buffer_layout(type, warpgroup_contiguous_dim(c->f, op, operand));
        type = tile_type_with_layout(c->pass->context, type, &layout);
    }
    tile_value buffer = tile_build_alloc_shared(&b, type);
    if (c->f->sync_explicit) tile_build_sync_for(&b, tile_executors_of(c->f, op));
    tile_build_store_shared(&b, tile, buffer, NULL, 0);
    if (c->f->sync_explicit) tile_build_sync_for(&b, tile_executors_of(c->f, op));
    prepare_set_operand(c->f, op, operand, buffer);
    b.before = tile_op_at(c->f, op)->next;
    tile_build_free_shared(&b, buffer);
}

/* The class may have another layout for the accumulator than its dot requested. */
static void explain_layout(conversions *c, tile_op op) {
    char why[160];
    tile_mma_query query = tile_product_query(c->f, op);
    query.features = c->pass->target->features;
    if (!layouts_choose_mma(c->pass, c->f, op, false)) return; /* reported before */
    tile_mma_explain(&query, why, sizeof why);
    tile_remark_at(c->f, op, "dot: %s; an fma loop in each thread computes it", why);
}

static void take_fragment(conversions *c, tile_op op, unsigned operand, const tile_layout *layout) {
    tile_value value = tile_op_segment(c->f, op, operand).at[0];
    if (!tile_layout_equal(layout, tile_value_type(c->f, value)->layout))
        prepare_set_operand(c->f, op, operand, convert(c, op, value, layout));
}

/* Transposes an operand in registers: only wgmma reads transposed operands from shared memory in
 * place. */
static void transpose_operand(conversions *c, tile_op op, unsigned operand, tile_attr_id trans) {
    static const unsigned source[] = {1, 0};
    uint32_t dims[TILE_MAX_RANK];
    tile_layout turned;
    if (!tile_op_has_attr(c->f, op, trans)) return;
    const tile_values element = tile_op_segment(c->f, op, operand);
    tile_builder b = tile_builder_before(c->f, op);
    tile_value tile = prepare_tile(&b, element.at, element.count);
    const tile_type *type = tile_value_type(c->f, tile);
    tile_type_dims(type, dims);
    tile_layout layout = tile_layout_blocked(dims, 2, 1, 1, tile_executors_of(c->f, op).warps);
    tile_value_at(c->f, tile)->type = tile_type_with_layout(c->pass->context, type, &layout);
    tile_value result = tile_build_transpose(&b, tile, NULL);
    tile_type_dims(tile_value_type(c->f, result), dims);
    tile_layout_rearrange(&layout, dims, 2, source, &turned);
    tile_value_at(c->f, result)->type =
        tile_type_with_layout(c->pass->context, tile_value_type(c->f, result), &turned);
    prepare_set_operand(c->f, op, operand, result);
    tile_op_remove_attr(c->f, op, trans);
}

/* Returns false if the layouts do not allow wgmma, so that the dot is left to mma. */
static bool convert_for_warpgroup(conversions *c, tile_op op) {
    unsigned row_dim = TILE_WGMMA_PLAIN;
    uint32_t columns;
    warpgroup_plan plan;
    tile_layout fragment;
    const tile_type *acc = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    if (!tile_wgmma_holds(acc->layout, row_dim, acc->scalar, &columns))
        row_dim = TILE_WGMMA_SWAPPED;
    unsigned first = warpgroup_first(row_dim);
    tile_value second = tile_op_segment(c->f, op, 1 - first).at[0];
    if (tile_wgmma_holds(acc->layout, row_dim, acc->scalar, &columns)) {
        if (tile_value_type(c->f, second)->kind == TILE_TYPE_TILE) {
            stage_operand_in_shared(c, op, 1 - first, second);
            warpgroup_make_synchronous(c->f, op,
                                       "an operand is copied through a buffer, which is "
                                       "overwritten while later products still run");
        }
        if (warpgroup_fragment(c->f, op, acc->layout, row_dim, &fragment))
            take_fragment(c, op, first, &fragment);
    }
    const char *fault = warpgroup_find_plan(c->f, op, &plan);
    if (!fault) return true;
    tile_op_set_text(c->f, op, TILE_ATTR_via, "mma");
    tile_op_remove_attr(c->f, op, TILE_ATTR_swap_operands);
    transpose_operand(c, op, TILE_MMA_LHS, TILE_ATTR_trans_lhs);
    transpose_operand(c, op, TILE_MMA_RHS, TILE_ATTR_trans_rhs);
    tile_missed_at(c->f, op, "no wgmma", NULL, "%s", fault);
    return false;
}

static void convert_dot_operands(conversions *c, tile_op op) {
    if (warpgroup_uses_wgmma(c->f, op) && convert_for_warpgroup(c, op)) return;
    const tile_layout *acc = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    const tile_mma *row = layouts_choose_mma(c->pass, c->f, op, true);
    if (!row) explain_layout(c, op);
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value value = tile_op_segment(c->f, op, operand).at[0];
        const tile_type *type = tile_value_type(c->f, value);
        if (type->kind != TILE_TYPE_TILE) continue;
        if (!row) {
            stage_operand_in_shared(c, op, operand, value);
            continue;
        }
        tile_layout layout = tile_product_fragment(row, acc, operand, type);
        take_fragment(c, op, operand, &layout);
    }
}

static void convert_repeated(conversions *c, tile_op op) {
    const tile_layout *result = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    tile_set_operand(c->f, op, TILE_OPERAND_src,
                     repeatable(c, op, tile_operand_src(c->f, op), result));
}

/* Allocates a buffer for op and appends it as the last operand of its row. */
static void append_buffer(conversions *c, tile_op op, unsigned place, const tile_type *type) {
    tile_builder b = tile_builder_before(c->f, op);
    tile_value buffer = tile_build_alloc_shared(&b, type);
    tile_op_data *data = tile_op_at(c->f, op);
    tile_value *operands =
        TILE_NEW_ARRAY(&c->f->module->arena, tile_value, data->operand_count + 1u);
    memcpy(operands, data->operands, sizeof *operands * data->operand_count);
    operands[data->operand_count++] = buffer;
    data->operands = operands;
    data->segment[place] = 1;
    b.before = data->next;
    tile_build_free_shared(&b, buffer);
}

static void attach_named_buffer(conversions *c, tile_op op, tile_operand_name name,
                                const tile_type *type) {
    append_buffer(c, op, tile_place_of(tile_op_opcode(c->f, op), name), type);
}

/* Rearranged elements -------------------------------------------------------------------------- */

static bool has_layout(const conversions *c, tile_value tile, const tile_layout *layout) {
    return tile_layout_same_threads(tile_value_type(c->f, tile)->layout, layout);
}

/* The layouts that the operands must have for a result with this layout; false if there are
 * none. */
static bool find_operands(const conversions *c, tile_op op, const tile_layout *result,
                          tile_layout *layouts) {
    bool found = true;
    for (unsigned i = 0; i < tile_moved_operands(c->f, op) && found; i++)
        found = tile_layout_of_operand(c->f, op, i, result, &layouts[i]);
    return found;
}

static void convert_operands(conversions *c, tile_op op, const tile_layout *layouts) {
    for (unsigned i = 0; i < tile_moved_operands(c->f, op); i++) {
        tile_value tile = tile_op_operand(c->f, op, i);
        if (has_layout(c, tile, &layouts[i])) continue;
        tile_value converted = convert(c, op, tile, &layouts[i]);
        tile_op_at(c->f, op)->operands[i] = converted;
    }
}

/* Gives the results this layout, and converts them to their previous one after the operation. */
static void convert_results(conversions *c, tile_op op, const tile_layout *natural) {
    for (unsigned r = 0; r < tile_op_result_count(c->f, op); r++) {
        tile_value result = tile_op_result(c->f, op, r);
        const tile_type *wanted = tile_value_type(c->f, result);
        if (has_layout(c, result, natural)) continue;
        tile_value_at(c->f, result)->type =
            tile_type_with_layout(c->pass->context, wanted, natural);
        tile_builder b = tile_builder_before(c->f, op);
        b.before = tile_op_next(c->f, op);
        use_instead(c, result, exchange(c, &b, result, wanted));
    }
}

/* Appends a buffer for all elements, in row-major order, as the operation's last operand. */
static void attach_row_buffer(conversions *c, tile_op op) {
    const tile_op_data *data = tile_op_at(c->f, op);
    unsigned place = tile_op_get_info((tile_opcode)data->opcode)->operand_count - 1u;
    if (data->segment[place]) return;
    tile_type draft = *tile_value_type(c->f, tile_operand_src(c->f, op));
    int64_t elements = tile_type_elements(&draft);
    while (!tile_layout_admits_extent(elements)) elements++;
    draft.rank = 1;
    draft.dims[0] = tile_expr_int(c->pass->context, elements);
    append_buffer(c, op, place, buffer_type(c, &draft));
}

/* Converts operands or results if the operands do not have the layouts that the result's layout
 * needs. A single operand is kept and the result is converted; of several operands, those that
 * differ are converted. */
static void convert_rearranged(conversions *c, tile_op op) {
    unsigned count = tile_moved_operands(c->f, op);
    tile_layout natural, *layouts = TILE_NEW_ARRAY(c->pass->scratch, tile_layout, count);
    const tile_layout *wanted = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    const tile_layout *held = tile_value_type(c->f, tile_first_operand(c->f, op))->layout;
    if (!tile_can_rearrange(c->f, op)) {
        attach_row_buffer(c, op);
        return;
    }
    bool direct = find_operands(c, op, wanted, layouts);
    bool fits = direct && tile_op_result_count(c->f, op) == 1;
    for (unsigned i = 0; i < count && fits; i++)
        fits = has_layout(c, tile_op_operand(c->f, op, i), &layouts[i]);
    if (fits) return;
    bool forward = tile_layout_of_result(c->f, op, 0, held, &natural);
    if (forward && (count == 1 || !direct)) {
        if (find_operands(c, op, &natural, layouts)) convert_operands(c, op, layouts);
        convert_results(c, op, &natural);
        return;
    }
    convert_operands(c, op, layouts);
    convert_results(c, op, wanted);
}

/* The threads that access an element must hold its index and its predicate. */
static void convert_gathered(conversions *c, tile_op op) {
    tile_gather g;
    tile_layout points, copied;
    tile_value moved = layouts_moved_tile(c->f, op);
    bool copies = layouts_of_copy(c->f, c->ranges, op, &copied);
    if ((!moved.id && !copies) || !tile_gather_of(c->f, op, &g)) return;
    const tile_layout *layout = copies ? &copied : tile_value_type(c->f, moved)->layout;
    if (g.tiles) points = tile_points_layout(g.shape, layout, false);
    tile_op_data *data = tile_op_at(c->f, op);
    for (uint32_t i = 0; i < data->operand_count; i++, data = tile_op_at(c->f, op)) {
        tile_value value = data->operands[i];
        const tile_type *type = tile_value_type(c->f, value);
        bool index =
            g.index && data->operands + i >= g.index && data->operands + i < g.index + g.rank;
        const tile_layout *wanted = index ? &points : value.id == g.predicate.id ? layout : NULL;
        if (type->kind != TILE_TYPE_TILE || !wanted || tile_layout_equal(wanted, type->layout))
            continue;
        tile_builder b = tile_builder_before(c->f, op);
        bool again = tile_op_opcode(c->f, op) == TILE_OP_store &&
                     tile_conversion_of(type, wanted, NULL) == TILE_CONVERTS_BY_MEMORY &&
                     layouts_can_recompute(c->f, value);
        tile_value held =
            again ? layouts_recompute(c->pass, &b, value, wanted) : convert(c, op, value, wanted);
        tile_op_at(c->f, op)->operands[i] = held;
    }
}

static void convert_for_pieces(conversions *c, tile_op op) {
    uint32_t extents[TILE_MAX_RANK];
    tile_pieces pieces;
    tile_value tile = tile_operand_src(c->f, op);
    tile_layout layout = layouts_of_pieces(c->f, op, extents);
    if (!tile_pieces_cut(tile_value_type(c->f, tile)->layout, extents, &pieces) &&
        tile_pieces_cut(&layout, extents, &pieces))
        tile_set_operand(c->f, op, TILE_OPERAND_src, convert(c, op, tile, &layout));
}

/* A result that one thread receives and others need goes through a buffer. */
static void attach_buffer(conversions *c, tile_op op) {
    tile_value result = tile_op_result(c->f, op, 0);
    const tile_type *type = tile_value_type(c->f, result);
    bool whole = type->kind == TILE_TYPE_TILE;
    unsigned last = tile_op_get_info(tile_op_opcode(c->f, op))->operand_count - 1u;
    if (tile_op_at(c->f, op)->segment[last] || !tile_value_is_used(c->f, result) ||
        (whole && !tile_layout_redundant_threads(type->layout)))
        return;
    tile_type draft = *type;
    if (!whole) {
        draft.rank = 1;
        draft.dims[0] = tile_expr_int(c->pass->context, 1);
    }
    append_buffer(c, op, last, buffer_type(c, &draft));
}

/* Attaches buffers to a reduction whose partial results are combined across warps, or whose result
 * other threads hold. */
static void attach_cells(conversions *c, tile_op op) {
    tile_reduction reduction;
    const tile_type *from = tile_value_type(c->f, tile_operand_src(c->f, op)),
                    *to = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    if (tile_operands_buffer(c->f, op).count || !tile_reduction_of(c->f, op, &reduction)) return;
    tile_reduce_plan plan = tile_reduce_make_plan(from->layout, reduction.axis);
    if (!tile_reduce_exchanges(&plan, to->layout)) return;
    tile_scalar scalar = tile_reduction_scalar(reduction.kind, from->scalar);
    attach_named_buffer(c, op, TILE_OPERAND_buffer, tile_reduction_buffer(c->f, op, scalar, &plan));
    if (tile_op_opcode(c->f, op) == TILE_OP_reduce_arg)
        attach_named_buffer(c, op, TILE_OPERAND_places,
                            tile_reduction_buffer(c->f, op, TILE_i32, &plan));
}

/* Computes the result in this layout and converts it for its users. */
static void make_result(conversions *c, tile_op op, unsigned i, const tile_layout *layout) {
    tile_value result = tile_op_result(c->f, op, i);
    const tile_type *wanted = tile_value_type(c->f, result);
    if (tile_layout_equal(layout, wanted->layout)) return;
    tile_value_at(c->f, result)->type = tile_type_with_layout(c->pass->context, wanted, layout);
    tile_builder b = tile_builder_before(c->f, op);
    b.before = tile_op_at(c->f, op)->next;
    use_instead(c, result, exchange(c, &b, result, wanted));
}

/* Converts the rows of a scan or sort to a layout that it supports. */
static void convert_rows(conversions *c, tile_op op) {
    tile_value src = tile_operand_src(c->f, op);
    const tile_layout *held = tile_value_type(c->f, src)->layout,
                      *wanted = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    tile_layout layout = tile_rows_layout(c->f, op, tile_executors_of(c->f, op).warps);
    if (tile_rows_fit(c->f, op, wanted))
        layout = *wanted;
    else if (tile_rows_fit(c->f, op, held))
        layout = *held;
    if (!tile_layout_equal(&layout, held))
        tile_set_operand(c->f, op, TILE_OPERAND_src, convert(c, op, src, &layout));
    make_result(c, op, 0, &layout);
    const tile_type *buffer = tile_rows_buffer(c->f, op, &layout);
    bool sorts = tile_op_opcode(c->f, op) == TILE_OP_sort;
    tile_operand_name name = sorts ? TILE_OPERAND_buffer : TILE_OPERAND_totals;
    if (buffer && !tile_named_operand(c->f, op, name).id) attach_named_buffer(c, op, name, buffer);
}

/* Converts the operands of a function, and then its results. */
static void convert_combined(conversions *c, tile_op op) {
    tile_combine combine;
    if (!tile_combine_of(c->f, op, &combine)) return;
    tile_layout rows = tile_rows_layout(c->f, op, tile_executors_of(c->f, op).warps);
    const tile_layout *held = tile_value_type(c->f, tile_operand_src(c->f, op))->layout,
                      *wanted = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    if (!combine.reduces && tile_rows_fit(c->f, op, wanted))
        rows = *wanted;
    else if (tile_rows_fit(c->f, op, held))
        rows = *held;
    for (unsigned i = 0; i < combine.count; i++) {
        tile_value src = tile_operands_src(c->f, op).at[i];
        if (tile_layout_equal(&rows, tile_value_type(c->f, src)->layout)) continue;
        tile_value converted = convert(c, op, src, &rows);
        tile_operands_src(c->f, op).at[i] = converted;
    }
    const tile_layout result = tile_combine_result(&combine, &rows);
    for (unsigned i = 0; i < combine.count; i++) make_result(c, op, i, &result);
    const tile_type *buffer = tile_combine_buffer(c->f, op, &rows);
    if (buffer && !tile_operands_buffer(c->f, op).count)
        attach_named_buffer(c, op, TILE_OPERAND_buffer, buffer);
}

/* Attaches a buffer if threads need elements that others hold. */
static void attach_source(conversions *c, tile_op op) {
    const tile_layout *layout = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    tile_value at = tile_operand_at(c->f, op);
    if (!tile_layout_equal(layout, tile_value_type(c->f, at)->layout))
        tile_set_operand(c->f, op, TILE_OPERAND_at, convert(c, op, at, layout));
    tile_lookup_plan plan;
    const tile_type *src = tile_value_type(c->f, tile_operand_src(c->f, op));
    unsigned axis = (unsigned)tile_op_attr_int(c->f, op, TILE_ATTR_axis, 0);
    if (tile_operands_buffer(c->f, op).count || tile_gather_shuffles(src, layout, axis, &plan))
        return;
    attach_named_buffer(c, op, TILE_OPERAND_buffer, buffer_type(c, src));
}

/* Attaches a buffer to a conversion in the kernel's text. */
static void attach_exchange(conversions *c, tile_op op) {
    const tile_type *from = tile_value_type(c->f, tile_operand_src(c->f, op)),
                    *to = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    if (tile_operands_buffer(c->f, op).count ||
        tile_conversion_of(from, to->layout, NULL) != TILE_CONVERTS_BY_MEMORY)
        return;
    attach_named_buffer(c, op, TILE_OPERAND_buffer, exchange_type(c, from, to->layout));
    tile_pass_count(c->pass, "conversions", 1);
}

static void convert_region(conversions *c, tile_region region) {
    TILE_FOR_EACH_OP (c->f, op, region) {
        tile_opcode opcode = tile_op_opcode(c->f, op);
        tile_layout wide;
        take_instead(c, op);
        if (opcode == TILE_OP_dot) convert_dot_operands(c, op);
        if (opcode == TILE_OP_convert_layout) attach_exchange(c, op);
        if (opcode == TILE_OP_store && widen_store(&c->widening, op, &wide))
            tile_set_operand(c->f, op, TILE_OPERAND_src,
                             convert(c, op, tile_operand_src(c->f, op), &wide));
        convert_gathered(c, op);
        if (opcode == TILE_OP_store_async) convert_for_pieces(c, op);
        if (opcode == TILE_OP_broadcast) convert_repeated(c, op);
        if (opcode == TILE_OP_reduce || opcode == TILE_OP_reduce_arg) attach_cells(c, op);
        if (opcode == TILE_OP_scan || opcode == TILE_OP_sort) convert_rows(c, op);
        if (tile_combines_by_function(opcode)) convert_combined(c, op);
        if (tile_is_rearrangement(c->f, op)) convert_rearranged(c, op);
        if (opcode == TILE_OP_gather) attach_source(c, op);
        if (layouts_is_atomic_tile(c->f, op)) attach_buffer(c, op);
        if (opcode == TILE_OP_parallel) continue; /* its elements are not exchanged */
        for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++)
            convert_region(c, tile_op_region(c->f, op, r));
    }
}

void convert_layouts(tile_pass *pass, tile_function *f, const tile_range *ranges) {
    conversions c = {.pass = pass, .f = f, .ranges = ranges};
    c.widening = (store_widening){
        pass, f, ranges, tile_live_shared_bytes(f, pass->scratch), (uint32_t)f->op_count, 0};
    convert_region(&c, f->body);
}
