/* The column `error` of ops.def. */
#include "lib/ops/error.h"

#include <math.h>

#include "lib/support/scalar.h"

/* How the attribute `fast` changes an error. */
typedef enum fast_kind {
    KIND_SAME,
    KIND_FAST,
    KIND_FAST_FLUSHED,
    KIND_FAST_NEAR_1,
    KIND_FAST_TURN
} fast_kind;

enum { NONE = 0, F64_FUNCTION = -50 };

typedef enum error_kind {
    KIND_EXACT,
    KIND_ROUNDED,
    KIND_ROUNDED_OR, /* likewise, but `relative` in a kernel that `schedule` makes */
    KIND_WITHIN
} error_kind;

/* A row's column, in exponents of 2. */
typedef struct row_error {
    error_kind kind;
    int relative;
    fast_kind fast_kind;
    int fast, per_src;
} row_error;

#define EXACT \
    { KIND_EXACT, 0, KIND_SAME, 0, 0 }
#define ROUNDED \
    { KIND_ROUNDED, 0, KIND_SAME, 0, 0 }
#define ROUNDED_OR(n) \
    { KIND_ROUNDED_OR, n, KIND_SAME, 0, 0 }
#define WITHIN(n, fast) \
    { KIND_WITHIN, n, fast }
#define SAME KIND_SAME, 0, 0
#define FAST(n) KIND_FAST, n, 0
#define FAST_FLUSHED(n, m) KIND_FAST_FLUSHED, n, m
#define FAST_NEAR_1(n) KIND_FAST_NEAR_1, n, 0
#define FAST_TURN(n) KIND_FAST_TURN, n, 0

static const row_error rows[TILE_OPCODE_LIMIT] = {
#define OP(...)
#define ELEMENTWISE_OP(number, name, operands, attributes, typing, rule, traits, cost, error, \
                       meaning) \
    [number] = error,
#include "tile/ops.def"
};

double tile_scalar_rounding(tile_scalar scalar) {
    return 1 / (double)(UINT64_C(2) << tile_scalar_mantissa(scalar));
}

double tile_scalar_least(tile_scalar scalar) {
    return ldexp(1, 2 - (1 << (tile_scalar_exponent(scalar) - 1)));
}

/* Before the result is rounded to a 16-bit float. */
static void set_fast(const row_error *row, tile_error *error) {
    double bound = ldexp(1, row->fast);
    switch (row->fast_kind) {
    case KIND_SAME: break;
    case KIND_FAST: error->relative = bound; break;
    case KIND_FAST_FLUSHED:
        error->relative = bound;
        error->per_src = row->per_src ? ldexp(1, row->per_src) : 0;
        error->flushes = true;
        break;
    case KIND_FAST_NEAR_1: error->relative = error->absolute = bound; break;
    case KIND_FAST_TURN:
        error->relative = 0;
        error->absolute = bound;
        error->turns = true;
        break;
    }
}

tile_error tile_op_error_of(tile_opcode opcode, tile_scalar scalar, bool fast) {
    static const row_error exact = EXACT;
    const row_error *row = (unsigned)opcode < TILE_OPCODE_LIMIT ? &rows[opcode] : &exact;
    bool wide = scalar == TILE_f64;
    tile_error error = {0};
    if (row->kind == KIND_EXACT || !tile_scalar_is_floating(scalar)) return error;
    error.least = tile_scalar_least(scalar);
    if (row->kind != KIND_ROUNDED) error.relative = ldexp(1, wide ? F64_FUNCTION : row->relative);
    if (fast && !wide) set_fast(row, &error);
    bool rounds = row->kind == KIND_ROUNDED || tile_scalar_mantissa(scalar) < 23;
    if (rounds) error.relative += tile_scalar_rounding(scalar);
    return error;
}

bool tile_op_is_approximate(tile_opcode opcode) {
    return (unsigned)opcode < TILE_OPCODE_LIMIT && rows[opcode].kind == KIND_WITHIN;
}

static void print_fast(const row_error *row, const tile_out *out) {
    switch (row->fast_kind) {
    case KIND_SAME: break;
    case KIND_FAST: tile_out_print(out, ", with `fast` 2^%d", row->fast); break;
    case KIND_FAST_FLUSHED:
        tile_out_print(out, ", with `fast` 2^%d", row->fast);
        if (row->per_src) tile_out_print(out, " + |src| * 2^%d", row->per_src);
        tile_out_print(out, ", and results below 2^-126 may be 0");
        break;
    case KIND_FAST_NEAR_1:
        tile_out_print(out, ", with `fast` 2^%d, relative or absolute, whichever is larger",
                       row->fast);
        break;
    case KIND_FAST_TURN:
        tile_out_print(out, ", with `fast` an absolute error of 2^%d from -pi to pi", row->fast);
        break;
    }
}

void tile_op_error_print(tile_opcode opcode, const tile_out *out) {
    const row_error *row = &rows[opcode];
    if (row->kind == KIND_ROUNDED_OR)
        tile_out_print(out,
                       "; rounded to nearest, in kernels that `schedule` makes within a "
                       "relative error of 2^%d",
                       row->relative);
    if (row->kind != KIND_WITHIN) return;
    tile_out_print(out, "; an f32 has a relative error of 2^%d", row->relative);
    print_fast(row, out);
}

/* Sums ----------------------------------------------------------------------------------------- */

/* The rounding errors of n additions in any order add up to at most n units. In practice they
 * hardly exceed sqrt(n) units (N. J. Higham and T. Mary, "A new approach to probabilistic rounding
 * error analysis", 2019), unless a long chain of similar terms is added sequentially. */
double tile_sum_error(tile_scalar scalar, size_t n) {
    double count = (double)n, steps = fmin(count, 8 * sqrt(count));
    return steps * (scalar == TILE_f64 ? 2 * tile_scalar_rounding(TILE_f64)
                                       : tile_scalar_rounding(TILE_f32));
}

static tile_scalar wider(tile_scalar a, tile_scalar b) {
    return tile_scalar_bits(a) < tile_scalar_bits(b) ? b : a;
}

/* Tensor cores align the products of one instruction and truncate the bits below the sum: one unit
 * of f32 for each instruction. For 8-bit floats they keep 13 fractional bits, and add up four
 * instructions before they accumulate in f32. */
double tile_product_error(tile_scalar lhs, tile_scalar rhs, tile_scalar sum, size_t n) {
    double bound = tile_sum_error(sum, n);
    tile_scalar type = wider(lhs, rhs);
    unsigned bits = tile_scalar_bits(type);
    bool multiplied = type == TILE_tf32 || bits <= 16; /* by tensor cores */
    if (sum == TILE_f64 || !multiplied) return bound;
    if (bits == 8) return bound + 4 * 0x1p-13;
    double depth = type == TILE_tf32 ? 8 : 16; /* of an instruction */
    return bound + ceil((double)n / depth) * 2 * tile_scalar_rounding(TILE_f32);
}
