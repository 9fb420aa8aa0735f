/* The parameters, tuning points and clauses of product kernels. */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_SPACE_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_SPACE_H

#include "passes/schedule/kernel/given.h"

typedef enum sched_space {
    SCHED_SPACE_HALF,             /* 16-bit floats on tensor cores */
    SCHED_SPACE_HALF_PART,        /* the same in a large plan, with fewer points */
    SCHED_SPACE_BYTES,            /* 8-bit elements */
    SCHED_SPACE_BYTES_PART,       /* the same in a large plan, with fewer points */
    SCHED_SPACE_BYTES_COMPUTED,   /* an operand is computed */
    SCHED_SPACE_SCALED,           /* 8-bit floats with a scale for each 128 of k */
    SCHED_SPACE_PACKED,           /* 16-bit floats and weights of 4 bits */
    SCHED_SPACE_GATHERED,         /* 16-bit floats, with rows selected by index tiles */
    SCHED_SPACE_SCATTERED,        /* the same with single elements, whose indices need registers */
    SCHED_SPACE_REGISTER_OPERAND, /* an operand is computed in registers */
    SCHED_SPACE_TF32,             /* f32 multiplied as tf32 */
    SCHED_SPACE_TF32_WINDOWS,     /* the same, in steps at one position of a filter */
    SCHED_SPACE_TF32_PART,        /* the same in a large plan, with fewer points */
    SCHED_SPACE_TF32_COMPUTED,    /* an operand is computed */
    SCHED_SPACE_PARTS,            /* f32 split into several bf16 in registers */
    SCHED_SPACE_FMA_PART,         /* types without tensor core instructions, in a plan */
    SCHED_SPACE_FMA,              /* types without tensor core instructions */
    SCHED_SPACE_FMA_WINDOWS,      /* the same with windows that are copied with index tiles */
    SCHED_SPACE_FMA_FIXED,        /* the same if a user fixes values that no point has */
    SCHED_SPACE_COUNT
} sched_space;

/* Requirements of a product on its tuning space. */
typedef struct sched_space_needs {
    /* Operands are computed from many arrays, each of which needs stages: adds points with small
     * shared memory. */
    bool lean;
    int64_t parts; /* number of parts of the sums at the first point; 1: no parts are needed */
    /* The same if it depends on the launch, as from sched_count_parts; NULL: it does not. */
    const tile_expr *sized;
} sched_space_needs;

/* On tensor cores, a sum of more than SCHED_LONG_SUM terms is split into parts of at most
 * SCHED_MAX_IN_PART terms. */
enum { SCHED_LONG_SUM = 65536, SCHED_MAX_IN_PART = 16384 };

/* Gives the kernel the space's clauses: parameters block_m, block_n, block_k, stages, num_warps, in
 * some spaces split, strategy, consumers and clusters, and related attributes. If no point agrees
 * with the fixed values, uses a space with fewer conditions. element: of the left operand; sum: of
 * the sums. False after a diagnostic. */
bool sched_set_space(schedule *s, tile_function *kernel, sched_space space,
                     const tile_type *element, const tile_type *sum, const sched_space_needs *needs,
                     const sched_fixed *fixed);

/* Gives `to` the parameters of `from` and their points. */
void sched_copy_points(tile_function *to, const tile_function *from);

/* The number of parts for a sum of this many terms; 0 if it needs no parts. */
const tile_expr *sched_count_parts(schedule *s, const tile_expr *terms);
/* Restricts launches to points with at least `parts` parts, and tries the one with exactly that
 * many first. If `parts` is 0, or without a launch, the points are unchanged. */
void sched_size_points(schedule *s, tile_function *f, const tile_expr *parts);
/* The number of such points at the beginning of the clause: 0 or 1. */
unsigned sched_count_sized(const tile_tune_clause *clause);

/* matmul.c: creates the group's kernel. */
void sched_make_matmul(schedule *s, sched_group *g, const char *name);

#endif
