/* Convolutions of few channels as convolutions of more: see convolve_fold.c. */
#ifndef TILE_LIB_BUILDER_CONVOLVE_FOLD_H
#define TILE_LIB_BUILDER_CONVOLVE_FOLD_H

#include "lib/ir/function.h"

/* Replaces each `convolve` whose windows are read faster from such an array. Returns false after a
 * diagnostic. */
bool expand_fold_convolutions(tile_function *f);

#endif
