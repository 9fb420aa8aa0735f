/* Finds the widest useful accesses over all points of a kernel's tuning space, before one is
 * selected. */
#ifndef TILE_PASSES_INSTANTIATE_NOTE_WIDTHS_H
#define TILE_PASSES_INSTANTIATE_NOTE_WIDTHS_H

#include "passes/instantiate/bind_params.h"

/* Sets f->widest. Ignores options that bind parameters of `tune`: the caller may use another point
 * later. */
void note_widths(tile_function *f, const tile_pass_option *options, unsigned count,
                 tile_arena *scratch);

#endif
