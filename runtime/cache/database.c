/* Keeps a file usable that many processes share.
 *
 * Journal: SQLite's rollback journal, not its write-ahead log. The log needs memory that processes
 * share through the file system. Network file systems do not have it, and the log cannot be read in
 * a read-only folder. If a writer is killed, its journal remains and the next process rolls back.
 * No call waits for the disk (synchronous = OFF). After a power failure the file may be damaged,
 * which only costs time.
 *
 * Waiting: a lock is held for one statement, or for one transaction of a trim. A process that finds
 * the file locked waits for at most a tenth of a second and then continues without the cache. After
 * some calls that timed out it disables the cache. So a stuck process, or a file system that
 * reports every lock as taken, costs half a second once.
 *
 * Damage: the file is recreated in place, under SQLite's lock (SQLITE_DBCONFIG_RESET_DATABASE). It
 * is never removed or renamed, because a process that still has the old file open would leave a
 * journal under the name of the new file's journal. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cache/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/support/arena.h"

enum {
    APPLICATION = 0x54696c65, /* "Tile" */
    FORM = 4,                 /* version of the tables and the words in them: user_version */
    WAITS = 50,               /* of 2 ms each */
    MAX_WAITS = 5,
    RENEWALS = 2,
    LONGEST = 1 << 28, /* no row is longer, even if a damaged one claims to be */
};

static const char tables[] =
    "PRAGMA auto_vacuum = INCREMENTAL;"
    "BEGIN IMMEDIATE;"
    "PRAGMA application_id = 1416195173;"
    "PRAGMA user_version = 4;"
    "CREATE TABLE IF NOT EXISTS artifact(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " used INTEGER NOT NULL, size INTEGER NOT NULL, digest TEXT NOT NULL, data BLOB NOT NULL);"
    "CREATE INDEX IF NOT EXISTS artifact_used ON artifact(used, size);"
    "CREATE TABLE IF NOT EXISTS point(kernel TEXT NOT NULL, bucket TEXT NOT NULL,"
    " sizes TEXT NOT NULL, device TEXT NOT NULL, sm_count INTEGER NOT NULL,"
    " memory_clock INTEGER NOT NULL, power_limit INTEGER NOT NULL, name TEXT NOT NULL,"
    " bindings TEXT NOT NULL, seconds REAL NOT NULL, driver TEXT NOT NULL, compiler TEXT NOT NULL,"
    " tuned INTEGER NOT NULL, digest TEXT NOT NULL, unchecked INTEGER NOT NULL, PRIMARY "
    "KEY(kernel, bucket, sizes, device,"
    " sm_count, memory_clock, power_limit)) WITHOUT ROWID;"
    "COMMIT";

/* Without this, environment variables decide where SQLite's temporary files are. */
static const char settings[] =
    "PRAGMA temp_store = MEMORY; PRAGMA synchronous = OFF; PRAGMA secure_delete = OFF";

_Static_assert(APPLICATION == 1416195173 && FORM == 4, "the numbers in the text");

static void report(const tile_database *db, const char *what, const char *then) {
    tile_report(db->context, TILE_REMARK, (tile_loc){0}, "cache %s: %s; %s", db->path, what, then);
}

static void finalize(tile_database *db) {
    for (unsigned i = 0; i < DB_STATEMENTS; i++) {
        sqlite3_finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
}

void tile_database_disable(tile_database *db, const char *why) {
    if (!db->handle) return;
    report(db, why, "continuing without the cache");
    finalize(db);
    sqlite3_close(db->handle);
    db->handle = NULL;
}

/* Repair --------------------------------------------------------------------------------------- */

static void roll_back(tile_database *db) {
    if (!sqlite3_get_autocommit(db->handle)) sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
}

static int execute(tile_database *db, const char *sql) {
    return sqlite3_exec(db->handle, sql, NULL, NULL, NULL);
}

/* Recreates the file, whatever is in it. If the file is damaged, readable points are kept, because
 * they are the most expensive to recompute and each has its digest. Points of another version are
 * dropped: they use parameters and words of another version of the language. */
static void renew(tile_database *db, const char *why, bool keep_points) {
    finalize(db);
    if (!db->is_writable || db->renewals++ == RENEWALS) {
        tile_database_disable(db, why);
        return;
    }
    report(db, why,
           keep_points ? "it is created again" : "it is created again without its tuned points");
    /* A reset requires that the tables have been read, which this does. */
    execute(db, "CREATE TEMP TABLE kept AS SELECT * FROM main.point");
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_RESET_DATABASE, 1, 0);
    execute(db, settings);
    int result = execute(db, "VACUUM");
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_RESET_DATABASE, 0, 0);
    if (result == SQLITE_OK) result = execute(db, tables);
    db->is_known = result == SQLITE_OK;
    if (!db->is_known) {
        tile_database_disable(db, sqlite3_errmsg(db->handle));
        return;
    }
    if (keep_points) execute(db, "INSERT OR IGNORE INTO main.point SELECT * FROM temp.kept");
    execute(db, "DROP TABLE temp.kept");
}

static void stop_writing(tile_database *db, const char *why) {
    if (db->is_writable) report(db, why, "nothing more is stored there");
    db->is_writable = false;
}

/* Decides from an error how later calls use the database. */
static void repair(tile_database *db, int result, bool was_writing) {
    char why[256];
    snprintf(why, sizeof why, "%s", sqlite3_errmsg(db->handle));
    roll_back(db);
    switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (db->may_wait && ++db->waits == MAX_WAITS)
            tile_database_disable(
                db, "another process keeps it locked, or its file system does not support locks");
        break;
    case SQLITE_CORRUPT: /* the message may contain bytes of the file */
    case SQLITE_NOTADB: renew(db, sqlite3_errstr(result), true); break;
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_ERROR: /* a table is missing */ renew(db, why, true); break;
    case SQLITE_FULL:
    case SQLITE_READONLY: stop_writing(db, why); break;
    default: /* any other error */
        if (was_writing)
            stop_writing(db, why);
        else
            tile_database_disable(db, why);
    }
}

/* Opening -------------------------------------------------------------------------------------- */

/* Like `mkdir -p`. A failure shows up when the file is opened. */
static void make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
}

/* A path that SQLite does not parse as a URI. */
static char *path_in(const char *folder) {
    tile_arena arena = {0};
    const char *path =
        tile_arena_format(&arena, "%s%s/tile-cache.sqlite", *folder == '/' ? "" : "./", folder);
    char *copy = strcpy(tile_malloc(strlen(path) + 1), path);
    tile_arena_reset(&arena);
    return copy;
}

static int wait_a_moment(void *database, int count) {
    const tile_database *db = database;
    const struct timespec moment = {.tv_nsec = 2000000};
    if (!db->may_wait || count >= WAITS) return 0;
    nanosleep(&moment, NULL);
    return 1;
}

/* Reads the integer that a PRAGMA returns. */
static int query_number(tile_database *db, const char *sql, int64_t *number) {
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_step(statement);
        *number = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    }
    sqlite3_finalize(statement);
    return result == SQLITE_ROW ? SQLITE_OK : result;
}

static void make_tables(tile_database *db) {
    int result = execute(db, tables);
    if (result == SQLITE_OK)
        db->is_known = true;
    else if ((result & 0xff) == SQLITE_BUSY)
        repair(db, result, true);
    else
        tile_database_disable(db, sqlite3_errmsg(db->handle));
}

/* Queries to which program the file belongs. One transaction covers all three queries. Otherwise a
 * file that another process initializes in between could look like that of another program. */
static int query_application(tile_database *db, int64_t *application, int64_t *form,
                             int64_t *entries) {
    int result = execute(db, "BEGIN");
    if (result == SQLITE_OK) result = query_number(db, "PRAGMA application_id", application);
    if (result == SQLITE_OK) result = query_number(db, "PRAGMA user_version", form);
    if (result == SQLITE_OK && !*application)
        result = query_number(db, "SELECT count(*) FROM sqlite_master", entries);
    return result == SQLITE_OK ? execute(db, "COMMIT") : result;
}

/* Checks whether the file is one of ours, and initializes a new one. */
static void check_owner(tile_database *db) {
    int64_t application = 0, form = 0, entries = 0;
    int result = query_application(db, &application, &form, &entries);
    if (result != SQLITE_OK)
        repair(db, result, false);
    else if (application == APPLICATION && form == FORM)
        db->is_known = true;
    else if (application == APPLICATION && form > FORM)
        tile_database_disable(db, "a newer version of Tile made it");
    else if (application == APPLICATION)
        renew(db, "an older version of Tile made it", false);
    else if (application || form || entries)
        tile_database_disable(db, "it is the database of another program");
    else
        make_tables(db);
}

void tile_database_open(tile_database *db, tile_context *context, const char *folder,
                        const char *vfs) {
    *db =
        (tile_database){.context = context, .path = path_in(folder), .vfs = vfs, .may_wait = true};
    make_folders(db->path);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(db->path, &db->handle, flags, vfs) != SQLITE_OK) {
        tile_database_disable(db, sqlite3_errmsg(db->handle));
        return;
    }
    db->is_writable = sqlite3_db_readonly(db->handle, "main") == 0;
    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_busy_handler(db->handle, wait_a_moment, db);
    sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, LONGEST);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    execute(db, settings); /* fails on a damaged file: renew repeats it */
    check_owner(db);
}

void tile_database_close(tile_database *db) {
    finalize(db);
    sqlite3_close(db->handle);
    free(db->path);
    *db = (tile_database){0};
}

/* Statements ----------------------------------------------------------------------------------- */

sqlite3_stmt *tile_database_begin(tile_database *db, db_statement statement) {
    static const char *const sql[] = {
#define STATEMENT(name, text) [DB_##name] = text,
#include "runtime/cache/statements.def"
#undef STATEMENT
    };
    sqlite3_stmt **prepared = &db->statements[statement];
    if (!db->handle || *prepared) return *prepared;
    if (!db->is_known) check_owner(db);
    if (!db->is_known) return NULL;
    int result = sqlite3_prepare_v3(db->handle, sql[statement], -1, SQLITE_PREPARE_PERSISTENT,
                                    prepared, NULL);
    if (result != SQLITE_OK) repair(db, result, false);
    return *prepared;
}

bool tile_database_end(tile_database *db, db_statement statement, int result) {
    sqlite3_stmt *prepared = db->statements[statement];
    if (!prepared) return false;
    bool was_writing = !sqlite3_stmt_readonly(prepared) || statement == DB_COMMIT;
    bool ok = result == SQLITE_ROW || result == SQLITE_DONE;
    sqlite3_reset(prepared);
    if (ok)
        db->waits = 0;
    else
        repair(db, result, was_writing);
    if (db->statements[statement]) sqlite3_clear_bindings(db->statements[statement]);
    return ok;
}

bool tile_database_run(tile_database *db, db_statement statement) {
    sqlite3_stmt *prepared = tile_database_begin(db, statement);
    return prepared && tile_database_end(db, statement, sqlite3_step(prepared));
}

uint64_t tile_database_number(tile_database *db, db_statement statement) {
    sqlite3_stmt *prepared = tile_database_begin(db, statement);
    if (!prepared) return 0;
    int result = sqlite3_step(prepared);
    uint64_t number = result == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(prepared, 0) : 0;
    return tile_database_end(db, statement, result) ? number : 0;
}
