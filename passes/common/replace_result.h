/* What an operation gave comes from elsewhere now. */
#ifndef TILE_PASSES_COMMON_REPLACE_RESULT_H
#define TILE_PASSES_COMMON_REPLACE_RESULT_H

#include "passes/pass.h"

/* `to` takes the place of the one result of `op`, throughout the function, and `op` is erased. */
void replace_result(tile_pass *pass, tile_function *f, tile_op op, tile_value to);

#endif
