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
    bool lines;    /* the elements of a line of windows are read contiguously (lines.c) */
    unsigned line; /* likewise: a dim after those of the domain, which counts these elements */
    const tile_expr *block; /* likewise: the windows of a tile along the columns */
} windows;

/* neighbors.c */

/* Sets steps, columns, rows and neighbors. */
void windows_choose(windows *w);
/* The bytes of the widest element that the group reads. */
unsigned windows_widest_input(const windows *w);
/* The number of elements of the result that a thread computes. */
int64_t windows_count_neighbors(const windows *w);
/* Returns whether a product with another operand of the window's extents is summed: each element of
 * the operand is used once for each neighbor. */
bool windows_have_weights(const windows *w);
/* Returns whether windows next to each other along the dim share elements. */
bool windows_overlap(const windows *w, unsigned d);
/* A traversal of all that the group computes. */
sched_traversal windows_traverse(const windows *w);

/* lanes.c */

/* sched_lane_loader */
tile_value windows_load_lane(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *map, const tile_expr *pad);
/* Stores tiles of contiguous results. map: over a domain that has each of them. */
void windows_store_lanes(windows *w, const sched_output *output, const sched_map *map,
                         const tile_value *tiles);

/* lines.c */

/* Sets lines, and then one neighbor along the columns: windows are far apart. */
void windows_choose_lines(windows *w);
/* Chooses tiles whose lines are loaded in vectors, and adds the line's dim to the domain of
 * blocks. */
void windows_set_line_tiles(windows *w);

/* reduce.c */

/* A reduction that is needed at a map. */
typedef struct windows_use {
    tile_op op;
    sched_map map;
} windows_use;

/* What a value is computed from: arrays, sources of windows (at coordinates that may be outside),
 * other reductions, or coordinates. */
typedef struct windows_leaf {
    tile_value value;
    sched_map map;
    bool window; /* the source of one */
} windows_leaf;

enum { WINDOWS_MAX_LEAVES = 32 };
typedef struct windows_leaves {
    windows_leaf at[WINDOWS_MAX_LEAVES];
    unsigned count;
    bool too_many;
} windows_leaves;

/* Adds those of the value at the map. */
void windows_list_leaves(windows *w, tile_value value, const sched_map *map, windows_leaves *out);

/* Builds all results of the reductions at their maps. All uses of one operation together read each
 * element once. */
void windows_reduce(windows *w, const windows_use *uses, size_t count);
/* sched_reduce_builder */
tile_value windows_reduce_one(sched_kernel *k, tile_op op, unsigned result, const sched_map *map,
                              const tile_type *element);

/* lines.c: builds the results of one reduction, an element of `type` each, for all its uses. */
void windows_reduce_lines(windows *w, tile_op op, const tile_type *type, const windows_use *uses,
                          size_t count, tile_value *results);

/* windows.c */

/* The width among powers of two that leaves the fewest elements of tiles unused. extent -1: it is
 * not known. */
int windows_best_width(int64_t extent, int least, int most);
/* The dim besides the columns that fills tiles of this height best; -1: none. */
int windows_choose_rows(const windows *w, int height);
/* Creates the group's kernel. */
void sched_make_windowed(schedule *s, sched_group *g, const char *name);

#endif
