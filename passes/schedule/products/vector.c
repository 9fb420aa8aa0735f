/* Rewrites products of a matrix and a vector as reductions.
 *
 *     matmul %a[m, k], %x[k, 1]   becomes   reduce_add(%a * transpose(%x), axis = 1)
 *
 * A product's tile has at least 16 columns, of which a vector fills one. The other columns are
 * wasted, and one thread sums along k. A reduction instead distributes k over all threads of a
 * block, each with separate partial sums, and over several blocks. Products without a tensor core
 * instruction for their elements are rewritten: those of f32 and f64. So are those of 16-bit floats
 * and tf32 with a vector [k, 1], whose elements a product would copy one by one (H200, f16[2048,
 * 1048576]: 2127 us, PyTorch 1068). Products that depend on other products, or that others depend
 * on, are unchanged, because an online loop may compute them together (cut/classify.c). */
#include "passes/schedule/products/vector.h"

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"

static bool is_product(const schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op) == TILE_OP_matmul;
}

/* Returns whether another product depends on this one, or this one on another. */
static bool shares_dims(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    bool *before = TILE_NEW_ARRAY(s->arena, bool, f->value_count); /* depends on a product */
    bool *depends_on_product = TILE_NEW_ARRAY(s->arena, bool, f->value_count); /* on this one */
    bool together = false;
    TILE_FOR_EACH_OP_INSIDE (f, at, f->body) {
        bool any = false, own = false;
        for (unsigned i = 0; i < tile_op_operand_count(f, at); i++) {
            any |= before[tile_op_operand(f, at, i).id];
            own |= depends_on_product[tile_op_operand(f, at, i).id];
        }
        together |= (at.id == op.id && any) || (is_product(s, at) && own);
        for (unsigned i = 0; i < tile_op_result_count(f, at); i++) {
            before[tile_op_result(f, at, i).id] = any || is_product(s, at);
            depends_on_product[tile_op_result(f, at, i).id] = own || at.id == op.id;
        }
    }
    return together;
}

static bool has_user_tile(const tile_function *f, tile_op op) {
    static const tile_attr_id ids[] = {TILE_ATTR_tile,  TILE_ATTR_stages,   TILE_ATTR_warps,
                                       TILE_ATTR_split, TILE_ATTR_strategy, TILE_ATTR_raster};
    for (unsigned i = 0; i < sizeof ids / sizeof *ids; i++)
        if (tile_op_has_attr(f, op, ids[i])) return true;
    return false;
}

static bool is_narrow(tile_scalar element) {
    return element == TILE_f16 || element == TILE_bf16 || element == TILE_tf32;
}

/* Returns whether the product is that of a long row-major matrix [m, k] and a vector [k, 1] of
 * elements that tensor cores multiply. */
static bool is_column_vector(schedule *s, tile_op op) {
    enum { SHORTEST = 1024 };
    const tile_function *f = s->compute;
    const tile_type *lhs = sched_type(s, tile_operand_lhs(f, op)),
                    *rhs = sched_type(s, tile_operand_rhs(f, op));
    return !tile_op_has_attr(f, op, TILE_ATTR_trans_lhs) &&
           !tile_op_has_attr(f, op, TILE_ATTR_trans_rhs) &&
           tile_expr_is(rhs->dims[rhs->rank - 1u], 1) &&
           !tile_expr_is(lhs->dims[lhs->rank - 2u], 1) &&
           sched_constant(sched_dim(s, lhs, lhs->rank - 1u)) >= SHORTEST;
}

/* The operand that is a vector: 1 for rhs, 0 for lhs; -1: none. */
static int find_vector(schedule *s, tile_op op) {
    const tile_type *result = sched_type(s, tile_op_result(s->compute, op, 0));
    tile_scalar element = sched_element(s, tile_operand_lhs(s->compute, op))->scalar;
    bool narrow = is_narrow(element) && is_column_vector(s, op);
    bool computed = element == TILE_f32 || element == TILE_f64 || narrow;
    for (unsigned i = 0; i < 2; i++)
        computed &= sched_element(s, sched_multiplied(s, op, i))->scalar == element;
    tile_scalar declared = sched_element(s, tile_op_result(s->compute, op, 0))->scalar;
    computed &= declared == element || (narrow && declared == TILE_f32) ||
                (element == TILE_f32 && (declared == TILE_f16 || declared == TILE_bf16));
    tile_word precision = tile_op_word(s->compute, op, TILE_ATTR_precision);
    computed &= !precision || precision == TILE_WORD_precision_ieee;
    if (!computed || has_user_tile(s->compute, op) || shares_dims(s, op)) return -1;
    /* Types contain the extents as written, so a parameter `m` whose given value is 1 does not
     * count. */
    if (tile_expr_is(result->dims[result->rank - 1u], 1)) return 1;
    return tile_expr_is(result->dims[result->rank - 2u], 1) ? 0 : -1;
}

/* Building ------------------------------------------------------------------------------------- */

/* Exchanges the last two dims, one of which is 1. For an array, a reshape does not move elements; a
 * reshape of a computed value would store it first, so that case uses a transpose. */
static tile_value transpose(schedule *s, tile_builder *b, tile_value value) {
    tile_type draft = *sched_type(s, value);
    const tile_expr *last = draft.dims[draft.rank - 1];
    int64_t order[TILE_MAX_RANK];
    for (unsigned d = 0; d < draft.rank; d++) order[d] = d;
    order[draft.rank - 1] = draft.rank - 2;
    order[draft.rank - 2] = draft.rank - 1;
    draft.dims[draft.rank - 1] = draft.dims[draft.rank - 2];
    draft.dims[draft.rank - 2] = last;
    const tile_type *type = tile_type_get(s->context, &draft);
    if (!tile_value_def(s->compute, value).id)
        return tile_build_reshape(b, value, TILE_NO_VALUE, type);
    const tile_attr attr = {.id = TILE_ATTR_order, .list = order, .count = draft.rank};
    const tile_segment src = {value, NULL, 0};
    tile_op op = tile_build_op_of(b, TILE_OP_transpose, &src, 1, type, &attr, draft.rank > 2);
    return tile_op_result(s->compute, op, 0);
}

/* Broadcasts to the result's batches and the matrix's two dims. */
static tile_value repeat(schedule *s, tile_builder *b, tile_value value, const tile_type *result,
                         const tile_type *matrix) {
    tile_type draft = *sched_type(s, value);
    draft.rank = result->rank;
    for (unsigned d = 0; d < draft.rank; d++)
        draft.dims[d] =
            d + 2u < draft.rank ? result->dims[d] : matrix->dims[matrix->rank - draft.rank + d];
    const tile_type *type = tile_type_get(s->context, &draft);
    return type == sched_type(s, value) ? value : tile_build_broadcast(b, value, type);
}

/* The value as f32 if its elements are narrower. */
static tile_value widened(schedule *s, tile_builder *b, tile_value value) {
    if (!is_narrow(sched_element(s, value)->scalar)) return value;
    return tile_build_cast(b, value, tile_type_scalar(s->context, TILE_f32));
}

/* Sums the product of the matrix and the vector along k, which is the same dim in both. */
static tile_value build(schedule *s, tile_op op, unsigned vector) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    const tile_type *result = sched_type(s, tile_op_result(f, op, 0));
    bool transposed[] = {tile_op_has_attr(f, op, TILE_ATTR_trans_lhs),
                         tile_op_has_attr(f, op, TILE_ATTR_trans_rhs)};
    tile_value matrix = widened(s, &b, tile_op_operand(f, op, 1 - vector)),
               x = widened(s, &b, tile_op_operand(f, op, vector));
    bool last = vector ? !transposed[0] : transposed[1]; /* k is the matrix's last dim */
    bool lies = vector ? transposed[1] : !transposed[0]; /* k is the vector's last dim */
    const tile_type *dims = sched_type(s, matrix);
    if (last != lies) x = transpose(s, &b, x);
    tile_value products =
        tile_build_mul(&b, repeat(s, &b, matrix, result, dims), repeat(s, &b, x, result, dims));
    tile_value sums =
        sched_reduce(s, &b, products, last ? result->rank - 1u : result->rank - 2u, "add");
    if (last != (vector == 1)) sums = transpose(s, &b, sums);
    const tile_type *declared = tile_value_type(f, tile_op_result(f, op, 0));
    return tile_value_type(f, sums) == declared ? sums : tile_build_cast(&b, sums, declared);
}

void sched_reduce_vectors(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP_INSIDE (s->compute, op, s->compute->body)
        found |= is_product(s, op) && find_vector(s, op) >= 0;
    if (!found) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    unsigned count = (unsigned)f->op_count;
    for (uint32_t id = 1; id < count; id++) {
        tile_op op = {id};
        int vector = f->ops[id].opcode && is_product(s, op) ? find_vector(s, op) : -1;
        if (vector < 0) continue;
        tile_value to = build(s, op, (unsigned)vector);
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[tile_op_result(f, op, 0).id] = to;
        tile_replace_values(f, f->body, map);
        tile_erase_op(f, op);
    }
}
