/* Result types that builders omit, wholly or in part, are inferred as in the text. */
#include "text_fixture.h"

#include "lib/ir/function.h"

typedef struct built {
    text_fixture text;
    tile_module *module;
    tile_builder b;
    tile_value n, p, h;
} built;

static void open(built *x, tile_function_kind kind) {
    text_open(&x->text);
    x->module = tile_module_create(x->text.context);
    tile_function *f = tile_function_create(x->module, kind, "k", (tile_loc){0});
    tile_context *context = x->text.context;
    x->n = tile_function_add_arg(f, "n", tile_type_scalar(context, TILE_i32));
    x->p = tile_function_add_arg(f, "p", tile_type_ptr(context, TILE_f32));
    x->h = tile_function_add_arg(f, "h", tile_type_ptr(context, TILE_f16));
    x->b = tile_builder_at_end(f, tile_function_body(f));
}

static void close(built *x) {
    tile_module_destroy(x->module);
    text_close(&x->text);
}

static void expect_type(built *x, tile_value value, const tile_type *wanted) {
    cr_expect(value.id, "%s", x->text.messages);
    cr_expect_eq(tile_value_type(x->b.function, value), wanted, "in\n%s",
                 text_print(&x->text, x->module));
}

#define DIMS(...) \
    (const int64_t[]) { \
        __VA_ARGS__ \
    }
#define TYPE(kind, scalar, rank, ...) \
    tile_type_##kind(x.text.context, TILE_##scalar, rank, DIMS(__VA_ARGS__))
#define EXTENTS(rank, ...) tile_type_tile(x.text.context, TILE_SCALAR_NONE, rank, DIMS(__VA_ARGS__))
#define SCALAR(scalar) tile_type_scalar(x.text.context, TILE_##scalar)

Test(infer, memory_tells_the_types_of_level_2) {
    built x;
    open(&x, TILE_KERNEL);
    tile_value eight = tile_build_int(&x.b, 8), zero = tile_build_int(&x.b, 0);
    const tile_value extents[] = {x.n, eight}, index[] = {zero, zero};
    tile_value view = tile_build_view(&x.b, x.h, extents, 2, NULL, 0, NULL);
    expect_type(&x, view, TYPE(view, f16, 2, -1, 8));
    tile_value scratch = tile_build_scratch(&x.b, extents, 2, SCALAR(i32));
    expect_type(&x, scratch, TYPE(view, i32, 2, -1, 8));
    tile_value tile = tile_build_load(&x.b, view, index, 2, TILE_NO_VALUE, EXTENTS(2, 16, 8));
    expect_type(&x, tile, TYPE(tile, f16, 2, 16, 8));
    expect_type(&x, tile_build_cast(&x.b, tile, SCALAR(f32)), TYPE(tile, f32, 2, 16, 8));
    expect_type(&x, tile_build_splat(&x.b, x.n, EXTENTS(1, 4)), TYPE(tile, i32, 1, 4));
    tile_value buffer =
        tile_build_alloc_shared(&x.b, tile_type_shared(x.text.context, TILE_f16, 2, 1, DIMS(8)));
    expect_type(&x, tile_build_load_shared(&x.b, buffer, &zero, 1, NULL), TYPE(tile, f16, 1, 8));
    cr_expect_eq(x.text.errors, 0, "%s", x.text.messages);
    close(&x);
}

Test(infer, memory_tells_the_types_of_level_3) {
    built x;
    open(&x, TILE_KERNEL);
    tile_value zero = tile_build_int(&x.b, 0);
    expect_type(&x, tile_build_ld_global(&x.b, x.p, &zero, 1, TILE_NO_VALUE, NULL), SCALAR(f32));
    tile_value four = tile_build_ld_global(&x.b, x.p, &zero, 1, TILE_NO_VALUE, EXTENTS(1, 4));
    expect_type(&x, four, tile_type_vector(x.text.context, TILE_f32, 4));
    expect_type(&x, tile_build_extract(&x.b, four, zero, NULL), SCALAR(f32));
    expect_type(&x, tile_build_permute(&x.b, four, NULL),
                tile_type_vector(x.text.context, TILE_f32, 4));
    cr_expect_eq(x.text.errors, 0, "%s", x.text.messages);
    close(&x);
}

Test(infer, an_unaligned_load_is_a_vector_from_a_pointer) {
    built x;
    open(&x, TILE_KERNEL);
    tile_value zero = tile_build_int(&x.b, 0), no = TILE_NO_VALUE;
    tile_value view = tile_build_view(&x.b, x.h, &x.n, 1, NULL, 0, NULL);
    expect_type(&x, tile_build_ld_global_unaligned(&x.b, x.h, &zero, 1, x.n, no, EXTENTS(1, 8)),
                tile_type_vector(x.text.context, TILE_f16, 8));
    cr_expect_eq(x.text.errors, 0, "%s", x.text.messages);
    tile_value refused[] = {
        tile_build_ld_global_unaligned(&x.b, view, &zero, 1, x.n, no, EXTENTS(1, 8)),
        tile_build_ld_global_unaligned(&x.b, x.p, &zero, 1, x.n, no, NULL),
        tile_build_ld_global_unaligned(&x.b, x.h, &zero, 1, x.n, no, EXTENTS(1, 16)),
        tile_build_ld_global_unaligned(&x.b, x.h, &zero, 1, x.n, no, EXTENTS(1, 3)),
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) cr_expect_eq(refused[i].id, 0);
    cr_expect_eq(x.text.errors, 4, "%s", x.text.messages);
    close(&x);
}

Test(infer, what_nothing_tells_is_refused) {
    built x;
    open(&x, TILE_KERNEL);
    tile_value view = tile_build_view(&x.b, x.p, &x.n, 1, NULL, 0, NULL);
    cr_expect(view.id);
    const tile_value many[] = {x.n, x.n, x.n, x.n, x.n, x.n, x.n, x.n, x.n};
    cr_expect_eq(tile_build_scratch(&x.b, &x.n, 1, NULL).id, 0);
    cr_expect_eq(tile_build_splat(&x.b, x.n, NULL).id, 0);
    cr_expect_eq(tile_build_cast(&x.b, x.n, NULL).id, 0);
    cr_expect_eq(tile_build_view(&x.b, x.p, NULL, 0, NULL, 0, NULL).id, 0);
    cr_expect_eq(tile_build_view(&x.b, x.p, many, TILE_MAX_RANK + 1, NULL, 0, NULL).id, 0);
    cr_expect_eq(tile_build_view(&x.b, x.p, many, 1, many, TILE_MAX_RANK + 1, NULL).id, 0);
    cr_expect_eq(tile_build_alloc_shared(&x.b, EXTENTS(1, 4)).id, 0);
    cr_expect_eq(x.text.errors, 7, "%s", x.text.messages);
    close(&x);
}
