/* Reports trials, and writes their reproducers. */
#include "tools/tile-opt/run_each.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-opt/steps.h"

const char opt_pipeline_marker[] = "// RUN-PIPELINE: ";
const char opt_options_marker[] = "// RUN-OPTIONS: ";

static void add(tool_text *to, const char *before, const char *text, const char *behind) {
    tool_append(before, strlen(before), to);
    tool_append(text, strlen(text), to);
    tool_append(behind, strlen(behind), to);
}

static void add_number(tool_text *to, const char *name, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.17g", value);
    add(to, name, text, "");
}

static const char *line_of(const char *text, const char *marker) {
    const char *found = strstr(text, marker);
    return found && (found == text || found[-1] == '\n') ? found : NULL;
}

/* Appends the text without the lines of an earlier reproducer. */
static void add_text(tool_text *to, const char *text) {
    while (*text) {
        const char *end = text + strcspn(text, "\n");
        end += *end != 0;
        if (line_of(text, opt_pipeline_marker) != text && line_of(text, opt_options_marker) != text)
            tool_append(text, (size_t)(end - text), to);
        text = end;
    }
}

void write_case(const opt_options *o, const char *pipeline, const char *text, tool_text *out) {
    const case_options *test = &o->test;
    add(out, opt_options_marker, "--run-each", "");
    if (test->kernel) add(out, " --kernel=", test->kernel, "");
    if (o->target) add(out, " --target=", o->target->name, "");
    for (unsigned i = 0; i < test->binding_count; i++) {
        add(out, " --param=", test->bindings[i].name, "=");
        add(out, "", test->bindings[i].value, "");
    }
    for (unsigned i = 0; i < test->argument_count; i++) add(out, " --arg=", test->arguments[i], "");
    if (test->seed) add_number(out, " --seed=", (double)test->seed);
    if (test->tolerance > 0) add_number(out, " --tolerance=", test->tolerance);
    add(out, "\n", "", "");
    if (pipeline) add(out, opt_pipeline_marker, pipeline, "\n");
    add_text(out, text);
}

/* Reports ------------------------------------------------------------------------------------- */

static void show(const char *when, const char *pass, const char *ir) {
    if (ir) fprintf(stderr, "// -----// IR Dump %s %s //----- //\n%s\n", when, pass, ir);
}

/* Writes a reproducer that runs only the failing pass, on its input IR, with the same arguments. */
static void write_files(const opt_options *o, const trial *t, const char *before,
                        const char *after) {
    opt_options alone = *o;
    tool_text out = {NULL, 0, 0}, behind = {NULL, 0, 0};
    const char *at = t->pipeline + t->step;
    char *step;
    size_t length = opt_step_length(&at);
    step = tool_copy(at, length);
    alone.test.binding_count = 0; /* they are bound already */
    write_case(&alone, step, before, &out);
    if (tool_write_file(o->reproducer, out.data, out.size))
        fprintf(stderr, "note: tile-opt %s --run-reproducer shows it again\n", o->reproducer);
    add(&behind, o->reproducer, ".after", "");
    if (after) tool_write_file(behind.data, after, strlen(after));
    free(step);
    free(out.data);
    free(behind.data);
}

static bool has_after(trial_kind kind) {
    return kind == TRIAL_CHANGED || kind == TRIAL_FAULT || kind == TRIAL_REFUSED;
}

/* Says where in the pipeline the failing pass is, unless it is the first one. */
static void report_place(const trial *t) {
    unsigned number = 0, count = 0;
    for (const char *at = t->pipeline; *at; at = opt_next_step(at), count++)
        if (at <= t->pipeline + t->step) number = count + 1;
    if (number < 2) return;
    fprintf(stderr, "note: it is pass %u of %u; before it: %.*s\n", number, count, (int)t->step - 1,
            t->pipeline);
}

static void report(const opt_options *o, const trial_input *input, const trial *t) {
    const char *at = t->pipeline + t->step;
    char *before = trial_lower(input, t, t->step), *after = NULL;
    if (has_after(t->kind)) {
        const char *end = opt_next_step(at);
        after = trial_lower(input, t, (size_t)(end - t->pipeline));
    }
    fprintf(stderr, "error: pass '%s' %s: %s", t->pass, trial_kind_text(t->kind), t->detail);
    if (!*t->detail || t->detail[strlen(t->detail) - 1] != '\n') fputc('\n', stderr);
    report_place(t);
    if (o->reproducer && before) {
        write_files(o, t, before, after);
    } else {
        show("Before", t->pass, before);
        show("After", t->pass, after);
    }
    free(before);
    free(after);
}

bool run_each(const opt_options *o, const char *name, const char *text, const char *pipeline) {
    const trial_input input = {.name = name,
                               .text = text,
                               .pipeline = pipeline,
                               .target = o->target,
                               .options = &o->test,
                               .seconds = o->seconds};
    trial t = trial_run(&input);
    bool right = t.kind == TRIAL_RIGHT;
    if (right)
        printf("%u runs on the CPU device have the same results: no pass changes a result\n",
               t.runs);
    else if (!*t.pass)
        fprintf(stderr, "%serror: this %s\n", t.detail, trial_kind_text(t.kind));
    else
        report(o, &input, &t);
    trial_free(&t);
    return right;
}
