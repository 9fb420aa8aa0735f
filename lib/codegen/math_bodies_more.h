/* The rest of math_bodies.h, which includes this: powers, the inverse error function, angles,
 * remainders and signs. Its words are explained there. */

/* Powers --------------------------------------------------------------------------------------- */

/* log2(m) = q (c + z (d + z P(z))), q = (m - 1) / (m + 1), z = q^2 <= 0.0401: 2^-31 and 2^-64 */
static const double narrow_power[] = {0x1.2776d7bbbc1e9p-1, 0x1.a5d604daea333p-2,
                                      0x1.5916d04257dc5p-2};
static const double wide_power[] = {
    0x1.2776c50ef9bfep-1, 0x1.a61762a7ae627p-2, 0x1.484b13d6d174cp-2, 0x1.0c9a8552c0302p-2,
    0x1.c68ec93ea0898p-3, 0x1.8a10d44d03de9p-3, 0x1.584bd9aa75999p-3, 0x1.685bbf8ae0a00p-3};

/* A number as a sum of two, of which the second one is about an ulp of the first. */
typedef struct twofold {
    num high, low;
} twofold;

static num negated(math *m, num x) {
    return num_sub(m, num_number(m, 0), x);
}

/* a + b, where a is 0 or not the smaller one. */
static twofold add_two(math *m, num a, num b) {
    num sum = num_add(m, a, b);
    return (twofold){sum, num_add(m, num_sub(m, a, sum), b)};
}

static twofold multiply_two(math *m, twofold a, twofold b) {
    num high = num_mul(m, a.high, b.high);
    num low = num_fma(m, a.high, b.high, negated(m, high));
    low = num_fma(m, a.high, b.low, low);
    return (twofold){high, num_fma(m, a.low, b.high, low)};
}

/* f / (f + 2); the remainder of the division is exact. */
static twofold half_tanh(math *m, num f) {
    num two = num_number(m, 2), sum = num_add(m, f, two);
    num part = m->wide ? num_divide(m, num_number(m, 1), sum) : num_reciprocal_approx(m, sum);
    num high = num_mul(m, f, part);
    num rest = num_fma(m, negated(m, high), f, num_fma(m, negated(m, high), two, f));
    return (twofold){high, num_mul(m, rest, part)};
}

/* log2 of a positive number, with a relative error that even times the largest exponent is small:
 * 2^-33 and 2^-61. */
static twofold log2_in_two(math *m, num x) {
    twofold c = {num_number(m, m->wide ? 0x1.71547652b82fep+1 : 0x1.715476p+1),
                 num_number(m, m->wide ? 0x1.777d0ffda0d24p-55 : 0x1.4ae0cp-25)};
    num d = num_number(m, m->wide ? 0x1.ec709dc3a03fdp-1 : 0x1.ec709ep-1);
    num d_low = num_number(m, m->wide ? 0x1.d27f05548af0cp-55 : -0x1.e2fe02p-28);
    num n, fraction = fraction_of(m, x, &n);
    twofold q = half_tanh(m, num_sub(m, fraction, num_number(m, 1)));
    twofold z = multiply_two(m, q, q);
    num tail = m->wide ? polynomial(m, z.high, wide_power, COUNT(wide_power))
                       : polynomial(m, z.high, narrow_power, COUNT(narrow_power));
    twofold sum = add_two(m, d, num_mul(m, z.high, tail));
    sum.low = num_add(m, sum.low, d_low);
    twofold product = multiply_two(m, z, sum);
    sum = add_two(m, c.high, product.high);
    sum.low = num_add(m, sum.low, num_add(m, product.low, c.low));
    product = multiply_two(m, q, sum);
    sum = add_two(m, n, product.high);
    return add_two(m, sum.high, num_add(m, sum.low, product.low));
}

/* 2^(t.high + t.low). 2^t.low is about 1 + t.low ln 2. Large and small powers are computed 2^64
 * nearer to 1, where they neither overflow nor are subnormal. */
static num narrow_exp2_of_two(math *m, twofold t) {
    num zero = num_number(m, 0), far = num_number(m, 64), near = num_number(m, -64);
    truth above = num_less(m, far, t.high), below = num_less(m, t.high, near);
    num shift = num_pick(m, above, far, num_pick(m, below, near, zero));
    num scale = num_pick(m, above, num_number(m, 0x1p64),
                         num_pick(m, below, num_number(m, 0x1p-64), num_number(m, 1)));
    num power = num_exp2_approx(m, num_sub(m, t.high, shift));
    num right = num_fma(m, power, num_mul(m, t.low, num_number(m, 0x1.62e43p-1)), power);
    truth finite = num_both(m, num_less(m, num_number(m, -INFINITY), t.high),
                            num_less(m, power, num_number(m, INFINITY)));
    return num_mul(m, num_pick(m, finite, right, power), scale);
}

static num wide_exp2_of_two(math *m, twofold t) {
    num ln2 = num_number(m, 0x1.62e42fefa39efp-1), n = num_nearest(m, t.high);
    num r = num_fma(m, num_sub(m, t.high, n), ln2, num_mul(m, t.low, ln2));
    return limit_exponential(m, t.high, scaled_exponential(m, r, n), -1080, 1030);
}

/* What C says of signs, zeros and whole exponents; result: of the base's size. */
static num signed_power(math *m, num x, num y, num result) {
    num zero = num_number(m, 0), one = num_number(m, 1), half = num_number(m, 0.5);
    num part = num_mul(m, y, half);
    truth is_whole = num_equal(m, num_nearest(m, y), y);
    truth is_even = num_equal(m, num_nearest(m, part), part);
    num whole = num_pick(m, is_even, result, num_copy_sign(m, result, x));
    truth has_root = num_less(m, num_number(m, -INFINITY), x);
    num root = num_pick(m, num_both(m, has_root, num_less(m, x, zero)), num_number(m, NAN), result);
    result = num_pick(m, is_whole, whole, root);
    result = num_pick(m, num_equal(m, y, zero), one, result);
    return num_pick(m, num_equal(m, x, one), one, result);
}

/* 2^(y log2 |x|). An infinite y is taken for a large one: then the logarithm of 1, which is 0, is
 * not multiplied by infinity. */
static num body_pow(math *m, num x, num y) {
    num size = num_absolute(m, x), infinity = num_number(m, INFINITY);
    twofold log = log2_in_two(m, size), t;
    log.high = num_pick(m, num_equal(m, size, infinity), infinity, log.high);
    log.high = num_pick(m, num_equal(m, size, num_number(m, 0)), negated(m, infinity), log.high);
    double most = m->wide ? 0x1p1000 : 0x1p100;
    num capped = num_clamp(m, y, -most, most);
    t.high = num_mul(m, log.high, capped);
    t.low = num_fma(m, log.high, capped, negated(m, t.high));
    t.low = num_fma(m, log.low, capped, t.low);
    num result = m->wide ? wide_exp2_of_two(m, t) : narrow_exp2_of_two(m, t);
    truth numbers = num_both(m, num_equal(m, x, x), num_equal(m, y, y));
    result = num_pick(m, numbers, result, num_add(m, x, y));
    return signed_power(m, x, y, result);
}

/* Inverse error function ----------------------------------------------------------------------- */

/* erfinv(x) / x over w = -log(1 - x^2), about the middle of a part: 0 to 5 and 5 to 17, 2^-26 */
static const double narrow_erfinv[2][11] = {
    {0x1.805c5cfcedef5p+0, 0x1.f91e8b47bc332p-3, -0x1.11c3ccf583fccp-8, -0x1.4866876636aa3p-10,
     0x1.c9b8392b34813p-13, -0x1.4cd6db31136aep-18, -0x1.cb7b9e68dc51ap-19, 0x1.f3bcf6b20a36ap-22,
     0x1.129bb8c97f855p-26, -0x1.2c4526ac24209p-27, 0x1.00d79ace31a9fp-31},
    {0x1.93502702fa6b0p+1, 0x1.3693dee0fd16bp-3, -0x1.b5cccca05d0dap-9, 0x1.27c5100454bdbp-13,
     -0x1.cc6ea662146b1p-18, 0x1.3ec452ec42794p-22, -0x1.7143932af4c6ap-28, -0x1.c30aca03f64a0p-31,
     0x1.b87675f60ea9dp-33, -0x1.0b2aff6a29591p-35, 0x1.04f5b0b797cc2p-39}};
/* 0 to 6.25, to 16 and to 38: 2^-53 */
static const double wide_erfinv[3][24] = {
    {0x1.a755e7c99ae86p+0,   0x1.ebd80d9b13df9p-3,   -0x1.8b6c33114eeaep-8,  -0x1.84576948353e1p-11,
     0x1.879c2a20da432p-13,  -0x1.d1d1f7ca4030fp-17, -0x1.6e8a53f106129p-20, 0x1.c6b4f890935ddp-22,
     -0x1.f36ce4ae847fdp-26, -0x1.1a9eb1bc8f0f0p-28, 0x1.20f4e6bf074cfp-30,  -0x1.dc3ee8b6c53ccp-35,
     -0x1.c89564c5d1004p-37, 0x1.723527b7cff86p-39,  -0x1.6d9ec5e3ec6afp-44, -0x1.686642b67610ap-45,
     0x1.db523eb040288p-48,  -0x1.73898c37dc54ap-55, -0x1.2c266176e7096p-53, 0x1.1f4ba5de5dc3fp-56,
     0x1.536d397f9b9b1p-60,  -0x1.9d290dd3bcb70p-62, -0x1.5087a244b0f6cp-70, 0x1.e9b8ae7230c25p-69},
    {0x1.95bb9b4bc1792p+1,   0x1.34e188169d794p-3,   -0x1.aef3d759742d9p-9,
     0x1.209eccf6b1b85p-13,  -0x1.bff141832a6a0p-18, 0x1.3e8607749f45cp-22,
     -0x1.a7f140859283ap-28, -0x1.f6b32a127d6cap-31, 0x1.7fbc0714b1bb8p-33,
     -0x1.55092a4d01dbcp-36, 0x1.cd46ea852b3e1p-40,  -0x1.e0b731a401901p-44,
     0x1.47e513ff5d5fdp-48,  0x1.0cb5df7705260p-55,  -0x1.1dd8616b44d62p-55,
     0x1.23eef32c99c64p-58,  -0x1.951d15ed83fa9p-62, 0x1.a60be13ee7f5ap-66,
     -0x1.2ee4a28676f05p-70, 0x1.3a919d83ccb89p-77,  0x1.b8b0f10e22110p-78,
     -0x1.2457730e58a39p-80, 0x1.807648628222cp-84,  -0x1.9f9ed87a106c7p-89},
    {0x1.43139e64eca24p+2,    0x1.8e2acde511164p-4,   -0x1.d91c73d4f10a4p-11,
     0x1.15ef7b7c38e7bp-16,   -0x1.95999f7f14027p-22, 0x1.4a09709f21b53p-27,
     -0x1.1ecf0db99d953p-32,  0x1.0470cea3e65cdp-37,  -0x1.e8009d95e9563p-43,
     0x1.d3beaf6f22957p-48,   -0x1.c78f97c0b9d3cp-53, 0x1.bf92f409689dbp-58,
     -0x1.b71ad47f9c0edp-63,  0x1.a60de0419f3a4p-68,  -0x1.7be7eee4806fep-73,
     0x1.2d5b72fb2ef78p-78,   -0x1.a1b1869400aecp-84, -0x1.7fb337838aeb4p-91,
     0x1.d7c5a59c4401cp-92,   -0x1.7a08f4c492192p-96, -0x1.e41d43c767344p-103,
     -0x1.21edc99e629c9p-107, 0x1.52b5c45239859p-108, -0x1.785df0fb3471fp-113}};

static num narrow_inverse(math *m, num w) {
    truth first = num_less(m, w, num_number(m, 5));
    num x = num_sub(m, w, num_pick(m, first, num_number(m, 2.5), num_number(m, 11)));
    num sum = num_number(m, 0);
    for (size_t i = COUNT(narrow_erfinv[0]); i-- > 0;)
        sum = num_fma(m, sum, x,
                      num_pick(m, first, num_number(m, narrow_erfinv[0][i]),
                               num_number(m, narrow_erfinv[1][i])));
    return sum;
}

static num wide_inverse(math *m, num w) {
    truth first = num_less(m, w, num_number(m, 6.25)), second = num_less(m, w, num_number(m, 16));
    num middle = num_pick(m, second, num_number(m, 11.125), num_number(m, 27));
    num x = num_sub(m, w, num_pick(m, first, num_number(m, 3.125), middle));
    num sum = num_number(m, 0);
    for (size_t i = COUNT(wide_erfinv[0]); i-- > 0;) {
        num later =
            num_pick(m, second, num_number(m, wide_erfinv[1][i]), num_number(m, wide_erfinv[2][i]));
        sum = num_fma(m, sum, x, num_pick(m, first, num_number(m, wide_erfinv[0][i]), later));
    }
    return sum;
}

static num body_erfinv(math *m, num x) {
    num one = num_number(m, 1), rest = num_fma(m, negated(m, x), x, one);
    num w = negated(m, body_log(m, rest));
    num result = num_mul(m, x, m->wide ? wide_inverse(m, w) : narrow_inverse(m, w));
    num end = num_copy_sign(m, num_number(m, INFINITY), x);
    return num_pick(m, num_equal(m, num_absolute(m, x), one), end, result);
}

/* Angles --------------------------------------------------------------------------------------- */

static const double narrow_atan[] = {/* (atan(q) - q) / q^3 over q^2 <= 1: 2^-26 */
                                     -0x1.5555544268b90p-2, 0x1.99983bbc0374ep-3,
                                     -0x1.246cd29094866p-3, 0x1.c3f1670453f44p-4,
                                     -0x1.6295f875436c7p-4, 0x1.0001c6d98b95fp-4,
                                     -0x1.25dc11d91f416p-5, 0x1.ba9f6642acbc2p-7,
                                     -0x1.38de56d26aa2ep-9};
static const double wide_atan[] =
    {/* 2^-55 */
     -0x1.5555555555555p-2,  0x1.999999999997dp-3, -0x1.2492492491234p-3, 0x1.c71c71c6882cdp-4,
     -0x1.745d1731e853fp-4,  0x1.3b13af957f086p-4, -0x1.1110f9a06b09dp-4, 0x1.e1e0069edf96ep-5,
     -0x1.af1a76061e434p-5,  0x1.85c82bf04fbd6p-5, -0x1.62c464c86804fp-5, 0x1.42a843b89b0ebp-5,
     -0x1.20f157ad652dfp-5,  0x1.f0f041d3e2f50p-6, -0x1.8c59dbc673323p-6, 0x1.198ad7e0bd0c6p-6,
     -0x1.552f78ddf9b30p-7,  0x1.50ea3497605b5p-8, -0x1.0110cfd66bd22p-9, 0x1.19e6b726893d0p-11,
     -0x1.890e58e18ff08p-14, 0x1.04a3628aee536p-17};

/* The angle of a point whose coordinates, neither negative, have this ratio, at most 1. */
static num atan_of_ratio(math *m, num q) {
    num z = num_mul(m, q, q);
    num tail = m->wide ? polynomial(m, z, wide_atan, COUNT(wide_atan))
                       : polynomial(m, z, narrow_atan, COUNT(narrow_atan));
    return num_fma(m, num_mul(m, q, z), tail, q);
}

/* Two numbers of one size, 0 and infinity too, have a ratio of 0 or 1. */
static num body_atan2(math *m, num y, num x) {
    num zero = num_number(m, 0), one = num_number(m, 1);
    num rise = num_absolute(m, y), run = num_absolute(m, x);
    truth steep = num_less(m, run, rise);
    num least = num_pick(m, steep, run, rise), most = num_pick(m, steep, rise, run);
    num ratio = num_divide(m, least, most);
    ratio = num_pick(m, num_equal(m, least, most), one, ratio);
    ratio = num_pick(m, num_equal(m, least, zero), zero, ratio);
    num angle = atan_of_ratio(m, ratio);
    num half_pi = num_number(m, m->wide ? 0x1.921fb54442d18p+0 : 0x1.921fb6p+0);
    num half_low = num_number(m, m->wide ? 0x1.1a62633145c07p-54 : -0x1.777a5cp-25);
    num pi = num_add(m, half_pi, half_pi), low = num_add(m, half_low, half_low);
    num turned = num_sub(m, half_pi, num_sub(m, angle, half_low));
    angle = num_pick(m, steep, turned, angle);
    truth behind = num_less(m, num_copy_sign(m, one, x), zero);
    angle = num_pick(m, behind, num_sub(m, pi, num_sub(m, angle, low)), angle);
    truth numbers = num_both(m, num_equal(m, x, x), num_equal(m, y, y));
    return num_pick(m, numbers, num_copy_sign(m, angle, y), num_add(m, x, y));
}

/* Remainders and signs ------------------------------------------------------------------------- */

/* a - n b, exact: as n is a / b, rounded, the remainder has no more digits than b. Where the
 * quotient would be infinite, a multiple of b by a power of two is taken from a. */
static num take_multiple(math *m, num a, num b) {
    double steps = m->wide ? 0x1p900 : 0x1p100;
    num least = num_mul(m, num_absolute(m, a), num_number(m, 1 / steps));
    for (unsigned i = 0; i < 2; i++)
        b = num_pick(m, num_less(m, b, least), num_mul(m, b, num_number(m, steps)), b);
    num n = num_nearest(m, num_divide(m, a, b));
    return num_fma(m, negated(m, n), b, a);
}

static num body_fmod(math *m, num x, num y) {
    num size = num_absolute(m, x), step = num_absolute(m, y);
    num zero = num_number(m, 0), one = num_number(m, 1);
    truth defined =
        num_both(m, num_less(m, size, num_number(m, INFINITY)), num_less(m, zero, step));
    num rest = num_repeat(m, num_pick(m, defined, size, zero), num_pick(m, defined, step, one),
                          take_multiple);
    rest = num_pick(m, num_less(m, rest, zero), num_add(m, rest, step), rest);
    return num_pick(m, defined, num_copy_sign(m, rest, x), num_number(m, NAN));
}

static num body_sign(math *m, num x) {
    truth some = num_less(m, num_number(m, 0), num_absolute(m, x)); /* not 0, not NaN */
    return num_pick(m, some, num_copy_sign(m, num_number(m, 1), x), x);
}
