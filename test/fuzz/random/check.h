/* Checks that a kernel, or what a compute is scheduled to, has the same results at all levels, with
 * different passes and on a GPU, and compiles to PTX. */
#ifndef TILE_TEST_RANDOM_CHECK_H
#define TILE_TEST_RANDOM_CHECK_H

#include <stdbool.h>

#include "tile/ir.h"

typedef enum finding {
    FOUND_NOTHING,
    FOUND_LIMIT,    /* exceeds a limit; not a defect */
    FOUND_INVALID,  /* invalid: a defect of the generator or of the parser */
    FOUND_SCHEDULE, /* a compute that cannot be scheduled */
    FOUND_FAULT_2,  /* level 2 does not run, or faults */
    FOUND_FAULT_3,
    FOUND_FAULT_PASSES, /* same, with the file's pipeline */
    FOUND_FAULT_CUDA,
    FOUND_OTHER_3, /* results differ from level 2 (level 3: from the unoptimized kernel) */
    FOUND_OTHER_PASSES,
    FOUND_OTHER_CUDA,
    FOUND_OTHER_1, /* results differ from level 1 */
    FOUND_PTX,     /* no PTX */
    FOUND_CUBIN,   /* ptxas refuses the PTX */
    FOUND_SLOW,    /* ptxas reports that it serializes wgmma (C75xx) */
    FINDINGS
} finding;

typedef struct check_options {
    bool cuda, ptx;
    bool plant;        /* inject a fault into all runs but the first */
    const char *ptxas; /* NULL: the PTX is not assembled */
} check_options;

/* The text is a file with its options and its pipeline, in the format of tile-opt --run-reproducer.
 * The caller frees *detail. */
finding check_kernel(const check_options *o, const char *text, char **detail);
const char *finding_text(finding f);

/* Counts the operations of the text and of its form after the passes, by opcode. False: it is not a
 * kernel. */
bool count_operations(const char *text, unsigned *counts, unsigned capacity);

#endif
