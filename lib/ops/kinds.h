/* What the attribute `kind` of an operation may be. */
#ifndef TILE_LIB_OPS_KINDS_H
#define TILE_LIB_OPS_KINDS_H

#include "lib/ops/atomic.h"

/* Whether two elements of the type can be combined so: bits of integers, truth values by bits only,
 * and nothing of types that are only stored. */
bool tile_kind_combines(tile_word kind, tile_scalar scalar);

/* What combined with an element gives that element: a float's, or an integer's of the type. */
double tile_kind_identity(tile_word kind);
int64_t tile_kind_integer_identity(tile_word kind, tile_scalar scalar);

/* That the word of `kind` is one of the operation's, and of its elements. False after a
 * diagnostic; true while a parameter has no value yet. */
bool tile_verify_kind(const tile_function *f, tile_op op);

/* Whether the word is one that the operation takes for `kind`. */
bool tile_opcode_takes_kind(tile_opcode opcode, const char *word);

#endif
