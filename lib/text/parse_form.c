/* The form of an operation: operands in parentheses or not, and the place of its attributes. This
 * file looks ahead to tell the forms apart, and reports those that the language does not have, also
 * of arguments. */
#include <string.h>

#include "lib/ops/kinds.h"
#include "lib/support/intern.h"
#include "lib/text/parser.h"

enum { MAX_QUOTED = 80 }; /* bytes of the program that a message repeats */

/* The parentheses that follow an operation's name. */
typedef struct parentheses {
    bool is_list; /* a comma separates what they contain */
    bool is_empty;
    const char *begin, *end; /* what they contain */
    tile_token first;
    tile_token after;
} parentheses;

static bool is_mark(const tile_token *token, const char *marks) {
    return token->kind == TILE_TOKEN_PUNCT && token->length == 1 && strchr(marks, *token->text);
}

/* The next token is `(`. */
static parentheses look_ahead(const tile_parser *p) {
    tile_lexer lexer = p->lexer;
    parentheses found = {.is_empty = true, .begin = p->next.text + 1};
    for (unsigned depth = 1; depth;) {
        tile_token token = tile_lexer_next(&lexer);
        depth += is_mark(&token, "([{");
        depth -= is_mark(&token, ")]}");
        found.end = token.text;
        if (!found.first.text) found.first = token;
        if (token.kind == TILE_TOKEN_END) break;
        found.is_list |= depth == 1 && is_mark(&token, ",");
        found.is_empty &= !depth;
    }
    found.after = tile_lexer_next(&lexer);
    return found;
}

static bool is_called(const tile_parser *p) {
    return is_mark(&p->next, "(");
}

/* Whether a message can repeat the part of the program. */
static bool is_short(const char *begin, const char *end) {
    return end >= begin && end - begin <= MAX_QUOTED && !memchr(begin, '\n', (size_t)(end - begin));
}

bool tile_parse_has_operand_in_parentheses(const tile_parser *p, tile_opcode opcode) {
    if (!is_called(p)) return false;
    const tile_op_info *info = tile_op_get_info(opcode);
    const parentheses found = look_ahead(p);
    const tile_operand_form form = info->operands[0].form;
    if (form != TILE_FORM_value && form != TILE_FORM_variadic) return false;
    bool by_function =
        tile_parse_may_combine(opcode) && !tile_kind_from_name(p->token.text, p->token.length);
    bool attrs = is_mark(&found.after, "{") && !by_function;
    return !found.is_list && !found.is_empty && !found.after.first_on_line &&
           (is_mark(&found.after, ",") || attrs);
}

bool tile_parse_refuse_statement_call(tile_parser *p, const tile_op_info *info) {
    if (!is_called(p)) return true;
    const parentheses found = look_ahead(p);
    if (found.first.kind == TILE_TOKEN_TEXT) {
        tile_parse_advance(p);
        tile_parse_advance(p);
        return tile_parse_refuse_text(p, info);
    }
    const char *begin = found.begin;
    if (!found.is_list && !found.is_empty) return true;
    while (begin < found.end && *begin == ' ') begin++;
    bool repeats = is_short(begin, found.end);
    tile_parse_error(
        p, p->token.loc,
        "'%.*s' is a statement, whose operands have no parentheses: write `%.*s%s%.*s`",
        (int)p->token.length, p->token.text, (int)p->token.length, p->token.text,
        found.is_empty ? "" : " ", repeats ? (int)(found.end - begin) : 2, repeats ? begin : "..");
    return false;
}

/* `%t %x[0]`: a value after an operand, on its line, that begins no statement. */
bool tile_parse_refuse_adjacent(tile_parser *p) {
    tile_lexer lexer = p->lexer;
    tile_token token = p->next;
    if (p->token.kind != TILE_TOKEN_VALUE || p->token.first_on_line) return true;
    while (is_mark(&token, ",")) { /* %a, %b = .. */
        token = tile_lexer_next(&lexer);
        if (token.kind == TILE_TOKEN_VALUE) token = tile_lexer_next(&lexer);
    }
    return is_mark(&token, "=") ||
           tile_parse_error(p, p->token.loc,
                            "operands are separated by commas: write `,` before %%%.*s",
                            (int)p->token.length, p->token.text);
}

bool tile_parse_refuse_text(tile_parser *p, const tile_op_info *info) {
    tile_attr_set allowed = tile_parse_allowed_attrs(info);
    if (p->token.kind != TILE_TOKEN_TEXT || !tile_attr_set_has(allowed, TILE_ATTR_text))
        return true;
    return tile_parse_error(p, p->token.loc,
                            "a text is an attribute: write `%s %%a {text = \"%.*s\"}`",
                            tile_op_spelling(info), (int)p->token.length, p->token.text);
}

/* Operators ----------------------------------------------------------------------------------- */

bool tile_parse_refuse_operator(tile_parser *p, const tile_infix *before, const tile_infix *infix) {
    const tile_loc loc = p->token.loc;
    const char *symbol = infix->symbol;
    const bool shift = infix->opcode == TILE_OP_shl || infix->opcode == TILE_OP_shr;
    const bool relational = strchr("<>", *symbol) && !shift;
    if (before && before->precedence == infix->precedence && relational)
        return tile_parse_error(p, loc,
                                "comparisons do not form a chain: write `%%a %s %%b & %%b %s %%c`",
                                before->symbol, symbol);
    const tile_token *next = &p->next;
    if (next->kind != TILE_TOKEN_PUNCT || next->text != p->token.text + p->token.length)
        return true;
    if (infix->opcode == TILE_OP_mul && is_mark(next, "*")) {
        tile_parse_foreign_mark(p, loc, "**");
        return false;
    }
    if (infix->opcode == TILE_OP_lt && is_mark(next, ">"))
        return tile_parse_error(p, loc, "there is no '<>'; write `!=`");
    bool logical = infix->opcode == TILE_OP_and || infix->opcode == TILE_OP_or;
    return !logical || !tile_text_is(symbol, next->text, next->length) ||
           tile_parse_error(
               p, loc,
               "there is no '%s%s'; use '%s', which has a lower precedence than comparisons",
               symbol, symbol, symbol);
}

/* Whether the token begins `if condition else ..`, without a block, on its line: a statement may
 * also follow another one there. */
static bool begins_choice(const tile_parser *p) {
    static const char other[] = "else";
    const char *c = p->token.text, *end = p->lexer.end;
    if (!tile_parse_at_word(p, "if")) return false;
    for (; c + sizeof other <= end && *c != '\n' && *c != '{'; c++)
        if (memcmp(c, other, sizeof other - 1) == 0) return true;
    return false;
}

/* `%a rem %b`: the token, on the same line as an operand, names an operation of two operands. */
bool tile_parse_refuse_infix_word(tile_parser *p) {
    const tile_token *token = &p->token, *next = &p->next;
    if (token->kind != TILE_TOKEN_WORD || token->first_on_line || next->first_on_line) return true;
    if (tile_parse_at_word(p, "is"))
        return tile_parse_error(p, token->loc, "there is no 'is'; write `==`");
    if (begins_choice(p))
        return tile_parse_error(
            p, token->loc, "a choice between two values is `select(%%condition, %%yes, %%no)`");
    tile_opcode opcode = tile_opcode_from_name(token->text, token->length);
    const tile_op_info *info = tile_op_get_info(opcode);
    const tile_infix *infix = tile_infix_from_opcode(opcode);
    bool begins = next->kind == TILE_TOKEN_VALUE || next->kind == TILE_TOKEN_INT ||
                  next->kind == TILE_TOKEN_FLOAT || next->kind == TILE_TOKEN_WORD ||
                  is_mark(next, "(-~");
    if (!begins || !(info->traits & TILE_TRAIT_ELEMENTWISE) || info->operand_count != 2)
        return true;
    if (infix)
        tile_parse_error(p, token->loc, "'%s' is written `%s` between its operands: %%a %s %%b",
                         info->name, infix->symbol, infix->symbol);
    else
        tile_parse_error(p, token->loc, "'%s' is written before its operands: `%s(%%a, %%b)`",
                         info->name, info->name);
    return false;
}

bool tile_parse_refuse_symbol(tile_parser *p) {
    const tile_token *token = &p->token;
    const char *name = tile_intern_name(p->context, token->text, token->length);
    const tile_function *found = tile_module_find(p->module, name);
    if (p->function && p->function->kind == TILE_PLAN && !(found && found->kind == TILE_FUNC))
        return tile_parse_error(p, token->loc, "a plan launches a kernel: `launch @%s(..)`", name);
    if (found && found->kind != TILE_FUNC)
        return tile_parse_error(p, token->loc, "@%s is a %s and cannot be called; a `func` can",
                                name, tile_function_kind_name(found->kind));
    return tile_parse_error(p, token->loc, "a func is called without @: `%s(..)`", name);
}

bool tile_parse_refuse_param(tile_parser *p, const tile_token *token) {
    const char *name = tile_arena_string(&p->arena, token->text, token->length);
    tile_guess guess = tile_guess_start(token->text, token->length);
    for (size_t i = 0; p->function && i < p->function->param_count; i++)
        tile_guess_try(&guess, p->function->params[i].name);
    if (guess.best)
        return tile_parse_error(p, token->loc, "there is no parameter '%s'%s", name,
                                tile_guess_text(p, &guess, ""));
    return tile_parse_error(
        p, token->loc, "there is no parameter '%s'; declare it after the name of the %s: <%s: %s>",
        name, tile_function_kind_name(p->function ? p->function->kind : TILE_KERNEL), name,
        p->function && p->function->kind == TILE_COMPUTE ? "dim" : "int");
}

/* Attributes ---------------------------------------------------------------------------------- */

bool tile_parse_at_attrs(const tile_parser *p, tile_attr_set allowed) {
    return tile_parse_at(p, "{") && p->next.kind == TILE_TOKEN_WORD &&
           tile_attr_among(allowed, p->next.text, p->next.length) != TILE_ATTR_NONE;
}

/* The attributes in braces at the token, without the braces; `axis = ..` if they are long. */
static const char *quote_attrs(const tile_parser *p, tile_arena *arena) {
    const char *begin = p->next.text;
    const char *end = memchr(begin, '}', (size_t)(p->lexer.end - begin));
    if (end && is_short(begin, end)) {
        while (end > begin && end[-1] == ' ') end--;
        return tile_arena_format(arena, "%.*s", (int)(end - begin), begin);
    }
    return tile_arena_format(arena, "%.*s = ..", (int)p->next.length, begin);
}

bool tile_parse_refuse_call_attrs(tile_parser *p, const char *start, const tile_op_info *info) {
    const char *end = p->token.text;
    while (end > start && *end != ')') end--;
    const char *attrs = quote_attrs(p, &p->arena);
    const char *call = is_short(start, end)
                           ? tile_arena_format(&p->arena, "%.*s", (int)(end - start), start)
                           : tile_arena_format(&p->arena, "%s(..", tile_op_spelling(info));
    return tile_parse_error(p, p->token.loc,
                            "write the attributes of a call between its parentheses: `%s, %s)`",
                            call, attrs);
}

bool tile_parse_refuse_early_attrs(tile_parser *p, const tile_token *name,
                                   const tile_op_info *info) {
    bool needs = info->operand_count && !tile_form_may_miss(info->operands[0].form) &&
                 info->operands[0].form != TILE_FORM_variadic;
    if (!needs || !tile_parse_at_attrs(p, tile_parse_allowed_attrs(info))) return true;
    return tile_parse_error(p, p->token.loc,
                            "write the attributes after the operands: `%.*s .. {%s}`",
                            (int)name->length, name->text, quote_attrs(p, &p->arena));
}

bool tile_parse_refuse_late_attrs(tile_parser *p, const tile_token *name,
                                  const tile_op_info *info) {
    if (p->token.first_on_line || !tile_parse_at_attrs(p, tile_parse_allowed_attrs(info)))
        return true;
    return tile_parse_error(p, p->token.loc,
                            "write the attributes before the type: `%.*s .. {%s} : ..`",
                            (int)name->length, name->text, quote_attrs(p, &p->arena));
}

/* Arguments of a function
 * --------------------------------------------------------------------------- */

bool tile_parse_refuse_after_arg(tile_parser *p) {
    const tile_token *token = &p->token;
    if (token->kind == TILE_TOKEN_VALUE)
        return tile_parse_error(p, token->loc,
                                "arguments are separated by commas: write `,` before %%%.*s",
                                (int)token->length, token->text);
    if (token->kind == TILE_TOKEN_WORD && tile_attr_from_keyword(token->text, token->length))
        return tile_parse_error(p, token->loc,
                                "attributes of an argument are in braces: `%%n: i32 {%.*s ..}`",
                                (int)token->length, token->text);
    return tile_parse_expect(p, ")");
}

bool tile_parse_check_arg_kind(tile_parser *p, const char *name, const tile_type *type,
                               tile_loc loc) {
    bool compute = p->function->kind == TILE_COMPUTE;
    bool memory = type->kind == TILE_TYPE_VIEW || type->kind == TILE_TYPE_PTR;
    if (compute && memory)
        return tile_parse_error(p, loc, "a compute has tensors: write `%%%s: tensor<f32[n]>`",
                                name);
    if (p->function->kind == TILE_KERNEL && type->kind == TILE_TYPE_TENSOR)
        return tile_parse_error(p, loc, "a kernel has views: write `%%%s: view<f32[%%n]>`", name);
    return true;
}
