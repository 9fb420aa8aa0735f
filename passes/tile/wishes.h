/* Wishes for layouts: what operations want of the classes of tiles that have one layout. */
#ifndef TILE_PASSES_TILE_WISHES_H
#define TILE_PASSES_TILE_WISHES_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* How much a class wants its layout; the strongest wins, the first among equals. */
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

typedef struct layout_candidate layout_candidate;
struct layout_candidate {
    tile_layout layout;
    layout_candidate *next;
};
typedef struct layout_use layout_use; /* wish_cost.c */

typedef struct assignment {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    size_t value_count;            /* when the classes were made */
    uint32_t *parent;              /* union-find over values */
    strength *wish;                /* by class */
    tile_layout *wanted;           /* by class */
    lines *lines;                  /* by class */
    layout_candidate **candidates; /* by class: what loads and stores want */
    layout_use **uses;             /* by class: these, where there are several candidates */
    tile_layout *shared;           /* by value of alloc_shared: its buffer's layout */
    bool ordered;                  /* opaque scratch has its orders, as far as there are any */
    tile_status status;
} assignment;

/* Operations through which wishes go from one tile to another. */
typedef struct passages {
    tile_op *ops;
    unsigned count;
    tile_op *reduce; /* and the others that work on rows */
    unsigned reductions;
} passages;

/* assign_layouts.c ---------------------------------------------------------------------------- */

bool wish_is_tile(const assignment *a, tile_value value);
/* The warps that share a tile, and those that execute an operation. */
unsigned wish_warps_of(const assignment *a, tile_value tile);
unsigned wish_warps_at(const assignment *a, tile_op op);
uint32_t wish_class(assignment *a, tile_value value);
/* Taken if nobody has a wish as strong. */
void wish(assignment *a, tile_value value, strength how_much, const tile_layout *layout);
/* The layout that a tile will have, and how much it is wished; NULL while nobody has a wish for it.
 */
const tile_layout *wish_for(assignment *a, tile_value tile, strength *how_much);
const tile_layout *wish_layout_of(assignment *a, tile_value tile);
/* For a class that nobody has a wish for: its first value decides, as the elements of the others
 * may have another size. */
void wish_blocked(assignment *a, tile_value value);

/* wish_operations.c --------------------------------------------------------------------------- */

/* For tile_walk, user: the assignment. What the operation itself wants; and the order of opaque
 * scratch, which lies as its first tile is held that somebody has a wish for. */
void wish_operation(tile_function *f, tile_op op, void *user);
void wish_order(tile_function *f, tile_op op, void *user);
/* What a load or store moves: its tile, and where that lies in memory. NULL: op is neither, or
 * moves a scalar. */
const tile_value *wish_transfer(const tile_function *f, tile_op op, tile_value *tile);

/* wish_derived.c ------------------------------------------------------------------------------ */

passages wish_find_passages(assignment *a);
/* Wishes go from the operands of reductions to their results, from other results to operands, the
 * last operations first, as a result may be repeated again, and both ways where elements are only
 * rearranged; around loops they go once more. A class that nobody has a wish for gets one here. */
void wish_derived(assignment *a, const passages *list);
/* The weaker side of what is only rearranged takes the stronger one's wish. True if it is new. */
bool wish_rearranged(assignment *a, tile_op op);

/* wish_cost.c --------------------------------------------------------------------------------- */

/* That a load or store of the class wants this layout. */
void wish_note_candidate(assignment *a, uint32_t class, const tile_layout *layout);
/* Classes for which loads and stores want different layouts get the cheapest of them. */
void wish_cheapest(assignment *a);

/* wish_lines.c: tiles that are loaded along one dim and stored along another. */
void wish_lines(assignment *a, const passages *list);

#endif
