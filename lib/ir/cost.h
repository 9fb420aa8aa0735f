/* What an element of an element-wise operation costs: the column `cost` of ops.def. Threads: any.
 */
#ifndef TILE_LIB_IR_COST_H
#define TILE_LIB_IR_COST_H

#include "tile/ir.h"

/* Of an f32, or of an i32 where the row takes no floats. All zeros: the row has no such column,
 * since its time goes with memory, barriers or the layout of tiles. */
typedef struct tile_cost {
    uint8_t issue;   /* instructions' worth of time: 8 for one of the special function unit */
    uint8_t latency; /* cycles until the result is there, roughly */
    uint8_t code;    /* additions that take LLVM and ptxas as long to compile */
} tile_cost;

tile_cost tile_op_cost(tile_opcode opcode);

/* Whether an element takes several times as long as an addition: it is computed once rather than
 * again wherever it is used. False where the row has no cost. */
bool tile_op_is_costly(tile_opcode opcode);

#endif
