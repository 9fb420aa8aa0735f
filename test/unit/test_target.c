/* The tables of targets and features, and added rows (targets.def): all decisions about a target
 * depend on its row. */
#include "lib/support/target.h"

#include <stdlib.h>

#include "lib/codegen/emitter.h"
#include "test/unit/codegen_fixture.h"
#include "tile/manual.h"
#include "tile/pass.h"

/* The tables ----------------------------------------------------------------------------------- */

Test(target, features_have_names) {
    for (int i = 0; i < TILE_FEATURE_COUNT; i++) {
        const char *name = tile_feature_name((tile_feature)i);
        cr_expect_gt(strlen(name), 1);
        cr_expect_gt(strlen(tile_feature_text((tile_feature)i)), strlen(name), "%s", name);
        cr_expect_not(tile_feature_needs((tile_feature)i) >> i & 1, "%s needs itself", name);
        for (int k = 0; k < i; k++) {
            cr_expect_str_neq(tile_feature_name((tile_feature)k), name);
            cr_expect_str_neq(tile_feature_text((tile_feature)k),
                              tile_feature_text((tile_feature)i));
        }
    }
}

/* A feature's requirements are there as well: a target with wgmma has TMA, and therefore
 * mbarriers. */
Test(target, rows_are_consistent) {
    const tile_target *target;
    for (unsigned i = 0; (target = tile_target_at(i)); i++) {
        cr_expect(tile_target_has(target, TILE_FEATURE_base), "%s", target->name);
        for (int k = 0; k < TILE_FEATURE_COUNT; k++) {
            uint32_t needs = tile_feature_needs((tile_feature)k);
            cr_expect(!tile_target_has(target, (tile_feature)k) ||
                          (target->features & needs) == needs,
                      "%s has %s, and not all that it needs", target->name,
                      tile_feature_name((tile_feature)k));
        }
        cr_expect_eq(target->features >> TILE_FEATURE_COUNT, 0);
        cr_expect_leq(target->max_shared_bytes + TILE_SHARED_RESERVED, target->sm_shared_bytes);
        cr_expect_gt(target->mma_rate, 0);
        cr_expect_eq(target->wgmma_rate > 0, tile_target_has(target, TILE_FEATURE_wgmma), "%s",
                     target->name);
        cr_expect_eq(tile_target_find(target->name), target, "%s", target->name);
    }
    const tile_target *hopper = tile_target_find("sm_90a");
    cr_expect(tile_target_has(hopper, TILE_FEATURE_wgmma));
    cr_expect(tile_target_has(hopper, TILE_FEATURE_tma));
    cr_expect(tile_target_has(hopper, TILE_FEATURE_mbarrier));
    cr_expect_not(tile_target_has(tile_target_find("sm_90"), TILE_FEATURE_wgmma));
    cr_expect_not(tile_target_has(NULL, TILE_FEATURE_base));
    const tile_target *center = tile_target_find("sm_100f"),
                      *consumer = tile_target_find("sm_120f");
    cr_expect(tile_target_has(center, TILE_FEATURE_multicast));
    cr_expect_not(tile_target_has(consumer, TILE_FEATURE_multicast));
    for (unsigned i = 0; i < 2; i++) {
        const tile_target *later = i ? consumer : center;
        cr_expect(tile_target_has(later, TILE_FEATURE_tma));
        cr_expect(tile_target_has(later, TILE_FEATURE_setmaxnreg));
        cr_expect_not(tile_target_has(later, TILE_FEATURE_wgmma), "wgmma is of sm_90a alone");
    }
}

/* The features in instruction rows must be known to LLVM's processor of a target with that
 * feature. */
Test(target, features_of_instructions_are_of_some_target) {
    uint32_t some = 0;
    for (unsigned i = 0; tile_target_at(i); i++) some |= tile_target_at(i)->features;
    for (int i = 0; i < TILE_MACHINE_COUNT; i++)
        cr_expect(some >> tile_machine_feature((tile_machine)i) & 1, "%s",
                  tile_machine_text((tile_machine)i));
}

Test(target, targets_with_a_feature_are_listed) {
    char text[TILE_TARGETS_TEXT], small[8];
    cr_expect_str_eq(tile_feature_targets(TILE_FEATURE_base, text, sizeof text), "any target");
    /* The last row has it, and the one before it does not. */
    cr_expect_str_eq(tile_feature_targets(TILE_FEATURE_wgmma, text, sizeof text),
                     "sm_90a, test_warpgroup");
    cr_expect_str_eq(tile_feature_targets(TILE_FEATURE_wgmma, small, sizeof small), "sm_90a,");
}

/* GPUs ----------------------------------------------------------------------------------------- */

Test(target, of_a_gpu) {
    static const struct {
        unsigned capability;
        const char *name;
    } cases[] = {{80, "sm_80"},    {86, "sm_86"},    {87, "sm_86"},    {89, "sm_89"},
                 {90, "sm_90a"},   {100, "sm_100a"}, {103, "sm_103a"}, {107, "sm_100f"},
                 {110, "sm_110a"}, {120, "sm_120a"}, {121, "sm_121a"}, {125, "sm_120f"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_str_eq(tile_target_for(cases[i].capability)->name, cases[i].name);
    cr_expect_null(tile_target_for(75));
    const tile_target *family = tile_target_find("sm_100f");
    cr_expect(tile_target_runs_on(family, 100) && tile_target_runs_on(family, 103));
    cr_expect_not(tile_target_runs_on(family, 110) || tile_target_runs_on(family, 90));
    cr_expect_not(tile_target_runs_on(tile_target_find("sm_121a"), 120));
    const tile_target *portable = tile_target_find("sm_80"), *specific = tile_target_find("sm_90a");
    cr_expect(tile_target_runs_on(portable, 80) && tile_target_runs_on(portable, 86));
    cr_expect_not(tile_target_runs_on(portable, 90) || tile_target_runs_on(portable, 75));
    cr_expect(tile_target_runs_on(specific, 90));
    cr_expect_not(tile_target_runs_on(specific, 91) || tile_target_runs_on(specific, 100));
}

/* Added rows ----------------------------------------------------------------------------------- */

static const char matmul[] =
    "kernel @k<block: int>(%m: i32 {divisible = 16}, %a: view<f16[%m, %m]>, %b: view<f16[%m, %m]>, "
    "%c: view<f32[%m, %m]>)\n"
    "    tune block in [128, 64]\n"
    "    grid [ceildiv(%m, block), ceildiv(%m, block)] warps 4\n{\n"
    "  %x, %y = block_id\n"
    "  %sa = alloc_shared : shared<f16[block, 64]>\n"
    "  %sb = alloc_shared : shared<f16[64, block]>\n"
    "  %acc = for %k = 0 to %m step 64 iter (%sum = 0.0 : tile<f32[block, block]>) pipelined (2) "
    "{\n"
    "    copy %a[%x * block, %k], %sa\n"
    "    copy %b[%k, %y * block], %sb\n"
    "    yield dot(%sa, %sb, %sum)\n  }\n"
    "  store %acc, %c[%x * block, %y * block]\n}\n";

/* Returns the PTX of the default point. */
static void compile_first(const char *target, tile_blob *out) {
    codegen_fixture x;
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find(target)};
    codegen_open(&x, matmul);
    cr_assert_eq(tile_compile(x.module, "k", NULL, 0, &options, out, NULL), TILE_OK, "%s",
                 x.messages);
    codegen_close(&x);
}

static bool holds(const tile_blob *blob, const char *text) {
    return strstr(blob->data, text) != NULL;
}

/* The row decides which point fits, which instruction multiplies and which one copies. */
Test(target, an_added_row_decides_what_is_made) {
    tile_blob large, small, group;
    compile_first("sm_90", &large);
    compile_first("test_small", &small);
    compile_first("test_warpgroup", &group);
    cr_expect(holds(&large, ".target sm_90\n") && holds(&small, ".target sm_90\n"));
    cr_expect(holds(&group, ".target sm_90a\n"));
    cr_expect(holds(&small, "mma.sync") && !holds(&small, "wgmma"));
    cr_expect(holds(&small, "cp.async.cg") && !holds(&small, "cp.async.bulk"));
    cr_expect(holds(&group, "wgmma.mma_async") && holds(&group, "cp.async.bulk.tensor"));
    /* 128x128 needs 64 KB; the second point needs less. */
    cr_expect_lt(small.size, large.size);
    tile_blob_destroy(&large);
    tile_blob_destroy(&small);
    tile_blob_destroy(&group);
}

/* The row decides what is emitted instead of an instruction that the target lacks, and which error
 * is reported if there is no replacement, even if LLVM supports it for the architecture. */
Test(target, an_added_row_decides_what_is_legal) {
    static const char convert[] =
        "kernel @k(%x: ptr<e4m3>, %y: ptr<f32>) grid [1] warps 1 level 3\n"
        "{\n  %t = thread_id\n  %a = ld_global %x[%t] : e4m3\n"
        "  %b = cast %a : f32\n  st_global %b, %y[%t]\n}\n";
    static const char wait[] = "kernel @k() grid [1] warps 1 level 3\n{\n  pdl_wait\n}\n";
    static const char clusters[] = "kernel @k() grid [2] cluster [2] warps 1 {\n}\n";
    static const struct {
        const char *kernel, *instruction;
    } cases[] = {{convert, "cvt.rn.f16x2.e4m3x2"}, {wait, "griddepcontrol.wait"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        tile_blob with, without;
        codegen_open(&x, cases[i].kernel);
        cr_assert_eq(codegen_emit(&x, TILE_EMIT_PTX, "sm_90", &with), TILE_OK, "%s", x.messages);
        cr_assert_eq(codegen_emit(&x, TILE_EMIT_PTX, "test_small", &without), TILE_OK);
        cr_expect(holds(&with, cases[i].instruction));
        cr_expect_not(holds(&without, cases[i].instruction));
        tile_blob_destroy(&with);
        tile_blob_destroy(&without);
        codegen_close(&x);
    }
    codegen_fixture x;
    tile_blob none;
    codegen_open(&x, clusters);
    cr_expect_eq(codegen_emit(&x, TILE_EMIT_PTX, "test_small", &none), TILE_INVALID);
    cr_expect(strstr(x.messages, "@k needs thread block clusters (barrier.cluster, mapa), which "
                                 "test_small lacks; compile for sm_90, sm_90a"),
              "%s", x.messages);
    codegen_close(&x);
}

typedef struct page {
    char *text;
    size_t size;
} page;

static void keep(const char *text, size_t size, void *user) {
    page *p = user;
    p->text = realloc(p->text, p->size + size + 1);
    memcpy(p->text + p->size, text, size);
    p->text[p->size += size] = 0;
}

Test(target, an_added_row_is_in_the_manual) {
    page manual = {NULL, 0};
    tile_manual_print(keep, &manual);
    cr_expect(strstr(manual.text, "| `test_small` | 40960 | 65536 | 16 | 4 |"));
    cr_expect(strstr(manual.text, "| `wgmma` | warpgroup matrix products (wgmma) | sm_90a, "
                                  "test_warpgroup |"));
    free(manual.text);
}

/* Occupancy, which launches and the tuner use to rank points. */
Test(target, an_added_row_decides_what_a_multiprocessor_holds) {
    const char *limit;
    const tile_target *target = tile_target_find("test_small");
    cr_expect_eq(tile_target_residency(target, 8, 0, 1024, &limit), 2);
    cr_expect_str_eq(limit, "warps");
    cr_expect_eq(tile_target_residency(target, 1, 0, 30000, &limit), 2);
    cr_expect_str_eq(limit, "shared memory");
}
