/* The rules of operations that rearrange the elements of a tile or tensor. */
#include "lib/builder/infer_rules.h"

static bool is_array(const tile_type *type) {
    return type->kind == TILE_TYPE_TILE || type->kind == TILE_TYPE_TENSOR;
}

static bool check_array(const tile_infer *infer, const tile_type *type) {
    return is_array(type) ||
           fail(infer, "an operand must be a tile or a tensor, not", type, "", NULL);
}

/* The result type with the given layout, which no operand determines. */
static const tile_type *get_result(const tile_infer *infer, tile_type *draft) {
    draft->layout = infer->given ? infer->given->layout : NULL;
    return tile_type_get(tile_function_context(infer->function), draft);
}

/* Checks that the given result has the operand's element type and kind. Returns false after a
 * report. */
static bool check_given(const tile_infer *infer, const tile_type *from) {
    const tile_type *to = infer->given;
    if (!to) return fail_without_extents(infer);
    return (to->kind == from->kind && same_element(from, to)) ||
           fail(infer, "the result must be a tensor or tile of the operand's elements, from", from,
                " to", to);
}

static bool names_each_dim(const tile_attr *order, unsigned rank) {
    unsigned seen = 0;
    for (unsigned d = 0; d < order->count; d++)
        if (order->list[d] >= 0 && order->list[d] < rank) seen |= 1u << order->list[d];
    return order->count == rank && seen == (1u << rank) - 1;
}

/* Without attributes any given type is accepted; the verifier checks both later. */
bool tile_infer_transpose(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    const tile_attr *order = attr_of(infer, TILE_ATTR_order);
    if (!check_array(infer, from)) return false;
    if (!infer->has_attrs && infer->given)
        return check_given(infer, from) && result(infer, infer->given);
    if (!order && from->rank < 2)
        return fail(infer, "the operand needs two dims to exchange, not", from, "", NULL);
    if (order && !names_each_dim(order, from->rank))
        return fail(infer, "`order` must name each dim of the operand once, of", from, "", NULL);
    tile_type draft = *from;
    for (unsigned d = 0; d < from->rank && order; d++) draft.dims[d] = from->dims[order->list[d]];
    if (!order) {
        draft.dims[from->rank - 1] = from->dims[from->rank - 2];
        draft.dims[from->rank - 2] = from->dims[from->rank - 1];
    }
    return result(infer, get_result(infer, &draft));
}

/* The buffer holds all elements in row-major order. */
static bool check_buffer(const tile_infer *infer, const tile_type *from, const tile_type *buffer) {
    if (!buffer) return true;
    int64_t have = tile_type_elements(from), room = tile_type_elements(buffer);
    return (!buffer->stages && buffer->rank == 1 && same_element(from, buffer) &&
            (have < 0 || room < 0 || room >= have)) ||
           fail(infer, "the buffer must have one dim, no stages and room for all elements, not",
                buffer, " for", from);
}

static const tile_expr *elements_of(const tile_infer *infer, const tile_type *type) {
    tile_context *context = tile_function_context(infer->function);
    const tile_expr *elements = tile_expr_int(context, 1);
    for (unsigned d = 0; d < type->rank && elements; d++)
        elements = tile_expr_multiply(context, elements, type->dims[d]);
    return elements;
}

/* Numbers of elements that may be equal are compared once the parameters have values. */
bool tile_infer_reshape(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    if (!check_array(infer, from) || !check_given(infer, from)) return false;
    const tile_expr *elements = elements_of(infer, to);
    int64_t count;
    bool counts = !tile_expr_is_int(elements, &count) || count >= 0; /* else an extent is wrong */
    if (counts && tile_extents_differ(tile_function_context(infer->function),
                                      elements_of(infer, from), elements))
        return fail(infer, "both shapes must have the same number of elements, not", from, " and",
                    to);
    return check_buffer(infer, from, type_of(infer, TILE_OPERAND_buffer)) && result(infer, to);
}

bool tile_infer_join(tile_infer *infer) {
    const tile_type *a = type_of(infer, TILE_OPERAND_lhs), *b = type_of(infer, TILE_OPERAND_rhs);
    if (!check_array(infer, a)) return false;
    if (a->kind != b->kind || !same_element(a, b) || !same_dims(infer, a, b))
        return fail(infer, "both operands must have the same type, not", a, " and", b);
    if (a->rank == TILE_MAX_RANK)
        return fail(infer,
                    "the result would have more dims than a type may have; reshape the operands to "
                    "fewer than",
                    a, "", NULL);
    tile_type draft = *a;
    draft.dims[draft.rank++] = tile_expr_int(tile_function_context(infer->function), 2);
    return result(infer, get_result(infer, &draft));
}

/* An extent that is a parameter is checked once it has a value. */
bool tile_infer_unjoin(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    if (!check_array(infer, from)) return false;
    int64_t last = from->rank ? tile_type_dim(from, from->rank - 1) : 0;
    if (from->rank < 2 || (last >= 0 && last != 2))
        return fail(infer, "the operand must have two or more dims and the last one must be 2, not",
                    from, "", NULL);
    tile_type draft = *from;
    draft.dims[--draft.rank] = NULL;
    if (!result(infer, get_result(infer, &draft))) return false;
    infer->results[infer->result_count++] = infer->results[0];
    return true;
}

/* Returns whether `part` elements from `first` are within the whole extent; -1 stands for an
 * unknown extent, and 0 for an unknown `first`. */
static bool is_inside(int64_t first, int64_t part, int64_t whole) {
    return first >= 0 && (part < 0 || whole < 0 || (part <= whole && first <= whole - part));
}

/* Layouts require that a part of a tile begins at constants that are multiples of its extents. */
static bool check_tile_part(const tile_infer *infer, const tile_value *first, const tile_type *part,
                            const tile_type *whole) {
    for (unsigned d = 0; d < part->rank && part->kind == TILE_TYPE_TILE; d++) {
        int64_t at = 0, extent = tile_type_dim(part, d);
        if (tile_value_at(infer->function, first[d])->kind != TILE_VALUE_CONSTANT)
            return fail_with(infer, "the coordinates of a tile's part must be constants:", part,
                             " of", whole, "; load the part from memory instead");
        tile_value_is_int(infer->function, first[d], &at);
        if ((extent > 0 && at % extent) || !is_inside(at, extent, tile_type_dim(whole, d)))
            return fail(infer,
                        "the part must begin at multiples of its extents and end in the operand:",
                        part, " of", whole);
    }
    return true;
}

/* Checks the coordinates that are known. */
static bool check_tensor_part(const tile_infer *infer, const tile_value *first,
                              const tile_type *part, const tile_type *whole) {
    for (unsigned d = 0; d < part->rank; d++) {
        int64_t at = 0;
        tile_value_is_int(infer->function, first[d], &at);
        if (!is_inside(at, tile_type_dim(part, d), tile_type_dim(whole, d)))
            return fail(infer, "the part must begin and end inside of the tensor:", part, " of",
                        whole);
    }
    return true;
}

bool tile_infer_slice(tile_infer *infer) {
    unsigned count;
    const tile_type *from = type_of(infer, TILE_OPERAND_src), *to = infer->given;
    const tile_value *first = segment(infer, TILE_OPERAND_first, &count);
    if (!check_array(infer, from) || !check_given(infer, from)) return false;
    if (to->rank != from->rank || count != from->rank)
        return fail(infer, "there must be a coordinate and an extent for each dim of", from,
                    ", not", to);
    return check_tile_part(infer, first, to, from) && check_tensor_part(infer, first, to, from) &&
           check_buffer(infer, from, type_of(infer, TILE_OPERAND_buffer)) && result(infer, to);
}

bool tile_infer_insert_slice(tile_infer *infer) {
    unsigned count;
    const tile_type *part = type_of(infer, TILE_OPERAND_src),
                    *whole = type_of(infer, TILE_OPERAND_dst);
    const tile_value *first = segment(infer, TILE_OPERAND_first, &count);
    if (!same_element(part, whole))
        return fail(infer, "src and dst must have the same element type, not", part, " and", whole);
    if (part->rank != whole->rank || count != whole->rank)
        return fail(infer,
                    "src must have as many dims as dst, with a coordinate for each; reshape it, as "
                    "in `(reshape(%y) : [1, m, n])`:",
                    part, " in", whole);
    return check_tensor_part(infer, first, part, whole) && result(infer, whole);
}

static unsigned length_of(const tile_expr *expr) {
    unsigned length = 1;
    for (unsigned i = 0; i < 3 && expr->args[i]; i++) length += length_of(expr->args[i]);
    return length;
}

/* a + b, or its canonical form if that is shorter: n for i + (n - i). */
static const tile_expr *sum_of(const tile_infer *infer, const tile_expr *a, const tile_expr *b) {
    tile_context *context = tile_function_context(infer->function);
    const tile_expr *sum = tile_expr_op(context, TILE_OP_add, a, b, NULL);
    const tile_expr *canonical = tile_extent_canonical(context, sum);
    return sum && length_of(canonical) < length_of(sum) ? canonical : sum;
}

/* Returns whether an operand of concat has the first operand's element type and extents, except
 * along the axis. */
static bool is_concatenated_along(const tile_infer *infer, const tile_type *first,
                                  const tile_type *type, unsigned axis) {
    bool fits = type->kind == first->kind && type->rank == first->rank && same_element(first, type);
    for (unsigned d = 0; d < first->rank && fits; d++)
        fits = d == axis || same_extent(infer, type->dims[d], first->dims[d]);
    return fits;
}

/* A sum of parameters that may equal the given extent is checked once they have values. */
static void take_unknown_extent(const tile_infer *infer, tile_type *draft, unsigned axis) {
    const tile_type *to = infer->given;
    if (to && to->rank == draft->rank && to->dims[axis] &&
        !tile_extents_differ(tile_function_context(infer->function), draft->dims[axis],
                             to->dims[axis]))
        draft->dims[axis] = to->dims[axis];
}

bool tile_infer_concat_arrays(tile_infer *infer) {
    unsigned count;
    const tile_value *values = segment(infer, TILE_OPERAND_src, &count);
    const tile_type *first = tile_value_type(infer->function, values[0]);
    const tile_attr *attr = attr_of(infer, TILE_ATTR_axis);
    int64_t axis = 0;
    if (!attr && !infer->has_attrs && infer->given) return result(infer, infer->given);
    if (!attr)
        return fail(infer,
                    "tiles and tensors need the axis along which they are concatenated: {axis = 0}",
                    NULL, "", NULL);
    if (!tile_expr_is_int(attr->expr, &axis) || axis < 0 || axis >= first->rank)
        return fail(infer, "the axis must be a constant, a dim of", first, "", NULL);
    tile_type draft = *first;
    for (unsigned i = 1; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, values[i]);
        if (!is_concatenated_along(infer, first, type, (unsigned)axis))
            return fail(infer, "the operands may differ in their extent along the axis only, not",
                        first, " and", type);
        draft.dims[axis] = sum_of(infer, draft.dims[axis], type->dims[axis]);
    }
    take_unknown_extent(infer, &draft, (unsigned)axis);
    return result(infer, get_result(infer, &draft));
}

bool tile_infer_scalar(tile_infer *infer) {
    const tile_type *from = type_of(infer, TILE_OPERAND_src);
    for (unsigned d = 0; d < from->rank; d++)
        if (from->dims[d]->kind == TILE_EXPR_INT && tile_type_dim(from, d) != 1)
            return fail(infer, "the operand must have one element, not", from,
                        "; combine its elements first, as in `scalar reduce_add(%t, axis = 0)`",
                        NULL);
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = from->scalar, .param = from->param};
    return result(infer, tile_type_get(tile_function_context(infer->function), &draft));
}
