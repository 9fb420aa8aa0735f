/* The insert-barriers pass: every race gets a barrier, and no barrier is redundant. */
#include "pass_fixture.h"

#define EXPECT_OUTLINE(x, text) cr_expect_str_eq(fixture_outline(x), text, "%s", fixture_outline(x))

typedef struct parts {
    tile_value view, s, t; /* a view of f16 [64, 64], two buffers of that shape */
    const tile_type *tile;
    tile_value data; /* a tile in registers */
} parts;

static parts open_kernel(pass_fixture *x, unsigned stages) {
    fixture_open(x);
    x->watched = "barriers";
    parts p = {.view = fixture_view(x, "g", TILE_f16, 64, 64, false),
               .tile = fixture_tile(x, TILE_f16, 64, 64)};
    p.s = fixture_buffer(x, "s", stages, 64, 64);
    p.t = fixture_buffer(x, "t", stages, 64, 64);
    tile_op_set_int(x->kernel, tile_value_def(x->kernel, p.s), TILE_ATTR_offset, 0);
    tile_op_set_int(x->kernel, tile_value_def(x->kernel, p.t), TILE_ATTR_offset,
                    8192 * (stages ? stages : 1));
    const tile_type *f16 = tile_type_scalar(x->context, TILE_f16);
    p.data = tile_build_splat(
        &x->b, tile_build_constant(&x->b, f16, tile_expr_float(x->context, 1.0)), p.tile);
    return p;
}

static void put(tile_builder *b, const parts *p, tile_value buffer) {
    tile_build_store_shared(b, p->data, buffer, NULL, 0);
}

static void get(tile_builder *b, const parts *p, tile_value buffer) {
    tile_build_load_shared(b, buffer, NULL, 0, p->tile);
}

static void put_stage(tile_builder *b, const parts *p, tile_value stage) {
    tile_build_store_shared(b, p->data, p->s, &stage, 1);
}

static void get_stage(tile_builder *b, const parts *p, tile_value stage) {
    tile_build_load_shared(b, p->s, &stage, 1, p->tile);
}

static tile_op open_for(pass_fixture *x, tile_builder *at, tile_builder *body) {
    tile_op loop = tile_build_for_loop(at, tile_build_int(at, 0), tile_build_int(at, 8),
                                       tile_build_int(at, 1), NULL, 0);
    *body = tile_builder_at_end(x->kernel, tile_op_region(x->kernel, loop, 0));
    return loop;
}

static void finish(pass_fixture *x, const char *text, long barriers) {
    cr_assert_eq(fixture_run(x, tile_pass_insert_barriers), TILE_OK, "%s", x->messages);
    EXPECT_OUTLINE(x, text);
    cr_expect_eq(x->statistic, barriers, "%ld", x->statistic);
    fixture_close(x);
}

Test(insert_barriers, read_after_write) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    put(&x.b, &p, p.s);
    get(&x.b, &p, p.s);
    get(&x.b, &p, p.s);
    finish(&x, "store_shared sync load_shared load_shared", 1);
}

Test(insert_barriers, write_after_read_and_write_after_write) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    get(&x.b, &p, p.s);
    put(&x.b, &p, p.s);
    put(&x.b, &p, p.s);
    finish(&x, "load_shared sync store_shared sync store_shared", 2);
}

Test(insert_barriers, other_bytes_do_not_matter) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    put(&x.b, &p, p.s);
    get(&x.b, &p, p.t);
    put(&x.b, &p, p.t);
    get(&x.b, &p, p.s);
    finish(&x, "store_shared load_shared sync store_shared load_shared", 1);
}

Test(insert_barriers, buffers_at_one_place_do) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_op_set_int(x.kernel, tile_value_def(x.kernel, p.t), TILE_ATTR_offset, 4096);
    get(&x.b, &p, p.s);
    put(&x.b, &p, p.t);
    finish(&x, "load_shared sync store_shared", 1);
}

Test(insert_barriers, one_barrier_serves_several) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    put(&x.b, &p, p.s);
    put(&x.b, &p, p.t);
    get(&x.b, &p, p.s);
    get(&x.b, &p, p.t);
    finish(&x, "store_shared store_shared sync load_shared load_shared", 1);
}

Test(insert_barriers, a_users_barrier_counts_and_stays) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    put(&x.b, &p, p.s);
    tile_build_sync(&x.b, TILE_NO_VALUE, TILE_NO_VALUE);
    get(&x.b, &p, p.s);
    tile_build_sync(&x.b, TILE_NO_VALUE, TILE_NO_VALUE);
    finish(&x, "store_shared sync load_shared sync", 0);
}

Test(insert_barriers, explicit_kernels_are_left_alone) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_function_set_sync_explicit(x.kernel, true);
    put(&x.b, &p, p.s);
    get(&x.b, &p, p.s);
    finish(&x, "store_shared load_shared", 0);
}

Test(insert_barriers, stages_that_differ) {
    pass_fixture x;
    parts p = open_kernel(&x, 3);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false), three = tile_build_int(&x.b, 3);
    tile_value next = tile_build_mod(&x.b, tile_build_add(&x.b, n, tile_build_int(&x.b, 2)), three);
    put_stage(&x.b, &p, tile_build_int(&x.b, 0));
    get_stage(&x.b, &p, tile_build_int(&x.b, 1));
    tile_build_sync(&x.b, TILE_NO_VALUE, TILE_NO_VALUE);
    put_stage(&x.b, &p, next);
    get_stage(&x.b, &p, n);
    finish(&x, "store_shared load_shared sync store_shared load_shared", 0);
}

Test(insert_barriers, stages_that_may_be_one) {
    pass_fixture x;
    parts p = open_kernel(&x, 3);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false), three = tile_build_int(&x.b, 3);
    tile_value same = tile_build_mod(&x.b, tile_build_add(&x.b, n, three), three);
    put_stage(&x.b, &p, same);
    get_stage(&x.b, &p, n);
    put_stage(&x.b, &p, tile_build_int(&x.b, 1));
    finish(&x, "store_shared sync load_shared sync store_shared", 2);
}

Test(insert_barriers, a_loop_comes_back) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_builder body;
    open_for(&x, &x.b, &body);
    put(&body, &p, p.s);
    get(&body, &p, p.s);
    tile_build_yield(&body, NULL, 0);
    finish(&x, "for {sync store_shared sync load_shared}", 2);
}

Test(insert_barriers, what_was_before_a_loop_is_settled_before_it) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    put(&x.b, &p, p.s);
    tile_builder body, inner;
    open_for(&x, &x.b, &body);
    open_for(&x, &body, &inner);
    get(&inner, &p, p.s);
    tile_build_yield(&inner, NULL, 0);
    tile_build_yield(&body, NULL, 0);
    put(&x.b, &p, p.s);
    finish(&x, "store_shared sync for {for {load_shared}} sync store_shared", 2);
}

/* Stage indices of two iterations are unrelated. */
Test(insert_barriers, a_stage_of_the_iteration_before_is_unknown) {
    pass_fixture x;
    parts p = open_kernel(&x, 3);
    tile_builder body;
    tile_op loop = open_for(&x, &x.b, &body);
    tile_value iv = tile_region_arg(x.kernel, tile_op_region(x.kernel, loop, 0), 0);
    tile_value three = tile_build_int(&body, 3);
    tile_value stage = tile_build_mod(&body, iv, three);
    tile_value next =
        tile_build_mod(&body, tile_build_add(&body, iv, tile_build_int(&body, 1)), three);
    put_stage(&body, &p, next);
    get_stage(&body, &p, stage);
    tile_build_yield(&body, NULL, 0);
    finish(&x, "for {sync store_shared load_shared}", 1);
}

Test(insert_barriers, a_branch_is_settled_before_it) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false);
    put(&x.b, &p, p.s);
    tile_op branch =
        tile_build_if_else(&x.b, tile_build_lt(&x.b, n, tile_build_int(&x.b, 3)), NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        tile_builder b = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, branch, r));
        if (r == 0) get(&b, &p, p.s);
        tile_build_yield(&b, NULL, 0);
    }
    get(&x.b, &p, p.s);
    finish(&x, "store_shared sync if {load_shared} load_shared", 1);
}

Test(insert_barriers, either_branch_leaves_its_accesses) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_value n = fixture_arg(&x, "n", TILE_i32, false);
    tile_op branch =
        tile_build_if_else(&x.b, tile_build_lt(&x.b, n, tile_build_int(&x.b, 3)), NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        tile_builder b = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, branch, r));
        put(&b, &p, r ? p.t : p.s);
        tile_build_yield(&b, NULL, 0);
    }
    get(&x.b, &p, p.t);
    finish(&x, "if {store_shared} {store_shared} sync load_shared", 1);
}

enum { DEEP = 100 };

/* The time must not grow exponentially with the nesting depth: a visit of one level must not cause
 * several visits of the inner one. */
Test(insert_barriers, deep_nests_of_loops, .timeout = 60) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_builder at = x.b, body;
    for (unsigned depth = 0; depth < DEEP; depth++) {
        open_for(&x, &at, &body);
        tile_build_yield(&body, NULL, 0);
        at = tile_builder_before(x.kernel, tile_region_first(x.kernel, body.region));
    }
    put(&at, &p, p.s);
    get(&at, &p, p.s);
    cr_assert_eq(fixture_run(&x, tile_pass_insert_barriers), TILE_OK, "%s", x.messages);
    cr_expect_eq(x.statistic, 2, "%ld", x.statistic); /* round the innermost loop, and in it */
    fixture_close(&x);
}

Test(insert_barriers, deep_nests_of_branches, .timeout = 60) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_builder at = x.b;
    tile_value yes = tile_build_eq(&at, tile_build_int(&at, 1), tile_build_int(&at, 1));
    put(&at, &p, p.s);
    for (unsigned depth = 0; depth < DEEP; depth++) {
        tile_op branch = tile_build_if_else(&at, yes, NULL, 0);
        for (unsigned r = 0; r < 2; r++) {
            at = tile_builder_at_end(x.kernel, tile_op_region(x.kernel, branch, r));
            tile_build_yield(&at, NULL, 0);
        }
        at = tile_builder_before(x.kernel, tile_region_first(x.kernel, at.region));
    }
    get(&at, &p, p.s);
    cr_assert_eq(fixture_run(&x, tile_pass_insert_barriers), TILE_OK, "%s", x.messages);
    cr_expect_eq(x.statistic, 1, "%ld", x.statistic); /* before the outermost one */
    tile_op outer = tile_op_at(x.kernel, tile_value_def(x.kernel, yes))->next;
    cr_expect_eq(tile_op_opcode(x.kernel, tile_op_next(x.kernel, outer)), TILE_OP_sync);
    fixture_close(&x);
}

Test(insert_barriers, copies_land_after_wait_and_barrier) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    const tile_value zeros[] = {tile_build_int(&x.b, 0), tile_build_int(&x.b, 0)};
    get(&x.b, &p, p.s);
    tile_build_copy_async(&x.b, p.view, zeros, 2, p.s, NULL, 0, TILE_NO_VALUE, NULL, 0,
                          TILE_NO_VALUE);
    tile_build_commit_group(&x.b);
    get(&x.b, &p, p.t);
    tile_build_wait_group(&x.b, zeros[0]);
    get(&x.b, &p, p.s);
    finish(&x,
           "load_shared sync copy_async commit_group load_shared wait_group(0) sync load_shared",
           2);
}

/* The first wait leaves the second group in flight; its data is available after the second wait. */
Test(insert_barriers, each_wait_for_a_group_publishes_its_own) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    const tile_value zeros[] = {tile_build_int(&x.b, 0), tile_build_int(&x.b, 0)};
    tile_build_copy_async(&x.b, p.view, zeros, 2, p.s, NULL, 0, TILE_NO_VALUE, NULL, 0,
                          TILE_NO_VALUE);
    tile_build_commit_group(&x.b);
    tile_build_copy_async(&x.b, p.view, zeros, 2, p.t, NULL, 0, TILE_NO_VALUE, NULL, 0,
                          TILE_NO_VALUE);
    tile_build_commit_group(&x.b);
    tile_build_wait_group(&x.b, tile_build_int(&x.b, 1));
    get(&x.b, &p, p.s);
    tile_build_wait_group(&x.b, zeros[0]);
    get(&x.b, &p, p.t);
    finish(&x,
           "copy_async commit_group copy_async commit_group wait_group(1) sync load_shared "
           "wait_group(0) sync load_shared",
           2);
}

/* A barrier before the wait does not publish the data. */
Test(insert_barriers, a_barrier_before_the_wait_is_no_help) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    const tile_value zeros[] = {tile_build_int(&x.b, 0), tile_build_int(&x.b, 0)};
    tile_build_copy_async(&x.b, p.view, zeros, 2, p.s, NULL, 0, TILE_NO_VALUE, NULL, 0,
                          TILE_NO_VALUE);
    tile_build_commit_group(&x.b);
    tile_build_sync(&x.b, TILE_NO_VALUE, TILE_NO_VALUE);
    tile_build_wait_group(&x.b, zeros[0]);
    get(&x.b, &p, p.s);
    finish(&x, "copy_async commit_group sync wait_group(0) sync load_shared", 1);
}

static void store_load(pass_fixture *x, tile_value first, tile_value second,
                       const tile_type *tile) {
    const tile_value zeros[] = {tile_build_int(&x->b, 0), tile_build_int(&x->b, 0)};
    tile_value data = tile_build_load(&x->b, first, zeros, 2, TILE_NO_VALUE, tile);
    tile_build_store(&x->b, data, second, zeros, 2, TILE_NO_VALUE);
    tile_build_load(&x->b, first, zeros, 2, TILE_NO_VALUE, tile);
}

Test(insert_barriers, global_memory_that_may_be_the_same) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_value other = fixture_view(&x, "h", TILE_f16, 64, 64, false);
    store_load(&x, p.view, other, p.tile);
    finish(&x, "load sync store sync load", 2);
}

Test(insert_barriers, global_memory_that_is_not) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_value other = fixture_view(&x, "h", TILE_f16, 64, 64, true);
    store_load(&x, p.view, other, p.tile);
    finish(&x, "load store load", 0);
}

/* 64 x 64 elements in 32 registers, 32 lanes and 4 warps; each thread keeps its own elements. */
Test(insert_barriers, a_tile_updated_in_place_stays_in_its_threads) {
    for (unsigned replicated = 0; replicated < 2; replicated++) {
        pass_fixture x;
        parts p = open_kernel(&x, 0);
        tile_layout layout = {
            .kind = TILE_LAYOUT_REGISTER, .rank = 2, .dim_bits = {6, 6}, .count = {1, 1}};
        layout.reg_bits = (uint8_t)(5 + replicated);
        layout.warp_bits = 2;
        for (unsigned i = 0; i < 5; i++) {
            layout.reg[i] = 1u << i;
            layout.lane[i] = 1u << (5 + i);
        }
        layout.warp[0] = 1u << 10;
        layout.warp[1] = replicated ? 0 : 1u << 11;
        layout.reg[5] = replicated ? 1u << 11 : 0;
        store_load(&x, p.view, p.view, tile_type_with_layout(x.context, p.tile, &layout));
        finish(&x, replicated ? "load sync store sync load" : "load store load",
               replicated ? 2 : 0);
    }
}

Test(insert_barriers, semaphores_bring_their_own) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    tile_value words = fixture_view(&x, "w", TILE_i32, 1, 1, true);
    const tile_value zeros[] = {tile_build_int(&x.b, 0), tile_build_int(&x.b, 0)};
    put(&x.b, &p, p.s);
    tile_build_lock_semaphore(&x.b, words, zeros, 2, zeros[0]);
    get(&x.b, &p, p.s);
    tile_build_release_semaphore(&x.b, words, zeros, 2, zeros[0]);
    put(&x.b, &p, p.s);
    finish(&x, "store_shared lock_semaphore load_shared release_semaphore store_shared", 0);
}

Test(insert_barriers, a_conversion_writes_and_reads_its_buffer) {
    pass_fixture x;
    parts p = open_kernel(&x, 0);
    get(&x.b, &p, p.s);
    tile_build_convert_layout(&x.b, p.data, p.s, p.tile);
    tile_build_convert_layout(&x.b, p.data, p.s, p.tile);
    finish(&x, "load_shared sync convert_layout sync convert_layout", 2);
}

/* Builds a pipelined matmul: one barrier per k-tile, for any number of stages. */
static void build_ring(pass_fixture *x, int64_t stages, bool copies_last) {
    fixture_open(x);
    x->watched = "barriers";
    tile_value a = fixture_view(x, "a", TILE_f16, 64, 1024, true);
    tile_value b = fixture_view(x, "b", TILE_f16, 1024, 64, true);
    tile_value c = fixture_view(x, "c", TILE_f32, 64, 64, true);
    tile_value zero =
        tile_build_splat(&x->b, tile_build_float(&x->b, 0.0), fixture_tile(x, TILE_f32, 64, 64));
    tile_op loop = tile_build_for_loop(&x->b, tile_build_int(&x->b, 0), tile_build_int(&x->b, 1024),
                                       tile_build_int(&x->b, 32), &zero, 1);
    tile_op_set_int(x->kernel, loop, TILE_ATTR_pipelined, stages);
    if (copies_last)
        tile_op_set_list(x->kernel, loop, TILE_ATTR_order, (const int64_t[]){1, 2, 0}, 3);
    tile_region region = tile_op_region(x->kernel, loop, 0);
    tile_builder body = tile_builder_at_end(x->kernel, region);
    tile_value iv = tile_region_arg(x->kernel, region, 0), null = tile_build_int(&body, 0);
    const tile_value at_a[] = {null, iv}, at_b[] = {iv, null}, at_c[] = {null, null};
    tile_value ta =
        tile_build_load(&body, a, at_a, 2, TILE_NO_VALUE, fixture_tile(x, TILE_f16, 64, 32));
    tile_value tb =
        tile_build_load(&body, b, at_b, 2, TILE_NO_VALUE, fixture_tile(x, TILE_f16, 32, 64));
    tile_value sum =
        tile_build_dot(&body, ta, NULL, 0, tb, NULL, 0, tile_region_arg(x->kernel, region, 1));
    tile_build_yield(&body, &sum, 1);
    tile_build_store(&x->b, tile_op_result(x->kernel, loop, 0), c, at_c, 2, TILE_NO_VALUE);
    cr_assert_eq(fixture_run(x, tile_pass_pipeline), TILE_OK, "%s", x->messages);
    cr_assert_eq(fixture_run(x, tile_pass_allocate_shared), TILE_OK, "%s", x->messages);
}

Test(insert_barriers, a_ring_needs_one_a_k_tile) {
    for (int64_t stages = 2; stages <= 6; stages++)
        for (int last = 0; last < 2; last++) {
            pass_fixture x;
            build_ring(&x, stages, last);
            cr_assert_eq(fixture_run(&x, tile_pass_insert_barriers), TILE_OK, "%s", x.messages);
            cr_expect_eq(x.statistic, 1);
            char wait[128];
            snprintf(wait, sizeof wait,
                     "for {wait_group(%d) sync %sif {copy_async copy_async} "
                     "commit_group%s} wait_group(0) store",
                     (int)stages - 2, last ? "dot " : "", last ? "" : " dot");
            cr_expect(strstr(fixture_outline(&x), wait), "%s", fixture_outline(&x));
            fixture_close(&x);
        }
}

/* The copies go to one stage too far ahead, the one that was just read. */
Test(insert_barriers, a_ring_with_a_planted_fault_needs_two) {
    pass_fixture x;
    build_ring(&x, 3, true);
    tile_value two = tile_build_int(&x.b, 2), three = tile_build_int(&x.b, 3);
    for (uint32_t id = 1; id < x.kernel->op_count; id++)
        if (x.kernel->ops[id].opcode == TILE_OP_add && x.kernel->ops[id].operands[1].id == two.id)
            x.kernel->ops[id].operands[1] = three;
    cr_assert_eq(fixture_run(&x, tile_pass_insert_barriers), TILE_OK, "%s", x.messages);
    cr_expect_eq(x.statistic, 2);
    fixture_close(&x);
}
