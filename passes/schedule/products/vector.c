/* Rewrites products of a matrix and a vector as reductions.
 *
 *     matmul %a[m, k], %x[k, 1]   becomes   reduce_add(%a * transpose(%x), axis = 1)
 *
 * A product's tile has at least 16 columns, of which a vector fills one. The other columns are
 * wasted, and one thread sums along k. A reduction instead distributes k over all threads of a
 * block, each with separate partial sums, and over several blocks.
 *
 * Products without a tensor core instruction for their elements are rewritten: those of f32 and
 * f64. Those of f16, bf16 and tf32 are rewritten if a kernel of the reduction reads the matrix as
 * fast as memory allows:
 *
 *   - rows of the matrix that are contiguous along k
 *   - windows, with positions as k: a depthwise convolution (windows/windows.c)
 *
 * Their elements are cast to f32, which is exact. Products that depend on other products, or that
 * others depend on, are unchanged, because an online loop may compute them together
 * (cut/classify.c). No online loop has windows. */
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

/* The operand with one row or column: 1 for rhs, 0 for lhs; -1: none. Types contain the extents as
 * written, so a parameter `m` whose given value is 1 does not count. */
static int find_single(const schedule *s, tile_op op) {
    const tile_type *result = sched_type(s, tile_op_result(s->compute, op, 0));
    if (tile_expr_is(result->dims[result->rank - 1u], 1)) return 1;
    return tile_expr_is(result->dims[result->rank - 2u], 1) ? 0 : -1;
}

/* Returns whether the value consists of windows, moved and cast. */
static bool has_windows(const schedule *s, tile_value value) {
    for (tile_op op; (op = tile_value_def(s->compute, value)).id;) {
        switch (tile_op_opcode(s->compute, op)) {
        case TILE_OP_window: return true;
        case TILE_OP_reshape:
        case TILE_OP_transpose:
        case TILE_OP_cast: value = tile_operand_src(s->compute, op); break;
        default: return false;
        }
    }
    return false;
}

/* The greatest number of positions in a window for which a thread sums them one by one. */
enum { MAX_POSITIONS = 128 };

/* Returns whether a reduction reads the matrix as fast as memory allows. */
static bool is_streamed(schedule *s, tile_op op, int vector) {
    tile_value matrix = tile_op_operand(s->compute, op, 1u - (unsigned)vector);
    const tile_type *type = sched_type(s, matrix);
    bool transposed =
        tile_op_has_attr(s->compute, op, vector ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs);
    bool last = vector ? !transposed : transposed; /* k is the last dim */
    int64_t terms = sched_constant(sched_dim(s, type, type->rank - (last ? 1u : 2u)));
    if (has_windows(s, matrix)) return terms > 0 && terms <= MAX_POSITIONS;
    return last && vector == 1;
}

/* The operand that is a vector: 1 for rhs, 0 for lhs; -1: none, or the product is not rewritten. */
static int find_vector(schedule *s, tile_op op) {
    tile_scalar element = sched_element(s, tile_operand_lhs(s->compute, op))->scalar;
    tile_scalar declared = sched_element(s, tile_op_result(s->compute, op, 0))->scalar;
    bool narrow = element == TILE_f16 || element == TILE_bf16 || element == TILE_tf32;
    int vector = find_single(s, op);
    if (vector < 0 || (!narrow && element != TILE_f32 && element != TILE_f64)) return -1;
    for (unsigned i = 0; i < 2; i++)
        if (sched_element(s, sched_multiplied(s, op, i))->scalar != element) return -1;
    bool is_f32_sum = declared == TILE_f32 || declared == TILE_f16 || declared == TILE_bf16;
    if (element == TILE_f64 ? declared != TILE_f64 : !is_f32_sum) return -1;
    tile_word precision = tile_op_word(s->compute, op, TILE_ATTR_precision);
    if (precision && precision != TILE_WORD_precision_ieee) return -1;
    tile_value matrix = tile_op_operand(s->compute, op, 1u - (unsigned)vector);
    if (has_user_tile(s->compute, op) || (!has_windows(s, matrix) && shares_dims(s, op))) return -1;
    return narrow && !is_streamed(s, op, vector) ? -1 : vector;
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

/* Elements narrower than f32 as f32. */
static tile_value widen(schedule *s, tile_builder *b, tile_value value) {
    tile_scalar element = sched_element(s, value)->scalar;
    tile_type draft = *sched_type(s, value);
    if (element == TILE_f32 || element == TILE_f64) return value;
    draft.scalar = TILE_f32, draft.param = NULL;
    return tile_build_cast(b, value, tile_type_get(s->context, &draft));
}

/* Sums the product of the matrix and the vector along k, which is the same dim in both. */
static tile_value build(schedule *s, tile_op op, unsigned vector) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    const tile_type *result = sched_type(s, tile_op_result(f, op, 0));
    bool transposed[] = {tile_op_has_attr(f, op, TILE_ATTR_trans_lhs),
                         tile_op_has_attr(f, op, TILE_ATTR_trans_rhs)};
    tile_value matrix = tile_op_operand(f, op, 1 - vector), x = tile_op_operand(f, op, vector);
    bool last = vector ? !transposed[0] : transposed[1]; /* k is the matrix's last dim */
    bool lies = vector ? transposed[1] : !transposed[0]; /* k is the vector's last dim */
    const tile_type *dims = sched_type(s, matrix);
    if (last != lies) x = transpose(s, &b, x);
    matrix = widen(s, &b, matrix), x = widen(s, &b, x);
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
