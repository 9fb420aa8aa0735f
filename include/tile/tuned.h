/* Tuned points without a cache: a table that a program ships, as a file or in its own data.
 *
 * At home, after tuning:
 *   tile_tuned_table_take(table, cache, NULL);
 *   tile_tuned_table_write(table, TILE_TABLE_C, "points", writer, user);
 *
 * In the program:
 *   tile_tuned_table_read(context, points, strlen(points), &table);
 *   tile_device_options options = {.size = sizeof options, .tuned = table};
 *
 * A kernel that picks (tile/device.h) and was made without bindings looks for the sizes and then
 * for the bucket of its arguments, in the device's cache first, then in the device's table: there
 * for a point of the same GPU, as its name, its code's target and its multiprocessors say; one that
 * was measured under the same memory clock and power limit comes before others. Kernels are found
 * by the digest of their text, so that a kernel that has changed, or its space, has no point.
 *
 * Threads: a table is only read while devices use it, by any number of them. */
#ifndef TILE_TUNED_H
#define TILE_TUNED_H

#include "tile/cache.h"
#include "tile/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An empty one. The caller's. */
TILE_API tile_tuned_table *tile_tuned_table_create(void);
TILE_API void tile_tuned_table_destroy(tile_tuned_table *table);

/* Takes the cache's points of a kernel or plan of this name (NULL: of all) into the table. They
 * replace what it has for the same key. Returns how many. */
TILE_API unsigned tile_tuned_table_take(tile_tuned_table *table, tile_cache *cache,
                                        const char *kernel_name);
/* Puts all points into the cache, each with the compiler that its code was measured with. They
 * replace what is there. Returns how many are in the file now. */
TILE_API unsigned tile_tuned_table_keep(const tile_tuned_table *table, tile_cache *cache);

TILE_API unsigned tile_tuned_table_count(const tile_tuned_table *table);
/* key->kernel is a digest. False past the end. The texts are the table's. */
TILE_API bool tile_tuned_table_at(const tile_tuned_table *table, unsigned index,
                                  tile_point_key *key, tile_tuned_point *point);

typedef enum tile_table_form {
    TILE_TABLE_TEXT, /* JSON, a point on each line */
    TILE_TABLE_C,    /* a definition, `const char NAME[] = "..";`, of the same text */
} tile_table_form;

/* Writes the table; name: of the C array, or NULL: tile_tuned_points. */
TILE_API void tile_tuned_table_write(const tile_tuned_table *table, tile_table_form form,
                                     const char *name, tile_writer writer, void *user);
/* The table that was written as text. *out is the caller's, NULL after a diagnostic (TILE_INVALID)
 * if the text is none. A text of another format, which another version of Tile wrote, gives an
 * empty table and a remark. */
TILE_API tile_status tile_tuned_table_read(tile_context *context, const char *text, size_t length,
                                           tile_tuned_table **out);

#ifdef __cplusplus
}
#endif

#endif
