/* The interface between the files of specialize-warps: the plan for one loop, and the construction
 * of its two roles. */
#ifndef TILE_PASSES_WARPS_SPECIALIZE_H
#define TILE_PASSES_WARPS_SPECIALIZE_H

#include "lib/analysis/decisions.h"
#include "lib/analysis/part_view.h"
#include "passes/common/loop_ahead.h"
#include "passes/loops/ring.h"

enum {
    WARPGROUP = 4,      /* warps */
    MAX_WARPGROUPS = 3, /* of consumers: with more, wgmma has too few registers */
    MAX_TILE_LOOPS = 8, /* around the pipelined loop */
    RING_STATES = 2,    /* values that a role carries between iterations: stage, parity */
    MAX_STATES = 3,     /* between tiles: also the tile counter of the outer ring */
};

/* Copies whose stages are waited for and released together: one full and one empty barrier per
 * stage. */
typedef struct barrier_group {
    tile_op first_use, last_use; /* at the top level of the loop's body */
    bool by_dots;                /* an asynchronous dot reads it, and possibly other operations */
    bool ahead;                  /* the producer fills it an iteration ahead of the others */
    unsigned shared_dims;        /* set of cluster dims along which blocks share copies */
    tile_value full, empty;
    tile_value *senders; /* `empty` barriers of all blocks that fill this block's stages, its own
                            first */
} barrier_group;

/* Copies before the loop, in the same region. They have a separate ring; each iteration of the
 * enclosing loop fills one stage. */
typedef struct outer_ring {
    ring ring;                   /* the plan's loop is the enclosing one; no copies: no ring */
    tile_op first_use, last_use; /* at the top level of the loop's region */
    bool distributed;            /* groups that share tiles each have a separate stage with their
                                    share */
    tile_value full, empty;      /* empty: 0 if each buffer is filled once */
} outer_ring;

typedef struct warp_specialization {
    ring ring; /* the loop, its copies, their buffers */
    tile_loop_facts facts;
    outer_ring outer_loop_ring;
    tile_op outer_loops[MAX_TILE_LOOPS]; /* enclosing loops, outermost first */
    unsigned outer_loop_count;
    unsigned warps;           /* per consumer group */
    unsigned consumer_groups; /* 1, 2 that alternate tiles, or 3 that share them */
    unsigned readers;         /* groups that read each stage */
    bool ping_pong;           /* two groups alternate tiles */
    bool *distributed;        /* by staged copy: each group has its share in a separate stage */
    unsigned distributed_dim;
    uint8_t *distributed_along;   /* by value: 1 + the dim along which groups share it; 0: each has
                                     all of it */
    tile_value group, iterations; /* the group's index; iterations per tile with ping_pong */
    loop_ahead tiles;             /* the loop whose iterations ping-pong groups alternate */
    barrier_group *groups;
    unsigned group_count;
    unsigned *group_of;     /* by staged copy */
    unsigned *shared_along; /* by staged copy: 1 + the dim of the cluster; 0: not shared */
    tile_part_view *parts;  /* by staged copy: the part of an argument; whole 0: the view is an
                               argument; end 0: elements after the end have no effect */
    tile_value partial_box_barrier; /* for boxes that are partially zeroed; 0: none */
    bool shares_copies;             /* blocks of a cluster share at least one copy */
    tile_op *dots;                  /* the asynchronous ones */
    unsigned dot_count;
    bool chained;       /* a dot depends on another dot of the same iteration */
    bool ahead;         /* some stage group is filled an iteration ahead */
    tile_op final_wait; /* in the consumers: the asynchronous dots are complete after it */
    unsigned *sums;     /* indices of the loop's carried values that they accumulate */
    unsigned sum_count;
    bool *run_by_all;         /* by op: all warps execute it */
    bool *needed_by_producer; /* by op: the producer computes it as well */
    size_t old_ops;           /* number of entries; later operations have none */
} warp_specialization;

/* Plans one loop: fills s except for its buffers and barriers. False, after a remark with the
 * reason, if the loop cannot be specialized. */
bool specialize_plan(warp_specialization *s, tile_op loop);

/* The outermost loop around the pipelined one, in the function's body. */
static inline tile_op specialize_outermost_op(const warp_specialization *s) {
    return s->outer_loop_count ? s->outer_loops[0] : s->ring.plan.loop;
}

/* Without wgmma, warps compute the dots independently (mma.sync): these are synchronous, and there
 * is one consumer group. */
static inline bool specialize_has_wgmma(const warp_specialization *s) {
    return tile_target_has(s->ring.pass->target, TILE_FEATURE_wgmma);
}

static inline bool specialize_is_shared_by_all(const warp_specialization *s, tile_op op) {
    return op.id >= s->old_ops || s->run_by_all[op.id];
}

/* Builds if condition {} else {}; regions: insertion points in both regions, before their
 * yields. */
void specialize_branch(tile_builder *b, tile_value condition, tile_builder regions[2]);
/* Allocates one barrier per stage. */
tile_value specialize_barriers(const warp_specialization *s, tile_builder *b, const char *name,
                               unsigned stages, int64_t arrivals);

/* outer_ring.c: buffers and barriers of the copies before the loop that the producer issues. */
void specialize_make_outer_ring(warp_specialization *s, tile_op roles);
/* The number of values that enclosing loops carry; those of the loop itself come first. */
unsigned specialize_ring_state_count(const warp_specialization *s);
/* The values for the first tile. filled: for the producer. */
void specialize_first_ring_state(const warp_specialization *s, tile_builder *b, bool filled,
                                 tile_value state[MAX_STATES]);
/* The values for the next tile. */
void specialize_advance_outer_ring(const warp_specialization *s, tile_builder *b,
                                   const tile_value now[MAX_STATES], tile_value next[MAX_STATES]);
/* Computes the stage index and parity of this tile. Returns the number of stage indices: 0 if the
 * ring has one stage. */
unsigned specialize_outer_ring_stage(const warp_specialization *s, tile_builder *b,
                                     const tile_value now[MAX_STATES], tile_value *stage,
                                     tile_value *parity);
/* Makes the consumers wait for their stage and release it. */
void specialize_read_outer_ring(warp_specialization *s, const tile_value now[MAX_STATES]);

/* ping_pong.c: sets s->consumer_groups and s->warps for two groups that alternate tiles, if the
 * loop requests `ping_pong`. Emits a remark if that is not possible. */
void specialize_plan_ping_pong(warp_specialization *s);
/* Distributes the iterations of the tile loop over the groups. state: set to each group's initial
 * state of the ring. */
void specialize_distribute_tiles(warp_specialization *s, tile_value state[RING_STATES]);
/* A group waits for its turn, and signals the other group if there is a next tile. */
void specialize_ordered_wait(const warp_specialization *s, tile_builder *b);
void specialize_ordered_arrive(const warp_specialization *s, tile_builder *b);
/* Advances the state by `count` iterations. */
void specialize_skip_iterations(const warp_specialization *s, tile_builder *b,
                                tile_value state[RING_STATES], tile_value count);

/* cooperative_3.c: plans three groups that share tiles, if the loop requests `cooperative_3`, or if
 * it requests `ordered` and only three groups can share the rows. Sets s->consumer_groups,
 * s->warps, s->readers, s->distributed and s->distributed_dim. Emits a remark if that is not
 * possible. */
void specialize_plan_cooperative_3(warp_specialization *s);
/* Gives the buffers of distributed copies a third of the rows and three times as many stages. */
void specialize_distribute_buffers(warp_specialization *s);
/* The same for one buffer with `stages` stages. */
void specialize_distribute_buffer(const warp_specialization *s, tile_value buffer, unsigned stages);
/* Adjusts a copy's coordinates and stage to those of one group's share. type: that of the
 * distributed buffer. */
void specialize_locate_share(const warp_specialization *s, tile_builder *b, const tile_type *type,
                             unsigned share, tile_value *at, unsigned size, tile_value *stage);
/* The stage index of a group's third of a stage. */
tile_value specialize_group_stage(tile_builder *b, tile_value stage, tile_value group);
/* Makes the dots in the loop read the stages of their group. */
void specialize_read_group_stages(warp_specialization *s);

/* divide.c: checks that the consumers can do all work on tiles with the dots' rows on a third of
 * the rows, along s->distributed_dim, and sets s->distributed_along. Emits a remark if not. Buffers
 * that only the consumers use are then no longer allocated outside of their region. */
bool specialize_check_division(warp_specialization *s);
/* Divides the rows in the consumers' region. */
void specialize_divide(warp_specialization *s, tile_region region);

/* share.c: finds the copies that blocks of a cluster share. Emits a remark if there are none. */
void specialize_plan_sharing(warp_specialization *s);
/* The number of blocks that fill a stage of the group. */
unsigned specialize_senders(const warp_specialization *s, const barrier_group *group);
/* Sets the groups' senders; the builder must be before the consumers' loops. */
void specialize_find_senders(warp_specialization *s, tile_builder *b);
/* Each consumer warp releases the stage after reading it. */
void specialize_release_stage(const warp_specialization *s, tile_builder *b,
                              const barrier_group *group, tile_value stage);

/* partial_box.c: zeros rows of a box at and after the end of a part of an argument. */
/* Returns NULL, or why copy i cannot be a partial box. */
const char *specialize_reject_part(const warp_specialization *s, unsigned i);
/* The copy of a part to its stage. from: the part and the box's coordinates, as values of the
 * producer; so is end. Afterwards the full barrier counts the copy, or the copy is complete: see
 * the file. */
typedef struct part_copy {
    unsigned copy;
    const tile_value *from;
    unsigned size;
    tile_value end, stage, full;
} part_copy;
void specialize_copy_part(warp_specialization *s, tile_builder *b, const part_copy *c);

/* Clones the loops, addresses and copies into the empty region. */
void specialize_producer(warp_specialization *s, tile_region region);
/* Moves the operations that not all warps execute to the empty region of `roles`, and adds waits to
 * the loop. */
void specialize_consumers(warp_specialization *s, tile_op roles, tile_region region);
/* Computes the shared memory in use when tiles are stored, as allocate-shared will allocate it
 * (*others), and the memory that is no longer in use then (*released). */
void specialize_count_bytes(const warp_specialization *s, int64_t *released, int64_t *others);
/* Rewrites stores of tiles after the loop, in the consumers' region, as asynchronous stores of
 * boxes. */
void specialize_stores(warp_specialization *s, tile_region region);

#endif
