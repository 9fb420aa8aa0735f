/* Contiguous arrays as one dim.
 *
 * The rows of an f16 array with 8189 columns begin anywhere in memory, so that no thread can move
 * 16 bytes of them at once. But row follows row, and the array as a whole begins at a multiple of
 * 16 bytes. So an element-wise kernel whose arrays all have the same elements in the same order, or
 * one element, visits them as arrays of one dim. The same pays where rows would leave much of their
 * tiles empty.
 *
 *     view [4095 * 8189]          vectors of 8 halves                    the last 3 elements
 *     |--------|--------|  ..                               |--------|---|
 *
 * If the number of elements is no multiple of a vector, accesses of the grid's tiles end at the
 * last whole vector, and the first block computes the few elements after it in a small tile. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/ir/syntax.h"

enum { VECTOR = 16 /* bytes */ };

static unsigned bytes_of(schedule *s, tile_value value) {
    unsigned bits = tile_scalar_bits(sched_element(s, value)->scalar);
    return bits < 8 ? 1 : bits / 8;
}

/* Returns whether the array has the domain's elements in their order, without gaps. */
static bool is_whole(schedule *s, const sched_group *g, unsigned array, const sched_map *map) {
    const tile_value value = s->arrays[array].value;
    const sched_shape shape = sched_shape_of(s, array, value);
    sched_map same;
    return !shape.strides[0] && sched_map_in(s, &g->domain, sched_type(s, value), &same) &&
           sched_same_map(&same, map, sched_type(s, value)->rank);
}

static bool is_one_element(schedule *s, tile_value value) {
    const tile_type *type = sched_type(s, value);
    for (unsigned d = 0; d < type->rank; d++)
        if (!tile_expr_is(sched_dim(s, type, d), 1)) return false;
    return true;
}

/* Returns whether the value is computed from arrays without coordinates. */
static bool is_elementwise(schedule *s, const sched_group *g, tile_value value, bool *seen) {
    tile_op op = tile_value_def(s->compute, value);
    if (seen[value.id] || !op.id || sched_input_of(s, g, value) >= 0) return true;
    seen[value.id] = true;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (!tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) && opcode != TILE_OP_splat &&
        opcode != TILE_OP_broadcast && opcode != TILE_OP_reshape)
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (!is_elementwise(s, g, tile_op_operand(s->compute, op, i), seen)) return false;
    return true;
}

/* The number of elements; -1: it is not known, or an i32 does not hold the positions of tiles. */
static int64_t count_elements(const sched_domain *domain) {
    enum { LARGEST_TILE = 1 << 16 };
    int64_t count = 1;
    for (unsigned d = 0; d < domain->rank; d++) {
        int64_t extent = sched_constant(domain->extents[d]);
        if (extent <= 0 || extent > (INT32_MAX - LARGEST_TILE) / count) return -1;
        count *= extent;
    }
    return count;
}

/* Returns whether accesses to rows are narrow, or their tiles have many elements after the rows. */
static bool are_rows_bad(schedule *s, const sched_group *g) {
    enum { WIDTH = 512, PART = 8 };
    unsigned dims = 0, bytes = VECTOR;
    int64_t row = 1, width = 1;
    for (unsigned d = 0; d < g->domain.rank; d++) {
        int64_t extent = sched_constant(g->domain.extents[d]);
        if (extent == 1) continue;
        row = extent;
        dims++;
    }
    for (size_t i = 0; i < g->input_count; i++) {
        unsigned own = bytes_of(s, s->arrays[g->inputs[i].array].value);
        if (own < bytes) bytes = own;
    }
    while (width < WIDTH && width < row) width *= 2;
    int64_t covered = (row + width - 1) / width * width;
    return row * bytes % VECTOR || (dims > 1 && covered - row > row / PART);
}

bool sched_flatten(schedule *s, sched_group *g, int64_t *whole) {
    int64_t count = count_elements(&g->domain);
    bool *seen = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    unsigned elements = 1;
    if (count < 0 || !are_rows_bad(s, g)) return false;
    for (size_t i = 0; i < g->input_count; i++) {
        const sched_input *input = &g->inputs[i];
        tile_value value = s->arrays[input->array].value;
        if (!input->same ||
            (!is_one_element(s, value) && !is_whole(s, g, input->array, &input->map)))
            return false;
        if (VECTOR / bytes_of(s, value) > elements) elements = VECTOR / bytes_of(s, value);
    }
    for (size_t i = 0; i < g->output_count; i++) {
        const sched_output *output = &g->outputs[i];
        if (output->part.id || !is_whole(s, g, output->array, &output->map) ||
            !is_elementwise(s, g, s->arrays[output->array].value, seen))
            return false;
        unsigned bytes = bytes_of(s, s->arrays[output->array].value);
        if (VECTOR / bytes > elements) elements = VECTOR / bytes;
    }
    g->domain = (sched_domain){.rank = 1, .extents = {tile_expr_int(s->context, count)}};
    for (size_t i = 0; i < g->output_count; i++)
        sched_map_in(s, &g->domain, sched_type(s, s->arrays[g->outputs[i].array].value),
                     &g->outputs[i].map);
    *whole = count / elements * elements;
    return true;
}
