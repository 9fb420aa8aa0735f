/* The manual's chapter on what a GPU limits of a launch. */
#ifndef TILE_LIB_MANUAL_LAUNCH_H
#define TILE_LIB_MANUAL_LAUNCH_H

#include "lib/support/out.h"

void tile_manual_print_launch(const tile_out *out);

#endif
