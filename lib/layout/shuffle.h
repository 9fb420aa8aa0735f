/* Conversions between layouts in which no element leaves its warp: by shuffles.
 *
 * Both layouts are linear, so the source's register and lane of an element are linear in the
 * result's. A shuffle gives every lane one register of one other lane, so the registers are moved
 * in rounds: in round t, lane l receives the one that becomes its register t ^ D l, from lane
 * M l ^ m(t). D is such that M is one to one (where elements are held once): then each lane sends
 * one register in each round, b(t) ^ S l.
 *
 *     reg {a, b}, lane {c, ..}  to  reg {c, b}, lane {a, ..}       a and c change places
 *
 *     send      x0 x1, and x1 x0 where lane bit 0 is set           S: two selects
 *     round 0   stays in its lane, M is the identity and m(0) = 0
 *     round 1   shfl.bfly with lane ^ 1, m(1) = 1
 *     take      y0 y1, and y1 y0 where lane bit 0 is set           D: two selects
 *
 * Registers narrower than 32 bits are moved by words of neighbours that both layouts have in one
 * thread: then these are the first bits of a round's number. Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_SHUFFLE_H
#define TILE_LIB_LAYOUT_SHUFFLE_H

#include <stdbool.h>

#include "tile/layout.h"

enum { TILE_THREAD_BITS = TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS };

/* Registers change places with those that differ in the bits of the mask, where an odd number of
 * the thread's bits `threads` (lanes', then warps') are set. */
typedef struct tile_shuffle_step {
    uint32_t threads;
    uint32_t exchanged;
} tile_shuffle_step;

/* All numbers of registers are in a part; each part is moved alike. */
typedef struct tile_shuffle_plan {
    unsigned sends, takes;                        /* steps before and after the rounds */
    tile_shuffle_step send[TILE_LAYOUT_MAX_BITS]; /* of the source's registers */
    tile_shuffle_step take[TILE_LAYOUT_MAX_BITS]; /* of the rounds' numbers */
    unsigned round_bits;                          /* log2 of the rounds: the result's registers */
    unsigned word_bits; /* log2 of the rounds whose registers are one word: the first bits' */
    uint32_t sent[TILE_LAYOUT_MAX_BITS];   /* by bit of the round: b */
    uint32_t offset[TILE_LAYOUT_MAX_BITS]; /* likewise: m */
    uint32_t from[TILE_THREAD_BITS];       /* by bit of the thread: M */
    bool exchanges;                        /* M is the identity: shfl.bfly */
    uint32_t result[TILE_LAYOUT_MAX_BITS]; /* by bit of the round: the result's register */
} tile_shuffle_plan;

/* False if elements cross warps, or no such rounds are found; element_bytes tells how many
 * registers are a word. */
bool tile_shuffle_find(const tile_layout *from, const tile_layout *to, unsigned element_bytes,
                       tile_shuffle_plan *plan);
/* Of what a round's number names: sums over its bits. */
uint32_t tile_shuffle_sent(const tile_shuffle_plan *plan, uint32_t round);
uint32_t tile_shuffle_offset(const tile_shuffle_plan *plan, uint32_t round);
uint32_t tile_shuffle_result(const tile_shuffle_plan *plan, uint32_t round);

/* What that takes, for each warp, in half cycles of a multiprocessor: it shuffles a register of 32
 * lanes in a cycle, as it serves a line of shared memory, and selects two. */
unsigned tile_shuffle_cost(const tile_shuffle_plan *plan, const tile_layout *from,
                           const tile_layout *to, unsigned element_bytes);
/* Instructions of that: shuffles only. */
unsigned tile_shuffle_count(const tile_shuffle_plan *plan, const tile_layout *to,
                            unsigned element_bytes);

#endif
