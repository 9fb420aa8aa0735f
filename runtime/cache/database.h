/* The database file: opening, creating its tables, repair, disabling. All SQLite errors are handled
 * here. */
#ifndef TILE_RUNTIME_CACHE_DATABASE_H
#define TILE_RUNTIME_CACHE_DATABASE_H

#include <sqlite3.h>

#include "tile/base.h"

typedef enum db_statement {
#define STATEMENT(name, sql) DB_##name,
#include "runtime/cache/statements.def"
#undef STATEMENT
    DB_STATEMENTS
} db_statement;

typedef struct tile_database {
    tile_context *context;
    char *path;
    const char *vfs;  /* tests: name of an SQLite VFS; NULL: the default */
    sqlite3 *handle;  /* NULL: disabled */
    bool is_known;    /* its tables are ours */
    bool is_writable; /* false: the file can only be read */
    bool may_wait;    /* may wait for locks of other processes */
    unsigned waits;   /* consecutive calls that timed out */
    unsigned renewals;
    sqlite3_stmt *statements[DB_STATEMENTS];
} tile_database;

/* If the file cannot be opened, handle is NULL afterwards and a remark has been reported. */
void tile_database_open(tile_database *db, tile_context *context, const char *folder,
                        const char *vfs);
void tile_database_close(tile_database *db);
/* Reports why, once, and stops using the database. */
void tile_database_disable(tile_database *db, const char *why);

/* A statement for the caller to bind and step; NULL if there is none. End it with
 * tile_database_end. */
sqlite3_stmt *tile_database_begin(tile_database *db, db_statement statement);
/* Releases the locks of a statement. `result` is the result of its last step. After anything but
 * SQLITE_ROW and SQLITE_DONE the database is repaired, becomes read-only, or is disabled, depending
 * on the error. Returns whether there was no error. */
bool tile_database_end(tile_database *db, db_statement statement, int result);
/* Runs a statement that has no parameters and no rows. */
bool tile_database_run(tile_database *db, db_statement statement);
/* The integer that a statement without parameters returns; 0 if it returns none. */
uint64_t tile_database_number(tile_database *db, db_statement statement);

/* Removes the least recently used artifacts until at most `bytes` are in use or none is left. */
bool tile_database_trim(tile_database *db, uint64_t bytes);

#endif
