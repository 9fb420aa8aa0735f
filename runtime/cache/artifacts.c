/* Artifacts in the database. A row's data is
 *
 * 0123456789abcdef0123456789abcdef 57      the key again, and the length of the messages in bytes
 * ...                                      the messages of the build (messages.h)
 * tile artifact ...                        the bytes from tile_artifact_write
 *
 * and its digest covers all of that. A row that is found for another key, which damaged indices can
 * cause, is therefore rejected. */
#include <stdlib.h>
#include <string.h>

#include "lib/support/context.h"
#include "lib/support/identity.h"
#include "lib/support/text.h"
#include "runtime/cache/cache.h"
#include "runtime/cache/messages.h"

enum { KEY = sizeof(tile_artifact_key) - 1, FRESH = 600 }; /* seconds that `used` is not renewed */

/* Finding -------------------------------------------------------------------------------------- */

typedef struct row {
    int64_t id, used;
    const char *data; /* owned by SQLite until the statement ends */
    size_t size;
} row;

/* Reads the artifact that follows the head and the messages. Reports nothing if it is invalid. */
static tile_artifact *read_silently(tile_context *context, const char *data, size_t size) {
    tile_artifact *artifact = NULL;
    tile_sink sink = context->sink;
    unsigned errors = context->errors;
    context->sink = NULL;
    tile_artifact_read(context, data, size, &artifact);
    context->sink = sink;
    context->errors = errors;
    return artifact;
}

static tile_artifact *read_data(tile_context *context, const char *key, const row *r) {
    const char *line = r->size > KEY ? memchr(r->data, '\n', r->size) : NULL;
    if (!line || memcmp(r->data, key, KEY) != 0 || r->data[KEY] != ' ') return NULL;
    size_t messages = strtoul(r->data + KEY, NULL, 10), left = r->size - (size_t)(++line - r->data);
    if (messages > left) return NULL;
    tile_artifact *artifact = read_silently(context, line + messages, left - messages);
    if (artifact) tile_messages_repeat(context, line, messages);
    return artifact;
}

static tile_artifact *read_row(tile_cache *cache, sqlite3_stmt *statement, const char *key,
                               row *r) {
    char digest[TILE_DIGEST_TEXT];
    *r =
        (row){.id = sqlite3_column_int64(statement, 0), .used = sqlite3_column_int64(statement, 1)};
    const char *expected = (const char *)sqlite3_column_text(statement, 2);
    r->data = sqlite3_column_blob(statement, 3);
    r->size = r->data ? (size_t)sqlite3_column_bytes(statement, 3) : 0;
    tile_digest(r->data, r->size, digest);
    if (!expected || strcmp(expected, digest) != 0) return NULL;
    return read_data(cache->context, key, r);
}

/* Writes are costly, so `used` is only exact to FRESH seconds, and a write does not wait for
 * locks. */
static void touch(tile_cache *cache, const row *r) {
    int64_t now = cache->now();
    bool fresh = now >= r->used && now - r->used < FRESH;
    if (fresh || !cache->db.is_writable) return;
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_TOUCH_ARTIFACT);
    if (!statement) return;
    sqlite3_bind_int64(statement, 1, r->id);
    sqlite3_bind_int64(statement, 2, now);
    cache->db.may_wait = false;
    tile_database_end(&cache->db, DB_TOUCH_ARTIFACT, sqlite3_step(statement));
    cache->db.may_wait = true;
}

static void drop(tile_cache *cache, const char *key, const row *r) {
    tile_report(cache->context, TILE_REMARK, (tile_loc){0},
                "cache %s: the entry %s is damaged and is created again", cache->db.path, key);
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_DROP_ARTIFACT);
    if (!statement) return;
    sqlite3_bind_int64(statement, 1, r->id);
    tile_database_end(&cache->db, DB_DROP_ARTIFACT, sqlite3_step(statement));
}

tile_artifact *tile_cache_find_artifact(tile_cache *cache, const tile_artifact_key *key) {
    TILE_GUARD(cache ? cache->context : NULL, NULL)
    tile_artifact *found = NULL;
    row r;
    if (!cache || !key) return NULL;
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_FIND_ARTIFACT);
    int result = SQLITE_DONE;
    if (statement) {
        sqlite3_bind_text(statement, 1, key->text, -1, SQLITE_STATIC);
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) found = read_row(cache, statement, key->text, &r);
        tile_database_end(&cache->db, DB_FIND_ARTIFACT, result);
    }
    if (found)
        touch(cache, &r);
    else if (result == SQLITE_ROW)
        drop(cache, key->text, &r);
    *(found ? &cache->hits : &cache->misses) += 1;
    return found;
}

/* Keeping -------------------------------------------------------------------------------------- */

static bool insert(tile_cache *cache, const char *key, const tile_text *data) {
    char digest[TILE_DIGEST_TEXT];
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_KEEP_ARTIFACT);
    if (!statement) return false;
    tile_digest(data->data, data->length, digest);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, cache->now());
    sqlite3_bind_int64(statement, 3, (int64_t)data->length);
    sqlite3_bind_text(statement, 4, digest, -1, SQLITE_STATIC);
    sqlite3_bind_blob64(statement, 5, data->data, data->length, SQLITE_STATIC);
    return tile_database_end(&cache->db, DB_KEEP_ARTIFACT, sqlite3_step(statement));
}

bool tile_cache_keep(tile_cache *cache, const tile_artifact_key *key, const tile_artifact *artifact,
                     const char *messages, size_t messages_size) {
    if (!cache || !key || !artifact || !cache->db.handle || !cache->db.is_writable) return false;
    tile_arena arena = {0};
    tile_text data = {.arena = &arena};
    tile_text_format(&data, "%s %zu\n", key->text, messages_size);
    tile_text_append(messages, messages_size, &data);
    tile_artifact_write(artifact, tile_text_append, &data);
    /* An artifact that fills most of the file would evict all others. */
    bool kept = strlen(key->text) == KEY && data.length < cache->max_bytes / 2 &&
                insert(cache, key->text, &data);
    tile_arena_reset(&arena);
    if (kept && tile_database_number(&cache->db, DB_USED_BYTES) > cache->max_bytes)
        tile_database_trim(&cache->db, cache->max_bytes / 10 * 9);
    return kept;
}

bool tile_cache_keep_artifact(tile_cache *cache, const tile_artifact_key *key,
                              const tile_artifact *artifact) {
    TILE_GUARD(cache ? cache->context : NULL, false)
    return tile_cache_keep(cache, key, artifact, "", 0);
}
