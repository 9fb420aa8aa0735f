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
    bool only_adds;       /* other reductions would need an identity as the initial value */
    unsigned most_factor; /* 0: any */
    bool splits_one;      /* a factor of 1 is a split as well */
} tile_strategy_info;

/* Returns NONE for NULL and for unknown words. */
tile_strategy tile_strategy_from_word(const char *word);
/* Must not be NONE. */
const tile_strategy_info *tile_strategy_get_info(tile_strategy strategy);
/* The strategies that combine any reduction: "serial, workspace, exchange or cluster"; in the
 * arena. */
const char *tile_strategies_of_any(tile_arena *arena);

#endif
