/* Types and expressions as text. */
#include "lib/ir/describe.h"

#include <inttypes.h>

#include "lib/ir/syntax.h"

static const char *expr_text(const tile_function *f, const tile_expr *expr, int outer,
                             tile_arena *arena) {
    char number[TILE_DOUBLE_TEXT];
    if (!expr) return "?"; /* not verified yet */
    switch (expr->kind) {
    case TILE_EXPR_INT: return tile_arena_format(arena, "%" PRId64, expr->integer);
    case TILE_EXPR_FLOAT:
        tile_double_to_text(expr->number, number);
        return tile_arena_format(arena, "%s", number);
    case TILE_EXPR_WORD:
    case TILE_EXPR_PARAM: return expr->name;
    case TILE_EXPR_ARG:
        return f && (size_t)expr->integer < f->arg_count
                   ? tile_arena_format(arena, "%%%s", f->args[expr->integer].name)
                   : tile_arena_format(arena, "%%arg%" PRId64, expr->integer);
    case TILE_EXPR_NUM_SMS: return TILE_NUM_SMS_WORD;
    case TILE_EXPR_BLOCK_ID:
        return tile_arena_format(arena, "block_id(%" PRId64 ")", expr->integer);
    case TILE_EXPR_LOOP: return tile_arena_format(arena, "loop(%" PRId64 ")", expr->integer);
    case TILE_EXPR_OP: break;
    }
    const tile_infix *infix = tile_infix_from_opcode(expr->opcode);
    if (infix)
        return tile_arena_format(arena, "%s%s %s %s%s", infix->precedence < outer ? "(" : "",
                                 expr_text(f, expr->args[0], infix->precedence, arena),
                                 infix->symbol,
                                 expr_text(f, expr->args[1], infix->precedence + 1, arena),
                                 infix->precedence < outer ? ")" : "");
    const char *list = expr_text(f, expr->args[0], 0, arena);
    for (unsigned i = 1; i < 3 && expr->args[i]; i++)
        list = tile_arena_format(arena, "%s, %s", list, expr_text(f, expr->args[i], 0, arena));
    return tile_arena_format(arena, "%s(%s)", tile_op_get_info(expr->opcode)->name, list);
}

const char *tile_expr_text(const tile_function *f, const tile_expr *expr, tile_arena *arena) {
    return expr_text(f, expr, 0, arena);
}

static const char *extents_text(const tile_function *f, const tile_expr *const *extents,
                                unsigned rank, tile_arena *arena) {
    const char *list = "";
    for (unsigned d = 0; d < rank; d++)
        list = tile_arena_format(arena, "%s%s%s", list, d ? ", " : "",
                                 extents[d] ? expr_text(f, extents[d], 0, arena) : "?");
    return list;
}

const char *tile_type_text(const tile_function *f, const tile_type *type, const char *layout,
                           tile_arena *arena) {
    static const char *const words[] = {
        [TILE_TYPE_TENSOR] = "tensor", [TILE_TYPE_VIEW] = "view",
        [TILE_TYPE_SHARED] = "shared", [TILE_TYPE_TILE] = "tile",
        [TILE_TYPE_VECTOR] = "vector", [TILE_TYPE_MAP] = "tensor_map",
    };
    const char *element = type->param ? type->param : tile_scalar_name(type->scalar);
    if (tile_type_is_extents(type))
        return tile_arena_format(arena, "[%s]", extents_text(f, type->dims, type->rank, arena));
    if (type->kind == TILE_TYPE_SCALAR) return element;
    if (type->kind == TILE_TYPE_DESCRIPTOR)
        return tile_arena_format(arena, "descriptor<%s, %s>", element, type->mn_major ? "mn" : "k");
    if (type->kind == TILE_TYPE_PTR) return tile_arena_format(arena, "ptr<%s>", element);
    const char *stages =
        type->stages ? tile_arena_format(arena, "[%s]", expr_text(f, type->stages, 0, arena)) : "";
    const char *strides = type->has_strides
                              ? tile_arena_format(arena, ", strides [%s]",
                                                  extents_text(f, type->strides, type->rank, arena))
                              : "";
    return tile_arena_format(arena, "%s<%s%s[%s]%s%s%s%s>", words[type->kind], element, stages,
                             extents_text(f, type->dims, type->rank, arena), strides,
                             layout ? ", #" : "", layout ? layout : "",
                             type->cluster ? ", cluster" : "");
}

const char *tile_splat_advice(const tile_function *f, tile_value value, const tile_type *wanted,
                              tile_arena *arena) {
    const tile_type *have = tile_value_type(f, value);
    bool extents = tile_type_is_extents(wanted);
    bool alike = extents || (have->scalar == wanted->scalar && have->param == wanted->param);
    if (have->kind != TILE_TYPE_SCALAR || !(extents || tile_type_is_array(wanted)) || !alike)
        return "";
    tile_op def = tile_value_def(f, value);
    bool loaded = def.id && tile_op_opcode(f, def) == TILE_OP_load;
    const char *type = tile_type_text(f, wanted, NULL, arena);
    if (!loaded)
        return tile_arena_format(
            arena, "; to have the scalar in every element, write `splat(..) : %s`", type);
    return tile_arena_format(arena,
                             "; a load without extents reads one element: write `load .. : [%s]` "
                             "for a tile, or `splat(..) : %s` for the element in every place",
                             extents_text(f, wanted->dims, wanted->rank, arena), type);
}
