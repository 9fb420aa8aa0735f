/* A process with its own SQLite, whose functions all fail: Tile's cache must not call it. */
#include <stdio.h>
#include <stdlib.h>

#define OWN(name) \
    int name(void); \
    int name(void) { \
        puts("the process's own " #name); \
        exit(1); \
    }
OWN(sqlite3_initialize)
OWN(sqlite3_open_v2)
OWN(sqlite3_prepare_v2)
OWN(sqlite3_prepare_v3)
OWN(sqlite3_exec)
OWN(sqlite3_step)
OWN(sqlite3_malloc64)
OWN(sqlite3_vfs_find)
OWN(sqlite3_close)
