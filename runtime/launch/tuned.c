#include "runtime/launch/tuned.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ops/combine.h"
#include "lib/ir/function.h"
#include "lib/support/integer.h"
#include "lib/support/text.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "runtime/cache/cache.h"
#include "runtime/launch/tuned_table.h"

/* Returns whether the argument is a size: the key then has its name and value. */
static bool is_size(const tile_arg_decl *arg) {
    return arg->type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(arg->type->scalar);
}

static const char *print_sizes(const tile_function *kernel, const int64_t *integers, bool rounded,
                               tile_arena *arena) {
    const char *text = "";
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const tile_arg_decl *arg = &kernel->args[i];
        bool is_open = arg->is_const && !arg->known;
        if (!is_size(arg)) continue;
        text = tile_arena_format(arena, "%s%s%s=%" PRId64, text, *text ? " " : "", arg->name,
                                 rounded && !is_open ? tile_bucket(integers[i]) : integers[i]);
    }
    return text;
}

/* Returns whether the function launches or calls the other one, or combines elements by it. */
static bool uses(const tile_function *f, const char *other) {
    static const tile_attr_id names[] = {TILE_ATTR_callee, TILE_ATTR_otherwise, TILE_ATTR_combine};
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_opcode opcode = f->ops[id].opcode;
        bool names_others =
            opcode == TILE_OP_launch || opcode == TILE_OP_call || tile_combines_by_function(opcode);
        for (unsigned i = 0; i < 3 && names_others; i++) {
            const char *name = tile_op_attr_text(f, (tile_op){id}, names[i]);
            if (name && strcmp(name, other) == 0) return true;
        }
    }
    return false;
}

typedef struct content {
    const tile_function **printed;
    size_t count, capacity;
    bool is_auto; /* some function has `tune auto` */
    tile_text text;
} content;

/* Prints the function and all that it uses, each once. */
static void print_used(content *c, const tile_function *f) {
    for (size_t i = 0; i < c->count; i++)
        if (c->printed[i] == f) return;
    c->printed = tile_arena_grow(c->text.arena, c->printed, c->count, &c->capacity,
                                 sizeof(const tile_function *));
    c->printed[c->count++] = f;
    c->is_auto |= f->tune_auto;
    tile_function_print(f, tile_text_append, &c->text);
    for (const tile_function *other = f->module->first; other; other = other->next)
        if (uses(f, other->name)) print_used(c, other);
}

static const char *print_content(const tile_function *f, tile_arena *arena) {
    content c = {.text = {.arena = arena}};
    print_used(&c, f);
    if (c.is_auto) tile_text_format(&c.text, "tile space %d\n", TILE_SPACE_VERSION);
    return tile_arena_string(arena, c.text.data, c.text.length);
}

/* The key without the power limit. */
static tile_point_key make_key(tile_device *device, const tile_function *kernel,
                               const int64_t *integers, tile_arena *arena) {
    return (tile_point_key){
        .kernel = print_content(kernel, arena),
        .bucket = print_sizes(kernel, integers, true, arena),
        .sizes = print_sizes(kernel, integers, false, arena),
        .device = tile_device_is_cuda(device)
                      ? tile_arena_format(arena, "%s, %s", device->name, device->target->name)
                      : device->name,
        .sm_count = device->num_sms,
        .memory_clock = device->memory_clock};
}

static unsigned power_limit_of(tile_device *device) {
    return device->ops->power_limit ? device->ops->power_limit(device) : 0;
}

tile_point_key tile_tuned_key(tile_device *device, const tile_function *kernel,
                              const int64_t *integers, tile_arena *arena) {
    tile_point_key key = make_key(device, kernel, integers, arena);
    key.power_limit = power_limit_of(device);
    return key;
}

bool tile_read_sizes(const tile_function *kernel, const char *sizes, int64_t *integers) {
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const char *name = kernel->args[i].name;
        size_t length = strlen(name);
        char *end;
        if (!is_size(&kernel->args[i])) continue;
        sizes += *sizes == ' ';
        if (strncmp(sizes, name, length) != 0 || sizes[length] != '=') return false;
        integers[i] = strtoll(sizes + length + 1, &end, 10);
        if (end == sizes + length + 1) return false;
        sizes = end;
    }
    return !*sizes;
}

static unsigned count_words(const char *text) {
    unsigned words = 0;
    for (const char *at = text; *at; at++) words += *at != ' ' && (at == text || at[-1] == ' ');
    return words;
}

tile_binding *tile_read_bindings(const char *text, tile_arena *arena, unsigned *count) {
    tile_binding *bindings = TILE_NEW_ARRAY(arena, tile_binding, count_words(text) + 1u);
    *count = 0;
    while (*(text += strspn(text, " "))) {
        size_t name = strcspn(text, " ="), value;
        if (!name || text[name] != '=') return NULL;
        value = strcspn(text + name + 1, " ");
        if (!value) return NULL;
        bindings[(*count)++] = (tile_binding){tile_arena_string(arena, text, name),
                                              tile_arena_string(arena, text + name + 1, value)};
        text += name + 1 + value;
    }
    return bindings;
}

typedef struct listing {
    tile_device *device;
    tile_point_key key;
    bool has_limit; /* the key has a power limit */
    tile_point_visitor visit;
    void *user;
} listing;

/* Querying the limit takes longer than everything else a first launch does before compiling, so it
 * is only queried if a point depends on it. */
static void query_limit(listing *l) {
    if (!l->has_limit) l->key.power_limit = power_limit_of(l->device);
    l->has_limit = true;
}

static void visit_kept(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    listing *l = user;
    query_limit(l);
    if (key->power_limit == l->key.power_limit) l->visit(key, point, l->user);
}

bool tile_has_tuned_split(tile_device *device, const tile_function *f) {
    tile_arena arena = {0};
    const int64_t no_sizes[TILE_MAX_ARGUMENTS] = {0}; /* the values are not used */
    tile_op launch;
    unsigned count;
    bool may_have = (device->cache || device->tuned) && !f->tune_count &&
                    f->arg_count <= TILE_MAX_ARGUMENTS && tile_split_owner(f, &launch, &count);
    if (!may_have) return false;
    const tile_point_key key = make_key(device, f, no_sizes, &arena);
    bool has = tile_cache_has_bindings(device->cache, &key) ||
               tile_tuned_table_has_bindings(device->tuned, &key);
    tile_arena_reset(&arena);
    return has;
}

void tile_list_tuned(tile_device *device, const tile_function *kernel, const int64_t *integers,
                     tile_point_visitor visit, void *user) {
    tile_arena arena = {0};
    if (!device->cache && !device->tuned) return;
    listing l = {.device = device, .visit = visit, .user = user};
    l.key = make_key(device, kernel, integers, &arena);
    tile_cache_list_bucket(device->cache, &l.key, visit_kept, &l);
    if (tile_tuned_table_has_bucket(device->tuned, &l.key)) query_limit(&l);
    tile_tuned_table_list_bucket(device->tuned, &l.key, visit, user);
    tile_arena_reset(&arena);
}
