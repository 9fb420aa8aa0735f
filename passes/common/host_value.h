/* Host expressions as operations, for values that the launch computed and the kernel needs. */
#ifndef TILE_PASSES_COMMON_HOST_VALUE_H
#define TILE_PASSES_COMMON_HOST_VALUE_H

#include "passes/pass.h"

/* Builds operations for an expression over arguments. The result is exact, as on the host: an i64,
 * or an i32 where all intermediate values fit in 32 bits. Parameters must be bound. */
tile_value host_value(tile_builder *b, const tile_expr *expr);

/* A host expression for a * b, both nonnegative. Where the product exceeds `most` (at most 2^31),
 * the result is only guaranteed to exceed `most`: factors are clamped if 64 bits may not hold the
 * product. */
const tile_expr *host_product(const tile_function *f, const tile_expr *a, const tile_expr *b,
                              int64_t most);

/* Casts the value to i32 or i64; returns it unchanged if it already has that type. */
tile_value host_value_cast(tile_builder *b, tile_value value, tile_scalar scalar);

#endif
