/* Each limit of tile/launch_limits.def, at its number and one past it. Each row needs a function
 * test_<NAME> here, so a new row without a test does not compile. Also tests the limit for the
 * shared memory of a block, which depends on the target. */
#include <stdarg.h>

#include "test/unit/text_fixture.h"
#include "tile/compile.h"
#include "tile/launch_limits.h"

static void write_text(char *text, size_t size, const char *format, va_list list) {
    int length = vsnprintf(text, size, format, list);
    cr_assert(length > 0 && (size_t)length < size);
}

/* Parses and lowers the kernel @k. */
static tile_status lower(text_fixture *x, const char *target, const char *text) {
    const tile_pass_options options = {.size = sizeof options, .target = tile_target_find(target)};
    tile_module *module = text_parse(x, text);
    tile_status status =
        module ? tile_lower(module, "k", NULL, 0, NULL, &options, NULL) : TILE_INVALID;
    tile_module_destroy(module);
    return status;
}

/* message NULL: lowering must succeed. */
static void expect_lowered(const char *message, const char *format, ...) TILE_PRINTF(2, 3);
static void expect_lowered(const char *message, const char *format, ...) {
    char text[2048];
    va_list list;
    text_fixture x;
    va_start(list, format);
    write_text(text, sizeof text, format, list);
    va_end(list);
    text_open(&x);
    tile_status status = lower(&x, "sm_90a", text);
    cr_expect_eq(status, message ? TILE_INVALID : TILE_OK, "%s%s", text, x.messages);
    cr_expect(!message || strstr(x.messages, message), "%s: %s", message, x.messages);
    text_close(&x);
}

/* Computes the grid of a launch with these arguments. message NULL: it must succeed. */
static void expect_grid(const char *text, const int64_t *args, const char *message) {
    static const tile_launch_facts facts = {.size = sizeof facts, .num_sms = 132};
    text_fixture x;
    tile_blob ptx;
    tile_abi *abi;
    int64_t grid[3];
    text_open(&x);
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_80")};
    tile_module *module = text_parse(&x, text);
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_compile(module, "k", NULL, 0, &options, &ptx, &abi), TILE_OK, "%s",
                 x.messages);
    tile_status status = tile_abi_grid(abi, args, &facts, grid);
    cr_expect_eq(status == TILE_OK, !message, "%s%s", text, x.messages);
    cr_expect(!message || strstr(x.messages, message), "%s: %s", message, x.messages);
    tile_abi_destroy(abi);
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
    text_close(&x);
}

static void test_GRID_X(int64_t most) {
    static const char one[] = "kernel @k(%n: i64) grid [%n] warps 1 {}\n";
    static const char all[] = "kernel @k(%m: i64, %n: i64) grid [%m, 1, %n] flat warps 1 {}\n";
    expect_grid(one, (int64_t[]){most}, NULL);
    expect_grid(one, (int64_t[]){most + 1}, "blocks along x; a launch takes at most 2147483647");
    expect_grid(all, (int64_t[]){1, most}, NULL);
    expect_grid(all, (int64_t[]){most / 65536, 65536}, NULL);
    expect_grid(all, (int64_t[]){most / 65536 + 1, 65536}, "takes 2147483647 blocks at most");
    expect_grid(all, (int64_t[]){most, INT64_MAX}, "takes 2147483647 blocks at most");
    expect_grid(all, (int64_t[]){INT64_MAX, 0}, NULL); /* an empty launch */
}

static void test_GRID_YZ(int64_t most) {
    static const char y[] = "kernel @k(%n: i64) grid [1, %n] warps 1 {}\n";
    static const char z[] = "kernel @k(%n: i64) grid [1, 1, %n] warps 1 {}\n";
    static const char flat[] = "kernel @k(%n: i64) grid [1, %n] flat warps 1 {}\n";
    expect_grid(y, (int64_t[]){most}, NULL);
    expect_grid(y, (int64_t[]){most + 1}, "65536 blocks along y; a launch takes at most 65535");
    expect_grid(z, (int64_t[]){most}, NULL);
    expect_grid(z, (int64_t[]){most + 1}, "65536 blocks along z; a launch takes at most 65535");
    expect_grid(flat, (int64_t[]){most + 1}, NULL);
}

static void test_TILES(int64_t most) {
    static const char tiles[] = "kernel @k(%n: i64) grid [1, %n] persistent warps 1 {}\n";
    static const char iterations[] =
        "kernel @k(%n: i32, %y: view<f32[1, 32]>) grid [2] warps 1 {\n"
        "  %all = for %p = 0 to %n iter (%sum = 0.0 : tile<f32[1, 32]>) split (1, stream_k) {\n"
        "    yield %sum + 1.0\n  }\n  store %all, %y[0, 0]\n}\n";
    expect_grid(tiles, (int64_t[]){most}, NULL);
    expect_grid(tiles, (int64_t[]){most + 1},
                "1073741825 tiles; a `persistent` kernel counts at most 1073741824");
    expect_grid(iterations, (int64_t[]){most / 2, 0}, NULL);
    expect_grid(iterations, (int64_t[]){most / 2 + 1, 0},
                "1073741826 iterations of all tiles together; a `stream_k` kernel counts at most");
}

static void test_CLUSTER(int64_t most) {
    expect_lowered(NULL, "kernel @k() grid [32] cluster [%lld] warps 1 {}\n", (long long)most);
    expect_lowered(NULL, "kernel @k() grid [8, 4] cluster [%lld, 2] warps 1 {}\n",
                   (long long)most / 2);
    expect_lowered("their product at most 16", "kernel @k() grid [34] cluster [%lld] warps 1 {}\n",
                   (long long)most + 1);
    expect_lowered("their product at most 16",
                   "kernel @k() grid [9, 4] cluster [%lld, 2] warps 1 {}\n",
                   (long long)most / 2 + 1);
}

static void test_WARPS(int64_t most) {
    expect_lowered(NULL, "kernel @k() grid [1] warps %lld {}\n", (long long)most);
    expect_lowered("warps must be a number from 1 to 32, it is 33",
                   "kernel @k() grid [1] warps %lld {}\n", (long long)most + 1);
}

static void test_REGISTERS(int64_t most) {
    static const char roles[] =
        "kernel @k() grid [1] warps 8 {\n"
        "  roles {\n    warps 4 registers 24 {}\n    warps 4 registers %lld {}\n  }\n}\n";
    expect_lowered(NULL, roles, (long long)most);
    expect_lowered("registers takes a multiple of 8 from 24 to 248, not 256", roles,
                   (long long)most + 8);
}

#define LAUNCH_LIMIT(name, number, subject) \
    Test(launch_limits, name) { \
        test_##name(number); \
    }
#include "tile/launch_limits.def"
#undef LAUNCH_LIMIT

/* Buffers whose sizes in bytes are powers of two, all live until the end. */
static void write_buffers(char *text, size_t size, unsigned bytes) {
    size_t at = (size_t)snprintf(text, size,
                                 "kernel @k(%%x: ptr<i8>) grid [1] warps 1 {\n"
                                 "  %%v = view %%x, [262144] : view<i8[262144]>\n");
    for (unsigned bit = 4; bit < 20; bit++)
        if (bytes >> bit & 1)
            at += (size_t)snprintf(text + at, size - at,
                                   "  %%s%u = alloc_shared : shared<i8[%u]>\n", bit, 1u << bit);
    for (unsigned pass = 0; pass < 2; pass++)
        for (unsigned bit = 4; bit < 20; bit++)
            if (bytes >> bit & 1)
                at += (size_t)snprintf(text + at, size - at,
                                       pass ? "  copy %%s%u, %%v[0]\n" : "  copy %%v[0], %%s%u\n",
                                       bit);
    snprintf(text + at, size - at, "}\n");
}

Test(launch_limits, shared_memory) {
    const tile_target *target;
    for (unsigned i = 0; (target = tile_target_at(i)); i++)
        for (unsigned past = 0; past < 2; past++) {
            char text[4096], message[100];
            text_fixture x;
            write_buffers(text, sizeof text, target->max_shared_bytes + 16 * past);
            text_open(&x);
            tile_status status = lower(&x, target->name, text);
            snprintf(message, sizeof message,
                     "needs %u bytes of shared memory, %s has %u per block",
                     target->max_shared_bytes + 16 * past, target->name, target->max_shared_bytes);
            cr_expect_eq(status == TILE_OK, !past, "%s: %s", target->name, x.messages);
            cr_expect(!past || strstr(x.messages, message), "%s: %s", message, x.messages);
            text_close(&x);
        }
}
