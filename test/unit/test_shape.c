/* Operations on shapes and coordinates: the same at level 1, at levels 2 and 3 on the CPU device
 * and by definition, for extents that are odd counts times powers of two and ranks from 1 to 6.
 * They also compile to PTX. */
#include "test/unit/shape_fixture.h"

static const axis_shape shapes[] = {{1, {64}},
                                    {1, {1}},
                                    {1, {192}},
                                    {1, {31}},
                                    {2, {1, 192}},
                                    {2, {16, 1}},
                                    {2, {12, 20}},
                                    {2, {64, 64}},
                                    {3, {3, 1, 40}},
                                    {3, {2, 16, 5}},
                                    {4, {1, 3, 1, 7}},
                                    {4, {2, 2, 4, 8}},
                                    {5, {2, 1, 3, 1, 4}},
                                    {6, {3, 2, 1, 4, 1, 10}},
                                    {6, {1, 1, 1, 1, 1, 1}}};

enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes };

static void check_iota(text_fixture *x, const axis_shape *to, tile_scalar scalar, unsigned axis,
                       unsigned warps, int64_t start, int64_t step) {
    unsigned char *wanted = malloc(SHAPE_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    shape_sample s = {.to = to, .scalar = scalar, .warps = warps};
    s.statement = tile_arena_format(
        &x->arena, "iota {axis = %u, start = %lld, step = %lld} : %%s<%s%s>", axis,
        (long long)start, (long long)step, tile_scalar_name(scalar), axis_dims(x, to));
    for (size_t i = 0; i < axis_count(to); i++) {
        int64_t value = start + step * axis_coordinate(to, i, axis);
        if (tile_scalar_is_floating(scalar))
            tile_scalar_write(scalar, wanted + i * size, (double)value);
        else
            tile_integer_write(scalar, wanted + i * size, value);
    }
    shape_check(x, &s, wanted);
    if (axis == 0) shape_emit_ptx(x, &s);
    free(wanted);
}

Test(shape, iota_of_all_shapes) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            check_iota(&x, &shapes[i], TILE_i32, axis, i % 2 ? 4 : 1, i % 3, 1 + i % 4);
    text_close(&x);
}

/* Integers wrap, floats round; i64 values exceed i32. */
Test(shape, iota_of_all_types) {
    static const int64_t numbers[][2] = {{0, 1},  {-100, 3},   {5, 0},
                                         {7, -1}, {40000, 70}, {INT64_C(3) << 31, INT32_MIN}};
    static const axis_shape row = {2, {3, 64}};
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = TILE_i8; scalar < TILE_SCALAR_COUNT; scalar++)
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (tile_scalar_has_arithmetic((tile_scalar)scalar) &&
                (scalar != TILE_u64 || i % 2 == 0)) /* level 1 computes in f64 */
                check_iota(&x, &row, (tile_scalar)scalar, 1, 1, numbers[i][0], numbers[i][1]);
    text_close(&x);
}

/* A narrow shape, and the wide shape in which it is repeated. */
typedef struct stretch {
    axis_shape from, to;
} stretch;

static const stretch stretches[] = {{{1, {1}}, {1, {64}}},
                                    {{1, {1}}, {1, {192}}},
                                    {{1, {64}}, {1, {64}}},
                                    {{1, {24}}, {2, {10, 24}}},
                                    {{2, {64, 1}}, {2, {64, 64}}},
                                    {{2, {1, 64}}, {2, {64, 64}}},
                                    {{2, {1, 1}}, {2, {16, 192}}},
                                    {{2, {12, 1}}, {2, {12, 40}}},
                                    {{2, {1, 40}}, {2, {12, 40}}},
                                    {{2, {1, 192}}, {2, {1, 192}}},
                                    {{2, {1, 1}}, {2, {1, 192}}},
                                    {{2, {3, 1}}, {4, {2, 1, 3, 20}}},
                                    {{3, {3, 1, 8}}, {3, {3, 16, 8}}},
                                    {{3, {1, 6, 1}}, {3, {5, 6, 7}}},
                                    {{4, {1, 3, 1, 7}}, {4, {2, 3, 4, 7}}},
                                    {{1, {10}}, {6, {3, 2, 1, 4, 1, 10}}},
                                    {{6, {3, 1, 1, 4, 1, 1}}, {6, {3, 2, 1, 4, 5, 10}}},
                                    {{5, {1, 1, 1, 1, 1}}, {6, {2, 3, 2, 1, 3, 2}}}};

enum { STRETCH_COUNT = sizeof stretches / sizeof *stretches };

/* Returns the element of the narrow shape that element i of the wide one repeats. */
static size_t repeated(const stretch *s, size_t i) {
    size_t at = 0;
    for (unsigned d = 0; d < s->from.rank; d++) {
        int64_t along = axis_coordinate(&s->to, i, s->to.rank - s->from.rank + d);
        at = at * (size_t)s->from.dims[d] + (s->from.dims[d] == 1 ? 0 : (size_t)along);
    }
    return at;
}

static void check_broadcast(text_fixture *x, const stretch *t, tile_scalar scalar, unsigned warps) {
    unsigned char *wanted = malloc(SHAPE_BYTES), *input = malloc(SHAPE_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    shape_sample s = {
        .from = &t->from, .to = &t->to, .scalar = scalar, .warps = warps, .input = input};
    s.statement = tile_arena_format(&x->arena, "broadcast %%%%a : %%s<%s%s>",
                                    tile_scalar_name(scalar), axis_dims(x, &t->to));
    for (size_t i = 0; i < axis_count(&t->from); i++)
        tile_scalar_write(scalar, input + i * size, (double)(int)(i * 7 % 97) - 40);
    for (size_t i = 0; i < axis_count(&t->to); i++)
        memcpy(wanted + i * size, input + repeated(t, i) * size, size);
    shape_check(x, &s, wanted);
    if (scalar == TILE_f32) shape_emit_ptx(x, &s);
    free(wanted);
    free(input);
}

Test(shape, broadcast_of_all_shapes) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < STRETCH_COUNT; i++) {
        check_broadcast(&x, &stretches[i], TILE_f32, 1);
        check_broadcast(&x, &stretches[i], TILE_f32, 8);
    }
    text_close(&x);
}

Test(shape, broadcast_of_all_types) {
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_barrier; scalar++)
        for (unsigned i = 5; i < 9; i++) check_broadcast(&x, &stretches[i], (tile_scalar)scalar, 4);
    text_close(&x);
}

/* Indices that count along a dim and wrap at the source's extent. */
static void check_gather(text_fixture *x, const axis_shape *from, unsigned axis, unsigned along,
                         int64_t extent, const char *index, tile_scalar scalar, unsigned warps) {
    unsigned char *wanted = malloc(SHAPE_BYTES), *input = malloc(SHAPE_BYTES);
    size_t size = tile_scalar_bytes(scalar);
    axis_shape to = *from;
    to.dims[axis] = extent;
    shape_sample s = {.from = from, .to = &to, .scalar = scalar, .warps = warps, .input = input};
    s.statement = tile_arena_format(
        &x->arena,
        "gather(%%%%a, rem((iota(axis = %u, start = 5, step = 7) : %%s<%s%s>), %lld), axis = %u)",
        along, index, axis_dims(x, &to), (long long)from->dims[axis], axis);
    for (size_t i = 0; i < axis_count(from); i++)
        tile_scalar_write(scalar, input + i * size, (double)(int)(i * 7 % 97) - 40);
    for (size_t i = 0; i < axis_count(&to); i++) {
        size_t at = 0;
        int64_t taken = (5 + 7 * axis_coordinate(&to, i, along)) % from->dims[axis];
        for (unsigned d = 0; d < to.rank; d++)
            at = at * (size_t)from->dims[d] +
                 (size_t)(d == axis ? taken : axis_coordinate(&to, i, d));
        memcpy(wanted + i * size, input + at * size, size);
    }
    shape_check(x, &s, wanted);
    if (scalar == TILE_f32 && warps == 4) shape_emit_ptx(x, &s);
    free(wanted);
    free(input);
}

Test(shape, gather_of_all_shapes) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0;
             axis<shapes[i].rank; axis += shapes[i].rank> 1 ? shapes[i].rank - 1 : 1) {
            unsigned other = (axis + 1) % shapes[i].rank;
            check_gather(&x, &shapes[i], axis, axis, 12, "i32", TILE_f32, 1);
            check_gather(&x, &shapes[i], axis, other, 8, "i64", TILE_f32, 4);
        }
    text_close(&x);
}

Test(shape, gather_of_all_types) {
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_barrier; scalar++)
        check_gather(&x, &shapes[6], 1, 0, 32, "i32", (tile_scalar)scalar, 4);
    text_close(&x);
}

/* True if test_shape_chains.c covers it. */
static bool is_in_chains(tile_opcode opcode) {
    return opcode == TILE_OP_transpose || opcode == TILE_OP_reshape || opcode == TILE_OP_slice ||
           opcode == TILE_OP_unjoin || opcode == TILE_OP_join;
}

/* Every row of levels 1 and 2 is in one of these tests, or in test_reduce.c, test_rows.c or
 * test_combine.c. */
Test(shape, of_all_rows) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->levels == TILE_LEVELS_L12)
            cr_expect(i == TILE_OP_iota || i == TILE_OP_broadcast || i == TILE_OP_reduce ||
                          i == TILE_OP_gather || i == TILE_OP_reduce_arg || i == TILE_OP_scan ||
                          i == TILE_OP_sort || i == TILE_OP_reduce_with || i == TILE_OP_scan_with ||
                          is_in_chains((tile_opcode)i),
                      "%s is not tested here", tile_op_get_info((tile_opcode)i)->name);
}

/* A layout whose registers and lanes share bits of a coordinate. */
Test(shape, iota_in_a_layout_of_its_own) {
    text_fixture x;
    text_open(&x);
    const char *text =
        "#turned = layout {reg = [[33]], lane = [[1], [3], [4], [9], [24]], warp = []}\n"
        "kernel @k(%pr: ptr<i32>) grid [1] warps 1 {\n"
        "  %r = iota {axis = 0, start = 1, step = 3} : tile<i32[64], #turned>\n"
        "  %s = alloc_shared : shared<i32[64]>\n"
        "  store_shared %r, %s\n"
        "  %t = load_shared %s : tile<i32[64]>\n"
        "  %gr = view %pr, [64] : view<i32[64]>\n  store %t, %gr[0]\n}\n";
    tile_module *module = text_parse(&x, text);
    cr_assert(module, "%s", x.messages);
    tile_device_options options = {.size = sizeof options, .level = 3};
    tile_device *device = NULL;
    tile_kernel *kernel = NULL;
    tile_argument argument = {0};
    int32_t got[64];
    cr_assert_eq(tile_device_create_cpu(x.context, &options, &device), TILE_OK);
    cr_assert_eq(tile_buffer_create(device, sizeof got, &argument.buffer), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s",
                 x.messages);
    cr_assert_eq(tile_kernel_launch(kernel, &argument, 1, NULL), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_buffer_read(argument.buffer, 0, got, sizeof got), TILE_OK);
    for (int i = 0; i < 64; i++) cr_expect_eq(got[i], 1 + 3 * i, "[%d] is %d", i, got[i]);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(argument.buffer);
    tile_device_destroy(device);
    tile_module_destroy(module);
    text_close(&x);
}
