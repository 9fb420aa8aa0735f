/* The sanitizer: each kernel contains one injected fault, or is the same without it. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel with one argument, a buffer of zeros. The first message must start with `at`
 * ("line:column") and contain `words`. words NULL: no report is expected. */
static void expect(unsigned level, const char *kernel, size_t bytes, int64_t blocks, const char *at,
                   const char *words) {
    cpu_fixture x;
    void *zeros = calloc(1, bytes);
    cpu_open(&x, level, 0, kernel);
    cpu_pass(&x, zeros, bytes);
    x.grid[0] = blocks;
    tile_status status = cpu_launch_text(&x);
    const char *messages = x.text.messages;
    if (words) {
        cr_assert_eq(status, TILE_FAULT, "not found: %s (%s)", words, messages);
        cr_assert(strstr(messages, words), "expected '%s' in: %s", words, messages);
        cr_assert(strncmp(messages, at, strlen(at)) == 0, "expected place %s: %s", at, messages);
        cr_assert_eq(x.text.errors, 1);
    } else {
        cr_assert_eq(status, TILE_OK, "%s", messages);
    }
    free(zeros);
    cpu_close(&x);
}

#define THREADS(warps, body) \
    "kernel @k(%p: ptr<i32>) grid [1] warps " #warps " {\n  %t = thread_id\n" body "}\n"
#define TILES(body) "kernel @k(%p: ptr<f16>) grid [1] warps 1 sync explicit {\n" body "}\n"

Test(cpu_faults, global_out_of_bounds) {
    static const char read[] = THREADS(1, "  %v = ld_global %p[%t] : i32\n");
    expect(3, read, 128, 1, NULL, NULL);
    expect(3, read, 124, 1, "3:",
           "4 bytes at offset 124 of %p, which has 124 bytes, in block (0, "
           "0, 0), warp 0, lane 31");
    expect(3, THREADS(1, "  st_global 1, %p[%t - 1]\n"), 128, 1, "3:", "offset -4 of %p");
    expect(3,
           THREADS(1, "  %s = alloc_shared : shared<i32[32]>\n"
                      "  cp_async %p[%t + 1], %s[%t] {bytes = 4}\n"),
           128, 1, "4:", "offset 128 of %p");
    static const char view[] = TILES("  %g = view %p, [4, 16] : view<f16[4, 16]>\n"
                                     "  %t = load %g[0, 0] : tile<f16[4, 16]>\n");
    expect(2, view, 128, 1, NULL, NULL);
    expect(2, view, 126, 1, "3:", "32 bytes at offset 96 of %p, which has 126 bytes");
}

/* Only the elements before `count` are accessed. */
Test(cpu_faults, unaligned_load_out_of_bounds) {
    static const char inside[] =
        THREADS(1, "  %v = ld_global_unaligned %p[%t + 1], 32 - %t : vector<i32[4]>\n");
    expect(3, inside, 132, 1, NULL, NULL);
    expect(3, inside, 128, 1, "3:", "4 bytes at offset 128 of %p, which has 128 bytes");
    static const char before[] =
        THREADS(1, "  %v = ld_global_unaligned %p[%t - 1], 2, %t > 0 : vector<i32[4]>\n");
    expect(3, before, 128, 1, NULL, NULL);
    static const char none[] =
        THREADS(1, "  %v = ld_global_unaligned %p[%t + 99], 0 - %t : vector<i32[4]>\n");
    expect(3, none, 4, 1, NULL, NULL);
}

Test(cpu_faults, misaligned) {
    static const char read[] = THREADS(1, "  %v = ld_global %p[%t * 2 + 1] : vector<i32[2]>\n");
    expect(3, read, 1024, 1, "3:", "misaligned: offset 4 of %p is not a multiple of 8 bytes");
    static const char write[] = THREADS(1, "  %s = alloc_shared : shared<i32[128]>\n"
                                           "  %v = splat 0 : vector<i32[2]>\n"
                                           "  st_shared %v, %s[%t * 2 + 1]\n");
    expect(3, write, 4, 1, "5:", "misaligned: offset 4 of %s is not a multiple of 8 bytes");
}

Test(cpu_faults, shared_out_of_bounds) {
    expect(3, THREADS(1, "  %s = alloc_shared : shared<i32[32]>\n  st_shared 1, %s[%t + 1]\n"), 4,
           1, "4:",
           "4 bytes at offset 128 of %s, which has 128 bytes, in block (0, 0, 0), warp 0, lane 31");
    expect(2,
           TILES("  %s = alloc_shared : shared<f16[2][8, 8]>\n"
                 "  %b, %y, %z = block_id\n"
                 "  %t = load_shared %s[%b + 2] : tile<f16[8, 8]>\n"),
           4, 1, "4:", "stage 2 of %s, which has 2");
}

Test(cpu_faults, uninitialised_shared_memory) {
    expect(3,
           THREADS(1, "  %s = alloc_shared : shared<i32[64]>\n  st_shared 1, %s[%t]\n  sync\n"
                      "  %v = ld_shared %s[%t + 1] : i32\n"),
           4, 1, "6:", "read of uninitialized shared memory, at byte 128");
    expect(2,
           TILES("  %s = alloc_shared : shared<f16[8, 8]>\n"
                 "  %t = load_shared %s : tile<f16[8, 8]>\n"),
           4, 1, "3:", "read of uninitialized shared memory");
}

#define COPY_THREADS(wait) \
    THREADS(1, "  %s = alloc_shared : shared<i32[32]>\n  cp_async %p[%t], %s[%t] {bytes = 4}\n" \
               "  commit_group\n" wait "  %v = ld_shared %s[%t] : i32\n")
#define COPY_TILES(wait) \
    TILES("  %g = view %p, [8, 8] : view<f16[8, 8]>\n  %s = alloc_shared : shared<f16[8, 8]>\n" \
          "  copy_async %g[0, 0], %s\n  commit_group\n" wait \
          "  %t = load_shared %s : tile<f16[8, 8]>\n")

Test(cpu_faults, copies_in_flight) {
    expect(3, COPY_THREADS("  wait_group 0\n"), 128, 1, NULL, NULL);
    expect(3, COPY_THREADS("  wait_group 1\n"), 128, 1,
           "7:", "read while an asynchronous copy is in flight");
    expect(3, COPY_THREADS("  st_shared 1, %s[%t]\n"), 128, 1,
           "6:", "write while an asynchronous copy is in flight");
    expect(2, COPY_TILES("  wait_group 0 sync\n"), 128, 1, NULL, NULL);
    expect(2, COPY_TILES("  wait_group 1 sync\n"), 128, 1,
           "7:", "read while an asynchronous copy is in flight");
    expect(2, COPY_TILES("  wait_group 0\n"), 128, 1, "7:", "data race: read without a barrier");
}

#define EXCHANGE(between, index) \
    THREADS(2, "  %s = alloc_shared : shared<i32[64]>\n  st_shared %t, %s[%t]\n" between \
               "  %v = ld_shared %s[" index "] : i32\n  st_global %v, %p[%t]\n")

Test(cpu_faults, data_races) {
    expect(3, EXCHANGE("  sync\n", "63 - %t"), 256, 1, NULL, NULL);
    expect(3, EXCHANGE("", "%t"), 256, 1, NULL, NULL);
    expect(3, EXCHANGE("", "%t ^ 1"), 256, 1,
           "5:", "data race: read without a barrier after a write");
    expect(3,
           THREADS(2, "  %s = alloc_shared : shared<i32[32]>\n  st_shared %t, %s[rem(%t, 32)]\n"),
           4, 1, "4:", "data race: write without a barrier after another write");
    expect(3,
           THREADS(2, "  %s = alloc_shared : shared<i32[64]>\n  st_shared %t, %s[%t]\n  sync\n"
                      "  %v = ld_shared %s[63 - %t] : i32\n  st_shared 5, %s[%t]\n"),
           4, 1, "6:", "data race: read without a barrier after a write");
    /* Lane 5 reads an element that lane 6 writes later in the same warp. */
    expect(3,
           THREADS(1, "  %s = alloc_shared : shared<i32[32]>\n  st_shared %t, %s[%t]\n  sync\n"
                      "  %v = ld_shared %s[min(%t + 1, 31)] : i32\n  st_shared 5, %s[%t]\n"),
           4, 1, "7:", "data race: write without a barrier after a read");
    /* All threads have read the word before the last reader writes it. */
    expect(3,
           THREADS(2, "  %s = alloc_shared : shared<i32[1]>\n  st_shared 1, %s[0], %t == 9\n"
                      "  sync\n  %v = ld_shared %s[0] : i32\n  st_shared %v, %s[0], %t == 63\n"),
           4, 1, "7:", "data race: write without a barrier after a read");
    static const char tiles[] = TILES("  %s = alloc_shared : shared<f16[8, 8]>\n"
                                      "  %z = splat f16(1.0) : tile<f16[8, 8]>\n"
                                      "  store_shared %z, %s\n"
                                      "  %t = load_shared %s : tile<f16[8, 8]>\n");
    expect(2, tiles, 4, 1, "5:", "data race: read without a barrier after a write");
}

Test(cpu_faults, partial_barriers) {
    expect(3, THREADS(1, "  if %t < 7 { sync }\n"), 4, 1,
           "3:", "barrier reached by part of the block: lanes 0x7f of the warp");
    expect(3, THREADS(2, "  if %t < 32 { sync }\n"), 4, 1,
           "3:", "barrier reached by part of the block: 1 of 2 warps have ended");
    expect(3, THREADS(2, "  if %t < 32 { sync } else { sync }\n"), 4, 1, NULL, NULL);
    expect(3,
           THREADS(
               1, "  %a = splat f16(0.0) : vector<f16[8]>\n  %b = splat f16(0.0) : vector<f16[4]>\n"
                  "  if %t < 16 { %c = mma %a, %b, 0.0 : vector<f32[4]> }\n"),
           4, 1, "5:", "reached by part of the warp: lanes 0xffff");
}

Test(cpu_faults, deadlocks) {
    expect(3, THREADS(1, "  wait_acquire %p[0], 0\n"), 4, 3, NULL, NULL);
    expect(3, THREADS(1, "  wait_acquire %p[0], 7\n"), 4, 3,
           "3:", "deadlock: waits for the value 7, which no block will store; 3 blocks wait");
    expect(2,
           "kernel @k(%p: ptr<i32>) grid [2] warps 1 {\n  %b, %y, %z = block_id\n"
           "  %g = view %p, [1] : view<i32[1]>\n  lock_semaphore %g[0], %b\n}\n",
           4, 2, "4:", "deadlock: waits for the value 1, which no block will store; 1 block waits");
}

Test(cpu_faults, dirty_scratch) {
    static const char kernel[] = "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n"
                                 "  %s = scratch [64] {clean} : ptr<i32>\n"
                                 "  %t = thread_id\n  %v = ld_global %p[%t] : i32\n"
                                 "  st_global %v + select(%t == 5, 1, 0), %s[%t]\n}\n";
    expect(3, kernel, 128, 1,
           "2:", "{clean} memory must be zero at the end of the launch, and element 5");
    expect(3,
           "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n  %s = scratch [64] : ptr<i32>\n"
           "  %t = thread_id\n  st_global 1, %s[%t]\n}\n",
           128, 1, NULL, NULL);
}

Test(cpu_faults, arithmetic_and_loops) {
    expect(3, THREADS(1, "  %v = ld_global %p[%t] : i32\n  %q = 1 / %v\n  st_global %q, %p[%t]\n"),
           128, 1, "4:", "division by zero, in block (0, 0, 0), warp 0, lane 0");
    expect(3, THREADS(1, "  %v = ld_global %p[%t] : i32\n  if %v > 0 { %q = 1 / %v }\n"), 128, 1,
           NULL, NULL);
    expect(3, THREADS(1, "  %v = ld_global %p[%t] : i32\n  for %i = 0 to 4 step %v { }\n"), 128, 1,
           "4:", "the step is 0, it must be positive");
}

/* A kernel at the wrong level or with unbound parameters is refused before it runs. */
Test(cpu_faults, wrong_level_or_open_parameters) {
    cpu_fixture x;
    cpu_open(&x, 3, 0,
             "kernel @k(%p: ptr<f16>) grid [1] warps 1 {\n"
             "  %g = view %p, [8] : view<f16[8]>\n  %t = load %g[0] : tile<f16[8]>\n}\n");
    cpu_pass(&x, NULL, 16);
    cr_assert_eq(cpu_launch_text(&x), TILE_INVALID);
    cr_assert(strstr(x.text.messages, "view cannot be executed at level 3"), "%s", x.text.messages);
    cpu_close(&x);
    cpu_open(&x, 2, 0,
             "kernel @k<n: int>(%p: ptr<f16>) grid [1] warps 1 {\n"
             "  %t = splat f16(0.0) : tile<f16[n]>\n}\n");
    cpu_pass(&x, NULL, 16);
    cr_assert_eq(cpu_launch_text(&x), TILE_INVALID);
    cr_assert(strstr(x.text.messages, "instantiate it first"), "%s", x.text.messages);
    cpu_close(&x);
}
