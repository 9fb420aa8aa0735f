/* Dots that a warpgroup computes by wgmma: those with the attribute `via = wgmma`, which
 * choose-instructions writes, or the user. What assign-layouts, insert-barriers and lower-tiles
 * know of them together. */
#ifndef TILE_PASSES_COMMON_WARPGROUP_H
#define TILE_PASSES_COMMON_WARPGROUP_H

#include "lib/analysis/decisions.h"
#include "lib/ir/function.h"

/* Whether op is a dot with `via = wgmma`; or with `via = mma`. */
bool warpgroup_uses_wgmma(const tile_function *f, tile_op op);
bool warpgroup_uses_mma(const tile_function *f, tile_op op);

/* What decisions.h asks of a dot. Whether its operands are in shared memory is left open, beside
 * the layouts of those that are. */
tile_dot_facts warpgroup_facts(const tile_function *f, tile_op dot);
/* tile_dot_promotes of it. */
bool warpgroup_promotes(const tile_function *f, tile_op dot);

/* By value: buffers that such dots read. */
bool *warpgroup_buffers(tile_function *f, tile_arena *arena);

/* By value: buffers that copy_async fills for a barrier, or copies to a view: by TMA, where it can.
 */
bool *async_copied_buffers(tile_function *f, tile_arena *arena);

/* The type of operand TILE_MMA_LHS, _RHS or _ACC. */
const tile_type *warpgroup_operand(const tile_function *f, tile_op dot, unsigned operand);

/* The accumulator's dim that the instruction's rows lie in, before there are layouts: as the
 * attribute `swap_operands` says, which choose-instructions decides once for all passes behind it.
 * Of a text without it the plain one, if extents and warps admit that. False if there is none. */
bool warpgroup_row_dim(const tile_function *f, tile_op dot, unsigned *row_dim);
/* Whether the loop says `consumers = WORD`. */
bool warpgroup_requests(const tile_function *f, tile_op loop, const char *word);
/* lhs is the instruction's first operand, or rhs where the product is exchanged. */
unsigned warpgroup_first(unsigned row_dim);

/* Whether the product may continue past its iteration: an operand that is a tile and no stage of a
 * ring stays in registers. The instruction's second one would go through a buffer, which the next
 * iteration fills again. staged: of lhs and rhs, that it is such a stage, or a load that becomes
 * one. */
bool warpgroup_may_stay_pending(const tile_function *f, tile_op dot, const bool staged[2]);
/* If it is asynchronous: it no more is, and those before it in its sum are waited for. A remark
 * says why. */
void warpgroup_make_synchronous(tile_function *f, tile_op dot, const char *why);

/* The layout that the accumulator should have, and its row_dim. False if there is none. */
bool warpgroup_accumulator(const tile_function *f, tile_op dot, unsigned *row_dim,
                           tile_layout *layout);
/* The first operand, where it is a tile computed from what comes from shared memory, such as
 * weights that are unpacked: to be held as fragments from there on. Else 0. */
tile_value warpgroup_register_operand(const tile_function *f, tile_op dot, unsigned row_dim);
/* The layout that the first operand has as a fragment, beside an accumulator with layout acc. False
 * if it is no tile. */
bool warpgroup_fragment(const tile_function *f, tile_op dot, const tile_layout *acc,
                        unsigned row_dim, tile_layout *fragment);

/* How a dot whose operands have layouts is computed. */
typedef struct warpgroup_plan {
    unsigned row_dim;
    uint32_t columns; /* of an instruction */
    uint32_t depth;   /* elements along k of one */
    bool registers;   /* the first operand is a tile */
    tile_wgmma_matrix
        matrix[2]; /* how descriptors name lhs and rhs, where they are in shared memory */
} warpgroup_plan;

/* Fills *plan. NULL, or why the layouts do not allow it. */
const char *warpgroup_find_plan(const tile_function *f, tile_op dot, warpgroup_plan *plan);

/* The layout that a buffer should have which is an operand of such dots and copied along dim
 * `fastest`. */
tile_layout warpgroup_buffer_layout(const tile_type *buffer, unsigned fastest);
/* Along which dim of its buffer an operand's elements should follow each other if nothing else
 * decides. */
unsigned warpgroup_contiguous_dim(const tile_function *f, tile_op dot, unsigned operand);

#endif
