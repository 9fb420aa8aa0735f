/* Finds loops that one kernel can run: a resident loop.
 *
 * A loop over kernels reads and writes the carried tensors in every iteration, and the launches
 * wait for each other. If each block can compute all later iterations of its part of the state from
 * that part alone, one kernel runs the whole loop and keeps the state in registers. That holds if
 * all values are element-wise functions of a common domain, reductions are along dims of which a
 * block has all elements, and products multiply rows of the state by weights that do not depend on
 * it (resident_product.c). Threads of the block exchange elements for reductions, and for carried
 * values that are needed along another dim than the one along which they are computed.
 *
 * The domain is that of the largest reduced or carried tensor. A map gives the position in the
 * domain of each element of a value. Every use of a carried value must have the same map as the
 * value that the next iteration receives, except for dims of which a block has all elements, and
 * every value that is stored must have all dims of the domain that are distributed over blocks, so
 * that no two blocks store the same element. Otherwise the loop becomes a loop over kernels. */
#include "passes/schedule/sections/resident.h"

#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"

bool resident_miss(resident_finder *n, tile_op at, const char *why, const char *remedy) {
    if (n->why) return false;
    n->at = at;
    n->why = why;
    n->remedy = remedy;
    return false;
}

bool resident_is_inside(const resident_finder *n, tile_op op) {
    while (op.id && op.id != n->loop.id) op = tile_op_parent(n->f, op);
    return op.id != 0;
}

/* The domain --------------------------------------------------------------------------------- */

static unsigned count_long_dims(resident_finder *n, const tile_type *type) {
    unsigned count = 0;
    for (unsigned d = 0; d < type->rank; d++) count += !tile_expr_is(sched_dim(n->s, type, d), 1);
    return count;
}

static void try_domain(resident_finder *n, tile_value value, unsigned *most) {
    const tile_type *type = tile_value_type(n->f, value);
    unsigned count = count_long_dims(n, type);
    if (n->r->domain.rank && count <= *most) return;
    *most = count;
    n->r->domain = (sched_domain){.rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) n->r->domain.extents[d] = sched_dim(n->s, type, d);
}

static void choose_domain(resident_finder *n) {
    unsigned most = 0;
    TILE_FOR_EACH_OP (n->f, op, tile_op_region(n->f, n->loop, 0)) {
        if (tile_op_opcode(n->f, op) == TILE_OP_reduce)
            try_domain(n, tile_operand_src(n->f, op), &most);
    }
    for (unsigned i = 0; i < n->r->count; i++) try_domain(n, n->r->carried[i].sent, &most);
}

static bool uses_dim(const sched_map *map, unsigned rank, unsigned except, unsigned dim) {
    bool used = false;
    for (unsigned d = 0; d < rank; d++) used |= d != except && sched_depends(&map->at[d], dim);
    return used;
}

/* A dim of the domain with this extent that the map does not use, `wanted` if possible; -1: none.
 */
int resident_find_dim(const resident_finder *n, const sched_map *map, unsigned rank,
                      unsigned except, unsigned wanted, const tile_expr *extent) {
    const sched_domain *domain = &n->r->domain;
    int found = -1;
    for (unsigned d = domain->rank; d-- > 0;)
        if (domain->extents[d] == extent && !uses_dim(map, rank, except, d) &&
            (found < 0 || d == wanted || found != (int)wanted))
            found = (int)d;
    return found;
}

int resident_add_dim(resident_finder *n, const tile_expr *extent) {
    sched_domain *domain = &n->r->domain;
    if (domain->rank == TILE_MAX_RANK) return -1;
    n->r->whole |= 1u << domain->rank;
    domain->extents[domain->rank] = extent;
    return (int)domain->rank++;
}

/* Guesses the position of a stored value in the domain; the visit checks it. */
static bool guess_map(resident_finder *n, sched_resident_value *carried) {
    const tile_type *type = tile_value_type(n->f, carried->sent);
    for (unsigned d = 0; d < type->rank; d++) carried->map.at[d] = sched_zero_coordinate();
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *extent = sched_dim(n->s, type, d);
        if (tile_expr_is(extent, 1)) continue;
        unsigned wanted = type->rank == n->r->domain.rank ? d : UINT32_MAX;
        int dim = resident_find_dim(n, &carried->map, type->rank, d, wanted, extent);
        if (dim < 0 && n->multiplies) dim = resident_add_dim(n, extent);
        if (dim < 0)
            return resident_miss(n, n->loop, "the tensors of the loop have no common domain", NULL);
        carried->map.at[d] = sched_dim_coordinate((unsigned)dim);
    }
    return carried->placed = true;
}

/* Values ------------------------------------------------------------------------------------- */

/* Returns whether the coordinates of one map are dims of the domain with the same extents as those
 * of the other. A block must then have all elements along these dims. */
static bool is_exchange(resident_finder *n, const sched_map *a, const sched_map *b, unsigned rank) {
    unsigned dims = 0;
    for (unsigned d = 0; d < rank; d++) {
        const sched_coordinate *from = &a->at[d], *to = &b->at[d];
        if (from->index || to->index || from->offset || to->offset ||
            (from->dim < 0) != (to->dim < 0))
            return false;
        if (from->dim == to->dim) continue;
        if (n->r->domain.extents[from->dim] != n->r->domain.extents[to->dim]) return false;
        dims |= 1u << from->dim | 1u << to->dim;
    }
    n->r->whole |= dims;
    return true;
}

static bool visit_carried(resident_finder *n, sched_resident_value *carried, const sched_map *map) {
    unsigned rank = tile_value_type(n->f, carried->value)->rank;
    if (!carried->placed) {
        carried->map = *map;
        return carried->placed = true;
    }
    if (sched_same_map(&carried->map, map, rank)) return true;
    for (unsigned i = 0; i < carried->other_count; i++)
        if (sched_same_map(&carried->others[i], map, rank)) return true;
    if (carried->other_count == SCHED_MAX_EXCHANGES || !is_exchange(n, &carried->map, map, rank))
        return resident_miss(
            n, n->loop, "an element of a carried tensor is used for other elements than its own",
            NULL);
    carried->others[carried->other_count++] = *map;
    return true;
}

static bool visit_reduction(resident_finder *n, tile_op op, const sched_map *map) {
    sched_resident *r = n->r;
    tile_value source = tile_operand_src(n->f, op);
    const tile_type *type = tile_value_type(n->f, source);
    int64_t axis = sched_axis(n->s, op);
    for (size_t i = 0; i < r->reduction_count; i++)
        if (r->reductions[i].op.id == op.id)
            return sched_same_map(&r->reductions[i].map, map, type->rank) ||
                   resident_miss(n, op, "the reduced value is used at several positions", NULL);
    int dim = resident_find_dim(n, map, type->rank, (unsigned)axis, (unsigned)axis,
                                sched_dim(n->s, type, (unsigned)axis));
    if (dim < 0)
        return resident_miss(n, op, "the extent along the axis is not one of the loop's domain",
                             NULL);
    sched_resident_reduction reduction = {
        .op = op, .dim = (unsigned)dim, .map = *map, .source = *map};
    reduction.source.at[axis] = sched_dim_coordinate((unsigned)dim);
    if (!resident_visit(n, source, &reduction.source)) return false;
    r->whole |= 1u << dim;
    r->reductions = tile_arena_grow(n->s->arena, r->reductions, r->reduction_count,
                                    &r->reduction_capacity, sizeof *r->reductions);
    r->reductions[r->reduction_count++] = reduction;
    return true;
}

static bool visit_input(resident_finder *n, tile_value value, const sched_map *map) {
    sched_resident *r = n->r;
    r->inputs = tile_arena_grow(n->s->arena, r->inputs, r->input_count, &r->input_capacity,
                                sizeof *r->inputs);
    r->inputs[r->input_count++] = (sched_resident_input){value, *map};
    return true;
}

bool resident_is_element_wise(resident_finder *n, tile_op op) {
    tile_dims dims = tile_op_dims(tile_op_opcode(n->f, op));
    return sched_is_inline(n->s, op) && dims != TILE_DIMS_windowed && dims != TILE_DIMS_taken;
}

bool resident_visit(resident_finder *n, tile_value value, const sched_map *map) {
    if (tile_value_type(n->f, value)->kind != TILE_TYPE_TENSOR) return true;
    for (unsigned i = 0; i < n->r->count; i++)
        if (n->r->carried[i].value.id == value.id) return visit_carried(n, &n->r->carried[i], map);
    tile_op op = tile_value_def(n->f, value);
    if (!sched_visit_first(n->s, &n->visited, value, map)) return !n->s->failed;
    if (!op.id || !resident_is_inside(n, op)) return visit_input(n, value, map);
    if (tile_op_opcode(n->f, op) == TILE_OP_reduce) return visit_reduction(n, op, map);
    if (tile_op_opcode(n->f, op) == TILE_OP_matmul) return resident_visit_product(n, op, map);
    if (!resident_is_element_wise(n, op))
        return resident_miss(n, op, "it needs elements that other blocks compute", NULL);
    for (unsigned i = 0; i < tile_op_operand_count(n->f, op); i++) {
        tile_value operand = tile_op_operand(n->f, op, i);
        unsigned result = value.id - tile_op_result(n->f, op, 0).id;
        if (tile_value_type(n->f, operand)->kind != TILE_TYPE_TENSOR) continue;
        sched_map at = sched_operand_map(n->s, op, result, i, map);
        if (!resident_visit(n, operand, &at)) return false;
    }
    return true;
}

/* Carried values --------------------------------------------------------------------------------
 */

/* The position of an inserted part's elements in the whole tensor. */
static bool place_part(resident_finder *n, sched_resident_value *carried, tile_op insert) {
    const tile_type *from = tile_value_type(n->f, tile_operand_src(n->f, insert)),
                    *whole = tile_value_type(n->f, carried->value);
    const tile_values first = tile_operands_first(n->f, insert);
    sched_map map;
    if (!sched_reshaped(n->s, from, tile_value_type(n->f, carried->sent), &carried->map, &map))
        return false;
    for (unsigned d = 0; d < from->rank; d++) {
        bool one = tile_expr_is(sched_dim(n->s, from, d), 1);
        if (map.at[d].index || (!one && sched_dim(n->s, from, d) != sched_dim(n->s, whole, d)))
            return false;
        carried->whole.at[d] =
            sched_shifted(n->s, &map.at[d], TILE_OP_add, tile_value_at(n->f, first.at[d])->expr);
    }
    return true;
}

static bool has_blocks(const resident_finder *n, const sched_resident_value *carried) {
    unsigned rank = tile_value_type(n->f, carried->sent)->rank;
    for (unsigned d = 0; d < n->r->domain.rank; d++)
        if (!(n->r->whole >> d & 1) && !tile_expr_is(n->r->domain.extents[d], 1) &&
            !uses_dim(&carried->map, rank, UINT32_MAX, d))
            return false;
    return true;
}

/* Visits the values that are stored: first those whose map is known. */
static bool visit_all(resident_finder *n) {
    for (unsigned done = 0; done < n->r->count;) {
        sched_resident_value *next = NULL;
        for (unsigned i = n->r->count; i-- > 0;) {
            sched_resident_value *carried = &n->r->carried[i];
            if (carried->visited) continue;
            if (!next || carried->placed || (!next->placed && next->in_place)) next = carried;
        }
        if (!next->placed && !guess_map(n, next)) return false;
        next->visited = true;
        if (!resident_visit(n, next->sent, &next->map)) return false;
        done++;
    }
    return true;
}

/* A block has all elements along the dims that are reduced or exchanged. Rows of products are
 * separate tiles, so that only each of them is limited. */
static bool has_small_rows(resident_finder *n) {
    enum { MOST_ELEMENTS = 8192 };
    int64_t elements = 1;
    unsigned tiled = 0;
    for (unsigned d = 0; d < n->r->domain.rank; d++) {
        if (!(n->r->whole >> d & 1)) continue;
        int64_t extent = sched_constant(n->r->domain.extents[d]);
        if (extent < 1)
            return resident_miss(
                n, n->loop, "the extent of a dim is not known of which a block needs all elements",
                "write the extent as a number, or give the dim a value with `schedule{..}`");
        elements = n->r->rows ? extent : elements * extent;
        if (extent > MOST_ELEMENTS || elements > MOST_ELEMENTS || ++tiled > SCHED_MAX_TILE)
            return resident_miss(
                n, n->loop,
                "a block needs all elements along more than 3 dims, or more than 8192 elements",
                NULL);
    }
    return true;
}

static bool place_values(resident_finder *n) {
    for (unsigned i = 0; i < n->r->count; i++) {
        tile_op insert = tile_value_def(n->f, tile_carried_sent(n->f, n->loop, 0, i));
        if (!has_blocks(n, &n->r->carried[i]))
            return resident_miss(n, n->loop, "several blocks would store the same elements", NULL);
        if (n->r->carried[i].in_place && !place_part(n, &n->r->carried[i], insert))
            return resident_miss(n, insert, "a dim of the part is neither 1 nor that of the whole",
                                 NULL);
    }
    return true;
}

static bool has_plain_body(resident_finder *n) {
    enum { MOST_OPERATIONS = 500 };
    unsigned operations = 0;
    TILE_FOR_EACH_OP (n->f, op, tile_op_region(n->f, n->loop, 0)) {
        n->multiplies |= tile_op_opcode(n->f, op) == TILE_OP_matmul;
        if (tile_op_at(n->f, op)->region_count)
            return resident_miss(n, op, "the loop contains another one", NULL);
        if (++operations > MOST_OPERATIONS)
            return resident_miss(n, n->loop, "its body has more than 500 operations", NULL);
    }
    return true;
}

bool sched_find_resident(schedule *s, tile_op loop, sched_resident *r) {
    resident_finder n = {.s = s, .f = s->compute, .loop = loop, .r = r};
    bool found = has_plain_body(&n);
    if (found) choose_domain(&n);
    found = found && visit_all(&n) && has_small_rows(&n) && resident_fit_products(&n) &&
            place_values(&n) && !s->failed;
    if (n.why) tile_missed_at(n.f, n.at, "a loop over kernels", n.remedy, "%s", n.why);
    return found;
}
