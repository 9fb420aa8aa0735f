/* Running passes over a module.
 *
 * A pipeline is text: passes separated by commas, each with options in braces, separated by blanks
 * or commas. Example: instantiate{block_m=128 block_n=64},canonicalize,cse,dce */
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
    const char *requires_; /* properties (passes/properties.def) separated by " | "; "" for none */
    const char *meaning;
    const char *options;     /* names separated by blanks; "*": the pass checks them itself */
    const char *establishes; /* properties, in the form of requires_ */
    const char *keeps;       /* "KEEPS_ALL" for all of them */
    const char *breaks;
    bool on_module; /* it is called once for the module, not for each function */
} tile_pass_info;

TILE_API const tile_pass_info *tile_pass_at(unsigned index); /* NULL past the end */

/* Called around each pass on each function; for `before`, changed is false. */
typedef void (*tile_pass_hook)(const char *pass, const tile_function *function, bool changed,
                               void *user);

/* In every field, zero means the default. size is sizeof(tile_pass_options): if a program was built
 * with an older header, only that many bytes are read and the remaining fields are zero. The same
 * holds for all option structs. NULL options are all zero. */
typedef struct tile_pass_options {
    size_t size;
    const tile_target *target; /* default: sm_80 */
    const char *kernel;        /* only this function; default: all */
    bool skip_verify;          /* do not verify before the first pass and after each */
    tile_pass_hook before;
    tile_pass_hook after; /* changed: the pass changed the function's text (known only if
                             report_changes is set) */
    bool report_changes;
    void *hook_user;
    /* Reports the seconds that each pass took on all functions together, in order. */
    void (*timing)(const char *pass, double seconds, void *user);
    /* Reports counters of passes, such as "cse: removed 12". */
    void (*statistic)(const char *pass, const char *name, long value, void *user);
    void *report_user;
    bool verify_less; /* verify only before passes that change the level, and at the end */
} tile_pass_options;

/* Runs a pipeline on a module, in place. Returns, after a diagnostic, TILE_INVALID if the
 * pipeline's text or the program is invalid, TILE_UNSUPPORTED if the target does not support the
 * program, and TILE_FAILED if a pass broke the IR's rules. After a failure the module can only be
 * destroyed. */
TILE_API tile_status tile_run_passes(tile_module *module, const char *pipeline,
                                     const tile_pass_options *options);

/* The default pipeline. For level 3, it lowers an instantiated kernel to level 3, ready for code
 * generation. For any other level, it prepares the kernel for the CPU device at level 2: with
 * layouts, buffers and barriers, but not lowered to threads. */
TILE_API const char *tile_default_pipeline(unsigned level);

#ifdef __cplusplus
}
#endif

#endif
