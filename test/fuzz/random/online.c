/* Generates computes whose scores are never stored: maxima, exponentials, sums and products along
 * one axis of a product, as in attention and log-sum-exp, with reference values, masks and extreme
 * numbers. Where masks hide keys from all rows of a batch, K and V contain infinities and NaN.
 * Exponentials and quotients are rounded, so results are compared with a tolerance. Scores are
 * exact, or rounded once and therefore equal everywhere, because exponentials amplify last-bit
 * differences of large scores. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

enum { DEPTH = 16, WIDTH = 16 };

/* What a row subtracts from its scores: their maximum, possibly combined with another value. */
typedef enum reference { MAXIMUM, LOW, FLOOR, SINK } reference;

enum { MAX_BATCHES = 3 };

/* Keys that no row of a batch sees: before `first` and from `end` on. They may differ between
 * batches. */
typedef struct hidden {
    bool any;
    int batches, first[MAX_BATCHES], end[MAX_BATCHES];
    const char *seen;   /* an i1 tensor of the visible keys */
    const char *finite; /* text of the runs of finite elements in K and V */
} hidden;

typedef struct online {
    gen *g;
    tile_scalar type; /* of the rounded weights */
    reference reference;
    bool fast, rounds, masked;
    bool turned[2]; /* K is [depth, keys], V is [width, keys] */
    shape batch;    /* the dims before rows and keys */
    hidden hidden;
    const char *rows_seen; /* an i1 that also depends on the row; NULL: none */
    char scores[24], top[24], weights[24], sum[24], sink[24], values[24];
} online;

static void keep(char to[24], const char *name) {
    snprintf(to, 24, "%s", name);
}

static const char *scalar_argument(gen *g, const char *stem, const char *type, const char *number) {
    const char *name = gen_name(g, stem);
    const char *text = gen_text("%s%s: %s", g->inputs.size ? ", " : "", name, type);
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

static shape with_batch(const online *o, int rows, int columns) {
    shape s = o->batch;
    s.dims[s.rank++] = rows;
    s.dims[s.rank++] = columns;
    return s;
}

static const char *reduced(const online *o, const char *kind, const char *src) {
    return say(o->g, gen_text("reduce_%s(%s, axis = %u)", kind, src, o->batch.rank + 1));
}

/* Hidden keys ---------------------------------------------------------------------------------- */

/* Draws heads, or batches with their own hidden keys; the extent may be a dim that the launch
 * determines. */
static void draw_batch(online *o) {
    gen *g = o->g;
    o->batch.rank = (unsigned)gen_pick(g, 0, 0, 1, 1, 2);
    bool known = gen_chance(g, 50);
    o->hidden.batches = o->batch.rank ? gen_pick(g, 2, 3) : 1;
    if (!known && o->batch.rank) g->dims[2] = o->hidden.batches;
    o->batch.dims[0] = known ? o->hidden.batches : GEN_DIM_K;
    o->batch.dims[1] = 2;
}

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Draws a mask that depends on the row and hides all keys from `end` on; NULL: none. */
static const char *draw_rows_seen(gen *g, int *end) {
    int rows = g->dims[0], behind = gen_pick(g, 0, 0, -3, 20);
    switch (gen_below(g, 6)) {
    case 0:
        *end = least(*end, rows + behind);
        return gen_text("%s <= %s + %d", key(), row(), behind);
    case 1:
        *end = least(*end, rows + behind);
        return gen_text("%s <= %s + %d & %s + %d > %s", key(), row(), behind, key(),
                        gen_pick(g, 20, 50), row());
    case 2: return gen_text("rem(%s + %s * 3, 4) != 1", key(), row());
    default: return NULL;
    }
}

static void draw_ends(online *o) {
    gen *g = o->g;
    hidden *h = &o->hidden;
    int keys = g->dims[1];
    bool same = h->batches == 1 || gen_chance(g, 30), starts = gen_chance(g, 25);
    for (int b = 0; b < h->batches; b++) {
        h->end[b] =
            least(keys, gen_pick(g, keys, keys - 1, keys / 2 + 1, keys * 3 / 4, 20, 64, 1, 0));
        h->first[b] = starts ? least(h->end[b], gen_pick(g, 1, 5, 16, 40)) : 0;
        if (same && b) {
            h->end[b] = h->end[0];
            h->first[b] = h->first[0];
        }
    }
}

/* Returns a list such as "3,17,40": a number for each batch. */
static const char *listed(const online *o, const int *numbers) {
    const char *text = "";
    for (int b = 0; b < o->hidden.batches; b++)
        text = gen_text("%s%s%d", text, b ? "," : "", numbers[b]);
    return text;
}

static bool is_same(const online *o, const int *numbers) {
    bool same = true;
    for (int b = 1; b < o->hidden.batches; b++) same &= numbers[b] == numbers[0];
    return same;
}

/* Returns an i32 for each batch, with the rank of the scores. */
static const char *of_batches(online *o, const int *numbers) {
    gen *g = o->g;
    bool same = is_same(o, numbers);
    if (same && gen_chance(g, 30)) return gen_text("%d", numbers[0]);
    if (same && gen_chance(g, 50))
        return scalar_argument(g, "n", "i32", gen_text("%d", numbers[0]));
    shape s = {1, {o->batch.rank ? o->batch.dims[0] : 1}};
    value v = gen_filled_with(g, TILE_i32, s, "values", gen_text("=%s", listed(o, numbers)));
    shape ones = {o->batch.rank + 2, {s.dims[0], 1, 1, 1}};
    return gen_text("(reshape(%s) : %s)", v.name, gen_type("tensor", TILE_i32, ones));
}

/* Adds an input array that is 1 for visible keys. */
static const char *shown_array(online *o) {
    gen *g = o->g;
    const hidden *h = &o->hidden;
    const char *list = "";
    int keys = g->dims[1];
    for (int b = 0; b < h->batches; b++)
        list = gen_text("%s%s%d*0,%d*1,%d*0", list, b ? "," : "=", h->first[b],
                        h->end[b] - h->first[b], keys - h->end[b]);
    bool batches = o->batch.rank > 0;
    shape s = {batches ? 2u : 1u, {batches ? o->batch.dims[0] : GEN_DIM_N, GEN_DIM_N}};
    value v = gen_filled_with(g, TILE_i32, s, "values", list);
    shape spread = {o->batch.rank + 2, {1, 1, 1, 1}};
    if (batches) spread.dims[0] = s.dims[0];
    spread.dims[spread.rank - 1] = GEN_DIM_N;
    return gen_text("(reshape(%s) : %s) != 0", v.name, gen_type("tensor", TILE_i32, spread));
}

static const char *compare_keys(online *o) {
    gen *g = o->g;
    const hidden *h = &o->hidden;
    const char *end = of_batches(o, h->end), *first = "", *text;
    const int none[MAX_BATCHES] = {0};
    if (memcmp(h->first, none, sizeof none) != 0)
        first = gen_text("%s >= %s & ", key(), of_batches(o, h->first));
    switch (gen_below(g, 4)) {
    case 0: text = gen_text("%s > %s", end, key()); break;
    case 1: text = gen_text("%s <= %s - 1", key(), end); break;
    default: text = gen_text("%s < %s", key(), end);
    }
    return gen_text("(%s%s)", first, text);
}

/* Returns which elements of K and V are finite: those of visible keys. Sometimes fewer: then the
 * rows that see the other keys are NaN, and rows of the batch that do not are unspecified. */
static const char *finite_runs(online *o, int rows_end) {
    gen *g = o->g;
    const hidden *h = &o->hidden;
    const char *text = "";
    int leaked = gen_chance(g, 15) ? gen_pick(g, 1, 2, 20) : 0;
    for (int b = 0; b < h->batches; b++) {
        int end = least(h->end[b], rows_end) - leaked, first = h->first[b];
        if (end < first) end = first;
        text = gen_text("%s%s", text, b ? "/" : "");
        text =
            first ? gen_text("%s0,%d,%d", text, first, end - first) : gen_text("%s%d", text, end);
    }
    return text;
}

static void hide_keys(online *o) {
    gen *g = o->g;
    hidden *h = &o->hidden;
    int rows_end = g->dims[1];
    h->any = true;
    draw_batch(o);
    draw_ends(o);
    o->rows_seen = draw_rows_seen(g, &rows_end);
    if (rows_end < 0) rows_end = 0;
    h->finite = finite_runs(o, rows_end);
    o->turned[0] = gen_chance(g, 15);
    o->turned[1] = gen_chance(g, 15);
}

/* Adds K or V as an input. */
static value keyed_input(online *o, bool turned, tile_scalar type, int width, const char *fill) {
    shape s = with_batch(o, turned ? width : GEN_DIM_N, turned ? GEN_DIM_N : width);
    if (!o->hidden.any) return gen_filled(o->g, type, s, fill);
    const char *runs =
        gen_text(":finite@%u=%s", o->batch.rank + (turned ? 1 : 0), o->hidden.finite);
    return gen_filled_with(o->g, type, s, fill, runs);
}

/* Scores --------------------------------------------------------------------------------------- */

/* Draws the offset of the scores. If the reference includes 0 or a sink, the offset is negative
 * enough for subnormal weights in 16 bits, or in 32. It must not be so low that `fast` flushes to 0
 * what level 1 divides. Otherwise any offset. */
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

/* Sets one score, a column or a row to an infinity or NaN. */
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

static void mask_hidden(online *o) {
    gen *g = o->g;
    const char *seen = o->hidden.seen;
    if (!seen) seen = gen_chance(g, 25) ? shown_array(o) : compare_keys(o);
    if (o->rows_seen) seen = gen_text("%s & %s", seen, o->rows_seen);
    o->hidden.seen = seen;
    o->masked = true;
    keep(o->scores, say(g, gen_text("select(%s, %s, -inf)", seen, o->scores)));
    if (gen_chance(g, 10)) /* all scores, or none */
        keep(o->scores, say(g, gen_text("select(%s > 0, %s, -inf)",
                                        scalar_argument(g, "n", "i32", gen_word(g, "1", "1", "0")),
                                        o->scores)));
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

static const char *product_of(const online *o, const value *q, const value *k) {
    return say(o->g, gen_text("matmul(%s, %s%s) : f32", q->name, k->name,
                              o->turned[0] ? "" : ", trans_rhs"));
}

static void make_scores(online *o, const value *q, const value *k) {
    gen *g = o->g;
    keep(o->scores, product_of(o, q, k));
    if (gen_chance(g, 40))
        keep(o->scores, say(g, gen_text("%s * %s", o->scores, gen_word(g, "0.5", "2.0", "0.25"))));
    if (gen_chance(g, 60))
        keep(o->scores, say(g, gen_text("%s + f32(%s) * 0.125", o->scores, key())));
    const char *shift = draw_shift(o);
    if (strcmp(shift, "0") != 0)
        keep(o->scores,
             say(g, gen_text("%s + %s", o->scores, scalar_argument(g, "c", "f32", shift))));
    else if (gen_chance(g, 50)) /* which a maximum may not have */
        keep(o->scores,
             say(g, gen_text("%s * max(%s, 1.0e-30)", o->scores,
                             scalar_argument(g, "w", "f32", gen_word(g, "0.5", "2", "4")))));
    if (gen_chance(g, 20)) spoil(o);
    if (o->hidden.any)
        mask_hidden(o);
    else if (gen_chance(g, 50))
        mask(o);
}

/* Exponentials --------------------------------------------------------------------------------- */

static void make_top(online *o) {
    gen *g = o->g;
    const char *top = reduced(o, "max", o->scores);
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

/* Sums the weights, adds the sink's weight, or keeps the sum above 0. */
static void make_sum(online *o) {
    gen *g = o->g;
    const char *sum = reduced(o, "add", o->weights);
    if (o->reference == SINK)
        sum = say(g, gen_text("%s + exp(%s - %s)", sum, o->sink, o->top));
    else if (o->reference == LOW)
        sum = say(g, gen_text("max(%s, 1.0e-30)", sum));
    keep(o->sum, sum);
}

/* Results -------------------------------------------------------------------------------------- */

static const char *multiplied(online *o, const char *weights) {
    const char *type = tile_scalar_name(o->type);
    const char *turned = o->turned[1] ? ", trans_rhs" : "";
    if (o->type == TILE_f32)
        return say(o->g, gen_text("matmul(%s, %s%s) : f32", weights, o->values, turned));
    o->rounds = true;
    return say(o->g, gen_text("matmul(%s(%s), %s%s) : f32", type, weights, o->values, turned));
}

static void add_result(online *o, const char *name, int columns) {
    value v = {.scalar = TILE_f32, .shape = with_batch(o, GEN_DIM_M, columns), .small = ANYTHING};
    keep(v.name, name);
    gen_result(o->g, &v);
}

static bool is_byte(tile_scalar type) {
    return type == TILE_e4m3 || type == TILE_e5m2;
}

/* A quotient, times another quotient. */
static void second_quotient(online *o, const char *quotient, const value *k) {
    gen *g = o->g;
    value p = gen_input(g, k->scalar, with_batch(o, GEN_DIM_M, DEPTH));
    const char *s = product_of(o, &p, k);
    if (o->hidden.any) s = say(g, gen_text("select(%s, %s, -inf)", o->hidden.seen, s));
    const char *e = say(g, gen_text("exp(%s - %s)", s, reduced(o, "max", s)));
    const char *f = say(g, gen_text("%s / %s", e, reduced(o, "add", e)));
    const char *both = say(g, gen_text("%s * %s", quotient, f));
    add_result(o, multiplied(o, both), WIDTH);
}

static void some_result(online *o, const value *k) {
    gen *g = o->g;
    const char *quotient, *name;
    switch (gen_below(g, is_byte(o->type) ? 4 : 8)) {
    case 0: add_result(o, reduced(o, "add", o->weights), 1); break;
    case 1:
        name = reduced(o, "max", o->scores);
        add_result(o, gen_chance(g, 50) ? say(g, gen_text("abs(%s)", name)) : name, 1);
        break;
    case 2: add_result(o, say(g, gen_text("%s + log(%s)", o->top, o->sum)), 1); break;
    case 3:
        quotient = say(g, gen_text("%s / %s", o->weights, o->sum));
        add_result(o, multiplied(o, quotient), WIDTH);
        break;
    case 4:
        add_result(o, say(g, gen_text("%s / %s", multiplied(o, o->weights), o->sum)), WIDTH);
        break;
    case 5:
        name = say(g, gen_text("matmul(%s, f32(%s)%s) : f32", o->weights, o->values,
                               o->turned[1] ? ", trans_rhs" : ""));
        add_result(o, name, WIDTH);
        break;
    case 6:
        quotient = say(g, gen_text("%s / %s", o->weights, o->sum));
        second_quotient(o, quotient, k);
        break;
    default:
        name =
            say(g, gen_text("select(%s > %d, %s, 0.0)", key(), gen_pick(g, 0, 1, 30), o->weights));
        quotient = say(g, gen_text("%s / max(%s, 1.0e-38)", name, reduced(o, "add", name)));
        add_result(o, multiplied(o, quotient), WIDTH);
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
    if (gen_chance(g, 40)) hide_keys(&o);
    value q = gen_input(g, keys, with_batch(&o, GEN_DIM_M, DEPTH));
    value k = keyed_input(&o, o.turned[0], keys, DEPTH, "int");
    value v = keyed_input(&o, o.turned[1], o.type, WIDTH, "rand");
    keep(o.values, v.name);
    make_scores(&o, &q, &k);
    make_top(&o);
    keep(o.weights, exponential(&o, gen_text("%s - %s", o.scores, o.top)));
    make_sum(&o);
    for (int i = gen_pick(g, 1, 1, 2, 3); i > 0; i--) some_result(&o, &k);
    g->tolerance = tolerance_of(&o);
}
