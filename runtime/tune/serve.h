/* tile_tune_serve, with a hook for tests. */
#ifndef TILE_RUNTIME_TUNE_SERVE_H
#define TILE_RUNTIME_TUNE_SERVE_H

#include "tile/tune.h"

enum { TUNE_LONGEST_MESSAGE = 1 << 30 };

/* Called with the bindings of each candidate before it is tried. Tests use it to cause failures. */
typedef void (*tune_serve_hook)(const char *bindings, void *user);

int tile_tune_serve_with(int input, int output, tune_serve_hook hook, void *user);

#endif
