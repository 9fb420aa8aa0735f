/* The analysis of an online loop along one axis (classify.c), for the functions that build it
 * (fuse.c). */
#ifndef TILE_PASSES_SCHEDULE_CUT_CLASSIFY_H
#define TILE_PASSES_SCHEDULE_CUT_CLASSIFY_H

#include "passes/schedule/cut/online.h"

typedef struct online_classifier {
    schedule *s;
    sched_online *o;
    const sched_domain *domain;
    const sched_group *groups[2]; /* only their inputs are in memory; NULL: all values that have
                                     arrays are */
    tile_op guard;                /* a select between a lossy value and 0, or TILE_NO_OP */
    tile_op uncast;               /* a cast to f16, which may overflow before the division */
    unsigned depth;               /* recursion depth of online_classify */
} online_classifier;

/* Returns the form of the value at map, and adds newly found reductions and exponentials to the
 * loop. */
sched_classified_value online_classify(online_classifier *f, tile_value value,
                                       const sched_map *map);
/* Adds a reduction along the loop's axis for the rows of the tile. False if op is none. */
bool online_add_reduction(online_classifier *f, tile_op op, const sched_map *map);
/* Finds the array of a product's operand. Its last two dims are the domain's `first` and `second`;
 * earlier dims are those of the result. */
bool online_place_operand(online_classifier *f, sched_product_operand *side, tile_value value,
                          const sched_map *result, unsigned rank, unsigned first, unsigned second);
bool online_is_supported(const tile_type *element);
/* Returns whether the loop reads the value. Arrays of later groups do not count; the loop computes
 * these values. */
bool online_is_read(const online_classifier *f, tile_value value);

#endif
