/* Launches check each `where` that names arguments, at their exact sizes. Runs on a fake device
 * that only records its requests. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/unit/device_fixture.h"

/* The grid shows which point a launch used. */
typedef struct fixture {
    fake_device *x;
    tile_module *module;
    tile_kernel *kernel;
} fixture;

static void open_kernel(fixture *t, const char *text, const tile_binding *bindings,
                        unsigned count) {
    t->x = open_device();
    t->module = text_parse(&t->x->text, text);
    cr_assert_not_null(t->module, "%s", t->x->text.messages);
    cr_assert_eq(tile_kernel_create(&t->x->base, t->module, "k", bindings, count, &t->kernel),
                 TILE_OK, "%s", t->x->text.messages);
}

static void close_kernel(fixture *t) {
    tile_kernel_destroy(t->kernel);
    tile_module_destroy(t->module);
    tile_device_destroy(&t->x->base);
}

/* The first extent of the grid; 0 after an error. */
static int64_t launch(fixture *t, int64_t n) {
    const tile_argument argument = {.integer = n};
    tile_status status = tile_kernel_launch(t->kernel, &argument, 1, NULL);
    cr_expect(status == TILE_OK || status == TILE_INVALID);
    return status == TILE_OK ? t->x->last.grid[0] : 0;
}

/* 97 to 103 are one bucket, whose largest size is 103. */
Test(launch_where, a_size_that_the_point_of_its_bucket_does_not_allow_has_another_one) {
    fixture t;
    open_kernel(&t,
                "kernel @k<p: int>(%n: i32) tune p in [2, 3, 4]\n"
                "    where rem(%n, 2) == 1 | p == 4 grid [p] warps 1 {}\n",
                NULL, 0);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(launch(&t, 99), 2);
        cr_expect_eq(launch(&t, 98), 4);
        cr_expect_eq(launch(&t, 97), 2);
    }
    cr_expect_eq(t.x->prepared, 2);
    t.x->capturing = true;
    cr_expect_eq(launch(&t, 98), 4);
    t.x->capturing = false;
    close_kernel(&t);
}

Test(launch_where, a_point_of_the_exact_sizes_alone_is_found) {
    fixture t;
    open_kernel(&t,
                "kernel @k<p: int>(%n: i32) tune p in [97, 98]\n"
                "    where %n == p grid [p] warps 1 {}\n",
                NULL, 0);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(launch(&t, 98), 98);
        cr_expect_eq(launch(&t, 97), 97);
    }
    cr_expect_eq(launch(&t, 99), 0);
    expect(t.x, "@k has no point for n=99: `where %n == p` is false at all points; add a point to "
                "'tune' at which it is true");
    close_kernel(&t);
}

Test(launch_where, a_clause_that_some_points_meet_is_counted) {
    fixture t;
    open_kernel(&t,
                "kernel @k<p: int>(%n: i32) tune p in [2, 1, 4]\n"
                "    where p >= 2 where %n > 0 & p <= %n grid [p] warps 1 {}\n",
                NULL, 0);
    cr_expect_eq(launch(&t, 2), 2);
    cr_expect_eq(launch(&t, 1), 0);
    expect(t.x,
           "@k has no point for n=1: `where p >= 2` is false at 1 of 3 points, `where %n > 0 & "
           "p <= %n` is false at 2 of 3 points; add a point to 'tune' at which it is true");
    close_kernel(&t);
}

Test(launch_where, given_parameters_are_checked) {
    static const tile_binding four = {"p", "4"}, two = {"p", "2"};
    static const char text[] = "kernel @k<p: int, q: int>(%n: i32) tune p in [2, 4] tune q in [1]\n"
                               "    where %n <= p grid [p] warps 1 {}\n";
    static const tile_binding all[] = {{"p", "4"}, {"q", "1"}};
    const tile_argument three = {.integer = 3};
    fixture t;
    open_kernel(&t, text, all, 2);
    cr_expect_eq(launch(&t, 4), 4);
    t.x->capturing = true; /* the message does not ask for tile_kernel_prepare */
    cr_expect_eq(launch(&t, 5), 0);
    t.x->capturing = false;
    expect(t.x, "@k: `where %n <= p` is false for n=5 with p = 4, q = 1; give other parameters");
    cr_expect_eq(tile_kernel_prepare(t.kernel, &(tile_argument){.integer = 6}, 1, NULL),
                 TILE_INVALID);
    expect(t.x, "@k: `where %n <= p` is false for n=6 with p = 4, q = 1; give other parameters");
    close_kernel(&t);
    open_kernel(&t, text, &four, 1);
    cr_expect_eq(launch(&t, 5), 0);
    expect(t.x, "@k has no point for n=5: `where %n <= p` is false with p = 4; add a "
                "point to 'tune' at which it is true, or give other parameters");
    close_kernel(&t);
    open_kernel(&t, text, NULL, 0);
    cr_expect_eq(tile_kernel_set_point(t.kernel, &three, 1, &two, 1), TILE_OK);
    cr_expect_eq(launch(&t, 3), 0);
    expect(t.x, "@k: `where %n <= p` is false for n=3 with p = 2, q = 1; set another point for "
                "these sizes");
    cr_expect_eq(launch(&t, 4), 4);
    close_kernel(&t);
}

Test(launch_where, values_of_const_arguments_are_checked) {
    fixture t;
    open_kernel(&t,
                "kernel @k<p: int>(%n: i32 {const}) tune p in [98, 99, 103]\n"
                "    where %n <= p grid [p] warps 1 {}\n",
                NULL, 0);
    cr_expect_eq(launch(&t, 97), 103, "the point of the bucket");
    cr_expect_eq(launch(&t, 104), 0);
    expect(t.x, "@k has no point for n=104: `where %n <= p` is false at all points; add a point to "
                "'tune' at which it is true");
    close_kernel(&t);
}

Test(launch_where, a_kernel_without_parameters_has_conditions_too) {
    fixture t;
    open_kernel(&t, "kernel @k(%n: i32) where rem(%n, 4) == 0 grid [2] warps 1 {}\n", NULL, 0);
    cr_expect_eq(launch(&t, 8), 2);
    cr_expect_eq(launch(&t, 9), 0);
    expect(t.x, "@k: `where rem(%n, 4) == 0` is false for n=9; launch it with other sizes");
    close_kernel(&t);
}

/* Callers see the first point of the space, too. */
Test(launch_where, the_point_has_the_values_of_all_parameters) {
    static const char *const expected[][2] = {
        {"T", "f16"}, {"p", "2"}, {"w", "once"}, {"b", "true"}};
    const tile_argument one = {.integer = 1};
    const tile_binding *bindings;
    unsigned count;
    fixture t;
    open_kernel(&t,
                "kernel @k<T: type = f16, p: int, w: word, b: bool = true>(%n: i32)\n"
                "    tune (p, w) in [(2, once), (4, twice)] grid [p] warps 1 {}\n",
                NULL, 0);
    cr_assert_eq(tile_kernel_point(t.kernel, &one, 1, &bindings, &count), TILE_OK);
    cr_assert_eq(count, 4);
    for (unsigned i = 0; i < count; i++) {
        cr_expect_str_eq(bindings[i].name, expected[i][0]);
        cr_expect_str_eq(bindings[i].value, expected[i][1]);
    }
    close_kernel(&t);
}
