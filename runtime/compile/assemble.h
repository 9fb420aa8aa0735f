/* Assembling PTX to cubins. */
#ifndef TILE_RUNTIME_COMPILE_ASSEMBLE_H
#define TILE_RUNTIME_COMPILE_ASSEMBLE_H

#include "lib/support/arena.h"
#include "runtime/compile/program.h"
#include "tile/compile.h"

/* Opens the program, which the caller closes. ptxas assembles the PTX to its output, with one more
 * option (may be NULL). Reports code that ptxas calls slower than intended. */
tile_status tile_run_ptxas(tile_context *context, tile_program *program, const tile_blob *ptx,
                           const tile_target *target, const char *ptxas, const char *option);

/* Reports, as warnings, the lines in which ptxas says why code is slower than intended: (C7510) and
 * similar ones, and its warnings. The location is the source line that the PTX has there, if any. A
 * note explains the message (runtime/compile/ptxas.def). */
void tile_report_ptxas(tile_context *context, FILE *messages, const tile_blob *ptx);

/* Identifies the assembler that tile_assemble uses, by what changes with it. For a program: its
 * output for --version, and its file's name, size and time. For the driver: its version and the
 * same of its file. In the arena; NULL after a diagnostic (TILE_UNAVAILABLE). */
const char *tile_assembler_identity(tile_context *context, const char *ptxas, tile_arena *arena);

#endif
