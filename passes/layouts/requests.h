/* Layout requests: operations request layouts for classes of tiles. All tiles of a class share one
 * layout. */
#ifndef TILE_PASSES_LAYOUTS_REQUESTS_H
#define TILE_PASSES_LAYOUTS_REQUESTS_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* Priority of a request. The highest one wins, among equal ones the cheapest layout. Loads and
 * stores count as equal. */
typedef enum request_priority {
    PRIORITY_NONE,
    PRIORITY_STORE,
    PRIORITY_LOAD,
    PRIORITY_TWO_WAY,    /* loads and stores along two dims, wide along both */
    PRIORITY_STORE_RING, /* store through a ring; above loads, which work with every layout:
                            otherwise the whole tile goes through a buffer first */
    PRIORITY_BROADCAST,  /* by a broadcast; above loads as well */
    PRIORITY_REDUCTION,  /* the layout of the threads that combine elements */
    PRIORITY_FMA,
    PRIORITY_DOT_OPERAND,
    PRIORITY_ACCUMULATOR,
    PRIORITY_WARPGROUP, /* mma also accepts its fragments */
    PRIORITY_GIVEN,     /* in the kernel's text; must not change */
} request_priority;

/* By dim: the number of contiguous elements that loads and stores of a class's tiles move at once;
 * 0: none. */
typedef struct contiguous_dims {
    unsigned width[TILE_MAX_RANK];
} contiguous_dims;

/* A layout requested for a class. */
typedef struct layout_candidate {
    request_priority priority;
    unsigned requesters; /* 0: withdrawn */
    tile_layout layout;
    struct layout_candidate *next;
} layout_candidate;

/* A request that an operation derived for a class; it is updated when its source class changes. */
typedef struct propagated_request {
    uint32_t class;
    layout_candidate *candidate;
    struct propagated_request *next;
} propagated_request;

/* An operation whose cost depends on the layout of a class. */
typedef struct layout_use {
    tile_op op;
    struct layout_use *next;
} layout_use;

typedef struct assignment {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t value_count;               /* at the time when the classes were made */
    uint32_t *parent;                 /* union-find over values */
    uint8_t *sizes;                   /* by class: sizes of its values' elements in bytes, ored */
    request_priority *class_priority; /* by class: resolved */
    tile_layout *class_layout;        /* by class: resolved */
    contiguous_dims *contiguous_dims; /* by class */
    layout_candidate **candidates;    /* by class: requests that were not too weak when made */
    layout_use **uses;                /* by class */
    tile_op by;                       /* operation whose requests are derived, or none */
    propagated_request **propagated;  /* by operation */
    uint32_t *unresolved;             /* classes with unresolved requests */
    size_t unresolved_count;
    bool *is_unresolved; /* by class */
    uint8_t *changes;    /* by class: number of times that its layout changed */
    bool *is_fixed;      /* by class: opaque scratch got its order from it */
    struct counted_conversion *
        *counted_conversion; /* by value: conversions that cost_model.c has counted */
    tile_layout *shared;     /* by value id of alloc_shared: layout of its buffer */
    bool ordered;            /* opaque scratch has its order where one is possible */
    tile_status status;
} assignment;

/* fma_sums.c: the layout of the sums of a dot without an instruction. False if there are
 * fewer of them than threads. */
bool layouts_of_fma(const assignment *a, tile_op dot, tile_layout *layout);
/* Operations that propagate requests from one tile to another. */
typedef struct propagating_ops {
    tile_op *ops;
    unsigned count;
} propagating_ops;

/* assign_layouts.c ---------------------------------------------------------------------------- */

bool layouts_is_tile(const assignment *a, tile_value value);
/* The warps that share a tile, and those that execute an operation. */
unsigned layouts_warps_of(const assignment *a, tile_value tile);
unsigned layouts_warps_at(const assignment *a, tile_op op);
uint32_t layouts_class_of(assignment *a, tile_value value);
/* Adds a request for the value's class. resolve_requests takes the one with the highest priority,
 * among these the cheapest. Replaces an earlier request of a->by for the same class. */
void request_layout(assignment *a, tile_value value, request_priority priority,
                    const tile_layout *layout);
/* The layout that a tile will have and the priority of its request; NULL while there is no
 * request. */
const tile_layout *find_request(assignment *a, tile_value tile, request_priority *priority);
const tile_layout *requested_layout(assignment *a, tile_value tile);
/* Requests a blocked layout, 16 bytes per thread, for the value's class, which has no request
 * yet. */
void request_blocked(assignment *a, tile_value value);
/* Whether a->by has requested a layout for the tile's class. */
bool is_propagated_here(assignment *a, tile_value tile);
/* Resolves all requests: each class with new ones takes the best. Classes with only one candidate
 * come first. For the others, costs of operations depend on the classes resolved before them, so
 * that the order of requests does not matter. visit: called for each class that has changed. */
typedef void layout_class_visitor(uint32_t class, void *user);
void resolve_requests(assignment *a, layout_class_visitor *visit, void *user);

/* operation_requests.c ------------------------------------------------------------------------ */

/* Requests of dots for their accumulators; requests of operations, when accumulators are resolved;
 * and the order of opaque scratch, which is that of its first tile with a request. */
void request_sums(assignment *a, tile_op op);
void request_operation(assignment *a, tile_op op);
void request_order(assignment *a, tile_op op);
/* The layout that a dot requests for its accumulator. Returns the priority. */
request_priority dot_sum_request(const assignment *a, tile_op dot, tile_layout *layout);
/* The fragment layout of an operand for an accumulator with layout `sum`. False if the operand is
 * not taken as a fragment. */
bool dot_fragment_layout(const assignment *a, tile_op dot, unsigned operand, const tile_layout *sum,
                         tile_layout *fragment);
/* The memory operand of a load or store of a tile, and that tile. NULL if op is neither or moves a
 * scalar. */
const tile_value *find_transfer(const tile_function *f, tile_op op, tile_value *tile);

/* propagate_requests.c ------------------------------------------------------------------------ */

/* Reductions, scans and sorts. */
bool combines_along_axis(tile_opcode opcode);
propagating_ops find_propagating_ops(assignment *a);
/* Propagates requests from the operands of reductions to their results, from results of other
 * operations to their operands, and both ways through rearrangements. Works in rounds, so that a
 * class sees all requests that reach it in the same number of steps. Requests a layout for classes
 * that have none. */
void propagate_requests(assignment *a, const propagating_ops *list);
/* Gives the side of a rearrangement with the weaker request the other side's layout. True if it is
 * new. */
bool propagate_rearrangement(assignment *a, tile_op op);

/* execution_counts.c -------------------------------------------------------------------------- */

/* Lists, by class, the operations whose cost depends on the layout. */
void find_layout_uses(assignment *a);
/* Estimates how often op is executed, and how often a tile that op needs in another layout is
 * converted: before the outermost loop in which it does not change. */
uint64_t execution_count(const assignment *a, tile_op op);
uint64_t conversion_count(const assignment *a, tile_op op, tile_value tile);

/* cost_model.c -------------------------------------------------------------------------------- */

/* The cheapest candidate of a class with this priority, by the cost of its uses. */
const layout_candidate *cheapest_candidate(assignment *a, uint32_t class,
                                           request_priority priority);

/* contiguous_dims.c: requests layouts for tiles that are loaded along one dim and stored along
 * another. */
void request_two_way_layouts(assignment *a, const propagating_ops *list);

#endif
