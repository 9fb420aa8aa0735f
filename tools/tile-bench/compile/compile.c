/* tile-bench compile: measures how fast kernels compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/assembler.h"
#include "tools/common/include.h"
#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/compile/run.h"
#include "tile/tune.h"

static const char help[] =
    "usage: tile-bench compile FILE [options]\n"
    "Compiles all points of a kernel's space (`tune`, `where`) in one process, and prints the "
    "rate,\n"
    "the time of each point, and the time of each step.\n"
    "\n"
    "  --kernel=NAME         the kernel; required if the file has several\n"
    "  --param NAME=VALUE    compiles only points with this value; may be repeated\n"
    "  --target=sm_90a       the GPU, one of\n"
    "     "
#define TARGET(name, ...) " " #name
#include "tile/targets.def"
#undef TARGET
    "\n"
    "  --workers=1,2         numbers of threads, one row each (default: 1)\n"
    "  --emit=ptx            ptx or cubin (with ptxas, a process for each)\n"
    "  --ptxas=PATH          the assembler to use\n"
    "  --rounds=1            repeats the measurement, and prints the fastest time, also of each "
    "point\n"
    "  --no-line-info        writes no .loc directives\n"
    "  --otherwise           also compiles the kernels that are launched only if another one "
    "cannot\n"
    "                        be; a launch compiles these when it needs them\n"
    "  --points              prints the time of each point, and the share of the passes, of "
    "building\n"
    "                        LLVM IR and of LLVM's instruction selection; the slowest "
    "first\n" TOOL_INCLUDE_HELP "  --help                prints this text\n";

enum { MAX_PARAMS = 32, MAX_ROWS = 16, MAX_WORKERS = 256 };

typedef struct options {
    const char *file, *emit, *ptxas;
    bench_compile_job job;
    tile_binding params[MAX_PARAMS];
    unsigned param_count;
    unsigned workers[MAX_ROWS], row_count;
    unsigned rounds;
    bool shows_points, help;
} options;

static bool complain(const char *what, const char *word) {
    fprintf(stderr, "error: %s '%s'; see tile-bench compile --help\n", what, word);
    return false;
}

/* Options -------------------------------------------------------------------------------------- */

static bool add_param(options *o, const char *text) {
    const char *why = tool_add_binding(o->params, MAX_PARAMS, &o->param_count, text);
    return !why || complain(why, text);
}

/* "1,2,16" */
static bool set_workers(options *o, const char *text) {
    o->row_count = 0;
    for (const char *at = text; o->row_count < MAX_ROWS; at++) {
        char *end;
        long count = strtol(at, &end, 10);
        if (end == at || count < 1 || count > MAX_WORKERS) break;
        o->workers[o->row_count++] = (unsigned)count;
        if (!*end) return true;
        if (*end != ',') break;
        at = end;
    }
    return complain("--workers takes up to 16 numbers from 1 to 256, not", text);
}

static bool set_rounds(options *o, const char *text) {
    char rest;
    return (sscanf(text, "%3u%c", &o->rounds, &rest) == 1 && o->rounds) ||
           complain("--rounds takes a number from 1 to 999, not", text);
}

static bool take_option(tool_arguments *words, options *o) {
    const char *value;
    bool ok;
    if (tool_option(words, "--target", &value)) {
        o->job.target = tile_target_find(value);
        return o->job.target || complain("there is no target", value);
    }
    if (tool_option(words, "--param", &value)) return add_param(o, value);
    if (tool_option(words, "--workers", &value)) return set_workers(o, value);
    if (tool_option(words, "--rounds", &value)) return set_rounds(o, value);
    if (tool_option(words, "--emit", &o->emit))
        return strcmp(o->emit, "ptx") == 0 || strcmp(o->emit, "cubin") == 0 ||
               complain("--emit knows ptx and cubin, not", o->emit);
    if (tool_option(words, "--kernel", &o->job.kernel) || tool_option(words, "--ptxas", &o->ptxas))
        return true;
    if (tool_include_option(words, &ok)) return ok;
    if (tool_flag(words, "--no-line-info")) return o->job.no_line_info = true;
    if (tool_flag(words, "--otherwise")) return o->job.all_kernels = true;
    if (tool_flag(words, "--points")) return o->shows_points = true;
    if (tool_flag(words, "--help") || tool_flag(words, "-h")) return o->help = true;
    if (!o->file && tool_positional(words, &o->file)) return true;
    return complain("unknown or incomplete option", tool_current(words));
}

/* Points --------------------------------------------------------------------------------------- */

typedef struct point_list {
    char **points;
    unsigned count, capacity;
} point_list;

static bool add_point(const char *point, void *user) {
    point_list *list = user;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        char **more = realloc(list->points, list->capacity * sizeof *more);
        if (!more) return false;
        list->points = more;
    }
    list->points[list->count++] = tool_copy(point, strlen(point));
    return true;
}

static void free_points(point_list *list) {
    for (unsigned i = 0; i < list->count; i++) free(list->points[i]);
    free(list->points);
}

static bool list_points(const options *o, point_list *list) {
    tile_context *context = tile_context_create();
    tool_print_diagnostics(context);
    tile_module *module = tool_parse(context, o->file, o->job.text, o->job.length);
    bool ok = module && tile_list_points(module, o->job.kernel, o->params, o->param_count,
                                         add_point, list) == TILE_OK;
    tile_module_destroy(module);
    tile_context_destroy(context);
    return ok;
}

/* Report --------------------------------------------------------------------------------------- */

static void print_row(const options *o, unsigned workers, const bench_compile_result *r) {
    double *times = malloc(o->job.point_count * sizeof *times), all = 0;
    if (!times) return;
    for (unsigned i = 0; i < o->job.point_count; i++) all += times[i] = r->points[i].cpu;
    bench_summary s = bench_summarize(times, o->job.point_count);
    printf("%7u %9.1f %8.2f %9.2f %9.2f %9.2f\n", workers, o->job.point_count / r->seconds,
           r->seconds, 1e3 * all / o->job.point_count, 1e3 * s.median, 1e3 * s.most);
    free(times);
}

static void print_stages(const bench_compile_result *r, unsigned points) {
    double stages[BENCH_STAGE_COUNT] = {0}, all = 0;
    for (unsigned p = 0; p < points; p++)
        for (unsigned i = 0; i < BENCH_STAGE_COUNT; i++) stages[i] += r->points[p].stages[i];
    for (unsigned i = 0; i < BENCH_STAGE_COUNT; i++) all += stages[i];
    for (unsigned i = 0; i < BENCH_STAGE_COUNT; i++)
        if (stages[i] > 0)
            printf("  %-18s %8.3f ms %5.1f %%\n", bench_stage_meaning((bench_stage)i),
                   1e3 * stages[i] / points, 100 * stages[i] / all);
}

/* Prints the points, slowest first. */
static void print_points(const options *o, const bench_compile_result *r) {
    printf("our passes   LLVM IR selection       all\n");
    for (unsigned shown = 0; shown < o->job.point_count; shown++) {
        unsigned slowest = 0;
        for (unsigned i = 1; i < o->job.point_count; i++)
            if (r->points[i].cpu > r->points[slowest].cpu) slowest = i;
        bench_compile_point *p = &r->points[slowest];
        printf("%10.2f %9.2f %9.2f %9.2f ms  %s\n", 1e3 * p->stages[BENCH_STAGE_own],
               1e3 * p->stages[BENCH_STAGE_build], 1e3 * p->stages[BENCH_STAGE_select],
               1e3 * p->cpu, o->job.points[slowest]);
        p->cpu = -1;
    }
}

/* Keeps the better time of the whole run and of each point. */
static void take_faster(bench_compile_result *best, const bench_compile_result *one,
                        unsigned points) {
    if (one->seconds < best->seconds) best->seconds = one->seconds;
    for (unsigned i = 0; i < points; i++)
        if (one->points[i].cpu < best->points[i].cpu) best->points[i] = one->points[i];
}

static bool measure(options *o, unsigned workers, bench_compile_result *best) {
    bool ok = bench_compile(&o->job, workers, best);
    o->job.is_quiet = true;
    for (unsigned round = 1; round < o->rounds && ok; round++) {
        bench_compile_result one;
        ok = bench_compile(&o->job, workers, &one);
        if (ok) take_faster(best, &one, o->job.point_count);
        free(one.points);
    }
    return ok;
}

static bool run(options *o) {
    bench_compile_result first = {.points = NULL}, result;
    bool ok = true;
    printf("%u point%s, %s for %s; one: milliseconds of a thread, without ptxas\n",
           o->job.point_count, o->job.point_count == 1 ? "" : "s", o->emit, o->job.target->name);
    printf("workers  a second    all, s  one, mean    median   slowest\n");
    for (unsigned i = 0; i < o->row_count && ok; i++) {
        ok = measure(o, o->workers[i], &result);
        if (ok) print_row(o, o->workers[i], &result);
        if (i == 0)
            first = result;
        else
            free(result.points);
        fflush(stdout);
    }
    if (ok) printf("one point with %u worker%s:\n", o->workers[0], o->workers[0] == 1 ? "" : "s");
    if (ok) print_stages(&first, o->job.point_count);
    if (ok && o->shows_points) print_points(o, &first);
    if (ok && first.failed)
        fprintf(stderr, "%u of the points cannot be compiled%s\n", first.failed,
                first.failed > 1 ? "; the error is the first one's" : "");
    ok = ok && first.failed < o->job.point_count;
    free(first.points);
    return ok;
}

static bool run_file(options *o) {
    point_list list = {NULL, 0, 0};
    char *found = NULL, *text = tool_read_file(o->file, &o->job.length);
    o->job.path = o->file;
    o->job.text = text;
    if (strcmp(o->emit, "cubin") == 0)
        o->job.ptxas = o->ptxas ? o->ptxas : (found = tool_find_ptxas());
    bool ok = text && (o->job.ptxas || strcmp(o->emit, "cubin") != 0 ||
                       complain("there is no ptxas for", "--emit=cubin"));
    if (ok) ok = list_points(o, &list);
    o->job.points = (const char *const *)list.points;
    o->job.point_count = list.count;
    if (ok) ok = run(o);
    free_points(&list);
    free(found);
    free(text);
    return ok;
}

int tile_bench_compile(tool_arguments *words) {
    options o = {.emit = "ptx",
                 .job = {.target = tile_target_find("sm_90a")},
                 .workers = {1},
                 .row_count = 1,
                 .rounds = 1};
    bool ok = true;
    while (ok && !o.help && words->next < words->argc) ok = take_option(words, &o);
    if (o.help)
        fputs(help, stdout);
    else if (ok)
        ok = o.file ? run_file(&o) : complain("there is no file: which", "FILE");
    for (unsigned i = 0; i < o.param_count; i++) free((char *)o.params[i].name);
    return tool_finish(ok);
}
