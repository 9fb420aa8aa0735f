/* Clusters on the CPU device: which accesses to another block's shared memory are allowed, and
 * when. Each kernel contains one injected fault, or is the same without it. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel on a grid with one argument, 1 KiB of zeros; the first message contains `words`.
 * words NULL: no report is expected. */
static void expect_on(int64_t blocks, uint64_t seed, const char *kernel, const char *words) {
    cpu_fixture x;
    static const char zeros[1024];
    cpu_open(&x, 3, seed, kernel);
    cpu_pass(&x, zeros, sizeof zeros);
    x.grid[0] = blocks;
    tile_status status = cpu_launch_text(&x);
    const char *messages = x.text.messages;
    cr_assert_eq(status, words ? TILE_FAULT : TILE_OK, "%s", messages);
    cr_assert(!words || strstr(messages, words), "expected '%s' in: %s", words, messages);
    cpu_close(&x);
}

static void expect(const char *kernel, const char *words) {
    for (uint64_t seed = 0; seed < 4; seed++) expect_on(4, seed, kernel, words);
}

#define MEET "  cluster_arrive\n  cluster_wait\n"
#define KERNEL(warps, body) \
    "kernel @k(%p: ptr<i32>) grid [4] cluster [2] warps " #warps " level 3 {\n" \
    "  %s = alloc_shared {offset = 0} : shared<i32[64]>\n" \
    "  %r = cluster_rank\n  %t = thread_id\n  %m = map_shared %s, 1 - %r\n" body "}\n"

/* A read at the very end may come before or after the end of the other block. */
#define LAST_READ(rank, end) \
    KERNEL(1, "  st_shared %t, %s[%t]\n" MEET "  if %r == " #rank " {\n" \
              "    %v = ld_shared %m[%t]\n    st_global %v, %p[%t]\n  }\n" end)

Test(cpu_clusters, the_end) {
    static const char ended[] = "ended";
    bool before = false, after = false;
    for (unsigned rank = 0; rank < 2; rank++) {
        cpu_fixture x;
        static const char zeros[1024];
        cpu_open(&x, 3, 0, rank ? LAST_READ(1, "") : LAST_READ(0, ""));
        cpu_pass(&x, zeros, sizeof zeros);
        x.grid[0] = 2;
        cr_expect_eq(cpu_launch_text(&x), TILE_FAULT);
        before |= strstr(x.text.messages, "may have ended before this") != NULL;
        after |= strstr(x.text.messages, "has ended, and its") != NULL;
        cpu_close(&x);
    }
    cr_expect(before, "what another order would break is found");
    cr_expect(after);
    for (uint64_t seed = 0; seed < 8; seed++) {
        expect_on(2, seed, LAST_READ(0, ""), ended);
        expect_on(2, seed, LAST_READ(1, ""), ended);
        expect_on(2, seed, LAST_READ(0, MEET), NULL);
        expect_on(2, seed, LAST_READ(1, MEET), NULL);
    }
    /* A block that only waits for the others need not do more than arrive. */
    expect_on(2, 0, LAST_READ(0, "  cluster_arrive {relaxed}\n  cluster_wait\n"), ended);
}

Test(cpu_clusters, the_start) {
    expect(KERNEL(1, "  st_shared %t, %m[%t]\n" MEET), "may not have started");
    expect(KERNEL(1, MEET "  st_shared %t, %m[%t]\n" MEET), NULL);
    /* The memory exists, whatever the other block did before. */
    expect(KERNEL(1, "  cluster_arrive {relaxed}\n  cluster_wait\n  st_shared %t, %m[%t]\n" MEET),
           NULL);
    expect(KERNEL(1, MEET "  %v = ld_shared %m[%t]\n" MEET), "read of uninitialized shared memory");
}

Test(cpu_clusters, races) {
    expect(KERNEL(1, MEET "  st_shared 1, %s[%t]\n  st_shared %t, %m[%t]\n" MEET),
           "data race: write without a barrier after another write");
    expect(KERNEL(1, "  st_shared 1, %s[%t]\n" MEET "  %v = ld_shared %m[%t]\n"
                     "  st_shared 2, %s[%t]\n" MEET),
           "data race: ");
    expect(KERNEL(1, "  st_shared 1, %s[%t]\n" MEET "  %v = ld_shared %m[%t]\n" MEET
                     "  st_shared 2, %s[%t]\n"),
           NULL);
    /* After the arrival it is too late. */
    expect(KERNEL(1, "  cluster_arrive\n  st_shared 1, %s[%t]\n  cluster_wait\n"
                     "  %v = ld_shared %m[%t]\n" MEET),
           "data race: read without a barrier after a write");
    /* The bytes are reused for another buffer before the other block is done, as a compiler might
     * do. */
    static const char reused[] =
        "kernel @k(%p: ptr<i32>) grid [4] cluster [2] warps 1 level 3 {\n"
        "  %s = alloc_shared {offset = 0} : shared<i32[64]>\n"
        "  %o = alloc_shared {offset = 128} : shared<i32[64]>\n"
        "  %t = thread_id\n  %m = map_shared %s, 1 - cluster_rank\n"
        "  st_shared %t, %s[%t + 32]\n" MEET "  %v = ld_shared %m[%t + 32]\n"
        "  cluster_arrive\n  st_shared 1, %o[%t]\n  cluster_wait\n}\n";
    expect(reused, "data race: ");
    /* Two blocks write to the memory of a third one. */
    expect_on(4, 0,
              "kernel @k(%p: ptr<i32>) grid [4] cluster [4] warps 1 level 3 {\n"
              "  %s = alloc_shared {offset = 0} : shared<i32[64]>\n"
              "  %t = thread_id\n  %m = map_shared %s, 3\n" MEET
              "  if cluster_rank < 2 { st_shared %t, %m[%t] }\n" MEET "}\n",
              "byte 0 of the shared memory of block (3, 0, 0)");
    /* The cluster barrier also synchronizes the warps of one block. */
    expect(KERNEL(2, "  st_shared %t, %s[%t]\n" MEET "  %v = ld_shared %s[63 - %t]\n"), NULL);
    expect(KERNEL(2, "  st_shared %t, %s[%t]\n  cluster_arrive {relaxed}\n  cluster_wait\n"
                     "  %v = ld_shared %s[63 - %t]\n"),
           "data race");
    expect(KERNEL(1, "  st_shared %t, %s[%t]\n" MEET "  %v = ld_shared %s[31 - %t]\n"), NULL);
    /* Global memory: the barrier orders accesses before and after it. */
    expect_on(2, 0, KERNEL(1, MEET "  st_global 1, %p[0], %t == 0\n"),
              "no cluster barrier orders the two");
    expect_on(2, 0, KERNEL(1, "  st_global 1, %p[%r]\n" MEET "  %v = ld_global %p[1 - %r]\n"),
              NULL);
}

Test(cpu_clusters, barriers) {
    expect(KERNEL(2, "  if %t < 32 { cluster_arrive cluster_wait } else { sync 1, 2 }\n"),
           "have arrived at the cluster's barrier, and no other one will");
    expect(KERNEL(1, "  if %t < 7 { cluster_arrive }\n"), "barrier reached by part of the block");
    expect(KERNEL(1, "  cluster_arrive\n  cluster_arrive\n"),
           "arrives at the cluster's barrier again");
    expect(KERNEL(1, "  cluster_wait\n"), "without having arrived");
    expect(KERNEL(1, "  if %r == 0 { cluster_arrive cluster_wait }\n"),
           "1 of 2 warps have arrived at the cluster's barrier");
    expect(KERNEL(1, "  if %r == 0 { cluster_arrive cluster_wait } else "
                     "{ cluster_arrive cluster_wait }\n"),
           NULL);
    expect(KERNEL(1, "  for %i = 0 to 100 { cluster_arrive cluster_wait }\n"), NULL);
}

Test(cpu_clusters, whole_clusters_only) {
    cpu_fixture x;
    cpu_open(&x, 3, 0, KERNEL(1, MEET));
    cpu_pass(&x, "", 1);
    x.grid[0] = 3;
    cr_expect_eq(cpu_launch_text(&x), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "a grid of 3 x 1 x 1 blocks is not made of whole clusters"));
    cpu_close(&x);
}
