/* Attributes. */
#include <string.h>

#include "lib/ops/kinds.h"
#include "lib/text/parser.h"

tile_attr_id tile_attr_among(tile_attr_set allowed, const char *text, size_t length) {
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        if (!tile_attr_set_has(allowed, (tile_attr_id)i)) continue;
        const char *word = tile_attr_keyword((tile_attr_id)i);
        if (word && tile_text_is(word, text, length)) return (tile_attr_id)i;
    }
    return TILE_ATTR_NONE;
}

bool tile_parse_unknown_attr(tile_parser *p, tile_attr_set allowed, const char *what) {
    if (tile_parse_old_word(p, TILE_RENAMED_attribute, "")) return false;
    tile_guess guess = tile_guess_start(p->token.text, p->token.length);
    const char *advice = tile_foreign_advice(TILE_FOREIGN_ATTRIBUTE, &p->token), *list = "";
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        if (!tile_attr_set_has(allowed, (tile_attr_id)i)) continue;
        const char *keyword = tile_attr_keyword((tile_attr_id)i);
        tile_guess_try(&guess, keyword);
        list = tile_arena_format(&p->arena, "%s%s%s", list, *list ? ", " : "", keyword);
    }
    const char *remedy = advice       ? tile_arena_format(&p->arena, ": %s", advice)
                         : guess.best ? tile_guess_text(p, &guess, "")
                         : *list      ? tile_arena_format(&p->arena, "; it takes %s", list)
                                      : "; it takes none";
    return tile_parse_error(p, p->token.loc, "%s has no attribute '%.*s'%s", what,
                            (int)p->token.length, p->token.text, remedy);
}

bool tile_parse_attr_word(tile_parser *p, const char *what, tile_parsed_attr *attr) {
    const tile_token *token = &p->token;
    tile_guess guess = tile_guess_start(token->text, token->length);
    const tile_opcode opcode = tile_opcode_from_name(what, strlen(what));
    const char *words = "";
    for (unsigned i = 0; (attr->text = tile_attr_word(attr->id, i)); i++) {
        if (token->kind == TILE_TOKEN_WORD &&
            tile_text_is(attr->text, token->text, token->length)) {
            tile_parse_advance(p);
            return true;
        }
        if (attr->id == TILE_ATTR_kind && !tile_opcode_takes_kind(opcode, attr->text)) continue;
        tile_guess_try(&guess, attr->text);
        words = tile_arena_format(&p->arena, "%s%s%s", words, *words ? ", " : "", attr->text);
    }
    const tile_param_decl *param =
        token->kind == TILE_TOKEN_WORD
            ? tile_function_find_param(p->function, token->text, token->length)
            : NULL;
    if (param && param->kind == TILE_PARAM_word) {
        attr->expr = tile_expr_param(p->context, param->name);
        tile_parse_advance(p);
        return true;
    }
    if (tile_parse_old_word(p, TILE_RENAMED_word, tile_attr_keyword(attr->id))) return false;
    if (token->kind == TILE_TOKEN_SYMBOL && attr->id == TILE_ATTR_kind)
        return tile_parse_error(p, token->loc,
                                "a func combines by `combine = @%.*s`, in place of 'kind'",
                                (int)token->length, token->text);
    if (token->kind == TILE_TOKEN_TEXT)
        return tile_parse_error(p, token->loc, "'%s' takes a word without quotation marks: %.*s",
                                tile_attr_keyword(attr->id), (int)token->length, token->text);
    return tile_parse_error(p, token->loc, "'%s' takes one of %s, not '%.*s'%s",
                            tile_attr_keyword(attr->id), words, (int)token->length, token->text,
                            token->kind == TILE_TOKEN_WORD ? tile_guess_text(p, &guess, "") : "");
}

const char *tile_parse_quoted(tile_parser *p, const char *what) {
    const tile_token token = p->token;
    if (token.kind != TILE_TOKEN_TEXT) {
        tile_parse_expected(p, what);
        return NULL;
    }
    char *text = TILE_NEW_ARRAY(&p->arena, char, token.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < token.length; i++) {
        bool marked = token.text[i] == '\\' && i + 1 < token.length;
        if (marked) i++;
        if (!token.text[i]) {
            tile_parse_error(p, token.loc, "a text cannot contain a zero byte");
            return NULL;
        }
        text[length++] = marked && token.text[i] == 'n' ? '\n' : token.text[i];
    }
    tile_parse_advance(p);
    return text;
}

static bool parse_text(tile_parser *p, tile_parsed_attr *attr) {
    attr->text = tile_parse_quoted(p, "a text in quotation marks");
    return attr->text != NULL;
}

/* A number, with its own type or with the default type of a bare number. */
static bool parse_constant(tile_parser *p, tile_parsed_attr *attr) {
    tile_loc loc = p->token.loc;
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!node || (node->kind == TILE_NODE_VALUE && !node->value.id)) return false;
    if (!tile_node_is_literal(node) || node->kind == TILE_NODE_OP)
        return tile_parse_error(p, loc, "'%s' must be a constant", tile_attr_keyword(attr->id));
    tile_value value = tile_lower_node(p, node, NULL);
    if (!value.id) return false;
    attr->type = tile_value_type(p->function, value);
    attr->expr = tile_value_at(p->function, value)->expr;
    return true;
}

static bool parse_attr_value(tile_parser *p, const char *what, tile_parsed_attr *attr) {
    tile_attr_kind kind = tile_attr_get_info(attr->id)->kind;
    if (kind == TILE_KIND_flag && tile_parse_at(p, "="))
        return tile_parse_error(p, p->token.loc, "'%s' is a flag: it is written without a value",
                                tile_attr_keyword(attr->id));
    if (kind == TILE_KIND_flag) return true;
    if (!tile_parse_expect(p, "=")) return false;
    attr->loc = p->token.loc;
    switch (kind) {
    case TILE_KIND_flag: return true;
    case TILE_KIND_word: return tile_parse_attr_word(p, what, attr);
    case TILE_KIND_text: return parse_text(p, attr);
    case TILE_KIND_symbol:
        attr->text = tile_parse_name(p, TILE_TOKEN_SYMBOL, "a function's name such as @k");
        return attr->text != NULL;
    case TILE_KIND_constant: return parse_constant(p, attr);
    case TILE_KIND_expr:
        attr->expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
        return attr->expr != NULL;
    case TILE_KIND_tile:
        p->has_block_id = true;
        attr->expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, true);
        p->has_block_id = false;
        return attr->expr != NULL;
    case TILE_KIND_list: return tile_parse_int_list(p, &attr->list, &attr->count);
    case TILE_KIND_values: return tile_parse_param_values(p, &attr->values, &attr->count);
    }
    return false;
}

bool tile_parse_attr(tile_parser *p, tile_attr_set allowed, const char *what,
                     tile_parsed_attr *attrs, unsigned *count) {
    tile_token token = p->token;
    if (token.kind != TILE_TOKEN_WORD) return tile_parse_expected(p, "an attribute's name");
    tile_attr_id id = tile_attr_among(allowed, token.text, token.length);
    if (id == TILE_ATTR_NONE) return tile_parse_unknown_attr(p, allowed, what);
    for (unsigned i = 0; i < *count; i++)
        if (attrs[i].id == id)
            return tile_parse_error(p, token.loc, "'%s' is given twice", tile_attr_keyword(id));
    tile_parse_advance(p);
    attrs[*count] = (tile_parsed_attr){.id = id, .loc = token.loc};
    return parse_attr_value(p, what, &attrs[(*count)++]);
}

/* After an error inside the braces, parsing continues after their end, if it is on the same line.
 */
bool tile_parse_attrs(tile_parser *p, tile_attr_set allowed, const char *what,
                      tile_parsed_attr *attrs, unsigned *count) {
    if (!tile_parse_take(p, "{")) return true;
    bool ok = true;
    while (ok && !tile_parse_at(p, "}")) {
        ok = tile_parse_attr(p, allowed, what, attrs, count);
        if (!tile_parse_take(p, ",")) break;
    }
    if (ok && tile_parse_expect(p, "}")) return true;
    while (p->token.kind != TILE_TOKEN_END && !p->token.first_on_line && !tile_parse_at(p, "}"))
        tile_parse_advance(p);
    if (!p->token.first_on_line) tile_parse_take(p, "}");
    return false;
}

tile_attr_set tile_parse_allowed_attrs(const tile_op_info *info) {
    tile_attr_set allowed = {{0}};
    for (unsigned i = 0; i < info->attr_count; i++) tile_attr_set_add(&allowed, info->attrs[i].id);
    return allowed;
}

void tile_parse_set_attrs(tile_parser *p, tile_op op, const tile_parsed_attr *attrs,
                          unsigned count) {
    tile_function *f = p->function;
    for (unsigned i = 0; i < count && op.id; i++) {
        const tile_parsed_attr *attr = &attrs[i];
        switch (tile_attr_get_info(attr->id)->kind) {
        case TILE_KIND_flag: tile_op_set_flag(f, op, attr->id); break;
        case TILE_KIND_expr:
        case TILE_KIND_tile: tile_op_set_expr(f, op, attr->id, attr->expr); break;
        case TILE_KIND_list: tile_op_set_list(f, op, attr->id, attr->list, attr->count); break;
        case TILE_KIND_word:
            if (attr->expr) {
                tile_op_set_expr(f, op, attr->id, attr->expr);
                break;
            }
            tile_op_set_text(f, op, attr->id, attr->text);
            break;
        case TILE_KIND_text:
        case TILE_KIND_symbol: tile_op_set_text(f, op, attr->id, attr->text); break;
        case TILE_KIND_constant:
            tile_op_set_constant(f, op, attr->id, attr->type, attr->expr);
            break;
        case TILE_KIND_values:
            tile_op_set_values(f, op, attr->id, attr->values, attr->count);
            break;
        }
        tile_op_set_attr_loc(f, op, attr->id, attr->loc);
    }
}
