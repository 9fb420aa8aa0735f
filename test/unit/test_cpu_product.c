/* Compares sums of products on the CPU device with loops in this file: order, rounding, wrapping,
 * signs. */
#include <math.h>

#include "lib/support/scalar.h"
#include "test/unit/cpu_fixture.h"

enum { M = 2, N = 4, K = 8 };

typedef struct operands {
    unsigned char a[8 * M * K], b[8 * K * N], c[8 * M * N], d[8 * M * N];
} operands;

/* Runs d = c + a x b at level 2 with random bits; floats are not too large. */
static void run(operands *x, tile_scalar lhs, tile_scalar rhs, tile_scalar acc, const char *flags) {
    cpu_fixture f;
    char kernel[1024];
    snprintf(
        kernel, sizeof kernel,
        "kernel @k(%%a: ptr<%s>, %%b: ptr<%s>, %%c: ptr<%s>, %%d: ptr<%s>) grid [1] warps 1 {\n"
        "  %%ga = view %%a, [2, 8] : view<%s[2, 8]>\n"
        "  %%gb = view %%b, [8, 4] : view<%s[8, 4]>\n"
        "  %%gc = view %%c, [2, 4] : view<%s[2, 4]>\n"
        "  %%gd = view %%d, [2, 4] : view<%s[2, 4]>\n"
        "  %%ta = load %%ga[0, 0] : tile<%s[2, 8]>\n"
        "  %%tb = load %%gb[0, 0] : tile<%s[8, 4]>\n"
        "  %%tc = load %%gc[0, 0] : tile<%s[2, 4]>\n"
        "  %%td = dot %%ta, %%tb, %%tc %s\n"
        "  store %%td, %%gd[0, 0]\n}\n",
        tile_scalar_name(lhs), tile_scalar_name(rhs), tile_scalar_name(acc), tile_scalar_name(acc),
        tile_scalar_name(lhs), tile_scalar_name(rhs), tile_scalar_name(acc), tile_scalar_name(acc),
        tile_scalar_name(lhs), tile_scalar_name(rhs), tile_scalar_name(acc), flags);
    cpu_open(&f, 2, 0, kernel);
    cpu_pass(&f, x->a, tile_scalar_bytes(lhs) * M * K);
    cpu_pass(&f, x->b, tile_scalar_bytes(rhs) * K * N);
    cpu_pass(&f, x->c, tile_scalar_bytes(acc) * M * N);
    cpu_pass(&f, NULL, tile_scalar_bytes(acc) * M * N);
    CPU_RUN(&f);
    cpu_get(&f, 3, x->d, tile_scalar_bytes(acc) * M * N);
    cpu_close(&f);
}

static uint64_t next(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 20;
}

static void fill(unsigned char *to, tile_scalar scalar, unsigned count, uint64_t *state) {
    for (unsigned i = 0; i < count; i++) {
        unsigned char *at = to + i * tile_scalar_bytes(scalar);
        if (tile_scalar_is_floating(scalar))
            tile_scalar_write(scalar, at, ldexp((double)(next(state) % 65537) - 32768, -12));
        else
            tile_integer_write(scalar, at, (int64_t)(next(state) << 32 ^ next(state)));
    }
}

static void fill_all(operands *x, tile_scalar lhs, tile_scalar rhs, tile_scalar acc) {
    uint64_t state = 1;
    fill(x->a, lhs, M * K, &state);
    fill(x->b, rhs, K * N, &state);
    fill(x->c, acc, M * N, &state);
}

/* Adds with one fma in the accumulator's type; for narrow types f64 holds the exact sum. */
static double add_product(tile_scalar acc, double a, double b, double sum) {
    a = tile_scalar_round(acc, a);
    b = tile_scalar_round(acc, b);
    if (acc == TILE_f32) return (double)fmaf((float)a, (float)b, (float)sum);
    return tile_scalar_round(acc, fma(a, b, sum));
}

static void check_floats(tile_scalar lhs, tile_scalar rhs, tile_scalar acc) {
    static operands x;
    fill_all(&x, lhs, rhs, acc);
    run(&x, lhs, rhs, acc, "");
    unsigned la = tile_scalar_bytes(lhs), lb = tile_scalar_bytes(rhs), lc = tile_scalar_bytes(acc);
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < N; j++) {
            double sum = tile_scalar_read(acc, x.c + (i * N + j) * lc);
            for (unsigned k = 0; k < K; k++)
                sum = add_product(acc, tile_scalar_read(lhs, x.a + (i * K + k) * la),
                                  tile_scalar_read(rhs, x.b + (k * N + j) * lb), sum);
            cr_assert_eq(tile_scalar_read(acc, x.d + (i * N + j) * lc), sum,
                         "%s x %s + %s [%u, %u]", tile_scalar_name(lhs), tile_scalar_name(rhs),
                         tile_scalar_name(acc), i, j);
        }
}

Test(cpu_product, floats_are_added_in_the_order_of_k) {
    static const tile_scalar floats[] = {TILE_f16,  TILE_bf16, TILE_f32, TILE_f64,
                                         TILE_tf32, TILE_e4m3, TILE_e5m2};
    static const tile_scalar sums[] = {TILE_f16, TILE_bf16, TILE_f32, TILE_f64};
    for (unsigned a = 0; a < sizeof floats / sizeof *floats; a++)
        for (unsigned b = 0; b < sizeof floats / sizeof *floats; b++)
            for (unsigned s = 0; s < sizeof sums / sizeof *sums; s++)
                check_floats(floats[a], floats[b], sums[s]);
    check_floats(TILE_i8, TILE_f16, TILE_f32);
    check_floats(TILE_i32, TILE_i16, TILE_f64);
    check_floats(TILE_u8, TILE_i8, TILE_f32);
    check_floats(TILE_u32, TILE_u16, TILE_f64);
}

static uint64_t element(tile_scalar scalar, const unsigned char *at, bool is_unsigned) {
    uint64_t value = (uint64_t)tile_integer_read(scalar, at);
    return is_unsigned ? value & UINT64_MAX >> (64 - tile_scalar_bits(scalar)) : value;
}

static void check_integers(tile_scalar lhs, tile_scalar rhs, tile_scalar acc, const char *flags) {
    static operands x;
    bool ul = strstr(flags, "lhs"), ur = strstr(flags, "rhs");
    fill_all(&x, lhs, rhs, acc);
    run(&x, lhs, rhs, acc, flags);
    unsigned la = tile_scalar_bytes(lhs), lb = tile_scalar_bytes(rhs), lc = tile_scalar_bytes(acc);
    for (unsigned i = 0; i < M; i++)
        for (unsigned j = 0; j < N; j++) {
            unsigned char expected[8] = {0};
            uint64_t sum = (uint64_t)tile_integer_read(acc, x.c + (i * N + j) * lc);
            for (unsigned k = 0; k < K; k++)
                sum += element(lhs, x.a + (i * K + k) * la, ul) *
                       element(rhs, x.b + (k * N + j) * lb, ur);
            tile_integer_write(acc, expected, (int64_t)sum);
            cr_assert_eq(tile_integer_read(acc, x.d + (i * N + j) * lc),
                         tile_integer_read(acc, expected), "%s x %s + %s %s [%u, %u]",
                         tile_scalar_name(lhs), tile_scalar_name(rhs), tile_scalar_name(acc), flags,
                         i, j);
        }
}

Test(cpu_product, integers_wrap_and_have_signs) {
    static const tile_scalar integers[] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64,
                                           TILE_u8, TILE_u16, TILE_u32, TILE_u64};
    static const char *const flags[] = {"", "{unsigned_lhs}", "{unsigned_rhs}",
                                        "{unsigned_lhs, unsigned_rhs}"};
    for (unsigned a = 0; a < 8; a++)
        for (unsigned b = 0; b < 8; b++)
            for (unsigned s = 0; s < 8; s++)
                for (unsigned f = 0; f < 4; f++)
                    check_integers(integers[a], integers[b], integers[s], flags[f]);
}
