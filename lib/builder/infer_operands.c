/* Checks each operand against its class in ops.def, and suggests what to write instead. */
#include "lib/builder/infer_rules.h"

static bool is_scalar(const tile_type *type, tile_scalar scalar) {
    return type->kind == TILE_TYPE_SCALAR && type->scalar == scalar;
}

static bool is_own_buffer(const tile_type *type) {
    return type->kind == TILE_TYPE_SHARED && !type->cluster;
}

/* Barriers have no data, so an operand that is accessed must not be a buffer of barriers. */
static bool class_fits(const tile_infer *infer, unsigned operand, tile_value value) {
    const tile_op_info *info = tile_op_get_info(infer->opcode);
    const tile_type *type = tile_value_type(infer->function, value);
    tile_operand_class class = info->operands[operand].class_;
    bool generic = type->param != NULL;
    if (is_barrier(type) && info->operands[operand].access != TILE_ACCESS_none) return false;
    switch (class) {
    case TILE_CLASS_any: return true;
    case TILE_CLASS_number: return is_value(type);
    case TILE_CLASS_integer:
        return is_value(type) && (generic || !tile_scalar_is_floating(type->scalar));
    case TILE_CLASS_floating:
        return is_value(type) && (generic || tile_scalar_is_floating(type->scalar));
    case TILE_CLASS_boolean: return is_value(type) && type->scalar == TILE_i1;
    case TILE_CLASS_scalar: return type->kind == TILE_TYPE_SCALAR;
    case TILE_CLASS_index: return is_scalar(type, TILE_i32);
    case TILE_CLASS_long_index: return is_scalar(type, TILE_i32) || is_scalar(type, TILE_i64);
    case TILE_CLASS_constant:
        return is_scalar(type, TILE_i32) &&
               tile_value_at(infer->function, value)->kind == TILE_VALUE_CONSTANT;
    case TILE_CLASS_pointer: return type->kind == TILE_TYPE_PTR;
    case TILE_CLASS_tensor: return type->kind == TILE_TYPE_TENSOR;
    case TILE_CLASS_view: return type->kind == TILE_TYPE_VIEW;
    case TILE_CLASS_shared: return is_own_buffer(type);
    case TILE_CLASS_any_shared: return type->kind == TILE_TYPE_SHARED;
    case TILE_CLASS_barrier: return is_barrier(type) && !type->cluster;
    case TILE_CLASS_any_barrier: return is_barrier(type);
    case TILE_CLASS_memory: return type->kind == TILE_TYPE_VIEW || is_own_buffer(type);
    case TILE_CLASS_global: return type->kind == TILE_TYPE_PTR || type->kind == TILE_TYPE_VIEW;
    case TILE_CLASS_location:
        return type->kind == TILE_TYPE_PTR || type->kind == TILE_TYPE_VIEW || is_own_buffer(type);
    case TILE_CLASS_tile: return type->kind == TILE_TYPE_TILE;
    case TILE_CLASS_tile_or_shared: return type->kind == TILE_TYPE_TILE || is_own_buffer(type);
    case TILE_CLASS_vector: return type->kind == TILE_TYPE_VECTOR;
    case TILE_CLASS_tensor_map: return type->kind == TILE_TYPE_MAP;
    case TILE_CLASS_descriptor: return type->kind == TILE_TYPE_DESCRIPTOR;
    case TILE_CLASS_vector_or_descriptor:
        return type->kind == TILE_TYPE_VECTOR || type->kind == TILE_TYPE_DESCRIPTOR;
    }
    return false;
}

static const char *class_phrase(tile_operand_class class) {
    static const char *const phrases[] = {
#define OPERAND_CLASS(name, word, phrase) [TILE_CLASS_##name] = phrase,
#include "tile/classes.def"
#undef OPERAND_CLASS
    };
    return phrases[class];
}

static bool has_axis(const tile_op_info *info) {
    for (unsigned i = 0; i < info->attr_count; i++)
        if (info->attrs[i].id == TILE_ATTR_axis) return true;
    return false;
}

/* What to write if a value is not of this class. */
static const char *class_remedy(const tile_infer *infer, unsigned operand, tile_value value,
                                tile_arena *arena) {
    const tile_op_info *info = tile_op_get_info(infer->opcode);
    const tile_type *type = tile_value_type(infer->function, value);
    tile_operand_class class = info->operands[operand].class_;
    const char *name = value_text(infer, value, arena);
    bool memory = class == TILE_CLASS_memory || class == TILE_CLASS_view;
    if (is_barrier(type) && info->operands[operand].access != TILE_ACCESS_none)
        return "; use barrier_arrive, barrier_wait and the other operations on barriers";
    if (class == TILE_CLASS_shared && has_axis(info) &&
        tile_value_at(infer->function, value)->kind == TILE_VALUE_CONSTANT)
        return tile_arena_format(arena, "; write the axis as an attribute: `axis = %s`", name);
    if (infer->opcode == TILE_OP_map_shared) return "; pass a buffer of this block";
    if (type->kind == TILE_TYPE_SHARED && type->cluster)
        return "; use load_shared, store_shared, ld_shared or st_shared for the buffer of another "
               "block";
    if (class == TILE_CLASS_pointer && type->kind == TILE_TYPE_VIEW)
        return tile_arena_format(arena, "; write `base(%s)`", name);
    if (type->kind == TILE_TYPE_TENSOR && memory)
        return tile_arena_format(
            arena,
            "; a compute takes tensors as they are, `%s`, and a part as `(slice(%s, [0]) : [64])`",
            name, name);
    if (is_value(type) && memory && infer->opcode == TILE_OP_load)
        return "; in an expression, put the load in parentheses: `(load %x[%i] : [64]) * 2.0`";
    if (is_value(type) && memory && info->operands[operand].access == TILE_ACCESS_write)
        return tile_arena_format(arena, "; write the memory last: `%s %%t, %%x[%%i]`",
                                 tile_op_spelling(info));
    if (infer->opcode == TILE_OP_element && type->kind == TILE_TYPE_TILE)
        return tile_arena_format(
            arena, "; elements at the coordinates of a tile are `gather(%%t, %s, axis = 0)`", name);
    if (type->kind == TILE_TYPE_PTR && info->operand_count == 2 &&
        (class == TILE_CLASS_number || class == TILE_CLASS_integer))
        return tile_arena_format(
            arena,
            "; memory is read through a view: declare `%s: view<f32[%%n]>` and "
            "write `load %s[%%i] : [64]`",
            name, name);
    if (type->kind == TILE_TYPE_PTR && memory)
        return tile_arena_format(
            arena, "; declare the argument as a view, or write `%%v = view %s, [%%n]`", name);
    if (is_value(type) && class == TILE_CLASS_view && !operand && info->operand_count == 2)
        return tile_arena_format(arena, "; write the memory first: `%s %%x, ..`",
                                 tile_op_spelling(info));
    if (type->kind == TILE_TYPE_VIEW && infer->function->kind == TILE_PLAN)
        return "; a plan only launches kernels: write a kernel for this";
    if (type->kind == TILE_TYPE_VIEW && class != TILE_CLASS_shared)
        return tile_arena_format(arena, "; load a tile of it: `(load %s[%%i] : [64])`", name);
    if (type->kind == TILE_TYPE_SHARED)
        return tile_arena_format(arena, "; load it: `(load_shared %s)`", name);
    if (class == TILE_CLASS_index && type->kind == TILE_TYPE_SCALAR)
        return tile_arena_format(arena, "; cast it: `i32(%s)`", name);
    bool scalar =
        class == TILE_CLASS_index || class == TILE_CLASS_long_index || class == TILE_CLASS_scalar;
    if (scalar && type->kind == TILE_TYPE_TILE)
        return tile_arena_format(
            arena,
            tile_type_elements(type) == 1
                ? "; take its element: `scalar(%s)`"
                : "; take one number from it: `scalar(reduce_max(%s, axis = 0))`",
            name);
    if (class == TILE_CLASS_floating && is_value(type))
        return tile_arena_format(arena, "; cast it: `f32(%s)`", name);
    return "";
}

static bool fail_class(const tile_infer *infer, unsigned operand, tile_value value) {
    const tile_op_info *info = tile_op_get_info(infer->opcode);
    const tile_type *type = tile_value_type(infer->function, value);
    tile_arena scratch = {0};
    const char *remedy = class_remedy(infer, operand, value, &scratch);
    tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                "%s: operand '%s' must be %s, not %s%s", tile_op_spelling(info),
                info->operands[operand].name, class_phrase(info->operands[operand].class_),
                type_text(infer, type, &scratch), remedy);
    tile_arena_reset(&scratch);
    return false;
}

/* If the element type is a parameter, it is checked once the parameter has a value. */
static bool is_index_tile(const tile_infer *infer, const tile_type *type) {
    return tile_op_has_trait(infer->opcode, TILE_TRAIT_GATHERS) && type->kind == TILE_TYPE_TILE &&
           (type->param || type->scalar == TILE_i32 || type->scalar == TILE_i64);
}

/* Checks the number and types of an element's indices. */
static bool check_indices(const tile_infer *infer, tile_operand_form form, const tile_value *values,
                          unsigned count) {
    const tile_type *base = tile_value_type(infer->function, values[0]);
    bool address = form == TILE_FORM_address || form == TILE_FORM_optaddress;
    unsigned wanted = base->kind == TILE_TYPE_VIEW   ? base->rank
                      : address                      ? 1
                      : base->kind == TILE_TYPE_TILE ? 0
                                                     : base->stages != NULL;
    bool part = form == TILE_FORM_part;
    bool shared = (part || address) && base->kind == TILE_TYPE_SHARED;
    unsigned placed =
        shared ? base->rank + (base->stages != NULL) : wanted; /* number of coordinates */
    if (count - 1 != wanted && count - 1 != placed) {
        tile_arena scratch = {0};
        const char *remedy = "";
        if (base->kind == TILE_TYPE_VIEW) {
            static const char coordinates[] = "%i, %j, %k, %l, %m, %n";
            remedy = tile_arena_format(&scratch, ", one for each dim: `%s[%.*s]`",
                                       value_text(infer, values[0], &scratch),
                                       (int)(base->rank * 4 - 2), coordinates);
        }
        tile_report(tile_function_context(infer->function), TILE_ERROR, infer->loc,
                    "%s: %s takes %u %s in brackets, not %u%s%s", op_name(infer),
                    type_text(infer, base, &scratch), placed, placed == 1 ? "index" : "indices",
                    count - 1, remedy,
                    placed == wanted ? ""
                    : part ? base->stages ? " (a stage and the start of the part, or the stage)"
                                          : " (the start of the part, or none)"
                    : base->stages ? " (a stage and its coordinates, or one offset)"
                                   : " (its coordinates, or one offset)");
        tile_arena_reset(&scratch);
        return false;
    }
    for (unsigned i = 1; i < count; i++) {
        const tile_type *type = tile_value_type(infer->function, values[i]);
        bool is_long = base->kind == TILE_TYPE_PTR && is_scalar(type, TILE_i64);
        bool stage = base->stages && i == 1;
        if (is_scalar(type, TILE_i32) || is_long || (!stage && is_index_tile(infer, type)))
            continue;
        return fail_with(infer,
                         tile_op_has_trait(infer->opcode, TILE_TRAIT_GATHERS)
                             ? "an index must be an i32, or a tile of i32 or i64, not"
                             : "an index must be an i32, not",
                         type, "", NULL,
                         type->kind == TILE_TYPE_SCALAR ? "; cast it: `i32(..)`" : "");
    }
    return true;
}

bool tile_infer_check_classes(const tile_infer *infer) {
    const tile_op_info *info = tile_op_get_info(infer->opcode);
    for (unsigned i = 0; i < info->operand_count; i++) {
        unsigned count;
        const tile_value *values = segment_at(infer, i, &count);
        tile_operand_form form = info->operands[i].form;
        bool element = tile_form_has_brackets(form);
        if (element && !count) continue; /* the operand is optional */
        for (unsigned v = 0; v < (element ? 1 : count); v++)
            if (!class_fits(infer, i, values[v])) return fail_class(infer, i, values[v]);
        if (element && !check_indices(infer, form, values, count)) return false;
    }
    return true;
}
