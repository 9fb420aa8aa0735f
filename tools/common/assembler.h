/* Where the assembler and other programs of a CUDA toolkit are. */
#ifndef TILE_TOOLS_COMMON_ASSEMBLER_H
#define TILE_TOOLS_COMMON_ASSEMBLER_H

/* The path of a program ("ncu", no longer than 50 letters): from PATH, then $CUDA_HOME/bin, then
 * /usr/local/cuda/bin. NULL if it is in none; the caller frees it. */
char *tool_find_cuda_program(const char *name);
char *tool_find_ptxas(void);

#endif
