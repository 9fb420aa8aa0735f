/* Reshapes, as changes of coordinates. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

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

sched_dims sched_long_dims(schedule *s, const tile_type *type) {
    sched_dims out = {.count = 0};
    for (unsigned d = 0; d < type->rank; d++) {
        const tile_expr *extent = sched_dim(s, type, d);
        if (tile_expr_is(extent, 1)) continue;
        out.extents[out.count] = extent;
        out.at[out.count++] = d;
    }
    return out;
}

/* A reshape in progress, from the last dims to the first ones. */
typedef struct reshaping {
    schedule *s;
    sched_dims from, to;
    const sched_map *map;      /* of `to` */
    sched_map *out;            /* of `from` */
    sched_coordinate rest;     /* of the last dim of `to`: what is not yet used of it */
    sched_coordinate low;      /* of the last dim of `from`: what is already known of it */
    const tile_expr *low_size; /* NULL: nothing */
} reshaping;

static void enter_dim(reshaping *r) {
    if (r->to.count) r->rest = r->map->at[r->to.at[r->to.count - 1]];
}

static void add_part(reshaping *r, const sched_coordinate *at, const tile_expr *size) {
    r->low = r->low_size ? sched_computed(r->s, SCHED_PAIR, at, &r->low, r->low_size) : *at;
    r->low_size = r->low_size ? tile_expr_multiply(r->s->context, r->low_size, size) : size;
}

static void end_from(reshaping *r) {
    r->out->at[r->from.at[--r->from.count]] = r->low;
    r->low_size = NULL;
}

static void end_to(reshaping *r) {
    r->to.count--;
    enter_dim(r);
}

/* All remaining dims of both sides have equally many elements, even if that is not provable. */
static bool match_rest(reshaping *r) {
    if (r->from.count == 1) {
        while (r->to.count) {
            add_part(r, &r->rest, r->to.extents[r->to.count - 1]);
            end_to(r);
        }
        end_from(r);
        return true;
    }
    if (r->to.count != 1) return false;
    while (r->from.count) {
        const tile_expr *size = r->from.extents[r->from.count - 1];
        sched_coordinate part = r->rest;
        if (r->from.count > 1) {
            part = sched_computed(r->s, SCHED_REM, &r->rest, NULL, size);
            r->rest = sched_computed(r->s, SCHED_DIV, &r->rest, NULL, size);
        }
        add_part(r, &part, size);
        end_from(r);
    }
    r->to.count = 0;
    return true;
}

/* Matches the last dims, or parts of them. False if neither extent divides the other. */
static bool match_last(reshaping *r) {
    const tile_expr **a = &r->from.extents[r->from.count - 1];
    const tile_expr **b = &r->to.extents[r->to.count - 1];
    const tile_expr *left = sched_without(r->s, *b, *a);
    if (left) {
        bool whole = tile_expr_is(left, 1);
        sched_coordinate part =
            whole ? r->rest : sched_computed(r->s, SCHED_REM, &r->rest, NULL, *a);
        r->rest = whole ? r->rest : sched_computed(r->s, SCHED_DIV, &r->rest, NULL, *a);
        *b = left;
        add_part(r, &part, *a);
        end_from(r);
        if (whole) end_to(r);
        return true;
    }
    left = sched_without(r->s, *a, *b);
    if (!left) return false;
    *a = left;
    add_part(r, &r->rest, *b);
    end_to(r);
    return true;
}

void sched_drop_first(sched_dims *side) {
    side->count--;
    memmove(side->at, side->at + 1, side->count * sizeof *side->at);
    memmove(side->extents, side->extents + 1, side->count * sizeof *side->extents);
}

/* Matches the first dims if they are equal on both sides; the later ones are then reshaped. */
static bool match_first(reshaping *r) {
    if (r->from.extents[0] != r->to.extents[0]) return false;
    r->out->at[r->from.at[0]] = r->map->at[r->to.at[0]];
    sched_drop_first(&r->from);
    sched_drop_first(&r->to);
    return true;
}

bool sched_reshaped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                    sched_map *out) {
    reshaping r = {
        .s = s, .from = sched_long_dims(s, from), .to = sched_long_dims(s, to), .map = map};
    sched_map moved = {{{0, NULL, NULL}}};
    r.out = &moved;
    for (unsigned d = 0; d < from->rank; d++) moved.at[d] = sched_zero_coordinate();
    enter_dim(&r);
    while (r.from.count && r.to.count)
        if (!match_rest(&r) && !match_last(&r) && !match_first(&r)) return false;
    *out = moved;
    return true;
}

bool sched_regrouped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                     sched_map *out) {
    if (sched_reshaped(s, from, to, map, out)) return true;
    sched_dims a = sched_long_dims(s, from), b = sched_long_dims(s, to);
    int64_t elements[] = {1, 1}, extent;
    const sched_dims *const sides[] = {&a, &b};
    for (unsigned i = 0; i < 2; i++)
        for (unsigned d = 0; d < sides[i]->count; d++) {
            if (!tile_expr_is_int(sides[i]->extents[d], &extent) || extent <= 0 ||
                elements[i] > INT32_MAX / extent)
                return false;
            elements[i] *= extent;
        }
    if (elements[0] != elements[1] || !a.count || !b.count) return false;
    sched_coordinate at = map->at[b.at[0]];
    for (unsigned d = 1; d < b.count; d++)
        at = sched_computed(s, SCHED_PAIR, &at, &map->at[b.at[d]], b.extents[d]);
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

/* The number of quotients and remainders in a coordinate. */
static unsigned count_parts(const sched_coordinate *at) {
    if (!at->index || at->index->kind == SCHED_NUMBER) return 0;
    bool part = at->index->kind != SCHED_SUM && at->index->kind != SCHED_PAIR;
    return part + count_parts(&at->index->a) + count_parts(&at->index->b);
}

/* Returns whether the coordinate is built from dims of the domain by splits and merges, so that it
 * is never out of bounds. */
static bool is_within(const sched_coordinate *at) {
    if (at->offset) return false;
    if (!at->index) return true;
    sched_index_kind kind = at->index->kind;
    return (kind == SCHED_PAIR || kind == SCHED_DIV || kind == SCHED_REM) && at->index->by.expr &&
           is_within(&at->index->a) && is_within(&at->index->b);
}

unsigned sched_merge_dims(schedule *s, const tile_type *type, const sched_map *map, unsigned last,
                          sched_coordinate *out) {
    const tile_expr *size = sched_dim(s, type, last);
    sched_coordinate at = map->at[last];
    unsigned best = last, parts = 0, least;
    *out = at;
    if (!at.index || !is_within(&at)) return last;
    for (unsigned d = 0; d <= last; d++) parts += count_parts(&map->at[d]);
    least = parts;
    for (unsigned d = last; d-- > 0 && is_within(&map->at[d]);) {
        parts -= count_parts(&map->at[d]) + count_parts(&at);
        at = sched_computed(s, SCHED_PAIR, &map->at[d], &at, size);
        parts += count_parts(&at);
        size = tile_expr_multiply(s->context, sched_dim(s, type, d), size);
        if (parts >= least) continue;
        least = parts;
        best = d;
        *out = at;
    }
    return best;
}
