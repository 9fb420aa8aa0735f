#include "lib/analysis/part_view.h"

#include "lib/analysis/range.h"
#include "lib/ir/syntax.h"
#include "lib/ops/im2col.h"

typedef struct bound {
    const tile_function *f;
    const tile_expr *most;
} bound;

/* value + added <= most, provable and without overflow. */
static bool is_within(const bound *b, tile_value value, int64_t added, unsigned depth) {
    int64_t number, most;
    const tile_function *f = b->f;
    if (added <= 0 && tile_value_as_expr(f, value) == b->most) return true;
    if (tile_value_is_int(f, value, &number) && tile_expr_is_int(b->most, &most))
        return number + added <= most;
    tile_op op = tile_value_def(f, value);
    if (!depth || !op.id || !tile_op_operand_count(f, op)) return false;
    tile_value own[3]; /* the first one is repeated for missing operands */
    for (unsigned i = 0; i < 3; i++)
        own[i] = i < tile_op_operand_count(f, op) ? tile_op_operand(f, op, i) : own[0];
    tile_value first = own[0], second = own[1], third = own[2];
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_min:
        return is_within(b, first, added, depth - 1) || is_within(b, second, added, depth - 1);
    case TILE_OP_max: /* one operand is a number not above any extent */
        for (unsigned i = 0; i < 2; i++)
            if (tile_value_is_int(f, i ? first : second, &number) && number + added <= 0)
                return is_within(b, i ? second : first, added, depth - 1);
        return false;
    case TILE_OP_select:
        return (is_within(b, second, added, depth - 1) ||
                (tile_value_is_int(f, second, &number) && number + added <= 0)) &&
               (is_within(b, third, added, depth - 1) ||
                (tile_value_is_int(f, third, &number) && number + added <= 0));
    case TILE_OP_add:
    case TILE_OP_sub:
        if (!tile_value_is_int(f, second, &number)) return false;
        if (tile_op_opcode(f, op) == TILE_OP_sub) number = -number;
        /* A value near the minimum could wrap around if the number is subtracted; an extent
         * cannot. */
        if (number < 0 && tile_value_as_expr(f, first) != b->most) return false;
        return is_within(b, first, added + number, depth - 1);
    default: return false;
    }
}

/* Simplified, a value may lack the minimum that bounds it: then its range tells. */
static bool ends_within(const tile_function *f, tile_value end, const tile_expr *extent,
                        tile_arena *arena) {
    enum { DEPTH = 8 };
    const bound b = {f, extent};
    int64_t most;
    return is_within(&b, end, 0, DEPTH) ||
           (tile_expr_is_int(extent, &most) && tile_range_analyse(f, arena)[end.id].max <= most);
}

static bool has_strides_of(const tile_function *f, tile_op view, unsigned arg, unsigned dim) {
    const tile_values strides = tile_operands_strides(f, view);
    bool same = true;
    /* Row-major strides are products of the extents of later dims. */
    if (!strides.count) return !f->args[arg].type->has_strides && dim == 0;
    for (unsigned d = 0; d < strides.count; d++)
        same &= tile_value_as_expr(f, strides.at[d]) == tile_function_arg_stride(f, arg, d);
    return same;
}

tile_value tile_viewed_argument(const tile_function *f, tile_op op) {
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_view) return TILE_NO_VALUE;
    tile_op base = tile_value_def(f, tile_operand_base(f, op));
    if (!base.id || tile_op_opcode(f, base) != TILE_OP_base) return TILE_NO_VALUE;
    tile_value whole = tile_operand_src(f, base);
    const tile_value_data *data = tile_value_at(f, whole);
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    bool is_argument = data->kind == TILE_VALUE_ARG && data->type->scalar == type->scalar;
    return is_argument ? whole : TILE_NO_VALUE;
}

bool tile_view_is_part(const tile_function *f, tile_value view, tile_arena *arena,
                       tile_part_view *out) {
    unsigned rank = tile_value_type(f, view)->rank;
    tile_op op = tile_value_def(f, view);
    tile_part_view part = {.whole = tile_viewed_argument(f, op), .dim = rank};
    *out = (tile_part_view){.whole = TILE_NO_VALUE};
    if (!part.whole.id || tile_value_type(f, part.whole)->rank != rank) return false;
    const unsigned arg = tile_value_at(f, part.whole)->index;
    const tile_values extents = tile_operands_extents(f, op);
    for (unsigned d = 0; d < extents.count; d++) {
        const tile_expr *extent = tile_function_arg_extent(f, arg, d);
        if (tile_value_as_expr(f, extents.at[d]) == extent) continue;
        if (part.dim < rank || !ends_within(f, extents.at[d], extent, arena)) return false;
        part.dim = d;
        part.end = extents.at[d];
    }
    if (part.dim == rank || !has_strides_of(f, op, arg, part.dim)) return false;
    *out = part;
    return true;
}

/* Other dims ----------------------------------------------------------------------------------- */

enum { MAX_FACTORS = 8, DEPTH = 8 };

/* An extent or a stride as a product. */
typedef struct product {
    int64_t constant; /* 0: it is no such product */
    const tile_expr *factors[MAX_FACTORS];
    unsigned count;
} product;

static void multiply(product *p, const tile_expr *expr) {
    int64_t number;
    if (tile_expr_is_int(expr, &number)) {
        if (__builtin_mul_overflow(p->constant, number, &p->constant)) p->constant = 0;
    } else if (expr && expr->kind == TILE_EXPR_OP && expr->opcode == TILE_OP_mul) {
        multiply(p, expr->args[0]);
        multiply(p, expr->args[1]);
    } else if (expr && p->count < MAX_FACTORS && tile_expr_is_of_arguments(expr)) {
        p->factors[p->count++] = expr;
    } else {
        p->constant = 0;
    }
}

/* Extents and strides are not negative, so a cast to i64 changes nothing. */
static void multiply_value(product *p, const tile_function *f, tile_value value, unsigned depth) {
    tile_op op = tile_value_def(f, value);
    tile_opcode opcode = op.id && depth ? tile_op_opcode(f, op) : TILE_OP_NONE;
    if (opcode == TILE_OP_cast) {
        multiply_value(p, f, tile_operand_src(f, op), depth - 1);
    } else if (opcode == TILE_OP_mul) {
        multiply_value(p, f, tile_operand_lhs(f, op), depth - 1);
        multiply_value(p, f, tile_operand_rhs(f, op), depth - 1);
    } else {
        multiply(p, tile_value_as_expr(f, value));
    }
}

static product product_of(const tile_expr *expr) {
    product p = {.constant = 1};
    multiply(&p, expr);
    return p;
}

static product product_of_value(const tile_function *f, tile_value value) {
    product p = {.constant = 1};
    multiply_value(&p, f, value, DEPTH);
    return p;
}

/* Divides p by a product that it contains. */
static bool divide(product *p, const product *by) {
    product rest = *p;
    if (!by->constant || !p->constant || p->constant % by->constant) return false;
    rest.constant /= by->constant;
    for (unsigned i = 0; i < by->count; i++) {
        unsigned at = 0;
        while (at < rest.count && rest.factors[at] != by->factors[i]) at++;
        if (at == rest.count) return false;
        rest.factors[at] = rest.factors[--rest.count];
    }
    *p = rest;
    return true;
}

static bool contains(const tile_expr *sum, const tile_expr *factor) {
    if (sum == factor || !sum || sum->kind != TILE_EXPR_OP) return sum == factor;
    return (sum->opcode == TILE_OP_add || sum->opcode == TILE_OP_mul) &&
           (contains(sum->args[0], factor) || contains(sum->args[1], factor));
}

/* Returns whether each factor of p is one of an extent of the argument, such as %k of %k * 3, or of
 * a sum, such as %n of %n + %l. Then p is at least 1 if all extents of the argument are; only
 * factors of sums may be 0. A launch cannot encode a map of such a view, and takes the next
 * variant. */
static bool is_positive(const tile_function *f, unsigned arg, product p) {
    for (unsigned d = 0; d < f->args[arg].type->rank; d++) {
        const tile_expr *extent = tile_function_arg_extent(f, arg, d);
        for (unsigned i = p.count; i-- > 0;)
            if (contains(extent, p.factors[i])) p.factors[i] = p.factors[--p.count];
    }
    return p.constant > 0 && !p.count;
}

/* The number times the declared divisors of its factors, up to `most`. */
static int64_t divisor_of(const tile_function *f, const product *p, int64_t most) {
    int64_t divisor = p->constant % most;
    for (unsigned i = 0; i < p->count; i++)
        for (unsigned a = 0; a < f->arg_count; a++)
            if (tile_value_as_expr(f, f->args[a].value) == p->factors[i] && f->args[a].divisible)
                divisor = divisor * f->args[a].divisible % most;
    return divisor ? divisor : most;
}

/* Returns whether the value is at least `least`, 0 or 1, if all extents of the argument are at
 * least 1. */
static bool is_from(const tile_function *f, unsigned arg, tile_value value, int64_t least,
                    unsigned depth) {
    int64_t number;
    tile_op op = tile_value_def(f, value);
    if (tile_value_is_int(f, value, &number)) return number >= least;
    if (!op.id || !depth || tile_op_opcode(f, op) != TILE_OP_add)
        return is_positive(f, arg, product_of_value(f, value));
    tile_value lhs = tile_operand_lhs(f, op), rhs = tile_operand_rhs(f, op);
    return (is_from(f, arg, lhs, least, depth - 1) && is_from(f, arg, rhs, 0, depth - 1)) ||
           (is_from(f, arg, lhs, 0, depth - 1) && is_from(f, arg, rhs, least, depth - 1));
}

/* Returns whether the stride is 1, or positive and a multiple of 16 bytes if a tensor map can
 * describe the argument: then all of its strides are, except one that is 1 and those of dims of
 * extent 1. */
static bool has_map_stride(const tile_function *f, unsigned arg, const product *stride) {
    enum { UNIT = 16 };
    int64_t bytes = tile_scalar_bytes(f->args[arg].type->scalar);
    if (!stride->count && stride->constant == 1) return true;
    if (is_positive(f, arg, *stride) && divisor_of(f, stride, UNIT) * bytes % UNIT == 0)
        return true;
    for (unsigned d = 0; d < f->args[arg].type->rank; d++) {
        const product own = product_of(tile_function_arg_stride(f, arg, d));
        product rest = *stride;
        bool is_unit = tile_expr_is(tile_function_arg_extent(f, arg, d), 1);
        if (!is_unit && !tile_expr_is(tile_function_arg_stride(f, arg, d), 1) &&
            divide(&rest, &own) && is_positive(f, arg, rest))
            return true;
    }
    return false;
}

/* Row-major strides are products of the extents of later dims. One stride is 1, that of a map's
 * innermost dim. Those of dims of extent 1 are not used. */
static bool has_map_strides(const tile_function *f, unsigned arg, tile_op view) {
    const tile_values extents = tile_operands_extents(f, view),
                      strides = tile_operands_strides(f, view);
    product row_major = {.constant = 1};
    unsigned units = 0;
    for (unsigned d = extents.count; d-- > 0;) {
        int64_t number;
        if (tile_value_is_int(f, extents.at[d], &number) && number == 1) continue;
        const product stride = strides.count ? product_of_value(f, strides.at[d]) : row_major;
        units += !stride.count && stride.constant == 1;
        if (units > 1 || !has_map_stride(f, arg, &stride)) return false;
        multiply_value(&row_major, f, extents.at[d], DEPTH);
    }
    return true;
}

tile_value tile_view_mapped_argument(const tile_function *f, tile_value view) {
    if (tile_value_at(f, view)->kind == TILE_VALUE_ARG) return view;
    tile_op op = tile_value_def(f, view);
    if (tile_im2col_maker(f, view).id) {
        return tile_view_mapped_argument(f, tile_operand_src(f, op));
    }
    tile_value whole = tile_viewed_argument(f, op);
    if (!whole.id || tile_value_type(f, whole)->kind != TILE_TYPE_VIEW) return TILE_NO_VALUE;
    const unsigned arg = tile_value_at(f, whole)->index;
    const tile_values extents = tile_operands_extents(f, op);
    for (unsigned d = 0; d < extents.count; d++)
        if (!is_from(f, arg, extents.at[d], 1, DEPTH)) return TILE_NO_VALUE;
    return has_map_strides(f, arg, op) ? whole : TILE_NO_VALUE;
}
