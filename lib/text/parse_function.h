/* Functions: what stands before their bodies. */
#ifndef TILE_LIB_TEXT_PARSE_FUNCTION_H
#define TILE_LIB_TEXT_PARSE_FUNCTION_H

#include "lib/text/parser.h"

/* True at the word that begins a function. */
bool tile_parse_at_function(const tile_parser *p);
/* There. */
bool tile_parse_function(tile_parser *p);

#endif
