/* Transposed convolutions: results whose phases are interleaved, and filters with phases as rows.
 *
 * The result is a slice of a product whose dims were moved. What follows it element by element is
 * computed by the product's kernel, and stored before it is reduced.
 *
 * Where phases are rows of a product (lib/builder/expand_convolve.c), its operand is a transpose of
 * windows of the filter. Read in place, each tile gathers it by index tiles, which producer warps
 * and tensor maps cannot do. It is small, so that a kernel writes it first. */
#include "lib/ir/syntax.h"
#include "lib/ops/convolution.h"
#include "passes/schedule/cut/cut.h"

static double count_elements(schedule *s, tile_value value) {
    const tile_type *type = sched_type(s, value);
    double count = 1;
    for (unsigned d = 0; d < type->rank && count >= 0; d++) {
        const int64_t extent = sched_constant(sched_dim(s, type, d));
        count = extent < 0 ? -1 : count * (double)extent;
    }
    return count;
}

/* The transpose of windows that the operand is; no value if it is none, or if the windows' source
 * is one, which plan_windowed stores. */
static tile_value transposed_windows(schedule *s, tile_value value) {
    tile_op op;
    tile_value found = TILE_NO_VALUE;
    bool windowed = false;
    for (; (op = tile_value_def(s->compute, value)).id; value = tile_operand_src(s->compute, op)) {
        const tile_opcode opcode = tile_op_opcode(s->compute, op);
        windowed |= opcode == TILE_OP_window;
        if (opcode == TILE_OP_transpose && windowed) return TILE_NO_VALUE;
        if (opcode == TILE_OP_transpose && !found.id) found = value;
        if (opcode != TILE_OP_transpose && opcode != TILE_OP_reshape && opcode != TILE_OP_window &&
            opcode != TILE_OP_cast)
            break;
    }
    return windowed ? found : TILE_NO_VALUE;
}

/* Stores a filter that is split into phases and transposed, which each tile of a large product
 * would gather; also the windows that it multiplies, if they have few terms. */
void sched_plan_phases(schedule *s, tile_op op) {
    enum {
        FEW = 64,   /* tiles of the filter take as long as the kernel that writes it */
        TERMS = 64, /* of windows that are smaller than the result */
        SMALLER = 2,
    };
    if (tile_op_opcode(s->compute, op) != TILE_OP_matmul ||
        tile_convolution_is_by_fma(s->compute, op, sched_type(s, tile_operand_lhs(s->compute, op))))
        return;
    const double results = count_elements(s, tile_op_result(s->compute, op, 0));
    tile_value values[2];
    double counts[2];
    for (unsigned i = 0; i < 2; i++) {
        values[i] = transposed_windows(s, tile_op_operand(s->compute, op, i));
        counts[i] = values[i].id ? count_elements(s, values[i]) : -1;
    }
    for (unsigned i = 0; i < 2; i++)
        if (counts[i] >= 0 && counts[i] * FEW <= results) sched_plan_value(s, values[i]);
    const tile_type *type = sched_type(s, tile_operand_rhs(s->compute, op));
    const int64_t terms = sched_constant(sched_dim(s, type, type->rank - 2u));
    if (counts[0] >= 0 && counts[0] * FEW <= results && counts[1] >= 0 && terms > 0 &&
        terms <= TERMS && !tile_op_has_attr(s->compute, op, TILE_ATTR_trans_rhs) &&
        counts[1] * SMALLER <= results)
        sched_plan_value(s, values[1]);
}

void sched_plan_interleaved(schedule *s, tile_op op) {
    enum { STEPS = 8 };
    if (!sched_is_reduction(s, op)) return;
    tile_value value = tile_operand_src(s->compute, op), before = TILE_NO_VALUE;
    while (value.id != before.id) {
        before = value;
        value = sched_skip_reshapes(s, sched_strip_cast(s, value), TILE_NO_VALUE);
    }
    if (sched_is_sliced_product(s, value, STEPS)) sched_plan_value(s, value);
}
