/* Launches a plan on a fake device with streams that only records: order, arguments, scratch,
 * refusals. */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/device/device.h"
#include "test/unit/codegen_fixture.h"

static const char plan_text[] =
    "plan @p(%n: i32, %s: f32, %x: view<f32[%n]>, %y: ptr<f32>) {\n"
    "  %v = scratch [%n, 2] : view<f32[?, ?]>\n"
    "  %w = scratch [%n] : view<f32[?]>\n"
    "  fill %w, -1.5\n"
    "  launch @k(%n, %x, %v)\n"
    "  launch @k(%n * 2, %v, %w) {pdl}\n"
    "  if %n > 100 { launch @k(%n, %w, %y) }\n"
    "}\n"
    "kernel @k(%n: i32, %x: ptr<f32>, %y: ptr<f32>) grid [%n] warps 1 { pdl_wait }\n";

enum { MOST = 16 };

typedef struct recorded {
    int64_t n, value, blocks;
    uint64_t from, to;
    bool overlaps;
    void *stream;
} recorded;

typedef struct fake_device {
    tile_device base;
    uint64_t next;
    unsigned allocations, launches, reserved, prepared;
    int room; /* blocks that a multiprocessor can hold */
    bool capturing;
    recorded launched[MOST];
} fake_device;

static tile_status allocate(tile_device *device, size_t bytes, uint64_t *address) {
    fake_device *fake = (fake_device *)(void *)device;
    *address = fake->next;
    fake->next += (bytes + 255) / 256 * 256;
    fake->allocations++;
    return TILE_OK;
}

static void release(tile_device *device, uint64_t address, size_t bytes) {
    (void)address;
    (void)bytes;
    ((fake_device *)(void *)device)->allocations--;
}

static tile_status prepare(tile_device *device, tile_variant *variant) {
    variant->code = device;
    ((fake_device *)(void *)device)->prepared++;
    return TILE_OK;
}

static tile_status residency(tile_device *device, tile_variant *variant, int *blocks) {
    (void)variant;
    *blocks = ((fake_device *)(void *)device)->room;
    return TILE_OK;
}

static void discard(tile_device *device, tile_variant *variant) {
    (void)device;
    variant->code = NULL;
}

static uint64_t address_of(const tile_argument *argument) {
    return argument->buffer ? argument->buffer->address + argument->offset : 0;
}

static tile_status launch(tile_device *device, const tile_launch *what) {
    fake_device *fake = (fake_device *)(void *)device;
    const tile_argument *given = what->arguments;
    cr_assert_lt(fake->launches, MOST);
    fake->launched[fake->launches++] = (recorded){.n = given[0].integer,
                                                  .value = given[1].integer,
                                                  .blocks = what->grid[0] * what->grid[1],
                                                  .from = address_of(&given[1]),
                                                  .to = address_of(&given[2]),
                                                  .overlaps = what->overlaps,
                                                  .stream = what->stream};
    return TILE_OK;
}

static tile_status reserve(tile_device *device, const tile_launch *what) {
    (void)what;
    ((fake_device *)(void *)device)->reserved++;
    return TILE_OK;
}

static tile_status take_time(tile_device *device, const tile_timed *timed, double *seconds) {
    (void)device;
    *seconds = 3e-3;
    return timed->launch(timed->user);
}

static tile_status is_capturing(tile_device *device, void *stream, bool *capturing) {
    (void)stream;
    *capturing = ((fake_device *)(void *)device)->capturing;
    return TILE_OK;
}

static const tile_device_ops ops = {.allocate = allocate,
                                    .release = release,
                                    .prepare = prepare,
                                    .discard = discard,
                                    .launch = launch,
                                    .reserve = reserve,
                                    .time = take_time,
                                    .is_capturing = is_capturing,
                                    .residency = residency};

typedef struct plan_fixture {
    codegen_fixture text;
    fake_device device;
    tile_kernel *plan;
    tile_buffer x, y;
} plan_fixture;

static void open_plan(plan_fixture *x) {
    *x = (plan_fixture){.device = {.next = 1 << 20}};
    codegen_open(&x->text, plan_text);
    tile_device *device = &x->device.base;
    *device = (tile_device){.ops = &ops,
                            .context = x->text.context,
                            .target = tile_target_find("sm_90"),
                            .name = "fake",
                            .level = 3,
                            .num_sms = 132};
    cr_assert_eq(tile_kernel_create(device, x->text.module, "p", NULL, 0, &x->plan), TILE_OK, "%s",
                 x->text.messages);
    x->x = (tile_buffer){.device = device, .address = 4096, .bytes = 4096};
    x->y = (tile_buffer){.device = device, .address = 8192, .bytes = 4096};
}

static void close_plan(plan_fixture *x) {
    tile_kernel_destroy(x->plan);
    cr_assert_eq(x->device.allocations, 0);
    codegen_close(&x->text);
}

static tile_status run(plan_fixture *x, int64_t n, void *stream, bool only_prepare) {
    const tile_argument arguments[] = {
        {.integer = n}, {.number = 2}, {.buffer = &x->x}, {.buffer = &x->y, .offset = 64}};
    x->device.launches = 0;
    return only_prepare ? tile_kernel_prepare(x->plan, arguments, 4, stream)
                        : tile_kernel_launch(x->plan, arguments, 4, stream);
}

Test(plan_launch, steps_in_order_with_scratch_of_the_stream) {
    plan_fixture x;
    int streams[2];
    open_plan(&x);
    const recorded *did = x.device.launched;
    cr_assert_eq(run(&x, 50, &streams[0], false), TILE_OK, "%s", x.text.messages);
    cr_assert_eq(x.device.launches, 3);
    float value;
    int32_t bits = (int32_t)did[0].value;
    memcpy(&value, &bits, sizeof value);
    cr_expect(did[0].n == 50 && value == -1.5f, "fill %g", (double)value);
    uint64_t v = did[1].to, w = did[0].to;
    cr_expect(v >> 20 && w >> 20 && (v + 400 <= w || w + 200 <= v), "they live side by side");
    cr_expect(did[1].n == 50 && did[1].from == 4096 && !did[1].overlaps);
    cr_expect(did[2].n == 100 && did[2].from == v && did[2].to == w && did[2].overlaps);
    cr_expect_eq(did[2].stream, &streams[0]);
    cr_expect_eq(x.device.allocations, 1, "one buffer for both");
    cr_assert_eq(run(&x, 50, &streams[0], false), TILE_OK);
    cr_expect(x.device.allocations == 1 && did[1].to == v, "it is kept");
    cr_assert_eq(run(&x, 50, &streams[1], false), TILE_OK);
    cr_expect(x.device.allocations == 2 && did[1].to != v, "another stream has its own");
    cr_assert_eq(run(&x, 200, &streams[0], false), TILE_OK);
    cr_assert_eq(x.device.launches, 4);
    cr_expect(did[3].n == 200 && did[3].to == 8192 + 64 && !did[3].overlaps);
    close_plan(&x);
}

Test(plan_launch, an_empty_grid_is_nothing_to_overlap_with) {
    plan_fixture x;
    open_plan(&x);
    cr_assert_eq(run(&x, 0, NULL, false), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(x.device.launches, 0);
    close_plan(&x);
}

Test(plan_launch, what_is_captured_has_been_prepared) {
    plan_fixture x;
    open_plan(&x);
    x.device.capturing = true;
    cr_expect_eq(run(&x, 50, NULL, false), TILE_UNSUPPORTED);
    cr_expect(strstr(x.text.messages, "tile_kernel_prepare"), "%s", x.text.messages);
    cr_expect_eq(x.device.launches, 0);
    x.device.capturing = false;
    cr_assert_eq(run(&x, 50, NULL, true), TILE_OK);
    cr_expect(x.device.launches == 0 && x.device.reserved == 3 && x.device.allocations == 1);
    x.device.capturing = true;
    cr_expect_eq(run(&x, 50, NULL, false), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(x.device.launches, 3);
    close_plan(&x);
}

Test(plan_launch, nothing_happens_before_all_is_checked) {
    plan_fixture x;
    open_plan(&x);
    cr_expect_eq(run(&x, 1025, NULL, false), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@p: the view %x reaches 4100 bytes from the offset 0 of "
                                      "its buffer, where there are 4096: give a larger buffer"),
              "%s", x.text.messages);
    cr_expect_eq(x.device.launches, 0);
    x.y.bytes = 32; /* less than the offset */
    cr_expect_eq(run(&x, 50, NULL, false), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@p: argument %y begins past the end of its buffer"), "%s",
              x.text.messages);
    cr_expect_eq(x.device.launches, 0);
    x.x.address += 2;
    cr_expect_eq(run(&x, 50, NULL, false), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@p: argument %x is not aligned to its element type"), "%s",
              x.text.messages);
    cr_expect_eq(run(&x, INT64_C(1) << 40, NULL, false), TILE_INVALID);
    cr_expect_eq(tile_kernel_launch(x.plan, NULL, 0, NULL), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@p takes 4 arguments (at most 1024), not 0"));
    close_plan(&x);
}

Test(plan_launch, all_steps_are_timed) {
    plan_fixture x;
    double milliseconds;
    open_plan(&x);
    const tile_argument arguments[] = {
        {.integer = 50}, {.number = 2}, {.buffer = &x.x}, {.buffer = &x.y}};
    cr_assert_eq(tile_kernel_time(x.plan, arguments, 4, 1, 3, false, &milliseconds), TILE_OK, "%s",
                 x.text.messages);
    cr_expect_eq(milliseconds, 3);
    cr_expect_eq(x.device.launches, 4 * 3);
    close_plan(&x);
}

Test(plan_launch, a_plan_is_no_kernel) {
    plan_fixture x;
    tile_kernel_attributes attributes;
    double milliseconds;
    open_plan(&x);
    cr_expect_null(tile_kernel_abi(x.plan));
    cr_expect_eq(tile_kernel_ptx(x.plan)->size, 0);
    cr_expect_eq(tile_kernel_get_attributes(x.plan, &attributes), TILE_UNSUPPORTED);
    cr_expect_eq(tile_kernel_time(x.plan, NULL, 0, 1, 1, false, &milliseconds), TILE_INVALID);
    close_plan(&x);
}

/* Loops --------------------------------------------------------------------------------------- */

/* In each iteration one launch uses @h and the next one @g. */
static const char loop_text[] =
    "plan @p(%n: i32, %f: f32, %x: view<f32[%n]>, %y: ptr<f32>) {\n"
    "  %w = scratch [%n] : f32\n"
    "  %h = scratch [2, %n] : f32\n"
    "  %g = scratch [%n] : f32\n"
    "  launch @k(%n, %x, %w)\n"
    "  for %i = 1 to %n step 20 {\n"
    "    %from = subview %h[rem(%i, 2), 0], [%n]\n"
    "    %to = subview %h[rem(%i + 1, 2), %n / 2], [%n / 2]\n"
    "    launch @k(%i, %from, %to) {pdl}\n"
    "    launch @k(%i, %g, %g)\n"
    "  }\n"
    "}\n"
    "kernel @k(%n: i32, %x: ptr<f32>, %y: ptr<f32>) grid [%n] warps 1 { pdl_wait }\n";

Test(plan_launch, loops_repeat_their_steps) {
    plan_fixture x;
    open_plan(&x);
    tile_kernel_destroy(x.plan);
    tile_module *module = tile_module_parse(x.text.context, "loop", loop_text, strlen(loop_text));
    cr_assert(module, "%s", x.text.messages);
    cr_assert_eq(tile_kernel_create(&x.device.base, module, "p", NULL, 0, &x.plan), TILE_OK, "%s",
                 x.text.messages);
    const recorded *did = x.device.launched;
    x.device.capturing = true;
    cr_expect_eq(run(&x, 50, NULL, false), TILE_UNSUPPORTED);
    x.device.capturing = false;
    cr_assert_eq(run(&x, 50, NULL, true), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(x.device.reserved, 7);
    x.device.capturing = true;
    cr_assert_eq(run(&x, 50, NULL, false), TILE_OK, "%s", x.text.messages);
    cr_assert_eq(x.device.launches, 7);
    uint64_t w = did[0].to, h = did[1].from - 200, g = did[2].from;
    for (unsigned i = 0; i < 3; i++) { /* %i is 1, 21, 41 */
        const recorded *first = &did[1 + 2 * i], *second = first + 1;
        cr_expect(first->n == 20 * i + 1 && first->overlaps && !second->overlaps, "%u", i);
        cr_expect(first->from == h + 200 && first->to == h + 100 && second->to == g, "%u", i);
    }
    cr_expect_eq(w, h, "what is used only before the loop shares its bytes");
    cr_expect(h + 400 <= g || g + 200 <= h, "what the loop uses lives until its end");
    cr_assert_eq(run(&x, 1, NULL, false), TILE_OK, "%s", x.text.messages);
    cr_assert_eq(x.device.launches, 1, "no iteration");
    tile_module_destroy(module);
    close_plan(&x);
}

/* Other kernels that run instead -------------------------------------------------------------- */

static const char resident_text[] =
    "plan @p(%n: i32, %f: f32, %x: ptr<f32>, %y: ptr<f32>) {\n"
    "  launch @k(%n, %x, %y) {resident, otherwise = @j}\n"
    "}\n"
    "kernel @k(%n: i32, %x: ptr<f32>, %y: ptr<f32>) grid [%n] warps 1 { }\n"
    "kernel @j(%n: i32, %x: ptr<f32>, %y: ptr<f32>) grid [%n, 2] warps 1 { }\n";

Test(plan_launch, what_takes_the_place_of_a_kernel_is_made_when_it_does) {
    plan_fixture x;
    open_plan(&x);
    tile_kernel_destroy(x.plan);
    tile_module *module =
        tile_module_parse(x.text.context, "resident", resident_text, strlen(resident_text));
    x.device.prepared = 0;
    x.device.room = 2;
    cr_assert_eq(tile_kernel_create(&x.device.base, module, "p", NULL, 0, &x.plan), TILE_OK, "%s",
                 x.text.messages);
    cr_expect_eq(x.device.prepared, 1);
    cr_assert_eq(run(&x, 264, NULL, true), TILE_OK);
    cr_assert_eq(run(&x, 264, NULL, false), TILE_OK);
    cr_expect(x.device.prepared == 1 && x.device.launches == 1);
    x.device.capturing = true;
    cr_expect_eq(run(&x, 265, NULL, false), TILE_UNSUPPORTED);
    cr_expect(strstr(x.text.messages, "@j is not prepared for these arguments"), "%s",
              x.text.messages);
    cr_expect(x.device.prepared == 1 && x.device.launches == 0);
    x.device.capturing = false;
    cr_assert_eq(run(&x, 265, NULL, true), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(x.device.prepared, 2);
    x.device.capturing = true;
    cr_assert_eq(run(&x, 265, NULL, false), TILE_OK, "%s", x.text.messages);
    cr_expect(x.device.prepared == 2 && x.device.launches == 1);
    cr_expect_eq(x.device.launched[0].blocks, 530, "of @j");
    tile_module_destroy(module);
    close_plan(&x);
}

/* Points -------------------------------------------------------------------------------------- */

static const char tuned_text[] =
    "plan @p<by: int>(%n: i32, %f: f32, %x: ptr<f32>, %y: ptr<f32>) tune by in [2, 3, 5] {\n"
    "  launch @k<by = by>(%n * by, %x, %y)\n"
    "}\n"
    "kernel @k<by: int>(%n: i32, %x: ptr<f32>, %y: ptr<f32>) grid [%n / by] warps 1 { }\n";

Test(plan_launch, without_bindings_each_bucket_has_its_point) {
    plan_fixture x;
    const tile_binding five = {"by", "5"}, four = {"by", "4"};
    tile_kernel *bound;
    open_plan(&x);
    tile_kernel_destroy(x.plan);
    tile_module *module =
        tile_module_parse(x.text.context, "tuned", tuned_text, strlen(tuned_text));
    tile_device *device = &x.device.base;
    cr_assert_eq(tile_kernel_create(device, module, "p", NULL, 0, &x.plan), TILE_OK);
    const tile_argument arguments[] = {
        {.integer = 1000}, {.number = 0}, {.buffer = &x.x}, {.buffer = &x.y}};
    const recorded *did = x.device.launched;
    cr_assert_eq(run(&x, 1000, NULL, false), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(did[0].n, 2000, "the first point");
    cr_assert_eq(tile_kernel_set_point(x.plan, arguments, 4, &five, 1), TILE_OK);
    cr_assert_eq(run(&x, 1016, NULL, false), TILE_OK);
    cr_expect_eq(did[0].n, 5080, "the same bucket");
    cr_assert_eq(run(&x, 10, NULL, false), TILE_OK);
    cr_expect_eq(did[0].n, 20);
    cr_assert_eq(tile_kernel_create(device, module, "p", &four, 1, &bound), TILE_OK);
    cr_expect_eq(tile_kernel_set_point(bound, arguments, 4, &five, 1), TILE_INVALID);
    x.device.launches = 0;
    cr_assert_eq(tile_kernel_launch(bound, arguments, 4, NULL), TILE_OK);
    cr_expect_eq(did[0].n, 4000);
    tile_kernel_destroy(bound);
    tile_module_destroy(module);
    close_plan(&x);
}
