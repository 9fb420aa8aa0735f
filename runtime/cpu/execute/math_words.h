/* The primitives of math_bodies.h in the host's arithmetic: the results of a GPU, where `nudge`
 * sets the error of the hardware's approximations. Used by the CPU device, and by test_math.c,
 * which checks the functions against the bounds in ops.def. */
#ifndef TILE_RUNTIME_CPU_EXECUTE_MATH_WORDS_H
#define TILE_RUNTIME_CPU_EXECUTE_MATH_WORDS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct math {
    bool wide;
    double nudge; /* error of the approximations, in units of their bound */
} math;

typedef double num;
typedef bool truth;

static num rounded(const math *m, double x) {
    return m->wide ? x : (double)(float)x;
}

/* f32 sums, products and quotients are computed in f64 and rounded again. */
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

static num num_give_sign(math *m, num a, num b) {
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

/* The errors that PTX documents include rounding. */
static num num_exp2_approx(math *m, num a) {
    return rounded(m, exp2(a) * (1 + m->nudge * (0x1p-22 - 0x1p-24)));
}

static num num_exp2_flushed(math *m, num a) {
    num power = num_exp2_approx(m, a);
    return power < 0x1p-126 ? 0 : power;
}

static num num_reciprocal_approx(math *m, num a) {
    return rounded(m, 1 / a * (1 + m->nudge * (0x1p-23 - 0x1p-24)));
}

/* Between 1/2 and 2 the error is absolute. */
static num num_log2_approx(math *m, num a) {
    num result = log2(a);
    double size = a > 0.5 && a < 2 ? 1 : fabs(result);
    return rounded(m, isfinite(result) ? result + m->nudge * size * (0x1p-22 - 0x1p-24) : result);
}

static num num_tanh_approx(math *m, num a) {
    return rounded(m, tanh(a) * (1 + m->nudge * (0x1p-10 - 0x1p-11)));
}

static num num_sin_approx(math *m, num a) {
    return rounded(m, sin(a) + m->nudge * (0x1p-20 - 0x1p-23));
}

static num num_cos_approx(math *m, num a) {
    return rounded(m, cos(a) + m->nudge * (0x1p-20 - 0x1p-23));
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
    return rounded(m, rounded(m, x * ldexp(1, half)) * ldexp(1, whole - half));
}

static num num_repeat(math *m, num a, num b, num (*step)(math *m, num a, num b)) {
    while (b <= fabs(a)) a = step(m, a, b);
    return a;
}

static num num_exponent(math *m, num t, num *minus) {
    double n = floor(252 * fmin(fmax(t, 0), 1)) - 126;
    (void)m;
    *minus = -n;
    return ldexp(1, (int)n);
}

static truth num_ordinary(math *m, num x) {
    (void)m;
    return x >= 0 && x < INFINITY && !signbit(x);
}

static num num_split(math *m, num x, num start, num *fraction) {
    if (!m->wide) {
        float narrow = (float)x;
        int32_t bits, n;
        memcpy(&bits, &narrow, 4);
        n = (int32_t)((uint32_t)bits - 0x3f2aaaab) >> 23;
        bits = (int32_t)((uint32_t)bits - ((uint32_t)n << 23));
        memcpy(&narrow, &bits, 4);
        *fraction = narrow;
        return start + n;
    }
    int64_t bits, n;
    memcpy(&bits, &x, 8);
    n = (int64_t)((uint64_t)bits - 0x3fe5555555555555) >> 52;
    bits = (int64_t)((uint64_t)bits - ((uint64_t)n << 52));
    memcpy(fraction, &bits, 8);
    return start + (double)n;
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
    volatile double sum = x + 0x1.8p52; /* forces rounding of each sum */
    double kept = sum;
    uint64_t bits;
    (void)m;
    memcpy(&bits, &kept, 8);
    *quarters = kept - 0x1.8p52;
    *odd = bits & 1;
    *upper = bits & 2;
}

#include "lib/codegen/math_bodies.h"

#endif
