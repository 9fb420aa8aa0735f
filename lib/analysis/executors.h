/* Which warps execute an operation.
 *
 * The executing set is the set of warps that tiles are distributed over, that thread numbers count
 * in, and that a plain `sync` waits for: all warps of the block, and inside `roles` the warps of
 * one group. Only this file reads a function's warps or the operands of `roles`. */
#ifndef TILE_LIB_ANALYSIS_EXECUTORS_H
#define TILE_LIB_ANALYSIS_EXECUTORS_H

#include "lib/ir/function.h"

/* The groups of a region are consecutive: group g begins at warp first + g * warps. */
typedef struct tile_executors {
    unsigned first;   /* first warp of the first group, numbered in the block */
    unsigned warps;   /* warps per group, the executing set. 0: unknown, depends on a parameter */
    unsigned groups;  /* groups that execute the same operations concurrently and independently */
    tile_region role; /* the region of `roles`, or body of a loop with groups; 0: the whole block */
} tile_executors;

/* The executors of operations in this region. */
tile_executors tile_executors_in(const tile_function *f, tile_region region);
tile_executors tile_executors_of(const tile_function *f, tile_op op);
/* The executors that compute a value. */
tile_executors tile_executors_of_value(const tile_function *f, tile_value value);
/* All warps of the block. */
tile_executors tile_executors_of_block(const tile_function *f);
/* The executors of region r of a `roles` operation, if its numbers are known and valid. */
tile_executors tile_executors_of_role(const tile_function *f, tile_op roles, unsigned r);

/* Returns whether it is a loop whose iterations are distributed over groups of warps: `groups` is
 * more than 1, or not known yet. The pass group-warps turns it into roles. */
bool tile_is_grouped(const tile_function *f, tile_op op);
/* The executors of the body of such a loop. */
tile_executors tile_executors_of_loop(const tile_function *f, tile_op loop);

/* Returns whether the operation is meaningless in a kernel without clusters. */
bool tile_op_needs_cluster(tile_opcode opcode);
/* Returns whether the function contains such an operation. */
bool tile_uses_cluster(const tile_function *f);

/* Registers per thread requested for region r; 0: the register count of the launch. */
unsigned tile_role_registers(const tile_function *f, tile_op roles, unsigned r);
/* Registers per thread at the start of a block of this size whose roles change their counts: the
 * maximum. The total of all threads stays the same. */
unsigned tile_entry_registers(unsigned warps);
/* The first function returns whether a role changes its register count. The second returns whether
 * a block then starts with so many registers that an SM cannot hold a second one. */
bool tile_sets_registers(const tile_function *f);
bool tile_uses_all_sm_registers(const tile_function *f);

/* Number of bits of a warp's number in its set. Sets that execute tile operations have 2^n
 * warps. */
unsigned tile_warp_bits(tile_executors executors);

/* Returns whether the operation allocates a shared buffer. */
bool tile_op_is_alloc(tile_opcode opcode);
/* Bytes of an allocation. Each group that executes it has its own buffer; the buffers are *stride
 * bytes apart. -1 in the same cases as tile_type_shared_bytes. */
int64_t tile_alloc_bytes(const tile_function *f, tile_op alloc, int64_t *stride);

/* The barrier of a `sync` or `sync_arrive` in group `group`: its number and how many warps take
 * part. Without explicit operands it is the executing set, and the whole block has number 0. Each
 * set of `roles` gets a number that the function does not use otherwise, always the same for the
 * same set. warps 0: not known yet. */
typedef struct tile_barrier {
    unsigned number;
    unsigned warps;
} tile_barrier;
tile_barrier tile_barrier_of(const tile_function *f, tile_op op, unsigned group);

enum {
    TILE_MAX_BARRIERS = 16, /* per block: numbers 0 to 15 */
    TILE_WARP_BARRIER = 16, /* instead of a number: one warp needs no barrier */
    TILE_WARPS_PER_ORDERED_GROUP =
        4, /* ordered_wait, ordered_arrive: one warpgroup; there is one barrier per warpgroup */
};

/* The number of warpgroups that issue in turn if these executors execute ordered_wait, over all
 * groups. */
unsigned tile_ordered_warpgroups(tile_executors executors);

/* Returns whether there are enough barrier numbers. If not, a diagnostic lists their users. */
bool tile_check_barriers(const tile_function *f);

/* The first of `count` consecutive numbers that no operation uses and that are not in the bit set
 * `taken`; one number is reserved for each set of the function. 0: there are none. */
unsigned tile_find_barriers(const tile_function *f, uint32_t taken, unsigned count);

/* Builds a barrier for all threads of the set at the builder's position, which the set must
 * execute. All barriers are made here. */
void tile_build_sync_for(tile_builder *builder, tile_executors executors);

/* Returns whether the operation depends on the number of warps of its set, so that another set
 * cannot execute it: it returns a thread's warp number, or the number of warps at a barrier. */
bool tile_numbers_warps(const tile_function *f, tile_op op);
/* The same because a tile among its results or regions has a layout, which depends on the warps. */
bool tile_lays_out_warps(const tile_function *f, tile_op op);

#endif
