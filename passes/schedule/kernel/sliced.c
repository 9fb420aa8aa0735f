/* Values that are slices of products whose dims were moved, as the results of transposed
 * convolutions are (lib/builder/expand_convolve.c). */
#include "passes/schedule/kernel/schedule.h"

/* Returns whether the value is a slice of a product whose dims were moved. */
static bool is_slice_of_product(const schedule *s, tile_value value) {
    const tile_function *f = s->compute;
    bool sliced = false;
    for (tile_op op; (op = tile_value_def(f, value)).id; value = tile_operand_src(f, op)) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        if (opcode == TILE_OP_matmul) return sliced;
        if (opcode != TILE_OP_slice && opcode != TILE_OP_reshape && opcode != TILE_OP_transpose)
            return false;
        sliced |= opcode == TILE_OP_slice;
    }
    return false;
}

bool sched_is_sliced_product(const schedule *s, tile_value value, unsigned steps) {
    const tile_function *f = s->compute;
    const tile_op op = tile_value_def(f, value);
    if (is_slice_of_product(s, value)) return true;
    if (!op.id || !steps || !tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_ELEMENTWISE))
        return false;
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op) && !found; i++)
        found = sched_is_sliced_product(s, tile_op_operand(f, op, i), steps - 1);
    return found;
}
