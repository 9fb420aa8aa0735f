/* Splitting a kernel's sums: what the clause `for .. split (factor, strategy)` may say.
 *
 * A kernel whose author wrote the clause has it among its parameters as a rule, and `tune` names
 * the points. These calls are for the others: a tuner asks which points a kernel has, and writes
 * one into a copy of it, and launches take the fastest of those that were tuned (tile/device.h).
 * Threads: as for the module's context. */
#ifndef TILE_SPLIT_H
#define TILE_SPLIT_H

#include "tile/ir.h"
#include "tile/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A point as bindings: given these two, tile_instantiate (and whatever takes bindings, tile_tune
 * and launches that pick among it) writes the clause before it binds the parameters. */
#define TILE_SPLIT_FACTOR "split.factor"
#define TILE_SPLIT_STRATEGY "split.strategy"

typedef struct tile_split_point {
    unsigned factor;      /* 1: no split */
    const char *strategy; /* a word of the attribute `strategy`; static */
} tile_split_point;

enum { TILE_MAX_SPLIT_POINTS = 256 };

/* The points that are legal on the target for the reduction loop of a kernel, or of the only kernel
 * with one that a plan launches: 1, and with each strategy the factors 2, 3, 4, 6, 8, 12, .. (2^i,
 * 3 x 2^i) up to 192 as far as it goes; any number between them is as right. The loop is the one
 * with the clause, else the only one in the body that carries values. Fills points and returns how
 * many; 1, the factor 1, where nothing can be split (no such loop, or what split-k would refuse),
 * and 0 if the function is no instantiated plan, nor such a kernel of level 2. Reports nothing.
 * Which of them are worth a try depends on the shape: tiles x factor should be about the
 * multiprocessors of the device. */
TILE_API unsigned tile_split_space(const tile_function *f, const tile_target *target,
                                   tile_split_point points[TILE_MAX_SPLIT_POINTS]);

/* Writes the clause onto that loop, or over the one that is there; nothing need be instantiated.
 * TILE_INVALID after a diagnostic if there is no such loop, no such strategy, or the factor is not
 * 1 to TILE_MAX_SPLIT. */
TILE_API tile_status tile_split_write(tile_function *f, const tile_split_point *point);

#ifdef __cplusplus
}
#endif

#endif
