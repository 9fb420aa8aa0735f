/* The launch interface: what a launcher asks, and the JSON. */
#include <criterion/criterion.h>

#include "test/unit/codegen_fixture.h"
#include "tile/pass.h"

static const char kernel[] =
    "kernel @k(%n: i32, %x: ptr<f32> {divisible = 16}) grid [ceildiv(%n, 128), 3] warps 2 {\n"
    "  %s = alloc_shared {offset = 256} : shared<f16[3][8, 16]>\n"
    "  %a = scratch [%n] {clean} : ptr<i32>\n"
    "  %b = scratch [%n, 2] : ptr<f32>\n"
    "  %c = scratch [7] {clean} : ptr<i32>\n"
    "  st_global 1, %c[%n]\n"
    "}\n";

static const char viewer[] =
    "kernel @k(%n: i32, %m: i64, %x: view<f16[%n, %m * 2, 3]> {divisible = 8},\n"
    "    %y: view<i8[%n], strides [-%m]>, %z: view<f32[4, 2]>) grid [%n] warps 1 {\n}\n";

static const char two_tables[] =
    "kernel @k(%n: i32, %m: i64, %x: ptr<f32>) grid [3] warps 1 {\n"
    "  %i = block_id\n"
    "  %s = scratch [2] : ptr<i32>\n"
    "  %e = i32(%m) + 1\n"
    "  %a = tile_schedule %i, [%n, %e] {cost = block_id(0) * (block_id(1) + %n) / %m}\n"
    "  %b = tile_schedule %a, [4] {cost = mod(block_id(0), 2)}\n"
    "  %c = tile_schedule %b, [%n, %e, 1] {cost = block_id(0) * (block_id(1) + %n) / %m}\n"
    "  st_global %c, %s[%a]\n"
    "}\n";

static const char dealer[] = "kernel @k(%n: i32) grid [1] warps 1 {\n"
                             "  %a = tile_schedule %n, [%n] {cost = %n - 1 - block_id(0)}\n"
                             "}\n";

static const char mapper[] =
    "kernel @k(%n: i32, %array: ptr<f16> {divisible = 16}, %s: i64, %x: view<f32[%n, 8]>)\n"
    "    grid [1] warps 1 {\n"
    "  %b = base %x\n"
    "  %p = tensor_map %array, [%n, 4, 64], [%s * 8, %s, 1] {swizzle = 128} :\n"
    "      tensor_map<f16[2, 4, 64]>\n"
    "  %q = tensor_map %b, [%n, 8] : tensor_map<f32[16, 8]>\n"
    "  %r = tensor_map %b, [%n, 8], [8, 1] : tensor_map<f32[16, 8]>\n"
    "}\n";

static void append(const char *text, size_t length, void *user) {
    char *to = user;
    strncat(to, text, length);
}

Test(abi, answers) {
    codegen_fixture x;
    codegen_open(&x, kernel);
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_module_destroy(x.module); /* the abi does not need it */
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

/* The device is a fact of the launch: the interface names it, and says so where it is missing. */
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

/* Kernels count scratch in i32: what would be more is refused, also where the bytes are few enough
 * for the device, and 64 bits hold the products of grids. */
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

/* A persistent grid of more tiles than 64 bits count is one of too many tiles. */
Test(abi, tiles_are_counted_in_64_bits) {
    codegen_fixture x;
    codegen_open(&x, "kernel @k(%a: i32, %b: i32, %c: i32) grid [%a, %b, %c] persistent warps 1 {\n"
                     "  %x = block_id\n"
                     "}\n");
    const tile_pass_options options = {.size = sizeof options, .kernel = "k"};
    cr_assert_eq(tile_run_passes(x.module, "instantiate,walk-tiles", &options), TILE_OK, "%s",
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

/* Clusters are whole: a grid that is not made of them is refused before a driver does. */
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

/* Tiles of cost 4 3 2 1 0, in this order, to two blocks and to more than there are tiles. */
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
    cr_expect(strstr(x.messages, "must say"), "%s", x.messages);
    cr_expect_eq(tile_abi_table_entries(abi, 1, args, &entries), TILE_INVALID);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

/* The grid of such a kernel is not yet the one that is launched. */
Test(abi, clauses_that_remain) {
    codegen_fixture x;
    codegen_open(&x, "kernel @k(%n: i32) grid [%n, 3] persistent warps 1 {\n}\n");
    cr_expect_null(tile_abi_create(x.kernel));
    cr_expect(strstr(x.messages, "run walk-tiles"), "%s", x.messages);
    codegen_close(&x);
}

/* Tables that differ in nothing are one. */
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

Test(abi, json) {
    codegen_fixture x;
    char text[4096] = "";
    codegen_open(&x, kernel);
    tile_abi *abi = tile_abi_create(x.kernel);
    tile_abi_print(abi, append, text);
    static const char *const pieces[] = {
        "\"entry\": \"k\"",
        "{\"name\": \"n\", \"kind\": \"argument\", \"type\": \"i32\"",
        "\"ptx\": \".u32\", \"divisible\": 1}",
        "\"type\": \"ptr<f32>\", \"ptx\": \".u64\", \"divisible\": 16}",
        "\"name\": \"clean_scratch\"",
        "\"name\": \"scratch\"",
        "\"grid\": [\"ceildiv(%n, 128)\", \"3\", \"1\"]",
        "\"cluster\": [1, 1, 1],",
        "\"block\": 64,",
        "\"shared_bytes\": 1024,",
        "{\"clean\": true, \"bytes\": \"28\"}",
        "\"variants\": [\n    [\n      {\"condition\": \"divisible\"",
        "\"argument\": \"x\", \"value\": 16}]\n  ],",
        "\"variant\": 0\n",
    };
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++)
        cr_expect(strstr(text, pieces[i]), "%s is missing in\n%s", pieces[i], text);
    tile_abi_destroy(abi);
    codegen_close(&x);
}

static void check_same_answers(const tile_abi *abi, const tile_abi *again, const int64_t *args) {
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = 7};
    int64_t grid[2][3], clean[2], plain[2];
    tile_status status = tile_abi_grid(abi, args, &facts, grid[0]);
    cr_expect_eq(tile_abi_grid(again, args, &facts, grid[1]), status);
    if (status == TILE_OK) cr_expect_arr_eq(grid[0], grid[1], sizeof grid[0]);
    status = tile_abi_scratch(abi, args, &facts, &clean[0], &plain[0]);
    cr_expect_eq(tile_abi_scratch(again, args, &facts, &clean[1], &plain[1]), status);
    if (status == TILE_OK) cr_expect(clean[0] == clean[1] && plain[0] == plain[1]);
    for (unsigned i = 0; i < 3; i++) {
        tile_tensor_map maps[2];
        status = tile_abi_tensor_map(abi, i, args, &maps[0]);
        cr_expect_eq(tile_abi_tensor_map(again, i, args, &maps[1]), status);
        if (status == TILE_OK) cr_expect_arr_eq(&maps[0], &maps[1], sizeof maps[0]);
    }
    for (unsigned i = 0; i < 3; i++) {
        int64_t extents[2][3];
        int32_t tables[2][13];
        int64_t entries[2];
        status = tile_abi_table_extents(abi, i, args, extents[0]);
        cr_expect_eq(tile_abi_table_extents(again, i, args, extents[1]), status);
        if (status != TILE_OK || extents[0][0] * extents[0][1] > 6) continue;
        cr_expect_eq(tile_abi_table_entries(abi, i, args, &entries[0]), TILE_OK);
        cr_expect_eq(tile_abi_table_entries(again, i, args, &entries[1]), TILE_OK);
        cr_expect_eq(entries[0], entries[1]);
        status = tile_abi_make_table(abi, i, args, &facts, tables[0]);
        cr_expect_eq(tile_abi_make_table(again, i, args, &facts, tables[1]), status);
        if (status == TILE_OK)
            cr_expect_arr_eq(tables[0], tables[1], sizeof(int32_t) * (size_t)entries[0]);
    }
}

static void check_same_parameters(const tile_abi *abi, const tile_abi *back) {
    cr_assert_eq(tile_abi_parameter_count(abi), tile_abi_parameter_count(back));
    for (unsigned i = 0; i < tile_abi_parameter_count(abi); i++) {
        cr_expect_eq(tile_abi_parameter_at(abi, i)->kind, tile_abi_parameter_at(back, i)->kind);
        cr_expect_eq(tile_abi_parameter_at(abi, i)->index, tile_abi_parameter_at(back, i)->index);
    }
    cr_expect_null(tile_abi_parameter_at(abi, tile_abi_parameter_count(abi)));
}

/* What is read back prints the same and answers the same, in a context that knows nothing of it. */
Test(abi, round_trip) {
    static const char *const texts[] = {
        kernel,
        "kernel @k() grid [1] warps 32 {\n}\n",
        viewer,
        two_tables,
        dealer,
        mapper,
        "kernel @k(%n: i32) grid [select(%n * 3 > 5, -1, min(%n * 3, num_sms)), num_sms] warps 1 "
        "{\n}\n",
        "kernel @scratch_0(%0: i64 {divisible = 8}, %a: ptr<e4m3> {divisible = 1024}, %t: bf16,\n"
        "    %u: f64, %n: i32, %m: i8) grid [max(%0 * %n, 1) - rem(%n, 7), %n / 2 + (%m & 3), %n "
        "<< 1]\n"
        "    warps 1 {\n"
        "  %x = add %n, 1 : i32\n  %y = mul %x, %n : i32\n  %s = scratch [%y, %n] : ptr<i64>\n}\n",
    };
    static const int64_t args[][6] = {{300, 7}, {1, 0, 0, 0, 50, 3}, {-5}, {0}, {2, 2}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        codegen_fixture x, y;
        char text[4096] = "", again[4096] = "";
        codegen_open(&x, texts[i]);
        codegen_open(&y, "kernel @other() grid [1] warps 1 {\n}\n");
        tile_abi *abi = tile_abi_create(x.kernel);
        tile_abi_print(abi, append, text);
        tile_abi *back = tile_abi_read(y.context, text, strlen(text));
        cr_assert(back, "%s\n%s", y.messages, text);
        tile_abi_print(back, append, again);
        cr_expect_str_eq(text, again);
        for (size_t a = 0; a < sizeof args / sizeof *args; a++)
            check_same_answers(abi, back, args[a]);
        check_same_parameters(abi, back);
        tile_abi_destroy(back);
        tile_abi_destroy(abi);
        codegen_close(&x);
        codegen_close(&y);
    }
}

static void replace(char *text, const char *from, const char *to) {
    char *at = strstr(text, from);
    cr_assert(at, "%s", from);
    char rest[4096];
    strcpy(rest, at + strlen(from));
    strcpy(at, to);
    strcat(at, rest);
}

Test(abi, views) {
    codegen_fixture x;
    char text[4096] = "";
    codegen_open(&x, viewer);
    tile_abi *abi = tile_abi_create(x.kernel);
    cr_assert(abi, "%s", x.messages);
    tile_module_destroy(x.module);
    x.module = NULL;
    int64_t args[5] = {7, 5}, extents[TILE_MAX_RANK], strides[TILE_MAX_RANK], before, behind;
    cr_assert_eq(tile_abi_view_shape(abi, 2, args, extents, strides), TILE_OK);
    cr_expect(extents[0] == 7 && extents[1] == 10 && extents[2] == 3);
    cr_expect(strides[0] == 30 && strides[1] == 3 && strides[2] == 1);
    cr_assert_eq(tile_abi_view_bytes(abi, 2, args, &before, &behind), TILE_OK);
    cr_expect(before == 0 && behind == 7 * 30 * 2);
    cr_assert_eq(tile_abi_view_bytes(abi, 3, args, &before, &behind), TILE_OK);
    cr_expect(before == 30 && behind == 1);
    cr_expect_eq(tile_abi_view_shape(abi, 1, args, extents, strides), TILE_INVALID);
    cr_expect_eq(tile_abi_view_bytes(abi, 9, args, &before, &behind), TILE_INVALID);
    tile_abi_print(abi, append, text);
    static const char *const pieces[] = {
        "{\"name\": \"x\", \"kind\": \"argument\", \"type\": \"view<f16[%n, %m * 2, 3]>\", "
        "\"ptx\": \".u64\", \"divisible\": 8,\n     \"extents\": [\"%n\", \"%m * 2\", \"3\"],\n"
        "     \"strides\": [\"%m * 2 * 3\", \"3\", \"1\"]}",
        "\"type\": \"view<i8[%n], strides [neg(%m)]>\"",
        "\"strides\": [\"neg(%m)\"]}",
        "\"strides\": [\"2\", \"1\"]}",
    };
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++)
        cr_expect(strstr(text, pieces[i]), "%s is missing in\n%s", pieces[i], text);
    static const struct {
        const char *from, *to;
    } changes[] = {{"[\"neg(%m)\"]", "[\"%m\"]"},
                   {"[\"neg(%m)\"]", "[\"neg(%m)\", \"1\"]"},
                   {"[\"%n\", \"%m", "[\"%m"},
                   {"view<i8[%n]", "view<i8[4]"}};
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        char changed[4096];
        strcpy(changed, text);
        replace(changed, changes[i].from, changes[i].to);
        cr_expect_null(tile_abi_read(x.context, changed, strlen(changed)), "case %u", i);
        cr_expect(strstr(x.messages, "not those of its type"), "case %u: %s", i, x.messages);
    }
    tile_abi_destroy(abi);
    codegen_close(&x);
}

#define MAP(argument, box, extent, stride) \
    "{\"argument\": \"" argument "\", \"element\": \"f16\", \"box\": " box \
    ", \"extents\": [\"" extent "\"], \"strides\": [\"" stride "\"], \"swizzle\": 0}"
#define EIGHT "[], [], [], [], [], [], [], [], "
#define FLAT(z) "\"flat\": [\"1\", " z "], \"cluster\""
#define TABLE(extent, cost) \
    "{\"extents\": [\"1\", \"" extent "\", \"1\"], \"tile_cost\": \"" cost "\"}"

Test(abi, what_cannot_be_read) {
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"{", "[", "it is not JSON"},
        {"\"entry\"", "\"name\"", "it has no entry"},
        {"\"k\"", "\"k k\"", "its types or expressions are invalid"},
        {"\"kind\"", "\"sort\"", "a parameter needs a name"},
        {"i32", "i33", "its types or expressions are invalid"},
        {"\"i32\"", "\"i32, %z: i32\"", "unexpected contents"},
        {"\"divisible\": 16", "\"divisible\": 0", "a parameter needs a name"},
        {"\"3\", \"1\"", "\"3\"", "three expressions"},
        {"\"3\", \"1\"", "\"3\", 1", "three expressions"},
        {"ceildiv(%n, 128)", "ceildiv(%z, 128)", "its types or expressions are invalid"},
        {"\"3\"", "\"3, 4\"", "its types or expressions are invalid"},
        {"\"28\"", "\"28, 4\"", "unexpected contents"},
        {"\"28\"", "\"28] warps 1 { } kernel @evil() grid [1\"", "unexpected contents"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 1]", "a cluster needs three"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 1, \"1\"]", "a cluster needs three"},
        {"\"cluster\": [1, 1, 1]", "\"clusters\": [1, 1, 1]", "a cluster needs three"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 0, 1]", "product at most 16"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, -1, 1]", "product at most 16"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [4, 1, 5]", "product at most 16"},
        {"\"block\": 64", "\"block\": 65", "warps of 32"},
        {"\"block\": 64", "\"block\": 2048", "warps of 32"},
        {"1024", "-1", "\"shared_bytes\" is missing or out of range"},
        {"\"clean\": true", "\"clean\": 1", "a scratch buffer"},
        {"\"clean_scratch\", \"type\"", "\"scratch\", \"type\"", "its parameters are not those"},
        {"\"tables\"", "\"others\"", "it has no entry"},
        {"\"tables\": []", "\"tables\": [{\"extents\": [\"1\", \"1\"], \"tile_cost\": \"1\"}]",
         "a table needs three extents and a tile_cost"},
        {"\"tables\": []", "\"tables\": [{\"extents\": [\"1\", \"1\", \"1\"], \"cost\": \"1\"}]",
         "a table needs three extents and a tile_cost"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "num_sms") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("num_sms", "1") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "%z") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "1 warps 1") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "1 warps 1 {} kernel @e() grid [1]") "]",
         "unexpected contents"},
        {"\"tables\": []", "\"tables\": [" TABLE("%n", "1") "]", "its parameters are not those"},
        {"\"tensor_maps\"", "\"others\"", "it has no entry"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [{\"argument\": \"x\"}]", "element type"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[4]", "1", "1") "]",
         "its parameters are not those"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("n", "[4]", "1", "1") "]", "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("y", "[4]", "1", "1") "]", "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[4, 4]", "1", "1") "]",
         "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[0]", "1", "1") "]", "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[4]", "%z", "1") "]",
         "expressions are invalid"},
        {"\"tensor_maps\": []",
         "\"tensor_maps\": [" MAP("x", "[4]", "1]>, %z: view<f16[1", "1") "]",
         "unexpected contents"},
        {"\"variants\"", "\"others\"", "which of its variants"},
        {"\"variant\": 0", "\"variant\": 1", "which of its variants"},
        {"\"condition\": \"divisible\"", "\"condition\": \"prime\"", "lists of conditions"},
        {"\"argument\": \"x\"", "\"argument\": \"y\"", "lists of conditions"},
        {"\"value\": 16", "\"value\": 0", "lists of conditions"},
        {"\"value\": 16", "\"value\": true", "lists of conditions"},
        {"\"variants\": [", "\"variants\": [7, ", "lists of conditions"},
        {"\"variants\": [", "\"variants\": [" EIGHT EIGHT, "lists of conditions"},
        {"\"condition\": \"divisible\"", "\"condition\": \"grid\"", "lists of conditions"},
        {"\"cluster\"", FLAT("\"1\""), "three expressions"},
        {"\"cluster\"", FLAT("\"1\", \"%z\""), "expressions are invalid"},
        {"\"cluster\"", FLAT("\"1\", \"1] warps 1 {} kernel @e() grid [1\""),
         "unexpected contents"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        char text[4096] = "";
        codegen_open(&x, kernel);
        tile_abi *abi = tile_abi_create(x.kernel);
        tile_abi_print(abi, append, text);
        tile_abi_destroy(abi);
        replace(text, cases[i].from, cases[i].to);
        cr_expect_null(tile_abi_read(x.context, text, strlen(text)), "case %zu", i);
        cr_expect(strstr(x.messages, cases[i].message), "case %zu: %s", i, x.messages);
        codegen_close(&x);
    }
}

/* The emitted offsets are the ones that the sizes above imply. */
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
