/* Names of values while a function is parsed, and guesses at misspelt words. */
#include "lib/ir/parser.h"

#include <string.h>

/* Names are interned, so that a pointer tells them apart. */
static size_t hash_name(const char *name) {
    return (size_t)(((uintptr_t)name >> 4) * 0x9e3779b97f4a7c15u >> 20);
}

static tile_symbol **find_slot(const tile_symbol_table *table, const char *name) {
    for (size_t i = hash_name(name) & (table->capacity - 1);; i = (i + 1) & (table->capacity - 1))
        if (!table->slots[i] || table->slots[i]->name == name) return &table->slots[i];
}

static void grow(tile_parser *p) {
    tile_symbol_table *table = &p->symbols;
    tile_symbol **old = table->slots;
    size_t old_capacity = table->capacity;
    table->capacity = old_capacity ? old_capacity * 2 : 64;
    table->slots = TILE_NEW_ARRAY(&p->arena, tile_symbol *, table->capacity);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i]) *find_slot(table, old[i]->name) = old[i];
}

tile_symbol *tile_parse_find(const tile_parser *p, const char *name) {
    if (!p->symbols.capacity) return NULL;
    tile_symbol *symbol = *find_slot(&p->symbols, name);
    return symbol && symbol->live ? symbol : NULL;
}

bool tile_parse_define(tile_parser *p, const char *name, tile_loc loc, tile_value value) {
    tile_symbol_table *table = &p->symbols;
    tile_symbol *old = tile_parse_find(p, name);
    if (old) {
        tile_parse_error(p, loc, "%%%s is defined twice", name);
        tile_report(p->context, TILE_NOTE, old->loc, "previous definition is here");
        return false;
    }
    if (table->used * 2 >= table->capacity) grow(p);
    tile_symbol **slot = find_slot(table, name);
    if (!*slot) {
        *slot = TILE_NEW(&p->arena, tile_symbol);
        table->used++;
    }
    **slot = (tile_symbol){.name = name, .value = value, .loc = loc, .live = true};
    table->stack = tile_arena_grow(&p->arena, table->stack, table->depth, &table->stack_capacity,
                                   sizeof *table->stack);
    table->stack[table->depth++] = *slot;
    return true;
}

void tile_parse_leave_scope(tile_parser *p, size_t depth) {
    while (p->symbols.depth > depth) p->symbols.stack[--p->symbols.depth]->live = false;
}

enum { LONGEST_GUESS = 32 };

/* An edit costs 2, another first letter 1. */
tile_guess tile_guess_start(const char *text, size_t length) {
    unsigned tolerated = length < 3 ? 1 : length < 6 ? 2 : 3;
    return (tile_guess){.text = text, .length = length, .cost = 2 * tolerated + 2};
}

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Letters put in, left out, replaced, or swapped with their neighbour. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][LONGEST_GUESS + 1] = {{0}};
    for (unsigned j = 0; j <= b_length; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned replaced = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, replaced);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_above[j - 2] + 1 < row[j]) row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

void tile_guess_try(tile_guess *guess, const char *candidate) {
    size_t length = strlen(candidate);
    if (!length || length > LONGEST_GUESS || !guess->length || guess->length > LONGEST_GUESS)
        return;
    unsigned distance = edit_distance(guess->text, guess->length, candidate, length);
    unsigned cost = 2 * distance + (*guess->text != *candidate);
    if (cost < guess->cost && distance < length) {
        guess->cost = cost;
        guess->best = candidate;
    }
}

const char *tile_guess_text(tile_parser *p, const tile_guess *guess, const char *mark) {
    if (!guess->best) return "";
    return tile_arena_format(&p->arena, "; did you mean '%s%s'?", mark, guess->best);
}
