/* What wishes of one class make another one wish: operands of broadcasts and results of reductions,
 * index tiles and what is only rearranged. */
#include "lib/analysis/rearranged.h"
#include "lib/layout/layout.h"
#include "lib/layout/reduce.h"
#include "lib/ops/gather.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "passes/layouts/assign_layouts.h"
#include "passes/layouts/wishes.h"

/* To hold what another tile asks for. */
static void wish_narrow(assignment *a, tile_value tile, const tile_layout *layout) {
    if (a->wish[wish_class(a, tile)] <= WISH_REPEAT) wish(a, tile, WISH_REPEAT, layout);
}

/* The operand of a broadcast is held as the result's repeats it. */
static void wish_repeated(assignment *a, tile_op op) {
    tile_value operand = tile_operand_src(a->f, op);
    const tile_layout *result = wish_layout_of(a, tile_op_result(a->f, op, 0));
    if (!result) return;
    tile_layout narrow = tile_broadcast_layout(tile_value_type(a->f, operand), result);
    wish_narrow(a, operand, &narrow);
}

/* Index tiles are held by those who hold their points' elements; a copy's predicate, too. */
static void wish_points(assignment *a, tile_op op) {
    tile_gather g;
    tile_layout copied;
    if (!tile_gather_of(a->f, op, &g)) return;
    tile_value moved = layouts_moved_tile(a->f, op);
    const tile_layout *layout = moved.id ? wish_layout_of(a, moved) : NULL;
    if (layouts_of_copy(a->f, a->ranges, op, &copied)) layout = &copied;
    if (!layout) return;
    if (!moved.id && g.predicate.id && wish_is_tile(a, g.predicate))
        wish_narrow(a, g.predicate, layout);
    if (!g.tiles) return;
    tile_layout points = tile_points_layout(g.shape, layout, false);
    for (unsigned d = 0; d < g.rank; d++)
        if (wish_is_tile(a, g.index[d])) wish_narrow(a, g.index[d], &points);
}

/* Between which of two tiles a wish goes: to the weaker one, or where it went before. */
typedef struct sides {
    const tile_layout *held, *wanted; /* the operand's and the result's; NULL: nobody's wish */
    strength of_operand, of_result;
    bool back, forth;
} sides;

static sides compare(assignment *a, tile_value operand, tile_value result) {
    sides s = {.held = NULL};
    s.held = wish_for(a, operand, &s.of_operand);
    s.wanted = wish_for(a, result, &s.of_result);
    bool equal = s.of_operand == s.of_result, back = wish_is_derived(a, operand),
         forth = wish_is_derived(a, result);
    s.back = s.wanted && (s.of_result > s.of_operand || (equal && back && !forth));
    s.forth = s.held && (s.of_operand > s.of_result || (equal && forth && !back));
    return s;
}

bool wish_rearranged(assignment *a, tile_op op) {
    bool changed = false, sent = false; /* to the results, by an operand before */
    for (unsigned i = 0; i < tile_moved_operands(a->f, op); i++)
        for (unsigned r = 0; r < tile_op_result_count(a->f, op); r++) {
            tile_value operand = tile_op_operand(a->f, op, i), result = tile_op_result(a->f, op, r);
            tile_layout layout;
            sides s = compare(a, operand, result);
            if (s.back && tile_layout_of_operand(a->f, op, i, s.wanted, &layout)) {
                wish(a, operand, s.of_result, &layout);
                changed = true;
            } else if (s.forth && !sent && tile_layout_of_result(a->f, op, i, s.held, &layout)) {
                wish(a, result, s.of_operand, &layout);
                changed = sent = true;
            }
        }
    return changed;
}

/* What is only converted need not be, where one side takes what the other is. */
static void wish_converted(assignment *a, tile_op op) {
    tile_value operand = tile_operand_src(a->f, op), result = tile_op_result(a->f, op, 0);
    sides s = compare(a, operand, result);
    if (s.back) wish(a, operand, s.of_result, s.wanted);
    if (s.forth) wish(a, result, s.of_operand, s.held);
}

bool wish_works_on_rows(tile_opcode opcode) {
    return tile_op_dims(opcode) == TILE_DIMS_folded || tile_op_dims(opcode) == TILE_DIMS_along;
}

/* A scan or sort leaves elements where they are, if it can be done there. */
static tile_layout lay_out_rows(const assignment *a, tile_op op, const tile_layout *operand) {
    return tile_rows_fit(a->f, op, operand) ? *operand
                                            : tile_rows_layout(a->f, op, wish_warps_at(a, op));
}

/* The result is held as each thread has it when it has combined what the operand's layout gives it.
 */
static void wish_reduced(assignment *a, tile_op op) {
    tile_reduction reduction;
    tile_layout layout;
    tile_opcode opcode = tile_op_opcode(a->f, op);
    const tile_layout *operand = wish_layout_of(a, tile_operand_src(a->f, op));
    tile_value result = tile_op_result(a->f, op, 0);
    if (!operand || a->wish[wish_class(a, result)] > WISH_REDUCE) return;
    if (tile_op_dims(opcode) == TILE_DIMS_along)
        layout = lay_out_rows(a, op, operand);
    else if (tile_reduction_of(a->f, op, &reduction))
        layout = tile_reduce_make_plan(operand, reduction.axis).narrow;
    else
        return;
    wish(a, result, WISH_REDUCE, &layout);
}

static void list_passage(tile_function *f, tile_op op, passages *list) {
    tile_gather g;
    if (tile_op_opcode(f, op) == TILE_OP_broadcast || tile_is_rearrangement(f, op) ||
        tile_op_opcode(f, op) == TILE_OP_convert_layout ||
        (tile_gather_of(f, op, &g) && (g.tiles || g.predicate.id)))
        list->ops[list->count++] = op;
    else if (wish_works_on_rows(tile_op_opcode(f, op)))
        list->ops[list->count++] = op;
}

passages wish_find_passages(assignment *a) {
    passages list = {TILE_NEW_ARRAY(a->pass->scratch, tile_op, a->f->op_count), 0};
    TILE_FOR_EACH_OP_INSIDE (a->f, op, a->f->body) list_passage(a->f, op, &list);
    return list;
}

static void pass_wishes(assignment *a, tile_op op) {
    tile_opcode opcode = tile_op_opcode(a->f, op);
    if (wish_works_on_rows(opcode))
        wish_reduced(a, op);
    else if (opcode == TILE_OP_broadcast)
        wish_repeated(a, op);
    else if (opcode == TILE_OP_convert_layout)
        wish_converted(a, op);
    else if (tile_is_rearrangement(a->f, op))
        wish_rearranged(a, op);
    else
        wish_points(a, op);
}

/* The tile that one of them gives or moves; of a reduction what it combines. */
static tile_value main_tile(const assignment *a, tile_op op) {
    if (wish_works_on_rows(tile_op_opcode(a->f, op))) return tile_operand_src(a->f, op);
    bool gives = tile_op_opcode(a->f, op) == TILE_OP_broadcast || tile_is_rearrangement(a->f, op);
    return gives ? tile_op_result(a->f, op, 0) : layouts_moved_tile(a->f, op);
}

/* Operations whose tiles' classes have changed: those of a round, and of the next one. */
typedef struct agenda {
    const assignment *a;
    bool *listed; /* by operation: it is a passage */
    bool *due;    /* by operation: in the next round */
    tile_op *now, *next;
    unsigned now_count, next_count;
} agenda;

static void put_off(agenda *g, tile_op op) {
    if (!g->listed[op.id] || g->due[op.id]) return;
    g->due[op.id] = true;
    g->next[g->next_count++] = op;
}

/* True if there was something to do. */
static bool begin_round(agenda *g) {
    tile_op *done = g->now;
    g->now = g->next;
    g->now_count = g->next_count;
    g->next = done;
    g->next_count = 0;
    for (unsigned i = 0; i < g->now_count; i++) g->due[g->now[i].id] = false;
    return g->now_count > 0;
}

static void follow(uint32_t class, void *user) {
    agenda *g = user;
    for (const layout_use *use = g->a->uses[class]; use; use = use->next) put_off(g, use->op);
}

static void run_rounds(assignment *a, agenda *g) {
    while (begin_round(g)) {
        for (unsigned i = 0; i < g->now_count; i++) {
            a->by = g->now[i];
            pass_wishes(a, a->by);
        }
        a->by = TILE_NO_OP;
        wish_settle(a, follow, g);
    }
}

void wish_derived(assignment *a, const passages *list) {
    unsigned count = list->count;
    agenda g = {.a = a,
                .listed = TILE_NEW_ARRAY(a->pass->scratch, bool, a->f->op_count),
                .due = TILE_NEW_ARRAY(a->pass->scratch, bool, a->f->op_count),
                .now = TILE_NEW_ARRAY(a->pass->scratch, tile_op, count + 1u),
                .next = TILE_NEW_ARRAY(a->pass->scratch, tile_op, count + 1u)};
    for (unsigned i = 0; i < count; i++) g.listed[list->ops[i].id] = true;
    for (unsigned i = 0; i < count; i++) put_off(&g, list->ops[i]);
    run_rounds(a, &g);
    for (unsigned i = count; i-- > 0;) {
        tile_value tile = main_tile(a, list->ops[i]);
        if (!tile.id || wish_layout_of(a, tile)) continue;
        wish_blocked(a, tile);
        wish_settle(a, follow, &g);
        run_rounds(a, &g);
    }
}
