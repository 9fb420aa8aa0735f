/* Generates the whole kernel: its head, its body, and a compute with its meaning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/random/random.h"
#include "tile/pass.h"

static void add(tool_text *to, const char *text) {
    tool_append(text, strlen(text), to);
}

/* Clauses for the order of tiles, on which no result depends. */
static const char *clauses(gen *g) {
    if (g->turns || g->threads) return "";
    const char *raster = gen_word(g, "", "", "", "    raster rows(2)\n", "    raster columns(3)\n");
    const char *walk = gen_word(g, "", "", "", "    persistent\n");
    if (g->barriers) walk = "";
    if (!g->cluster && !g->barriers && gen_chance(g, 20))
        return gen_word(g, "    persistent balanced by block_id(0)\n",
                        "    persistent balanced by (1 + block_id(0)) * (3 - block_id(1))\n");
    /* Drawn last, so that the other texts of a seed do not change. */
    if (g->lines.data && strstr(g->lines.data, "= dot") && gen_chance(g, 30)) {
        raster = "    raster auto\n";
        if (!g->barriers && gen_chance(g, 50)) walk = "    persistent auto\n";
    }
    return gen_text("%s%s", raster, walk);
}

static void make_body(gen *g) {
    value first[2];
    for (unsigned i = 0; i < 2; i++) {
        first[i] = gen_load(g, gen_scalar(g), gen_shape(g));
        gen_add(g, &first[i]);
    }
    gen_statements(g, 2 + gen_below(g, g->meaning ? 10 : 8));
    unsigned stores = (unsigned)gen_pick(g, 1, 2, 3), last = g->count;
    if (g->meaning && last == 2) { /* inputs are not results */
        value v = gen_value(g, g->values[1].scalar, g->values[1].shape, 2);
        gen_say(g, "%s = add %s, %s", v.name, g->values[1].name, g->values[1].name);
        gen_add(g, &v);
        last++;
    }
    for (unsigned i = 0, made = 0; i < last && made < stores; i++) {
        const value v = g->values[last - 1 - i];
        bool input =
            g->meaning && g->inputs.data && strstr(g->inputs.data, gen_text("%s:", v.name));
        if (v.scalar == TILE_i1 || input) continue;
        gen_store(g, &v);
        made++;
    }
}

/* Adds the body as a compute on tensors, without the operations that access memory. */
static void add_meaning(const gen *g, tool_text *out) {
    const char *line = g->lines.data;
    add(out, "\ncompute @meaning(");
    tool_append(g->inputs.data, g->inputs.size, out);
    add(out, ") -> (");
    tool_append(g->results.data, g->results.size, out);
    add(out, ")\n{\n");
    while (*line) {
        const char *end = line + strcspn(line, "\n") + 1, *load = strstr(line, " = load "),
                   *store = strstr(line, "store ");
        bool memory = (load && load < end) || (store && store < end);
        for (const char *at = line; at < end && !memory; at++) {
            if (strncmp(at, "tile<", 5) == 0) {
                add(out, "tensor<");
                at += 4;
            } else if (strncmp(at, " = dot ", 7) == 0) {
                add(out, " = matmul ");
                at += 6;
            } else {
                tool_append(at, 1, out);
            }
        }
        line = end;
    }
    add(out, "}\n");
}

/* Adds the default pipeline, without some of the optional passes, and with some extra passes that
 * may run anywhere. */
static void add_pipeline(gen *g, tool_text *out) {
    static const char *const optional[] = {
        "canonicalize",    "cse", "licm", "dce", "prefetch", "choose-cache", "choose-instructions",
        "specialize-warps"};
    const char *at = tile_default_pipeline(3), *comma = "";
    unsigned percent = (unsigned)gen_pick(g, 10, 40, 100);
    while (*at) {
        size_t length = strcspn(at, ",");
        bool left_out = false;
        for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
            if (strlen(optional[i]) == length && memcmp(at, optional[i], length) == 0)
                left_out = gen_chance(g, percent);
        if (!left_out) {
            add(out, comma);
            tool_append(at, length, out);
            comma = ",";
        }
        if (*comma && gen_chance(g, 10))
            add(out, gen_word(g, ",canonicalize", ",cse", ",licm", ",dce"));
        at += length + (at[length] == ',');
    }
}

static void start(gen *g, const gen_options *o, const char **target) {
    /* Targets that have all features of sm_90 replace it for some seeds. */
    static const char *const like[] = {"sm_90", "sm_100f", "sm_120f"};
    const char *const targets[] = {"", "sm_80", like[o->seed % 3], "sm_90a"};
    g->state = (o->seed + 1) * UINT64_C(0x9E3779B97F4A7C15);
    g->plain = true;
    g->inexact = !o->cuda;
    for (unsigned i = 0; i < 8; i++) gen_below(g, 2);
    unsigned which = gen_below(g, 4), flavour = gen_below(g, 12);
    *target = o->cuda ? "" : targets[which];
    g->clusters = which != 1;
    g->meaning = flavour < 2;
    g->threads = flavour == 2;
    g->cluster = flavour == 3 && g->clusters;
    g->mixed = flavour == 4 || flavour == 5;
    g->cluster |= flavour == 4 && g->clusters && gen_chance(g, 20);
    g->warps = (unsigned)gen_pick(g, 1, 2, 4, 4, 8);
    g->grid[0] = gen_pick(g, 1, 1, 2, 3);
    g->grid[1] = gen_pick(g, 1, 1, 2);
    if (g->cluster) g->grid[0] = gen_pick(g, 2, 4);
    g->compute = flavour == 6 || flavour == 7 || o->online;
    g->online = g->compute && (o->online || gen_chance(g, 30));
    if (g->compute) g->meaning = g->threads = g->cluster = g->mixed = false;
    g->meaning |= g->compute;
    if (g->meaning || g->threads) g->grid[1] = 1;
    if (g->meaning) g->grid[0] = 1;
    tool_append("", 0, &g->aliases);
    tool_append("", 0, &g->funcs);
    tool_append("", 0, &g->values_text);
    tool_append("", 0, &g->inputs);
    tool_append("", 0, &g->results);
    tool_append("", 0, &g->arguments);
}

static void add_options(gen *g, const gen_options *o, const char *target, tool_text *out) {
    add(out, "// RUN-OPTIONS: --run-each --kernel=fuzz");
    if (*target) add(out, gen_text(" --target=%s", target));
    if (o->seed % 3 == 0 || g->compute)
        add(out, gen_text(" --seed=%llu", (unsigned long long)o->seed + 1));
    if (g->tolerance > 0) add(out, gen_text(" --tolerance=%g", g->tolerance));
    add(out, g->values_text.data);
    if (!g->threads) {
        add(out, "\n// RUN-PIPELINE: ");
        add_pipeline(g, out);
    }
    add(out, "\n");
    add(out, g->aliases.data);
}

/* One in four grids is launched as a flat one. */
static void add_head(gen *g, const gen_options *o, tool_text *out) {
    add(out, "kernel @fuzz(");
    add(out, g->arguments.data);
    add(out, gen_text(")\n    grid [%d, %d]%s%s\n%s    warps %u\n%s{\n", g->grid[0], g->grid[1],
                      o->seed % 4 == 1 ? "  flat" : "", g->cluster ? "  cluster [2]" : "",
                      clauses(g), g->warps, g->threads ? "    level 3\n" : ""));
}

static void make_compute(gen *g, const gen_options *o, const char *target, tool_text *out) {
    gen_compute(g);
    add_options(g, o, target, out);
    add(out, "compute @fuzz<m: dim, n: dim, k: dim>(");
    add(out, g->inputs.data);
    add(out, ")\n    -> (");
    add(out, g->results.data);
    add(out, ")\n{\n");
    add(out, g->lines.data);
    add(out, "}\n");
}

/* Returns the text; the caller frees it. */
static char *finish(gen *g, tool_text *out) {
    gen_finish_funcs(g);
    tool_append(g->funcs.data, g->funcs.size, out);
    free(g->aliases.data);
    free(g->funcs.data);
    free(g->lines.data);
    free(g->arguments.data);
    free(g->values_text.data);
    free(g->inputs.data);
    free(g->results.data);
    return out->data;
}

char *gen_kernel(const gen_options *o) {
    gen g = {.state = 0};
    tool_text out = {NULL, 0, 0};
    const char *target;
    start(&g, o, &target);
    if (g.compute) {
        make_compute(&g, o, target, &out);
        return finish(&g, &out);
    }
    if (!g.meaning) {
        gen_say(&g, "%%x, %%y, %%z = block_id");
        gen_add_index(&g, "%x");
        gen_add_index(&g, "%y");
    }
    if (g.mixed) gen_thread_numbers(&g);
    if (g.threads)
        gen_threads(&g);
    else
        make_body(&g);
    add_options(&g, o, target, &out);
    add_head(&g, o, &out);
    add(&out, g.lines.data);
    add(&out, "}\n");
    if (g.meaning) add_meaning(&g, &out);
    return finish(&g, &out);
}
