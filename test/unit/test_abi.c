/* The launch interface: what a launcher asks, and the JSON. */
#include <criterion/criterion.h>

#include "test/unit/codegen_fixture.h"

static const char kernel[] =
    "kernel @k(%n: i32, %x: ptr<f32> {divisible = 16}) grid [ceildiv(%n, 128), 3] warps 2 {\n"
    "  %s = alloc_shared {offset = 256} : shared<f16[3][8, 16]>\n"
    "  %a = scratch [%n] {clean} : ptr<i32>\n"
    "  %b = scratch [%n, 2] : ptr<f32>\n"
    "  %c = scratch [7] {clean} : ptr<i32>\n"
    "  st_global 1, %c[%n]\n"
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
    cr_assert_eq(tile_abi_grid(abi, args, grid), TILE_OK);
    cr_assert(grid[0] == 3 && grid[1] == 3 && grid[2] == 1);
    cr_assert_eq(tile_abi_scratch(abi, args, &clean, &plain), TILE_OK);
    cr_assert_eq(clean, 1280 + 256); /* each buffer is rounded up to 256 */
    cr_assert_eq(plain, 2560);
    args[0] = -5;
    cr_assert_eq(tile_abi_scratch(abi, args, &clean, &plain), TILE_INVALID);
    tile_abi_destroy(abi);
    codegen_close(&x);
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
        "\"block\": 64,",
        "\"shared_bytes\": 1024,",
        "{\"clean\": true, \"bytes\": \"28\"}",
    };
    for (unsigned i = 0; i < sizeof pieces / sizeof *pieces; i++)
        cr_expect(strstr(text, pieces[i]), "%s is missing in\n%s", pieces[i], text);
    tile_abi_destroy(abi);
    codegen_close(&x);
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
        {"kernel @k<w: int>(%n: i32) grid [w] warps 1 {\n}\n", "the grid does not follow"},
        {"kernel @k(%n: i32) grid [1] warps 1 {\n  %t = thread_id : i32\n"
         "  %s = scratch [%t] : ptr<i32>\n}\n",
         "the extents must follow from the kernel's arguments"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        codegen_open(&x, cases[i].text);
        cr_expect_null(tile_abi_create(x.kernel));
        cr_expect(strstr(x.messages, cases[i].message), "case %u: %s", i, x.messages);
        codegen_close(&x);
    }
}
