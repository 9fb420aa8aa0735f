/* Other programs: the assembler, the disassembler. Their input, output and messages are files in
 * memory, so that nothing is left behind whatever happens, no disk is needed, and the processes
 * that other threads start meanwhile do not hold them open. */
#ifndef TILE_RUNTIME_COMPILE_PROGRAM_H
#define TILE_RUNTIME_COMPILE_PROGRAM_H

#include <stdio.h>

#include "tile/base.h"

typedef struct tile_program {
    FILE *in, *out, *messages; /* its standard input, output and error */
    int code;                  /* with which it ended; -1: a signal ended it */
} tile_program;

/* Opens the three; the input holds size bytes of data. TILE_FAILED after a diagnostic; closed in
 * any case by tile_program_close. */
tile_status tile_program_open(tile_context *context, tile_program *program, const void *data,
                              size_t size);
void tile_program_close(tile_program *program);
/* Runs words[0], looked for on PATH if it has no slash, and waits for it; words ends with NULL.
 * TILE_UNAVAILABLE or TILE_FAILED after a diagnostic that names it if it does not run at all. */
tile_status tile_program_run(tile_context *context, tile_program *program, char **words);
/* The whole file, ended by a zero byte that *size (may be NULL) does not count; the caller frees
 * it. */
char *tile_program_read(FILE *file, size_t *size);
/* "NAME failed:", and its messages; the status is TILE_FAILED. */
tile_status tile_program_refused(tile_context *context, tile_program *program, const char *name);

#endif
