/* Dots of f32 by products of bf16: see the header. */
#include <math.h>

#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "lib/ops/precision.h"
#include "passes/common/replace_result.h"
#include "passes/expand/prepare.h"

/* The parts of an operand, the largest first. A part that is not finite has no rest. */
static void split_operand(tile_function *f, tile_op dot, unsigned operand, unsigned count,
                          tile_value parts[TILE_MAX_PARTS]) {
    tile_context *context = tile_function_context(f);
    tile_builder b = tile_builder_before(f, dot);
    const tile_values element = tile_op_segment(f, dot, operand);
    tile_value rest = prepare_tile(&b, element.at, element.count);
    const tile_type *type = tile_value_type(f, rest),
                    *half = tile_type_with_scalar(context, type, TILE_bf16);
    const tile_expr *limit = tile_expr_float(context, INFINITY);
    tile_value infinity = tile_build_splat(
        &b, tile_build_constant(&b, tile_type_scalar(context, TILE_f32), limit), type);
    tile_value zero = tile_build_zero(&b, type), finite = TILE_NO_VALUE;
    for (unsigned i = 0; i < count; i++) {
        parts[i] = tile_build_cast(&b, rest, half);
        if (i + 1 == count) return;
        tile_value part = tile_build_cast(&b, parts[i], type);
        if (!finite.id) finite = tile_build_lt(&b, tile_build_abs(&b, part), infinity);
        rest = tile_build_select(&b, finite, tile_build_sub(&b, rest, part), zero);
    }
}

static tile_value multiply_parts(tile_function *f, tile_op dot, tile_value lhs, tile_value rhs,
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

static bool split(tile_pass *pass, tile_function *f, tile_op dot) {
    const tile_word word = tile_op_word(f, dot, TILE_ATTR_precision);
    const tile_precision *precision = tile_precision_of(word);
    tile_value parts[2][TILE_MAX_PARTS];
    if (precision->part_count == 1) return true;
    if (tile_op_has_attr(f, dot, TILE_ATTR_async))
        return tile_error_at(
            f, dot, "dot: products of `precision = %s` are not asynchronous; remove `async`",
            tile_attr_word_text(word));
    for (unsigned operand = 0; operand < 2; operand++)
        split_operand(f, dot, operand, precision->part_count, parts[operand]);
    tile_value sum = tile_op_segment(f, dot, TILE_MMA_ACC).at[0];
    for (unsigned i = 0; i < precision->product_count; i++)
        sum = multiply_parts(f, dot, parts[0][precision->products[i].lhs],
                             parts[1][precision->products[i].rhs], sum);
    replace_result(pass, f, dot, sum);
    return true;
}

bool prepare_precision(tile_pass *pass, tile_function *f) {
    unsigned count;
    bool ok = true;
    const tile_op *dots = tile_find_ops(f, TILE_OP_dot, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) ok &= split(pass, f, dots[i]);
    return ok;
}
