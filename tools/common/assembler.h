/* Where the assembler and other programs of a CUDA toolkit are. */
#ifndef TILE_TOOLS_COMMON_ASSEMBLER_H
#define TILE_TOOLS_COMMON_ASSEMBLER_H

#include <stdbool.h>

/* Whether $TILE_TEST_HIDE, a list with commas, has this name or `all`: tests treat the program, or
 * "cuda" (the driver), as absent then (test/features.py). */
bool tool_is_hidden(const char *name);
/* For what is about to open a GPU: whether it is hidden, with an error on stderr. */
bool tool_refuses_cuda(void);

/* The path of a program ("ncu", no longer than 50 letters): from PATH, then $CUDA_HOME/bin, then
 * /usr/local/cuda/bin. NULL if it is in none, or is hidden; the caller frees it. */
char *tool_find_cuda_program(const char *name);
char *tool_find_ptxas(void);

/* Reports that an option takes a program of the CUDA toolkit that was not found, and which option
 * names it. Returns false. */
bool tool_need_program(const char *what, const char *names, const char *option);

#endif
