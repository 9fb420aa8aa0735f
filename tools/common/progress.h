/* A line of progress on a terminal. */
#ifndef TILE_TOOLS_COMMON_PROGRESS_H
#define TILE_TOOLS_COMMON_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "tile/tune.h"

/* "[Building] matmul_splitk 4096-4096-d16  26% 49/192 [00:01<00:03, 45.5/s]": what is done, the
 * time so far and the time left, and how many a second. */
void tool_progress_text(const tile_tune_progress *progress, char *to, size_t size);

/* Draws the line on stderr, over the one before; nothing if that is no terminal. */
void tool_progress_draw(const tile_tune_progress *progress);
/* Takes the line away. */
void tool_progress_end(void);

#endif
