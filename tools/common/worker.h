/* Finds the worker program. */
#ifndef TILE_TOOLS_COMMON_WORKER_H
#define TILE_TOOLS_COMMON_WORKER_H

/* Returns the path of tile-worker in the folder of the running program; NULL if it is not there.
 * The caller frees it. */
char *tool_find_worker(void);

#endif
