/* Lookup in a table of tuned points. */
#ifndef TILE_RUNTIME_LAUNCH_TUNED_TABLE_H
#define TILE_RUNTIME_LAUNCH_TUNED_TABLE_H

#include "tile/tuned.h"

/* Lists the points of a key's bucket, where the key has the kernel as text. The rules are in
 * tile/tuned.h: points measured in the key's state come first. */
void tile_tuned_table_list_bucket(const tile_tuned_table *table, const tile_point_key *key,
                                  tile_point_visitor visit, void *user);

/* Returns whether that bucket has a point, in any state; and whether any bucket of the kernel on
 * that device has a point with bindings. */
bool tile_tuned_table_has_bucket(const tile_tuned_table *table, const tile_point_key *key);
bool tile_tuned_table_has_bindings(const tile_tuned_table *table, const tile_point_key *key);

#endif
