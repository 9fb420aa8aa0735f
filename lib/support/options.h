/* Option structs begin with their size. A caller that was compiled with an older header, whose
 * struct is shorter, still works: the missing fields are zero, the default. */
#ifndef TILE_LIB_SUPPORT_OPTIONS_H
#define TILE_LIB_SUPPORT_OPTIONS_H

#include "tile/base.h"

/* Fills *to, of `size` bytes, from the caller's struct; NULL selects all defaults. Returns false
 * after a diagnostic if the caller set fields, but not the size: the fields would be ignored. *to
 * then holds the defaults. */
bool tile_take_options(tile_context *context, const char *type, void *to, size_t size,
                       const void *from);

/* tile_take_options for an object of this type. */
#define TILE_TAKE_OPTIONS(context, type, to, from) \
    tile_take_options((context), #type, (to), sizeof(type), (from))

#endif
