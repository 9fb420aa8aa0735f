#include "runtime/tune/message.h"

#include <string.h>

#include "lib/support/identity.h"

enum { PROTOCOL = 1 /* counts changes of what is in messages */ };

const char *tune_protocol(tile_arena *arena) {
    const char *identity = tile_compiler_identity(arena), *build = strstr(identity, ", build");
    int length = (int)(build ? (size_t)(build - identity) : strlen(identity));
    return tile_arena_format(arena, "%.*s, tuning %d", length, identity, PROTOCOL);
}

static const char none[] = "\1"; /* a text that is NULL */

void tune_put_u64(tile_text *to, uint64_t value) {
    tile_text_append((const char *)&value, sizeof value, to);
}

void tune_put_double(tile_text *to, double value) {
    tile_text_append((const char *)&value, sizeof value, to);
}

void tune_put(tile_text *to, const void *data, size_t size) {
    tune_put_u64(to, size);
    if (size) tile_text_append(data, size, to);
}

void tune_put_text(tile_text *to, const char *text) {
    if (!text) text = none;
    tune_put(to, text, strlen(text));
}

static void take(tune_reader *from, void *to, size_t size) {
    memset(to, 0, size);
    if (from->bad || (size_t)(from->end - from->at) < size) {
        from->bad = true;
        return;
    }
    memcpy(to, from->at, size);
    from->at += size;
}

uint64_t tune_get_u64(tune_reader *from) {
    uint64_t value;
    take(from, &value, sizeof value);
    return value;
}

double tune_get_double(tune_reader *from) {
    double value;
    take(from, &value, sizeof value);
    return value;
}

const void *tune_get(tune_reader *from, size_t *size) {
    uint64_t given = tune_get_u64(from);
    *size = 0;
    if (from->bad || given > (uint64_t)(from->end - from->at)) {
        from->bad = true;
        return "";
    }
    const char *data = from->at;
    *size = (size_t)given;
    from->at += *size;
    return data;
}

const char *tune_get_text(tune_reader *from) {
    size_t size;
    const char *data = tune_get(from, &size);
    if (size == 1 && *data == *none) return NULL;
    return tile_arena_string(from->arena, data, size);
}
