/* Which accesses can meet: stages, checked against arithmetic, and pointers. */
#include "lib/analysis/memory.h"

#include "pass_fixture.h"

static int64_t floor_mod(int64_t a, int64_t b) {
    return (a % b + b) % b;
}

/* mod(x + a, s), or x + a where s is 0. */
static tile_value build_stage(pass_fixture *x, tile_value base, int64_t a, int64_t s) {
    tile_value sum = tile_build_add(&x->b, base, tile_build_int(&x->b, a));
    return s ? tile_build_mod(&x->b, sum, tile_build_int(&x->b, s)) : sum;
}

static int64_t stage_value(int64_t base, int64_t a, int64_t s) {
    return s ? floor_mod(base + a, s) : base + a;
}

Test(memory, stages_that_are_told_apart_never_meet) {
    pass_fixture x;
    fixture_open(&x);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false);
    unsigned apart = 0;
    for (int64_t s = 0; s <= 4; s++)
        for (int64_t t = 0; t <= 4; t++)
            for (int64_t a = -3; a <= 5; a++)
                for (int64_t b = -3; b <= 5; b++) {
                    tile_value left = build_stage(&x, n, a, s), right = build_stage(&x, n, b, t);
                    if (tile_stages_may_meet(x.kernel, left, right)) continue;
                    apart++;
                    for (int64_t base = -20; base <= 20; base++)
                        cr_expect_neq(stage_value(base, a, s), stage_value(base, b, t));
                }
    cr_expect_gt(apart, 500u, "%u", apart);
    fixture_close(&x);
}

Test(memory, a_ring_is_told_apart) {
    pass_fixture x;
    fixture_open(&x);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false);
    for (int64_t s = 2; s <= 6; s++)
        for (int64_t c = 0; c <= 6; c++)
            cr_expect_eq(tile_stages_may_meet(x.kernel, n, build_stage(&x, n, c, s)), c % s == 0);
    cr_expect(tile_stages_may_meet(x.kernel, n, fixture_arg(&x, "m", TILE_i32, false)));
    cr_expect(tile_stages_may_meet(x.kernel, n, tile_build_int(&x.b, 0)));
    cr_expect_not(tile_stages_may_meet(x.kernel, tile_build_int(&x.b, 1), tile_build_int(&x.b, 0)));
    fixture_close(&x);
}

Test(memory, pointers_alias_unless_somebody_says_otherwise) {
    pass_fixture x;
    fixture_open(&x);
    tile_value a = fixture_view(&x, "a", TILE_f16, 8, 8, false);
    tile_value b = fixture_view(&x, "b", TILE_f16, 8, 8, false);
    tile_value alone = fixture_view(&x, "c", TILE_f16, 8, 8, true);
    const int64_t dims[] = {8};
    const tile_value extent[] = {tile_build_int(&x.b, 8)};
    const tile_type *type = tile_type_view(x.context, TILE_f16, 1, dims);
    tile_value first = tile_build_scratch(&x.b, extent, 1, type);
    tile_value second = tile_build_scratch(&x.b, extent, 1, type);
    cr_expect(tile_may_alias(x.kernel, a, b));
    cr_expect(tile_may_alias(x.kernel, alone, alone));
    cr_expect_not(tile_may_alias(x.kernel, a, alone));
    cr_expect_not(tile_may_alias(x.kernel, a, first));
    cr_expect_not(tile_may_alias(x.kernel, first, second));
    cr_expect(tile_may_alias(x.kernel, first, first));
    fixture_close(&x);
}

Test(memory, view_arguments_alias_as_their_pointers_do) {
    pass_fixture x;
    fixture_open(&x);
    const tile_type *f16 = tile_type_scalar(x.context, TILE_f16);
    const tile_expr *extent = tile_expr_int(x.context, 8);
    tile_value views[3];
    for (unsigned i = 0; i < 3; i++)
        views[i] = tile_function_add_view_arg(x.kernel, (const char *[]){"u", "v", "w"}[i], f16, 1,
                                              &extent, NULL);
    tile_function_set_arg_noalias(x.kernel, tile_function_arg_count(x.kernel) - 1, true);
    tile_value base = tile_build_base(&x.b, views[0]), other = tile_build_base(&x.b, views[2]);
    const tile_value eight = tile_build_int(&x.b, 8);
    tile_value again = tile_build_view(&x.b, base, &eight, 1, NULL, 0, NULL);
    cr_expect(tile_may_alias(x.kernel, views[0], views[1]));
    cr_expect(tile_may_alias(x.kernel, base, views[0]));
    cr_expect(tile_may_alias(x.kernel, again, base));
    cr_expect(tile_may_alias(x.kernel, other, views[2]));
    cr_expect_not(tile_may_alias(x.kernel, views[0], views[2]));
    cr_expect_not(tile_may_alias(x.kernel, again, other));
    fixture_close(&x);
}
