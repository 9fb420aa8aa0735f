/* Functions: the headers before their bodies. */
#ifndef TILE_LIB_TEXT_PARSE_FUNCTION_H
#define TILE_LIB_TEXT_PARSE_FUNCTION_H

#include "lib/text/parser.h"

/* Returns whether the token begins a function. */
bool tile_parse_at_function(const tile_parser *p);
/* Returns whether the token is a clause of kernels. */
bool tile_parse_at_clause(const tile_parser *p);
/* Parses the function that begins at the token. */
bool tile_parse_function(tile_parser *p);
/* Creates the func whose name is the token, and parses its parameters, arguments and results. */
bool tile_parse_func_header(tile_parser *p);
/* Parses the body of p->function. */
bool tile_parse_body(tile_parser *p);

#endif
