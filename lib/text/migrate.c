/* Finds renamed words in the tokens of a text.
 *
 * A name may equal an old word: %old, @old and a parameter `old` are kept. The meaning of a bare
 * word follows from its place. Old words of an attribute are also found if they reach it through
 * parameters:
 *
 *     kernel @k<how: word = old>(..)              a default
 *         tune how in [cooperative, old]          a point
 *         where how == old                        a comparison
 *     { .. pipelined (3, consumers = how) .. }    the attribute
 *     plan @p<how: word> .. launch @k<how = how>  another function's parameter
 *
 * 1. The text is split into tokens, and the place of each token is determined.
 * 2. For each attribute whose words were renamed, a fixed point finds the parameters that become
 *    it.
 * 3. Each token that is an old word in a place of the row's kind is reported. */
#include "lib/text/migrate.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/support/context.h"
#include "lib/support/text.h"
#include "tile/rename.h"

typedef struct param {
    tile_token name;
    bool is_word;
    bool becomes; /* becomes the attribute that is examined */
} param;

typedef struct function {
    size_t start; /* the token of its name */
    param *params;
    size_t count, capacity;
} function;

/* The context of a token, as token numbers: 0 for none. */
typedef struct place {
    size_t function; /* its number + 1 */
    size_t values;   /* the name before the enclosing `<..>` */
    size_t tuned;    /* the parameter of a `tune` that gets this value */
    bool in_body;
} place;

typedef struct finder {
    tile_arena *arena;
    tile_token *tokens; /* from index 1 on; index 0 is no token, the end comes last */
    place *places;
    size_t count;
    function *functions;
    size_t function_count, function_capacity;
    tile_old_word *found; /* by token */
} finder;

/* Tokens -------------------------------------------------------------------------------------- */

static const tile_token *token_at(const finder *f, size_t i) {
    return &f->tokens[i < f->count ? i : f->count - 1];
}

static bool is_text(const tile_token *token, tile_token_kind kind, const char *text) {
    return token->kind == kind && tile_text_is(text, token->text, token->length);
}

static bool is_punct(const finder *f, size_t i, const char *text) {
    return is_text(token_at(f, i), TILE_TOKEN_PUNCT, text);
}

static bool is_word(const finder *f, size_t i, const char *text) {
    const tile_token *token = token_at(f, i);
    return text ? is_text(token, TILE_TOKEN_WORD, text) : token->kind == TILE_TOKEN_WORD;
}

static bool is_equal(const tile_token *a, const tile_token *b) {
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Returns false at an invalid token, which is then the last one. */
static bool read_tokens(finder *f, const char *text, size_t length, uint32_t file) {
    tile_lexer lexer = tile_lexer_start(file, text, length);
    size_t capacity = 0;
    tile_token token = {.kind = TILE_TOKEN_END};
    do {
        f->tokens = tile_arena_grow(f->arena, f->tokens, f->count, &capacity, sizeof *f->tokens);
        f->tokens[f->count++] = token;
        token = tile_lexer_next(&lexer);
    } while (token.kind != TILE_TOKEN_END && token.kind != TILE_TOKEN_BAD);
    f->tokens = tile_arena_grow(f->arena, f->tokens, f->count, &capacity, sizeof *f->tokens);
    f->tokens[f->count++] = token;
    return token.kind == TILE_TOKEN_END;
}

/* 1. Places ----------------------------------------------------------------------------------- */

static bool begins_function(const finder *f, size_t i) {
    const char *kind;
    bool found = false;
    for (unsigned k = 0; (kind = tile_function_kind_name((tile_function_kind)k)); k++)
        found |= is_word(f, i, kind);
    return found && token_at(f, i + 1)->kind == TILE_TOKEN_SYMBOL;
}

static void add_function(finder *f, size_t start) {
    f->functions = tile_arena_grow(f->arena, f->functions, f->function_count, &f->function_capacity,
                                   sizeof *f->functions);
    f->functions[f->function_count++] = (function){.start = start};
}

static function *function_of(const finder *f, size_t i) {
    size_t number = f->places[i].function;
    return number ? &f->functions[number - 1] : NULL;
}

static param *find_param(const function *g, const tile_token *name) {
    for (size_t i = 0; g && i < g->count; i++)
        if (is_equal(&g->params[i].name, name)) return &g->params[i];
    return NULL;
}

/* Returns whether the token is in the function's own `<..>`. */
static bool is_declared(const finder *f, size_t i) {
    const function *g = function_of(f, i);
    return g && f->places[i].values == g->start;
}

static void note_param(finder *f, size_t i) {
    function *g = function_of(f, i);
    if (!is_declared(f, i) || !is_word(f, i, NULL) || !is_punct(f, i + 1, ":")) return;
    g->params = tile_arena_grow(f->arena, g->params, g->count, &g->capacity, sizeof *g->params);
    g->params[g->count++] = (param){.name = *token_at(f, i), .is_word = is_word(f, i + 2, "word")};
}

/* `tune NAME in [..]`, `tune (NAME, ..) in [(..), ..]`, from `tune` on: records the parameter that
 * gets each token as its value. */
static void place_points(finder *f, size_t i) {
    size_t names = i + 1, at = names, depth = 0, number = 0;
    bool several = is_punct(f, names, "(");
    while (at < f->count && !is_word(f, at, "in") && !is_punct(f, at, "{")) at++;
    if (!is_word(f, at, "in") || !is_punct(f, at + 1, "[")) return;
    for (at += 2; at < f->count - 1 && (depth || !is_punct(f, at, "]")); at++) {
        if (is_punct(f, at, "(") && depth++ == 0) number = 0;
        if (is_punct(f, at, ")") && depth) depth--;
        number += depth == 1 && is_punct(f, at, ",");
        f->places[at].tuned = several ? names + 1 + 2 * number : names;
    }
}

typedef struct nesting {
    size_t parens, braces; /* numbers of open ones */
    size_t values, parens_before;
    bool in_body;
} nesting;

static void follow_brackets(const finder *f, size_t i, nesting *n) {
    n->parens += is_punct(f, i, "(");
    n->parens -= is_punct(f, i, ")") && n->parens;
    n->in_body |= is_punct(f, i, "{") && !n->parens;
    if (token_at(f, i - 1)->kind == TILE_TOKEN_SYMBOL && is_punct(f, i, "<")) {
        n->values = i - 1;
        n->parens_before = n->parens;
    } else if (is_punct(f, i, ">") && n->parens == n->parens_before) {
        n->values = 0;
    }
}

static void find_places(finder *f) {
    nesting n = {0};
    f->places = TILE_NEW_ARRAY(f->arena, place, f->count);
    for (size_t i = 1; i + 1 < f->count; i++) {
        if (begins_function(f, i)) {
            add_function(f, i + 1);
            n = (nesting){0};
        }
        follow_brackets(f, i, &n);
        f->places[i].function = f->function_count;
        f->places[i].values = n.values;
        f->places[i].in_body = n.in_body;
        note_param(f, i);
        if (is_word(f, i, "tune") && !n.in_body && !n.values) place_points(f, i);
    }
}

/* 2. Parameters that become an attribute ------------------------------------------------------ */

/* The parameter of the function to which the `<..>` around the token gives a value. */
static param *given_param(const finder *f, size_t i, const tile_token *name) {
    const tile_token *callee = token_at(f, f->places[i].values);
    for (size_t k = 0; k < f->function_count; k++)
        if (is_equal(token_at(f, f->functions[k].start), callee))
            return find_param(&f->functions[k], name);
    return NULL;
}

/* Returns whether the token, which follows NAME =, becomes the attribute. */
static bool is_given(const finder *f, size_t i, const char *attribute) {
    const param *to = f->places[i].values ? given_param(f, i, token_at(f, i - 2)) : NULL;
    return f->places[i].values ? to && to->becomes : is_word(f, i - 2, attribute);
}

static bool follows_name(const finder *f, size_t i) {
    return i > 2 && is_punct(f, i - 1, "=") && is_word(f, i - 2, NULL);
}

static void find_params(finder *f, const char *attribute) {
    bool changed = true;
    for (size_t k = 0; k < f->function_count; k++)
        for (size_t p = 0; p < f->functions[k].count; p++)
            f->functions[k].params[p].becomes = false;
    while (changed) {
        changed = false;
        for (size_t i = 1; i + 1 < f->count; i++) {
            if (!follows_name(f, i) || is_declared(f, i)) continue;
            param *from = find_param(function_of(f, i), token_at(f, i));
            if (!from || !from->is_word || from->becomes || !is_given(f, i, attribute)) continue;
            from->becomes = changed = true;
        }
    }
}

/* 3. Old words -------------------------------------------------------------------------------- */

static bool becomes(const finder *f, size_t i, size_t name) {
    const param *p = find_param(function_of(f, i), token_at(f, name));
    return p && p->becomes;
}

static bool is_compared(const finder *f, size_t i) {
    return is_punct(f, i - 1, "==") || is_punct(f, i - 1, "!=");
}

static bool is_old_value(const finder *f, size_t i, const char *attribute) {
    const param *own = find_param(function_of(f, i), token_at(f, i));
    if (f->places[i].tuned) return becomes(f, i, f->places[i].tuned);
    if (is_declared(f, i))
        return i > 4 && is_punct(f, i - 1, "=") && is_word(f, i - 2, "word") &&
               becomes(f, i, i - 4);
    if (own && own->is_word) return false;
    if (is_compared(f, i)) return becomes(f, i, i - 2);
    return follows_name(f, i) && is_given(f, i, attribute);
}

/* Returns whether the token is a bare word in a function that is neither a name nor a value. */
static bool is_free(const finder *f, size_t i) {
    const function *g = function_of(f, i);
    return g && !find_param(g, token_at(f, i)) && !f->places[i].values && !f->places[i].tuned &&
           !follows_name(f, i) && !is_compared(f, i) && !is_punct(f, i + 1, ":");
}

static bool is_old_attribute(const finder *f, size_t i) {
    bool listed = is_punct(f, i - 1, "{") || is_punct(f, i - 1, ",");
    return is_free(f, i) && (f->places[i].in_body || listed);
}

static bool is_old_operation(const finder *f, size_t i) {
    return is_free(f, i) && f->places[i].in_body && !is_punct(f, i + 1, "=") &&
           !is_punct(f, i + 1, ",");
}

/* Returns whether the token is in a function's clauses, after this clause. */
static bool is_old_clause(const finder *f, size_t i, const char *clause) {
    const function *g = function_of(f, i);
    bool found = false;
    if (!g || f->places[i].values || f->places[i].tuned || f->places[i].in_body) return false;
    for (size_t k = g->start; k < i; k++) found |= is_word(f, k, clause);
    return found;
}

static bool is_old(const finder *f, size_t i, const tile_rename *row) {
    switch (row->kind) {
    case TILE_RENAMED_word: return is_old_value(f, i, row->where);
    case TILE_RENAMED_attribute: return is_old_attribute(f, i);
    case TILE_RENAMED_operation: return is_old_operation(f, i);
    case TILE_RENAMED_clause: return is_old_clause(f, i, row->where);
    case TILE_RENAMED_pass:
    case TILE_RENAMED_identifier: break;
    }
    return false;
}

/* Records each of the row's words that changes, if all of them are present. */
static void take_words(finder *f, size_t i, const tile_rename *row) {
    const char *old = row->old, *now = row->now;
    size_t length, count = 0, next;
    for (; (length = tile_rename_next_word(&old)); old += length, count++) {
        const tile_token *token = token_at(f, i + count);
        if (token->kind != TILE_TOKEN_WORD || token->length != length ||
            memcmp(token->text, old, length) != 0)
            return;
    }
    if (!is_old(f, i, row)) return;
    for (; count-- && (next = tile_rename_next_word(&now)); now += next, i++) {
        const tile_token *token = token_at(f, i);
        if (next == token->length && memcmp(now, token->text, next) == 0) continue;
        f->found[i] = (tile_old_word){*token, row, now, next};
    }
}

tile_old_words tile_find_old_words(const char *text, size_t length, uint32_t file,
                                   tile_arena *arena) {
    finder f = {.arena = arena};
    const tile_rename *row;
    if (!read_tokens(&f, text, length, file)) return (tile_old_words){.bad = f.tokens[f.count - 1]};
    find_places(&f);
    f.found = TILE_NEW_ARRAY(arena, tile_old_word, f.count);
    for (unsigned r = 0; (row = tile_rename_at(r)); r++) {
        if (!row->now || !tile_rename_is_in_text(row->kind)) continue;
        if (row->kind == TILE_RENAMED_word) find_params(&f, row->where);
        for (size_t i = 1; i + 1 < f.count; i++) take_words(&f, i, row);
    }
    size_t found = 0;
    for (size_t i = 0; i < f.count; i++)
        if (f.found[i].row) f.found[found++] = f.found[i];
    return (tile_old_words){.words = f.found, .count = found};
}

tile_status tile_migrate(tile_context *context, const char *name, const char *text, size_t length,
                         tile_writer writer, void *user) {
    TILE_GUARD_OUTSIDE(context, TILE_INVALID)
    if (!context || !writer) return TILE_INVALID;
    length = text ? length : 0;
    uint32_t file = tile_context_add_source(context, name, text, length);
    const char *at = context->sources[file].text, *end = at + length;
    tile_arena arena = {0};
    tile_old_words old = tile_find_old_words(at, length, file, &arena);
    bool ok = old.bad.kind != TILE_TOKEN_BAD;
    for (size_t i = 0; i < old.count; i++) {
        const tile_old_word *word = &old.words[i];
        writer(at, (size_t)(word->token.text - at), user);
        writer(word->now, word->length, user);
        at = word->token.text + word->token.length;
    }
    if (ok)
        writer(at, (size_t)(end - at), user);
    else
        tile_report(context, TILE_ERROR, old.bad.loc, "%s", old.bad.problem);
    tile_arena_reset(&arena);
    return ok ? TILE_OK : TILE_INVALID;
}
