/* Level 1: values, broadcasting, rounding, bindings, and refusals. */

#include "lib/support/float16.h"
#include "test/unit/text_fixture.h"
#include "tile/compute.h"

static const char linear[] =
    "compute @linear<m: dim, n: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, n]>,\n"
    "    %bias: tensor<f16[n]>) -> (%c: tensor<f16[m, n]>)\n"
    "{\n"
    "  %p = matmul %a, %b : tensor<f32[m, n]>\n"
    "  %w = cast %bias : tensor<f32[n]>\n"
    "  %r = max(%p + %w, 0.0) : tensor<f32[m, n]>\n"
    "  %c = cast %r : tensor<f16[m, n]>\n"
    "}\n";

static tile_module *parse(text_fixture *x, const char *text) {
    tile_module *module = tile_module_parse(x->context, "compute", text, strlen(text));
    cr_assert(module, "%s", x->messages);
    return module;
}

Test(compute, linear_layer_with_broadcast_bias) {
    enum { M = 5, N = 3, K = 70 };
    text_fixture x;
    uint16_t a[M * K], b[K * N], bias[N], c[M * N];
    text_open(&x);
    tile_module *module = parse(&x, linear);
    for (int i = 0; i < M * K; i++) a[i] = tile_f16_from_float((float)(i % 7 - 3));
    for (int i = 0; i < K * N; i++) b[i] = tile_f16_from_float((float)(i % 5 - 2));
    for (int i = 0; i < N; i++) bias[i] = tile_f16_from_float((float)(10 * i - 10));
    const tile_compute_array in[] = {
        {TILE_f16, 2, {M, K}, a}, {TILE_f16, 2, {K, N}, b}, {TILE_f16, 1, {N}, bias}};
    tile_compute_array out = {.data = c};
    const tile_function *f = tile_module_function(module, 0);
    cr_assert_eq(tile_compute_shapes(f, in, 3, &out, 1), TILE_OK);
    cr_assert(out.scalar == TILE_f16 && out.rank == 2 && out.dims[0] == M && out.dims[1] == N);
    cr_assert_eq(tile_compute_run(f, in, 3, &out, 1), TILE_OK, "%s", x.messages);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int sum = 10 * j - 10;
            for (int l = 0; l < K; l++) sum += ((i * K + l) % 7 - 3) * ((l * N + j) % 5 - 2);
            cr_assert_eq(tile_f16_to_float(c[i * N + j]), (float)(sum > 0 ? sum : 0));
        }
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, cast_rounds_and_integers_wrap) {
    text_fixture x;
    double value = 1.0 + 1.0 / 4096, small, exact;
    int8_t count = 100, twice;
    text_open(&x);
    tile_module *module =
        parse(&x, "compute @c(%v: f64, %n: i8) -> (%s: f64, %e: f64, %t: i8) {\n"
                  "  %h = cast %v : f16\n  %s = cast %h : f64\n  %e = %v * 1.0 : f64\n"
                  "  %t = %n + %n : i8\n}\n");
    const tile_compute_array in[] = {{.scalar = TILE_f64, .data = &value},
                                     {.scalar = TILE_i8, .data = &count}};
    const tile_compute_array out[] = {{.scalar = TILE_f64, .data = &small},
                                      {.scalar = TILE_f64, .data = &exact},
                                      {.scalar = TILE_i8, .data = &twice}};
    const tile_function *f = tile_module_function(module, 0);
    cr_assert_eq(tile_compute_run(f, in, 2, out, 3), TILE_OK, "%s", x.messages);
    cr_assert_eq(small, 1.0);
    cr_assert_eq(exact, value);
    cr_assert_eq(twice, -56);
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, refuses_what_does_not_fit) {
    text_fixture x;
    uint16_t data[64] = {0};
    text_open(&x);
    tile_module *module = parse(&x, linear);
    const tile_function *f = tile_module_function(module, 0);
    tile_compute_array in[] = {
        {TILE_f16, 2, {2, 3}, data}, {TILE_f16, 2, {3, 4}, data}, {TILE_f16, 1, {4}, data}};
    tile_compute_array out = {TILE_f16, 2, {2, 4}, data + 32};
    cr_assert_eq(tile_compute_run(f, in, 2, &out, 1), TILE_INVALID);
    in[1].dims[0] = 5;
    cr_assert_eq(tile_compute_run(f, in, 3, &out, 1), TILE_INVALID);
    cr_assert(strstr(x.messages, "the dims of %b do not agree"), "%s", x.messages);
    in[1].dims[0] = 3;
    in[2].scalar = TILE_f32;
    cr_assert_eq(tile_compute_run(f, in, 3, &out, 1), TILE_INVALID);
    cr_assert(strstr(x.messages, "%bias has elements of f16, not f32"), "%s", x.messages);
    in[2].scalar = TILE_f16;
    in[0].rank = 1;
    cr_assert_eq(tile_compute_run(f, in, 3, &out, 1), TILE_INVALID);
    in[0].rank = 2;
    out.dims[1] = 5;
    cr_assert_eq(tile_compute_run(f, in, 3, &out, 1), TILE_INVALID);
    out.dims[1] = 4;
    cr_assert_eq(tile_compute_run(f, in, 3, &out, 1), TILE_OK, "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, a_result_may_have_a_type_of_its_own) {
    static const char text[] =
        "tile_ir 1\n"
        "compute @f<n: dim, T: type, R: type>(%x: tensor<T[n]>) -> (%y: tensor<R[n]>)\n"
        "{ %y = cast %x : tensor<R[n]> }\n";
    text_fixture x;
    text_open(&x);
    tile_module *module = parse(&x, text);
    const tile_function *f = tile_module_function(module, 0);
    float from[2] = {2049.0f, 1.5f}, to[2];
    uint16_t half[2];
    const tile_compute_array in = {TILE_f32, 1, {2}, from};
    tile_compute_array out = {TILE_f16, 1, {2}, half};
    cr_assert_eq(tile_compute_run(f, &in, 1, &out, 1), TILE_OK, "%s", x.messages);
    cr_expect(tile_f16_to_float(half[0]) == 2048.0f && tile_f16_to_float(half[1]) == 1.5f);
    out = (tile_compute_array){TILE_f32, 1, {2}, to};
    cr_assert_eq(tile_compute_run(f, &in, 1, &out, 1), TILE_OK, "%s", x.messages);
    cr_expect(to[0] == 2049.0f && to[1] == 1.5f);
    cr_expect_eq(tile_compute_shapes(f, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "do not determine the parameter R"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, parameters_take_values_that_inputs_do_not_tell) {
    text_fixture x;
    text_open(&x);
    tile_module *module =
        parse(&x, "compute @f<R: type, by: int>(%x: tensor<f32[2]>) -> (%y: tensor<R[by, 2]>)\n"
                  "{ %y = broadcast R(%x * f32(by)) : tensor<R[by, 2]> }\n");
    const tile_function *f = tile_module_function(module, 0);
    float from[2] = {1.5f, 2049.0f / 3};
    uint16_t half[6];
    tile_compute_value values[] = {{"by", 3, TILE_SCALAR_NONE}, {"R", 0, TILE_f16}};
    const tile_compute_array in = {TILE_f32, 1, {2}, from};
    tile_compute_array out = {.rank = 0};
    cr_assert_eq(tile_compute_shapes_with(f, values, 2, &in, 1, &out, 1), TILE_OK, "%s",
                 x.messages);
    cr_expect(out.scalar == TILE_f16 && out.rank == 2 && out.dims[0] == 3 && out.dims[1] == 2);
    out.data = half;
    cr_assert_eq(tile_compute_run_with(f, values, 2, &in, 1, &out, 1), TILE_OK, "%s", x.messages);
    cr_expect(tile_f16_to_float(half[4]) == 4.5f && tile_f16_to_float(half[5]) == 2048.0f);
    values[1] = values[0];
    cr_expect_eq(tile_compute_run_with(f, values, 2, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "'by' of @f is given twice"), "%s", x.messages);
    values[1] = (tile_compute_value){"R", 2, TILE_SCALAR_NONE};
    cr_expect_eq(tile_compute_run_with(f, values, 2, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "'R' of @f is a type, not a number"), "%s", x.messages);
    values[1] = (tile_compute_value){"R", 0, TILE_barrier};
    cr_expect_eq(tile_compute_run_with(f, values, 2, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "'R' of @f is an element type such as f16, not barrier"), "%s",
              x.messages);
    values[1] = (tile_compute_value){"R", 0, TILE_f16};
    const tile_compute_array barriers = {TILE_barrier, 1, {2}, from};
    cr_expect_eq(tile_compute_run_with(f, values, 2, &barriers, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "the array for %x needs an element type such as f16, not barrier"),
              "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, a_result_may_have_an_extent_of_its_own) {
    text_fixture x;
    text_open(&x);
    tile_module *module =
        parse(&x, "compute @f<k: dim>(%x: tensor<f32[1]>) -> (%y: tensor<f32[k]>)\n"
                  "{ %y = broadcast %x : tensor<f32[k]> }\n");
    const tile_function *f = tile_module_function(module, 0);
    float from = 3, to[2] = {0};
    const tile_compute_array in = {TILE_f32, 1, {1}, &from};
    tile_compute_array out = {TILE_f32, 1, {2}, to};
    cr_assert_eq(tile_compute_run(f, &in, 1, &out, 1), TILE_OK, "%s", x.messages);
    cr_expect(to[0] == 3 && to[1] == 3);
    cr_expect_eq(tile_compute_shapes(f, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.messages, "do not determine the parameter k"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, division_by_zero_is_reported_at_its_line) {
    text_fixture x;
    int32_t zero = 0, result;
    text_open(&x);
    tile_module *module = parse(&x, "compute @d(%n: i32) -> (%r: i32) {\n  %r = 7 / %n : i32\n}\n");
    const tile_compute_array in = {.scalar = TILE_i32, .data = &zero};
    const tile_compute_array out = {.scalar = TILE_i32, .data = &result};
    cr_assert_eq(tile_compute_run(tile_module_function(module, 0), &in, 1, &out, 1), TILE_INVALID);
    cr_assert(strstr(x.messages, "2:") == x.messages && strstr(x.messages, "division by zero"),
              "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* They wrap like the sums of a dot, so that 2^31 does not become the largest i32. */
Test(compute, sums_of_integers_wrap) {
    text_fixture x;
    const int32_t a[2] = {INT32_MAX, 100000}, b[2] = {2, 100000};
    int32_t c = 0;
    text_open(&x);
    tile_module *module = parse(&x, "compute @m<m: dim, n: dim, k: dim>(%a: tensor<i32[m, k]>, "
                                    "%b: tensor<i32[k, n]>) -> (%c: tensor<i32[m, n]>) {\n"
                                    "  %c = matmul %a, %b : tensor<i32[m, n]>\n}\n");
    const tile_compute_array in[] = {{TILE_i32, 2, {1, 2}, (void *)(uintptr_t)a},
                                     {TILE_i32, 2, {2, 1}, (void *)(uintptr_t)b}};
    const tile_compute_array out = {TILE_i32, 2, {1, 1}, &c};
    cr_assert_eq(tile_compute_run(tile_module_function(module, 0), in, 2, &out, 1), TILE_OK);
    cr_assert_eq(c, (int32_t)(UINT32_C(0xfffffffe) + (uint32_t)UINT64_C(10000000000)));
    tile_module_destroy(module);
    text_close(&x);
}

Test(compute, empty_sum_is_zero) {
    text_fixture x;
    float c[4] = {9, 9, 9, 9};
    text_open(&x);
    tile_module *module = parse(&x, "compute @m<m: dim, n: dim, k: dim>(%a: tensor<f32[m, k]>, "
                                    "%b: tensor<f32[k, n]>) -> (%c: tensor<f32[m, n]>) {\n"
                                    "  %c = matmul %a, %b : tensor<f32[m, n]>\n}\n");
    const tile_compute_array in[] = {{TILE_f32, 2, {2, 0}, c}, {TILE_f32, 2, {0, 2}, c}};
    const tile_compute_array out = {TILE_f32, 2, {2, 2}, c};
    cr_assert_eq(tile_compute_run(tile_module_function(module, 0), in, 2, &out, 1), TILE_OK);
    for (int i = 0; i < 4; i++) cr_assert_eq(c[i], 0);
    tile_module_destroy(module);
    text_close(&x);
}

/* Detects computes that are products, which can be checked without computing them. */
Test(compute, products_are_found) {
    static const struct {
        const char *text;
        bool product, rounds;
        unsigned lhs, rhs;
    } cases[] = {
        {"compute @f<m: dim, n: dim, k: dim>(%x: tensor<f32[n]>, %a: tensor<f16[m, k]>, %b: "
         "tensor<f16[k, n]>) -> (%c: tensor<f16[m, n]>) {\n  %c = f16(matmul(%a, %b) : f32)\n}\n",
         true, false, 1, 2},
        {"compute @f<m: dim>(%a: tensor<f32[m, m]>) -> (%c: tensor<f32[m, m]>) {\n"
         "  %c = matmul %a, %a : f32\n}\n",
         true, false, 0, 0},
        {"compute @f<m: dim>(%a: tensor<f32[m, m]>) -> (%c: tensor<f32[m, m]>) {\n"
         "  %c = exp(matmul(%a, %a) : f32)\n}\n",
         false, true, 0, 0},
        {"compute @f<m: dim>(%a: tensor<f32[m, m]>) -> (%c: tensor<f32[m, m]>, %d: "
         "tensor<f32[m, m]>) {\n  %c = matmul %a, %a : f32\n  %d = %a / 3.0\n}\n",
         false, true, 0, 0},
        {"compute @f<m: dim>(%a: tensor<f32[m, m]>) -> (%c: tensor<f32[m, m]>) {\n"
         "  %c = g(%a)\n}\nfunc @g<T: type>(%x: T) -> (%y: T) {\n  %y = h(%x) + 1\n}\n"
         "func @h<T: type>(%x: T) -> (%y: T) {\n  %y = %x / 2\n}\n",
         false, true, 0, 0},
        {"compute @f<m: dim>(%a: tensor<i32[m, m]>) -> (%c: tensor<i32[m, m]>) {\n"
         "  %c = h(%a)\n}\nfunc @h<T: type>(%x: T) -> (%y: T) {\n  %y = %x / 2\n}\n",
         false, false, 0, 0},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_context *context = tile_context_create();
        tile_module *module =
            tile_module_parse(context, "f.tile", cases[i].text, strlen(cases[i].text));
        cr_assert(module, "case %u", i);
        const tile_function *f = tile_module_function(module, 0);
        tile_product_inputs found = {9, 9, false, false};
        cr_expect_eq(tile_compute_find_product(f, &found), cases[i].product, "case %u", i);
        if (cases[i].product) {
            cr_expect_eq(found.lhs, cases[i].lhs, "case %u", i);
            cr_expect_eq(found.rhs, cases[i].rhs, "case %u", i);
            cr_expect_not(found.trans_lhs || found.trans_rhs, "case %u", i);
        }
        cr_expect_eq(tile_compute_rounds(f), cases[i].rounds, "case %u", i);
        tile_module_destroy(module);
        tile_context_destroy(context);
    }
}

Test(compute, products_say_which_input_is_transposed) {
    for (unsigned way = 0; way < 4; way++) {
        bool lhs = way & 1, rhs = way & 2;
        char text[256];
        snprintf(text, sizeof text,
                 "compute @f<m: dim, n: dim, k: dim>(%%a: tensor<f16[%s]>, %%b: tensor<f16[%s]>)\n"
                 "    -> (%%c: tensor<f16[m, n]>) {\n  %%c = f16(matmul(%%a, %%b%s%s) : f32)\n}\n",
                 lhs ? "k, m" : "m, k", rhs ? "n, k" : "k, n", lhs ? ", trans_lhs" : "",
                 rhs ? ", trans_rhs" : "");
        tile_context *context = tile_context_create();
        tile_module *module = tile_module_parse(context, "f.tile", text, strlen(text));
        tile_product_inputs found;
        cr_assert(module, "%s", text);
        cr_assert(tile_compute_find_product(tile_module_function(module, 0), &found), "%s", text);
        cr_expect_eq(found.trans_lhs, lhs, "%s", text);
        cr_expect_eq(found.trans_rhs, rhs, "%s", text);
        tile_module_destroy(module);
        tile_context_destroy(context);
    }
}

/* Windows ------------------------------------------------------------------------------------- */

static const char windows[] =
    "compute @w<n: dim, h: dim, w: dim, c: dim, p: dim, q: dim, r: dim, s: dim>\n"
    "    (%x: tensor<i32[n, h, w, c]>, %up: i32, %left: i32, %by: i32, %far: i32)\n"
    "    -> (%y: tensor<i32[n, p, q, r, s, c]>)\n"
    "{\n"
    "  %y = window %x, [%by, 2], [%up, %left], [%far, 1] {axis = 1, pad = -5} : [n, p, q, r, s, "
    "c]\n"
    "}\n";

typedef struct window_case {
    int64_t n, h, w, c, p, q, r, s;
    int32_t up, left, by, far;
} window_case;

static tile_status run_windows(text_fixture *x, const window_case *k, int32_t *from, int32_t *to) {
    int32_t up = k->up, left = k->left, by = k->by, far = k->far;
    tile_module *module = parse(x, windows);
    const tile_compute_array in[] = {{TILE_i32, 4, {k->n, k->h, k->w, k->c}, from},
                                     {.scalar = TILE_i32, .data = &up},
                                     {.scalar = TILE_i32, .data = &left},
                                     {.scalar = TILE_i32, .data = &by},
                                     {.scalar = TILE_i32, .data = &far}};
    const tile_compute_array out = {TILE_i32, 6, {k->n, k->p, k->q, k->r, k->s, k->c}, to};
    tile_status status = tile_compute_run(tile_module_function(module, 0), in, 5, &out, 1);
    tile_module_destroy(module);
    return status;
}

static int32_t windowed(const window_case *k, const int32_t *from, int64_t i) {
    int64_t c = i % k->c, s = i / k->c % k->s, r = i / k->c / k->s % k->r;
    int64_t rest = i / k->c / k->s / k->r, q = rest % k->q, p = rest / k->q % k->p;
    int64_t y = p * k->by + r * k->far - k->up, x = q * 2 + s - k->left, n = rest / k->q / k->p;
    bool inside = y >= 0 && y < k->h && x >= 0 && x < k->w;
    return inside ? from[((n * k->h + y) * k->w + x) * k->c + c] : -5;
}

Test(compute, windows_of_all_kinds) {
    enum { MOST = 4096 };
    static const window_case cases[] = {
        {2, 5, 7, 3, 5, 4, 3, 3, 1, 1, 1, 1},  {1, 4, 4, 1, 2, 2, 2, 2, 0, 0, 2, 1},
        {2, 9, 6, 2, 3, 4, 2, 3, 2, 3, 3, 4},  {1, 1, 1, 5, 3, 2, 1, 1, 1, 0, 1, 1},
        {1, 3, 2, 1, 9, 5, 4, 1, 0, 2, 1, 1},  {2, 0, 3, 2, 2, 2, 2, 2, 1, 1, 1, 1},
        {2, 3, 3, 2, 0, 2, 2, 2, 1, 1, 1, 1},  {1, 5, 6, 2, 3, 3, 2, 2, -1, -2, 1, 1},
        {2, 6, 5, 1, 4, 2, 3, 2, -2, 1, 1, -1}};
    static int32_t from[MOST], to[MOST];
    text_fixture x;
    text_open(&x);
    for (int32_t i = 0; i < MOST; i++) from[i] = i;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const window_case *k = &cases[i];
        int64_t count = k->n * k->p * k->q * k->r * k->s * k->c;
        cr_assert_leq(count, MOST);
        cr_assert_eq(run_windows(&x, k, from, to), TILE_OK, "%s", x.messages);
        for (int64_t e = 0; e < count; e++)
            cr_assert_eq(to[e], windowed(k, from, e), "case %u, element %lld", i, (long long)e);
    }
    text_close(&x);
}

Test(compute, numbers_of_windows_are_looked_at) {
    static const window_case k = {1, 3, 3, 1, 2, 2, 1, 1, 0, 0, 0, 1};
    int32_t from[9] = {0}, to[4];
    text_fixture x;
    text_open(&x);
    cr_expect_eq(run_windows(&x, &k, from, to), TILE_INVALID);
    cr_expect(strstr(x.messages, "strides must be 1 or more; one is 0"), "%s", x.messages);
    text_close(&x);
}

/* Freivalds' test ------------------------------------------------------------------------------ */

enum { ROWS = 3, DEPTH = 4, COLUMNS = 5 };

/* Element [row, column] of an integer matrix, stored directly or transposed. */
static int number_at(unsigned seed, int row, int column) {
    return (int)((seed + 7 * (unsigned)row + 5 * (unsigned)column) % 11) - 5;
}

static tile_matrix fill_matrix(unsigned seed, int rows, int columns, bool transposed, float *data) {
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            data[transposed ? j * rows + i : i * columns + j] = (float)number_at(seed, i, j);
    return (tile_matrix){data, TILE_f32, transposed ? columns : rows, transposed ? rows : columns,
                         transposed};
}

Test(compute, a_product_is_checked_by_its_rows) {
    for (unsigned turned = 0; turned < 4; turned++) {
        float a[ROWS * DEPTH], b[DEPTH * COLUMNS];
        int32_t c[ROWS * COLUMNS] = {0};
        double vectors[TILE_FREIVALDS_ROUNDS * (ROWS + COLUMNS)];
        int64_t first = -1;
        tile_matrix lhs = fill_matrix(1, ROWS, DEPTH, turned & 1, a);
        tile_matrix rhs = fill_matrix(4, DEPTH, COLUMNS, turned & 2, b);
        tile_matrix product = {c, TILE_i32, ROWS, COLUMNS, false};
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                for (int k = 0; k < DEPTH; k++)
                    c[i * COLUMNS + j] += number_at(1, i, k) * number_at(4, k, j);
        tile_product_vectors(&lhs, &rhs, 17, vectors);
        cr_expect_eq(tile_product_wrong_rows(&product, vectors, &first), 0);
        cr_expect_eq(first, -1);
        c[1 * COLUMNS + 2]++;
        c[2 * COLUMNS]--;
        cr_expect_eq(tile_product_wrong_rows(&product, vectors, &first), 2);
        cr_expect_eq(first, 1);
        cr_expect_eq(tile_product_wrong_rows(&product, vectors, NULL), 2);
    }
}

Test(compute, whole_numbers_that_a_type_holds) {
    cr_expect_eq(tile_scalar_whole_limit(TILE_f16), 2048);
    cr_expect_eq(tile_scalar_whole_limit(TILE_bf16), 256);
    cr_expect_eq(tile_scalar_whole_limit(TILE_f32), 0x1p24);
    cr_expect_eq(tile_scalar_whole_limit(TILE_f64), 0x1p53);
    cr_expect_eq(tile_scalar_whole_limit(TILE_i8), 128);
    cr_expect_eq(tile_scalar_whole_limit(TILE_i32), 0x1p31);
}
