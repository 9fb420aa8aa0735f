/* The element type of a dot's accumulator where the operands' type is the parameter T: `acc(T)`.
 * Types name it like a parameter. */
#ifndef TILE_LIB_IR_ACCUMULATOR_H
#define TILE_LIB_IR_ACCUMULATOR_H

#include "lib/ir/function.h"

#define TILE_ACCUMULATOR_WORD "acc"

/* The type in which products of these elements are summed if no accumulator is given. */
tile_scalar tile_accumulator_scalar(tile_scalar element);
/* The same of an element type; `acc(T)` if it is the parameter T. */
const tile_type *tile_accumulator_type(tile_context *context, const tile_type *element);
/* True for `acc(T)`: *param and *length are the T in it, else the whole name. */
bool tile_is_accumulator(const char *name, const char **param, size_t *length);
/* Whether the elements may be equal once parameters have values: an accumulator's type that is not
 * known yet fits each type that an accumulator may have. */
bool tile_elements_may_agree(const tile_type *a, const tile_type *b);

#endif
