/* Operations with regions: `for`, `while`, `if`, `roles`, `parallel`. A region is parsed even if
 * its operation could not be built, to report the errors in it. */
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/regions.h"
#include "lib/text/parser.h"

/* Headers ------------------------------------------------------------------------------------- */

static const tile_value *parse_bound(tile_parser *p, const char *word, tile_value *value) {
    if (!(*word == '=' ? tile_parse_expect(p, word) : tile_parse_expect_word(p, word))) return NULL;
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!node) return NULL;
    *value = tile_lower_node(p, node, tile_type_scalar(p->context, TILE_i32));
    return value;
}

typedef struct loop {
    tile_value begin, end, step; /* of a `for` */
    tile_binding iv;
    tile_binding *carried;
    tile_value *inits;
    size_t count, capacity, init_capacity;
    tile_parsed_attr attrs[TILE_MAX_ATTRS];
    unsigned attr_count;
} loop;

static bool parse_binding(tile_parser *p, const char *what, tile_binding *name) {
    name->loc = p->token.loc;
    name->name = tile_parse_name(p, TILE_TOKEN_VALUE, what);
    return name->name != NULL;
}

/* "iter" "(" ("%"ID "=" expr),+ ")" */
static bool parse_iter(tile_parser *p, loop *l) {
    if (!tile_parse_take_word(p, "iter")) return true;
    if (!tile_parse_expect(p, "(")) return false;
    do {
        l->carried =
            tile_arena_grow(&p->arena, l->carried, l->count, &l->capacity, sizeof *l->carried);
        l->inits =
            tile_arena_grow(&p->arena, l->inits, l->count, &l->init_capacity, sizeof *l->inits);
        tile_binding *name = &l->carried[l->count];
        if (!parse_binding(p, "a carried value such as %sum", name)) return false;
        if (tile_parse_at(p, ":"))
            return tile_parse_error(p, p->token.loc,
                                    "the type follows the first value: `%%%s = .. : tile<f32[64]>`",
                                    name->name);
        if (!tile_parse_expect(p, "=")) return false;
        const tile_node *node = tile_parse_typed_node(p);
        if (!node) return false;
        l->inits[l->count++] = tile_lower_node(p, node, NULL);
    } while (tile_parse_take(p, ","));
    return tile_parse_expect(p, ")");
}

/* "," WORD: the strategy of `split`, which follows the factor without a name. */
static bool parse_strategy(tile_parser *p, loop *l) {
    tile_parsed_attr *attr = &l->attrs[l->attr_count++];
    *attr = (tile_parsed_attr){.id = TILE_ATTR_strategy};
    if (!tile_parse_take(p, ","))
        return tile_parse_error(p, p->token.loc,
                                "`split` takes a factor and a strategy, as in `split (8, serial)`");
    return tile_parse_attr_word(p, "split", attr);
}

/* ID "(" expr {"," ID "=" value} ")": an attribute of the loop with its sub-attributes, or the flag
 * `independent`. */
static bool parse_loop_clause(tile_parser *p, const tile_op_info *info, loop *l) {
    tile_attr_set allowed = tile_parse_allowed_attrs(info);
    tile_attr_id id = tile_attr_from_keyword(p->token.text, p->token.length);
    bool known =
        tile_attr_set_has(allowed, id) && (tile_attr_get_info(id)->kind == TILE_KIND_expr ||
                                           tile_attr_get_info(id)->kind == TILE_KIND_flag);
    if (!known && tile_attr_set_has(allowed, id))
        return tile_parse_error(p, p->token.loc, "write '%s' between the parentheses of `%s (..)`",
                                tile_attr_keyword(id),
                                id == TILE_ATTR_strategy ? "split" : "pipelined");
    if (!known && tile_parse_foreign(p, TILE_FOREIGN_CLAUSE)) return false;
    if (!known && tile_opcode_from_name(p->token.text, p->token.length))
        return tile_parse_expected_body(p);
    if (!known) return tile_parse_unknown_attr(p, allowed, info->name);
    for (unsigned i = 0; i < l->attr_count; i++)
        if (l->attrs[i].id == id)
            return tile_parse_error(p, p->token.loc, "'%s' is given twice", tile_attr_keyword(id));
    tile_parse_advance(p);
    tile_parsed_attr *attr = &l->attrs[l->attr_count++];
    *attr = (tile_parsed_attr){.id = id};
    if (tile_attr_get_info(id)->kind == TILE_KIND_flag) return true;
    if (!tile_parse_take(p, "("))
        return tile_parse_error(p, p->token.loc,
                                "'%s' takes a number in parentheses, as in `%s (%s)`",
                                tile_attr_keyword(id), tile_attr_keyword(id),
                                id == TILE_ATTR_split ? "8, serial" : "4");
    attr->expr = tile_parse_host_expr(p, TILE_PRECEDENCE_LOWEST, false);
    if (!attr->expr) return false;
    if (id == TILE_ATTR_split && !parse_strategy(p, l)) return false;
    while (id != TILE_ATTR_split && tile_parse_take(p, ","))
        if (!tile_parse_attr(p, allowed, info->name, l->attrs, &l->attr_count)) return false;
    return tile_parse_expect(p, ")");
}

static bool parse_step(tile_parser *p, tile_value *step) {
    *step = tile_build_int(&p->builder, 1);
    return !tile_parse_at_word(p, "step") || parse_bound(p, "step", step);
}

static bool parse_loop_header(tile_parser *p, const tile_op_info *info, loop *l) {
    if (p->token.kind == TILE_TOKEN_WORD && p->next.kind == TILE_TOKEN_PUNCT &&
        *p->next.text == '=')
        return tile_parse_error(p, p->token.loc,
                                "a value's name begins with %%: write `for %%%.*s = ..`",
                                (int)p->token.length, p->token.text);
    if (p->token.kind != TILE_TOKEN_VALUE)
        return tile_parse_expected(p, "a loop's header, `for %i = 0 to %n step 64 {`");
    if (!parse_binding(p, "the loop's variable such as %i", &l->iv)) return false;
    if (tile_parse_at_word(p, "in")) return !tile_parse_foreign(p, TILE_FOREIGN_WORD);
    if (!parse_bound(p, "=", &l->begin) || !parse_bound(p, "to", &l->end) ||
        !parse_step(p, &l->step) || !parse_iter(p, l))
        return false;
    while (p->token.kind == TILE_TOKEN_WORD)
        if (!parse_loop_clause(p, info, l)) return false;
    return tile_parse_at(p, "{") || tile_parse_expected_body(p);
}

/* Regions ------------------------------------------------------------------------------------- */

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

/* The expected types of region r's yield: *count of them, in the parser's arena. */
static const tile_type **wanted_types(tile_parser *p, tile_op op, unsigned r, unsigned *count) {
    const tile_function *f = p->function;
    unsigned own = tile_shape_own_yields(tile_shape_of(f, op), r);
    *count = own + tile_carried_count(f, op);
    const tile_type **types = TILE_NEW_ARRAY(&p->arena, const tile_type *, *count + 1u);
    for (unsigned i = 0; i < *count; i++)
        types[i] = i < own ? tile_type_scalar(p->context, TILE_i1)
                           : tile_value_type(f, tile_op_result(f, op, i - own));
    return types;
}

/* Parses region r of op; its arguments get these names. */
static bool parse_region_of(tile_parser *p, tile_op op, unsigned r, const tile_binding *names,
                            size_t name_count) {
    unsigned yields = 0;
    const tile_type **types = op.id ? wanted_types(p, op, r, &yields) : NULL;
    tile_region region = op.id ? tile_op_region(p->function, op, r)
                               : tile_add_region(p->function, TILE_NO_OP, NULL, 0);
    saved outer = enter_region(p, types, yields);
    bool ok = true;
    for (size_t i = 0; i < name_count; i++)
        ok &= tile_parse_bind(p, &names[i], tile_region_arg(p->function, region, (unsigned)i));
    ok &= tile_parse_region(p, region, true);
    leave_region(p, &outer);
    return ok;
}

/* Returns whether all values in the header could be built. */
static bool has_inits(const loop *l) {
    bool complete = true;
    for (size_t i = 0; i < l->count; i++) complete &= l->inits[i].id != 0;
    return complete;
}

static bool parse_for(tile_parser *p, const tile_statement *s, const tile_op_info *info) {
    tile_loc loc = p->token.loc;
    loop l = {.attr_count = 0};
    tile_parse_advance(p);
    if (!parse_loop_header(p, info, &l)) {
        if (l.iv.name && !tile_parse_find(p, l.iv.name)) /* its uses are not reported */
            tile_parse_define(p, l.iv.name, l.iv.loc, TILE_NO_VALUE);
        return false;
    }
    p->builder.loc = loc;
    tile_op op = TILE_NO_OP;
    if (l.begin.id && l.end.id && l.step.id && has_inits(&l))
        op = tile_build_for_loop(&p->builder, l.begin, l.end, l.step, l.inits, (unsigned)l.count);
    tile_parse_set_attrs(p, op, l.attrs, l.attr_count);
    tile_binding *names = TILE_NEW_ARRAY(&p->arena, tile_binding, l.count + 1);
    names[0] = l.iv;
    for (size_t i = 0; i < l.count; i++) names[i + 1] = l.carried[i];
    bool ok = parse_region_of(p, op, 0, names, l.count + 1);
    return tile_parse_bind_results(p, s, op, tile_op_spelling(info)) && ok;
}

/* "do" ["(" "%"ID,+ ")"]: the number of names must equal the number of carried values. */
static bool parse_do(tile_parser *p, size_t count, tile_binding *names) {
    if (!tile_parse_expect_word(p, "do")) return false;
    for (size_t i = 0; i < count; i++)
        if (!tile_parse_expect(p, i ? "," : "(") ||
            !parse_binding(p, "a carried value such as %sum", &names[i]))
            return false;
    if (count && !tile_parse_expect(p, ")")) return false;
    return tile_parse_at(p, "{") || tile_parse_expected_body(p);
}

static bool parse_while(tile_parser *p, const tile_statement *s, const tile_op_info *info) {
    tile_loc loc = p->token.loc;
    loop l = {.attr_count = 0};
    tile_parse_advance(p);
    if (!parse_iter(p, &l)) return false;
    if (!tile_parse_at(p, "{"))
        return tile_parse_error(
            p, p->token.loc,
            "a region computes the condition of a `while`: write `while iter (%%a = 0) "
            "{ yield %%a < %%n, %%a } do (%%b) { yield %%b + 1 }`");
    p->builder.loc = loc;
    tile_op op = TILE_NO_OP;
    if (has_inits(&l)) op = tile_build_while_loop(&p->builder, l.inits, (unsigned)l.count);
    bool ok = parse_region_of(p, op, 0, l.carried, l.count);
    tile_binding *names = TILE_NEW_ARRAY(&p->arena, tile_binding, l.count + 1);
    if (!parse_do(p, l.count, names)) return false;
    ok &= parse_region_of(p, op, 1, names, l.count);
    return tile_parse_bind_results(p, s, op, tile_op_spelling(info)) && ok;
}

/* The types of a region's yielded values: *count of them, in the parser's arena. */
static const tile_type **yielded_types(tile_parser *p, tile_region region, unsigned *count) {
    const tile_function *f = p->function;
    tile_op yield = tile_region_yield(f, region);
    *count = tile_op_operand_count(f, yield);
    const tile_type **types = TILE_NEW_ARRAY(&p->arena, const tile_type *, *count + 1);
    for (unsigned i = 0; i < *count; i++)
        types[i] = tile_value_type(f, tile_op_operand(f, yield, i));
    return types;
}

static void move_ops(tile_function *f, tile_region from, tile_region to) {
    for (tile_op op = tile_region_at(f, from)->first, next; op.id; op = next) {
        next = tile_op_at(f, op)->next;
        tile_move_op(f, op, to, TILE_NO_OP);
    }
}

/* The result types of an `if` are known only after its first region has been parsed, so both
 * regions are parsed separately and moved into it. */
static bool parse_if(tile_parser *p, const tile_statement *s, const tile_op_info *info) {
    tile_loc loc = p->token.loc;
    tile_function *f = p->function;
    tile_parse_advance(p);
    const char *start = p->token.text - (p->token.kind == TILE_TOKEN_VALUE);
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    bool poison = node && node->kind == TILE_NODE_VALUE && !node->value.id; /* reported */
    if (node && tile_parse_at(p, "="))
        return !poison &&
               tile_parse_equals(
                   p, tile_arena_format(&p->arena, "%.*s", (int)strcspn(start, "=\n "), start));
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
        if (count)
            return tile_parse_error(p, loc,
                                    "an `if` with results needs `else { yield .. }`, with as many "
                                    "values");
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
    return tile_parse_bind_results(p, s, op, tile_op_spelling(info)) && ok;
}

/* "sync" "explicit" region: its result types are known after the region has been parsed. */
static bool parse_sync_explicit(tile_parser *p, const tile_statement *s) {
    tile_loc loc = p->token.loc;
    tile_function *f = p->function;
    unsigned count;
    tile_parse_advance(p);
    tile_parse_advance(p);
    tile_region body = tile_add_region(f, TILE_NO_OP, NULL, 0);
    saved outer = enter_region(p, NULL, 0);
    bool ok = tile_parse_region(p, body, true);
    leave_region(p, &outer);
    const tile_type **types = yielded_types(p, body, &count);
    p->builder.loc = loc;
    tile_op op = ok ? tile_build_sync_explicit(&p->builder, types, count) : TILE_NO_OP;
    if (op.id) move_ops(f, body, tile_op_region(f, op, 0));
    return tile_parse_bind_results(p, s, op, "sync explicit") && ok;
}

bool tile_parse_at_sync_explicit(const tile_parser *p) {
    static const char word[] = "explicit";
    return tile_parse_at_word(p, "sync") && p->next.kind == TILE_TOKEN_WORD &&
           p->next.length == sizeof word - 1 && memcmp(p->next.text, word, p->next.length) == 0;
}

/* Roles --------------------------------------------------------------------------------------- */

typedef struct parsed_role {
    tile_value warps, groups, registers;
    tile_binding group; /* no name if it is absent */
    tile_region region;
} parsed_role;

/* WORD expr */
static bool parse_role_number(tile_parser *p, const char *word, tile_value *value) {
    if (!tile_parse_take_word(p, word)) return true;
    const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
    if (!node) return false;
    *value = tile_lower_node(p, node, tile_type_scalar(p->context, TILE_i32));
    return true;
}

/* "warps" expr ["groups" expr] ["registers" expr] ["as" "%"ID] */
static bool parse_role_header(tile_parser *p, parsed_role *role) {
    if (!tile_parse_at_word(p, "warps"))
        return tile_parse_expected(
            p,
            "'warps', the first word of a role, as in `roles { warps 1 { .. } warps 4 { .. } }`");
    if (!parse_role_number(p, "warps", &role->warps) ||
        !parse_role_number(p, "groups", &role->groups) ||
        !parse_role_number(p, "registers", &role->registers) ||
        (tile_parse_take_word(p, "as") &&
         !parse_binding(p, "the group's number, such as %g", &role->group)))
        return false;
    return tile_parse_at(p, "{") ||
           tile_parse_expected(p, "'groups', 'registers', 'as' or '{', in this order");
}

static bool parse_role_body(tile_parser *p, parsed_role *role) {
    const tile_type *i32 = tile_type_scalar(p->context, TILE_i32);
    role->region = tile_add_region(p->function, TILE_NO_OP, &i32, 1);
    saved outer = enter_region(p, NULL, 0);
    bool ok = !role->group.name ||
              tile_parse_bind(p, &role->group, tile_region_arg(p->function, role->region, 0));
    ok &= tile_parse_region(p, role->region, true);
    leave_region(p, &outer);
    return ok;
}

static tile_op build_roles(tile_parser *p, const parsed_role *roles, size_t count) {
    tile_value *lists[3];
    for (unsigned i = 0; i < 3; i++) lists[i] = TILE_NEW_ARRAY(&p->arena, tile_value, count + 1);
    for (size_t r = 0; r < count; r++) {
        lists[0][r] = roles[r].warps;
        lists[1][r] = roles[r].groups;
        lists[2][r] = roles[r].registers;
    }
    tile_op op =
        tile_build_role_regions(&p->builder, lists[0], lists[1], lists[2], (unsigned)count);
    for (unsigned r = 0; r < count && op.id; r++)
        tile_adopt_region(p->function, op, r, roles[r].region);
    return op;
}

static bool parse_roles(tile_parser *p, const tile_statement *s, const tile_op_info *info) {
    tile_loc loc = p->token.loc;
    parsed_role *roles = NULL;
    size_t count = 0, capacity = 0;
    bool ok = true;
    tile_parse_advance(p);
    if (!tile_parse_expect(p, "{")) return false;
    do {
        const char *start = p->token.text;
        roles = tile_arena_grow(&p->arena, roles, count, &capacity, sizeof *roles);
        roles[count] = (parsed_role){.groups = tile_build_int(&p->builder, 1),
                                     .registers = tile_build_int(&p->builder, 0)};
        if (parse_role_header(p, &roles[count])) {
            ok &= parse_role_body(p, &roles[count++]);
        } else {
            tile_parse_recover(p, start);
            ok = false;
        }
    } while (!tile_parse_at(p, "}") && p->token.kind != TILE_TOKEN_END);
    if (!tile_parse_expect(p, "}") || !ok) return false;
    p->builder.loc = loc;
    return tile_parse_bind_results(p, s, build_roles(p, roles, count), tile_op_spelling(info));
}

/* Parallel ------------------------------------------------------------------------------------ */

typedef struct parsed_elements {
    tile_binding names[TILE_MAX_RANK];
    tile_value extents[TILE_MAX_RANK];
    unsigned rank, extent_count;
    const tile_type **given; /* the types that the text gives, in the parser's arena */
    size_t given_count, given_capacity;
} parsed_elements;

/* "(" "%"ID,+ ")" */
static bool parse_coordinates(tile_parser *p, parsed_elements *e) {
    if (!tile_parse_take(p, "("))
        return tile_parse_expected(p, "the coordinates, as in `parallel (%i) in [64] {`");
    do {
        if (e->rank == TILE_MAX_RANK)
            return tile_parse_error(p, p->token.loc,
                                    "parallel has up to %d dims; combine several into one, and "
                                    "separate them with `/` and `rem`",
                                    TILE_MAX_RANK);
        if (!parse_binding(p, "a coordinate such as %i", &e->names[e->rank])) return false;
        e->rank++;
    } while (tile_parse_take(p, ","));
    return tile_parse_expect(p, ")");
}

/* "in" "[" expr,+ "]" */
static bool parse_extents(tile_parser *p, parsed_elements *e) {
    tile_loc loc = p->token.loc;
    if (!tile_parse_expect_word(p, "in") || !tile_parse_expect(p, "[")) return false;
    do {
        const tile_node *node = tile_parse_node(p, TILE_PRECEDENCE_LOWEST);
        if (!node) return false;
        tile_value extent = tile_lower_node(p, node, tile_type_scalar(p->context, TILE_i32));
        if (!extent.id) return false;
        if (e->extent_count < TILE_MAX_RANK) e->extents[e->extent_count] = extent;
        e->extent_count++;
    } while (tile_parse_take(p, ","));
    if (!tile_parse_expect(p, "]")) return false;
    return e->extent_count == e->rank ||
           tile_parse_error(p, loc, "parallel has %u coordinates and %u extents", e->rank,
                            e->extent_count);
}

/* [":" type,+]: the types of the results, whose layouts are not in the region; one for all, or one
 * for each. */
static bool parse_given_types(tile_parser *p, parsed_elements *e) {
    if (!tile_parse_take(p, ":")) return true;
    do {
        const tile_type *type = tile_parse_type(p);
        if (!type) return false;
        e->given = tile_arena_grow(&p->arena, e->given, e->given_count, &e->given_capacity,
                                   sizeof *e->given);
        e->given[e->given_count++] = type;
    } while (tile_parse_take(p, ","));
    return true;
}

/* Replaces each type by the given one, which may add a layout. */
static bool apply_given_types(tile_parser *p, const parsed_elements *e, tile_loc loc,
                              const tile_type **types, unsigned count) {
    if (!e->given_count) return true;
    if (e->given_count != 1 && e->given_count != count)
        return tile_parse_error(p, loc, "parallel: %zu types for %u results; write one for each",
                                e->given_count, count);
    for (unsigned i = 0; i < count; i++) {
        const tile_type *given = e->given[e->given_count == 1 ? 0 : i];
        tile_type draft = *given;
        draft.layout = NULL;
        if (tile_type_get(p->context, &draft) != types[i]) {
            tile_arena scratch = {0};
            tile_parse_error(p, loc,
                             "parallel: result %u is %s by its extents and its element, "
                             "not %s; omit the type",
                             i, tile_type_text(p->function, types[i], NULL, &scratch),
                             tile_type_text(p->function, given, NULL, &scratch));
            tile_arena_reset(&scratch);
            return false;
        }
        types[i] = given;
    }
    return true;
}

/* Tiles of these extents with the types that the region yields; *count of them, in the parser's
 * arena. NULL after an error. */
static const tile_type **tiles_of_yield(tile_parser *p, const parsed_elements *e,
                                        tile_region region, tile_loc loc, unsigned *count) {
    const tile_type **types = yielded_types(p, region, count);
    for (unsigned i = 0; i < *count; i++) {
        if (!types[i]) return NULL; /* reported already */
        tile_type draft = {.kind = TILE_TYPE_TILE,
                           .scalar = types[i]->scalar,
                           .param = types[i]->param,
                           .rank = (uint8_t)e->rank};
        if (types[i]->kind != TILE_TYPE_SCALAR) {
            tile_parse_error(p, loc, "parallel: the region must yield elements, which are scalars");
            return NULL;
        }
        for (unsigned d = 0; d < e->rank; d++) {
            draft.dims[d] = tile_value_as_expr(p->function, e->extents[d]);
            if (draft.dims[d]) continue;
            tile_parse_error(p, loc, "parallel: the extents must be numbers or parameters");
            return NULL;
        }
        types[i] = tile_type_get(p->context, &draft);
    }
    return types;
}

/* The result types are known after the region has been parsed. */
static bool parse_parallel(tile_parser *p, const tile_statement *s, const tile_op_info *info) {
    tile_loc loc = p->token.loc;
    tile_function *f = p->function;
    parsed_elements e = {.rank = 0};
    const tile_type *args[TILE_MAX_RANK];
    tile_parse_advance(p);
    if (!parse_coordinates(p, &e) || !parse_extents(p, &e) || !parse_given_types(p, &e))
        return false;
    for (unsigned d = 0; d < e.rank; d++) args[d] = tile_type_scalar(p->context, TILE_i32);
    tile_region body = tile_add_region(f, TILE_NO_OP, args, e.rank);
    saved outer = enter_region(p, NULL, 0);
    bool ok = true;
    for (unsigned d = 0; d < e.rank; d++)
        ok &= tile_parse_bind(p, &e.names[d], tile_region_arg(f, body, d));
    ok &= tile_parse_region(p, body, true);
    leave_region(p, &outer);
    unsigned count = 0;
    const tile_type **types = ok ? tiles_of_yield(p, &e, body, loc, &count) : NULL;
    if (types && !apply_given_types(p, &e, loc, types, count)) types = NULL;
    p->builder.loc = loc;
    tile_op op =
        types ? tile_build_parallel(&p->builder, e.extents, e.rank, types, count) : TILE_NO_OP;
    if (op.id) tile_adopt_region(f, op, 0, body);
    return tile_parse_bind_results(p, s, op, tile_op_spelling(info)) && ok;
}

bool tile_parse_control(tile_parser *p, const tile_statement *s, tile_opcode opcode) {
    const tile_op_info *info = tile_op_get_info(opcode);
    switch (info->shape) {
    case TILE_SHAPE_LOOP: return parse_for(p, s, info);
    case TILE_SHAPE_WHILE: return parse_while(p, s, info);
    case TILE_SHAPE_BRANCH: return parse_if(p, s, info);
    case TILE_SHAPE_BODY:
        if (opcode == TILE_OP_roles) return parse_roles(p, s, info);
        if (opcode != TILE_OP_sync_explicit) break;
        if (tile_parse_at_sync_explicit(p)) return parse_sync_explicit(p, s);
        return tile_parse_error(p, p->token.loc, "it is written `sync explicit {..}`");
    case TILE_SHAPE_ELEMENTS: return parse_parallel(p, s, info);
    case TILE_SHAPE_NONE: break;
    }
    return tile_parse_error(p, p->token.loc, "'%s' has no text form", tile_op_spelling(info));
}
