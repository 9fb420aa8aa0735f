/* Compares the two routes to a product, a kernel with `tune auto` and a compute that the pass
 * `schedule` makes a kernel of:
 *
 *     tile-model-routes [--picks] [--share=I/N] [TARGET ..] KERNELS COMPUTES
 *
 * KERNELS has @matmul_nn, _nt, _tn and _tt (tools/kernels/matmul_types.tile), COMPUTES the computes
 * @product_nn to @product_tt (matmul_layouts.tile). For each target, type and layout both must have
 * the same points, each point the same estimate at some sizes, and so the same pick. Each
 * difference is printed on a line. The last line of a target is a summary. Exit status: 1 if there
 * is a difference. With --picks the picks are printed, too. With --share only every N-th product is
 * compared, starting at the I-th. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/context.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "runtime/model/choose.h"
#include "runtime/model/space.h"
#include "tile/compile.h"
#include "test/model/parse_module.h"

enum { SMS = 132, ROUTES = 2, MAX_SIZES = 32 };

/* Element types of operands, sums and results, and the factor by which the estimates of a point may
 * differ. Computes add long sums of f32 in chunks, which is another kernel: only their points are
 * compared. */
static const struct {
    const char *operand, *sum, *result;
    double tolerance;
} types[] = {
    {"f16", "f32", "f16", 1},   {"bf16", "f32", "bf16", 1}, {"i8", "i32", "i32", 1},
    {"e4m3", "f32", "bf16", 1}, {"tf32", "f32", "f32", 1},  {"f32", "f32", "f32", INFINITY},
};
static const char *const layouts[] = {"nn", "nt", "tn", "tt"};

/* m, n and k: large, few rows, long sums, few columns, odd pitches, and random ones. */
static const int64_t shapes[][3] = {
    {4096, 4096, 4096}, {10496, 5384, 3704}, {9299, 5384, 3704}, {16, 14336, 8192},
    {64, 4096, 4096},   {256, 256, 16384},   {3032, 144, 3368},  {1001, 1001, 1001},
    {4096, 1, 4096},    {7088, 13088, 240},  {512, 3072, 768},   {127, 4097, 5001},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* One way to the kernel: a module with it, and its bindings. */
typedef struct route {
    tile_module *module;
    const char *name;
    tile_binding given[4];
    unsigned given_count;
} route;

typedef struct ranked {
    const char *point; /* without the given bindings */
    double seconds;
} ranked;

typedef struct ranking {
    ranked *list;
    size_t count, capacity;
    const route *of;
    tile_arena *arena;
} ranking;

typedef struct run {
    const tile_target *target;
    const char *paths[ROUTES];
    bool picks;
    unsigned share, shares, seen, compared;
    size_t points, different;
} run;

/* Routes --------------------------------------------------------------------------------------- */

static bool open_kernel(const run *r, tile_context *context, size_t type, const char *layout,
                        tile_arena *arena, route *out) {
    *out = (route){
        .module = parse_module(context, r->paths[0]),
        .name = tile_arena_format(arena, "matmul_%s", layout),
        .given = {{"T", types[type].operand}, {"S", types[type].sum}, {"R", types[type].result}},
        .given_count = 3};
    tile_function *f = tile_module_find(out->module, out->name);
    return f && tile_resolve_tuning(f, r->target, out->given, out->given_count) == TILE_OK;
}

static bool open_compute(const run *r, tile_context *context, size_t type, const char *layout,
                         tile_arena *arena, route *out) {
    *out = (route){.module = parse_module(context, r->paths[1]),
                   .given = {{"T", types[type].operand}, {"R", types[type].result}},
                   .given_count = 2};
    const char *compute = tile_arena_format(arena, "product_%s", layout);
    return tile_schedule(out->module, compute, r->target, out->given, &out->given_count,
                         &out->name) == TILE_OK;
}

/* Points --------------------------------------------------------------------------------------- */

static bool is_given(const route *of, const char *name) {
    for (unsigned i = 0; i < of->given_count; i++)
        if (strcmp(of->given[i].name, name) == 0) return true;
    return false;
}

/* A route may lack a parameter that has only one value. */
static bool is_usual(const tile_binding *b) {
    static const tile_binding usual[] = {
        {"consumers", "cooperative"}, {"cluster_m", "1"}, {"cluster_n", "1"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(b->name, usual[i].name) == 0 && strcmp(b->value, usual[i].value) == 0)
            return true;
    return false;
}

static const char *name_point(const route *of, const tile_binding *bindings, unsigned count,
                              tile_arena *arena) {
    const char *text = "";
    for (unsigned i = 0; i < count; i++)
        if (!is_given(of, bindings[i].name) && !is_usual(&bindings[i]))
            text = tile_arena_format(arena, "%s%s%s=%s", text, *text ? " " : "", bindings[i].name,
                                     bindings[i].value);
    return text;
}

static bool take_rank(const tile_binding *bindings, unsigned count, double seconds, void *user) {
    ranking *r = user;
    r->list = tile_arena_grow(r->arena, r->list, r->count, &r->capacity, sizeof *r->list);
    r->list[r->count++] = (ranked){name_point(r->of, bindings, count, r->arena), seconds};
    return true;
}

static void read_sizes(const tile_function *f, const int64_t shape[3], int64_t *sizes) {
    static const char *const names[] = {"m", "n", "k"};
    for (size_t a = 0; a < f->arg_count && a < MAX_SIZES; a++) {
        sizes[a] = 0;
        for (unsigned i = 0; i < 3; i++)
            if (strcmp(f->args[a].name, names[i]) == 0) sizes[a] = shape[i];
    }
}

static const char *pick(const run *r, const route *of, const int64_t *sizes, tile_arena *arena) {
    const tile_device device = {.target = r->target, .num_sms = SMS};
    unsigned count;
    const tile_binding *found = tune_choose_point(&device, of->module, of->name, of->given,
                                                  of->given_count, sizes, arena, &count);
    return found ? name_point(of, found, count, arena) : "none";
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const ranked *)a)->point, ((const ranked *)b)->point);
}

/* The largest factor between the estimates of a point; 0: the routes have other points. */
static double compare_points(ranking ranks[ROUTES]) {
    double most = 1;
    if (ranks[0].count != ranks[1].count) return 0;
    for (unsigned i = 0; i < ROUTES; i++)
        qsort(ranks[i].list, ranks[i].count, sizeof(ranked), by_name);
    for (size_t i = 0; i < ranks[0].count; i++) {
        double factor = ranks[0].list[i].seconds / ranks[1].list[i].seconds;
        if (strcmp(ranks[0].list[i].point, ranks[1].list[i].point) != 0) return 0;
        most = fmax(most, fmax(factor, 1 / factor));
    }
    return most;
}

/* Compares what both routes make of one shape. */
static void compare(run *r, const route routes[ROUTES], const char *title, const int64_t *shape,
                    double tolerance) {
    tile_arena arena = {0};
    ranking ranks[ROUTES];
    const char *picks[ROUTES];
    const tile_device device = {.target = r->target, .num_sms = SMS};
    for (unsigned i = 0; i < ROUTES; i++) {
        int64_t sizes[MAX_SIZES];
        const route *of = &routes[i];
        ranks[i] = (ranking){.of = of, .arena = &arena};
        read_sizes(tile_module_find(of->module, of->name), shape, sizes);
        tune_rank_points(&device, of->module, of->name, of->given, of->given_count, sizes,
                         take_rank, &ranks[i]);
        picks[i] = pick(r, of, sizes, &arena);
    }
    const double factor = compare_points(ranks);
    const bool same_pick = strcmp(picks[0], picks[1]) == 0;
    const bool same =
        ranks[0].count && factor && factor <= tolerance && (same_pick || tolerance > 1);
    r->points += ranks[0].count;
    r->different += !same;
    r->compared++;
    if (!same || r->picks) {
        printf("%s %lldx%lldx%lld: ", title, (long long)shape[0], (long long)shape[1],
               (long long)shape[2]);
        if (factor)
            printf("estimates differ by a factor of %g\n", factor);
        else
            printf("the routes have other points\n");
        printf("  kernel  %zu points, pick %s\n  compute %zu points, pick %s\n", ranks[0].count,
               picks[0], ranks[1].count, picks[1]);
    }
    tile_arena_reset(&arena);
}

static void compare_type(run *r, size_t type, const char *layout) {
    tile_arena arena = {0};
    tile_context *context = tile_context_create();
    route routes[ROUTES];
    const char *title =
        tile_arena_format(&arena, "%s %s %s", r->target->name, types[type].operand, layout);
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    bool ok = open_kernel(r, context, type, layout, &arena, &routes[0]);
    ok &= open_compute(r, context, type, layout, &arena, &routes[1]);
    if (!ok) printf("%s: a route has no kernel\n", title);
    r->different += !ok;
    for (size_t s = 0; ok && s < SHAPES; s++)
        if (r->seen++ % r->shares == r->share - 1)
            compare(r, routes, title, shapes[s], types[type].tolerance);
    for (unsigned i = 0; i < ROUTES; i++) tile_module_destroy(routes[i].module);
    tile_context_restore(&diversion);
    tile_context_destroy(context);
    tile_arena_reset(&arena);
}

int main(int argc, char **argv) {
    const int files = argc - ROUTES;
    run all = {.share = 1, .shares = 1};
    bool differs = false;
    if (files < 1) {
        fprintf(stderr, "usage: tile-model-routes [--picks] [--share=I/N] [TARGET ..] KERNELS "
                        "COMPUTES\n");
        return 2;
    }
    for (int i = 1; i < files; i++) {
        if (strcmp(argv[i], "--picks") == 0) {
            all.picks = true;
            continue;
        }
        if (sscanf(argv[i], "--share=%u/%u", &all.share, &all.shares) == 2) continue;
        run r = all;
        r.target = tile_target_find(argv[i]);
        for (unsigned p = 0; p < ROUTES; p++) r.paths[p] = argv[(unsigned)files + p];
        if (!r.target) {
            fprintf(stderr, "there is no target %s\n", argv[i]);
            return 2;
        }
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
                compare_type(&r, t, layouts[l]);
        printf("%s: %u products, %zu points, %zu differ\n", r.target->name, r.compared, r.points,
               r.different);
        differs |= r.different > 0 || !r.compared;
    }
    return differs;
}
