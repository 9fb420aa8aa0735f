/* Generates loops, branches and regions, and chooses statements. */
#include <stdio.h>
#include <string.h>

#include "test/fuzz/random/random.h"

/* A region; its values are not visible after it. */
typedef struct scope {
    unsigned count, index_count;
    bool plain;
} scope;

static scope enter(gen *g) {
    scope s = {g->count, g->index_count, g->plain};
    g->plain = false;
    g->depth++;
    return s;
}

static void leave(gen *g, scope s) {
    g->count = s.count;
    g->index_count = s.index_count;
    g->plain = s.plain;
    g->depth--;
}

/* One or two tiles under new names. Nothing is known about the size of carried values. */
typedef struct carried {
    value from[2], inside[2], result[2];
    unsigned count;
} carried;

static carried choose_carried(gen *g) {
    carried c = {.count = (unsigned)gen_pick(g, 1, 1, 2)};
    for (unsigned i = 0; i < c.count; i++) {
        c.from[i] = *gen_any(g);
        c.inside[i] = gen_value(g, c.from[i].scalar, c.from[i].shape, ANYTHING);
        c.result[i] = gen_value(g, c.from[i].scalar, c.from[i].shape, ANYTHING);
    }
    return c;
}

static const char *names(const value *v, unsigned count) {
    return count == 1 ? v[0].name : gen_text("%s, %s", v[0].name, v[1].name);
}

static const char *inits(const carried *c) {
    const char *first = gen_text("%s = %s", c->inside[0].name, c->from[0].name);
    return c->count == 1 ? first
                         : gen_text("%s, %s = %s", first, c->inside[1].name, c->from[1].name);
}

/* Returns what a region yields for the carried tiles. */
static const char *yielded(gen *g, const carried *c) {
    value out[2];
    for (unsigned i = 0; i < c->count; i++) out[i] = *gen_like(g, &c->inside[i]);
    return gen_text("%s", names(out, c->count));
}

static void add_all(gen *g, const value *v, unsigned count) {
    for (unsigned i = 0; i < count; i++) gen_add(g, &v[i]);
}

enum { MAX_LOOPS = 2 };

bool gen_for(gen *g) {
    if (g->meaning || g->loops >= MAX_LOOPS) return false;
    carried c = choose_carried(g);
    const char *variable = gen_name(g, "k");
    int step = gen_pick(g, 1, 1, 2, 16),
        end = gen_pick(g, 0, 1, 3, 4, 5) * step + gen_pick(g, 0, 0, 1);
    bounds b = gen_bounds(g, end, step);
    if (!b.from) b.begin = gen_word(g, "0", "0", "1", "%x");
    gen_say(
        g, "%s = for %s = %s to %s step %s iter (%s)%s {", names(c.result, c.count), variable,
        b.begin, b.end, b.step, inits(&c),
        gen_word(g, "", "", "", " unroll (2)", " unroll (3)", " pipelined (2)", " pipelined (3)"));
    scope s = enter(g);
    g->loops++;
    gen_add_index(g, gen_counted(g, &b, variable));
    add_all(g, c.inside, c.count);
    for (unsigned i = 0; i < c.count; i++) {
        if (!gen_chance(g, 60)) continue;
        value v = gen_load(g, c.inside[i].scalar, c.inside[i].shape);
        gen_add(g, &v);
    }
    gen_statements(g, gen_below(g, 4));
    gen_say(g, "yield %s", yielded(g, &c));
    g->loops--;
    leave(g, s);
    gen_say(g, "}");
    add_all(g, c.result, c.count);
    return true;
}

bool gen_while(gen *g) {
    if (g->meaning || g->loops >= MAX_LOOPS) return false;
    carried c = choose_carried(g);
    value second[2];
    const char *counts[3] = {gen_name(g, "n"), gen_name(g, "n"), gen_name(g, "n")};
    for (unsigned i = 0; i < c.count; i++)
        second[i] = gen_value(g, c.from[i].scalar, c.from[i].shape, ANYTHING);
    int end = gen_pick(g, 0, 1, 3);
    const char *to = gen_chance(g, 40) ? "%x" : gen_text("%d", end), *more = gen_name(g, "b");
    gen_say(g, "%s, %s = while iter (%s, %s = 0) {", names(c.result, c.count), counts[2], inits(&c),
            counts[0]);
    scope s = enter(g);
    g->loops++;
    add_all(g, c.inside, c.count);
    gen_add_index(g, counts[0]);
    gen_statements(g, gen_below(g, 3));
    gen_say(g, "%s = lt %s, %s", more, counts[0], to);
    gen_say(g, "yield %s, %s, %s", more, yielded(g, &c), counts[0]);
    leave(g, s);
    gen_say(g, "} do (%s, %s) {", names(second, c.count), counts[1]);
    s = enter(g);
    add_all(g, second, c.count);
    gen_add_index(g, counts[1]);
    gen_statements(g, 1 + gen_below(g, 3));
    carried other = c;
    memcpy(other.inside, second, sizeof second);
    gen_say(g, "yield %s, %s + %d", yielded(g, &other), counts[1], gen_pick(g, 1, 2));
    g->loops--;
    leave(g, s);
    gen_say(g, "}");
    add_all(g, c.result, c.count);
    if (gen_chance(g, 30)) gen_add_index(g, counts[2]);
    return true;
}

bool gen_if(gen *g) {
    if (g->meaning) return false;
    carried c = choose_carried(g);
    const char *condition = gen_name(g, "b");
    gen_say(g, "%s = %s %s, %d", condition, gen_word(g, "lt", "eq", "gt", "ne"), gen_index(g),
            gen_pick(g, 0, 1));
    gen_say(g, "%s = if %s {", names(c.result, c.count), condition);
    memcpy(c.inside, c.from, sizeof c.inside);
    for (unsigned side = 0; side < 2; side++) {
        scope s = enter(g);
        gen_statements(g, gen_below(g, 3));
        gen_say(g, "yield %s", yielded(g, &c));
        leave(g, s);
        gen_say(g, side ? "}" : "} else {");
    }
    add_all(g, c.result, c.count);
    return true;
}

/* Generates a region in which the kernel, not the compiler, inserts the barriers. */
bool gen_explicit(gen *g) {
    const value a = *gen_any(g);
    if (g->meaning || g->mixed || !g->plain || a.scalar == TILE_i1) return false;
    const char *buffer = gen_name(g, "s"), *copy = gen_name(g, "s");
    const char *type = gen_type("shared", a.scalar, a.shape);
    value v = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "%s = alloc_shared : %s", copy, type);
    gen_say(g, "sync explicit {");
    g->depth++;
    gen_say(g, "%s = alloc_shared : %s", buffer, type);
    gen_say(g, "store_shared %s, %s", a.name, buffer);
    gen_say(g, "sync");
    gen_say(g, "%s = load_shared %s : %s", v.name, buffer, gen_dims(a.shape));
    gen_say(g, "store_shared %s, %s", v.name, copy);
    gen_say(g, "sync");
    g->depth--;
    gen_say(g, "}");
    value out = gen_value(g, a.scalar, a.shape, a.small);
    gen_say(g, "%s = load_shared %s : %s", out.name, copy, gen_dims(a.shape));
    gen_add(g, &out);
    return true;
}

/* Two groups of warps exchange a tile, with a numbered barrier or a barrier in shared memory. */
bool gen_roles(gen *g) {
    if (g->meaning || g->mixed || !g->plain || g->warps < 2) return false;
    tile_scalar scalar = gen_scalar(g);
    shape s = {2, {gen_pick(g, 4, 8, 16), gen_pick(g, 8, 16)}};
    const char *buffer = gen_name(g, "s"), *out = gen_name(g, "s"), *bar = NULL;
    gen_say(g, "%s = alloc_shared : %s", buffer, gen_type("shared", scalar, s));
    gen_say(g, "%s = alloc_shared : %s", out, gen_type("shared", scalar, s));
    if (g->clusters && gen_chance(g, 50)) {
        bar = gen_name(g, "q");
        g->barriers = true;
        gen_say(g, "%s = alloc_barrier {count = %u} : shared<barrier[1]>", bar, g->warps / 2);
    }
    gen_say(g, "roles {");
    g->depth++;
    gen_say(g, "warps %u {", g->warps / 2);
    scope inner = enter(g);
    g->count = 0; /* tiles from outside are not visible */
    value v = gen_load(g, scalar, s);
    gen_say(g, "store_shared %s, %s", v.name, buffer);
    if (bar)
        gen_say(g, "barrier_arrive %s[0]", bar);
    else
        gen_say(g, "sync_arrive 1, %u", g->warps);
    leave(g, inner);
    gen_say(g, "}");
    gen_say(g, "warps %u {", g->warps / 2);
    inner = enter(g);
    g->count = 0;
    if (bar)
        gen_say(g, "barrier_wait %s[0], 0", bar);
    else
        gen_say(g, "sync 1, %u", g->warps);
    value w = gen_value(g, scalar, s, 1), sum = gen_value(g, scalar, s, 2);
    gen_say(g, "%s = load_shared %s : %s", w.name, buffer, gen_dims(s));
    gen_say(g, "%s = add %s, %s", sum.name, w.name, w.name);
    gen_say(g, "store_shared %s, %s", sum.name, out);
    leave(g, inner);
    gen_say(g, "}");
    g->depth--;
    gen_say(g, "}");
    gen_say(g, "sync");
    value last = gen_value(g, scalar, s, 2);
    gen_say(g, "%s = load_shared %s : %s", last.name, out, gen_dims(s));
    gen_add(g, &last);
    return true;
}

/* Returns `%t[..]` at the element's own coordinates, or at mirrored ones. */
static const char *element_of(gen *g, const value *t, const char *const *at) {
    char text[400];
    bool elsewhere = true;
    /* With several axes, elements are gathered from a flat row of all elements, which must be a
     * valid tile. */
    for (unsigned d = 0; d < t->shape.rank; d++)
        elsewhere &= t->shape.rank == 1 || (t->shape.dims[d] & (t->shape.dims[d] - 1)) == 0;
    snprintf(text, sizeof text, "%s[", t->name);
    for (unsigned d = 0; d < t->shape.rank; d++) {
        const char *own = !elsewhere || gen_chance(g, 75)
                              ? at[d]
                              : gen_text("%d - %s", t->shape.dims[d] - 1, at[d]);
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", d ? ", " : "", own);
    }
    return gen_text("%s]", text);
}

/* Generates per-element code: elements of tiles, here or at other coordinates, of a view, with a
 * branch. */
bool gen_parallel(gen *g) {
    const value a = *gen_any(g), b = *gen_like(g, &a);
    const char *at[MAX_RANK], *names = "", *other = NULL;
    if (g->meaning || a.shape.rank > 3 || a.scalar == TILE_i1 ||
        !tile_scalar_has_arithmetic(a.scalar))
        return false;
    for (unsigned d = 0; d < a.shape.rank; d++) {
        at[d] = gen_name(g, "e");
        names = d ? gen_text("%s, %s", names, at[d]) : at[d];
    }
    if (gen_chance(g, 40)) { /* outside it is 0 */
        char text[400];
        snprintf(text, sizeof text, "%s[", gen_view(g, a.scalar, a.shape, "int"));
        for (unsigned d = 0; d < a.shape.rank; d++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s + %d", d ? ", " : "",
                     at[d], gen_pick(g, 0, 0, 1, -1));
        other = gen_text("%s]", text);
    }
    int64_t second = other ? 1 : b.small;
    value v = gen_value(g, a.scalar, a.shape,
                        a.small == ANYTHING || second == ANYTHING ? ANYTHING : a.small + second);
    const char *x = gen_name(g, "x"), *y = gen_name(g, "x"), *z = gen_name(g, "x");
    gen_say(g, "%s = parallel (%s) in %s {", v.name, names, gen_dims(a.shape));
    g->depth++;
    gen_say(g, "%s = %s", x, element_of(g, &a, at));
    if (gen_chance(g, 40)) {
        gen_say(g, "%s = if %s %s %d {", y, at[gen_below(g, a.shape.rank)],
                gen_word(g, "<", "==", ">="), gen_pick(g, 0, 1, 7));
        gen_say(g, "  yield %s", other ? other : element_of(g, &b, at));
        gen_say(g, "} else {");
        gen_say(g, "  yield %s", x);
        gen_say(g, "}");
        v.small = v.small == ANYTHING ? ANYTHING : v.small + a.small;
    } else {
        gen_say(g, "%s = %s", y, other ? other : element_of(g, &b, at));
    }
    gen_say(g, "%s = %s %s, %s", z, gen_word(g, "add", "sub", "max"), x, y);
    gen_say(g, "yield %s", z);
    g->depth--;
    gen_say(g, "}");
    if (v.small > gen_limit(v.scalar)) v.small = ANYTHING;
    gen_add(g, &v);
    return true;
}

/* Adds a matrix argument: row-major or column-major, and possibly suitable for tensor maps. */
static const char *matrix(gen *g, tile_scalar scalar, int rows, int columns) {
    if (gen_chance(g, 40)) return gen_view(g, scalar, (shape){2, {rows, columns}}, "int");
    const char *name = gen_name(g, "p"), *type = tile_scalar_name(scalar);
    bool turned = gen_chance(g, 30);
    int inner = turned ? rows : columns;
    bool fits = inner * (int)tile_scalar_bits(scalar) % 128 == 0;
    const char *extent[2] = {gen_argument(g, rows, rows % 8 ? 1 : 8),
                             gen_argument(g, columns, columns % 8 ? 1 : 8)};
    if (g->arguments.size) tool_append(", ", 2, &g->arguments);
    const char *text = gen_text("%s: view<%s[%s, %s]%s>%s", name, type, extent[0], extent[1],
                                turned ? gen_text(", strides [1, %s]", extent[0]) : "",
                                fits && gen_chance(g, 50) ? " {tensor_map}" : "");
    const char *given = gen_text(" --arg=%s=int:%s[%d]", name + 1, type, rows * columns);
    tool_append(text, strlen(text), &g->arguments);
    tool_append(given, strlen(given), &g->values_text);
    g->argument_count++;
    return name;
}

/* Adds a matrix that is copied through tensor maps. If it is written (filled with poison), it is
 * noalias. */
static const char *boxes(gen *g, const char *type, int rows, int columns, const char *fill) {
    const char *name = gen_name(g, "p");
    bool written = strcmp(fill, "poison") == 0;
    const char *text =
        gen_text("%s%s: view<%s[%d, %d]> {tensor_map%s}", g->arguments.size ? ", " : "", name, type,
                 rows, columns, written ? ", noalias" : "");
    const char *given = gen_text(" --arg=%s=%s:%s[%d]", name + 1, fill, type, rows * columns);
    tool_append(text, strlen(text), &g->arguments);
    tool_append(given, strlen(given), &g->values_text);
    g->argument_count++;
    return name;
}

/* Generates products with shapes and types that sm_90a computes with wgmma, copies through tensor
 * maps, and roles. The results are stored asynchronously. */
static bool hopper_loop(gen *g) {
    tile_scalar scalar = gen_chance(g, 50) ? TILE_f16 : TILE_bf16;
    int m = gen_pick(g, 64, 64, 128), n = gen_pick(g, 64, 64, 128), k = gen_pick(g, 32, 64);
    int extent = gen_pick(g, 1, 2, 3, 5) * k, rows = g->grid[0] * m, columns = g->grid[1] * n;
    const char *type = tile_scalar_name(scalar), *a = boxes(g, type, rows, extent, "int"),
               *b = boxes(g, type, extent, columns, "int"),
               *c = boxes(g, type, rows, columns, "poison");
    const char *sa = gen_name(g, "s"), *sb = gen_name(g, "s"), *variable = gen_name(g, "k");
    shape both = {2, {m, n}};
    gen_say(g, "%s = alloc_shared : %s", sa, gen_type("shared", scalar, (shape){2, {m, k}}));
    gen_say(g, "%s = alloc_shared : %s", sb, gen_type("shared", scalar, (shape){2, {k, n}}));
    value zero = gen_zeros(g, TILE_f32, both), v = gen_value(g, TILE_f32, both, extent);
    const char *inner = gen_name(g, "v"), *next = gen_name(g, "v"), *out = gen_name(g, "v");
    const char *consumers =
        g->warps == 8 ? gen_word(g, "", ", consumers = cooperative", ", consumers = ping_pong")
                      : "";
    bounds bound = gen_bounds(g, extent, k);
    gen_say(g, "%s = for %s = %s to %s step %s iter (%s = %s) pipelined (%d%s) {", v.name, variable,
            bound.begin, bound.end, bound.step, inner, zero.name, gen_pick(g, 2, 3, 4), consumers);
    g->depth++;
    variable = gen_counted(g, &bound, variable);
    gen_say(g, "copy %s[%%x * %d, %s], %s", a, m, variable, sa);
    gen_say(g, "copy %s[%s, %%y * %d], %s", b, variable, n, sb);
    gen_say(g, "%s = dot %s, %s, %s", next, sa, sb, inner);
    gen_say(g, "yield %s", next);
    g->depth--;
    gen_say(g, "}");
    gen_say(g, "%s = cast %s : %s", out, v.name, type);
    gen_say(g, "store %s, %s[%%x * %d, %%y * %d]", out, c, m, n);
    if (gen_chance(g, 30)) gen_add(g, &v);
    return true;
}

/* Generates two chained products under a mask, as in attention, all in integers. If the loop is
 * `finite`, groups of warps skip the iterations that the mask hides from them. */
static bool masked_loop(gen *g) {
    int m = g->warps == 8 ? gen_pick(g, 128, 128, 192) : 64, n = gen_pick(g, 32, 64, 64);
    int keys = gen_pick(g, 1, 2, 4, 7) * n - gen_pick(g, 0, 0, 8), rows = g->grid[0] * m;
    const char *type = gen_word(g, "f16", "bf16"), *q = boxes(g, type, rows, 64, "int"),
               *k = boxes(g, type, 64, keys, "int"), *v = boxes(g, type, keys, 64, "int"),
               *o = boxes(g, "f32", rows * g->grid[1], 64, "poison");
    const char *held = gen_name(g, "s"), *own = gen_name(g, "v"), *j = gen_name(g, "k"),
               *sum = gen_name(g, "v"), *sums = gen_name(g, "v"), *top = gen_name(g, "v"),
               *tops = gen_name(g, "v"), *all = gen_name(g, "v"), *key = gen_name(g, "v"),
               *near = gen_name(g, "v"), *tk = gen_name(g, "v"), *tv = gen_name(g, "v");
    gen_say(g, "%s = alloc_shared : shared<%s[%d, 64]>", held, type, m);
    gen_say(g, "copy %s[%%x * %d, 0], %s", q, m, held);
    gen_say(g, "%s = %%x * %d + %d + (iota(axis = 0) : tile<i32[%d, 1]>)", own, m,
            gen_pick(g, 0, -70, 33, 300), m);
    bounds b = gen_bounds(g, keys, n);
    gen_say(g,
            "%s, %s = for %s = %s to %s step %s iter (%s = 0.0 : tile<f32[%d, 64]>, "
            "%s = -1000.0 : tile<f32[%d, 1]>) pipelined (%d%s)%s {",
            sum, top, j, b.begin, b.end, b.step, sums, m, tops, m, gen_pick(g, 2, 3),
            g->warps == 8 ? gen_word(g, "", ", consumers = cooperative", ", consumers = ordered",
                                     ", consumers = cooperative_3")
                          : "",
            gen_word(g, " finite", " finite", ""));
    g->depth++;
    j = gen_counted(g, &b, j);
    gen_say(g, "%s = load %s[0, %s] : [64, %d]", tk, k, j, n);
    gen_say(g, "%s = load %s[%s, 0] : [%d, 64]", tv, v, j, n);
    gen_say(g, "%s = dot(%s, %s, 0.0 : tile<f32[%d, %d]>, policy = rows)", all, held, tk, m, n);
    gen_say(g, "%s = %s + (iota(axis = 1) : tile<i32[1, %d]>)", key, j, n);
    gen_say(g, "%s = %s %s min(%s, %d)%s & %s < %d", near, key, gen_word(g, "<=", "<"), own,
            gen_pick(g, 40, 200, 1000),
            gen_chance(g, 30) ? gen_text(" & %s > %s - 50", key, own) : "", key, keys);
    gen_say(g,
            "yield dot(%s(select(%s, %s, 0.0)), %s, %s, policy = rows), "
            "max(%s, reduce_max(select(%s, %s, -inf), axis = 1))",
            type, near, all, tv, sums, tops, near, all);
    g->depth--;
    gen_say(g, "}");
    gen_say(g, "store %s + %s, %s[(%%x + %%y * %d) * %d, 0]", sum, top, o, g->grid[0], m);
    return true;
}

/* Generates a typical matrix product, which the passes turn into asynchronous copies, tensor cores,
 * roles and split sums. */
bool gen_product_loop(gen *g) {
    static const tile_scalar types[][3] = {
        {TILE_f16, TILE_f16, TILE_f32},   {TILE_f16, TILE_f16, TILE_f32},
        {TILE_bf16, TILE_bf16, TILE_f32}, {TILE_i8, TILE_i8, TILE_i32},
        {TILE_e4m3, TILE_e4m3, TILE_f32}, {TILE_tf32, TILE_tf32, TILE_f32},
        {TILE_f16, TILE_f16, TILE_f16},   {TILE_f32, TILE_f32, TILE_f32}};
    if (g->meaning || !g->plain || g->argument_count > MAX_GEN_ARGUMENTS - 16) return false;
    if (g->warps >= 4 && g->clusters && gen_chance(g, 35))
        return gen_chance(g, 70) ? masked_loop(g) : hopper_loop(g);
    const tile_scalar *t = types[gen_below(g, 8)];
    bool wide = g->warps >= 4 && gen_chance(g, 50);
    int m = wide ? gen_pick(g, 64, 64, 128) : gen_pick(g, 16, 32, 64, 48),
        n = gen_pick(g, 8, 16, 32, 64, 40);
    int k = gen_pick(g, 16, 32, 32, 64, 48), extent = gen_pick(g, 0, k, k + 8, 2 * k, 3 * k, 5 * k);
    const char *a = matrix(g, t[0], gen_pick(g, m, 2 * m, m - 3), extent ? extent : 1);
    const char *b = matrix(g, t[1], extent ? extent : 1, gen_pick(g, n, 2 * n, n + 1));
    bool through = gen_chance(g, 50);
    const char *sa = gen_name(g, "s"), *sb = gen_name(g, "s"), *variable = gen_name(g, "k"),
               *clause = "";
    shape left = {2, {m, k}}, right = {2, {k, n}}, both = {2, {m, n}};
    if (through) {
        gen_say(g, "%s = alloc_shared : %s", sa, gen_type("shared", t[0], left));
        gen_say(g, "%s = alloc_shared : %s", sb, gen_type("shared", t[1], right));
    }
    value zero = gen_zeros(g, t[2], both), v = gen_value(g, t[2], both, extent + k),
          inner = gen_value(g, t[2], both, ANYTHING), next = gen_value(g, t[2], both, ANYTHING);
    int depth = gen_pick(g, 0, 1, 2, 3, 4);
    if (depth) clause = gen_text(" pipelined (%d)", depth);
    if (!depth && gen_chance(g, 40)) clause = " unroll (2)";
    if (gen_chance(g, 25))
        clause = gen_text(" split (%d, %s)%s", gen_pick(g, 1, 2, 3, 3, 7),
                          gen_word(g, "serial", "workspace", "atomic", "exchange",
                                   g->clusters ? "cluster" : "serial", "stream_k"),
                          depth ? clause : "");
    int groups = !g->mixed && gen_chance(g, 25) ? gen_pick(g, 1, 2, 4) : 0;
    if (groups && g->warps % (unsigned)groups == 0)
        clause = gen_text(" groups (%d)%s", groups, clause);
    bounds bound = gen_bounds(g, extent, k);
    gen_say(g, "%s = for %s = %s to %s step %s iter (%s = %s)%s {", v.name, variable, bound.begin,
            bound.end, bound.step, inner.name, zero.name, clause);
    g->depth++;
    variable = gen_counted(g, &bound, variable);
    const char *rows = gen_text("%%x * %d", m), *columns = gen_text("%%y * %d", n);
    if (through) {
        gen_say(g, "copy %s[%s, %s], %s", a, rows, variable, sa);
        gen_say(g, "copy %s[%s, %s], %s", b, variable, columns, sb);
    } else {
        gen_say(g, "%s = load %s[%s, %s] : %s", sa, a, rows, variable, gen_dims(left));
        gen_say(g, "%s = load %s[%s, %s] : %s", sb, b, variable, columns, gen_dims(right));
    }
    gen_say(g, "%s = dot %s, %s, %s", next.name, sa, sb, inner.name);
    gen_say(g, "yield %s", next.name);
    g->depth--;
    gen_say(g, "}");
    gen_add(g, &v);
    return true;
}

/* Statements ---------------------------------------------------------------------------------- */

void gen_statements(gen *g, unsigned count) {
    static const struct {
        bool (*make)(gen *g);
        unsigned weight;
    } kinds[] = {{gen_elementwise, 24},
                 {gen_cast, 8},
                 {gen_bitcast, 4},
                 {gen_shapes, 12},
                 {gen_axis, 10},
                 {gen_combine, 4},
                 {gen_gather, 4},
                 {gen_histogram, 2},
                 {gen_iota, 3},
                 {gen_dot, 7},
                 {gen_inside, 2},
                 {gen_prefetch, 2},
                 {gen_atomic, 6},
                 {gen_scratch, 2},
                 {gen_turns, 2},
                 {gen_barriers, 3},
                 {gen_scalars, 3},
                 {gen_assert_assume, 2},
                 {gen_for, 6},
                 {gen_while, 3},
                 {gen_if, 5},
                 {gen_explicit, 2},
                 {gen_roles, 2},
                 {gen_product_loop, 4},
                 {gen_through_shared, 5},
                 {gen_cluster, 6},
                 {gen_parallel, 5},
                 {gen_fragments, 20},
                 {gen_mma, 3},
                 {gen_call, 10}};
    enum { KINDS = sizeof kinds / sizeof *kinds, MAX_TRIES = 200 };
    unsigned all = 0, made = 0;
    for (unsigned i = 0; i < KINDS; i++) all += kinds[i].weight;
    for (unsigned tries = 0; made < count && tries < MAX_TRIES; tries++) {
        unsigned draw = gen_below(g, all), i = 0;
        if (g->argument_count > MAX_GEN_ARGUMENTS - 20) return; /* reserve some for the stores */
        while (draw >= kinds[i].weight) draw -= kinds[i++].weight;
        made += kinds[i].make(g);
    }
}
