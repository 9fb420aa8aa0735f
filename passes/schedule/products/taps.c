/* Taps of a filter that are zero for all elements of a block. The taps of a product are the
 * positions of the filter, in one dim. If a coordinate of the filter is
 *
 *     scale * t + b
 *
 * with a digit t of the tap's number and a number b of the block, as that of the phases of a
 * transposed convolution is, it is inside of the filter for a range of t only. The loop over the
 * taps leaves out the others: it counts the taps inside, and finds the number of each. */
#include "passes/schedule/products/product.h"

#include "lib/ir/syntax.h"

/* The coordinate, which depends on the tap alone, at this tap. */
static bool evaluate(const product *p, const sched_coordinate *at, int64_t tap, int64_t *value) {
    int64_t offset = 0, by;
    if (at->offset && !tile_expr_is_int(at->offset, &offset)) return false;
    if (!at->index) {
        *value = offset + (at->dim == p->taps ? tap : 0);
        return at->dim == p->taps || at->dim < 0;
    }
    bool divides = at->index->kind == SCHED_DIV || at->index->kind == SCHED_REM;
    if (!divides || !at->index->by.expr || !tile_expr_is_int(at->index->by.expr, &by) || by < 1 ||
        !evaluate(p, &at->index->a, tap, value))
        return false;
    *value = offset + (at->index->kind == SCHED_DIV ? *value / by : *value % by);
    return true;
}

/* Returns whether it differs within a tile. */
static bool is_of_tile(const product *p, const sched_coordinate *at) {
    return sched_depends(at, p->m) || sched_depends(at, p->n) || sched_depends(at, p->depth);
}

/* Reads a digit, and what its coordinate adds to its multiple. A single position in each phase has
 * no digit: its coordinate is a number of the block. All values are multiplied if some elements of
 * the tile are inside of the filter at each of them, as where phases are rows of the product. */
static bool read_digit(const product *p, const sched_coordinate *at, product_digit *digit) {
    static const sched_coordinate none = {-1, NULL, NULL};
    int64_t value;
    if (!sched_depends(at, (unsigned)p->taps)) {
        *digit = (product_digit){.at = &none, .rest = at, .scale = 1};
        return true;
    }
    *digit = (product_digit){.at = at, .scale = 1};
    if (evaluate(p, at, 0, &value)) return value == 0;
    const sched_index *sum = at->index;
    if (is_of_tile(p, at)) {
        digit->at = sum && sum->kind == SCHED_SUM ? &sum->a : at;
        return evaluate(p, digit->at, 0, &value) && value == 0;
    }
    if (!sum || sum->kind != SCHED_SUM || !sum->by.expr ||
        !tile_expr_is_int(sum->by.expr, &digit->scale) || digit->scale < 1)
        return false;
    if (sched_depends(&sum->b, (unsigned)p->taps)) return false;
    digit->at = &sum->a;
    digit->rest = &sum->b;
    digit->offset = at->offset;
    return evaluate(p, digit->at, 0, &value) && value == 0;
}

/* Finds how many values the digit has, and the first tap at which it is 1. */
static bool measure_digit(const product *p, product_digit *digit, int64_t taps) {
    digit->count = 1;
    digit->weight = 0;
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t value;
        if (!evaluate(p, digit->at, tap, &value)) return false;
        if (value + 1 > digit->count) digit->count = value + 1;
        if (value == 1 && !digit->weight) digit->weight = tap;
    }
    return true;
}

/* Returns whether the tap's number is the sum of its digits times their weights. */
static bool is_number(const product *p, int64_t taps) {
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t sum = 0, value = 0;
        for (unsigned i = 0; i < p->digit_count; i++)
            if (evaluate(p, p->digits[i].at, tap, &value)) sum += value * p->digits[i].weight;
        if (sum != tap) return false;
    }
    return true;
}

/* Returns whether the coordinate depends on the tap, or on the block's batch alone. */
static bool is_of_taps(const product *p, const sched_coordinate *at) {
    bool batch = false;
    for (unsigned d = 0; d < p->m; d++) batch |= sched_depends(at, d);
    bool computed = at->index && at->index->kind == SCHED_SUM;
    return sched_depends(at, (unsigned)p->taps) || (!is_of_tile(p, at) && batch && computed);
}

/* The greatest value of a coordinate of numbers that are not below 0; -1: not known. */
static int64_t greatest(const product *p, const sched_coordinate *at) {
    int64_t offset = 0, by;
    if (at->offset && !tile_expr_is_int(at->offset, &offset)) return -1;
    if (!at->index)
        return offset + (at->dim < 0 ? 0 : sched_constant(p->k.g->domain.extents[at->dim]) - 1);
    if (!at->index->by.expr || !tile_expr_is_int(at->index->by.expr, &by) || by < 0) return -1;
    if (at->index->kind == SCHED_NUMBER) return offset + by;
    const int64_t a = greatest(p, &at->index->a);
    if (a < 0) return -1;
    switch (at->index->kind) {
    case SCHED_DIV: return by ? offset + a / by : -1;
    case SCHED_REM: return offset + (a < by ? a : by - 1);
    case SCHED_SUM:
    case SCHED_PAIR: {
        const int64_t b = greatest(p, &at->index->b);
        return b < 0 ? -1 : offset + a * by + b;
    }
    default: return -1;
    }
}

/* Returns whether the digit's coordinate reaches the end of the filter. */
static bool reaches_outside(const product *p, const product_digit *digit) {
    int64_t offset = 0;
    if (!digit->rest) return false;
    if (!digit->weight || digit->scale * digit->count > digit->extent) return true;
    if (digit->offset && !tile_expr_is_int(digit->offset, &offset)) return false;
    const int64_t rest = greatest(p, digit->rest);
    return rest >= 0 && digit->scale * (digit->count - 1) + rest + offset >= digit->extent;
}

/* Returns whether the digits are those of the taps, and some taps are outside. */
static bool find_digits(product *p, const product_operand *side) {
    enum { MOST = 1000 };
    schedule *s = p->k.s;
    const int64_t taps = sched_constant(p->k.g->domain.extents[p->taps]);
    const tile_type *type = sched_type(s, side->source);
    bool outside = false;
    p->digit_count = 0;
    if (!side->plain || side->windowed || taps < 1 || taps > MOST) return false;
    for (unsigned d = 0; d < type->rank; d++) {
        product_digit digit;
        int64_t extent = sched_constant(sched_dim(s, type, d));
        if (!is_of_taps(p, &side->source_map.at[d])) continue;
        if (p->digit_count == TILE_MAX_SPATIAL || extent < 1 ||
            !read_digit(p, &side->source_map.at[d], &digit) || !measure_digit(p, &digit, taps))
            return false;
        digit.extent = extent;
        outside |= reaches_outside(p, &digit);
        p->digits[p->digit_count++] = digit;
    }
    return outside && is_number(p, taps);
}

static void sort_by_weight(product *p) {
    for (unsigned i = 1; i < p->digit_count; i++)
        for (unsigned k = i; k && p->digits[k].weight > p->digits[k - 1].weight; k--) {
            product_digit other = p->digits[k];
            p->digits[k] = p->digits[k - 1];
            p->digits[k - 1] = other;
        }
}

void product_find_digits(product *p) {
    bool found = false;
    for (unsigned i = 0; i < 2 && p->taps >= 0 && !found; i++) found = find_digits(p, &p->sides[i]);
    if (found)
        sort_by_weight(p);
    else
        p->digit_count = 0;
}

/* ceil(a / by), at least 0. */
static tile_value quotient(sched_kernel *k, tile_value a, int64_t by) {
    tile_value none = tile_build_int(&k->b, 0);
    tile_value up = tile_build_add(&k->b, a, tile_build_int(&k->b, by - 1));
    return tile_build_div(&k->b, tile_build_max(&k->b, up, none), tile_build_int(&k->b, by));
}

/* 0 <= scale * t + rest < extent. */
static void bound_digit(sched_kernel *k, product_digit *digit) {
    tile_value none = tile_build_int(&k->b, 0), all = tile_build_int(&k->b, digit->count);
    digit->first = none;
    digit->number = all;
    if (!digit->rest) return;
    tile_value rest = sched_begin(k, digit->rest);
    if (digit->offset)
        rest = tile_build_add(&k->b, rest, sched_number(k, sched_expr(k->s, digit->offset)));
    tile_value below = tile_build_sub(&k->b, none, rest);
    tile_value left = tile_build_sub(&k->b, tile_build_int(&k->b, digit->extent), rest);
    digit->first = quotient(k, below, digit->scale);
    tile_value end = tile_build_min(&k->b, quotient(k, left, digit->scale), all);
    digit->number = tile_build_max(&k->b, tile_build_sub(&k->b, end, digit->first), none);
}

tile_value product_count_taps(product *p) {
    sched_kernel *k = &p->k;
    tile_value taps = TILE_NO_VALUE;
    for (unsigned i = 0; i < p->digit_count; i++) {
        bound_digit(k, &p->digits[i]);
        taps = taps.id ? tile_build_mul(&k->b, taps, p->digits[i].number) : p->digits[i].number;
    }
    return taps;
}

tile_value product_find_tap(product *p, tile_value number) {
    sched_kernel *k = &p->k;
    tile_value tap = TILE_NO_VALUE, one = tile_build_int(&k->b, 1);
    for (unsigned i = p->digit_count; i-- > 0;) {
        const product_digit *digit = &p->digits[i];
        tile_value own = number;
        if (i) { /* an empty range has no iterations */
            tile_value count = tile_build_max(&k->b, digit->number, one);
            own = tile_build_rem(&k->b, number, count);
            number = tile_build_div(&k->b, number, count);
        }
        own = tile_build_add(&k->b, own, digit->first);
        own = tile_build_mul(&k->b, own, tile_build_int(&k->b, digit->weight));
        tap = tap.id ? tile_build_add(&k->b, tap, own) : own;
    }
    return tap;
}
