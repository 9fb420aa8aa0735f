/* Where the worker program is. */
#ifndef TILE_TOOLS_COMMON_WORKER_H
#define TILE_TOOLS_COMMON_WORKER_H

/* The path of tile-worker beside the program that runs; NULL if there is none. The caller frees it.
 */
char *tool_find_worker(void);

#endif
