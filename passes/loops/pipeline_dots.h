/* pipeline-dots: declarations shared by the planner (which operation runs in which stage) and the
 * builder of the new loop. */
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
    uint8_t *depth;     /* by value: length of the longest chain of dots in its iteration that it
                           depends on */
    bool *feeds_effect; /* by op of the body: an effect of its stage depends on it */
    bool *after_second_dots; /* by op of the first stage: runs after the wait for the second stage's
                                dots */
    tile_op last[2];         /* by stage: the last dot */
    unsigned dots[2];        /* by stage: number of dots */
    bool *is_early_rescale;  /* by op: it is the dot_stages_early_rescale of a carried value */
    tile_value *passed_to_second; /* values of the first stage that the second one uses */
    unsigned passed_count;
    unsigned first_order_barrier; /* the first of the warpgroups' barriers; 0: no ordered issue */
} dot_pipeline;

/* Fills all of s but its pass. False if the loop must not change; emits a remark if the user can
 * change that. */
bool dot_stages_plan(dot_pipeline *s, tile_function *f, tile_op loop);

/* The operation that recomputes the value where it is used, because that takes fewer registers than
 * carrying it. None if the value is carried. */
tile_op dot_stages_rematerialized(const dot_pipeline *s, tile_value value);

/* The only operation of the second stage that uses a carried value, if its other operands come from
 * the first stage: for example the rescaling of a sum. Its result is carried instead; the iteration
 * that has both operands computes it. None if the value has other users. */
tile_op dot_stages_early_rescale(const dot_pipeline *s, unsigned carried);

#endif
