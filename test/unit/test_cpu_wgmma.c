/* wgmma on the CPU device: each forbidden use, and the same kernel without the fault. */
#include "test/unit/cpu_fixture.h"

/* Runs a kernel with one argument, 4 KiB of zeros; the messages contain both words. words NULL: no
 * report is expected. */
static void expect_with(const char *kernel, const char *words, const char *note) {
    for (uint64_t seed = 0; seed < 4; seed++) {
        cpu_fixture x;
        static const char zeros[4096];
        cpu_open(&x, 3, seed, kernel);
        cpu_pass(&x, zeros, sizeof zeros);
        tile_status status = cpu_launch_text(&x);
        const char *messages = x.text.messages;
        cr_assert_eq(status, words ? TILE_FAULT : TILE_OK, "%s", messages);
        cr_assert(!words || strstr(messages, words), "expected '%s' in: %s", words, messages);
        cr_assert(!note || strstr(messages, note), "expected '%s' in: %s", note, messages);
        cpu_close(&x);
    }
}

static void expect(const char *kernel, const char *words) {
    expect_with(kernel, words, NULL);
}

#define KERNEL(warps, body) \
    "kernel @k(%p: ptr<f32> {divisible = 16}) grid [1] warps " #warps " level 3 {\n" \
    "  %s = alloc_shared {offset = 0} : shared<f16[64, 16]>\n" \
    "  %o = alloc_shared {offset = 2048} : shared<f16[8, 16]>\n" \
    "  %other = alloc_shared {offset = 4096} : shared<f16[64, 16]>\n" \
    "  %t = thread_id\n  %one = splat 1.0 : vector<f16[8]>\n" \
    "  %none = undefined : vector<f32[4]>\n" body "}\n"
#define STORE "  st_shared %one, %s[%t * 8]\n  st_shared %one, %o[%t * 8], %t < 16\n"
#define DESCRIBE \
    "  %a = wgmma_descriptor %s[0] {swizzle = 32}\n  %b = wgmma_descriptor %o[0] {swizzle = 32}\n"
#define START DESCRIBE "  wgmma_fence\n  %c = wgmma %a, %b, %none, false\n  wgmma_commit\n"
#define WAIT "  %d = wgmma_wait 0, %c\n"
#define KEEP "  st_global %d, %p[%t * 4]\n"
#define READY STORE "  fence_async\n  sync\n"

Test(cpu_wgmma, a_product) {
    cpu_fixture x;
    float sums[512];
    cpu_open(&x, 3, 0, KERNEL(4, READY START WAIT KEEP));
    cpu_pass(&x, NULL, sizeof sums);
    CPU_RUN(&x);
    cpu_get(&x, 0, sums, sizeof sums);
    for (unsigned i = 0; i < 512; i++) cr_assert_eq(sums[i], 16.0f);
    cpu_close(&x);
}

Test(cpu_wgmma, the_async_proxy) {
    static const char words[] =
        "reads data that no fence_async has made visible to the async proxy";
    static const char note[] = "written here: st_shared, by warp ";
    expect_with(KERNEL(4, STORE "  sync\n" START WAIT KEEP), words, note);
    expect_with(KERNEL(4, "  fence_async\n" STORE "  sync\n" START WAIT KEEP), words, note);
    expect_with(KERNEL(4, STORE "  sync\n  fence_async\n" START WAIT KEEP), words, note);
    /* The fence is executed by other threads than those that wrote. */
    expect_with(KERNEL(4, STORE "  if %t >= 64 { fence_async }\n  sync\n" START WAIT KEEP), words,
                note);
    expect(KERNEL(4, STORE "  if %t >= 0 { fence_async }\n  sync\n" START WAIT KEEP), NULL);
    /* cp.async writes like the threads do, once it is complete. */
#define COPY \
    "  cp_async %p[%t * 4], %w[%t * 4] {bytes = 16}\n  cp_async %p[%t * 4], %w[512 + %t * 4] " \
    "{bytes = 16}\n  commit_group\n"
#define COPIED(order) \
    KERNEL(4, "  %w = alloc_shared {offset = 8192} : shared<f32[1024]>\n" COPY order \
              "  %x = alloc_shared {offset = 8192} : shared<f16[2048]>\n" \
              "  %a = wgmma_descriptor %x[0] {swizzle = 32}\n" \
              "  %b = wgmma_descriptor %x[1024] {swizzle = 32}\n" \
              "  wgmma_fence\n  %c = wgmma %a, %b, %none, false\n  wgmma_commit\n" WAIT)
    expect(COPIED("  wait_group 0\n  fence_async\n  sync\n"), NULL);
    expect_with(COPIED("  fence_async\n  wait_group 0\n  sync\n"), words, "cp_async, by warp");
    expect_with(COPIED("  wait_group 0\n  sync\n"), words, "cp_async, by warp");
}

Test(cpu_wgmma, races) {
    expect(KERNEL(4, STORE "  fence_async\n" START WAIT KEEP), "wgmma: ");
    expect(KERNEL(4, DESCRIBE "  sync\n  wgmma_fence\n  %c = wgmma %a, %b, %none, false\n"
                              "  wgmma_commit\n" WAIT KEEP),
           "read of uninitialized shared memory");
    /* wgmma still reads: no wait, a wait for too few groups, or a wait by other threads than the
     * writer. */
    static const char words[] =
        "data race: write while an asynchronous operation that nothing has waited for reads";
    expect_with(KERNEL(4, READY START "  sync\n" STORE WAIT KEEP), words,
                "the other access: wgmma");
    expect(KERNEL(4, READY START "  wgmma_wait 1\n  sync\n" STORE WAIT KEEP), words);
    expect(KERNEL(4, READY START "  wgmma_wait 0\n  sync\n" STORE WAIT KEEP), NULL);
    expect(KERNEL(4, READY START WAIT "  sync\n" STORE KEEP), NULL);
    expect(KERNEL(4, READY START WAIT STORE KEEP), "data race: write ");
    /* With two groups in flight, a wait for all but one leaves the later one in flight. */
#define AGAIN \
    "  %a2 = wgmma_descriptor %s[0] {swizzle = 32}\n" \
    "  %c2 = wgmma %a2, %b, %none, false\n  wgmma_commit\n"
    expect(KERNEL(4, READY START AGAIN "  %d = wgmma_wait 1, %c\n  sync\n" STORE
                                       "  %d2 = wgmma_wait 0, %c2\n" KEEP),
           words);
    expect(KERNEL(4, READY START AGAIN "  %d = wgmma_wait 1, %c\n  %d2 = wgmma_wait 0, %c2\n"
                                       "  sync\n" STORE KEEP),
           NULL);
}

Test(cpu_wgmma, strides) {
#define WITH(attributes, type) \
    KERNEL(4, READY "  %a = wgmma_descriptor %s[0] {" attributes "} : descriptor<f16, " type ">\n" \
                    "  %b = wgmma_descriptor %o[0] {swizzle = 32}\n  wgmma_fence\n" \
                    "  %c = wgmma %a, %b, %none, false\n  wgmma_commit\n" WAIT KEEP)
    expect(WITH("leading = 1024, stride = 128", "k"), NULL);
    expect(WITH("leading = 1040, stride = 128", "k"), "out of bounds: 16 bytes at byte 2048");
    expect(WITH("leading = 1024, stride = 256", "k"), "in which the matrix begins, at byte 0");
    expect(WITH("swizzle = 128, stride = 1024", "k"), "out of bounds");
    expect(WITH("leading = 128, stride = 256", "mn"), NULL);
    expect(WITH("leading = 256, stride = 512", "mn"), "out of bounds");
    expect(KERNEL(4, READY "  %a = wgmma_descriptor %s[1016] {swizzle = 32}\n"), NULL);
    expect(KERNEL(4, READY "  %a = wgmma_descriptor %s[4] {swizzle = 32}\n"),
           "is not a multiple of 16 bytes");
    expect(KERNEL(4, READY "  %a = wgmma_descriptor %s[1024] {swizzle = 32}\n"), "out of bounds");
}

Test(cpu_wgmma, a_warpgroup) {
    static const char missing[] = "not all 4 warps of the warpgroup execute this: warp";
    expect(KERNEL(4, READY "  if %t < 96 {\n" START WAIT "  }\n"), missing);
    expect(KERNEL(8, "  if %t < 128 {\n" STORE
                     "  fence_async\n  }\n  sync\n  if %t < 128 {\n" START WAIT "  }\n"),
           NULL);
}

Test(cpu_wgmma, the_same_in_all_warps) {
    expect(KERNEL(4, "  st_shared %one, %other[%t * 8]\n" READY
                     "  %x = %t / 32 * 8\n  %a = wgmma_descriptor %s[0] {swizzle = 32}\n"
                     "  %b = wgmma_descriptor %other[%x] {swizzle = 32}\n  wgmma_fence\n"
                     "  %c = wgmma %a, %b, %none, false\n  wgmma_commit\n" WAIT),
           "operands");
    expect(KERNEL(4, READY "  %x = rem(%t, 2) * 8\n  %a = wgmma_descriptor %s[0] {swizzle = 32}\n"
                           "  %b = wgmma_descriptor %o[%x] {swizzle = 32}\n  wgmma_fence\n"
                           "  %c = wgmma %a, %b, %none, false\n  wgmma_commit\n" WAIT),
           "'rhs' differs from lane to lane");
    expect(KERNEL(4, READY START WAIT "  if %t < 64 { wgmma_fence } else { wgmma_wait 0 }\n"),
           "another warp of the warpgroup is at another instruction");
}

Test(cpu_wgmma, a_sparse_lhs) {
#define SPARSE(places) \
    KERNEL(4, "  st_shared %one, %other[%t * 8]\n" READY \
              "  %a = wgmma_descriptor %s[0] {swizzle = 32}\n" \
              "  %b = wgmma_descriptor %other[0] {swizzle = 32, leading = 256}\n  wgmma_fence\n" \
              "  %c = wgmma %a, %b, %none, false, " places "\n  wgmma_commit\n" WAIT KEEP)
    expect(SPARSE("1145324612"), NULL); /* 0x4444 4444: the first two of four */
    expect(SPARSE("-286331154"), NULL); /* 0xeeee eeee: the last two */
    expect(SPARSE("0"), "'places' selects no valid elements of 0 to 3 of row ");
    expect(SPARSE("1145324613"), "its bits are 0x5 there");
    expect(SPARSE("1145324612 + rem(%t / 2, 2) * 65536"), NULL); /* threads that are not asked */
    expect(SPARSE("1145324612 {selector = 1}"), NULL);
}

#define LANDING \
    "  if %t == 0 {\n    mbarrier_expect %bar[0], 2048\n" \
    "    bulk_load %p[0], %w[0], 2048, %bar[0]\n  }\n"
#define BARRIER \
    "  %w = alloc_shared {offset = 0} : shared<f32[512]>\n" \
    "  %bar = alloc_shared {offset = 16384} : shared<barrier[1]>\n" \
    "  if %t == 0 {\n    mbarrier_init %bar[0], 1\n    mbarrier_fence\n  }\n"

Test(cpu_wgmma, landings) {
    expect_with(KERNEL(4, BARRIER READY START LANDING WAIT "  mbarrier_wait %bar[0], 0\n"),
                "write while an asynchronous operation that nothing has waited for reads",
                "the other access: wgmma");
    expect(KERNEL(4, BARRIER READY START WAIT LANDING "  mbarrier_wait %bar[0], 0\n"),
           "data race: ");
    /* Data copied by TMA needs no fence. */
#define READ_AGAIN \
    "  wgmma_fence\n  %c2 = wgmma %a, %b, %none, false\n  wgmma_commit\n" \
    "  %d2 = wgmma_wait 0, %c2\n"
    expect(KERNEL(4, BARRIER READY START WAIT "  sync\n" LANDING
                                              "  mbarrier_wait %bar[0], 0\n" READ_AGAIN),
           NULL);
    expect(KERNEL(4, BARRIER READY START WAIT "  sync\n" LANDING READ_AGAIN
                                              "  mbarrier_wait %bar[0], 0\n"),
           " in block (0, 0, 0), warp ");
}
