/* Products of matrices and vectors as reductions (vector.c). */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_VECTOR_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_VECTOR_H

#include "passes/schedule/kernel/schedule.h"

/* Puts a reduction in place of each product of f32 or f64 with one row or one column; the
 * compute is a copy then. */
void sched_reduce_vectors(schedule *s);

#endif
