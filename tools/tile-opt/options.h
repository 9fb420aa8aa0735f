/* tile-opt's command line. */
#ifndef TILE_TOOLS_TILE_OPT_OPTIONS_H
#define TILE_TOOLS_TILE_OPT_OPTIONS_H

#include "tile/pass.h"
#include "tools/common/tool.h"
#include "tools/tile-opt/case.h"

enum { OPT_MAX_NAMES = 32 };

/* Names of passes whose IR is printed. */
typedef struct opt_names {
    const char *names[OPT_MAX_NAMES];
    unsigned count;
    bool all;
} opt_names;

/* An option that prints text about a name; without a name it lists the names. */
typedef struct opt_page {
    bool asked;
    const char *name;
} opt_page;

typedef struct opt_options {
    const char *input, *output, *reproducer;
    case_options test;  /* --kernel applies to all actions */
    tool_text pipeline; /* --pass-pipeline and the flags of single passes, in order */
    const tile_target *target;
    opt_names before, after;
    bool print_layout;       /* print layouts instead of the IR: */
    const char *layout_name; /* of this value; NULL: of all values */
    const char *layout_file; /* as a picture in this file; NULL: as text */
    bool after_change;
    bool skip_verify, split_input, verify_diagnostics, timing, statistics;
    bool run_reproducer, list_passes, json, tutorial, help, version;
    opt_page manual, ops;
    bool run_each, reduce, migrate;
    const char *reduce_with;
    double reduce_seconds;
    double seconds; /* per trial */
    tool_remarks remarks;
} opt_options;

/* False after a message. */
bool opt_read_options(int argc, char **argv, opt_options *o);
/* Parses the blank-separated options of a reproducer. The caller frees *words after the last use of
 * *o. */
bool opt_read_line(const char *line, opt_options *o, char **words);
bool opt_shows(const opt_names *names, const char *pass);
/* tutorial.md, which CMake embeds as an array. */
extern const char opt_tutorial[];
void opt_print_help(tool_text *out);
void opt_print_version(tool_text *out);
void opt_print_passes(tool_text *out);
void opt_print_passes_json(tool_text *out);

#endif
