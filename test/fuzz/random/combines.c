/* Generates reductions and scans by a func, which is associative. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

enum { MAX_FUNCS_TEXT = 6000, MAX_OPERANDS = 3 };

/* A func of n operands, and what it combines. */
typedef struct combining {
    const char *func, *identity;
    value operands[MAX_OPERANDS];
    int64_t small[MAX_OPERANDS]; /* of the results */
    unsigned count;
} combining;

static void add(combining *c, value operand, int64_t small) {
    c->operands[c->count] = operand;
    c->small[c->count++] = small;
}

static value places(gen *g, shape s, unsigned axis) {
    value at = gen_value(g, TILE_i32, s, s.dims[axis]);
    gen_say(g, "%s = iota {axis = %u} : %s", at.name, axis, gen_array(g, TILE_i32, s));
    return at;
}

/* The largest or smallest element, with the place that comes first. */
static bool first_of_all(gen *g, combining *c, const value *a, unsigned axis) {
    const char *better = gen_word(g, "<", ">");
    if (a->small == ANYTHING) return false; /* NaN */
    add(c, *a, a->small);
    add(c, places(g, a->shape, axis), a->shape.dims[axis]);
    c->func = gen_text("(%%a: T, %%i: i32, %%b: T, %%j: i32) -> (%%v: T, %%k: i32)\n{\n"
                       "  %%later = %%b %s %%a\n  %%v = select(%%later, %%b, %%a)\n"
                       "  %%k = select(%%later, %%j, %%i)\n}\n",
                       better);
    return true;
}

/* x -> a x + b: integers wrap, and the order of the elements matters. */
static bool affine(gen *g, combining *c, const value *a) {
    const value *b = gen_like(g, a);
    if (gen_is_float(a->scalar) || g->meaning) return false;
    add(c, *a, ANYTHING);
    add(c, *b, ANYTHING);
    c->identity = "(1, 0)";
    c->func = "(%a: T, %b: T, %c: T, %d: T) -> (%e: T, %f: T)\n{\n"
              "  %e = %a * %c\n  %f = %c * %b + %d\n}\n";
    return true;
}

/* A sum that starts anew after a mark, which is an i1. */
static bool segments(gen *g, combining *c, const value *a, unsigned axis) {
    const value *b = gen_like(g, a);
    int64_t sum = a->small == ANYTHING ? ANYTHING : a->small * a->shape.dims[axis];
    if ((gen_is_float(a->scalar) || g->meaning) && (sum == ANYTHING || sum > gen_limit(a->scalar)))
        return false;
    value mark = gen_value(g, TILE_i1, a->shape, 1);
    gen_say(g, "%s = %s > %s", mark.name, b->name, gen_number(a->scalar, 0));
    add(c, *a, sum);
    add(c, mark, 1);
    c->identity = "(0, false)";
    c->func = "(%a: T, %p: i1, %b: T, %q: i1) -> (%c: T, %r: i1)\n{\n"
              "  %c = select(%q, %b, %a + %b)\n  %r = %p | %q\n}\n";
    return true;
}

static bool last(combining *c, const value *a) {
    add(c, *a, a->small);
    c->func = "(%a: T, %b: T) -> (%c: T)\n{\n  %c = %b\n}\n";
    return true;
}

static bool choose(gen *g, combining *c, const value *a, unsigned axis) {
    switch (gen_below(g, 4)) {
    case 0: return first_of_all(g, c, a, axis);
    case 1: return affine(g, c, a);
    case 2: return segments(g, c, a, axis);
    default: return last(c, a);
    }
}

bool gen_combine(gen *g) {
    const value a = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    combining c = {.count = 0};
    if (g->count >= MAX_VALUES - MAX_OPERANDS || a.scalar == TILE_i1 ||
        !tile_scalar_has_arithmetic(a.scalar) || g->funcs.size > MAX_FUNCS_TEXT ||
        (g->meaning && a.small == ANYTHING) || !choose(g, &c, &a, axis))
        return false;
    const char *name = gen_name(g, "combine") + 1, *given = "", *names = "";
    bool reduces = gen_chance(g, 60), excludes = !reduces && c.identity && gen_chance(g, 50);
    shape s = reduces ? gen_with(a.shape, axis, 1) : a.shape;
    const char *func = gen_text("\nfunc @%s<T: type>%s", name, c.func);
    tool_append(func, strlen(func), &g->funcs);
    value made[MAX_OPERANDS];
    for (unsigned i = 0; i < c.count; i++) {
        made[i] = gen_value(g, c.operands[i].scalar, s, c.small[i]);
        given = gen_text("%s%s%s", given, i ? ", " : "", c.operands[i].name);
        names = gen_text("%s%s%s", names, i ? ", " : "", made[i].name);
    }
    const char *tile = a.shape.rank < 3 ? gen_given(g, a.shape, axis) : "";
    gen_say(g, "%s = %s (%s) {axis = %u, combine = @%s%s%s%s%s}", names,
            reduces ? "reduce" : "scan", given, axis, name, tile, gen_word(g, "", "", ", reverse"),
            excludes ? ", exclusive" : "",
            excludes || (c.identity && gen_chance(g, 30)) ? gen_text(", identity = %s", c.identity)
                                                          : "");
    for (unsigned i = 0; i < c.count; i++)
        if (made[i].scalar != TILE_i1) gen_add(g, &made[i]);
    return true;
}
