/* The inside of a context: where diagnostics go, which sources they quote, which types exist. */
#ifndef TILE_LIB_SUPPORT_CONTEXT_H
#define TILE_LIB_SUPPORT_CONTEXT_H

#include "lib/support/arena.h"
#include "tile/base.h"

typedef struct tile_source {
    const char *name;
    const char *text;
    size_t length;
} tile_source;

struct tile_context {
    tile_arena arena; /* types, expressions, names: they live as long as the context */
    tile_sink sink;
    void *sink_user;
    unsigned errors;
    tile_source *sources;
    size_t source_count;
    size_t source_capacity;
    struct tile_intern *interned; /* lib/ir/intern.c: types and expressions, each once */
};

#endif
