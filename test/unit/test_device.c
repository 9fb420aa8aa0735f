/* Common parts of all devices (buffers, variants, argument checks, launches), on a fake device that
 * only records its requests. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/device_fixture.h"

/* Buffers ------------------------------------------------------------------------------------- */

Test(device, buffers_keep_what_is_written) {
    fake_device *x = open_device();
    tile_buffer *a = create_buffer(x, 16), *b = create_buffer(x, 8), *none = create_buffer(x, 0);
    char data[16] = "0123456789abcde", back[16] = "";
    cr_assert_eq(tile_buffer_size(a), 16);
    cr_assert_eq(tile_buffer_size(none), 0);
    cr_assert_eq(tile_buffer_write(a, 0, data, 16), TILE_OK);
    cr_assert_eq(tile_buffer_write(a, 4, "xyz", 3), TILE_OK);
    cr_assert_eq(tile_buffer_read(a, 3, back, 5), TILE_OK);
    cr_assert_arr_eq(back, "3xyz7", 5);
    cr_assert_eq(tile_buffer_write(none, 0, NULL, 0), TILE_OK);
    cr_assert_eq(tile_buffer_read(a, 16, NULL, 0), TILE_OK);
    tile_buffer_destroy(a);
    tile_buffer_destroy(none);
    tile_buffer_destroy(b);
    tile_buffer_destroy(NULL);
    cr_assert_null(x->base.buffers);
    tile_device_destroy(&x->base);
}

Test(device, accesses_outside_a_buffer_are_refused) {
    fake_device *x = open_device();
    tile_buffer *a = create_buffer(x, 16);
    char data[32] = "";
    static const struct {
        size_t offset, bytes;
        const char *message;
    } cases[] = {
        {0, 17, "17 bytes at offset 0 are not inside a buffer of 16 bytes"},
        {16, 1, "1 bytes at offset 16 are not inside a buffer of 16 bytes"},
        {17, 0, "0 bytes at offset 17 are not inside a buffer of 16 bytes"},
        {SIZE_MAX, 2, "2 bytes at offset 18446744073709551615 are not inside a buffer of 16 bytes"},
        {2, SIZE_MAX, "18446744073709551615 bytes at offset 2 are not inside a buffer of 16 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_assert_eq(tile_buffer_write(a, cases[i].offset, data, cases[i].bytes), TILE_INVALID);
        expect(x, cases[i].message);
        cr_assert_eq(tile_buffer_read(a, cases[i].offset, data, cases[i].bytes), TILE_INVALID);
        expect(x, cases[i].message);
    }
    cr_assert_eq(x->text.errors, 10);
    tile_buffer_destroy(a);
    tile_device_destroy(&x->base);
}

Test(device, wrapped_memory_stays_the_callers) {
    fake_device *x = open_device();
    char memory[8] = "abcdefg";
    char back[3] = "";
    tile_buffer *buffer;
    cr_assert_eq(tile_buffer_wrap(&x->base, (uint64_t)(uintptr_t)memory, 8, &buffer), TILE_OK);
    cr_assert_eq(tile_buffer_read(buffer, 2, back, 2), TILE_OK);
    cr_assert_str_eq(back, "cd");
    tile_buffer_destroy(buffer); /* it would free stack memory */
    tile_device_destroy(&x->base);
}

Test(device, a_device_without_memory_gives_no_buffer) {
    fake_device *x = open_device();
    tile_buffer *buffer = (tile_buffer *)x;
    x->next = TILE_FAILED;
    cr_assert_eq(tile_buffer_create(&x->base, 4, &buffer), TILE_FAILED);
    cr_assert_null(buffer);
    cr_assert_null(x->base.buffers);
    tile_device_destroy(&x->base);
}

/* Kernels ------------------------------------------------------------------------------------- */

static void refuse_kernel(const char *name, const char *parameter, const char *value,
                          const char *word) {
    fake_device *x = open_device();
    const tile_binding binding = {parameter, value};
    tile_kernel *kernel = (tile_kernel *)x;
    cr_assert_eq(
        tile_kernel_create(&x->base, x->module, name, &binding, parameter != NULL, &kernel),
        TILE_INVALID);
    cr_assert_null(kernel);
    cr_assert_geq(x->text.errors, 1);
    cr_assert_not_null(strstr(x->text.messages, word), "%s", x->text.messages);
    tile_device_destroy(&x->base);
}

Test(device, kernels_that_cannot_be_made_are_refused) {
    refuse_kernel("nobody", NULL, NULL, "there is no kernel @nobody");
    refuse_kernel("k", "blok", "64", "blok");
    refuse_kernel("k", "block", "many", "many");
    refuse_kernel("needs", NULL, NULL, "rows");
    refuse_kernel("needs", "rows", "2", "rows > 3");
    refuse_kernel("inner", NULL, NULL,
                  "the extents must be computable from the kernel's arguments");
}

Test(device, a_kernel_that_does_not_load_leaves_nothing) {
    fake_device *x = open_device();
    tile_kernel *kernel = (tile_kernel *)x;
    x->next = TILE_FAILED;
    cr_assert_eq(tile_kernel_create(&x->base, x->module, "k", NULL, 0, &kernel), TILE_FAILED);
    cr_assert_null(kernel);
    cr_assert_eq(x->prepared, 1);
    tile_device_destroy(&x->base);
}

Test(device, a_kernel_outlives_its_module) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_module_destroy(x->module);
    x->module = NULL;
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    fill(arguments, buffer);
    arguments[N].integer = 33; /* another variant, cloned from the kernel's own module */
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_OK);
    cr_assert_eq(x->last.grid[0], 2);
    cr_assert_eq(tile_kernel_ptx(kernel)->size, 0);
    cr_assert_str_eq(tile_abi_entry(tile_kernel_abi(kernel)), "k");
    tile_kernel_destroy(kernel);
    tile_kernel_destroy(NULL);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

Test(device, attributes_need_a_device_that_has_them) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_kernel_attributes attributes;
    cr_assert_eq(tile_kernel_get_attributes(kernel, &attributes), TILE_UNSUPPORTED);
    expect(x, "device fake has no kernel attributes");
    tile_kernel_destroy(kernel);
    tile_device_destroy(&x->base);
}

/* Arguments ----------------------------------------------------------------------------------- */

Test(device, wrong_arguments_are_refused) {
    fake_device *x = open_device(), *y = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_buffer *ours = create_buffer(x, 1024), *theirs = create_buffer(y, 1024);
    const struct {
        unsigned at;
        tile_argument argument;
        const char *message; /* NULL: the argument is valid */
    } cases[] = {
        {N, {.integer = INT32_MAX - 7}, NULL},
        {N, {.integer = 1LL << 31}, "@k: argument %n does not fit its type"},
        {N, {.integer = -(1LL << 31) - 1}, "@k: argument %n does not fit its type"},
        {N, {.buffer = ours}, "@k: argument %n is a scalar, not a buffer"},
        {B, {.integer = 127}, NULL},
        {B, {.integer = 128}, "@k: argument %b does not fit its type"},
        {B, {.integer = -129}, "@k: argument %b does not fit its type"},
        {L, {.integer = INT64_MIN}, NULL},
        {L, {.integer = INT64_MAX}, NULL},
        {Q, {.integer = 0}, NULL},
        {Q, {.integer = 2}, "@k: argument %q does not fit its type"},
        {Q, {.integer = -1}, "@k: argument %q does not fit its type"},
        {F, {.number = 1e300}, NULL},
        {F, {.buffer = ours}, "@k: argument %f is a scalar, not a buffer"},
        {X, {.integer = 4096}, "@k: argument %x is a pointer and needs a buffer"},
        {X, {.buffer = theirs}, "@k: argument %x is a buffer of another device"},
        {X, {.buffer = ours, .offset = 1024}, NULL},
        {X, {.buffer = ours, .offset = 1028}, "@k: argument %x begins past the end of its buffer"},
        {X, {.buffer = ours, .offset = 4}, NULL},
        {X, {.buffer = ours, .offset = 6}, "@k: argument %x is not aligned to its element type"},
        {H, {.buffer = ours, .offset = 6}, NULL},
        {H, {.buffer = ours, .offset = 7}, "@k: argument %h is not aligned to its element type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_argument arguments[COUNT];
        double milliseconds;
        unsigned launched = x->launched, timed = x->timed;
        bool right = !cases[i].message;
        tile_status wanted = right ? TILE_OK : TILE_INVALID;
        fill(arguments, ours);
        arguments[cases[i].at] = cases[i].argument;
        cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), wanted, "case %zu", i);
        cr_assert_eq(tile_kernel_time(kernel, arguments, COUNT, 0, 0, false, &milliseconds),
                     wanted);
        cr_assert_eq(x->launched - launched, 2 * right);
        cr_assert_eq(x->timed - timed, right);
        if (!right) expect(x, cases[i].message);
    }
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(ours);
    tile_buffer_destroy(theirs);
    tile_device_destroy(&y->base);
    tile_device_destroy(&x->base);
}

Test(device, the_number_of_arguments_is_checked) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_argument arguments[COUNT + 1] = {{0}};
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT - 1, NULL), TILE_INVALID);
    cr_assert_not_null(strstr(x->text.messages, "@k takes 7 arguments"), "%s", x->text.messages);
    cr_assert_not_null(strstr(x->text.messages, "not 6"), "%s", x->text.messages);
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT + 1, NULL), TILE_INVALID);
    cr_assert_not_null(strstr(x->text.messages, "not 8"), "%s", x->text.messages);
    cr_assert_eq(tile_kernel_launch(kernel, NULL, 0, NULL), TILE_INVALID);
    cr_assert_eq(x->launched, 0);
    tile_kernel_destroy(kernel);
    tile_device_destroy(&x->base);
}

/* Launches ------------------------------------------------------------------------------------ */

Test(device, a_launch_has_grid_scratch_stream_and_arguments) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "64");
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    double milliseconds;
    int stream;
    x->seconds[2] = 1.5e-3;
    fill(arguments, buffer);
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, &stream), TILE_OK);
    cr_assert_eq(x->last.stream, &stream);
    cr_assert_eq(x->last.argument_count, COUNT);
    cr_assert_eq(x->last_argument.integer, 104);
    cr_assert_eq(x->last.grid[0], 2);
    cr_assert_eq(x->last.grid[1], 3);
    cr_assert_eq(x->last.grid[2], 1);
    /* Sizes are rounded up by less than 256 bytes. */
    cr_assert(x->last.plain_bytes >= 4 * 104 && x->last.plain_bytes < 4 * 104 + 256);
    cr_assert(x->last.clean_bytes >= 12 * 104 && x->last.clean_bytes < 12 * 104 + 256);
    cr_assert_eq(tile_kernel_time(kernel, arguments, COUNT, 2, 0, true, &milliseconds), TILE_OK);
    cr_assert_eq(x->timed, 3, "two to warm up, and a median of nothing is not one");
    cr_assert_eq(x->flushed, TILE_FLUSH_DIRTY);
    cr_assert_eq(milliseconds, 1.5);
    x->next = TILE_FAULT;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_FAULT);
    cr_assert_eq(tile_kernel_time(kernel, arguments, COUNT, 2, 3, true, &milliseconds), TILE_FAULT);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

Test(device, an_empty_grid_is_no_launch) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    double milliseconds = -1;
    fill(arguments, buffer);
    arguments[N].integer = 0;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_OK);
    cr_assert_eq(tile_kernel_time(kernel, arguments, COUNT, 1, 1, false, &milliseconds), TILE_OK);
    cr_assert_eq(milliseconds, 0);
    cr_assert_eq(x->launched + x->timed, 0);
    arguments[N].integer = -40;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_INVALID);
    cr_assert_not_null(
        strstr(x->text.messages, "@k: the grid is invalid for these arguments: dim 0 is"), "%s",
        x->text.messages);
    cr_assert_eq(x->launched, 0);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* Variants ------------------------------------------------------------------------------------ */

static uint64_t divisor(const fake_device *x, unsigned argument) {
    return tile_abi_arg_at(x->last.variant->abi, argument)->divisible;
}

Test(device, variants_assume_what_the_arguments_allow) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_buffer *buffer = create_buffer(x, 1024);
    static const struct {
        int64_t n;
        size_t offset;
        int64_t l;
        uint64_t n_divisor, x_divisor, l_divisor;
        unsigned variants; /* compiled so far */
    } cases[] = {
        {104, 0, 4, 8, 16, 4, 1},  /* everything that is declared */
        {64, 32, -8, 8, 16, 4, 1}, /* more than that: same variant */
        {100, 0, 4, 4, 16, 1, 2},  /* 16-byte accesses need no more */
        {104, 0, 3, 4, 16, 1, 2},  /* no view depends on l: only the first variant assumes it */
        {33, 4, 1, 1, 4, 1, 3},    /* nothing but the alignment of f32 */
        {35, 12, -3, 1, 4, 1, 3},  /* same */
        {104, 8, INT64_MIN, 2, 8, 1, 4}, /* 8 bytes */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_argument arguments[COUNT];
        fill(arguments, buffer);
        arguments[N].integer = cases[i].n;
        arguments[X].offset = cases[i].offset;
        arguments[H].offset = 2; /* declares nothing, so it never selects a variant */
        arguments[L].integer = cases[i].l;
        cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_OK, "%s",
                     x->text.messages);
        cr_assert_eq(x->prepared, cases[i].variants, "case %zu: %u variants", i, x->prepared);
        cr_assert_eq(divisor(x, N), cases[i].n_divisor, "case %zu", i);
        cr_assert_eq(divisor(x, X), cases[i].x_divisor, "case %zu", i);
        cr_assert_eq(divisor(x, L), cases[i].l_divisor, "case %zu", i);
        cr_assert_eq(divisor(x, H), 1);
    }
    /* The caller sees the interface of the declared variant. */
    cr_assert_eq(tile_abi_arg_at(tile_kernel_abi(kernel), N)->divisible, 8);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

Test(device, a_variant_that_fails_is_not_kept) {
    fake_device *x = open_device();
    tile_kernel *kernel = create_kernel(x, "32");
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    fill(arguments, buffer);
    arguments[N].integer = 33;
    x->next = TILE_FAILED;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_FAILED);
    cr_assert_eq(x->launched, 0);
    cr_assert_eq(x->discarded, 1);
    x->next = TILE_OK;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_OK);
    cr_assert_eq(x->prepared, 3);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* The CPU device ------------------------------------------------------------------------------ */

/* Runs the kernel on the CPU device: with the declared divisors, with none, and with an argument
 * that declares more elements than its buffer has. */
Test(device, the_cpu_runs_each_variant) {
    static const char text[] =
        "kernel @add<block: int = 64>(%n: i32 {divisible = 8}, %x: ptr<f32> {divisible = 16},\n"
        "    %z: ptr<f32> {divisible = 16}) grid [ceildiv(%n, block)] warps 1 {\n"
        "  %b, %by, %bz = block_id : i32\n"
        "  %gx = view %x, [%n] : view<f32[?]>\n"
        "  %gz = view %z, [%n] : view<f32[?]>\n"
        "  %t = load %gx[%b * block] : tile<f32[block]>\n"
        "  %s = add %t, 1.0 : tile<f32[block]>\n"
        "  store %s, %gz[%b * block]\n"
        "}\n";
    static const struct {
        int64_t n;
        size_t skip; /* elements of x */
        tile_status status;
    } cases[] = {{96, 0, TILE_OK}, {77, 1, TILE_OK}, {0, 0, TILE_OK}, {96, 8, TILE_FAULT}};
    for (unsigned level = 2; level <= 3; level++) {
        text_fixture x;
        tile_device *device;
        tile_kernel *kernel;
        tile_buffer *from, *to;
        const tile_device_options options = {.size = sizeof options, .level = level};
        text_open(&x);
        tile_module *module = text_parse(&x, text);
        cr_assert_eq(tile_device_create_cpu(x.context, &options, &device), TILE_OK);
        cr_assert_eq(tile_kernel_create(device, module, "add", NULL, 0, &kernel), TILE_OK, "%s",
                     x.messages);
        cr_assert_eq(tile_buffer_create(device, 4 * 100, &from), TILE_OK);
        cr_assert_eq(tile_buffer_create(device, 4 * 100, &to), TILE_OK);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
            float numbers[100], sums[100];
            for (int i = 0; i < 100; i++) numbers[i] = (float)i;
            cr_assert_eq(tile_buffer_write(from, 0, numbers, sizeof numbers), TILE_OK);
            cr_assert_eq(tile_buffer_write(to, 0, numbers, sizeof numbers), TILE_OK);
            const tile_argument arguments[] = {{.integer = cases[c].n},
                                               {.buffer = from, .offset = 4 * cases[c].skip},
                                               {.buffer = to}};
            cr_assert_eq(tile_kernel_launch(kernel, arguments, 3, NULL), cases[c].status,
                         "level %u, case %zu: %s", level, c, x.messages);
            cr_assert_eq(tile_buffer_read(to, 0, sums, sizeof sums), TILE_OK);
            for (int i = 0; i < 100 && cases[c].status == TILE_OK; i++)
                cr_assert_eq(sums[i], numbers[i] + (i < cases[c].n ? (float)cases[c].skip + 1 : 0),
                             "level %u, case %zu, element %d", level, c, i);
        }
        cr_assert_eq(x.errors, 1, "%s", x.messages);
        tile_kernel_destroy(kernel);
        tile_buffer_destroy(from);
        tile_buffer_destroy(to);
        tile_device_destroy(device);
        tile_module_destroy(module);
        text_close(&x);
    }
}

/* A caller that was compiled with an older header passes a smaller structure. */
Test(device, options_are_read_up_to_their_size) {
    text_fixture x;
    tile_device *device;
    tile_device_options options = {.size = offsetof(tile_device_options, level), .level = 7};
    text_open(&x);
    cr_assert_eq(tile_device_create_cpu(x.context, &options, &device), TILE_OK);
    tile_device_destroy(device);
    options.size = sizeof options;
    cr_assert_eq(tile_device_create_cpu(x.context, &options, &device), TILE_INVALID);
    text_close(&x);
}
