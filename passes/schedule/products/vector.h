/* Products of matrices and vectors, rewritten as reductions (vector.c). */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_VECTOR_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_VECTOR_H

#include "passes/schedule/kernel/schedule.h"

/* Replaces each f32 or f64 product with one row or one column by a reduction. The schedule's
 * compute is a copy afterwards. */
void sched_reduce_vectors(schedule *s);

#endif
