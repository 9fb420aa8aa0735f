/* Shared by the commands that measure: options, candidates, device and report. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/measure/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "tools/common/assembler.h"
#include "tools/common/include.h"
#include "tools/common/worker.h"
#include "tools/tile-bench/common/pool.h"
#include "tools/tile-bench/report/limits.h"

const char bench_kernel_help[] =
    "  --tune[=SECONDS]      tunes each kernel for each shape first, with this time limit; without "
    "a\n"
    "                        number: 4 s, and 50 ns for each element of the arrays\n"
    "  --retune              tunes even if the cache has a point\n"
    "  --split               also tries to split the reduction loop if the text does not split "
    "it\n";

const char bench_measuring_help[] =
    "  --protocol=interleaved  in random order, one launch after the other, ranked by latency\n"
    "                        (default)\n"
    "           sustained    each candidate back to back, with clock and power; ranked by energy "
    "if\n"
    "                        the chip is at its power limit\n"
    "           both\n"
    "  --l2=dirty            state of the L2 before each launch of `interleaved`: dirty, a buffer "
    "is\n"
    "                        written; clean, a buffer is read; none. Several with commas\n"
    "  --rounds=20 --turn=5  interleaved: number of rounds, and launches of a candidate in each\n"
    "  --seconds=1           sustained: time of each candidate\n"
    "  --pairs=N             sustained: measures each kernel and the peer N times one after the\n"
    "                        other, in changing order; the ratio is the median of the pairs'\n"
    "                        ratios. Clock and temperature drift, so only a pair can be compared.\n"
    "                        Without it: each once\n"
    "  --timeout=60          stops a worker that gives no answer for so many seconds; a worker "
    "that\n"
    "                        tunes has the seconds of --tune in addition, and each of its points "
    "a\n"
    "                        third of this time\n"
    "  --seed=N              seed of the random order\n"
    "  --profile             adds counters of Nsight Compute's ncu, if it is found\n"
    "  --device=auto|cpu|cuda  the device; the CPU device only shows that everything works, and "
    "its\n"
    "                        times mean nothing\n"
    "  --target=sm_90        compiles for another target of the GPU's generation, so that "
    "products\n"
    "                        use mma.sync; default: the target with the most features\n"
    "  --no-kernels          measures only the peers and the floors\n"
    "  --no-floor            does not measure the reading kernel\n"
    "  --best=N              prints the N fastest kernels of each shape, each on one line\n"
    "  --csv=FILE --json=FILE --svg=FILE  also writes the table in this form; - is standard "
    "output,\n"
    "                        instead of the text\n"
    "  --ptxas=FILE          the assembler for the GPU (default: the driver's)\n" TOOL_INCLUDE_HELP
        TOOL_CACHE_HELP "  --help\n";

bool bench_complain(const bench_options *o, const char *what, const char *word) {
    fprintf(stderr, "error: %s '%s'; see tile-bench %s --help\n", what, word, o->command);
    return false;
}

/* Options ------------------------------------------------------------------------------------- */

/* Returns the next word of a comma-separated list and moves *text past it. False at the end. */
bool bench_next_word(const char **text, char piece[16]) {
    size_t length = strcspn(*text, ",");
    if (!**text) return false;
    snprintf(piece, 16, "%.*s", (int)length, *text);
    *text += length + ((*text)[length] == ',');
    return true;
}

bool bench_add_types(bench_options *o, const char *value) {
    char piece[16], what[80];
    while (bench_next_word(&value, piece)) {
        const bench_type *type = bench_type_find(piece);
        bool known = type && strstr(o->allowed_types, piece);
        snprintf(what, sizeof what, "--type takes %s, not", o->allowed_types);
        if (!known || o->type_count == BENCH_MAX_TYPES) return bench_complain(o, what, piece);
        o->types[o->type_count++] = type;
    }
    return true;
}

bool bench_read_number(const char *name, const char *text, double least, double most,
                       double *number) {
    char *end;
    *number = strtod(text, &end);
    if (end != text && !*end && *number >= least && *number <= most) return true;
    fprintf(stderr, "error: %s: expected a number from %.16g to %.16g, found '%s'\n", name, least,
            most, text);
    return false;
}

bool bench_read_count(const char *name, const char *text, unsigned most, unsigned *count) {
    double number;
    if (!bench_read_number(name, text, 1, most, &number)) return false;
    *count = (unsigned)number;
    return true;
}

static bool choose_protocol(bench_options *o, const char *value) {
    bench_plan *plan = &o->plan;
    bool both = strcmp(value, "both") == 0;
    plan->interleaved = both || strcmp(value, "interleaved") == 0;
    plan->sustained = both || strcmp(value, "sustained") == 0;
    return plan->interleaved || plan->sustained ||
           bench_complain(o, "--protocol takes interleaved, sustained or both, not", value);
}

static bool add_flushes(bench_options *o, const char *value) {
    bench_plan *plan = &o->plan;
    static const char *const words[] = {"dirty", "clean", "none"};
    char piece[16];
    while (bench_next_word(&value, piece)) {
        unsigned i = 0;
        while (i < 3 && strcmp(piece, words[i]) != 0) i++;
        if (i == 3 || plan->flush_count == 3)
            return bench_complain(o, "--l2 takes dirty, clean, none, not", piece);
        plan->flushes[plan->flush_count++] = words[i];
    }
    return true;
}

static bool parse_measuring(bench_options *o, tool_arguments *words, bool *taken) {
    bench_plan *plan = &o->plan;
    const char *value;
    double number;
    *taken = true;
    if (tool_option(words, "--protocol", &value)) return choose_protocol(o, value);
    if (tool_option(words, "--l2", &value)) return add_flushes(o, value);
    if (tool_option(words, "--rounds", &value))
        return bench_read_count("--rounds", value, 100000, &plan->rounds);
    if (tool_option(words, "--turn", &value))
        return bench_read_count("--turn", value, 10000, &plan->turn);
    if (tool_option(words, "--seconds", &value))
        return bench_read_number("--seconds", value, 0.01, 86400, &plan->seconds) &&
               (o->random.has_seconds = true);
    if (tool_option(words, "--pairs", &value))
        return bench_read_count("--pairs", value, BENCH_MAX_PAIRS, &plan->pairs);
    if (tool_option(words, "--timeout", &value))
        return bench_read_number("--timeout", value, 0.1, 86400, &plan->answer_timeout);
    if (tool_flag(words, "--tune")) {
        plan->budget = -1;
        return true;
    }
    if (tool_option(words, "--tune", &value))
        return bench_read_number("--tune", value, 0.1, 86400, &plan->budget);
    if (tool_option(words, "--seed", &value)) {
        bool ok = bench_read_number("--seed", value, 0, 0x1p53, &number);
        plan->seed = ok ? (uint64_t)number : 0;
        return ok;
    }
    *taken = false;
    return true;
}

static bool parse_rest(bench_options *o, tool_arguments *words, bool *taken) {
    const char *value;
    bool ok;
    *taken = true;
    if (tool_option(words, "--best", &value))
        return bench_read_count("--best", value, 64, &o->best);
    if (tool_option(words, "--kernel", &value)) return bench_add_kernel(o, value);
    if (tool_option(words, "--param", &value)) return bench_add_param(o, value);
    if (tool_option(words, "--point", &value)) return bench_add_point(o, value);
    if (tool_option(words, "--shape", &value)) return bench_shapes_add(&o->shapes, value);
    if (tool_option(words, "--shapes", &value)) return bench_shapes_add_list(&o->shapes, value);
    if (tool_option(words, "--type", &value) || tool_option(words, "--types", &value))
        return bench_add_types(o, value);
    if (tool_option(words, "--device", &o->device) || tool_option(words, "--csv", &o->csv) ||
        tool_option(words, "--json", &o->json) || tool_option(words, "--svg", &o->svg) ||
        tool_option(words, "--ptxas", &o->ptxas) || tool_cache_option(words, &o->cache))
        return true;
    if (tool_include_option(words, &ok)) return ok;
    if (tool_option(words, "--target", &o->target))
        return tile_target_find(o->target) || bench_complain(o, "there is no target", o->target);
    if (tool_flag(words, "--retune")) return o->retunes = true;
    if (tool_flag(words, "--split")) return o->splits = true;
    if (tool_flag(words, "--no-kernels")) return o->no_kernels = true;
    if (tool_flag(words, "--profile")) return o->profiles = true;
    if (tool_flag(words, "--no-floor")) return o->no_floor = true;
    *taken = false;
    return true;
}

bool bench_parse_option(bench_options *o, tool_arguments *words, bool *taken) {
    return parse_measuring(o, words, taken) && (*taken || parse_rest(o, words, taken)) &&
           (*taken || bench_random_option(o, words, taken));
}

static bool complete(bench_options *o) {
    if (!o->shapes.count && !o->random.count) {
        fprintf(
            stderr,
            "error: which %s? Give --shape or --shapes, or --random; see tile-bench %s --help\n",
            o->subject, o->command);
        return false;
    }
    if (!o->type_count && !bench_add_types(o, "f16")) return false;
    if ((o->retunes || o->splits) && o->plan.budget == 0)
        return bench_complain(o, "there is no --tune beside", o->retunes ? "--retune" : "--split");
    if (!o->plan.flush_count && !add_flushes(o, "dirty")) return false;
    if (o->device && strcmp(o->device, "auto") != 0 && strcmp(o->device, "cpu") != 0 &&
        strcmp(o->device, "cuda") != 0)
        return bench_complain(o, "--device takes auto, cpu or cuda, not", o->device);
    return true;
}

/* The device ---------------------------------------------------------------------------------- */

/* This process never opens the GPU: a worker of the reading kernel reports its properties. */
static bool query_facts(const char *device, double answer_timeout, bench_facts *facts,
                        char why[400]) {
    const char *words[] = {"worker", "--candidate=read", device, "--no-cache", NULL};
    bench_worker *worker = bench_worker_start(NULL, words, NULL, NULL);
    int at = 0;
    unsigned long long l2 = 0;
    bench_worker_send(worker, "facts");
    const char *answer = bench_worker_receive(worker, answer_timeout);
    *facts = (bench_facts){0};
    bool ok =
        sscanf(answer, "facts %u %u %u %u %llu %31s %15s %n", &facts->sms, &facts->capability,
               &facts->clock, &facts->power_limit, &l2, facts->driver, facts->target, &at) >= 7;
    if (ok) {
        snprintf(facts->name, sizeof facts->name, "%s", answer + at);
        if (strcmp(facts->driver, "-") == 0) *facts->driver = 0;
        facts->l2_bytes = l2;
    } else {
        const char *space = strchr(answer, ' ');
        snprintf(why, 400, "%s", space ? space + 1 : answer);
    }
    bench_worker_stop(worker);
    return ok;
}

static bool choose_device(bench_options *o, bench_facts *facts) {
    char why[400] = "";
    bool automatic = !o->device || strcmp(o->device, "auto") == 0;
    o->plan.cuda = (automatic || strcmp(o->device, "cuda") == 0) &&
                   query_facts("--device=cuda", o->plan.answer_timeout, facts, why);
    if (o->plan.cuda) return true;
    if (!automatic && strcmp(o->device, "cuda") == 0) {
        fprintf(stderr, "error: %s\n", why);
        return false;
    }
    if (automatic) fprintf(stderr, "remark: the CPU device is used: %s\n", why);
    if (query_facts("--device=cpu", o->plan.answer_timeout, facts, why)) {
        facts->sms = 0; /* the CPU device emulates these */
        return true;
    }
    fprintf(stderr, "error: %s\n", why);
    return false;
}

bool bench_options_ready(bench_options *o, bench_report *report) {
    if (!complete(o) || !bench_random_complete(o) || !choose_device(o, &report->facts))
        return false;
    if (o->random.draw.max_bytes == 0) o->random.draw.max_bytes = o->plan.cuda ? 0x1p30 : 0x1p15;
    return true;
}

static void add_tuning(const bench_options *o, bench_candidate_spec *c) {
    char seconds[32];
    char *tuner = tool_find_worker();
    snprintf(seconds, sizeof seconds, "%g", o->plan.budget);
    bench_contender_add_word(c, bench_word("--tune=", seconds, strlen(seconds)));
    /* Points that hang are stopped early enough to leave time for the others. */
    snprintf(seconds, sizeof seconds, "%g", o->plan.answer_timeout / 3);
    bench_contender_add_word(c, bench_word("--tuner-timeout=", seconds, strlen(seconds)));
    if (o->retunes) bench_contender_add_word(c, "--retune");
    if (o->splits) bench_contender_add_word(c, "--split");
    if (tuner) bench_contender_add_word(c, bench_word("--tuner=", tuner, strlen(tuner)));
    free(tuner);
}

/* Adds the words that all workers get. */
static void finish_contenders(bench_options *o) {
    static const char *const devices[] = {"--device=cpu", "--device=cuda"};
    for (unsigned i = 0; i < o->plan.contender_count; i++) {
        bench_candidate_spec *c = &o->plan.contenders[i];
        if (c->program) continue;
        bench_contender_add_word(c, devices[o->plan.cuda]);
        if (o->target)
            bench_contender_add_word(c, bench_word("--target=", o->target, strlen(o->target)));
        if (o->ptxas)
            bench_contender_add_word(c, bench_word("--ptxas=", o->ptxas, strlen(o->ptxas)));
        for (unsigned k = 0; tool_include_word(k); k++)
            bench_contender_add_word(c, tool_include_word(k));
        if (o->plan.budget != 0) add_tuning(o, c);
        if (o->cache.none) bench_contender_add_word(c, "--no-cache");
        if (o->cache.folder)
            bench_contender_add_word(
                c, bench_word("--cache-dir=", o->cache.folder, strlen(o->cache.folder)));
    }
}

/* The report ---------------------------------------------------------------------------------- */

void bench_describe_protocol(const bench_options *o, tool_text *text) {
    const bench_plan *p = &o->plan;
    if (p->interleaved)
        bench_print(tool_append, text, "; interleaved, median of %u launches in %u rounds",
                    p->rounds * p->turn, p->rounds);
    for (unsigned i = 0; p->interleaved && p->cuda && i < p->flush_count; i++)
        bench_print(tool_append, text, "%s%s", i ? " and " : ", L2 ",
                    strcmp(p->flushes[i], "dirty") == 0   ? "dirty (flushed by writes)"
                    : strcmp(p->flushes[i], "clean") == 0 ? "clean (flushed by reads)"
                                                          : "as it is");
    if (p->sustained) bench_print(tool_append, text, "; sustained, %g s each", p->seconds);
    if (p->sustained && p->pairs)
        bench_print(tool_append, text, ", in %u pairs with %s", p->pairs, o->peer);
    if (!p->cuda)
        bench_print(tool_append, text,
                    "; the CPU device executes the IR: times are its own, and there is no %s",
                    o->peer);
}

/* Describes the peak of the first type. */
static void describe_peak(const bench_options *o, bench_report *report) {
    unsigned flop = bench_type_peak(o->types[0], report->facts.capability);
    if (flop && report->facts.clock)
        snprintf(report->peak, sizeof report->peak,
                 "peak, computed: %.0f TFLOP/s of %s, %u FLOP a clock and SM",
                 1e-6 * flop * report->facts.sms * report->facts.clock, o->types[0]->name, flop);
}

static bool write_file(const char *path, const bench_report *report,
                       void (*write)(const bench_report *, tile_writer, void *)) {
    tool_text text = {NULL, 0, 0};
    if (!path) return true;
    write(report, tool_append, &text);
    bool ok = tool_write_file(path, text.data, text.size);
    free(text.data);
    return ok;
}

static bool is_output(const char *path) {
    return path && strcmp(path, "-") == 0;
}

static bool has_text(const bench_options *o) {
    return !is_output(o->csv) && !is_output(o->json) && !is_output(o->svg);
}

static bool has_colour(void) {
    return isatty(1) && !getenv("NO_COLOR");
}

/* Writes all files that it can, even if one of them fails. */
static bool write_files(const bench_options *o, const bench_report *report) {
    bool csv = o->random.count ? bench_random_write(o, report)
                               : write_file(o->csv, report, bench_write_csv);
    bool json = write_file(o->json, report, bench_write_json);
    bool svg = write_file(o->svg, report, bench_write_svg);
    return csv && json && svg;
}

/* Writes the results so far to the files, and to the text if it is printed incrementally. An
 * interrupted run loses only the problem that it was measuring. */
static void write_so_far(const bench_report *report, size_t first, void *user) {
    bench_options *o = user;
    bench_options files = *o;
    if (is_output(o->csv)) files.csv = NULL;
    if (is_output(o->json)) files.json = NULL;
    if (is_output(o->svg)) files.svg = NULL;
    write_files(&files, report);
    o->random.done += !bench_is_stopped();
    if (o->random.count && has_text(o)) bench_write_ratios(report, first, tool_write, stdout);
    fflush(stdout);
    if (!o->as_they_come || !has_text(o) || first == report->count) return;
    bench_report rows = *report;
    rows.rows += first;
    rows.count -= first;
    bench_print(tool_write, stdout, "%s, at %.0f s\n", bench_text_of(rows.rows, BENCH_type),
                tile_seconds_now() - o->began);
    bench_write_table(&rows, has_colour(), tool_write, stdout);
    fputs("\n", stdout);
    fflush(stdout);
}

static void begin_text(const bench_options *o, const bench_report *report) {
    if (has_text(o)) bench_write_title(report, tool_write, stdout);
    fflush(stdout);
}

static bool write_report(const bench_options *o, const bench_report *report) {
    FILE *to = has_text(o) ? stdout : stderr;
    if (o->random.count && has_text(o))
        bench_random_finish(o, report);
    else if (has_text(o) && !o->as_they_come)
        bench_write_text(report, has_colour(), tool_write, stdout);
    if (has_text(o) && o->as_they_come)
        bench_print(tool_write, stdout, "in total %.0f s%s%s\n", tile_seconds_now() - o->began,
                    *report->peer ? ", beside " : "", report->peer);
    bool written = write_files(o, report);
    return (!o->has_limits || bench_limits_check(report, o->plan.cuda, tool_write, to)) && written;
}

void bench_add_floor(bench_options *o) {
    if (o->plan.cuda && !o->no_floor) bench_add_contender(o, "read floor", "read");
}

bool bench_measure(bench_options *o, bench_report *report) {
    finish_contenders(o);
    if (!o->plan.contender_count)
        return bench_complain(o, "there is nothing to measure on the CPU device with",
                              "--no-kernels");
    o->plan.reports_progress = isatty(2);
    if (o->profiles && !(o->plan.ncu = tool_find_cuda_program("ncu")))
        fputs("remark: there is no ncu on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin, so "
              "there are no counters\n",
              stderr);
    describe_peak(o, report);
    report->best = o->best;
    report->peer_kind = o->plan.peer_kind;
    o->plan.any_order = o->random.count != 0;
    o->plan.done = write_so_far;
    o->plan.user = o;
    o->began = tile_seconds_now();
    if (o->random.count && !bench_random_begin(o, report)) return false;
    if (o->as_they_come || o->random.count) begin_text(o, report);
    bool right = bench_run(&o->plan, report);
    bool written = write_report(o, report);
    bench_report_free(report);
    free(o->plan.problems);
    free(o->shapes.shapes);
    return right && written;
}
