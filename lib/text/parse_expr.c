/* Expressions: C's precedence over values, parameters, numbers and calls. Subexpressions of numbers
 * and parameters only are folded to host expressions. */
#include <math.h>
#include <string.h>

#include "lib/builder/infer.h"
#include "lib/support/intern.h"
#include "lib/text/parser.h"

tile_node *tile_parse_new_node(tile_parser *p, tile_node_kind kind, tile_loc loc) {
    tile_node *node = TILE_NEW(&p->arena, tile_node);
    node->kind = kind;
    node->loc = loc;
    node->depth = 1;
    return node;
}

static const tile_node *host_node(tile_parser *p, tile_loc loc, const tile_expr *expr) {
    tile_node *node = tile_parse_new_node(p, TILE_NODE_HOST, loc);
    node->expr = expr;
    node->is_truth = p->function && tile_expr_is_truth(p->function, expr);
    return node;
}

/* Replaces something whose error has been reported: a value 0. */
static const tile_node *poison_node(tile_parser *p, tile_loc loc) {
    return tile_parse_new_node(p, TILE_NODE_VALUE, loc);
}

/* Host expressions are i64 arithmetic: a node that has, or may have, a float type or an unsigned
 * one is an operation. */
static bool is_whole(const tile_node *node) {
    return node->kind == TILE_NODE_HOST &&
           (!node->type || (node->type->scalar && !tile_scalar_is_floating(node->type->scalar) &&
                            !tile_scalar_is_unsigned(node->type->scalar)));
}

/* The operation on host expressions; NULL if it is none. The operation's own check handles literals
 * of different types. */
static const tile_node *fold(tile_parser *p, tile_loc loc, tile_opcode opcode,
                             const tile_node *const *args, unsigned count) {
    const tile_expr *exprs[3] = {0};
    const tile_type *type = NULL;
    bool truth = count > 0;
    for (unsigned i = 0; i < count; i++) {
        if (!is_whole(args[i]) || (type && args[i]->type && type != args[i]->type)) return NULL;
        exprs[i] = args[i]->expr;
        type = type ? type : args[i]->type;
        truth &= args[i]->is_truth;
    }
    if (opcode == TILE_OP_not && truth) { /* truth values of host expressions are 0 and 1 */
        opcode = TILE_OP_eq;
        exprs[1] = tile_expr_int(p->context, 0);
    }
    const tile_expr *expr = tile_expr_op(p->context, opcode, exprs[0], exprs[1], exprs[2]);
    if (!expr) return NULL;
    tile_node *node = tile_parse_new_node(p, TILE_NODE_HOST, loc);
    bool compares = tile_op_has_trait(opcode, TILE_TRAIT_COMPARE);
    bool bitwise = opcode == TILE_OP_and || opcode == TILE_OP_or || opcode == TILE_OP_xor;
    node->expr = expr;
    node->is_truth = compares || (bitwise && truth) || tile_expr_is_truth(p->function, expr);
    node->type = compares ? NULL : type;
    return node;
}

const tile_node *tile_parse_op_node(tile_parser *p, tile_loc loc, tile_opcode opcode,
                                    const tile_node *const *args, unsigned count) {
    unsigned depth = 0;
    for (unsigned i = 0; i < count; i++) depth = args[i]->depth > depth ? args[i]->depth : depth;
    if (depth >= TILE_MAX_EXPRESSION_DEPTH) {
        tile_parse_too_deep(p, loc);
        return NULL;
    }
    const tile_node *folded = p->function ? fold(p, loc, opcode, args, count) : NULL;
    tile_node *node = tile_parse_new_node(p, TILE_NODE_OP, loc);
    if (folded) *node = *folded;
    node->opcode = opcode;
    node->depth = depth + 1;
    for (unsigned i = 0; i < count; i++) node->args[i] = args[i];
    return node;
}

/* A named integer constant is treated as its number. */
static const tile_node *parse_value(tile_parser *p) {
    tile_token token = p->token;
    const char *name = tile_intern_name(p->context, token.text, token.length);
    const tile_symbol *symbol = tile_parse_find(p, name);
    tile_parse_advance(p);
    tile_node *node = tile_parse_new_node(p, TILE_NODE_VALUE, token.loc);
    if (!symbol) {
        tile_guess guess = tile_guess_start(token.text, token.length);
        for (size_t i = 0; i < p->symbols.depth; i++)
            tile_guess_try(&guess, p->symbols.stack[i]->name);
        const tile_symbol *gone = tile_parse_find_gone(p, name);
        if (!gone && p->function &&
            tile_function_find_param(p->function, token.text, token.length)) {
            tile_parse_error(p, token.loc,
                             "%%%s is not defined; the name of a parameter has no %%: write %s",
                             name, name);
            return node;
        }
        if (gone) {
            tile_parse_error(p, token.loc,
                             "%%%s is defined only inside a region that has ended; pass it out "
                             "with `yield`, or define it before the region",
                             name);
            tile_report(p->context, TILE_NOTE, gone->loc, "it is defined here");
            return node;
        }
        bool is_result = false;
        for (size_t i = 0; p->function && i < p->function->result_count; i++)
            is_result |= strcmp(p->function->results[i].name, name) == 0;
        if (is_result) {
            tile_parse_error(
                p, token.loc,
                "the result %%%s has no value here; a statement `%%%s = ..` gives it one", name,
                name);
            return node;
        }
        tile_parse_error(p, token.loc, "%%%s is not defined%s%s", name,
                         p->shape ? " before this argument; an integer argument comes before the "
                                    "views that use it"
                                  : "",
                         tile_guess_text(p, &guess, "%"));
        return node;
    }
    node->value = symbol->value;
    const tile_value_data *data = tile_value_at(p->function, symbol->value);
    if (symbol->value.id && data->kind == TILE_VALUE_CONSTANT &&
        data->expr->kind == TILE_EXPR_INT && !tile_scalar_is_floating(data->type->scalar)) {
        node->kind = TILE_NODE_HOST;
        node->expr = data->expr;
        node->type = data->type;
        node->is_truth = data->type->scalar == TILE_i1;
    }
    return node;
}

static const tile_node *parse_literal_word(tile_parser *p) {
    tile_token token = p->token;
    tile_parse_advance(p);
    if (*token.text == 't' || *token.text == 'f') {
        tile_node *node = tile_parse_new_node(p, TILE_NODE_HOST, token.loc);
        node->expr = tile_expr_int(p->context, *token.text == 't');
        node->is_truth = true;
        return node;
    }
    if (token.length == strlen(TILE_NUM_SMS_WORD))
        return host_node(p, token.loc, tile_expr_num_sms(p->context));
    tile_node *node = tile_parse_new_node(p, TILE_NODE_FLOAT, token.loc);
    node->number = *token.text == 'i' ? (double)INFINITY : (double)NAN;
    return node;
}

static bool at_comparison(const tile_token *token) {
    return token->kind == TILE_TOKEN_PUNCT && token->length == 2 &&
           (memcmp(token->text, "==", 2) == 0 || memcmp(token->text, "!=", 2) == 0);
}

static const tile_param_decl *param_at(const tile_parser *p) {
    return p->function && p->token.kind == TILE_TOKEN_WORD
               ? tile_function_find_param(p->function, p->token.text, p->token.length)
               : NULL;
}

/* A parameter that is a word or a type, in a comparison. */
static bool at_word_comparison(const tile_parser *p) {
    const tile_param_decl *param = param_at(p);
    return param && (param->kind == TILE_PARAM_word || param->kind == TILE_PARAM_type) &&
           at_comparison(&p->next);
}

/* policy == rows: the right-hand side is a word, unless it is the name of such a parameter. */
static const tile_node *parse_word_comparison(tile_parser *p) {
    tile_token left = p->token;
    const tile_param_decl *param = param_at(p);
    tile_parse_advance(p);
    tile_opcode opcode = *p->token.text == '=' ? TILE_OP_eq : TILE_OP_ne;
    tile_parse_advance(p);
    tile_token right = p->token;
    const tile_param_decl *other = param_at(p);
    bool is_type = right.kind == TILE_TOKEN_WORD && tile_scalar_from_name(right.text, right.length);
    bool fits = other && other->kind == param->kind;
    if (!fits && param->kind == TILE_PARAM_type && !is_type) {
        tile_parse_expected(p, "an element type such as f16");
        return NULL;
    }
    const char *word = tile_parse_name(p, TILE_TOKEN_WORD, "a word");
    if (!word) return NULL;
    const tile_expr *expr = tile_expr_op(
        p->context, opcode, tile_expr_param(p->context, param->name),
        fits ? tile_expr_param(p->context, word) : tile_parse_word_expr(p, word), NULL);
    return host_node(p, left.loc, expr);
}

/* Reports an operation without parentheses in place of a value. Returns NULL. */
static const tile_node *refuse_bare_op(tile_parser *p, tile_loc loc, const char *name) {
    bool typed = tile_infer_needs_given(tile_opcode_from_name(name, strlen(name)));
    const char *form = tile_arena_format(&p->arena, typed ? "(%s(..) : type)" : "%s(..)", name);
    tile_parse_error(p, loc,
                     "'%s' is an operation: as an operand it is written with parentheses, %s", name,
                     form);
    return NULL;
}

static const tile_node *parse_param(tile_parser *p) {
    tile_token token = p->token;
    const tile_param_decl *param = param_at(p);
    tile_parse_advance(p);
    if (param && param->kind != TILE_PARAM_type && param->kind != TILE_PARAM_word)
        return host_node(p, token.loc, tile_expr_param(p->context, param->name));
    const char *name = tile_arena_string(&p->arena, token.text, token.length);
    const tile_symbol *value =
        tile_parse_find(p, tile_intern_name(p->context, token.text, token.length));
    if (param && tile_parse_at(p, "="))
        tile_parse_equals(p, name);
    else if (param && param->kind == TILE_PARAM_word)
        tile_parse_error(
            p, token.loc,
            "'%s' is a word; it can only be compared, %s == rows, or be an attribute's", name,
            name);
    else if ((param || tile_scalar_from_name(token.text, token.length)) &&
             p->token.kind == TILE_TOKEN_VALUE)
        tile_parse_error(p, token.loc, "'%s' is a type; a cast is written %s(%%%.*s)", name, name,
                         (int)p->token.length, p->token.text);
    else if (param || tile_scalar_from_name(token.text, token.length))
        tile_parse_error(p, token.loc,
                         "'%s' is a type; a number is needed here. A cast is written %s(%%x)", name,
                         name);
    else if (tile_opcode_is_callable(tile_opcode_from_name(token.text, token.length)))
        return refuse_bare_op(p, token.loc, name);
    else if (tile_opcode_from_name(token.text, token.length))
        tile_parse_error(p, token.loc, "'%s' is an operation and cannot be used in an expression",
                         name);
    else if (value && value->value.id) /* otherwise reported already */
        tile_parse_error(p, token.loc, "a value's name begins with %%: write %%%s", name);
    else if (value || tile_parse_bare_func(p, &token))
        return poison_node(p, token.loc);
    else if (tile_parse_at(p, "="))
        tile_parse_error(p, token.loc, "write attributes in braces after the operands: {%s = %.*s}",
                         name, (int)p->next.length, p->next.text);
    else
        tile_parse_refuse_param(p, &token);
    return poison_node(p, token.loc);
}

/* block_id(0): a coordinate of the tile in its cost expression. */
static const tile_node *parse_block_id(tile_parser *p) {
    tile_loc loc = p->token.loc;
    int64_t dim;
    tile_parse_advance(p);
    tile_parse_advance(p);
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!node || !tile_parse_expect(p, ")")) return NULL;
    if (node->kind != TILE_NODE_HOST || !tile_expr_is_int(node->expr, &dim) || dim < 0 || dim > 2) {
        tile_parse_error(p, loc, "'block_id' takes a dim here: 0, 1 or 2");
        return NULL;
    }
    return host_node(p, loc, tile_expr_block_id(p->context, (unsigned)dim));
}

static const tile_node *parse_word(tile_parser *p) {
    if (tile_is_literal_word(p->token.text, p->token.length)) return parse_literal_word(p);
    bool called = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
    if (called && p->has_block_id && tile_parse_at_word(p, "block_id")) return parse_block_id(p);
    if (tile_parse_at_call(p)) return tile_parse_call(p);
    if (at_word_comparison(p)) return parse_word_comparison(p);
    bool known = tile_opcode_from_name(p->token.text, p->token.length) ||
                 tile_function_find_param(p->function, p->token.text, p->token.length);
    bool member = p->next.kind == TILE_TOKEN_BAD && *p->next.text == '.';
    bool is_op = !known && (called || member || tile_parse_is_foreign(&p->token));
    return is_op ? tile_parse_unknown_op(p) : parse_param(p);
}

static const tile_node *parse_number(tile_parser *p, bool negative) {
    tile_token token = p->token;
    tile_parse_advance(p);
    if (token.kind == TILE_TOKEN_FLOAT) {
        tile_node *node = tile_parse_new_node(p, TILE_NODE_FLOAT, token.loc);
        node->number = negative ? -token.number : token.number;
        return node;
    }
    if (token.integer > (uint64_t)INT64_MAX + negative) {
        tile_parse_error(p, token.loc,
                         "this number does not fit an i64; a larger u64 is written `u64(..)`");
        return NULL;
    }
    uint64_t bits = negative ? 0 - token.integer : token.integer;
    return host_node(p, token.loc, tile_expr_int(p->context, (int64_t)bits));
}

static const tile_node *parse_unary(tile_parser *p) {
    tile_loc loc = p->token.loc;
    bool minus = tile_parse_at(p, "-");
    tile_parse_advance(p);
    if (minus && (p->token.kind == TILE_TOKEN_INT || p->token.kind == TILE_TOKEN_FLOAT))
        return parse_number(p, true);
    const tile_node *arg = tile_parse_primary(p);
    if (!arg) return NULL;
    if (minus && arg->kind == TILE_NODE_FLOAT && !arg->type) {
        tile_node *node = tile_parse_new_node(p, TILE_NODE_FLOAT, loc);
        node->number = -arg->number;
        return node;
    }
    return tile_parse_op_node(p, loc, minus ? TILE_OP_neg : TILE_OP_not, &arg, 1);
}

const tile_node *tile_parse_element_node(tile_parser *p, const tile_operand *operand) {
    tile_invocation *call = TILE_NEW(&p->arena, tile_invocation);
    tile_value value =
        operand->head->kind == TILE_NODE_VALUE ? operand->head->value : TILE_NO_VALUE;
    const tile_type *type = value.id ? tile_value_type(p->function, value) : NULL;
    call->loc = operand->loc;
    call->operands = TILE_NEW_ARRAY(&p->arena, tile_operand, 2);
    call->operands[0] = *operand;
    call->count = 1;
    bool stage =
        type && type->kind == TILE_TYPE_SHARED && operand->tail_count == (type->stages != NULL);
    call->opcode = stage ? TILE_OP_load_shared : TILE_OP_load;
    call->is_element = !stage;
    if (type && type->kind == TILE_TYPE_TILE) {
        call->opcode = TILE_OP_element;
        call->operands[1] = *operand;
        call->operands[0] = (tile_operand){.loc = operand->loc, .head = operand->head};
        call->operands[1].head = NULL;
        call->count = 2;
    }
    return tile_parse_call_node(p, call);
}

/* Brackets after memory that may be an operand belong to that operand. */
static const tile_node *parse_value_or_element(tile_parser *p, bool at_operand) {
    tile_operand operand = {.loc = p->token.loc};
    const tile_node *node = operand.head = parse_value(p);
    if (!tile_parse_at(p, "[") || node->kind != TILE_NODE_VALUE || !node->value.id) return node;
    tile_type_kind kind = tile_value_type(p->function, node->value)->kind;
    bool memory = kind == TILE_TYPE_VIEW || kind == TILE_TYPE_SHARED;
    if (kind != TILE_TYPE_TILE && (!memory || at_operand)) return node;
    return tile_parse_brackets(p, &operand) ? tile_parse_element_node(p, &operand) : NULL;
}

static const tile_node *parse_primary_inner(tile_parser *p) {
    bool at_operand = p->at_operand;
    p->at_operand = false;
    switch (p->token.kind) {
    case TILE_TOKEN_VALUE: return parse_value_or_element(p, at_operand);
    case TILE_TOKEN_INT:
    case TILE_TOKEN_FLOAT: return parse_number(p, false);
    case TILE_TOKEN_WORD: return parse_word(p);
    default: break;
    }
    if (tile_parse_at(p, "-") || tile_parse_at(p, "~")) return parse_unary(p);
    const tile_token open = p->token;
    if (tile_parse_take(p, "(")) {
        const tile_node *node = tile_parse_typed_node(p);
        return node && tile_parse_close(p, ")", &open) ? node : NULL;
    }
    if (p->token.kind == TILE_TOKEN_SYMBOL)
        tile_parse_refuse_symbol(p);
    else if (p->token.kind == TILE_TOKEN_TEXT && *p->next.text != '(')
        tile_parse_error(
            p, p->token.loc,
            "words have no quotation marks, and a text is an attribute, {text = \"..\"}");
    else if (p->token.kind == TILE_TOKEN_TEXT)
        tile_parse_error(p, p->token.loc,
                         "an operation's name has no quotation marks, and its operands need no "
                         "types: `%%t = load %%x[0] : [64]`");
    else
        tile_parse_expected(p, "a value or a number");
    return NULL;
}

const tile_node *tile_parse_primary(tile_parser *p) {
    if (p->depth >= TILE_MAX_EXPRESSION_DEPTH) {
        tile_parse_too_deep(p, p->token.loc);
        return NULL;
    }
    p->depth++;
    const tile_node *node = parse_primary_inner(p);
    p->depth--;
    return node;
}

static const tile_infix *infix_at(const tile_parser *p) {
    return p->token.kind == TILE_TOKEN_PUNCT
               ? tile_infix_from_symbol(p->token.text, p->token.length)
               : NULL;
}

bool tile_parse_at_infix(const tile_parser *p) {
    return infix_at(p) != NULL;
}

const tile_node *tile_parse_infix(tile_parser *p, const tile_node *left, int precedence) {
    const tile_infix *infix, *before = NULL;
    for (; left && (infix = infix_at(p)) && infix->precedence >= precedence; before = infix) {
        tile_loc loc = p->token.loc;
        if (!tile_parse_refuse_operator(p, before, infix)) return NULL;
        tile_parse_advance(p);
        const tile_node *right = tile_parse_node(p, infix->precedence + 1);
        const tile_node *const args[2] = {left, right};
        left = right ? tile_parse_op_node(p, loc, infix->opcode, args, 2) : NULL;
    }
    return left && tile_parse_refuse_infix_word(p) ? left : NULL;
}

const tile_node *tile_parse_node(tile_parser *p, int precedence) {
    return tile_parse_infix(p, tile_parse_primary(p), precedence);
}

const tile_node *tile_parse_type_suffix(tile_parser *p, tile_loc loc, const tile_node *inner) {
    if (!tile_parse_expect(p, ":")) return NULL;
    const tile_type *type = tile_parse_result_type(p);
    if (!type) return NULL;
    if (tile_parse_at_infix(p)) {
        tile_parse_error(p, p->token.loc,
                         "no operator can follow a type: put the expression and its type in "
                         "parentheses, (.. : type) %.*s ..",
                         (int)p->token.length, p->token.text);
        return NULL;
    }
    tile_node *node = tile_parse_new_node(p, TILE_NODE_TYPED, loc);
    node->args[0] = inner;
    node->depth = inner->depth + 1;
    node->type = type;
    return node;
}

const tile_node *tile_parse_typed_node(tile_parser *p) {
    tile_loc loc = p->token.loc;
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    return node && tile_parse_at(p, ":") ? tile_parse_type_suffix(p, loc, node) : node;
}

bool tile_node_is_literal(const tile_node *node) {
    if (node->kind == TILE_NODE_HOST || node->kind == TILE_NODE_FLOAT) return true;
    bool literal = node->kind == TILE_NODE_OP;
    for (unsigned i = 0; i < 3 && literal && node->args[i]; i++)
        literal = tile_node_is_literal(node->args[i]);
    return literal;
}

const tile_type *tile_node_literal_type(const tile_node *node) {
    const tile_type *type = node->type;
    bool operation = node->kind == TILE_NODE_OP;
    for (unsigned i = 0; i < 3 && operation && node->args[i] && !type; i++)
        type = tile_node_literal_type(node->args[i]);
    return operation && tile_op_has_trait(node->opcode, TILE_TRAIT_COMPARE) ? NULL : type;
}

bool tile_node_has_point(const tile_node *node) {
    bool point = node->kind == TILE_NODE_FLOAT;
    bool operation = node->kind == TILE_NODE_OP;
    for (unsigned i = 0; i < 3 && operation && node->args[i] && !point; i++)
        point = tile_node_has_point(node->args[i]);
    return point && !(operation && tile_op_has_trait(node->opcode, TILE_TRAIT_COMPARE));
}

bool tile_parse_refuse_num_sms(tile_parser *p, tile_loc loc, const tile_expr *expr) {
    return !tile_expr_holds(expr, TILE_EXPR_NUM_SMS) ||
           tile_parse_error(p, loc,
                            "'num_sms' is known at the launch only and may be used in grid "
                            "extents; in the kernel use 'grid_dim'");
}

/* Reports a value that an integer expression cannot use. */
static void refuse_value(tile_parser *p, tile_loc loc, const tile_value_data *data,
                         bool allow_args) {
    const char *name = data->name ? data->name : "x";
    if (allow_args && data->kind == TILE_VALUE_ARG && data->type->kind == TILE_TYPE_SCALAR)
        tile_parse_error(
            p, loc,
            "%%%s is of type %s and cannot be used here: extents, grids and conditions "
            "take arguments of a signed integer type; declare `%%%s: i32`",
            name, tile_scalar_name(data->type->scalar), name);
    else if (!allow_args && p->function->kind == TILE_PLAN)
        tile_parse_error(p, loc,
                         "%%%s is known only at the launch; in a plan extents are operands: "
                         "`scratch [%%%s] : f32`, `subview %%x[0], [%%%s]`",
                         name, name, name);
    else
        tile_parse_error(p, loc,
                         allow_args
                             ? "%%%s cannot be used here: only integer arguments can"
                             : "%%%s is known only when the kernel runs; write a number or a "
                               "parameter, which is declared after the kernel's name: "
                               "<block: int = 128>",
                         name);
}

static const tile_expr *node_to_expr(tile_parser *p, const tile_node *node, bool allow_args) {
    const tile_expr *args[3] = {0};
    if (node->kind == TILE_NODE_HOST)
        return allow_args || tile_parse_refuse_num_sms(p, node->loc, node->expr) ? node->expr
                                                                                 : NULL;
    if (node->kind == TILE_NODE_FLOAT) {
        tile_parse_error(p, node->loc, "expected an integer, found a number with a point");
        return NULL;
    }
    if (node->kind == TILE_NODE_VALUE) {
        const tile_value_data *data = tile_value_at(p->function, node->value);
        if (node->value.id && allow_args && data->kind == TILE_VALUE_ARG &&
            tile_type_is_size(data->type))
            return tile_expr_arg(p->context, data->index);
        if (node->value.id) refuse_value(p, node->loc, data, allow_args);
        return NULL;
    }
    if (node->kind != TILE_NODE_OP) {
        tile_parse_error(p, node->loc, "this cannot be used in an integer expression");
        return NULL;
    }
    for (unsigned i = 0; i < 3 && node->args[i]; i++)
        if (!(args[i] = node_to_expr(p, node->args[i], allow_args))) return NULL;
    const tile_expr *expr = tile_expr_op(p->context, node->opcode, args[0], args[1], args[2]);
    if (!expr)
        tile_parse_error(p, node->loc, "'%s' cannot be used in an integer expression",
                         tile_opcode_spelling(node->opcode));
    return expr;
}

const tile_expr *tile_parse_host_expr(tile_parser *p, int precedence, bool allow_args) {
    const tile_node *node = tile_parse_node(p, precedence);
    return node ? node_to_expr(p, node, allow_args) : NULL;
}

bool tile_parse_int_list(tile_parser *p, const int64_t **values, unsigned *count) {
    int64_t *list = NULL;
    size_t used = 0, capacity = 0;
    if (!tile_parse_expect(p, "[")) return false;
    while (!tile_parse_at(p, "]")) {
        tile_loc loc = p->token.loc;
        const tile_expr *expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
        list = tile_arena_grow(&p->arena, list, used, &capacity, sizeof *list);
        if (!expr) return false;
        if (!tile_expr_is_int(expr, &list[used++]))
            return tile_parse_error(p, loc, "this list takes only integer constants");
        if (!tile_parse_take(p, ",")) break;
    }
    *values = list;
    *count = (unsigned)used;
    return tile_parse_expect(p, "]");
}
