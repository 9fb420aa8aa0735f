/* Which threads execute an operation, and the barriers that are inserted for them. */
#include "lib/analysis/executors.h"

#include "test/unit/pass_fixture.h"

Test(executors, the_block) {
    pass_fixture x;
    fixture_open(&x);
    tile_executors who = tile_executors_of_block(x.kernel);
    cr_expect_eq(who.first, 0);
    cr_expect_eq(who.warps, 4);
    cr_expect_eq(tile_warp_bits(who), 2);
    tile_executors inside = tile_executors_in(x.kernel, tile_function_body(x.kernel));
    cr_expect_eq(inside.warps, 4);
    tile_build_sync_for(&x.b, inside);
    cr_expect_str_eq(fixture_outline(&x), "sync");
    fixture_close(&x);
}

Test(executors, a_parameter_decides) {
    pass_fixture x;
    fixture_open(&x);
    tile_function_set_warps(x.kernel, tile_expr_param(x.context, "w"));
    cr_expect_eq(tile_executors_of_block(x.kernel).warps, 0);
    fixture_close(&x);
}
