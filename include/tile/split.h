/* Splits the reductions of a kernel: possible values of the clause `for .. split (factor,
 * strategy)`.
 *
 * If the author of a kernel wrote the clause, its operands are usually parameters, and `tune` lists
 * the points. These functions are for other kernels. A tuner lists the points of a kernel and
 * writes one into a copy of it. Launches use the fastest tuned point (tile/device.h). Threads: as
 * for the module's context. */
#ifndef TILE_SPLIT_H
#define TILE_SPLIT_H

#include "tile/ir.h"
#include "tile/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The names of a point's bindings. Given these two bindings, tile_instantiate writes the clause
 * before it binds the parameters. So does every function that takes bindings, such as tile_tune,
 * and every launch that selects points. */
#define TILE_SPLIT_FACTOR "split.factor"
#define TILE_SPLIT_STRATEGY "split.strategy"

typedef struct tile_split_point {
    unsigned factor;      /* 1: no split */
    const char *strategy; /* a word of the attribute `strategy`; static */
} tile_split_point;

enum { TILE_MAX_SPLIT_POINTS = 256 };

/* Lists the points that are legal on the target for the reduction loop of a kernel, or of the only
 * kernel with such a loop that a plan launches. The points are factor 1, and for each strategy the
 * factors 2, 3, 4, 6, 8, 12, .. (2^i, 3 x 2^i) up to 192, as far as they are legal; any factor
 * between them is legal, too. The loop is the one with the clause, or else the only one in the body
 * that carries values. Fills points and returns their number. Returns 1, with factor 1, if nothing
 * can be split (there is no such loop, or split-k would reject it). Returns 0 if the function is
 * not an instantiated plan or an instantiated kernel of level 2. Reports nothing. Which points are
 * fast depends on the shape: tiles x factor should be close to the number of multiprocessors of the
 * device. */
TILE_API unsigned tile_split_space(const tile_function *f, const tile_target *target,
                                   tile_split_point points[TILE_MAX_SPLIT_POINTS]);

/* Writes the clause to that loop, replacing an existing one. The function need not be instantiated.
 * Returns TILE_INVALID after a diagnostic if there is no such loop, no such strategy, or the factor
 * is not 1 to TILE_MAX_SPLIT. */
TILE_API tile_status tile_split_write(tile_function *f, const tile_split_point *point);

#ifdef __cplusplus
}
#endif

#endif
