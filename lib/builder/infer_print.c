/* The rule of `print`. */
#include "lib/builder/infer_rules.h"

/* vprintf accepts 32 arguments, three of which are the block's coordinates. */
_Static_assert(TILE_MAX_PRINTED + 3 < 32, "numbers and coordinates fit vprintf");

static bool is_printable(const tile_infer *infer, const tile_type *type, bool alone) {
    bool tile = type->kind == TILE_TYPE_TILE;
    if (type->kind != TILE_TYPE_SCALAR && !tile)
        return fail(infer, "print takes numbers and tiles, not", type, "", NULL);
    if (tile && !alone)
        return fail(infer, "a tile must be the only operand of print; use another print for", type,
                    "", NULL);
    return type->param || tile_scalar_has_arithmetic(type->scalar) ||
           fail(infer, "cast to f32 first, print cannot format", type, "", NULL);
}

bool tile_infer_print(tile_infer *infer) {
    unsigned coordinates, count;
    segment(infer, TILE_OPERAND_at, &coordinates);
    const tile_value *values = segment(infer, TILE_OPERAND_src, &count);
    if (infer->has_attrs && !count && !coordinates && !attr_of(infer, TILE_ATTR_text))
        return fail(infer, "there is nothing to print; pass values, or write {text = ..}", NULL, "",
                    NULL);
    if (count + coordinates > TILE_MAX_PRINTED) {
        tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                    "print: one print takes at most %d numbers, not %u; write another print",
                    TILE_MAX_PRINTED, count + coordinates);
        return false;
    }
    for (unsigned i = 0; i < count; i++)
        if (!is_printable(infer, tile_value_type(infer->function, values[i]),
                          count + coordinates == 1))
            return false;
    return no_result(infer);
}
