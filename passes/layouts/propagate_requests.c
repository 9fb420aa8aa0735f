/* Derives requests from the layouts of other classes: operands of broadcasts, results of
 * reductions, index tiles and rearrangements. */
#include "lib/analysis/rearranged.h"
#include "lib/layout/layout.h"
#include "lib/layout/reduce.h"
#include "lib/ops/combine.h"
#include "lib/ops/gather.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/requests.h"

/* Requests a layout that another tile determines. */
static void request_narrow(assignment *a, tile_value tile, const tile_layout *layout) {
    if (a->class_priority[layouts_class_of(a, tile)] <= PRIORITY_BROADCAST)
        request_layout(a, tile, PRIORITY_BROADCAST, layout);
}

/* The operand of a broadcast takes the result's layout without the repeated elements. */
static void propagate_broadcast(assignment *a, tile_op op) {
    tile_value operand = tile_operand_src(a->f, op);
    const tile_layout *result = requested_layout(a, tile_op_result(a->f, op, 0));
    if (!result) return;
    tile_layout narrow = tile_broadcast_layout(tile_value_type(a->f, operand), result);
    request_narrow(a, operand, &narrow);
}

/* The threads that access an element must hold its index, and a copy's predicate. */
static void propagate_index_tiles(assignment *a, tile_op op) {
    tile_gather g;
    tile_layout copied;
    if (!tile_gather_of(a->f, op, &g)) return;
    tile_value moved = layouts_moved_tile(a->f, op);
    const tile_layout *layout = moved.id ? requested_layout(a, moved) : NULL;
    if (layouts_of_copy(a->f, a->ranges, op, &copied)) layout = &copied;
    if (!layout) return;
    if (!moved.id && g.predicate.id && layouts_is_tile(a, g.predicate))
        request_narrow(a, g.predicate, layout);
    if (!g.tiles) return;
    tile_layout points = tile_points_layout(g.shape, layout, false);
    for (unsigned d = 0; d < g.rank; d++)
        if (layouts_is_tile(a, g.index[d])) request_narrow(a, g.index[d], &points);
}

/* The direction of a request between two tiles: to the one with lower priority, or the same as
 * before. */
typedef struct sides {
    const tile_layout *operand_layout,
        *result_layout; /* layouts of the operand and the result; NULL: no request */
    request_priority operand_priority, result_priority;
    bool to_operand, to_result;
} sides;

static sides compare(assignment *a, tile_value operand, tile_value result) {
    sides s = {.operand_layout = NULL};
    s.operand_layout = find_request(a, operand, &s.operand_priority);
    s.result_layout = find_request(a, result, &s.result_priority);
    bool equal = s.operand_priority == s.result_priority,
         to_operand = is_propagated_here(a, operand), to_result = is_propagated_here(a, result);
    s.to_operand = s.result_layout &&
                   (s.result_priority > s.operand_priority || (equal && to_operand && !to_result));
    s.to_result = s.operand_layout &&
                  (s.operand_priority > s.result_priority || (equal && to_result && !to_operand));
    return s;
}

bool propagate_rearrangement(assignment *a, tile_op op) {
    bool changed = false, sent = false; /* to the results, by an earlier operand */
    for (unsigned i = 0; i < tile_moved_operands(a->f, op); i++)
        for (unsigned r = 0; r < tile_op_result_count(a->f, op); r++) {
            tile_value operand = tile_op_operand(a->f, op, i), result = tile_op_result(a->f, op, r);
            tile_layout layout;
            sides s = compare(a, operand, result);
            if (s.to_operand && tile_layout_of_operand(a->f, op, i, s.result_layout, &layout)) {
                request_layout(a, operand, s.result_priority, &layout);
                changed = true;
            } else if (s.to_result && !sent &&
                       tile_layout_of_result(a->f, op, i, s.operand_layout, &layout)) {
                request_layout(a, result, s.operand_priority, &layout);
                changed = sent = true;
            }
        }
    return changed;
}

/* A conversion in the text becomes unnecessary if one side takes the other's layout. */
static void propagate_conversion(assignment *a, tile_op op) {
    tile_value operand = tile_operand_src(a->f, op), result = tile_op_result(a->f, op, 0);
    sides s = compare(a, operand, result);
    if (s.to_operand) request_layout(a, operand, s.result_priority, s.result_layout);
    if (s.to_result) request_layout(a, result, s.operand_priority, s.operand_layout);
}

bool combines_along_axis(tile_opcode opcode) {
    return tile_op_dims(opcode) == TILE_DIMS_folded || tile_op_dims(opcode) == TILE_DIMS_along;
}

/* A scan or sort keeps the operand's layout if it can work in it. */
static tile_layout lay_out_rows(const assignment *a, tile_op op, const tile_layout *operand) {
    return tile_rows_fit(a->f, op, operand) ? *operand
                                            : tile_rows_layout(a->f, op, layouts_warps_at(a, op));
}

/* The result of a reduction by a function, which combines the elements of a row in order. */
static tile_layout lay_out_combined(const assignment *a, tile_op op, const tile_combine *combine,
                                    const tile_layout *operand) {
    const tile_layout rows = lay_out_rows(a, op, operand);
    return tile_combine_result(combine, &rows);
}

/* The result takes the layout that threads have after combining the operand's elements. */
static void propagate_reduction(assignment *a, tile_op op) {
    tile_reduction reduction;
    tile_combine combine;
    tile_layout layout;
    tile_opcode opcode = tile_op_opcode(a->f, op);
    const tile_layout *operand = requested_layout(a, tile_operand_src(a->f, op));
    tile_value result = tile_op_result(a->f, op, 0);
    if (!operand || a->class_priority[layouts_class_of(a, result)] > PRIORITY_REDUCTION) return;
    if (tile_op_dims(opcode) == TILE_DIMS_along)
        layout = lay_out_rows(a, op, operand);
    else if (opcode == TILE_OP_reduce_with && tile_combine_of(a->f, op, &combine))
        layout = lay_out_combined(a, op, &combine, operand);
    else if (tile_reduction_of(a->f, op, &reduction))
        layout = tile_reduce_make_plan(operand, reduction.axis).narrow;
    else
        return;
    request_layout(a, result, PRIORITY_REDUCTION, &layout);
}

static void list_propagating_op(tile_function *f, tile_op op, propagating_ops *list) {
    tile_gather g;
    if (tile_op_opcode(f, op) == TILE_OP_broadcast || tile_is_rearrangement(f, op) ||
        tile_op_opcode(f, op) == TILE_OP_convert_layout ||
        (tile_gather_of(f, op, &g) && (g.tiles || g.predicate.id)))
        list->ops[list->count++] = op;
    else if (combines_along_axis(tile_op_opcode(f, op)))
        list->ops[list->count++] = op;
}

propagating_ops find_propagating_ops(assignment *a) {
    propagating_ops list = {TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count), 0};
    TILE_FOR_EACH_OP_INSIDE (a->f, op, a->f->body) list_propagating_op(a->f, op, &list);
    return list;
}

static void propagate_op(assignment *a, tile_op op) {
    tile_opcode opcode = tile_op_opcode(a->f, op);
    if (combines_along_axis(opcode))
        propagate_reduction(a, op);
    else if (opcode == TILE_OP_broadcast)
        propagate_broadcast(a, op);
    else if (opcode == TILE_OP_convert_layout)
        propagate_conversion(a, op);
    else if (tile_is_rearrangement(a->f, op))
        propagate_rearrangement(a, op);
    else
        propagate_index_tiles(a, op);
}

/* The tile that the operation produces or moves; for a reduction, its operand. */
static tile_value propagated_tile(const assignment *a, tile_op op) {
    if (combines_along_axis(tile_op_opcode(a->f, op))) return tile_operand_src(a->f, op);
    bool gives = tile_op_opcode(a->f, op) == TILE_OP_broadcast || tile_is_rearrangement(a->f, op);
    return gives ? tile_op_result(a->f, op, 0) : layouts_moved_tile(a->f, op);
}

/* Worklist: operations whose tiles' classes have changed, for this round and the next one. */
typedef struct worklist {
    const assignment *a;
    bool *propagates; /* by operation: it propagates requests */
    bool *queued;     /* by operation: it is in the next round */
    tile_op *current, *next;
    unsigned current_count, next_count;
} worklist;

static void enqueue(worklist *g, tile_op op) {
    if (!g->propagates[op.id] || g->queued[op.id]) return;
    g->queued[op.id] = true;
    g->next[g->next_count++] = op;
}

/* Returns false if the worklist is empty. */
static bool begin_round(worklist *g) {
    tile_op *done = g->current;
    g->current = g->next;
    g->current_count = g->next_count;
    g->next = done;
    g->next_count = 0;
    for (unsigned i = 0; i < g->current_count; i++) g->queued[g->current[i].id] = false;
    return g->current_count > 0;
}

static void enqueue_uses(uint32_t class, void *user) {
    worklist *g = user;
    for (const layout_use *use = g->a->uses[class]; use; use = use->next) enqueue(g, use->op);
}

static void run_rounds(assignment *a, worklist *g) {
    while (begin_round(g)) {
        for (unsigned i = 0; i < g->current_count; i++) {
            a->by = g->current[i];
            propagate_op(a, a->by);
        }
        a->by = TILE_NO_OP;
        resolve_requests(a, enqueue_uses, g);
    }
}

void propagate_requests(assignment *a, const propagating_ops *list) {
    unsigned count = list->count;
    worklist g = {.a = a,
                  .propagates = TILE_NEW_ARRAY(a->pass->scratch, bool, a->f->op_count),
                  .queued = TILE_NEW_ARRAY(a->pass->scratch, bool, a->f->op_count),
                  .current = TILE_NEW_ARRAY(a->pass->scratch, tile_op, count + 1u),
                  .next = TILE_NEW_ARRAY(a->pass->scratch, tile_op, count + 1u)};
    for (unsigned i = 0; i < count; i++) g.propagates[list->ops[i].id] = true;
    for (unsigned i = 0; i < count; i++) enqueue(&g, list->ops[i]);
    run_rounds(a, &g);
    for (unsigned i = count; i-- > 0;) {
        tile_value tile = propagated_tile(a, list->ops[i]);
        if (!tile.id || requested_layout(a, tile)) continue;
        request_blocked(a, tile);
        resolve_requests(a, enqueue_uses, &g);
        run_rounds(a, &g);
    }
}
