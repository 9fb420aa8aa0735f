/* Warns of divisors and shift amounts that the author wrote as numbers. They are no errors: passes
 * produce such constants, too, in code that never runs or whose result is not selected, and what
 * they print must read back. */
#include "lib/check/verify.h"

#include "lib/ir/arith.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"

/* Returns whether the operation has an undefined result for every operand. */
static bool is_never_defined(const tile_function *f, tile_op op, int64_t *rhs) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (!tile_opcode_divides(opcode) && !tile_opcode_shifts(opcode)) return false;
    const tile_type *type = tile_value_type(f, tile_first_operand(f, op));
    return !type->param &&
           tile_value_is_int(f, tile_repeated_value(f, tile_operand_rhs(f, op)), rhs) &&
           !tile_element_is_defined(opcode, type->scalar, *rhs);
}

static void warn(const tile_function *f, tile_op op, int64_t rhs) {
    tile_scalar scalar = tile_value_type(f, tile_first_operand(f, op))->scalar;
    const char *name = tile_op_name(f, op), *type = tile_scalar_name(scalar);
    unsigned width = tile_scalar_bits(scalar);
    tile_context *context = tile_function_context(f);
    if (tile_opcode_divides(tile_op_opcode(f, op)))
        tile_report(context, TILE_WARNING, tile_op_loc(f, op),
                    "%s: division by zero: the divisor is the number 0; write another number",
                    name);
    else
        tile_report(context, TILE_WARNING, tile_op_loc(f, op),
                    "%s: the shift amount %lld is out of range: elements of %s are shifted by 0 to "
                    "%u bits; write a number in that range, or cast to a wider type first",
                    name, (long long)rhs, type, width - 1);
}

void tile_warn_of_literals(const tile_function *f) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        int64_t rhs;
        if (is_never_defined(f, op, &rhs)) warn(f, op, rhs);
    }
}
