/* Which warps execute an operation.
 *
 * The executing set is what tiles are spread over, what a thread's number counts in and what a
 * plain `sync` waits for: all warps of the block, and inside of `roles` those of one group. Nobody
 * else looks at a function's warps or at the operands of `roles`. */
#ifndef TILE_LIB_ANALYSIS_EXECUTORS_H
#define TILE_LIB_ANALYSIS_EXECUTORS_H

#include "lib/ir/function.h"

/* A region's groups follow each other: group g begins at warp first + g * warps. */
typedef struct tile_executors {
    unsigned first;   /* the first group's first warp, as the block counts them */
    unsigned warps;   /* of one group, the executing set. 0: not known yet, a parameter decides */
    unsigned groups;  /* that run the same operations side by side, each on its own */
    tile_region role; /* the region of `roles` that they run, or the body of a loop that has groups;
                         0: none, they are the block */
} tile_executors;

/* Of what stands in this region. */
tile_executors tile_executors_in(const tile_function *f, tile_region region);
tile_executors tile_executors_of(const tile_function *f, tile_op op);
/* Who computes a value. */
tile_executors tile_executors_of_value(const tile_function *f, tile_value value);
/* All warps of the block. */
tile_executors tile_executors_of_block(const tile_function *f);
/* Of region r of a `roles`; of a sound one, if their numbers are known. */
tile_executors tile_executors_of_role(const tile_function *f, tile_op roles, unsigned r);

/* Whether it is a loop whose iterations groups of warps share: `groups` says more than 1, or it is
 * not known yet what. group-warps makes roles of it. */
bool tile_is_grouped(const tile_function *f, tile_op op);
/* Of the body of such a loop. */
tile_executors tile_executors_of_loop(const tile_function *f, tile_op loop);

/* Whether the operation means nothing in a kernel without clusters. */
bool tile_op_needs_cluster(tile_opcode opcode);
/* Whether the function has such an operation. */
bool tile_uses_cluster(const tile_function *f);

/* The registers that each thread of region r is to have; 0: as the kernel's launch says. */
unsigned tile_role_registers(const tile_function *f, tile_op roles, unsigned r);
/* Registers of each thread when a block of so many warps begins, where its roles set others: as
 * many as there are. What all threads have together stays the same from then on. */
unsigned tile_entry_registers(unsigned warps);
/* Whether some role of the function sets its registers; and whether a block of it then begins with
 * so many that an SM has none for a second one. */
bool tile_sets_registers(const tile_function *f);
bool tile_uses_all_sm_registers(const tile_function *f);

/* Bits of the number of a warp in its set; for sets that tile operations take: 2^n warps. */
unsigned tile_warp_bits(tile_executors executors);

/* Whether the operation gives a shared buffer its memory. */
bool tile_op_is_alloc(tile_opcode opcode);
/* Bytes that one takes: each group that executes it has a buffer of its own, so many
 * bytes (*stride) after the one before. -1 as tile_type_shared_bytes. */
int64_t tile_alloc_bytes(const tile_function *f, tile_op alloc, int64_t *stride);

/* Where the threads that execute a `sync` or `sync_arrive` meet, and how many warps do: as the
 * operation says, or the executing set, whose barrier is number 0 if that is the whole block. The
 * sets of `roles` get numbers that the function does not use otherwise, the same set always the
 * same one. group: of which one. warps 0: not known yet. */
typedef struct tile_barrier {
    unsigned number;
    unsigned warps;
} tile_barrier;
tile_barrier tile_barrier_of(const tile_function *f, tile_op op, unsigned group);

enum {
    TILE_MAX_BARRIERS = 16, /* of a block: numbers 0 to 15 */
    TILE_WARP_BARRIER = 16, /* in place of a number: one warp, which needs none */
    TILE_WARPS_PER_ORDERED_GROUP =
        4, /* ordered_wait, ordered_arrive: a warpgroup; so many barriers as of them */
};

/* The warpgroups that take turns where these execute it: of all groups, one behind the other. */
unsigned tile_ordered_warpgroups(tile_executors executors);

/* Whether there are numbers enough. False after a diagnostic that lists who takes them. */
bool tile_check_barriers(const tile_function *f);

/* The first of so many numbers that follow each other, which no operation names and which are not
 * among `taken`, bit by bit; one is left for each set of the function. 0: there are none. */
unsigned tile_find_barriers(const tile_function *f, uint32_t taken, unsigned count);

/* The only maker of barriers: all threads of the set meet at the builder's place, which is one of
 * the set's. */
void tile_build_sync_for(tile_builder *builder, tile_executors executors);

/* Whether it means as many warps as its set has: another set could not run it. It tells a thread
 * which of them it is in, or how many come to a barrier. */
bool tile_numbers_warps(const tile_function *f, tile_op op);
/* Likewise: a tile of its results or regions has a layout, which says what each of them holds. */
bool tile_lays_out_warps(const tile_function *f, tile_op op);

#endif
