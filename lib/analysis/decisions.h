/* Decisions about products and `pipelined` loops, as functions of a few facts: which products use
 * wgmma, which loops get producer warps, and how consumer groups divide the work. The passes
 * choose-instructions and specialize-warps derive the facts from the IR and report the reasons. The
 * tuner's cost model derives them from the kernel's text at a point of its space. The decision how
 * results are stored asynchronously is in store_ring.h. */
#ifndef TILE_LIB_ANALYSIS_DECISIONS_H
#define TILE_LIB_ANALYSIS_DECISIONS_H

#include "lib/layout/mma.h"
#include "lib/layout/wgmma.h"
#include "tile/target.h"

/* Products ------------------------------------------------------------------------------------ */

/* An operand of a product, lhs or rhs. */
typedef struct tile_dot_operand {
    uint32_t dims[TILE_MAX_RANK];
    unsigned k_dim; /* the one of its dims that is k */
    bool shared;    /* wgmma can read it from shared memory; otherwise it is a tile in registers */
    unsigned along; /* if shared: the dim along which elements are contiguous in its buffer */
    const tile_layout
        *layout; /* if shared: the given layout of its buffer; NULL: the compiler chooses it */
} tile_dot_operand;

typedef struct tile_dot_facts {
    tile_mma_query query;  /* types and extents, and the given layout of the sums */
    bool fast;             /* the attribute `fast` */
    bool alone;            /* no other dot is directly in its region */
    unsigned first, warps; /* `warps` warps, beginning with warp `first`, compute it */
    tile_dot_operand operand[2];
} tile_dot_facts;

/* Returns whether partial sums are added outside of the tensor cores for precision: products of
 * 8-bit floats with f32 sums, unless `fast` is set. Such a dot needs extra registers for the sums
 * in the tensor cores, and is never asynchronous. */
bool tile_dot_promotes(const tile_dot_facts *dot);

/* Limit of registers per thread for sums; with 256, ptxas serializes the wgmma instructions. */
enum { TILE_WGMMA_MAX_REGISTERS = 192 };
/* tile_dot_sum_registers: registers per thread that hold its sums, spread over this number of
 * warps. tile_dot_registers: the minimum that the dot itself needs. */
int64_t tile_dot_sum_registers(const tile_dot_facts *dot, unsigned warps);
int64_t tile_dot_registers(const tile_dot_facts *dot);
/* Returns the registers per thread that the dot needs if wgmma has too few, otherwise 0. They hold
 * its sums, spread over this number of warps, `held` bytes of other values
 * (tile_live_across_bytes), and its first operand if that is a tile. If there are too few, ptxas
 * spills and serializes the wgmma instructions (C7511, C7512). */
int64_t tile_dot_excess_registers(const tile_dot_facts *dot, unsigned row_dim, unsigned warps,
                                  int64_t held);

/* Of 32-bit and 8-bit elements in shared memory, wgmma reads only those that are contiguous along
 * k. If only one operand's are not, it becomes a tile in registers. */
void tile_dot_choose_registers(tile_dot_facts *dot);

/* Returns whether this dim of the sums can be the row dim of the instruction. */
bool tile_dot_admits(const tile_dot_facts *dot, unsigned row_dim);
/* The number of warps that share its sums. If the loop asks for ping-pong, each consumer group has
 * its own tiles, provided that they fit. */
unsigned tile_dot_sum_warps(const tile_dot_facts *dot, bool asks_ping_pong);
/* The dim of the sums that must be the instruction's row dim because the operand in registers is
 * its first operand. 2: either. */
unsigned tile_dot_row_dim_of_registers(const tile_dot_facts *dot);
/* The best row dim of the instruction, by the first rule that applies: the dim required by an
 * operand in registers; `shared_by_3`, which three consumer groups can share; `others`, which tiles
 * that are combined with the sums in memory prefer (2 in these arguments: any); the dim with which
 * these warps read less shared memory, the plain form if equal. */
unsigned tile_dot_prefer_row_dim(const tile_dot_facts *dot, unsigned warps, unsigned shared_by_3,
                                 unsigned others);
/* Largest number of columns of an instruction whose sums fit the registers beside the promoted
 * sums. */
uint32_t tile_dot_most_columns(const tile_dot_facts *dot, unsigned warps);

/* Reasons why a product cannot use wgmma. */
typedef enum tile_wgmma_obstacle {
    TILE_WGMMA_NO_OBSTACLE,
    TILE_WGMMA_OBSTACLE_TYPES, /* no instruction has these types */
    TILE_WGMMA_OBSTACLE_WARPS, /* the warps are not whole warpgroups */
    TILE_WGMMA_OBSTACLE_ROWS,  /* the sums are too small for the warps */
    TILE_WGMMA_OBSTACLE_K,     /* k is not a multiple of the instruction's k */
    TILE_WGMMA_OBSTACLE_REGISTERS,
    TILE_WGMMA_OBSTACLE_GIVEN_LAYOUT, /* the layout of the sums is given */
    TILE_WGMMA_OBSTACLE_ROW_DIM,      /* the requested row dim is too short */
    TILE_WGMMA_OBSTACLE_NOT_SHARED,   /* the second operand is in registers */
    TILE_WGMMA_OBSTACLE_DESCRIPTOR, /* no descriptor can describe the layout of an operand in shared
                                       memory */
} tile_wgmma_obstacle;

/* The first obstacle, whichever the row dim. */
tile_wgmma_obstacle tile_find_wgmma_obstacle(const tile_dot_facts *dot);
/* The obstacle with row dim *row_dim or, unless it is given, with the other one; *row_dim becomes
 * the one that has none. If neither fits, returns the obstacle, and its operand, for the first of
 * them that is long enough. */
tile_wgmma_obstacle tile_choose_row_dim(const tile_dot_facts *dot, bool is_given, unsigned *row_dim,
                                        unsigned *operand);

/* Returns whether mma.sync is at least as fast: products with few rows are bound by memory, and the
 * fragments of mma are prefetched (on an H200 with 3 x 14336 x 8192 of f16, 64 us against 72). But
 * if rhs is contiguous along k, its tiles are copied by TMA in rows of at least 128 bytes, and
 * exchanged, wgmma multiplies it from there: with 16 rows 97 to 99 % of the speed of a read,
 * against 92 to 97 % (f16 and float8), with 64 rows of float8 94 % against 66 %. Of several dots in
 * a loop, some of which use mma, none would have a producer warp. */
static inline bool tile_dot_is_flat(const tile_dot_facts *dot) {
    const tile_dot_operand *lhs = &dot->operand[TILE_MMA_LHS], *rhs = &dot->operand[TILE_MMA_RHS];
    bool streamed = dot->alone && lhs->shared && rhs->shared && rhs->along == rhs->k_dim;
    return dot->query.m <= TILE_WGMMA_FEW_ROWS && !streamed;
}

/* Consumer groups: the attribute `consumers` --------------------------------------------------- */

/* A reason, and what the user can change. remedy NULL: nothing helps. why NULL: not rejected. */
typedef struct tile_rejection {
    const char *why, *remedy;
} tile_rejection;

enum {
    TILE_PING_PONG = 2,     /* groups that alternate between tiles */
    TILE_COOPERATIVE_3 = 3, /* groups of one warpgroup each that share the rows of every tile */
};

/* Returns whether each of three groups can compute a third of the product along row_dim, with the
 * registers that a thread has in a block of four warpgroups. */
bool tile_dot_admits_cooperative_3(const tile_dot_facts *dot, unsigned row_dim);
/* For the product of a loop whose groups alternate between tiles. */
tile_rejection tile_dot_rejects_ping_pong(const tile_dot_facts *dot);

/* Loops --------------------------------------------------------------------------------------- */

/* A `pipelined` loop. */
typedef struct tile_loop_facts {
    const tile_target *target;
    int64_t stages;   /* operand of the clause */
    unsigned warps;   /* warps that execute the loop */
    bool ordered;     /* it has `order` or `stage` */
    bool is_explicit; /* the kernel says `sync explicit` */
    bool over_tiles;  /* it is inside a loop over independent tiles, such as `persistent` makes */
} tile_loop_facts;

/* For a separate producer warp in addition to the consumers. */
tile_rejection tile_loop_rejects_roles(const tile_loop_facts *loop);
/* For a product in the loop. wgmma: it uses wgmma; mma: there is an mma instruction for it. */
tile_rejection tile_loop_rejects_dot(const tile_loop_facts *loop, bool wgmma, bool mma);
/* For products of which one uses the result of another one. */
tile_rejection tile_loop_rejects_chain(const tile_loop_facts *loop);
/* For groups that alternate between tiles. */
tile_rejection tile_loop_rejects_ping_pong(const tile_loop_facts *loop);

/* Interleaved rows (passes/expand/interleave_rows.c) --------------------------------------------
 */

enum {
    TILE_INTERLEAVE_SEGMENT = 64,       /* bytes that memory transfers at once */
    TILE_INTERLEAVE_LEAST_DEPTH = 1024, /* terms, of which the first and last are added apart */
};

/* Returns whether blocks should have rows that begin at the same offset. bytes: of an element;
 * access: bytes to which all rows are aligned; tile: rows of a block. Tiles that are mostly empty
 * do not pay, and rows of 16-bit elements that are aligned to 8 bytes are copied so (H200, 5 x 3723
 * x 8868 of bf16: 29 us; 30 with interleaved rows). */
static inline bool tile_interleaving_pays(unsigned bytes, unsigned access, int64_t rows,
                                          int64_t tile) {
    enum { CHUNK = 16, WIDE = 8 };
    if (bytes > 2 || access >= (bytes == 2 ? WIDE : CHUNK) || rows < 1 || tile < 1) return false;
    const int64_t period = TILE_INTERLEAVE_SEGMENT / access, own = (rows + period - 1) / period;
    return period * ((own + tile - 1) / tile) * tile <= rows + rows / 4;
}

/* Copies before a loop that is inside a loop over tiles; they use a separate ring buffer. */
typedef struct tile_outer_ring_facts {
    const tile_target *target;
    unsigned warps; /* consumer warps */
    bool alone;     /* a multiprocessor runs one block at a time */
    int64_t bytes;  /* shared memory of the block, with one stage of the ring */
    int64_t stage;  /* bytes of one stage */
} tile_outer_ring_facts;

/* Returns 2 if a second stage fits into shared memory beside everything else and two pieces of a
 * result for each warpgroup, and does not reduce the number of resident blocks; otherwise 1. */
unsigned tile_choose_outer_ring_stages(const tile_outer_ring_facts *copies);

#endif
