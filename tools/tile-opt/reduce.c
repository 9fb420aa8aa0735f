/* Determines the symptom of a case, and searches for a smaller case with the same symptom.
 *
 * Without --reduce-with, the symptom is the failing pass, the kind of failure, and the reported
 * message up to the first number. With it, the symptom is the exit status of a command that is run
 * on a file with the case. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-opt/reduce.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/include.h"
#include "tools/tile-opt/run_each.h"
#include "tools/tile-opt/shrink.h"
#include "tools/tile-opt/trial.h"

typedef struct reduction {
    const opt_options *options;
    const char *name;
    char file[64]; /* input of the command */
    int status;
    bool parses; /* the original parses, so candidates must as well */
    trial symptom;
    double end, said; /* seconds */
    double most;      /* per trial */
    unsigned trials;
    shrinker shrinker;
} reduction;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static size_t count_lines(const char *text) {
    size_t lines = 0;
    for (; (text = strchr(text, '\n')); text++) lines++;
    return lines;
}

static void say_progress(reduction *r) {
    enum { SECONDS_BETWEEN = 5 };
    if (now() < r->said + SECONDS_BETWEEN) return;
    r->said = now();
    fprintf(stderr, "note: %zu lines after %u trials\n", count_lines(r->shrinker.best.text),
            r->trials);
}

static bool is_over(void *user) {
    const reduction *r = user;
    return now() > r->end;
}

/* Candidates ---------------------------------------------------------------------------------- */

/* Returns the options with the arguments of a candidate, which keeps owning them. */
static opt_options options_of(const reduction *r, const shrink_case *c) {
    opt_options o = *r->options;
    o.test.argument_count = c->argument_count;
    for (unsigned i = 0; i < c->argument_count; i++) o.test.arguments[i] = c->arguments[i];
    return o;
}

/* Parses and prints the text; NULL if it does not parse. */
static char *print_again(const char *name, const char *text) {
    tool_text out = {NULL, 0, 0};
    tile_context *context = tile_context_create();
    tile_module *module = tool_parse(context, name, text, strlen(text));
    if (module) tile_module_print(module, tool_append, &out);
    tile_module_destroy(module);
    tile_context_destroy(context);
    return out.data;
}

static trial try_passes(const reduction *r, const shrink_case *c) {
    opt_options o = options_of(r, c);
    const trial_input input = {.name = r->name,
                               .text = c->text,
                               .pipeline = c->pipeline,
                               .target = o.target,
                               .options = &o.test,
                               .seconds = r->most,
                               .quiet = true};
    return trial_run(&input);
}

/* True if the messages after "error: " are equal up to the first number or name. */
static bool is_alike(const char *a, const char *b) {
    const char *x = strstr(a, "error: "), *y = strstr(b, "error: ");
    x = x ? x + 7 : a;
    y = y ? y + 7 : b;
    while (*x && *x == *y && *x != '\n' && !isdigit((unsigned char)*x) && *x != '%') x++, y++;
    return *x == *y || isdigit((unsigned char)*x) || *x == '%';
}

static bool has_symptom(const reduction *r, const trial *t) {
    const trial *s = &r->symptom;
    return t->kind == s->kind && strcmp(t->pass, s->pass) == 0 &&
           (t->kind == TRIAL_CHANGED || t->kind == TRIAL_ENDLESS || is_alike(s->detail, t->detail));
}

/* Returns the exit status of the command on the case; below 0 if it did not exit normally. */
static int run_command(const reduction *r, const shrink_case *c) {
    opt_options o = options_of(r, c);
    tool_text out = {NULL, 0, 0}, command = {NULL, 0, 0};
    write_case(&o, *c->pipeline ? c->pipeline : NULL, c->text, &out);
    bool written = tool_write_file(r->file, out.data, out.size);
    tool_append(r->options->reduce_with, strlen(r->options->reduce_with), &command);
    tool_append(" ", 1, &command);
    tool_append(r->file, strlen(r->file), &command);
    tool_append(" >/dev/null 2>&1", 16, &command);
    fflush(NULL);
    int status = written ? system(command.data) : -1;
    free(out.data);
    free(command.data);
    return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool test(const shrink_case *c, void *user) {
    reduction *r = user;
    bool same;
    if (r->parses) {
        char *printed = print_again(r->name, c->text);
        if (!printed) return false;
        free(printed);
    }
    r->trials++;
    say_progress(r);
    if (r->options->reduce_with) return run_command(r, c) == r->status;
    trial t = try_passes(r, c);
    same = has_symptom(r, &t);
    trial_free(&t);
    return same;
}

/* The original -------------------------------------------------------------------------------- */

/* Includes the arguments that were made up, so that they can be reduced, too. */
static void take_arguments(const opt_options *o, const char *name, shrink_case *c) {
    test_case made;
    tile_context *context = tile_context_create();
    tile_module *module = tool_parse(context, name, c->text, strlen(c->text));
    tile_context_set_sink(context, NULL, NULL);
    if (module && case_open(&made, &o->test, context, module)) {
        for (unsigned i = 0; i < made.count; i++)
            c->arguments[c->argument_count++] = case_argument_text(&made, i);
        case_close(&made);
    } else {
        for (unsigned i = 0; i < o->test.argument_count; i++)
            c->arguments[c->argument_count++] =
                tool_copy(o->test.arguments[i], strlen(o->test.arguments[i]));
    }
    tile_module_destroy(module);
    tile_context_destroy(context);
}

static bool find_symptom(reduction *r, const char *pipeline) {
    const trial_input input = {.name = r->name,
                               .text = r->shrinker.best.text,
                               .pipeline = pipeline,
                               .target = r->options->target,
                               .options = &r->options->test,
                               .seconds = r->most};
    double since = now();
    r->symptom = trial_run(&input);
    const trial *s = &r->symptom;
    enum { TIMES_AS_LONG = 10 };
    if (s->kind == TRIAL_RIGHT)
        fprintf(stderr, "error: no pass changes a result: there is nothing to reduce\n");
    else if (s->kind == TRIAL_INVALID)
        fprintf(stderr, "%serror: this %s\n", s->detail, trial_kind_text(s->kind));
    else
        fprintf(stderr, "note: pass '%s' %s: %s%s", s->pass, trial_kind_text(s->kind), s->detail,
                strchr(s->detail, '\n') ? "" : "\n");
    if (s->kind != TRIAL_ENDLESS && r->most > 1 + TIMES_AS_LONG * (now() - since))
        r->most = 1 + TIMES_AS_LONG * (now() - since);
    free(r->shrinker.best.pipeline);
    r->shrinker.best.pipeline = tool_copy(s->pipeline, strlen(s->pipeline));
    return s->kind != TRIAL_RIGHT && s->kind != TRIAL_INVALID;
}

static bool begin(reduction *r, const char *pipeline) {
    const opt_options *o = r->options;
    if (!o->reduce_with) return find_symptom(r, pipeline);
    snprintf(r->file, sizeof r->file, "/tmp/tile-reduce-%ld.tile", (long)getpid());
    r->status = run_command(r, &r->shrinker.best);
    fprintf(stderr, "note: '%s' exits with %d\n", o->reduce_with, r->status);
    return r->status >= 0;
}

bool reduce(const opt_options *o, const char *name, const char *text, const char *pipeline,
            tool_text *out) {
    reduction r = {.options = o, .name = name, .most = o->seconds, .said = now()};
    r.end = now() + o->reduce_seconds;
    shrinker *s = &r.shrinker;
    *s = (shrinker){.test = test, .is_over = is_over, .user = &r};
    const char *known = pipeline ? pipeline : "";
    s->best = (shrink_case){.pipeline = tool_copy(known, strlen(known))};
    s->best.text = print_again(name, text);
    r.parses = s->best.text != NULL;
    if (!r.parses) s->best.text = tool_copy(text, strlen(text));
    take_arguments(o, name, &s->best);
    bool ok = begin(&r, pipeline);
    if (ok) {
        size_t lines = count_lines(s->best.text);
        shrink(s);
        if (r.parses) { /* this removes unused names and layouts */
            shrink_case printed = shrink_copy(&s->best);
            free(printed.text);
            printed.text = print_again(name, s->best.text);
            r.end = now() + r.most;
            shrink_try(s, printed);
        }
        opt_options last = options_of(&r, &s->best);
        write_case(&last, *s->best.pipeline ? s->best.pipeline : NULL, s->best.text, out);
        fprintf(stderr, "note: %zu of %zu lines are left after %u trials\n",
                count_lines(s->best.text), lines, r.trials);
    }
    if (*r.file) remove(r.file);
    trial_free(&r.symptom);
    shrink_free(&s->best);
    return ok;
}
