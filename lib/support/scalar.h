/* Element types: the columns of scalars.def, and access to elements in memory that is more exact
 * than tile_scalar_read and tile_scalar_write (tile/ir.h), which convert all types through a
 * double. */
#ifndef TILE_LIB_SUPPORT_SCALAR_H
#define TILE_LIB_SUPPORT_SCALAR_H

#include "tile/ir.h"

/* Exponent bits of a float; 0 for integers. */
unsigned tile_scalar_exponent(tile_scalar scalar);
/* The number of adjacent elements in a 32-bit register; 1 for wider types and i1. */
unsigned tile_scalar_pack(tile_scalar scalar);
/* Returns whether arrays and type parameters may have this type: all types except `barrier`. */
bool tile_scalar_is_data(tile_scalar scalar);
/* The type of this name if it is a data type, else TILE_SCALAR_NONE. */
tile_scalar tile_scalar_of_data(const char *name);
/* True if every value of the type `part` is a value of the type `whole`. Both must be floats or
 * both integers, and the types must differ. */
bool tile_scalar_contains(tile_scalar whole, tile_scalar part);
/* The integer type of the same width that is unsigned, or signed; other types are unchanged. */
tile_scalar tile_scalar_as_unsigned(tile_scalar scalar);
tile_scalar tile_scalar_as_signed(tile_scalar scalar);
/* Rounds a number to this type. */
double tile_scalar_round(tile_scalar scalar, double value);

/* Reads integer types exactly; writing wraps to their width; i1 is 0 or 1. */
int64_t tile_integer_read(tile_scalar scalar, const void *address);
void tile_integer_write(tile_scalar scalar, void *address, int64_t value);
/* Returns whether the type can represent this integer: always true for floats, i64, u64 (whose
 * numbers from 2^63 are negative as an int64_t) and an unknown type. */
bool tile_integer_fits(tile_scalar scalar, int64_t value);
/* The numbers that an integer type holds, such as "u8 holds 0 to 255"; returns the text. */
enum { TILE_RANGE_TEXT = 64 };
const char *tile_integer_range_text(tile_scalar scalar, char text[TILE_RANGE_TEXT]);
/* Converts a double to an i64: towards zero, clamped to [low, high], NaN to 0. */
/* Whether two elements are equal; NaN is equal to NaN. */
bool tile_scalar_same(tile_scalar scalar, const void *a, const void *b);
int64_t tile_integer_from_double(double value, int64_t low, int64_t high);
/* Likewise, clamped to the range of the integer type, which is not i1. */
int64_t tile_integer_of_type(tile_scalar scalar, double value);
double tile_integer_to_double(tile_scalar scalar, int64_t value);

#endif
