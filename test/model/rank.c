/* Ranks the points of kernels, and says how long that takes:
 *
 *     tile-model-rank TARGET [--time=N] [--points] [--shape=m=1,n=2 ..] [NAME=VALUE ..] FILE ..
 *
 * The values bind parameters that have no default and no `tune`; computes are scheduled with them.
 * The functions of the files with a tuning space are ranked for each shape: integer arguments that
 * it does not name are 1024. Without --shape there are a few shapes. A line is printed for each:
 * the number of points, a digest of their order and estimates, and the chosen point. --points
 * prints all points in their order. With --time, the least times of N runs are printed instead
 * of digests: `rank` is enumerating and ranking all points, `choose` what the first launch of a new
 * shape does. Exit status: 1 if nothing has points. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/ir/syntax.h"
#include "lib/support/context.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "runtime/model/choose.h"
#include "runtime/model/space.h"
#include "tile/build.h"
#include "tile/pass.h"
#include "tile/tune.h"
#include "test/model/parse_module.h"

enum { MAX_BINDINGS = 16, MAX_SHAPES = 64, OTHER_SIZE = 1024 };

static const char *const default_shapes[] = {
    "m=4096,n=4096,k=4096", "m=64,n=4096,k=8192",   "m=1,n=4096,k=4096",  "m=1000,n=3000,k=5000",
    "m=4095,n=4095,k=4097", "m=7088,n=13088,k=240", "m=256,n=256,k=65536"};

typedef struct run {
    const tile_target *target;
    tile_binding given[MAX_BINDINGS];
    unsigned given_count;
    const char *shapes[MAX_SHAPES];
    unsigned shape_count, repeats;
    bool prints_points;
    tile_module *module;
    const tile_function *f;
    const char *path;
    size_t listed;
} run;

/* Ranking -------------------------------------------------------------------------------------- */

typedef struct ranking {
    bool prints;
    size_t count;
    uint64_t digest;
} ranking;

static void digest(ranking *r, const void *data, size_t size) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) r->digest = (r->digest ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static bool take_rank(const tile_binding *bindings, unsigned count, double seconds, void *user) {
    ranking *r = user;
    r->count++;
    digest(r, &seconds, sizeof seconds);
    for (unsigned i = 0; i < count; i++) {
        digest(r, bindings[i].name, strlen(bindings[i].name) + 1);
        digest(r, bindings[i].value, strlen(bindings[i].value) + 1);
        if (r->prints) printf(" %s=%s", bindings[i].name, bindings[i].value);
    }
    if (r->prints) printf(" %a\n", seconds);
    return true;
}

/* Seconds of the process, so that other ones do not count. */
static double now(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

static bool count_rank(const tile_binding *bindings, unsigned count, double seconds, void *user) {
    (void)bindings, (void)count, (void)seconds;
    ++*(size_t *)user;
    return true;
}

static void print_times(const run *r, const tile_device *device, const int64_t *sizes) {
    double rank = INFINITY, choose = INFINITY; /* milliseconds */
    size_t points = 0;
    for (unsigned i = 0; i < r->repeats; i++) {
        tile_arena arena = {0};
        unsigned count;
        double start = now();
        points = 0;
        tune_rank_points(device, r->module, r->f->name, r->given, r->given_count, sizes, count_rank,
                         &points);
        rank = least(rank, 1e3 * (now() - start));
        start = now();
        tune_choose_point(device, r->module, r->f->name, r->given, r->given_count, sizes, &arena,
                          &count);
        choose = least(choose, 1e3 * (now() - start));
        tile_arena_reset(&arena);
    }
    printf(" %zu points, rank %.2f ms (%.2f ms for 3000), choose %.2f ms\n", points, rank,
           points ? 3000 * rank / (double)points : 0, choose);
}

static void print_order(const run *r, const tile_device *device, const int64_t *sizes) {
    tile_arena arena = {0};
    ranking all = {.prints = r->prints_points, .digest = UINT64_C(0xcbf29ce484222325)};
    unsigned count = 0;
    if (r->prints_points) printf("\n");
    tune_rank_points(device, r->module, r->f->name, r->given, r->given_count, sizes, take_rank,
                     &all);
    printf(" %zu points, %016" PRIx64 ", chosen:", all.count, all.digest);
    const tile_binding *chosen = tune_choose_point(device, r->module, r->f->name, r->given,
                                                   r->given_count, sizes, &arena, &count);
    for (unsigned i = 0; chosen && i < count; i++)
        printf(" %s=%s", chosen[i].name, chosen[i].value);
    printf("\n");
    tile_arena_reset(&arena);
}

/* Shapes --------------------------------------------------------------------------------------- */

/* The value of the name in "m=1,n=2". */
static int64_t size_of(const char *shape, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = shape; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return strtoll(at + length + 1, NULL, 10);
    return OTHER_SIZE;
}

static void rank_shape(run *r, const char *shape) {
    tile_arena arena = {0};
    const tile_device device = {
        .context = tile_module_context(r->module), .target = r->target, .num_sms = 132};
    int64_t *sizes = TILE_NEW_ARRAY(&arena, int64_t, TILE_MAX_ARGUMENTS);
    for (size_t i = 0; i < r->f->arg_count; i++) sizes[i] = size_of(shape, r->f->args[i].name);
    printf("%s @%s %s %s:", r->path, r->f->name, r->target->name, shape);
    if (r->repeats)
        print_times(r, &device, sizes);
    else
        print_order(r, &device, sizes);
    r->listed++;
    tile_arena_reset(&arena);
}

/* Functions ------------------------------------------------------------------------------------ */

static bool is_bound(const run *r, const char *name) {
    for (unsigned i = 0; i < r->given_count; i++)
        if (strcmp(r->given[i].name, name) == 0) return true;
    return false;
}

/* True if the values bind all parameters that the function leaves open, and some are tuned. */
static bool has_points(const run *r, const tile_function *f) {
    bool complete = true, tuned = false;
    for (size_t i = 0; i < f->param_count; i++) {
        bool own = tile_is_tuned(f, f->params[i].name);
        tuned |= own && !is_bound(r, f->params[i].name);
        complete &= own || is_bound(r, f->params[i].name) || f->params[i].default_expr ||
                    f->params[i].default_type;
    }
    return complete && tuned;
}

static void rank_function(run *r, tile_function *f) {
    if (tile_resolve_tuning(f, r->target, r->given, r->given_count) != TILE_OK ||
        tile_plan_take_points(f) != TILE_OK || !has_points(r, f))
        return;
    r->f = f;
    for (unsigned i = 0; i < r->shape_count; i++) rank_shape(r, r->shapes[i]);
}

/* The compute's kernel or plan, if the values bind all of its parameters. */
static void rank_compute(run *r, const tile_function *compute) {
    tile_binding left[MAX_BINDINGS];
    const char *name = NULL;
    const tile_binding *given = r->given;
    unsigned count = r->given_count;
    tile_module *before = r->module;
    memcpy(left, given, sizeof *left * count);
    r->module = tile_module_clone(before);
    if (tile_schedule(r->module, compute->name, r->target, left, &count, &name) == TILE_OK) {
        r->given_count = 0;
        rank_function(r, tile_module_find(r->module, name));
        r->given_count = (unsigned)(given == r->given ? count : 0);
    }
    tile_module_destroy(r->module);
    r->module = before;
}

static void visit_file(run *r, const char *path) {
    tile_context *context = tile_context_create();
    tile_module *module = parse_module(context, path);
    const tile_diversion diversion = tile_context_divert(context, NULL, NULL);
    const unsigned given_count = r->given_count;
    r->path = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    for (tile_function *f = module->first; f; f = f->next) {
        r->module = module;
        r->given_count = given_count;
        if (f->kind == TILE_COMPUTE)
            rank_compute(r, f);
        else if (tile_function_is_launched(f))
            rank_function(r, f);
    }
    r->given_count = given_count;
    tile_context_restore(&diversion);
    tile_module_destroy(module);
    tile_context_destroy(context);
}

int main(int argc, char **argv) {
    run r = {.target = argc > 1 ? tile_target_find(argv[1]) : NULL};
    if (!r.target) {
        fprintf(stderr, "usage: tile-model-rank TARGET [--time=N] [--points] [--shape=m=1,n=2 ..] "
                        "[NAME=VALUE ..] FILE ..\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "--shape=", 8) == 0 && r.shape_count < MAX_SHAPES)
            r.shapes[r.shape_count++] = argv[i] + 8;
    for (size_t i = 0; !r.shape_count || (r.shapes[0] == default_shapes[0] && i < 7); i++)
        r.shapes[r.shape_count++] = default_shapes[i];
    for (int i = 2; i < argc; i++) {
        char *equal = strchr(argv[i], '=');
        if (strncmp(argv[i], "--shape=", 8) == 0 || strcmp(argv[i], "--points") == 0) {
            r.prints_points |= strcmp(argv[i], "--points") == 0;
        } else if (sscanf(argv[i], "--time=%3u", &r.repeats) == 1) {
            continue;
        } else if (equal && r.given_count < MAX_BINDINGS) {
            *equal = 0;
            r.given[r.given_count++] = (tile_binding){argv[i], equal + 1};
        } else {
            visit_file(&r, argv[i]);
        }
    }
    return !r.listed;
}
