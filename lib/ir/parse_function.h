/* Functions: what stands before their bodies. */
#ifndef TILE_LIB_IR_PARSE_FUNCTION_H
#define TILE_LIB_IR_PARSE_FUNCTION_H

#include "lib/ir/parser.h"

/* At `kernel` or `compute`. */
bool tile_parse_function(tile_parser *p);

#endif
