/* Transposed convolutions: results whose phases are interleaved, and filters with phases as rows.
 *
 * The result is a slice of a product whose dims were moved. What follows it element by element is
 * computed by the product's kernel, and stored before it is reduced.
 *
 * If the phases that alternate along a row are a batch of the product, it is stored as it is, and
 * what follows is computed by the kernel that interleaves them.
 *
 * Where phases are rows of a product (lib/builder/expand_convolve.c), its operand is a transpose of
 * windows of the filter. Read in place, each tile gathers it by index tiles, which producer warps
 * and tensor maps cannot do. It is small, so that a kernel writes it first. */
#include "lib/ir/syntax.h"
#include "lib/ops/convolution.h"
#include "lib/support/scalar.h"
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

/* The number of elements by which neighbors of the product's last dim are apart in the transpose of
 * its reshaped result, because batch dims follow that dim: phases. 1: none do. */
static int64_t count_phases(schedule *s, tile_op transpose, const tile_type *product) {
    const tile_type *from = sched_type(s, tile_operand_src(s->compute, transpose));
    int64_t batch = 1, before = 1, apart = 1;
    unsigned outer = 0;
    for (unsigned d = 0; d + 2 < product->rank; d++)
        batch *= sched_constant(sched_dim(s, product, d));
    if (batch < 1) return 1;
    while (outer < from->rank && before < batch)
        before *= sched_constant(sched_dim(s, from, outer++));
    if (before != batch) return 1;
    for (unsigned d = from->rank; d-- > 0;) {
        const unsigned source = sched_transposed_dim(s, transpose, d);
        if (source + 1u == from->rank) return apart;
        if (source >= outer) return 1;
        apart *= sched_constant(sched_dim(s, from, source));
    }
    return 1;
}

/* Stores a product of which the phases of a transposed convolution are a batch, and alternate along
 * the last dim of the result: each of its elements would be stored alone, in a sector of its own.
 * The kernel that interleaves the phases writes whole rows. 64 filters of 3 x 3 with stride 5 take
 * 2226 us in one kernel (tf32, 831 MB, H200). */
void sched_plan_scattered(schedule *s, tile_op op) {
    enum { FEW = 2, LEAST = 1 << 20 /* bytes that the L2 does not gather to sectors */ };
    if (tile_op_opcode(s->compute, op) != TILE_OP_transpose) return;
    tile_value value = sched_skip_reshapes(s, tile_operand_src(s->compute, op), TILE_NO_VALUE);
    const tile_op product = tile_value_def(s->compute, value);
    if (!product.id || tile_op_opcode(s->compute, product) != TILE_OP_matmul) return;
    const tile_type *type = sched_type(s, value);
    const double bytes = count_elements(s, value) * tile_scalar_bytes(type->scalar);
    if (bytes < LEAST || count_phases(s, op, type) <= FEW) return;
    sched_plan_value(s, value);
    /* Reshapes of the transpose are computed where they are used, so that it is not stored. */
    s->expands[tile_op_result(s->compute, op, 0).id] = true;
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
