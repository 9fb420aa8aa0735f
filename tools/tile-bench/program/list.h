/* Lists programs without measuring them: how many launches their plans have, and how many bytes. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_LIST_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_LIST_H

#include "tools/tile-bench/program/run.h"

/* Schedules each file for the target, at its own sizes, and prints a row of a table in Markdown,
 * with the times of the results that it has. False if one cannot be scheduled, after its
 * diagnostics. */
bool bench_program_list(const bench_program_plan *plan, const bench_results *results);

/* Compares the launches with those in the CSV that --list=FILE wrote. More is an error; fewer is a
 * remark that asks for an update. False after an error. */
bool bench_program_compare_list(const bench_program_plan *plan, const char *path);
/* Writes that CSV. */
bool bench_program_write_list(const bench_program_plan *plan, const char *path);

#endif
