/* The attributes of atomic operations, waits and fences, for code that checks, lowers or executes
 * them. */
#ifndef TILE_LIB_OPS_ATOMIC_H
#define TILE_LIB_OPS_ATOMIC_H

#include "lib/ir/effects.h"

/* True if the result, of an operation with side effects, is used. */
bool tile_value_is_used(const tile_function *f, tile_value value);

/* The element-wise operation that a kind applies to the old element and the operand, or to two
 * elements; NONE for kinds that combine nothing. */
tile_opcode tile_kind_opcode(tile_word kind);

/* Returns whether PTX has instructions for several adjacent elements: sums of 16- and 32-bit
 * floats. */
bool tile_atomic_allows_vectors(const tile_function *f, tile_op op);

/* Returns whether a wait's condition holds. */
bool tile_compare_holds(tile_word compare, int32_t word, int32_t value);
/* ">= "; "" for eq. */
const char *tile_compare_symbol(tile_word compare);

/* Checks that run after all attributes are set, unlike the row's rule. False after a diagnostic. */
bool tile_verify_atomic(const tile_function *f, tile_op op);

#endif
