/* The verifier's parts. */
#ifndef TILE_LIB_IR_VERIFY_H
#define TILE_LIB_IR_VERIFY_H

#include "lib/ir/function.h"

/* Names, expressions, types, constants and attributes stand for something that can be written.
 * False after a diagnostic; what follows relies on it. */
bool tile_verify_declarations(tile_function *function);

/* No shared buffer is used after its free_shared. For functions in which everything else holds.
 * False after a diagnostic. */
bool tile_verify_frees(tile_function *function);

/* What depends on who executes: of a function that is sound otherwise. False after a diagnostic. */
bool tile_verify_executors(tile_function *function);

#endif
