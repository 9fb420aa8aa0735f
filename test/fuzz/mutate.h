/* Mutations of .tile text that know words and lines. */
#ifndef TILE_TEST_FUZZ_MUTATE_H
#define TILE_TEST_FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Both change text, which has room for max_size bytes, and give its new size; the same `seed` does
 * the same. */

/* One change within the text. */
size_t fuzz_mutate(uint8_t *text, size_t size, size_t max_size, unsigned seed);
/* Some lines of another text are put in; the values that they use become values of this one. */
size_t fuzz_splice(uint8_t *text, size_t size, size_t max_size, const uint8_t *other,
                   size_t other_size, unsigned seed);

#endif
