/* Tensor maps: the hardware's requirements, and how launches cache encoded maps. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "lib/analysis/tensor_map.h"
#include "runtime/cuda/device.h"
#include "runtime/device/map.h"
#include "test/unit/codegen_fixture.h"

/* The rules ------------------------------------------------------------------------------------ */

static const tile_map_facts sound = {.scalar = TILE_f16,
                                     .rank = 2,
                                     .swizzle = 128,
                                     .box = {256, 64},
                                     .address = {true, 4096, 1},
                                     .extents = {{true, 1, 1}, {true, 1, 1}},
                                     .strides = {{true, 8, 1}, {true, 1, 1}}};

static void expect(const tile_map_facts *facts, tile_tristate truth, const char *rule) {
    const tile_map_rule *broken;
    cr_expect_eq(tile_map_rule_holds(facts, &broken), truth, "%s", rule ? rule : "");
    cr_expect_eq(broken != NULL, rule != NULL);
    if (broken && rule) cr_expect_str_eq(broken->name, rule);
}

/* The corners are -pad and pad - (filter - 1) * dilation. */
Test(tensor_map, rules_on_windows) {
    const struct {
        const char *rule;
        unsigned spatial;
        int64_t filter, stride, dilation, pad;
    } cases[] = {
        {NULL, 2, 3, 1, 1, 1},          {NULL, 2, 128, 8, 1, 127},
        {"steps", 2, 3, 9, 1, 1},       {"corners", 2, 3, 1, 1, 129},
        {"corners", 2, 3, 1, 65, 1},    {"offsets", 2, 129, 1, 2, 128},
        {NULL, 1, 3, 1, 300, 0},        {"corners", 3, 3, 1, 1, 17},
        {"offsets", 3, 17, 1, 2, 16},   {NULL, 3, 3, 2, 2, 16},
        {"corners", 1, 2, 1, 32769, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_im2col w = {.spatial = cases[i].spatial};
        for (unsigned d = 0; d < w.spatial; d++) {
            w.filter[d] = cases[i].filter;
            w.strides[d] = cases[i].stride;
            w.dilations[d] = cases[i].dilation;
            w.pads[d][0] = w.pads[d][1] = cases[i].pad;
        }
        const tile_map_rule *broken = tile_im2col_broken_rule(&w);
        cr_expect_eq(broken != NULL, cases[i].rule != NULL, "%zu", i);
        if (broken && cases[i].rule) cr_expect_str_eq(broken->name, cases[i].rule, "%zu", i);
    }
}

/* A dim of one element never uses its stride. */
Test(tensor_map, strides_of_single_elements) {
    const tile_number one = tile_number_of(1), two = tile_number_of(2),
                      open = tile_number_unknown(1);
    cr_expect_eq(tile_map_stride(TILE_f16, one, one).value, 8);
    cr_expect_eq(tile_map_stride(TILE_e4m3, one, two).value, 16);
    cr_expect_eq(tile_map_stride(TILE_f64, one, tile_number_of(3)).value, 2);
    cr_expect_eq(tile_map_stride(TILE_f16, two, one).value, 1);
    cr_expect(!tile_map_stride(TILE_f16, two, open).known);
    cr_expect_eq(tile_map_stride(TILE_f16, open, two).value, 2);
    cr_expect(tile_map_stride(TILE_f16, one, open).known);
}

Test(tensor_map, rules_on_numbers) {
    const struct {
        const char *rule;
        size_t at;
        int64_t value;
    } cases[] = {
        {NULL, offsetof(tile_map_facts, box[0]), 1},
        {"box_extents", offsetof(tile_map_facts, box[0]), 257},
        {"box_extents", offsetof(tile_map_facts, box[0]), 0},
        {"box_rows", offsetof(tile_map_facts, box[1]), 4},
        {"swizzle", offsetof(tile_map_facts, box[1]), 72},
        {"swizzle", offsetof(tile_map_facts, box[1]), 8}, /* rows would lie 128 bytes apart */
        {"address", offsetof(tile_map_facts, address.value), 4104},
        {"extents", offsetof(tile_map_facts, extents[0].value), 0},
        {"extents", offsetof(tile_map_facts, extents[1].value), -1},
        {NULL, offsetof(tile_map_facts, extents[1].value), INT64_C(1) << 32},
        {"extents", offsetof(tile_map_facts, extents[1].value), (INT64_C(1) << 32) + 1},
        {"strides", offsetof(tile_map_facts, strides[0].value), 0},
        {"strides", offsetof(tile_map_facts, strides[0].value), 4},
        {"strides", offsetof(tile_map_facts, strides[0].value), -8},
        {NULL, offsetof(tile_map_facts, strides[0].value), (INT64_C(1) << 39) - 8},
        {"strides", offsetof(tile_map_facts, strides[0].value), INT64_C(1) << 39},
        {"inner_stride", offsetof(tile_map_facts, strides[1].value), 2},
        {"inner_stride", offsetof(tile_map_facts, strides[1].value), 0},
    };
    expect(&sound, TILE_YES, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_map_facts facts = sound;
        memcpy((char *)&facts + cases[i].at, &cases[i].value, sizeof cases[i].value);
        expect(&facts, cases[i].rule ? TILE_NO : TILE_YES, cases[i].rule);
    }
    tile_map_facts facts = sound;
    facts.rank = 0;
    expect(&facts, TILE_NO, "rank");
    facts.rank = 6;
    expect(&facts, TILE_NO, "rank");
}

/* Unknown values are checked at launch, unless their divisor or another rule decides. */
Test(tensor_map, rules_on_what_is_known) {
    tile_map_facts facts = sound;
    facts.extents[0] = tile_number_unknown(1);
    expect(&facts, TILE_AT_LAUNCH, "extents");
    facts.box[1] = 4;
    expect(&facts, TILE_NO, "box_rows");
    facts.swizzle = 0;
    facts.box[1] = 8;
    facts.extents[0] = tile_number_of(3);
    expect(&facts, TILE_YES, NULL);
    facts = sound;
    facts.address = tile_number_unknown(8);
    expect(&facts, TILE_AT_LAUNCH, "address");
    facts.address = tile_number_unknown(16);
    expect(&facts, TILE_YES, NULL);
    facts.strides[0] = tile_number_unknown(8); /* positive? */
    expect(&facts, TILE_AT_LAUNCH, "strides");
    facts.strides[1] = tile_number_unknown(1);
    expect(&facts, TILE_AT_LAUNCH, "inner_stride");
    facts.strides[1] = tile_number_of(2);
    expect(&facts, TILE_NO, "inner_stride");
}

/* Encoding ------------------------------------------------------------------------------------- */

static struct {
    unsigned calls;
    bool refuses;
    tile_tensor_map last;
} fake;

static tile_status encode(tile_device *device, const tile_tensor_map *array, unsigned char *encoded,
                          const char **why) {
    (void)device;
    cr_expect_eq((uintptr_t)encoded % 64, 0);
    fake.calls++;
    fake.last = *array;
    if (fake.refuses) *why = "a better driver";
    if (fake.refuses) return TILE_UNAVAILABLE;
    memset(encoded, (int)(array->address / 256), TILE_TENSOR_MAP_BYTES);
    return TILE_OK;
}

static const char text[] = "kernel @k(%n: i32, %x: ptr<f16> {divisible = 16}) grid [1] warps 1 {\n"
                           "  %a = tensor_map %x, [4, %n] : tensor_map<f16[1, 64]>\n"
                           "  %b = tensor_map %x, [%n / (%n - 24)] : tensor_map<f16[64]>\n"
                           "}\n";

typedef struct maps_fixture {
    codegen_fixture text;
    tile_device_ops ops;
    tile_device device;
    tile_variant variant;
    tile_launch launch;
} maps_fixture;

static tile_status take(maps_fixture *x, int64_t n, int64_t address, const char **why) {
    const int64_t args[] = {n, address};
    *why = NULL;
    return tile_take_maps(&x->device, args, &x->launch, why);
}

static void open_maps(maps_fixture *x) {
    memset(x, 0, sizeof *x);
    memset(&fake, 0, sizeof fake);
    codegen_open(&x->text, text);
    x->variant.abi = tile_abi_create(x->text.kernel);
    cr_assert(x->variant.abi, "%s", x->text.messages);
    x->variant.maps = tile_map_cache_create(x->variant.abi);
    x->ops.encode = encode;
    x->device = (tile_device){.ops = &x->ops, .context = x->text.context};
    x->launch.variant = &x->variant;
}

static void close_maps(maps_fixture *x) {
    tile_map_cache_destroy(x->variant.maps);
    tile_abi_destroy((tile_abi *)(uintptr_t)x->variant.abi);
    codegen_close(&x->text);
}

Test(tensor_map, is_encoded_once_for_its_numbers) {
    maps_fixture x;
    const char *why;
    open_maps(&x);
    cr_assert_eq(take(&x, 32, 256, &why), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(fake.calls, 2);
    cr_expect_eq(x.launch.maps[0].array.extents[1], 32);
    cr_expect_eq(x.launch.maps[0].array.strides[0], 64);
    cr_expect_eq(x.launch.maps[1].array.extents[0], 4);
    cr_assert_eq(take(&x, 32, 256, &why), TILE_OK);
    cr_expect_eq(fake.calls, 2);
    cr_expect_eq(x.launch.maps[1].encoded[127], 1);
    cr_assert_eq(take(&x, 40, 256, &why), TILE_OK);
    cr_expect_eq(fake.calls, 4);
    cr_assert_eq(take(&x, 40, 512, &why), TILE_OK);
    cr_expect_eq(fake.calls, 6);
    cr_expect_eq(x.launch.maps[0].encoded[0], 2);
    close_maps(&x);
}

/* More arrays than the cache holds: each launch gets the correct map. */
Test(tensor_map, many_arrays_take_turns) {
    maps_fixture x;
    const char *why;
    open_maps(&x);
    for (unsigned round = 0; round < 3; round++)
        for (int64_t i = 1; i < 100; i++) {
            cr_assert_eq(take(&x, 32, 256 * i, &why), TILE_OK);
            cr_expect_eq(x.launch.maps[0].encoded[5], i);
            cr_expect_eq(x.launch.maps[1].encoded[127], i);
        }
    cr_expect(fake.calls <= 3 * 2 * 99);
    close_maps(&x);
}

Test(tensor_map, what_cannot_be_encoded_says_why) {
    maps_fixture x;
    const char *why;
    open_maps(&x);
    cr_assert_eq(take(&x, 32, 264, &why), TILE_UNAVAILABLE);
    cr_expect_str_eq(why, "an address that is a multiple of 16 bytes");
    cr_expect_eq(fake.calls, 0);
    cr_assert_eq(take(&x, 36, 256, &why), TILE_UNAVAILABLE);
    cr_expect(why && strstr(why, "strides"));
    fake.refuses = true;
    cr_assert_eq(take(&x, 32, 256, &why), TILE_UNAVAILABLE);
    cr_expect_str_eq(why, "a better driver");
    cr_expect_str_eq(x.text.messages, "");
    fake.refuses = false;
    cr_assert_eq(take(&x, 24, 256, &why), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "divides by zero"), "%s", x.text.messages);
    cr_expect_null(why);
    close_maps(&x);
}

/* Maps that no launch could encode are reported at the operation. */
Test(tensor_map, maps_that_cannot_be) {
    static const struct {
        const char *map, *message;
    } cases[] = {
        {"tensor_map %x, [%n] : tensor_map<f16[4]>", "multiples of 16 bytes"},
        {"tensor_map %x, [%n, 64] {swizzle = 32} : tensor_map<f16[4, 64]>", "its swizzle"},
        {"tensor_map %x, [0, 64] : tensor_map<f16[4, 64]>", "extents of at least 1"},
        {"tensor_map %x, [%n, 64], [12, 1] : tensor_map<f16[4, 64]>", "multiples of 16 bytes"},
        {"tensor_map %x, [%n, 64], [64, 2] : tensor_map<f16[4, 64]>", "innermost stride of 1"},
        {"tensor_map %x, [%n] : tensor_map<f16[512]>", "a box of 1 to 256"},
        {"tensor_map %x, [%b] : tensor_map<f16[64]>", "computable from the kernel's arguments"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        codegen_fixture x;
        char kernel[512];
        snprintf(kernel, sizeof kernel,
                 "kernel @k(%%n: i32, %%x: ptr<f16>) grid [1] warps 1 {\n  %%b = block_id\n"
                 "  %%m = %s\n}\n",
                 cases[i].map);
        codegen_open(&x, kernel);
        cr_expect_null(tile_abi_create(x.kernel), "%zu", i);
        cr_expect(strstr(x.messages, cases[i].message), "%s: %s", cases[i].map, x.messages);
        codegen_close(&x);
    }
}

/* Invalid calls by users: nothing is divided by 0, and nothing is read past the dims. */
Test(tensor_map, calls_that_cannot_be) {
    codegen_fixture x;
    codegen_open(&x, "kernel @k(%n: i32) grid [1] warps 1 {\n}\n");
    char encoded[TILE_TENSOR_MAP_BYTES];
    tile_tensor_map map = {.rank = 1, .extents = {64}, .strides = {2}, .box = {8}};
    for (int scalar = -1; scalar <= TILE_SCALAR_COUNT; scalar += TILE_SCALAR_COUNT + 1) {
        map.scalar = (tile_scalar)scalar;
        cr_expect_eq(tile_encode_tensor_map(x.context, &map, encoded), TILE_UNSUPPORTED);
    }
    map.scalar = TILE_SCALAR_NONE;
    cr_expect_eq(tile_encode_tensor_map(x.context, &map, encoded), TILE_UNSUPPORTED);
    cr_expect(strstr(x.messages, "needs an element type of whole bytes"), "%s", x.messages);
    map.scalar = TILE_f16, map.rank = 9;
    cr_expect_eq(tile_encode_tensor_map(x.context, &map, encoded), TILE_UNSUPPORTED);
    cr_expect(strstr(x.messages, "needs 1 to 5 dims"), "%s", x.messages);
    codegen_close(&x);
}

/* The driver ----------------------------------------------------------------------------------- */

static int promotion_asked;

static CUresult note_promotion(CUtensorMap *map, CUtensorMapDataType type, unsigned rank,
                               void *address, const uint64_t *extents, const uint64_t *strides,
                               const uint32_t *box, const uint32_t *steps,
                               CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                               CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
    (void)map, (void)type, (void)rank, (void)address, (void)extents, (void)strides, (void)box;
    (void)steps, (void)interleave, (void)swizzle, (void)fill;
    promotion_asked = promotion;
    return 0;
}

Test(tensor_map, rows_across_lines_are_read_line_by_line) {
    tile_driver driver = {.cuTensorMapEncodeTiled = note_promotion};
    unsigned char encoded[TILE_TENSOR_MAP_BYTES];
    tile_tensor_map array = {.scalar = TILE_f16,
                             .rank = 2,
                             .swizzle = 128,
                             .address = 4096,
                             .extents = {3072, 3072},
                             .strides = {6144, 2},
                             .box = {64, 64}};
    cr_assert_eq(tile_driver_encode(&driver, &array, encoded), 0);
    cr_expect_eq(promotion_asked, TILE_CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
    array.strides[0] = 6000;
    cr_assert_eq(tile_driver_encode(&driver, &array, encoded), 0);
    cr_expect_eq(promotion_asked, TILE_CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
    array.strides[0] = 6144, array.address = 4112;
    cr_assert_eq(tile_driver_encode(&driver, &array, encoded), 0);
    cr_expect_eq(promotion_asked, TILE_CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
    array.scalar = TILE_e4m3, array.address = 4096;
    array.strides[1] = 1, array.box[1] = 128;
    cr_assert_eq(tile_driver_encode(&driver, &array, encoded), 0);
    cr_expect_eq(promotion_asked, TILE_CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
}
