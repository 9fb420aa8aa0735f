/* The staged buffers of one pipelined loop, for passes that issue its copies ahead, in the same
 * threads or in others. */
#ifndef TILE_PASSES_LOOPS_RING_H
#define TILE_PASSES_LOOPS_RING_H

#include "lib/analysis/pipeline_plan.h"
#include "passes/pass.h"

typedef struct ring {
    tile_pass *pass;
    tile_function *f;
    tile_pipeline_plan plan;
    tile_value *buffers; /* by staged copy; set by ring_make_buffers */
    tile_value stage; /* in the loop: stage of the current iteration; 0: buffers have no stages */
} ring;

/* Allocates a buffer before the loop for every staged copy, with the plan's number of stages (none
 * if copies do not run ahead). */
void ring_make_buffers(ring *r);
/* The value for the iteration that map describes: clones the operations of the body that compute
 * it. */
tile_value ring_rematerialize_address(ring *r, tile_builder *b, tile_value value, tile_value *map,
                                      size_t map_count);
/* Builds all copies of iteration iv into stage, each under its conditions in the loop. loaded: that
 * iteration's values of the plan's loads. */
void ring_build_copies(ring *r, tile_builder *b, tile_value iv, const tile_value *loaded,
                       tile_value stage);
/* Builds the plan's loads for iteration iv. If there is no such iteration (exists: i1) or their
 * branch is not taken, the result is `loaded`. ring_initial_loads builds the first `loaded`. The
 * arrays are in the scratch arena. */
tile_value *ring_initial_loads(ring *r, tile_builder *b);
tile_value *ring_build_loads(ring *r, tile_builder *b, tile_value exists, tile_value iv,
                             const tile_value *loaded);
/* The predicate of a copy or load, or no value. */
tile_value ring_predicate(const ring *r, tile_op copy);
/* Copies the padding and cache attributes of op to the operation last built at b. */
void ring_copy_cache_attrs(ring *r, const tile_builder *b, tile_op op);
/* Replaces operands in the loop by stage r->stage of their buffer: staged buffers, and loads that
 * dots read through a buffer. */
void ring_read_stages(ring *r);
void ring_read_stages_in(ring *r, tile_region region);
/* Erases the staged copies. Other users of a loaded tile read it from its stage. */
void ring_remove_copies(ring *r);
/* Whether a wgmma dot may stay pending past its iteration: nothing overwrites its operands. Call
 * before ring_make_buffers. */
bool ring_may_stay_pending(const ring *r, tile_op dot);
/* Returns the number of dots in the loop if all of them may stay pending past their iteration, else
 * 0. They must be computed by wgmma, from staged buffers, into sums that the loop only carries.
 * Call before ring_make_buffers, because copies then run one iteration less ahead. */
unsigned ring_count_pending(ring *r);
/* Makes these dots asynchronous: the end of an iteration waits for those of earlier iterations, and
 * `after` for all. */
void ring_make_pending(ring *r, tile_builder *after, unsigned count);
/* Moves the free_shared of buffers out of the loop, to b. Buffers that the pass allocated get
 * one. */
void ring_free_buffers(ring *r, tile_builder *b);

#endif
