#include "runtime/tune/build.h"

#include "runtime/tune/dry.h"
#include "test/unit/text_fixture.h"
#include "tools/common/assembler.h"

static const char product[] =
    "kernel @mm<block: int, warps_: int>(%m: i32, %k: i32 {const}, %a: view<f16[%m, %k]>,\n"
    "    %b: view<f16[%k, %m]>, %c: view<f16[%m, %m]>) of @square tune block in [16, 32, 2048] "
    "tune warps_ in [1, 2]\n"
    "    grid [ceildiv(%m, block), ceildiv(%m, block)] warps warps_ {\n"
    "  %x, %y = block_id\n"
    "  %s = for %i = 0 to %k step 16 iter (%sum = 0.0 : tile<f32[block, block]>) {\n"
    "    %l = load %a[%x * block, %i] : [block, 16]\n"
    "    %r = load %b[%i, %y * block] : [16, block]\n"
    "    yield dot(%l, %r, %sum)\n"
    "  }\n"
    "  store f16(%s), %c[%x * block, %y * block]\n"
    "}\n"
    "compute @square<m: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, m]>)\n"
    "    -> (%c: tensor<f16[m, m]>) {\n"
    "  %c = f16(matmul(%a, %b) : f32)\n"
    "}\n";

typedef struct build_fixture {
    text_fixture text;
    tile_module *module;
    const tile_function *f;
    tile_dry_device like;
    tune_task task;
    tile_tune_argument arguments[5];
    int64_t small[5];
    tune_point *points;
    size_t count;
    tile_store *store;
} build_fixture;

static void open_build(build_fixture *x, const char *ptxas) {
    *x = (build_fixture){.arguments = {{.integer = 100}, {.integer = 64}}, .small = {100, 64}};
    text_open(&x->text);
    x->module = tile_module_parse(x->text.context, "tune", product, strlen(product));
    cr_assert(x->module, "%s", x->text.messages);
    x->f = tile_module_function(x->module, 0);
    const tile_device like = {.target = tile_target_find("sm_90a"),
                              .name = "H",
                              .ptxas = ptxas,
                              .level = 3,
                              .num_sms = 132};
    x->store = tile_store_create();
    tile_dry_device_open(&x->like, x->text.context, &like, x->store, NULL);
    x->task = (tune_task){.text = product,
                          .kernel = "mm",
                          .argument_count = 5,
                          .arguments = x->arguments,
                          .small = x->small};
    cr_assert(tune_list_points(x->f, NULL, 0, NULL, &x->text.arena, &x->points, &x->count));
}

static void close_build(build_fixture *x) {
    for (size_t i = 0; i < x->count; i++) tile_arena_reset(&x->points[i].arena);
    tile_device_destroy(&x->like.base);
    tile_store_destroy(x->store);
    tile_module_destroy(x->module);
    text_close(&x->text);
}

/* Two threads build all points; points that the compiler refuses have a reason. */
static void build_all(build_fixture *x) {
    bool over = false;
    size_t got = 0;
    tune_builder *builder =
        tune_builder_start(&x->like.base, &x->task, x->store, x->points, x->count, 2);
    while (!over) got += tune_builder_next(builder, &over) != NULL;
    cr_expect_eq(got, x->count, "each once");
    cr_expect_eq(tune_builder_count(builder), x->count);
    tune_builder_stop(builder);
}

Test(tune_build, threads_make_what_a_device_will_look_for, .timeout = 120) {
    build_fixture x;
    open_build(&x, NULL);
    build_all(&x);
    for (size_t i = 0; i < x.count; i++) {
        const tune_point *p = &x.points[i];
        const void *data;
        size_t size;
        if (strstr(p->c.text, "2048")) {
            cr_expect_eq(p->build, TUNE_BUILD_FAILED);
            cr_expect(*p->c.why, "it says why");
            continue;
        }
        cr_assert_eq(p->build, TUNE_BUILT, "%s: %s", p->c.text, p->c.why);
        cr_assert_gt(p->log.count, 0);
        cr_expect(tile_store_find(x.store, p->log.keys[0], &data, &size) && size > 0);
    }
    /* Another device with the store finds them: everything that it needs is already there. */
    tile_store_log log = {.arena = &x.text.arena};
    const tile_binding bindings[] = {{"block", "16"}, {"warps_", "1"}, {"%k", "64"}};
    tile_kernel *kernel;
    x.like.base.store_log = &log;
    cr_assert_eq(tile_kernel_create(&x.like.base, x.module, "mm", bindings, 3, &kernel), TILE_OK,
                 "%s", x.text.messages);
    cr_assert_eq(log.count, 1);
    cr_expect_str_eq(log.keys[0], x.points[0].log.keys[0]);
    cr_expect_gt(tile_kernel_ptx(kernel)->size, 0);
    tile_kernel_destroy(kernel);
    close_build(&x);
}

Test(tune_build, an_assembler_makes_cubins, .timeout = 120) {
    char *ptxas = tool_find_ptxas();
    if (!ptxas) cr_skip_test("no ptxas");
    build_fixture x;
    open_build(&x, ptxas);
    x.count = 1;
    build_all(&x);
    const void *data;
    size_t size;
    tile_artifact *artifact;
    cr_assert_eq(x.points[0].build, TUNE_BUILT, "%s", x.points[0].c.why);
    cr_assert(tile_store_find(x.store, x.points[0].log.keys[0], &data, &size));
    cr_assert_eq(tile_artifact_read(x.text.context, data, size, &artifact), TILE_OK);
    cr_expect_gt(tile_artifact_kernel_at(artifact, 0)->cubin.size, 0);
    tile_artifact_destroy(artifact);
    close_build(&x);
    free(ptxas);
}

Test(tune_build, a_builder_may_be_stopped_early, .timeout = 120) {
    build_fixture x;
    open_build(&x, NULL);
    tune_builder *builder =
        tune_builder_start(&x.like.base, &x.task, x.store, x.points, x.count, 1);
    tune_builder_stop(builder);
    tune_builder_stop(NULL);
    close_build(&x);
}

/* Each strategy generates different kernels and plans, and different requests to the device. */
Test(tune_build, splits_of_all_strategies_are_built, .timeout = 300) {
    build_fixture x;
    open_build(&x, NULL);
    const int64_t sizes[] = {16, 64, 0, 0, 0};
    x.arguments[0].integer = x.small[0] = 16;
    x.count = 1;
    x.like.base.num_sms = 4;
    tune_join_splits(&x.like.base, x.module, x.f, sizes, NULL, &x.text.arena, &x.points, &x.count);
    cr_assert_gt(x.count, 6);
    build_all(&x);
    for (size_t i = 0; i < x.count; i++)
        cr_expect_eq(x.points[i].build, TUNE_BUILT, "%s: %s", x.points[i].c.text,
                     x.points[i].c.why);
    close_build(&x);
}
