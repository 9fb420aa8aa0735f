/* The rows of arith.def as functions, one for integers and one for floats each. */
#include <math.h>

#include "tile/ir.h"

/* Wrapping arithmetic goes through uint64_t, where overflow is defined: INT64_MIN / -1 too. */
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

/* A number wins over NaN, and -0 is below 0, as for min and max of PTX. */
static double smaller(double a, double b) {
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

/* In f64 an f32's sum would be rounded twice. */
static double fused(tile_scalar scalar, double a, double b, double c) {
    return scalar == TILE_f32 ? (double)fmaf((float)a, (float)b, (float)c) : fma(a, b, c);
}

/* The machine's code reduces angles below this only. */
static bool has_turns(tile_scalar scalar, double a) {
    return fabs(a) < (scalar == TILE_f64 ? 0x1p30 : 0x1p47);
}

typedef bool (*integer_meaning)(int64_t a, int64_t b, int64_t c, int64_t *result);
typedef bool (*float_meaning)(tile_scalar scalar, double a, double b, double c, double *result);

/* Not every row looks at all of these. */
#define INTEGER_OPERANDS \
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b; \
    (void)ua, (void)ub, (void)c
#define FLOAT_OPERANDS (void)scalar, (void)a, (void)b, (void)c

#define DEFINE_INTEGER_INT(name, expression) \
    static bool integer_##name(int64_t a, int64_t b, int64_t c, int64_t *result) { \
        INTEGER_OPERANDS; \
        *result = (expression); \
        return true; \
    }
#define DEFINE_INTEGER_DIVIDE(name, expression) \
    static bool integer_##name(int64_t a, int64_t b, int64_t c, int64_t *result) { \
        INTEGER_OPERANDS; \
        if (b == 0) return false; \
        *result = (expression); \
        return true; \
    }
#define DEFINE_INTEGER_NONE(name, expression) \
    static bool integer_##name(int64_t a, int64_t b, int64_t c, int64_t *result) { \
        (void)a, (void)b, (void)c, (void)result; \
        return false; \
    }
#define DEFINE_FLOAT_REAL(name, expression) \
    static bool float_##name(tile_scalar scalar, double a, double b, double c, double *result) { \
        FLOAT_OPERANDS; \
        *result = (expression); \
        return true; \
    }
#define DEFINE_FLOAT_NONE(name, expression) \
    static bool float_##name(tile_scalar scalar, double a, double b, double c, double *result) { \
        FLOAT_OPERANDS, (void)result; \
        return false; \
    }

#define INT(expression) INT, expression
#define DIVIDE(expression) DIVIDE, expression
#define REAL(expression) REAL, expression
#define NONE NONE, 0
#define DEFINE_AS(prefix, name, kind, expression) prefix##kind(name, expression)
#define DEFINE(prefix, name, ...) DEFINE_AS(prefix, name, __VA_ARGS__)
#define ARITH(name, integers, floats) \
    DEFINE(DEFINE_INTEGER_, name, integers) \
    DEFINE(DEFINE_FLOAT_, name, floats)
#define MOVE(name)
#include "lib/ir/arith.def"

static const struct {
    integer_meaning integer;
    float_meaning real;
} meanings[TILE_OPCODE_LIMIT] = {
#define ARITH(name, integers, floats) [TILE_OP_##name] = {integer_##name, float_##name},
#define MOVE(name)
#include "lib/ir/arith.def"
};

/* Every element-wise row of ops.def has its meaning there: the one that has not is undeclared here.
 */
enum {
#define ARITH(name, integers, floats) MEANING_OF_##name = 1,
#define MOVE(name) MEANING_OF_##name = 1,
#include "lib/ir/arith.def"
};
#define OP(...)
#define ELEMENTWISE_OP(number, name, ...) _Static_assert(MEANING_OF_##name, #name);
#include "tile/ops.def"

bool tile_fold_int(tile_opcode opcode, int64_t a, int64_t b, int64_t c, int64_t *result) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && meanings[opcode].integer &&
           meanings[opcode].integer(a, b, c, result);
}

bool tile_fold_float(tile_opcode opcode, tile_scalar scalar, double a, double b, double c,
                     double *result) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && meanings[opcode].real &&
           meanings[opcode].real(scalar, a, b, c, result);
}
