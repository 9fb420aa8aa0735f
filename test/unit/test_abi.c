/* The launch interface: the queries of a launcher. The JSON: test_abi_json.c. */
#include <criterion/criterion.h>

#include "test/unit/abi_fixture.h"
#include "tile/pass.h"

Test(abi, answers) {
    codegen_fixture x;
    codegen_open(&x, kernel);
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_module_destroy(x.module); /* the interface does not depend on it */
    x.module = NULL;
    cr_assert_str_eq(tile_abi_entry(abi), "k");
    cr_assert_eq(tile_abi_arg_count(abi), 2);
    cr_assert_str_eq(tile_abi_arg_at(abi, 1)->name, "x");
    cr_assert_eq(tile_abi_arg_at(abi, 0)->divisible, 1);
    cr_assert_eq(tile_abi_arg_at(abi, 1)->divisible, 16);
    cr_assert_null(tile_abi_arg_at(abi, 2));
    cr_assert_eq(tile_abi_warps(abi), 2);
    cr_assert_eq(tile_abi_shared_bytes(abi), 256 + 3 * 8 * 16 * 2);
    int64_t args[] = {300, 0}, grid[3], clean, plain;
    cr_assert_eq(tile_abi_grid(abi, args, NULL, grid), TILE_OK);
    cr_assert(grid[0] == 3 && grid[1] == 3 && grid[2] == 1);
    cr_assert_eq(tile_abi_scratch(abi, args, NULL, &clean, &plain), TILE_OK);
    cr_assert_eq(clean, 1280 + 256); /* each buffer is rounded up to 256 */
    cr_assert_eq(plain, 2560);
    args[0] = -5;
    cr_assert_eq(tile_abi_scratch(abi, args, NULL, &clean, &plain), TILE_INVALID);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

/* The device is a property of the launch: the interface names it, and reports an error if it is
 * missing. */
Test(abi, device) {
    codegen_fixture x;
    char text[4096] = "";
    codegen_open(&x, "kernel @k(%n: i32) grid [min(%n, num_sms * 2), 3] warps 1 {\n"
                     "  %x, %y, %z = grid_dim\n"
                     "  %a = scratch [%x, %y] : ptr<f32>\n"
                     "  %b = scratch [%z] : ptr<f32>\n"
                     "  st_global 1.0, %b[0]\n"
                     "}\n");
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_abi_print(abi, append, text);
    cr_expect(strstr(text, "\"grid\": [\"min(%n, num_sms * 2)\", \"3\", \"1\"]"), "%s", text);
    cr_expect(strstr(text, "\"bytes\": \"3 * (min(%n, num_sms * 2) * 4)\""), "%s", text);
    tile_launch_facts facts = {.size = sizeof facts, .num_sms = 66};
    int64_t args[] = {1000}, grid[3], clean, plain;
    cr_assert_eq(tile_abi_grid(abi, args, &facts, grid), TILE_OK);
    cr_expect_eq(grid[0], 132);
    cr_assert_eq(tile_abi_scratch(abi, args, &facts, &clean, &plain), TILE_OK);
    cr_expect_eq(plain, 1792 + 256); /* 3 * 132 * 4, and 4, rounded up to 256 */
    facts.num_sms = 0;
    cr_expect_eq(tile_abi_grid(abi, args, &facts, grid), TILE_INVALID);
    cr_expect_eq(tile_abi_grid(abi, args, NULL, grid), TILE_INVALID);
    cr_expect(strstr(x.messages, "dim 0 is min(%n, num_sms * 2)"), "%s", x.messages);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

/* Kernels count scratch in i32. Larger counts are refused, even if the device has enough memory and
 * the products of grid extents fit 64 bits. */
Test(abi, scratch_is_counted_in_32_bits) {
    codegen_fixture x;
    char text[4096] = "";
    codegen_open(&x, "kernel @k(%m: i32, %n: i32) grid [%m, %n] warps 1 {\n"
                     "  %x, %y, %z = grid_dim\n"
                     "  %all = mul %x, %y : i32\n"
                     "  %a = scratch [%all] {clean} : ptr<i32>\n"
                     "  %b = scratch [%x, %y] : ptr<f32>\n"
                     "}\n");
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_abi_print(abi, append, text);
    tile_abi *again = tile_abi_read(x.context, text, strlen(text));
    cr_assert(again, "%s", x.messages);
    const struct {
        int64_t args[2];
        tile_status wanted;
    } cases[] = {{{65536, 32767}, TILE_OK},
                 {{65536, 32768}, TILE_INVALID},
                 {{65537, 65535}, TILE_INVALID},
                 {{INT32_MAX, 65535}, TILE_INVALID},
                 {{INT32_MAX, 1}, TILE_OK}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t clean, plain;
        const int64_t *args = cases[i].args;
        cr_expect_eq(tile_abi_scratch(abi, args, NULL, &clean, &plain), cases[i].wanted, "%u", i);
        cr_expect_eq(tile_abi_scratch(again, args, NULL, &clean, &plain), cases[i].wanted, "%u", i);
    }
    tile_abi_destroy(abi);
    tile_abi_destroy(again);
    codegen_close(&x);
}

/* A persistent grid with more tiles than 64 bits can count is refused because of too many tiles. */
Test(abi, tiles_are_counted_in_64_bits) {
    codegen_fixture x;
    codegen_open(&x, "kernel @k(%a: i32, %b: i32, %c: i32) grid [%a, %b, %c] persistent warps 1 {\n"
                     "  %x = block_id\n"
                     "}\n");
    const tile_pass_options options = {.size = sizeof options, .kernel = "k"};
    cr_assert_eq(tile_run_passes(x.module, "instantiate,tile-scheduler", &options), TILE_OK, "%s",
                 x.messages);
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_launch_facts facts = {.size = sizeof facts, .num_sms = 132};
    int64_t grid[3], few[] = {1000, 100, 10}, many[] = {INT32_MAX, INT32_MAX, INT32_MAX},
                     wraps[] = {1 << 30, 1 << 30, 16};
    cr_expect_eq(tile_abi_grid(abi, few, &facts, grid), TILE_OK);
    cr_expect_eq(grid[0], 132);
    cr_expect_eq(tile_abi_grid(abi, many, &facts, grid), TILE_INVALID);
    cr_expect_eq(tile_abi_grid(abi, wraps, &facts, grid), TILE_INVALID, "2^64 tiles");
    facts.num_sms = TILE_MAX_SMS + 1;
    cr_expect_eq(tile_abi_grid(abi, few, &facts, grid), TILE_INVALID, "no device has so many");
    tile_abi_destroy(abi);
    codegen_close(&x);
}

/* The grid must be a multiple of the cluster; otherwise it is refused before the driver is
 * called. */
Test(abi, clusters) {
    codegen_fixture x;
    char text[4096] = "";
    codegen_open(&x, "kernel @k(%n: i32) grid [2, %n] cluster [2, 3] warps 1 {\n}\n");
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_abi_print(abi, append, text);
    cr_expect(strstr(text, "\"cluster\": [2, 3, 1],"), "%s", text);
    tile_abi *again = tile_abi_read(x.context, text, strlen(text));
    cr_assert(again, "%s", x.messages);
    for (int64_t n = 0; n < 8; n++) {
        int64_t grid[3];
        tile_status wanted = n % 3 ? TILE_INVALID : TILE_OK;
        cr_expect_eq(tile_abi_grid(abi, &n, NULL, grid), wanted);
        cr_expect_eq(tile_abi_grid(again, &n, NULL, grid), wanted);
    }
    cr_expect(strstr(x.messages, "@k: a grid of 2 x 7 x 1 blocks is not made of whole "
                                 "clusters: dim 1 must be a multiple of 3; round it up in "
                                 "`grid`, or launch without `cluster`"),
              "%s", x.messages);
    tile_abi_destroy(abi);
    tile_abi_destroy(again);
    codegen_close(&x);
}

/* Distributes tiles of cost 4 3 2 1 0, in this order, to two blocks, and to more blocks than
 * tiles. */
Test(abi, dealt_tables) {
    const tile_launch_facts two = {.size = sizeof two, .num_sms = 2},
                            many = {.size = sizeof many, .num_sms = 132};
    static const int32_t wanted[] = {3, 6, 8, 0, 3, 4, 1, 2, 0, 0, 0},
                         each[] = {6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4};
    codegen_fixture x;
    codegen_open(&x, dealer);
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    const int64_t args[] = {5};
    int64_t entries;
    int32_t table[11];
    cr_assert_eq(tile_abi_table_entries(abi, 0, args, &entries), TILE_OK);
    cr_assert_eq(entries, 11);
    cr_assert_eq(tile_abi_make_table(abi, 0, args, &two, table), TILE_OK);
    cr_expect_arr_eq(table, wanted, sizeof wanted);
    cr_assert_eq(tile_abi_make_table(abi, 0, args, &many, table), TILE_OK);
    cr_expect_arr_eq(table, each, sizeof each);
    cr_expect_eq(tile_abi_make_table(abi, 0, args, NULL, table), TILE_INVALID);
    cr_expect(strstr(x.messages, "num_sms is missing"), "%s", x.messages);
    cr_expect_eq(tile_abi_table_entries(abi, 1, args, &entries), TILE_INVALID);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

/* If a kernel still has such clauses, its grid is not the launched one. */
Test(abi, clauses_that_remain) {
    codegen_fixture x;
    codegen_open(&x, "kernel @k(%n: i32) grid [%n, 3] persistent warps 1 {\n}\n");
    cr_expect_null(tile_abi_create(x.kernel));
    cr_expect(strstr(x.messages, "run the pass "), "%s", x.messages);
    codegen_close(&x);
}

/* Equal tables are shared. */
Test(abi, tables) {
    codegen_fixture x;
    char text[4096] = "";
    codegen_open(&x, two_tables);
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_module_destroy(x.module);
    x.module = NULL;
    tile_abi_print(abi, append, text);
    static const char *const pieces[] = {
        "{\"name\": \"table_0\", \"kind\": \"table\", \"type\": \"ptr<i32>\", \"ptx\": \".u64\", "
        "\"divisible\": 4}",
        "\"tables\": [\n"
        "    {\"extents\": [\"%n\", \"%m + 1\", \"1\"], \"tile_cost\": \"block_id(0) * "
        "(block_id(1) "
        "+ %n) / %m\"},\n"
        "    {\"extents\": [\"4\", \"1\", \"1\"], \"tile_cost\": \"mod(block_id(0), 2)\"}\n  ]",
    };
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++)
        cr_expect(strstr(text, pieces[i]), "%s is missing in\n%s", pieces[i], text);
    cr_assert_eq(tile_abi_parameter_count(abi), 3 + 1 + 2);
    cr_expect_eq(tile_abi_parameter_at(abi, 5)->kind, TILE_PARAMETER_table);
    cr_expect_eq(tile_abi_parameter_at(abi, 5)->index, 1);
    const tile_launch_facts two = {.size = sizeof two, .num_sms = 2};
    int64_t args[] = {3, 1, 0}, extents[3];
    int32_t table[13];
    cr_assert_eq(tile_abi_table_extents(abi, 0, args, extents), TILE_OK);
    cr_expect(extents[0] == 3 && extents[1] == 2 && extents[2] == 1);
    cr_assert_eq(tile_abi_make_table(abi, 0, args, &two, table), TILE_OK);
    /* x * (y + 3): 0 3 6, 0 4 8 */
    static const int32_t first[] = {3, 6, 9, 0, 2, 5, 1, 3, 4, 0, 0, 0, 0};
    cr_expect_arr_eq(table, first, sizeof first);
    cr_assert_eq(tile_abi_make_table(abi, 1, args, &two, table), TILE_OK);
    static const int32_t second[] = {3, 5, 7, 0, 2, 1, 3, 0, 0};
    cr_expect_arr_eq(table, second, sizeof second);
    cr_expect_eq(tile_abi_table_extents(abi, 2, args, extents), TILE_INVALID);
    args[1] = 0;
    cr_expect_eq(tile_abi_make_table(abi, 0, args, &two, table), TILE_INVALID);
    cr_expect(strstr(x.messages, "the tile 0 0 0 has no cost"), "%s", x.messages);
    args[0] = 0;
    cr_expect_eq(tile_abi_make_table(abi, 0, args, &two, table), TILE_INVALID);
    cr_expect(strstr(x.messages, "dim 0 is %n"), "%s", x.messages);
    args[0] = INT32_MAX;
    args[1] = INT64_MAX;
    cr_expect_eq(tile_abi_table_extents(abi, 0, args, extents), TILE_INVALID);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

Test(abi, tables_that_no_launch_can_make) {
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"  %i = thread_id\n  %a = tile_schedule %n, [%i] {cost = block_id(0)}\n",
         "tile_schedule: the extents must be computable from the kernel's arguments alone"},
        {"  %i, %j, %k = grid_dim\n  %a = tile_schedule %n, [%j] {cost = block_id(0)}\n",
         "tile_schedule: the extents must be computable from the kernel's arguments alone"},
        {"  %a = tile_schedule %n, [1] {cost = 1}\n  %b = tile_schedule %n, [2] {cost = 1}\n"
         "  %c = tile_schedule %n, [3] {cost = 1}\n  %d = tile_schedule %n, [4] {cost = 1}\n"
         "  %e = tile_schedule %n, [4] {cost = 2}\n",
         "a kernel has at most 4 tables of tiles"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        tile_blob out;
        char text[1024];
        snprintf(text, sizeof text, "kernel @k(%%n: i32) grid [%%n, num_sms] warps 1 {\n%s}\n",
                 cases[i].body);
        codegen_open(&x, text);
        cr_expect_null(tile_abi_create(x.kernel));
        cr_expect(strstr(x.messages, cases[i].message), "%s", x.messages);
        *x.messages = 0;
        cr_expect_neq(codegen_emit(&x, TILE_EMIT_PTX, "sm_90a", &out), TILE_OK);
        cr_expect(strstr(x.messages, cases[i].message), "%s", x.messages);
        codegen_close(&x);
    }
}

/* The emitted offsets match the sizes above. */
Test(abi, scratch_offsets) {
    tile_blob ir = codegen_of(kernel, TILE_EMIT_LLVM, "sm_80");
    cr_assert(strstr(ir.data, ", -256"), "the first buffer's size is rounded up\n%s", ir.data);
    tile_blob_destroy(&ir);
}

Test(abi, refusals) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"kernel @k<w: int>(%n: i32) grid [1] warps w {\n}\n",
         "the number of warps is not known yet"},
        {"kernel @k<w: int>(%n: i32) grid [w] warps 1 {\n}\n",
         "the grid must be computable from the kernel's arguments alone"},
        {"kernel @k(%n: i32) grid [1] warps 1 {\n  %t = thread_id : i32\n"
         "  %s = scratch [%t] : ptr<i32>\n}\n",
         "the extents must be computable from the kernel's arguments"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        codegen_open(&x, cases[i].text);
        cr_expect_null(tile_abi_create(x.kernel));
        cr_expect(strstr(x.messages, cases[i].message), "case %u: %s", i, x.messages);
        codegen_close(&x);
    }
}

Test(abi, parameters_are_one_list) {
    static const struct {
        const char *text;
        const char *kinds;
    } cases[] = {
        {"kernel @k() grid [1] warps 1 {\n}\n", ""},
        {"kernel @k(%n: i32, %x: ptr<f32>) grid [1] warps 1 {\n}\n", "argument 0, argument 1, "},
        {"kernel @k(%n: i32) grid [1] warps 1 {\n"
         "  %a = scratch [%n] : ptr<i32>\n  %b = scratch [%n] {clean} : ptr<i32>\n"
         "  %c = scratch [4] : ptr<i32>\n}\n",
         "argument 0, clean_scratch 0, scratch 0, "},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        codegen_fixture x;
        char kinds[200] = "";
        codegen_open(&x, cases[c].text);
        tile_abi *abi = tile_abi_create(x.kernel);
        for (unsigned i = 0; i < tile_abi_parameter_count(abi); i++) {
            const tile_abi_parameter *parameter = tile_abi_parameter_at(abi, i);
            snprintf(kinds + strlen(kinds), sizeof kinds - strlen(kinds), "%s %u, ",
                     tile_parameter_kind_name(parameter->kind), parameter->index);
        }
        cr_expect_str_eq(kinds, cases[c].kinds);
        tile_abi_destroy(abi);
        codegen_close(&x);
    }
    cr_expect_null(tile_parameter_kind_name((tile_parameter_kind)99));
}
