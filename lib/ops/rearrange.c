/* Operations that rearrange elements: see the header. */
#include "lib/ops/rearrange.h"

#include <string.h>

bool tile_is_rearrangement(const tile_function *f, tile_op op) {
    enum {
        KINDS = 1u << TILE_DIMS_permuted | 1u << TILE_DIMS_flat | 1u << TILE_DIMS_joined |
                1u << TILE_DIMS_parted | 1u << TILE_DIMS_sliced | 1u << TILE_DIMS_beside
    };
    if (!(KINDS >> tile_op_dims(tile_op_opcode(f, op)) & 1)) return false;
    tile_type_kind kind = tile_value_type(f, tile_op_result(f, op, 0))->kind;
    return kind == TILE_TYPE_TILE || kind == TILE_TYPE_TENSOR;
}

tile_value tile_rearranging_buffer(const tile_function *f, tile_op op) {
    bool takes = tile_op_takes(tile_op_opcode(f, op), TILE_OPERAND_buffer);
    return takes ? tile_operand_buffer(f, op) : TILE_NO_VALUE;
}

tile_placement tile_placement_of(const tile_function *f, tile_op op, unsigned operand,
                                 unsigned result) {
    tile_dim map[TILE_MAX_RANK];
    tile_dims dims = tile_op_dims(tile_op_opcode(f, op));
    unsigned rank = tile_dim_map(f, op, result, operand, map);
    tile_placement p = {.flat = dims == TILE_DIMS_flat,
                        .repeats = dims == TILE_DIMS_stretched,
                        .rank = tile_value_type(f, tile_op_result(f, op, result))->rank};
    for (unsigned d = 0; d < p.rank; d++) p.source[d] = TILE_NO_DIM;
    for (unsigned d = 0; d < rank; d++) {
        if (map[d].kind == TILE_DIM_AT) {
            p.takes_apart = true;
            p.fixed = map[d].shift;
        } else if (map[d].kind == TILE_DIM_OF) {
            p.source[map[d].of] = d;
            p.added[map[d].of] = -map[d].shift;
        }
    }
    if (dims == TILE_DIMS_joined) p.added[p.rank - 1] = operand;
    return p;
}

tile_placement tile_rearrange(const tile_function *f, tile_op op, unsigned operand, unsigned result,
                              const int64_t *first, int64_t before) {
    tile_placement p = tile_placement_of(f, op, operand, result);
    tile_dims dims = tile_op_dims(tile_op_opcode(f, op));
    for (unsigned d = 0; d < p.rank && dims == TILE_DIMS_sliced; d++) p.added[d] = -first[d];
    if (dims == TILE_DIMS_beside) p.added[tile_op_attr_int(f, op, TILE_ATTR_axis, 0)] = before;
    return p;
}

bool tile_placed_coordinates(const tile_placement *p, const int64_t *from_at, unsigned from_rank,
                             const int64_t *to_dims, int64_t *to_at) {
    bool inside = !p->takes_apart || from_at[from_rank - 1] == p->fixed;
    for (unsigned d = 0; d < p->rank && inside; d++) {
        to_at[d] = (p->source[d] == TILE_NO_DIM ? 0 : from_at[p->source[d]]) + p->added[d];
        inside = to_at[d] >= 0 && to_at[d] < to_dims[d];
    }
    return inside;
}

/* The copied elements along each dim: the distance of two of them, and their number. */
typedef struct walk {
    unsigned rank;
    int64_t dims[TILE_MAX_RANK];
    int64_t from_step[TILE_MAX_RANK], to_step[TILE_MAX_RANK];
    size_t size;
} walk;

static void walk_dim(const walk *w, unsigned d, const char *from, char *to) {
    if (d == w->rank) {
        memcpy(to, from, w->size);
        return;
    }
    if (d + 1 == w->rank && w->from_step[d] == 1 && w->to_step[d] == 1) {
        memcpy(to, from, w->size * (size_t)w->dims[d]);
        return;
    }
    int64_t from_step = w->from_step[d] * (int64_t)w->size,
            to_step = w->to_step[d] * (int64_t)w->size;
    for (int64_t i = 0; i < w->dims[d]; i++)
        walk_dim(w, d + 1, from + i * from_step, to + i * to_step);
}

static void row_major(unsigned rank, const int64_t *dims, int64_t *steps) {
    int64_t step = 1;
    for (unsigned d = rank; d-- > 0; step *= dims[d]) steps[d] = step;
}

static size_t count_elements(unsigned rank, const int64_t *dims) {
    size_t count = 1;
    for (unsigned d = 0; d < rank; d++) count *= (size_t)dims[d];
    return count;
}

void tile_place_elements(const tile_placement *p, const int64_t *from_dims, unsigned from_rank,
                         const int64_t *to_dims, size_t size, const void *from, void *to) {
    walk w = {.rank = p->rank, .size = size};
    int64_t from_steps[TILE_MAX_RANK], from_first = 0, to_first = 0;
    if (p->flat) {
        memcpy(to, from, size * count_elements(from_rank, from_dims));
        return;
    }
    row_major(from_rank, from_dims, from_steps);
    row_major(p->rank, to_dims, w.to_step);
    for (unsigned d = 0; d < p->rank; d++) {
        bool given = p->source[d] != TILE_NO_DIM;
        int64_t extent = given        ? from_dims[p->source[d]]
                         : p->repeats ? to_dims[d]
                                      : 1,
                skipped = -p->added[d];
        w.from_step[d] = given ? from_steps[p->source[d]] : 0;
        w.dims[d] = extent < to_dims[d] ? extent : to_dims[d];
        if (skipped > 0) from_first += skipped * w.from_step[d];
        if (skipped < 0) to_first -= skipped * w.to_step[d];
    }
    if (p->takes_apart) from_first += p->fixed;
    if (!count_elements(w.rank, w.dims)) return;
    walk_dim(&w, 0, (const char *)from + from_first * (int64_t)size,
             (char *)to + to_first * (int64_t)size);
}
