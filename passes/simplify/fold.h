/* Simplification of one operation. */
#ifndef TILE_PASSES_SIMPLIFY_FOLD_H
#define TILE_PASSES_SIMPLIFY_FOLD_H

#include "lib/analysis/range.h"
#include "lib/ir/function.h"

typedef struct tile_folder {
    tile_function *f;
    const tile_range *ranges; /* of the values that existed when folding began */
    uint32_t range_count;
    const bool *kept; /* by value id, of the same values: must not be folded; NULL: none */
} tile_folder;

/* Returns a value that replaces the operation's only result, or 0. May instead rewrite the
 * operation in place into a simpler one and set *changed. */
tile_value tile_fold_op(tile_folder *folder, tile_op op, bool *changed);

/* The range of an integer; the full range of its type if the value is new. */
tile_range tile_fold_range(const tile_folder *folder, tile_value value);

/* In a loop with an `order` or `stage` list the user numbered the statements: none may be added or
 * removed. */
static inline bool tile_is_numbered_loop(const tile_function *f, tile_op op) {
    return op.id && tile_op_at(f, op)->region_count &&
           (tile_op_has_attr(f, op, TILE_ATTR_order) || tile_op_has_attr(f, op, TILE_ATTR_stage));
}

/* fold_shape.c: the part of tile_fold_op for transposes, reshapes, slices and concats. */
tile_value tile_fold_rearrangement(tile_function *f, tile_op op, bool *changed);

#endif
