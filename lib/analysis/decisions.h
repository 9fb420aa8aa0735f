/* What is decided about products and `pipelined` loops, as functions of a few facts: which products
 * warpgroups compute by wgmma, which loops get warps that only copy, and how groups of the other
 * warps divide the work. The passes choose-instructions and specialize-warps take the facts from
 * the IR and report the reasons; the tuner's model takes them from a kernel's text at a point of
 * its space. How results are stored in the background is decided likewise (store_ring.h). */
#ifndef TILE_LIB_ANALYSIS_DECISIONS_H
#define TILE_LIB_ANALYSIS_DECISIONS_H

#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "tile/target.h"

/* Products ------------------------------------------------------------------------------------ */

/* What a product takes from an operand that is lhs or rhs. */
typedef struct tile_dot_operand {
    uint32_t dims[TILE_MAX_RANK];
    unsigned k_dim; /* that of them which lies along k */
    bool shared;    /* wgmma can read it from shared memory; else it is a tile in registers */
    unsigned along; /* if so: the dim in which elements follow each other there */
    const tile_layout *layout; /* likewise: what its buffer is given; NULL: left to the compiler */
} tile_dot_operand;

typedef struct tile_dot_facts {
    tile_mma_query query;  /* types and extents, and the layout that the sums are given */
    bool fast;             /* the attribute */
    unsigned first, warps; /* so many warps, from this one on, compute it */
    tile_dot_operand operand[2];
} tile_dot_facts;

/* Whether its sums are added outside of the tensor cores, for the sake of their precision: 8-bit
 * floats into f32, not `fast`. Such a dot takes further registers for those in the tensor cores,
 * and is never pending. */
bool tile_dot_promotes(const tile_dot_facts *dot);

/* Of a thread: so many may hold sums; with 256 ptxas ends each wgmma before the next. */
enum { TILE_WGMMA_MAX_REGISTERS = 192 };
/* How many hold its sums, spread over so many warps; and how many it takes itself at the least. */
int64_t tile_dot_sum_registers(const tile_dot_facts *dot, unsigned warps);
int64_t tile_dot_registers(const tile_dot_facts *dot);
/* The registers of its sums, spread over so many warps, of `held` bytes beside them
 * (tile_live_across_bytes), and of its first operand as a tile, if wgmma has too few left: ptxas
 * spills then, and ends each wgmma before the next (C7511, C7512). 0: it has enough. */
int64_t tile_dot_excess_registers(const tile_dot_facts *dot, unsigned row_dim, unsigned warps,
                                  int64_t held);

/* Whether the instruction's rows can lie in this dim of the sums. */
bool tile_dot_admits(const tile_dot_facts *dot, unsigned row_dim);
/* The warps that will share its sums: groups of consumers that take turns at tiles, if the loop
 * asks for them, have tiles of their own where these fit. */
unsigned tile_dot_sum_warps(const tile_dot_facts *dot, bool asks_ping_pong);
/* The dim of the sums that the instruction's rows must lie in, as an operand in registers is its
 * first one. 2: either. */
unsigned tile_dot_row_dim_of_registers(const tile_dot_facts *dot);
/* In which dim of the sums the instruction's rows lie best: that of the operand in registers; or
 * `cooperative_3`, which three groups can share; or `others`, in which tiles that meet the sums in
 * memory want them (2: any, for both); or else the one by which these warps read less of shared
 * memory, the plain one of equals. */
unsigned tile_dot_prefer_row_dim(const tile_dot_facts *dot, unsigned warps, unsigned shared_by_3,
                                 unsigned others);
/* The columns of an instruction: its sums fit the registers beside the promoted ones. */
uint32_t tile_dot_most_columns(const tile_dot_facts *dot, unsigned warps);

/* What may be in the way of wgmma. */
typedef enum tile_wgmma_obstacle {
    TILE_WGMMA_NO_OBSTACLE,
    TILE_WGMMA_OBSTACLE_TYPES, /* no instruction multiplies them */
    TILE_WGMMA_OBSTACLE_WARPS, /* they are no whole warpgroups */
    TILE_WGMMA_OBSTACLE_ROWS,  /* the sums are too small for the warps */
    TILE_WGMMA_OBSTACLE_K,     /* k is no multiple of the instruction's */
    TILE_WGMMA_OBSTACLE_REGISTERS,
    TILE_WGMMA_OBSTACLE_GIVEN_LAYOUT, /* the layout of the sums is given */
    TILE_WGMMA_OBSTACLE_ROW_DIM,      /* the row dim that is asked for is too short */
    TILE_WGMMA_OBSTACLE_NOT_SHARED,   /* the second operand is in registers */
    TILE_WGMMA_OBSTACLE_DESCRIPTOR, /* no descriptor names an operand as it lies in shared memory */
} tile_wgmma_obstacle;

/* The first one, whichever dim the rows lie in. */
tile_wgmma_obstacle tile_find_wgmma_obstacle(const tile_dot_facts *dot);
/* With *row_dim or, unless it is `said`, with the other dim: *row_dim becomes the one that fits. If
 * none does: what is in the way of the first one that is long enough, and at which operand. */
tile_wgmma_obstacle tile_choose_row_dim(const tile_dot_facts *dot, bool is_given, unsigned *row_dim,
                                        unsigned *operand);

/* Whether mma.sync does as well: products of few rows, exchanged for either instruction, wait for
 * memory, and mma's fragments are loaded ahead (1 to 3 % on an H200 with 8 to 32 rows). */
static inline bool tile_dot_is_flat(const tile_dot_facts *dot) {
    return dot->query.m <= TILE_WGMMA_FEW_ROWS;
}

/* Groups of warps that compute: `consumers` ---------------------------------------------------- */

/* Why not, and what the user can write; remedy: NULL if nothing helps. why: NULL: nothing is in the
 * way. */
typedef struct tile_rejection {
    const char *why, *remedy;
} tile_rejection;

enum {
    TILE_PING_PONG = 2,     /* groups that take turns at tiles */
    TILE_COOPERATIVE_3 = 3, /* groups of a warpgroup each that share the rows of every tile */
};

/* Whether each of three groups can compute a third of the product along row_dim, in the registers
 * that four warpgroups of a block have. */
bool tile_dot_admits_cooperative_3(const tile_dot_facts *dot, unsigned row_dim);
/* Of the loop's product, whose groups take turns at tiles. */
tile_rejection tile_dot_rejects_ping_pong(const tile_dot_facts *dot);

/* Loops --------------------------------------------------------------------------------------- */

/* A `pipelined` loop. */
typedef struct tile_loop_facts {
    const tile_target *target;
    int64_t stages;   /* of the clause */
    unsigned warps;   /* that execute it */
    bool ordered;     /* it says `order` or `stage` */
    bool is_explicit; /* the kernel says `sync explicit` */
    bool over_tiles;  /* it stands in a loop over independent tiles, as `persistent` makes one */
} tile_loop_facts;

/* Warps that only copy, beside those that compute. */
tile_rejection tile_loop_rejects_roles(const tile_loop_facts *loop);
/* A product in it. wgmma: warpgroups compute it; mma: some mma instruction could. */
tile_rejection tile_loop_rejects_dot(const tile_loop_facts *loop, bool wgmma, bool mma);
/* Products of which one takes what another one makes. */
tile_rejection tile_loop_rejects_chain(const tile_loop_facts *loop);
/* Groups that take turns at tiles. */
tile_rejection tile_loop_rejects_ping_pong(const tile_loop_facts *loop);

/* Copies before a loop that is inside a loop over tiles; they use a ring of their own. */
typedef struct tile_outer_ring_facts {
    const tile_target *target;
    unsigned warps; /* that compute */
    bool alone;     /* a multiprocessor has one block at a time */
    int64_t bytes;  /* of shared memory that the block uses, with one stage of the ring */
    int64_t stage;  /* of that, bytes of the stage */
} tile_outer_ring_facts;

/* Two stages where shared memory has room beside everything else and two pieces of a result for
 * each warpgroup, and a multiprocessor holds as many blocks; otherwise one. */
unsigned tile_choose_outer_ring_stages(const tile_outer_ring_facts *copies);

#endif
