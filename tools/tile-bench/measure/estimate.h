/* Estimates how long a run takes on a large GPU. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_ESTIMATE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_ESTIMATE_H

#include "tools/tile-bench/measure/run.h"

/* Seconds until the first problem: starting processes, devices and PyTorch, and compiling for all
 * problems. */
double bench_start_estimate(const bench_plan *plan);
/* Seconds for one problem, with its checks, choices and protocols. */
double bench_problem_estimate(const bench_plan *plan, const bench_problem *problem);

#endif
