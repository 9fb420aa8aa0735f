/* Strategies of `split`: a row of lib/ops/strategy.def says what each one supports. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/ops/strategy.h"
#include "passes/split/split.h"

Test(strategy, every_row_has_a_word_and_a_lowering) {
    for (unsigned i = 1; i < TILE_STRATEGY_COUNT; i++) {
        const tile_strategy_info *info = tile_strategy_get_info((tile_strategy)i);
        cr_expect_eq(tile_strategy_from_word(info->word), i);
        const split_strategy *row = split_find_strategy(info->word);
        cr_assert_not_null(row, "%s", info->word);
        cr_expect_eq(row->is, i, "%s", info->word);
        cr_expect_not_null(row->lower, "%s", info->word);
        cr_expect_eq(split_strategy_at(i - 1), row);
    }
    cr_expect_null(split_strategy_at(TILE_STRATEGY_COUNT - 1));
    cr_expect_eq(tile_strategy_from_word("pairwise"), TILE_STRATEGY_none);
    cr_expect_eq(tile_strategy_from_word(NULL), TILE_STRATEGY_none);
}

Test(strategy, those_that_combine_anything_are_named) {
    tile_arena arena = {0};
    const char *text = tile_strategies_of_any(&arena);
    for (unsigned i = 1; i < TILE_STRATEGY_COUNT; i++) {
        const tile_strategy_info *info = tile_strategy_get_info((tile_strategy)i);
        cr_expect_eq(strstr(text, info->word) != NULL, !info->only_adds, "%s: %s", info->word,
                     text);
    }
    cr_expect_str_eq(text, "serial, workspace, exchange or cluster");
    tile_arena_reset(&arena);
}
