/* Pipelines as text, and where one is while it runs. */
#ifndef TILE_TOOLS_TILE_OPT_STEPS_H
#define TILE_TOOLS_TILE_OPT_STEPS_H

#include "tile/pass.h"

/* Behind the step at `at`, and behind the comma after it: options in braces have commas of their
 * own. */
const char *opt_next_step(const char *at);
/* The length of the step at `at`, without blanks around it, which *at is moved over, and without
 * the comma. */
size_t opt_step_length(const char **at);

typedef struct opt_position {
    const tile_module *module;
    const char *pipeline;
    const char *at;            /* the step that runs; NULL: none has begun */
    const tile_function *last; /* the function that it ran on last */
} opt_position;

/* From the hook `before` of each pass: true if a step begins. */
bool opt_follow(opt_position *p, const char *pass, const tile_function *f);

#endif
