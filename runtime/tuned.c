#include "runtime/tuned.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/function.h"
#include "lib/support/integer.h"
#include "lib/support/text.h"
#include "runtime/tuned_table.h"

/* The type that a size has, and a name in the key. */
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

/* All of it but the power limit. */
static tile_point_key make_key(tile_device *device, const tile_function *kernel,
                               const int64_t *integers, tile_arena *arena) {
    tile_text text = {.arena = arena};
    tile_function_print(kernel, tile_text_append, &text);
    return (tile_point_key){
        .kernel = tile_arena_string(arena, text.data, text.length),
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
    return *count ? bindings : NULL;
}

typedef struct listing {
    tile_device *device;
    tile_point_key key;
    bool has_limit; /* the key */
    tile_point_visitor visit;
    void *user;
} listing;

/* Asking for it takes longer than all else that a first launch does before its code is made: it is
 * asked for where a point depends on it. */
static void ask_limit(listing *l) {
    if (!l->has_limit) l->key.power_limit = power_limit_of(l->device);
    l->has_limit = true;
}

static void visit_kept(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    listing *l = user;
    ask_limit(l);
    if (key->power_limit == l->key.power_limit) l->visit(key, point, l->user);
}

static void visit_any(const tile_point_key *key, const tile_tuned_point *point, void *user) {
    (void)key, (void)point;
    ask_limit(user);
}

void tile_list_tuned(tile_device *device, const tile_function *kernel, const int64_t *integers,
                     tile_point_visitor visit, void *user) {
    tile_arena arena = {0};
    if (!device->cache && !device->tuned) return;
    listing l = {.device = device, .visit = visit, .user = user};
    l.key = make_key(device, kernel, integers, &arena);
    tile_cache_list_bucket(device->cache, &l.key, visit_kept, &l);
    if (!l.has_limit) tile_tuned_table_list_bucket(device->tuned, &l.key, visit_any, &l);
    tile_tuned_table_list_bucket(device->tuned, &l.key, visit, user);
    tile_arena_reset(&arena);
}
