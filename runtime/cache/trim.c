/* Removing the least recently used artifacts. */
#include "runtime/cache/database.h"

enum { BATCH = 256 }; /* OLDEST_ARTIFACTS */

static bool drop(tile_database *db, const int64_t *ids, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        sqlite3_stmt *statement = tile_database_begin(db, DB_DROP_ARTIFACT);
        if (!statement) return false;
        sqlite3_bind_int64(statement, 1, ids[i]);
        if (!tile_database_end(db, DB_DROP_ARTIFACT, sqlite3_step(statement))) return false;
    }
    return true;
}

/* Selects the oldest artifacts that together have at least `bytes`, or one batch of them. */
static bool choose(tile_database *db, uint64_t bytes, int64_t ids[BATCH], unsigned *count) {
    sqlite3_stmt *statement = tile_database_begin(db, DB_OLDEST_ARTIFACTS);
    int result = SQLITE_DONE;
    *count = 0;
    if (!statement) return false;
    for (uint64_t sum = 0; sum < bytes && *count < BATCH;) {
        result = sqlite3_step(statement);
        if (result != SQLITE_ROW) break;
        ids[(*count)++] = sqlite3_column_int64(statement, 0);
        sum += (uint64_t)sqlite3_column_int64(statement, 1);
    }
    return tile_database_end(db, DB_OLDEST_ARTIFACTS, result);
}

/* Uses one transaction, so that two processes do not both free the same space. */
static bool drop_some(tile_database *db, uint64_t bytes, unsigned *count) {
    int64_t ids[BATCH];
    *count = 0;
    if (!tile_database_run(db, DB_BEGIN)) return false;
    uint64_t used = tile_database_number(db, DB_USED_BYTES);
    bool ok = used <= bytes || (choose(db, used - bytes, ids, count) && drop(db, ids, *count));
    return ok && tile_database_run(db, DB_COMMIT); /* an error has rolled back the transaction */
}

bool tile_database_trim(tile_database *db, uint64_t bytes) {
    unsigned count = 1;
    bool ok = true;
    while (ok && count) ok = drop_some(db, bytes, &count);
    return ok;
}
