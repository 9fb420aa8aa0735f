/* A hash table with open addressing and linear probing, which grows when it is three quarters full.
 */
#include "lib/ir/names.h"

#include <string.h>

/* FNV-1a, 32 bits (http://www.isthe.com/chongo/tech/comp/fnv/). */
static size_t hash_name(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash;
}

/* Where the function of that name is, or would be inserted; the table is never full. */
static tile_function **find_place(const tile_name_table *table, const char *name) {
    size_t mask = table->capacity - 1, i = hash_name(name) & mask;
    while (table->entries[i] && strcmp(table->entries[i]->name, name) != 0) i = (i + 1) & mask;
    return &table->entries[i];
}

/* Rebuilds the table from the functions in order. */
static void fill(tile_module *module, size_t capacity) {
    tile_name_table *table = &module->names;
    if (capacity != table->capacity)
        table->entries = TILE_NEW_ARRAY(&module->arena, tile_function *, capacity);
    else
        memset(table->entries, 0, sizeof *table->entries * capacity);
    table->capacity = capacity;
    for (size_t i = 0; i < module->function_count; i++)
        *find_place(table, module->functions[i]->name) = module->functions[i];
}

tile_function *tile_names_find(const tile_module *module, const char *name) {
    return module->names.capacity ? *find_place(&module->names, name) : NULL;
}

void tile_names_add(tile_module *module, tile_function *function) {
    module->functions = tile_arena_grow(&module->arena, module->functions, module->function_count,
                                        &module->function_capacity, sizeof(tile_function *));
    module->functions[module->function_count++] = function;
    size_t capacity = module->names.capacity;
    if (module->function_count * 4 > capacity * 3)
        fill(module, capacity ? capacity * 2 : 16);
    else
        *find_place(&module->names, function->name) = function;
}

void tile_names_remove(tile_module *module, const tile_function *function) {
    size_t i = 0;
    while (i < module->function_count && module->functions[i] != function) i++;
    if (i == module->function_count) return;
    memmove(&module->functions[i], &module->functions[i + 1],
            sizeof(tile_function *) * (module->function_count - i - 1));
    module->function_count--;
    fill(module, module->names.capacity);
}
