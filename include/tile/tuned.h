/* Tuned points without a cache: a table that ships with a program, as a file or in its data.
 *
 * After tuning, on the development machine:
 *   tile_tuned_table_take(table, cache, NULL);
 *   tile_tuned_table_write(table, TILE_TABLE_C, "points", writer, user);
 *
 * In the program:
 *   tile_tuned_table_read(context, points, strlen(points), &table);
 *   tile_device_options options = {.size = sizeof options, .tuned = table};
 *
 * A kernel that selects points (tile/device.h) and was created without bindings looks up the sizes
 * and then the bucket of its arguments, first in the device's cache, then in the device's table. A
 * point of the table must be of the same GPU: equal name, target of the code and number of
 * multiprocessors. Points that were measured with the same memory clock and power limit are
 * preferred. Kernels are found by the digest of their text. So if a kernel or its space changes,
 * its points no longer apply.
 *
 * Threads: any number of devices may use a table at once, if nothing changes it meanwhile. */
#ifndef TILE_TUNED_H
#define TILE_TUNED_H

#include "tile/cache.h"
#include "tile/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Creates an empty table, which the caller owns. */
TILE_API tile_tuned_table *tile_tuned_table_create(void);
TILE_API void tile_tuned_table_destroy(tile_tuned_table *table);

/* Copies the cache's points of a kernel or plan of this name (NULL: of all) into the table. They
 * replace points with the same key. Returns their number. */
TILE_API unsigned tile_tuned_table_take(tile_tuned_table *table, tile_cache *cache,
                                        const char *kernel_name);
/* Stores all points in the cache, each with the compiler that it was measured with. They replace
 * points with the same key. Returns how many of them are in the file afterwards. */
TILE_API unsigned tile_tuned_table_keep(const tile_tuned_table *table, tile_cache *cache);

TILE_API unsigned tile_tuned_table_count(const tile_tuned_table *table);
/* key->kernel is a digest. Returns false past the end. The table owns the strings. */
TILE_API bool tile_tuned_table_at(const tile_tuned_table *table, unsigned index,
                                  tile_point_key *key, tile_tuned_point *point);

typedef enum tile_table_form {
    TILE_TABLE_TEXT, /* JSON, one point per line */
    TILE_TABLE_C,    /* a C definition, `const char NAME[] = "..";`, of the same text */
} tile_table_form;

/* Writes the table. name: name of the C array; NULL: tile_tuned_points. */
TILE_API void tile_tuned_table_write(const tile_tuned_table *table, tile_table_form form,
                                     const char *name, tile_writer writer, void *user);
/* Reads a table that was written as text. The caller owns *out, which is NULL after a diagnostic
 * (TILE_INVALID) if the text is not a table. A text of another format, written by another version
 * of Tile, gives an empty table and a remark. */
TILE_API tile_status tile_tuned_table_read(tile_context *context, const char *text, size_t length,
                                           tile_tuned_table **out);

#ifdef __cplusplus
}
#endif

#endif
