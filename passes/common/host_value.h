/* Host expressions as operations, where a kernel needs what the launch computed. */
#ifndef TILE_PASSES_COMMON_HOST_VALUE_H
#define TILE_PASSES_COMMON_HOST_VALUE_H

#include "passes/pass.h"

/* Builds an expression over arguments, computed exactly, as the launch does: the result is an i64,
 * or an i32 where all numbers on the way fit one. Parameters are bound. */
tile_value host_value(tile_builder *b, const tile_expr *expr);

/* a * b of numbers that are not negative, as a host expression, or more than `most` (at most 2^31)
 * where that is more: where 64 bits may not hold the product, factors are cut. */
const tile_expr *host_product(const tile_function *f, const tile_expr *a, const tile_expr *b,
                              int64_t most);

/* The value as an i32 or i64, which it may be already. */
tile_value host_value_cast(tile_builder *b, tile_value value, tile_scalar scalar);

#endif
