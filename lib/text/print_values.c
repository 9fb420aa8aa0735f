/* Layouts, types, values and attributes as text; constants are printed at their uses. */
#include <inttypes.h>

#include "lib/ir/describe.h"
#include "lib/ir/syntax.h"
#include "lib/layout/layout.h"
#include "lib/ir/named.h"
#include "lib/text/printer.h"

/* Layouts ------------------------------------------------------------------------------------- */

static size_t layout_index(const tile_printer *p, const tile_layout *layout) {
    size_t i = 0;
    while (i < p->layout_count && p->layouts[i] != layout) i++;
    return i;
}

static void collect_layout(tile_printer *p, const tile_type *type) {
    if (!type->layout || tile_layout_is_named(type->layout) ||
        layout_index(p, type->layout) < p->layout_count)
        return;
    p->layouts = tile_arena_grow(&p->arena, p->layouts, p->layout_count, &p->layout_capacity,
                                 sizeof *p->layouts);
    p->layouts[p->layout_count++] = type->layout;
}

static void collect_op(tile_printer *p, const tile_function *f, tile_op op) {
    const tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->result_count; i++)
        collect_layout(p, tile_value_type(f, (tile_value){data->first_result.id + i}));
}

void tile_print_collect_layouts(tile_printer *p, const tile_function *f) {
    for (size_t i = 0; i < f->arg_count; i++) collect_layout(p, f->args[i].type);
    for (size_t i = 0; i < f->result_count; i++) collect_layout(p, f->results[i].type);
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) collect_op(p, f, op);
}

static void print_basis(tile_printer *p, const tile_layout *layout, uint32_t index) {
    PRINT(p, "[");
    for (unsigned d = 0; d < layout->rank; d++)
        PRINT(p, "%s%u", d ? ", " : "", tile_layout_coordinate(layout, index, d));
    PRINT(p, "]");
}

static void print_bases(tile_printer *p, const tile_layout *layout, const char *name,
                        const uint32_t *bases, unsigned count) {
    PRINT(p, "%s = [", name);
    for (unsigned i = 0; i < count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        print_basis(p, layout, bases[i]);
    }
    PRINT(p, "]");
}

/* Printed if a tile has more than one part. */
static void print_counts(tile_printer *p, const tile_layout *layout) {
    if (tile_layout_parts(layout) == 1) return;
    PRINT(p, ", count = [");
    for (unsigned d = 0; d < layout->rank; d++) PRINT(p, "%s%u", d ? ", " : "", layout->count[d]);
    PRINT(p, "]");
}

void tile_print_layouts(tile_printer *p) {
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

void tile_print_type(tile_printer *p, const tile_type *type) {
    const char *alias = NULL;
    if (tile_layout_is_named(type->layout))
        alias = tile_layout_name_text(tile_layout_name_of(type->layout));
    else if (type->layout)
        alias = tile_arena_format(&p->text, "layout%zu", layout_index(p, type->layout));
    PRINT(p, "%s", tile_type_text(p->f, type, alias, &p->text));
}

void tile_print_expr(tile_printer *p, const tile_expr *expr) {
    PRINT(p, "%s", tile_expr_text(p->f, expr, &p->text));
}

/* Bare if the parser infers the same type, else with its type: i64(5). An operand does not begin
 * with a parenthesis, which would make it a call. */
static void print_constant(tile_printer *p, const tile_value_data *data) {
    const tile_expr *expr = data->expr;
    const char *text = tile_expr_text(p->f, expr, &p->text);
    char number[TILE_DOUBLE_TEXT];
    if (expr->kind == TILE_EXPR_FLOAT ||
        (expr->kind == TILE_EXPR_INT && tile_scalar_is_floating(data->type->scalar))) {
        bool whole = expr->kind == TILE_EXPR_INT;
        tile_double_to_text(whole ? (double)expr->integer : expr->number, number);
        text = number;
    }
    if (expr->kind == TILE_EXPR_INT && tile_scalar_is_unsigned(data->type->scalar))
        text = tile_arena_format(&p->text, "%" PRIu64, (uint64_t)expr->integer);
    bool bare = data->type->scalar == TILE_f32 ||
                (data->type->scalar == TILE_i32 && *text != '(' && !tile_expr_is_truth(p->f, expr));
    if (data->type->scalar == TILE_i1 && expr->kind == TILE_EXPR_INT)
        PRINT(p, "%s", expr->integer ? "true" : "false");
    else if (bare)
        PRINT(p, "%s", text);
    else
        PRINT(p, "%s(%s)", tile_type_text(p->f, data->type, NULL, &p->text), text);
}

void tile_print_value(tile_printer *p, tile_value value) {
    const tile_value_data *data = tile_value_at(p->f, value);
    if (value.id && data->kind == TILE_VALUE_CONSTANT)
        print_constant(p, data);
    else if (value.id && p->names[value.id])
        PRINT(p, "%%%s", p->names[value.id]);
    else
        PRINT(p, "%%undefined%u", value.id);
}

void tile_print_values(tile_printer *p, const tile_value *values, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        PRINT(p, "%s", i ? ", " : "");
        tile_print_value(p, values[i]);
    }
}

/* Attributes ---------------------------------------------------------------------------------- */

static void print_quoted(tile_printer *p, const char *text) {
    PRINT(p, "\"");
    for (; *text; text++)
        if (*text == '\n')
            PRINT(p, "\\n");
        else
            PRINT(p, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    PRINT(p, "\"");
}

void tile_print_closed_expr(tile_printer *p, const tile_expr *expr) {
    const tile_infix *infix =
        expr && expr->kind == TILE_EXPR_OP ? tile_infix_from_opcode(expr->opcode) : NULL;
    bool parens = infix && infix->precedence < TILE_PRECEDENCE_ABOVE_COMPARE;
    PRINT(p, parens ? "(%s)" : "%s", tile_expr_text(p->f, expr, &p->text));
}

void tile_print_param_values(tile_printer *p, const tile_param_value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        PRINT(p, "%s%s = ", i ? ", " : "<", values[i].name);
        if (values[i].type)
            tile_print_type(p, values[i].type);
        else
            tile_print_closed_expr(p, values[i].expr);
    }
    PRINT(p, "%s", count ? ">" : "");
}

const char *tile_print_word(tile_printer *p, const tile_attr *attr) {
    return attr->text ? attr->text : tile_expr_text(p->f, attr->expr, &p->text);
}

void tile_print_attr(tile_printer *p, const tile_attr *attr) {
    tile_attr_kind kind = tile_attr_get_info(attr->id)->kind;
    PRINT(p, "%s%s", tile_attr_keyword(attr->id), kind == TILE_KIND_flag ? "" : " = ");
    if (!tile_attr_has_its_kind(attr)) {
        PRINT(p, "?");
        return;
    }
    switch (kind) {
    case TILE_KIND_flag: break;
    case TILE_KIND_expr:
    case TILE_KIND_tile: tile_print_expr(p, attr->expr); break;
    case TILE_KIND_list:
        PRINT(p, "[");
        for (unsigned i = 0; i < attr->count; i++)
            PRINT(p, "%s%lld", i ? ", " : "", (long long)attr->list[i]);
        PRINT(p, "]");
        break;
    case TILE_KIND_word: PRINT(p, "%s", tile_print_word(p, attr)); break;
    case TILE_KIND_text: print_quoted(p, attr->text); break;
    case TILE_KIND_symbol: PRINT(p, "@%s", attr->text); break;
    case TILE_KIND_constant:
        print_constant(p, &(tile_value_data){.type = attr->type, .expr = attr->expr});
        break;
    case TILE_KIND_values: tile_print_param_values(p, attr->values, attr->count); break;
    }
}

void tile_print_attrs(tile_printer *p, tile_op op, const tile_op_info *info) {
    const char *before = " {";
    for (unsigned i = 0; i < info->attr_count; i++) {
        const tile_attr *attr = tile_op_attr(p->f, op, info->attrs[i].id);
        if (!attr || attr->id == TILE_ATTR_all) continue;
        PRINT(p, "%s", before);
        tile_print_attr(p, attr);
        before = ", ";
    }
    PRINT(p, "%s", *before == ',' ? "}" : "");
}
