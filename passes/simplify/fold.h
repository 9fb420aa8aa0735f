/* What one operation simplifies to. */
#ifndef TILE_PASSES_SIMPLIFY_FOLD_H
#define TILE_PASSES_SIMPLIFY_FOLD_H

#include "lib/analysis/range.h"
#include "lib/ir/function.h"

typedef struct tile_folder {
    tile_function *f;
    const tile_range *ranges; /* of the values that existed when it began */
    uint32_t range_count;
    const bool *kept; /* by value, of the same: what stays as it is; NULL: nothing has to */
} tile_folder;

/* The value that can stand for the operation's only result, 0 if there is none. It may also rewrite
 * the operation in place into a simpler one; *changed tells. */
tile_value tile_fold_op(tile_folder *folder, tile_op op, bool *changed);

/* The range of an integer, its type's if it is new. */
tile_range tile_fold_range(const tile_folder *folder, tile_value value);

/* In a loop with such lists the user counted the statements: none may come or go. */
static inline bool tile_is_numbered_loop(const tile_function *f, tile_op op) {
    return op.id && tile_op_at(f, op)->region_count &&
           (tile_op_has_attr(f, op, TILE_ATTR_order) || tile_op_has_attr(f, op, TILE_ATTR_stage));
}

/* fold_shape.c: what tile_fold_op does with transposes, reshapes, slices and concats. */
tile_value tile_fold_rearrangement(tile_function *f, tile_op op, bool *changed);

#endif
