/* Looking into a table of tuned points. */
#ifndef TILE_RUNTIME_TUNED_TABLE_H
#define TILE_RUNTIME_TUNED_TABLE_H

#include "tile/tuned.h"

/* The point for a key whose kernel is a text, by the rules of tile/tuned.h; NULL if there is none.
 */
const tile_tuned_point *tile_tuned_table_find(const tile_tuned_table *table,
                                              const tile_point_key *key);

#endif
