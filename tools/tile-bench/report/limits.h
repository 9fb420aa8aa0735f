/* Limits that a report must keep beside being right: limits.def. */
#ifndef TILE_TOOLS_TILE_BENCH_REPORT_LIMITS_H
#define TILE_TOOLS_TILE_BENCH_REPORT_LIMITS_H

#include "tools/tile-bench/attention/reference.h"
#include "tools/tile-bench/report/report.h"

/* Errors as shares of what is allowed beside flash: above 1 it is too much. */
typedef struct bench_shares {
    double most, norm;
} bench_shares;

/* The larger ones of those before and these. */
void bench_shares_add(bench_shares *shares, const bench_error *own, const bench_error *flash);

/* Writes for each limit how many rows keep it and the worst, and each row that does not. False if
 * there is one. `times`: whether times mean something. */
bool bench_limits_check(const bench_report *report, bool times, tile_writer writer, void *user);

#endif
