/* Reductions and scans by a function, which are written like those by a kind:
 *
 *     %v, %i = reduce (%x, %y) {axis = 0, combine = @f, identity = (0.0, 0)}
 *     %v, %i = reduce(%x, %y, axis = 0, combine = @f)
 *
 * They are operations of their own, reduce_with and scan_with, whose operands are a list. */
#include "lib/ops/combine.h"
#include "lib/text/parser.h"

static tile_opcode with_function(tile_opcode opcode) {
    return opcode == TILE_OP_reduce ? TILE_OP_reduce_with
           : opcode == TILE_OP_scan ? TILE_OP_scan_with
                                    : TILE_OP_NONE;
}

bool tile_parse_may_combine(tile_opcode opcode) {
    return with_function(opcode) != TILE_OP_NONE;
}

tile_attr_set tile_parse_call_attrs(tile_opcode opcode) {
    tile_attr_set allowed = tile_parse_allowed_attrs(tile_op_get_info(opcode));
    const tile_op_info *info = tile_op_get_info(with_function(opcode));
    for (unsigned i = 0; i < info->attr_count; i++) tile_attr_set_add(&allowed, info->attrs[i].id);
    return allowed;
}

/* "(" number,+ ")" */
static bool parse_identity(tile_parser *p, tile_invocation *call) {
    const tile_node **nodes = NULL;
    size_t count = 0, capacity = 0;
    tile_operand *identity = TILE_NEW(&p->arena, tile_operand);
    identity->loc = p->token.loc;
    if (call->identity) return tile_parse_error(p, p->token.loc, "'identity' is given twice");
    tile_parse_advance(p);
    if (!tile_parse_expect(p, "=")) return false;
    if (!tile_parse_take(p, "("))
        return tile_parse_expected(p,
                                   "a number in parentheses for each operand, `identity = (0.0)`");
    do {
        nodes = tile_arena_grow(&p->arena, nodes, count, &capacity, sizeof *nodes);
        if (!(nodes[count++] = tile_parse_node(p, TILE_PRECEDENCE_LOWEST))) return false;
    } while (tile_parse_take(p, ","));
    identity->brackets = true;
    identity->tail = nodes;
    identity->tail_count = (unsigned)count;
    call->identity = identity;
    return tile_parse_expect(p, ")");
}

bool tile_parse_combine_attr(tile_parser *p, tile_invocation *call) {
    if (tile_parse_at_word(p, "identity")) return parse_identity(p, call);
    return tile_parse_attr(p, tile_parse_call_attrs(call->opcode),
                           tile_op_get_info(call->opcode)->name, call->attrs, &call->attr_count);
}

bool tile_parse_combine_attrs(tile_parser *p, tile_invocation *call) {
    if (!tile_parse_expect(p, "{")) return false;
    do
        if (!tile_parse_combine_attr(p, call)) return false;
    while (tile_parse_take(p, ","));
    return tile_parse_expect(p, "}");
}

static bool has_attr(const tile_invocation *call, tile_attr_id id) {
    bool found = false;
    for (unsigned i = 0; i < call->attr_count; i++) found |= call->attrs[i].id == id;
    return found;
}

/* The operands become a list, which the identity follows. */
static bool list_operands(tile_parser *p, tile_invocation *call) {
    tile_operand *operands = TILE_NEW_ARRAY(&p->arena, tile_operand, 2);
    const tile_node **nodes = TILE_NEW_ARRAY(&p->arena, const tile_node *, call->count + 1u);
    for (unsigned i = 0; i < call->count; i++) {
        nodes[i] = call->operands[i].head;
        if (!nodes[i] || call->operands[i].brackets)
            return tile_parse_error(p, call->operands[i].loc,
                                    "%s: an operand must be a tile or a tensor",
                                    tile_opcode_spelling(call->opcode));
    }
    operands[0] = (tile_operand){
        .loc = call->loc, .tail = nodes, .tail_count = call->count, .brackets = true};
    if (call->identity) operands[1] = *call->identity;
    call->count = call->identity ? 2 : 1;
    call->operands = operands;
    return true;
}

/* Rejects attributes that only a reduction or scan by a function takes. */
static bool check_attrs(tile_parser *p, const tile_invocation *call) {
    const tile_op_info *info = tile_op_get_info(call->opcode);
    tile_attr_set allowed = tile_parse_allowed_attrs(info);
    for (unsigned i = 0; i < call->attr_count; i++)
        if (!tile_attr_set_has(allowed, call->attrs[i].id))
            return tile_parse_error(p, call->loc,
                                    "%s has no attribute '%s' without a func, `combine = @f`",
                                    tile_op_spelling(info), tile_attr_keyword(call->attrs[i].id));
    return true;
}

bool tile_parse_finish_combine(tile_parser *p, tile_invocation *call) {
    if (!tile_parse_may_combine(call->opcode)) return true;
    const char *name = tile_opcode_spelling(call->opcode);
    bool by_function = has_attr(call, TILE_ATTR_combine);
    if (by_function && has_attr(call, TILE_ATTR_kind))
        return tile_parse_error(p, call->loc,
                                "%s: it combines by a kind, `%s_add(..)`, or by a function, "
                                "`%s(.., combine = @f)`, not by both",
                                name, name, name);
    if (!by_function && call->identity)
        return tile_parse_error(p, call->identity->loc,
                                "%s: `identity` belongs to a function: `combine = @f`", name);
    if (!by_function) return check_attrs(p, call);
    call->opcode = with_function(call->opcode);
    return list_operands(p, call);
}
