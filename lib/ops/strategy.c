/* The strategies of `split`: see the header. */
#include "lib/ops/strategy.h"

#include <assert.h>
#include <string.h>

#include "lib/ir/function.h"

enum { ANY = 0, SUMS = 1 };
enum { TILE = 0, SM = 1 };

static const tile_strategy_info rows[TILE_STRATEGY_COUNT] = {
#define STRATEGY(word, combines, most, of) [TILE_STRATEGY_##word] = {#word, combines, most, of},
#include "lib/ops/strategy.def"
};

_Static_assert(1
#define ATTR(number, name, ...)
#define WORD(attribute, word, meaning) +(TILE_ATTR_##attribute == TILE_ATTR_strategy)
#include "tile/attrs.def"
                   == TILE_STRATEGY_COUNT,
               "each word of the attribute has a row");

tile_strategy tile_strategy_from_word(const char *word) {
    for (unsigned i = 1; word && i < TILE_STRATEGY_COUNT; i++)
        if (strcmp(rows[i].word, word) == 0) return (tile_strategy)i;
    return TILE_STRATEGY_none;
}

const tile_strategy_info *tile_strategy_get_info(tile_strategy strategy) {
    assert(strategy > TILE_STRATEGY_none && strategy < TILE_STRATEGY_COUNT);
    return &rows[strategy];
}

const char *tile_strategies_of_any(tile_arena *arena) {
    const char *text = "", *last = NULL;
    for (unsigned i = 1; i < TILE_STRATEGY_COUNT; i++) {
        if (rows[i].only_adds) continue;
        if (last) text = *text ? tile_arena_format(arena, "%s, %s", text, last) : last;
        last = rows[i].word;
    }
    return tile_arena_format(arena, "%s or %s", text, last);
}
