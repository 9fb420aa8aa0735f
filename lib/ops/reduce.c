/* Operations along an axis: see the header. */
#include "lib/ops/reduce.h"

#include <math.h>
#include <stdlib.h>

#include "lib/ir/arith.h"
#include "lib/layout/axis_map.h"
#include "lib/layout/layout.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"

bool tile_reduction_of(const tile_function *f, tile_op op, tile_reduction *reduction) {
    int64_t axis = tile_op_attr_int(f, op, TILE_ATTR_axis, -1);
    reduction->axis = (unsigned)axis;
    reduction->kind = tile_op_word(f, op, TILE_ATTR_kind);
    return reduction->kind && axis >= 0 && axis < tile_value_type(f, tile_operand_src(f, op))->rank;
}

tile_scalar tile_reduction_scalar(tile_word kind, tile_scalar scalar) {
    bool rounds = kind == TILE_WORD_kind_add || kind == TILE_WORD_kind_mul ||
                  kind == TILE_WORD_kind_logsumexp;
    bool half = tile_scalar_is_floating(scalar) && tile_scalar_bits(scalar) == 16;
    return rounds && half ? TILE_f32 : scalar;
}

static const tile_type *buffer_of(const tile_function *f, tile_scalar scalar,
                                  const tile_layout *layout) {
    tile_context *context = tile_function_context(f);
    tile_type draft = {.kind = TILE_TYPE_SHARED, .scalar = scalar, .rank = layout->rank};
    for (unsigned d = 0; d < layout->rank; d++)
        draft.dims[d] = tile_expr_int(context, tile_layout_extent(layout, d));
    draft.layout = layout;
    return tile_type_get(context, &draft);
}

const tile_type *tile_reduction_buffer(const tile_function *f, tile_op op, tile_scalar scalar,
                                       const tile_reduce_plan *plan) {
    const tile_type *to = tile_value_type(f, tile_op_result(f, op, 0));
    tile_layout layout = tile_reduce_shared(plan, to->layout, tile_scalar_bytes(scalar));
    return buffer_of(f, scalar, &layout);
}

static unsigned axis_of(const tile_function *f, tile_op op) {
    return (unsigned)tile_op_attr_int(f, op, TILE_ATTR_axis, 0);
}

bool tile_rows_fit(const tile_function *f, tile_op op, const tile_layout *layout) {
    tile_axis_map along;
    return tile_op_opcode(f, op) == TILE_OP_sort
               ? tile_axis_map_find(layout, axis_of(f, op), &along)
               : tile_axis_map_is_in_order(layout, axis_of(f, op), &along);
}

tile_layout tile_rows_layout(const tile_function *f, tile_op op, unsigned warps) {
    uint32_t dims[TILE_MAX_RANK];
    const tile_type *type = tile_value_type(f, tile_operand_src(f, op));
    tile_type_dims(type, dims);
    return tile_layout_blocked(dims, type->rank, 16 / tile_scalar_bytes(type->scalar),
                               axis_of(f, op), warps);
}

/* The buffer of a sort: all registers of all threads, including padding. */
static const tile_type *sort_buffer(const tile_function *f, tile_scalar scalar, unsigned axis,
                                    const tile_layout *layout) {
    uint32_t dims[TILE_MAX_RANK], filled = 1, last = layout->rank - 1u;
    unsigned thread_bits = TILE_LANE_BITS + (unsigned)layout->warp_bits;
    while (filled < layout->count[axis]) filled *= 2;
    uint32_t registers = tile_layout_registers(layout) / layout->count[axis] * filled;
    for (unsigned d = 0; d < layout->rank; d++) dims[d] = 1;
    while (dims[last] < registers << thread_bits) dims[last] *= 2;
    tile_layout shared =
        tile_layout_shared_swizzled(dims, layout->rank, last, tile_scalar_bytes(scalar));
    return buffer_of(f, scalar, &shared);
}

/* The buffer of a scan: the sums of warps in each round. */
static const tile_type *scan_buffer(const tile_function *f, tile_scalar scalar,
                                    const tile_axis_map *along, const tile_layout *layout) {
    tile_layout shared = tile_axis_map_shared_cells(layout, along, tile_scalar_bytes(scalar));
    return buffer_of(f, scalar, &shared);
}

const tile_type *tile_rows_buffer(const tile_function *f, tile_op op, const tile_layout *layout) {
    tile_axis_map along;
    bool warps = false;
    tile_scalar scalar = tile_value_type(f, tile_operand_src(f, op))->scalar;
    tile_axis_map_find(layout, axis_of(f, op), &along);
    for (unsigned i = 0; i < along.count; i++) warps |= along.bits[i].holder == TILE_HELD_BY_WARP;
    if (!warps) return NULL;
    if (tile_op_opcode(f, op) == TILE_OP_sort) return sort_buffer(f, scalar, along.axis, layout);
    scalar = tile_reduction_scalar(tile_op_word(f, op, TILE_ATTR_kind), scalar);
    return scan_buffer(f, scalar, &along, layout);
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
        tile_fold_element(sum->opcode, sum->scalar, (tile_arith_flags){.nan = false}, sum->integer,
                          element, 0, &sum->integer);
    else
        sum->integer = element;
    sum->any = true;
}

static void add_float(tile_accumulator *sum, double element) {
    if (sum->nan && sum->any && (isnan(sum->real) || isnan(element)))
        sum->real = NAN;
    else if (sum->any)
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

void tile_accumulate_number(tile_accumulator *sum, tile_number element) {
    if (tile_scalar_is_floating(sum->scalar))
        add_float(sum, element.real);
    else
        add_integer(sum, element.integer);
}

void tile_accumulate_write(const tile_accumulator *sum, void *to) {
    if (tile_scalar_is_floating(sum->scalar))
        tile_scalar_write(sum->scalar, to, sum->any ? sum->real : tile_kind_identity(sum->kind));
    else
        tile_integer_write(sum->scalar, to,
                           sum->any ? sum->integer
                                    : tile_kind_integer_identity(sum->kind, sum->scalar));
}

/* At level 1, floats are rounded only by casts and stores. */
tile_number tile_accumulate_result(const tile_accumulator *sum) {
    if (tile_scalar_is_floating(sum->scalar))
        return (tile_number){sum->any ? sum->real : tile_kind_identity(sum->kind), 0};
    int64_t identity = tile_kind_integer_identity(sum->kind, sum->scalar);
    return tile_number_wrap(sum->scalar, (tile_number){0, sum->any ? sum->integer : identity});
}

/* Rows ----------------------------------------------------------------------------------------- */

tile_number tile_number_read(tile_scalar scalar, const void *from) {
    if (tile_scalar_is_floating(scalar)) return (tile_number){tile_scalar_read(scalar, from), 0};
    return (tile_number){0, tile_integer_read(scalar, from)};
}

void tile_number_write(tile_scalar scalar, tile_number number, void *to) {
    if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, to, number.real);
    else
        tile_integer_write(scalar, to, number.integer);
}

tile_number tile_number_wrap(tile_scalar scalar, tile_number number) {
    unsigned char bytes[sizeof(int64_t)];
    if (tile_scalar_is_floating(scalar)) return number;
    tile_integer_write(scalar, bytes, number.integer);
    return (tile_number){tile_scalar_read(scalar, bytes), tile_integer_read(scalar, bytes)};
}

tile_scan tile_scan_of(const tile_function *f, tile_op op) {
    return (tile_scan){tile_op_word(f, op, TILE_ATTR_kind),
                       tile_op_has_attr(f, op, TILE_ATTR_reverse),
                       tile_op_has_attr(f, op, TILE_ATTR_exclusive)};
}

/* Returns whether b, which comes later, replaces a. */
static bool wins(tile_word kind, tile_scalar scalar, tile_number a, tile_number b) {
    bool most = kind == TILE_WORD_kind_max;
    if (scalar == TILE_u64) {
        uint64_t x = (uint64_t)a.integer, y = (uint64_t)b.integer;
        return most ? y > x : y < x;
    }
    if (!tile_scalar_is_floating(scalar))
        return most ? b.integer > a.integer : b.integer < a.integer;
    if (isnan(a.real)) return !isnan(b.real);
    return most ? b.real > a.real : b.real < a.real;
}

size_t tile_row_find(tile_word kind, tile_scalar scalar, const tile_number *row, size_t count) {
    size_t found = 0;
    for (size_t i = 1; i < count; i++)
        if (wins(kind, scalar, row[found], row[i])) found = i;
    return found;
}

double tile_log_add_exp(double a, double b) {
    double most = fmax(a, b), least = fmin(a, b);
    if (isnan(a) || isnan(b)) return NAN;
    return isinf(most) ? most : most + log1p(exp(least - most));
}

void tile_row_scan(tile_scan scan, tile_scalar scalar, tile_number *row, size_t count) {
    tile_opcode opcode = tile_kind_opcode(scan.kind);
    tile_number sum = {tile_kind_identity(scan.kind),
                       tile_kind_integer_identity(scan.kind, scalar)};
    for (size_t i = 0; i < count; i++) {
        tile_number *at = &row[scan.reverse ? count - 1 - i : i], own = *at;
        if (scan.exclusive) *at = sum;
        if (scan.kind == TILE_WORD_kind_logsumexp)
            sum.real = tile_log_add_exp(sum.real, own.real);
        else if (tile_scalar_is_floating(scalar))
            tile_fold_float(opcode, TILE_f64, sum.real, own.real, 0, &sum.real);
        else
            tile_fold_element(opcode, scalar, (tile_arith_flags){.nan = false}, sum.integer,
                              own.integer, 0, &sum.integer);
        if (!scan.exclusive) *at = sum;
    }
}

static int compare_reals(const void *a, const void *b) {
    double x = ((const tile_number *)a)->real, y = ((const tile_number *)b)->real;
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare_integers(const void *a, const void *b) {
    int64_t x = ((const tile_number *)a)->integer, y = ((const tile_number *)b)->integer;
    return (x > y) - (x < y);
}

static int compare_unsigned(const void *a, const void *b) {
    uint64_t x = (uint64_t)((const tile_number *)a)->integer;
    uint64_t y = (uint64_t)((const tile_number *)b)->integer;
    return (x > y) - (x < y);
}

void tile_row_sort(bool descending, tile_scalar scalar, tile_number *row, size_t count) {
    qsort(row, count, sizeof *row,
          tile_scalar_is_floating(scalar)   ? compare_reals
          : tile_scalar_is_unsigned(scalar) ? compare_unsigned
                                            : compare_integers);
    for (size_t i = 0; descending && i < count / 2; i++) {
        tile_number other = row[i];
        row[i] = row[count - 1 - i];
        row[count - 1 - i] = other;
    }
}
