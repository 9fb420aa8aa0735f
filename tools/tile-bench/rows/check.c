#include "tools/tile-bench/rows/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/statistics.h"

enum { PERIOD = 1048573 }; /* x repeats so many numbers; the largest prime below 2^20 */

static void *need(void *memory) {
    if (memory) return memory;
    fputs("error: out of memory\n", stderr);
    exit(1);
}

/* Operands ------------------------------------------------------------------------------------ */

typedef enum array { ARRAY_X, ARRAY_W, ARRAY_B } array;

/* The numbers of an array, rounded to the operand's type. x repeats them. */
static double *make_numbers(const bench_rows *r, bench_fill fill, array which, size_t count) {
    const bool whole = fill == BENCH_WHOLE && bench_rows_op_of(r->op)->exact;
    double *numbers = need(malloc(count * sizeof *numbers));
    uint64_t state = 41 + (uint64_t)which;
    for (size_t i = 0; i < count; i++) {
        char rounded[8];
        double value = whole ? (double)bench_random(&state, 17) - 8
                             : (double)bench_random(&state, 1 << 24) * 0x1p-22 - 2;
        if (which == ARRAY_W) value = 1 + value / 4;
        tile_scalar_write(r->type->operand, rounded, value);
        numbers[i] = tile_scalar_read(r->type->operand, rounded);
    }
    return numbers;
}

static tile_status fill_array(const bench_rows *r, bench_fill fill, array which,
                              tile_buffer *buffer) {
    size_t width = tile_scalar_bytes(r->type->operand), bytes = tile_buffer_size(buffer);
    size_t count = bytes / width < PERIOD ? bytes / width : PERIOD;
    double *numbers = make_numbers(r, fill, which, count);
    char *data = need(malloc(count * width));
    tile_status status = TILE_OK;
    for (size_t i = 0; i < count; i++)
        tile_scalar_write(r->type->operand, data + i * width, numbers[i]);
    for (size_t at = 0; at < bytes && status == TILE_OK; at += count * width) {
        size_t rest = bytes - at;
        status = tile_buffer_write(buffer, at, data, rest < count * width ? rest : count * width);
    }
    free(data);
    free(numbers);
    return status;
}

tile_status bench_rows_fill(const bench_rows *r, bench_fill fill, tile_buffer *x, tile_buffer *w,
                            tile_buffer *b) {
    tile_status status = fill_array(r, fill, ARRAY_X, x);
    if (status == TILE_OK) status = fill_array(r, fill, ARRAY_W, w);
    return status == TILE_OK ? fill_array(r, fill, ARRAY_B, b) : status;
}

/* The reference ------------------------------------------------------------------------------- */

/* Sums of f32 in any order of a kernel are within this of their terms' magnitudes. */
static const double sum_share = 1e-5;

static void expect_softmax(const double *x, int64_t n, double *y, double *bounds) {
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; j++) top = fmax(top, x[j]);
    for (int64_t j = 0; j < n; j++) sum += y[j] = exp(x[j] - top);
    for (int64_t j = 0; j < n; j++) {
        y[j] /= sum;
        bounds[j] = sum_share * y[j];
    }
}

static void expect_norm(bench_rows_id op, const double *x, const double *w, const double *b,
                        int64_t n, double *y, double *bounds) {
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < n && op == BENCH_ROWS_layer_norm; j++) mean += x[j] / (double)n;
    for (int64_t j = 0; j < n; j++) squares += (x[j] - mean) * (x[j] - mean);
    double scale = 1 / sqrt(squares / (double)n + BENCH_ROWS_EPSILON);
    for (int64_t j = 0; j < n; j++) {
        double bias = op == BENCH_ROWS_layer_norm ? b[j] : 0;
        y[j] = (x[j] - mean) * scale * w[j] + bias;
        /* x - mean cancels; so may the bias. */
        bounds[j] = sum_share * ((fabs(x[j]) + fabs(mean)) * scale * fabs(w[j]) + fabs(bias));
    }
}

static double expect_column(bench_rows_id op, const double *x, int64_t n) {
    double sum = 0;
    int64_t top = 0;
    for (int64_t j = 0; j < n; j++) {
        sum += x[j];
        top = x[j] > x[top] ? j : top;
    }
    return op == BENCH_ROWS_sum ? sum : op == BENCH_ROWS_max ? x[top] : (double)top;
}

/* The row of x that the row of y is computed from; a column of x if it is turned. */
static void gather(const bench_rows *r, const double *pattern, int64_t row, double *x) {
    bool turned = bench_rows_op_of(r->op)->form == BENCH_FORM_turned;
    int64_t count = turned ? r->m : r->n, step = turned ? r->n : 1;
    int64_t at = (turned ? row : row * r->n) % PERIOD;
    for (int64_t j = 0; j < count; j++) {
        x[j] = pattern[at];
        at = (at + step) % PERIOD;
    }
}

/* Computes a row of y, not rounded, and how far each element may be off before it is rounded. */
static void expect(const bench_rows *r, const double *pattern, const double *w, const double *b,
                   int64_t row, double *y, double *bounds) {
    const bench_rows_form form = bench_rows_op_of(r->op)->form;
    int64_t count = form == BENCH_FORM_turned ? r->m : r->n;
    double *x = need(malloc((size_t)count * sizeof *x)), sum = 0;
    gather(r, pattern, row, x);
    for (int64_t j = 0; j < (form == BENCH_FORM_column ? 1 : count); j++) bounds[j] = 0;
    switch (r->op) {
    case BENCH_ROWS_softmax: expect_softmax(x, r->n, y, bounds); break;
    case BENCH_ROWS_layer_norm:
    case BENCH_ROWS_rms_norm: expect_norm(r->op, x, w, b, r->n, y, bounds); break;
    case BENCH_ROWS_sum:
    case BENCH_ROWS_max:
    case BENCH_ROWS_argmax: *y = expect_column(r->op, x, r->n); break;
    case BENCH_ROWS_scan:
        for (int64_t j = 0; j < r->n; j++) y[j] = sum += x[j];
        break;
    case BENCH_ROWS_transpose: memcpy(y, x, (size_t)count * sizeof *x); break;
    case BENCH_ROWS_COUNT: break;
    }
    free(x);
}

/* The check ----------------------------------------------------------------------------------- */

/* True if the number is a rounding of one within the bound. */
static bool is_right(tile_scalar scalar, double got, double expected, double bound) {
    char low[8], high[8];
    tile_scalar_write(scalar, low, expected - bound);
    tile_scalar_write(scalar, high, expected + bound);
    return got >= tile_scalar_read(scalar, low) && got <= tile_scalar_read(scalar, high);
}

typedef struct check {
    const bench_rows *r;
    double *x, *w, *b; /* x: its period */
    double *expected, *bounds;
    char *data;
    int64_t extents[2];
} check;

static tile_status check_row(const check *c, const tile_buffer *y, int64_t row,
                             bench_verdict *verdict) {
    tile_scalar scalar = bench_rows_result(c->r);
    size_t width = tile_scalar_bytes(scalar), bytes = (size_t)c->extents[1] * width;
    tile_status status = tile_buffer_read(y, (size_t)row * bytes, c->data, bytes);
    expect(c->r, c->x, c->w, c->b, row, c->expected, c->bounds);
    for (int64_t j = 0; j < c->extents[1] && status == TILE_OK && !*verdict->wrong; j++) {
        double got = tile_scalar_read(scalar, c->data + (size_t)j * width);
        if (is_right(scalar, got, c->expected[j], c->bounds[j])) continue;
        snprintf(verdict->wrong, sizeof verdict->wrong, "element [%lld, %lld] is %.9g, not %.9g",
                 (long long)row, (long long)j, got, c->expected[j]);
    }
    return status;
}

tile_status bench_rows_check(const bench_rows *r, const tile_buffer *y, bench_verdict *verdict) {
    const int64_t most = 1 << 20; /* elements of x that are compared */
    const size_t longest = (size_t)(r->m > r->n ? r->m : r->n), n = (size_t)r->n;
    check c = {.r = r};
    uint64_t state = 7;
    tile_status status = TILE_OK;
    bench_rows_result_extents(r, c.extents);
    c.x = make_numbers(r, BENCH_WHOLE, ARRAY_X, PERIOD);
    c.w = make_numbers(r, BENCH_WHOLE, ARRAY_W, n);
    c.b = make_numbers(r, BENCH_WHOLE, ARRAY_B, n);
    c.expected = need(malloc(longest * sizeof *c.expected));
    c.bounds = need(malloc(longest * sizeof *c.bounds));
    c.data = need(malloc(longest * 8));
    int64_t rows = c.extents[0], some = most / (r->m * r->n / rows) + 2;
    *verdict = (bench_verdict){.by_elements = rows <= some};
    for (int64_t i = 0; i < (rows < some ? rows : some) && status == TILE_OK && !*verdict->wrong;
         i++) {
        int64_t row = rows <= some ? i
                      : i == 0     ? 0
                      : i == 1     ? rows - 1
                                   : (int64_t)bench_random(&state, (uint64_t)rows);
        status = check_row(&c, y, row, verdict);
    }
    free(c.x);
    free(c.w);
    free(c.b);
    free(c.expected);
    free(c.bounds);
    free(c.data);
    return status;
}
