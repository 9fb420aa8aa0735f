/* The words of attributes, and the effects of an operation that depend on them (tile_op_effects).
 */
#ifndef TILE_LIB_IR_EFFECTS_H
#define TILE_LIB_IR_EFFECTS_H

#include "lib/ir/function.h"

/* Every WORD of attrs.def. */
typedef enum tile_word {
    TILE_WORD_NONE = 0,
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) TILE_WORD_##attribute##_##word,
#include "tile/attrs.def"
} tile_word;

/* The number of words of each attribute. A switch over them ends in `default`, for the words of
 * other attributes, and asserts next to it that it handles all of its own. */
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
    TILE_WORDS_precision = 0
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_precision)
#include "tile/attrs.def"
    ,
};

/* The word of an attribute; NONE if it is absent or a parameter without a value. */
tile_word tile_op_word(const tile_function *f, tile_op op, tile_attr_id id);

/* The word of an attribute that is written so; NONE if there is none, or text is NULL. */
tile_word tile_attr_find_word(tile_attr_id id, const char *text);

/* As written in the text; "" for NONE. */
const char *tile_attr_word_text(tile_word word);

/* True if op orders the accesses of its thread before it (release) or after it (acquire). */
bool tile_op_releases(const tile_function *f, tile_op op);
bool tile_op_acquires(const tile_function *f, tile_op op);

#endif
