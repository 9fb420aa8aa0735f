/* Conversions between layouts in which no element leaves its warp: by shuffles.
 *
 * Both layouts are linear, so the source register and lane of an element are a linear function of
 * the result's. A shuffle moves one register of one other lane to every lane, so the registers are
 * moved in rounds. In round t, lane l receives the element of its register t ^ D l from lane M l ^
 * m(t). D is chosen such that M is one-to-one (if each element is held once). Then each lane sends
 * one register in each round, b(t) ^ S l.
 *
 *     reg {a, b}, lane {c, ..}  to  reg {c, b}, lane {a, ..}       a and c are exchanged
 *
 *     send      x0 x1, and x1 x0 where lane bit 0 is set           S: two selects
 *     round 0   stays in its lane, M is the identity and m(0) = 0
 *     round 1   shfl.bfly with lane ^ 1, m(1) = 1
 *     take      y0 y1, and y1 y0 where lane bit 0 is set           D: two selects
 *
 * Registers narrower than 32 bits are moved in words of elements that are adjacent registers in
 * both layouts: these are the first bits of a round's number. Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_SHUFFLE_H
#define TILE_LIB_LAYOUT_SHUFFLE_H

#include <stdbool.h>

#include "tile/layout.h"

enum { TILE_THREAD_BITS = TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS };

/* Exchanges registers whose numbers differ in the bits of the mask, in threads in which an odd
 * number of the bits `threads` (lanes', then warps') are set. */
typedef struct tile_shuffle_step {
    uint32_t threads;
    uint32_t exchanged;
} tile_shuffle_step;

/* All register numbers are within a part; every part is moved the same way. */
typedef struct tile_shuffle_plan {
    unsigned sends, takes;                        /* numbers of steps before and after the rounds */
    tile_shuffle_step send[TILE_LAYOUT_MAX_BITS]; /* of the source's registers */
    tile_shuffle_step take[TILE_LAYOUT_MAX_BITS]; /* of the rounds' numbers */
    unsigned round_bits;                          /* log2 of rounds: the result's registers */
    unsigned word_bits; /* log2 of the rounds whose registers form one word: the first bits */
    uint32_t sent[TILE_LAYOUT_MAX_BITS];   /* by bit of the round: b */
    uint32_t offset[TILE_LAYOUT_MAX_BITS]; /* likewise: m */
    uint32_t from[TILE_THREAD_BITS];       /* by bit of the thread: M */
    bool exchanges;                        /* M is the identity: shfl.bfly */
    uint32_t result[TILE_LAYOUT_MAX_BITS]; /* by bit of the round: the result's register */
} tile_shuffle_plan;

/* Returns false if elements cross warps, or no such rounds are found. element_bytes determines how
 * many registers form a word. */
bool tile_shuffle_find(const tile_layout *from, const tile_layout *to, unsigned element_bytes,
                       tile_shuffle_plan *plan);
/* What a round's number maps to: the sum over its bits. */
uint32_t tile_shuffle_sent(const tile_shuffle_plan *plan, uint32_t round);
uint32_t tile_shuffle_offset(const tile_shuffle_plan *plan, uint32_t round);
uint32_t tile_shuffle_result(const tile_shuffle_plan *plan, uint32_t round);

/* The cost for each warp, in half cycles of a multiprocessor. In one cycle it shuffles one register
 * of 32 lanes, or serves one wavefront of shared memory, or does two selects. */
unsigned tile_shuffle_cost(const tile_shuffle_plan *plan, const tile_layout *from,
                           const tile_layout *to, unsigned element_bytes);
/* The number of shuffles. */
unsigned tile_shuffle_count(const tile_shuffle_plan *plan, const tile_layout *to,
                            unsigned element_bytes);

#endif
