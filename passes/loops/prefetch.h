/* What prefetch makes of a loop: which of its dots get their fragments ahead, and what moves. */
#ifndef TILE_PASSES_LOOPS_PREFETCH_H
#define TILE_PASSES_LOOPS_PREFETCH_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* A dot's lhs or rhs. */
typedef struct dot_operand {
    tile_value buffer;
    tile_op load;          /* the load_shared that is the operand; 0: the buffer is */
    const tile_type *part; /* a step's tile */
    const struct dot_operand
        *shared;      /* an earlier dot's that is the same tile; NULL: there is none */
    unsigned carried; /* index of the value that the loop carries */
    tile_value next;  /* the tile of the step that comes next */
} dot_operand;

typedef struct dot_plan {
    tile_op dot;
    int64_t depth; /* of a step */
    int64_t steps;
    bool last_at_end; /* only the next iteration takes the sum: its last step can go to the end */
    dot_operand operands[2];
} dot_plan;

typedef struct prefetch {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges; /* of the values that were there before the pass */
    const uint32_t *uses;     /* of these too */
    size_t value_count;
    tile_op loop;
    tile_region body;
    tile_op *head_ops; /* waits, barriers, commits and branches of copies at the head of the body */
    unsigned head_count;
    unsigned moved; /* so many of them go to the end; the others are distributed over the steps */
    dot_plan *products;
    unsigned count;
    int64_t sums; /* registers that the accumulators take */
} prefetch;

/* prefetch_plan.c: fills heads and products from pass to body. False if the loop stays as it is. */
bool prefetch_plan(prefetch *p);
/* Whether a condition of the head's copies is false for sure where there is no iteration: in the
 * first one's place (from TILE_PARENT_OP), or behind the last one. */
bool prefetch_condition_is_false(const prefetch *p, tile_value condition, int from);
/* With accumulators as large as this the mma of a step are many. */
bool prefetch_has_large_sums(const prefetch *p);
/* Whether a later load may go before op: it neither orders memory nor writes what the load reads.
 */
bool prefetch_loads_may_cross(const tile_function *f, tile_op op);
/* The stage that operand i is read from; no value if its buffer has none. */
tile_value prefetch_stage(const prefetch *p, const dot_plan *product, unsigned i);
/* Which of the loop's carried values this is in the body; -1: none. */
int prefetch_carried(const prefetch *p, tile_value value);

#endif
