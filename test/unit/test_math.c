/* exp, log and their like, computed as their code does, against libm in f64 (f32) and long double
 * (f64): the errors that ops.def states. What the machine approximates is off by as much as PTX
 * allows, up and down. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct math {
    bool wide;
    double nudge; /* of the approximations, in units of their error */
} math;

typedef double num;
typedef bool truth;

static num rounded(const math *m, double x) {
    return m->wide ? x : (double)(float)x;
}

/* Of f32s sums, products and quotients are those of f64 rounded again. */
static num num_number(math *m, double x) {
    return rounded(m, x);
}

static num num_add(math *m, num a, num b) {
    return rounded(m, a + b);
}

static num num_sub(math *m, num a, num b) {
    return rounded(m, a - b);
}

static num num_mul(math *m, num a, num b) {
    return rounded(m, a * b);
}

static num num_divide(math *m, num a, num b) {
    return rounded(m, a / b);
}

static num num_fma(math *m, num a, num b, num c) {
    return m->wide ? fma(a, b, c) : (double)fmaf((float)a, (float)b, (float)c);
}

static num num_absolute(math *m, num a) {
    (void)m;
    return fabs(a);
}

static num num_copy_sign(math *m, num a, num b) {
    (void)m;
    return copysign(a, b);
}

static num num_clamp(math *m, num a, double low, double high) {
    (void)m;
    return fmin(fmax(a, low), high);
}

static num num_nearest(math *m, num a) {
    (void)m;
    return rint(a);
}

/* PTX's errors have the rounding in them. */
static num num_exp2_approx(math *m, num a) {
    return rounded(m, exp2(a) * (1 + m->nudge * (0x1p-22 - 0x1p-24)));
}

static num num_reciprocal_approx(math *m, num a) {
    return rounded(m, 1 / a * (1 + m->nudge * (0x1p-23 - 0x1p-24)));
}

static truth num_less(math *m, num a, num b) {
    (void)m;
    return a < b;
}

static truth num_equal(math *m, num a, num b) {
    (void)m;
    return a == b;
}

static truth num_both(math *m, truth a, truth b) {
    (void)m;
    return a && b;
}

static num num_pick(math *m, truth which, num yes, num no) {
    (void)m;
    return which ? yes : no;
}

static num num_scale(math *m, num x, num n) {
    int whole = (int)n, half = whole >> 1;
    (void)m;
    return x * ldexp(1, half) * ldexp(1, whole - half);
}

static num num_split(math *m, num x, num *fraction) {
    if (!m->wide) {
        float narrow = (float)x;
        int32_t bits, n;
        memcpy(&bits, &narrow, 4);
        n = (int32_t)((uint32_t)bits - 0x3f2aaaab) >> 23;
        bits = (int32_t)((uint32_t)bits - ((uint32_t)n << 23));
        memcpy(&narrow, &bits, 4);
        *fraction = narrow;
        return n;
    }
    int64_t bits, n;
    memcpy(&bits, &x, 8);
    n = (int64_t)((uint64_t)bits - 0x3fe5555555555555) >> 52;
    bits = (int64_t)((uint64_t)bits - ((uint64_t)n << 52));
    memcpy(fraction, &bits, 8);
    return (double)n;
}

static num num_widen(math *m, num x) {
    (void)m;
    return x;
}

static num num_narrow(math *m, num x) {
    (void)m;
    return (float)x;
}

static void num_turn(math *m, num x, num *quarters, truth *odd, truth *upper) {
    volatile double sum = x + 0x1.8p52; /* each sum is rounded */
    double kept = sum;
    uint64_t bits;
    (void)m;
    memcpy(&bits, &kept, 8);
    *quarters = kept - 0x1.8p52;
    *odd = bits & 1;
    *upper = bits & 2;
}

#include "lib/codegen/math_bodies.h"

typedef struct function {
    const char *name;
    num (*body)(math *m, num x);
    double (*narrow)(double x);
    long double (*wide)(long double x);
    double bound; /* of an f32, relative */
    double least; /* below it a result's bits are fewer than its bound needs */
} function;

static const function functions[] = {
    {"exp", body_exp, exp, expl, 0x1p-21, 0x1p-126},
    {"exp2", body_exp2, exp2, exp2l, 0x1p-22, 0x1p-126},
    {"log", body_log, log, logl, 0x1p-22, 0},
    {"log2", body_log2, log2, log2l, 0x1p-22, 0},
    {"tanh", body_tanh, tanh, tanhl, 0x1p-20, 0x1p-126},
    {"erf", body_erf, erf, erfl, 0x1p-22, 0x1p-126},
    {"sin", body_sin, sin, sinl, 0x1p-22, 0x1p-126},
    {"cos", body_cos, cos, cosl, 0x1p-22, 0x1p-126},
};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

static bool turns(const function *f, bool wide, double x) {
    return f->narrow == sin || f->narrow == cos ? fabs(x) < (wide ? 0x1p30 : 0x1p47) : true;
}

/* In units of the bound; 0 where both are not a number, or the same infinity. */
static double error_of(const function *f, bool wide, double nudge, double x) {
    math m = {wide, nudge};
    double got = f->body(&m, x), bound = wide ? 0x1p-50 : f->bound;
    long double want = wide ? f->wide(x) : (long double)f->narrow(x);
    if (!turns(f, wide, x)) return isnan(got) ? 0 : INFINITY;
    double near = wide ? (double)want : (double)(float)want;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(near) || isinf(got) || got == near)
        return got == near || fabsl(want) > (wide ? 0x1.fffffffffffp1023 : 0x1.ffffcp127)
                   ? 0
                   : INFINITY;
    double least = wide && f->least > 0 ? 0x1p-1022 : f->least;
    double size = fmax((double)fabsl(want), least);
    return (double)(fabsl(got - want) / size) / bound;
}

/* Every so many-th f32 there is; all of them pass as well (step 1, some minutes). */
Test(math, errors_of_f32) {
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        double worst = 0, at = 0;
        for (uint64_t bits = i; bits < (uint64_t)1 << 32; bits += 8191) {
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

/* Where polynomials meet, results overflow or vanish, and angles are near whole turns. */
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
        cr_expect_eq(body_exp(both[w], 0), 1);
        cr_expect_eq(body_log(both[w], 1), 0);
        cr_expect_eq(body_log2(both[w], 1024), 10);
        cr_expect_eq(body_cos(both[w], 0), 1);
    }
}
