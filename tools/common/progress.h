/* A line of progress on a terminal. */
#ifndef TILE_TOOLS_COMMON_PROGRESS_H
#define TILE_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tile/tune.h"

/* Draws the line on stderr, over the one before; nothing if that is no terminal. */
void tool_progress_draw(const tile_tune_progress *progress);
/* Takes the line away. */
void tool_progress_end(void);

#endif
