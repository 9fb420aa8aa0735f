/* pipeline-dots in parts: what belongs to which stage of a loop, and the loop that is made of them.
 */
#ifndef TILE_PASSES_LOOPS_PIPELINE_DOTS_H
#define TILE_PASSES_LOOPS_PIPELINE_DOTS_H

#include "passes/pass.h"

typedef struct dot_pipeline {
    tile_pass *pass;
    tile_function *f;
    tile_op loop;
    tile_region body;
    bool *in_second_stage;      /* by value: the second stage computes it */
    bool *runs_in_second_stage; /* by op of the body: the second stage runs it */
    uint8_t *depth;     /* by value: how many products of its iteration it depends on, in a row */
    bool *feeds_effect; /* by op of the body: what does more than compute depends on it, in its
                           stage */
    bool *after_second_dots; /* by op of the first stage: it waits for the second one's products */
    tile_op last[2];         /* product of each stage, in the text */
    unsigned dots[2];        /* of each stage */
    bool
        *is_early_rescale; /* by op: dot_stages_early_rescale is it, of something that is carried */
    tile_value *passed_to_second; /* of the first stage, that the second one wants */
    unsigned passed_count;
    unsigned first_order_barrier; /* the first of the warpgroups' barriers; 0: no ordered issue */
} dot_pipeline;

/* Fills s but for its pass. False where the loop stays as it is, with a remark where the user could
 * have it otherwise. */
bool dot_stages_plan(dot_pipeline *s, tile_function *f, tile_op loop);

/* Whether the value is computed again where it is wanted, as that takes fewer registers than to
 * carry it: the operation that does, or none. */
tile_op dot_stages_rematerialized(const dot_pipeline *s, tile_value value);

/* What all of the second stage that a carried value goes into is: an operation on it and on what
 * the first stage has, as a sum's rescaling. The result is carried in its stead: the iteration that
 * has both computes it. None where it goes elsewhere, too. */
tile_op dot_stages_early_rescale(const dot_pipeline *s, unsigned carried);

#endif
