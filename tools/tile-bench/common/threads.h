/* Distributes work over all cores. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_THREADS_H
#define TILE_TOOLS_TILE_BENCH_COMMON_THREADS_H

#include <stddef.h>

/* Calls work(index, user) for each index below count, in any order, on as many threads as there are
 * cores, including the calling one. Returns when all calls have returned. */
void bench_share(size_t count, void (*work)(size_t index, void *user), void *user);

#endif
