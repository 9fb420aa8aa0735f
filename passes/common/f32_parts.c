#include "passes/common/f32_parts.h"

#include <math.h>

#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"

void f32_parts_split(tile_builder *b, tile_value rest, unsigned count,
                     tile_value parts[TILE_MAX_PARTS]) {
    tile_context *context = tile_function_context(b->function);
    const tile_type *type = tile_value_type(b->function, rest),
                    *half = tile_type_with_scalar(context, type, TILE_bf16);
    const tile_expr *limit = tile_expr_float(context, INFINITY);
    tile_value infinity = tile_build_splat(
        b, tile_build_constant(b, tile_type_scalar(context, TILE_f32), limit), type);
    tile_value zero = tile_build_zero(b, type), finite = TILE_NO_VALUE;
    for (unsigned i = 0; i < count; i++) {
        parts[i] = tile_build_cast(b, rest, half);
        if (i + 1 == count) return;
        tile_value part = tile_build_cast(b, parts[i], type);
        if (!finite.id) finite = tile_build_lt(b, tile_build_abs(b, part), infinity);
        rest = tile_build_select(b, finite, tile_build_sub(b, rest, part), zero);
    }
}

static tile_value multiply(tile_function *f, tile_op dot, tile_value lhs, tile_value rhs,
                           tile_value acc) {
    tile_builder b = tile_builder_before(f, dot);
    tile_value sum = tile_build_dot(&b, lhs, NULL, 0, rhs, NULL, 0, acc);
    const tile_op_data *from = tile_op_at(f, dot);
    tile_op_data *product = tile_op_at(f, tile_value_def(f, sum));
    product->attrs = TILE_NEW_ARRAY(&f->module->arena, tile_attr, from->attr_count);
    for (unsigned i = 0; i < from->attr_count; i++)
        if (from->attrs[i].id != TILE_ATTR_precision)
            product->attrs[product->attr_count++] = from->attrs[i];
    return sum;
}

tile_value f32_parts_multiply(tile_function *f, tile_op dot, const tile_precision *precision,
                              const tile_value lhs[TILE_MAX_PARTS],
                              const tile_value rhs[TILE_MAX_PARTS]) {
    tile_value sum = tile_op_segment(f, dot, TILE_MMA_ACC).at[0];
    for (unsigned i = 0; i < precision->product_count; i++)
        sum =
            multiply(f, dot, lhs[precision->products[i].lhs], rhs[precision->products[i].rhs], sum);
    return sum;
}
