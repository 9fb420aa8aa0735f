#include "test/unit/tune_fixture.h"

#include "lib/support/clock.h"
#include "runtime/cache/cache.h"
#include "runtime/device/device.h"
#include "tile/tuned.h"

/* Ranks smaller blocks as slower, whatever their time. */
static double prefer_large(const tile_candidate *c, void *user) {
    (void)user;
    return strstr(c->text, "block=64") ? 1 : 2;
}

Test(tune, the_best_is_found_kept_and_found_again) {
    tune_fixture x;
    tune_open(&x, tune_text, "0");
    x.options.rate = prefer_large;
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    tile_tuning_facts facts = tile_tuning_get_facts(x.tuning);
    cr_expect_str_eq(facts.name, "add 50-d2");
    cr_expect_str_eq(facts.bucket, "n=52");
    cr_expect_str_eq(facts.sizes, "n=50");
    cr_expect_str_eq(facts.check, "element by element");
    cr_expect(facts.in_process && facts.kept && !facts.found && !facts.unchecked);
    cr_assert(tile_tuning_best(x.tuning));
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=64 fault=0");
    cr_expect_eq(tile_tuning_candidate_count(x.tuning), 2);
    cr_assert_eq(tune_add(&x, 50), TILE_OK);
    facts = tile_tuning_get_facts(x.tuning);
    cr_expect(facts.found && facts.kept && !facts.stale);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=64 fault=0");
    cr_assert_eq(tune_add(&x, 51), TILE_OK);
    facts = tile_tuning_get_facts(x.tuning);
    cr_expect_not(facts.found, "in the same bucket, but not these sizes");
    cr_expect_str_eq(facts.bucket, "n=52");
    x.options.retune = TILE_RETUNE_ALWAYS;
    cr_assert_eq(tune_add(&x, 51), TILE_OK);
    cr_expect(!tile_tuning_get_facts(x.tuning).found);
    tune_close(&x);
}

static const char without_tune[] =
    "kernel @add<block: int>(%n: i32, %x: view<f32[%n]>, %c: view<f32[%n]>)\n"
    "    of @plus where block > 8 grid [ceildiv(%n, block)] warps 1 {\n"
    "  %b = block_id\n"
    "  %t = load %x[%b * block] : [block]\n"
    "  store %t + (splat(1.0) : tile<f32[block]>), %c[%b * block]\n"
    "}\n"
    "compute @plus<n: dim>(%x: tensor<f32[n]>) -> (%c: tensor<f32[n]>) { %c = %x + 1.0 }\n";

Test(tune, a_kernel_without_tune_has_one_point) {
    static const char fixed[] = "kernel @add(%n: i32, %x: view<f32[%n]>, %c: view<f32[%n]>)\n"
                                "    of @plus grid [ceildiv(%n, 32)] warps 1 {\n"
                                "  %b = block_id\n"
                                "  %t = load %x[%b * 32] : [32]\n"
                                "  store %t + (splat(1.0) : tile<f32[32]>), %c[%b * 32]\n"
                                "}\n"
                                "compute @plus<n: dim>(%x: tensor<f32[n]>)\n"
                                "    -> (%c: tensor<f32[n]>) { %c = %x + 1.0 }\n";
    tune_fixture x;
    tune_open(&x, fixed, "");
    for (unsigned time = 0; time < 2; time++) {
        cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
        cr_expect_eq(tile_tuning_get_facts(x.tuning).found, time == 1);
        cr_expect(tile_tuning_get_facts(x.tuning).kept);
        cr_assert_eq(tile_tuning_candidate_count(x.tuning), 1);
        cr_expect_eq(tile_tuning_best(x.tuning)->state, TILE_CANDIDATE_measured);
        cr_expect_eq(tile_tuning_best(x.tuning)->binding_count, 0);
    }
    tune_close(&x);
}

Test(tune, a_kernel_without_tune_takes_what_is_given) {
    const tile_binding block = {"block", "32"}, small = {"block", "8"};
    tune_fixture x;
    tune_open(&x, without_tune, "");
    cr_expect_eq(tune_add(&x, 50), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@add has no point: it has no 'tune', and the given "
                                      "values leave a parameter without a value"),
              "%s", x.text.messages);
    x.options.binding_count = 1;
    x.options.bindings = &small;
    cr_expect_eq(tune_add(&x, 50), TILE_INVALID);
    x.options.bindings = &block;
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=32");
    cr_expect(!tile_tuning_get_facts(x.tuning).kept);
    text_buffer text = {.arena = &x.text.arena};
    tile_tuning_print(x.tuning, TILE_TUNING_TEXT, text_append, &text);
    cr_expect(strstr(text.data, "not stored: only points with the given parameters were measured"),
              "%s", text.data);
    tune_close(&x);
}

/* The reported repeats are those of one final round, in which the best are measured again. */
Test(tune, the_best_are_measured_in_rounds) {
    const tile_measure_options measure = {.size = sizeof measure, .repeats = 30};
    tune_fixture x;
    tune_open(&x, tune_text, "0");
    x.options.measure = &measure;
    x.options.rate = prefer_large; /* the test must not depend on actual times */
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=64 fault=0");
    cr_expect_eq(tile_tuning_best(x.tuning)->time.repeats, 10);
    tune_close(&x);
}

Test(tune, launches_take_the_point) {
    tune_fixture x;
    tile_kernel *kernel;
    tile_buffer *buffer;
    const tile_abi *abi;
    int64_t grid[3];
    tune_open(&x, tune_text, "0");
    x.options.rate = prefer_large;
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    cr_assert_eq(tile_kernel_create(x.device, x.module, "add", NULL, 0, &kernel), TILE_OK);
    cr_assert_eq(tile_buffer_create(x.device, 512, &buffer), TILE_OK);
    const tile_argument arguments[] = {
        {.integer = 64}, {.buffer = buffer}, {.buffer = buffer, .offset = 256}};
    cr_assert_eq(tile_kernel_variant(kernel, arguments, 3, &abi), TILE_OK);
    cr_assert_eq(tile_abi_grid(abi, (int64_t[3]){64}, NULL, grid), TILE_OK);
    cr_expect_eq(grid[0], 1, "the first point of the space has two blocks");
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tune_close(&x);
}

Test(tune, stale_points_are_taken_or_measured_again) {
    tune_fixture x;
    tile_point_key key;
    tile_tuned_point point;
    tune_open(&x, tune_text, "0");
    x.options.rate = prefer_large;
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    tile_tuned_table *table = tile_tuned_table_create();
    tile_tuned_table_take(table, x.device->cache, NULL);
    cr_assert(tile_tuned_table_at(table, 0, &key, &point));
    point.compiler = "tile 0.1";
    point.bindings = "block=32 fault=0";
    cr_assert(tile_cache_import_point(x.device->cache, &key, &point));
    tile_tuned_table_destroy(table);
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    cr_expect(tile_tuning_get_facts(x.tuning).found && tile_tuning_get_facts(x.tuning).stale);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=32 fault=0");
    x.options.retune = TILE_RETUNE_STALE;
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    cr_expect(!tile_tuning_get_facts(x.tuning).found);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=64 fault=0");
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    cr_expect(tile_tuning_get_facts(x.tuning).found && !tile_tuning_get_facts(x.tuning).stale);
    tune_close(&x);
}

/* Injected faults ------------------------------------------------------------------------------ */

Test(tune, what_is_wrong_does_not_win) {
    tune_fixture x;
    tune_open(&x, tune_text, "0, 10, 11, 12");
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    const tile_candidate *wrong = tune_find(&x, "block=32 fault=10");
    cr_expect_eq(wrong->state, TILE_CANDIDATE_wrong);
    cr_expect(strncmp(wrong->why, "at n=50: element [5] of %c is ", 30) == 0, "%s", wrong->why);
    const tile_candidate *fault = tune_find(&x, "block=64 fault=11");
    cr_expect_eq(fault->state, TILE_CANDIDATE_fault, "%s", fault->why);
    const tile_candidate *endless = tune_find(&x, "block=64 fault=12");
    cr_expect_eq(endless->state, TILE_CANDIDATE_fault, "%s", endless->why);
    cr_expect(strstr(endless->why, "operations"), "%s", endless->why);
    cr_expect(strstr(tile_tuning_best(x.tuning)->text, "fault=0"));
    tune_close(&x);
}

Test(tune, what_is_wrong_at_the_tuned_shape_only_does_not_win) {
    tune_fixture x;
    tune_open(&x, tune_text, "0, 13");
    cr_assert_eq(tune_add(&x, 200), TILE_OK, "%s", x.text.messages);
    const tile_candidate *wrong = tune_find(&x, "block=32 fault=13");
    cr_expect_eq(wrong->state, TILE_CANDIDATE_wrong);
    cr_expect(strstr(wrong->why, "at n=200: element [100] of %c"), "%s", wrong->why);
    cr_expect(strstr(tile_tuning_get_facts(x.tuning).check, "element by element at n=56; then"),
              "%s", tile_tuning_get_facts(x.tuning).check);
    tune_close(&x);
}

Test(tune, nothing_wins_where_all_are_wrong) {
    tune_fixture x;
    tune_open(&x, tune_text, "10");
    cr_assert_eq(tune_add(&x, 50), TILE_FAILED);
    cr_expect(strstr(x.text.messages, "no candidate of @add is usable"), "%s", x.text.messages);
    cr_expect_null(tile_tuning_best(x.tuning));
    cr_expect_eq(tile_tuning_candidate_count(x.tuning), 2);
    cr_expect(!tile_tuning_get_facts(x.tuning).kept);
    tune_close(&x);
}

Test(tune, a_worker_that_crashes_hangs_or_swells_costs_a_candidate, .timeout = 120) {
    tune_fixture x;
    tune_open(&x, tune_text, "0, 1, 2, 3, 4");
    x.options.worker = tune_program("tile-faulty-worker");
    x.options.timeout = 3;
    x.options.worker_bytes = 400 << 20;
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    const tile_candidate *c = tune_find(&x, "block=32 fault=1");
    cr_expect_eq(c->state, TILE_CANDIDATE_fault);
    cr_expect_str_eq(c->why, "its process ended: Segmentation fault");
    c = tune_find(&x, "block=32 fault=2");
    cr_expect_eq(c->state, TILE_CANDIDATE_timeout);
    cr_expect_str_eq(c->why, "it took too long");
    c = tune_find(&x, "block=64 fault=3");
    cr_expect_eq(c->state, TILE_CANDIDATE_memory, "%s", c->why);
    c = tune_find(&x, "block=64 fault=4");
    cr_expect_eq(c->state, TILE_CANDIDATE_fault);
    cr_expect_str_eq(c->why, "its process ended with status 3");
    cr_expect_eq(tile_tuning_get_facts(x.tuning).restarts, 8);
    cr_expect(!tile_tuning_get_facts(x.tuning).in_process);
    cr_expect(strstr(tile_tuning_best(x.tuning)->text, "fault=0"));
    tune_close(&x);
}

/* A fault on the CPU device does not end the process. */
Test(tune, the_shipped_worker_gives_what_this_process_gives, .timeout = 60) {
    tune_fixture x;
    tune_open(&x, tune_text, "0, 10, 11");
    x.options.worker = tune_program("tile-worker");
    x.options.rate = prefer_large;
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(tune_find(&x, "block=32 fault=10")->state, TILE_CANDIDATE_wrong);
    cr_expect_eq(tune_find(&x, "block=32 fault=11")->state, TILE_CANDIDATE_fault);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=64 fault=0");
    cr_expect_eq(tile_tuning_get_facts(x.tuning).restarts, 0);
    tune_close(&x);
}

/* The order of candidates ---------------------------------------------------------------------- */

/* c[i] = x[i] + 1, at speeds in milliseconds per launch that the worker's fake clock simulates. */
static const char speeds_text[] =
    "kernel @add<speed: int>(%n: i32, %x: view<f32[%n]>, %c: view<f32[%n]>)\n"
    "    of @plus tune speed in [400, 300, 309, 700, 200, 230, 202, 900, 206]\n"
    "    grid [ceildiv(%n, 64)] warps 1 {\n"
    "  %b = block_id\n"
    "  %t = load %x[%b * 64] : [64]\n"
    "  store %t + (splat(1.0) : tile<f32[64]>), %c[%b * 64]\n"
    "}\n"
    "compute @plus<n: dim>(%x: tensor<f32[n]>) -> (%c: tensor<f32[n]>) { %c = %x + 1.0 }\n";

static double fake_now;

static double read_fake_clock(void) {
    return fake_now += 0.11; /* longer than the interval between two reports of progress */
}

static double milliseconds_of(const tile_candidate *c) {
    return strtod(c->text + strlen("speed="), NULL);
}

/* Progress reports: the number of candidates tried, and the best time so far. */
typedef struct told_best {
    double after[16]; /* by candidates; ms, 0: no report */
    unsigned most;
} told_best;

static void keep_best_told(const tile_tune_progress *progress, void *user) {
    told_best *told = user;
    if (strcmp(progress->stage, "Tuning") != 0 || progress->done >= 16 || !progress->best) return;
    if (progress->done > told->most) told->most = progress->done;
    if (!told->after[progress->done]) told->after[progress->done] = milliseconds_of(progress->best);
}

Test(tune, the_fastest_is_the_best_from_the_first_candidate_on, .timeout = 60) {
    static const double best_after[] = {0, 400, 300, 300, 300, 200, 200, 200, 200, 200};
    const tile_measure_options measure = {.size = sizeof measure, .repeats = 9};
    told_best told = {{0}, 0};
    tune_fixture x;
    tune_open(&x, speeds_text, "");
    x.options.worker = tune_program("tile-faulty-worker");
    x.options.measure = &measure;
    x.options.timeout = 1000;
    x.options.progress = keep_best_told;
    x.options.user = &told;
    tile_clock_replace(read_fake_clock);
    tile_status status = tune_add(&x, 50);
    tile_clock_replace(NULL);
    cr_assert_eq(status, TILE_OK, "%s", x.text.messages);
    cr_expect_eq(told.most, 9);
    for (unsigned i = 1; i <= 9; i++)
        cr_expect_float_eq(told.after[i], best_after[i], 0, "after %u: %g", i, told.after[i]);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "speed=200");
    /* Candidates up to 10 % slower than the best so far are measured completely; others are
     * abandoned. */
    static const struct {
        const char *text;
        tile_candidate_state state;
        unsigned repeats; /* 3: a round of the finals, 9: the first measurement */
    } expected[] = {
        {"speed=400", TILE_CANDIDATE_measured, 9}, {"speed=300", TILE_CANDIDATE_measured, 9},
        {"speed=309", TILE_CANDIDATE_measured, 9}, {"speed=700", TILE_CANDIDATE_abandoned, 3},
        {"speed=200", TILE_CANDIDATE_measured, 3}, {"speed=230", TILE_CANDIDATE_abandoned, 3},
        {"speed=202", TILE_CANDIDATE_measured, 3}, {"speed=900", TILE_CANDIDATE_abandoned, 3},
        {"speed=206", TILE_CANDIDATE_measured, 3},
    };
    for (unsigned i = 0; i < sizeof expected / sizeof *expected; i++) {
        const tile_candidate *c = tune_find(&x, expected[i].text);
        cr_expect_eq(c->state, expected[i].state, "%s: %d", c->text, c->state);
        cr_expect_eq(c->time.repeats, expected[i].repeats, "%s: %u", c->text, c->time.repeats);
        cr_expect_float_eq(c->time.median, 1e-3 * milliseconds_of(c), 1e-9, "%s", c->text);
    }
    /* The report lists them in this order. */
    static const char *const order[] = {"speed=200", "speed=202", "speed=206",
                                        "speed=300", "speed=309", "speed=400",
                                        "speed=700", "speed=230", "speed=900"};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        cr_expect_str_eq(tile_tuning_candidate_at(x.tuning, i)->text, order[i], "%u", i);
    tune_close(&x);
}

/* No candidate wins, but the budget still ends the tuning. */
Test(tune, a_budget_ends_a_tuning_that_finds_nothing, .timeout = 60) {
    tune_fixture x;
    tune_open(&x, tune_text, "10");
    x.options.budget = 0.3;
    tile_clock_replace(read_fake_clock);
    tile_status status = tune_add(&x, 50);
    tile_clock_replace(NULL);
    cr_expect_eq(status, TILE_FAILED);
    cr_expect(strstr(x.text.messages, "no candidate of @add won within the budget of 0.3 s: 1 of 2 "
                                      "were tried"),
              "%s", x.text.messages);
    cr_expect_eq(tile_tuning_candidate_at(x.tuning, 0)->state, TILE_CANDIDATE_wrong);
    cr_expect_eq(tile_tuning_candidate_at(x.tuning, 1)->state, TILE_CANDIDATE_waiting);
    tune_close(&x);
}

/* Products of all orientations, at sizes at which Freivalds' test checks the results. */
Test(tune, products_of_transposed_inputs_are_right, .timeout = 60) {
    static const char *const lhs[] = {"%m, %k", "%k, %m"}, *const rhs[] = {"%k, %n", "%n, %k"};
    for (unsigned way = 0; way < 8; way++) {
        bool left = way & 1, right = way & 2, wrong = way & 4;
        char text[2048];
        snprintf(
            text, sizeof text,
            "kernel @mm<b: int>(%%m: i32, %%n: i32, %%k: i32, %%x: view<f32[%s]>,\n"
            "    %%y: view<f32[%s]>, %%c: view<f32[%%m, %%n]>) of @product tune b in [16, 32]\n"
            "    grid [ceildiv(%%m, b), ceildiv(%%n, b)] warps 1 {\n"
            "  %%i, %%j = block_id\n"
            "  %%acc = for %%l = 0 to %%k step 16 iter (%%s = 0.0 : tile<f32[b, b]>) {\n"
            "    %%u = load %%x[%s] : [%s]\n    %%v = load %%y[%s] : [%s]\n"
            "    yield dot(%%u, %%v, %%s%s%s)\n  }\n"
            "  store %%acc, %%c[%s * b, %%j * b]\n}\n"
            "compute @product<m: dim, n: dim, k: dim>(%%x: tensor<f32[%s]>,\n"
            "    %%y: tensor<f32[%s]>) -> (%%c: tensor<f32[m, n]>) {\n"
            "  %%c = matmul(%%x, %%y%s%s) : f32\n}\n",
            lhs[left], rhs[right], left ? "%l, %i * b" : "%i * b, %l", left ? "16, b" : "b, 16",
            right ? "%j * b, %l" : "%l, %j * b", right ? "b, 16" : "16, b",
            left ? ", trans_lhs" : "", right ? ", trans_rhs" : "", wrong ? "max(%i, 1)" : "%i",
            left ? "k, m" : "m, k", right ? "n, k" : "k, n", left ? ", trans_lhs" : "",
            right ? ", trans_rhs" : "");
        const tile_tune_argument arguments[6] = {
            {.integer = 112}, {.integer = 96}, {.integer = 144}};
        tune_fixture x;
        tune_open(&x, text, "");
        tile_status status =
            tile_tune(x.device, x.module, "mm", arguments, 6, &x.options, &x.tuning);
        cr_expect_eq(status, wrong ? TILE_FAILED : TILE_OK, "%s\n%s", text, x.text.messages);
        cr_expect(strstr(tile_tuning_get_facts(x.tuning).check, "Freivalds"), "%s", text);
        tune_close(&x);
    }
}

Test(tune, a_worker_that_is_none_is_reported) {
    static const char *const workers[] = {"/no/such/worker", "/bin/true"};
    static const char *const said[] = {
        "the worker /no/such/worker: No such file or directory",
        "the worker /bin/true does not start: its process ended with "
        "status 0"};
    for (unsigned i = 0; i < 2; i++) {
        tune_fixture x;
        tune_open(&x, tune_text, "0");
        x.options.worker = workers[i];
        cr_expect_eq(tune_add(&x, 50), TILE_UNAVAILABLE);
        cr_expect(strstr(x.text.messages, said[i]), "%s", x.text.messages);
        tune_close(&x);
    }
}

/* Requests ------------------------------------------------------------------------------------- */

static const char without_reference[] =
    "kernel @add<block: int>(%n: i32, %x: view<f32[%n]>, %c: view<f32[%n]>)\n"
    "    tune block in [32, 64] grid [ceildiv(%n, block)] warps 1 {\n"
    "  %b = block_id\n"
    "  store load %x[%b * block] : [block], %c[%b * block]\n"
    "}\n";

Test(tune, without_a_reference_it_takes_a_word) {
    tune_fixture x;
    tune_open(&x, without_reference, "");
    cr_expect_eq(tune_add(&x, 50), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@add names no reference"), "%s", x.text.messages);
    x.options.unchecked = true;
    cr_assert_eq(tune_add(&x, 50), TILE_OK, "%s", x.text.messages);
    cr_expect(tile_tuning_get_facts(x.tuning).unchecked);
    cr_assert_eq(tune_add(&x, 50), TILE_OK);
    cr_expect(tile_tuning_get_facts(x.tuning).found && tile_tuning_get_facts(x.tuning).unchecked,
              "the point says so");
    tune_close(&x);
}

Test(tune, wrong_requests_are_refused) {
    tune_fixture x;
    const tile_tune_argument arguments[3] = {{.integer = 8}};
    const tile_binding none = {"size", "4"}, far = {"block", "7"};
    tune_open(&x, tune_text, "0");
    cr_expect_eq(tile_tune(x.device, x.module, "no", arguments, 3, NULL, &x.tuning), TILE_INVALID);
    tile_tuning_destroy(x.tuning);
    cr_expect_eq(tile_tune(x.device, x.module, "add", arguments, 2, NULL, &x.tuning), TILE_INVALID);
    x.options.binding_count = 1;
    x.options.bindings = &none;
    cr_expect_eq(tune_add(&x, 8), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@add has no parameter 'size'"), "%s", x.text.messages);
    x.options.bindings = &far;
    cr_expect_eq(tune_add(&x, 8), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@add has no point"), "%s", x.text.messages);
    tune_close(&x);
}

Test(tune, given_parameters_restrict_the_space_and_nothing_is_kept) {
    tune_fixture x;
    const tile_binding given = {"block", "32"};
    tune_open(&x, tune_text, "0");
    x.options.binding_count = 1;
    x.options.bindings = &given;
    cr_assert_eq(tune_add(&x, 50), TILE_OK);
    cr_expect_eq(tile_tuning_candidate_count(x.tuning), 1);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "block=32 fault=0");
    cr_expect(!tile_tuning_get_facts(x.tuning).kept);
    tune_close(&x);
}

/* Reports -------------------------------------------------------------------------------------- */

static void count_progress(const tile_tune_progress *progress, void *user) {
    tune_fixture *x = user;
    cr_expect_str_eq(progress->stage, "Tuning");
    cr_expect_str_eq(progress->name, "add 50-d2");
    cr_expect_leq(progress->done, progress->total);
    x->told++;
}

Test(tune, every_candidate_is_in_the_report) {
    tune_fixture x;
    tune_open(&x, tune_text, "0, 10");
    x.options.progress = count_progress;
    x.options.user = &x;
    cr_assert_eq(tune_add(&x, 50), TILE_OK);
    cr_expect_geq(x.told, 1);
    text_buffer text = {.arena = &x.text.arena}, json = {.arena = &x.text.arena};
    tile_tuning_print(x.tuning, TILE_TUNING_TEXT, text_append, &text);
    tile_tuning_print(x.tuning, TILE_TUNING_JSON, text_append, &json);
    cr_expect(strstr(text.data, "block=32 fault=10  wrong: at n=50: element [5]"), "%s", text.data);
    cr_expect(strstr(text.data, "worker   none: candidates ran in this process"));
    cr_expect(strstr(json.data, "\"state\": \"measured\", \"point\": \"block=64 fault=0\""), "%s",
              json.data);
    cr_expect(strstr(json.data, "\"in_process\": true"));
    tune_close(&x);
}

/* Tables --------------------------------------------------------------------------------------- */

/* Returns the number of blocks in a launch of 64 elements, on a device with this table and no
 * cache. */
static int64_t count_blocks(tune_fixture *x, const tile_tuned_table *table) {
    const tile_device_options options = {.size = sizeof options, .tuned = table};
    tile_device *device;
    tile_kernel *kernel;
    tile_buffer *buffer;
    const tile_abi *abi;
    int64_t grid[3];
    cr_assert_eq(tile_device_create_cpu(x->text.context, &options, &device), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, x->module, "add", NULL, 0, &kernel), TILE_OK);
    cr_assert_eq(tile_buffer_create(device, 512, &buffer), TILE_OK);
    const tile_argument arguments[] = {
        {.integer = 64}, {.buffer = buffer}, {.buffer = buffer, .offset = 256}};
    cr_assert_eq(tile_kernel_variant(kernel, arguments, 3, &abi), TILE_OK);
    cr_assert_eq(tile_abi_grid(abi, (int64_t[3]){64}, NULL, grid), TILE_OK);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(device);
    return grid[0];
}

Test(tune, a_table_goes_where_no_cache_is) {
    tune_fixture x;
    tune_open(&x, tune_text, "0");
    x.options.rate = prefer_large;
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    tile_tuned_table *table = tile_tuned_table_create(), *read;
    cr_expect_eq(count_blocks(&x, table), 2, "the first point of the space");
    cr_expect_eq(tile_tuned_table_take(table, x.device->cache, "other"), 0);
    cr_expect_eq(tile_tuned_table_take(table, x.device->cache, "add"), 1);
    cr_expect_eq(tile_tuned_table_take(table, x.device->cache, NULL), 1);
    cr_expect_eq(tile_tuned_table_count(table), 1, "in place of the same one");
    text_buffer text = {.arena = &x.text.arena};
    tile_tuned_table_write(table, TILE_TABLE_TEXT, NULL, text_append, &text);
    tile_tuned_table_destroy(table);
    cr_assert_eq(tile_tuned_table_read(x.text.context, text.data, text.length, &read), TILE_OK,
                 "%s", x.text.messages);
    cr_expect_eq(count_blocks(&x, read), 1);
    tile_point_key key;
    tile_tuned_point point;
    cr_assert(tile_tuned_table_at(read, 0, &key, &point));
    cr_expect_str_eq(point.bindings, "block=64 fault=0");
    cr_expect_str_eq(key.bucket, "n=64");
    cr_expect_str_eq(key.sizes, "n=64");
    /* Import into a cache that has lost it. */
    cr_assert_eq(tile_cache_clear(x.device->cache, TILE_CACHE_POINTS), TILE_OK);
    cr_expect_eq(tile_tuned_table_keep(read, x.device->cache), 1);
    cr_assert_eq(tune_add(&x, 64), TILE_OK);
    cr_expect(tile_tuning_get_facts(x.tuning).found && !tile_tuning_get_facts(x.tuning).stale);
    tile_tuned_table_destroy(read);
    tune_close(&x);
}

Test(tune, a_table_for_another_gpu_or_kernel_is_not_taken) {
    static const char *const swaps[][2] = {
        {"\"device\": \"cpu\"", "\"device\": \"gpu\""},
        {"\"sm_count\": 132", "\"sm_count\": 131"},
        {"\"kernel\": \"", "\"kernel\": \"0"},
        {"\"bucket\": \"n=64\"", "\"bucket\": \"n=96\""},
    };
    for (size_t i = 0; i < sizeof swaps / sizeof *swaps; i++) {
        tune_fixture x;
        tile_tuned_table *table = tile_tuned_table_create(), *read;
        tune_open(&x, tune_text, "0");
        x.options.rate = prefer_large;
        cr_assert_eq(tune_add(&x, 64), TILE_OK);
        tile_tuned_table_take(table, x.device->cache, NULL);
        text_buffer text = {.arena = &x.text.arena};
        tile_tuned_table_write(table, TILE_TABLE_TEXT, NULL, text_append, &text);
        tile_tuned_table_destroy(table);
        char *at = strstr(text.data, swaps[i][0]);
        cr_assert(at, "%s in %s", swaps[i][0], text.data);
        const char *other = tile_arena_format(&x.text.arena, "%.*s%s%s", (int)(at - text.data),
                                              text.data, swaps[i][1], at + strlen(swaps[i][0]));
        cr_assert_eq(tile_tuned_table_read(x.text.context, other, strlen(other), &read), TILE_OK);
        cr_expect_eq(count_blocks(&x, read), 2, "%s", swaps[i][1]);
        tile_tuned_table_destroy(read);
        tune_close(&x);
    }
}

Test(tune, what_is_no_table_is_reported) {
    static const char *const texts[] = {"", "[1]", "{\"tile_tuned_points\": 3}",
                                        "{\"tile_tuned_points\": 3, \"points\": [{}]}"};
    tune_fixture x;
    tile_tuned_table *table;
    tune_open(&x, tune_text, "0");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cr_expect_eq(tile_tuned_table_read(x.text.context, texts[i], strlen(texts[i]), &table),
                     TILE_INVALID, "%s", texts[i]);
        cr_expect_null(table);
    }
    cr_expect(strstr(x.text.messages, "the text is no table of tuned points"));
    tune_close(&x);
}

/* Whatever else they contain. */
Test(tune, tables_of_another_format_are_ignored) {
    static const char *const texts[][2] = {
        {"{\"tile_tuned_points\": 2, \"points\": [{\"bindings\": \"consumers=x\"}]}",
         "it has format 2, and this version reads 3"},
        {"{\"tile_tuned_points\": 4, \"others\": []}", "it has format 4, and this version reads 3"},
        {"{\"points\": []}", "it has no format number \"tile_tuned_points\""},
        {"{\"points\": [], \"tile_tuned_points\": \"3\"}",
         "its format number \"tile_tuned_points\" is no whole number"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tune_fixture x;
        tile_tuned_table *table;
        tune_open(&x, tune_text, "0");
        cr_assert_eq(
            tile_tuned_table_read(x.text.context, texts[i][0], strlen(texts[i][0]), &table),
            TILE_OK, "%s", texts[i][0]);
        cr_expect_eq(tile_tuned_table_count(table), 0);
        cr_expect_eq(tile_context_error_count(x.text.context), 0);
        cr_expect(strstr(x.text.messages, "remark: the table of tuned points is ignored: ") &&
                      strstr(x.text.messages, texts[i][1]),
                  "%s: %s", texts[i][0], x.text.messages);
        tile_tuned_table_destroy(table);
        tune_close(&x);
    }
}
