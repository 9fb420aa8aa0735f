/* Reorders the summed dims of products of windows, so that the other operand is a view.
 *
 * The weights of a convolution are [k, c, r, s] in memory. With windows of [n, p, q, r, s, c], as
 * of a transposed image, the product needs them as [k, r, s, c], and a kernel would move them
 * first. Any order of r, s and c gives the same sums, so the windows take that of the weights:
 *
 *     matmul(reshape(%v : [n, p, q, r, s, c]), reshape(transpose(%w, order = [0, 2, 3, 1])),
 *            trans_rhs)
 *       ->  matmul(reshape(transpose(%v, order = [0, 1, 2, 5, 3, 4])), reshape(%w), trans_rhs)
 *
 * Windows are computed where they are used, so their transpose costs nothing. Their order remains
 * if channels are contiguous in memory, because tiles along channels are then copied as a whole, or
 * if they are worth a kernel that makes them contiguous (lib/ops/convolution.h). */
#include "passes/schedule/products/order.h"

#include "lib/ops/convolution.h"

/* An operand that is a reshape, possibly of a cast: its summed dim is made of the source's dims
 * [first, first + count). */
typedef struct summed_dims {
    tile_value source;
    tile_op cast; /* 0: none */
    unsigned first, count;
} summed_dims;

static bool is_opcode(const schedule *s, tile_op op, tile_opcode opcode) {
    return op.id && tile_op_opcode(s->compute, op) == opcode;
}

static unsigned summed_dim(const schedule *s, tile_op matmul, unsigned side) {
    bool transposed =
        tile_op_has_attr(s->compute, matmul, side ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
    unsigned rank = sched_type(s, tile_op_operand(s->compute, matmul, side))->rank;
    return (side == 0) == transposed ? rank - 2u : rank - 1u;
}

/* The number of elements in dims [first, end). */
static const tile_expr *product_of(schedule *s, const tile_type *type, unsigned first,
                                   unsigned end) {
    const tile_expr *product = tile_expr_int(s->context, 1);
    for (unsigned d = first; d < end; d++)
        product = tile_expr_multiply(s->context, product, sched_dim(s, type, d));
    return product;
}

/* The first dim from which the dims before it have this number of elements; -1: none. */
static int find_border(schedule *s, const tile_type *type, const tile_expr *count) {
    for (unsigned d = 0; d <= type->rank; d++)
        if (sched_same_extent(s, product_of(s, type, 0, d), count)) return (int)d;
    return -1;
}

static bool find_summed(schedule *s, tile_op matmul, unsigned side, summed_dims *out) {
    tile_value operand = tile_op_operand(s->compute, matmul, side);
    tile_op op = tile_value_def(s->compute, operand);
    unsigned k = summed_dim(s, matmul, side);
    out->cast = TILE_NO_OP;
    if (is_opcode(s, op, TILE_OP_cast)) {
        out->cast = op;
        op = tile_value_def(s->compute, tile_operand_src(s->compute, op));
    }
    if (!is_opcode(s, op, TILE_OP_reshape)) return false;
    out->source = tile_operand_src(s->compute, op);
    const tile_type *to = sched_type(s, operand), *from = sched_type(s, out->source);
    int first = find_border(s, from, product_of(s, to, 0, k));
    int end = find_border(s, from, product_of(s, to, 0, k + 1));
    out->first = (unsigned)first;
    out->count = (unsigned)(end - first);
    return first >= 0 && end > first + 1;
}

/* The window of which the value is a transpose or cast; 0: it is of none. *map: of the window. */
static tile_op find_window(schedule *s, tile_value value, sched_map *map) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           (is_opcode(s, op, TILE_OP_transpose) || is_opcode(s, op, TILE_OP_cast))) {
        *map = sched_operand_map(s, op, 0, 0, map);
        value = tile_operand_src(s->compute, op);
    }
    return is_opcode(s, op, TILE_OP_window) ? op : TILE_NO_OP;
}

static sched_domain domain_of(schedule *s, const tile_type *type) {
    sched_domain domain = {.rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++) domain.extents[d] = sched_dim(s, type, d);
    return domain;
}

/* The number of elements; -1 if it is not known. */
static double count_known(schedule *s, const tile_type *type) {
    return (double)sched_constant(product_of(s, type, 0, type->rank));
}

/* Returns whether the elements along dim d of windows are contiguous in memory, as far as is known
 * before kernels are chosen. */
static bool is_contiguous(schedule *s, tile_value windows, unsigned d) {
    sched_domain domain = domain_of(s, sched_type(s, windows));
    sched_map map = sched_identity(&domain);
    tile_op op = find_window(s, windows, &map);
    tile_value value = windows;
    if (!op.id) return true;
    map = sched_operand_map(s, op, 0, 0, &map);
    value = tile_operand_src(s->compute, op);
    while ((op = tile_value_def(s->compute, value)).id &&
           (is_opcode(s, op, TILE_OP_transpose) || is_opcode(s, op, TILE_OP_cast) ||
            is_opcode(s, op, TILE_OP_slice))) {
        map = sched_operand_map(s, op, 0, 0, &map);
        value = tile_operand_src(s->compute, op);
    }
    const sched_coordinate *last = &map.at[sched_type(s, value)->rank - 1u];
    return sched_depends(last, d);
}

/* Returns whether the product reads the elements of its windows where they are, by the rule for
 * convolutions. */
static bool is_in_place(schedule *s, tile_op matmul, const summed_dims sides[2], unsigned side) {
    const tile_type *windows = sched_type(s, sides[side].source),
                    *product = sched_type(s, tile_op_result(s->compute, matmul, 0));
    const unsigned last = sides[side].first + sides[side].count - 1;
    sched_domain domain = domain_of(s, windows);
    sched_map map = sched_identity(&domain);
    const tile_op op = find_window(s, sides[side].source, &map);
    const tile_type *array = sched_type(s, tile_operand_src(s->compute, op));
    const double input = count_known(s, array), all = count_known(s, windows);
    tile_convolution_traffic t = {
        .by_fma = tile_convolution_is_by_fma(s->compute, matmul, windows),
        .channels = sched_constant(sched_dim(s, windows, last)),
        .positions = sched_constant(product_of(s, windows, sides[side].first, last)),
        .input = input * tile_scalar_bytes(windows->scalar),
        .windows = all,
        .filters = (double)sched_constant(sched_dim(s, product, product->rank - 1u - side)),
    };
    return tile_convolution_form_of(&t) == TILE_CONVOLUTION_IN_PLACE;
}

/* order[i]: the summed dim of the transpose that is dim i of the summed ones in memory. False if
 * the transpose moves other dims as well, or none. */
static bool find_order(const schedule *s, tile_op transpose, const summed_dims *of,
                       unsigned *order) {
    const tile_attr *attr = tile_op_attr(s->compute, transpose, TILE_ATTR_order);
    unsigned rank = sched_type(s, tile_op_result(s->compute, transpose, 0))->rank;
    bool moved = false;
    if (!attr) return false;
    for (unsigned d = 0; d < rank; d++) {
        bool summed = d >= of->first && d < of->first + of->count;
        int64_t from = attr->list[d];
        if (!summed && from != (int64_t)d) return false;
        if (!summed) continue;
        if (from < of->first || from >= of->first + of->count) return false;
        order[from - of->first] = d - of->first;
        moved |= from != (int64_t)d;
    }
    return moved;
}

static bool has_same_dims(schedule *s, const summed_dims *a, const summed_dims *b) {
    bool same = a->count == b->count;
    for (unsigned i = 0; i < a->count && same; i++)
        same = sched_dim(s, sched_type(s, a->source), a->first + i) ==
               sched_dim(s, sched_type(s, b->source), b->first + i);
    return same;
}

/* Builds the operand of another source. */
static tile_value build_operand(schedule *s, tile_builder *b, tile_op matmul, unsigned side,
                                const summed_dims *of, tile_value source) {
    tile_value operand = tile_op_operand(s->compute, matmul, side);
    tile_type draft = *sched_type(s, operand);
    draft.scalar = sched_type(s, source)->scalar;
    draft.param = sched_type(s, source)->param;
    tile_value value =
        tile_build_reshape(b, source, TILE_NO_VALUE, tile_type_get(s->context, &draft));
    return of->cast.id ? tile_build_cast(b, value, sched_element(s, operand)) : value;
}

static tile_value reorder(schedule *s, tile_builder *b, const summed_dims *of,
                          const unsigned *order) {
    const tile_type *type = sched_type(s, of->source);
    tile_type draft = *type;
    int64_t list[TILE_MAX_RANK];
    for (unsigned d = 0; d < type->rank; d++) list[d] = d;
    for (unsigned i = 0; i < of->count; i++) list[of->first + i] = of->first + order[i];
    for (unsigned d = 0; d < type->rank; d++) draft.dims[d] = type->dims[list[d]];
    const tile_attr attr = {.id = TILE_ATTR_order, .list = list, .count = type->rank};
    const tile_segment src = {of->source, NULL, 0};
    tile_op op = tile_build_op_of(b, TILE_OP_transpose, &src, 1, tile_type_get(s->context, &draft),
                                  &attr, 1);
    tile_op_set_list(s->compute, op, TILE_ATTR_order, list, type->rank);
    return tile_op_result(s->compute, op, 0);
}

/* A reshape of an array with strides may be no view of it. */
static bool is_row_major_argument(schedule *s, tile_value value) {
    return !tile_value_def(s->compute, value).id && !sched_find_shape(s, value).strides[0];
}

/* Finds an operand with a transposed array, beside one of windows. Returns its number; -1: none. */
static int find_moved(schedule *s, tile_op op, summed_dims sides[2], unsigned *order) {
    if (tile_op_opcode(s->compute, op) != TILE_OP_matmul || !find_summed(s, op, 0, &sides[0]) ||
        !find_summed(s, op, 1, &sides[1]) || !has_same_dims(s, &sides[0], &sides[1]))
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        const summed_dims *of = &sides[i], *other = &sides[1 - i];
        tile_op moved = tile_value_def(s->compute, of->source);
        sched_map map = {{{0, NULL, NULL}}};
        if (is_opcode(s, moved, TILE_OP_transpose) &&
            is_row_major_argument(s, tile_operand_src(s->compute, moved)) &&
            find_window(s, other->source, &map).id && find_order(s, moved, of, order) &&
            !is_contiguous(s, other->source, other->first + other->count - 1) &&
            is_in_place(s, op, sides, 1 - i))
            return (int)i;
    }
    return -1;
}

void sched_order_sums(schedule *s) {
    summed_dims sides[2];
    unsigned order[TILE_MAX_RANK];
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body)
        found |= find_moved(s, op, sides, order) >= 0;
    if (!found) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    uint32_t count = (uint32_t)f->op_count;
    for (uint32_t id = 1; id < count; id++) {
        tile_op op = {id};
        int side = f->ops[id].opcode ? find_moved(s, op, sides, order) : -1;
        if (side < 0) continue;
        tile_builder b = tile_builder_before(f, op);
        b.loc = tile_op_loc(f, op);
        tile_op transpose = tile_value_def(f, sides[side].source);
        tile_value array = tile_operand_src(f, transpose);
        tile_value windows = reorder(s, &b, &sides[1 - side], order);
        tile_value operands[2];
        operands[side] = build_operand(s, &b, op, (unsigned)side, &sides[side], array);
        operands[1 - side] =
            build_operand(s, &b, op, 1u - (unsigned)side, &sides[1 - side], windows);
        for (unsigned i = 0; i < 2; i++) tile_op_at(f, op)->operands[i] = operands[i];
    }
}
