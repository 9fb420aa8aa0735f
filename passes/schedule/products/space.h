/* The parameters, points and clauses of kernels of products. */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_SPACE_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_SPACE_H

#include "passes/schedule/kernel/given.h"

typedef enum sched_space {
    SCHED_SPACE_HALF,             /* 16-bit floats, by tensor cores */
    SCHED_SPACE_HALF_PART,        /* the same in a plan, whose points are fewer */
    SCHED_SPACE_HALF_BATCHED,     /* many of them */
    SCHED_SPACE_BYTES,            /* 8-bit elements */
    SCHED_SPACE_BYTES_BATCHED,    /* many of them */
    SCHED_SPACE_GATHERED,         /* 16-bit floats, in rows that index tiles find */
    SCHED_SPACE_SCATTERED,        /* the same, element by element: indices take registers */
    SCHED_SPACE_REGISTER_OPERAND, /* an operand is computed on the way */
    SCHED_SPACE_FMA,              /* what no tensor core multiplies */
} sched_space;

/* What a product needs of its space. */
typedef struct sched_space_needs {
    /* Operands are computed from many arrays, each of which has stages of its own: there are points
     * more that need little shared memory. */
    bool lean;
    int64_t parts; /* of the sums, at the first point; 1: they may be whole */
    /* Likewise, where only a launch tells, as sched_count_parts has it; NULL: it does not. */
    const tile_expr *sized;
} sched_space_needs;

/* A sum on tensor cores that is longer than `long` is made of parts of at most so many terms. */
enum { SCHED_LONG_SUM = 65536, SCHED_MAX_IN_PART = 16384 };

/* Gives the kernel the clauses: parameters block_m, block_n, block_k, stages, num_warps, in some
 * spaces split, strategy and consumers, and what goes with them; a space with fewer
 * conditions where no point of this one has what is fixed. False after a diagnostic. */
bool sched_set_space(schedule *s, tile_function *kernel, sched_space space,
                     const sched_space_needs *needs, const sched_fixed *fixed);

/* Gives `to` the parameters of `from` and the points that they may have. */
void sched_copy_points(tile_function *to, const tile_function *from);

/* The parts of a sum of so many terms: 0 where it may be whole. */
const tile_expr *sched_count_parts(schedule *s, const tile_expr *terms);
/* Launches take points with at least `parts` parts, and the one that has just so many first. Where
 * `parts` is 0, and without a launch, there are the points that there were. */
void sched_size_points(schedule *s, tile_function *f, const tile_expr *parts);
/* How many points at the beginning of the clause are of that kind: 0 or 1. */
unsigned sched_count_sized(const tile_tune_clause *clause);

/* matmul.c: gives the group a kernel. */
void sched_make_matmul(schedule *s, sched_group *g, const char *name);

#endif
