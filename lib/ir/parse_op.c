/* Statements, attributes and regions. */
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/parser.h"

/* Attributes ---------------------------------------------------------------------------------- */

static bool unknown_attr(tile_parser *p, uint64_t allowed, const char *what) {
    tile_guess guess = tile_guess_start(p->token.text, p->token.length);
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++)
        if (allowed >> i & 1) tile_guess_try(&guess, tile_attr_keyword((tile_attr_id)i));
    return tile_parse_error(p, p->token.loc, "%s has no attribute '%.*s'%s", what,
                            (int)p->token.length, p->token.text, tile_guess_text(p, &guess, ""));
}

static bool parse_attr_value(tile_parser *p, tile_parsed_attr *attr) {
    switch (tile_attr_get_info(attr->id)->kind) {
    case TILE_KIND_expr:
        if (!tile_parse_expect(p, "=")) return false;
        attr->expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
        return attr->expr != NULL;
    case TILE_KIND_list:
        return tile_parse_expect(p, "=") && tile_parse_int_list(p, &attr->list, &attr->count);
    default: return true;
    }
}

static bool parse_attr(tile_parser *p, uint64_t allowed, const char *what, tile_parsed_attr *attrs,
                       unsigned *count) {
    tile_token token = p->token;
    if (token.kind != TILE_TOKEN_WORD) return tile_parse_expected(p, "an attribute's name");
    tile_attr_id id = tile_attr_from_keyword(token.text, token.length);
    if (!(allowed >> id & 1)) return unknown_attr(p, allowed, what);
    for (unsigned i = 0; i < *count; i++)
        if (attrs[i].id == id)
            return tile_parse_error(p, token.loc, "'%s' stands here twice", tile_attr_keyword(id));
    tile_parse_advance(p);
    attrs[*count] = (tile_parsed_attr){.id = id};
    return parse_attr_value(p, &attrs[(*count)++]);
}

/* After a mistake inside the braces, their end is looked for on the same line. */
bool tile_parse_attrs(tile_parser *p, uint64_t allowed, const char *what, tile_parsed_attr *attrs,
                      unsigned *count) {
    if (!tile_parse_take(p, "{")) return true;
    bool ok = true;
    while (ok && !tile_parse_at(p, "}")) {
        ok = parse_attr(p, allowed, what, attrs, count);
        if (!tile_parse_take(p, ",")) break;
    }
    if (ok && tile_parse_expect(p, "}")) return true;
    while (p->token.kind != TILE_TOKEN_END && !p->token.first_on_line && !tile_parse_at(p, "}"))
        tile_parse_advance(p);
    if (!p->token.first_on_line) tile_parse_take(p, "}");
    return false;
}

static uint64_t allowed_attrs(const tile_op_info *info) {
    uint64_t allowed = 0;
    for (unsigned i = 0; i < info->attr_count; i++) allowed |= (uint64_t)1 << info->attrs[i].id;
    return allowed;
}

static void set_attrs(tile_parser *p, tile_op op, const tile_parsed_attr *attrs, unsigned count) {
    for (unsigned i = 0; i < count && op.id; i++) switch (tile_attr_get_info(attrs[i].id)->kind) {
        case TILE_KIND_expr: tile_op_set_expr(p->function, op, attrs[i].id, attrs[i].expr); break;
        case TILE_KIND_list:
            tile_op_set_list(p->function, op, attrs[i].id, attrs[i].list, attrs[i].count);
            break;
        default: tile_op_set_flag(p->function, op, attrs[i].id); break;
        }
}

/* Results ------------------------------------------------------------------------------------- */

typedef struct binding {
    const char *name;
    tile_loc loc;
} binding;

typedef struct statement {
    tile_loc loc;
    binding *names;
    unsigned count;
} statement;

/* Names of digits only are the printer's; they are given anew each time. */
static bool is_numbered(const char *name) {
    return name[strspn(name, "0123456789")] == 0;
}

static bool bind(tile_parser *p, const binding *name, tile_value value) {
    bool ok = tile_parse_define(p, name->name, name->loc, value);
    if (ok && value.id && !is_numbered(name->name) && !tile_value_at(p->function, value)->name)
        tile_value_set_name(p->function, value, name->name);
    return ok;
}

/* Also where the operation could not be built: then to value 0, so that uses are not reported. */
static bool bind_results(tile_parser *p, const statement *s, tile_op op, const char *what) {
    unsigned results = op.id ? tile_op_result_count(p->function, op) : s->count;
    bool ok = s->count == 0 || s->count == results;
    if (!ok)
        tile_parse_error(p, s->loc, "'%s' gives %u result%s, here %s %u name%s", what, results,
                         results == 1 ? "" : "s", s->count == 1 ? "is" : "are", s->count,
                         s->count == 1 ? "" : "s");
    for (unsigned i = 0; i < s->count; i++) {
        tile_value value =
            op.id && i < results ? tile_op_result(p->function, op, i) : TILE_NO_VALUE;
        ok &= bind(p, &s->names[i], value);
    }
    return ok && op.id;
}

/* Operations ---------------------------------------------------------------------------------- */

static bool parse_node_list(tile_parser *p, tile_operand *operand) {
    const tile_node **nodes = NULL;
    size_t count = 0, capacity = 0;
    operand->brackets = true;
    tile_parse_advance(p);
    while (!tile_parse_at(p, "]")) {
        nodes = tile_arena_grow(&p->arena, nodes, count, &capacity, sizeof *nodes);
        if (!(nodes[count++] = tile_parse_node(p, TILE_PRECEDENCE_LOWEST))) return false;
        if (!tile_parse_take(p, ",")) break;
    }
    operand->tail = nodes;
    operand->tail_count = (unsigned)count;
    return tile_parse_expect(p, "]");
}

static bool parse_operand(tile_parser *p, tile_operand *operand) {
    *operand = (tile_operand){.loc = p->token.loc};
    if (tile_parse_at(p, "[")) return parse_node_list(p, operand);
    operand->head = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!operand->head) return false;
    return operand->head->kind != TILE_NODE_VALUE || !tile_parse_at(p, "[") ||
           parse_node_list(p, operand);
}

/* A word begins an operand unless it begins the next statement. */
static bool at_operand(const tile_parser *p) {
    if (p->token.kind == TILE_TOKEN_WORD) {
        bool called = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
        return called || !tile_opcode_from_name(p->token.text, p->token.length);
    }
    return p->token.kind == TILE_TOKEN_VALUE || p->token.kind == TILE_TOKEN_INT ||
           p->token.kind == TILE_TOKEN_FLOAT || tile_parse_at(p, "-") || tile_parse_at(p, "~") ||
           tile_parse_at(p, "(") || tile_parse_at(p, "[");
}

static bool parse_operands(tile_parser *p, const tile_op_info *info, tile_operand **operands,
                           unsigned *count) {
    size_t used = 0, capacity = 0;
    *operands = NULL;
    if (info->operand_count && at_operand(p)) do {
            *operands = tile_arena_grow(&p->arena, *operands, used, &capacity, sizeof **operands);
            if (!parse_operand(p, &(*operands)[used++])) return false;
        } while (tile_parse_take(p, ","));
    *count = (unsigned)used;
    return true;
}

/* ":" type,+; several results of one type need it only once. */
static bool parse_result_types(tile_parser *p, const tile_type **given) {
    *given = NULL;
    if (!tile_parse_take(p, ":")) return true;
    do {
        tile_loc loc = p->token.loc;
        const tile_type *type = tile_parse_type(p);
        if (!type) return false;
        if (*given && type != *given)
            return tile_parse_error(p, loc, "all results of an operation have one type");
        *given = type;
    } while (tile_parse_take(p, ","));
    return true;
}

static bool parse_op(tile_parser *p, const statement *s, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    tile_loc loc = p->token.loc;
    tile_operand *operands;
    tile_parsed_attr attrs[TILE_MAX_ATTRS];
    unsigned count, attr_count = 0;
    const tile_type *given;
    tile_parse_advance(p);
    if (!parse_operands(p, info, &operands, &count) ||
        !tile_parse_attrs(p, allowed_attrs(info), info->name, attrs, &attr_count) ||
        !parse_result_types(p, &given))
        return false;
    tile_op op = tile_lower_op(p, loc, opcode, operands, count, given);
    set_attrs(p, op, attrs, attr_count);
    return bind_results(p, s, op, info->name);
}

/* %x = expr : type */
static bool parse_expression(tile_parser *p, const statement *s) {
    tile_loc loc = p->token.loc;
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    const tile_type *given;
    if (!node || !parse_result_types(p, &given)) return false;
    if (s->count == 0) return tile_parse_error(p, s->loc, "an expression needs a name: %%x = ...");
    if (s->count != 1)
        return tile_parse_error(p, s->loc, "an expression gives 1 result, here are %u names",
                                s->count);
    tile_value value = tile_lower_node(p, node, given);
    const tile_type *type = value.id ? tile_value_type(p->function, value) : NULL;
    if (given && type && type != given) {
        tile_arena scratch = {0};
        tile_parse_error(p, loc, "the expression is %s, not %s",
                         tile_type_text(p->function, type, NULL, &scratch),
                         tile_type_text(p->function, given, NULL, &scratch));
        tile_arena_reset(&scratch);
        value = TILE_NO_VALUE;
    }
    return bind(p, &s->names[0], value) && value.id;
}

/* Control ------------------------------------------------------------------------------------- */

static const tile_value *parse_bound(tile_parser *p, const char *word, tile_value *value) {
    if (!(*word == '=' ? tile_parse_expect(p, word) : tile_parse_expect_word(p, word))) return NULL;
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!node) return NULL;
    *value = tile_lower_node(p, node, tile_type_scalar(p->context, TILE_i32));
    return value;
}

typedef struct loop {
    tile_value begin, end, step;
    binding iv;
    binding *carried;
    tile_value *inits;
    size_t count, capacity, init_capacity;
    tile_parsed_attr attrs[TILE_MAX_ATTRS];
    unsigned attr_count;
} loop;

/* "iter" "(" ("%"ID "=" expr),+ ")" */
static bool parse_iter(tile_parser *p, loop *l) {
    if (!tile_parse_take_word(p, "iter")) return true;
    if (!tile_parse_expect(p, "(")) return false;
    do {
        l->carried =
            tile_arena_grow(&p->arena, l->carried, l->count, &l->capacity, sizeof *l->carried);
        l->inits =
            tile_arena_grow(&p->arena, l->inits, l->count, &l->init_capacity, sizeof *l->inits);
        binding *name = &l->carried[l->count];
        name->loc = p->token.loc;
        name->name = tile_parse_name(p, TILE_TOKEN_VALUE, "a carried value such as %sum");
        if (!name->name || !tile_parse_expect(p, "=")) return false;
        const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
        if (!node) return false;
        l->inits[l->count++] = tile_lower_node(p, node, NULL);
    } while (tile_parse_take(p, ","));
    return tile_parse_expect(p, ")");
}

/* ID "(" expr {"," ID "=" value} ")": an attribute of the loop, and those that go with it. */
static bool parse_loop_clause(tile_parser *p, uint64_t allowed, loop *l) {
    tile_attr_id id = tile_attr_from_keyword(p->token.text, p->token.length);
    bool known = (allowed >> id & 1) && tile_attr_get_info(id)->kind == TILE_KIND_expr;
    if (!known) return unknown_attr(p, allowed, "for");
    for (unsigned i = 0; i < l->attr_count; i++)
        if (l->attrs[i].id == id)
            return tile_parse_error(p, p->token.loc, "'%s' stands here twice",
                                    tile_attr_keyword(id));
    tile_parse_advance(p);
    if (!tile_parse_expect(p, "(")) return false;
    tile_parsed_attr *attr = &l->attrs[l->attr_count++];
    *attr = (tile_parsed_attr){.id = id};
    attr->expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
    if (!attr->expr) return false;
    while (tile_parse_take(p, ","))
        if (!parse_attr(p, allowed, "for", l->attrs, &l->attr_count)) return false;
    return tile_parse_expect(p, ")");
}

static bool parse_loop_header(tile_parser *p, loop *l) {
    l->iv.loc = p->token.loc;
    l->iv.name = tile_parse_name(p, TILE_TOKEN_VALUE, "the loop's variable such as %i");
    if (!l->iv.name || !parse_bound(p, "=", &l->begin) || !parse_bound(p, "to", &l->end) ||
        !parse_bound(p, "step", &l->step) || !parse_iter(p, l))
        return false;
    uint64_t allowed = allowed_attrs(tile_op_get_info(TILE_OP_for));
    while (p->token.kind == TILE_TOKEN_WORD)
        if (!parse_loop_clause(p, allowed, l)) return false;
    return tile_parse_at(p, "{") || tile_parse_expected(p, "'{'");
}

typedef struct saved {
    tile_builder builder;
    const tile_type *const *yield_types;
    unsigned yield_count;
    size_t scope;
} saved;

static saved enter_region(tile_parser *p, const tile_type *const *types, unsigned count) {
    saved outer = {p->builder, p->yield_types, p->yield_count, p->symbols.depth};
    p->yield_types = types;
    p->yield_count = count;
    return outer;
}

static void leave_region(tile_parser *p, const saved *outer) {
    tile_parse_leave_scope(p, outer->scope);
    p->builder = outer->builder;
    p->yield_types = outer->yield_types;
    p->yield_count = outer->yield_count;
}

/* A loop that could not be built has its body read all the same, for the mistakes in it. */
static bool parse_loop_body(tile_parser *p, const loop *l, tile_op op) {
    const tile_type **types = TILE_NEW_ARRAY(&p->arena, const tile_type *, l->count + 1);
    tile_region region = op.id ? tile_op_region(p->function, op, 0)
                               : tile_add_region(p->function, TILE_NO_OP, NULL, 0);
    for (size_t i = 0; i < l->count && op.id; i++)
        types[i] = tile_value_type(p->function, l->inits[i]);
    saved outer = enter_region(p, types, op.id ? (unsigned)l->count : 0);
    bool ok = bind(p, &l->iv, op.id ? tile_region_arg(p->function, region, 0) : TILE_NO_VALUE);
    for (size_t i = 0; i < l->count; i++)
        ok &= bind(p, &l->carried[i],
                   op.id ? tile_region_arg(p->function, region, (unsigned)i + 1) : TILE_NO_VALUE);
    ok &= tile_parse_region(p, region, true);
    leave_region(p, &outer);
    return ok;
}

static bool parse_for(tile_parser *p, const statement *s) {
    tile_loc loc = p->token.loc;
    loop l = {.attr_count = 0};
    tile_parse_advance(p);
    if (!parse_loop_header(p, &l)) return false;
    p->builder.loc = loc;
    tile_op op = TILE_NO_OP;
    bool complete = l.begin.id && l.end.id && l.step.id;
    for (size_t i = 0; i < l.count; i++) complete &= l.inits[i].id != 0;
    if (complete)
        op = tile_build_for_loop(&p->builder, l.begin, l.end, l.step, l.inits, (unsigned)l.count);
    set_attrs(p, op, l.attrs, l.attr_count);
    bool ok = parse_loop_body(p, &l, op);
    return bind_results(p, s, op, "for") && ok;
}

/* The types that a region's yield hands over: *count of them, in the parser's arena. */
static const tile_type **yielded_types(tile_parser *p, tile_region region, unsigned *count) {
    const tile_function *f = p->function;
    tile_op last = tile_region_at(f, region)->last;
    *count = 0;
    if (last.id && tile_op_at(f, last)->opcode == TILE_OP_yield)
        *count = tile_op_operand_count(f, last);
    const tile_type **types = TILE_NEW_ARRAY(&p->arena, const tile_type *, *count + 1);
    for (unsigned i = 0; i < *count; i++)
        types[i] = tile_value_type(f, tile_op_operand(f, last, i));
    return types;
}

static void move_ops(tile_function *f, tile_region from, tile_region to) {
    for (tile_op op = tile_region_at(f, from)->first, next; op.id; op = next) {
        next = tile_op_at(f, op)->next;
        tile_move_op(f, op, to, TILE_NO_OP);
    }
}

/* What an `if` gives is known once its first region is read, so both regions are read on their own
 * and moved into it. */
static bool parse_if(tile_parser *p, const statement *s) {
    tile_loc loc = p->token.loc;
    tile_function *f = p->function;
    tile_parse_advance(p);
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!node) return false;
    tile_value condition = tile_lower_node(p, node, tile_type_scalar(p->context, TILE_i1));
    tile_region yes = tile_add_region(f, TILE_NO_OP, NULL, 0);
    tile_region no = tile_add_region(f, TILE_NO_OP, NULL, 0);
    saved outer = enter_region(p, NULL, 0);
    bool ok = tile_parse_region(p, yes, true);
    leave_region(p, &outer);
    unsigned count;
    const tile_type **types = yielded_types(p, yes, &count);
    if (tile_parse_take_word(p, "else")) {
        outer = enter_region(p, types, count);
        ok &= tile_parse_region(p, no, true);
        leave_region(p, &outer);
    } else if (ok) {
        if (count) return tile_parse_error(p, loc, "an `if` with results needs `else`");
        tile_builder builder = tile_builder_at_end(f, no);
        builder.loc = loc;
        tile_build_yield(&builder, NULL, 0);
    }
    p->builder.loc = loc;
    tile_op op = ok ? tile_build_if_else(&p->builder, condition, types, count) : TILE_NO_OP;
    if (op.id) {
        move_ops(f, yes, tile_op_region(f, op, 0));
        move_ops(f, no, tile_op_region(f, op, 1));
    }
    return bind_results(p, s, op, "if") && ok;
}

/* Statements and regions ---------------------------------------------------------------------- */

/* "%"ID,+ "=" */
static bool parse_names(tile_parser *p, statement *s) {
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

/* `sync %x`: an operation that is complete leaves its surplus to the next statement. */
static bool begins_no_statement(const tile_parser *p) {
    bool named = p->next.kind == TILE_TOKEN_PUNCT && (*p->next.text == ',' || *p->next.text == '=');
    return p->token.kind == TILE_TOKEN_VALUE && !named;
}

/* A word that can only have been meant as an operation. */
static bool is_unknown_op(const tile_parser *p) {
    const tile_token *token = &p->token;
    return token->kind == TILE_TOKEN_WORD &&
           !tile_function_find_param(p->function, token->text, token->length) &&
           !tile_is_literal_word(token->text, token->length) &&
           !tile_scalar_from_name(token->text, token->length);
}

/* Operations under the names that they once had. */
static const char *new_name(const tile_token *token) {
    static const struct { const char *was, *is; } renamed[] = {{"shuffle", "permute"}};
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strlen(renamed[i].was) == token->length &&
            memcmp(renamed[i].was, token->text, token->length) == 0)
            return renamed[i].is;
    return NULL;
}

static bool unknown_op(tile_parser *p) {
    const char *name = new_name(&p->token);
    if (name)
        return tile_parse_error(p, p->token.loc, "'%.*s' is called '%s' now", (int)p->token.length,
                                p->token.text, name);
    tile_guess guess = tile_guess_start(p->token.text, p->token.length);
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++)
        if (tile_op_get_info((tile_opcode)i)->name)
            tile_guess_try(&guess, tile_op_get_info((tile_opcode)i)->name);
    return tile_parse_error(p, p->token.loc, "unknown operation '%.*s'%s", (int)p->token.length,
                            p->token.text, tile_guess_text(p, &guess, ""));
}

static bool parse_statement_rest(tile_parser *p, const statement *s) {
    bool called = p->next.kind == TILE_TOKEN_PUNCT && *p->next.text == '(';
    tile_opcode opcode = p->token.kind == TILE_TOKEN_WORD
                             ? tile_opcode_from_name(p->token.text, p->token.length)
                             : TILE_OP_NONE;
    if (opcode == TILE_OP_for) return parse_for(p, s);
    if (opcode == TILE_OP_if) return parse_if(p, s);
    if (opcode && !(called && tile_opcode_is_callable(opcode))) return parse_op(p, s, opcode);
    if (!opcode && is_unknown_op(p)) return unknown_op(p);
    if (p->token.kind == TILE_TOKEN_PUNCT && !s->count && !called)
        return tile_parse_expected(p, "a statement");
    return parse_expression(p, s);
}

static bool parse_statement(tile_parser *p) {
    statement s = {.loc = p->token.loc};
    if (begins_no_statement(p))
        return tile_parse_error(p, s.loc,
                                "%%%.*s begins no statement: it lacks '=', or the operation "
                                "before it takes no more operands",
                                (int)p->token.length, p->token.text);
    bool ok =
        (p->token.kind != TILE_TOKEN_VALUE || parse_names(p, &s)) && parse_statement_rest(p, &s);
    for (unsigned i = 0; i < s.count && !ok; i++)
        if (!tile_parse_find(p, s.names[i].name))
            tile_parse_define(p, s.names[i].name, s.names[i].loc, TILE_NO_VALUE);
    return ok;
}

static bool parse_statements(tile_parser *p, tile_region region, bool needs_yield) {
    bool ok = true;
    while (p->token.kind != TILE_TOKEN_END && !tile_parse_at(p, "}")) {
        const char *start = p->token.text;
        unsigned errors = tile_context_error_count(p->context);
        p->builder.loc = p->token.loc;
        if (parse_statement(p)) continue;
        ok = false;
        if (p->token.text == start || tile_context_error_count(p->context) > errors)
            tile_parse_recover(p, start);
    }
    tile_op last = tile_region_at(p->function, region)->last;
    p->builder.loc = p->token.loc;
    if (needs_yield && !(last.id && tile_op_at(p->function, last)->opcode == TILE_OP_yield))
        tile_build_yield(&p->builder, NULL, 0);
    return ok;
}

bool tile_parse_region(tile_parser *p, tile_region region, bool needs_yield) {
    if (!tile_parse_at(p, "{")) return tile_parse_expected(p, "'{'");
    if (p->depth >= TILE_PARSE_MAX_DEPTH) return tile_parse_too_deep(p, p->token.loc);
    tile_parse_advance(p);
    p->depth++;
    p->builder.region = region;
    p->builder.before = TILE_NO_OP;
    bool ok = parse_statements(p, region, needs_yield);
    p->depth--;
    return tile_parse_expect(p, "}") && ok;
}
