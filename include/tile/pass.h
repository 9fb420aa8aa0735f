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
    unsigned level_in;  /* a set of TILE_LEVEL_* */
    unsigned level_out;
    const char *requires_; /* passes that must have run, by name, blanks between; "" for none */
    const char *meaning;
} tile_pass_info;

TILE_API const tile_pass_info *tile_pass_at(unsigned index); /* NULL past the end */

/* Called around each pass on each function. */
typedef void (*tile_pass_hook)(const char *pass, const tile_function *function, bool changed, void *user);

/* Zero means the default for every field. size is sizeof(tile_pass_options). */
typedef struct tile_pass_options {
    size_t size;
    const tile_target *target;  /* default: sm_80 */
    const char *kernel;         /* only this function; default: all */
    bool skip_verify;           /* do not verify after each pass */
    tile_pass_hook before;
    tile_pass_hook after; /* `changed`: its text is another than before (known only if
                             report_changes) */
    bool report_changes;
    void *hook_user;
    /* Seconds each pass took are reported here, in order. */
    void (*timing)(const char *pass, double seconds, void *user);
    /* Counters of passes, such as "cse: removed 12". */
    void (*statistic)(const char *pass, const char *name, long value, void *user);
    void *report_user;
} tile_pass_options;

TILE_API tile_status tile_run_passes(tile_module *module, const char *pipeline,
                                     const tile_pass_options *options);

/* The passes that take an instantiated kernel to level 3, as a pipeline: level 2 or 3. */
TILE_API const char *tile_default_pipeline(unsigned level);

#ifdef __cplusplus
}
#endif

#endif
