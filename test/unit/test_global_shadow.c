/* Races in global memory: each kernel contains one, or is the same without it. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel with one argument %p of 4 KB of zeros on three blocks. words: part of the first
 * message, which is reported at `at` ("line:") with the other access at `other`; NULL: no report is
 * expected. */
typedef struct race_case {
    unsigned level;
    const char *kernel;
    const char *at, *words, *other;
} race_case;

static void launch_case(const race_case *c, uint64_t seed) {
    cpu_fixture x;
    char note[64];
    const char *messages = x.text.messages;
    cpu_expect(&x, c->level, seed, c->kernel, c->words);
    if (c->words) {
        cr_assert(strncmp(messages, c->at, strlen(c->at)) == 0, "expected %s: %s", c->at, messages);
        snprintf(note, sizeof note, "\n%s", c->other);
        cr_assert(strstr(messages, note), "expected a note at %s: %s", c->other, messages);
        cr_assert_eq(x.text.errors, 1);
    }
    cpu_close(&x);
}

static void expect(race_case c) {
    launch_case(&c, 0);
}

/* Runs many orders; the message may be at either access. */
static void expect_always(unsigned level, const char *kernel, const char *words) {
    for (uint64_t seed = 0; seed < 12; seed++)
        launch_case(&(race_case){level, kernel, "", words, words ? "" : NULL}, seed);
}

#define THREADS(warps, body) \
    "kernel @k(%p: ptr<i32>) grid [3] warps " #warps " {\n" \
    "  %t = thread_id\n  %b, %y, %z = block_id\n" body "}\n"
#define TILES(body) \
    "kernel @k(%p: ptr<i32>) grid [3] warps 2 {\n" \
    "  %g = view %p, [1024] : view<i32[1024]>\n  %b, %y, %z = block_id\n" body "}\n"

Test(global_shadow, blocks_write_the_same) {
    expect((race_case){3, THREADS(1, "  st_global %b, %p[%t]\n"), "4:",
                       "st_global: data race: writes offset 0 of %p, written by block (1, 0, 0), "
                       "warp 0; no release and acquire orders the two, in block (0, 0, 0), warp 0, "
                       "lane 0",
                       "4:3: note: the other access: st_global, in block (1, 0, 0), warp 0"});
    expect((race_case){3, THREADS(1, "  st_global 7, %p[%b * 31 + %t]\n"),
                       "4:", "writes offset 124 of %p", "4:"});
    expect((race_case){3, THREADS(1, "  st_global 7, %p[%b * 32 + %t]\n"), NULL, NULL, NULL});
    expect((race_case){2, TILES("  %v = splat 1 : tile<i32[64]>\n  store %v, %g[%b * 60]\n"), "5:",
                       "store: data race: writes offset 240 of %p, written by block (1, 0, 0); no "
                       "release and acquire orders the two, in block (0, 0, 0)",
                       "5:3: note: the other access: store, in block (1, 0, 0)\n"});
    expect((race_case){2, TILES("  %v = splat 1 : tile<i32[64]>\n  store %v, %g[%b * 64]\n"), NULL,
                       NULL, NULL});
}

Test(global_shadow, one_reads_what_another_writes) {
    static const char later[] = THREADS(1, "  %v = ld_global %p[%t + 1] : i32\n"
                                           "  if %b == 1 { st_global 1, %p[%t + 32] }\n");
    expect((race_case){3, later, "5:",
                       "writes offset 128 of %p, read by block (2, 0, 0), warp 0; no release and "
                       "acquire orders the two, in block (1, 0, 0), warp 0, lane 0",
                       "4:8: note: the other access: ld_global"});
    static const char earlier[] = TILES("  if %b == 0 {\n"
                                        "    %v = splat 1 : tile<i32[16]>\n"
                                        "    store %v, %g[16]\n  }\n"
                                        "  %r = load %g[%b * 15] : tile<i32[32]>\n");
    expect((race_case){2, earlier, "6:", "writes offset 64 of %p, read by block (1, 0, 0)",
                       "8:8: note: the other access: load"});
    static const char last[] =
        TILES("  %v = splat 1 : tile<i32[32]>\n"
              "  if %b == 2 { %r = load %g[%b * 15] : tile<i32[32]> } else {\n"
              "    store %v, %g[%b * 32]\n  }\n");
    expect((race_case){2, last, "5:", "reads offset 120 of %p, written by block (0, 0, 0)", "6:"});
    /* Concurrent reads are allowed. */
    expect((race_case){3, THREADS(1, "  %v = ld_global %p[%t] : i32\n"), NULL, NULL, NULL});
}

/* Adjacent bytes, after a read of all of them, and at the end of a page. */
Test(global_shadow, exact_to_the_byte) {
    static const char bytes[] =
        "kernel @k(%p: ptr<i8>) grid [3] warps 1 {\n"
        "  %t = thread_id\n  %b, %y, %z = block_id\n"
        "  if %b == 0 { %v = ld_global %p[%t * 16 + 2048] : vector<i8[8]> }\n"
        "  st_global i8(1), %p[%t * 16 + 2056 + %b * %s]\n}\n";
    char kernel[sizeof bytes];
    snprintf(kernel, sizeof kernel, "%.*s%s", (int)(strstr(bytes, "%s") - bytes), bytes, "");
    strcat(strcat(kernel, "1"), strstr(bytes, "%s") + 2);
    expect((race_case){3, kernel, NULL, NULL, NULL});
    *(strstr(kernel, "2056") + 3) = '5'; /* byte 7 of what was read, from block 0 */
    *(strstr(kernel, "%b * 1") + 5) = '0';
    expect((race_case){3, kernel, "5:", "offset 2055 of %p, read by block (0", "4:"});
    static const char pages[] = "kernel @k(%p: ptr<i8>) grid [3] warps 1 {\n"
                                "  %g = view %p, [4096] : view<i8[4096]>\n"
                                "  %b, %y, %z = block_id\n  %v = splat i8(1) : tile<i8[1024]>\n"
                                "  store %v, %g[%b * 1024 + 333]\n}\n";
    expect((race_case){2, pages, NULL, NULL, NULL});
}

#define CHAIN(lock, first, second) \
    TILES("  %s = scratch [1] {clean} : view<i32[1]>\n" lock \
          "  %v = load %g[0] : tile<i32[64]>\n  %one = splat 1 : tile<i32[64]>\n" \
          "  %w = %v + %one\n" first second)
#define LOCK "  lock_semaphore %s[0], %b\n"
#define STORE "  store %w, %g[0]\n"
#define RELEASE "  release_semaphore %s[0], rem(%b + 1, 3)\n"

Test(global_shadow, semaphores_order_blocks) {
    expect_always(2, CHAIN(LOCK, STORE, RELEASE), NULL);
    expect_always(2, CHAIN("", STORE, RELEASE), "data race: ");
    expect_always(2, CHAIN(LOCK, RELEASE, STORE), "data race: ");
    expect(
        (race_case){2, CHAIN("\n", STORE, RELEASE), "9:", "writes offset 0 of %p, read by", "6:"});
    expect((race_case){2, CHAIN(LOCK, RELEASE, STORE),
                       "10:", "writes offset 0 of %p, written by block (1, 0, 0)", "10:3: note: "});
}

/* One thread can release for all warps if a barrier comes before it, and acquire for all if one
 * follows. */
#define HAND_OVER(before, behind) \
    THREADS(2, "  %s = scratch [1] {clean} : ptr<i32>\n" \
               "  if %b == 0 {\n    st_global %t, %p[%t]\n" before \
               "    if %t == 0 { st_release %s[0], 1 }\n  }\n" \
               "  if %b == 1 {\n    if %t == 0 { wait_acquire %s[0], 1 }\n" behind \
               "    %v = ld_global %p[63 - %t] : i32\n" \
               "    sync\n    if %t == 0 { st_release %s[0], 0 }\n  }\n")

Test(global_shadow, a_barrier_and_a_release_cover_all_warps) {
    expect_always(3, HAND_OVER("sync\n", "sync\n"), NULL);
    expect_always(3, HAND_OVER("\n", "sync\n"), "data race: ");
    expect_always(3, HAND_OVER("sync\n", "\n"), "data race: ");
    expect((race_case){3, HAND_OVER("\n", "sync\n"), "13:",
                       "reads offset 252 of %p, written by block (0, 0, 0), warp 1; no release and "
                       "acquire orders the two, in block (1, 0, 0), warp 0",
                       "6:"});
}

Test(global_shadow, warps_of_a_block) {
    static const char *const between[] = {"sync", ""};
    for (unsigned i = 0; i < 2; i++) {
        char kernel[512];
        snprintf(kernel, sizeof kernel,
                 "kernel @k(%%p: ptr<i32>) grid [3] warps 2 {\n  %%t = thread_id\n"
                 "  %%b, %%y, %%z = block_id\n  st_global %%t, %%p[%%b * 64 + %%t]\n  %s\n"
                 "  %%v = ld_global %%p[%%b * 64 + 63 - %%t] : i32\n}\n",
                 between[i]);
        if (i == 0)
            expect((race_case){3, kernel, NULL, NULL, NULL});
        else
            expect((race_case){3, kernel, "4:",
                               "writes offset 384 of %p, read by block (1, 0, 0), warp 0; no "
                               "barrier orders the two, in block (1, 0, 0), warp 1, lane 0",
                               "6:8: note: "});
    }
}

/* The copy reads until it is complete. */
Test(global_shadow, asynchronous_copies_read_until_they_land) {
    expect((race_case){3,
                       THREADS(2, "  %s = alloc_shared : shared<i32[64]>\n"
                                  "  cp_async %p[%b * 64 + (%t ^ 32)], %s[%t] {bytes = 4}\n"
                                  "  commit_group\n  sync\n"
                                  "  st_global 1, %p[%b * 64 + %t]\n  wait_group 0\n"),
                       "8:", "writes offset 384 of %p, read by block (1, 0, 0), warp 0; no barrier",
                       "5:3: note: the other access: cp_async"});
    expect((race_case){3,
                       THREADS(2, "  %s = alloc_shared : shared<i32[64]>\n"
                                  "  cp_async %p[%b * 64 + (%t ^ 32)], %s[%t] {bytes = 4}\n"
                                  "  commit_group\n  wait_group 0\n  sync\n"
                                  "  st_global 1, %p[%b * 64 + %t]\n"),
                       NULL, NULL, NULL});
}

/* One buffer as two arguments, and two overlapping arguments. */
Test(global_shadow, names_for_the_same_memory) {
    static const char kernel[] = "kernel @k(%p: ptr<i32>, %q: ptr<i32>) grid [2] warps 1 {\n"
                                 "  %t = thread_id\n  %b, %y, %z = block_id\n"
                                 "  if %b == 0 { st_global 1, %p[%t] } else {\n"
                                 "    st_global 2, %q[%t]\n  }\n}\n";
    static _Alignas(16) char memory[256];
    for (size_t shift = 0; shift <= 128; shift += 64) {
        cpu_fixture x;
        cpu_open(&x, 3, 0, kernel);
        x.grid[0] = 2;
        for (unsigned i = 0; i < 2; i++) {
            uint64_t address = (uint64_t)(uintptr_t)memory + i * shift;
            tile_buffer *buffer;
            cr_assert_eq(tile_buffer_wrap(x.device, address, 128, &buffer), TILE_OK);
            x.arguments[x.argument_count++] = (tile_argument){.buffer = buffer};
        }
        tile_status status = cpu_launch_text(&x);
        cr_assert_eq(status, shift < 128 ? TILE_FAULT : TILE_OK, "shift %zu", shift);
        cr_assert(shift == 128 || strstr(x.text.messages, "data race: writes offset "), "%s",
                  x.text.messages);
        cpu_close(&x);
    }
}

/* An access of several lanes that extends from one buffer into the next, or past the last one. */
Test(global_shadow, buffers_that_touch) {
    static const char kernel[] = "kernel @k(%p: ptr<i32>, %q: ptr<i32>) grid [2] warps 1 {\n"
                                 "  %t = thread_id\n  st_global 1, %p[%t]\n}\n";
    static _Alignas(16) char memory[256];
    for (size_t second = 60; second <= 64; second += 4) {
        cpu_fixture x;
        cpu_open(&x, 3, 0, kernel);
        for (unsigned i = 0; i < 2; i++) {
            uint64_t address = (uint64_t)(uintptr_t)memory + i * 64;
            tile_buffer *buffer;
            cr_assert_eq(tile_buffer_wrap(x.device, address, i ? second : 64, &buffer), TILE_OK);
            x.arguments[x.argument_count++] = (tile_argument){.buffer = buffer};
        }
        tile_status status = cpu_launch_text(&x);
        cr_assert_eq(status, second < 64 ? TILE_FAULT : TILE_OK, "%s", x.text.messages);
        cr_assert(second == 64 || strstr(x.text.messages, "offset 60 of %q, which has 60 bytes, in "
                                                          "block (0, 0, 0), warp 0, lane 31"),
                  "%s", x.text.messages);
        cpu_close(&x);
    }
}

Test(global_shadow, launches_are_ordered) {
    static const char zeros[4096];
    cpu_fixture x;
    cpu_open(&x, 3, 0, THREADS(1, "  st_global %b, %p[(2 - %b) * 32 + %t]\n"));
    cpu_pass(&x, zeros, sizeof zeros);
    x.grid[0] = 3;
    for (unsigned i = 0; i < 3; i++) CPU_RUN(&x);
    cpu_close(&x);
}

Test(global_shadow, plain_scratch_is_uninitialised) {
    expect((race_case){2,
                       TILES("  %s = scratch [32] : view<i32[32]>\n"
                             "  %v = load %s[0] : tile<i32[32]>\n"),
                       "5:", "load: read of uninitialized scratch memory, at offset 0",
                       "4:8: note: "});
    expect((race_case){2,
                       TILES("  %s = scratch [96] : view<i32[96]>\n"
                             "  %v = splat 1 : tile<i32[32]>\n  store %v, %s[%b * 32]\n"
                             "  %w = load %s[%b * 32] : tile<i32[32]>\n"),
                       NULL, NULL, NULL});
    expect((race_case){2, TILES("  %s = scratch [1] : view<i32[1]>\n  lock_semaphore %s[0], 0\n"),
                       "5:", "lock_semaphore: read of uninitialized scratch memory, at offset 0",
                       "4:8: note: it is undefined at the start of a launch; {clean}"});
}

/* With more accesses than the log holds, unreferenced entries are dropped and the others stay
 * valid. */
Test(global_shadow, the_log_is_swept) {
    static const char kernel[] = THREADS(1, "  if %b == 0 {\n"
                                            "    %first = ld_global %p[%t + 64] : i32\n"
                                            "    for %i = 0 to 600000 step 1 {\n"
                                            "      sync\n      %v = ld_global %p[%t] : i32\n"
                                            "    }\n  }\n"
                                            "  if %b == 1 { st_global 1, %p[%t + 95] }\n");
    expect((race_case){3, kernel, "11:", "writes offset 380 of %p, read by block (0, 0, 0), warp 0",
                       "5:"});
}
