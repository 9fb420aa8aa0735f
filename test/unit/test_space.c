/* The tuning space of products: each row of its tables is a point of some kernel, and what changes
 * with elements and targets. */
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "runtime/model/space.h"
#include "test/unit/text_fixture.h"
#include "test/unit/tune_product.h"

static const char product[] = TUNE_PRODUCT(
    "bm: int, bn: int, bk: int, stages: int, w: int, cm: int, cn: int, split: int, strategy: word, "
    "consumers: word, T: type",
    "T",
    "tune auto grid [ceildiv(%m, bm), ceildiv(%n, bn)] cluster [cm, cn] raster auto warps w "
    "persistent auto");

/* The same with other operands. read: what the loop does before its product of %x and %y. */
#define OTHER(type, read, x, y) \
    "kernel @k<bm: int, bn: int, bk: int, stages: int, w: int, cm: int, cn: int, split: int, " \
    "strategy: word, consumers: word, T: type>\n" \
    "    (%m: i32, %n: i32, %k: i32, %a: view<" type "[%m, %k]>, %b: view<T[%k, %n]>,\n" \
    "     %c: view<f32[%m, %n]>)\n" \
    "    tune auto grid [ceildiv(%m, bm), ceildiv(%n, bn)] cluster [cm, cn] raster auto warps w\n" \
    "    persistent auto {\n" \
    "  %x, %y = block_id\n" \
    "  %at = %x * bm + iota(axis = 0) : tile<i32[bm]>\n" \
    "  %zero = 0.0 : tile<f32[bm, bn]>\n" \
    "  %acc = for %i = 0 to %k step bk iter (%s = %zero)\n" \
    "      split (split, strategy) pipelined (stages, consumers = consumers) {\n" \
    "    %rhs = load %b[%i, %y * bn] : [bk, bn]\n" read "    yield " x y "\n" \
    "  }\n" \
    "  store %acc, %c[%x * bm, %y * bn]\n" \
    "}\n"
#define ROWS_OF_A "    %lhs = load %a[%x * bm, %i] : [bm, bk]\n"

/* By role: the parameters of the kernel. */
static const char *const names[TILE_ROLE_COUNT] = {
    [TILE_ROLE_m] = "bm",
    [TILE_ROLE_n] = "bn",
    [TILE_ROLE_k] = "bk",
    [TILE_ROLE_stages] = "stages",
    [TILE_ROLE_warps] = "w",
    [TILE_ROLE_cluster_m] = "cm",
    [TILE_ROLE_cluster_n] = "cn",
    [TILE_ROLE_split] = "split",
    [TILE_ROLE_strategy] = "strategy",
    [TILE_ROLE_consumers] = "consumers",
};

/* A product of each class, in the order of the bits, and one more. */
static const struct {
    const char *type;
    unsigned bytes, bit;
    const char *text;
} elements[] = {
    {"f16", 2, 0, product},
    {"i8", 1, 1, product},
    {"e4m3", 1, 2, product},
    {"tf32", 4, 3, product},
    {"f32", 4, 4, product},
    {"f16", 2, 5, OTHER("i8", ROWS_OF_A, "dot(T(%lhs), %rhs", ", %s)")},
    {"f16", 2, 6,
     OTHER("T", "    %lhs = load %a[%at, %i] : [bm, bk]\n", "dot(%lhs, %rhs", ", %s)")},
    {"f16", 2, 7,
     OTHER("T",
           "    %column = broadcast(%i + iota(axis = 1) : tile<i32[1, bk]>) : tile<i32[bm, bk]>\n"
           "    %row = broadcast(reshape(%at) : [bm, 1]) : tile<i32[bm, bk]>\n"
           "    %lhs = load %a[%row, %column] : [bm, bk]\n",
           "dot(%lhs, %rhs", ", %s)")},
    {"e4m3", 1, 8, OTHER("T", ROWS_OF_A, "fma(dot(%lhs, %rhs, %zero), 0.5, %s", ")")},
    {"f32", 4, 9, OTHER("T", ROWS_OF_A, "dot(%lhs, %rhs", ", %s, precision = bf16x3)")},
    {"f64", 8, 4, product},
    {"f32", 4, 12,
     OTHER("T",
           "    %column = broadcast(%i + iota(axis = 1) : tile<i32[1, bk]>) : tile<i32[bm, bk]>\n"
           "    %row = broadcast(reshape(%at) : [bm, 1]) : tile<i32[bm, bk]>\n"
           "    %lhs = load %a[%row, %column] : [bm, bk]\n",
           "dot(%lhs, %rhs", ", %s)")},
};
enum { CLASSES = sizeof elements / sizeof *elements };

#define MADE(element) \
    TUNE_PRODUCT("bm: int, bn: int, bk: int, stages: int, w: int, cm: int, cn: int, split: int, " \
                 "strategy: word, consumers: word", \
                 element, "grid [ceildiv(%m, bm), ceildiv(%n, bn)] cluster [cm, cn] warps w")

/* Products whose kernels only `schedule` makes: with weights of 4 bits, and of windows. */
static const struct {
    const char *text;
    unsigned bytes, bit;
    tile_product_space query;
} made[] = {
    {MADE("f16"), 2, 10, {.element = TILE_f16, .operands = TILE_OPERANDS_packed, .is_core = true}},
    {MADE("tf32"),
     4,
     11,
     {.element = TILE_tf32, .operands = TILE_OPERANDS_plain, .is_tf32 = true, .has_windows = true}},
};
enum { MADE_COUNT = sizeof made / sizeof *made };

typedef struct spaces {
    text_fixture text;
    tune_point *points[CLASSES], *made[MADE_COUNT];
    size_t count[CLASSES], made_count[MADE_COUNT];
    unsigned rows;
} spaces;

static const char *value_of(const tile_candidate *c, const char *name) {
    for (unsigned i = 0; i < c->binding_count; i++)
        if (strcmp(c->bindings[i].name, name) == 0) return c->bindings[i].value;
    return "";
}

static bool has_row(const tile_candidate *c, const tile_space_row *row, unsigned bytes) {
    char number[16];
    for (unsigned i = 0; i < row->role_count; i++) {
        int value = row->values[i];
        if (row->roles[i] == TILE_ROLE_k) value /= (int)bytes;
        snprintf(number, sizeof number, "%d", value);
        if (strcmp(value_of(c, names[row->roles[i]]), value < 0 ? row->word : number) != 0)
            return false;
    }
    return true;
}

static void expect_row(const tile_space_row *row, void *user) {
    spaces *s = user;
    bool found = false;
    for (unsigned class = 0; class < CLASSES && !found; class ++)
        for (size_t i = 0; i < s->count[class] && !found && row->classes >> elements[class].bit & 1;
             i++)
            found = has_row(&s->points[class][i].c, row, elements[class].bytes);
    for (unsigned m = 0; m < MADE_COUNT && !found; m++)
        for (size_t i = 0; i < s->made_count[m] && !found && row->classes >> made[m].bit & 1; i++)
            found = has_row(&s->made[m][i].c, row, made[m].bytes);
    s->rows++;
    cr_expect(found, "row %u, %s = %d .. %s, is in no space", s->rows,
              tile_role_name(row->roles[0]), row->values[0], row->word ? row->word : "");
}

/* The points of the kernel for these elements. */
static void list(spaces *s, unsigned class, const char *target) {
    const tile_binding given[] = {{"T", elements[class].type}};
    tile_module *module = text_parse(&s->text, elements[class].text);
    cr_assert(module, "%s", s->text.messages);
    tile_function *f = tile_module_function(module, 0);
    cr_assert_eq(tile_resolve_tuning(f, tile_target_find(target), given, 1), TILE_OK);
    cr_assert(
        tune_list_points(f, given, 1, NULL, &s->text.arena, &s->points[class], &s->count[class]),
        "%s", s->text.messages);
    tile_module_destroy(module);
}

static void list_made(spaces *s, unsigned m) {
    tile_module *module = text_parse(&s->text, made[m].text);
    cr_assert(module, "%s", s->text.messages);
    tile_function *f = tile_module_function(module, 0);
    tile_product_space q = made[m].query;
    q.sum = TILE_f32;
    q.chunks = 1;
    q.target = tile_target_find("sm_90a");
    for (tile_role role = 0; role < TILE_ROLE_COUNT; role++) {
        if (!tile_function_find_param(f, names[role], strlen(names[role]))) continue;
        q.covered |= 1u << role;
        q.at[role] = tile_expr_param(tile_module_context(module), names[role]);
    }
    cr_assert(tile_space_add(f, &q));
    cr_assert(tune_list_points(f, NULL, 0, NULL, &s->text.arena, &s->made[m], &s->made_count[m]),
              "%s", s->text.messages);
    tile_module_destroy(module);
}

Test(space, each_row_is_a_point) {
    spaces s = {.rows = 0};
    text_open(&s.text);
    for (unsigned class = 0; class < CLASSES; class ++) list(&s, class, "sm_90a");
    for (unsigned m = 0; m < MADE_COUNT; m++) list_made(&s, m);
    tile_space_visit_rows(expect_row, &s);
    cr_expect_gt(s.rows, 50);
    text_close(&s.text);
}

Test(space, every_target_and_class_has_points) {
    static const char *const targets[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120a"};
    spaces s = {.rows = 0};
    text_open(&s.text);
    for (unsigned t = 0; t < sizeof targets / sizeof *targets; t++)
        for (unsigned class = 0; class < CLASSES; class ++) {
            list(&s, class, targets[t]);
            cr_expect_gt(s.count[class], 20);
            for (size_t i = 0; i < s.count[class]; i++)
                cr_expect_str_eq(value_of(&s.points[class][i].c, "consumers"), "cooperative");
        }
    text_close(&s.text);
}

/* What is taken where nothing else decides is a point. */
Test(space, the_first_rows_of_each_class_are_a_point) {
    static const char *const targets[] = {"sm_80", "sm_90a", "sm_100f"};
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < CLASSES * (sizeof targets / sizeof *targets); i++) {
        const tile_binding given[] = {{"T", elements[i % CLASSES].type}};
        const tile_pass_option option = {given->name, given->value};
        tile_bound_params first;
        tile_module *module = text_parse(&x, elements[i % CLASSES].text);
        tile_function *f = tile_module_function(module, 0);
        cr_assert_eq(tile_resolve_tuning(f, tile_target_find(targets[i / CLASSES]), given, 1),
                     TILE_OK);
        cr_assert(tile_bind_params(f, &option, 1, &x.arena, &first), "%s", x.messages);
        for (size_t w = 0; w < f->where_count; w++)
            cr_expect(tile_where_holds(&first, w), "%s: `where %s`", given->value,
                      tile_expr_text(f, f->wheres[w], &x.arena));
        tile_module_destroy(module);
    }
    text_close(&x);
}

/* While the element type is a parameter, each class has its own points, and no others. */
Test(space, an_open_type_restricts_points_by_conditions) {
    spaces s = {.rows = 0};
    text_open(&s.text);
    for (unsigned class = 0; class < CLASSES; class ++) {
        const tile_binding given[] = {{"T", elements[class].type}};
        tune_point *points;
        size_t count;
        tile_module *module = text_parse(&s.text, elements[class].text);
        tile_function *f = tile_module_function(module, 0);
        list(&s, class, "sm_90a");
        cr_assert_eq(tile_resolve_tuning(f, tile_target_find("sm_90a"), NULL, 0), TILE_OK);
        cr_assert(tune_list_points(f, given, 1, NULL, &s.text.arena, &points, &count), "%s",
                  s.text.messages);
        cr_expect_eq(count, s.count[class], "%s: %zu, %zu", elements[class].type, count,
                     s.count[class]);
        tile_module_destroy(module);
    }
    text_close(&s.text);
}

/* Conditions of speed depend on which parameters have values, also if the element type stays. */
Test(space, other_given_parameters_replace_the_conditions) {
    const tile_binding given[] = {{"T", "f16"}, {"bm", "128"},   {"bn", "128"},
                                  {"bk", "64"}, {"stages", "3"}, {"w", "8"}};
    enum { ALL = sizeof given / sizeof *given };
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, product);
    tile_function *f = tile_module_function(module, 0);
    const tile_target *target = tile_target_find("sm_90a");
    cr_assert_eq(tile_resolve_tuning(f, target, given, 1), TILE_OK);
    const size_t with_type = f->where_count;
    cr_assert_eq(tile_resolve_tuning(f, target, given, ALL), TILE_OK);
    const size_t with_all = f->where_count;
    cr_expect_lt(with_all, with_type);
    cr_assert_eq(tile_resolve_tuning(f, target, NULL, 0), TILE_OK);
    cr_expect_eq(f->where_count, with_all, "no values keep what there is");
    cr_assert_eq(tile_resolve_tuning(f, target, given, 1), TILE_OK);
    cr_expect_eq(f->where_count, with_type);
    tile_module_destroy(module);
    text_close(&x);
}

/* What was resolved is still printed as `auto`, and another target replaces it. */
Test(space, resolving_again_replaces_the_points) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, product);
    tile_function *f = tile_module_function(module, 0);
    const char *before = text_print(&x, module);
    cr_assert_eq(tile_resolve_tuning(f, tile_target_find("sm_90a"), NULL, 0), TILE_OK);
    size_t clauses = f->tune_count, conditions = f->where_count;
    cr_expect_eq(clauses, 4);
    cr_expect_str_eq(text_print(&x, module), before);
    cr_assert_eq(tile_resolve_tuning(f, tile_target_find("sm_80"), NULL, 0), TILE_OK);
    cr_assert_eq(tile_resolve_tuning(f, tile_target_find("sm_90a"), NULL, 0), TILE_OK);
    cr_expect_eq(f->tune_count, clauses);
    cr_expect_eq(f->where_count, conditions);
    tile_module_destroy(module);
    text_close(&x);
}

Test(space, a_program_sets_auto) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, "kernel @k(%n: i32) grid [%n, %n] warps 1 {}");
    tile_function *f = tile_module_function(module, 0);
    tile_function_set_tune_auto(f, true);
    cr_expect_eq(tile_function_verify(f), TILE_OK, "it has no parameters");
    tile_function_set_raster_auto(f);
    tile_function_set_persistent_auto(f);
    cr_expect_eq(tile_function_verify(f), TILE_INVALID);
    cr_expect(strstr(x.messages, "`raster auto` is computed from the tile of a `dot`"));
    cr_expect(strstr(x.messages, "`persistent auto` is computed from the tile of a `dot`"));
    tile_function_set_raster(f, TILE_RASTER_NONE, NULL);
    tile_function_set_persistent(f, false, NULL);
    cr_expect_eq(tile_function_verify(f), TILE_OK);
    tile_module_destroy(module);
    text_close(&x);
}
