/* Selects the cheapest of several layouts that are requested for a class.
 *
 * Costs are counted for one warp, in half cycles of a multiprocessor:
 *
 * - global accesses: sectors, lines and instructions
 * - shared accesses: wavefronts, including bank conflicts
 * - dots: the operands that a warp reads
 * - reductions: shuffles and cells
 * - conversions where another layout is needed: by registers, shuffles or shared memory
 *
 * Each cost is multiplied by the trip counts of the enclosing loops. A conversion counts at the
 * place to which it is hoisted, once for all users. Tiles without inputs are recomputed instead of
 * converted.
 *
 * Classes that are not resolved yet cost nothing, because their requests follow. Equal operations
 * form one term with the sum of their weights. The time for a class is thus the number of its
 * different operations times the number of layouts requested for it, which is small. */
#include <string.h>

#include "lib/analysis/access.h"
#include "lib/analysis/conversion.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/rearranged.h"
#include "lib/layout/axis_map.h"
#include "lib/layout/layout.h"
#include "lib/layout/pieces.h"
#include "lib/layout/reduce.h"
#include "lib/layout/traffic.h"
#include "lib/ops/gather.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "passes/common/warpgroup.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/requests.h"

typedef enum cost_kind {
    COST_LOAD,          /* from global memory: dim, width */
    COST_STORE,         /* likewise; or a conversion to `other` and such an access */
    COST_SHARED_ACCESS, /* load_shared and store_shared; other: the buffer's layout */
    COST_CONVERT_TO,    /* to `other` */
    COST_CONVERT_FROM,  /* from `other` */
    COST_STORE_PIECES,  /* to `other`, if pieces cannot be cut from the layout */
    COST_ROWS,          /* likewise, if op cannot work in the layout; and a scan */
    COST_BROADCAST,     /* op, whose operand has the layout `other` */
    COST_REDUCE,        /* a reduction along dim; other: layout of its result, or rank 0 */
    COST_REDUCED,       /* result of a reduction along dim; other: layout of its operand */
    COST_GATHER_SOURCE, /* a gather along dim; other: layout of the indices */
    COST_GATHER_INDEX,  /* indices of such a gather; other: layout of its source */
    COST_DOT            /* op, whose accumulator is in the class */
} cost_kind;

typedef struct cost_term {
    cost_kind kind;
    const tile_type *type; /* of the tile that is moved */
    unsigned dim, width;
    tile_access_facts facts; /* of a store of a whole tile; or width 0 */
    tile_layout other;
    tile_op op; /* any of the operations */
    uint64_t weight;
    struct cost_term *next;
} cost_term;

/* A conversion of a value, shared by all its users. */
typedef struct counted_conversion {
    cost_term *what;
    uint64_t weight;
    struct counted_conversion *next;
} counted_conversion;

typedef struct class_costs {
    assignment *a;
    uint32_t class;
    cost_term *terms;
} class_costs;

/* 1. Terms ------------------------------------------------------------------------------------ */

/* Terms of these kinds are equal only for operations with the same types. */
static bool depends_on_op(cost_kind kind) {
    return kind == COST_ROWS || kind == COST_BROADCAST || kind == COST_DOT;
}

static bool same_types(const tile_function *f, tile_op x, tile_op y) {
    const tile_op_data *one = tile_op_at(f, x), *two = tile_op_at(f, y);
    bool same = one->opcode == two->opcode && one->operand_count == two->operand_count &&
                one->result_count == two->result_count && one->attr_count == two->attr_count;
    for (unsigned i = 0; same && i < one->attr_count; i++)
        same = one->attrs[i].id == two->attrs[i].id && one->attrs[i].expr == two->attrs[i].expr &&
               one->attrs[i].text == two->attrs[i].text;
    for (uint32_t i = 0; same && i < one->operand_count; i++)
        same = tile_value_type(f, one->operands[i]) == tile_value_type(f, two->operands[i]);
    return same && tile_value_type(f, one->first_result) == tile_value_type(f, two->first_result);
}

static bool same_term(const tile_function *f, const cost_term *x, const cost_term *y) {
    return x->kind == y->kind && x->type == y->type && x->dim == y->dim && x->width == y->width &&
           x->facts.width == y->facts.width && x->facts.unaligned == y->facts.unaligned &&
           x->facts.shifts == y->facts.shifts &&
           (!depends_on_op(x->kind) || x->op.id == y->op.id || same_types(f, x->op, y->op)) &&
           tile_layout_equal(&x->other, &y->other);
}

static cost_term *add_term(class_costs *s, const cost_term *t) {
    enum { LOOKED_AT = 32 }; /* more different terms are rare and only cost time */
    unsigned looked = 0;
    for (cost_term *at = s->terms; at && looked < LOOKED_AT; at = at->next, looked++) {
        if (!same_term(s->a->f, at, t)) continue;
        at->weight += t->weight;
        return at;
    }
    cost_term *more = TILE_NEW(s->a->pass->scratch, cost_term);
    *more = *t;
    more->next = s->terms;
    return s->terms = more;
}

/* Whether the tile is recomputed from no inputs, or from an operand with fewer elements. */
static bool is_rematerialized(const tile_function *f, tile_value tile) {
    tile_op def = tile_value_def(f, tile);
    tile_opcode opcode = tile_op_opcode(f, def);
    return def.id &&
           (opcode == TILE_OP_splat || opcode == TILE_OP_iota || opcode == TILE_OP_broadcast ||
            (opcode == TILE_OP_inside && tile_is_plain_access(f, def)));
}

/* Adds the conversion of a tile of the class to the layout that op needs. */
static void add_conversion(class_costs *s, tile_op op, tile_value tile, const tile_layout *to) {
    assignment *a = s->a;
    if (is_rematerialized(a->f, tile)) return;
    cost_term t = {
        .kind = COST_CONVERT_TO, .type = tile_value_type(a->f, tile), .other = *to, .op = op};
    cost_term *what = add_term(s, &t);
    uint64_t weight = conversion_count(a, op, tile);
    counted_conversion *n = a->counted_conversion[tile.id];
    while (n && n->what != what) n = n->next;
    if (!n) {
        n = TILE_NEW(a->pass->scratch, counted_conversion);
        *n = (counted_conversion){what, 0, a->counted_conversion[tile.id]};
        a->counted_conversion[tile.id] = n;
    }
    if (weight <= n->weight) return;
    what->weight += weight - n->weight;
    n->weight = weight;
}

static bool in_class(const class_costs *s, tile_value tile) {
    return tile.id && layouts_is_tile(s->a, tile) && layouts_class_of(s->a, tile) == s->class;
}

static void add_access(class_costs *s, tile_op op, tile_value tile, const tile_value *element,
                       bool stores) {
    assignment *a = s->a;
    const tile_type *type = tile_value_type(a->f, tile);
    tile_layout wide = tile_access_layout(a->f, a->ranges, element, type, layouts_warps_at(a, op));
    if (tile_value_type(a->f, element[0])->layout) { /* only its own layout allows wide accesses */
        add_conversion(s, op, tile, &wide);
        return;
    }
    tile_access_facts facts = tile_view_access(a->f, a->ranges, element);
    cost_term t = {.kind = stores ? COST_STORE : COST_LOAD, .type = type, .op = op};
    t.dim = tile_unit_dim(&facts, tile_value_type(a->f, element[0])->rank, type->rank);
    t.width = !stores && tile_is_whole_access(a->f, op) ? facts.unaligned : facts.width;
    if (stores && tile_is_whole_access(a->f, op)) t.facts = facts;
    t.weight = execution_count(a, op);
    if (stores) t.other = wide;
    add_term(s, &t);
}

static void add_shared(class_costs *s, tile_op op) {
    assignment *a = s->a;
    bool loads = tile_op_opcode(a->f, op) == TILE_OP_load_shared;
    const tile_values element = loads ? tile_operands_src(a->f, op) : tile_operands_dst(a->f, op);
    tile_value tile = loads ? tile_op_result(a->f, op, 0) : tile_operand_src(a->f, op);
    const tile_type *buffer = tile_value_type(a->f, element.at[0]),
                    *type = tile_value_type(a->f, tile);
    const tile_layout *order =
        buffer->layout ? buffer->layout : &a->shared[tile_shared_source(a->f, element.at[0]).id];
    if (!in_class(s, tile) || !order->rank || order->rank != type->rank) return;
    cost_term t = {.kind = COST_SHARED_ACCESS, .type = type, .other = *order, .op = op};
    t.width = loads;
    t.weight = execution_count(a, op);
    add_term(s, &t);
}

/* An operand that the instruction does not take from registers goes through a buffer. */
static void add_put_in_shared(class_costs *s, tile_op op, unsigned operand, tile_value tile) {
    const tile_type *type = tile_value_type(s->a->f, tile);
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(type, dims);
    cost_term t = {
        .kind = COST_SHARED_ACCESS, .type = type, .op = op, .weight = execution_count(s->a, op)};
    t.other = tile_layout_shared_swizzled(dims, type->rank, type->rank - 1,
                                          tile_scalar_bytes(type->scalar));
    if (warpgroup_uses_wgmma(s->a->f, op))
        t.other = warpgroup_buffer_layout(type, warpgroup_contiguous_dim(s->a->f, op, operand));
    add_term(s, &t);
}

static void add_dot(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_layout fragment;
    tile_value result = tile_op_result(a->f, op, 0);
    const tile_layout *sum = requested_layout(a, result);
    if (in_class(s, result)) {
        cost_term t = {.kind = COST_DOT, .type = tile_value_type(a->f, result), .op = op};
        t.weight = execution_count(a, op);
        add_term(s, &t);
        return;
    }
    for (unsigned i = 0; i < 2 && sum; i++) {
        tile_value tile = tile_op_segment(a->f, op, i).at[0];
        if (!in_class(s, tile)) continue;
        if (dot_fragment_layout(a, op, i, sum, &fragment))
            add_conversion(s, op, tile, &fragment);
        else
            add_put_in_shared(s, op, i, tile);
    }
}

static void add_broadcast(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_value operand = tile_operand_src(a->f, op), result = tile_op_result(a->f, op, 0);
    const tile_type *type = tile_value_type(a->f, operand);
    const tile_layout *other = requested_layout(a, in_class(s, result) ? operand : result);
    if (!other || layouts_class_of(a, operand) == layouts_class_of(a, result)) return;
    if (in_class(s, operand)) {
        tile_layout narrow = tile_broadcast_layout(type, other);
        add_conversion(s, op, operand, &narrow);
    } else if (!is_rematerialized(a->f, operand)) {
        cost_term t = {.kind = COST_BROADCAST, .type = type, .other = *other, .op = op};
        t.weight = execution_count(a, op);
        add_term(s, &t);
    }
}

static void add_reduction(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_reduction reduction;
    tile_value operand = tile_operand_src(a->f, op), result = tile_op_result(a->f, op, 0);
    const tile_layout *from = requested_layout(a, operand), *to = requested_layout(a, result);
    if (!tile_reduction_of(a->f, op, &reduction)) return;
    cost_term t = {.dim = reduction.axis, .op = op, .weight = execution_count(a, op)};
    t.type = tile_value_type(a->f, operand);
    if (in_class(s, operand)) {
        t.kind = COST_REDUCE;
        if (to && !in_class(s, result)) t.other = *to;
        add_term(s, &t);
    } else if (from) {
        t.kind = COST_REDUCED;
        t.other = *from;
        add_term(s, &t);
    }
}

static void add_gather(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_value src = tile_operand_src(a->f, op), result = tile_op_result(a->f, op, 0);
    bool taken = in_class(s, src);
    const tile_layout *other = requested_layout(a, taken ? result : src);
    if (!other || taken == in_class(s, result)) return;
    cost_term t = {.kind = taken ? COST_GATHER_SOURCE : COST_GATHER_INDEX,
                   .type = tile_value_type(a->f, src),
                   .op = op};
    t.dim = (unsigned)tile_op_attr_int(a->f, op, TILE_ATTR_axis, 0);
    t.other = *other;
    t.weight = execution_count(a, op);
    add_term(s, &t);
}

static void add_rows(class_costs *s, tile_op op) {
    assignment *a = s->a;
    bool takes = in_class(s, tile_operand_src(a->f, op));
    tile_value tile = takes ? tile_operand_src(a->f, op) : tile_op_result(a->f, op, 0);
    cost_term t = {.kind = COST_ROWS, .type = tile_value_type(a->f, tile), .op = op};
    t.other = tile_rows_layout(a->f, op, layouts_warps_at(a, op));
    t.weight = execution_count(a, op);
    add_term(s, &t);
}

/* If the other side has another layout, one of both is converted. */
static void add_rearranged(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_layout layout;
    tile_value result = tile_op_result(a->f, op, 0);
    cost_term t = {.kind = COST_CONVERT_FROM, .type = tile_value_type(a->f, result), .op = op};
    t.weight = execution_count(a, op);
    for (unsigned i = 0; i < tile_moved_operands(a->f, op); i++) {
        tile_value operand = tile_op_operand(a->f, op, i);
        if (in_class(s, operand) == in_class(s, result)) continue;
        const tile_layout *other = requested_layout(a, in_class(s, result) ? operand : result);
        if (!other) continue;
        if (in_class(s, operand) && tile_layout_of_operand(a->f, op, i, other, &layout)) {
            add_conversion(s, op, operand, &layout);
        } else if (in_class(s, result) && tile_layout_of_result(a->f, op, i, other, &layout)) {
            t.other = layout;
            add_term(s, &t);
        }
    }
}

static void add_written_conversion(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_value operand = tile_operand_src(a->f, op), result = tile_op_result(a->f, op, 0);
    bool takes = in_class(s, operand);
    if (takes == in_class(s, result)) return;
    const tile_layout *other = requested_layout(a, takes ? result : operand);
    if (!other) return;
    cost_term t = {.kind = takes ? COST_CONVERT_TO : COST_CONVERT_FROM,
                   .type = tile_value_type(a->f, operand),
                   .other = *other,
                   .op = op,
                   .weight = execution_count(a, op)};
    add_term(s, &t);
}

/* Index tiles and predicates need the layout of the tile that they are for. */
static void add_points(class_costs *s, tile_op op, const tile_gather *g) {
    assignment *a = s->a;
    tile_layout copied;
    tile_value moved = layouts_moved_tile(a->f, op);
    const tile_layout *layout = moved.id ? requested_layout(a, moved) : NULL;
    if (layouts_of_copy(a->f, a->ranges, op, &copied)) layout = &copied;
    if (!layout || in_class(s, moved)) return;
    if (in_class(s, g->predicate)) add_conversion(s, op, g->predicate, layout);
    if (!g->tiles) return;
    tile_layout points = tile_points_layout(g->shape, layout, false);
    for (unsigned d = 0; d < g->rank; d++)
        if (in_class(s, g->index[d])) add_conversion(s, op, g->index[d], &points);
}

static void add_memory(class_costs *s, tile_op op) {
    assignment *a = s->a;
    tile_gather g;
    tile_value tile;
    const tile_value *element = find_transfer(a->f, op, &tile);
    if (element && in_class(s, tile))
        add_access(s, op, tile, element, tile_op_opcode(a->f, op) == TILE_OP_store);
    if (layouts_is_atomic_tile(a->f, op)) {
        tile = tile_moved_operand(a->f, op);
        element = tile_operands_dst(a->f, op).at;
        if (in_class(s, tile) && tile_value_type(a->f, element[0])->kind == TILE_TYPE_VIEW)
            add_access(s, op, tile, element, false);
    }
    if (tile_gather_of(a->f, op, &g)) add_points(s, op, &g);
}

static void add_pieces(class_costs *s, tile_op op) {
    uint32_t extents[TILE_MAX_RANK];
    tile_value tile = tile_operand_src(s->a->f, op);
    cost_term t = {.kind = COST_STORE_PIECES, .type = tile_value_type(s->a->f, tile), .op = op};
    t.other = layouts_of_pieces(s->a->f, op, extents);
    t.weight = execution_count(s->a, op);
    if (in_class(s, tile)) add_term(s, &t);
}

static void add_op(class_costs *s, tile_op op) {
    switch (tile_op_opcode(s->a->f, op)) {
    case TILE_OP_dot: add_dot(s, op); return;
    case TILE_OP_load_shared:
    case TILE_OP_store_shared: add_shared(s, op); break;
    case TILE_OP_store_async: add_pieces(s, op); return;
    case TILE_OP_broadcast: add_broadcast(s, op); return;
    case TILE_OP_convert_layout: add_written_conversion(s, op); return;
    case TILE_OP_gather: add_gather(s, op); return;
    case TILE_OP_reduce:
    case TILE_OP_reduce_arg: add_reduction(s, op); return;
    case TILE_OP_scan:
    case TILE_OP_scan_with:
    case TILE_OP_sort: add_rows(s, op); return;
    case TILE_OP_reduce_with:
        if (!in_class(s, tile_operand_src(s->a->f, op))) return; /* the result has other extents */
        add_rows(s, op);
        return;
    default: break; /* all others, by their properties */
    }
    if (tile_is_rearrangement(s->a->f, op))
        add_rearranged(s, op);
    else
        add_memory(s, op);
}

/* 2. Cost of a term under a layout ------------------------------------------------------------ */

/* Half cycles: a wavefront and an instruction of a shared access, in conversions as well; a barrier
 * with its stall; a shuffle with the combining operation. WORD is in bytes. */
enum { WAVEFRONT = 2, ACCESS = 1, BARRIERS = 32, SHUFFLE = 3, WORD = 4 };

static uint64_t conversion_cost(const tile_type *type, const tile_layout *from,
                                const tile_layout *to) {
    unsigned cost;
    tile_type draft = *type;
    draft.layout = from;
    tile_conversion_of(&draft, to, &cost);
    return cost;
}

static uint64_t global_cost(const cost_term *t, const tile_layout *layout) {
    unsigned width = t->facts.width ? tile_store_width(&t->facts, layout, t->dim) : t->width;
    tile_traffic traffic =
        tile_traffic_global(layout, t->dim, width, tile_scalar_bytes(t->type->scalar));
    return tile_traffic_cost_global(&traffic);
}

static uint64_t store_cost(const cost_term *t, const tile_layout *layout) {
    uint64_t as_it_is = global_cost(t, layout),
             apart = conversion_cost(t->type, layout, &t->other) + global_cost(t, &t->other);
    return as_it_is < apart ? as_it_is : apart;
}

static uint64_t shared_cost(const cost_term *t, const tile_layout *layout) {
    tile_traffic traffic =
        tile_traffic_shared(layout, &t->other, tile_scalar_bytes(t->type->scalar), t->width != 0);
    return WAVEFRONT * (uint64_t)traffic.wavefronts + ACCESS * (uint64_t)traffic.accesses;
}

/* Lanes exchange partial results by shuffles, then warps through cells in shared memory. */
static uint64_t reduction_cost(const cost_term *t, const tile_layout *from, const tile_layout *to) {
    tile_reduce_plan plan = tile_reduce_make_plan(from, t->dim);
    uint64_t words = (tile_scalar_bytes(t->type->scalar) + WORD - 1) / WORD;
    uint64_t own = tile_layout_registers(&plan.narrow);
    uint64_t cost = tile_layout_registers(from) * words + SHUFFLE * own * words * plan.lane_steps;
    const tile_layout *held = to && to->rank ? to : &plan.narrow;
    if (!tile_reduce_exchanges(&plan, held)) return cost;
    uint64_t cells = tile_layout_registers(held) << plan.cell_bits;
    return cost + BARRIERS + (WAVEFRONT + ACCESS) * words * (own + cells);
}

static uint64_t gather_cost_of(const cost_term *t, const tile_layout *src,
                               const tile_layout *indices) {
    tile_type draft = *t->type;
    draft.layout = src;
    return tile_gather_cost(&draft, indices, t->dim);
}

static uint64_t pieces_cost(const assignment *a, const cost_term *t, const tile_layout *layout) {
    uint32_t extents[TILE_MAX_RANK];
    tile_pieces pieces;
    layouts_of_pieces(a->f, t->op, extents);
    return tile_pieces_cut(layout, extents, &pieces) ? 0
                                                     : conversion_cost(t->type, layout, &t->other);
}

static uint64_t broadcast_cost(const cost_term *t, const tile_layout *layout) {
    tile_layout narrow = tile_broadcast_layout(t->type, layout);
    return conversion_cost(t->type, &t->other, &narrow);
}

/* The number of rows or columns that one thread holds. */
static uint64_t count_along(const tile_layout *layout, unsigned d) {
    unsigned shift = tile_layout_dim_shift(layout, d);
    uint64_t count = layout->count[d];
    for (unsigned i = 0; i < layout->reg_bits; i++)
        if (layout->reg[i] >> shift & ((UINT32_C(1) << layout->dim_bits[d]) - 1)) count *= 2;
    return count;
}

/* The words of both operands that a warp reads. Without an instruction for this layout, each thread
 * reads its rows and columns and multiplies them. */
static uint64_t product_cost(assignment *a, const cost_term *t, const tile_layout *layout) {
    tile_layout own, fragment;
    uint64_t words = 0;
    bool wgmma = warpgroup_uses_wgmma(a->f, t->op);
    request_priority priority = dot_sum_request(a, t->op, &own);
    if (wgmma && priority && tile_layout_equal(&own, layout)) return 0;
    tile_mma_query query = tile_product_query(a->f, t->op);
    query.features = a->pass->target->features;
    query.acc_layout = layout;
    const tile_mma *row = tile_mma_find(&query);
    uint64_t bytes = tile_scalar_bytes(query.lhs);
    for (unsigned i = 0; i < 2 && row; i++) {
        const tile_type *operand = warpgroup_operand(a->f, t->op, i);
        if (operand->rank != 2) return 0;
        fragment = tile_product_fragment(row, layout, i, operand);
        words += tile_layout_registers(&fragment) * tile_scalar_bytes(operand->scalar) / WORD;
    }
    if (row) return WAVEFRONT * words;
    uint64_t rows = count_along(layout, 0), columns = count_along(layout, 1);
    return query.k * (WAVEFRONT * (rows + columns) * bytes + rows * columns);
}

/* Threads combine consecutive elements, lanes their sums, warps theirs through cells in shared
 * memory, of which each thread reads all. A thread has several sums where its elements are not
 * consecutive. */
static uint64_t scan_cost(const cost_term *t, const tile_layout *layout, unsigned axis) {
    tile_axis_map along;
    unsigned near = 0, lanes = 0, warps = 0;
    tile_axis_map_find(layout, axis, &along);
    while (near < along.count && along.bits[near].holder == TILE_HELD_BY_REGISTER) near++;
    for (unsigned bit = 0; bit < along.count; bit++) {
        lanes += along.bits[bit].holder == TILE_HELD_BY_LANE;
        warps += along.bits[bit].holder == TILE_HELD_BY_WARP;
    }
    uint64_t words = (tile_scalar_bytes(t->type->scalar) + WORD - 1) / WORD;
    uint64_t registers = tile_layout_registers(layout), sums = (registers >> near) * words;
    uint64_t cost = registers * words + SHUFFLE * sums * lanes;
    return warps ? cost + BARRIERS + (WAVEFRONT + ACCESS) * (sums + (sums << warps)) : cost;
}

static uint64_t rows_cost(assignment *a, const cost_term *t, const tile_layout *layout) {
    tile_opcode opcode = tile_op_opcode(a->f, t->op);
    unsigned axis = (unsigned)tile_op_attr_int(a->f, t->op, TILE_ATTR_axis, 0);
    bool fits = tile_rows_fit(a->f, t->op, layout);
    uint64_t cost = fits ? 0 : conversion_cost(t->type, layout, &t->other);
    if (opcode == TILE_OP_scan || opcode == TILE_OP_scan_with)
        cost += scan_cost(t, fits ? layout : &t->other, axis);
    return cost;
}

static uint64_t cost_of_term(assignment *a, const cost_term *t, const tile_layout *layout) {
    switch (t->kind) {
    case COST_LOAD: return global_cost(t, layout);
    case COST_STORE: return store_cost(t, layout);
    case COST_SHARED_ACCESS: return shared_cost(t, layout);
    case COST_CONVERT_TO: return conversion_cost(t->type, layout, &t->other);
    case COST_CONVERT_FROM: return conversion_cost(t->type, &t->other, layout);
    case COST_STORE_PIECES: return pieces_cost(a, t, layout);
    case COST_ROWS: return rows_cost(a, t, layout);
    case COST_BROADCAST: return broadcast_cost(t, layout);
    case COST_REDUCE: return reduction_cost(t, layout, &t->other);
    case COST_REDUCED: return reduction_cost(t, &t->other, layout);
    case COST_GATHER_SOURCE: return gather_cost_of(t, layout, &t->other);
    case COST_GATHER_INDEX: return gather_cost_of(t, &t->other, layout);
    case COST_DOT: return product_cost(a, t, layout);
    }
    return 0;
}

/* 3. Choice ----------------------------------------------------------------------------------- */

static bool is_candidate(const layout_candidate *c, request_priority priority) {
    return c->requesters && (c->priority == priority ||
                             (priority == PRIORITY_LOAD && c->priority == PRIORITY_STORE));
}

static uint64_t total_cost(const class_costs *s, const tile_layout *layout) {
    uint64_t cost = 0;
    for (const cost_term *t = s->terms; t; t = t->next)
        cost += t->weight * cost_of_term(s->a, t, layout);
    return cost;
}

/* Breaks ties by a total order that does not depend on the text. */
static bool precedes(const layout_candidate *x, const layout_candidate *y) {
    tile_layout one, two;
    if (x->priority != y->priority) return x->priority > y->priority;
    tile_layout_copy(&one, &x->layout);
    tile_layout_copy(&two, &y->layout);
    return memcmp(&one, &two, sizeof one) > 0;
}

const layout_candidate *cheapest_candidate(assignment *a, uint32_t class,
                                           request_priority priority) {
    const layout_candidate *best = NULL;
    unsigned count = 0;
    for (const layout_candidate *at = a->candidates[class]; at; at = at->next)
        if (is_candidate(at, priority)) best = at, count++;
    if (count < 2) return best;
    class_costs s = {a, class, NULL};
    for (const layout_use *use = a->uses[class]; use; use = use->next) add_op(&s, use->op);
    uint64_t least = total_cost(&s, &best->layout);
    for (const layout_candidate *at = a->candidates[class]; at; at = at->next) {
        if (at == best || !is_candidate(at, priority)) continue;
        uint64_t cost = total_cost(&s, &at->layout);
        if (cost < least || (cost == least && precedes(at, best))) {
            best = at;
            least = cost;
        }
    }
    return best;
}
