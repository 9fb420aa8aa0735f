/* Selects the cases of a sweep that this run checks. Each process reads the share once. */
#include "test/unit/share.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct share {
    unsigned index, count; /* 1 <= index <= count; a count of 0 means that it was not read yet */
} share;

static share read_share(void) {
    share s = {1, 1};
    const char *text = getenv("TILE_TEST_SHARE");
    if (text && *text)
        cr_assert(sscanf(text, "%u/%u", &s.index, &s.count) == 2 && s.index && s.index <= s.count,
                  "TILE_TEST_SHARE=%s: expected I/N with 1 <= I <= N", text);
    return s;
}

bool is_in_share(uint64_t number) {
    static share s;
    if (!s.count) s = read_share();
    return number % s.count == s.index - 1;
}
