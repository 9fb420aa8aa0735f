/* A kernel at a point of its tuning space, as the model sees it, and the blocks that run it. */
#ifndef TILE_RUNTIME_MODEL_ESTIMATE_H
#define TILE_RUNTIME_MODEL_ESTIMATE_H

#include "runtime/model/work.h"
#include "tile/split.h"

enum { PRODUCER_WARPS = 4 /* the warpgroup that only issues a loop's copies */ };

typedef struct machine {
    const tile_target *target;
    double sms, clock, bandwidth; /* Hz, bytes per second */
    double mma, wgmma; /* f16 operations per cycle and multiprocessor; 0: not available */
} machine;

/* A kernel at a point: its work, with the loop iterations distributed over blocks. */
typedef struct point_estimate {
    const machine *m;
    const tune_work *w;
    double factor;               /* parts into which each sum is split */
    tile_strategy strategy;      /* none: sums are not split */
    tune_cost cost;              /* of one block */
    double tiles, blocks, steps; /* steps: iterations of the loop */
    double rounds;               /* of loads for which a block waits */
    double each;          /* tiles of a block: 1, a part of one, or with stream_k any number */
    double last, members; /* stream_k: a block's share of a tile of the last round, and the number
                           * of blocks that share it; 1: none is shared */
    tune_passes made;     /* roles, ping-pong, stores in the background */
} point_estimate;

/* The number of multiprocessors that can be busy if each runs one block. */
double point_places(const point_estimate *s);
/* Distributes the loop's iterations over the blocks: sets what follows `strategy`. */
void point_distribute(point_estimate *s);
/* The warps of a block that multiply: with cooperative_3, those of three warpgroups. */
unsigned point_warps(const point_estimate *s);
/* The registers of a thread that hold accumulators. */
double point_registers(const point_estimate *s);
/* NULL if the point fits; otherwise the reason, in the arena. arena NULL: any text. */
const char *point_find_obstacle(const point_estimate *s, tile_arena *arena);
/* Resident blocks per multiprocessor, if a thread needs `tile_registers` for tiles. */
double point_count_resident(const point_estimate *s, double tile_registers);
/* epilogue.c: the exposed time of computing the results of `each` tiles, whose loops take `loop`
 * seconds each. */
double point_time_epilogue(const point_estimate *s, double each, double resident, double loop);

#endif
