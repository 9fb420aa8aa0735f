/* What is found of a walk along one axis (classify.c), for those who take it
 * (fuse.c). */
#ifndef TILE_PASSES_SCHEDULE_CUT_CLASSIFY_H
#define TILE_PASSES_SCHEDULE_CUT_CLASSIFY_H

#include "passes/schedule/cut/online.h"

typedef struct online_classifier {
    schedule *s;
    sched_online *o;
    const sched_domain *domain;
    const sched_group *groups[2]; /* what they read is in memory; NULL: all that has arrays is */
    tile_op guard;                /* a choice of what is lossy, or of 0; 0: none seen */
    tile_op uncast;               /* a cast to f16, which may not hold what is not divided yet */
    unsigned depth;               /* of online_classify in itself */
} online_classifier;

/* The form of the value where it is wanted; what is new of it is added to the walk. */
sched_classified_value online_classify(online_classifier *f, tile_value value,
                                       const sched_map *map);
/* Adds a reduction along the walk whose rows are those of the tile; false: it is none. */
bool online_add_reduction(online_classifier *f, tile_op op, const sched_map *map);
/* Finds the array of a product's operand, whose last two dims are the domain's `first` and
 * `second`; those before them are the result's, where it has them. */
bool online_place_operand(online_classifier *f, sched_product_operand *side, tile_value value,
                          const sched_map *result, unsigned rank, unsigned first, unsigned second);
bool online_is_supported(const tile_type *element);

#endif
