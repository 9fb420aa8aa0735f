/* expand-dots: rewrites dots to plain 2-dimensional ones, without transposed operands or batches.
 *
 * A transposed operand becomes a `transpose`, which only renames registers; the load from shared
 * memory (ldmatrix, with or without .trans) absorbs it. A batch becomes a sequence of dots, each
 * with its own accumulator. A dot of f32 with `precision = bf16x3` or `bf16x6` becomes 3 or 6 dots
 * of bf16, the parts of its operands. Later passes handle none of these forms.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: expand-dots
 * before:
 *   kernel @gram(%a: view<f16[32, 64]>, %c: view<f32[64, 64]>) grid [1] warps 4 {
 *     %t = load %a[0, 0] : tile<f16[32, 64]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %sum = dot %t, %t, %zero {trans_lhs}
 *     store %sum, %c[0, 0]
 *   }
 * after:
 *   kernel @gram(%a: view<f16[32, 64]>, %c: view<f32[64, 64]>) grid [1] warps 4 {
 *     %t = load %a[0, 0] : tile<f16[32, 64]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %0 = transpose %t : tile<f16[64, 32]>
 *     %sum = dot %0, %t, %zero : tile<f32[64, 64]>
 *     store %sum, %c[0, 0]
 *   } */
#include "passes/common/replace_result.h"
#include "passes/expand/prepare.h"
#include "passes/pass.h"

static bool is_power_of_two(int64_t n) {
    return (n & (n - 1)) == 0;
}

/* A part of a buffer can be loaded if its extents are powers of two. Otherwise the whole buffer is
 * loaded once. */
static void load_operand(tile_function *f, tile_op op, tile_operand_name name) {
    bool parts = true;
    const tile_values element = tile_named_operands(f, op, name);
    const tile_type *type = tile_value_type(f, element.at[0]);
    for (unsigned d = 0; d < type->rank; d++) parts &= is_power_of_two(tile_type_dim(type, d));
    if (type->kind != TILE_TYPE_SHARED || parts) return;
    tile_builder b = tile_builder_before(f, op);
    prepare_set_operand(f, op, tile_place_of(TILE_OP_dot, name),
                        prepare_tile(&b, element.at, element.count));
}

typedef struct batch {
    tile_builder b;
    tile_context *context;
    tile_op op;
} batch;

/* The type of the last two dims. */
static const tile_type *matrix_type(const batch *x, const tile_type *type) {
    tile_type draft = *type;
    draft.kind = TILE_TYPE_TILE;
    draft.rank = 2;
    draft.dims[0] = type->dims[1];
    draft.dims[1] = type->dims[2];
    draft.dims[2] = NULL;
    draft.stages = NULL;
    draft.layout = NULL;
    return tile_type_get(x->context, &draft);
}

static const tile_type *single_type(const batch *x, const tile_type *type) {
    tile_type draft = *type;
    draft.kind = TILE_TYPE_TILE;
    draft.dims[0] = tile_expr_int(x->context, 1);
    draft.stages = NULL;
    draft.layout = NULL;
    return tile_type_get(x->context, &draft);
}

/* Matrix i of an operand: a part of a shared buffer or of a tile. */
static tile_value extract(batch *x, tile_operand_name operand, int64_t i) {
    enum { STAGE = 1, DIMS = 3 };
    const tile_values element = tile_named_operands(x->b.function, x->op, operand);
    tile_value first[STAGE + DIMS], memory = element.at[0];
    const tile_type *type = tile_value_type(x->b.function, memory), *single = single_type(x, type);
    unsigned stages = type->stages != NULL;
    if (stages) first[0] = element.at[1];
    for (unsigned d = 0; d < DIMS; d++)
        first[stages + d] = tile_build_int(&x->b, d || tile_type_dim(type, 0) == 1 ? 0 : i);
    tile_value part = type->kind == TILE_TYPE_SHARED
                          ? tile_build_load_shared(&x->b, memory, first, stages + DIMS, single)
                          : tile_build_slice(&x->b, memory, first, DIMS, TILE_NO_VALUE, single);
    return tile_build_reshape(&x->b, part, TILE_NO_VALUE, matrix_type(x, type));
}

static tile_value multiply(batch *x, int64_t i) {
    tile_function *f = x->b.function;
    tile_value lhs = extract(x, TILE_OPERAND_lhs, i), rhs = extract(x, TILE_OPERAND_rhs, i),
               acc = extract(x, TILE_OPERAND_acc, i);
    tile_value sum = tile_build_dot(&x->b, lhs, NULL, 0, rhs, NULL, 0, acc);
    tile_op_data *dot = tile_op_at(f, tile_value_def(f, sum));
    dot->attrs = tile_op_at(f, x->op)->attrs; /* all are copied unchanged */
    dot->attr_count = tile_op_at(f, x->op)->attr_count;
    const tile_type *all = tile_value_type(f, tile_op_result(f, x->op, 0));
    return tile_build_reshape(&x->b, sum, TILE_NO_VALUE, single_type(x, all));
}

static bool expand_batch(tile_pass *pass, tile_function *f, tile_op op) {
    tile_value result = tile_op_result(f, op, 0);
    const tile_type *type = tile_value_type(f, result);
    if (type->rank == 2) return true;
    load_operand(f, op, TILE_OPERAND_lhs);
    load_operand(f, op, TILE_OPERAND_rhs);
    batch x = {tile_builder_before(f, op), pass->context, op};
    if (tile_op_has_attr(f, op, TILE_ATTR_async)) {
        return tile_error_at(
            f, op, "dot: products of three dims are not asynchronous; write one for each matrix");
    }
    unsigned count = (unsigned)tile_type_dim(type, 0);
    tile_value *sums = TILE_NEW_ARRAY(pass->scratch, tile_value, count);
    for (unsigned i = 0; i < count; i++) sums[i] = multiply(&x, i);
    replace_result(pass, f, op, prepare_concat_tiles(&x.b, sums, count, 0));
    return true;
}

tile_status tile_pass_expand_dots(tile_pass *pass, tile_function *f) {
    unsigned count;
    bool ok = true;
    const tile_op *dots = tile_find_ops(f, TILE_OP_dot, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned operand = 0; operand < 2; operand++)
            prepare_transpose_operand(f, dots[i], operand);
        ok &= expand_batch(pass, f, dots[i]);
    }
    ok = ok && prepare_precision(pass, f);
    return ok ? TILE_OK : TILE_INVALID;
}
