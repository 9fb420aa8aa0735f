/* Scans, and reductions by a function. Each thread combines its adjacent elements, and lanes
 * combine their sums in five steps (Hillis and Steele). Warps, and for longer rows rounds of
 * registers, write their sums to shared memory, where each thread adds up the sums that precede its
 * own.
 *
 *     elements  | thread | thread | ... | warp 0        | warp 1        | warp 0, next round ..
 *
 * assign-layouts provides a layout with this order (lib/layout/axis_map.h).
 *
 * A kind has an identity, which stands for "no elements". A function has none, so that a sum has a
 * bit that tells whether it contains any elements, and a select takes the place of the identity. */
#include "lib/ops/combine.h"
#include "lib/ops/reduce.h"

#include "lib/builder/inline.h"
#include "lib/layout/axis_map.h"
#include "lib/layout/layout.h"
#include "lib/support/scalar.h"
#include "passes/lower/lower.h"

typedef struct scanning {
    lowering *l;
    tile_op op;
    tile_scan scan;
    tile_opcode opcode;                     /* combines two elements; NONE: the function does */
    const tile_function *function;          /* NULL: a kind */
    unsigned count;                         /* operands */
    tile_scalar scalars[TILE_MAX_COMBINED]; /* of the computation, by operand */
    const tile_layout *layout;
    tile_axis_map along;
    unsigned near_bits, lane_bits,
        warp_bits; /* bits of the axis: adjacent elements of a thread, lanes, warps */
    unsigned first_lane;
    uint32_t rows, near, rounds; /* of a thread; a row has near x rounds registers */
} scanning;

/* Combined elements: a vector for each operand. */
typedef struct sums {
    tile_value at[TILE_MAX_COMBINED];
    bool none;          /* they contain no elements, and have no values */
    tile_value present; /* i1, one or a vector: they contain elements; no value: always */
} sums;

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

/* Vectors ------------------------------------------------------------------------------------- */

static const tile_type *vector_of(const scanning *s, tile_scalar scalar, unsigned count) {
    return tile_type_vector(tile_function_context(s->l->f), scalar, count);
}

/* Elements [first, first + count). */
static sums extract(const scanning *s, sums from, unsigned first, unsigned count) {
    for (unsigned i = 0; i < s->count; i++) {
        if (count == tile_type_elements(tile_value_type(s->l->f, from.at[i]))) continue;
        from.at[i] = tile_build_extract(&s->l->builder, from.at[i], lower_int(s->l, first),
                                        vector_of(s, s->scalars[i], count));
    }
    return from;
}

static sums permute(const scanning *s, sums from, const int64_t *order, unsigned count) {
    for (unsigned i = 0; i < s->count; i++)
        from.at[i] = lower_permute(s->l, from.at[i], order, count);
    return from;
}

static sums shuffle(const scanning *s, sums from, tile_value lane, const char *kind) {
    for (unsigned i = 0; i < s->count; i++) from.at[i] = lower_shfl(s->l, from.at[i], lane, kind);
    return from;
}

static sums select_sums(const scanning *s, tile_value condition, sums yes, sums no) {
    for (unsigned i = 0; i < s->count; i++)
        yes.at[i] = tile_build_select(&s->l->builder, condition, yes.at[i], no.at[i]);
    return yes;
}

static tile_value join_one(const scanning *s, const sums *parts, unsigned count, unsigned i) {
    tile_value *all = TILE_NEW_ARRAY(s->l->pass->scratch, tile_value, count);
    for (unsigned k = 0; k < count; k++) all[k] = parts[k].at[i];
    return tile_build_concat(&s->l->builder, all, count);
}

/* The bits of parts of `width` elements each. */
static tile_value join_present(const scanning *s, const sums *parts, unsigned count,
                               unsigned width) {
    tile_context *context = tile_function_context(s->l->f);
    const tile_type *bit = tile_type_scalar(context, TILE_i1), *bits = vector_of(s, TILE_i1, width);
    tile_value *all = TILE_NEW_ARRAY(s->l->pass->scratch, tile_value, count);
    for (unsigned k = 0; k < count; k++) {
        all[k] = parts[k].present;
        if (!all[k].id)
            all[k] = tile_function_constant(s->l->f, bit, tile_expr_int(context, !parts[k].none));
        if (tile_value_type(s->l->f, all[k])->kind == TILE_TYPE_SCALAR)
            all[k] = tile_build_splat(&s->l->builder, all[k], bits);
    }
    return tile_build_concat(&s->l->builder, all, count);
}

/* Parts of `width` elements, one after the other. otherwise: values for parts without elements. */
static sums join(const scanning *s, sums *parts, unsigned count, unsigned width, sums otherwise) {
    if (count == 1) return parts[0];
    sums all = {.none = false};
    bool certain = true;
    for (unsigned k = 0; k < count; k++) certain &= !parts[k].none && !parts[k].present.id;
    if (!certain) all.present = join_present(s, parts, count, width);
    for (unsigned k = 0; k < count; k++)
        if (parts[k].none) parts[k] = extract(s, otherwise, k * width, width);
    for (unsigned i = 0; i < s->count; i++) all.at[i] = join_one(s, parts, count, i);
    return all;
}

/* Combining ----------------------------------------------------------------------------------- */

static sums combine_values(const scanning *s, sums before, sums own) {
    sums all = {.none = false};
    if (!s->function) {
        const tile_segment operands[] = {{before.at[0], NULL, 0}, {own.at[0], NULL, 0}};
        all.at[0] = tile_build_op_value(&s->l->builder, s->opcode, operands, 2, NULL);
        return all;
    }
    tile_value arguments[2 * TILE_MAX_COMBINED];
    for (unsigned i = 0; i < s->count; i++) {
        arguments[i] = before.at[i];
        arguments[s->count + i] = own.at[i];
    }
    if (tile_inline_func(&s->l->builder, s->function, NULL, 0, arguments, 2 * s->count, all.at))
        return all;
    s->l->failed = true;
    return own;
}

static sums combine(const scanning *s, sums before, sums own) {
    if (before.none) return own;
    if (own.none) return before;
    sums all = combine_values(s, before, own);
    if (own.present.id) all = select_sums(s, own.present, all, before);
    if (before.present.id) all = select_sums(s, before.present, all, own);
    if (own.present.id && before.present.id)
        all.present = tile_build_or(&s->l->builder, before.present, own.present);
    return all;
}

/* The identity element of a kind, or the operation's. */
static sums identity(const scanning *s, unsigned count) {
    tile_context *context = tile_function_context(s->l->f);
    sums all = {.none = false};
    const tile_values given =
        s->function ? tile_operands_identity(&s->l->old, s->op) : (tile_values){NULL, 0};
    for (unsigned i = 0; i < s->count; i++) {
        bool floats = tile_scalar_is_floating(s->scalars[i]);
        const tile_expr *expr =
            floats ? tile_expr_float(context, tile_kind_identity(s->scan.kind))
                   : tile_expr_int(context,
                                   tile_wrap_int(s->scalars[i], tile_kind_integer_identity(
                                                                    s->scan.kind, s->scalars[i])));
        tile_value number =
            given.count
                ? lower_mapped(s->l, given.at[i])
                : tile_function_constant(s->l->f, tile_type_scalar(context, s->scalars[i]), expr);
        all.at[i] = tile_build_splat(&s->l->builder, number, vector_of(s, s->scalars[i], count));
    }
    return all;
}

/* The sum of no elements. */
static sums nothing(const scanning *s, unsigned count) {
    return s->function ? (sums){.none = true} : identity(s, count);
}

/* The sums where the condition is true, else `no`. */
static sums choose(const scanning *s, tile_value condition, sums yes, sums no) {
    sums all = yes;
    if (!no.none) all = select_sums(s, condition, yes, no);
    all.present = no.none ? condition : no.present;
    if (no.present.id) all.present = tile_build_or(&s->l->builder, condition, no.present);
    return all;
}

/* Order --------------------------------------------------------------------------------------- */

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

/* Lanes --------------------------------------------------------------------------------------- */

/* Scans the lanes of a row. *before: the sum of the preceding lanes; none if there is one lane.
 * Returns the sum of all lanes. */
static sums scan_lanes(const scanning *s, sums sum, sums *before) {
    lowering *l = s->l;
    unsigned width = s->rounds * s->rows;
    const char *kind = s->scan.reverse ? "down" : "up";
    before->none = true;
    if (!s->lane_bits) return sum;
    tile_value place = place_among(s, TILE_HELD_BY_LANE, s->lane_bits);
    for (unsigned i = 0; i < s->lane_bits; i++) {
        sums other = shuffle(s, sum, lower_int(l, 1 << (i + s->first_lane)), kind);
        tile_value has = tile_build_ge(&l->builder, place, lower_int(l, 1 << i));
        sum = select_sums(s, has, combine(s, other, sum), sum);
    }
    sums other = shuffle(s, sum, lower_int(l, 1 << s->first_lane), kind);
    tile_value has = tile_build_gt(&l->builder, place, lower_int(l, 0));
    *before = choose(s, has, other, nothing(s, width));
    unsigned mask = ((1u << s->lane_bits) - 1) << s->first_lane;
    tile_value lane = tile_build_and(&l->builder, l->thread, lower_int(l, 31));
    tile_value last = s->scan.reverse ? tile_build_and(&l->builder, lane, lower_int(l, 31 & ~mask))
                                      : tile_build_or(&l->builder, lane, lower_int(l, mask));
    return shuffle(s, sum, last, "idx");
}

/* The sum of all lanes of a row, in each of them. In each step a lane adds the sum of a later lane;
 * the first lane of the row thus gets all, and the others then take its sum. */
static sums reduce_lanes(const scanning *s, sums sum) {
    lowering *l = s->l;
    if (!s->lane_bits) return sum;
    for (unsigned i = 0; i < s->lane_bits; i++) {
        sums later = shuffle(s, sum, lower_int(l, 1 << (i + s->first_lane)), "down");
        sum = s->scan.reverse ? combine(s, later, sum) : combine(s, sum, later);
    }
    unsigned mask = ((1u << s->lane_bits) - 1) << s->first_lane;
    tile_value first = tile_build_and(&l->builder, l->thread, lower_int(l, 31 & ~mask));
    return shuffle(s, sum, first, "idx");
}

/* Warps --------------------------------------------------------------------------------------- */

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

/* The sums of warp w in round q. cells: the layout of `all`. */
static sums cell_sums(const scanning *s, const tile_layout *cells, sums all, uint32_t q,
                      uint32_t w) {
    tile_axis_map along;
    uint32_t warps = 1u << s->warp_bits, cell = reversed(s, q * warps + w, s->rounds * warps);
    int64_t *order = TILE_NEW_ARRAY(s->l->pass->scratch, int64_t, s->rows);
    tile_axis_map_find(cells, s->along.axis, &along);
    for (uint32_t row = 0; row < s->rows; row++)
        order[row] = tile_axis_map_register(cells, &along, row, cell);
    return permute(s, all, order, s->rows);
}

/* The sum of all elements before this warp's elements of each round, computed from the sums of all
 * cells. */
static sums add_up_cells(const scanning *s, const tile_layout *cells, sums all, sums own_sum) {
    lowering *l = s->l;
    unsigned warps = 1u << s->warp_bits, rows = s->rows;
    tile_value place = place_among(s, TILE_HELD_BY_WARP, s->warp_bits);
    sums base = nothing(s, rows), *rounds = TILE_NEW_ARRAY(l->pass->scratch, sums, s->rounds);
    for (uint32_t q = 0; q < s->rounds; q++) {
        sums own = base;
        for (uint32_t w = 0; w < warps; w++) {
            base = combine(s, base, cell_sums(s, cells, all, q, w));
            tile_value passed = tile_build_gt(&l->builder, place, lower_int(l, w));
            if (w + 1 < warps) own = choose(s, passed, base, own);
        }
        rounds[q] = own;
    }
    return join(s, rounds, s->rounds, rows, own_sum);
}

/* The sum of all cells. */
static sums reduce_cells(const scanning *s, const tile_layout *cells, sums all) {
    sums base = {.none = true};
    for (uint32_t q = 0; q < s->rounds; q++)
        for (uint32_t w = 0; w < 1u << s->warp_bits; w++)
            base = combine(s, base, cell_sums(s, cells, all, q, w));
    return base;
}

/* The integers of the buffer that have the value's bits. */
static tile_value to_word(const scanning *s, tile_value value, unsigned i, tile_scalar word) {
    static const tile_scalar integers[] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64};
    tile_builder *t = &s->l->builder;
    unsigned count = (unsigned)tile_type_elements(tile_value_type(s->l->f, value)), own = 0;
    while (1u << own < tile_scalar_bytes(s->scalars[i])) own++;
    if (s->scalars[i] != TILE_i1 && s->scalars[i] != integers[own])
        value = tile_build_bitcast(t, value, vector_of(s, integers[own], count));
    if (tile_value_type(s->l->f, value)->scalar == word) return value;
    return tile_build_cast(t, value, vector_of(s, word, count));
}

static tile_value from_word(const scanning *s, tile_value value, unsigned i) {
    static const tile_scalar integers[] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64};
    tile_builder *t = &s->l->builder;
    tile_scalar scalar = s->scalars[i];
    unsigned count = (unsigned)tile_type_elements(tile_value_type(s->l->f, value)), own = 0;
    while (1u << own < tile_scalar_bytes(scalar)) own++;
    if (scalar == TILE_i1)
        return tile_build_ne(t, value, tile_build_zero(t, tile_value_type(s->l->f, value)));
    if (tile_value_type(s->l->f, value)->scalar != integers[own])
        value = tile_build_cast(t, value, vector_of(s, integers[own], count));
    return tile_value_type(s->l->f, value)->scalar == scalar
               ? value
               : tile_build_bitcast(t, value, vector_of(s, scalar, count));
}

/* Stores the sums to a function's buffer, which has a stage for each operand, and loads those of
 * all warps. */
static sums exchange_stages(const scanning *s, sums sum, const tile_layout *held,
                            const tile_layout *all) {
    lowering *l = s->l;
    tile_value buffer = tile_operand_buffer(&l->old, s->op);
    const tile_type *type = tile_value_type(&l->old, buffer);
    int64_t elements = tile_type_elements(type);
    for (unsigned i = 0; i < s->count; i++) {
        lower_shared_map map = lower_map_stage(l, buffer, lower_int(l, i * elements), held);
        lower_store_mapped(l, to_word(s, sum.at[i], i, type->scalar), &map,
                           lower_laid_out(l, type->scalar, held));
    }
    tile_build_sync_for(&l->builder, l->executors);
    for (unsigned i = 0; i < s->count; i++) {
        lower_shared_map map = lower_map_stage(l, buffer, lower_int(l, i * elements), all);
        sum.at[i] =
            from_word(s, lower_load_mapped(l, &map, lower_laid_out(l, type->scalar, all), true), i);
    }
    return sum;
}

static sums exchange_totals(const scanning *s, sums sum, const tile_layout *held,
                            const tile_layout *all) {
    lowering *l = s->l;
    const tile_values buffer = tile_operands_totals(&l->old, s->op);
    lower_store_shared(l, sum.at[0], lower_laid_out(l, s->scalars[0], held), buffer.at, 1);
    tile_build_sync_for(&l->builder, l->executors);
    sum.at[0] = lower_load_shared(l, buffer.at, 1, lower_laid_out(l, s->scalars[0], all), true);
    return sum;
}

/* The sums of all warps in each round; *all: their layout. */
static sums exchange_warps(const scanning *s, sums sum, tile_layout *all) {
    lowering *l = s->l;
    tile_axis_map along;
    tile_layout held = lay_out_cells(s, false);
    *all = lay_out_cells(s, true);
    unsigned width = s->rounds * s->rows;
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, width);
    tile_axis_map_find(&held, s->along.axis, &along);
    for (uint32_t q = 0; q < s->rounds; q++)
        for (uint32_t row = 0; row < s->rows; row++)
            order[tile_axis_map_register(&held, &along, row, reversed(s, q, s->rounds))] =
                q * s->rows + row;
    sum = permute(s, sum, order, width);
    if (tile_sync_is_explicit(&l->old, s->op)) lower_end_with_sync(l);
    return (s->function ? exchange_stages : exchange_totals)(s, sum, &held, all);
}

/* Rows ---------------------------------------------------------------------------------------- */

/* For rounds of registers without warps. */
static sums add_up_rounds(const scanning *s, sums sum) {
    sums base = nothing(s, s->rows), *rounds = TILE_NEW_ARRAY(s->l->pass->scratch, sums, s->rounds);
    for (uint32_t q = 0; q < s->rounds; q++) {
        rounds[q] = base;
        if (q + 1 < s->rounds) base = combine(s, base, extract(s, sum, q * s->rows, s->rows));
    }
    return join(s, rounds, s->rounds, s->rows, sum);
}

/* The sums of what precedes; the identity where that is nothing. */
static sums complete(const scanning *s, sums before) {
    unsigned width = s->rounds * s->rows;
    if (before.none) return identity(s, width);
    return before.present.id ? select_sums(s, before.present, before, identity(s, width)) : before;
}

static sums scan_registers(const scanning *s, sums fragment) {
    lowering *l = s->l;
    tile_layout cells;
    unsigned width = s->rounds * s->rows;
    sums *own = TILE_NEW_ARRAY(l->pass->scratch, sums, s->near);
    sums *results = TILE_NEW_ARRAY(l->pass->scratch, sums, s->near), before, first;
    for (uint32_t j = 0; j < s->near; j++) {
        sums next = extract(s, fragment, j * width, width);
        own[j] = j ? combine(s, own[j - 1], next) : next;
    }
    sums whole = scan_lanes(s, own[s->near - 1], &before);
    if (s->warp_bits) {
        sums all = exchange_warps(s, whole, &cells);
        first = add_up_cells(s, &cells, all, whole);
    } else {
        first = add_up_rounds(s, whole);
    }
    first = combine(s, first, before);
    for (uint32_t j = 0; j < s->near; j++)
        results[j] = !s->scan.exclusive ? combine(s, first, own[j])
                     : j                ? combine(s, first, own[j - 1])
                                        : complete(s, first);
    return join(s, results, s->near, width, fragment);
}

/* The sums of a warp's elements in `count` rounds from round q on. */
static sums reduce_rounds(const scanning *s, sums fragment, uint32_t q, uint32_t count) {
    unsigned width = s->rounds * s->rows;
    sums sum = {.none = true};
    for (uint32_t j = 0; j < s->near; j++)
        sum = combine(s, sum, extract(s, fragment, j * width + q * s->rows, count * s->rows));
    return reduce_lanes(s, sum);
}

/* Sums that are computed at once, to hide the latency of a function. More would need registers. */
enum { SUMS_IN_FLIGHT = 4 };

/* The sum of each row. A warp completes a few rounds before it begins the next ones, so that few
 * partial sums are alive. */
static sums reduce_registers(const scanning *s, sums fragment) {
    tile_layout cells;
    uint32_t step = 1, groups = 0;
    sums *parts = TILE_NEW_ARRAY(s->l->pass->scratch, sums, s->rounds), total = {.none = true};
    while (s->rounds % (2 * step) == 0 && 2 * step * s->rows <= SUMS_IN_FLIGHT) step *= 2;
    for (uint32_t q = 0; q < s->rounds; q += step) {
        sums sum = parts[groups++] = reduce_rounds(s, fragment, q, step);
        for (uint32_t i = 0; i < step && !s->warp_bits; i++)
            total = combine(s, total, extract(s, sum, i * s->rows, s->rows));
    }
    if (!s->warp_bits) return total;
    sums all = join(s, parts, groups, step * s->rows, total);
    all = exchange_warps(s, all, &cells);
    return reduce_cells(s, &cells, all);
}

static scanning start(lowering *l, tile_op op) {
    scanning s = {.l = l, .op = op, .scan = tile_scan_of(&l->old, op), .count = 1};
    s.layout = tile_value_type(&l->old, tile_operand_src(&l->old, op))->layout;
    tile_axis_map_is_in_order(s.layout, (unsigned)tile_op_attr_int(&l->old, op, TILE_ATTR_axis, 0),
                              &s.along);
    count_bits(&s);
    return s;
}

tile_value lower_scan(lowering *l, tile_op op) {
    tile_reduction reduction;
    tile_value src = tile_operand_src(&l->old, op);
    sums fragment = {.at = {lower_mapped(l, src)}};
    const tile_type *type = tile_value_type(&l->old, src);
    unsigned count = tile_type_registers(type);
    tile_reduction_of(&l->old, op, &reduction);
    scanning s = start(l, op);
    s.opcode = tile_kind_opcode(reduction.kind);
    s.scalars[0] = tile_reduction_scalar(reduction.kind, type->scalar);
    int64_t *order = order_registers(&s), *back = TILE_NEW_ARRAY(l->pass->scratch, int64_t, count);
    for (unsigned i = 0; i < count; i++) back[order[i]] = i;
    if (s.scalars[0] != type->scalar)
        fragment.at[0] =
            tile_build_cast(&l->builder, fragment.at[0], vector_of(&s, s.scalars[0], count));
    fragment = scan_registers(&s, permute(&s, fragment, order, count));
    fragment = permute(&s, fragment, back, count);
    if (s.scalars[0] == type->scalar) return fragment.at[0];
    return tile_build_cast(&l->builder, fragment.at[0], vector_of(&s, type->scalar, count));
}

/* The rows of a reduction's result, by register of its layout. */
static int64_t *order_rows(const scanning *s, const tile_reduce_plan *plan, unsigned width) {
    int64_t *row_of =
        TILE_NEW_ARRAY(s->l->pass->scratch, int64_t, tile_layout_registers(s->layout));
    int64_t *order = TILE_NEW_ARRAY(s->l->pass->scratch, int64_t, width);
    for (uint32_t row = 0; row < s->rows; row++)
        for (uint32_t step = 0; step < s->near * s->rounds; step++)
            row_of[tile_axis_map_register(s->layout, &s->along, row, step)] = row;
    for (unsigned n = 0; n < width; n++) order[n] = row_of[tile_reduce_register(plan, n, 0, 0)];
    return order;
}

void lower_combine(lowering *l, tile_op op, tile_value *results) {
    tile_combine combine;
    const tile_values src = tile_operands_src(&l->old, op);
    sums fragment = {.none = false};
    tile_combine_of(&l->old, op, &combine);
    scanning s = start(l, op);
    unsigned count = tile_layout_registers(s.layout);
    s.function = combine.function;
    s.count = combine.count;
    for (unsigned i = 0; i < s.count; i++) {
        s.scalars[i] = tile_value_type(&l->old, src.at[i])->scalar;
        fragment.at[i] = lower_mapped(l, src.at[i]);
    }
    int64_t *order = order_registers(&s), *back = TILE_NEW_ARRAY(l->pass->scratch, int64_t, count);
    for (unsigned i = 0; i < count; i++) back[order[i]] = i;
    fragment = permute(&s, fragment, order, count);
    if (combine.reduces) {
        tile_reduce_plan plan = tile_reduce_make_plan(s.layout, combine.axis);
        unsigned width = tile_layout_registers(&plan.narrow);
        fragment = reduce_registers(&s, fragment);
        fragment = permute(&s, fragment, order_rows(&s, &plan, width), width);
    } else {
        fragment = permute(&s, scan_registers(&s, fragment), back, count);
    }
    for (unsigned i = 0; i < s.count; i++) results[i] = fragment.at[i];
}
