#include "lib/analysis/assumed.h"

#include "lib/support/integer.h"

/* A condition is a comparison with a number, or several comparisons joined by `and`:
 *
 *     %n >= 16      8 < %n      %n == 64      rem(%n, 8) == 0      mod(%n, 8) == 0      %n & 7 == 0
 */
typedef struct finder {
    const tile_function *f;
    tile_assumed *assumed;
    tile_region region; /* the region of the `assume` */
} finder;

static bool is_known_there(const finder *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->type->kind != TILE_TYPE_SCALAR) return false;
    if (s->region.id == s->f->body.id) return data->kind != TILE_VALUE_CONSTANT;
    if (data->kind == TILE_VALUE_REGION) return data->owner == s->region.id;
    return data->kind == TILE_VALUE_RESULT && s->f->ops[data->owner].parent.id == s->region.id;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void assume_bounds(const finder *s, tile_value value, int64_t min, int64_t max) {
    tile_assumed *to = &s->assumed[value.id];
    if (!is_known_there(s, value)) return;
    to->min = larger(to->min, min);
    to->max = smaller(to->max, max);
}

static void assume_divisor(const finder *s, tile_value value, int64_t divisor) {
    tile_assumed *to = &s->assumed[value.id];
    if (!is_known_there(s, value) || divisor < 1 || divisor > INT32_MAX) return;
    if (divisor % to->divisor == 0) to->divisor = divisor;
}

/* rem(%n, 8) == 0 and similar conditions. */
static void assume_remainder(const finder *s, tile_value remainder) {
    int64_t by;
    tile_op def = tile_value_def(s->f, remainder);
    tile_opcode opcode = tile_op_opcode(s->f, def);
    if (!def.id || tile_op_operand_count(s->f, def) != 2 ||
        !tile_value_is_int(s->f, tile_operand_rhs(s->f, def), &by))
        return;
    if ((opcode == TILE_OP_rem || opcode == TILE_OP_mod) && by > 0)
        assume_divisor(s, tile_operand_lhs(s->f, def), by);
    if (opcode == TILE_OP_and && by > 0 && (by & (by + 1)) == 0)
        assume_divisor(s, tile_operand_lhs(s->f, def), by + 1);
}

static bool is_u64(const finder *s, tile_value value) {
    return tile_value_type(s->f, value)->scalar == TILE_u64;
}

/* The value is compared with a number. A u64 from 2^63 is negative in a range, which therefore has
 * no lower bound of a u64 but 0. */
static void assume_comparison(const finder *s, tile_opcode opcode, tile_value value,
                              int64_t number) {
    bool large = is_u64(s, value);
    int64_t least = large ? 0 : INT64_MIN;
    if (large && (number < 0 || opcode == TILE_OP_gt || opcode == TILE_OP_ge)) return;
    switch (opcode) {
    case TILE_OP_lt:
        if (number > least) assume_bounds(s, value, least, number - 1);
        break;
    case TILE_OP_le: assume_bounds(s, value, least, number); break;
    case TILE_OP_gt:
        if (number < INT64_MAX) assume_bounds(s, value, number + 1, INT64_MAX);
        break;
    case TILE_OP_ge: assume_bounds(s, value, number, INT64_MAX); break;
    case TILE_OP_eq:
        assume_bounds(s, value, number, number);
        if (number == 0 && !large) assume_remainder(s, value);
        break;
    default: break; /* the others do not restrict a range */
    }
}

static tile_opcode mirrored(tile_opcode opcode) {
    switch (opcode) {
    case TILE_OP_lt: return TILE_OP_gt;
    case TILE_OP_le: return TILE_OP_ge;
    case TILE_OP_gt: return TILE_OP_lt;
    case TILE_OP_ge: return TILE_OP_le;
    default: return opcode; /* eq, and comparisons that do not restrict a range */
    }
}

enum { MAX_DEPTH = 32 };

static void assume_condition(const finder *s, tile_value condition, unsigned depth) {
    int64_t number;
    tile_op def = tile_value_def(s->f, condition);
    if (!def.id || depth == MAX_DEPTH || tile_op_operand_count(s->f, def) != 2) return;
    tile_value a = tile_operand_lhs(s->f, def), b = tile_operand_rhs(s->f, def);
    tile_opcode opcode = tile_op_opcode(s->f, def);
    if (opcode == TILE_OP_and) {
        assume_condition(s, a, depth + 1);
        assume_condition(s, b, depth + 1);
    } else if (tile_value_is_int(s->f, b, &number)) {
        assume_comparison(s, opcode, a, number);
    } else if (tile_value_is_int(s->f, a, &number)) {
        assume_comparison(s, mirrored(opcode), b, number);
    }
}

const tile_assumed *tile_find_assumed(const tile_function *f, tile_arena *arena) {
    finder s = {.f = f};
    for (uint32_t id = 1; id < f->op_count; id++) {
        if (f->ops[id].opcode != TILE_OP_assume) continue;
        if (!s.assumed) {
            s.assumed = TILE_NEW_ARRAY(arena, tile_assumed, f->value_count);
            for (uint32_t v = 0; v < f->value_count; v++)
                s.assumed[v] = (tile_assumed){INT64_MIN, INT64_MAX, 1};
        }
        s.region = f->ops[id].parent;
        assume_condition(&s, tile_operand_condition(f, (tile_op){(uint32_t)id}), 0);
    }
    return s.assumed;
}

static int64_t round_up(int64_t value, int64_t divisor) {
    int64_t left = value % divisor;
    return left == 0 ? value : left > 0 ? value - left + divisor : value - left;
}

static int64_t round_down(int64_t value, int64_t divisor) {
    int64_t left = value % divisor;
    return left < 0 ? value - left - divisor : value - left;
}

tile_range tile_range_within(tile_range range, const tile_assumed *assumed) {
    enum { FAR = 1 << 30 }; /* bounds of i64 are not rounded, which could overflow */
    tile_range r = range;
    r.min = larger(r.min, assumed->min);
    r.max = smaller(r.max, assumed->max);
    if (r.divisor > 0 && assumed->divisor % r.divisor == 0) r.divisor = assumed->divisor;
    bool near = r.min > INT64_MIN / 2 && r.max < INT64_MAX / 2 && r.divisor > 0 && r.divisor < FAR;
    if (near) {
        r.min = round_up(r.min, r.divisor);
        r.max = round_down(r.max, r.divisor);
    }
    if (r.min == 0 && r.max == 0) r.divisor = 0;
    return r.min > r.max ? range : r;
}

static void mark_conditions(const tile_function *f, bool *marks, tile_value value, unsigned depth) {
    tile_op def = tile_value_def(f, value);
    if (!def.id || depth == MAX_DEPTH || marks[value.id]) return;
    if (!tile_op_has_trait(tile_op_opcode(f, def), TILE_TRAIT_ELEMENTWISE)) return;
    marks[value.id] = true;
    for (unsigned i = 0; i < tile_op_operand_count(f, def); i++)
        mark_conditions(f, marks, tile_op_operand(f, def, i), depth + 1);
}

bool *tile_find_conditions(const tile_function *f, tile_arena *arena) {
    bool *marks = NULL;
    for (uint32_t id = 1; id < f->op_count; id++) {
        if (f->ops[id].opcode != TILE_OP_assume) continue;
        if (!marks) marks = TILE_NEW_ARRAY(arena, bool, f->value_count);
        mark_conditions(f, marks, tile_operand_condition(f, (tile_op){(uint32_t)id}), 0);
    }
    return marks;
}
