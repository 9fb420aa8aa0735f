/* The limits of the language and the library: tile/limits.def. */
#ifndef TILE_LIMITS_H
#define TILE_LIMITS_H

#include <stdint.h>

enum {
#define LIMIT(name, number, subject) TILE_MAX_##name = number,
#include "tile/limits.def"
#undef LIMIT
};

#endif
