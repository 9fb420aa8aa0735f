/* The printer's state, shared by the print*.c files. */
#ifndef TILE_LIB_TEXT_PRINTER_H
#define TILE_LIB_TEXT_PRINTER_H

#include "lib/ir/function.h"
#include "lib/support/out.h"

typedef struct tile_printer {
    tile_out out;
    tile_arena arena; /* for names and layouts */
    tile_arena text;  /* for one operation */
    const tile_function *f;
    const char **names;
    const tile_layout **layouts; /* interned: one alias each, in order of appearance */
    size_t layout_count, layout_capacity;
    unsigned depth;
} tile_printer;

#define PRINT(p, ...) tile_out_print(&(p)->out, __VA_ARGS__)

/* print_values.c: the parts of operations and functions. */
void tile_print_collect_layouts(tile_printer *p, const tile_function *f);
void tile_print_layouts(tile_printer *p); /* the collected ones, each with its alias */
void tile_print_type(tile_printer *p, const tile_type *type);
void tile_print_expr(tile_printer *p, const tile_expr *expr);
/* In parentheses if a bare `>` would end the enclosing list. */
void tile_print_closed_expr(tile_printer *p, const tile_expr *expr);
void tile_print_value(tile_printer *p, tile_value value);
void tile_print_values(tile_printer *p, const tile_value *values, unsigned count);
void tile_print_param_values(tile_printer *p, const tile_param_value *values, size_t count);
/* The word, or the parameter in its place; valid until p->text is reset. */
const char *tile_print_word(tile_printer *p, const tile_attr *attr);
void tile_print_attr(tile_printer *p, const tile_attr *attr);
void tile_print_attrs(tile_printer *p, tile_op op, const tile_op_info *info); /* {..} */

/* print_head.c: the header before the body of p->f. */
void tile_print_param(tile_printer *p, const tile_param_decl *param);
void tile_print_default(tile_printer *p, const tile_param_decl *param); /* of the parameter */
void tile_print_arg(tile_printer *p, const tile_arg_decl *arg);
/* Includes the expressions of a view argument, and the strides of a tensor. */
void tile_print_arg_type(tile_printer *p, const tile_arg_decl *arg);
void tile_print_result_type(tile_printer *p, const tile_result_decl *result);
void tile_print_tune(tile_printer *p, const tile_tune_clause *tune);
void tile_print_params(tile_printer *p);
void tile_print_args(tile_printer *p);
void tile_print_results(tile_printer *p);
void tile_print_clauses(tile_printer *p);

#endif
