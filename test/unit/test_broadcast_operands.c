/* Every elementwise operation on a matrix, a column, a row and a scalar has the same result as on
 * operands that are broadcast beforehand, at all levels. A letter in a text stands for an operand's
 * shape: m matrix, c column, r row, s scalar. */
#include "lib/ops/error.h"
#include "lib/support/scalar.h"
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compute.h"
#include "tile/device.h"

enum { M = 12, N = 40 };

static const char *shape_text(char shape) {
    return shape == 'm' ? "[12, 40]" : shape == 'c' ? "[12, 1]" : "[1, 40]";
}

static void fill_operand(tile_scalar scalar, unsigned operand, unsigned char *to) {
    unsigned size = tile_scalar_bytes(scalar);
    for (unsigned i = 0; i < M * N; i++) {
        double number = operand == 1 ? (int)(1 + (i * 5 + i / 40) % 6) : (int)(i * 7 % 23) - 9;
        if (scalar == TILE_i1) number = i % 3 == 0;
        tile_scalar_write(scalar, to + i * size, number);
    }
}

/* Returns the kernel; wide: each operand is broadcast separately. */
static const char *mixed_text(text_fixture *x, const tile_op_info *info, tile_scalar scalar,
                              const char *shapes, bool wide, bool compute) {
    const char *args = "", *body = "", *call = "", *kind = compute ? "tensor" : "tile";
    tile_scalar to = info->traits & TILE_TRAIT_COMPARE ? TILE_i1 : scalar;
    for (unsigned k = 0; k < info->operand_count; k++) {
        char letter = (char)('a' + k), shape = shapes[k];
        bool truth = info->operands[k].class_ == TILE_CLASS_boolean;
        const char *type = tile_scalar_name(truth ? TILE_i1 : scalar);
        const char *dims = shape_text(shape);
        if (shape == 's')
            args = tile_arena_format(&x->arena, "%s%%%c: %s, ", args, letter, type);
        else if (compute)
            args = tile_arena_format(&x->arena, "%s%%%c: tensor<%s%s>, ", args, letter, type, dims);
        else {
            args = tile_arena_format(&x->arena, "%s%%p%c: ptr<%s>, ", args, letter, type);
            body = tile_arena_format(&x->arena,
                                     "%s  %%g%c = view %%p%c, %s : view<%s%s>\n"
                                     "  %%%c = load %%g%c[0, 0] : tile<%s%s>\n",
                                     body, letter, letter, dims, type, dims, letter, letter, type,
                                     dims);
        }
        if (wide)
            body =
                tile_arena_format(&x->arena, "%s  %%w%c = %s %%%c : %s<%s[12, 40]>\n", body, letter,
                                  shape == 's' ? "splat" : "broadcast", letter, kind, type);
        call = tile_arena_format(&x->arena, "%s%s%%%s%c", call, k ? ", " : "", wide ? "w" : "",
                                 letter);
    }
    const char *name = tile_scalar_name(to);
    if (compute) {
        size_t length = strlen(args) - 2; /* the last comma */
        return tile_arena_format(&x->arena,
                                 "compute @f(%.*s) -> (%%r: tensor<%s[12, 40]>) {\n%s"
                                 "  %%r = %s(%s)\n}\n",
                                 (int)length, args, name, body, info->name, call);
    }
    return tile_arena_format(&x->arena,
                             "kernel @k(%s%%pr: ptr<%s>) grid [1] warps 2 {\n%s  %%r = %s(%s)\n"
                             "  %%gr = view %%pr, [12, 40] : view<%s[12, 40]>\n"
                             "  store %%r, %%gr[0, 0]\n}\n",
                             args, name, body, info->name, call, name);
}

static tile_argument scalar_argument(tile_scalar scalar, const void *at) {
    double number = tile_scalar_read(scalar, at);
    return (tile_argument){.number = number, .integer = (int64_t)number};
}

static void run_mixed(text_fixture *x, const tile_op_info *info, tile_scalar scalar,
                      const char *shapes, bool wide, unsigned level, unsigned char *result) {
    tile_scalar to = info->traits & TILE_TRAIT_COMPARE ? TILE_i1 : scalar;
    static unsigned char operands[3][M * N * 8];
    tile_compute_array in[3], out = {to, 2, {M, N}, result};
    tile_argument arguments[4] = {{0}};
    tile_module *module = text_parse(x, mixed_text(x, info, scalar, shapes, wide, level == 1));
    cr_assert(module, "%s", x->messages);
    tile_device_options options = {.size = sizeof options, .level = level == 1 ? 2 : level};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    cr_assert_eq(tile_device_create_cpu(x->context, &options, &device), TILE_OK);
    for (unsigned k = 0; k < info->operand_count; k++) {
        bool truth = info->operands[k].class_ == TILE_CLASS_boolean;
        tile_scalar own = truth ? TILE_i1 : scalar;
        int64_t rows = shapes[k] == 'm' || shapes[k] == 'c' ? M : 1,
                columns = shapes[k] == 'm' || shapes[k] == 'r' ? N : 1;
        size_t bytes = (size_t)(rows * columns) * tile_scalar_bytes(own);
        fill_operand(own, k, operands[k]);
        in[k] = (tile_compute_array){own, shapes[k] == 's' ? 0 : 2, {rows, columns}, operands[k]};
        if (shapes[k] == 's') {
            arguments[k] = scalar_argument(own, operands[k]);
            continue;
        }
        cr_assert_eq(tile_buffer_create(device, bytes, &arguments[k].buffer), TILE_OK);
        cr_assert_eq(tile_buffer_write(arguments[k].buffer, 0, operands[k], bytes), TILE_OK);
    }
    unsigned count = info->operand_count;
    size_t bytes = M * N * tile_scalar_bytes(to);
    if (level == 1) {
        cr_assert_eq(tile_compute_run(tile_module_function(module, 0), in, count, &out, 1), TILE_OK,
                     "%s", x->messages);
    } else {
        cr_assert_eq(tile_buffer_create(device, bytes, &arguments[count].buffer), TILE_OK);
        cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s",
                     x->messages);
        cr_assert_eq(tile_kernel_launch(kernel, arguments, count + 1, NULL), TILE_OK, "%s",
                     x->messages);
        cr_assert_eq(tile_buffer_read(arguments[count].buffer, 0, result, bytes), TILE_OK);
    }
    tile_kernel_destroy(kernel);
    for (unsigned k = 0; k <= count; k++) tile_buffer_destroy(arguments[k].buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
}

static void check_mixed(text_fixture *x, const tile_op_info *info, tile_scalar scalar,
                        const char *shapes) {
    tile_scalar to = info->traits & TILE_TRAIT_COMPARE ? TILE_i1 : scalar;
    unsigned char wanted[M * N * 8], got[M * N * 8];
    x->length = 0;
    run_mixed(x, info, scalar, shapes, true, 2, wanted);
    for (unsigned level = 1; level <= 3; level++) {
        /* Level 3 computes approximations as the GPU does. */
        bool own = level == 3 &&
                   tile_op_is_approximate(tile_opcode_from_name(info->name, strlen(info->name)));
        if (own) run_mixed(x, info, scalar, shapes, true, level, wanted);
        run_mixed(x, info, scalar, shapes, false, level, got);
        cr_expect_eq(memcmp(wanted, got, M * N * tile_scalar_bytes(to)), 0,
                     "%s of %s, shapes %s: level %u differs", info->name, tile_scalar_name(scalar),
                     shapes, level);
    }
}

static const char *const mixtures[][7] = {
    [2] = {"mc", "cm", "rm", "cr", "ms", "sm", NULL},
    [3] = {"mcr", "crs", "smr", "mss", "sms", "rcm", NULL},
};

Test(stretch, of_all_elementwise_rows) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const tile_op_info *info = tile_op_get_info((tile_opcode)i);
        if (!(info->traits & TILE_TRAIT_ELEMENTWISE) || info->operand_count < 2) continue;
        cr_assert_leq(info->operand_count, 3, "%s has more operands than this test", info->name);
        bool floats = info->operands[0].class_ != TILE_CLASS_integer;
        bool integers = info->operands[0].class_ != TILE_CLASS_floating;
        for (const char *const *m = mixtures[info->operand_count]; *m; m++) {
            if (floats) check_mixed(&x, info, TILE_f32, *m);
            if (integers) check_mixed(&x, info, TILE_i16, *m);
        }
    }
    text_close(&x);
}

/* The builder infers the same as the parser. */
Test(stretch, by_the_builder) {
    const int64_t wide[2] = {4, 8}, narrow[2] = {4, 1};
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *f = tile_function_create(module, TILE_KERNEL, "k", (tile_loc){0});
    const tile_expr *one = tile_expr_int(x.context, 1);
    tile_function_set_grid(f, 1, &one);
    tile_function_set_warps(f, one);
    tile_value scalar = tile_function_add_arg(f, "f", tile_type_scalar(x.context, TILE_f32));
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_value t = tile_build_splat(&b, scalar, tile_type_tile(x.context, TILE_f32, 2, wide));
    tile_value u = tile_build_splat(&b, scalar, tile_type_tile(x.context, TILE_f32, 2, narrow));
    tile_value sum = tile_build_add(&b, tile_build_mul(&b, scalar, t), u);
    cr_expect_eq(tile_value_type(f, sum), tile_type_tile(x.context, TILE_f32, 2, wide));
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    cr_expect(strstr(text_print(&x, module), "broadcast %1 : tile<f32[4, 8]>"), "%s",
              text_print(&x, module));
    tile_module_destroy(module);
    text_close(&x);
}
