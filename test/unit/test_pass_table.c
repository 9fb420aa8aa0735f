/* Features that no pass of passes.def uses yet: adding functions, working on the module, having
 * options. The manager runs these passes from a table of this test. */
#include "test/unit/pass_fixture.h"

#include "passes/pipeline_text.h"

static char trace[512];

static void note(const char *format, const char *a, const char *b) {
    size_t length = strlen(trace);
    snprintf(trace + length, sizeof trace - length, format, a, b);
}

static tile_function *add_kernel(tile_module *module, const char *name) {
    tile_function *f = tile_function_create(module, TILE_KERNEL, name, (tile_loc){0});
    const tile_expr *one = tile_expr_int(tile_module_context(module), 1);
    tile_function_set_grid(f, 1, &one);
    tile_function_set_warps(f, one);
    return f;
}

static tile_status visit(tile_pass *pass, tile_function *f) {
    note("%s:%s ", pass->name, f->name);
    return TILE_OK;
}

/* Adds @<name>2 for each function. */
static tile_status grow(tile_pass *pass, tile_function *f) {
    note("%s:%s ", pass->name, f->name);
    add_kernel(f->module, tile_arena_format(pass->scratch, "%s2", f->name));
    return TILE_OK;
}

/* Replaces the first root by two kernels, @<name>_a and @<name>_b. */
static tile_status cut(tile_pass *pass, tile_module *module, const tile_roots *roots) {
    for (size_t i = 0; i < roots->count; i++) note("%s:%s ", pass->name, roots->functions[i]->name);
    tile_function *f = roots->functions[0];
    tile_module_remove(module, f);
    add_kernel(module, tile_arena_format(pass->scratch, "%s_a", f->name));
    add_kernel(module, tile_arena_format(pass->scratch, "%s_b", f->name));
    return TILE_OK;
}

/* Adds a kernel that has no grid. */
static tile_status spoil(tile_pass *pass, tile_function *f) {
    (void)pass;
    tile_function_create(f->module, TILE_KERNEL, "spoilt", (tile_loc){0});
    return TILE_OK;
}

#define ROW(name, options, run, run_module, needs, gives, keeps, breaks) \
    { \
        {name, TILE_LEVELS_LX, TILE_LEVELS_LX, "", "", options, "", "", "", run_module != NULL}, \
            run, run_module, needs, gives, keeps, breaks \
    }

enum { LAID_OUT = TILE_PROPERTY_laid_out, ALLOCATED = TILE_PROPERTY_allocated };

static const tile_pass_row rows[] = {
    ROW("visit", "", visit, NULL, 0, 0, LAID_OUT | ALLOCATED, 0),
    ROW("grow", "", grow, NULL, 0, 0, 0, 0),
    ROW("cut", "factor strategy", NULL, cut, 0, 0, 0, 0),
    ROW("spoil", "", spoil, NULL, 0, 0, 0, 0),
    ROW("lay", "", visit, NULL, 0, LAID_OUT, 0, 0),
    ROW("place", "", visit, NULL, LAID_OUT, ALLOCATED, LAID_OUT, 0),
    ROW("use", "", visit, NULL, LAID_OUT | ALLOCATED, 0, LAID_OUT, 0),
    ROW("shake", "", visit, NULL, 0, 0, LAID_OUT, ALLOCATED),
};
static const tile_pass_row level_rows[] = {
    {{.name = "tiles", .level_in = TILE_LEVELS_L2, .level_out = TILE_LEVELS_L2, .options = ""},
     .run = visit},
    {{.name = "threads", .level_in = TILE_LEVELS_L3, .level_out = TILE_LEVELS_L3, .options = ""},
     .run = visit},
    {{.name = "tensors", .level_in = TILE_LEVELS_L1, .level_out = TILE_LEVELS_L1, .options = ""},
     .run = visit},
};
static const tile_pass_table level_table = {level_rows, sizeof level_rows / sizeof *level_rows};
static const tile_pass_table table = {rows, sizeof rows / sizeof *rows};

/* Runs a pipeline on @k and @l, or on the named kernel. message: part of the expected error, else
 * NULL. */
static void check(const char *kernel, const char *pipeline, const char *expected,
                  const char *message) {
    pass_fixture x;
    fixture_open(&x);
    add_kernel(x.module, "l");
    *trace = 0;
    tile_pass_options options = {.size = sizeof options, .kernel = kernel};
    tile_status status = tile_run_passes_of(&table, x.module, pipeline, &options);
    cr_expect_eq(status == TILE_OK, !message, "%s: %s", pipeline, x.messages);
    cr_expect_str_eq(trace, expected, "%s: %s", pipeline, trace);
    if (message) cr_expect(strstr(x.messages, message), "%s: %s", pipeline, x.messages);
    fixture_close(&x);
}

static void runs(const char *kernel, const char *pipeline, const char *expected) {
    check(kernel, pipeline, expected, NULL);
}

static void fails(const char *kernel, const char *pipeline, const char *message) {
    check(kernel, pipeline, "", message);
}

Test(pass_table, functions_that_a_pass_adds_are_for_the_next_pass) {
    runs(NULL, "grow,visit", "grow:k grow:l visit:k visit:l visit:k2 visit:l2 ");
    runs("l", "grow,visit", "grow:l visit:l visit:l2 ");
    runs("k", "grow,visit", "grow:k visit:k visit:k2 ");
}

Test(pass_table, a_module_pass_gets_the_roots_and_may_replace_them) {
    runs(NULL, "cut,visit", "cut:k cut:l visit:l visit:k_a visit:k_b ");
    runs("k", "cut,visit", "cut:k visit:k_a visit:k_b ");
    runs("k", "cut,cut,visit", "cut:k cut:k_a cut:k_b visit:k_b visit:k_a_a visit:k_a_b ");
}

Test(pass_table, what_a_pass_adds_is_verified) {
    fails("k", "spoil,visit", "pass 'spoil' has made @spoilt invalid");
}

Test(pass_table, options_are_those_of_the_row) {
    runs("k", "cut{factor=4 strategy=serial}", "cut:k ");
    fails("k", "cut{factr=4}", "pass 'cut' has no option 'factr'; did you mean 'factor'?");
    fails("k", "cut{factor strategi}", "did you mean 'strategy'?");
    fails("k", "visit{factor}", "pass 'visit' has no option 'factor'");
}

Test(pass_table, properties_hold_until_a_pass_loses_them) {
    runs("k", "lay,place,visit,use", "lay:k place:k visit:k use:k ");
    runs("k", "use", "use:k "); /* the text may be laid out and allocated */
    fails("k", "lay,place,grow,use", "pass 'use' requires 'lay', which 'grow' has invalidated");
    fails("k", "lay,place,use,use", "pass 'use' requires 'place', which 'use' has invalidated");
    fails("k", "shake,use", "pass 'use' requires 'place', which 'shake' has invalidated");
    fails("k", "place,lay", "pass 'place' needs 'lay' before it, not after it");
    runs("k", "place,shake,place,use", "place:k shake:k place:k use:k ");
}

typedef struct hook_record {
    char text[256];
    size_t length;
} hook_record;

static void before(const char *pass, const tile_function *f, bool changed, void *user) {
    hook_record *r = user;
    r->length +=
        (size_t)snprintf(r->text + r->length, sizeof r->text - r->length, "<%s %s ", pass, f->name);
    cr_expect(!changed);
}

static void after(const char *pass, const tile_function *f, bool changed, void *user) {
    hook_record *r = user;
    (void)pass;
    r->length += (size_t)snprintf(r->text + r->length, sizeof r->text - r->length, "%s%s> ",
                                  f->name, changed ? "+" : "");
}

/* Removed functions are not passed to hooks; new ones count as changed. */
Test(pass_table, hooks_see_a_module_pass) {
    pass_fixture x;
    hook_record r = {.length = 0};
    fixture_open(&x);
    add_kernel(x.module, "l");
    tile_pass_options options = {.size = sizeof options,
                                 .before = before,
                                 .after = after,
                                 .report_changes = true,
                                 .hook_user = &r};
    cr_assert_eq(tile_run_passes_of(&table, x.module, "cut", &options), TILE_OK, "%s", x.messages);
    cr_expect_str_eq(r.text, "<cut k <cut l l> k_a+> k_b+> ");
    fixture_close(&x);
}

typedef struct level_case {
    const char *kernel;
    unsigned k, l; /* their levels */
    const char *pipeline, *trace;
    const char *message; /* expected error, or NULL */
    tile_status status;
} level_case;

/* The manager checks levels: it runs the pass, skips the function, or refuses. */
Test(pass_table, passes_run_at_their_levels) {
    static const char past[] =
        "2 @k is at level 3, which 'tiles' does not accept; run only passes of that level\n";
    static const level_case cases[] = {
        {NULL, 2, 2, "tiles", "tiles:k tiles:l ", NULL, TILE_OK},
        {NULL, 2, 3, "tiles", "tiles:k ", "@l is at level 3", TILE_OK},
        {"k", 3, 2, "tiles,tiles", "", past, TILE_OK},
        {NULL, 3, 3, "tiles,threads", "threads:k threads:l ", past, TILE_OK},
        {NULL, 3, 2, "threads", "", "pass 'threads' requires level 3, and @l is at level 2",
         TILE_INVALID},
        {"k", 3, 2, "threads", "threads:k ", NULL, TILE_OK},
        {NULL, 2, 3, "tensors", "", NULL, TILE_OK},
        {"k", 2, 3, "tensors", "", "pass 'tensors' runs on computes, and @k is a kernel",
         TILE_INVALID},
        {"k", 99, 2, "tiles", "", "@k is at level 99", TILE_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const level_case *c = &cases[i];
        pass_fixture x;
        fixture_open(&x);
        tile_function_set_level(x.kernel, c->k);
        tile_function_set_level(add_kernel(x.module, "l"), c->l);
        *trace = 0;
        tile_pass_options options = {.size = sizeof options, .kernel = c->kernel};
        cr_expect_eq(tile_run_passes_of(&level_table, x.module, c->pipeline, &options), c->status,
                     "case %zu: %s", i, x.messages);
        cr_expect_str_eq(trace, c->trace, "case %zu: %s", i, trace);
        if (c->message == past)
            cr_expect_str_eq(x.messages, past, "case %zu: %s", i, x.messages);
        else if (c->message)
            cr_expect(strstr(x.messages, c->message), "case %zu: %s", i, x.messages);
        else
            cr_expect_str_eq(x.messages, "", "case %zu: %s", i, x.messages);
        fixture_close(&x);
    }
}

/* Every property has a pass that establishes it, and no row contradicts itself. */
Test(pass_table, contracts_can_be_met) {
    unsigned given = 0;
    for (unsigned i = 0; i < tile_all_passes.count; i++) given |= tile_all_passes.rows[i].gives;
    cr_expect_eq(given, (1u << TILE_PROPERTY_COUNT) - 1, "a property that nobody establishes");
    for (unsigned i = 0; i < tile_all_passes.count; i++) {
        const tile_pass_row *row = &tile_all_passes.rows[i];
        cr_expect_eq(row->keeps & row->breaks, 0, "%s keeps what it breaks", row->info.name);
        cr_expect_eq(row->gives & row->breaks, 0, "%s breaks what it gives", row->info.name);
        cr_expect_eq(!row->run, row->info.on_module, "%s", row->info.name);
        cr_expect_eq(!row->run_module, !row->info.on_module, "%s", row->info.name);
    }
}
