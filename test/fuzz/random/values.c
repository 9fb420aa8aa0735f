/* Generates operations that compute tiles from tiles: elementwise, along an axis, and products. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/random/random.h"

/* Elementwise rows of the table --------------------------------------------------------------- */

/* The operand types of a row, from its typing rule and the class of its first operand. */
typedef struct row {
    const char *name, *rule, *operand, *attributes;
    bool inferred;
    bool inexact; /* the last bits of its floats depend on the machine */
} row;

#define TEXT_OF(...) #__VA_ARGS__
#define INEXACT_EXACT false
#define INEXACT_ROUNDED false
#define INEXACT_ROUNDED_OR(n) false
#define INEXACT_WITHIN(n, fast) true
#define ELEMENTWISE_OP(number, name, operands, attributes, typing, rule, traits, cost, error, \
                       meaning) \
    {#name, \
     #rule, \
     TEXT_OF operands, \
     TEXT_OF attributes, \
     sizeof #typing == sizeof "inferred", \
     INEXACT_##error},
#define OP(...)
static const row rows[] = {
#include "tile/ops.def"
};

enum { ROWS = sizeof rows / sizeof *rows };

static bool takes(const row *r, tile_scalar scalar) {
    if (strstr(r->operand, "lhs, integer") || strstr(r->operand, "src, integer"))
        return !gen_is_float(scalar);
    if (strstr(r->operand, "lhs, floating") || strstr(r->operand, "src, floating"))
        return gen_is_float(scalar);
    return true;
}

/* Returns the largest magnitude of the result for integers; ANYTHING: unknown, or not an
 * integer. */
static int64_t bound_of(const row *r, int64_t a, int64_t b) {
    if (a == ANYTHING || b == ANYTHING) return ANYTHING;
    if (strcmp(r->name, "add") == 0 || strcmp(r->name, "sub") == 0) return a + b;
    if (strcmp(r->name, "sign") == 0) return 1;
    if (strcmp(r->name, "mul") == 0 && a < 1 << 20 && b < 1 << 20) return a * b;
    if (strcmp(r->name, "min") == 0 || strcmp(r->name, "max") == 0) return a > b ? a : b;
    if (strcmp(r->name, "neg") == 0 || strcmp(r->name, "abs") == 0 ||
        strcmp(r->name, "floor") == 0 || strcmp(r->name, "round") == 0 ||
        strcmp(r->name, "rem") == 0)
        return a;
    return ANYTHING;
}

/* Returns the second operand: of the same type, of a shape that is broadcast, a scalar, or a
 * literal. Shifts and divisions get operands for which they are defined. */
static const char *second(gen *g, const row *r, const value *a, int64_t *small) {
    bool shift =
        strcmp(r->name, "shl") == 0 || strcmp(r->name, "shr") == 0 || strcmp(r->name, "ushr") == 0;
    bool quotient = strcmp(r->name, "rem") == 0 || strcmp(r->name, "mod") == 0 ||
                    strcmp(r->name, "ceildiv") == 0 ||
                    (strcmp(r->name, "div") == 0 && !gen_is_float(a->scalar));
    int number = shift      ? gen_pick(g, 0, 1, 3, 7)
                 : quotient ? gen_pick(g, 1, 2, 3, 7, 8, 16)
                            : gen_pick(g, 0, 1, 2, -1, 3);
    if (quotient && strcmp(r->name, "ceildiv") != 0 && gen_chance(g, 20)) number = -3;
    *small = abs(number);
    if (shift || quotient || gen_chance(g, 15)) return gen_number(a->scalar, number);
    const value *b = gen_like(g, a);
    *small = b->small;
    if (g->meaning || g->threads || !gen_chance(g, 12)) return b->name;
    *small = ANYTHING;
    if (a->scalar == TILE_i32 && gen_chance(g, 50)) return gen_index(g);
    shape s = a->shape;
    for (unsigned d = 0; d < s.rank; d++)
        if (gen_chance(g, 50)) s.dims[d] = 1;
    value narrow = gen_load(g, a->scalar, s);
    *small = narrow.small;
    return gen_text("%s", narrow.name);
}

/* Between numbers, or a number and a value. */
static bool say_clamp(gen *g, const row *r, const value *a) {
    enum { LEAST = 3, MOST = 5 };
    const value *high = gen_like(g, a);
    bool bounded = gen_chance(g, 50), known = a->small != ANYTHING;
    int64_t bound = bounded ? MOST : high->small > a->small ? high->small : a->small;
    known &= bounded || high->small != ANYTHING;
    value v = gen_value(g, a->scalar, a->shape, !known ? ANYTHING : bound < LEAST ? LEAST : bound);
    if (g->meaning && !known) return false;
    gen_say(g, "%s = %s(%s, %s, %s)", v.name, r->name, a->name,
            gen_number(a->scalar, gen_pick(g, -LEAST, -1, 0)),
            bounded ? gen_number(a->scalar, gen_pick(g, 0, 1, MOST)) : high->name);
    gen_add(g, &v);
    return true;
}

static bool try_row(gen *g, const row *r, const value *a) {
    const char *flags = "", *suffix = "";
    int64_t small = 0, third = 0;
    if (strcmp(r->rule, "unary") == 0 && strstr(r->attributes, "required(kind)"))
        suffix = gen_word(g, "_even", "_zero", "_up", "_down");
    if (strstr(r->attributes, "optional(nan)") && gen_chance(g, 25) && !g->meaning)
        flags = " {nan}";
    if (strstr(r->attributes, "optional(unsigned)") && gen_chance(g, 40)) flags = " {unsigned}";
    if (strcmp(r->rule, "unary") == 0) {
        value v = gen_value(g, a->scalar, a->shape, bound_of(r, a->small, 0));
        if (g->meaning && v.small == ANYTHING) return false;
        gen_say(g, "%s = %s%s %s%s", v.name, r->name, suffix, a->name, flags);
        gen_add(g, &v);
    } else if (strcmp(r->rule, "arith") == 0) {
        const char *b = second(g, r, a, &small);
        value v = gen_value(g, a->scalar, a->shape, bound_of(r, a->small, small));
        if (g->meaning && v.small == ANYTHING) return false;
        bool turned = strcmp(r->name, "sub") == 0 && gen_chance(g, 30);
        gen_say(g, "%s = %s %s, %s%s", v.name, r->name, turned ? b : a->name, turned ? a->name : b,
                flags);
        gen_add(g, &v);
    } else if (strcmp(r->rule, "fma") == 0) {
        const value *b = gen_like(g, a), *c = gen_like(g, a);
        small = a->small == ANYTHING || b->small == ANYTHING ? ANYTHING : a->small * b->small;
        third = small == ANYTHING || c->small == ANYTHING ? ANYTHING : small + c->small;
        value v = gen_value(g, a->scalar, a->shape, third);
        if (g->meaning && v.small == ANYTHING) return false;
        gen_say(g, "%s = %s %s, %s, %s", v.name, r->name, a->name, b->name, c->name);
        gen_add(g, &v);
    } else if (strcmp(r->rule, "clamp") == 0) {
        return say_clamp(g, r, a);
    } else if (strcmp(r->rule, "compare") == 0) {
        const char *b = second(g, r, a, &small), *condition = gen_name(g, "b");
        const value *yes = gen_any(g);
        if (!gen_same_shape(yes->shape, a->shape)) yes = a;
        const value *no = gen_like(g, yes);
        int64_t bound = yes->small == ANYTHING || no->small == ANYTHING ? ANYTHING
                        : yes->small > no->small                        ? yes->small
                                                                        : no->small;
        gen_say(g, "%s = %s %s, %s", condition, r->name, a->name, b);
        value v = gen_value(g, yes->scalar, yes->shape, bound);
        gen_say(g, "%s = select %s, %s, %s", v.name, condition, yes->name, no->name);
        gen_add(g, &v);
    } else {
        return false; /* select, cast, splat, bitcast: generated elsewhere */
    }
    return true;
}

/* New rows of ops.def are used automatically. */
bool gen_elementwise(gen *g) {
    const value a = *gen_any(g);
    if (g->count >= MAX_VALUES || a.scalar == TILE_i1) return false;
    for (unsigned tries = 0; tries < 20; tries++) {
        const row *r = &rows[gen_below(g, ROWS)];
        bool usual = gen_chance(g, 35);
        if (usual) r = &rows[gen_below(g, 3)]; /* add, sub, mul */
        if (!takes(r, a.scalar) || (r->inexact && (!g->inexact || g->meaning))) continue;
        if (strcmp(r->name, "rsqrt") == 0 && a.scalar == TILE_f64) continue; /* no target has it */
        if (!r->inferred || !tile_scalar_has_arithmetic(a.scalar)) continue;
        if (try_row(g, r, &a)) return true;
    }
    return false;
}

/* Casts --------------------------------------------------------------------------------------- */

value gen_cast_to(gen *g, const value *v, tile_scalar scalar) {
    value result = gen_value(g, scalar, v->shape, v->small);
    gen_say(g, "%s = cast %s : %s", result.name, v->name, tile_scalar_name(scalar));
    return result;
}

value gen_zeros(gen *g, tile_scalar scalar, shape s) {
    value v = gen_value(g, scalar, s, 0);
    gen_say(g, "%s = splat %s : %s", v.name, gen_number(scalar, 0), gen_dims(s));
    return v;
}

/* Casts there and back, also through a storage-only type. */
bool gen_cast(gen *g) {
    const value a = *gen_any(g);
    static const tile_scalar storage[] = {TILE_e4m3, TILE_e5m2, TILE_tf32};
    bool narrow =
        gen_is_float(a.scalar) && a.small != ANYTHING && a.small <= 8 && gen_chance(g, 40);
    tile_scalar to = narrow ? storage[gen_below(g, 3)] : gen_scalar(g);
    if (to == a.scalar || (g->meaning && (a.small == ANYTHING || a.small > gen_limit(to))))
        return false;
    const char *how = "";
    if (!narrow && gen_is_float(a.scalar) && !gen_is_float(to) && !g->meaning)
        how = gen_word(g, "", "", " {round = even}", " {round = up}", " {round = down}");
    else if (!narrow && !gen_is_float(a.scalar) && !g->meaning)
        how = gen_is_float(to) ? gen_word(g, "", "", " {unsigned}")
                               : gen_word(g, "", "", " {saturate}", " {unsigned}");
    int64_t small = a.small == ANYTHING || a.small > gen_limit(to) || strstr(how, "unsigned")
                        ? ANYTHING
                        : a.small;
    value v = gen_value(g, to, a.shape, small);
    gen_say(g, "%s = cast %s%s : %s", v.name, a.name, how, tile_scalar_name(to));
    if (!narrow) {
        gen_add(g, &v);
        return true;
    }
    value back = gen_cast_to(g, &v, gen_chance(g, 50) ? a.scalar : TILE_f32);
    back.small = a.small;
    gen_add(g, &back);
    return true;
}

/* Bitcasts integer values of floats to integers, or integers to floats, permutes them and casts
 * back. Arithmetic is avoided, because it does not preserve the bits of a NaN. */
bool gen_bitcast(gen *g) {
    const value a = *gen_any(g);
    static const tile_scalar pairs[][2] = {
        {TILE_f16, TILE_i16}, {TILE_bf16, TILE_i16}, {TILE_f32, TILE_i32}, {TILE_f64, TILE_i64}};
    if (g->meaning) return false;
    for (unsigned i = 0; i < 4; i++) {
        tile_scalar f = pairs[i][0], n = pairs[i][1];
        if (a.scalar == n && gen_chance(g, 60)) {
            value v = gen_value(g, f, a.shape, ANYTHING), back = gen_value(g, n, a.shape, a.small);
            gen_say(g, "%s = bitcast %s : %s", v.name, a.name, tile_scalar_name(f));
            gen_say(g, "%s = bitcast %s : %s", back.name, v.name, tile_scalar_name(n));
            gen_add(g, &back);
            return true;
        }
        if (a.scalar != f || a.small == ANYTHING) continue;
        value sum = gen_value(g, f, a.shape, ANYTHING), v = gen_value(g, n, a.shape, ANYTHING);
        gen_say(g, "%s = add %s, %s", sum.name, a.name, gen_number(f, 0)); /* no -0.0 */
        gen_say(g, "%s = bitcast %s : %s", v.name, sum.name, tile_scalar_name(n));
        gen_add(g, &v);
        return true;
    }
    return false;
}

/* Shapes -------------------------------------------------------------------------------------- */

static void add_moved(gen *g, const value *a, shape s, const char *text) {
    value v = gen_value(g, a->scalar, s, a->small);
    gen_say(g, "%s = %s", v.name, text);
    gen_add(g, &v);
}

static bool make_transpose(gen *g, const value *a) {
    shape s = a->shape;
    unsigned order[MAX_RANK];
    if (s.rank < 2) return false;
    for (unsigned d = 0; d < s.rank; d++) order[d] = d;
    for (unsigned d = s.rank - 1; d > 0; d--) {
        unsigned k = gen_below(g, d + 1), swap = order[d];
        order[d] = order[k];
        order[k] = swap;
    }
    char list[64] = "";
    for (unsigned d = 0; d < s.rank; d++) {
        s.dims[d] = a->shape.dims[order[d]];
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%u", d ? ", " : "", order[d]);
    }
    add_moved(g, a, s, gen_text("transpose %s {order = [%s]}", a->name, list));
    return true;
}

/* Merges two dims, or splits one in halves. */
static bool make_reshape(gen *g, const value *a) {
    shape s = a->shape;
    unsigned d = gen_below(g, s.rank);
    if (s.rank > 1 && gen_chance(g, 50)) {
        d = gen_below(g, s.rank - 1);
        if (gen_is_dim(s.dims[d]) || gen_is_dim(s.dims[d + 1])) return false;
        s.dims[d] *= s.dims[d + 1];
        memmove(&s.dims[d + 1], &s.dims[d + 2], (s.rank - d - 2) * sizeof *s.dims);
        s.rank--;
    } else if (s.rank < 4 && s.dims[d] % 2 == 0) {
        memmove(&s.dims[d + 1], &s.dims[d], (s.rank - d) * sizeof *s.dims);
        int first = s.dims[d] % 4 == 0 && gen_chance(g, 50) ? 4 : 2;
        s.dims[d + 1] = s.dims[d] / first;
        s.dims[d] = first;
        s.rank++;
    } else {
        return false;
    }
    for (d = 0; d < s.rank && !g->compute; d++) /* odd numbers up to 31 times a power of two */
        if ((s.dims[d] & -s.dims[d]) * 31 < s.dims[d]) return false;
    add_moved(g, a, s, gen_text("reshape %s : %s", a->name, gen_spelled_dims(g, s)));
    return true;
}

static bool make_halves(gen *g, const value *a) {
    const value *b = gen_like(g, a);
    shape s = a->shape;
    int64_t small = a->small == ANYTHING || b->small == ANYTHING ? ANYTHING
                    : a->small > b->small                        ? a->small
                                                                 : b->small;
    if (s.rank > 3) return false;
    if (s.rank > 1 && s.dims[s.rank - 1] == 2) {
        s.rank--;
        value even = gen_value(g, a->scalar, s, a->small),
              odd = gen_value(g, a->scalar, s, a->small);
        gen_say(g, "%s, %s = unjoin %s", even.name, odd.name, a->name);
        gen_add(g, &even);
        gen_add(g, &odd);
        return true;
    }
    s.dims[s.rank++] = 2;
    value v = gen_value(g, a->scalar, s, small);
    gen_say(g, "%s = join %s, %s", v.name, a->name, b->name);
    gen_add(g, &v);
    return true;
}

static bool make_part(gen *g, const value *a) {
    shape s = a->shape;
    char first[96] = "";
    for (unsigned d = 0; d < s.rank; d++) {
        int parts = s.dims[d] % 2 == 0 && gen_chance(g, 60) ? 2 : 1;
        s.dims[d] /= parts;
        snprintf(first + strlen(first), sizeof first - strlen(first), "%s%d", d ? ", " : "",
                 (int)gen_below(g, (uint32_t)parts) * s.dims[d]);
    }
    add_moved(g, a, s, gen_text("slice %s, [%s] : %s", a->name, first, gen_spelled_dims(g, s)));
    return true;
}

static bool make_concat(gen *g, const value *a) {
    const value *b = gen_like(g, a);
    unsigned axis = gen_below(g, a->shape.rank);
    int64_t small = a->small == ANYTHING || b->small == ANYTHING ? ANYTHING
                    : a->small > b->small                        ? a->small
                                                                 : b->small;
    if (gen_elements(a->shape) > 2048 || gen_is_dim(a->shape.dims[axis])) return false;
    value v = gen_value(g, a->scalar, gen_with(a->shape, axis, 2 * a->shape.dims[axis]), small);
    gen_say(g, "%s = concat %s, %s {axis = %u}", v.name, a->name, b->name, axis);
    gen_add(g, &v);
    return true;
}

static bool make_broadcast(gen *g, const value *a) {
    shape s = a->shape;
    for (unsigned d = 0; d < s.rank; d++)
        if (s.dims[d] == 1 && gen_chance(g, 70)) s.dims[d] = gen_pick(g, 2, 4, 8, 16);
    if (s.rank < 3 && gen_chance(g, 40)) {
        memmove(&s.dims[1], &s.dims[0], s.rank * sizeof *s.dims);
        s.dims[0] = gen_pick(g, 1, 2, 4);
        s.rank++;
    }
    if (gen_elements(s) > 4096) return false;
    add_moved(g, a, s, gen_text("broadcast %s : %s", a->name, gen_spelled_dims(g, s)));
    return true;
}

bool gen_shapes(gen *g) {
    const value a = *gen_any(g);
    switch (gen_below(g, 6)) {
    case 0: return make_transpose(g, &a);
    case 1: return make_reshape(g, &a);
    case 2: return make_halves(g, &a);
    case 3: return make_part(g, &a);
    case 4: return make_concat(g, &a);
    default: return make_broadcast(g, &a);
    }
}

bool gen_iota(gen *g) {
    const value a = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    int start = gen_pick(g, 0, 0, 1, -2), step = gen_pick(g, 0, 1, 1, 2, -1);
    int64_t largest = abs(start) + (int64_t)abs(step) * a.shape.dims[axis];
    if (tile_scalar_is_unsigned(a.scalar) && (start < 0 || step < 0)) return false;
    if (a.scalar == TILE_i1 || !tile_scalar_has_arithmetic(a.scalar) ||
        largest > gen_limit(a.scalar))
        return false;
    value v = gen_value(g, a.scalar, a.shape, largest);
    gen_say(g, "%s = iota {axis = %u, start = %d, step = %d} : %s", v.name, axis, start, step,
            gen_array(g, v.scalar, v.shape));
    gen_add(g, &v);
    return true;
}

/* Along an axis ------------------------------------------------------------------------------- */

/* Operations whose result does not depend on the order. */
static const char *kind_of(gen *g, const value *a, unsigned axis) {
    bool whole = !gen_is_float(a->scalar);
    bool summed = a->small != ANYTHING && a->small * a->shape.dims[axis] <= gen_limit(a->scalar);
    if (g->meaning) return summed ? gen_word(g, "add", "min", "max") : gen_word(g, "min", "max");
    if (whole) return gen_word(g, "add", "add", "mul", "min", "max", "and", "or", "xor");
    return summed ? gen_word(g, "add", "add", "min", "max") : gen_word(g, "min", "max");
}

/* A scan without the element itself, written by shifting the result of another one: schedule makes
 * it one scan. */
static void shift_scan(gen *g, const value *scan, unsigned axis, bool reverse) {
    shape part = scan->shape, one = gen_with(scan->shape, axis, 1);
    const char *first = "";
    if (part.dims[axis] < 2 || gen_is_dim(part.dims[axis])) return;
    part.dims[axis]--;
    for (unsigned d = 0; d < part.rank; d++)
        first = gen_text("%s%s%d", first, d ? ", " : "", reverse && d == axis);
    value cut = gen_value(g, scan->scalar, part, scan->small);
    value zero = gen_value(g, scan->scalar, one, 0);
    value v = gen_value(g, scan->scalar, scan->shape, scan->small);
    gen_say(g, "%s = slice %s, [%s] : %s", cut.name, scan->name, first, gen_spelled_dims(g, part));
    gen_say(g, "%s = splat %s : %s", zero.name, gen_number(scan->scalar, 0),
            gen_spelled_dims(g, one));
    gen_say(g, "%s = concat %s, %s {axis = %u}", v.name, reverse ? cut.name : zero.name,
            reverse ? zero.name : cut.name, axis);
    gen_add(g, &v);
}

bool gen_axis(gen *g) {
    const value a = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    const char *kind = kind_of(g, &a, axis);
    shape reduced = gen_with(a.shape, axis, 1);
    bool sum = strcmp(kind, "min") != 0 && strcmp(kind, "max") != 0;
    int64_t small = !sum                                              ? a.small
                    : strcmp(kind, "add") == 0 && a.small != ANYTHING ? a.small * a.shape.dims[axis]
                                                                      : ANYTHING;
    if (a.scalar == TILE_i1) return false;
    unsigned choice = gen_below(g, 10);
    if (choice < 5) {
        value v = gen_value(g, a.scalar, reduced, small);
        gen_say(g, "%s = reduce_%s %s {axis = %u%s}", v.name, kind, a.name, axis,
                gen_given(g, a.shape, axis));
        gen_add(g, &v);
        if (!gen_chance(g, 60)) return true;
        value wide = gen_value(g, a.scalar, a.shape, v.small);
        gen_say(g, "%s = broadcast %s : %s", wide.name, v.name, gen_spelled_dims(g, a.shape));
        gen_add(g, &wide);
    } else if (choice == 7 && gen_is_dim(a.shape.dims[axis])) {
        return false; /* needs a tile of known size */
    } else if (choice < 7) {
        if (!sum) kind = "add";
        if (gen_is_float(a.scalar) &&
            (a.small == ANYTHING || a.small * gen_elements(a.shape) > gen_limit(a.scalar)))
            return false;
        value v = gen_value(g, a.scalar, a.shape,
                            a.small == ANYTHING || strcmp(kind, "add") != 0
                                ? ANYTHING
                                : a.small * a.shape.dims[axis]);
        if (g->meaning && v.small == ANYTHING) return false;
        /* Rows whose length the launch determines are processed in chunks of this many elements. */
        bool chunks = gen_is_dim(a.shape.dims[axis]) && a.shape.rank < 3;
        const char *reverse = gen_word(g, "", "", ", reverse");
        gen_say(g, "%s = scan_%s %s {axis = %u%s%s%s}", v.name, kind, a.name, axis, reverse,
                gen_word(g, "", "", ", exclusive"), chunks ? gen_given(g, a.shape, axis) : "");
        gen_add(g, &v);
        if (g->compute && !g->meaning && g->count < MAX_VALUES - 3 && gen_chance(g, 30))
            shift_scan(g, &v, axis, *reverse);
    } else if (choice < 8 && a.small != ANYTHING) {
        value v = gen_value(g, a.scalar, a.shape, a.small);
        gen_say(g, "%s = sort %s {axis = %u%s%s}", v.name, a.name, axis,
                gen_word(g, "", ", descending"), gen_given(g, a.shape, axis));
        gen_add(g, &v);
    } else {
        value v = gen_value(g, a.scalar, reduced, a.small);
        value at = gen_value(g, TILE_i32, reduced, a.shape.dims[axis]);
        gen_say(g, "%s, %s = reduce_arg_%s %s {axis = %u%s}", v.name, at.name,
                gen_word(g, "max", "min"), a.name, axis, gen_given(g, a.shape, axis));
        gen_add(g, &v);
        gen_add(g, &at);
    }
    return true;
}

/* Counts a tile's elements; values that are no bins are ignored. */
bool gen_histogram(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || gen_is_float(a.scalar) || a.scalar == TILE_i1) return false;
    shape bins = {1, {gen_pick(g, 1, 2, 7, 12, 32, 256)}};
    value v = gen_value(g, TILE_i32, bins, gen_elements(a.shape));
    gen_say(g, "%s = histogram %s : %s", v.name, a.name, gen_dims(bins));
    gen_add(g, &v);
    return true;
}

/* Coordinates are clamped to be in bounds. */
bool gen_gather(gen *g) {
    const value a = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    if (g->meaning && !g->compute) return false;
    if (gen_is_dim(a.shape.dims[axis]) || g->argument_count > MAX_GEN_ARGUMENTS - 12) return false;
    shape s =
        gen_with(a.shape, axis, gen_chance(g, 60) ? a.shape.dims[axis] : gen_pick(g, 1, 2, 4, 8));
    value from = gen_load(g, TILE_i32, s);
    value at = gen_value(g, TILE_i32, s, a.shape.dims[axis]);
    gen_say(g, "%s = mod %s, %s", at.name, from.name, gen_number(TILE_i32, a.shape.dims[axis]));
    value v = gen_value(g, a.scalar, s, a.small);
    gen_say(g, "%s = gather %s, %s {axis = %u}", v.name, a.name, at.name, axis);
    gen_add(g, &v);
    return true;
}

/* Products ------------------------------------------------------------------------------------ */

typedef struct product {
    tile_scalar lhs, rhs, sum;
} product;

static const product products[] = {
    {TILE_f16, TILE_f16, TILE_f32},   {TILE_f16, TILE_f16, TILE_f32},
    {TILE_f16, TILE_f16, TILE_f32},   {TILE_bf16, TILE_bf16, TILE_f32},
    {TILE_bf16, TILE_bf16, TILE_f32}, {TILE_f16, TILE_f16, TILE_f16},
    {TILE_tf32, TILE_tf32, TILE_f32}, {TILE_f64, TILE_f64, TILE_f64},
    {TILE_i8, TILE_i8, TILE_i32},     {TILE_e4m3, TILE_e4m3, TILE_f32},
    {TILE_e5m2, TILE_e4m3, TILE_f32}, {TILE_f16, TILE_e5m2, TILE_f32},
    {TILE_bf16, TILE_f16, TILE_f32},  {TILE_f32, TILE_f32, TILE_f32},
    {TILE_i16, TILE_i8, TILE_i32},    {TILE_i64, TILE_i64, TILE_i64},
    {TILE_u8, TILE_i8, TILE_i32},     {TILE_i8, TILE_u8, TILE_i32},
    {TILE_u8, TILE_u8, TILE_i32},     {TILE_u16, TILE_u8, TILE_u32},
};

/* ", precision = .." for some products of f32. */
static const char *draw_precision(gen *g, const product *p) {
    if (p->lhs != TILE_f32 || p->rhs != TILE_f32 || p->sum != TILE_f32) return "";
    return gen_word(g, "", ", precision = ieee", ", precision = tf32", ", precision = bf16x3",
                    ", precision = bf16x6");
}

/* A product that level 1 has as well, as `matmul`. */
static bool meant_dot(gen *g) {
    static const product meant[] = {{TILE_f16, TILE_f16, TILE_f32},
                                    {TILE_bf16, TILE_bf16, TILE_f32},
                                    {TILE_i8, TILE_i8, TILE_i32},
                                    {TILE_f32, TILE_f32, TILE_f32}};
    const product *p = &meant[gen_below(g, 4)];
    int m = gen_pick(g, 16, 32, 8), n = gen_pick(g, 8, 16, 32), k = gen_pick(g, 16, 32, 24);
    bool turned = gen_chance(g, 40);
    shape lhs = {2, {m, k}}, rhs = {2, {k, n}};
    if (turned) gen_turn(&rhs);
    value a = gen_load(g, p->lhs, lhs), b = gen_load(g, p->rhs, rhs);
    value v = gen_value(g, p->sum, (shape){2, {m, n}}, k);
    const char *flags = gen_text("%s%s", turned ? ", trans_rhs" : "", draw_precision(g, p));
    gen_say(g, "%s = dot %s, %s%s : %s", v.name, a.name, b.name,
            *flags ? gen_text(" {%s}", flags + 2) : "", gen_type("tile", v.scalar, v.shape));
    gen_add(g, &v);
    return true;
}

bool gen_dot(gen *g) {
    const product *p = &products[gen_below(g, sizeof products / sizeof *products)];
    int m = gen_pick(g, 16, 32, 64, 64, 48, 8, 1), n = gen_pick(g, 8, 16, 32, 64, 24, 48, 1, 4);
    int k = gen_pick(g, 16, 16, 32, 64, 48, 8, 4, 6), batch = gen_pick(g, 2, 2, 3, 4);
    bool rank3 = gen_chance(g, 20), turned[2] = {gen_chance(g, 25), gen_chance(g, 25)};
    if (g->meaning) return meant_dot(g);
    if (rank3 && m * n > 1024) m = 16;
    shape lhs = rank3 ? (shape){3, {batch, m, k}} : (shape){2, {m, k}};
    shape rhs = rank3 ? (shape){3, {batch, k, n}} : (shape){2, {k, n}};
    shape sum = rank3 ? (shape){3, {batch, m, n}} : (shape){2, {m, n}};
    if (turned[0]) gen_turn(&lhs);
    if (turned[1]) gen_turn(&rhs);
    value a = gen_load(g, p->lhs, lhs), b = gen_load(g, p->rhs, rhs);
    bool is_large = tile_scalar_is_unsigned(p->lhs) || tile_scalar_is_unsigned(p->rhs);
    value v = gen_value(g, p->sum, sum, is_large ? ANYTHING : k + 1);
    const char *names[2] = {a.name, b.name};
    for (unsigned i = 0; i < 2; i++) {
        const value *o = i ? &b : &a;
        if (!gen_chance(g, 25)) continue;
        const char *buffer = gen_name(g, "s");
        gen_say(g, "%s = alloc_shared : %s", buffer, gen_type("shared", o->scalar, o->shape));
        gen_say(g, "store_shared %s, %s", o->name, buffer);
        names[i] = buffer;
    }
    char flags[128] = "";
    if (turned[0]) strcat(flags, ", trans_lhs");
    if (turned[1]) strcat(flags, ", trans_rhs");
    if (gen_chance(g, 20))
        strcat(flags, gen_text(", policy = %s", gen_word(g, "rows", "columns", "square")));
    strcat(flags, draw_precision(g, p));
    if (gen_chance(g, 10)) strcat(flags, ", via = mma");
    if (p->lhs == TILE_i8 && gen_chance(g, 40)) {
        strcat(flags, gen_word(g, ", unsigned_lhs", ", unsigned_rhs"));
        v.small = ANYTHING;
    }
    const char *behind = *flags ? gen_text(" {%s}", flags + 2) : "";
    if (p->lhs == p->rhs && gen_chance(g, 15) && gen_is_float(p->sum) == gen_is_float(p->lhs) &&
        p->sum == TILE_f32) {
        gen_say(g, "%s = dot %s, %s%s", v.name, names[0], names[1], behind);
    } else {
        const value like = {.scalar = p->sum, .shape = sum, .small = 0};
        const value *other = gen_like(g, &like);
        value acc = other == &like || other->small == ANYTHING || other->small > 64
                        ? gen_zeros(g, p->sum, sum)
                        : *other;
        v.small = v.small == ANYTHING ? ANYTHING : v.small + acc.small;
        gen_say(g, "%s = dot %s, %s, %s%s", v.name, names[0], names[1], acc.name, behind);
    }
    if (v.small > gen_limit(v.scalar)) v.small = ANYTHING;
    gen_add(g, &v);
    return true;
}
