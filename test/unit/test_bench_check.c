/* tile-bench: the operands of products, and the check of their results. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/matmul/operands.h"

typedef struct operands_fixture {
    tile_context *context;
    bench_lab *lab;
    bench_operands operands;
} operands_fixture;

static void open_lab(operands_fixture *x) {
    const bench_lab_options options = {.sms = 1};
    *x = (operands_fixture){.context = tile_context_create()};
    x->lab = bench_lab_open(x->context, &options);
    cr_assert_not_null(x->lab);
}

static void close_lab(operands_fixture *x) {
    bench_operands_free(&x->operands);
    bench_lab_close(x->lab);
    tile_context_destroy(x->context);
}

/* Returns the bytes of both operands, a first. The caller frees them. */
static char *fill(operands_fixture *x, const bench_product *p, bench_fill how) {
    const size_t width = tile_scalar_bytes(p->type->operand);
    const size_t sizes[2] = {(size_t)(p->m * p->k) * width, (size_t)(p->k * p->n) * width};
    bench_memory memory[2];
    char *data = malloc(sizes[0] + sizes[1]);
    for (int i = 0; i < 2; i++) cr_assert_eq(bench_memory_create(x->lab, sizes[i], &memory[i]), 0);
    cr_assert_eq(bench_fill_operands(&x->operands, p, how, x->lab, &memory[0], &memory[1]),
                 TILE_OK);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tile_buffer_read(memory[i].buffer, 0, data + i * sizes[0], sizes[i]), TILE_OK);
        bench_memory_destroy(x->lab, &memory[i]);
    }
    return data;
}

/* The product of 8-bit integers, as 32-bit ones. */
static int32_t *multiply(operands_fixture *x, const bench_product *p) {
    int8_t *a = (int8_t *)fill(x, p, BENCH_WHOLE), *b = a + p->m * p->k;
    int32_t *c = calloc((size_t)(p->m * p->n), sizeof *c);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t t = 0; t < p->k; t++) {
            int32_t factor = p->transposed_a ? a[t * p->m + i] : a[i * p->k + t];
            for (int64_t j = 0; factor && j < p->n; j++)
                c[i * p->n + j] += factor * (p->transposed_b ? b[j * p->k + t] : b[t * p->n + j]);
        }
    free(a);
    return c;
}

/* The right product passes; one with a wrong element, anywhere, does not. */
static void check(operands_fixture *x, int64_t m, int64_t n, int64_t k, bool by_elements) {
    static const char *const layouts[] = {"NN", "NT", "TN", "TT"};
    uint64_t state = 1;
    for (int l = 0; l < 4; l++) {
        bench_product p = {.m = m, .n = n, .k = k, .type = bench_type_find("i8")};
        bench_read_trans(layouts[l], &p);
        int32_t *c = multiply(x, &p);
        bench_verdict right = bench_check_result(&x->operands, &p, (const char *)c);
        cr_expect(!*right.wrong, "%s: %s", layouts[l], right.wrong);
        cr_expect_eq(right.by_elements, by_elements);
        for (int i = 0; i < 4; i++) {
            uint64_t at = bench_random(&state, (uint64_t)(m * n));
            c[at]++;
            bench_verdict wrong = bench_check_result(&x->operands, &p, (const char *)c);
            char place[40];
            snprintf(place, sizeof place, by_elements ? "[%d, %d]" : "row %d ", (int)(at / n),
                     (int)(at % n));
            cr_expect(strstr(wrong.wrong, place), "%s: '%s' lacks %s", layouts[l], wrong.wrong,
                      place);
            c[at]--;
        }
        free(c);
    }
}

Test(bench_check, elements_are_compared) {
    operands_fixture x;
    open_lab(&x);
    check(&x, 9, 17, 33, true);
    check(&x, 1, 70, 130, true);
    check(&x, 70, 1, 1, true);
    close_lab(&x);
}

/* More than 2^26 products, and operands that are longer than the pattern that they repeat. */
Test(bench_check, rows_are_tested) {
    operands_fixture x;
    open_lab(&x);
    check(&x, 20, 1100, 3100, false);
    close_lab(&x);
}

/* An element that is no sum of whole numbers is named, with its value. */
Test(bench_check, what_is_no_sum_is_named) {
    static const struct {
        uint16_t bits;
        const char *text;
    } cases[] = {{0xffff, "NaN"}, {0x7c00, "inf"}, {0x3800, "0.5"}, {0x7bff, "not 0"}};
    operands_fixture x;
    open_lab(&x);
    const bench_product p = {.m = 3, .n = 5, .k = 2, .type = bench_type_find("f16")};
    uint16_t c[15] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c[7] = cases[i].bits;
        bench_verdict wrong = bench_check_result(&x.operands, &p, (const char *)c);
        cr_expect(*wrong.wrong);
        if (i < 3) cr_expect(strstr(wrong.wrong, "[1, 2]") && strstr(wrong.wrong, cases[i].text));
    }
    close_lab(&x);
}

/* Random operands are those of another process and of another order of types. */
Test(bench_check, operands_do_not_depend_on_what_came_before) {
    operands_fixture x, y;
    open_lab(&x);
    open_lab(&y);
    bench_product p = {.m = 40, .n = 50, .k = 60, .type = bench_type_find("bf16")};
    bench_product other = p;
    other.type = bench_type_find("e4m3");
    free(fill(&y, &other, BENCH_RANDOM));
    free(fill(&y, &other, BENCH_WHOLE));
    for (bench_fill how = BENCH_WHOLE; how <= BENCH_RANDOM; how++) {
        char *own = fill(&x, &p, how), *others = fill(&y, &p, how);
        cr_expect(memcmp(own, others, 2 * 60 * (40 + 50)) == 0);
        free(own);
        free(others);
    }
    close_lab(&x);
    close_lab(&y);
}
