/* Ranges of elementwise operations, and of gather with uncertain indices. */
#include "lib/ops/reduce.h"
#include "lib/support/scalar.h"
#include "runtime/reference/evaluation.h"

static range_op describe(const evaluation *e, tile_op id) {
    const tile_op_data *op = tile_op_at(e->f, id);
    tile_scalar to = evaluation_scalar(e, op->first_result);
    tile_scalar precision = evaluation_precision(e, to);
    return (range_op){.opcode = (tile_opcode)op->opcode,
                      .operand_count = op->operand_count,
                      .from = evaluation_scalar(e, tile_first_operand(e->f, id)),
                      .to = to,
                      .precision = precision,
                      .arith_flags = tile_op_arith_flags(e->f, id),
                      .error = tile_op_error_of((tile_opcode)op->opcode, precision,
                                                tile_op_has_attr(e->f, id, TILE_ATTR_fast))};
}

/* Returns whether the operation is exact: exact operands have an exact result. */
static bool is_exact(const evaluation *e, const tile_op_data *op, const range_op *as) {
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (e->planes[PLANE_LOW][op->operands[i].id]) return false;
    bool narrows = as->opcode == TILE_OP_cast && tile_scalar_is_floating(as->from) &&
                   tile_scalar_is_floating(as->to) && as->from != as->to &&
                   !tile_scalar_contains(as->to, as->from);
    bool casts = as->opcode == TILE_OP_cast;
    return !narrows && (casts || (as->error.relative <= 0 && as->error.absolute <= 0));
}

void evaluation_range_elementwise(evaluation *e, tile_op id) {
    const tile_op_data *op = tile_op_at(e->f, id);
    const range_op as = describe(e, id);
    size_t count = e->counts[op->first_result.id], at[3] = {0};
    if (is_exact(e, op, &as)) return;
    double *low = evaluation_create_plane(e, PLANE_LOW, op->first_result);
    double *high = evaluation_create_plane(e, PLANE_HIGH, op->first_result);
    const double *value = e->data[op->first_result.id];
    for (size_t i = 0; low && high && i < count; i++) {
        tile_interval x[3];
        for (uint32_t o = 0; o < op->operand_count && o < 3; o++) {
            x[o] = evaluation_range(e, op->operands[o].id, at[o]);
            at[o] = at[o] + 1 == e->counts[op->operands[o].id] ? 0 : at[o] + 1;
        }
        tile_interval r = range_apply(&as, x, value[i]);
        low[i] = r.low;
        high[i] = r.high;
    }
}

/* The range of one element of gather: the union of the elements at all possible indices. */
static tile_interval gather_range(const evaluation *e, uint32_t from, const tile_rows *source,
                                  size_t row, tile_interval index) {
    double last = (double)source->extent - 1;
    double begin = fmax(index.low, 0), end = fmin(index.high, last);
    size_t first = tile_row_begin(source, row);
    tile_interval all = evaluation_range(e, from, first + (size_t)begin * source->inner);
    for (double i = begin + 1; i <= end; i++)
        all = range_union(all, evaluation_range(e, from, first + (size_t)i * source->inner));
    return all;
}

void evaluation_range_gather(evaluation *e, tile_op op) {
    tile_compute_array a, at;
    uint32_t from = tile_operand_src(e->f, op).id, index = tile_operand_at(e->f, op).id;
    tile_value result = tile_op_result(e->f, op, 0);
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0);
    if (!evaluation_operand(e, tile_operand_src(e->f, op), &a) ||
        !evaluation_operand(e, tile_operand_at(e->f, op), &at))
        return;
    tile_rows source = tile_rows_along(a.dims, a.rank, (unsigned)axis),
              rows = tile_rows_along(at.dims, at.rank, (unsigned)axis);
    double *low = evaluation_create_plane(e, PLANE_LOW, result);
    double *high = evaluation_create_plane(e, PLANE_HIGH, result);
    for (size_t row = 0; low && high && row < rows.outer * rows.inner; row++)
        for (size_t i = 0; i < rows.extent; i++) {
            size_t place = tile_row_begin(&rows, row) + i * rows.inner;
            tile_interval r =
                gather_range(e, from, &source, row, evaluation_range(e, index, place));
            low[place] = r.low;
            high[place] = r.high;
        }
}
