/* tile-bench worker: runs one candidate in a separate process, so that a kernel that hangs or
 * faults does not affect others. It reads requests as lines from standard input and answers each
 * with one line on standard output. `tile-bench matmul` and `attention` send the requests (pool.c).
 * attention_peers.py answers the same requests.
 *
 *   product M N K TYPE TRANS FLUSH   ready REGISTERS LOCAL SHARED POINT
 *   rows OP M N TYPE FLUSH           same
 *   attention BATCH HEADS GROUPS M N D CAUSAL TYPE FLUSH   same
 *   flush FLUSH                      flushing: from now on, flushes like this before each launch
 *   check                            right elements|part | wrong WHY, for a product
 *   inputs INPUTS                    loaded: attention's operands now contain these inputs
 *   compute FILE                     computed: the result is in the file | wrong WHY
 *   prepare [points COUNT SEED] product|attention|rows ..
 *                                    prepared: compiled and loaded, with these points. No memory is
 *                                    used for arrays until the problem itself follows
 *   points COUNT SEED                points N: so many points are listed, the pick first
 *   point INDEX                      point ORIGIN SECONDS TEXT: further launches use it; SECONDS is
 *                                    the model's estimate
 *   same                             right | wrong WHY: compares with the pick's result
 *   turn WARMUP COUNT                times SECONDS ..
 *   sustain SECONDS                  sustained LAUNCHES SECONDS CLOCK POWER ENERGY CAPPED
 *   profile                          profiled, after a launch that a profiler can capture
 *   version                          version OF-CUBLASLT
 *   facts                            facts SMS CAPABILITY CLOCK WATTS L2 DRIVER TARGET NAME
 *
 * A failed request is answered with "failed WHY", and the worker reads the next line. After a fault
 * of a GPU kernel every request fails, and the parent stops the worker. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/cache.h"
#include "tools/common/include.h"
#include "tools/tile-bench/bench.h"
#include "tools/tile-bench/measure/candidate.h"

static const char help[] =
    "usage: tile-bench worker --candidate=kernel|cublaslt|cublaslt_first|cublaslt_fast|read|copy "
    "[options]\n"
    "Measures one candidate, told how by lines on standard input; `tile-bench matmul` and "
    "`attention` start it.\n";

enum { MAX_TURN = 100000 };

typedef struct worker {
    bench_candidate_options options;
    bench_lab_options lab_options;
    tool_cache cache;
    tile_context *context;
    bench_lab *lab;
    bench_candidate *candidate;
    tile_flush flush;
    char error[400]; /* the first error since the last answer */
} worker;

/* Keeps the message as a single line, because it becomes an answer. */
static void keep_error(const tile_diagnostic *diagnostic, void *user) {
    worker *w = user;
    if (diagnostic->severity != TILE_ERROR || *w->error) return;
    if (diagnostic->line)
        snprintf(w->error, sizeof w->error, "%s:%u: %s", diagnostic->file, diagnostic->line,
                 diagnostic->message);
    else
        snprintf(w->error, sizeof w->error, "%s", diagnostic->message);
    for (char *at = w->error; *at; at++)
        if (*at == '\n' || *at == '\r') *at = ' ';
}

static void answer_failure(worker *w) {
    printf("failed %s\n", *w->error ? w->error : "no reason was given");
}

/* Answers ------------------------------------------------------------------------------------- */

static tile_flush flush_of(const char *word) {
    return strcmp(word, "dirty") == 0   ? TILE_FLUSH_DIRTY
           : strcmp(word, "clean") == 0 ? TILE_FLUSH_CLEAN
                                        : TILE_FLUSH_NONE;
}

/* A problem, with the points to list before it, if there are any. */
typedef struct request {
    bench_problem problem;
    char flush[8];
    unsigned points; /* 0: none */
    uint64_t seed;
} request;

static bool read_request(const char *line, request *r) {
    int at = 0;
    *r = (request){.points = 0};
    if (sscanf(line, "points %u %" SCNu64 " %n", &r->points, &r->seed, &at) < 2) r->points = 0;
    if (bench_problem_read(line + at, &r->problem, r->flush)) return true;
    printf("failed the request '%s' is not understood\n", line);
    return false;
}

static void set_problem(worker *w, const char *line) {
    request r;
    if (!read_request(line, &r)) return;
    w->flush = flush_of(r.flush);
    if (bench_candidate_set(w->candidate, &r.problem, w->flush) != TILE_OK) {
        answer_failure(w);
        return;
    }
    bench_details d = bench_candidate_details(w->candidate);
    printf("ready %d %d %d %s\n", d.registers, d.local_bytes, d.shared_bytes, d.point);
}

static void prepare(worker *w, const char *line) {
    request r;
    if (!read_request(line, &r)) return;
    if (bench_candidate_prepare(w->candidate, &r.problem, r.points, r.seed) != TILE_OK)
        answer_failure(w);
    else
        printf("prepared\n");
}

static void check(worker *w) {
    bench_verdict verdict;
    if (bench_candidate_check(w->candidate, &verdict) != TILE_OK)
        answer_failure(w);
    else if (*verdict.wrong)
        printf("wrong %s\n", verdict.wrong);
    else
        printf("right %s\n", verdict.by_elements ? "elements" : "part");
}

static void fill(worker *w, const char *word) {
    bench_inputs inputs;
    if (!bench_inputs_find(word, &inputs))
        printf("failed there are no inputs '%s'\n", word);
    else if (bench_candidate_fill(w->candidate, inputs) != TILE_OK)
        answer_failure(w);
    else
        printf("loaded\n");
}

static void compute(worker *w, const char *path) {
    bool differ;
    if (bench_candidate_compute(w->candidate, path, &differ) != TILE_OK)
        answer_failure(w);
    else
        printf(differ ? "wrong two launches differ\n" : "computed\n");
}

static void list_points(worker *w, const char *line) {
    unsigned count = 0, listed;
    uint64_t seed = 0;
    if (sscanf(line, "points %u %" SCNu64, &count, &seed) != 2)
        printf("failed the request '%s' is not understood\n", line);
    else if (bench_candidate_list_points(w->candidate, count, seed, &listed) != TILE_OK)
        answer_failure(w);
    else
        printf("points %u\n", listed);
}

static void take_point(worker *w, const char *word) {
    unsigned index = (unsigned)strtoul(word, NULL, 10);
    if (bench_candidate_take_point(w->candidate, index) != TILE_OK) {
        answer_failure(w);
        return;
    }
    const bench_point *point = bench_candidate_point(w->candidate, index);
    printf("point %s %.9g %s\n", point->origin, point->estimate, point->text);
}

static void compare(worker *w) {
    bool same;
    if (bench_candidate_compare(w->candidate, &same) != TILE_OK)
        answer_failure(w);
    else
        printf(same ? "right\n" : "wrong the result differs from that of the pick\n");
}

static void take_turn(worker *w, const char *line) {
    unsigned warmup = 0, count = 0;
    static double samples[MAX_TURN];
    tile_work work;
    tile_measurement taken;
    if (sscanf(line, "turn %u %u", &warmup, &count) != 2 || !count || count > MAX_TURN) {
        printf("failed the request '%s' is not understood\n", line);
        return;
    }
    const tile_measure_options options = {.size = sizeof options,
                                          .warmup = warmup,
                                          .repeats = count,
                                          .flush = w->flush,
                                          .samples = samples};
    /* The operands are random from the first turn on. */
    tile_status status = bench_candidate_work(w->candidate, &work);
    if (status == TILE_OK)
        status = tile_measure_works(bench_lab_device(w->lab), &work, 1, NULL, &options, &taken);
    if (status != TILE_OK) {
        answer_failure(w);
        return;
    }
    printf("times");
    for (unsigned i = 0; i < count; i++) printf(" %.9g", samples[i]);
    printf("\n");
}

static void sustain(worker *w, const char *line) {
    double seconds = 0;
    tile_work work;
    bench_sustained s;
    if (sscanf(line, "sustain %lf", &seconds) != 1 || !(seconds > 0))
        printf("failed the request '%s' is not understood\n", line);
    else if (bench_candidate_work(w->candidate, &work) != TILE_OK ||
             bench_lab_sustain(w->lab, &work, seconds, &s) != TILE_OK)
        answer_failure(w);
    else
        printf("sustained %" PRIu64 " %.9g %.6g %.6g %.6g %d\n", s.launches, s.seconds, s.clock,
               s.power, s.energy, s.capped);
}

static void profile(worker *w) {
    tile_work work;
    if (bench_candidate_work(w->candidate, &work) != TILE_OK ||
        bench_lab_profile(w->lab, &work) != TILE_OK)
        answer_failure(w);
    else
        printf("profiled\n");
}

static void send_facts(worker *w) {
    bench_facts f = bench_lab_facts(w->lab);
    printf("facts %u %u %u %u %" PRIu64 " %s %s %s\n", f.sms, f.capability, f.clock, f.power_limit,
           f.l2_bytes, *f.driver ? f.driver : "-", f.target, f.name);
}

static void answer(worker *w, const char *line) {
    *w->error = 0;
    if (strncmp(line, "product ", 8) == 0 || strncmp(line, "attention ", 10) == 0 ||
        strncmp(line, "rows ", 5) == 0) {
        set_problem(w, line);
    } else if (strncmp(line, "flush ", 6) == 0) {
        w->flush = flush_of(line + 6);
        printf("flushing\n");
    } else if (strncmp(line, "prepare ", 8) == 0)
        prepare(w, line + 8);
    else if (strcmp(line, "check") == 0)
        check(w);
    else if (strncmp(line, "inputs ", 7) == 0)
        fill(w, line + 7);
    else if (strncmp(line, "compute ", 8) == 0)
        compute(w, line + 8);
    else if (strncmp(line, "points ", 7) == 0)
        list_points(w, line);
    else if (strncmp(line, "point ", 6) == 0)
        take_point(w, line + 6);
    else if (strcmp(line, "same") == 0)
        compare(w);
    else if (strncmp(line, "turn ", 5) == 0)
        take_turn(w, line);
    else if (strncmp(line, "sustain ", 8) == 0)
        sustain(w, line);
    else if (strcmp(line, "profile") == 0)
        profile(w);
    else if (strcmp(line, "version") == 0)
        printf("version %s\n", bench_candidate_version(w->candidate));
    else if (strcmp(line, "facts") == 0)
        send_facts(w);
    else
        printf("failed the request '%s' is not understood\n", line);
    fflush(stdout);
}

/* The program --------------------------------------------------------------------------------- */

static bool parse_kind(worker *w, const char *word) {
    static const char *const names[] = {"kernel",        "cublaslt", "cublaslt_first",
                                        "cublaslt_fast", "read",     "copy"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(word, names[i]) == 0) {
            w->options.kind = (bench_kind)i;
            return true;
        }
    return false;
}

static bool parse_option(worker *w, tool_arguments *words) {
    const char *value;
    bool ok;
    if (tool_option(words, "--candidate", &value)) return parse_kind(w, value);
    if (tool_option(words, "--device", &value))
        return w->lab_options.cuda = strcmp(value, "cuda") == 0, true;
    if (tool_option(words, "--sms", &value))
        return w->lab_options.sms = (unsigned)strtoul(value, NULL, 10), true;
    if (tool_option(words, "--target", &value))
        return (w->lab_options.target = tile_target_find(value)) != NULL;
    if (tool_option(words, "--param", &value)) {
        if (w->options.binding_count == BENCH_MAX_BINDINGS) return false;
        w->options.bindings[w->options.binding_count++] = value;
        return true;
    }
    if (tool_include_option(words, &ok)) return ok;
    if (tool_option(words, "--tune", &value)) return w->options.budget = strtod(value, NULL), true;
    if (tool_option(words, "--tuner-timeout", &value))
        return w->options.tuner_timeout = strtod(value, NULL), true;
    if (tool_flag(words, "--retune")) return w->options.retunes = true;
    if (tool_flag(words, "--split")) return w->options.splits = true;
    if (tool_flag(words, "--unchecked")) return w->options.unchecked = true;
    return tool_option(words, "--file", &w->options.file) ||
           tool_option(words, "--kernel", &w->options.kernel) ||
           tool_option(words, "--tuner", &w->options.tuner) ||
           tool_option(words, "--cublas", &w->options.cublas) ||
           tool_option(words, "--ptxas", &w->lab_options.ptxas) ||
           tool_cache_option(words, &w->cache);
}

int tile_bench_worker(tool_arguments *words) {
    static worker w;
    char line[512];
    while (words->next < words->argc) {
        if (tool_flag(words, "--help")) {
            fputs(help, stdout);
            return tool_finish(true);
        }
        if (parse_option(&w, words)) continue;
        fprintf(stderr, "error: unknown or incomplete option '%s'\n", tool_current(words));
        return 1;
    }
    char *folder = tool_cache_folder(&w.cache);
    w.lab_options.cache_dir = folder;
    w.context = tile_context_create();
    tile_context_set_sink(w.context, keep_error, &w);
    w.lab = bench_lab_open(w.context, &w.lab_options);
    w.candidate = w.lab ? bench_candidate_create(w.context, w.lab, &w.options) : NULL;
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (w.candidate) {
            answer(&w, line);
        } else {
            answer_failure(&w);
            fflush(stdout);
        }
    }
    bench_candidate_destroy(w.candidate);
    bench_lab_close(w.lab);
    tile_context_destroy(w.context);
    free(folder);
    return tool_finish(true);
}
