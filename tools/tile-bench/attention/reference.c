/* The reference for attention in f64, and the comparison with it. */
#include "tools/tile-bench/attention/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/floats.h"
#include "tools/tile-bench/common/threads.h"

struct bench_reference {
    bench_attention a;
    const bench_pattern *pattern; /* valid during the computation */
    bench_inputs inputs;
    bool all;
    int64_t heads, rows;     /* how many heads are compared, and how many rows of each */
    double *values, *bounds; /* [heads][rows][d]: results, and the error that rounding explains */
};

static void *need(void *memory) {
    if (memory) return memory;
    fputs("error: out of memory\n", stderr);
    exit(1);
}

/* Which rows ----------------------------------------------------------------------------------- */

/* Returns position `index` of `count` positions that are evenly spread over `extent`, including the
 * first and the last one. */
static int64_t spread(int64_t index, int64_t count, int64_t extent) {
    return count > 1 ? index * (extent - 1) / (count - 1) : 0;
}

/* Limits the work to 2^28 products: chooses the rows of at least four heads first, then as many
 * more heads as fit. Decoding problems have few rows per head. */
static void choose_rows(bench_reference *r) {
    const double most_products = 0x1p28, most_values = 0x1p24;
    const bench_attention *a = &r->a;
    double products = 2 * (double)a->n * (double)a->d; /* per row */
    double most = fmin(most_products / products, most_values / (double)a->d);
    int64_t all = a->batch * a->heads;
    r->heads = all;
    r->rows = a->m;
    r->all = (double)a->m * (double)all <= most;
    if (r->all) return;
    int64_t few = all < 4 ? all : 4;
    r->rows = (int64_t)(most / (double)few);
    r->rows = r->rows < 2 ? 2 : r->rows;
    r->rows = r->rows < a->m ? r->rows : a->m;
    int64_t fitting = (int64_t)(most / (double)r->rows);
    r->heads = fitting < few ? few : fitting < all ? fitting : all;
}

/* One row -------------------------------------------------------------------------------------- */

/* The inputs and buffers of a head whose rows are computed. */
typedef struct head_work {
    const bench_reference *r;
    float *q, *k, *v;
    double *most_v;         /* per key: the largest |v| */
    double *p, *sum, *size; /* per row: weights, result, and the sum of weight * |v| */
} head_work;

/* Unit roundoff: half of the distance between 1 and the next larger number. */
static double rounding_of(tile_scalar scalar) {
    return ldexp(1, -(int)tile_scalar_mantissa(scalar) - 1);
}

/* Half of the smallest positive number. */
static double underflow_of(tile_scalar scalar) {
    switch (scalar) {
    case TILE_f16: return 0x1p-25;
    case TILE_e4m3: return 0x1p-10;
    default: return 0x1p-134; /* bf16; an upper bound for wider types */
    }
}

typedef struct row_sums {
    double most;    /* the largest score */
    double largest; /* largest sum of the magnitudes of a score's products */
    double weights;
    double magnitudes; /* sum over the visible keys of the largest |v| of each */
} row_sums;

/* Accumulates both sums in eight parts, so that the loop vectorizes. */
static double multiply(const float *q, const float *k, int64_t d, double *magnitude) {
    enum { PARTS = 8 };
    double sums[PARTS] = {0}, sizes[PARTS] = {0};
    int64_t i = 0;
    for (; i + PARTS <= d; i += PARTS)
        for (int part = 0; part < PARTS; part++) {
            double product = (double)q[i + part] * k[i + part];
            sums[part] += product;
            sizes[part] += fabs(product);
        }
    for (; i < d; i++) {
        double product = (double)q[i] * k[i];
        sums[0] += product;
        sizes[0] += fabs(product);
    }
    for (int part = 1; part < PARTS; part++) {
        sums[0] += sums[part];
        sizes[0] += sizes[part];
    }
    *magnitude = sizes[0];
    return sums[0];
}

static void compute_scores(const head_work *w, int64_t seen, row_sums *s) {
    const int64_t d = w->r->a.d;
    const double scale = bench_attention_scale(&w->r->a);
    for (int64_t j = 0; j < seen; j++) {
        double magnitude;
        w->p[j] = scale * multiply(w->q, w->k + j * d, d, &magnitude);
        if (w->p[j] > s->most) s->most = w->p[j];
        if (scale * magnitude > s->largest) s->largest = scale * magnitude;
    }
}

static row_sums compute_row(const head_work *w, int64_t seen) {
    const int64_t d = w->r->a.d;
    double *restrict sum = w->sum, *restrict size = w->size;
    row_sums s = {.most = -INFINITY};
    compute_scores(w, seen, &s);
    memset(sum, 0, (size_t)d * sizeof *sum);
    memset(size, 0, (size_t)d * sizeof *size);
    for (int64_t j = 0; j < seen; j++) {
        const float *restrict v = w->v + j * d;
        double weight = exp(w->p[j] - s.most);
        s.weights += weight;
        s.magnitudes += w->most_v[j];
        for (int64_t i = 0; i < d; i++) {
            double product = weight * v[i];
            sum[i] += product;
            size[i] += fabs(product);
        }
    }
    return s;
}

/* Returns the error that rounding explains: rounding of the weights to the operand's type (their
 * sum is not rounded), of the result, of a score (truncated f32 sums, and exp2.approx), and of long
 * sums. */
static double bound_of(const bench_type *type, const row_sums *s, double value, double size,
                       int64_t seen) {
    double score = 0x1p-20 * (1 + s->largest), sums = 0x1p-23 * ((double)seen / 16 + 16);
    return rounding_of(type->result) * fabs(value) + underflow_of(type->result) +
           (rounding_of(type->operand) + 2 * score + 2 * sums) * size +
           underflow_of(type->operand) * (s->weights > 0 ? s->magnitudes / s->weights : 0);
}

/* Computes row `index` of the chosen rows of the head. */
static void compute(const head_work *w, int64_t place, int64_t head_index, int64_t index) {
    const bench_reference *r = w->r;
    const bench_attention *a = &r->a;
    int64_t row = spread(index, r->rows, a->m), own = a->n - a->m + row + 1;
    int64_t seen = !a->causal ? a->n : own > 0 ? own : 0;
    size_t to = (size_t)((head_index * r->rows + index) * a->d);
    bench_attention_expand(a, r->pattern, r->inputs, 0, (place * a->m + row) * a->d, (size_t)a->d,
                           w->q);
    row_sums s = compute_row(w, seen);
    double weights = s.weights > 0 ? s.weights : 1;
    for (int64_t i = 0; i < a->d; i++) {
        r->values[to + (size_t)i] = w->sum[i] / weights;
        r->bounds[to + (size_t)i] =
            bound_of(a->type, &s, w->sum[i] / weights, w->size[i] / weights, seen);
    }
}

/* Heads ---------------------------------------------------------------------------------------- */

/* Transposes [d, n], as stored, to [n, d]. */
static void turn(const bench_attention *a, const float *from, float *to) {
    for (int64_t j = 0; j < a->n; j++)
        for (int64_t i = 0; i < a->d; i++) to[j * a->d + i] = from[i * a->n + j];
}

static void find_magnitudes(const head_work *w) {
    const int64_t d = w->r->a.d;
    for (int64_t j = 0; j < w->r->a.n; j++) {
        float most = 0;
        for (int64_t i = 0; i < d; i++) {
            float magnitude = fabsf(w->v[j * d + i]);
            most = magnitude > most ? magnitude : most;
        }
        w->most_v[j] = most;
    }
}

enum { ROWS_AT_ONCE = 16 };

static int64_t shares_of(const bench_reference *r) {
    return (r->rows + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE;
}

/* Computes a share of a head's rows. Each share expands the keys again, which costs little in
 * comparison. */
static void compute_share(size_t number, void *user) {
    const bench_reference *r = user;
    const bench_attention *a = &r->a;
    int64_t h = (int64_t)number / shares_of(r), first = (int64_t)number % shares_of(r);
    int64_t place = spread(h, r->heads, a->batch * a->heads);
    int64_t group = place / a->heads * a->groups + place % a->heads / (a->heads / a->groups);
    size_t keys = (size_t)(a->n * a->d), d = (size_t)a->d;
    head_work w = {.r = r};
    w.k = need(malloc((2 * keys + d) * sizeof *w.k));
    w.v = w.k + keys;
    w.q = w.v + keys;
    w.p = need(malloc((2 * (size_t)a->n + 2 * d) * sizeof *w.p));
    w.most_v = w.p + a->n;
    w.sum = w.most_v + a->n;
    w.size = w.sum + d;
    bool turns = bench_attention_stores_v_transposed(a);
    bench_attention_expand(a, r->pattern, r->inputs, 2, group * (int64_t)keys, keys,
                           turns ? w.k : w.v);
    if (turns) turn(a, w.k, w.v);
    bench_attention_expand(a, r->pattern, r->inputs, 1, group * (int64_t)keys, keys, w.k);
    find_magnitudes(&w);
    first *= ROWS_AT_ONCE;
    for (int64_t i = first; i < r->rows && i < first + ROWS_AT_ONCE; i++) compute(&w, place, h, i);
    free(w.k);
    free(w.p);
}

bench_reference *bench_reference_create(const bench_attention *a, const bench_pattern *pattern,
                                        bench_inputs inputs) {
    bench_reference *r = need(calloc(1, sizeof *r));
    *r = (bench_reference){.a = *a, .pattern = pattern, .inputs = inputs};
    choose_rows(r);
    size_t values = bench_reference_rows(r) * (size_t)a->d;
    r->values = need(malloc(2 * values * sizeof *r->values));
    r->bounds = r->values + values;
    bench_share((size_t)(r->heads * shares_of(r)), compute_share, r);
    return r;
}

void bench_reference_destroy(bench_reference *reference) {
    if (!reference) return;
    free(reference->values);
    free(reference);
}

size_t bench_reference_rows(const bench_reference *reference) {
    return (size_t)(reference->heads * reference->rows);
}

/* Comparing ------------------------------------------------------------------------------------ */

/* Finds a NaN or an infinity anywhere in the result. */
static bool find_unfinished(const bench_reference *r, const void *o, bench_error *error) {
    const bench_attention *a = &r->a;
    tile_scalar scalar = a->type->result;
    size_t count = (size_t)(a->batch * a->heads * a->m * a->d);
    size_t found = bench_find_nonfinite(scalar, o, count);
    if (found == count) return false;
    int64_t i = (int64_t)found;
    double got = tile_scalar_read(scalar, (const char *)o + found * tile_scalar_bytes(scalar));
    snprintf(error->wrong, sizeof error->wrong, "%s: element [%lld, %lld, %lld, %lld] is %s",
             bench_inputs_name(r->inputs), (long long)(i / (a->heads * a->m * a->d)),
             (long long)(i / (a->m * a->d) % a->heads), (long long)(i / a->d % a->m),
             (long long)(i % a->d), isnan(got) ? "NaN" : "infinite");
    return true;
}

typedef struct sums {
    double differences, squares;
} sums;

static void compare_row(const bench_reference *r, const void *o, int64_t h, int64_t index,
                        bench_error *error, sums *all) {
    const bench_attention *a = &r->a;
    tile_scalar scalar = a->type->result;
    int64_t place = spread(h, r->heads, a->batch * a->heads), row = spread(index, r->rows, a->m);
    const char *from =
        (const char *)o + (size_t)((place * a->m + row) * a->d) * tile_scalar_bytes(scalar);
    size_t at = (size_t)((h * r->rows + index) * a->d);
    for (int64_t i = 0; i < a->d; i++) {
        double value = r->values[at + (size_t)i];
        double got = tile_scalar_read(scalar, from + (size_t)i * tile_scalar_bytes(scalar));
        double difference = fabs(got - value), share = difference / r->bounds[at + (size_t)i];
        all->differences += difference * difference;
        all->squares += value * value;
        if (difference > error->most) error->most = difference;
        if (share > 1 && error->share <= 1)
            snprintf(error->wrong, sizeof error->wrong,
                     "%s: element [%lld, %lld, %lld, %lld] is %g, not %g: %.1f times what rounding "
                     "explains",
                     bench_inputs_name(r->inputs), (long long)(place / a->heads),
                     (long long)(place % a->heads), (long long)row, (long long)i, got, value,
                     share);
        if (share > error->share) error->share = share;
    }
}

void bench_reference_compare(const bench_reference *r, const void *o, bench_error *error) {
    sums all = {0, 0};
    *error = (bench_error){.all = r->all};
    if (find_unfinished(r, o, error)) return;
    for (int64_t h = 0; h < r->heads; h++)
        for (int64_t i = 0; i < r->rows; i++) compare_row(r, o, h, i, error, &all);
    error->norm = all.squares > 0 ? sqrt(all.differences / all.squares) : sqrt(all.differences);
}
