/* A kernel decoded for execution, and the state of a launch.
 *
 * Decoding turns a function into a flat array of instructions, whose operands are places in a
 * register file. `for` and `if` become jumps and a stack of lane masks. A program has one of two
 * widths:
 *
 *     level 3   an agent is a warp of 32 lanes; element e of lane l is at index e * 32 + l of its
 *               place
 *     level 2   an agent is the block, or in `roles` a group of its warps, with one lane; a tile's
 *               elements are contiguous
 *
 * so at both levels arithmetic is one loop over `count` elements. Masked-off lanes also compute,
 * but their results are never read, because values leave a region only through masked moves. */
#ifndef TILE_RUNTIME_CPU_PROGRAM_PROGRAM_H
#define TILE_RUNTIME_CPU_PROGRAM_PROGRAM_H

#include "lib/analysis/executors.h"
#include "lib/ir/arith.h"
#include "lib/ops/atomic.h"
#include "lib/ops/im2col.h"
#include "runtime/cpu/program/access_log.h"
#include "runtime/device/device.h"

enum {
    CPU_LANES = 32,
    CPU_PLACE_ALIGN = 64,
    CPU_OPERANDS = 4, /* of an instruction, each with its own place */
};

/* A place with this bit is in the launch's constants; others are in the agent's frame. */
#define CPU_CONSTANT_PLACE 0x80000000u
#define CPU_NO_PLACE 0x7fffffffu

/* How execution continues after a handler. */
typedef enum cpu_outcome {
    CPU_NEXT,  /* at the next instruction */
    CPU_JUMP,  /* the handler has set agent->pc */
    CPU_PAUSE, /* the agent waits; it continues at agent->pc */
    CPU_STOP,  /* a fault has been reported: the launch ends */
} cpu_outcome;

typedef struct cpu_run cpu_run;
typedef struct cpu_agent cpu_agent;
typedef struct cpu_insn cpu_insn;
typedef struct cpu_product cpu_product; /* product.c */
typedef struct cpu_poison cpu_poison;
typedef struct cpu_claims cpu_claims;               /* parallel.c: accesses of elements */
typedef struct cpu_ordered_issue cpu_ordered_issue; /* ordered_issue.c: of warpgroups */
typedef struct cpu_products cpu_products;           /* wgmma.c: a warp's wgmma in flight */
typedef struct cpu_warpgroup cpu_warpgroup;         /* wgmma.c: steps of its warps */
typedef struct tile_iota tile_iota;                 /* lib/ops/shape.h */
typedef struct cpu_moves cpu_moves;                 /* shape.c */
typedef cpu_outcome (*cpu_handler)(cpu_run *run, cpu_agent *agent, const cpu_insn *insn);

/* A region of roles. */
typedef struct cpu_role {
    unsigned first, warps, groups;
    uint32_t pc;    /* its first instruction */
    uint32_t group; /* place for the numbers of its groups */
} cpu_role;

/* Level 2: how an access finds its elements, besides the start of its tile (lib/ops/gather.h). */
typedef struct cpu_gather {
    unsigned first;              /* index of dim 0, after the stage */
    bool is_tile[TILE_MAX_RANK]; /* by dim of the memory: it has an index tile, .. */
    bool is_long[TILE_MAX_RANK]; /* .. of i64 */
    unsigned points;             /* number of the tile's first dims that index tiles give */
    uint32_t predicate;          /* place, or CPU_NO_PLACE */
    bool one_predicate;          /* one for all elements */
    bool within;                 /* all elements are in bounds; others are reported */
    uint8_t pad[8];              /* one element */
} cpu_gather;

struct cpu_insn {
    cpu_handler handler;
    tile_opcode opcode;
    tile_scalar scalar; /* of the elements on which the operation works */
    tile_scalar from;   /* casts: of the operand; accesses: of the index */
    bool flag;          /* ldmatrix: trans; scratch: clean; dot: async; wgmma: sparse; math.c: fast;
                           select: one condition for all elements */
    bool speculative;   /* may read memory that is not written yet */
    bool any_stays;     /* level 3: several threads store one tile to the same address */
    bool reverse, exclusive; /* scan */
    bool own_order;          /* level 2: the block's accesses are ordered without barriers */
    bool placed;             /* of threads: the memory has [stage,] coordinates */
    bool releases, acquires;
    tile_arith_flags arith_flags;   /* elementwise operations */
    tile_word kind;                 /* atomic operations; waits: the comparison */
    tile_word scope;                /* NONE: gpu */
    uint32_t count;                 /* elements of all lanes */
    uint32_t size;                  /* bytes of one element */
    uint32_t result;                /* place */
    uint32_t operand[CPU_OPERANDS]; /* places, in the order of the row; CPU_NO_PLACE if absent */
    uint32_t *index;  /* an element's indices, a view's extents, concat's operands: places */
    uint32_t *second; /* the second element's indices, a view's strides, concat's counts */
    uint32_t index_count, second_count;
    uint32_t target;               /* jumps: number of an instruction */
    unsigned sharers, sharer_step; /* copies: blocks that share it, 0: none; rank stride */
    int64_t integer; /* wait_group: pending; cp_async: bytes; ids: the dim; scratch: its number */
    const int64_t *order;  /* permute; sync: the barrier's number, by group */
    const cpu_role *roles; /* second_count of them, in ascending order of warps */
    const cpu_product *product;
    const tile_iota *iota;
    const tile_im2col *windows;
    const cpu_gather *gather; /* NULL: a plain access */
    const cpu_moves *moves;
    const struct cpu_assembly *assembly; /* assembly.c */
    const struct cpu_combine *combine;   /* combine.c */
    const uint32_t *elements;      /* mixed.c: positions in a tile, by warp, register and lane */
    const tile_type *type;         /* the tile, or the first operand's type */
    const tile_type *memory;       /* the view or shared buffer */
    const char *name;              /* of that memory, for messages */
    const cpu_insn *at_barrier;    /* the same with the name of its barrier, or NULL */
    const struct cpu_print *print; /* print.c */
    const cpu_poison *poison;      /* NULL: no operand or result is poisoned (poison.h) */
    tile_loc loc;
};

/* A view in a register. */
typedef struct cpu_view {
    uint64_t base;
    int64_t extent[TILE_MAX_RANK];
    int64_t stride[TILE_MAX_RANK];
    const tile_im2col *windows; /* of a view made by `im2col`; NULL: others */
    int64_t source_extent[TILE_MAX_SPATIAL + 1], source_stride[TILE_MAX_SPATIAL + 1];
} cpu_view;
/* places.c: sets the strides of a row-major array of its extents. */
void cpu_make_contiguous(cpu_view *view, unsigned rank);

typedef struct cpu_scratch {
    const tile_expr *extents[TILE_MAX_RANK];
    unsigned rank;
    unsigned element_bytes;
    bool clean;
    tile_loc loc;
} cpu_scratch;

/* A buffer of barriers, for one group. */
typedef struct cpu_barrier_buffer {
    uint32_t offset, count;
    unsigned first; /* number of its first barrier in the block */
} cpu_barrier_buffer;

/* The bytes of a buffer in shared memory. */
typedef struct cpu_extent {
    uint32_t begin, end;
} cpu_extent;

typedef struct cpu_program {
    tile_arena arena;
    tile_function *function;
    unsigned level;
    bool host_math; /* as in tile_device_options */
    unsigned lanes, warps;
    /* Number of agents of a block. Level 3: one for each warp. Level 2: one, and one for each group
     * of roles. Mixed kernel: one for each warp, then one for the block (mixed.c). */
    unsigned agents;
    const struct cpu_program *of_warps; /* mixed: this program for the warps, otherwise NULL */
    uint32_t warps_begin;               /* mixed: the warps' first instruction */
    uint32_t *warps_arg_places;         /* mixed: for the warps */
    int64_t cluster[3];
    unsigned cluster_blocks;
    cpu_insn *insns;
    uint32_t insn_count;
    uint32_t frame_bytes;
    uint8_t *constants; /* the places of arguments are filled at each launch */
    uint32_t constant_bytes;
    uint32_t *arg_places;
    unsigned mask_depth;
    uint32_t shared_bytes;
    cpu_barrier_buffer *barrier_buffers;
    unsigned barrier_buffer_count, mbarrier_count;
    cpu_extent *buffers; /* of all alloc_shared, each with the buffers of all groups */
    size_t buffer_count;
    unsigned granule_bits; /* log2 of the bytes that one cpu_shadow covers */
    cpu_scratch *scratch;
    unsigned scratch_count;
    unsigned uniform_count; /* number of `uniform` operations */
    bool fences;
    bool poison, shared_poison; /* some value, or some shared memory, may be poisoned */
    uint32_t *origins;          /* poisoning instructions, by origin: 1 to origin_count - 1 */
    unsigned origin_count;
} cpu_program;

/* The last write of a few bytes of shared memory, and the reads since then. Times are those of the
 * threads' agents (clocks.h). */
typedef struct cpu_shadow {
    uint16_t writer; /* thread from 1 (check.h); 0: never written; no atomic accesses */
    uint16_t reader; /* the last reader; 0: none */
    uint32_t write_time, read_time;
    uint32_t write_insn, read_insn;
    uint32_t readers;      /* earlier readers in other agents: index in the block's list; 0: none */
    uint32_t updates;      /* atomic accesses since the write, one of each agent: also an index */
    uint32_t write_fences; /* number of fence_async that the agent had executed; or this: */
    uint16_t pending;      /* number of asynchronous reads in flight; and the last of them */
    uint16_t pending_thread;
    uint32_t pending_insn;
} cpu_shadow;

/* As write_fences: written through the async proxy, which sees the bytes without a fence. */
#define CPU_BY_ASYNC_PROXY UINT32_MAX

typedef struct cpu_reader {
    uint16_t thread;
    uint32_t time, insn;
    uint32_t next;   /* in the cell's list, or in the free list */
    uint32_t fences; /* of an update: like write_fences */
} cpu_reader;

enum {
    CPU_IN_FLIGHT = 0xffff, /* as a writer: an asynchronous copy that no wait has covered */
    CPU_PUBLISHED = 0xfffe, /* a copy that has landed: write_time is its publication's index */
};

/* What a phase of a barrier in shared memory publishes. An agent that has waited for the phase
 * knows this time of its key. */
typedef struct cpu_publication {
    uint64_t key;
    uint32_t time;
} cpu_publication;

/* One of the block's barriers, and its arrivals since it was last complete. */
typedef struct cpu_barrier {
    unsigned expected_warps, arrived_warps; /* arrived_warps 0: no arrivals */
    uint64_t arrived_agents, waiting;       /* sets of agents, by index */
    const cpu_insn *first;                  /* the instruction of the first arrival */
    cpu_clock arrived;                      /* what agents know that arrived without waiting */
} cpu_barrier;

enum {
    CPU_BARRIERS = TILE_MAX_BARRIERS + 1,
    CPU_MAX_AGENTS = TILE_MAX_WARPS + 1, /* of one block */
};

/* Blocks that run concurrently, and their barrier. */
typedef struct cpu_cluster {
    unsigned count, ended;     /* blocks */
    unsigned attached;         /* blocks that still point here */
    struct cpu_block **blocks; /* by rank */
    unsigned arrived_warps;    /* warps that have arrived since the barrier was last complete */
    uint32_t rounds;           /* how often it was complete */
    cpu_clock arriving;        /* what those that have arrived know */
    cpu_clock arrived;         /* the same for the last round */
} cpu_cluster;

/* The last access of another block's agent to a block's shared memory. */
typedef struct cpu_remote_access {
    uint32_t time; /* 0: never */
    const cpu_insn *insn;
    int lane;
} cpu_remote_access;

/* An asynchronous copy in flight: a whole tile at level 2, one piece per lane at level 3. */
typedef struct cpu_copy {
    const cpu_insn *insn;
    uint32_t lanes;            /* that are in flight */
    uint32_t zeros;            /* those of them that write zeros */
    uint64_t number;           /* number of earlier copies of the agent */
    uint32_t done[CPU_LANES];  /* the agent's time at which it counts as done; 0: when it lands */
    uint32_t group[CPU_LANES]; /* by lane: its group */
    uint64_t source[CPU_LANES];
    uint32_t target[CPU_LANES]; /* offset in shared memory */
    uint8_t first[CPU_LANES], end[CPU_LANES]; /* the bytes that are read; zeros follow them */
    cpu_view view;              /* level 2 */
    int64_t at[TILE_MAX_RANK];
    uint8_t *kept; /* level 2: from cpu_snapshot_gather */
    char *seen;    /* contents of its source at issue */
} cpu_copy;

typedef enum cpu_state {
    CPU_READY,
    CPU_AT_BARRIER,
    CPU_AT_CLUSTER,  /* waits for the cluster's barrier */
    CPU_AT_MBARRIER, /* waits for a phase of a barrier in shared memory */
    CPU_WAITING,
    CPU_PREEMPTED, /* preempted: continues when its block is woken */
    CPU_IN_ROLES,  /* level 2: its groups run in roles */
    CPU_DONE
} cpu_state;

typedef struct cpu_block cpu_block;
typedef struct cpu_bulk cpu_bulk;
typedef struct cpu_global cpu_global;

/* An asynchronous `dot`, and what it reads in shared memory. */
typedef struct cpu_pending_dot {
    const cpu_insn *insn;
    uint32_t offset[2]; /* of lhs and rhs; CPU_NO_PLACE: a tile */
} cpu_pending_dot;

/* One fence_async. */
typedef struct cpu_proxy_fence {
    uint32_t time; /* of the agent */
    uint32_t lanes;
} cpu_proxy_fence;

/* The set of agents that a scope includes. */
typedef enum cpu_reach { CPU_REACH_BLOCK, CPU_REACH_CLUSTER, CPU_REACH_ALL, CPU_REACHES } cpu_reach;

/* The state of an agent's fences and relaxed accesses. */
typedef struct cpu_order {
    cpu_known *fenced;           /* knowledge at its last release fence, or NULL */
    cpu_reach fence;             /* scope of that fence */
    cpu_clock seen[CPU_REACHES]; /* released by words that it has read, by distance: for a fence */
    const cpu_insn *narrow; /* last instruction whose scope excluded a release it read, or NULL */
    uint64_t address;       /* CPU_WAITING: address of the word */
    unsigned lane;          /* CPU_WAITING: lane that waits */
    uint32_t unchanged_updates; /* consecutive atomic updates that have changed nothing */
} cpu_order;

/* The values of the first agent that reached a `uniform`, for each execution. */
typedef struct cpu_uniform_values {
    uint64_t *values;
    uint32_t count, capacity;
} cpu_uniform_values;

enum {
    CPU_TRACED_GROUPS = 16,   /* the latest ones, of each mechanism: no wait leaves more pending */
    CPU_TICKS_OF_FLIGHT = 600 /* from the start of an asynchronous copy to its completion */
};

/* The operations of an agent that are in progress, for traces (execute/trace.h). */
typedef struct cpu_tracing {
    const cpu_insn *arithmetic; /* first operation without its own event, or NULL */
    uint64_t arithmetic_since;
    const cpu_insn *waiting; /* or NULL */
    uint64_t waiting_since;
    uint64_t began;                                           /* start of this instruction */
    uint64_t busy[TILE_MECHANISM_COUNT];                      /* until when the mechanism is busy */
    uint64_t groups[TILE_MECHANISM_COUNT][CPU_TRACED_GROUPS]; /* completion of the groups */
    uint64_t committed[TILE_MECHANISM_COUNT];
} cpu_tracing;

struct cpu_agent {
    cpu_block *block;
    uint32_t *visits; /* number of executions of each `uniform` */
    unsigned index;
    unsigned number;        /* number in the cluster */
    unsigned first, weight; /* its warps: the first, and their number */
    unsigned set, group;    /* in roles: first warp of its set; number of its group */
    cpu_clock clock;
    uint32_t last_sync_time; /* time after the last barrier: its own earlier accesses are ordered */
    cpu_recent recent[CPU_RECENT];
    uint32_t accessed_lanes;     /* lanes that have accessed shared memory since then */
    uint32_t partial_lanes;      /* lanes that know clock.partial */
    uint32_t failed_tests;       /* consecutive unsuccessful tests of phases */
    bool has_arrived;            /* at the cluster's barrier, and has not waited */
    bool arrived_without_order;  /* arrived relaxed */
    uint32_t round;              /* of the cluster's barrier, at its arrival */
    uint32_t arrived_at;         /* its time after the arrival */
    uint32_t cluster_wait_count; /* number of its waits at the cluster's barrier */
    uint32_t element;            /* level 2: number of the current element of `parallel` */
    cpu_claims *claims;          /* or NULL */
    cpu_state state;
    bool was_preempted; /* at the current instruction, which has not run yet */
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
    cpu_bulk *bulks; /* bulk stores in flight (tma_store.c) */
    size_t bulk_count, bulk_capacity;
    uint32_t bulk_commits[CPU_LANES];
    cpu_proxy_fence *fences; /* in order of execution */
    size_t fence_count, fence_capacity;
    cpu_tracing tracing;
    cpu_products *products; /* NULL: no wgmma executed yet */
    cpu_pending_dot *dots;  /* level 2: asynchronous products that no wait has covered */
    size_t dot_count, dot_capacity;
};

struct cpu_block {
    cpu_block *next;
    int64_t id[3];
    cpu_cluster *cluster; /* NULL: idle */
    unsigned rank;
    bool ended;
    cpu_remote_access *remote_accesses; /* by number of the cluster's agents; then their arrivals */
    cpu_agent *agents;
    uint8_t *shared;
    cpu_shadow *shadow;                 /* NULL: accesses are not checked */
    uint8_t *poison;                    /* of the shared memory, or NULL */
    cpu_uniform_values *uniform_values; /* one for each `uniform` */
    cpu_warpgroup *warpgroups;          /* NULL: no wgmma executed yet */
    cpu_reader *readers;                /* entry 0 is unused */
    uint32_t reader_count, reader_capacity, free_reader;
    cpu_publication *publications;
    uint32_t publication_count, publication_capacity;
    uint32_t settled; /* all agents know the accesses up to this time */
    cpu_barrier barriers[CPU_BARRIERS];
    cpu_ordered_issue *ordered_issue; /* by the number of their first barrier, or NULL */
    struct cpu_mbarrier *mbarriers;   /* mbarrier.h; as many as the program has */
    struct cpu_flight *flights;       /* operations in flight, the oldest first */
    size_t flight_count, flight_capacity;
    cpu_known *cause; /* of the operation that is landing, or NULL */
    bool progressed;
    bool waits, preempted;     /* when it last stopped */
    bool is_spinning;          /* an agent was in a spin loop when it last stopped */
    unsigned preemptions_left; /* remaining preemptions */
    uint64_t wake_tick;        /* if preempted: the tick at which it is woken */
};

/* Memory that a kernel may access; sorted by address. */
typedef struct cpu_range {
    uint64_t begin, end;
    const char *name;           /* of the argument that points here; "" if none does */
    const cpu_scratch *plain;   /* scratch that is not clean, otherwise NULL */
    uint32_t region;            /* of the shadow */
    bool is_scratch;            /* of the kernel or its plan */
    const tile_buffer *tracked; /* buffer with tracked bytes, otherwise NULL */
} cpu_range;

struct cpu_run {
    const cpu_program *program;
    const tile_launch *launch;
    tile_context *context;
    void (*trace)(const tile_trace_event *event, void *user); /* NULL: not requested */
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
    unsigned preempted_blocks, waiting; /* numbers of live blocks */
    uint64_t ticks;                     /* how often a block has made progress */
    int64_t room, held;       /* number of blocks that fit on the device, and that are live */
    bool waits_for_residency; /* more blocks could start on a larger device */
    size_t bulks;             /* bulk stores in flight */
    const cpu_bulk *landing;  /* the store that writes now, or NULL */
};

static inline void *cpu_at(const cpu_run *run, const cpu_agent *agent, uint32_t place) {
    return place & CPU_CONSTANT_PLACE ? run->constants + (place & ~CPU_CONSTANT_PLACE)
                                      : agent->frame + place;
}

/* places.c: the place of each value in the frame, by value id. Values that need no place there keep
 * the contents of the array. Values that are not live at the same time share a place. Returns the
 * size of the frame in bytes; the places are only valid if that is less than 2^30. */
uint64_t cpu_assign_places(const tile_function *f, unsigned lanes, uint32_t *places,
                           tile_arena *arena);
/* The number of elements of one lane's value, and the bytes of one element. */
uint32_t cpu_value_elements(const tile_type *type);
uint32_t cpu_value_size(const tile_type *type);
/* The bytes of a place, for the values of all lanes. */
uint32_t cpu_value_place_bytes(const tile_type *type, unsigned lanes);

#endif
