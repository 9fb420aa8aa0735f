/* The right side of --check OUT=EXPR. */
#ifndef TILE_TOOLS_TILE_RUN_EXPRESSION_H
#define TILE_TOOLS_TILE_RUN_EXPRESSION_H

#include "tools/tile-run/run.h"

/* A module with one compute, @check, that takes the arguments and gives the expression in f64, cast
 * once to the output's type. text is the whole option, for messages. NULL after a report. */
tile_module *expression_build(tile_context *context, const char *text, const char *expression,
                              run_argument *arguments, unsigned count, const run_argument *output);

/* True for matmul(a, b) on two matrices that fit, and which they are. */
bool expression_is_matmul(const char *expression, run_argument *arguments, unsigned count,
                          const run_argument **a, const run_argument **b);

#endif
