/* A common interface to products and attention. */
#include "tools/tile-bench/measure/problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/attention/pages.h"

/* Requests ------------------------------------------------------------------------------------ */

void bench_problem_write(const bench_problem *problem, const char *flush,
                         char line[BENCH_PROBLEM_LINE]) {
    const bench_product *p = &problem->product;
    const bench_attention *a = &problem->attention;
    const bench_rows *r = &problem->rows;
    if (problem->is_rows)
        snprintf(line, BENCH_PROBLEM_LINE, "rows %s %" PRId64 " %" PRId64 " %s %s",
                 bench_rows_op_of(r->op)->name, r->m, r->n, r->type->name, flush);
    else if (problem->is_attention)
        snprintf(line, BENCH_PROBLEM_LINE,
                 "attention %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
                 " %d %s %s",
                 a->batch, a->heads, a->groups, a->m, a->n, a->d, a->causal, a->type->name, flush);
    else
        snprintf(line, BENCH_PROBLEM_LINE, "product %" PRId64 " %" PRId64 " %" PRId64 " %s %s %s",
                 p->m, p->n, p->k, p->type->name, bench_trans_name(p), flush);
}

bool bench_problem_read(const char *line, bench_problem *problem, char flush[8]) {
    bench_product *p = &problem->product;
    bench_attention *a = &problem->attention;
    bench_rows *r = &problem->rows;
    char type[16], trans[8], op[16];
    int causal = 0;
    *problem = (bench_problem){0};
    if (sscanf(line, "rows %15s %" SCNd64 " %" SCNd64 " %15s %7s", op, &r->m, &r->n, type, flush) ==
        5) {
        problem->is_rows = true;
        r->type = bench_type_find(type);
        return r->type && bench_rows_find(op, &r->op);
    }
    if (sscanf(line, "product %" SCNd64 " %" SCNd64 " %" SCNd64 " %15s %7s %7s", &p->m, &p->n,
               &p->k, type, trans, flush) == 6) {
        p->type = bench_type_find(type);
        return p->type && bench_read_trans(trans, p);
    }
    problem->is_attention = true;
    if (sscanf(line,
               "attention %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %d %15s %7s",
               &a->batch, &a->heads, &a->groups, &a->m, &a->n, &a->d, &causal, type, flush) != 9)
        return false;
    a->causal = causal;
    a->type = bench_type_find(type);
    return a->type != NULL;
}

/* Sizes --------------------------------------------------------------------------------------- */

const bench_type *bench_problem_type(const bench_problem *p) {
    return p->is_rows ? p->rows.type : p->is_attention ? p->attention.type : p->product.type;
}

double bench_problem_flop(const bench_problem *p) {
    if (p->is_rows) return 0;
    return p->is_attention ? bench_attention_flop(&p->attention) : bench_product_flop(&p->product);
}

double bench_problem_read_bytes(const bench_problem *p) {
    if (p->is_rows) return bench_rows_read_bytes(&p->rows);
    return p->is_attention ? bench_attention_read_bytes(&p->attention)
                           : bench_product_read_bytes(&p->product);
}

double bench_problem_write_bytes(const bench_problem *p) {
    if (p->is_rows) return bench_rows_write_bytes(&p->rows);
    return p->is_attention ? bench_attention_write_bytes(&p->attention)
                           : bench_product_write_bytes(&p->product);
}

double bench_problem_budget(const bench_problem *p, double asked) {
    const bench_type *type = bench_problem_type(p);
    if (asked >= 0) return asked;
    return 4 + 5e-8 * (bench_problem_read_bytes(p) / tile_scalar_bytes(type->operand) +
                       bench_problem_write_bytes(p) / tile_scalar_bytes(type->result));
}

static bool put(char **to, size_t *room, const char *text, size_t length) {
    if (length >= *room) return false;
    memcpy(*to, text, length);
    *to += length;
    *room -= length;
    **to = 0;
    return true;
}

bool bench_problem_fill(const bench_problem *p, const char *text, char *filled, size_t size) {
    static const char *const trans[2][2] = {{"nn", "nt"}, {"tn", "tt"}};
    const bench_type *type = bench_problem_type(p);
    char depth[8], d[24], precision[16];
    snprintf(precision, sizeof precision, "_%s", type->precision);
    snprintf(depth, sizeof depth, "%u", 128 / tile_scalar_bytes(type->operand));
    snprintf(d, sizeof d, "%" PRId64, p->attention.d);
    const struct {
        const char *word, *value;
    } words[] = {{"{type}", tile_scalar_name(type->operand)},
                 {"{result}", tile_scalar_name(type->result)},
                 {"{sum}", tile_scalar_name(bench_type_sum(type))},
                 {"{depth}", depth},
                 {"{precision}", bench_type_is_ieee(type) ? "" : precision},
                 {p->is_attention ? "{d}" : "{trans}",
                  p->is_attention ? d : trans[p->product.transposed_a][p->product.transposed_b]}};
    bool fits = put(&filled, &size, "", 0);
    while (fits && *text) {
        size_t w = 0, count = sizeof words / sizeof *words;
        while (w < count && strncmp(text, words[w].word, strlen(words[w].word)) != 0) w++;
        const char *value = w < count ? words[w].value : text;
        fits = put(&filled, &size, value, w < count ? strlen(value) : 1);
        text += w < count ? strlen(words[w].word) : 1;
    }
    return fits;
}

/* Arguments ----------------------------------------------------------------------------------- */

typedef struct named_size {
    const char *name;
    int64_t value;
} named_size;

static bool find_size(const named_size *sizes, size_t count, const char *name, int64_t *value) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, sizes[i].name) == 0) {
            *value = sizes[i].value;
            return true;
        }
    return false;
}

/* The number of scales along an extent of 8-bit floats: one for each 128 elements. */
static int64_t scales_along(int64_t extent) {
    enum { ELEMENTS_OF_SCALE = 128 };
    return (extent + ELEMENTS_OF_SCALE - 1) / ELEMENTS_OF_SCALE;
}

/* Returns m, n, k or the distance between rows in memory. */
static bool size_of_product(const bench_product *p, const char *name, int64_t *value) {
    const named_size sizes[] = {{"m", p->m},
                                {"n", p->n},
                                {"k", p->k},
                                {"lda", p->transposed_a ? p->m : p->k},
                                {"ldb", p->transposed_b ? p->k : p->n},
                                {"ldc", p->n},
                                {"a_scale_m", scales_along(p->k)},
                                {"a_scale_k", 1}};
    return find_size(sizes, sizeof sizes / sizeof *sizes, name, value);
}

static bool size_of_attention(const bench_attention *a, const char *name, int64_t *value) {
    const int64_t pages = a->page ? bench_pages_count(a) : 0;
    const named_size sizes[] = {
        {"pages", pages},      {"page", a->page},   {"most", a->page ? bench_pages_each(a) : 0},
        {"batch", a->batch},   {"heads", a->heads}, {"groups", a->groups},
        {"m", a->m},           {"n", a->n},         {"d", a->d},
        {"causal", a->causal}, {"window", 0}};
    return find_size(sizes, sizeof sizes / sizeof *sizes, name, value);
}

static bool size_of_rows(const bench_rows *r, const char *name, tile_argument *argument) {
    const named_size sizes[] = {{"m", r->m}, {"n", r->n}};
    const bool is_epsilon = strcmp(name, "eps") == 0;
    bool found = is_epsilon || find_size(sizes, 2, name, &argument->integer);
    argument->number = is_epsilon ? BENCH_ROWS_EPSILON : (double)argument->integer;
    return found;
}

bool bench_problem_size(const bench_problem *p, const char *name, tile_argument *argument) {
    if (p->is_rows) return size_of_rows(&p->rows, name, argument);
    bool is_scale = p->is_attention && strcmp(name, "scale") == 0;
    bool is_scale_v = p->is_attention && strcmp(name, "scale_v") == 0;
    bool found = is_scale || is_scale_v ? true
                 : p->is_attention      ? size_of_attention(&p->attention, name, &argument->integer)
                                        : size_of_product(&p->product, name, &argument->integer);
    if (found)
        argument->number = is_scale     ? bench_attention_scale(&p->attention)
                           : is_scale_v ? 1
                                        : (double)argument->integer;
    return found;
}

const char *bench_problem_noun(const bench_problem *p) {
    return p->is_rows ? "operation" : p->is_attention ? "attention" : "product";
}

const char *bench_problem_arguments(const bench_problem *p) {
    if (p->is_rows) return "a kernel to be measured takes m, n, eps, and arrays x, w, b, y";
    return p->is_attention
               ? "a kernel to be measured takes batch, heads, groups, m, n, d, causal, window, "
                 "scale, "
                 "and arrays q, k, v, o, lengths, slopes, lse; of keys in pages also pages, page, "
                 "most and the array table"
               : "a kernel to be measured takes m, n, k, the pitches lda, ldb, ldc, and arrays "
                 "a, b, c; for 8-bit floats also arrays a_scale and b_scale, and the strides "
                 "a_scale_m and a_scale_k";
}

/* Arrays -------------------------------------------------------------------------------------- */

/* Returns an array with this many rows and columns in the product; it may be stored transposed. */
static bench_array matrix(const char *name, tile_scalar scalar, int64_t rows, int64_t columns,
                          bool transposed) {
    return (bench_array){.name = name,
                         .scalar = scalar,
                         .rank = 2,
                         .extents = {rows, columns},
                         .strides = {transposed ? 1 : columns, transposed ? rows : 1},
                         .turns = transposed};
}

static bench_array heads_array(const char *name, tile_scalar scalar, int64_t batch, int64_t heads,
                               int64_t rows, int64_t d) {
    return (bench_array){.name = name,
                         .scalar = scalar,
                         .rank = 4,
                         .extents = {batch, heads, rows, d},
                         .strides = {heads * rows * d, rows * d, d, 1},
                         .turns = true,
                         .folds = true};
}

static bench_array constant(const char *name, tile_scalar scalar, double value, int64_t count) {
    return (bench_array){.name = name,
                         .scalar = scalar,
                         .role = BENCH_CONSTANT,
                         .value = value,
                         .rank = 1,
                         .extents = {count},
                         .strides = {1},
                         .folds = true};
}

/* Replaces k and v by their paged versions, and appends the table. */
static unsigned lay_out_pages(const bench_attention *a, bench_array *arrays, unsigned count) {
    tile_scalar scalar = a->type->operand;
    for (unsigned i = 1; i < 3; i++) {
        arrays[i] =
            heads_array(arrays[i].name, scalar, bench_pages_count(a), a->page, a->groups, a->d);
        arrays[i].turns = arrays[i].folds = false;
    }
    arrays[count] = constant("table", TILE_i32, 0, bench_pages_count(a));
    arrays[count].role = BENCH_TABLE;
    return count + 1;
}

/* Scales of 8-bit floats, for each 1 x 128 of a and 128 x 128 of b. Those of one 128 of k multiply
 * to 1, so that the result is that of the plain product. */
static unsigned lay_out_scales(const bench_product *p, bench_array *arrays, unsigned count) {
    const int64_t rows[2] = {p->m, scales_along(p->n)};
    for (unsigned i = 0; i < 2; i++) {
        bench_array *scales = &arrays[count + i];
        *scales = matrix(i ? "b_scale" : "a_scale", TILE_f32, rows[i], scales_along(p->k), false);
        scales->role = BENCH_SCALES;
        scales->value = i ? 0.5 : 2;
    }
    return count + 2;
}

static unsigned lay_out_rows(const bench_rows *r, bench_array *arrays) {
    int64_t y[2];
    bench_rows_result_extents(r, y);
    arrays[0] = matrix("x", r->type->operand, r->m, r->n, false);
    arrays[1] = matrix("w", r->type->operand, 1, r->n, false);
    arrays[2] = matrix("b", r->type->operand, 1, r->n, false);
    arrays[3] = matrix("y", bench_rows_result(r), y[0], y[1], false);
    arrays[3].role = BENCH_RESULT;
    return 4;
}

unsigned bench_problem_arrays(const bench_problem *problem, bench_array arrays[BENCH_MAX_ARRAYS]) {
    const bench_product *p = &problem->product;
    const bench_attention *a = &problem->attention;
    const bench_type *type = bench_problem_type(problem);
    if (problem->is_rows) return lay_out_rows(&problem->rows, arrays);
    if (!problem->is_attention) {
        arrays[0] = matrix("a", type->operand, p->m, p->k, p->transposed_a);
        arrays[1] = matrix("b", type->operand, p->k, p->n, p->transposed_b);
        arrays[2] = matrix("c", type->result, p->m, p->n, false);
        arrays[2].role = BENCH_RESULT;
        bool scaled =
            tile_scalar_bits(type->operand) == 8 && tile_scalar_is_floating(type->operand);
        return scaled ? lay_out_scales(p, arrays, 3) : 3;
    }
    arrays[0] = heads_array("q", type->operand, a->batch, a->heads, a->m, a->d);
    arrays[1] = heads_array("k", type->operand, a->batch, a->groups, a->n, a->d);
    arrays[2] = heads_array("v", type->operand, a->batch, a->groups, a->n, a->d);
    if (bench_attention_stores_v_transposed(a)) {
        arrays[2].strides[2] = 1;
        arrays[2].strides[3] = a->n;
        arrays[2].folds = false;
    }
    arrays[3] = heads_array("o", type->result, a->batch, a->heads, a->m, a->d);
    arrays[3].role = BENCH_RESULT;
    arrays[4] = constant("lengths", TILE_i32, (double)a->n, a->batch);
    arrays[5] = constant("slopes", TILE_f32, 0, a->heads);
    arrays[6] = constant("lse", TILE_f32, 0, a->batch * a->heads * a->m);
    return a->page ? lay_out_pages(a, arrays, 7) : 7;
}

unsigned bench_problem_result(const bench_problem *problem) {
    return problem->is_attention || problem->is_rows ? 3 : 2;
}

int64_t bench_array_elements(const bench_array *array) {
    int64_t count = 1;
    for (unsigned i = 0; i < array->rank; i++) count *= array->extents[i];
    return count;
}

void bench_array_describe(const bench_problem *problem, const bench_array *array, char *text,
                          size_t size) {
    const int64_t *x = array->extents;
    if (problem->is_rows)
        snprintf(text, size, "the operation has it: %lld x %lld, by rows", (long long)x[0],
                 (long long)x[1]);
    else if (problem->is_attention)
        snprintf(text, size,
                 "attention has it: %lld x %lld x %lld x %lld, by rows or with the last two dims "
                 "exchanged",
                 (long long)x[0], (long long)x[1], (long long)x[2], (long long)x[3]);
    else
        snprintf(text, size, "--trans=%s says: %lld x %lld, %s",
                 bench_trans_name(&problem->product), (long long)x[0], (long long)x[1],
                 array->turns ? "transposed" : "by rows");
}
