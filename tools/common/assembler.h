/* Where the assembler is. */
#ifndef TILE_TOOLS_COMMON_ASSEMBLER_H
#define TILE_TOOLS_COMMON_ASSEMBLER_H

/* The path of ptxas: from PATH, then $CUDA_HOME/bin, then /usr/local/cuda/bin. NULL if it is in
 * none; the caller frees it. */
char *tool_find_ptxas(void);

#endif
