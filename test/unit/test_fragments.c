/* Tiles as per-thread fragments: for each named layout, element type, shape and number of warps,
 * the `coordinates` of the elements that `from_fragment` takes, at both levels. */
#include "lib/layout/layout.h"
#include "lib/ir/named.h"
#include "lib/support/scalar.h"
#include "test/unit/text_fixture.h"
#include "tile/device.h"

typedef struct fragment_case {
    tile_layout_name name;
    tile_scalar scalar;
    int64_t dims[2];
    unsigned warps;
} fragment_case;

/* Elements per thread; 0: there is no such layout. */
static unsigned count_registers(text_fixture *x, const fragment_case *c) {
    tile_layout named = tile_layout_of_name(c->name), layout;
    const tile_type *type = tile_type_with_layout(
        x->context, tile_type_tile(x->context, c->scalar, 2, c->dims), &named);
    return tile_layout_resolve(type, c->warps, &layout) ? 0 : tile_layout_registers(&layout);
}

/* Sets each element to its row-major index modulo 64. The indices are constants if the loop is
 * unrolled. */
static const char *write_text(text_fixture *x, const fragment_case *c, unsigned registers,
                              bool unrolls) {
    const char *scalar = tile_scalar_name(c->scalar), *name = tile_layout_name_text(c->name);
    long long rows = (long long)c->dims[0], columns = (long long)c->dims[1];
    return tile_arena_format(&x->arena,
                             "kernel @k(%%y: view<%s[%lld, %lld]>) grid [1] warps %u {\n"
                             "  %%t = 0 : tile<i32[%lld, %lld]>\n"
                             "  %%z = convert_layout %s(%%t) : tile<%s[%lld, %lld], #%s>\n"
                             "  %%f = to_fragment %%z\n"
                             "  %%v = for %%e = 0 to %u iter (%%old = %%f)%s {\n"
                             "    %%i, %%j = coordinates %%z, %%e\n"
                             "    %%n = rem(%%i * %lld + %%j, 64)\n"
                             "    yield insert(%%old, extract(%%old, %%e) + %s(%%n), %%e)\n  }\n"
                             "  %%r = from_fragment %%v : tile<%s[%lld, %lld], #%s>\n"
                             "  store %%r, %%y[0, 0]\n}\n",
                             scalar, rows, columns, c->warps, rows, columns, scalar, scalar, rows,
                             columns, name, registers,
                             unrolls ? tile_arena_format(&x->arena, " unroll (%u)", registers) : "",
                             columns, scalar, scalar, rows, columns, name);
}

static void run_case(text_fixture *x, const fragment_case *c, unsigned registers, unsigned level) {
    const char *text = write_text(x, c, registers, level == 3 && registers <= 16);
    size_t size = tile_scalar_bytes(c->scalar), count = (size_t)(c->dims[0] * c->dims[1]);
    tile_module *module = text_parse(x, text);
    cr_assert(module, "%s\n%s", x->messages, text);
    tile_device_options options = {.size = sizeof options, .level = level};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument argument = {0};
    unsigned char *result = tile_malloc(size * count);
    cr_assert_eq(tile_device_create_cpu(x->context, &options, &device), TILE_OK);
    cr_assert_eq(tile_buffer_create(device, size * count, &argument.buffer), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s\n%s",
                 x->messages, text);
    cr_assert_eq(tile_kernel_launch(kernel, &argument, 1, NULL), TILE_OK, "%s\n%s", x->messages,
                 text);
    cr_assert_eq(tile_buffer_read(argument.buffer, 0, result, size * count), TILE_OK);
    for (size_t i = 0; i < count; i++) {
        double got = tile_scalar_read(c->scalar, result + i * size);
        cr_assert_eq(got, (double)(i % 64), "level %u, element %zu is %g:\n%s", level, i, got,
                     text);
    }
    free(result);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(argument.buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
}

Test(fragments, coordinates_are_those_of_the_elements) {
    static const tile_layout_name names[] = {TILE_LAYOUT_NAME_mma_acc, TILE_LAYOUT_NAME_mma_lhs,
                                             TILE_LAYOUT_NAME_mma_rhs, TILE_LAYOUT_NAME_plain};
    static const tile_scalar scalars[] = {TILE_f16, TILE_f32, TILE_i8, TILE_i32, TILE_f64};
    static const int64_t shapes[][2] = {{16, 8}, {16, 16}, {32, 32}, {8, 64}, {48, 16}, {32, 24}};
    unsigned ran = 0;
    text_fixture x;
    text_open(&x);
    for (unsigned n = 0; n < 4; n++)
        for (unsigned s = 0; s < 5; s++)
            for (unsigned d = 0; d < 6; d++) {
                fragment_case c = {
                    names[n], scalars[s], {shapes[d][0], shapes[d][1]}, 1u << (n + s + d) % 3};
                unsigned registers = count_registers(&x, &c);
                if (!registers) continue;
                for (unsigned level = 2; level <= 3; level++) run_case(&x, &c, registers, level);
                ran++;
            }
    cr_assert(ran > 60, "%u", ran);
    text_close(&x);
}

Test(fragments, sums_of_warpgroups_have_coordinates) {
    static const int64_t shapes[][2] = {{64, 16}, {128, 32}, {64, 64}, {192, 48}};
    text_fixture x;
    text_open(&x);
    for (unsigned d = 0; d < 4; d++)
        for (unsigned warps = 4; warps <= 8; warps *= 2) {
            fragment_case c = {
                TILE_LAYOUT_NAME_wgmma_acc, TILE_f32, {shapes[d][0], shapes[d][1]}, warps};
            unsigned registers = count_registers(&x, &c);
            cr_assert_eq(registers, shapes[d][0] * shapes[d][1] / (32 * warps));
            for (unsigned level = 2; level <= 3; level++) run_case(&x, &c, registers, level);
        }
    text_close(&x);
}

Test(fragments, first_operands_of_warpgroups_have_coordinates) {
    static const int64_t shapes[][2] = {{64, 32}, {128, 64}, {256, 32}};
    static const tile_scalar scalars[] = {TILE_f16, TILE_i32, TILE_i8};
    text_fixture x;
    text_open(&x);
    for (unsigned d = 0; d < 3; d++)
        for (unsigned s = 0; s < 3; s++) {
            fragment_case c = {TILE_LAYOUT_NAME_wgmma_lhs,
                               scalars[s],
                               {shapes[d][0], shapes[d][1]},
                               shapes[d][0] > 128 ? 8 : 4};
            unsigned registers = count_registers(&x, &c);
            cr_assert_eq(registers, shapes[d][0] * shapes[d][1] / (32 * c.warps));
            for (unsigned level = 2; level <= 3; level++) run_case(&x, &c, registers, level);
        }
    text_close(&x);
}

Test(fragments, threads_hold_whole_rows) {
    static const int64_t shapes[][2] = {{128, 8}, {256, 16}, {32, 32}};
    text_fixture x;
    text_open(&x);
    for (unsigned d = 0; d < 3; d++) {
        fragment_case c = {TILE_LAYOUT_NAME_thread_rows, TILE_f16, {shapes[d][0], shapes[d][1]}, 4};
        unsigned registers = count_registers(&x, &c);
        cr_assert_eq(registers, shapes[d][1] * (shapes[d][0] > 128 ? shapes[d][0] / 128 : 1));
        for (unsigned level = 2; level <= 3; level++) run_case(&x, &c, registers, level);
    }
    text_close(&x);
}
