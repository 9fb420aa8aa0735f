/* Memory that is freed all at once. Blocks come from tile_malloc; nothing is freed individually. An
 * arena that is a local variable is reset if memory runs out (memory.h): it must not be copied into
 * an object that lives longer. */
#ifndef TILE_LIB_SUPPORT_ARENA_H
#define TILE_LIB_SUPPORT_ARENA_H

#include <stdarg.h>
#include <stddef.h>

#include "lib/support/memory.h"
#include "tile/base.h"

typedef struct tile_arena_block tile_arena_block;

typedef struct tile_arena {
    tile_arena_block *head;
    size_t used; /* bytes used in the head block */
} tile_arena;

/* Frees all memory; the arena can be used again. */
void tile_arena_reset(tile_arena *arena);

/* Zeroed memory, aligned for any type. Never NULL. */
void *tile_arena_alloc(tile_arena *arena, size_t size);
void *tile_arena_copy(tile_arena *arena, const void *data, size_t size);
char *tile_arena_string(tile_arena *arena, const char *text, size_t length);
char *tile_arena_format(tile_arena *arena, const char *format, ...) TILE_PRINTF(2, 3);
char *tile_arena_vformat(tile_arena *arena, const char *format, va_list args);

/* Grows an array in the arena by one element if needed. *capacity doubles; the old memory stays
 * until the arena is reset. Returns the array, which may have moved. */
void *tile_arena_grow(tile_arena *arena, void *data, size_t count, size_t *capacity,
                      size_t element_size);

#define TILE_NEW(arena, type) ((type *)tile_arena_alloc((arena), sizeof(type)))
#define TILE_NEW_ARRAY(arena, type, count) \
    ((type *)tile_arena_alloc((arena), sizeof(type) * (size_t)(count)))

#endif
