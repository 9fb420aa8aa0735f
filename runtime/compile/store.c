#include "runtime/compile/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/text.h"
#include "runtime/artifact/artifact.h"

typedef struct entry {
    struct entry *next;
    size_t size;
    char key[sizeof((tile_artifact_key *)NULL)->text];
    char data[];
} entry;

struct tile_store {
    pthread_mutex_t lock;
    entry *entries;
};

tile_store *tile_store_create(void) {
    tile_store *store = tile_malloc(sizeof *store);
    *store = (tile_store){.entries = NULL};
    pthread_mutex_init(&store->lock, NULL);
    return store;
}

void tile_store_destroy(tile_store *store) {
    if (!store) return;
    for (entry *e = store->entries, *next; e; e = next) {
        next = e->next;
        free(e);
    }
    pthread_mutex_destroy(&store->lock);
    free(store);
}

static const entry *find(const tile_store *store, const char *key) {
    const entry *e = store->entries;
    while (e && strcmp(e->key, key) != 0) e = e->next;
    return e;
}

void tile_store_keep(tile_store *store, const char *key, const void *data, size_t size) {
    pthread_mutex_lock(&store->lock);
    if (!find(store, key) && strlen(key) < sizeof store->entries->key) {
        entry *e = tile_malloc(sizeof *e + size);
        e->next = store->entries;
        e->size = size;
        strcpy(e->key, key);
        memcpy(e->data, data, size);
        store->entries = e;
    }
    pthread_mutex_unlock(&store->lock);
}

bool tile_store_find(tile_store *store, const char *key, const void **data, size_t *size) {
    pthread_mutex_lock(&store->lock);
    const entry *e = find(store, key);
    pthread_mutex_unlock(&store->lock);
    if (!e) return false;
    *data = e->data;
    *size = e->size;
    return true;
}

static void add_key(tile_store_log *log, const char *key) {
    if (!log) return;
    log->keys =
        tile_arena_grow(log->arena, log->keys, log->count, &log->capacity, sizeof *log->keys);
    log->keys[log->count++] = tile_arena_string(log->arena, key, strlen(key));
}

tile_status tile_store_build(tile_store *store, tile_store_log *log, tile_module *module,
                             const char *kernel, const tile_build_options *options,
                             tile_artifact **out) {
    tile_artifact_key key;
    const void *data;
    size_t size;
    if (!options->wants) return tile_artifact_build(module, kernel, options, out);
    tile_status status = tile_artifact_make_local_key(module, kernel, options, &key);
    if (status != TILE_OK) return status;
    add_key(log, key.text);
    if (tile_store_find(store, key.text, &data, &size))
        return tile_artifact_read(tile_module_context(module), data, size, out);
    status = tile_artifact_build(module, kernel, options, out);
    if (status != TILE_OK) return status;
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    tile_artifact_write(*out, tile_text_append, &text);
    tile_store_keep(store, key.text, text.data, text.length);
    tile_arena_reset(&arena);
    return TILE_OK;
}
