/* Convolutions as products of windows: the only place that gives `convolve` its elements.
 *
 * The scheduler of computes and level 1 expand the convolutions of a compute before they look at
 * its operations. */
#ifndef TILE_LIB_BUILDER_EXPAND_CONVOLVE_H
#define TILE_LIB_BUILDER_EXPAND_CONVOLVE_H

#include "lib/ir/function.h"

/* Replaces every `convolve` of a compute by `window`, `matmul` or `reduce`, and operations that
 * move elements. If `folds`, windows of few channels are first written to an array whose channels
 * are these windows (convolve_fold.c): kernels read it faster. Returns false after a diagnostic. */
bool tile_expand_convolutions(tile_function *f, bool folds);

#endif
