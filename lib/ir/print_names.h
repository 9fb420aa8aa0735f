/* The names of values in printed text: their own, made unique within the function. */
#ifndef TILE_LIB_IR_PRINT_NAMES_H
#define TILE_LIB_IR_PRINT_NAMES_H

#include "lib/ir/function.h"

/* By value id; NULL for constants, and for values that do not occur in the body. Allocated in the
 * arena. */
const char **tile_print_names(const tile_function *f, tile_arena *arena);

#endif
