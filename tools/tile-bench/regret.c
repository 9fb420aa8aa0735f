/* tile-bench regret: compares the cost model's first choices with measured times of many points, on
 * a machine without a GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/include.h"
#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/measure/candidate.h"
#include "tools/tile-bench/measure/options.h"
#include "tools/tile-bench/random/read_csv.h"
#include "tools/tile-bench/random/regret.h"

static const char help[] =
    "usage: tile-bench regret FILE.csv [options]\n"
    "Reads a file that `tile-bench matmul --random=.. --points=N --csv=FILE.csv` has written. The "
    "regret\n"
    "of a kernel at a shape is the time of the measured point that the cost model puts first, over "
    "the\n"
    "least time of the measured points, less 1. The model is this version's; no GPU is needed.\n"
    "\n"
    "  --mean=3 --most=10    limits of the mean and of each regret, in percent\n"
    "  --recorded            takes the estimates of the file instead of this version's model\n"
    "  --write=FILE          writes only what this command reads, to be kept\n"
    "  --worst=10            number of shapes that are listed\n" TOOL_INCLUDE_HELP "  --help\n"
    "\n"
    "Exit status: 0 if the limits hold, 1 otherwise.\n";

enum { MAX_SOURCES = 64 };

/* A kernel of the file, on a CPU device that has the target and the multiprocessors of the card. */
typedef struct source {
    const char *text, *target; /* of a row */
    double sms;
    char *words;
    char path[700];
    bench_candidate_options options;
    bench_lab *lab;
    bench_candidate *candidate; /* NULL: it cannot be read */
} source;

typedef struct regret {
    const char *file, *write;
    double mean, most; /* in percent */
    unsigned worst;
    bool recorded;
    tile_context *context;
    bench_report report;
    bench_space *spaces;
    size_t count;
    source sources[MAX_SOURCES];
    unsigned source_count;
} regret;

/* Sources ------------------------------------------------------------------------------------- */

/* Splits "FILE:NAME A=1 B={type}". */
static void read_source(source *s) {
    s->words = tool_copy(s->text, strlen(s->text));
    char *file = strtok(s->words, " "), *word;
    char *colon = strrchr(file, ':');
    while ((word = strtok(NULL, " ")) && s->options.binding_count < BENCH_MAX_BINDINGS)
        s->options.bindings[s->options.binding_count++] = word;
    if (colon && !strchr(colon, '/')) {
        *colon = 0;
        s->options.kernel = colon + 1;
    }
    bool shipped = !strchr(file, '/') && bench_find_kernel(file, s->path, sizeof s->path);
    s->options.file = shipped ? s->path : file;
}

static bool has_source(const source *s, const bench_row *row, const char *target) {
    return strcmp(s->text, bench_text_of(row, BENCH_source)) == 0 &&
           strcmp(s->target, target) == 0 && s->sms == bench_number_of(row, BENCH_sms);
}

/* NULL after a diagnostic. */
static bench_candidate *find_candidate(regret *r, const bench_row *row) {
    const char *target = bench_text_of(row, BENCH_target);
    if (!bench_text_of(row, BENCH_source) || !target || !tile_target_find(target)) {
        fprintf(stderr, "error: %s: a point lacks its source or its target\n", r->file);
        return NULL;
    }
    for (unsigned i = 0; i < r->source_count; i++)
        if (has_source(&r->sources[i], row, target)) return r->sources[i].candidate;
    if (r->source_count == MAX_SOURCES) {
        fprintf(stderr, "error: %s: it has more than %d kernels\n", r->file, MAX_SOURCES);
        return NULL;
    }
    source *s = &r->sources[r->source_count++];
    s->text = bench_text_of(row, BENCH_source);
    s->target = target;
    s->sms = bench_number_of(row, BENCH_sms);
    s->options.kind = BENCH_KERNEL;
    read_source(s);
    const bench_lab_options lab = {.sms = (unsigned)s->sms, .target = tile_target_find(target)};
    s->lab = bench_lab_open(r->context, &lab);
    if (s->lab) s->candidate = bench_candidate_create(r->context, s->lab, &s->options);
    return s->candidate;
}

static void close_sources(regret *r) {
    for (unsigned i = 0; i < r->source_count; i++) {
        bench_candidate_destroy(r->sources[i].candidate);
        bench_lab_close(r->sources[i].lab);
        free(r->sources[i].words);
    }
}

/* Estimates ----------------------------------------------------------------------------------- */

static bool take_estimate(const tile_binding *bindings, unsigned count, double seconds,
                          void *user) {
    bench_space *s = user;
    char text[BENCH_POINT_TEXT];
    bench_write_bindings(bindings, count, text, sizeof text);
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(bench_text_of(s->rows[i], BENCH_point), text) == 0) s->estimates[i] = seconds;
    return true;
}

/* Replaces the recorded estimates by those of this version's model. */
static bool estimate(regret *r, bench_space *s) {
    bench_problem problem;
    bench_candidate *candidate = find_candidate(r, s->rows[0]);
    if (!candidate) return false;
    if (!bench_read_identity(s->rows[0], &problem)) {
        fprintf(stderr, "error: %s: a row has no shape, type or layout\n", r->file);
        return false;
    }
    memset(s->estimates, 0, s->count * sizeof *s->estimates);
    if (bench_candidate_rank(candidate, &problem, take_estimate, s) != TILE_OK) return false;
    bench_set_regret(s);
    return true;
}

/* The report ---------------------------------------------------------------------------------- */

static int by_regret(const void *a, const void *b) {
    double x = ((const bench_space *)a)->regret, y = ((const bench_space *)b)->regret;
    return (x < y) - (x > y);
}

static void write_space(const bench_space *s) {
    printf("  %.1f %%  ", 100 * s->regret);
    bench_write_name(s->first, tool_write, stdout);
    printf("\n         first %.2f us: %s\n         least %.2f us: %s\n",
           bench_number_of(s->first, BENCH_latency_us), bench_text_of(s->first, BENCH_point),
           bench_number_of(s->best, BENCH_latency_us), bench_text_of(s->best, BENCH_point));
}

/* A space of which fewer than two points are left says nothing about the model. */
static bool are_known(const regret *r) {
    size_t points = 0, known = 0, lost = 0;
    for (size_t i = 0; i < r->count; i++) {
        points += r->spaces[i].count;
        known += r->spaces[i].known;
        lost += r->spaces[i].known < 2;
    }
    if (known < points)
        printf("%zu of %zu measured points are not in the space any more\n", points - known,
               points);
    if (lost)
        printf(
            "broken: %zu of %zu shapes have fewer than two known points; measure the file again\n",
            lost, r->count);
    return !lost;
}

static bool check_limit(const char *what, double value, double limit) {
    bool holds = value <= limit;
    printf("%s: %s %.2f %%, at most %g %%\n", holds ? "limit" : "broken", what, value, limit);
    return holds;
}

static bool report(regret *r) {
    double sum = 0;
    qsort(r->spaces, r->count, sizeof *r->spaces, by_regret);
    for (size_t i = 0; i < r->count; i++) sum += r->spaces[i].regret;
    const char *card = bench_text_of(&r->report.rows[0], BENCH_card);
    const char *version = bench_text_of(&r->report.rows[0], BENCH_version);
    printf("%zu shapes, measured on %s with version %s\n", r->count, card ? card : "?",
           version ? version : "?");
    bool known = are_known(r);
    for (size_t i = 0; i < r->count && i < r->worst; i++)
        if (r->spaces[i].first) write_space(&r->spaces[i]);
    bool mean = check_limit("mean regret", 100 * sum / (double)r->count, r->mean);
    bool most = check_limit("largest regret", 100 * r->spaces[0].regret, r->most);
    return known && mean && most;
}

/* Writes the rows of the points, with the columns that identify them, times and estimates. */
static bool write_points(const regret *r) {
    static const bench_column kept[] = {
        BENCH_name, BENCH_kind,   BENCH_status, BENCH_latency_us,  BENCH_card,  BENCH_target,
        BENCH_sms,  BENCH_source, BENCH_origin, BENCH_estimate_us, BENCH_point, BENCH_version,
    };
    bench_report small = {0};
    tool_text text = {NULL, 0, 0};
    for (size_t i = 0; i < r->report.count; i++) {
        const bench_row *from = &r->report.rows[i];
        if (!from->cells[BENCH_origin].known || !from->cells[BENCH_latency_us].known) continue;
        bench_row *to = bench_report_add(&small, from->group, 0);
        for (int c = 0; c <= BENCH_l2; c++) bench_copy_cell(from, to, (bench_column)c);
        for (size_t c = 0; c < sizeof kept / sizeof *kept; c++) bench_copy_cell(from, to, kept[c]);
    }
    bench_write_known_csv(&small, tool_append, &text);
    bool ok = tool_write_file(r->write, text.data, text.size);
    free(text.data);
    bench_report_free(&small);
    return ok;
}

static bool run(regret *r) {
    size_t size;
    bool ok = true;
    char *text = tool_read_file(r->file, &size);
    if (!text || !bench_read_csv(r->file, text, &r->report)) {
        free(text);
        return false;
    }
    free(text);
    r->spaces = bench_find_spaces(&r->report, &r->count);
    for (size_t i = 0; i < r->count && ok && !r->recorded; i++) ok = estimate(r, &r->spaces[i]);
    if (!r->count) {
        fprintf(stderr, "error: %s: it has no points; measure it with --points=N\n", r->file);
        ok = false;
    }
    if (ok && r->write) ok = write_points(r);
    return ok && report(r);
}

static bool parse_option(regret *r, tool_arguments *words) {
    const char *value;
    bool ok;
    if (tool_option(words, "--mean", &value))
        return bench_read_number("--mean", value, 0, 1e6, &r->mean);
    if (tool_option(words, "--most", &value))
        return bench_read_number("--most", value, 0, 1e6, &r->most);
    if (tool_option(words, "--worst", &value))
        return bench_read_count("--worst", value, 100000, &r->worst);
    if (tool_option(words, "--write", &r->write)) return true;
    if (tool_flag(words, "--recorded")) return r->recorded = true;
    if (tool_include_option(words, &ok)) return ok;
    if (!r->file && tool_positional(words, &r->file)) return true;
    fprintf(stderr, "error: unknown or incomplete option '%s'; see tile-bench regret --help\n",
            tool_current(words));
    return false;
}

int tile_bench_regret(tool_arguments *words) {
    static regret r = {.mean = 3, .most = 10, .worst = 10};
    while (words->next < words->argc) {
        if (tool_flag(words, "--help") || tool_flag(words, "-h")) {
            fputs(help, stdout);
            return tool_finish(true);
        }
        if (!parse_option(&r, words)) return 1;
    }
    if (!r.file) {
        fputs("error: which file? See tile-bench regret --help\n", stderr);
        return 1;
    }
    r.context = tile_context_create();
    tool_print_diagnostics(r.context);
    bool ok = run(&r);
    close_sources(&r);
    bench_free_spaces(r.spaces, r.count);
    bench_report_free(&r.report);
    tile_context_destroy(r.context);
    return tool_finish(ok);
}
