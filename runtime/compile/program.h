/* Other programs: the assembler and the disassembler. Their input, output and messages are files in
 * memory. No file remains after a crash, no disk is needed, and processes that other threads start
 * meanwhile do not keep them open. */
#ifndef TILE_RUNTIME_COMPILE_PROGRAM_H
#define TILE_RUNTIME_COMPILE_PROGRAM_H

#include <stdio.h>

#include "tile/base.h"

typedef struct tile_program {
    FILE *in, *out, *messages; /* its standard input, output and error */
    int code;                  /* exit code; -1: a signal ended it */
} tile_program;

/* Opens the three files; the input contains `size` bytes of data. TILE_FAILED after a diagnostic.
 * Call tile_program_close in any case. */
tile_status tile_program_open(tile_context *context, tile_program *program, const void *data,
                              size_t size);
void tile_program_close(tile_program *program);
/* Runs words[0] and waits for it. The program is searched on PATH if the name has no slash; words
 * ends with NULL. If it cannot be run, returns TILE_UNAVAILABLE or TILE_FAILED after a diagnostic
 * with its name. */
tile_status tile_program_run(tile_context *context, tile_program *program, char **words);
/* The whole file and a terminating zero byte, which *size (may be NULL) does not count. The caller
 * frees it. */
char *tile_program_read(FILE *file, size_t *size);
/* Reports "NAME failed:" and its messages. Returns TILE_FAILED. */
tile_status tile_program_refused(tile_context *context, tile_program *program, const char *name);

#endif
