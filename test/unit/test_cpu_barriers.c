/* Numbered barriers on the CPU device, and how the shadow of shared memory treats them. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel of some warps on one buffer, in natural order and in others. words NULL: it must
 * end normally with %p[0] equal to `value`; else the first message begins with `at` and some
 * message contains both words. */
typedef struct barrier_case {
    const char *kernel;
    const char *at, *words, *more;
    int32_t value;
} barrier_case;

static void check(const barrier_case *c, uint64_t seed) {
    cpu_fixture x;
    int32_t memory[256] = {0};
    cpu_open(&x, 3, seed, c->kernel);
    cpu_pass(&x, memory, sizeof memory);
    tile_status status = cpu_launch_text(&x);
    const char *messages = x.text.messages;
    if (c->words) {
        cr_assert_eq(status, TILE_FAULT, "not found: %s (%s)", c->words, messages);
        cr_assert_eq(strncmp(messages, c->at, strlen(c->at)), 0, "%s in: %s", c->at, messages);
        cr_assert(strstr(messages, c->words), "%s in: %s", c->words, messages);
        cr_assert(strstr(messages, c->more), "%s in: %s", c->more, messages);
        cr_assert_eq(x.text.errors, 1, "%s", messages);
    } else {
        cr_assert_eq(status, TILE_OK, "%s", messages);
        cpu_get(&x, 0, memory, sizeof memory);
        cr_assert_eq(memory[0], c->value, "%d", memory[0]);
    }
    cpu_close(&x);
}

static void expect(barrier_case c) {
    for (uint64_t seed = 0; seed < 4; seed++) check(&c, seed);
}

/* From line 4 on: two sets of two warps; %low distinguishes them. */
#define SETS(low, high) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 4 {\n  %t = thread_id\n" \
    "  %s = alloc_shared : shared<i32[256]>\n  if %t < 64 {\n" low "  } else {\n" high "  }\n}\n"

Test(cpu_barriers, two_sets_meet_on_their_own) {
    expect((barrier_case){SETS("    st_shared %t, %s[%t]\n    sync 1, 2\n"
                               "    %v = ld_shared %s[63 - %t] : i32\n    st_global %v, %p[%t]\n",
                               "    st_shared %t, %s[%t]\n    sync 2, 2\n"
                               "    %v = ld_shared %s[191 - %t] : i32\n    sync 2, 2\n"
                               "    st_shared %v, %s[%t]\n"),
                          .value = 63});
    /* Both sets use the same number, one after the other. */
    expect((barrier_case){SETS("    st_shared %t, %s[%t]\n    sync 1, 4\n",
                               "    sync 1, 4\n    %v = ld_shared %s[127 - %t] : i32\n"
                               "    st_global %v, %p[127 - %t]\n"),
                          .value = 0});
}

/* A barrier of the other set does not order accesses of this one. */
Test(cpu_barriers, a_barrier_is_not_everybodys) {
    expect((barrier_case){SETS("    st_shared %t, %s[%t]\n    sync 1, 2\n",
                               "    sync 2, 2\n    %v = ld_shared %s[127 - %t] : i32\n"),
                          "9:10:", "data race: read without a barrier after a write",
                          "5:5: note: the other access: st_shared, by warp 1", 0});
}

/* arrive, sync: accesses before the arrival are visible after the sync, but not vice versa. */
Test(cpu_barriers, coming_without_waiting) {
    static const char fine[] = SETS("    st_shared %t, %s[%t]\n    sync_arrive 3, 4\n",
                                    "    sync 3, 4\n    %v = ld_shared %s[%t - 64] : i32\n"
                                    "    st_global %v, %p[%t - 64]\n");
    expect((barrier_case){fine, .value = 0});
    expect((barrier_case){SETS("    sync_arrive 3, 4\n    st_shared %t, %s[%t]\n",
                               "    sync 3, 4\n    %v = ld_shared %s[%t - 64] : i32\n"),
                          "", "data race: ", "note: the other access: ", 0});
    expect((barrier_case){"kernel @k(%p: ptr<i32>) grid [1] warps 2 {\n  %t = thread_id\n"
                          "  %s = alloc_shared : shared<i32[64]>\n  st_shared %t, %s[%t]\n  sync\n"
                          "  if %t < 32 {\n    sync_arrive 1, 2\n    %v = ld_shared %s[%t] : i32\n"
                          "  } else {\n    sync 1, 2\n    st_shared 1, %s[%t - 32]\n  }\n}\n",
                          "", "data race: ", "note: the other access: ", 0});
}

/* Several warps read; only some of them arrive. */
Test(cpu_barriers, every_reader_counts) {
#define READERS(second) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 4 {\n  %t = thread_id\n" \
    "  %s = alloc_shared : shared<i32[32]>\n" \
    "  if %t < 32 { st_shared %t, %s[%t] }\n  sync\n" \
    "  if %t >= 32 {\n    %v = ld_shared %s[rem(%t, 32)] : i32\n" \
    "    if %t < 96 { sync_arrive 1, 3 } else { " second " }\n  } else {\n" \
    "    sync 1, 3\n    st_shared 7, %s[%t]\n  }\n}\n"
    expect((barrier_case){READERS(""), "11:5:", "data race: write without a barrier after a read",
                          "7:10: note: the other access: ld_shared, by warp 3", 0});
    static const char all[] =
        "kernel @k(%p: ptr<i32>) grid [1] warps 4 {\n  %t = thread_id\n"
        "  %s = alloc_shared : shared<i32[32]>\n  if %t < 32 { st_shared %t, %s[%t] }\n  sync\n"
        "  if %t >= 32 {\n    %v = ld_shared %s[rem(%t, 32)] : i32\n    sync_arrive 1, 4\n"
        "  } else {\n    sync 1, 4\n    st_shared 7, %s[%t]\n"
        "    %w = ld_shared %s[%t] : i32\n    st_global %w, %p[%t]\n  }\n}\n";
    expect((barrier_case){all, .value = 7});
}

Test(cpu_barriers, deadlocks) {
    expect((barrier_case){
        SETS("    sync 1, 4\n    sync 2, 4\n", "    sync 2, 4\n    sync 1, 4\n"),
        "5:5:", "deadlock: 2 of 4 warps have arrived at barrier 1",
        "8:5: note: warp 2 waits here for barrier 2, where 2 of 4 warps have arrived", 0});
    expect((barrier_case){SETS("    sync 1, 3\n", ""),
                          "5:5:", "deadlock: 2 of 3 warps have arrived at barrier 1", "", 0});
    expect((barrier_case){SETS("    sync_arrive 1, 3\n", "    sync 1, 4\n"), "",
                          "arrives at barrier 1", "note: the first one arrived here", 0});
    expect((barrier_case){SETS("    sync_arrive 1, 4\n    sync 1, 4\n", ""),
                          "6:5:", "arrives at barrier 1 again", "again: ", 0});
}

/* A release that no thread has acquired yet is visible after the block's barrier. */
Test(cpu_barriers, a_release_before_the_barrier) {
    expect((barrier_case){
        "kernel @k(%p: ptr<i32>) grid [1] warps 2 {\n  %t = thread_id\n"
        "  if %t < 32 {\n    st_global 5, %p[%t]\n    st_release %p[64 + %t], 1\n  }\n  sync\n"
        "  if %t >= 32 {\n    %v = ld_global %p[%t - 32] : i32\n"
        "    st_global %v + 1, %p[%t - 32]\n  }\n}\n",
        .value = 6});
}
