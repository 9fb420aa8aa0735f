/* Reductions and scans by a func that is not commutative: at level 1, at levels 2 and 3 on the CPU
 * device and by definition, for all axes, element types and layouts; and through the C API. */
#include "lib/ir/function.h"
#include "lib/support/text.h"
#include "test/unit/axis_fixture.h"

static const axis_shape shapes[] = {{1, {64}},       {1, {1}},       {1, {192}},
                                    {2, {12, 20}},   {2, {64, 64}},  {2, {1, 2048}},
                                    {3, {2, 16, 5}}, {2, {128, 16}}, {4, {2, 2, 4, 8}}};

enum { SHAPE_COUNT = sizeof shapes / sizeof *shapes, MAX_COUNT = 4096 };

/* Each of these, along an axis. */
typedef struct form {
    bool reduces, reverse, exclusive;
} form;

static const form forms[] = {{true, false, false}, {false, false, false}, {false, true, false},
                             {true, true, false},  {false, false, true},  {false, true, true}};

enum { FORM_COUNT = sizeof forms / sizeof *forms };

static char input[MAX_COUNT * sizeof(double)];
static char wanted[2][MAX_COUNT * sizeof(double)];
static void *const results[] = {wanted[0], wanted[1]};

/* x -> a x + b, of two such steps the first one first. Integers wrap. */
static const char affine[] = "func @step<T: type>(%a: T, %b: T, %c: T, %d: T) -> (%e: T, %f: T)\n"
                             "{\n  %e = %a * %c\n  %f = %c * %b + %d\n}\n";
/* The last element that is not 0. */
static const char latest[] = "func @step<T: type>(%a: T, %b: T) -> (%c: T)\n"
                             "{\n  %c = select(%b != 0, %b, %a)\n}\n";

static int64_t number(size_t i) {
    return (int64_t)((uint32_t)(i * 2654435761u) >> 9) % 5 - 2;
}

static void write(tile_scalar scalar, void *at, int64_t value) {
    if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, at, (double)value);
    else
        tile_integer_write(scalar, at, value);
}

static void start(text_fixture *x, axis_sample *s, const form *f, unsigned axis, bool pairs) {
    s->funcs = pairs ? affine : latest;
    s->steps = pairs ? "  %b = %a + 1\n" : NULL;
    s->results = pairs ? 2 : 1;
    s->scalars[0] = s->scalars[1] = s->scalar;
    s->input = input;
    s->to = s->from;
    if (f->reduces) s->to.dims[axis] = 1;
    s->op = tile_arena_format(&x->arena, "%s (%s) {axis = %u, combine = @step%s%s%s}",
                              f->reduces ? "reduce" : "scan", pairs ? "%a, %b" : "%a", axis,
                              f->reverse ? ", reverse" : "", f->exclusive ? ", exclusive" : "",
                              !f->exclusive ? ""
                              : pairs       ? ", identity = (1, 0)"
                                            : ", identity = (0)");
    for (size_t i = 0; i < axis_count(&s->from); i++)
        write(s->scalar, input + i * tile_scalar_bytes(s->scalar), number(i));
}

/* Products of steps wrap in 64 bits; writing wraps them to the type. */
static void check(text_fixture *x, axis_sample *s, const form *f, unsigned axis, bool pairs) {
    size_t extent = (size_t)s->from.dims[axis], size = tile_scalar_bytes(s->scalar), inner = 1;
    for (unsigned d = axis + 1; d < s->from.rank; d++) inner *= (size_t)s->from.dims[d];
    start(x, s, f, axis, pairs);
    for (size_t r = 0; r < axis_count(&s->from) / extent; r++) {
        uint64_t a = pairs, b = 0;
        for (size_t i = 0; i <= extent; i++) {
            size_t k = f->reverse ? extent - 1 - i : i;
            size_t at = i < extent ? r / inner * extent * inner + r % inner + k * inner : 0;
            uint64_t own = (uint64_t)number(at);
            bool stores = f->reduces ? i == extent : i < extent && f->exclusive;
            for (unsigned n = 0; n < s->results && stores; n++)
                write(s->scalar, wanted[n] + (f->reduces ? r : at) * size, (int64_t)(n ? b : a));
            if (i == extent) break;
            b = own * b + own + 1;
            a = pairs ? a * own : own ? own : a;
            for (unsigned n = 0; n < s->results && !f->reduces && !f->exclusive; n++)
                write(s->scalar, wanted[n] + at * size, (int64_t)(n ? b : a));
        }
    }
    /* Level 1 computes in doubles, which do not hold negative numbers that wrap to a u64. */
    axis_check(x, s, s->layout || s->scalar == TILE_u64 ? 2 : 1, results);
}

Test(combine, all_shapes, .timeout = 300) {
    text_fixture x;
    text_open(&x);
    unsigned k = 0;
    for (unsigned i = 0; i < SHAPE_COUNT; i++)
        for (unsigned axis = 0; axis < shapes[i].rank; axis++)
            for (unsigned warps = 1; warps <= 8; warps *= 2, k++) {
                axis_sample s = {.from = shapes[i], .warps = warps, .scalar = TILE_i32};
                check(&x, &s, &forms[k % FORM_COUNT], axis, true);
                if (warps == 4) axis_emit_ptx(&x, &s);
            }
    text_close(&x);
}

Test(combine, all_types, .timeout = 300) {
    static const unsigned some[] = {2, 3, 5};
    text_fixture x;
    text_open(&x);
    for (unsigned scalar = 1; scalar < TILE_SCALAR_COUNT; scalar++) {
        bool floats = tile_scalar_is_floating((tile_scalar)scalar);
        if (!tile_scalar_has_arithmetic((tile_scalar)scalar) || scalar == TILE_i1) continue;
        for (unsigned i = 0; i < 3; i++)
            for (unsigned k = 0; k < FORM_COUNT; k++) {
                axis_sample s = {
                    .from = shapes[some[i]], .warps = 4, .scalar = (tile_scalar)scalar};
                check(&x, &s, &forms[k], i % s.from.rank, !floats && (k + i) % 2);
                if (!k) axis_emit_ptx(&x, &s);
            }
    }
    text_close(&x);
}

/* Layouts in which the rows must first be converted. */
Test(combine, random_layouts, .timeout = 300) {
    static const axis_shape squares[] = {{2, {32, 32}}, {2, {4, 64}}, {2, {128, 8}},  {2, {2, 8}},
                                         {1, {256}},    {1, {1024}},  {3, {4, 8, 16}}};
    text_fixture x;
    text_open(&x);
    uint64_t seed = 11;
    for (unsigned round = 0; round < 84; round++) {
        unsigned warp_bits = round % 4;
        axis_sample s = {.from = squares[round % 7], .scalar = TILE_i32, .warps = 1u << warp_bits};
        s.layout = axis_random_layout(&x, &s.from, warp_bits, &seed);
        check(&x, &s, &forms[round % FORM_COUNT], round % s.from.rank, round % 3);
    }
    text_close(&x);
}

/* func @f(%a: f32, %b: f32) -> (%c: f32) { %c = %b } */
static void add_func(tile_module *module) {
    const tile_type *f32 = tile_type_scalar(tile_module_context(module), TILE_f32);
    tile_function *f = tile_function_create(module, TILE_FUNC, "f", (tile_loc){0, 1, 1});
    tile_function_add_arg(f, "a", f32);
    tile_value b = tile_function_add_arg(f, "b", f32);
    tile_function_add_result(f, "c", f32);
    tile_function_set_result(f, 0, b);
}

Test(combine, builder) {
    static const char whole[] =
        "func @f(%a: f32, %b: f32) -> (%c: f32)\n{\n  %c = %b : f32\n}\n\n"
        "compute @g(%x: tensor<f32[4, 8]>) -> (%y: tensor<f32[4, 1]>, %z: tensor<f32[4, 8]>)\n{\n"
        "  %y = reduce_with [%x], [0.0] {combine = @f, axis = 1} : tensor<f32[4, 1]>\n"
        "  %z = scan_with [%x] {combine = @f, axis = 0, reverse} : tensor<f32[4, 8]>\n}\n";
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    add_func(module);
    tile_type draft = {.kind = TILE_TYPE_TENSOR, .scalar = TILE_f32, .rank = 2};
    draft.dims[0] = tile_expr_int(x.context, 4);
    draft.dims[1] = tile_expr_int(x.context, 8);
    const tile_type *type = tile_type_get(x.context, &draft);
    draft.dims[1] = tile_expr_int(x.context, 1);
    const tile_type *row = tile_type_get(x.context, &draft);
    tile_function *g = tile_function_create(module, TILE_COMPUTE, "g", (tile_loc){0, 2, 1});
    tile_value a = tile_function_add_arg(g, "x", type);
    tile_function_add_result(g, "y", row);
    tile_function_add_result(g, "z", type);
    tile_builder b = tile_builder_at_end(g, tile_function_body(g));
    tile_value zero = tile_build_float(&b, 0);
    tile_value y = tile_build_reduce_with(&b, &a, 1, &zero, 1, TILE_NO_VALUE, row);
    tile_value z = tile_build_scan_with(&b, &a, 1, NULL, 0, TILE_NO_VALUE);
    cr_assert(y.id && z.id, "%s", x.messages);
    tile_op reduce = tile_value_def(g, y), scan = tile_value_def(g, z);
    tile_op_set_text(g, reduce, TILE_ATTR_combine, "f");
    tile_op_set_int(g, reduce, TILE_ATTR_axis, 1);
    tile_op_set_text(g, scan, TILE_ATTR_combine, "f");
    tile_op_set_int(g, scan, TILE_ATTR_axis, 0);
    tile_op_set_flag(g, scan, TILE_ATTR_reverse);
    tile_function_set_result(g, 0, y);
    tile_function_set_result(g, 1, z);
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    tile_text text = {.arena = &x.arena};
    tile_module_print(module, tile_text_append, &text);
    cr_expect_str_eq(text.data, whole);
    tile_module_destroy(module);
    text_close(&x);
}
