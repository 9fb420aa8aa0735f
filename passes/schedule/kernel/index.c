/* Coordinates computed from others: of windows, and of reshapes of windows, which would be several
 * times larger than their sources if they were stored. */
#include "passes/schedule/kernel/schedule.h"

#include <math.h>
#include <string.h>

static bool same_scalar(const sched_scalar *a, const sched_scalar *b) {
    return a->expr == b->expr && a->value.id == b->value.id;
}

/* Sums ----------------------------------------------------------------------------------------- */

enum { MAX_TERMS = 4 };
static const double largest_sum = 0x1p40; /* prevents overflow */

/* scale * a coordinate that is not a sum */
typedef struct term {
    const sched_coordinate *at; /* its offset is included in the form's offset */
    int64_t scale;
} term;

typedef struct linear_form {
    term terms[MAX_TERMS];
    unsigned count;
    int64_t offset;
} linear_form;

static bool same_index(const sched_index *a, const sched_index *b) {
    if (a->rank != b->rank || (a->rank && !sched_same_map(a->map, b->map, a->rank))) return false;
    return a->kind == b->kind && same_scalar(&a->by, &b->by) &&
           sched_same_coordinate(&a->a, &b->a) && sched_same_coordinate(&a->b, &b->b);
}

static bool same_term(const sched_coordinate *a, const sched_coordinate *b) {
    if (a->dim != b->dim || !a->index != !b->index) return false;
    return a->index == b->index || same_index(a->index, b->index);
}

static bool add_number(linear_form *to, int64_t scale, int64_t number) {
    double product = (double)scale * (double)number;
    if (fabs(product) >= largest_sum) return false;
    to->offset += scale * number;
    return to->offset < (int64_t)largest_sum && to->offset > -(int64_t)largest_sum;
}

static bool add_term(linear_form *to, int64_t scale, const sched_coordinate *at) {
    for (unsigned i = 0; i < to->count; i++)
        if (same_term(to->terms[i].at, at)) {
            to->terms[i].scale += scale;
            return true;
        }
    if (to->count == MAX_TERMS) return false;
    to->terms[to->count++] = (term){at, scale};
    return true;
}

/* Adds scale * at. False if it is not a sum with known numbers. */
static bool add_coordinate(linear_form *to, int64_t scale, const sched_coordinate *at) {
    int64_t number = 0;
    if (fabs((double)scale) >= largest_sum) return false;
    if (at->offset && !tile_expr_is_int(at->offset, &number)) return false;
    if (!add_number(to, scale, number)) return false;
    if (!at->index) return at->dim < 0 || add_term(to, scale, at);
    const tile_expr *by = at->index->by.expr;
    bool known = by && tile_expr_is_int(by, &number) && number < (1 << 20) && number > -(1 << 20);
    if (at->index->kind == SCHED_NUMBER && known) return add_number(to, scale, number);
    if (at->index->kind == SCHED_SUM && known)
        return add_coordinate(to, scale * number, &at->index->a) &&
               add_coordinate(to, scale, &at->index->b);
    return add_term(to, scale, at);
}

static bool is_number(const sched_scalar *scalar, int64_t *number) {
    return scalar->expr && tile_expr_is_int(scalar->expr, number);
}

/* Returns whether the terms are scale * n * (x / n) and scale * (x % n), which is scale * x. */
static bool are_parts(const term *div, const term *rem) {
    const sched_index *high = div->at->index, *low = rem->at->index;
    int64_t by = 0, size = 0;
    return high && low && high->kind == SCHED_DIV && low->kind == SCHED_REM &&
           is_number(&high->by, &by) && is_number(&low->by, &size) && by == size &&
           div->scale == by * rem->scale && sched_same_coordinate(&high->a, &low->a);
}

/* Adds the coordinate with joined quotients and remainders. False if it is not a sum with known
 * numbers. */
static bool find_form(linear_form *to, const sched_coordinate *at) {
    if (!add_coordinate(to, 1, at)) return false;
    for (unsigned i = 0; i < to->count; i++)
        for (unsigned j = 0; j < to->count; j++) {
            if (i == j || !are_parts(&to->terms[i], &to->terms[j])) continue;
            linear_form joined = {.offset = to->offset};
            const sched_coordinate *whole = &to->terms[j].at->index->a;
            for (unsigned rest = 0; rest < to->count; rest++)
                if (rest != i && rest != j) joined.terms[joined.count++] = to->terms[rest];
            if (!add_coordinate(&joined, to->terms[j].scale, whole)) return true;
            *to = joined;
            return true;
        }
    return true;
}

/* Windows of windows can reach one element in several ways. */
static bool same_sums(const sched_coordinate *a, const sched_coordinate *b) {
    linear_form x = {.count = 0}, y = {.count = 0};
    if (!find_form(&x, a) || !find_form(&y, b)) return false;
    if (x.offset != y.offset || x.count != y.count) return false;
    for (unsigned i = 0; i < x.count; i++) {
        unsigned k = 0;
        while (k < y.count && !same_term(x.terms[i].at, y.terms[k].at)) k++;
        if (k == y.count || x.terms[i].scale != y.terms[k].scale) return false;
    }
    return true;
}

bool sched_same_coordinate(const sched_coordinate *a, const sched_coordinate *b) {
    if (a->dim == b->dim && a->offset == b->offset && a->index == b->index) return true;
    if (!a->index || !b->index) return false;
    if (a->offset == b->offset && same_index(a->index, b->index)) return true;
    return (a->index->kind == SCHED_SUM || b->index->kind == SCHED_SUM) && same_sums(a, b);
}

bool sched_find_linear(const sched_coordinate *at, sched_linear *out) {
    linear_form form = {.count = 0};
    if (!find_form(&form, at) || form.count > 1) return false;
    bool one = form.count;
    if (one && form.terms[0].at->index) return false;
    *out = (sched_linear){one ? form.terms[0].at->dim : -1, one ? form.terms[0].scale : 0,
                          form.offset};
    return true;
}

static sched_coordinate make(schedule *s, sched_index_kind kind, sched_coordinate a,
                             sched_coordinate b, sched_scalar by) {
    sched_index *index = TILE_NEW_ARRAY(s->arena, sched_index, 1);
    *index = (sched_index){.kind = kind, .a = a, .b = b, .by = by};
    return (sched_coordinate){-1, NULL, index};
}

sched_coordinate sched_shifted(schedule *s, const sched_coordinate *at, tile_opcode opcode,
                               const tile_expr *by) {
    const tile_expr *zero = tile_expr_int(s->context, 0);
    sched_coordinate out = *at;
    const tile_expr *sum =
        tile_expr_op(s->context, opcode, at->offset ? at->offset : zero, by, NULL);
    out.offset = tile_extents_equal(s->context, sum, zero) ? NULL : sum;
    return out;
}

/* Splits and merges ---------------------------------------------------------------------------- */

/* of / low % size: a part of a coordinate that splits take apart. */
typedef struct digits {
    sched_coordinate of;
    const tile_expr *low;  /* NULL: 1 */
    const tile_expr *size; /* NULL: no remainder */
} digits;

static bool is_kind(const sched_coordinate *at, sched_index_kind kind) {
    return at->index && !at->offset && at->index->kind == kind && at->index->by.expr;
}

static const tile_expr *product_of(schedule *s, const tile_expr *a, const tile_expr *b) {
    if (!a || !b) return a ? a : b;
    return tile_expr_multiply(s->context, a, b);
}

static digits digits_of(schedule *s, const sched_coordinate *at) {
    digits out = {.of = *at};
    if (is_kind(&out.of, SCHED_REM)) {
        out.size = out.of.index->by.expr;
        out.of = out.of.index->a;
    }
    while (is_kind(&out.of, SCHED_DIV)) {
        out.low = product_of(s, out.low, out.of.index->by.expr);
        out.of = out.of.index->a;
    }
    return out;
}

static sched_coordinate make_part(schedule *s, sched_index_kind kind, sched_coordinate a,
                                  const tile_expr *by) {
    if (!by || (kind == SCHED_DIV && tile_expr_is(by, 1))) return a;
    if (tile_expr_is(by, 1)) return sched_zero_coordinate();
    return make(s, kind, a, sched_zero_coordinate(), (sched_scalar){by, TILE_NO_VALUE});
}

static sched_coordinate coordinate_of(schedule *s, const digits *d) {
    return make_part(s, SCHED_REM, make_part(s, SCHED_DIV, d->of, d->low), d->size);
}

bool sched_find_digits(schedule *s, const sched_coordinate *at, sched_digit *found, unsigned most,
                       unsigned *count, int64_t *offset) {
    linear_form form = {.count = 0};
    if (!add_coordinate(&form, 1, at) || form.count > most) return false;
    *offset = form.offset;
    *count = 0;
    for (unsigned i = 0; i < form.count; i++) {
        sched_coordinate own = *form.terms[i].at;
        own.offset = NULL;
        const digits d = digits_of(s, &own);
        sched_digit out = {.dim = d.of.dim, .low = 1, .scale = form.terms[i].scale};
        if (!out.scale) continue;
        if (d.of.index || d.of.offset || d.of.dim < 0 ||
            (d.low && (out.low = sched_constant(d.low)) < 1) ||
            (d.size && (out.size = sched_constant(d.size)) < 1))
            return false;
        found[(*count)++] = out;
    }
    return true;
}

bool sched_same_extent(schedule *s, const tile_expr *a, const tile_expr *b) {
    const tile_expr *rest = a == b || !a || !b ? NULL : sched_without(s, a, b);
    return a == b || (rest && tile_expr_is(rest, 1));
}

/* The quotient or the remainder of a pair. Returns false if neither number divides the other. */
static bool split_pair(schedule *s, sched_index_kind kind, const sched_index *pair,
                       const tile_expr *by, sched_coordinate *out) {
    const tile_expr *above = sched_without(s, by, pair->by.expr);
    const tile_expr *below = above ? NULL : sched_without(s, pair->by.expr, by);
    if (!above && !below) return false;
    if (above && tile_expr_is(above, 1)) {
        *out = kind == SCHED_DIV ? pair->a : pair->b;
    } else if (above) {
        sched_coordinate a = sched_computed(s, kind, &pair->a, NULL, above);
        *out = kind == SCHED_DIV ? a : sched_computed(s, SCHED_PAIR, &a, &pair->b, pair->by.expr);
    } else {
        sched_coordinate b = sched_computed(s, kind, &pair->b, NULL, by);
        *out = kind == SCHED_REM ? b : sched_computed(s, SCHED_PAIR, &pair->a, &b, below);
    }
    return true;
}

/* Quotients of quotients are not combined, because their operands are also those of remainders. */
static sched_coordinate split(schedule *s, sched_index_kind kind, const sched_coordinate *at,
                              const tile_expr *by) {
    sched_coordinate out;
    if (is_kind(at, SCHED_PAIR) && split_pair(s, kind, at->index, by, &out)) return out;
    const tile_expr *rest =
        is_kind(at, SCHED_REM) ? sched_without(s, at->index->by.expr, by) : NULL;
    if (!rest) return make_part(s, kind, *at, by);
    if (kind == SCHED_REM) return make_part(s, SCHED_REM, at->index->a, by);
    return make_part(s, SCHED_REM, make_part(s, SCHED_DIV, at->index->a, by), rest);
}

/* Returns whether two parts of one coordinate, one of which follows the other, are one part. */
static bool join_digits(schedule *s, const sched_coordinate *at, const sched_coordinate *low,
                        const tile_expr *by, sched_coordinate *out) {
    digits a = digits_of(s, at), b = digits_of(s, low);
    if (!sched_same_extent(s, b.size, by) ||
        !sched_same_extent(s, a.low, product_of(s, b.low, by)) ||
        !sched_same_coordinate(&a.of, &b.of))
        return false;
    b.size = a.size ? product_of(s, a.size, by) : NULL;
    *out = coordinate_of(s, &b);
    return true;
}

static sched_coordinate pair(schedule *s, const sched_coordinate *at, const sched_coordinate *low,
                             const tile_expr *by) {
    sched_coordinate joined;
    if (at->dim < 0 && !at->index && !at->offset) return *low;
    if (join_digits(s, at, low, by, &joined)) return joined;
    if (is_kind(low, SCHED_PAIR)) { /* (a, (b, c)) is ((a, b), c) */
        const tile_expr *size = sched_without(s, by, low->index->by.expr);
        if (size) {
            sched_coordinate above = sched_computed(s, SCHED_PAIR, at, &low->index->a, size);
            return sched_computed(s, SCHED_PAIR, &above, &low->index->b, low->index->by.expr);
        }
    }
    if (is_kind(at, SCHED_PAIR) && join_digits(s, &at->index->b, low, by, &joined))
        return sched_computed(s, SCHED_PAIR, &at->index->a, &joined,
                              product_of(s, at->index->by.expr, by));
    return make(s, SCHED_PAIR, *at, *low, (sched_scalar){by, TILE_NO_VALUE});
}

sched_coordinate sched_number_coordinate(schedule *s, int64_t number) {
    return (sched_coordinate){-1, number ? tile_expr_int(s->context, number) : NULL, NULL};
}

static bool find_number(const sched_coordinate *at, int64_t *number) {
    *number = 0;
    return at->dim < 0 && !at->index && (!at->offset || tile_expr_is_int(at->offset, number));
}

sched_coordinate sched_computed(schedule *s, sched_index_kind kind, const sched_coordinate *a,
                                const sched_coordinate *b, const tile_expr *by) {
    int64_t number, divisor;
    const bool divides = kind == SCHED_DIV || kind == SCHED_REM;
    if (divides && find_number(a, &number) && tile_expr_is_int(by, &divisor) && divisor > 0 &&
        number >= 0)
        return sched_number_coordinate(s, kind == SCHED_DIV ? number / divisor : number % divisor);
    if (divides) return split(s, kind, a, by);
    if (kind == SCHED_PAIR) return pair(s, a, b, by);
    return make(s, kind, *a, *b, (sched_scalar){by, TILE_NO_VALUE});
}

sched_coordinate sched_sum(schedule *s, const sched_coordinate *a, sched_scalar by,
                           const sched_coordinate *b) {
    return make(s, SCHED_SUM, *a, *b, by);
}

sched_coordinate sched_minus(schedule *s, const sched_coordinate *a, sched_scalar by) {
    const sched_scalar minus = {tile_expr_int(s->context, -1), TILE_NO_VALUE};
    if (by.expr) return sched_shifted(s, a, TILE_OP_sub, by.expr);
    return make(s, SCHED_SUM,
                make(s, SCHED_NUMBER, sched_zero_coordinate(), sched_zero_coordinate(), by), *a,
                minus);
}

sched_coordinate sched_exact(schedule *s, const sched_coordinate *a, int64_t by) {
    const sched_scalar number = {tile_expr_int(s->context, by), TILE_NO_VALUE};
    return by == 1 ? *a : make(s, SCHED_EXACT, *a, sched_zero_coordinate(), number);
}

sched_coordinate sched_simplified(schedule *s, const sched_coordinate *at) {
    linear_form form = {.count = 0};
    if (!at->index || !find_form(&form, at)) return *at;
    sched_coordinate sum = sched_zero_coordinate();
    for (unsigned i = form.count; i-- > 0;) {
        const sched_scalar by = {tile_expr_int(s->context, form.terms[i].scale), TILE_NO_VALUE};
        sched_coordinate own = *form.terms[i].at;
        bool plain = form.terms[i].scale == 1, last = i + 1 == form.count;
        own.offset = NULL;
        if (!form.terms[i].scale) continue;
        sum = plain && last ? own : make(s, SCHED_SUM, own, sum, by);
    }
    sum.offset = sched_number_coordinate(s, form.offset).offset;
    return sum;
}

sched_coordinate sched_indexed(schedule *s, tile_value index, const sched_map *map, unsigned rank) {
    const sched_coordinate zero = sched_zero_coordinate();
    const sched_scalar by = {NULL, index};
    sched_coordinate out = make(s, SCHED_TAKEN, zero, zero, by);
    sched_index *taken = (sched_index *)(uintptr_t)out.index;
    sched_map *own = TILE_NEW_ARRAY(s->arena, sched_map, 1);
    *own = *map;
    taken->map = own;
    taken->rank = rank;
    return out;
}

sched_coordinate sched_substituted(schedule *s, const sched_coordinate *at,
                                   const sched_coordinate *dims) {
    sched_coordinate out = sched_zero_coordinate();
    if (at->index) {
        const sched_index *index = at->index;
        const sched_coordinate a = sched_substituted(s, &index->a, dims);
        const sched_coordinate b = sched_substituted(s, &index->b, dims);
        const bool splits = index->kind == SCHED_DIV || index->kind == SCHED_REM;
        if (index->kind == SCHED_TAKEN) {
            sched_map own = *index->map;
            for (unsigned d = 0; d < index->rank; d++)
                own.at[d] = sched_substituted(s, &index->map->at[d], dims);
            out = sched_indexed(s, index->by.value, &own, index->rank);
        } else if ((splits || index->kind == SCHED_PAIR) && index->by.expr) {
            out = sched_computed(s, index->kind, &a, splits ? NULL : &b, index->by.expr);
        } else {
            out = make(s, index->kind, a, b, index->by);
        }
    } else if (at->dim >= 0) {
        out = dims[at->dim];
    }
    return at->offset ? sched_shifted(s, &out, TILE_OP_add, at->offset) : out;
}

sched_map sched_substitute(schedule *s, const sched_map *map, unsigned rank, const sched_map *to) {
    sched_map out = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < rank; d++) out.at[d] = sched_substituted(s, &map->at[d], to->at);
    return out;
}

bool sched_depends(const sched_coordinate *at, unsigned dim) {
    if (!at->index) return at->dim == (int)dim;
    for (unsigned d = 0; d < at->index->rank; d++)
        if (sched_depends(&at->index->map->at[d], dim)) return true;
    return sched_depends(&at->index->a, dim) || sched_depends(&at->index->b, dim);
}
