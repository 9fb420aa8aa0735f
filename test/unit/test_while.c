/* `while`: refusals, analyses, and execution on the CPU device. */
#include "lib/analysis/range.h"
#include "lib/analysis/uniform.h"
#include "lib/ir/regions.h"
#include "test/unit/cpu_fixture.h"
#include "tile/build.h"

static void check_refused(const char *text, const char *messages) {
    text_fixture x;
    text_open(&x);
    cr_expect_null(text_parse(&x, text));
    cr_expect_str_eq(x.messages, messages);
    text_close(&x);
}

Test(while_loop, text_that_is_refused) {
    check_refused(TEXT_KERNEL("while { yield q }"), "3:1: error: expected 'do', found '}'\n");
    check_refused(TEXT_KERNEL("while iter (%a = 1) { yield q, %a } do { yield 1 }"),
                  "2:40: error: expected '(', found '{'\n");
    check_refused(TEXT_KERNEL("while iter (%a = 1) { yield q, %a } do (%b, %c) { yield 1 }"),
                  "2:43: error: expected ')', found ','\n");
    check_refused(
        TEXT_KERNEL("while iter (%a = 1) { yield q, %a } do (%b) { yield %a }"),
        "2:53: error: %a is defined only inside a region that has ended; pass it out with "
        "`yield`, or define it before the region\n2:13: note: it is defined here\n");
    check_refused(TEXT_KERNEL("%r, %s = while iter (%a = 1) { yield q, %a } do (%b) { yield 1 }"),
                  "2:1: error: 'while' has 1 result, but 2 names are given\n");
    check_refused(TEXT_KERNEL("while { sync } do { sync }"),
                  "2:14: error: the first region of `while` yields its condition first, a scalar "
                  "i1, not nothing\n");
    check_refused(TEXT_KERNEL("while iter (%a = 1) { yield %n, %a } do (%b) { yield 1 }"),
                  "2:23: error: the first region of `while` yields its condition first, a scalar "
                  "i1, not i32\n");
    check_refused(TEXT_KERNEL("while iter (%a = 1) { yield q } do (%b) { yield 1 }"),
                  "2:23: error: `while` has 1 result, but its region yields 0 values; end the "
                  "region with `yield` and one value for each result\n");
    check_refused(TEXT_KERNEL("while iter (%a = 1) { yield q, %x } do (%b) { yield 1 }"),
                  "2:23: error: value 2 of `yield` is f32, but `while` carries i32\n");
    check_refused(TEXT_KERNEL("while iter (%a = 1) { yield q, %a } do (%b) { yield %x }"),
                  "2:47: error: value 1 of `yield` is f32, but `while` carries i32\n");
    check_refused(TEXT_KERNEL("%s = alloc_shared : shared<f32[8]>\n"
                              "while iter (%a = %s) { yield q, %a } do (%b) { yield %b }"),
                  "3:1: error: `while` cannot carry shared<f32[8]>: which memory is accessed must "
                  "not depend on the path; carry coordinates\n"
                  "3:1: error: `while` cannot carry shared<f32[8]>: which memory is accessed must "
                  "not depend on the path; carry coordinates\n");
}

/* Errors in both regions are reported together, even if the loop itself cannot be built. */
Test(while_loop, regions_are_read_after_a_mistake) {
    check_refused(TEXT_KERNEL("while iter (%a = %who) {\n  yield %what, %a\n} do (%b) {\n"
                              "  yield %when\n}"),
                  "2:18: error: %who is not defined\n"
                  "3:9: error: %what is not defined\n"
                  "5:9: error: %when is not defined\n");
}

/* The builder refuses deeper nesting than the text allows. */
Test(while_loop, regions_nest_as_deep_as_the_text_can) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, "kernel @k() grid [1] warps 1 { }");
    tile_function *f = tile_module_function(module, 0);
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_value yes =
        tile_build_constant(&b, tile_type_scalar(x.context, TILE_i1), tile_expr_int(x.context, 1));
    for (unsigned depth = 1; depth < TILE_MAX_DEPTH; depth++) {
        tile_op op = tile_build_while_loop(&b, NULL, 0);
        cr_assert(op.id, "%u: %s", depth, x.messages);
        tile_builder second = tile_builder_at_end(f, tile_op_region(f, op, 1));
        tile_build_yield(&second, NULL, 0);
        tile_builder first = tile_builder_at_end(f, tile_op_region(f, op, 0));
        tile_build_yield(&first, &yes, 1);
        b = tile_builder_before(f, tile_region_yield(f, first.region));
    }
    cr_expect_eq(tile_build_while_loop(&b, NULL, 0).id, 0u);
    cr_expect_eq(tile_build_if_else(&b, yes, NULL, 0).id, 0u);
    tile_value one = tile_build_int(&b, 1);
    cr_expect_eq(tile_build_for_loop(&b, one, one, one, NULL, 0).id, 0u);
    const char *message = "1:8: error: more than 200 regions are nested; compute "
                          "conditions first, with `&` and `select`\n";
    cr_expect_eq(strncmp(x.messages, message, strlen(message)), 0, "%s", x.messages);
    cr_expect_eq(x.errors, 3u);
    cr_expect_eq(tile_module_verify(module), TILE_OK);
    const char *text = text_print(&x, module);
    tile_module *again = text_parse(&x, text);
    cr_assert_not_null(again);
    cr_expect_str_eq(text_print(&x, again), text);
    tile_module_destroy(again);
    tile_module_destroy(module);
    text_close(&x);
}

/* Analyses ------------------------------------------------------------------------------------- */

static tile_value find_value(const tile_function *f, const char *name) {
    for (uint32_t id = 1; id < f->value_count; id++)
        if (f->values[id].name && strcmp(f->values[id].name, name) == 0) return (tile_value){id};
    cr_assert_fail("no value %s", name);
    return TILE_NO_VALUE;
}

/* Ranges from both ends are joined; values of only the first iteration are included. */
Test(while_loop, ranges_hold_what_every_iteration_has) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(
        &x, TEXT_KERNEL("%m = mod %n, 4\n"
                        "%r, %s, %t, %u = while iter (%a = 8, %b = 100, %c = 0, %d = 5) {\n"
                        "  %e = mod %a, 32\n"
                        "  yield %b != %n, %e, %m, %c, %d\n"
                        "} do (%f, %g, %i, %j) {\n"
                        "  yield %f + 16, %g, %i + 8, %j\n}"));
    cr_assert_not_null(module, "%s", x.messages);
    tile_function *f = tile_module_function(module, 0);
    const tile_range *ranges = tile_range_analyse(f, &x.arena);
    const struct {
        const char *name;
        tile_range range;
    } cases[] = {
        {"a", {8, 40, 8, 0}},
        {"f", {0, 24, 8, 0}},
        {"r", {0, 24, 8, 0}},
        {"b", {0, 100, 1, 0}},
        {"g", {0, 3, 1, 0}},
        {"s", {0, 3, 1, 0}},
        {"d", {5, 5, 5, 0}},
        {"u", {5, 5, 5, 0}},
        {"i", {INT32_MIN, INT32_MAX - 7, 8, 0}},
        {"t", {INT32_MIN, INT32_MAX - 7, 8, 0}},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_range r = ranges[find_value(f, cases[i].name).id], want = cases[i].range;
        cr_expect(r.min == want.min && r.max == want.max && r.divisor == want.divisor,
                  "%s: %lld to %lld by %lld", cases[i].name, (long long)r.min, (long long)r.max,
                  (long long)r.divisor);
    }
    tile_module_destroy(module);
    text_close(&x);
}

Test(while_loop, divergence_of_conditions_and_values) {
    text_fixture x;
    text_open(&x);
    tile_module *module =
        text_parse(&x, TEXT_KERNEL("%tid = thread_id\n"
                                   "%same, %differ = while iter (%a = 0, %b = 0) {\n"
                                   "  yield %a < %n, %a, %b\n"
                                   "} do (%c, %d) {\n"
                                   "  sync\n"
                                   "  yield %c + 1, %tid\n}\n"
                                   "%apart = while iter (%e = 0) {\n"
                                   "  yield %e < %tid, %e\n"
                                   "} do (%g) {\n"
                                   "  sync\n"
                                   "  yield %g + 1\n}"));
    cr_assert_not_null(module, "%s", x.messages);
    tile_function *f = tile_module_function(module, 0);
    const bool *divergent = tile_divergent_values(f, &x.arena);
    static const char *const names[] = {"same", "a", "c", "differ", "b", "d", "apart", "e", "g"};
    for (unsigned i = 0; i < 9; i++)
        cr_expect_eq(divergent[find_value(f, names[i]).id], i > 2, "%s", names[i]);
    tile_op loops[2];
    unsigned count = 0;
    TILE_FOR_EACH_OP (f, op, f->body)
        if (tile_repeats(f, op)) loops[count++] = op;
    for (unsigned i = 0; i < 2; i++) {
        tile_op sync = tile_region_first(f, tile_op_region(f, loops[i], 1));
        cr_expect_eq(tile_divergent_control(f, divergent, sync).id, i ? loops[1].id : 0);
    }
    tile_module_destroy(module);
    text_close(&x);
}

/* The CPU device ------------------------------------------------------------------------------- */

/* Each lane leaves when its number has reached 1; inside is another such loop. */
Test(while_loop, lanes_leave_one_by_one) {
    cpu_fixture x;
    int32_t out[128];
    cpu_open(&x, 3, 0,
             "kernel @k(%p: ptr<i32>) grid [1] warps 2 {\n"
             "  %t = thread_id\n"
             "  %last, %steps, %sum = while iter (%a = %t + 1, %n = 0, %s = 0) {\n"
             "    yield %a != 1, %a, %n, %s\n"
             "  } do (%b, %m, %r) {\n"
             "    %odd = rem(%b, 2) == 1\n"
             "    %next = if %odd { yield 3 * %b + 1 } else { yield %b / 2 }\n"
             "    %bits = while iter (%c = %b) { yield %c > 9, %c } do (%d) { yield %d / 10 }\n"
             "    yield %next, %m + 1, %r + %bits\n"
             "  }\n"
             "  st_global %steps, %p[%t]\n"
             "  st_global %sum + %last, %p[%t + 64]\n}\n");
    cpu_pass(&x, NULL, sizeof out);
    CPU_RUN(&x);
    cpu_get(&x, 0, out, sizeof out);
    for (int t = 0; t < 64; t++) {
        int a = t + 1, steps = 0, sum = 1;
        for (; a != 1; steps++) {
            int first = a;
            while (first > 9) first /= 10;
            sum += first;
            a = a % 2 ? 3 * a + 1 : a / 2;
        }
        cr_assert_eq(out[t], steps, "thread %d: %d", t, out[t]);
        cr_assert_eq(out[t + 64], sum, "thread %d: %d", t, out[t + 64]);
    }
    cpu_close(&x);
}

/* The condition is one of the values that are swapped: the previous one counts. */
Test(while_loop, a_carried_condition) {
    for (unsigned level = 2; level <= 3; level++) {
        cpu_fixture x;
        int32_t out[4];
        cpu_open(&x, level, 0,
                 level == 3 ? "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n"
                              "  %a, %b, %n = while iter (%x = true, %y = true, %c = 0) {\n"
                              "    yield %x, %y, false, %c\n"
                              "  } do (%x, %y, %c) { yield %x, %y, %c + 1 }\n"
                              "  %t = thread_id\n  if %t == 0 {\n"
                              "    st_global %n, %p[0]\n  }\n}\n"
                            : "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n"
                              "  %g = view %p, [4] : view<i32[4]>\n"
                              "  %zero = splat 0 : tile<i32[4]>\n"
                              "  %a, %b, %n = while iter (%x = true, %y = true, %c = %zero) {\n"
                              "    yield %x, %y, false, %c\n"
                              "  } do (%x, %y, %c) { yield %x, %y, %c + 1 }\n"
                              "  store %n, %g[0]\n}\n");
        cpu_pass(&x, NULL, sizeof out);
        CPU_RUN(&x);
        cpu_get(&x, 0, out, sizeof out);
        cr_expect_eq(out[0], 2, "level %u: %d", level, out[0]);
        cpu_close(&x);
    }
}

/* Values are swapped in the first region and rotated in the second. */
Test(while_loop, exchanged_values) {
    cpu_fixture x;
    int32_t out[4];
    cpu_open(&x, 3, 0,
             "kernel @k(%p: ptr<i32>) grid [1] warps 1 {\n"
             "  %a, %b, %c, %n = while iter (%x = 1, %y = 2, %z = 3, %i = 0) {\n"
             "    yield %i < 3, %y, %x, %z, %i\n"
             "  } do (%x, %y, %z, %i) { yield %y, %z, %x, %i + 1 }\n"
             "  %t = thread_id\n  if %t == 0 {\n"
             "    st_global %a, %p[0] st_global %b, %p[1] st_global %c, %p[2]\n"
             "    st_global %n, %p[3]\n  }\n}\n");
    cpu_pass(&x, NULL, sizeof out);
    CPU_RUN(&x);
    cpu_get(&x, 0, out, sizeof out);
    int a = 1, b = 2, c = 3;
    for (int i = 0;; i++) {
        int swap = a;
        a = b, b = swap;
        if (i == 3) break;
        swap = a, a = b, b = c, c = swap;
    }
    cr_expect(out[0] == a && out[1] == b && out[2] == c && out[3] == 3, "%d %d %d %d", out[0],
              out[1], out[2], out[3]);
    cpu_close(&x);
}
