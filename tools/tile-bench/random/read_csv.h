/* Reads the CSV of a report, so that a run can continue it. */
#ifndef TILE_TOOLS_TILE_BENCH_RANDOM_READ_CSV_H
#define TILE_TOOLS_TILE_BENCH_RANDOM_READ_CSV_H

#include "tools/tile-bench/report/report.h"

/* Adds the rows of the text, as bench_write_csv writes it. Adjacent rows of one problem, that is
 * with the same cells up to the column l2, get the same group. False after a message that begins
 * with the path. */
bool bench_read_csv(const char *path, const char *text, bench_report *report);

#endif
