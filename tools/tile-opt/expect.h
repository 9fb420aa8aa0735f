/* --verify-diagnostics: diagnostics against comments in the input. */
#ifndef TILE_TOOLS_TILE_OPT_EXPECT_H
#define TILE_TOOLS_TILE_OPT_EXPECT_H

#include "tile/base.h"

typedef struct expectation {
    tile_severity severity;
    uint32_t line;    /* 0: a diagnostic without a place in the input */
    uint32_t written; /* the comment's line */
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

/* Finds `expected-error@+1 {{text}}` and the like; file and text must stay. Bad ones count as
 * failures. */
expectations expect_read(const char *file, const char *text);
/* A sink (user: expectations): ticks off what was expected, reports the rest. */
void expect_diagnostic(const tile_diagnostic *diagnostic, void *user);
/* Reports what did not come; true if all was as expected. Frees what expect_read made. */
bool expect_finish(expectations *e);

#endif
