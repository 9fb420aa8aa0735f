/* The names that values have in printed text: their own, made unique in the function. */
#ifndef TILE_LIB_IR_PRINT_NAMES_H
#define TILE_LIB_IR_PRINT_NAMES_H

#include "lib/ir/function.h"

/* By value id; NULL for constants, and for values that the body does not reach. In the arena. */
const char **tile_print_names(const tile_function *f, tile_arena *arena);

#endif
