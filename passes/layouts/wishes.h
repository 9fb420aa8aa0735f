/* Wishes for layouts: what operations want of the classes of tiles that have one layout. */
#ifndef TILE_PASSES_LAYOUTS_WISHES_H
#define TILE_PASSES_LAYOUTS_WISHES_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* How much a class wants its layout; the strongest wins, the cheapest among equals. Loads and
 * stores are equals, too. */
typedef enum strength {
    WISH_NONE,
    WISH_STORE,
    WISH_LOAD,
    WISH_BOTH,   /* of loads and stores along two dims, wide along both */
    WISH_PIECES, /* of a store through a ring: more than loads, which take every layout, and else
                    the whole tile goes through a buffer before it */
    WISH_REPEAT, /* by a broadcast; more than loads, too */
    WISH_REDUCE, /* as the threads have it that combine elements */
    WISH_FMA,
    WISH_OPERAND,
    WISH_SUM,
    WISH_WARPGROUP, /* mma takes its fragments, too */
    WISH_GIVEN,     /* by the kernel's text: not to be changed */
} strength;

/* Along which dims of a class's tiles loads and stores move neighbours, by how many at once; 0:
 * none does. */
typedef struct lines {
    unsigned width[TILE_MAX_RANK];
} lines;

/* A layout that somebody wishes for a class. */
typedef struct layout_candidate {
    strength how_much;
    unsigned wishers; /* 0: no more */
    tile_layout layout;
    struct layout_candidate *next;
} layout_candidate;

/* What an operation has derived for a class: it follows the class that it was derived from. */
typedef struct derived_wish {
    uint32_t class;
    layout_candidate *candidate;
    struct derived_wish *next;
} derived_wish;

/* An operation to which it matters how a class is held. */
typedef struct layout_use {
    tile_op op;
    struct layout_use *next;
} layout_use;

typedef struct assignment {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t value_count;            /* when the classes were made */
    uint32_t *parent;              /* union-find over values */
    uint8_t *sizes;                /* by class: bytes of its values' elements, or-ed */
    strength *wish;                /* by class: settled */
    tile_layout *wanted;           /* by class: likewise */
    lines *lines;                  /* by class */
    layout_candidate **candidates; /* by class: all wishes that were as strong as any by then */
    layout_use **uses;             /* by class */
    tile_op by;                    /* whose wishes are derived; or none's */
    derived_wish **derived;        /* by operation */
    uint32_t *fresh;               /* classes with wishes that are not settled yet */
    size_t fresh_count;
    bool *is_fresh;       /* by class */
    uint8_t *changes;     /* by class: how often it has been settled anew */
    bool *kept;           /* by class: opaque scratch has got its order from it */
    struct noted **noted; /* by value: conversions that wish_cost.c has counted */
    tile_layout *shared;  /* by value of alloc_shared: its buffer's layout */
    bool ordered;         /* opaque scratch has its orders, as far as there are any */
    tile_status status;
} assignment;

/* Operations through which wishes go from one tile to another. */
typedef struct passages {
    tile_op *ops;
    unsigned count;
} passages;

/* assign_layouts.c ---------------------------------------------------------------------------- */

bool wish_is_tile(const assignment *a, tile_value value);
/* The warps that share a tile, and those that execute an operation. */
unsigned wish_warps_of(const assignment *a, tile_value tile);
unsigned wish_warps_at(const assignment *a, tile_op op);
uint32_t wish_class(assignment *a, tile_value value);
/* Taken by wish_settle if it is the strongest, and the cheapest of these. What a->by has wished for
 * the class before no more counts. */
void wish(assignment *a, tile_value value, strength how_much, const tile_layout *layout);
/* The layout that a tile will have, and how much it is wished; NULL while nobody has a wish for it.
 */
const tile_layout *wish_for(assignment *a, tile_value tile, strength *how_much);
const tile_layout *wish_layout_of(assignment *a, tile_value tile);
/* For the value's class, that nobody has a wish for: 16 bytes a thread, of any of its values. */
void wish_blocked(assignment *a, tile_value value);
/* Whether a->by has wished something for the tile's class. */
bool wish_is_derived(assignment *a, tile_value tile);
/* All wishes until now count: each class that has new ones takes the best. First those for which
 * there is one only; the others ask what operations cost beside classes that were settled before
 * them, so that the order of wishes does not matter. visit: of each class that has changed. */
typedef void wish_visitor(uint32_t class, void *user);
void wish_settle(assignment *a, wish_visitor *visit, void *user);

/* wish_operations.c --------------------------------------------------------------------------- */

/* What dots want for their sums; what operations want besides,
 * beside sums that are settled; and the order of opaque scratch, which lies as its first tile is
 * held that somebody has a wish for. */
void wish_sums(assignment *a, tile_op op);
void wish_operation(assignment *a, tile_op op);
void wish_order(assignment *a, tile_op op);
/* The layout that a dot wishes for its sums, and how much. */
strength wish_of_sum(const assignment *a, tile_op dot, tile_layout *layout);
/* The fragments that a dot beside sums of this layout takes an operand in; false: it takes none. */
bool wish_fragment(const assignment *a, tile_op dot, unsigned operand, const tile_layout *sum,
                   tile_layout *fragment);
/* What a load or store moves: its tile, and where that lies in memory. NULL: op is neither, or
 * moves a scalar. */
const tile_value *wish_transfer(const tile_function *f, tile_op op, tile_value *tile);

/* wish_derived.c ------------------------------------------------------------------------------ */

/* Reductions, scans and sorts. */
bool wish_works_on_rows(tile_opcode opcode);
passages wish_find_passages(assignment *a);
/* Wishes go from the operands of reductions to their results, from other results to operands, as a
 * result may be repeated again, and both ways where elements are only rearranged: in rounds, so
 * that each class sees all wishes that reach it in as many steps. A class that nobody has a wish
 * for gets one here. */
void wish_derived(assignment *a, const passages *list);
/* The weaker side of what is only rearranged takes the stronger one's wish. True if it is new. */
bool wish_rearranged(assignment *a, tile_op op);

/* wish_uses.c --------------------------------------------------------------------------------- */

/* Lists by class the operations that cost more under one layout than under another. */
void wish_find_uses(assignment *a);
/* How often op is executed, about; and how often a tile is converted that op needs in another
 * layout: before the outermost loop in which it does not change. */
uint64_t wish_weight(const assignment *a, tile_op op);
uint64_t wish_weight_of_conversion(const assignment *a, tile_op op, tile_value tile);

/* wish_cost.c --------------------------------------------------------------------------------- */

/* The cheapest of a class's candidates as strong as this one: what its uses take under each. */
const layout_candidate *wish_cheapest(assignment *a, uint32_t class, strength how_much);

/* wish_lines.c: tiles that are loaded along one dim and stored along another. */
void wish_lines(assignment *a, const passages *list);

#endif
