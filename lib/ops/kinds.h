/* The valid words of an operation's attribute `kind`. */
#ifndef TILE_LIB_OPS_KINDS_H
#define TILE_LIB_OPS_KINDS_H

#include "lib/ops/atomic.h"

/* Returns whether two elements of the type can be combined by this kind. Bitwise kinds take
 * integers, truth values only bitwise kinds, and storage-only types none. */
bool tile_kind_combines(tile_word kind, tile_scalar scalar);

/* The identity element: combining it with an element returns that element. For a float, or an
 * integer of the type (that of a u64 as its bits). */
double tile_kind_identity(tile_word kind);
int64_t tile_kind_integer_identity(tile_word kind, tile_scalar scalar);

/* Checks that the word of `kind` is valid for the operation and its elements. False after a
 * diagnostic; true while a parameter has no value yet. */
bool tile_verify_kind(const tile_function *f, tile_op op);

/* Checks that `name(..)` is not an operation, a cast or a number, so that it can call a func of
 * that name. False after a diagnostic at loc. */
bool tile_check_func_name(tile_context *context, const char *name, tile_loc loc);

/* Returns whether the operation accepts the word for `kind`. */
bool tile_opcode_takes_kind(tile_opcode opcode, const char *word);

/* "round_even, round_zero, round_up or round_down" of `round`; "" where it takes no kind. */
const char *tile_kind_names(tile_opcode opcode, tile_arena *arena);
/* The same of the operation with kinds whose name and an underscore begin this name; "" if there is
 * none. */
const char *tile_kind_names_like(const char *name, size_t length, tile_arena *arena);

#endif
