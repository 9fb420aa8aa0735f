/* Tuned points in the database. */
#include <string.h>

#include "lib/support/identity.h"
#include "lib/support/text.h"
#include "runtime/cache/cache.h"

/* A row's texts: those of the key, of which the kernel's is a digest, then the point's. */
typedef struct texts {
    const char *kernel, *bucket, *sizes, *device;    /* the key's */
    const char *name, *bindings, *driver, *compiler; /* the point's */
} texts;

static const char *text_of(const char *given) {
    return given ? given : "";
}

/* With the digest of the kernel's text, which must live as long. */
static texts take_texts(const tile_point_key *key, const tile_tuned_point *point,
                        char kernel[TILE_DIGEST_TEXT]) {
    const char *text = text_of(key->kernel);
    tile_digest(text, strlen(text), kernel);
    return (texts){.kernel = kernel,
                   .bucket = text_of(key->bucket),
                   .sizes = text_of(key->sizes),
                   .device = text_of(key->device),
                   .name = text_of(point->kernel_name),
                   .bindings = text_of(point->bindings),
                   .driver = text_of(point->driver),
                   .compiler = text_of(point->compiler)};
}

/* Of all that a row says. */
static void digest_of(const texts *t, const tile_point_key *key, const tile_tuned_point *point,
                      char digest[TILE_DIGEST_TEXT]) {
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    /* As it was before there were unchecked ones: what was kept then stays good. */
    const char *unchecked = point->unchecked ? " unchecked" : "";
    tile_text_format(&text, "%s\n%s\n%s\n%s\n%u %u %u\n%s\n%s\n%s\n%s\n%a %lld%s", t->kernel,
                     t->bucket, t->sizes, t->device, key->sm_count, key->memory_clock,
                     key->power_limit, t->name, t->bindings, t->driver, t->compiler, point->seconds,
                     (long long)point->tuned, unchecked);
    tile_digest(text.data, text.length, digest);
    tile_arena_reset(&arena);
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text) {
    sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static void bind_key(sqlite3_stmt *statement, const texts *t, const tile_point_key *key) {
    bind_text(statement, 1, t->kernel);
    bind_text(statement, 2, t->bucket);
    bind_text(statement, 3, t->sizes);
    bind_text(statement, 4, t->device);
    sqlite3_bind_int64(statement, 5, key->sm_count);
    sqlite3_bind_int64(statement, 6, key->memory_clock);
    sqlite3_bind_int64(statement, 7, key->power_limit);
}

/* Reading -------------------------------------------------------------------------------------- */

static const char *column(tile_arena *arena, sqlite3_stmt *statement, int index) {
    const char *text = (const char *)sqlite3_column_text(statement, index);
    return tile_arena_string(arena, text_of(text), text ? strlen(text) : 0);
}

/* The columns that FIND_POINT and the lists begin with. False if the digest does not fit. */
static bool read_point(const tile_cache *cache, tile_arena *arena, sqlite3_stmt *statement,
                       const char *kernel, const tile_point_key *key, tile_tuned_point *point) {
    char digest[TILE_DIGEST_TEXT];
    *point = (tile_tuned_point){.kernel_name = column(arena, statement, 0),
                                .bindings = column(arena, statement, 1),
                                .seconds = sqlite3_column_double(statement, 2),
                                .driver = column(arena, statement, 3),
                                .compiler = column(arena, statement, 4),
                                .tuned = sqlite3_column_int64(statement, 5),
                                .unchecked = sqlite3_column_int64(statement, 7) != 0};
    point->stale = strcmp(point->compiler, cache->compiler) != 0;
    char unused[TILE_DIGEST_TEXT];
    texts t = take_texts(key, point, unused);
    t.kernel = kernel;
    digest_of(&t, key, point, digest);
    return strcmp(column(arena, statement, 6), digest) == 0;
}

bool tile_cache_find_point(tile_cache *cache, const tile_point_key *key, tile_tuned_point *point) {
    TILE_GUARD(cache ? cache->context : NULL, false)
    char kernel[TILE_DIGEST_TEXT];
    bool found = false;
    if (point) *point = (tile_tuned_point){0};
    if (!cache || !key || !point) return false;
    tile_arena_reset(&cache->found);
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_FIND_POINT);
    if (!statement) return false;
    const texts t = take_texts(key, point, kernel);
    bind_key(statement, &t, key);
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        found = read_point(cache, &cache->found, statement, kernel, key, point);
    tile_database_end(&cache->db, DB_FIND_POINT, result);
    if (!found) *point = (tile_tuned_point){0};
    return found;
}

/* Of a statement whose rows are as LIST_POINTS gives them. */
static void visit_rows(tile_cache *cache, unsigned which, sqlite3_stmt *statement,
                       tile_point_visitor visit, void *user) {
    int result;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        tile_arena arena = {0};
        tile_tuned_point point;
        const tile_point_key key = {.kernel = column(&arena, statement, 8),
                                    .bucket = column(&arena, statement, 9),
                                    .sizes = column(&arena, statement, 10),
                                    .device = column(&arena, statement, 11),
                                    .sm_count = (unsigned)sqlite3_column_int64(statement, 12),
                                    .memory_clock = (unsigned)sqlite3_column_int64(statement, 13),
                                    .power_limit = (unsigned)sqlite3_column_int64(statement, 14)};
        if (read_point(cache, &arena, statement, key.kernel, &key, &point))
            visit(&key, &point, user);
        tile_arena_reset(&arena);
    }
    tile_database_end(&cache->db, which, result);
}

void tile_cache_list_points(tile_cache *cache, tile_point_visitor visit, void *user) {
    TILE_GUARD(cache ? cache->context : NULL, )
    if (!cache || !visit) return;
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_LIST_POINTS);
    if (statement) visit_rows(cache, DB_LIST_POINTS, statement, visit, user);
}

void tile_cache_list_bucket(tile_cache *cache, const tile_point_key *key, tile_point_visitor visit,
                            void *user) {
    TILE_GUARD(cache ? cache->context : NULL, )
    char kernel[TILE_DIGEST_TEXT];
    if (!cache || !key || !visit) return;
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_LIST_BUCKET);
    if (!statement) return;
    const texts t = take_texts(key, &(tile_tuned_point){0}, kernel);
    bind_text(statement, 1, t.kernel);
    bind_text(statement, 2, t.bucket);
    bind_text(statement, 3, t.device);
    sqlite3_bind_int64(statement, 4, key->sm_count);
    sqlite3_bind_int64(statement, 5, key->memory_clock);
    visit_rows(cache, DB_LIST_BUCKET, statement, visit, user);
}

bool tile_cache_has_bindings(tile_cache *cache, const tile_point_key *key) {
    char kernel[TILE_DIGEST_TEXT];
    sqlite3_stmt *statement = cache ? tile_database_begin(&cache->db, DB_HAS_BINDINGS) : NULL;
    if (!statement) return false;
    const texts t = take_texts(key, &(tile_tuned_point){0}, kernel);
    bind_text(statement, 1, t.kernel);
    bind_text(statement, 2, t.device);
    sqlite3_bind_int64(statement, 3, key->sm_count);
    sqlite3_bind_int64(statement, 4, key->memory_clock);
    int result = sqlite3_step(statement);
    return tile_database_end(&cache->db, DB_HAS_BINDINGS, result) && result == SQLITE_ROW;
}

/* Keeping -------------------------------------------------------------------------------------- */

/* The row of these texts. */
static bool keep(tile_cache *cache, const texts *t, const tile_point_key *key,
                 const tile_tuned_point *point) {
    char digest[TILE_DIGEST_TEXT];
    sqlite3_stmt *statement = tile_database_begin(&cache->db, DB_KEEP_POINT);
    if (!statement) return false;
    digest_of(t, key, point, digest);
    bind_key(statement, t, key);
    bind_text(statement, 8, t->name);
    bind_text(statement, 9, t->bindings);
    sqlite3_bind_double(statement, 10, point->seconds);
    bind_text(statement, 11, t->driver);
    bind_text(statement, 12, t->compiler);
    sqlite3_bind_int64(statement, 13, point->tuned);
    bind_text(statement, 14, digest);
    sqlite3_bind_int64(statement, 15, point->unchecked);
    return tile_database_end(&cache->db, DB_KEEP_POINT, sqlite3_step(statement));
}

bool tile_cache_keep_point(tile_cache *cache, const tile_point_key *key,
                           const tile_tuned_point *point) {
    TILE_GUARD(cache ? cache->context : NULL, false)
    char kernel[TILE_DIGEST_TEXT];
    if (!cache || !key || !point || !cache->db.is_writable) return false;
    tile_tuned_point kept = *point;
    kept.compiler = cache->compiler;
    kept.tuned = cache->now();
    const texts t = take_texts(key, &kept, kernel);
    return keep(cache, &t, key, &kept);
}

bool tile_cache_import_point(tile_cache *cache, const tile_point_key *key,
                             const tile_tuned_point *point) {
    char unused[TILE_DIGEST_TEXT];
    if (!cache->db.is_writable) return false;
    texts t = take_texts(key, point, unused);
    t.kernel = text_of(key->kernel);
    return keep(cache, &t, key, point);
}
