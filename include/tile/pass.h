/* Running passes over a module.
 *
 * A pipeline is text: passes separated by commas, each with options in braces that are separated by
 * blanks or commas: instantiate{block_m=128 block_n=64},canonicalize,cse,dce */
#ifndef TILE_PASS_H
#define TILE_PASS_H

#include "tile/ir.h"
#include "tile/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row of passes.def. */
typedef struct tile_pass_info {
    const char *name;
    unsigned level_in; /* a set of TILE_LEVEL_* */
    unsigned level_out;
    const char *requires_; /* properties (passes/properties.def), " | " between; "" for none */
    const char *meaning;
    const char *options;     /* names, blanks between; "*": the pass checks them itself */
    const char *establishes; /* properties, as requires_ */
    const char *keeps;       /* "KEEPS_ALL" for all of them */
    const char *breaks;
    bool on_module; /* it is called once with the module, not for each function */
} tile_pass_info;

TILE_API const tile_pass_info *tile_pass_at(unsigned index); /* NULL past the end */

/* Called around each pass on each function; `before` has changed = false. */
typedef void (*tile_pass_hook)(const char *pass, const tile_function *function, bool changed,
                               void *user);

/* Zero means the default for every field. size is sizeof(tile_pass_options): of a struct from an
 * older header that much is read, the rest is zero. So for all option structs; a NULL one is all
 * zero. */
typedef struct tile_pass_options {
    size_t size;
    const tile_target *target; /* default: sm_80 */
    const char *kernel;        /* only this function; default: all */
    bool skip_verify;          /* do not verify before the first pass and after each */
    tile_pass_hook before;
    tile_pass_hook after; /* `changed`: its text is another than before (known only if
                             report_changes) */
    bool report_changes;
    void *hook_user;
    /* Seconds that each pass took on all functions together, in order. */
    void (*timing)(const char *pass, double seconds, void *user);
    /* Counters of passes, such as "cse: removed 12". */
    void (*statistic)(const char *pass, const char *name, long value, void *user);
    void *report_user;
    bool verify_less; /* not after each pass: before one that changes the level, and at the end */
} tile_pass_options;

/* Runs a pipeline on a module, in place. TILE_INVALID after a diagnostic where the pipeline's text
 * or the program is wrong, TILE_UNSUPPORTED where the target cannot have it, TILE_FAILED where a
 * pass broke the IR's rules. After a failure the module is good for tile_module_destroy only. */
TILE_API tile_status tile_run_passes(tile_module *module, const char *pipeline,
                                     const tile_pass_options *options);

/* The passes that make an instantiated kernel ready for code (level 3), or for the CPU device at
 * level 2 (any other level): with layouts, buffers and barriers, not lowered to threads. */
TILE_API const char *tile_default_pipeline(unsigned level);

#ifdef __cplusplus
}
#endif

#endif
