/* The database file: opened, given its tables, mended, given up. Every SQLite error ends here. */
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
    const char *vfs;  /* tests: SQLite's name for a way to the disk; NULL: the usual one */
    sqlite3 *handle;  /* NULL: given up */
    bool is_known;    /* its tables are ours */
    bool is_writable; /* false: what is there can be read */
    bool may_wait;    /* waits for other processes */
    unsigned waits;   /* calls in a row that timed out */
    unsigned renewals;
    sqlite3_stmt *statements[DB_STATEMENTS];
} tile_database;

/* Where it cannot be opened handle is NULL afterwards, and a remark has been reported. */
void tile_database_open(tile_database *db, tile_context *context, const char *folder,
                        const char *vfs);
void tile_database_close(tile_database *db);
/* Reports why, once, and uses it no more. */
void tile_database_disable(tile_database *db, const char *why);

/* A statement to bind values to and to step; NULL if there is none. tile_database_end ends it. */
sqlite3_stmt *tile_database_begin(tile_database *db, db_statement statement);
/* Releases the locks that a statement holds. `result` is what the last step gave: after anything
 * but SQLITE_ROW and SQLITE_DONE the database is mended, written no more, or given up, as the error
 * demands. Returns whether there was no error. */
bool tile_database_end(tile_database *db, db_statement statement, int result);
/* A statement without parameters and without rows. */
bool tile_database_run(tile_database *db, db_statement statement);
/* The integer that a statement without parameters gives; 0 if there is none. */
uint64_t tile_database_number(tile_database *db, db_statement statement);

/* Drops the least recently used artifacts until no more than so many bytes are in use, or none is
 * left. */
bool tile_database_trim(tile_database *db, uint64_t bytes);

#endif
