/* The column `cost` of ops.def. */
#include "lib/ir/cost.h"

#define COST_cost(issue, latency, code) \
    { issue, latency, code }

static const tile_cost costs[TILE_OPCODE_LIMIT] = {
#define OP(...)
#define ELEMENTWISE_OP(number, name, operands, attributes, typing, rule, traits, cost, error, \
                       meaning) \
    [number] = COST_##cost,
#include "tile/ops.def"
};

tile_cost tile_op_cost(tile_opcode opcode) {
    return costs[(unsigned)opcode < TILE_OPCODE_LIMIT ? opcode : TILE_OP_NONE];
}

bool tile_op_is_costly(tile_opcode opcode) {
    return tile_op_cost(opcode).issue > 1;
}
