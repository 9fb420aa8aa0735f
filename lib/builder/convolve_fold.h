/* Convolutions of few channels as convolutions of more: see convolve_fold.c. */
#ifndef TILE_LIB_BUILDER_CONVOLVE_FOLD_H
#define TILE_LIB_BUILDER_CONVOLVE_FOLD_H

#include "lib/ir/function.h"
#include "lib/ops/convolution.h"

/* The numbers of a convolution without groups and input dilations; all are known. */
typedef struct expand_fold_sizes {
    unsigned spatial;
    bool channels_last;
    int64_t bytes; /* of an element of lhs */
    int64_t n, c, k;
    int64_t inputs[TILE_MAX_SPATIAL], places[TILE_MAX_SPATIAL], taps[TILE_MAX_SPATIAL];
} expand_fold_sizes;

/* Returns whether it is read faster from an array with windows, for matrix instructions, and sets
 * the number of spatial dims, the last ones, whose windows become channels. */
bool expand_choose_folded(const expand_fold_sizes *sizes, unsigned *folded);

/* Replaces each `convolve` whose windows are read faster from such an array. Returns false after a
 * diagnostic. */
bool expand_fold_convolutions(tile_function *f);

#endif
