/* --verify-diagnostics: compares diagnostics with comments in the input. */
#ifndef TILE_TOOLS_TILE_OPT_EXPECT_H
#define TILE_TOOLS_TILE_OPT_EXPECT_H

#include "tile/base.h"

typedef struct expectation {
    tile_severity severity;
    uint32_t line;    /* 0: a diagnostic without a location in the input */
    uint32_t written; /* line of the comment */
    const char *text;
    size_t length;
    bool met;
} expectation;

typedef struct expectations {
    const char *file;
    expectation *items;
    size_t count, capacity;
    unsigned failures;
} expectations;

/* Finds `expected-error@+1 {{text}}` and the like. `file` and `text` must stay valid. Malformed
 * ones count as failures. */
expectations expect_read(const char *file, const char *text);
/* A diagnostic sink (user: expectations): marks expected diagnostics as met and reports the
 * others. */
void expect_diagnostic(const tile_diagnostic *diagnostic, void *user);
/* Reports expectations that were not met; true if there are none and no other failures. Frees what
 * expect_read allocated. */
bool expect_finish(expectations *e);

#endif
