/* The launch interface as JSON: printed, read back, and refused. */
#include <criterion/criterion.h>

#include "test/unit/abi_fixture.h"
#include "tile/pass.h"

static const char viewer[] =
    "kernel @k(%n: i32, %m: i64, %x: view<f16[%n, %m * 2, 3]> {divisible = 8},\n"
    "    %y: view<i8[%n], strides [-%m]>, %z: view<f32[4, 2]>) grid [%n] warps 1 {\n}\n";

static const char mapper[] =
    "kernel @k(%n: i32, %array: ptr<f16> {divisible = 16}, %s: i64, %x: view<f32[%n, 8]>)\n"
    "    grid [1] warps 1 {\n"
    "  %b = base %x\n"
    "  %p = tensor_map %array, [%n, 4, 64], [%s * 8, %s, 1] {swizzle = 128} :\n"
    "      tensor_map<f16[2, 4, 64]>\n"
    "  %q = tensor_map %b, [%n, 8] : tensor_map<f32[16, 8]>\n"
    "  %r = tensor_map %b, [%n, 8], [8, 1] : tensor_map<f32[16, 8]>\n"
    "}\n";

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

/* An interface that is read back prints the same and returns the same, in a new context. */
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
        const char *from, *to, *wrong;
    } changes[] = {
        {"[\"neg(%m)\"]", "[\"%m\"]", "parameters[3] does not follow from the types of arguments"},
        {"[\"neg(%m)\"]", "[\"neg(%m)\", \"1\"]", "parameters[3] does not follow"},
        {"[\"%n\", \"%m", "[\"%m", "parameters[2] does not follow"},
        {"view<i8[%n]", "view<i8[4]", "parameters[3] does not follow"},
    };
    for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
        char changed[4096];
        strcpy(changed, text);
        replace(changed, changes[i].from, changes[i].to);
        cr_expect_null(tile_abi_read(x.context, changed, strlen(changed)), "case %u", i);
        cr_expect(strstr(x.messages, changes[i].wrong), "case %u: %s", i, x.messages);
        *x.messages = 0;
    }
    tile_abi_destroy(abi);
    codegen_close(&x);
}

#define MAP(argument, box, extent, stride) \
    "{\"argument\": \"" argument "\", \"element\": \"f16\", \"box\": " box \
    ", \"extents\": [\"" extent "\"], \"strides\": [\"" stride "\"], \"swizzle\": 0}"
#define EIGHT "[], [], [], [], [], [], [], [], "
#define SIXTEEN EIGHT EIGHT
#define ALL_VARIANTS \
    SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN SIXTEEN /* TILE_MAX_VARIANTS \
                                                                             */
#define FLAT(z) "\"flat\": [\"1\", " z "], \"cluster\""
#define TABLE(extent, cost) \
    "{\"extents\": [\"1\", \"" extent "\", \"1\"], \"tile_cost\": \"" cost "\"}"

Test(abi, what_cannot_be_read) {
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        {"{", "[", "it is not JSON"},
        {"\"entry\"", "\"name\"", "line 3, column 11: there is no field \"name\""},
        {"\"k\"", "\"k k\"", "its types or expressions are invalid"},
        {"\"kind\"", "\"sort\"", "there is no field \"sort\""},
        {"i32", "i33", "its types or expressions are invalid"},
        {"\"i32\"", "\"i32, %z: i32\"", "unexpected contents"},
        {"\"divisible\": 16", "\"divisible\": 0",
         "\"divisible\": expected a whole number from 1 to 1073741824, found 0"},
        {"\"3\", \"1\"", "\"3\"", "\"grid\": expected a list of 3 to 3 items, found 2"},
        {"\"3\", \"1\"", "\"3\", 1", "\"grid\": expected a string, found a number"},
        {"ceildiv(%n, 128)", "ceildiv(%z, 128)", "its types or expressions are invalid"},
        {"\"3\"", "\"3, 4\"", "its types or expressions are invalid"},
        {"\"28\"", "\"28, 4\"", "unexpected contents"},
        {"\"28\"", "\"28] warps 1 { } kernel @evil() grid [1\"", "unexpected contents"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 1]",
         "\"cluster\": expected a list of 3 to 3 items, found 2"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 1, \"1\"]",
         "\"cluster\": expected a number, found a string"},
        {"\"cluster\": [1, 1, 1]", "\"clusters\": [1, 1, 1]",
         "there is no field \"clusters\"; did you mean 'cluster'?"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, 0, 1]", "product at most 16"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [1, -1, 1]", "product at most 16"},
        {"\"cluster\": [1, 1, 1]", "\"cluster\": [4, 1, 5]", "product at most 16"},
        {"\"block\": 64", "\"block\": 65", "warps of 32"},
        {"\"block\": 64", "\"block\": 2048",
         "\"block\": expected a whole number from 32 to 1024, found 2048"},
        {"1024", "-1", "\"shared_bytes\": expected a whole number from 0 to 2147483647, found -1"},
        {"\"clean\": true", "\"clean\": 1", "\"clean\": expected true or false, found a number"},
        {"\"clean_scratch\", \"type\"", "\"scratch\", \"type\"",
         "parameters[2] does not follow from"},
        {"\"tables\"", "\"others\"", "there is no field \"others\""},
        {"\"tables\": []", "\"tables\": [{\"extents\": [\"1\", \"1\"], \"tile_cost\": \"1\"}]",
         "\"extents\": expected a list of 3 to 3 items, found 2"},
        {"\"tables\": []", "\"tables\": [{\"extents\": [\"1\", \"1\", \"1\"], \"cost\": \"1\"}]",
         "there is no field \"cost\""},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "num_sms") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("num_sms", "1") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "%z") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "1 warps 1") "]", "expressions are invalid"},
        {"\"tables\": []", "\"tables\": [" TABLE("1", "1 warps 1 {} kernel @e() grid [1]") "]",
         "unexpected contents"},
        {"\"tables\": []", "\"tables\": [" TABLE("%n", "1") "]",
         "parameters[4] does not follow from"},
        {"\"tensor_maps\"", "\"others\"", "there is no field \"others\""},
        {"\"tensor_maps\": []", "\"tensor_maps\": [{\"argument\": \"x\"}]",
         "the field \"element\" is missing"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[4]", "1", "1") "]",
         "parameters[4] does not follow from"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("n", "[4]", "1", "1") "]", "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("y", "[4]", "1", "1") "]", "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[4, 4]", "1", "1") "]",
         "is invalid"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[0]", "1", "1") "]",
         "\"box\": expected a whole number from 1 to 256, found 0"},
        {"\"tensor_maps\": []", "\"tensor_maps\": [" MAP("x", "[4]", "%z", "1") "]",
         "expressions are invalid"},
        {"\"tensor_maps\": []",
         "\"tensor_maps\": [" MAP("x", "[4]", "1]>, %z: view<f16[1", "1") "]",
         "unexpected contents"},
        {"\"variants\"", "\"others\"", "there is no field \"others\""},
        {"\"variant\": 0", "\"variant\": 1", "it does not name its variant"},
        {"\"condition\": \"divisible\"", "\"condition\": \"prime\"", "lists of conditions"},
        {"\"argument\": \"x\"", "\"argument\": \"y\"", "lists of conditions"},
        {"\"value\": 16", "\"value\": 0", "lists of conditions"},
        {"\"value\": 16", "\"value\": true", "\"value\": expected a number, found true or false"},
        {"\"variants\": [", "\"variants\": [7, ", "\"variants\": expected a list, found a number"},
        {"\"variants\": [", "\"variants\": [" ALL_VARIANTS,
         "\"variants\": expected a list of 1 to 144 items, found 145"},
        {"\"condition\": \"divisible\"", "\"condition\": \"grid\"", "lists of conditions"},
        {"\"cluster\"", FLAT("\"1\""), "\"flat\": expected a list of 3 to 3 items, found 2"},
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

/* Texts of another version are ignored without an error. */
Test(abi, texts_of_another_format_are_ignored) {
    static const char *const changes[][2] = {
        {"\"format\": 0", "it has format 0, and this version reads 1"},
        {"\"format\": 2", "it has format 2, and this version reads 1"},
        {"\"form\": 1", "it has no format number \"format\""},
        {"\"format\": \"1\"", "its format number \"format\" is no whole number"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        codegen_fixture x;
        char text[4096] = "";
        codegen_open(&x, viewer);
        tile_abi *abi = tile_abi_create(x.kernel);
        tile_abi_print(abi, append, text);
        tile_abi_destroy(abi);
        replace(text, "\"format\": 1", changes[i][0]);
        unsigned errors = tile_context_error_count(x.context);
        cr_expect_null(tile_abi_read(x.context, text, strlen(text)), "%s", changes[i][0]);
        cr_expect_eq(tile_context_error_count(x.context), errors);
        cr_expect(strstr(x.messages, "the launch interface is ignored: ") &&
                      strstr(x.messages, changes[i][1]),
                  "%s: %s", changes[i][0], x.messages);
        codegen_close(&x);
    }
}
