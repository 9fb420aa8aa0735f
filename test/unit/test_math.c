/* Compares exp, log and similar functions, computed as their generated code does, with libm in f64
 * (for f32) and long double (for f64): the errors must be within ops.def's bounds. Approximate
 * instructions are off by as much as PTX allows, in both directions. */
#include <criterion/criterion.h>

#include "lib/ops/error.h"
#include "runtime/cpu/execute/math_words.h"
#include "test/unit/cpu_fixture.h"
#include "test/unit/share.h"

typedef struct function {
    const char *name;
    num (*body)(math *m, num x);
    double (*narrow)(double x);
    long double (*wide)(long double x);
    double least; /* below this, the result has fewer bits than its bound needs */
} function;

static long double sigmoidl(long double x) {
    return 1 / (1 + expl(-x));
}

static double sigmoid(double x) {
    return (double)sigmoidl(x);
}

static long double softplusl(long double x) {
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static double softplus(double x) {
    return (double)softplusl(x);
}

/* Bisection, which needs nothing but erf. */
static long double erfinvl(long double x) {
    long double low = 0, high = 7, size = fabsl(x);
    if (size < 0x1p-30L) return x * 0.886226925452758013649083741671L; /* sqrt(pi) / 2 */
    if (!(size < 1)) return size == 1 ? copysignl(INFINITY, x) : (long double)NAN;
    for (unsigned i = 0; i < 100; i++) {
        long double middle = (low + high) / 2;
        bool below = size < 0.5L ? erfl(middle) < size : erfcl(middle) > 1 - size;
        if (below)
            low = middle;
        else
            high = middle;
    }
    return copysignl(low, x);
}

static double erfinv(double x) {
    return (double)erfinvl(x);
}

static long double signl(long double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

static double sign(double x) {
    return (double)signl(x);
}

#ifdef TILE_TEST_FUNCTION
static double test_function(double x) {
    return x / (1 + fabs(x));
}

static long double test_functionl(long double x) {
    return x / (1 + fabsl(x));
}
#endif

static const function functions[] = {
    {"exp", body_exp, exp, expl, 0x1p-126},
    {"exp2", body_exp2, exp2, exp2l, 0x1p-126},
    {"log", body_log, log, logl, 0},
    {"log2", body_log2, log2, log2l, 0},
    {"tanh", body_tanh, tanh, tanhl, 0x1p-126},
    {"erf", body_erf, erf, erfl, 0x1p-126},
    {"sin", body_sin, sin, sinl, 0x1p-126},
    {"cos", body_cos, cos, cosl, 0x1p-126},
    {"sigmoid", body_sigmoid, sigmoid, sigmoidl, 0x1p-126},
    {"softplus", body_softplus, softplus, softplusl, 0x1p-126},
    {"log1p", body_log1p, log1p, log1pl, 0x1p-126},
    {"expm1", body_expm1, expm1, expm1l, 0x1p-126},
    {"erfinv", body_erfinv, erfinv, erfinvl, 0x1p-126},
    {"sign", body_sign, sign, signl, 0},
#ifdef TILE_TEST_FUNCTION
    {"test_function", body_test_function, test_function, test_functionl, 0x1p-126},
#endif
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

typedef struct function_of_two {
    const char *name;
    num (*body)(math *m, num x, num y);
    double (*narrow)(double x, double y);
    long double (*wide)(long double x, long double y);
} function_of_two;

static const function_of_two functions_of_two[] = {
    {"pow", body_pow, pow, powl},
    {"atan2", body_atan2, atan2, atan2l},
    {"fmod", body_fmod, fmod, fmodl},
};

enum { FUNCTIONS_OF_TWO = sizeof functions_of_two / sizeof *functions_of_two };

_Static_assert(0
#define FUNCTION(name, fast_body) +1
#define FUNCTION_OF_TWO(name) +1
#include "lib/codegen/math.def"
                   == FUNCTIONS + FUNCTIONS_OF_TWO,
               "each function of math.def has a row");

/* The bound in ops.def. */
static double stated_of(const char *name, bool wide) {
    tile_opcode opcode = tile_opcode_from_name(name, strlen(name));
    return tile_op_error_of(opcode, wide ? TILE_f64 : TILE_f32, false).relative;
}

static double stated_for(const function *f, bool wide) {
    return stated_of(f->name, wide);
}

static bool turns(const function *f, bool wide, double x) {
    return f->narrow == sin || f->narrow == cos ? fabs(x) < (wide ? 0x1p30 : 0x1p47) : true;
}

/* Returns the error in units of the bound; 0 if both are NaN, or the same infinity. */
static double error_against(long double want, double got, bool wide, double bound, double least) {
    double near = wide ? (double)want : (double)(float)want;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(near) || isinf(got) || got == near)
        return got == near || fabsl(want) > (wide ? 0x1.fffffffffffp1023 : 0x1.ffffcp127)
                   ? 0
                   : INFINITY;
    if (wide && least > 0) least = 0x1p-1022;
    double size = fmax((double)fabsl(want), least);
    return (double)(fabsl(got - want) / size) / bound;
}

static double error_of(const function *f, bool wide, double nudge, double x) {
    math m = {wide, nudge};
    double got = f->body(&m, x);
    long double want = wide ? f->wide(x) : (long double)f->narrow(x);
    if (!turns(f, wide, x)) return isnan(got) ? 0 : INFINITY;
    return error_against(want, got, wide, stated_for(f, wide), f->least);
}

/* Tests every n-th f32. All of them pass as well (step 1, some minutes). */
Test(math, errors_of_f32) {
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        double worst = 0, at = 0;
        for (uint64_t bits = i; bits < (uint64_t)1 << 32; bits += 8191) {
            if (!is_in_share(bits / 8191)) continue;
            uint32_t word = (uint32_t)bits;
            float x;
            memcpy(&x, &word, 4);
            for (int nudge = -1; nudge <= 1; nudge += 2) {
                double error = error_of(&functions[i], false, nudge, x);
                if (error > worst) worst = error, at = x;
            }
        }
        cr_expect_leq(worst, 1, "%s: %g times the bound at %a", functions[i].name, worst, at);
    }
}

/* Values where polynomials meet, where results overflow or underflow, and angles near full
 * turns. */
static const double corners[] = {
    0.0,      -0.0,     1.0,    -1.0,    0.55,     0.5499999, 2.25,      4,         6,       3.9999,
    88.72283, 88.72284, -87.34, -103.97, -104,     709.782,   709.783,   -708.5,    -745.13, -746,
    710,      1023.999, 1024,   -1074,   -1075.1,  127.9999,  128,       -149,      -150,    1e-30,
    1e-310,   1e-45,    1e30,   1e300,   INFINITY, -INFINITY, NAN,       0x1p46,    0x1p29,  0x1p47,
    1e9,      1.333333, 0.6666, 0.75,    1.5,      3.1415927, 1.5707963, 6.2831853, 355,     710e5,
    2.0 / 3,  4.0 / 3,  -3e-39, 0.3466,  -0.3465,  1.6,       0.99999,   1.00001,   -5.9999, 8.0};

Test(math, corners) {
    for (unsigned i = 0; i < FUNCTIONS; i++)
        for (unsigned c = 0; c < sizeof corners / sizeof *corners; c++)
            for (int nudge = -1; nudge <= 1; nudge++) {
                double x = corners[c];
                double narrow = error_of(&functions[i], false, nudge, (float)x);
                cr_expect_leq(narrow, 1, "%s of f32 %a: %g", functions[i].name, x, narrow);
                double wide = error_of(&functions[i], true, nudge, x);
                cr_expect_leq(wide, 1, "%s of f64 %a: %g", functions[i].name, x, wide);
            }
}

Test(math, errors_of_f64) {
    uint64_t state = 1;
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        double worst = 0, at = 0;
        for (unsigned k = 0; k < 200000; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            if (!is_in_share(k / 8)) continue;
            double unit = (double)(state >> 11) * 0x1p-53, x;
            int range = (int)(k % 8); /* from the smallest to the largest numbers, most near 1 */
            x = range < 4 ? (unit - 0.5) * 4 : (unit - 0.5) * ldexp(1, (range - 3) * 4);
            if (range == 7) x = ldexp(unit - 0.5, (int)(state >> 20 & 2047) - 1023);
            double error = error_of(&functions[i], true, 0, x);
            if (error > worst) worst = error, at = x;
        }
        cr_expect_leq(worst, 1, "%s: %g times the bound at %a", functions[i].name, worst, at);
    }
}

Test(math, signs_of_zero) {
    math narrow = {false, 0}, wide = {true, 0};
    math *const both[] = {&narrow, &wide};
    for (unsigned w = 0; w < 2; w++) {
        cr_expect(signbit(body_tanh(both[w], -0.0)));
        cr_expect(signbit(body_erf(both[w], -0.0)));
        cr_expect(signbit(body_sin(both[w], -0.0)));
        cr_expect(signbit(body_log1p(both[w], -0.0)));
        cr_expect(signbit(body_expm1(both[w], -0.0)));
        cr_expect(signbit(body_erfinv(both[w], -0.0)));
        cr_expect(signbit(body_sign(both[w], -0.0)));
        cr_expect_eq(body_exp(both[w], 0), 1);
        cr_expect_eq(body_pow(both[w], 2, 10), 1024);
        cr_expect_eq(body_log(both[w], 1), 0);
        cr_expect_eq(body_log2(both[w], 1024), 10);
        cr_expect_eq(body_cos(both[w], 0), 1);
    }
}

/* Functions of two numbers --------------------------------------------------------------------- */

static double error_of_two(const function_of_two *f, bool wide, double nudge, double x, double y) {
    math m = {wide, nudge};
    long double want = wide ? f->wide(x, y) : (long double)f->narrow(x, y);
    double got = f->body(&m, x, y);
    if (got == 0 && want == 0 && !signbit(got) != !signbit(want)) return INFINITY;
    return error_against(want, got, wide, stated_of(f->name, wide), 0x1p-126);
}

/* The edges that C lists for pow, atan2 and fmod, and what lies beside them. */
Test(math, corners_of_two) {
    static const double ends[] = {0.0,      -0.0,     1.0,       -1.0,      2.0,
                                  -2.0,     3.0,      -3.0,      0.5,       -0.5,
                                  2.5,      -2.5,     1e-30,     -1e-30,    1e30,
                                  -1e30,    INFINITY, -INFINITY, NAN,       0x1p-149,
                                  0x1p-126, 7.0,      0x1p24,    -0x1p24,   0x1p24 + 2,
                                  0x1p53,   1e-310,   1e300,     -1e300,    127.0,
                                  128.0,    -126.0,   -149.0,    -150.0,    1023.0,
                                  1024.0,   -1074.0,  0.9999999, 1.0000001, 10.0,
                                  38.5,     39.0,     -45.5,     0x1p-1074, 0x1.fffffep127,
                                  0x1p-100, 0x1p100,  0.333,     5.0,       0x1.fffffffffffffp1023};
    enum { ENDS = sizeof ends / sizeof *ends };
    for (unsigned i = 0; i < FUNCTIONS_OF_TWO; i++)
        for (unsigned c = 0; c < ENDS * ENDS; c++)
            for (int nudge = -1; nudge <= 1; nudge++) {
                const function_of_two *f = &functions_of_two[i];
                double x = ends[c / ENDS], y = ends[c % ENDS];
                double narrow = error_of_two(f, false, nudge, (float)x, (float)y);
                cr_expect_leq(narrow, 1, "%s of f32 %a, %a: %g", f->name, x, y, narrow);
                double wide = error_of_two(f, true, nudge, x, y);
                cr_expect_leq(wide, 1, "%s of f64 %a, %a: %g", f->name, x, y, wide);
            }
}

/* A number of any size, one near 1, a small one, or a whole one. */
static double draw(uint64_t *state, bool wide) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    double unit = (double)(*state >> 11) * 0x1p-53 - 0.5, x = 0;
    switch (*state >> 8 & 7) {
    case 0:
    case 1:
        x = ldexp(unit, (int)(*state >> 20 & 2047) % (wide ? 2098 : 277) - (wide ? 1074 : 149));
        break;
    case 2: x = 1 + ldexp(unit, -(int)(*state >> 20 & 31)); break;
    case 3: x = rint(unit * 64); break;
    case 4: x = unit * 600; break;
    case 5: x = unit * 4096; break;
    default: x = unit * 4; break;
    }
    return wide ? x : (double)(float)x;
}

Test(math, errors_of_functions_of_two) {
    enum { DRAWS = 120000 };
    for (unsigned i = 0; i < 2 * FUNCTIONS_OF_TWO; i++) {
        const function_of_two *f = &functions_of_two[i / 2];
        bool wide = i % 2;
        uint64_t state = i + 1;
        double worst = 0, at[2] = {0};
        for (unsigned k = 0; k < DRAWS; k++) {
            double x = draw(&state, wide), y = draw(&state, wide);
            if (!is_in_share(k / 8)) continue;
            for (int nudge = -1; nudge <= 1; nudge += 2) {
                double error = error_of_two(f, wide, nudge, x, y);
                if (error > worst) worst = error, at[0] = x, at[1] = y;
            }
        }
        cr_expect_leq(worst, 1, "%s of f%d: %g times the bound at %a, %a", f->name, wide ? 64 : 32,
                      worst, at[0], at[1]);
    }
}

/* {fast} --------------------------------------------------------------------------------------- */

/* Returns ops.def's bound for a result of this size: for exp (2^-22 + |x| 2^-23) * want, .. */
static double stated_fast(const char *name, double x, double want) {
    tile_error error = tile_op_error_of(tile_opcode_from_name(name, strlen(name)), TILE_f32, true);
    if (error.turns && fabs(x) > 0x1.921fb4p1) return INFINITY;
    return fmax((error.relative + error.per_src * fabs(x)) * fabs(want), error.absolute);
}

Test(math, errors_of_fast_functions) {
    static const struct {
        const char *name;
        num (*fast)(math *m, num x);
        double (*host)(double x);
    } fast[] = {
#define FUNCTION(name, fast_body) {#name, fast_body, name},
#include "lib/codegen/math.def"
    };
    for (unsigned i = 0; i < sizeof fast / sizeof *fast; i++)
        for (uint64_t bits = i; bits < (uint64_t)1 << 32; bits += 16381)
            for (int nudge = -1; nudge <= 1 && is_in_share(bits / 16381); nudge++) {
                uint32_t word = (uint32_t)bits;
                math m = {false, nudge};
                float x;
                memcpy(&x, &word, 4);
                double want = fast[i].host(x), got = fast[i].fast(&m, x);
                bool same = isnan(want) ? isnan(got) : got == (float)want;
                /* Results below the smallest normal number may be 0, results above the largest
                 * number infinite. */
                bool edge = (fabs(want) < 0x1.00001p-126 && fabs(got) <= 0x1.00001p-126) ||
                            (fabs(want) > 0x1.fffcp127 && isinf(got));
                if (same || edge) continue;
                cr_assert_leq(fabs(got - want), stated_fast(fast[i].name, x, want),
                              "%s of %a, %d: %a not %a", fast[i].name, (double)x, nudge, got, want);
            }
}

/* The CPU device ------------------------------------------------------------------------------- */

enum { VALUES = 512 };

/* Computes name(x) of VALUES numbers with a kernel that runs unchanged, at level 2 or 3. */
static void compute_on_device(unsigned level, const char *name, bool fast, const float *from,
                              float *to) {
    static const char *const kernels[] = {
        [2] = "kernel @k(%%x: ptr<f32>, %%y: ptr<f32>) grid [16] warps 1 {\n"
              "  %%b = block_id\n"
              "  %%u = view %%x, [512] : view<f32[?]>\n"
              "  %%v = view %%y, [512] : view<f32[?]>\n"
              "  %%t = load %%u[%%b * 32] : [32]\n"
              "  store %s(%%t%s), %%v[%%b * 32]\n}\n",
        [3] = "kernel @k(%%x: ptr<f32>, %%y: ptr<f32>) grid [16] warps 1 {\n"
              "  %%b = block_id\n"
              "  %%t = thread_id\n"
              "  %%i = %%b * 32 + %%t\n"
              "  %%s = ld_global %%x[%%i] : f32\n"
              "  st_global %s(%%s%s), %%y[%%i]\n}\n",
    };
    char text[512];
    cpu_fixture x;
    snprintf(text, sizeof text, kernels[level], name, fast ? ", fast" : "");
    cpu_open(&x, level, 0, text);
    cpu_pass(&x, from, sizeof *from * VALUES);
    cpu_pass(&x, NULL, sizeof *to * VALUES);
    x.grid[0] = VALUES / 32;
    CPU_RUN(&x);
    cpu_get(&x, 1, to, sizeof *to * VALUES);
    cpu_close(&x);
}

/* Level 3 computes the same as the GPU code; level 2 uses the host's functions. */
Test(math, the_cpu_device_has_the_bodies_at_level_3) {
    static const struct {
        const char *name;
        num (*body)(math *m, num x), (*fast)(math *m, num x);
        double (*host)(double x);
        bool has_fast;
    } all[] = {
#define FUNCTION(name, fast_body) {#name, body_##name, fast_body, name, fast_body != body_##name},
#include "lib/codegen/math.def"
    };
    float from[VALUES], got[VALUES];
    for (unsigned i = 0; i < VALUES; i++) from[i] = 0.37f * ((float)i - 250) + 0x1p-9f;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        math m = {false, 0};
        unsigned differ = 0;
        compute_on_device(3, all[i].name, false, from, got);
        for (unsigned k = 0; k < VALUES; k++) {
            float want = (float)all[i].body(&m, from[k]);
            cr_assert(got[k] == want || (isnan(got[k]) && isnan(want)), "%s of %a: %a not %a",
                      all[i].name, from[k], got[k], want);
            differ += isfinite(want) && want != (float)all[i].host(from[k]);
        }
        bool same = strcmp(all[i].name, "exp2") == 0 || strcmp(all[i].name, "sign") == 0;
        cr_expect(differ || same, "%s is the host's", all[i].name);
        if (all[i].has_fast) compute_on_device(3, all[i].name, true, from, got);
        for (unsigned k = 0; k < VALUES && all[i].has_fast; k++) {
            float want = (float)all[i].fast(&m, from[k]);
            cr_assert(got[k] == want || (isnan(got[k]) && isnan(want)), "fast %s of %a: %a not %a",
                      all[i].name, from[k], got[k], want);
        }
        compute_on_device(2, all[i].name, false, from, got);
        for (unsigned k = 0; k < VALUES; k++) {
            float want = (float)all[i].host(from[k]);
            cr_assert(got[k] == want || (isnan(got[k]) && isnan(want)), "%s of %a: %a not %a",
                      all[i].name, from[k], got[k], want);
        }
    }
}
