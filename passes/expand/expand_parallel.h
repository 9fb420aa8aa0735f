/* The interface between the files of expand-parallel: the traversal of the region
 * (expand_parallel.c) and memory accesses (expand_memory.c). */
#ifndef TILE_PASSES_EXPAND_EXPAND_PARALLEL_H
#define TILE_PASSES_EXPAND_EXPAND_PARALLEL_H

#include "passes/expand/expanded.h"

typedef struct expansion {
    expanded_space x;
    tile_pass *pass;
    tile_function *f;
    tile_op op;         /* the `parallel` */
    expanded *known;    /* by value id of the region: its expansion */
    expanded predicate; /* active elements; no value: all */
    bool failed;
} expansion;

/* The expansion of a value of the region. */
expanded expand_value(const expansion *e, tile_value value);
void expand_set(expansion *e, tile_value value, expanded s);
/* Rebuilds the operation with other operands. given: the result's type, or NULL if it is inferred
 * from them. */
tile_op expand_rebuild(expansion *e, tile_op op, const tile_segment *segments,
                       const tile_type *given);
/* The conjunction of two predicates; either may be absent. */
expanded expand_and(expansion *e, expanded a, expanded b);
/* Reports an error: the operand varies between elements. Returns false. */
bool expand_reject_varying(expansion *e, tile_op op, const char *what);

/* Classifies a coordinate. */
expanded_index expand_place(expansion *e, tile_value value);
/* expand_load: a load or `inside`. expand_store: a store, atomic or compare-and-swap. */
void expand_load(expansion *e, tile_op op);
void expand_store(expansion *e, tile_op op);

#endif
