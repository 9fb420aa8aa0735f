/* Atomic accesses on the CPU device: their results, their ordering, and remaining races. */
#include <math.h>

#include "test/unit/cpu_fixture.h"

/* A kernel with one argument %p of 4 KB of zeros, run on three blocks. words: part of the report,
 * in every order of the blocks; NULL: no report is expected. */
typedef struct order_case {
    unsigned level;
    const char *kernel, *words, *note;
} order_case;

static void launch_case(const order_case *c, uint64_t seed) {
    cpu_fixture x;
    cpu_expect(&x, c->level, seed, c->kernel, c->words);
    cr_assert(!c->words || !c->note || strstr(x.text.messages, c->note), "expected '%s' in: %s",
              c->note, x.text.messages);
    cpu_close(&x);
}

static void expect(order_case c) {
    for (uint64_t seed = 0; seed < 12; seed++) launch_case(&c, seed);
}

#define THREADS(body) \
    "kernel @k(%p: ptr<i32>) grid [3] warps 1 level 3 {\n" \
    "  %t = thread_id\n  %b, %y, %z = block_id\n  %o = eq %t, 0\n" body "}\n"
#define TILES(body) \
    "kernel @k(%p: ptr<i32>) grid [3] warps 2 {\n" \
    "  %g = view %p, [1024] : view<i32[1024]>\n  %b, %y, %z = block_id\n" \
    "  %v = splat 1 : tile<i32[64]>\n" body "}\n"

/* All blocks add to 64 elements; the last block reads them. */
#define LAST(how) \
    TILES("  atomic_add %v, %g[0]\n" \
          "  %n = atomic_add 1, %g[100] " how "\n" \
          "  if %n == 2 { %r = load %g[0] : [64] store %r, %g[200] }\n")
#define LAST_THREADS(how) \
    THREADS("  atomic_thread_add 1, %p[%t]\n" \
            "  sync\n" \
            "  if %o {\n    %n = atomic_thread_add 1, %p[100] " how "\n" \
            "    if %n == 2 { %r = ld_global %p[5] st_global %r, %p[200] }\n  }\n")

Test(cpu_atomics, the_last_block_sees_all) {
    expect((order_case){2, LAST("{ordering = acq_rel}"), NULL, NULL});
    expect((order_case){3, LAST_THREADS("{ordering = acq_rel}"), NULL, NULL});
}

Test(cpu_atomics, relaxed_accesses_order_nothing) {
    static const char words[] = "no release and acquire orders the two";
    expect((order_case){2, LAST(""), words, NULL});
    expect((order_case){3, LAST_THREADS(""), words, NULL});
    expect((order_case){2, LAST("{ordering = release}"), words, NULL});
    expect((order_case){2, LAST("{ordering = acquire}"), words, NULL});
}

/* A release sequence continues through other blocks' read-modify-write operations, but does not
 * synchronize with their earlier accesses. */
Test(cpu_atomics, a_release_sequence_goes_on) {
    expect(
        (order_case){2,
                     TILES("  if %b == 0 { store %v, %g[0] %a = atomic_add 1, %g[100] {ordering = "
                           "release} }\n"
                           "  if %b == 1 { %a = atomic_add 10, %g[100] }\n"
                           "  if %b == 2 {\n"
                           "    wait_value %g[100], 11\n    %r = load %g[0] : [64]\n"
                           "    store %r, %g[200]\n  }\n"),
                     NULL, NULL});
    static const char words[] = "no release and acquire orders the two";
    expect((order_case){2,
                        TILES("  if %b == 0 { %a = atomic_add 1, %g[100] {ordering = release} }\n"
                              "  if %b == 1 { store %v, %g[0] %a = atomic_add 10, %g[100] }\n"
                              "  if %b == 2 {\n"
                              "    wait_value %g[100], 11\n    %r = load %g[0] : [64]\n"
                              "    store %r, %g[200]\n  }\n"),
                        words, NULL});
}

Test(cpu_atomics, race_with_what_is_not_atomic) {
    expect((order_case){2, TILES("  atomic_add %v, %g[%b * 32]\n"), NULL, NULL});
    expect((order_case){2, TILES("  if %b == 1 { store %v, %g[0] }\n  atomic_add %v, %g[32]\n"),
                        "data race: writes offset 128 of %p", NULL});
    expect((order_case){2,
                        TILES("  if %b < 2 { atomic_add %v, %g[0] } else { %r = load %g[0] : [64] "
                              "store %r, %g[200] }\n"),
                        "data race", "the other access"});
    /* Its own access is the latest one, but it must also be ordered after the others. */
    expect(
        (order_case){3,
                     THREADS("  %n = atomic_thread_add 1, %p[%t]\n"
                             "  if %n == 2 { %r = ld_global %p[%t] st_global %r, %p[64 + %t] }\n"),
                     "data race: reads offset", NULL});
}

Test(cpu_atomics, fences_order_relaxed_accesses) {
#define FENCED(before, after) \
    TILES("  store %v, %g[256 + 64 * %b]\n  " before "\n" \
          "  %n = atomic_add 1, %g[0]\n" \
          "  if %n == 2 {\n    " after \
          "\n    %r = load %g[256] : [128]\n    store %r, %g[512]\n  }\n")
    static const char words[] = "no release and acquire orders the two";
    expect((order_case){2, FENCED("fence", "fence"), NULL, NULL});
    expect((order_case){2, FENCED("fence {ordering = release}", "fence {ordering = acquire}"), NULL,
                        NULL});
    expect((order_case){2, FENCED("fence {ordering = sc, scope = sys}", "fence"), NULL, NULL});
    expect((order_case){2, FENCED("fence", ""), words, NULL});
    expect((order_case){2, FENCED("", "fence"), words, NULL});
    expect((order_case){2, FENCED("fence {scope = cta}", "fence"), words,
                        "the scopes of the two do not include each other's threads"});
    expect((order_case){2, FENCED("fence", "fence {scope = cta}"), words,
                        "this fence read what another block released"});
}

Test(cpu_atomics, scopes_reach_as_far_as_they_say) {
    expect((order_case){3, THREADS("  atomic_thread_add 1, %p[0] {scope = cta}\n"),
                        "scope cta of this access does not reach from one to the other", NULL});
    expect((order_case){3, THREADS("  atomic_thread_add 1, %p[%b] {scope = cta}\n"), NULL, NULL});
    expect((order_case){3, THREADS("  atomic_thread_add 1, %p[0] {scope = cluster}\n"),
                        "scope cluster of this access does not reach", NULL});
    expect((order_case){2, LAST("{ordering = acq_rel, scope = cta}"), "scope cta", NULL});
}

Test(cpu_atomics, a_cluster_is_reached_by_its_scope) {
    expect((order_case){3,
                        "kernel @k(%p: ptr<i32>) grid [3] cluster [3] warps 1 level 3 {\n"
                        "  atomic_thread_add 1, %p[0] {scope = cluster}\n}\n",
                        NULL, NULL});
}

Test(cpu_atomics, shared_memory) {
#define SHARED(body) \
    THREADS("  %s = alloc_shared {offset = 0} : shared<i32[64]>\n  st_shared 0, %s[%t]\n" body)
    expect((order_case){3,
                        SHARED("  sync\n  atomic_thread_add 1, %s[0]\n"
                               "  atomic_thread_max %t, %s[0]\n  sync\n"
                               "  %r = ld_shared %s[0]\n  st_global %r, %p[32 * %b + %t]\n"),
                        NULL, NULL});
    expect((order_case){3, SHARED("  atomic_thread_add 1, %s[0]\n"),
                        "data race: atomic access without a barrier after a write", NULL});
    expect((order_case){3, SHARED("  sync\n  atomic_thread_add 1, %s[0]\n  %r = ld_shared %s[0]\n"),
                        "data race: read without a barrier after an atomic access", NULL});
    expect((order_case){3,
                        SHARED("  sync\n  atomic_thread_add 1, %s[0]\n  st_shared 1, %s[0], %o\n"),
                        "data race: write without a barrier after an atomic access", NULL});
    expect((order_case){3, SHARED("  sync\n  %r = ld_shared %s[0]\n  atomic_thread_add 1, %s[0]\n"),
                        "data race: atomic access without a barrier after a read", NULL});
    expect((order_case){3, SHARED("  sync\n  atomic_thread_add 1, %s[%t + 32]\n"),
                        "read of uninitialized shared memory", NULL});
}

Test(cpu_atomics, elements_of_a_buffer) {
#define BUFFER(body) TILES("  %s = alloc_shared : shared<i32[64]>\n  store_shared %v, %s\n" body)
    expect((order_case){2, BUFFER("  %n = atomic_add %b, %s[63]\n  atomic_add %n, %g[0]\n"), NULL,
                        NULL});
    expect((order_case){
        2, BUFFER("  atomic_add %b, %s[%b + 62]\n"),
        "atomic: out of bounds: along dim 0 the coordinate is 64, and %s has 64 elements there",
        NULL});
}

Test(cpu_atomics, memory_that_nobody_has_written) {
    expect((order_case){2,
                        "kernel @k(%p: ptr<i32>) grid [3] warps 1 {\n"
                        "  %s = scratch [4] : view<i32[4]>\n  atomic_add 1, %s[0]\n}\n",
                        "atomic: read of uninitialized scratch memory", NULL});
    expect((order_case){2,
                        "kernel @k(%p: ptr<i32>) grid [3] warps 1 {\n"
                        "  %s = scratch [4] {clean} : view<i32[4]>\n  atomic_add 1, %s[0]\n"
                        "  %n = atomic_add 1, %s[1] {ordering = acq_rel}\n"
                        "  if %n == 2 { atomic_exch 0, %s[0] atomic_exch 0, %s[1] }\n}\n",
                        NULL, NULL});
}

Test(cpu_atomics, deadlocks_name_what_is_waited_for) {
    expect(
        (order_case){2, TILES("  wait_value %g[3], 2 {compare = ge}\n"),
                     "wait_value: deadlock: waits for a value >= 2, which no block will store; 3 "
                     "blocks wait",
                     "the word at offset 12 of %p is 0"});
    expect((order_case){3, THREADS("  wait_acquire %p[0], 0 {compare = ne}\n"),
                        "wait_acquire: deadlock: waits for a value != 0", NULL});
    expect((order_case){2,
                        TILES("  wait_value %g[3], 1 {compare = lt}\n  wait_value %g[3], 0\n"
                              "  wait_value %g[3], -1 {compare = gt}\n"
                              "  wait_value %g[3], 0 {compare = le}\n"),
                        NULL, NULL});
}

/* A spinning block lets the block run that holds the lock. */
Test(cpu_atomics, loops_of_updates_come_to_an_end) {
    expect((order_case){3,
                        THREADS("  if %o {\n    while {\n"
                                "      %old = atomic_cas_thread 0, 1, %p[0] {ordering = acquire}\n"
                                "      yield %old != 0\n    } do { }\n"
                                "    %v = ld_global %p[1]\n    st_global %v + 1, %p[1]\n"
                                "    atomic_thread_exch 0, %p[0] {ordering = release}\n  }\n"),
                        NULL, NULL});
    expect((order_case){3,
                        THREADS("  if %o {\n    %n = atomic_thread_add 1, %p[0]\n    while {\n"
                                "      %now = atomic_thread_or 0, %p[0] {ordering = acquire}\n"
                                "      yield %now != 3\n    } do { }\n  }\n"),
                        NULL, NULL});
}

/* Undefined elements are written only inside the view. */
Test(cpu_atomics, poison) {
#define DIVIDED(extent) \
    "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n" \
    "  %in = view %p, [16]\n  %g = view %p, [" #extent "]\n" \
    "  %t = load %in[0] : [32]\n  %i = iota {axis = 0} : tile<i32[32]>\n" \
    "  %d = select(%i < 16, 1, %t)\n  %q = div 7, %d\n" \
    "  %old = atomic_add %q, %g[0]\n  %h = view %p, [1024]\n  store %old, %h[100]\n}\n"
    static const char zeros[4096];
    for (unsigned level = 2; level <= 2; level++) {
        cpu_fixture x;
        cpu_open(&x, level, 0, DIVIDED(16));
        cpu_pass(&x, zeros, sizeof zeros);
        CPU_RUN(&x);
        cpu_close(&x);
        cpu_open(&x, level, 0, DIVIDED(17));
        cpu_pass(&x, zeros, sizeof zeros);
        cr_assert_eq(cpu_launch_text(&x), TILE_FAULT);
        cr_assert(strstr(x.text.messages, "division by zero"), "%s", x.text.messages);
        cpu_close(&x);
    }
}

/* Values -------------------------------------------------------------------------------------- */

static float one_update(const char *type, const char *kind, float old, float operand) {
    cpu_fixture x;
    char text[512];
    snprintf(text, sizeof text,
             "kernel @k(%%p: ptr<%s>, %%q: ptr<%s>) grid [1] warps 1 level 3 {\n"
             "  %%t = thread_id\n  %%v = ld_global %%q[0]\n"
             "  atomic_thread_%s %%v, %%p[0], %%t == 3\n}\n",
             type, type, kind);
    cpu_open(&x, 3, 0, text);
    cpu_pass(&x, &old, sizeof old);
    cpu_pass(&x, &operand, sizeof operand);
    CPU_RUN(&x);
    cpu_get(&x, 0, &old, sizeof old);
    cpu_close(&x);
    return old;
}

Test(cpu_atomics, floats) {
    cr_expect_eq(one_update("f32", "add", 1.5f, 2.0f), 3.5f);
    cr_expect_eq(one_update("f32", "exch", 1.5f, 2.0f), 2.0f);
    cr_expect_eq(one_update("f32", "min", 1.5f, NAN), 1.5f);
    cr_expect_eq(one_update("f32", "max", NAN, -2.0f), -2.0f);
    cr_expect(isnan(one_update("f32", "add", NAN, -2.0f)));
    /* subnormals, in global memory */
    cr_expect_eq(one_update("f32", "add", 0x1p-130f, 0x1p-130f), 0.0f);
    cr_expect_eq(one_update("f32", "max", 0.0f, 0x1p-130f), 0x1p-130f);
}

/* Counts the different sums; they depend on the order of the lanes of a warp, and of blocks. */
static unsigned count_sums(const char *kernel, int64_t blocks) {
    float seen[32];
    unsigned count = 0;
    for (uint64_t seed = 0; seed < 32; seed++) {
        float data[64] = {0};
        unsigned i = 0;
        cpu_fixture x;
        for (unsigned k = 0; k < 32; k++)
            data[32 + k] = k % 3 == 0 ? 1e8f : k % 3 == 1 ? 3.0f : -1e8f;
        cpu_open(&x, 3, seed, kernel);
        x.grid[0] = blocks;
        cpu_pass(&x, data, sizeof data);
        CPU_RUN(&x);
        cpu_get(&x, 0, data, sizeof data);
        cpu_close(&x);
        while (i < count && seen[i] != data[0]) i++;
        if (i == count) seen[count++] = data[0];
    }
    return count;
}

Test(cpu_atomics, sums_of_floats_depend_on_the_seed) {
    cr_expect_gt(count_sums("kernel @k(%p: ptr<f32>) grid [1] warps 1 level 3 {\n  %t = thread_id\n"
                            "  %v = ld_global %p[32 + %t]\n  atomic_thread_add %v, %p[0]\n}\n",
                            1),
                 1);
    cr_expect_gt(count_sums("kernel @k(%p: ptr<f32>) grid [32] warps 1 level 3 {\n"
                            "  %t = thread_id\n  %b, %y, %z = block_id\n"
                            "  %v = ld_global %p[32 + %b]\n"
                            "  atomic_thread_add %v, %p[0], %t == 0\n}\n",
                            32),
                 1);
}

Test(cpu_atomics, integers_wrap_and_swap) {
    cpu_fixture x;
    int8_t data[64] = {100, -100, 5, 6};
    cpu_open(&x, 3, 0,
             "kernel @k(%p: ptr<i8>) grid [1] warps 1 level 3 {\n"
             "  %t = thread_id\n  %o = eq %t, 0\n"
             "  %a = atomic_thread_add i8(100), %p[0], %o\n"
             "  %b = atomic_thread_min i8(50), %p[1], %o\n"
             "  %c = atomic_cas_thread i8(5), i8(9), %p[2], %o\n"
             "  %d = atomic_cas_thread i8(5), i8(9), %p[3], %o\n"
             "  st_global %a, %p[8], %o\n  st_global %b, %p[9], %o\n"
             "  st_global %c, %p[10], %o\n  st_global %d, %p[11], %o\n"
             "  st_global %a, %p[12], %t == 1\n}\n");
    cpu_pass(&x, data, sizeof data);
    CPU_RUN(&x);
    cpu_get(&x, 0, data, sizeof data);
    static const int8_t wanted[] = {-56, -100, 9, 6, 0, 0, 0, 0, 100, -100, 5, 6, 0};
    for (size_t i = 0; i < sizeof wanted; i++) cr_expect_eq(data[i], wanted[i], "%zu", i);
    cpu_close(&x);
}
