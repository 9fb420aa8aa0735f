/* The manual's prose: the files of chapters/ by their names, which the build makes arrays of.
 * manual.c puts what the tables know between them. */
#ifndef TILE_LIB_MANUAL_TEXT_H
#define TILE_LIB_MANUAL_TEXT_H

#include "lib/support/out.h"

extern const char tile_manual_grammar[], tile_manual_notes[], tile_manual_statements[],
    tile_manual_walk[], tile_manual_splits[], tile_manual_points[], tile_manual_plans[],
    tile_manual_executors[], tile_manual_clusters[], tile_manual_barriers[], tile_manual_products[],
    tile_manual_contracts[], tile_manual_pipelines[], tile_manual_parallel[],
    tile_manual_computes[], tile_manual_walks[], tile_manual_weights[], tile_manual_sums[],
    tile_manual_given[], tile_manual_check[], tile_manual_levels[], tile_manual_launch[],
    tile_manual_features[], tile_manual_families[];

/* The chapter on what a GPU limits of a launch. */
void tile_manual_print_launch(const tile_out *out);

#endif
