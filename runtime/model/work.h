/* What one block of a kernel does at a point of its space: products, bytes, memory. Read from the
 * kernel's text with the parameters' values beside it, so that nothing is instantiated. */
#ifndef TILE_RUNTIME_MODEL_WORK_H
#define TILE_RUNTIME_MODEL_WORK_H

#include "lib/ir/function.h"
#include "lib/ops/strategy.h"
#include "passes/passes.h"
#include "tile/target.h"

typedef struct tune_cost {
    double operations; /* of products of 16-bit elements; others count by their width */
    double wgmma;      /* of these, what warpgroups compute */
    double reads;      /* bytes of shared memory that the warps read for them */
    double loaded;     /* bytes */
    double crossing;   /* of these, bytes of rows that cross a line of the L2's */
    double shared; /* of `loaded`, what other blocks of the cluster can bring, if warps only copy */
    double shared_crossing; /* likewise */
    double again; /* of `loaded`, what other blocks read when the L2 has been told to give it up */
    double outside;    /* bytes of tiles outside of the arrays: zeros, which take time, too */
    double stored;     /* bytes */
    double arithmetic; /* instructions of threads beside products and copies, in loops */
    double indexing;   /* likewise, to find what gathered copies move */
} tune_cost;

typedef struct tune_work {
    tune_cost once;     /* outside the loop that `split` is written on */
    tune_cost loop;     /* all iterations of that loop */
    double trips;       /* of that loop; 0: there is none */
    double sums;        /* bytes that it carries, as parts are handed over */
    double in_flight;   /* bytes: the most of any loop's copies that are under way at once */
    double depth;       /* and the copies of an iteration that are */
    double rounds;      /* of loads that a block waits for, one after the other, in loops */
    double widest;      /* bytes of the largest tile that is loaded, as f32 at least */
    double lines;       /* so much more of memory is moved: for rows below a line of the L2 */
    double arrays;      /* bytes of those arguments that are looked at */
    double accumulator; /* bytes of the largest one */
    int64_t shared;     /* bytes alive at once, as far as all kernels need them */
    int64_t box;        /* more of them where tiles are stored while others are computed; 0: such
                           stores are not possible, or there are none */
    int64_t grid[3];
    int64_t cluster;    /* blocks */
    int64_t semaphores; /* that blocks take turns at; 0: they do not */
    unsigned warps;
    int rendezvous_count; /* how often blocks wait for each other's memory, about */
    bool persistent, uses_num_sms;
    bool fills_clusters;     /* with blocks that do nothing: the loop is in a branch for the others,
                                unless a split numbers the blocks itself */
    bool may_have_roles;     /* warps that only copy, beside the others */
    bool ping_pong;          /* asked for: groups of warps that take turns at tiles */
    bool ping_pong_fits;     /* and its products have the registers for it */
    bool asks_cooperative_3; /* for three groups that share each tile */
    bool cooperative_3;      /* and its products can be shared so */
    unsigned dots, wgmma_dots; /* products in the text, and those that warpgroups compute */
    bool promotes;             /* 8-bit floats, whose sums are added to others at each iteration */
} tune_work;

/* What the passes make of the kernel. */
typedef struct tune_passes {
    bool roles;          /* warps copy for the others */
    bool ping_pong_fits; /* of which two groups take turns at tiles */
    bool cooperative_3;  /* or three share each tile */
    bool persistent;     /* each block computes many tiles */
    int64_t shared;      /* bytes of shared memory */
} tune_passes;

/* strategy: none where the kernel's sums are not split. */
tune_passes tune_expect_passes(const tune_work *work, tile_strategy strategy);

/* fmin and fmax are calls, for numbers that are none. */
static inline double least(double a, double b) {
    return a < b ? a : b;
}

static inline double most(double a, double b) {
    return a > b ? a : b;
}

/* point: NULL if the kernel is instantiated. sizes: an integer for each argument. */
void tune_read_work(const tile_function *kernel, const tile_bound_params *point,
                    const int64_t *sizes, const tile_target *target, unsigned num_sms,
                    tile_arena *arena, tune_work *work);

/* The `split` clause's factor at the point, and its strategy's word; 1 and NULL without one. */
void tune_read_split(const tile_function *kernel, const tile_bound_params *point, int64_t *factor,
                     const char **strategy);

/* own[i]: parameter i says something about the kernel beside its split. */
void tune_find_own(const tile_function *kernel, bool *own);

#endif
