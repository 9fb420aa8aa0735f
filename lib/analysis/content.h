/* Whether anyone still reads what a vector holds: who may write over its registers, or has to copy.
 *
 * extract, permute, concat and wgmma_wait give what vectors hold another name; whoever reads it by
 * any of its names counts. Control flow counts: the other side of a branch does not, the next
 * iteration of a loop does. */
#ifndef TILE_LIB_ANALYSIS_CONTENT_H
#define TILE_LIB_ANALYSIS_CONTENT_H

#include "lib/ir/function.h"

typedef struct tile_content tile_content;

/* Facts about f, in arena; valid until f changes. */
tile_content *tile_content_find(const tile_function *f, tile_arena *arena);

/* Elements of the longest vector that is looked into; longer ones count as read. */
enum { TILE_CONTENT_LIMIT = 1024 };

/* Whether anyone reads what value, a vector, holds: */
typedef enum tile_moment {
    TILE_MOMENT_AT,    /* when op has read it, once, before its regions run */
    TILE_MOMENT_AFTER, /* when op is done */
} tile_moment;
bool tile_content_is_read(const tile_content *content, tile_value value, tile_op op,
                          tile_moment moment);

/* The operations that read the value by this name, as often as they do. */
const tile_op *tile_content_readers(const tile_content *content, tile_value value, uint32_t *count);

#endif
