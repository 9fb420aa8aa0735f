/* Types, expressions, names and layouts: each exists once per context, found by hash. */
#ifndef TILE_LIB_SUPPORT_INTERN_H
#define TILE_LIB_SUPPORT_INTERN_H

#include "lib/support/context.h"
#include "tile/ir.h"

/* The context's own copy of size bytes that equal data; the same pointer for equal bytes with the
 * same tag. Padding bytes in data must be zero. NULL if there is no context. */
const void *tile_intern(tile_context *context, unsigned tag, const void *data, size_t size);

/* The context's copy of a name: equal names are the same pointer. */
const char *tile_intern_name(tile_context *context, const char *text, size_t length);

enum { TILE_INTERN_NAME, TILE_INTERN_TYPE, TILE_INTERN_EXPR, TILE_INTERN_LAYOUT };

#endif
