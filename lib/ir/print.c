/* The printer of the text form: what it writes parses to the same module. Operations are written in
 * their own form, never as operators; constants stand where they are used. */
#include <string.h>

#include "lib/ir/describe.h"
#include "lib/ir/level.h"
#include "lib/ir/out.h"
#include "lib/ir/print_names.h"
#include "lib/ir/regions.h"
#include "lib/ir/syntax.h"
#include "lib/layout/layout.h"

typedef struct printer {
    tile_out out;
    tile_arena arena; /* names and layouts */
    tile_arena text;  /* one operation's */
    const tile_function *f;
    const char **names;
    const tile_layout **layouts; /* interned: one alias each, in order of appearance */
    size_t layout_count, layout_capacity;
    unsigned depth;
} printer;

#define PRINT(p, ...) tile_out_print(&(p)->out, __VA_ARGS__)

/* Layouts ------------------------------------------------------------------------------------- */

static size_t layout_index(const printer *p, const tile_layout *layout) {
    size_t i = 0;
    while (i < p->layout_count && p->layouts[i] != layout) i++;
    return i;
}

static void collect_layout(printer *p, const tile_type *type) {
    if (!type->layout || layout_index(p, type->layout) < p->layout_count) return;
    p->layouts = tile_arena_grow(&p->arena, p->layouts, p->layout_count, &p->layout_capacity,
                                 sizeof *p->layouts);
    p->layouts[p->layout_count++] = type->layout;
}

static void collect_op(tile_function *f, tile_op op, void *user) {
    const tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->result_count; i++)
        collect_layout(user, tile_value_type(f, (tile_value){data->first_result.id + i}));
}

static void collect_layouts(printer *p, const tile_function *f) {
    for (size_t i = 0; i < f->arg_count; i++) collect_layout(p, f->args[i].type);
    for (size_t i = 0; i < f->result_count; i++) collect_layout(p, f->results[i].type);
    /* collect_op only reads. */
    tile_walk((tile_function *)f, f->body, collect_op, p);
}

static void print_basis(printer *p, const tile_layout *layout, uint32_t index) {
    PRINT(p, "[");
    for (unsigned d = 0; d < layout->rank; d++)
        PRINT(p, "%s%u", d ? ", " : "", tile_layout_coordinate(layout, index, d));
    PRINT(p, "]");
}

static void print_bases(printer *p, const tile_layout *layout, const char *name,
                        const uint32_t *bases, unsigned count) {
    PRINT(p, "%s = [", name);
    for (unsigned i = 0; i < count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        print_basis(p, layout, bases[i]);
    }
    PRINT(p, "]");
}

/* Where a tile has more than one part. */
static void print_counts(printer *p, const tile_layout *layout) {
    if (tile_layout_parts(layout) == 1) return;
    PRINT(p, ", count = [");
    for (unsigned d = 0; d < layout->rank; d++) PRINT(p, "%s%u", d ? ", " : "", layout->count[d]);
    PRINT(p, "]");
}

static void print_layouts(printer *p) {
    for (size_t i = 0; i < p->layout_count; i++) {
        const tile_layout *layout = p->layouts[i];
        bool shared = layout->kind == TILE_LAYOUT_SHARED;
        PRINT(p, "#layout%zu = layout {", i);
        print_bases(p, layout, shared ? "offset" : "reg", layout->reg, layout->reg_bits);
        if (!shared) {
            PRINT(p, ", ");
            print_bases(p, layout, "lane", layout->lane, TILE_LANE_BITS);
            PRINT(p, ", ");
            print_bases(p, layout, "warp", layout->warp, layout->warp_bits);
        }
        if (layout->block_bits) {
            PRINT(p, ", ");
            print_bases(p, layout, "block", layout->block, layout->block_bits);
        }
        print_counts(p, layout);
        PRINT(p, "}\n");
    }
}

/* Types and values ---------------------------------------------------------------------------- */

static void print_type(printer *p, const tile_type *type) {
    const char *alias =
        type->layout ? tile_arena_format(&p->text, "layout%zu", layout_index(p, type->layout))
                     : NULL;
    PRINT(p, "%s", tile_type_text(p->f, type, alias, &p->text));
}

static void print_expr(printer *p, const tile_expr *expr) {
    PRINT(p, "%s", tile_expr_text(p->f, expr, &p->text));
}

/* Bare where the parser gives it the same type by itself, else with its type: i64(5). An operand
 * does not begin with a parenthesis, which would make a call of it. */
static void print_constant(printer *p, const tile_value_data *data) {
    const tile_expr *expr = data->expr;
    const char *text = tile_expr_text(p->f, expr, &p->text);
    char number[TILE_DOUBLE_TEXT];
    if (expr->kind == TILE_EXPR_FLOAT ||
        (expr->kind == TILE_EXPR_INT && tile_scalar_is_floating(data->type->scalar))) {
        bool whole = expr->kind == TILE_EXPR_INT;
        tile_double_to_text(whole ? (double)expr->integer : expr->number, number);
        text = number;
    }
    bool bare = data->type->scalar == TILE_f32 ||
                (data->type->scalar == TILE_i32 && *text != '(' && !tile_expr_is_truth(p->f, expr));
    if (data->type->scalar == TILE_i1 && expr->kind == TILE_EXPR_INT)
        PRINT(p, "%s", expr->integer ? "true" : "false");
    else if (bare)
        PRINT(p, "%s", text);
    else
        PRINT(p, "%s(%s)", tile_type_text(p->f, data->type, NULL, &p->text), text);
}

static void print_value(printer *p, tile_value value) {
    const tile_value_data *data = tile_value_at(p->f, value);
    if (value.id && data->kind == TILE_VALUE_CONSTANT)
        print_constant(p, data);
    else if (value.id && p->names[value.id])
        PRINT(p, "%%%s", p->names[value.id]);
    else
        PRINT(p, "%%undefined%u", value.id);
}

static void print_values(printer *p, const tile_value *values, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        print_value(p, values[i]);
    }
}

/* A result beside what the operation does, which nobody names. */
static bool is_unnamed(const printer *p, const tile_op_data *data) {
    return tile_op_has_trait((tile_opcode)data->opcode, TILE_TRAIT_SIDE_RESULT) &&
           data->result_count && !p->names[data->first_result.id];
}

static void print_result_names(printer *p, const tile_op_data *data) {
    if (is_unnamed(p, data)) return;
    for (uint32_t i = 0; i < data->result_count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        print_value(p, (tile_value){data->first_result.id + i});
    }
    if (data->result_count) PRINT(p, " = ");
}

/* Several results of one type show it once. */
static void print_result_types(printer *p, const tile_op_data *data) {
    bool same = true;
    if (is_unnamed(p, data)) return;
    const tile_type *first = tile_value_type(p->f, data->first_result);
    for (uint32_t i = 1; i < data->result_count; i++)
        same &= tile_value_type(p->f, (tile_value){data->first_result.id + i}) == first;
    for (uint32_t i = 0; i < (same && data->result_count ? 1 : data->result_count); i++) {
        PRINT(p, "%s", i ? ", " : " : ");
        print_type(p, tile_value_type(p->f, (tile_value){data->first_result.id + i}));
    }
}

/* Operations ---------------------------------------------------------------------------------- */

static void print_quoted(printer *p, const char *text) {
    PRINT(p, "\"");
    for (; *text; text++) PRINT(p, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    PRINT(p, "\"");
}

/* In parentheses where a bare `>` would end the list around it. */
static void print_closed_expr(printer *p, const tile_expr *expr) {
    const tile_infix *infix =
        expr && expr->kind == TILE_EXPR_OP ? tile_infix_from_opcode(expr->opcode) : NULL;
    bool parens = infix && infix->precedence < TILE_PRECEDENCE_ABOVE_COMPARE;
    PRINT(p, parens ? "(%s)" : "%s", tile_expr_text(p->f, expr, &p->text));
}

static void print_param_values(printer *p, const tile_param_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PRINT(p, "%s%s = ", i ? ", " : "<", values[i].name);
        if (values[i].type)
            print_type(p, values[i].type);
        else
            print_closed_expr(p, values[i].expr);
    }
    PRINT(p, "%s", count ? ">" : "");
}

/* The word, or the parameter that stands for it. */
static const char *word_text(printer *p, const tile_attr *attr) {
    return attr->text ? attr->text : tile_expr_text(p->f, attr->expr, &p->text);
}

static void print_attr(printer *p, const tile_attr *attr) {
    tile_attr_kind kind = tile_attr_get_info(attr->id)->kind;
    PRINT(p, "%s%s", tile_attr_keyword(attr->id), kind == TILE_KIND_flag ? "" : " = ");
    switch (kind) {
    case TILE_KIND_flag: break;
    case TILE_KIND_expr:
    case TILE_KIND_tile: print_expr(p, attr->expr); break;
    case TILE_KIND_list:
        PRINT(p, "[");
        for (unsigned i = 0; i < attr->count; i++)
            PRINT(p, "%s%lld", i ? ", " : "", (long long)attr->list[i]);
        PRINT(p, "]");
        break;
    case TILE_KIND_word: PRINT(p, "%s", word_text(p, attr)); break;
    case TILE_KIND_text: print_quoted(p, attr->text); break;
    case TILE_KIND_symbol: PRINT(p, "@%s", attr->text); break;
    case TILE_KIND_constant:
        print_constant(p, &(tile_value_data){.type = attr->type, .expr = attr->expr});
        break;
    case TILE_KIND_values: print_param_values(p, attr->values, attr->count); break;
    }
}

static void print_attrs(printer *p, tile_op op, const tile_op_info *info) {
    const char *before = " {";
    for (unsigned i = 0; i < info->attr_count; i++) {
        const tile_attr *attr = tile_op_attr(p->f, op, info->attrs[i].id);
        if (!attr || attr->id == TILE_ATTR_all) continue;
        PRINT(p, "%s", before);
        print_attr(p, attr);
        before = ", ";
    }
    PRINT(p, "%s", *before == ',' ? "}" : "");
}

static void print_operand(printer *p, tile_operand_form form, const tile_value *values,
                          unsigned count) {
    bool list = form == TILE_FORM_list || form == TILE_FORM_optlist;
    bool element = tile_form_has_brackets(form);
    if (element) {
        print_value(p, values[0]);
        values++;
        count--;
    }
    if (list || (element && count)) PRINT(p, "[");
    print_values(p, values, count);
    if (list || (element && count)) PRINT(p, "]");
}

static void print_operands(printer *p, tile_op op, const tile_op_info *info) {
    const char *before = " ";
    for (unsigned i = 0; i < info->operand_count; i++) {
        unsigned count;
        const tile_value *values = tile_op_segment(p->f, op, i, &count);
        if (!count && info->operands[i].form != TILE_FORM_list) continue;
        PRINT(p, "%s", before);
        print_operand(p, info->operands[i].form, values, count);
        before = ", ";
    }
}

static void print_region(printer *p, tile_region region);

/* , WORD */
static void print_strategy(printer *p, tile_op op) {
    const tile_attr *strategy = tile_op_attr(p->f, op, TILE_ATTR_strategy);
    if (!strategy) return;
    PRINT(p, ", %s", word_text(p, strategy));
}

static bool goes_with_pipelined(tile_attr_id id) {
    return tile_attr_get_info(id)->kind == TILE_KIND_list || id == TILE_ATTR_consumers ||
           id == TILE_ATTR_turns;
}

/* split (8, serial) pipelined (3, order = [0, 1]) unroll (2) independent: an expression opens a
 * clause, what is said about it goes with it. */
static void print_loop_clauses(printer *p, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(p->f, op));
    const tile_attr *pipelined = tile_op_attr(p->f, op, TILE_ATTR_pipelined);
    for (unsigned i = 0; i < info->attr_count; i++) {
        const tile_attr *attr = tile_op_attr(p->f, op, info->attrs[i].id);
        if (!attr || tile_attr_get_info(attr->id)->kind != TILE_KIND_expr) continue;
        PRINT(p, " %s (", tile_attr_keyword(attr->id));
        print_expr(p, attr->expr);
        for (unsigned k = 0; k < info->attr_count && attr == pipelined; k++) {
            const tile_attr *part = tile_op_attr(p->f, op, info->attrs[k].id);
            if (!part || !goes_with_pipelined(part->id)) continue;
            PRINT(p, ", ");
            print_attr(p, part);
        }
        if (attr->id == TILE_ATTR_split) print_strategy(p, op);
        PRINT(p, ")");
    }
    if (tile_op_has_attr(p->f, op, TILE_ATTR_independent)) PRINT(p, " independent");
}

/* iter (%a = %b, ...) */
static void print_iter(printer *p, tile_op op) {
    unsigned count = tile_carried_count(p->f, op);
    for (unsigned i = 0; i < count; i++) {
        PRINT(p, "%s", i ? ", " : " iter (");
        print_value(p, tile_carried_received(p->f, op, 0, i));
        PRINT(p, " = ");
        print_value(p, tile_carried_sent(p->f, op, TILE_AROUND, i));
    }
    PRINT(p, "%s", count ? ")" : "");
}

static void print_for(printer *p, tile_op op) {
    static const char *const words[] = {" = ", " to ", " step "};
    tile_region body = tile_op_region(p->f, op, 0);
    PRINT(p, "for ");
    print_value(p, tile_region_arg(p->f, body, 0));
    for (unsigned i = 0; i < 3; i++) {
        PRINT(p, "%s", words[i]);
        print_value(p, tile_decision(p->f, op, i));
    }
    print_iter(p, op);
    print_loop_clauses(p, op);
    PRINT(p, " ");
    print_region(p, body);
}

static void print_while(printer *p, tile_op op) {
    PRINT(p, "while");
    print_iter(p, op);
    PRINT(p, " ");
    print_region(p, tile_op_region(p->f, op, 0));
    PRINT(p, " do ");
    for (unsigned i = 0; i < tile_carried_count(p->f, op); i++) {
        PRINT(p, "%s", i ? ", " : "(");
        print_value(p, tile_carried_received(p->f, op, 1, i));
    }
    PRINT(p, "%s", tile_carried_count(p->f, op) ? ") " : "");
    print_region(p, tile_op_region(p->f, op, 1));
}

/* True for a yield without operands, which the text leaves out. */
static bool is_bare_yield(const printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    bool ends = tile_op_effects(p->f, op) & TILE_EFFECT_TERMINATOR;
    return ends && data->operand_count == 0 && !data->next.id;
}

static void print_if(printer *p, tile_op op) {
    tile_region no = tile_op_region(p->f, op, 1);
    tile_op first = tile_region_at(p->f, no)->first;
    PRINT(p, "if ");
    print_value(p, tile_decision(p->f, op, 0));
    PRINT(p, " ");
    print_region(p, tile_op_region(p->f, op, 0));
    if (!first.id || is_bare_yield(p, first)) return;
    PRINT(p, " else ");
    print_region(p, no);
}

/* launch @k<block = 64>(%n, %x) {pdl}, or {resident, otherwise = @j} */
static void print_launch(printer *p, tile_op op) {
    const tile_attr *values = tile_op_attr(p->f, op, TILE_ATTR_values);
    const char *callee = tile_op_attr_text(p->f, op, TILE_ATTR_callee);
    PRINT(p, "launch @%s", callee ? callee : "");
    if (values) print_param_values(p, values->values, values->count);
    PRINT(p, "(");
    print_values(p, tile_op_at(p->f, op)->operands, tile_op_operand_count(p->f, op));
    static const tile_attr_id in_braces[] = {TILE_ATTR_pdl, TILE_ATTR_resident,
                                             TILE_ATTR_otherwise};
    const char *before = ") {";
    for (unsigned i = 0; i < sizeof in_braces / sizeof *in_braces; i++) {
        const tile_attr *attr = tile_op_attr(p->f, op, in_braces[i]);
        if (!attr) continue;
        PRINT(p, "%s", before);
        print_attr(p, attr);
        before = ", ";
    }
    PRINT(p, "%s", *before == ',' ? "}" : ")");
}

static void print_sync_explicit(printer *p, tile_op op) {
    PRINT(p, "sync explicit ");
    print_region(p, tile_op_region(p->f, op, 0));
}

static bool is_used(const printer *p, tile_value value) {
    for (uint32_t id = 1; id < p->f->op_count; id++)
        for (uint32_t i = 0; p->f->ops[id].opcode && i < p->f->ops[id].operand_count; i++)
            if (p->f->ops[id].operands[i].id == value.id) return true;
    return false;
}

/* One clause of a role, unless it says what goes without saying. */
static void print_role_clause(printer *p, tile_op op, unsigned list, unsigned r, int64_t implied) {
    unsigned count;
    int64_t integer;
    tile_value value = tile_op_segment(p->f, op, list, &count)[r];
    if (tile_value_is_int(p->f, value, &integer) && integer == implied) return;
    PRINT(p, "%s ", tile_op_get_info(TILE_OP_roles)->operands[list].name);
    print_value(p, value);
    PRINT(p, " ");
}

static void print_roles(printer *p, tile_op op) {
    PRINT(p, "roles {\n");
    p->depth++;
    for (unsigned r = 0; r < tile_op_at(p->f, op)->region_count; r++) {
        tile_region region = tile_op_region(p->f, op, r);
        tile_value group = tile_region_arg(p->f, region, 0);
        PRINT(p, "%*s", (int)(2 * p->depth), "");
        print_role_clause(p, op, 0, r, 0);
        print_role_clause(p, op, 1, r, 1);
        print_role_clause(p, op, 2, r, 0);
        if (group.id && (tile_value_at(p->f, group)->name || is_used(p, group))) {
            PRINT(p, "as ");
            print_value(p, group);
            PRINT(p, " ");
        }
        print_region(p, region);
        PRINT(p, "\n");
    }
    p->depth--;
    PRINT(p, "%*s}", (int)(2 * p->depth), "");
}

/* One entry of each list for each region, as the rule demands. */
static bool has_roles(const printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    return data->opcode == TILE_OP_roles && data->segment[0] == data->region_count &&
           data->segment[1] == data->region_count && data->segment[2] == data->region_count;
}

static void print_plain(printer *p, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(p->f, op));
    PRINT(p, "%s%s", info->name, tile_op_has_attr(p->f, op, TILE_ATTR_all) ? " all" : "");
    print_operands(p, op, info);
    print_attrs(p, op, info);
    print_result_types(p, tile_op_at(p->f, op));
}

static void print_op(printer *p, tile_op op) {
    const tile_op_data *data = tile_op_at(p->f, op);
    tile_region_shape shape = tile_shape_of(p->f, op);
    PRINT(p, "%*s", (int)(2 * p->depth), "");
    print_result_names(p, data);
    bool fits = tile_shape_regions(shape) ? data->region_count == tile_shape_regions(shape)
                                          : data->region_count > 0;
    if (!fits || (data->opcode == TILE_OP_roles && !has_roles(p, op)))
        shape = TILE_SHAPE_NONE; /* broken */
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
    case TILE_SHAPE_NONE:
        if (data->opcode == TILE_OP_launch)
            print_launch(p, op);
        else
            print_plain(p, op);
        break;
    }
    PRINT(p, "\n");
}

static void print_region(printer *p, tile_region region) {
    PRINT(p, "{\n");
    p->depth++;
    TILE_FOR_EACH_OP (p->f, op, region)
        if (!is_bare_yield(p, op)) print_op(p, op);
    p->depth--;
    PRINT(p, "%*s}", (int)(2 * p->depth), "");
}

/* Functions ----------------------------------------------------------------------------------- */

static void print_param(printer *p, const tile_param_decl *param) {
    PRINT(p, "%s: %s", param->name, tile_param_kind_name(param->kind));
    if (param->default_type) {
        PRINT(p, " = ");
        print_type(p, param->default_type);
    } else if (param->default_expr && param->kind == TILE_PARAM_bool &&
               param->default_expr->kind == TILE_EXPR_INT) {
        PRINT(p, " = %s", param->default_expr->integer ? "true" : "false");
    } else if (param->default_expr) {
        PRINT(p, " = ");
        print_closed_expr(p, param->default_expr);
    }
}

static void print_params(printer *p) {
    for (size_t i = 0; i < p->f->param_count; i++) {
        PRINT(p, "%s", i ? ", " : "<");
        print_param(p, &p->f->params[i]);
    }
    PRINT(p, "%s", p->f->param_count ? ">" : "");
}

/* With the expressions of a view argument. */
static void print_arg_type(printer *p, const tile_arg_decl *arg) {
    tile_type shown = *arg->type;
    for (unsigned d = 0; d < shown.rank && shown.kind == TILE_TYPE_VIEW; d++) {
        shown.dims[d] = arg->extents[d];
        shown.strides[d] = arg->strides[d];
    }
    print_type(p, &shown);
}

static void print_args(printer *p) {
    PRINT(p, "(");
    for (size_t i = 0; i < p->f->arg_count; i++) {
        const tile_arg_decl *arg = &p->f->args[i];
        const char *before = " {";
        PRINT(p, "%s%%%s: ", i ? ", " : "", arg->name);
        print_arg_type(p, arg);
        if (arg->divisible) {
            PRINT(p, "%s%s = %u", before, tile_attr_keyword(TILE_ATTR_divisible), arg->divisible);
            before = ", ";
        }
        if (arg->noalias) {
            PRINT(p, "%s%s", before, tile_attr_keyword(TILE_ATTR_noalias));
            before = ", ";
        }
        if (arg->tensor_map) {
            PRINT(p, "%s%s", before, tile_attr_keyword(TILE_ATTR_tensor_map));
            before = ", ";
        }
        if (arg->is_const) {
            PRINT(p, "%s%s", before, tile_attr_keyword(TILE_ATTR_constant));
            before = ", ";
        }
        if (arg->known) {
            PRINT(p, "%s%s = ", before, tile_attr_keyword(TILE_ATTR_value));
            print_expr(p, arg->known);
            before = ", ";
        }
        PRINT(p, "%s", *before == ',' ? "}" : "");
    }
    PRINT(p, ")");
}

static void print_results(printer *p) {
    for (size_t i = 0; i < p->f->result_count; i++) {
        PRINT(p, "%s%%%s: ", i ? ", " : " -> (", p->f->results[i].name);
        print_type(p, p->f->results[i].type);
    }
    PRINT(p, "%s", p->f->result_count ? ")" : "");
}

static void print_extents(printer *p, const char *word, const tile_expr *const *extents,
                          unsigned rank) {
    if (!rank) return;
    PRINT(p, "\n    %s [", word);
    for (unsigned d = 0; d < rank; d++) {
        PRINT(p, "%s", d ? ", " : "");
        print_expr(p, extents[d]);
    }
    PRINT(p, "]");
}

static void print_tune(printer *p, const tile_tune_clause *tune) {
    bool several = tune->name_count > 1;
    PRINT(p, "\n    tune %s", several ? "(" : "");
    for (unsigned i = 0; i < tune->name_count; i++) PRINT(p, "%s%s", i ? ", " : "", tune->names[i]);
    PRINT(p, "%s in [", several ? ")" : "");
    for (unsigned i = 0; i < tune->point_count; i++) {
        PRINT(p, "%s%s", i ? ", " : "", several ? "(" : "");
        for (unsigned k = 0; k < tune->name_count; k++) {
            PRINT(p, "%s", k ? ", " : "");
            print_expr(p, tune->values[i * tune->name_count + k]);
        }
        PRINT(p, "%s", several ? ")" : "");
    }
    PRINT(p, "]");
}

static void print_walk(printer *p) {
    const char *raster = tile_raster_name(p->f->raster);
    if (raster) PRINT(p, "\n    raster %s", raster);
    if (p->f->raster_group) PRINT(p, "(%s)", tile_expr_text(p->f, p->f->raster_group, &p->text));
    if (p->f->is_persistent) PRINT(p, "\n    persistent");
    if (p->f->persistent_if)
        PRINT(p, " if %s", tile_expr_text(p->f, p->f->persistent_if, &p->text));
    if (p->f->cost) PRINT(p, " by %s", tile_expr_text(p->f, p->f->cost, &p->text));
}

static void print_clauses(printer *p) {
    const tile_function *f = p->f;
    if (f->reference) PRINT(p, "\n    of @%s", f->reference);
    print_param_values(p, f->reference_values, f->reference_count);
    for (size_t i = 0; i < f->tune_count; i++) print_tune(p, &f->tunes[i]);
    for (size_t i = 0; i < f->where_count; i++) {
        PRINT(p, "\n    where ");
        print_expr(p, f->wheres[i]);
    }
    print_extents(p, "grid", f->grid, f->grid_rank);
    print_extents(p, "cluster", f->cluster, f->cluster_rank);
    print_walk(p);
    if (f->warps) {
        PRINT(p, "\n    warps ");
        print_expr(p, f->warps);
    }
    PRINT(p, "%s", f->sync_explicit ? "\n    sync explicit" : "");
    /* Said for level 3 always, so that whoever reads the text knows that nothing is added to it. */
    if (f->level == 3 || f->level != tile_function_level_by_ops(f))
        PRINT(p, "\n    level %u", f->level);
}

/* Results that are not what an operation of that name gives: %c = %a : type. */
static void print_result_aliases(printer *p) {
    for (size_t i = 0; i < p->f->result_count; i++) {
        const tile_result_decl *result = &p->f->results[i];
        if (!result->value.id || p->names[result->value.id] == result->name) continue;
        PRINT(p, "  %%%s = ", result->name);
        print_value(p, result->value);
        PRINT(p, " : ");
        print_type(p, result->type);
        PRINT(p, "\n");
    }
}

static void print_function(printer *p, const tile_function *f) {
    p->f = f;
    p->names = tile_print_names(f, &p->arena);
    PRINT(p, "%s @%s", tile_function_kind_name(f->kind), f->name);
    print_params(p);
    print_args(p);
    print_results(p);
    print_clauses(p);
    PRINT(p, "\n{\n");
    p->depth = 1;
    TILE_FOR_EACH_OP (f, op, f->body) print_op(p, op);
    print_result_aliases(p);
    PRINT(p, "}\n");
    tile_arena_reset(&p->text);
}

static void finish(printer *p) {
    tile_arena_reset(&p->text);
    tile_arena_reset(&p->arena);
}

void tile_module_print(const tile_module *module, tile_writer writer, void *user) {
    printer p = {.out = {writer, user}};
    if (!module || !writer) return;
    for (const tile_function *f = module->first; f; f = f->next) collect_layouts(&p, f);
    print_layouts(&p);
    for (const tile_function *f = module->first; f; f = f->next) {
        PRINT(&p, "%s", f != module->first || p.layout_count ? "\n" : "");
        print_function(&p, f);
    }
    finish(&p);
}

void tile_function_print(const tile_function *function, tile_writer writer, void *user) {
    printer p = {.out = {writer, user}};
    if (!function || !writer) return;
    collect_layouts(&p, function);
    print_layouts(&p);
    PRINT(&p, "%s", p.layout_count ? "\n" : "");
    print_function(&p, function);
    finish(&p);
}
