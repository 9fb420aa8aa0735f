/* The inside of a tuning's result, for tune.c and report.c. */
#ifndef TILE_RUNTIME_TUNE_TUNING_H
#define TILE_RUNTIME_TUNE_TUNING_H

#include "runtime/model/space.h"

struct tile_tuning {
    tile_arena arena;
    const char *kernel; /* its name */
    tile_tuning_facts facts;
    const char *unkept; /* why the best is not in a cache; NULL: it is, or there is none */
    tune_point *points;
    size_t count;
    const tile_candidate **ranked; /* all of them; NULL: not ranked yet */
    const tile_candidate *best;
};

/* Puts the candidates into the order of reports, and finds the best. */
void tune_rank(tile_tuning *tuning);

#endif
