/* tile-opt --reduce: a small case that fails as a large one does. */
#ifndef TILE_TOOLS_TILE_OPT_REDUCE_H
#define TILE_TOOLS_TILE_OPT_REDUCE_H

#include "tools/tile-opt/options.h"

/* The smallest case that was found, as a file for --run-reproducer, in *out. False after a message:
 * nothing is wrong with the text. pipeline: NULL for the default one. */
bool reduce(const opt_options *o, const char *name, const char *text, const char *pipeline,
            tool_text *out);

#endif
