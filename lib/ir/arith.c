/* The rows of arith.def as functions: one for integers and one for floats each. */
#include "lib/ir/arith.h"

#include <math.h>

#include "lib/ir/effects.h"

/* Wrapping arithmetic is done in uint64_t, where overflow is defined, also for INT64_MIN / -1. */
static int64_t quotient(int64_t a, int64_t b) {
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t remainder_of(int64_t a, int64_t b) {
    return b == -1 ? 0 : a % b;
}

static int64_t floor_mod(int64_t a, int64_t b) {
    int64_t left = remainder_of(a, b);
    return left && (left < 0) != (b < 0) ? left + b : left;
}

static int64_t ceil_div(int64_t a, int64_t b) {
    int64_t floor = quotient(a, b);
    return remainder_of(a, b) && (a < 0) == (b < 0) ? floor + 1 : floor;
}

/* 128 bits are an extension of C. */
__extension__ typedef __int128 signed_product;
__extension__ typedef unsigned __int128 unsigned_product;

static int64_t upper_signed(int64_t a, int64_t b, unsigned width) {
    return (int64_t)((signed_product)a * b >> width);
}

static int64_t upper_unsigned(uint64_t a, uint64_t b, unsigned width) {
    return (int64_t)((unsigned_product)a * b >> width);
}

static int64_t count_ones(uint64_t bits) {
    int64_t count = 0;
    for (; bits; bits &= bits - 1) count++;
    return count;
}

static int64_t count_zeros_above(uint64_t bits, unsigned width) {
    int64_t count = width;
    for (; bits; bits >>= 1) count--;
    return count;
}

double tile_round_whole(tile_rounding rounding, double a) {
    switch (rounding) {
    case TILE_ROUNDING_NONE:
    case TILE_ROUNDING_EVEN: return rint(a);
    case TILE_ROUNDING_ZERO: return trunc(a);
    case TILE_ROUNDING_UP: return ceil(a);
    case TILE_ROUNDING_DOWN: return floor(a);
    }
    return NAN;
}

/* A number wins over NaN unless `nan` is set, and -0 is less than 0, as for min and max of PTX. */
static double smaller(tile_arith_flags arith_flags, double a, double b) {
    if (isnan(a)) return arith_flags.nan ? a : b;
    if (isnan(b)) return arith_flags.nan ? b : a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double clamp_float(double a, double low, double high) {
    const tile_arith_flags nan = {.nan = true};
    return smaller(nan, -smaller(nan, -a, -low), high);
}

static int64_t clamp_integer(int64_t a, int64_t low, int64_t high) {
    int64_t at_least = a < low ? low : a;
    return at_least > high ? high : at_least;
}

static uint64_t clamp_unsigned(uint64_t a, uint64_t low, uint64_t high) {
    uint64_t at_least = a < low ? low : a;
    return at_least > high ? high : at_least;
}

static double sign_of(double a) {
    return fabs(a) > 0 ? copysign(1, a) : a;
}

static double sigmoid(double a) {
    double power = exp(-fabs(a));
    return a < 0 ? power / (1 + power) : 1 / (1 + power);
}

static double softplus(double a) {
    return isnan(a) ? a : fmax(a, 0) + log1p(exp(-fabs(a)));
}

/* Within 2e-3 of the inverse error function, relative, for 0 < a < 1: S. Winitzki, "A handy
 * approximation for the error function and its inverse", 2008. The logarithm's argument would
 * cancel below 1e-4. */
static double guess_inverse_erf(double a) {
    static const double half_root_pi = 0x1.c5bf891b4ef6bp-1, c = 0.147;
    double log = log1p(-a * a), t = 0.5 * log + 2 / (3.14159265358979 * c);
    return a < 1e-4 ? a * half_root_pi : sqrt(sqrt(t * t - log / c) - t);
}

/* Halley's method, which triples the digits of the guess. */
static double inverse_erf(double a) {
    static const double two_by_root_pi = 0x1.20dd750429b6dp+0;
    double size = fabs(a);
    if (!(size > 0)) return a;
    if (size >= 1) return size > 1 ? NAN : copysign(INFINITY, a);
    double x = guess_inverse_erf(size);
    for (unsigned round = 0; round < 4; round++) {
        double off = size < 0.5 ? erf(x) - size : (1 - size) - erfc(x);
        double step = off / (two_by_root_pi * exp(-x * x));
        x -= step / (1 + x * step);
    }
    return copysign(x, a);
}

/* In f64, an f32 sum would be rounded twice. */
static double fused(tile_scalar scalar, double a, double b, double c) {
    return scalar == TILE_f32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

/* The machine's code reduces only angles below this limit. */
static bool has_periods(tile_scalar scalar, double a) {
    return fabs(a) < (scalar == TILE_f64 ? 0x1p30 : 0x1p47);
}

typedef bool (*natural_meaning)(uint64_t ua, uint64_t ub, uint64_t uc, int64_t *result);
typedef bool (*bits_meaning)(unsigned width, tile_arith_flags arith_flags, int64_t a, int64_t b,
                             int64_t *result);
typedef bool (*float_meaning)(tile_scalar scalar, tile_arith_flags arith_flags, double a, double b,
                              double c, double *result);

/* Not every row uses all of these. */
#define INTEGER_OPERANDS \
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b; \
    (void)ua, (void)ub, (void)c
#define BITS_OPERANDS \
    uint64_t ones = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX; \
    uint64_t ua = (uint64_t)a & ones, ub = (uint64_t)b & ones; \
    (void)ua, (void)ub, (void)arith_flags
#define FLOAT_OPERANDS (void)scalar, (void)arith_flags, (void)a, (void)b, (void)c

#define FLOAT_PARAMETERS \
    tile_scalar scalar, tile_arith_flags arith_flags, double a, double b, double c, double *result
#define NO_BITS(name) \
    static bool bits_##name(unsigned width, tile_arith_flags arith_flags, int64_t a, int64_t b, \
                            int64_t *result) { \
        (void)width, (void)arith_flags, (void)a, (void)b, (void)result; \
        return false; \
    }

#define NATURAL_INTEGER(name, may_divide, expression) \
    static bool natural_##name(uint64_t ua, uint64_t ub, uint64_t uc, int64_t *result) { \
        (void)ub, (void)uc; \
        if (!(may_divide)) return false; \
        *result = (int64_t)(expression); \
        return true; \
    }
#define DEFINE_SIGNED(name, may_divide, expression) \
    NO_BITS(name) \
    static bool integer_##name(int64_t a, int64_t b, int64_t c, int64_t *result) { \
        INTEGER_OPERANDS; \
        if (!(may_divide)) return false; \
        *result = (expression); \
        return true; \
    }
/* With one expression, unsigned integers have it as well. */
#define DEFINE_ONE(name, may_divide, expression) \
    DEFINE_SIGNED(name, may_divide, expression) \
    static bool natural_##name(uint64_t ua, uint64_t ub, uint64_t uc, int64_t *result) { \
        return integer_##name((int64_t)ua, (int64_t)ub, (int64_t)uc, result); \
    }
#define DEFINE_TWO(name, may_divide, expression, natural) \
    DEFINE_SIGNED(name, may_divide, expression) \
    NATURAL_INTEGER(name, may_divide, natural)
#define ONE_OR_TWO(first, second, which, ...) which
#define DEFINE_INTEGERS(name, may_divide, ...) \
    ONE_OR_TWO(__VA_ARGS__, DEFINE_TWO, DEFINE_ONE, )(name, may_divide, __VA_ARGS__)
#define DEFINE_INTEGER_INT(name, ...) DEFINE_INTEGERS(name, true, __VA_ARGS__)
#define DEFINE_INTEGER_DIVIDE(name, ...) DEFINE_INTEGERS(name, ub != 0, __VA_ARGS__)
#define NO_INTEGERS(name) \
    static bool integer_##name(int64_t a, int64_t b, int64_t c, int64_t *result) { \
        (void)a, (void)b, (void)c, (void)result; \
        return false; \
    } \
    static bool natural_##name(uint64_t ua, uint64_t ub, uint64_t uc, int64_t *result) { \
        (void)ua, (void)ub, (void)uc, (void)result; \
        return false; \
    }
#define DEFINE_INTEGER_NONE(name, expression) NO_BITS(name) NO_INTEGERS(name)
#define DEFINE_INTEGER_BITS(name, expression) \
    static bool bits_##name(unsigned width, tile_arith_flags arith_flags, int64_t a, int64_t b, \
                            int64_t *result) { \
        BITS_OPERANDS; \
        *result = (expression); \
        return true; \
    } \
    NO_INTEGERS(name)
#define DEFINE_FLOAT_REAL(name, expression) \
    static bool float_##name(FLOAT_PARAMETERS) { \
        FLOAT_OPERANDS; \
        *result = (expression); \
        return true; \
    }
#define DEFINE_FLOAT_NONE(name, expression) \
    static bool float_##name(FLOAT_PARAMETERS) { \
        FLOAT_OPERANDS, (void)result; \
        return false; \
    }

#define INT(...) INT, __VA_ARGS__
#define DIVIDE(...) DIVIDE, __VA_ARGS__
#define BITS(expression) BITS, expression
#define REAL(expression) REAL, expression
#define NONE NONE, 0
#define DEFINE_AS(prefix, name, kind, ...) prefix##kind(name, __VA_ARGS__)
#define DEFINE(prefix, name, ...) DEFINE_AS(prefix, name, __VA_ARGS__)
#define ARITH(name, integers, floats, ranges) \
    DEFINE(DEFINE_INTEGER_, name, integers) \
    DEFINE(DEFINE_FLOAT_, name, floats)
#define MOVE(name)
#include "lib/ir/arith.def"

static const struct {
    tile_int_meaning integer;
    natural_meaning natural;
    bits_meaning bits;
    float_meaning real;
    tile_ranges ranges;
} meanings[TILE_OPCODE_LIMIT] = {
#define ARITH(name, integers, floats, ranges) \
    [TILE_OP_## \
        name] = {integer_##name, natural_##name, bits_##name, float_##name, TILE_RANGES_##ranges},
#define MOVE(name)
#include "lib/ir/arith.def"
};

/* Every element-wise row of ops.def needs a row in arith.def: a missing one is an undeclared name
 * here. */
enum {
#define ARITH(name, integers, floats, ranges) MEANING_OF_##name = 1,
#define MOVE(name) MEANING_OF_##name = 1,
#include "lib/ir/arith.def"
};
#define OP(...)
#define ELEMENTWISE_OP(number, name, ...) _Static_assert(MEANING_OF_##name, #name);
#include "tile/ops.def"

tile_int_meaning tile_int_meaning_of(tile_opcode opcode) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT ? meanings[opcode].integer : NULL;
}

bool tile_fold_int(tile_opcode opcode, int64_t a, int64_t b, int64_t c, int64_t *result) {
    const tile_int_meaning meaning = tile_int_meaning_of(opcode);
    return meaning && meaning(a, b, c, result);
}

static bool fold_unsigned(tile_opcode opcode, uint64_t a, uint64_t b, uint64_t c, int64_t *result) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && meanings[opcode].natural &&
           meanings[opcode].natural(a, b, c, result);
}

bool tile_fold_element(tile_opcode opcode, tile_scalar scalar, tile_arith_flags arith_flags,
                       int64_t a, int64_t b, int64_t c, int64_t *result) {
    bool is_unsigned = tile_scalar_is_unsigned(scalar);
    arith_flags.is_unsigned |= is_unsigned;
    if (is_unsigned ? fold_unsigned(opcode, (uint64_t)a, (uint64_t)b, (uint64_t)c, result)
                    : tile_fold_int(opcode, a, b, c, result))
        return true;
    return (unsigned)opcode < TILE_OPCODE_LIMIT && meanings[opcode].bits &&
           meanings[opcode].bits(tile_scalar_bits(scalar), arith_flags, a, b, result);
}

bool tile_fold_real(tile_opcode opcode, tile_scalar scalar, tile_arith_flags arith_flags, double a,
                    double b, double c, double *result) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && meanings[opcode].real &&
           meanings[opcode].real(scalar, arith_flags, a, b, c, result);
}

tile_ranges tile_opcode_ranges(tile_opcode opcode) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT ? meanings[opcode].ranges : TILE_RANGES_NONE;
}

bool tile_fold_float(tile_opcode opcode, tile_scalar scalar, double a, double b, double c,
                     double *result) {
    return tile_fold_real(opcode, scalar, (tile_arith_flags){.nan = false}, a, b, c, result);
}

/* Attributes ----------------------------------------------------------------------------------- */

static tile_rounding rounding_of(tile_word word) {
    switch (word) {
    case TILE_WORD_kind_even:
    case TILE_WORD_round_even: return TILE_ROUNDING_EVEN;
    case TILE_WORD_kind_zero:
    case TILE_WORD_round_zero: return TILE_ROUNDING_ZERO;
    case TILE_WORD_kind_up:
    case TILE_WORD_round_up: return TILE_ROUNDING_UP;
    case TILE_WORD_kind_down:
    case TILE_WORD_round_down: return TILE_ROUNDING_DOWN;
    default: return TILE_ROUNDING_NONE; /* a word of another attribute */
    }
}

tile_arith_flags tile_op_arith_flags(const tile_function *f, tile_op op) {
    if (!tile_op_at(f, op)->attr_count) return (tile_arith_flags){.nan = false};
    return (tile_arith_flags){
        .nan = tile_op_has_attr(f, op, TILE_ATTR_nan),
        .is_unsigned = tile_op_has_attr(f, op, TILE_ATTR_unsigned),
        .saturates = tile_op_has_attr(f, op, TILE_ATTR_saturate),
        .rounding = rounding_of(tile_op_word(
            f, op, tile_op_opcode(f, op) == TILE_OP_round ? TILE_ATTR_kind : TILE_ATTR_round))};
}

bool tile_opcode_divides(tile_opcode opcode) {
    return opcode == TILE_OP_div || opcode == TILE_OP_rem || opcode == TILE_OP_mod ||
           opcode == TILE_OP_ceildiv;
}

bool tile_opcode_shifts(tile_opcode opcode) {
    return opcode == TILE_OP_shl || opcode == TILE_OP_shr || opcode == TILE_OP_ushr;
}

bool tile_element_is_defined(tile_opcode opcode, tile_scalar scalar, int64_t rhs) {
    if (tile_scalar_is_floating(scalar)) return true;
    if (tile_opcode_shifts(opcode)) return rhs >= 0 && rhs < (int64_t)tile_scalar_bits(scalar);
    return !tile_opcode_divides(opcode) || rhs != 0;
}

bool tile_may_divide_by_zero(const tile_function *f, tile_op op) {
    int64_t divisor;
    return tile_opcode_divides(tile_op_opcode(f, op)) &&
           (!tile_value_is_int(f, tile_operand_rhs(f, op), &divisor) || divisor == 0);
}
