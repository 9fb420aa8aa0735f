/* One trial of a pipeline on a kernel, in a separate process. The kernel runs on the CPU device
 * before the first pass and after each pass that changes something. A fault counts only if it
 * persists: before insert-barriers some fences may be missing. */
#ifndef TILE_TOOLS_TILE_OPT_TRIAL_H
#define TILE_TOOLS_TILE_OPT_TRIAL_H

#include "tile/pass.h"
#include "tools/tile-opt/case.h"

typedef enum trial_kind {
    TRIAL_RIGHT,   /* no pass changed a result */
    TRIAL_INVALID, /* the text, the arguments or the original kernel are invalid */
    TRIAL_CHANGED, /* the pass and all later ones change a result */
    TRIAL_FAULT,   /* the kernel faults, and did not before */
    TRIAL_REFUSED, /* it cannot run any more */
    TRIAL_BROKEN,  /* the verifier rejects the output of the pass */
    TRIAL_STOPPED, /* the pass reported an error */
    TRIAL_CRASHED,
    TRIAL_ENDLESS /* exceeded its time limit */
} trial_kind;

typedef struct trial_input {
    const char *name, *text, *pipeline; /* NULL: choose-variant, then the default one */
    const tile_target *target;
    const case_options *options;
    double seconds; /* time limit */
    bool quiet;     /* do not report errors in options and arguments */
} trial_input;

typedef struct trial {
    trial_kind kind;
    char pass[64];     /* the failing pass; "" if none is to blame */
    char *pipeline;    /* what ran; the caller frees it */
    size_t step;       /* offset of the pass in it */
    unsigned runs;     /* of the kernel */
    unsigned refusals; /* failed attempts before the first run */
    char *detail;      /* the first difference, or what was reported; the caller frees it */
} trial;

trial trial_run(const trial_input *input);
void trial_free(trial *t);
/* Returns the IR after the first `length` bytes of the trial's pipeline, which must not have
 * failed. The caller frees it. NULL after a message. */
char *trial_lower(const trial_input *input, const trial *t, size_t length);
/* "changes a result", .. */
const char *trial_kind_text(trial_kind kind);

#endif
