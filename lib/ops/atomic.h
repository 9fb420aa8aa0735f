/* What the attributes of atomic operations, waits and fences say, for whoever checks, lowers or
 * runs them. */
#ifndef TILE_LIB_OPS_ATOMIC_H
#define TILE_LIB_OPS_ATOMIC_H

#include "lib/ir/function.h"

/* Every WORD of attrs.def. */
typedef enum tile_word {
    TILE_WORD_NONE = 0,
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) TILE_WORD_##attribute##_##word,
#include "tile/attrs.def"
} tile_word;

/* How many words an attribute has. A switch over them ends in `default`, for the words of other
 * attributes, and asserts beside it that it knows all of its own. */
enum {
    TILE_WORDS_ordering = 0
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_ordering)
#include "tile/attrs.def"
    ,
    TILE_WORDS_kind = 0
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_kind)
#include "tile/attrs.def"
    ,
    TILE_WORDS_compare = 0
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_compare)
#include "tile/attrs.def"
    ,
    TILE_WORDS_scope = 0
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_scope)
#include "tile/attrs.def"
    ,
};

/* The word that an attribute is; NONE where it is absent, or a parameter that has no value yet. */
tile_word tile_op_word(const tile_function *f, tile_op op, tile_attr_id id);

/* As the text has it; "" for NONE. */
const char *tile_attr_word_text(tile_word word);

/* True where op orders accesses of its thread before it (release) or behind it (acquire). */
bool tile_op_releases(const tile_function *f, tile_op op);
bool tile_op_acquires(const tile_function *f, tile_op op);

/* True if some operation takes the result of one that has a result beside what it does. */
bool tile_value_is_used(const tile_function *f, tile_value value);

/* The element-wise operation that a kind applies to the old element and the operand, or to two
 * elements; NONE for those that combine nothing. */
tile_opcode tile_kind_opcode(tile_word kind);

/* Whether PTX has instructions that take neighbours together: sums of 16- and 32-bit floats. */
bool tile_atomic_takes_neighbours(const tile_function *f, tile_op op);

/* A condition of a wait, word by value. */
bool tile_compare_holds(tile_word compare, int32_t word, int32_t value);
/* ">= "; "" for eq. */
const char *tile_compare_symbol(tile_word compare);

/* What the row's rule cannot see, as attributes are set later. False after a diagnostic. */
bool tile_verify_atomic(const tile_function *f, tile_op op);

#endif
