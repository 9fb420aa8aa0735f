#include "runtime/reference/ranges.h"

#include "lib/ops/cast.h"
#include "lib/support/scalar.h"
#include "runtime/reference/element.h"

enum { MAX_OPERANDS = 3 };

tile_interval range_union(tile_interval a, tile_interval b) {
    if (isnan(a.low) && isnan(a.high) && isnan(b.low) && isnan(b.high)) return a;
    if (isnan(a.low) || isnan(b.low)) return range_anything();
    return (tile_interval){fmin(a.low, b.low), fmax(a.high, b.high)};
}

tile_interval range_of_type(tile_scalar scalar) {
    if (tile_scalar_is_floating(scalar)) return range_anything();
    if (scalar == TILE_i1) return (tile_interval){0, 1};
    double limit = tile_scalar_whole_limit(scalar);
    return (tile_interval){tile_scalar_is_unsigned(scalar) ? 0 : -limit, limit - 1};
}

bool tile_interval_holds(tile_interval range, double number) {
    if (range_is_anything(range)) return true;
    if (isnan(range.low) || isnan(number)) return isnan(range.low) && isnan(number);
    return number >= range.low && number <= range.high;
}

/* Errors --------------------------------------------------------------------------------------- */

static double error_at(const tile_error *error, double number, double src) {
    double size = fabs(number), relative = error->relative;
    if (error->per_src > 0) relative += error->per_src * src;
    double off = number != 0 ? relative * fmax(size, error->least) : 0;
    return isinf(number) ? 0 : fmax(off, error->absolute);
}

/* Results that may be flushed to 0. */
static tile_interval flush(tile_interval r) {
    static const double least = 0x1p-126; /* the smallest normal f32 */
    if (r.low > 0 && r.low < least) r.low = 0;
    if (r.high < 0 && r.high > -least) r.high = 0;
    return r;
}

/* Adds infinity if the range exceeds the type's largest number. */
tile_interval range_overflow(tile_scalar to, tile_interval r) {
    double largest = tile_scalar_largest(to);
    if (r.high > largest) r.high = INFINITY;
    if (r.low < -largest) r.low = -INFINITY;
    return r;
}

tile_interval range_widen(const tile_error *error, tile_scalar to, tile_interval r, double src) {
    static const double pi = 0x1.921fb54442d18p+1;
    if (isnan(r.low) || (error->relative <= 0 && error->absolute <= 0)) return r;
    if (error->turns && src > pi) return (tile_interval){-1 - error->absolute, 1 + error->absolute};
    r.low -= error_at(error, r.low, src);
    r.high += error_at(error, r.high, src);
    if (error->flushes) r = flush(r);
    return range_overflow(to, r);
}

/* Casts ---------------------------------------------------------------------------------------- */

/* Covers both the rounded number and the unrounded one in a wider type. A number beyond the type's
 * largest number is always rounded. */
static tile_interval round_to(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                              tile_interval r) {
    double largest = tile_scalar_largest(to);
    double low = tile_element_cast(from, to, arith_flags, r.low);
    double high = tile_element_cast(from, to, arith_flags, r.high);
    if (fabs(r.low) <= largest && r.low < low) low = r.low;
    if (fabs(r.high) <= largest && r.high > high) high = r.high;
    return (tile_interval){low, high};
}

tile_interval range_round(tile_scalar to, tile_interval r) {
    return isnan(r.low) ? r : round_to(TILE_f64, to, (tile_arith_flags){.nan = false}, r);
}

/* The range of "it is not 0". */
static tile_interval truth_of(tile_interval r) {
    bool may_be_zero = r.low <= 0 && r.high >= 0, is_zero = r.low == 0 && r.high == 0;
    return (tile_interval){may_be_zero ? 0 : 1, is_zero ? 0 : 1};
}

static tile_interval cast_range(const range_op *op, tile_interval r, double value) {
    if (isnan(r.low)) return range_point(value); /* always NaN */
    if (tile_scalar_is_floating(op->to) && tile_scalar_is_floating(op->from))
        return round_to(op->from, op->to, op->arith_flags, r);
    if (range_is_point(r)) return range_point(value);
    if (op->to == TILE_i1) return truth_of(r);
    return (tile_interval){tile_element_cast(op->from, op->to, op->arith_flags, r.low),
                           tile_element_cast(op->from, op->to, op->arith_flags, r.high)};
}

/* Integers ------------------------------------------------------------------------------------- */

/* Advances to the next combination of integers in the ranges; false after the last one. */
static bool step(const tile_interval *x, unsigned count, double *at) {
    for (unsigned i = 0; i < count; i++) {
        if (++at[i] <= x[i].high) return true;
        at[i] = x[i].low;
    }
    return false;
}

/* The union of all results for a few integers; for many, the whole type. */
static tile_interval try_integers(const range_op *op, const tile_interval *x) {
    static const double most = 256;
    double at[MAX_OPERANDS] = {0}, combinations = 1, result;
    tile_interval all = {INFINITY, -INFINITY};
    for (unsigned i = 0; i < op->operand_count; i++) {
        combinations *= x[i].high - x[i].low + 1;
        at[i] = x[i].low;
    }
    if (!(combinations <= most)) return range_of_type(op->to);
    do {
        if (!tile_element_value(op->opcode, op->from, op->to, op->arith_flags, at, &result))
            return range_of_type(op->to);
        all = (tile_interval){fmin(all.low, result), fmax(all.high, result)};
    } while (step(x, op->operand_count, at));
    return all;
}

/* Floats --------------------------------------------------------------------------------------- */

/* Sums and differences are the most common operations of a reference. Their ends are computed
 * directly. */
static bool add_ends(const range_op *op, const tile_interval *x, tile_interval *r) {
    if (op->opcode == TILE_OP_add)
        *r = (tile_interval){x[0].low + x[1].low, x[0].high + x[1].high};
    else if (op->opcode == TILE_OP_sub)
        *r = (tile_interval){x[0].low - x[1].high, x[0].high - x[1].low};
    else
        return false;
    return isfinite(r->low) && isfinite(r->high);
}

/* The range of the results at all combinations of ends. If one of them is NaN, numbers in between
 * may have any result. */
static tile_interval try_ends(const range_op *op, const tile_interval *x) {
    tile_interval all = {INFINITY, -INFINITY};
    unsigned points = 0; /* a bit set of operands with equal ends */
    bool some = false, nan = false;
    if (add_ends(op, x, &all)) return all;
    all = (tile_interval){INFINITY, -INFINITY};
    for (unsigned i = 0; i < op->operand_count; i++) points |= x[i].low == x[i].high ? 1u << i : 0;
    for (unsigned e = 0; e < 1u << op->operand_count; e++) {
        double at[MAX_OPERANDS] = {0}, result = NAN;
        if (e & points) continue;
        for (unsigned i = 0; i < op->operand_count; i++) at[i] = e >> i & 1 ? x[i].high : x[i].low;
        tile_fold_real(op->opcode, TILE_f64, op->arith_flags, at[0], at[1], at[2], &result);
        nan |= isnan(result);
        some |= !isnan(result);
        all = (tile_interval){fmin(all.low, result), fmax(all.high, result)};
    }
    return !nan ? all : some ? range_anything() : range_point(NAN);
}

static tile_interval equality(const range_op *op, const tile_interval *x) {
    bool apart = isnan(x[0].low) || isnan(x[1].low) || x[0].high < x[1].low || x[1].high < x[0].low;
    return apart ? range_point(op->opcode == TILE_OP_ne) : (tile_interval){0, 1};
}

static bool has_zero(tile_interval r) {
    return r.low <= 0 && r.high >= 0;
}

static tile_interval wave(tile_interval x, double value) {
    double width = x.high - x.low; /* level 1's number is somewhere in it */
    return isnan(value) || isinf(width)
               ? range_anything()
               : (tile_interval){fmax(value - width, -1), fmin(value + width, 1)};
}

/* On either side of 0 a power grows or falls with its base. */
static tile_interval power(const range_op *op, const tile_interval *x) {
    tile_interval below[] = {{x[0].low, -0.0}, x[1]}, above[] = {{0.0, x[0].high}, x[1]};
    if (!has_zero(x[0]) && x[0].low > 0) return try_ends(op, x);
    if (!range_is_point(x[1])) return range_anything();
    return has_zero(x[0]) ? range_union(try_ends(op, below), try_ends(op, above)) : try_ends(op, x);
}

/* Angles jump from pi to -pi where y passes 0 and x is below 0. */
static tile_interval angle(const range_op *op, const tile_interval *x) {
    static const double pi = 0x1.921fb54442d18p+1;
    bool jumps = has_zero(x[0]) && x[1].low <= 0;
    return jumps ? (tile_interval){-pi, pi} : try_ends(op, x);
}

/* A remainder starts again where the quotient becomes the next whole number. */
static tile_interval remainder_range(const range_op *op, const tile_interval *x) {
    double most = range_size(x[1]);
    if (range_is_point(x[1]) && trunc(x[0].low / most) == trunc(x[0].high / most) &&
        fabs(x[0].high / most) < 0x1p52)
        return try_ends(op, x);
    if (has_zero(x[1])) return range_anything();
    return (tile_interval){x[0].low < 0 ? fmax(-most, x[0].low) : 0,
                           x[0].high > 0 ? fmin(most, x[0].high) : 0};
}

static tile_interval try_floats(const range_op *op, const tile_interval *x, double value) {
    tile_interval r;
    switch (tile_opcode_ranges(op->opcode)) {
    case TILE_RANGES_ENDS: return try_ends(op, x);
    case TILE_RANGES_SIZE:
        r = try_ends(op, x);
        if (has_zero(x[0])) r.low = 0;
        return r;
    case TILE_RANGES_QUOTIENT:
        return has_zero(x[1]) && !range_is_point(x[1]) ? range_anything() : try_ends(op, x);
    case TILE_RANGES_WAVE: return wave(x[0], value);
    case TILE_RANGES_POWER: return power(op, x);
    case TILE_RANGES_ANGLE: return angle(op, x);
    case TILE_RANGES_REMAINDER: return remainder_range(op, x);
    case TILE_RANGES_EQUAL: return equality(op, x);
    case TILE_RANGES_CHOICE:
    case TILE_RANGES_NONE: break;
    }
    return range_of_type(op->to);
}

/* An element ----------------------------------------------------------------------------------- */

static tile_interval choose(const tile_interval *x) {
    if (!range_is_point(x[0])) return range_union(x[1], x[2]);
    return x[0].low != 0 ? x[1] : x[2];
}

static bool is_whole(double number) {
    return number == rint(number) && fabs(number) <= 0x1p53;
}

/* Returns whether exact operands have an exact result that rounding does not change. In f64 level 1
 * itself rounds, so only integers are known to be exact. */
static bool stays_exact(const range_op *op, const tile_interval *x, double value) {
    const tile_error *error = &op->error;
    bool exact = error->relative <= 0 && error->absolute <= 0;
    if (exact || !tile_scalar_is_floating(op->precision)) return true;
    if (error->relative > tile_scalar_rounding(op->precision) || error->absolute > 0) return false;
    bool whole = is_whole(value);
    for (unsigned i = 0; i < op->operand_count; i++) whole &= is_whole(x[i].low);
    return whole ? tile_scalar_round(op->precision, value) == value
                 : op->precision != TILE_f64 && op->to != TILE_f64 &&
                       tile_scalar_round(op->precision, value) == value;
}

tile_interval range_apply(const range_op *op, const tile_interval *x, double value) {
    bool points = true, anything = false;
    if (op->opcode == TILE_OP_select) return choose(x);
    if (op->opcode == TILE_OP_splat) return x[0];
    for (unsigned i = 0; i < op->operand_count; i++) {
        points &= range_is_point(x[i]);
        anything |= range_is_anything(x[i]);
    }
    if (anything) return range_of_type(op->to);
    if (op->opcode == TILE_OP_cast) return cast_range(op, x[0], value);
    if (points && (op->opcode == TILE_OP_bitcast || stays_exact(op, x, value)))
        return range_point(value);
    if (op->opcode == TILE_OP_bitcast) return range_of_type(op->to);
    tile_interval r = points                              ? range_point(value)
                      : tile_scalar_is_floating(op->from) ? try_floats(op, x, value)
                                                          : try_integers(op, x);
    return range_widen(&op->error, op->precision, r, range_size(x[0]));
}
