/* Products in the kernel of a resident loop: the weights are in shared memory, and the rows of the
 * state are in registers. Weights that fit shared memory together are copied before the loop,
 * others in each iteration. */
#include "passes/schedule/sections/resident.h"

#include <string.h>

#include "lib/ir/syntax.h"

static bool is_product(const resident_writer *w, const sched_resident_reduction *p) {
    return tile_op_opcode(w->k.s->compute, p->op) == TILE_OP_matmul;
}

/* Points --------------------------------------------------------------------------------------- */

static int64_t widest_row(const sched_resident *r) {
    int64_t widest = 1;
    for (unsigned d = 0; d < r->domain.rank; d++)
        if (r->whole >> d & 1 && resident_whole_block(r->domain.extents[d]) > widest)
            widest = resident_whole_block(r->domain.extents[d]);
    return widest;
}

/* Few rows give many blocks, and many rows use the weights more often. */
void resident_set_points(resident_writer *w, const tile_expr *const *params) {
    enum { LEAST_ROWS = 16, MOST_ROWS = 128, MOST_WARPS = 8, MOST_PER_WARP = 2048 };
    static const int per_warp[] = {512, 1024};
    int points[16];
    unsigned count = 0;
    int64_t widest = widest_row(w->r);
    for (int rows = LEAST_ROWS; rows <= MOST_ROWS; rows *= 2)
        for (unsigned i = 0; i < 2; i++) {
            int warps = 1;
            while (warps < MOST_WARPS && rows * widest > warps * per_warp[i]) warps *= 2;
            bool same = count && points[2 * count - 2] == rows && points[2 * count - 1] == warps;
            if (same || (count && rows * widest > warps * MOST_PER_WARP)) continue;
            points[2 * count] = rows;
            points[2 * count++ + 1] = warps;
        }
    sched_add_tune(&w->k, params, 2, points, count);
}

/* Weights -------------------------------------------------------------------------------------- */

/* The tiles of a kernel, while those of weights take their place: these have two dims of their own,
 * after those of the domain. */
typedef struct tiles {
    int tile_of[SCHED_MAX_DIMS];
    const tile_expr *block[SCHED_MAX_TILE];
    unsigned rank;
    size_t mark;
} tiles;

static tiles enter_weights(resident_writer *w, const sched_resident_reduction *p) {
    sched_kernel *k = &w->k;
    unsigned first = w->r->domain.rank;
    tiles outer = {.rank = k->tile_rank, .mark = sched_enter(k)};
    memcpy(outer.tile_of, k->tile_of, sizeof outer.tile_of);
    memcpy(outer.block, k->block, sizeof outer.block);
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) k->tile_of[d] = -1;
    k->tile_rank = 0;
    for (unsigned i = 0; i < 2; i++) {
        const tile_expr *extent = k->g->domain.extents[i == p->state ? p->dim : p->other];
        k->g->domain.extents[first + i] = extent;
        k->start[first + i] = tile_build_int(&k->b, 0);
        sched_set_tile(k, first + i, i, tile_expr_int(k->s->context, resident_whole_block(extent)));
    }
    return outer;
}

static void leave_weights(resident_writer *w, const tiles *outer) {
    sched_kernel *k = &w->k;
    sched_leave(k, outer->mark);
    memcpy(k->tile_of, outer->tile_of, sizeof k->tile_of);
    memcpy(k->block, outer->block, sizeof k->block);
    k->tile_rank = outer->rank;
}

static sched_map map_weights(const resident_writer *w, const sched_resident_reduction *p) {
    schedule *s = w->k.s;
    unsigned index = !p->state, first = w->r->domain.rank;
    const tile_type *type = sched_type(s, tile_op_operand(s->compute, p->op, index));
    unsigned result = sched_type(s, tile_op_result(s->compute, p->op, 0))->rank;
    bool transposed = sched_is_transposed(s, p->op, index);
    sched_map map;
    for (unsigned d = 0; d + 2 < type->rank; d++)
        map.at[d] = tile_expr_is(sched_dim(s, type, d), 1) ? sched_zero_coordinate()
                                                           : p->map.at[d + result - type->rank];
    for (unsigned i = 0; i < 2; i++) {
        sched_coordinate at = sched_dim_coordinate(first + i);
        if (i != p->state) at.offset = p->map.at[result - 1 - p->state].offset;
        map.at[type->rank - 2 + (i ^ transposed)] = at;
    }
    return map;
}

/* Sets a tile to 0 after the end of a dim of the domain. */
static tile_value end_with(sched_kernel *k, unsigned dim, tile_value tile,
                           const tile_type *element) {
    const tile_expr *extent = k->g->domain.extents[dim];
    const sched_coordinate at = sched_dim_coordinate(dim);
    if (!tile.id || tile_expr_is(extent, resident_whole_block(extent))) return tile;
    tile_value inside = tile_build_lt(&k->b, sched_coordinate_tile(k, &at),
                                      sched_number(k, sched_expr(k->s, extent)));
    return tile_build_select(&k->b, inside, tile, tile_build_zero(&k->b, element));
}

/* Finds the array whose elements the weights are, and their map; -1: they are computed. */
static int find_array(sched_kernel *k, tile_value *value, sched_map *map) {
    schedule *s = k->s;
    int array;
    while ((array = sched_find_input(s, k->g, *value)) < 0) {
        tile_op op = tile_value_def(s->compute, *value);
        if (!op.id || !sched_only_moves(s, op)) return -1;
        *map = sched_operand_map(s, op, 0, 0, map);
        *value = tile_operand_src(s->compute, op);
    }
    return sched_is_scattered(k, sched_type(s, *value)->rank, map) ? -1 : array;
}

static tile_value alloc_weights(sched_kernel *k, const tile_type *element) {
    tile_type draft = *sched_full_type(k, element);
    draft.kind = TILE_TYPE_SHARED;
    return tile_build_alloc_shared(&k->b, tile_type_get(k->s->context, &draft));
}

/* Returns the buffer. */
static tile_value copy_weights(resident_writer *w, size_t i) {
    sched_kernel *k = &w->k;
    const sched_resident_reduction *p = &w->r->reductions[i];
    tiles outer = enter_weights(w, p);
    tile_value value = sched_multiplied(k->s, p->op, !p->state), source = value;
    const tile_type *element = sched_element(k->s, value);
    sched_map map = map_weights(w, p), at = map;
    tile_value buffer = alloc_weights(k, element);
    sched_access access;
    int array = find_array(k, &source, &at);
    k->straight = true;
    bool copies = array >= 0 && sched_element(k->s, source) == element &&
                  sched_find_access(k, (unsigned)array, source, &at, &access);
    k->straight = false;
    if (copies) {
        tile_build_copy(&k->b, access.view, access.index, access.rank, buffer, NULL, 0,
                        TILE_NO_VALUE);
    } else {
        tile_value tile = sched_broadcast_to_tile(k, sched_value(k, value, &map, element));
        tile = end_with(k, w->r->domain.rank + p->state, tile, element);
        if (tile.id) tile_build_store_shared(&k->b, tile, buffer, NULL, 0);
    }
    leave_weights(w, &outer);
    return buffer;
}

void resident_copy_weights(resident_writer *w) {
    const sched_resident *r = w->r;
    w->weights = TILE_NEW_ARRAY(w->k.s->arena, tile_value, r->reduction_count + 1);
    for (size_t i = 0; i < r->reduction_count; i++)
        if (r->keeps_weights && r->reductions[i].fixed && is_product(w, &r->reductions[i]))
            w->weights[i] = copy_weights(w, i);
}

/* Products ------------------------------------------------------------------------------------- */

/* A matrix's dims as dims of the kernel's tiles. */
typedef struct matrix {
    unsigned at[2];
    const tile_type *flat, *tile; /* as a matrix; with the kernel's dims */
} matrix;

static matrix matrix_of(const resident_writer *w, unsigned row, unsigned column,
                        const tile_type *element) {
    const sched_kernel *k = &w->k;
    const tile_expr *dims[SCHED_MAX_TILE];
    matrix m = {.at = {(unsigned)k->tile_of[row], (unsigned)k->tile_of[column]}};
    for (unsigned t = 0; t < k->tile_rank; t++) dims[t] = tile_expr_int(k->s->context, 1);
    for (unsigned i = 0; i < 2; i++)
        dims[m.at[0] < m.at[1] ? m.at[i] : m.at[!i]] = k->block[m.at[i]];
    m.tile = sched_tile_type(k, element, dims);
    tile_type draft = *m.tile;
    draft.rank = 2;
    for (unsigned d = 0; d < TILE_MAX_RANK; d++) draft.dims[d] = NULL;
    for (unsigned i = 0; i < 2; i++) draft.dims[i] = k->block[m.at[i]];
    m.flat = tile_type_get(k->s->context, &draft);
    return m;
}

/* Exchanges the dims of the matrix if they are in the other order in the kernel's tiles. */
static tile_value exchange(sched_kernel *k, const matrix *m, tile_value tile) {
    int64_t order[SCHED_MAX_TILE];
    if (!tile.id || m->at[0] < m->at[1]) return tile;
    for (unsigned t = 0; t < k->tile_rank; t++)
        order[t] = t == m->at[0] ? m->at[1] : t == m->at[1] ? m->at[0] : t;
    return resident_permute(k, tile, order, k->tile_rank);
}

static tile_value reshape(sched_kernel *k, tile_value tile, const tile_type *type) {
    if (!tile.id || tile_value_type(k->f, tile) == type) return tile;
    return tile_build_reshape(&k->b, tile, TILE_NO_VALUE, type);
}

/* The state's rows as a matrix, rows first for the left operand. */
static tile_value take_state(resident_writer *w, const sched_resident_reduction *p, unsigned row) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    tile_value value = sched_multiplied(s, p->op, p->state);
    const tile_type *element = sched_element(s, value);
    matrix m = p->state ? matrix_of(w, p->dim, row, element) : matrix_of(w, row, p->dim, element);
    tile_value tile = sched_value(k, value, &p->source, element);
    tile = sched_broadcast_to(k, tile,
                              resident_tile_at(w, &p->source, sched_type(s, value)->rank, element));
    tile = end_with(k, p->dim, tile, element);
    return reshape(k, exchange(k, &m, tile), m.flat);
}

bool resident_multiply(resident_writer *w, size_t i) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    const sched_resident_reduction *p = &w->r->reductions[i];
    if (!is_product(w, p)) return false;
    tile_value result = tile_op_result(s->compute, p->op, 0), sides[2];
    unsigned row = (unsigned)__builtin_ctz(w->r->rows);
    tile_scalar multiplied = sched_element(s, sched_multiplied(s, p->op, p->state))->scalar;
    const tile_type *sum = sched_sum_type(s, p->op, multiplied);
    const tile_type *working = sched_compute_type(s, sched_element(s, result));
    matrix m = p->state ? matrix_of(w, p->other, row, sum) : matrix_of(w, row, p->other, sum);
    sides[p->state] = take_state(w, p, row);
    sides[!p->state] = w->weights[i].id ? w->weights[i] : copy_weights(w, i);
    if (s->failed || !sides[p->state].id) return true;
    tile_value tile =
        tile_build_dot(&k->b, sides[0], NULL, 0, sides[1], NULL, 0, tile_build_zero(&k->b, m.flat));
    tile = sched_convert(k, exchange(k, &m, reshape(k, tile, m.tile)), working);
    sched_remember(k, result, &p->map, working, tile);
    return true;
}
