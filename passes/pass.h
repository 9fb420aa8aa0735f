/* What a pass sees of its manager. */
#ifndef TILE_PASSES_PASS_H
#define TILE_PASSES_PASS_H

#include "lib/ir/function.h"
#include "tile/pass.h"

typedef struct tile_pass_option {
    const char *key;
    const char *value; /* "" for a key alone */
} tile_pass_option;

typedef struct tile_pass {
    tile_context *context;
    const tile_target *target;
    tile_arena *scratch; /* reset after the pass */
    const tile_pass_option *options;
    unsigned option_count;
    void (*statistic)(const char *pass, const char *name, long value, void *user);
    void *report_user;
    const char *name;
} tile_pass;

/* Rewrites one function. A status other than TILE_OK comes after a diagnostic. */
typedef tile_status (*tile_pass_function)(tile_pass *pass, tile_function *function);

#define PASS(name, function, level_in, level_out, needs, keeps, breaks, meaning) \
    tile_status function(tile_pass *pass, tile_function *f);
#include "passes/passes.def"
#undef PASS

/* Reports a counter, such as "removed", to the statistics. */
void tile_pass_count(const tile_pass *pass, const char *what, long value);

#endif
