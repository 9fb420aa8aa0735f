/* `raster` and `persistent`: every tile is visited once, in the order of the clause, and each block
 * of a persistent kernel gets its share. The order is observed with a single block, which
 * counts. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "test/unit/share.h"
#include "test/unit/text_fixture.h"
#include "tile/device.h"
#include "tile/pass.h"

enum { MOST = 9, MAX_TILES = 6000 };

typedef struct run {
    text_fixture text;
    tile_device *device;
    tile_module *module;
    tile_kernel *kernel;
    tile_buffer *out, *next;
} run;

static void open_run(run *r, unsigned level, unsigned sms, const char *text) {
    tile_device_options options = {.size = sizeof options, .level = level, .sms = sms};
    *r = (run){0};
    text_open(&r->text);
    cr_assert_eq(tile_device_create_cpu(r->text.context, &options, &r->device), TILE_OK);
    r->module = tile_module_parse(r->text.context, "kernel", text, strlen(text));
    cr_assert(r->module, "%s\n%s", r->text.messages, text);
    cr_assert_eq(tile_kernel_create(r->device, r->module, "k", NULL, 0, &r->kernel), TILE_OK,
                 "%s\n%s", r->text.messages, text);
    cr_assert_eq(tile_buffer_create(r->device, MAX_TILES * sizeof(int32_t), &r->out), TILE_OK);
    cr_assert_eq(tile_buffer_create(r->device, sizeof(int32_t), &r->next), TILE_OK);
}

static void close_run(run *r) {
    tile_kernel_destroy(r->kernel);
    tile_buffer_destroy(r->out);
    tile_buffer_destroy(r->next);
    tile_module_destroy(r->module);
    tile_device_destroy(r->device);
    text_close(&r->text);
}

/* The kernel writes to out[tile], with tiles in row-major order of (z, x, y). */
static void launch(run *r, const int64_t grid[3], int32_t *out) {
    static const int32_t zeros[MAX_TILES];
    const size_t bytes = sizeof *out * (size_t)(grid[0] * grid[1] * grid[2]);
    const tile_argument arguments[] = {{.integer = grid[0]},
                                       {.integer = grid[1]},
                                       {.integer = grid[2]},
                                       {.buffer = r->out},
                                       {.buffer = r->next}};
    cr_assert_eq(tile_buffer_write(r->out, 0, zeros, bytes), TILE_OK);
    cr_assert_eq(tile_buffer_write(r->next, 0, zeros, sizeof *zeros), TILE_OK);
    cr_assert_eq(tile_kernel_launch(r->kernel, arguments, 5, NULL), TILE_OK, "%s",
                 r->text.messages);
    cr_assert_eq(tile_buffer_read(r->out, 0, out, bytes), TILE_OK);
}

static int32_t at(const int64_t grid[3], const int32_t *out, int64_t x, int64_t y, int64_t z) {
    return out[(z * grid[0] + x) * grid[1] + y];
}

#define HEAD \
    "kernel @k(%gx: i32, %gy: i32, %gz: i32, %out: ptr<i32>, %next: ptr<i32>)\n" \
    "    grid [%gx, %gy, %gz] warps 1 "
#define BODY \
    " {\n" \
    "  %x, %y, %z = block_id\n" \
    "  %dx, %dy, %dz = grid_dim\n" \
    "  %o = view %out, [%dz * %dx * %dy] : view<i32[?]>\n" \
    "  %at = (%z * %dx + %x) * %dy + %y\n"

/* Counts the visits of each tile. */
static const char counts[] = "  %t = load %o[%at] : tile<i32[1]>\n"
                             "  store %t + 1, %o[%at]\n"
                             "}\n";
/* Stores for each tile its number in the sequence that the block visits. */
static const char numbers[] = "  %n = view %next, [1] : view<i32[1]>\n"
                              "  %t = load %n[0] : tile<i32[1]>\n"
                              "  store %t, %o[%at]\n"
                              "  store %t + 1, %n[0]\n"
                              "}\n";

static void check_once(const char *clauses, unsigned level, unsigned sms, int64_t step) {
    char text[1024];
    int32_t out[MAX_TILES];
    run r;
    snprintf(text, sizeof text, "%s%s%s%s", HEAD, clauses, BODY, counts);
    open_run(&r, level, sms, text);
    for (int64_t x = 1; x <= MOST; x += step)
        for (int64_t y = 1; y <= MOST; y += step)
            for (int64_t z = 1; z <= 3; z += 2) {
                const int64_t grid[] = {x, y, z};
                launch(&r, grid, out);
                for (int64_t i = 0; i < x * y * z; i++)
                    cr_assert_eq(out[i], 1, "%s: grid %d x %d x %d, tile %d", clauses, (int)x,
                                 (int)y, (int)z, (int)i);
            }
    close_run(&r);
}

Test(tile_scheduler, raster_visits_each_tile_once) {
    check_once("raster rows(1)", 2, 0, 1);
    check_once("raster rows(2)", 2, 0, 1);
    check_once("raster rows(5)", 2, 0, 2);
    check_once("raster columns(3)", 2, 0, 1);
    check_once("raster columns(32768)", 2, 0, 4);
    check_once("raster rows(4)", 3, 0, 3);
    check_once("raster columns(2)", 3, 0, 3);
}

Test(tile_scheduler, persistent_visits_each_tile_once) {
    check_once("persistent", 2, 4, 2);
    check_once("persistent raster rows(2)", 3, 5, 3);
    check_once("persistent raster columns(2)", 2, 3, 2);
    check_once("persistent balanced by block_id(0)", 2, 4, 2);
    check_once("persistent balanced by 7 - block_id(1)", 2, 5, 2);
    check_once("persistent balanced by rem(block_id(2), 2) * %gy + 1", 3, 3, 3);
    check_once("persistent balanced by block_id(0) * block_id(1)", 2, 4, 1);
    check_once("persistent balanced by block_id(0) - block_id(2)", 3, 132, 2);
    check_once("persistent balanced by 0", 3, 3, 3);
}

/* Quotients by reciprocals are estimates that are corrected; here some are one too small. */
Test(tile_scheduler, persistent_visits_each_of_many_tiles_once) {
    static const int64_t grids[][3] = {{1, 6000, 1}, {6000, 1, 1}, {97, 61, 1}, {61, 97, 1},
                                       {8, 750, 1},  {15, 200, 2}, {77, 77, 1}, {2999, 2, 1}};
    static const char *const orders[] = {"persistent", "persistent raster rows(8)",
                                         "persistent raster columns(7)"};
    static int32_t out[MAX_TILES];
    for (unsigned o = 0; o < sizeof orders / sizeof *orders; o++) {
        char text[1024];
        run r;
        snprintf(text, sizeof text, "%s%s%s%s", HEAD, orders[o], BODY, counts);
        open_run(&r, 3, 132, text);
        for (unsigned g = 0; g < sizeof grids / sizeof *grids; g++) {
            if (!is_in_share(g + o)) continue;
            int64_t tiles = grids[g][0] * grids[g][1] * grids[g][2];
            launch(&r, grids[g], out);
            for (int64_t i = 0; i < tiles; i++)
                cr_assert_eq(out[i], 1, "%s: grid %u, tile %d", orders[o], g, (int)i);
        }
        close_run(&r);
    }
}

/* Orders --------------------------------------------------------------------------------------- */

typedef void (*order_check)(const int64_t grid[3], const int32_t *out);

static void check_order_at(unsigned level, const char *clauses, order_check check) {
    char text[1024];
    int32_t out[MAX_TILES];
    run r;
    snprintf(text, sizeof text, "%spersistent %s%s%s", HEAD, clauses, BODY, numbers);
    open_run(&r, level, 1, text);
    for (int64_t x = 1; x <= MOST; x++)
        for (int64_t y = 1; y <= MOST; y++)
            for (int64_t z = 1; z <= 3; z += 2) {
                const int64_t grid[] = {x, y, z};
                launch(&r, grid, out);
                check(grid, out);
            }
    close_run(&r);
}

static void check_order(const char *clauses, order_check check) {
    check_order_at(2, clauses, check);
}

static void expect_number(const int64_t grid[3], const int32_t *out, int64_t x, int64_t y,
                          int64_t z, int32_t number) {
    int32_t found = at(grid, out, x, y, z);
    cr_assert_eq(found, number, "%d x %d x %d: tile %d %d %d is number %d, not %d", (int)grid[0],
                 (int)grid[1], (int)grid[2], (int)x, (int)y, (int)z, found, number);
}

static void check_plain(const int64_t grid[3], const int32_t *out) {
    int32_t number = 0;
    for (int64_t z = 0; z < grid[2]; z++)
        for (int64_t y = 0; y < grid[1]; y++)
            for (int64_t x = 0; x < grid[0]; x++) expect_number(grid, out, x, y, z, number++);
}

static void check_rows_of_2(const int64_t grid[3], const int32_t *out) {
    int32_t number = 0;
    for (int64_t z = 0; z < grid[2]; z++)
        for (int64_t group = 0; group < grid[0]; group += 2)
            for (int64_t y = 0; y < grid[1]; y++)
                for (int64_t x = group; x < grid[0] && x < group + 2; x++)
                    expect_number(grid, out, x, y, z, number++);
}

static void check_columns_of_3(const int64_t grid[3], const int32_t *out) {
    int32_t number = 0;
    for (int64_t z = 0; z < grid[2]; z++)
        for (int64_t group = 0; group < grid[1]; group += 3)
            for (int64_t x = 0; x < grid[0]; x++)
                for (int64_t y = group; y < grid[1] && y < group + 3; y++)
                    expect_number(grid, out, x, y, z, number++);
}

Test(tile_scheduler, orders) {
    check_order("", check_plain);
    check_order("raster rows(2)", check_rows_of_2);
    check_order("raster columns(3)", check_columns_of_3);
    check_order("balanced by %gx", check_plain);
    check_order("balanced by block_id(0) * block_id(1)", check_plain);
}

Test(tile_scheduler, orders_of_threads) {
    check_order_at(3, "balanced by (block_id(1) - 4) * (block_id(1) - 4) + block_id(2)",
                   check_plain);
    check_order_at(3, "raster rows(2)", check_rows_of_2);
}

/* Shares --------------------------------------------------------------------------------------- */

#define SHARES_HEAD \
    "kernel @k(%gx: i32, %gy: i32, %gz: i32, %out: ptr<i32>, %next: i32)\n" \
    "    grid [%gx, %gy, %gz] warps 1 persistent "
static const char shares[] = "  %t = splat %next : tile<i32[1]>\n"
                             "  store %t, %o[%at]\n"
                             "}\n";

/* Returns the text of the kernel after the pass, which also writes the block's id. */
static char *text_with_block(const char *text) {
    text_fixture x;
    static char result[1 << 14];
    char name[32], *out = result;
    text_open(&x);
    tile_module *module = tile_module_parse(x.context, "kernel", text, strlen(text));
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_run_passes(module, "tile-scheduler", NULL), TILE_OK, "%s", x.messages);
    const char *printed = text_print(&x, module);
    const char *end = strstr(printed, " = block_id"), *begin = end;
    cr_assert(end, "%s", printed);
    while (begin[-1] != '\n') begin--;
    cr_assert_eq(sscanf(begin, " %31[^,]", name), 1);
    for (const char *from = printed, *mark; *from; from = mark + strlen("splat %next")) {
        mark = strstr(from, "splat %next");
        out += sprintf(out, "%.*s", (int)(mark ? mark - from : (long)strlen(from)), from);
        if (!mark) break;
        out += sprintf(out, "splat %s", name);
    }
    tile_module_destroy(module);
    text_close(&x);
    return result;
}

/* The costs of the blocks' shares differ by at most the most expensive tile. */
static void check_shares(const char *cost, const int32_t of[3], unsigned blocks) {
    char text[1024];
    const int64_t grid[] = {9, 8, 3};
    int64_t sums[13] = {0}, least = INT64_MAX, most = 0;
    int32_t out[9 * 8 * 3], costliest = (1 + 8 * of[0]) * (1 + 7 * of[1]) * (1 + 2 * of[2]);
    snprintf(text, sizeof text, "%sbalanced by %s%s%s", SHARES_HEAD, cost, BODY, shares);
    run r;
    open_run(&r, 2, blocks, text_with_block(text));
    const tile_argument arguments[] = {
        {.integer = 9}, {.integer = 8}, {.integer = 3}, {.buffer = r.out}, {.integer = 0}};
    cr_assert_eq(tile_kernel_launch(r.kernel, arguments, 5, NULL), TILE_OK);
    cr_assert_eq(tile_buffer_read(r.out, 0, out, sizeof out), TILE_OK);
    for (int32_t x = 0; x < 9; x++)
        for (int32_t y = 0; y < 8; y++)
            for (int32_t z = 0; z < 3; z++) {
                int32_t block = at(grid, out, x, y, z);
                cr_assert(block >= 0 && block < (int32_t)blocks);
                sums[block] += (1 + x * of[0]) * (1 + y * of[1]) * (1 + z * of[2]);
            }
    for (unsigned i = 0; i < blocks; i++) {
        least = sums[i] < least ? sums[i] : least;
        most = sums[i] > most ? sums[i] : most;
    }
    cr_expect(most - least <= costliest, "%s, %u blocks: %d to %d", cost, blocks, (int)least,
              (int)most);
    close_run(&r);
}

Test(tile_scheduler, costs_are_dealt_out_evenly) {
    static const unsigned blocks[] = {1, 2, 3, 4, 7, 13};
    static const int32_t x[] = {1, 0, 0}, y[] = {0, 1, 0}, z[] = {0, 0, 1};
    for (unsigned b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        check_shares("block_id(0) + 1", x, blocks[b]);
        check_shares("1 + block_id(1)", y, blocks[b]);
        check_shares("block_id(2) + 1", z, blocks[b]);
    }
}

/* Tiles are assigned in order to the block with the least total cost so far, the first such block
 * if there are several. A tile costs at least 1. */
static void check_dealt(const char *cost, int64_t (*price)(int32_t, int32_t, int32_t),
                        unsigned level, unsigned blocks) {
    char text[1024];
    const int64_t grid[] = {9, 8, 3};
    int64_t loads[13] = {0};
    int32_t out[9 * 8 * 3];
    run r;
    snprintf(text, sizeof text, "%sbalanced by %s%s%s", SHARES_HEAD, cost, BODY, shares);
    open_run(&r, level, blocks, text_with_block(text));
    const tile_argument arguments[] = {
        {.integer = 9}, {.integer = 8}, {.integer = 3}, {.buffer = r.out}, {.integer = 0}};
    cr_assert_eq(tile_kernel_launch(r.kernel, arguments, 5, NULL), TILE_OK, "%s", r.text.messages);
    cr_assert_eq(tile_buffer_read(r.out, 0, out, sizeof out), TILE_OK);
    for (int32_t z = 0; z < 3; z++)
        for (int32_t y = 0; y < 8; y++)
            for (int32_t x = 0; x < 9; x++) {
                unsigned least = 0;
                int64_t own = price(x, y, z);
                for (unsigned b = 1; b < blocks; b++) least = loads[b] < loads[least] ? b : least;
                cr_assert_eq(at(grid, out, x, y, z), (int32_t)least, "%s: tile %d %d %d", cost, x,
                             y, z);
                loads[least] += own > 1 ? own : 1;
            }
    close_run(&r);
}

static int64_t price_product(int32_t x, int32_t y, int32_t z) {
    (void)z;
    return x * (y + 1);
}

static int64_t price_fall(int32_t x, int32_t y, int32_t z) {
    (void)y;
    return 5 - x + z;
}

static int64_t price_equal(int32_t x, int32_t y, int32_t z) {
    (void)x, (void)y, (void)z;
    return 1;
}

Test(tile_scheduler, tiles_are_dealt_out_in_order) {
    for (unsigned level = 2; level <= 3; level++) {
        check_dealt("block_id(0) * (block_id(1) + 1)", price_product, level, 7);
        check_dealt("5 - block_id(0) + block_id(2)", price_fall, level, 13);
        check_dealt("1", price_equal, level, 4);
        check_dealt("1", price_equal, level, 1);
    }
}

/* Tests the operation directly, where threads look up different entries. An index out of bounds is
 * clamped. The table is 7 to 13, the offsets of the six tiles for as many blocks, and 0 to 5, the
 * tiles. */
Test(tile_scheduler, look_ups) {
    static const char *const asked[] = {
        "  %t = tile_schedule(%i * 3 - 4, [%m, 3], cost = block_id(0) * block_id(1))\n"
        "  %v = view %x, [8] : view<i32[8]>\n"
        "  store splat(%t) : tile<i32[1]>, %v[%i]\n",
        "  %id = thread_id\n"
        "  %t = tile_schedule(%id * 3 - 4, [%m, 3], cost = block_id(0) * block_id(1))\n"
        "  st_global %t, %x[%id], (%id < 8) & (%i == 0)\n",
    };
    static const int32_t entries[] = {7, 7, 9, 12, 1, 4, 5, 5};
    for (unsigned i = 0; i < 3; i++) {
        text_fixture x;
        char text[1024];
        int32_t out[8];
        tile_device *device;
        tile_kernel *kernel;
        tile_buffer *buffer;
        const tile_device_options options = {.size = sizeof options, .level = i == 1 ? 2 : 3};
        snprintf(text, sizeof text,
                 "kernel @k(%%m: i32, %%x: ptr<i32>) grid [8] warps 1 {\n  %%i = block_id\n%s}\n",
                 asked[i == 2]);
        text_open(&x);
        tile_module *module = text_parse(&x, text);
        cr_assert(module, "%s", x.messages);
        cr_assert_eq(tile_device_create_cpu(x.context, &options, &device), TILE_OK);
        cr_assert_eq(tile_buffer_create(device, sizeof out, &buffer), TILE_OK);
        cr_assert_eq(tile_kernel_create(device, module, "k", NULL, 0, &kernel), TILE_OK, "%s",
                     x.messages);
        const tile_argument arguments[] = {{.integer = 2}, {.buffer = buffer}};
        cr_assert_eq(tile_kernel_launch(kernel, arguments, 2, NULL), TILE_OK, "%s", x.messages);
        cr_assert_eq(tile_buffer_read(buffer, 0, out, sizeof out), TILE_OK);
        cr_expect_arr_eq(out, entries, sizeof out, "case %u", i);
        tile_kernel_destroy(kernel);
        tile_buffer_destroy(buffer);
        tile_module_destroy(module);
        tile_device_destroy(device);
        text_close(&x);
    }
}

/* A launch that cannot distribute the tiles is refused with a reason. */
Test(tile_scheduler, no_table) {
    char text[1024];
    run r;
    snprintf(text, sizeof text, "%s%s%s%s", SHARES_HEAD,
             "balanced by block_id(0) * block_id(1) / %next", BODY, shares);
    open_run(&r, 2, 4, text);
    tile_argument arguments[] = {
        {.integer = 5}, {.integer = 5}, {.integer = 1}, {.buffer = r.out}, {.integer = 0}};
    cr_expect_eq(tile_kernel_launch(r.kernel, arguments, 5, NULL), TILE_INVALID);
    cr_expect(strstr(r.text.messages, "the tile 0 0 0 has no cost: block_id(0) * block_id(1) / "
                                      "%next divides by zero"),
              "%s", r.text.messages);
    arguments[4].integer = 1;
    cr_expect_eq(tile_kernel_launch(r.kernel, arguments, 5, NULL), TILE_OK);
    arguments[0].integer = 1 << 20;
    cr_expect_eq(tile_kernel_launch(r.kernel, arguments, 5, NULL), TILE_INVALID);
    cr_expect(strstr(r.text.messages, "there must be 1 to 4194304 tiles"), "%s", r.text.messages);
    arguments[0].integer = 0; /* no tiles: nothing to do */
    cr_expect_eq(tile_kernel_launch(r.kernel, arguments, 5, NULL), TILE_OK);
    close_run(&r);
}

/* The launch refuses more tiles than the kernel can count. */
Test(tile_scheduler, too_many_tiles) {
    run r;
    char text[1024];
    snprintf(text, sizeof text, "%spersistent%s%s", HEAD, BODY, counts);
    open_run(&r, 2, 0, text);
    const int64_t args[] = {1 << 20, 1 << 10, 2, 0, 0};
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = 132};
    int64_t grid[3], fewer[] = {1 << 20, 1 << 10, 1, 0, 0};
    const tile_abi *abi = tile_kernel_abi(r.kernel);
    cr_expect_eq(tile_abi_grid(abi, args, &facts, grid), TILE_INVALID);
    cr_expect_eq(tile_abi_grid(abi, fewer, &facts, grid), TILE_OK);
    cr_expect(grid[0] == 132 && grid[1] == 1 && grid[2] == 1);
    fewer[0] = 3, fewer[1] = 5;
    cr_expect_eq(tile_abi_grid(abi, fewer, &facts, grid), TILE_OK);
    cr_expect_eq(grid[0], 15);
    close_run(&r);
}
