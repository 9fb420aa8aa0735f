/* The column `dims` of ops.def: see the header. */
#include "lib/ops/dims.h"

const uint8_t tile_dims_table[TILE_OPCODE_LIMIT] = {
#define OP(number, name, levels, operands, attributes, typing, rule, traits, effects, completion, \
           dims, meaning) \
    [number] = TILE_DIMS_##dims,
#include "tile/ops.def"
};

/* An operand, and the result whose elements are mapped. */
typedef struct query {
    const tile_function *f;
    tile_op op;
    unsigned result, operand;
    const tile_type *from, *to;
} query;

static tile_dim dim_of(unsigned d) {
    return (tile_dim){TILE_DIM_OF, d, 0};
}

static tile_dim stretched(const query *q, unsigned d) {
    if (tile_type_dim(q->from, d) == 1) return (tile_dim){.kind = TILE_DIM_ONE};
    return dim_of(d + q->to->rank - q->from->rank);
}

/* Without `order` the last two dims are exchanged. */
static tile_dim permuted(const query *q, unsigned d) {
    const tile_attr *order = tile_op_attr(q->f, q->op, TILE_ATTR_order);
    unsigned rank = q->from->rank, at = 0;
    if (!order) return dim_of(d + 2 < rank ? d : 2 * rank - 3 - d);
    while (order->list[at] != d) at++;
    return dim_of(at);
}

/* A dim with the same extent and the same row-major stride stays a dim. */
static tile_dim flat(const query *q, unsigned d) {
    int64_t before = 1, other = 1, extent = tile_type_dim(q->from, d);
    for (unsigned i = 0; i < d; i++) before *= tile_type_dim(q->from, i);
    for (unsigned k = 0; k < q->to->rank && extent > 1; other *= tile_type_dim(q->to, k++))
        if (other == before && tile_type_dim(q->to, k) == extent) return dim_of(k);
    return (tile_dim){.kind = TILE_DIM_FLAT};
}

static tile_dim sliced(const query *q, unsigned d) {
    tile_dim dim = dim_of(d);
    tile_value_is_int(q->f, tile_operands_first(q->f, q->op).at[d], &dim.shift);
    return dim;
}

static int64_t axis_of(const query *q) {
    return tile_op_attr_int(q->f, q->op, TILE_ATTR_axis, -1);
}

static tile_dim beside(const query *q, unsigned d) {
    tile_dim dim = dim_of(d);
    for (unsigned i = 0; i < q->operand && axis_of(q) == d; i++)
        dim.shift -= tile_type_dim(tile_value_type(q->f, tile_op_operand(q->f, q->op, i)), d);
    return dim;
}

/* An unknown axis may be any dim. */
static tile_dim along(const query *q, unsigned d) {
    int64_t axis = axis_of(q);
    return axis < 0 || axis == d ? (tile_dim){.kind = TILE_DIM_ALL} : dim_of(d);
}

static tile_dim windowed(const query *q, unsigned d) {
    int64_t axis = axis_of(q);
    unsigned count = tile_operands_strides(q->f, q->op).count;
    if (axis < 0 || (d >= axis && d < axis + count)) return (tile_dim){.kind = TILE_DIM_ALL};
    return dim_of(d < axis ? d : d + count);
}

static bool is_operand(const query *q, tile_operand_name name) {
    const tile_values values = tile_named_operands(q->f, q->op, name);
    return values.count && values.at == tile_op_at(q->f, q->op)->operands + q->operand;
}

/* [.., m, k] x [.., k, n]; either may be transposed. */
static tile_dim product(const query *q, unsigned d) {
    bool lhs = is_operand(q, TILE_OPERAND_lhs), rhs = is_operand(q, TILE_OPERAND_rhs);
    bool turned = tile_op_has_attr(q->f, q->op, lhs ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs);
    unsigned rank = q->from->rank, row = turned ? rank - 1 : rank - 2;
    if (!lhs && !rhs) return dim_of(d);
    if (d + 2 < rank) return stretched(q, d);
    if ((d == row) != lhs) return (tile_dim){.kind = TILE_DIM_ALL};
    return dim_of(lhs ? q->to->rank - 2u : q->to->rank - 1u);
}

static tile_dim find_dim(const query *q, unsigned d) {
    const tile_dim all = {.kind = TILE_DIM_ALL};
    switch (tile_op_dims(tile_op_opcode(q->f, q->op))) {
    case TILE_DIMS_none:
    case TILE_DIMS_all:
    case TILE_DIMS_counted: return all;
    case TILE_DIMS_same:
    case TILE_DIMS_joined: return dim_of(d);
    case TILE_DIMS_each:
    case TILE_DIMS_stretched: return stretched(q, d);
    case TILE_DIMS_permuted: return permuted(q, d);
    case TILE_DIMS_flat: return flat(q, d);
    case TILE_DIMS_parted:
        return d < q->to->rank ? dim_of(d) : (tile_dim){TILE_DIM_AT, 0, q->result};
    case TILE_DIMS_sliced: return sliced(q, d);
    case TILE_DIMS_beside: return beside(q, d);
    case TILE_DIMS_folded:
    case TILE_DIMS_along: return along(q, d);
    case TILE_DIMS_taken: return q->operand ? dim_of(d) : along(q, d);
    case TILE_DIMS_windowed: return windowed(q, d);
    case TILE_DIMS_product: return product(q, d);
    }
    return all;
}

unsigned tile_dim_map(const tile_function *f, tile_op op, unsigned result, unsigned operand,
                      tile_dim map[TILE_MAX_RANK]) {
    query q = {f, op, result, operand, tile_value_type(f, tile_op_operand(f, op, operand)), NULL};
    if (q.from->kind != TILE_TYPE_TILE && q.from->kind != TILE_TYPE_TENSOR) return 0;
    bool gives = result < tile_op_result_count(f, op);
    q.to = gives ? tile_value_type(f, tile_op_result(f, op, result)) : q.from;
    for (unsigned d = 0; d < q.from->rank; d++) map[d] = find_dim(&q, d);
    return q.from->rank;
}

unsigned tile_dim_in_operand(const tile_function *f, tile_op op, unsigned operand, unsigned d) {
    tile_dim map[TILE_MAX_RANK];
    unsigned rank = tile_dim_map(f, op, 0, operand, map);
    for (unsigned e = 0; e < rank; e++)
        if (map[e].kind == TILE_DIM_OF && map[e].of == d) return e;
    return TILE_NO_DIM;
}

bool tile_opcode_moves(tile_opcode opcode) {
    const unsigned moving = 1u << TILE_DIMS_stretched | 1u << TILE_DIMS_permuted |
                            1u << TILE_DIMS_flat | 1u << TILE_DIMS_joined | 1u << TILE_DIMS_parted |
                            1u << TILE_DIMS_sliced | 1u << TILE_DIMS_beside |
                            1u << TILE_DIMS_taken | 1u << TILE_DIMS_windowed;
    return moving >> tile_op_dims(opcode) & 1;
}

unsigned tile_moved_operands(const tile_function *f, tile_op op) {
    tile_dims dims = tile_op_dims(tile_op_opcode(f, op));
    if (!tile_opcode_moves(tile_op_opcode(f, op))) return 0;
    bool several = dims == TILE_DIMS_joined || dims == TILE_DIMS_beside;
    return several ? tile_op_operand_count(f, op) : 1;
}

bool tile_operand_carries_elements(tile_opcode opcode, unsigned operand) {
    const tile_op_info *info = tile_op_get_info(opcode);
    if (info->traits & TILE_TRAIT_ELEMENTWISE) return true;
    if (tile_op_dims(opcode) == TILE_DIMS_taken) return operand == 0; /* indices follow */
    switch (info->operands[operand].class_) {
    case TILE_CLASS_any:
    case TILE_CLASS_number:
    case TILE_CLASS_integer:
    case TILE_CLASS_floating:
    case TILE_CLASS_scalar:
    case TILE_CLASS_tensor:
    case TILE_CLASS_tile:
    case TILE_CLASS_tile_or_shared:
    case TILE_CLASS_vector:
    case TILE_CLASS_vector_or_descriptor: return true;
    case TILE_CLASS_boolean:
    case TILE_CLASS_index:
    case TILE_CLASS_long_index:
    case TILE_CLASS_constant:
    case TILE_CLASS_pointer:
    case TILE_CLASS_view:
    case TILE_CLASS_shared:
    case TILE_CLASS_any_shared:
    case TILE_CLASS_barrier:
    case TILE_CLASS_any_barrier:
    case TILE_CLASS_memory:
    case TILE_CLASS_global:
    case TILE_CLASS_location:
    case TILE_CLASS_tensor_map:
    case TILE_CLASS_descriptor: return false;
    }
    return false;
}
