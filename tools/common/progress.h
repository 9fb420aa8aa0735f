/* A progress line on a terminal. */
#ifndef TILE_TOOLS_COMMON_PROGRESS_H
#define TILE_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tile/tune.h"

/* Draws the line on stderr, over the previous one. Does nothing if stderr is not a terminal. */
void tool_progress_draw(const tile_tune_progress *progress);
/* Erases the line. */
void tool_progress_end(void);

#endif
