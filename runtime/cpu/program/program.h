/* A kernel decoded for execution, and the state of a launch.
 *
 * Decoding turns a function into a flat array of instructions whose operands are places
 * in a register file; `for` and `if` become jumps over a stack of lane masks. One program runs at
 * one of two widths:
 *
 *     level 3   an agent is a warp of 32 lanes; element e of lane l stands at index e * 32 + l of
 *               its place
 *     level 2   an agent is the block, or in `roles` a group of its warps, with one lane; a tile's
 *               elements stand in a row
 *
 * so that arithmetic is one loop over count elements at both. Lanes that are masked off compute
 * too: what they compute is never read, since values leave a region only through masked moves. */
#ifndef TILE_RUNTIME_CPU_PROGRAM_PROGRAM_H
#define TILE_RUNTIME_CPU_PROGRAM_PROGRAM_H

#include "lib/analysis/executors.h"
#include "lib/ir/arith.h"
#include "lib/ops/atomic.h"
#include "runtime/cpu/program/access_log.h"
#include "runtime/device/device.h"

enum {
    CPU_LANES = 32,
    CPU_PLACE_ALIGN = 64,
    CPU_OPERANDS = 4, /* of an instruction that has a place for each */
};

/* A place with this bit is in the launch's constants, else in the agent's frame. */
#define CPU_CONSTANT_PLACE 0x80000000u
#define CPU_NO_PLACE 0x7fffffffu

/* What a handler wants done next. */
typedef enum cpu_outcome {
    CPU_NEXT,  /* the instruction behind this one */
    CPU_JUMP,  /* the handler has set agent->pc */
    CPU_PAUSE, /* the agent cannot go on now; it will start again at agent->pc */
    CPU_STOP,  /* a fault has been reported: the launch is over */
} cpu_outcome;

typedef struct cpu_run cpu_run;
typedef struct cpu_agent cpu_agent;
typedef struct cpu_insn cpu_insn;
typedef struct cpu_product cpu_product; /* product.c */
typedef struct cpu_poison cpu_poison;
typedef struct cpu_claims cpu_claims;               /* parallel.c: what elements have accessed */
typedef struct cpu_ordered_issue cpu_ordered_issue; /* ordered_issue.c: of warpgroups */
typedef struct cpu_products cpu_products;   /* wgmma.c: what a warp's wgmma have under way */
typedef struct cpu_warpgroup cpu_warpgroup; /* likewise: what its warps have executed */
typedef struct tile_iota tile_iota;         /* lib/ops/shape.h */
typedef struct cpu_moves cpu_moves;         /* shape.c */
typedef cpu_outcome (*cpu_handler)(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);

/* A region of roles. */
typedef struct cpu_role {
    unsigned first, warps, groups;
    uint32_t pc;    /* where it begins */
    uint32_t group; /* place of its groups' numbers */
} cpu_role;

/* Level 2: what an access says beside where its tile begins (lib/ops/gather.h). */
typedef struct cpu_gather {
    unsigned first;              /* index of dim 0, behind the stage */
    bool is_tile[TILE_MAX_RANK]; /* by dim of the memory: its index gives points, .. */
    bool is_long[TILE_MAX_RANK]; /* .. in i64 */
    unsigned points;             /* the tile's first dims, which these give */
    uint32_t predicate;          /* place, or CPU_NO_PLACE */
    bool one_predicate;          /* for all elements */
    bool within;                 /* they are inside of the memory: others are reported */
    uint8_t pad[8];              /* an element */
} cpu_gather;

struct cpu_insn {
    cpu_handler handler;
    tile_opcode opcode;
    tile_scalar scalar; /* of the elements that the operation works on */
    tile_scalar from;   /* casts: the operand's; accesses: the index's */
    bool flag;          /* ldmatrix: trans; scratch: clean; dot: async; wgmma: sparse; select: one
                           condition for all elements; functions of math.c: fast */
    bool speculative;   /* reads what may not be written yet */
    bool any_stays;     /* level 3: of a store of one tile by several threads to one place */
    bool reverse, exclusive; /* scan */
    bool own_order;          /* level 2: the block's accesses are ordered without barriers */
    bool placed;             /* of threads: the memory is named by [stage,] coordinates */
    bool releases, acquires;
    tile_arith_flags arith_flags;   /* element-wise operations */
    tile_word kind;                 /* atomic operations; waits: how they compare */
    tile_word scope;                /* NONE: gpu */
    uint32_t count;                 /* elements of all lanes together */
    uint32_t size;                  /* bytes of one element */
    uint32_t result;                /* place */
    uint32_t operand[CPU_OPERANDS]; /* places, in the order of the row; CPU_NO_PLACE where absent */
    uint32_t *index;  /* an element's indices, a view's extents, concat's operands: places */
    uint32_t *second; /* the second element's indices, a view's strides, concat's counts */
    uint32_t index_count, second_count;
    uint32_t target;               /* jumps: an instruction */
    unsigned sharers, sharer_step; /* copies: blocks of the cluster that share it, 0: none; from
                                      one's rank to the next one's */
    int64_t integer; /* wait_group: pending; cp_async: bytes; ids: the dim; scratch: which one */
    const int64_t *order;  /* permute; sync: the barrier's number, by group */
    const cpu_role *roles; /* second_count of them, from first warps on upwards */
    const cpu_product *product;
    const tile_iota *iota;
    const cpu_gather *gather; /* NULL: a plain access */
    const cpu_moves *moves;
    const struct cpu_assembly *assembly; /* assembly.c */
    const uint32_t *elements;            /* mixed.c: of a tile, by warp, register and lane */
    const tile_type *type;               /* the tile, or the first operand's type */
    const tile_type *memory;             /* the view or shared buffer */
    const char *name;                    /* of that memory, for messages */
    const cpu_insn *at_barrier;          /* the same with its barrier's name, or NULL */
    const struct cpu_print *print;       /* print.c */
    const cpu_poison *poison;            /* NULL: nothing here is poisoned (poison.h) */
    tile_loc loc;
};

/* A view in a register. */
typedef struct cpu_view {
    uint64_t base;
    int64_t extent[TILE_MAX_RANK];
    int64_t stride[TILE_MAX_RANK];
} cpu_view;
/* places.c: gives it the strides of a row-major array of its extents. */
void cpu_make_contiguous(cpu_view *view, unsigned rank);

typedef struct cpu_scratch {
    const tile_expr *extents[TILE_MAX_RANK];
    unsigned rank;
    unsigned element_bytes;
    bool clean;
    tile_loc loc;
} cpu_scratch;

/* A buffer of barriers, of one group. */
typedef struct cpu_barrier_buffer {
    uint32_t offset, count;
    unsigned first; /* its first one's number in the block */
} cpu_barrier_buffer;

/* A buffer's bytes in shared memory. */
typedef struct cpu_extent {
    uint32_t begin, end;
} cpu_extent;

typedef struct cpu_program {
    tile_arena arena;
    tile_function *function;
    unsigned level;
    bool host_math; /* as tile_device_options has it */
    unsigned lanes, warps;
    unsigned agents; /* of a block: its warps; at level 2 one, and one for each group of roles; of
                        a mixed kernel its warps and, as the last one, the block (mixed.c) */
    const struct cpu_program *of_warps; /* mixed: this one as the warps have it, else NULL */
    uint32_t warps_begin;               /* mixed: where their instructions begin */
    uint32_t *warps_arg_places;         /* mixed: for them */
    int64_t cluster[3];
    unsigned cluster_blocks;
    cpu_insn *insns;
    uint32_t insn_count;
    uint32_t frame_bytes;
    uint8_t *constants; /* arguments' places are filled at each launch */
    uint32_t constant_bytes;
    uint32_t *arg_places;
    unsigned mask_depth;
    uint32_t shared_bytes;
    cpu_barrier_buffer *barrier_buffers;
    unsigned barrier_buffer_count, mbarrier_count;
    cpu_extent *buffers; /* of all alloc_shared; of groups all of theirs together */
    size_t buffer_count;
    unsigned granule_bits; /* log2 of the bytes that one cpu_shadow stands for */
    cpu_scratch *scratch;
    unsigned scratch_count;
    unsigned uniform_count; /* `uniform` operations */
    bool fences;
    bool poison, shared_poison; /* some value, something in shared memory may be poisoned */
    uint32_t *origins;          /* instructions that poison; origin_count - 1 of them, from 1 */
    unsigned origin_count;
} cpu_program;

/* What is known about a few bytes of shared memory: the last write and the reads since then. Times
 * are those of the threads' agents (clocks.h). */
typedef struct cpu_shadow {
    uint16_t writer; /* a thread from 1 (check.h); 0: never written; not of an atomic access */
    uint16_t reader; /* the last one; 0: none */
    uint32_t write_time, read_time;
    uint32_t write_insn, read_insn;
    uint32_t
        readers; /* of other agents, before the last one: a place in the block's list; 0: none */
    uint32_t updates; /* atomic accesses since the write, the last one of each agent: likewise */
    uint32_t write_fences; /* how many fence_async the writing agent had executed; or this: */
    uint16_t pending;      /* asynchronous reads that nothing has waited for, and of the last one */
    uint16_t pending_thread;
    uint32_t pending_insn;
} cpu_shadow;

/* As write_fences: it was written through the async proxy, which sees it without a fence. */
#define CPU_BY_ASYNC_PROXY UINT32_MAX

typedef struct cpu_reader {
    uint16_t thread;
    uint32_t time, insn;
    uint32_t next;   /* of the cell, or the next free place */
    uint32_t fences; /* of an update: as write_fences */
} cpu_reader;

enum {
    CPU_IN_FLIGHT = 0xffff, /* as a writer: an asynchronous copy that has not been waited for */
    CPU_PUBLISHED = 0xfffe, /* one that has landed: write_time is a place in the block's list */
};

/* What a phase of a barrier in shared memory publishes: who waits for it knows of this time of its
 * key. */
typedef struct cpu_publication {
    uint64_t key;
    uint32_t time;
} cpu_publication;

/* One of the block's barriers, and who has reached it since it was complete last. */
typedef struct cpu_barrier {
    unsigned expected_warps, arrived_warps; /* warps; come 0: nobody */
    uint64_t arrived_agents, waiting;       /* agents, bit by bit of their index */
    const cpu_insn *first;                  /* the first one's instruction */
    cpu_clock arrived;                      /* knows what those know who do not wait */
} cpu_barrier;

enum {
    CPU_BARRIERS = TILE_MAX_BARRIERS + 1,
    CPU_MAX_AGENTS = TILE_MAX_WARPS + 1, /* of a block */
};

/* Blocks that run together, and their barrier. */
typedef struct cpu_cluster {
    unsigned count, ended;     /* blocks */
    unsigned attached;         /* of these, the ones that still point here */
    struct cpu_block **blocks; /* by rank */
    unsigned arrived_warps;    /* warps that have arrived since the barrier was complete last */
    uint32_t rounds;           /* how often it was */
    cpu_clock arriving;        /* knows what those know who have arrived */
    cpu_clock arrived;         /* the same of the last round */
} cpu_cluster;

/* The last time that an agent of another block accessed a block's shared memory. */
typedef struct cpu_visit {
    uint32_t time; /* 0: never */
    const cpu_insn *insn;
    int lane;
} cpu_visit;

/* An asynchronous copy that has not landed: a whole tile at level 2, one piece a lane at level 3.
 */
typedef struct cpu_copy {
    const cpu_insn *insn;
    uint32_t lanes;            /* that have not landed */
    uint32_t zeros;            /* of these, the ones that write zeros */
    uint64_t number;           /* how many the agent had issued before */
    uint32_t done[CPU_LANES];  /* at which time of the agent it counts as done; 0: when it lands */
    uint32_t group[CPU_LANES]; /* which of the lane's groups it belongs to */
    uint64_t source[CPU_LANES];
    uint32_t target[CPU_LANES]; /* offset in shared memory */
    cpu_view view;              /* level 2 */
    int64_t at[TILE_MAX_RANK];
    uint8_t *kept; /* level 2: cpu_snapshot_gather's */
    char *seen;    /* what stood in its source when it was started */
} cpu_copy;

typedef enum cpu_state {
    CPU_READY,
    CPU_AT_BARRIER,
    CPU_AT_CLUSTER,  /* waits for the cluster's barrier */
    CPU_AT_MBARRIER, /* waits for a phase of a barrier in shared memory */
    CPU_WAITING,
    CPU_PREEMPTED, /* preempted: goes on when its block is woken */
    CPU_IN_ROLES,  /* level 2: its warps are on their own, in roles */
    CPU_DONE
} cpu_state;

typedef struct cpu_block cpu_block;
typedef struct cpu_bulk cpu_bulk;
typedef struct cpu_global cpu_global;

/* An asynchronous `dot`: what it reads in shared memory. */
typedef struct cpu_pending_dot {
    const cpu_insn *insn;
    uint32_t offset[2]; /* of lhs and rhs; CPU_NO_PLACE: that one is a tile */
} cpu_pending_dot;

/* One fence_async. */
typedef struct cpu_proxy_fence {
    uint32_t time; /* of its agent */
    uint32_t lanes;
} cpu_proxy_fence;

/* How far a scope reaches. */
typedef enum cpu_reach { CPU_REACH_BLOCK, CPU_REACH_CLUSTER, CPU_REACH_ALL, CPU_REACHES } cpu_reach;

/* What an agent's fences and relaxed accesses make of each other. */
typedef struct cpu_order {
    cpu_known *fenced;           /* what it knew at its last release fence, or NULL */
    cpu_reach fence;             /* of that one */
    cpu_clock seen[CPU_REACHES]; /* what releases knew whose words it has read since, by how far
                                    they are away: for an acquire fence */
    const cpu_insn
        *narrow;      /* the last one that reached less far than the release it met, or NULL */
    uint64_t address; /* CPU_WAITING: of the word */
    unsigned lane;    /* whose it is */
    uint32_t unchanged_updates; /* atomic instructions in a row that have changed nothing */
} cpu_order;

/* What the first agent that came to a `uniform` had there, each time. */
typedef struct cpu_agreement {
    uint64_t *values;
    uint32_t count, capacity;
} cpu_agreement;

enum {
    CPU_TRACED_GROUPS = 16,   /* the latest ones, of each mechanism: more are never waited for */
    CPU_TICKS_OF_FLIGHT = 600 /* from an asynchronous copy's start to its bytes */
};

/* What an agent has under way, for traces (execute/trace.h). */
typedef struct cpu_tracing {
    const cpu_insn *arithmetic; /* the first of what is not told one by one, or NULL */
    uint64_t arithmetic_since;
    const cpu_insn *waiting; /* or NULL */
    uint64_t waiting_since;
    uint64_t began;                                           /* the instruction that runs */
    uint64_t busy[TILE_MECHANISM_COUNT];                      /* until when the mechanism is */
    uint64_t groups[TILE_MECHANISM_COUNT][CPU_TRACED_GROUPS]; /* when they are complete */
    uint64_t committed[TILE_MECHANISM_COUNT];
} cpu_tracing;

struct cpu_agent {
    cpu_block *block;
    uint32_t *visits; /* of each `uniform` */
    unsigned index;
    unsigned number;        /* in the cluster */
    unsigned first, weight; /* the warps that it stands for */
    unsigned set, group;    /* in roles: its set's first warp, its group's number */
    cpu_clock clock;
    uint32_t since; /* its time after the last barrier: what its own threads did before is done */
    cpu_recent recent[CPU_RECENT];
    uint32_t touched;           /* lanes that have accessed shared memory since then */
    uint32_t partial_lanes;     /* those that know what clock.apart holds */
    uint32_t failed_tests;      /* in a row, of barriers' phases */
    bool has_arrived;           /* at the cluster's barrier, and not waited */
    bool arrived_without_order; /* that orders nothing */
    uint32_t round;             /* at that time */
    uint32_t arrived_at;        /* its time behind it */
    uint32_t meetings;          /* how often it has waited there */
    uint32_t element;           /* level 2: of `parallel`, the number of the one that runs */
    cpu_claims *claims;         /* or NULL */
    cpu_state state;
    bool was_preempted; /* at this instruction, which has not run yet */
    uint32_t pc;
    uint32_t mask;
    uint32_t depth; /* of the mask stack */
    uint32_t *masks;
    uint8_t *frame;
    uint8_t *poison; /* of the frame, or NULL */
    cpu_order order;
    uint32_t commits[CPU_LANES];
    uint32_t waited; /* lanes that have passed `pdl_wait` */
    uint64_t copies_issued;
    cpu_copy *copies;
    size_t copy_count, copy_capacity;
    cpu_bulk *bulks; /* bulk stores that are not complete (tma_store.c) */
    size_t bulk_count, bulk_capacity;
    uint32_t bulk_commits[CPU_LANES];
    cpu_proxy_fence *fences; /* in the order in which it executed them */
    size_t fence_count, fence_capacity;
    cpu_tracing tracing;
    cpu_products *products; /* NULL: it has executed no wgmma yet */
    cpu_pending_dot *dots;  /* level 2: asynchronous products that no wait has covered */
    size_t dot_count, dot_capacity;
};

struct cpu_block {
    cpu_block *next;
    int64_t id[3];
    cpu_cluster *cluster; /* NULL: idle */
    unsigned rank;
    bool ended;
    cpu_visit *visits; /* by agents of the cluster, by their number; then their arrivals */
    cpu_agent *agents;
    uint8_t *shared;
    cpu_shadow *shadow;        /* NULL: accesses are not looked at */
    uint8_t *poison;           /* of the shared memory, or NULL */
    cpu_agreement *agreements; /* one for each `uniform` */
    cpu_warpgroup *warpgroups; /* NULL: nobody has executed a wgmma yet */
    cpu_reader *readers;       /* entry 0 is unused */
    uint32_t reader_count, reader_capacity, free_reader;
    cpu_publication *publications;
    uint32_t publication_count, publication_capacity;
    uint32_t settled; /* all agents know what happened up to this time */
    cpu_barrier barriers[CPU_BARRIERS];
    cpu_ordered_issue *turns;       /* by the number of their first barrier, or NULL */
    struct cpu_mbarrier *mbarriers; /* mbarrier.h; as many as the program has */
    struct cpu_flight *flights;     /* those that have not landed, the oldest first */
    size_t flight_count, flight_capacity;
    cpu_known *cause; /* of the flight that is landing, or NULL */
    bool progressed;
    bool waits, preempted;     /* when it was left last */
    bool is_spinning;          /* when it was left last, an agent failed to update memory */
    unsigned preemptions_left; /* how often it may still be preempted */
    uint64_t wake_tick;        /* at this tick of the run */
};

/* Memory that a kernel may touch; sorted by address. */
typedef struct cpu_range {
    uint64_t begin, end;
    const char *name;            /* of the argument that points here; "" if there is none */
    const cpu_scratch *plain;    /* scratch that is not clean, else NULL */
    uint32_t region;             /* of the shadow */
    bool is_scratch;             /* of the kernel, or of its plan */
    const tile_buffer *followed; /* whose bytes that are not written yet are undefined, else NULL */
} cpu_range;

struct cpu_run {
    const cpu_program *program;
    const tile_launch *launch;
    tile_context *context;
    void (*trace)(const tile_trace_event *event, void *user); /* NULL: nobody asked */
    void *trace_user;
    void (*print)(const char *line, void *user); /* NULL: to stdout */
    void *print_user;
    tile_cpu_counts *counts;
    uint8_t *constants;
    int64_t grid[3];
    uint64_t operations_left;
    uint64_t random; /* 0: natural order */
    cpu_range *ranges;
    size_t range_count, last_range;
    cpu_global *global; /* the shadow of all ranges */
    const struct cpu_launch_log
        *launch_log;   /* of the launches that this one overlaps (overlap.h), or NULL */
    uint8_t **scratch; /* one for each scratch operation */
    int64_t *scratch_bytes;
    cpu_block *live, *idle;
    unsigned preempted_blocks, waiting; /* live blocks */
    uint64_t ticks;                     /* counts how often a block has got on */
    int64_t room, held;       /* blocks that the device holds at once, and those it does */
    bool waits_for_residency; /* blocks could start if there were more of it */
    size_t bulks;             /* bulk stores in flight */
    const cpu_bulk *landing;  /* the one of them that writes now, or NULL */
};

static inline void *cpu_at(const cpu_run *run, const cpu_agent *agent, uint32_t place) {
    return place & CPU_CONSTANT_PLACE ? run->constants + (place & ~CPU_CONSTANT_PLACE)
                                      : agent->frame + place;
}

/* places.c: where each value lives in the frame, by value id, for values that need a place there
 * (others keep what is in the array); values that do not live at the same time share one. Returns
 * the bytes of the frame: the places are good if that is less than 2^30. */
uint64_t cpu_assign_places(const tile_function *f, unsigned lanes, uint32_t *places,
                           tile_arena *arena);
/* Elements of one lane's value and bytes of one element. */
uint32_t cpu_value_elements(const tile_type *type);
uint32_t cpu_value_size(const tile_type *type);
/* Bytes of the place of all lanes' values. */
uint32_t cpu_value_place_bytes(const tile_type *type, unsigned lanes);

#endif
