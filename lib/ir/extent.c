/* The canonical form of an extent, and comparisons of extents and types by value.
 *
 * Types of tiles, buffers and vectors hold extents in canonical form, so that equal types have one
 * pointer: `s + s` and `s * 2`, or `(1 << s - 1) + (1 << s - 1)` and `1 << s`. Tensors and views
 * keep the spelling, because `schedule` splits and merges dims by the factors of products.
 *
 * The form is a sum of terms f1 * f2 * .. * c << e. c is a number, each f is a parameter or an
 * expression that is no sum, product or shift, and e is a sum of parameters. Terms and factors are
 * sorted. A division by a number is removed only if the number divides each term, so that
 * `ceildiv(n, 4) * 4` is not n. An expression that exceeds the limits below keeps its spelling. */
#include <string.h>

#include "lib/ir/function.h"

enum { MAX_TERMS = 12, MAX_FACTORS = 6 };

typedef struct term {
    int64_t coefficient;    /* odd if there is a shift */
    const tile_expr *shift; /* without its constant; NULL: none */
    int64_t twos;           /* the constant of the shift */
    const tile_expr *factors[MAX_FACTORS];
    unsigned count;
} term;

typedef struct sum {
    term terms[MAX_TERMS];
    unsigned count;
    bool exceeds; /* the limits, or the range of a coefficient */
} sum;

/* Order --------------------------------------------------------------------------------------- */

static int compare_numbers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* Parameters first, by name; the order is the same in every process. */
static int compare_exprs(const tile_expr *a, const tile_expr *b) {
    if (a == b) return 0;
    if (!a || !b) return a ? -1 : 1;
    int by_name = a->name && b->name ? strcmp(a->name, b->name) : 0;
    int order = compare_numbers(a->kind != TILE_EXPR_PARAM, b->kind != TILE_EXPR_PARAM);
    if (!order) order = compare_numbers(a->kind, b->kind);
    if (!order) order = compare_numbers(a->opcode, b->opcode);
    if (!order) order = compare_numbers(a->integer, b->integer);
    if (!order) order = by_name;
    for (unsigned i = 0; i < 3 && !order; i++) order = compare_exprs(a->args[i], b->args[i]);
    return order;
}

/* The longer term first, a constant last. Like terms are equal. */
static int compare_terms(const term *a, const term *b) {
    int order = 0;
    for (unsigned i = 0; i < a->count && i < b->count && !order; i++)
        order = compare_exprs(a->factors[i], b->factors[i]);
    if (!order) order = compare_numbers(b->count, a->count);
    return order ? order : compare_exprs(a->shift, b->shift);
}

/* Sums ---------------------------------------------------------------------------------------- */

/* Moves factors of two of the coefficient to the shift, if there is one. */
static void normalize(term *t) {
    while (t->shift && t->coefficient && t->coefficient % 2 == 0) {
        t->coefficient /= 2;
        t->twos++;
    }
}

static bool scale(term *t, int64_t twos) {
    enum { MOST_TWOS = 40 };
    int64_t by = twos <= MOST_TWOS ? INT64_C(1) << twos : 0;
    return by && !__builtin_mul_overflow(t->coefficient, by, &t->coefficient);
}

/* Adds b to a like term. */
static bool add_like(term *a, term b) {
    int64_t twos = a->twos < b.twos ? a->twos : b.twos;
    if (!scale(a, a->twos - twos) || !scale(&b, b.twos - twos)) return false;
    a->twos = twos;
    if (__builtin_add_overflow(a->coefficient, b.coefficient, &a->coefficient)) return false;
    normalize(a);
    return a->coefficient != INT64_MIN;
}

static void add_term(sum *s, term t) {
    unsigned at = 0;
    if (!t.coefficient) return;
    while (at < s->count && compare_terms(&s->terms[at], &t) < 0) at++;
    if (at < s->count && compare_terms(&s->terms[at], &t) == 0) {
        s->exceeds |= !add_like(&s->terms[at], t);
        if (s->terms[at].coefficient) return;
        s->count--;
        memmove(&s->terms[at], &s->terms[at + 1], (s->count - at) * sizeof *s->terms);
        return;
    }
    s->exceeds |= s->count == MAX_TERMS || t.coefficient == INT64_MIN;
    if (s->exceeds) return;
    memmove(&s->terms[at + 1], &s->terms[at], (s->count - at) * sizeof *s->terms);
    s->terms[at] = t;
    s->count++;
}

static void add_factor(sum *s, term *t, const tile_expr *factor) {
    unsigned at = 0;
    s->exceeds |= t->count == MAX_FACTORS;
    if (s->exceeds) return;
    while (at < t->count && compare_exprs(t->factors[at], factor) < 0) at++;
    memmove(&t->factors[at + 1], &t->factors[at], (t->count - at) * sizeof *t->factors);
    t->factors[at] = factor;
    t->count++;
}

/* Two shifts in one product exceed what the form holds. */
static void add_product(sum *s, const term *a, const term *b) {
    term t = *a;
    s->exceeds |= (a->shift && b->shift) ||
                  __builtin_mul_overflow(a->coefficient, b->coefficient, &t.coefficient);
    if (b->shift) {
        t.shift = b->shift;
        t.twos = b->twos;
    }
    normalize(&t);
    for (unsigned i = 0; i < b->count; i++) add_factor(s, &t, b->factors[i]);
    add_term(s, t);
}

/* s += by * other */
static void add_sum(sum *s, const sum *other, int64_t by) {
    const term factor = {.coefficient = by};
    s->exceeds |= other->exceeds;
    for (unsigned i = 0; i < other->count && !s->exceeds; i++)
        add_product(s, &other->terms[i], &factor);
}

static void multiply(sum *s, const sum *a, const sum *b) {
    s->exceeds |= a->exceeds || b->exceeds;
    for (unsigned i = 0; i < a->count && !s->exceeds; i++)
        for (unsigned k = 0; k < b->count && !s->exceeds; k++)
            add_product(s, &a->terms[i], &b->terms[k]);
}

/* Expressions --------------------------------------------------------------------------------- */

static const tile_expr *expr_of_term(tile_context *context, const term *t) {
    const tile_expr *size =
        tile_expr_int(context, t->coefficient < 0 ? -t->coefficient : t->coefficient);
    const tile_expr *expr = t->count ? t->factors[0] : size;
    for (unsigned i = 1; i < t->count; i++) expr = tile_expr_multiply(context, expr, t->factors[i]);
    if (t->count) expr = tile_expr_multiply(context, expr, size);
    if (!t->shift) return expr;
    const tile_expr *by =
        tile_extent_canonical(context, tile_expr_op(context, TILE_OP_add, t->shift,
                                                    tile_expr_int(context, t->twos), NULL));
    return tile_expr_op(context, TILE_OP_shl, expr, by, NULL);
}

/* What is added first, then what is subtracted. */
static const tile_expr *expr_of_sum(tile_context *context, const sum *s) {
    const tile_expr *expr = NULL;
    for (int negative = 0; negative < 2; negative++)
        for (unsigned i = 0; i < s->count; i++) {
            if ((s->terms[i].coefficient < 0) != negative) continue;
            const tile_expr *next = expr_of_term(context, &s->terms[i]);
            if (!expr && negative) expr = tile_expr_int(context, 0);
            tile_opcode opcode = negative ? TILE_OP_sub : TILE_OP_add;
            expr = expr ? tile_expr_op(context, opcode, expr, next, NULL) : next;
        }
    return expr ? expr : tile_expr_int(context, 0);
}

static void sum_of(tile_context *context, const tile_expr *expr, sum *s);

static const tile_expr *canonical_or_same(tile_context *context, const tile_expr *expr,
                                          const sum *s) {
    return s->exceeds ? expr : expr_of_sum(context, s);
}

/* min and max of one value; otherwise the operands of a commutative operation are sorted. */
static const tile_expr *commuted(const tile_expr *args[3], tile_opcode opcode) {
    bool chooses = opcode == TILE_OP_min || opcode == TILE_OP_max;
    if (chooses && args[0] == args[1]) return args[0];
    if (tile_op_has_trait(opcode, TILE_TRAIT_COMMUTATIVE) && compare_exprs(args[0], args[1]) > 0) {
        const tile_expr *first = args[0];
        args[0] = args[1];
        args[1] = first;
    }
    return NULL;
}

/* An operation that is a factor as a whole: its arguments are canonical. */
static void sum_of_factor(tile_context *context, const tile_expr *expr, const sum *args, sum *s) {
    const tile_expr *canonical[3] = {NULL};
    term t = {.coefficient = 1};
    for (unsigned i = 0; i < 3 && expr->args[i]; i++)
        canonical[i] = canonical_or_same(context, expr->args[i], &args[i]);
    const tile_expr *chosen = expr->kind == TILE_EXPR_OP ? commuted(canonical, expr->opcode) : NULL;
    if (chosen) {
        add_sum(s, &args[0], 1);
        return;
    }
    if (expr->kind == TILE_EXPR_OP)
        expr = tile_expr_op(context, expr->opcode, canonical[0], canonical[1], canonical[2]);
    if (!tile_expr_is_int(expr, &t.coefficient)) add_factor(s, &t, expr);
    add_term(s, t);
}

/* 1 << by as a term. False: `by` is more than a constant and a sum of parameters. */
static bool power_of_two(tile_context *context, const sum *by, term *power) {
    sum rest = *by;
    const term *last = by->count ? &by->terms[by->count - 1] : NULL;
    *power = (term){.coefficient = 1};
    if (by->exceeds) return false;
    if (last && !last->count && !last->shift) {
        power->twos = last->coefficient;
        rest.count--;
    }
    for (unsigned i = 0; i < rest.count; i++)
        if (rest.terms[i].shift || rest.terms[i].count != 1 ||
            rest.terms[i].factors[0]->kind != TILE_EXPR_PARAM)
            return false;
    if (rest.count) {
        power->shift = expr_of_sum(context, &rest);
        return power->twos >= -64 && power->twos <= 64;
    }
    int64_t twos = power->twos;
    power->twos = 0;
    return twos >= 0 && scale(power, twos);
}

/* s = a / by, if the number `by` divides each term: then all roundings are equal. */
static bool divide_exactly(const sum *a, const sum *by, sum *s) {
    const term *number = by->count == 1 ? &by->terms[0] : NULL;
    if (a->exceeds || by->exceeds || !number || number->count || number->shift) return false;
    for (unsigned i = 0; i < a->count; i++)
        if (a->terms[i].coefficient % number->coefficient) return false;
    *s = *a;
    for (unsigned i = 0; i < a->count; i++) s->terms[i].coefficient /= number->coefficient;
    return true;
}

static void sum_of_op(tile_context *context, const tile_expr *expr, sum *s) {
    sum args[3] = {0};
    term power;
    bool divides = expr->opcode == TILE_OP_div || expr->opcode == TILE_OP_ceildiv;
    for (unsigned i = 0; i < 3 && expr->args[i]; i++) sum_of(context, expr->args[i], &args[i]);
    if (expr->opcode == TILE_OP_neg) {
        add_sum(s, &args[0], -1);
    } else if (expr->opcode == TILE_OP_add || expr->opcode == TILE_OP_sub) {
        add_sum(s, &args[0], 1);
        add_sum(s, &args[1], expr->opcode == TILE_OP_add ? 1 : -1);
    } else if (expr->opcode == TILE_OP_mul) {
        multiply(s, &args[0], &args[1]);
    } else if (expr->opcode == TILE_OP_shl && power_of_two(context, &args[1], &power)) {
        args[1] = (sum){.terms = {power}, .count = 1};
        multiply(s, &args[0], &args[1]);
    } else if (!divides || !divide_exactly(&args[0], &args[1], s)) {
        sum_of_factor(context, expr, args, s);
    }
}

static void sum_of(tile_context *context, const tile_expr *expr, sum *s) {
    if (expr->kind == TILE_EXPR_OP)
        sum_of_op(context, expr, s);
    else if (expr->kind == TILE_EXPR_INT)
        add_term(s, (term){.coefficient = expr->integer});
    else
        sum_of_factor(context, expr, NULL, s);
}

const tile_expr *tile_extent_canonical(tile_context *context, const tile_expr *extent) {
    sum s = {0};
    if (!extent || extent->kind != TILE_EXPR_OP) return extent;
    sum_of(context, extent, &s);
    return canonical_or_same(context, extent, &s);
}

/* Values -------------------------------------------------------------------------------------- */

/* Arithmetic that is exact, unlike that of tile_fold_int, or has no result. */
static bool eval_exactly(tile_opcode opcode, const int64_t args[3], int64_t *value) {
    bool shifts = args[1] >= 0 && args[1] < 63;
    switch (opcode) {
    case TILE_OP_add: return !__builtin_add_overflow(args[0], args[1], value);
    case TILE_OP_sub: return !__builtin_sub_overflow(args[0], args[1], value);
    case TILE_OP_mul: return !__builtin_mul_overflow(args[0], args[1], value);
    case TILE_OP_neg: return !__builtin_sub_overflow(0, args[0], value);
    case TILE_OP_shl:
        return shifts && !__builtin_mul_overflow(args[0], INT64_C(1) << args[1], value);
    default: return tile_fold_int(opcode, args[0], args[1], args[2], value);
    }
}

bool tile_extent_eval(const tile_expr *extent, const tile_bindings *bindings, int64_t *value) {
    int64_t args[3] = {0};
    if (!extent || extent->kind != TILE_EXPR_OP) return tile_expr_eval(extent, bindings, value);
    if (extent->opcode == TILE_OP_select)
        return tile_extent_eval(extent->args[0], bindings, &args[0]) &&
               tile_extent_eval(extent->args[args[0] ? 1 : 2], bindings, value);
    for (unsigned i = 0; i < 3 && extent->args[i]; i++)
        if (!tile_extent_eval(extent->args[i], bindings, &args[i])) return false;
    return eval_exactly(extent->opcode, args, value);
}

/* Comparisons --------------------------------------------------------------------------------- */

bool tile_extents_equal(tile_context *context, const tile_expr *a, const tile_expr *b) {
    if (a == b || !a || !b) return a == b;
    return tile_extent_canonical(context, a) == tile_extent_canonical(context, b);
}

bool tile_extents_differ(tile_context *context, const tile_expr *a, const tile_expr *b) {
    int64_t difference;
    if (a == b || !a || !b) return false;
    const tile_expr *rest =
        tile_extent_canonical(context, tile_expr_op(context, TILE_OP_sub, a, b, NULL));
    return tile_expr_is_int(rest, &difference) && difference;
}

bool tile_type_same_dims(tile_context *context, const tile_type *a, const tile_type *b) {
    bool same = a->rank == b->rank;
    for (unsigned d = 0; d < a->rank && same; d++)
        same = tile_extents_equal(context, a->dims[d], b->dims[d]);
    return same;
}

bool tile_type_equal(tile_context *context, const tile_type *a, const tile_type *b) {
    if (a == b || !a || !b || !tile_type_same_dims(context, a, b)) return a == b;
    tile_type draft = *a;
    for (unsigned d = 0; d < a->rank; d++) {
        draft.dims[d] = b->dims[d];
        if (tile_extents_equal(context, a->strides[d], b->strides[d]))
            draft.strides[d] = b->strides[d];
    }
    return tile_type_get(context, &draft) == b;
}
