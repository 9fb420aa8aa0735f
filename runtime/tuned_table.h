/* Looking into a table of tuned points. */
#ifndef TILE_RUNTIME_TUNED_TABLE_H
#define TILE_RUNTIME_TUNED_TABLE_H

#include "tile/tuned.h"

/* The points of the bucket of a key whose kernel is a text, by the rules of tile/tuned.h: those
 * that were measured in the key's state first. */
void tile_tuned_table_list_bucket(const tile_tuned_table *table, const tile_point_key *key,
                                  tile_point_visitor visit, void *user);

#endif
