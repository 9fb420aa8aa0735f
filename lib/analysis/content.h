/* Finds whether the contents of a vector are still read, so that its registers may be overwritten
 * without a copy.
 *
 * extract, permute, concat and wgmma_wait alias the elements of their operands: a read of any alias
 * counts. Control flow is taken into account: a read in the other branch does not count, a read in
 * the next iteration of a loop does. */
#ifndef TILE_LIB_ANALYSIS_CONTENT_H
#define TILE_LIB_ANALYSIS_CONTENT_H

#include "lib/ir/function.h"

typedef struct tile_content tile_content;

/* Analyses f; the result is in the arena and valid until f changes. */
tile_content *tile_content_find(const tile_function *f, tile_arena *arena);

/* The longest vector that is tracked, in elements; longer vectors count as read. */
enum { TILE_CONTENT_LIMIT = 1024 };

/* The moment after which reads of the vector `value` count: */
typedef enum tile_moment {
    TILE_MOMENT_AT,    /* after op has read it once, before its regions run */
    TILE_MOMENT_AFTER, /* after op is complete */
} tile_moment;
bool tile_content_is_read(const tile_content *content, tile_value value, tile_op op,
                          tile_moment moment);

/* The operations that use exactly this value, once per operand. Aliases are not followed. */
const tile_op *tile_content_readers(const tile_content *content, tile_value value, uint32_t *count);

#endif
