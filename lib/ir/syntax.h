/* Definitions that the parser and the printer of the text form share. */
#ifndef TILE_LIB_IR_SYNTAX_H
#define TILE_LIB_IR_SYNTAX_H

#include "lib/ir/function.h"

enum {
    TILE_PRECEDENCE_LOWEST = 1,
    TILE_PRECEDENCE_ABOVE_COMPARE = 6, /* minimum in parameter lists: a bare `>` ends them */
    TILE_PRECEDENCE_UNARY = 9,
};

typedef struct tile_infix {
    tile_opcode opcode;
    const char *symbol;
    int precedence;
} tile_infix;

/* The operator of an operation, or the one with this spelling; NULL if there is none. */
const tile_infix *tile_infix_from_opcode(tile_opcode opcode);
const tile_infix *tile_infix_from_symbol(const char *text, size_t length);

/* True for operations that may be written inside an expression, max(%a, 0) or load %v[0] : [8]:
 * those whose only effects, by their row, are computing and reading. */
bool tile_opcode_is_callable(tile_opcode opcode);

/* True if the form of a host expression makes it a truth value, so that its own type is i1 and not
 * i32. */
bool tile_expr_is_truth(const tile_function *f, const tile_expr *expr);

/* Removes constant operands of `&` and `|`. */
const tile_expr *tile_simplify_where(const tile_function *f, const tile_expr *where);

/* The number that represents a word when an expression is evaluated. */
int64_t tile_word_value(const char *word);
/* True for a word, and for a parameter whose value is a word or a type: only eq and ne take these.
 */
bool tile_expr_is_word(const tile_function *f, const tile_expr *expr);

/* True if a leaf of the expression is of this kind. */
bool tile_expr_holds(const tile_expr *expr, tile_expr_kind leaf);
/* True if the expression (which may be NULL) names the argument. */
bool tile_expr_names_arg(const tile_expr *expr, size_t arg);
/* The same for the parameter of this name. */
bool tile_expr_names_param(const tile_expr *expr, const char *param);
/* True if a launch can compute it: it refers to no parameters and no device-only values, and is no
 * floating-point number. */
bool tile_expr_is_of_arguments(const tile_expr *expr);

const tile_param_decl *tile_function_find_param(const tile_function *f, const char *name,
                                                size_t length);

/* The argument of that name; NULL if there is none. */
const tile_arg_decl *tile_function_find_arg(const tile_function *f, const char *name);

/* The keyword of an attribute in the text, and back: the first attribute with that keyword. */
const char *tile_attr_keyword(tile_attr_id id);
tile_attr_id tile_attr_from_keyword(const char *text, size_t length);

/* The leaf TILE_EXPR_NUM_SMS. */
#define TILE_NUM_SMS_WORD "num_sms"

/* true, false, inf, nan, num_sms: words that are numbers and cannot be names. */
bool tile_is_literal_word(const char *text, size_t length);

/* The word after `raster`; NULL for TILE_RASTER_NONE and past the end. */
const char *tile_raster_name(tile_raster raster);

const char *tile_param_kind_name(tile_param_kind kind);

/* "compute", "kernel", "plan", "func"; NULL past the end. */
const char *tile_function_kind_name(tile_function_kind kind);

/* A number in the shortest decimal form that parses to the same double, and back. The process'
 * locale has no influence. */
enum { TILE_DOUBLE_TEXT = 40 };
void tile_double_to_text(double value, char text[TILE_DOUBLE_TEXT]);
bool tile_double_from_text(const char *text, size_t length, double *value);

#endif
