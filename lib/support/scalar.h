/* Element types: what scalars.def says of each, and reading and writing elements in memory beyond
 * tile_scalar_read and tile_scalar_write (tile/ir.h), which serve all types through a double. */
#ifndef TILE_LIB_SUPPORT_SCALAR_H
#define TILE_LIB_SUPPORT_SCALAR_H

#include "tile/ir.h"

/* Bits of a float's exponent; 0 for integers. */
unsigned tile_scalar_exponent(tile_scalar scalar);
/* How many neighbours share a 32-bit register; 1 for wider types and i1. */
unsigned tile_scalar_pack(tile_scalar scalar);
/* Whether arrays of numbers may have it, and a type parameter may be it: all but `barrier`. */
bool tile_scalar_is_data(tile_scalar scalar);
/* The type of this name if it is one for data, else TILE_SCALAR_NONE. */
tile_scalar tile_scalar_of_data(const char *name);
/* True if every value of the type `part` is one of the type `whole`; both floats or both integers,
 * and not the same. */
bool tile_scalar_contains(tile_scalar whole, tile_scalar part);
/* The value that is left of a number in this type. */
double tile_scalar_round(tile_scalar scalar, double value);

/* Integer types exactly, wrapping to their width; i1 is 0 or 1. */
int64_t tile_integer_read(tile_scalar scalar, const void *address);
void tile_integer_write(tile_scalar scalar, void *address, int64_t value);
/* Whether the type has this integer: always, for floats, i64 and a type that is not known yet. */
bool tile_integer_fits(tile_scalar scalar, int64_t value);
/* A double as an i64: towards zero, clamped to [low, high], NaN to 0. */
int64_t tile_integer_from_double(double value, int64_t low, int64_t high);

#endif
