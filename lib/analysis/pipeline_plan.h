/* What a `pipelined` loop's copies may do: which of them can run ahead of the loop, and how far.
 *
 * Statements are the operations directly in the loop's body that do more than compute a value:
 * loads, stores, copies, dots, loops, branches; pure operations, alloc_shared, free_shared and
 * yield are none. The lists `order` and `stage` have one entry for each statement. */
#ifndef TILE_LIB_ANALYSIS_PIPELINE_PLAN_H
#define TILE_LIB_ANALYSIS_PIPELINE_PLAN_H

#include "lib/ir/function.h"

/* A copy that runs ahead. */
typedef struct tile_staged_copy {
    tile_op op;        /* load, copy or copy_async, directly in the body */
    tile_value buffer; /* where copies go; 0 for a load, whose buffer has yet to be made */
} tile_staged_copy;

typedef struct tile_pipeline_plan {
    tile_op loop;
    unsigned stages;   /* that each staged buffer gets */
    unsigned distance; /* iterations by which copies run ahead; 0: they do not */
    bool copies_last;  /* the copies for a later iteration are issued after the body's work */
    tile_staged_copy *copies;
    unsigned copy_count;
    tile_op *order; /* the statements as the user wants them, NULL: as they are */
    unsigned order_count;
} tile_pipeline_plan;

/* Plans one loop whose attribute `pipelined` is a constant. Copies that cannot run ahead are left
 * out, with a remark that says why. False after a diagnostic about the user's lists. */
bool tile_plan_pipeline(tile_function *f, tile_op loop, tile_arena *arena,
                        tile_pipeline_plan *plan);

/* The same without remarks: for a pass after which another one plans again. */
bool tile_plan_pipeline_quietly(tile_function *f, tile_op loop, tile_arena *arena,
                                tile_pipeline_plan *plan);

/* By value: which reach lhs or rhs of a dot in the region through operations that only compute. A
 * load of such a value, directly in the loop, is a copy. */
void tile_mark_dot_operands(const tile_function *f, tile_region region, bool *feeds_dot);

/* Whether a loop around op is pipelined. */
bool tile_is_pipelined(const tile_function *f, tile_op op);

/* Whether op is one of the plan's copies. */
bool tile_is_staged(const tile_pipeline_plan *plan, tile_op op);

#endif
