/* Operands of a dot by a warpgroup. */
#ifndef TILE_PASSES_LOWER_WGMMA_H
#define TILE_PASSES_LOWER_WGMMA_H

#include "passes/common/warpgroup.h"
#include "passes/lower/lower.h"

/* An operand of the dot: lhs [m, k] or rhs [k, n]. A buffer may hold it transposed. */
typedef struct wgmma_source {
    const tile_layout *layout;
    tile_scalar scalar;
    unsigned k_dim;
    tile_value fragment;             /* a tile's registers; no value for a buffer */
    bool rounds;                     /* it holds f32, which are still to be rounded to tf32 */
    tile_op cast;                    /* that rounded all of them, without uses; or none */
    bool stepwise;                   /* each step is loaded when its wgmma is issued */
    tile_value buffer, begin;        /* begin: i32 offset of stage and warpgroup, in elements */
    const tile_wgmma_matrix *matrix; /* for a buffer */
} wgmma_source;

wgmma_source wgmma_find_source(lowering *l, tile_op op, unsigned operand,
                               const warpgroup_plan *plan, const tile_layout *acc);
/* The descriptor of the matrix that begins at these coordinates. */
tile_value wgmma_name_matrix(lowering *l, const wgmma_source *s, uint32_t along, uint32_t k);
/* The registers of a tile that hold 64 rows x 32 bytes: 16 contiguous bytes per thread. */
tile_value wgmma_take_fragment(lowering *l, const wgmma_source *s, uint32_t along, uint32_t k);
/* Erases what joined loads that have moved to the steps: it would use them before they are made. */
void wgmma_drop_join(lowering *l, const wgmma_source *s);

#endif
