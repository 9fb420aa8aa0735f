/* The staged buffers of one pipelined loop: for the passes that make copies run ahead of it, by
 * whichever threads. */
#ifndef TILE_PASSES_LOOPS_RING_H
#define TILE_PASSES_LOOPS_RING_H

#include "lib/analysis/pipeline_plan.h"
#include "passes/pass.h"

typedef struct ring {
    tile_pass *pass;
    tile_function *f;
    tile_pipeline_plan plan;
    tile_value *buffers; /* by staged copy; ring_make_buffers sets it */
    tile_value stage;    /* in the loop: the stage of this iteration; 0: buffers have no stages */
} ring;

/* Gives every staged copy its buffer, before the loop, with as many stages as the plan says (none
 * where copies do not run ahead). */
void ring_make_buffers(ring *r);
/* value for the iteration that map describes: clones the operations of the body that it needs. */
tile_value ring_rematerialize_address(ring *r, tile_builder *b, tile_value value, tile_value *map,
                                      size_t map_count);
/* All copies of iteration iv into stage, each behind the conditions that it has in the loop.
 * loaded: that iteration's, of the plan's loads. */
void ring_build_copies(ring *r, tile_builder *b, tile_value iv, const tile_value *loaded,
                       tile_value stage);
/* The plan's loads for iteration iv, in the scratch arena; where there is no such iteration
 * (exists: i1), or their branch is not taken, what `loaded` has. ring_initial_loads: to begin with.
 */
tile_value *ring_initial_loads(ring *r, tile_builder *b);
tile_value *ring_build_loads(ring *r, tile_builder *b, tile_value exists, tile_value iv,
                             const tile_value *loaded);
/* The predicate of a copy or load; no value if it has none. */
tile_value ring_predicate(const ring *r, tile_op copy);
/* What has just been built at b pads, and tells the caches, what op does. */
void ring_copy_cache_attrs(ring *r, const tile_builder *b, tile_op op);
/* Operands in the loop that are staged buffers, or loads whose tiles go through them into dots,
 * become their stage r->stage. */
void ring_read_stages(ring *r);
void ring_read_stages_in(ring *r, tile_region region);
/* The staged copies themselves go; a loaded tile that somebody else wants is read from its stage.
 */
void ring_remove_copies(ring *r);
/* Whether a product by wgmma may continue past its iteration, which fills nothing that it reads. To
 * be asked before the buffers are made. */
bool ring_may_stay_pending(const ring *r, tile_op dot);
/* How many products of the loop may continue past their iteration, each into a sum that the loop
 * only carries, all of them by wgmma from staged buffers; 0: none. To be asked before the buffers
 * are made, for copies then run one iteration less ahead. */
unsigned ring_count_pending(ring *r);
/* These products become asynchronous: at the end of an iteration those of earlier ones are
 * finished, at `behind` all. */
void ring_make_pending(ring *r, tile_builder *behind, unsigned count);
/* Moves the buffers' free_shared out of the loop, to b; those that the pass has made get one. */
void ring_free_buffers(ring *r, tile_builder *b);

#endif
