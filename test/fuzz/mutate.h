/* Mutations of .tile text that operate on words and lines. */
#ifndef TILE_TEST_FUZZ_MUTATE_H
#define TILE_TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Both functions change text, which has room for max_size bytes, and return its new size. They are
 * deterministic functions of `seed`. */

/* Makes one change within the text. */
size_t fuzz_mutate(uint8_t *text, size_t size, size_t max_size, unsigned seed);
/* Inserts some lines of another text. The values that they use are replaced by values of this
 * text. */
size_t fuzz_splice(uint8_t *text, size_t size, size_t max_size, const uint8_t *other,
                   size_t other_size, unsigned seed);

#endif
