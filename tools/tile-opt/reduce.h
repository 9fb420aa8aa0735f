/* tile-opt --reduce: finds a small case that fails in the same way as a large one. */
#ifndef TILE_TOOLS_TILE_OPT_REDUCE_H
#define TILE_TOOLS_TILE_OPT_REDUCE_H

#include "tools/tile-opt/options.h"

/* Writes the smallest case that was found to *out, as a file for --run-reproducer. False after a
 * message, if nothing fails. pipeline: NULL for the default one. */
bool reduce(const opt_options *o, const char *name, const char *text, const char *pipeline,
            tool_text *out);

#endif
