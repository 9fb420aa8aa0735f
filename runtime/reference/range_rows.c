/* Ranges of operations along an axis: sums, scans, argmax and argmin, sorts. */
#include <stdlib.h>

#include "lib/ops/reduce.h"
#include "lib/support/scalar.h"
#include "runtime/reference/element.h"
#include "runtime/reference/evaluation.h"

/* Elements that are combined one after the other. */
typedef struct running {
    tile_word kind;
    tile_scalar type, precision; /* of the elements; and in which they are combined */
    bool nan_wins;
    range_op step; /* combines two elements */
    size_t count;
    tile_interval all;
    double size;    /* of a sum: the sum of the absolute values */
    bool whole;     /* of a sum: all are exact integers */
    bool points;    /* all are exact */
    bool nan;       /* some element is always NaN */
    bool uncertain; /* some element may be anything */
    bool number;    /* some element is never NaN */
} running;

static running start(const evaluation *e, tile_word kind, tile_scalar type, bool nan_wins) {
    tile_scalar precision = tile_reduction_scalar(kind, evaluation_precision(e, type));
    tile_opcode opcode = kind == TILE_WORD_kind_logsumexp ? TILE_OP_add : tile_kind_opcode(kind);
    return (running){.kind = kind,
                     .type = evaluation_precision(e, type),
                     .precision = precision,
                     .nan_wins = nan_wins,
                     .step = {.opcode = opcode,
                              .operand_count = 2,
                              .from = type,
                              .to = type,
                              .precision = precision,
                              .error = tile_op_error_of(opcode, precision, false)},
                     .whole = true,
                     .points = true};
}

static bool is_sum(const running *r) {
    return r->kind == TILE_WORD_kind_add && tile_scalar_is_floating(r->type);
}

static bool is_log_sum(const running *r) {
    return r->kind == TILE_WORD_kind_logsumexp;
}

static bool is_extreme(const running *r) {
    return r->kind == TILE_WORD_kind_max || r->kind == TILE_WORD_kind_min;
}

static tile_interval combine(const running *r, tile_interval a, tile_interval b) {
    tile_interval sum = {a.low + b.low, a.high + b.high}, type = range_of_type(r->type);
    if (is_sum(r)) return sum;
    if (is_log_sum(r))
        return (tile_interval){tile_log_add_exp(a.low, b.low), tile_log_add_exp(a.high, b.high)};
    if (r->kind == TILE_WORD_kind_add && sum.low >= type.low && sum.high <= type.high) return sum;
    double value;
    const tile_interval both[2] = {a, b};
    const double numbers[3] = {a.low, b.low, 0};
    if (!tile_element_value(r->step.opcode, r->type, r->type, r->step.arith_flags, numbers, &value))
        return type;
    return range_apply(&r->step, both, value);
}

static void add(running *r, tile_interval x) {
    bool is_nan = isnan(x.low) && isnan(x.high), anything = range_is_anything(x);
    r->points &= range_is_point(x);
    r->nan |= is_nan;
    r->uncertain |= anything;
    r->count++;
    if (is_nan || anything) return;
    r->whole &= x.low == x.high && x.low == rint(x.low);
    r->size += range_size(x);
    r->all = r->number ? combine(r, r->all, x) : x;
    r->number = true;
}

static tile_interval finish_extreme(const running *r, double value) {
    tile_interval all = r->all;
    if (r->nan_wins && r->nan) return range_point(NAN);
    if (r->uncertain && (r->nan_wins || !r->number)) return range_anything();
    if (!r->number) return range_point(value);
    if (r->uncertain && r->kind == TILE_WORD_kind_max) all.high = INFINITY;
    if (r->uncertain && r->kind == TILE_WORD_kind_min) all.low = -INFINITY;
    return all;
}

/* Rounds to the elements' type, if they are combined in a wider one. */
static tile_interval round_result(const running *r, tile_interval all) {
    bool exact = range_is_point(all) && tile_scalar_round(r->type, all.low) == all.low;
    if (r->type == r->precision || exact) return all;
    tile_error error = tile_op_error_of(TILE_OP_add, r->type, false);
    return range_widen(&error, r->type, all, 0);
}

/* The logarithm of a sum, whose exponentials are those of rounded differences, and the largest
 * element, to which it is added. */
static double log_sum_error(const running *r, tile_interval all) {
    const double unit = tile_scalar_rounding(r->precision), count = (double)r->count;
    double size = range_size(all) + log(count + 1);
    return 4 * tile_sum_error(r->precision, r->count) + 8 * unit * (size + 1);
}

/* value: the result of level 1. */
static tile_interval finish(const running *r, double value) {
    tile_interval all = r->all;
    if (is_extreme(r)) return finish_extreme(r, value);
    if (r->uncertain) return range_of_type(r->type);
    if (!r->number || r->nan) return range_point(value);
    if (isnan(all.low) || isnan(all.high)) return r->points ? range_point(NAN) : range_anything();
    if (!tile_scalar_is_floating(r->type)) return all;
    double off = tile_sum_error(r->precision, r->count) * r->size;
    bool exact = r->whole && r->size * tile_scalar_rounding(r->precision) <= 1;
    if (is_log_sum(r)) off = isinf(value) ? 0 : log_sum_error(r, all);
    if ((is_log_sum(r) || (is_sum(r) && !exact)) && isfinite(off)) {
        all.low -= off;
        all.high += off;
    }
    return range_overflow(r->type, round_result(r, all));
}

/* Planes --------------------------------------------------------------------------------------- */

typedef struct ranges {
    double *low, *high;
} ranges;

static bool open(evaluation *e, tile_value result, ranges *to) {
    to->low = evaluation_create_plane(e, PLANE_LOW, result);
    to->high = evaluation_create_plane(e, PLANE_HIGH, result);
    return to->low && to->high;
}

static void finish_rows(const ranges *to, size_t i, tile_interval r) {
    to->low[i] = r.low;
    to->high[i] = r.high;
}

/* Computes operand 0 along the axis with ranges; false if its results are exact. */
static bool compare_range(evaluation *e, tile_op op, bool rounds, tile_rows *rows) {
    tile_compute_array a;
    int64_t axis = evaluation_attr(e, op, TILE_ATTR_axis, 0);
    if (!evaluation_operand(e, tile_operand_src(e->f, op), &a)) return false;
    *rows = tile_rows_along(a.dims, a.rank, (unsigned)axis);
    return e->planes[PLANE_LOW][tile_operand_src(e->f, op).id] ||
           (rounds && tile_scalar_is_floating(a.scalar));
}

static bool kind_rounds(tile_word kind) {
    return kind == TILE_WORD_kind_add || kind == TILE_WORD_kind_mul ||
           kind == TILE_WORD_kind_logsumexp;
}

/* Operations ----------------------------------------------------------------------------------- */

void evaluation_range_reduce(evaluation *e, tile_op op) {
    tile_rows rows;
    ranges to;
    uint32_t from = tile_operand_src(e->f, op).id;
    tile_value result = tile_op_result(e->f, op, 0);
    tile_word kind = tile_op_word(e->f, op, TILE_ATTR_kind);
    bool nan_wins = tile_op_has_attr(e->f, op, TILE_ATTR_nan);
    if (!compare_range(e, op, kind_rounds(kind), &rows) || !open(e, result, &to)) return;
    for (size_t row = 0; row < rows.outer * rows.inner; row++) {
        running r = start(e, kind, evaluation_scalar(e, result), nan_wins);
        size_t first = tile_row_begin(&rows, row);
        for (size_t i = 0; i < rows.extent; i++)
            add(&r, evaluation_range(e, from, first + i * rows.inner));
        finish_rows(&to, row, finish(&r, e->data[result.id][row]));
    }
}

void evaluation_range_scan(evaluation *e, tile_op op) {
    tile_rows rows;
    ranges to;
    uint32_t from = tile_operand_src(e->f, op).id;
    tile_value result = tile_op_result(e->f, op, 0);
    tile_scan scan = tile_scan_of(e->f, op);
    if (!compare_range(e, op, kind_rounds(scan.kind), &rows) || !open(e, result, &to)) return;
    for (size_t row = 0; row < rows.outer * rows.inner; row++) {
        running r = start(e, scan.kind, evaluation_scalar(e, result), false);
        for (size_t i = 0; i < rows.extent; i++) {
            size_t along = scan.reverse ? rows.extent - 1 - i : i;
            size_t at = tile_row_begin(&rows, row) + along * rows.inner;
            double value = e->data[result.id][at];
            if (scan.exclusive) finish_rows(&to, at, finish(&r, value));
            add(&r, evaluation_range(e, from, at));
            if (!scan.exclusive) finish_rows(&to, at, finish(&r, value));
        }
    }
}

/* The candidates for the largest element; with a sign of -1, for the smallest one. */
typedef struct argmax_candidates {
    tile_interval best;
    size_t first, last;
    bool certain; /* all candidates are the same number */
} argmax_candidates;

static tile_interval turn(tile_interval r, double sign) {
    return sign > 0 ? r : (tile_interval){-r.high, -r.low};
}

/* False if an element may be NaN or anything. */
static bool find_candidates(const evaluation *e, uint32_t from, const tile_rows *rows, size_t first,
                            double sign, argmax_candidates *c) {
    *c = (argmax_candidates){.best = range_point(-INFINITY), .certain = true};
    for (size_t i = 0; i < rows->extent; i++) {
        tile_interval x = turn(evaluation_range(e, from, first + i * rows->inner), sign);
        if (isnan(x.low)) return false;
        c->best = (tile_interval){fmax(c->best.low, x.low), fmax(c->best.high, x.high)};
    }
    c->first = rows->extent;
    for (size_t i = rows->extent; i-- > 0;) {
        tile_interval x = turn(evaluation_range(e, from, first + i * rows->inner), sign);
        if (x.high < c->best.low) continue;
        if (c->first == rows->extent) c->last = i;
        c->first = i;
        c->certain &= x.low == c->best.high;
    }
    return true;
}

void evaluation_range_reduce_arg(evaluation *e, tile_op op) {
    tile_rows rows;
    ranges to, places;
    uint32_t from = tile_operand_src(e->f, op).id;
    tile_value best = tile_op_result(e->f, op, 0), place = tile_op_result(e->f, op, 1);
    double sign = tile_op_word(e->f, op, TILE_ATTR_kind) == TILE_WORD_kind_max ? 1 : -1;
    if (!compare_range(e, op, false, &rows) || !open(e, best, &to) || !open(e, place, &places))
        return;
    for (size_t row = 0; row < rows.outer * rows.inner; row++) {
        argmax_candidates c;
        tile_interval where = {0, rows.extent ? (double)rows.extent - 1 : 0};
        bool numbers = find_candidates(e, from, &rows, tile_row_begin(&rows, row), sign, &c);
        if (numbers && rows.extent)
            where = c.certain ? range_point((double)c.first)
                              : (tile_interval){(double)c.first, (double)c.last};
        finish_rows(&to, row, numbers ? turn(c.best, sign) : range_anything());
        finish_rows(&places, row, where);
    }
}

static void sort_ends(const evaluation *e, uint32_t from, const tile_rows *rows, size_t first,
                      bool high, bool descending, tile_number *row) {
    for (size_t i = 0; i < rows->extent; i++) {
        tile_interval r = evaluation_range(e, from, first + i * rows->inner);
        row[i] = (tile_number){high ? r.high : r.low, 0};
    }
    tile_row_sort(descending, TILE_f64, row, rows->extent);
}

/* The i-th number of a sorted row is between the i-th number of its sorted lower ends and that of
 * its sorted upper ends. */
static void sort_row(const evaluation *e, uint32_t from, const tile_rows *rows, size_t first,
                     bool descending, tile_number *row, const ranges *to) {
    bool anything = false;
    for (size_t i = 0; i < rows->extent; i++)
        anything |= range_is_anything(evaluation_range(e, from, first + i * rows->inner));
    for (unsigned high = 0; high < 2; high++) {
        sort_ends(e, from, rows, first, high, descending, row);
        for (size_t i = 0; i < rows->extent; i++)
            (high ? to->high : to->low)[first + i * rows->inner] = row[i].real;
    }
    for (size_t i = 0; anything && i < rows->extent; i++)
        finish_rows(to, first + i * rows->inner, range_anything());
}

void evaluation_range_sort(evaluation *e, tile_op op) {
    tile_rows rows;
    ranges to;
    bool descending = tile_op_has_attr(e->f, op, TILE_ATTR_descending);
    if (!compare_range(e, op, false, &rows) || !open(e, tile_op_result(e->f, op, 0), &to)) return;
    tile_number *row = malloc(sizeof *row * (rows.extent + 1));
    for (size_t r = 0; row && r < rows.outer * rows.inner; r++)
        sort_row(e, tile_operand_src(e->f, op).id, &rows, tile_row_begin(&rows, r), descending, row,
                 &to);
    if (!row) FAIL(e, "@%s: out of host memory for a row", e->f->name);
    free(row);
}
