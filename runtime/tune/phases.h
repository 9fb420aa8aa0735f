/* Tuning a plan one kernel after another. The time of a plan is the sum of its launches' times. If
 * parameters do not influence each other's launches, the fastest plan has the fastest point of each
 * group of parameters, so that a phase of the tuning measures the points of one group, with the
 * best known values of the others. Then the number of measurements is the sum of the groups'
 * points, not their product. */
#ifndef TILE_RUNTIME_TUNE_PHASES_H
#define TILE_RUNTIME_TUNE_PHASES_H

#include "runtime/model/space.h"

typedef struct tune_phases {
    const tile_function *plan; /* NULL: all points are measured in one phase */
    const tile_binding *given; /* by the caller */
    unsigned given_count;
    const size_t *groups;        /* by parameter: tune_group_params */
    const tile_candidate *start; /* a point of the plan at which each `where` is true */
    unsigned left;               /* phases that have not begun */
    size_t next; /* the next phase is that of the group of a parameter from here on */
} tune_phases;

/* Finds the phases of a tuning. Everything is allocated in the arena. */
void tune_phases_open(tune_phases *phases, const tile_device *device, const tile_module *module,
                      const tile_function *f, const tile_binding *given, unsigned given_count,
                      const int64_t *sizes, tile_arena *arena);
/* The bindings of the next phase's points: those given and those of the best point so far (NULL:
 * none) for the other groups. NULL if there is no other phase. */
const tile_binding *tune_phases_next(tune_phases *phases, const tile_candidate *best,
                                     tile_arena *arena, unsigned *count);

#endif
