/* Scans that are written as scans of chunks, to which the scanned totals of the chunks are added:
 *
 *     %rows   = reshape(%x) : [m, c, b]                          %x: [m, c * b]
 *     %totals = reshape(reduce_add(reshape(%x) : [m * c, b], axis = 1)) : [m, c]
 *     %before = reshape(scan_add(%totals, axis = 1, exclusive)) : [m, c, 1]
 *     scan_add(%rows, axis = 2) + %before    ->    reshape(scan_add(%x, axis = 1)) : [m, c, b]
 *
 * %x may be computed twice, by the same element-wise operations of the same arrays. */
#include "passes/schedule/cut/scans.h"

#include "lib/ir/arith.h"

/* Shapes --------------------------------------------------------------------------------------- */

static const tile_type *with_dims(const schedule *s, tile_value value, const tile_type *dims) {
    tile_type draft = *sched_type(s, value);
    draft.rank = dims->rank;
    for (unsigned d = 0; d < TILE_MAX_RANK; d++)
        draft.dims[d] = d < dims->rank ? dims->dims[d] : NULL;
    return tile_type_get(s->context, &draft);
}

static bool is_elementwise(const schedule *s, tile_op op) {
    return op.id && tile_op_opcode(s->compute, op) != TILE_OP_splat &&
           tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE);
}

static tile_value reshaped(schedule *s, tile_builder *b, tile_value value, const tile_type *dims,
                           unsigned depth);

/* The element-wise operation of reshaped operands. */
static tile_value reshaped_operation(schedule *s, tile_builder *b, tile_op op,
                                     const tile_type *dims, unsigned depth) {
    tile_function *f = s->compute;
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
    size_t count = f->value_count;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value from = tile_op_operand(f, op, i);
        if (sched_is_tensor(s, from) && !map[from.id].id)
            map[from.id] = reshaped(s, b, from, dims, depth);
    }
    tile_value made = tile_op_result(f, tile_clone_op(b, op, map, count), 0);
    tile_value_at(f, made)->type = with_dims(s, made, dims);
    return made;
}

/* The elements of the value in another shape. Reshapes of arguments are views; so element-wise
 * operations are repeated for them. */
static tile_value reshaped(schedule *s, tile_builder *b, tile_value value, const tile_type *dims,
                           unsigned depth) {
    const tile_type *type = with_dims(s, value, dims);
    tile_op op;
    for (tile_value at = value;; at = tile_operand_src(s->compute, op)) {
        if (sched_type(s, at) == type) return at;
        op = scans_def(s, at, TILE_OP_reshape);
        if (op.id) continue;
        op = tile_value_def(s->compute, at);
        if (op.id && tile_op_opcode(s->compute, op) == TILE_OP_splat)
            return tile_build_splat(b, tile_operand_src(s->compute, op), type);
        if (depth && is_elementwise(s, op)) return reshaped_operation(s, b, op, dims, depth - 1);
        return tile_build_reshape(b, at, TILE_NO_VALUE, type);
    }
}

static tile_value without_reshapes(const schedule *s, tile_value value) {
    tile_op op;
    while ((op = scans_def(s, value, TILE_OP_reshape)).id) value = tile_operand_src(s->compute, op);
    return value;
}

/* Returns whether all dims after this one have one element. */
static bool is_last(schedule *s, const tile_type *type, unsigned axis) {
    for (unsigned d = axis + 1; d < type->rank; d++)
        if (!tile_expr_is(sched_dim(s, type, d), 1)) return false;
    return axis < type->rank;
}

/* Totals --------------------------------------------------------------------------------------- */

/* The tensor [.., c, 1] that the value repeats for all elements of chunks [.., c, b]. */
static tile_value repeated(schedule *s, tile_value value) {
    const tile_type *to = sched_type(s, value);
    tile_op op = scans_def(s, value, TILE_OP_broadcast);
    if (!op.id || to->rank < 2) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(s->compute, op);
    const tile_type *from = sched_type(s, src);
    if (from->rank != to->rank || !tile_expr_is(sched_dim(s, from, to->rank - 1), 1))
        return TILE_NO_VALUE;
    for (unsigned d = 0; d + 1 < to->rank; d++)
        if (sched_dim(s, from, d) != sched_dim(s, to, d)) return TILE_NO_VALUE;
    return src;
}

/* Returns whether the value is the exclusive scan of the totals of the chunks of `scan`. */
static bool is_before(schedule *s, tile_value value, tile_op scan, const scan_traits *chunks) {
    const tile_function *f = s->compute;
    scan_traits outer;
    tile_value elements = tile_operand_src(f, scan);
    const tile_type *type = sched_type(s, elements);
    value = without_reshapes(s, value);
    tile_op op = scans_def(s, value, TILE_OP_scan);
    if (!op.id || !scans_read(s, op, &outer) || !outer.exclusive || outer.kind != chunks->kind ||
        outer.reverse != chunks->reverse || !is_last(s, sched_type(s, value), outer.axis) ||
        sched_dim(s, sched_type(s, value), outer.axis) != sched_dim(s, type, type->rank - 2))
        return false;
    op = scans_def(s, without_reshapes(s, tile_operand_src(f, op)), TILE_OP_reduce);
    if (!op.id || tile_op_word(f, op, TILE_ATTR_kind) != chunks->kind ||
        tile_op_has_attr(f, op, TILE_ATTR_nan))
        return false;
    tile_value src = tile_operand_src(f, op);
    const tile_type *rows = sched_type(s, src);
    int64_t axis = sched_axis(s, op);
    return axis >= 0 && is_last(s, rows, (unsigned)axis) &&
           sched_dim(s, rows, (unsigned)axis) == sched_dim(s, type, type->rank - 1) &&
           scans_same_elements(s, src, elements);
}

static tile_value whole_scan(schedule *s, tile_op at, tile_op scan, const scan_traits *chunks) {
    enum { DEPTH = 16 };
    tile_value elements = tile_operand_src(s->compute, scan);
    tile_type dims = *sched_type(s, elements);
    unsigned last = dims.rank - 1;
    scan_traits traits = *chunks;
    dims.dims[last - 1] =
        tile_expr_multiply(s->context, sched_dim(s, &dims, last - 1), sched_dim(s, &dims, last));
    dims.dims[last] = NULL;
    dims.rank = last;
    traits.axis = last - 1;
    tile_builder b = scans_builder(s, at);
    tile_value src = reshaped(s, &b, elements, &dims, DEPTH);
    tile_value all = scans_build(s, &b, scan, src, &traits);
    if (!all.id) return all;
    return tile_build_reshape(&b, all, TILE_NO_VALUE,
                              sched_type(s, tile_op_result(s->compute, at, 0)));
}

tile_value scans_from_chunks(schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    scan_traits chunks;
    if (tile_op_operand_count(f, op) != 2 || tile_op_result_count(f, op) != 1) return TILE_NO_VALUE;
    for (unsigned i = 0; i < 2; i++) {
        tile_op scan = scans_def(s, tile_op_operand(f, op, i), TILE_OP_scan);
        if (!scan.id || !scans_read(s, scan, &chunks) ||
            tile_kind_opcode(chunks.kind) != tile_op_opcode(f, op) || tile_op_at(f, op)->attr_count)
            continue;
        tile_value before = repeated(s, tile_op_operand(f, op, 1 - i));
        unsigned rank = sched_type(s, tile_op_result(f, op, 0))->rank;
        if (before.id && chunks.axis + 1 == rank && is_before(s, before, scan, &chunks))
            return whole_scan(s, op, scan, &chunks);
    }
    return TILE_NO_VALUE;
}
