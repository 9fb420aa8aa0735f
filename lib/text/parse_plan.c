/* Launches: the steps of a plan that have their own syntax. */
#include "lib/text/parser.h"

/* "(" [expr],* ")" */
static bool parse_arguments(tile_parser *p, tile_operand **operands, unsigned *count) {
    size_t used = 0, capacity = 0;
    *operands = NULL;
    if (!tile_parse_expect(p, "(")) return false;
    while (!tile_parse_at(p, ")")) {
        *operands = tile_arena_grow(&p->arena, *operands, used, &capacity, sizeof **operands);
        tile_operand *operand = &(*operands)[used++];
        *operand = (tile_operand){.loc = p->token.loc};
        if (!(operand->head = tile_parse_node(p, TILE_PRECEDENCE_LOWEST))) return false;
        if (!tile_parse_take(p, ",")) break;
    }
    *count = (unsigned)used;
    return tile_parse_expect(p, ")");
}

/* `@k<<<1, 128>>>(..)`, `@k[b = 64](..)`, `@k<64>(..)` */
static bool check_after_name(tile_parser *p, const char *kernel) {
    if (tile_parse_at(p, "<<"))
        return tile_parse_error(p, p->token.loc,
                                "a kernel has its own `grid` and `warps`: write `launch @%s(..)`",
                                kernel);
    bool brackets = tile_parse_at(p, "[");
    if (brackets || (tile_parse_at(p, "<") && p->next.kind == TILE_TOKEN_INT))
        return tile_parse_error(
            p, p->token.loc, "values of parameters have names: write `launch @%s<block = 64>(..)`",
            kernel);
    return true;
}

/* "launch" "@"ID [values] "(" [expr],* ")" [attrs] */
bool tile_parse_launch(tile_parser *p, const tile_statement *s) {
    const tile_op_info *info = tile_op_get_info(TILE_OP_launch);
    tile_attr_set in_braces = {{0}};
    tile_invocation call = {.loc = p->token.loc,
                            .opcode = TILE_OP_launch,
                            .attrs = {{.id = TILE_ATTR_callee}, {.id = TILE_ATTR_values}},
                            .attr_count = 2};
    tile_parsed_attr *callee = &call.attrs[0], *values = &call.attrs[1];
    tile_attr_set_add(&in_braces, TILE_ATTR_pdl);
    tile_attr_set_add(&in_braces, TILE_ATTR_resident);
    tile_attr_set_add(&in_braces, TILE_ATTR_otherwise);
    tile_parse_advance(p);
    callee->loc = p->token.loc;
    callee->text = tile_parse_name(p, TILE_TOKEN_SYMBOL, "a kernel such as @matmul");
    values->loc = p->token.loc;
    return callee->text && check_after_name(p, callee->text) &&
           tile_parse_param_values(p, &values->values, &values->count) &&
           parse_arguments(p, &call.operands, &call.count) &&
           tile_parse_attrs(p, in_braces, info->name, call.attrs, &call.attr_count) &&
           tile_parse_bind_results(p, s, tile_lower_op(p, &call, NULL), tile_op_spelling(info));
}
