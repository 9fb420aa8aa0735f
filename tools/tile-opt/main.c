/* tile-opt: the pass debugger. Parses, runs passes, prints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tile/manual.h"
#include "tile/rename.h"
#include "tools/common/include.h"
#include "tools/tile-opt/expect.h"
#include "tools/tile-opt/layouts.h"
#include "tools/tile-opt/reduce.h"
#include "tools/tile-opt/run_each.h"
#include "tools/tile-opt/steps.h"

/* One part of the input, and the state that is shown while passes run over it. */
typedef struct session {
    const opt_options *o;
    tile_module *module;
    const char *pipeline;
    tool_text out;
    /* For the reproducer: the IR before the current step. */
    opt_position position;
    tool_text before;
} session;

/* Hooks -------------------------------------------------------------------------------------- */

static void dump(const char *when, const char *pass, const tile_function *f) {
    fprintf(stderr, "// -----// IR Dump %s %s //----- //\n", when, pass);
    tile_function_print(f, tool_write, stderr);
    fputc('\n', stderr);
}

static void before_pass(const char *pass, const tile_function *f, bool changed, void *user) {
    session *s = user;
    (void)changed;
    if (s->o->reproducer && opt_follow(&s->position, pass, f)) {
        s->before.size = 0;
        tile_module_print(s->module, tool_append, &s->before);
    }
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

static void write_reproducer(const session *s) {
    tool_text text = {NULL, 0, 0};
    if (!s->position.at) return;
    tool_append(opt_pipeline_marker, strlen(opt_pipeline_marker), &text);
    tool_append(s->position.at, strlen(s->position.at), &text);
    tool_append("\n", 1, &text);
    tool_append(s->before.data, s->before.size, &text);
    if (tool_write_file(s->o->reproducer, text.data, text.size))
        fprintf(stderr, "note: tile-opt %s --run-reproducer shows it again\n", s->o->reproducer);
    free(text.data);
}

/* Returns the text after a marker; the caller frees it. NULL if the marker is missing. */
static char *read_marker(const char *text, const char *marker) {
    const char *at = strstr(text, marker);
    return at ? tool_copy(at + strlen(marker), strcspn(at + strlen(marker), "\n")) : NULL;
}

/* Reads the pipeline and the options of a reproducer. The caller frees *pipeline and *words. */
static bool read_reproducer(opt_options *o, const char *text, char **pipeline, char **words) {
    char *line = read_marker(text, opt_options_marker);
    bool ok = !line || opt_read_line(line, o, words);
    *pipeline = read_marker(text, opt_pipeline_marker);
    if (!line && !*pipeline)
        fprintf(stderr, "error: the input has no line `%s...`\n", opt_pipeline_marker);
    free(line);
    return ok && (o->run_each || *pipeline);
}

/* One part of the input ---------------------------------------------------------------------- */

static bool run_passes(session *s, const char *pipeline) {
    const opt_options *o = s->o;
    tile_pass_options passes = {
        .size = sizeof passes,
        .target = o->target,
        .kernel = o->test.kernel,
        .skip_verify = o->skip_verify,
        .before = before_pass,
        .after = after_pass,
        .report_changes = o->after_change,
        .hook_user = s,
        .timing = o->timing ? show_time : NULL,
        .statistic = o->statistics ? show_statistic : NULL,
    };
    s->position = (opt_position){.module = s->module, .pipeline = pipeline};
    if (tile_run_passes(s->module, pipeline, &passes) == TILE_OK) return true;
    if (o->reproducer) write_reproducer(s);
    return false;
}

/* Runs the passes up to the end of level 2, as a launch does; a module of computes is scheduled
 * first. */
static bool run_level_2(session *s) {
    tool_text pipeline = {NULL, 0, 0};
    const char *const parts[] = {tool_has_computes_only(s->module) ? "schedule," : "",
                                 "instantiate,", tile_default_pipeline(2)};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        tool_append(parts[i], strlen(parts[i]), &pipeline);
    bool ok = run_passes(s, pipeline.data);
    free(pipeline.data);
    return ok;
}

/* Shows layouts instead of the IR: as text, or as a summary next to a picture. Without passes on
 * the command line, and if nothing has a layout, it runs those that choose layouts. */
static bool show_layouts(session *s, tool_text *out) {
    const opt_options *o = s->o;
    layouts_report report = layouts_collect(s->module, o->test.kernel, o->layout_name, o->target);
    bool has_passes = s->pipeline && *s->pipeline;
    if (!report.count && !has_passes) {
        if (!run_level_2(s)) return false;
        report = layouts_collect(s->module, o->test.kernel, o->layout_name, o->target);
    }
    tool_text picture = {NULL, 0, 0};
    bool ok = report.count != 0;
    const char *remedy = has_passes ? "; run assign-layouts, or leave out all passes" : "";
    if (!ok && o->layout_name)
        fprintf(stderr, "error: no tile or buffer '%s' has a layout here%s\n", o->layout_name,
                remedy);
    else if (!ok)
        fprintf(stderr, "error: no tile or buffer has a layout here%s\n", remedy);
    if (ok && o->layout_file) {
        layouts_draw(&report, &picture);
        ok = tool_write_file(o->layout_file, picture.data, picture.size);
    } else if (ok) {
        layouts_print(&report, out);
    }
    free(picture.data);
    layouts_destroy(&report);
    return ok;
}

/* Processes a part and writes the output to *out. False if there was an error. */
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
    s.module = tool_parse(context, name, text, strlen(text));
    bool ok = s.module && run_passes(&s, pipeline);
    if (ok && o->print_layout)
        ok = show_layouts(&s, out);
    else if (ok)
        tile_module_print(s.module, tool_append, out);
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

/* Parts keep their line numbers, because the text before them is replaced by blank lines. */
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

/* Replaces outdated keywords of the language, even in text with other errors. */
static bool migrate(const char *name, const char *text, size_t size, tool_text *out) {
    tile_context *context = tile_context_create();
    tool_print_diagnostics(context);
    bool ok = tile_migrate(context, name, text, size, tool_append, out) == TILE_OK;
    tile_context_destroy(context);
    return ok;
}

static bool process_text(const opt_options *o, const char *name, char *text, const char *pipeline,
                         tool_text *out) {
    if (o->reduce) return reduce(o, name, text, pipeline && *pipeline ? pipeline : NULL, out);
    if (o->run_each) return run_each(o, name, text, pipeline && *pipeline ? pipeline : NULL);
    return o->split_input ? process_parts(o, name, text, pipeline, out)
                          : process(o, name, text, pipeline, out);
}

static bool process_file(opt_options *o, tool_text *out) {
    size_t size;
    char *text = tool_read_file(o->input, &size), *pipeline = NULL, *words = NULL;
    if (!text) return false;
    const char *name = strcmp(o->input, "-") ? o->input : "<stdin>";
    bool ok = true;
    if (o->migrate) {
        ok = migrate(name, text, size, out);
        free(text);
        return ok;
    }
    if (o->run_reproducer)
        ok = read_reproducer(o, text, &pipeline, &words);
    else
        pipeline = tool_copy(o->pipeline.data, o->pipeline.size);
    ok = ok && process_text(o, name, text, pipeline, out);
    free(pipeline);
    free(words);
    free(text);
    return ok;
}

static bool complain_of_page(const char *what, const char *name, const char *nearest,
                             const char *option) {
    fprintf(stderr, "error: there is no %s '%s'", what, name);
    if (nearest) fprintf(stderr, "; did you mean '%s'?", nearest);
    fprintf(stderr, "\nnote: tile-opt %s lists all\n", option);
    return false;
}

static bool print_pages(const opt_options *o, tool_text *out) {
    const char *nearest, *chapter = o->manual.name;
    if (o->manual.asked && chapter && strcmp(chapter, "all") == 0)
        tile_manual_print(tool_append, out);
    else if (o->manual.asked && !tile_manual_print_chapter(chapter, &nearest, tool_append, out))
        return complain_of_page("chapter", chapter, nearest, "--manual");
    return !o->ops.asked || tile_manual_print_operation(o->ops.name, &nearest, tool_append, out) ||
           complain_of_page("operation", o->ops.name, nearest, "--ops");
}

static bool run(opt_options *o, tool_text *out) {
    if (o->help)
        opt_print_help(out);
    else if (o->version)
        opt_print_version(out);
    else if (o->manual.asked || o->ops.asked)
        return print_pages(o, out);
    else if (o->tutorial)
        tool_append(opt_tutorial, strlen(opt_tutorial), out);
    else if (o->list_passes)
        (o->json ? opt_print_passes_json : opt_print_passes)(out);
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
              ((o.run_each && !o.reduce) || tool_write_file(o.output, out.data, out.size));
    for (unsigned i = 0; i < o.test.binding_count; i++)
        free((char *)(uintptr_t)o.test.bindings[i].name);
    free(out.data);
    free(o.pipeline.data);
    return tool_finish(ok);
}
