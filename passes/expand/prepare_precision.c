/* Dots of f32 by products of bf16: see the header. */
#include "lib/ir/syntax.h"
#include "passes/common/f32_parts.h"
#include "passes/common/replace_result.h"
#include "passes/expand/prepare.h"

/* The parts of an operand, the largest first. */
static void split_operand(tile_function *f, tile_op dot, unsigned operand, unsigned count,
                          tile_value parts[TILE_MAX_PARTS]) {
    tile_builder b = tile_builder_before(f, dot);
    const tile_values element = tile_op_segment(f, dot, operand);
    f32_parts_split(&b, prepare_tile(&b, element.at, element.count), count, parts);
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
    replace_result(pass, f, dot, f32_parts_multiply(f, dot, precision, parts[0], parts[1]));
    return true;
}

bool prepare_precision(tile_pass *pass, tile_function *f) {
    unsigned count;
    bool ok = true;
    const tile_op *dots = tile_find_ops(f, TILE_OP_dot, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) ok &= split(pass, f, dots[i]);
    return ok;
}
