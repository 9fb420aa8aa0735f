/* Conversions, the last part of assign-layouts: before a `dot` whose operand is not held as a
 * fragment, before a store that would be narrow, before a `broadcast` whose operand is held as
 * somebody else wants it, and where elements are only rearranged, but held otherwise than their
 * users want. What only one thread gets of an atomic operation goes through a buffer,
 * too. */
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/liveness.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/rearranged.h"
#include "lib/ir/atomic.h"
#include "lib/ir/gather.h"
#include "lib/ir/reduce.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ir/shape.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "lib/layout/reduce.h"
#include "passes/tile/assign_layouts.h"
#include "passes/tile/prepare.h"
#include "passes/tile/warpgroup.h"

typedef struct conversions {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
} conversions;

/* Of a buffer that a tile goes through. */
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

/* The same for one that goes from one layout to another. */
static const tile_type *exchange_type(const conversions *c, const tile_type *from,
                                      const tile_layout *to) {
    tile_type draft = *buffer_type(c, from);
    tile_layout between = tile_layout_between(from->layout, to, tile_scalar_bytes(from->scalar));
    draft.layout = &between;
    return tile_type_get(c->pass->context, &draft);
}

static tile_value repeatable(conversions *c, tile_op op, tile_value tile,
                             const tile_layout *result);

static tile_value copy_iota(tile_builder *b, tile_op iota, const tile_type *to) {
    tile_value again = tile_build_iota(b, to);
    tile_op_data *copy = tile_op_at(b->function, tile_value_def(b->function, again));
    copy->attrs = tile_op_at(b->function, iota)->attrs; /* which nobody changes */
    copy->attr_count = tile_op_at(b->function, iota)->attr_count;
    return again;
}

/* Through the registers of each thread where they have what is wanted in another order, else
 * through a buffer. */
static tile_value exchange(conversions *c, tile_builder *b, tile_value tile, const tile_type *to) {
    const tile_type *from = tile_value_type(c->f, tile);
    if (tile_layout_same_threads(from->layout, to->layout))
        return tile_build_convert_layout(b, tile, TILE_NO_VALUE, to);
    tile_value buffer = tile_build_alloc_shared(b, exchange_type(c, from, to->layout));
    tile_value converted = tile_build_convert_layout(b, tile, buffer, to);
    tile_build_free_shared(b, buffer);
    tile_pass_count(c->pass, "conversions", 1);
    return converted;
}

/* A tile in another layout, before op: computed again if it comes from nothing or is a broadcast,
 * whose operand has fewer elements to move; else through a buffer. */
static tile_value convert(conversions *c, tile_op op, tile_value tile, const tile_layout *layout) {
    tile_builder b = tile_builder_before(c->f, op);
    const tile_type *from = tile_value_type(c->f, tile);
    const tile_type *to = tile_type_with_layout(c->pass->context, from, layout);
    tile_op def = tile_value_def(c->f, tile);
    if (tile_op_opcode(c->f, def) == TILE_OP_splat)
        return tile_build_splat(&b, tile_op_operand(c->f, def, 0), to);
    if (tile_op_opcode(c->f, def) == TILE_OP_iota) return copy_iota(&b, def, to);
    if (tile_op_opcode(c->f, def) == TILE_OP_broadcast)
        return tile_build_broadcast(&b, repeatable(c, op, tile_op_operand(c->f, def, 0), layout),
                                    to);
    if (tile_op_opcode(c->f, def) == TILE_OP_inside && tile_is_plain_access(c->f, def)) {
        const tile_op_data *data = tile_op_at(c->f, def);
        return tile_build_inside(&b, data->operands[0], data->operands + 1, data->operand_count - 1,
                                 to);
    }
    return exchange(c, &b, tile, to);
}

/* The operand of a broadcast before op whose result has this layout. */
static tile_value repeatable(conversions *c, tile_op op, tile_value tile,
                             const tile_layout *result) {
    const tile_type *type = tile_value_type(c->f, tile);
    tile_layout narrow = tile_broadcast_layout(type, result);
    return tile_layout_equal(&narrow, type->layout) ? tile : convert(c, op, tile, &narrow);
}

/* Without an instruction both operands are read from shared memory, and wgmma reads one there: a
 * tile is put there first. */
static void put_operand_in_shared(conversions *c, tile_op op, unsigned operand, tile_value tile) {
    tile_builder b = tile_builder_before(c->f, op);
    const tile_type *type = buffer_type(c, tile_value_type(c->f, tile));
    if (warpgroup_takes(c->f, op)) {
        tile_layout layout = warpgroup_lay_out(type, warpgroup_fastest(type, operand));
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

/* The classes may have given the accumulator another layout than its dot wants. */
static void explain_layout(conversions *c, tile_op op) {
    char why[160];
    tile_mma_query query = tile_product_query(c->f, op);
    query.capability = c->pass->target->compute_capability;
    if (!layouts_choose_mma(c->pass, c->f, op, false)) return; /* has been told */
    tile_mma_explain(&query, why, sizeof why);
    tile_report(c->pass->context, TILE_REMARK, tile_op_loc(c->f, op),
                "dot: %s; an fma loop in each thread computes it", why);
}

static void take_fragment(conversions *c, tile_op op, unsigned operand, const tile_layout *layout) {
    unsigned count;
    tile_value value = tile_op_segment(c->f, op, operand, &count)[0];
    if (!tile_layout_equal(layout, tile_value_type(c->f, value)->layout))
        prepare_set_operand(c->f, op, operand, convert(c, op, value, layout));
}

/* False if the layouts have become such that the dot is left to mma. */
static bool convert_for_warpgroup(conversions *c, tile_op op) {
    unsigned count, row_dim = TILE_WGMMA_PLAIN;
    uint32_t columns;
    warpgroup_plan plan;
    tile_layout fragment;
    const tile_type *acc = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    if (!tile_wgmma_holds(acc->layout, row_dim, acc->scalar, &columns))
        row_dim = TILE_WGMMA_EXCHANGED;
    unsigned first = warpgroup_first(row_dim);
    tile_value second = tile_op_segment(c->f, op, 1 - first, &count)[0];
    if (tile_wgmma_holds(acc->layout, row_dim, acc->scalar, &columns)) {
        if (tile_value_type(c->f, second)->kind == TILE_TYPE_TILE) {
            put_operand_in_shared(c, op, 1 - first, second);
            warpgroup_end_at_once(c->f, op,
                                  "an operand goes through a buffer, which is filled "
                                  "again while later products are under way");
        }
        if (warpgroup_fragment(c->f, op, acc->layout, row_dim, &fragment))
            take_fragment(c, op, first, &fragment);
    }
    const char *fault = warpgroup_find_plan(c->f, op, &plan);
    if (!fault) return true;
    tile_op_set_text(c->f, op, TILE_ATTR_via, "mma");
    tile_op_remove_attr(c->f, op, TILE_ATTR_exchanged);
    tile_remark_missed(c->f, op, "no wgmma", fault, NULL);
    return false;
}

static void convert_dot_operands(conversions *c, tile_op op) {
    unsigned count;
    if (warpgroup_takes(c->f, op) && convert_for_warpgroup(c, op)) return;
    const tile_layout *acc = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    const tile_mma *row = layouts_choose_mma(c->pass, c->f, op, true);
    if (!row) explain_layout(c, op);
    for (unsigned operand = 0; operand < 2; operand++) {
        tile_value value = tile_op_segment(c->f, op, operand, &count)[0];
        const tile_type *type = tile_value_type(c->f, value);
        if (type->kind != TILE_TYPE_TILE) continue;
        if (!row) {
            put_operand_in_shared(c, op, operand, value);
            continue;
        }
        tile_layout layout = tile_product_fragment(row, acc, operand, type);
        take_fragment(c, op, operand, &layout);
    }
}

static void convert_repeated(conversions *c, tile_op op) {
    const tile_layout *result = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    prepare_set_operand(c->f, op, 0, repeatable(c, op, tile_op_operand(c->f, op, 0), result));
}

/* A buffer of its own for op, its row's last operand. */
static void append_buffer(conversions *c, tile_op op, unsigned operand, const tile_type *type) {
    tile_builder b = tile_builder_before(c->f, op);
    tile_value buffer = tile_build_alloc_shared(&b, type);
    tile_op_data *data = tile_op_at(c->f, op);
    tile_value *operands =
        TILE_NEW_ARRAY(&c->f->module->arena, tile_value, data->operand_count + 1u);
    memcpy(operands, data->operands, sizeof *operands * data->operand_count);
    operands[data->operand_count++] = buffer;
    data->operands = operands;
    data->segment[operand] = 1;
    b.before = data->next;
    tile_build_free_shared(&b, buffer);
}

/* Rearranged elements ---------------------------------------------------------------------------
 */

static bool is_held_so(const conversions *c, tile_value tile, const tile_layout *layout) {
    return tile_layout_same_threads(tile_value_type(c->f, tile)->layout, layout);
}

/* The layouts that the operands must have beside a result held so; false if there are none. */
static bool find_operands(const conversions *c, tile_op op, const tile_layout *result,
                          tile_layout *layouts) {
    bool found = true;
    for (unsigned i = 0; i < tile_rearranged_operands(c->f, op) && found; i++)
        found = tile_layout_of_operand(c->f, op, i, result, &layouts[i]);
    return found;
}

static void convert_operands(conversions *c, tile_op op, const tile_layout *layouts) {
    for (unsigned i = 0; i < tile_rearranged_operands(c->f, op); i++) {
        tile_value tile = tile_op_operand(c->f, op, i);
        if (is_held_so(c, tile, &layouts[i])) continue;
        tile_value converted = convert(c, op, tile, &layouts[i]);
        tile_op_at(c->f, op)->operands[i] = converted;
    }
}

/* The results get this layout, and are converted to the one that they had behind the operation. */
static void convert_results(conversions *c, tile_op op, const tile_layout *natural) {
    for (unsigned r = 0; r < tile_op_result_count(c->f, op); r++) {
        tile_value result = tile_op_result(c->f, op, r);
        const tile_type *wanted = tile_value_type(c->f, result);
        if (is_held_so(c, result, natural)) continue;
        tile_value_at(c->f, result)->type =
            tile_type_with_layout(c->pass->context, wanted, natural);
        tile_builder b = tile_builder_before(c->f, op);
        b.before = tile_op_next(c->f, op);
        tile_value converted = exchange(c, &b, result, wanted);
        tile_value *map = TILE_NEW_ARRAY(c->pass->scratch, tile_value, c->f->value_count);
        map[result.id] = converted;
        tile_replace_values(c->f, c->f->body, map);
        tile_op_at(c->f, tile_value_def(c->f, converted))->operands[0] = result;
    }
}

/* A place for all elements, row by row, as the operation's last operand. */
static void give_row_buffer(conversions *c, tile_op op) {
    const tile_op_data *data = tile_op_at(c->f, op);
    unsigned place = tile_op_get_info((tile_opcode)data->opcode)->operand_count - 1u;
    if (data->segment[place]) return;
    tile_type draft = *tile_value_type(c->f, data->operands[0]);
    int64_t elements = tile_type_elements(&draft);
    while (!tile_layout_admits_extent(elements)) elements++;
    draft.rank = 1;
    draft.dims[0] = tile_expr_int(c->pass->context, elements);
    append_buffer(c, op, place, buffer_type(c, &draft));
}

/* Where the result cannot be made as it is wanted of operands held in whatever way, or an operand
 * is held so that parts of it can be taken as they are: the smaller side is converted. */
static void convert_rearranged(conversions *c, tile_op op) {
    unsigned count = tile_rearranged_operands(c->f, op);
    tile_layout natural, *layouts = TILE_NEW_ARRAY(c->pass->scratch, tile_layout, count);
    const tile_layout *wanted = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    const tile_layout *held = tile_value_type(c->f, tile_op_operand(c->f, op, 0))->layout;
    if (!tile_can_rearrange(c->f, op)) {
        give_row_buffer(c, op);
        return;
    }
    bool direct = find_operands(c, op, wanted, layouts);
    bool fits = direct && tile_op_result_count(c->f, op) == 1;
    for (unsigned i = 0; i < count && fits; i++)
        fits = is_held_so(c, tile_op_operand(c->f, op, i), &layouts[i]);
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

/* Stores ------------------------------------------------------------------------------------------
 */

/* Consecutive elements that one thread has along dim d. */
static unsigned run_along(const tile_layout *layout, unsigned d) {
    unsigned shift = tile_layout_dim_shift(layout, d), bits = 0, before;
    do {
        before = bits;
        for (unsigned i = 0; i < layout->reg_bits; i++)
            bits += layout->reg[i] == 1u << (shift + bits);
    } while (bits > before && bits < layout->dim_bits[d]);
    return 1u << bits;
}

/* Whether threads can exchange the tile's elements through a buffer before op. */
static bool has_room(const conversions *c, tile_op op, const tile_type *tile) {
    int64_t taken = tile_shared_bytes_at(c->f, c->pass->scratch, op);
    int64_t bytes = tile_type_elements(tile) * tile_scalar_bytes(tile->scalar) *
                    tile_executors_of(c->f, op).groups;
    if (taken + bytes <= (int64_t)c->pass->target->max_shared_bytes) return true;
    tile_remark_missed(c->f, op, "narrow accesses",
                       "shared memory has no room for its threads to exchange elements",
                       "take smaller buffers or fewer stages");
    return false;
}

/* The same of a warp: with what lanes have next to these. */
static unsigned reach_along(const tile_layout *layout, unsigned d) {
    unsigned reach = run_along(layout, d), shift = tile_layout_dim_shift(layout, d), before;
    do {
        before = reach;
        for (unsigned i = 0; i < TILE_LANE_BITS; i++)
            if (layout->lane[i] == reach << shift) reach *= 2;
    } while (reach > before && reach >> layout->dim_bits[d] == 0);
    return reach;
}

/* A store whose lanes lie apart fills no sectors; one whose accesses are narrower than they could
 * be takes more of them. */
static void widen_store(conversions *c, tile_op op) {
    enum { SECTOR = 32 };
    unsigned count;
    tile_gather g;
    tile_value tile = tile_op_operand(c->f, op, 0);
    const tile_type *type = tile_value_type(c->f, tile);
    if (type->kind != TILE_TYPE_TILE || !tile_gather_of(c->f, op, &g)) return;
    const tile_value *element = tile_op_segment(c->f, op, 1, &count);
    if (tile_value_type(c->f, element[0])->layout) return;
    tile_access_facts facts = tile_view_access(c->f, c->ranges, element);
    unsigned d = tile_unit_dim(&facts, tile_value_type(c->f, element[0])->rank, type->rank);
    if (d == type->rank) return;
    if (g.predicate.id && !tile_is_repeated(c->f, g.predicate, d)) return; /* one by one anyway */
    unsigned now = run_along(type->layout, d), bytes = tile_scalar_bytes(type->scalar);
    tile_layout wide =
        tile_access_layout(c->f, c->ranges, element, type, tile_executors_of(c->f, op).warps);
    unsigned then = run_along(&wide, d);
    bool narrow = now < facts.width && now < then;
    bool scattered = reach_along(type->layout, d) * bytes < SECTOR &&
                     reach_along(&wide, d) > reach_along(type->layout, d);
    if ((narrow || scattered) && has_room(c, op, type))
        prepare_set_operand(c->f, op, 0, convert(c, op, tile, &wide));
}

/* Index tiles are held by those who hold their points' elements, a predicate as what it is for. */
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
        tile_value held = convert(c, op, value, wanted);
        tile_op_at(c->f, op)->operands[i] = held;
    }
}

static void convert_for_pieces(conversions *c, tile_op op) {
    uint32_t extents[TILE_MAX_RANK];
    tile_pieces pieces;
    tile_value tile = tile_op_operand(c->f, op, 0);
    tile_layout layout = layouts_of_pieces(c->f, op, extents);
    if (!tile_pieces_cut(tile_value_type(c->f, tile)->layout, extents, &pieces) &&
        tile_pieces_cut(&layout, extents, &pieces))
        prepare_set_operand(c->f, op, 0, convert(c, op, tile, &layout));
}

/* What one thread gets and others need, too, goes through a buffer. */
static void give_buffer(conversions *c, tile_op op) {
    tile_value result = tile_op_result(c->f, op, 0);
    const tile_type *type = tile_value_type(c->f, result);
    bool whole = type->kind == TILE_TYPE_TILE;
    tile_op_data *data = tile_op_at(c->f, op);
    if (data->segment[3] || !tile_value_is_used(c->f, result) ||
        (whole && !tile_layout_redundant_threads(type->layout)))
        return;
    tile_type draft = *type;
    if (!whole) {
        draft.rank = 1;
        draft.dims[0] = tile_expr_int(c->pass->context, 1);
    }
    append_buffer(c, op, 3, buffer_type(c, &draft));
}

/* What warps have of a row goes through a buffer; and what threads have that are to hold it
 * otherwise. */
static void give_cells(conversions *c, tile_op op) {
    tile_reduction reduction;
    const tile_type *from = tile_value_type(c->f, tile_op_operand(c->f, op, 0)),
                    *to = tile_value_type(c->f, tile_op_result(c->f, op, 0));
    if (tile_op_at(c->f, op)->segment[1] || !tile_reduction_of(c->f, op, &reduction)) return;
    tile_reduce_plan plan = tile_reduce_make_plan(from->layout, reduction.axis);
    if (!tile_reduce_exchanges(&plan, to->layout)) return;
    tile_scalar scalar = tile_reduction_scalar(reduction.kind, from->scalar);
    append_buffer(c, op, 1, tile_reduction_buffer(c->f, op, scalar, &plan));
    if (tile_op_opcode(c->f, op) == TILE_OP_reduce_arg)
        append_buffer(c, op, 2, tile_reduction_buffer(c->f, op, TILE_i32, &plan));
}

/* The result is made in this layout, and converted for its users. */
static void make_result(conversions *c, tile_op op, const tile_layout *layout) {
    tile_value result = tile_op_result(c->f, op, 0);
    const tile_type *wanted = tile_value_type(c->f, result);
    if (tile_layout_equal(layout, wanted->layout)) return;
    tile_value *map = TILE_NEW_ARRAY(c->pass->scratch, tile_value, c->f->value_count);
    tile_value_at(c->f, result)->type = tile_type_with_layout(c->pass->context, wanted, layout);
    tile_builder b = tile_builder_before(c->f, op);
    b.before = tile_op_at(c->f, op)->next;
    tile_value buffer = tile_build_alloc_shared(&b, buffer_type(c, wanted));
    tile_value converted = tile_build_convert_layout(&b, result, buffer, wanted);
    tile_build_free_shared(&b, buffer);
    map[result.id] = converted;
    tile_replace_values(c->f, c->f->body, map);
    prepare_set_operand(c->f, tile_value_def(c->f, converted), 0, result);
    tile_pass_count(c->pass, "conversions", 1);
}

/* A scan or sort: its rows lie as it takes them. */
static void convert_rows(conversions *c, tile_op op) {
    tile_value src = tile_op_operand(c->f, op, 0);
    const tile_layout *held = tile_value_type(c->f, src)->layout,
                      *wanted = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    tile_layout layout = tile_rows_layout(c->f, op, tile_executors_of(c->f, op).warps);
    if (tile_rows_fit(c->f, op, wanted))
        layout = *wanted;
    else if (tile_rows_fit(c->f, op, held))
        layout = *held;
    if (!tile_layout_equal(&layout, held))
        prepare_set_operand(c->f, op, 0, convert(c, op, src, &layout));
    make_result(c, op, &layout);
    const tile_type *buffer = tile_rows_buffer(c->f, op, &layout);
    if (buffer && !tile_op_at(c->f, op)->segment[1]) append_buffer(c, op, 1, buffer);
}

/* What others hold is found in a buffer. */
static void give_source(conversions *c, tile_op op) {
    const tile_layout *layout = tile_value_type(c->f, tile_op_result(c->f, op, 0))->layout;
    tile_value at = tile_op_operand(c->f, op, 1);
    if (!tile_layout_equal(layout, tile_value_type(c->f, at)->layout))
        prepare_set_operand(c->f, op, 1, convert(c, op, at, layout));
    if (!tile_op_at(c->f, op)->segment[2])
        append_buffer(c, op, 2,
                      buffer_type(c, tile_value_type(c->f, tile_op_operand(c->f, op, 0))));
}

static void convert_region(conversions *c, tile_region region) {
    TILE_FOR_EACH_OP (c->f, op, region) {
        tile_opcode opcode = tile_op_opcode(c->f, op);
        if (opcode == TILE_OP_dot) convert_dot_operands(c, op);
        if (opcode == TILE_OP_store) widen_store(c, op);
        convert_gathered(c, op);
        if (opcode == TILE_OP_store_async) convert_for_pieces(c, op);
        if (opcode == TILE_OP_broadcast) convert_repeated(c, op);
        if (opcode == TILE_OP_reduce || opcode == TILE_OP_reduce_arg) give_cells(c, op);
        if (opcode == TILE_OP_scan || opcode == TILE_OP_sort) convert_rows(c, op);
        if (tile_is_rearrangement(c->f, op)) convert_rearranged(c, op);
        if (opcode == TILE_OP_gather) give_source(c, op);
        if (layouts_is_atomic_tile(c->f, op)) give_buffer(c, op);
        for (unsigned r = 0; r < tile_op_at(c->f, op)->region_count; r++)
            convert_region(c, tile_op_region(c->f, op, r));
    }
}

void convert_layouts(tile_pass *pass, tile_function *f, const tile_range *ranges) {
    conversions c = {pass, f, ranges};
    convert_region(&c, f->body);
}
