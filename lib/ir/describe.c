/* Types and expressions as text. */
#include "lib/ir/describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* C's infix operators with their binding strength; what is not here is written as a function. */
static const struct {
    tile_opcode opcode;
    const char *text;
    int strength;
} operators[] = {
    {TILE_OP_or, "|", 1},  {TILE_OP_xor, "^", 2}, {TILE_OP_and, "&", 3},  {TILE_OP_eq, "==", 4},
    {TILE_OP_ne, "!=", 4}, {TILE_OP_lt, "<", 5},  {TILE_OP_le, "<=", 5},  {TILE_OP_gt, ">", 5},
    {TILE_OP_ge, ">=", 5}, {TILE_OP_shl, "<<", 6}, {TILE_OP_shr, ">>", 6}, {TILE_OP_add, "+", 7},
    {TILE_OP_sub, "-", 7}, {TILE_OP_mul, "*", 8}, {TILE_OP_div, "/", 8},
};

/* A float that reads back to the same double and looks like one. */
static const char *float_text(double number, tile_arena *arena) {
    if (isnan(number))
        return "nan";
    if (isinf(number))
        return number < 0 ? "-inf" : "inf";
    char digits[40];
    for (int precision = 6; precision <= 17; precision++) {
        double back;
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (sscanf(digits, "%lf", &back) == 1 && back == number)
            break;
    }
    bool plain = !strpbrk(digits, ".e");
    return tile_arena_format(arena, "%s%s", digits, plain ? ".0" : "");
}

static const char *expr_text(const tile_function *f, const tile_expr *expr, int outer,
                             tile_arena *arena) {
    switch (expr->kind) {
    case TILE_EXPR_INT: return tile_arena_format(arena, "%" PRId64, expr->integer);
    case TILE_EXPR_FLOAT: return float_text(expr->number, arena);
    case TILE_EXPR_PARAM: return expr->name;
    case TILE_EXPR_ARG:
        return f && (size_t)expr->integer < f->arg_count
                   ? tile_arena_format(arena, "%%%s", f->args[expr->integer].name)
                   : tile_arena_format(arena, "%%arg%" PRId64, expr->integer);
    case TILE_EXPR_OP: break;
    }
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        int strength = operators[i].strength;
        if (operators[i].opcode != expr->opcode)
            continue;
        return tile_arena_format(arena, "%s%s %s %s%s", strength < outer ? "(" : "",
                                 expr_text(f, expr->args[0], strength, arena), operators[i].text,
                                 expr_text(f, expr->args[1], strength + 1, arena),
                                 strength < outer ? ")" : "");
    }
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
        [TILE_TYPE_TENSOR] = "tensor", [TILE_TYPE_VIEW] = "view",     [TILE_TYPE_SHARED] = "shared",
        [TILE_TYPE_TILE] = "tile",     [TILE_TYPE_VECTOR] = "vector",
    };
    const char *element = type->param ? type->param : tile_scalar_name(type->scalar);
    if (type->kind == TILE_TYPE_SCALAR)
        return element;
    if (type->kind == TILE_TYPE_PTR)
        return tile_arena_format(arena, "ptr<%s>", element);
    const char *slots = type->slots ? tile_arena_format(arena, "[%s]", expr_text(f, type->slots, 0, arena))
                                    : "";
    const char *strides = type->has_strides
                              ? tile_arena_format(arena, ", strides [%s]",
                                                  extents_text(f, type->strides, type->rank, arena))
                              : "";
    return tile_arena_format(arena, "%s<%s%s[%s]%s%s%s>", words[type->kind], element, slots,
                             extents_text(f, type->dims, type->rank, arena), strides,
                             layout ? ", #" : "", layout ? layout : "");
}
