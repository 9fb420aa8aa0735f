/* Arenas: a list of blocks of doubling size; each is filled from its start. */
#include "lib/support/arena.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tile_arena_block {
    tile_guarded guarded; /* must be the first member */
    const tile_arena *arena;
    tile_arena_block *next;
    size_t size;
    alignas(max_align_t) unsigned char data[];
};

enum { FIRST_BLOCK = 16 * 1024, LARGEST_BLOCK = 1024 * 1024 };

void tile_arena_reset(tile_arena *arena) {
    for (tile_arena_block *block = arena->head, *next; block; block = next) {
        next = block->next;
        tile_guarded_remove(&block->guarded);
        free(block);
    }
    *arena = (tile_arena){0};
}

/* The arena of an abandoned function no longer exists. */
static void abandon_block(tile_guarded *item, const tile_guard *guard) {
    tile_arena_block *block = (tile_arena_block *)(void *)item;
    if (tile_guard_had(guard, block->arena)) free(block);
}

static void add_block(tile_arena *arena, size_t size) {
    size_t wanted = arena->head ? arena->head->size * 2 : FIRST_BLOCK;
    if (wanted > LARGEST_BLOCK) wanted = LARGEST_BLOCK;
    if (wanted < size) wanted = size;
    tile_arena_block *block = tile_malloc(sizeof(tile_arena_block) + wanted);
    tile_guarded_add(&block->guarded, abandon_block);
    block->arena = arena;
    block->next = arena->head;
    block->size = wanted;
    arena->head = block;
    arena->used = 0;
}

void *tile_arena_alloc(tile_arena *arena, size_t size) {
    size_t rounded = (size + alignof(max_align_t) - 1) & ~(size_t)(alignof(max_align_t) - 1);
    if (!arena->head || arena->head->size - arena->used < rounded) add_block(arena, rounded);
    void *data = arena->head->data + arena->used;
    arena->used += rounded;
    return memset(data, 0, rounded);
}

void *tile_arena_copy(tile_arena *arena, const void *data, size_t size) {
    void *copy = tile_arena_alloc(arena, size);
    if (size) memcpy(copy, data, size);
    return copy;
}

char *tile_arena_string(tile_arena *arena, const char *text, size_t length) {
    char *copy = tile_arena_alloc(arena, length + 1);
    if (length) memcpy(copy, text, length);
    return copy;
}

char *tile_arena_vformat(tile_arena *arena, const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = tile_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

char *tile_arena_format(tile_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    char *text = tile_arena_vformat(arena, format, args);
    va_end(args);
    return text;
}

void *tile_arena_grow(tile_arena *arena, void *data, size_t count, size_t *capacity,
                      size_t element_size) {
    if (count < *capacity) return data;
    size_t larger = *capacity ? *capacity * 2 : 16;
    void *moved = tile_arena_alloc(arena, larger * element_size);
    if (count) memcpy(moved, data, count * element_size);
    *capacity = larger;
    return moved;
}
