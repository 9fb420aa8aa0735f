/* Statements. */
#include <string.h>

#include "lib/builder/infer.h"
#include "lib/ir/describe.h"
#include "lib/ir/regions.h"
#include "lib/ops/combine.h"
#include "lib/ops/kinds.h"
#include "lib/support/intern.h"
#include "lib/text/parser.h"

/* Results ------------------------------------------------------------------------------------- */

/* Names that consist of digits are made by the printer; they are not kept. */
static bool is_numbered(const char *name) {
    return name[strspn(name, "0123456789")] == 0;
}

bool tile_parse_bind(tile_parser *p, const tile_binding *name, tile_value value) {
    bool ok = tile_parse_define(p, name->name, name->loc, value);
    if (ok && value.id && !is_numbered(name->name) && !tile_value_at(p->function, value)->name)
        tile_value_set_name(p->function, value, name->name);
    return ok;
}

/* If the operation could not be built, binds the names to value 0, so that uses are not reported.
 * Only computes, and operations with side effects and a result, may leave their last results
 * unnamed. */
bool tile_parse_bind_results(tile_parser *p, const tile_statement *s, tile_op op,
                             const char *what) {
    unsigned results = op.id ? tile_op_result_count(p->function, op) : s->count;
    bool may_miss =
        op.id && (!tile_op_effects(p->function, op) ||
                  tile_op_has_trait(tile_op_opcode(p->function, op), TILE_TRAIT_SIDE_RESULT));
    bool fewer = may_miss && s->count < results;
    bool ok = s->count == 0 || s->count == results || fewer;
    if (!ok)
        tile_parse_error(p, s->loc, "'%s' has %u result%s, but %u name%s %s given%s", what, results,
                         results == 1 ? "" : "s", s->count, s->count == 1 ? "" : "s",
                         s->count == 1 ? "is" : "are",
                         op.id && !results && tile_op_at(p->function, op)->region_count
                             ? "; `yield` at the end of its region gives results"
                             : "");
    for (unsigned i = 0; i < s->count; i++) {
        tile_value value =
            op.id && i < results ? tile_op_result(p->function, op, i) : TILE_NO_VALUE;
        ok &= tile_parse_bind(p, &s->names[i], value);
    }
    return ok && op.id;
}

/* Operations ---------------------------------------------------------------------------------- */

/* %t[0:64] */
static bool refuse_range(tile_parser *p, tile_loc open) {
    if (p->function->kind == TILE_PLAN)
        return tile_parse_error(
            p, p->token.loc,
            "brackets hold the first coordinates, not ranges: a part of a view is "
            "`subview %%x[0], [64]`");
    bool type = p->next.kind == TILE_TOKEN_WORD || *p->next.text == '[';
    if (type)
        return tile_parse_error(p, open, "this '[' has no ']' before the type: `%%x[0] : [64]`");
    bool whole = p->next.kind == TILE_TOKEN_PUNCT && strchr(",]", *p->next.text);
    if (whole)
        return tile_parse_error(
            p, p->token.loc,
            "brackets hold coordinates, not ranges: a new axis is `(reshape(%%t) : [64, 1])`, a "
            "row or column of a tile `(slice(%%t, [0, 0]) : [64, 1])`");
    return tile_parse_error(p, p->token.loc,
                            "brackets hold the first coordinates, not ranges: a part of a tile is "
                            "`slice(%%t, [0]) : [64]`, one of a view `load %%x[0] : [64]`");
}

bool tile_parse_brackets(tile_parser *p, tile_operand *operand) {
    const tile_node **nodes = NULL;
    size_t count = 0, capacity = 0;
    operand->brackets = true;
    const tile_token open = p->token;
    tile_parse_advance(p);
    while (!tile_parse_at(p, "]")) {
        nodes = tile_arena_grow(&p->arena, nodes, count, &capacity, sizeof *nodes);
        if (tile_parse_at(p, ":")) return refuse_range(p, open.loc);
        if (!(nodes[count++] = tile_parse_node(p, TILE_PRECEDENCE_LOWEST))) return false;
        if (tile_parse_at(p, ":")) return refuse_range(p, open.loc);
        if (!tile_parse_take(p, ",")) break;
    }
    operand->tail = nodes;
    operand->tail_count = (unsigned)count;
    return tile_parse_close(p, "]", &open);
}

/* Returns whether the node is memory or a tile. */
static bool has_elements(const tile_parser *p, const tile_node *node) {
    if (node->kind != TILE_NODE_VALUE || !node->value.id) return false;
    tile_type_kind kind = tile_value_type(p->function, node->value)->kind;
    return kind == TILE_TYPE_VIEW || kind == TILE_TYPE_SHARED || kind == TILE_TYPE_TILE;
}

bool tile_parse_operand(tile_parser *p, tile_operand *operand) {
    *operand = (tile_operand){.loc = p->token.loc};
    if (tile_parse_at(p, "[")) return tile_parse_brackets(p, operand);
    p->at_operand = true;
    operand->head = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!operand->head) return false;
    bool memory = operand->head->kind == TILE_NODE_VALUE || operand->head->kind == TILE_NODE_CALL;
    if (!memory || !tile_parse_at(p, "[")) return true;
    if (!tile_parse_brackets(p, operand) || !tile_parse_refuse_infix_word(p)) return false;
    if (!tile_parse_at_infix(p) || !has_elements(p, operand->head)) return true;
    const tile_node *node = tile_parse_element_node(p, operand);
    *operand = (tile_operand){.loc = operand->loc};
    operand->head = tile_parse_infix(p, node, TILE_PRECEDENCE_LOWEST);
    return operand->head != NULL;
}

void tile_parse_resolve_operand(tile_parser *p, const tile_op_info *info, size_t index,
                                tile_operand *operand) {
    unsigned last = info->operand_count - 1u;
    tile_operand_form form = info->operands[index < last ? index : last].form;
    bool is_value = form == TILE_FORM_variadic || (form == TILE_FORM_value && index <= last);
    if (!is_value || !operand->head || !operand->brackets || !has_elements(p, operand->head))
        return;
    const tile_node *node = tile_parse_element_node(p, operand);
    *operand = (tile_operand){.loc = operand->loc, .head = node};
}

bool tile_parse_memory_operand(tile_parser *p, tile_operand *operand) {
    *operand = (tile_operand){.loc = p->token.loc};
    p->at_operand = true;
    operand->head = tile_parse_primary(p);
    return operand->head && (!tile_parse_at(p, "[") || tile_parse_brackets(p, operand));
}

/* Returns whether an operation may be written without its first operand. */
static bool first_may_miss(const tile_op_info *info) {
    bool ends = info->effects & TILE_EFFECT_TERMINATOR; /* no statement follows */
    return tile_form_may_miss(info->operands[0].form) ||
           (info->operands[0].form == TILE_FORM_variadic && !ends);
}

/* A word begins an operand unless it begins the next statement. So does a value if an operation may
 * have no operands or takes constants. */
static bool at_operand(tile_parser *p, const tile_op_info *info) {
    bool may_miss = tile_form_may_miss(info->operands[0].form);
    if (p->token.kind == TILE_TOKEN_VALUE && may_miss &&
        info->operands[0].class_ == TILE_CLASS_constant)
        return false;
    if (p->token.kind == TILE_TOKEN_WORD) {
        bool called = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
        tile_opcode opcode = tile_opcode_from_name(p->token.text, p->token.length);
        bool misplaced = tile_opcode_is_callable(opcode) && !p->token.first_on_line;
        if (tile_op_get_info(opcode)->shape) return false; /* `parallel (` */
        return called || !opcode || ((misplaced || tile_parse_at_call(p)) && !first_may_miss(info));
    }
    return p->token.kind == TILE_TOKEN_VALUE || p->token.kind == TILE_TOKEN_INT ||
           p->token.kind == TILE_TOKEN_FLOAT || p->token.kind == TILE_TOKEN_SYMBOL ||
           tile_parse_at(p, "-") || tile_parse_at(p, "~") || tile_parse_at(p, "(") ||
           tile_parse_at(p, "[");
}

/* A type after an operand belongs to the operand in three cases: more operands must follow, the
 * operation has no result, or the operand ends in a call that needs a type and the operation needs
 * none. Otherwise it is the result type. */
static bool parse_operand_type(tile_parser *p, tile_opcode opcode, unsigned used,
                               tile_operand *operand) {
    const tile_op_info *info = tile_op_get_info(opcode);
    unsigned needed = 0;
    for (unsigned i = 0; i < info->operand_count; i++)
        needed += !tile_form_may_miss(info->operands[i].form);
    if (!operand->head || operand->brackets || !tile_parse_at(p, ":")) return true;
    bool own = used < needed || info->effects & TILE_EFFECT_TERMINATOR ||
               (!tile_infer_needs_given(opcode) && tile_node_ends_in_call(operand->head));
    if (!own) return true;
    operand->head = tile_parse_type_suffix(p, operand->loc, operand->head);
    return operand->head != NULL;
}

static bool parse_operands(tile_parser *p, const tile_op_info *info, tile_invocation *call) {
    size_t used = 0, capacity = 0;
    if (!tile_parse_refuse_text(p, info)) return false;
    if (info->operand_count && at_operand(p, info)) do {
            if (!tile_parse_refuse_text(p, info)) return false;
            call->operands =
                tile_arena_grow(&p->arena, call->operands, used, &capacity, sizeof *call->operands);
            tile_operand *operand = &call->operands[used++];
            bool ends = used == 1 && tile_opcode_is_callable(call->opcode) &&
                        tile_parse_is_prefix(info); /* takes brackets, as in an expression */
            if (!(ends ? tile_parse_memory_operand : tile_parse_operand)(p, operand)) return false;
            tile_parse_resolve_operand(p, info, used - 1, operand);
            if (!parse_operand_type(p, call->opcode, (unsigned)used, operand)) return false;
        } while (tile_parse_take(p, ","));
    call->count = (unsigned)used;
    return !used || tile_parse_refuse_adjacent(p);
}

/* Returns whether the results of the operation may have different element types. */
static bool may_differ(tile_opcode opcode) {
    return opcode == TILE_OP_reduce_arg || tile_combines_by_function(opcode);
}

/* ":" type,+; results of equal types need it only once. */
static bool parse_result_types(tile_parser *p, tile_invocation *call) {
    const tile_type **types = NULL;
    size_t count = 0, capacity = 0;
    call->given = NULL;
    if (!tile_parse_take(p, ":")) return true;
    do {
        tile_loc loc = p->token.loc;
        const tile_type *type = tile_parse_result_type(p);
        if (!type) return false;
        if (count && !tile_type_equal(p->context, type, types[0]) && !may_differ(call->opcode))
            return tile_parse_error(p, loc, "all results of an operation have one type");
        types = tile_arena_grow(&p->arena, types, count, &capacity, sizeof *types);
        types[count++] = type;
    } while (tile_parse_take(p, ","));
    call->given = types[0];
    call->types = types;
    call->type_count = (unsigned)count;
    return true;
}

/* Checks that the further results have the types that were written for them. */
static bool check_types(tile_parser *p, const tile_invocation *call, tile_op op) {
    static const char *const places[] = {"first", "second", "third", "fourth"};
    unsigned results = op.id ? tile_op_result_count(p->function, op) : 0;
    for (unsigned i = 1; i < call->type_count && i < results; i++) {
        const tile_type *type = tile_value_type(p->function, tile_op_result(p->function, op, i));
        if (tile_type_equal(p->context, type, call->types[i])) continue;
        tile_arena scratch = {0};
        const char *place = i < sizeof places / sizeof *places
                                ? places[i]
                                : tile_arena_format(&scratch, "%uth", i + 1);
        tile_parse_error(p, call->loc, "%s: the %s result is %s, not %s",
                         tile_opcode_spelling(call->opcode), place,
                         tile_type_text(p->function, type, NULL, &scratch),
                         tile_type_text(p->function, call->types[i], NULL, &scratch));
        tile_arena_reset(&scratch);
        return false;
    }
    return true;
}

/* `sync all`: the flag `all` follows the name, unless the word begins an operand. */
static bool take_all(tile_parser *p, const tile_op_info *info) {
    bool operand = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text != '{' && *p->next.text != '}';
    return tile_attr_set_has(tile_parse_allowed_attrs(info), TILE_ATTR_all) && !operand &&
           tile_parse_take_word(p, tile_attr_keyword(TILE_ATTR_all));
}

/* A mark that begins no statement, on the same line as the previous one: `? .. : ..`, `.to(..)`. */
static bool at_foreign_mark(const tile_parser *p) {
    return !p->token.first_on_line &&
           (p->token.kind == TILE_TOKEN_BAD || tile_parse_at(p, "?") || tile_parse_at(p, "->"));
}

static bool refuse_mark(tile_parser *p) {
    if (tile_parse_at(p, "(") && p->next.kind == TILE_TOKEN_VALUE)
        return tile_parse_error(p, p->token.loc,
                                "the names of results have no parentheses: `%%a, %%b = ..`");
    return !tile_parse_foreign(p, TILE_FOREIGN_MARK) && tile_parse_expected(p, "a statement");
}

/* %x = node */
static bool bind_expression(tile_parser *p, const tile_statement *s, const tile_node *node) {
    if (s->count == 0)
        return tile_parse_error(p, s->loc, "the result of an expression needs a name: %%x = ...");
    if (s->count != 1 && node->kind == TILE_NODE_CALL)
        return tile_parse_bind_results(p, s, tile_lower_op(p, node->call, NULL),
                                       tile_parse_call_name(node->call));
    if (s->count != 1)
        return tile_parse_error(p, s->loc, "an expression has 1 result, but %u names are given",
                                s->count);
    tile_value value = tile_lower_node(p, node, NULL);
    return tile_parse_bind(p, &s->names[0], value) && value.id;
}

static bool parse_expression(tile_parser *p, const tile_statement *s) {
    const tile_node *node = tile_parse_typed_node(p);
    if (node && at_foreign_mark(p)) return refuse_mark(p);
    return node && bind_expression(p, s, node);
}

/* %t = load %a[0] : [8] * 2.0: the parsed operation is the first operand of an expression. */
static bool parse_expression_from(tile_parser *p, const tile_statement *s,
                                  const tile_invocation *call) {
    const tile_node *node = tile_parse_call_node(p, call);
    if (node) node = tile_parse_infix(p, node, TILE_PRECEDENCE_LOWEST);
    if (node && tile_parse_at(p, ":")) node = tile_parse_type_suffix(p, call->loc, node);
    return node && bind_expression(p, s, node);
}

void tile_parse_take_kind(tile_parser *p, tile_invocation *call) {
    const char *word = tile_kind_from_name(p->token.text, p->token.length);
    if (word)
        call->attrs[call->attr_count++] = (tile_parsed_attr){.id = TILE_ATTR_kind, .text = word};
}

static bool parse_op(tile_parser *p, const tile_statement *s, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    const tile_token name = p->token;
    tile_invocation call = {.loc = name.loc, .opcode = opcode};
    if (!tile_opcode_is_callable(opcode) && !tile_parse_refuse_statement_call(p, info))
        return false;
    tile_parse_take_kind(p, &call);
    tile_parse_advance(p);
    if (take_all(p, info)) call.attrs[call.attr_count++] = (tile_parsed_attr){.id = TILE_ATTR_all};
    if (!tile_parse_refuse_early_attrs(p, &name, info) || !parse_operands(p, info, &call) ||
        !tile_parse_attrs(p, tile_parse_allowed_attrs(info), info->name, call.attrs,
                          &call.attr_count) ||
        !parse_result_types(p, &call) || !tile_parse_refuse_late_attrs(p, &name, info))
        return false;
    if (at_foreign_mark(p)) return refuse_mark(p);
    if (tile_opcode_is_callable(opcode) && tile_parse_at_infix(p))
        return parse_expression_from(p, s, &call);
    tile_op op = tile_lower_op(p, &call, NULL);
    return tile_parse_bind_results(p, s, op, tile_op_spelling(info)) && check_types(p, &call, op);
}

/* Statements and regions ---------------------------------------------------------------------- */

/* "%"ID,+ "=" */
static bool parse_names(tile_parser *p, tile_statement *s) {
    size_t count = 0, capacity = 0;
    do {
        s->names = tile_arena_grow(&p->arena, s->names, count, &capacity, sizeof *s->names);
        s->names[count].loc = p->token.loc;
        s->names[count].name = tile_parse_name(p, TILE_TOKEN_VALUE, "a value's name");
        if (!s->names[count].name) return false;
        s->count = (unsigned)++count;
    } while (tile_parse_take(p, ","));
    return tile_parse_expect(p, "=");
}

/* `sync %x`: the operation is complete, and the rest would be parsed as the next statement. */
static bool begins_no_statement(const tile_parser *p) {
    bool named = p->next.kind == TILE_TOKEN_PUNCT && (*p->next.text == ',' || *p->next.text == '=');
    return p->token.kind == TILE_TOKEN_VALUE && !named;
}

/* A word where an operation is expected. */
static bool is_unknown_op(const tile_parser *p) {
    const tile_token *token = &p->token;
    return token->kind == TILE_TOKEN_WORD &&
           !tile_parse_find(p, tile_intern_name(p->context, token->text, token->length)) &&
           !tile_function_find_param(p->function, token->text, token->length) &&
           !tile_is_literal_word(token->text, token->length) && !tile_parse_find_func(p) &&
           !tile_scalar_from_name(token->text, token->length) && !tile_parse_at_accumulator(p);
}

bool tile_parse_bare_func(tile_parser *p, const tile_token *token) {
    const char *name = tile_intern_name(p->context, token->text, token->length);
    const tile_function *found = tile_module_find(p->module, name);
    if (!found || found->kind != TILE_FUNC) return false;
    tile_parse_error(p, token->loc, "@%s is a func: put its arguments in parentheses, %s(..)", name,
                     name);
    return true;
}

/* A call of a kernel, compute or plan. */
static bool refuse_call(tile_parser *p, const tile_token *token) {
    bool called = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
    const char *name = tile_intern_name(p->context, token->text, token->length);
    const tile_function *found = called ? tile_module_find(p->module, name) : NULL;
    if (!found) return false;
    if (p->function->kind == TILE_PLAN && found->kind == TILE_KERNEL)
        tile_parse_error(p, token->loc, "a plan launches a kernel: `launch @%s(..)`", name);
    else
        tile_parse_error(p, token->loc, "@%s is a %s and cannot be called; a `func` can", name,
                         tile_function_kind_name(found->kind));
    return true;
}

const tile_node *tile_parse_unknown_op(tile_parser *p) {
    const tile_token *token = &p->token;
    if (tile_parse_bare_func(p, token) || refuse_call(p, token)) return NULL;
    if (tile_parse_old_word(p, TILE_RENAMED_operation, "") ||
        tile_parse_foreign(p, TILE_FOREIGN_OPERATION))
        return NULL;
    const char *kinds = tile_kind_names_like(token->text, token->length, &p->arena);
    if (*kinds) {
        tile_parse_error(p, token->loc, "unknown operation '%.*s'; there are %s",
                         (int)token->length, token->text, kinds);
        return NULL;
    }
    tile_guess guess = tile_guess_start(token->text, token->length);
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->name)
            tile_guess_try(&guess, tile_op_get_info((tile_opcode)i)->name);
    for (const tile_function *f = p->module->first; f; f = f->next)
        if (f->kind == TILE_FUNC) tile_guess_try(&guess, f->name);
    tile_parse_error(p, token->loc, "unknown operation '%.*s'%s", (int)token->length, token->text,
                     tile_guess_text(p, &guess, ""));
    return NULL;
}

static bool parse_statement_rest(tile_parser *p, const tile_statement *s) {
    bool called = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
    tile_opcode opcode = p->token.kind == TILE_TOKEN_WORD
                             ? tile_opcode_from_name(p->token.text, p->token.length)
                             : TILE_OP_NONE;
    if (tile_parse_at_sync_explicit(p)) opcode = TILE_OP_sync_explicit;
    if (opcode == TILE_OP_launch) return tile_parse_launch(p, s);
    if (opcode == TILE_OP_call) return tile_parse_refuse_call(p);
    if (tile_op_get_info(opcode)->shape) return tile_parse_control(p, s, opcode);
    if (opcode && (!called || !tile_opcode_is_callable(opcode) ||
                   tile_parse_has_operand_in_parentheses(p, opcode)))
        return parse_op(p, s, opcode);
    if (!opcode && is_unknown_op(p)) return tile_parse_unknown_op(p) != NULL;
    if (p->token.kind == TILE_TOKEN_PUNCT && !s->count && !called) return refuse_mark(p);
    return parse_expression(p, s);
}

/* Reports a value at the beginning of something that is no statement. */
static bool refuse_value(tile_parser *p) {
    const tile_token token = p->token;
    const char *name = tile_arena_string(&p->arena, token.text, token.length);
    char next = p->next.kind == TILE_TOKEN_PUNCT ? *p->next.text : '\0';
    if (next == ':') {
        const char *bound = tile_intern_name(p->context, token.text, token.length);
        if (!tile_parse_find(p, bound)) tile_parse_define(p, bound, token.loc, TILE_NO_VALUE);
        return tile_parse_error(
            p, token.loc, "the type follows the expression: `%%%s = .. : tile<f32[64]>`", name);
    }
    const char *behind = p->next.text + p->next.length;
    bool updates = next && strchr("+-*/&|^<>", next) && behind < p->lexer.end &&
                   (*behind == '=' || *behind == next);
    if (next == '[')
        return tile_parse_error(p, token.loc, "a store to memory is written `store %%t, %%%s[..]`",
                                name);
    if (updates)
        return tile_parse_error(p, token.loc,
                                "a value cannot change: write `%%new = %%%s %c ..`; a loop carries "
                                "a sum as `%%new = for .. iter (%%s = %%%s) { yield %%s %c .. }`",
                                name, next, name, next);
    if (p->next.kind == TILE_TOKEN_BAD) {
        tile_parse_advance(p);
        return tile_parse_expected(p, "'='");
    }
    return tile_parse_error(p, token.loc,
                            "a statement begins with an operation or with `%%x = `, not with the "
                            "value %%%s; if it is an operand, the operation before it takes no "
                            "more",
                            name);
}

/* float x = ..; x = .. */
static bool at_c_definition(const tile_parser *p) {
    bool type = tile_foreign_advice(TILE_FOREIGN_TYPE, &p->token) ||
                tile_scalar_from_name(p->token.text, p->token.length);
    if (p->token.kind != TILE_TOKEN_WORD) return false;
    if (p->next.kind == TILE_TOKEN_PUNCT && p->next.length == 1 && *p->next.text == '=')
        return true;
    return type && p->next.kind == TILE_TOKEN_WORD && !p->next.first_on_line;
}

static bool parse_statement(tile_parser *p) {
    tile_statement s = {.loc = p->token.loc};
    if (begins_no_statement(p)) return refuse_value(p);
    if (at_c_definition(p)) {
        const tile_token *name = p->next.kind == TILE_TOKEN_WORD ? &p->next : &p->token;
        const char *bound = tile_intern_name(p->context, name->text, name->length);
        if (!tile_parse_find(p, bound)) tile_parse_define(p, bound, name->loc, TILE_NO_VALUE);
        return tile_parse_error(p, s.loc,
                                "a value's name begins with %%, and its type follows from what "
                                "it is: write `%%%.*s = ..`",
                                (int)name->length, name->text);
    }
    bool ok =
        (p->token.kind != TILE_TOKEN_VALUE || parse_names(p, &s)) && parse_statement_rest(p, &s);
    for (unsigned i = 0; i < s.count && !ok; i++)
        if (!tile_parse_find(p, s.names[i].name))
            tile_parse_define(p, s.names[i].name, s.names[i].loc, TILE_NO_VALUE);
    return ok;
}

static bool parse_statements(tile_parser *p, tile_region region, bool needs_yield) {
    bool ok = true;
    while (p->token.kind != TILE_TOKEN_END && !tile_parse_at(p, "}") && !p->abandoned) {
        const char *start = p->token.text;
        unsigned errors = tile_context_error_count(p->context);
        p->builder.loc = p->token.loc;
        if (parse_statement(p)) continue;
        ok = false;
        if (p->abandoned) return false;
        if (p->token.text == start || tile_context_error_count(p->context) > errors)
            tile_parse_recover(p, start);
    }
    p->builder.loc = p->token.loc;
    if (needs_yield && !tile_region_yield(p->function, region).id)
        tile_build_yield(&p->builder, NULL, 0);
    return ok;
}

bool tile_parse_expected_body(tile_parser *p) {
    const char *advice = tile_parse_at(p, ":") ? "; write the body in braces"
                         : tile_parse_at_word(p, "then")
                             ? "; write the body in braces, without `then`"
                         : tile_parse_at_word(p, "if")   ? "; write `else { if .. { .. } }`"
                         : tile_parse_at_word(p, "else") ? "; a choice between two values is "
                                                           "`select(%condition, %yes, %no)`"
                                                         : "";
    bool kernel = tile_parse_at(p, "->") && p->function->kind != TILE_COMPUTE;
    if (p->token.kind == TILE_TOKEN_WORD && !p->regions && !*advice &&
        (p->function->kind == TILE_COMPUTE || p->function->kind == TILE_FUNC))
        advice = "; only kernels have clauses";
    if (kernel) advice = "; a kernel or plan has no results: it stores to its arguments";
    bool statement =
        p->token.kind == TILE_TOKEN_WORD && tile_opcode_from_name(p->token.text, p->token.length);
    if (!*advice && (p->token.first_on_line || statement))
        advice = "; write the body in braces, `{ .. }`";
    if (!*advice) return tile_parse_expected(p, "'{'");
    bool python = tile_parse_at(p, ":");
    tile_parse_error(p, p->token.loc, "expected '{', found '%.*s'%s", (int)p->token.length,
                     p->token.text, advice);
    return python && tile_parse_abandon(p);
}

bool tile_parse_region(tile_parser *p, tile_region region, bool needs_yield) {
    const tile_loc open = p->token.loc;
    if (!tile_parse_at(p, "{")) return tile_parse_expected_body(p);
    if (p->regions >= TILE_MAX_DEPTH)
        return tile_parse_error(p, p->token.loc, TILE_TOO_MANY_REGIONS, TILE_MAX_DEPTH);
    tile_parse_advance(p);
    p->regions++;
    p->builder.region = region;
    p->builder.before = TILE_NO_OP;
    bool ok = parse_statements(p, region, needs_yield);
    p->regions--;
    if (p->abandoned) return false;
    if (p->token.kind == TILE_TOKEN_END && !p->stopped) {
        tile_parse_error(p, open, "this '{' has no '}'; the text ends before it");
        p->stopped = true;
    }
    return tile_parse_expect(p, "}") && ok;
}
