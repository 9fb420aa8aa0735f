/* Formulas have the values of tile_expr_eval, and a walk over a space visits exactly the points at
 * which each `where` holds. */
#include "lib/ops/formula.h"

#include <criterion/criterion.h>

#include "lib/ir/syntax.h"
#include "passes/passes.h"
#include "test/unit/text_fixture.h"

/* Clauses with values that depend on others and on sizes, with common names, and without a value.
 */
static const char *const texts[] = {
    "kernel @k<a: int, b: int, c: int = a * b, w: word>(%n: i32)\n"
    "    tune a in [1, 2, 3, 4, 8]\n"
    "    tune (a, b) in [(1, 5), (2, a), (2, 7), (3, %n / 64), (8, 4 / (a - 8)), (8, 9)]\n"
    "    tune w in [one, two]\n"
    "    where a < b | w == two\n"
    "    where %n / a > 3 & c != 14\n"
    "    grid [1] warps 4 {}\n",
    "kernel @k<a: int, b: int, c: int, T: type>(%n: i32)\n"
    "    tune a in [0, 1, 2, 3, 4, 5, 6, 7]\n"
    "    tune b in [1, 2, 3, a, a * 2]\n"
    "    tune (c, T) in [(16, f16), (32, f32), (a + b, f16), (%n, f32)]\n"
    "    where select(T == f16, rem(a, 2) == 0, rem(a, 3) == 0)\n"
    "    where 12 / a >= b\n"
    "    where c <= 32 | min(a, b) > 1\n"
    "    where rem(%n, b) == 0\n"
    "    grid [1] warps 4 {}\n",
};

enum { MOST = 512, PARAMS = 4 };

typedef struct points {
    int64_t values[MOST][PARAMS];
    size_t count;
    bool checks; /* keeps only points at which each `where` holds */
} points;

static bool keep(const tile_bound_params *point, void *user) {
    points *p = user;
    for (size_t i = 0; i < point->f->where_count && p->checks; i++)
        if (!tile_where_holds(point, i)) return true;
    cr_assert_lt(p->count, (size_t)MOST);
    for (size_t i = 0; i < point->f->param_count; i++) {
        cr_assert(point->params[i].bound);
        p->values[p->count][i] = point->params[i].value;
    }
    p->count++;
    return true;
}

static void compare(text_fixture *x, const tile_function *f, const tile_pass_option *given,
                    unsigned count, const int64_t *sizes) {
    points own = {.checks = false}, all = {.checks = true};
    cr_assert(tile_visit_points(f, given, count, sizes, &x->arena, keep, &own));
    cr_assert(tile_visit_all_points(f, given, count, sizes, &x->arena, keep, &all));
    cr_expect_eq(own.count, all.count, "%zu points, %zu expected", own.count, all.count);
    cr_expect_gt(own.count, (size_t)0);
    for (size_t p = 0; p < own.count && p < all.count; p++)
        for (size_t i = 0; i < f->param_count; i++)
            cr_expect_eq(own.values[p][i], all.values[p][i], "point %zu, %s", p, f->params[i].name);
}

Test(formula, a_walk_visits_the_points_at_which_conditions_hold) {
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        static const int64_t sizes[] = {512};
        static const tile_pass_option given[] = {{"a", "2"}, {"b", "2"}};
        text_fixture x;
        text_open(&x);
        tile_module *module = text_parse(&x, texts[t]);
        cr_assert(module, "%s", x.messages);
        const tile_function *f = tile_module_find(module, "k");
        compare(&x, f, NULL, 0, NULL);
        compare(&x, f, NULL, 0, sizes);
        compare(&x, f, given, 1, sizes);
        compare(&x, f, given + 1, 1, sizes);
        tile_module_destroy(module);
        text_close(&x);
    }
}

static bool value_of(const char *name, int64_t *value, void *user) {
    const tile_bound_param *params = user;
    const size_t i = (size_t)(*name - 'a');
    *value = params[i].value;
    return params[i].bound;
}

static bool size_of(unsigned index, int64_t *value, void *user) {
    (void)user;
    *value = 40 + index;
    return true;
}

/* Each condition and value of the second text, with and without a value of b. */
Test(formula, values_are_those_of_the_expression) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, texts[1]);
    cr_assert(module, "%s", x.messages);
    const tile_function *f = tile_module_find(module, "k");
    tile_bound_param params[PARAMS] = {{.bound = true}, {.bound = true}, {.bound = true}};
    static const int64_t sizes[] = {40};
    tile_formulas set;
    tile_formulas_open(&set, f, NULL, &x.arena);
    for (int round = 0; round < 40; round++) {
        const tile_formula_inputs inputs = {.params = params, .sizes = sizes};
        const tile_bindings bindings = {.param = value_of, .arg = size_of, .user = params};
        for (size_t i = 0; i < 3; i++) params[i].value = (round * 7 + (int)i * 5) % 11;
        params[1].bound = round % 4 != 3;
        cr_expect(tile_formulas_evaluate(&set, 0, &inputs));
        for (size_t i = 1; i < f->where_count; i++) {
            int64_t own = 0, expected = 0;
            bool known = tile_formulas_read(&set, f->wheres[i], &inputs, &own);
            cr_expect_eq(known, tile_expr_eval(f->wheres[i], &bindings, &expected), "%zu", i);
            cr_expect_eq(own, expected, "`where` %zu in round %d", i, round);
        }
    }
    tile_module_destroy(module);
    text_close(&x);
}
