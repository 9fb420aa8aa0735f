/* Ranges (interval arithmetic) and divisors (gcd rules) of all values of a function.
 *
 * Loops: carried values start with their initial value and grow until a fixed point. After a few
 * rounds, a bound that still changes is widened to the end of its type, so that the iteration
 * terminates. Widening loses what a `mod` in the loop would have bounded. Two more rounds apply the
 * operations to the sound result again, which can only narrow it and stays sound. */
#include "lib/analysis/range.h"

#include "lib/analysis/assumed.h"
#include "lib/analysis/executors.h"
#include "lib/ir/regions.h"
#include "lib/ops/shape.h"
#include "lib/support/integer.h"

enum {
    FREE_ROUNDS = 4,   /* rounds before bounds are widened */
    NARROW_ROUNDS = 2, /* rounds after the fixed point */
    EXPR_BUDGET = 256, /* limit on visited nodes of a host expression */
};

/* Values ------------------------------------------------------------------------------------- */

static int64_t magnitude(int64_t a) {
    return a == INT64_MIN ? INT64_MAX / 2 + 1 : a < 0 ? -a : a;
}

static int64_t gcd(int64_t a, int64_t b) {
    return (int64_t)tile_gcd((uint64_t)magnitude(a), (uint64_t)magnitude(b));
}

static int64_t power_of_two_part(int64_t a) {
    return a ? (int64_t)((uint64_t)a & (0 - (uint64_t)a)) : (int64_t)1 << 62;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

int64_t tile_wrap_int(tile_scalar scalar, int64_t value) {
    unsigned bits = tile_scalar_bits(scalar);
    if (bits == 1) return value & 1;
    if (bits == 0 || bits >= 64) return value;
    uint64_t sign = (uint64_t)1 << (bits - 1), low = (uint64_t)value & (2 * sign - 1);
    return (int64_t)(tile_scalar_is_unsigned(scalar) ? low : (low ^ sign) - sign);
}

tile_range tile_range_of_scalar(tile_scalar scalar) {
    unsigned bits = tile_scalar_bits(scalar);
    if (scalar == TILE_SCALAR_NONE || tile_scalar_is_floating(scalar) || bits >= 64)
        return (tile_range){INT64_MIN, INT64_MAX, 1, 0};
    if (bits == 1) return (tile_range){0, 1, 1, 0};
    int64_t limit = (int64_t)1 << (bits - 1), min = tile_scalar_is_unsigned(scalar) ? 0 : -limit;
    return (tile_range){min, min + 2 * limit - 1, 1, 0};
}

tile_range tile_range_of_int(int64_t value) {
    return (tile_range){value, value, magnitude(value), 0};
}

/* Moves both bounds inwards to multiples of the divisor, unless that could overflow. */
static tile_range tighten(tile_range r) {
    if (r.divisor == 0) return (tile_range){0, 0, 0, 0};
    if (r.divisor > 1 && r.min > INT64_MIN + r.divisor && r.max < INT64_MAX - r.divisor) {
        int64_t low = r.min % r.divisor, high = r.max % r.divisor;
        int64_t min = low > 0 ? r.min + r.divisor - low : r.min - low;
        int64_t max = high < 0 ? r.max - r.divisor - high : r.max - high;
        if (min <= max) r = (tile_range){min, max, r.divisor, r.zeros};
    }
    return r.min == r.max ? tile_range_of_int(r.min) : r;
}

/* The smallest 2^n - 1 that is at least a, for a >= 0. */
static int64_t all_ones(int64_t a) {
    uint64_t ones = (uint64_t)a;
    for (unsigned shift = 1; shift < 64; shift *= 2) ones |= ones >> shift;
    return (int64_t)ones;
}

/* Bits that are known to be 0. */
static uint64_t zeros_of(tile_range r) {
    uint64_t zeros = r.zeros | ((uint64_t)power_of_two_part(r.divisor) - 1);
    if (r.min == r.max) return ~(uint64_t)r.min;
    return r.min < 0 ? zeros : zeros | ~(uint64_t)all_ones(r.max);
}

/* Bounds a value by its known zero bits. Needed for swizzled coordinates, which an xor computes. */
static tile_range with_zeros(tile_range r, uint64_t zeros) {
    int64_t most = (int64_t)(~zeros & (uint64_t)INT64_MAX);
    r.zeros = zeros;
    if (r.min >= 0 && r.max > most && most >= r.min) r.max = most;
    return tighten(r);
}

/* The whole range of the type, with a divisor that is still known. */
static tile_range unbounded(tile_scalar scalar, int64_t divisor) {
    tile_range whole = tile_range_of_scalar(scalar);
    whole.divisor = scalar == TILE_i1 ? 1 : power_of_two_part(divisor);
    unsigned bits = tile_scalar_bits(scalar);
    if (bits < 64 && bits > 1) whole.divisor = smaller(whole.divisor, (int64_t)1 << (bits - 1));
    return tighten(whole);
}

/* The range after the result is truncated to the type's bits. */
static tile_range wrap(tile_scalar scalar, tile_range r) {
    tile_range whole = tile_range_of_scalar(scalar);
    bool fits = r.min >= whole.min && r.max <= whole.max;
    return fits ? tighten(r) : unbounded(scalar, r.divisor);
}

/* Operations --------------------------------------------------------------------------------- */

static tile_range add_ranges(tile_scalar s, tile_range a, tile_range b) {
    tile_range r = {.divisor = gcd(a.divisor, b.divisor)};
    if (__builtin_add_overflow(a.min, b.min, &r.min) ||
        __builtin_add_overflow(a.max, b.max, &r.max))
        return unbounded(s, r.divisor);
    return wrap(s, r);
}

static tile_range subtract_ranges(tile_scalar s, tile_range a, tile_range b) {
    tile_range r = {.divisor = gcd(a.divisor, b.divisor)};
    if (__builtin_sub_overflow(a.min, b.max, &r.min) ||
        __builtin_sub_overflow(a.max, b.min, &r.max))
        return unbounded(s, r.divisor);
    return wrap(s, r);
}

static tile_range multiply_ranges(tile_scalar s, tile_range a, tile_range b) {
    tile_range r = {INT64_MAX, INT64_MIN, 1, 0};
    if (__builtin_mul_overflow(a.divisor, b.divisor, &r.divisor))
        r.divisor = larger(power_of_two_part(a.divisor), power_of_two_part(b.divisor));
    const int64_t as[] = {a.min, a.max}, bs[] = {b.min, b.max};
    for (unsigned i = 0; i < 4; i++) {
        int64_t corner;
        if (__builtin_mul_overflow(as[i / 2], bs[i % 2], &corner)) return unbounded(s, r.divisor);
        r.min = smaller(r.min, corner);
        r.max = larger(r.max, corner);
    }
    bool shifts = b.min == b.max && b.min > 0 && !(b.min & (b.min - 1)) && a.min >= 0;
    if (!shifts || r.max > tile_range_of_scalar(s).max) return wrap(s, r);
    return with_zeros(wrap(s, r), zeros_of(a) * (uint64_t)b.min);
}

/* div and ceildiv: monotonic in each operand if the divisor is positive. */
static tile_range divide_ranges(tile_opcode opcode, tile_scalar s, tile_range a, tile_range b) {
    if (b.min < 1) return tile_range_of_scalar(s);
    tile_range r = {INT64_MAX, INT64_MIN, 1, 0};
    const int64_t as[] = {a.min, a.max}, bs[] = {b.min, b.max};
    for (unsigned i = 0; i < 4; i++) {
        int64_t corner = 0;
        tile_fold_int(opcode, as[i / 2], bs[i % 2], 0, &corner);
        r.min = smaller(r.min, corner);
        r.max = larger(r.max, corner);
    }
    if (b.min == b.max && a.divisor % b.min == 0) r.divisor = a.divisor / b.min;
    return wrap(s, r);
}

static tile_range remainder_ranges(tile_opcode opcode, tile_scalar s, tile_range a, tile_range b) {
    if (b.min < 1) return tile_range_of_scalar(s); /* division by zero gives any value */
    if (a.min >= 0 && a.max < b.min) return a;
    tile_range r = {0, b.max - 1, gcd(a.divisor, b.divisor), 0};
    if (a.min >= 0)
        r.max = smaller(r.max, a.max);
    else if (opcode == TILE_OP_rem)
        r = (tile_range){larger(a.min, 1 - b.max), a.max < 0 ? 0 : smaller(a.max, b.max - 1),
                         r.divisor, 0};
    return wrap(s, r);
}

static tile_range bit_ranges(tile_opcode opcode, tile_scalar s, tile_range a, tile_range b) {
    tile_range r = tile_range_of_scalar(s);
    int64_t pa = power_of_two_part(a.divisor), pb = power_of_two_part(b.divisor);
    r.divisor = s == TILE_i1 ? 1 : opcode == TILE_OP_and ? larger(pa, pb) : smaller(pa, pb);
    if (opcode == TILE_OP_and && (a.min >= 0 || b.min >= 0)) {
        r.min = 0;
        r.max = a.min < 0 ? b.max : b.min < 0 ? a.max : smaller(a.max, b.max);
    } else if (a.min >= 0 && b.min >= 0) {
        r.min = 0;
        r.max = all_ones(larger(a.max, b.max));
    }
    if (s == TILE_i1) return tighten(r);
    uint64_t za = zeros_of(a), zb = zeros_of(b);
    return with_zeros(tighten(r), opcode == TILE_OP_and ? za | zb : za & zb);
}

/* Shifts by constants only: an amount that is out of range gives any value. */
static tile_range shift_ranges(tile_opcode opcode, tile_scalar s, tile_range a, tile_range b) {
    if (b.min != b.max || b.min < 0 || b.min >= tile_scalar_bits(s) || b.min > 61)
        return tile_range_of_scalar(s);
    int64_t factor = (int64_t)1 << b.min;
    if (opcode == TILE_OP_shl) return multiply_ranges(s, a, tile_range_of_int(factor));
    tile_range r = {a.min >> b.min, a.max >> b.min, 1, 0};
    if (a.divisor % factor == 0) r.divisor = a.divisor / factor;
    return a.min < 0 ? wrap(s, r) : with_zeros(wrap(s, r), zeros_of(a) >> b.min);
}

/* Shifts in zeros: equal to shr for values that are not negative. */
static tile_range unsigned_shift_range(tile_scalar s, tile_range a, tile_range b) {
    unsigned bits = tile_scalar_bits(s);
    bool known = b.min == b.max && b.min >= 0 && b.min < bits && b.min <= 61;
    if (a.min >= 0 && known) return shift_ranges(TILE_OP_shr, s, a, b);
    if (!known || b.min == 0 || bits == 1) return tile_range_of_scalar(s);
    return tighten((tile_range){0, (int64_t)(UINT64_MAX >> (64 - bits) >> b.min), 1, 0});
}

static tile_range absolute_range(tile_scalar s, tile_range a) {
    if (a.min == INT64_MIN) return unbounded(s, a.divisor);
    int64_t low = a.min > 0 ? a.min : a.max < 0 ? -a.max : 0;
    return wrap(s, (tile_range){low, larger(-a.min, a.max), a.divisor, 0});
}

static tile_range join(tile_range a, tile_range b) {
    return tighten(
        (tile_range){smaller(a.min, b.min), larger(a.max, b.max), gcd(a.divisor, b.divisor), 0});
}

/* min and max: both operands bound the result, which is one of them. */
static tile_range extreme_range(tile_opcode opcode, tile_range a, tile_range b) {
    bool least = opcode == TILE_OP_min;
    if (least ? a.max <= b.min : a.min >= b.max) return a;
    if (least ? b.max <= a.min : b.min >= a.max) return b;
    return tighten((tile_range){least ? smaller(a.min, b.min) : larger(a.min, b.min),
                                least ? smaller(a.max, b.max) : larger(a.max, b.max),
                                gcd(a.divisor, b.divisor), 0});
}

static tile_range compare_ranges(tile_opcode opcode, tile_range a, tile_range b) {
    bool below = a.max<b.min, above = a.min> b.max;
    bool at_most = a.max <= b.min, at_least = a.min >= b.max;
    bool apart = below || above, same = a.min == a.max && b.min == b.max && a.min == b.min;
    switch (opcode) {
    case TILE_OP_eq: return same ? tile_range_of_int(1) : (tile_range){0, !apart, !apart, 0};
    case TILE_OP_ne: return apart ? tile_range_of_int(1) : (tile_range){0, !same, !same, 0};
    case TILE_OP_lt: return below ? tile_range_of_int(1) : (tile_range){0, !at_least, !at_least, 0};
    case TILE_OP_le: return at_most ? tile_range_of_int(1) : (tile_range){0, !above, !above, 0};
    case TILE_OP_ult:
        /* negative numbers are larger than all others */
        if (a.min >= 0 && b.min >= 0) return compare_ranges(TILE_OP_lt, a, b);
        if (a.max < 0 && b.min >= 0) return tile_range_of_int(0);
        return a.min >= 0 && b.max < 0 ? tile_range_of_int(1) : (tile_range){0, 1, 1, 0};
    case TILE_OP_gt: return above ? tile_range_of_int(1) : (tile_range){0, !at_most, !at_most, 0};
    case TILE_OP_ge: return at_least ? tile_range_of_int(1) : (tile_range){0, !below, !below, 0};
    default: return (tile_range){0, 1, 1, 0}; /* nothing is known */
    }
}

tile_range tile_range_apply(tile_opcode opcode, tile_scalar s, const tile_range *operands) {
    tile_range a = operands[0];
    switch (opcode) {
    case TILE_OP_add: return add_ranges(s, a, operands[1]);
    case TILE_OP_sub: return subtract_ranges(s, a, operands[1]);
    case TILE_OP_mul: return multiply_ranges(s, a, operands[1]);
    case TILE_OP_div:
    case TILE_OP_ceildiv: return divide_ranges(opcode, s, a, operands[1]);
    case TILE_OP_rem:
    case TILE_OP_mod: return remainder_ranges(opcode, s, a, operands[1]);
    case TILE_OP_min:
    case TILE_OP_max: return extreme_range(opcode, a, operands[1]);
    case TILE_OP_clamp:
        return extreme_range(TILE_OP_min, extreme_range(TILE_OP_max, a, operands[1]), operands[2]);
    case TILE_OP_and:
    case TILE_OP_or:
    case TILE_OP_xor: return bit_ranges(opcode, s, a, operands[1]);
    case TILE_OP_shl:
    case TILE_OP_shr: return shift_ranges(opcode, s, a, operands[1]);
    case TILE_OP_ushr: return unsigned_shift_range(s, a, operands[1]);
    case TILE_OP_popcount:
    case TILE_OP_clz: return (tile_range){0, tile_scalar_bits(s), 1, 0};
    case TILE_OP_eq:
    case TILE_OP_ne:
    case TILE_OP_lt:
    case TILE_OP_le:
    case TILE_OP_gt:
    case TILE_OP_ge:
    case TILE_OP_ult: return compare_ranges(opcode, a, operands[1]);
    case TILE_OP_neg: return subtract_ranges(s, tile_range_of_int(0), a);
    case TILE_OP_not:
        return subtract_ranges(s, tile_range_of_int(-1), (tile_range){a.min, a.max, 1, 0});
    case TILE_OP_abs: return absolute_range(s, a);
    case TILE_OP_select:
        return a.min == a.max ? operands[a.min ? 1 : 2] : join(operands[1], operands[2]);
    case TILE_OP_cast: return wrap(s, a);
    case TILE_OP_splat: return a;
    default: return tile_range_of_scalar(s);
    }
}

/* Functions ---------------------------------------------------------------------------------- */

typedef struct analysis {
    const tile_function *f;
    tile_range *ranges;
    bool *known;                 /* carried values that have a range from an earlier round */
    bool *not_negative;          /* values that are extents */
    const tile_assumed *assumed; /* NULL: no assumptions */
    /* An operation is computed again only if one of its operands has changed since. */
    uint32_t clock, *changed; /* by value: time at which its range changed */
    uint32_t *looked_at;      /* by op: time at which its results were computed; 0: never */
    unsigned round;
    bool again;
    bool narrowing;
} analysis;

static bool is_integer(const tile_type *type) {
    return type->kind != TILE_TYPE_PTR && type->kind != TILE_TYPE_VIEW &&
           type->kind != TILE_TYPE_SHARED && type->scalar != TILE_SCALAR_NONE &&
           !tile_scalar_is_floating(type->scalar);
}

static tile_range range_of_type(const tile_type *type) {
    return tile_range_of_scalar(is_integer(type) ? type->scalar : TILE_SCALAR_NONE);
}

static void write_range(analysis *a, tile_value value, tile_range range) {
    tile_range *to = &a->ranges[value.id];
    if (to->min != range.min || to->max != range.max || to->divisor != range.divisor ||
        to->zeros != range.zeros)
        a->changed[value.id] = ++a->clock;
    *to = range;
}

static void set_range(analysis *a, tile_value value, tile_range range) {
    if (a->not_negative[value.id] && range.min < 0) {
        range.min = 0;
        range.max = larger(range.max, 0);
        range = tighten(range);
    }
    if (a->assumed) range = tile_range_within(range, &a->assumed[value.id]);
    write_range(a, value, range);
}

static tile_range range_of_expr(const tile_function *f, const tile_range *ranges,
                                const tile_expr *expr, unsigned *budget) {
    tile_range args[3];
    if (*budget == 0) return tile_range_of_scalar(TILE_i64);
    --*budget;
    switch (expr->kind) {
    case TILE_EXPR_INT: return tile_range_of_int(expr->integer);
    case TILE_EXPR_ARG:
        return ranges ? ranges[f->args[expr->integer].value.id]
                      : tile_range_of_scalar(f->args[expr->integer].type->scalar);
    case TILE_EXPR_NUM_SMS: return (tile_range){1, TILE_MAX_SMS, 1, 0};
    case TILE_EXPR_OP:
        for (unsigned i = 0; i < 3 && expr->args[i]; i++)
            args[i] = range_of_expr(f, ranges, expr->args[i], budget);
        return tile_range_apply(expr->opcode, TILE_i64, args);
    default: return tile_range_of_scalar(TILE_i64);
    }
}

tile_range tile_range_of_expr(const tile_function *f, const tile_range *ranges,
                              const tile_expr *expr) {
    unsigned budget = EXPR_BUDGET;
    return range_of_expr(f, ranges, expr, &budget);
}

/* block_id and grid_dim. A dim that the grid does not declare has one block. */
static tile_range range_of_grid(analysis *a, unsigned dim, bool is_id) {
    tile_range extent = {1, 1, 1, 0};
    if (dim < a->f->grid_rank) extent = tile_range_of_expr(a->f, a->ranges, a->f->grid[dim]);
    int64_t most = smaller(larger(extent.max, 1), INT32_MAX);
    if (is_id) return tighten((tile_range){0, most - 1, 1, 0});
    return tighten((tile_range){larger(extent.min, 1), larger(most, larger(extent.min, 1)), 1, 0});
}

/* Extents that are unknown or invalid count as the maximum. */
static tile_range range_of_rank(const tile_function *f) {
    enum { MOST = 16 };
    int64_t blocks = 1, extent;
    for (unsigned d = 0; d < f->cluster_rank; d++)
        blocks *= tile_expr_is_int(f->cluster[d], &extent) && extent >= 1 && extent <= MOST ? extent
                                                                                            : MOST;
    return tighten((tile_range){0, blocks - 1, 1, 0});
}

static tile_range range_of_thread(tile_executors executors) {
    int64_t warps = executors.warps ? executors.warps : TILE_MAX_WARPS;
    return (tile_range){0, warps * 32 - 1, 1, 0};
}

static tile_range range_of_group(tile_executors executors) {
    int64_t groups = executors.groups ? executors.groups : TILE_MAX_WARPS;
    return tighten((tile_range){0, groups - 1, 1, 0});
}

/* From the first to the last element, if the type can represent all of them. */
static tile_range range_of_iota(const tile_function *f, tile_op op, const tile_type *type) {
    tile_iota iota;
    tile_range whole = range_of_type(type);
    if (!is_integer(type) || !tile_iota_of(f, op, &iota)) return whole;
    int64_t extent = tile_type_dim(type, iota.axis), span, last;
    if (extent < 1 || __builtin_mul_overflow(extent - 1, iota.step, &span) ||
        __builtin_add_overflow(iota.start, span, &last) || iota.start < whole.min ||
        iota.start > whole.max || last < whole.min || last > whole.max)
        return whole;
    return (tile_range){smaller(iota.start, last), larger(iota.start, last),
                        extent > 1 ? gcd(iota.start, iota.step) : magnitude(iota.start), 0};
}

static tile_range range_of_result(analysis *a, const tile_op_data *op, unsigned index,
                                  const tile_type *type) {
    tile_range operands[3];
    switch (op->opcode) {
    case TILE_OP_block_id: return range_of_grid(a, index, true);
    case TILE_OP_grid_dim: return range_of_grid(a, index, false);
    case TILE_OP_cluster_rank: return range_of_rank(a->f);
    case TILE_OP_cluster_id: return (tile_range){0, INT32_MAX, 1, 0};
    case TILE_OP_thread_id: return range_of_thread(tile_executors_in(a->f, op->parent));
    case TILE_OP_lane_id: return (tile_range){0, 31, 1, 0};
    case TILE_OP_warp_id:
        return (tile_range){0, range_of_thread(tile_executors_in(a->f, op->parent)).max / 32, 1, 0};
    case TILE_OP_scratch: return (tile_range){INT64_MIN, INT64_MAX, 256, 0};
    case TILE_OP_tile_schedule: return (tile_range){0, INT32_MAX - 1, 1, 0};
    case TILE_OP_iota: return range_of_iota(a->f, tile_value_def(a->f, op->first_result), type);
    case TILE_OP_view:
    case TILE_OP_im2col:
    case TILE_OP_base:
    case TILE_OP_uniform:
    case TILE_OP_scalar:
    case TILE_OP_broadcast:
    case TILE_OP_extract:
    case TILE_OP_permute:
    case TILE_OP_convert_layout:
        return a->ranges[tile_first_operand(a->f, tile_value_def(a->f, op->first_result)).id];
    default: break;
    }
    bool elementwise = tile_op_has_trait((tile_opcode)op->opcode, TILE_TRAIT_ELEMENTWISE);
    if (!elementwise || !is_integer(type) || op->operand_count > 3) return range_of_type(type);
    if (op->opcode == TILE_OP_cast && op->attr_count) return range_of_type(type);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const tile_type *from = tile_value_at(a->f, op->operands[i])->type;
        if (!is_integer(from)) return range_of_type(type);
        operands[i] = a->ranges[op->operands[i].id];
        if (tile_range_is_large(from->scalar, operands[i])) return range_of_type(type);
    }
    return tile_range_apply((tile_opcode)op->opcode, type->scalar, operands);
}

/* Updates a carried value from its old range and the values that flow to it. */
static void set_carried(analysis *a, tile_value value, tile_range found) {
    tile_range old = a->ranges[value.id];
    if (a->narrowing) {
        write_range(a, value, found);
        return;
    }
    tile_range grown = a->known[value.id] ? join(old, found) : found;
    grown.zeros = 0; /* so that only the bounds decide about the fixed point */
    if (a->known[value.id] && a->round > FREE_ROUNDS) {
        tile_range whole = range_of_type(tile_value_at(a->f, value)->type);
        grown.min = grown.min < old.min ? whole.min : grown.min;
        grown.max = grown.max > old.max ? whole.max : grown.max;
        grown.divisor = grown.divisor != old.divisor ? 1 : grown.divisor;
    }
    a->again |= !a->known[value.id] || grown.min != old.min || grown.max != old.max ||
                grown.divisor != old.divisor;
    a->known[value.id] = true;
    write_range(a, value, grown);
}

static tile_range range_of_induction(const tile_range *begin, const tile_range *end,
                                     const tile_range *step) {
    if (step->min < 1) return tile_range_of_scalar(TILE_i32);
    tile_range r = {begin->min, end->max - 1, gcd(begin->divisor, step->divisor), 0};
    if (begin->min == begin->max && step->min == step->max && r.max > r.min)
        r.max = r.min + (r.max - r.min) / step->min * step->min;
    if (r.max < r.min) /* the body is never executed */
        return *begin;
    return tighten(r);
}

static void analyse_region(analysis *a, tile_region region);

/* The values that may flow to `to` as carried value i. In the first round, yields that come later
 * in the text are unknown. */
static tile_range range_of_carried(const analysis *a, tile_op op, int to, unsigned i) {
    tile_range found = {0, 0, 0, 0};
    bool known = false;
    TILE_FOR_EACH_BRANCH_POINT (a->f, op, from) {
        bool later = a->round == 1 && to != TILE_PARENT_OP && from >= to;
        if (later || !tile_control_flows(a->f, op, from, to)) continue;
        tile_range range = a->ranges[tile_carried_sent(a->f, op, from, i).id];
        found = known ? join(found, range) : range;
        known = true;
    }
    return found;
}

/* The range of a coordinate, from the range of its extent. */
static tile_range range_below(tile_range extent) {
    tile_range r = tile_range_of_scalar(TILE_i32);
    r.min = 0;
    if (extent.max > 0) r.max = extent.max - 1;
    return tighten(r);
}

static void analyse_regions(analysis *a, tile_op op) {
    unsigned carried = tile_carried_count(a->f, op);
    if (tile_shape_of(a->f, op) == TILE_SHAPE_LOOP) {
        const tile_range *bounds[3];
        for (unsigned i = 0; i < 3; i++)
            bounds[i] = &a->ranges[tile_control_operand(a->f, op, i).id];
        set_range(a, tile_region_arg(a->f, tile_op_region(a->f, op, 0), 0),
                  range_of_induction(bounds[0], bounds[1], bounds[2]));
    }
    for (unsigned d = 0;
         tile_op_opcode(a->f, op) == TILE_OP_parallel && d < tile_op_operand_count(a->f, op); d++)
        set_range(a, tile_region_arg(a->f, tile_op_region(a->f, op, 0), d),
                  range_below(a->ranges[tile_op_operand(a->f, op, d).id]));
    for (unsigned r = 0; r < tile_op_at(a->f, op)->region_count; r++) {
        if (tile_op_opcode(a->f, op) == TILE_OP_roles)
            set_range(a, tile_region_arg(a->f, tile_op_region(a->f, op, r), 0),
                      range_of_group(tile_executors_of_role(a->f, op, r)));
        for (unsigned i = 0; i < carried; i++) {
            tile_value received = tile_carried_received(a->f, op, (int)r, i);
            if (received.id) set_carried(a, received, range_of_carried(a, op, (int)r, i));
        }
        analyse_region(a, tile_op_region(a->f, op, r));
    }
    for (unsigned i = 0; i < carried; i++)
        set_range(a, tile_carried_received(a->f, op, TILE_PARENT_OP, i),
                  range_of_carried(a, op, TILE_PARENT_OP, i));
}

static bool is_up_to_date(const analysis *a, tile_op id, const tile_op_data *op) {
    uint32_t before = a->looked_at[id.id];
    bool same = before != 0;
    for (uint32_t i = 0; i < op->operand_count && same; i++)
        same = a->changed[op->operands[i].id] < before;
    return same;
}

static void analyse_region(analysis *a, tile_region region) {
    TILE_FOR_EACH_OP (a->f, id, region) {
        const tile_op_data *op = tile_op_at(a->f, id);
        if (tile_shape_of(a->f, id) != TILE_SHAPE_NONE) {
            analyse_regions(a, id);
            continue;
        }
        if (is_up_to_date(a, id, op)) continue;
        a->looked_at[id.id] = ++a->clock;
        for (uint32_t i = 0; i < op->result_count; i++) {
            tile_value value = {op->first_result.id + i};
            set_range(a, value, range_of_result(a, op, i, tile_value_at(a->f, value)->type));
        }
    }
}

/* For a view argument: the launch guarantees that its extents are not negative. */
static void mark_arg_extents(analysis *a, unsigned arg) {
    for (unsigned d = 0; d < a->f->args[arg].type->rank; d++) {
        const tile_expr *extent = tile_function_arg_extent(a->f, arg, d);
        if (extent && extent->kind == TILE_EXPR_ARG)
            a->not_negative[a->f->args[extent->integer].value.id] = true;
    }
}

static void start_values(analysis *a) {
    const tile_function *f = a->f;
    for (unsigned i = 0; i < f->arg_count; i++) mark_arg_extents(a, i);
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (tile_op_opcode(f, op) != TILE_OP_view) continue;
        const tile_values extents = tile_operands_extents(f, op);
        for (unsigned i = 0; i < extents.count; i++) a->not_negative[extents.at[i].id] = true;
    }
    for (uint32_t id = 1; id < f->value_count; id++) {
        const tile_value_data *data = &f->values[id];
        tile_range range = range_of_type(data->type);
        int64_t integer;
        bool constant = data->kind == TILE_VALUE_CONSTANT && !data->type->param;
        if (constant && tile_expr_is_int(data->expr, &integer))
            range = tile_range_of_int(tile_wrap_int(data->type->scalar, integer));
        if (data->kind == TILE_VALUE_ARG && f->args[data->index].divisible)
            range.divisor = f->args[data->index].divisible;
        set_range(a, (tile_value){id}, data->kind == TILE_VALUE_ARG ? tighten(range) : range);
    }
}

const tile_range *tile_range_analyse(const tile_function *f, tile_arena *arena) {
    analysis a = {.f = f};
    a.ranges = TILE_NEW_ARRAY(arena, tile_range, f->value_count);
    a.assumed = tile_find_assumed(f, arena);
    a.known = TILE_NEW_ARRAY(arena, bool, f->value_count);
    a.not_negative = TILE_NEW_ARRAY(arena, bool, f->value_count);
    a.changed = TILE_NEW_ARRAY(arena, uint32_t, f->value_count);
    a.looked_at = TILE_NEW_ARRAY(arena, uint32_t, f->op_count);
    start_values(&a);
    do {
        a.round++;
        a.again = false;
        analyse_region(&a, f->body);
    } while (a.again || a.round == 1);
    a.narrowing = true;
    for (unsigned i = 0; i < NARROW_ROUNDS; i++) analyse_region(&a, f->body);
    return a.ranges;
}
