/* The pipeline pass: which loads are staged, which are not and why, and the user's lists. */
#include "pass_fixture.h"

enum { BLOCK = 64, DEPTH = 32 };

/* for %i = 0 to 1024 step 32 iter (%sum = 0.0) pipelined (stages): fill() writes the body. */
typedef struct loop_parts {
    tile_value a, b, c; /* views [64, 1024], [1024, 64], [64, 64] */
    tile_op loop;
    tile_builder body;
    tile_value iv, sum;
} loop_parts;

static loop_parts open_loop(pass_fixture *x, int64_t stages) {
    loop_parts p = {.a = fixture_view(x, "a", TILE_f16, BLOCK, 1024, false),
                    .b = fixture_view(x, "b", TILE_f16, 1024, BLOCK, false),
                    .c = fixture_view(x, "c", TILE_f32, BLOCK, BLOCK, false)};
    tile_value zero = tile_build_splat(&x->b, tile_build_float(&x->b, 0.0),
                                       fixture_tile(x, TILE_f32, BLOCK, BLOCK));
    p.loop = tile_build_for_loop(&x->b, tile_build_int(&x->b, 0), tile_build_int(&x->b, 1024),
                                 tile_build_int(&x->b, DEPTH), &zero, 1);
    tile_op_set_int(x->kernel, p.loop, TILE_ATTR_pipelined, stages);
    tile_region body = tile_op_region(x->kernel, p.loop, 0);
    p.body = tile_builder_at_end(x->kernel, body);
    p.iv = tile_region_arg(x->kernel, body, 0);
    p.sum = tile_region_arg(x->kernel, body, 1);
    return p;
}

static void close_loop(pass_fixture *x, loop_parts *p, tile_value sum) {
    tile_build_yield(&p->body, &sum, 1);
    const tile_value zeros[] = {tile_build_int(&x->b, 0), tile_build_int(&x->b, 0)};
    tile_build_store(&x->b, tile_op_result(x->kernel, p->loop, 0), p->c, zeros, 2, TILE_NO_VALUE);
}

static tile_value load_a(pass_fixture *x, loop_parts *p, tile_value column) {
    const tile_value at[] = {tile_build_int(&p->body, 0), column};
    return tile_build_load(&p->body, p->a, at, 2, TILE_NO_VALUE,
                           fixture_tile(x, TILE_f16, BLOCK, DEPTH));
}

static tile_value load_b(pass_fixture *x, loop_parts *p, tile_value row) {
    const tile_value at[] = {row, tile_build_int(&p->body, 0)};
    return tile_build_load(&p->body, p->b, at, 2, TILE_NO_VALUE,
                           fixture_tile(x, TILE_f16, DEPTH, BLOCK));
}

static tile_value dot(loop_parts *p, tile_value a, tile_value b) {
    return tile_build_dot(&p->body, a, NULL, 0, b, NULL, 0, p->sum);
}

static void build_matmul(pass_fixture *x, int64_t stages) {
    loop_parts p = open_loop(x, stages);
    tile_value a = load_a(x, &p, p.iv), b = load_b(x, &p, p.iv);
    close_loop(x, &p, dot(&p, a, b));
}

static void copy_a(loop_parts *p, tile_value buffer) {
    const tile_value at[] = {tile_build_int(&p->body, 0), p->iv};
    tile_build_copy(&p->body, p->a, at, 2, buffer, NULL, 0, TILE_NO_VALUE);
}

#define EXPECT_OUTLINE(x, text) cr_expect_str_eq(fixture_outline(x), text, "%s", fixture_outline(x))
#define EXPECT_MESSAGE(x, text) cr_expect(strstr((x)->messages, text), "%s", (x)->messages)

Test(pipeline, loads_for_a_dot_become_a_ring) {
    pass_fixture x;
    fixture_open(&x);
    build_matmul(&x, 3);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_OUTLINE(&x, "for {if {copy_async copy_async} commit_group} for {wait_group(1) if "
                       "{copy_async copy_async} commit_group dot} wait_group(0) store");
    cr_expect_str_empty(x.messages);
    fixture_close(&x);
}

Test(pipeline, two_stages_wait_for_everything) {
    pass_fixture x;
    fixture_open(&x);
    build_matmul(&x, 2);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_OUTLINE(&x, "if {copy_async copy_async} commit_group for {wait_group(0) if {copy_async "
                       "copy_async} commit_group dot} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, one_stage_copies_in_place) {
    pass_fixture x;
    fixture_open(&x);
    build_matmul(&x, 1);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_OUTLINE(&x, "for {copy copy dot} store");
    fixture_close(&x);
}

Test(pipeline, explicit_kernels_get_the_rings_barrier) {
    pass_fixture x;
    fixture_open(&x);
    build_matmul(&x, 2);
    tile_function_set_sync_explicit(x.kernel, true);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_OUTLINE(&x, "if {copy_async copy_async} commit_group for {wait_group(0) sync if "
                       "{copy_async copy_async} commit_group dot} wait_group(0) sync store");
    fixture_close(&x);
}

Test(pipeline, a_loaded_tile_with_other_uses_is_read_from_its_stage) {
    pass_fixture x;
    fixture_open(&x);
    loop_parts p = open_loop(&x, 2);
    tile_value a = load_a(&x, &p, p.iv), b = load_b(&x, &p, p.iv);
    tile_value doubled = tile_build_add(&p.body, a, a);
    tile_value first = dot(&p, a, b);
    p.sum = first;
    close_loop(&x, &p, dot(&p, doubled, b));
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_OUTLINE(&x, "if {copy_async copy_async} commit_group for {wait_group(0) if {copy_async "
                       "copy_async} commit_group load_shared dot dot} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, a_copied_buffer_gets_stages_wherever_it_is_made) {
    for (int inside = 0; inside < 2; inside++) {
        pass_fixture x;
        fixture_open(&x);
        tile_value outer = inside ? (tile_value){0} : fixture_buffer(&x, "s", 0, BLOCK, DEPTH);
        loop_parts p = open_loop(&x, 4);
        const int64_t dims[] = {BLOCK, DEPTH};
        tile_value buffer = inside ? tile_build_alloc_shared(
                                         &p.body, tile_type_shared(x.context, TILE_f16, 0, 2, dims))
                                   : outer;
        copy_a(&p, buffer);
        tile_value b = load_b(&x, &p, p.iv);
        tile_value sum = tile_build_dot(&p.body, buffer, NULL, 0, b, NULL, 0, p.sum);
        tile_build_free_shared(&p.body, buffer);
        close_loop(&x, &p, sum);
        cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
        cr_expect_eq(tile_type_stage_count(tile_value_type(x.kernel, buffer)), 4);
        EXPECT_OUTLINE(&x, "for {if {copy_async copy_async} commit_group} for {wait_group(2) "
                           "if {copy_async copy_async} commit_group dot} wait_group(0) store");
        fixture_close(&x);
    }
}

Test(pipeline, a_buffer_used_after_the_loop_stays) {
    pass_fixture x;
    fixture_open(&x);
    tile_value buffer = fixture_buffer(&x, "s", 0, BLOCK, DEPTH);
    loop_parts p = open_loop(&x, 3);
    copy_a(&p, buffer);
    tile_value b = load_b(&x, &p, p.iv);
    close_loop(&x, &p, tile_build_dot(&p.body, buffer, NULL, 0, b, NULL, 0, p.sum));
    tile_build_load_shared(&x.b, buffer, NULL, 0, fixture_tile(&x, TILE_f16, BLOCK, DEPTH));
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_MESSAGE(&x, "its buffer is used outside of the loop");
    EXPECT_OUTLINE(&x, "for {if {copy_async} commit_group} for {wait_group(1) "
                       "if {copy_async} commit_group copy dot} wait_group(0) store load_shared");
    fixture_close(&x);
}

/* The dot reads the copy of the previous iteration; with a ring it would read its own
 * iteration's. */
Test(pipeline, a_buffer_read_before_its_copy_stays) {
    pass_fixture x;
    fixture_open(&x);
    tile_value buffer = fixture_buffer(&x, "s", 0, BLOCK, DEPTH);
    loop_parts p = open_loop(&x, 3);
    tile_value b = load_b(&x, &p, p.iv);
    tile_value sum = tile_build_dot(&p.body, buffer, NULL, 0, b, NULL, 0, p.sum);
    copy_a(&p, buffer);
    close_loop(&x, &p, sum);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_MESSAGE(&x, "its buffer is read before the copy");
    EXPECT_OUTLINE(&x, "for {if {copy_async} commit_group} for {wait_group(1) "
                       "if {copy_async} commit_group dot copy} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, a_second_writer_of_the_buffer_keeps_it) {
    pass_fixture x;
    fixture_open(&x);
    tile_value buffer = fixture_buffer(&x, "s", 0, BLOCK, DEPTH);
    loop_parts p = open_loop(&x, 2);
    copy_a(&p, buffer);
    tile_value tile =
        tile_build_load_shared(&p.body, buffer, NULL, 0, fixture_tile(&x, TILE_f16, BLOCK, DEPTH));
    tile_build_store_shared(&p.body, tile_build_add(&p.body, tile, tile), buffer, NULL, 0);
    tile_value b = load_b(&x, &p, p.iv);
    close_loop(&x, &p, tile_build_dot(&p.body, buffer, NULL, 0, b, NULL, 0, p.sum));
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_MESSAGE(&x, "its buffer is written by another operation");
    EXPECT_OUTLINE(&x,
                   "if {copy_async} commit_group for {wait_group(0) if {copy_async} commit_group "
                   "copy load_shared store_shared dot} wait_group(0) store");
    fixture_close(&x);
}

static void build_loop_with_store(pass_fixture *x, bool noalias) {
    loop_parts p = open_loop(x, 2);
    tile_function_set_arg_noalias(x->kernel, 1, true);
    tile_function_set_arg_noalias(x->kernel, 2, noalias);
    tile_value a = load_a(x, &p, p.iv), b = load_b(x, &p, p.iv);
    const tile_value zeros[] = {tile_build_int(&p.body, 0), tile_build_int(&p.body, 0)};
    tile_build_store(&p.body, p.sum, p.c, zeros, 2, TILE_NO_VALUE);
    close_loop(x, &p, dot(&p, a, b));
}

Test(pipeline, a_source_written_in_the_loop_is_not_read_ahead) {
    pass_fixture x;
    fixture_open(&x);
    build_loop_with_store(&x, false); /* a may alias c, b may not */
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_MESSAGE(&x, "its source may be written in the loop");
    EXPECT_OUTLINE(&x,
                   "if {copy_async} commit_group for {wait_group(0) if {copy_async} commit_group "
                   "load store dot} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, noalias_lets_copies_run_ahead_of_stores) {
    pass_fixture x;
    fixture_open(&x);
    build_loop_with_store(&x, true);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_OUTLINE(&x, "if {copy_async copy_async} commit_group for {wait_group(0) if {copy_async "
                       "copy_async} commit_group store dot} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, an_address_that_the_loop_carries_is_not_known_ahead) {
    pass_fixture x;
    fixture_open(&x);
    tile_value a = fixture_view(&x, "a", TILE_f16, BLOCK, 1024, false);
    tile_value b = fixture_view(&x, "b", TILE_f16, 1024, BLOCK, false);
    tile_value inits[] = {tile_build_splat(&x.b, tile_build_float(&x.b, 0.0),
                                           fixture_tile(&x, TILE_f32, BLOCK, BLOCK)),
                          tile_build_int(&x.b, 0)};
    tile_op loop = tile_build_for_loop(&x.b, tile_build_int(&x.b, 0), tile_build_int(&x.b, 8),
                                       tile_build_int(&x.b, 1), inits, 2);
    tile_op_set_int(x.kernel, loop, TILE_ATTR_pipelined, 2);
    tile_region body = tile_op_region(x.kernel, loop, 0);
    loop_parts p = {.a = a, .b = b, .loop = loop, .body = tile_builder_at_end(x.kernel, body)};
    tile_value k = tile_region_arg(x.kernel, body, 2);
    p.sum = tile_region_arg(x.kernel, body, 1);
    tile_value iv =
        tile_build_mul(&p.body, tile_region_arg(x.kernel, body, 0), tile_build_int(&p.body, DEPTH));
    tile_value results[] = {dot(&p, load_a(&x, &p, k), load_b(&x, &p, iv)),
                            tile_build_add(&p.body, k, tile_build_int(&p.body, DEPTH))};
    tile_build_yield(&p.body, results, 2);
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK);
    EXPECT_MESSAGE(&x, "its address depends on a value that the loop carries");
    EXPECT_OUTLINE(&x,
                   "if {copy_async} commit_group for {wait_group(0) if {copy_async} commit_group "
                   "load dot} wait_group(0)");
    fixture_close(&x);
}

Test(pipeline, groups_in_the_loop_are_the_passes) {
    pass_fixture x;
    fixture_open(&x);
    loop_parts p = open_loop(&x, 2);
    tile_value sum = dot(&p, load_a(&x, &p, p.iv), load_b(&x, &p, p.iv));
    tile_build_commit_group(&p.body);
    close_loop(&x, &p, sum);
    cr_expect_eq(fixture_run(&x, tile_pass_pipeline), TILE_INVALID);
    EXPECT_MESSAGE(&x, "commit_group in a pipelined loop");
    fixture_close(&x);
}

/* Runs the matmul of three statements (load, load, dot) with the user's lists. */
static tile_status run_with_lists(pass_fixture *x, int64_t stages, const int64_t *order,
                                  const int64_t *stage, unsigned count) {
    fixture_open(x);
    build_matmul(x, stages);
    tile_op loop = tile_region_first(x->kernel, x->kernel->body);
    while (tile_op_opcode(x->kernel, loop) != TILE_OP_for) loop = tile_op_next(x->kernel, loop);
    if (order) tile_op_set_list(x->kernel, loop, TILE_ATTR_order, order, count);
    if (stage) tile_op_set_list(x->kernel, loop, TILE_ATTR_stage, stage, count);
    return fixture_run(x, tile_pass_pipeline);
}

Test(pipeline, a_shorter_distance_than_the_stages_allow) {
    pass_fixture x;
    const int64_t stage[] = {0, 0, 1};
    cr_assert_eq(run_with_lists(&x, 3, NULL, stage, 3), TILE_OK, "%s", x.messages);
    EXPECT_OUTLINE(&x, "if {copy_async copy_async} commit_group for {wait_group(0) if {copy_async "
                       "copy_async} commit_group dot} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, copies_may_come_last) {
    pass_fixture x;
    const int64_t order[] = {1, 2, 0}, stage[] = {0, 0, 1};
    cr_assert_eq(run_with_lists(&x, 2, order, stage, 3), TILE_OK, "%s", x.messages);
    EXPECT_OUTLINE(&x,
                   "if {copy_async copy_async} commit_group for {wait_group(0) dot if {copy_async "
                   "copy_async} commit_group} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, one_operand_may_stay_behind) {
    pass_fixture x;
    const int64_t stage[] = {0, 2, 2};
    cr_assert_eq(run_with_lists(&x, 3, NULL, stage, 3), TILE_OK, "%s", x.messages);
    EXPECT_OUTLINE(&x, "for {if {copy_async} commit_group} for {wait_group(1) "
                       "if {copy_async} commit_group load dot} wait_group(0) store");
    fixture_close(&x);
}

Test(pipeline, wrong_lists_are_errors) {
    static const struct {
        int64_t order[3], stage[3];
        unsigned count;
        const char *message;
    } cases[] = {
        {{0, 1, 0}, {0, 0, 2}, 2, "needs one entry for each of the body's 3 statements, it has 2"},
        {{0, 1, 1}, {0, 0, 2}, 3, "'order' must be a permutation of 0 to 2"},
        {{0, 1, 2}, {0, 0, 3}, 3, "stage 3 requires 4 stages, and `pipelined` gives 3"},
        {{0, 1, 2}, {0, 1, 2}, 3, "this load is in stage 1"},
        {{0, 1, 2}, {0, 2, 0}, 3, "'stage' puts this dot before the load that it depends on"},
        {{0, 2, 1}, {0, 2, 2}, 3, "'order' puts this dot before the load that it depends on"},
        {{0, 2, 1}, {0, 0, 2}, 3, "before or after all other statements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pass_fixture x;
        cr_expect_eq(run_with_lists(&x, 3, cases[i].order, cases[i].stage, cases[i].count),
                     TILE_INVALID);
        EXPECT_MESSAGE(&x, cases[i].message);
        fixture_close(&x);
    }
}

Test(pipeline, nested_loops_each_get_a_ring) {
    pass_fixture x;
    fixture_open(&x);
    loop_parts p = open_loop(&x, 2);
    tile_value a = load_a(&x, &p, p.iv);
    tile_op inner = tile_build_for_loop(&p.body, tile_build_int(&x.b, 0), tile_build_int(&x.b, 64),
                                        tile_build_int(&x.b, DEPTH), &p.sum, 1);
    tile_op_set_int(x.kernel, inner, TILE_ATTR_pipelined, 2);
    tile_region region = tile_op_region(x.kernel, inner, 0);
    loop_parts q = p;
    q.body = tile_builder_at_end(x.kernel, region);
    q.sum = tile_region_arg(x.kernel, region, 1);
    tile_value b = load_b(&x, &q, tile_region_arg(x.kernel, region, 0));
    tile_value sum = dot(&q, a, b);
    tile_build_yield(&q.body, &sum, 1);
    close_loop(&x, &p, tile_op_result(x.kernel, inner, 0));
    cr_assert_eq(fixture_run(&x, tile_pass_pipeline), TILE_OK, "%s", x.messages);
    EXPECT_OUTLINE(&x,
                   "if {copy_async} commit_group for {wait_group(0) if {copy_async} commit_group "
                   "if {copy_async} commit_group for {wait_group(0) if {copy_async} commit_group "
                   "dot} wait_group(0)} wait_group(0) store");
    fixture_close(&x);
}
