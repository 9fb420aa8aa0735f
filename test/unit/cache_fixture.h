/* For tests of the cache: a temporary folder, and artifacts that contain their key's number. */
#ifndef TILE_TEST_UNIT_CACHE_FIXTURE_H
#define TILE_TEST_UNIT_CACHE_FIXTURE_H

#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/artifact/artifact.h"
#include "runtime/cache/cache.h"

typedef struct cache_fixture {
    char folder[64], file[128];
    tile_context *context;
    tile_module *module;
    tile_cache *cache;
    char messages[8192]; /* one per line */
    unsigned errors;
} cache_fixture;

static inline void cache_sink(const tile_diagnostic *diagnostic, void *user) {
    cache_fixture *x = user;
    size_t length = strlen(x->messages);
    x->errors += diagnostic->severity == TILE_ERROR;
    snprintf(x->messages + length, sizeof x->messages - length, "%s\n", diagnostic->message);
}

/* Reopens the cache in the fixture's folder, as another process would. */
static inline void cache_reopen(cache_fixture *x, const char *vfs) {
    tile_cache_destroy(x->cache);
    x->messages[0] = 0;
    x->cache = tile_cache_open(x->context, x->folder, NULL, vfs);
}

static inline void cache_begin(cache_fixture *x) {
    static const char text[] = "kernel @k() grid [1] warps 1 {\n}\n";
    *x = (cache_fixture){.folder = "/tmp/tile-cache-XXXXXX"};
    cr_assert(mkdtemp(x->folder));
    snprintf(x->file, sizeof x->file, "%s/tile-cache.sqlite", x->folder);
    x->context = tile_context_create();
    tile_context_set_sink(x->context, cache_sink, x);
    x->module = tile_module_parse(x->context, "k.tile", text, sizeof text - 1);
}

/* Opens the fixture with a cache. */
static inline void cache_open(cache_fixture *x) {
    cache_begin(x);
    cache_reopen(x, NULL);
}

static inline int cache_remove(const char *path, const struct stat *about, int kind,
                               struct FTW *where) {
    (void)about, (void)kind, (void)where;
    return remove(path);
}

static inline void cache_close(cache_fixture *x) {
    cr_expect_eq(x->errors, 0, "%s", x->messages);
    tile_cache_destroy(x->cache);
    tile_module_destroy(x->module);
    tile_context_destroy(x->context);
    nftw(x->folder, cache_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline tile_artifact_key cache_key(unsigned number) {
    tile_artifact_key key;
    snprintf(key.text, sizeof key.text, "%032x", number);
    return key;
}

/* Returns the PTX text of artifact `number`. */
static inline tile_blob cache_text(unsigned number, size_t size) {
    tile_blob text = {calloc(size + 1, 1), size};
    for (size_t i = 0; i < size; i++)
        text.data[i] = (char)('!' + (number + i * (number % 7 + 1)) % 90);
    return text;
}

static inline bool cache_keep(cache_fixture *x, unsigned number, size_t size) {
    const tile_artifact_key key = cache_key(number);
    tile_artifact *artifact = tile_artifact_create(x->context);
    artifact_kernel *added = tile_artifact_add(artifact);
    added->parts.abi = added->abi = tile_abi_create(tile_module_function(x->module, 0));
    added->parts.ptx = cache_text(number, size);
    bool kept = tile_cache_keep_artifact(x->cache, &key, artifact);
    tile_artifact_destroy(artifact);
    return kept;
}

/* True if artifact `number` is found. If another artifact is found instead, counts it in *wrong. */
static inline bool cache_find(cache_fixture *x, unsigned number, unsigned *wrong) {
    const tile_artifact_key key = cache_key(number);
    tile_artifact *artifact = tile_cache_find_artifact(x->cache, &key);
    if (!artifact) return false;
    const tile_blob *found = &tile_artifact_kernel_at(artifact, 0)->ptx;
    tile_blob expected = cache_text(number, found->size);
    *wrong += memcmp(expected.data, found->data, found->size) != 0 || !found->size;
    tile_blob_destroy(&expected);
    tile_artifact_destroy(artifact);
    return true;
}

static inline bool cache_has(cache_fixture *x, unsigned number) {
    unsigned wrong = 0;
    bool found = cache_find(x, number, &wrong);
    cr_expect_eq(wrong, 0, "another artifact than %u", number);
    return found;
}

/* Runs an SQL statement on a separate connection; its first value is stored in answer. */
static inline int cache_ask(const cache_fixture *x, const char *sql, char answer[64]) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    answer[0] = 0;
    int result = sqlite3_open(x->file, &db);
    if (!result) result = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (!result) result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        snprintf(answer, 64, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return result;
}

static inline void cache_do(const cache_fixture *x, const char *sql) {
    char answer[64];
    int result = cache_ask(x, sql, answer);
    cr_assert(result == SQLITE_DONE || result == SQLITE_ROW, "%s: %d", sql, result);
}

static inline void cache_is_sound(const cache_fixture *x) {
    char answer[64];
    cr_expect_eq(cache_ask(x, "PRAGMA integrity_check", answer), SQLITE_ROW);
    cr_expect_str_eq(answer, "ok");
}

#endif
