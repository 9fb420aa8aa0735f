/* Accesses that are narrower than they could be. */
#ifndef TILE_LIB_ANALYSIS_NARROW_H
#define TILE_LIB_ANALYSIS_NARROW_H

#include "lib/ir/function.h"

/* A remark for each integer argument of the instantiated kernel, at level 2 and before any pass, of
 * which too little is declared for accesses as wide as their operand's alignment and their indices
 * allow. It names the argument and the word to write. */
void tile_remark_narrow(tile_function *kernel);

#endif
