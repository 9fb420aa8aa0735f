/* Scans. Each thread scans its adjacent elements, and lanes combine their sums in five steps
 * (Hillis and Steele). Warps, and for longer rows rounds of registers, write their sums to shared
 * memory, where each thread adds up the sums that precede its own.
 *
 *     elements  | thread | thread | ... | warp 0        | warp 1        | warp 0, next round ..
 *
 * assign-layouts provides a layout with this order (lib/layout/axis_map.h). */
#include "lib/ops/reduce.h"

#include "lib/layout/axis_map.h"
#include "lib/layout/layout.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

typedef struct scanning {
    lowering *l;
    tile_op op;
    tile_scan scan;
    tile_opcode opcode;
    tile_scalar scalar; /* of the computation */
    const tile_layout *layout;
    tile_axis_map along;
    unsigned near_bits, lane_bits,
        warp_bits; /* bits of the axis: adjacent elements of a thread, lanes, warps */
    unsigned first_lane;
    uint32_t rows, near, rounds; /* of a thread; a row has near x rounds registers */
} scanning;

static void count_bits(scanning *s) {
    for (unsigned i = 0; i < s->along.count; i++) {
        unsigned bit = s->along.bits[i].bit;
        if (s->along.bits[i].holder == TILE_HELD_BY_LANE && !s->lane_bits++) s->first_lane = bit;
        s->warp_bits += s->along.bits[i].holder == TILE_HELD_BY_WARP;
    }
    while (s->near_bits < s->along.count &&
           s->along.bits[s->near_bits].holder == TILE_HELD_BY_REGISTER)
        s->near_bits++;
    s->near = 1u << s->near_bits;
    s->rows = tile_axis_map_rows(s->layout, &s->along);
    s->rounds = tile_axis_map_steps(s->layout, &s->along) >> s->near_bits;
}

static const tile_type *vector_of(const scanning *s, unsigned count) {
    return tile_type_vector(tile_function_context(s->l->f), s->scalar, count);
}

static tile_value combine(const scanning *s, tile_value before, tile_value own) {
    const tile_segment operands[] = {{before, NULL, 0}, {own, NULL, 0}};
    return tile_build_op_value(&s->l->builder, s->opcode, operands, 2, NULL);
}

static tile_value extract(const scanning *s, tile_value vector, unsigned first, unsigned count) {
    if (count == tile_type_elements(tile_value_type(s->l->f, vector))) return vector;
    return tile_build_extract(&s->l->builder, vector, lower_int(s->l, first), vector_of(s, count));
}

/* The identity element of the scan. */
static tile_value identity(const scanning *s, unsigned count) {
    tile_context *context = tile_function_context(s->l->f);
    bool floats = tile_scalar_is_floating(s->scalar);
    const tile_expr *expr =
        floats ? tile_expr_float(context, tile_kind_identity(s->scan.kind))
               : tile_expr_int(context, tile_wrap_int(s->scalar, tile_kind_integer_identity(
                                                                     s->scan.kind, s->scalar)));
    tile_value number = tile_function_constant(s->l->f, tile_type_scalar(context, s->scalar), expr);
    return tile_build_splat(&s->l->builder, number, vector_of(s, count));
}

static uint32_t reversed(const scanning *s, uint32_t at, uint32_t count) {
    return s->scan.reverse ? count - 1 - at : at;
}

/* Registers in the order of the scan: adjacent elements are outermost, then rounds, then rows. */
static int64_t *order_registers(const scanning *s) {
    int64_t *order = TILE_NEW_ARRAY(s->l->pass->scratch, int64_t, s->near * s->rounds * s->rows);
    unsigned at = 0;
    for (uint32_t j = 0; j < s->near; j++)
        for (uint32_t q = 0; q < s->rounds; q++)
            for (uint32_t row = 0; row < s->rows; row++) {
                uint32_t step = reversed(s, q, s->rounds) << s->near_bits | reversed(s, j, s->near);
                order[at++] = tile_axis_map_register(s->layout, &s->along, row, step);
            }
    return order;
}

/* The position of this thread among the lanes, or warps, of its row, in the order of the scan. */
static tile_value place_among(const scanning *s, tile_holder holder, unsigned bits) {
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {0};
    unsigned at = 0;
    for (unsigned i = 0; i < s->along.count; i++) {
        if (s->along.bits[i].holder != holder) continue;
        unsigned shift = holder == TILE_HELD_BY_WARP ? TILE_LANE_BITS : 0;
        bases[shift + s->along.bits[i].bit] = UINT32_C(1) << at++;
    }
    tile_value place =
        lower_thread_map(s->l, bases, TILE_LANE_BITS + (unsigned)s->layout->warp_bits);
    if (!s->scan.reverse) return place;
    return tile_build_xor(&s->l->builder, place, lower_int(s->l, (1 << bits) - 1));
}

/* Scans the lanes of a row. *before: the sum of the preceding lanes; no value if there is one lane.
 * Returns the sum of all lanes. */
static tile_value scan_lanes(const scanning *s, tile_value sum, tile_value *before) {
    lowering *l = s->l;
    unsigned width = s->rounds * s->rows;
    const char *kind = s->scan.reverse ? "down" : "up";
    if (!s->lane_bits) return sum;
    tile_value place = place_among(s, TILE_HELD_BY_LANE, s->lane_bits);
    for (unsigned i = 0; i < s->lane_bits; i++) {
        tile_value other = lower_shfl(l, sum, lower_int(l, 1 << (i + s->first_lane)), kind);
        tile_value has = tile_build_ge(&l->builder, place, lower_int(l, 1 << i));
        sum = tile_build_select(&l->builder, has, combine(s, other, sum), sum);
    }
    tile_value other = lower_shfl(l, sum, lower_int(l, 1 << s->first_lane), kind);
    tile_value has = tile_build_gt(&l->builder, place, lower_int(l, 0));
    *before = tile_build_select(&l->builder, has, other, identity(s, width));
    unsigned mask = ((1u << s->lane_bits) - 1) << s->first_lane;
    tile_value lane = tile_build_and(&l->builder, l->thread, lower_int(l, 31));
    tile_value last = s->scan.reverse ? tile_build_and(&l->builder, lane, lower_int(l, 31 & ~mask))
                                      : tile_build_or(&l->builder, lane, lower_int(l, mask));
    return lower_shfl(l, sum, last, "idx");
}

/* The layout of the warps' sums in each round: cells along the axis, rounds outermost. */
static tile_layout lay_out_cells(const scanning *s, bool gathered) {
    unsigned axis_bits = 0;
    tile_layout cells = tile_axis_map_cells(s->layout, &s->along, s->near_bits);
    unsigned shift = tile_layout_dim_shift(&cells, s->along.axis);
    for (unsigned i = 0; i < s->along.others; i++)
        cells.reg[cells.reg_bits++] =
            tile_axis_map_cell(s->layout, &cells, s->along.axis, s->layout->reg[s->along.other[i]]);
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        cells.lane[i] = tile_axis_map_cell(s->layout, &cells, s->along.axis, s->layout->lane[i]);
    cells.warp_bits = s->layout->warp_bits;
    for (unsigned i = 0; i < s->layout->warp_bits; i++)
        cells.warp[i] = tile_axis_map_cell(s->layout, &cells, s->along.axis, s->layout->warp[i]);
    for (unsigned i = s->near_bits; i < s->along.count; i++) {
        uint32_t cell = UINT32_C(1) << (axis_bits + shift);
        if (s->along.bits[i].holder == TILE_HELD_BY_LANE) continue;
        axis_bits++;
        if (s->along.bits[i].holder == TILE_HELD_BY_REGISTER || gathered)
            cells.reg[cells.reg_bits++] = cell;
        else
            cells.warp[s->along.bits[i].bit] = cell;
    }
    return cells;
}

/* The sum of all elements before this warp's elements of each round, computed from the sums of all
 * cells. */
static tile_value add_up_cells(const scanning *s, const tile_layout *cells, tile_value all) {
    lowering *l = s->l;
    tile_axis_map along;
    unsigned warps = 1u << s->warp_bits, rows = s->rows;
    tile_value place = place_among(s, TILE_HELD_BY_WARP, s->warp_bits), base = identity(s, rows);
    tile_value *rounds = TILE_NEW_ARRAY(l->pass->scratch, tile_value, s->rounds);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, rows);
    tile_axis_map_find(cells, s->along.axis, &along);
    for (uint32_t q = 0; q < s->rounds; q++) {
        tile_value own = base;
        for (uint32_t w = 0; w < warps; w++) {
            uint32_t cell = reversed(s, q * warps + w, s->rounds * warps);
            for (uint32_t row = 0; row < rows; row++)
                order[row] = tile_axis_map_register(cells, &along, row, cell);
            base = combine(s, base, lower_permute(l, all, order, rows));
            tile_value passed = tile_build_gt(&l->builder, place, lower_int(l, w));
            if (w + 1 < warps) own = tile_build_select(&l->builder, passed, base, own);
        }
        rounds[q] = own;
    }
    return tile_build_concat(&l->builder, rounds, s->rounds);
}

static tile_value exchange_warps(const scanning *s, tile_value sum) {
    lowering *l = s->l;
    tile_axis_map along;
    tile_layout held = lay_out_cells(s, false), all = lay_out_cells(s, true);
    const tile_values buffer = tile_operands_totals(&l->old, s->op);
    unsigned width = s->rounds * s->rows;
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, width);
    tile_axis_map_find(&held, s->along.axis, &along);
    for (uint32_t q = 0; q < s->rounds; q++)
        for (uint32_t row = 0; row < s->rows; row++)
            order[tile_axis_map_register(&held, &along, row, reversed(s, q, s->rounds))] =
                q * s->rows + row;
    sum = lower_permute(l, sum, order, width);
    if (tile_sync_is_explicit(&l->old, s->op)) lower_end_with_sync(l);
    lower_store_shared(l, sum, lower_laid_out(l, s->scalar, &held), buffer.at, 1);
    tile_build_sync_for(&l->builder, l->executors);
    sum = lower_load_shared(l, buffer.at, 1, lower_laid_out(l, s->scalar, &all), true);
    return add_up_cells(s, &all, sum);
}

/* For rounds of registers without warps. */
static tile_value add_up_rounds(const scanning *s, tile_value sum) {
    tile_value base = identity(s, s->rows);
    tile_value *rounds = TILE_NEW_ARRAY(s->l->pass->scratch, tile_value, s->rounds);
    for (uint32_t q = 0; q < s->rounds; q++) {
        rounds[q] = base;
        if (q + 1 < s->rounds) base = combine(s, base, extract(s, sum, q * s->rows, s->rows));
    }
    return tile_build_concat(&s->l->builder, rounds, s->rounds);
}

static tile_value scan_registers(const scanning *s, tile_value fragment) {
    lowering *l = s->l;
    unsigned width = s->rounds * s->rows;
    tile_value *sums = TILE_NEW_ARRAY(l->pass->scratch, tile_value, s->near);
    tile_value *results = TILE_NEW_ARRAY(l->pass->scratch, tile_value, s->near);
    tile_value before = TILE_NO_VALUE, whole;
    for (uint32_t j = 0; j < s->near; j++) {
        tile_value own = extract(s, fragment, j * width, width);
        sums[j] = j ? combine(s, sums[j - 1], own) : own;
    }
    whole = scan_lanes(s, sums[s->near - 1], &before);
    tile_value first = s->warp_bits ? exchange_warps(s, whole) : add_up_rounds(s, whole);
    if (before.id) first = combine(s, first, before);
    for (uint32_t j = 0; j < s->near; j++)
        results[j] = !s->scan.exclusive ? combine(s, first, sums[j])
                     : j                ? combine(s, first, sums[j - 1])
                                        : first;
    return s->near == 1 ? results[0] : tile_build_concat(&l->builder, results, s->near);
}

tile_value lower_scan(lowering *l, tile_op op) {
    tile_reduction reduction;
    tile_value src = tile_operand_src(&l->old, op), fragment = lower_mapped(l, src);
    const tile_type *type = tile_value_type(&l->old, src);
    unsigned count = tile_type_registers(type);
    tile_reduction_of(&l->old, op, &reduction);
    scanning s = {.l = l, .op = op, .scan = tile_scan_of(&l->old, op), .layout = type->layout};
    s.opcode = tile_kind_opcode(reduction.kind);
    s.scalar = tile_reduction_scalar(reduction.kind, type->scalar);
    tile_axis_map_is_in_order(type->layout, reduction.axis, &s.along);
    count_bits(&s);
    int64_t *order = order_registers(&s), *back = TILE_NEW_ARRAY(l->pass->scratch, int64_t, count);
    for (unsigned i = 0; i < count; i++) back[order[i]] = i;
    if (s.scalar != type->scalar)
        fragment = tile_build_cast(&l->builder, fragment, vector_of(&s, count));
    fragment = scan_registers(&s, lower_permute(l, fragment, order, count));
    fragment = lower_permute(l, fragment, back, count);
    if (s.scalar == type->scalar) return fragment;
    return tile_build_cast(&l->builder, fragment,
                           tile_type_vector(tile_function_context(l->f), type->scalar, count));
}
