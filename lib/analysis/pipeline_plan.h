/* What a `pipelined` loop's copies may do: which of them can run ahead of the loop, and how far.
 *
 * A copy may stand in branches of the body. It runs ahead if the iteration that it runs ahead of
 * tells nothing about it: its address, its predicate and the conditions around it come from the
 * loop's variable, from what is there before the loop, and from loads of memory that the loop does
 * not write. Such a load is made one iteration earlier still, so that the copy need not wait for
 * it.
 *
 * Statements are the operations directly in the loop's body that do more than compute a value:
 * loads, stores, copies, dots, loops, branches; pure operations, alloc_shared, free_shared and
 * yield are none. The lists `order` and `stage` have one entry for each statement. */
#ifndef TILE_LIB_ANALYSIS_PIPELINE_PLAN_H
#define TILE_LIB_ANALYSIS_PIPELINE_PLAN_H

#include "lib/ir/function.h"
#include "tile/target.h"

/* A copy that runs ahead. */
typedef struct tile_staged_copy {
    tile_op op;        /* load, copy or copy_async, in the body or in branches of it */
    tile_value buffer; /* where copies go; 0 for a load, whose buffer has yet to be made */
} tile_staged_copy;

typedef struct tile_pipeline_plan {
    tile_op loop;
    unsigned stages;   /* that each staged buffer gets */
    unsigned distance; /* iterations by which copies run ahead; 0: they do not */
    bool copies_last;  /* the copies for a later iteration are issued after the body's work */
    tile_staged_copy *copies;
    unsigned copy_count;
    tile_op *loads; /* in the body or in branches of it, on which copies and their conditions
                       depend, in the order of the text; none where copies do not run ahead */
    unsigned load_count;
    tile_op *order; /* the statements as the user wants them, NULL: as they are */
    unsigned order_count;
} tile_pipeline_plan;

/* Plans one loop whose attribute `pipelined` is a constant. Copies that cannot run ahead are left
 * out, with a remark that says why, unless it is quiet: for a pass after which another one plans
 * again. False after a diagnostic about the user's lists. */
bool tile_plan_pipeline(tile_function *f, tile_op loop, tile_arena *arena, bool quiet,
                        tile_pipeline_plan *plan);

/* By value: which reach lhs or rhs of a dot in the region through operations that only compute. A
 * load of such a value, in the loop or in branches of it, is a copy. */
void tile_mark_dot_operands(const tile_function *f, tile_region region, bool *feeds_dot);

/* The pipelined loop that op stands in, directly or in branches; none if it stands in another
 * region of it, or in no such loop. */
tile_op tile_pipelined_around(const tile_function *f, tile_op op);

/* Whether specialize-warps gives the copies of a pipelined loop a warp of their own: where TMA
 * makes them, and the registers that the warp does not need go to the others. */
static inline bool tile_specializes_warps(const tile_target *target) {
    return tile_target_has(target, TILE_FEATURE_tma) &&
           tile_target_has(target, TILE_FEATURE_setmaxnreg);
}

/* Whether blocks of a cluster may share such copies. All of them then come to the loop, also those
 * with which round-grid fills the last clusters; else it is put into a branch for the others. */
static inline bool tile_shares_copies(const tile_target *target) {
    return tile_specializes_warps(target) && tile_target_has(target, TILE_FEATURE_multicast);
}

/* Whether a copy to a shared buffer stands before a pipelined loop, in the same region: where that
 * one's are copied in the background, it is, too. */
bool tile_precedes_pipelined(const tile_function *f, tile_op copy);

/* Whether a loop around op is pipelined. */
bool tile_is_pipelined(const tile_function *f, tile_op op);

/* What it fills, as the loop names it: the buffer, or the tile that is loaded. */
tile_value tile_staged_value(const tile_function *f, const tile_staged_copy *copy);

/* Whether op is one of the plan's copies. */
bool tile_is_staged(const tile_pipeline_plan *plan, tile_op op);

#endif
