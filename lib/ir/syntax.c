/* Operators, words and numbers of the text form. */
#include "lib/ir/syntax.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/text.h"

static const tile_infix infix_table[] = {
#define INFIX(operation, symbol, precedence) {TILE_OP_##operation, symbol, precedence},
#include "lib/ir/infix.def"
#undef INFIX
};

enum { INFIX_COUNT = sizeof infix_table / sizeof *infix_table };

const tile_infix *tile_infix_from_opcode(tile_opcode opcode) {
    for (unsigned i = 0; i < INFIX_COUNT; i++)
        if (infix_table[i].opcode == opcode) return &infix_table[i];
    return NULL;
}

const tile_infix *tile_infix_from_symbol(const char *text, size_t length) {
    for (unsigned i = 0; i < INFIX_COUNT; i++)
        if (tile_text_is(infix_table[i].symbol, text, length)) return &infix_table[i];
    return NULL;
}

const char *tile_op_spelling(const tile_op_info *info) {
#define SPELLING(operation, text) {TILE_OP_##operation, text},
    static const struct {
        tile_opcode opcode;
        const char *text;
    } rows[] = {
#include "lib/ir/spellings.def"
    };
#undef SPELLING
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tile_op_get_info(rows[i].opcode) == info) return rows[i].text;
    return info->name;
}

const char *tile_opcode_spelling(tile_opcode opcode) {
    return tile_op_spelling(tile_op_get_info(opcode));
}

const char *tile_op_name(const tile_function *f, tile_op op) {
    bool call = tile_op_opcode(f, op) == TILE_OP_call;
    const char *callee = call ? tile_op_attr_text(f, op, TILE_ATTR_callee) : NULL;
    return callee ? callee : tile_opcode_spelling(tile_op_opcode(f, op));
}

bool tile_opcode_is_callable(tile_opcode opcode) {
    unsigned harmless = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED | TILE_EFFECT_COLLECTIVE;
    const tile_op_info *info = tile_op_get_info(opcode);
    if (info->traits & TILE_TRAIT_OWN_BUFFER) harmless |= TILE_EFFECT_WRITE_SHARED;
    return info->name && info->shape == TILE_SHAPE_NONE && !(info->effects & ~harmless) &&
           !(info->traits & TILE_TRAIT_FRESH);
}

bool tile_expr_is_truth(const tile_function *f, const tile_expr *expr) {
    if (expr->kind == TILE_EXPR_PARAM) {
        const tile_param_decl *param = tile_function_find_param(f, expr->name, strlen(expr->name));
        return param && param->kind == TILE_PARAM_bool;
    }
    if (expr->kind != TILE_EXPR_OP) return false;
    switch (expr->opcode) {
    case TILE_OP_and:
    case TILE_OP_or:
    case TILE_OP_xor:
        return tile_expr_is_truth(f, expr->args[0]) && tile_expr_is_truth(f, expr->args[1]);
    case TILE_OP_select:
        return tile_expr_is_truth(f, expr->args[1]) && tile_expr_is_truth(f, expr->args[2]);
    default: return tile_op_has_trait(expr->opcode, TILE_TRAIT_COMPARE);
    }
}

const tile_expr *tile_simplify_where(const tile_function *f, const tile_expr *where) {
    bool is_or = where->kind == TILE_EXPR_OP && where->opcode == TILE_OP_or;
    if (!is_or && !(where->kind == TILE_EXPR_OP && where->opcode == TILE_OP_and)) return where;
    const tile_expr *a = tile_simplify_where(f, where->args[0]);
    const tile_expr *b = tile_simplify_where(f, where->args[1]);
    for (unsigned side = 0; side < 2; side++) {
        const tile_expr *constant = side ? b : a, *other = side ? a : b;
        if (!tile_expr_is_truth(f, other)) continue;
        if (tile_expr_is(constant, is_or)) return constant;
        if (tile_expr_is(constant, !is_or)) return other;
    }
    return tile_expr_op(tile_function_context(f), where->opcode, a, b, NULL);
}

bool tile_expr_is_word(const tile_function *f, const tile_expr *expr) {
    if (expr->kind == TILE_EXPR_WORD) return true;
    if (expr->kind != TILE_EXPR_PARAM) return false;
    const tile_param_decl *param = tile_function_find_param(f, expr->name, strlen(expr->name));
    return param && (param->kind == TILE_PARAM_word || param->kind == TILE_PARAM_type);
}

bool tile_expr_holds(const tile_expr *expr, tile_expr_kind leaf) {
    bool found = expr->kind == leaf;
    for (unsigned i = 0; i < 3 && !found && expr->args[i]; i++)
        found = tile_expr_holds(expr->args[i], leaf);
    return found;
}

bool tile_expr_names_arg(const tile_expr *expr, size_t arg) {
    if (!expr) return false;
    bool found = expr->kind == TILE_EXPR_ARG && expr->integer == (int64_t)arg;
    for (unsigned i = 0; i < 3 && !found; i++) found = tile_expr_names_arg(expr->args[i], arg);
    return found;
}

bool tile_expr_names_param(const tile_expr *expr, const char *param) {
    if (!expr) return false;
    bool found = expr->kind == TILE_EXPR_PARAM && strcmp(expr->name, param) == 0;
    for (unsigned i = 0; i < 3 && !found; i++) found = tile_expr_names_param(expr->args[i], param);
    return found;
}

bool tile_expr_is_of_arguments(const tile_expr *expr) {
    return !tile_expr_holds(expr, TILE_EXPR_PARAM) && !tile_expr_holds(expr, TILE_EXPR_FLOAT) &&
           !tile_expr_holds(expr, TILE_EXPR_NUM_SMS);
}

const tile_param_decl *tile_function_find_param(const tile_function *f, const char *name,
                                                size_t length) {
    for (size_t i = 0; i < f->param_count; i++)
        if (tile_text_is(f->params[i].name, name, length)) return &f->params[i];
    return NULL;
}

const tile_arg_decl *tile_function_find_arg(const tile_function *f, const char *name) {
    for (size_t i = 0; i < f->arg_count; i++)
        if (strcmp(f->args[i].name, name) == 0) return &f->args[i];
    return NULL;
}

const char *tile_attr_keyword(tile_attr_id id) {
    if (id == TILE_ATTR_reversed) return tile_attr_keyword(TILE_ATTR_reverse);
    return id == TILE_ATTR_constant ? "const" : tile_attr_get_info(id)->name;
}

tile_attr_id tile_attr_from_keyword(const char *text, size_t length) {
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        const char *word = tile_attr_keyword((tile_attr_id)i);
        if (word && tile_text_is(word, text, length)) return (tile_attr_id)i;
    }
    return TILE_ATTR_NONE;
}

bool tile_is_literal_word(const char *text, size_t length) {
    return tile_text_is("true", text, length) || tile_text_is("false", text, length) ||
           tile_text_is("inf", text, length) || tile_text_is("nan", text, length) ||
           tile_text_is(TILE_NUM_SMS_WORD, text, length);
}

const char *tile_raster_name(tile_raster raster) {
    static const char *const names[] = {
        [TILE_RASTER_ROWS] = "rows",
        [TILE_RASTER_COLUMNS] = "columns",
    };
    return (unsigned)raster < sizeof names / sizeof *names ? names[raster] : NULL;
}

const char *tile_function_kind_name(tile_function_kind kind) {
    static const char *const names[] = {[TILE_COMPUTE] = "compute",
                                        [TILE_KERNEL] = "kernel",
                                        [TILE_PLAN] = "plan",
                                        [TILE_FUNC] = "func"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

const char *tile_param_kind_name(tile_param_kind kind) {
    static const char *const names[] = {
        [TILE_PARAM_int] = "int", [TILE_PARAM_bool] = "bool", [TILE_PARAM_type] = "type",
        [TILE_PARAM_dim] = "dim", [TILE_PARAM_word] = "word",
    };
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* Replaces `from`, which occurs in text at most once, by `to`. */
static void replace_point(char *text, size_t size, const char *from, const char *to) {
    char *at = strstr(text, from);
    size_t tail = at ? strlen(at + strlen(from)) + 1 : 0;
    if (!at || (size_t)(at - text) + strlen(to) + tail > size) return;
    memmove(at + strlen(to), at + strlen(from), tail);
    memcpy(at, to, strlen(to));
}

void tile_double_to_text(double value, char text[TILE_DOUBLE_TEXT]) {
    if (isnan(value) || isinf(value)) {
        strcpy(text, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, TILE_DOUBLE_TEXT, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    replace_point(text, TILE_DOUBLE_TEXT, localeconv()->decimal_point, ".");
    if (!strpbrk(text, ".e")) strcat(text, ".0");
}

bool tile_double_from_text(const char *text, size_t length, double *value) {
    char copy[TILE_MAX_NUMBER + 8]; /* with the locale's decimal point */
    if (length > TILE_MAX_NUMBER) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    replace_point(copy, sizeof copy, ".", localeconv()->decimal_point);
    char *end;
    *value = strtod(copy, &end);
    return !*end;
}
