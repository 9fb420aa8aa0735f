/* Requests for layouts: what operations want of the classes of tiles that have one layout. */
#ifndef TILE_PASSES_LAYOUTS_REQUESTS_H
#define TILE_PASSES_LAYOUTS_REQUESTS_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* How much a class wants its layout; the strongest wins, the cheapest among equals. Loads and
 * stores are equals, too. */
typedef enum request_priority {
    PRIORITY_NONE,
    PRIORITY_STORE,
    PRIORITY_LOAD,
    PRIORITY_TWO_WAY,    /* of loads and stores along two dims, wide along both */
    PRIORITY_STORE_RING, /* of a store through a ring: more than loads, which take every layout, and
                    else the whole tile goes through a buffer before it */
    PRIORITY_BROADCAST,  /* by a broadcast; more than loads, too */
    PRIORITY_REDUCTION,  /* as the threads have it that combine elements */
    PRIORITY_FMA,
    PRIORITY_DOT_OPERAND,
    PRIORITY_ACCUMULATOR,
    PRIORITY_WARPGROUP, /* mma takes its fragments, too */
    PRIORITY_GIVEN,     /* by the kernel's text: not to be changed */
} request_priority;

/* Along which dims of a class's tiles loads and stores move neighbours, by how many at once; 0:
 * none does. */
typedef struct contiguous_dims {
    unsigned width[TILE_MAX_RANK];
} contiguous_dims;

/* A layout that somebody requests for a class. */
typedef struct layout_candidate {
    request_priority priority;
    unsigned requesters; /* 0: no more */
    tile_layout layout;
    struct layout_candidate *next;
} layout_candidate;

/* What an operation has derived for a class: it follows the class that it was derived from. */
typedef struct propagated_request {
    uint32_t class;
    layout_candidate *candidate;
    struct propagated_request *next;
} propagated_request;

/* An operation to which it matters how a class is held. */
typedef struct layout_use {
    tile_op op;
    struct layout_use *next;
} layout_use;

typedef struct assignment {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t value_count;               /* when the classes were made */
    uint32_t *parent;                 /* union-find over values */
    uint8_t *sizes;                   /* by class: bytes of its values' elements, or-ed */
    request_priority *class_priority; /* by class: settled */
    tile_layout *class_layout;        /* by class: likewise */
    contiguous_dims *contiguous_dims; /* by class */
    layout_candidate **candidates;   /* by class: all requests that were as strong as any by then */
    layout_use **uses;               /* by class */
    tile_op by;                      /* whose requests are derived; or none's */
    propagated_request **propagated; /* by operation */
    uint32_t *unresolved;            /* classes with requests that are not settled yet */
    size_t unresolved_count;
    bool *is_unresolved; /* by class */
    uint8_t *changes;    /* by class: how often it has been settled anew */
    bool *is_fixed;      /* by class: opaque scratch has got its order from it */
    struct counted_conversion *
        *counted_conversion; /* by value: conversions that cost_model.c has counted */
    tile_layout *shared;     /* by value of alloc_shared: its buffer's layout */
    bool ordered;            /* opaque scratch has its orders, as far as there are any */
    tile_status status;
} assignment;

/* Operations through which requests go from one tile to another. */
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
/* Taken by resolve_requests if it is the strongest, and the cheapest of these. What a->by has
 * requested for the class before no more counts. */
void request_layout(assignment *a, tile_value value, request_priority priority,
                    const tile_layout *layout);
/* The layout that a tile will have, and how much it is requested; NULL while nobody has a request
 * for it.
 */
const tile_layout *find_request(assignment *a, tile_value tile, request_priority *priority);
const tile_layout *requested_layout(assignment *a, tile_value tile);
/* For the value's class, that nobody has a request for: 16 bytes a thread, of any of its values. */
void request_blocked(assignment *a, tile_value value);
/* Whether a->by has requested something for the tile's class. */
bool is_propagated_here(assignment *a, tile_value tile);
/* All requests until now count: each class that has new ones takes the best. First those for which
 * there is one only; the others ask what operations cost beside classes that were settled before
 * them, so that the order of requests does not matter. visit: of each class that has changed. */
typedef void layout_class_visitor(uint32_t class, void *user);
void resolve_requests(assignment *a, layout_class_visitor *visit, void *user);

/* operation_requests.c ------------------------------------------------------------------------ */

/* What dots want for their sums; what operations want besides,
 * beside sums that are settled; and the order of opaque scratch, which lies as its first tile is
 * held that somebody has a request for. */
void request_sums(assignment *a, tile_op op);
void request_operation(assignment *a, tile_op op);
void request_order(assignment *a, tile_op op);
/* The layout that a dot requests for its sums, and how much. */
request_priority dot_sum_request(const assignment *a, tile_op dot, tile_layout *layout);
/* The fragments that a dot beside sums of this layout takes an operand in; false: it takes none. */
bool dot_fragment_layout(const assignment *a, tile_op dot, unsigned operand, const tile_layout *sum,
                         tile_layout *fragment);
/* What a load or store moves: its tile, and where that lies in memory. NULL: op is neither, or
 * moves a scalar. */
const tile_value *find_transfer(const tile_function *f, tile_op op, tile_value *tile);

/* propagate_requests.c ------------------------------------------------------------------------ */

/* Reductions, scans and sorts. */
bool combines_along_axis(tile_opcode opcode);
propagating_ops find_propagating_ops(assignment *a);
/* Requests go from the operands of reductions to their results, from other results to operands, as
 * a result may be repeated again, and both ways where elements are only rearranged: in rounds, so
 * that each class sees all requests that reach it in as many steps. A class that nobody has a
 * request for gets one here. */
void propagate_requests(assignment *a, const propagating_ops *list);
/* The weaker side of what is only rearranged takes the stronger one's request. True if it is new.
 */
bool propagate_rearrangement(assignment *a, tile_op op);

/* execution_counts.c -------------------------------------------------------------------------- */

/* Lists by class the operations that cost more under one layout than under another. */
void find_layout_uses(assignment *a);
/* How often op is executed, about; and how often a tile is converted that op needs in another
 * layout: before the outermost loop in which it does not change. */
uint64_t execution_count(const assignment *a, tile_op op);
uint64_t conversion_count(const assignment *a, tile_op op, tile_value tile);

/* cost_model.c -------------------------------------------------------------------------------- */

/* The cheapest of a class's candidates as strong as this one: what its uses take under each. */
const layout_candidate *cheapest_candidate(assignment *a, uint32_t class,
                                           request_priority priority);

/* contiguous_dims.c: tiles that are loaded along one dim and stored along another. */
void request_two_way_layouts(assignment *a, const propagating_ops *list);

#endif
