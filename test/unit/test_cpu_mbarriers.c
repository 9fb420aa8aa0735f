/* Barriers in shared memory on the CPU device: errors of one thread or of two. The ring buffers
 * through which roles pass stages are in test/exec/barriers.test. */
#include "test/unit/cpu_fixture.h"

/* Runs two warps. words NULL: they end normally; else the first message begins with `at` and some
 * message contains these words. */
static void check(const char *body, const char *at, const char *words, uint64_t seed) {
    cpu_fixture x;
    char text[2048];
    snprintf(text, sizeof text,
             "kernel @k() grid [2] cluster [2] warps 2 level 3 {\n  %%t = thread_id\n"
             "  %%b = alloc_shared {offset = 0} : shared<barrier[2]>\n"
             "  %%s = alloc_shared {offset = 64} : shared<i32[64]>\n"
             "  %%u = alloc_shared {offset = 0} : shared<i32[64]>\n%s}\n",
             body);
    cpu_open(&x, 3, seed, text);
    x.grid[0] = 2;
    tile_status status = cpu_launch_text(&x);
    const char *messages = x.text.messages;
    if (words) {
        cr_assert_eq(status, TILE_FAULT, "not found: %s (%s)", words, messages);
        cr_assert_eq(strncmp(messages, at, strlen(at)), 0, "%s in: %s", at, messages);
        cr_assert(strstr(messages, words), "%s in: %s", words, messages);
    } else {
        cr_assert_eq(status, TILE_OK, "%s", messages);
    }
    cpu_close(&x);
}

/* In several orders. */
static void expect(const char *body, const char *at, const char *words) {
    for (uint64_t seed = 0; seed < 4; seed++) check(body, at, words, seed);
}

/* Lines 6 to 11. */
#define INIT(count) \
    "  if %t < 2 {\n    mbarrier_init %b[%t], " #count "\n    mbarrier_fence\n  }\n" \
    "  cluster_arrive\n  cluster_wait\n"

Test(cpu_mbarriers, parities_alternate) {
    expect(INIT(64) "  mbarrier_wait %b[0], 1\n"
                    "  for %i = 0 to 5 {\n    mbarrier_arrive %b[0]\n"
                    "    mbarrier_wait %b[0], %i & 1\n  }\n",
           NULL, NULL);
}

/* Accesses before an arrival of all threads are visible after the wait, without a barrier of the
 * block. */
Test(cpu_mbarriers, order_what_comes_before_and_after) {
    expect(INIT(64) "  st_shared %t, %s[%t]\n  mbarrier_arrive %b[1]\n"
                    "  mbarrier_wait %b[1], 0\n  %v = ld_shared %s[63 - %t]\n",
           NULL, NULL);
    expect(INIT(2) "  st_shared %t, %s[%t]\n  sync_warp\n  mbarrier_arrive %b[1], elect\n"
                   "  mbarrier_wait %b[1], 0\n  %v = ld_shared %s[63 - %t]\n",
           NULL, NULL);
    expect(INIT(2) "  st_shared %t, %s[%t]\n  mbarrier_arrive %b[1], elect\n"
                   "  mbarrier_wait %b[1], 0\n  %v = ld_shared %s[63 - %t]\n",
           "15:8:", "data race: read without a barrier after a write");
}

Test(cpu_mbarriers, one_lane_does_not_wait_for_its_warp) {
    expect(INIT(64) "  st_shared %t, %s[%t]\n  mbarrier_arrive %b[1]\n"
                    "  if (%t & 31) == 0 { mbarrier_wait %b[1], 0 }\n  sync_warp\n"
                    "  %v = ld_shared %s[63 - %t]\n",
           NULL, NULL);
    expect(INIT(64) "  st_shared %t, %s[%t]\n  mbarrier_arrive %b[1]\n"
                    "  if (%t & 31) == 0 { mbarrier_wait %b[1], 0 }\n"
                    "  %v = ld_shared %s[63 - %t]\n",
           "15:8:", "data race: read without a barrier after a write");
}

Test(cpu_mbarriers, arrivals_beyond_the_count) {
    expect(INIT(1) "  if %t == 0 {\n    mbarrier_expect %b[0], 16\n    mbarrier_arrive %b[0]\n"
                   "  }\n",
           "14:5:", "where 0 of 1 are missing in phase 0: more arrivals than its count");
}

Test(cpu_mbarriers, bytes_that_nobody_writes) {
    expect(INIT(1) "  if %t == 0 { mbarrier_expect %b[0], 16 {noarrive} }\n",
           "12:16:", "the block ends, and 16 bytes that a barrier expects have not been written");
    expect(INIT(1) "  if %t == 0 { st_async 7, %s[0], %b[0] }\n", "",
           "the block ends, and 4 bytes more have been written than the barrier expects");
    expect(INIT(1) "  if %t == 0 {\n    mbarrier_expect %b[0], 1000000 {noarrive}\n"
                   "    mbarrier_expect %b[0], 1000000 {noarrive}\n  }\n",
           "14:5:", "cannot expect 2000000 bytes: a phase counts up to 1048575");
}

Test(cpu_mbarriers, a_fence_for_copies) {
    expect("  if %t == 0 {\n    mbarrier_init %b[0], 1\n    mbarrier_expect %b[0], 4\n"
           "    st_async 7, %s[0], %b[0]\n    mbarrier_wait %b[0], 0\n  }\n",
           "9:5:", "is not visible to asynchronous copies: add mbarrier_fence");
}

Test(cpu_mbarriers, numbers_that_are_none) {
    expect(INIT(64) "  mbarrier_wait %b[0], %t / 2 + 1\n", "12:3:", ", it must be 0 or 1");
    expect(INIT(64) "  mbarrier_arrive %b[%t + 2]\n",
           "12:3:", "out of bounds: there is no barrier ");
    expect("  if %t == 0 { mbarrier_init %b[0], %t }\n",
           "6:16:", "the count is 0, it must be 1 to 1048575");
}

Test(cpu_mbarriers, another_buffer_has_its_bytes) {
    expect(INIT(64) "  sync\n  st_shared 1, %u[%t]\n  mbarrier_arrive %b[0]\n",
           "14:3:", "%b[0] has been overwritten: another buffer has its bytes");
}

Test(cpu_mbarriers, who_waits_for_ever) {
    expect(INIT(65) "  mbarrier_arrive %b[0]\n  mbarrier_wait %b[0], 0\n", "13:3:",
           "deadlock: waits for phase 0 (parity 0) of %b[0], where 1 of 65 arrivals are missing");
    expect(INIT(64) "  if %t < 32 {\n    mbarrier_wait %b[0], 0\n  } else {\n    sync 1, 2\n  }\n",
           "", "of %b[0], where 64 of 64 arrivals are missing");
    expect(INIT(64) "  while {\n    %d = mbarrier_test %b[0], 0\n    yield %d == false\n"
                    "  } do { yield }\n",
           "13:10:", "deadlock: waits for phase 0 (parity 0) of %b[0], where 64 of 64 arrivals");
}
