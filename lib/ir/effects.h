/* The words of attributes, and what an operation does as they say (tile_op_effects). */
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

#endif
