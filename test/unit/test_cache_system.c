/* The cache when system calls of SQLite fail, in particular locks. Only time is lost. */
#include "test/unit/cache_fixture.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/support/clock.h"

/* An SQLite VFS that fails -------------------------------------------------------------------- */

static unsigned calls_left; /* until one fails; 0: none fails */
static bool is_broken;      /* one has failed */
static bool locks_fail;     /* every one of them */
static int call_error;

static bool fails(bool is_lock) {
    if (locks_fail && is_lock) {
        errno = call_error;
        return true;
    }
    if (!calls_left || --calls_left) return false;
    is_broken = true;
    errno = call_error;
    return true;
}

/* CALL(name, type, parameters, arguments, whether it is a lock) */
#define CALLS(CALL) \
    CALL(open, int, (const char *path, int flags, int mode), (path, flags, mode), false) \
    CALL(fstat, int, (int file, struct stat *about), (file, about), false) \
    CALL(stat, int, (const char *path, struct stat *about), (path, about), false) \
    CALL(lstat, int, (const char *path, struct stat *about), (path, about), false) \
    CALL(access, int, (const char *path, int mode), (path, mode), false) \
    CALL(unlink, int, (const char *path), (path), false) \
    CALL(ftruncate, int, (int file, off_t size), (file, size), false) \
    CALL(fcntl, int, (int file, int command, void *rest), (file, command, rest), \
         command == F_SETLK || command == F_GETLK) \
    CALL(read, ssize_t, (int file, void *to, size_t size), (file, to, size), false) \
    CALL(pread, ssize_t, (int file, void *to, size_t size, off_t at), (file, to, size, at), false) \
    CALL(pread64, ssize_t, (int file, void *to, size_t size, off_t at), (file, to, size, at), \
         false) \
    CALL(write, ssize_t, (int file, const void *data, size_t size), (file, data, size), false) \
    CALL(pwrite, ssize_t, (int file, const void *data, size_t size, off_t at), \
         (file, data, size, at), false) \
    CALL(pwrite64, ssize_t, (int file, const void *data, size_t size, off_t at), \
         (file, data, size, at), false)

#define CALL(name, type, parameters, arguments, is_lock) \
    static type(*real_##name) parameters; \
    static type broken_##name parameters { \
        return fails(is_lock) ? -1 : real_##name arguments; \
    }
CALLS(CALL)
#undef CALL

static void break_calls(void) {
    sqlite3_vfs *v = sqlite3_vfs_find("unix");
    unsigned replaced = 0;
#define CALL(name, type, parameters, arguments, is_lock) \
    real_##name = (type(*) parameters)v->xGetSystemCall(v, #name); \
    if (real_##name) \
        replaced += v->xSetSystemCall(v, #name, (sqlite3_syscall_ptr)broken_##name) == SQLITE_OK;
    CALLS(CALL)
#undef CALL
    cr_assert_gt(replaced, 8);
}

/* Failures ------------------------------------------------------------------------------------ */

Test(cache_system, any_call_to_the_system_fails) {
    static const int errors[] = {EIO, ENOSPC};
    unsigned broken = 0;
    for (unsigned i = 0; i < 2; i++) {
        is_broken = true;
        for (unsigned n = 1; is_broken; n++) {
            cache_fixture x;
            cache_begin(&x);
            if (n == 1 && i == 0) break_calls();
            call_error = errors[i];
            is_broken = false;
            calls_left = n;
            cache_reopen(&x, NULL);
            for (unsigned k = 0; k < 3; k++) {
                cache_keep(&x, k, 20000);
                cache_has(&x, k);
                if (k == 1) tile_cache_trim(x.cache, 40000);
                if (k == 1) x.errors = 0; /* a failed trim is an error */
            }
            cache_reopen(&x, NULL);
            calls_left = 0;
            for (unsigned k = 0; k < 3; k++) cache_has(&x, k);
            broken += is_broken;
            cache_reopen(&x, NULL);
            cr_expect(cache_keep(&x, 4, 10) && cache_has(&x, 4), "call %u: %s", n, x.messages);
            cache_is_sound(&x);
            cache_close(&x);
        }
    }
    cr_expect_gt(broken, 200);
}

Test(cache_system, a_folder_without_locks) {
    /* Errors of a network file system without its lock server, and of one without locks. */
    static const int errors[] = {ENOLCK, ENOSYS, EINVAL, EOPNOTSUPP, EPERM, EIO};
    cache_fixture x;
    cache_open(&x);
    cr_expect(cache_keep(&x, 1, 10));
    tile_cache_destroy(x.cache);
    x.cache = NULL;
    break_calls();
    locks_fail = true;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        double since = tile_seconds_now();
        call_error = errors[i];
        cache_reopen(&x, NULL);
        for (unsigned n = 0; n < 100; n++) {
            cr_expect_not(cache_has(&x, 1));
            cr_expect_not(cache_keep(&x, 2, 10));
        }
        cr_expect_lt(tile_seconds_now() - since, 3.0);
        cr_expect_not(tile_cache_get_statistics(x.cache).usable);
        cr_expect(strstr(x.messages, "continuing without the cache\n"), "%d: %s", errors[i],
                  x.messages);
        cr_expect_eq(strchr(x.messages, '\n')[1], 0, "said once: %s", x.messages);
    }
    cache_close(&x);
}
