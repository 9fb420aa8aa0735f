/* Converts operand expressions to values. Values determine the types of literals, so that all
 * operands that are not literals are lowered first. */
#include <math.h>
#include <string.h>

#include "lib/builder/builder.h"
#include "lib/builder/infer.h"
#include "lib/ir/operands.h"
#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/support/scalar.h"
#include "lib/text/parser.h"

static const tile_type *element_type(tile_parser *p, const tile_type *type) {
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar, .param = type->param};
    return tile_type_get(p->context, &draft);
}

static const tile_type *i32_type(tile_parser *p) {
    return tile_type_scalar(p->context, TILE_i32);
}

/* Constants ----------------------------------------------------------------------------------- */

static bool check_range(tile_parser *p, const tile_node *node, const tile_type *type,
                        int64_t value) {
    char range[TILE_RANGE_TEXT];
    bool negative = value < 0 && !node->is_large && tile_scalar_is_unsigned(type->scalar);
    return (tile_integer_fits(type->scalar, value) && !negative) ||
           tile_parse_error(p, node->loc,
                            "%lld does not fit %s: %s; write a number in that range, or use a type "
                            "that holds it",
                            (long long)value, tile_scalar_name(type->scalar),
                            tile_integer_range_text(type->scalar, range));
}

/* The type of an integer constant: the type in its literal, else the wanted one if the constant
 * fits. */
static const tile_type *host_type(tile_parser *p, const tile_node *node, const tile_type *wanted) {
    if (node->type) return node->type;
    const tile_type *own = node->is_truth ? tile_type_scalar(p->context, TILE_i1) : i32_type(p);
    if (!wanted || (wanted->scalar == TILE_i1) != node->is_truth) return own;
    bool number = node->expr->kind == TILE_EXPR_INT;
    return tile_scalar_is_floating(wanted->scalar) && !number ? own : wanted;
}

static tile_value lower_host(tile_parser *p, const tile_node *node, const tile_type *wanted) {
    const tile_type *type = host_type(p, node, wanted);
    int64_t value;
    if (p->function->kind != TILE_PLAN && !tile_parse_refuse_num_sms(p, node->loc, node->expr))
        return TILE_NO_VALUE;
    if (tile_expr_is_int(node->expr, &value) && !check_range(p, node, type, value))
        return TILE_NO_VALUE;
    p->builder.loc = node->loc;
    return tile_build_constant(&p->builder, type, node->expr);
}

/* If the type is a parameter, an integer fits any type. */
static tile_value lower_float(tile_parser *p, const tile_node *node, const tile_type *wanted) {
    const tile_type *type = node->type ? node->type : wanted;
    bool whole = fabs(node->number) < 1e9 && floor(node->number) == node->number;
    if (!type || (type->scalar && !tile_scalar_is_floating(type->scalar)))
        type = tile_type_scalar(p->context, TILE_f32);
    if (!type->scalar && !whole) {
        tile_parse_error(p, node->loc,
                         "'%s' may be an integer type: the constant must be an integer",
                         type->param);
        return TILE_NO_VALUE;
    }
    p->builder.loc = node->loc;
    return tile_build_constant(&p->builder, type,
                               type->scalar ? tile_expr_float(p->context, node->number)
                                            : tile_expr_int(p->context, (int64_t)node->number));
}

/* Nodes --------------------------------------------------------------------------------------- */

static tile_value lower_op_node(tile_parser *p, const tile_node *node, const tile_type *wanted,
                                const tile_type *expected) {
    tile_operand operands[3] = {{.loc = node->loc}};
    tile_invocation call = {.loc = node->loc, .opcode = node->opcode, .operands = operands};
    for (unsigned i = 0; i < 3 && node->args[i]; i++)
        operands[call.count++] = (tile_operand){.loc = node->args[i]->loc, .head = node->args[i]};
    if (tile_node_is_literal(node) && !tile_op_has_trait(node->opcode, TILE_TRAIT_COMPARE))
        call.given = wanted;
    tile_op op = tile_lower_op(p, &call, expected);
    return op.id ? tile_op_result(p->function, op, 0) : TILE_NO_VALUE;
}

/* A cast to the type that the value already has is the value itself. */
static bool is_named_cast(const tile_invocation *call) {
    return call->opcode == TILE_OP_cast && call->given && call->count == 1 &&
           call->given->kind == TILE_TYPE_SCALAR && call->operands[0].head &&
           !call->operands[0].brackets && !call->attr_count;
}

static tile_value lower_cast(tile_parser *p, const tile_invocation *call) {
    tile_value value = tile_lower_node(p, call->operands[0].head, NULL);
    const tile_type *type = value.id ? tile_value_type(p->function, value) : call->given;
    if ((type->kind == TILE_TYPE_SCALAR || tile_type_is_array(type)) &&
        type->scalar == call->given->scalar && type->param == call->given->param)
        return value;
    p->builder.loc = call->loc;
    return tile_build_cast(&p->builder, value, call->given);
}

static tile_value lower_call(tile_parser *p, const tile_invocation *call,
                             const tile_type *expected) {
    if (is_named_cast(call)) return lower_cast(p, call);
    tile_op op = tile_lower_op(p, call, expected);
    if (!op.id) return TILE_NO_VALUE;
    unsigned results = tile_op_result_count(p->function, op);
    if (results == 1) return tile_op_result(p->function, op, 0);
    static const char *const names[] = {"", "%x", "%x, %y", "%x, %y, %z"};
    bool few = results < sizeof names / sizeof *names;
    tile_parse_error(p, call->loc,
                     "'%s' has %u results and cannot be part of an expression; give it a line of "
                     "its own: `%s = %s%s`",
                     tile_parse_call_name(call), results, few ? names[results] : "%x, %y, ..",
                     tile_parse_call_name(call), call->count ? "(..)" : "");
    return TILE_NO_VALUE;
}

/* Returns whether `extents`, without an element type, are those of the type. */
static bool has_extents(tile_parser *p, const tile_type *type, const tile_type *extents) {
    tile_type draft = *type;
    if (!tile_type_is_extents(extents) || type->rank != extents->rank) return false;
    for (unsigned d = 0; d < type->rank; d++) draft.dims[d] = extents->dims[d];
    return tile_type_equal(p->context, tile_type_get(p->context, &draft), type);
}

/* A number with extents becomes every element. */
static tile_value lower_filled(tile_parser *p, const tile_node *node) {
    tile_value value = tile_lower_node(p, node->args[0], NULL);
    p->builder.loc = node->loc;
    return tile_build_splat(&p->builder, value, node->type);
}

/* The name of the last operation in the expression that takes a type but has none: the type that
 * follows the expression may have been meant for it. NULL if there is none. */
static const char *find_untyped(const tile_node *node) {
    while (node->kind == TILE_NODE_OP) {
        unsigned last = 0;
        while (last + 1 < 3 && node->args[last + 1]) last++;
        if (!node->args[last]) return NULL;
        node = node->args[last];
    }
    const tile_invocation *call = node->kind == TILE_NODE_CALL ? node->call : NULL;
    const tile_op_info *info = call ? tile_op_get_info(call->opcode) : NULL;
    return call && !call->given && !call->is_element && info->type_given ? tile_op_spelling(info)
                                                                         : NULL;
}

/* Whether an operand is a load without a type: the type that follows was meant for it. */
static bool has_untyped_load(const tile_node *node) {
    bool found = node->kind == TILE_NODE_CALL && node->call->opcode == TILE_OP_load &&
                 !node->call->given && !node->call->is_element;
    for (unsigned i = 0; i < 3 && node->kind == TILE_NODE_OP && node->args[i] && !found; i++)
        found = has_untyped_load(node->args[i]);
    return found;
}

/* Counts the calls that need a type and have none, in operators and their operands. */
static unsigned count_calls(const tile_node *node) {
    const tile_invocation *call = node->call;
    unsigned count = 0;
    if (node->kind == TILE_NODE_CALL)
        return !call->given && !call->is_element && tile_infer_needs_given(call->opcode);
    for (unsigned i = 0; i < 3 && node->kind == TILE_NODE_OP && node->args[i]; i++)
        count += count_calls(node->args[i]);
    return count;
}

bool tile_node_ends_in_call(const tile_node *node) {
    bool alone = count_calls(node) == 1;
    while (node->kind == TILE_NODE_OP && tile_infix_from_opcode(node->opcode)) node = node->args[1];
    return alone && node->kind == TILE_NODE_CALL && count_calls(node) == 1;
}

/* Moves the type after an expression to the call in which the expression ends. */
static const tile_node *type_last(tile_parser *p, const tile_node *node, const tile_type *type) {
    bool ends = node->kind == TILE_NODE_CALL;
    tile_node *typed = tile_parse_new_node(p, ends ? TILE_NODE_TYPED : node->kind, node->loc);
    if (!ends) *typed = *node;
    unsigned last = ends ? 0 : 1;
    typed->args[last] = ends ? node : type_last(p, node->args[1], type);
    if (ends) typed->type = type;
    return typed;
}

/* A type that follows an operation which takes one belongs to that operation. An element `%x[%i]`
 * takes none. The type after `%a == reshape(%b)` belongs to reshape, which needs one. */
static tile_value lower_typed(tile_parser *p, const tile_node *node) {
    const tile_invocation *call = node->args[0]->call;
    if (call && !call->given && !call->is_element && tile_op_get_info(call->opcode)->type_given) {
        tile_invocation typed = *call;
        typed.given = node->type;
        return lower_call(p, &typed, NULL);
    }
    if (!call && tile_node_ends_in_call(node->args[0]))
        return tile_lower_node(p, type_last(p, node->args[0], node->type), NULL);
    if (tile_type_is_extents(node->type) && tile_node_is_literal(node->args[0]))
        return lower_filled(p, node);
    tile_value value = tile_lower_node(p, node->args[0], node->type);
    const tile_type *type = value.id ? tile_value_type(p->function, value) : node->type;
    if (tile_type_equal(p->context, type, node->type) || has_extents(p, type, node->type))
        return value;
    tile_arena scratch = {0};
    const char *asked = tile_type_text(p->function, node->type, NULL, &scratch);
    const char *op = find_untyped(node->args[0]);
    const char *advice = tile_splat_advice(p->function, value, node->type, &scratch);
    if (node->args[0]->kind == TILE_NODE_OP && has_untyped_load(node->args[0]))
        advice = tile_arena_format(
            &scratch, "%s; for the type of the load put both in parentheses, (load .. : %s)",
            advice, asked);
    else if (op && !*advice)
        advice = tile_arena_format(
            &scratch, "; for the type of `%s` alone put both in parentheses, (%s(..) : %s)", op, op,
            asked);
    else if (!*advice && node->args[0]->kind == TILE_NODE_OP &&
             node->type->kind != TILE_TYPE_SCALAR)
        advice = tile_arena_format(
            &scratch, "; for the type of one operand put both in parentheses, (.. : %s)", asked);
    tile_parse_error(p, node->loc, "the expression is %s, not %s%s",
                     tile_type_text(p->function, type, NULL, &scratch), asked, advice);
    tile_arena_reset(&scratch);
    return TILE_NO_VALUE;
}

tile_value tile_lower_node(tile_parser *p, const tile_node *node, const tile_type *hint) {
    const tile_type *wanted = NULL, *expected = hint;
    if (node->kind == TILE_NODE_CALL) return lower_call(p, node->call, hint);
    if (node->kind == TILE_NODE_TYPED) return lower_typed(p, node);
    if (hint && tile_type_is_extents(hint)) hint = NULL;
    if (hint && (hint->kind == TILE_TYPE_SCALAR || tile_type_is_array(hint)))
        wanted = element_type(p, hint);
    tile_value value = node->value;
    if (node->kind == TILE_NODE_HOST)
        value = lower_host(p, node, wanted);
    else if (node->kind == TILE_NODE_FLOAT)
        value = lower_float(p, node, wanted);
    else if (node->kind == TILE_NODE_OP)
        value = lower_op_node(p, node, wanted, expected);
    bool widen = value.id && wanted && tile_type_is_array(hint) && tile_node_is_literal(node) &&
                 tile_value_type(p->function, value) == wanted;
    p->builder.loc = node->loc;
    return widen ? tile_build_splat(&p->builder, value, hint) : value;
}

/* Operations ---------------------------------------------------------------------------------- */

typedef struct lowering {
    tile_parser *p;
    tile_opcode opcode;
    const tile_op_info *info;
    const tile_operand *operands;
    const tile_type *given;
    tile_attr attrs[TILE_MAX_ATTRS]; /* those that determine the result's type */
    unsigned attr_count;
    const tile_type *hint;     /* for literals: the written type; NULL: no element type */
    const tile_type *expected; /* of an element-wise operation's operands, from its result */
    bool is_yield;
    const tile_invocation *func_call; /* NULL: it is no call of a func */
    struct {
        unsigned first, count; /* of the operands */
    } groups[TILE_MAX_OPERANDS];
    tile_value *heads;  /* by operand */
    tile_value **tails; /* by operand */
} lowering;

static bool form_fits(tile_operand_form form, const tile_operand *operand) {
    if (form == TILE_FORM_list || form == TILE_FORM_optlist) return !operand->head;
    return operand->head && (tile_form_has_brackets(form) || !operand->brackets);
}

/* A shared buffer does not match an optional operand if a later operand takes a buffer. */
static bool is_for_later(const lowering *l, unsigned place, const tile_operand *operand) {
    const tile_node *head = operand->head;
    if (!head || head->kind != TILE_NODE_VALUE || !head->value.id) return false;
    bool shared = tile_value_type(l->p->function, head->value)->kind == TILE_TYPE_SHARED;
    bool later = false;
    for (unsigned i = place + 1; i < l->info->operand_count; i++)
        later |= l->info->operands[i].class_ == TILE_CLASS_shared;
    return shared && later && l->info->operands[place].form == TILE_FORM_optional;
}

/* Only a buffer matches an optional barrier: the value may be a predicate instead. */
static bool is_no_barrier(const lowering *l, unsigned place, const tile_operand *operand) {
    const tile_node *head = operand->head;
    if (l->info->operands[place].form != TILE_FORM_optaddress ||
        l->info->operands[place].class_ != TILE_CLASS_barrier ||
        place + 1 == l->info->operand_count)
        return false;
    if (head->kind == TILE_NODE_VALUE && !head->value.id) return false; /* reported already */
    return head->kind != TILE_NODE_VALUE ||
           tile_value_type(l->p->function, head->value)->kind != TILE_TYPE_SHARED;
}

/* An operand that the row does not have. */
static bool refuse_more(const lowering *l, const tile_operand *operand) {
    const tile_node *head = operand->head;
    const char *name = tile_op_spelling(l->info), *advice = "";
    if (head && head->kind == TILE_NODE_VALUE && !head->value.id) return false; /* reported */
    if (!head && l->info->operands[0].form == TILE_FORM_variadic)
        advice = "; write them without brackets";
    else if (!l->info->operand_count && !l->info->attr_count)
        advice = tile_arena_format(
            &l->p->arena,
            "; it takes none, and further results get names of their own: `%%x, %%y = %s`", name);
    else if (tile_infer_needs_given(l->opcode))
        advice = tile_arena_format(
            &l->p->arena, "; the type of its result, with the extents, follows it: `(%s(..) : %s)`",
            name, l->info->operand_count ? "[64]" : "tile<i32[64]>");
    return tile_parse_error(l->p, operand->loc, "%s: too many operands%s", name, advice);
}

/* Assigns the parsed operands to the row's operands. */
static bool assign_operands(lowering *l, tile_loc loc, unsigned count) {
    unsigned at = 0;
    for (unsigned i = 0; i < l->info->operand_count; i++) {
        tile_operand_form form = l->info->operands[i].form;
        bool may_miss = tile_form_may_miss(form);
        l->groups[i].first = at;
        if (form == TILE_FORM_variadic) {
            for (; at < count && form_fits(form, &l->operands[at]); at++) l->groups[i].count++;
        } else if (at < count && form_fits(form, &l->operands[at]) &&
                   !is_for_later(l, i, &l->operands[at]) &&
                   !is_no_barrier(l, i, &l->operands[at])) {
            l->groups[i].count = 1;
            at++;
        } else if (!may_miss) {
            return at < count
                       ? tile_parse_error(
                             l->p, l->operands[at].loc, "%s: operand '%s' must be written %s",
                             tile_op_spelling(l->info), l->info->operands[i].name,
                             form == TILE_FORM_list ? "as a list in brackets" : "without brackets")
                       : tile_parse_error(l->p, loc, "%s: operand '%s' is missing",
                                          tile_op_spelling(l->info), l->info->operands[i].name);
        }
    }
    return at == count || refuse_more(l, &l->operands[at]);
}

static bool is_peer(const lowering *l, unsigned place, unsigned other) {
    return other != place && l->groups[other].count &&
           l->info->operands[other].class_ == l->info->operands[place].class_;
}

/* The type of another operand of the same class, which literals share. *known: there is one. */
static const tile_type *type_of_peer(const lowering *l, unsigned place, bool *known) {
    for (unsigned i = 0; i < l->info->operand_count; i++) {
        unsigned at = l->groups[i].first;
        if (!is_peer(l, place, i) || tile_node_is_literal(l->operands[at].head)) continue;
        *known = true;
        return l->heads[at].id ? tile_value_type(l->p->function, l->heads[at]) : NULL;
    }
    return NULL;
}

/* The type of literals: that of a typed literal, or f32 if one has a decimal point. */
static const tile_type *type_of_literals(const lowering *l, unsigned place) {
    const tile_type *type = NULL;
    bool point = false;
    for (unsigned i = 0; i < l->info->operand_count; i++) {
        if (!is_peer(l, place, i)) continue;
        const tile_node *head = l->operands[l->groups[i].first].head;
        type = type ? type : tile_node_literal_type(head);
        point |= tile_node_has_point(head);
    }
    return !type && point ? tile_type_scalar(l->p->context, TILE_f32) : type;
}

static const tile_type *type_of_memory(const lowering *l) {
    for (unsigned i = 0; i < l->info->operand_count; i++) {
        unsigned at = l->groups[i].first;
        bool memory = tile_form_has_brackets(l->info->operands[i].form) ||
                      l->info->operands[i].class_ == TILE_CLASS_view;
        if (memory && l->groups[i].count && l->heads[at].id)
            return element_type(l->p, tile_value_type(l->p->function, l->heads[at]));
    }
    return NULL;
}

/* The element type of an argument of a func: declared, given as the value of a parameter, or that
 * of another argument of the same type parameter. NULL if none of them is known. */
static const tile_type *type_of_argument(const lowering *l, unsigned index) {
    const tile_parsed_attr *name = &l->func_call->attrs[0], *values = &l->func_call->attrs[1];
    const tile_function *callee = tile_module_find(l->p->module, name->text);
    if (index >= callee->arg_count) return NULL;
    const tile_type *type = callee->args[index].type;
    if (!type->param) return type;
    for (unsigned i = 0; i < values->count; i++)
        if (strcmp(values->values[i].name, type->param) == 0) return values->values[i].type;
    for (unsigned i = 0; i < l->groups[0].count && i < callee->arg_count; i++)
        if (callee->args[i].type == type && l->heads[i].id)
            return element_type(l->p, tile_value_type(l->p->function, l->heads[i]));
    return NULL;
}

/* The type of a bare literal in this place. */
static const tile_type *hint_for(const lowering *l, unsigned place, unsigned index) {
    bool known = false, is_variadic = l->info->operands[place].form == TILE_FORM_variadic;
    switch (l->info->operands[place].class_) {
    case TILE_CLASS_index:
    case TILE_CLASS_long_index:
    case TILE_CLASS_constant: return i32_type(l->p);
    case TILE_CLASS_boolean: return tile_type_scalar(l->p->context, TILE_i1);
    case TILE_CLASS_tensor:
    case TILE_CLASS_tile:
    case TILE_CLASS_vector: return l->hint;
    case TILE_CLASS_scalar: return l->hint ? element_type(l->p, l->hint) : NULL;
    default: break;
    }
    if (l->func_call) return type_of_argument(l, index);
    if (is_variadic)
        return l->is_yield && index < l->p->yield_count ? l->p->yield_types[index] : NULL;
    const tile_type *peer = type_of_peer(l, place, &known);
    if (known) return peer;
    bool differs = l->info->traits & (TILE_TRAIT_COMPARE | TILE_TRAIT_CONVERT);
    const tile_type *wanted = l->hint && !differs ? l->hint : type_of_memory(l);
    return wanted ? wanted : type_of_literals(l, place);
}

/* The expected type of an operation in this place, if nothing else determines it. */
static const tile_type *expected_for(const lowering *l, unsigned place, unsigned index) {
    if (l->is_yield) return index < l->p->yield_count ? l->p->yield_types[index] : NULL;
    return l->info->operands[place].class_ == TILE_CLASS_boolean ? NULL : l->expected;
}

/* The type of a bare literal in a list: coordinates are i32, and an identity has the element type
 * of its operand, which is in the first list. */
static const tile_type *hint_for_tail(const lowering *l, unsigned place, unsigned index) {
    const tile_operand *first = l->operands;
    if (l->info->operands[place].form != TILE_FORM_optlist ||
        l->info->operands[place].class_ != TILE_CLASS_scalar)
        return i32_type(l->p);
    bool known = index < first->tail_count && l->tails[0][index].id;
    return known ? element_type(l->p, tile_value_type(l->p->function, l->tails[0][index])) : NULL;
}

/* Lowers the heads that are literals, or those that are not, with all indices. */
static bool lower_heads(lowering *l, bool literals) {
    bool complete = true;
    for (unsigned i = 0; i < l->info->operand_count; i++)
        for (unsigned k = 0; k < l->groups[i].count; k++) {
            unsigned at = l->groups[i].first + k;
            const tile_operand *operand = &l->operands[at];
            if (operand->head && tile_node_is_literal(operand->head) == literals) {
                const tile_type *hint = literals ? hint_for(l, i, k) : expected_for(l, i, k);
                l->heads[at] = tile_lower_node(l->p, operand->head, hint);
                complete &= l->heads[at].id != 0;
            }
            for (unsigned t = 0; t < operand->tail_count && !literals; t++) {
                l->tails[at][t] = tile_lower_node(l->p, operand->tail[t], hint_for_tail(l, i, t));
                complete &= l->tails[at][t].id != 0;
            }
        }
    return complete;
}

static tile_op build(lowering *l, tile_loc loc, tile_opcode opcode) {
    tile_segment segments[TILE_MAX_OPERANDS] = {{{0}, NULL, 0}};
    for (unsigned i = 0; i < l->info->operand_count; i++) {
        unsigned at = l->groups[i].first;
        if (l->info->operands[i].form == TILE_FORM_variadic)
            segments[i] = (tile_segment){{0}, l->heads + at, l->groups[i].count};
        else if (l->groups[i].count)
            segments[i] = (tile_segment){l->heads[at], l->tails[at], l->operands[at].tail_count};
    }
    l->p->builder.loc = loc;
    return tile_build_op_of(&l->p->builder, opcode, segments, l->info->operand_count, l->given,
                            l->attrs, l->attr_count);
}

/* Operands of an element-wise operation have the result's type, unless the row permits others. */
static const tile_type *expected_of_operands(const tile_op_info *info, const tile_type *result) {
    bool alike = info->traits & TILE_TRAIT_ELEMENTWISE && !info->type_given &&
                 !(info->traits & (TILE_TRAIT_COMPARE | TILE_TRAIT_CONVERT));
    return alike ? result : NULL;
}

/* Reads the attributes that are numbers and words. */
static void read_attrs(lowering *l, const tile_invocation *call) {
    for (unsigned i = 0; i < call->attr_count; i++)
        l->attrs[l->attr_count++] = (tile_attr){.id = call->attrs[i].id,
                                                .expr = call->attrs[i].expr,
                                                .text = call->attrs[i].text,
                                                .list = call->attrs[i].list,
                                                .values = call->attrs[i].values,
                                                .count = call->attrs[i].count};
}

/* The operation that has the attributes: an access whose result is reshaped has its own. */
static tile_op with_attrs(const tile_function *f, tile_op op, tile_opcode opcode) {
    bool reshaped = op.id && opcode != TILE_OP_reshape && tile_op_opcode(f, op) == TILE_OP_reshape;
    return reshaped ? tile_value_def(f, tile_operand_src(f, op)) : op;
}

tile_op tile_lower_op(tile_parser *p, const tile_invocation *call, const tile_type *expected) {
    const tile_op_info *info = tile_op_get_info(call->opcode);
    unsigned count = call->count;
    lowering l = {.p = p,
                  .opcode = call->opcode,
                  .info = info,
                  .operands = call->operands,
                  .given = call->given};
    if (!l.given && tile_infer_needs_given(call->opcode)) l.given = expected;
    l.hint = l.given && tile_type_is_extents(l.given) ? NULL : l.given;
    l.expected = expected_of_operands(info, l.given ? l.given : expected);
    l.is_yield = call->opcode == TILE_OP_yield;
    l.func_call = call->opcode == TILE_OP_call ? call : NULL;
    read_attrs(&l, call);
    if (!assign_operands(&l, call->loc, count)) return TILE_NO_OP;
    l.heads = TILE_NEW_ARRAY(&p->arena, tile_value, count + 1u);
    l.tails = TILE_NEW_ARRAY(&p->arena, tile_value *, count + 1u);
    for (unsigned i = 0; i < count; i++)
        l.tails[i] = TILE_NEW_ARRAY(&p->arena, tile_value, call->operands[i].tail_count + 1u);
    bool complete = lower_heads(&l, false);
    complete &= lower_heads(&l, true);
    tile_op op = complete ? build(&l, call->loc, call->opcode) : TILE_NO_OP;
    tile_parse_set_attrs(p, with_attrs(p->function, op, call->opcode), call->attrs,
                         call->attr_count);
    return op;
}
