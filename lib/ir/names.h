/* A module's functions by name and by index: what a file has many of must not be searched through.
 */
#ifndef TILE_LIB_IR_NAMES_H
#define TILE_LIB_IR_NAMES_H

#include "lib/ir/function.h"

/* NULL if there is none of that name. */
tile_function *tile_names_find(const tile_module *module, const char *name);
/* The function's name must be new. It comes last in the order. */
void tile_names_add(tile_module *module, tile_function *function);
/* Nothing happens if it is not there. */
void tile_names_remove(tile_module *module, const tile_function *function);

#endif
