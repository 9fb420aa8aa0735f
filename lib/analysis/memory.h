/* Which memory an operation accesses, and whether two accesses may alias. */
#ifndef TILE_LIB_ANALYSIS_MEMORY_H
#define TILE_LIB_ANALYSIS_MEMORY_H

#include "lib/ir/function.h"

/* One memory operand of an operation. An operand that is read and written counts as two
 * accesses. */
typedef struct tile_access {
    tile_op op;
    tile_value memory; /* the view, pointer or shared buffer that is the operand */
    bool shared;
    bool write;
    bool atomic;
    const tile_value *index; /* the indices of the operand */
    unsigned index_count;
    tile_value stage; /* shared, level 2: the stage index; 0: none, or not known to be one */
} tile_access;

enum { TILE_MAX_ACCESSES = 2 * TILE_MAX_OPERANDS };

/* Fills out with the accesses of one operation, without those in its regions, and returns their
 * number. free_shared and alloc_shared have none. */
unsigned tile_op_accesses(const tile_function *f, tile_op op, tile_access out[TILE_MAX_ACCESSES]);

/* Resolves map_shared: returns the buffer of this block that the value refers to in some block of
 * the cluster. Returns other values unchanged. */
tile_value tile_shared_source(const tile_function *f, tile_value buffer);

/* The mechanism that waits for the operation's asynchronous accesses; NONE if it has none. */
tile_mechanism tile_op_starts(const tile_function *f, tile_op op);

/* Returns whether the wait completes all asynchronous accesses of its mechanism. */
bool tile_waits_for_everything(const tile_function *f, tile_op op);

/* The argument or scratch buffer that a view or pointer is derived from; none if not known. */
tile_value tile_memory_root(const tile_function *f, tile_value memory);
/* Returns false only if no element of one global memory is an element of the other. */
bool tile_may_alias(const tile_function *f, tile_value a, tile_value b);
/* Returns whether the operation itself may write an element of a view or pointer, or of a shared
 * buffer (given as its tile_shared_source). */
bool tile_may_write(const tile_function *f, tile_op op, tile_value memory);

/* Returns false only if the two are derived from different arguments or scratch buffers. Whether
 * different arguments overlap is known only at launch. */
bool tile_same_memory(const tile_function *f, tile_value a, tile_value b);

/* Returns false only if two stage indices, computed at the same time, are never equal: different
 * constants, or `x` and `mod(x + c, stages)` where c is not a multiple of stages. The sum is
 * assumed not to overflow i32: a counter would need 2^31 iterations for that. */
bool tile_stages_may_alias(const tile_function *f, tile_value a, tile_value b);

/* Returns whether an element may be written by both. False for stores of adjacent tiles to one view
 * with contiguous rows. */
bool tile_stores_may_alias(const tile_function *f, tile_op a, tile_op b);

/* The operation directly in region that is op or contains it; 0 if op is not in the region. */
tile_op tile_ancestor_in(const tile_function *f, tile_op op, tile_region region);

#endif
