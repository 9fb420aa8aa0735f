/* Types and expressions as text, for the printer and for diagnostics. */
#ifndef TILE_LIB_IR_DESCRIBE_H
#define TILE_LIB_IR_DESCRIBE_H

#include "lib/ir/function.h"

/* The expression in the IR's syntax, with as few parentheses as C's precedence permits and
 * arguments by name (f may be NULL if there are none). */
const char *tile_expr_text(const tile_function *f, const tile_expr *expr, tile_arena *arena);

/* The type in the IR's syntax; layout is the text after '#', NULL omits the layout. */
const char *tile_type_text(const tile_function *f, const tile_type *type, const char *layout,
                           tile_arena *arena);

/* The fix for a scalar that is used where a tile, tensor or vector `wanted` is required, as ";
 * write ..". Returns "" if the types differ in any other way. */
const char *tile_splat_advice(const tile_function *f, tile_value value, const tile_type *wanted,
                              tile_arena *arena);

#endif
