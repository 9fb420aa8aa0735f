/* Old words of the language, the passes and the sources: renames.def. */
#ifndef TILE_LIB_IR_RENAMES_H
#define TILE_LIB_IR_RENAMES_H

#include "lib/support/arena.h"

typedef enum tile_rename_kind {
#define TILE_RENAME_KIND(kind, in_text, forms) TILE_RENAMED_##kind,
#include "lib/ir/renames.def"
} tile_rename_kind;

typedef struct tile_rename {
    tile_rename_kind kind;
    const char *where, *old;
    const char *now;    /* NULL: it was removed */
    const char *advice; /* NULL: it was renamed */
} tile_rename;

/* The rows of the table; NULL past the end. */
const tile_rename *tile_rename_at(unsigned index);
/* Returns whether words of this kind occur in Tile IR text. */
bool tile_rename_is_in_text(tile_rename_kind kind);
/* Skips blanks before the next of a row's old or new words. Returns its length, 0 at the end. */
size_t tile_rename_next_word(const char **at);
/* The row of this kind whose first old word is this one; NULL if there is none. where: NULL for
 * any. */
const tile_rename *tile_rename_find(tile_rename_kind kind, const char *where, const char *text,
                                    size_t length);
/* "`old` is now `new`" and the tool that rewrites a text, or "`old` has been removed: .." */
const char *tile_rename_message(const tile_rename *row, tile_arena *arena);

#endif
