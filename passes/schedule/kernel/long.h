/* Long sums in f32: chunk by chunk (long.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_LONG_H
#define TILE_PASSES_SCHEDULE_KERNEL_LONG_H

#include "passes/schedule/kernel/schedule.h"

/* Returns whether a sequential sum of this many terms needs chunks. terms -1: not known. */
bool sched_needs_chunks(int64_t terms);

/* The terms per chunk, an i32 and a power of two, for this total number of terms. */
tile_value sched_chunk(sched_kernel *k, tile_value terms);

/* The sum of the loop's completed chunks, in shared memory, so that it needs no registers in the
 * loop. */
typedef struct sched_chunked_sum {
    tile_value kept, last; /* kept: the buffer; last: a mask, the induction variable of a chunk's
                              last step */
} sched_chunked_sum;

/* Allocates the buffer for such sums. type: that of their tile. */
tile_value sched_alloc_chunked(sched_kernel *k, const tile_type *type);
/* Called before the loop. Its induction variable begins at 0 and grows by `unit`, a power of two.
 * Each step adds `each` terms, of `terms` in total. */
sched_chunked_sum sched_begin_chunked(sched_kernel *k, tile_value buffer, const tile_type *type,
                                      const tile_expr *terms, const tile_expr *each,
                                      const tile_expr *unit);
/* Called at the end of a step. Returns the sum that the loop carries. */
tile_value sched_step_chunked(sched_kernel *k, const sched_chunked_sum *sum, tile_value step,
                              tile_value own);
/* Called after the loop. Returns the total. */
tile_value sched_end_chunked(sched_kernel *k, const sched_chunked_sum *sum, tile_value own);

#endif
