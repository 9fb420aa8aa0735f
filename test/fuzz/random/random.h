/* Random well-typed kernels and computes, as text with arguments: each a function of its seed
 * alone.
 *
 * What they compute is the same to the bit at every level, on every device and with any of the
 * passes that need not run: inputs are small whole numbers, sums and products of floats are made
 * only of values that are known to stay small and whole, and operations whose last bits are the
 * machine's own are left out where a GPU is compared. What reads outside, wraps, or is a NaN is
 * defined, and occurs. Computes of online.c are the same up to a tolerance. */
#ifndef TILE_TEST_RANDOM_H
#define TILE_TEST_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/tool.h"

enum { MAX_RANK = 6, MAX_VALUES = 400, MAX_GEN_ARGUMENTS = 60, ANYTHING = -1, GEN_DIMS = 3 };

/* A dim of a compute is an extent that no other one is, and that it does not exceed. */
enum { GEN_DIM_M = 107, GEN_DIM_N = 109, GEN_DIM_K = 113 };

typedef struct shape {
    unsigned rank;
    int dims[MAX_RANK];
} shape;

/* A tile that later statements may use. */
typedef struct value {
    char name[24];
    tile_scalar scalar;
    shape shape;
    int64_t small; /* whole numbers of at most this size; ANYTHING: not known, NaNs too */
} value;

typedef struct gen {
    uint64_t state;
    bool inexact;      /* operations may be used whose last bits are the machine's */
    bool meaning;      /* only what level 1 has, and exactly */
    bool clusters;     /* the target has them */
    tool_text aliases; /* layouts */
    tool_text lines, arguments, values_text; /* the body, the head's list, --arg for each */
    unsigned argument_count, names, depth, warps;
    unsigned loops; /* around the statement */
    bool threads;   /* a kernel of level 3: values are one thread's vectors and scalars */
    bool cluster;   /* of two blocks, along the grid's first dim */
    bool barriers;  /* in shared memory, which a block has once */
    bool turns;     /* blocks wait for those before them */
    bool plain;     /* no loop, branch or barrier around: every thread comes here, once */
    bool mixed;     /* a kernel of tiles in which threads work on their own, too */
    int grid[2];
    value values[MAX_VALUES];
    unsigned first, count; /* those from first on may be used */
    char indices[16][24];  /* i32 that are the same in all threads */
    unsigned index_count;
    tool_text inputs, results; /* of the compute, where `meaning` holds */
    bool compute;              /* it stands alone, and `meaning` holds */
    bool online;               /* and is of online.c */
    bool given;                /* a reduction of it says what its tile is */
    int dims[GEN_DIMS];        /* its dims: what the launch has */
    bool dim_known[GEN_DIMS];  /* an array has it */
    double tolerance;          /* of its results; 0: they are the same to the bit */
} gen;

/* random.c */
uint32_t gen_below(gen *g, uint32_t limit);
bool gen_chance(gen *g, unsigned percent);
/* gen_pick(g, 1, 2, 3): one of them; gen_word(g, "a", "b"). */
#define gen_pick(g, ...) \
    (((const int[]){__VA_ARGS__})[gen_below(g, sizeof((const int[]){__VA_ARGS__}) / sizeof(int))])
#define gen_word(g, ...) \
    (((const char *const[]){ \
        __VA_ARGS__})[gen_below(g, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))])
/* Formatted text that lives until thousands of other ones are made. */
const char *gen_text(const char *format, ...);
void gen_say(gen *g, const char *format, ...); /* a line of the body */
const char *gen_name(gen *g, const char *stem);
const char *gen_dims(shape s);                                       /* "[16, 32]" */
const char *gen_type(const char *kind, tile_scalar scalar, shape s); /* "tile<f16[16, 32]>" */
const char *gen_array(const gen *g, tile_scalar scalar, shape s);    /* a tile, or a tensor */
shape gen_shape(gen *g);
shape gen_with(shape s, unsigned dim, int extent);
void gen_turn(shape *s); /* the last two dims exchanged */
bool gen_same_shape(shape a, shape b);
int64_t gen_elements(shape s);
tile_scalar gen_scalar(gen *g); /* one with arithmetic, not i1 */
bool gen_is_float(tile_scalar scalar);
/* The largest whole number up to which sums are exact in this type. */
int64_t gen_limit(tile_scalar scalar);
/* A new value, not yet defined; it is visible from gen_add on. */
value gen_value(gen *g, tile_scalar scalar, shape s, int64_t small);
void gen_add(gen *g, const value *v);
const value *gen_any(gen *g);                  /* some tile; there is one */
const value *gen_like(gen *g, const value *v); /* of this type, perhaps the same */
/* A number of this type: "f16(2.0)". */
const char *gen_number(tile_scalar scalar, int number);
const char *gen_index(gen *g); /* an i32 that is the same in all threads */
void gen_add_index(gen *g, const char *name);
const char *gen_argument(gen *g, int number, int divisible); /* an i32 of the launch */

/* bounds.c: `for .. = begin to end step step`, with as many iterations as from 0 to `end`. */
typedef struct bounds {
    const char *begin, *end, *step;
    const char *from; /* where it begins, if that is not where it was; NULL: it is */
    int64_t scale;
} bounds;
bounds gen_bounds(gen *g, int end, int step);
/* In the loop: the coordinate that the iteration has from 0 on, which is the variable or is said.
 */
const char *gen_counted(gen *g, const bounds *b, const char *variable);
/* An argument that is an array; what the body calls the view of it. fill: as tile-run has it. */
const char *gen_view(gen *g, tile_scalar scalar, shape extents, const char *fill);

/* values.c: operations that compute tiles from tiles. Each adds what it makes; false: it could not.
 */
bool gen_elementwise(gen *g);
bool gen_cast(gen *g);
bool gen_bitcast(gen *g);
bool gen_shapes(gen *g);
bool gen_axis(gen *g);
bool gen_gather(gen *g);
bool gen_histogram(gen *g);
bool gen_iota(gen *g);
bool gen_dot(gen *g);
value gen_cast_to(gen *g, const value *v, tile_scalar scalar);
value gen_zeros(gen *g, tile_scalar scalar, shape s);

/* memory.c */
value gen_load(gen *g, tile_scalar scalar, shape s);
bool gen_prefetch(gen *g);
bool gen_inside(gen *g);
bool gen_through_shared(gen *g);
bool gen_atomic(gen *g);
bool gen_scratch(gen *g);
bool gen_turns(gen *g);
bool gen_barriers(gen *g);
bool gen_cluster(gen *g);
bool gen_scalars(gen *g);
bool gen_told(gen *g);
void gen_store(gen *g, const value *v);

/* fragments.c: what threads do with their elements of tiles, and tiles again; where `mixed` holds.
 */
bool gen_fragments(gen *g);
bool gen_mma(gen *g);

/* control.c */
bool gen_for(gen *g);
bool gen_while(gen *g);
bool gen_if(gen *g);
bool gen_explicit(gen *g);
bool gen_roles(gen *g);
bool gen_parallel(gen *g);
bool gen_product_loop(gen *g);
/* Some statements, of all kinds that may stand here. */
void gen_statements(gen *g, unsigned count);

/* kernel.c */
typedef struct gen_options {
    uint64_t seed;
    bool cuda;   /* a GPU is compared: nothing inexact, all targets of the same GPU */
    bool online; /* only what online.c makes */
} gen_options;

/* The kernel or compute @fuzz, behind a line of options for its arguments as tile-opt has them;
 * where a kernel has one, a compute @meaning whose argument %x is the kernel's %a_x and whose
 * result %y its %o_y. The caller's. */
char *gen_kernel(const gen_options *options);

/* computes.c: a compute of level 1, into g->inputs, g->results and g->lines. */
void gen_compute(gen *g);
value gen_input(gen *g, tile_scalar scalar, shape s);
value gen_filled(gen *g, tile_scalar scalar, shape s, const char *fill); /* another input */
/* contents: what follows TYPE[DIMS], ":finite@0=7" or "=1,2*0", or "". */
value gen_filled_with(gen *g, tile_scalar scalar, shape s, const char *fill, const char *contents);
void gen_result(gen *g, const value *v);
/* Attributes of a reduction's kernel, ", tile = [4, 64], warps = 2", or "". */
const char *gen_given(gen *g, shape s, unsigned axis);
bool gen_is_dim(int extent); /* one of the compute's, which the launch tells */
const char *gen_extent(int extent);

/* online.c: of products, maxima and exponentials of them. */
void gen_online(gen *g);

/* threads.c: a kernel of level 3, into g->lines. */
void gen_threads(gen *g);
/* %t, %lane, %warp: which thread this is. */
void gen_thread_numbers(gen *g);
shape gen_vector(int elements); /* of a thread; 0: a scalar */
int gen_vector_elements(const value *v);
const char *gen_vector_type(tile_scalar scalar, int elements);
/* Of at most 32 elements. */
void gen_permute(gen *g, const value *a);
/* What the lanes of a warp tell each other, the same in lanes that have the same: of a scalar. */
bool gen_vote(gen *g);
bool gen_redux(gen *g);
bool gen_match(gen *g);
bool gen_elect(gen *g);

#endif
