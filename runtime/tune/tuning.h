/* The private definition of a tuning's result, for tune.c and report.c. */
#ifndef TILE_RUNTIME_TUNE_TUNING_H
#define TILE_RUNTIME_TUNE_TUNING_H

#include "runtime/model/space.h"

struct tile_tuning {
    tile_arena arena;
    const char *kernel; /* name of the kernel */
    tile_tuning_facts facts;
    tune_point *points;
    size_t count;
    const tile_candidate **ranked; /* all candidates; NULL: not ranked yet */
    const tile_candidate *best;
};

/* Sorts the candidates for reports, and finds the best. */
void tune_rank(tile_tuning *tuning);

#endif
