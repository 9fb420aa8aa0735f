/* What is found of a walk along one axis (chain.c), for those who take it
 * (take.c). */
#ifndef TILE_PASSES_SCHEDULE_CUT_CHAIN_H
#define TILE_PASSES_SCHEDULE_CUT_CHAIN_H

#include "passes/schedule/cut/online.h"

typedef struct chain_finder {
    schedule *s;
    sched_online *o;
    const sched_domain *domain;
    const sched_group *groups[2]; /* what they read is in memory; NULL: all that has arrays is */
    tile_op guard;                /* a choice of what is lossy, or of 0; 0: none seen */
    tile_op uncast;               /* a cast to f16, which may not hold what is not divided yet */
    unsigned depth;               /* of chain_classify in itself */
} chain_finder;

/* The form of the value where it is wanted; what is new of it is added to the walk. */
sched_known_form chain_classify(chain_finder *f, tile_value value, const sched_map *map);
/* Adds a reduction along the walk whose rows are those of the tile; false: it is none. */
bool chain_add_reduction(chain_finder *f, tile_op op, const sched_map *map);
/* Finds the array of a product's operand, whose last two dims are the domain's `first` and
 * `second`; those before them are the result's, where it has them. */
bool chain_place_side(chain_finder *f, sched_side *side, tile_value value, const sched_map *result,
                      unsigned rank, unsigned first, unsigned second);
bool chain_is_supported(const tile_type *element);

#endif
