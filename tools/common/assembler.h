/* Finds the assembler and other programs of a CUDA toolkit. */
#ifndef TILE_TOOLS_COMMON_ASSEMBLER_H
#define TILE_TOOLS_COMMON_ASSEMBLER_H

#include <stdbool.h>

/* Returns whether $TILE_TEST_HIDE, a comma-separated list, contains this name or `all`. Tests use
 * it to treat the program, or the driver ("cuda"), as absent (test/features.py). */
bool tool_is_hidden(const char *name);
/* Call before opening a GPU. Returns whether the driver is hidden, after an error on stderr. */
bool tool_refuses_cuda(void);

/* Returns the path of a program such as "ncu" (at most 50 characters) from PATH, then
 * $CUDA_HOME/bin, then /usr/local/cuda/bin. NULL if it is not found or is hidden. The caller frees
 * it. */
char *tool_find_cuda_program(const char *name);
char *tool_find_ptxas(void);

/* Reports that an option takes a program of the CUDA toolkit that was not found, and which option
 * names it. Returns false. */
bool tool_need_program(const char *what, const char *names, const char *option);

#endif
