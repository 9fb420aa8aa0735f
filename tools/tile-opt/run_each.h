/* tile-opt --run-each: which pass changes a result. */
#ifndef TILE_TOOLS_TILE_OPT_RUN_EACH_H
#define TILE_TOOLS_TILE_OPT_RUN_EACH_H

#include "tools/tile-opt/options.h"
#include "tools/tile-opt/trial.h"

/* Tells on stdout or stderr what came of it; true if no pass changes a result. pipeline: NULL for
 * the default one. */
bool run_each(const opt_options *o, const char *name, const char *text, const char *pipeline);

/* What --run-reproducer finds in a file. */
extern const char opt_pipeline_marker[], opt_options_marker[];

/* A case as a file that --run-reproducer runs: the options that a trial depends on, the pipeline
 * (NULL: none is named), and the text. */
void write_case(const opt_options *o, const char *pipeline, const char *text, tool_text *out);

#endif
