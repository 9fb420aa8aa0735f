/* Dots that a warpgroup computes by wgmma: those with the attribute `via = wgmma`, set by
 * choose-instructions or by the user. Shared by assign-layouts, insert-barriers and lower-tiles. */
#ifndef TILE_PASSES_COMMON_WARPGROUP_H
#define TILE_PASSES_COMMON_WARPGROUP_H

#include "lib/analysis/decisions.h"
#include "lib/ir/function.h"

/* Whether op is a dot with `via = wgmma`, or has `via = mma`. */
bool warpgroup_uses_wgmma(const tile_function *f, tile_op op);
bool warpgroup_uses_mma(const tile_function *f, tile_op op);

/* The facts about a dot for the queries of decisions.h. Operands in shared memory are described
 * only by their layouts. */
tile_dot_facts warpgroup_facts(const tile_function *f, tile_op dot);
/* tile_dot_promotes of these facts. */
bool warpgroup_promotes(const tile_function *f, tile_op dot);
/* The tensor cores keep about 14 bits of a sum of 8-bit floats. They add this many elements along
 * k; these partial sums are then added in f32. */
enum { WARPGROUP_PROMOTED_DEPTH = 128 };
/* Whether all elements of the tile are positive zeros. */
bool warpgroup_is_zero(const tile_function *f, tile_value tile);
/* The only operation that uses the value, if it does so once; else TILE_NO_OP. */
tile_op warpgroup_only_user(const tile_function *f, tile_value value);
/* The operation that scales the dot's sums and adds them, fma(dot(a, b, 0), scale, sum), if the dot
 * promotes its sums, adds at most WARPGROUP_PROMOTED_DEPTH elements along k, and has no other user.
 * lower-tiles then scales and adds one instruction's columns at a time, as it adds promoted sums.
 * TILE_NO_OP: there is none. */
tile_op warpgroup_scaled_sum(const tile_function *f, tile_op dot);

/* By value id: buffers that wgmma dots read. */
bool *warpgroup_buffers(tile_function *f, tile_arena *arena);

/* By value id: buffers that TMA may access: copy_async fills them for a barrier or copies them to a
 * view. */
bool *async_copied_buffers(tile_function *f, tile_arena *arena);

/* The type of operand TILE_MMA_LHS, _RHS or _ACC. */
const tile_type *warpgroup_operand(const tile_function *f, tile_op dot, unsigned operand);

/* The dim of the accumulator that holds the instruction's rows, before layouts exist. The attribute
 * `swap_operands` selects it; choose-instructions sets that attribute once for all later passes.
 * Without it, dim 0 is used if extents and warps admit it, else the swapped form. False if neither
 * fits. */
bool warpgroup_row_dim(const tile_function *f, tile_op dot, unsigned *row_dim);
/* Whether the loop has `consumers = WORD`. */
bool warpgroup_requests(const tile_function *f, tile_op loop, const char *word);
/* The operand number of the instruction's first operand: lhs, or rhs if the operands are
 * swapped. */
unsigned warpgroup_first(unsigned row_dim);

/* Whether the dot may stay pending after its iteration. The instruction's first operand may be in
 * registers, but not if the iteration reads it from shared memory: the next one overwrites these
 * registers, and ptxas uses them for the addresses of copies even before. The second operand must
 * not be a tile outside the ring: it would go through a buffer that the next iteration overwrites.
 * staged: for lhs and rhs, whether it is a stage of a ring, or a
 * load that becomes one. */
bool warpgroup_may_stay_pending(const tile_function *f, tile_op dot, const bool staged[2]);
/* Returns whether the instruction's first operand is a buffer of f32 that only this dot loads, and
 * that is rounded to tf32 in registers: dot(cast(load_shared(buffer)), ..). lower-tiles loads,
 * rounds and multiplies step by step along k. If the dot is `async`, each step is a wgmma group of
 * its own, and writes the registers of the step one dot before when that group is complete. So the
 * dot may stay pending, if the other operand may. */
bool warpgroup_rounds(const tile_function *f, tile_op dot, unsigned row_dim);
/* Makes an asynchronous dot synchronous: earlier dots of the same sum are waited for first. Emits a
 * remark with the reason. */
void warpgroup_make_synchronous(tile_function *f, tile_op dot, const char *why);

/* The layout that the accumulator should have, and its row_dim. False if there is none. */
bool warpgroup_accumulator(const tile_function *f, tile_op dot, unsigned *row_dim,
                           tile_layout *layout);
/* The instruction's first operand if it is a tile computed from shared memory, for example unpacked
 * weights; it should be held as fragments from there on. Else 0. */
tile_value warpgroup_register_operand(const tile_function *f, tile_op dot, unsigned row_dim);
/* The fragment layout of the first operand for an accumulator with layout acc. False if the operand
 * is not a tile. */
bool warpgroup_fragment(const tile_function *f, tile_op dot, const tile_layout *acc,
                        unsigned row_dim, tile_layout *fragment);

/* How to compute a dot whose operands have layouts. */
typedef struct warpgroup_plan {
    unsigned row_dim;
    uint32_t columns;            /* N of one instruction */
    uint32_t depth;              /* K of one instruction, in elements */
    bool registers;              /* the first operand is a tile */
    tile_wgmma_matrix matrix[2]; /* descriptors of lhs and rhs, if they are in shared memory */
} warpgroup_plan;

/* Fills *plan. Returns NULL, or the reason why the layouts do not allow it. */
const char *warpgroup_find_plan(const tile_function *f, tile_op dot, warpgroup_plan *plan);

/* The layout for a buffer that is an operand of wgmma dots and is copied along dim `fastest`. */
tile_layout warpgroup_buffer_layout(const tile_type *buffer, unsigned fastest);
/* The dim of its buffer along which an operand should be contiguous if nothing else decides. */
unsigned warpgroup_contiguous_dim(const tile_function *f, tile_op dot, unsigned operand);

#endif
