/* Plans are tuned one kernel after another where their points are independent. */
#include "test/unit/tune_fixture.h"

#include "runtime/model/groups.h"

/* y = x + 2 by two kernels; MORE, STEP and SIZE are places for what joins their points. */
#define TWO_KERNELS(more, size, step) \
    "kernel @first<a: int, s: int>(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>)\n" \
    "    grid [ceildiv(%n, a)] warps 1 {\n" \
    "  %b = block_id\n" \
    "  store (load %x[%b * a] : [a]) + 1.0, %y[%b * a]\n" \
    "}\n" \
    "kernel @second<b: int>(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>)\n" \
    "    grid [ceildiv(%n, b)] warps 1 {\n" \
    "  %i = block_id\n" \
    "  store (load %x[%i * b] : [b]) + 1.0, %y[%i * b]\n" \
    "}\n" \
    "plan @add<a: int, s: int, b: int>(%n: i32, %x: view<f32[%n]>, %c: view<f32[%n]>)\n" \
    "    of @plus tune a in [8, 16, 32, 64] tune s in [1, 2, 3] tune b in [8, 16, 32, 64, " \
    "128]\n" more " {\n" \
    "  %w = scratch [" size "] : f32\n" \
    "  launch @first<a = a, s = s>(%n, %x, %w)\n" step "}\n" \
    "compute @plus<n: dim>(%x: tensor<f32[n]>) -> (%c: tensor<f32[n]>) { %c = %x + 2.0 }\n"

#define SECOND "  launch @second<b = b>(%n, %w, %c)\n"

static double distance(const tile_candidate *c, const char *name, double from) {
    for (unsigned i = 0; i < c->binding_count; i++)
        if (strcmp(c->bindings[i].name, name) == 0) {
            double value = strtod(c->bindings[i].value, NULL) - from;
            return value * value;
        }
    return 0;
}

/* A sum of one time for each kernel. */
static double add_times(const tile_candidate *c, void *user) {
    ++*(unsigned *)user;
    return 1 + distance(c, "a", 32) * distance(c, "s", 2.25) + distance(c, "a", 17) +
           distance(c, "s", 2) + distance(c, "b", 60);
}

/* Tunes; checks the number of measured candidates. */
static void expect_measured(const char *text, unsigned count) {
    tune_fixture x;
    unsigned rated = 0;
    tune_open(&x, text, "");
    x.options.rate = add_times;
    x.options.user = &rated;
    cr_assert_eq(tune_add(&x, 100), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(tile_tuning_candidate_count(x.tuning), count, "%u candidates for\n%s",
                 tile_tuning_candidate_count(x.tuning), text);
    cr_expect_eq(rated, count);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "a=16 s=2 b=64");
    tile_tuning_facts facts = tile_tuning_get_facts(x.tuning);
    cr_expect(facts.kept);
    tune_close(&x);
}

Test(tune_phases, independent_kernels_take_the_sum_of_their_points) {
    expect_measured(TWO_KERNELS("", "%n", SECOND), 4 * 3 + 5 - 1);
}

Test(tune_phases, what_joins_points_takes_their_product) {
    expect_measured(TWO_KERNELS("where a <= b | b < 1000", "%n", SECOND), 4 * 3 * 5);
    expect_measured(TWO_KERNELS("", "%n * s", SECOND), 4 * 3 * 5);
    expect_measured(TWO_KERNELS("", "%n", "  if a > 4 {" SECOND "}\n"), 4 * 3 * 5);
    expect_measured(TWO_KERNELS("", "%n", "  for %j = 0 to s - s / 2 {" SECOND "}\n"), 4 * 3 * 5);
}

Test(tune_phases, given_parameters_are_not_varied) {
    tune_fixture x;
    const tile_binding given = {"a", "16"};
    tune_open(&x, TWO_KERNELS("", "%n", SECOND), "");
    unsigned rated = 0;
    x.options.rate = add_times;
    x.options.user = &rated;
    x.options.bindings = &given;
    x.options.binding_count = 1;
    cr_assert_eq(tune_add(&x, 100), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(tile_tuning_candidate_count(x.tuning), 3 + 5 - 1);
    cr_expect_eq(distance(tile_tuning_best(x.tuning), "a", 16), 0);
    cr_expect_eq(distance(tile_tuning_best(x.tuning), "b", 64), 0);
    tune_close(&x);
}

/* The groups by parameter a, s, b. */
static void expect_groups(const char *text, bool independent, size_t s, size_t b) {
    tune_fixture x;
    tile_arena arena = {0};
    tune_open(&x, text, "");
    const size_t *of = tune_group_params(tile_module_find(x.module, "add"), independent, &arena);
    cr_expect(of[0] == 0 && of[1] == s && of[2] == b, "%zu %zu %zu in\n%s", of[0], of[1], of[2],
              text);
    tile_arena_reset(&arena);
    tune_close(&x);
}

Test(tune_phases, groups) {
    expect_groups(TWO_KERNELS("", "%n", SECOND), false, 0, 2);
    expect_groups(TWO_KERNELS("", "%n", SECOND), true, 0, 2);
    expect_groups(TWO_KERNELS("where b > s", "%n", SECOND), false, 0, 2);
    expect_groups(TWO_KERNELS("where b > s", "%n", SECOND), true, 0, 0);
    expect_groups(TWO_KERNELS("tune (s, b) in [(1, 8)]", "%n", SECOND), false, 0, 0);
    expect_groups(TWO_KERNELS("", "a * %n", SECOND), true, 0, 0);
    expect_groups(TWO_KERNELS("", "a * %n",
                              "  %v = subview %w[0], [%n]\n"
                              "  launch @second<b = b>(%n, %v, %c)\n"),
                  true, 0, 0);
}
