/* What must hold of a kernel, or of what a compute is scheduled to: it is the same at all levels,
 * with other passes, on a GPU, and becomes PTX. */
#ifndef TILE_TEST_RANDOM_CHECK_H
#define TILE_TEST_RANDOM_CHECK_H

#include <stdbool.h>

#include "tile/ir.h"

typedef enum finding {
    FOUND_NOTHING,
    FOUND_LIMIT,    /* it asks for more than there is; no fault */
    FOUND_INVALID,  /* no kernel: the generator's own fault, or the parser's */
    FOUND_SCHEDULE, /* a compute of which no kernel is made */
    FOUND_FAULT_2,  /* level 2 does not run, or does what is forbidden */
    FOUND_FAULT_3,
    FOUND_FAULT_PASSES, /* so with the file's pipeline */
    FOUND_FAULT_CUDA,
    FOUND_OTHER_3, /* other results than at level 2 (a kernel of level 3: than as it stands) */
    FOUND_OTHER_PASSES,
    FOUND_OTHER_CUDA,
    FOUND_OTHER_1, /* what level 1 says it means */
    FOUND_PTX,     /* no PTX */
    FOUND_CUBIN,   /* ptxas refuses it */
    FOUND_SLOW,    /* ptxas says that it lets products wait for each other (C75xx) */
    FINDINGS
} finding;

typedef struct check_options {
    bool cuda, ptx;
    bool plant;        /* let all but the first run be wrong */
    const char *ptxas; /* NULL: PTX is not assembled */
} check_options;

/* The text is a file with its options and its pipeline, as tile-opt --run-reproducer takes it.
 * *detail is the caller's. */
finding check_kernel(const check_options *o, const char *text, char **detail);
const char *finding_text(finding f);

/* Counts the operations of the text and of what the passes make of it (numbers of ops.def). False:
 * it is no kernel. */
bool count_operations(const char *text, unsigned *counts, unsigned capacity);

#endif
