/* Who turns PTX into cubins. */
#ifndef TILE_RUNTIME_ASSEMBLE_H
#define TILE_RUNTIME_ASSEMBLE_H

#include "lib/support/arena.h"
#include "tile/compile.h"

/* The assembler that tile_assemble takes, by what changes when it changes: of a program what it
 * says for --version, and its file's name, size and time; of the driver its version and the same of
 * its file. In the arena; NULL after a diagnostic (TILE_UNAVAILABLE). */
const char *tile_assembler_identity(tile_context *context, const char *ptxas, tile_arena *arena);

#endif
