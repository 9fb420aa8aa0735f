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

/* Windows of windows can reach one element in several ways. */
static bool same_sums(const sched_coordinate *a, const sched_coordinate *b) {
    linear_form x = {.count = 0}, y = {.count = 0};
    if (!add_coordinate(&x, 1, a) || !add_coordinate(&y, 1, b)) return false;
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
    if (!add_coordinate(&form, 1, at) || form.count > 1) return false;
    bool one = form.count;
    if (one && form.terms[0].at->index) return false;
    *out = (sched_linear){one ? form.terms[0].at->dim : -1, one ? form.terms[0].scale : 0,
                          form.offset};
    return true;
}

static sched_coordinate make(schedule *s, sched_index_kind kind, sched_coordinate a,
                             sched_coordinate b, sched_scalar by) {
    sched_index *index = TILE_NEW_ARRAY(s->arena, sched_index, 1);
    *index = (sched_index){kind, a, b, by};
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

/* Returns whether it is a quotient or remainder by this number. */
static bool is_part(const sched_coordinate *at, sched_index_kind kind, const tile_expr *by) {
    return at->index && !at->offset && at->index->kind == kind && at->index->by.expr == by;
}

sched_coordinate sched_number_coordinate(schedule *s, int64_t number) {
    return (sched_coordinate){-1, number ? tile_expr_int(s->context, number) : NULL, NULL};
}

static bool find_number(const sched_coordinate *at, int64_t *number) {
    *number = 0;
    return at->dim < 0 && !at->index && (!at->offset || tile_expr_is_int(at->offset, number));
}

/* A quotient or remainder of a pair by a part, or by a multiple, of the pair's number. */
static bool divide_pair(schedule *s, sched_index_kind kind, const sched_coordinate *pair,
                        const tile_expr *by, sched_coordinate *out) {
    const sched_index *index = pair->index;
    if (!index || pair->offset || index->kind != SCHED_PAIR || !index->by.expr) return false;
    const tile_expr *more = sched_without(s, index->by.expr, by);
    const tile_expr *fewer = more ? NULL : sched_without(s, by, index->by.expr);
    if (!more && !fewer) return false;
    *out = sched_computed(s, kind, more ? &index->b : &index->a, NULL, more ? by : fewer);
    if (more && kind == SCHED_DIV) *out = sched_computed(s, SCHED_PAIR, &index->a, out, more);
    if (fewer && kind == SCHED_REM)
        *out = sched_computed(s, SCHED_PAIR, out, &index->b, index->by.expr);
    return true;
}

sched_coordinate sched_computed(schedule *s, sched_index_kind kind, const sched_coordinate *a,
                                const sched_coordinate *b, const tile_expr *by) {
    bool divides = kind == SCHED_DIV || kind == SCHED_REM;
    int64_t number, divisor;
    if (divides && find_number(a, &number) && tile_expr_is_int(by, &divisor) && divisor > 0 &&
        number >= 0)
        return sched_number_coordinate(s, kind == SCHED_DIV ? number / divisor : number % divisor);
    bool of_pair = divides && is_part(a, SCHED_PAIR, by);
    sched_coordinate part;
    if (of_pair) return kind == SCHED_DIV ? a->index->a : a->index->b;
    if (divides && divide_pair(s, kind, a, by, &part)) return part;
    if (kind == SCHED_PAIR && is_part(a, SCHED_DIV, by) && is_part(b, SCHED_REM, by) &&
        sched_same_coordinate(&a->index->a, &b->index->a))
        return a->index->a;
    return make(s, kind, *a, divides ? sched_zero_coordinate() : *b,
                (sched_scalar){by, TILE_NO_VALUE});
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
    if (!at->index || !add_coordinate(&form, 1, at)) return *at;
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

sched_coordinate sched_substituted(schedule *s, const sched_coordinate *at,
                                   const sched_coordinate *dims) {
    sched_coordinate out = *at;
    if (at->dim >= 0) {
        out = dims[at->dim];
        return at->offset ? sched_shifted(s, &out, TILE_OP_add, at->offset) : out;
    }
    if (!at->index) return out;
    sched_index *index = TILE_NEW_ARRAY(s->arena, sched_index, 1);
    *index = *at->index;
    index->a = sched_substituted(s, &at->index->a, dims);
    index->b = sched_substituted(s, &at->index->b, dims);
    out.index = index;
    return out;
}

bool sched_depends(const sched_coordinate *at, unsigned dim) {
    if (!at->index) return at->dim == (int)dim;
    return sched_depends(&at->index->a, dim) || sched_depends(&at->index->b, dim);
}

/* Products of extents -------------------------------------------------------------------------- */

enum { MAX_FACTORS = 16 };

/* A number times unknown extents. */
typedef struct factors {
    int64_t number;
    const tile_expr *others[MAX_FACTORS];
    unsigned count;
    bool too_many;
} factors;

static void multiply(factors *f, const tile_expr *expr) {
    int64_t value;
    if (tile_expr_is_int(expr, &value)) {
        f->too_many |= value < 0 || (value && f->number > INT64_MAX / value);
        if (!f->too_many) f->number *= value;
    } else if (expr->kind == TILE_EXPR_OP && expr->opcode == TILE_OP_mul) {
        multiply(f, expr->args[0]);
        multiply(f, expr->args[1]);
    } else if (f->count < MAX_FACTORS) {
        f->others[f->count++] = expr;
    } else {
        f->too_many = true;
    }
}

/* Removes the factors of `part` from `whole`. False if it lacks one. */
static bool divide(factors *whole, const factors *part) {
    if (whole->too_many || part->too_many || !part->number || whole->number % part->number)
        return false;
    whole->number /= part->number;
    for (unsigned i = 0; i < part->count; i++) {
        unsigned at = 0;
        while (at < whole->count && whole->others[at] != part->others[i]) at++;
        if (at == whole->count) return false;
        whole->others[at] = whole->others[--whole->count];
    }
    return true;
}

const tile_expr *sched_without(schedule *s, const tile_expr *whole, const tile_expr *part) {
    factors rest = {.number = 1}, of_part = {.number = 1};
    multiply(&rest, whole);
    multiply(&of_part, part);
    if (!divide(&rest, &of_part)) return NULL;
    const tile_expr *product = tile_expr_int(s->context, rest.number);
    for (unsigned i = 0; i < rest.count; i++)
        product = tile_expr_multiply(s->context, product, rest.others[i]);
    return product;
}

/* Reshapes ------------------------------------------------------------------------------------- */

/* The dims that are not 1, in order; the last ones are still unmatched. */
typedef struct dims {
    unsigned at[TILE_MAX_RANK], count;
    const tile_expr *extents[TILE_MAX_RANK];
} dims;

static dims long_dims(schedule *s, const tile_type *type) {
    dims out = {.count = 0};
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *extent = sched_dim(s, type, d);
        if (tile_expr_is(extent, 1)) continue;
        out.extents[out.count] = extent;
        out.at[out.count++] = d;
    }
    return out;
}

/* The number of last dims whose extents multiply to the one extent; 0 if that is not provable. All
 * remaining dims of both sides always have equally many elements. */
static unsigned count_together(const dims *many, const dims *one) {
    factors whole = {.number = 1};
    multiply(&whole, one->extents[one->count - 1]);
    for (unsigned n = 1; n <= many->count; n++) {
        factors part = {.number = 1};
        multiply(&part, many->extents[many->count - n]);
        if (!divide(&whole, &part)) break;
        if (whole.number == 1 && !whole.count) return n;
    }
    return one->count == 1 ? many->count : 0;
}

/* Splits one coordinate into those of the last n dims. */
static void take_apart(schedule *s, const dims *to, unsigned n, sched_coordinate at,
                       sched_map *out) {
    for (unsigned i = 0; i < n; i++) {
        unsigned d = to->count - 1 - i;
        bool first = i + 1 == n;
        out->at[to->at[d]] = first ? at : sched_computed(s, SCHED_REM, &at, NULL, to->extents[d]);
        if (!first) at = sched_computed(s, SCHED_DIV, &at, NULL, to->extents[d]);
    }
}

/* Merges the coordinates of the last n dims. */
static sched_coordinate put_together(schedule *s, const dims *from, unsigned n,
                                     const sched_map *map) {
    sched_coordinate at = map->at[from->at[from->count - n]];
    for (unsigned d = from->count - n + 1; d < from->count; d++)
        at = sched_computed(s, SCHED_PAIR, &at, &map->at[from->at[d]], from->extents[d]);
    return at;
}

/* Matches the first dims if they are equal on both sides; the later ones are then reshaped. */
static bool match_first(dims *a, dims *b, const sched_map *map, sched_map *out) {
    if (a->extents[0] != b->extents[0]) return false;
    out->at[a->at[0]] = map->at[b->at[0]];
    dims *sides[] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        sides[i]->count--;
        memmove(sides[i]->at, sides[i]->at + 1, sides[i]->count * sizeof *sides[i]->at);
        memmove(sides[i]->extents, sides[i]->extents + 1,
                sides[i]->count * sizeof *sides[i]->extents);
    }
    return true;
}

bool sched_reshaped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                    sched_map *out) {
    dims a = long_dims(s, from), b = long_dims(s, to);
    for (unsigned d = 0; d < from->rank; d++) out->at[d] = sched_zero_coordinate();
    while (a.count && b.count) {
        unsigned merged = count_together(&a, &b), split = merged ? 1 : count_together(&b, &a);
        if (!split && match_first(&a, &b, map, out)) continue;
        if (!split) return false;
        if (merged)
            take_apart(s, &a, merged, map->at[b.at[b.count - 1]], out);
        else
            out->at[a.at[a.count - 1]] = put_together(s, &b, split, map);
        a.count -= merged ? merged : 1;
        b.count -= split;
    }
    return true;
}

/* Merges the last n dims. False if they are not contiguous. */
static bool merge_strides(schedule *s, const sched_shape *from, const dims *a, unsigned n,
                          const tile_expr **stride) {
    *stride = from->strides[a->at[a->count - 1]];
    for (unsigned d = a->count - n; d + 1 < a->count; d++)
        if (!sched_is_contiguous(s, from->strides[a->at[d]], a->extents[d + 1],
                                 from->strides[a->at[d + 1]]))
            return false;
    return true;
}

bool sched_is_contiguous(schedule *s, const tile_expr *outer, const tile_expr *extent,
                         const tile_expr *inner) {
    const tile_expr *step = tile_expr_multiply(s->context, extent, inner);
    const tile_expr *rest = sched_without(s, outer, step);
    return outer == step || (rest && tile_expr_is(rest, 1));
}

bool sched_reshape_strides(schedule *s, const sched_shape *from, const tile_type *to,
                           const tile_expr *strides[TILE_MAX_RANK]) {
    const sched_map none = {{{0, NULL, NULL}}};
    sched_map unused = none;
    dims a = long_dims(s, from->type), b = long_dims(s, to);
    for (unsigned d = 0; d < to->rank; d++) strides[d] = NULL;
    while (a.count && b.count) {
        const unsigned first = a.at[0], first_to = b.at[0];
        unsigned merged = count_together(&a, &b), split = merged ? 1 : count_together(&b, &a);
        if (!split && !match_first(&a, &b, &none, &unused)) return false;
        if (!split) {
            strides[first_to] = from->strides[first];
            continue;
        }
        const tile_expr *stride;
        if (!merge_strides(s, from, &a, merged ? merged : 1, &stride)) return false;
        for (unsigned i = 1; i <= split; i++) {
            strides[b.at[b.count - i]] = stride;
            stride = tile_expr_multiply(s->context, b.extents[b.count - i], stride);
        }
        a.count -= merged ? merged : 1;
        b.count -= split;
    }
    /* Those of dims of extent 1 do not matter. */
    for (unsigned d = to->rank; d-- > 0;) {
        if (strides[d]) continue;
        strides[d] = tile_expr_int(s->context, 1);
        if (d + 1 < to->rank)
            strides[d] = tile_expr_multiply(s->context, sched_dim(s, to, d + 1), strides[d + 1]);
    }
    return true;
}

bool sched_regrouped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                     sched_map *out) {
    if (sched_reshaped(s, from, to, map, out)) return true;
    dims a = long_dims(s, from), b = long_dims(s, to);
    int64_t elements[] = {1, 1}, extent;
    const dims *const sides[] = {&a, &b};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned d = 0; d < sides[i]->count; d++) {
            if (!tile_expr_is_int(sides[i]->extents[d], &extent) || extent <= 0 ||
                elements[i] > INT32_MAX / extent)
                return false;
            elements[i] *= extent;
        }
    if (elements[0] != elements[1] || !a.count || !b.count) return false;
    sched_coordinate at = put_together(s, &b, b.count, map);
    for (unsigned d = 0; d < from->rank; d++) out->at[d] = sched_zero_coordinate();
    for (unsigned d = a.count; d-- > 1;) {
        out->at[a.at[d]] = sched_computed(s, SCHED_REM, &at, NULL, a.extents[d]);
        at = sched_computed(s, SCHED_DIV, &at, NULL, a.extents[d]);
    }
    out->at[a.at[0]] = at;
    return true;
}

/* Maps between domains ------------------------------------------------------------------------- */

const tile_type *sched_type_of_domain(schedule *s, const sched_domain *domain) {
    tile_type draft = {.kind = TILE_TYPE_TENSOR, .scalar = TILE_f32, .rank = (uint8_t)domain->rank};
    for (unsigned d = 0; d < domain->rank; d++) draft.dims[d] = domain->extents[d];
    return tile_type_get(s->context, &draft);
}

static const tile_expr *count_elements(schedule *s, const tile_type *type) {
    const tile_expr *count = tile_expr_int(s->context, 1);
    for (unsigned d = 0; d < type->rank; d++)
        count = tile_expr_multiply(s->context, sched_dim(s, type, d), count);
    return count;
}

bool sched_map_in(schedule *s, const sched_domain *domain, const tile_type *type, sched_map *map) {
    const tile_type *whole = sched_type_of_domain(s, domain);
    const tile_expr *a = count_elements(s, type), *b = count_elements(s, whole);
    const tile_expr *rest = a == b ? tile_expr_int(s->context, 1) : sched_without(s, a, b);
    sched_map identity = sched_identity(domain);
    *map = (sched_map){{{0, NULL, NULL}}};
    return rest && tile_expr_is(rest, 1) && sched_regrouped(s, type, whole, &identity, map);
}

/* The coordinate with each dim d replaced by to->at[d]. */
static sched_coordinate substitute(schedule *s, const sched_coordinate *at, const sched_map *to) {
    sched_coordinate out = *at;
    if (at->index) {
        const sched_index *index = at->index;
        sched_coordinate a = substitute(s, &index->a, to), b = substitute(s, &index->b, to);
        bool divides = index->kind == SCHED_DIV || index->kind == SCHED_REM;
        if (divides || index->kind == SCHED_PAIR) {
            out = sched_computed(s, index->kind, &a, divides ? NULL : &b, index->by.expr);
        } else {
            sched_index *copy = TILE_NEW_ARRAY(s->arena, sched_index, 1);
            *copy = (sched_index){index->kind, a, b, index->by};
            out.index = copy;
        }
    } else if (at->dim >= 0) {
        out = to->at[at->dim];
    }
    return at->offset ? sched_shifted(s, &out, TILE_OP_add, at->offset) : out;
}

sched_map sched_substitute(schedule *s, const sched_map *map, unsigned rank, const sched_map *to) {
    sched_map out = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < rank; d++) out.at[d] = substitute(s, &map->at[d], to);
    return out;
}

/* Returns whether the coordinate is a pair a * by + b whose remainder is b. */
static bool is_pair_of(const sched_coordinate *at, const sched_coordinate *b) {
    return at->index && !at->offset && at->index->kind == SCHED_PAIR && at->index->by.expr &&
           sched_same_coordinate(&at->index->b, b);
}

unsigned sched_merge_dims(schedule *s, const tile_type *type, const sched_map *map, unsigned last,
                          sched_coordinate *out) {
    const sched_coordinate *at = &map->at[last];
    *out = *at;
    if (!at->index || !is_part(at, SCHED_REM, sched_dim(s, type, last))) return last;
    *out = at->index->a;
    sched_coordinate rest = sched_computed(s, SCHED_DIV, out, NULL, at->index->by.expr);
    for (unsigned d = last; d-- > 0;) {
        const sched_coordinate *here = &map->at[d];
        const tile_expr *extent = sched_dim(s, type, d);
        if (sched_same_coordinate(here, &rest)) return d;
        if (is_pair_of(here, &rest)) {
            const tile_expr *by = here->index->by.expr;
            for (unsigned i = d + 1; i <= last; i++)
                by = tile_expr_multiply(s->context, by, sched_dim(s, type, i));
            *out = sched_computed(s, SCHED_PAIR, &here->index->a, out, by);
            return d;
        }
        if (!is_part(here, SCHED_REM, extent) || !sched_same_coordinate(&here->index->a, &rest))
            break;
        rest = sched_computed(s, SCHED_DIV, &rest, NULL, extent);
    }
    *out = *at;
    return last;
}
