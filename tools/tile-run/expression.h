/* The right-hand side of --check OUT=EXPR. */
#ifndef TILE_TOOLS_TILE_RUN_EXPRESSION_H
#define TILE_TOOLS_TILE_RUN_EXPRESSION_H

#include "tools/tile-run/run.h"

/* Returns a module with one compute, @check, that takes the arguments and returns the expression in
 * f64, cast once to the output's type. text is the whole option, for messages. NULL after a
 * message. */
tile_module *expression_build(tile_context *context, const char *text, const char *expression,
                              run_argument *arguments, unsigned count, const run_argument *output);

/* True if the expression is matmul(a, b) of two matrices that fit; returns the two. */
bool expression_is_matmul(const char *expression, run_argument *arguments, unsigned count,
                          const run_argument **a, const run_argument **b);

#endif
