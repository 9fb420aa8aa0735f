/* Attributes that passes write for other passes: the columns of attrs.def, and a violation of each
 * rule. */
#include "test/unit/pass_fixture.h"

#include "passes/attribute_contract.h"

static const char served_text[] = "kernel @k(%n: i32)\n"
                                  "    grid [1]  warps 1\n"
                                  "{\n"
                                  "  for %i = 0 to %n producer_fed ordered_issue {\n"
                                  "  }\n"
                                  "}\n";

static tile_status nothing(tile_pass *pass, tile_function *f) {
    (void)pass;
    (void)f;
    return TILE_OK;
}

/* Passes with names of the table that do nothing here. */
#define ROW(word, levels) \
    { {.name = word, .level_in = levels, .level_out = levels, .options = ""}, .run = nothing }
static const tile_pass_row rows[] = {
    ROW("specialize-warps", TILE_LEVELS_L2),
    ROW("pipeline-dots", TILE_LEVELS_L2),
    ROW("prefetch", TILE_LEVELS_L2),
    ROW("dce", TILE_LEVELS_L23),
};
static const tile_pass_table idle_passes = {rows, sizeof rows / sizeof *rows};

/* True if the word is a pass of passes.def. */
static bool is_pass(const char *word, size_t length) {
    const tile_pass_info *info;
    for (unsigned i = 0; (info = tile_pass_at(i)); i++)
        if (strlen(info->name) == length && memcmp(info->name, word, length) == 0) return true;
    return false;
}

static bool is_word(const char *at, size_t length, const char *word) {
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

/* Counts the names in a column. Each must be a pass or one of two other words. */
static unsigned count_names(const char *attr, const char *names, const char *other,
                            const char *mark) {
    unsigned count = 0;
    for (const char *at = names; *at; count++) {
        if (strncmp(at, mark, strlen(mark)) == 0) at += strlen(mark);
        size_t length = strcspn(at, " ");
        cr_expect(is_pass(at, length) || is_word(at, length, "any") || is_word(at, length, other),
                  "%s: there is no pass '%.*s'", attr, (int)length, at);
        at += length + strspn(at + length, " ");
    }
    return count;
}

Test(attribute_contract, columns_name_passes) {
    for (unsigned id = 1; id < TILE_ATTR_LIMIT; id++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)id);
        if (!info->name) continue;
        cr_expect_gt(count_names(info->name, info->by, "user", "late:"), 0, "%s", info->name);
        count_names(info->name, info->read_by, "", "early:");
        cr_expect(strcmp(info->until, "end") == 0 || is_pass(info->until, strlen(info->until)),
                  "%s: until '%s'", info->name, info->until);
    }
}

/* Only attributes that users may write and that stay until the end may use `any`, so that it cannot
 * bypass the contract. */
Test(attribute_contract, messages_between_passes_name_both_ends) {
    unsigned messages = 0;
    for (unsigned id = 1; id < TILE_ATTR_LIMIT; id++) {
        const tile_attr_info *info = tile_attr_get_info((tile_attr_id)id);
        if (!info->name) continue;
        bool any = tile_attr_used_by(info->by, "any") || tile_attr_used_by(info->read_by, "any");
        bool user = tile_attr_used_by(info->by, "user");
        messages += !user;
        cr_expect(!any || (user && strcmp(info->until, "end") == 0), "%s", info->name);
    }
    cr_expect_geq(messages, 4);
}

/* Includes the location, unlike the fixture. */
static void note(const tile_diagnostic *d, void *user) {
    pass_fixture *x = user;
    size_t length = strlen(x->messages);
    snprintf(x->messages + length, sizeof x->messages - length, "%s:%u:%u: %s\n", d->file, d->line,
             d->column, d->message);
}

static void check(const tile_pass_table *table, const char *text, const char *pipeline, bool less,
                  tile_status status, const char *message) {
    pass_fixture x;
    fixture_open(&x);
    tile_context_set_sink(x.context, note, &x);
    tile_module *module = tile_module_parse(x.context, "k.tile", text, strlen(text));
    cr_assert(module, "%s", x.messages);
    tile_pass_options options = {.size = sizeof options, .verify_less = less};
    cr_expect_eq(tile_run_passes_of(table, module, pipeline, &options), status, "%s: %s", pipeline,
                 x.messages);
    if (message)
        cr_expect(strstr(x.messages, message), "%s: %s", pipeline, x.messages);
    else
        cr_expect_str_eq(x.messages, "", "%s", pipeline);
    tile_module_destroy(module);
    fixture_close(&x);
}

static const char plain_text[] = "kernel @k(%n: i32)\n"
                                 "    grid [1]  warps 1\n"
                                 "{\n"
                                 "}\n";

Test(attribute_contract, a_reader_comes_after_the_writers) {
    const tile_pass_table *all = &tile_all_passes;
    check(all, plain_text, "specialize-warps,pipeline-dots", false, TILE_OK, NULL);
    check(all, plain_text, "pipeline-dots", false, TILE_OK,
          NULL); /* the attribute may come from the input text */
    check(all, plain_text, "pipeline-dots,specialize-warps", false, TILE_INVALID,
          "pipeline:1:1: pass 'pipeline-dots' reads the attribute 'producer_fed', which "
          "'specialize-warps' writes after it: move 'specialize-warps' before 'pipeline-dots'");
    check(all, plain_text, "specialize-warps,pipeline-dots,specialize-warps", false, TILE_OK, NULL);
    /* A pass may read attributes that it writes itself, or that users wrote. */
    check(all, plain_text, "choose-instructions,expand-dots,specialize-warps", false, TILE_OK,
          NULL);
    check(all, plain_text, tile_default_pipeline(3), false, TILE_OK, NULL);
}

Test(attribute_contract, a_text_has_nothing_that_is_still_to_be_written) {
    check(&tile_all_passes, served_text, "dce,specialize-warps,pipeline-dots", false, TILE_INVALID,
          "k.tile:4:3: for: 'producer_fed' is set by the pass 'specialize-warps', which runs "
          "later; leave it out");
    check(&tile_all_passes, served_text, "pipeline-dots", false, TILE_OK, NULL);
    check(&tile_all_passes, served_text, "dce", false, TILE_OK, NULL);
}

Test(attribute_contract, nothing_is_left_after_its_last_pass) {
    const char *left = "k.tile:4:3: for: the attribute 'producer_fed' is left over: the pass "
                       "'pipeline-dots' must remove it";
    check(&idle_passes, served_text, "prefetch,pipeline-dots", false, TILE_FAILED, left);
    check(&idle_passes, served_text, "pipeline-dots", false, TILE_FAILED,
          "pass 'pipeline-dots' has made @k invalid");
    check(&idle_passes, served_text, "pipeline-dots,dce", true, TILE_FAILED, left);
    check(&idle_passes, served_text, "prefetch,dce", false, TILE_OK, NULL);
}
