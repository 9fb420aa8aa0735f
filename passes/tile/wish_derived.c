/* What wishes of one class make another one wish: operands of broadcasts and results of reductions,
 * index tiles and what is only rearranged. */
#include "lib/analysis/rearranged.h"
#include "lib/ir/gather.h"
#include "lib/ir/reduce.h"
#include "lib/ir/shape.h"
#include "lib/layout/layout.h"
#include "lib/layout/reduce.h"
#include "passes/tile/assign_layouts.h"
#include "passes/tile/wishes.h"

/* True if a class has a new wish: to hold what another tile asks for. */
static bool wish_narrow(assignment *a, tile_value tile, const tile_layout *layout) {
    if (a->wish[wish_class(a, tile)] >= WISH_REPEAT) return false;
    wish(a, tile, WISH_REPEAT, layout);
    return true;
}

/* The operand of a broadcast is held as the result's repeats it. */
static bool wish_repeated(assignment *a, tile_op op) {
    tile_value operand = tile_op_operand(a->f, op, 0);
    const tile_layout *result = wish_layout_of(a, tile_op_result(a->f, op, 0));
    if (!result) return false;
    tile_layout narrow = tile_broadcast_layout(tile_value_type(a->f, operand), result);
    return wish_narrow(a, operand, &narrow);
}

/* Index tiles are held by those who hold their points' elements; a copy's predicate, too. */
static bool wish_points(assignment *a, tile_op op) {
    tile_gather g;
    tile_layout copied;
    bool changed = false;
    if (!tile_gather_of(a->f, op, &g)) return false;
    tile_value moved = layouts_moved_tile(a->f, op);
    const tile_layout *layout = moved.id ? wish_layout_of(a, moved) : NULL;
    if (layouts_of_copy(a->f, a->ranges, op, &copied)) layout = &copied;
    if (!layout) return false;
    if (!moved.id && g.predicate.id && wish_is_tile(a, g.predicate))
        changed |= wish_narrow(a, g.predicate, layout);
    if (!g.tiles) return changed;
    tile_layout points = tile_points_layout(g.shape, layout, false);
    for (unsigned d = 0; d < g.rank; d++)
        if (wish_is_tile(a, g.index[d])) changed |= wish_narrow(a, g.index[d], &points);
    return changed;
}

bool wish_rearranged(assignment *a, tile_op op) {
    strength of_operand, of_result;
    bool changed = false;
    for (unsigned i = 0; i < tile_rearranged_operands(a->f, op); i++)
        for (unsigned r = 0; r < tile_op_result_count(a->f, op); r++) {
            tile_value operand = tile_op_operand(a->f, op, i), result = tile_op_result(a->f, op, r);
            tile_layout layout;
            const tile_layout *held = wish_for(a, operand, &of_operand),
                              *wanted = wish_for(a, result, &of_result);
            if (of_result > of_operand && tile_layout_of_operand(a->f, op, i, wanted, &layout)) {
                wish(a, operand, of_result, &layout);
                changed = true;
            } else if (of_operand > of_result &&
                       tile_layout_of_result(a->f, op, i, held, &layout)) {
                wish(a, result, of_operand, &layout);
                changed = true;
            }
        }
    return changed;
}

/* What is only converted need not be, where one side takes what the other is. */
static bool wish_converted(assignment *a, tile_op op) {
    strength of_operand, of_result;
    tile_value operand = tile_op_operand(a->f, op, 0), result = tile_op_result(a->f, op, 0);
    const tile_layout *held = wish_for(a, operand, &of_operand),
                      *wanted = wish_for(a, result, &of_result);
    if (of_result > of_operand)
        wish(a, operand, of_result, wanted);
    else if (of_operand > of_result)
        wish(a, result, of_operand, held);
    return of_result != of_operand;
}

static bool works_on_rows(tile_opcode opcode) {
    return opcode == TILE_OP_reduce || opcode == TILE_OP_reduce_arg || opcode == TILE_OP_scan ||
           opcode == TILE_OP_sort;
}

/* A scan or sort leaves elements where they are, if it can be done there. */
static bool wish_rows(assignment *a, tile_op op) {
    const tile_layout *operand = wish_layout_of(a, tile_op_operand(a->f, op, 0));
    uint32_t class = wish_class(a, tile_op_result(a->f, op, 0));
    if (!operand || a->wish[class] >= WISH_REDUCE) return false;
    tile_layout layout = tile_rows_layout(a->f, op, wish_warps_at(a, op));
    wish(a, tile_op_result(a->f, op, 0), WISH_REDUCE,
         tile_rows_fit(a->f, op, operand) ? operand : &layout);
    return true;
}

/* True if the result's class has a new wish: what each thread holds when it has combined what the
 * operand's layout gives it. */
static bool wish_reduced(assignment *a, tile_op op) {
    tile_reduction reduction;
    if (tile_op_opcode(a->f, op) == TILE_OP_scan || tile_op_opcode(a->f, op) == TILE_OP_sort)
        return wish_rows(a, op);
    const tile_layout *operand = wish_layout_of(a, tile_op_operand(a->f, op, 0));
    uint32_t class = wish_class(a, tile_op_result(a->f, op, 0));
    if (!operand || a->wish[class] >= WISH_REDUCE || !tile_reduction_of(a->f, op, &reduction))
        return false;
    tile_reduce_plan plan = tile_reduce_make_plan(operand, reduction.axis);
    wish(a, tile_op_result(a->f, op, 0), WISH_REDUCE, &plan.narrow);
    return true;
}

static void list_passage(tile_function *f, tile_op op, void *user) {
    passages *list = user;
    tile_gather g;
    if (tile_op_opcode(f, op) == TILE_OP_broadcast || tile_is_rearrangement(f, op) ||
        tile_op_opcode(f, op) == TILE_OP_convert_layout ||
        (tile_gather_of(f, op, &g) && (g.tiles || g.predicate.id)))
        list->ops[list->count++] = op;
    if (works_on_rows(tile_op_opcode(f, op))) list->reduce[list->reductions++] = op;
}

passages wish_find_passages(assignment *a) {
    passages list = {TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count), 0,
                     TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count), 0};
    tile_walk(a->f, a->f->body, list_passage, &list);
    return list;
}

static bool pass_wishes(assignment *a, tile_op op) {
    if (tile_op_opcode(a->f, op) == TILE_OP_broadcast) return wish_repeated(a, op);
    if (tile_op_opcode(a->f, op) == TILE_OP_convert_layout) return wish_converted(a, op);
    return tile_is_rearrangement(a->f, op) ? wish_rearranged(a, op) : wish_points(a, op);
}

/* The tile that one of them gives or moves. */
static tile_value main_tile(const assignment *a, tile_op op) {
    bool gives = tile_op_opcode(a->f, op) == TILE_OP_broadcast || tile_is_rearrangement(a->f, op);
    return gives ? tile_op_result(a->f, op, 0) : layouts_moved_tile(a->f, op);
}

/* True if one of them had no layout, and has one now. */
static bool wish_first(assignment *a, const passages *list) {
    for (unsigned i = list->count + list->reductions; i-- > 0;) {
        bool reduces = i < list->reductions;
        tile_value tile = reduces ? tile_op_operand(a->f, list->reduce[i], 0)
                                  : main_tile(a, list->ops[i - list->reductions]);
        if (!tile.id || wish_layout_of(a, tile)) continue;
        wish_blocked(a, tile);
        return true;
    }
    return false;
}

void wish_derived(assignment *a, const passages *list) {
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = 0; i < list->reductions; i++) changed |= wish_reduced(a, list->reduce[i]);
        for (unsigned i = list->count; i-- > 0;) changed |= pass_wishes(a, list->ops[i]);
        changed = changed || wish_first(a, list);
    }
}
