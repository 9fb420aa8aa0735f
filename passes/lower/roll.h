/* When a chain of element-wise operations on a thread's registers becomes a loop.
 *
 * Sizes are sums of the column `cost` of ops.def: additions with the same compile time. */
#ifndef TILE_PASSES_LOWER_ROLL_H
#define TILE_PASSES_LOWER_ROLL_H

#include "passes/pass.h"

enum {
    /* The largest chain that is unrolled. 4096 additions are about 64 KB of machine code, half of
     * the instruction cache that an SM's warps share; LLVM and ptxas take about 0.5 s for them. */
    ROLL_ABOVE_CODE = 4096,
    /* The smallest chain that becomes a loop where all of them together exceed this. */
    ROLL_LEAST_CODE = 1024,
    /* The size of the loop's body, at most. */
    ROLL_BODY_CODE = 2048,
    /* The size of all bodies of a chain that several loops compute, at most. */
    ROLL_SEGMENTS_CODE = 8192,
};

enum { ROLL_MAX_INPUTS = 16 };

typedef struct roll_chain roll_chain;
struct roll_chain {
    roll_chain *merged; /* into this one; NULL: none */
    tile_op *ops;       /* in program order */
    size_t count, capacity;
    unsigned length; /* of its vectors */
    bool closed;
};

/* A vector that the loop carries. */
typedef struct roll_carrier {
    tile_value init;   /* no value: zeros */
    bool is_source;    /* all segments rotate it; of others each has its part */
    tile_value output; /* the member whose result it collects; no value: it only rotates */
    unsigned step;     /* elements that an iteration uses */
} roll_carrier;

/* An operand of the chain from outside. */
typedef struct roll_input {
    tile_value value;
    tile_value scalar;    /* if all elements are the same: this one */
    tile_value source;    /* if it is a permutation of fewer elements: those .. */
    const int64_t *order; /* .. and their order in the first iteration */
    unsigned step;        /* elements of `source` by which iterations differ; 0: none */
    unsigned carrier;
} roll_input;

typedef struct roller {
    tile_pass *pass;
    tile_function *f;
    roll_chain **chain_of; /* by operation */
    bool *member;          /* by operation: of the chain being changed */
    bool *is_replaced;     /* by operation: a loop computes it */
    uint32_t limit;        /* operations and values from here on are new */
    uint32_t value_limit;
    tile_value *map;      /* by value: what replaces it */
    const uint32_t *uses; /* by value */
    uint32_t *place;      /* by operation: its position in program order */
    uint32_t places;
    bool is_in_flight;    /* wgmma may be, at the current operation */
    bool is_long;         /* the current region's chains are too long together */
    uint64_t region_code; /* of costly operations of the current region */
    long rolled;
} roller;

/* An operation that extracts a part of a result. */
typedef struct roll_use {
    tile_op op, before; /* .. in or at this operation of the chain's region */
    unsigned first, count;
} roll_use;

typedef struct roll_plan {
    roll_chain *c;
    roll_input inputs[ROLL_MAX_INPUTS];
    roll_carrier carriers[2 * ROLL_MAX_INPUTS];
    unsigned input_count, carrier_count;
    unsigned elements; /* of an iteration */
    unsigned segments; /* loops, each of which computes a part of the vectors */
    roll_use *uses;    /* if each segment is computed before its first use: all of them */
    size_t use_count, use_capacity;
} roll_plan;

/* The size of the code of one element of an element-wise operation. */
unsigned roll_code_of(const tile_function *f, tile_op op);

/* roll_plan.c: chooses which of the chain's operations the loop computes, and what it carries. All
 * of them are members before; those that stay outside are not afterwards. False if a loop does not
 * pay. */
bool roll_make_plan(roller *r, roll_chain *c, roll_plan *p);
/* roll_places.c: finds all uses of the results, from the operation `after` on. False if one of them
 * is no extraction of a part that is known. */
bool roll_find_uses(roller *r, roll_plan *p, tile_op after);
/* A number of elements such that each use begins and ends at a multiple of it. */
unsigned roll_piece(const roll_plan *p);
/* roll_plan.c: chooses the number of segments again: none of them in two of these pieces, if that
 * is possible. */
void roll_fit_piece(const roller *r, roll_plan *p, unsigned piece);
/* Returns whether a member computes the value. */
bool roll_is_member(const roller *r, tile_value value);

#endif
