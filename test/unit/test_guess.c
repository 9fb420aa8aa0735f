/* Suggestions for misspelled words. */
#include <criterion/criterion.h>
#include <string.h>

#include "lib/support/guess.h"

static const char *guess(const char *text) {
    static const char *const words[] = {"load", "load_shared", "store", "dot", ""};
    tile_guess guess = tile_guess_start(text, strlen(text));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) tile_guess_try(&guess, words[i]);
    return guess.best ? guess.best : "nothing";
}

Test(guess, the_nearest_word_or_none) {
    cr_expect_str_eq(guess("laod"), "load", "two letters swapped");
    cr_expect_str_eq(guess("loadshared"), "load_shared", "one left out");
    cr_expect_str_eq(guess("stoer"), "store");
    cr_expect_str_eq(guess("copy"), "nothing", "too far away");
    cr_expect_str_eq(guess(""), "nothing");
    cr_expect_str_eq(guess("a_word_that_is_longer_than_any_name_here"), "nothing");
}

Test(guess, the_phrase_is_empty_without_a_guess) {
    tile_arena arena = {0};
    tile_guess near = tile_guess_start("dto", 3), far = near;
    tile_guess_try(&near, "dot");
    cr_expect_str_eq(tile_guess_phrase(&near, "%", &arena), "; did you mean '%dot'?");
    cr_expect_str_eq(tile_guess_phrase(&far, "%", &arena), "");
    tile_arena_reset(&arena);
}
