/* Looking into a table of tuned points. */
#ifndef TILE_RUNTIME_LAUNCH_TUNED_TABLE_H
#define TILE_RUNTIME_LAUNCH_TUNED_TABLE_H

#include "tile/tuned.h"

/* The points of the bucket of a key whose kernel is a text, by the rules of tile/tuned.h: those
 * that were measured in the key's state first. */
void tile_tuned_table_list_bucket(const tile_tuned_table *table, const tile_point_key *key,
                                  tile_point_visitor visit, void *user);

/* Whether there is one in that bucket, in whatever state; whether there is one that binds
 * something, in any bucket of the kernel on that device. */
bool tile_tuned_table_has_bucket(const tile_tuned_table *table, const tile_point_key *key);
bool tile_tuned_table_has_bindings(const tile_tuned_table *table, const tile_point_key *key);

#endif
