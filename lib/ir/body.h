/* The operation lists of regions. Passes use tile_erase_op and tile_move_op instead. */
#ifndef TILE_LIB_IR_BODY_H
#define TILE_LIB_IR_BODY_H

#include "lib/ir/function.h"

/* Inserts an operation that is in no region before another one (0: at the end). */
void tile_link_op(tile_function *f, tile_op op, tile_region region, tile_op before);
/* Removes it from its region. */
void tile_unlink_op(tile_function *f, tile_op op);

#endif
