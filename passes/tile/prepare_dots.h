/* What assign-layouts does to products before it gives out layouts. */
#ifndef TILE_PASSES_TILE_PREPARE_DOTS_H
#define TILE_PASSES_TILE_PREPARE_DOTS_H

#include "passes/pass.h"

/* A dot for which the target has no instruction gets operands of types for which it has one and
 * that hold all their values, by casts before it. Where there is none either it stays as it is. A
 * remark says which, and why. */
void prepare_dots(tile_pass *pass, tile_function *f);

#endif
