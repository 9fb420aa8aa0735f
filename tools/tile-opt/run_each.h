/* tile-opt --run-each: finds the pass that changes a result. */
#ifndef TILE_TOOLS_TILE_OPT_RUN_EACH_H
#define TILE_TOOLS_TILE_OPT_RUN_EACH_H

#include "tools/tile-opt/options.h"
#include "tools/tile-opt/trial.h"

/* Runs the trial and reports the outcome on stdout or stderr; true if no pass changes a result.
 * pipeline: NULL for the default one. */
bool run_each(const opt_options *o, const char *name, const char *text, const char *pipeline);

/* The markers that --run-reproducer looks for in a file. */
extern const char opt_pipeline_marker[], opt_options_marker[];

/* Writes a case as a file for --run-reproducer: the options that affect a trial, the pipeline
 * (NULL: none), and the text. */
void write_case(const opt_options *o, const char *pipeline, const char *text, tool_text *out);

#endif
