/* The arrays for one shape: their contents before a launch, in device memory and on the host. */
#ifndef TILE_RUNTIME_TUNE_ARRAYS_H
#define TILE_RUNTIME_TUNE_ARRAYS_H

#include "runtime/tune/task.h"

/* How a launch uses the memory of an argument. */
typedef enum tune_role {
    TUNE_READ = 1 << 0,
    TUNE_WRITTEN = 1 << 1, /* poisoned before the launch, unless it is also read */
} tune_role;

typedef struct tune_array {
    tile_scalar scalar; /* NONE: the argument is not an array */
    unsigned role;      /* a set of tune_role; 0: zeroed before each launch */
    size_t bytes, offset;
    tile_buffer *buffer, *random; /* random: for timed launches; NULL: they use `buffer` */
    unsigned char *host;          /* contents before the launch; NULL: only written */
} tune_array;

typedef struct tune_shape {
    const tune_task *task;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    tune_array arrays[TILE_MAX_ARGUMENTS];
    tile_argument arguments[TILE_MAX_ARGUMENTS]; /* filled with integers */
    tile_argument timed[TILE_MAX_ARGUMENTS];
} tune_shape;

/* Creates the arrays, whose sizes the abi determines. roles: one for each argument. Elements are
 * -1, 0 and 1, and so sparse that sums of as many products as the longest extent stay below
 * `limit`. Errors are reported; the caller closes the shape even then. */
tile_status tune_shape_open(tune_shape *shape, tile_device *device, const tune_task *task,
                            const tile_abi *abi, const int64_t *sizes, const unsigned *roles,
                            double limit, bool tuned);
void tune_shape_close(tune_shape *shape);
/* Restores the contents that arrays had before a launch, where a launch may have changed them. */
tile_status tune_shape_reset(tune_shape *shape);

#endif
