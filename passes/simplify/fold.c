/* Folding of arithmetic: constants, identities, comparisons decided by ranges, operand order.
 *
 * Rules hold element by element, so a splat of a constant counts as the constant. Integers wrap.
 * Float rules must give the same bits for every operand, except for the payload of a NaN. */
#include "passes/simplify/fold.h"

#include <math.h>

#include "lib/ops/cast.h"
#include "lib/ops/shape.h"
#include "lib/support/scalar.h"

typedef struct context {
    tile_folder *folder;
    tile_function *f;
    tile_op op;
    const tile_op_data *data;
    tile_opcode opcode;
    tile_value a, b, c;    /* operands; 0 for missing ones */
    const tile_type *type; /* of the result */
    bool floating;         /* operands are floats */
    bool changed;          /* the operation was rewritten in place and should be visited again */
    bool swapped;
} context;

/* Operands ----------------------------------------------------------------------------------- */

/* The constant that every element equals, or NULL. */
static const tile_expr *constant_of(const context *x, tile_value value) {
    const tile_value_data *data = tile_value_at(x->f, value);
    if (data->kind == TILE_VALUE_CONSTANT) return data->expr;
    tile_op def = tile_value_def(x->f, value);
    bool is_splat = tile_op_at(x->f, def)->opcode == TILE_OP_splat;
    return is_splat ? constant_of(x, tile_operand_src(x->f, def)) : NULL;
}

static bool is_int(const context *x, tile_value value, int64_t *integer) {
    if (!value.id || !tile_expr_is_int(constant_of(x, value), integer)) return false;
    *integer = tile_wrap_int(tile_value_type(x->f, value)->scalar, *integer);
    return true;
}

static bool is_number(const context *x, tile_value value, int64_t number) {
    int64_t integer;
    return is_int(x, value, &integer) && integer == number;
}

/* Distinguishes the signs of zeros. */
static bool is_float(const context *x, tile_value value, double number) {
    const tile_expr *expr = value.id ? constant_of(x, value) : NULL;
    return expr && expr->kind == TILE_EXPR_FLOAT && expr->number == number &&
           !signbit(expr->number) == !signbit(number);
}

static tile_range range_of(const context *x, tile_value value) {
    return tile_fold_range(x->folder, value);
}

tile_range tile_fold_range(const tile_folder *folder, tile_value value) {
    const tile_value_data *data = tile_value_at(folder->f, value);
    int64_t integer;
    if (value.id < folder->range_count) return folder->ranges[value.id];
    if (data->kind == TILE_VALUE_CONSTANT && tile_expr_is_int(data->expr, &integer))
        return tile_range_of_int(tile_wrap_int(data->type->scalar, integer));
    return tile_range_of_scalar(data->type->scalar);
}

/* Results ------------------------------------------------------------------------------------ */

/* Uses an operand as the result, unless level 1 broadcasts it. */
static tile_value same(const context *x, tile_value value) {
    return tile_value_type(x->f, value) == x->type ? value : TILE_NO_VALUE;
}

static void rewrite(context *x, tile_opcode opcode, tile_value a, tile_value b) {
    tile_op_data *data = tile_op_at(x->f, x->op);
    data->opcode = (uint16_t)opcode;
    data->operand_count = b.id ? 2 : 1;
    data->segment[0] = 1;
    data->segment[1] = b.id != 0;
    data->segment[2] = 0;
    data->operands[0] = a;
    if (b.id) data->operands[1] = b;
    if (tile_op_get_info(opcode)->attr_count == 0) data->attr_count = 0;
    x->changed = true;
}

static tile_value scalar_constant(context *x, tile_scalar scalar, const tile_expr *expr) {
    return tile_function_constant(x->f, tile_type_scalar(tile_function_context(x->f), scalar),
                                  expr);
}

static tile_value int_constant(context *x, tile_scalar scalar, int64_t value) {
    return scalar_constant(
        x, scalar, tile_expr_int(tile_function_context(x->f), tile_wrap_int(scalar, value)));
}

/* Makes the integer the result: a constant, or a splat that replaces the operation. */
static tile_value integer(context *x, int64_t value) {
    tile_value constant = int_constant(x, x->type->scalar, value);
    if (x->type->kind == TILE_TYPE_SCALAR) return constant;
    rewrite(x, TILE_OP_splat, constant, TILE_NO_VALUE);
    return TILE_NO_VALUE;
}

/* Integers ----------------------------------------------------------------------------------- */

static tile_value fold_constants(context *x) {
    int64_t values[3] = {0}, result;
    const tile_value operands[] = {x->a, x->b, x->c};
    for (uint32_t i = 0; i < x->data->operand_count; i++)
        if (!is_int(x, operands[i], &values[i])) return TILE_NO_VALUE;
    bool shift = x->opcode == TILE_OP_shl || x->opcode == TILE_OP_shr || x->opcode == TILE_OP_ushr;
    if (shift && (values[1] < 0 || values[1] >= tile_scalar_bits(x->type->scalar)))
        return TILE_NO_VALUE;
    if (!tile_fold_element(x->opcode, tile_value_type(x->f, x->a)->scalar,
                           tile_op_arith_flags(x->f, x->op), values[0], values[1], values[2],
                           &result))
        return TILE_NO_VALUE;
    return integer(x, result);
}

/* x op same x */
static tile_value fold_equal_operands(context *x) {
    switch (x->opcode) {
    case TILE_OP_min:
    case TILE_OP_max:
    case TILE_OP_and:
    case TILE_OP_or: return same(x, x->a);
    case TILE_OP_sub:
    case TILE_OP_xor: return integer(x, 0);
    case TILE_OP_eq:
    case TILE_OP_le:
    case TILE_OP_ge: return integer(x, 1);
    case TILE_OP_ne:
    case TILE_OP_lt:
    case TILE_OP_ult:
    case TILE_OP_gt: return integer(x, 0);
    default: return TILE_NO_VALUE;
    }
}

/* x op constant */
static tile_value fold_right_constant(context *x, int64_t b) {
    int64_t ones = tile_wrap_int(x->type->scalar, -1);
    switch (x->opcode) {
    case TILE_OP_add:
    case TILE_OP_sub:
    case TILE_OP_xor:
    case TILE_OP_shl:
    case TILE_OP_ushr:
    case TILE_OP_shr: return b == 0 ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_mul:
        if (b == 0) return integer(x, 0);
        return b == 1 ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_div:
    case TILE_OP_ceildiv: return b == 1 ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_rem:
    case TILE_OP_mod: return b == 1 ? integer(x, 0) : TILE_NO_VALUE;
    case TILE_OP_and:
        if (b == 0) return integer(x, 0);
        return b == ones ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_or:
        if (b == ones) return integer(x, ones);
        return b == 0 ? same(x, x->a) : TILE_NO_VALUE;
    default: return TILE_NO_VALUE;
    }
}

/* (x + c) + d becomes x + (c + d): valid for all operands, because sums wrap. */
static void merge_sums(context *x) {
    tile_op inner = tile_value_def(x->f, x->a);
    int64_t c, d;
    if (x->opcode != TILE_OP_add || x->type->kind != TILE_TYPE_SCALAR ||
        tile_op_at(x->f, inner)->opcode != TILE_OP_add || !is_int(x, x->b, &d) ||
        !is_int(x, tile_operand_rhs(x->f, inner), &c))
        return;
    int64_t sum = (int64_t)((uint64_t)c + (uint64_t)d);
    rewrite(x, TILE_OP_add, tile_operand_lhs(x->f, inner), int_constant(x, x->type->scalar, sum));
}

static tile_value fold_by_range(context *x) {
    tile_range a = range_of(x, x->a), b = x->b.id ? range_of(x, x->b) : a;
    tile_scalar scalar = tile_value_type(x->f, x->a)->scalar;
    tile_value result = x->data->first_result;
    if (result.id < x->folder->range_count &&
        tile_value_type(x->f, result)->kind == TILE_TYPE_SCALAR) {
        tile_range r = range_of(x, result);
        if (r.min == r.max) return integer(x, r.min);
    }
    if (tile_range_is_large(scalar, a) || tile_range_is_large(scalar, b)) return TILE_NO_VALUE;
    switch (x->opcode) {
    case TILE_OP_min:
        if (a.max <= b.min) return same(x, x->a);
        return b.max <= a.min ? same(x, x->b) : TILE_NO_VALUE;
    case TILE_OP_max:
        if (a.min >= b.max) return same(x, x->a);
        return b.min >= a.max ? same(x, x->b) : TILE_NO_VALUE;
    case TILE_OP_abs: return a.min >= 0 ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_rem:
    case TILE_OP_mod: return a.min >= 0 && a.max < b.min ? same(x, x->a) : TILE_NO_VALUE;
    default: return TILE_NO_VALUE;
    }
}

static tile_opcode negated_comparison(unsigned opcode) {
    switch (opcode) {
    case TILE_OP_eq: return TILE_OP_ne;
    case TILE_OP_ne: return TILE_OP_eq;
    case TILE_OP_lt: return TILE_OP_ge;
    case TILE_OP_le: return TILE_OP_gt;
    case TILE_OP_gt: return TILE_OP_le;
    case TILE_OP_ge: return TILE_OP_lt;
    default: return TILE_OP_NONE;
    }
}

static bool compares_integers(const context *x, tile_op op) {
    return negated_comparison(tile_op_at(x->f, op)->opcode) &&
           !tile_scalar_is_floating(tile_value_type(x->f, tile_operand_lhs(x->f, op))->scalar);
}

/* -(-x), ~~x, and ~ of a comparison of integers (wrong for floats because of NaN). */
static tile_value fold_unary(context *x) {
    tile_op inner = tile_value_def(x->f, x->a);
    unsigned opcode = tile_op_at(x->f, inner)->opcode;
    if ((x->opcode == TILE_OP_neg || x->opcode == TILE_OP_not) && opcode == x->opcode)
        return tile_operand_src(x->f, inner);
    if (x->opcode == TILE_OP_not && x->type->scalar == TILE_i1 && compares_integers(x, inner))
        rewrite(x, negated_comparison(opcode), tile_operand_lhs(x->f, inner),
                tile_operand_rhs(x->f, inner));
    return TILE_NO_VALUE;
}

/* Whether the value, an expression over arguments, is the same in i32 as in unbounded integers. */
static bool cannot_wrap(const tile_expr *expr) {
    int64_t divisor;
    if (expr->kind == TILE_EXPR_INT || expr->kind == TILE_EXPR_ARG) return true;
    if (expr->kind != TILE_EXPR_OP) return false;
    if (expr->opcode == TILE_OP_min || expr->opcode == TILE_OP_max)
        return cannot_wrap(expr->args[0]) && cannot_wrap(expr->args[1]);
    return (expr->opcode == TILE_OP_ceildiv || expr->opcode == TILE_OP_div) &&
           cannot_wrap(expr->args[0]) && tile_expr_is_int(expr->args[1], &divisor) && divisor > 0;
}

/* Compares a block's coordinate with the extent of the grid in the same dim. */
static tile_value fold_block_bound(context *x) {
    const tile_op_data *id = tile_op_at(x->f, tile_value_def(x->f, x->a));
    if (id->opcode != TILE_OP_block_id ||
        (x->opcode != TILE_OP_lt && x->opcode != TILE_OP_ult && x->opcode != TILE_OP_ge))
        return TILE_NO_VALUE;
    uint32_t dim = x->a.id - id->first_result.id;
    const tile_expr *extent = tile_value_as_expr(x->f, x->b);
    if (dim >= x->f->grid_rank || extent != x->f->grid[dim] || !cannot_wrap(extent))
        return TILE_NO_VALUE;
    return integer(x, x->opcode != TILE_OP_ge);
}

/* Compares a loop's variable with the end of its loop. */
static tile_value fold_counter_bound(context *x) {
    const tile_value_data *counter = tile_value_at(x->f, x->a);
    if (counter->kind != TILE_VALUE_REGION || counter->index ||
        (x->opcode != TILE_OP_lt && x->opcode != TILE_OP_ult && x->opcode != TILE_OP_ge))
        return TILE_NO_VALUE;
    tile_op loop = tile_region_at(x->f, (tile_region){counter->owner})->parent;
    if (!loop.id || tile_op_opcode(x->f, loop) != TILE_OP_for ||
        tile_operand_end(x->f, loop).id != x->b.id ||
        (x->opcode == TILE_OP_ult && range_of(x, x->a).min < 0))
        return TILE_NO_VALUE;
    return integer(x, x->opcode != TILE_OP_ge);
}

static tile_value fold_integers(context *x) {
    int64_t b;
    tile_value value = fold_constants(x);
    if (value.id || x->changed) return value;
    if (x->data->operand_count == 1)
        value = fold_unary(x);
    else if (x->a.id == x->b.id)
        value = fold_equal_operands(x);
    else if (is_int(x, x->b, &b))
        value = fold_right_constant(x, b);
    if (!value.id && !x->changed) value = fold_by_range(x);
    if (!value.id && !x->changed) value = fold_block_bound(x);
    if (!value.id && !x->changed) value = fold_counter_bound(x);
    if (!value.id && !x->changed) merge_sums(x);
    return value;
}

/* Floats ------------------------------------------------------------------------------------- */

static tile_value fold_floats(context *x) {
    bool fast = tile_op_has_attr(x->f, x->op, TILE_ATTR_fast);
    switch (x->opcode) {
    case TILE_OP_add: /* -0 + 0 is 0, not -0 */
        return is_float(x, x->b, -0.0) || (fast && is_float(x, x->b, 0.0)) ? same(x, x->a)
                                                                           : TILE_NO_VALUE;
    case TILE_OP_sub: return is_float(x, x->b, 0.0) ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_mul:
    case TILE_OP_div: return is_float(x, x->b, 1.0) ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_min:
    case TILE_OP_max: return x->a.id == x->b.id ? same(x, x->a) : TILE_NO_VALUE;
    case TILE_OP_neg: return fold_unary(x);
    default: return TILE_NO_VALUE;
    }
}

/* Conversions -------------------------------------------------------------------------------- */

/* Makes a number of the result's scalar type the result. -0 is not folded, so that folding creates
 * no -0 constant. */
static tile_value floating(context *x, double number) {
    if (!isfinite(number) || (number == 0 && signbit(number))) return TILE_NO_VALUE;
    tile_value constant =
        scalar_constant(x, x->type->scalar, tile_expr_float(tile_function_context(x->f), number));
    if (x->type->kind == TILE_TYPE_SCALAR) return constant;
    rewrite(x, TILE_OP_splat, constant, TILE_NO_VALUE);
    return TILE_NO_VALUE;
}

/* The constant for an element of the result that is stored as these bytes. */
static tile_value element(context *x, const void *bytes) {
    tile_scalar scalar = x->type->scalar;
    return tile_scalar_is_floating(scalar) ? floating(x, tile_scalar_read(scalar, bytes))
                                           : integer(x, tile_integer_read(scalar, bytes));
}

/* The bytes that represent the constant in memory. False if they are unknown or not unique. */
static bool constant_bytes(const context *x, const tile_expr *expr, void *bytes) {
    tile_scalar scalar = tile_value_type(x->f, x->a)->scalar;
    int64_t value;
    bool whole = tile_expr_is_int(expr, &value);
    if (!whole && expr->kind != TILE_EXPR_FLOAT) return false;
    if (!tile_scalar_is_floating(scalar)) {
        if (whole) tile_integer_write(scalar, bytes, value);
        return whole;
    }
    tile_scalar_write(scalar, bytes, whole ? (double)value : expr->number);
    return isfinite(tile_scalar_read(scalar, bytes));
}

/* Rounds the number to its own type first, then converts it to the type of the result. */
static tile_value fold_constant_cast(context *x, const tile_expr *expr) {
    unsigned char from[sizeof(int64_t)] = {0}, to[sizeof(int64_t)] = {0};
    tile_scalar scalar = tile_value_type(x->f, x->a)->scalar;
    if (!constant_bytes(x, expr, from)) return TILE_NO_VALUE;
    if (x->opcode == TILE_OP_bitcast) return element(x, from);
    tile_cast_element(scalar, x->type->scalar, tile_op_arith_flags(x->f, x->op), from, to);
    bool exact = tile_scalar_is_floating(scalar) || !tile_scalar_is_floating(x->type->scalar) ||
                 fabs(tile_scalar_read(scalar, from)) < 0x1p53;
    return exact ? element(x, to) : TILE_NO_VALUE;
}

static tile_value fold_bitcast(context *x) {
    const tile_expr *expr = constant_of(x, x->a);
    tile_op inner = tile_value_def(x->f, x->a);
    if (tile_value_type(x->f, x->a) == x->type) return x->a;
    if (expr) return fold_constant_cast(x, expr);
    if (tile_op_at(x->f, inner)->opcode == TILE_OP_bitcast)
        rewrite(x, TILE_OP_bitcast, tile_operand_src(x->f, inner), TILE_NO_VALUE);
    return TILE_NO_VALUE;
}

static tile_value fold_cast(context *x) {
    const tile_expr *expr = constant_of(x, x->a);
    bool plain = !x->data->attr_count;
    if (tile_value_type(x->f, x->a) == x->type && plain) return x->a;
    if (expr) return fold_constant_cast(x, expr);
    tile_op def = tile_value_def(x->f, x->a);
    const tile_op_data *inner = tile_op_at(x->f, def);
    if (inner->opcode != TILE_OP_cast || inner->attr_count || !plain) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(x->f, def);
    const tile_type *first = tile_value_type(x->f, src);
    tile_scalar middle = tile_value_type(x->f, x->a)->scalar;
    if (!tile_scalar_contains(middle, first->scalar)) return TILE_NO_VALUE;
    if (first == x->type) return src;
    if (tile_scalar_contains(x->type->scalar, middle)) rewrite(x, TILE_OP_cast, src, TILE_NO_VALUE);
    return TILE_NO_VALUE;
}

/* Other operations --------------------------------------------------------------------------- */

static tile_value fold_select(context *x) {
    int64_t condition;
    if (is_int(x, x->a, &condition)) return condition ? x->b : x->c;
    if (x->b.id == x->c.id) return x->b;
    if (tile_value_type(x->f, x->a) == x->type && is_number(x, x->b, 1) && is_number(x, x->c, 0))
        return x->a;
    return TILE_NO_VALUE;
}

static tile_opcode mirrored_comparison(tile_opcode opcode) {
    switch (opcode) {
    case TILE_OP_lt: return TILE_OP_gt;
    case TILE_OP_le: return TILE_OP_ge;
    case TILE_OP_gt: return TILE_OP_lt;
    case TILE_OP_ge: return TILE_OP_le;
    default: return TILE_OP_NONE;
    }
}

/* Moves constants to the right operand, so that the rules only need to look there. */
static void order_operands(context *x) {
    if (x->data->operand_count != 2 || !constant_of(x, x->a) || constant_of(x, x->b)) return;
    bool commutes = tile_op_has_trait(x->opcode, TILE_TRAIT_COMMUTATIVE);
    tile_opcode opcode = commutes ? x->opcode : mirrored_comparison(x->opcode);
    if (!opcode) return;
    tile_value left = x->a;
    tile_op_data *data = tile_op_at(x->f, x->op);
    data->opcode = (uint16_t)opcode;
    data->operands[0] = x->a = x->b;
    data->operands[1] = x->b = left;
    x->opcode = opcode;
    x->swapped = true;
}

/* Folds an iota to its first element if all coordinates are 0 or the step is 0. */
static void fold_iota(context *x) {
    tile_iota iota;
    if (!tile_iota_of(x->f, x->op, &iota) || !x->type->scalar) return;
    if (iota.step != 0 && tile_type_dim(x->type, iota.axis) != 1) return;
    tile_op_at(x->f, x->op)->operands = TILE_NEW_ARRAY(&x->f->module->arena, tile_value, 1);
    if (tile_scalar_is_floating(x->type->scalar))
        floating(x, tile_scalar_round(x->type->scalar, (double)iota.start));
    else
        integer(x, iota.start);
}

static tile_value fold_broadcast(context *x) {
    tile_op inner = tile_value_def(x->f, x->a);
    tile_opcode opcode = (tile_opcode)tile_op_at(x->f, inner)->opcode;
    if (tile_value_type(x->f, x->a) == x->type) return x->a;
    if (opcode == TILE_OP_splat || opcode == TILE_OP_broadcast)
        rewrite(x, opcode, tile_operand_src(x->f, inner), TILE_NO_VALUE);
    return TILE_NO_VALUE;
}

tile_value tile_fold_op(tile_folder *folder, tile_op op, bool *changed) {
    tile_function *f = folder->f;
    const tile_op_data *data = tile_op_at(f, op);
    context x = {
        .folder = folder, .f = f, .op = op, .data = data, .opcode = (tile_opcode)data->opcode};
    if (data->result_count != 1 || data->region_count) return TILE_NO_VALUE;
    if (folder->kept && data->first_result.id < folder->range_count &&
        folder->kept[data->first_result.id])
        return TILE_NO_VALUE;
    x.type = tile_value_type(f, data->first_result);
    if (x.opcode == TILE_OP_iota) fold_iota(&x);
    *changed |= x.changed;
    if (data->operand_count < 1 || x.changed) return TILE_NO_VALUE;
    tile_value moved = tile_fold_rearrangement(f, op, changed);
    if (moved.id) return moved;
    x.a = data->operands[0];
    x.b = data->operand_count > 1 ? data->operands[1] : TILE_NO_VALUE;
    x.c = data->operand_count > 2 ? data->operands[2] : TILE_NO_VALUE;
    if (tile_value_type(f, x.a)->param || x.type->param)
        return TILE_NO_VALUE; /* unknown yet whether these are integers or floats */
    x.floating = tile_scalar_is_floating(tile_value_type(f, x.a)->scalar);
    tile_value value = TILE_NO_VALUE;
    if (x.opcode == TILE_OP_convert_layout || x.opcode == TILE_OP_extract)
        value = same(&x, x.a);
    else if (x.opcode == TILE_OP_broadcast)
        value = fold_broadcast(&x);
    else if (x.opcode == TILE_OP_select)
        value = fold_select(&x);
    else if (x.opcode == TILE_OP_cast)
        value = fold_cast(&x);
    else if (x.opcode == TILE_OP_bitcast)
        value = fold_bitcast(&x);
    else if (x.opcode != TILE_OP_splat && tile_op_has_trait(x.opcode, TILE_TRAIT_ELEMENTWISE)) {
        order_operands(&x);
        value = x.floating ? fold_floats(&x) : fold_integers(&x);
    }
    *changed |= x.changed || x.swapped;
    return value;
}
