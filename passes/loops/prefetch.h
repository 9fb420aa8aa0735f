/* The plan of prefetch for a loop: which dots load their fragments ahead, and which operations
 * move. */
#ifndef TILE_PASSES_LOOPS_PREFETCH_H
#define TILE_PASSES_LOOPS_PREFETCH_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* A dot's lhs or rhs. */
typedef struct dot_operand {
    tile_value buffer;
    tile_op load; /* the load_shared that defines the operand; 0: the operand is the buffer */
    const tile_type *part;            /* type of one step's tile */
    const struct dot_operand *shared; /* an earlier dot's operand that is the same tile, or NULL */
    unsigned carried;                 /* index of the carried value */
    tile_value next;                  /* the carried tile of the next step */
} dot_operand;

typedef struct dot_plan {
    tile_op dot;
    int64_t depth; /* elements of k per step */
    int64_t steps;
    bool last_at_end; /* the last step can move to the end: only the next iteration uses the sum */
    dot_operand operands[2];
} dot_plan;

typedef struct prefetch {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges; /* of values that existed before the pass */
    const uint32_t *uses;     /* likewise */
    size_t value_count;
    tile_op loop;
    tile_region body;
    tile_op *head_ops; /* at the head of the body: waits, barriers, commits, copies in branches */
    unsigned head_count;
    unsigned moved; /* so many move to the end; the others are distributed over the steps */
    dot_plan *products;
    unsigned count;
    int64_t sums; /* registers of the accumulators */
} prefetch;

/* prefetch_plan.c: fills the members from head_ops to sums. False if the loop does not change. */
bool prefetch_plan(prefetch *p);
/* Whether a condition of the head's copies is provably false if the iteration does not exist: the
 * first one (from TILE_PARENT_OP), or the one after the current one. */
bool prefetch_condition_is_false(const prefetch *p, tile_value condition, int from);
/* Whether the accumulators are large, so that a step has many mma. */
bool prefetch_has_large_sums(const prefetch *p);
/* Whether a later load may move before op: op neither orders memory nor writes memory that the load
 * reads. */
bool prefetch_loads_may_cross(const tile_function *f, tile_op op);
/* The stage that operand i is read from; none if its buffer has no stages. */
tile_value prefetch_stage(const prefetch *p, const dot_plan *product, unsigned i);
/* The index of the carried value; -1: none. */
int prefetch_carried(const prefetch *p, tile_value value);

#endif
