/* Computes whose scores nobody writes: maxima, exponentials, sums and products along one axis of a
 * product, as attention and log-sum-exps are, with references, masks and numbers at the edges.
 * Exponentials are rounded, and quotients: results are compared up to a tolerance. Scores are
 * exact, or rounded once and so the same everywhere, since large ones make differences of last bits
 * large. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

enum { DEPTH = 16, WIDTH = 16 };

/* What a row subtracts of its scores, beside their maximum. */
typedef enum reference { MAXIMUM, LOW, FLOOR, SINK } reference;

typedef struct online {
    gen *g;
    tile_scalar type; /* of weights that are rounded */
    reference reference;
    bool fast, rounds, masked;
    char scores[24], top[24], weights[24], sum[24], sink[24], values[24];
} online;

static void keep(char to[24], const char *name) {
    snprintf(to, 24, "%s", name);
}

static const char *scalar_argument(gen *g, const char *stem, const char *number) {
    const char *name = gen_name(g, stem);
    const char *text = gen_text("%s%s: f32", g->inputs.size ? ", " : "", name);
    const char *given = gen_text(" --arg=%s=%s", name + 1, number);
    tool_append(text, strlen(text), &g->inputs);
    tool_append(given, strlen(given), &g->values_text);
    g->argument_count++;
    return name;
}

static const char *say(gen *g, const char *text) {
    const char *name = gen_name(g, "v");
    gen_say(g, "%s = %s", name, text);
    return name;
}

static const char *key(void) {
    return gen_text("(iota(axis = 1) : tensor<i32[1, %s]>)", gen_extent(GEN_DIM_N));
}

static const char *row(void) {
    return gen_text("(iota(axis = 0) : tensor<i32[%s, 1]>)", gen_extent(GEN_DIM_M));
}

/* Scores ----------------------------------------------------------------------------------------
 */

/* How far they lie from 0: where a reference does, so far below it that weights are subnormal in
 * 16 bits, or in 32; else anywhere, but not where `fast` makes 0 of what level 1 divides. */
static const char *draw_shift(online *o) {
    gen *g = o->g;
    switch (o->reference) {
    case FLOOR:
        if (o->fast) return gen_word(g, "0", "-20", "-60");
        return gen_word(g, "0", "-20", "-60", o->type == TILE_bf16 ? "-93" : "-84");
    case SINK:
        return o->type == TILE_f16 ? gen_word(g, "0", "-1", "-3")
                                   : gen_word(g, "0", "-3", "-20", "-60");
    default:
        return gen_word(g, "0", "1000.3", "-2000.7", "20000.7", "100000.3", "-300000.5", "1000000",
                        "-1000000");
    }
}

/* Infinities and NaN: of one score, a column, or a row. */
static void spoil(online *o) {
    gen *g = o->g;
    const char *number = gen_word(g, "inf", "-inf", "nan");
    const char *where = gen_chance(g, 30) ? gen_text("%s == %d", row(), gen_pick(g, 0, 1, 3, 7))
                        : gen_chance(g, 30)
                            ? gen_text("%s == %d", key(), gen_pick(g, 0, 1, 31, 64))
                            : gen_text("%s == %d & %s == %d", row(), gen_pick(g, 0, 1, 2, 5), key(),
                                       gen_pick(g, 0, 2, 32, 70));
    keep(o->scores, say(g, gen_text("select(%s, %s, %s)", where, number, o->scores)));
}

static void mask(online *o) {
    gen *g = o->g;
    const char *seen;
    switch (gen_below(g, 4)) {
    case 0: seen = gen_text("%s <= %s + %d", key(), row(), gen_pick(g, 0, 0, -3, 40)); break;
    case 1: seen = gen_text("%s < %d", key(), gen_pick(g, 0, 1, 20, 64, 90)); break;
    case 2: seen = gen_text("(%s <= %s & %s + 20 > %s)", key(), row(), key(), row()); break;
    default: seen = gen_text("rem(%s + %s * 3, 4) != 1", key(), row()); break;
    }
    const char *low = gen_word(g, "-inf", "-inf", "-inf", "-1.0e9");
    o->masked = true;
    keep(o->scores, say(g, gen_text("select(%s, %s, %s)", seen, o->scores, low)));
}

static void make_scores(online *o, const value *q, const value *k) {
    gen *g = o->g;
    keep(o->scores, say(g, gen_text("matmul(%s, %s, trans_rhs) : f32", q->name, k->name)));
    if (gen_chance(g, 40))
        keep(o->scores, say(g, gen_text("%s * %s", o->scores, gen_word(g, "0.5", "2.0", "0.25"))));
    if (gen_chance(g, 60))
        keep(o->scores, say(g, gen_text("%s + f32(%s) * 0.125", o->scores, key())));
    const char *shift = draw_shift(o);
    if (strcmp(shift, "0") != 0)
        keep(o->scores, say(g, gen_text("%s + %s", o->scores, scalar_argument(g, "c", shift))));
    else if (gen_chance(g, 50)) /* which a maximum may lack */
        keep(o->scores, say(g, gen_text("%s * max(%s, 1.0e-30)", o->scores,
                                        scalar_argument(g, "w", gen_word(g, "0.5", "2", "4")))));
    if (gen_chance(g, 20)) spoil(o);
    if (gen_chance(g, 50)) mask(o);
}

/* Exponentials ----------------------------------------------------------------------------------
 */

static void make_top(online *o) {
    gen *g = o->g;
    const char *top = say(g, gen_text("reduce_max(%s, axis = 1)", o->scores));
    if (o->reference == LOW)
        top = say(g, gen_text("max(%s, %s)", top, gen_word(g, "-1.0e30", "-3.0e38")));
    if (o->reference == FLOOR) top = say(g, gen_text("max(%s, 0.0)", top));
    if (o->reference == SINK) {
        value sink = gen_filled(g, TILE_f32, (shape){2, {GEN_DIM_M, 1}}, "rand");
        keep(o->sink, sink.name);
        top = say(g, gen_text("max(%s, %s)", top, sink.name));
    }
    keep(o->top, top);
}

static const char *exponential(online *o, const char *difference) {
    gen *g = o->g;
    const char *by = gen_chance(g, 20) ? gen_word(g, " * 0.5", " * 0.7") : "";
    return say(g, gen_text("%s((%s)%s%s)", gen_word(g, "exp", "exp", "exp2"), difference, by,
                           o->fast ? ", fast" : ""));
}

/* Sums: of weights, with the sink's own, or kept from being 0. */
static void make_sum(online *o) {
    gen *g = o->g;
    const char *sum = say(g, gen_text("reduce_add(%s, axis = 1)", o->weights));
    if (o->reference == SINK)
        sum = say(g, gen_text("%s + exp(%s - %s)", sum, o->sink, o->top));
    else if (o->reference == LOW)
        sum = say(g, gen_text("max(%s, 1.0e-30)", sum));
    keep(o->sum, sum);
}

/* Results ---------------------------------------------------------------------------------------
 */

static const char *multiplied(online *o, const char *weights) {
    const char *type = tile_scalar_name(o->type);
    if (o->type == TILE_f32) return say(o->g, gen_text("matmul(%s, %s) : f32", weights, o->values));
    o->rounds = true;
    return say(o->g, gen_text("matmul(%s(%s), %s) : f32", type, weights, o->values));
}

static void add_result(gen *g, const char *name, int columns) {
    value v = {.scalar = TILE_f32, .shape = {2, {GEN_DIM_M, columns}}, .small = ANYTHING};
    keep(v.name, name);
    gen_result(g, &v);
}

static bool is_byte(tile_scalar type) {
    return type == TILE_e4m3 || type == TILE_e5m2;
}

/* A quotient, times another one. */
static void second_quotient(online *o, const char *quotient, const value *k) {
    gen *g = o->g;
    value p = gen_input(g, k->scalar, (shape){2, {GEN_DIM_M, DEPTH}});
    const char *s = say(g, gen_text("matmul(%s, %s, trans_rhs) : f32", p.name, k->name));
    const char *e = say(g, gen_text("exp(%s - reduce_max(%s, axis = 1))", s, s));
    const char *f = say(g, gen_text("%s / reduce_add(%s, axis = 1)", e, e));
    const char *both = say(g, gen_text("%s * %s", quotient, f));
    add_result(g, multiplied(o, both), WIDTH);
}

static void some_result(online *o, const value *k) {
    gen *g = o->g;
    const char *quotient, *name;
    switch (gen_below(g, is_byte(o->type) ? 4 : 8)) {
    case 0: add_result(g, say(g, gen_text("reduce_add(%s, axis = 1)", o->weights)), 1); break;
    case 1:
        name = say(g, gen_text("reduce_max(%s, axis = 1)", o->scores));
        add_result(g, gen_chance(g, 50) ? say(g, gen_text("abs(%s)", name)) : name, 1);
        break;
    case 2: add_result(g, say(g, gen_text("%s + log(%s)", o->top, o->sum)), 1); break;
    case 3:
        quotient = say(g, gen_text("%s / %s", o->weights, o->sum));
        add_result(g, multiplied(o, quotient), WIDTH);
        break;
    case 4:
        add_result(g, say(g, gen_text("%s / %s", multiplied(o, o->weights), o->sum)), WIDTH);
        break;
    case 5:
        name = say(g, gen_text("matmul(%s, f32(%s)) : f32", o->weights, o->values));
        add_result(g, name, WIDTH);
        break;
    case 6:
        quotient = say(g, gen_text("%s / %s", o->weights, o->sum));
        second_quotient(o, quotient, k);
        break;
    default:
        name =
            say(g, gen_text("select(%s > %d, %s, 0.0)", key(), gen_pick(g, 0, 1, 30), o->weights));
        quotient = say(g, gen_text("%s / max(reduce_add(%s, axis = 1), 1.0e-38)", name, name));
        add_result(g, multiplied(o, quotient), WIDTH);
    }
}

static double tolerance_of(const online *o) {
    if (!o->rounds) return 2e-4;
    switch (o->type) {
    case TILE_f16: return 0.01;
    case TILE_bf16: return 0.05;
    case TILE_e4m3: return 0.2;
    default: return 0.4;
    }
}

void gen_online(gen *g) {
    online o = {.g = g};
    static const tile_scalar types[] = {TILE_f16, TILE_bf16, TILE_bf16, TILE_f32,
                                        TILE_f32, TILE_e4m3, TILE_e5m2};
    o.type = types[gen_below(g, sizeof types / sizeof *types)];
    o.reference = (reference)gen_below(g, 4);
    o.fast = gen_chance(g, 50);
    if (is_byte(o.type) && o.reference == SINK) o.reference = LOW; /* all weights may be 0 */
    tile_scalar keys = o.type == TILE_f32 ? TILE_f32 : gen_chance(g, 50) ? TILE_f16 : TILE_bf16;
    g->dims[0] = gen_pick(g, 1, 3, 8, 17, 40);
    g->dims[1] = gen_pick(g, 1, 7, 33, 64, 70, 100, 130);
    value q = gen_input(g, keys, (shape){2, {GEN_DIM_M, DEPTH}});
    value k = gen_input(g, keys, (shape){2, {GEN_DIM_N, DEPTH}});
    value v = gen_filled(g, o.type, (shape){2, {GEN_DIM_N, WIDTH}}, "rand");
    keep(o.values, v.name);
    make_scores(&o, &q, &k);
    make_top(&o);
    keep(o.weights, exponential(&o, gen_text("%s - %s", o.scores, o.top)));
    make_sum(&o);
    for (int i = gen_pick(g, 1, 1, 2, 3); i > 0; i--) some_result(&o, &k);
    g->tolerance = tolerance_of(&o);
}
