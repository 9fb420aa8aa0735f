/* Products of 8-bit floats with scales for blocks of their elements (scaled.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_SCALED_H
#define TILE_PASSES_SCHEDULE_KERNEL_SCALED_H

#include "passes/schedule/kernel/schedule.h"

enum {
    SCHED_SCALED_ELEMENTS = 128, /* of a block that has one scale, along each dim */
    SCHED_MAX_SCALES = 4,
};

/* What a dim of an array of scales counts. */
typedef enum sched_scale_dim {
    SCHED_SCALE_ONE,          /* nothing: its extent is 1 */
    SCHED_SCALE_ROW,          /* rows of the product */
    SCHED_SCALE_ROW_BLOCK,    /* blocks of rows */
    SCHED_SCALE_COLUMN,       /* columns of the product */
    SCHED_SCALE_COLUMN_BLOCK, /* blocks of columns */
    SCHED_SCALE_CHUNK,        /* blocks of k */
} sched_scale_dim;

/* An array whose elements scale the partial sums. */
typedef struct sched_scale {
    tile_value value;
    sched_scale_dim dims[TILE_MAX_RANK];
} sched_scale;

/* A product whose sums of each block of k are scaled before they are added. */
typedef struct sched_scaled {
    tile_op matmul;
    unsigned count;
    sched_scale scales[SCHED_MAX_SCALES];
} sched_scaled;

/* Finds products of scaled operands, and sums of scaled products of chunks of k. Each becomes a
 * product of the unscaled operands, with an entry in s->scaled. The schedule's compute is a copy
 * afterwards if there are any. */
void sched_find_scaled(schedule *s);
/* The entry of a product; NULL if its sums are not scaled. */
const sched_scaled *sched_scaled_of(const schedule *s, tile_op matmul);

#endif
