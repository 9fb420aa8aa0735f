/* Operations inside an expression: those that compute or read and have one result. They are calls,
 * max(%a, 0), with attributes by name; casts, which are named by a type, f16(%a); or prefixes of
 * their only operand, which is memory, load %a[%i] : [8]. */
#include <string.h>

#include "lib/support/scalar.h"
#include "lib/text/parser.h"

static bool is_called(const tile_parser *p) {
    return p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
}

bool tile_parse_is_prefix(const tile_op_info *info) {
    bool prefix = info->operand_count && tile_form_has_brackets(info->operands[0].form);
    for (unsigned i = 1; i < info->operand_count && prefix; i++)
        prefix = tile_form_may_miss(info->operands[i].form);
    return prefix;
}

/* %a, or view(..). */
static bool is_memory(const tile_token *token) {
    return token->kind == TILE_TOKEN_VALUE ||
           (token->kind == TILE_TOKEN_WORD &&
            tile_opcode_is_callable(tile_opcode_from_name(token->text, token->length)));
}

bool tile_parse_at_call(tile_parser *p) {
    if (p->token.kind != TILE_TOKEN_WORD) return false;
    const char *text = p->token.text;
    tile_opcode opcode = tile_opcode_from_name(text, p->token.length);
    const tile_op_info *info = tile_op_get_info(opcode);
    if (!opcode)
        return tile_parse_find_func(p) ||
               (is_called(p) &&
                (tile_parse_find_scalar(p, text, p->token.length) || tile_parse_at_accumulator(p)));
    return tile_opcode_is_callable(opcode) &&
           (is_called(p) || (!info->operand_count && !info->attr_count) ||
            (tile_parse_is_prefix(info) && is_memory(&p->next)));
}

static unsigned depth_of(const tile_operand *operand) {
    unsigned depth = operand->head ? operand->head->depth : 0;
    for (unsigned i = 0; i < operand->tail_count; i++)
        depth = operand->tail[i]->depth > depth ? operand->tail[i]->depth : depth;
    return depth;
}

const tile_node *tile_parse_call_node(tile_parser *p, const tile_invocation *call) {
    unsigned depth = 0;
    for (unsigned i = 0; i < call->count; i++) {
        unsigned own = depth_of(&call->operands[i]);
        depth = own > depth ? own : depth;
    }
    if (depth >= TILE_MAX_EXPRESSION_DEPTH) {
        tile_parse_too_deep(p, call->loc);
        return NULL;
    }
    tile_node *node = tile_parse_new_node(p, TILE_NODE_CALL, call->loc);
    node->call = tile_arena_copy(&p->arena, call, sizeof *call);
    node->depth = depth + 1;
    return node;
}

/* Casts --------------------------------------------------------------------------------------- */

/* A literal with a type has the value of that type: f16(0.1) is not 0.1. */
static bool keeps_value(const tile_node *node) {
    int64_t value;
    return !node->type ||
           (node->kind == TILE_NODE_HOST && node->type->scalar &&
            !tile_scalar_is_floating(node->type->scalar) && tile_expr_is_int(node->expr, &value) &&
            tile_integer_fits(node->type->scalar, value));
}

/* Returns whether a number can have the type as a constant. A parameter can have an integer type.
 */
static bool is_constant_of(const tile_node *node, const tile_type *type) {
    if (node->type != type && !keeps_value(node)) return false;
    bool floating = type->scalar && tile_scalar_is_floating(type->scalar);
    if (node->kind == TILE_NODE_HOST) return !floating || node->expr->kind == TILE_EXPR_INT;
    return node->kind == TILE_NODE_FLOAT && (floating || !type->scalar);
}

/* The 18446744073709551615 of u64(18446744073709551615); NULL: it is another operand. */
static const tile_node *parse_large(tile_parser *p, const tile_type *type) {
    bool large = p->token.kind == TILE_TOKEN_INT && p->token.integer > INT64_MAX;
    if (!large || type->scalar != TILE_u64) return NULL;
    tile_node *node = tile_parse_new_node(p, TILE_NODE_HOST, p->token.loc);
    node->expr = tile_expr_int(p->context, (int64_t)p->token.integer);
    node->type = type;
    node->is_large = true;
    tile_parse_advance(p);
    return node;
}

/* i64(5), f16(%acc), i8(%x, round = even, saturate) */
static const tile_node *parse_cast(tile_parser *p) {
    const tile_op_info *info = tile_op_get_info(TILE_OP_cast);
    tile_attr_set allowed = tile_parse_allowed_attrs(info);
    tile_loc loc = p->token.loc;
    bool failed;
    const tile_type *type = tile_parse_scalar(p, &failed);
    if (failed || !tile_parse_expect(p, "(")) return NULL;
    tile_invocation call = {.loc = loc, .opcode = TILE_OP_cast, .count = 1, .given = type};
    const tile_node *inner = parse_large(p, type);
    if (!inner) inner = tile_parse_typed_node(p);
    while (inner && tile_parse_take(p, ","))
        if (!tile_parse_attr(p, allowed, info->name, call.attrs, &call.attr_count)) return NULL;
    if (!inner || !tile_parse_expect(p, ")")) return NULL;
    if (call.attr_count || !is_constant_of(inner, type)) {
        call.operands = TILE_NEW(&p->arena, tile_operand);
        call.operands[0] = (tile_operand){.loc = inner->loc, .head = inner};
        return tile_parse_call_node(p, &call);
    }
    tile_node *node = tile_parse_new_node(p, inner->kind, loc);
    *node = *inner;
    node->loc = loc;
    node->type = type;
    node->is_truth = type->scalar == TILE_i1;
    return node;
}

/* Calls ---------------------------------------------------------------------------------------- */

/* `axis = 0` or `fast` */
static bool at_attr(const tile_parser *p, tile_attr_set allowed) {
    if (p->token.kind != TILE_TOKEN_WORD || p->next.kind != TILE_TOKEN_PUNCT) return false;
    if (p->next.length == 1 && *p->next.text == '=') return true;
    return (*p->next.text == ',' || *p->next.text == ')') &&
           tile_attr_set_has(allowed, tile_attr_from_keyword(p->token.text, p->token.length));
}

/* From `(` on. */
static bool parse_arguments(tile_parser *p, const tile_op_info *info, tile_attr_set allowed,
                            tile_invocation *call) {
    size_t used = 0, capacity = 0;
    const tile_token open = p->token;
    if (!tile_parse_expect(p, "(")) return false;
    while (!tile_parse_at(p, ")")) {
        if (at_attr(p, allowed) && call->opcode == TILE_OP_call)
            return tile_parse_error(
                p, p->token.loc, "values of parameters precede the arguments: `%s<%.*s = ..>(..)`",
                tile_parse_call_name(call), (int)p->token.length, p->token.text);
        if (at_attr(p, allowed) && tile_parse_may_combine(call->opcode)) {
            if (!tile_parse_combine_attr(p, call)) return false;
        } else if (at_attr(p, allowed)) {
            if (!tile_parse_attr(p, allowed, info->name, call->attrs, &call->attr_count))
                return false;
        } else {
            call->operands =
                tile_arena_grow(&p->arena, call->operands, used, &capacity, sizeof *call->operands);
            tile_operand *operand = &call->operands[used++];
            if (!tile_parse_operand(p, operand)) return false;
            tile_parse_resolve_operand(p, info, used - 1, operand);
            if (operand->brackets && tile_parse_at(p, ":"))
                return tile_parse_error(p, p->token.loc,
                                        "the type is the operation's: it comes after the "
                                        "parenthesis, %s(..) : type",
                                        tile_op_spelling(info));
            if (operand->head && tile_parse_at(p, ":") &&
                !(operand->head = tile_parse_type_suffix(p, operand->loc, operand->head)))
                return false;
        }
        if (!tile_parse_take(p, ",")) break;
    }
    call->count = (unsigned)used;
    return tile_parse_close(p, ")", &open);
}

/* An operation whose operands are values only, which may all be numbers. */
static const tile_node *make_arithmetic(tile_parser *p, const tile_invocation *call) {
    const tile_op_info *info = tile_op_get_info(call->opcode);
    const tile_node *args[3] = {0};
    if (call->count != info->operand_count) {
        const char *names = "";
        for (unsigned i = 0; i < info->operand_count; i++)
            names = tile_arena_format(&p->arena, "%s%s%%%s", names, i ? ", " : "",
                                      info->operands[i].name);
        tile_parse_error(p, call->loc, "'%s' takes %u operand%s, not %u: `%s(%s)`",
                         tile_op_spelling(info), info->operand_count,
                         info->operand_count == 1 ? "" : "s", call->count, tile_op_spelling(info),
                         names);
        return NULL;
    }
    for (unsigned i = 0; i < call->count; i++) {
        if (!call->operands[i].head || call->operands[i].brackets)
            return tile_parse_call_node(p, call); /* rejected when it is built */
        args[i] = call->operands[i].head;
    }
    return tile_parse_op_node(p, call->loc, call->opcode, args, call->count);
}

static bool is_arithmetic(const tile_op_info *info) {
    return info->traits & (TILE_TRAIT_ELEMENTWISE | TILE_TRAIT_UNIFORM) && !info->type_given;
}

/* OP "%"ID ["[" .. "]"] [attrs] [":" type] */
static bool parse_prefix(tile_parser *p, const tile_op_info *info, tile_invocation *call) {
    tile_attr_set allowed = tile_parse_allowed_attrs(info);
    if (!info->operand_count) return true;
    call->operands = TILE_NEW(&p->arena, tile_operand);
    call->count = 1;
    return tile_parse_memory_operand(p, call->operands) &&
           (!tile_parse_at_attrs(p, allowed) ||
            tile_parse_attrs(p, allowed, info->name, call->attrs, &call->attr_count)) &&
           (!tile_parse_take(p, ":") || (call->given = tile_parse_result_type(p)));
}

bool tile_parse_refuse_call(tile_parser *p) {
    return tile_parse_error(p, p->token.loc,
                            "a func is called by its name, without `call`: `%%y = relu(%%x)`");
}

const char *tile_parse_call_name(const tile_invocation *call) {
    return call->opcode == TILE_OP_call ? call->attrs[0].text : tile_opcode_spelling(call->opcode);
}

/* ID [values] "(" [expr],* ")" */
static const tile_node *parse_func_call(tile_parser *p, const tile_function *callee) {
    const tile_op_info *info = tile_op_get_info(TILE_OP_call);
    const tile_attr_set none = {{0}};
    tile_invocation call = {
        .loc = p->token.loc,
        .opcode = TILE_OP_call,
        .attrs = {{.id = TILE_ATTR_callee, .text = callee->name}, {.id = TILE_ATTR_values}},
        .attr_count = 2};
    tile_parsed_attr *values = &call.attrs[1];
    call.attrs[0].loc = p->token.loc;
    tile_parse_advance(p);
    values->loc = p->token.loc;
    bool ok = tile_parse_param_values(p, &values->values, &values->count) &&
              parse_arguments(p, info, none, &call);
    return ok ? tile_parse_call_node(p, &call) : NULL;
}

const tile_node *tile_parse_call(tile_parser *p) {
    tile_invocation call = {.loc = p->token.loc};
    call.opcode = tile_opcode_from_name(p->token.text, p->token.length);
    const tile_function *callee = call.opcode ? NULL : tile_parse_find_func(p);
    if (callee) return parse_func_call(p, callee);
    if (call.opcode == TILE_OP_call && !tile_parse_refuse_call(p)) return NULL;
    if (!call.opcode) return parse_cast(p);
    const tile_op_info *info = tile_op_get_info(call.opcode);
    bool called = is_called(p);
    const char *start = p->token.text;
    tile_parse_take_kind(p, &call);
    tile_parse_advance(p);
    if (!called) return parse_prefix(p, info, &call) ? tile_parse_call_node(p, &call) : NULL;
    if (!parse_arguments(p, info, tile_parse_call_attrs(call.opcode), &call)) return NULL;
    if (!call.attr_count && tile_parse_at(p, "{") && tile_parse_may_combine(call.opcode) &&
        !tile_parse_combine_attrs(p, &call))
        return NULL;
    if (!tile_parse_finish_combine(p, &call)) return NULL;
    if (tile_parse_at_attrs(p, tile_parse_allowed_attrs(info)) &&
        !tile_parse_refuse_call_attrs(p, start, info))
        return NULL;
    return is_arithmetic(info) && !call.attr_count ? make_arithmetic(p, &call)
                                                   : tile_parse_call_node(p, &call);
}
