/* What the attributes of atomic operations, waits and fences say, for whoever checks, lowers or
 * runs them. */
#ifndef TILE_LIB_OPS_ATOMIC_H
#define TILE_LIB_OPS_ATOMIC_H

#include "lib/ir/effects.h"

/* True if some operation takes the result of one that has a result beside what it does. */
bool tile_value_is_used(const tile_function *f, tile_value value);

/* The element-wise operation that a kind applies to the old element and the operand, or to two
 * elements; NONE for those that combine nothing. */
tile_opcode tile_kind_opcode(tile_word kind);

/* Whether PTX has instructions that take neighbours together: sums of 16- and 32-bit floats. */
bool tile_atomic_allows_vectors(const tile_function *f, tile_op op);

/* A condition of a wait, word by value. */
bool tile_compare_holds(tile_word compare, int32_t word, int32_t value);
/* ">= "; "" for eq. */
const char *tile_compare_symbol(tile_word compare);

/* What the row's rule cannot see, as attributes are set later. False after a diagnostic. */
bool tile_verify_atomic(const tile_function *f, tile_op op);

#endif
