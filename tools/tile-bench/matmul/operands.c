/* Generates operands from patterns, and checks results in integers. */
#include "tools/tile-bench/matmul/operands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/statistics.h"

enum { PERIOD = 1048573 }; /* the largest prime below 2^20 */

static void *need(void *memory) {
    if (memory) return memory;
    fputs("error: out of memory\n", stderr);
    exit(1);
}

/* Patterns ------------------------------------------------------------------------------------ */

/* A sum of k products of -1, 0 and 1, each nonzero with probability q, has standard deviation q
 * sqrt(k). The density is chosen so that eight standard deviations stay below the limit. */
static double exact_sum_density(const bench_product *p) {
    double density = tile_scalar_whole_limit(p->type->result) / (8 * sqrt((double)p->k));
    return density < 2.0 / 3 ? density : 2.0 / 3;
}

/* Returns PERIOD numbers for operand 0 or 1. */
static int8_t *make_pattern(const bench_product *p, unsigned operand) {
    int8_t *pattern = need(malloc(PERIOD));
    uint64_t state = 17 + operand, scale = UINT64_C(1) << 40;
    uint64_t nonzero = (uint64_t)(exact_sum_density(p) * (double)scale);
    for (unsigned i = 0; i < PERIOD; i++) {
        uint64_t r = bench_random(&state, scale);
        pattern[i] = (int8_t)(r >= nonzero ? 0 : r & 1 ? 1 : -1);
    }
    return pattern;
}

static double random_number(tile_scalar scalar, uint64_t *state) {
    if (tile_scalar_is_floating(scalar))
        return (double)bench_random(state, 1 << 24) * 0x1p-24 - 0.5;
    return (double)bench_random(state, 256) - 128;
}

static tile_status fill_operand(const bench_product *p, bench_fill fill, unsigned operand,
                                tile_buffer *buffer) {
    tile_scalar scalar = p->type->operand;
    size_t width = tile_scalar_bytes(scalar), bytes = tile_buffer_size(buffer);
    int8_t *pattern = make_pattern(p, operand);
    char *data = need(malloc(PERIOD * width));
    uint64_t state = 99 + operand;
    tile_status status = TILE_OK;
    for (size_t i = 0; i < PERIOD; i++)
        tile_scalar_write(scalar, data + i * width,
                          fill == BENCH_WHOLE ? pattern[i] : random_number(scalar, &state));
    for (size_t at = 0; at < bytes && status == TILE_OK; at += PERIOD * width) {
        size_t rest = bytes - at;
        status = tile_buffer_write(buffer, at, data, rest < PERIOD * width ? rest : PERIOD * width);
    }
    free(data);
    free(pattern);
    return status;
}

tile_status bench_fill_operands(const bench_product *product, bench_fill fill, tile_buffer *a,
                                tile_buffer *b) {
    tile_status status = fill_operand(product, fill, 0, a);
    return status == TILE_OK ? fill_operand(product, fill, 1, b) : status;
}

tile_status bench_poison(tile_scalar scalar, tile_buffer *c) {
    enum { PIECE = 1 << 20 };
    size_t bytes = tile_buffer_size(c);
    /* Fills floats with NaN, and integers with a number far from 0. */
    int byte = tile_scalar_is_floating(scalar) ? 0xff : 0x7f;
    char *data = need(malloc(PIECE));
    tile_status status = TILE_OK;
    memset(data, byte, PIECE);
    for (size_t at = 0; at < bytes && status == TILE_OK; at += PIECE)
        status = tile_buffer_write(c, at, data, bytes - at < PIECE ? bytes - at : PIECE);
    free(data);
    return status;
}

/* The check ----------------------------------------------------------------------------------- */

typedef struct check {
    const bench_product *p;
    int8_t *a, *b; /* patterns */
    int32_t *c;
} check;

/* Element [row, column] of an operand is pattern[row * down + column * right]. */
typedef struct strides {
    int64_t down, right;
} strides;

static strides strides_of(int64_t rows, int64_t columns, bool transposed) {
    return transposed ? (strides){1, rows} : (strides){columns, 1};
}

/* Reads the result as integers. The first non-integer element is reported in the verdict. */
static tile_status read_result(check *x, const tile_buffer *buffer, bench_verdict *verdict) {
    tile_scalar scalar = x->p->type->result;
    size_t width = tile_scalar_bytes(scalar), count = (size_t)(x->p->m * x->p->n);
    char *data = need(malloc(count * width));
    tile_status status = tile_buffer_read(buffer, 0, data, count * width);
    x->c = need(malloc(count * sizeof *x->c));
    for (size_t i = 0; i < count && status == TILE_OK; i++) {
        double value = tile_scalar_read(scalar, data + i * width);
        bool whole = fabs(value) < 0x1p30 && value == floor(value);
        x->c[i] = whole ? (int32_t)value : INT32_MAX;
        if (whole || *verdict->wrong) continue;
        char text[32] = "NaN"; /* whatever its sign */
        if (!isnan(value)) snprintf(text, sizeof text, "%g", value);
        snprintf(verdict->wrong, sizeof verdict->wrong,
                 "element [%lld, %lld] is %s, which is no such sum",
                 (long long)((int64_t)i / x->p->n), (long long)((int64_t)i % x->p->n), text);
    }
    free(data);
    return status;
}

/* Expands b in the orientation of the product, so that one division per row is enough. */
static int8_t *expand(const int8_t *pattern, strides s, int64_t rows, int64_t columns) {
    int8_t *all = need(malloc((size_t)(rows * columns)));
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0, at = i * s.down % PERIOD; j < columns; j++) {
            all[i * columns + j] = pattern[at];
            at = (at + s.right) % PERIOD;
        }
    return all;
}

static void compare_row(const check *x, int64_t row, const int32_t *sums, bench_verdict *verdict) {
    for (int64_t j = 0; j < x->p->n && !*verdict->wrong; j++) {
        int32_t got = x->c[row * x->p->n + j];
        if (got != sums[j])
            snprintf(verdict->wrong, sizeof verdict->wrong, "element [%lld, %lld] is %d, not %d",
                     (long long)row, (long long)j, got, sums[j]);
    }
}

static void check_elements(const check *x, bench_verdict *verdict) {
    const bench_product *p = x->p;
    strides sa = strides_of(p->m, p->k, p->transposed_a);
    int8_t *b = expand(x->b, strides_of(p->k, p->n, p->transposed_b), p->k, p->n);
    int32_t *sums = need(malloc((size_t)p->n * sizeof *sums));
    verdict->by_elements = true;
    for (int64_t i = 0; i < p->m && !*verdict->wrong; i++) {
        memset(sums, 0, (size_t)p->n * sizeof *sums);
        for (int64_t t = 0; t < p->k; t++) {
            int factor = x->a[(i * sa.down + t * sa.right) % PERIOD];
            const int8_t *row = b + t * p->n;
            for (int64_t j = 0; factor && j < p->n; j++) sums[j] += factor * row[j];
        }
        compare_row(x, i, sums, verdict);
    }
    free(sums);
    free(b);
}

/* Computes y = M x for an operand. Runs along the pattern, in either orientation, in pieces that
 * end where the pattern repeats. */
static void multiply(const int8_t *pattern, strides s, int64_t rows, int64_t columns,
                     const int64_t *x, int64_t *y) {
    bool by_rows = s.right == 1;
    int64_t lines = by_rows ? rows : columns, length = by_rows ? columns : rows;
    memset(y, 0, (size_t)rows * sizeof *y);
    for (int64_t line = 0; line < lines; line++) {
        int64_t at = line * (by_rows ? s.down : s.right) % PERIOD;
        for (int64_t done = 0, piece; done < length; done += piece, at = 0) {
            piece = length - done < PERIOD - at ? length - done : PERIOD - at;
            const int8_t *from = pattern + at;
            int64_t sum = 0;
            for (int64_t i = 0; by_rows && i < piece; i++) sum += from[i] * x[done + i];
            for (int64_t i = 0; !by_rows && i < piece; i++) y[done + i] += from[i] * x[line];
            if (by_rows) y[line] += sum;
        }
    }
}

/* Checks c x = a (b x) for a random integer vector x in [-512, 512). A wrong row of c passes a
 * round with a probability of at most 1 / 1024 (R. Freivalds, "Probabilistic machines can use less
 * running time", 1977). All sums are below 2^63. */
static void check_by_freivalds(const check *x, uint64_t round, bench_verdict *verdict) {
    const bench_product *p = x->p;
    strides sa = strides_of(p->m, p->k, p->transposed_a);
    strides sb = strides_of(p->k, p->n, p->transposed_b);
    int64_t *v = need(malloc((size_t)(p->n + p->k + p->m) * sizeof *v));
    int64_t *bv = v + p->n, *abv = bv + p->k;
    for (int64_t j = 0; j < p->n; j++) v[j] = (int64_t)bench_random(&round, 1024) - 512;
    multiply(x->b, sb, p->k, p->n, v, bv);
    multiply(x->a, sa, p->m, p->k, bv, abv);
    for (int64_t i = 0; i < p->m && !*verdict->wrong; i++) {
        int64_t sum = 0;
        for (int64_t j = 0; j < p->n; j++) sum += x->c[i * p->n + j] * v[j];
        if (sum != abv[i])
            snprintf(verdict->wrong, sizeof verdict->wrong, "row %lld is wrong, by Freivalds' test",
                     (long long)i);
    }
    free(v);
}

tile_status bench_check_result(const bench_product *product, const tile_buffer *c,
                               bench_verdict *verdict) {
    /* Larger problems use Freivalds' test; this many products take a tenth of a second. */
    const double most_products = 0x1p26;
    check x = {.p = product};
    *verdict = (bench_verdict){0};
    tile_status status = read_result(&x, c, verdict);
    if (status == TILE_OK && !*verdict->wrong) {
        x.a = make_pattern(product, 0);
        x.b = make_pattern(product, 1);
        if (bench_product_flop(product) / 2 <= most_products)
            check_elements(&x, verdict);
        else
            for (uint64_t round = 1; round <= 3 && !*verdict->wrong; round++)
                check_by_freivalds(&x, round * 12345, verdict);
    }
    free(x.a);
    free(x.b);
    free(x.c);
    return status;
}
