/* Elements without a defined value at level 1, by the rule of the CPU device: integer division by
 * zero and a shift by a negative amount, or by at least the type's width, leave an element
 * undefined. What is computed from it is undefined as well. It is an error only if it reaches a
 * result, or decides where an operation acts; `select` ignores the element that it does not
 * select. */
#include <stdio.h>
#include <stdlib.h>

#include "lib/ir/arith.h"
#include "lib/ops/dims.h"
#include "lib/support/scalar.h"
#include "runtime/reference/evaluation.h"

/* Errors --------------------------------------------------------------------------------------- */

/* Reports the operation that left an element undefined. */
static void report_maker(evaluation *e, double maker) {
    tile_context *context = tile_function_context(e->f);
    const tile_op op = {(uint32_t)maker};
    tile_opcode opcode = tile_op_opcode(e->f, op);
    const char *name = tile_op_name(e->f, op);
    tile_loc loc = tile_op_loc(e->f, op);
    e->failed = true;
    if (tile_opcode_shifts(opcode))
        tile_report(context, TILE_ERROR, loc, "%s: shift by less than 0 or more than %u bits", name,
                    tile_scalar_bits(evaluation_scalar(e, tile_first_operand(e->f, op))) - 1);
    else if (tile_opcode_divides(opcode))
        tile_report(context, TILE_ERROR, loc, "%s: division by zero", name);
    else
        tile_report(context, TILE_ERROR, loc,
                    "%s: its func divides by zero, or shifts out of range", name);
}

static void check_operand(evaluation *e, tile_op op, tile_value value) {
    for (size_t i = 0; i < e->counts[value.id] && !e->failed; i++) {
        double maker = evaluation_poison(e, value, i);
        if (!maker) continue;
        report_maker(e, maker);
        tile_report(tile_function_context(e->f), TILE_NOTE, tile_op_loc(e->f, op),
                    "its result is used here, by %s", tile_op_name(e->f, op));
    }
}

void evaluation_check_operands(evaluation *e, tile_op op) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    for (unsigned k = 0; k < tile_op_get_info(opcode)->operand_count; k++) {
        const tile_values values = tile_op_segment(e->f, op, k);
        for (unsigned i = 0; i < values.count; i++)
            if (!tile_operand_carries_elements(opcode, k) &&
                e->planes[PLANE_POISON][values.at[i].id])
                check_operand(e, op, values.at[i]);
    }
}

/* The coordinates of an element as text. */
static void put_coordinates(const tile_compute_array *shape, size_t index, char *text,
                            size_t size) {
    int64_t at[TILE_MAX_RANK];
    size_t length = 0;
    for (unsigned d = shape->rank; d-- > 0; index /= (size_t)shape->dims[d])
        at[d] = (int64_t)(index % (size_t)shape->dims[d]);
    for (unsigned d = 0; d < shape->rank && length < size; d++)
        length += (size_t)snprintf(text + length, size - length, "%s%lld", d ? ", " : "",
                                   (long long)at[d]);
}

void evaluation_check_result(evaluation *e, const tile_result_decl *result,
                             const tile_compute_array *shape) {
    char text[TILE_MAX_RANK * 24] = "";
    for (size_t i = 0; i < e->counts[result->value.id] && !e->failed; i++) {
        double maker = evaluation_poison(e, result->value, i);
        if (!maker) continue;
        put_coordinates(shape, i, text, sizeof text);
        report_maker(e, maker);
        tile_report(tile_function_context(e->f), TILE_NOTE, e->f->loc,
                    "element [%s] of the result %%%s depends on it; `select` another value there",
                    text, result->name);
    }
}

/* Elements ------------------------------------------------------------------------------------- */

/* Returns whether an element of a result may be undefined. */
static bool may_poison(const evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    tile_opcode opcode = (tile_opcode)data->opcode;
    for (unsigned i = 0; i < data->operand_count; i++)
        if (e->planes[PLANE_POISON][data->operands[i].id]) return true;
    return (tile_opcode_divides(opcode) || tile_opcode_shifts(opcode)) &&
           !tile_scalar_is_floating(evaluation_scalar(e, tile_first_operand(e->f, op)));
}

/* The first number among the operands' elements; `select` has two of them. */
static double poison_at(const evaluation *e, tile_op op, const size_t *at) {
    const tile_op_data *data = tile_op_at(e->f, op);
    bool selects = data->opcode == TILE_OP_select;
    unsigned chosen = selects && e->data[tile_operand_condition(e->f, op).id][at[0]] != 0 ? 1 : 2;
    double found = 0;
    for (unsigned i = 0; i < data->operand_count && i < 3 && !found; i++)
        if (!selects || i == 0 || i == chosen)
            found = evaluation_poison(e, data->operands[i], at[i]);
    return found;
}

/* Returns whether the operation leaves an element undefined by itself. */
static bool makes_poison(const evaluation *e, tile_op op, tile_scalar from, const size_t *at) {
    tile_opcode opcode = tile_op_opcode(e->f, op);
    if (!tile_opcode_divides(opcode) && !tile_opcode_shifts(opcode)) return false;
    tile_number rhs = evaluation_number(e, tile_operand_rhs(e->f, op), from, at[1]);
    return !tile_element_is_defined(opcode, from, rhs.integer);
}

void evaluation_poison_elements(evaluation *e, tile_op op) {
    const tile_op_data *data = tile_op_at(e->f, op);
    size_t count = e->counts[data->first_result.id], at[3] = {0};
    bool any = false;
    if (!may_poison(e, op)) return;
    tile_scalar from = evaluation_scalar(e, tile_first_operand(e->f, op));
    double *to = evaluation_create_plane(e, PLANE_POISON, data->first_result);
    for (size_t i = 0; to && i < count; i++) {
        to[i] = poison_at(e, op, at);
        if (!to[i] && makes_poison(e, op, from, at)) to[i] = op.id;
        any |= to[i] != 0;
        for (uint32_t o = 0; o < data->operand_count && o < 3; o++)
            at[o] = at[o] + 1 == e->counts[data->operands[o].id] ? 0 : at[o] + 1;
    }
    if (any) return;
    free(to);
    e->planes[PLANE_POISON][data->first_result.id] = NULL;
}

/* Rows ----------------------------------------------------------------------------------------- */

typedef struct poisoned_rows {
    const evaluation *e;
    tile_rows rows;
    tile_value src;
    tile_scan scan;
    double *to;
} poisoned_rows;

static double poison_of_row(const poisoned_rows *p, size_t row) {
    double found = 0;
    for (size_t i = 0; i < p->rows.extent && !found; i++)
        found = evaluation_poison(p->e, p->src, tile_row_begin(&p->rows, row) + i * p->rows.inner);
    return found;
}

/* Each element of a scan depends on the preceding ones. */
static void scan_row(const poisoned_rows *p, size_t row) {
    double found = 0;
    for (size_t i = 0; i < p->rows.extent; i++) {
        size_t place = p->scan.reverse ? p->rows.extent - 1 - i : i;
        size_t at = tile_row_begin(&p->rows, row) + place * p->rows.inner;
        double before = found;
        if (!found) found = evaluation_poison(p->e, p->src, at);
        p->to[at] = p->scan.exclusive ? before : found;
    }
}

static void poison_rows(const poisoned_rows *p, tile_opcode opcode) {
    for (size_t row = 0; row < p->rows.outer * p->rows.inner; row++) {
        if (opcode == TILE_OP_scan) {
            scan_row(p, row);
            continue;
        }
        double found = poison_of_row(p, row);
        bool sorts = opcode == TILE_OP_sort;
        if (!sorts) p->to[row] = found;
        for (size_t i = 0; sorts && i < p->rows.extent; i++)
            p->to[tile_row_begin(&p->rows, row) + i * p->rows.inner] = found;
    }
}

void evaluation_poison_rows(evaluation *e, tile_op op) {
    tile_compute_array a;
    const tile_op_data *data = tile_op_at(e->f, op);
    poisoned_rows p = {.e = e, .src = tile_operand_src(e->f, op), .scan = tile_scan_of(e->f, op)};
    if (!e->planes[PLANE_POISON][p.src.id] || !evaluation_operand(e, p.src, &a)) return;
    p.rows = tile_rows_along(a.dims, a.rank, (unsigned)evaluation_attr(e, op, TILE_ATTR_axis, 0));
    for (uint32_t i = 0; i < data->result_count && !e->failed; i++) {
        tile_value result = tile_op_result(e->f, op, i);
        p.to = e->data[result.id] ? evaluation_create_plane(e, PLANE_POISON, result) : NULL;
        if (p.to) poison_rows(&p, (tile_opcode)data->opcode);
    }
}
