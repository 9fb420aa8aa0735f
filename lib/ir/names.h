/* Looks a module's functions up by name and by index: linear searches would be too slow in files
 * with many functions. */
#ifndef TILE_LIB_IR_NAMES_H
#define TILE_LIB_IR_NAMES_H

#include "lib/ir/function.h"

/* Returns NULL if there is no function of that name. */
tile_function *tile_names_find(const tile_module *module, const char *name);
/* Appends the function, whose name must be new. */
void tile_names_add(tile_module *module, tile_function *function);
/* Does nothing if the function is not in the table. */
void tile_names_remove(tile_module *module, const tile_function *function);

#endif
