/* The semantics of each operation at level 1, in doubles. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/ir/arith.h"
#include "lib/ops/gather.h"
#include "lib/ops/rearrange.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"

static void fail_element(evaluation *e, const tile_op_data *op, tile_scalar scalar) {
    e->failed = true;
    tile_report(tile_function_context(e->f), TILE_ERROR, op->loc,
                "%s is not defined for elements of %s",
                tile_opcode_spelling((tile_opcode)op->opcode), tile_scalar_name(scalar));
}

/* A fast path for casts that only round, which many elements of a reference do. It is several times
 * faster than the general path. Returns false for other operations. */
static bool compute_rounding(const evaluation *e, tile_op id, tile_scalar from, tile_scalar scalar,
                             tile_arith_flags arith_flags, double *to) {
    const tile_op_data *op = tile_op_at(e->f, id);
    uint32_t src = tile_first_operand(e->f, id).id;
    size_t count = e->counts[op->first_result.id];
    const double *x = e->data[src];
    bool rounds = op->opcode == TILE_OP_cast && tile_scalar_is_floating(from) &&
                  tile_scalar_is_floating(scalar) && !arith_flags.saturates &&
                  !arith_flags.rounding;
    if (!rounds || e->counts[src] != count) return false;
    if (scalar == TILE_f32)
        for (size_t i = 0; i < count; i++) to[i] = (float)x[i];
    else
        for (size_t i = 0; i < count; i++) to[i] = tile_scalar_round(scalar, x[i]);
    return true;
}

/* Computes element by element. An operand with fewer elements is repeated along the leading
 * dims. */
static void compute_elementwise(evaluation *e, tile_op id, double *to) {
    const tile_op_data *op = tile_op_at(e->f, id);
    tile_scalar from = evaluation_scalar_of(e, tile_value_type(e->f, tile_first_operand(e->f, id)));
    tile_scalar scalar = evaluation_scalar_of(e, tile_value_type(e->f, op->first_result));
    tile_arith_flags arith_flags = tile_op_arith_flags(e->f, id);
    tile_scalar types[3] = {from, from, from};
    size_t count = e->counts[op->first_result.id], at[3] = {0};
    if (compute_rounding(e, id, from, scalar, arith_flags, to)) return;
    evaluation_create_integers(e, op->first_result);
    for (uint32_t o = 1; o < op->operand_count && o < 3; o++)
        types[o] = evaluation_scalar(e, op->operands[o]);
    for (size_t i = 0; i < count && !e->failed; i++) {
        tile_number x[3] = {{0, 0}}, result;
        for (uint32_t o = 0; o < op->operand_count && o < 3; o++) {
            x[o] = evaluation_number(e, op->operands[o], types[o], at[o]);
            at[o] = at[o] + 1 == e->counts[op->operands[o].id] ? 0 : at[o] + 1;
        }
        if (tile_element_compute((tile_opcode)op->opcode, from, scalar, arith_flags, x, &result))
            evaluation_set_number(e, op->first_result, i, result);
        else
            fail_element(e, op, from);
    }
}

const double *evaluation_operand(evaluation *e, tile_value value, tile_compute_array *shape) {
    return evaluation_resolve(e, tile_value_type(e->f, value), shape) ? e->data[value.id] : NULL;
}

static void compute_matmul(evaluation *e, tile_op op, double *to) {
    evaluation_matmul(e, op, to);
}

int64_t evaluation_attr(evaluation *e, tile_op op, tile_attr_id id, int64_t otherwise) {
    const tile_attr *attr = tile_op_attr(e->f, op, id);
    if (attr && !evaluation_of(e, attr->expr, &otherwise))
        FAIL(e, "@%s: the attribute '%s' cannot be computed", e->f->name,
             tile_attr_get_info(id)->name);
    return otherwise;
}

static void compute_iota(evaluation *e, tile_op op, double *to) {
    (void)to;
    tile_compute_array shape;
    tile_value result = tile_op_result(e->f, op, 0);
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0);
    tile_iota iota = {(unsigned)axis, evaluation_attr(e, op, TILE_ATTR_start, 0),
                      evaluation_attr(e, op, TILE_ATTR_step, 1)};
    if (!evaluation_resolve(e, tile_value_type(e->f, result), &shape)) return;
    if (axis < 0 || axis >= shape.rank || shape.scalar == TILE_i1 ||
        !tile_scalar_has_arithmetic(shape.scalar)) {
        FAIL(e, "@%s: iota has no axis %lld of %s", e->f->name, (long long)axis,
             tile_scalar_name(shape.scalar));
        return;
    }
    size_t inner = 1, extent = (size_t)shape.dims[axis];
    for (unsigned d = (unsigned)axis + 1; d < shape.rank; d++) inner *= (size_t)shape.dims[d];
    evaluation_create_integers(e, result);
    for (size_t i = 0; i < e->counts[result.id]; i++) {
        unsigned char element[sizeof(double)];
        tile_iota_write(&iota, (int64_t)(i / inner % extent), shape.scalar, element);
        evaluation_set_number(e, result, i, tile_element_read(shape.scalar, element));
    }
}

static void compute_gather(evaluation *e, tile_op op, double *to) {
    tile_compute_array a, at;
    const double *from = evaluation_operand(e, tile_operand_src(e->f, op), &a),
                 *index = evaluation_operand(e, tile_operand_at(e->f, op), &at);
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0);
    if (!from || !index || e->failed) return;
    bool fits = axis >= 0 && axis < a.rank && a.rank == at.rank;
    for (unsigned d = 0; fits && d < a.rank; d++) fits = d == axis || a.dims[d] == at.dims[d];
    if (!fits) {
        FAIL(e, "@%s: gather: src and its indices must have the same extents but along the axis",
             e->f->name);
        return;
    }
    tile_rows source = tile_rows_along(a.dims, a.rank, (unsigned)axis),
              rows = tile_rows_along(at.dims, at.rank, (unsigned)axis);
    for (size_t row = 0; row < rows.outer * rows.inner && !e->failed; row++)
        for (size_t i = 0; i < rows.extent && !e->failed; i++) {
            size_t place = tile_row_begin(&rows, row) + i * rows.inner;
            if (index[place] < 0 || index[place] >= (double)source.extent)
                FAIL(e, "@%s: gather: the index %.0f is outside of an extent of %zu", e->f->name,
                     index[place], source.extent);
            else
                to[place] =
                    from[tile_row_begin(&source, row) + (size_t)index[place] * source.inner];
        }
}

/* The values of a list of window, 1 if the list is empty. */
static void read_numbers(const evaluation *e, tile_values values, int64_t numbers[TILE_MAX_RANK]) {
    for (unsigned i = 0; i < TILE_MAX_RANK; i++) numbers[i] = 1;
    for (unsigned i = 0; i < values.count; i++) numbers[i] = (int64_t)e->data[values.at[i].id][0];
}

/* The parameters of a window, by windowed dim. */
typedef struct windows {
    unsigned axis, count;
    int64_t strides[TILE_MAX_RANK], pads[TILE_MAX_RANK], dilations[TILE_MAX_RANK],
        input_dilations[TILE_MAX_RANK];
} windows;

static bool read_windows(evaluation *e, tile_op op, windows *w) {
    w->axis = (unsigned)evaluation_attr(e, op, TILE_ATTR_axis, 0);
    w->count = tile_operands_strides(e->f, op).count;
    read_numbers(e, tile_operands_strides(e->f, op), w->strides);
    read_numbers(e, tile_operands_pads(e->f, op), w->pads);
    read_numbers(e, tile_operands_dilations(e->f, op), w->dilations);
    const tile_attr *between = tile_op_attr(e->f, op, TILE_ATTR_input_dilations);
    for (unsigned i = 0; i < w->count; i++) {
        w->input_dilations[i] = between ? between->list[i] : 1;
        if (w->strides[i] < 1)
            FAIL(e, "@%s: window: strides must be 1 or more; one is %lld", e->f->name,
                 (long long)w->strides[i]);
    }
    return !e->failed;
}

/* The place in src of the element `index` of the result; false: it is padding. */
static bool find_in_window(const windows *w, const tile_compute_array *from,
                           const tile_compute_array *result, size_t index, size_t *place) {
    int64_t at[TILE_MAX_RANK];
    *place = 0;
    for (unsigned d = result->rank; d-- > 0; index /= (size_t)result->dims[d])
        at[d] = (int64_t)(index % (size_t)result->dims[d]);
    for (unsigned d = 0; d < from->rank; d++) {
        unsigned i = d - w->axis;
        bool windowed = d >= w->axis && i < w->count;
        int64_t here = at[d < w->axis || windowed ? d : d + w->count];
        if (windowed) {
            here = here * w->strides[i] + at[d + w->count] * w->dilations[i] - w->pads[i];
            if (here % w->input_dilations[i]) return false;
            here /= w->input_dilations[i];
        }
        if (here < 0 || here >= from->dims[d]) return false;
        *place = *place * (size_t)from->dims[d] + (size_t)here;
    }
    return true;
}

static void compute_window(evaluation *e, tile_op op, double *to) {
    tile_compute_array from, result;
    windows w;
    const double *elements = evaluation_operand(e, tile_operand_src(e->f, op), &from);
    if (!elements || !read_windows(e, op, &w) ||
        !evaluation_resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, 0)), &result))
        return;
    unsigned char bytes[sizeof(double)];
    tile_pad_write(e->f, op, result.scalar, bytes);
    double pad = tile_scalar_read(result.scalar, bytes);
    if (e->moved == PLANE_INTEGER) memcpy(&pad, bytes, sizeof pad);
    if (e->moved == PLANE_HIDDEN || e->moved == PLANE_POISON) pad = 0;
    for (size_t i = 0, place; i < evaluation_count(&result); i++)
        to[i] = find_in_window(&w, &from, &result, i, &place) ? elements[place] : pad;
}

static void compute_reduce(evaluation *e, tile_op op, double *to) {
    tile_compute_array a;
    tile_value src = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const double *from = evaluation_operand(e, src, &a);
    (void)to;
    tile_word kind = tile_op_word(e->f, op, TILE_ATTR_kind);
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0);
    if (!from || e->failed) return;
    if (axis < 0 || axis >= a.rank || !tile_kind_combines(kind, a.scalar)) {
        FAIL(e, "@%s: reduce has no such kind of %s along axis %lld", e->f->name,
             tile_scalar_name(a.scalar), (long long)axis);
        return;
    }
    tile_rows rows = tile_rows_along(a.dims, a.rank, (unsigned)axis);
    evaluation_create_integers(e, result);
    for (size_t row = 0; row < rows.outer * rows.inner && !e->failed; row++) {
        tile_accumulator sum = tile_accumulate_start(kind, a.scalar);
        sum.nan = tile_op_has_attr(e->f, op, TILE_ATTR_nan);
        size_t first = tile_row_begin(&rows, row);
        for (size_t i = 0; i < rows.extent; i++)
            tile_accumulate_number(&sum,
                                   evaluation_number(e, src, a.scalar, first + i * rows.inner));
        evaluation_set_number(e, result, row, tile_accumulate_result(&sum));
    }
}

/* Computes result `index` of an operation that moves elements. to: the elements of the result. */
static void rearrange(evaluation *e, tile_op op, unsigned index, unsigned operands,
                      const int64_t *first, double *to) {
    tile_compute_array from, result;
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0), before = 0;
    if (!evaluation_resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, index)), &result))
        return;
    for (unsigned i = 0; i < operands; i++) {
        const double *elements = evaluation_operand(e, tile_op_operand(e->f, op, i), &from);
        if (!elements) return;
        tile_placement placement = tile_rearrange(e->f, op, i, index, first, before);
        tile_place_elements(&placement, from.dims, from.rank, result.dims, sizeof *to, elements,
                            to);
        before += from.dims[axis];
    }
}

static void compute_broadcast(evaluation *e, tile_op op, double *to) {
    rearrange(e, op, 0, 1, NULL, to);
}

static void compute_transpose(evaluation *e, tile_op op, double *to) {
    rearrange(e, op, 0, 1, NULL, to);
}

static void compute_join(evaluation *e, tile_op op, double *to) {
    rearrange(e, op, 0, 2, NULL, to);
}

/* The result's extent along the axis may be a different expression than the sum of the operands'
 * extents. */
static void compute_concat(evaluation *e, tile_op op, double *to) {
    tile_compute_array part, whole;
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0), sum = 0;
    for (unsigned i = 0; i < tile_op_operand_count(e->f, op) && !e->failed; i++)
        if (evaluation_operand(e, tile_op_operand(e->f, op, i), &part)) sum += part.dims[axis];
    if (!evaluation_resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, 0)), &whole)) return;
    if (sum != whole.dims[axis]) {
        FAIL(e, "@%s: the operands of concat have %lld along the axis, the result %lld", e->f->name,
             (long long)sum, (long long)whole.dims[axis]);
        return;
    }
    rearrange(e, op, 0, tile_op_operand_count(e->f, op), NULL, to);
}

static void compute_unjoin(evaluation *e, tile_op op, double *to) {
    tile_compute_array from;
    tile_value second = tile_op_result(e->f, op, 1);
    double *other = evaluation_create(e, second);
    if (!other || !evaluation_operand(e, tile_operand_src(e->f, op), &from)) return;
    if (from.dims[from.rank - 1] != 2) {
        FAIL(e, "@%s: unjoin needs a last dim of 2, not of %lld", e->f->name,
             (long long)from.dims[from.rank - 1]);
        return;
    }
    rearrange(e, op, 0, 1, NULL, to);
    rearrange(e, op, 1, 1, NULL, other);
    if (!e->uses[second.id]) evaluation_drop(e, second.id);
}

static void compute_reshape(evaluation *e, tile_op op, double *to) {
    tile_value from = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    if (e->counts[from.id] != e->counts[result.id])
        FAIL(e, "@%s: reshape makes %zu elements of %zu", e->f->name, e->counts[result.id],
             e->counts[from.id]);
    else
        rearrange(e, op, 0, 1, NULL, to);
}

/* Checks a part of a dim of a tensor. */
static void check_part(evaluation *e, tile_op op, int64_t first, int64_t part, int64_t whole) {
    if (first >= 0 && first <= whole - part) return;
    e->failed = true;
    tile_report(tile_function_context(e->f), TILE_ERROR, tile_op_loc(e->f, op),
                "%s: the part of %lld elements begins at %lld of a dim of %lld; it must begin and "
                "end inside of it",
                tile_opcode_spelling(tile_op_opcode(e->f, op)), (long long)part, (long long)first,
                (long long)whole);
}

static void compute_slice(evaluation *e, tile_op op, double *to) {
    int64_t first[TILE_MAX_RANK] = {0};
    tile_compute_array whole, part;
    const tile_values values = tile_operands_first(e->f, op);
    if (!evaluation_operand(e, tile_operand_src(e->f, op), &whole) ||
        !evaluation_resolve(e, tile_value_type(e->f, tile_op_result(e->f, op, 0)), &part))
        return;
    for (unsigned d = 0; d < values.count && !e->failed; d++) {
        first[d] = (int64_t)e->data[values.at[d].id][0];
        check_part(e, op, first[d], part.dims[d], whole.dims[d]);
    }
    if (!e->failed) rearrange(e, op, 0, 1, first, to);
}

static void compute_insert_slice(evaluation *e, tile_op op, double *to) {
    tile_compute_array part, whole;
    tile_placement placement = {.repeats = false};
    const tile_values first = tile_operands_first(e->f, op);
    const double *from = evaluation_operand(e, tile_operand_src(e->f, op), &part),
                 *old = evaluation_operand(e, tile_operand_dst(e->f, op), &whole);
    if (!from || !old) return;
    placement.rank = whole.rank;
    for (unsigned d = 0; d < first.count && !e->failed; d++) {
        placement.source[d] = d;
        placement.added[d] = (int64_t)e->data[first.at[d].id][0];
        check_part(e, op, placement.added[d], part.dims[d], whole.dims[d]);
    }
    if (e->failed) return;
    memcpy(to, old, sizeof *to * evaluation_count(&whole));
    tile_place_elements(&placement, part.dims, part.rank, whole.dims, sizeof *to, from, to);
}

/* Computes the rows of an operand one by one. Coordinates (if the operation returns them) go to
 * `places`. */
static void compute_rows(evaluation *e, tile_op op, double *places) {
    tile_compute_array a;
    tile_opcode opcode = tile_op_opcode(e->f, op);
    tile_value src = tile_operand_src(e->f, op), result = tile_op_result(e->f, op, 0);
    const double *from = evaluation_operand(e, src, &a);
    tile_scan scan = tile_scan_of(e->f, op);
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0);
    if (!from || e->failed) return;
    bool combines = opcode == TILE_OP_sort ? tile_scalar_has_arithmetic(a.scalar)
                                           : tile_kind_combines(scan.kind, a.scalar);
    if (axis < 0 || axis >= a.rank || !combines) {
        FAIL(e, "@%s: %s is not defined for %s along axis %lld", e->f->name,
             tile_opcode_spelling(opcode), tile_scalar_name(a.scalar), (long long)axis);
        return;
    }
    tile_rows rows = tile_rows_along(a.dims, a.rank, (unsigned)axis);
    tile_number *row = malloc(sizeof *row * (rows.extent + 1));
    evaluation_create_integers(e, result);
    for (size_t r = 0; row && !e->failed && r < rows.outer * rows.inner; r++) {
        size_t first = tile_row_begin(&rows, r), found;
        for (size_t i = 0; i < rows.extent; i++)
            row[i] = evaluation_number(e, src, a.scalar, first + i * rows.inner);
        if (places) {
            found = tile_row_find(scan.kind, a.scalar, row, rows.extent);
            places[r] = (double)found;
            evaluation_set_number(
                e, result, r,
                rows.extent ? tile_number_wrap(a.scalar, row[found])
                            : tile_element_number(a.scalar, tile_kind_identity(scan.kind)));
            continue;
        }
        if (opcode == TILE_OP_sort)
            tile_row_sort(tile_op_has_attr(e->f, op, TILE_ATTR_descending), a.scalar, row,
                          rows.extent);
        else
            tile_row_scan(scan, a.scalar, row, rows.extent);
        for (size_t i = 0; i < rows.extent; i++)
            evaluation_set_number(e, result, first + i * rows.inner,
                                  tile_number_wrap(a.scalar, row[i]));
    }
    if (!row) FAIL(e, "@%s: out of host memory for a row", e->f->name);
    free(row);
}

static void compute_reduce_arg(evaluation *e, tile_op op, double *to) {
    double *places = evaluation_create(e, tile_op_result(e->f, op, 1));
    (void)to;
    if (places) compute_rows(e, op, places);
}

static void compute_scan(evaluation *e, tile_op op, double *to) {
    (void)to;
    compute_rows(e, op, NULL);
}

static void compute_sort(evaluation *e, tile_op op, double *to) {
    (void)to;
    compute_rows(e, op, NULL);
}

static void compute_for(evaluation *e, tile_op op, double *to) {
    (void)to;
    evaluation_loop(e, op);
}

/* The loop reads the operands. */
static void compute_yield(evaluation *e, tile_op op, double *to) {
    (void)e, (void)op, (void)to;
}

static void compute_reduce_with(evaluation *e, tile_op op, double *to) {
    evaluation_combine(e, op, to);
}

static void compute_scan_with(evaluation *e, tile_op op, double *to) {
    evaluation_combine(e, op, to);
}

/* The function that computes an operation of level 1 is found by the name of its row. */
static void (*const computers[TILE_OPCODE_LIMIT])(evaluation *e, tile_op op, double *to) = {
#define COMPUTER_L0(name) NULL
#define COMPUTER_L1(name) compute_##name
#define COMPUTER_L2(name) NULL
#define COMPUTER_L12(name) compute_##name
#define COMPUTER_L123(name) compute_##name
#define COMPUTER_INLINED(name) NULL
#define COMPUTER_EXPANDED(name) NULL
#define COMPUTER_L3(name) NULL
#define COMPUTER_L23(name) NULL
#define COMPUTER_L023(name) NULL
#define COMPUTER_LX(name) compute_##name
#define OP(number, name, levels, ...) [number] = COMPUTER_##levels(name),
#define ELEMENTWISE_OP(number, name, ...) [number] = compute_elementwise,
#include "tile/ops.def"
};

void evaluation_compute(evaluation *e, tile_op op, double *to) {
    computers[tile_op_opcode(e->f, op)](e, op, to);
}
