/* Who turns PTX into cubins. */
#ifndef TILE_RUNTIME_COMPILE_ASSEMBLE_H
#define TILE_RUNTIME_COMPILE_ASSEMBLE_H

#include "lib/support/arena.h"
#include "runtime/compile/program.h"
#include "tile/compile.h"

/* Opens the program and has ptxas assemble the PTX to its output, with one option more (may be
 * NULL); what it says of code that is slower than meant is reported. The caller closes it. */
tile_status tile_run_ptxas(tile_context *context, tile_program *program, const tile_blob *ptx,
                           const tile_target *target, const char *ptxas, const char *option);

/* Reports, as warnings, the lines of ptxas that say why code is slower than meant: (C7510) and its
 * neighbours, and warnings. The place is the one that the PTX names at that line, if it does;
 * a note says what it means (runtime/compile/ptxas.def). */
void tile_report_ptxas(tile_context *context, FILE *messages, const tile_blob *ptx);

/* The assembler that tile_assemble takes, by what changes when it changes: of a program what it
 * says for --version, and its file's name, size and time; of the driver its version and the same of
 * its file. In the arena; NULL after a diagnostic (TILE_UNAVAILABLE). */
const char *tile_assembler_identity(tile_context *context, const char *ptxas, tile_arena *arena);

#endif
