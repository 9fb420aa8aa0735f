/* The manual as text, which tile-opt prints. Threads: any. */
#ifndef TILE_MANUAL_H
#define TILE_MANUAL_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes all chapters of the manual, as Markdown. */
TILE_API void tile_manual_print(tile_writer writer, void *user);
/* Writes the chapter of this name, or the page of an operation; without a name, a list of all of
 * them. Returns false if there is none. Then *nearest is the most similar name, or NULL if no name
 * is similar; nearest may be NULL. */
TILE_API bool tile_manual_print_chapter(const char *name, const char **nearest, tile_writer writer,
                                        void *user);
TILE_API bool tile_manual_print_operation(const char *name, const char **nearest,
                                          tile_writer writer, void *user);

#ifdef __cplusplus
}
#endif

#endif
