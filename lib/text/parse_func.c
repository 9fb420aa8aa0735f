/* Funcs: their headers are parsed before everything else, so that a call may precede the definition
 * and the include of its text. */
#include <string.h>

#include "lib/support/intern.h"
#include "lib/text/parse_function.h"

/* Declarations -------------------------------------------------------------------------------- */

/* A quick check: most texts have neither funcs nor includes, and are read once. */
static bool mentions(const tile_parser *p, const char *word) {
    size_t length = strlen(word);
    const char *at = p->token.text, *end = p->lexer.end;
    while (at && (at = memchr(at, *word, (size_t)(end - at)))) {
        if ((size_t)(end - at) > length && memcmp(at, word, length) == 0) return true;
        at++;
    }
    return false;
}

static void declare(tile_parser *p) {
    tile_declared_func *func = TILE_NEW(&p->arena, tile_declared_func);
    p->symbols = (tile_symbol_table){.entries = NULL};
    p->abandoned = false;
    func->start = p->token.text;
    bool ok = tile_parse_func_header(p);
    func->function = ok ? p->function : NULL;
    func->lexer = p->lexer;
    func->token = p->token;
    func->next_token = p->next;
    func->symbols = p->symbols;
    func->next = p->funcs;
    p->funcs = func;
}

static void read_token(tile_parser *p) {
    p->token = p->next;
    p->next = tile_lexer_next(&p->lexer);
}

void tile_parse_declare_text(tile_parser *p) {
    unsigned depth = 0; /* of braces */
    read_token(p);
    read_token(p);
    if (!mentions(p, "func") && !mentions(p, "include")) return;
    for (bool point = false; p->token.kind != TILE_TOKEN_END;) {
        bool func = !point && tile_parse_at_function(p) && tile_parse_at_word(p, "func");
        bool include = (!depth || p->token.loc.column == 1) && p->token.first_on_line &&
                       tile_parse_at_word(p, "include") && p->next.kind == TILE_TOKEN_TEXT;
        point = p->token.kind == TILE_TOKEN_BAD && *p->token.text == '.'; /* MLIR's func.func */
        depth += tile_parse_at(p, "{");
        depth -= depth && tile_parse_at(p, "}");
        read_token(p);
        if (func) declare(p);
        if (include) tile_parse_declare_include(p);
    }
    p->function = NULL;
}

/* Bodies -------------------------------------------------------------------------------------- */

bool tile_parse_func(tile_parser *p) {
    const tile_declared_func *func = p->funcs;
    while (func && func->start != p->token.text) func = func->next;
    if (!func) { /* the text was not searched for funcs */
        declare(p);
        func = p->funcs;
    }
    p->function = func->function;
    p->lexer = func->lexer;
    p->token = func->token;
    p->next = func->next_token;
    p->symbols = func->symbols;
    if (!p->function) return false;
    tile_module_move_last(p->function);
    return tile_parse_body(p);
}

const tile_function *tile_parse_find_func(const tile_parser *p) {
    const tile_token *token = &p->token;
    bool called =
        p->next.kind == TILE_TOKEN_PUNCT && p->next.length == 1 && strchr("(<", *p->next.text);
    if (token->kind != TILE_TOKEN_WORD || !called || !p->function ||
        tile_function_find_param(p->function, token->text, token->length))
        return NULL;
    const tile_function *found =
        tile_module_find(p->module, tile_intern_name(p->context, token->text, token->length));
    return found && found->kind == TILE_FUNC ? found : NULL;
}
