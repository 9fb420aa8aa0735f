/* The manual as text, which tile-opt prints. Threads: any. */
#ifndef TILE_MANUAL_H
#define TILE_MANUAL_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes all chapters of the manual, as Markdown. */
TILE_API void tile_manual_print(tile_writer writer, void *user);
/* The chapter of this name, or the page of an operation; without a name, the list of all. False if
 * there is none, then *nearest (which may be absent) is the name that was perhaps meant, or NULL.
 */
TILE_API bool tile_manual_print_chapter(const char *name, const char **nearest, tile_writer writer,
                                        void *user);
TILE_API bool tile_manual_print_operation(const char *name, const char **nearest,
                                          tile_writer writer, void *user);

#ifdef __cplusplus
}
#endif

#endif
