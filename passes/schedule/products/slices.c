/* Moves slices and transposes to where they cost nothing.
 *
 * A reshape of a slice would copy the slice. A slice of a reshape is a view of the array:
 *
 *     reshape(slice %x, [0, h * 64] : [m, h * 64]) : [m, h, 64]
 *       ->  slice (reshape(%x) : [m, h * 3, 64]), [0, h, 0] : [m, h, 64]      %x has h * 192
 * columns
 *
 * A slice of a product would compute the whole product:
 *
 *     slice f16(matmul(%a, %b)), [0, n] : [m, n]
 *       ->  f16(matmul(%a, slice %b, [0, n] : [k, n]))
 *
 * So does each of two slices whose elements meet, as of a gated linear unit whose weights are in
 * one array: the kernel of a dual product computes both (cut/dual.c).
 *
 * A transpose of a product is a product of exchanged operands:
 *
 *     transpose(f16(matmul(%a, %b)))  ->  f16(matmul(%b, %a, trans_lhs, trans_rhs))
 *
 * The pass changes a copy of the compute, because the compute is the reference for what is
 * generated from it. */
#include "passes/schedule/products/slices.h"

#include <string.h>

#include "lib/ir/syntax.h"

/* A dim of a slice, and the whole dim that it is a part of. */
typedef struct part_dim {
    const tile_expr *whole, *first, *extent;
} part_dim;

typedef struct part_dims {
    unsigned rank;
    part_dim at[TILE_MAX_RANK];
} part_dims;

static bool is_opcode(const schedule *s, tile_value value, tile_opcode opcode) {
    tile_op op = tile_value_def(s->compute, value);
    return op.id && tile_op_opcode(s->compute, op) == opcode;
}

static const tile_expr *zero_of(const schedule *s) {
    return tile_expr_int(s->context, 0);
}

/* The dims of a slice, or of a slice of slices, and *source, which has no slice. Fails if a
 * coordinate is not a known expression. */
static bool read_slice(schedule *s, tile_op slice, part_dims *out, tile_value *source) {
    const tile_type *to = sched_type(s, tile_op_result(s->compute, slice, 0));
    out->rank = to->rank;
    for (unsigned d = 0; d < to->rank; d++)
        out->at[d] = (part_dim){NULL, zero_of(s), sched_dim(s, to, d)};
    *source = tile_op_result(s->compute, slice, 0);
    while (is_opcode(s, *source, TILE_OP_slice)) {
        tile_op op = tile_value_def(s->compute, *source);
        const tile_values first = tile_operands_first(s->compute, op);
        *source = tile_operand_src(s->compute, op);
        for (unsigned d = 0; d < to->rank; d++) {
            const tile_expr *at = tile_value_at(s->compute, first.at[d])->expr;
            if (!at) return false;
            at = sched_resolved(s, at);
            out->at[d].first =
                tile_expr_is(out->at[d].first, 0)
                    ? at
                    : tile_expr_op(s->context, TILE_OP_add, at, out->at[d].first, NULL);
            out->at[d].whole = sched_dim(s, sched_type(s, *source), d);
        }
    }
    return true;
}

static bool is_whole(const part_dim *dim) {
    return dim->whole == dim->extent && tile_expr_is(dim->first, 0);
}

static bool is_same(const part_dims *a, const part_dims *b) {
    bool same = a->rank == b->rank;
    for (unsigned d = 0; d < a->rank && same; d++)
        same = a->at[d].whole == b->at[d].whole && a->at[d].extent == b->at[d].extent;
    return same;
}

/* Reshapes ------------------------------------------------------------------------------------- */

/* The number of dims of `type`, from `begin` on, whose extents multiply to `whole`; 0: none.
 * *inner: the product of all of them but the first. */
static unsigned count_factors(schedule *s, const tile_expr *const *dims, unsigned begin,
                              unsigned end, const tile_expr *whole, const tile_expr **inner) {
    const tile_expr *rest = whole;
    for (unsigned d = begin; d < end; d++) {
        const tile_expr *left = sched_without(s, rest, dims[d]);
        if (d == begin) *inner = left;
        rest = left;
        if (!rest) return 0;
        if (tile_expr_is(rest, 1)) return d - begin + 1;
    }
    return 0;
}

static const tile_expr *divided(schedule *s, const tile_expr *number, const tile_expr *by) {
    return tile_expr_is(number, 0) ? number : sched_without(s, number, by);
}

static bool add_dim(part_dims *dims, const tile_expr *whole, const tile_expr *first,
                    const tile_expr *extent) {
    if (!whole || !first || dims->rank == TILE_MAX_RANK) return false;
    dims->at[dims->rank++] = (part_dim){whole, first, extent};
    return true;
}

/* One dim of the slice becomes several: the first of these is sliced. */
static bool split_dim(schedule *s, const part_dim *from, const tile_expr *const *to, unsigned count,
                      const tile_expr *inner, part_dims *out) {
    const tile_expr *whole = is_whole(from) ? to[0] : sched_without(s, from->whole, inner);
    bool ok = add_dim(out, whole, divided(s, from->first, inner), to[0]);
    for (unsigned i = 1; i < count && ok; i++) ok = add_dim(out, to[i], zero_of(s), to[i]);
    return ok;
}

/* Several dims of the slice become one. All but the first of them must be whole. */
static bool merge_dims(schedule *s, const part_dim *from, unsigned count, const tile_expr *inner,
                       const tile_expr *extent, part_dims *out) {
    for (unsigned i = 1; i < count; i++)
        if (!is_whole(&from[i])) return false;
    const tile_expr *first = tile_expr_is(from->first, 0)
                                 ? from->first
                                 : tile_expr_multiply(s->context, from->first, inner);
    return add_dim(out, tile_expr_multiply(s->context, from->whole, inner), first, extent);
}

typedef struct matching {
    const part_dims *from;
    const tile_expr *extents[TILE_MAX_RANK]; /* of `from` */
    const tile_expr *to[TILE_MAX_RANK];
    unsigned to_rank, i, j;
} matching;

/* Matches dims with extent 1. Returns whether there was one. */
static bool match_one(matching *m, part_dims *out, bool *ok) {
    bool from = m->i < m->from->rank && tile_expr_is(m->extents[m->i], 1);
    if (from) {
        const part_dim *dim = &m->from->at[m->i++];
        if (!tile_expr_is(dim->whole, 1)) *ok = add_dim(out, dim->whole, dim->first, dim->extent);
        return true;
    }
    if (m->j == m->to_rank || !tile_expr_is(m->to[m->j], 1)) return false;
    m->j++;
    return true;
}

static bool match_dims(schedule *s, matching *m, part_dims *out) {
    const part_dim *from = &m->from->at[m->i];
    const tile_expr *inner = NULL, *extent = m->to[m->j];
    unsigned count;
    if (m->extents[m->i] == extent) {
        m->i++;
        m->j++;
        return add_dim(out, from->whole, from->first, extent);
    }
    count = count_factors(s, m->to, m->j, m->to_rank, from->extent, &inner);
    if (count) {
        m->i++;
        m->j += count;
        return split_dim(s, from, m->to + m->j - count, count, inner, out);
    }
    count = count_factors(s, m->extents, m->i, m->from->rank, extent, &inner);
    m->i += count;
    m->j++;
    return count && merge_dims(s, from, count, inner, extent, out);
}

/* *out: the dims of the slice after the reshape to `to`, without those of extent 1 that are whole.
 * Fails if the slice then is not a slice along each dim. */
static bool reshape_part(schedule *s, const part_dims *from, const tile_type *to, part_dims *out) {
    matching m = {.from = from, .to_rank = to->rank};
    bool ok = true;
    out->rank = 0;
    for (unsigned d = 0; d < to->rank; d++) m.to[d] = sched_dim(s, to, d);
    for (unsigned d = 0; d < from->rank; d++) m.extents[d] = from->at[d].extent;
    while (ok && (m.i < from->rank || m.j < to->rank)) {
        if (match_one(&m, out, &ok)) continue;
        ok = m.i < from->rank && m.j < to->rank && match_dims(s, &m, out);
    }
    return ok && out->rank;
}

/* Building ------------------------------------------------------------------------------------- */

static const tile_type *whole_type(schedule *s, const tile_type *like, const part_dims *dims,
                                   bool part) {
    tile_type draft = *like;
    for (unsigned d = 0; d < TILE_MAX_RANK; d++) draft.dims[d] = NULL;
    draft.rank = (uint8_t)dims->rank;
    for (unsigned d = 0; d < dims->rank; d++)
        draft.dims[d] = part ? dims->at[d].extent : dims->at[d].whole;
    return tile_type_get(s->context, &draft);
}

static tile_value build_slice(schedule *s, tile_builder *b, tile_value value,
                              const part_dims *dims) {
    const tile_type *i32 = tile_type_scalar(s->context, TILE_i32);
    const tile_type *to = whole_type(s, sched_type(s, value), dims, true);
    tile_value first[TILE_MAX_RANK];
    for (unsigned d = 0; d < dims->rank; d++)
        first[d] = tile_function_constant(s->compute, i32, dims->at[d].first);
    return tile_build_slice(b, value, first, dims->rank, TILE_NO_VALUE, to);
}

static tile_value build_reshape(schedule *s, tile_builder *b, tile_value value,
                                const tile_type *to) {
    if (sched_type(s, value) == to) return value;
    return tile_build_reshape(b, value, TILE_NO_VALUE, to);
}

/* A value that is in memory anyway: an argument, or one that is computed element by element from a
 * product, or reshaped. */
static bool is_stored(const schedule *s, tile_value value, bool *visited) {
    const tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    if (!op.id) return true;
    if (visited[value.id]) return false;
    visited[value.id] = true;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_matmul) return true;
    bool follows = opcode == TILE_OP_reshape || tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        tile_value from = tile_op_operand(f, op, i);
        found |= follows && tile_value_def(f, from).id && is_stored(s, from, visited);
    }
    return found;
}

/* Returns the slice of a reshape that equals this reshape of a slice; no value if it is none. */
static tile_value move_before_reshape(schedule *s, tile_op op) {
    tile_function *f = s->compute;
    part_dims from, to;
    if (tile_op_opcode(f, op) != TILE_OP_reshape) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(f, op), whole;
    if (!is_opcode(s, src, TILE_OP_slice)) return TILE_NO_VALUE;
    const tile_type *type = sched_type(s, tile_op_result(f, op, 0));
    if (!read_slice(s, tile_value_def(f, src), &from, &whole) ||
        !is_stored(s, whole, TILE_NEW_ARRAY(s->arena, bool, f->value_count)) ||
        !reshape_part(s, &from, type, &to) || is_same(&from, &to))
        return TILE_NO_VALUE;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    whole = build_reshape(s, &b, whole, whole_type(s, type, &to, false));
    return build_reshape(s, &b, build_slice(s, &b, whole, &to), type);
}

/* Products ------------------------------------------------------------------------------------- */

/* The slice's part of the product's operand: along batches and along m or n. */
static tile_value slice_operand(schedule *s, tile_builder *b, tile_op product, unsigned index,
                                const part_dims *result) {
    tile_value value = tile_op_operand(s->compute, product, index);
    const tile_type *type = sched_type(s, value);
    bool transposed =
        tile_op_has_attr(s->compute, product, index ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
    unsigned own = index == transposed ? type->rank - 2u : type->rank - 1u;
    part_dims part = {.rank = type->rank};
    bool whole = true;
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *extent = sched_dim(s, type, d);
        const part_dim *at =
            &result->at[d == own ? result->rank - 2u + index : result->rank - type->rank + d];
        bool sliced = d == own || (d + 2u < type->rank && !tile_expr_is(extent, 1));
        part.at[d] = sliced ? (part_dim){extent, at->first, at->extent}
                            : (part_dim){extent, zero_of(s), extent};
        whole &= is_whole(&part.at[d]);
    }
    return whole ? value : build_slice(s, b, value, &part);
}

/* Copies the operation with other operands; its result gets the dims of the type `to`. */
static tile_op clone_as(schedule *s, tile_builder *b, tile_op op, const tile_value *operands,
                        const tile_type *to) {
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->value_count);
    tile_op copy = tile_clone_op(b, op, map, s->compute->value_count);
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        tile_op_at(s->compute, copy)->operands[i] = operands[i];
    tile_value_data *result = tile_value_at(s->compute, tile_op_result(s->compute, copy, 0));
    tile_type draft = *to;
    draft.scalar = result->type->scalar;
    draft.param = result->type->param;
    result->type = tile_type_get(s->context, &draft);
    return copy;
}

/* A product, and the casts that follow it. */
typedef struct cast_product {
    tile_op op, casts[4]; /* op 0: none; the last cast first */
    unsigned count;
} cast_product;

/* The product from which only casts compute the value; none if it is needed elsewhere. count: of
 * the value's uses. */
static cast_product find_product(const schedule *s, tile_value value, const uint32_t *uses,
                                 unsigned count) {
    cast_product p = {.count = 0};
    for (; p.count < 4 && is_opcode(s, value, TILE_OP_cast) && uses[value.id] == count;
         value = tile_operand_src(s->compute, p.casts[p.count - 1])) {
        p.casts[p.count++] = tile_value_def(s->compute, value);
        count = 1;
    }
    if (is_opcode(s, value, TILE_OP_matmul) && uses[value.id] == count)
        p.op = tile_value_def(s->compute, value);
    return p;
}

/* Returns whether an element-wise operation has operands that are computed element by element from
 * one slice, and others from the other slice. */
static bool meet(const schedule *s, tile_op one, tile_op other) {
    const tile_function *f = s->compute;
    enum { ONE = 1, OTHER = 2 };
    unsigned char *from = TILE_NEW_ARRAY(s->arena, unsigned char, f->value_count);
    from[tile_op_result(f, one, 0).id] = ONE;
    from[tile_op_result(f, other, 0).id] = OTHER;
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (!tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_ELEMENTWISE)) continue;
        unsigned all = 0;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            all |= from[tile_op_operand(f, op, i).id];
        if (all == (ONE | OTHER)) return true;
        from[tile_op_result(f, op, 0).id] |= (unsigned char)all;
    }
    return false;
}

/* Returns whether the value's only other use is a slice of other columns, as many, and both meet.
 */
static bool is_half(schedule *s, tile_op slice, const part_dims *part, tile_value value,
                    const uint32_t *uses) {
    const unsigned last = part->rank - 1u;
    if (uses[value.id] != 2 || is_whole(&part->at[last])) return false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        part_dims other;
        tile_value whole;
        if (op.id == slice.id || tile_op_opcode(s->compute, op) != TILE_OP_slice ||
            tile_operand_src(s->compute, op).id != value.id || !read_slice(s, op, &other, &whole) ||
            whole.id != value.id)
            continue;
        bool alike = other.at[last].extent == part->at[last].extent &&
                     other.at[last].first != part->at[last].first;
        for (unsigned d = 0; d < last; d++)
            alike &= is_whole(&other.at[d]) && is_whole(&part->at[d]);
        return alike && meet(s, slice, op);
    }
    return false;
}

/* Builds the product of other operands, with the same casts and the dims of the type `to`. */
static tile_op build_product(schedule *s, tile_builder *b, const cast_product *p,
                             const tile_value *operands, const tile_type *to, tile_value *result) {
    tile_op product = clone_as(s, b, p->op, operands, to);
    *result = tile_op_result(s->compute, product, 0);
    for (unsigned i = p->count; i-- > 0;)
        *result = tile_op_result(s->compute, clone_as(s, b, p->casts[i], result, to), 0);
    return product;
}

static tile_builder builder_at(const schedule *s, tile_op op, tile_op product) {
    tile_builder b = tile_builder_before(s->compute, op);
    b.loc = tile_op_loc(s->compute, product);
    return b;
}

/* The part of a value that a slice takes, computed element by element from parts of what the value
 * is computed from. */
typedef struct sliced {
    schedule *s;
    tile_builder b;
    const part_dims *part;
    const uint32_t *uses;
} sliced;

enum { MAX_COMPUTED = 8 }; /* operations between a product and a slice */

static bool is_computed(const schedule *s, tile_value value, const uint32_t *uses, unsigned count) {
    tile_op op = tile_value_def(s->compute, value);
    return op.id && uses[value.id] == count &&
           tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE);
}

/* The product that the value is computed from element by element; none if a value on the way is
 * needed elsewhere. count: of the value's uses. */
static tile_op find_sliced_product(const schedule *s, tile_value value, const uint32_t *uses,
                                   unsigned count, unsigned depth) {
    const cast_product p = find_product(s, value, uses, count);
    tile_op found = p.op, op = tile_value_def(s->compute, value);
    if (found.id || !depth || !is_computed(s, value, uses, count)) return found;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op) && !found.id; i++)
        found = find_sliced_product(s, tile_op_operand(s->compute, op, i), uses, 1, depth - 1);
    return found;
}

static tile_value slice_value(sliced *w, tile_value value, unsigned count, unsigned depth);

static tile_value slice_product(sliced *w, const cast_product *p, const tile_type *to) {
    tile_value operands[2], value;
    for (unsigned i = 0; i < 2; i++) operands[i] = slice_operand(w->s, &w->b, p->op, i, w->part);
    build_product(w->s, &w->b, p, operands, to, &value);
    return value;
}

/* The part of a value whose dims are the last ones of the sliced value; some may have extent 1. */
static tile_value slice_array(sliced *w, tile_value value) {
    const tile_type *type = sched_type(w->s, value);
    part_dims part = {.rank = type->rank};
    bool whole = true;
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *extent = sched_dim(w->s, type, d);
        part.at[d] = tile_expr_is(extent, 1) ? (part_dim){extent, zero_of(w->s), extent}
                                             : w->part->at[d + w->part->rank - type->rank];
        whole &= is_whole(&part.at[d]);
    }
    return whole ? value : build_slice(w->s, &w->b, value, &part);
}

static tile_value slice_value(sliced *w, tile_value value, unsigned count, unsigned depth) {
    schedule *s = w->s;
    if (sched_type(s, value)->kind != TILE_TYPE_TENSOR) return value;
    const tile_type *to = whole_type(s, sched_type(s, value), w->part, true);
    const cast_product p = find_product(s, value, w->uses, count);
    tile_op op = tile_value_def(s->compute, value);
    if (p.op.id) return slice_product(w, &p, to);
    if (op.id && tile_op_opcode(s->compute, op) == TILE_OP_broadcast) {
        tile_value src = slice_value(w, tile_operand_src(s->compute, op), 1, 0);
        return tile_op_result(s->compute, clone_as(s, &w->b, op, &src, to), 0);
    }
    if (!find_sliced_product(s, value, w->uses, count, depth).id) return slice_array(w, value);
    const unsigned operand_count = tile_op_operand_count(s->compute, op);
    tile_value *operands = TILE_NEW_ARRAY(s->arena, tile_value, operand_count + 1);
    for (unsigned i = 0; i < operand_count; i++)
        operands[i] = slice_value(w, tile_op_operand(s->compute, op, i), 1, depth - 1);
    return tile_op_result(s->compute, clone_as(s, &w->b, op, operands, to), 0);
}

/* Returns what equals this slice of a product, or of what is computed from one element by element,
 * and computes nothing else; no value if it is no such slice. */
static tile_value move_before_product(schedule *s, tile_op op, const uint32_t *uses) {
    part_dims part;
    tile_value value;
    if (tile_op_opcode(s->compute, op) != TILE_OP_slice || !read_slice(s, op, &part, &value))
        return TILE_NO_VALUE;
    const unsigned count = is_half(s, op, &part, value, uses) ? 2 : 1;
    tile_op product = find_sliced_product(s, value, uses, count, MAX_COMPUTED);
    if (!product.id) return TILE_NO_VALUE;
    sliced w = {s, builder_at(s, op, product), &part, uses};
    return slice_value(&w, value, count, MAX_COMPUTED);
}

static bool exchanges_last_dims(const schedule *s, tile_op transpose) {
    const tile_attr *order = tile_op_attr(s->compute, transpose, TILE_ATTR_order);
    unsigned rank = sched_type(s, tile_op_result(s->compute, transpose, 0))->rank;
    bool others = true;
    for (unsigned d = 0; order && d + 2 < rank; d++) others &= order->list[d] == (int64_t)d;
    return rank >= 2 && others && (!order || order->list[rank - 2] == (int64_t)rank - 1);
}

/* Returns whether the value, or a cast of it, is a result. */
static bool is_result(const schedule *s, tile_value value) {
    bool found = false;
    for (size_t i = 0; i < s->compute->result_count; i++) {
        tile_value result = s->compute->results[i].value;
        while (result.id != value.id && is_opcode(s, result, TILE_OP_cast))
            result = tile_operand_src(s->compute, tile_value_def(s->compute, result));
        found |= result.id == value.id;
    }
    return found;
}

static void set_flag(tile_function *f, tile_op op, tile_attr_id id, bool holds) {
    tile_op_remove_attr(f, op, id);
    if (holds) tile_op_set_flag(f, op, id);
}

/* Returns the product of exchanged operands that equals this transpose of a product, which is a
 * result; no value if it is none, or if attributes describe the product's tiles. */
static tile_value exchange_operands(schedule *s, tile_op op, const uint32_t *uses) {
    tile_function *f = s->compute;
    tile_value result;
    if (tile_op_opcode(f, op) != TILE_OP_transpose || !exchanges_last_dims(s, op) ||
        !is_result(s, tile_op_result(f, op, 0)))
        return TILE_NO_VALUE;
    const cast_product p = find_product(s, tile_operand_src(f, op), uses, 1);
    if (!p.op.id) return TILE_NO_VALUE;
    bool lhs = tile_op_has_attr(f, p.op, TILE_ATTR_trans_lhs),
         rhs = tile_op_has_attr(f, p.op, TILE_ATTR_trans_rhs);
    if (tile_op_at(f, p.op)->attr_count != (unsigned)lhs + rhs) return TILE_NO_VALUE;
    const tile_value operands[] = {tile_operand_rhs(f, p.op), tile_operand_lhs(f, p.op)};
    tile_builder b = builder_at(s, op, p.op);
    tile_op made =
        build_product(s, &b, &p, operands, sched_type(s, tile_op_result(f, op, 0)), &result);
    set_flag(f, made, TILE_ATTR_trans_lhs, !rhs);
    set_flag(f, made, TILE_ATTR_trans_rhs, !lhs);
    return result;
}

/* Returns whether the operation is one of those that are written anew. */
static bool is_moved(const schedule *s, tile_op op) {
    const tile_opcode opcode = tile_op_opcode(s->compute, op);
    return tile_op_result_count(s->compute, op) == 1 &&
           (opcode == TILE_OP_slice || opcode == TILE_OP_broadcast || opcode == TILE_OP_matmul ||
            tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE));
}

/* Erases the operation, and those whose only use it was. */
static void erase(schedule *s, tile_op op, uint32_t *uses) {
    const unsigned count = tile_op_operand_count(s->compute, op);
    tile_value *operands = TILE_NEW_ARRAY(s->arena, tile_value, count + 1);
    for (unsigned i = 0; i < count; i++) operands[i] = tile_op_operand(s->compute, op, i);
    tile_erase_op(s->compute, op);
    for (unsigned i = 0; i < count; i++) {
        tile_op def = tile_value_def(s->compute, operands[i]);
        if (!--uses[operands[i].id] && def.id && is_moved(s, def)) erase(s, def, uses);
    }
}

static tile_value move(schedule *s, tile_op op, const uint32_t *uses) {
    tile_value moved = move_before_reshape(s, op);
    if (!moved.id) moved = move_before_product(s, op, uses);
    return moved.id ? moved : exchange_operands(s, op, uses);
}

static bool has_moves(const schedule *s) {
    bool moves = false, product = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        moves |= opcode == TILE_OP_slice || opcode == TILE_OP_transpose;
        product |= opcode == TILE_OP_matmul;
    }
    return moves && product;
}

void sched_move_slices(schedule *s) {
    if (!has_moves(s)) return;
    const tile_function *before = s->compute;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    bool found = false;
    uint32_t count = (uint32_t)f->op_count, *uses = tile_count_uses(f, s->arena);
    for (uint32_t id = 1; id < count; id++) {
        tile_value to = f->ops[id].opcode ? move(s, (tile_op){id}, uses) : TILE_NO_VALUE;
        if (!to.id) continue;
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[tile_op_result(f, (tile_op){id}, 0).id] = to;
        tile_replace_values(f, f->body, map);
        erase(s, (tile_op){id}, tile_count_uses(f, s->arena));
        uses = tile_count_uses(f, s->arena);
        found = true;
    }
    if (!found) s->compute = (tile_function *)(uintptr_t)before;
}
