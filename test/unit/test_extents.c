/* Equality of extents by value: canonical forms agree with evaluation, and the builder and the
 * verifier accept any spelling. */
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compute.h"

#include "lib/ir/function.h"

enum { PARAMS = 3, POINTS = 24, EXPRESSIONS = 400 };

static const char *const names[PARAMS] = {"m", "n", "k"};

static uint64_t state = 88172645463325252u;

static uint64_t draw(uint64_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % limit;
}

static bool value_of(const char *name, int64_t *value, void *user) {
    for (int i = 0; i < PARAMS; i++)
        if (strcmp(names[i], name) == 0) *value = ((const int64_t *)user)[i];
    return true;
}

/* rings: only sums and products, which the canonical form decides. */
static const tile_expr *random_expr(tile_context *context, int depth, bool rings) {
    static const tile_opcode opcodes[] = {TILE_OP_add, TILE_OP_sub, TILE_OP_mul, TILE_OP_add,
                                          TILE_OP_sub, TILE_OP_shl, TILE_OP_div, TILE_OP_ceildiv,
                                          TILE_OP_min, TILE_OP_max, TILE_OP_rem};
    if (!depth || !draw(4))
        return draw(2) ? tile_expr_param(context, names[draw(PARAMS)])
                       : tile_expr_int(context, (int64_t)draw(5) - 1);
    tile_opcode opcode = opcodes[draw(rings ? 3 : sizeof opcodes / sizeof *opcodes)];
    const tile_expr *a = random_expr(context, depth - 1, rings);
    const tile_expr *b = random_expr(context, depth - 1, rings);
    return tile_expr_op(context, opcode, a, b, NULL);
}

/* Returns whether both have the same value at random points where both have one. *differ: whether
 * they have different values at all of these. */
static bool agree(const tile_expr *a, const tile_expr *b, bool *differ) {
    bool same = true;
    *differ = true;
    for (int i = 0; i < POINTS; i++) {
        int64_t params[PARAMS], x, y;
        for (int p = 0; p < PARAMS; p++) params[p] = (int64_t)draw(i % 2 ? 4 : 40);
        const tile_bindings bindings = {.param = value_of, .user = params};
        if (!tile_extent_eval(a, &bindings, &x) || !tile_extent_eval(b, &bindings, &y)) continue;
        same &= x == y;
        *differ &= x != y;
    }
    return same;
}

static void compare(text_fixture *x, const tile_expr *a, const tile_expr *b, bool rings,
                    int counts[2]) {
    bool differ, same = agree(a, b, &differ);
    bool equal = tile_extents_equal(x->context, a, b);
    cr_expect(!equal || same);
    cr_expect(!tile_extents_differ(x->context, a, b) || differ);
    if (rings) cr_expect_eq(equal, same);
    counts[equal]++;
}

static void compare_pairs(bool rings) {
    const tile_expr *exprs[EXPRESSIONS];
    int counts[2] = {0};
    bool ignored;
    text_fixture x;
    text_open(&x);
    for (int i = 0; i < EXPRESSIONS; i++) {
        exprs[i] = random_expr(x.context, 3, rings);
        const tile_expr *canonical = tile_extent_canonical(x.context, exprs[i]);
        cr_expect_eq(tile_extent_canonical(x.context, canonical), canonical);
        cr_expect(agree(exprs[i], canonical, &ignored));
        for (int k = 0; k < i; k++) compare(&x, exprs[i], exprs[k], rings, counts);
    }
    cr_expect_gt(counts[0], 1000);
    cr_expect_gt(counts[1], 50);
    text_close(&x);
}

Test(extents, equal_ones_have_equal_values) {
    compare_pairs(false);
}

Test(extents, sums_and_products_are_equal_if_their_values_are) {
    compare_pairs(true);
}

/* compute @f(%x: tensor<f32[h + h]>, %y: tensor<f32[2 * h]>) -> (%z: tensor<f32[3 * h - h]>) */
Test(extents, the_builder_takes_any_spelling) {
    text_fixture x;
    text_open(&x);
    tile_context *context = x.context;
    tile_module *module = tile_module_create(context);
    tile_function *f = tile_function_create(module, TILE_COMPUTE, "f", (tile_loc){0, 0, 0});
    tile_function_add_param(f, "h", TILE_PARAM_dim, NULL, NULL);
    const tile_expr *h = tile_expr_param(context, "h");
    const tile_expr *extents[] = {
        tile_expr_op(context, TILE_OP_add, h, h, NULL),
        tile_expr_op(context, TILE_OP_mul, tile_expr_int(context, 2), h, NULL),
        tile_expr_op(context, TILE_OP_sub,
                     tile_expr_op(context, TILE_OP_mul, tile_expr_int(context, 3), h, NULL), h,
                     NULL)};
    const tile_type *types[3];
    for (int i = 0; i < 3; i++)
        types[i] = tile_type_get(context, &(tile_type){.kind = TILE_TYPE_TENSOR,
                                                       .scalar = TILE_f32,
                                                       .rank = 1,
                                                       .dims = {extents[i]}});
    tile_value a = tile_function_add_arg(f, "x", types[0]),
               b = tile_function_add_arg(f, "y", types[1]);
    tile_function_add_result(f, "z", types[2]);
    tile_builder builder = tile_builder_at_end(f, tile_function_body(f));
    tile_value sum = tile_build_add(&builder, a, b);
    cr_expect_eq(tile_value_type(f, sum), types[0]);
    cr_expect(tile_type_equal(context, types[0], types[2]) && types[0] != types[2]);
    tile_function_set_result(f, 0, sum);
    cr_expect_eq(tile_function_verify(f), TILE_OK, "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}
