/* Preparation, tables, constants, and launches from several threads, on a fake device that only
 * records its requests. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "test/unit/device_fixture.h"

/* Preparing ----------------------------------------------------------------------------------- */

Test(launch, what_is_prepared_is_not_made_again) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    fill(arguments, buffer);
    arguments[N].integer = 33;
    cr_assert_eq(tile_kernel_prepare(kernel, arguments, COUNT, x), TILE_OK);
    cr_assert_eq(x->prepared, 2);
    cr_assert(x->reserved == 1 && x->launched == 0);
    cr_assert(x->last.plain_bytes > 0 && x->last.clean_bytes > 0 && x->last.stream == x);
    x->capturing = true;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, x), TILE_OK);
    cr_assert(x->prepared == 2 && x->launched == 1);
    arguments[N].integer = 34;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, x), TILE_UNSUPPORTED);
    cr_assert_eq(tile_kernel_prepare(kernel, arguments, COUNT, x), TILE_UNSUPPORTED);
    expect(x, "@k is not prepared for these arguments, and the stream is being captured: call "
              "tile_kernel_prepare with them before the capture begins");
    cr_assert(x->prepared == 2 && x->launched == 1);
    arguments[N].integer = 0; /* an empty grid */
    cr_assert_eq(tile_kernel_prepare(kernel, arguments, COUNT, x), TILE_OK);
    cr_assert_eq(x->reserved, 1);
    cr_assert_eq(tile_kernel_prepare(kernel, arguments, COUNT - 1, x), TILE_INVALID);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* Tables -------------------------------------------------------------------------------------- */

#define WALK \
    " {\n" \
    "  %x, %y = block_id\n" \
    "  %s = scratch [64] : view<i32[64]>\n" \
    "  %t = splat %x : tile<i32[1]>\n" \
    "  store %t, %s[%y]\n" \
    "}\n"
static const char walkers[] =
    "kernel @p(%m: i32, %n: i32, %w: i32, %f: f32) grid [%m, %n] warps 1\n"
    "    persistent balanced by block_id(0) * block_id(1) * %w" WALK
    "kernel @q(%m: i32, %n: i32, %w: i32) grid [%m, %n] warps 1\n"
    "    persistent balanced by block_id(0) * block_id(1) * %w" WALK;

static tile_kernel *walker(fake_device *x, const tile_module *module, const char *name) {
    tile_kernel *kernel;
    cr_assert_eq(tile_kernel_create(&x->base, module, name, NULL, 0, &kernel), TILE_OK, "%s",
                 x->text.messages);
    return kernel;
}

Test(launch, a_table_is_made_once_for_a_shape) {
    fake_device *x = open_device();
    x->base.num_sms = 4;
    tile_module *module = text_parse(&x->text, walkers);
    tile_kernel *p = walker(x, module, "p"), *q = walker(x, module, "q");
    tile_argument arguments[] = {{.integer = 2}, {.integer = 3}, {.integer = 1}, {.number = 1}};
    cr_assert_eq(tile_kernel_prepare(p, arguments, 4, x), TILE_OK, "%s", x->text.messages);
    cr_assert(x->allocated == 1 && x->written == 1 && x->launched == 0);
    x->capturing = true;
    arguments[3].number = 2; /* the cost does not depend on it */
    cr_assert_eq(tile_kernel_launch(p, arguments, 4, x), TILE_OK);
    cr_assert_eq(tile_kernel_launch(p, arguments, 4, x), TILE_OK);
    cr_assert(x->allocated == 1 && x->written == 1 && x->launched == 2);
    /* Offsets of the four blocks' tiles, then the tiles, numbered x + 2 * y. */
    static const int32_t dealt[] = {5, 7, 9, 10, 11, 0, 4, 1, 5, 2, 3, 0, 0};
    cr_assert_eq(x->last.tables[0].entries, 13);
    cr_assert_arr_eq((const int32_t *)(uintptr_t)x->last.tables[0].address, dealt, sizeof dealt);
    cr_assert_eq(tile_kernel_launch(q, arguments, 3, x), TILE_OK, "it is @q's as well");
    arguments[2].integer = -1; /* each value needs another table */
    cr_assert_eq(tile_kernel_launch(p, arguments, 4, x), TILE_UNSUPPORTED);
    expect(x, "@p is not prepared for these arguments, and the stream is being captured: call "
              "tile_kernel_prepare with them before the capture begins");
    arguments[2].integer = 1;
    arguments[1].integer = 4;
    cr_assert_eq(tile_kernel_prepare(p, arguments, 4, x), TILE_UNSUPPORTED);
    arguments[1].integer = 0; /* without blocks there is no table */
    cr_assert_eq(tile_kernel_launch(p, arguments, 4, x), TILE_OK);
    cr_assert(x->allocated == 1 && x->written == 1 && x->launched == 3);
    x->capturing = false;
    arguments[1].integer = 4;
    cr_assert_eq(tile_kernel_launch(p, arguments, 4, x), TILE_OK);
    arguments[2].integer = -1;
    cr_assert_eq(tile_kernel_launch(p, arguments, 4, x), TILE_OK);
    cr_assert(x->allocated == 3 && x->written == 3 && x->launched == 5);
    tile_kernel_destroy(p);
    tile_kernel_destroy(q);
    tile_module_destroy(module);
    tile_device_destroy(&x->base); /* checks that all memory was returned */
}

/* A plan prepares the tables of its kernels, and requests nothing further during capture. */
Test(launch, tables_of_a_plan) {
    fake_device *x = open_device();
    x->base.num_sms = 4;
    char text[2048];
    snprintf(text, sizeof text,
             "%splan @a(%%n: i32) {\n"
             "  launch @q(%%n, 3, 1)\n  launch @q(3, %%n, 1)\n  launch @q(%%n, 3, 1)\n}\n",
             walkers);
    tile_module *module = text_parse(&x->text, text);
    cr_assert(module, "%s", x->text.messages);
    tile_kernel *plan = walker(x, module, "a");
    const tile_argument argument = {.integer = 2}, other = {.integer = 5};
    cr_assert_eq(tile_kernel_prepare(plan, &argument, 1, x), TILE_OK, "%s", x->text.messages);
    cr_assert(x->written == 2 && x->launched == 0);
    x->capturing = true;
    cr_assert_eq(tile_kernel_launch(plan, &argument, 1, x), TILE_OK, "%s", x->text.messages);
    cr_assert(x->written == 2 && x->launched == 3);
    cr_assert_eq(tile_kernel_launch(plan, &other, 1, x), TILE_UNSUPPORTED);
    cr_assert(x->written == 2 && x->launched == 3, "no step runs if one is refused");
    tile_kernel_destroy(plan);
    tile_module_destroy(module);
    tile_device_destroy(&x->base);
}

/* Nothing is kept if a table could not be created. */
Test(launch, a_table_that_the_device_has_no_memory_for) {
    fake_device *x = open_device();
    x->base.num_sms = 4;
    tile_module *module = text_parse(&x->text, walkers);
    tile_kernel *kernel = walker(x, module, "q");
    const tile_argument arguments[] = {{.integer = 2}, {.integer = 3}, {.integer = 1}};
    x->next = TILE_FAILED;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, 3, x), TILE_FAILED);
    cr_assert(x->allocated == 0 && x->launched == 0);
    x->next = TILE_OK;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, 3, x), TILE_OK);
    cr_assert(x->allocated == 1 && x->launched == 1);
    tile_kernel_destroy(kernel);
    tile_module_destroy(module);
    tile_device_destroy(&x->base);
}

/* Constants ----------------------------------------------------------------------------------- */

static const char special[] =
    "kernel @s<block: int>(%n: i32 {const, divisible = 8}, %m: i32 {divisible = 8},\n"
    "    %x: ptr<f32> {divisible = 16}) tune block in [32, 64]\n"
    "    grid [ceildiv(%n, block), %m] warps 1 {\n"
    "  %g = view %x, [%n] : view<f32[?]>\n"
    "  %h = view %x, [%m] : view<f32[?]>\n"
    "}\n";

static tile_kernel *create_special(fake_device *x, const tile_binding *bindings, unsigned count) {
    tile_kernel *kernel;
    tile_module *module = text_parse(&x->text, special);
    cr_assert(module, "%s", x->text.messages);
    cr_assert_eq(tile_kernel_create(&x->base, module, "s", bindings, count, &kernel), TILE_OK, "%s",
                 x->text.messages);
    tile_module_destroy(module);
    return kernel;
}

static tile_status launch_special(tile_kernel *kernel, tile_buffer *buffer, int64_t n, int64_t m) {
    const tile_argument arguments[] = {{.integer = n}, {.integer = m}, {.buffer = buffer}};
    return tile_kernel_launch(kernel, arguments, 3, NULL);
}

/* Returns the value of the first condition of the variant that ran. */
static int64_t special_value(const fake_device *x) {
    const tile_abi *abi = x->last.variant->abi;
    const tile_condition *condition = tile_abi_condition_at(abi, tile_abi_variant(abi), 0);
    cr_assert(condition && condition->kind == TILE_CONDITION_value && condition->arg == 0);
    return condition->value;
}

Test(launch, each_value_of_a_constant_has_its_own_code) {
    fake_device *x = open_device();
    const tile_binding block = {"block", "32"};
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_kernel *kernel = create_special(x, &block, 1);
    cr_expect_eq(x->prepared, 1, "for no value");
    cr_expect_eq(launch_special(kernel, buffer, 100, 8), TILE_OK, "%s", x->text.messages);
    cr_expect(x->prepared == 2 && x->last.grid[0] == 4 && special_value(x) == 100);
    cr_expect_eq(launch_special(kernel, buffer, 100, 16), TILE_OK);
    cr_expect(x->prepared == 2 && special_value(x) == 100);
    cr_expect_eq(launch_special(kernel, buffer, 101, 8), TILE_OK);
    cr_expect(x->prepared == 3 && special_value(x) == 101);
    cr_expect_eq(launch_special(kernel, buffer, 100, 7), TILE_OK);
    cr_expect(x->prepared == 4 && special_value(x) == 100, "a variant of the same point");
    cr_expect_eq(tile_abi_arg_at(x->last.variant->abi, 1)->divisible, 1);
    x->capturing = true;
    cr_expect_eq(launch_special(kernel, buffer, 101, 8), TILE_OK);
    cr_expect_eq(launch_special(kernel, buffer, 102, 8), TILE_UNSUPPORTED);
    x->capturing = false;
    cr_expect_eq(launch_special(kernel, buffer, INT64_MAX, 8), TILE_INVALID);
    cr_expect_eq(x->prepared, 4);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* The last argument is a constant on which the order of tiles depends: keys must include all
 * arguments. */
Test(launch, a_constant_may_be_the_last_of_the_most_arguments) {
    enum { LAST = TILE_MAX_ARGUMENTS - 1 };
    fake_device *x = open_device();
    tile_argument arguments[TILE_MAX_ARGUMENTS] = {{.integer = 0}};
    char text[LAST * 16 + 200], *at = text + sprintf(text, "kernel @s(");
    for (int i = 0; i < LAST; i++) at += sprintf(at, "%%a%d: i32, ", i);
    sprintf(at, "%%c: i32 {const}) grid [3] warps 1 {\n"
                "  %%t = tile_schedule 0, [3, 1, 1] {cost = block_id(0) * %%c}\n}\n");
    tile_module *module = text_parse(&x->text, text);
    cr_assert(module, "%s", x->text.messages);
    tile_kernel *kernel;
    cr_assert_eq(tile_kernel_create(&x->base, module, "s", NULL, 0, &kernel), TILE_OK, "%s",
                 x->text.messages);
    for (int64_t value = 7; value <= 8; value++) {
        arguments[LAST].integer = value;
        cr_expect_eq(tile_kernel_launch(kernel, arguments, LAST + 1, NULL), TILE_OK, "%s",
                     x->text.messages);
        const tile_abi *abi = x->last.variant->abi;
        const tile_condition *condition = tile_abi_condition_at(abi, tile_abi_variant(abi), 0);
        cr_assert(condition && condition->kind == TILE_CONDITION_value);
        cr_expect(condition->arg == LAST && condition->value == value);
    }
    cr_expect_eq(x->prepared, 3, "for no value, 7 and 8");
    tile_kernel_destroy(kernel);
    tile_module_destroy(module);
    tile_device_destroy(&x->base);
}

Test(launch, a_bound_constant_is_checked) {
    fake_device *x = open_device();
    const tile_binding both[] = {{"n", "100"}, {"block", "32"}};
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_kernel *kernel = create_special(x, both, 2);
    cr_expect_eq(launch_special(kernel, buffer, 100, 8), TILE_OK, "%s", x->text.messages);
    cr_expect(x->prepared == 1 && special_value(x) == 100);
    cr_expect_eq(launch_special(kernel, buffer, 101, 8), TILE_INVALID);
    expect(x, "@s: argument %n must be 100, for which the kernel was compiled");
    cr_expect_eq(x->prepared, 1);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* Points are tuned by bucket; a point for one value of a constant applies only to that value. */
Test(launch, constants_and_points) {
    fake_device *x = open_device();
    const tile_binding large = {"block", "64"};
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_kernel *kernel = create_special(x, NULL, 0);
    const tile_argument arguments[] = {{.integer = 100}, {.integer = 18}, {.buffer = buffer}};
    cr_expect_eq(tile_kernel_set_point(kernel, arguments, 3, &large, 1), TILE_OK, "%s",
                 x->text.messages);
    cr_expect_eq(launch_special(kernel, buffer, 100, 17), TILE_OK);
    cr_expect(x->last.grid[0] == 2 && special_value(x) == 100);
    cr_expect_eq(launch_special(kernel, buffer, 99, 17), TILE_OK);
    cr_expect(x->last.grid[0] == 4 && special_value(x) == 99);
    cr_expect_eq(launch_special(kernel, buffer, 100, 99), TILE_OK);
    cr_expect(x->last.grid[0] == 4 && special_value(x) == 100, "another bucket of m");
    const tile_binding hole = {"block", NULL};
    cr_expect_eq(tile_kernel_set_point(kernel, arguments, 3, &hole, 1), TILE_INVALID);
    cr_expect_eq(tile_kernel_set_point(kernel, arguments, 3, NULL, 1), TILE_INVALID);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* Threads ------------------------------------------------------------------------------------- */

enum { THREADS = 8, LAUNCHES = 400 };

typedef struct worker {
    fake_device *x;
    tile_kernel *kernel;
    tile_buffer *buffer;
    unsigned seed, refused;
    pthread_t thread;
} worker;

/* Launches that need variants of all kinds; every fifth launch is invalid. */
static void *work(void *user) {
    worker *w = user;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        tile_argument arguments[COUNT];
        fill(arguments, w->buffer);
        arguments[N].integer = 1 + (i * 7 + w->seed) % 16;
        arguments[X].offset = 4 * ((i + w->seed) % 5);
        arguments[B].integer = i % 5 ? 0 : 1000;
        w->refused += tile_kernel_launch(w->kernel, arguments, COUNT, NULL) != TILE_OK;
    }
    return NULL;
}

typedef struct shape_worker {
    fake_device *x;
    tile_kernel *kernel;
    unsigned seed, wrong;
    pthread_t thread;
} shape_worker;

static void *launch_shapes(void *user) {
    shape_worker *w = user;
    for (unsigned i = 0; i < LAUNCHES; i++) {
        const tile_argument arguments[] = {{.integer = 1 + (i + w->seed) % 7},
                                           {.integer = 1 + (i * 3 + w->seed) % 5},
                                           {.integer = 1}};
        w->wrong += tile_kernel_launch(w->kernel, arguments, 3, NULL) != TILE_OK;
    }
    return NULL;
}

Test(launch, threads_share_tables) {
    fake_device *x = open_device();
    shape_worker workers[THREADS];
    x->base.num_sms = 4;
    tile_module *module = text_parse(&x->text, walkers);
    tile_kernel *kernel = walker(x, module, "q");
    x->shared = true;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (shape_worker){.x = x, .kernel = kernel, .seed = i};
        cr_assert_eq(pthread_create(&workers[i].thread, NULL, launch_shapes, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        cr_assert_eq(workers[i].wrong, 0);
    }
    cr_assert_eq(x->allocated, 7 * 5, "each table once");
    tile_kernel_destroy(kernel);
    tile_module_destroy(module);
    tile_device_destroy(&x->base);
}

/* All threads at once launch with values that no launch had before. */
static void *work_on_constants(void *user) {
    worker *w = user;
    for (unsigned i = 0; i < LAUNCHES; i++)
        w->refused +=
            launch_special(w->kernel, w->buffer, 100 + (i + w->seed) % 4, 8 - i % 2) != TILE_OK;
    return NULL;
}

Test(launch, threads_may_bring_constants) {
    fake_device *x = open_device();
    const tile_binding block = {"block", "32"};
    worker workers[THREADS];
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_kernel *kernel = create_special(x, &block, 1);
    x->shared = true;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.x = x, .kernel = kernel, .buffer = buffer, .seed = i};
        cr_assert_eq(pthread_create(&workers[i].thread, NULL, work_on_constants, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        cr_assert_eq(workers[i].refused, 0, "%s", x->text.messages);
    }
    cr_assert_eq(x->launched, THREADS * LAUNCHES);
    cr_assert_eq(x->prepared, 1 + 4 * 2, "each value once, with both variants");
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

Test(launch, threads_may_launch_at_once) {
    fake_device *x = open_device();
    worker workers[THREADS];
    tile_kernel *kernel = create_kernel(x, "32");
    tile_buffer *buffer = create_buffer(x, 1024);
    x->shared = true;
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker){.x = x, .kernel = kernel, .buffer = buffer, .seed = i};
        cr_assert_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        cr_assert_eq(workers[i].refused, LAUNCHES / 5);
    }
    cr_assert_eq(x->launched, THREADS * LAUNCHES * 4 / 5);
    cr_assert_eq(tile_context_error_count(x->text.context), THREADS * LAUNCHES / 5);
    cr_assert_eq(x->prepared, 4, "each variant once");
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}
