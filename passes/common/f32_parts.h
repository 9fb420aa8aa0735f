/* Elements of f32 as sums of bf16, and products of them (lib/ops/precision.h). */
#ifndef TILE_PASSES_COMMON_F32_PARTS_H
#define TILE_PASSES_COMMON_F32_PARTS_H

#include "lib/ops/precision.h"
#include "passes/pass.h"

/* Splits a tile of f32 into this number of tiles of bf16, the largest part first. A part that is
 * not finite has no rest. */
void f32_parts_split(tile_builder *b, tile_value tile, unsigned count,
                     tile_value parts[TILE_MAX_PARTS]);

/* Adds the products of the parts to the accumulator of a dot of f32, before the dot. The result
 * takes the place of the dot's. */
tile_value f32_parts_multiply(tile_function *f, tile_op dot, const tile_precision *precision,
                              const tile_value lhs[TILE_MAX_PARTS],
                              const tile_value rhs[TILE_MAX_PARTS]);

#endif
