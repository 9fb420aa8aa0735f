/* Names for printing. Arguments and a compute's results keep their names. Other values get theirs
 * in the order in which they are printed, with a numeric suffix if the name is taken. Values
 * without a name are numbered. An unused result of an operation with side effects is printed
 * without a name. */
#include "lib/ir/print_names.h"

#include <string.h>

typedef struct taken {
    const char *name;
    unsigned next; /* the next suffix to try for this name */
} taken;

typedef struct naming {
    tile_arena *arena;
    const char **names;
    taken *table; /* open addressing */
    size_t capacity, count;
    unsigned number;
    const uint32_t *uses; /* by value */
} naming;

static size_t hash(const char *name) {
    size_t value = 5381;
    for (; *name; name++) value = value * 33 ^ (unsigned char)*name;
    return value;
}

static taken *find(const naming *n, const char *name) {
    for (size_t i = hash(name) & (n->capacity - 1);; i = (i + 1) & (n->capacity - 1))
        if (!n->table[i].name || strcmp(n->table[i].name, name) == 0) return &n->table[i];
}

static void take(naming *n, const char *name) {
    if (n->count * 2 >= n->capacity) {
        naming old = *n;
        n->capacity = old.capacity ? old.capacity * 2 : 64;
        n->table = TILE_NEW_ARRAY(n->arena, taken, n->capacity);
        for (size_t i = 0; i < old.capacity; i++)
            if (old.table[i].name) *find(n, old.table[i].name) = old.table[i];
    }
    taken *entry = find(n, name);
    n->count += !entry->name;
    entry->name = name;
}

static bool is_taken(const naming *n, const char *name) {
    return n->capacity && find(n, name)->name;
}

/* A name that the parser accepts: letters, digits and underscores, not only digits. */
static const char *readable(naming *n, const char *name) {
    char *copy = tile_arena_string(n->arena, name, strlen(name));
    bool only_digits = true;
    for (char *c = copy; *c; c++) {
        bool digit = *c >= '0' && *c <= '9';
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        *c = digit || letter ? *c : '_';
        only_digits &= digit;
    }
    return only_digits ? NULL : copy;
}

static const char *numbered(naming *n) {
    const char *name;
    do name = tile_arena_format(n->arena, "%u", n->number++);
    while (is_taken(n, name));
    return name;
}

static const char *unique(naming *n, const char *wanted) {
    const char *name = wanted ? readable(n, wanted) : NULL;
    if (!name) return numbered(n);
    if (!is_taken(n, name)) return name;
    const char *base = name;
    do name = tile_arena_format(n->arena, "%s_%u", base, ++find(n, base)->next);
    while (is_taken(n, name));
    return name;
}

static void name_value(naming *n, const tile_function *f, tile_value value) {
    if (n->names[value.id]) return;
    n->names[value.id] = unique(n, tile_value_at(f, value)->name);
    take(n, n->names[value.id]);
}

static void name_region(naming *n, const tile_function *f, tile_region region);

/* In the order of the text: a loop's results, its variable, carried values, its body. */
static void name_op(naming *n, const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    bool may_miss = tile_op_has_trait((tile_opcode)data->opcode, TILE_TRAIT_SIDE_RESULT);
    for (uint32_t i = 0; i < data->result_count; i++) {
        tile_value value = {data->first_result.id + i};
        if (!may_miss || n->uses[value.id] || tile_value_at(f, value)->name)
            name_value(n, f, value);
    }
    for (unsigned r = 0; r < data->region_count; r++) {
        const tile_region_data *region = tile_region_at(f, data->regions[r]);
        for (uint32_t i = 0; i < region->arg_count; i++)
            name_value(n, f, (tile_value){region->first_arg.id + i});
        name_region(n, f, data->regions[r]);
    }
}

static void name_region(naming *n, const tile_function *f, tile_region region) {
    TILE_FOR_EACH_OP (f, op, region) name_op(n, f, op);
}

const char **tile_print_names(const tile_function *f, tile_arena *arena) {
    naming n = {.arena = arena, .uses = tile_count_uses(f, arena)};
    n.names = TILE_NEW_ARRAY(arena, const char *, f->value_count);
    for (size_t i = 0; i < f->result_count; i++) {
        tile_value value = f->results[i].value;
        take(&n, f->results[i].name);
        if (value.id && tile_value_at(f, value)->kind == TILE_VALUE_RESULT && !n.names[value.id])
            n.names[value.id] = f->results[i].name;
    }
    for (size_t i = 0; i < f->arg_count; i++) {
        n.names[f->args[i].value.id] = f->args[i].name;
        take(&n, f->args[i].name);
    }
    name_region(&n, f, f->body);
    return n.names;
}
