/* The variants of a kernel, their order, and which one a launch takes. */
#include <criterion/criterion.h>

#include "lib/analysis/variants.h"
#include "test/unit/text_fixture.h"
#include "tile/artifact.h"

/* Prints the assumptions of each variant: "n8 x16, n4 x16, -". */
static void print_variants(const tile_function *f, const tile_variants *variants, char *text) {
    *text = 0;
    for (unsigned v = 0; v < variants->count; v++) {
        const char *before = v ? ", " : "";
        for (unsigned i = 0; i < f->arg_count; i++) {
            if (variants->divisors[v][i] <= 1) continue;
            sprintf(text + strlen(text), "%s%s%u", before, f->args[i].name,
                    variants->divisors[v][i]);
            before = " ";
        }
        for (size_t i = 0; i < f->arg_count; i++) {
            if (!variants->maps[v][i]) continue;
            sprintf(text + strlen(text), "%s%s map", before, f->args[i].name);
            before = " ";
        }
        if (*before == ',' || !*before) sprintf(text + strlen(text), "%s-", before);
        if (v >= variants->flat_from) strcat(text, " flat");
    }
}

static void append(const char *text, size_t length, void *user) {
    strncat(user, text, length);
}

static void check_list_for(const char *target, const char *text, const char *want) {
    text_fixture x;
    tile_arena arena = {0};
    tile_variants variants;
    char found[2048];
    text_open(&x);
    tile_module *module = text_parse(&x, text);
    cr_assert(module, "%s", x.messages);
    const tile_function *f = tile_module_function(module, 0);
    tile_derive_variants(f, target ? tile_target_find(target) : NULL, &arena, &variants);
    print_variants(f, &variants, found);
    cr_expect_str_eq(found, want, "%s\n%s\ninstead of\n%s", text, found, want);
    tile_arena_reset(&arena);
    tile_module_destroy(module);
    text_close(&x);
}

static void check_list(const char *text, const char *want) {
    check_list_for(NULL, text, want);
}

#define A ": ptr<f16> {divisible = 16}"
#define LD " {divisible = 8}"
/* Only arguments that the kernel uses are operands. */
#define USE(argument, type) "  %u_" argument " = view %" argument ", [8] : view<" type "[8]>\n"

static const char matmul[] =
    "kernel @k(%m: i32, %n: i32" LD ", %k: i32" LD ", %a" A ", %b" A ", %c" A ")\n"
    "    grid [1] warps 1 {\n"
    "  %va = view %a, [%m, %k] : view<f16[?, ?]>\n"
    "  %vb = view %b, [%k, %n] : view<f16[?, ?]>\n"
    "  %vc = view %c, [%m, %n] : view<f16[?, ?]>\n"
    "}\n";

Test(variants, groups_share_an_integer) {
    check_list(matmul, "n8 k8 a16 b16 c16, n4 k8 a16 b8 c8, n2 k8 a16 b4 c4, k8 a16 b2 c2, "
                       "n8 k4 a8 b16 c16, n4 k4 a8 b8 c8, n2 k4 a8 b4 c4, k4 a8 b2 c2, "
                       "n8 k2 a4 b16 c16, n4 k2 a4 b8 c8, n2 k2 a4 b4 c4, k2 a4 b2 c2, "
                       "n8 a2 b16 c16, n4 a2 b8 c8, n2 a2 b4 c4, a2 b2 c2");
}

Test(variants, of_what_is_declared) {
    static const struct {
        const char *text, *list;
    } cases[] = {
        {"kernel @k() grid [1] warps 1 {\n}\n", "-"},
        {"kernel @k(%n: i32, %p: ptr<f16>) grid [1] warps 1 {\n" USE("p", "f16") "}\n", "-"},
        /* Elements of 4 bytes: the last variant is the one for 4 bytes. */
        {"kernel @k(%p: ptr<f32> {divisible = 16}) grid [1] warps 1 {\n" USE("p", "f32") "}\n",
         "p16, p8, p4"},
        {"kernel @k(%p: ptr<f64> {divisible = 16}) grid [1] warps 1 {\n" USE("p", "f64") "}\n",
         "p16, p8"},
        {"kernel @k(%p: ptr<i8> {divisible = 16}) grid [1] warps 1 {\n" USE("p", "i8") "}\n",
         "p16, p8, p4, -"},
        /* Not used: no operand. */
        {"kernel @k(%p" A ", %q" A ") grid [1] warps 1 {\n" USE("q", "f16") "}\n",
         "p16 q16, q16, q8, q4, q2"},
        /* More than accesses need, less than the maximum, and not a power of two. */
        {"kernel @k(%p: ptr<f16> {divisible = 128}) grid [1] warps 1 {\n" USE("p", "f16") "}\n",
         "p128, p16, p8, p4, p2"},
        {"kernel @k(%p: ptr<f16> {divisible = 4}) grid [1] warps 1 {\n" USE("p", "f16") "}\n",
         "p4, p2"},
        {"kernel @k(%p: ptr<f16> {divisible = 24}) grid [1] warps 1 {\n" USE("p", "f16") "}\n",
         "p24, p8, p4, p2"},
        {"kernel @k(%p: ptr<f32> {divisible = 2}) grid [1] warps 1 {\n" USE("p", "f32") "}\n",
         "p2"},
        /* Not in any view: only the first variant assumes it. */
        {"kernel @k(%n: i32 {divisible = 64}, %p" A ") grid [1] warps 1 {\n" USE("p", "f16") "}\n",
         "n64 p16, p16, p8, p4, p2"},
        {"kernel @k(%n: i32 {divisible = 3}) grid [1] warps 1 {\n}\n", "n3, -"},
        /* Extents other than the innermost one do not matter; strides do, and so do the arguments
         * of an expression. */
        {"kernel @k(%m: i32 {divisible = 8}, %n: i32 {divisible = 8}, %p" A ")\n"
         "    grid [1] warps 1 {\n  %v = view %p, [%m, %n] : view<f16[?, ?]>\n}\n",
         "m8 n8 p16, n8 p16, n4 p8, n2 p4, p2"},
        {"kernel @k(%m: i32 {divisible = 8}, %n: i32 {divisible = 8}, %p" A ")\n"
         "    grid [1] warps 1 {\n"
         "  %l = mul %m, 2 : i32\n"
         "  %v = view %p, [%n, 64], [%l, 1] : view<f16[?, 64], strides [?, 1]>\n}\n",
         "m8 n8 p16, m8 p16, m4 p8, m2 p4, p2"},
        /* No dim has stride 1: accesses are per element, whatever %n is. */
        {"kernel @k(%n: i32 {divisible = 8}, %p" A ") grid [1] warps 1 {\n"
         "  %v = view %p, [%n], [%n] : view<f16[?], strides [?]>\n}\n",
         "n8 p16, p16, p8, p4, p2"},
        /* Each operand of a group gets its full width. */
        {"kernel @k(%n: i32 {divisible = 16}, %p" A ", %q: ptr<f32> {divisible = 16})\n"
         "    grid [1] warps 1 {\n  %v = view %p, [%n] : view<f16[?]>\n"
         "  %w = view %q, [%n] : view<f32[?]>\n}\n",
         "n16 p16 q16, n8 p16 q16, n4 p8 q8, n2 p4 q4, p2 q4"},
        /* Two views of one operand form one group, linked by a shared integer. */
        {"kernel @k(%n: i32 {divisible = 8}, %m: i32 {divisible = 8}, %p" A ", %q" A ")\n"
         "    grid [1] warps 1 {\n  if 1 < 2 {\n  %v = view %p, [%n] : view<f16[?]>\n"
         "  %w = view %p, [%m] : view<f16[?]>\n  %u = view %q, [%m] : view<f16[?]>\n  }\n}\n",
         "n8 m8 p16 q16, n4 m4 p8 q8, n2 m2 p4 q4, p2 q2"},
        /* View arguments: a narrower one narrows those with the same rows, also through a view of
         * its pointer. */
        {"kernel @k(%n: i32 {divisible = 8}, %m: i32 {divisible = 8},\n"
         "    %p: view<f16[%m, 2 * %n]> {divisible = 16}, %q" A
         ") grid [1] warps 1 {\n" USE("q", "f16") "  %b = base %p\n}\n",
         "n8 m8 p16 q16, n8 p16 q16, n8 p16 q8, n8 p16 q4, n8 p16 q2, n4 p8 q16, n4 p8 q8, "
         "n4 p8 q4, n4 p8 q2, n2 p4 q16, n2 p4 q8, n2 p4 q4, n2 p4 q2, p2 q16, p2 q8, p2 q4, "
         "p2 q2"},
        {"kernel @k(%n: i32 {divisible = 8}, %m: i32 {divisible = 8},\n"
         "    %p: view<f16[64, %n], strides [1, %m]> {divisible = 16}) grid [1] warps 1 {\n"
         "  %b = base %p\n  %v = view %b, [%n] : view<f16[?]>\n}\n",
         "n8 m8 p16, n4 m4 p8, n2 m2 p4, p2"},
        /* Written at level 3: unchanged. */
        {"kernel @k(%n: i32 {divisible = 8}, %p" A ") grid [1] warps 1 level 3 {\n}\n", "n8 p16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_list(cases[i].text, cases[i].list);
}

/* Up to three groups have four levels of their own, fewer if less is declared. More groups have two
 * levels, except that all may have 8 or 4 bytes. */
Test(variants, of_many_groups) {
    check_list("kernel @k(%a" A ", %b: ptr<f16> {divisible = 4}, %c: ptr<f16> {divisible = 4})\n"
               "    grid [1] warps 1 {\n" USE("a", "f16") USE("b", "f16") USE("c", "f16") "}\n",
               "a16 b4 c4, a16 b4 c2, a16 b2 c4, a16 b2 c2, a8 b4 c4, a8 b4 c2, a8 b2 c4, "
               "a8 b2 c2, a4 b4 c4, a4 b4 c2, a4 b2 c4, a4 b2 c2, a2 b4 c4, a2 b4 c2, a2 b2 c4, "
               "a2 b2 c2");
    check_list("kernel @k(%n: i32 {divisible = 64}, %a" A ", %b" A ", %c" A ", %d" A ")\n"
               "    grid [1] warps 1 {\n" USE("a", "f16") USE("b", "f16") USE("c", "f16")
                   USE("d", "f16") "}\n",
               "n64 a16 b16 c16 d16, a16 b16 c16 d16, a8 b8 c8 d8, a4 b4 c4 d4, "
               "a16 b16 c16 d2, a16 b16 c2 d16, a16 b16 c2 d2, a16 b2 c16 d16, a16 b2 c16 d2, "
               "a16 b2 c2 d16, a16 b2 c2 d2, a2 b16 c16 d16, a2 b16 c16 d2, a2 b16 c2 d16, "
               "a2 b16 c2 d2, a2 b2 c16 d16, a2 b2 c16 d2, a2 b2 c2 d16, a2 b2 c2 d2");
    /* From the fifth group on they have one level: e and f. */
    check_list("kernel @k(%a: ptr<f32> {divisible = 8}, %b: ptr<f32> {divisible = 8},\n"
               "    %c: ptr<f32> {divisible = 4}, %d: ptr<f32> {divisible = 4},\n"
               "    %e: ptr<f32> {divisible = 8}, %f: ptr<f32> {divisible = 8})\n"
               "    grid [1] warps 1 {\n" USE("a", "f32") USE("b", "f32") USE("c", "f32")
                   USE("d", "f32") USE("e", "f32") USE("f", "f32") "}\n",
               "a8 b8 c4 d4 e8 f8, a8 b8 c4 d4 e4 f4, a8 b4 c4 d4 e8 f8, a8 b4 c4 d4 e4 f4, "
               "a4 b8 c4 d4 e8 f8, a4 b8 c4 d4 e4 f4, a4 b4 c4 d4 e8 f8, a4 b4 c4 d4 e4 f4");
}

/* If arguments decide whether the grid fits a launch's limits, all variants are repeated with a
 * flat grid. */
Test(variants, of_grids) {
    static const struct {
        const char *clauses, *list;
    } cases[] = {
        {"grid [%n]", "p16, p8, p4"},
        {"grid [1, %n]", "p16, p8, p4, p16 flat, p8 flat, p4 flat"},
        {"grid [1, 1, %n]", "p16, p8, p4, p16 flat, p8 flat, p4 flat"},
        {"grid [1, 1, %s]", "p16, p8, p4"}, /* an i16 */
        {"grid [1, 65535, 65535]", "p16, p8, p4"},
        {"grid [1, 65536]", "p16 flat, p8 flat, p4 flat"},
        {"grid [1, %n, 65536]", "p16 flat, p8 flat, p4 flat"},
        {"grid [1, ceildiv(%n, 32768)]", "p16, p8, p4, p16 flat, p8 flat, p4 flat"},
        {"grid [1, ceildiv(%n, 32769)]", "p16, p8, p4"},
        {"grid [1, %n] persistent", "p16, p8, p4"},
        {"grid [num_sms, %n]", "p16, p8, p4"},
        {"grid [1, %n] flat", "p16 flat, p8 flat, p4 flat"},
        /* Clusters that extend along y or z cannot be launched along x. */
        {"grid [2, %n] cluster [2, 1]", "p16, p8, p4, p16 flat, p8 flat, p4 flat"},
        {"grid [1, %n] cluster [1, 2]", "p16, p8, p4"},
        {"grid [1, %n, %n] cluster [1, 2]", "p16, p8, p4, p16 flat, p8 flat, p4 flat"},
        {"grid [1, 1, %n] level 3", "p16, p16 flat"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        snprintf(
            text, sizeof text,
            "kernel @k(%%n: i32, %%s: i16, %%p: ptr<f32> {divisible = 16}) %s warps 1 {\n%s}\n",
            cases[i].clauses, strstr(cases[i].clauses, "level 3") ? "" : USE("p", "f32"));
        check_list(text, cases[i].list);
    }
}

/* A split places its parts along z. */
Test(variants, of_split_grids) {
    static const char text[] =
        "kernel @k(%%s: %s, %%x: view<f32[%%s, 64]> {divisible = 4}, %%y: view<f32[%%s, 1]>)\n"
        "    grid [1, 1, %%s]%s warps 1 {\n"
        "  %%a, %%b, %%i = block_id\n"
        "  %%all = for %%j = 0 to 64 iter (%%sum = 0.0 : tile<f32[1, 1]>)%s {\n"
        "    yield %%sum + (load %%x[%%i, %%j] : [1, 1])\n  }\n"
        "  store %%all, %%y[%%i, 0]\n}\n";
    static const struct {
        const char *type, *clause, *split;
        bool flat;
    } cases[] = {
        {"i16", "", "", false}, /* 32767 */
        {"i16", "", " split (2, serial)", false},
        {"i16", "", " split (3, serial)", true},
        {"i32", " persistent", "", false},
        {"i32", " persistent", " split (2, serial)", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char kernel[800];
        text_fixture x;
        tile_arena arena = {0};
        tile_variants variants;
        snprintf(kernel, sizeof kernel, text, cases[i].type, cases[i].clause, cases[i].split);
        text_open(&x);
        tile_module *module = text_parse(&x, kernel);
        cr_assert(module, "%s", x.messages);
        tile_derive_variants(tile_module_function(module, 0), NULL, &arena, &variants);
        cr_expect_eq(variants.flat_from < variants.count, cases[i].flat, "%s", kernel);
        tile_arena_reset(&arena);
        tile_module_destroy(module);
        text_close(&x);
    }
}

/* Building a variant -------------------------------------------------------------------------- */

static tile_artifact *build(text_fixture *x, unsigned variant) {
    const tile_build_options options = {.size = sizeof options,
                                        .target = tile_target_find("sm_80"),
                                        .wants = TILE_WANT_PTX,
                                        .variant = variant};
    tile_artifact *artifact;
    tile_module *module = text_parse(x, matmul);
    tile_status status = tile_artifact_build(module, "k", &options, &artifact);
    cr_expect_eq(status, variant < 16 ? TILE_OK : TILE_INVALID, "%s", x->messages);
    tile_module_destroy(module);
    return artifact;
}

Test(variants, an_interface_lists_all) {
    text_fixture x;
    text_open(&x);
    for (unsigned v = 0; v < 16; v += 5) {
        tile_artifact *artifact = build(&x, v);
        const tile_abi *abi = tile_artifact_kernel_at(artifact, 0)->abi;
        cr_assert_eq(tile_abi_variant_count(abi), 16);
        cr_expect_eq(tile_abi_variant(abi), v);
        /* The first condition of each variant; conditions of every launch are not included. */
        static const int64_t first[16] = {8, 4, 2, 8, 8, 4, 2, 4, 8, 4, 2, 2, 8, 4, 2, 0};
        static const unsigned counts[16] = {5, 5, 5, 2, 5, 5, 5, 2, 5, 5, 5, 2, 3, 3, 3, 0};
        for (unsigned i = 0; i < 16; i++) {
            const tile_condition *condition = tile_abi_condition_at(abi, i, 0);
            cr_expect_eq(condition ? condition->value : 0, first[i]);
            cr_expect_null(tile_abi_condition_at(abi, i, counts[i]));
            if (counts[i]) cr_expect_not_null(tile_abi_condition_at(abi, i, counts[i] - 1));
        }
        cr_expect_null(tile_abi_condition_at(abi, 16, 0));
        static const unsigned divisible[4] = {16, 8, 4, 2}; /* of %a */
        cr_expect_eq(tile_abi_arg_at(abi, 3)->divisible, divisible[v / 5]);
        tile_artifact_destroy(artifact);
    }
    cr_expect_null(build(&x, 16));
    cr_expect(strstr(x.messages, "@k has 16 variants, 0 to 15: there is no variant 16"), "%s",
              x.messages);
    text_close(&x);
}

/* Tests each condition on both sides, one at a time. */
Test(variants, a_launch_takes_the_first_that_fits) {
    static const struct {
        int64_t args[6]; /* m, n, k, a, b, c */
        unsigned variant;
    } cases[] = {
        {{1, 8, 8, 16, 16, 16}, 0},         {{3, -64, 0, 4096, 32, 48}, 0},
        {{1, 12, 8, 16, 16, 16}, 1}, /* n */
        {{1, 8, 20, 16, 16, 16}, 4}, /* k */
        {{1, 8, 8, 8, 16, 16}, 4},   /* a */
        {{1, 8, 8, 16, 24, 16}, 1},  /* b */
        {{1, 8, 8, 16, 16, 40}, 1},  /* c */
        {{1, 12, 20, 16, 16, 16}, 5},       {{1, 10, 8, 16, 16, 16}, 2},
        {{1, 8, -6, 16, 16, 16}, 8},        {{1, 10, 20, 16, 16, 16}, 6},
        {{1, 8, 4097, 16, 16, 16}, 12},                                    /* a alone is narrow */
        {{1, 8, 8, 2, 16, 16}, 12},         {{1, 4097, 8, 16, 16, 16}, 3}, /* b and c are */
        {{1, 8, 8, 16, 2, 16}, 3},          {{1, 8, 8, 16, 16, 2}, 3},
        {{1, 4097, 4097, 16, 16, 16}, 15},  {{1, 8, 8, 2, 2, 16}, 15},
        {{1, -1, INT64_MIN, 16, 2, 16}, 3},
    };
    text_fixture x;
    text_open(&x);
    tile_artifact *artifact = build(&x, 0);
    const tile_abi *abi = tile_artifact_kernel_at(artifact, 0)->abi;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(tile_abi_pick_variant(abi, cases[i].args), cases[i].variant, "case %zu: %u", i,
                     tile_abi_pick_variant(abi, cases[i].args));
    cr_expect_eq(tile_abi_pick_variant(abi, NULL), 15, "nothing is known of the arguments");
    tile_artifact_destroy(artifact);
    text_close(&x);
}

/* Views that are copied asynchronously have tensor maps in a separate variant, which precedes the
 * same one without them. A pipelined loop may generate such copies. */
Test(variants, of_tensor_maps) {
    static const char async[] =
        "kernel @k(%n: i32 {divisible = 8}, %a: view<f16[%n, %n]> {divisible = 16},\n"
        "    %b: view<f16[%n, %n]> {divisible = 16}, %c: ptr<f16> {divisible = 1})\n"
        "    grid [1] warps 4 {\n"
        "  %f = alloc_barrier {count = 4} : shared<barrier[1]>\n"
        "  %s = alloc_shared : shared<f16[64, 64]>\n"
        "  copy_async %a[0, 0], %s, %f[0]\n  barrier_arrive %f[0]\n  barrier_wait %f[0], 0\n"
        "  %t = load %b[0, 0] : [64, 64]\n  store %t, %a[0, 0]\n}\n";
    static const char loop[] =
        "kernel @k(%n: i32, %a: view<f16[%n, %n]> {divisible = 1}, %b: view<f16[%n, %n]> "
        "{divisible = 1})\n"
        "    grid [1] warps 4 {\n"
        "  %s = alloc_shared : shared<f16[64, 64]>\n"
        "  for %i = 0 to %n step 64 pipelined (2) {\n"
        "    copy %a[%i, 0], %s\n    %t = load_shared %s\n    store %t, %b[%i, 0]\n  }\n}\n";
    check_list_for("sm_90a", loop, "a map, -");
    static const char odd_rows[] =
        "kernel @k(%n: i32, %a: view<f16[64, 33]>, %b: view<f16[64, 32], strides [1, 60]>,\n"
        "    %c: view<f16[64, 40]>, %d: view<f16[64, 32], strides [1, 64]>,\n"
        "    %e: view<f16[64, 32], strides [1, %n]>) grid [1] warps 4 {\n"
        "  %s = alloc_shared : shared<f16[64, 32]>\n"
        "  for %i = 0 to %n step 32 pipelined (2) {\n"
        "    copy %a[0, %i], %s\n    copy %b[0, %i], %s\n    copy %c[0, %i], %s\n"
        "    copy %d[0, %i], %s\n    copy %e[0, %i], %s\n  }\n}\n";
    check_list_for("sm_90a", odd_rows,
                   "c map d map e map, c map d map, c map e map, c map, d map e map, d map, "
                   "e map, -");
    check_list_for("sm_80", loop, "-");
    check_list_for("sm_90a", async, "n8 a16 b16 a map, n8 a16 b16, n4 a8 b8, n2 a4 b4, a2 b2");
}

/* Both halves of the list (grid and flat grid) describe which launches take them, also after they
 * have been read back. */
static void check_flat_interface(unsigned variant) {
    static const char text[] =
        "kernel @k(%n: i32, %p: ptr<f32> {divisible = 16}) grid [2, %n, 3] warps 1 {\n" USE(
            "p", "f32") "}\n";
    static const struct {
        int64_t args[2];
        unsigned variant;
    } launches[] = {
        {{65535, 16}, 0}, {{65536, 16}, 3}, {{65535, 4}, 2}, {{65536, 8}, 4}, {{65536, 4}, 5}};
    text_fixture x;
    char texts[2][4096] = {"", ""};
    text_open(&x);
    const tile_build_options options = {.size = sizeof options,
                                        .target = tile_target_find("sm_80"),
                                        .wants = TILE_WANT_PTX,
                                        .variant = variant};
    tile_artifact *artifact;
    tile_module *module = text_parse(&x, text);
    cr_assert_eq(tile_artifact_build(module, "k", &options, &artifact), TILE_OK, "%s", x.messages);
    const tile_abi *abi = tile_artifact_kernel_at(artifact, 0)->abi;
    tile_abi_print(abi, append, texts[0]);
    tile_abi *read = tile_abi_read(x.context, texts[0], strlen(texts[0]));
    cr_assert(read, "%s", x.messages);
    tile_abi_print(read, append, texts[1]);
    cr_expect_str_eq(texts[1], texts[0]);
    for (size_t i = 0; i < sizeof launches / sizeof *launches; i++) {
        int64_t grid[3], flat = variant >= 3, n = launches[i].args[0];
        cr_expect_eq(tile_abi_pick_variant(abi, launches[i].args), launches[i].variant);
        cr_expect_eq(tile_abi_pick_variant(read, launches[i].args), launches[i].variant);
        tile_status status = tile_abi_grid(read, launches[i].args, NULL, grid);
        cr_expect_eq(status, flat || n < 65536 ? TILE_OK : TILE_UNSUPPORTED, "%s", x.messages);
        cr_expect(status != TILE_OK || grid[0] == (flat ? 6 * n : 2));
    }
    cr_expect_eq(tile_abi_pick_variant(abi, NULL), 5, "nothing is known of the arguments");
    tile_abi_destroy(read);
    tile_artifact_destroy(artifact);
    tile_module_destroy(module);
    text_close(&x);
}

Test(variants, a_launch_takes_a_grid_that_fits) {
    check_flat_interface(0);
    check_flat_interface(2);
    check_flat_interface(3);
    check_flat_interface(5);
}
