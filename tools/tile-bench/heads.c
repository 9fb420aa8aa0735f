/* Inputs and results of attention. */
#include "tools/tile-bench/heads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/statistics.h"

static const struct {
    const char *name, *meaning;
} checks[BENCH_INPUTS_COUNT] = {
#define CHECK(name, meaning) {#name, meaning},
#include "tools/tile-bench/checks.def"
#undef CHECK
};

const char *bench_inputs_name(unsigned inputs) {
    return inputs < BENCH_INPUTS_COUNT ? checks[inputs].name : NULL;
}

bool bench_inputs_find(const char *name, bench_inputs *inputs) {
    for (unsigned i = 0; i < BENCH_INPUTS_COUNT; i++)
        if (strcmp(checks[i].name, name) == 0) {
            *inputs = (bench_inputs)i;
            return true;
        }
    return false;
}

void bench_inputs_describe(void) {
    for (unsigned i = 0; i < BENCH_INPUTS_COUNT; i++)
        printf("                          %-8s %s\n", checks[i].name, checks[i].meaning);
}

/* Sizes --------------------------------------------------------------------------------------- */

double bench_attention_flop(const bench_attention *a) {
    double m = (double)a->m, n = (double)a->n, own = m < n ? m : n;
    double scores = a->causal ? own * (n - own) + own * own / 2 : m * n;
    return 4 * (double)a->batch * (double)a->heads * (double)a->d * scores;
}

double bench_attention_read_bytes(const bench_attention *a) {
    double q = (double)a->heads * (double)a->m, keys = 2 * (double)a->groups * (double)a->n;
    return tile_scalar_bytes(a->type->operand) * (double)a->batch * (double)a->d * (q + keys);
}

double bench_attention_write_bytes(const bench_attention *a) {
    return tile_scalar_bytes(a->type->result) * (double)a->batch * (double)a->heads * (double)a->m *
           (double)a->d;
}

double bench_attention_scale(const bench_attention *a) {
    return (float)(1 / sqrt((double)a->d));
}

bool bench_attention_turns_v(const bench_attention *a) {
    return tile_scalar_bytes(a->type->operand) == 1;
}

/* Inputs -------------------------------------------------------------------------------------- */

enum { PERIOD = 1048573 }; /* the largest prime below 2^20 */

struct bench_pattern {
    float numbers[3][PERIOD];
};

static void *need(void *memory) {
    if (memory) return memory;
    fputs("error: out of memory\n", stderr);
    exit(1);
}

/* The sum of four uniform numbers, with the standard deviation 1. */
bench_pattern *bench_pattern_create(void) {
    const double words = 65536, mean = 2 * (words - 1), deviation = words / sqrt(3);
    bench_pattern *p = need(malloc(sizeof *p));
    for (unsigned array = 0; array < 3; array++) {
        uint64_t state = 7 + array;
        for (unsigned i = 0; i < PERIOD; i++) {
            uint64_t r = bench_random(&state, UINT64_MAX), sum = 0;
            for (; r; r >>= 16) sum += r & 0xffff;
            p->numbers[array][i] = (float)(((double)sum - mean) / deviation);
        }
    }
    return p;
}

void bench_pattern_destroy(bench_pattern *pattern) {
    free(pattern);
}

static double factor_of(const bench_attention *a, bench_inputs inputs, unsigned array,
                        int64_t row) {
    double place = (double)row / (double)a->n;
    if (inputs == BENCH_INPUTS_large) return array == 0 ? 6 : 1;
    if (array != 1) return 1;
    switch (inputs) {
    case BENCH_INPUTS_late: return 0.2 + 12 * place;
    case BENCH_INPUTS_early: return 12.2 - 12 * place;
    case BENCH_INPUTS_spiky: return row % 97 == 31 ? 8 : 1;
    default: return 1;
    }
}

void bench_attention_fill(const bench_attention *a, const bench_pattern *pattern,
                          bench_inputs inputs, unsigned array, int64_t first, size_t count,
                          void *out) {
    tile_scalar scalar = a->type->operand;
    size_t width = tile_scalar_bytes(scalar);
    int64_t rows = array == 0 ? a->m : a->n;
    const bool repeats = array == 1 && inputs == BENCH_INPUTS_equal;
    const float *numbers = pattern->numbers[array];
    for (size_t i = 0; i < count;) {
        int64_t element = first + (int64_t)i, row = element / a->d % rows;
        size_t rest = (size_t)(a->d - element % a->d), end = i + rest < count ? i + rest : count;
        int64_t at = (element - (repeats ? row * a->d : 0)) % PERIOD;
        double factor = factor_of(a, inputs, array, row);
        for (; i < end; i++, at = at + 1 == PERIOD ? 0 : at + 1)
            tile_scalar_write(scalar, (char *)out + i * width, factor * numbers[at]);
    }
}

/* The check ----------------------------------------------------------------------------------- */

typedef struct check {
    const bench_attention *a;
    const char *o;
    bench_inputs inputs;
    float *k, *v;           /* of one group */
    double *p, *sum, *size; /* a row's: weights, result, and that of |v| */
    float *q;
    double differences, squares;
    bench_error *error;
} check;

/* The elements as they are after rounding. */
static void expand(const check *x, const bench_pattern *pattern, unsigned array, int64_t first,
                   size_t count, float *to) {
    enum { PIECE = 4096 };
    tile_scalar scalar = x->a->type->operand;
    char piece[PIECE * 8];
    for (size_t done = 0; done < count; done += PIECE) {
        size_t now = count - done < PIECE ? count - done : PIECE;
        bench_attention_fill(x->a, pattern, x->inputs, array, first + (int64_t)done, now, piece);
        for (size_t i = 0; i < now; i++)
            to[done + i] = (float)tile_scalar_read(scalar, piece + i * tile_scalar_bytes(scalar));
    }
}

/* From [d, n], as it lies, to [n, d]. */
static void turn(const check *x, const float *from, float *to) {
    const int64_t n = x->a->n, d = x->a->d;
    for (int64_t j = 0; j < n; j++)
        for (int64_t i = 0; i < d; i++) to[j * d + i] = from[i * n + j];
}

/* Half of the distance between 1 and the number behind it. */
static double rounding_of(tile_scalar scalar) {
    return ldexp(1, -(int)tile_scalar_mantissa(scalar) - 1);
}

/* Half of the smallest number above 0. */
static double underflow_of(tile_scalar scalar) {
    switch (scalar) {
    case TILE_f16: return 0x1p-25;
    case TILE_e4m3: return 0x1p-10;
    default: return 0x1p-134; /* bf16; less of what is wider */
    }
}

typedef struct row_sums {
    double most;    /* the largest score */
    double largest; /* sum of the magnitudes of a score's products */
    double weights;
    double magnitudes; /* of all v that count, each key's largest */
} row_sums;

/* The row in f64. */
static row_sums compute_row(const check *x, int64_t seen) {
    const int64_t d = x->a->d;
    const double scale = bench_attention_scale(x->a);
    row_sums s = {.most = -INFINITY};
    for (int64_t j = 0; j < seen; j++) {
        double sum = 0, magnitude = 0;
        for (int64_t i = 0; i < d; i++) {
            double product = (double)x->q[i] * x->k[j * d + i];
            sum += product;
            magnitude += fabs(product);
        }
        x->p[j] = scale * sum;
        s.most = fmax(s.most, x->p[j]);
        s.largest = fmax(s.largest, scale * magnitude);
    }
    memset(x->sum, 0, (size_t)d * sizeof *x->sum);
    memset(x->size, 0, (size_t)d * sizeof *x->size);
    for (int64_t j = 0; j < seen; j++) {
        double weight = exp(x->p[j] - s.most), most = 0;
        s.weights += weight;
        for (int64_t i = 0; i < d; i++) {
            x->sum[i] += weight * x->v[j * d + i];
            x->size[i] += weight * fabs((double)x->v[j * d + i]);
            most = fmax(most, fabs((double)x->v[j * d + i]));
        }
        s.magnitudes += most;
    }
    return s;
}

/* What rounding explains: of the weights to the operand's type (their sum is not rounded so), of
 * the result, of a score (sums of f32 that cut off, and exp2.approx), and of long sums. */
static double bound_of(const check *x, const row_sums *s, double value, double size, int64_t seen) {
    const bench_type *type = x->a->type;
    double score = 0x1p-20 * (1 + s->largest), sums = 0x1p-23 * ((double)seen / 16 + 16);
    return rounding_of(type->result) * fabs(value) + underflow_of(type->result) +
           (rounding_of(type->operand) + 2 * score + 2 * sums) * size +
           underflow_of(type->operand) * (s->weights > 0 ? s->magnitudes / s->weights : 0);
}

static void check_row(check *x, int64_t batch, int64_t head, int64_t row) {
    const bench_attention *a = x->a;
    tile_scalar scalar = a->type->result;
    int64_t own = a->n - a->m + row + 1, seen = !a->causal ? a->n : own > 0 ? own : 0;
    int64_t first = ((batch * a->heads + head) * a->m + row) * a->d;
    row_sums s = compute_row(x, seen);
    for (int64_t i = 0; i < a->d; i++) {
        double weights = s.weights > 0 ? s.weights : 1, value = x->sum[i] / weights;
        double got =
            tile_scalar_read(scalar, x->o + (size_t)(first + i) * tile_scalar_bytes(scalar));
        double difference = fabs(got - value);
        double share = difference / bound_of(x, &s, value, x->size[i] / weights, seen);
        x->differences += difference * difference;
        x->squares += value * value;
        x->error->most = fmax(x->error->most, difference);
        if (share > 1 && x->error->share <= 1)
            snprintf(x->error->wrong, sizeof x->error->wrong,
                     "%s: element [%lld, %lld, %lld, %lld] is %g, not %g: %.1f times what rounding "
                     "explains",
                     checks[x->inputs].name, (long long)batch, (long long)head, (long long)row,
                     (long long)i, got, value, share);
        x->error->share = fmax(x->error->share, share);
    }
}

/* A NaN or an infinity anywhere. */
static bool find_unfinished(check *x) {
    const bench_attention *a = x->a;
    tile_scalar scalar = a->type->result;
    int64_t count = a->batch * a->heads * a->m * a->d;
    for (int64_t i = 0; i < count; i++) {
        double got = tile_scalar_read(scalar, x->o + (size_t)i * tile_scalar_bytes(scalar));
        if (isfinite(got)) continue;
        snprintf(x->error->wrong, sizeof x->error->wrong,
                 "%s: element [%lld, %lld, %lld, %lld] is %s", checks[x->inputs].name,
                 (long long)(i / (a->heads * a->m * a->d)),
                 (long long)(i / (a->m * a->d) % a->heads), (long long)(i / a->d % a->m),
                 (long long)(i % a->d), isnan(got) ? "NaN" : "infinite");
        return true;
    }
    return false;
}

/* Number `index` of `count` places, the first and the last of `extent` among them. */
static int64_t spread(int64_t index, int64_t count, int64_t extent) {
    return count > 1 ? index * (extent - 1) / (count - 1) : 0;
}

static void check_rows(check *x, const bench_pattern *pattern) {
    const double most_products = 0x1p28;
    const bench_attention *a = x->a;
    double products = 2 * (double)a->n * (double)a->d; /* of a row */
    int64_t all = a->batch * a->heads, heads = all, rows = a->m;
    x->error->all = products * (double)a->m * (double)all <= most_products;
    if (!x->error->all) {
        heads = all < 4 ? all : 4;
        rows = (int64_t)(most_products / products / (double)heads);
        rows = rows < 2 ? 2 : rows;
        rows = rows < a->m ? rows : a->m;
    }
    for (int64_t h = 0; h < heads; h++) {
        int64_t place = spread(h, heads, all), batch = place / a->heads, head = place % a->heads;
        int64_t group = batch * a->groups + head / (a->heads / a->groups);
        size_t count = (size_t)(a->n * a->d);
        expand(x, pattern, 2, group * a->n * a->d, count, bench_attention_turns_v(a) ? x->k : x->v);
        if (bench_attention_turns_v(a)) turn(x, x->k, x->v);
        expand(x, pattern, 1, group * a->n * a->d, count, x->k);
        for (int64_t r = 0; r < rows; r++) {
            int64_t row = spread(r, rows, a->m);
            expand(x, pattern, 0, (place * a->m + row) * a->d, (size_t)a->d, x->q);
            check_row(x, batch, head, row);
        }
    }
}

void bench_attention_check(const bench_attention *a, const bench_pattern *pattern,
                           bench_inputs inputs, const void *o, bench_error *error) {
    size_t keys = (size_t)(a->n * a->d), d = (size_t)a->d;
    *error = (bench_error){0};
    check x = {.a = a, .o = o, .inputs = inputs, .error = error};
    if (find_unfinished(&x)) return;
    x.k = need(malloc(2 * keys * sizeof *x.k));
    x.v = x.k + keys;
    x.q = need(malloc(d * sizeof *x.q));
    x.p = need(malloc(((size_t)a->n + 2 * d) * sizeof *x.p));
    x.sum = x.p + a->n;
    x.size = x.sum + d;
    check_rows(&x, pattern);
    error->norm = x.squares > 0 ? sqrt(x.differences / x.squares) : sqrt(x.differences);
    free(x.k);
    free(x.q);
    free(x.p);
}
