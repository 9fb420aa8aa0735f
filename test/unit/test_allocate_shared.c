/* The allocate-shared pass: which buffers may share memory, and the limit. */
#include "pass_fixture.h"

static int64_t offset_of(const pass_fixture *x, tile_value buffer) {
    return tile_op_attr_int(x->kernel, tile_value_def(x->kernel, buffer), TILE_ATTR_offset, -1);
}

static void fill(tile_builder *b, tile_value view, tile_value buffer) {
    const tile_value zeros[] = {tile_build_int(b, 0), tile_build_int(b, 0)};
    tile_build_copy(b, view, zeros, 2, buffer, NULL, 0, TILE_NO_VALUE);
}

static void drain(tile_builder *b, tile_value view, tile_value buffer) {
    const tile_value zeros[] = {tile_build_int(b, 0), tile_build_int(b, 0)};
    tile_build_copy(b, buffer, NULL, 0, view, zeros, 2, TILE_NO_VALUE);
}

static void fill_async(tile_builder *b, tile_value view, tile_value buffer) {
    const tile_value zeros[] = {tile_build_int(b, 0), tile_build_int(b, 0)};
    tile_build_copy_async(b, view, zeros, 2, buffer, NULL, 0, TILE_NO_VALUE, NULL, 0,
                          TILE_NO_VALUE);
}

static void wait_all(tile_builder *b) {
    tile_build_wait_group(b, tile_build_int(b, 0));
}

static bool overlap(const pass_fixture *x, tile_value a, int64_t a_size, tile_value b,
                    int64_t b_size) {
    int64_t at = offset_of(x, a), bt = offset_of(x, b);
    cr_expect(at >= 0 && bt >= 0 && at % 128 == 0 && bt % 128 == 0);
    return at < bt + b_size && bt < at + a_size;
}

enum { SMALL = 64 * 64 * 2, LARGE = 128 * 64 * 2 };

typedef struct two_buffers {
    tile_value view, small, large;
} two_buffers;

static two_buffers open_two(pass_fixture *x) {
    fixture_open(x);
    x->watched = "bytes of shared memory";
    two_buffers t = {.view = fixture_view(x, "g", TILE_f16, 128, 64, false)};
    t.small = fixture_buffer(x, "small", 0, 64, 64);
    t.large = fixture_buffer(x, "large", 0, 128, 64);
    return t;
}

static void run_and_close(pass_fixture *x, const two_buffers *t, bool together) {
    cr_assert_eq(fixture_run(x, tile_pass_allocate_shared), TILE_OK, "%s", x->messages);
    cr_expect_eq(overlap(x, t->small, SMALL, t->large, LARGE), !together);
    cr_expect_eq(x->statistic, together ? SMALL + LARGE : LARGE);
    fixture_close(x);
}

Test(allocate_shared, one_after_the_other_share_bytes) {
    pass_fixture x;
    two_buffers t = open_two(&x);
    fill(&x.b, t.view, t.small);
    drain(&x.b, t.view, t.small);
    fill(&x.b, t.view, t.large);
    drain(&x.b, t.view, t.large);
    run_and_close(&x, &t, false);
}

Test(allocate_shared, used_at_the_same_time_do_not) {
    pass_fixture x;
    two_buffers t = open_two(&x);
    fill(&x.b, t.view, t.small);
    fill(&x.b, t.view, t.large);
    drain(&x.b, t.view, t.small);
    drain(&x.b, t.view, t.large);
    run_and_close(&x, &t, true);
}

/* In the body the buffers are used one after the other, but `small` carries data to the next
 * iteration. */
Test(allocate_shared, a_loop_around_the_uses_keeps_a_buffer) {
    pass_fixture x;
    two_buffers t = open_two(&x);
    fill(&x.b, t.view, t.small);
    tile_op loop = tile_build_for_loop(&x.b, tile_build_int(&x.b, 0), tile_build_int(&x.b, 4),
                                       tile_build_int(&x.b, 1), NULL, 0);
    tile_builder body = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, loop, 0));
    drain(&body, t.view, t.small);
    fill(&body, t.view, t.large);
    drain(&body, t.view, t.large);
    tile_build_yield(&body, NULL, 0);
    run_and_close(&x, &t, true);
}

Test(allocate_shared, a_copy_under_way_keeps_its_buffer) {
    for (int waits = 0; waits < 2; waits++) {
        pass_fixture x;
        two_buffers t = open_two(&x);
        fill_async(&x.b, t.view, t.small);
        tile_build_commit_group(&x.b);
        tile_build_free_shared(&x.b, t.small);
        if (waits) wait_all(&x.b);
        fill(&x.b, t.view, t.large);
        drain(&x.b, t.view, t.large);
        if (!waits) wait_all(&x.b);
        run_and_close(&x, &t, !waits);
    }
}

/* A wait on only one branch does not end the copy. */
Test(allocate_shared, a_wait_that_may_not_run_does_not_count) {
    pass_fixture x;
    two_buffers t = open_two(&x);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false);
    fill_async(&x.b, t.view, t.small);
    tile_build_commit_group(&x.b);
    tile_op branch =
        tile_build_if_else(&x.b, tile_build_lt(&x.b, n, tile_build_int(&x.b, 3)), NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        tile_builder b = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, branch, r));
        if (r == 0) wait_all(&b);
        tile_build_yield(&b, NULL, 0);
    }
    fill(&x.b, t.view, t.large);
    drain(&x.b, t.view, t.large);
    run_and_close(&x, &t, true);
}

/* The copy of one iteration is in flight in the next one, where the loop's first buffer is in
 * use. */
Test(allocate_shared, a_copy_under_way_lives_through_its_loop) {
    pass_fixture x;
    fixture_open(&x);
    x.watched = "bytes of shared memory";
    two_buffers t = {.view = fixture_view(&x, "g", TILE_f16, 128, 64, false)};
    const int64_t small[] = {64, 64}, large[] = {128, 64};
    tile_op loop = tile_build_for_loop(&x.b, tile_build_int(&x.b, 0), tile_build_int(&x.b, 4),
                                       tile_build_int(&x.b, 1), NULL, 0);
    tile_builder body = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, loop, 0));
    t.large = tile_build_alloc_shared(&body, tile_type_shared(x.context, TILE_f16, 0, 2, large));
    fill(&body, t.view, t.large);
    drain(&body, t.view, t.large);
    t.small = tile_build_alloc_shared(&body, tile_type_shared(x.context, TILE_f16, 0, 2, small));
    fill_async(&body, t.view, t.small);
    tile_build_commit_group(&body);
    tile_build_yield(&body, NULL, 0);
    wait_all(&x.b);
    run_and_close(&x, &t, true);
}

Test(allocate_shared, explicit_kernels_reuse_only_what_is_freed) {
    for (int freed = 0; freed < 2; freed++) {
        pass_fixture x;
        two_buffers t = open_two(&x);
        tile_function_set_sync_explicit(x.kernel, true);
        fill(&x.b, t.view, t.small);
        tile_build_sync(&x.b, TILE_NO_VALUE, TILE_NO_VALUE);
        drain(&x.b, t.view, t.small);
        tile_build_sync(&x.b, TILE_NO_VALUE, TILE_NO_VALUE);
        if (freed) tile_build_free_shared(&x.b, t.small);
        t.large = fixture_buffer(&x, "late", 0, 128, 64);
        fill(&x.b, t.view, t.large);
        cr_assert_eq(fixture_run(&x, tile_pass_allocate_shared), TILE_OK, "%s", x.messages);
        cr_expect_eq(overlap(&x, t.small, SMALL, t.large, LARGE), freed);
        fixture_close(&x);
    }
}

static tile_value convert(pass_fixture *x) {
    const int64_t dims[] = {64, 64};
    const tile_type *f16 = tile_type_scalar(x->context, TILE_f16);
    tile_value one = tile_build_constant(&x->b, f16, tile_expr_float(x->context, 1.0));
    tile_value tile = tile_build_splat(&x->b, one, fixture_tile(x, TILE_f16, 64, 64));
    tile_value buffer =
        tile_build_alloc_shared(&x->b, tile_type_shared(x->context, TILE_f16, 0, 2, dims));
    tile_build_convert_layout(&x->b, tile, buffer, tile_value_type(x->kernel, tile));
    tile_build_free_shared(&x->b, buffer);
    return buffer;
}

/* The user's barriers do not cover the exchange between threads that the compiler generates. */
Test(allocate_shared, explicit_kernels_do_not_reuse_a_conversions_buffer) {
    pass_fixture x;
    two_buffers t = open_two(&x);
    tile_function_set_sync_explicit(x.kernel, true);
    tile_build_free_shared(&x.b, t.large);
    tile_value first = convert(&x), second = convert(&x);
    t.small = fixture_buffer(&x, "late", 0, 64, 64);
    fill(&x.b, t.view, t.small);
    cr_assert_eq(fixture_run(&x, tile_pass_allocate_shared), TILE_OK, "%s", x.messages);
    cr_expect(overlap(&x, first, SMALL, second, SMALL));
    cr_expect(overlap(&x, first, SMALL, t.large, LARGE));
    cr_expect_not(overlap(&x, first, SMALL, t.small, SMALL));
    fixture_close(&x);
}

Test(allocate_shared, stages_are_rounded_up) {
    pass_fixture x;
    fixture_open(&x);
    x.watched = "bytes of shared memory";
    tile_value view = fixture_view(&x, "g", TILE_f16, 4, 1, false);
    tile_value buffer = fixture_buffer(&x, "s", 3, 4, 1);
    const tile_value zeros[] = {tile_build_int(&x.b, 0), tile_build_int(&x.b, 0)};
    tile_build_copy(&x.b, view, zeros, 2, buffer, zeros, 1, TILE_NO_VALUE);
    cr_assert_eq(fixture_run(&x, tile_pass_allocate_shared), TILE_OK, "%s", x.messages);
    cr_expect_eq(x.statistic, 3 * 16);
    fixture_close(&x);
}

Test(allocate_shared, too_much_names_what_lives_together) {
    pass_fixture x;
    two_buffers t = open_two(&x);
    tile_value early = fixture_buffer(&x, "early", 0, 64, 64);
    tile_value ring = fixture_buffer(&x, "ring", 10, 128, 64);
    const tile_value zeros[] = {tile_build_int(&x.b, 0), tile_build_int(&x.b, 0)};
    fill(&x.b, t.view, early);
    fill(&x.b, t.view, t.small);
    tile_build_copy(&x.b, t.view, zeros, 2, ring, zeros, 1, TILE_NO_VALUE);
    drain(&x.b, t.view, t.small);
    cr_expect_eq(fixture_run(&x, tile_pass_allocate_shared), TILE_UNSUPPORTED);
    cr_expect(strstr(x.messages, "@k needs 172032 bytes of shared memory, sm_80 has 166912"), "%s",
              x.messages);
    cr_expect(strstr(x.messages, "%ring takes 163840 bytes: shared<f16[10][128, 64]>"), "%s",
              x.messages);
    cr_expect(strstr(x.messages, "%small takes 8192 bytes: shared<f16[64, 64]>"), "%s", x.messages);
    cr_expect_not(strstr(x.messages, "%early"), "%s", x.messages);
    fixture_close(&x);
}
