/* Compiles for PyTorch in several processes, before anything is measured. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_AHEAD_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_AHEAD_H

#include "tools/tile-bench/program/run.h"

/* The code goes into PyTorch's cache. Returns the seconds that each file of the plan took, 0 where
 * it was not compiled; the caller frees them. Programs with a result on the device are left out. */
double *bench_program_compile_ahead(const bench_program_plan *plan, const bench_results *results,
                                    const char *device);

#endif
