/* Generates funcs, and calls of them with tiles, tensors, vectors and scalars. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

enum { MAX_PARTS = 24, MAX_FUNC_TEXT = 6000 };

/* A value in the body of a func, and a bound of its magnitude in this call. */
typedef struct part {
    char name[8];
    int64_t small;
} part;

typedef struct body {
    gen *g;
    tile_scalar scalar;
    const char *type; /* of all values: a scalar, or the parameter T */
    part parts[MAX_PARTS];
    unsigned count;
} body;

static void say(body *b, const char *text) {
    tool_append(text, strlen(text), &b->g->funcs);
}

static part *add_part(body *b, int64_t small) {
    part *p = &b->parts[b->count];
    snprintf(p->name, sizeof p->name, "%%p%u", b->count++);
    p->small = small > gen_limit(b->scalar) ? ANYTHING : small;
    return p;
}

static const part *any_part(body *b) {
    return &b->parts[gen_below(b->g, b->count)];
}

static int64_t larger(int64_t a, int64_t b) {
    return a == ANYTHING || b == ANYTHING ? ANYTHING : a > b ? a : b;
}

/* Calls of the func @near, which this file has once. */
static void call_near(body *b, const part *x, const part *y) {
    int64_t small = larger(x->small, y->small);
    const char *low = add_part(b, small)->name, *high = add_part(b, small)->name;
    b->g->calls_near = true;
    say(b, gen_text("  %s, %s = near%s(%s, %s)\n", low, high,
                    gen_chance(b->g, 30) ? gen_text("<T = %s>", b->type) : "", x->name, y->name));
}

static void statement(body *b) {
    gen *g = b->g;
    const part x = *any_part(b), y = *any_part(b);
    const char *number = gen_chance(g, 30) ? gen_word(g, "2", "1", "3") : NULL;
    int64_t other = number ? *number - '0' : y.small, sum = ANYTHING, product = ANYTHING;
    const char *with = number ? number : y.name;
    if (x.small != ANYTHING && other != ANYTHING) {
        sum = x.small + other;
        if (x.small < 1 << 20 && other < 1 << 20) product = x.small * other;
    }
    unsigned choice = gen_below(g, 8);
    bool exact = !g->meaning || (sum != ANYTHING && sum <= gen_limit(b->scalar));
    if (choice == 1) exact &= !g->meaning || (product >= 0 && product <= gen_limit(b->scalar));
    if (choice < 3 && !exact) choice = 3;
    if (choice == 0)
        say(b, gen_text("  %s = add %s, %s\n", add_part(b, sum)->name, x.name, with));
    else if (choice == 1)
        say(b, gen_text("  %s = mul %s, %s\n", add_part(b, product)->name, x.name, with));
    else if (choice == 2)
        say(b, gen_text("  %s = %s - %s\n", add_part(b, sum)->name, x.name, with));
    else if (choice == 3)
        say(b, gen_text("  %s = %s(%s, %s)\n", add_part(b, larger(x.small, other))->name,
                        gen_word(g, "min", "max"), x.name, with));
    else if (choice == 4)
        say(b, gen_text("  %s = %s %s\n", add_part(b, x.small)->name, gen_word(g, "neg", "abs"),
                        x.name));
    else if (choice < 7)
        say(b, gen_text("  %s = select(%s %s %s, %s, %s)\n",
                        add_part(b, larger(x.small, y.small))->name, x.name,
                        gen_word(g, "<", "==", ">="), with, x.name, y.name));
    else
        call_near(b, &x, &y);
}

/* An argument of the call: of the same type as `a`, of a shape that is broadcast, or a scalar. */
static const char *argument(gen *g, const value *a, int64_t *small) {
    int number = gen_pick(g, 0, 1, 2, -1);
    *small = number < 0 ? -number : number;
    if (gen_chance(g, 20)) return gen_number(a->scalar, number);
    const value *b = gen_like(g, a);
    *small = b->small;
    if (g->meaning || g->threads || !gen_chance(g, 20)) return b->name;
    shape s = a->shape;
    for (unsigned d = 0; d < s.rank; d++)
        if (gen_chance(g, 50)) s.dims[d] = 1;
    value narrow = gen_load(g, a->scalar, s);
    *small = narrow.small;
    return gen_text("%s", narrow.name);
}

bool gen_call(gen *g) {
    const value a = *gen_any(g);
    if (g->count >= MAX_VALUES - 2 || a.scalar == TILE_i1 || g->funcs.size > MAX_FUNC_TEXT ||
        !tile_scalar_has_arithmetic(a.scalar) || (g->meaning && a.small == ANYTHING))
        return false;
    bool generic = gen_chance(g, 60), number = generic && gen_chance(g, 30);
    unsigned arguments = (unsigned)gen_pick(g, 1, 2, 2, 3),
             results = (unsigned)gen_pick(g, 1, 1, 2);
    body b = {.g = g, .scalar = a.scalar, .type = generic ? "T" : tile_scalar_name(a.scalar)};
    const char *given = a.name, *declared = "", *name = gen_name(g, "func") + 1;
    add_part(&b, a.small);
    for (unsigned i = 1; i < arguments; i++) {
        int64_t small;
        given = gen_text("%s, %s", given, argument(g, &a, &small));
        if (g->meaning && small == ANYTHING) return false;
        add_part(&b, small);
    }
    for (unsigned i = 0; i < arguments; i++)
        declared = gen_text("%s%s%s: %s", declared, i ? ", " : "", b.parts[i].name, b.type);
    say(&b, gen_text("\nfunc @%s%s(%s) -> (%%y0: %s%s)\n{\n", name,
                     number    ? "<T: type, n: int = 1>"
                     : generic ? "<T: type>"
                               : "",
                     declared, b.type, results > 1 ? gen_text(", %%y1: %s", b.type) : ""));
    if (number) say(&b, gen_text("  %s = T(n)\n", add_part(&b, 3)->name));
    for (unsigned i = gen_below(g, 6); i > 0; i--) statement(&b);
    const char *names = "";
    value made[2];
    for (unsigned i = 0; i < results; i++) {
        const part *p = &b.parts[b.count - 1 - i % b.count];
        say(&b, gen_text("  %%y%u = %s\n", i, p->name));
        made[i] = gen_value(g, a.scalar, a.shape, p->small);
        names = gen_text("%s%s%s", names, i ? ", " : "", made[i].name);
    }
    say(&b, "}\n");
    gen_say(g, "%s = %s%s(%s)", names, name,
            number && gen_chance(g, 70) ? gen_text("<n = %d>", gen_pick(g, 2, 3)) : "", given);
    for (unsigned i = 0; i < results; i++) gen_add(g, &made[i]);
    return true;
}

void gen_finish_funcs(gen *g) {
    static const char near[] = "\nfunc @near<T: type>(%a: T, %b: T) -> (%low: T, %high: T)\n{\n"
                               "  %low = min(%a, %b)\n  %high = max(%a, %b)\n}\n";
    tool_append(near, g->calls_near ? sizeof near - 1 : 0, &g->funcs);
}
