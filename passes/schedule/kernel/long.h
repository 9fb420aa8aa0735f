/* Long sums in f32: chunk by chunk (long.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_LONG_H
#define TILE_PASSES_SCHEDULE_KERNEL_LONG_H

#include "passes/schedule/kernel/schedule.h"

/* Whether a sum of so many terms, one after the other, needs chunks; -1: nobody knows how many. */
bool sched_needs_chunks(int64_t terms);

/* How many terms a chunk has, an i32 and a power of two, from how many there are in all. */
tile_value sched_chunk(sched_kernel *k, tile_value terms);

/* The sums of the chunks that a loop is done with, in shared memory, where they take no registers
 * from the loop. */
typedef struct sched_chunked_sum {
    tile_value kept, last; /* the buffer; the last step of a chunk, less what whole chunks are */
} sched_chunked_sum;

/* The buffer of such sums. type: their tile. */
tile_value sched_alloc_chunked(sched_kernel *k, const tile_type *type);
/* Before the loop, whose induction variable begins at 0 and grows by `unit`, a power of two; each
 * step adds `each` terms, of `terms` in all. */
sched_chunked_sum sched_begin_chunked(sched_kernel *k, tile_value buffer, const tile_type *type,
                                      const tile_expr *terms, const tile_expr *each,
                                      const tile_expr *unit);
/* At the end of a step: what the loop carries on of the sums so far. */
tile_value sched_step_chunked(sched_kernel *k, const sched_chunked_sum *sum, tile_value step,
                              tile_value own);
/* Behind the loop: all of it. */
tile_value sched_end_chunked(sched_kernel *k, const sched_chunked_sum *sum, tile_value own);

#endif
