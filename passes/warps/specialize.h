/* specialize-warps in parts: what the pass plans for one loop, and the two roles that it makes. */
#ifndef TILE_PASSES_WARPS_SPECIALIZE_H
#define TILE_PASSES_WARPS_SPECIALIZE_H

#include "lib/analysis/decisions.h"
#include "lib/analysis/part_view.h"
#include "passes/common/loop_ahead.h"
#include "passes/loops/ring.h"

enum {
    WARPGROUP = 4,      /* warps */
    MAX_WARPGROUPS = 3, /* of consumers: with more wgmma has no registers */
    MAX_TILE_LOOPS = 8, /* around the pipelined one */
    RING_STATES = 2,    /* what a role carries from one iteration to the next: stage, parity */
    MAX_STATES = 3, /* from one tile to the next: the count of the copies beside the loop, too */
};

/* Copies whose stages are waited for and given back together: one barrier of each kind a stage. */
typedef struct barrier_group {
    tile_op first_use, last_use; /* in the loop's body, directly */
    bool by_dots;                /* an asynchronous product reads it, and perhaps threads, too */
    bool ahead;                  /* the producer fills it an iteration before the others */
    unsigned shared_dims;        /* of the cluster, a set: blocks share copies along them */
    tile_value full, empty;
    tile_value *senders; /* `empty` of all blocks that fill this one's stages, its own first */
} barrier_group;

/* Copies that stand before the loop, in the same region: they have a ring of their own, of which a
 * turn of the loops around fills one stage. */
typedef struct outer_ring {
    ring ring;                   /* the plan's loop is the one around; without copies: none */
    tile_op first_use, last_use; /* in the loop's region, directly */
    bool distributed;            /* sets that share tiles have a share, in a stage of their own */
    tile_value full, empty;      /* empty: 0 where each buffer is filled once */
} outer_ring;

typedef struct warp_specialization {
    ring ring; /* the loop, its copies, their buffers */
    tile_loop_facts facts;
    outer_ring outer_loop_ring;
    tile_op outer_loops[MAX_TILE_LOOPS]; /* loops around it, the outermost one first */
    unsigned outer_loop_count;
    unsigned warps;    /* of a set of consumers */
    unsigned sets;     /* of consumers: 1, 2 that take turns at tiles, or 3 that share them */
    unsigned readers;  /* sets that read each stage */
    bool ping_pong;    /* they take turns */
    bool *distributed; /* by staged copy: each set has its share, in a stage of its own */
    unsigned distributed_dim;
    uint8_t *distributed_along; /* by value: 1 + the dim along which sets have shares of it; 0: all
                                   of it */
    tile_value group, iterations; /* the set's number; of sets that take turns */
    loop_ahead tiles;             /* the loop at whose iterations they do */
    barrier_group *groups;
    unsigned group_count;
    unsigned *group_of;     /* by staged copy */
    unsigned *shared_along; /* by staged copy: 1 + the dim of the cluster; 0: each block's own */
    tile_part_view *parts;  /* by staged copy: the part of an argument; whole 0: it is one; end 0:
                               of what lies behind the end nothing depends */
    tile_value
        partial_box_barrier; /* a barrier for boxes of which a part is zeroed; 0: there are none */
    bool shares_copies;      /* blocks of a cluster share some copy */
    tile_op *dots;           /* asynchronous ones */
    unsigned dot_count;
    bool chained;       /* a product depends on another one of its iteration */
    bool ahead;         /* some group of stages is filled an iteration before others */
    tile_op final_wait; /* in the consumers: behind it their sums are complete */
    unsigned *sums;     /* which of the loop's carried values they are the sums of */
    unsigned sum_count;
    bool *run_by_all;         /* by op: all warps run it */
    bool *needed_by_producer; /* by op: the producer computes it, too */
    size_t old_ops;           /* those below have an entry; all others are outside */
} warp_specialization;

/* Plans one loop: fills s but for its buffers and barriers. False where the loop stays as it is,
 * after a remark that says why. */
bool specialize_plan(warp_specialization *s, tile_op loop);

/* The outermost operation around the loop, in the function's body. */
static inline tile_op specialize_outermost_op(const warp_specialization *s) {
    return s->outer_loop_count ? s->outer_loops[0] : s->ring.plan.loop;
}

/* Else the products are warps' (mma.sync): they wait for themselves, and consumers are one set. */
static inline bool specialize_has_wgmma(const warp_specialization *s) {
    return tile_target_has(s->ring.pass->target, TILE_FEATURE_wgmma);
}

static inline bool specialize_is_shared_by_all(const warp_specialization *s, tile_op op) {
    return op.id >= s->old_ops || s->run_by_all[op.id];
}

/* if condition {} else {}: places in both regions, before their yields. */
void specialize_branch(tile_builder *b, tile_value condition, tile_builder regions[2]);
/* A barrier for each stage. */
tile_value specialize_barriers(const warp_specialization *s, tile_builder *b, const char *name,
                               unsigned stages, int64_t arrivals);

/* outer_ring.c: copies before the loop that the producer makes, too. A remark for each that
 * it cannot. */
void specialize_make_outer_ring(warp_specialization *s, tile_op roles);
/* How many values the loops around carry: those of the loop itself come first. */
unsigned specialize_ring_state_count(const warp_specialization *s);
/* Those of the first tile. filled: as the producer has them. */
void specialize_first_ring_state(const warp_specialization *s, tile_builder *b, bool filled,
                                 tile_value state[MAX_STATES]);
/* In the next tile. */
void specialize_advance_outer_ring(const warp_specialization *s, tile_builder *b,
                                   const tile_value now[MAX_STATES], tile_value next[MAX_STATES]);
/* The stage of this tile: its index, or nothing. Returns how many values that is. */
unsigned specialize_outer_ring_stage(const warp_specialization *s, tile_builder *b,
                                     const tile_value now[MAX_STATES], tile_value *stage,
                                     tile_value *parity);
/* The consumers wait for their stage and give it back. */
void specialize_read_outer_ring(warp_specialization *s, const tile_value now[MAX_STATES]);

/* Turns at tiles, of two sets of consumers: s->sets and s->warps, if the loop says `ping_pong` and
 * can have it; a remark if it cannot. */
void specialize_plan_ping_pong(warp_specialization *s);
/* Deals the tile loop out to the sets; state: where in the ring each one begins. */
void specialize_distribute_tiles(warp_specialization *s, tile_value state[RING_STATES]);
/* A set waits for its turn, and hands it on if there is a next tile. */
void specialize_ordered_wait(const warp_specialization *s, tile_builder *b);
void specialize_ordered_arrive(const warp_specialization *s, tile_builder *b);
/* State after `count` more iterations. */
void specialize_skip_iterations(const warp_specialization *s, tile_builder *b,
                                tile_value state[RING_STATES], tile_value count);

/* cooperative_3.c: three sets that share tiles, if the loop says `cooperative_3`, or `ordered`
 * where only three have rows for turns, and can have them: s->sets, s->warps, s->readers, s->dealt,
 * s->distributed_dim; a remark if it cannot. */
void specialize_plan_cooperative_3(warp_specialization *s);
/* The dealt copies' buffers have a third of the rows in three times as many stages. */
void specialize_distribute_buffers(warp_specialization *s);
/* The same of one, which has so many stages. */
void specialize_distribute_buffer(const warp_specialization *s, tile_value buffer, unsigned stages);
/* The elements of a view that a copy begins at, and the stage: those of a set's share. type: of the
 * dealt buffer. */
void specialize_locate_share(const warp_specialization *s, tile_builder *b, const tile_type *type,
                             unsigned share, tile_value *at, unsigned size, tile_value *stage);
/* Where in them a set's third of a stage is. */
tile_value specialize_group_stage(tile_builder *b, tile_value stage, tile_value group);
/* In the loop products read their group's stages. */
void specialize_read_group_stages(warp_specialization *s);

/* divide.c: whether what the consumers do with tiles of the products' rows can be done
 * with a third of the rows, along s->distributed_dim, and which these are: s->divided; a remark if
 * it cannot. Buffers that they alone need are no more outside of their region. */
bool specialize_check_division(warp_specialization *s);
/* Does it with a third of the rows in the consumers' region. */
void specialize_divide(warp_specialization *s, tile_region region);

/* share.c: which copies blocks of a cluster share; a remark if they do none. */
void specialize_plan_sharing(warp_specialization *s);
/* How many blocks fill a stage of the group. */
unsigned specialize_senders(const warp_specialization *s, const barrier_group *group);
/* Sets the groups' senders; the builder stands before the consumers' loops. */
void specialize_find_senders(warp_specialization *s, tile_builder *b);
/* Every warp of the consumers has read the stage. */
void specialize_release_stage(const warp_specialization *s, tile_builder *b,
                              const barrier_group *group, tile_value stage);

/* partial_box.c: rows of a box that lie at and after the end of a part of an argument are 0. */
/* Whether copy i can be made so; a remark at it if not. */
const char *specialize_reject_part(const warp_specialization *s, unsigned i);
/* The copy of the part into its stage. from: the part, and where the box begins, as the producer
 * has them; end: likewise. Behind it the copy is counted, or has been made: see the file. */
typedef struct part_copy {
    unsigned copy;
    const tile_value *from;
    unsigned size;
    tile_value end, stage, full;
} part_copy;
void specialize_copy_part(warp_specialization *s, tile_builder *b, const part_copy *c);

/* Clones the loops, addresses and copies into the empty region. */
void specialize_producer(warp_specialization *s, tile_region region);
/* Moves what not all warps run into the empty region of roles, and makes the loop wait. */
void specialize_consumers(warp_specialization *s, tile_op roles, tile_region region);
/* Shared memory that is in use when tiles are stored, as allocate-shared will lay it out, and what
 * the block has had and does not use then. */
void specialize_count_bytes(const warp_specialization *s, int64_t *released, int64_t *others);
/* Stores of tiles behind the loop, in the consumers' region, become copies of boxes. */
void specialize_stores(warp_specialization *s, tile_region region);

#endif
