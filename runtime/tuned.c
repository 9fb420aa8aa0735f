#include "runtime/tuned.h"

#include <inttypes.h>
#include <string.h>

#include "lib/ir/function.h"
#include "lib/support/integer.h"
#include "lib/support/text.h"
#include "runtime/cache/cache.h"
#include "runtime/tuned_table.h"

/* All of it but the power limit. */
static tile_point_key make_key(tile_device *device, const tile_function *kernel, const char *bucket,
                               tile_arena *arena) {
    tile_text text = {.arena = arena};
    tile_function_print(kernel, tile_text_append, &text);
    return (tile_point_key){
        .kernel = tile_arena_string(arena, text.data, text.length),
        .bucket = bucket,
        .device = tile_device_is_cuda(device)
                      ? tile_arena_format(arena, "%s, %s", device->name, device->target->name)
                      : device->name,
        .sm_count = device->num_sms,
        .memory_clock = device->memory_clock};
}

static unsigned power_limit_of(tile_device *device) {
    return device->ops->power_limit ? device->ops->power_limit(device) : 0;
}

tile_point_key tile_tuned_key(tile_device *device, const tile_function *kernel, const char *bucket,
                              tile_arena *arena) {
    tile_point_key key = make_key(device, kernel, bucket, arena);
    key.power_limit = power_limit_of(device);
    return key;
}

const char *tile_bucket_text(const tile_function *kernel, const int64_t *integers,
                             tile_arena *arena) {
    const char *text = "";
    for (size_t i = 0; i < kernel->arg_count; i++) {
        const tile_arg_decl *arg = &kernel->args[i];
        bool is_open = arg->is_const && !arg->known;
        if (arg->type->kind != TILE_TYPE_SCALAR || tile_scalar_is_floating(arg->type->scalar))
            continue;
        text = tile_arena_format(arena, "%s%s%s=%" PRId64, text, *text ? " " : "", arg->name,
                                 is_open ? integers[i] : tile_bucket(integers[i]));
    }
    return text;
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

/* Asking for the power limit takes longer than all else that a first launch does before its code is
 * made: it is asked for where a point depends on it. */
tile_binding *tile_find_tuned(tile_device *device, const tile_function *kernel, const char *bucket,
                              tile_arena *arena, unsigned *count) {
    tile_tuned_point found;
    if (!device->cache && !device->tuned) return NULL;
    tile_point_key key = make_key(device, kernel, bucket, arena);
    bool kept = device->cache && tile_cache_has_point(device->cache, &key);
    const tile_tuned_point *point = tile_tuned_table_find(device->tuned, &key);
    if (!kept && !point) return NULL;
    key.power_limit = power_limit_of(device);
    if (kept && tile_cache_find_point(device->cache, &key, &found))
        point = &found;
    else
        point = tile_tuned_table_find(device->tuned, &key);
    return point ? tile_read_bindings(point->bindings, arena, count) : NULL;
}
