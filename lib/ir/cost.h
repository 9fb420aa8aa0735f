/* The cost of one element of an element-wise operation: the column `cost` of ops.def. Threads: any.
 */
#ifndef TILE_LIB_IR_COST_H
#define TILE_LIB_IR_COST_H

#include "tile/ir.h"

/* The cost for an f32, or for an i32 if the operation takes no floats. All zeros if the row has no
 * such column, because the operation's time depends on memory, barriers or the layout of tiles. */
typedef struct tile_cost {
    uint8_t issue;   /* issue time in instructions: 8 for one of the special function unit */
    uint8_t latency; /* approximate cycles until the result is available */
    uint8_t code;    /* number of additions with the same compile time in LLVM and ptxas */
} tile_cost;

tile_cost tile_op_cost(tile_opcode opcode);

/* Returns whether an element takes several times as long as an addition: then it is computed once,
 * not again for each use. False if the row has no cost. */
bool tile_op_is_costly(tile_opcode opcode);

#endif
