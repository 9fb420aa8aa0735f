/* Words that were renamed: in the language, and names of passes. */
#ifndef TILE_RENAME_H
#define TILE_RENAME_H

#include "tile/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the text with words of the language that were renamed replaced by the new ones. Comments,
 * blanks, texts in quotation marks and names stay as they are, and the text need not be a valid
 * program. TILE_INVALID after an error, with nothing written, if a token cannot be read. name
 * stands in diagnostics. */
TILE_API tile_status tile_migrate(tile_context *context, const char *name, const char *text,
                                  size_t length, tile_writer writer, void *user);

/* What the pass is called now that once had this name; NULL: no pass had it. */
TILE_API const char *tile_pass_renamed(const char *name);

#ifdef __cplusplus
}
#endif

#endif
