/* Pipelines as text, and the current position in a pipeline while it runs. */
#ifndef TILE_TOOLS_TILE_OPT_STEPS_H
#define TILE_TOOLS_TILE_OPT_STEPS_H

#include "tile/pass.h"

/* Returns the position after the step at `at` and its comma. Options in braces may contain
 * commas. */
const char *opt_next_step(const char *at);
/* Returns the length of the step at *at, without surrounding blanks and without the comma. Moves
 * *at past leading blanks. */
size_t opt_step_length(const char **at);

typedef struct opt_position {
    const tile_module *module;
    const char *pipeline;
    const char *at;            /* the current step; NULL: not started */
    const tile_function *last; /* the function that the step ran on last */
} opt_position;

/* Call it from the hook `before` of each pass. True if a new step begins. */
bool opt_follow(opt_position *p, const char *pass, const tile_function *f);

#endif
