/* Generates computes of level 1, which `schedule` turns into kernels. Tensors have any extents,
 * some of which only the launch determines. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

enum { MAX_ELEMENTS = 1 << 12, MAX_INPUTS = 8 };

static const struct {
    const char *name;
    int extent;
} dims[GEN_DIMS] = {{"m", GEN_DIM_M}, {"n", GEN_DIM_N}, {"k", GEN_DIM_K}};

static unsigned dim_of(int extent) {
    unsigned i = 0;
    while (i < GEN_DIMS && dims[i].extent != extent) i++;
    return i;
}

bool gen_is_dim(int extent) {
    return dim_of(extent) < GEN_DIMS;
}

const char *gen_extent(int extent) {
    unsigned i = dim_of(extent);
    return i < GEN_DIMS ? dims[i].name : gen_text("%d", extent);
}

/* Writes an extent, which may be a dim, as an expression of the same value. */
static const char *spelled_extent(gen *g, int extent) {
    static const char *const spellings[] = {
        "1 + (%s - 1)", "%s + %s - %s", "2 * %s - %s",           "%s * 3 / 3",
        "max(%s, %s)",  "-(0 - %s)",    "ceildiv(4 * %s, 2) / 2"};
    const char *plain = gen_extent(extent), *text = "";
    if (!gen_is_dim(extent) || !gen_chance(g, 30)) return plain;
    const char *spelling = spellings[gen_below(g, sizeof spellings / sizeof *spellings)];
    for (const char *at; (at = strstr(spelling, "%s")); spelling = at + 2)
        text = gen_text("%s%.*s%s", text, (int)(at - spelling), spelling, plain);
    return gen_text("%s%s", text, spelling);
}

const char *gen_spelled_dims(gen *g, shape s) {
    const char *text = "";
    if (!g->compute) return gen_dims(s);
    for (unsigned d = 0; d < s.rank; d++)
        text = gen_text("%s%s%s", text, d ? ", " : "", spelled_extent(g, s.dims[d]));
    return gen_text("[%s]", text);
}

/* Returns whether inputs have all dims of the shape, so that a result need not. */
static bool knows_dims(const gen *g, shape s) {
    bool known = true;
    for (unsigned d = 0; d < s.rank; d++)
        known &= !gen_is_dim(s.dims[d]) || g->dim_known[dim_of(s.dims[d])];
    return known;
}

static int given_extent(const gen *g, int extent) {
    unsigned i = dim_of(extent);
    return i < GEN_DIMS ? g->dims[i] : extent;
}

bool gen_is_small(const gen *g, shape s) {
    for (unsigned d = 0; d < s.rank; d++) s.dims[d] = given_extent(g, s.dims[d]);
    return gen_elements(s) <= MAX_ELEMENTS;
}

int gen_draw_extent(gen *g) {
    if (gen_chance(g, 60)) return dims[gen_below(g, GEN_DIMS)].extent;
    return gen_pick(g, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 12, 16, 24, 31, 33);
}

shape gen_extents(gen *g, unsigned rank) {
    shape s = {.rank = rank};
    for (unsigned d = 0; d < s.rank; d++) {
        s.dims[d] = gen_draw_extent(g);
        if (!gen_is_small(g, s)) s.dims[d] = 1;
    }
    return s;
}

/* Inputs and results -------------------------------------------------------------------------- */

/* Returns the extents at the launch, such as "17,40". */
static const char *given_extents(const gen *g, shape s) {
    const char *text = "";
    for (unsigned d = 0; d < s.rank; d++)
        text = gen_text("%s%s%d", text, d ? "," : "", given_extent(g, s.dims[d]));
    return text;
}

static void add_array(gen *g, tool_text *list, const value *v, const char *fill,
                      const char *contents) {
    const char *given = gen_text(" --arg=%s=%s:%s[%s]%s", v->name + 1, fill,
                                 tile_scalar_name(v->scalar), given_extents(g, v->shape), contents);
    bool spelled = list == &g->results && knows_dims(g, v->shape);
    const char *text = gen_text("%s%s: %s", list->size ? ", " : "", v->name,
                                spelled ? gen_array(g, v->scalar, v->shape)
                                        : gen_type("tensor", v->scalar, v->shape));
    tool_append(text, strlen(text), list);
    tool_append(given, strlen(given), &g->values_text);
    for (unsigned d = 0; d < v->shape.rank; d++)
        if (gen_is_dim(v->shape.dims[d])) g->dim_known[dim_of(v->shape.dims[d])] = true;
    g->argument_count++;
}

value gen_filled_with(gen *g, tile_scalar scalar, shape s, const char *fill, const char *contents) {
    value v = gen_value(g, scalar, s, 1);
    add_array(g, &g->inputs, &v, fill, contents);
    return v;
}

value gen_filled(gen *g, tile_scalar scalar, shape s, const char *fill) {
    return gen_filled_with(g, scalar, s, fill, "");
}

value gen_input(gen *g, tile_scalar scalar, shape s) {
    return gen_filled(g, scalar, s, "int");
}

void gen_result(gen *g, const value *v) {
    add_array(g, &g->results, v, "poison", "");
}

bool gen_can_take(const gen *g) {
    return g->argument_count < MAX_INPUTS;
}

/* Operations ---------------------------------------------------------------------------------- */

/* Combines a value with one that is broadcast to its shape: of lower rank, or with extents of 1. */
static bool stretched(gen *g) {
    const value a = *gen_any(g);
    if (!gen_can_take(g) || a.small == ANYTHING || !tile_scalar_has_arithmetic(a.scalar))
        return false;
    unsigned less = a.shape.rank > 1 && gen_chance(g, 40);
    shape s = {.rank = a.shape.rank - less};
    for (unsigned d = 0; d < s.rank; d++)
        s.dims[d] = gen_chance(g, 40) ? 1 : a.shape.dims[d + less];
    value b = gen_input(g, a.scalar, s), v = gen_value(g, a.scalar, a.shape, a.small + 1);
    if (v.small == ANYTHING) return false;
    bool turned = gen_chance(g, 40);
    gen_say(g, "%s = %s %s, %s", v.name, gen_word(g, "add", "sub", "mul", "max", "min"),
            turned ? b.name : a.name, turned ? a.name : b.name);
    gen_add(g, &v);
    return true;
}

/* Adds a dim of extent 1, or repeats rows. */
static bool stretch(gen *g) {
    const value a = *gen_any(g);
    shape s = a.shape;
    if (s.rank < 4 && gen_chance(g, 50)) {
        unsigned at = gen_below(g, s.rank + 1);
        memmove(&s.dims[at + 1], &s.dims[at], (s.rank - at) * sizeof *s.dims);
        s.dims[at] = 1;
        s.rank++;
        value v = gen_value(g, a.scalar, s, a.small);
        gen_say(g, "%s = reshape %s : %s", v.name, a.name, gen_spelled_dims(g, s));
        gen_add(g, &v);
        return true;
    }
    for (unsigned d = 0; d < s.rank; d++)
        if (s.dims[d] == 1) s.dims[d] = gen_draw_extent(g);
    if (!gen_is_small(g, s) || gen_same_shape(s, a.shape)) return false;
    value v = gen_value(g, a.scalar, s, a.small);
    gen_say(g, "%s = broadcast %s : %s", v.name, a.name, gen_spelled_dims(g, s));
    gen_add(g, &v);
    return true;
}

/* Reduces a value to one number, axis by axis. */
static bool reduce_all(gen *g) {
    value v = *gen_any(g);
    bool sum = gen_chance(g, 50);
    const char *kind = sum ? "add" : gen_word(g, "max", "min");
    int64_t all = sum ? gen_elements(v.shape) : 1;
    if (v.scalar == TILE_i1 || v.small == ANYTHING || v.small * all > gen_limit(v.scalar))
        return false;
    for (unsigned i = 0; i < v.shape.rank; i++) {
        unsigned axis = v.shape.rank - 1 - i;
        value reduced = gen_value(g, v.scalar, gen_with(v.shape, axis, 1),
                                  sum ? v.small * v.shape.dims[axis] : v.small);
        gen_say(g, "%s = reduce_%s %s {axis = %u%s}", reduced.name, kind, v.name, axis,
                gen_given(g, v.shape, axis));
        v = reduced;
    }
    gen_add(g, &v);
    return true;
}

/* Subtracts a row's reduction, its largest number or its sum, from each element. */
static bool by_row(gen *g) {
    const value a = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    int64_t small = a.small == ANYTHING ? ANYTHING : a.small * (1 + a.shape.dims[axis]);
    if (small == ANYTHING || small > gen_limit(a.scalar) || a.scalar == TILE_i1) return false;
    const char *row = gen_name(g, "v");
    value v = gen_value(g, a.scalar, a.shape, small);
    gen_say(g, "%s = reduce_%s %s {axis = %u}", row, gen_word(g, "add", "max", "min"), a.name,
            axis);
    gen_say(g, "%s = sub %s, %s", v.name, a.name, row);
    gen_add(g, &v);
    return true;
}

/* Sums differences from the row's sum, or their squares. A schedule may compute this without
 * waiting for the row's sum. */
static bool differences(gen *g) {
    enum { SLACK = 4 }; /* the correction at the end may be this many times larger */
    const value a = *gen_any(g), b = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    int64_t extent = a.shape.dims[axis];
    bool squares = gen_chance(g, 50) || b.scalar != a.scalar || b.small == ANYTHING ||
                   memcmp(&b.shape, &a.shape, sizeof a.shape) != 0;
    if (a.scalar == TILE_i1 || a.small == ANYTHING || a.small > 1 << 16) return false;
    int64_t far = a.small * (1 + extent), small = far * (squares ? far : b.small) * extent;
    if (far > gen_limit(a.scalar) || small > gen_limit(a.scalar) / SLACK) return false;
    const char *row = gen_name(g, "v"), *product = gen_name(g, "v");
    value d = gen_value(g, a.scalar, a.shape, far);
    value sum = gen_value(g, a.scalar, gen_with(a.shape, axis, 1), small);
    gen_say(g, "%s = reduce_add %s {axis = %u}", row, a.name, axis);
    gen_say(g, "%s = sub %s, %s", d.name, a.name, row);
    gen_say(g, "%s = mul %s, %s", product, d.name, squares ? d.name : b.name);
    gen_say(g, "%s = reduce_add %s {axis = %u}", sum.name, product, axis);
    gen_add(g, &d);
    gen_add(g, &sum);
    return true;
}

/* Generates overlapping windows along one dim, usually reduced. */
static bool windows(gen *g) {
    const value a = *gen_any(g);
    unsigned axis = gen_below(g, a.shape.rank);
    shape s = a.shape;
    if (s.rank > 3) return false;
    memmove(&s.dims[axis + 1], &s.dims[axis], (s.rank++ - axis) * sizeof *s.dims);
    s.dims[axis] = gen_draw_extent(g);
    s.dims[axis + 1] = gen_pick(g, 1, 2, 3, 3, 4, 5);
    if (!gen_is_small(g, s)) return false;
    value v = gen_value(g, a.scalar, s, a.small);
    gen_say(g, "%s = window %s, [%d], [%d]%s {axis = %u} : %s", v.name, a.name,
            gen_pick(g, 1, 1, 2, 3), gen_pick(g, 0, 0, 1, 2), gen_word(g, "", "", ", [2]"), axis,
            gen_dims(s));
    gen_add(g, &v);
    int64_t sum = a.small == ANYTHING ? ANYTHING : a.small * s.dims[axis + 1];
    if (a.scalar == TILE_i1 || gen_chance(g, 30)) return true;
    bool adds = sum != ANYTHING && sum <= gen_limit(a.scalar) && gen_chance(g, 50);
    value pooled = gen_value(g, a.scalar, gen_with(s, axis + 1, 1), adds ? sum : a.small);
    gen_say(g, "%s = reduce_%s %s {axis = %u}", pooled.name, adds ? "add" : "max", v.name,
            axis + 1);
    gen_add(g, &pooled);
    return true;
}

/* At most one reduction of a compute has attributes, because reductions in one kernel must agree.
 * The tile covers whole rows of known extent, because scans and sorts may need them. */
const char *gen_given(gen *g, shape s, unsigned axis) {
    shape tile = {.rank = s.rank};
    if (!g->compute || g->given || !gen_chance(g, 30)) return "";
    unsigned beside = gen_below(g, s.rank);
    for (unsigned d = 0; d < s.rank; d++) tile.dims[d] = d == beside ? gen_pick(g, 1, 2, 6, 8) : 1;
    tile.dims[axis] = gen_is_dim(s.dims[axis]) ? gen_pick(g, 4, 7, 8, 32) : 1;
    while (!gen_is_dim(s.dims[axis]) && tile.dims[axis] < s.dims[axis]) tile.dims[axis] *= 2;
    if (s.rank == 3 && gen_is_dim(s.dims[axis]) && gen_chance(g, 40))
        for (unsigned d = 0; d < s.rank; d++) tile.dims[d] = d == axis ? 1 : gen_pick(g, 2, 4, 7);
    g->given = true;
    return gen_text(", tile = %s%s", gen_dims(tile), gen_word(g, "", ", warps = 1", ", warps = 2"));
}

/* Returns attributes of a product's kernel. */
static const char *given_product(gen *g) {
    const char *text = "";
    if (gen_chance(g, 30))
        text = gen_text(", tile = [%d, %d%s]", gen_pick(g, 8, 16, 20, 32), gen_pick(g, 8, 16, 24),
                        gen_word(g, "", ", 16", ", 24", ", 32"));
    if (gen_chance(g, 15)) text = gen_text("%s, stages = %d", text, gen_pick(g, 1, 2, 3));
    if (gen_chance(g, 15)) text = gen_text("%s, warps = %d", text, gen_pick(g, 1, 2, 4, 8));
    if (gen_chance(g, 20)) text = gen_text("%s, split = %d", text, gen_pick(g, 1, 2, 3));
    if (gen_chance(g, 15))
        text = gen_text("%s, strategy = %s", text,
                        gen_word(g, "serial", "exchange", "workspace", "atomic"));
    if (gen_chance(g, 15))
        text = gen_text("%s, raster = %s", text, gen_word(g, "rows", "columns", "rows, group = 3"));
    return text;
}

enum { BF16_WHOLE = 256 }; /* bf16 holds whole numbers up to this */

/* Multiplies an earlier value or an input by an input, with any batch dims. */
static bool multiply(gen *g) {
    static const struct {
        tile_scalar operand, sum;
    } kinds[] = {{TILE_f16, TILE_f32}, {TILE_bf16, TILE_f32}, {TILE_f32, TILE_f32},
                 {TILE_i8, TILE_i32},  {TILE_i32, TILE_i32},  {TILE_f64, TILE_f64}};
    value a = *gen_any(g);
    unsigned kind = 0;
    if (!gen_can_take(g)) return false;
    if (a.shape.rank < 2 || gen_chance(g, 30))
        a = gen_input(g, kinds[gen_below(g, 6)].operand,
                      (shape){2, {gen_draw_extent(g), gen_draw_extent(g)}});
    while (kind < 6 && kinds[kind].operand != a.scalar) kind++;
    bool turned[2] = {gen_chance(g, 30), gen_chance(g, 30)}, batches = gen_chance(g, 50);
    shape lhs = a.shape, rhs = a.shape, s = a.shape;
    if (turned[0]) gen_turn(&lhs);
    int m = lhs.dims[lhs.rank - 2], k = lhs.dims[lhs.rank - 1], n = gen_draw_extent(g);
    if (kind == 6 || a.small == ANYTHING || a.small * k > gen_limit(kinds[kind].sum)) return false;
    if (!batches) rhs.rank = 2;
    rhs.dims[rhs.rank - 2] = k;
    rhs.dims[rhs.rank - 1] = n;
    if (turned[1]) gen_turn(&rhs);
    s.dims[s.rank - 2] = m;
    s.dims[s.rank - 1] = n;
    if (!gen_is_small(g, s) || !gen_is_small(g, rhs)) return false;
    value b = gen_input(g, a.scalar, rhs), v = gen_value(g, kinds[kind].sum, s, a.small * k);
    const char *precision = "";
    if (a.scalar == TILE_f32 && a.small <= BF16_WHOLE && gen_chance(g, 50))
        precision = gen_word(g, ", precision = ieee", ", precision = tf32", ", precision = bf16x3",
                             ", precision = bf16x6");
    const char *given = gen_text("%s%s%s%s", turned[0] ? ", trans_lhs" : "",
                                 turned[1] ? ", trans_rhs" : "", precision, given_product(g));
    gen_say(g, "%s = matmul(%s, %s%s) : %s", v.name, a.name, b.name, given,
            tile_scalar_name(v.scalar));
    gen_add(g, &v);
    return true;
}

/* Loops ---------------------------------------------------------------------------------------- */

static bool make_any(gen *g);

static shape with_steps(shape s, int steps) {
    memmove(&s.dims[1], &s.dims[0], s.rank++ * sizeof *s.dims);
    s.dims[0] = steps;
    return s;
}

/* Returns the coordinates of a part along the first dim of a tensor of this rank. */
static const char *coordinates(const char *first, unsigned rank) {
    const char *text = gen_text("[%s", first);
    while (--rank) text = gen_text("%s, 0", text);
    return gen_text("%s]", text);
}

/* The part of an input that belongs to the iteration. */
static void take_step(gen *g, const value *state, int steps, const char *variable) {
    if (!gen_can_take(g)) return;
    shape whole = with_steps(state->shape, steps);
    value x = gen_input(g, state->scalar, whole), v = gen_value(g, state->scalar, state->shape, 1);
    gen_say(g, "%s = reshape((slice(%s, %s) : %s)) : %s", v.name, x.name,
            coordinates(variable, whole.rank), gen_spelled_dims(g, with_steps(state->shape, 1)),
            gen_spelled_dims(g, state->shape));
    gen_add(g, &v);
}

/* A number that depends on the state, on a value of its type, and on the state's rows. *most: its
 * largest magnitude. */
static const char *make_step(gen *g, const value *state, int64_t *most) {
    const value w = *gen_like(g, state);
    unsigned axis = gen_below(g, state->shape.rank);
    int64_t limit = gen_limit(state->scalar), row = state->small * state->shape.dims[axis];
    const int *last = &state->shape.dims[state->shape.rank - 1];
    bool bounded = w.small != ANYTHING;
    *most = state->small;
    if (state->shape.rank > 1 && last[0] == last[-1] && gen_chance(g, 60))
        return gen_text("max(%s, transpose(%s))", state->name, state->name);
    switch (gen_below(g, 5)) {
    case 0:
        if (!bounded || w.small > limit / 4) break;
        *most = w.small;
        return gen_text("%s", w.name);
    case 1:
        if (!bounded || w.small > limit / 4) break;
        *most += w.small;
        return gen_text("%s + %s", state->name, w.name);
    case 2:
        *most *= 2;
        return gen_text("%s - reduce_%s(%s, axis = %u)", state->name, gen_word(g, "max", "min"),
                        state->name, axis);
    case 3:
        if (!bounded || w.small > limit / 4 || row > limit / 4) break;
        *most = w.small + row;
        return gen_text("%s - reduce_add(%s, axis = %u)", w.name, state->name, axis);
    default: break;
    }
    return state->name;
}

/* The next state, with the same bound as the state. */
static value next_state(gen *g, const value *state, const char *variable, int steps) {
    const char *point = gen_is_float(state->scalar) ? ".0" : "", *more = "";
    int most = (int)state->small;
    int64_t reached;
    const char *step = make_step(g, state, &reached);
    value v = gen_value(g, state->scalar, state->shape, state->small);
    if (reached + steps <= gen_limit(state->scalar) && gen_chance(g, 40))
        more = gen_text(" + %s(%s)", tile_scalar_name(state->scalar), variable);
    gen_say(g, "%s = min(max(%s%s, -%d%s), %d%s)", v.name, step, more, most, point, most, point);
    return v;
}

/* A loop that carries a state, and sometimes the states of all iterations. */
static bool loop(gen *g) {
    const value a = *gen_any(g);
    int steps = gen_pick(g, 1, 2, 2, 3, 4), most = gen_pick(g, 3, 8, 20);
    if (g->loops > 1 || a.small == ANYTHING || a.shape.rank > 3 || g->count + 40 > MAX_VALUES ||
        !tile_scalar_has_arithmetic(a.scalar) || a.scalar == TILE_i1 || a.small > 1000)
        return false;
    int64_t small = a.small > most ? a.small : most;
    if (2 * small + steps > gen_limit(a.scalar)) return false;
    shape whole = with_steps(a.shape, steps);
    bool collects = gen_is_small(g, whole) && gen_chance(g, 60), back = gen_chance(g, 30);
    const char *t = gen_name(g, "t");
    value all = collects ? gen_zeros(g, a.scalar, whole) : a,
          carried = gen_value(g, a.scalar, whole, small);
    value state = gen_value(g, a.scalar, a.shape, small);
    value result = gen_value(g, a.scalar, a.shape, small),
          states = gen_value(g, a.scalar, whole, small);
    gen_say(g, "%s%s = for %s = %s to %s iter (%s = %s%s) {", result.name,
            collects ? gen_text(", %s", states.name) : "", t, back ? "1" : "0",
            gen_text("%d", steps + back), state.name, a.name,
            collects ? gen_text(", %s = %s", carried.name, all.name) : "");
    unsigned outside = g->count;
    const char *place = back ? gen_text("%d - %s", steps, t) : t;
    g->depth++;
    g->loops++;
    gen_add(g, &state);
    if (gen_is_small(g, whole) && gen_chance(g, 60)) take_step(g, &state, steps, place);
    for (int i = gen_pick(g, 0, 1, 2, 3), tries = 0; i > 0 && tries < 20; tries++) i -= make_any(g);
    value next = next_state(g, &state, t, steps + back);
    gen_say(g, "yield %s%s", next.name,
            collects ? gen_text(", insert_slice(reshape(%s) : %s, %s, %s)", next.name,
                                gen_spelled_dims(g, with_steps(a.shape, 1)), carried.name,
                                coordinates(place, whole.rank))
                     : "");
    g->loops--;
    g->depth--;
    gen_say(g, "}");
    g->count = outside;
    gen_add(g, &result);
    if (collects) gen_add(g, &states);
    return true;
}

/* Makes a statement of some kind; false: it is not possible. */
static bool make_any(gen *g) {
    static bool (*const kinds[])(gen * g) = {
        gen_elementwise, gen_elementwise, gen_elementwise, stretched,    stretched,  gen_call,
        gen_cast,        gen_cast,        gen_shapes,      gen_shapes,   stretch,    stretch,
        gen_axis,        gen_axis,        gen_axis,        gen_combine,  reduce_all, by_row,
        windows,         windows,         differences,     gen_iota,     gen_gather, multiply,
        multiply,        multiply,        gen_convolve,    gen_convolve, loop,       loop};
    return kinds[gen_below(g, sizeof kinds / sizeof *kinds)](g);
}

/* The compute --------------------------------------------------------------------------------- */

static void start_dims(gen *g) {
    for (unsigned i = 0; i < GEN_DIMS; i++)
        g->dims[i] = gen_pick(g, 1, 2, 3, 5, 7, 8, 16, 17, 20, 31, 33, 40, 65);
}

/* Adds inputs for dims that no input has, because the launch could not determine them. */
static void tell_dims(gen *g) {
    for (unsigned i = 0; i < GEN_DIMS; i++) {
        if (!g->dim_known[i]) gen_input(g, TILE_i32, (shape){1, {dims[i].extent}});
        const char *given = gen_text(" --arg=%s=%d", dims[i].name, g->dims[i]);
        tool_append(given, strlen(given), &g->values_text);
    }
}

/* The results are the last values that are not inputs. */
static void choose_results(gen *g) {
    unsigned wanted = (unsigned)gen_pick(g, 1, 1, 2, 3);
    for (unsigned i = g->count; i-- > 0 && wanted;) {
        const value *v = &g->values[i];
        if (v->scalar == TILE_i1 || strstr(g->inputs.data, gen_text("%s:", v->name))) continue;
        gen_result(g, v);
        wanted--;
    }
}

void gen_compute(gen *g) {
    start_dims(g);
    if (g->online) {
        gen_online(g);
        tell_dims(g);
        return;
    }
    for (int i = gen_pick(g, 1, 2); i > 0; i--) {
        value v = gen_input(g, gen_scalar(g),
                            gen_extents(g, (unsigned)gen_pick(g, 1, 2, 2, 2, 2, 3, 3, 4)));
        gen_add(g, &v);
    }
    unsigned wanted = 1 + gen_below(g, 9), inputs = g->count;
    for (unsigned made = 0, tries = 0; (made < wanted || g->count == inputs) && tries < 200;
         tries++)
        made += make_any(g);
    tell_dims(g);
    choose_results(g);
}
