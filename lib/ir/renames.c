/* Words that the language had. */
#include <string.h>

#include "lib/text/parser.h"

#define RENAMED(behind, old, now) {behind, old, "has been renamed to '" now "'"},
#define REMOVED(behind, old, advice) {behind, old, "has been removed: " advice},
static const struct {
    const char *behind, *old, *fate;
} words[] = {
#include "lib/text/old_words.def"
};

bool tile_parse_old_word(tile_parser *p, const char *behind) {
    const tile_token *token = &p->token;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        bool same = token->kind == TILE_TOKEN_WORD &&
                    tile_text_is(words[i].old, token->text, token->length);
        if (!same || strcmp(words[i].behind, behind) != 0) continue;
        tile_parse_error(p, token->loc, "'%s' %s", words[i].old, words[i].fate);
        return true;
    }
    return false;
}
