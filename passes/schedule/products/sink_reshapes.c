/* Reshapes of products follow element-wise operations.
 *
 * The result of a transposed convolution is a slice of interleaved phases. An epilogue with merged
 * dims, as texts with few dims write it,
 *
 *     %r = reshape %slice : [n, k, d * h * w]
 *     %y = %r + (reshape %bias : [1, k, 1])
 *
 * would need coordinates of its own, so that the product would be stored before it. The operations
 * are computed in the dims of the slice, and their result is reshaped, which is a view:
 *
 *     %s = %slice + (reshape %bias : [1, k, 1, 1, 1])
 *     %y = reshape %s : [n, k, d * h * w]
 */
#include "passes/schedule/products/sink_reshapes.h"

#include <string.h>

#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"
#include "lib/support/scalar.h"

void sched_fold_reshapes(schedule *s) {
    tile_function *f = s->compute;
    unsigned count;
    tile_op *ops = tile_find_ops(f, TILE_OP_reshape, s->arena, &count);
    for (unsigned i = 0; i < count; i++) {
        const tile_value result = tile_op_result(f, ops[i], 0);
        tile_value src = tile_operand_src(f, ops[i]);
        const tile_op from = tile_value_def(f, src);
        if (!from.id || tile_op_opcode(f, from) != TILE_OP_reshape) continue;
        tile_builder b = tile_builder_before(f, ops[i]);
        b.loc = tile_op_loc(f, ops[i]);
        src = tile_operand_src(f, from);
        if (tile_value_type(f, src) != tile_value_type(f, result))
            src = tile_build_reshape(&b, src, TILE_NO_VALUE, tile_value_type(f, result));
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[result.id] = src;
        tile_replace_values(f, f->body, map);
        tile_erase_op(f, ops[i]);
    }
}

/* The type of `dims` with these elements. */
static const tile_type *with_element(schedule *s, const tile_type *dims, tile_value of) {
    tile_type draft = *dims;
    draft.scalar = sched_type(s, of)->scalar;
    draft.param = sched_type(s, of)->param;
    return tile_type_get(s->context, &draft);
}

static bool is_widening(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_cast || tile_op_at(f, op)->attr_count)
        return false;
    return tile_scalar_bytes(sched_type(s, tile_op_result(f, op, 0))->scalar) >
           tile_scalar_bytes(sched_type(s, tile_operand_src(f, op))->scalar);
}

/* Returns whether the reshape or window is of elements that are computed and then cast to a wider
 * type. */
static bool is_of_widened(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    const tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_reshape && (opcode != TILE_OP_window || tile_op_pads(f, op)))
        return false;
    const tile_op cast = tile_value_def(f, tile_operand_src(f, op));
    return is_widening(s, cast) && tile_value_def(f, tile_operand_src(f, cast)).id;
}

/* Widens elements after reshapes and windows, so that arrays that kernels exchange have the narrow
 * ones. */
static void widen_after_moves(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= is_of_widened(s, op);
    if (!found) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    tile_op *ops = NULL;
    size_t count = 0, capacity = 0;
    TILE_FOR_EACH_OP (f, op, f->body) {
        ops = tile_arena_grow(s->arena, ops, count, &capacity, sizeof *ops);
        ops[count++] = op;
    }
    for (size_t i = 0; i < count; i++) {
        const tile_op op = ops[i];
        if (!is_of_widened(s, op)) continue;
        const tile_value result = tile_op_result(f, op, 0), wide = tile_operand_src(f, op),
                         src = tile_operand_src(f, tile_value_def(f, wide));
        const tile_type *type = sched_type(s, result);
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[wide.id] = src;
        tile_builder b = tile_builder_before(f, op);
        b.loc = tile_op_loc(f, op);
        const tile_op copy = tile_clone_op(&b, op, map, f->value_count);
        const tile_value narrow = tile_op_result(f, copy, 0);
        tile_value_at(f, narrow)->type = with_element(s, type, src);
        const tile_value value = tile_build_cast(&b, narrow, type);
        map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[result.id] = value;
        tile_replace_values(f, f->body, map);
        tile_erase_op(f, op);
    }
}

/* ---------------------------------------------------------------------------------------------- */

enum { STEPS = 8 /* operations that are followed to arguments or products */ };

typedef struct sinking {
    schedule *s;
    tile_value
        *whole;   /* by value: the same elements with the dims of the slice; 0: there is none */
    size_t count; /* of values before */
} sinking;

/* The dims of a repeated operand, whose dims are 1 or those of `merged`, in the dims of `whole`.
 * False if one of the merged dims is not several of them. */
static bool split_dims(schedule *s, const tile_type *own, const tile_type *merged,
                       const tile_type *whole, tile_type *to) {
    unsigned next = 0;
    *to = *whole;
    for (unsigned d = 0; d < merged->rank; d++) {
        const int missing = (int)d - merged->rank + own->rank;
        const int64_t extent = sched_constant(sched_dim(s, merged, d));
        const bool repeated = missing < 0 || tile_expr_is(sched_dim(s, own, (unsigned)missing), 1);
        int64_t product = 1;
        while (next < whole->rank &&
               (product < extent || tile_expr_is(sched_dim(s, whole, next), 1))) {
            product *= sched_constant(sched_dim(s, whole, next));
            if (repeated) to->dims[next] = tile_expr_int(s->context, 1);
            next++;
        }
        if (product != extent || extent < 1) return false;
    }
    return next == whole->rank;
}

/* Returns whether the value is computed element by element of arguments and constants. */
static bool is_of_arguments(const schedule *s, tile_value value, unsigned steps) {
    const tile_function *f = s->compute;
    const tile_op op = tile_value_def(f, value);
    if (!op.id) return true;
    const tile_opcode opcode = tile_op_opcode(f, op);
    bool moves = opcode == TILE_OP_reshape || opcode == TILE_OP_broadcast ||
                 opcode == TILE_OP_transpose || opcode == TILE_OP_iota;
    if (!steps || (!moves && !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE))) return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (!is_of_arguments(s, tile_op_operand(f, op, i), steps - 1)) return false;
    return true;
}

/* A copy of the operation with these operands and dims. */
static tile_value copy_op(sinking *w, tile_builder *b, tile_op op, const tile_value *map,
                          const tile_type *dims) {
    tile_function *f = w->s->compute;
    const tile_op copy = tile_clone_op(b, op, (tile_value *)(uintptr_t)map, w->count);
    const tile_value result = tile_op_result(f, copy, 0);
    tile_value_at(f, result)->type = with_element(w->s, dims, result);
    return result;
}

/* The operand with these dims; none: it would have to be stored. */
static tile_value widen(sinking *w, tile_builder *b, tile_value value, const tile_type *dims,
                        unsigned steps) {
    schedule *s = w->s;
    tile_function *f = s->compute;
    const tile_type *type = sched_type(s, value);
    const tile_op op = tile_value_def(f, value);
    if (value.id < w->count && w->whole[value.id].id) return w->whole[value.id];
    if (type->kind != TILE_TYPE_TENSOR) return value;
    if (!op.id) return tile_build_reshape(b, value, TILE_NO_VALUE, with_element(s, dims, value));
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, w->count);
    const tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_splat) return copy_op(w, b, op, map, dims);
    if (opcode == TILE_OP_reshape && steps)
        return widen(w, b, tile_operand_src(f, op), dims, steps - 1);
    if (opcode != TILE_OP_broadcast) {
        if (!is_of_arguments(s, value, steps) || !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE))
            return TILE_NO_VALUE;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            const tile_value operand = tile_op_operand(f, op, i);
            if (!(map[operand.id] = widen(w, b, operand, dims, steps - 1)).id) return TILE_NO_VALUE;
        }
        return copy_op(w, b, op, map, dims);
    }
    const tile_value src = tile_operand_src(f, op);
    tile_type own;
    if (sched_type(s, src)->kind != TILE_TYPE_TENSOR || !is_of_arguments(s, src, steps) ||
        !split_dims(s, sched_type(s, src), type, dims, &own))
        return TILE_NO_VALUE;
    tile_value few = tile_build_reshape(b, src, TILE_NO_VALUE,
                                        with_element(s, tile_type_get(s->context, &own), src));
    return tile_build_broadcast(b, few, with_element(s, dims, src));
}

/* The dims of an operand that is a reshaped slice; NULL: none is, or they differ. */
static const tile_type *find_dims(const sinking *w, tile_op op) {
    const tile_function *f = w->s->compute;
    const tile_type *dims = NULL;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_value whole = w->whole[tile_op_operand(f, op, i).id];
        if (!whole.id) continue;
        const tile_type *own = sched_type(w->s, whole);
        if (dims && own->rank != dims->rank) return NULL;
        for (unsigned d = 0; dims && d < own->rank; d++)
            if (sched_dim(w->s, own, d) != sched_dim(w->s, dims, d)) return NULL;
        dims = own;
    }
    return dims;
}

static tile_value sink(sinking *w, tile_op op, const tile_type *dims) {
    tile_function *f = w->s->compute;
    tile_builder b = tile_builder_before(f, op);
    tile_value *map = TILE_NEW_ARRAY(w->s->arena, tile_value, w->count);
    b.loc = tile_op_loc(f, op);
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_value operand = tile_op_operand(f, op, i);
        const tile_value wide = widen(w, &b, operand, dims, STEPS);
        if (!wide.id) return TILE_NO_VALUE;
        map[operand.id] = wide;
    }
    return copy_op(w, &b, op, map, dims);
}

static bool has_reshaped_slice(schedule *s) {
    const tile_function *f = s->compute;
    bool found = false;
    TILE_FOR_EACH_OP (f, op, f->body)
        found = found || (tile_op_opcode(f, op) == TILE_OP_reshape &&
                          sched_is_sliced_product(s, tile_operand_src(f, op), STEPS));
    return found;
}

/* A result that is a reshape of such values is stored with their dims. */
static void sink_results(sinking *w, const bool *sunk) {
    schedule *s = w->s;
    tile_function *f = s->compute;
    sched_shape *declared = TILE_NEW_ARRAY(s->arena, sched_shape, f->result_count);
    bool any = false;
    if (s->declared || s->is_section) return;
    for (size_t i = 0; i < f->result_count; i++) {
        tile_result_decl *result = &f->results[i];
        const tile_op op = tile_value_def(f, result->value);
        bool plain = true;
        declared[i].type = result->type;
        for (unsigned d = 0; d < result->type->rank; d++) {
            plain &= !result->strides[d];
            if (result->strides[d]) declared[i].strides[d] = sched_resolved(s, result->strides[d]);
        }
        if (!plain || !op.id || tile_op_opcode(f, op) != TILE_OP_reshape) continue;
        const tile_value src = tile_operand_src(f, op);
        if (!sunk[src.id]) continue;
        any |= sched_type(s, src) != result->type;
        result->value = src;
        result->type = sched_type(s, src);
    }
    if (any) s->declared = declared;
}

/* Erases element-wise operations and moves of which nothing depends: users are counted later. */
static void erase_unused(schedule *s) {
    tile_function *f = s->compute;
    uint32_t *uses = tile_count_uses(f, s->arena);
    for (size_t i = 0; i < f->result_count; i++) uses[f->results[i].value.id]++;
    for (tile_op op = tile_region_at(f, f->body)->last, before; op.id; op = before) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        before = tile_op_at(f, op)->prev;
        if ((!tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) && !tile_opcode_moves(opcode) &&
             opcode != TILE_OP_reshape) ||
            tile_op_result_count(f, op) != 1 || uses[tile_op_result(f, op, 0).id])
            continue;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            uses[tile_op_operand(f, op, i).id]--;
        tile_erase_op(f, op);
    }
}

void sched_sink_reshapes(schedule *s) {
    widen_after_moves(s);
    if (!has_reshaped_slice(s)) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    sinking w = {.s = s, .count = f->value_count};
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, w.count);
    tile_op *old = NULL;
    size_t count = 0, capacity = 0;
    w.whole = TILE_NEW_ARRAY(s->arena, tile_value, w.count);
    TILE_FOR_EACH_OP (f, op, f->body) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        if (tile_op_result_count(f, op) != 1) continue;
        const tile_value result = tile_op_result(f, op, 0);
        if (result.id >= w.count) continue;
        if (opcode == TILE_OP_reshape) {
            const tile_value src = tile_operand_src(f, op);
            if (src.id >= w.count) continue;
            w.whole[result.id] = sched_is_sliced_product(s, src, STEPS) ? src : w.whole[src.id];
            continue;
        }
        const bool elementwise = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
        const tile_type *dims = elementwise ? find_dims(&w, op) : NULL;
        if (!dims || !(w.whole[result.id] = sink(&w, op, dims)).id) continue;
        if (is_widening(s, op)) continue; /* what is not sunk casts the reshaped elements */
        tile_builder b = tile_builder_before(f, op);
        b.loc = tile_op_loc(f, op);
        map[result.id] =
            tile_build_reshape(&b, w.whole[result.id], TILE_NO_VALUE, sched_type(s, result));
        old = tile_arena_grow(s->arena, old, count, &capacity, sizeof *old);
        old[count++] = op;
    }
    tile_value *all = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
    memcpy(all, map, w.count * sizeof *map);
    tile_replace_values(f, f->body, all);
    while (count) tile_erase_op(f, old[--count]);
    sched_fold_reshapes(s);
    erase_unused(s);
    bool *sunk = TILE_NEW_ARRAY(s->arena, bool, f->value_count);
    for (size_t i = 0; i < w.count; i++) sunk[w.whole[i].id] = w.whole[i].id != 0;
    sink_results(&w, sunk);
}
