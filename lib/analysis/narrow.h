/* Remarks on accesses that are narrower than necessary. */
#ifndef TILE_LIB_ANALYSIS_NARROW_H
#define TILE_LIB_ANALYSIS_NARROW_H

#include "lib/ir/function.h"

/* Reports a remark for each integer argument whose declared divisor makes accesses narrower than
 * the alignment of their operand and their indices allow. The remark names the argument and the
 * attribute to add. kernel is instantiated, at level 2, before any pass. */
void tile_remark_narrow(tile_function *kernel);

#endif
