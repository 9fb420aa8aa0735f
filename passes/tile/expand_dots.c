/* expand-dots: makes dots of two dims, of operands that lie as they are multiplied.
 *
 * A transposed operand is a tile whose registers have other names: what reads it from shared memory
 * (ldmatrix, with .trans or without) takes it so as it comes. A batch of products is one after the
 * other, whose sums stay in registers of their own. So nothing behind this pass knows of either.
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
#include "passes/pass.h"
#include "passes/tile/prepare.h"

static void turn_operand(tile_function *f, tile_op op, unsigned operand, tile_attr_id trans) {
    unsigned count;
    if (!tile_op_has_attr(f, op, trans)) return;
    tile_builder b = tile_builder_before(f, op);
    const tile_value *element = tile_op_segment(f, op, operand, &count);
    tile_value tile = prepare_tile(&b, element, count);
    prepare_set_operand(f, op, operand, tile_build_transpose(&b, tile, NULL));
    tile_op_remove_attr(f, op, trans);
}

typedef struct batch {
    tile_builder b;
    tile_context *context;
    tile_op op;
} batch;

/* Its last two dims. */
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

/* Matrix i of an operand: a part of a shared buffer, or of a tile. */
static tile_value take(batch *x, unsigned operand, int64_t i) {
    enum { STAGE = 1, DIMS = 3 };
    unsigned count;
    const tile_value *element = tile_op_segment(x->b.function, x->op, operand, &count);
    tile_value first[STAGE + DIMS], memory = element[0];
    const tile_type *type = tile_value_type(x->b.function, memory), *single = single_type(x, type);
    unsigned stages = type->stages != NULL;
    if (stages) first[0] = element[1];
    for (unsigned d = 0; d < DIMS; d++)
        first[stages + d] = tile_build_int(&x->b, d || tile_type_dim(type, 0) == 1 ? 0 : i);
    tile_value part = type->kind == TILE_TYPE_SHARED
                          ? tile_build_load_shared(&x->b, memory, first, stages + DIMS, single)
                          : tile_build_slice(&x->b, memory, first, DIMS, TILE_NO_VALUE, single);
    return tile_build_reshape(&x->b, part, TILE_NO_VALUE, matrix_type(x, type));
}

static tile_value multiply(batch *x, int64_t i) {
    tile_function *f = x->b.function;
    tile_value lhs = take(x, 0, i), rhs = take(x, 1, i), acc = take(x, 2, i);
    tile_value sum = tile_build_dot(&x->b, lhs, NULL, 0, rhs, NULL, 0, acc);
    tile_op_data *dot = tile_op_at(f, tile_value_def(f, sum));
    dot->attrs = tile_op_at(f, x->op)->attrs; /* none of them is changed */
    dot->attr_count = tile_op_at(f, x->op)->attr_count;
    const tile_type *all = tile_value_type(f, tile_op_result(f, x->op, 0));
    return tile_build_reshape(&x->b, sum, TILE_NO_VALUE, single_type(x, all));
}

static bool expand_batch(tile_pass *pass, tile_function *f, tile_op op) {
    batch x = {tile_builder_before(f, op), pass->context, op};
    tile_value result = tile_op_result(f, op, 0);
    const tile_type *type = tile_value_type(f, result);
    if (type->rank == 2) return true;
    if (tile_op_has_attr(f, op, TILE_ATTR_async)) {
        tile_report(pass->context, TILE_ERROR, tile_op_loc(f, op),
                    "dot: products of three dims are not asynchronous; write one for each matrix");
        return false;
    }
    unsigned count = (unsigned)tile_type_dim(type, 0);
    tile_value *sums = TILE_NEW_ARRAY(pass->scratch, tile_value, count);
    for (unsigned i = 0; i < count; i++) sums[i] = multiply(&x, i);
    const tile_segment segments[] = {{TILE_NO_VALUE, sums, count}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(pass->context, 0)};
    tile_op all = tile_build_op_of(&x.b, TILE_OP_concat, segments, 1, NULL, &axis, 1);
    tile_op_set_int(f, all, TILE_ATTR_axis, 0);
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    map[result.id] = tile_op_result(f, all, 0);
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
    return true;
}

tile_status tile_pass_expand_dots(tile_pass *pass, tile_function *f) {
    unsigned count;
    bool ok = true;
    const tile_op *dots = tile_find_ops(f, TILE_OP_dot, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) {
        turn_operand(f, dots[i], 0, TILE_ATTR_trans_lhs);
        turn_operand(f, dots[i], 1, TILE_ATTR_trans_rhs);
        ok &= expand_batch(pass, f, dots[i]);
    }
    return ok ? TILE_OK : TILE_INVALID;
}
