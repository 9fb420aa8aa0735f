/* tile-opt's command line. */
#ifndef TILE_TOOLS_TILE_OPT_OPTIONS_H
#define TILE_TOOLS_TILE_OPT_OPTIONS_H

#include "tile/pass.h"
#include "tools/common/tool.h"

enum { OPT_MAX_NAMES = 32 };

/* Passes whose IR is shown. */
typedef struct opt_names {
    const char *names[OPT_MAX_NAMES];
    unsigned count;
    bool all;
} opt_names;

typedef struct opt_options {
    const char *input, *output, *kernel, *reproducer;
    tool_text pipeline; /* --pass-pipeline and the flags of single passes, in order */
    const tile_target *target;
    opt_names before, after;
    bool after_change;
    bool skip_verify, split_input, verify_diagnostics, timing, statistics;
    bool run_reproducer, list_passes, manual, help;
    tool_remarks remarks;
} opt_options;

/* False after a message. */
bool opt_read_options(int argc, char **argv, opt_options *o);
bool opt_shows(const opt_names *names, const char *pass);
void opt_print_help(tool_text *out);
void opt_print_passes(tool_text *out);

#endif
