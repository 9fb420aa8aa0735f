/* The table of renames. */
#include "lib/ir/renames.h"

#include <string.h>

#include "tile/rename.h"

static const bool in_text[] = {
#define TILE_RENAME_KIND(kind, is_in_text, forms) [TILE_RENAMED_##kind] = is_in_text,
#include "lib/ir/renames.def"
};

static const tile_rename rows[] = {
#define TILE_RENAME(kind, where, old, now) {TILE_RENAMED_##kind, where, old, now, NULL},
#define TILE_REMOVED(kind, where, old, advice) {TILE_RENAMED_##kind, where, old, NULL, advice},
#include "lib/ir/renames.def"
};

const tile_rename *tile_rename_at(unsigned index) {
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

bool tile_rename_is_in_text(tile_rename_kind kind) {
    return in_text[kind];
}

size_t tile_rename_next_word(const char **at) {
    *at += strspn(*at, " ");
    return strcspn(*at, " ");
}

const tile_rename *tile_rename_find(tile_rename_kind kind, const char *where, const char *text,
                                    size_t length) {
    const tile_rename *row;
    for (unsigned i = 0; (row = tile_rename_at(i)); i++) {
        const char *first = row->old;
        if (row->kind == kind && (!where || strcmp(row->where, where) == 0) &&
            tile_rename_next_word(&first) == length && memcmp(first, text, length) == 0)
            return row;
    }
    return NULL;
}

const char *tile_rename_message(const tile_rename *row, tile_arena *arena) {
    if (!row->now)
        return tile_arena_format(arena, "`%s` has been removed: %s", row->old, row->advice);
    return tile_arena_format(arena, "`%s` is now `%s`%s", row->old, row->now,
                             in_text[row->kind] ? "; `tile-opt --migrate FILE` rewrites a text"
                                                : "");
}

const char *tile_pass_renamed(const char *name) {
    const tile_rename *row =
        name ? tile_rename_find(TILE_RENAMED_pass, "", name, strlen(name)) : NULL;
    return row ? row->now : NULL;
}
