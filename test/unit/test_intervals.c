/* Intervals of correct results: no correct result is outside, and injected faults are. */

#include <math.h>
#include <stdlib.h>

#include "lib/support/scalar.h"
#include "test/unit/text_fixture.h"
#include "tile/compute.h"

enum { ROWS = 16, COLUMNS = 64, COUNT = ROWS * COLUMNS };

/* A compute that was run, with one result. */
typedef struct judged {
    text_fixture x;
    tile_module *module;
    tile_compute_array out;
    unsigned char *data;
    tile_interval *intervals;
} judged;

static void judge_as(judged *j, const char *text, const tile_compute_array *in, unsigned count,
                     tile_scalar f64_as) {
    size_t elements = 1;
    text_open(&j->x);
    j->module = tile_module_parse(j->x.context, "intervals", text, strlen(text));
    cr_assert(j->module, "%s", j->x.messages);
    const tile_function *f = tile_module_function(j->module, 0);
    cr_assert_eq(tile_compute_shapes(f, in, count, &j->out, 1), TILE_OK, "%s", j->x.messages);
    for (unsigned d = 0; d < j->out.rank; d++) elements *= (size_t)j->out.dims[d];
    j->out.data = j->data = calloc(elements + 1, 8);
    j->intervals = calloc(elements + 1, sizeof *j->intervals);
    cr_assert_eq(
        tile_compute_run_intervals(f, NULL, 0, in, count, &j->out, &j->intervals, 1, f64_as),
        TILE_OK, "%s", j->x.messages);
}

static void judge(judged *j, const char *text, const tile_compute_array *in, unsigned count) {
    judge_as(j, text, in, count, TILE_f64);
}

static void close(judged *j) {
    free(j->data);
    free(j->intervals);
    tile_module_destroy(j->module);
    text_close(&j->x);
}

static double uniform(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) * 0x1p-53 - 0.5;
}

/* Faults --------------------------------------------------------------------------------------- */

/* The upper half of each row is ten times as large as the lower one. */
static void fill(float *x) {
    uint64_t state = 7;
    for (unsigned i = 0; i < COUNT; i++)
        x[i] = (float)(uniform(&state) * (i % COLUMNS < COLUMNS / 2 ? 16 : 160));
}

static double element(const judged *j, const unsigned char *data, unsigned i) {
    return tile_scalar_read(j->out.scalar, data + i * tile_scalar_bytes(j->out.scalar));
}

static unsigned count_wrong(const judged *j, const unsigned char *data) {
    unsigned wrong = 0;
    for (unsigned i = 0; i < COUNT; i++)
        wrong += !tile_interval_holds(j->intervals[i], element(j, data, i));
    return wrong;
}

/* Returns the next number of the type away from 0. */
static double next_number(tile_scalar scalar, double value) {
    unsigned char bytes[8] = {0};
    uint64_t bits = 0;
    if (!tile_scalar_is_floating(scalar)) return value + 1;
    tile_scalar_write(scalar, bytes, value);
    memcpy(&bits, bytes, tile_scalar_bytes(scalar));
    bits += scalar == TILE_tf32 ? 1u << 13 : 1;
    memcpy(bytes, &bits, tile_scalar_bytes(scalar));
    return tile_scalar_read(scalar, bytes);
}

static void plant(const judged *j, unsigned char *data, unsigned i, double value) {
    tile_scalar_write(j->out.scalar, data + i * tile_scalar_bytes(j->out.scalar), value);
}

static unsigned plant_zeros(const judged *j, unsigned char *data, unsigned first, unsigned step,
                            unsigned columns) {
    unsigned planted = 0;
    for (unsigned i = first; i < COUNT; i += step) {
        if (i % COLUMNS >= columns || element(j, data, i) == 0) continue;
        plant(j, data, i, 0);
        planted++;
    }
    return planted;
}

/* Replaces elements by the next number, if it is outside the interval. An f64 interval always
 * contains it, because its ends are f64; then the number after it is used. */
static unsigned plant_units(const judged *j, unsigned char *data) {
    unsigned planted = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        double value = element(j, data, i), next = next_number(j->out.scalar, value);
        if (j->out.scalar == TILE_f64) next = next_number(TILE_f64, next);
        if (!isfinite(next) || tile_interval_holds(j->intervals[i], next)) continue;
        plant(j, data, i, next);
        planted++;
    }
    return planted;
}

/* Injects faults into correct results and checks that they are detected. */
static void check_faults(const judged *j, const unsigned char *right, const char *name) {
    static unsigned char data[COUNT * 8];
    size_t bytes = COUNT * (size_t)tile_scalar_bytes(j->out.scalar);
    unsigned planted;
    cr_expect_eq(count_wrong(j, right), 0, "%s: right results are refused", name);
    memcpy(data, right, bytes);
    planted = plant_zeros(j, data, 0, 1, COLUMNS);
    cr_expect(planted > COUNT / 2 && count_wrong(j, data) == planted, "%s: zeros", name);
    memcpy(data, right, bytes);
    planted = plant_units(j, data);
    cr_expect(planted > COUNT / 4 && count_wrong(j, data) == planted, "%s: units %u", name,
              planted);
    memcpy(data, right, bytes);
    planted = plant_zeros(j, data, COUNT / 3, COUNT, COLUMNS);
    cr_expect(planted == 1 && count_wrong(j, data) == 1, "%s: one element", name);
    memcpy(data, right, bytes);
    planted = plant_zeros(j, data, COUNT - COLUMNS, 1, COLUMNS);
    cr_expect(planted && count_wrong(j, data) == planted, "%s: the last row", name);
    memcpy(data, right, bytes);
    planted = plant_zeros(j, data, 0, 1, COLUMNS / 2);
    cr_expect(planted && count_wrong(j, data) == planted, "%s: the small half of rows", name);
}

/* The inputs are scaled so that all results are in the type's range. */
typedef struct fault_case {
    const char *name;
    tile_scalar scalar;
    double scale;
} fault_case;

static void write_compute(const fault_case *c, char *text, size_t size) {
    bool same = c->scalar == TILE_f32 || c->scalar == TILE_f64;
    snprintf(text, size,
             "compute @k<m: dim, n: dim>(%%x: tensor<%s[m, n]>) -> (%%y: tensor<%s[m, n]>) {\n"
             "  %%y = %s(%%x * %g)\n}\n",
             same ? c->name : "f32", c->name, same ? "" : c->name, c->scale);
}

Test(intervals, planted_faults_of_every_type) {
    static const fault_case cases[] = {
        {"f16", TILE_f16, 0.37},    {"bf16", TILE_bf16, 0.37}, {"f32", TILE_f32, 0.375},
        {"tf32", TILE_tf32, 0.37},  {"f64", TILE_f64, 0.375},  {"e4m3", TILE_e4m3, 0.37},
        {"e5m2", TILE_e5m2, 0.37},  {"i8", TILE_i8, 1.1},      {"i16", TILE_i16, 99.0},
        {"i32", TILE_i32, 12345.6}, {"i64", TILE_i64, 12345.6}};
    static float x[COUNT];
    static double wide[COUNT];
    static unsigned char right[COUNT * 8];
    fill(x);
    for (unsigned i = 0; i < COUNT; i++) wide[i] = (double)x[i];
    for (unsigned t = 0; t < sizeof cases / sizeof *cases; t++) {
        const fault_case *c = &cases[t];
        char text[400];
        judged j;
        bool f64 = c->scalar == TILE_f64, floats = tile_scalar_is_floating(c->scalar);
        const tile_compute_array in = {
            f64 ? TILE_f64 : TILE_f32, 2, {ROWS, COLUMNS}, f64 ? (void *)wide : (void *)x};
        write_compute(c, text, sizeof text);
        judge(&j, text, &in, 1);
        for (unsigned i = 0; i < COUNT; i++) {
            double value = f64 ? wide[i] * c->scale : (double)(x[i] * (float)c->scale);
            plant(&j, right, i, floats ? value : trunc(value));
        }
        check_faults(&j, right, c->name);
        close(&j);
    }
}

/* Sums ----------------------------------------------------------------------------------------- */

Test(intervals, small_sums_beside_large_ones) {
    enum { N = 64 };
    float x[N];
    judged j;
    for (unsigned i = 0; i < N; i++) x[i] = i < N / 2 ? 1e8F : 1;
    const tile_compute_array in = {TILE_f32, 2, {1, N}, x};
    judge(&j,
          "compute @k<m: dim, n: dim>(%x: tensor<f32[m, n]>) -> (%y: tensor<f32[m, n]>) {\n"
          "  %y = scan_add(%x, axis = 1, reverse)\n}\n",
          &in, 1);
    for (unsigned i = N / 2; i < N; i++) {
        cr_expect(tile_interval_holds(j.intervals[i], N - i));
        cr_expect_not(tile_interval_holds(j.intervals[i], N - i + 1));
    }
    close(&j);
}

Test(intervals, sums_of_f32_in_any_order) {
    enum { N = 4096 };
    static float x[N];
    uint64_t state = 3;
    float forth = 0, back = 0, wrong = 0;
    judged j;
    for (unsigned i = 0; i < N; i++) x[i] = (float)uniform(&state) + 0.5F;
    for (unsigned i = 0; i < N; i++) forth += x[i], back += x[N - 1 - i];
    for (unsigned i = 1; i < N; i++) wrong += x[i];
    const tile_compute_array in = {TILE_f32, 2, {1, N}, x};
    judge(&j,
          "compute @k<n: dim>(%x: tensor<f32[1, n]>) -> (%y: tensor<f32[1, 1]>) {\n"
          "  %y = reduce_add(%x, axis = 1)\n}\n",
          &in, 1);
    cr_expect(tile_interval_holds(*j.intervals, (double)forth));
    cr_expect(tile_interval_holds(*j.intervals, (double)back));
    cr_expect_not(tile_interval_holds(*j.intervals, (double)wrong));
    close(&j);
}

Test(intervals, whole_numbers_are_exact) {
    enum { K = 512 };
    static float a[K], b[K];
    judged j;
    for (unsigned i = 0; i < K; i++) a[i] = (float)(i % 3) - 1, b[i] = (float)(i % 5) - 2;
    const tile_compute_array in[] = {{TILE_f32, 2, {1, K}, a}, {TILE_f32, 2, {K, 1}, b}};
    judge(&j,
          "compute @k<k: dim>(%a: tensor<f32[1, k]>, %b: tensor<f32[k, 1]>) -> (%c: "
          "tensor<f32[1, 1]>) {\n"
          "  %p = matmul(%a, %b) : f32\n  %c = %p * 2.0 + reduce_add(%a, axis = 1)\n}\n",
          in, 2);
    cr_expect_eq(j.intervals->low, j.intervals->high);
    close(&j);
}

/* Decisions ------------------------------------------------------------------------------------ */

static void expect(const judged *j, unsigned i, double number, bool right) {
    cr_expect_eq(tile_interval_holds(j->intervals[i], number), right, "element %u: %g", i, number);
}

/* A third of 3 is 1 or the number below it, depending on how the quotient is rounded. */
Test(intervals, either_outcome_of_a_decision) {
    float x[] = {3, 4.5F};
    const tile_compute_array in = {TILE_f32, 1, {2}, x};
    static const char *const whole[] = {"i32(%t)", "i32(floor(%t))",
                                        "i32(select(%t < 1.0, 0.0, 1.0))"};
    for (unsigned c = 0; c < sizeof whole / sizeof *whole; c++) {
        char text[300];
        judged j;
        snprintf(text, sizeof text,
                 "compute @k<n: dim>(%%x: tensor<f32[n]>) -> (%%y: tensor<i32[n]>) {\n"
                 "  %%t = %%x / 3.0\n  %%y = %s\n}\n",
                 whole[c]);
        judge(&j, text, &in, 1);
        expect(&j, 0, 0, true);
        expect(&j, 0, 1, true);
        expect(&j, 0, 2, false);
        expect(&j, 1, 1, true);
        expect(&j, 1, 0, false);
        close(&j);
    }
}

Test(intervals, place_of_the_largest) {
    float x[] = {1, 3, 9, 2, 9.0000010F, 3};
    const tile_compute_array in = {TILE_f32, 2, {1, 6}, x};
    judged j;
    judge(&j,
          "compute @k<n: dim>(%x: tensor<f32[1, n]>) -> (%i: tensor<i32[1, 1]>) {\n"
          "  %v, %i = reduce_arg_max(exp(%x), axis = 1)\n}\n",
          &in, 1);
    expect(&j, 0, 4, true);
    expect(&j, 0, 2, true);
    expect(&j, 0, 1, false);
    close(&j);
    judge(&j,
          "compute @k<n: dim>(%x: tensor<f32[1, n]>) -> (%i: tensor<i32[1, 1]>) {\n"
          "  %v, %i = reduce_arg_max(%x, axis = 1)\n}\n",
          &in, 1);
    expect(&j, 0, 4, true);
    expect(&j, 0, 2, false);
    close(&j);
}

Test(intervals, what_is_beyond_the_numbers) {
    float x[] = {1e30F, 0, -3};
    const tile_compute_array in = {TILE_f32, 1, {3}, x};
    judged j;
    judge(&j,
          "compute @k<n: dim>(%x: tensor<f32[n]>) -> (%y: tensor<f32[n]>) { %y = %x * %x * %x }",
          &in, 1);
    expect(&j, 0, INFINITY, true);
    expect(&j, 0, NAN, false);
    close(&j);
    judge(&j, "compute @k<n: dim>(%x: tensor<f32[n]>) -> (%y: tensor<f32[n]>) { %y = sqrt(%x) }",
          &in, 1);
    expect(&j, 2, NAN, true);
    expect(&j, 2, 0, false);
    expect(&j, 1, 0, true);
    expect(&j, 1, NAN, false);
    close(&j);
}

/* An expression in f64 that represents one in f16. */
Test(intervals, granted_precision) {
    double x[] = {1.0 / 3};
    const tile_compute_array in = {TILE_f64, 1, {1}, x};
    static const char text[] =
        "compute @k<n: dim>(%x: tensor<f64[n]>) -> (%y: tensor<f64[n]>) { %y = %x * %x }";
    judged j;
    judge(&j, text, &in, 1);
    expect(&j, 0, 0.1112, false);
    close(&j);
    judge_as(&j, text, &in, 1, TILE_f16);
    expect(&j, 0, 0.11115, true);
    expect(&j, 0, 0.112, false);
    close(&j);
}

/* Masks ---------------------------------------------------------------------------------------- */

enum { KEYS = 6 };

/* Softmax under a mask, and the product of the weights %e, or of an expression of them, with
 * values. */
static void attend_with(judged *j, const char *mask, const char *weights, const float *v,
                        int32_t *length) {
    static float s[KEYS * KEYS];
    char text[700];
    for (unsigned i = 0; i < KEYS * KEYS; i++) s[i] = (float)(i % 7) - 3;
    const tile_compute_array in[] = {{TILE_f32, 2, {KEYS, KEYS}, s},
                                     {TILE_f32, 2, {KEYS, 1}, (void *)(uintptr_t)v},
                                     {TILE_i32, 2, {1, 1}, length}};
    snprintf(text, sizeof text,
             "compute @k<m: dim, n: dim>(%%x: tensor<f32[m, n]>, %%v: tensor<f32[n, 1]>,\n"
             "    %%l: tensor<i32[1, 1]>) -> (%%o: tensor<f32[m, 1]>) {\n"
             "  %%row = iota(axis = 0) : tensor<i32[m, 1]>\n"
             "  %%key = iota(axis = 1) : tensor<i32[1, n]>\n"
             "  %%s = select(%s, %%x, -inf)\n"
             "  %%e = exp(%%s - max(reduce_max(%%s, axis = 1), -1.0e30))\n"
             "  %%w = %s\n"
             "  %%p = f16(%%w / max(reduce_add(%%e, axis = 1), 1.0e-30) * 0.5)\n"
             "  %%o = matmul(transpose(transpose(f32(%%p))), %%v) : f32\n}\n",
             mask, weights);
    judge(j, text, in, 3);
}

static void attend(judged *j, const char *mask, const float *v, int32_t *length) {
    attend_with(j, mask, "%e * 1.0", v, length);
}

Test(intervals, hidden_keys_are_not_looked_at) {
    float v[KEYS] = {1, 2, 3, 4, INFINITY, NAN}, plain[KEYS] = {1, 2, 3, 4, 0, 0};
    int32_t length = 4;
    judged j, other;
    attend(&j, "%key < %l", v, &length);
    attend(&other, "%key < %l", plain, &length);
    for (unsigned i = 0; i < KEYS; i++) {
        expect(&j, i, NAN, false);
        expect(&j, i, INFINITY, false);
        cr_expect_eq(element(&j, j.data, i), element(&other, other.data, i));
        cr_expect_eq(j.intervals[i].low, other.intervals[i].low);
    }
    close(&j);
    close(&other);
}

/* Rows before the key are unspecified; rows from it on have the key's value. */
Test(intervals, rows_that_do_not_see_a_key_are_unspecified) {
    float v[KEYS] = {1, 2, 3, NAN, 5, 6};
    int32_t length = 4;
    judged j;
    attend(&j, "%key <= %row", v, &length);
    for (unsigned i = 0; i < KEYS; i++) {
        expect(&j, i, NAN, true);
        expect(&j, i, 2, i < 3);
    }
    close(&j);
}

/* Masked weights are set to 0 again. A 0 where the mask hides nothing is an ordinary number. */
Test(intervals, zeros_in_the_place_of_hidden_weights) {
    float v[KEYS] = {1, 2, 3, 4, INFINITY, NAN};
    int32_t length = 4;
    judged j;
    attend_with(&j, "%key < %l", "select(%key < %l, %e, 0.0)", v, &length);
    for (unsigned i = 0; i < KEYS; i++) expect(&j, i, NAN, false);
    close(&j);
    attend_with(&j, "%key < %l", "select(%key >= 2, 0.0, %e)", v, &length);
    for (unsigned i = 0; i < KEYS; i++) expect(&j, i, NAN, false);
    close(&j);
    length = 0; /* all weights are 0 */
    attend_with(&j, "%key < %l", "select(%key >= 2, %e, 0.0)", v, &length);
    for (unsigned i = 0; i < KEYS; i++) expect(&j, i, 0, true);
    close(&j);
    length = 4;
    v[3] = NAN;
    attend_with(&j, "%key < %l", "select(%key < 3, %e, 0.0)", v, &length);
    for (unsigned i = 0; i < KEYS; i++) expect(&j, i, NAN, true);
    close(&j);
}

/* Zero weights that are not masked: the product with NaN is NaN. */
Test(intervals, zeros_that_no_mask_made) {
    float v[KEYS] = {1, 2, 3, 4, 5, NAN};
    int32_t length = 5;
    judged j;
    attend(&j, "%key < %l + 1", v, &length);
    for (unsigned i = 0; i < KEYS; i++) expect(&j, i, 3, false);
    close(&j);
}
