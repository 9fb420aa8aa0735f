/* Products in resident loops: each block has some rows of the state, all elements of these rows,
 * and reads all of the weights. Of a product, one operand is the state, or any value at the block's
 * rows; the other one, the weights, must not depend on the state. */
#include "passes/schedule/sections/resident.h"

#include <inttypes.h>

#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "passes/schedule/kernel/long.h"

/* What the value of an operand is computed from. */
typedef struct scan {
    resident_finder *n;
    bool *seen;    /* by value */
    bool carried;  /* also from a value that the loop carries */
    bool variable; /* also from the loop's variable */
    bool opaque;   /* also by operations that need elements at other positions */
} scan;

static void scan_value(scan *c, tile_value value) {
    resident_finder *n = c->n;
    const tile_expr *expr = tile_value_as_expr(n->f, value);
    if (c->seen[value.id]) return;
    c->seen[value.id] = true;
    if (expr) c->variable |= resident_depends_on_variable(n->r, expr);
    for (unsigned i = 0; i < n->r->count; i++) c->carried |= n->r->carried[i].value.id == value.id;
    tile_op op = tile_value_def(n->f, value);
    if (!op.id || !resident_is_inside(n, op) || op.id == n->loop.id) return;
    c->opaque |= !resident_is_element_wise(n, op);
    for (unsigned i = 0; i < tile_op_operand_count(n->f, op); i++)
        scan_value(c, tile_op_operand(n->f, op, i));
}

static scan scan_operand(resident_finder *n, tile_value value) {
    scan c = {.n = n, .seen = TILE_NEW_ARRAY(n->s->arena, bool, n->f->value_count)};
    scan_value(&c, value);
    return c;
}

bool sched_is_transposed(const schedule *s, tile_op op, unsigned operand) {
    return tile_op_has_attr(s->compute, op, operand ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
}

/* The state operand's map: its row is that of the result. */
static sched_map map_state(resident_finder *n, const sched_resident_reduction *p,
                           const sched_coordinate *row) {
    const tile_type *type = tile_value_type(n->f, tile_op_operand(n->f, p->op, p->state));
    unsigned result = tile_value_type(n->f, tile_op_result(n->f, p->op, 0))->rank;
    unsigned depth = type->rank - 2 + (!p->state ^ sched_is_transposed(n->s, p->op, p->state));
    sched_map map;
    for (unsigned d = 0; d + 2 < type->rank; d++)
        map.at[d] = tile_expr_is(sched_dim(n->s, type, d), 1) ? sched_zero_coordinate()
                                                              : p->map.at[d + result - type->rank];
    map.at[type->rank - 2] = map.at[type->rank - 1] = *row;
    map.at[depth] = sched_dim_coordinate(p->dim);
    return map;
}

/* The domain's dim for k: that of the result's columns if the extents are equal. */
static int find_depth(resident_finder *n, const sched_resident_reduction *p, unsigned row) {
    const tile_type *type = tile_value_type(n->f, tile_op_operand(n->f, p->op, p->state));
    unsigned at = type->rank - 2 + (!p->state ^ sched_is_transposed(n->s, p->op, p->state));
    unsigned rank = tile_value_type(n->f, tile_op_result(n->f, p->op, 0))->rank;
    const tile_expr *extent = sched_dim(n->s, type, at);
    sched_map outer = p->map; /* the dims that the state also has */
    outer.at[rank - 1 - p->state] = sched_dim_coordinate(row);
    int dim = resident_find_dim(n, &outer, rank, UINT32_MAX, p->other, extent);
    return dim < 0 ? resident_add_dim(n, extent) : dim;
}

static bool choose_state(resident_finder *n, tile_op op, sched_resident_reduction *p) {
    const scan sides[] = {scan_operand(n, tile_operand_lhs(n->f, op)),
                          scan_operand(n, tile_operand_rhs(n->f, op))};
    p->state = sides[1].carried;
    p->fixed = !sides[!p->state].variable;
    if (sides[0].carried && sides[1].carried)
        return resident_miss(n, op, "both operands depend on what the loop carries", NULL);
    return !sides[!p->state].opaque ||
           resident_miss(n, op, "the operand without the loop's state is computed in the loop",
                         "compute it before the loop");
}

static bool place(resident_finder *n, tile_op op, sched_resident_reduction *p) {
    unsigned rank = tile_value_type(n->f, tile_op_result(n->f, op, 0))->rank;
    const sched_coordinate *row = &p->map.at[rank - 2 + p->state],
                           *other = &p->map.at[rank - 1 - p->state];
    if (row->dim < 0 || row->index || row->offset || other->dim < 0 || other->index)
        return resident_miss(n, op, "the product has one row or column, or is reshaped", NULL);
    p->other = (unsigned)other->dim;
    int depth = find_depth(n, p, (unsigned)row->dim);
    if (depth < 0) return resident_miss(n, op, "the tensors of the loop have too many dims", NULL);
    p->dim = (unsigned)depth;
    p->source = map_state(n, p, row);
    n->r->whole |= 1u << p->dim | 1u << p->other;
    n->r->rows |= 1u << row->dim;
    for (unsigned d = 0; d + 2 < rank; d++)
        if (p->map.at[d].index) return resident_miss(n, op, "its batches are reshaped", NULL);
    return true;
}

bool resident_visit_product(resident_finder *n, tile_op op, const sched_map *map) {
    sched_resident *r = n->r;
    sched_resident_reduction p = {.op = op, .map = *map};
    if (!choose_state(n, op, &p) || !place(n, op, &p)) return false;
    if (!resident_visit(n, tile_op_operand(n->f, op, p.state), &p.source)) return false;
    r->reductions = tile_arena_grow(n->s->arena, r->reductions, r->reduction_count,
                                    &r->reduction_capacity, sizeof *r->reductions);
    r->reductions[r->reduction_count++] = p;
    return true;
}

/* Sizes ---------------------------------------------------------------------------------------- */

/* Batches must be coordinates of the block. */
static bool has_single_batches(resident_finder *n, const sched_resident_reduction *p) {
    unsigned rank = tile_value_type(n->f, tile_op_result(n->f, p->op, 0))->rank;
    for (unsigned d = 0; d + 2 < rank; d++)
        if (p->map.at[d].dim >= 0 && (n->r->whole | n->r->rows) >> p->map.at[d].dim & 1)
            return false;
    return true;
}

static bool fits(resident_finder *n, const sched_resident_reduction *p, int64_t *bytes) {
    enum { WIDEST = 4096 };
    int64_t depth = resident_whole_block(n->r->domain.extents[p->dim]),
            other = resident_whole_block(n->r->domain.extents[p->other]);
    tile_value weights = sched_multiplied(n->s, p->op, !p->state);
    tile_scalar multiplied = sched_element(n->s, weights)->scalar;
    tile_scalar sum = sched_sum_type(n->s, p->op, multiplied)->scalar;
    *bytes = depth * other * tile_scalar_bytes(multiplied);
    if (!has_single_batches(n, p))
        return resident_miss(n, p->op, "a block needs several batches of the product", NULL);
    if (depth > WIDEST || other > WIDEST)
        return resident_miss(n, p->op, "a row has more than 4096 elements", NULL);
    if (multiplied == TILE_f32 && sum == TILE_f32 && sched_needs_chunks(depth))
        return resident_miss(n, p->op, "its sums in f32 have more than 512 terms", NULL);
    return true;
}

bool resident_fit_products(resident_finder *n) {
    enum { KEPT_FREE = 24 << 10, MOST_REPEATED = 1 << 19 };
    sched_resident *r = n->r;
    int64_t total = 0, largest = 0,
            room = (int64_t)n->s->pass->target->max_shared_bytes - KEPT_FREE;
    unsigned tiled = (unsigned)__builtin_popcount(r->whole);
    if (!r->rows) return true;
    if (r->rows & (r->rows - 1) || r->rows & r->whole || tiled >= SCHED_MAX_TILE)
        return resident_miss(n, n->loop, "its products have rows along different dims", NULL);
    for (size_t i = 0; i < r->reduction_count; i++) {
        const sched_resident_reduction *p = &r->reductions[i];
        int64_t bytes;
        if (tile_op_opcode(n->f, p->op) != TILE_OP_matmul) continue;
        if (!fits(n, p, &bytes)) return false;
        total += bytes;
        if (bytes > largest) largest = bytes;
    }
    r->keeps_weights = total <= room;
    if (r->keeps_weights || (largest <= room && total <= MOST_REPEATED)) return true;
    const char *why = tile_arena_format(n->s->arena,
                                        "the weights of its products do not fit the shared memory "
                                        "of a block: %" PRId64 " bytes, of which %" PRId64 " fit",
                                        total, room);
    return resident_miss(n, n->loop, why, NULL);
}
