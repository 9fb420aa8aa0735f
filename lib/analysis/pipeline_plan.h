/* Plans which copies of a `pipelined` loop run ahead of the loop, and by how many iterations.
 *
 * A copy may be inside branches of the body. It can run ahead if its address, its predicate and the
 * conditions of the branches are available in earlier iterations. They may depend on the induction
 * variable, values from before the loop, and loads of memory that the loop does not write. Such a
 * load is made one iteration earlier still, so that the copy need not wait for it.
 *
 * Statements are the operations directly in the loop's body that do more than compute a value:
 * loads, stores, copies, dots, loops, branches. Pure operations, alloc_shared, free_shared and
 * yield are not statements. The lists `order` and `stage` have one entry per statement. */
#ifndef TILE_LIB_ANALYSIS_PIPELINE_PLAN_H
#define TILE_LIB_ANALYSIS_PIPELINE_PLAN_H

#include "lib/ir/function.h"
#include "tile/target.h"

/* A copy that runs ahead. */
typedef struct tile_staged_copy {
    tile_op op;        /* load, copy or copy_async, in the body or in its branches */
    tile_value buffer; /* destination of a copy; 0 for a load, whose buffer is created later */
} tile_staged_copy;

typedef struct tile_pipeline_plan {
    tile_op loop;
    unsigned stages;   /* number of stages of each staged buffer */
    unsigned distance; /* number of iterations by which copies run ahead; 0: none */
    bool copies_last;  /* the copies for a later iteration are issued after the body's work */
    tile_staged_copy *copies;
    unsigned copy_count;
    tile_op *loads; /* loads in the body or its branches on which copies and their conditions
                       depend, in text order; none if copies do not run ahead */
    unsigned load_count;
    tile_op *order; /* the statements in the order that the user gave, NULL: text order */
    unsigned order_count;
} tile_pipeline_plan;

/* Plans one loop whose attribute `pipelined` is a constant. Copies that cannot run ahead are
 * omitted, with a remark that gives the reason. quiet suppresses the remarks, for a pass that is
 * followed by another one that plans again. Returns false after a diagnostic about the user's
 * lists. */
bool tile_plan_pipeline(tile_function *f, tile_op loop, tile_arena *arena, bool quiet,
                        tile_pipeline_plan *plan);

/* Marks, by value, which values reach lhs or rhs of a dot in the region through pure operations. A
 * load of such a value, in the loop or its branches, is a copy. */
void tile_mark_dot_operands(const tile_function *f, tile_region region, bool *feeds_dot);

/* The pipelined loop that contains op directly or in branches; none if op is in another region of
 * the loop, or in no such loop. */
tile_op tile_pipelined_around(const tile_function *f, tile_op op);

/* Returns whether specialize-warps gives the copies of a pipelined loop a producer warp: on targets
 * with TMA, where the warp can also give its unneeded registers to the consumers. */
static inline bool tile_specializes_warps(const tile_target *target) {
    return tile_target_has(target, TILE_FEATURE_tma) &&
           tile_target_has(target, TILE_FEATURE_setmaxnreg);
}

/* Returns whether blocks of a cluster may share such copies. All blocks then execute the loop,
 * including the ones that round-grid adds to fill the last clusters. Otherwise the loop is put into
 * a branch for the real blocks. */
static inline bool tile_shares_copies(const tile_target *target) {
    return tile_specializes_warps(target) && tile_target_has(target, TILE_FEATURE_multicast);
}

/* Returns whether a copy to a shared buffer precedes a pipelined loop in the same region. If the
 * loop's copies are asynchronous, this copy is, too. */
bool tile_precedes_pipelined(const tile_function *f, tile_op copy);

/* Returns whether a loop that contains op is pipelined. */
bool tile_is_pipelined(const tile_function *f, tile_op op);

/* The value that the copy fills: the buffer, or the loaded tile. */
tile_value tile_staged_value(const tile_function *f, const tile_staged_copy *copy);

/* Returns whether op is one of the plan's copies. */
bool tile_is_staged(const tile_pipeline_plan *plan, tile_op op);

#endif
