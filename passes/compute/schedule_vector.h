/* Products of matrices and vectors as reductions (schedule_vector.c). */
#ifndef TILE_PASSES_COMPUTE_SCHEDULE_VECTOR_H
#define TILE_PASSES_COMPUTE_SCHEDULE_VECTOR_H

#include "passes/compute/schedule.h"

/* Puts a reduction in the place of each product of f32 or f64 with one row or one column; the
 * compute is a copy then. */
void sched_reduce_vectors(schedule *s);

#endif
