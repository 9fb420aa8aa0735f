/* Operations that put elements in other places: see the header. */
#include "lib/ops/rearrange.h"

#include <string.h>

bool tile_is_rearrangement(const tile_function *f, tile_op op) {
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_transpose:
    case TILE_OP_reshape:
    case TILE_OP_join:
    case TILE_OP_unjoin:
    case TILE_OP_slice: return true;
    case TILE_OP_concat: {
        tile_type_kind kind = tile_value_type(f, tile_op_result(f, op, 0))->kind;
        return kind == TILE_TYPE_TILE || kind == TILE_TYPE_TENSOR;
    }
    default: return false;
    }
}

tile_value tile_rearranging_buffer(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_reshape && opcode != TILE_OP_slice) return TILE_NO_VALUE;
    const tile_values buffer = tile_op_segment(f, op, tile_op_get_info(opcode)->operand_count - 1u);
    return buffer.count ? buffer.at[0] : TILE_NO_VALUE;
}

unsigned tile_concat_axis(const tile_function *f, tile_op op) {
    return (unsigned)tile_op_attr_int(f, op, TILE_ATTR_axis, 0);
}

/* Which dims change places. */
static void set_order(tile_placement *p, const tile_attr *order) {
    for (unsigned d = 0; order && d < p->rank; d++) p->source[d] = (unsigned)order->list[d];
    if (order || p->rank < 2) return;
    p->source[p->rank - 1] = p->rank - 2;
    p->source[p->rank - 2] = p->rank - 1;
}

tile_placement tile_rearrange(const tile_function *f, tile_op op, unsigned operand, unsigned result,
                              int64_t axis, const int64_t *first, int64_t before) {
    tile_placement p = {.rank = tile_value_type(f, tile_op_result(f, op, result))->rank};
    for (unsigned d = 0; d < p.rank; d++) p.source[d] = d;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_reshape: p.flat = true; break;
    case TILE_OP_transpose: set_order(&p, tile_op_attr(f, op, TILE_ATTR_order)); break;
    case TILE_OP_join:
        p.source[p.rank - 1] = TILE_NO_DIM;
        p.added[p.rank - 1] = operand;
        break;
    case TILE_OP_unjoin:
        p.takes_apart = true;
        p.fixed = result;
        break;
    case TILE_OP_slice:
        for (unsigned d = 0; d < p.rank; d++) p.added[d] = -first[d];
        break;
    case TILE_OP_concat: p.added[axis] = before; break;
    default: break;
    }
    return p;
}

tile_placement tile_placement_of(const tile_function *f, tile_op op, unsigned operand,
                                 unsigned result) {
    int64_t first[TILE_MAX_RANK] = {0}, before = 0;
    unsigned axis = tile_concat_axis(f, op);
    if (tile_op_opcode(f, op) == TILE_OP_slice) {
        const tile_values values = tile_operands_first(f, op);
        for (unsigned d = 0; d < values.count; d++) tile_value_is_int(f, values.at[d], &first[d]);
    }
    for (unsigned i = 0; tile_op_opcode(f, op) == TILE_OP_concat && i < operand; i++)
        before += tile_type_dim(tile_value_type(f, tile_op_operand(f, op, i)), axis);
    return tile_rearrange(f, op, operand, result, axis, first, before);
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

/* Elements from one to the next along each dim of what is copied, and how many. */
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
        int64_t extent = given ? from_dims[p->source[d]] : 1, skipped = -p->added[d];
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
