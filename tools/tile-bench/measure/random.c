#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/measure/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "tools/tile-bench/measure/options.h"
#include "tools/tile-bench/random/read_csv.h"

const char bench_random_help[] =
    "  --random=SEED --count=N  N random problems for each type and layout instead of shapes. "
    "Prints\n"
    "                        each result as it comes, then the distribution of the ratios. "
    "--csv=FILE\n"
    "                        is written after each problem; if it exists, the problems in it are "
    "not\n"
    "                        measured again. --seconds=N then limits the run: no problem begins "
    "later\n"
    "  --classes=64,8,1      random extents are multiples of these numbers, in turn\n"
    "  --route=kernel        without --kernel: kernel, the ones that ship with the tools; compute: "
    "a\n"
    "                        compute that the compiler schedules; both with a comma\n"
    "  --one-of=type,trans,route  a random problem has one of the given types, layouts or routes, "
    "also\n"
    "                        drawn; without it there is one with each\n"
    "  --max-bytes=N         of all arrays of a random problem together; default: 2^30, on the "
    "CPU\n"
    "                        device 32768\n"
    "  --min-bytes=N         likewise; default: 0\n"
    "  --max-m=N             of random products: m is at most N\n"
    "  --points=N            also measures N points of each kernel: its pick, the model's best, "
    "and\n"
    "                        others at random, for `tile-bench regret`\n"
    "  --commit=WORD         recorded in the file beside card and version\n";

static bool add_classes(bench_options *o, const char *value) {
    bench_draw *draw = &o->random.draw;
    char piece[16];
    double number;
    draw->class_count = 0;
    while (bench_next_word(&value, piece)) {
        if (!bench_read_number("--classes", piece, 1, BENCH_LARGEST_RANDOM, &number)) return false;
        if (draw->class_count == BENCH_MAX_CLASSES)
            return bench_complain(o, "there are too many classes, with", piece);
        draw->classes[draw->class_count++] = (int64_t)number;
    }
    return true;
}

static bool add_routes(bench_options *o, const char *value) {
    char piece[16];
    while (bench_next_word(&value, piece)) {
        bool kernel = strcmp(piece, "kernel") == 0;
        if (!kernel && strcmp(piece, "compute") != 0)
            return bench_complain(o, "--route takes kernel, compute, not", piece);
        o->random.by_kernel |= kernel;
        o->random.by_compute |= !kernel;
    }
    return true;
}

static bool add_choices(bench_options *o, const char *value) {
    bench_random_options *random = &o->random;
    char piece[16];
    while (bench_next_word(&value, piece)) {
        bool type = strcmp(piece, "type") == 0, trans = strcmp(piece, "trans") == 0;
        bool route = strcmp(piece, "route") == 0;
        if (!type && !trans && !route)
            return bench_complain(o, "--one-of takes type, trans, route, not", piece);
        random->one_type |= type;
        random->one_trans |= trans;
        random->one_route |= route;
    }
    return true;
}

bool bench_add_route(bench_options *o, const char *name, unsigned part, const char *file,
                     const char *kernel, const char *const *params) {
    const char *const files[] = {file, NULL};
    unsigned index = o->plan.contender_count;
    if (!bench_add_shipped(o, files, kernel, params)) return false;
    o->plan.contenders[index].name = name;
    o->plan.contenders[index].part = part;
    o->plan.contenders[index].route =
        strcmp(name, "kernel") == 0 ? BENCH_BY_KERNEL : BENCH_BY_COMPUTE;
    return true;
}

bool bench_random_option(bench_options *o, tool_arguments *words, bool *taken) {
    bench_random_options *random = &o->random;
    const char *value;
    double number;
    *taken = true;
    if (tool_option(words, "--random", &value)) {
        random->is_given = bench_read_number("--random", value, 0, 0x1p53, &number);
        random->draw.seed = random->is_given ? (uint64_t)number : 0;
        if (!random->count) random->count = 1;
        return random->is_given;
    }
    if (tool_option(words, "--count", &value))
        return bench_read_count("--count", value, 100000, &random->count);
    if (tool_option(words, "--route", &value)) return add_routes(o, value);
    if (tool_option(words, "--classes", &value)) return add_classes(o, value);
    if (tool_option(words, "--one-of", &value)) return add_choices(o, value);
    if (tool_option(words, "--max-bytes", &value))
        return bench_read_number("--max-bytes", value, 1, 0x1p53, &random->draw.max_bytes);
    if (tool_option(words, "--min-bytes", &value))
        return bench_read_number("--min-bytes", value, 0, 0x1p53, &random->draw.min_bytes);
    if (tool_option(words, "--max-m", &value)) {
        if (!bench_read_number("--max-m", value, 1, BENCH_LARGEST_RANDOM, &number)) return false;
        random->draw.max_m = (int64_t)number;
        return true;
    }
    if (tool_option(words, "--points", &value))
        return bench_read_count("--points", value, 64, &o->plan.points);
    if (tool_option(words, "--commit", &random->commit)) return true;
    *taken = false;
    return true;
}

static bool has_choices(const bench_random_options *random) {
    return random->one_type || random->one_trans || random->one_route;
}

bool bench_random_complete(bench_options *o) {
    bench_random_options *random = &o->random;
    if (!random->is_given &&
        (random->count || random->draw.class_count || random->draw.max_bytes > 0 ||
         random->draw.min_bytes > 0 || random->draw.max_m || random->commit || o->plan.points ||
         random->by_kernel || random->by_compute || has_choices(random)))
        return bench_complain(
            o,
            "--count, --classes, --min-bytes, --max-bytes, --max-m, --route, --one-of, --points "
            "and --commit need",
            "--random");
    if (!random->is_given) return true;
    if (o->shapes.count) return bench_complain(o, "there are shapes beside", "--random");
    if (o->plan.sustained)
        return bench_complain(o, "random problems are measured by the protocol", "interleaved");
    if (o->plan.contender_count && (random->by_kernel || random->by_compute))
        return bench_complain(o, "--route chooses kernels; remove", "--kernel");
    if (!random->by_compute && !o->plan.contender_count) random->by_kernel = true;
    if (o->plan.points && strcmp(o->command, "matmul") != 0)
        return bench_complain(o, "only products have", "--points");
    if (has_choices(random) && strcmp(o->command, "matmul") != 0)
        return bench_complain(o, "only products have", "--one-of");
    if (o->best) return bench_complain(o, "--random prints no table for", "--best");
    return random->draw.class_count || add_classes(o, "64,8,1");
}

/* The rows of an earlier run ------------------------------------------------------------------ */

static bool has_text(const bench_row *row, bench_column column, const char *text) {
    const char *own = bench_text_of(row, column);
    return own && strcmp(own, text) == 0;
}

/* Times of another device or compiler are not comparable. */
static bool is_of_this_run(const bench_options *o, const bench_report *report) {
    for (size_t i = 0; i < report->count; i++) {
        const bench_row *row = &report->rows[i];
        const char *card = bench_text_of(row, BENCH_card);
        const char *target = bench_text_of(row, BENCH_target);
        const char *version = bench_text_of(row, BENCH_version);
        if (has_text(row, BENCH_card, o->plan.card) &&
            has_text(row, BENCH_target, o->plan.target) &&
            has_text(row, BENCH_version, o->plan.version))
            continue;
        fprintf(stderr,
                "error: %s: it has results of %s, target %s, version %s, and these would be of %s, "
                "target %s, version %s; name another file\n",
                o->csv, card ? card : "an unknown card", target ? target : "unknown",
                version ? version : "unknown", o->plan.card, o->plan.target, o->plan.version);
        return false;
    }
    return true;
}

/* Marks the rows of the problem as this run's. True if they have a result, right or not, of each
 * kernel that takes part. */
static bool take_rows(const bench_plan *plan, const bench_problem *problem, const char *flush,
                      bench_report *report) {
    bool found[BENCH_MAX_CANDIDATES] = {false}, all = true;
    bench_report own = {0};
    const bench_row *wanted = bench_add_identity(problem, flush, &own);
    for (size_t i = 0; i < report->count; i++) {
        if (!bench_same_problem(&report->rows[i], wanted)) continue;
        report->rows[i].is_other = false;
        for (unsigned c = 0; c < plan->contender_count; c++)
            found[c] |= has_text(&report->rows[i], BENCH_name, plan->contenders[c].name);
    }
    bench_report_free(&own);
    for (unsigned c = 0; c < plan->contender_count; c++)
        all &= found[c] || strcmp(plan->contenders[c].kind, "kernel") != 0 ||
               !bench_takes_part(&plan->contenders[c], problem);
    return all;
}

/* Keeps the problems that the rows do not have. */
static void drop_measured(bench_plan *plan, bench_report *report) {
    size_t kept = 0;
    for (size_t i = 0; i < report->count; i++) report->rows[i].is_other = true;
    for (size_t i = 0; i < plan->problem_count; i++) {
        const bench_problem problem = plan->problems[i];
        bool all = true;
        for (unsigned f = 0; f < plan->flush_count; f++)
            all &= take_rows(plan, &problem, plan->flushes[f], report);
        if (!all) plan->problems[kept++] = problem;
    }
    plan->problem_count = kept;
}

bool bench_random_begin(bench_options *o, bench_report *report) {
    static char version[120];
    snprintf(version, sizeof version, "%s%s%s", tile_version_string(), o->random.commit ? " " : "",
             o->random.commit ? o->random.commit : "");
    o->plan.version = version;
    o->plan.card = *report->facts.name ? report->facts.name : "unknown";
    o->plan.target = o->target ? o->target : report->facts.target;
    o->plan.sms = report->facts.sms;
    o->random.all = o->plan.problem_count;
    if (o->random.has_seconds) o->plan.deadline = tile_seconds_now() + o->plan.seconds;
    if (!o->csv || strcmp(o->csv, "-") == 0 || access(o->csv, F_OK) != 0) return true;
    size_t size;
    char *text = tool_read_file(o->csv, &size);
    bool ok = text && bench_read_csv(o->csv, text, report) && is_of_this_run(o, report);
    free(text);
    if (!ok) return false;
    drop_measured(&o->plan, report);
    fprintf(stderr, "remark: %s has %zu of the %zu problems\n", o->csv,
            o->random.all - o->plan.problem_count, o->random.all);
    return true;
}

/* Writes a file and renames it, so that a run that is killed leaves a complete one. */
bool bench_random_write(const bench_options *o, const bench_report *report) {
    tool_text text = {NULL, 0, 0};
    if (!o->csv) return true;
    bench_write_csv(report, tool_append, &text);
    bool output = strcmp(o->csv, "-") == 0;
    const char *part = output ? o->csv : bench_word(o->csv, ".part", strlen(".part"));
    bool ok = tool_write_file(part, text.data, text.size);
    if (ok && !output && rename(part, o->csv) != 0) {
        fprintf(stderr, "error: %s: it cannot be renamed to %s\n", part, o->csv);
        ok = false;
    }
    if (!output) free((char *)part);
    free(text.data);
    return ok;
}

void bench_random_finish(const bench_options *o, const bench_report *report) {
    const size_t all = o->random.all, left = o->plan.problem_count - o->random.done;
    fputs("\n", stdout);
    bench_write_distributions(report, tool_write, stdout);
    if (left)
        bench_print(tool_write, stdout,
                    "%zu of %zu problems were not measured; the same command with --csv=FILE "
                    "continues that file\n",
                    left, all);
}
