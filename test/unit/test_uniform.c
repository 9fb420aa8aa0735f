/* Which values differ between threads. */
#include "lib/analysis/uniform.h"

#include "pass_fixture.h"

Test(uniform, divergence_goes_through_arithmetic_loops_and_branches) {
    pass_fixture x;
    fixture_open(&x);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false), one = tile_build_int(&x.b, 1);
    tile_value thread = tile_build_thread_id(&x.b);
    tile_value mixed = tile_build_add(&x.b, thread, n), same = tile_build_add(&x.b, n, one);
    const tile_value inits[] = {n, n};
    tile_op loop = tile_build_for_loop(&x.b, n, same, one, inits, 2);
    tile_region region = tile_op_region(x.kernel, loop, 0);
    tile_builder body = tile_builder_at_end(x.kernel, region);
    /* The first carried value becomes divergent in the first iteration. */
    const tile_value next[] = {tile_build_add(&body, tile_region_arg(x.kernel, region, 1), thread),
                               tile_build_add(&body, tile_region_arg(x.kernel, region, 2), one)};
    tile_build_yield(&body, next, 2);
    const tile_type *i32 = tile_type_scalar(x.context, TILE_i32);
    tile_op branch = tile_build_if_else(&x.b, tile_build_lt(&x.b, thread, n), &i32, 1);
    tile_builder arms[2];
    for (unsigned r = 0; r < 2; r++) {
        arms[r] = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, branch, r));
        tile_build_sync(&arms[r], TILE_NO_VALUE, TILE_NO_VALUE);
        tile_build_yield(&arms[r], r ? &n : &one, 1);
    }
    cr_assert_eq(tile_function_verify(x.kernel), TILE_OK, "%s", x.messages);

    const bool *divergent = tile_divergent_values(x.kernel, &x.scratch);
    cr_expect(divergent[thread.id] && divergent[mixed.id] && !divergent[same.id]);
    cr_expect(divergent[tile_op_result(x.kernel, loop, 0).id]);
    cr_expect(divergent[tile_region_arg(x.kernel, region, 1).id]);
    cr_expect_not(divergent[tile_op_result(x.kernel, loop, 1).id]);
    cr_expect_not(divergent[tile_region_arg(x.kernel, region, 0).id]);
    cr_expect(divergent[tile_op_result(x.kernel, branch, 0).id]);
    tile_op sync = tile_region_first(x.kernel, tile_op_region(x.kernel, branch, 0));
    cr_expect_eq(tile_divergent_control(x.kernel, divergent, sync).id, branch.id);
    tile_op inner = tile_region_first(x.kernel, region);
    cr_expect_eq(tile_divergent_control(x.kernel, divergent, inner).id, 0u);
    fixture_close(&x);
}
