/* The arrays of one shape: what is in them before a launch, in device memory and on the host. */
#ifndef TILE_RUNTIME_TUNE_ARRAYS_H
#define TILE_RUNTIME_TUNE_ARRAYS_H

#include "runtime/tune/task.h"

/* What a launch does with an argument's memory. */
typedef enum tune_role {
    TUNE_READ = 1 << 0,
    TUNE_WRITTEN = 1 << 1, /* poison before the launch, unless it is read, too */
} tune_role;

typedef struct tune_array {
    tile_scalar scalar; /* NONE: the argument is no array */
    unsigned role;      /* a set of tune_role; 0: zeros, made anew before each launch */
    size_t bytes, offset;
    tile_buffer *buffer, *random; /* random: for the times; NULL: they take `buffer` */
    unsigned char *host;          /* contents before the launch; NULL: only written */
} tune_array;

typedef struct tune_shape {
    const tune_task *task;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    tune_array arrays[TILE_MAX_ARGUMENTS];
    tile_argument arguments[TILE_MAX_ARGUMENTS]; /* on whole numbers */
    tile_argument timed[TILE_MAX_ARGUMENTS];
} tune_shape;

/* Makes the arrays; abi knows their sizes. roles: one for each argument. Whole numbers are -1, 0
 * and 1, so sparse that sums of as many products as the longest extent stay below `limit`. What
 * fails is reported, and closed by the caller. */
tile_status tune_shape_open(tune_shape *shape, tile_device *device, const tune_task *task,
                            const tile_abi *abi, const int64_t *sizes, const unsigned *roles,
                            double limit, bool tuned);
void tune_shape_close(tune_shape *shape);
/* Makes the contents what they are before a launch, where a launch may have changed them. */
tile_status tune_shape_reset(tune_shape *shape);

#endif
