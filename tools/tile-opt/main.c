/* tile-opt: parse, run passes, print. The pass debugger. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-opt/expect.h"
#include "tools/tile-opt/options.h"

/* One part of the input with everything that is shown while passes run over it. */
typedef struct session {
    const opt_options *o;
    tile_module *module;
    const char *pipeline;
    tool_text out;
    /* For the reproducer: the IR before the step that runs, and where the pipeline goes on from
     * there. */
    tool_text before;
    const char *rest;
    const tile_function *last; /* the function that the last pass ran on */
} session;

/* Pipelines as text -------------------------------------------------------------------------- */

/* Behind the step at `at`: options in braces have commas of their own. */
static const char *next_step(const char *at) {
    unsigned depth = 0;
    for (; *at && (*at != ',' || depth); at++)
        depth += *at == '{' ? 1 : *at == '}' && depth ? -1u : 0;
    return *at ? at + 1 : at;
}

static bool is_step(const char *at, const char *pass) {
    at += strspn(at, " \t\n");
    return strncmp(at, pass, strlen(pass)) == 0 && strchr(" \t\n{,", at[strlen(pass)]);
}

/* True if `now` is `last` or stands before it: then the pass is not the one that ran on `last`. */
static bool is_new_round(const session *s, const tile_function *now) {
    const tile_function *f;
    for (unsigned i = 0; s->last && (f = tile_module_function(s->module, i)) && f != s->last; i++)
        if (f == now) return true;
    return s->last == now;
}

static void follow_pipeline(session *s, const char *pass, const tile_function *f) {
    const char *at = s->rest ? s->rest : s->pipeline;
    if (s->rest && (is_new_round(s, f) || !is_step(at, pass))) at = next_step(at);
    while (*at && !is_step(at, pass)) at = next_step(at);
    if (at != s->rest || !s->before.data) {
        s->before.size = 0;
        tile_module_print(s->module, tool_append, &s->before);
    }
    s->rest = at;
    s->last = f;
}

/* Hooks -------------------------------------------------------------------------------------- */

static void dump(const char *when, const char *pass, const tile_function *f) {
    fprintf(stderr, "// -----// IR Dump %s %s //----- //\n", when, pass);
    tile_function_print(f, tool_write, stderr);
    fputc('\n', stderr);
}

static void before_pass(const char *pass, const tile_function *f, bool changed, void *user) {
    session *s = user;
    (void)changed;
    if (s->o->reproducer) follow_pipeline(s, pass, f);
    if (opt_shows(&s->o->before, pass)) dump("Before", pass, f);
}

static void after_pass(const char *pass, const tile_function *f, bool changed, void *user) {
    session *s = user;
    if (opt_shows(&s->o->after, pass) || (s->o->after_change && changed)) dump("After", pass, f);
}

static void show_time(const char *pass, double seconds, void *user) {
    (void)user;
    fprintf(stderr, "%10.6f s  %s\n", seconds, pass);
}

static void show_statistic(const char *pass, const char *name, long value, void *user) {
    (void)user;
    fprintf(stderr, "%10ld  %s: %s\n", value, pass, name);
}

/* Reproducers -------------------------------------------------------------------------------- */

static const char run_marker[] = "// RUN-PIPELINE: ";

static void write_reproducer(const session *s) {
    tool_text text = {NULL, 0, 0};
    if (!s->rest) return;
    tool_append(run_marker, sizeof run_marker - 1, &text);
    tool_append(s->rest, strlen(s->rest), &text);
    tool_append("\n", 1, &text);
    tool_append(s->before.data, s->before.size, &text);
    if (tool_write_file(s->o->reproducer, text.data, text.size))
        fprintf(stderr, "note: tile-opt %s --run-reproducer shows it again\n", s->o->reproducer);
    free(text.data);
}

/* The pipeline that a reproducer names; the caller frees it. NULL after a message. */
static char *read_run_marker(const char *text) {
    const char *at = strstr(text, run_marker);
    if (!at) {
        fprintf(stderr, "error: the input has no line `%s...`\n", run_marker);
        return NULL;
    }
    at += sizeof run_marker - 1;
    return tool_copy(at, strcspn(at, "\n"));
}

/* One part of the input ---------------------------------------------------------------------- */

static bool run_passes(session *s) {
    const opt_options *o = s->o;
    tile_pass_options passes = {
        .size = sizeof passes,
        .target = o->target,
        .kernel = o->kernel,
        .skip_verify = o->skip_verify,
        .before = before_pass,
        .after = after_pass,
        .report_changes = o->after_change,
        .hook_user = s,
        .timing = o->timing ? show_time : NULL,
        .statistic = o->statistics ? show_statistic : NULL,
    };
    if (tile_run_passes(s->module, s->pipeline, &passes) == TILE_OK) return true;
    if (o->reproducer) write_reproducer(s);
    return false;
}

/* What the part becomes, in *out. False if something in it is wrong. */
static bool process(const opt_options *o, const char *name, const char *text, const char *pipeline,
                    tool_text *out) {
    session s = {.o = o, .pipeline = pipeline};
    tile_context *context = tile_context_create();
    expectations expected = {0};
    if (o->verify_diagnostics) {
        expected = expect_read(name, text);
        tile_context_set_remarks(context, o->remarks != TOOL_REMARKS_ASKED);
        tile_context_set_sink(context, expect_diagnostic, &expected);
    } else {
        tool_print_remarks(context, o->remarks);
    }
    s.module = tile_module_parse(context, name, text, strlen(text));
    bool ok = s.module && run_passes(&s);
    if (ok) tile_module_print(s.module, tool_append, out);
    if (o->verify_diagnostics) ok = expect_finish(&expected);
    tile_module_destroy(s.module);
    tile_context_destroy(context);
    free(s.before.data);
    return ok;
}

/* The file ----------------------------------------------------------------------------------- */

static const char split_marker[] = "// -----";

static const char *find_split(const char *text) {
    for (const char *at = text; (at = strstr(at, split_marker)); at++) {
        const char *after = at + sizeof split_marker - 1;
        bool whole_line = (at == text || at[-1] == '\n') && (*after == '\n' || !*after);
        if (whole_line) return at;
    }
    return NULL;
}

/* Parts keep their line numbers: what comes before is blank lines. */
static bool process_parts(const opt_options *o, const char *name, char *text, const char *pipeline,
                          tool_text *out) {
    bool ok = true;
    for (char *start = text;;) {
        char *split = (char *)find_split(start);
        char *end = split ? split : start + strlen(start);
        char *part = tool_copy(text, (size_t)(end - text));
        for (char *c = part; c < part + (start - text); c++) *c = *c == '\n' ? '\n' : ' ';
        ok &= process(o, name, part, pipeline, out);
        free(part);
        if (!split) return ok;
        tool_append(split_marker, sizeof split_marker - 1, out);
        tool_append("\n", 1, out);
        start = end + sizeof split_marker - 1;
    }
}

static bool process_file(const opt_options *o, tool_text *out) {
    size_t size;
    char *text = tool_read_file(o->input, &size);
    if (!text) return false;
    const char *name = strcmp(o->input, "-") ? o->input : "<stdin>";
    char *pipeline =
        o->run_reproducer ? read_run_marker(text) : tool_copy(o->pipeline.data, o->pipeline.size);
    bool ok = pipeline != NULL;
    if (ok)
        ok = o->split_input ? process_parts(o, name, text, pipeline, out)
                            : process(o, name, text, pipeline, out);
    free(pipeline);
    free(text);
    return ok;
}

static bool run(const opt_options *o, tool_text *out) {
    if (o->help)
        opt_print_help(out);
    else if (o->manual)
        tile_manual_print(tool_append, out);
    else if (o->list_passes)
        opt_print_passes(out);
    else
        return process_file(o, out);
    return true;
}

int main(int argc, char **argv) {
    opt_options o;
    tool_text out = {NULL, 0, 0};
    tool_append("", 0, &out);
    tool_start();
    bool ok = opt_read_options(argc, argv, &o) && run(&o, &out) && !tool_remarks_failed() &&
              tool_write_file(o.output, out.data, out.size);
    free(out.data);
    free(o.pipeline.data);
    return tool_finish(ok);
}
