/* Trials: a child process runs the passes and the kernel, and reports its progress to the parent
 * over a pipe.
 *
 * Each line is `at STEP PASS` before a pass, `ran` or `refused` after a run of the kernel, or
 * `pipeline TEXT`. The last line is `end KIND`; the detail follows it. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-opt/trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/child.h"
#include "lib/support/clock.h"
#include "tools/common/include.h"
#include "tools/tile-opt/steps.h"

static const char *const kinds[] = {
    [TRIAL_RIGHT] = "changes no result",
    [TRIAL_INVALID] = "is wrong before any pass",
    [TRIAL_CHANGED] = "changes a result",
    [TRIAL_FAULT] = "makes the kernel fault",
    [TRIAL_REFUSED] = "makes a kernel that cannot run",
    [TRIAL_BROKEN] = "breaks the rules of the IR",
    [TRIAL_STOPPED] = "stops with an error",
    [TRIAL_CRASHED] = "crashes",
    [TRIAL_ENDLESS] = "does not end within the time limit",
};

const char *trial_kind_text(trial_kind kind) {
    return kinds[kind];
}

/* The child ----------------------------------------------------------------------------------- */

typedef struct child {
    FILE *to;
    tile_module *module;
    test_case test;
    case_result first; /* reference for all later results */
    bool has_first;
    opt_position position;
    tool_text reports; /* reported by passes */
    tool_text refusal; /* why the kernel could not run the last time */
    trial suspect;     /* kind TRIAL_RIGHT: none */
} child;

/* Exits without cleanup: nothing is needed any more, and the callers' state may be corrupt. */
static _Noreturn void send_outcome(child *c, trial_kind kind, const char *detail) {
    fprintf(c->to, "end %d\n%s", (int)kind, detail ? detail : "");
    fflush(c->to);
    _exit(0);
}

static bool synchronises(const tile_pass_info *info) {
    return strstr(info->establishes, "synchronised");
}

static bool lowers(const tile_pass_info *info) {
    return info->level_in == TILE_LEVEL_2 && info->level_out == TILE_LEVEL_3;
}

/* True if a later step of the pipeline satisfies the predicate. */
static bool is_ahead(const child *c, bool (*is_such)(const tile_pass_info *info)) {
    const char *at = c->position.at ? opt_next_step(c->position.at) : c->position.pipeline;
    for (; *at; at = opt_next_step(at)) {
        const char *step = at;
        size_t length = opt_step_length(&step);
        const tile_pass_info *info;
        for (unsigned i = 0; (info = tile_pass_at(i)); i++)
            if (strncmp(info->name, step, strlen(info->name)) == 0 &&
                strcspn(step, "{, ") >= strlen(info->name) && length >= strlen(info->name) &&
                is_such(info))
                return true;
    }
    return false;
}

/* Records a failure after the current pass, unless one was recorded already, and ends the trial. It
 * waits while a later pass may still fix the failure: passes that insert barriers and fences, or
 * for a kernel that cannot run, the one that lowers to level 3. */
static void record_suspect(child *c, trial_kind kind, const char *detail) {
    trial *s = &c->suspect;
    if (s->kind == TRIAL_RIGHT) {
        const char *at = c->position.at ? c->position.at : c->position.pipeline;
        s->kind = kind;
        s->step = (size_t)(at - c->position.pipeline);
        snprintf(s->pass, sizeof s->pass, "%.*s", (int)strcspn(at, "{, "), at);
        s->detail = tool_copy(detail, strlen(detail));
    }
    if (is_ahead(c, kind == TRIAL_REFUSED ? lowers : synchronises)) return;
    fprintf(c->to, "at %zu %s\n", s->step, s->pass);
    send_outcome(c, s->kind, s->detail);
}

static void clear_suspect(child *c) {
    free(c->suspect.detail);
    c->suspect = (trial){.kind = TRIAL_RIGHT};
}

static void run_once(child *c) {
    case_result result;
    tool_text where = {NULL, 0, 0};
    case_run(&c->test, c->module, &result);
    tile_context_set_sink(c->test.context, case_keep_error, &c->reports);
    fprintf(c->to, "%s\n", result.outcome == CASE_RAN ? "ran" : "refused");
    fflush(c->to);
    switch (result.outcome) {
    case CASE_RAN:
        clear_suspect(c);
        if (!c->has_first) {
            c->first = result;
            c->has_first = true;
            return;
        }
        if (case_differs(&c->test, &c->first, &result, &where))
            send_outcome(c, TRIAL_CHANGED, where.data);
        break;
    case CASE_FAULT:
        if (!c->has_first) send_outcome(c, TRIAL_INVALID, result.reports.data);
        record_suspect(c, TRIAL_FAULT, result.reports.data);
        break;
    case CASE_REFUSED:
        if (c->has_first) record_suspect(c, TRIAL_REFUSED, result.reports.data);
        c->refusal.size = 0;
        tool_append(result.reports.data, result.reports.size, &c->refusal);
        break;
    }
    case_free(&c->test, &result);
}

static void before_pass(const char *pass, const tile_function *f, bool changed, void *user) {
    child *c = user;
    (void)changed;
    if (opt_follow(&c->position, pass, f)) {
        fprintf(c->to, "at %zu %s\n", (size_t)(c->position.at - c->position.pipeline), pass);
        fflush(c->to);
    }
}

/* True if a pass has split the kernel and only some of the new kernels are lowered to level 3. */
static bool is_between_levels(const child *c) {
    const tile_function *part;
    size_t length = strlen(c->test.kernel);
    bool at[4] = {false};
    for (unsigned i = 0; (part = tile_module_function(c->module, i)); i++)
        if (tile_function_get_kind(part) == TILE_KERNEL &&
            strncmp(tile_function_name(part), c->test.kernel, length) == 0)
            at[tile_function_level(part)] = true;
    const tile_function *f = tile_module_find(c->module, c->test.kernel);
    return f && tile_function_get_kind(f) == TILE_PLAN && at[2] && at[3];
}

static void after_pass(const char *pass, const tile_function *f, bool changed, void *user) {
    child *c = user;
    (void)pass, (void)f;
    if ((changed || !c->has_first) && !is_between_levels(c)) run_once(c);
}

/* Returns the given pipeline, else the passes that a launch with these arguments would run. */
static char *choose_pipeline(const child *c, const trial_input *input) {
    tool_text text = {NULL, 0, 0};
    char head[64];
    unsigned variant;
    if (input->pipeline) return tool_copy(input->pipeline, strlen(input->pipeline));
    const tile_function *f = tile_module_find(c->module, c->test.kernel);
    tool_append("", 0, &text);
    if (case_variant(&c->test, c->module, input->target, &variant)) {
        snprintf(head, sizeof head, "choose-variant{variant=%u},", variant);
        tool_append(head, strlen(head), &text);
    }
    /* For a kernel at level 3 only the last passes are left. */
    const char *rest = tile_default_pipeline(3);
    const char *last = strstr(rest, "lower-tiles,");
    if (tile_function_level(f) == 3 && last) rest = opt_next_step(last);
    tool_append(rest, strlen(rest), &text);
    return text.data;
}

static _Noreturn void run_child(child *c, const trial_input *input) {
    tile_context *context = tile_context_create();
    tool_append("", 0, &c->reports);
    tool_append("", 0, &c->refusal);
    tile_context_set_sink(context, case_keep_error, &c->reports);
    c->module = tool_parse(context, input->name, input->text, strlen(input->text));
    if (!c->module || !case_open(&c->test, input->options, context, c->module))
        send_outcome(c, TRIAL_INVALID, c->reports.data);
    char *pipeline = choose_pipeline(c, input);
    for (char *at = pipeline; (at = strchr(at, '\n'));) *at = ' ';
    fprintf(c->to, "pipeline %s\n", pipeline);
    tile_context_set_sink(context, case_keep_error, &c->reports);
    c->position = (opt_position){.module = c->module, .pipeline = pipeline};
    run_once(c);
    const tile_pass_options passes = {.size = sizeof passes,
                                      .target = input->target,
                                      .kernel = c->test.kernel,
                                      .before = before_pass,
                                      .after = after_pass,
                                      .report_changes = true,
                                      .hook_user = c};
    switch (tile_run_passes(c->module, pipeline, &passes)) {
    case TILE_OK: send_outcome(c, c->has_first ? TRIAL_RIGHT : TRIAL_INVALID, c->refusal.data);
    case TILE_FAILED: send_outcome(c, TRIAL_BROKEN, c->reports.data);
    case TILE_INVALID:
    case TILE_UNSUPPORTED:
    case TILE_UNAVAILABLE:
    case TILE_OUT_OF_MEMORY:
    case TILE_FAULT:
        send_outcome(c, c->position.at ? TRIAL_STOPPED : TRIAL_INVALID, c->reports.data);
    }
    _exit(1);
}

static void run_process(int to, void *input_) {
    const trial_input *input = input_;
    const struct rlimit no_core = {0, 0};
    child c = {.to = fdopen(to, "w")};
    setrlimit(RLIMIT_CORE, &no_core);
    if (input->quiet && !freopen("/dev/null", "w", stderr)) return;
    if (c.to) run_child(&c, input);
}

/* The parent ---------------------------------------------------------------------------------- */

/* Reads the child's output up to its end; false if the time limit is exceeded. */
static bool read_reply(tile_child *from, double seconds, tool_text *said) {
    const tile_child_wait_limit patience = {.deadline = tile_seconds_now() + seconds};
    tile_child_result trouble;
    char part[4096];
    size_t count;
    tool_append("", 0, said);
    while (!(trouble = tile_child_get_some(from, part, sizeof part, &count, &patience)))
        tool_append(part, count, said);
    return trouble != TILE_CHILD_TIMED_OUT;
}

static void parse_reply(const char *at, trial *t) {
    int kind;
    while (*at) {
        const char *end = at + strcspn(at, "\n");
        if (sscanf(at, "at %zu %63s", &t->step, t->pass) == 2) {
        } else if (strncmp(at, "ran", 3) == 0) {
            t->runs++;
        } else if (strncmp(at, "refused", 7) == 0) {
            t->refusals++;
        } else if (strncmp(at, "pipeline ", 9) == 0) {
            free(t->pipeline);
            t->pipeline = tool_copy(at + 9, (size_t)(end - at - 9));
        } else if (sscanf(at, "end %d", &kind) == 1) {
            t->kind = (trial_kind)kind;
            free(t->detail);
            t->detail = tool_copy(end + (*end != 0), strlen(end + (*end != 0)));
            return;
        }
        at = end + (*end != 0);
    }
}

static void say_signal(int status, trial *t) {
    char text[64];
    snprintf(text, sizeof text, WIFSIGNALED(status) ? "signal %d\n" : "exit status %d\n",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    t->detail = tool_copy(text, strlen(text));
}

trial trial_run(const trial_input *input) {
    trial t = {.kind = TRIAL_CRASHED, .pipeline = tool_copy("", 0)};
    tool_text said = {NULL, 0, 0};
    tile_child process;
    fflush(NULL);
    int error = tile_child_fork(&process, run_process, (void *)input);
    if (error) {
        fprintf(stderr, "error: no process: %s\n", strerror(error));
        exit(1);
    }
    bool ended = read_reply(&process, input->seconds, &said);
    if (ended) tile_child_wait(&process, HUGE_VAL);
    tile_child_end(&process, HUGE_VAL);
    say_signal(process.state, &t);
    parse_reply(said.data, &t);
    if (!ended) t.kind = TRIAL_ENDLESS;
    if (t.kind == TRIAL_RIGHT || t.kind == TRIAL_INVALID) t.pass[0] = 0;
    free(said.data);
    return t;
}

void trial_free(trial *t) {
    free(t->pipeline);
    free(t->detail);
    *t = (trial){.kind = TRIAL_INVALID};
}

char *trial_lower(const trial_input *input, const trial *t, size_t length) {
    tool_text out = {NULL, 0, 0};
    test_case test;
    tile_context *context = tile_context_create();
    tile_module *module = tool_parse(context, input->name, input->text, strlen(input->text));
    char *pipeline = tool_copy(t->pipeline, length);
    if (length && pipeline[length - 1] == ',') pipeline[length - 1] = 0;
    bool ok = module && case_open(&test, input->options, context, module);
    tile_context_set_sink(context, NULL, NULL);
    if (ok) {
        const tile_pass_options passes = {.size = sizeof passes,
                                          .target = input->target,
                                          .kernel = test.kernel,
                                          .skip_verify = true};
        ok = tile_run_passes(module, pipeline, &passes) == TILE_OK;
        if (ok) tile_module_print(module, tool_append, &out);
        case_close(&test);
    }
    free(pipeline);
    tile_module_destroy(module);
    tile_context_destroy(context);
    return out.data;
}
