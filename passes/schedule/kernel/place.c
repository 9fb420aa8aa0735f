/* Coordinates in a kernel: the positions of its tile's elements. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/ir/syntax.h"

/* The iota of the tile's dim t, beginning at 0. */
static tile_value count_along(sched_kernel *k, int t) {
    const tile_type *type = tile_type_scalar(k->s->context, TILE_i32);
    const tile_expr *dims[SCHED_MAX_TILE];
    for (unsigned i = 0; i < k->tile_rank; i++)
        dims[i] = i == (unsigned)t ? k->block[t] : tile_expr_int(k->s->context, 1);
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, t)};
    tile_op op =
        tile_build_op_of(&k->b, TILE_OP_iota, NULL, 0, sched_tile_type(k, type, dims), &axis, 1);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, t);
    tile_value count = tile_op_result(k->f, op, 0);
    bool runs = k->run && (unsigned)t + 1 == k->tile_rank;
    return runs ? tile_build_mul(&k->b, count, tile_build_int(&k->b, k->run)) : count;
}

static bool is_zero(const sched_kernel *k, tile_value value) {
    return tile_value_is(k->f, value, 0);
}

static tile_value add(sched_kernel *k, tile_value a, tile_value b) {
    if (is_zero(k, a)) return b;
    return is_zero(k, b) ? a : tile_build_add(&k->b, a, b);
}

static tile_value find(sched_kernel *k, const sched_coordinate *at, bool begin);

static tile_value scalar_of(sched_kernel *k, const sched_scalar *scalar) {
    const sched_map none = {{{0, NULL, NULL}}};
    if (scalar->expr) return sched_number(k, sched_expr(k->s, scalar->expr));
    return sched_value(k, scalar->value, &none, tile_type_scalar(k->s->context, TILE_i32));
}

/* Range analysis cannot prove that such an extent, a quotient, is nonnegative, which TMA box
 * coordinates require. */
static bool is_quotient(const sched_index *index) {
    const tile_expr *by = index->by.expr;
    return index->kind == SCHED_PAIR && by && by->kind == TILE_EXPR_OP && by->opcode == TILE_OP_div;
}

/* a / by if by divides a, otherwise -1. */
static tile_value build_exact(sched_kernel *k, tile_value a, tile_value by) {
    tile_value whole = tile_build_div(&k->b, a, by), rest = tile_build_rem(&k->b, a, by);
    tile_value exact = tile_build_eq(&k->b, rest, tile_build_int(&k->b, 0));
    return tile_build_select(&k->b, exact, whole, tile_build_int(&k->b, -1));
}

/* The elements of an index tensor, as positions, which have 32 bits. If an access covers the tile's
 * last dim, its index tiles lack that dim. */
static tile_value find_taken(sched_kernel *k, const sched_index *index) {
    const tile_type *i32 = tile_type_scalar(k->s->context, TILE_i32);
    k->tile_rank += k->covers;
    tile_value at = sched_value(k, index->by.value, index->map, i32);
    k->tile_rank -= k->covers;
    if (!at.id || !k->covers || tile_value_type(k->f, at)->kind != TILE_TYPE_TILE) return at;
    tile_type draft = *tile_value_type(k->f, at);
    draft.dims[--draft.rank] = NULL;
    return tile_build_reshape(&k->b, at, TILE_NO_VALUE, tile_type_get(k->s->context, &draft));
}

static tile_value find_computed(sched_kernel *k, const sched_index *index, bool begin) {
    bool one = tile_expr_is(index->by.expr, 1);
    tile_value a, by;
    if (index->kind == SCHED_NUMBER) return scalar_of(k, &index->by);
    if (index->kind == SCHED_TAKEN) return find_taken(k, index);
    a = find(k, &index->a, begin);
    if (!one) by = scalar_of(k, &index->by);
    if (is_quotient(index)) by = tile_build_max(&k->b, by, tile_build_int(&k->b, 0));
    switch (index->kind) {
    case SCHED_SUM:
    case SCHED_PAIR:
        if (!one && !is_zero(k, a)) a = tile_build_mul(&k->b, a, by);
        return add(k, a, find(k, &index->b, begin));
    case SCHED_EXACT: return build_exact(k, a, by);
    case SCHED_DIV: return one ? a : tile_build_div(&k->b, a, by);
    case SCHED_REM: return one ? tile_build_int(&k->b, 0) : tile_build_rem(&k->b, a, by);
    case SCHED_NUMBER:
    case SCHED_TAKEN: break;
    }
    return a;
}

/* begin: only for the tile's first element. */
static tile_value find(sched_kernel *k, const sched_coordinate *at, bool begin) {
    tile_value place;
    int t = at->dim < 0 ? -1 : k->tile_of[at->dim];
    if (at->index)
        place = find_computed(k, at->index, begin);
    else
        place = at->dim < 0 ? tile_build_int(&k->b, 0) : k->start[at->dim];
    if (at->offset) {
        tile_value offset = sched_number(k, sched_expr(k->s, at->offset));
        place = add(k, place, offset);
    }
    return t < 0 || begin ? place : add(k, count_along(k, t), place);
}

tile_value sched_coordinate_tile(sched_kernel *k, const sched_coordinate *at) {
    return find(k, at, false);
}

tile_value sched_begin(sched_kernel *k, const sched_coordinate *at) {
    return find(k, at, true);
}

static int along_sum(const sched_kernel *k, const sched_index *index) {
    int a = sched_along(k, &index->a), b = sched_along(k, &index->b);
    if (a == -1) return b;
    return b == -1 && tile_expr_is(index->by.expr, 1) ? a : SCHED_SCATTERED;
}

int sched_along(const sched_kernel *k, const sched_coordinate *at) {
    if (!at->index) return at->dim < 0 ? -1 : k->tile_of[at->dim];
    switch (at->index->kind) {
    case SCHED_SUM:
    case SCHED_PAIR: return along_sum(k, at->index);
    case SCHED_DIV:
    case SCHED_EXACT:
    case SCHED_REM: return sched_along(k, &at->index->a) == -1 ? -1 : SCHED_SCATTERED;
    case SCHED_NUMBER: return -1;
    case SCHED_TAKEN: break;
    }
    return SCHED_SCATTERED;
}

/* Returns whether a coordinate is scattered, or two dims advance along the same dim of the tile. */
bool sched_is_scattered(const sched_kernel *k, unsigned rank, const sched_map *map) {
    unsigned taken = 0;
    for (unsigned d = 0; d < rank; d++) {
        int t = sched_along(k, &map->at[d]);
        if (t == SCHED_SCATTERED || (t >= 0 && taken & 1u << t)) return true;
        if (t >= 0) taken |= 1u << t;
    }
    return false;
}
