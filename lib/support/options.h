/* Option structs begin with their size. A caller that was compiled with an older header, whose
 * struct is shorter, still works: the missing fields are zero, the default. */
#ifndef TILE_LIB_SUPPORT_OPTIONS_H
#define TILE_LIB_SUPPORT_OPTIONS_H

#include <stddef.h>
#include <string.h>

/* Fills *to, of `size` bytes, from the caller's struct; NULL: all defaults. */
static inline void tile_take_options(void *to, size_t size, const void *from) {
    size_t given = 0;
    memset(to, 0, size);
    if (from) memcpy(&given, from, sizeof given);
    if (given) memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
}

#endif
