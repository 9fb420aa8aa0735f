/* Limits that a report must satisfy in addition to correct results: limits.def. */
#ifndef TILE_TOOLS_TILE_BENCH_REPORT_LIMITS_H
#define TILE_TOOLS_TILE_BENCH_REPORT_LIMITS_H

#include "tools/tile-bench/attention/reference.h"
#include "tools/tile-bench/report/report.h"

/* Errors relative to what is allowed compared with flash attention: too large if above 1. */
typedef struct bench_shares {
    double most, norm;
} bench_shares;

/* Raises each share to that of `own`, if it is larger. */
void bench_shares_add(bench_shares *shares, const bench_error *own, const bench_error *flash);

/* Writes for each limit how many rows satisfy it, the worst value, and each row that does not.
 * False if there is one. `times`: times are meaningful. */
bool bench_limits_check(const bench_report *report, bool times, tile_writer writer, void *user);

#endif
