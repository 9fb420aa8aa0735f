/* Operations along an axis: see the header. */
#include "lib/ir/reduce.h"

#include "lib/ir/scalar.h"
#include "lib/layout/layout.h"

bool tile_reduction_of(const tile_function *f, tile_op op, tile_reduction *reduction) {
    int64_t axis = tile_op_attr_int(f, op, TILE_ATTR_axis, -1);
    reduction->axis = (unsigned)axis;
    reduction->kind = tile_op_word(f, op, TILE_ATTR_kind);
    return reduction->kind && axis >= 0 &&
           axis < tile_value_type(f, tile_op_operand(f, op, 0))->rank;
}

tile_scalar tile_reduction_scalar(tile_word kind, tile_scalar scalar) {
    bool rounds = kind == TILE_WORD_kind_add || kind == TILE_WORD_kind_mul;
    bool half = tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) == 16;
    return rounds && half ? TILE_f32 : scalar;
}

const tile_type *tile_reduction_buffer(const tile_function *f, tile_op op,
                                       const tile_reduce_plan *plan) {
    tile_context *context = tile_function_context(f);
    const tile_type *to = tile_value_type(f, tile_op_result(f, op, 0));
    tile_type draft = {.kind = TILE_TYPE_SHARED, .rank = to->rank};
    draft.scalar = tile_reduction_scalar(tile_op_word(f, op, TILE_ATTR_kind), to->scalar);
    tile_layout layout = tile_reduce_shared(plan, to->layout, tile_scalar_bytes(draft.scalar));
    for (unsigned d = 0; d < to->rank; d++)
        draft.dims[d] = tile_expr_int(context, tile_layout_extent(&layout, d));
    draft.layout = &layout;
    return tile_type_get(context, &draft);
}

tile_rows tile_rows_along(const int64_t *dims, unsigned rank, unsigned axis) {
    tile_rows rows = {1, (size_t)dims[axis], 1};
    for (unsigned d = 0; d < axis; d++) rows.outer *= (size_t)dims[d];
    for (unsigned d = axis + 1; d < rank; d++) rows.inner *= (size_t)dims[d];
    return rows;
}

tile_accumulator tile_accumulate_start(tile_word kind, tile_scalar scalar) {
    return (tile_accumulator){.opcode = tile_kind_opcode(kind), .scalar = scalar, .kind = kind};
}

static void add_integer(tile_accumulator *sum, int64_t element) {
    if (sum->any)
        tile_fold_int(sum->opcode, sum->integer, element, 0, &sum->integer);
    else
        sum->integer = element;
    sum->any = true;
}

static void add_float(tile_accumulator *sum, double element) {
    if (sum->any)
        tile_fold_float(sum->opcode, TILE_f64, sum->real, element, 0, &sum->real);
    else
        sum->real = element;
    sum->any = true;
}

void tile_accumulate(tile_accumulator *sum, const void *element) {
    if (tile_scalar_is_floating(sum->scalar))
        add_float(sum, tile_scalar_read(sum->scalar, element));
    else
        add_integer(sum, tile_integer_read(sum->scalar, element));
}

void tile_accumulate_real(tile_accumulator *sum, double element) {
    if (tile_scalar_is_floating(sum->scalar))
        add_float(sum, element);
    else
        add_integer(sum, tile_integer_from_double(element, INT64_MIN, INT64_MAX));
}

void tile_accumulate_write(const tile_accumulator *sum, void *to) {
    if (tile_scalar_is_floating(sum->scalar))
        tile_scalar_write(sum->scalar, to, sum->any ? sum->real : tile_kind_identity(sum->kind));
    else
        tile_integer_write(sum->scalar, to,
                           sum->any ? sum->integer
                                    : tile_kind_integer_identity(sum->kind, sum->scalar));
}

/* At level 1 floats are rounded where they are cast or stored. */
double tile_accumulate_result(const tile_accumulator *sum) {
    unsigned char bytes[sizeof(double)];
    if (tile_scalar_is_floating(sum->scalar))
        return sum->any ? sum->real : tile_kind_identity(sum->kind);
    tile_accumulate_write(sum, bytes);
    return (double)tile_integer_read(sum->scalar, bytes);
}
