/* Names of values while a function is parsed. */
#include "lib/text/parser.h"

#include <string.h>

/* Names are interned, so they are compared by pointer. */
static size_t hash_name(const char *name) {
    return (size_t)(((uintptr_t)name >> 4) * 0x9e3779b97f4a7c15u >> 20);
}

static tile_symbol **find_entry(const tile_symbol_table *table, const char *name) {
    for (size_t i = hash_name(name) & (table->capacity - 1);; i = (i + 1) & (table->capacity - 1))
        if (!table->entries[i] || table->entries[i]->name == name) return &table->entries[i];
}

static void grow(tile_parser *p) {
    tile_symbol_table *table = &p->symbols;
    tile_symbol **old = table->entries;
    size_t old_capacity = table->capacity;
    table->capacity = old_capacity ? old_capacity * 2 : 64;
    table->entries = TILE_NEW_ARRAY(&p->arena, tile_symbol *, table->capacity);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i]) *find_entry(table, old[i]->name) = old[i];
}

tile_symbol *tile_parse_find(const tile_parser *p, const char *name) {
    if (!p->symbols.capacity) return NULL;
    tile_symbol *symbol = *find_entry(&p->symbols, name);
    return symbol && symbol->live ? symbol : NULL;
}

tile_symbol *tile_parse_find_gone(const tile_parser *p, const char *name) {
    tile_symbol *symbol = p->symbols.capacity ? *find_entry(&p->symbols, name) : NULL;
    return symbol && !symbol->live ? symbol : NULL;
}

bool tile_parse_define(tile_parser *p, const char *name, tile_loc loc, tile_value value) {
    tile_symbol_table *table = &p->symbols;
    tile_symbol *old = tile_parse_find(p, name);
    if (old) {
        tile_parse_error(p, loc,
                         p->regions > 1
                             ? "%%%s is defined already, and a value cannot change; a loop carries "
                               "one as `%%new = for .. iter (%%s = %%%s) { yield %%s + .. }`"
                             : "%%%s is defined already, and a value cannot change; use another "
                               "name",
                         name, name);
        tile_report(p->context, TILE_NOTE, old->loc, "previous definition is here");
        return false;
    }
    if (table->used * 2 >= table->capacity) grow(p);
    tile_symbol **entry = find_entry(table, name);
    if (!*entry) {
        *entry = TILE_NEW(&p->arena, tile_symbol);
        table->used++;
    }
    **entry = (tile_symbol){.name = name, .value = value, .loc = loc, .live = true};
    table->stack = tile_arena_grow(&p->arena, table->stack, table->depth, &table->stack_capacity,
                                   sizeof *table->stack);
    table->stack[table->depth++] = *entry;
    return true;
}

void tile_parse_leave_scope(tile_parser *p, size_t depth) {
    while (p->symbols.depth > depth) p->symbols.stack[--p->symbols.depth]->live = false;
}

const char *tile_guess_text(tile_parser *p, const tile_guess *guess, const char *mark) {
    return tile_guess_phrase(guess, mark, &p->arena);
}
