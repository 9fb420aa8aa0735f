/* Views as arguments: built by calls, launched with strides of every sign at both levels, and
 * refused launches. */
#include <stdlib.h>

#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/device.h"

enum { ROWS = 11, COLUMNS = 21, BUFFER = 4096 };

static const char mover[] = "kernel @k(%m: i32, %n: i32, %s: i32, %t: i64,\n"
                            "    %x: view<f32[%m, %n], strides [%s, %t]>, %y: view<f32[%m, %n]>)\n"
                            "    grid [ceildiv(%m, 8), ceildiv(%n, 16)] warps 2 {\n"
                            "  %i, %j, %z = block_id : i32\n"
                            "  %v = load %x[%i * 8, %j * 16] : tile<f32[8, 16]>\n"
                            "  store %v, %y[%i * 8, %j * 16]\n"
                            "}\n";

typedef struct fixture {
    text_fixture text;
    tile_device *device;
    tile_kernel *kernel;
    tile_buffer *x, *y;
} fixture;

static void open_kernel(fixture *f, tile_module *module, unsigned level, size_t bytes) {
    tile_device_options options = {.size = sizeof options, .level = level};
    float data[BUFFER];
    for (int i = 0; i < BUFFER; i++) data[i] = (float)i;
    cr_assert(module, "%s", f->text.messages);
    cr_assert_eq(tile_device_create_cpu(f->text.context, &options, &f->device), TILE_OK);
    cr_assert_eq(tile_kernel_create(f->device, module, "k", NULL, 0, &f->kernel), TILE_OK, "%s",
                 f->text.messages);
    tile_module_destroy(module);
    cr_assert_eq(tile_buffer_create(f->device, bytes, &f->x), TILE_OK);
    cr_assert_eq(tile_buffer_create(f->device, ROWS * COLUMNS * sizeof(float), &f->y), TILE_OK);
    cr_assert_eq(tile_buffer_write(f->x, 0, data, bytes < sizeof data ? bytes : sizeof data),
                 TILE_OK);
}

static void open_text(fixture *f, unsigned level, size_t bytes) {
    text_open(&f->text);
    open_kernel(f, text_parse(&f->text, mover), level, bytes);
}

static void close(fixture *f) {
    tile_buffer_destroy(f->x);
    tile_buffer_destroy(f->y);
    tile_kernel_destroy(f->kernel);
    tile_device_destroy(f->device);
    text_close(&f->text);
}

static tile_status launch(const fixture *f, int64_t m, int64_t n, int64_t s, int64_t t,
                          size_t offset) {
    const tile_argument arguments[] = {{.integer = m},
                                       {.integer = n},
                                       {.integer = s},
                                       {.integer = t},
                                       {.buffer = f->x, .offset = offset * sizeof(float)},
                                       {.buffer = f->y}};
    return tile_kernel_launch(f->kernel, arguments, 6, NULL);
}

/* Strides, and the minimum position of the first element; 0 repeats elements, negative strides go
 * backwards. */
static const struct {
    int64_t s, t, first, reach;
} shapes[] = {
    {COLUMNS, 1, 0, ROWS *COLUMNS},
    {1, ROWS, 0, ROWS *COLUMNS},
    {24, 1, 0, 10 * 24 + COLUMNS},
    {0, 1, 0, COLUMNS},
    {1, 0, 0, ROWS},
    {0, 0, 0, 1},
    {-COLUMNS, 1, 10 * COLUMNS, ROWS *COLUMNS},
    {COLUMNS, -1, COLUMNS - 1, ROWS *COLUMNS},
    {-24, -1, 10 * 24 + 20, 10 * 24 + COLUMNS},
    {-4, 8, 40, 40 + 20 * 8 + 1},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_moved(fixture *f, unsigned i, size_t offset) {
    float y[ROWS * COLUMNS];
    cr_assert_eq(launch(f, ROWS, COLUMNS, shapes[i].s, shapes[i].t, offset), TILE_OK,
                 "shape %u, offset %zu: %s", i, offset, f->text.messages);
    cr_assert_eq(tile_buffer_read(f->y, 0, y, sizeof y), TILE_OK);
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++)
            cr_assert_eq(y[r * COLUMNS + c],
                         (float)((int64_t)offset + r * shapes[i].s + c * shapes[i].t),
                         "shape %u, offset %zu: %d, %d", i, offset, r, c);
}

/* At an aligned address, and at three addresses that rule out wide accesses. */
static void move_all(fixture *f) {
    for (unsigned i = 0; i < SHAPES; i++)
        for (size_t shift = 0; shift < 4; shift++)
            check_moved(f, i, ((size_t)shapes[i].first + 3) / 4 * 4 + shift);
    close(f);
}

Test(view_args, strides_at_level_2) {
    fixture f;
    open_text(&f, 2, BUFFER * sizeof(float));
    move_all(&f);
}

Test(view_args, strides_at_level_3) {
    fixture f;
    open_text(&f, 3, BUFFER * sizeof(float));
    move_all(&f);
}

/* Builds the same kernel by calls. */
static tile_module *build(tile_context *context) {
    tile_module *module = tile_module_create(context);
    tile_function *f = tile_function_create(module, TILE_KERNEL, "k", (tile_loc){0, 0, 0});
    const tile_type *i32 = tile_type_scalar(context, TILE_i32);
    const tile_type *f32 = tile_type_scalar(context, TILE_f32);
    tile_function_add_arg(f, "m", i32);
    tile_function_add_arg(f, "n", i32);
    tile_function_add_arg(f, "s", i32);
    tile_function_add_arg(f, "t", tile_type_scalar(context, TILE_i64));
    const tile_expr *extents[] = {tile_expr_arg(context, 0), tile_expr_arg(context, 1)};
    const tile_expr *strides[] = {tile_expr_arg(context, 2), tile_expr_arg(context, 3)};
    tile_value x = tile_function_add_view_arg(f, "x", f32, 2, extents, strides);
    tile_value y = tile_function_add_view_arg(f, "y", f32, 2, extents, NULL);
    const tile_expr *grid[] = {
        tile_expr_op(context, TILE_OP_ceildiv, extents[0], tile_expr_int(context, 8), NULL),
        tile_expr_op(context, TILE_OP_ceildiv, extents[1], tile_expr_int(context, 16), NULL)};
    tile_function_set_grid(f, 2, grid);
    tile_function_set_warps(f, tile_expr_int(context, 2));
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_op id = tile_build_op(&b, TILE_OP_block_id, NULL, 0, NULL);
    const tile_value at[] = {tile_build_mul(&b, tile_op_result(f, id, 0), tile_build_int(&b, 8)),
                             tile_build_mul(&b, tile_op_result(f, id, 1), tile_build_int(&b, 16))};
    const int64_t dims[] = {8, 16};
    tile_value v =
        tile_build_load(&b, x, at, 2, (tile_value){0}, tile_type_tile(context, TILE_f32, 2, dims));
    tile_build_store(&b, v, y, at, 2, (tile_value){0});
    return module;
}

Test(view_args, built_by_calls) {
    fixture f;
    text_open(&f.text);
    open_kernel(&f, build(f.text.context), 3, BUFFER * sizeof(float));
    move_all(&f);
}

static void append(const char *text, size_t length, void *user) {
    strncat(user, text, length);
}

Test(view_args, calls_print_what_the_text_says) {
    char built[2048] = "", parsed[2048] = "";
    text_fixture text;
    text_open(&text);
    tile_module *a = build(text.context), *b = text_parse(&text, mover);
    tile_module_print(a, append, built);
    tile_module_print(b, append, parsed);
    cr_expect(strstr(parsed, "%y: view<f32[%m, %n]>"), "%s", parsed);
    char *head = strstr(built, "{\n");
    cr_assert(head);
    cr_expect_eq(strncmp(built, parsed, (size_t)(head - built)), 0, "%s\n%s", built, parsed);
    tile_module_destroy(a);
    tile_module_destroy(b);
    text_close(&text);
}

Test(view_args, calls_that_make_none) {
    text_fixture text;
    text_open(&text);
    tile_module *module = tile_module_create(text.context);
    tile_function *f = tile_function_create(module, TILE_KERNEL, "k", (tile_loc){0, 0, 0});
    const tile_type *f32 = tile_type_scalar(text.context, TILE_f32);
    const tile_expr *extents[TILE_MAX_RANK + 1] = {tile_expr_int(text.context, 4), NULL};
    cr_expect_eq(tile_function_add_view_arg(NULL, "x", f32, 1, extents, NULL).id, 0);
    cr_expect_eq(tile_function_add_view_arg(f, "x", NULL, 1, extents, NULL).id, 0);
    cr_expect_eq(tile_function_add_view_arg(f, "x", f32, 0, extents, NULL).id, 0);
    cr_expect_eq(tile_function_add_view_arg(f, "x", f32, 1, NULL, NULL).id, 0);
    cr_expect_eq(tile_function_add_view_arg(f, "x", f32, TILE_MAX_RANK + 1, extents, NULL).id, 0);
    cr_expect_eq(tile_function_arg_count(f), 0);
    tile_function_add_view_arg(f, "x", f32, 2, extents, NULL);
    cr_expect_eq(tile_function_verify(f), TILE_INVALID);
    cr_expect(strstr(text.messages,
                     "the extent of dim 1 of the view %x may depend on parameters and "
                     "integer arguments before it only"),
              "%s", text.messages);
    extents[1] = tile_expr_arg(text.context, 1); /* refers to itself */
    tile_function_add_view_arg(f, "y", f32, 2, extents, NULL);
    cr_expect_eq(tile_function_verify(f), TILE_INVALID);
    cr_expect(strstr(text.messages, "the extent of dim 1 of the view %y may depend"), "%s",
              text.messages);
    extents[1] = tile_expr_num_sms(text.context);
    tile_function_add_view_arg(f, "z", f32, 2, extents, NULL);
    cr_expect_eq(tile_function_verify(f), TILE_INVALID);
    cr_expect(strstr(text.messages, "the extent of dim 1 of the view %z may depend"), "%s",
              text.messages);
    cr_expect_null(tile_function_arg_extent(f, 0, 2));
    cr_expect_null(tile_function_arg_stride(f, 9, 0));
    tile_module_destroy(module);
    text_close(&text);
}

/* Refused launches ----------------------------------------------------------------------------- */

static void expect(fixture *f, const char *message) {
    cr_expect(strstr(f->text.messages, message), "wanted '%s', have:\n%s", message,
              f->text.messages);
}

/* With exactly enough memory, and with one byte less at either end. */
Test(view_args, sizes_to_the_byte) {
    for (unsigned i = 0; i < SHAPES; i++) {
        fixture f;
        size_t first = (size_t)shapes[i].first, bytes = (size_t)shapes[i].reach * sizeof(float);
        open_text(&f, 3, bytes);
        check_moved(&f, i, first);
        if (first) {
            cr_expect_eq(launch(&f, ROWS, COLUMNS, shapes[i].s, shapes[i].t, first - 1),
                         TILE_INVALID);
            expect(&f, "bytes before the offset");
        }
        close(&f);
        open_text(&f, 3, bytes - 1);
        cr_expect_eq(launch(&f, ROWS, COLUMNS, shapes[i].s, shapes[i].t, first), TILE_INVALID);
        char wanted[128];
        snprintf(
            wanted, sizeof wanted,
            "@k: the view %%x reaches %zu bytes from the offset %zu of its buffer, where there "
            "are %zu: give a larger buffer",
            bytes - first * sizeof(float), first * sizeof(float),
            bytes - 1 - first * sizeof(float));
        expect(&f, wanted);
        close(&f);
    }
}

Test(view_args, empty_ones_need_nothing) {
    fixture f;
    open_text(&f, 3, 4);
    cr_expect_eq(launch(&f, 0, 5, 1 << 20, 1 << 20, 0), TILE_OK, "%s", f.text.messages);
    cr_expect_eq(launch(&f, 5, 0, INT32_MIN, INT64_MIN, 1), TILE_OK, "%s", f.text.messages);
    close(&f);
}

Test(view_args, what_no_memory_holds) {
    fixture f;
    open_text(&f, 2, 64);
    cr_expect_eq(launch(&f, -1, 5, 5, 1, 0), TILE_INVALID);
    expect(&f, "@k: the view %x has the extent %m = -1, which must be from 0 to 2^31 - 1");
    static const struct {
        int64_t m, n, s, t;
    } cases[] = {{5, 5, 5, INT64_MAX},     {5, 5, 5, INT64_MIN},     {2, 2, 1, INT64_MAX},
                 {1, 3, 1, INT64_MAX / 2}, {1, 2, 0, INT64_MAX / 4}, {1, 2, 0, INT64_MIN / 4 - 1}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t length = f.text.length;
        cr_expect_eq(launch(&f, cases[i].m, cases[i].n, cases[i].s, cases[i].t, 0), TILE_INVALID);
        cr_expect(strstr(f.text.messages + length, "reaches over more than 2^63 bytes"), "%u: %s",
                  i, f.text.messages + length);
    }
    close(&f);
}

/* The default strides of a view are products of its extents. */
Test(view_args, extents_that_multiply_beyond_64_bits) {
    fixture f;
    text_open(&f.text);
    open_kernel(&f,
                text_parse(&f.text,
                           "kernel @k(%n: i32, %d: i32, %x: view<f32[%n, %n, %n, %n / %d]>,\n"
                           "    %y: view<i8[%n + 1]>) grid [1] warps 1 {\n}\n"),
                3, 64);
    tile_argument arguments[] = {
        {.integer = 1 << 16}, {.integer = 1}, {.buffer = f.x}, {.buffer = f.y}};
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 4, NULL), TILE_INVALID);
    expect(&f, "the view %x reaches over more than 2^63 bytes");
    arguments[1].integer = 0;
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 4, NULL), TILE_INVALID);
    expect(&f, "the view %x has no extent 4: '%n / %d' divides by zero");
    arguments[1].integer = INT32_MAX;
    arguments[0].integer = INT32_MAX; /* the other view has one more */
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 4, NULL), TILE_INVALID);
    arguments[0].integer = 2;
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 4, NULL), TILE_OK, "%s", f.text.messages);
    close(&f);
}

Test(view_args, buffers_are_checked_as_those_of_pointers) {
    fixture f;
    open_text(&f, 3, 64);
    tile_argument arguments[] = {{.integer = 1},
                                 {.integer = 1},
                                 {.integer = 1},
                                 {.integer = 1},
                                 {.buffer = f.x, .offset = 2},
                                 {.buffer = f.y}};
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 6, NULL), TILE_INVALID);
    expect(&f, "argument %x is not aligned to its element type");
    arguments[4] = (tile_argument){.integer = 3};
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 6, NULL), TILE_INVALID);
    expect(&f, "argument %x is a view and needs a buffer");
    arguments[4] = (tile_argument){.buffer = f.x, .offset = 65};
    cr_expect_eq(tile_kernel_launch(f.kernel, arguments, 6, NULL), TILE_INVALID);
    expect(&f, "argument %x begins past the end of its buffer");
    close(&f);
}

/* Threads use the pointer, in a lowered kernel and in one that is written at level 3. */
static const char head[] =
    "kernel @k(%n: i32, %x: view<f32[%n], strides [-1]>, %y: view<f32[%n]>) grid [1] warps 1 ";
static const char threads[] = "{\n"
                              "  %t = thread_id\n"
                              "  %p = base %x\n"
                              "  %q = base %y\n"
                              "  %v = ld_global %p[0 - %t], %t < %n : f32\n"
                              "  st_global %v + 1.0, %q[%t], %t < %n\n"
                              "}\n";

static void check_threads(const char *clause) {
    enum { N = 20 };
    fixture f;
    float y[N];
    char kernel[sizeof head + sizeof threads + 16] = "";
    text_open(&f.text);
    strcat(strcat(strcat(kernel, head), clause), threads);
    open_kernel(&f, text_parse(&f.text, kernel), 3, N * sizeof(float));
    const tile_argument arguments[] = {
        {.integer = N}, {.buffer = f.x, .offset = (N - 1) * sizeof(float)}, {.buffer = f.y}};
    cr_assert_eq(tile_kernel_launch(f.kernel, arguments, 3, NULL), TILE_OK, "%s", f.text.messages);
    cr_assert_eq(tile_buffer_read(f.y, 0, y, sizeof y), TILE_OK);
    for (int i = 0; i < N; i++) cr_expect_eq(y[i], (float)(N - i), "%d", i);
    close(&f);
}

Test(view_args, threads) {
    check_threads("");
    check_threads("level 3 ");
}

/* A view of an argument's pointer, and one of a parameter. */
Test(view_args, views_of_views) {
    enum { N = 64 };
    for (unsigned level = 2; level <= 3; level++) {
        fixture f;
        float y[N];
        text_open(&f.text);
        open_kernel(&f,
                    text_parse(&f.text,
                               "kernel @k<n: int = 8>(%x: view<f32[n, n]>, %y: view<f32[n * n]>)\n"
                               "    grid [n] warps 1 {\n"
                               "  %b = block_id\n"
                               "  %g = view base(%x), [n, n], [1, n]\n"
                               "  %t = load %g[%b, 0] : tile<f32[8]>\n"
                               "  store %t, %y[%b * n]\n}\n"),
                    level, N * sizeof(float));
        const tile_argument arguments[] = {{.buffer = f.x}, {.buffer = f.y}};
        cr_assert_eq(tile_kernel_launch(f.kernel, arguments, 2, NULL), TILE_OK, "%s",
                     f.text.messages);
        cr_assert_eq(tile_buffer_read(f.y, 0, y, sizeof y), TILE_OK);
        for (int i = 0; i < N; i++) cr_expect_eq(y[i], (float)(i % 8 * 8 + i / 8), "%d", i);
        close(&f);
    }
}

/* y = x, a view of `opcode of %n, 3, %n, and then & 15` elements. */
static tile_module *build_expression(tile_context *context, tile_opcode opcode) {
    const tile_expr *number = tile_expr_arg(context, 0), *three = tile_expr_int(context, 3);
    unsigned arity = tile_op_get_info(opcode)->operand_count;
    const tile_expr *expr =
        tile_expr_op(context, opcode, number, arity > 1 ? three : NULL, arity > 2 ? number : NULL);
    expr = tile_expr_op(context, TILE_OP_and, expr, tile_expr_int(context, 15), NULL);
    const tile_expr *sixteen = tile_expr_int(context, 16), *one = tile_expr_int(context, 1);
    const tile_type *f32 = tile_type_scalar(context, TILE_f32);
    tile_module *module = tile_module_create(context);
    tile_function *k = tile_function_create(module, TILE_KERNEL, "k", (tile_loc){0, 0, 0});
    tile_function_add_arg(k, "n", tile_type_scalar(context, TILE_i64));
    tile_value from = tile_function_add_view_arg(k, "x", f32, 1, &expr, NULL);
    tile_value to = tile_function_add_view_arg(k, "y", f32, 1, &sixteen, NULL);
    tile_function_set_grid(k, 1, &one);
    tile_function_set_warps(k, one);
    tile_builder b = tile_builder_at_end(k, tile_function_body(k));
    const tile_value zero = tile_build_int(&b, 0);
    const int64_t dims[] = {16};
    tile_value v = tile_build_load(&b, from, &zero, 1, (tile_value){0},
                                   tile_type_tile(context, TILE_f32, 1, dims));
    tile_build_store(&b, v, to, &zero, 1, (tile_value){0});
    return module;
}

/* The launch, level 2 and the threads compute the same extent. */
static void check_expression(tile_opcode opcode, int64_t n, unsigned level) {
    fixture f;
    float y[16];
    text_open(&f.text);
    tile_module *module = build_expression(f.text.context, opcode);
    open_kernel(&f, module, level, 64 * sizeof(float));
    const tile_argument arguments[] = {
        {.integer = n}, {.buffer = f.x, .offset = 16 * sizeof(float)}, {.buffer = f.y}};
    cr_assert_eq(tile_kernel_launch(f.kernel, arguments, 3, NULL), TILE_OK, "%s", f.text.messages);
    cr_assert_eq(tile_buffer_read(f.y, 0, y, sizeof y), TILE_OK);
    int64_t extent;
    cr_assert(tile_fold_int(opcode, n, 3, n, &extent));
    for (int i = 0; i < 16; i++)
        cr_expect_eq(y[i], i < (extent & 15) ? (float)(16 + i) : 0, "%s of %lld, element %d",
                     tile_op_get_info(opcode)->name, (long long)n, i);
    close(&f);
}

static void check_emits(tile_opcode opcode) {
    text_fixture text;
    text_open(&text);
    tile_module *module = build_expression(text.context, opcode);
    tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_90a")};
    tile_blob ptx;
    cr_expect_eq(tile_compile(module, "k", NULL, 0, &options, &ptx, NULL), TILE_OK, "%s: %s",
                 tile_op_get_info(opcode)->name, text.messages);
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
    text_close(&text);
}

Test(view_args, every_operation_of_an_expression) {
    static const int64_t numbers[] = {0, 1, 3, 7, -7, 1000, (INT64_C(1) << 40) + 5, INT64_MIN};
    unsigned operations = 0;
    for (unsigned opcode = 1; opcode < TILE_OPCODE_LIMIT; opcode++) {
        int64_t ignored;
        if (!tile_fold_int((tile_opcode)opcode, 1, 1, 1, &ignored)) continue;
        operations++;
        check_emits((tile_opcode)opcode);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            for (unsigned level = 2; level <= 3; level++)
                check_expression((tile_opcode)opcode, numbers[i], level);
    }
    cr_expect_gt(operations, 15u);
}

/* Arguments of every width are converted by value, a boolean to 0 or 1. */
Test(view_args, narrow_arguments) {
    for (unsigned level = 2; level <= 3; level++) {
        fixture f;
        float y[16];
        text_open(&f.text);
        open_kernel(
            &f,
            text_parse(&f.text,
                       "kernel @k(%f: i1, %c: i8, %x: view<f32[%f * 4 - %c], strides [%f]>,\n"
                       "    %y: view<f32[16]>) grid [1] warps 1 {\n"
                       "  %t = load %x[0] : tile<f32[16]>\n"
                       "  store %t, %y[0]\n}\n"),
            level, 64 * sizeof(float));
        const tile_argument arguments[] = {{.integer = 1},
                                           {.integer = -7},
                                           {.buffer = f.x, .offset = 4 * sizeof(float)},
                                           {.buffer = f.y}};
        cr_assert_eq(tile_kernel_launch(f.kernel, arguments, 4, NULL), TILE_OK, "%s",
                     f.text.messages);
        cr_assert_eq(tile_buffer_read(f.y, 0, y, sizeof y), TILE_OK);
        for (int i = 0; i < 16; i++) cr_expect_eq(y[i], i < 11 ? (float)(4 + i) : 0, "%d", i);
        close(&f);
    }
}
