/* Parses the command line; contains the help texts. */
#include "tools/tile-opt/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/text.h"
#include "tools/common/json.h"
#include "tile/rename.h"
#include "tools/common/include.h"

static const char help[] =
    "usage: tile-opt [FILE] [options]\n"
    "Reads Tile IR (default: -, standard input), runs passes and writes the result. Diagnostics "
    "and\n"
    "dumps go to standard error. Output is written only if everything succeeded.\n"
    "\n"
    "  -o FILE                       output file (default: -, standard output)\n"
    "  --pass-pipeline=PASS,...      the passes, each with options: instantiate{block_m=128},cse\n"
    "  --PASS[=OPTIONS]              one pass: --cse, --instantiate='block_m=128 block_n=64'\n"
    "  --kernel=NAME                 processes only this function\n"
    "  --target=NAME                 the GPU (default: sm_80), one of\n"
    "     "
#define TARGET(name, ...) " " #name
#include "tile/targets.def"
#undef TARGET
    "\n"
    "  --print-ir-before=PASS        prints the IR before each run of this pass\n"
    "  --print-ir-after=PASS         prints the IR after each run of this pass\n"
    "  --print-ir-before-all, --print-ir-after-all\n"
    "  --print-ir-after-change       prints the IR only after passes that changed it\n"
    "  --print-layout[=NAME]         prints which thread or offset holds each element of each "
    "tile\n"
    "                                and buffer with a layout, or of %NAME, and the cost of "
    "accesses.\n"
    "                                Without passes: those of a launch\n"
    "  --print-layout=FILE.svg       draws the same as a picture\n"
    "  --verify-each=0               does not check the IR after each pass\n"
    "  --split-input-file            treats the parts between lines `// -----` as separate files\n"
    "  --verify-diagnostics          compares diagnostics with comments in the input:\n"
    "                                // expected-error@+1 {{part of the message}}\n"
    "                                error, warning, remark, note; @+N, @-N, @above, @below, "
    "@unknown\n"
    "  -I FOLDER                     looks there for the files of `include \"FILE\"`, after the "
    "folder\n"
    "                                of the including file; may be repeated\n"
    "  --no-include                  makes each `include` an error, for texts from others\n"
    "  --remarks                     prints, for each line, which optimization was not possible, "
    "why,\n"
    "                                and what to write; --remarks=error: as errors\n"
    "  --timing                      prints the time of each pass\n"
    "  --statistics                  prints the counters of the passes\n"
    "  --reproducer=FILE             if a pass fails: writes the IR before it and the rest of the\n"
    "                                pipeline, for --run-reproducer\n"
    "  --run-reproducer              takes the pipeline from the input's line `// RUN-PIPELINE:`\n";

static const char more_help[] =
    "  --run-each                    runs the kernel on the CPU device before the first pass and "
    "after\n"
    "                                each one that changes it; reports the pass that changes a "
    "result,\n"
    "                                makes it fault, breaks the IR or crashes. Without passes: "
    "those\n"
    "                                that a launch runs. --reproducer=FILE gets the IR before "
    "that\n"
    "                                pass, FILE.after the IR after it; otherwise both are printed\n"
    "  --reduce                      writes a smaller case for which --run-each fails in the same "
    "way\n"
    "  --reduce-with=COMMAND         writes a smaller case for which the command, followed by a "
    "file\n"
    "                                name, has the same exit status\n"
    "  --reduce-seconds=N            time limit of the reduction (default: 60)\n"
    "  --arg=NAME=VALUE              an argument as in tile-run: n=64, x=int:f16[64,32]; others "
    "get\n"
    "                                small sizes and whole numbers\n"
    "  --param=NAME=VALUE            sets a compile-time parameter\n"
    "  --seed=N                      changes the numbers and the order of warps and blocks\n"
    "  --tolerance=X                 allows this relative difference of results; 0: equal bits\n"
    "  --max-operations=N            limit of operations of one run (default: 10^9)\n"
    "  --seconds=N                   time limit of all runs together (default: 600)\n"
    "  --migrate                     writes the text with renamed words replaced by the new ones;\n"
    "                                comments, formatting and names stay\n"
    "  --list-passes                 lists all passes, with their levels; as JSON with --json\n"
    "  --manual[=NAME]               prints the chapters of the manual, the chapter NAME, or "
    "`all`\n"
    "  --ops[=NAME]                  lists all operations, or prints the page of one\n"
    "  --tutorial                    prints a tutorial of the three levels\n"
    "  --help\n"
    "  --version\n";

void opt_print_help(tool_text *out) {
    tool_append(help, sizeof help - 1, out);
    tool_append(more_help, sizeof more_help - 1, out);
    tool_append("\npasses:\n", 9, out);
    opt_print_passes(out);
}

void opt_print_version(tool_text *out) {
    const char *version = tile_version_string();
    tool_append("tile-opt ", 9, out);
    tool_append(version, strlen(version), out);
    tool_append("\n", 1, out);
}

static const char *levels_text(unsigned levels, char text[8]) {
    size_t length = 0;
    for (unsigned level = 1; level <= 3; level++)
        if (levels >> level & 1) text[length++] = (char)('0' + level);
    text[length] = 0;
    return text;
}

/* Writes " (needs a, b)" or "". The table separates the names with " | ". */
static void print_needs(const char *needs, tool_text *out) {
    if (!*needs) return;
    tool_append(" (needs ", 8, out);
    for (const char *bar; (bar = strstr(needs, " | ")); needs = bar + 3) {
        tool_append(needs, (size_t)(bar - needs), out);
        tool_append(", ", 2, out);
    }
    tool_append(needs, strlen(needs), out);
    tool_append(")", 1, out);
}

void opt_print_passes(tool_text *out) {
    const tile_pass_info *info;
    for (unsigned i = 0; (info = tile_pass_at(i)); i++) {
        char line[512], from[8], to[8];
        int length = snprintf(line, sizeof line, "  %-16s %3s to %-3s  %s", info->name,
                              levels_text(info->level_in, from), levels_text(info->level_out, to),
                              info->meaning);
        tool_append(line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1, out);
        print_needs(info->requires_, out);
        tool_append("\n", 1, out);
    }
}

/* ", "from": [2, 3]" */
static void put_levels(tool_text *to, const char *name, unsigned levels) {
    const char *before = "";
    tool_format(to, ", \"%s\": [", name);
    for (unsigned level = 1; level <= 3; level++) {
        if (!(levels >> level & 1)) continue;
        tool_format(to, "%s%u", before, level);
        before = ", ";
    }
    tool_format(to, "]");
}

static void put_list(tool_text *to, const char *name, const char *words) {
    tool_format(to, ", \"%s\": [", name);
    for (const char *before = ""; *words; before = ", ") {
        size_t length = strcspn(words, " |");
        tool_format(to, "%s\"%.*s\"", before, (int)length, words);
        words += length;
        words += strspn(words, " |");
    }
    tool_format(to, "]");
}

/* {"format": 1, "passes": [{"name": "cse", "from": [2, 3], "to": [2, 3], "needs": [..],
 * "meaning": ".."}]} */
void opt_print_passes_json(tool_text *out) {
    const tile_pass_info *info;
    tool_text text = {NULL, 0, 0};
    tool_json_begin(&text, "passes");
    for (unsigned i = 0; (info = tile_pass_at(i)); i++) {
        tool_json_element(&text);
        tool_format(&text, "{\"name\": \"%s\"", info->name);
        put_levels(&text, "from", info->level_in);
        put_levels(&text, "to", info->level_out);
        put_list(&text, "needs", info->requires_);
        tool_json_field(&text, "meaning", info->meaning);
        tool_format(&text, "}");
    }
    tool_json_end(&text);
    tool_append(text.data, text.size, out);
    free(text.data);
}

/* Reading ------------------------------------------------------------------------------------ */

static bool complain(const char *what, const char *word) {
    fprintf(stderr, "error: %s '%s'; see tile-opt --help\n", what, word);
    return false;
}

static bool is_pass(const char *name, size_t length) {
    const tile_pass_info *info;
    for (unsigned i = 0; (info = tile_pass_at(i)); i++)
        if (tile_text_is(info->name, name, length)) return true;
    return false;
}

static void add_to_pipeline(opt_options *o, const char *text, size_t length) {
    if (o->pipeline.size) tool_append(",", 1, &o->pipeline);
    tool_append(text, length, &o->pipeline);
}

/* Parses --cse or --instantiate=OPTIONS. */
static bool take_pass(tool_arguments *words, opt_options *o) {
    const char *word = tool_current(words);
    size_t length = strcspn(word, "=");
    if (strncmp(word, "--", 2) != 0 || !is_pass(word + 2, length - 2)) return false;
    add_to_pipeline(o, word + 2, length - 2);
    if (word[length]) {
        tool_append("{", 1, &o->pipeline);
        tool_append(word + length + 1, strlen(word + length + 1), &o->pipeline);
        tool_append("}", 1, &o->pipeline);
    }
    words->next++;
    return true;
}

static bool renamed_pass(const char *pass) {
    const char *now = tile_pass_renamed(pass);
    if (now) fprintf(stderr, "error: the pass '%s' is now '%s'\n", pass, now);
    return now != NULL;
}

static bool add_name(opt_names *names, const char *pass) {
    if (!is_pass(pass, strlen(pass)))
        return renamed_pass(pass) ? false : complain("there is no pass", pass);
    if (names->count == OPT_MAX_NAMES) return complain("too many passes to show at", pass);
    names->names[names->count++] = pass;
    return true;
}

bool opt_shows(const opt_names *names, const char *pass) {
    bool found = names->all;
    for (unsigned i = 0; i < names->count; i++) found |= strcmp(names->names[i], pass) == 0;
    return found;
}

static bool set_target(opt_options *o, const char *name) {
    o->target = tile_target_find(name);
    return o->target || complain("there is no target", name);
}

static bool set_verify(opt_options *o, const char *value) {
    o->skip_verify = strcmp(value, "0") == 0 || strcmp(value, "false") == 0;
    return o->skip_verify || strcmp(value, "1") == 0 || strcmp(value, "true") == 0 ||
           complain("--verify-each takes 0 or 1, not", value);
}

/* Parses --print-layout, --print-layout=NAME or --print-layout=FILE.svg, which may be combined. */
static bool take_layout(tool_arguments *words, opt_options *o) {
    static const char word[] = "--print-layout";
    const char *at = tool_current(words), *value = at + sizeof word - 1;
    if (strncmp(at, word, sizeof word - 1) != 0 || (*value && *value != '=')) return false;
    words->next++;
    o->print_layout = true;
    size_t length = strlen(value);
    if (*value == '=' && length > 5 && strcmp(value + length - 4, ".svg") == 0)
        o->layout_file = value + 1;
    else if (length > 1)
        o->layout_name = value + 1;
    return true;
}

/* Parses --manual, --manual=NAME or --manual NAME, and other options that print pages. */
static bool take_page(tool_arguments *words, const char *option, opt_page *page) {
    size_t length = strlen(option);
    const char *word = tool_current(words);
    if (strncmp(word, option, length) != 0 || (word[length] && word[length] != '=')) return false;
    page->asked = true;
    words->next++;
    if (word[length])
        page->name = word + length + 1;
    else if (words->next < words->argc && *tool_current(words) != '-')
        page->name = words->argv[words->next++];
    return true;
}

static bool take_flag(tool_arguments *words, opt_options *o) {
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"--print-ir-before-all", &o->before.all},
        {"--print-ir-after-all", &o->after.all},
        {"--print-ir-after-change", &o->after_change},
        {"--split-input-file", &o->split_input},
        {"--verify-diagnostics", &o->verify_diagnostics},
        {"--timing", &o->timing},
        {"--statistics", &o->statistics},
        {"--run-reproducer", &o->run_reproducer},
        {"--run-each", &o->run_each},
        {"--migrate", &o->migrate},
        {"--reduce", &o->reduce},
        {"--list-passes", &o->list_passes},
        {"--json", &o->json},
        {"--tutorial", &o->tutorial},
        {"--help", &o->help},
        {"--version", &o->version},
        {"-h", &o->help},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (tool_flag(words, flags[i].name)) return *flags[i].flag = true;
    /* --verify-each is the default, and takes no value */
    return tool_flag(words, "--verify-each");
}

static bool read_number(const char *name, const char *text, double *to) {
    char *end;
    *to = strtod(text, &end);
    if (end > text && !*end && *to >= 0 && *to <= 0x1p62) return true;
    fprintf(stderr, "error: %s: expected a number from 0 to 2^62, found '%s'\n", name, text);
    return false;
}

static bool add_argument(opt_options *o, const char *text) {
    if (o->test.argument_count == CASE_MAX_ARGUMENTS)
        return complain("there are too many arguments at", text);
    o->test.arguments[o->test.argument_count++] = text;
    return true;
}

/* Parses options for the kernel that --run-each runs. */
static bool take_run_word(tool_arguments *words, opt_options *o, bool *ok) {
    const char *value;
    double number = 0;
    *ok = true;
    if (tool_option(words, "--arg", &value)) {
        *ok = add_argument(o, value);
    } else if (tool_option(words, "--param", &value)) {
        const char *wrong =
            tool_add_binding(o->test.bindings, CASE_MAX_ARGUMENTS, &o->test.binding_count, value);
        *ok = !wrong || complain(wrong, value);
    } else if (tool_option(words, "--seed", &value)) {
        *ok = read_number("--seed", value, &number);
        o->test.seed = (uint64_t)number;
    } else if (tool_option(words, "--max-operations", &value)) {
        *ok = read_number("--max-operations", value, &number);
        o->test.max_operations = (uint64_t)number;
    } else if (tool_option(words, "--tolerance", &value)) {
        *ok = read_number("--tolerance", value, &o->test.tolerance);
    } else if (tool_option(words, "--reduce-with", &value)) {
        o->reduce = true;
        o->reduce_with = value;
    } else if (tool_option(words, "--reduce-seconds", &value)) {
        *ok = read_number("--reduce-seconds", value, &o->reduce_seconds);
    } else if (tool_option(words, "--seconds", &value)) {
        *ok = read_number("--seconds", value, &o->seconds);
    } else {
        return false;
    }
    return true;
}

/* Reports a word that is neither an option nor a pass. Returns false. */
static bool refuse_word(const tool_arguments *words) {
    const char *word = tool_current(words);
    char pass[64] = "";
    if (strncmp(word, "--", 2) == 0)
        snprintf(pass, sizeof pass, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    if (renamed_pass(pass)) return false;
    tool_text all = {NULL, 0, 0};
    tool_append(help, sizeof help - 1, &all);
    tool_append(more_help, sizeof more_help - 1, &all);
    tool_refuse_option(words, "tile-opt", all.data);
    free(all.data);
    return false;
}

static bool take_word(tool_arguments *words, opt_options *o) {
    const char *value;
    bool ok;
    if (take_flag(words, o) || take_layout(words, o) || take_page(words, "--manual", &o->manual) ||
        take_page(words, "--ops", &o->ops))
        return true;
    if (tool_include_option(words, &ok) || tool_remarks_option(words, &o->remarks, &ok) ||
        take_run_word(words, o, &ok))
        return ok;
    if (tool_option(words, "--pass-pipeline", &value)) {
        if (*value) add_to_pipeline(o, value, strlen(value));
        return true;
    }
    if (tool_option(words, "--print-ir-before", &value)) return add_name(&o->before, value);
    if (tool_option(words, "--print-ir-after", &value)) return add_name(&o->after, value);
    if (tool_option(words, "--target", &value)) return set_target(o, value);
    if (tool_option(words, "--verify-each", &value)) return set_verify(o, value);
    if (tool_option(words, "-o", &o->output) || tool_option(words, "--kernel", &o->test.kernel) ||
        tool_option(words, "--reproducer", &o->reproducer) || take_pass(words, o))
        return true;
    if (!o->input && tool_positional(words, &o->input)) return true;
    return refuse_word(words);
}

bool opt_read_options(int argc, char **argv, opt_options *o) {
    tool_arguments words = {argc, argv, 1};
    *o = (opt_options){.output = "-",
                       .seconds = 600,
                       .reduce_seconds = 60,
                       .test = {.max_operations = 1000000000}};
    tool_append("", 0, &o->pipeline);
    while (words.next < argc)
        if (!take_word(&words, o)) return false;
    if (!o->input) o->input = "-";
    const case_options *test = &o->test;
    if (o->json && !o->list_passes) return complain("only --list-passes has", "--json");
    return o->run_each || o->reduce || o->run_reproducer ||
           (!test->argument_count && !test->binding_count) ||
           complain("without --run-each and --reduce there are no", "--arg and --param");
}

bool opt_read_line(const char *line, opt_options *o, char **words) {
    enum { MAX_WORDS = 160 };
    char *argv[MAX_WORDS];
    tool_arguments taken = {.argv = argv};
    *words = tool_copy(line, strcspn(line, "\n"));
    for (char *word = strtok(*words, " "); word && taken.argc < MAX_WORDS; word = strtok(NULL, " "))
        argv[taken.argc++] = word;
    while (taken.next < taken.argc)
        if (!take_word(&taken, o)) return false;
    return true;
}
