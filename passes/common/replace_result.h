/* Replaces the result of an operation. */
#ifndef TILE_PASSES_COMMON_REPLACE_RESULT_H
#define TILE_PASSES_COMMON_REPLACE_RESULT_H

#include "passes/pass.h"

/* Replaces all uses of the one result of `op` in the function by `to` and erases `op`. */
void replace_result(tile_pass *pass, tile_function *f, tile_op op, tile_value to);

#endif
