/* One trial of a pipeline on a kernel, in a process of its own: the kernel runs on the CPU device
 * before the first pass and after each pass that changes something. A fault is one only if it
 * stays: before insert-barriers some fences may be missing. */
#ifndef TILE_TOOLS_TILE_OPT_TRIAL_H
#define TILE_TOOLS_TILE_OPT_TRIAL_H

#include "tile/pass.h"
#include "tools/tile-opt/case.h"

typedef enum trial_kind {
    TRIAL_RIGHT,   /* no pass changed a result */
    TRIAL_INVALID, /* the text, the arguments or the kernel as it is written are wrong */
    TRIAL_CHANGED, /* of a pass, and so all that follow */
    TRIAL_FAULT,   /* the kernel does what is forbidden, and did not before */
    TRIAL_REFUSED, /* it cannot run any more */
    TRIAL_BROKEN,  /* the verifier refuses what the pass has made */
    TRIAL_STOPPED, /* the pass reported an error */
    TRIAL_CRASHED,
    TRIAL_ENDLESS /* not done in its time */
} trial_kind;

typedef struct trial_input {
    const char *name, *text, *pipeline; /* NULL: the default one behind the variant that fits */
    const tile_target *target;
    const case_options *options;
    double seconds; /* at most */
    bool quiet;     /* what is wrong with options and arguments is not said */
} trial_input;

typedef struct trial {
    trial_kind kind;
    char pass[64];     /* which it is; "" where no pass is to blame */
    char *pipeline;    /* what ran; the caller's */
    size_t step;       /* where in it the pass stands */
    unsigned runs;     /* of the kernel */
    unsigned refusals; /* runs that were not possible, before the first that was */
    char *detail;      /* the first difference, or what was reported; the caller's */
} trial;

trial trial_run(const trial_input *input);
void trial_free(trial *t);
/* The IR behind the first `length` bytes of the trial's pipeline, which have not failed; the
 * caller's. NULL after a message. */
char *trial_lower(const trial_input *input, const trial *t, size_t length);
/* "changes a result", .. */
const char *trial_kind_text(trial_kind kind);

#endif
