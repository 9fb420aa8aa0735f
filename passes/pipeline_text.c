/* Parses the text of a pipeline and checks the order of its passes. */
#include "passes/pipeline_text.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "lib/ir/renames.h"
#include "lib/support/guess.h"
#include "passes/attribute_contract.h"

/* Property sets of passes.def. */
enum {
    NOTHING = 0,
#define PROPERTY(name, meaning) name = TILE_PROPERTY_##name,
#include "passes/properties.def"
#undef PROPERTY
    KEEPS_ALL = (1 << TILE_PROPERTY_COUNT) - 1,
};

#define SCOPE_function false
#define SCOPE_module true
#define RUN_function(name) name, NULL
#define RUN_module(name) NULL, name
#define WORDS(set) (set) ? #set : ""

static const tile_pass_row rows[] = {
#define PASS(name, run, scope, level_in, level_out, options, needs, gives, keeps, breaks, meaning) \
    {{name, TILE_LEVELS_##level_in, TILE_LEVELS_##level_out, WORDS(needs), meaning, options, \
      WORDS(gives), WORDS(keeps), WORDS(breaks), SCOPE_##scope}, \
     RUN_##scope(run), \
     needs, \
     gives, \
     keeps, \
     breaks},
#include "passes/passes.def"
#undef PASS
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };
static_assert(ROW_COUNT <= 64, "a set of passes fits one word");

const tile_pass_table tile_all_passes = {rows, ROW_COUNT};

const tile_pass_info *tile_pass_at(unsigned index) {
    return index < ROW_COUNT ? &rows[index].info : NULL;
}

bool tile_pipeline_error(tile_pipeline *pipeline, tile_loc loc, const char *format, ...) {
    tile_arena scratch = {0};
    va_list args;
    va_start(args, format);
    char *message = tile_arena_vformat(&scratch, format, args);
    va_end(args);
    /* The source is registered only on an error, so valid pipelines add nothing to the context. */
    loc.file = tile_context_add_source(pipeline->context, "pipeline", pipeline->text,
                                       strlen(pipeline->text));
    tile_report(pipeline->context, TILE_ERROR, loc, "%s", message);
    tile_arena_reset(&scratch);
    return false;
}

/* Reading ------------------------------------------------------------------------------------ */

typedef struct reader {
    tile_pipeline *pipeline;
    tile_arena *arena;
    const char *at;
} reader;

static tile_loc place_of(const reader *r, const char *at) {
    uint32_t line = 1, column = 1;
    for (const char *c = r->pipeline->text; c < at; c++) {
        column = *c == '\n' ? 1 : column + 1;
        line += *c == '\n';
    }
    return (tile_loc){.line = line, .column = column};
}

static void skip_blanks(reader *r) {
    while (isspace((unsigned char)*r->at)) r->at++;
}

/* Reads up to a blank or one of the separators. */
static const char *read_word(reader *r, const char *separators) {
    const char *start = r->at;
    while (*r->at && !isspace((unsigned char)*r->at) && !strchr(separators, *r->at)) r->at++;
    return tile_arena_string(r->arena, start, (size_t)(r->at - start));
}

static const tile_pass_row *find_row(const tile_pass_table *passes, const char *name) {
    for (unsigned i = 0; i < passes->count; i++)
        if (strcmp(passes->rows[i].info.name, name) == 0) return &passes->rows[i];
    return NULL;
}

static bool fail_unknown(reader *r, tile_loc loc, const char *name) {
    const tile_pass_table *passes = r->pipeline->passes;
    const tile_rename *row = tile_rename_find(TILE_RENAMED_pass, "", name, strlen(name));
    if (row) return tile_pipeline_error(r->pipeline, loc, "%s", tile_rename_message(row, r->arena));
    tile_guess guess = tile_guess_start(name, strlen(name));
    for (unsigned i = 0; i < passes->count; i++) tile_guess_try(&guess, passes->rows[i].info.name);
    return tile_pipeline_error(r->pipeline, loc, "there is no pass '%s'%s", name,
                               tile_guess_phrase(&guess, "", r->arena));
}

static bool read_options(reader *r, tile_pipeline_step *step) {
    size_t count = 0, capacity = 0;
    const char *open = r->at++;
    for (;;) {
        while (*r->at == ',' || isspace((unsigned char)*r->at)) r->at++;
        if (*r->at == '}') break;
        const char *start = r->at;
        const char *key = read_word(r, ",=}"), *value = "";
        if (*r->at == '=') {
            r->at++;
            value = read_word(r, ",}");
        }
        if (!*key && *r->at)
            return tile_pipeline_error(r->pipeline, place_of(r, start), "an option needs a name");
        if (!*r->at)
            return tile_pipeline_error(r->pipeline, place_of(r, open), "this '{' is never closed");
        step->options =
            tile_arena_grow(r->arena, step->options, count, &capacity, sizeof *step->options);
        step->options[count++] = (tile_pass_option){key, value};
    }
    r->at++;
    step->option_count = (unsigned)count;
    return true;
}

/* Accepts the options that a row names. A pass with "*" checks its own options. */
static bool check_option(reader *r, const tile_pipeline_step *step, const char *key) {
    const char *known = step->row->info.options;
    tile_guess guess = tile_guess_start(key, strlen(key));
    for (const char *at = known; *at;) {
        size_t length = strcspn(at, " ");
        const char *name = tile_arena_string(r->arena, at, length);
        if (strcmp(name, key) == 0 || strcmp(name, "*") == 0) return true;
        tile_guess_try(&guess, name);
        at += length + strspn(at + length, " ");
    }
    return tile_pipeline_error(r->pipeline, step->loc, "pass '%s' has no option '%s'%s",
                               step->row->info.name, key, tile_guess_phrase(&guess, "", r->arena));
}

static bool read_step(reader *r) {
    tile_pipeline *p = r->pipeline;
    tile_pipeline_step step = {.loc = place_of(r, r->at)};
    const char *name = read_word(r, ",{}=");
    if (!*name) return tile_pipeline_error(p, step.loc, "a pass is expected here");
    step.row = find_row(p->passes, name);
    if (!step.row) return fail_unknown(r, step.loc, name);
    if (*r->at == '{' && !read_options(r, &step)) return false;
    for (unsigned i = 0; i < step.option_count; i++)
        if (!check_option(r, &step, step.options[i].key)) return false;
    p->steps = tile_arena_grow(r->arena, p->steps, p->count, &p->capacity, sizeof *p->steps);
    p->steps[p->count++] = step;
    skip_blanks(r);
    if (*r->at && *r->at != ',')
        return tile_pipeline_error(p, place_of(r, r->at), "passes are separated by ','");
    return true;
}

/* Order -------------------------------------------------------------------------------------- */

/* What is known of each property at one point of the pipeline. The input may be the output of any
 * passes, so a property is missing only after a pass breaks it. */
typedef struct progress {
    bool holds;
    const tile_pass_row *undone_by;
} progress;

/* Returns the pass that establishes the property: diagnostics name passes, not properties. */
static const char *pass_for(const tile_pipeline *p, unsigned property) {
    static const char *const names[] = {
#define PROPERTY(name, meaning) #name,
#include "passes/properties.def"
#undef PROPERTY
    };
    for (unsigned i = 0; i < p->passes->count; i++)
        if (p->passes->rows[i].gives >> property & 1) return p->passes->rows[i].info.name;
    return names[property];
}

static bool check_needs(tile_pipeline *p, size_t at, const progress *state) {
    const tile_pipeline_step *step = &p->steps[at];
    for (unsigned i = 0; i < TILE_PROPERTY_COUNT; i++) {
        if (!(step->row->needs >> i & 1)) continue;
        if (state[i].undone_by)
            return tile_pipeline_error(
                p, step->loc, "pass '%s' requires '%s', which '%s' has invalidated",
                step->row->info.name, pass_for(p, i), state[i].undone_by->info.name);
        for (size_t later = at + 1; !state[i].holds && later < p->count; later++)
            if (p->steps[later].row->gives >> i & 1)
                return tile_pipeline_error(p, step->loc,
                                           "pass '%s' needs '%s' before it, not after it",
                                           step->row->info.name, p->steps[later].row->info.name);
    }
    return true;
}

static void record(progress *state, const tile_pass_row *row) {
    for (unsigned i = 0; i < TILE_PROPERTY_COUNT; i++) {
        bool lost = row->breaks >> i & 1 || (state[i].holds && !(row->keeps >> i & 1));
        if (row->gives >> i & 1)
            state[i] = (progress){.holds = true};
        else if (lost)
            state[i] = (progress){.undone_by = row};
    }
}

static bool check_order(tile_pipeline *p) {
    progress state[TILE_PROPERTY_COUNT] = {{false, NULL}};
    const tile_pass_row *raised = NULL; /* the pass that raised functions above level 2 */
    for (size_t i = 0; i < p->count; i++) {
        const tile_pass_row *row = p->steps[i].row;
        if (raised && !(row->info.level_in & TILE_LEVEL_3))
            return tile_pipeline_error(
                p, p->steps[i].loc,
                "pass '%s' requires level 2, and '%s' before it lowers to level 3", row->info.name,
                raised->info.name);
        if (!check_needs(p, i, state)) return false;
        record(state, row);
        if (row->info.level_out == TILE_LEVEL_3) raised = row;
    }
    return true;
}

bool tile_pipeline_parse(tile_context *context, const tile_pass_table *passes, const char *text,
                         tile_arena *arena, tile_pipeline *pipeline) {
    *pipeline = (tile_pipeline){.context = context, .passes = passes, .text = text};
    reader r = {.pipeline = pipeline, .arena = arena, .at = text};
    skip_blanks(&r);
    if (!*r.at) return true;
    for (;;) {
        if (!read_step(&r)) return false;
        if (!*r.at) {
            tile_contract_resolve(pipeline, arena);
            return check_order(pipeline) && tile_contract_check_order(pipeline);
        }
        r.at++;
        skip_blanks(&r);
    }
}
