/* Renamed words of the language and renamed passes. */
#ifndef TILE_RENAME_H
#define TILE_RENAME_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the text with renamed words of the language replaced by their new names. Comments, blanks,
 * strings and identifiers do not change, and the text need not be a valid program. Returns
 * TILE_INVALID after an error, with nothing written, if a token cannot be read. name is used in
 * diagnostics. */
TILE_API tile_status tile_migrate(tile_context *context, const char *name, const char *text,
                                  size_t length, tile_writer writer, void *user);

/* Returns the current name of the pass that was once called `name`; NULL: there was no such
 * pass. */
TILE_API const char *tile_pass_renamed(const char *name);

#ifdef __cplusplus
}
#endif

#endif
