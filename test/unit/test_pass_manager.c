/* The pass manager and tile_instantiate through the public interface. */
#include "test/unit/pass_fixture.h"

#include "tile/compile.h"

static const char kernel_text[] =
    "kernel @k<block: int>(%n: i32 {divisible = 8}, %o: i32, %p: ptr<i32> {divisible = 16})\n"
    "    tune block in [64, 128]  grid [1]  warps 1\n"
    "{\n"
    "  %a = add %n, 0 : i32\n"
    "  %b = add %n, 0 : i32\n"
    "  %c = add %a, %b : i32\n"
    "  st_global %c, %p[0]\n"
    "}\n";

static const char tile_text[] = "kernel @k(%n: i32 {divisible = 8}, %c: view<i32[%n]>)\n"
                                "    grid [1]  warps 1\n"
                                "{\n"
                                "  %a = mul %n, 2 : i32\n"
                                "  %b = add %a, 32 : i32\n"
                                "  %t = load %c[%b] : [32]\n"
                                "  store %t, %c[%a]\n"
                                "}\n";

typedef struct record {
    char text[1024];
    size_t length;
    double seconds;
    bool sabotage;
} record;

static void add(record *r, const char *format, const char *a, long b) {
    r->length += (size_t)snprintf(r->text + r->length, sizeof r->text - r->length, format, a, b);
}

static void before(const char *pass, const tile_function *f, bool changed, void *user) {
    record *r = user;
    cr_assert(!changed);
    add(r, "<%s", pass, 0);
    if (r->sabotage && strcmp(pass, "cse") == 0) {
        tile_op op = tile_region_at(f, f->body)->first; /* an operand that is defined later */
        tile_op_at(f, op)->operands[0] = tile_op_result(f, tile_op_at(f, op)->next, 0);
    }
}

static void after(const char *pass, const tile_function *f, bool changed, void *user) {
    (void)pass;
    (void)f;
    add(user, changed ? "+>" : ">", "", 0);
}

static void time_pass(const char *pass, double seconds, void *user) {
    (void)pass;
    cr_assert_geq(seconds, 0);
    ((record *)user)->seconds += seconds;
}

static void count(const char *pass, const char *name, long value, void *user) {
    (void)pass;
    add(user, "(%s %ld)", name, value);
}

static tile_module *parse(pass_fixture *x) {
    fixture_open(x);
    tile_module *module =
        tile_module_parse(x->context, "k.tile", kernel_text, sizeof kernel_text - 1);
    cr_assert(module, "%s", x->messages);
    return module;
}

Test(pass_manager, hooks_see_every_pass_in_order) {
    pass_fixture x;
    record r = {.length = 0};
    tile_module *module = parse(&x);
    tile_pass_options options = {.size = sizeof options,
                                 .before = before,
                                 .after = after,
                                 .report_changes = true,
                                 .hook_user = &r,
                                 .timing = time_pass,
                                 .statistic = count,
                                 .report_user = &r};
    cr_assert_eq(tile_run_passes(module, "instantiate,canonicalize,cse", &options), TILE_OK);
    cr_assert_str_eq(r.text, "<instantiate+><canonicalize(simplified 2)+><cse(removed 0)>");
    cr_assert_gt(r.seconds, 0);
    tile_module_destroy(module);
    fixture_close(&x);
}

Test(pass_manager, a_pass_that_breaks_the_ir_is_named) {
    pass_fixture x;
    record r = {.sabotage = true};
    tile_module *module = parse(&x);
    tile_pass_options options = {.size = sizeof options, .before = before, .hook_user = &r};
    cr_assert_eq(tile_run_passes(module, "canonicalize,dce", &options), TILE_OK);
    tile_module_destroy(module);
    module = tile_module_parse(x.context, "k.tile", kernel_text, sizeof kernel_text - 1);
    cr_assert_eq(tile_run_passes(module, "cse,dce", &options), TILE_FAILED);
    cr_assert(strstr(x.messages, "does not dominate this use"), "%s", x.messages);
    cr_assert(strstr(x.messages, "pass 'cse' has made @k invalid"), "%s", x.messages);
    tile_module_destroy(module);
    module = tile_module_parse(x.context, "k.tile", kernel_text, sizeof kernel_text - 1);
    options.verify_less = true;
    cr_assert_eq(tile_run_passes(module, "cse,dce", &options), TILE_FAILED);
    cr_assert(strstr(x.messages, "the passes before the end have left @k invalid"), "%s",
              x.messages);
    x.messages[0] = 0;
    tile_module_destroy(module);
    module = tile_module_parse(x.context, "k.tile", tile_text, sizeof tile_text - 1);
    cr_assert_eq(tile_run_passes(
                     module,
                     "instantiate,assign-layouts,allocate-shared,insert-barriers,cse,lower-tiles",
                     &options),
                 TILE_FAILED);
    cr_assert(strstr(x.messages, "the passes before 'lower-tiles' have left @k invalid"), "%s",
              x.messages);
    tile_module_destroy(module);
    module = tile_module_parse(x.context, "k.tile", kernel_text, sizeof kernel_text - 1);
    options.skip_verify = true;
    cr_assert_eq(tile_run_passes(module, "cse", &options), TILE_OK);
    tile_module_destroy(module);
    fixture_close(&x);
}

/* A caller that was compiled with an older header passes a smaller structure. */
Test(pass_manager, options_are_read_up_to_their_size) {
    pass_fixture x;
    tile_module *module = parse(&x);
    tile_pass_options options = {.size = offsetof(tile_pass_options, kernel), .kernel = "nobody"};
    cr_assert_eq(tile_run_passes(module, "cse", &options), TILE_OK);
    cr_assert_eq(tile_run_passes(module, "cse", NULL), TILE_OK);
    tile_module_destroy(module);
    fixture_close(&x);
}

Test(pass_manager, default_pipelines_reach_their_level) {
    pass_fixture x;
    tile_module *module = parse(&x);
    cr_assert_eq(tile_instantiate(module, "k", NULL, 0), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_run_passes(module, tile_default_pipeline(2), NULL), TILE_OK, "%s",
                 x.messages);
    cr_assert_eq(tile_run_passes(module, tile_default_pipeline(3), NULL), TILE_OK, "%s",
                 x.messages);
    tile_module_destroy(module);
    fixture_close(&x);
}

Test(pass_manager, instantiate_reports_bad_bindings) {
    pass_fixture x;
    tile_module *module = parse(&x);
    const tile_binding wrong[] = {{"blok", "128"}};
    cr_assert_eq(tile_instantiate(module, "k", wrong, 1), TILE_INVALID);
    cr_assert(strstr(x.messages, "did you mean 'block'?"), "%s", x.messages);
    cr_assert_eq(tile_instantiate(module, "nobody", NULL, 0), TILE_INVALID);
    tile_module_destroy(module);
    fixture_close(&x);
}

/* More constants than their table initially holds; the parameter makes pairs of them equal. */
Test(pass_manager, instantiate_with_many_constants, .timeout = 20) {
    pass_fixture x;
    fixture_open(&x);
    char text[16384];
    size_t length = 0;
    length += (size_t)snprintf(text, sizeof text,
                               "kernel @many<b: int = 3>(%%p: ptr<i32>) grid [1] warps 1 {\n");
    for (int i = 0; i < 200; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "  st_global b + %d, %%p[%d]\n", i, (i * 7) % 200);
    snprintf(text + length, sizeof text - length, "}\n");
    tile_module *module = tile_module_parse(x.context, "many.tile", text, strlen(text));
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_run_passes(module, "instantiate,canonicalize,cse,dce", NULL), TILE_OK);
    const tile_function *f = tile_module_find(module, "many");
    int64_t value, index, expected = 3;
    TILE_FOR_EACH_OP (f, op, f->body) {
        cr_assert(tile_value_is_int(f, tile_op_operand(f, op, 0), &value));
        cr_assert(tile_value_is_int(f, tile_op_operand(f, op, 2), &index));
        cr_assert(value == expected && index == (value - 3) * 7 % 200);
        expected++;
    }
    tile_module_destroy(module);
    fixture_close(&x);
}
