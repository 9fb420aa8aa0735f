/* Tokens of the text form. Newlines and `//` comments are white space. */
#ifndef TILE_LIB_TEXT_LEXER_H
#define TILE_LIB_TEXT_LEXER_H

#include "tile/base.h"

typedef enum tile_token_kind {
    TILE_TOKEN_END,
    TILE_TOKEN_WORD,   /* a name without a prefix */
    TILE_TOKEN_VALUE,  /* %name; `text` omits the prefix, also in the next two kinds */
    TILE_TOKEN_SYMBOL, /* @name */
    TILE_TOKEN_ALIAS,  /* #name */
    TILE_TOKEN_TEXT,   /* "..." on one line; `text` omits the quotes, not escapes \\ and \" */
    TILE_TOKEN_INT,
    TILE_TOKEN_FLOAT,
    TILE_TOKEN_PUNCT,
    TILE_TOKEN_BAD, /* an invalid byte or number: `problem` says why */
} tile_token_kind;

typedef struct tile_token {
    tile_token_kind kind;
    const char *text;
    size_t length;
    tile_loc loc;
    bool first_on_line;
    uint64_t integer;
    double number;
    const char *problem;
} tile_token;

typedef struct tile_lexer {
    const char *at, *end;
    const char *line_start;
    uint32_t file, line;
    bool fresh_line;
} tile_lexer;

tile_lexer tile_lexer_start(uint32_t file, const char *text, size_t length);
tile_token tile_lexer_next(tile_lexer *lexer);
/* Skips to the end of the line. */
void tile_lexer_skip_line(tile_lexer *lexer);
/* Skips to the end of a comment of C. */
void tile_lexer_skip_comment(tile_lexer *lexer);

#endif
