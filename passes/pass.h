/* The interface between a pass and the pass manager. */
#ifndef TILE_PASSES_PASS_H
#define TILE_PASSES_PASS_H

#include "lib/builder/builder.h"
#include "passes/passes.h"
#include "tile/pass.h"

typedef struct tile_pass {
    tile_context *context;
    const tile_target *target;
    bool has_target;     /* it is the one for which code is made, not the default */
    tile_arena *scratch; /* reset after the pass */
    const tile_pass_option *options;
    unsigned option_count;
    void (*statistic)(const char *pass, const char *name, long value, void *user);
    void *report_user;
    const char *name;
} tile_pass;

/* The functions that a pipeline works on: the requested ones and those that passes have added. */
typedef struct tile_roots {
    tile_function *const *functions;
    size_t count;
} tile_roots;

/* Rewrites one function, or the module. Returns a status other than TILE_OK after a diagnostic.
 * Both kinds may add functions, which become roots for later passes, but not for the current one. A
 * module pass may also remove functions. */
typedef tile_status (*tile_pass_function)(tile_pass *pass, tile_function *function);
typedef tile_status (*tile_module_pass_function)(tile_pass *pass, tile_module *module,
                                                 const tile_roots *roots);

#define PROTOTYPE_function(name) tile_status name(tile_pass *pass, tile_function *f);
#define PROTOTYPE_module(name) \
    tile_status name(tile_pass *pass, tile_module *module, const tile_roots *roots);
#define PASS(name, run, scope, level_in, level_out, options, needs, gives, keeps, breaks, meaning) \
    PROTOTYPE_##scope(run)
#include "passes/passes.def"
#undef PASS
#undef PROTOTYPE_function
#undef PROTOTYPE_module

/* The passes of tile_default_pipeline(3) up to the one that determines the kernel's shared memory
 * size. */
const char *tile_shared_memory_passes(void);

/* Reports a counter, such as "removed", to the statistics. */
void tile_pass_count(const tile_pass *pass, const char *what, long value);

#endif
