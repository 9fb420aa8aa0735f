/* Converts operands to a common shape: see the header. */
#include "lib/builder/broadcast_operands.h"

#include "lib/ops/shape.h"

typedef struct broadcasting {
    tile_builder *builder;
    const tile_op_info *info; /* NULL: a call, whose arguments may have any element types */
    tile_value *operands;
    unsigned count;
    tile_type common;   /* the common type; element types remain those of the operands */
    tile_scalar scalar; /* element type of the operand that determines the layout */
} broadcasting;

static tile_context *context_of(const broadcasting *s) {
    return tile_function_context(s->builder->function);
}

static const tile_type *type_of(const broadcasting *s, unsigned i) {
    return tile_value_type(s->builder->function, s->operands[i]);
}

/* Returns whether the element type may differ from that of the other operands. */
static bool is_condition(const broadcasting *s, unsigned i) {
    return !s->info || s->info->operands[i].class_ == TILE_CLASS_boolean;
}

/* Finds the common kind and the highest rank of the arrays. Returns false if there are none, their
 * kinds differ, or operands of the same class have different element types. */
static bool find_kind(broadcasting *s) {
    const tile_type *element = NULL;
    bool arrays = false, fits = true;
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *type = type_of(s, i);
        if (!is_condition(s, i)) {
            element = element ? element : type;
            fits &= type->scalar == element->scalar && type->param == element->param;
        }
        if (type->kind == TILE_TYPE_SCALAR) continue;
        fits &= tile_type_is_array(type) && (!arrays || type->kind == s->common.kind);
        s->common.kind = type->kind;
        s->common.rank = type->rank > s->common.rank ? type->rank : s->common.rank;
        arrays = true;
    }
    return arrays && fits;
}

/* Finds one extent of the common shape; `at` counts from the last dim. Vectors are not
 * stretched. */
static bool find_dim(broadcasting *s, unsigned at) {
    const tile_expr **dim = &s->common.dims[s->common.rank - 1 - at];
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *type = type_of(s, i);
        if (at >= type->rank) continue;
        const tile_expr *own = type->dims[type->rank - 1 - at];
        bool one = tile_type_dim(type, type->rank - 1 - at) == 1;
        if (!*dim || (tile_type_dim(&s->common, s->common.rank - 1 - at) == 1 && !one))
            *dim = own;
        else if (!one && !tile_extents_equal(context_of(s), *dim, own))
            return false;
    }
    return true;
}

/* At level 2 all ranks must be equal. */
static bool find_shape(broadcasting *s) {
    bool stretches = s->common.kind != TILE_TYPE_VECTOR, fits = true;
    for (unsigned at = 0; at < s->common.rank && fits; at++) fits = find_dim(s, at);
    for (unsigned i = 0; i < s->count && fits; i++) {
        const tile_type *type = type_of(s, i);
        if (type->kind == TILE_TYPE_SCALAR) continue;
        fits &= s->common.kind == TILE_TYPE_TENSOR || type->rank == s->common.rank;
        fits &= stretches || type->dims[0] == s->common.dims[0];
    }
    return fits;
}

/* Returns whether an operation on two tensors repeats this operand itself, along leading dims.
 * Constants are always splatted. */
static bool is_repeated(const broadcasting *s, unsigned operand) {
    const tile_type *type = type_of(s, operand);
    if (s->common.kind != TILE_TYPE_TENSOR || s->count != 2 ||
        tile_value_at(s->builder->function, s->operands[operand])->kind == TILE_VALUE_CONSTANT)
        return false;
    for (unsigned d = 0; d < type->rank; d++)
        if (!tile_extents_equal(context_of(s), type->dims[d],
                                s->common.dims[s->common.rank - type->rank + d]))
            return false;
    return true;
}

static bool has_shape(const broadcasting *s, const tile_type *type) {
    return type->kind == s->common.kind && tile_type_same_dims(context_of(s), type, &s->common);
}

/* The operand in the common shape, or unchanged; no value after a diagnostic. */
static tile_value broadcast_operand(const broadcasting *s, unsigned i) {
    const tile_type *type = type_of(s, i);
    bool scalar = type->kind == TILE_TYPE_SCALAR;
    tile_type draft = s->common;
    draft.scalar = type->scalar;
    draft.param = type->param;
    draft.layout = tile_layout_for_scalar(draft.layout, s->scalar, type->scalar);
    if (has_shape(s, type) && type->kind == TILE_TYPE_TILE && type->layout != draft.layout &&
        draft.layout)
        return tile_build_convert_layout(s->builder, s->operands[i], TILE_NO_VALUE,
                                         tile_type_get(context_of(s), &draft));
    if (has_shape(s, type) || is_repeated(s, i) || (scalar && is_condition(s, i)))
        return s->operands[i];
    const tile_type *to = tile_type_get(context_of(s), &draft);
    if (!to) return TILE_NO_VALUE;
    return scalar ? tile_build_splat(s->builder, s->operands[i], to)
                  : tile_build_broadcast(s->builder, s->operands[i], to);
}

/* The layout of an operand that has the common shape. */
static void find_layout(broadcasting *s) {
    for (unsigned i = 0; i < s->count; i++)
        if (has_shape(s, type_of(s, i)) && type_of(s, i)->layout) {
            s->common.layout = type_of(s, i)->layout;
            s->scalar = type_of(s, i)->scalar;
        }
}

bool tile_broadcast_operands(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                             unsigned count) {
    broadcasting s = {builder, tile_op_get_info(opcode), operands, count, {0}, TILE_SCALAR_NONE};
    if (count < 2 || !find_kind(&s) || !find_shape(&s)) return true;
    find_layout(&s);
    for (unsigned i = 0; i < count; i++)
        if (!(operands[i] = broadcast_operand(&s, i)).id) return false;
    return true;
}

/* The type that an access moves, if operands or the written type determine it. */
static const tile_type *find_moved(const tile_function *f, const tile_op_info *info,
                                   const tile_value *operands, const uint16_t *sizes,
                                   const tile_type *given) {
    unsigned at = 0;
    for (unsigned i = 0; i < info->operand_count; at += sizes[i++]) {
        if (!sizes[i]) continue;
        const tile_type *type = tile_value_type(f, operands[at]);
        if (info->operands[i].form == TILE_FORM_value ||
            (info->operands[i].form == TILE_FORM_element && type->kind == TILE_TYPE_SHARED))
            return type;
    }
    return given;
}

/* The type of the index tiles in an access's brackets; NULL: none. */
static const tile_type *find_points(const tile_function *f, const tile_op_info *info,
                                    const tile_value *operands, const uint16_t *sizes) {
    unsigned at = 0;
    for (unsigned i = 0; i < info->operand_count; at += sizes[i++])
        for (unsigned k = 1; tile_form_has_brackets(info->operands[i].form) && k < sizes[i]; k++)
            if (tile_value_type(f, operands[at + k])->kind == TILE_TYPE_TILE)
                return tile_value_type(f, operands[at + k]);
    return NULL;
}

bool tile_splat_scalars(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                        const uint16_t *sizes) {
    tile_function *f = builder->function;
    const tile_op_info *info = tile_op_get_info(opcode);
    const tile_type *points = find_points(f, info, operands, sizes);
    unsigned at = 0;
    for (unsigned i = 0; points && i < info->operand_count; at += sizes[i++]) {
        const tile_type *type = sizes[i] ? tile_value_type(f, operands[at]) : NULL;
        if (!type || info->operands[i].form != TILE_FORM_value || type->kind != TILE_TYPE_SCALAR)
            continue;
        tile_type draft = *points;
        draft.scalar = type->scalar;
        draft.param = type->param;
        operands[at] = tile_build_splat(builder, operands[at],
                                        tile_type_get(tile_function_context(f), &draft));
        if (!operands[at].id) return false;
    }
    return true;
}

bool tile_broadcast_predicate(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                              const uint16_t *sizes, const tile_type *given) {
    tile_function *f = builder->function;
    const tile_op_info *info = tile_op_get_info(opcode);
    const tile_type *moved = find_moved(f, info, operands, sizes, given);
    unsigned at = 0, place = 0;
    for (; place < info->operand_count; at += sizes[place++])
        if (info->operands[place].form == TILE_FORM_optional &&
            info->operands[place].class_ == TILE_CLASS_boolean)
            break;
    if (!moved || place == info->operand_count || !sizes[place]) return true;
    const tile_type *from = tile_value_type(f, operands[at]);
    tile_type draft = *moved;
    draft.kind = TILE_TYPE_TILE;
    draft.scalar = from->scalar;
    draft.param = from->param;
    draft.stages = NULL;
    draft.layout = moved->kind == TILE_TYPE_TILE ? moved->layout : NULL;
    if (from->kind != TILE_TYPE_TILE || from->rank != moved->rank || !moved->rank) return true;
    const tile_type *to = tile_type_get(tile_function_context(f), &draft);
    if (!to || tile_type_same_dims(tile_function_context(f), from, to) ||
        !tile_type_stretches(tile_function_context(f), from, to))
        return true;
    operands[at] = tile_build_broadcast(builder, operands[at], to);
    return operands[at].id != 0;
}

static bool all_are_scalars(const broadcasting *s) {
    bool scalars = true;
    for (unsigned i = 0; i < s->count; i++) scalars &= type_of(s, i)->kind == TILE_TYPE_SCALAR;
    return scalars;
}

const tile_type *tile_broadcast_type(tile_function *f, const tile_value *arguments, unsigned count,
                                     const tile_type *element) {
    tile_builder builder = {.function = f};
    broadcasting s = {&builder, NULL, (tile_value *)arguments, count, {0}, TILE_SCALAR_NONE};
    if (all_are_scalars(&s)) return element;
    if (!find_kind(&s) || !find_shape(&s)) return NULL;
    find_layout(&s);
    s.common.scalar = element->scalar;
    s.common.param = element->param;
    s.common.layout = tile_layout_for_scalar(s.common.layout, s.scalar, element->scalar);
    return tile_type_get(tile_function_context(f), &s.common);
}
