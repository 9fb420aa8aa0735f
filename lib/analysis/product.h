/* What a `dot`, an `mma` or a `wgmma` multiplies. */
#ifndef TILE_LIB_ANALYSIS_PRODUCT_H
#define TILE_LIB_ANALYSIS_PRODUCT_H

#include "lib/ir/function.h"
#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "tile/target.h"

/* Which dim of lhs or rhs of a dot of two dims lies along k. */
unsigned tile_product_k_dim(const tile_function *f, tile_op dot, unsigned operand);
/* Types and signs of both; extents and the accumulator's layout (if it has one) of a dot, which is
 * instantiated. All features: the caller sets the target's. */
tile_mma_query tile_product_query(const tile_function *f, tile_op op);
/* The mma instruction that computes a dot, beside its sums' layout if they have one; NULL: there is
 * none. */
const tile_mma *tile_product_mma(const tile_function *f, tile_op dot, const tile_target *target);
/* The row that an mma is; NULL if there is none, which the verifier refuses. */
const tile_mma *tile_product_instruction(const tile_function *f, tile_op mma);

/* In which fragments the instruction takes operand TILE_MMA_LHS or _RHS, of this type, beside an
 * accumulator with layout acc. */
tile_layout tile_product_fragment(const tile_mma *row, const tile_layout *acc, unsigned operand,
                                  const tile_type *type);

/* Whether sums of a dot directly in the region go into op, through other operations there. seen: by
 * operation, false. */
bool tile_consumes_dot(const tile_function *f, tile_op op, tile_region region, bool *seen);
/* Whether a dot directly in the region multiplies what another one there has made. */
bool tile_dots_are_chained(const tile_function *f, tile_region region, tile_arena *arena);

/* What a wgmma does beside adding up products. */
typedef struct tile_product_forms {
    bool negate_lhs, negate_rhs;
    bool satfinite; /* the sums, exact until then, are clamped to i32 */
    bool popc;      /* a product of two elements is the number of ones that both have */
    bool sparse;    /* lhs has half of its elements */
} tile_product_forms;

tile_product_forms tile_product_forms_of(const tile_function *f, tile_op wgmma);

/* The matrix that a wgmma_descriptor describes, whose attributes are numbers. */
tile_wgmma_matrix tile_wgmma_matrix_of(const tile_function *f, tile_op op);

#endif
