/* Distributes work over all cores. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/common/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MAX_THREADS = 64 };

typedef struct shared_work {
    size_t count;
    atomic_size_t next;
    void (*work)(size_t index, void *user);
    void *user;
} shared_work;

static void *take(void *user) {
    shared_work *w = user;
    for (size_t i; (i = atomic_fetch_add(&w->next, 1)) < w->count;) w->work(i, w->user);
    return NULL;
}

void bench_share(size_t count, void (*work)(size_t index, void *user), void *user) {
    shared_work w = {.count = count, .work = work, .user = user};
    pthread_t threads[MAX_THREADS];
    long cores = count > 1 ? sysconf(_SC_NPROCESSORS_ONLN) : 1;
    size_t started = 0, most = cores > MAX_THREADS ? MAX_THREADS : cores > 1 ? (size_t)cores : 1;
    /* If no more threads can be created, the existing ones do all the work. */
    while (started + 1 < most && started + 1 < count &&
           pthread_create(&threads[started], NULL, take, &w) == 0)
        started++;
    take(&w);
    for (size_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}
