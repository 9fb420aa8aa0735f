#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/program/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "tools/common/tool.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/matmul/product.h"
#include "tools/tile-bench/program/ahead.h"

enum { MAX_SAMPLES = 4096, COPY_BYTES = 1 << 30 };

typedef struct run {
    const bench_program_plan *plan;
    bench_worker *own, *peer; /* NULL: not started */
    char device[64], target[32];
    double copy_rate; /* bytes a second; 0: unknown */
    double peak;      /* operations of f16 a second; 0: unknown */
    double *ahead_seconds;
} run;

/* The program that is being measured. */
typedef struct program {
    const char *path;
    char stem[80], script[700];
    bench_text_facts facts;
    tool_text settings, arrays;
    double ours[MAX_SAMPLES];
    unsigned count;
    bench_result *result;
} program;

/* Requests ---------------------------------------------------------------------------------- */

static const char *ask(bench_worker *worker, const char *request, double timeout) {
    bench_worker_send(worker, request);
    return bench_worker_receive(worker, timeout);
}

/* The rest of the answer after the word; NULL if it begins otherwise. */
static const char *after(const char *answer, const char *word) {
    size_t length = strlen(word);
    bool same = strncmp(answer, word, length) == 0 && (answer[length] == ' ' || !answer[length]);
    return same ? answer + length + (answer[length] == ' ') : NULL;
}

static bench_worker *start_own(const run *r) {
    return bench_worker_start(NULL, r->plan->serve_words, NULL, NULL);
}

static bench_worker *start_peer(const run *r) {
    const char *words[] = {r->plan->script, NULL};
    return bench_worker_start(r->plan->python, words, NULL, NULL);
}

/* A process that ended is replaced. */
static void renew(bench_worker **worker, bench_worker *(*start)(const run *r), const run *r) {
    if (*worker && bench_worker_is_alive(*worker)) return;
    bench_worker_stop(*worker);
    *worker = start(r);
}

/* After such an error all further requests would fail, or lack memory. */
static void stop_after_fault(bench_worker **worker, const char *answer) {
    if (!strstr(answer, "CUDA") && !strstr(answer, "memory")) return;
    bench_worker_stop(*worker);
    *worker = NULL;
}

/* Adds to the reasons. */
static void explain(program *p, const char *who, const char *answer) {
    char why[700];
    const char *before = bench_result_text(p->result, BENCH_FIELD_why);
    const char *failed = after(answer, "failed"), *large = after(answer, "large");
    const char *rest = failed ? failed : large;
    snprintf(why, sizeof why, "%s%s%s%s%s", before, *before ? "; " : "", who, *who ? ": " : "",
             rest ? rest : answer);
    bench_result_set(p->result, BENCH_FIELD_why, why);
}

static void add_checked(program *p, const char *what) {
    char checked[60];
    const char *before = bench_result_text(p->result, BENCH_FIELD_checked);
    snprintf(checked, sizeof checked, "%s%s%s", before, *before ? ", " : "", what);
    bench_result_set(p->result, BENCH_FIELD_checked, checked);
}

/* Settings ---------------------------------------------------------------------------------- */

static void append(tool_text *text, const char *piece) {
    tool_append(piece, strlen(piece), text);
}

/* The sizes of `small`, replaced by those of the command line. */
static bench_settings small_settings(const run *r, const program *p) {
    bench_settings small = p->facts.small;
    char word[140];
    const bench_settings *more[] = {&r->plan->settings, &r->plan->small};
    for (unsigned m = 0; m < 2; m++)
        for (unsigned i = 0; i < more[m]->count; i++) {
            const bench_setting *s = &more[m]->list[i];
            bool is_size = bench_settings_find(&small, s->name) != NULL;
            if (m == 0 && is_size && r->plan->cuda) continue; /* a size of the measurement */
            snprintf(word, sizeof word, "%s=%s", s->name, s->value);
            bench_settings_add(&small, word);
        }
    return small;
}

static void write_settings(const bench_settings *s, tool_text *text) {
    append(text, "");
    for (unsigned i = 0; i < s->count; i++) {
        append(text, i ? " " : "");
        append(text, s->list[i].name);
        append(text, "=");
        append(text, s->list[i].value);
    }
}

static const char *function_of(const run *r) {
    return r->plan->function ? r->plan->function : "-";
}

static void write_request(const run *r, const program *p, const char *what,
                          const bench_settings *settings, tool_text *text) {
    append(text, what);
    append(text, " ");
    append(text, p->path);
    append(text, " ");
    append(text, function_of(r));
    append(text, " ");
    write_settings(settings, text);
}

bool bench_program_find_peer(const bench_program_plan *plan, const char *path, char script[700]) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int folder = slash ? (int)(slash - path + 1) : 0;
    if (plan->no_peers) return false;
    if (plan->peer) {
        snprintf(script, 700, "%s", plan->peer);
        return true;
    }
    snprintf(script, 700, "%.*s.py", (int)(dot && dot > slash ? dot - path : (long)strlen(path)),
             path);
    if (access(script, R_OK) == 0) return true;
    snprintf(script, 700, "%.*speers.py", folder, path);
    return access(script, R_OK) == 0;
}

/* Checks ------------------------------------------------------------------------------------ */

/* Against level 1, at small sizes. False if the result is wrong or nothing runs. */
static bool check_small(run *r, program *p) {
    bench_settings small = small_settings(r, p);
    tool_text request = {NULL, 0, 0};
    write_request(r, p, "small", &small, &request);
    const char *answer = ask(r->own, request.data, r->plan->timeout);
    bool right = after(answer, "right") != NULL, wrong = after(answer, "wrong") != NULL;
    free(request.data);
    if (right) {
        add_checked(p, "level 1");
        return true;
    }
    /* Nobody gave sizes, and those of the measurement are too large: the peer has to check it. */
    if (r->plan->cuda && after(answer, "large")) return true;
    bench_result_set(p->result, BENCH_FIELD_check, wrong ? "wrong" : "failed");
    explain(p, "at small sizes", answer);
    return false;
}

/* Loads the program at the sizes of the measurement. */
static bool set_program(run *r, program *p) {
    bench_settings settings = r->plan->cuda ? r->plan->settings : small_settings(r, p);
    tool_text request = {NULL, 0, 0};
    double seconds, bytes;
    unsigned launches;
    int at = 0;
    write_settings(&settings, &p->settings);
    bench_result_set(p->result, BENCH_FIELD_settings, p->settings.data);
    write_request(r, p, "set", &settings, &request);
    const char *answer = ask(r->own, request.data, r->plan->timeout);
    free(request.data);
    if (sscanf(answer, "ready %lg %u %lg %*s%n", &seconds, &launches, &bytes, &at) != 3 || !at) {
        bench_result_set(p->result, BENCH_FIELD_check, "failed");
        explain(p, "", answer);
        return false;
    }
    bench_result_set_number(p->result, BENCH_FIELD_compile_s, seconds);
    bench_result_set_number(p->result, BENCH_FIELD_bytes, bytes);
    append(&p->arrays, answer + at);
    return true;
}

/* Peers ------------------------------------------------------------------------------------- */

static void write_peer_request(const run *r, const program *p, const char *what, const char *mode,
                               tool_text *text) {
    const char *words[] = {
        what, mode, p->script, p->stem, "", p->facts.allows_tf32 ? "tf32" : "ieee", r->plan->flush};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (i) append(text, " ");
        append(text, words[i]);
        if (i != 4) continue;
        append(text, r->plan->folder);
        append(text, "/numbers");
    }
    append(text, p->arrays.data);
    append(text, " ");
    append(text, p->settings.data);
}

/* Loads the peer and compares its result with that of the program. 1: right, 0: wrong, -1: the peer
 * cannot run. */
static int compare_peer(run *r, program *p, const char *mode, double *seconds) {
    tool_text request = {NULL, 0, 0};
    char line[800];
    renew(&r->peer, start_peer, r);
    write_peer_request(r, p, "set", mode, &request);
    const char *answer = ask(r->peer, request.data, 2 * r->plan->timeout);
    free(request.data);
    if (sscanf(answer, "ready %lg", seconds) != 1) {
        explain(p, mode, answer);
        stop_after_fault(&r->peer, answer);
        return -1;
    }
    snprintf(line, sizeof line, "compare %s/result", r->plan->folder);
    answer = ask(r->peer, line, r->plan->timeout);
    const char *error = after(answer, "right");
    if (error) {
        bench_result_set(p->result, BENCH_FIELD_error, error);
        return 1;
    }
    explain(p, mode, answer);
    return after(answer, "wrong") ? 0 : -1;
}

/* Times ------------------------------------------------------------------------------------- */

/* Adds the times of the answer; false if it has none. */
static bool read_times(const char *answer, double *samples, unsigned *count) {
    const char *at = after(answer, "times");
    char *end;
    if (!at) return false;
    for (double seconds = strtod(at, &end); end != at; seconds = strtod(at, &end)) {
        if (*count < MAX_SAMPLES) samples[(*count)++] = seconds;
        at = end;
    }
    return true;
}

static bool take_turn(run *r, program *p, bench_worker *worker, const char *who, double *samples,
                      unsigned *count) {
    char line[80];
    snprintf(line, sizeof line, "turn %s %u %u", r->plan->flush, r->plan->cuda ? 2 : 0,
             r->plan->turn);
    const char *answer = ask(worker, line, r->plan->timeout);
    if (read_times(answer, samples, count)) return true;
    explain(p, who, answer);
    return false;
}

/* The program and a peer in turns. A peer's median goes into the cell. */
static bool measure_beside(run *r, program *p, const char *who, bench_field cell) {
    static double samples[MAX_SAMPLES];
    unsigned count = 0;
    bool has_peer = cell != BENCH_FIELD_us;
    for (unsigned i = 0; i < r->plan->rounds; i++) {
        if (!take_turn(r, p, r->own, "", p->ours, &p->count)) return false;
        if (has_peer && !take_turn(r, p, r->peer, who, samples, &count)) return true;
    }
    if (has_peer && count)
        bench_result_set_number(p->result, cell, 1e6 * bench_summarize(samples, count).median);
    return true;
}

static void set_ratio(program *p) {
    static double samples[MAX_SAMPLES];
    double eager = bench_result_number(p->result, BENCH_FIELD_eager_us);
    double compiled = bench_result_number(p->result, BENCH_FIELD_compiled_us);
    double best = eager > 0 && (compiled <= 0 || eager < compiled) ? eager : compiled;
    memcpy(samples, p->ours, sizeof *samples * p->count);
    double us = 1e6 * bench_summarize(samples, p->count).median;
    bench_result_set_number(p->result, BENCH_FIELD_us, us);
    if (best > 0 && us > 0) bench_result_set_number(p->result, BENCH_FIELD_ratio, best / us);
}

/* The launches and floors -------------------------------------------------------------------- */

static double floor_of(const run *r, double bytes, double operations) {
    double copy = r->copy_rate > 0 ? bytes / r->copy_rate : 0;
    double products = r->peak > 0 ? operations / r->peak : 0;
    return copy > products ? copy : products;
}

static bool read_step(const char **at, bench_step *s) {
    int length = 0;
    if (sscanf(*at, "%199s %lld %lld %lld %lg %lg %lg %lg%n", s->kernel, &s->grid[0], &s->grid[1],
               &s->grid[2], &s->seconds, &s->read_bytes, &s->written_bytes, &s->operations,
               &length) != 8)
        return false;
    *at += length;
    return true;
}

static void measure_steps(run *r, program *p) {
    char line[80];
    double operations = 0, bytes = bench_result_number(p->result, BENCH_FIELD_bytes);
    bench_result *result = p->result;
    bench_step step;
    snprintf(line, sizeof line, "steps %s %u %u", r->plan->flush, r->plan->cuda ? 1 : 0,
             r->plan->cuda ? r->plan->turn : 1);
    const char *answer = ask(r->own, line, r->plan->timeout), *at = after(answer, "steps");
    if (!at) {
        explain(p, "launches", answer);
        return;
    }
    while (read_step(&at, &step)) {
        step.floor_seconds = floor_of(r, step.read_bytes + step.written_bytes, step.operations);
        operations += step.operations;
        result->steps = realloc(result->steps, sizeof step * (result->step_count + 1));
        if (!result->steps) abort();
        result->steps[result->step_count++] = step;
    }
    bench_result_set_number(result, BENCH_FIELD_launches, result->step_count);
    double floor = 1e6 * floor_of(r, bytes, operations);
    double us = bench_result_number(result, BENCH_FIELD_us);
    if (floor > 0) bench_result_set_number(result, BENCH_FIELD_floor_us, floor);
    if (floor > 0 && us > 0) bench_result_set_number(result, BENCH_FIELD_of_floor, floor / us);
}

/* One program -------------------------------------------------------------------------------- */

/* Measures beside the peers that compute the same. False if the result is wrong. */
static bool measure_peers(run *r, program *p, double ahead) {
    static const struct {
        const char *mode;
        bench_field cell;
    } modes[] = {{"eager", BENCH_FIELD_eager_us}, {"compiled", BENCH_FIELD_compiled_us}};
    double seconds;
    if (!r->plan->times_peers) {
        int same = compare_peer(r, p, "reference", &seconds);
        if (same > 0) add_checked(p, "peer");
        return same != 0;
    }
    for (unsigned i = 0; i < 2; i++) {
        int same = compare_peer(r, p, modes[i].mode, &seconds);
        if (i == 0 && same > 0) add_checked(p, "peer");
        if (i == 0 && same == 0) return false;
        if (same <= 0) continue;
        if (i == 1)
            bench_result_set_number(p->result, BENCH_FIELD_torch_compile_s,
                                    ahead > 0 ? ahead : seconds);
        if (!measure_beside(r, p, modes[i].mode, modes[i].cell)) return true;
    }
    return true;
}

static void measure_program(run *r, program *p, double ahead) {
    char line[800];
    bool has_peer = r->plan->script && bench_program_find_peer(r->plan, p->path, p->script);
    renew(&r->own, start_own, r);
    if (!bench_text_read(p->path, &p->facts)) {
        bench_result_set(p->result, BENCH_FIELD_check, "failed");
        explain(p, "", "its comments have another form");
        return;
    }
    if (!check_small(r, p) || !set_program(r, p)) return;
    snprintf(line, sizeof line, "compute %s/result", r->plan->folder);
    const char *answer = ask(r->own, line, r->plan->timeout);
    if (!after(answer, "computed")) {
        bench_result_set(p->result, BENCH_FIELD_check, "failed");
        explain(p, "", answer);
        return;
    }
    if (has_peer && !measure_peers(r, p, ahead)) {
        bench_result_set(p->result, BENCH_FIELD_check, "wrong");
        return;
    }
    if (!*bench_result_text(p->result, BENCH_FIELD_checked)) {
        bench_result_set(p->result, BENCH_FIELD_check, "failed");
        explain(p, "",
                "nothing checks the result, so it has no time: add `// small: NAME = NUMBER, ..` "
                "to the file, or give --small NAME=NUMBER or --peer=FILE.py");
        return;
    }
    if (!p->count && !measure_beside(r, p, "", BENCH_FIELD_us)) {
        bench_result_set(p->result, BENCH_FIELD_check, "failed");
        return;
    }
    bench_result_set(p->result, BENCH_FIELD_check, "right");
    set_ratio(p);
    measure_steps(r, p);
}

/* The text ----------------------------------------------------------------------------------- */

static void print_steps(const bench_result *result) {
    for (unsigned i = 0; i < result->step_count; i++) {
        const bench_step *s = &result->steps[i];
        printf("    %10.2f us  reads %.3f MB, writes %.3f MB", 1e6 * s->seconds,
               1e-6 * s->read_bytes, 1e-6 * s->written_bytes);
        if (s->floor_seconds > 0) printf(", floor %.2f us", 1e6 * s->floor_seconds);
        if (s->floor_seconds > 0 && s->seconds > 0)
            printf(" (%.2f of the speed)", s->floor_seconds / s->seconds);
        printf("  %s, %lld x %lld x %lld blocks\n", s->kernel, s->grid[0], s->grid[1], s->grid[2]);
    }
}

static void print_number(const char *before, const bench_result *r, bench_field cell, int digits,
                         const char *unit) {
    if (!*bench_result_text(r, cell)) return;
    printf("%s%.*f%s", before, digits, bench_result_number(r, cell), unit);
}

static void print_result(const run *r, const program *p) {
    const bench_result *result = p->result;
    const char *name = bench_result_text(result, BENCH_FIELD_class);
    printf("%s%s%s %s", name, *name ? "/" : "", p->stem,
           bench_result_text(result, BENCH_FIELD_check));
    if (*bench_result_text(result, BENCH_FIELD_checked))
        printf(" (%s)", bench_result_text(result, BENCH_FIELD_checked));
    print_number(": ", result, BENCH_FIELD_us, 2, r->plan->cuda ? " us" : " us of the CPU device");
    print_number(" in ", result, BENCH_FIELD_launches, 0, " launches");
    print_number(", floor ", result, BENCH_FIELD_floor_us, 2, " us");
    print_number(" (", result, BENCH_FIELD_of_floor, 2, " of the speed)");
    print_number(", PyTorch ", result, BENCH_FIELD_eager_us, 2, " us");
    print_number(", torch.compile ", result, BENCH_FIELD_compiled_us, 2, " us");
    print_number(", ratio ", result, BENCH_FIELD_ratio, 2, "");
    print_number("; compiled in ", result, BENCH_FIELD_compile_s, 2, " s");
    print_number(", by torch.compile in ", result, BENCH_FIELD_torch_compile_s, 2, " s");
    if (*bench_result_text(result, BENCH_FIELD_why))
        printf("; %s", bench_result_text(result, BENCH_FIELD_why));
    printf("\n");
    if (r->plan->prints_steps) print_steps(result);
    fflush(stdout);
}

/* The run ------------------------------------------------------------------------------------ */

static bool find_facts(run *r) {
    unsigned sms, capability, clock;
    char line[80];
    double seconds;
    int at = 0;
    const char *answer = ask(r->own, "facts", r->plan->timeout);
    if (sscanf(answer, "facts %u %u %u %31s %n", &sms, &capability, &clock, r->target, &at) != 4) {
        const char *why = after(answer, "failed");
        fprintf(stderr,
                "error: the device cannot be used: %s; --device=cpu measures nothing, but "
                "checks all results without a GPU\n",
                why ? why : answer);
        return false;
    }
    snprintf(r->device, sizeof r->device, "%s", answer + at);
    if (!r->plan->cuda) return true;
    r->peak = 1e6 * bench_type_peak(bench_type_find("f16"), capability) * sms * clock;
    snprintf(line, sizeof line, "copy %d", COPY_BYTES);
    if (sscanf(ask(r->own, line, r->plan->timeout), "copied %lg", &seconds) == 1 && seconds > 0)
        r->copy_rate = COPY_BYTES / seconds;
    if (!r->plan->is_quiet)
        printf("%s, %s: a copy of %d MB reads and writes %.0f GB/s; peak of f16, computed: %.0f "
               "TFLOP/s\n",
               r->device, r->target, COPY_BYTES >> 20, 1e-9 * r->copy_rate, 1e-12 * r->peak);
    return true;
}

static bool is_known(const bench_results *results, const bench_result *result) {
    for (unsigned i = 0; i + 1 < results->count; i++)
        if (bench_result_is_same(&results->list[i], result)) return true;
    return false;
}

/* Returns whether the file has a result now. */
static bool take_file(run *r, unsigned index, bench_results *results) {
    static program p;
    bench_text_facts facts;
    tool_text settings = {NULL, 0, 0};
    char name[80];
    p = (program){.path = r->plan->files[index]};
    p.result = bench_results_add(results);
    bench_text_stem(p.path, p.stem, sizeof p.stem);
    bench_text_class(p.path, name, sizeof name);
    bench_result_set(p.result, BENCH_FIELD_class, name);
    bench_result_set(p.result, BENCH_FIELD_name, p.stem);
    bench_result_set(p.result, BENCH_FIELD_device, r->device);
    bench_result_set(p.result, BENCH_FIELD_target, r->target);
    if (bench_text_read(p.path, &facts)) {
        p.facts = facts;
        bench_settings all = r->plan->cuda ? r->plan->settings : small_settings(r, &p);
        write_settings(&all, &settings);
        bench_result_set(p.result, BENCH_FIELD_settings, settings.data);
    }
    free(settings.data);
    if (is_known(results, p.result)) {
        bench_results_drop_last(results);
        return true;
    }
    measure_program(r, &p, r->ahead_seconds ? r->ahead_seconds[index] : 0);
    if (!bench_result_is_right(p.result)) { /* a fault of the GPU ends its process */
        bench_worker_stop(r->own);
        r->own = NULL;
    }
    free(p.settings.data);
    free(p.arrays.data);
    if (!r->plan->is_quiet) print_result(r, &p);
    if (r->plan->done) r->plan->done(results, r->plan->user);
    return true;
}

static bool all_right(const bench_results *results) {
    for (unsigned i = 0; i < results->count; i++)
        if (!bench_result_is_right(&results->list[i])) return false;
    return true;
}

bool bench_program_run(const bench_program_plan *plan, bench_results *results) {
    run r = {.plan = plan};
    unsigned i = 0;
    r.own = start_own(&r);
    bool ok = find_facts(&r);
    if (ok && plan->ahead && plan->script)
        r.ahead_seconds = bench_program_compile_ahead(plan, results, r.device);
    for (; ok && i < plan->file_count && !bench_is_stopped(); i++) {
        if (plan->deadline > 0 && tile_seconds_now() > plan->deadline) break;
        take_file(&r, i, results);
    }
    if (ok && i < plan->file_count)
        fprintf(stderr,
                "remark: %u programs were not measured in this time; the same command with "
                "the same --csv continues\n",
                plan->file_count - i);
    free(r.ahead_seconds);
    bench_worker_stop(r.own);
    bench_worker_stop(r.peer);
    return ok && all_right(results);
}
