/* `include "NAME"`: the resolver of the parser's options finds a text, which is parsed in place of
 * the line. All texts of a module share one name space, and the order of includes and definitions
 * does not matter: the funcs of all texts are declared before the first text is parsed.
 *
 * The resolver owns what it finds until `release` is called. In between only copy_found allocates,
 * in a guard of its own, so that a lack of memory does not skip `release`. */
#include <string.h>

#include "lib/support/context.h"
#include "lib/text/parser.h"
#include "tile/limits.h"

/* What the parser keeps of what the resolver found. All memory is the context's. */
typedef struct found_text {
    const char *identity, *problem;
    uint32_t file;
} found_text;

/* What follows an `include` that fails would refer to names that are missing. Returns false. */
static bool stop(tile_parser *p) {
    p->stopped = true;
    p->token.kind = p->next.kind = TILE_TOKEN_END;
    return false;
}

/* Reports that an `include` fails, and stops. Returns false. */
static bool fail(tile_parser *p, tile_loc loc, const char *format, ...) TILE_PRINTF(3, 4);
static bool fail(tile_parser *p, tile_loc loc, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tile_parse_error(p, loc, "%s", tile_arena_vformat(&p->arena, format, args));
    va_end(args);
    return stop(p);
}

/* An `include` whose text is known. */
struct tile_parsed_include {
    struct tile_parsed_include *next;
    const char *start; /* the token of the text's name */
    tile_parsed_text *text;
};

/* Calls `step` with the parser before the first token of the text, and returns to the place before.
 */
static void visit(tile_parser *p, tile_parsed_text *text, void (*step)(tile_parser *)) {
    const tile_lexer lexer = p->lexer;
    const tile_token token = p->token, next = p->next;
    const tile_source *source = &p->context->sources[text->file];
    tile_parsed_text *current = p->text;
    bool was_open = text->is_open;
    text->is_open = true;
    p->text = text;
    p->lexer = tile_lexer_start(text->file, source->text, source->length);
    step(p);
    text->is_open = was_open;
    p->text = current;
    p->lexer = lexer;
    p->token = token;
    p->next = next;
    if (p->stopped) stop(p);
}

/* Declares the funcs of a new text, and of those that it includes. */
static tile_parsed_text *add_text(tile_parser *p, const char *identity, uint32_t file) {
    tile_parsed_text *text = TILE_NEW(&p->arena, tile_parsed_text);
    *text = (tile_parsed_text){.next = p->texts,
                               .outer = p->text,
                               .identity = identity,
                               .name = p->context->sources[file].name,
                               .file = file,
                               .depth = p->text ? p->text->depth + 1 : 0};
    p->texts = text;
    visit(p, text, tile_parse_declare_text);
    return text;
}

static void parse_once(tile_parser *p, tile_parsed_text *text) {
    if (text->is_parsed || p->stopped) return;
    text->is_parsed = true;
    visit(p, text, tile_parse_text);
}

void tile_parse_source(tile_parser *p, const char *identity, uint32_t file) {
    parse_once(p, add_text(p, identity, file));
}

/* Finding the text ---------------------------------------------------------------------------- */

static tile_parsed_text *find_parsed(const tile_parser *p, const char *identity) {
    tile_parsed_text *text = p->texts;
    while (text && strcmp(text->identity, identity) != 0) text = text->next;
    return text;
}

/* Copies what was found. A text with a problem is not copied. */
static bool copy_found(tile_context *context, const tile_included *found, const char *identity,
                       bool with_text, tile_loc loc, found_text *to) {
    TILE_GUARD(context, false)
    to->identity = tile_arena_string(&context->arena, identity, strlen(identity));
    if (found->problem)
        to->problem = tile_arena_string(&context->arena, found->problem, strlen(found->problem));
    if (!with_text) return true;
    to->file = tile_context_add_source(context, found->name ? found->name : identity, found->text,
                                       found->length);
    context->sources[to->file].included_at = loc;
    return true;
}

/* Returns why the text cannot be included; NULL: it can. */
static const char *find_problem(const tile_parser *p, const tile_included *found) {
    _Static_assert(TILE_MAX_INCLUDED_BYTES == 16777216, "the text states this limit");
    if (found->length > TILE_MAX_INCLUDED_BYTES - p->included_bytes)
        return "all included texts together have more than 16777216 bytes; include fewer or "
               "smaller ones";
    if (found->text && memchr(found->text, 0, found->length))
        return "it has a zero byte, so it is not the text of a program";
    return NULL;
}

/* Calls the resolver. Sets *parsed if the module has the text already, and *to otherwise. */
static bool find_text(tile_parser *p, tile_loc loc, const char *spelling, tile_parsed_text **parsed,
                      found_text *to) {
    const tile_parse_options *options = &p->options;
    const tile_include include = {.spelling = spelling, .from = p->text->name};
    tile_included found = {0};
    tile_status status = options->resolve(&include, &found, options->user);
    const char *identity = found.identity ? found.identity : spelling;
    if (!found.text) found.length = 0;
    *parsed = status == TILE_OK ? find_parsed(p, identity) : NULL;
    if (status != TILE_OK && !found.problem)
        found.problem = tile_status_name(status);
    else if (status == TILE_OK)
        found.problem = *parsed ? NULL : find_problem(p, &found);
    bool new_text = !*parsed && !found.problem;
    bool ok = copy_found(p->context, &found, identity, new_text, loc, to);
    if (new_text) p->included_bytes += found.length;
    if (options->release) options->release(&found, options->user);
    return ok && (!to->problem || fail(p, loc, "cannot include \"%s\": %s", spelling, to->problem));
}

/* Checks and limits ---------------------------------------------------------------------------- */

static bool check_spelling(tile_parser *p, tile_loc loc, const char *spelling) {
    if (!*spelling) return fail(p, loc, "this include names no text; write include \"FILE\"");
    for (const char *at = spelling; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return fail(p, loc,
                        "the name of an included text has a control character; write it "
                        "with printable characters");
    return true;
}

static bool check_limits(tile_parser *p, tile_loc loc, const char *spelling) {
    if (!p->options.resolve)
        return fail(p, loc,
                    "cannot include \"%s\": no resolver is set, so a text reads no others; copy "
                    "the other text here, or set tile_parse_options.resolve",
                    spelling);
    if (p->include_count == TILE_MAX_INCLUDES)
        return fail(p, loc,
                    "a program has at most %d includes, and this is one more; merge some "
                    "of the included texts",
                    TILE_MAX_INCLUDES);
    if (p->text->depth == TILE_MAX_INCLUDE_DEPTH)
        return fail(p, loc,
                    "includes are nested at most %d deep, and this one is deeper; include "
                    "the text from an outer one",
                    TILE_MAX_INCLUDE_DEPTH);
    p->include_count++;
    return true;
}

/* Writes `a.tile includes b.tile includes `, from the outermost text on. */
static void write_chain(const tile_parsed_text *text, const tile_parsed_text *first,
                        tile_text *to) {
    if (text != first) write_chain(text->outer, first, to);
    tile_text_format(to, "%s includes ", text->name);
}

static bool refuse_cycle(tile_parser *p, tile_loc loc, const tile_parsed_text *first) {
    tile_text chain = {.arena = &p->arena};
    write_chain(p->text, first, &chain);
    return fail(p, loc, "%s includes itself: %.*s%s; remove one of these includes", first->name,
                (int)chain.length, chain.data, first->name);
}

bool tile_parse_declare_include(tile_parser *p) {
    found_text found = {.file = 0};
    struct tile_parsed_include *include = TILE_NEW(&p->arena, struct tile_parsed_include);
    tile_loc loc = p->token.loc;
    include->start = p->token.text;
    const char *spelling =
        tile_parse_quoted(p, "the name of a text in quotation marks, as in include \"FILE\"");
    if (!spelling || !check_spelling(p, loc, spelling) || !check_limits(p, loc, spelling) ||
        !find_text(p, loc, spelling, &include->text, &found))
        return stop(p);
    if (!include->text)
        include->text = add_text(p, found.identity, found.file);
    else if (include->text->is_open)
        return refuse_cycle(p, loc, include->text);
    include->next = p->includes;
    p->includes = include;
    return !p->stopped;
}

bool tile_parse_include(tile_parser *p) {
    tile_parse_advance(p);
    const struct tile_parsed_include *include = p->includes;
    while (include && include->start != p->token.text) include = include->next;
    if (include)
        tile_parse_advance(p);
    else if (!tile_parse_declare_include(p)) /* after an error that hides it */
        return false;
    parse_once(p, include ? include->text : p->includes->text);
    return true;
}
