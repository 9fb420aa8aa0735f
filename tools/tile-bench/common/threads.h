/* Work on all cores. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_THREADS_H
#define TILE_TOOLS_TILE_BENCH_COMMON_THREADS_H

#include <stddef.h>

/* Calls work(index, user) for each index below count, in any order, from as many threads as there
 * are cores, this one among them; back when all have returned. */
void bench_share(size_t count, void (*work)(size_t index, void *user), void *user);

#endif
