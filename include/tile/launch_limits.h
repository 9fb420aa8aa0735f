/* Limits of a launch on a GPU: tile/launch_limits.def. */
#ifndef TILE_LAUNCH_LIMITS_H
#define TILE_LAUNCH_LIMITS_H

enum {
#define LAUNCH_LIMIT(name, number, subject) TILE_MAX_##name = number,
#include "tile/launch_limits.def"
#undef LAUNCH_LIMIT
};

#endif
