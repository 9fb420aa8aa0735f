/* Tuned points in the database. A row has the fields of tile_kept_point in their order, then a
 * digest of all fields. statements.def names its columns and numbers its parameters in the same
 * order. */
#include <string.h>

#include "lib/support/identity.h"
#include "runtime/cache/cache.h"

static const tile_field fields[] = {
#define POINT(key_, member, ...) {TILE_FIELD(#key_, tile_kept_point, member), __VA_ARGS__},
#include "runtime/cache/point.def"
#undef POINT
};

const tile_record tile_kept_point_record = {TILE_RECORD(tile_kept_point, fields)};

enum { DIGEST = sizeof fields / sizeof *fields };

static void *member_of(const tile_field *field, const tile_kept_point *kept) {
    return (char *)kept + field->offset;
}

/* The key's kernel is a text; the row has its digest, in `kernel`, which must live as long as the
 * result. NULL strings become empty ones. */
static tile_kept_point take_point(const tile_point_key *key, const tile_tuned_point *point,
                                  char kernel[TILE_DIGEST_TEXT]) {
    tile_kept_point kept = {*key, *point};
    for (unsigned i = 0; i < DIGEST; i++)
        if (fields[i].kind == TILE_KIND_TEXT && !tile_field_pointer(member_of(&fields[i], &kept)))
            tile_field_set_pointer("", member_of(&fields[i], &kept));
    if (!kernel) return kept;
    tile_digest(kept.key.kernel, strlen(kept.key.kernel), kernel);
    kept.key.kernel = kernel;
    return kept;
}

/* The digest of all fields of a row. */
static void digest_of(const tile_kept_point *kept, char digest[TILE_DIGEST_TEXT]) {
    const tile_point_key *key = &kept->key;
    const tile_tuned_point *point = &kept->point;
    tile_arena arena = {0};
    tile_text text = {.arena = &arena};
    /* As before the field existed, so that older rows stay valid. */
    const char *unchecked = point->unchecked ? " unchecked" : "";
    tile_text_format(&text, "%s\n%s\n%s\n%s\n%u %u %u\n%s\n%s\n%s\n%s\n%a %lld%s", key->kernel,
                     key->bucket, key->sizes, key->device, key->sm_count, key->memory_clock,
                     key->power_limit, point->kernel_name, point->bindings, point->driver,
                     point->compiler, point->seconds, (long long)point->tuned, unchecked);
    tile_digest(text.data, text.length, digest);
    tile_arena_reset(&arena);
}

/* Begins the statement and binds its parameters. NULL: there is no database. */
static sqlite3_stmt *begin(tile_cache *cache, unsigned which, const tile_kept_point *kept) {
    sqlite3_stmt *statement = tile_database_begin(&cache->db, which);
    int count = statement ? sqlite3_bind_parameter_count(statement) : 0;
    for (int i = 0; i < count && i < DIGEST; i++) {
        const void *member = member_of(&fields[i], kept);
        if (fields[i].kind == TILE_KIND_TEXT)
            sqlite3_bind_text(statement, i + 1, tile_field_pointer(member), -1, SQLITE_STATIC);
        else if (fields[i].kind == TILE_KIND_DOUBLE)
            sqlite3_bind_double(statement, i + 1, *(const double *)member);
        else
            sqlite3_bind_int64(statement, i + 1, tile_field_load(&fields[i], member));
    }
    return statement;
}

/* Reading -------------------------------------------------------------------------------------- */

static const char *column(tile_arena *arena, sqlite3_stmt *statement, int index) {
    const char *text = (const char *)sqlite3_column_text(statement, index);
    return tile_arena_string(arena, text ? text : "", text ? strlen(text) : 0);
}

/* Reads a row that was found for `key`; NULL: its key is in the row. False if the digest
 * differs. */
static bool read_row(const tile_cache *cache, tile_arena *arena, sqlite3_stmt *statement,
                     const tile_point_key *key, tile_kept_point *kept) {
    char digest[TILE_DIGEST_TEXT];
    *kept = (tile_kept_point){.key = {0}};
    for (int i = 0; i < DIGEST; i++) {
        void *member = member_of(&fields[i], kept);
        if (fields[i].kind == TILE_KIND_TEXT)
            tile_field_set_pointer(column(arena, statement, i), member);
        else if (fields[i].kind == TILE_KIND_DOUBLE)
            *(double *)member = sqlite3_column_double(statement, i);
        else
            tile_field_store(&fields[i], sqlite3_column_int64(statement, i), member);
    }
    if (key) kept->key = *key;
    kept->point.stale = strcmp(kept->point.compiler, cache->compiler) != 0;
    digest_of(kept, digest);
    return strcmp(column(arena, statement, DIGEST), digest) == 0;
}

bool tile_cache_find_point(tile_cache *cache, const tile_point_key *key, tile_tuned_point *point) {
    TILE_GUARD(cache ? cache->context : NULL, false)
    char kernel[TILE_DIGEST_TEXT];
    tile_kept_point kept;
    if (point) *point = (tile_tuned_point){0};
    if (!cache || !key || !point) return false;
    tile_arena_reset(&cache->found);
    const tile_kept_point wanted = take_point(key, point, kernel);
    sqlite3_stmt *statement = begin(cache, DB_FIND_POINT, &wanted);
    if (!statement) return false;
    int result = sqlite3_step(statement);
    bool found =
        result == SQLITE_ROW && read_row(cache, &cache->found, statement, &wanted.key, &kept);
    tile_database_end(&cache->db, DB_FIND_POINT, result);
    if (found) *point = kept.point;
    return found;
}

static void visit_rows(tile_cache *cache, unsigned which, const tile_kept_point *wanted,
                       tile_point_visitor visit, void *user) {
    sqlite3_stmt *statement = begin(cache, which, wanted);
    int result;
    if (!statement) return;
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        tile_arena arena = {0};
        tile_kept_point kept;
        if (read_row(cache, &arena, statement, NULL, &kept)) visit(&kept.key, &kept.point, user);
        tile_arena_reset(&arena);
    }
    tile_database_end(&cache->db, which, result);
}

void tile_cache_list_points(tile_cache *cache, tile_point_visitor visit, void *user) {
    TILE_GUARD(cache ? cache->context : NULL, )
    if (!cache || !visit) return;
    visit_rows(cache, DB_LIST_POINTS, &(tile_kept_point){.key = {0}}, visit, user);
}

void tile_cache_list_bucket(tile_cache *cache, const tile_point_key *key, tile_point_visitor visit,
                            void *user) {
    TILE_GUARD(cache ? cache->context : NULL, )
    char kernel[TILE_DIGEST_TEXT];
    if (!cache || !key || !visit) return;
    const tile_kept_point wanted = take_point(key, &(tile_tuned_point){0}, kernel);
    visit_rows(cache, DB_LIST_BUCKET, &wanted, visit, user);
}

bool tile_cache_has_bindings(tile_cache *cache, const tile_point_key *key) {
    char kernel[TILE_DIGEST_TEXT];
    if (!cache) return false;
    const tile_kept_point wanted = take_point(key, &(tile_tuned_point){0}, kernel);
    sqlite3_stmt *statement = begin(cache, DB_HAS_BINDINGS, &wanted);
    if (!statement) return false;
    int result = sqlite3_step(statement);
    return tile_database_end(&cache->db, DB_HAS_BINDINGS, result) && result == SQLITE_ROW;
}

/* Keeping -------------------------------------------------------------------------------------- */

static bool keep(tile_cache *cache, const tile_kept_point *kept) {
    char digest[TILE_DIGEST_TEXT];
    sqlite3_stmt *statement = begin(cache, DB_KEEP_POINT, kept);
    if (!statement) return false;
    digest_of(kept, digest);
    sqlite3_bind_text(statement, DIGEST + 1, digest, -1, SQLITE_STATIC);
    return tile_database_end(&cache->db, DB_KEEP_POINT, sqlite3_step(statement));
}

bool tile_cache_keep_point(tile_cache *cache, const tile_point_key *key,
                           const tile_tuned_point *point) {
    TILE_GUARD(cache ? cache->context : NULL, false)
    char kernel[TILE_DIGEST_TEXT];
    if (!cache || !key || !point || !cache->db.is_writable) return false;
    tile_kept_point kept = take_point(key, point, kernel);
    kept.point.compiler = cache->compiler;
    kept.point.tuned = cache->now();
    return keep(cache, &kept);
}

bool tile_cache_import_point(tile_cache *cache, const tile_point_key *key,
                             const tile_tuned_point *point) {
    const tile_kept_point kept = take_point(key, point, NULL);
    return cache->db.is_writable && keep(cache, &kept);
}
