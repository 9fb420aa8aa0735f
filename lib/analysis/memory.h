/* Which memory an operation touches, and whether two accesses can meet. */
#ifndef TILE_LIB_ANALYSIS_MEMORY_H
#define TILE_LIB_ANALYSIS_MEMORY_H

#include "lib/ir/function.h"

/* One memory operand of an operation. An operand that is read and written is two accesses. */
typedef struct tile_access {
    tile_op op;
    tile_value memory; /* the view, pointer or shared buffer that the operation names */
    bool shared;
    bool write;
    bool atomic;
    const tile_value *index; /* as the operation gives them */
    unsigned index_count;
    tile_value stage; /* shared, level 2: which stage; 0: none, or not known to be one */
} tile_access;

enum { TILE_MAX_ACCESSES = 2 * TILE_MAX_OPERANDS };

/* The accesses of one operation, without those of its regions; returns how many. free_shared and
 * alloc_shared access nothing. */
unsigned tile_op_accesses(const tile_function *f, tile_op op, tile_access out[TILE_MAX_ACCESSES]);

/* The block's own buffer that a shared buffer is, or that map_shared finds in some block of the
 * cluster, this one perhaps; other values are their own. */
tile_value tile_shared_source(const tile_function *f, tile_value buffer);

/* By what the accesses of an operation that continue past it are waited for; NONE: they are done
 * when it is. */
tile_mechanism tile_op_starts(const tile_function *f, tile_op op);

/* True for a wait that leaves nothing of its mechanism unfinished. */
bool tile_waits_for_everything(const tile_function *f, tile_op op);

/* What a view or pointer is made of: an argument or a scratch buffer; none where that is not known.
 */
tile_value tile_memory_root(const tile_function *f, tile_value memory);
/* False only if no element of the one global memory is an element of the other. */
bool tile_may_alias(const tile_function *f, tile_value a, tile_value b);
/* Whether the operation itself may write an element of a view or pointer, or of a shared buffer
 * (its tile_shared_source). */
bool tile_may_write(const tile_function *f, tile_op op, tile_value memory);

/* False only if the two are made of different arguments or scratch buffers; what one argument is
 * made of is known to the launch alone. */
bool tile_same_memory(const tile_function *f, tile_value a, tile_value b);

/* False only if two stage indices, both values of the same moment, are never equal: different
 * constants, or `x` and `mod(x + c, stages)` where c is no multiple of stages. The sum is taken not
 * to leave i32: a counter that does has run 2^31 times. */
bool tile_stages_may_alias(const tile_function *f, tile_value a, tile_value b);

/* Whether an element may be written by both: false for stores of adjacent tiles in one
 * view whose rows follow each other. */
bool tile_stores_may_alias(const tile_function *f, tile_op a, tile_op b);

/* The operation directly in region that op is or is inside of; 0 if op is elsewhere. */
tile_op tile_ancestor_in(const tile_function *f, tile_op op, tile_region region);

#endif
