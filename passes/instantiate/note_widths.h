/* How wide accesses may be at any point of a kernel's space, asked while it still has one. */
#ifndef TILE_PASSES_INSTANTIATE_NOTE_WIDTHS_H
#define TILE_PASSES_INSTANTIATE_NOTE_WIDTHS_H

#include "passes/instantiate/bind_params.h"

/* Sets f->widest. Options that bind what `tune` does are left out: the caller may give another
 * point later. */
void note_widths(tile_function *f, const tile_pass_option *options, unsigned count,
                 tile_arena *scratch);

#endif
