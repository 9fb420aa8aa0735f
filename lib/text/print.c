/* The printer of the text form: its output parses to the same module. Operations are printed in
 * their own form, never as operators; constants are printed where they are used. */
#include "lib/ir/describe.h"
#include "lib/ir/print_names.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/ops/atomic.h"
#include "lib/text/printer.h"

/* Operations ---------------------------------------------------------------------------------- */

/* An unused result of an operation with side effects. */
static bool is_unnamed(const tile_printer *p, const tile_op_data *data) {
    return tile_op_has_trait((tile_opcode)data->opcode, TILE_TRAIT_SIDE_RESULT) &&
           data->result_count && !p->names[data->first_result.id];
}

static void print_result_names(tile_printer *p, const tile_op_data *data) {
    if (is_unnamed(p, data)) return;
    for (uint32_t i = 0; i < data->result_count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        tile_print_value(p, (tile_value){data->first_result.id + i});
    }
    if (data->result_count) PRINT(p, " = ");
}

/* Results of equal types print it once. */
static void print_result_types(tile_printer *p, const tile_op_data *data) {
    bool same = true;
    if (is_unnamed(p, data)) return;
    const tile_type *first = tile_value_type(p->f, data->first_result);
    for (uint32_t i = 1; i < data->result_count; i++)
        same &= tile_value_type(p->f, (tile_value){data->first_result.id + i}) == first;
    for (uint32_t i = 0; i < (same && data->result_count ? 1 : data->result_count); i++) {
        PRINT(p, "%s", i ? ", " : " : ");
        tile_print_type(p, tile_value_type(p->f, (tile_value){data->first_result.id + i}));
    }
}

static void print_operand(tile_printer *p, tile_operand_form form, const tile_value *values,
                          unsigned count) {
    bool list = form == TILE_FORM_list || form == TILE_FORM_optlist;
    bool element = tile_form_has_brackets(form);
    if (element) {
        tile_print_value(p, values[0]);
        values++;
        count--;
    }
    if (list || (element && count)) PRINT(p, "[");
    tile_print_values(p, values, count);
    if (list || (element && count)) PRINT(p, "]");
}

static void print_operands(tile_printer *p, tile_op op, const tile_op_info *info) {
    const char *before = " ";
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(p->f, op, i);
        if (!values.count && info->operands[i].form != TILE_FORM_list) continue;
        PRINT(p, "%s", before);
        print_operand(p, info->operands[i].form, values.at, values.count);
        before = ", ";
    }
}

static void print_region(tile_printer *p, tile_region region);

/* , WORD */
static void print_strategy(tile_printer *p, tile_op op) {
    const tile_attr *strategy = tile_op_attr(p->f, op, TILE_ATTR_strategy);
    if (!strategy) return;
    PRINT(p, ", %s", tile_print_word(p, strategy));
}

static bool goes_with_pipelined(tile_attr_id id) {
    return tile_attr_get_info(id)->kind == TILE_KIND_list || id == TILE_ATTR_consumers;
}

/* split (8, serial) pipelined (3, order = [0, 1]) unroll (2) independent: an expression opens a
 * clause, which holds its sub-attributes. */
static void print_loop_clauses(tile_printer *p, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(p->f, op));
    const tile_attr *pipelined = tile_op_attr(p->f, op, TILE_ATTR_pipelined);
    for (unsigned i = 0; i < info->attr_count; i++) {
        const tile_attr *attr = tile_op_attr(p->f, op, info->attrs[i].id);
        if (!attr || tile_attr_get_info(attr->id)->kind != TILE_KIND_expr) continue;
        PRINT(p, " %s (", tile_attr_keyword(attr->id));
        tile_print_expr(p, attr->expr);
        for (unsigned k = 0; k < info->attr_count && attr == pipelined; k++) {
            const tile_attr *part = tile_op_attr(p->f, op, info->attrs[k].id);
            if (!part || !goes_with_pipelined(part->id)) continue;
            PRINT(p, ", ");
            tile_print_attr(p, part);
        }
        if (attr->id == TILE_ATTR_split) print_strategy(p, op);
        PRINT(p, ")");
    }
    for (unsigned i = 0; i < info->attr_count; i++)
        if (tile_attr_get_info(info->attrs[i].id)->kind == TILE_KIND_flag &&
            tile_op_has_attr(p->f, op, info->attrs[i].id))
            PRINT(p, " %s", tile_attr_keyword(info->attrs[i].id));
}

/* iter (%a = %b, ...) */
static void print_iter(tile_printer *p, tile_op op) {
    unsigned count = tile_carried_count(p->f, op);
    for (unsigned i = 0; i < count; i++) {
        PRINT(p, "%s", i ? ", " : " iter (");
        tile_print_value(p, tile_carried_received(p->f, op, 0, i));
        PRINT(p, " = ");
        tile_print_value(p, tile_carried_sent(p->f, op, TILE_PARENT_OP, i));
    }
    PRINT(p, "%s", count ? ")" : "");
}

static void print_for(tile_printer *p, tile_op op) {
    static const char *const words[] = {" = ", " to ", " step "};
    tile_region body = tile_op_region(p->f, op, 0);
    PRINT(p, "for ");
    tile_print_value(p, tile_region_arg(p->f, body, 0));
    for (unsigned i = 0; i < 3; i++) {
        PRINT(p, "%s", words[i]);
        tile_print_value(p, tile_control_operand(p->f, op, i));
    }
    print_iter(p, op);
    print_loop_clauses(p, op);
    PRINT(p, " ");
    print_region(p, body);
}

static void print_while(tile_printer *p, tile_op op) {
    PRINT(p, "while");
    print_iter(p, op);
    PRINT(p, " ");
    print_region(p, tile_op_region(p->f, op, 0));
    PRINT(p, " do ");
    for (unsigned i = 0; i < tile_carried_count(p->f, op); i++) {
        PRINT(p, "%s", i ? ", " : "(");
        tile_print_value(p, tile_carried_received(p->f, op, 1, i));
    }
    PRINT(p, "%s", tile_carried_count(p->f, op) ? ") " : "");
    print_region(p, tile_op_region(p->f, op, 1));
}

/* True for a yield without operands, which the text omits. */
static bool is_bare_yield(const tile_printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    bool ends = tile_op_effects(p->f, op) & TILE_EFFECT_TERMINATOR;
    return ends && data->operand_count == 0 && !data->next.id;
}

static void print_if(tile_printer *p, tile_op op) {
    tile_region no = tile_op_region(p->f, op, 1);
    tile_op first = tile_region_at(p->f, no)->first;
    PRINT(p, "if ");
    tile_print_value(p, tile_control_operand(p->f, op, 0));
    PRINT(p, " ");
    print_region(p, tile_op_region(p->f, op, 0));
    if (!first.id || is_bare_yield(p, first)) return;
    PRINT(p, " else ");
    print_region(p, no);
}

/* The callee with its parameters and arguments, up to ")": k<block = 64>(%n, %x */
static void print_callee(tile_printer *p, tile_op op) {
    const tile_attr *values = tile_op_attr(p->f, op, TILE_ATTR_values);
    const char *callee = tile_op_attr_text(p->f, op, TILE_ATTR_callee);
    PRINT(p, "%s", callee ? callee : "");
    if (values && tile_attr_has_its_kind(values))
        tile_print_param_values(p, values->values, values->count);
    PRINT(p, "(");
    tile_print_values(p, tile_op_at(p->f, op)->operands, tile_op_operand_count(p->f, op));
}

/* launch @k<block = 64>(%n, %x) {pdl}, or {resident, otherwise = @j} */
static void print_launch(tile_printer *p, tile_op op) {
    PRINT(p, "launch @");
    print_callee(p, op);
    static const tile_attr_id in_braces[] = {TILE_ATTR_pdl, TILE_ATTR_resident,
                                             TILE_ATTR_otherwise};
    const char *before = ") {";
    for (unsigned i = 0; i < sizeof in_braces / sizeof *in_braces; i++) {
        const tile_attr *attr = tile_op_attr(p->f, op, in_braces[i]);
        if (!attr) continue;
        PRINT(p, "%s", before);
        tile_print_attr(p, attr);
        before = ", ";
    }
    PRINT(p, "%s", *before == ',' ? "}" : ")");
}

/* f<T = f16>(%x, %y) */
static void print_call(tile_printer *p, tile_op op) {
    print_callee(p, op);
    PRINT(p, ")");
}

static bool has_layout(const tile_function *f, const tile_op_data *data) {
    bool found = false;
    for (uint32_t i = 0; i < data->result_count; i++)
        found |= tile_value_type(f, (tile_value){data->first_result.id + i})->layout != NULL;
    return found;
}

/* parallel (%i, %j) in [64, 32] {..}, with the types of the results if they have layouts */
static void print_parallel(tile_printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    tile_region body = tile_op_region(p->f, op, 0);
    const tile_region_data *region = tile_region_at(p->f, body);
    PRINT(p, "parallel (");
    for (unsigned i = 0; i < region->arg_count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        tile_print_value(p, tile_region_arg(p->f, body, i));
    }
    PRINT(p, ") in [");
    tile_print_values(p, data->operands, tile_op_operand_count(p->f, op));
    PRINT(p, "]");
    if (has_layout(p->f, data)) print_result_types(p, data);
    PRINT(p, " ");
    print_region(p, body);
}

static void print_sync_explicit(tile_printer *p, tile_op op) {
    PRINT(p, "sync explicit ");
    print_region(p, tile_op_region(p->f, op, 0));
}

/* Prints one clause of a role, unless it has the default. */
static void print_role_clause(tile_printer *p, tile_op op, tile_operand_name list, unsigned r,
                              int64_t implied) {
    int64_t integer;
    tile_value value = tile_named_operands(p->f, op, list).at[r];
    if (tile_value_is_int(p->f, value, &integer) && integer == implied) return;
    PRINT(p, "%s ",
          tile_op_get_info(TILE_OP_roles)->operands[tile_place_of(TILE_OP_roles, list)].name);
    tile_print_value(p, value);
    PRINT(p, " ");
}

static void print_roles(tile_printer *p, tile_op op) {
    PRINT(p, "roles {\n");
    p->depth++;
    for (unsigned r = 0; r < tile_op_at(p->f, op)->region_count; r++) {
        tile_region region = tile_op_region(p->f, op, r);
        tile_value group = tile_region_arg(p->f, region, 0);
        PRINT(p, "%*s", (int)(2 * p->depth), "");
        print_role_clause(p, op, TILE_OPERAND_warps, r, 0);
        print_role_clause(p, op, TILE_OPERAND_groups, r, 1);
        print_role_clause(p, op, TILE_OPERAND_registers, r, 0);
        if (group.id && (tile_value_at(p->f, group)->name || tile_value_is_used(p->f, group))) {
            PRINT(p, "as ");
            tile_print_value(p, group);
            PRINT(p, " ");
        }
        print_region(p, region);
        PRINT(p, "\n");
    }
    p->depth--;
    PRINT(p, "%*s}", (int)(2 * p->depth), "");
}

/* Returns whether each list has one entry for each region, as the verifier requires. */
static bool has_roles(const tile_printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    return data->opcode == TILE_OP_roles && data->segment[0] == data->region_count &&
           data->segment[1] == data->region_count && data->segment[2] == data->region_count;
}

static void print_plain(tile_printer *p, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(p->f, op));
    PRINT(p, "%s%s", info->name, tile_op_has_attr(p->f, op, TILE_ATTR_all) ? " all" : "");
    print_operands(p, op, info);
    tile_print_attrs(p, op, info);
    print_result_types(p, tile_op_at(p->f, op));
}

static void print_op(tile_printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    tile_region_shape shape = tile_shape_of(p->f, op);
    PRINT(p, "%*s", (int)(2 * p->depth), "");
    print_result_names(p, data);
    bool fits = tile_shape_regions(shape) ? data->region_count == tile_shape_regions(shape)
                                          : data->region_count > 0;
    if (!fits || (data->opcode == TILE_OP_roles && !has_roles(p, op)))
        shape = TILE_SHAPE_NONE; /* invalid */
    switch (shape) {
    case TILE_SHAPE_LOOP: print_for(p, op); break;
    case TILE_SHAPE_BRANCH: print_if(p, op); break;
    case TILE_SHAPE_WHILE: print_while(p, op); break;
    case TILE_SHAPE_BODY:
        if (data->opcode == TILE_OP_roles)
            print_roles(p, op);
        else
            print_sync_explicit(p, op);
        break;
    case TILE_SHAPE_ELEMENTS: print_parallel(p, op); break;
    case TILE_SHAPE_NONE:
        if (data->opcode == TILE_OP_launch)
            print_launch(p, op);
        else if (data->opcode == TILE_OP_call)
            print_call(p, op);
        else
            print_plain(p, op);
        break;
    }
    PRINT(p, "\n");
}

static void print_region(tile_printer *p, tile_region region) {
    PRINT(p, "{\n");
    p->depth++;
    TILE_FOR_EACH_OP (p->f, op, region)
        if (!is_bare_yield(p, op)) print_op(p, op);
    p->depth--;
    PRINT(p, "%*s}", (int)(2 * p->depth), "");
}

/* Functions ----------------------------------------------------------------------------------- */

/* Prints results that are not the result of an operation with their name: %c = %a : type. */
static void print_result_aliases(tile_printer *p) {
    for (size_t i = 0; i < p->f->result_count; i++) {
        const tile_result_decl *result = &p->f->results[i];
        if (!result->value.id || p->names[result->value.id] == result->name) continue;
        PRINT(p, "  %%%s = ", result->name);
        tile_print_value(p, result->value);
        PRINT(p, " : ");
        tile_print_type(p, result->type);
        PRINT(p, "\n");
    }
}

static void print_function(tile_printer *p, const tile_function *f) {
    p->f = f;
    p->names = tile_print_names(f, &p->arena);
    PRINT(p, "%s @%s", tile_function_kind_name(f->kind), f->name);
    tile_print_params(p);
    tile_print_args(p);
    tile_print_results(p);
    tile_print_clauses(p);
    PRINT(p, "\n{\n");
    p->depth = 1;
    TILE_FOR_EACH_OP (f, op, f->body) print_op(p, op);
    print_result_aliases(p);
    PRINT(p, "}\n");
    tile_arena_reset(&p->text);
}

static void finish(tile_printer *p) {
    tile_arena_reset(&p->text);
    tile_arena_reset(&p->arena);
}

void tile_module_print(const tile_module *module, tile_writer writer, void *user) {
    TILE_GUARD(tile_module_context(module), )
    tile_printer p = {.out = {writer, user}};
    if (!module || !writer) return;
    for (const tile_function *f = module->first; f; f = f->next) tile_print_collect_layouts(&p, f);
    tile_print_layouts(&p);
    for (const tile_function *f = module->first; f; f = f->next) {
        PRINT(&p, "%s", f != module->first || p.layout_count ? "\n" : "");
        print_function(&p, f);
    }
    finish(&p);
}

void tile_function_print(const tile_function *function, tile_writer writer, void *user) {
    TILE_GUARD(function ? tile_function_context(function) : NULL, )
    tile_printer p = {.out = {writer, user}};
    if (!function || !writer) return;
    tile_print_collect_layouts(&p, function);
    tile_print_layouts(&p);
    PRINT(&p, "%s", p.layout_count ? "\n" : "");
    print_function(&p, function);
    finish(&p);
}
