#include "runtime/tune/task.h"

#include <string.h>

#include "lib/support/identity.h"

enum { PROTOCOL = 2 /* increased with each change of messages */, MAX_ARTIFACTS = 1 << 12 };

const char *tune_protocol(tile_arena *arena) {
    const char *identity = tile_compiler_identity(arena), *build = strstr(identity, ", build");
    int length = (int)(build ? (size_t)(build - identity) : strlen(identity));
    return tile_arena_format(arena, "%.*s, tuning %d", length, identity, PROTOCOL);
}

#define RECORD(record) static const tile_field record##_fields[] = {
#define FIELD(type, member, ...) {TILE_FIELD(#member, type, member), __VA_ARGS__},
#define LIST(type, member, count, item_, ...) \
    {TILE_LIST(#member, type, member, count), .item = &item_##_item, __VA_ARGS__},
#define BYTES(type, member, size, ...) {TILE_BYTES(#member, type, member, size), __VA_ARGS__},
#define END(record_, type) \
    } \
    ; \
    const tile_record tune_##record_##_record = {TILE_RECORD(type, record_##_fields)}; \
    const tile_field record_##_item = TILE_ITEM(tune_##record_##_record);
#include "runtime/tune/messages.def"

void tune_task_write(tile_text *to, const tune_task *task) {
    tune_task named = *task;
    named.target = task->device.target ? task->device.target->name : NULL;
    tile_record_pack(&tune_task_record, &named, to);
}

bool tune_task_read(const char *message, size_t size, tile_arena *arena, tune_task *task) {
    if (!tile_record_unpack(&tune_task_record, message, size, arena, task)) return false;
    task->device.size = sizeof task->device;
    task->measure.size = sizeof task->measure;
    task->device.target = task->target ? tile_target_find(task->target) : NULL;
    return task->small_count == task->argument_count;
}

bool tune_task_has_small_shape(const tune_task *task) {
    for (unsigned i = 0; i < task->argument_count; i++)
        if (task->small[i] != task->arguments[i].integer) return true;
    return false;
}
