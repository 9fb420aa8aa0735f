/* Generates operands from patterns, and checks results in integers. */
#include "tools/tile-bench/matmul/operands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/floats.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/common/threads.h"

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

void bench_operands_free(bench_operands *o) {
    for (int i = 0; i < 2; i++) {
        for (int scalar = 0; scalar < TILE_SCALAR_COUNT; scalar++) free(o->random[scalar][i]);
        free(o->whole[i]);
    }
    *o = (bench_operands){0};
}

/* Makes PERIOD whole numbers for operand 0 or 1. */
static void make_pattern(double density, unsigned operand, int8_t *pattern) {
    const uint64_t scale = UINT64_C(1) << 40, nonzero = (uint64_t)(density * (double)scale);
    for (unsigned i = 0; i < PERIOD; i++) {
        uint64_t r = bench_random_at(17 + operand, i) % scale;
        pattern[i] = (int8_t)(r >= nonzero ? 0 : r & 1 ? 1 : -1);
    }
}

static void make_patterns(bench_operands *o, const bench_product *p) {
    double density = exact_sum_density(p);
    if (o->whole[0] && o->density == density) return;
    o->density = density;
    for (unsigned i = 0; i < 2; i++) {
        if (!o->whole[i]) o->whole[i] = need(malloc(PERIOD));
        make_pattern(density, i, o->whole[i]);
    }
}

/* Random numbers are made in pieces, on all cores. */
enum { RANDOM_PIECE = 1 << 14 };

typedef struct random_work {
    tile_scalar scalar;
    unsigned operand;
    char *data;
} random_work;

static void make_random_piece(size_t piece, void *user) {
    const random_work *w = user;
    const bool floating = tile_scalar_is_floating(w->scalar);
    const size_t begin = piece * RANDOM_PIECE, rest = PERIOD - begin;
    const size_t count = rest < RANDOM_PIECE ? rest : RANDOM_PIECE;
    float numbers[RANDOM_PIECE];
    for (size_t i = 0; i < count; i++) {
        uint64_t r = bench_random_at(99 + w->operand, begin + i);
        numbers[i] = floating ? (float)(r % (1 << 24)) * 0x1p-24f - 0.5f : (float)(r % 256) - 128;
    }
    bench_store_floats(w->scalar, numbers, count, w->data + begin * tile_scalar_bytes(w->scalar));
}

static const char *make_random(bench_operands *o, tile_scalar scalar, unsigned operand) {
    char **data = &o->random[scalar][operand];
    if (*data) return *data;
    *data = need(malloc(PERIOD * tile_scalar_bytes(scalar)));
    random_work work = {scalar, operand, *data};
    bench_share((PERIOD + RANDOM_PIECE - 1) / RANDOM_PIECE, make_random_piece, &work);
    return *data;
}

/* Returns the whole numbers as elements. The caller frees them. */
static char *write_pattern(const int8_t *pattern, tile_scalar scalar) {
    size_t width = tile_scalar_bytes(scalar);
    char numbers[3][8], *data = need(malloc(PERIOD * width));
    for (int i = 0; i < 3; i++) tile_scalar_write(scalar, numbers[i], i - 1);
    for (size_t i = 0; i < PERIOD; i++) memcpy(data + i * width, numbers[pattern[i] + 1], width);
    return data;
}

tile_status bench_fill_operands(bench_operands *o, const bench_product *product, bench_fill fill,
                                bench_lab *lab, const bench_memory *a, const bench_memory *b) {
    const tile_scalar scalar = product->type->operand;
    const size_t period = PERIOD * tile_scalar_bytes(scalar);
    tile_status status = TILE_OK;
    if (fill == BENCH_WHOLE) make_patterns(o, product);
    for (unsigned i = 0; i < 2 && status == TILE_OK; i++) {
        char *whole = fill == BENCH_WHOLE ? write_pattern(o->whole[i], scalar) : NULL;
        status =
            bench_memory_repeat(lab, i ? b : a, whole ? whole : make_random(o, scalar, i), period);
        free(whole);
    }
    return status;
}

unsigned char bench_poison(tile_scalar scalar) {
    return tile_scalar_is_floating(scalar) ? 0xff : 0x7f;
}

/* The check ----------------------------------------------------------------------------------- */

/* Work is divided into ranges of rows, of any sizes. ROUNDS: of Freivalds' test. */
enum { MAX_RANGES = 64, ROUNDS = 3 };

typedef struct check {
    const bench_product *p;
    const int8_t *a, *b;   /* patterns */
    const char *data;      /* the result's elements */
    int32_t *c;            /* the result as integers */
    int8_t *whole_b;       /* if elements are compared: b, in the orientation of the product */
    int64_t *v, *bv, *abv; /* if vectors are: ROUNDS vectors v, then b v, then a b v */
    unsigned ranges;
    bench_verdict found[MAX_RANGES]; /* of each range */
} check;

static int64_t begin_of(const check *x, size_t range, int64_t rows) {
    return rows * (int64_t)range / x->ranges;
}

/* Calls work for each range of rows; the verdict is that of the first rows that are wrong. */
static void share_ranges(check *x, int64_t rows, void (*work)(size_t range, void *check),
                         bench_verdict *verdict) {
    const unsigned most = MAX_RANGES;
    x->ranges = rows < most ? (unsigned)rows : most;
    bench_share(x->ranges, work, x);
    for (unsigned i = 0; i < x->ranges && !*verdict->wrong; i++)
        if (*x->found[i].wrong) *verdict = x->found[i];
}

/* Element [row, column] of an operand is pattern[row * down + column * right]. */
typedef struct strides {
    int64_t down, right;
} strides;

static strides strides_of(int64_t rows, int64_t columns, bool transposed) {
    return transposed ? (strides){1, rows} : (strides){columns, 1};
}

static void refuse_element(const check *x, int64_t i, double value, bench_verdict *verdict) {
    char text[32] = "NaN"; /* whatever its sign */
    if (!isnan(value)) snprintf(text, sizeof text, "%g", value);
    snprintf(verdict->wrong, sizeof verdict->wrong,
             "element [%lld, %lld] is %s, which is no such sum", (long long)(i / x->p->n),
             (long long)(i % x->p->n), text);
}

/* Reads elements as integers. The first one that is none is reported. */
static void read_elements(const check *x, int64_t begin, int64_t end, bench_verdict *verdict) {
    enum { PIECE = 1024 };
    const tile_scalar scalar = x->p->type->result;
    const size_t width = tile_scalar_bytes(scalar);
    const bool is_small = tile_scalar_is_floating(scalar) && width <= 4; /* exact in f32 */
    const double limit = scalar == TILE_f16 ? 0x1p16 : 0x1p30; /* of bench_load_floats; of c */
    float piece[PIECE];
    for (int64_t at = begin; at < end && !*verdict->wrong; at += PIECE) {
        int64_t count = end - at < PIECE ? end - at : PIECE;
        const char *from = x->data + (size_t)at * width;
        if (is_small) bench_load_floats(scalar, from, (size_t)count, piece);
        for (int64_t i = 0; i < count; i++) {
            double value =
                is_small ? (double)piece[i] : tile_scalar_read(scalar, from + (size_t)i * width);
            bool whole = fabs(value) < limit && value == (double)(int32_t)value;
            x->c[at + i] = whole ? (int32_t)value : INT32_MAX;
            if (!whole && !*verdict->wrong)
                refuse_element(x, at + i, tile_scalar_read(scalar, from + (size_t)i * width),
                               verdict);
        }
    }
}

static void read_range(size_t range, void *user) {
    check *x = user;
    const int64_t m = x->p->m, n = x->p->n;
    read_elements(x, begin_of(x, range, m) * n, begin_of(x, range + 1, m) * n, &x->found[range]);
}

/* Expands rows of b in the orientation of the product, so that one division per row is enough. */
static void expand_range(size_t range, void *user) {
    check *x = user;
    const int64_t n = x->p->n, end = begin_of(x, range + 1, x->p->k);
    const strides s = strides_of(x->p->k, n, x->p->transposed_b);
    const int64_t right = s.right % PERIOD;
    for (int64_t i = begin_of(x, range, x->p->k); i < end; i++)
        for (int64_t j = 0, at = i * s.down % PERIOD; j < n; j++) {
            x->whole_b[i * n + j] = x->b[at];
            at += right;
            at -= at >= PERIOD ? PERIOD : 0;
        }
}

static void compare_row(const check *x, int64_t row, const int32_t *sums, bench_verdict *verdict) {
    for (int64_t j = 0; j < x->p->n && !*verdict->wrong; j++) {
        int32_t got = x->c[row * x->p->n + j];
        if (got != sums[j])
            snprintf(verdict->wrong, sizeof verdict->wrong, "element [%lld, %lld] is %d, not %d",
                     (long long)row, (long long)j, got, sums[j]);
    }
}

static void compare_range(size_t range, void *user) {
    check *x = user;
    const bench_product *p = x->p;
    const strides sa = strides_of(p->m, p->k, p->transposed_a);
    const int64_t end = begin_of(x, range + 1, p->m);
    int32_t *sums = need(malloc((size_t)p->n * sizeof *sums));
    for (int64_t i = begin_of(x, range, p->m); i < end && !*x->found[range].wrong; i++) {
        memset(sums, 0, (size_t)p->n * sizeof *sums);
        for (int64_t t = 0; t < p->k; t++) {
            int factor = x->a[(i * sa.down + t * sa.right) % PERIOD];
            const int8_t *row = x->whole_b + t * p->n;
            for (int64_t j = 0; factor && j < p->n; j++) sums[j] += factor * row[j];
        }
        compare_row(x, i, sums, &x->found[range]);
    }
    free(sums);
}

static void check_elements(check *x, bench_verdict *verdict) {
    x->whole_b = need(malloc((size_t)(x->p->k * x->p->n)));
    verdict->by_elements = true;
    share_ranges(x, x->p->k, expand_range, verdict);
    share_ranges(x, x->p->m, compare_range, verdict);
    verdict->by_elements = true;
    free(x->whole_b);
}

/* Computes elements begin to end of y = M x for an operand of so many rows and columns, and for
 * ROUNDS vectors x. Runs along the pattern, in either orientation, in pieces that end where the
 * pattern repeats. */
static void multiply(const int8_t *pattern, strides s, int64_t begin, int64_t end, int64_t rows,
                     int64_t columns, const int64_t *x, int64_t *y) {
    const bool by_rows = s.right == 1;
    const int64_t lines = by_rows ? end - begin : columns;
    const int64_t length = by_rows ? columns : end - begin;
    const int64_t first = begin * s.down, step = by_rows ? s.down : s.right;
    for (int round = 0; round < ROUNDS; round++)
        memset(y + round * rows + begin, 0, (size_t)(end - begin) * sizeof *y);
    for (int64_t line = 0; line < lines; line++) {
        int64_t at = (first + line * step) % PERIOD;
        for (int64_t done = 0, piece; done < length; done += piece, at = 0) {
            piece = length - done < PERIOD - at ? length - done : PERIOD - at;
            const int8_t *from = pattern + at;
            for (int round = 0; round < ROUNDS; round++) {
                const int64_t *in = x + round * columns + (by_rows ? done : line);
                int64_t *out = y + round * rows + begin + (by_rows ? line : done), sum = 0;
                for (int64_t i = 0; by_rows && i < piece; i++) sum += from[i] * in[i];
                for (int64_t i = 0; !by_rows && i < piece; i++) out[i] += from[i] * *in;
                if (by_rows) *out += sum;
            }
        }
    }
}

static void multiply_b(size_t range, void *user) {
    check *x = user;
    const bench_product *p = x->p;
    multiply(x->b, strides_of(p->k, p->n, p->transposed_b), begin_of(x, range, p->k),
             begin_of(x, range + 1, p->k), p->k, p->n, x->v, x->bv);
}

static bool is_right_row(const check *x, int64_t row) {
    const int64_t m = x->p->m, n = x->p->n;
    const int32_t *c = x->c + row * n;
    for (int round = 0; round < ROUNDS; round++) {
        const int64_t *v = x->v + round * n;
        int64_t sum = 0;
        for (int64_t j = 0; j < n; j++) sum += c[j] * v[j];
        if (sum != x->abv[round * m + row]) return false;
    }
    return true;
}

static void compare_sums(size_t range, void *user) {
    check *x = user;
    const bench_product *p = x->p;
    const int64_t begin = begin_of(x, range, p->m), end = begin_of(x, range + 1, p->m);
    bench_verdict *verdict = &x->found[range];
    multiply(x->a, strides_of(p->m, p->k, p->transposed_a), begin, end, p->m, p->k, x->bv, x->abv);
    for (int64_t i = begin; i < end && !*verdict->wrong; i++)
        if (!is_right_row(x, i))
            snprintf(verdict->wrong, sizeof verdict->wrong, "row %lld is wrong, by Freivalds' test",
                     (long long)i);
}

/* Checks c x = a (b x) for random integer vectors x in [-512, 512). A wrong row of c passes a round
 * with a probability of at most 1 / 1024 (R. Freivalds, "Probabilistic machines can use less
 * running time", 1977). All sums are below 2^63. */
static void check_by_freivalds(check *x, bench_verdict *verdict) {
    const bench_product *p = x->p;
    uint64_t state = 12345;
    x->v = need(malloc((size_t)(ROUNDS * (p->n + p->k + p->m)) * sizeof *x->v));
    x->bv = x->v + ROUNDS * p->n;
    x->abv = x->bv + ROUNDS * p->k;
    for (int64_t j = 0; j < ROUNDS * p->n; j++) x->v[j] = (int64_t)bench_random(&state, 1024) - 512;
    share_ranges(x, p->k, multiply_b, verdict);
    share_ranges(x, p->m, compare_sums, verdict);
    free(x->v);
}

bench_verdict bench_check_result(bench_operands *o, const bench_product *product, const char *c) {
    /* Larger problems use Freivalds' test. */
    const double most_products = 0x1p26;
    bench_verdict verdict = {.by_elements = false};
    make_patterns(o, product);
    check *x = need(calloc(1, sizeof *x));
    *x = (check){.p = product, .a = o->whole[0], .b = o->whole[1], .data = c};
    x->c = need(malloc((size_t)(product->m * product->n) * sizeof *x->c));
    share_ranges(x, product->m, read_range, &verdict);
    const bool is_small = bench_product_flop(product) / 2 <= most_products;
    if (!*verdict.wrong) (is_small ? check_elements : check_by_freivalds)(x, &verdict);
    free(x->c);
    free(x);
    return verdict;
}
