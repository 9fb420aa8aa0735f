/* The strategies of `split` (strategy.def). Threads: any. */
#ifndef TILE_LIB_OPS_STRATEGY_H
#define TILE_LIB_OPS_STRATEGY_H

#include "lib/support/arena.h"

typedef enum tile_strategy {
    TILE_STRATEGY_none,
#define STRATEGY(word, ...) TILE_STRATEGY_##word,
#include "lib/ops/strategy.def"
    TILE_STRATEGY_COUNT
} tile_strategy;

typedef struct tile_strategy_info {
    const char *word;
    bool only_adds;       /* other reductions would need a start that changes nothing */
    unsigned most_factor; /* 0: any */
    bool splits_one;      /* a factor of 1 is a split, too */
} tile_strategy_info;

/* none: NULL, or no such word. */
tile_strategy tile_strategy_from_word(const char *word);
/* Not of `none`. */
const tile_strategy_info *tile_strategy_get_info(tile_strategy strategy);
/* "serial, workspace, exchange or cluster": those that combine any reduction, in the arena. */
const char *tile_strategies_of_any(tile_arena *arena);

#endif
