/* The operands of a `dot`, an `mma` or a `wgmma`. */
#ifndef TILE_LIB_ANALYSIS_PRODUCT_H
#define TILE_LIB_ANALYSIS_PRODUCT_H

#include "lib/ir/function.h"
#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "tile/target.h"

/* The dim of lhs or rhs that is k, for a dot of two dims. */
unsigned tile_product_k_dim(const tile_function *f, tile_op dot, unsigned operand);
/* Types and signs of both operands, as they are multiplied: of f32 with `precision = tf32`, it has
 * tf32. For an instantiated dot also its extents and the layout of its
 * accumulator, if it has one. Features: all; the caller sets the target's. */
tile_mma_query tile_product_query(const tile_function *f, tile_op op);
/* The mma instruction for a dot, compatible with the layout of its sums if they have one; NULL if
 * there is none. */
const tile_mma *tile_product_mma(const tile_function *f, tile_op dot, const tile_target *target);
/* The row of an mma operation; NULL if there is none, which the verifier rejects. */
const tile_mma *tile_product_instruction(const tile_function *f, tile_op mma);

/* The fragment layout of operand TILE_MMA_LHS or _RHS of this type, for an accumulator with layout
 * acc. */
tile_layout tile_product_fragment(const tile_mma *row, const tile_layout *acc, unsigned operand,
                                  const tile_type *type);

/* Returns whether the text of a kernel requests wgmma for a dot, which other targets reject. */
bool tile_requests_wgmma(const tile_function *f);
/* Returns whether op uses the sums of a dot directly in the region, possibly through other
 * operations there. seen: by operation, initially false. */
bool tile_consumes_dot(const tile_function *f, tile_op op, tile_region region, bool *seen);
/* Returns whether no other dot is directly in the region of this one. */
bool tile_dot_is_alone(const tile_function *f, tile_op dot);
/* Returns whether a dot directly in the region multiplies the result of another one there. */
bool tile_dots_are_chained(const tile_function *f, tile_region region, tile_arena *arena);

/* Variants of a wgmma that do not simply add products. */
typedef struct tile_product_forms {
    bool negate_lhs, negate_rhs;
    bool satfinite; /* the exact sums are clamped to i32 */
    bool popc;      /* the product of two elements is the number of 1 bits that both have */
    bool sparse;    /* lhs stores half of its elements */
} tile_product_forms;

tile_product_forms tile_product_forms_of(const tile_function *f, tile_op wgmma);

/* The matrix of a wgmma_descriptor whose attributes are numbers. */
tile_wgmma_matrix tile_wgmma_matrix_of(const tile_function *f, tile_op op);

/* The extent of a type's dim at a point of the kernel's space. */
typedef int64_t tile_extent_of(const void *user, const tile_type *type, unsigned d);

/* The row dim of wgmma with which reductions of m x n sums combine elements of a thread and of four
 * lanes: the instruction's columns are then along the reduced dim. With the other row dim, eight
 * lanes and all warps have elements of a row. The reductions are those outside of the dot's region,
 * of tiles with the extents of `sums`, of which n, or m, may be split in several dims. 2: there are
 * none, or they differ. extent_of: NULL if the kernel is instantiated. */
unsigned tile_row_dim_of_reductions(const tile_function *f, tile_op dot, const tile_type *sums,
                                    tile_extent_of *extent_of, const void *user);

#endif
