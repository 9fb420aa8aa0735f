/* What operations gave comes from elsewhere now. */
#ifndef TILE_PASSES_COMMON_REPLACE_RESULTS_H
#define TILE_PASSES_COMMON_REPLACE_RESULTS_H

#include "passes/pass.h"

/* For passes that change the grid, and with it what block_id and grid_dim give: to[d] takes the
 * place, throughout the region, of result d of the function's own operations of this opcode, those
 * with ids below old_ops. They are erased, all of them, and so is the place of a builder that
 * stands before one. */
void replace_results(tile_pass *pass, tile_function *f, tile_region region, size_t old_ops,
                     tile_opcode opcode, const tile_value *to);

/* `to` takes the place of the one result of `op`, throughout the function, and `op` is erased. */
void replace_result(tile_pass *pass, tile_function *f, tile_op op, tile_value to);

#endif
