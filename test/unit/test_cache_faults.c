/* The cache under failures. Only time is lost: no call returns an error, and what is found is what
 * was stored. */
#include "test/unit/cache_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/support/clock.h"

/* Many processes ------------------------------------------------------------------------------ */

enum { PROCESSES = 8, NUMBERS = 40, ROUNDS = 150 };

typedef struct tally {
    unsigned found, kept, wrong, errors;
} tally;

/* Does what a compiler does, repeatedly: looks up artifacts, and stores the missing ones. */
static tally hammer(cache_fixture *x, unsigned seed, unsigned rounds, const char *vfs) {
    tally t = {0, 0, 0, 0};
    tile_context_set_sink(x->context, cache_sink, x);
    cache_reopen(x, vfs);
    for (unsigned i = 0; i < rounds; i++) {
        seed = seed * 1103515245 + 12345;
        unsigned number = (seed >> 16) % NUMBERS;
        if (cache_find(x, number, &t.wrong))
            t.found++;
        else
            t.kept += cache_keep(x, number, 20 + number * 1000);
        if (i % 50 == 49) cache_reopen(x, vfs);
    }
    t.errors = x->errors;
    return t;
}

/* Starts a child process, which writes its tally into a pipe. */
static pid_t start(cache_fixture *x, unsigned seed, unsigned rounds, const char *vfs, int out) {
    pid_t child = fork();
    cr_assert(child >= 0);
    if (child) return child;
    const tally t = hammer(x, seed, rounds, vfs);
    _exit(write(out, &t, sizeof t) == sizeof t ? 0 : 1);
}

static tally run_processes(cache_fixture *x, const char *vfs) {
    pid_t children[PROCESSES];
    int ends[2], state;
    tally sum = {0, 0, 0, 0}, t;
    cr_assert_eq(pipe(ends), 0);
    for (unsigned i = 0; i < PROCESSES; i++)
        children[i] = start(x, i * 77 + 1, ROUNDS, vfs, ends[1]);
    for (unsigned i = 0; i < PROCESSES; i++) {
        cr_assert_eq(waitpid(children[i], &state, 0), children[i]);
        cr_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0, "state %x", (unsigned)state);
        cr_assert_eq(read(ends[0], &t, sizeof t), (ssize_t)sizeof t);
        sum.found += t.found;
        sum.kept += t.kept;
        sum.wrong += t.wrong;
        sum.errors += t.errors;
    }
    close(ends[0]);
    close(ends[1]);
    return sum;
}

Test(cache_faults, many_processes) {
    cache_fixture x;
    cache_begin(&x);
    const tally t = run_processes(&x, NULL);
    cr_expect(t.wrong == 0 && t.errors == 0);
    /* Two processes that miss at the same time both store; a few may give up waiting. */
    cr_expect(t.kept >= NUMBERS && t.kept < 4 * NUMBERS, "%u kept", t.kept);
    cr_expect(t.found > PROCESSES * ROUNDS * 8 / 10, "%u found", t.found);
    cache_is_sound(&x);
    cache_reopen(&x, NULL);
    for (unsigned i = 0; i < NUMBERS; i++) cr_expect(cache_has(&x, i), "%u", i);
    cr_expect_eq(tile_cache_get_statistics(x.cache).artifacts, NUMBERS);
    cache_close(&x);
}

/* Another process creates the tables of a new file just after this one releases a lock: the lock
 * with number `left`, counted from opening the file. */
static struct {
    sqlite3_vfs vfs;
    sqlite3_io_methods methods;
    int (*open)(sqlite3_vfs *, const char *, sqlite3_file *, int, int *);
    int (*unlock)(sqlite3_file *, int);
    cache_fixture *x;
    unsigned left;
} between;

static int unlock_and_make(sqlite3_file *file, int level) {
    int result = between.unlock(file, level);
    if (level != SQLITE_LOCK_NONE || !between.left || --between.left) return result;
    tile_cache_destroy(tile_cache_open(between.x->context, between.x->folder, NULL, NULL));
    return result;
}

static int open_between(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags,
                        int *out) {
    int result = between.open(vfs, path, file, flags, out);
    if (result != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB)) return result;
    between.methods = *file->pMethods;
    between.unlock = between.methods.xUnlock;
    between.methods.xUnlock = unlock_and_make;
    file->pMethods = &between.methods;
    return result;
}

Test(cache_faults, another_process_makes_the_tables_meanwhile) {
    enum { GAPS = 6 };
    between.vfs = *sqlite3_vfs_find(NULL);
    between.open = between.vfs.xOpen;
    between.vfs.xOpen = open_between;
    between.vfs.zName = "between";
    cr_assert_eq(sqlite3_vfs_register(&between.vfs, 0), SQLITE_OK);
    for (unsigned gap = 1; gap <= GAPS; gap++) {
        cache_fixture x;
        cache_begin(&x);
        between.x = &x;
        between.left = gap;
        cache_reopen(&x, "between");
        cr_expect(cache_keep(&x, 1, 10) && cache_has(&x, 1), "gap %u", gap);
        cr_expect_str_eq(x.messages, "", "gap %u", gap);
        cr_expect_eq(between.left, 0, "gap %u is none", gap);
        cache_is_sound(&x);
        cache_close(&x);
    }
}

static void *hammer_in_thread(void *folder) {
    cache_fixture x;
    static atomic_uint seeds;
    cache_begin(&x);
    rmdir(x.folder);
    strcpy(x.folder, folder);
    tally *t = malloc(sizeof *t);
    *t = hammer(&x, atomic_fetch_add(&seeds, 1) * 55 + 3, ROUNDS, NULL);
    tile_cache_destroy(x.cache);
    tile_module_destroy(x.module);
    tile_context_destroy(x.context);
    return t;
}

Test(cache_faults, many_threads) {
    cache_fixture x;
    pthread_t threads[PROCESSES];
    cache_begin(&x);
    for (unsigned i = 0; i < PROCESSES; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, hammer_in_thread, x.folder), 0);
    for (unsigned i = 0; i < PROCESSES; i++) {
        void *result;
        pthread_join(threads[i], &result);
        const tally *t = result;
        cr_expect(t->wrong == 0 && t->errors == 0 && t->found > ROUNDS / 2, "%u found", t->found);
        free(result);
    }
    cache_is_sound(&x);
    cache_reopen(&x, NULL);
    for (unsigned i = 0; i < NUMBERS; i++) cr_expect(cache_has(&x, i), "%u", i);
    cache_close(&x);
}

Test(cache_faults, killed_at_any_time) {
    cache_fixture x;
    unsigned found = 0;
    cache_begin(&x);
    for (unsigned round = 0; round < 40; round++) {
        pid_t children[3];
        for (unsigned i = 0; i < 3; i++) children[i] = start(&x, round * 31 + i, 1000000, NULL, -1);
        const struct timespec moment = {.tv_nsec = 1000000 * (1 + round * 7 % 23)};
        nanosleep(&moment, NULL);
        for (unsigned i = 0; i < 3; i++) kill(children[i], SIGKILL);
        for (unsigned i = 0; i < 3; i++) waitpid(children[i], NULL, 0);
        cache_is_sound(&x);
        cache_reopen(&x, NULL);
        for (unsigned i = 0; i < NUMBERS; i++) found += cache_has(&x, i);
        cr_expect(cache_keep(&x, round, 5) && cache_has(&x, round));
        cr_expect_str_eq(x.messages, "");
        /* Clear the cache, so that the next processes write. */
        if (round % 4 == 3) cr_expect_eq(tile_cache_clear(x.cache, TILE_CACHE_ARTIFACTS), TILE_OK);
    }
    cr_expect_gt(found, 100);
    cache_close(&x);
}

/* A process that holds the lock forever costs half a second, once. */
Test(cache_faults, a_stuck_process) {
    cache_fixture x;
    cache_open(&x);
    cr_expect(cache_keep(&x, 1, 10));
    int ends[2];
    char byte;
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (!child) {
        sqlite3 *db;
        sqlite3_open(x.file, &db);
        sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
        if (write(ends[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    cr_assert_eq(read(ends[0], &byte, 1), 1);
    double since = tile_seconds_now();
    cache_reopen(&x, NULL);
    for (unsigned i = 0; i < 100; i++) {
        cr_expect_not(cache_has(&x, 1));
        cr_expect_not(cache_keep(&x, 2, 10));
    }
    since = tile_seconds_now() - since;
    cr_expect(since > 0.2 && since < 3, "%g s", since);
    cr_expect(strstr(x.messages, "another process keeps it locked"), "%s", x.messages);
    cr_expect_eq(strchr(x.messages, '\n')[1], 0, "said once: %s", x.messages);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cache_reopen(&x, NULL);
    cr_expect(cache_has(&x, 1));
    cache_close(&x);
}

/* All locks are granted: processes write at the same time, and damage the file. */
Test(cache_faults, locks_that_do_nothing) {
    cache_fixture x;
    for (unsigned round = 0; round < 5; round++) {
        cache_begin(&x);
        const tally t = run_processes(&x, "unix-none");
        cr_expect_eq(t.wrong, 0);
        cr_expect_eq(t.errors, 0);
        cr_expect_gt(t.found, 0);
        cache_close(&x);
    }
}

/* Disks ---------------------------------------------------------------------------------------- */

Test(cache_faults, no_file_may_grow) {
    cache_fixture x;
    const struct rlimit limit = {200000, RLIM_INFINITY};
    unsigned kept = 0;
    cache_open(&x);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (unsigned i = 0; i < 100; i++) {
        kept += cache_keep(&x, i, 10000);
        if (i < kept) cr_expect(cache_has(&x, i));
    }
    cr_expect(kept > 5 && kept < 20, "%u", kept);
    cr_expect(strstr(x.messages, "nothing more is stored there\n"), "%s", x.messages);
    cr_expect_eq(strchr(x.messages, '\n')[1], 0, "said once: %s", x.messages);
    for (unsigned i = 0; i < kept; i++) cr_expect(cache_has(&x, i), "%u", i);
    cache_is_sound(&x);
    cache_close(&x);
}

Test(cache_faults, a_full_disk) {
    cache_fixture x;
    unsigned kept = 0;
    cache_begin(&x);
    if (mount("tmpfs", x.folder, "tmpfs", 0, "size=300k") != 0) {
        cache_close(&x);
        cr_skip_test("only root may mount a small disk");
    }
    cache_reopen(&x, NULL);
    char other[128];
    snprintf(other, sizeof other, "%s/other", x.folder);
    FILE *file = fopen(other, "wb");
    for (unsigned i = 0; i < 100000; i++) fputc('x', file);
    fclose(file);
    for (unsigned i = 0; i < 100; i++) kept += cache_keep(&x, i, 10000);
    cr_expect(kept > 5 && kept < 20, "%u", kept);
    cr_expect(strstr(x.messages, "full; nothing more is stored there\n"), "%s", x.messages);
    for (unsigned i = 0; i < kept; i++) cr_expect(cache_has(&x, i), "%u", i);
    cache_is_sound(&x);
    unlink(other);
    cache_reopen(&x, NULL);
    cr_expect(cache_keep(&x, 100, 10000) && cache_has(&x, 100));
    tile_cache_destroy(x.cache);
    x.cache = NULL;
    umount(x.folder);
    cache_close(&x);
}

/* Runs a test's body as a user to whom permissions apply. */
static void as_nobody(void (*body)(cache_fixture *), cache_fixture *x) {
    int state;
    pid_t child = fork();
    if (!child) {
        if (geteuid() == 0 && setuid(65534) != 0) _exit(77);
        body(x);
        _exit(x->errors ? 1 : 0);
    }
    waitpid(child, &state, 0);
    cr_expect(WIFEXITED(state) && WEXITSTATUS(state) == 0, "state %x", (unsigned)state);
}

#define EXPECT(condition) \
    if (!(condition)) { \
        fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, x->messages); \
        _exit(1); \
    }

static void use_read_only(cache_fixture *x) {
    unsigned wrong = 0;
    cache_reopen(x, NULL);
    EXPECT(cache_find(x, 1, &wrong) && !wrong);
    EXPECT(!cache_keep(x, 2, 10));
    EXPECT(!cache_find(x, 2, &wrong));
    EXPECT(cache_find(x, 1, &wrong) && !wrong);
    EXPECT(tile_cache_get_statistics(x->cache).usable);
}

static void use_nothing(cache_fixture *x) {
    unsigned wrong = 0;
    cache_reopen(x, NULL);
    EXPECT(!cache_find(x, 1, &wrong));
    EXPECT(!cache_keep(x, 1, 10));
    EXPECT(!tile_cache_get_statistics(x->cache).usable);
    EXPECT(strstr(x->messages, "unable to open database file; continuing without the cache\n"));
}

Test(cache_faults, a_read_only_folder) {
    cache_fixture x;
    cache_open(&x);
    cr_expect(cache_keep(&x, 1, 10));
    tile_cache_destroy(x.cache);
    x.cache = NULL;
    /* A read-only file; then a writable one in a folder in which no journal can be created. */
    chmod(x.file, 0444);
    chmod(x.folder, 0555);
    as_nobody(use_read_only, &x);
    chmod(x.file, 0666);
    as_nobody(use_read_only, &x);
    chmod(x.file, 0000);
    as_nobody(use_nothing, &x);
    unlink(x.file);
    as_nobody(use_nothing, &x);
    chmod(x.folder, 0000);
    as_nobody(use_nothing, &x);
    chmod(x.folder, 0755);
    cache_close(&x);
}

Test(cache_faults, a_file_instead_of_a_folder) {
    cache_fixture x;
    cache_begin(&x);
    strcat(x.folder, "/file");
    close(open(x.folder, O_CREAT | O_WRONLY, 0600));
    cache_reopen(&x, NULL);
    cr_expect(!cache_has(&x, 1) && !cache_keep(&x, 1, 10));
    cr_expect(strstr(x.messages, "continuing without the cache"), "%s", x.messages);
    x.errors += tile_cache_clear(x.cache, TILE_CACHE_ARTIFACTS) == TILE_OK;
    cr_expect_eq(x.errors--, 1, "who asks for something is told");
    strrchr(x.folder, '/')[0] = 0;
    cache_close(&x);
}
