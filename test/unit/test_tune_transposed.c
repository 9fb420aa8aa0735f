/* Operands that wgmma reads only k-major are copied k-major first if that pays (runtime/model). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "passes/passes.h"
#include "runtime/model/choose.h"
#include "runtime/model/packed.h"
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/pack.h"

/* A product of operands of type t, with sums of type s. Strides of a and b: "" if row-major. */
#define PRODUCT(types, t, s, a_strides, b_strides, attributes) \
    "kernel @k<" types "bk: int, bm: int, bn: int, w: int, stages: int>\n" \
    "    (%m: i32, %n: i32, %k: i32, %a: view<" t "[%m, %k]" a_strides ">,\n" \
    "     %b: view<" t "[%k, %n]" b_strides ">, %c: view<" s "[%m, %n]>)\n" \
    "    tune (bm, bn, w) in [(128, 128, 4), (128, 256, 8), (256, 128, 8), (128, 128, 8),\n" \
    "                         (64, 64, 4)]\n" \
    "    tune stages in [4, 3]\n" \
    "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] raster rows(8) warps w {\n" \
    "  %x, %y = block_id\n" \
    "  %sa = alloc_shared : shared<" t "[bm, bk]>\n" \
    "  %sb = alloc_shared : shared<" t "[bk, bn]>\n" \
    "  %acc = for %i = 0 to %k step bk iter (%s = splat(" s "(0)) : tile<" s "[bm, bn]>)\n" \
    "      pipelined (stages) {\n" \
    "    copy %a[%x * bm, %i], %sa\n" \
    "    copy %b[%i, %y * bn], %sb\n" \
    "    yield dot(%sa, %sb, %s" attributes ")\n" \
    "  }\n" \
    "  store %acc, %c[%x * bm, %y * bn]\n" \
    "}\n"

typedef struct layout {
    const char *name, *text;
    const char *tf32, *bf16x3; /* with this precision */
} layout;

#define TYPES "T: type, S: type, "
#define LAYOUT(name, a, b) \
    { \
        name, PRODUCT(TYPES, "T", "S", a, b, ""), \
            PRODUCT(TYPES, "T", "S", a, b, ", precision = tf32"), \
            PRODUCT("", "f32", "f32", a, b, ", precision = bf16x3") \
    }
static const layout layouts[] = {
    LAYOUT("nt", "", ", strides [1, %k]"),
    LAYOUT("nn", "", ""),
    LAYOUT("tt", ", strides [1, %m]", ", strides [1, %k]"),
    LAYOUT("tn", ", strides [1, %m]", ""),
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static tile_module *parse(text_fixture *x, const char *product) {
    tile_module *module = tile_module_parse(x->context, "product", product, strlen(product));
    cr_assert(module, "%s", x->messages);
    return module;
}

/* The value of a binding of the chosen point; "" if it has none. */
static const char *choose_value(text_fixture *x, const char *product, const char *target,
                                const tile_binding types[3], const int64_t shape[3],
                                const char *name) {
    const int64_t sizes[] = {shape[0], shape[1], shape[2], 0, 0, 0};
    const tile_device device = {.target = tile_target_find(target), .num_sms = 132};
    tile_module *module = parse(x, product);
    unsigned count = 0;
    const tile_binding *bindings =
        tune_choose_point(&device, module, "k", types, 3, sizes, &x->arena, &count);
    cr_assert(bindings, "no point");
    const char *value = "";
    for (unsigned i = 0; i < count; i++)
        if (strcmp(bindings[i].name, name) == 0) value = bindings[i].value;
    tile_module_destroy(module);
    return value;
}

/* The arguments that it packs. */
static const char *choose(text_fixture *x, const char *product, const char *target,
                          const tile_binding types[3], const int64_t shape[3]) {
    return choose_value(x, product, target, types, shape, TILE_PACK_ARGUMENTS);
}

static const tile_binding i8[] = {{"T", "i8"}, {"S", "i32"}, {"bk", "128"}},
                          e4m3[] = {{"T", "e4m3"}, {"S", "f32"}, {"bk", "128"}},
                          f32[] = {{"T", "f32"}, {"S", "f32"}, {"bk", "32"}},
                          parts[] = {{"bk", "32"}, {"stages", "3"}, {"w", "8"}},
                          f16[] = {{"T", "f16"}, {"S", "f32"}, {"bk", "64"}};
static const int64_t flat[] = {1024, 8192, 4096}, narrow[] = {8192, 1024, 4096},
                     large[] = {4096, 4096, 4096}, small[] = {64, 128, 256}, tiny[] = {64, 64, 32};

/* wgmma takes one operand of bytes from registers, which warps load in pairs: it is as fast as with
 * a copy (H200, 4096^3, NN: i8 98.5 us, 106 with a transposed copy). If neither operand is K-major,
 * large products copy one of them, the smaller one (4096^3: i8 108 us, 113 with two copies, 623
 * without; 1024 x 8192 x 4096: e4m3 62 us, 76 with a copy of b, 78 with two). Small products, and
 * those of other types and targets, copy nothing. */
Test(tune_transposed, large_products_of_bytes_copy_an_operand_if_none_is_k_major) {
    static const char *const expected[LAYOUTS] = {"", "", "", "a:transposed"};
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < LAYOUTS; i++) {
        const layout *l = &layouts[i];
        cr_expect_str_eq(choose(&x, l->text, "sm_90a", i8, large), expected[i]);
        cr_expect_str_eq(choose(&x, l->text, "sm_90a", e4m3, large), expected[i]);
        cr_expect_str_eq(choose(&x, l->text, "sm_90a", i8, small), "");
        cr_expect_str_eq(choose(&x, l->text, "sm_80", i8, large), "");
        cr_expect_str_eq(choose(&x, l->text, "sm_90a", f16, large), "");
        cr_expect_str_eq(choose(&x, l->text, "sm_90a", f32, large), "");
    }
    cr_expect_str_eq(choose(&x, layouts[3].text, "sm_90a", e4m3, flat), "a:transposed");
    cr_expect_str_eq(choose(&x, layouts[3].text, "sm_90a", e4m3, narrow), "b:transposed");
    text_close(&x);
}

/* wgmma takes one operand of tf32 from registers, which is about as fast (NN and TT). In TN neither
 * is adjacent along k (H200: 630 us with mma.sync, 395 with two copies, 365 with one, 324 in NT).
 */
Test(tune_transposed, tf32_copies_an_operand_if_none_is_k_major) {
    text_fixture x;
    text_open(&x);
    cr_expect_str_eq(choose(&x, layouts[0].tf32, "sm_90a", f32, large), "");
    cr_expect_str_eq(choose(&x, layouts[3].tf32, "sm_90a", f32, large), "a:transposed");
    cr_expect_str_eq(choose(&x, layouts[3].tf32, "sm_90a", f32, flat), "a:transposed");
    cr_expect_str_eq(choose(&x, layouts[3].tf32, "sm_90a", f32, narrow), "b:transposed");
    text_close(&x);
}

/* Warps load the operand that is not k-major, b in NN and a in TT, to registers: fewer rows of it
 * are better (H200: 335 us and 368 in NN). */
Test(tune_transposed, tiles_of_tf32_are_short_along_the_operand_in_registers) {
    text_fixture x;
    text_open(&x);
    cr_expect_str_eq(choose_value(&x, layouts[1].tf32, "sm_90a", f32, large, "bm"), "256");
    cr_expect_str_eq(choose_value(&x, layouts[2].tf32, "sm_90a", f32, large, "bn"), "256");
    cr_expect_str_eq(choose(&x, layouts[1].tf32, "sm_90a", f32, large), "");
    text_close(&x);
}

/* Parts in memory are multiplied by wgmma (H200, 4096^3: 646 us, in registers 1717). */
Test(tune_transposed, large_products_of_parts_split_both_operands_first) {
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < LAYOUTS; i++) {
        const char *product = layouts[i].bf16x3;
        cr_expect_str_eq(choose(&x, product, "sm_90a", parts, large), "a:bf16x3+b:bf16x3");
        cr_expect_str_eq(choose(&x, product, "sm_90a", parts, tiny), "");
        cr_expect_str_eq(choose(&x, product, "sm_80", parts, large), "");
    }
    text_close(&x);
}

/* The points with transposed operands join the others, also beside points that only align rows. */
Test(tune_transposed, the_tuner_gets_their_points) {
    static const struct {
        int64_t shape[3];
        unsigned unpacked, aligned, transposed;
    } cases[] = {{{4096, 4096, 4096}, 10, 0, 10}, {{1000, 3000, 5000}, 10, 10, 10}};
    text_fixture x;
    text_open(&x);
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        const int64_t *shape = cases[c].shape, sizes[] = {shape[0], shape[1], shape[2], 0, 0, 0};
        tile_module *module = parse(&x, layouts[1].text);
        const tile_function *f = tile_module_find(module, "k");
        tune_point *points;
        size_t count;
        unsigned found[3] = {0};
        cr_assert(tune_list_points(f, i8, 3, sizes, &x.arena, &points, &count));
        tune_join_packing(&device, f, sizes, &x.arena, &points, &count);
        for (size_t i = 0; i < count; i++) {
            const char *packed = tune_packing_of(points[i].c.bindings, points[i].c.binding_count);
            found[!packed ? 0 : strstr(packed, ":transposed") ? 2 : 1]++;
        }
        cr_expect(found[0] == cases[c].unpacked && found[1] == cases[c].aligned &&
                      found[2] == cases[c].transposed,
                  "%u, %u, %u", found[0], found[1], found[2]);
        tile_module_destroy(module);
    }
    text_close(&x);
}
