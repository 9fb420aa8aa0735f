/* One hash table of byte strings with open addressing, which grows when it is three quarters full.
 */
#include "lib/support/intern.h"

#include <string.h>

typedef struct entry {
    const void *data;
    uint32_t hash;
    uint32_t size;
    unsigned tag;
} entry;

struct tile_intern {
    entry *entries;
    size_t capacity; /* a power of two */
    size_t count;
};

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/) over words of eight bytes, since types have
 * hundreds of bytes. The upper half of the last product depends on all bits. */
static uint32_t hash_bytes(unsigned tag, const unsigned char *bytes, size_t size) {
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = UINT64_C(14695981039346656037) ^ tag, word;
    size_t i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 32;
    }
    for (; i < size; i++) hash = (hash ^ bytes[i]) * prime;
    return (uint32_t)(hash >> 32);
}

static entry *find_place(struct tile_intern *table, unsigned tag, uint32_t hash, const void *data,
                         size_t size) {
    for (size_t i = hash & (table->capacity - 1);; i = (i + 1) & (table->capacity - 1)) {
        entry *place = &table->entries[i];
        if (!place->data || (place->hash == hash && place->tag == tag && place->size == size &&
                             memcmp(place->data, data, size) == 0))
            return place;
    }
}

static void grow(tile_context *context, struct tile_intern *table) {
    entry *old = table->entries;
    size_t old_capacity = table->capacity, capacity = old_capacity ? old_capacity * 2 : 256;
    table->entries = TILE_NEW_ARRAY(&context->arena, entry, capacity);
    table->capacity = capacity; /* after the allocation has succeeded */
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].data)
            *find_place(table, old[i].tag, old[i].hash, old[i].data, old[i].size) = old[i];
}

const void *tile_intern(tile_context *context, unsigned tag, const void *data, size_t size) {
    if (!context) return NULL;
    if (!context->interned) context->interned = TILE_NEW(&context->arena, struct tile_intern);
    struct tile_intern *table = context->interned;
    if (table->count * 4 >= table->capacity * 3) grow(context, table);
    uint32_t hash = hash_bytes(tag, data, size);
    entry *place = find_place(table, tag, hash, data, size);
    if (!place->data) {
        *place = (entry){tile_arena_copy(&context->arena, data, size), hash, (uint32_t)size, tag};
        table->count++;
    }
    return place->data;
}

const char *tile_intern_name(tile_context *context, const char *text, size_t length) {
    char small[128];
    if (length + 1 > sizeof small) {
        tile_arena scratch = {0};
        const char *copy = tile_arena_string(&scratch, text, length);
        const char *name = tile_intern(context, TILE_INTERN_NAME, copy, length + 1);
        tile_arena_reset(&scratch);
        return name;
    }
    memcpy(small, text, length);
    small[length] = 0;
    return tile_intern(context, TILE_INTERN_NAME, small, length + 1);
}
