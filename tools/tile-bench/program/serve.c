#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/program/serve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/tool.h"
#include "tools/tile-bench/program/subject.h"

/* Elements that level 1 computes, and the CPU device. */
static const double most_checked = 1 << 21;

enum { MAX_TURN = 10000, MAX_WORDS = 3 + BENCH_MAX_WORDS_OF_PROGRAM };

typedef struct server {
    tile_context *context;
    bench_lab *lab;
    float *numbers;
    bench_subject subject;
    bench_text_facts facts;
    char error[600]; /* the first error since the last answer, in one line */
} server;

static void keep_error(const tile_diagnostic *d, void *user) {
    server *s = user;
    if (d->severity != TILE_ERROR || *s->error) return;
    if (d->line)
        snprintf(s->error, sizeof s->error, "%s:%u: %s", d->file, d->line, d->message);
    else
        snprintf(s->error, sizeof s->error, "%s", d->message);
    for (char *at = s->error; *at; at++)
        if (*at == '\n' || *at == '\r') *at = ' ';
}

static void answer_failure(const server *s) {
    printf("failed %s\n", *s->error ? s->error : "no reason was given");
}

/* Requests ---------------------------------------------------------------------------------- */

static unsigned split(char *line, char *words[MAX_WORDS]) {
    unsigned count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word && count < MAX_WORDS;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    return count;
}

/* Opens and loads the program of `small` and `set`. most: elements; more are not loaded. */
static bool open_subject(server *s, char **words, unsigned count, double most) {
    bench_settings settings = {.count = 0};
    bench_subject_close(&s->subject);
    if (count < 3 || !bench_text_read(words[1], &s->facts)) {
        printf("failed the request or the comments of its file are not understood\n");
        return false;
    }
    for (unsigned i = 3; i < count; i++) bench_settings_add(&settings, words[i]);
    const char *function = strcmp(words[2], "-") == 0 ? NULL : words[2];
    tile_status status = bench_subject_open(&s->subject, s->context, s->lab, NULL, words[1],
                                            function, &settings, &s->facts.fills);
    if (status == TILE_OK && bench_subject_elements(&s->subject) > most) {
        printf("large its arrays have %.0f elements, at most %.0f are possible: give smaller sizes "
               "with --small NAME=NUMBER\n",
               bench_subject_elements(&s->subject), most);
        return false;
    }
    if (status == TILE_OK) status = bench_subject_load(&s->subject, s->numbers);
    if (status != TILE_OK) answer_failure(s);
    return status == TILE_OK;
}

static void check_small(server *s, char **words, unsigned count) {
    char why[300];
    size_t elements;
    if (!open_subject(s, words, count, most_checked)) return;
    if (bench_subject_launch(&s->subject) != TILE_OK ||
        bench_subject_check(&s->subject, &elements, why, sizeof why) != TILE_OK)
        answer_failure(s);
    else if (*why)
        printf("wrong %s\n", why);
    else
        printf("right %zu\n", elements);
}

/* "block_m=128,stages=4"; "-" if there is none. */
static void print_point(const bench_subject *s) {
    const tile_binding *bindings;
    unsigned count = 0;
    if (tile_kernel_point(s->kernel, s->arguments, s->argument_count, &bindings, &count) != TILE_OK)
        count = 0;
    for (unsigned i = 0; i < count; i++)
        printf("%s%s=%s", i ? "," : "", bindings[i].name, bindings[i].value);
    fputs(count ? "" : "-", stdout);
}

static void set_program(server *s, char **words, unsigned count) {
    const bench_subject *p = &s->subject;
    if (!open_subject(s, words, count, bench_lab_is_cuda(s->lab) ? HUGE_VAL : most_checked)) return;
    printf("ready %.6g %u %.17g ", p->compile_seconds, p->launches, bench_subject_bytes(p));
    print_point(p);
    bench_subject_describe(p, tool_write, stdout);
    printf("\n");
}

static void compute(server *s, char **words, unsigned count) {
    bench_subject *p = &s->subject;
    char path[700];
    tile_status status = count == 2 ? bench_subject_launch(p) : TILE_INVALID;
    for (unsigned i = 0; p->input_count + i < p->count && status == TILE_OK; i++) {
        snprintf(path, sizeof path, "%s%u", words[1], i);
        status = bench_subject_save(p, i, path);
    }
    if (status == TILE_OK)
        printf("computed\n");
    else
        answer_failure(s);
}

/* Times ------------------------------------------------------------------------------------- */

static bool read_options(char **words, unsigned count, tile_measure_options *options) {
    static const char *const flushes[] = {
        [TILE_FLUSH_NONE] = "none", [TILE_FLUSH_DIRTY] = "dirty", [TILE_FLUSH_CLEAN] = "clean"};
    *options = (tile_measure_options){.size = sizeof *options};
    if (count != 4) return false;
    for (unsigned i = 0; i < 3; i++)
        if (strcmp(words[1], flushes[i]) == 0) options->flush = (tile_flush)i;
    options->warmup = (unsigned)strtoul(words[2], NULL, 10);
    options->repeats = (unsigned)strtoul(words[3], NULL, 10);
    return options->warmup <= MAX_TURN && options->repeats <= MAX_TURN;
}

static void take_turn(server *s, char **words, unsigned count) {
    static double samples[MAX_TURN];
    tile_measure_options options;
    tile_measurement taken;
    const bench_subject *p = &s->subject;
    if (!read_options(words, count, &options)) {
        printf("failed `turn` takes FLUSH WARMUP COUNT\n");
        return;
    }
    options.samples = samples;
    if (tile_measure(p->kernel, p->arguments, p->argument_count, NULL, &options, &taken) !=
        TILE_OK) {
        answer_failure(s);
        return;
    }
    printf("times");
    for (unsigned i = 0; i < taken.repeats; i++) printf(" %.9g", samples[i]);
    printf("\n");
}

static void add_step(const tile_step_measurement *step, void *user) {
    tool_text *text = user;
    char line[400];
    int length =
        snprintf(line, sizeof line, " %s %lld %lld %lld %.9g %.17g %.17g %.17g", step->kernel,
                 (long long)step->grid[0], (long long)step->grid[1], (long long)step->grid[2],
                 step->seconds, step->read_bytes, step->written_bytes, step->operations);
    tool_append(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1, text);
}

static void take_steps(server *s, char **words, unsigned count) {
    tile_measure_options options;
    tool_text text = {NULL, 0, 0};
    const bench_subject *p = &s->subject;
    if (!read_options(words, count, &options))
        printf("failed `steps` takes FLUSH WARMUP COUNT\n");
    else if (tile_measure_steps(p->kernel, p->arguments, p->argument_count, NULL, &options,
                                add_step, &text) != TILE_OK)
        answer_failure(s);
    else
        printf("steps%s\n", text.size ? text.data : "");
    free(text.data);
}

/* Two arrays of half the bytes: one is read, the other written. */
typedef struct copy_work {
    bench_lab *lab;
    bench_memory from, to;
    size_t bytes;
} copy_work;

static tile_status launch_copy(void *stream, void *user) {
    const copy_work *c = user;
    return bench_lab_copy(c->lab, stream, &c->to, &c->from, c->bytes);
}

static void measure_copy(server *s, char **words, unsigned count) {
    copy_work c = {.lab = s->lab,
                   .bytes = count == 2 ? (size_t)strtoull(words[1], NULL, 10) / 2 : 0};
    const tile_work work = {launch_copy, &c};
    const tile_measure_options options = {
        .size = sizeof options, .warmup = 2, .repeats = 9, .flush = TILE_FLUSH_DIRTY};
    tile_measurement taken = {0};
    tile_status status = bench_memory_create(s->lab, c.bytes, &c.from);
    if (status == TILE_OK) status = bench_memory_create(s->lab, c.bytes, &c.to);
    if (status == TILE_OK) status = bench_memory_fill(s->lab, &c.from, 1);
    if (status == TILE_OK)
        status = tile_measure_works(bench_lab_device(s->lab), &work, 1, NULL, &options, &taken);
    bench_memory_destroy(s->lab, &c.from);
    bench_memory_destroy(s->lab, &c.to);
    if (status == TILE_OK)
        printf("copied %.9g\n", taken.median);
    else
        answer_failure(s);
}

static void answer_facts(const server *s) {
    bench_facts f = bench_lab_facts(s->lab);
    printf("facts %u %u %u %s %s\n", f.sms, f.capability, f.clock, f.target, f.name);
}

static void answer(server *s, char *line) {
    static const struct {
        const char *name;
        void (*take)(server *s, char **words, unsigned count);
        bool needs_program;
    } requests[] = {{"small", check_small, false}, {"set", set_program, false},
                    {"compute", compute, true},    {"turn", take_turn, true},
                    {"steps", take_steps, true},   {"copy", measure_copy, false}};
    char *words[MAX_WORDS];
    unsigned count = split(line, words);
    *s->error = 0;
    if (count && strcmp(words[0], "facts") == 0) {
        answer_facts(s);
        return;
    }
    for (unsigned i = 0; count && i < sizeof requests / sizeof *requests; i++) {
        if (strcmp(words[0], requests[i].name) != 0) continue;
        if (requests[i].needs_program && !s->subject.kernel)
            printf("failed there is no program yet\n");
        else
            requests[i].take(s, words, count);
        return;
    }
    printf("failed the request is not understood\n");
}

int bench_program_serve(const bench_lab_options *options, const char *numbers) {
    static server s;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    s.context = tile_context_create();
    tile_context_set_sink(s.context, keep_error, &s);
    s.lab = bench_lab_open(s.context, options);
    s.numbers = s.lab ? bench_numbers_read(numbers) : NULL;
    while ((length = getline(&line, &capacity, stdin)) > 0) {
        line[strcspn(line, "\r\n")] = 0;
        if (s.numbers)
            answer(&s, line);
        else
            answer_failure(&s);
        fflush(stdout);
    }
    free(line);
    bench_subject_close(&s.subject);
    free(s.numbers);
    bench_lab_close(s.lab);
    tile_context_destroy(s.context);
    return tool_finish(true);
}
