/* Misuse of the C interface: it must cause a diagnostic and a failing status, and everything that
 * the verifier accepts can be printed and read back. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tile/tile.h"

#define NO_VALUE ((tile_value){0})

typedef struct fixture {
    tile_context *context;
    tile_module *module;
    tile_function *kernel;
    tile_builder b;
    tile_value n, p;
    char last[512]; /* error */
} fixture;

static void keep(const tile_diagnostic *diagnostic, void *user) {
    fixture *x = user;
    if (diagnostic->severity == TILE_ERROR)
        snprintf(x->last, sizeof x->last, "%s", diagnostic->message);
}

/* kernel @k(%n: i32, %p: ptr<f32>) grid [1] warps 1 {} */
static void open_kernel(fixture *x) {
    *x = (fixture){.context = tile_context_create()};
    tile_context_set_sink(x->context, keep, x);
    x->module = tile_module_create(x->context);
    x->kernel = tile_function_create(x->module, TILE_KERNEL, "k", (tile_loc){0});
    x->n = tile_function_add_arg(x->kernel, "n", tile_type_scalar(x->context, TILE_i32));
    x->p = tile_function_add_arg(x->kernel, "p", tile_type_ptr(x->context, TILE_f32));
    const tile_expr *one = tile_expr_int(x->context, 1);
    tile_function_set_grid(x->kernel, 1, &one);
    tile_function_set_warps(x->kernel, one);
    x->b = tile_builder_at_end(x->kernel, tile_function_body(x->kernel));
}

static void drop(const char *text, size_t length, void *user) {
    (void)text;
    *(size_t *)user += length;
}

static void close_kernel(fixture *x) {
    size_t printed = 0;
    tile_module_print(x->module, drop, &printed); /* in any state */
    cr_assert(printed);
    tile_module_destroy(x->module);
    tile_context_destroy(x->context);
}

/* Runs the statements on a new kernel `x`; verification must then fail with this message. */
#define REFUSED(message, ...) \
    do { \
        fixture f, *x = &f; \
        open_kernel(x); \
        __VA_ARGS__; \
        cr_expect_eq(tile_module_verify(x->module), TILE_INVALID, "%s", message); \
        cr_expect(strstr(x->last, message), "wanted: %s, got: %s", message, x->last); \
        close_kernel(x); \
    } while (0)

/* The statements themselves report the error, and the kernel stays valid. */
#define REPORTED(message, ...) \
    do { \
        fixture f, *x = &f; \
        open_kernel(x); \
        __VA_ARGS__; \
        cr_expect(strstr(x->last, message), "wanted: %s, got: %s", message, x->last); \
        cr_expect_eq(tile_module_verify(x->module), TILE_OK, "%s", x->last); \
        close_kernel(x); \
    } while (0)

Test(misuse, names) {
    const tile_type *none = NULL;
    REFUSED("'a b)' cannot name an argument",
            tile_function_add_arg(x->kernel, "a b)", tile_type_scalar(x->context, TILE_i32)));
    REFUSED("'' cannot name an argument",
            tile_function_add_arg(x->kernel, NULL, tile_type_scalar(x->context, TILE_i32)));
    REFUSED("the argument 'n' is declared twice",
            tile_function_add_arg(x->kernel, "n", tile_type_scalar(x->context, TILE_i32)));
    REFUSED("'x y' cannot name a function",
            tile_function_create(x->module, TILE_KERNEL, "x y", (tile_loc){0}));
    REFUSED("'add' cannot name a parameter",
            tile_function_add_param(x->kernel, "add", TILE_PARAM_int, NULL, none));
    REFUSED("'' cannot name a parameter",
            tile_function_add_param(x->kernel, NULL, TILE_PARAM_int, NULL, none));
    REFUSED("the parameter 'a' is declared twice",
            tile_function_add_param(x->kernel, "a", TILE_PARAM_int, NULL, none);
            tile_function_add_param(x->kernel, "a", TILE_PARAM_int, NULL, none));
}

Test(misuse, levels) {
    REFUSED("kernel @k is at level 99", tile_function_set_level(x->kernel, 99));
    REFUSED("kernel @k is at level 1", tile_function_set_level(x->kernel, 1));
    REFUSED("alloc_shared needs the attribute 'offset': @k is at level 3",
            tile_function_set_level(x->kernel, 3);
            const int64_t dims[] = {32};
            tile_build_alloc_shared(&x->b, tile_type_shared(x->context, TILE_f32, 0, 1, dims)));
    REFUSED("compute @c is at level 2, not 1",
            tile_function_set_level(
                tile_function_create(x->module, TILE_COMPUTE, "c", (tile_loc){0}), 2));
}

Test(misuse, parameters) {
    const tile_type *none = NULL;
    REFUSED("the default of 'a' does not have the parameter's kind",
            tile_function_add_param(x->kernel, "a", TILE_PARAM_type, tile_expr_int(x->context, 1),
                                    none));
    REFUSED("the default of 'a' may depend on the parameters before it only",
            tile_function_add_param(x->kernel, "a", TILE_PARAM_int,
                                    tile_expr_param(x->context, "a"), none));
    REFUSED("the parameter 'a' has no valid kind",
            tile_function_add_param(x->kernel, "a", (tile_param_kind)9, NULL, none));
    REFUSED("`tune` needs", tile_function_add_tune(x->kernel, 0, NULL, 0, NULL));
    const char *b = "b";
    const tile_expr *missing = NULL;
    REFUSED("`tune` needs", tile_function_add_tune(x->kernel, 1, &b, 1, &missing));
    REFUSED("`tune` needs", tile_function_add_param(x->kernel, "b", TILE_PARAM_int, NULL, none);
            tile_function_add_tune(x->kernel, 1, &b, 1, &missing));
}

static void set_grid(fixture *x, const tile_expr *extent) {
    tile_function_set_grid(x->kernel, 1, &extent);
}

Test(misuse, header_expressions) {
    const char *grid = "the extent of dim 0 of the grid may depend on compile-time parameters and "
                       "integer arguments only";
    REFUSED(grid, set_grid(x, NULL));
    REFUSED(grid, set_grid(x, tile_expr_float(x->context, 1.5)));
    REFUSED(grid, set_grid(x, tile_expr_arg(x->context, 77)));
    REFUSED(grid, set_grid(x, tile_expr_arg(x->context, 1))); /* a pointer */
    REFUSED(grid, set_grid(x, tile_expr_param(x->context, "nobody")));
    REFUSED("`warps` may depend on compile-time parameters only",
            tile_function_set_warps(x->kernel, tile_expr_arg(x->context, 0)));
    REFUSED("has no `warps`", tile_function_set_warps(x->kernel, NULL));
    const char *where = "`where` may depend on compile-time parameters and integer arguments only";
    REFUSED(where, tile_function_add_where(x->kernel, tile_expr_num_sms(x->context)));
    REFUSED(where, tile_function_add_where(x->kernel, tile_expr_arg(x->context, 1))); /* pointer */
    REFUSED(where, tile_function_add_where(x->kernel, NULL));
    REFUSED(where, tile_function_add_where(x->kernel, tile_expr_float(x->context, NAN)));
}

Test(misuse, order_of_tiles) {
    const char *group = "n of rows(n) and columns(n) may depend on compile-time parameters only";
    const tile_expr *two = NULL;
    REFUSED("`raster` must be rows(n) or columns(n)",
            tile_function_set_raster(x->kernel, (tile_raster)77, two));
    REFUSED(group, tile_function_set_raster(x->kernel, TILE_RASTER_ROWS, NULL));
    REFUSED(group,
            tile_function_set_raster(x->kernel, TILE_RASTER_NONE, tile_expr_int(x->context, 2)));
    REFUSED(group,
            tile_function_set_raster(x->kernel, TILE_RASTER_COLUMNS, tile_expr_arg(x->context, 0)));
    REFUSED("requires `persistent`",
            tile_function_set_persistent(x->kernel, false, tile_expr_block_id(x->context, 0)));
    REFUSED("the cost of a tile may depend on",
            tile_function_set_persistent(x->kernel, true, tile_expr_float(x->context, 1.5)));
    REFUSED("a condition requires `persistent`",
            tile_function_set_persistent(x->kernel, false, NULL);
            tile_function_set_persistent_if(x->kernel, tile_expr_int(x->context, 1)));
    REFUSED("`persistent if` may depend on compile-time parameters only",
            tile_function_set_persistent(x->kernel, true, NULL);
            tile_function_set_persistent_if(x->kernel, tile_expr_arg(x->context, 0)));
    REFUSED("the extent of dim 0 of the grid", set_grid(x, tile_expr_block_id(x->context, 0)));
}

/* A grid of four dims is refused where it is set. */
Test(misuse, dims_of_the_grid) {
    fixture x;
    open_kernel(&x);
    const tile_expr *one = tile_expr_int(x.context, 1), *four[] = {one, one, one, one};
    tile_function_set_cluster(x.kernel, 4, four);
    cr_expect_str_eq(x.last, "the cluster of @k has 1 to 3 dims, not 4");
    cr_expect_eq(tile_module_verify(x.module), TILE_OK);
    tile_function_set_grid(x.kernel, 4, four);
    cr_expect_str_eq(x.last, "the grid of @k has 1 to 3 dims, not 4");
    cr_expect_eq(tile_module_verify(x.module), TILE_INVALID);
    close_kernel(&x);
}

/* A compute that has no text form is refused. */
Test(misuse, computes) {
    for (unsigned i = 0; i < 9; i++) {
        fixture x;
        open_kernel(&x);
        const tile_expr *one = tile_expr_int(x.context, 1), *number = one;
        const char *name = "q";
        const int64_t dim = 8;
        tile_function *f = tile_function_create(x.module, TILE_COMPUTE, "c", (tile_loc){0});
        const tile_type *tensor = tile_type_tensor(x.context, TILE_f32, 1, &dim);
        tile_builder b = tile_builder_at_end(f, tile_function_body(f));
        tile_value from = tile_function_add_arg(f, "x", tensor);
        tile_function_add_arg(f, "s", tile_type_scalar(x.context, TILE_f32));
        tile_function_add_result(f, "y", tensor);
        tile_function_set_result(f, 0, tile_build_exp(&b, from));
        switch (i) {
        case 0: break;
        case 1: tile_function_set_grid(f, 1, &one); break;
        case 2: tile_function_set_cluster(f, 1, &one); break;
        case 3: tile_function_set_warps(f, one); break;
        case 4: tile_function_set_sync_explicit(f, true); break;
        case 5: tile_function_add_where(f, one); break;
        case 6: /* a constant for a name that is not a parameter */
            number = tile_expr_param(x.context, "nobody");
            break;
        case 7: number = tile_expr_arg(x.context, 1); break;
        case 8:
            tile_function_add_param(f, name, TILE_PARAM_int, one, NULL);
            tile_function_add_tune(f, 1, &name, 1, &one);
            break;
        }
        const tile_type *i32 = tile_type_scalar(x.context, TILE_i32);
        tile_function_add_result(f, "z", i32);
        tile_function_set_result(f, 1, tile_build_constant(&b, i32, number));
        cr_expect_eq(tile_function_verify(f), i ? TILE_INVALID : TILE_OK, "%u: %s", i, x.last);
        const char *words = i == 6 || i == 7 ? "a constant may depend on" : "a kernel's clause";
        cr_expect(!i || strstr(x.last, words), "%u: %s", i, x.last);
        close_kernel(&x);
    }
}

/* 2^64 nodes if it is traversed as a tree. */
Test(misuse, endless_expression) {
    REFUSED("the extent of dim 0 of the grid", const tile_expr *e = tile_expr_arg(x->context, 0);
            for (int i = 0; i < 64; i++) e = tile_expr_op(x->context, TILE_OP_mul, e, e, NULL);
            set_grid(x, e); tile_module_verify(x->module); set_grid(x, NULL));
}

static tile_value constant(fixture *x, tile_scalar scalar, const tile_expr *expr) {
    return tile_build_constant(&x->b, tile_type_scalar(x->context, scalar), expr);
}

Test(misuse, constants) {
    REFUSED("does not fit i32",
            tile_build_add(&x->b, x->n, tile_build_int(&x->b, INT64_C(1) << 40)));
    REFUSED("300 does not fit i8",
            tile_value v = constant(x, TILE_i8, tile_expr_int(x->context, 300));
            tile_build_add(&x->b, v, v));
    REFUSED("-1 does not fit u8",
            tile_value v = constant(x, TILE_u8, tile_expr_int(x->context, -1));
            tile_build_add(&x->b, v, v));
    REPORTED("both operands must have the same type, not u32 and i32",
             tile_build_add(&x->b, constant(x, TILE_u32, tile_expr_int(x->context, 1)), x->n));
    REFUSED("may depend on compile-time parameters only",
            tile_value v = constant(x, TILE_i32, tile_expr_param(x->context, "q"));
            tile_build_add(&x->b, v, v));
    REFUSED("may depend on compile-time parameters only",
            tile_value v = constant(x, TILE_i32, tile_expr_arg(x->context, 0));
            tile_build_add(&x->b, v, v));
    REPORTED("a constant needs", tile_build_constant(&x->b, NULL, tile_expr_int(x->context, 1)));
    REPORTED("a constant needs", constant(x, TILE_i32, NULL));
}

Test(misuse, types) {
    const int64_t dims[TILE_MAX_RANK + 1] = {16, 16, 16, 16, 16, 16, 16};
    REPORTED("there is no such type",
             tile_type_tile(x->context, TILE_f32, TILE_MAX_RANK + 1, dims));
    REPORTED("there is no such type", tile_type_scalar(x->context, (tile_scalar)99));
    REPORTED(
        "there is no such type", tile_layout layout; memset(&layout, 255, sizeof layout);
        tile_type_with_layout(x->context, tile_type_tile(x->context, TILE_f32, 1, dims), &layout));
    for (unsigned kind = 0; kind <= TILE_TYPE_DESCRIPTOR; kind++) {
        const bool flat =
            kind == TILE_TYPE_SCALAR || kind == TILE_TYPE_PTR || kind == TILE_TYPE_DESCRIPTOR;
        REPORTED("there is no such type",
                 tile_type draft = {.kind = (tile_type_kind)kind, .scalar = TILE_i32};
                 draft.rank = flat ? 4 : 0; tile_type_get(x->context, &draft));
    }
    REPORTED("there is no such type",
             tile_type draft = *tile_type_tile(x->context, TILE_f32, 1, dims);
             draft.stages = tile_expr_int(x->context, 2); tile_type_get(x->context, &draft));
    REPORTED("there is no such type",
             tile_type draft = *tile_type_tile(x->context, TILE_f32, 1, dims);
             draft.has_strides = true; tile_type_get(x->context, &draft));
    REPORTED("has no type", tile_function_add_arg(x->kernel, "z", NULL));
    REFUSED("no element type",
            tile_function_add_arg(x->kernel, "z", tile_type_scalar(x->context, TILE_SCALAR_NONE)));
    REFUSED("extents and strides in a type may depend on compile-time parameters only",
            tile_type draft = {.kind = TILE_TYPE_TILE, .scalar = TILE_f32, .rank = 1};
            draft.dims[0] = tile_expr_param(x->context, "nobody");
            tile_build_splat(&x->b, tile_build_float(&x->b, 1), tile_type_get(x->context, &draft)));
}

/* Larger than any thread can hold: 2^62 f32 are 2^64 bytes. */
Test(misuse, endless_vectors) {
    const char *message = "vector<f32[4611686018427387904]> has more than the 32768 elements";
    tile_type draft = {.kind = TILE_TYPE_VECTOR, .scalar = TILE_f32, .rank = 1};
#define ENDLESS \
    (draft.dims[0] = tile_expr_int(x->context, INT64_C(1) << 62), tile_type_get(x->context, &draft))
    REPORTED(message, tile_build_splat(&x->b, tile_build_float(&x->b, 1), ENDLESS));
    REPORTED("out of range of",
             tile_value v = tile_build_splat(&x->b, tile_build_float(&x->b, 1),
                                             tile_type_vector(x->context, TILE_f32, 4));
             tile_build_extract(&x->b, v, tile_build_int(&x->b, 1), ENDLESS));
    REPORTED("concat: vector<f32[65536]> has more than",
             tile_value v = tile_build_splat(&x->b, tile_build_float(&x->b, 1),
                                             tile_type_vector(x->context, TILE_f32, 32768));
             const tile_value both[] = {v, v}; tile_build_concat(&x->b, both, 2));
}

Test(misuse, places) {
    tile_value stranger = {12345};
    REPORTED("this value does not belong to @k", tile_build_add(&x->b, stranger, x->n));
    REPORTED("this value does not belong to @k", tile_build_if_else(&x->b, stranger, NULL, 0));
    REPORTED("this region does not belong to @k",
             tile_builder b = tile_builder_at_end(x->kernel, (tile_region){77});
             tile_build_add(&b, x->n, x->n));
    REPORTED("a result of `if` has no type",
             tile_build_if_else(&x->b, tile_build_lt(&x->b, x->n, x->n), NULL, 2));
    /* Operations that depend on a loop that was not built cause no second report. */
    REPORTED("", tile_op loop = tile_build_for_loop(&x->b, NO_VALUE, x->n, x->n, NULL, 0);
             tile_builder b = tile_builder_at_end(x->kernel, tile_op_region(x->kernel, loop, 0));
             tile_build_add(&b, x->n, x->n); tile_build_yield(&b, NULL, 0);
             tile_op_set_int(x->kernel, loop, TILE_ATTR_unroll, 2));
}

Test(misuse, attributes) {
    const int64_t dims[] = {16}, list[] = {1, 2};
#define ALLOC \
    tile_build_alloc_shared(&x->b, tile_type_shared(x->context, TILE_f32, 0, 1, dims)); \
    tile_op op = tile_region_first(x->kernel, tile_function_body(x->kernel))
    REFUSED("value of the wrong kind", ALLOC;
            tile_op_set_expr(x->kernel, op, TILE_ATTR_offset, NULL));
    REFUSED("value of the wrong kind", ALLOC;
            tile_op_set_list(x->kernel, op, TILE_ATTR_offset, list, 2));
    REFUSED("value of the wrong kind", ALLOC; tile_op_set_flag(x->kernel, op, TILE_ATTR_offset));
    REFUSED("value of the wrong kind", ALLOC;
            tile_op_set_expr(x->kernel, op, TILE_ATTR_offset, tile_expr_arg(x->context, 0)));
}

/* Attributes whose value has the wrong kind are refused, but can be printed. */
Test(misuse, attributes_of_other_kinds) {
    const int64_t list[] = {1, 2};
    const tile_loc no_location = {0};
#define ASSERT \
    tile_build_assert(&x->b, tile_build_lt(&x->b, x->n, x->n)); \
    tile_op op = \
        tile_op_next(x->kernel, tile_region_first(x->kernel, tile_function_body(x->kernel)))
    REFUSED("wrong kind", ASSERT; tile_op_set_int(x->kernel, op, TILE_ATTR_text, 1));
    REFUSED("wrong kind", ASSERT; tile_op_set_list(x->kernel, op, TILE_ATTR_text, list, 2));
#define LOAD \
    tile_value pointer = tile_function_arg(x->kernel, 1); \
    tile_build_ld_global(&x->b, pointer, &x->n, 1, NO_VALUE, \
                         tile_type_scalar(x->context, TILE_f32)); \
    tile_op op = tile_region_first(x->kernel, tile_function_body(x->kernel))
    REFUSED("", LOAD; tile_op_set_int(x->kernel, op, TILE_ATTR_pad, 1));
    REFUSED("", LOAD; tile_op_set_flag(x->kernel, op, TILE_ATTR_pad));
    REFUSED("", LOAD; tile_op_set_flag(x->kernel, op, TILE_ATTR_cache));
#define LAUNCH \
    tile_function *plan = tile_function_create(x->module, TILE_PLAN, "q", no_location); \
    tile_builder b = tile_builder_at_end(plan, tile_function_body(plan)); \
    tile_op op = tile_build_launch(&b, "k", NULL, 0, NULL, 0)
    REFUSED("", LAUNCH; tile_op_set_list(plan, op, TILE_ATTR_values, list, 2));
    REFUSED("", LAUNCH; tile_op_set_int(plan, op, TILE_ATTR_callee, 2));
    REFUSED("", LAUNCH; tile_op_set_int(plan, op, TILE_ATTR_otherwise, 2));
}

/* Printed text must parse again, so what has no text form is refused. */
Test(misuse, what_no_text_says) {
    REFUSED("from 1 to 2^30", tile_function_set_arg_divisible(x->kernel, 1, 1u << 31));
    REFUSED("nothing to print", tile_build_print(&x->b, NULL, 0, NULL, 0));
    REPORTED("the number of participating warps",
             tile_build_sync(&x->b, NO_VALUE, tile_build_int(&x->b, 1)));
}

Test(misuse, huge_elements) {
    REPORTED("out of range", const tile_type *four = tile_type_vector(x->context, TILE_i32, 4);
             tile_value v = tile_build_splat(&x->b, x->n, four);
             tile_build_extract(&x->b, v, tile_build_int(&x->b, INT64_MAX),
                                tile_type_vector(x->context, TILE_i32, 2)));
}

Test(misuse, segments) {
    const tile_value more[] = {{1}, {1}};
    const tile_segment tail = {{1}, more, 2}, absent = {{1}, NULL, 2}, head = {{1}, more, 1};
    REPORTED("neg: operand 'src' is one value: pass no tail",
             tile_build_op(&x->b, TILE_OP_neg, &tail, 1, NULL));
    REPORTED("scratch: operand 'extents' is a list: pass its values as the tail",
             tile_build_op(&x->b, TILE_OP_scratch, &head, 1, NULL));
    REPORTED("", tile_build_op(&x->b, TILE_OP_scratch, &absent, 1, NULL);
             tile_build_op(&x->b, TILE_OP_neg, NULL, 1, NULL));
}

/* Missing lists, invalid values, and attributes of other operations. */
Test(misuse, what_is_not_there) {
    const tile_param_value empty = {"n", NULL, NULL};
    REPORTED("", tile_build_neg(&x->b, x->n);
             tile_op op = tile_region_first(x->kernel, tile_function_body(x->kernel));
             tile_op_set_list(x->kernel, op, TILE_ATTR_order, NULL, 2));
    REFUSED("`tune` needs", tile_function_add_tune(x->kernel, 1, NULL, 1, NULL));
    REFUSED("neg has no attribute 'unsigned_lhs'", tile_build_neg(&x->b, x->n);
            tile_op op = tile_region_first(x->kernel, tile_function_body(x->kernel));
            tile_op_set_flag(x->kernel, op, TILE_ATTR_unsigned_lhs));
    REFUSED("there is no compute @c", tile_function_set_reference(x->kernel, "c", &empty, 1));
    REFUSED("the result %c is never computed",
            tile_function *c = tile_function_create(x->module, TILE_COMPUTE, "f", (tile_loc){0});
            tile_function_add_result(c, "c", tile_type_scalar(x->context, TILE_f32));
            tile_function_set_result(c, 0, (tile_value){999}));
}

Test(misuse, indices_past_the_end) {
    REPORTED("", tile_function_set_arg_divisible(x->kernel, 50, 3);
             tile_function_set_arg_noalias(x->kernel, 50, true);
             tile_function_set_arg_const(x->kernel, 50, true);
             tile_function_set_result(x->kernel, 3, x->n);
             cr_expect_null(tile_function_arg_name(x->kernel, 9));
             cr_expect_null(tile_function_arg_type(x->kernel, 9));
             cr_expect_null(tile_function_result_name(x->kernel, 9));
             cr_expect_eq(tile_function_arg_divisible(x->kernel, 9), 0);
             cr_expect_eq(tile_scalar_bits((tile_scalar)-1), 0));
}

Test(misuse, compiling) {
    fixture x;
    open_kernel(&x);
    tile_blob blob;
    const tile_binding holes[] = {{NULL, NULL}, {"a", NULL}};
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_80")};
    cr_expect_eq(tile_run_passes(x.module, NULL, NULL), TILE_OK);
    cr_expect_eq(tile_instantiate(x.module, NULL, NULL, 0), TILE_INVALID);
    cr_expect_eq(tile_instantiate(x.module, "k", holes, 2), TILE_INVALID);
    cr_expect_eq(tile_compile(x.module, "k", NULL, 3, &options, &blob, NULL), TILE_INVALID);
    cr_expect_eq(tile_compile(x.module, "nobody", NULL, 0, &options, &blob, NULL), TILE_INVALID);
    cr_expect_eq(tile_compile(x.module, "k", NULL, 0, NULL, &blob, NULL), TILE_INVALID);
    const tile_blob empty = {0};
    cr_expect_eq(tile_emit(x.kernel, (tile_emit_kind)7, &options, &blob), TILE_INVALID);
    cr_expect_str_eq(x.last, "there is no output of kind 7");
    /* LLVM would accept sm_1234 as a processor and print a warning. */
    const tile_target invented = {.name = "sm_1234", .architecture = "sm_1234"},
                      nameless = {.name = NULL};
    tile_target changed = *options.target;
    changed.max_shared_bytes *= 2;
    const tile_target *const wrong[] = {&invented, &nameless, &changed, NULL};
    for (unsigned i = 0; i < 4; i++) {
        const tile_emit_options bad = {.size = sizeof bad, .target = wrong[i]};
        cr_expect_eq(tile_emit(x.kernel, TILE_EMIT_PTX, &bad, &blob), TILE_INVALID);
        cr_expect_null(blob.data);
        cr_expect_eq(tile_assemble(x.context, &empty, wrong[i], "/none", &blob), TILE_INVALID);
        cr_expect(strstr(x.last, "target"), "%s", x.last);
    }
    const tile_target copy = *options.target;
    const tile_emit_options good = {.size = sizeof good, .target = &copy};
    cr_expect_eq(tile_emit(x.kernel, TILE_EMIT_PTX, &good, &blob), TILE_OK);
    tile_blob_destroy(&blob);
    cr_expect_eq(tile_assemble(x.context, &empty, options.target, "/none", &blob), TILE_INVALID);
    cr_expect_eq(tile_assemble(x.context, &empty, NULL, NULL, &blob), TILE_INVALID);
    close_kernel(&x);
}

/* Fields of options without a size would be ignored: the call must fail and name the struct. */
Test(misuse, options_without_size) {
    fixture x;
    open_kernel(&x);
    tile_blob blob;
    tile_device *device;
    tile_kernel *kernel;
    tile_measurement taken;
    tile_cache *cache;
    tile_artifact_key key;
    tile_tuning *tuning;
    int64_t grid[3];
    const tile_target *target = tile_target_find("sm_80");
    const int64_t args[2] = {0};
    const tile_argument arguments[2] = {{.integer = 0}};
#define UNSIZED(type, call) \
    do { \
        x.last[0] = 0; \
        cr_expect_eq((call), TILE_INVALID, "%s", #call); \
        cr_expect_str_eq(x.last, #type ".size is 0: set it to sizeof(" #type ")"); \
    } while (0)
    cr_assert_eq(tile_device_create_cpu(x.context, &(tile_device_options){0}, &device), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, x.module, "k", NULL, 0, &kernel), TILE_OK);
    UNSIZED(tile_measure_options, tile_measure(kernel, arguments, 2, NULL,
                                               &(tile_measure_options){.repeats = 3}, &taken));
    UNSIZED(tile_tune_options, tile_tune(device, x.module, "k", NULL, 0,
                                         &(tile_tune_options){.unchecked = true}, &tuning));
    tile_tuning_destroy(tuning);
    tile_kernel_destroy(kernel);
    tile_device_destroy(device);
    UNSIZED(tile_device_options,
            tile_device_create_cpu(x.context, &(tile_device_options){.level = 2}, &device));
    UNSIZED(tile_cache_options,
            tile_cache_create(x.context, "/none", &(tile_cache_options){.max_bytes = 1}, &cache));
    UNSIZED(tile_build_options,
            tile_artifact_make_key(x.module, "k", &(tile_build_options){.target = target}, &key));
    UNSIZED(tile_pass_options,
            tile_run_passes(x.module, "dce", &(tile_pass_options){.target = target}));
    UNSIZED(tile_emit_options,
            tile_emit(x.kernel, TILE_EMIT_PTX, &(tile_emit_options){.target = target}, &blob));
    UNSIZED(tile_emit_options, tile_compile(x.module, "k", NULL, 0,
                                            &(tile_emit_options){.target = target}, &blob, NULL));
    UNSIZED(tile_dump_options,
            tile_annotate(&(tile_dump_options){.kernel = x.kernel}, &blob, &blob));
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi);
    UNSIZED(tile_launch_facts, tile_abi_grid(abi, args, &(tile_launch_facts){.num_sms = 1}, grid));
    UNSIZED(tile_launch_facts,
            tile_abi_scratch(abi, args, &(tile_launch_facts){.num_sms = 1}, &grid[0], &grid[1]));
    tile_abi_destroy(abi);
#undef UNSIZED
    /* An unknown name: the known ones are listed. */
    const tile_emit_options unknown = {.size = sizeof unknown, .target = tile_target_find("sm_81")};
    cr_expect_eq(tile_compile(x.module, "k", NULL, 0, &unknown, &blob, NULL), TILE_INVALID);
    cr_expect(strstr(x.last, "tile_target_find returns for an unknown name"), "%s", x.last);
    cr_expect(strstr(x.last, "sm_90a"), "%s", x.last);
    close_kernel(&x);
}

/* Unverified IR: the functions that take it report the errors. */
Test(misuse, compiling_what_is_invalid) {
    fixture x;
    open_kernel(&x);
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_80")};
    const tile_pass_options unlooked = {.size = sizeof unlooked, .skip_verify = true};
    tile_blob blob;
    tile_build_if_else(&x.b, tile_build_lt(&x.b, x.n, x.n), NULL, 0); /* the yield is missing */
    cr_expect_eq(tile_run_passes(x.module, "canonicalize", NULL), TILE_INVALID);
    cr_expect(strstr(x.last, "must end with `yield`"), "%s", x.last);
    x.last[0] = 0;
    cr_expect_eq(tile_run_passes(x.module, "", &unlooked), TILE_OK);
    cr_expect_eq(tile_compile(x.module, "k", NULL, 0, &options, &blob, NULL), TILE_INVALID);
    cr_expect(strstr(x.last, "must end with `yield`"), "%s", x.last);
    close_kernel(&x);
}

/* A compute whose result is never set. */
Test(misuse, running_what_is_invalid) {
    fixture x;
    open_kernel(&x);
    float number = 1;
    const int64_t dim = 1;
    const tile_type *tensor = tile_type_tensor(x.context, TILE_f32, 1, &dim);
    tile_function *f = tile_function_create(x.module, TILE_COMPUTE, "c", (tile_loc){0});
    tile_function_add_arg(f, "x", tensor);
    tile_function_add_result(f, "y", tensor);
    tile_compute_array in = {TILE_f32, 1, {1}, &number}, out = in;
    cr_expect_eq(tile_compute_run(f, &in, 1, &out, 1), TILE_INVALID);
    cr_expect(strstr(x.last, "%y is never computed"), "%s", x.last);
    cr_expect_eq(tile_compute_shapes(f, &in, 1, &out, 1), TILE_INVALID);
    close_kernel(&x);
}

Test(misuse, launching) {
    fixture x;
    open_kernel(&x);
    tile_device *device;
    tile_kernel *kernel;
    const tile_binding hole = {"a", NULL};
    cr_assert_eq(tile_device_create_cpu(x.context, NULL, &device), TILE_OK);
    cr_expect_eq(tile_kernel_create(device, x.module, NULL, NULL, 0, &kernel), TILE_INVALID);
    cr_expect_eq(tile_kernel_create(device, x.module, "k", &hole, 1, &kernel), TILE_INVALID);
    cr_expect_eq(tile_kernel_create(device, x.module, "k", NULL, 1, &kernel), TILE_INVALID);
    fixture stranger;
    open_kernel(&stranger);
    cr_expect_eq(tile_kernel_create(device, stranger.module, "k", NULL, 0, &kernel), TILE_INVALID);
    cr_expect_str_eq(x.last, "@k belongs to a module of another context than device cpu");
    cr_expect_null(kernel);
    close_kernel(&stranger);
    cr_assert_eq(tile_kernel_create(device, x.module, "k", NULL, 0, &kernel), TILE_OK);
    cr_expect_eq(tile_kernel_launch(kernel, NULL, 0, NULL), TILE_INVALID);
    cr_expect_eq(tile_kernel_launch(kernel, NULL, 2, NULL), TILE_INVALID);
    double time;
    cr_expect_eq(tile_kernel_time(kernel, NULL, 2, 0, UINT32_MAX, true, &time), TILE_INVALID);
    tile_buffer *nothing;
    cr_expect_eq(tile_buffer_wrap(device, 0, 64, &nothing), TILE_INVALID);
    cr_expect_null(nothing);
    tile_kernel_destroy(kernel);
    tile_device_destroy(device);
    close_kernel(&x);
}
