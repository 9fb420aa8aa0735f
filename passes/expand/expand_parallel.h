/* What the parts of expand-parallel share: the walk over the region (expand_parallel.c) and
 * accesses to memory (expand_memory.c). */
#ifndef TILE_PASSES_EXPAND_EXPAND_PARALLEL_H
#define TILE_PASSES_EXPAND_EXPAND_PARALLEL_H

#include "passes/expand/expanded.h"

typedef struct expansion {
    expanded_space x;
    tile_pass *pass;
    tile_function *f;
    tile_op op;         /* the `parallel` */
    expanded *known;    /* by value id of the region: what it has become */
    expanded predicate; /* elements that come here; no value: all */
    bool failed;
} expansion;

/* What a value of the region has become. */
expanded expand_value(const expansion *e, tile_value value);
void expand_set(expansion *e, tile_value value, expanded s);
/* The operation on other operands. given: the result's type, NULL where these tell it. */
tile_op expand_rebuild(expansion *e, tile_op op, const tile_segment *segments,
                       const tile_type *given);
/* Where both hold; one may be none. */
expanded expand_and(expansion *e, expanded a, expanded b);
/* False, after an error: it differs from element to element. */
bool expand_reject_varying(expansion *e, tile_op op, const char *what);

/* What is known of a coordinate. */
expanded_index expand_place(expansion *e, tile_value value);
/* A load, or whether it is inside; what is stored, combined, or compared and swapped. */
void expand_load(expansion *e, tile_op op);
void expand_store(expansion *e, tile_op op);

#endif
