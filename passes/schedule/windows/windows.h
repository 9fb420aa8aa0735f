/* The interface between the files of windowed kernels: see windows.c. */
#ifndef TILE_PASSES_SCHEDULE_WINDOWS_WINDOWS_H
#define TILE_PASSES_SCHEDULE_WINDOWS_WINDOWS_H

#include "passes/schedule/cut/cut.h"

/* How windows move along a dim of the domain. */
typedef struct windows_step {
    int64_t positions, stride, dilation; /* positions 0: no windows along it */
} windows_step;

/* A combination of some positions of a window, which overlapping windows share. */
typedef struct windows_partial windows_partial;

typedef struct windows {
    sched_kernel k;     /* its group is `scaled` */
    sched_group *g;     /* the group of the compute */
    sched_group scaled; /* its domain counts blocks of neighbors */
    windows_step steps[SCHED_MAX_DIMS];
    int64_t neighbors[SCHED_MAX_DIMS]; /* by the domain's dim: elements of the result that a thread
                                          computes along it */
    int vector;                        /* elements of a tile that a thread has, contiguous */
    int64_t lanes;                     /* neighbors along the columns, which are stored together; 1:
                                          a thread has one column */
    unsigned columns;                  /* the dim along which a tile's elements are contiguous */
    int rows;                          /* the tile's other dim; -1: none */
    windows_partial *partials;
    size_t partial_count, partial_capacity;
    struct windows_vector **vectors; /* lanes.c */
    size_t vector_count, vector_capacity;
} windows;

/* neighbors.c */

/* Sets steps, columns, rows and neighbors. */
void windows_choose(windows *w);
/* The number of elements of the result that a thread computes. */
int64_t windows_count_neighbors(const windows *w);

/* lanes.c */

/* sched_lane_loader */
tile_value windows_load_lane(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *map, const tile_expr *pad);
/* Stores tiles of contiguous results. map: over a domain that has each of them. */
void windows_store_lanes(windows *w, const sched_output *output, const sched_map *map,
                         const tile_value *tiles);

/* reduce.c */

/* A reduction that is needed at a map. */
typedef struct windows_use {
    tile_op op;
    sched_map map;
} windows_use;

/* Builds all results of the reductions at their maps. All uses of one operation together read each
 * element once. */
void windows_reduce(windows *w, const windows_use *uses, size_t count);
/* sched_reduce_builder */
tile_value windows_reduce_one(sched_kernel *k, tile_op op, unsigned result, const sched_map *map,
                              const tile_type *element);

/* windows.c: creates the group's kernel. */
void sched_make_windowed(schedule *s, sched_group *g, const char *name);

#endif
