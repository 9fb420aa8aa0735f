#include "lib/ops/gather.h"

#include <math.h>
#include <string.h>

#include "lib/ops/dims.h"
#include "lib/support/scalar.h"

/* Parts --------------------------------------------------------------------------------------- */

static bool is_memory(const tile_type *type) {
    return type->kind == TILE_TYPE_VIEW || type->kind == TILE_TYPE_SHARED;
}

/* The row's operand whose brackets may hold index tiles: a view, or a buffer if there is no view.
 */
static bool find_memory(const tile_function *f, tile_op op, unsigned *operand) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    bool found = false;
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        tile_operand_form form = info->operands[i].form;
        bool fits = (form == TILE_FORM_element || form == TILE_FORM_part) && values.count &&
                    is_memory(tile_value_type(f, values.at[0]));
        if (!fits || (found && tile_value_type(f, values.at[0])->kind != TILE_TYPE_VIEW)) continue;
        *operand = i;
        found = true;
    }
    return found;
}

tile_value tile_op_predicate(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        bool fits = info->operands[i].form == TILE_FORM_optional &&
                    info->operands[i].class_ == TILE_CLASS_boolean;
        if (fits && values.count) return values.at[0];
    }
    return TILE_NO_VALUE;
}

/* The value that moves between the memory and registers, or a shared buffer. */
static const tile_type *find_moved(const tile_function *f, tile_op op, unsigned memory) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++) {
        const tile_values values = tile_op_segment(f, op, i);
        bool moved = info->operands[i].form == TILE_FORM_value ||
                     (info->operands[i].form == TILE_FORM_element && i != memory);
        if (moved && values.count) return tile_value_type(f, values.at[0]);
    }
    return tile_value_type(f, tile_op_result(f, op, 0));
}

bool tile_gather_of(const tile_function *f, tile_op op, tile_gather *gather) {
    tile_gather g = {0};
    if (!tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_GATHERS) ||
        !find_memory(f, op, &g.operand))
        return false;
    const tile_values values = tile_op_segment(f, op, g.operand);
    const tile_type *memory = tile_value_type(f, values.at[0]);
    unsigned stages = memory->stages != NULL;
    g.memory = values.at[0];
    g.rank = memory->rank;
    if (values.count == 1u + stages + g.rank) g.index = values.at + 1 + stages;
    g.type = find_moved(f, op, g.operand);
    g.predicate = tile_op_predicate(f, op);
    for (unsigned d = 0; g.index && d < g.rank; d++) {
        const tile_type *type = tile_value_type(f, g.index[d]);
        if (type->kind != TILE_TYPE_TILE) continue;
        g.tiles++;
        g.shape = g.shape ? g.shape : type;
    }
    g.shape_rank = g.shape ? g.shape->rank : 0;
    g.covered = g.type->rank > g.shape_rank ? g.type->rank - g.shape_rank : 0;
    *gather = g;
    return true;
}

bool tile_is_whole_access(const tile_function *f, tile_op op) {
    tile_gather g;
    if (!tile_gather_of(f, op, &g)) return true;
    return !g.tiles && !g.predicate.id && g.type->kind != TILE_TYPE_SCALAR;
}

bool tile_is_plain_access(const tile_function *f, tile_op op) {
    return tile_is_whole_access(f, op) && !tile_op_pads(f, op);
}

bool tile_is_repeated(const tile_function *f, tile_value tile, unsigned d) {
    const tile_type *type = tile_value_type(f, tile);
    tile_op def = tile_value_def(f, tile);
    if (type->kind != TILE_TYPE_TILE || tile_type_dim(type, d) == 1) return true;
    if (!def.id) return false;
    tile_opcode opcode = tile_op_opcode(f, def);
    bool repeated = tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) ||
                    tile_op_dims(opcode) == TILE_DIMS_stretched;
    for (unsigned i = 0; repeated && i < tile_op_operand_count(f, def); i++) {
        unsigned own = tile_dim_in_operand(f, def, i, d);
        repeated = own == TILE_NO_DIM || tile_is_repeated(f, tile_op_operand(f, def, i), own);
    }
    return repeated;
}

/* Pads ---------------------------------------------------------------------------------------- */

/* An unknown number is treated as nonzero. */
bool tile_op_pads(const tile_function *f, tile_op op) {
    const tile_attr *pad = tile_op_attr(f, op, TILE_ATTR_pad);
    if (!pad) return false;
    if (pad->expr->kind == TILE_EXPR_FLOAT)
        return pad->expr->number != 0 || signbit(pad->expr->number);
    return !tile_expr_is(pad->expr, 0);
}

void tile_pad_write(const tile_function *f, tile_op op, tile_scalar scalar, void *at) {
    int64_t integer = 0;
    const tile_attr *pad = tile_op_attr(f, op, TILE_ATTR_pad);
    memset(at, 0, tile_scalar_bytes(scalar));
    if (!pad) return;
    if (pad->expr->kind == TILE_EXPR_FLOAT)
        tile_scalar_write(scalar, at, pad->expr->number);
    else if (!tile_expr_is_int(pad->expr, &integer))
        return;
    else if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, at, (double)integer);
    else
        tile_integer_write(scalar, at, integer);
}

/* Checks -------------------------------------------------------------------------------------- */

/* The view that is read, or NULL: a shared buffer or a pointer has no bounds. */
static const tile_type *view_read(const tile_function *f, tile_op op) {
    if (!tile_op_takes(tile_op_opcode(f, op), TILE_OPERAND_src)) return NULL;
    tile_value src = tile_operand_src(f, op);
    const tile_type *type = src.id ? tile_value_type(f, src) : NULL;
    return type && type->kind == TILE_TYPE_VIEW ? type : NULL;
}

/* Checks that extents other than the axis' are equal; an unknown one may be. */
static bool check_axis(const tile_function *f, tile_op op) {
    const tile_type *src = tile_value_type(f, tile_operand_src(f, op)),
                    *at = tile_value_type(f, tile_operand_at(f, op));
    int64_t axis;
    const tile_attr *attr = tile_op_attr(f, op, TILE_ATTR_axis);
    if (!attr || !tile_expr_is_int(attr->expr, &axis)) return true;
    if (axis < 0 || axis >= src->rank) {
        return tile_error_at(f, op, "gather: there is no axis %lld, src has the dims 0 to %u",
                             (long long)axis, src->rank - 1);
    }
    for (unsigned d = 0; d < src->rank; d++) {
        bool known = src->dims[d] && at->dims[d] && src->dims[d]->kind == TILE_EXPR_INT &&
                     at->dims[d]->kind == TILE_EXPR_INT;
        if ((int64_t)d == axis || src->dims[d] == at->dims[d] || !known) continue;
        return tile_error_at(f, op,
                             "gather: src and its indices must have the same extents except along "
                             "the axis; along dim %u they have %lld and %lld",
                             d, (long long)src->dims[d]->integer, (long long)at->dims[d]->integer);
    }
    return true;
}

/* Accesses to a shared buffer bypass all caches. */
static bool check_cache(const tile_function *f, tile_op op) {
    bool loads = tile_op_opcode(f, op) == TILE_OP_load;
    bool shared =
        tile_value_type(f, (loads ? tile_operand_src(f, op) : tile_operand_dst(f, op)))->kind ==
        TILE_TYPE_SHARED;
    if (!shared || !tile_op_has_attr(f, op, TILE_ATTR_cache)) return true;
    return tile_error_of(f, op,
                         "`cache` applies to global memory, and this %s a shared buffer; remove it",
                         loads ? "comes from" : "goes to");
}

/* Checks that a pad is an element of this type. */
static bool check_pad(const tile_function *f, tile_op op, const tile_expr *pad,
                      const tile_type *element) {
    int64_t integer;
    char range[TILE_RANGE_TEXT];
    if (element->param || tile_scalar_is_floating(element->scalar)) return true;
    if (pad->kind == TILE_EXPR_FLOAT)
        return tile_error_of(f, op, "pad must be an integer, because the elements are %s",
                             tile_scalar_name(element->scalar));
    if (element->scalar == TILE_i1 && tile_expr_is_int(pad, &integer) &&
        (integer == 0 || integer == 1))
        return true;
    if (tile_expr_is_int(pad, &integer) && !tile_integer_fits(element->scalar, integer))
        return tile_error_of(f, op, "pad does not fit into the elements, %s: %s",
                             tile_scalar_name(element->scalar),
                             tile_integer_range_text(element->scalar, range));
    return true;
}

/* Only accesses that a GPU would mask can be declared in-bounds. */
static bool check_within(const tile_function *f, tile_op op) {
    tile_gather g;
    if (!tile_op_has_attr(f, op, TILE_ATTR_in_bounds)) return true;
    if (tile_gather_of(f, op, &g) && g.tiles &&
        tile_value_type(f, g.memory)->kind == TILE_TYPE_SHARED)
        return true;
    return tile_error_of(
        f, op, "`in_bounds` applies to elements of a shared buffer at index tiles; remove it");
}

bool tile_verify_gather(const tile_function *f, tile_op op) {
    if (tile_op_opcode(f, op) == TILE_OP_gather) return check_axis(f, op);
    if (tile_op_opcode(f, op) == TILE_OP_load || tile_op_opcode(f, op) == TILE_OP_store)
        if (!check_cache(f, op)) return false;
    if (!check_within(f, op)) return false;
    const tile_attr *pad = tile_op_attr(f, op, TILE_ATTR_pad);
    if (!pad) return true;
    if (tile_op_opcode(f, op) == TILE_OP_window)
        return check_pad(f, op, pad->expr, tile_value_type(f, tile_op_result(f, op, 0)));
    const tile_type *element = view_read(f, op);
    if (!element) {
        return tile_error_of(f, op, "`pad` applies to loads from views only; remove it");
    }
    return check_pad(f, op, pad->expr, element);
}
