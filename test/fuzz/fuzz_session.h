/* Shared by the parts of the fuzz target.
 *
 *   fuzz_tile.c   texts, passes, code
 *   fuzz_run.c    the CPU device and level 1 */
#ifndef TILE_TEST_FUZZ_SESSION_H
#define TILE_TEST_FUZZ_SESSION_H

#include "test/fuzz/fuzz_tile.h"
#include "tools/common/tool.h"

/* The last error, for the report of a violated rule. */
typedef struct listener {
    char last[256];
} listener;

/* The state while one text is processed. */
typedef struct session {
    tile_context *context;
    listener listener;
    uint32_t hash;
    const fuzz_options *options;
    fuzz_counts *counts;
} session;

/* Reports a violated rule and aborts. */
void fuzz_fail(const char *rule, const char *detail);

/* True for one in `of` texts, for other ones with another salt; always true with the option
 * `all`. */
bool fuzz_choose(const session *s, unsigned salt, unsigned of);

/* Checks the status of a call: it fails with at least one error since `before`, or succeeds with
 * none. True if it is TILE_OK. */
bool fuzz_succeeded(session *s, const char *call, tile_status status, unsigned before);

/* Runs a small kernel at levels 2 and 3, and compares the results. */
void fuzz_run_kernel(session *s, const tile_module *module, const char *kernel);
/* Runs a small compute. */
void fuzz_run_compute(session *s, const tile_function *f);

#endif
