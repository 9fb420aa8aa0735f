/* The work of one block of a kernel at a point of its space: products, bytes, memory. It is read
 * from the kernel's text and the values of the parameters; nothing is instantiated. */
#ifndef TILE_RUNTIME_MODEL_WORK_H
#define TILE_RUNTIME_MODEL_WORK_H

#include "lib/ir/function.h"
#include "lib/ops/strategy.h"
#include "passes/passes.h"
#include "tile/target.h"

typedef struct tune_cost {
    double operations; /* of products of 16-bit elements; others are scaled by their width */
    double wgmma;      /* of these, the operations of wgmma */
    double reads;      /* bytes that warps read from shared memory for products */
    double loaded;     /* bytes */
    double crossing;   /* of these, bytes of rows that cross an L2 line */
    double shared;     /* of `loaded`, what other blocks of the cluster can multicast, with roles */
    double shared_crossing; /* likewise of `crossing` */
    double
        reloaded_bytes; /* of `loaded`, what other blocks read after it was evicted from the L2 */
    double outside;     /* bytes of tiles outside of the arrays: filling in zeros takes time */
    double stored;      /* bytes */
    double unaligned;   /* of these, bytes of rows that do not begin at multiples of 16 bytes */
    double arithmetic;  /* instructions in loops, without products and copies */
    double epilogue;    /* instructions outside of loops, likewise */
    double reduced;     /* of these, elements of tiles that are reduced */
    double elements;    /* that threads load one by one, because rows are not aligned */
    double shifted;     /* bytes that they load in pieces of 16, with shifts, for the same reason */
    double chunks;      /* bytes of rows that begin anywhere, copied in chunks of 16 bytes */
    double chunk_rows;  /* such rows of tiles */
    double words;       /* of 4 and 8 bytes that they copy instead of 16, for the same reason */
    double indexing;    /* instructions in loops that compute the addresses of gathered copies */
    double ideal;       /* operations of products without waits, at the rate of 16-bit floats */
} tune_cost;

typedef struct tune_work {
    tune_cost once;     /* outside of the loop that has `split` */
    tune_cost loop;     /* all iterations of that loop */
    double trips;       /* iterations of that loop; 0: there is none */
    double sums;        /* bytes of the partial sums that it carries */
    double in_flight;   /* maximum bytes of copies of one iteration, over all loops */
    double depth;       /* the number of stages of these copies */
    double rounds;      /* rounds of loads in loops for which a block waits, one after the other */
    double widest;      /* bytes of the largest loaded tile, counting at least 4 for an element */
    double lines;       /* factor on memory traffic, for rows shorter than an L2 line */
    double arrays;      /* bytes of the arguments that are accessed */
    double accumulator; /* bytes of the largest accumulator */
    int64_t shared;     /* maximum bytes live at once, for any kernel */
    int64_t store_ring_bytes; /* additional bytes if tiles are stored during the next tile's
                               * products; 0: not possible, or no stores */
    int64_t grid[3];
    int64_t cluster;    /* blocks */
    int64_t semaphores; /* on which blocks wait in order; 0: none */
    unsigned warps;
    int rendezvous_count; /* about how often blocks wait for memory that others write */
    bool persistent, uses_num_sms;
    bool fills_clusters;       /* with blocks that do nothing: the others run the loop in a branch,
                                * unless a split numbers the blocks */
    bool may_have_roles;       /* producer warps that only copy are possible */
    bool ping_pong;            /* requested: groups of warps that alternate between tiles */
    bool ping_pong_fits;       /* and the registers suffice for its products */
    bool asks_cooperative_3;   /* requested: three groups that share each tile */
    bool cooperative_3;        /* and its products can be divided like that */
    unsigned dots, wgmma_dots; /* products in the text, and those that use wgmma */
    bool loads_rows;           /* wgmma gets an operand in registers, from shared memory */
    bool promotes;             /* 8-bit floats whose sums are added to f32 sums in each iteration */
} tune_work;

/* What the passes will do to the kernel. */
typedef struct tune_passes {
    bool roles;          /* producer warps copy for the consumers */
    bool ping_pong_fits; /* two groups alternate between tiles */
    bool cooperative_3;  /* three groups share each tile */
    bool persistent;     /* each block computes several tiles */
    int64_t shared;      /* bytes of shared memory */
} tune_passes;

/* strategy: none if the kernel's sums are not split. */
tune_passes tune_expect_passes(const tune_work *work, tile_strategy strategy);

/* Unlike fmin and fmax, which handle NaN, these are not calls. */
static inline double least(double a, double b) {
    return a < b ? a : b;
}

static inline double most(double a, double b) {
    return a > b ? a : b;
}

/* Reads a kernel at many points: what they have in common is found once. It is allocated in the
 * arena, and uses the kernel and the sizes (an integer for each argument) as long as it lives. */
typedef struct tune_reader tune_reader;
tune_reader *tune_reader_create(const tile_function *kernel, const int64_t *sizes,
                                const tile_target *target, unsigned num_sms, tile_arena *arena);
/* point: NULL if the kernel is instantiated. */
void tune_reader_read(tune_reader *reader, const tile_bound_params *point, tune_work *work);
/* The factor of the `split` clause at the point, and its strategy; 1 and NULL without a clause. */
void tune_reader_read_split(const tune_reader *reader, const tile_bound_params *point,
                            int64_t *factor, const char **strategy);

/* The same for a single point. */
void tune_read_work(const tile_function *kernel, const tile_bound_params *point,
                    const int64_t *sizes, const tile_target *target, unsigned num_sms,
                    tile_arena *arena, tune_work *work);

void tune_read_split(const tile_function *kernel, const tile_bound_params *point, int64_t *factor,
                     const char **strategy);

/* own[i]: parameter i affects more than the kernel's split. */
void tune_find_own(const tile_function *kernel, bool *own);

#endif
