/* The CPU device's results: control flow under masks, tiles at edges, fragments, copies that
 * complete late, blocks that wait for each other. */
#include <math.h>

#include "lib/support/float16.h"
#include "test/unit/cpu_fixture.h"

Test(cpu, vector_add_at_level_2) {
    enum { N = 100 };
    cpu_fixture x;
    float a[N], b[N], c[N];
    for (int i = 0; i < N; i++) a[i] = (float)i, b[i] = (float)(1000 - 3 * i);
    cpu_open(&x, 2, 0,
             "kernel @k(%n: i32, %x: ptr<f32>, %y: ptr<f32>, %z: ptr<f32>)\n"
             "    grid [4] warps 4 {\n"
             "  %b, %by, %bz = block_id\n"
             "  %gx = view %x, [%n] : view<f32[?]>\n"
             "  %gy = view %y, [%n] : view<f32[?]>\n"
             "  %gz = view %z, [%n] : view<f32[?]>\n"
             "  %tx = load %gx[%b * 32] : tile<f32[32]>\n"
             "  %ty = load %gy[%b * 32] : tile<f32[32]>\n"
             "  %s = %tx + %ty\n"
             "  store %s, %gz[%b * 32]\n}\n");
    cpu_pass_int(&x, N);
    cpu_pass(&x, a, sizeof a);
    cpu_pass(&x, b, sizeof b);
    cpu_pass(&x, NULL, sizeof c);
    x.grid[0] = 4;
    CPU_RUN(&x);
    cpu_get(&x, 3, c, sizeof c);
    for (int i = 0; i < N; i++) cr_assert_eq(c[i], a[i] + b[i]);
    cpu_close(&x);
}

/* Tiles that extend beyond every edge of a strided view, including before the first element. */
Test(cpu, edges_of_views_give_zero_and_are_not_written) {
    enum { ROWS = 3, COLUMNS = 5, LDA = 7 };
    cpu_fixture x;
    int32_t a[ROWS * LDA], c[16], b[ROWS * LDA];
    for (int i = 0; i < ROWS * LDA; i++) a[i] = i + 1, b[i] = -1;
    cpu_open(&x, 2, 0,
             "kernel @k(%a: ptr<i32>, %c: ptr<i32>, %b: ptr<i32>) grid [1] warps 1 {\n"
             "  %ga = view %a, [3, 5], [7, 1] : view<i32[3, 5], strides [7, 1]>\n"
             "  %gb = view %b, [3, 5], [7, 1] : view<i32[3, 5], strides [7, 1]>\n"
             "  %gc = view %c, [4, 4] : view<i32[4, 4]>\n"
             "  %t = load %ga[-1, 2] : tile<i32[4, 4]>\n"
             "  store %t, %gc[0, 0]\n"
             "  store %t, %gb[-1, 2]\n}\n");
    cpu_pass(&x, a, sizeof a);
    cpu_pass(&x, NULL, sizeof c);
    cpu_pass(&x, b, sizeof b);
    CPU_RUN(&x);
    cpu_get(&x, 1, c, sizeof c);
    cpu_get(&x, 2, b, sizeof b);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            bool inside = i >= 1 && j + 2 < COLUMNS;
            cr_assert_eq(c[i * 4 + j], inside ? a[(i - 1) * LDA + j + 2] : 0, "%d, %d", i, j);
        }
    for (int i = 0; i < ROWS * LDA; i++) {
        int column = i % LDA;
        cr_assert_eq(b[i], column >= 2 && column < COLUMNS ? a[i] : -1, "%d", i);
    }
    cpu_close(&x);
}

/* Each lane has its own trip count and its own branches. */
Test(cpu, divergent_loops_and_branches) {
    cpu_fixture x;
    int32_t out[64];
    cpu_open(&x, 3, 0,
             "kernel @k(%p: ptr<i32>) grid [1] warps 2 {\n"
             "  %t = thread_id\n"
             "  %sum, %last = for %i = 0 to rem(%t, 5) step 1 iter (%s = 0, %l = -1) {\n"
             "    %r = if rem(%i + %t, 2) == 0 {\n"
             "      %inner = for %j = 0 to %i step 1 iter (%u = %s) {\n"
             "        yield %u + 100\n      }\n"
             "      yield %inner\n"
             "    } else { yield %s + %t }\n"
             "    yield %r, %i\n"
             "  }\n"
             "  if %last >= 0 { st_global %sum, %p[%t] } else { st_global %last, %p[%t] "
             "}\n}\n");
    cpu_pass(&x, NULL, sizeof out);
    CPU_RUN(&x);
    cpu_get(&x, 0, out, sizeof out);
    for (int t = 0; t < 64; t++) {
        int sum = 0, last = -1;
        for (int i = 0; i < t % 5; last = i++) sum += (i + t) % 2 == 0 ? 100 * i : t;
        cr_assert_eq(out[t], last >= 0 ? sum : last, "thread %d: %d", t, out[t]);
    }
    cpu_close(&x);
}

/* A yield assigns all values simultaneously. */
Test(cpu, a_loop_can_exchange_what_it_carries) {
    cpu_fixture x;
    int32_t out[3];
    cpu_open(&x, 3, 0,
             "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n"
             "  %a, %b, %c = for %i = 0 to 4 step 1 iter (%x = 1, %y = 2, %z = 3) {\n"
             "    yield %y, %z, %x\n  }\n"
             "  %t = thread_id\n  if %t == 0 {\n"
             "    st_global %a, %p[0] st_global %b, %p[1] st_global %c, %p[2]\n  }\n}\n");
    cpu_pass(&x, NULL, sizeof out);
    CPU_RUN(&x);
    cpu_get(&x, 0, out, sizeof out);
    cr_assert(out[0] == 2 && out[1] == 3 && out[2] == 1, "%d %d %d", out[0], out[1], out[2]);
    cpu_close(&x);
}

static const char one_mma[] =
    "kernel @k(%a: ptr<f16>, %b: ptr<f16>, %c: ptr<f32>) grid [1] warps 1 {\n"
    "  %t = thread_id\n"
    "  %sa = alloc_shared : shared<f16[16, 16]>\n"
    "  %sb = alloc_shared : shared<f16[16, 8]>\n"
    "  %va = ld_global %a[%t * 8] : vector<f16[8]>\n"
    "  st_shared %va, %sa[%t * 8]\n"
    "  %vb = ld_global %b[%t * 4] : vector<f16[4]>\n"
    "  st_shared %vb, %sb[%t * 4]\n"
    "  sync\n"
    "  %m = div %t, 8\n"
    "  %fa = ldmatrix %sa[(rem(%t, 8) + rem(%m, 2) * 8) * 16 + %m / 2 * 8] : vector<f16[8]>\n"
    "  %fb = ldmatrix %sb[rem(%t, 16) * 8] {trans} : vector<f16[4]>\n"
    "  %zero = splat 0.0 : vector<f32[4]>\n"
    "  %d = mma %fa, %fb, %zero : vector<f32[4]>\n"
    "  %low = extract %d, 0 : vector<f32[2]>\n"
    "  %high = extract %d, 2 : vector<f32[2]>\n"
    "  st_global %low, %c[%t / 4 * 8 + rem(%t, 4) * 2]\n"
    "  st_global %high, %c[(%t / 4 + 8) * 8 + rem(%t, 4) * 2]\n}\n";

Test(cpu, ldmatrix_and_mma_multiply) {
    cpu_fixture x;
    uint16_t a[256], b[128];
    float c[128];
    for (int i = 0; i < 256; i++) a[i] = tile_f16_from_float((float)((i * 37) % 11 - 5));
    for (int i = 0; i < 128; i++) b[i] = tile_f16_from_float((float)((i * 29) % 7 - 3));
    cpu_open(&x, 3, 0, one_mma);
    cpu_pass(&x, a, sizeof a);
    cpu_pass(&x, b, sizeof b);
    cpu_pass(&x, NULL, sizeof c);
    CPU_RUN(&x);
    cpu_get(&x, 2, c, sizeof c);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += ((i * 16 + k) * 37 % 11 - 5) * ((k * 8 + j) * 29 % 7 - 3);
            cr_assert_eq(c[i * 8 + j], (float)sum, "%d, %d", i, j);
        }
    cpu_close(&x);
}

/* Runs two copies, the second one by 16 lanes. `before` is executed before the first wait,
 * `between` between the two waits. */
static tile_status copy_twice(cpu_fixture *x, const char *before, const char *between) {
    char text[1024];
    int32_t data[64] = {0}, out[64];
    snprintf(text, sizeof text,
             "kernel @k(%%p: ptr<i32>, %%q: ptr<i32>) grid [1] warps 1 {\n"
             "  %%t = thread_id\n"
             "  %%s = alloc_shared : shared<i32[64]>\n"
             "  cp_async %%p[%%t], %%s[%%t] {bytes = 4}\n"
             "  commit_group\n"
             "  cp_async %%p[%%t + 32], %%s[%%t + 32], %%t < 16 {bytes = 4}\n"
             "  commit_group\n%s"
             "  wait_group 1\n%s"
             "  wait_group 0\n"
             "  %%a = ld_shared %%s[%%t] : i32\n  %%b = ld_shared %%s[%%t + 32] : i32\n"
             "  st_global %%a, %%q[%%t]\n  st_global %%b, %%q[%%t + 32]\n}\n",
             before, between);
    for (int i = 0; i < 64; i++) data[i] = i + 1;
    cpu_open(x, 3, 0, text);
    cpu_pass(x, data, sizeof data);
    cpu_pass(x, NULL, sizeof out);
    tile_status status = cpu_launch_text(x);
    if (status == TILE_OK) cpu_get(x, 1, out, sizeof out);
    for (int t = 0; t < 32 && status == TILE_OK; t++) {
        cr_assert_eq(out[t], t + 1);
        cr_assert_eq(out[t + 32], t < 16 ? t + 33 : 0, "a false predicate copies zeros");
    }
    return status;
}

/* A copy's source must not be written before the wait that covers it. */
Test(cpu, copies_land_at_the_wait_that_covers_them) {
    static const char first[] = "  st_global 0, %p[%t]\n";
    static const char second[] = "  st_global 0, %p[%t + 32], %t < 16\n";
    static const char others[] = "  st_global 0, %p[%t + 32], %t >= 16\n";
    cpu_fixture x;
    cr_assert_eq(copy_twice(&x, others, first), TILE_OK, "%s", x.text.messages);
    cpu_close(&x);
    cr_assert_eq(copy_twice(&x, first, ""), TILE_FAULT);
    cr_assert(strstr(x.text.messages, "4:3: error: cp_async: its source"));
    cpu_close(&x);
    cr_assert_eq(copy_twice(&x, "", second), TILE_FAULT);
    cr_assert(strstr(x.text.messages, "6:3: error: cp_async: its source"));
    cpu_close(&x);
}

static const char async_tiles[] =
    "kernel @k(%p: ptr<f16>, %q: ptr<f32>) grid [1] warps 1 sync explicit {\n"
    "  %gp = view %p, [2, 16, 16] : view<f16[2, 16, 16]>\n"
    "  %gq = view %q, [16, 16] : view<f32[16, 16]>\n"
    "  %s = alloc_shared : shared<f16[2][16, 16]>\n"
    "  copy_async %gp[0, 0, 0], %s[0]\n  copy_async %gp[1, 0, 0], %s[1]\n"
    "  commit_group\n  wait_group 0\n  sync\n"
    "  %zero = splat 0.0 : tile<f32[16, 16]>\n"
    "  %d = dot %s[0], %s[1], %zero\n"
    "  store %d, %gq[0, 0]\n}\n";

Test(cpu, tiles_copied_in_the_background_and_multiplied) {
    cpu_fixture x;
    uint16_t p[512];
    float q[256];
    for (int i = 0; i < 512; i++) p[i] = tile_f16_from_float((float)(i * 31 % 9 - 4));
    cpu_open(&x, 2, 0, async_tiles);
    cpu_pass(&x, p, sizeof p);
    cpu_pass(&x, NULL, sizeof q);
    CPU_RUN(&x);
    cpu_get(&x, 1, q, sizeof q);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            int sum = 0;
            for (int k = 0; k < 16; k++)
                sum += ((i * 16 + k) * 31 % 9 - 4) * ((256 + k * 16 + j) * 31 % 9 - 4);
            cr_assert_eq(q[i * 16 + j], (float)sum);
        }
    cpu_close(&x);
}

static const char chain_2[] = "kernel @k(%n: i32, %p: ptr<i32>) grid [%n] warps 1 {\n"
                              "  %b, %by, %bz = block_id\n"
                              "  %g = view %p, [1] : view<i32[1]>\n"
                              "  %sem = scratch [1] {clean} : view<i32[1]>\n"
                              "  lock_semaphore %sem[0], %b\n"
                              "  %t = load %g[0] : tile<i32[1]>\n"
                              "  %b1 = splat %b : tile<i32[1]>\n"
                              "  %u = %t * 3 + %b1\n"
                              "  store %u, %g[0]\n"
                              "  release_semaphore %sem[0], rem(%b + 1, %n)\n}\n";

static const char chain_3[] = "kernel @k(%n: i32, %p: ptr<i32>) grid [%n] warps 2 {\n"
                              "  %b, %by, %bz = block_id\n"
                              "  %sem = scratch [1] {clean} : ptr<i32>\n"
                              "  %t = thread_id\n  %first = %t == 0\n"
                              "  if %first { wait_acquire %sem[0], %b }\n"
                              "  sync\n"
                              "  if %first {\n"
                              "    %v = ld_global %p[0] : i32\n"
                              "    st_global %v * 3 + %b, %p[0]\n  }\n"
                              "  sync\n"
                              "  if %first { st_release %sem[0], rem(%b + 1, %n) }\n}\n";

/* Twenty blocks form a chain: they add in its order, whatever order they start in. */
static void check_chain(unsigned level, const char *kernel) {
    enum { BLOCKS = 20 };
    uint32_t expected = 1, got;
    for (uint32_t b = 0; b < BLOCKS; b++) expected = expected * 3 + b;
    for (uint64_t seed = 0; seed < 6; seed++) {
        cpu_fixture x;
        uint32_t one = 1;
        cpu_open(&x, level, seed, kernel);
        cpu_pass_int(&x, BLOCKS);
        cpu_pass(&x, &one, sizeof one);
        x.grid[0] = BLOCKS;
        CPU_RUN(&x);
        cpu_get(&x, 1, &got, sizeof got);
        cr_assert_eq(got, expected, "seed %d", (int)seed);
        cpu_close(&x);
    }
}

Test(cpu, blocks_wait_for_each_other) {
    check_chain(2, chain_2);
    check_chain(3, chain_3);
}

/* Counts the orders of these seeds that end normally; the others deadlock. */
static unsigned count_good_orders(unsigned level, const char *kernel, uint64_t first,
                                  uint64_t end) {
    unsigned good = 0;
    for (uint64_t seed = first; seed < end; seed++) {
        static const char zeros[64];
        cpu_fixture x;
        cpu_open(&x, level, seed, kernel);
        cpu_pass(&x, zeros, sizeof zeros);
        x.grid[0] = 2;
        tile_status status = cpu_launch_text(&x);
        cr_assert(status == TILE_OK || strstr(x.text.messages, "deadlock: waits for the value 1"),
                  "%s", x.text.messages);
        good += status == TILE_OK;
        cpu_close(&x);
    }
    return good;
}

/* The value is 1 only briefly: a block that waits for it must run between the two releases. */
#define BETWEEN_2(waits, between) \
    "kernel @k(%p: ptr<i32>) grid [2] warps 1 {\n  %b, %y, %z = block_id\n" \
    "  %g = view %p, [16] : view<i32[16]>\n  %one = splat 1 : tile<i32[8]>\n" \
    "  if %b == " waits " { lock_semaphore %g[0], 1 } else {\n" \
    "    release_semaphore %g[0], 1\n" between "    release_semaphore %g[0], 2\n  }\n}\n"
#define BETWEEN_3(waits, between) \
    "kernel @k(%p: ptr<i32>) grid [2] warps 1 {\n  %b, %y, %z = block_id\n" \
    "  if %b == " waits " { wait_acquire %p[0], 1 } else {\n" \
    "    st_release %p[0], 1\n" between "    st_release %p[0], 2\n  }\n}\n"
#define STORE_2 "    store %one, %g[8]\n"
#define STORE_3 "    st_global 1, %p[8]\n"

/* In natural order a store lets the next block run first, and a release lets the waiting blocks
 * run. With a seed this varies: a signal that can be missed is missed for some seeds. */
Test(cpu, blocks_are_preempted) {
    cr_assert_eq(count_good_orders(2, BETWEEN_2("1", STORE_2), 0, 1), 1);
    cr_assert_eq(count_good_orders(3, BETWEEN_3("1", STORE_3), 0, 1), 1);
    cr_assert_eq(count_good_orders(2, BETWEEN_2("0", ""), 0, 1), 1);
    cr_assert_eq(count_good_orders(3, BETWEEN_3("0", ""), 0, 1), 1);
    enum { SEEDS = 64 };
    static const char *const kernels[] = {BETWEEN_2("1", STORE_2), BETWEEN_2("0", ""),
                                          BETWEEN_3("1", STORE_3), BETWEEN_3("0", "")};
    for (unsigned i = 0; i < 4; i++) {
        unsigned good = count_good_orders(2 + i / 2, kernels[i], 1, 1 + SEEDS);
        cr_assert(good > SEEDS / 8 && good < SEEDS - SEEDS / 8, "kernel %u: %u of %d", i, good,
                  SEEDS);
    }
}

/* Rows with a stride of 256 bytes: all in one bank group. Then rows with a stride of 16 bytes: no
 * conflicts. */
Test(cpu, counts_bank_conflicts_sectors_and_barriers) {
    static const char kernel[] = "kernel @k(%stride: i32, %p: ptr<f16>) grid [1] warps 1 {\n"
                                 "  %t = thread_id\n  %s = alloc_shared : shared<f16[4096]>\n"
                                 "  %v = ld_global %p[%t * 8] : vector<f16[8]>\n"
                                 "  st_shared %v, %s[%t * 8 * %stride]\n  sync\n"
                                 "  %m = ldmatrix %s[%t * 8 * %stride] : vector<f16[8]>\n}\n";
    for (int conflicts = 0; conflicts < 2; conflicts++) {
        cpu_fixture x;
        uint16_t p[256] = {0};
        cpu_open(&x, 3, 0, kernel);
        cpu_pass_int(&x, conflicts ? 16 : 1);
        cpu_pass(&x, p, sizeof p);
        CPU_RUN(&x);
        tile_cpu_counts counts = tile_device_counts(x.device);
        cr_assert_eq(counts.bank_conflicts, conflicts ? 2u * 4 * 7 : 0);
        cr_assert_eq(counts.sectors, 16);
        cr_assert_eq(counts.barriers, 1);
        cr_assert_gt(counts.operations, 6);
        cpu_close(&x);
    }
}

Test(cpu, arithmetic_has_its_types_precision) {
    cpu_fixture x;
    uint16_t h[2] = {tile_f16_from_float(2048), tile_f16_from_float(1)}, sum;
    int32_t n[4] = {INT32_MAX, -7, 3, 0}, out[6];
    cpu_open(&x, 3, 0,
             "kernel @k(%h: ptr<f16>, %n: ptr<i32>, %r: ptr<f16>, %o: ptr<i32>)\n"
             "    grid [1] warps 1 {\n"
             "  %t = thread_id\n  if %t == 0 {\n"
             "    %a = ld_global %h[0] : f16\n    %b = ld_global %h[1] : f16\n"
             "    st_global %a + %b + %b, %r[0]\n"
             "    %big = ld_global %n[0] : i32\n    %m = ld_global %n[1] : i32\n"
             "    %q = ld_global %n[2] : i32\n"
             "    st_global %big + %big, %o[0]\n    st_global %m / %q, %o[1]\n"
             "    st_global rem(%m, %q), %o[2]\n    st_global mod(%m, %q), %o[3]\n"
             "    st_global ceildiv(%m, %q), %o[4]\n"
             "    %f = cast %m : f32\n    %back = cast %f / 2.0 : i32\n"
             "    st_global %back, %o[5]\n  }\n}\n");
    cpu_pass(&x, h, sizeof h);
    cpu_pass(&x, n, sizeof n);
    cpu_pass(&x, NULL, sizeof sum);
    cpu_pass(&x, NULL, sizeof out);
    CPU_RUN(&x);
    cpu_get(&x, 2, &sum, sizeof sum);
    cpu_get(&x, 3, out, sizeof out);
    cr_assert_eq(tile_f16_to_float(sum), 2048, "each sum is rounded");
    const int32_t expected[6] = {-2, -2, -1, 2, -2, -3};
    for (int i = 0; i < 6; i++) cr_assert_eq(out[i], expected[i], "%d: %d", i, out[i]);
    cpu_close(&x);
}
