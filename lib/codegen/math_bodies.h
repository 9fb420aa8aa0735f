/* exp, log and similar functions, from arithmetic and the machine's approximations.
 *
 * Written once over an abstract number type. math.c generates LLVM instructions from it, the CPU
 * device computes with it (runtime/cpu/execute/math_words.h), and test_math.c checks it against the
 * bounds that ops.def states. The includer defines `math`, `num`, `truth` and the functions num_*.
 * A num is an f32, or an f64 if math->wide.
 *
 *   number                       a constant
 *   add sub mul divide fma absolute
 *   copy_sign                    the first number with the second one's sign
 *   give_sign                    the same of a first number that is not negative
 *   clamp                        into low .. high; NaN becomes either
 *   nearest                      the nearest integer, ties to even
 *   scale                        x * 2^n, n an integer, rounded once
 *   repeat                       a = step(a, b) while b <= |a|
 *   exp2_approx, reciprocal_approx   of an f32, with relative errors of 2^-22 and 2^-23
 *   exp2_flushed                 exp2_approx, but results below 2^-126 are 0
 *   log2_approx tanh_approx sin_approx cos_approx   of an f32, with the errors of {fast} in ops.def
 *   exponent                     2^n of an f32 for n = floor(252 t) - 126, where t is limited to 0
 * .. 1 (NaN: 0); *minus is -n split                        x = *fraction * 2^n, the fraction from
 * 2/3 to 4/3; the result is start + n; x must not be subnormal ordinary                     true of
 * +0 and of finite numbers above 0 widen, narrow                f32 to f64 and back turn of an f64:
 * *quarters is the nearest integer, *odd and *upper its two lowest bits less, equal of two numbers;
 * false with NaN both                         logical and of two truths pick the second operand
 * where the truth holds, else the third
 *
 * The polynomials interpolate at Chebyshev nodes; their errors, computed with 40 digits, are given.
 */
#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* c[0] + x * (c[1] + x * (..)) */
static num polynomial(math *m, num x, const double *c, size_t count) {
    num sum = num_number(m, c[--count]);
    while (count) sum = num_fma(m, sum, x, num_number(m, c[--count]));
    return sum;
}

/* Exponentials --------------------------------------------------------------------------------- */

static const double exp_tail[] = {/* (e^r - 1 - r) / r^2, |r| <= ln 2 / 2: 2^-53 */
                                  0x1.0000000000001p-1,  0x1.5555555555556p-3,
                                  0x1.5555555553d68p-5,  0x1.11111111109b5p-7,
                                  0x1.6c16c17889fd3p-10, 0x1.a01a01a7c2f89p-13,
                                  0x1.a019b91463588p-16, 0x1.71de0db2d4e97p-19,
                                  0x1.28917ccaf39d3p-22, 0x1.af389f20208c6p-26};

/* e^r * 2^n */
static num scaled_exponential(math *m, num r, num n) {
    num tail = polynomial(m, r, exp_tail, COUNT(exp_tail));
    num one = num_number(m, 1);
    num power = num_add(m, one, num_fma(m, num_mul(m, r, r), tail, r));
    return num_scale(m, power, num_clamp(m, n, -1200, 1200));
}

/* The result if x is between the limits, else 0 or infinity; NaN stays. */
static num limit_exponential(math *m, num x, num result, double least, double most) {
    num low = num_number(m, least), high = num_number(m, most);
    result = num_pick(m, num_less(m, high, x), num_number(m, INFINITY), result);
    return num_pick(m, num_less(m, x, low), num_number(m, 0), result);
}

static num wide_exp(math *m, num x) {
    num n = num_nearest(m, num_mul(m, x, num_number(m, 0x1.71547652b82fep+0)));
    num r = num_fma(m, n, num_number(m, -0x1.62e42fee00000p-1), x); /* ln 2 in two parts */
    r = num_fma(m, n, num_number(m, -0x1.a39ef35793c76p-33), r);
    return limit_exponential(m, x, scaled_exponential(m, r, n), -746, 710);
}

/* 2^n 2^r with n + r = x log2 e, r from 0 to 1. For x beyond the range of n, r is so large or small
 * that the product is infinite, subnormal or 0. No product needs a comparison. */
static num narrow_exp(math *m, num x) {
    num log2e = num_number(m, 0x1.715476p+0), minus;
    num t = num_fma(m, x, num_number(m, 0x1.715476p+0 / 252), num_number(m, 0.5));
    num power = num_exponent(m, t, &minus);
    num r = num_fma(m, x, num_number(m, 0x1.4ae0cp-26), num_fma(m, x, log2e, minus));
    return num_mul(m, num_exp2_flushed(m, r), power);
}

/* exp for x whose size is so small that the rounding of x log2 e does not matter, or where only the
 * absolute error of the result does. Results below 2^-126 are 0. */
static num near_exp(math *m, num x) {
    return num_exp2_flushed(m, num_mul(m, x, num_number(m, 0x1.715476p+0)));
}

static num body_exp(math *m, num x) {
    return m->wide ? wide_exp(m, x) : narrow_exp(m, x);
}

static num body_exp2(math *m, num x) {
    if (!m->wide) return num_exp2_approx(m, x);
    num n = num_nearest(m, x);
    num r = num_mul(m, num_sub(m, x, n), num_number(m, 0x1.62e42fefa39efp-1));
    return limit_exponential(m, x, scaled_exponential(m, r, n), -1076, 1024.5);
}

/* Logarithms ----------------------------------------------------------------------------------- */

static const double narrow_log[] = {/* (log(1 + f) - f) / f^2, |f| <= 1/3: 2^-24 */
                                    -0x1.0000000000000p-1, 0x1.55552c96d060cp-2,
                                    -0x1.ffffb5168a1a0p-3, 0x1.99bf86e3e421ep-3,
                                    -0x1.55783241de987p-3, 0x1.1fdcf0651ce42p-3,
                                    -0x1.f75895e373d4fp-4, 0x1.1990bc2a5e03dp-3,
                                    -0x1.fcd036c284969p-4};
static const double wide_log[] = {/* (2 atanh(s) - 2 s) / s^3 over z = s^2 <= 0.04: 2^-55 */
                                  0x1.5555555555555p-1, 0x1.9999999999f30p-2, 0x1.24924923dba6ap-2,
                                  0x1.c71c72e2f78d5p-3, 0x1.745cab2727663p-3, 0x1.3b29fcbbce66dp-3,
                                  0x1.0e88ea4725d3dp-3, 0x1.16b68338bd78bp-3};

/* The fraction of a positive x, subnormal or not; *exponent is the exponent of x. */
static num fraction_of(math *m, num x, num *exponent) {
    num fraction;
    num small = num_number(m, m->wide ? 0x1p-1022 : 0x1p-126); /* the subnormals are below it */
    truth is_small = num_less(m, x, small);
    num large = num_mul(m, x, num_number(m, 0x1p64));
    num start = num_pick(m, is_small, num_number(m, -64), num_number(m, 0));
    *exponent = num_split(m, num_pick(m, is_small, large, x), start, &fraction);
    return fraction;
}

/* log(1 + f), |f| <= 1/3 */
static num log_near_1(math *m, num f) {
    if (!m->wide)
        return num_fma(m, num_mul(m, f, f), polynomial(m, f, narrow_log, COUNT(narrow_log)), f);
    num s = num_divide(m, f, num_add(m, f, num_number(m, 2)));
    num z = num_mul(m, s, s), zero = num_number(m, 0);
    num tail = num_mul(m, z, polynomial(m, z, wide_log, COUNT(wide_log)));
    return num_fma(m, num_sub(m, zero, s), num_sub(m, f, tail), f); /* 2 s = f - s f */
}

/* log(1 + f) of the fraction; *exponent is the exponent of x. */
static num log_of_fraction(math *m, num x, num *exponent) {
    num one = num_number(m, 1);
    return log_near_1(m, num_sub(m, fraction_of(m, x, exponent), one));
}

/* The result for 0, for infinity, and for numbers without a logarithm: x inf + inf is infinite for
 * infinity and NaN for these. */
static num limit_log(math *m, num x, num result) {
    num infinity = num_number(m, INFINITY);
    num rest = num_fma(m, x, infinity, infinity);
    result = num_pick(m, num_ordinary(m, x), result, rest);
    return num_pick(m, num_equal(m, x, num_number(m, 0)), num_number(m, -INFINITY), result);
}

/* part + n ln 2. For an f32 the error of the rounded ln 2 is 2^-28 of the result. */
static num add_exponent(math *m, num part, num n) {
    if (!m->wide) return num_fma(m, n, num_number(m, 0x1.62e43p-1), part);
    num low = num_fma(m, n, num_number(m, 0x1.a39ef35793c76p-33), part);
    return num_fma(m, n, num_number(m, 0x1.62e42fee00000p-1), low);
}

static num body_log(math *m, num x) {
    num n, part = log_of_fraction(m, x, &n);
    return limit_log(m, x, add_exponent(m, part, n));
}

static num body_log2(math *m, num x) {
    num n, part = log_of_fraction(m, x, &n);
    num high = num_number(m, m->wide ? 0x1.71547652b82fep+0 : 0x1.715476p+0);
    num low = num_number(m, m->wide ? 0x1.777d0ffda0d24p-56 : 0x1.4ae0cp-26);
    num rest = num_fma(m, part, low, n);
    return limit_log(m, x, num_fma(m, part, high, rest));
}

/* log(1 + x) for x > -1. The sum is off by rest, which counts where an f32's exponent is not 0;
 * where it is, x is taken instead of the sum. */
static num log_of_sum(math *m, num x, num sum) {
    num fraction, one = num_number(m, 1), zero = num_number(m, 0);
    num n = num_split(m, sum, zero, &fraction);
    truth near = num_equal(m, n, zero);
    num part = log_near_1(m, num_pick(m, near, x, num_sub(m, fraction, one)));
    num result = add_exponent(m, part, n);
    if (m->wide) return result;
    num rest = num_sub(m, x, num_sub(m, sum, one));
    return num_pick(m, near, result, num_fma(m, rest, num_reciprocal_approx(m, sum), result));
}

static num body_log1p(math *m, num x) {
    num sum = num_add(m, x, num_number(m, 1));
    num result = limit_log(m, sum, log_of_sum(m, x, sum));
    return num_pick(m, num_equal(m, x, num_number(m, 0)), x, result); /* -0 */
}

static const double narrow_expm1[] = {/* exp_tail in f32: 2^-30 */
                                      0x1.0000000ba132cp-1,  0x1.5555555a800cdp-3,
                                      0x1.5554e8a22b84cp-5,  0x1.1110e0c5c7f50p-7,
                                      0x1.6d43af18200d3p-10, 0x1.a1256cd2f13c2p-13};

/* (e^r - 1) 2^n + (2^n - 1). Half of it is computed first, because 2^n may overflow. */
static num body_expm1(math *m, num x) {
    num capped = num_clamp(m, x, -100, m->wide ? 710 : 89);
    num n = num_nearest(m, num_mul(m, capped, num_number(m, 0x1.71547652b82fep+0)));
    num high = num_number(m, m->wide ? -0x1.62e42fee00000p-1 : -0x1.62e4p-1);
    num low = num_number(m, m->wide ? -0x1.a39ef35793c76p-33 : -0x1.7f7d1cp-20);
    num r = num_fma(m, n, low, num_fma(m, n, high, capped));
    num tail = m->wide ? polynomial(m, r, exp_tail, COUNT(exp_tail))
                       : polynomial(m, r, narrow_expm1, COUNT(narrow_expm1));
    num near = num_fma(m, num_mul(m, r, r), tail, r);
    num half = num_scale(m, num_number(m, 0.5), n);
    num result = num_fma(m, near, half, num_sub(m, half, num_number(m, 0.5)));
    truth ordinary = num_less(m, num_number(m, 0), num_absolute(m, x)); /* not 0, not NaN */
    return num_pick(m, ordinary, num_add(m, result, result), x);
}

/* Activations ---------------------------------------------------------------------------------- */

/* Computed from e^-|x|, which is at most 1. Far below 0 the result is e^x. */
static num body_sigmoid(math *m, num x) {
    num zero = num_number(m, 0), one = num_number(m, 1);
    num power = body_exp(m, num_sub(m, zero, num_absolute(m, x))), sum = num_add(m, power, one);
    num part = m->wide ? num_divide(m, one, sum) : num_reciprocal_approx(m, sum);
    return num_pick(m, num_less(m, x, zero), num_mul(m, power, part), part);
}

/* log(1 + e^x) = max(x, 0) + log(1 + e^-|x|) */
static num body_softplus(math *m, num x) {
    num zero = num_number(m, 0), one = num_number(m, 1);
    num power = body_exp(m, num_sub(m, zero, num_absolute(m, x)));
    num rest = log_of_sum(m, power, num_add(m, power, one));
    num result = num_add(m, num_clamp(m, x, 0, INFINITY), rest);
    return num_pick(m, num_equal(m, x, x), result, x);
}

/* Hyperbolic tangent and error function -------------------------------------------------------- */

static const double narrow_tanh[] = {/* (tanh(x) - x) / x^3 over x^2, x <= 0.55: 2^-26 */
                                     -0x1.55555471488e4p-2, 0x1.110fe9f4baa34p-3,
                                     -0x1.b9a027aa8b650p-5, 0x1.5d20af73d1a56p-6,
                                     -0x1.b12aec06471ffp-8};
static const double wide_tanh[] = {/* 2^-61 */
                                   -0x1.5555555555555p-2,  0x1.1111111111109p-3,
                                   -0x1.ba1ba1ba1a723p-5,  0x1.664f48822e32fp-6,
                                   -0x1.226e3539a2567p-7,  0x1.d6d3c5fa306d8p-9,
                                   -0x1.7da25d2dc94ddp-10, 0x1.3547b99663ef6p-11,
                                   -0x1.f41cac23a5451p-13, 0x1.8c91aa027e00fp-14,
                                   -0x1.1ad8e00df097cp-15, 0x1.08286da59d446p-17};

static num body_tanh(math *m, num x) {
    num size = num_absolute(m, x), z = num_mul(m, x, x), one = num_number(m, 1);
    num tail = m->wide ? polynomial(m, z, wide_tanh, COUNT(wide_tanh))
                       : polynomial(m, z, narrow_tanh, COUNT(narrow_tanh));
    num near = num_fma(m, num_mul(m, size, z), tail, size);
    num exponential = m->wide ? wide_exp(m, num_add(m, size, size))
                              : num_exp2_flushed(m, num_mul(m, size, num_number(m, 0x1.715476p+1)));
    num power = num_add(m, exponential, one);
    num part = m->wide ? num_divide(m, one, power) : num_reciprocal_approx(m, power);
    num far = num_fma(m, part, num_number(m, -2), one);
    truth is_near = num_less(m, size, num_number(m, 0.55));
    return num_give_sign(m, num_pick(m, is_near, near, far), x);
}

static const double narrow_erf[] = {/* (erf(x) - x) / x over x^2, x <= 1: 2^-29 */
                                    0x1.06eba7f62aa6ep-3, -0x1.81273e6e25f98p-2,
                                    0x1.ce2d0e78c940fp-4, -0x1.b7fa8bb0cedaap-6,
                                    0x1.5410e07dfd369p-8, -0x1.a44457bea8f7cp-11,
                                    0x1.4a3336b821c51p-14};
static const double wide_erf[] = {/* 2^-68 */
                                  0x1.06eba8214db69p-3,  -0x1.812746b0379e7p-2,
                                  0x1.ce2f21a042bdep-4,  -0x1.b82ce312889b6p-6,
                                  0x1.565bcd0e64f5bp-8,  -0x1.c02db3fee866fp-11,
                                  0x1.f9a326c1c6edfp-14, -0x1.f4d2561089023p-17,
                                  0x1.b9e64fed6bd39p-20, -0x1.5f6d8a893c396p-23,
                                  0x1.fc42dd57d886cp-27, -0x1.4e5e20d9bb5fap-30,
                                  0x1.7ef9816d93493p-34, -0x1.29971a2b8c685p-38};
static const double narrow_erfc[] = {/* log(1 - erf(x)), 1 <= x <= 4: 2^-25 */
                                     0x1.4fb06741d39a1p-12, -0x1.2156fa777dfb0p+0,
                                     -0x1.437eb4486a325p-1, -0x1.c2e355434c642p-4,
                                     0x1.b0e246c451d48p-6,  -0x1.37ecc66bf73f2p-8,
                                     0x1.38e5e5277d407p-11, -0x1.825ce4bea3989p-15,
                                     0x1.b7783044b6881p-20};
/* The same over x - 1.6, 1 <= x <= 2.25: 2^-62; and over x - 4, 2.25 <= x <= 6: 2^-46, where 1 -
 * erf is less than 2^-9. */
static const double wide_erfc[2][17] = {
    {-0x1.df4600a8581d6p+1, -0x1.d81302e9180b8p+1, -0x1.ccd1f78cdce84p-1, -0x1.81ba2e9f4017dp-6,
     0x1.62883684b9e6ap-8, -0x1.28df589190d07p-10, 0x1.a2bedb46c5458p-13, -0x1.8fcc17ea446b7p-16,
     -0x1.c8f2c3fa93869p-21, 0x1.bb6a33efe0713p-20, -0x1.4fbf6b76024d3p-21, 0x1.558dd254476ecp-23,
     -0x1.d89ffa2b5c814p-26, 0x1.89b9c4515d8b7p-30, 0x1.54dd5117d2031p-30, -0x1.76bc7c1ffc25ep-31,
     0x1.8649f3a3ad612p-33},
    {-0x1.1fcdf0a1a2e32p+4, -0x1.07906645f5ae7p+3, -0x1.f26754402c04bp-1, -0x1.f12cc36e01bbap-9,
     0x1.3136a8c560b1bp-11, -0x1.7dc9f10a17704p-14, 0x1.da6b87014fa4bp-17, -0x1.20136cc767bc9p-19,
     0x1.5104edcc9c845p-22, -0x1.753e97f8c39efp-25, 0x1.7bf9dbad29906p-28, -0x1.4dddc7e6a6699p-31,
     0x1.b712c9d70e91ep-35, -0x1.ae4d29acf0356p-41, -0x1.c7e0263175901p-40, 0x1.71162edd65f6bp-41,
     -0x1.a0409347519eep-44}};

/* log(1 - erf(size)), with the coefficients of the interval that contains size. */
static num wide_log_erfc(math *m, num size) {
    truth first = num_less(m, size, num_number(m, 2.25));
    num x = num_sub(m, size, num_pick(m, first, num_number(m, 1.6), num_number(m, 4)));
    num sum = num_number(m, 0);
    for (size_t i = COUNT(wide_erfc[0]); i-- > 0;)
        sum = num_fma(
            m, sum, x,
            num_pick(m, first, num_number(m, wide_erfc[0][i]), num_number(m, wide_erfc[1][i])));
    return sum;
}

static num body_erf(math *m, num x) {
    double end = m->wide ? 6 : 4; /* from here on the result rounds to 1 */
    num size = num_absolute(m, x), z = num_mul(m, x, x), one = num_number(m, 1);
    num tail = m->wide ? polynomial(m, z, wide_erf, COUNT(wide_erf))
                       : polynomial(m, z, narrow_erf, COUNT(narrow_erf));
    num near = num_fma(m, size, tail, size);
    num capped = num_clamp(m, size, 0, end);
    num exponent =
        m->wide ? wide_log_erfc(m, capped) : polynomial(m, capped, narrow_erfc, COUNT(narrow_erfc));
    num far = num_sub(m, one, m->wide ? wide_exp(m, exponent) : near_exp(m, exponent));
    num result = num_pick(m, num_less(m, size, one), near, far);
    result = num_pick(m, num_equal(m, x, x), result, x);
    return num_give_sign(m, result, x);
}

/* Sine and cosine ------------------------------------------------------------------------------ */

static const double narrow_sin[] = {/* (sin(r) - r) / r^3 over r^2, |r| <= pi / 4: 2^-35 */
                                    -0x1.555555545c701p-3, 0x1.11110deb48b7fp-7,
                                    -0x1.a013a251c9f8cp-13, 0x1.6dbc54456dc24p-19};
static const double wide_sin[] = {/* 2^-66 */
                                  -0x1.5555555555555p-3,  0x1.1111111111110p-7,
                                  -0x1.a01a01a01992ap-13, 0x1.71de3a545ed8ap-19,
                                  -0x1.ae64540fc0fa6p-26, 0x1.61217ca7db085p-33,
                                  -0x1.ab166bc21bf70p-41};
static const double narrow_cos[] = {/* (cos(r) - 1 + r^2 / 2) / r^4 over r^2: 2^-38 */
                                    0x1.5555555502463p-5, -0x1.6c16bf524d385p-10,
                                    0x1.a015c0fae86e0p-16, -0x1.25232b0de4df8p-22};
static const double wide_cos[] = {/* 2^-70 */
                                  0x1.5555555555555p-5,  -0x1.6c16c16c16c16p-10,
                                  0x1.a01a01a019d04p-16, -0x1.27e4fb7712106p-22,
                                  0x1.1eed8dea401cep-29, -0x1.9394b7ecbd7ddp-37,
                                  0x1.ab771a86691fap-45};

static num sine_of_small(math *m, num r) {
    num z = num_mul(m, r, r);
    num tail = m->wide ? polynomial(m, z, wide_sin, COUNT(wide_sin))
                       : polynomial(m, z, narrow_sin, COUNT(narrow_sin));
    return num_fma(m, num_mul(m, r, z), tail, r);
}

static num cosine_of_small(math *m, num r) {
    num z = num_mul(m, r, r);
    num tail = m->wide ? polynomial(m, z, wide_cos, COUNT(wide_cos))
                       : polynomial(m, z, narrow_cos, COUNT(narrow_cos));
    num half = num_fma(m, z, num_number(m, -0.5), num_number(m, 1));
    return num_fma(m, num_mul(m, z, z), tail, half);
}

/* x - quarters * pi / 2, in f64 and with pi / 2 in three parts: exact enough for every f32 result.
 * For larger numbers the number of turns is not exact. */
static num reduce(math *m, num x, truth *odd, truth *upper) {
    math wide = *m;
    wide.wide = true;
    num whole = m->wide ? x : num_widen(m, x), quarters;
    num_turn(&wide, num_mul(&wide, whole, num_number(&wide, 0x1.45f306dc9c883p-1)), &quarters, odd,
             upper);
    num r = num_fma(&wide, quarters, num_number(&wide, -0x1.921fb54442d18p+0), whole);
    r = num_fma(&wide, quarters, num_number(&wide, -0x1.1a62633145c07p-54), r);
    if (m->wide) r = num_fma(&wide, quarters, num_number(&wide, 0x1.f1976b8p-110), r);
    double end = m->wide ? 0x1p30 : 0x1p47;
    truth told = num_less(&wide, num_absolute(&wide, whole), num_number(&wide, end));
    r = num_pick(&wide, told, r, num_number(&wide, NAN));
    return m->wide ? r : num_narrow(m, r);
}

static num body_sin(math *m, num x) {
    truth odd, upper;
    num r = reduce(m, x, &odd, &upper), zero = num_number(m, 0);
    num size = num_pick(m, odd, cosine_of_small(m, r), sine_of_small(m, r));
    num result = num_pick(m, upper, num_sub(m, zero, size), size);
    return num_pick(m, num_equal(m, x, zero), x, result); /* -0 */
}

static num body_cos(math *m, num x) {
    truth odd, upper;
    num r = reduce(m, x, &odd, &upper), zero = num_number(m, 0);
    num size = num_pick(m, odd, num_sub(m, zero, sine_of_small(m, r)), cosine_of_small(m, r));
    return num_pick(m, upper, num_sub(m, zero, size), size);
}

/* {fast} --------------------------------------------------------------------------------------- */

static num fast_exp2(math *m, num x) {
    return num_exp2_flushed(m, x);
}

static num fast_exp(math *m, num x) {
    return num_exp2_flushed(m, num_mul(m, x, num_number(m, 0x1.715476p+0)));
}

static num fast_log2(math *m, num x) {
    return num_log2_approx(m, x);
}

static num fast_log(math *m, num x) {
    return num_mul(m, num_log2_approx(m, x), num_number(m, 0x1.62e43p-1));
}

static num fast_tanh(math *m, num x) {
    return num_tanh_approx(m, x);
}

static num fast_sin(math *m, num x) {
    return num_sin_approx(m, x);
}

static num fast_cos(math *m, num x) {
    return num_cos_approx(m, x);
}

static num fast_sigmoid(math *m, num x) {
    num one = num_number(m, 1), minus_log2e = num_number(m, -0x1.715476p+0);
    num power = num_exp2_flushed(m, num_mul(m, x, minus_log2e));
    return num_reciprocal_approx(m, num_add(m, power, one));
}

#ifdef TILE_TEST_FUNCTION
static num body_test_function(math *m, num x) {
    return num_divide(m, x, num_add(m, num_number(m, 1), num_absolute(m, x)));
}
#endif

#include "lib/codegen/math_bodies_more.h"
