/* Thread-level accesses to shared buffers by coordinates. The buffer's layout maps coordinates to
 * an offset, so the access is valid for any layout. */
#include "lib/layout/layout.h"
#include "passes/lower/lower.h"

/* Contiguous elements that the operation accesses. */
static unsigned run_of(const lowering *l, tile_op op, const tile_type *buffer) {
    const tile_function *f = &l->old;
    int64_t bytes = tile_op_attr_int(f, op, TILE_ATTR_bytes, 0);
    if (bytes) return (unsigned)bytes / tile_scalar_bytes(buffer->scalar);
    if (tile_op_opcode(f, op) == TILE_OP_ldmatrix)
        return 16 / tile_scalar_bytes(buffer->scalar); /* one row of a matrix */
    tile_value value =
        tile_op_result_count(f, op) ? tile_op_result(f, op, 0) : tile_operand_src(f, op);
    return (unsigned)tile_type_elements(tile_value_type(f, value));
}

/* Returns whether `run` elements along the last dim are contiguous. */
static bool runs_along_last(const tile_layout *layout, unsigned run) {
    for (unsigned bit = 0; 1u << bit < run; bit++)
        if (bit >= layout->dim_bits[layout->rank - 1] ||
            tile_layout_offset_of(layout, 1u << bit) != 1u << bit)
            return false;
    return true;
}

/* The index of the part of a dim that contains a coordinate. */
static tile_value part_of(lowering *l, tile_value coordinate, unsigned bits) {
    return tile_build_shr(&l->builder, coordinate, lower_int(l, bits));
}

/* The number of low bits that are zero in the coordinate along dim d of a part's start. */
static unsigned zero_bits(const tile_layout *inner, unsigned d) {
    return inner ? inner->dim_bits[d] : 0;
}

tile_value lower_laid_out_offset(lowering *l, const tile_layout *layout,
                                 const tile_value *coordinates, const tile_layout *inner,
                                 uint32_t *begin_bits) {
    tile_value offset = lower_int(l, 0), part = lower_int(l, 0);
    if (inner) *begin_bits = 0;
    for (unsigned d = 0; d < layout->rank; d++) {
        unsigned bits = layout->dim_bits[d], shift = tile_layout_dim_shift(layout, d);
        uint32_t bases[TILE_LAYOUT_MAX_BITS] = {0};
        for (unsigned bit = zero_bits(inner, d); bit < bits; bit++) {
            bases[bit] = tile_layout_offset_of(layout, UINT32_C(1) << (shift + bit));
            if (inner) *begin_bits |= bases[bit];
        }
        tile_value added = lower_bit_map(l, coordinates[d], 32, bases, bits);
        if (tile_value_is(l->f, offset, 0))
            offset = added;
        else
            offset = tile_build_xor(&l->builder, offset, added);
        uint32_t count = tile_layout_extent(layout, d) >> bits;
        part = lower_mul(l, part, lower_int(l, count));
        if (count > 1) part = lower_add(l, part, part_of(l, coordinates[d], bits));
    }
    unsigned part_bits = tile_layout_part_bits(layout);
    return lower_add(l, lower_mul(l, part, lower_int(l, INT64_C(1) << part_bits)), offset);
}

static tile_value row_major_offset(lowering *l, const tile_type *buffer,
                                   const tile_value *coordinates) {
    tile_value offset = lower_int(l, 0);
    for (unsigned d = 0; d < buffer->rank; d++) {
        offset = lower_mul(l, offset, lower_int(l, tile_type_dim(buffer, d)));
        offset = lower_add(l, offset, coordinates[d]);
    }
    return offset;
}

static bool refuse_run(lowering *l, tile_op op, unsigned run) {
    tile_error_of(
        &l->old, op,
        "%u elements along the last dim are not contiguous in the layout that the buffer's "
        "tile operations need; access one element at a time, or give the buffer a layout",
        run);
    l->failed = true;
    return false;
}

tile_value lower_buffer_offset(lowering *l, const tile_value *element) {
    const tile_type *buffer = tile_value_type(&l->old, element[0]);
    tile_value coordinates[TILE_MAX_RANK];
    unsigned stages = buffer->stages != NULL;
    for (unsigned d = 0; d < buffer->rank; d++)
        coordinates[d] = lower_mapped(l, element[1 + stages + d]);
    tile_value offset = buffer->layout
                            ? lower_laid_out_offset(l, buffer->layout, coordinates, NULL, NULL)
                            : row_major_offset(l, buffer, coordinates);
    if (!stages) return offset;
    int64_t each = tile_type_elements(buffer);
    tile_value stage = lower_mul(l, lower_mapped(l, element[1]), lower_int(l, each));
    return lower_add(l, stage, offset);
}

/* Returns whether every thread's address counts. For matrices only those of some lanes do. */
static bool moves_run(tile_opcode opcode) {
    return opcode == TILE_OP_ld_shared || opcode == TILE_OP_st_shared ||
           opcode == TILE_OP_atomic_thread || opcode == TILE_OP_atomic_cas_thread ||
           opcode == TILE_OP_cp_async || opcode == TILE_OP_cp_async_part;
}

/* Computes the offset of an element from its stage and coordinates. False after a diagnostic. */
static bool find_offset(lowering *l, tile_op op, const tile_value *element, tile_value *offset) {
    const tile_type *buffer = tile_value_type(&l->old, element[0]);
    unsigned run = run_of(l, op, buffer);
    if (buffer->layout && !runs_along_last(buffer->layout, run)) return refuse_run(l, op, run);
    if (moves_run(tile_op_opcode(&l->old, op))) lower_assume_element_in_bounds(l, op, element, run);
    *offset = lower_buffer_offset(l, element);
    return true;
}

bool lower_thread_operands(lowering *l, tile_op op, tile_value *operands, unsigned *count,
                           uint16_t *segments) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(&l->old, op));
    *count = 0;
    for (unsigned i = 0; i < info->operand_count; i++) {
        unsigned kept;
        const tile_values values = tile_op_segment(&l->old, op, i);
        bool placed = tile_is_placed(&l->old, op, i);
        segments[i] = (uint16_t)(placed ? 2 : values.count);
        for (kept = 0; kept < (placed ? 1 : values.count); kept++)
            operands[(*count)++] = lower_mapped(l, values.at[kept]);
        if (placed && !find_offset(l, op, values.at, &operands[(*count)++])) return false;
    }
    return true;
}
